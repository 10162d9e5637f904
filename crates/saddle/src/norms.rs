//! Mixed norms of matrices.
//!
//! `norm_{p x q}(A)` is the l_p norm of the vector of l_q norms of the rows of `A`. Its dual is `norm_{p' x q'}` with
//! conjugate exponents, `1/p + 1/p' = 1`. Source: D. Babichev, PhD thesis 2019, equations (4.2.3) to (4.2.5).
//!
//! ```
//! use fenchel_saddle::norms::{conjugate, mixed};
//! use ndarray::array;
//!
//! let a = array![[3.0, 4.0], [0.0, -2.0]];
//! assert_eq!(mixed(a.view(), 1.0, 2.0), 7.0);
//! assert_eq!(mixed(a.view(), f64::INFINITY, 1.0), 7.0);
//! assert_eq!((conjugate(1.0), conjugate(2.0), conjugate(f64::INFINITY)), (f64::INFINITY, 2.0, 1.0));
//! ```

use ndarray::ArrayView2;

/// The l_p norm, `p >= 1` or infinite. O(n).
pub fn norm(values: impl Iterator<Item = f64>, p: f64) -> f64 {
    let sizes = values.map(f64::abs);
    if p == f64::INFINITY {
        // A NaN stays: it is no small number.
        sizes.fold(0.0, |m, v| if v <= m || m.is_nan() { m } else { v })
    } else if p == 1.0 {
        sizes.sum()
    } else {
        // Powers of quotients neither overflow nor all vanish.
        let sizes: Vec<f64> = sizes.collect();
        let top = sizes.iter().fold(0.0_f64, |m, v| m.max(*v));
        if !(top > 0.0 && top < f64::INFINITY) {
            return sizes.iter().sum();
        }
        top * sizes.iter().map(|v| (v / top).powf(p)).sum::<f64>().powf(1.0 / p)
    }
}

/// The l_p norm of the l_q norms of the rows. O(entries).
pub fn mixed(a: ArrayView2<f64>, p: f64, q: f64) -> f64 {
    norm(a.rows().into_iter().map(|row| norm(row.iter().copied(), q)), p)
}

/// The exponent of the dual norm.
pub fn conjugate(p: f64) -> f64 {
    if p == f64::INFINITY {
        1.0
    } else if p == 1.0 {
        f64::INFINITY
    } else {
        p / (p - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nan_has_no_norm() {
        for p in [1.0, 1.5, 2.0, f64::INFINITY] {
            for values in [[f64::NAN, 1.0], [1.0, f64::NAN], [f64::NAN, 0.0]] {
                assert!(norm(values.into_iter(), p).is_nan(), "{p} {values:?}");
            }
        }
    }
}
