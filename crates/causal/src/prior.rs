//! Random reference distributions and interventions.
//!
//! | prior | cause | rows of the effect | meaning |
//! |---|---|---|---|
//! | dense | `Dir(1)` | `Dir(1)` | uniform on the simplex; the effect's marginal is close to uniform, so that the direction shows in the joint |
//! | sparse | `Dir(1)` | `Dir(1/K)` | the same as `Dir(1/K)` on the joint table: symmetric in cause and effect |
//! | normal | Wishart precision, normal mean | Wishart precision, normal slopes | about the same variance for both |
//!
//! Scores are drawn as logarithms of gamma variables, because a draw from `Dir(1/K)` with K = 1000 has probabilities
//! far below the smallest floating-point number.
//!
//! Source: R. Le Priol, PhD thesis 2021, equations (4.15) and (4.16), theorem 4.C.1, appendix 4.F. In equation (4.54)
//! the sum should run over the other index.

use fenchel_expfam::samplers::{Dirichlet, Wishart};
use fenchel_linalg::Invalid;
use ndarray::{Array1, Array2};
use rand::{Rng, RngExt};
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::categorical::{CategoricalPair, Intervention};
use crate::normal::{CholeskyPair, NormalIntervention};

/// Independent Dirichlet distributions for the cause and for each row of the effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CategoricalPrior {
    /// States of the cause.
    pub kx: usize,
    /// States of the effect.
    pub ky: usize,
    /// The concentration of the cause (1).
    pub cause: f64,
    /// The concentration of the rows: 1 dense, 1/K sparse.
    pub rows: f64,
    /// The concentration of interventions (1).
    pub intervention: f64,
}

/// What an intervention acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Target {
    /// The cause.
    Cause,
    /// The effect: it no longer depends on the cause.
    Effect,
    /// The row of the most probable state of the cause.
    SingleMechanism,
    /// All rows, redrawn from the prior of rows.
    Mechanism,
    /// All rows, moved by normal noise as large as they are spread (categorical only).
    Noise,
}

impl CategoricalPrior {
    /// All concentrations 1.
    pub fn dense(k: usize) -> CategoricalPrior {
        CategoricalPrior { kx: k, ky: k, cause: 1.0, rows: 1.0, intervention: 1.0 }
    }

    /// Rows with concentration 1/K.
    pub fn sparse(k: usize) -> CategoricalPrior {
        CategoricalPrior { rows: 1.0 / k as f64, ..CategoricalPrior::dense(k) }
    }

    /// Draws a reference distribution.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no states or a concentration that is not positive.
    pub fn sample(&self, rng: &mut (impl Rng + ?Sized)) -> Result<CategoricalPair, Error> {
        let marginal = Dirichlet::symmetric(self.cause, self.kx)?.sample_log(rng);
        let rows = Dirichlet::symmetric(self.rows, self.ky)?.sample_log_rows(self.kx, rng);
        CategoricalPair::from_logits(Array1::from_vec(marginal).view(), rows.view())
    }

