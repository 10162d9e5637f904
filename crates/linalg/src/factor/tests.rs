//! The promises of every factorisation, and values known in closed form.

// Reference values are quoted with more digits than a f64 holds.
#![allow(clippy::excessive_precision)]

use super::*;
use crate::Cholesky;
use ndarray::{Array1, Array2, array};

/// Odd orders, and more than one block of faer.
const ORDERS: [usize; 7] = [1, 2, 5, 30, 31, 60, 120];
/// Those of factors, up to several blocks.
const FACTORED: [usize; 9] = [1, 2, 5, 30, 31, 60, 120, 256, 331];

/// Entries in (-1, 1) without structure.
fn scrambled(m: usize, n: usize) -> Array2<f64> {
    Array2::from_shape_fn((m, n), |(i, j)| ((i * 131 + j * 71 + i * j * 17) as f64).sin())
}

fn symmetric(n: usize) -> Array2<f64> {
    let a = scrambled(n, n);
    &a + &a.t()
}

/// Eigenvalues at least 1.
fn definite(n: usize) -> Array2<f64> {
    let a = scrambled(n, n);
    a.dot(&a.t()) + Array2::<f64>::eye(n)
}

/// -1, 2, -1: eigenvalues `2 - 2 cos(k pi / (n + 1))`, determinant `n + 1`.
fn second_difference(n: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, n), |(i, j)| match i.abs_diff(j) {
        0 => 2.0,
        1 => -1.0,
        _ => 0.0,
    })
}

fn second_difference_eigenvalues(n: usize) -> Vec<f64> {
    let angle = std::f64::consts::PI / (n as f64 + 1.0);
    (1..=n).map(|k| 4.0 * (0.5 * k as f64 * angle).sin().powi(2)).collect()
}

fn hilbert(n: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, n), |(i, j)| 1.0 / (i + j + 1) as f64)
}

/// Entrywise, relative to the largest entry expected. Errors grow like `n eps`.
#[track_caller]
fn close(found: &Array2<f64>, expected: &Array2<f64>) {
    assert_eq!(found.dim(), expected.dim());
    let size = expected.iter().fold(1e-300, |m: f64, v| m.max(v.abs()));
    let off = (found - expected).iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let n = found.nrows().max(found.ncols());
    assert!(off <= 20.0 * n as f64 * f64::EPSILON * size, "off by {off:e} of {size:e}, n = {n}");
}

fn orthonormal(columns: &Array2<f64>) {
    close(&columns.t().dot(columns), &Array2::eye(columns.ncols()));
}

#[test]
fn cholesky_reconstructs_and_agrees_with_the_plain_one() {
    for n in FACTORED {
        let a = definite(n);
        let found = cholesky(a.view()).unwrap();
        close(&found.lower().dot(&found.lower().t()), &a);
        assert!(found.lower().indexed_iter().all(|((i, j), &l)| j <= i || l == 0.0));
        // Of a matrix in its own memory the upper triangle by rows is read, and nothing else.
        let half =
            Array2::from_shape_fn((n, n), |(i, j)| if i <= j { a[[i, j]] } else { f64::NAN });
        assert_eq!(cholesky_in_place(half.into_raw_vec_and_offset().0, n).unwrap(), found);
        let plain = Cholesky::new(a.view()).unwrap();
        // Two factors of perturbed matrices differ by the condition number, here below 100 n, more.
        let off = (&found.lower() - &plain.lower()).iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        assert!(off <= 1e-11, "n = {n}: {off:e}");
        assert!((found.log_det() - plain.log_det()).abs() <= 1e-11 * n as f64);
    }
}

#[test]
fn log_determinant_of_the_second_difference_is_known() {
    for n in FACTORED {
        let found = cholesky(second_difference(n).view()).unwrap().log_det();
        let expected = (n as f64 + 1.0).ln();
        assert!((found - expected).abs() <= 1e-13 * n as f64, "n = {n}: {found} {expected}");
    }
    // Arbitrary-precision value; the relative error of det is the condition number 5e5 times eps.
    let found = cholesky(hilbert(5).view()).unwrap().log_det();
    assert!((found - -26.3094532582764433).abs() <= 1e-10, "{found}");
}

#[test]
fn inverse_of_the_second_difference_is_known() {
    for n in FACTORED {
        let found = inverse(&cholesky(second_difference(n).view()).unwrap());
        let expected = Array2::from_shape_fn((n, n), |(i, j)| {
            let (low, high) = (i.min(j) as f64 + 1.0, i.max(j) as f64 + 1.0);
            low * (n as f64 + 1.0 - high) / (n as f64 + 1.0)
        });
        // Condition number 0.4 n^2.
        let off = (&found - &expected).iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        assert!(off <= 1e-14 * (n * n * n) as f64, "n = {n}: {off:e}");
        assert_eq!(found, found.t());
    }
}

