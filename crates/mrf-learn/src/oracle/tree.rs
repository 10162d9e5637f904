//! Exact means by junction trees of the graph of nonzero couplings.
//!
//! A gradient needs the means of all pairs, whether they are neighbours or not. One calibration given `x_i = 1` gives
//! the pair means of variable `i` by `E x_i x_j = P(x_i = 1) P(x_j = 1 | x_i = 1)`, so a gradient takes one calibration
//! per variable. The tree of a graph is kept until the graph changes, because the active set changes rarely along a
//! path.

use fenchel_graphical::{
    BinaryPairwise, Evidence, JunctionTree, OrderingOptions, TreeCache, VarId,
};
use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;
use std::sync::Arc;

use crate::Error;
use crate::coordinates::{packed_length, pair_index};

/// Exact means of a binary pairwise model of small tree width.
pub struct TreeOracle {
    trees: TreeCache,
    max_memory: Option<u64>,
}

impl std::fmt::Debug for TreeOracle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TreeOracle").field("trees", &self.trees.len()).finish_non_exhaustive()
    }
}

impl TreeOracle {
    /// Refuses trees whose tables take more than `max_memory` bytes.
    pub fn new(max_memory: Option<u64>) -> Self {
        TreeOracle { trees: TreeCache::new(OrderingOptions::default(), 16), max_memory }
    }

    fn tree(&mut self, model: &BinaryPairwise) -> Result<Arc<JunctionTree>, Error> {
        let tree = self.trees.tree(&model.factor_graph()?)?;
        let hint = "the graph is too dense for a junction tree; raise lambda or sample";
        Refusal::check_memory(
            "the junction tree",
            16 * tree.cells() as u64,
            self.max_memory,
            hint,
        )?;
        Ok(tree)
    }

    /// `log Z`.
    ///
    /// # Errors
    /// [`Error::Graphical`] or [`Error::Refused`] for a tree that is too large.
    pub fn log_partition(&mut self, model: &BinaryPairwise) -> Result<f64, Error> {
        let (tree, factors) = (self.tree(model)?, model.factor_graph()?);
        let mut workspace = tree.workspace();
        Ok(tree.calibrate(&factors, &Evidence::new(), &mut workspace)?.log_partition())
    }

    /// `log Z`, and the means of `x_i` and `x_i x_j`, packed, into `out`.
    ///
    /// # Errors
    /// As [`log_partition`](Self::log_partition); [`Invalid::Length`] for `out` of the wrong length.
    pub fn means(&mut self, model: &BinaryPairwise, out: &mut [f64]) -> Result<f64, Error> {
        let p = model.variables();
        Invalid::check_length("out", packed_length(p), out.len())?;
        let (tree, factors) = (self.tree(model)?, model.factor_graph()?);
        let mut workspace = tree.workspace();
        let free = tree.calibrate(&factors, &Evidence::new(), &mut workspace)?;
        let log_partition = free.log_partition();
        let singles: Vec<f64> = free.marginals().iter().map(|marginal| marginal[1]).collect();
        for i in 0..p {
            out[pair_index(i, i, p)] = singles[i];
            if i + 1 == p || singles[i] == 0.0 {
                (i + 1..p).for_each(|j| out[pair_index(i, j, p)] = 0.0);
                continue;
            }
            let evidence = Evidence::new().observe(VarId(i as u32), 1);
            let given = tree.calibrate(&factors, &evidence, &mut workspace)?.marginals();
            for j in i + 1..p {
                out[pair_index(i, j, p)] = singles[i] * given[j][1];
            }
        }
        Ok(log_partition)
    }
}
