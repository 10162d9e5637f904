//! Chordality by maximum cardinality search.

use std::collections::BinaryHeap;

use super::Graph;

impl Graph {
    /// Whether every cycle of four or more nodes has a chord. Such a graph is called chordal or decomposable, and has a
    /// junction tree of its own cliques. O((V + E) log V).
    ///
    /// Source: Tarjan and Yannakakis, SIAM J. Computing 13, 1984.
    pub fn is_chordal(&self) -> bool {
        self.perfect_elimination_order().is_some()
    }

    /// An order in which the later neighbours of every node form a clique, so that elimination in this order adds no edge.
    /// `None` if the graph is not chordal, because then no such order exists.
    pub fn perfect_elimination_order(&self) -> Option<Vec<u32>> {
        let mut order = self.maximum_cardinality_order();
        let mut visited = vec![0; self.nodes()];
        for (time, &v) in order.iter().enumerate() {
            visited[v as usize] = time;
        }
        // The earlier neighbours of v must be a clique. It is enough that the last of them, p, knows
        // the others: the earlier ones of p were checked when p was.
        for &v in &order {
            let earlier = |&u: &u32| visited[u as usize] < visited[v as usize];
            let earlier: Vec<u32> = self.neighbours(v).iter().copied().filter(earlier).collect();
            let Some(&p) = earlier.iter().max_by_key(|&&u| visited[u as usize]) else { continue };
            if earlier.iter().any(|&u| u != p && !self.has_edge(p, u)) {
                return None;
            }
        }
        order.reverse();
        Some(order)
    }

    /// The order of a maximum cardinality search: the next node has the most visited neighbours. Of equal nodes the smallest is
    /// taken.
    pub fn maximum_cardinality_order(&self) -> Vec<u32> {
        let n = self.nodes();
        let mut weight = vec![0u32; n];
        let mut done = vec![false; n];
        let mut heap: BinaryHeap<_> = (0..n as u32).map(|v| (0, std::cmp::Reverse(v))).collect();
        let mut order = Vec::with_capacity(n);
        while let Some((key, std::cmp::Reverse(v))) = heap.pop() {
            if done[v as usize] || key != weight[v as usize] {
                continue;
            }
            done[v as usize] = true;
            order.push(v);
            for &u in self.neighbours(v) {
                if !done[u as usize] {
                    weight[u as usize] += 1;
                    heap.push((weight[u as usize], std::cmp::Reverse(u)));
                }
            }
        }
        order
    }
}
