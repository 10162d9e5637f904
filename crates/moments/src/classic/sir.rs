//! Sliced inverse regression.

use fenchel_optim::{MAX_MEMORY, settings};

use super::save::check_filled;
use crate::accumulate::{Outer, SliceSums, plainly};
use crate::blocks::{Blocks, check_memory, rough_mean};
use crate::components::Components;
use crate::error::Error;
use crate::fits::fits;
use crate::reducer::Reducer;
use crate::response::Response;
use crate::slicing::Slicing;
use crate::spectrum::{EigenOrder, Spectrum};
use crate::stream::SliceMoments;
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
    fits!(classes, weighted within |_| MAX_MEMORY);

    fn spectrum_of(&self, moments: &SliceMoments) -> Result<Spectrum, Error> {
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
        Ok(Spectrum {
            samples,
            slices: moments.counts().to_vec(),
            most: offset.len().min(filled - 1),
            ..spectrum
        })
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
