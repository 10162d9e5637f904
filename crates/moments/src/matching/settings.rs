//! The settings of score matching: basis, bandwidth and ridge.

use fenchel_linalg::{AsDesign, Cholesky, Invalid};
use fenchel_optim::random::stream;
use fenchel_optim::{Clock, MAX_MEMORY, Refusal, Wall, settings};
use ndarray::{Array1, Array2, ArrayView2};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use super::bumps::System;
use super::learned::{Form, LearnedScore};
use super::select::{Selected, Selection};
use super::separable::fit_separable;
use crate::Error;
use crate::blocks::{Blocks, Counted, checked, gather};
use crate::error::named;
use crate::whitening::{SQUARES, Whitening};

/// The basis functions of a score.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Basis {
    /// Gradients of Gaussian bumps.
    Bumps(Centres),
    /// This many one-dimensional functions per feature, for independent features: bumps at quantiles, a linear function
    /// and a constant.
    Separable(usize),
    /// All affine maps: exactly `Sigma^{-1} (x - mean)` of the sample.
    Affine,
}

/// The centres of the bumps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Centres {
    /// A random subset of so many samples, all of them if there are fewer.
    Landmarks(usize),
    /// All samples: memory O(n^2).
    AllSamples,
    /// A regular grid on a cube, in the coordinates of the bumps; for at most three features.
    Grid {
        /// Lower end of every side.
        low: f64,
        /// Upper end of every side.
        high: f64,
        /// Points per side.
        points: usize,
    },
}

/// The width `h` of the bumps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Bandwidth {
    /// This many times the square root of the number of features; for whitened features 1 is a good choice.
    Relative(f64),
    /// A given length.
    Absolute(f64),
}

/// The ridge `a`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Ridge {
    /// This many times the mean of the diagonal of `C`.
    Relative(f64),
    /// A given number, as in the simulations of D. Babichev, PhD thesis 2019, section 2.5.
    Absolute(f64),
}

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
    /// use fenchel_moments::{GaussianMixture, Score, ScoreMatching};
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

/// Formulas have the fourth power of a bandwidth, which must be a normal number.
pub(super) fn check_bandwidth(h: f64) -> Result<(), Invalid> {
    if (1e-70..=1e70).contains(&h) {
        return Ok(());
    }
    Err(Invalid::Parameter { name: "bandwidth", value: h, expected: "between 1e-70 and 1e70" })
}

/// The quantities that the direct method needs in addition to the score.
pub(crate) struct Prepared {
    pub(crate) whitening: Option<Whitening>,
    /// Features in the coordinates of the bumps.
    pub(crate) x: Array2<f64>,
    pub(crate) centres: Array2<f64>,
    pub(crate) bandwidth: f64,
    pub(crate) factor: Cholesky,
    pub(crate) b: Array1<f64>,
    pub(crate) theta: Array1<f64>,
    pub(crate) ridge: f64,
    pub(crate) selected: Option<Selected>,
}

impl ScoreMatching {
    /// Learns the score of the rows of `x`.
    ///
    /// # Errors
    /// [`Error::Singular`]; [`Error::BandwidthTooSmall`]; [`Error::Refused`];
    /// [`Error::Invalid`] for data that are not finite or settings out of range.
    pub fn fit<X: AsDesign + ?Sized>(&self, x: &X) -> Result<LearnedScore, Error> {
        self.fit_blocks(&checked(x)?)
    }

    pub(crate) fn fit_blocks(&self, data: &dyn Blocks) -> Result<LearnedScore, Error> {
        let wall = Wall::start();
        let data = Counted::new(data);
        let mut score = self.learned(&data)?;
        score.report.passes = data.passes();
        score.report.seconds = wall.seconds();
        Ok(score)
    }

    fn learned(&self, data: &dyn Blocks) -> Result<LearnedScore, Error> {
        self.check(data)?;
        match self.basis {
            Basis::Affine => {
                let whitening = Whitening::of(data)?;
                let objective = -0.5 * data.width() as f64;
                LearnedScore::new(Some(whitening), true, Form::Affine, objective, None, data)
            }
            Basis::Separable(functions) => fit_separable(self, functions, data),
            Basis::Bumps(_) => self.prepare(data)?.into_score(self.offset, data),
        }
    }

