//! Greedy elimination with incrementally updated costs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::VarId;

/// The cost of eliminating a vertex.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Fill,
    WeightedFill,
    Weight,
    Neighbours,
    /// By the given ranks alone, without reductions.
    Given,
}

/// An order with its cliques.
#[derive(Clone, Debug, Default)]
pub(crate) struct Elimination {
    pub(crate) order: Vec<u32>,
    /// The clique of `order[k]`: the variable itself, then its neighbours in ascending order.
    pub(crate) cliques: Vec<Vec<u32>>,
    pub(crate) log2_cells: Vec<f64>,
    /// Steps through adjacency lists.
    pub(crate) work: u64,
}

impl Elimination {
    pub(crate) fn log2_total(&self) -> f64 {
        let top = self.log2_cells.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if top == f64::NEG_INFINITY {
            return top;
        }
        top + self.log2_cells.iter().map(|c| (c - top).exp2()).sum::<f64>().log2()
    }
}

/// A graph as sorted neighbour lists, with the weights `log2 card`.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    neighbours: Vec<Vec<u32>>,
    weights: Vec<f64>,
    /// Number of missing edges among the neighbours.
    missing: Vec<i64>,
    /// Their weight.
    missing_weight: Vec<f64>,
    /// Sum of the weights of the neighbours.
    around: Vec<f64>,
    /// A lower bound of the treewidth.
    degeneracy: usize,
    /// Variables that are eliminated after all others.
    late: Vec<bool>,
}

impl Graph {
    /// A graph from numbers of states and sorted neighbour lists. Variables of `last` are eliminated after all others.
    pub(super) fn new(cards: &[usize], neighbours: &[Vec<VarId>], last: &[VarId]) -> Self {
        let neighbours: Vec<Vec<u32>> =
            neighbours.iter().map(|list| list.iter().map(|v| v.0).collect()).collect();
        let weights: Vec<f64> = cards.iter().map(|&card| (card as f64).log2()).collect();
        let n = neighbours.len();
        let mut late = vec![false; n];
        last.iter().filter(|v| v.index() < n).for_each(|v| late[v.index()] = true);
        let mut graph = Graph {
            missing: vec![0; n],
            missing_weight: vec![0.0; n],
            around: vec![0.0; n],
            degeneracy: degeneracy(&neighbours),
            neighbours,
            weights,
            late,
        };
        let mut mark = vec![u32::MAX; n];
        for v in 0..n {
            let list = &graph.neighbours[v];
            list.iter().for_each(|&u| mark[u as usize] = v as u32);
            let (mut missing, mut weight) = (0, 0.0);
            for &u in list {
                let inside = graph.neighbours[u as usize].iter();
                let inside = inside.filter(|&&x| mark[x as usize] == v as u32).count();
                let outside = list.len() - 1 - inside;
                missing += outside as i64;
                weight += outside as f64 * graph.weights[u as usize];
            }
            graph.around[v] = list.iter().map(|&u| graph.weights[u as usize]).sum();
            // Every pair was counted from both ends, its weight once from each.
            graph.missing[v] = missing / 2;
            graph.missing_weight[v] = weight;
        }
        graph
    }

    /// The number of vertices.
    pub(super) fn len(&self) -> usize {
        self.weights.len()
    }

    /// Eliminates all vertices. Returns `None` as soon as the total size reaches `limit`.
    pub(super) fn eliminate(&self, rule: Rule, ranks: &[u32], limit: f64) -> Option<Elimination> {
        let mut at = Working {
            graph: self.clone(),
            rule,
            ranks,
            keys: vec![Key::default(); ranks.len()],
            queue: BinaryHeap::with_capacity(ranks.len()),
            touched: Vec::new(),
            is_touched: vec![false; ranks.len()],
            common: Vec::new(),
            work: 0,
        };
        let mut result = Elimination::default();
        let mut total = 0.0;
        let limit = limit.exp2();
        (0..ranks.len() as u32).for_each(|v| at.enqueue(v));
        while let Some(Reverse((key, v))) = at.queue.pop() {
            if at.keys[v as usize] != key {
                continue;
            }
            let log2_cells = at.graph.around[v as usize] + at.graph.weights[v as usize];
            total += log2_cells.exp2();
            if total >= limit && limit < f64::INFINITY {
                return None;
            }
            let mut clique = at.remove(v);
            clique.insert(0, v);
            result.order.push(v);
            result.cliques.push(clique);
            result.log2_cells.push(log2_cells);
        }
        result.work = at.work;
        Some(result)
    }

