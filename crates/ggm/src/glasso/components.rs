//! Screening: a division of the variables into components that the solution does not join.

use crate::problem::Problem;

/// The connected components of the graph `{|C_ij| > Lambda_ij}`, which are also those of the solution. Each is
/// ascending, and they are ordered by their smallest nodes. The cost is O(p^2).
pub fn components(problem: &Problem<'_>) -> Vec<Vec<u32>> {
    let (c, weights) = (&problem.covariance, problem.weights);
    components_by(problem.order(), |i, j| c[[i, j]].abs() > weights.at(i, j))
}

/// The connected components of the graph of the pairs `(i, j)`, `j < i`, that are joined.
pub(crate) fn components_by(p: usize, joined: impl Fn(usize, usize) -> bool) -> Vec<Vec<u32>> {
    let mut sets = Sets { parent: (0..p as u32).collect() };
    for i in 0..p {
        for j in 0..i {
            if joined(i, j) {
                sets.join(i as u32, j as u32);
            }
        }
    }
    let mut part_of = vec![usize::MAX; p];
    let mut parts: Vec<Vec<u32>> = Vec::new();
    for i in 0..p as u32 {
        let root = sets.find(i) as usize;
        if part_of[root] == usize::MAX {
            part_of[root] = parts.len();
            parts.push(Vec::new());
        }
        parts[part_of[root]].push(i);
    }
    parts
}

/// Disjoint sets; the smallest element stands for its set.
struct Sets {
    parent: Vec<u32>,
}

impl Sets {
    fn find(&mut self, mut i: u32) -> u32 {
        while self.parent[i as usize] != i {
            let up = self.parent[self.parent[i as usize] as usize];
            self.parent[i as usize] = up;
            i = up;
        }
        i
    }

    fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b) as usize] = a.min(b);
    }
}
