//! The four fitting functions that all estimators of one matrix share: from data, from a mean and covariance matrix,
//! with an observer, and from an earlier model. All call the estimator's `solve(statistics, start, watch)`.

/// The ways to fit, for an estimator and its model.
macro_rules! fits {
    ($estimator:ident, $model:ident, $limit:expr, $errors:literal) => {
        impl $estimator {
            /// Fits a data matrix with one sample per row.
            ///
            /// # Errors
            #[doc = $errors]
            pub fn fit<X: fenchel_linalg::AsDesign + ?Sized>(
                &self,
                x: &X,
            ) -> Result<$model, $crate::Error> {
                let limit: fn(&$estimator) -> Option<u64> = $limit;
                self.fit_statistics(&$crate::Statistics::from_data_within(x, limit(self))?)
            }

            /// Fits a mean and covariance matrix.
            ///
            /// # Errors
            #[doc = concat!("As [`fit`](", stringify!($estimator), "::fit).")]
            pub fn fit_statistics(
                &self,
                statistics: &$crate::Statistics,
            ) -> Result<$model, $crate::Error> {
                self.solve(statistics, None, &mut $crate::watch::unwatched())
            }

            #[doc = concat!(
                "As [`fit_statistics`](", stringify!($estimator), "::fit_statistics), from a former model, in the units of the data: a warm start at ",
                "another penalty, or on data like the former ones."
            )]
            ///
            /// # Errors
            #[doc = concat!(
                "As [`fit`](", stringify!($estimator), "::fit), and for a start of another order or not positive definite."
            )]
            pub fn fit_from(
                &self,
                statistics: &$crate::Statistics,
                start: &$model,
            ) -> Result<$model, $crate::Error> {
                self.solve(statistics, Some(start), &mut $crate::watch::unwatched())
            }

            #[doc = concat!(
                "As [`fit_statistics`](", stringify!($estimator), "::fit_statistics), showing `watch` the certificates; `Break` ends the ",
                "fit with the model so far."
            )]
            ///
            /// # Errors
            #[doc = concat!("As [`fit`](", stringify!($estimator), "::fit).")]
            pub fn fit_watched(
                &self,
                statistics: &$crate::Statistics,
                watch: impl FnMut(&fenchel_optim::Progress) -> std::ops::ControlFlow<()>,
            ) -> Result<$model, $crate::Error> {
                self.solve(statistics, None, &mut $crate::watch::Watch::new(watch))
            }
        }
    };
}