#[test]
fn first_bad_pivot_is_named_on_both_sides() {
    for n in FACTORED {
        for bad in [0, n / 2, n - 1] {
            // The leading block of order `bad` is that of the second difference, whose pivots are
            // (k + 2) / (k + 1); the next one is lowered by 3.
            let mut a = second_difference(n);
            a[[bad, bad]] -= 3.0;
            let expected = (bad as f64 + 2.0) / (bad as f64 + 1.0) - 3.0;
            match cholesky(a.view()) {
                Err(Invalid::NotPositiveDefinite { pivot, value, .. }) => {
                    assert_eq!(pivot, bad, "n = {n}");
                    assert!((value - expected).abs() <= 1e-12, "n = {n}: {value} {expected}");
                }
                other => panic!("n = {n}: {other:?}"),
            }
        }
    }
}

#[test]
fn triangular_systems_give_the_known_solution() {
    for n in ORDERS {
        // Well conditioned: the diagonal dominates.
        let full = scrambled(n, n) + Array2::<f64>::eye(n) * (2.0 * n as f64);
        let keep = |lower: bool| {
            let mut t = full.clone();
            t.indexed_iter_mut().for_each(|((i, j), v)| {
                if (lower && j > i) || (!lower && j < i) {
                    *v = 0.0;
                }
            });
            t
        };
        let x = scrambled(n, 3);
        for (triangle, t) in [(Triangle::Lower, keep(true)), (Triangle::Upper, keep(false))] {
            // The other half is there and must not be read.
            close(&solve_triangular(full.view(), triangle, t.dot(&x).view()).unwrap(), &x);
        }
    }
    let t = array![[1.0, 0.0], [5.0, 0.0]];
    let error = solve_triangular(t.view(), Triangle::Lower, array![[1.0], [1.0]].view());
    assert_eq!(error, Err(Invalid::Singular { what: "triangular matrix", pivot: 1 }));
}

#[test]
fn qr_reconstructs_with_orthonormal_columns() {
    let mut shapes: Vec<(usize, usize)> = ORDERS.iter().map(|&n| (n, n)).collect();
    shapes.extend([(40, 3), (200, 35), (3, 40), (35, 60), (1, 5), (5, 1)]);
    for (m, n) in shapes {
        let a = scrambled(m, n);
        let found = qr(a.view()).unwrap();
        orthonormal(&found.q);
        close(&found.q.dot(&found.r), &a.select(ndarray::Axis(1), &found.order));
        let diagonal = found.r.diag().mapv(f64::abs);
        assert!(diagonal.windows(2).into_iter().all(|d| d[0] >= d[1] * (1.0 - 1e-12)));
        assert!(found.r.indexed_iter().all(|((i, j), &r)| i <= j || r == 0.0));
    }
}

#[test]
fn least_squares_fits_a_line_in_closed_form() {
    for m in [3, 30, 31, 500] {
        let t = Array1::from_iter((0..m).map(|i| i as f64 / m as f64));
        let b = Array1::from_iter((0..m).map(|i| (i as f64).sin()));
        let a = Array2::from_shape_fn((m, 2), |(i, j)| if j == 0 { 1.0 } else { t[i] });
        let x = least_squares(a.view(), b.view()).unwrap();
        let (mt, mb) = (t.mean().unwrap(), b.mean().unwrap());
        let covariance = (&t - mt).dot(&(&b - mb));
        let slope = covariance / (&t - mt).mapv(|t| t * t).sum();
        assert!((x[1] - slope).abs() <= 1e-13 * (1.0 + slope.abs()), "{x} {slope}");
        assert!((x[0] - (mb - slope * mt)).abs() <= 1e-13 * (1.0 + slope.abs()));
    }
}

#[test]
fn dependent_columns_are_found_and_the_shortest_solution_exists() {
    for n in [2usize, 5, 30, 31, 60] {
        // Rank 1: all columns are multiples of the ones.
        let a = Array2::from_shape_fn((n + 2, n), |(_, j)| j as f64 + 1.0);
        let b = Array1::from_elem(n + 2, 3.0);
        assert_eq!(
            least_squares(a.view(), b.view()),
            Err(Invalid::RankDeficient { what: "matrix", rank: 1, columns: n, column: None })
        );
        let found = svd(a.view()).unwrap();
        assert_eq!(found.rank(1e-12), 1);
        // sum_j (j + 1) x_j = 3: the shortest is a multiple of (1, 2, ..., n).
        let squares: f64 = (1..=n).map(|k| (k * k) as f64).sum();
        let x = found.solve(b.view(), 1e-12).unwrap();
        for (j, x) in x.iter().enumerate() {
            assert!((x - 3.0 * (j as f64 + 1.0) / squares).abs() <= 1e-13, "n = {n}");
        }
    }
    assert_eq!(qr(Array2::zeros((3, 2)).view()).unwrap().rank(), 0);
}

