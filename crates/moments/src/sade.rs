//! Sliced average derivative estimation.
//!
//! By Stein's lemma, `E(S1 given y)` lies in the span of the wanted directions for every density of the features. SADE
//! takes the eigenvectors of the covariance of this conditional mean:
//!
//! ```text
//! V = Cov[E(S1 given y)] = Cov(S1) - E[Cov(S1 given y)]
//! ```
//!
//! | symbol | meaning |
//! |---|---|
//! | `s_i`, `c_h`, `p_h` | score of sample `i`; count and share of slice `h` |
//! | `V` | `(1/n) sum s_i s_i' - sum_h p_h C_h`, `C_h` the covariance of slice `h` with divisor `c_h - 1` |
//!
//! `V` is unbiased given the slices, but not positive semidefinite: small negative eigenvalues are normal. Source: D.
//! Babichev, PhD thesis 2019, lemma 2.2 and sections 2.2.1 and 2.3.1. The standardised form here also maps the
//! directions back to the features, a step that the thesis leaves out.

use fenchel_linalg::{AsDesign, Invalid};
use fenchel_optim::{Fit, MAX_MEMORY, Refusal, Wall, settings};
use ndarray::{Array1, Array2, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use crate::accumulate::{Outer, SliceSums};
use crate::blocks::{Blocks, check_memory, checked, fold};
use crate::components::Components;
use crate::discrete::discrete_columns;
use crate::error::Error;
use crate::fit::{fit_with, watched};
use crate::fits::fits;
use crate::reducer::{Reducer, WithScore};
use crate::reduction::Reduction;
use crate::response::{Response, dominated};
use crate::score::{ScoreDiagnostics, ScoreFunction};
use crate::slicing::{Slicing, checked_weights};
use crate::spectrum::{EigenOrder, Spectrum, Warning};
use crate::stream::{Content, SliceMoments, fit_sums};
use crate::transform::ResponseTransform;
use crate::whitening::{SQUARES, Whitening};

/// How the covariance of slice means is estimated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SliceEstimator {
    /// This estimator has no bias from the noise of the slice means. It needs at least two samples per slice.
    #[default]
    Unbiased,
    /// `sum_h p_h m_h m_h'`. It is positive semidefinite, and its rank is at most the number of slices. The noise of
    /// the slice means biases it.
    Means,
}

settings! {
    /// Sliced average derivative estimation for a given score; see the [module](self).
    ///
    /// `c` classes span at most `c - 1` directions. With a score that is learned from the data, use [`LearnedSade`](crate::LearnedSade). The cost is O(n d^2), in one
    /// pass over the data.
    ///
    /// ```
    /// use fenchel_moments::{Components, GaussianMixture, Sade, synthetic, trace_error};
    ///
    /// let density = GaussianMixture::thesis(10)?;
    /// let problem = synthetic::rational(&density, 4096, 0.25, 1)?;
    /// let sade = Sade { components: Components::Fixed(2), ..Sade::default() };
    /// let model = sade.fit(&problem.x, &problem.y, &density)?;
    /// assert!(trace_error(model.directions.view(), problem.directions.view())? < 0.02);
    /// # Ok::<(), fenchel_moments::Error>(())
    /// ```
    #[derive(Copy)]
    pub struct Sade {
        /// How many directions.
        components: Components = Components::default(),
        /// How the responses are cut.
        slicing: Slicing = Slicing::Auto,
        /// How the covariance of slice means is estimated.
        estimator: SliceEstimator = SliceEstimator::Unbiased,
        /// Whitens the scores first, and maps the directions back: equivariant under affine maps of `x`.
        standardise: bool = false,
        /// Subtracts the mean of the scores, which is 0 for an exact score.
        centre_scores: bool = false,
        /// Rows `y_i s_i`: the matrix `V1'`, which dominates that of ADE.
        weight_by_response: bool = false,
        /// Shortens scores longer than so many times the median length.
        winsorise: Option<f64> = None,
    }
}

