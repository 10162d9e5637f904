//! The families with a distribution function.

use fenchel_linalg::{Invalid, text};

use super::Quantiles;
use crate::distribution::Distribution;
use crate::error::Error;
use crate::families::{Beta, Gamma, InverseGamma, LogNormal, Normal};
use crate::special::{
    beta_ln_tails, beta_tails, gamma_above, gamma_below, gamma_ln_tails, gamma_tails, ln_gamma,
    log1mexp, logit, normal_ln_tails, normal_tails, sigmoid,
};

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

/// The root of a monotone function on `[low, high]`, to full precision; `None` without a change of sign. Inverse quadratic
/// interpolation where it is safe, else bisection (T. R. Chandrupatla, Advances in Engineering Software 28, 1997).
fn root(low: f64, high: f64, f: impl Fn(f64) -> f64) -> Option<f64> {
    // The last point and its value, the other end of the bracket, and the point before.
    let (mut a, mut b) = ((low, f(low)), (high, f(high)));
    if !(a.1 * b.1 <= 0.0) {
        return None;
    }
    let mut share = 0.5;
    for _ in 0..200 {
        let x = a.0 + share * (b.0 - a.0);
        let at = (x, f(x));
        let c = if (at.1 > 0.0) == (a.1 > 0.0) { a } else { std::mem::replace(&mut b, a) };
        a = at;
        let best = if a.1.abs() < b.1.abs() { a } else { b };
        let least = 2.0 * f64::EPSILON * best.0.abs() / (b.0 - a.0).abs();
        if best.1 == 0.0 || !(least < 0.5) {
            return Some(best.0);
        }
        let (place, height) = ((a.0 - b.0) / (c.0 - b.0), (a.1 - b.1) / (c.1 - b.1));
        let safe = height * height < place && (1.0 - height) * (1.0 - height) < 1.0 - place;
        let interpolated = || {
            a.1 / (b.1 - a.1) * c.1 / (b.1 - c.1)
                + (c.0 - a.0) / (b.0 - a.0) * a.1 / (c.1 - a.1) * b.1 / (c.1 - b.1)
        };
        share = if safe { interpolated() } else { 0.5 }.max(least).min(1.0 - least);
    }
    Some(a.0)
}

/// The point with `P(Z <= z) = below`.
pub(crate) fn normal_quantile((below, above): (f64, f64)) -> f64 {
    let (tail, sign) = if below < above { (below, -1.0) } else { (above, 1.0) };
    let z = root(0.0, 40.0, |z| normal_tails(z).1.ln() - tail.ln()).unwrap_or(0.0);
    sign * z
}

/// Why no member has two quantiles.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Why {
    /// Even the narrowest member has less probability between them.
    Near,
    /// Even the widest member has more probability between them.
    Far,
    /// The scale of the member is no number.
    Unit,
}

impl Why {
    /// Where a search from the widest member to the narrowest has found no change of sign, with the excess below the second quantile
    /// under the widest.
    fn of(widest: f64) -> Why {
        if widest > 0.0 { Why::Far } else { Why::Near }
    }
}

fn none<T>(
    family: &'static str,
    [first, second]: [(f64, f64); 2],
    why: &dyn std::fmt::Display,
) -> Result<T, Error> {
    // 0.05 in place of 0.04999999999999999, which half of 1 - 0.9 is.
    let short = |p: f64| format!("{p:.5e}").parse().unwrap_or(p);
    let ((x, p), (y, q)) = ((first.0, short(first.1)), (second.0, short(second.1)));
    let reason = format!(
        "no member of the {family} family that doubles can hold has P(X <= {}) = {p} and P(X <= {}) = {q}: {why}",
        text::exact(x),
        text::exact(y)
    );
    Err(Invalid::Layout { what: "quantiles", reason }.into())
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Why::Near => {
                "the second quantile is too near to the first; move it up, or put less probability between them"
            }
            Why::Far => {
                "the second quantile is too far above the first; move it down, or put more probability between them"
            }
            Why::Unit => "its scale overflows or underflows; take another unit",
        })
    }
}

