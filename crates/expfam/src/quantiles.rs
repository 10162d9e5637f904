//! Members from what somebody believes: "the rate lies between 2 and 8 with 90 %".
//!
//! | you know | use |
//! |---|---|
//! | two quantiles | [`Quantiles::with_quantiles`] |
//! | an interval with its probability, both tails alike | [`Quantiles::between`] |
//! | an interval with its probability, and nothing else | [`maximum_entropy_within`] |
//! | the mode, and how many observations it is worth | [`Prior::<Bernoulli>::with_mode`](crate::Prior), [`Prior::<Poisson>::with_mode`](crate::Prior) |
//!
//! As priors of a parameter: [`Prior::<Bernoulli>::between`](crate::Prior), of Poisson rates, exponential rates, normal means and precisions
//! alike. The answer is a conjugate prior, so that posteriors, evidence and predictive densities follow.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::{chi_squared_tail, erfcx};

use crate::special::ln_beta;
use crate::{
    Bernoulli, Beta, Density, Distribution, Error, Exponential, Gamma, InverseGamma, LogNormal,
    Normal, NormalKnownMean, NormalKnownVariance, Poisson, Prior,
};

/// A family of numbers with a distribution function.
pub trait Quantiles: Density<Point = f64> + Copy {
    /// `P(X <= x)` under `eta`.
    fn cdf(self, eta: &[f64], x: f64) -> f64;

    /// The member with `P(X <= x_i) = p_i` for two pairs `(x, p)`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless both points lie in the support and both numbers rise; [`Error::Unavailable`] where no member of
    /// the family that a double can hold has these quantiles.
    fn with_quantiles(
        self,
        first: (f64, f64),
        second: (f64, f64),
    ) -> Result<Distribution<Self>, Error>;

    /// The member with probability `mass` in `[low, high]` and equal probabilities below and above.
    ///
    /// # Errors
    /// As [`with_quantiles`](Self::with_quantiles).
    fn between(self, low: f64, high: f64, mass: f64) -> Result<Distribution<Self>, Error> {
        let tail = 0.5 * (1.0 - mass);
        self.with_quantiles((low, tail), (high, 1.0 - tail))
    }
}

impl<F: Quantiles> Distribution<F> {
    /// `P(X <= x)`.
    pub fn cdf(&self, x: f64) -> f64 {
        self.family().cdf(self.natural(), x)
    }
}

/// The member of largest entropy with probability `mass` in `[low, high]`: the mass outside is shared between both sides as the entropy
/// likes it.
///
/// # Errors
/// Those of [`Quantiles::with_quantiles`].
pub fn maximum_entropy_within<F: Quantiles>(
    family: F,
    low: f64,
    high: f64,
    mass: f64,
) -> Result<Distribution<F>, Error> {
    let member = |share: f64| {
        let below = share * (1.0 - mass);
        let found = family.with_quantiles((low, below), (high, below + mass));
        found.and_then(|p| Ok((p.entropy()?, p)))
    };
    // Golden sections of the share below; a share that no member has counts as minus infinity.
    let value = |share: f64| member(share).map_or(f64::NEG_INFINITY, |(entropy, _)| entropy);
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let (mut a, mut b) = (1e-6, 1.0 - 1e-6);
    let (mut c, mut d) = (b - golden * (b - a), a + golden * (b - a));
    let (mut at_c, mut at_d) = (value(c), value(d));
    while b - a > 1e-7 {
        if at_c >= at_d {
            (b, d, at_d) = (d, c, at_c);
            c = b - golden * (b - a);
            at_c = value(c);
        } else {
            (a, c, at_c) = (c, d, at_d);
            d = a + golden * (b - a);
            at_d = value(d);
        }
    }
    member(0.5 * (a + b)).map(|(_, p)| p)
}

