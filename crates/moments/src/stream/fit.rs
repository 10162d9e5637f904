//! Fits of the methods that need only sums over slices.

use fenchel_linalg::Invalid;
use fenchel_optim::{Clock, Refusal, Wall};
use ndarray::{Array1, Array2, ArrayView1};

use super::{Content, SliceMoments};
use crate::classic::check_filled;
use crate::model::{Spent, finish};
use crate::whitening::Whitening;
use crate::{
    Components, DirectionalRegression, EigenOrder, Error, Reducer, Reduction, Response, Sade, Save,
    Sir, Spectrum,
};

/// The rules for the number of directions that need no data.
fn fitted(
    method: &dyn Reducer,
    components: Components,
    moments: &SliceMoments,
    spectrum: Spectrum,
    mean: Array1<f64>,
    wall: Wall,
) -> Result<Reduction, Error> {
    if matches!(components, Components::Permutation { .. } | Components::Ladle { .. }) {
        let what =
            "permutations and the ladle on a stream: fix the number of directions".to_owned();
        return Err(Refusal::unsupported(method.name(), what).into());
    }
    if moments.weighted && matches!(components, Components::ChiSquare(_)) {
        let what = "the chi-squared test of weighted samples: fix the number of directions";
        return Err(Refusal::unsupported(method.name(), what).into());
    }
    // The other rules look at the spectrum alone.
    let none = Array2::<f64>::zeros((0, mean.len()));
    let nothing = Response::numbers(ArrayView1::from(&[]), 0)?;
    let data = fenchel_linalg::Dense::new(none.view())?;
    let k = components.choose(method, &spectrum, &data, &nothing)?;
    let spent = Spent { passes: 1.0, seconds: moments.seconds + wall.seconds() };
    finish(method.name(), spectrum, k, mean, spent)
}

impl Sir {
    /// Fits the directions to sums over slices.
    ///
    /// # Errors
    /// [`Error::Singular`]; [`Error::Refused`] for rules that need the data again; [`Invalid::Layout`] for sums of scores.
    pub fn fit_moments(&self, moments: &SliceMoments) -> Result<Reduction, Error> {
        let wall = Wall::start();
        moments.check_features()?;
        let (mean, covariance) = moments.total()?;
        let filled = moments.counts.iter().filter(|&&c| c > 0).count();
        check_filled(filled)?;
        let (what, samples) = ("covariance of the features", moments.counts.iter().sum());
        let whitening =
            Whitening::from_moments(mean, covariance, what, samples, || Ok(moments.reach()))?;
        let mut sums = moments.slice_sums();
        let offset = sums.mean();
        sums.recentre(offset.view());
        let matrix = whitening.map.dot(&sums.means_matrix()).dot(&whitening.back());
        let spectrum = Spectrum::of(&matrix, EigenOrder::Algebraic, Some(whitening.back()))?;
        let spectrum = Spectrum {
            samples,
            slices: moments.counts.clone(),
            most: offset.len().min(filled - 1),
            ..spectrum
        };
        fitted(self, self.components, moments, spectrum, whitening.mean, wall)
    }
}

impl Save {
    /// Fits the directions to sums over slices.
    ///
    /// # Errors
    /// [`Error::Singular`]; [`Error::Refused`] for rules that need the data again; [`Invalid::Layout`] for sums of scores.
    pub fn fit_moments(&self, moments: &SliceMoments) -> Result<Reduction, Error> {
        let wall = Wall::start();
        let spectrum = self.spectrum_of(moments)?;
        fitted(self, self.components, moments, spectrum, moments.total()?.0, wall)
    }
}

impl DirectionalRegression {
    /// Fits the directions to sums over slices.
    ///
    /// # Errors
    /// [`Error::Singular`]; [`Error::Refused`] for rules that need the data again; [`Invalid::Layout`] for sums of scores.
    pub fn fit_moments(&self, moments: &SliceMoments) -> Result<Reduction, Error> {
        let wall = Wall::start();
        let spectrum = self.spectrum_of(moments)?;
        fitted(self, self.components, moments, spectrum, moments.total()?.0, wall)
    }
}

impl Sade {
    /// Fits the directions to sums of scores over slices. `mean` is the mean of the features, which the model
    /// subtracts. The sums are those around 0, the mean of an exact score; if the mean of the scores is `r` of their
    /// standard deviations, `centre_scores` loses a factor `r^2` of precision, which [`fit`](Sade::fit) does not.
    ///
    /// # Errors
    /// [`Error::Refused`] for rules that need the data again, a slice with a single sample, or the weighting by
    /// the response, which the sums do not have; [`Invalid::Layout`] for sums of features.
    pub fn fit_moments(
        &self,
        moments: &SliceMoments,
        mean: Array1<f64>,
    ) -> Result<Reduction, Error> {
        let wall = Wall::start();
        moments.check_content(Content::Scores)?;
        moments.total()?;
        Invalid::check_length("mean", moments.sums.ncols(), mean.len())?;
        Invalid::check_finite("mean", &mean.to_vec())?;
        if self.weight_by_response || self.winsorise.is_some() {
            let what =
                "weights by response or winsorising on sums that were collected without".to_owned();
            return Err(Refusal::unsupported("SADE", what).into());
        }
        let spectrum = self.spectrum_of_sums(moments.slice_sums(), &moments.counts)?;
        fitted(self, self.components, moments, spectrum, mean, wall)
    }
}
