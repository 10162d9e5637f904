//! Least squares with a penalty on groups of features.

use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_optim::prox::{Groups, SparseGroupLasso, Zero};
use fenchel_optim::settings;
use fenchel_optim::{Fit, Stop};
use ndarray::ArrayView1;

use super::linear::LinearModel;
use super::solve::Penalised;
use crate::loss::Squared;
use crate::{Error, Problem};

settings! {
    /// Least squares with the group lasso penalty, which includes or excludes whole groups of features. With `l1 > 0`
    /// it is the sparse group lasso:
    ///
    /// ```text
    /// min_{x, b}  (1/2n) sum_i (a_i.x + b - y_i)^2 + group sum_g sqrt(|g|) ||x_g|| + l1 ||x||_1
    /// ```
    ///
    /// If you need many penalties, [`group_path`](crate::path::group_path) is cheaper than separate fits.
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
    pub struct GroupLasso {
        /// The features of each group, counted from 0. A feature is in at most one group. Features without a group
        /// are not penalised by `group`. This field has no useful default and must be set.
        groups: Vec<Vec<usize>> = vec![],
        /// Weight of `sum_g sqrt(|g|) ||x_g||`.
        group: f64 = 1.0,
        /// Weight of `||x||_1`.
        l1: f64 = 0.0,
        /// Whether to fit an unpenalised intercept.
        intercept: bool = true,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
        /// A seed, for the interface only: the solver FISTA is not random.
        seed: u64 = 0,
    }
}

impl GroupLasso {
    /// Fits a model to an `n x d` design and `n` targets.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that is empty, not finite or of another shape, no groups or groups of features that are not there or in two of them, or a negative penalty.
    pub fn fit<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<LinearModel, Error> {
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows, a former model to start from, and a closure that watches. Only the
    /// proportions of the weights matter; the mean loss becomes the weighted mean.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and [`Error::Invalid`] for weights that are negative, all 0, or not one a row, and for a
    /// start of other features.
    pub fn fit_with<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
        fit: Fit<'_, LinearModel>,
    ) -> Result<LinearModel, Error> {
        let (y, Fit { weights, start, mut watch, .. }) = (y.into(), fit);
        let GroupLasso { ref groups, group, l1, intercept, stop, seed } = *self;
        if groups.is_empty() {
            return Err(Invalid::Empty { what: "groups" }.into());
        }
        let (design, targets) = (x.as_design()?, y.to_vec());
        // The problem first: it refuses more columns than there is memory for.
        let problem = Problem::new(design, &targets, Squared, Zero, 0.0)?;
        let groups = Groups::new(design.columns(), groups)?;
        let problem = problem.penalised(SparseGroupLasso { groups, l1, group }, 0.0)?;
        let regulariser = Zero;
        let penalised = Penalised { loss: Squared, regulariser, l2: 0.0, intercept, stop, seed };
        let start = start.map(|start| start.point());
        Ok(LinearModel::new(penalised.run(problem, weights, start, &mut watch)?, x.names()))
    }
}
