//! One binary logistic regression per class.

use std::fmt;

use fenchel_linalg::labels::{Classes, Label};
use fenchel_linalg::special::{softmax_in_place, softplus};
use fenchel_linalg::{AsDesign, Invalid, Standardiser, parallel};
use fenchel_optim::model::Saved;
use fenchel_optim::settings;
use fenchel_optim::{Budget, Fit, Report, SharedWatch};
use ndarray::{Array1, Array2, ArrayView1, Axis};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::logistic::{LogisticModel, LogisticRegression};
use super::predictor::{score_labels, write_weights};
use super::softmax::likeliest;
use super::solve::{check_rows_per_class, same_classes};
use crate::Error;

settings! {
    /// Fits one binary [`LogisticRegression`] per class, against all other classes. The fits are independent and run on
    /// all cores.
    ///
    /// This is cheaper to fit than [`SoftmaxRegression`](super::SoftmaxRegression). But its probabilities are those of
    /// independent models, which are only afterwards normalised to a sum of 1. A seed determines every bit of the result,
    /// on any number of threads.
    ///
    /// ```
    /// use fenchel_finite_sum::OneVsRest;
    /// use ndarray::array;
    ///
    /// let x = array![[0.0, 1.0], [0.2, 1.1], [3.0, 0.0], [3.1, 0.2], [0.1, -2.0], [0.0, -2.2]];
    /// let model = OneVsRest::default().fit(&x, &[1, 1, 2, 2, 3, 3])?;
    /// assert_eq!(model.predict(&x)?, array![1, 1, 2, 2, 3, 3]);
    /// # Ok::<(), fenchel_finite_sum::Error>(())
    /// ```
    pub struct OneVsRest {
        /// The hyper-parameters of every fit; its time limit is that of all fits together.
        binary: LogisticRegression = LogisticRegression::default(),
    }
}

impl OneVsRest {
    /// Fits one model per class to an `n x d` design and `n` labels of at least two distinct values.
    ///
    /// # Errors
    /// The errors of [`LogisticRegression::fit`].
    pub fn fit<'a, X: AsDesign + Sync + ?Sized, L: Label + 'a>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, L>>,
    ) -> Result<OneVsRestModel<L>, Error> {
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows, a former model to start from, and a closure that watches all fits.
    ///
    /// # Errors
    /// Those of [`LogisticRegression::fit_with`].
    pub fn fit_with<'a, X: AsDesign + Sync + ?Sized, L: Label + 'a>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, L>>,
        fit: Fit<'_, OneVsRestModel<L>>,
    ) -> Result<OneVsRestModel<L>, Error> {
        let Fit { weights, start, watch, .. } = fit;
        let (classes, codes) = Classes::from_labels(&y.into().to_vec())?;
        if let [label] = classes.labels() {
            let expected = "one of at least two distinct labels, but all rows have this one";
            let label = format!("{label:?}");
            return Err(Invalid::Class { row: 0, label, expected }.into());
        }
        check_rows_per_class(classes.labels(), codes.iter().copied(), weights, 1)?;
        if let Some(start) = start {
            same_classes(start.classes.labels(), classes.labels())?;
        }
        // The labels themselves may not be shared.
        let start = start.map(|start| &start.models);
        let (watch, budget) = (SharedWatch::from(watch), Budget::new(self.binary.stop));
        let fit = |class: usize| {
            let is_class: Vec<bool> = codes.iter().map(|&code| code == class).collect();
            let start = start.map(|models| &models[class]);
            let binary = LogisticRegression { stop: budget.left(), ..self.binary.clone() };
            binary.fit_with(x, &is_class, Fit { weights, start, watch: watch.each(), ..Fit::new() })
        };
        let models = parallel::try_map(0..classes.len(), fit)?;
        Ok(OneVsRestModel { models, classes })
    }
}

/// A fitted set of binary logistic regressions, one per class.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "L: Label + Deserialize<'de>"))]
pub struct OneVsRestModel<L = f64> {
    /// The model of every class, in the order of `classes`. Its label `true` stands for the class, `false` for the
    /// rest.
    pub models: Vec<LogisticModel<bool>>,
    /// The labels, ascending.
    pub classes: Classes<L>,
}

score_labels!(OneVsRestModel);

impl<L: Label> OneVsRestModel<L> {
    /// The report of the fit with the largest gap relative to its objective.
    pub fn worst_report(&self) -> &Report {
        let by_certificate = |a: &&Report, b: &&Report| {
            a.certificate.relative().total_cmp(&b.certificate.relative())
        };
        let reports = self.models.iter().map(|model| &model.report);
        reports.max_by(by_certificate).expect("there is a model a class")
    }

    /// The log-odds of every class against the rest. The result has one row per row of `x`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if rows are not finite or do not have the length of the weights.
    pub fn decision_function<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array2<f64>, Error> {
        let columns: Vec<Array1<f64>> =
            self.models.iter().map(|m| m.decision_function(x)).collect::<Result<_, _>>()?;
        let views: Vec<_> = columns.iter().map(|c| c.view()).collect();
        let scores = ndarray::stack(Axis(1), &views).expect("columns of one length");
        Ok(scores.as_standard_layout().into_owned())
    }

    /// The probabilities of the classes, normalised to a sum of 1.
    ///
    /// # Errors
    /// The errors of [`decision_function`](OneVsRestModel::decision_function).
    pub fn predict_proba<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array2<f64>, Error> {
        let mut scores = self.decision_function(x)?;
        for mut row in scores.rows_mut() {
            // By their logarithms: all may be too small for a number.
            row.mapv_inplace(|score| -softplus(-score));
            softmax_in_place(row.as_slice_mut().expect("rows are contiguous"));
        }
        Ok(scores)
    }

    /// The label with the largest log-odds, one per row.
    ///
    /// # Errors
    /// The errors of [`decision_function`](OneVsRestModel::decision_function).
    pub fn predict<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<L>, Error> {
        Ok(likeliest(&self.decision_function(x)?, &self.classes))
    }

    /// Returns the same classifier for raw features. Fit on `scale.transform(&x)`, call this, then predict on `x` itself.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the number of features differs.
    pub fn for_raw_features(mut self, scale: &Standardiser) -> Result<Self, Error> {
        let raw = |model: LogisticModel<bool>| model.for_raw_features(scale);
        self.models = self.models.into_iter().map(raw).collect::<Result<_, _>>()?;
        Ok(self)
    }
}

/// The intercepts and the weights that are not 0, a line for each feature and a column for each class.
impl<L: Label> fmt::Display for OneVsRestModel<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = self.classes.labels().iter().map(|label| format!("{label:?}")).collect();
        let intercepts = self.models.iter().map(|model| model.intercept).collect();
        let Some(LogisticModel { names, weights, .. }) = self.models.first() else { return Ok(()) };
        let shape = (weights.len(), self.models.len());
        let weights = Array2::from_shape_fn(shape, |(c, k)| self.models[k].weights[c]);
        let kind = "one-vs-rest logistic regression";
        write_weights(f, kind, names, (labels, intercepts), weights.view())
    }
}

impl<L: Label + Serialize + DeserializeOwned> Saved for OneVsRestModel<L> {
    const KIND: &'static str = "one-vs-rest logistic regression";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        let (models, classes) = (self.models.len(), self.classes.len());
        if models != classes {
            return Err(format!("{models} models for {classes} classes"));
        }
        let columns = self.models[0].weights.len();
        for model in &self.models {
            model.check()?;
            if model.weights.len() != columns || model.classes != [false, true] {
                return Err("the models differ in their features or classes".into());
            }
        }
        Ok(())
    }
}
