//! The four methods of every estimator that fit a model: `fit`, `fit_weighted`, `fit_from` (a warm start from a
//! former model) and `fit_watched`. All of them call the estimator's `solve`.

/// For estimators of classes.
macro_rules! fit_labels {
    ($estimator:ident, $model:ident, $labels:literal, $errors:literal, $of_weights:literal) => {
        impl $estimator {
            #[doc = concat!("Fits a model to an `n x d` design and `n` labels of ", $labels, ": any [`Label`].")]
            ///
            /// # Errors
            #[doc = $errors]
            pub fn fit<'y, X: AsDesign + ?Sized, L: Label + 'y>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'y, L>>,
            ) -> Result<$model<L>, Error> {
                self.solve(x, y.into(), None, None, &mut ())
            }

            #[doc = concat!(
                "As [`fit`](", stringify!($estimator), "::fit), with one weight a row, `>= 0`: a weight of 2 is as good as ",
                "the row twice. Only the proportions matter; the mean loss becomes the weighted mean."
            )]
            ///
            /// # Errors
            #[doc = concat!(
                "As [`fit`](", stringify!($estimator), "::fit), and [`Error::Invalid`] for weights that are negative, ",
                "all 0", $of_weights, ", or not one a row."
            )]
            pub fn fit_weighted<'a, X: AsDesign + ?Sized, L: Label + 'a>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'a, L>>,
                weights: impl Into<ArrayView1<'a, f64>>,
            ) -> Result<$model<L>, Error> {
                self.solve(x, y.into(), Some(weights.into()), None, &mut ())
            }

            #[doc = concat!(
                "As [`fit`](", stringify!($estimator), "::fit), from a former model: a warm start on the same data or data like it."
            )]
            ///
            /// # Errors
            #[doc = concat!(
                "As [`fit`](", stringify!($estimator), "::fit), and [`Error::Invalid`] for a model of other features or classes."
            )]
            pub fn fit_from<'y, X: AsDesign + ?Sized, L: Label + 'y>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'y, L>>,
                start: $model<L>,
            ) -> Result<$model<L>, Error> {
                self.solve(x, y.into(), None, Some(start), &mut ())
            }

            #[doc = concat!(
                "As [`fit`](", stringify!($estimator), "::fit), showing `watch` every check of the certificate; `Break` ",
                "ends the fit with the model so far."
            )]
            ///
            /// # Errors
            #[doc = concat!("As [`fit`](", stringify!($estimator), "::fit).")]
            pub fn fit_watched<'y, X: AsDesign + ?Sized, L: Label + 'y>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'y, L>>,
                watch: impl FnMut(&Progress) -> ControlFlow<()>,
            ) -> Result<$model<L>, Error> {
                self.solve(x, y.into(), None, None, &mut Watch(watch))
            }
        }
    };
}

/// For estimators of numbers. `posed` makes the estimator that does the work on so many rows.
macro_rules! fit_numbers {
    ($estimator:ident, $model:ident, $errors:literal) => {
        impl $estimator {
            /// Fits a model to an `n x d` design and `n` targets.
            ///
            /// # Errors
            #[doc = $errors]
            pub fn fit<'y, X: AsDesign + ?Sized>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'y, f64>>,
            ) -> Result<$model, Error> {
                let y = y.into();
                self.posed(y.len()).solve(x, y, None, None, &mut ())
            }

            #[doc = concat!(
                "As [`fit`](", stringify!($estimator), "::fit), with one weight a row, `>= 0`: a weight of 2 is as good as ",
                "the row twice. Only the proportions matter; the mean loss becomes the weighted mean."
            )]
            ///
            /// # Errors
            #[doc = concat!(
                "As [`fit`](", stringify!($estimator), "::fit), and [`Error::Invalid`] for weights that are negative, ",
                "all 0, or not one a row."
            )]
            pub fn fit_weighted<'a, X: AsDesign + ?Sized>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'a, f64>>,
                weights: impl Into<ArrayView1<'a, f64>>,
            ) -> Result<$model, Error> {
                let y = y.into();
                self.posed(y.len()).solve(x, y, Some(weights.into()), None, &mut ())
            }

            #[doc = concat!(
                "As [`fit`](", stringify!($estimator), "::fit), from a former model: a warm start on the same data or data like it."
            )]
            ///
            /// # Errors
            #[doc = concat!(
                "As [`fit`](", stringify!($estimator), "::fit), and [`Error::Invalid`] for a model of other features."
            )]
            pub fn fit_from<'y, X: AsDesign + ?Sized>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'y, f64>>,
                start: $model,
            ) -> Result<$model, Error> {
                let y = y.into();
                self.posed(y.len()).solve(x, y, None, Some(start), &mut ())
            }

            #[doc = concat!(
                "As [`fit`](", stringify!($estimator), "::fit), showing `watch` every check of the certificate; `Break` ",
                "ends the fit with the model so far."
            )]
            ///
            /// # Errors
            #[doc = concat!("As [`fit`](", stringify!($estimator), "::fit).")]
            pub fn fit_watched<'y, X: AsDesign + ?Sized>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'y, f64>>,
                watch: impl FnMut(&Progress) -> ControlFlow<()>,
            ) -> Result<$model, Error> {
                let y = y.into();
                self.posed(y.len()).solve(x, y, None, None, &mut Watch(watch))
            }
        }
    };
}

pub(super) use {fit_labels, fit_numbers};
