//! The settings of score matching.

use fenchel_linalg::Invalid;
use fenchel_optim::{MAX_MEMORY, Refusal, settings};

use super::basis::{Bandwidth, Basis, Centres, Ridge, check_bandwidth};
use super::select::Selection;
use crate::blocks::Blocks;
use crate::error::Error;

settings! {
    /// Score matching; see the [module](super) for the objective.
    ///
    /// With `m` bumps a fit costs `4 n m^2 + m^3 / 3` operations on all cores, and memory for `5 m^2 + 2 n d` numbers.
    /// `select` doubles the memory; it adds `4 n m^2` operations per bandwidth, and `m^3 / 3` operations per fold and
    /// ridge. For example, a bump at each of 5,000 samples of 50 features needs 0.97 GiB and 5.4e11 operations; the default
    /// of 1,000 landmarks needs 50 MiB and 2e10 operations for the same samples. A fit that needs more than `max_memory` is
    /// refused before anything is allocated. Measured seconds are in `benches/results/moments-2026-11.md`.
    ///
    /// ```
    /// use fenchel_moments::{GaussianMixture, ScoreFunction, ScoreMatching};
    /// use fenchel_optim::random::stream;
    ///
    /// let density = GaussianMixture::thesis(2)?;
    /// let x = density.sample(2000, &mut stream(1, 0));
    /// let learned = ScoreMatching::default().fit(&x)?;
    /// let (truth, found) = (density.score1(x.view())?, learned.score1(x.view())?);
    /// let squares = |a: &ndarray::Array2<f64>| a.iter().map(|v| v * v).sum::<f64>();
    /// assert!(squares(&(&found - &truth)) < 0.1 * squares(&truth));
    /// # Ok::<(), fenchel_moments::Error>(())
    /// ```
    pub struct ScoreMatching {
        /// The functions.
        basis: Basis = Basis::Bumps(Centres::Landmarks(1000)),
        /// Width of the bumps; `Separable` counts it in standard deviations.
        bandwidth: Bandwidth = Bandwidth::Relative(1.0),
        /// The ridge.
        ridge: Ridge = Ridge::Relative(0.01),
        /// Whether bumps model what a Gaussian score leaves.
        offset: bool = true,
        /// Whitens the features first (`Separable`: scales them).
        whiten: bool = true,
        /// Chooses bandwidth and ridge by the risk of samples held out.
        select: Option<Selection> = None,
        /// Seed of the landmarks and folds.
        seed: u64 = 0,
        /// Largest memory in bytes; `None` is no limit.
        max_memory: Option<u64> = MAX_MEMORY,
    }
}

impl ScoreMatching {
    pub(super) fn check(&self, data: &dyn Blocks) -> Result<(), Error> {
        let (Bandwidth::Relative(h) | Bandwidth::Absolute(h)) = self.bandwidth;
        check_bandwidth(h)?;
        let (Ridge::Relative(a) | Ridge::Absolute(a)) = self.ridge;
        Invalid::check_nonnegative("ridge", a)?;
        if let Some(selection) = &self.select {
            selection.check()?;
        }
        if let Basis::Bumps(Centres::Grid { low, high, points }) = self.basis {
            if data.width() > 3 {
                let what =
                    format!("a grid of centres in {} dimensions: use landmarks", data.width());
                return Err(Refusal::unsupported("score matching", what).into());
            }
            Invalid::check_finite("ends of the grid", &[low, high])?;
            if !(low < high) {
                let (name, expected) = ("high end of the grid", "more than the low end");
                return Err(Invalid::Parameter { name, value: high, expected }.into());
            }
            if points < 2 {
                let (name, expected) = ("points of the grid", "at least 2");
                return Err(Invalid::Parameter { name, value: points as f64, expected }.into());
            }
        }
        Ok(())
    }
}