fn check(first: (f64, f64), second: (f64, f64), (low, high): (f64, f64)) -> Result<(), Error> {
    let bad = |name, value, expected| Err(Invalid::Parameter { name, value, expected }.into());
    if !(first.0 > low && first.0 < high && second.0 < high && second.0.is_finite()) {
        return bad("quantile", first.0, "points inside of the support");
    }
    if !(second.0 > first.0) {
        return bad("second quantile", second.0, "a number above the first");
    }
    if !(first.1 > 0.0 && first.1 < second.1 && second.1 < 1.0) {
        return bad("probability", first.1, "two probabilities inside (0, 1) that rise");
    }
    Ok(())
}

/// The root of a function that rises (or falls) on `[low, high]`, to the last bits; `None` without a change of sign.
fn bisect(mut low: f64, mut high: f64, f: impl Fn(f64) -> f64) -> Option<f64> {
    let (at_low, at_high) = (f(low), f(high));
    if !(at_low * at_high <= 0.0) {
        return None;
    }
    let rises = at_high > at_low;
    for _ in 0..120 {
        let middle = 0.5 * (low + high);
        if !(middle > low && middle < high) {
            break;
        }
        if (f(middle) > 0.0) == rises {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(0.5 * (low + high))
}

/// `P(Z <= z)` of a standard normal variable.
fn normal_cdf(z: f64) -> f64 {
    let tail = 0.5 * erfcx(z.abs() * std::f64::consts::FRAC_1_SQRT_2) * (-0.5 * z * z).exp();
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// The point with `P(Z <= z) = p`.
fn normal_quantile(p: f64) -> f64 {
    let (tail, sign) = if p < 0.5 { (p, -1.0) } else { (1.0 - p, 1.0) };
    let z = bisect(0.0, 40.0, |z| normal_cdf(-z).ln() - tail.ln()).unwrap_or(0.0);
    sign * z
}

fn none<T>(family: &'static str) -> Result<T, Error> {
    Err(Error::Unavailable {
        family,
        what: "a member with these quantiles",
        hint: "take quantiles that are further apart, or nearer to each other",
    })
}

impl Quantiles for Normal {
    fn cdf(self, eta: &[f64], x: f64) -> f64 {
        let (m, v) = crate::families::normal_moments(eta);
        normal_cdf((x - m) / v.sqrt())
    }

    fn with_quantiles(
        self,
        first: (f64, f64),
        second: (f64, f64),
    ) -> Result<Distribution<Self>, Error> {
        check(first, second, (f64::NEG_INFINITY, f64::INFINITY))?;
        let (a, b) = (normal_quantile(first.1), normal_quantile(second.1));
        let deviation = (second.0 - first.0) / (b - a);
        self.with_mean_variance(first.0 - a * deviation, deviation * deviation)
    }
}

impl Quantiles for LogNormal {
    fn cdf(self, eta: &[f64], x: f64) -> f64 {
        if x > 0.0 { Normal.cdf(eta, x.ln()) } else { 0.0 }
    }

    fn with_quantiles(
        self,
        first: (f64, f64),
        second: (f64, f64),
    ) -> Result<Distribution<Self>, Error> {
        check(first, second, (0.0, f64::INFINITY))?;
        let logs = Normal.with_quantiles((first.0.ln(), first.1), (second.0.ln(), second.1))?;
        Distribution::from_natural(self, logs.natural())
    }
}

/// `P(X <= x)` of a gamma variable.
fn gamma_cdf(shape: f64, x: f64) -> f64 {
    1.0 - chi_squared_tail(2.0 * x, 2.0 * shape)
}

impl Quantiles for Gamma {
    fn cdf(self, eta: &[f64], x: f64) -> f64 {
        gamma_cdf(eta[0] + 1.0, -eta[1] * x)
    }

    /// The rate from the first quantile, for a shape that the second decides: the larger the shape, the nearer the two.
    fn with_quantiles(
        self,
        first: (f64, f64),
        second: (f64, f64),
    ) -> Result<Distribution<Self>, Error> {
        check(first, second, (0.0, f64::INFINITY))?;
        let rate = |shape: f64| {
            let at = |log: f64| gamma_cdf(shape, log.exp() * first.0) - first.1;
            bisect(-700.0, 30.0, at).map(f64::exp)
        };
        let missing = |log_shape: f64| {
            let shape = log_shape.exp();
            // A shape so small that the rate is no number spreads too far.
            rate(shape).map_or(-1.0, |rate| gamma_cdf(shape, rate * second.0) - second.1)
        };
        let Some(log_shape) = bisect(-5.0, 16.0, missing) else { return none("gamma") };
        let shape = log_shape.exp();
        self.with_shape_rate(shape, rate(shape).unwrap_or(f64::NAN))
    }
}

impl Quantiles for InverseGamma {
    fn cdf(self, eta: &[f64], x: f64) -> f64 {
        if x > 0.0 { chi_squared_tail(-2.0 * eta[1] / x, 2.0 * (-eta[0] - 1.0)) } else { 0.0 }
    }

    fn with_quantiles(
        self,
        first: (f64, f64),
        second: (f64, f64),
    ) -> Result<Distribution<Self>, Error> {
        check(first, second, (0.0, f64::INFINITY))?;
        let inverse = Gamma
            .with_quantiles((1.0 / second.0, 1.0 - second.1), (1.0 / first.0, 1.0 - first.1))?;
        Distribution::from_natural(self, &[-inverse.shape() - 1.0, -inverse.rate()])
    }
}

/// `P(X <= x)` of a beta variable: the continued fraction of DLMF 8.17.22, from the side where it converges quickly.
fn beta_cdf(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_cdf(b, a, 1.0 - x);
    }
    let front = (a * x.ln() + b * (-x).ln_1p() - ln_beta(a, b)).exp() / a;
    // Lentz's method on 1 / (1 + d_1 / (1 + d_2 / (1 + ...))).
    let (mut c, mut delta, mut value) = (1.0, 0.0, 1.0);
    for j in 1..10_000_u32 {
        let m = f64::from(j / 2);
        let d = if j % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        delta = 1.0 / (1.0 + d * delta);
        c = 1.0 + d / c;
        value *= c * delta;
        if (c * delta - 1.0).abs() < 1e-16 {
            break;
        }
    }
    front / value
}

impl Quantiles for Beta {
    fn cdf(self, eta: &[f64], x: f64) -> f64 {
        beta_cdf(eta[0] + 1.0, eta[1] + 1.0, x)
    }

    /// The mean from the first quantile, for a concentration that the second decides.
    fn with_quantiles(
        self,
        first: (f64, f64),
        second: (f64, f64),
    ) -> Result<Distribution<Self>, Error> {
        check(first, second, (0.0, 1.0))?;
        let shapes = |total: f64, logit: f64| {
            (total * crate::special::sigmoid(logit), total * crate::special::sigmoid(-logit))
        };
        let middle = |total: f64| {
            bisect(-40.0, 40.0, |logit| {
                let (a, b) = shapes(total, logit);
                beta_cdf(a, b, first.0) - first.1
            })
        };
        let missing = |log_total: f64| {
            let total = log_total.exp();
            middle(total).map_or(-1.0, |logit| {
                let (a, b) = shapes(total, logit);
                beta_cdf(a, b, second.0) - second.1
            })
        };
        let Some(log_total) = bisect(-4.0, 14.0, missing) else { return none("beta") };
        let total = log_total.exp();
        let (a, b) = shapes(total, middle(total).unwrap_or(f64::NAN));
        self.with_shapes(a, b)
    }
}

impl Prior<Bernoulli> {
    /// The probability of 1 lies in `[low, high]` with the given mass, and below as often as above.
    ///
    /// # Errors
    /// Those of [`Quantiles::between`].
    pub fn between(low: f64, high: f64, mass: f64) -> Result<Self, Error> {
        let (a, b) = Beta.between(low, high, mass)?.shapes();
        Prior::beta(a, b)
    }

    /// The density of the probability of 1 has its mode there and is worth `weight > 2` observations: `a = 1 + mode (weight - 2)`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless `0 < mode < 1` and `weight > 2`.
    pub fn with_mode(mode: f64, weight: f64) -> Result<Self, Error> {
        Invalid::check_positive("weight - 2", weight - 2.0)?;
        if !(mode > 0.0 && mode < 1.0) {
            let expected = "a number inside (0, 1)";
            return Err(Invalid::Parameter { name: "mode", value: mode, expected }.into());
        }
        Prior::beta(1.0 + mode * (weight - 2.0), 1.0 + (1.0 - mode) * (weight - 2.0))
    }
}

impl Prior<Poisson> {
    /// The rate lies in `[low, high]` with the given mass, and below as often as above.
    ///
    /// # Errors
    /// Those of [`Quantiles::between`].
    ///
    /// ```
    /// use fenchel_expfam::{Poisson, Prior};
    ///
    /// let prior = Prior::<Poisson>::between(2.0, 8.0, 0.9)?;
    /// let (shape, rate) = prior.as_gamma();
    /// assert!((shape / rate - 4.6).abs() < 0.1);
    /// # Ok::<(), fenchel_expfam::Error>(())
    /// ```
    pub fn between(low: f64, high: f64, mass: f64) -> Result<Self, Error> {
        let rate = Gamma.between(low, high, mass)?;
        Prior::gamma(rate.shape(), rate.rate())
    }

    /// The density of the rate has its mode there and is worth `weight` observations.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless both are positive.
    pub fn with_mode(mode: f64, weight: f64) -> Result<Self, Error> {
        Invalid::check_positive("mode", mode)?;
        Invalid::check_positive("weight", weight)?;
        Prior::gamma(1.0 + mode * weight, weight)
    }
}

/// `n0` and `mu0` of the prior whose law of `-eta` is `Gamma(n0 a + 1, n0 mu0)`.
fn of_rate(rate: &Distribution<Gamma>, shape: f64, unit: f64) -> Result<(f64, f64), Error> {
    let weight = (rate.shape() - 1.0) / shape;
    if !(weight > 0.0) {
        let expected = "an interval so narrow that the gamma law of the rate has a shape above 1";
        return Err(Invalid::Parameter { name: "shape", value: rate.shape(), expected }.into());
    }
    Ok((weight, unit * rate.rate() / weight))
}

impl Prior<Exponential> {
    /// The rate lies in `[low, high]` with the given mass, and below as often as above.
    ///
    /// # Errors
    /// Those of [`Quantiles::between`]; [`Invalid::Parameter`] for an interval so wide that the prior has no weight.
    pub fn between(low: f64, high: f64, mass: f64) -> Result<Self, Error> {
        let (weight, mean) = of_rate(&Gamma.between(low, high, mass)?, 1.0, 1.0)?;
        Prior::new(Exponential, weight, &[mean])
    }
}

impl Prior<NormalKnownMean> {
    /// The precision lies in `[low, high]` with the given mass, and below as often as above.
    ///
    /// # Errors
    /// As of [`Exponential`].
    pub fn between(low: f64, high: f64, mass: f64) -> Result<Self, Error> {
        // t ~ Gamma(n0 / 2 + 1, n0 mu0 / 2).
        let (weight, mean) = of_rate(&Gamma.between(low, high, mass)?, 0.5, 2.0)?;
        Prior::new(NormalKnownMean::default(), weight, &[mean])
    }
}

impl Prior<NormalKnownVariance> {
    /// The mean lies in `[low, high]` with the given mass, and below as often as above.
    ///
    /// # Errors
    /// Those of [`Quantiles::between`].
    pub fn between(
        family: NormalKnownVariance,
        low: f64,
        high: f64,
        mass: f64,
    ) -> Result<Self, Error> {
        let mean = Normal.between(low, high, mass)?;
        Prior::new(family, family.variance() / mean.variance(), &[mean.location()])
    }
}
