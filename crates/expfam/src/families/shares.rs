//! The means of beta and Dirichlet laws in centred coordinates, and the way back to their concentrations.
//!
//! The geometric means of the entries add up to `exp(-gap)`, and their shares of it to 1. Centred coordinates are the logarithms
//! `l_k = mu_k + gap` of the shares, with the gap in the place of the largest. It is about `(K - 1) / (2 s)`: for large `s`, few
//! digits of it are left in `mu`.

use fenchel_optim::scalar::increasing_root;

use super::simplex::{mean, sum};
use crate::divergence::exp_excess;
use crate::error::Error;
use crate::family::{Family, mean_in, resolved_below};
use crate::special::{
    deviance, digamma, digamma_drop, inverse_digamma, log_minus_digamma, log_sum_exp,
    one_minus_shape_trigamma, trigamma, trigamma_drop,
};

/// Checks that centred coordinates lie inside of the domain.
pub(crate) fn check_centred(family: &impl Family, c: &[f64]) -> Result<(), Error> {
    let gap = c[largest(c)];
    mean_in(family, gap > 0.0, 0, (-gap).exp(), "sum_k exp(E log x_k) < 1")
}

/// Log-ratios have a variance of at least that of the smallest concentration's share: `1 / a`, which has to be above their rounding.
pub(crate) fn check_resolved(family: &impl Family, eta: &[f64]) -> Result<(), Error> {
    resolved_below(family, eta.iter().fold(f64::INFINITY, |least, e| least.min(e + 1.0)), 1e20)
}

/// `1 - sum_k exp(mu_k)`, which is positive inside the mean domain. Where it is small, the largest term is close to 1.
fn slack(mu: &[f64]) -> f64 {
    let top = largest(mu);
    let rest = mu.iter().enumerate().filter(|&(k, _)| k != top).map(|(_, m)| m.exp());
    -mu[top].exp_m1() - rest.sum::<f64>()
}

fn largest(x: &[f64]) -> usize {
    (1..x.len()).fold(0, |top, k| if x[k] > x[top] { k } else { top })
}

/// The centred coordinates of log-shares and their gap.
pub(crate) fn centre(shares: &[f64], gap: f64, c: &mut [f64]) {
    c.copy_from_slice(shares);
    c[largest(shares)] = gap;
}

/// All log-shares, and the gap: the one coordinate that is not negative.
fn shares(c: &[f64]) -> (Vec<f64>, f64) {
    let (mut l, top) = (c.to_vec(), largest(c));
    l[top] = f64::NEG_INFINITY;
    l[top] = (-l.iter().map(|l| l.exp()).sum::<f64>()).ln_1p();
    (l, c[top])
}

/// The centred coordinates of a mean.
pub(crate) fn centred_from_mean(mu: &[f64], c: &mut [f64]) {
    let (slack, top) = (slack(mu), mu[largest(mu)]);
    let gap = if slack < 0.5 {
        -(-slack).ln_1p()
    } else {
        -top - mu.iter().map(|m| (m - top).exp()).sum::<f64>().ln()
    };
    let shares: Vec<f64> = mu.iter().map(|m| m + gap).collect();
    centre(&shares, gap, c);
}

/// The mean of centred coordinates. Neither term is positive.
pub(crate) fn mean_from_centred(c: &[f64], mu: &mut [f64]) {
    let (shares, gap) = shares(c);
    mu.iter_mut().zip(shares).for_each(|(mu, l)| *mu = l - gap);
}

/// With `g(a) = log a - psi(a)`: `gap = -log sum (a_k / s) exp(g(s) - g(a_k))`.
pub(crate) fn centred_from_natural(eta: &[f64], c: &mut [f64]) {
    let mut mu = vec![0.0; eta.len()];
    mean(eta, &mut mu);
    centred_from_mean(&mu, c);
    let a: Vec<f64> = eta.iter().map(|e| e + 1.0).collect();
    if gap_is_lost(&a, &mu) {
        let s = sum(eta);
        let term = |a: &f64| a / s * (log_minus_digamma(s) - log_minus_digamma(*a)).exp_m1();
        c[largest(&mu)] = -a.iter().map(term).sum::<f64>().ln_1p();
    }
}

/// Whether the means have fewer digits of the gap than `g` has. Both terms of `sum a_k (mu_k + g(a_k))` are known to their rounding.
fn gap_is_lost(a: &[f64], mu: &[f64]) -> bool {
    a.iter().zip(mu).map(|(a, m)| a * m.abs()).sum::<f64>() > 10.0 * a.len() as f64
}

