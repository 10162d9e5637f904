//! The most probable configuration and max-marginals.

use crate::stride::Plan;
use crate::{Error, VarId};

use super::{JunctionTree, Workspace};
use crate::table::semiring::{LogMax, Semiring};

/// A tree that has been calibrated for maxima. Every table holds the largest score over all other variables, minus the best
/// score of all, up to the rounding of scores.
#[derive(Debug)]
pub struct MaxCalibrated<'a> {
    pub(super) tree: &'a JunctionTree,
    pub(super) workspace: &'a Workspace,
}

impl MaxCalibrated<'_> {
    /// The score of the best configuration, evidence included.
    pub fn best_score(&self) -> f64 {
        self.workspace.log_partition
    }

    /// A configuration of the best score. Of equal cells in a clique, the first is taken, starting from the root.
    pub fn map(&self) -> Vec<usize> {
        let mut states = vec![0; self.tree.cards.len()];
        for node in &self.tree.nodes {
            let table = &self.workspace.tables[node.table.clone()];
            let (column, columns) = node.column(&states);
            let (mut best, mut top) = (0, f64::NEG_INFINITY);
            for (k, &value) in table[column..].iter().step_by(columns).enumerate() {
                if value > top {
                    (best, top) = (k, value);
                }
            }
            node.set(best, &mut states);
        }
        states
    }

    /// For every state of a variable, the best score of a configuration with that state; `-inf` if there is none.
    ///
    /// # Errors
    /// [`Error::UnknownVariable`].
    pub fn max_marginal(&self, variable: VarId) -> Result<Vec<f64>, Error> {
        let variables = self.tree.cards.len();
        let Some(&card) = self.tree.cards.get(variable.index()) else {
            return Err(Error::UnknownVariable { variable, variables });
        };
        let home = &self.tree.homes[variable.index()];
        let node = &self.tree.nodes[home.node];
        let plan = Plan::between(&node.scope, &[(variable, card)]);
        let mut out = vec![0.0; card];
        LogMax::project(&plan, &self.workspace.tables[node.table.clone()], &mut out, &mut []);
        out.iter_mut().for_each(|value| *value += self.best_score());
        Ok(out)
    }
}
