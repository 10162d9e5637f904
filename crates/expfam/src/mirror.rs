//! Mirror descent with the log-partition function as reference function. Maximum likelihood and MAP estimation are
//! special cases of its stochastic form.
//!
//! ```text
//! f(eta) = A(eta) - <mu*, eta>,      grad A(eta_{t+1}) = grad A(eta_t) - g_t grad f(eta_t),      mu_{t+1} = mu_t - g_t (mu_t - mu*)
//! ```
//!
//! | step | what it is |
//! |---|---|
//! | 1, full gradient | the optimum, in one step |
//! | `1 / n`, one observation at a time | the maximum likelihood estimate of the prefix |
//! | `1 / (n0 + n)` | the MAP estimate of the prefix, exactly |
//! | constant `g` | exponential forgetting; it does not converge |
//!
//! The objective `f` is exactly 1-smooth and 1-strongly convex relative to `A`; see [`relative_gap`]. Steps are counted
//! from 1 (equation (5.135) of the thesis miscounts them). References: R. Le Priol, PhD thesis 2021, sections 5.2, 5.6
//! and appendix 5.F.
//!
//! Here the variable is `eta`, and the step is a gradient step in `mu`. D. Babichev, PhD thesis 2019, section 1.2,
//! exchanges the two: the variable is a point of the simplex, which is `mu` of the categorical family, and the step is
//! taken in `eta`. This is the multiplicative update of the entropic set-up in `fenchel-saddle`, where its rates are
//! given.

use fenchel_linalg::Invalid;
use fenchel_optim::{
    Certificate, Iterative, Observer, Report, Solution, Status, Stop, run, settings,
};
use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::{Density, Family};
use crate::prior::Prior;
use crate::summary::Summary;

/// The step sizes of stochastic mirror descent, for step `n` = 1, 2, ...
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Schedule {
    /// `1 / n`: maximum likelihood.
    Mle,
    /// `1 / (pseudo_count + n)`: MAP under `pseudo_count` pseudo-observations at the start.
    Map {
        /// `n0`.
        pseudo_count: f64,
    },
    /// A constant step in `(0, 1]`.
    Constant(f64),
    /// `scale / (scale + n)^power`, between the two.
    Power {
        /// Where the decay begins.
        scale: f64,
        /// In `(0, 1]`.
        power: f64,
    },
}

impl Schedule {
    /// The step `n`, counted from 1.
    pub fn step(&self, n: u64) -> f64 {
        let n = n as f64;
        match *self {
            Schedule::Mle => 1.0 / n,
            Schedule::Map { pseudo_count } => 1.0 / (pseudo_count + n),
            Schedule::Constant(step) => step,
            Schedule::Power { scale, power } => (scale / (scale + n)).powf(power),
        }
    }

    fn check(&self) -> Result<(), Invalid> {
        match *self {
            Schedule::Mle => Ok(()),
            Schedule::Map { pseudo_count } => {
                Invalid::check_nonnegative("pseudo_count", pseudo_count)
            }
            Schedule::Constant(value) if value > 0.0 && value <= 1.0 => Ok(()),
            Schedule::Constant(value) => {
                Err(Invalid::Parameter { name: "step", value, expected: "a number in (0, 1]" })
            }
            Schedule::Power { scale, power } => {
                Invalid::check_positive("scale", scale)?;
                let expected = "a number in (0, 1]";
                if power > 0.0 && power <= 1.0 {
                    return Ok(());
                }
                Err(Invalid::Parameter { name: "power", value: power, expected })
            }
        }
    }
}

/// Stochastic mirror descent on the expected negative log-likelihood, with one step per observation. A step costs
/// O(dimension) and allocates nothing. The map from `mu` back to `eta` is computed only when an estimate is requested.
///
/// ```
/// use fenchel_expfam::mirror::{Schedule, StochasticMirrorDescent};
/// use fenchel_expfam::Prior;
/// use fenchel_expfam::families::Bernoulli;
///
/// // Beta(1, 1): two pseudo-observations. Three heads make 4/5, as the posterior says.
/// let prior = Prior::beta(1.0, 1.0)?;
/// let mut method = StochasticMirrorDescent::from_prior(&prior)?;
/// for x in [1.0, 1.0, 1.0] {
///     method.observe(&x)?;
/// }
/// assert!((method.estimate()?.p() - 0.8).abs() < 1e-15);
/// # Ok::<(), fenchel_expfam::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct StochasticMirrorDescent<F> {
    summary: Summary<F>,
    schedule: Schedule,
    steps: u64,
}

