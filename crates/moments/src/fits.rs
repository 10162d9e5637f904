//! The ways to fit that most estimators have in common.

/// `fit` and `fit_with` of an estimator. The response has `numbers`, or also `classes`.
///
/// | | for what |
/// |---|---|
/// | `fits!(numbers)` | of a [`Reducer`](crate::reducer::Reducer) |
/// | `fits!(numbers, score: ScoreFunction)` | of a method that is one with a score, and `with`, which makes it |
/// | `fits!(classes, weighted within limit)` | of a [`Reducer`](crate::reducer::Reducer) with `spectrum_of` sums over slices, of so many bytes; and `fit_moments` |
/// | `fits!(fit numbers)` | `fit` alone |
macro_rules! fits {
    (fit numbers $($score:ident: $kind:ident)?) => {
        fits!(fit "Fits the directions to numbers `y`." $($score: $kind)?);
    };
    (fit classes $($score:ident: $kind:ident)?) => {
        fits!(
            fit "Fits the directions to numbers `y`, or to [`Response::classes`](crate::Response::classes) (one slice each)."
            $($score: $kind)?
        );
    };
    (fit $doc:literal $($score:ident: $kind:ident)?) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// [`Error::Invalid`](crate::Error::Invalid) for data of the wrong shape or that are not finite, and the errors of the method
        /// and of its score.
        pub fn fit<'a, X: fenchel_linalg::AsDesign + ?Sized>(
            &self,
            x: &X,
            y: impl Into<crate::Response<'a>>,
            $($score: &dyn $kind,)?
        ) -> Result<crate::Reduction, crate::Error> {
            self.fit_with(x, y, $($score,)? fenchel_optim::Fit::new())
        }
    };
    ($targets:ident) => {
        fits!(fit $targets);

        /// As [`fit`](Self::fit), with a closure that watches. It is called at every resample that chooses the number of directions,
        /// at every plane of OPG, and when the directions are found. Eigenvectors need no start.
        ///
        /// # Errors
        /// As [`fit`](Self::fit), and [`Error::Refused`](crate::Error::Refused) for weights.
        pub fn fit_with<'a, X: fenchel_linalg::AsDesign + ?Sized>(
            &self,
            x: &X,
            y: impl Into<crate::Response<'a>>,
            fit: fenchel_optim::Fit<'_, crate::Reduction>,
        ) -> Result<crate::Reduction, crate::Error> {
            crate::fit::fit_with(self, x, y, fit)
        }
    };
    ($targets:ident, $score:ident: $kind:ident) => {
        fits!(fit $targets $score: $kind);

        /// As [`fit`](Self::fit), with a closure that watches. It is called at every resample that chooses the number of directions,
        /// and when the directions are found. Eigenvectors need no start.
        ///
        /// # Errors
        /// As [`fit`](Self::fit), and [`Error::Refused`](crate::Error::Refused) for weights.
        pub fn fit_with<'a, X: fenchel_linalg::AsDesign + ?Sized>(
            &self,
            x: &X,
            y: impl Into<crate::Response<'a>>,
            $score: &dyn $kind,
            fit: fenchel_optim::Fit<'_, crate::Reduction>,
        ) -> Result<crate::Reduction, crate::Error> {
            crate::fit::fit_with(&self.with($score), x, y, fit)
        }

        /// This method with a score, as a [`Reducer`](crate::reducer::Reducer) of features.
        pub fn with<'a>(&self, $score: &'a dyn $kind) -> impl crate::reducer::Reducer + use<'a> {
            crate::reducer::WithScore { settings: *self, $score }
        }
    };
    ($targets:ident, weighted within $limit:expr) => {
        fits!(fit $targets);

        /// As [`fit`](Self::fit), with weights of the rows and a closure that watches. A weight of 2 has the same effect as the row
        /// given twice, in every moment and in the divisors `c_h - 1`. The closure is called at every resample that chooses the
        /// number of directions, and when the directions are found. Eigenvectors need no start.
        ///
        /// # Errors
        /// As [`fit`](Self::fit), and for weights that are negative, all 0, or not one a row.
        /// [`Error::Refused`](crate::Error::Refused) for weights with slices or numbers of directions by rules that count samples.
        pub fn fit_with<'a, X: fenchel_linalg::AsDesign + ?Sized>(
            &self,
            x: &X,
            y: impl Into<crate::Response<'a>>,
            fit: fenchel_optim::Fit<'_, crate::Reduction>,
        ) -> Result<crate::Reduction, crate::Error> {
            let Some(weights) = fit.weights else { return crate::fit::fit_with(self, x, y, fit) };
            let slicing = (self.slicing, self.components.hint());
            let limit: fn(&Self) -> Option<u64> = $limit;
            let moments =
                crate::SliceMoments::weighted(x, &y.into(), weights, slicing, limit(self))?;
            Ok(crate::fit::watched(self.fit_moments(&moments)?.named(x.names()), fit.watch))
        }

        /// Fits the directions to sums over slices.
        ///
        /// # Errors
        /// [`Error::Singular`](crate::Error::Singular); [`Error::Refused`](crate::Error::Refused) for rules that need the data again;
        /// [`Error::Invalid`](crate::Error::Invalid) for sums of scores.
        pub fn fit_moments(
            &self,
            moments: &crate::SliceMoments,
        ) -> Result<crate::Reduction, crate::Error> {
            let wall = fenchel_optim::Wall::start();
            let spectrum = self.spectrum_of(moments)?;
            crate::stream::fit_sums(self, moments, spectrum, moments.total()?.0, wall)
        }
    };
}

pub(crate) use fits;
