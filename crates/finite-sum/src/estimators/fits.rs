//! The methods of every estimator that fit a model. All of them call the estimator's `solve`, of the estimator itself or of the
//! one that `via` makes of it for so many rows.

/// `fit` and `fit_weighted`, with what `solve` takes besides data and weights in brackets.
macro_rules! fits {
    (
        $estimator:ident -> $model:ty, $y:ty, $about:expr, $errors:literal,
        $of_weights:literal, $bad_weights:literal, [$($rest:tt)*] $(, via $posed:ident)? $(; $label:ident)?
    ) => {
        impl $estimator {
            #[doc = $about]
            ///
            /// # Errors
            #[doc = $errors]
            pub fn fit<'a, X: AsDesign + ?Sized $(, $label: Label + 'a)?>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'a, $y>>,
            ) -> Result<$model, Error> {
                let y = y.into();
                self$(.$posed(y.len()))?.solve(x, y, None, $($rest)*)
            }

            #[doc = concat!(
                "As [`fit`](", stringify!($estimator), "::fit), with one weight a row, `>= 0`", $of_weights
            )]
            ///
            /// # Errors
            #[doc = concat!(
                "As [`fit`](", stringify!($estimator), "::fit), and [`Error::Invalid`] for weights that are negative, ",
                "all 0", $bad_weights, ", or not one a row."
            )]
            pub fn fit_weighted<'a, X: AsDesign + ?Sized $(, $label: Label + 'a)?>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'a, $y>>,
                weights: impl Into<ArrayView1<'a, f64>>,
            ) -> Result<$model, Error> {
                let y = y.into();
                self$(.$posed(y.len()))?.solve(x, y, Some(weights.into()), $($rest)*)
            }
        }
    };
}

/// Those two, `fit_from` (a warm start from a former model) and `fit_watched`.
macro_rules! fits_and_starts {
    (
        $estimator:ident -> $model:ty, $y:ty, $targets:literal, $errors:literal,
        $bad_weights:literal, $kin:literal $(, via $posed:ident)? $(; $label:ident)?
    ) => {
        $crate::estimators::fits::fits!(
            $estimator -> $model, $y,
            concat!("Fits a model to an `n x d` design and `n` ", $targets, "."), $errors,
            ": a weight of 2 is as good as the row twice. Only the proportions matter; the mean loss becomes the weighted mean.",
            $bad_weights, [None, &mut ()] $(, via $posed)? $(; $label)?
        );

        impl $estimator {
            #[doc = concat!(
                "As [`fit`](", stringify!($estimator), "::fit), from a former model: a warm start on the same data or data like it."
            )]
            ///
            /// # Errors
            #[doc = concat!(
                "As [`fit`](", stringify!($estimator), "::fit), and [`Error::Invalid`] for a model of other ", $kin, "."
            )]
            pub fn fit_from<'a, X: AsDesign + ?Sized $(, $label: Label + 'a)?>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'a, $y>>,
                start: $model,
            ) -> Result<$model, Error> {
                let y = y.into();
                self$(.$posed(y.len()))?.solve(x, y, None, Some(start), &mut ())
            }

            #[doc = concat!(
                "As [`fit`](", stringify!($estimator), "::fit), showing `watch` every check of the certificate; `Break` ",
                "ends the fit with the model so far."
            )]
            ///
            /// # Errors
            #[doc = concat!("As [`fit`](", stringify!($estimator), "::fit).")]
            pub fn fit_watched<'a, X: AsDesign + ?Sized $(, $label: Label + 'a)?>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'a, $y>>,
                watch: impl FnMut(&Progress) -> ControlFlow<()>,
            ) -> Result<$model, Error> {
                let y = y.into();
                self$(.$posed(y.len()))?.solve(x, y, None, None, &mut Watch(watch))
            }
        }
    };
}

pub(super) use {fits, fits_and_starts};
