//! Correlations that are robust to monotone transformations, ordinal scales and missing entries, and the repair of indefinite matrices.
//!
//! | function | for | cost |
//! |---|---|---|
//! | [`nonparanormal`] | monotone transformations of normal variables: normal scores of ranks | O(p n log n + n p^2) |
//! | [`spearman_bridge`] | the same: `2 sin(pi rho / 6)` | O(p n log n + n p^2) |
//! | [`kendall_bridge`] | the same, also with outliers: `sin(pi tau / 2)` | O(p^2 n log n) |
//! | [`polychoric`] | ordinal columns of latent normal variables | O(p^2 n) and one search per pair |
//! | [`nearest_correlation`] | a correlation matrix with negative eigenvalues | eigendecompositions |
//!
//! The matrices of the bridge functions and of pairwise estimates need not be positive semidefinite. Pass them through
//! [`nearest_correlation`], which also returns the distance by which they were changed. Sources: Liu, Lafferty and Wasserman, JMLR 10,
//! 2009; Liu et al., Annals of Statistics 40, 2012; Higham, IMA J. Numerical Analysis 22, 2002; A. Defazio, PhD thesis 2014, section
//! 6.2.

use fenchel_linalg::quadrature::{Rule, gauss_legendre};
use fenchel_linalg::special::erfcx;
use fenchel_linalg::text::exact;
use fenchel_linalg::{Invalid, factor};
use fenchel_optim::MAX_MEMORY;
use fenchel_optim::scalar::brent_maximum;
use ndarray::{Array1, Array2, ArrayView2};

use crate::error::Error;
use crate::select::each;
use crate::statistics::{Statistics, check_order};

/// Ranks from 1, ties share their mean.
fn midranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for group in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = before as f64 + (group.len() as f64 + 1.0) / 2.0;
        group.iter().for_each(|&i| ranks[i] = rank);
        before += group.len();
    }
    ranks
}

fn check(x: ArrayView2<f64>) -> Result<(), Error> {
    if x.nrows() < 2 || x.ncols() == 0 {
        return Err(Invalid::Empty { what: "data (at least two rows)" }.into());
    }
    for ((row, column), &value) in x.indexed_iter() {
        if !value.is_finite() {
            return Err(Invalid::NonFinite { what: "data", row, column, value }.into());
        }
    }
    Ok(())
}

/// Refuses columns that never vary: their rank correlations are undetermined, which is not the same as 0.
fn check_vary(x: ArrayView2<f64>) -> Result<(), Error> {
    let constant = |j: &usize| x.column(*j).iter().all(|v| *v == x[[0, *j]]);
    let columns: Vec<usize> = (0..x.ncols()).filter(constant).collect();
    if columns.is_empty() { Ok(()) } else { Err(Error::ZeroVariance { columns }) }
}

fn rank_columns(x: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
    check(x)?;
    let mut ranks = Array2::zeros(x.raw_dim());
    for (j, column) in x.columns().into_iter().enumerate() {
        ranks.column_mut(j).assign(&Array1::from(midranks(&column.to_vec())));
    }
    Ok(ranks)
}

/// Replaces every column by its normal scores `Phi^-1(rank / (n + 1))`, scaled to variance 1. The result can be passed to any estimator
/// of this crate.
///
/// # Errors
/// [`Invalid`] for fewer than two rows or entries that are not finite.
pub fn nonparanormal<'a>(x: impl Into<ArrayView2<'a, f64>>) -> Result<Array2<f64>, Error> {
    let x = x.into();
    let n = x.nrows() as f64;
    let mut scores = rank_columns(x)?.mapv(|r| normal_quantile(r / (n + 1.0)));
    for mut column in scores.columns_mut() {
        let variance = column.mapv(|v| v * v).sum() / n;
        if variance > 0.0 {
            column.mapv_inplace(|v| v / variance.sqrt());
        }
    }
    Ok(scores)
}

/// `2 sin(pi rho / 6)` of Spearman's rank correlations.
///
/// # Errors
/// As [`nonparanormal`]; [`Error::ZeroVariance`] for columns that never vary.
pub fn spearman_bridge<'a>(x: impl Into<ArrayView2<'a, f64>>) -> Result<Array2<f64>, Error> {
    let x = x.into();
    check(x)?;
    check_vary(x)?;
    let (rho, _) = Statistics::from_data(&rank_columns(x)?)?.correlation();
    let mut out = rho.mapv(|r| 2.0 * (std::f64::consts::PI * r / 6.0).sin());
    out.diag_mut().fill(1.0);
    Ok(out)
}