#[test]
fn symmetric_eigen_reconstructs_with_orthonormal_vectors() {
    for n in ORDERS {
        for a in [symmetric(n), Array2::ones((n, n)), Array2::eye(n), Array2::zeros((n, n))] {
            let found = symmetric_eigen(a.view()).unwrap();
            orthonormal(&found.vectors);
            close(&found.map(|l| l), &a);
            assert!(found.values.windows(2).into_iter().all(|l| l[0] <= l[1]));
        }
    }
}

#[test]
fn eigenvalues_of_the_second_difference_are_cosines() {
    for n in ORDERS {
        // Over the whole range of numbers: the sizes are taken out before the iteration.
        for scale in [1.0, 1e-200, 1e200] {
            let found = symmetric_eigen((second_difference(n) * scale).view()).unwrap();
            for (l, e) in found.values.iter().zip(second_difference_eigenvalues(n)) {
                assert!((l / scale - e).abs() <= 1e-14 * n.max(4) as f64, "n = {n}: {l} {e}");
            }
        }
    }
}

#[test]
fn eigenvalues_of_hilbert_matrices_agree_with_reference_values() {
    // Arbitrary-precision values. The absolute error is eps ||A||: the smallest keep few digits.
    let five = [
        3.28792877217186296e-6,
        0.000305898040151191727,
        0.0114074916234198066,
        0.208534218611013336,
        1.5670506910982308,
    ];
    let eight = [
        1.11153896637244243e-10,
        1.79887374581757668e-8,
        1.29433209187281148e-6,
        0.0000543694336974994236,
        0.00146768811774186731,
        0.0262128435781190478,
        0.298125211316930706,
        1.69593899692194945,
    ];
    for (n, expected) in [(5, &five[..]), (8, &eight[..])] {
        let eigen = symmetric_eigen(hilbert(n).view()).unwrap();
        let singular = svd(hilbert(n).view()).unwrap();
        for (j, &e) in expected.iter().enumerate() {
            assert!((eigen.values[j] - e).abs() <= 2e-15, "n = {n}: {} {e}", eigen.values[j]);
            let s = singular.values[n - 1 - j];
            assert!((s - e).abs() <= 2e-15, "n = {n}: {s} {e}");
        }
    }
}

#[test]
fn generalised_eigen_diagonalises_both() {
    for n in ORDERS {
        let (a, b) = (symmetric(n), definite(n));
        let SymmetricEigen { values, vectors } = generalised_eigen(a.view(), b.view()).unwrap();
        let size = a.iter().fold(0.0, |m: f64, v| m.max(v.abs())) * n as f64;
        let slack = 1e-13 * size * n as f64;
        let off = |found: Array2<f64>, expected: Array2<f64>| {
            let off = (&found - &expected).iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            assert!(off <= slack, "n = {n}: {off:e}");
        };
        off(vectors.t().dot(&b).dot(&vectors), Array2::eye(n));
        off(vectors.t().dot(&a).dot(&vectors), Array2::from_diag(&values));
    }
    // A = D T D, B = D^2: the eigenvalues of T.
    for n in [5, 60] {
        let d = Array1::from_iter((0..n).map(|i| 1.0 + (i % 4) as f64));
        let t = second_difference(n);
        let a = Array2::from_shape_fn((n, n), |(i, j)| d[i] * t[[i, j]] * d[j]);
        let b = Array2::from_diag(&d.mapv(|d| d * d));
        let found = generalised_eigen(a.view(), b.view()).unwrap();
        for (l, e) in found.values.iter().zip(second_difference_eigenvalues(n)) {
            assert!((l - e).abs() <= 1e-13 * n as f64, "n = {n}: {l} {e}");
        }
    }
    let error = generalised_eigen(Array2::eye(2).view(), array![[1.0, 2.0], [2.0, 1.0]].view());
    assert!(error.unwrap_err().to_string().starts_with("right matrix is not positive definite"));
}

#[test]
fn svd_reconstructs_with_orthonormal_vectors() {
    let mut shapes: Vec<(usize, usize)> = ORDERS.iter().map(|&n| (n, n)).collect();
    shapes.extend([(40, 3), (200, 35), (3, 40), (35, 60), (1, 5), (5, 1)]);
    for (m, n) in shapes {
        let a = scrambled(m, n);
        let found = svd(a.view()).unwrap();
        orthonormal(&found.u);
        orthonormal(&found.v);
        close(&found.map(|s| s), &a);
        assert!(
            found.values.windows(2).into_iter().all(|s| s[0] >= s[1])
                && found.values.iter().all(|&s| s >= 0.0)
        );
    }
}

