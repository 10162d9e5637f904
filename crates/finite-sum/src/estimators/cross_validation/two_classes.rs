//! Cross-validation of binary classifiers.

use fenchel_linalg::labels::{Label, binary_signs};
use fenchel_linalg::special::softplus;
use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_metrics::{Split, stratified_k_fold};
use fenchel_optim::{Fit, Loss, Refusal};
use ndarray::ArrayView1;

use super::estimators::{LinearSvcCv, LogisticRegressionCv};
use super::folds::{Folds, Whole};
use super::margin::{self, Judge};
use super::scores::{CrossValidated, Score, Scoring};
use crate::Error;
use crate::estimators::solve::check_rows_per_class;
use crate::estimators::{LinearSvc, LogisticModel, LogisticRegression, SvcLoss, SvcModel};
use crate::loss::{Hinge, Logistic, SquaredHinge};
use crate::path::{Grid, PathSettings};

/// Labels of two values as signs, with stratified folds of them.
struct Signs<'a, 'w, D> {
    design: D,
    signs: Vec<f64>,
    folds: Folds,
    grid: Option<&'a Grid>,
    whole: &'a Whole<'w>,
    settings: PathSettings,
}

impl<'a, 'w, D: Design + Copy> Signs<'a, 'w, D> {
    fn new<X: AsDesign<View<'a> = D> + ?Sized, L: Label>(
        x: &'a X,
        y: ArrayView1<L>,
        weights: Option<ArrayView1<f64>>,
        folds: (usize, Option<&[Split]>),
        (grid, whole): (Option<&'a Grid>, &'a Whole<'w>),
        settings: PathSettings,
    ) -> Result<Self, Error> {
        let design = x.as_design()?;
        Invalid::check_length("labels", design.rows(), y.len())?;
        let (classes, signs) = binary_signs(&y.to_vec())?;
        if settings.intercept {
            let codes = signs.iter().map(|&sign| usize::from(sign > 0.0));
            check_rows_per_class(&classes, codes, weights, 2)?;
        }
        let folds = Folds::new(signs.len(), weights, folds, |rows| {
            let present: Vec<f64> = rows.iter().map(|&row| signs[row]).collect();
            stratified_k_fold(&present, folds.0, settings.seed)
        })?;
        Ok(Signs { design, signs, folds, grid, whole, settings })
    }

    fn scores<L: Loss + Copy>(
        &self,
        loss: L,
        l1_ratios: &[f64],
        by: Judge,
    ) -> Result<Vec<Score>, Error> {
        let plan = margin::Plan {
            design: self.design,
            targets: &self.signs,
            loss,
            grid: self.grid,
            folds: &self.folds,
            whole: self.whole,
            settings: self.settings.clone(),
        };
        plan.scores(l1_ratios, by)
    }
}

fn log_loss(margin: f64, sign: f64) -> f64 {
    softplus(-sign * margin)
}

/// The error of a row. A score of 0 predicts the first class, as in `predict`.
fn error(margin: f64, sign: f64) -> f64 {
    if (margin > 0.0) == (sign > 0.0) { 0.0 } else { 1.0 }
}

impl LogisticRegressionCv {
    /// Chooses the penalty, then fits a model to the `n x d` design and all `n` labels of two distinct values.
    ///
    /// # Errors
    /// As [`ElasticNetCv::fit`](super::ElasticNetCv::fit), and [`Error::Invalid`] for labels of one or more than two values, or, with an intercept, a
    /// class of one row.
    pub fn fit<'a, X: AsDesign + ?Sized, L: Label + 'a>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, L>>,
    ) -> Result<CrossValidated<LogisticModel<L>>, Error> {
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
        fit: Fit<'_, CrossValidated<LogisticModel<L>>>,
    ) -> Result<CrossValidated<LogisticModel<L>>, Error> {
        let (y, Fit { weights, start, watch, .. }) = (y.into(), fit);
        let LogisticRegressionCv { choose, intercept, stop, seed, .. } = *self;
        let own = self.class_weights.times(y, weights)?;
        let weights = own.as_deref().map(ArrayView1::from).or(weights);
        let whole = Whole::new(stop, watch);
        let settings = PathSettings { intercept, seed, ..PathSettings::default() };
        let grid = self.grid.as_ref();
        let given = (self.folds, self.splits.as_deref());
        let task = Signs::new(x, y, weights, given, (grid, &whole), settings)?;
        let by = match self.scoring {
            Scoring::LogLoss => Judge::Rows(log_loss),
            Scoring::Errors => Judge::Rows(error),
            Scoring::Auc => Judge::Ranks,
        };
        let scores = task.scores(Logistic, &self.l1_ratios, by)?;
        let fitted = CrossValidated::new(scores, choose, |score| {
            let (l1, l2, stop) = (score.l1(), Some(score.l2()), whole.stop());
            let base = LogisticRegression::default();
            let logistic = LogisticRegression { l1, l2, intercept, stop, seed, ..base };
            let (start, watch) = (start.map(|start| &start.model), whole.watch());
            logistic.fit_with(x, y, Fit { weights, start, watch, ..Fit::new() })
        })?;
        Ok(whole.judged(fitted, |model| &mut model.report))
    }
}

impl LinearSvcCv {
    /// Chooses the penalty, then fits a model to the `n x d` design and all `n` labels of two distinct values.
    ///
    /// # Errors
    /// As [`LogisticRegressionCv::fit`].
    pub fn fit<'a, X: AsDesign + ?Sized, L: Label + 'a>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, L>>,
    ) -> Result<CrossValidated<SvcModel<L>>, Error> {
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
        fit: Fit<'_, CrossValidated<SvcModel<L>>>,
    ) -> Result<CrossValidated<SvcModel<L>>, Error> {
        let (y, Fit { weights, start, watch, .. }) = (y.into(), fit);
        let LinearSvcCv { loss, choose, intercept, stop, seed, .. } = *self;
        let own = self.class_weights.times(y, weights)?;
        let weights = own.as_deref().map(ArrayView1::from).or(weights);
        let whole = Whole::new(stop, watch);
        let settings = PathSettings { intercept, seed, ..PathSettings::default() };
        let grid = self.grid.as_ref();
        let given = (self.folds, self.splits.as_deref());
        let task = Signs::new(x, y, weights, given, (grid, &whole), settings)?;
        let by = match self.scoring {
            Scoring::LogLoss => {
                let what = "log loss, for it gives no probabilities: use errors or the AUC";
                return Err(Refusal::unsupported("LinearSvcCv", what).into());
            }
            Scoring::Errors => Judge::Rows(error),
            Scoring::Auc => Judge::Ranks,
        };
        let scores = match loss {
            SvcLoss::Hinge => task.scores(Hinge, &[0.0], by)?,
            SvcLoss::SquaredHinge => task.scores(SquaredHinge, &[0.0], by)?,
        };
        let fitted = CrossValidated::new(scores, choose, |score| {
            let (l2, stop) = (Some(score.l2()), whole.stop());
            let svc = LinearSvc { loss, l2, intercept, stop, seed, ..LinearSvc::default() };
            let (start, watch) = (start.map(|start| &start.model), whole.watch());
            svc.fit_with(x, y, Fit { weights, start, watch, ..Fit::new() })
        })?;
        Ok(whole.judged(fitted, |model| &mut model.report))
    }
}