impl<F: Density + Clone> StochasticMirrorDescent<F> {
    /// Starts at a point. With [`Schedule::Mle`] the first step forgets it.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a schedule out of range.
    pub fn new(start: &Distribution<F>, schedule: Schedule) -> Result<Self, Error> {
        schedule.check()?;
        let mut centred = vec![0.0; start.family().dimension()];
        start.family().centred_from_natural(start.natural(), &mut centred);
        let summary = Summary::from_parts(start.family().clone(), 1.0, centred);
        Ok(StochasticMirrorDescent { summary, schedule, steps: 0 })
    }

    /// The iteration whose points are the MAP estimates under the prior.
    ///
    /// # Errors
    /// None; a prior is checked.
    pub fn from_prior(prior: &Prior<F>) -> Result<Self, Error> {
        Self::new(prior.map(), Schedule::Map { pseudo_count: prior.weight() })
    }

    /// One step: `mu <- mu + g (T(x) - mu)`.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`].
    pub fn observe(&mut self, x: &F::Point) -> Result<(), Error> {
        self.summary.family().check_point(x)?;
        self.steps += 1;
        let g = self.schedule.step(self.steps);
        self.summary.blend_point(x, g);
        Ok(())
    }

    /// One step with the mean of several observations.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`]; [`Invalid::Empty`].
    pub fn observe_batch(&mut self, x: &[F::Point]) -> Result<(), Error>
    where
        F::Point: Sized,
    {
        let batch = Summary::of(self.summary.family().clone(), x)?;
        if x.is_empty() {
            return Err(Invalid::Empty { what: "batch" }.into());
        }
        self.steps += 1;
        let g = self.schedule.step(self.steps);
        self.summary.blend_centred(batch.centred(), g);
        Ok(())
    }

    /// Steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The current mean parameter.
    pub fn mean(&self) -> Vec<f64> {
        self.summary.mean().unwrap_or_default()
    }

    /// The current member.
    ///
    /// # Errors
    /// [`Error::BoundaryMean`] where the mean lies on the border.
    pub fn estimate(&self) -> Result<Distribution<F>, Error> {
        self.summary.mle()
    }
}

/// `B_f(q; p) - B_A(q; p)` for `f(eta) = A(eta) - <mu*, eta>`. It is 0 up to rounding, because `f` and `A` differ by a
/// linear function. For another objective, a positive value shows that it is not 1-smooth relative to `A` along
/// `p -> q`, and a negative value that it is not 1-strongly convex.
///
/// # Panics
/// For vectors of the wrong length than the dimension.
pub fn relative_gap<F: Family>(family: &F, objective: &impl Smooth, p: &[f64], q: &[f64]) -> f64 {
    let mut gradient = vec![0.0; p.len()];
    let from = objective.value_gradient(p, &mut gradient);
    let slope: f64 = gradient.iter().zip(q.iter().zip(p)).map(|(g, (q, p))| g * (q - p)).sum();
    let mut there = vec![0.0; p.len()];
    objective.value_gradient(q, &mut there) - from - slope - family.kl(p, q)
}

/// A differentiable function of a natural parameter.
pub trait Smooth {
    /// Its value, with the gradient written to `gradient`.
    fn value_gradient(&self, eta: &[f64], gradient: &mut [f64]) -> f64;
}

/// `A(eta) - <mu*, eta>`.
#[derive(Debug, Clone)]
pub struct NegativeLikelihood<'a, F> {
    /// The family.
    pub family: &'a F,
    /// The mean of the data.
    pub mean: &'a [f64],
}

