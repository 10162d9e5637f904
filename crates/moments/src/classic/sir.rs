//! Sliced inverse regression.

use fenchel_linalg::AsDesign;
use fenchel_optim::{Fit, MAX_MEMORY, Wall, settings};

use super::save::check_filled;
use crate::accumulate::{Outer, SliceSums, plainly};
use crate::blocks::{Blocks, check_memory, rough_mean};
use crate::components::Components;
use crate::error::Error;
use crate::fit::{fit_with, watched};
use crate::reducer::Reducer;
use crate::reduction::Reduction;
use crate::response::Response;
use crate::slicing::Slicing;
use crate::spectrum::{EigenOrder, Spectrum};
use crate::stream::{SliceMoments, fit_sums};
use crate::whitening::{SQUARES, Whitening, reach};

settings! {
    /// Sliced inverse regression (Li, JASA 86, 1991): the eigenvectors of the covariance of slice means,
    ///
    /// ```text
    /// M v = mu Sigma v,     M = sum_h p_h (m_h - m)(m_h - m)',     0 <= mu <= 1
    /// ```
    ///
    /// SIR is consistent for elliptical features. For other features its bias does not vanish with `n` (experiment
    /// `mo-e2`); use [`Sade`](crate::Sade) there. SIR equals standardised SADE with a Gaussian score and the estimator by
    /// slice means. The cost is O(n d^2), in one pass over the data.
    ///
    /// ```
    /// use fenchel_moments::{Components, Sir};
    /// use ndarray::Array2;
    ///
    /// let x = Array2::from_shape_fn((200, 3), |(i, c)| ((i * (2 * c + 3) * 37) % 101) as f64);
    /// let y: Vec<f64> = x.rows().into_iter().map(|r| (0.02 * (r[0] + r[1])).exp()).collect();
    /// let model = Sir { components: Components::Fixed(1), ..Sir::default() }.fit(&x, &y)?;
    /// assert!((model.directions[[0, 0]] - 0.5_f64.sqrt()).abs() < 0.05);
    /// assert_eq!(model.transform(&x)?.dim(), (200, 1));
    /// # Ok::<(), fenchel_moments::Error>(())
    /// ```
    #[derive(Copy)]
    pub struct Sir {
        /// How many directions; at most slices - 1 can be found.
        components: Components = Components::default(),
        /// How the responses are cut.
        slicing: Slicing = Slicing::Auto,
    }
}

impl Sir {
    /// Fits the directions to numbers `y`, or to [`Response::classes`] (one slice each).
    ///
    /// # Errors
    /// [`Error::Invalid`] for data of the wrong shape or that are not finite, and the errors of the method.
    pub fn fit<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<Response<'a>>,
    ) -> Result<Reduction, Error> {
        self.fit_with(x, y, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows and a closure that watches. A weight of 2 has the same effect as the row
    /// given twice, in every moment and in the divisors `c_h - 1`. The closure is called once, when the directions are
    /// found. Eigenvectors need no start.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and for weights that are negative, all 0, or not one a row. [`Error::Refused`] for weights with
    /// slices or numbers of directions by rules that count samples.
    pub fn fit_with<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<Response<'a>>,
        fit: Fit<'_, Reduction>,
    ) -> Result<Reduction, Error> {
        let Some(weights) = fit.weights else { return fit_with(self, x, y, fit) };
        let slicing = (self.slicing, self.components.hint());
        let moments = SliceMoments::weighted(x, &y.into(), weights, slicing, MAX_MEMORY)?;
        Ok(watched(self.fit_moments(&moments)?.named(x.names()), fit.watch))
    }

    /// Fits the directions to sums over slices.
    ///
    /// # Errors
    /// [`Error::Singular`]; [`Error::Refused`] for rules that need the data again; [`Error::Invalid`] for sums of scores.
    pub fn fit_moments(&self, moments: &SliceMoments) -> Result<Reduction, Error> {
        let wall = Wall::start();
        moments.check_features()?;
        let (mean, covariance) = moments.total()?;
        let filled = moments.counts().iter().filter(|&&c| c > 0).count();
        check_filled(filled)?;
        let (what, samples) = ("covariance of the features", moments.counts().iter().sum());
        let whitening =
            Whitening::from_moments(mean, covariance, what, samples, || Ok(moments.reach()))?;
        let mut sums = moments.slice_sums();
        let offset = sums.mean();
        sums.recentre(offset.view());
        let matrix = whitening.map.dot(&sums.means_matrix()).dot(&whitening.back());
        let spectrum = Spectrum::of(&matrix, EigenOrder::Algebraic, Some(whitening.back()))?;
        let spectrum = Spectrum {
            samples,
            slices: moments.counts().to_vec(),
            most: offset.len().min(filled - 1),
            ..spectrum
        };
        fit_sums(self, moments, spectrum, whitening.mean, wall)
    }
}

impl Reducer for Sir {
    fn name(&self) -> &'static str {
        "SIR"
    }

    fn components(&self) -> Components {
        self.components
    }

    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error> {
        let slices = response.slices(self.slicing, self.components.hint())?;
        check_memory("SIR", data, (0, SQUARES), MAX_MEMORY)?;
        let shift = rough_mean(data);
        let mut sums = SliceSums::new(data, &slices, shift.view(), Outer::Plain, &plainly)?;
        let offset = sums.mean();
        sums.recentre(offset.view());
        let covariance = std::mem::take(&mut sums.plain) / data.count() as f64;
        let what = "covariance of the features";
        let (mean, far) = (&shift + &offset, || reach(data, &shift));
        let whitening = Whitening::from_moments(mean, covariance, what, data.count(), far)?;
        let means = sums.means_matrix();
        let matrix = whitening.map.dot(&means).dot(&whitening.back());
        let spectrum = Spectrum::of(&matrix, EigenOrder::Algebraic, Some(whitening.back()))?;
        Ok(Spectrum {
            mean: Some(whitening.mean),
            samples: data.count(),
            slices: slices.counts().to_vec(),
            most: data.width().min(slices.len() - 1),
            ..spectrum
        })
    }

    /// Li's test: for normal features, `n sum_{j > k} mu_j` is chi-squared with `(d - k)(H - k - 1)` degrees of freedom
    /// for `H` slices.
    fn tail_test(&self, spectrum: &Spectrum, k: usize) -> Option<(f64, f64)> {
        let (d, h) = (spectrum.vectors.nrows(), spectrum.slices.len());
        if k + 1 >= h || k >= d {
            return None;
        }
        let statistic = spectrum.samples as f64 * spectrum.values.iter().skip(k).sum::<f64>();
        Some((statistic, ((d - k) * (h - k - 1)) as f64))
    }
}
