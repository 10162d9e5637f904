//! A linear model with a loss and a regulariser that are chosen freely.

use fenchel_linalg::AsDesign;
use fenchel_linalg::labels::Label;
use fenchel_optim::Fit;
use ndarray::ArrayView1;

use super::linear::LinearModel;
use super::logistic::LogisticModel;
use super::solve::Penalised;
use crate::Error;
use crate::loss::Logistic;
use crate::methods::lag::Composite;
use crate::prelude::Loss;

impl<L: Loss + Copy, R: Composite> Penalised<L, R> {
    /// Fits a model to an `n x d` design and `n` targets that the loss takes: numbers, counts, or signs. What it predicts are the
    /// margins `a.x + b`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that is empty, not finite or of another shape, a target that the loss refuses, or a parameter out
    /// of range; [`Error::Refused`] where [`auto`](fn@crate::auto) has no method for such a loss and regulariser.
    pub fn fit<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<LinearModel, Error> {
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows, a former model to start from, and a closure that watches.
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
        let Fit { weights, start, mut watch, .. } = fit;
        let start = start.map(|start| start.point());
        let fitted = self.regress(x, y.into(), weights, start, &mut watch)?;
        Ok(LinearModel::new(fitted, x.names()))
    }
}

impl<R: Composite> Penalised<Logistic, R> {
    /// Fits labels of two distinct values, as [`LogisticRegression`](crate::LogisticRegression) does.
    ///
    /// # Errors
    /// Those of [`LogisticRegression::fit_with`](crate::LogisticRegression::fit_with).
    pub fn fit_labels<'a, X: AsDesign + ?Sized, Y: Label + 'a>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, Y>>,
        fit: Fit<'_, LogisticModel<Y>>,
    ) -> Result<LogisticModel<Y>, Error> {
        let Fit { weights, start, mut watch, .. } = fit;
        let start = start.map(|start| (start.point(), start.classes.clone()));
        let (fitted, classes) = self.classify(x, y.into(), weights, start, &mut watch)?;
        Ok(LogisticModel::new(fitted, x.names(), classes))
    }
}
