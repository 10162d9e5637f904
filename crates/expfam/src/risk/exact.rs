//! Risks by closed forms, one-dimensional integrals and finite sums.

use fenchel_linalg::quadrature::{Tolerance, integrate_between};
use fenchel_linalg::special::log1pmx;

use crate::divergence::phi;
use crate::families::{Poisson, mean_over};
use crate::family::Density;
use crate::special::{
    exponential_integral_excess, ln_binomial, log_minus_digamma, scaled_exponential_integral,
};

/// Whether all numbers of the first list are positive and finite, and those of the second finite and not negative.
fn valid(positive: &[f64], nonnegative: &[f64]) -> bool {
    positive.iter().all(|x| *x > 0.0 && x.is_finite())
        && nonnegative.iter().all(|x| *x >= 0.0 && x.is_finite())
}

/// `int_0^inf f` for a function that varies on the scale `scale`; NaN where it is no number.
fn half_line(scale: f64, f: impl FnMut(f64) -> f64) -> f64 {
    let mut points = [0.0, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 2.0, 8.0, 30.0, f64::INFINITY];
    points.iter_mut().for_each(|t| *t *= scale);
    let tolerance = Tolerance { absolute: 1e-14 * scale, relative: 1e-13, ..Tolerance::default() };
    integrate_between(f, &points, &tolerance).map_or(f64::NAN, |integral| integral.value)
}

/// The risk to first order, `d / (2 n)`, of maximum likelihood and MAP in every regular family of dimension `d`.
pub fn asymptotic(dimension: usize, n: f64) -> f64 {
    if !valid(&[n], &[]) {
        return f64::NAN;
    }
    0.5 * dimension as f64 / n
}

/// The risk of maximum likelihood for a gamma law of known shape `a`: `a (1 / (n a - 1) + psi(n a) - log(n a))`,
/// infinite for `n a <= 1`. Shape 1/2 is the variance of a normal law, shape 1 an exponential law. Source: R. Le Priol,
/// PhD thesis 2021, equations (5.45) to (5.48).
pub fn gamma_mle(shape: f64, n: f64) -> f64 {
    if !valid(&[shape], &[n]) {
        return f64::NAN;
    }
    let na = n * shape;
    if na > 1.0 { shape * (1.0 / (na - 1.0) - log_minus_digamma(na)) } else { f64::INFINITY }
}

/// Bounds on the risk of [`gamma_mle`]: `1 / (n (n a - 1)) <= risk <= 1 / (2 n) + 1 / (n (n a - 1))`. Source: R. Le
/// Priol, PhD thesis 2021, theorem 5.A.1.
pub fn gamma_mle_bounds(shape: f64, n: f64) -> (f64, f64) {
    if !valid(&[shape], &[n]) {
        return (f64::NAN, f64::NAN);
    }
    let na = n * shape;
    if na <= 1.0 {
        return (f64::INFINITY, f64::INFINITY);
    }
    let low = 1.0 / (n * (na - 1.0));
    (low, 0.5 / n + low)
}

/// `E[mu* / mu_MAP]` with `n0` pseudo-observations at `r = mu0 / mu*`. It is `(n0 + n) a e^(c a) E_{n a}(c a)` with
/// `c = n0 r` and the generalised exponential integral `E_p`. Source: R. Le Priol, PhD thesis 2021, lemma 5.A.3.
pub fn mean_ratio(shape: f64, n0: f64, r: f64, n: f64) -> f64 {
    if !valid(&[shape, n0, r], &[n]) {
        return f64::NAN;
    }
    let c = n0 * r;
    if n == 0.0 {
        return n0 / c;
    }
    (n0 + n) * shape * scaled_exponential_integral(n * shape, c * shape)
}

/// [`mean_ratio`] less 1, with its digits for many observations.
fn mean_ratio_excess(shape: f64, n0: f64, r: f64, n: f64) -> f64 {
    if n == 0.0 {
        return 1.0 / r - 1.0;
    }
    exponential_integral_excess(n * shape, n0 * r * shape, n0 * shape)
}