/// `sin(pi tau / 2)` of Kendall's tau-b.
///
/// # Errors
/// As [`spearman_bridge`].
pub fn kendall_bridge<'a>(x: impl Into<ArrayView2<'a, f64>>) -> Result<Array2<f64>, Error> {
    let x = x.into();
    check(x)?;
    let p = x.ncols();
    check_order(p, MAX_MEMORY)?;
    check_vary(x)?;
    let columns: Vec<Vec<f64>> = x.columns().into_iter().map(|c| c.to_vec()).collect();
    of_pairs(p, |i, j| (std::f64::consts::FRAC_PI_2 * tau(&columns[i], &columns[j])).sin())
}

/// The symmetric matrix with ones on the diagonal and `f(i, j)` for `j < i`, computed on all cores.
fn of_pairs(p: usize, f: impl Fn(usize, usize) -> f64 + Sync + Send) -> Result<Array2<f64>, Error> {
    let rows = each(p, |i| Ok((0..i).map(|j| f(i, j)).collect::<Vec<f64>>()))?;
    let at = |i: usize, j: usize| if i == j { 1.0 } else { rows[i.max(j)][i.min(j)] };
    Ok(Array2::from_shape_fn((p, p), |(i, j)| at(i, j)))
}

/// Kendall's tau-b, by a merge sort that counts exchanges (Knight 1966). The cost is O(n log n). The result is 0 if either sequence is
/// constant. If the lengths differ, the rest of the longer sequence is ignored.
pub fn tau(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    // Total order puts -0.0 before 0.0; they are ties.
    let plain = |x: &[f64]| -> Vec<f64> { x.iter().map(|v| v + 0.0).collect() };
    let (a, b) = (plain(a), plain(b));
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_unstable_by(|&i, &j| a[i].total_cmp(&a[j]).then(b[i].total_cmp(&b[j])));
    let pairs = |count: usize| (count * count.saturating_sub(1) / 2) as f64;
    let mut tied_a = 0.0;
    let mut both = 0.0;
    for group in order.chunk_by(|&i, &j| a[i] == a[j]) {
        tied_a += pairs(group.len());
        for same in group.chunk_by(|&i, &j| b[i] == b[j]) {
            both += pairs(same.len());
        }
    }
    let mut values: Vec<f64> = order.iter().map(|&i| b[i]).collect();
    let mut spare = values.clone();
    let exchanges = merge_sort(&mut values, &mut spare);
    let tied_b: f64 = values.chunk_by(|x, y| x == y).map(|g| pairs(g.len())).sum();
    let all = pairs(n);
    let scale = ((all - tied_a) * (all - tied_b)).sqrt();
    if scale > 0.0 { (all - tied_a - tied_b + both - 2.0 * exchanges) / scale } else { 0.0 }
}

fn merge_sort(values: &mut [f64], spare: &mut [f64]) -> f64 {
    let n = values.len();
    if n < 2 {
        return 0.0;
    }
    let half = n / 2;
    let (left, right) = values.split_at_mut(half);
    let (spare_left, spare_right) = spare.split_at_mut(half);
    let mut count = merge_sort(left, spare_left) + merge_sort(right, spare_right);
    let (mut i, mut j) = (0, 0);
    for slot in spare.iter_mut() {
        if j >= right.len() || (i < left.len() && left[i] <= right[j]) {
            *slot = left[i];
            i += 1;
        } else {
            *slot = right[j];
            j += 1;
            count += (left.len() - i) as f64;
        }
    }
    values.copy_from_slice(spare);
    count
}