impl<F: Family> Smooth for NegativeLikelihood<'_, F> {
    fn value_gradient(&self, eta: &[f64], gradient: &mut [f64]) -> f64 {
        self.family.mean(eta, gradient);
        gradient.iter_mut().zip(self.mean).for_each(|(g, m)| *g -= m);
        self.family.log_partition(eta) - crate::divergence::dot(self.mean, eta)
    }
}

settings! {
    /// Settings of [`descend`].
    pub struct MirrorDescentSettings {
        /// The step size `g`; `1 / L` for an objective that is `L`-smooth relative to `A`.
        step: f64 = 1.0,
        /// When the method stops; the certificate is the norm of the gradient.
        stop: Stop = Stop::default(),
    }
}

/// Mirror descent on any smooth objective, with the log-partition function of a family as reference.
///
/// If a step would leave the mean domain, the run ends with [`Status::Diverged`] at the last point inside.
///
/// # Errors
/// The errors of [`Family::check_natural`] for the start; [`Invalid::Parameter`] for settings out of range.
pub fn descend<F: Family, S: Smooth, O: Observer<MirrorDescent<F, S>>>(
    family: F,
    objective: S,
    settings: &MirrorDescentSettings,
    start: &[f64],
    observer: &mut O,
) -> Result<Solution<Vec<f64>>, Error> {
    Invalid::check_positive("step", settings.step)?;
    family.check_natural(start)?;
    let k = start.len();
    let mut method = MirrorDescent {
        family,
        objective,
        step: settings.step,
        eta: start.to_vec(),
        gradient: vec![0.0; k],
        left: false,
    };
    let report: Report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.eta, report })
}

/// The method behind [`descend`].
#[derive(Debug, Clone)]
pub struct MirrorDescent<F, S> {
    family: F,
    objective: S,
    step: f64,
    eta: Vec<f64>,
    gradient: Vec<f64>,
    left: bool,
}

impl<F, S> MirrorDescent<F, S> {
    /// The current natural parameter.
    pub fn point(&self) -> &[f64] {
        &self.eta
    }
}

impl<F: Family, S: Smooth> Iterative for MirrorDescent<F, S> {
    fn advance(&mut self, _: f64) -> f64 {
        let mut mu = vec![0.0; self.eta.len()];
        self.family.mean(&self.eta, &mut mu);
        self.objective.value_gradient(&self.eta, &mut self.gradient);
        mu.iter_mut().zip(&self.gradient).for_each(|(m, g)| *m -= self.step * g);
        let mut next = vec![0.0; mu.len()];
        let moved = self.family.check_mean(&mu).and_then(|()| self.family.natural(&mu, &mut next));
        if moved.is_ok() && self.family.check_natural(&next).is_ok() {
            self.eta = next;
        } else {
            self.left = true;
        }
        1.0
    }

    fn certify(&mut self) -> Certificate {
        let objective = self.objective.value_gradient(&self.eta, &mut self.gradient);
        let norm = crate::divergence::dot(&self.gradient, &self.gradient).sqrt();
        Certificate::residual(objective, norm, 0.0)
    }

    fn verdict(&self) -> Option<Status> {
        self.left.then_some(Status::Diverged)
    }
}

/// `min f - E min f_X` for the gamma family of known shape `a`: `a (log a - psi(a))`. Of the notions of gradient
/// variance in R. Le Priol, PhD thesis 2021, section 5.6, this is the one that is finite; equation (5.35) there.
pub fn gamma_gap_of_minima(shape: f64) -> f64 {
    shape * crate::special::log_minus_digamma(shape)
}

/// The symmetrised divergence of one noisy step for the variance of a normal law with known mean (R. Le Priol, PhD
/// thesis 2021, equation (5.31)). The true variance is `truth`, the iterate `at`, and the step size `g`. It diverges
/// like `at^(-1/2)` as `at -> 0`.
pub fn normal_variance_noise(truth: f64, at: f64, g: f64) -> f64 {
    let b = (1.0 - g) * at;
    let c = 2.0 * g * truth;
    let j = (std::f64::consts::PI / (c * b)).sqrt() * crate::special::erfcx((b / c).sqrt());
    0.5 * ((b + g * truth) * j - 1.0)
}
