//! One binary logistic regression per class.

use fenchel_linalg::labels::{Classes, Label};
use fenchel_linalg::special::{softmax_in_place, softplus};
use fenchel_linalg::{AsDesign, Invalid};
use fenchel_optim::Report;
use fenchel_optim::model::Saved;
use ndarray::{Array1, Array2, ArrayView1, Axis};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::logistic::{LogisticModel, LogisticRegression};
use super::predictor::score_labels;
use super::softmax::likeliest;
use super::solve::same_classes;
use super::standardise::Standardiser;
use crate::Error;

/// Fits one binary [`LogisticRegression`] per class, against all other classes. The fits are independent and run on
/// all cores.
///
/// | field | default | meaning |
/// |---|---|---|
/// | `binary` | see [`LogisticRegression`] | the hyper-parameters of every fit |
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
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OneVsRest {
    /// The hyper-parameters of every fit.
    pub binary: LogisticRegression,
}

impl OneVsRest {
    /// Fits one model per class to an `n x d` design and `n` labels of at least two distinct values.
    ///
    /// # Errors
    /// The errors of [`LogisticRegression::fit`].
    pub fn fit<'y, X: AsDesign + Sync + ?Sized, L: Label + 'y>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, L>>,
    ) -> Result<OneVsRestModel<L>, Error> {
        self.fit_classes(y.into(), None, |is_class, _| self.binary.fit(x, is_class))
    }

    /// Does the same as [`fit`](OneVsRest::fit) with one weight per row, as in [`LogisticRegression::fit_weighted`].
    ///
    /// # Errors
    /// The errors of [`LogisticRegression::fit_weighted`].
    pub fn fit_weighted<'a, X: AsDesign + Sync + ?Sized, L: Label + 'a>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'a, L>>,
        weights: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<OneVsRestModel<L>, Error> {
        let weights = weights.into();
        self.fit_classes(y.into(), None, |is_class, _| {
            self.binary.fit_weighted(x, is_class, weights)
        })
    }

    /// Does the same as [`fit`](OneVsRest::fit) with a warm start from a former model, which was fitted to the same data or similar ones.
    ///
    /// # Errors
    /// The errors of [`fit`](OneVsRest::fit), and [`Error::Invalid`] for a model of other features or classes.
    pub fn fit_from<'y, X: AsDesign + Sync + ?Sized, L: Label + 'y>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, L>>,
        start: OneVsRestModel<L>,
    ) -> Result<OneVsRestModel<L>, Error> {
        self.fit_classes(y.into(), Some(start.classes.labels()), |is_class, class| {
            self.binary.fit_from(x, is_class, start.models[class].clone())
        })
    }

    fn fit_classes<L: Label>(
        &self,
        y: ArrayView1<L>,
        known: Option<&[L]>,
        fit: impl Fn(&[bool], usize) -> Result<LogisticModel<bool>, Error> + Sync,
    ) -> Result<OneVsRestModel<L>, Error> {
        let (classes, codes) = Classes::from_labels(&y.to_vec())?;
        if let [label] = classes.labels() {
            let expected = "one of at least two distinct labels, but all rows have this one";
            let label = format!("{label:?}");
            return Err(Invalid::Class { row: 0, label, expected }.into());
        }
        if let Some(known) = known {
            same_classes(known, classes.labels())?;
        }
        let fit = |class: usize| {
            let is_class: Vec<bool> = codes.iter().map(|&code| code == class).collect();
            fit(&is_class, class)
        };
        #[cfg(feature = "parallel")]
        let models: Vec<_> = {
            use rayon::prelude::*;
            (0..classes.len()).into_par_iter().map(fit).collect()
        };
        #[cfg(not(feature = "parallel"))]
        let models: Vec<_> = (0..classes.len()).map(fit).collect();
        let models = models.into_iter().collect::<Result<Vec<_>, Error>>()?;
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
