//! Weighted samples.
//!
//! A sample of weight 2 has the same effect as the row given twice, in every moment and in the divisors `c_h - 1` of
//! the unbiased estimators. Slices have equal sums of weights. Weights are available for the methods that need only
//! sums over slices: [`Sir`], [`Save`], [`DirectionalRegression`] and [`Sade`]. Each of these methods first sums the data
//! into a [`SliceMoments`]. For `H` slices and `d` features, this object holds about `H d (d + 1)` numbers.

use fenchel_linalg::{AsDesign, Invalid};
use ndarray::ArrayView1;

use crate::blocks::{Blocks, checked, fold};
use crate::stream::checked_weights;
use crate::{
    DirectionalRegression, Error, Reduction, Response, Sade, Save, Score, Sir, SliceMoments,
    Slices, Slicing,
};

/// Sums over slices of weighted samples.
fn moments<X: AsDesign + ?Sized>(
    x: &X,
    y: ArrayView1<f64>,
    weights: ArrayView1<f64>,
    slicing: Slicing,
    components: usize,
    max_memory: Option<u64>,
) -> Result<SliceMoments, Error> {
    let data = checked(x)?;
    let response = Response::numbers(y, data.count())?;
    let weights = checked_weights(weights)?;
    let slices = Slices::weighted(response.values(), &weights, slicing, components)?;
    SliceMoments::of(&data, &slices, Some(&weights), max_memory)
}

macro_rules! fit_weighted {
    ($method:ident, $limit:expr) => {
        impl $method {
            /// Fits the directions to samples with weights `>= 0`: a weight of 2 has the same effect as the row given twice.
            ///
            /// # Errors
            /// As `fit`, and for weights that are negative, all 0, or not one per row. [`Error::Refused`] for slices and
            /// numbers of directions by rules that count samples.
            pub fn fit_weighted<'y, 'w, X: AsDesign + ?Sized>(
                &self,
                x: &X,
                y: impl Into<ArrayView1<'y, f64>>,
                weights: impl Into<ArrayView1<'w, f64>>,
            ) -> Result<Reduction, Error> {
                let (slicing, k) = (self.slicing, self.components.hint());
                let limit = $limit;
                self.fit_moments(&moments(x, y.into(), weights.into(), slicing, k, limit(self))?)
            }
        }
    };
}

fit_weighted!(Sir, |_: &Sir| fenchel_optim::MAX_MEMORY);
fit_weighted!(Save, |method: &Save| method.max_memory);
fit_weighted!(DirectionalRegression, |method: &DirectionalRegression| method.max_memory);

impl Sade {
    /// Fits the directions to samples with weights `>= 0`: a weight of 2 has the same effect as the row given twice.
    ///
    /// # Errors
    /// As [`fit`](Sade::fit), and for weights that are negative, all 0, or not one per row. [`Error::Refused`] for slices and numbers
    /// of directions by rules that count samples, and for a slice whose weights sum to 1 or less.
    pub fn fit_weighted<'y, 'w, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, f64>>,
        weights: impl Into<ArrayView1<'w, f64>>,
        score: &dyn Score,
    ) -> Result<Reduction, Error> {
        let data = checked(x)?;
        Invalid::check_length("columns of the design matrix", score.dim(), data.width())?;
        let y = y.into();
        let response = Response::numbers(y, data.count())?;
        let weights = checked_weights(weights.into())?;
        let slices =
            Slices::weighted(response.values(), &weights, self.slicing, self.components.hint())?;
        let mut moments = SliceMoments::new(slices.edges().to_vec(), data.width())?;
        moments.scores(x, y, Some(&weights), score)?;
        let parts = fold(
            &data,
            || (ndarray::Array1::<f64>::zeros(data.width()), 0.0),
            |(sum, total), first, rows| {
                for (i, row) in rows.rows().into_iter().enumerate() {
                    sum.scaled_add(weights[first + i], &row);
                    *total += weights[first + i];
                }
                Ok(())
            },
        )?;
        let (mut mean, mut total) = (ndarray::Array1::zeros(data.width()), 0.0);
        for (sum, mass) in parts {
            mean += &sum;
            total += mass;
        }
        let mut model = self.fit_moments(&moments, mean / total)?;
        // The mean was a second look.
        model.report.passes += 1.0;
        Ok(model)
    }
}