/// `e^(a + more) - e^a`, by the smaller of the two exponents.
fn difference_of_exponentials(a: f64, more: f64) -> f64 {
    if more <= 0.0 { a.exp() * more.exp_m1() } else { -(a + more).exp() * (-more).exp_m1() }
}

/// Bounds on [`mean_ratio`]. Source: R. Le Priol, PhD thesis 2021, lemma 5.A.3.
pub fn mean_ratio_bounds(shape: f64, n0: f64, r: f64, n: f64) -> (f64, f64) {
    if !valid(&[shape, n0, r], &[n]) {
        return (f64::NAN, f64::NAN);
    }
    let (c, total) = (n0 * r, n0 + n);
    let low = total / (c + n);
    let mut high = total / (c + (n - 1.0 / shape).max(0.0));
    if n * shape < 1.0 {
        high = high.min(total / (c + n + 1.0 / shape) * (1.0 + 1.0 / (c * shape)));
    }
    (low, high)
}

/// The risk of MAP for a gamma law of known shape `a`, with `n0` pseudo-observations at `r = mu0 / mu*`. It is computed
/// as an integral with a relative error of about 1e-10. `n0 = 0` is maximum likelihood.
///
/// If the prior mean is exactly right (`r = 1`), the risk first *rises* from 0 and falls after a few observations.
pub fn gamma_map(shape: f64, n0: f64, r: f64, n: f64) -> f64 {
    if !valid(&[shape, r], &[n0, n]) {
        return f64::NAN;
    }
    if n0 == 0.0 {
        return gamma_mle(shape, n);
    }
    if n == 0.0 {
        return shape * phi(r, 1.0);
    }
    let (c, na) = (n0 * r, n * shape);
    // E log = int_0^inf (e^-t - L(t)) / t dt with L(t) = e^(-c t) (1 + t/a)^(-n a); in t / (c + n) one partition serves all n.
    // Against e^(-(n0 + n) t) instead of e^-t the integral is the logarithm's mean without log(n0 + n).
    let mean_log = half_line(1.0 / (c + n), |t| {
        if t < 1e-300 {
            return 0.0;
        }
        // log L + (n0 + n) t, without the parts that cancel.
        let more = n0 * (1.0 - r) * t - na * log1pmx(t / shape);
        -difference_of_exponentials(-(n0 + n) * t, more) / t
    });
    shape * (mean_ratio_excess(shape, n0, r, n) + mean_log)
}

/// `E` of the symmetrised divergence of MAP: `a (E[mu*/mu] - 1 + (c - n0) / (n0 + n))`.
pub fn gamma_map_symmetrised(shape: f64, n0: f64, r: f64, n: f64) -> f64 {
    if !valid(&[shape, n0, r], &[n]) {
        return f64::NAN;
    }
    shape * (mean_ratio_excess(shape, n0, r, n) + n0 * (r - 1.0) / (n0 + n))
}

/// An upper bound on the symmetrised risk of MAP, and so on its risk. Source: R. Le Priol, PhD thesis 2021, theorem
/// 5.A.5, with the factor `a` of equation (5.99), which is missing in print.
pub fn gamma_map_bound(shape: f64, n0: f64, r: f64, n: f64) -> f64 {
    if !valid(&[shape, n0, r], &[n]) {
        return f64::NAN;
    }
    let (c, a) = (n0 * r, shape);
    if n * a >= 1.0 {
        let off = r - 1.0 / (a * n0) - 1.0;
        return 1.0 / (n0 + n) + a * off * off / ((1.0 + n / n0) * (r + (n - 1.0 / a) / n0));
    }
    a * ((n0 + n) / (c + n + 1.0 / a) * (1.0 + 1.0 / (c * a)) - 1.0 + (c - n0) / (n0 + n))
}

