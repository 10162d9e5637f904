//! Checks whether a problem can be fitted in double precision, and whether a fit is valid: sizes, separation, rank.

use fenchel_linalg::{Cholesky, Design, Invalid, multiply_squares_transposed, text};
use ndarray::ArrayView2;

use super::ScalarFamily;
use crate::error::Error;

/// Second derivatives are sums of squares of columns, and dispersions are sums of squares of targets. These squares
/// must be finite and normal numbers. Returns the weighted sums of squares of the columns.
pub(super) fn check_squares<F: ScalarFamily, D: Design>(
    design: &D,
    y: &[f64],
    shares: &[f64],
) -> Result<Vec<f64>, Error> {
    let usable = |square: f64| square.is_finite() && square > f64::MIN_POSITIVE / f64::EPSILON;
    let mut squares = vec![0.0; design.columns()];
    multiply_squares_transposed(design, shares, &mut squares);
    if let Some(column) = squares.iter().position(|&s| !usable(s)) {
        // A column of zeros has no unit: it is dependent on the others.
        let mut largest: f64 = 0.0;
        for i in 0..design.rows() {
            design.row_entries(i, |j, v| {
                largest = if j == column { largest.max(v.abs()) } else { largest }
            });
        }
        let largest = design.largest(largest);
        if largest > 0.0 {
            let what = "design matrix";
            let reason = format!(
                "the squares of column {column} overflow or vanish, its largest entry is {}; divide it by its size first",
                text::short(largest)
            );
            return Err(Invalid::Layout { what, reason }.into());
        }
    }
    let counted = shares.iter().zip(y).filter(|(s, _)| **s > 0.0);
    let largest = design.largest(counted.fold(0.0, |a: f64, (_, y)| a.max(y.abs())));
    let [square] = design.sum_rows(|rows| {
        let counted = shares[rows.clone()].iter().zip(&y[rows]).filter(|(s, _)| **s > 0.0);
        [counted.map(|(s, y)| s * y * y).sum()]
    });
    if !F::KNOWN_DISPERSION && largest > 0.0 && !usable(square) {
        let expected =
            "targets whose squares neither overflow nor vanish: divide them by their size first";
        return Err(Invalid::Parameter { name: "largest target", value: largest, expected }.into());
    }
    Ok(squares)
}

/// Whether the likelihood increases without bound along the fitted direction `z`, the linear predictor without the
/// offset.
pub(super) fn recedes<F: ScalarFamily, D: Design>(
    family: &F,
    design: &D,
    y: &[f64],
    shares: &[f64],
    z: &[f64],
) -> bool {
    let largest = design.largest(z.iter().fold(0.0, |m: f64, z| m.max(z.abs())));
    // What is below rounding has no sign.
    let clear = |z: f64| z == 0.0 || z.abs() > 1e-12 * largest;
    let mut rows = (0..z.len()).filter(|&i| shares[i] > 0.0);
    largest > 0.0
        && design.any(rows.clone().any(|i| z[i] != 0.0))
        && !design.any(rows.any(|i| !(clear(z[i]) && family.recedes(y[i], z[i]))))
}

/// The Cholesky factor of the Hessian of `k` coefficients, the intercept behind the others.
pub(super) fn hessian_factor(
    hessian: &[f64],
    k: usize,
    intercept: bool,
) -> Result<Cholesky, Error> {
    let view = ArrayView2::from_shape((k, k), hessian).expect("k^2 entries");
    // A pivot that rounding left is as good as none.
    let scale: Vec<f64> = (0..k).map(|j| hessian[j * k + j]).collect();
    let deficient = || {
        let (rank, column) = rank(hessian, k, intercept);
        Error::from(Invalid::RankDeficient { what: "design", rank, columns: k, column })
    };
    match Cholesky::new(view) {
        Ok(factor) => {
            let lower = factor.lower();
            if (0..k).all(|j| lower[[j, j]].powi(2) > 1e-13 * scale[j]) {
                Ok(factor)
            } else {
                Err(deficient())
            }
        }
        Err(Invalid::NotPositiveDefinite { .. }) => Err(deficient()),
        Err(other) => Err(other.into()),
    }
}

/// The number of independent columns behind a Gram matrix, by elimination that passes over dependent ones, and the first of
/// those with what it depends on. An intercept, the last column, is eliminated first.
fn rank(gram: &[f64], k: usize, intercept: bool) -> (usize, Option<(usize, &'static str)>) {
    let mut a = gram.to_vec();
    let (mut rank, mut dependent) = (0, None);
    let mut order: Vec<usize> = (0..k).collect();
    order.rotate_right(usize::from(intercept));
    for (at, &j) in order.iter().enumerate() {
        if !(a[j * k + j] > 1e-13 * gram[j * k + j]) {
            dependent = dependent.or(Some(j));
            continue;
        }
        rank += 1;
        for &i in &order[at + 1..] {
            let share = a[i * k + j] / a[j * k + j];
            for &l in &order[at + 1..] {
                a[i * k + l] -= share * a[j * k + l];
            }
        }
    }
    let how = |j: usize| {
        let [own, cross, one] = [(j, j), (j, k - 1), (k - 1, k - 1)].map(|(i, l)| gram[i * k + l]);
        let constant = own * one - cross * cross <= 1e-13 * own * one;
        let how = match intercept {
            true if constant => "is constant, as the intercept is",
            true => "depends on the intercept and the columns before it",
            false if own == 0.0 => "is 0 in every row that counts",
            false => "depends on the columns before it",
        };
        (j, how)
    };
    (rank, dependent.map(how))
}
