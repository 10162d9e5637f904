//! d-separation by the Bayes-Ball algorithm.

use super::Dag;
use crate::Error;

/// The marks that the ball leaves on the nodes.
#[derive(Debug, Clone, Default)]
struct Visits {
    /// Nodes that an active path reaches, in either direction.
    reached: Vec<bool>,
    /// Nodes whose table is needed: reached from a child while unobserved, or observed and reached from a
    /// parent.
    asked: Vec<bool>,
}

impl Dag {
    /// Whether every path between a node of `x` and a node of `y` is blocked by `given`. Then `x` and `y` are independent given
    /// `given` in every distribution that factorises over the graph.
    ///
    /// A node of `given` that is also in `x` or `y` is a constant, and independent of everything. A node that is in both `x`
    /// and `y` is not independent of itself. O(V + E).
    ///
    /// Source: Shachter, Bayes-Ball, UAI 1998.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a node that does not exist.
    pub fn d_separated(&self, x: &[u32], y: &[u32], given: &[u32]) -> Result<bool, Error> {
        self.mask(y)?;
        let reached = self.d_connected(x, given)?;
        Ok(!y.iter().any(|&v| reached[v as usize]))
    }

    /// A mask of all nodes outside `given` that an active path connects to `x`. It includes the nodes of `x` itself.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a node that does not exist.
    pub fn d_connected(&self, x: &[u32], given: &[u32]) -> Result<Vec<bool>, Error> {
        let observed = self.mask(given)?;
        self.mask(x)?;
        let mut reached = self.ball(x, &observed).reached;
        for (node, seen) in reached.iter_mut().enumerate() {
            *seen &= !observed[node];
        }
        Ok(reached)
    }

    /// A mask of the nodes whose conditional probability tables the posterior of `query` given `given` depends on. All other
    /// tables may be removed: those of barren nodes, which have no descendant in the query or the evidence, and those of nodes
    /// that the evidence separates from the query.
    ///
    /// Source: Shachter, Bayes-Ball, UAI 1998: the requisite probability nodes.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a node that does not exist.
    pub fn requisite(&self, query: &[u32], given: &[u32]) -> Result<Vec<bool>, Error> {
        let observed = self.mask(given)?;
        self.mask(query)?;
        Ok(self.ball(query, &observed).asked)
    }

    /// The ball starts at each node of `x` as if it came from a child. An unobserved node passes a ball from a child on to its
    /// parents and children, and a ball from a parent on to its children. An observed node returns a ball from a parent to its
    /// parents, and stops a ball from a child.
    fn ball(&self, x: &[u32], observed: &[bool]) -> Visits {
        let n = self.nodes();
        let mut visits = Visits { reached: vec![false; n], asked: vec![false; n] };
        let mut below = vec![false; n];
        let mut stack: Vec<(u32, bool)> = x.iter().map(|&v| (v, true)).collect();
        while let Some((v, from_child)) = stack.pop() {
            let i = v as usize;
            visits.reached[i] = true;
            let up = from_child != observed[i];
            if up && !std::mem::replace(&mut visits.asked[i], true) {
                stack.extend(self.parents(v).iter().map(|&p| (p, true)));
            }
            if !observed[i] && !std::mem::replace(&mut below[i], true) {
                stack.extend(self.children(v).iter().map(|&c| (c, false)));
            }
        }
        visits
    }
}
