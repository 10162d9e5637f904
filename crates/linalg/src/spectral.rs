//! The largest singular value of a design and the spectral radius of a square matrix, without a
//! factorisation.
//!
//! | quantity | function | method | cost |
//! |---|---|---|---|
//! | `norm(A) = max norm(A x) / norm(x)` | [`spectral_norm`] | power iteration on `A'A` | two products per step |
//! | `rho(A) = max abs(eigenvalue)` | [`spectral_radius`] | repeated squaring | at most 48 products `n x n` |
//!
//! The two quantities differ for matrices that are not symmetric: `rho(A) <= norm(A)`, and a matrix of any norm may have
//! `rho(A) = 0`.

use ndarray::{Array2, ArrayView2};

use crate::{Design, Invalid, multiply, multiply_transposed};

/// The result of [`spectral_norm`]: `estimate <= ||A|| <= upper` up to rounding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectralNorm {
    /// `||A v||` for a unit vector `v`: a lower bound, and the best estimate of the norm.
    pub estimate: f64,
    /// The smaller of the Frobenius norm and `sqrt(||A||_1 ||A||_inf)`: an upper bound, safe for a step size.
    pub upper: f64,
    /// Steps of the power iteration, two products each.
    pub steps: usize,
}

/// Estimates the largest singular value of a design matrix by power iteration on `A'A`.
///
/// The iteration stops when `||A'A v - s v|| <= tolerance s`, where `s = ||A v||^2`, or after `max_steps` steps. If it stops by
/// the first rule, some singular value lies within a relative `tolerance` of the estimate. It is the largest one, unless the
/// fixed pseudo-random start is orthogonal to the leading singular vector. Once the gap to the next singular value is resolved,
/// the error of the estimate is of the order of `tolerance^2`. Convergence is linear with rate `(s_2 / s_1)^2`. If the two
/// largest singular values are close, the iteration is slow, but the estimate lies between them and is accurate all the same.
/// Entries should be below 1e300, so that the products do not overflow.
///
/// # Errors
/// [`Invalid::Empty`] for a matrix without entries; [`Invalid::Parameter`] unless `tolerance > 0`.
pub fn spectral_norm<D: Design>(
    design: &D,
    tolerance: f64,
    max_steps: usize,
) -> Result<SpectralNorm, Invalid> {
    Invalid::check_positive("tolerance", tolerance)?;
    let (n, d) = (design.rows(), design.columns());
    if n == 0 || d == 0 {
        return Err(Invalid::Empty { what: "design matrix" });
    }
    let (scale, upper) = bounds(design);
    if scale == 0.0 {
        return Ok(SpectralNorm { estimate: 0.0, upper: 0.0, steps: 0 });
    }
    let mut v: Vec<f64> = (0..d as u64).map(scrambled).collect();
    normalise(&mut v);
    let (mut image, mut next) = (vec![0.0; n], vec![0.0; d]);
    let mut estimate: f64 = 0.0;
    let mut steps = 0;
    while steps < max_steps.max(1) {
        steps += 1;
        // Divided by the largest entry, squares neither overflow nor vanish.
        multiply(design, &v, &mut image);
        image.iter_mut().for_each(|a| *a /= scale);
        multiply_transposed(design, &image, &mut next);
        next.iter_mut().for_each(|a| *a /= scale);
        let square: f64 = image.iter().map(|a| a * a).sum();
        estimate = estimate.max(square.sqrt());
        let residual: f64 =
            next.iter().zip(&v).map(|(a, v)| (a - square * v).powi(2)).sum::<f64>().sqrt();
        if residual <= tolerance * square || normalise(&mut next) == 0.0 {
            break;
        }
        std::mem::swap(&mut v, &mut next);
    }
    Ok(SpectralNorm { estimate: estimate * scale, upper, steps })
}