/// The upper bound of R. Le Priol, PhD thesis 2021, theorem 5.4.2 (5.19), on the risk of MAP for the variance of `N(0, mu*)`, with
/// `r = mu0 / mu*` and whole `n >= 1`. It bounds the same symmetrised risk as [`gamma_map_bound`] at the shape 1/2, and divides it
/// differently: its bias vanishes at `r = 1 + 1 / n0`, the other at `r = 1 + 2 / n0`.
pub fn normal_variance_map_bound(n0: f64, r: f64, n: f64) -> f64 {
    if !valid(&[n0, r], &[n]) || n < 1.0 {
        return f64::NAN;
    }
    let (c, off) = (n0 * r, n0 * (r - 1.0) - 1.0);
    let bias = 0.5 * off * off / ((c + (n - 2.0).max(0.0)) * (n0 + n));
    if n < 2.0 { 0.5 / (n0 + 1.0) + bias } else { 1.0 / (c + n - 2.0) + bias }
}

/// The risk of MAP in two parts, bias and variance: the divergence of the truth from the member with the mean natural parameter, and the
/// mean divergence of that member from the estimate.
pub fn gamma_map_parts(shape: f64, n0: f64, r: f64, n: f64) -> (f64, f64) {
    let bias = match valid(&[shape, n0, r], &[n]) {
        true => -shape * log1pmx(mean_ratio_excess(shape, n0, r, n)),
        false => f64::NAN,
    };
    (bias, gamma_map(shape, n0, r, n) - bias)
}

/// An upper bound on the variance of MAP: `n E S(mu_n, E_n mu_n)`, where `S` is the symmetrised divergence and `E_n` the mean over the
/// last observation. It equals `E S(mu_n, E mu_n)`, the covariance of the natural and the mean parameter. Source: R. Le Priol, PhD thesis
/// 2021, equation (5.128).
pub fn gamma_map_variance_bound(shape: f64, n0: f64, r: f64, n: f64) -> f64 {
    if !valid(&[shape, n0, r], &[n]) {
        return f64::NAN;
    }
    let excess = mean_ratio_excess(shape, n0, r, n);
    shape * (excess + (1.0 + excess) * n0 * (r - 1.0) / (n0 + n))
}

/// The risk of maximum likelihood for the covariance of `N(0, V)` in dimension `d`:
/// `p / (n - d - 1) + (psi_d(n/2) - d log(n/2)) / 2` with `p = d (d + 1) / 2`. It is infinite for `n <= d + 1`. Source:
/// R. Le Priol, PhD thesis 2021, theorem 5.A.2.
pub fn covariance_mle(d: usize, n: f64) -> f64 {
    if !(d > 0 && valid(&[], &[n])) {
        return f64::NAN;
    }
    let m = d as f64;
    if n <= m + 1.0 {
        return f64::INFINITY;
    }
    let p = 0.5 * m * (m + 1.0);
    p / (n - m - 1.0) - 0.5 * digamma_lag(d, n, 0.0)
}

/// `sum_{i<d} log(n / 2) - psi((n - less - i) / 2) > 0`, without the difference of large logarithms.
fn digamma_lag(d: usize, n: f64, less: f64) -> f64 {
    let part = |i: usize| {
        let behind = less + i as f64;
        log_minus_digamma(0.5 * (n - behind)) - (-behind / n).ln_1p()
    };
    (0..d).map(part).sum()
}

/// `p / (2 n) + p (d + 1 + 1 / (2 d)) / (n (n - d - 1))`, above [`covariance_mle`].
pub fn covariance_mle_bound(d: usize, n: f64) -> f64 {
    if !(d > 0 && valid(&[], &[n])) {
        return f64::NAN;
    }
    let m = d as f64;
    if n <= m + 1.0 {
        return f64::INFINITY;
    }
    let p = 0.5 * m * (m + 1.0);
    0.5 * p / n + p * (m + 1.0 + 0.5 / m) / (n * (n - m - 1.0))
}

