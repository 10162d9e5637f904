//! Cross-validation of binary classifiers.

use fenchel_linalg::labels::{Label, binary_signs};
use fenchel_linalg::special::softplus;
use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_metrics::stratified_k_fold;
use fenchel_optim::{Loss, Refusal};
use ndarray::ArrayView1;

use super::estimators::{LinearSvcCv, LogisticRegressionCv};
use super::folds::Folds;
use super::margin::{self, Judge};
use super::scores::{CrossValidated, Score, Scoring};
use crate::Error;
use crate::estimators::{LinearSvc, LogisticModel, LogisticRegression, SvcLoss, SvcModel};
use crate::loss::{Hinge, Logistic, SquaredHinge};
use crate::path::{Grid, PathSettings};

/// Labels of two values as signs, with stratified folds of them.
struct Signs<'a, D> {
    design: D,
    signs: Vec<f64>,
    folds: Folds,
    grid: Option<&'a Grid>,
    settings: PathSettings,
}

impl<'a, D: Design + Copy> Signs<'a, D> {
    fn new<X: AsDesign<View<'a> = D> + ?Sized, L: Label>(
        x: &'a X,
        y: ArrayView1<L>,
        weights: Option<ArrayView1<f64>>,
        folds: usize,
        grid: Option<&'a Grid>,
        settings: PathSettings,
    ) -> Result<Self, Error> {
        let design = x.as_design()?;
        Invalid::check_length("labels", design.rows(), y.len())?;
        let (_, signs) = binary_signs(&y.to_vec())?;
        let folds = Folds::new(signs.len(), weights, folds, |rows| {
            let present: Vec<f64> = rows.iter().map(|&row| signs[row]).collect();
            stratified_k_fold(&present, folds, settings.seed)
        })?;
        Ok(Signs { design, signs, folds, grid, settings })
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
    pub(super) fn solve<X: AsDesign + ?Sized, L: Label>(
        &self,
        x: &X,
        y: ArrayView1<L>,
        weights: Option<ArrayView1<f64>>,
    ) -> Result<CrossValidated<LogisticModel<L>>, Error> {
        let LogisticRegressionCv { choose, intercept, stop, seed, .. } = *self;
        let own = self.class_weights.times(y, weights)?;
        let weights = own.as_deref().map(ArrayView1::from).or(weights);
        let settings = PathSettings { intercept, stop, seed, ..PathSettings::default() };
        let grid = self.grid.as_ref();
        let task = Signs::new(x, y, weights, self.folds, grid, settings)?;
        let by = match self.scoring {
            Scoring::LogLoss => Judge::Rows(log_loss),
            Scoring::Errors => Judge::Rows(error),
            Scoring::Auc => Judge::Ranks,
        };
        let scores = task.scores(Logistic, &self.l1_ratios, by)?;
        CrossValidated::new(scores, choose, |score| {
            let (l1, l2) = (score.l1(), Some(score.l2()));
            let base = LogisticRegression::default();
            let fit = LogisticRegression { l1, l2, intercept, stop, seed, ..base };
            fit.solve(x, y, weights, None, &mut ())
        })
    }
}

impl LinearSvcCv {
    pub(super) fn solve<X: AsDesign + ?Sized, L: Label>(
        &self,
        x: &X,
        y: ArrayView1<L>,
        weights: Option<ArrayView1<f64>>,
    ) -> Result<CrossValidated<SvcModel<L>>, Error> {
        let LinearSvcCv { loss, choose, intercept, stop, seed, .. } = *self;
        let own = self.class_weights.times(y, weights)?;
        let weights = own.as_deref().map(ArrayView1::from).or(weights);
        let settings = PathSettings { intercept, stop, seed, ..PathSettings::default() };
        let grid = self.grid.as_ref();
        let task = Signs::new(x, y, weights, self.folds, grid, settings)?;
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
        CrossValidated::new(scores, choose, |score| {
            let l2 = Some(score.l2());
            let fit = LinearSvc { loss, l2, intercept, stop, seed, ..LinearSvc::default() };
            fit.solve(x, y, weights, None, &mut ())
        })
    }
}
