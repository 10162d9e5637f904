//! The problem of covariance selection, its dual, and the bound that a dual point gives.

use fenchel_linalg::{Cholesky, Invalid, factor};
use ndarray::{Array2, ArrayView2};

use crate::error::Error;
use crate::penalty::PenaltyWeights;

/// What rounding adds to `P(Theta) - D(S)`, given `C_ii Theta_ii` of all `p` variables.
///
/// The factor of a positive definite `p x p` matrix `A` is exact for a matrix that differs by at most `(p + 1) eps sqrt(A_ii A_jj)`. So the
/// error of `log det A` is at most `(p + 1) eps (sum_i sqrt(A_ii (A^-1)_ii))^2`. Near the optimum, `C_ii` is the diagonal of the inverse. The
/// bound for the other log-determinant is the same, and the products of the trace are at most as large.
pub(crate) fn rounding(products: impl ExactSizeIterator<Item = f64>) -> f64 {
    let p = products.len() as f64;
    let roots = products.map(|v| v.abs().sqrt()).sum::<f64>();
    4.0 * (p + 1.0) * f64::EPSILON * roots * roots
}

/// Moves a `k x k` matrix towards its diagonal until it is positive definite.
pub(crate) fn repaired(mut x: Vec<f64>, k: usize) -> (Vec<f64>, Cholesky) {
    for keep in [1.0, 0.99, 0.9, 0.5, 0.0] {
        for i in 0..k {
            for j in 0..k {
                if i != j && keep < 1.0 {
                    x[i * k + j] *= keep;
                } else if i == j && !(x[i * k + i] > f64::MIN_POSITIVE && x[i * k + i] < f64::MAX) {
                    x[i * k + i] = 1.0;
                }
            }
        }
        if keep == 0.0 {
            (0..k * k).filter(|at| at % (k + 1) != 0).for_each(|at| x[at] = 0.0);
        }
        if let Ok(factor) = factor::cholesky_in_place(x.clone(), k) {
            return (x, factor);
        }
    }
    unreachable!("a positive diagonal matrix is positive definite")
}

/// The value `log det S + k` of a feasible `k x k` dual point; `-inf` unless it is positive definite.
pub(crate) fn dual_value(s: Vec<f64>, k: usize) -> f64 {
    factor::cholesky_in_place(s, k).map_or(f64::NEG_INFINITY, |factor| factor.log_det() + k as f64)
}

/// A covariance matrix and the weights of the penalty, checked.
///
/// ```text
/// primal   P(Theta) = <C, Theta> - log det Theta + sum_ij Lambda_ij |Theta_ij|
/// dual     D(S)     = log det S + p         over  |S_ij - C_ij| <= Lambda_ij
/// ```
///
/// Every positive definite `S` in the box gives a lower bound `D(S)` of the optimum, so `P(Theta) - D(S)` bounds the
/// suboptimality of `Theta`. Near the optimum, the inverse `W` of `Theta`, clipped to the box, is such an `S`. Away
/// from the optimum, `(1 - t) C + t diag(C)` is one, with the largest `t` that the box allows. So a problem with
/// positive weights has a finite certificate at every point.
///
/// Source: A. Defazio, PhD thesis 2014, equations 6.5, 6.6 and 9.1.
#[derive(Debug, Clone)]
pub struct Problem<'a> {
    pub(crate) covariance: ArrayView2<'a, f64>,
    pub(crate) weights: &'a PenaltyWeights,
}

impl<'a> Problem<'a> {
    /// Checks shapes, finiteness and signs, but not eigenvalues.
    ///
    /// # Errors
    /// [`Invalid`]; [`Error::ZeroVariance`] for variances of 0 without a penalty.
    pub fn new(
        covariance: ArrayView2<'a, f64>,
        weights: &'a PenaltyWeights,
    ) -> Result<Self, Error> {
        let what = "covariance";
        let p = Invalid::check_square(what, covariance.dim())?;
        weights.check(p)?;
        let mut constant = Vec::new();
        for i in 0..p {
            for j in 0..=i {
                let (a, b) = (covariance[[i, j]], covariance[[j, i]]);
                if !(a.is_finite() && b.is_finite()) {
                    let (row, column, value) = if a.is_finite() { (j, i, b) } else { (i, j, a) };
                    return Err(Invalid::NonFinite { what, row, column, value }.into());
                }
                if a != b && (a - b).abs() > 1e-10 * a.abs().max(b.abs()) {
                    let reason = format!("entry ({i}, {j}) is {a} but ({j}, {i}) is {b}");
                    return Err(Invalid::Layout { what, reason }.into());
                }
            }
            // Below the smallest normal number the scaled problem would overflow.
            if !(covariance[[i, i]] + weights.at(i, i) >= f64::MIN_POSITIVE) {
                constant.push(i);
            }
        }
        if constant.is_empty() {
            Ok(Problem { covariance, weights })
        } else {
            Err(Error::ZeroVariance { columns: constant })
        }
    }

    /// Number of variables.
    pub fn order(&self) -> usize {
        self.covariance.nrows()
    }

    /// `P(Theta)`. It is infinite unless `Theta` is positive definite and of the order of the problem. The cost is
    /// `n^3 / 3` operations.
    pub fn objective(&self, precision: ArrayView2<f64>) -> f64 {
        if precision.dim() != self.covariance.dim() {
            return f64::INFINITY;
        }
        let Ok(factor) = factor::cholesky(precision) else { return f64::INFINITY };
        self.linear(precision) - factor.log_det()
    }

    /// `<C, Theta> + penalty(Theta)`, which is `p` at the optimum.
    pub fn linear(&self, precision: ArrayView2<f64>) -> f64 {
        let mut sum = 0.0;
        for ((i, j), &x) in precision.indexed_iter() {
            if x != 0.0 {
                sum += self.covariance[[i, j]] * x + self.weights.at(i, j) * x.abs();
            }
        }
        sum
    }

    /// The value of a dual point that is built from a precision matrix `Theta` and its inverse `W`: `W` clipped to the
    /// box, and moved to the boundary of the box where `Theta` is not 0. If this is not positive definite, or the
    /// matrices have another order, the value is `-inf`, which is a valid bound.
    pub fn dual(&self, precision: ArrayView2<f64>, inverse: ArrayView2<f64>) -> f64 {
        let shape = self.covariance.dim();
        if precision.dim() != shape || inverse.dim() != shape {
            return f64::NEG_INFINITY;
        }
        let clipped = Array2::from_shape_fn(self.covariance.raw_dim(), |(i, j)| {
            let (c, bound) = (self.covariance[[i, j]], self.weights.at(i, j));
            match precision[[i, j]] {
                0.0 => inverse[[i, j]].clamp(c - bound, c + bound),
                x => c + bound * x.signum(),
            }
        });
        match factor::cholesky(clipped.view()) {
            Ok(factor) => factor.log_det() + self.order() as f64,
            Err(_) => f64::NEG_INFINITY,
        }
    }

    /// The smallest uniform weight at which the solution has no edge, `max |C_ij|` off the diagonal.
    pub fn largest_weight(covariance: ArrayView2<f64>) -> f64 {
        let mut largest = 0.0_f64;
        for ((i, j), c) in covariance.indexed_iter() {
            if i != j {
                largest = largest.max(c.abs());
            }
        }
        largest
    }
}
