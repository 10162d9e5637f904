//! The common part of the von Mises and von Mises-Fisher families. Both have `eta = k m` with a unit vector `m` (the
//! mean direction) and a concentration `k`.
//!
//! The log-partition function is `A = log 0F1(; d/2; k^2/4)`. The mean is `mu = R(k) m` with the ratio of Bessel
//! functions `R = I_{d/2}(k) / I_{d/2-1}(k)`. The Fisher information is `I = (R/k) (1 - m m') + R' m m'`.

use crate::special::{
    bessel_ratio, bessel_ratio_slope, inverse_bessel_ratio, legendre, ln_bessel_excess,
    ln_bessel_normaliser, one_minus_bessel_ratio,
};

/// `k`, without overflow.
pub(crate) fn length(eta: &[f64]) -> f64 {
    let largest = eta.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    largest * eta.iter().map(|e| (e / largest).powi(2)).sum::<f64>().sqrt()
}

/// The length `R` of a mean direction beside `1 - R`, both with their digits.
#[derive(Clone, Copy)]
pub(crate) struct Length {
    pub(crate) r: f64,
    pub(crate) missing: f64,
}

/// Where a length or what is missing to 1 counts as 0.
const NONE: f64 = 1e-200;

impl Length {
    pub(crate) const ONE: Length = Length { r: 1.0, missing: 0.0 };

    pub(crate) fn of_mean(mu: &[f64]) -> Length {
        let r = length(mu);
        Length { r, missing: 1.0 - r }
    }

    pub(crate) fn of_concentration(d: usize, k: f64) -> Length {
        Length { r: ratio(d, k) * k, missing: one_minus_bessel_ratio(d, k) }
    }

    /// Of the mean of two vectors: `1 - R` is the mean of what is missing along the direction of the mean, since it is
    /// `1 - R_i cos(angle)`, half of the squared chord for small angles. A part is its share, its length and its squared chord to
    /// the direction of the mean.
    pub(crate) fn blended(r: f64, parts: [(f64, Length, f64); 2]) -> Length {
        let missing =
            parts.iter().map(|(share, one, square)| share * (one.missing + 0.5 * one.r * square));
        Length { r, missing: missing.sum::<f64>().max(0.0) }
    }

    /// In one number, which keeps the digits at both ends: `1 - R` up to 1/2, and `1 / R` from 2 on.
    pub(crate) fn code(self) -> f64 {
        if self.r > 0.5 { self.missing.clamp(NONE, 0.5) } else { 1.0 / self.r.max(NONE) }
    }

    pub(crate) fn decode(code: f64) -> Length {
        if code < 1.0 {
            let missing = if code <= NONE { 0.0 } else { code };
            return Length { r: 1.0 - missing, missing };
        }
        let r = if code >= 1.0 / NONE { 0.0 } else { 1.0 / code };
        Length { r, missing: 1.0 - r }
    }

    /// The concentration of the member with this length of its mean; NaN where nothing is missing.
    pub(crate) fn concentration(self, d: usize) -> f64 {
        inverse_bessel_ratio(d, self.r, self.missing)
    }
}

/// From this concentration on, the direction in `eta` has fewer digits than the spread of the observations needs.
pub(crate) const RESOLVED: f64 = 1e20;

/// `R(k) / k`, `1/d` at 0.
fn ratio(d: usize, k: f64) -> f64 {
    if k < 1e-8 { 1.0 / d as f64 } else { bessel_ratio(d, k) / k }
}

pub(crate) fn mean(eta: &[f64], mu: &mut [f64]) {
    let factor = ratio(eta.len(), length(eta));
    mu.iter_mut().zip(eta).for_each(|(m, e)| *m = factor * e);
}

/// For a mean inside of the unit ball.
pub(crate) fn natural(mu: &[f64], eta: &mut [f64]) {
    let r = length(mu);
    let k = inverse_bessel_ratio(mu.len(), r, 1.0 - r);
    let factor = if r > 0.0 { k / r } else { mu.len() as f64 };
    eta.iter_mut().zip(mu).for_each(|(e, m)| *e = factor * m);
}

pub(crate) fn fisher(eta: &[f64], out: &mut [f64]) {
    let (d, k) = (eta.len(), length(eta));
    let (across, along) = (ratio(d, k), bessel_ratio_slope(d, k));
    // At k = 0 both factors agree, and any direction will do.
    let mut m = vec![0.0; d];
    m[0] = 1.0;
    if k > 0.0 {
        m.iter_mut().zip(eta).for_each(|(m, e)| *m = e / k);
    }
    let squares = |i: usize| -> f64 {
        m.iter().enumerate().filter(|&(j, _)| j != i).map(|(_, m)| m * m).sum()
    };
    for i in 0..d {
        for j in 0..d {
            let outer = m[i] * m[j];
            // 1 - m_i^2 is summed from the others.
            let rest = if i == j { squares(i) } else { -outer };
            out[i * d + j] = across * rest + along * outer;
        }
    }
}

/// `d' I d`: what lies across the direction and what lies along it, apart.
pub(crate) fn variance_along(eta: &[f64], d: &[f64]) -> f64 {
    let (n, k) = (eta.len(), length(eta));
    let square = |x: &mut dyn Iterator<Item = f64>| -> f64 { x.map(|x| x * x).sum() };
    if k == 0.0 {
        return square(&mut d.iter().copied()) / n as f64;
    }
    // For large `k` in units of `k`: squares overflow beyond 1e154, and `R'` is below the smallest number.
    let unit = if k > 1.0 { k } else { 1.0 };
    let along: f64 = eta.iter().zip(d).map(|(e, d)| e / k * (d / unit)).sum();
    let across = square(&mut eta.iter().zip(d).map(|(e, d)| d / unit - along * (e / k)));
    let slope = if k < 1e100 {
        bessel_ratio_slope(n, k) * unit * unit
    } else {
        // k^2 R' to all digits
        0.5 * (n as f64 - 1.0)
    };
    ratio(n, k) * unit * unit * across + slope * along * along
}