/// The member, if its quantiles are the requested ones: to six digits of the smaller tail.
fn verified<F: Quantiles>(
    found: Result<Distribution<F>, Error>,
    pairs: [(f64, f64); 2],
) -> Result<Distribution<F>, Error> {
    let found = found?;
    let fails = |&(x, p): &(f64, f64)| {
        let error = (found.cdf(x) - p).abs();
        // Above the median, 1 - p and the cdf are only known up to their rounding.
        !(error <= 1e-6 * p.min(1.0 - p) + 4.0 * f64::EPSILON * p.round())
    };
    let Some((which, (x, _))) = ["first", "second"].iter().zip(pairs).find(|pair| fails(&pair.1))
    else {
        return Ok(found);
    };
    let why = format!(
        "the nearest has P(X <= {}) = {}; move the {which} quantile",
        text::exact(x),
        text::short(found.cdf(x))
    );
    none(found.family().name(), pairs, &why)
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
        let pairs = [first, second];
        if !(variance > 0.0) {
            return none("normal", pairs, &Why::Near);
        }
        if !(variance.is_finite() && mean.is_finite()) {
            return none("normal", pairs, &Why::Far);
        }
        verified(self.with_mean_variance(mean, variance), pairs)
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

/// The logarithm of the quantile of the gamma law of rate 1.
fn gamma_log_point(shape: f64, tails: (f64, f64)) -> Option<f64> {
    let search = || root(-1500.0, 709.0, |log| excess(gamma_tails_of_log(shape, log), tails));
    gamma_log_point_nearby(shape, tails).or_else(search)
}

/// The same by Halley's method for the logarithm of the smaller tail as a function of the logarithm of the point, where it converges.
fn gamma_log_point_nearby(shape: f64, (below, above): (f64, f64)) -> Option<f64> {
    let (tail, sign) = if below < above { (below, 1.0) } else { (above, -1.0) };
    let (target, log_gamma) = (tail.ln(), ln_gamma(shape));
    // Of P(X <= x), the first term of its series in x; else the cube of a normal variable (Wilson and Hilferty).
    let small = (target + shape.ln() + log_gamma) / shape;
    let mut log = if sign > 0.0 && small < (0.2 * (1.0 + shape)).ln() {
        small
    } else {
        let (spread, z) = (1.0 / (9.0 * shape), -sign * normal_upper_guess(target));
        shape.ln() + 3.0 * (1.0 - spread + z * spread.sqrt()).max(0.1).ln()
    };
    for _ in 0..20 {
        let x = log.exp();
        if !(f64::MIN_POSITIVE..f64::MAX).contains(&x) {
            return None;
        }
        let found = if sign > 0.0 { gamma_below(shape, x) } else { gamma_above(shape, x) };
        let slope = sign * (shape * log - x - log_gamma).exp() / found;
        // By how much the logarithm of the tail is off, over its slope; the slope itself grows by the factor `shape - x - slope`.
        let newton = (found.ln() - target) / slope;
        let step = newton / (1.0 - 0.5 * newton * (shape - x - slope));
        if !step.is_finite() {
            return None;
        }
        log -= step.clamp(-1.0, 1.0);
        // The error shrinks to its cube in these units.
        if step.abs() * (1.0 + slope.abs() + shape.sqrt()) <= 1e-5 {
            return Some(log);
        }
    }
    None
}

/// The point that a standard normal variable exceeds with a probability of at most a half, of which this is the logarithm, to three
/// digits (Abramowitz and Stegun 26.2.23).
fn normal_upper_guess(log_tail: f64) -> f64 {
    let t = (-2.0 * log_tail).max(0.0).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    t - above / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)))
}

/// The tails of the gamma law of rate 1 at the point of the given logarithm.
fn gamma_tails_of_log(shape: f64, log: f64) -> (f64, f64) {
    gamma_tails_at(shape, log.exp(), log)
}

/// The same at a point with its logarithm, which has more digits below the normal numbers.
fn gamma_tails_at(shape: f64, x: f64, log: f64) -> (f64, f64) {
    match gamma_ln_below(shape, x, log) {
        Some(below) => (below.exp(), -below.exp_m1()),
        None => gamma_tails(shape, x),
    }
}

fn gamma_ln_tails_at(shape: f64, x: f64, log: f64) -> (f64, f64) {
    match gamma_ln_below(shape, x, log) {
        Some(below) => (below, log1mexp(-below)),
        None => gamma_ln_tails(shape, x),
    }
}

/// `log P(X <= x)` below the normal numbers.
fn gamma_ln_below(shape: f64, x: f64, log: f64) -> Option<f64> {
    let is_tiny = x < f64::MIN_POSITIVE && log > f64::NEG_INFINITY;
    is_tiny.then(|| shape * log - ln_gamma(shape + 1.0))
}

/// The gamma law with two given quantiles whose ratio is `ratio`: its shape, and the first quantile in units of the scale. The shape
/// follows from the ratio, because the two quantiles move closer together as the shape grows.
fn gamma_member(ratio: f64, first: (f64, f64), second: (f64, f64)) -> Result<(f64, f64), Why> {
    let point = |shape: f64| {
        // No number is as small as what lies below -745.
        gamma_log_point(shape, first).filter(|log| *log > -745.0).map(f64::exp)
    };
    let missing = |log_shape: f64| {
        let shape = log_shape.exp();
        // A shape so small that the point is no number spreads too far.
        point(shape).map_or(-1.0, |z| excess(gamma_tails(shape, z * ratio), second))
    };
    let shape = root(-5.0, 16.0, missing).ok_or_else(|| Why::of(missing(-5.0)))?.exp();
    Ok((shape, point(shape).ok_or(Why::Far)?))
}

impl Quantiles for Gamma {
    fn tails(self, eta: &[f64], x: f64) -> (f64, f64) {
        let rate = -eta[1];
        gamma_tails_at(eta[0] + 1.0, rate * x, rate.ln() + x.ln())
    }

