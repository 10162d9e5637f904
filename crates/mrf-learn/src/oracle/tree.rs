//! Exact means by junction trees of the graph of the pairs whose parameters are not 0.
//!
//! A gradient needs the means of all pairs, whether they are neighbours or not. One calibration given `x_i = a` gives them
//! by `P(x_i = a, x_j = b) = P(x_i = a) P(x_j = b | x_i = a)`. The first state of a variable is the rest. The tree of a graph
//! is kept until the graph changes, because the active set changes rarely along a path.

use std::sync::Arc;

use fenchel_graphical::junction_tree::TreeCache;
use fenchel_graphical::{Evidence, FactorGraph, JunctionTree, OrderingOptions, VarId};
use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;

use super::backend::Backend;
use crate::error::Error;
use crate::layout::{Layout, pair_index};

/// Exact means of a pairwise model of small tree width.
pub struct TreeOracle {
    layout: Layout,
    reference: Layout,
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
    ///
    /// # Errors
    /// [`Error::Refused`] for more than 4 GiB of parameters.
    pub fn new(layout: &Layout, max_memory: Option<u64>) -> Result<Self, Error> {
        let (reference, trees) =
            (layout.reference()?, TreeCache::new(OrderingOptions::default(), 16));
        Ok(TreeOracle { layout: layout.clone(), reference, trees, max_memory })
    }

    /// The tree, its factors, and what is to be added to their log-scores.
    fn tree(&mut self, theta: &[f64]) -> Result<(Arc<JunctionTree>, FactorGraph, f64), Error> {
        Invalid::check_length("parameters", self.layout.len(), theta.len())?;
        let (theta, constant) = self.layout.to_reference(&self.reference, theta);
        let factors = self.reference.factor_graph(&theta)?;
        let tree = self.trees.tree(&factors).map_err(|error| match error {
            fenchel_graphical::Error::Refused(refusal) => refusal.into(),
            other => Error::from(other),
        })?;
        let hint = "the graph is too dense for a junction tree; raise the penalty or sample";
        let bytes = 16 * tree.cells() as u64;
        Refusal::check_memory("the junction tree", bytes, self.max_memory, hint)?;
        Ok((tree, factors, constant))
    }
}

/// Refuses what is longer or shorter than the layout, and a tree that is too large.
impl Backend for TreeOracle {
    fn means(&mut self, theta: &[f64], out: &mut [f64]) -> Result<f64, Error> {
        let found = self.means_until(theta, out, &|| false)?;
        Ok(found.expect("nobody ends it"))
    }

    fn log_partition(&mut self, theta: &[f64]) -> Result<f64, Error> {
        let (tree, factors, constant) = self.tree(theta)?;
        let mut workspace = tree.workspace();
        let free = tree.calibrate(&factors, &Evidence::new(), &mut workspace)?;
        Ok(free.log_partition() + constant)
    }

    /// Asks before every calibration.
    fn means_until(
        &mut self,
        theta: &[f64],
        out: &mut [f64],
        ends: &dyn Fn() -> bool,
    ) -> Result<Option<f64>, Error> {
        Invalid::check_length("out", self.layout.len(), out.len())?;
        if ends() {
            return Ok(None);
        }
        let (tree, factors, constant) = self.tree(theta)?;
        let mut workspace = tree.workspace();
        let free = tree.calibrate(&factors, &Evidence::new(), &mut workspace)?;
        let log_partition = free.log_partition() + constant;
        let (singles, p) = (free.marginals(), self.reference.variables());
        let mut means = vec![0.0; self.reference.len()];
        for (i, shares) in singles.iter().enumerate() {
            means[self.reference.field(i)].copy_from_slice(&shares[1..]);
            for (a, &share) in shares.iter().enumerate().skip(1) {
                if i + 1 == p || share == 0.0 {
                    continue;
                }
                if ends() {
                    return Ok(None);
                }
                let evidence = Evidence::new().observe(VarId(i as u32), a);
                let given = tree.calibrate(&factors, &evidence, &mut workspace)?.marginals();
                for j in i + 1..p {
                    let table = &mut means[self.reference.block(pair_index(i, j, p))];
                    let width = given[j].len() - 1;
                    let row = table[(a - 1) * width..a * width].iter_mut();
                    row.zip(&given[j][1..]).for_each(|(to, b)| *to = share * b);
                }
            }
        }
        self.layout.expand(&self.reference, &means, out);
        Ok(Some(log_partition))
    }
}
