//! SADE with a score that is learned from the same features: the two-step method.
//!
//! [`ScoreMatching`] first learns the score. Then the samples are scored, and the scores are centred and standardised.
//! Finally [`Sade`] computes the directions from the scores.
//!
//! Source: D. Babichev, PhD thesis 2019, section 2.4.2; its equation (2.4.2) has an `i` where `j` is meant.

use fenchel_linalg::Dense;
use fenchel_metrics::k_fold;
use fenchel_optim::settings;
use ndarray::{Array2, Axis};

use crate::blocks::{Blocks, Picked, fold};
use crate::components::Components;
use crate::discrete::discrete_columns;
use crate::error::Error;
use crate::fits::fits;
use crate::matching::{LearnedScore, ScoreMatching};
use crate::reducer::Reducer;
use crate::response::Response;
use crate::sade::Sade;
use crate::score::ScoreFunction;
use crate::slicing::Slicing;
use crate::spectrum::Spectrum;

settings! {
    /// SADE for features of unknown density.
    ///
    /// With the default score the method lies between SIR (large ridge) and the two-step method of Babichev's thesis (small
    /// ridge). On nearly elliptical features SIR is hard to beat; [`Ellipticity`](crate::ellipticity::Ellipticity) tests whether the
    /// features are elliptical.
    ///
    /// ```
    /// use fenchel_moments::{Components, GaussianMixture, LearnedSade, synthetic, trace_error};
    ///
    /// let density = GaussianMixture::thesis(4)?;
    /// let problem = synthetic::rational(&density, 2000, 0.25, 1)?;
    /// let method = LearnedSade { components: Components::Fixed(2), ..LearnedSade::default() };
    /// let model = method.fit(&problem.x, &problem.y)?;
    /// assert!(trace_error(model.directions.view(), problem.directions.view())? < 0.05);
    /// # Ok::<(), fenchel_moments::Error>(())
    /// ```
    pub struct LearnedSade {
        /// How many directions.
        components: Components = Components::default(),
        /// How the responses are cut.
        slicing: Slicing = Slicing::Auto,
        /// How the score is learned.
        score: ScoreMatching = ScoreMatching::default(),
        /// Learns on all folds but one and scores that one; removes the bias of small bandwidths.
        cross_fit: Option<usize> = None,
    }
}

impl LearnedSade {
    fits!(classes);
}

impl LearnedSade {
    fn sade(&self) -> Sade {
        Sade {
            components: self.components,
            slicing: self.slicing,
            standardise: true,
            centre_scores: true,
            ..Sade::default()
        }
    }

    /// Scores of all samples, and the score that was learned from all of them (without cross-fitting).
    fn scores(&self, data: &dyn Blocks) -> Result<(Array2<f64>, Option<LearnedScore>), Error> {
        let Some(folds) = self.cross_fit else {
            let score = self.score.fit_blocks(data)?;
            return Ok((scored(data, &score)?, Some(score)));
        };
        let mut scores = Array2::zeros((data.count(), data.width()));
        let parts = k_fold(data.count(), folds, self.score.seed)?;
        for (fold, (train, held)) in parts.into_iter().enumerate() {
            let score = self.score.fit_blocks(&Picked { data, index: &train });
            let score = score.map_err(Error::without(fold, folds))?;
            let rows = scored(&Picked { data, index: &held }, &score)?;
            for (row, &i) in rows.rows().into_iter().zip(&held) {
                scores.index_axis_mut(Axis(0), i).assign(&row);
            }
        }
        Ok((scores, None))
    }
}

/// The scores of all rows.
pub(crate) fn scored(data: &dyn Blocks, score: &dyn ScoreFunction) -> Result<Array2<f64>, Error> {
    let parts = fold(data, Vec::new, |part: &mut Vec<f64>, _, rows| {
        part.extend(score.score1(rows)?.iter());
        Ok(())
    })?;
    let shape = (data.count(), data.width());
    Ok(Array2::from_shape_vec(shape, parts.concat()).expect("d numbers a row"))
}

impl Reducer for LearnedSade {
    fn name(&self) -> &'static str {
        "SADE, learned score"
    }

    fn components(&self) -> Components {
        self.components
    }

    fn spectrum(&self, data: &dyn Blocks, response: &Response) -> Result<Spectrum, Error> {
        let (scores, score) = self.scores(data)?;
        let mut spectrum = self.sade().spectrum(&Dense::new(scores.view())?, response)?;
        spectrum.warnings.extend(discrete_columns(data));
        spectrum.warnings.extend(score.and_then(|s| s.warning()));
        Ok(spectrum)
    }
}
