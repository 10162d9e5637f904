//! Functions that all linear models share: scores, labels, and the checks of a loaded model.

use std::fmt;

use fenchel_linalg::labels::{Label, ascend};
use fenchel_linalg::{AsDesign, Design, Invalid, NamedRows, Names, multiply};
use ndarray::{Array1, ArrayView1, ArrayView2};

use crate::Error;

/// `A x + b`
pub(super) fn scores<X: AsDesign + ?Sized>(
    x: &X,
    names: &Names,
    weights: &Array1<f64>,
    intercept: f64,
) -> Result<Array1<f64>, Error> {
    let design = x.as_design()?;
    names.check_design(x.names())?;
    Invalid::check_length("columns of the design matrix", weights.len(), design.columns())?;
    let weights = weights.to_vec();
    let mut scores = vec![0.0; design.rows()];
    multiply(&design, &weights, &mut scores);
    scores.iter_mut().for_each(|score| *score += intercept);
    Ok(scores.into())
}

/// The share of rows whose label is predicted correctly.
pub(super) fn accuracy<L: Label>(
    predicted: &Array1<L>,
    truth: ArrayView1<L>,
) -> Result<f64, Error> {
    Invalid::check_length("labels", predicted.len(), truth.len())?;
    if truth.is_empty() {
        return Err(Invalid::Empty { what: "labels" }.into());
    }
    // A NaN is in no order: not even its own.
    let right = |(p, t): &(&L, &L)| t.is_label() && p.order(t).is_eq();
    let right = predicted.iter().zip(truth).filter(right).count();
    Ok(right as f64 / predicted.len() as f64)
}

/// For models that predict labels.
macro_rules! score_labels {
    ($model:ident) => {
        impl<L: Label> $model<L> {
            /// The accuracy, which is the share of rows whose label is predicted correctly. A label that the model
            /// does not know counts as an error.
            ///
            /// # Errors
            /// [`Error::Invalid`] if there is not one label per row, if there are no rows, or if rows are not finite
            /// or do not have the length of the weights.
            pub fn score<'y, X: AsDesign + ?Sized>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'y, L>>,
            ) -> Result<f64, Error>
            where
                L: 'y,
            {
                $crate::estimators::predictor::accuracy(&self.predict(x)?, y.into())
            }
        }
    };
}
pub(super) use score_labels;

/// A model of one margin: the struct, what it is made of and into, and its file. `$kin` is what it is called, and the label is
/// that of a model of two classes.
macro_rules! margin_model {
    ($(#[$about:meta])* $model:ident, $kin:literal, $kind:literal $(, $label:ident)?) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        pub struct $model$(<$label = f64>)? {
            /// One weight per feature.
            pub weights: Array1<f64>,
            /// The intercept.
            pub intercept: f64,
            $(
                /// The two labels, ascending. A positive score predicts the second.
                pub classes: [$label; 2],
            )?
            /// The names of the features, if the design had them.
            #[serde(default, skip_serializing_if = "Names::is_empty")]
            pub names: Names,
            /// The report of the fit, with its certificate.
            pub report: Report,
            /// The method that was chosen, and the reason. It is `None` if a file does not contain it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub choice: Option<Choice>,
        }

        impl$(<$label: Label>)? $model$(<$label>)? {
            pub(super) fn new(fitted: Fitted, names: &Names $(, classes: [$label; 2])?) -> Self {
                let Fitted { weights, intercept, report, choice } = fitted;
                let names = names.clone();
                $model { weights, intercept, $(classes: classes as [$label; 2],)? names, report, choice }
            }

            /// The point of a warm start.
            pub(super) fn point(&self) -> Point {
                Point { weights: self.weights.to_vec(), intercept: self.intercept }
            }

            /// The features with non-zero weights, ascending.
            pub fn support(&self) -> Vec<usize> {
                self.weights.iter().enumerate().filter(|(_, w)| **w != 0.0).map(|(c, _)| c).collect()
            }

            #[doc = concat!("Returns the same ", $kin, " for raw features. Fit on `scale.transform(&x)`, call this, then predict on `x` itself.")]
            ///
            /// # Errors
            /// [`Error::Invalid`] if the number of features differs.
            pub fn for_raw_features(mut self, scale: &Standardiser) -> Result<Self, Error> {
                scale.unscale(self.weights.view_mut(), &mut self.intercept)?;
                Ok(self)
            }
        }

        /// The intercept and the weights that are not 0, a line each, by the names of the features.
        impl$(<$label: Label>)? fmt::Display for $model$(<$label>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let heading: Option<String> = None;
                $(let heading = heading.or_else(|| {
                    let classes: &[$label; 2] = &self.classes;
                    Some(format!("for {:?}", classes[1]))
                });)?
                let heading = heading.unwrap_or_else(|| "weight".into());
                let weights = self.weights.view().insert_axis(Axis(1));
                let columns = (vec![heading], vec![self.intercept]);
                $crate::estimators::predictor::write_weights(f, $kind, &self.names, columns, weights)
            }
        }

        impl$(<$label: Label + Serialize + DeserializeOwned>)? Saved for $model$(<$label>)? {
            const KIND: &'static str = $kind;
            const VERSION: u32 = 1;

            fn check(&self) -> Result<(), String> {
                $({
                    let classes: &[$label; 2] = &self.classes;
                    $crate::estimators::predictor::check_classes(classes)?;
                })?
                self.names.check(self.weights.len()).map_err(|error| error.to_string())?;
                $crate::estimators::predictor::check_weights(&self.weights, self.intercept)
            }
        }
    };
}
pub(super) use margin_model;

