//! The estimators.

use fenchel_linalg::labels::{Classes, Label};
use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_metrics::{Split, k_fold, stratified_k_fold};
use fenchel_optim::settings;
use fenchel_optim::{Fit, Stop};
use ndarray::ArrayView1;

use super::folds::{Folds, Whole};
use super::margin::{self, Judge};
use super::scores::{Choose, CrossValidated, Scoring};
use super::softmax;
use crate::Error;
use crate::auto::AutoSettings;
use crate::estimators::solve::check_rows_per_class;
use crate::estimators::{
    ClassWeights, ElasticNet, LinearModel, SoftmaxModel, SoftmaxRegression, SvcLoss,
};
use crate::loss::Squared;
use crate::path::{Grid, PathSettings};

macro_rules! cross_validated {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty = $default:expr,)* }) => {
        settings! {
            $(#[$about])*
            pub struct $name {
                $($(#[$field_about])* $field: $type = $default,)*
                /// Number of folds.
                folds: usize = 5,
                /// The training rows and the test rows of each fold, in place of `folds`. Rows may repeat on a side, and be in
                /// none; a test row that is a training row of the fold too is refused.
                splits: Option<Vec<Split>> = None,
                /// The rule that chooses the penalty from the table of scores.
                choose: Choose = Choose::Best,
                /// The penalties to try. The default `None` depends on the problem. With an l1 norm there are 100
                /// penalties, down to 1e-3 of the largest. Without an l1 norm there are 25, down to 1e-6 of the mean
                /// squared norm of the rows. For a loss that is not differentiable there are 15, down to 1e-4 of it.
                grid: Option<Grid> = None,
                /// Whether to fit an unpenalised intercept.
                intercept: bool = true,
                /// When a fit ends, see [`Stop`]. `max_seconds` is the time of all fits together.
                stop: Stop = Stop::default(),
                /// Seed of the folds and of the visiting orders of the solvers.
                seed: u64 = 0,
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
    /// [`LogisticRegression`](crate::LogisticRegression) with its penalty chosen by cross-validation on stratified
    /// folds. The default penalty is ridge. Set `l1_ratios` to try l1 and elastic-net penalties.
    LogisticRegressionCv {
        /// Shares of the l1 norm to try, from 0 to 1.
        l1_ratios: Vec<f64> = vec![0.0],
        /// The weight of each class in the fits, the scores and the grid.
        class_weights: ClassWeights = ClassWeights::Equal,
        /// The score that is computed on the folds.
        scoring: Scoring = Scoring::default(),
    }
}

cross_validated! {
    /// [`SoftmaxRegression`] with its penalty chosen by cross-validation on stratified folds. The default penalty is
    /// ridge. Set `l1_ratios` to try l1 and elastic-net penalties. With intercepts, every class needs at least two
    /// rows, and for the AUC at least as many rows as there are folds.
    ///
    /// ```
    /// use fenchel_datasets::embedded;
    /// use fenchel_finite_sum::{SoftmaxRegressionCv, Standardiser, estimators::Scoring};
    ///
    /// let data = embedded::wine();
    /// let x = Standardiser::fit(&data.x)?.transform(&data.x)?;
    /// let cv = SoftmaxRegressionCv { scoring: Scoring::Errors, ..SoftmaxRegressionCv::default() };
    /// let fitted = cv.fit(&x, &data.y)?;
    /// // Less than 4% of the bottles go to the wrong one of three vineyards.
    /// assert!(fitted.scores[fitted.best].mean < 0.04);
    /// # Ok::<(), fenchel_finite_sum::Error>(())
    /// ```
    SoftmaxRegressionCv {
        /// Shares of the l1 norm to try, from 0 to 1.
        l1_ratios: Vec<f64> = vec![0.0],
        /// The weight of each class in the fits, the scores and the grid.
        class_weights: ClassWeights = ClassWeights::Equal,
        /// The score that is computed on the folds.
        scoring: Scoring = Scoring::default(),
    }
}

cross_validated! {
    /// [`LinearSvc`](crate::LinearSvc) with its penalty chosen by cross-validation on stratified folds, by the share of errors or the AUC.
    LinearSvcCv {
        /// The loss of a violated margin.
        loss: SvcLoss = SvcLoss::default(),
        /// The weight of each class in the fits, the scores and the grid.
        class_weights: ClassWeights = ClassWeights::Equal,
        /// The score that is computed on the folds. The log loss is not available, because the model has no
        /// probabilities.
        scoring: Scoring = Scoring::Errors,
    }
}

impl ElasticNetCv {
    /// Chooses the penalty, then fits a model to the `n x d` design and all `n` targets.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that is empty, not finite or of another shape, or settings out of range.
    pub fn fit<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<CrossValidated<LinearModel>, Error> {
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows, in the fits, the scores and the grid, a former model from which the last
    /// fit starts, and a closure that watches all fits. Folds count rows; one of weight 0 is left out, and a weight of 2 is as
    /// good as the row twice in its fold. `Break` ends all fits, and so does the time limit; penalties that were not reached
    /// have the score NaN, and the report of the model has the status of that end.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and [`Error::Invalid`] for weights that are negative, all 0, or not one a row.
    pub fn fit_with<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
        fit: Fit<'_, CrossValidated<LinearModel>>,
    ) -> Result<CrossValidated<LinearModel>, Error> {
        let (y, Fit { weights, start, watch, .. }) = (y.into(), fit);
        let ElasticNetCv { folds, choose, intercept, stop, seed, .. } = *self;
        let (design, targets) = (x.as_design()?, y.to_vec());
        Invalid::check_length("targets", design.rows(), targets.len())?;
        let given = (folds, self.splits.as_deref());
        let folds =
            Folds::new(targets.len(), weights, given, |rows| k_fold(rows.len(), folds, seed))?;
        let whole = Whole::new(stop, watch);
        let plan = margin::Plan {
            design,
            targets: &targets,
            loss: Squared,
            grid: self.grid.as_ref(),
            folds: &folds,
            whole: &whole,
            settings: PathSettings { intercept, seed, ..PathSettings::default() },
        };
        let scores = plan.scores(&self.l1_ratios, Judge::Rows(|t, y| (t - y).powi(2)))?;
        let fitted = CrossValidated::new(scores, choose, |score| {
            let (l1, l2, stop) = (score.l1(), score.l2(), whole.stop());
            let net = ElasticNet { l1, l2, intercept, stop, seed };
            let (start, watch) = (start.map(|start| &start.model), whole.watch());
            net.fit_with(x, y, Fit { weights, start, watch, ..Fit::new() })
        })?;
        Ok(whole.judged(fitted, |model| &mut model.report))
    }
}

/// An [`ElasticNetCv`] of one share.
macro_rules! of_one_share {
    ($name:ident: $share:literal) => {
        impl $name {
            /// Chooses the penalty, then fits a model to the `n x d` design and all `n` targets.
            ///
            /// # Errors
            /// As [`ElasticNetCv::fit`].
            pub fn fit<'a, X: AsDesign + ?Sized>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'a, f64>>,
            ) -> Result<CrossValidated<LinearModel>, Error> {
                self.fit_with(x, y, Fit::new())
            }

            /// As [`fit`](Self::fit), with what [`ElasticNetCv::fit_with`] takes.
            ///
            /// # Errors
            /// As [`ElasticNetCv::fit_with`].
            pub fn fit_with<'a, X: AsDesign + ?Sized>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'a, f64>>,
                fit: Fit<'_, CrossValidated<LinearModel>>,
            ) -> Result<CrossValidated<LinearModel>, Error> {
                let $name { folds, splits, choose, grid, intercept, stop, seed } = self.clone();
                let l1_ratios = vec![$share];
                ElasticNetCv { l1_ratios, folds, splits, choose, grid, intercept, stop, seed }
                    .fit_with(x, y, fit)
            }
        }
    };
}

of_one_share!(LassoCv: 1.0);
of_one_share!(RidgeCv: 0.0);

impl SoftmaxRegressionCv {
    /// Chooses the penalty, then fits a model to the `n x d` design and all `n` labels of at least two distinct values.
    ///
    /// # Errors
    /// As [`ElasticNetCv::fit`], and [`Error::Invalid`] for labels of one value, or, with an intercept, a class of one row.
    pub fn fit<'a, X: AsDesign + ?Sized, L: Label + 'a>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, L>>,
    ) -> Result<CrossValidated<SoftmaxModel<L>>, Error> {
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows, in the fits, the scores and the grid, a former model from which the last
    /// fit starts, and a closure that watches all fits. Folds count rows; one of weight 0 is left out, and a weight of 2 is as
    /// good as the row twice in its fold. `Break` ends all fits, and so does the time limit; penalties that were not reached
    /// have the score NaN, and the report of the model has the status of that end.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and [`Error::Invalid`] for weights that are negative, all 0, or not one a row.
    pub fn fit_with<'a, X: AsDesign + ?Sized, L: Label + 'a>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, L>>,
        fit: Fit<'_, CrossValidated<SoftmaxModel<L>>>,
    ) -> Result<CrossValidated<SoftmaxModel<L>>, Error> {
        let (y, Fit { weights, start, watch, .. }) = (y.into(), fit);
        let SoftmaxRegressionCv { folds, choose, scoring, intercept, stop, seed, .. } = *self;
        let design = x.as_design()?;
        Invalid::check_length("labels", design.rows(), y.len())?;
        let (classes, codes) = Classes::from_labels(&y.to_vec())?;
        let own = self.class_weights.times(y, weights)?;
        let weights = own.as_deref().map(ArrayView1::from).or(weights);
        if intercept {
            check_rows_per_class(classes.labels(), codes.iter().copied(), weights, 2)?;
        }
        let given = (folds, self.splits.as_deref());
        let folds = Folds::new(codes.len(), weights, given, |rows| {
            let present: Vec<usize> = rows.iter().map(|&row| codes[row]).collect();
            stratified_k_fold(&present, folds, seed)
        })?;
        let whole = Whole::new(stop, watch);
        let plan = softmax::Plan {
            design,
            codes: &codes,
            classes: classes.len(),
            grid: self.grid.as_ref(),
            folds: &folds,
            intercept,
            scoring,
            whole: &whole,
            settings: AutoSettings { seed, ..AutoSettings::default() },
        };
        let scores = plan.scores(&self.l1_ratios)?;
        let fitted = CrossValidated::new(scores, choose, |score| {
            let (l1, l2, stop) = (score.l1(), Some(score.l2()), whole.stop());
            let base = SoftmaxRegression::default();
            let softmax = SoftmaxRegression { l1, l2, intercept, stop, seed, ..base };
            let (start, watch) = (start.map(|start| &start.model), whole.watch());
            softmax.fit_with(x, y, Fit { weights, start, watch, ..Fit::new() })
        })?;
        Ok(whole.judged(fitted, |model| &mut model.report))
    }
}