/// The risk of maximum likelihood for mean and covariance of a normal law in dimension `d`; infinite for `n <= d + 2`.
pub fn normal_vector_mle(d: usize, n: f64) -> f64 {
    if !(d > 0 && valid(&[], &[n])) {
        return f64::NAN;
    }
    let m = d as f64;
    if n <= m + 2.0 {
        return f64::INFINITY;
    }
    0.5 * (m * (m + 3.0) / (n - m - 2.0) - digamma_lag(d, n, 1.0))
}

/// The risk of MAP for mean and variance of a normal law, with its bias and variance in the Bregman decomposition. The
/// truth is `N(0, 1)`; by affine invariance every other truth reduces to it. The prior has `n0` pseudo-observations of
/// mean `m0` and variance `v0`.
pub fn normal_map(n0: f64, m0: f64, v0: f64, n: f64) -> (f64, f64, f64) {
    if !(valid(&[n0, v0, n], &[]) && m0.is_finite()) {
        return (f64::NAN, f64::NAN, f64::NAN);
    }
    let total = n0 + n;
    let k = n0 * n / total;
    let weight = |t: f64| {
        let spread = 1.0 + 2.0 * t * k / n;
        -n0 * v0 * t
            - 0.5 * (n - 1.0) * (2.0 * t).ln_1p()
            - 0.5 * spread.ln()
            - t * k * m0 * m0 / spread
    };
    // weight(t) + total t, without the parts that cancel.
    let more = |t: f64| {
        let spread = 1.0 + 2.0 * t * k / n;
        (n0 * (1.0 - v0) + 1.0) * t
            - 0.5 * (n - 1.0) * log1pmx(2.0 * t)
            - 0.5 * (2.0 * t * k / n).ln_1p()
            - t * k * m0 * m0 / spread
    };
    let difference = |t: f64| difference_of_exponentials(-total * t, more(t));
    let scale = 1.0 / (n0 * v0 + n + k * m0 * m0);
    let moments = |t: f64| ((2.0 * t * k * m0) / (n + 2.0 * t * k), 1.0 / (n + 2.0 * t * k));
    // E[1/v] less 1.
    let inverse = total * half_line(scale, difference);
    let first = half_line(scale, |t| weight(t).exp() * (n0 * m0 + n * moments(t).0));
    let second = half_line(scale, |t| {
        let (mean, spread) = moments(t);
        weight(t).exp() * ((n0 * m0 + n * mean).powi(2) + n * n * spread)
    }) / total;
    let log = half_line(scale, |t| if t < 1e-300 { 0.0 } else { -difference(t) / t });
    let risk = 0.5 * (log + inverse + second);
    // The member with natural parameter (E[m/v], -E[1/v]/2), against which the bias is measured.
    let bias = 0.5 * (first * first / (1.0 + inverse) - log1pmx(inverse));
    (risk, bias, risk - bias)
}

/// The risk of maximum likelihood for a mean in dimension `d` with known covariance: exactly `d / (2 n)`.
pub fn quadratic_mle(d: usize, n: f64) -> f64 {
    asymptotic(d, n)
}

/// The risk of MAP for a mean with identity covariance: `(n d + n0^2 |mu* - mu0|^2) / (2 (n + n0)^2)`.
pub fn quadratic_map(d: usize, n0: f64, distance: f64, n: f64) -> f64 {
    if !valid(&[n0 + n], &[n0, distance, n]) {
        return f64::NAN;
    }
    let total = n + n0;
    0.5 * (n * d as f64 + (n0 * distance) * (n0 * distance)) / (total * total)
}

/// An upper bound on the risk of MAP where `A*` has gradients with the Lipschitz constant `smoothness`, and statistics have the identity
/// covariance: `smoothness` times [`quadratic_map`]. Source: R. Le Priol, PhD thesis 2021, equation (5.29).
pub fn smooth_map_bound(smoothness: f64, d: usize, n0: f64, distance: f64, n: f64) -> f64 {
    smoothness * quadratic_map(d, n0, distance, n)
}

