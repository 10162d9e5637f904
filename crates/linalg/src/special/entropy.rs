//! Entropies of probability vectors, and the map from log-weights to probabilities.

use super::log_domain::{arg_max, log1pmx};

/// `x log x`, with `0 log 0 = 0`.
#[inline]
pub fn xlogx(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x * x.ln() }
}

/// Entropy `-sum_i p_i log p_i` of a probability vector, in nats, with `0 log 0 = 0`.
///
/// A negative entry makes it NaN. The entries are not renormalised.
pub fn entropy(p: &[f64]) -> f64 {
    // Subtracting from 0 keeps the entropy of a certain event at +0.
    p.iter().fold(0.0, |sum, &p| sum - xlogx(p))
}

/// Relative entropy `KL(p || q) = sum_i p_i log(p_i / q_i)` of two probability vectors, in nats.
///
/// The result is `+inf` where `q_i = 0 < p_i`; terms with `p_i = 0` contribute nothing. It is never negative. It is accurate
/// even when `p` and `q` almost agree, because it sums the terms `p_i log(p_i / q_i) - p_i + q_i >= 0`, in which no first-order
/// differences cancel. For vectors of unequal total mass the result is the generalised relative entropy, which is the Bregman
/// divergence of `x log x`. A negative entry makes it NaN.
///
/// # Panics
/// If the lengths differ.
pub fn kl(p: &[f64], q: &[f64]) -> f64 {
    assert_eq!(p.len(), q.len(), "two vectors over the same outcomes");
    p.iter().zip(q).map(|(&p, &q)| kl_term(p, q)).sum()
}

/// `p log(p / q) - p + q`.
fn kl_term(p: f64, q: f64) -> f64 {
    if !(p >= 0.0 && q >= 0.0) {
        f64::NAN
    } else if p == 0.0 {
        q
    } else if q == 0.0 {
        f64::INFINITY
    } else if q <= 2.0 * p && q >= 0.5 * p {
        -p * log1pmx((q - p) / p)
    } else {
        // One dominates. Separate logarithms, since p / q may underflow.
        p * (p.ln() - q.ln()) + (q - p)
    }
}

/// Writes `out_i = e^(x_i) / sum_j e^(x_j)` and returns `log sum_j e^(x_j)`. O(n). See [`softmax_in_place`].
///
/// # Panics
/// If the lengths differ.
pub fn softmax(x: &[f64], out: &mut [f64]) -> f64 {
    out.copy_from_slice(x);
    softmax_in_place(out)
}

/// Replaces log-weights `x_i` by the probabilities `e^(x_i) / sum_j e^(x_j)`, and returns the log-partition function `log sum_j
/// e^(x_j)`. O(n).
///
/// An entry `-inf` gets probability 0. Entries `+inf` share all the mass equally. If an entry is NaN, or all entries are
/// `-inf`, every probability is NaN.
pub fn softmax_in_place(x: &mut [f64]) -> f64 {
    let Some((top, max)) = arg_max(x) else { return f64::NEG_INFINITY };
    if max == f64::INFINITY {
        let share = 1.0 / x.iter().filter(|&&v| v == max).count() as f64;
        x.iter_mut().for_each(|v| *v = if *v == max { share } else { 0.0 });
        return max;
    }
    if !max.is_finite() {
        x.fill(f64::NAN);
        return max;
    }
    let mut others = 0.0;
    for (i, v) in x.iter_mut().enumerate() {
        *v = (*v - max).exp();
        if i != top {
            others += *v;
        }
    }
    let sum = 1.0 + others;
    x.iter_mut().for_each(|v| *v /= sum);
    max + others.ln_1p()
}

#[cfg(test)]
// Reference values are quoted with more digits than a f64 holds.
#[allow(clippy::excessive_precision)]
mod tests {
    use super::super::assert_close;
    use super::*;

    const INF: f64 = f64::INFINITY;

    #[test]
    fn entropies_of_uniform_certain_and_dyadic_vectors() {
        assert_close(entropy(&[0.125; 8]), 8f64.ln(), 4e-16, "uniform");
        assert_eq!(entropy(&[0.0, 1.0, 0.0]).to_bits(), 0f64.to_bits());
        assert_close(entropy(&[0.5, 0.25, 0.25]), 1.0397207708399179641, 4e-16, "1.5 bits");
        assert!(entropy(&[-0.5, 1.5]).is_nan());
        assert_eq!((xlogx(0.0), xlogx(1.0)), (0.0, 0.0));
    }

    #[test]
    fn kl_agrees_with_reference_values() {
        let (p, q) = ([0.5, 0.25, 0.25], [0.125, 0.375, 0.5]);
        assert_close(kl(&p, &q), 0.41849410839291788657, 4e-16, "direct");
        assert_eq!(kl(&p, &p), 0.0);
        // Almost equal: the plain sum of p log(p / q) is off by 30 times the value here.
        let e = 2f64.powi(-30);
        assert_close(kl(&[0.5; 2], &[0.5 + e, 0.5 - e]), 1.7347234759768070974e-18, 4e-16, "near");
    }

    #[test]
    fn kl_at_the_boundary() {
        assert_eq!(kl(&[0.5, 0.5], &[1.0, 0.0]), INF);
        assert_close(kl(&[1.0, 0.0], &[0.5, 0.5]), 2f64.ln(), 4e-16, "absent outcome");
        // p / q underflows, its logarithm does not: p (log p - log q) is 0 against q = 1.
        assert_eq!(kl(&[1e-310, 1.0], &[1.0, 1.0]), 1.0);
        assert!(kl(&[-0.1, 1.1], &[0.5, 0.5]).is_nan());
        assert!(kl(&[0.0, 1.0], &[-0.5, 1.5]).is_nan());
        assert!(kl(&[f64::NAN], &[1.0]).is_nan());
    }

    #[test]
    fn softmax_agrees_with_reference_values_and_does_not_overflow() {
        let expected = [0.042010066134066051018, 0.11419519938459447893, 0.84379473448133947005];
        for shift in [0.0, 1024.0, -1024.0] {
            let mut p = [0.0; 3];
            let log_partition = softmax(&[1.0 + shift, 2.0 + shift, 4.0 + shift], &mut p);
            for (p, e) in p.into_iter().zip(expected) {
                assert_close(p, e, 4e-16, shift);
            }
            // log(e + e^2 + e^4) = 4 - log(p_3).
            assert_close(log_partition - shift, 4.0 - expected[2].ln(), 3e-13, shift);
        }
    }

    #[test]
    fn softmax_of_infinite_weights() {
        let check = |x: &[f64], expected: &[f64]| {
            let mut p = x.to_vec();
            softmax_in_place(&mut p);
            assert_eq!(p, expected, "{x:?}");
        };
        check(&[-INF, 3.0, -INF], &[0.0, 1.0, 0.0]);
        check(&[INF, 3.0, INF, -INF], &[0.5, 0.0, 0.5, 0.0]);
        check(&[], &[]);
        let mut none = [-INF, -INF];
        assert_eq!(softmax_in_place(&mut none), -INF);
        assert!(none.iter().all(|p| p.is_nan()));
        let mut nan = [1.0, f64::NAN];
        assert!(softmax_in_place(&mut nan).is_nan() && nan.iter().all(|p| p.is_nan()));
    }
}