impl Sade {
    fits!(fit classes score: ScoreFunction);

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
        score: &dyn ScoreFunction,
        fit: Fit<'_, Reduction>,
    ) -> Result<Reduction, Error> {
        let Some(weights) = fit.weights else { return fit_with(&self.with(score), x, y, fit) };
        let (data, response) = (checked(x)?, y.into());
        let d = data.width();
        response.check(data.count())?;
        Invalid::check_length("columns of the design matrix", score.dim(), d)?;
        let weights = checked_weights(weights)?;
        let slices = response.weighted_slices(&weights, self.slicing, self.components.hint())?;
        let mut moments = SliceMoments::new(slices.edges().to_vec(), d)?;
        moments.scores(x, ArrayView1::from(response.values()), Some(&weights), score)?;
        let zero = || (Array1::<f64>::zeros(d), 0.0);
        let parts = fold(&data, zero, |(sum, total), first, rows| {
            for (i, row) in rows.rows().into_iter().enumerate() {
                sum.scaled_add(weights[first + i], &row);
                *total += weights[first + i];
            }
            Ok(())
        })?;
        let (mean, total) = parts.into_iter().fold(zero(), |(a, b), (c, d)| (a + c, b + d));
        let mut model = self.fit_moments(&moments, mean / total)?;
        // The mean was a second look.
        model.report.passes += 1.0;
        Ok(watched(model.named(x.names()), fit.watch))
    }

    /// Fits the directions to a table of scores, with one row per sample. The `mean` of the model is the mean of the
    /// scores, so transform features with [`Reduction::directions`].
    ///
    /// # Errors
    /// As [`fit`](Sade::fit).
    pub fn fit_scores<'a, X: AsDesign + ?Sized>(
        &self,
        scores: &X,
        y: impl Into<Response<'a>>,
    ) -> Result<Reduction, Error> {
        fit_with(self, scores, y, Fit::new())
    }

    /// This method with a score, as a [`Reducer`] of features. The settings without a score are a `Reducer` of scores.
    pub fn with<'a>(&self, score: &'a dyn ScoreFunction) -> impl Reducer + use<'a> {
        WithScore { settings: *self, score }
    }

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
        Invalid::check_length("mean", moments.width(), mean.len())?;
        Invalid::check_finite("mean", &mean.to_vec())?;
        if self.weight_by_response || self.winsorise.is_some() {
            let what =
                "weights by response or winsorising on sums that were collected without".to_owned();
            return Err(Refusal::unsupported("SADE", what).into());
        }
        let spectrum = self.spectrum_of_sums(moments.slice_sums(), moments.counts())?;
        fit_sums(self, moments, spectrum, mean, wall)
    }

    /// The matrix `V` of scores, before any whitening.
    ///
    /// # Errors
    /// As [`fit`](Sade::fit).
    pub fn moment_matrix<'a, X: AsDesign + ?Sized>(
        &self,
        scores: &X,
        y: impl Into<Response<'a>>,
    ) -> Result<Array2<f64>, Error> {
        let data = checked(scores)?;
        let response = y.into();
        response.check(data.count())?;
        let (mut sums, _, unit) = self.sums(&data, &response, None)?;
        self.centre(&mut sums);
        Ok(self.matrix_of(&sums) * unit)
    }

    /// Sums, counts, and the unit of the products of sums.
    fn sums(
        &self,
        data: &dyn Blocks,
        response: &Response,
        score: Option<&dyn ScoreFunction>,
    ) -> Result<(SliceSums, Vec<usize>, f64), Error> {
        let slices = response.slices(self.slicing, self.components.hint())?;
        if self.estimator == SliceEstimator::Unbiased {
            slices.check_pairs()?;
        }
        let d = score.map_or(data.width(), ScoreFunction::dim);
        Invalid::check_length("columns of the design matrix", d, data.width())?;
        check_memory("SADE", data, (0, SQUARES), MAX_MEMORY)?;
        let (y, unit) = if self.weight_by_response {
            let y = response.as_numbers("SADE weighted by y")?;
            let (y, unit) = ResponseTransform::None.apply(y);
            (Some(y), unit)
        } else {
            (None, 1.0)
        };
        let limit = match self.winsorise {
            None => None,
            Some(times) => {
                Invalid::check_positive("winsorise", times)?;
                Some(times * median_length(data, score)?)
            }
        };
        let transform = |first: usize, rows: ndarray::ArrayView2<f64>| {
            let mut scored = match score {
                Some(score) => score.score1(rows)?,
                None if limit.is_none() && y.is_none() => return Ok(None),
                None => rows.to_owned(),
            };
            for (i, mut row) in scored.rows_mut().into_iter().enumerate() {
                if let Some(limit) = limit {
                    let length = row.dot(&row).sqrt();
                    if length > limit {
                        row *= limit / length;
                    }
                }
                if let Some(y) = &y {
                    row *= y[first + i];
                }
            }
            Ok(Some(scored))
        };
        let outer = match (self.standardise, self.estimator) {
            (false, SliceEstimator::Unbiased) => Outer::BySlice,
            (false, SliceEstimator::Means) => Outer::None,
            (true, SliceEstimator::Unbiased) => Outer::Both,
            (true, SliceEstimator::Means) => Outer::Plain,
        };
        // Sums around a point near the mean lose no digits when they are centred.
        let shift = match self.centre_scores {
            true => some_scores(data, score)?.mean_axis(Axis(0)),
            false => None,
        };
        let shift = shift.unwrap_or_else(|| Array1::zeros(d));
        let sums = SliceSums::new(data, &slices, shift.view(), outer, &transform)?;
        Ok((sums, slices.counts().to_vec(), unit * unit))
    }

    fn centre(&self, sums: &mut SliceSums) {
        if self.centre_scores {
            let mean = sums.mean();
            sums.recentre(mean.view());
        }
    }

    fn matrix_of(&self, sums: &SliceSums) -> Array2<f64> {
        match self.estimator {
            SliceEstimator::Unbiased => sums.unbiased_matrix(),
            SliceEstimator::Means => sums.means_matrix(),
        }
    }

    /// From sums of scores over slices.
    pub(crate) fn spectrum_of_sums(
        &self,
        mut sums: SliceSums,
        counts: &[usize],
    ) -> Result<Spectrum, Error> {
        let n = sums.total();
        let lone = |&c: &f64| c > 0.0 && c <= 1.0;
        if self.estimator == SliceEstimator::Unbiased && sums.masses.iter().any(lone) {
            let what = "a slice with a single sample (a sum of weights of at most 1): leave it out";
            return Err(Refusal::unsupported("SADE", what).into());
        }
        self.centre(&mut sums);
        let matrix = self.matrix_of(&sums);
        let d = matrix.nrows();
        let spectrum = if self.standardise {
            let second = &sums.plain / n;
            let (what, samples) = ("second moment of the scores", counts.iter().sum());
            let size = second.diag().mapv(f64::sqrt);
            let zero = Array1::zeros(d);
            let whitening = Whitening::from_moments(zero, second, what, samples, || Ok(size))?;
            let inner = whitening.map.dot(&matrix).dot(&whitening.back());
            // The whitened scores see G^{-1/2} w; this takes it back to w.
            let map = whitening.covariance.dot(&whitening.back());
            Spectrum::of(&inner, EigenOrder::Algebraic, Some(map.view()))?
        } else {
            Spectrum::of(&matrix, EigenOrder::Algebraic, None)?
        };
        let filled = counts.iter().filter(|&&c| c > 0).count();
        let most = match self.estimator {
            SliceEstimator::Means => d.min(filled),
            SliceEstimator::Unbiased => d,
        };
        Ok(Spectrum { samples: counts.iter().sum(), slices: counts.to_vec(), most, ..spectrum })
    }
}

