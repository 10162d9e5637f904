//! The estimators.

use fenchel_linalg::labels::{Label, binary_signs};
use fenchel_linalg::special::softplus;
use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_metrics::{k_fold, stratified_k_fold};
use fenchel_optim::Stop;
use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use super::folds::{Plan, splits};
use super::scores::{Choose, CrossValidated, Scoring, choose};
use crate::Error;
use crate::estimators::{ElasticNet, LinearModel, LogisticModel, LogisticRegression};
use crate::loss::{Logistic, Squared};
use crate::path::{Grid, PathSettings};

macro_rules! cross_validated {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty = $default:expr,)* }) => {
        $(#[$about])*
        ///
        /// | field | default | meaning |
        /// |---|---|---|
        /// | `folds` | 5 | number of folds |
        /// | `choose` | `Best` | see [`Choose`] |
        /// | `grid` | `None` | the penalties; `None` is 100 down to 1e-3 of the largest with l1, and 25 down to 1e-6 of the mean squared row norm without |
        /// | `intercept` | true | an unpenalised intercept |
        /// | `stop` | relative gap 1e-4 | of every fit, see [`Stop`] |
        /// | `seed` | 0 | of the folds and of the visiting orders |
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            $($(#[$field_about])* pub $field: $type,)*
            /// Number of folds.
            pub folds: usize,
            /// Which row of the table the model is fitted with.
            pub choose: Choose,
            /// The penalties.
            pub grid: Option<Grid>,
            /// Whether to fit an unpenalised intercept.
            pub intercept: bool,
            /// When a fit ends.
            pub stop: Stop,
            /// Seed of the folds and of the visiting orders.
            pub seed: u64,
        }

        impl Default for $name {
            fn default() -> Self {
                let (choose, stop) = (Choose::default(), Stop::default());
                $name { $($field: $default,)* folds: 5, choose, grid: None, intercept: true, stop, seed: 0 }
            }
        }
    };
}

cross_validated! {
    /// [`ElasticNet`] with both weights chosen by cross-validation: `l1 = r penalty`, `l2 = (1 - r) penalty` for
    /// every share `r` in `l1_ratios` (default 0.1, 0.5, 0.9, 1).
    ElasticNetCv {
        /// Shares of the l1 norm to try, from 0 to 1.
        l1_ratios: Vec<f64> = vec![0.1, 0.5, 0.9, 1.0],
    }
}

cross_validated! {
    /// [`Lasso`](crate::Lasso) with its weight chosen by cross-validation.
    ///
    /// ```
    /// use fenchel_datasets::embedded;
    /// use fenchel_finite_sum::{LassoCv, Standardiser};
    ///
    /// let data = embedded::wine_alcohol();
    /// let x = Standardiser::fit(&data.x)?.transform(&data.x)?;
    /// let fitted = LassoCv::default().fit(&x, &data.y)?;
    /// println!("{fitted}");
    /// // Twelve measurements tell more than half of the variance of the alcohol content.
    /// assert!(fitted.scores[fitted.best].mean < 0.5 * fitted.scores[0].mean);
    /// # Ok::<(), fenchel_finite_sum::Error>(())
    /// ```
    LassoCv {}
}

cross_validated! {
    /// [`Ridge`](crate::Ridge) with its weight chosen by cross-validation.
    RidgeCv {}
}

cross_validated! {
    /// [`LogisticRegression`] with its penalty chosen by cross-validation on stratified folds: ridge by default,
    /// or the shares of l1 in `l1_ratios`.
    LogisticRegressionCv {
        /// Shares of the l1 norm to try, from 0 to 1.
        l1_ratios: Vec<f64> = vec![0.0],
        /// What the folds are scored by.
        scoring: Scoring = Scoring::default(),
    }
}

impl ElasticNetCv {
    /// Chooses the penalty, then fits a model to the `n x d` design and all `n` targets.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that is empty, not finite or of another shape, or settings out of range.
    pub fn fit<'y, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, f64>>,
    ) -> Result<CrossValidated<LinearModel>, Error> {
        let y = y.into();
        let targets = y.to_vec();
        let design = x.as_design()?;
        Invalid::check_length("targets", design.rows(), targets.len())?;
        let ElasticNetCv { folds, intercept, stop, seed, .. } = *self;
        let plan = Plan {
            design,
            targets: &targets,
            loss: Squared,
            l1_ratios: &self.l1_ratios,
            grid: self.grid.as_ref(),
            splits: splits(k_fold(targets.len(), folds, seed), folds)?,
            settings: PathSettings { intercept, stop, seed, ..PathSettings::default() },
        };
        let scores = plan.scores(mean_squared_error)?;
        let (best, one_standard_error) = choose(&scores);
        let chosen = if self.choose == Choose::Best { best } else { one_standard_error };
        let (l1, l2) = (scores[chosen].l1(), scores[chosen].l2());
        let model = ElasticNet { l1, l2, intercept, stop, seed }.fit(x, y)?;
        Ok(CrossValidated { model, scores, best, one_standard_error, chosen })
    }
}

