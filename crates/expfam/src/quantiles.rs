//! Elicitation: distributions from stated beliefs such as "the rate lies between 2 and 8 with 90 %".
//!
//! | you know | use |
//! |---|---|
//! | two quantiles | [`Quantiles::with_quantiles`] |
//! | an interval with its probability, both tails alike | [`Quantiles::between`] |
//! | an interval with its probability, and nothing else | [`maximum_entropy_within`] |
//! | the mode, and how many observations it is worth | [`Prior::<Bernoulli>::with_mode`](crate::Prior), [`Prior::<Poisson>::with_mode`](crate::Prior) |
//!
//! Conjugate priors of a parameter can be found in the same way, for example with [`Prior::<Bernoulli>::between`](crate::Prior). There
//! are such constructors for probabilities, Poisson rates, exponential rates, normal means and normal precisions. Posteriors, evidence
//! and predictive densities then follow.

use fenchel_linalg::Invalid;

use crate::special::{
    beta_ln_tails, beta_tails, gamma_ln_tails, gamma_tails, logit, normal_ln_tails, normal_tails,
    sigmoid,
};
use crate::{
    Bernoulli, Beta, Density, Distribution, Error, Exponential, Gamma, InverseGamma, LogNormal,
    Normal, NormalKnownMean, NormalKnownVariance, Poisson, Prior,
};

/// A family of numbers with a distribution function.
pub trait Quantiles: Density<Point = f64> + Copy {
    /// `P(X <= x)` and `P(X > x)` under `eta`; the smaller of the two is not 1 minus the other.
    fn tails(self, eta: &[f64], x: f64) -> (f64, f64);

    /// Their logarithms, which go on where a probability underflows.
    fn log_tails(self, eta: &[f64], x: f64) -> (f64, f64);

    /// The point `x` with `P(X <= x) = below`, for `below + above = 1`; the smaller of the two decides. At the border of the support
    /// where the point is no other number.
    fn quantile(self, eta: &[f64], below: f64, above: f64) -> f64;

    /// `P(X <= x)` under `eta`.
    fn cdf(self, eta: &[f64], x: f64) -> f64 {
        self.tails(eta, x).0
    }

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
        check_probability("mass", mass)?;
        let tail = 0.5 * (1.0 - mass);
        self.with_quantiles((low, tail), (high, 1.0 - tail))
    }
}

impl<F: Quantiles> Distribution<F> {
    /// `P(X <= x)`.
    pub fn cdf(&self, x: f64) -> f64 {
        self.family().tails(self.natural(), x).0
    }

    /// `P(X > x)`, with its digits where it is small.
    pub fn survival(&self, x: f64) -> f64 {
        self.family().tails(self.natural(), x).1
    }

    /// `log P(X <= x)`, also where the probability underflows.
    pub fn log_cdf(&self, x: f64) -> f64 {
        self.family().log_tails(self.natural(), x).0
    }

    /// `log P(X > x)`, also where the probability underflows.
    pub fn log_survival(&self, x: f64) -> f64 {
        self.family().log_tails(self.natural(), x).1
    }

    /// The point with `P(X <= x) = p`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless `0 < p < 1`.
    pub fn quantile(&self, p: f64) -> Result<f64, Error> {
        check_probability("p", p)?;
        Ok(self.family().quantile(self.natural(), p, 1.0 - p))
    }

    /// The point with `P(X > x) = q`: for small `q` it keeps the digits that `1 - q` has not.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless `0 < q < 1`.
    pub fn upper_quantile(&self, q: f64) -> Result<f64, Error> {
        check_probability("q", q)?;
        Ok(self.family().quantile(self.natural(), 1.0 - q, q))
    }
}