    fn log_tails(self, eta: &[f64], x: f64) -> (f64, f64) {
        let rate = -eta[1];
        gamma_ln_tails_at(eta[0] + 1.0, rate * x, rate.ln() + x.ln())
    }

    fn quantile(self, eta: &[f64], below: f64, above: f64) -> f64 {
        gamma_log_point(eta[0] + 1.0, (below, above))
            .map_or(0.0, |log| (log - (-eta[1]).ln()).exp())
    }

    fn with_quantiles(
        self,
        first: (f64, f64),
        second: (f64, f64),
    ) -> Result<Distribution<Self>, Error> {
        check(first, second, (0.0, f64::INFINITY))?;
        let tails = |p: f64| (p, 1.0 - p);
        match gamma_member(second.0 / first.0, tails(first.1), tails(second.1)) {
            Ok((shape, z)) if usable(z / first.0) => {
                verified(self.with_shape_rate(shape, z / first.0), [first, second])
            }
            Ok(_) => none("gamma", [first, second], &Why::Unit),
            Err(why) => none("gamma", [first, second], &why),
        }
    }
}

impl Quantiles for InverseGamma {
    fn tails(self, eta: &[f64], x: f64) -> (f64, f64) {
        let scale = -eta[1];
        let log = scale.ln() - x.ln();
        if x > 0.0 { swap(gamma_tails_at(-eta[0] - 1.0, scale / x, log)) } else { (0.0, 1.0) }
    }

    fn log_tails(self, eta: &[f64], x: f64) -> (f64, f64) {
        if !(x > 0.0) {
            return (f64::NEG_INFINITY, 0.0);
        }
        let scale = -eta[1];
        swap(gamma_ln_tails_at(-eta[0] - 1.0, scale / x, scale.ln() - x.ln()))
    }

    fn quantile(self, eta: &[f64], below: f64, above: f64) -> f64 {
        gamma_log_point(-eta[0] - 1.0, (above, below))
            .map_or(f64::INFINITY, |log| ((-eta[1]).ln() - log).exp())
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
            Ok((shape, z)) if usable(z * second.0) => {
                let found = Distribution::from_natural(self, &[-shape - 1.0, -z * second.0]);
                verified(found, [first, second])
            }
            Ok(_) => none("inverse gamma", [first, second], &Why::Unit),
            Err(why) => none("inverse gamma", [first, second], &why),
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
            root(-745.0, 0.0, over).map_or(0.0, sigmoid)
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
            root(low, high, |logit| {
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
        let pairs = [first, second];
        let Some(log_total) = root(-4.0, 14.0 + far, missing) else {
            return none("beta", pairs, &Why::of(missing(-4.0)));
        };
        let total = log_total.exp();
        let Some(logit) = middle(total) else { return none("beta", pairs, &Why::Far) };
        let (a, b) = shapes(total, logit);
        verified(self.with_shapes(a, b), pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where Halley's method ends, it ends where the search does: to the rounding of the smaller tail.
    #[test]
    fn both_ways_to_a_gamma_quantile_agree() {
        let mut found = 0;
        for shape in [1e-3, 0.02, 0.3, 0.9, 1.0, 2.5, 17.0, 400.0, 1e5, 1e8] {
            for tail in [1e-250, 1e-30, 1e-8, 1e-3, 0.02, 0.1, 0.3, 0.499, 0.5] {
                for tails in [(tail, 1.0 - tail), (1.0 - tail, tail)] {
                    let search =
                        root(-1500.0, 709.0, |log| excess(gamma_tails_of_log(shape, log), tails));
                    let Some(near) = gamma_log_point_nearby(shape, tails) else { continue };
                    let (far, size) = (search.unwrap(), near.abs().max(1.0));
                    assert!((near - far).abs() <= 1e-13 * size, "{shape} {tails:?}: {near} {far}");
                    found += 1;
                }
            }
        }
        assert!(found >= 140, "{found} of 180");
    }

    #[test]
    fn roots_are_found_to_full_precision() {
        type Case = (f64, f64, f64, fn(f64) -> f64);
        let cases: [Case; 5] = [
            (0.0, 2.0, 2f64.sqrt(), |x| x * x - 2.0),
            (-1500.0, 709.0, 1.0, |x| x.exp() - std::f64::consts::E),
            (0.0, 1e9, 7.0, |x| if x < 7.0 { -1.0 } else { 1.0 }),
            (-3.0, 0.0, -1.0, |x| -(x + 1.0).powi(9)),
            (0.0, 40.0, 0.0, |x| x),
        ];
        for (k, (low, high, expected, f)) in cases.into_iter().enumerate() {
            let found = root(low, high, f).unwrap();
            let width = 4.0 * f64::EPSILON * expected.abs();
            assert!((found - expected).abs() <= width, "case {k}: {found}");
        }
        assert_eq!(root(1.0, 2.0, |x| x), None);
    }
}