/// The same where `A*` itself has the Lipschitz constant `lipschitz`: `2 lipschitz E|mu* - mu|`, at most `2 lipschitz` times the root of
/// twice [`quadratic_map`]. Source: R. Le Priol, PhD thesis 2021, equation (5.28).
pub fn lipschitz_map_bound(lipschitz: f64, d: usize, n0: f64, distance: f64, n: f64) -> f64 {
    2.0 * lipschitz * (2.0 * quadratic_map(d, n0, distance, n)).sqrt()
}

/// The risk of MAP for category probabilities, a finite sum: `sum_k p_k E log(p_k (n0 + n) / (n0 q_k + N_k))` with
/// binomial `N_k`. Maximum likelihood (`n0 = 0`) has infinite risk for every `n`.
pub fn categorical_map(p: &[f64], n0: f64, prior: &[f64], n: u32) -> f64 {
    let total: f64 = p.iter().sum();
    let law = p.len() == prior.len() && valid(prior, p) && (total - 1.0).abs() < 1e-9;
    if !law || !valid(&[], &[n0]) {
        return f64::NAN;
    }
    if n0 == 0.0 {
        return f64::INFINITY;
    }
    let trials = f64::from(n);
    p.iter()
        .zip(prior)
        .filter(|(p, _)| **p > 0.0)
        .map(|(&p, &q)| {
            let log = |x: f64| (p * (n0 + trials) / (n0 * q + x)).ln();
            if p >= 1.0 || trials == 0.0 {
                return p * log(trials);
            }
            let logs = (p.ln(), (-p).ln_1p());
            let log_p = |x: f64| match (x, trials - x) {
                (0.0, rest) => rest * logs.1,
                (x, 0.0) => x * logs.0,
                (x, rest) => ln_binomial(x, rest, logs),
            };
            let mode = ((trials + 1.0) * p).floor().min(trials);
            p * mean_over("binomial", (0.0, mode, trials), log_p, log).unwrap_or(f64::NAN)
        })
        .sum()
}

/// The risk of MAP for a Poisson rate: the expected `KL` over `S ~ Poisson(n rate)`. It is infinite for `n0 = 0`,
/// because the sample may contain no event.
pub fn poisson_map(rate: f64, n0: f64, prior_mean: f64, n: f64) -> f64 {
    if !valid(&[rate, prior_mean, n0 + n], &[n0, n]) {
        return f64::NAN;
    }
    if n0 == 0.0 {
        return f64::INFINITY;
    }
    let total = n * rate;
    let law = [total.ln()];
    let estimate = |s: f64| (n0 * prior_mean + s) / (n0 + n);
    if total == 0.0 {
        return rate * phi(rate, estimate(0.0));
    }
    let log_p = |s: f64| Poisson.log_density(&law, &s);
    let range = (0.0, total.floor(), f64::MAX);
    let mean = mean_over("Poisson", range, log_p, |s| rate * phi(rate, estimate(s)));
    mean.unwrap_or(f64::NAN)
}

/// The smallest number of observations for which a risk is at most `target` nats. The risk must be a decreasing
/// function of `n`. `None` if it is still larger at 10^15.
///
/// ```
/// use fenchel_expfam::risk::{covariance_mle, sample_size};
///
/// // How many observations until a covariance matrix of order 5 is within 0.05 nats?
/// let n = sample_size(0.05, |n| covariance_mle(5, n)).unwrap();
/// assert!(covariance_mle(5, n) <= 0.05 && covariance_mle(5, n - 1.0) > 0.05);
/// ```
pub fn sample_size(target: f64, risk: impl Fn(f64) -> f64) -> Option<f64> {
    let mut high = 1.0;
    while !(risk(high) <= target) {
        high *= 2.0;
        if high > 1e15 {
            return None;
        }
    }
    let mut low = 0.5 * high;
    while high - low > 1.0 {
        let middle = (0.5 * (low + high)).floor();
        if risk(middle) <= target { high = middle } else { low = middle }
    }
    Some(high)
}