/// The gap of a mixture is the mean of the parts' own plus the mean of the divergences of its shares from theirs.
pub(crate) fn blend(into: &mut [f64], share: f64, other: &[f64]) {
    let ((here, gap), (there, other_gap)) = (shares(into), shares(other));
    let mut mixed: Vec<f64> = here.iter().zip(&there).map(|(a, b)| a + share * (b - a)).collect();
    let total = log_sum_exp(&mixed);
    mixed.iter_mut().for_each(|l| *l -= total);
    let apart = |part: &[f64]| divergence_of_shares(&mixed, part);
    let gap = (1.0 - share) * (gap + apart(&here)) + share * (other_gap + apart(&there));
    centre(&mixed, gap, into);
}

/// `sum_k p_k log(p_k / q_k)` of log-probabilities, as a sum of positive terms.
fn divergence_of_shares(p: &[f64], q: &[f64]) -> f64 {
    let term = |(p, q): (&f64, &f64)| {
        let d = q - p;
        if d < 1.0 { p.exp() * exp_excess(d) } else { q.exp() - p.exp() * (1.0 + d) }
    };
    p.iter().zip(q).map(term).sum()
}

/// The concentrations whose mean has these centred coordinates, with a positive gap. It takes about ten steps of O(K).
///
/// The start solves `sum_k psi^-1(mu_k + psi(s)) = s`, one equation for the sum `s`. This start loses digits if one
/// concentration is a small part of the sum. Newton's method on `log(mu_k(a) / mu_k)` in `log a` recovers them.
pub(crate) fn natural_from_centred(c: &[f64], eta: &mut [f64]) {
    let k = c.len() as f64;
    let (shares, gap) = shares(c);
    let mu: Vec<f64> = shares.iter().map(|l| l - gap).collect();
    let f = |y: f64| {
        let s = y.exp();
        let psi = digamma(s);
        let (mut total, mut slope) = (0.0, 0.0);
        for m in &mu {
            let a = inverse_digamma(m + psi);
            total += a;
            slope += 1.0 / trigamma(a);
        }
        (y - total.ln(), 1.0 - s * trigamma(s) * slope / total)
    };
    let start = (-0.5 * (k - 1.0) / (-gap).exp_m1()).ln();
    let y = increasing_root(f, -690.0, 690.0, start, 1e-16);
    let psi = digamma(y.exp());
    let mut a: Vec<f64> = mu.iter().map(|m| inverse_digamma(m + psi)).collect();
    polish(&mu, (&shares, gap), &mut a);
    eta.iter_mut().zip(&a).for_each(|(e, a)| *e = a - 1.0);
}

/// Newton's method for `log(mu_k(a) / mu_k) = 0` in `y_k = log a_k`. In these coordinates the equations are nearly
/// linear, because means are close to powers of concentrations. Steps change a concentration at most by a factor of 20.
/// The method stops when the residuals no longer decrease.
///
/// The residuals of large concentrations do not have the digits of their sum weighted by `a`, on which the sum `s` depends.
/// It follows from the gap instead.
fn polish(mu: &[f64], (shares, gap): (&[f64], f64), a: &mut [f64]) {
    let k = a.len();
    let (mut off, mut change) = (vec![0.0; k], vec![0.0; k]);
    let (mut best, mut least, mut without) = (a.to_vec(), f64::INFINITY, 0);
    for _ in 0..200 {
        if !a.iter().all(|a| *a > 0.0 && *a < 1e300) {
            break;
        }
        let s: f64 = a.iter().sum();
        let top = largest(a);
        let beside: f64 = a.iter().enumerate().filter(|&(j, _)| j != top).map(|(_, a)| a).sum();
        let rest = |j: usize| if j == top { beside } else { s - a[j] };
        let mut residual = 0.0_f64;
        for j in 0..k {
            let mean = digamma_drop(a[j], rest(j));
            let log = (mean / mu[j]).ln();
            residual = residual.max(log.abs());
            off[j] = -log * mean;
        }
        // (diag(t) - c 11') x = off, by Sherman and Morrison.
        let c = trigamma(s);
        let t = |j: usize| trigamma(a[j]);
        let (sum, denominator): (f64, f64);
        if !gap_is_lost(a, mu) {
            // 1 - c / t of the largest concentration without cancellation.
            let others: f64 = (0..k).filter(|&j| j != top).map(|j| c / t(j)).sum();
            denominator = trigamma_drop(a[top], beside) / t(top) - others;
            sum = (0..k).map(|j| off[j] / t(j)).sum();
        } else {
            // 1 / t = a - lag, and so for s; the sum of a_j off_j.
            let lag = |j: usize| one_minus_shape_trigamma(a[j]) / t(j);
            let own = |j: usize| {
                let share = s * shares[j].exp();
                deviance(a[j], share, s.ln() + shares[j]) - a[j] * log_minus_digamma(a[j])
            };
            let weighted = -(0..k).map(own).sum::<f64>() - s * (gap + log_minus_digamma(s));
            residual = residual.max((2.0 * weighted / (k as f64 - 1.0)).abs());
            denominator = c * (0..k).map(lag).sum::<f64>() - one_minus_shape_trigamma(s);
            sum = weighted - (0..k).map(|j| off[j] * lag(j)).sum::<f64>();
        }
        if residual < least {
            (least, without) = (residual, 0);
            best.copy_from_slice(a);
        } else {
            without += 1;
        }
        if residual <= 2.0 * f64::EPSILON || without > 6 || residual.is_nan() {
            break;
        }
        let mut longest = 0.0_f64;
        for j in 0..k {
            let x = off[j] / t(j)
                + if denominator > 0.0 { c / t(j) * (sum / denominator) } else { 0.0 };
            change[j] = x / a[j];
            longest = longest.max(change[j].abs());
        }
        let damp = if longest > 3.0 { 3.0 / longest } else { 1.0 };
        a.iter_mut().zip(&change).for_each(|(a, d)| *a *= (damp * d).exp());
    }
    a.copy_from_slice(&best);
}