/// The scores of about a thousand rows.
fn some_scores(data: &dyn Blocks, score: Option<&dyn ScoreFunction>) -> Result<Array2<f64>, Error> {
    let n = data.count();
    let sampled = n.min(1000);
    let mut rows = Array2::zeros((sampled, data.width()));
    for (k, row) in rows.rows_mut().into_iter().enumerate() {
        data.read(k * n / sampled, row.insert_axis(Axis(0)));
    }
    Ok(match score {
        Some(score) => score.score1(rows.view())?,
        None => rows,
    })
}

/// Their median length.
fn median_length(data: &dyn Blocks, score: Option<&dyn ScoreFunction>) -> Result<f64, Error> {
    let scored = some_scores(data, score)?;
    let mut lengths: Vec<f64> = scored.rows().into_iter().map(|r| r.dot(&r).sqrt()).collect();
    lengths.sort_unstable_by(f64::total_cmp);
    Ok(lengths[lengths.len() / 2])
}

/// A [`Reducer`] of scores.
impl Reducer for Sade {
    fn name(&self) -> &'static str {
        "SADE"
    }

    fn components(&self) -> Components {
        self.components
    }

    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error> {
        let (sums, counts, unit) = self.sums(data, response, None)?;
        let mut spectrum = self.spectrum_of_sums(sums, &counts)?;
        spectrum.in_unit(if self.standardise { 1.0 } else { unit });
        Ok(spectrum)
    }
}

impl Reducer for WithScore<'_, Sade, dyn ScoreFunction + '_> {
    fn name(&self) -> &'static str {
        "SADE"
    }

    fn components(&self) -> Components {
        self.settings.components
    }

    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error> {
        let (sums, counts, unit) = self.settings.sums(data, response, Some(self.score))?;
        let mut spectrum = self.settings.spectrum_of_sums(sums, &counts)?;
        // Whitened rows have no unit.
        spectrum.in_unit(if self.settings.standardise { 1.0 } else { unit });
        spectrum.warnings.extend(discrete_columns(data));
        if self.settings.weight_by_response {
            spectrum.warnings.extend(dominated(response.values()));
        }
        Ok(spectrum)
    }

    fn warnings(&self, data: &dyn Blocks) -> Result<Vec<Warning>, Error> {
        Ok(ScoreDiagnostics::of_some(data, self.score)?.warning().into_iter().collect())
    }
}
