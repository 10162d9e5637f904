//! Graph estimation by thresholds: a score for every pair, and the pairs above a level.
//!
//! | score | formula | cost |
//! |---|---|---|
//! | [`correlation_scores`] | absolute correlation | O(p^2) |
//! | [`inverse_scores`] | absolute partial correlation of the inverse covariance; needs full rank | O(p^3) |
//! | [`mutual_information`] | `-log(1 - r^2) / 2`: the ranking of correlations | O(p^2) |
//! | [`conditional_mutual_information`] | smallest mutual information given one other variable, or two, or none | O(p^3), O(p^4) |
//! | [`conditional_covariance`], `eta = 1` | smallest absolute covariance given one other variable, or none | O(p^3), in tiles |
//! | the same, `eta = 2` | given two others, one, or none | O(p^4) |
//! | [`shortcut`](crate::shortcut::shortcut()) | as `eta = 1`, except for its sign rule | O(p^2.5) expected |
//!
//! All scores but the mutual informations are on the correlation scale. Source: A. Defazio, PhD thesis 2014, sections
//! 6.3.3, 6.3.4 and 8.1.

use fenchel_linalg::{Invalid, factor, lanes};
use fenchel_optim::Refusal;
use ndarray::{Array2, ArrayView2};

use crate::error::Error;
use crate::model::partials;
use crate::select::each;
use crate::singular::unexplained;
use crate::statistics::Statistics;
use crate::synthetic::Edges;

/// Pairs `(i, j)`, `i < j`, with a score of at least `level`, ascending.
///
/// # Errors
/// [`Invalid`] unless the matrix of scores is square; for a score above the diagonal or a level that is NaN.
pub fn edges_above(scores: ArrayView2<f64>, level: f64) -> Result<Edges, Error> {
    let p = Invalid::check_square("scores", scores.dim())?;
    if level.is_nan() {
        let (name, expected) = ("level", "a number");
        return Err(Invalid::Parameter { name, value: level, expected }.into());
    }
    let mut edges = Vec::new();
    for i in 0..p {
        for j in i + 1..p {
            let value = scores[[i, j]];
            if value.is_nan() {
                return Err(Invalid::NonFinite { what: "scores", row: i, column: j, value }.into());
            }
            if value >= level {
                edges.push((i as u32, j as u32));
            }
        }
    }
    Ok(edges)
}

/// Absolute correlations, 0 on the diagonal.
pub fn correlation_scores(statistics: &Statistics) -> Array2<f64> {
    let mut scores = statistics.correlation().0.mapv(f64::abs);
    scores.diag_mut().fill(0.0);
    scores
}

/// Absolute partial correlations from the inverse of the covariance matrix, 0 on the diagonal.
///
/// # Errors
/// [`Error::RankDeficient`] for a singular covariance matrix, as there is with fewer samples than variables.
pub fn inverse_scores(statistics: &Statistics) -> Result<Array2<f64>, Error> {
    let (correlation, _) = statistics.correlation();
    let hint = "take the graphical lasso or the shrunken covariances of `ledoit_wolf`";
    let singular = Error::RankDeficient { what: "thresholding of the inverse", hint };
    let Ok(found) = factor::cholesky(correlation.view()) else { return Err(singular) };
    let smallest = found.lower().diag().iter().copied().fold(f64::INFINITY, f64::min);
    if smallest < 1e-7 {
        return Err(singular);
    }
    let inverse = factor::inverse(&found);
    let mut scores = partials(inverse.view()).mapv(f64::abs);
    scores.diag_mut().fill(0.0);
    Ok(scores)
}

/// `-log(1 - r_ij^2) / 2` in nats; infinite for correlations that are perfect up to rounding, 0 on the diagonal.
pub fn mutual_information(statistics: &Statistics) -> Array2<f64> {
    let p = statistics.variables();
    correlation_scores(statistics).mapv(|r| information(r, p))
}

fn information(r: f64, p: usize) -> f64 {
    unexplained(r, p).map_or(f64::INFINITY, |_| -0.5 * (-r * r).ln_1p())
}

/// The minimum of the mutual information `-log(1 - r_ij^2) / 2` and of its conditional versions `-log(1 - r_ij.S^2) / 2` over
/// sets `S` of at most `eta` other variables.
///
/// # Errors
/// As [`conditional_covariance`].
pub fn conditional_mutual_information(
    statistics: &Statistics,
    eta: usize,
    allow_quartic: bool,
) -> Result<Array2<f64>, Error> {
    let c = check_sets("conditional mutual information", statistics, eta, allow_quartic)?;
    let p = c.nrows();
    // Variables that the others determine up to rounding have no partial correlation.
    let partial = |v: f64, i: f64, j: f64| {
        if i > 1e-12 && j > 1e-12 { v.abs() / (i * j).sqrt() } else { f64::INFINITY }
    };
    let mut best = correlation_scores(statistics);
    if eta >= 1 {
        let rows = each(p, |i| {
            let rest = |a: usize, k: usize| (1.0 - c[[a, k]]) * (1.0 + c[[a, k]]);
            let one = |j: usize| {
                let given = (0..p)
                    .filter(|&k| k != i && k != j)
                    .map(|k| partial(c[[i, j]] - c[[i, k]] * c[[j, k]], rest(i, k), rest(j, k)));
                given.fold(c[[i, j]].abs(), f64::min)
            };
            Ok((0..p).map(|j| if i == j { 0.0 } else { one(j) }).collect::<Vec<_>>())
        })?;
        best = Array2::from_shape_fn((p, p), |(i, j)| rows[i.max(j)][i.min(j)]);
    }
    if eta == 2 {
        given_two(&c, &mut best, partial)?;
    }
    Ok(best.mapv(|r| information(r.min(1.0), p)))
}