    fn check(&self, data: &dyn Blocks) -> Result<(), Error> {
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

    fn centres(&self, x: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
        let (n, d) = x.dim();
        Ok(match self.basis {
            Basis::Bumps(Centres::Landmarks(m)) if m < n => {
                if m == 0 {
                    return Err(Invalid::Empty { what: "landmarks" }.into());
                }
                let mut rng = stream(self.seed, 11);
                let mut index: Vec<usize> = (0..n).collect();
                // The first m steps of a shuffle.
                for k in 0..m {
                    let other = rng.random_range(k..n);
                    index.swap(k, other);
                }
                index.truncate(m);
                index.sort_unstable();
                x.select(ndarray::Axis(0), &index)
            }
            Basis::Bumps(Centres::Grid { low, high, points }) => {
                let step = (high - low) / (points - 1) as f64;
                Array2::from_shape_fn((points.pow(d as u32), d), |(j, c)| {
                    low + step * (j / points.pow(c as u32) % points) as f64
                })
            }
            _ => x.to_owned(),
        })
    }

    /// Whitens, chooses centres, bandwidth and ridge, and solves.
    pub(crate) fn prepare(&self, data: &dyn Blocks) -> Result<Prepared, Error> {
        self.check(data)?;
        let Basis::Bumps(centres) = self.basis else {
            let what = "another basis than bumps".to_owned();
            return Err(Refusal::unsupported("the direct method", what).into());
        };
        let (n, d) = (data.count(), data.width());
        let m = match centres {
            Centres::Landmarks(m) => m.min(n),
            Centres::AllSamples => n,
            Centres::Grid { points, .. } => {
                points.saturating_pow(u32::try_from(d).unwrap_or(u32::MAX))
            }
        } as u64;
        let copies: u64 = if self.select.is_some() { 10 } else { 5 };
        let hint = "use fewer landmarks";
        let squares = m.saturating_mul(copies.saturating_mul(m).saturating_add(1024));
        let width = d as u64;
        let data_and_covariance =
            width.saturating_mul((2 * n as u64).saturating_add(SQUARES * width));
        let needed = squares.saturating_add(data_and_covariance).saturating_mul(8);
        Refusal::check_memory("score matching", needed, self.max_memory, hint)?;
        let mut x = gather(data);
        let whitening = if self.whiten { Some(Whitening::of(data)?) } else { None };
        if let Some(whitening) = &whitening {
            x = whitening.apply(x.view());
        }
        let centres = self.centres(x.view())?;
        let selected = match &self.select {
            None => None,
            Some(selection) => {
                Some(selection.choose(x.view(), centres.view(), self.offset, self.seed)?)
            }
        };
        let bandwidth = match (&selected, self.bandwidth) {
            (Some(selected), _) => selected.bandwidth,
            (None, Bandwidth::Relative(h)) => h * (d as f64).sqrt(),
            (None, Bandwidth::Absolute(h)) => h,
        };
        // Products of centred rows lose no digits.
        let system = System::new(x.view(), centres.view(), bandwidth, self.offset)?.mean();
        if system.kernels < 1e-6 {
            let suggested = (d as f64).sqrt();
            return Err(Error::BandwidthTooSmall { bandwidth, mean: system.kernels, suggested });
        }
        let diagonal = system.c.diag().sum() / centres.nrows() as f64;
        let ridge = match (&selected, self.ridge) {
            (Some(selected), _) => selected.ridge * diagonal,
            (None, Ridge::Relative(a)) => a * diagonal,
            (None, Ridge::Absolute(a)) => a,
        };
        let (factor, ridge) = ridged(system.c, ridge, diagonal)?;
        let theta = factor.solve(system.b.view())?;
        Ok(Prepared {
            whitening,
            x,
            centres,
            bandwidth,
            factor,
            b: system.b,
            theta,
            ridge,
            selected,
        })
    }
}

impl Prepared {
    fn into_score(self, offset: bool, data: &dyn Blocks) -> Result<LearnedScore, Error> {
        let objective = -0.5 * self.b.dot(&self.theta);
        let form = Form::Bumps {
            centres: self.centres,
            theta: self.theta,
            bandwidth: self.bandwidth,
            ridge: self.ridge,
        };
        LearnedScore::new(self.whitening, offset, form, objective, self.selected, data)
    }
}

/// The factor of `C + a I`; a ridge that is too small for it grows by factors of 10.
pub(crate) fn ridged(
    mut c: Array2<f64>,
    ridge: f64,
    diagonal: f64,
) -> Result<(Cholesky, f64), Error> {
    let mut added = 0.0;
    let mut wanted = ridge;
    let mut attempts = 0;
    loop {
        c.diag_mut().mapv_inplace(|v| v + (wanted - added));
        added = wanted;
        match Cholesky::new(c.view()) {
            Ok(factor) => return Ok((factor, added)),
            Err(error @ Invalid::NotPositiveDefinite { .. }) if attempts == 3 => {
                let what = "C + ridge I of score matching (take a larger ridge)";
                return Err(named(what)(error).into());
            }
            Err(Invalid::NotPositiveDefinite { .. }) => {
                attempts += 1;
                wanted = (10.0 * wanted).max(1e-12 * diagonal);
            }
            Err(error) => return Err(error.into()),
        }
    }
}