/// The largest absolute entry, and the upper bound of [`SpectralNorm`].
fn bounds<D: Design>(design: &D) -> (f64, f64) {
    let mut scale: f64 = 0.0;
    for i in 0..design.rows() {
        design.row_entries(i, |_, a| scale = scale.max(a.abs()));
    }
    if scale == 0.0 {
        return (0.0, 0.0);
    }
    let (mut squares, mut row_sum) = (0.0, 0.0f64);
    let mut column_sums = vec![0.0; design.columns()];
    for i in 0..design.rows() {
        let mut sum = 0.0;
        design.row_entries(i, |c, a| {
            let a = (a / scale).abs();
            squares += a * a;
            sum += a;
            column_sums[c] += a;
        });
        row_sum = row_sum.max(sum);
    }
    let column_sum = column_sums.into_iter().fold(0.0, f64::max);
    (scale, scale * f64::min(squares.sqrt(), (row_sum * column_sum).sqrt()))
}

/// A pseudo-random number in `(-1, 1)`, by the finaliser of SplitMix64 (Steele, Lea and Flood, 2014). A constant start would be
/// orthogonal to the leading vector of many structured matrices.
fn scrambled(index: u64) -> f64 {
    let mut z = (index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    // 53 bits and a half, so that no entry is 0.
    ((z >> 11) as f64 + 0.5) / (1u64 << 52) as f64 - 1.0
}

/// Scales to a unit vector, if the vector is not zero. Returns its former norm.
fn normalise(v: &mut [f64]) -> f64 {
    let norm = v.iter().map(|a| a * a).sum::<f64>().sqrt();
    if norm > 0.0 {
        v.iter_mut().for_each(|a| *a /= norm);
    }
    norm
}

/// The power `2^SQUARINGS` after which the factor between norm and spectral radius has no effect: the `2^-48`-th part of its
/// logarithm is below the rounding of the products.
const SQUARINGS: i32 = 48;

/// Computes the largest modulus of an eigenvalue of a square matrix, real or complex.
///
/// It uses Gelfand's formula `rho(A) = lim ||A^m||^(1/m)` along `m = 2^k`. Each power is divided by its norm, so that nothing
/// overflows. Every term of the sequence is an upper bound of `rho`. Unlike power iteration, the method works for leading
/// eigenvalues that are complex, repeated or of equal modulus.
///
/// Accuracy: 48 squarings make the formula exact to 1e-13, so that the error is a rounding error. As for any eigenvalue
/// routine, the result is exact for a matrix within about `n eps ||A||` of the given one. For normal matrices and simple
/// eigenvalues only a few digits are lost. For a defective eigenvalue in a Jordan block of order `s` the relative error is near
/// `(n eps)^(1/s)`.
///
/// Cost: one `n x n` product per squaring. The iteration ends, usually after ten squarings, once the power is a multiple of a
/// projection. This happens where the leading eigenvalues are real, of one absolute value, and well separated from the others.
///
/// # Errors
/// [`Invalid::Layout`] unless square; [`Invalid::Empty`]; [`Invalid::NonFinite`].
pub fn spectral_radius(matrix: ArrayView2<f64>) -> Result<f64, Invalid> {
    let what = "matrix";
    let n = Invalid::check_square(what, matrix.dim())?;
    if let Some(((row, column), &value)) = matrix.indexed_iter().find(|(_, v)| !v.is_finite()) {
        return Err(Invalid::NonFinite { what, row, column, value });
    }
    // A^m = exp(m log_root) B with ||B|| = 1 throughout.
    let mut b = matrix.to_owned();
    let largest = largest_entry(&b);
    if largest == 0.0 {
        return Ok(0.0);
    }
    // In two steps: the norm of a finite matrix can be infinite.
    rescale(&mut b, largest);
    let first = frobenius(&b);
    rescale(&mut b, first);
    let mut log_root = largest.ln() + first.ln();
    let mut power = 1.0;
    for _ in 0..SQUARINGS {
        let mut square = b.dot(&b);
        let norm = frobenius(&square);
        power *= 2.0;
        if norm == 0.0 {
            // A power of A vanishes: nilpotent.
            return Ok(0.0);
        }
        log_root += norm.ln() / power;
        rescale(&mut square, norm);
        // If B^2 = +-c B, the eigenvalues of B are 0 and +-c: all further terms are known. This one
        // is ||B^2|| = c, which is the modulus of the eigenvalue of B, whose power is half of this.
        let off = |sign: f64| {
            square.iter().zip(&b).fold(0.0, |m: f64, (s, b)| m.max((s - sign * b).abs()))
        };
        if off(1.0).min(off(-1.0)) <= f64::EPSILON * (n as f64).sqrt() {
            log_root += norm.ln() / power;
            break;
        }
        b = square;
    }
    Ok(log_root.exp())
}

fn largest_entry(a: &Array2<f64>) -> f64 {
    a.iter().fold(0.0, |m: f64, v| m.max(v.abs()))
}

/// Frobenius norm, without underflow of the squares.
fn frobenius(a: &Array2<f64>) -> f64 {
    let largest = largest_entry(a);
    if largest == 0.0 {
        return 0.0;
    }
    largest * a.iter().map(|v| (v / largest).powi(2)).sum::<f64>().sqrt()
}

/// Divides by a norm whose inverse may overflow.
fn rescale(a: &mut Array2<f64>, norm: f64) {
    a.mapv_inplace(|v| v / norm);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Dense;
    use ndarray::{Array1, array};

    fn radius(a: Array2<f64>, expected: f64, tolerance: f64) {
        let found = spectral_radius(a.view()).unwrap();
        assert!((found - expected).abs() <= tolerance * expected, "{found:e}, not {expected:e}");
    }

    fn path(n: usize) -> Array2<f64> {
        Array2::from_shape_fn((n, n), |(i, j)| f64::from(i.abs_diff(j) == 1))
    }

    #[test]
    fn radius_of_matrices_with_known_eigenvalues() {
        radius(array![[-3.5]], 3.5, 1e-15);
        radius(Array2::eye(7), 1.0, 1e-14);
        radius(Array2::from_diag(&array![0.5, -4.0, 3.0]), 4.0, 1e-14);
        // +-2: the power does not settle on one projection before it is squared.
        radius(Array2::from_diag(&array![2.0, -2.0, 1.0]), 2.0, 1e-14);
        radius(Array2::ones((9, 9)), 9.0, 1e-14);
        // A path: 2 cos(pi / (n + 1)), and its negative.
        for n in [2, 5, 40, 150] {
            let expected = 2.0 * (std::f64::consts::PI / (n as f64 + 1.0)).cos();
            radius(path(n), expected, 1e-13);
        }
        // Stochastic rows.
        let p = Array2::from_shape_fn((50, 50), |(i, j)| 1.0 + ((i * 7 + j * 13) % 10) as f64);
        let sums = p.sum_axis(ndarray::Axis(1)).insert_axis(ndarray::Axis(1));
        radius(p / sums, 1.0, 1e-13);
    }

    #[test]
    fn radius_with_complex_leading_eigenvalues() {
        for angle in [0.1, 1.0, 2.0, std::f64::consts::FRAC_PI_2] {
            let (s, c) = f64::sin_cos(angle);
            radius(1.75 * array![[c, -s], [s, c]], 1.75, 1e-13);
        }
        // A cyclic permutation with weights: all eigenvalues have the modulus of the geometric mean.
        let weights = [8.0, 0.5, 2.0, 1.0, 4.0];
        let cycle =
            Array2::from_shape_fn((5, 5), |(i, j)| if j == (i + 1) % 5 { weights[i] } else { 0.0 });
        radius(cycle, 32f64.powf(0.2), 1e-13);
        // Companion matrix of z^3 - 2: moduli 2^(1/3).
        radius(array![[0.0, 0.0, 2.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 2f64.cbrt(), 1e-13);
    }

    #[test]
    fn radius_of_matrices_that_are_far_from_normal() {
        radius(array![[0.5, 1e6], [0.0, 0.25]], 0.5, 1e-9);
        // Triangular: the diagonal, however large the rest.
        let triangular = Array2::from_shape_fn((12, 12), |(i, j)| match i.cmp(&j) {
            std::cmp::Ordering::Less => 10.0,
            std::cmp::Ordering::Equal => (i as f64 + 1.0) / 12.0,
            std::cmp::Ordering::Greater => 0.0,
        });
        radius(triangular, 1.0, 1e-10);
        // A Jordan block of order 3: log m / m is gone after 48 squarings.
        let jordan = array![[0.9, 1.0, 0.0], [0.0, 0.9, 1.0], [0.0, 0.0, 0.9]];
        radius(jordan, 0.9, 1e-11);
        // Nilpotent.
        radius(array![[0.0, 1e9, 5.0], [0.0, 0.0, -3.0], [0.0, 0.0, 0.0]], 0.0, 0.0);
    }

    #[test]
    fn radius_scales_with_the_matrix() {
        let a = array![[2.0, 1.0], [1.0, 2.0]];
        for scale in [1e-160, 1e-300, 1e150, 1e300] {
            // log_root is near +-700 here: its rounding is 1e-13.
            radius(&a * scale, 3.0 * scale, 1e-12);
        }
        radius(Array2::zeros((4, 4)), 0.0, 0.0);
        // The Frobenius norm of this one is not a finite number.
        radius(Array2::eye(4) * 1e308, 1e308, 1e-12);
    }

    #[test]
    fn bad_matrices_are_refused() {
        assert!(matches!(
            spectral_radius(Array2::zeros((2, 3)).view()),
            Err(Invalid::Layout { .. })
        ));
        assert!(matches!(
            spectral_radius(array![[1.0, f64::NAN], [0.0, 0.0]].view()),
            Err(Invalid::NonFinite { row: 0, column: 1, .. })
        ));
        let a = array![[1.0]];
        let design = Dense::new(a.view()).unwrap();
        assert!(spectral_norm(&design, 0.0, 10).is_err());
    }

    fn norm(a: &Array2<f64>, tolerance: f64) -> SpectralNorm {
        spectral_norm(&Dense::new(a.view()).unwrap(), tolerance, 10_000).unwrap()
    }

    #[test]
    fn norm_of_matrices_with_known_singular_values() {
        // u v': norm ||u|| ||v||, at once.
        let (u, v) = (Array1::from_iter((0..30).map(f64::from)), array![3.0, 0.0, -4.0]);
        let outer = Array2::from_shape_fn((30, 3), |(i, j)| u[i] * v[j]);
        let found = norm(&outer, 1e-10);
        let expected = 5.0 * (29.0 * 30.0 * 59.0 / 6.0f64).sqrt();
        assert!((found.estimate - expected).abs() <= 1e-13 * expected, "{found:?}");
        assert!(found.steps <= 3 && found.upper >= expected * (1.0 - 1e-15));
        // The all-ones vector, a usual start, is in the kernel of this one.
        let found = norm(&array![[1.0, -1.0]], 1e-10);
        assert!((found.estimate - 2f64.sqrt()).abs() <= 1e-15, "{found:?}");
        // A shear: (1 + sqrt 5) / 2.
        let found = norm(&array![[1.0, 1.0], [0.0, 1.0]], 1e-8);
        assert!((found.estimate - (1.0 + 5f64.sqrt()) / 2.0).abs() <= 1e-14, "{found:?}");
        assert_eq!(norm(&Array2::zeros((3, 2)), 1e-3).upper, 0.0);
    }

    #[test]
    fn norm_lies_between_its_bounds_at_any_scale() {
        for scale in [1.0, 1e-200, 1e200] {
            let a = path(20) * scale;
            let expected = 2.0 * (std::f64::consts::PI / 21.0).cos() * scale;
            let found = norm(&a, 1e-6);
            // The residual rule: some singular value is within the tolerance; here it is the first.
            assert!((found.estimate - expected).abs() <= 1e-6 * expected, "{found:?}");
            assert!(found.estimate <= expected * (1.0 + 1e-14), "{found:?}");
            // sqrt(||A||_1 ||A||_inf) = 2.
            assert!((found.upper - 2.0 * scale).abs() <= 1e-15 * found.upper, "{found:?}");
        }
    }
}
