//! The fit of a score: centres, bandwidth, ridge, and the linear system.

use fenchel_linalg::{AsDesign, Cholesky, Invalid};
use fenchel_optim::random::stream;
use fenchel_optim::{Clock, Fit, Refusal, Wall};
use ndarray::{Array1, Array2, ArrayView2, Axis};
use rand::RngExt;

use super::basis::{Bandwidth, Basis, Centres, Ridge, ridged};
use super::bumps::System;
use super::learned::{Form, LearnedScore};
use super::select::Selected;
use super::separable::fit_separable;
use super::settings::ScoreMatching;
use crate::blocks::{Blocks, Counted, checked, gather};
use crate::error::Error;
use crate::fit::show;
use crate::whitening::{SQUARES, Whitening};

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
        self.fit_with(x, Fit::new())
    }

    /// As [`fit`](Self::fit), with a closure that watches. It is called once, when the score is learned. Linear systems need no
    /// start.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and [`Error::Refused`] for weights.
    pub fn fit_with<X: AsDesign + ?Sized>(
        &self,
        x: &X,
        fit: Fit<'_, LearnedScore>,
    ) -> Result<LearnedScore, Error> {
        if fit.weights.is_some() {
            return Err(Refusal::unsupported("score matching", "weights: repeat the rows").into());
        }
        let score = self.fit_blocks(&checked(x)?)?;
        let mut watch = fit.watch;
        let _ = show(&mut watch, &score.report);
        Ok(score)
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
                let whitening = Whitening::of(data, self.max_memory)?;
                let objective = -0.5 * data.width() as f64;
                LearnedScore::new(Some(whitening), true, Form::Affine, objective, None, data)
            }
            Basis::Separable(functions) => fit_separable(self, functions, data),
            Basis::Bumps(_) => self.prepare(data)?.into_score(self.offset, data),
        }
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
                x.select(Axis(0), &index)
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
        let whitening =
            if self.whiten { Some(Whitening::of(data, self.max_memory)?) } else { None };
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