#[test]
fn svd_of_rank_one_matrices_of_every_shape() {
    // All ones: sqrt(m n) and zeros. The matrices on which another library fails.
    for m in 1..=35 {
        for n in [1, 2, 3, 5, 6, 21, 30, 31] {
            let found = svd(Array2::ones((m, n)).view()).unwrap();
            let expected = ((m * n) as f64).sqrt();
            assert!((found.values[0] - expected).abs() <= 1e-13 * expected, "{m} x {n}");
            assert!(found.values.iter().skip(1).all(|&s| s <= 1e-14 * expected), "{m} x {n}");
            orthonormal(&found.u);
            orthonormal(&found.v);
        }
    }
    let found = svd(array![[1.0, 2.0, 2.0], [2.0, -1.0, -1.0], [2.0, 1.0, -1.0]].view()).unwrap();
    assert!((found.values.mapv(|s| s * s).sum() - 21.0).abs() <= 1e-13);
    // |det| by the first row: 1 (1 + 1) - 2 (-2 + 2) + 2 (2 + 2) = 10.
    assert!((found.values.product() - 10.0).abs() <= 1e-13);
}

#[test]
fn shrunk_and_clipped_parts_add_up() {
    // Moreau: the nuclear norm and the spectral ball are dual.
    for (m, n) in [(4, 3), (20, 50), (40, 40)] {
        let a = scrambled(m, n);
        let threshold = 0.4 * svd(a.view()).unwrap().values[0];
        let shrunk = shrink_singular_values(a.view(), threshold).unwrap();
        let clipped = clip_singular_values(a.view(), threshold).unwrap();
        close(&(&shrunk + &clipped), &a);
        let norm = svd(clipped.view()).unwrap().values[0];
        assert!((norm - threshold).abs() <= 1e-13 * threshold);
    }
    let a = array![[3.0, 0.0], [0.0, -1.0]];
    close(&shrink_singular_values(a.view(), 2.0).unwrap(), &array![[1.0, 0.0], [0.0, 0.0]]);
    close(&clip_singular_values(a.view(), 2.0).unwrap(), &array![[2.0, 0.0], [0.0, -1.0]]);
    assert!(shrink_singular_values(a.view(), -1.0).is_err());
}

#[test]
fn bad_matrices_are_refused_by_all() {
    let refused = |a: &Array2<f64>, expected: &str| {
        let all = [
            cholesky(a.view()).map(drop),
            symmetric_eigen(a.view()).map(drop),
            generalised_eigen(a.view(), a.view()).map(drop),
        ];
        for result in all {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    };
    refused(&Array2::zeros((0, 0)), "empty");
    refused(&Array2::zeros((2, 3)), "2 x 3; expected a square matrix");
    refused(&array![[1.0, f64::NAN], [0.0, 1.0]], "NaN at row 0, column 1");
    refused(&array![[1.0, 0.0], [1e-3, 1.0]], "entry (1, 0) is 0.001 but (0, 1) is 0");
    for a in [Array2::zeros((0, 3)), array![[f64::INFINITY]]] {
        assert!(qr(a.view()).is_err() && svd(a.view()).is_err());
    }
    // Rounding is not asymmetry.
    assert!(cholesky(array![[1.0, 0.5], [0.5 + 1e-13, 1.0]].view()).is_ok());
    let found = qr(array![[1.0], [1.0]].view()).unwrap();
    assert!(found.solve(array![1.0].view()).is_err());
    assert!(found.solve(array![1.0, f64::NAN].view()).is_err());
    assert!(svd(array![[1.0]].view()).unwrap().solve(array![1.0].view(), -1.0).is_err());
}

#[test]
fn transposed_and_sliced_views_are_read_as_what_they_are() {
    let a = scrambled(6, 9);
    let every_second = ndarray::Slice::new(1, None, 2);
    let view = a.slice_axis(ndarray::Axis(0), every_second);
    let owned = view.to_owned();
    assert_eq!(svd(view).unwrap(), svd(owned.view()).unwrap());
    assert_eq!(qr(view.t()).unwrap(), qr(owned.t().to_owned().view()).unwrap());
}

/// Sequential whatever the pool: the order of additions must not depend on the threads.
#[cfg(feature = "parallel")]
#[test]
fn thread_count_does_not_change_a_bit() {
    let (a, b, blocks) = (symmetric(200), definite(200), definite(300));
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            (
                cholesky(b.view()).unwrap(),
                inverse(&cholesky(blocks.view()).unwrap()),
                symmetric_eigen(a.view()).unwrap(),
                svd(a.view()).unwrap(),
                qr(a.view()).unwrap(),
            )
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(3));
}
