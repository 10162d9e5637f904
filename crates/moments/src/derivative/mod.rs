//! Methods that average a score function against the response, without slices, and the second-order sliced method.
//!
//! | method | moment | finds | misses |
//! |---|---|---|---|
//! | [`Ade`] | `E[y S1]` | one direction, if the mean slope is not 0 | every further direction |
//! | [`Sade`](crate::Sade) | `Cov[E(S1 given y)]` | trends of any number | even functions of symmetric features; two classes give one direction |
//! | [`PhdPlus`] | `E[y S2]` | curvature | linear and odd functions of symmetric features |
//! | [`Sphd`] | `E[E(S2 given y)^2]` | the widest class | needs more samples than SADE where both work |
//!
//! This is table 2.1 of D. Babichev, PhD thesis 2019; a test checks every entry. The sliced methods depend only on the
//! order of the responses `y`.

mod ade;
mod phd_plus;
mod sphd;

pub use ade::{Ade, AdeWith};
pub use phd_plus::{PhdPlus, PhdPlusWith};
pub use sphd::{Sphd, SphdEstimator, SphdWith};

/// `fit` and `fit_classes` of an estimator that needs a score of some order.
macro_rules! fit_with_score {
    ($estimator:ty, $with:ident, $score:path) => {
        impl $estimator {
            /// Fits the directions to numbers `y`, with the score of the features' density.
            ///
            /// # Errors
            /// [`Error::Invalid`](crate::Error::Invalid) for data of the wrong shape or that are not finite; the errors of the
            /// method and of the score.
            pub fn fit<'a, X: fenchel_linalg::AsDesign + ?Sized>(
                &self,
                x: &X,
                y: impl Into<ndarray::ArrayView1<'a, f64>>,
                score: &dyn $score,
            ) -> Result<crate::Reduction, crate::Error> {
                crate::model::fit_numbers(&self.with(score), x, y)
            }

            /// This method with a score, as a [`Reducer`](crate::Reducer).
            pub fn with<'a>(&self, score: &'a dyn $score) -> $with<'a> {
                $with { settings: *self, score }
            }
        }

        /// The method with the score of the features' density.
        #[derive(Clone, Copy)]
        pub struct $with<'a> {
            settings: $estimator,
            score: &'a dyn $score,
        }
    };
}
pub(crate) use fit_with_score;