/// The methods of [`Family`] that both families share.
macro_rules! methods {
    () => {
        fn check_natural(&self, eta: &[f64]) -> Result<(), $crate::error::Error> {
            $crate::family::check_shape(self, "natural parameter", eta)?;
            let outside = eta.iter().position(|&e| !(e > -1.0));
            let index = outside.unwrap_or(0);
            $crate::family::natural_in(
                self,
                outside.is_none(),
                index,
                eta[index],
                "a number > -1",
            )?;
            // Their sum, and products with it, must be numbers.
            let most = 2e306 / eta.len() as f64;
            let large = eta.iter().position(|&e| e > most);
            let index = large.unwrap_or(0);
            let expected = "at most 2e306 over the number of parameters";
            $crate::family::natural_in(self, large.is_none(), index, eta[index], expected)
        }

        fn check_resolved(&self, eta: &[f64]) -> Result<(), $crate::error::Error> {
            $crate::families::shares::check_resolved(self, eta)
        }

        fn check_mean(&self, mu: &[f64]) -> Result<(), $crate::error::Error> {
            $crate::family::check_shape(self, "mean parameter", mu)?;
            let mut c = vec![0.0; mu.len()];
            $crate::families::shares::centred_from_mean(mu, &mut c);
            $crate::families::shares::check_centred(self, &c)
        }

        fn log_partition(&self, eta: &[f64]) -> f64 {
            $crate::families::simplex::log_partition(eta)
        }

        fn mean(&self, eta: &[f64], mu: &mut [f64]) {
            $crate::families::simplex::mean(eta, mu);
        }

        fn natural(&self, mu: &[f64], eta: &mut [f64]) -> Result<(), $crate::error::Error> {
            let mut c = vec![0.0; mu.len()];
            $crate::families::shares::centred_from_mean(mu, &mut c);
            self.natural_from_centred(&c, eta)
        }

        fn fisher(&self, eta: &[f64], out: &mut [f64]) {
            $crate::families::simplex::fisher(eta, out);
        }

        fn variance_along(&self, eta: &[f64], d: &[f64]) -> f64 {
            $crate::families::simplex::variance_along(eta, d)
        }

        fn conjugate_at(&self, eta: &[f64]) -> f64 {
            $crate::families::simplex::conjugate_at(eta)
        }

        fn kl(&self, p: &[f64], q: &[f64]) -> f64 {
            $crate::families::simplex::kl(p, q)
        }

        fn centred_from_mean(&self, mu: &[f64], c: &mut [f64]) {
            $crate::families::shares::centred_from_mean(mu, c);
        }

        fn mean_from_centred(&self, c: &[f64], mu: &mut [f64]) {
            $crate::families::shares::mean_from_centred(c, mu);
        }

        fn centred_from_natural(&self, eta: &[f64], c: &mut [f64]) {
            $crate::families::shares::centred_from_natural(eta, c);
        }

        fn natural_from_centred(
            &self,
            c: &[f64],
            eta: &mut [f64],
        ) -> Result<(), $crate::error::Error> {
            $crate::families::shares::check_centred(self, c)?;
            $crate::families::shares::natural_from_centred(c, eta);
            Ok(())
        }

        fn blend(&self, into: &mut [f64], share: f64, other: &[f64]) {
            $crate::families::shares::blend(into, share, other);
        }
    };
}
pub(crate) use methods;
