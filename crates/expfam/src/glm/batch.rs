//! Losses, first and second derivatives for many rows, as loops that vectorise.

use fenchel_linalg::lanes;

/// `y`-weighted softplus: see [`ScalarFamily::losses`](super::ScalarFamily::losses).
pub(super) fn logistic_losses(eta: &[f64], y: &[f64], shares: &[f64], slopes: &mut [f64]) -> f64 {
    lanes::run(Losses { eta, y, shares, slopes, of: logistic_loss })
}

pub(super) fn log_linear_losses(eta: &[f64], y: &[f64], shares: &[f64], slopes: &mut [f64]) -> f64 {
    lanes::run(Losses { eta, y, shares, slopes, of: log_linear_loss })
}

pub(super) fn logistic_curvatures(eta: &[f64], shares: &[f64], out: &mut [f64]) {
    lanes::run(Curvatures { eta, shares, out, of: logistic_curvature });
}

pub(super) fn log_linear_curvatures(eta: &[f64], shares: &[f64], out: &mut [f64]) {
    lanes::run(Curvatures { eta, shares, out, of: lanes::exp });
}

/// `log(1 + e^t) - y t` and its derivative. Both take one exponential.
#[inline(always)]
fn logistic_loss(t: f64, y: f64) -> (f64, f64) {
    let e = lanes::exp(-t.abs());
    let inverse = 1.0 / (1.0 + e);
    let mean = if t >= 0.0 { inverse } else { e * inverse };
    let positive = if t >= 0.0 { t } else { 0.0 };
    // log(1 + e), with what rounding took from 1 + e put back.
    let u = 1.0 + e;
    let softplus = positive + (lanes::ln(u) + ((1.0 - u) + e) * inverse);
    (softplus - y * t, mean - y)
}

#[inline(always)]
fn logistic_curvature(t: f64) -> f64 {
    let e = lanes::exp(-t.abs());
    let inverse = 1.0 / (1.0 + e);
    e * inverse * inverse
}

/// `e^t - y t` and its derivative.
#[inline(always)]
fn log_linear_loss(t: f64, y: f64) -> (f64, f64) {
    let e = lanes::exp(t);
    (e - y * t, e - y)
}

struct Losses<'a, F> {
    eta: &'a [f64],
    y: &'a [f64],
    shares: &'a [f64],
    slopes: &'a mut [f64],
    of: F,
}

impl<F: Fn(f64, f64) -> (f64, f64)> lanes::Kernel for Losses<'_, F> {
    type Output = f64;

    #[inline(always)]
    fn compute(self) -> f64 {
        let Losses { eta, y, shares, slopes, of } = self;
        let n = slopes.len();
        let (eta, y, shares) = (&eta[..n], &y[..n], &shares[..n]);
        let mut sums = [0.0; 8];
        let mut i = 0;
        while i < n {
            let end = usize::min(i + 8, n);
            for k in i..end {
                let (loss, slope) = of(eta[k], y[k]);
                // Not a product: a row of share 0 may have an infinite loss.
                let counts = shares[k] > 0.0;
                sums[k - i] += if counts { shares[k] * loss } else { 0.0 };
                slopes[k] = if counts { shares[k] * slope } else { 0.0 };
            }
            i = end;
        }
        lanes::sum(&sums)
    }
}

struct Curvatures<'a, F> {
    eta: &'a [f64],
    shares: &'a [f64],
    out: &'a mut [f64],
    of: F,
}

impl<F: Fn(f64) -> f64> lanes::Kernel for Curvatures<'_, F> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let n = self.out.len();
        let (eta, shares) = (&self.eta[..n], &self.shares[..n]);
        for i in 0..n {
            let curvature = (self.of)(eta[i]);
            self.out[i] = if shares[i] > 0.0 { shares[i] * curvature } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Logistic, PoissonLog, ScalarFamily};

    /// The loops agree with the functions of one row; rows of share 0 count nothing.
    #[test]
    fn many_rows_are_as_good_as_one() {
        let eta: Vec<f64> = (0..203).map(|i| 0.37 * f64::from(i - 100)).collect();
        let shares: Vec<f64> = (0..203).map(|i| f64::from(i % 3)).collect();
        let y: Vec<f64> = (0..203).map(|i| f64::from(i % 2)).collect();
        fn check<F: ScalarFamily>(family: &F, eta: &[f64], y: &[f64], shares: &[f64]) {
            let n = eta.len();
            let (mut slopes, mut curvatures) = (vec![0.0; n], vec![0.0; n]);
            let sum = family.losses(eta, y, shares, &mut slopes);
            family.curvatures(eta, y, shares, &mut curvatures);
            let expected: f64 = (0..n).map(|i| shares[i] * family.loss(y[i], eta[i])).sum();
            assert!((sum - expected).abs() <= 1e-14 * expected.abs(), "{sum} {expected}");
            for i in 0..n {
                let slope = shares[i] * family.slope(y[i], eta[i]);
                let curvature = shares[i] * family.curvature(y[i], eta[i]);
                assert!((slopes[i] - slope).abs() <= 1e-15 * (1.0 + slope.abs()), "{i}");
                assert!((curvatures[i] - curvature).abs() <= 2e-15 * curvature.abs(), "{i}");
            }
        }
        check(&Logistic, &eta, &y, &shares);
        check(&PoissonLog, &eta, &y, &shares);
        let mut slopes = [1.0; 2];
        let sum = PoissonLog.losses(&[0.0, 800.0], &[1.0, 1.0], &[1.0, 0.0], &mut slopes);
        assert_eq!((sum, slopes), (1.0, [0.0, 0.0]));
    }
}