    /// Ranks for [`Rule::Given`]: the reverse of a maximum cardinality search, in which `ties` breaks ties.
    pub(super) fn maximum_cardinality(&self, ties: &[u32]) -> Vec<u32> {
        let n = ties.len();
        let mut seen = vec![0_u32; n];
        let mut ranks = vec![u32::MAX; n];
        let mut queue: BinaryHeap<(u32, u32, u32)> =
            (0..n as u32).map(|v| (0, ties[v as usize], v)).collect();
        let mut next = n as u32;
        while let Some((count, _, v)) = queue.pop() {
            if ranks[v as usize] != u32::MAX || count != seen[v as usize] {
                continue;
            }
            next -= 1;
            ranks[v as usize] = next;
            for &u in &self.neighbours[v as usize] {
                seen[u as usize] += 1;
                queue.push((seen[u as usize], ties[u as usize], u));
            }
        }
        ranks
    }
}

/// Class and cost, then the rank that breaks ties.
type Key = (u64, u32);

const GONE: Key = (u64::MAX, u32::MAX);

struct Working<'a> {
    graph: Graph,
    rule: Rule,
    ranks: &'a [u32],
    /// The current key of every vertex. Queue entries with other keys are outdated.
    keys: Vec<Key>,
    queue: BinaryHeap<Reverse<(Key, u32)>>,
    touched: Vec<u32>,
    is_touched: Vec<bool>,
    common: Vec<u32>,
    work: u64,
}

impl Working<'_> {
    fn enqueue(&mut self, v: u32) {
        let late = u64::from(self.graph.late[v as usize]) << 63;
        let key = (late | self.cost(v as usize), self.ranks[v as usize]);
        if std::mem::replace(&mut self.keys[v as usize], key) != key || key.0 == 0 {
            self.queue.push(Reverse((key, v)));
        }
    }

    /// The key: 0 for simplicial vertices, 1 for almost simplicial ones, and the cost of the rule for others, in an encoding
    /// that preserves the order.
    fn cost(&mut self, v: usize) -> u64 {
        let graph = &self.graph;
        let cost = match self.rule {
            Rule::Given => return 2,
            _ if graph.missing[v] == 0 => return 0,
            _ if self.almost_simplicial(v) => return 1,
            Rule::Fill => graph.missing[v] as f64,
            Rule::WeightedFill => graph.missing_weight[v].max(0.0),
            Rule::Weight => (graph.around[v] + graph.weights[v]).max(0.0),
            Rule::Neighbours => graph.neighbours[v].len() as f64,
        };
        2 + cost.to_bits()
    }

    /// Whether the vertex is almost simplicial: all neighbours but one form a clique, and the conditions of the module hold.
    fn almost_simplicial(&self, v: usize) -> bool {
        let graph = &self.graph;
        let list = &graph.neighbours[v];
        if list.len() > graph.degeneracy || graph.missing[v] as usize >= list.len() {
            return false;
        }
        list.iter().any(|&w| {
            let inside = |x: &&u32| graph.neighbours[w as usize].binary_search(x).is_ok();
            graph.weights[w as usize] <= graph.weights[v]
                && list.len() - 1 - list.iter().filter(inside).count() == graph.missing[v] as usize
        })
    }

    /// Joins the neighbours of `v` to a clique, removes `v`, and updates the costs nearby. Returns the neighbours.
    fn remove(&mut self, v: u32) -> Vec<u32> {
        let list = std::mem::take(&mut self.graph.neighbours[v as usize]);
        self.keys[v as usize] = GONE;
        if self.graph.missing[v as usize] > 0 {
            for (k, &u) in list.iter().enumerate() {
                for &w in &list[k + 1..] {
                    if self.graph.neighbours[u as usize].binary_search(&w).is_err() {
                        self.join(u, w);
                    }
                }
            }
        }
        let weights: f64 = list.iter().map(|&u| self.graph.weights[u as usize]).sum();
        let own = self.graph.weights[v as usize];
        for &u in &list {
            let (u_, degree) = (u as usize, list.len());
            let others = self.graph.neighbours[u_].len() - degree;
            if others > 0 {
                // Pairs of v with those neighbours of u that were not neighbours of v.
                self.graph.missing[u_] -= others as i64;
                let outside = self.graph.around[u_] - own - (weights - self.graph.weights[u_]);
                self.graph.missing_weight[u_] -= others as f64 * own + outside;
            }
            self.graph.around[u_] -= own;
            let at = self.graph.neighbours[u_].binary_search(&v);
            self.graph.neighbours[u_]
                .remove(at.unwrap_or_else(|_| unreachable!("edges are symmetric")));
            self.work += degree as u64 + 8;
            self.touch(u);
        }
        for k in 0..self.touched.len() {
            let u = self.touched[k];
            self.is_touched[u as usize] = false;
            if self.keys[u as usize] != GONE && self.rule != Rule::Given {
                self.enqueue(u);
            }
        }
        self.touched.clear();
        list
    }

    /// Adds the edge `u - w`.
    fn join(&mut self, u: u32, w: u32) {
        let (u_, w_) = (u as usize, w as usize);
        let mut common = std::mem::take(&mut self.common);
        let graph = &mut self.graph;
        common.clear();
        intersection(&graph.neighbours[u_], &graph.neighbours[w_], &mut common);
        self.work += (graph.neighbours[u_].len() + graph.neighbours[w_].len()) as u64;
        let pair = graph.weights[u_] + graph.weights[w_];
        let mut shared = 0.0;
        for &x in &common {
            graph.missing[x as usize] -= 1;
            graph.missing_weight[x as usize] -= pair;
            shared += graph.weights[x as usize];
        }
        for (a, b) in [(u_, w_), (w_, u_)] {
            let others = graph.neighbours[a].len() - common.len();
            graph.missing[a] += others as i64;
            graph.missing_weight[a] +=
                others as f64 * graph.weights[b] + (graph.around[a] - shared);
        }
        for (a, b) in [(u_, w_), (w_, u_)] {
            graph.around[a] += graph.weights[b];
            if let Err(at) = graph.neighbours[a].binary_search(&(b as u32)) {
                graph.neighbours[a].insert(at, b as u32);
            }
        }
        for &x in &common {
            self.touch(x);
        }
        self.common = common;
    }

    fn touch(&mut self, v: u32) {
        if !std::mem::replace(&mut self.is_touched[v as usize], true) {
            self.touched.push(v);
        }
    }
}