    /// Draws an intervention on a pair.
    ///
    /// # Errors
    /// As [`sample`](Self::sample).
    pub fn sample_intervention(
        &self,
        pair: &CategoricalPair,
        target: Target,
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<Intervention, Error> {
        let mut draw = |k: usize| -> Result<Array1<f64>, Invalid> {
            Ok(Array1::from_vec(Dirichlet::symmetric(self.intervention, k)?.sample_log(rng)))
        };
        Ok(match target {
            Target::Cause => Intervention::Cause(draw(self.kx)?),
            Target::Effect => Intervention::Effect(draw(self.ky)?),
            Target::SingleMechanism => {
                Intervention::SingleMechanism { state: None, logits: draw(self.ky)? }
            }
            Target::Mechanism => {
                let rows = Dirichlet::symmetric(self.rows, self.ky)?.sample_log_rows(self.kx, rng);
                Intervention::Mechanism(rows)
            }
            Target::Noise => Intervention::noise(pair, None, rng)?,
        })
    }
}

/// The prior of R. Le Priol, PhD thesis 2021, appendix 4.F, for two normal vectors of dimension K.
///
/// ```text
/// Lambda_X ~ W(n0, I/K),          eta_X ~ N(0, Lambda_X / n0)
/// Lambda_{Y|X} ~ W(n0, s I/K),    b ~ N(0, Lambda_{Y|X} / n0),   A_ij ~ N(0, tau^2),   B = Lambda_{Y|X} A
/// ```
///
/// Le Priol (PhD thesis 2021, appendix 4.F) prints the covariance `I / sqrt(K)` for A. With it Y would vary three times
/// as much as X, although the prior is meant to give both about the same variance. So the standard deviation, not the
/// covariance, should be about `1 / sqrt(K)`: the default is `tau = 0.95 / sqrt(K)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NormalPrior {
    /// The dimension K of both vectors.
    pub dimension: usize,
    /// The degrees of freedom `n0` (2K + 2).
    pub degrees: f64,
    /// How much more precise Y given X is (10).
    pub scale: f64,
    /// The standard deviation of the slopes (`0.95 / sqrt(K)`).
    pub slope: f64,
}

impl NormalPrior {
    /// The prior with the numbers of R. Le Priol, PhD thesis 2021, appendix 4.F.
    pub fn new(dimension: usize) -> NormalPrior {
        let k = dimension as f64;
        NormalPrior { dimension, degrees: 2.0 * k + 2.0, scale: 10.0, slope: 0.95 / k.sqrt() }
    }

    /// `(zeta, L)` of a vector: `zeta = L^-1 eta ~ N(0, I / n0)`.
    fn vector(
        &self,
        scale: f64,
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<(Array1<f64>, Array2<f64>), Error> {
        Invalid::check_positive("scale", scale)?;
        if self.dimension == 0 {
            return Err(Invalid::Empty { what: "the normal vectors" }.into());
        }
        let base = Array2::eye(self.dimension) * (scale / self.dimension as f64);
        let factor = Wishart::new(base.view(), self.degrees)?.sample_factor(rng);
        let size = self.degrees.sqrt().recip();
        let mut normal = || size * rng.sample::<f64, _>(StandardNormal);
        Ok((Array1::from_shape_simple_fn(self.dimension, &mut normal), factor))
    }

    /// Draws a reference distribution.
    ///
    /// # Errors
    /// [`Error::Invalid`] for dimension 0, a scale that is not positive, too few degrees of freedom, a negative slope.
    pub fn sample(&self, rng: &mut (impl Rng + ?Sized)) -> Result<CholeskyPair, Error> {
        Invalid::check_nonnegative("slope", self.slope)?;
        let (zeta, factor) = self.vector(1.0, rng)?;
        let (intercept, factor_given) = self.vector(self.scale, rng)?;
        let mut normal = || self.slope * rng.sample::<f64, _>(StandardNormal);
        let a = Array2::from_shape_simple_fn((self.dimension, self.dimension), &mut normal);
        let slope = factor_given.t().dot(&a);
        CholeskyPair::new(zeta, factor, slope, intercept, factor_given)
    }

    /// Draws an intervention: a new law of the cause, or a new law of the effect from the same prior.
    ///
    /// # Errors
    /// As [`sample`](Self::sample); [`Error::Invalid`] for another target than these two.
    pub fn sample_intervention(
        &self,
        target: Target,
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<NormalIntervention, Error> {
        let (zeta, factor) = self.vector(1.0, rng)?;
        match target {
            Target::Cause => Ok(NormalIntervention::Cause { zeta, factor }),
            Target::Effect => Ok(NormalIntervention::Effect { zeta, factor }),
            other => {
                let reason = format!("{other:?}; expected Cause or Effect for normal variables");
                Err(Invalid::Layout { what: "target", reason }.into())
            }
        }
    }
}