/// Correlations of the latent normal variables behind ordinal columns. They are estimated by maximum likelihood for each pair, with the
/// thresholds from the margins. Categories can be any numbers, at most 50 per column. Estimates are limited to -0.999 and 0.999.
///
/// # Errors
/// As [`spearman_bridge`]; [`Invalid`] for a column of more than 50 different values: use [`kendall_bridge`] for such columns.
pub fn polychoric<'a>(x: impl Into<ArrayView2<'a, f64>>) -> Result<Array2<f64>, Error> {
    let x = x.into();
    check(x)?;
    let (n, p) = x.dim();
    check_order(p, MAX_MEMORY)?;
    check_vary(x)?;
    let coded: Vec<(Vec<usize>, Vec<f64>)> = x
        .columns()
        .into_iter()
        .enumerate()
        .map(|(at, column)| {
            let mut levels = column.to_vec();
            levels.sort_unstable_by(f64::total_cmp);
            levels.dedup();
            if levels.len() > 50 {
                let found = levels.len();
                let reason = format!(
                    "column {at} has {found} different values; expected at most 50 categories (see `kendall_bridge`)"
                );
                return Err(Error::from(Invalid::Layout { what: "data", reason }));
            }
            let codes: Vec<usize> =
                column.iter().map(|v| levels.partition_point(|l| l < v)).collect();
            let mut counts = vec![0.0; levels.len()];
            codes.iter().for_each(|&c| counts[c] += 1.0);
            let mut cuts = vec![f64::NEG_INFINITY];
            let mut sum = 0.0;
            for count in &counts[..counts.len() - 1] {
                sum += count;
                cuts.push(normal_quantile(sum / n as f64));
            }
            cuts.push(f64::INFINITY);
            Ok((codes, cuts))
        })
        .collect::<Result<_, _>>()?;
    let rule = gauss_legendre(20)?.between(0.0, 1.0);
    of_pairs(p, |i, j| polychoric_pair(&coded[i], &coded[j], &rule))
}

fn polychoric_pair(a: &(Vec<usize>, Vec<f64>), b: &(Vec<usize>, Vec<f64>), rule: &Rule) -> f64 {
    let (rows, columns) = (a.1.len() - 1, b.1.len() - 1);
    let mut table = vec![0.0; rows * columns];
    for (&i, &j) in a.0.iter().zip(&b.0) {
        table[i * columns + j] += 1.0;
    }
    let loss = |rho: f64| {
        let mut grid = vec![0.0; (rows + 1) * (columns + 1)];
        for i in 0..=rows {
            for j in 0..=columns {
                grid[i * (columns + 1) + j] = bivariate_normal(a.1[i], b.1[j], rho, rule);
            }
        }
        let at = |i: usize, j: usize| grid[i * (columns + 1) + j];
        let mut sum = 0.0;
        for i in 0..rows {
            for j in 0..columns {
                let count = table[i * columns + j];
                if count > 0.0 {
                    let mass = at(i + 1, j + 1) - at(i, j + 1) - at(i + 1, j) + at(i, j);
                    sum -= count * mass.max(1e-12).ln();
                }
            }
        }
        sum
    };
    // A likelihood that has one maximum.
    brent_maximum(|rho| -loss(rho), -0.999, 0.999, 1e-8)
}

/// `Phi(x)`.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    let t = x.abs() / std::f64::consts::SQRT_2;
    let tail = 0.5 * (-t * t).exp() * erfcx(t);
    if x < 0.0 { tail } else { 1.0 - tail }
}

