//! Maximal cliques by the algorithm of Bron and Kerbosch with a pivot, in degeneracy order.

use super::Graph;
use crate::Error;

impl Graph {
    /// An order of the nodes in which each node has at most `d` later neighbours, for the smallest possible `d`. This `d` is
    /// the degeneracy of the graph. O(V + E).
    ///
    /// Source: Matula and Beck, J. ACM 30, 1983.
    pub fn degeneracy_order(&self) -> (Vec<u32>, usize) {
        let n = self.nodes();
        let mut degree: Vec<usize> = (0..n as u32).map(|v| self.neighbours(v).len()).collect();
        let mut buckets = vec![Vec::new(); degree.iter().max().map_or(0, |d| d + 1)];
        for v in (0..n as u32).rev() {
            buckets[degree[v as usize]].push(v);
        }
        let mut order = Vec::with_capacity(n);
        let mut done = vec![false; n];
        let (mut degeneracy, mut lowest) = (0, 0);
        while order.len() < n {
            let Some(v) = buckets[lowest].pop() else {
                lowest += 1;
                continue;
            };
            // A node lies in the bucket of every degree it once had; the last one counts.
            if done[v as usize] || degree[v as usize] != lowest {
                continue;
            }
            done[v as usize] = true;
            degeneracy = degeneracy.max(lowest);
            order.push(v);
            for &u in self.neighbours(v) {
                if !done[u as usize] {
                    degree[u as usize] -= 1;
                    buckets[degree[u as usize]].push(u);
                }
            }
            lowest = lowest.saturating_sub(1);
        }
        (order, degeneracy)
    }

    /// All maximal cliques in lexicographic order, each ascending. A node without neighbours is a clique of size one.
    ///
    /// The number of maximal cliques may be exponential (up to 3^(V/3)), so a `limit` is needed. The cost is O(d V 3^(d/3)) for
    /// a graph of degeneracy `d`.
    ///
    /// Source: Bron and Kerbosch, algorithm 457, 1973; the order of the outer loop: Eppstein,
    /// Loeffler and Strash, 2010; the pivot: Tomita, Tanaka and Takahashi, 2006.
    ///
    /// # Errors
    /// [`Error::TooMany`] if there are more than `limit`.
    pub fn maximal_cliques(&self, limit: usize) -> Result<Vec<Vec<u32>>, Error> {
        let (order, _) = self.degeneracy_order();
        let mut rank = vec![0; self.nodes()];
        for (r, &v) in order.iter().enumerate() {
            rank[v as usize] = r;
        }
        let mut found = Vec::new();
        for &v in &order {
            let later = |&u: &u32| rank[u as usize] > rank[v as usize];
            let (candidates, excluded) = self.neighbours(v).iter().copied().partition(later);
            self.extend(v, candidates, excluded, limit, &mut found)?;
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Finds every maximal clique that contains `root` and otherwise only `candidates`, and that no member of `excluded`
    /// extends. It uses its own stack, because the depth may be the size of the largest clique.
    fn extend(
        &self,
        root: u32,
        candidates: Vec<u32>,
        excluded: Vec<u32>,
        limit: usize,
        found: &mut Vec<Vec<u32>>,
    ) -> Result<(), Error> {
        let mut clique = vec![root];
        let mut stack = vec![Level::new(self, candidates, excluded)];
        while let Some(level) = stack.last_mut() {
            let Some(v) = level.branches.pop() else {
                if level.is_maximal {
                    if found.len() == limit {
                        return Err(Error::TooMany { what: "maximal cliques", limit });
                    }
                    let mut members = clique.clone();
                    members.sort_unstable();
                    found.push(members);
                }
                stack.pop();
                clique.pop();
                continue;
            };
            let adjacent = |set: &[u32]| -> Vec<u32> {
                set.iter().copied().filter(|&u| self.has_edge(v, u)).collect()
            };
            let next = Level::new(self, adjacent(&level.candidates), adjacent(&level.excluded));
            level.candidates.retain(|&u| u != v);
            level.excluded.push(v);
            clique.push(v);
            stack.push(next);
        }
        Ok(())
    }
}

/// One level of the recursion.
struct Level {
    candidates: Vec<u32>,
    excluded: Vec<u32>,
    /// The candidates that are not neighbours of the pivot. Every maximal clique contains at least one of them.
    branches: Vec<u32>,
    is_maximal: bool,
}

impl Level {
    fn new(graph: &Graph, candidates: Vec<u32>, excluded: Vec<u32>) -> Level {
        let joined = |u: u32| candidates.iter().filter(|&&w| graph.has_edge(u, w)).count();
        let pivot = candidates.iter().chain(&excluded).copied().max_by_key(|&u| joined(u));
        let branches = match pivot {
            Some(pivot) => {
                candidates.iter().copied().filter(|&u| !graph.has_edge(pivot, u)).collect()
            }
            None => Vec::new(),
        };
        let is_maximal = candidates.is_empty() && excluded.is_empty();
        Level { candidates, excluded, branches, is_maximal }
    }
}