/// The smallest `|C_ij - C_iS C_SS^-1 C_Sj|` over sets `S` of at most `eta` other variables. Scores are on the
/// correlation scale, with 0 on the diagonal.
///
/// # Errors
/// [`Error::Refused`] for `eta` above 2, and for `eta = 2` with more than 500 variables unless `allow_quartic`;
/// [`Error::Invalid`] for statistics whose parts do not fit or are not finite.
pub fn conditional_covariance(
    statistics: &Statistics,
    eta: usize,
    allow_quartic: bool,
) -> Result<Array2<f64>, Error> {
    let c = check_sets("conditional covariance thresholding", statistics, eta, allow_quartic)?;
    if eta == 0 {
        return Ok(correlation_scores(statistics));
    }
    let mut best = conditional_one(&c)?;
    if eta == 2 {
        given_two(&c, &mut best, |v, _, _| v.abs())?;
    }
    Ok(best)
}

/// The correlations, once the statistics and the size of the sets are checked.
fn check_sets(
    method: &'static str,
    statistics: &Statistics,
    eta: usize,
    allow_quartic: bool,
) -> Result<Array2<f64>, Error> {
    statistics.check()?;
    if eta > 2 {
        return Err(Refusal::unsupported(method, "sets of more than two variables").into());
    }
    if eta == 2 && statistics.variables() > 500 && !allow_quartic {
        let what = "eta = 2 with more than 500 variables: its O(p^4) work must be asked for with allow_quartic";
        return Err(Refusal::unsupported(method, what).into());
    }
    Ok(statistics.correlation().0)
}

/// Lowers `best` to the least score given two other variables. The score is a function of the conditional covariance of a pair
/// and of the two conditional variances.
fn given_two(
    c: &Array2<f64>,
    best: &mut Array2<f64>,
    score: impl Fn(f64, f64, f64) -> f64 + Sync,
) -> Result<(), Error> {
    let p = c.nrows();
    // Given k, the covariances are one rank-one update away; given l as well, another.
    let one = |k: usize| {
        let mut left: Array2<f64> =
            Array2::from_shape_fn((p, p), |(i, j)| c[[i, j]] - c[[i, k]] * c[[k, j]]);
        let mut best = Array2::from_elem((p, p), f64::INFINITY);
        left.row_mut(k).fill(0.0);
        left.column_mut(k).fill(0.0);
        for l in k + 1..p {
            if left[[l, l]] <= 1e-12 {
                continue;
            }
            let rest: Vec<f64> =
                (0..p).map(|i| left[[i, i]] - left[[i, l]] * left[[i, l]] / left[[l, l]]).collect();
            for i in 0..p {
                let by = left[[i, l]] / left[[l, l]];
                if i == k || i == l {
                    continue;
                }
                for j in 0..i {
                    if j != k && j != l {
                        let v = score(left[[i, j]] - by * left[[l, j]], rest[i], rest[j]);
                        best[[i, j]] = f64::min(best[[i, j]], v);
                    }
                }
            }
        }
        Ok(best)
    };
    // A few at a time: all would be p matrices of p x p.
    for first in (0..p).step_by(16) {
        for other in each(16.min(p - first), |at| one(first + at))? {
            best.zip_mut_with(&other, |b, o| *b = b.min(*o));
        }
    }
    for i in 0..p {
        for j in 0..i {
            best[[j, i]] = best[[i, j]];
        }
    }
    Ok(())
}

/// Rows of a tile.
const ROWS: usize = 8;
/// Columns of a tile.
const COLUMNS: usize = 512;

/// The scores for `eta = 1`, from a correlation matrix.
pub(crate) fn conditional_one(c: &Array2<f64>) -> Result<Array2<f64>, Error> {
    let p = c.nrows();
    // With a zero diagonal the conditioning variables i and j change nothing.
    let mut hollow: Vec<f64> = c.iter().copied().collect();
    (0..p).for_each(|i| hollow[i * p + i] = 0.0);
    let blocks = each(p.div_ceil(ROWS), |block| {
        let top = block * ROWS;
        let rows = ROWS.min(p - top);
        let mut best: Vec<f64> =
            hollow[top * p..(top + rows) * p].iter().map(|v| v.abs()).collect();
        lanes::run(Conditional { p, hollow: &hollow, top, rows, best: &mut best });
        Ok(best)
    })?;
    let all: Vec<f64> = blocks.concat();
    Ok(Array2::from_shape_fn((p, p), |(i, j)| all[i.min(j) * p + i.max(j)]))
}

struct Conditional<'a> {
    p: usize,
    hollow: &'a [f64],
    top: usize,
    rows: usize,
    best: &'a mut [f64],
}

impl lanes::Kernel for Conditional<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let Conditional { p, hollow, top, rows, best } = self;
        // Columns before the block belong to other rows of the upper triangle.
        let mut from = top;
        while from < p {
            let to = (from + COLUMNS).min(p);
            for k in 0..p {
                let across = &hollow[k * p + from..k * p + to];
                for i in 0..rows {
                    let a = hollow[(top + i) * p + k];
                    let row = &hollow[(top + i) * p + from..(top + i) * p + to];
                    let best = &mut best[i * p + from..i * p + to];
                    for j in 0..best.len().min(row.len()).min(across.len()) {
                        best[j] = best[j].min((row[j] - a * across[j]).abs());
                    }
                }
            }
            from = to;
        }
    }
}