/// The member of largest entropy with probability `mass` in `[low, high]`. The remaining probability is divided between the two sides
/// so that the entropy is largest.
///
/// # Errors
/// The errors of [`Quantiles::with_quantiles`].
pub fn maximum_entropy_within<F: Quantiles>(
    family: F,
    low: f64,
    high: f64,
    mass: f64,
) -> Result<Distribution<F>, Error> {
    check_probability("mass", mass)?;
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

fn check_probability(name: &'static str, value: f64) -> Result<(), Error> {
    let bad = Invalid::Parameter { name, value, expected: "a probability inside (0, 1)" };
    if value > 0.0 && value < 1.0 { Ok(()) } else { Err(bad.into()) }
}

fn check(first: (f64, f64), second: (f64, f64), (low, high): (f64, f64)) -> Result<(), Error> {
    let bad = |name, value, expected| Err(Invalid::Parameter { name, value, expected }.into());
    for (name, x) in [("first quantile", first.0), ("second quantile", second.0)] {
        if !(x > low && x < high && x.is_finite()) {
            return bad(name, x, "a finite number inside of the support");
        }
    }
    if !(second.0 > first.0) {
        return bad("second quantile", second.0, "a number above the first");
    }
    for (name, p) in [("first probability", first.1), ("second probability", second.1)] {
        if !(p > 0.0 && p < 1.0) {
            return bad(name, p, "a number inside (0, 1)");
        }
    }
    if !(second.1 > first.1) {
        return bad("second probability", second.1, "a number above the first");
    }
    Ok(())
}

/// How much the probability below exceeds the requested one, computed from the smaller of the two tails.
fn excess(found: (f64, f64), (below, above): (f64, f64)) -> f64 {
    if below < above { found.0 - below } else { above - found.1 }
}

/// The root of a monotone function on `[low, high]`, to full precision; `None` without a change of sign.
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

/// The point with `P(Z <= z) = below`.
fn normal_quantile((below, above): (f64, f64)) -> f64 {
    let (tail, sign) = if below < above { (below, -1.0) } else { (above, 1.0) };
    let z = bisect(0.0, 40.0, |z| normal_tails(z).1.ln() - tail.ln()).unwrap_or(0.0);
    sign * z
}

fn none<T>(family: &'static str) -> Result<T, Error> {
    Err(Error::Unavailable {
        family,
        what: "a member with these quantiles",
        hint: "take quantiles that are further apart, or nearer to each other",
    })
}

/// The member, if its quantiles are the requested ones: to six digits of the smaller tail.
fn verified<F: Quantiles>(
    found: Result<Distribution<F>, Error>,
    pairs: [(f64, f64); 2],
) -> Result<Distribution<F>, Error> {
    let found = found?;
    let holds = |(x, p): (f64, f64)| {
        let error = (found.cdf(x) - p).abs();
        // Above the median, 1 - p and the cdf are only known up to their rounding.
        error <= 1e-6 * p.min(1.0 - p) + 4.0 * f64::EPSILON * p.round()
    };
    if pairs.into_iter().all(holds) { Ok(found) } else { none(found.family().name()) }
}

impl Quantiles for Normal {
    fn tails(self, eta: &[f64], x: f64) -> (f64, f64) {
        let (m, v) = crate::families::normal_moments(eta);
        normal_tails((x - m) / v.sqrt())
    }

    fn log_tails(self, eta: &[f64], x: f64) -> (f64, f64) {
        let (m, v) = crate::families::normal_moments(eta);
        normal_ln_tails((x - m) / v.sqrt())
    }

    fn quantile(self, eta: &[f64], below: f64, above: f64) -> f64 {
        let (m, v) = crate::families::normal_moments(eta);
        m + v.sqrt() * normal_quantile((below, above))
    }

    fn with_quantiles(
        self,
        first: (f64, f64),
        second: (f64, f64),
    ) -> Result<Distribution<Self>, Error> {
        check(first, second, (f64::NEG_INFINITY, f64::INFINITY))?;
        let tails = |p: f64| (p, 1.0 - p);
        let (a, b) = (normal_quantile(tails(first.1)), normal_quantile(tails(second.1)));
        let deviation = (second.0 - first.0) / (b - a);
        let (mean, variance) = (first.0 - a * deviation, deviation * deviation);
        if !(variance > 0.0 && variance.is_finite() && mean.is_finite()) {
            return none("normal");
        }
        verified(self.with_mean_variance(mean, variance), [first, second])
    }
}

impl Quantiles for LogNormal {
    fn tails(self, eta: &[f64], x: f64) -> (f64, f64) {
        if x > 0.0 { Normal.tails(eta, x.ln()) } else { (0.0, 1.0) }
    }

    fn log_tails(self, eta: &[f64], x: f64) -> (f64, f64) {
        if x > 0.0 { Normal.log_tails(eta, x.ln()) } else { (f64::NEG_INFINITY, 0.0) }
    }

    fn quantile(self, eta: &[f64], below: f64, above: f64) -> f64 {
        Normal.quantile(eta, below, above).exp()
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

fn swap((a, b): (f64, f64)) -> (f64, f64) {
    (b, a)
}

/// The quantile of the gamma law of rate 1, unless it is too small for a number.
fn gamma_point(shape: f64, tails: (f64, f64)) -> Option<f64> {
    bisect(-745.0, 709.0, |log| excess(gamma_tails(shape, log.exp()), tails)).map(f64::exp)
}

/// The gamma law with two given quantiles whose ratio is `ratio`: its shape, and the first quantile in units of the scale. The shape
/// follows from the ratio, because the two quantiles move closer together as the shape grows.
fn gamma_member(ratio: f64, first: (f64, f64), second: (f64, f64)) -> Option<(f64, f64)> {
    let point = |shape: f64| gamma_point(shape, first);
    let missing = |log_shape: f64| {
        let shape = log_shape.exp();
        // A shape so small that the point is no number spreads too far.
        point(shape).map_or(-1.0, |z| excess(gamma_tails(shape, z * ratio), second))
    };
    let shape = bisect(-5.0, 16.0, missing)?.exp();
    Some((shape, point(shape)?))
}

impl Quantiles for Gamma {
    fn tails(self, eta: &[f64], x: f64) -> (f64, f64) {
        gamma_tails(eta[0] + 1.0, -eta[1] * x)
    }

    fn log_tails(self, eta: &[f64], x: f64) -> (f64, f64) {
        gamma_ln_tails(eta[0] + 1.0, -eta[1] * x)
    }

    fn quantile(self, eta: &[f64], below: f64, above: f64) -> f64 {
        gamma_point(eta[0] + 1.0, (below, above)).unwrap_or(0.0) / -eta[1]
    }

    fn with_quantiles(
        self,
        first: (f64, f64),
        second: (f64, f64),
    ) -> Result<Distribution<Self>, Error> {
        check(first, second, (0.0, f64::INFINITY))?;
        let tails = |p: f64| (p, 1.0 - p);
        match gamma_member(second.0 / first.0, tails(first.1), tails(second.1)) {
            Some((shape, z)) if usable(z / first.0) => {
                verified(self.with_shape_rate(shape, z / first.0), [first, second])
            }
            _ => none("gamma"),
        }
    }
}

impl Quantiles for InverseGamma {
    fn tails(self, eta: &[f64], x: f64) -> (f64, f64) {
        if x > 0.0 { swap(gamma_tails(-eta[0] - 1.0, -eta[1] / x)) } else { (0.0, 1.0) }
    }

    fn log_tails(self, eta: &[f64], x: f64) -> (f64, f64) {
        let inside = x > 0.0;
        if inside {
            swap(gamma_ln_tails(-eta[0] - 1.0, -eta[1] / x))
        } else {
            (f64::NEG_INFINITY, 0.0)
        }
    }

    fn quantile(self, eta: &[f64], below: f64, above: f64) -> f64 {
        -eta[1] / gamma_point(-eta[0] - 1.0, (above, below)).unwrap_or(0.0)
    }

    fn with_quantiles(
        self,
        first: (f64, f64),
        second: (f64, f64),
    ) -> Result<Distribution<Self>, Error> {
        check(first, second, (0.0, f64::INFINITY))?;
        // What lies below x lies above 1 / x of the gamma law.
        let tails = |p: f64| (1.0 - p, p);
        match gamma_member(second.0 / first.0, tails(second.1), tails(first.1)) {
            Some((shape, z)) if usable(z * second.0) => {
                let found = Distribution::from_natural(self, &[-shape - 1.0, -z * second.0]);
                verified(found, [first, second])
            }
            _ => none("inverse gamma"),
        }
    }
}

fn usable(rate: f64) -> bool {
    rate > 0.0 && rate.is_finite()
}

impl Quantiles for Beta {
    fn tails(self, eta: &[f64], x: f64) -> (f64, f64) {
        beta_tails(eta[0] + 1.0, eta[1] + 1.0, x)
    }

    fn log_tails(self, eta: &[f64], x: f64) -> (f64, f64) {
        beta_ln_tails(eta[0] + 1.0, eta[1] + 1.0, x)
    }

    fn quantile(self, eta: &[f64], below: f64, above: f64) -> f64 {
        // From the nearer end: numbers near 1 have no more than 16 digits of the rest.
        let from_end = |(a, b): (f64, f64), tails: (f64, f64)| {
            let over = |logit: f64| excess(beta_tails(a, b, sigmoid(logit)), tails);
            bisect(-745.0, 0.0, over).map_or(0.0, sigmoid)
        };
        let (a, b) = (eta[0] + 1.0, eta[1] + 1.0);
        match excess(beta_tails(a, b, 0.5), (below, above)) < 0.0 {
            true => 1.0 - from_end((b, a), (above, below)),
            false => from_end((a, b), (below, above)),
        }
    }

    /// The mean from the first quantile, for a concentration that the second decides.
    fn with_quantiles(
        self,
        first: (f64, f64),
        second: (f64, f64),
    ) -> Result<Distribution<Self>, Error> {
        check(first, second, (0.0, 1.0))?;
        let tails = |p: f64| (p, 1.0 - p);
        let shapes = |total: f64, logit: f64| (total * sigmoid(logit), total * sigmoid(-logit));
        // The mean lies within some decades of the interval, be it as near to 0 or 1 as it may.
        let (low, high) = (logit(first.0) - 40.0, logit(second.0) + 40.0);
        let middle = |total: f64| {
            bisect(low, high, |logit| {
                let (a, b) = shapes(total, logit);
                excess(beta_tails(a, b, first.0), tails(first.1))
            })
        };
        let missing = |log_total: f64| {
            let total = log_total.exp();
            middle(total).map_or(-1.0, |logit| {
                let (a, b) = shapes(total, logit);
                excess(beta_tails(a, b, second.0), tails(second.1))
            })
        };
        // The nearer to 0 or 1, the larger the concentration of the same relative width.
        let far = -second.0.ln() - (-first.0).ln_1p();
        let Some(log_total) = bisect(-4.0, 14.0 + far, missing) else { return none("beta") };
        let total = log_total.exp();
        let Some(logit) = middle(total) else { return none("beta") };
        let (a, b) = shapes(total, logit);
        verified(self.with_shapes(a, b), [first, second])
    }
}

impl Prior<Bernoulli> {
    /// The probability of 1 lies in `[low, high]` with the given mass, and with equal probability below and above.
    ///
    /// # Errors
    /// The errors of [`Quantiles::between`].
    pub fn between(low: f64, high: f64, mass: f64) -> Result<Self, Error> {
        let (a, b) = Beta.between(low, high, mass)?.shapes();
        Prior::beta(a, b)
    }

    /// The prior whose density in the probability has the given mode and which is worth `weight > 2` observations:
    /// `a = 1 + mode (weight - 2)`.
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
    /// The prior under which the rate lies in `[low, high]` with the given mass, with equal probability below and above.
    ///
    /// # Errors
    /// The errors of [`Quantiles::between`].
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

    /// The prior whose density in the rate has the given mode and which is worth `weight` observations.
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
    /// The prior under which the rate lies in `[low, high]` with the given mass, with equal probability below and above.
    ///
    /// # Errors
    /// The errors of [`Quantiles::between`]; [`Invalid::Parameter`] for an interval so wide that the prior has no weight.
    pub fn between(low: f64, high: f64, mass: f64) -> Result<Self, Error> {
        let (weight, mean) = of_rate(&Gamma.between(low, high, mass)?, 1.0, 1.0)?;
        Prior::new(Exponential, weight, &[mean])
    }
}

impl Prior<NormalKnownMean> {
    /// The precision lies in `[low, high]` with the given mass, and with equal probability below and above.
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
    /// The mean lies in `[low, high]` with the given mass, and with equal probability below and above.
    ///
    /// # Errors
    /// The errors of [`Quantiles::between`].
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
