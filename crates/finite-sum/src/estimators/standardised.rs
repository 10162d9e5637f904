//! A model together with the scale of its features.

use fenchel_linalg::AsDesign;
use fenchel_linalg::labels::Label;
use fenchel_optim::model::Saved;
use ndarray::{Array1, Array2, ArrayView1};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{
    CrossValidated, LinearModel, LogisticModel, OneVsRestModel, PoissonModel, SoftmaxModel,
    Standardiser, SvcModel,
};
use crate::Error;

/// A model on standardised features that accepts raw features, as scikit-learn's `make_pipeline(StandardScaler(),
/// ...)`. Model and scale are saved in one file.
///
/// ```
/// use fenchel_finite_sum::prelude::Saved;
/// use fenchel_finite_sum::{LinearModel, Ridge, Standardised};
/// use ndarray::array;
///
/// let x = array![[1000.0, 0.1], [3000.0, 0.2], [5000.0, 0.2], [7000.0, 0.4]];
/// let y = [1.0, 2.0, 3.5, 4.0];
/// let fitted = Standardised::fit(&x, |scaled| Ridge::default().fit(scaled, &y))?;
/// let mut file = vec![];
/// fitted.save(&mut file)?;
/// let loaded = Standardised::<LinearModel>::load(&file[..])?;
/// assert_eq!(loaded.predict(&x)?, fitted.predict(&x)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Standardised<M> {
    /// Means and deviations of the raw features.
    pub scale: Standardiser,
    /// The model, on standardised features.
    pub model: M,
}

impl<M> Standardised<M> {
    /// Computes the scale of the features, then fits a model to the standardised copy, which is dense. `fit` may call
    /// any method of an estimator, for instance `|x| estimator.fit_with(x, &y, Fit::new().weights(&weights))`.
    ///
    /// # Errors
    /// Those of [`Standardiser::fit`] and of the estimator.
    pub fn fit<X: AsDesign + ?Sized>(
        x: &X,
        fit: impl FnOnce(&Array2<f64>) -> Result<M, Error>,
    ) -> Result<Self, Error> {
        let scale = Standardiser::fit(x)?;
        let model = fit(&scale.transform(x)?)?;
        Ok(Standardised { scale, model })
    }
}

impl<M> Standardised<CrossValidated<M>> {
    /// Returns the chosen model with its scale, without the table of scores.
    pub fn chosen(self) -> Standardised<M> {
        Standardised { scale: self.scale, model: self.model.model }
    }
}

/// The methods of a model, for raw features.
macro_rules! standardised {
    ($model:ty, $target:ty, $kind:literal, $features:expr $(, $proba:ty)? $(; $label:ident)?) => {
        impl$(<$label: Label>)? Standardised<$model> {
            /// The predictions of the model for raw features, one per row.
            ///
            /// # Errors
            /// [`Error::Invalid`] if rows are not finite or do not have the length of those in the fit.
            pub fn predict<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<$target>, Error> {
                self.model.predict(&self.scale.transform(x)?)
            }

            $(
                /// The probabilities that the model's `predict_proba` returns, for raw features.
                ///
                /// # Errors
                /// As `predict`.
                pub fn predict_proba<X: AsDesign + ?Sized>(&self, x: &X) -> Result<$proba, Error> {
                    self.model.predict_proba(&self.scale.transform(x)?)
                }
            )?

            /// The score that the model's `score` returns, for raw features.
            ///
            /// # Errors
            /// Those of `predict` and of the model's `score`.
            pub fn score<'y, X: AsDesign + ?Sized>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'y, $target>>,
            ) -> Result<f64, Error>
            where
                $target: 'y,
            {
                self.model.score(&self.scale.transform(x)?, y)
            }
        }

        impl$(<$label: Label + Serialize + DeserializeOwned>)? Saved for Standardised<$model> {
            const KIND: &'static str = concat!("standardised ", $kind);
            const VERSION: u32 = 1;

            fn check(&self) -> Result<(), String> {
                let features: fn(&$model) -> usize = $features;
                self.model.check()?;
                self.scale.check_file(features(&self.model))
            }
        }
    };
}

standardised!(LinearModel, f64, "linear regression", |m| m.weights.len());
standardised!(PoissonModel, f64, "Poisson regression", |m| m.weights.len());
standardised!(LogisticModel<L>, L, "logistic regression", |m| m.weights.len(), Array1<f64>; L);
standardised!(SvcModel<L>, L, "linear support vector machine", |m| m.weights.len(); L);
standardised!(SoftmaxModel<L>, L, "softmax regression", |m| m.weights.nrows(), Array2<f64>; L);
standardised!(
    OneVsRestModel<L>,
    L,
    "one-vs-rest logistic regression",
    |m| m.models[0].weights.len(),
    Array2<f64>;
    L
);
