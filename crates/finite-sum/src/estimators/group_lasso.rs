//! Least squares with a penalty on groups of features.

use std::ops::ControlFlow;

use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_optim::prox::{Groups, SparseGroupLasso};
use fenchel_optim::{Observer, Progress, Stop};
use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use super::fits::fit_numbers;
use super::linear::LinearModel;
use super::solve::{Fitted, Hyper, Watch};
use crate::auto::Method;
use crate::loss::Squared;
use crate::{Error, Point, Problem};

/// Least squares with a penalty that takes whole groups of features or none, and with an l1 norm as well the sparse group
/// lasso:
///
/// ```text
/// min_{x, b}  (1/2n) sum_i (a_i.x + b - y_i)^2 + group sum_g sqrt(|g|) ||x_g|| + l1 ||x||_1
/// ```
///
/// | field | default | meaning |
/// |---|---|---|
/// | `groups` | none, must be set | the features of each group, counted from 0; in one group at most, in none not penalised by `group` |
/// | `group` | 1 | weight of the sum of the norms |
/// | `l1` | 0 | weight of the l1 norm |
/// | `intercept` | true | an unpenalised intercept |
/// | `stop` | relative gap 1e-4 | when to end, see [`Stop`] |
/// | `seed` | 0 | FISTA, the method, draws nothing |
///
/// A whole grid of penalties is cheaper by [`group_path`](crate::path::group_path).
///
/// ```
/// use fenchel_finite_sum::GroupLasso;
/// use ndarray::array;
///
/// let x = array![[1.0, 0.9, 0.3], [2.0, 2.2, -0.1], [3.0, 2.8, 0.2], [4.0, 4.1, -0.3]];
/// let fit = GroupLasso { groups: vec![vec![0, 1], vec![2]], group: 0.2, ..GroupLasso::default() };
/// let model = fit.fit(&x, &[2.0, 4.1, 5.9, 8.0])?;
/// assert_eq!(model.support(), [0, 1]);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupLasso {
    /// The features of each group.
    pub groups: Vec<Vec<usize>>,
    /// Weight of `sum_g sqrt(|g|) ||x_g||`.
    pub group: f64,
    /// Weight of `||x||_1`.
    pub l1: f64,
    /// Whether to fit an unpenalised intercept.
    pub intercept: bool,
    /// When to end.
    pub stop: Stop,
    /// Seed, of which FISTA makes no use.
    pub seed: u64,
}

impl Default for GroupLasso {
    fn default() -> Self {
        let (groups, stop) = (vec![], Stop::default());
        GroupLasso { groups, group: 1.0, l1: 0.0, intercept: true, stop, seed: 0 }
    }
}

fit_numbers!(
    GroupLasso,
    LinearModel,
    "[`Error::Invalid`] for data that is empty, not finite or of another shape, no groups or groups of features that are not there or in two of them, or a negative penalty."
);

impl GroupLasso {
    fn posed(&self, _: usize) -> &Self {
        self
    }

    fn solve<X: AsDesign + ?Sized, O: Observer<Method>>(
        &self,
        x: &X,
        y: ArrayView1<f64>,
        weights: Option<ArrayView1<f64>>,
        start: Option<LinearModel>,
        watch: &mut O,
    ) -> Result<LinearModel, Error> {
        let GroupLasso { ref groups, group, l1, intercept, stop, seed } = *self;
        if groups.is_empty() {
            return Err(Invalid::Empty { what: "groups" }.into());
        }
        let (design, targets) = (x.as_design()?, y.to_vec());
        let groups = Groups::new(design.columns(), groups)?;
        let penalty = SparseGroupLasso { groups, l1, group };
        let start = start.map(|LinearModel { weights, intercept, .. }| Point {
            weights: weights.to_vec(),
            intercept,
        });
        let hyper = Hyper { loss: Squared, l1, l2: 0.0, intercept, stop, seed };
        let problem = Problem::new(design, &targets, Squared, penalty, 0.0)?;
        let Fitted { weights, intercept, report, choice } =
            hyper.run(problem, weights, start, watch)?;
        Ok(LinearModel { weights, intercept, report, choice })
    }
}