fn intersection(a: &[u32], b: &[u32], out: &mut Vec<u32>) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                out.push(a[i]);
                i += 1;
                j += 1;
            }
        }
    }
}

/// The largest minimum degree of a subgraph, which is a lower bound of the treewidth.
fn degeneracy(neighbours: &[Vec<u32>]) -> usize {
    let mut degrees: Vec<usize> = neighbours.iter().map(Vec::len).collect();
    let mut queue: BinaryHeap<Reverse<(usize, usize)>> =
        degrees.iter().enumerate().map(|(v, &d)| Reverse((d, v))).collect();
    let mut gone = vec![false; degrees.len()];
    let mut largest = 0;
    while let Some(Reverse((degree, v))) = queue.pop() {
        if gone[v] || degree != degrees[v] {
            continue;
        }
        gone[v] = true;
        largest = largest.max(degree);
        for &u in &neighbours[v] {
            if !gone[u as usize] {
                degrees[u as usize] -= 1;
                queue.push(Reverse((degrees[u as usize], u as usize)));
            }
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FactorGraph, VarId};
    use proptest::prelude::*;

    proptest! {
        /// After every elimination the updated costs equal those computed from the graph.
        #[test]
        fn costs_stay_true(edges in proptest::collection::vec((0..12_u32, 0..12_u32), 0..30), rule in 0..4_usize) {
            let cards: Vec<usize> = (0..12).map(|v| 2 + v % 3).collect();
            let mut model = FactorGraph::new(&cards).unwrap();
            for (u, w) in edges {
                if u != w {
                    let size = cards[u as usize] * cards[w as usize];
                    model.add(&[VarId(u), VarId(w)], &vec![0.0; size]).unwrap();
                }
            }
            let ranks: Vec<u32> = (0..12).collect();
            let rule = [Rule::Fill, Rule::WeightedFill, Rule::Weight, Rule::Neighbours][rule];
            let mut at = Working {
                graph: Graph::new(&cards, &model.neighbours(), &[]), rule, ranks: &ranks, keys: vec![Key::default(); 12],
                queue: BinaryHeap::new(), touched: vec![], is_touched: vec![false; 12], common: vec![], work: 0,
            };
            (0..12).for_each(|v| at.enqueue(v));
            while let Some(Reverse((key, v))) = at.queue.pop() {
                if at.keys[v as usize] != key { continue; }
                at.remove(v);
                let g = &at.graph;
                for u in (0..12).filter(|&u| at.keys[u] != GONE) {
                    let (mut missing, mut weight) = (0, 0.0);
                    for (k, &a) in g.neighbours[u].iter().enumerate() {
                        for &b in &g.neighbours[u][k + 1..] {
                            if !g.neighbours[a as usize].contains(&b) {
                                missing += 1;
                                weight += g.weights[a as usize] + g.weights[b as usize];
                            }
                        }
                    }
                    let around: f64 = g.neighbours[u].iter().map(|&x| g.weights[x as usize]).sum();
                    prop_assert_eq!(g.missing[u], missing);
                    prop_assert!((g.missing_weight[u] - weight).abs() < 1e-9);
                    prop_assert!((g.around[u] - around).abs() < 1e-9);
                }
            }
        }
    }
}
