//! The settings of a fit, which are the estimator's fields.

use fenchel_optim::{MAX_MEMORY, StepSize, Stop, settings};
use serde::{Deserialize, Serialize};

use crate::multiclass::{MulticlassLoss, Primal};

/// The bound on the norm of the weights.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum Radius {
    /// `P(0) / penalty`, where `P(0)` is the objective of zero weights. This bound excludes no solution, since losses
    /// are not negative. It requires a penalty above 0.
    #[default]
    FromPenalty,
    /// The given bound on the norm of the weights. They are those of scaled features if `standardise` is set.
    At(f64),
    /// The first radius of a doubling sequence at which the objective no longer decreases (D. Babichev, PhD thesis
    /// 2019, Remark 1). The field [`MulticlassL1Model::binds`](super::MulticlassL1Model::binds) says whether the
    /// bound is active even there. The limits of `stop` apply to all radii together.
    Search,
}

/// Which method fits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Solver {
    /// Chosen by the bounds of the theory. If both PDHG and the mirror method may be cheapest, both run in turns
    /// until one is ahead.
    #[default]
    Auto,
    /// The sublinear method: a rough solution early, for large `n`, `d`, `k`. It requires the hinge and the l1 norm.
    Sublinear,
    /// [`mirror_pdhg`](fn@crate::methods::mirror_pdhg) with its line search, for two or three digits.
    MirrorPdhg,
    /// Mirror prox with a line search.
    MirrorProx,
    /// Restarted PDHG, for many digits. It requires the hinge.
    Pdhg,
}

/// The step of the sublinear method.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum SaddleStep {
    /// Tries 1, 3, 10, ..., 1000 times the theory's step in short runs, keeps the better ones according to their
    /// certificates, and continues with the best in phases of doubling length.
    #[default]
    Pilot,
    /// The given step. `Theory` and `Scaled` run in phases of doubling length.
    Size(StepSize),
}

/// The weights of the classes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum ClassWeights {
    /// All rows have the same weight.
    #[default]
    Uniform,
    /// All classes have the same total weight.
    Balanced,
    /// A weight for the rows of each class, in ascending order of the labels.
    Each(Vec<f64>),
}

settings! {
    /// A multiclass linear classifier with sparse weights:
    ///
    /// ```text
    /// min_U  (1/n) sum_j w_j loss(U' x_j, y_j) + penalty norm(U),   norm(U) <= radius
    /// ```
    ///
    /// With an intercept, a constant that is added to a feature changes nothing but the intercepts: years since 1900 or since 0
    /// give the same scores and the same certificate. What is penalised is the intercept of the centred features, which is the
    /// score of the mean row. A sparse design is centred by an implicit shift, and stays sparse; only the columns that store
    /// half of their entries or more are stored in full. (`Solver::Sublinear` copies a centred sparse design to a dense one.)
    /// Means and root mean squares are weighted by the weights of the rows.
    ///
    /// Without an intercept nothing is centred. Without `standardise`, the constant feature is as large as the largest feature,
    /// so that features in another unit have the same model with weights in the other unit, at a `radius` and a `penalty` in the
    /// other unit.
    ///
    /// The model is the best of the method's iterates and the zero weights, with its smallest weights removed if the
    /// objective hardly changes. The certificate is computed from the returned weights.
    ///
    /// ```
    /// use fenchel_datasets::embedded;
    /// use fenchel_saddle::MulticlassL1;
    ///
    /// let data = embedded::iris();
    /// let model = MulticlassL1::default().fit(&data.x, &data.y)?;
    /// assert!(model.score(&data.x, &data.y)? > 0.9);
    /// println!("{}, {} weights", model.report, model.nonzeros());
    /// # Ok::<(), fenchel_saddle::Error>(())
    /// ```
    pub struct MulticlassL1 {
        /// The loss of a row: the hinge or the softmax.
        loss: MulticlassLoss = MulticlassLoss::Hinge,
        /// Weight of the norm.
        penalty: f64 = 0.01,
        /// Bound on the norm.
        radius: Radius = Radius::FromPenalty,
        /// The norm: `Entries` is the l1 norm of all entries, `Rows` keeps or drops whole features.
        norm: Primal = Primal::Entries,
        /// Which method.
        solver: Solver = Solver::Auto,
        /// The step of the sublinear method.
        step: SaddleStep = SaddleStep::Pilot,
        /// Whether features are centred for the fit, and a constant feature is added, which is
        /// penalised like all others.
        intercept: bool = true,
        /// Whether features are divided by their root mean square for the fit, which is their standard deviation if they
        /// are centred. The bounds depend on the largest one.
        standardise: bool = true,
        /// The weights of the classes.
        class_weights: ClassWeights = ClassWeights::Uniform,
        /// When to end; `max_seconds` is a time budget.
        stop: Stop = Stop { relative: 0.05, max_passes: 1e5, ..Stop::default() },
        /// Seed of the draws.
        seed: u64 = 0,
        /// The largest number of bytes to use, checked before anything is allocated; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
    }
}