/// The predictions of a model of two classes. `$scores` says what the margin is.
macro_rules! two_classes {
    ($model:ident, $scores:literal) => {
        $crate::estimators::predictor::score_labels!($model);

        impl<L: Label> $model<L> {
            #[doc = $scores]
            ///
            /// # Errors
            /// [`Error::Invalid`] if rows are not finite or do not have the length of the weights.
            pub fn decision_function<X: AsDesign + ?Sized>(
                &self,
                x: &X,
            ) -> Result<Array1<f64>, Error> {
                let (weights, intercept) = (&self.weights, self.intercept);
                $crate::estimators::predictor::scores(x, &self.names, weights, intercept)
            }

            /// Predicts one label per row: the second label if the score is positive, else the first.
            ///
            /// # Errors
            #[doc = concat!("As [`decision_function`](", stringify!($model), "::decision_function).")]
            pub fn predict<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<L>, Error> {
                let label = |&score: &f64| self.classes[usize::from(score > 0.0)].clone();
                Ok(self.decision_function(x)?.iter().map(label).collect())
            }
        }
    };
}
pub(super) use two_classes;

/// Writes the intercepts and the weights that are not 0 by name, after a line that counts them.
pub(super) fn write_weights(
    f: &mut fmt::Formatter<'_>,
    kind: &str,
    names: &Names,
    (headings, intercepts): (Vec<String>, Vec<f64>),
    values: ArrayView2<f64>,
) -> fmt::Result {
    let rows = NamedRows { headings, first: Some(("(intercept)", intercepts)), names, values };
    let (support, features) = (rows.support().len(), values.nrows());
    write!(f, "{kind}: {support} of {features} features have a weight other than 0\n{rows}")
}

pub(super) fn check_weights(weights: &Array1<f64>, intercept: f64) -> Result<(), String> {
    if weights.is_empty() {
        return Err("weights are empty; expected one a feature".into());
    }
    match weights.iter().chain([&intercept]).position(|w| !w.is_finite()) {
        None => Ok(()),
        Some(place) => Err(format!("weight {place} is not finite")),
    }
}

pub(super) fn check_classes<L: Label>(classes: &[L; 2]) -> Result<(), String> {
    let [low, high] = classes;
    if ascend(classes) { Ok(()) } else { Err(format!("classes {low:?}, {high:?} do not ascend")) }
}
