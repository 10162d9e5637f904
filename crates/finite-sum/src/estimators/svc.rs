//! Linear support vector machines.

use std::fmt;

use fenchel_linalg::labels::Label;
use fenchel_linalg::{AsDesign, Names, Standardiser};
use fenchel_optim::model::Saved;
use fenchel_optim::prox::Zero;
use fenchel_optim::settings;
use fenchel_optim::{Fit, Report, Stop};
use ndarray::{Array1, ArrayView1, Axis};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::class_weights::ClassWeights;
use super::predictor::{margin_model, two_classes};
use super::solve::{Fitted, Penalised};
use crate::auto::Choice;
use crate::loss::{Hinge, SquaredHinge};
use crate::{Error, Point};

/// The loss of a support vector machine as a function of the margin violation `e = 1 - y t`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SvcLoss {
    /// `max(0, e)`, the loss of the classical machine. Coordinate ascent needs about `1/l2` passes on standardised features that do
    /// not separate the classes. So for `l2` far below 1e-3 a fit ends at the default limit of 1,000 passes, and its gap says how
    /// far it is: raise the limit, or take the squared hinge.
    Hinge,
    /// `max(0, e)^2 / 2`, which is smooth and faster to fit.
    #[default]
    SquaredHinge,
}

settings! {
    /// A binary linear support vector machine:
    ///
    /// ```math
    /// \min_{x, b} \; \frac{1}{n} \sum_{i=1}^n \phi(1 - y_i (a_i \cdot x + b)) + \frac{l_2}{2} \|x\|^2
    /// ```
    ///
    /// In scikit-learn `C` is `1/(l2 n)` for the hinge. For the squared hinge it is `1/(2 l2 n)`, because
    /// scikit-learn does not divide the square by 2. Its `LinearSVC` penalises the intercept. Here the intercept is
    /// not penalised.
    ///
    /// The hinge is fitted by [`sdca`](fn@crate::methods::sdca), and the squared hinge by the method that
    /// [`auto`](mod@crate::auto) chooses.
    ///
    /// ```
    /// use fenchel_finite_sum::{LinearSvc, SvcLoss};
    /// use ndarray::array;
    ///
    /// let x = array![[0.0, 1.0], [1.0, 0.5], [3.0, 0.0], [4.0, 1.0]];
    /// let svc = LinearSvc { loss: SvcLoss::Hinge, ..LinearSvc::default() };
    /// let model = svc.fit(&x, &[3, 3, 8, 8])?;
    /// assert_eq!(model.predict(&x)?, array![3, 3, 8, 8]);
    /// # Ok::<(), fenchel_finite_sum::Error>(())
    /// ```
    pub struct LinearSvc {
        /// The loss of a violated margin.
        loss: SvcLoss = SvcLoss::SquaredHinge,
        /// Weight of `||x||^2 / 2`, above 0; `None` is `1/n`.
        l2: Option<f64> = None,
        /// Whether to fit an unpenalised intercept.
        intercept: bool = true,
        /// The weight of each class.
        class_weights: ClassWeights = ClassWeights::Equal,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
        /// Seed of the visiting order.
        seed: u64 = 0,
    }
}

impl LinearSvc {
    /// Fits a model to an `n x d` design and `n` labels of two distinct values: any [`Label`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that is empty, not finite or of another shape, or labels of one or more than two values; [`Error::Refused`] for the hinge with `l2 = 0`.
    pub fn fit<'a, X: AsDesign + ?Sized, L: Label + 'a>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, L>>,
    ) -> Result<SvcModel<L>, Error> {
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows, a former model to start from, and a closure that watches. Only the
    /// proportions of the weights matter; the mean loss becomes the weighted mean.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and [`Error::Invalid`] for weights that are negative, all 0, all 0 in one of the classes, or not one a row, and for a
    /// start of other features or classes.
    pub fn fit_with<'a, X: AsDesign + ?Sized, L: Label + 'a>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, L>>,
        fit: Fit<'_, SvcModel<L>>,
    ) -> Result<SvcModel<L>, Error> {
        let (y, Fit { weights, start, mut watch, .. }) = (y.into(), fit);
        let start = start.map(|start| (start.point(), start.classes.clone()));
        let LinearSvc { intercept, stop, seed, .. } = *self;
        let l2 = self.l2.unwrap_or(1.0 / y.len().max(1) as f64);
        let own = self.class_weights.times(y, weights)?;
        let weights = own.as_deref().map(ArrayView1::from).or(weights);
        let (fitted, classes) = match self.loss {
            SvcLoss::SquaredHinge => {
                let loss = SquaredHinge;
                let svc = Penalised { loss, regulariser: Zero, l2, intercept, stop, seed };
                svc.classify(x, y, weights, start, &mut watch)?
            }
            SvcLoss::Hinge => {
                let svc = Penalised { loss: Hinge, regulariser: Zero, l2, intercept, stop, seed };
                svc.classify(x, y, weights, start, &mut watch)?
            }
        };
        Ok(SvcModel::new(fitted, x.names(), classes))
    }
}

margin_model!(
    /// A fitted linear support vector machine. A model can be saved only if its labels are owned (`String`, not `&str`).
    SvcModel,
    "classifier",
    "linear support vector machine",
    L
);

two_classes!(
    SvcModel,
    "`a.x + b`, positive on the side of the second class, one a row. The margin has width 1 in this unit."
);
