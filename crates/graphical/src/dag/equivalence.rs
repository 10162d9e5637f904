//! I-equivalence of directed acyclic graphs, and the completed partially directed graph of a class.

use rustc_hash::FxHashSet;

use super::Dag;
use crate::Graph;

/// The completed partially directed graph (CPDAG) of a class of I-equivalent graphs. It has an arc where all members of the
/// class agree on the direction, and an undirected edge where they do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpdag {
    /// The number of nodes.
    pub nodes: usize,
    /// The compelled arcs `(parent, child)`, ascending.
    pub directed: Vec<(u32, u32)>,
    /// The reversible edges `(a, b)`, `a < b`, ascending.
    pub undirected: Vec<(u32, u32)>,
}

impl Dag {
    /// The v-structures `a -> c <- b`, in which `a < b` are not adjacent, as triples `(a, c, b)` in ascending order.
    pub fn v_structures(&self) -> Vec<(u32, u32, u32)> {
        let mut found = Vec::new();
        for c in 0..self.nodes() as u32 {
            let parents = self.parents(c);
            for (i, &a) in parents.iter().enumerate() {
                let apart = parents[i + 1..].iter().filter(|&&b| !self.is_adjacent(a, b));
                found.extend(apart.map(|&b| (a, c, b)));
            }
        }
        found.sort_unstable();
        found
    }

    /// Whether both graphs have the same d-separations, that is, the same skeleton and the same v-structures.
    ///
    /// Source: Verma and Pearl, UAI 1990.
    pub fn is_equivalent(&self, other: &Dag) -> bool {
        self.skeleton() == other.skeleton() && self.v_structures() == other.v_structures()
    }

    /// The CPDAG of the class of all graphs that are I-equivalent to this one.
    ///
    /// The arcs of v-structures are compelled. Meek's rules are applied until no further arc follows. O(E^2 d) in the worst
    /// case, where `d` is the largest degree.
    ///
    /// Source: Meek, UAI 1995 (rules 1-3; rule 4 only acts on background knowledge).
    pub fn cpdag(&self) -> Cpdag {
        let mut arcs: FxHashSet<(u32, u32)> = FxHashSet::default();
        for (a, c, b) in self.v_structures() {
            arcs.insert((a, c));
            arcs.insert((b, c));
        }
        let undirected = direct(&self.skeleton(), &mut arcs);
        let mut directed: Vec<_> = arcs.into_iter().collect();
        directed.sort_unstable();
        Cpdag { nodes: self.nodes(), directed, undirected }
    }
}

/// Adds the arcs that follow by Meek's rules from the given ones. Returns the edges that stay undirected,
/// ascending.
pub(crate) fn direct(skeleton: &Graph, arcs: &mut FxHashSet<(u32, u32)>) -> Vec<(u32, u32)> {
    let is_open = |arcs: &FxHashSet<(u32, u32)>, a, b| {
        skeleton.has_edge(a, b) && !arcs.contains(&(a, b)) && !arcs.contains(&(b, a))
    };
    let follows = |arcs: &FxHashSet<(u32, u32)>, a: u32, b: u32| {
        let into = |v: u32| {
            skeleton.neighbours(v).iter().copied().filter(move |&u| arcs.contains(&(u, v)))
        };
        // 1: c -> a - b, and c is not joined to b.
        into(a).any(|c| c != b && !skeleton.has_edge(c, b))
            // 2: a -> c -> b.
            || into(b).any(|c| arcs.contains(&(a, c)))
            // 3: a - c -> b <- d - a, and c is not joined to d.
            || into(b).any(|c| {
                is_open(arcs, a, c)
                    && into(b).any(|d| d != c && is_open(arcs, a, d) && !skeleton.has_edge(c, d))
            })
    };
    let mut open: Vec<(u32, u32)> =
        skeleton.edges().filter(|&(a, b)| is_open(arcs, a, b)).collect();
    loop {
        let before = open.len();
        open.retain(|&(a, b)| {
            let arc = [(a, b), (b, a)].into_iter().find(|&(a, b)| follows(arcs, a, b));
            arc.map(|arc| arcs.insert(arc)).is_none()
        });
        if open.len() == before {
            return open;
        }
    }
}