/// `A*` at the mean: `-(k (1 - R) + A - k)`, whose large parts are taken out.
pub(crate) fn conjugate_at(eta: &[f64]) -> f64 {
    let (n, k) = (eta.len(), length(eta));
    if k <= 1.0 {
        return k * bessel_ratio(n, k) - ln_bessel_normaliser(n, k);
    }
    -(k * one_minus_bessel_ratio(n, k) + ln_bessel_excess(n, k))
}

/// `<eta, x> - A` at a point of length 1, as `-k |x - m|^2 / 2 - (A - k)`.
pub(crate) fn log_density(eta: &[f64], x: &[f64]) -> f64 {
    let (k, one) = (length(eta), length(x));
    let unit = |e: f64| if k > 0.0 { e / k } else { 0.0 };
    let chord: f64 = eta.iter().zip(x).map(|(e, x)| (x / one - unit(*e)).powi(2)).sum();
    if k > 0.0 { -0.5 * k * chord - ln_bessel_excess(eta.len(), k) } else { 0.0 }
}

/// `KL` of two members.
///
/// With `A = k + g(k)`, the divergence is `(k' - <m, eta'>) + g(k') - g(k) + (1 - R(k)) (<m, eta'> - k)`. This form has
/// no contribution from the linear part of `A`. If it cancels, the variance is integrated along the segment instead.
pub(crate) fn kl(p: &[f64], q: &[f64]) -> f64 {
    let (n, k, to) = (p.len(), length(p), length(q));
    if k > 1.0 || to > 1.0 {
        let unit = |e: f64, k: f64| if k > 0.0 { e / k } else { 0.0 };
        // 1 - cos is half of the squared chord.
        let chord: f64 = p.iter().zip(q).map(|(p, q)| (unit(*p, k) - unit(*q, to)).powi(2)).sum();
        let turn = if k > 0.0 && to > 0.0 { 0.5 * to * chord } else { to };
        let missing = one_minus_bessel_ratio(n, k) * (to - turn - k);
        let (after, before) = (ln_bessel_excess(n, to), ln_bessel_excess(n, k));
        let sum = turn + after - before + missing;
        if sum > 0.03 * (turn + after.abs() + before.abs() + missing.abs()) {
            return sum;
        }
    }
    let d: Vec<f64> = q.iter().zip(p).map(|(q, p)| q - p).collect();
    let mut at = d.clone();
    let panels = if length(&d) > 0.2 * k.max(1.0) { 8 } else { 1 };
    let width = 1.0 / f64::from(panels);
    (0..panels)
        .map(|i| {
            legendre(f64::from(i) * width, f64::from(i + 1) * width, |s| {
                at.iter_mut().zip(p.iter().zip(&d)).for_each(|(at, (p, d))| *at = p + s * d);
                (1.0 - s) * variance_along(&at, &d)
            })
        })
        .sum()
}

/// The methods of [`Family`](crate::family::Family) that both families share.
macro_rules! methods {
    () => {
        fn check_natural(&self, eta: &[f64]) -> Result<(), $crate::error::Error> {
            $crate::family::check_shape(self, "natural parameter", eta)?;
            // The length, and that of a difference of two, must be numbers.
            let length = $crate::families::direction::length(eta);
            $crate::family::natural_in(
                self,
                length <= 8e307,
                0,
                eta[0],
                "a length of at most 8e307",
            )
        }

        fn check_resolved(&self, eta: &[f64]) -> Result<(), $crate::error::Error> {
            $crate::family::resolved_below(
                self,
                $crate::families::direction::length(eta),
                $crate::families::direction::RESOLVED,
            )
        }

        fn check_mean(&self, mu: &[f64]) -> Result<(), $crate::error::Error> {
            $crate::family::check_shape(self, "mean parameter", mu)?;
            let length = $crate::families::direction::length(mu);
            $crate::family::mean_in(self, length < 1.0, 0, length, "a vector shorter than 1")
        }

        fn log_partition(&self, eta: &[f64]) -> f64 {
            $crate::special::ln_bessel_normaliser(
                eta.len(),
                $crate::families::direction::length(eta),
            )
        }

        fn mean(&self, eta: &[f64], mu: &mut [f64]) {
            $crate::families::direction::mean(eta, mu);
        }

        fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), $crate::error::Error> {
            let length = $crate::families::direction::length(mu);
            $crate::family::mean_in(self, length < 1.0, 0, length, "a vector shorter than 1")?;
            $crate::families::direction::natural(mu, eta);
            Ok(())
        }

        fn fisher(&self, eta: &[f64], out: &mut [f64]) {
            $crate::families::direction::fisher(eta, out);
        }

        fn variance_along(&self, eta: &[f64], d: &[f64]) -> f64 {
            $crate::families::direction::variance_along(eta, d)
        }

        fn conjugate_at(&self, eta: &[f64]) -> f64 {
            $crate::families::direction::conjugate_at(eta)
        }

        fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
            $crate::families::direction::kl(p, q)
        }
    };
}
pub(crate) use methods;