impl LassoCv {
    /// Chooses the penalty, then fits a model to the `n x d` design and all `n` targets.
    ///
    /// # Errors
    /// As [`ElasticNetCv::fit`].
    pub fn fit<'y, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, f64>>,
    ) -> Result<CrossValidated<LinearModel>, Error> {
        let LassoCv { folds, choose, grid, intercept, stop, seed } = self.clone();
        let l1_ratios = vec![1.0];
        ElasticNetCv { l1_ratios, folds, choose, grid, intercept, stop, seed }.fit(x, y)
    }
}

impl RidgeCv {
    /// Chooses the penalty, then fits a model to the `n x d` design and all `n` targets.
    ///
    /// # Errors
    /// As [`ElasticNetCv::fit`].
    pub fn fit<'y, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, f64>>,
    ) -> Result<CrossValidated<LinearModel>, Error> {
        let RidgeCv { folds, choose, grid, intercept, stop, seed } = self.clone();
        let l1_ratios = vec![0.0];
        ElasticNetCv { l1_ratios, folds, choose, grid, intercept, stop, seed }.fit(x, y)
    }
}

impl LogisticRegressionCv {
    /// Chooses the penalty, then fits a model to the `n x d` design and all `n` labels of two distinct values.
    ///
    /// # Errors
    /// As [`ElasticNetCv::fit`], and [`Error::Invalid`] for labels of one or more than two values.
    pub fn fit<'y, X: AsDesign + ?Sized, L: Label + 'y>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, L>>,
    ) -> Result<CrossValidated<LogisticModel<L>>, Error> {
        let y = y.into();
        let design = x.as_design()?;
        Invalid::check_length("labels", design.rows(), y.len())?;
        let (_, targets) = binary_signs(&y.to_vec())?;
        let LogisticRegressionCv { folds, intercept, stop, seed, .. } = *self;
        let plan = Plan {
            design,
            targets: &targets,
            loss: Logistic,
            l1_ratios: &self.l1_ratios,
            grid: self.grid.as_ref(),
            splits: splits(stratified_k_fold(&targets, folds, seed), folds)?,
            settings: PathSettings { intercept, stop, seed, ..PathSettings::default() },
        };
        let scores = match self.scoring {
            Scoring::LogLoss => plan.scores(log_loss)?,
            Scoring::Errors => plan.scores(errors)?,
        };
        let (best, one_standard_error) = choose(&scores);
        let chosen = if self.choose == Choose::Best { best } else { one_standard_error };
        let (l1, l2) = (scores[chosen].l1(), Some(scores[chosen].l2()));
        let model = LogisticRegression { l1, l2, intercept, stop, seed }.fit(x, y)?;
        Ok(CrossValidated { model, scores, best, one_standard_error, chosen })
    }
}

fn mean_squared_error(margins: &[f64], targets: &[f64]) -> f64 {
    let squares: f64 = margins.iter().zip(targets).map(|(t, y)| (t - y).powi(2)).sum();
    squares / targets.len() as f64
}

fn log_loss(margins: &[f64], signs: &[f64]) -> f64 {
    margins.iter().zip(signs).map(|(t, y)| softplus(-y * t)).sum::<f64>() / signs.len() as f64
}

/// A score of 0 is the first class, as in `predict`.
fn errors(margins: &[f64], signs: &[f64]) -> f64 {
    let wrong = margins.iter().zip(signs).filter(|(t, y)| (**t > 0.0) != (**y > 0.0)).count();
    wrong as f64 / signs.len() as f64
}