/// `Phi^-1(q)` by Newton's method on the tail.
pub(crate) fn normal_quantile(q: f64) -> f64 {
    if !(q > 0.0) {
        return f64::NEG_INFINITY;
    }
    if !(q < 1.0) {
        return f64::INFINITY;
    }
    if q > 0.5 {
        return -normal_quantile(1.0 - q);
    }
    // On the logarithm the tail is concave and Newton's method comes from one side.
    let mut x = -((-2.0 * q.ln()).sqrt() - 0.5).max(0.0);
    for _ in 0..50 {
        let cdf = normal_cdf(x);
        let density = (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
        let step = cdf * (cdf / q).ln() / density;
        x -= step;
        if step.abs() <= 1e-15 * (1.0 + x.abs()) {
            break;
        }
    }
    x
}

/// `P(X <= a, Y <= b)` of standard normal variables with correlation `rho`, by a rule for `[0, 1]` on Plackett's integral over
/// the correlation.
fn bivariate_normal(a: f64, b: f64, rho: f64, rule: &Rule) -> f64 {
    if a == f64::NEG_INFINITY || b == f64::NEG_INFINITY {
        return 0.0;
    }
    if a == f64::INFINITY {
        return normal_cdf(b);
    }
    if b == f64::INFINITY {
        return normal_cdf(a);
    }
    // In the angle the integrand is smooth up to the ends.
    let angle = rho.asin();
    let sum = rule.sum(|share| {
        let s = (angle * share).sin();
        (-(a * a - 2.0 * a * b * s + b * b) / (2.0 * (1.0 - s * s))).exp()
    });
    normal_cdf(a) * normal_cdf(b) + angle * sum / std::f64::consts::TAU
}

/// A correlation matrix without negative eigenvalues, and how far it was moved.
#[derive(Debug, Clone, PartialEq)]
pub struct Repaired {
    /// The repaired matrix, with ones on the diagonal.
    pub correlation: Array2<f64>,
    /// The smallest eigenvalue before.
    pub smallest_before: f64,
    /// The Frobenius distance from the given matrix; 0 if that matrix was already a correlation matrix.
    pub distance: f64,
    /// The number of alternating projections, at most 500.
    pub iterations: usize,
    /// Whether the projections converged. The matrix is a correlation matrix in either case, but without convergence not the nearest
    /// one.
    pub converged: bool,
}

/// The nearest correlation matrix with eigenvalues of at least `floor`, by Higham's alternating projections.
///
/// # Errors
/// [`Invalid`] for a matrix that is not square, symmetric and finite, whose diagonal is not 1 but for rounding, or with an entry beyond
/// 1e6; a floor that is not in `[0, 1)`.
pub fn nearest_correlation(matrix: ArrayView2<f64>, floor: f64) -> Result<Repaired, Error> {
    if !(0.0..1.0).contains(&floor) {
        let expected = "in [0, 1)";
        return Err(Invalid::Parameter { name: "floor", value: floor, expected }.into());
    }
    let first = factor::symmetric_eigen(matrix)?;
    if let Some((i, d)) = matrix.diag().iter().enumerate().find(|(_, d)| (*d - 1.0).abs() > 1e-6) {
        let reason =
            format!("entry ({i}, {i}) is {d}; expected 1: divide by standard deviations first");
        return Err(Invalid::Layout { what: "correlation matrix", reason }.into());
    }
    // The rounding of a larger entry exceeds the tolerance of the iteration, next to a diagonal of 1.
    if let Some(((i, j), v)) = matrix.indexed_iter().find(|(_, v)| v.abs() > 1e6) {
        let reason =
            format!("entry ({i}, {j}) is {}; expected a correlation, at most 1e6", exact(*v));
        return Err(Invalid::Layout { what: "correlation matrix", reason }.into());
    }
    let smallest_before = first.values[0];
    if smallest_before >= floor && matrix.diag().iter().all(|&d| d == 1.0) {
        let correlation = matrix.to_owned();
        let (distance, iterations) = (0.0, 0);
        let converged = true;
        return Ok(Repaired { correlation, smallest_before, distance, iterations, converged });
    }
    let mut y = matrix.to_owned();
    let mut correction = Array2::<f64>::zeros(matrix.raw_dim());
    let mut iterations = 0;
    let mut converged = false;
    while !converged && iterations < 500 {
        iterations += 1;
        let r = &y - &correction;
        // A little above the floor, so that setting the diagonal does not undo it.
        let mut x = factor::symmetric_eigen(r.view())?.map(|l| l.max(floor));
        for i in 0..x.nrows() {
            for j in 0..i {
                let value = 0.5 * (x[[i, j]] + x[[j, i]]);
                x[[i, j]] = value;
                x[[j, i]] = value;
            }
        }
        correction = &x - &r;
        let before = y;
        y = x;
        y.diag_mut().fill(1.0);
        let change = (&y - &before).mapv(|d| d * d).sum().sqrt();
        converged = change <= 1e-10 * y.mapv(|v| v * v).sum().sqrt();
    }
    // What is left of the floor after the last projection on the diagonal: shrink by it.
    let smallest = factor::symmetric_eigen(y.view())?.values[0];
    if smallest < floor {
        let t = (floor - smallest) / (1.0 - smallest);
        y.indexed_iter_mut().filter(|((i, j), _)| i != j).for_each(|(_, v)| *v *= 1.0 - t);
    }
    let distance = (&y - &matrix).mapv(|d| d * d).sum().sqrt();
    Ok(Repaired { correlation: y, smallest_before, distance, iterations, converged })
}
