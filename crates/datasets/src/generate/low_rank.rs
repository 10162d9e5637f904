//! Dense samples near a low-dimensional subspace.

use fenchel_linalg::Invalid;
use fenchel_optim::settings;
use ndarray::{Array1, Array2};

use super::SplitMix64;
use crate::{Dataset, Error};

settings! {
    /// Settings of [`low_rank`].
    #[derive(Copy)]
    pub struct LowRank {
        /// Number of samples `n >= 1`.
        rows: usize = 5_000,
        /// Number of features `d >= 1`.
        columns: usize = 384,
        /// Rank `r` of the matrix, 1 to `min(n, d)`.
        rank: usize = 20,
        /// Standard deviation of the noise on the targets, finite and at least 0. Without noise the targets have variance about 1.
        noise: f64 = 0.1,
        /// Seed of the random numbers.
        seed: u64 = 7,
    }
}

/// What [`low_rank`] makes.
#[derive(Debug, Clone, PartialEq)]
pub struct LowRankData {
    /// Samples, `n x d`.
    pub x: Array2<f64>,
    /// Targets, `x weights + noise`.
    pub targets: Array1<f64>,
    /// The weights that generated the targets. If `r < d`, other weights explain the targets equally well.
    pub weights: Array1<f64>,
}

impl LowRankData {
    /// The regression task.
    pub fn regression(self) -> Dataset<Array2<f64>> {
        Dataset { x: self.x, y: self.targets }
    }
}

/// A dense regression task with a matrix of low rank, such as many correlated measurements of one object give. Least squares on it is
/// badly conditioned without a regulariser.
///
/// `x = U V / sqrt(r)` with standard normal `U` (`n x r`) and `V` (`r x d`), so that entries have variance 1. `weights` are
/// normal with variance `1/d`, and `targets = x weights + noise * normal`. The draws come in the order `V`, `weights`, then for
/// each sample its row of `U` and its noise. So a larger `n` extends the same data. O(n d r).
///
/// # Errors
/// [`Error::Invalid`] for settings out of the ranges of [`LowRank`], or if memory does not suffice.
pub fn low_rank(settings: &LowRank) -> Result<LowRankData, Error> {
    let LowRank { rows, columns, rank, noise, seed } = *settings;
    for (name, value) in [("rows", rows), ("columns", columns)] {
        if value == 0 {
            return Err(Invalid::Parameter { name, value: 0.0, expected: "at least 1" }.into());
        }
    }
    if rank == 0 || rank > rows.min(columns) {
        return Err(Invalid::Parameter {
            name: "rank",
            value: rank as f64,
            expected: "1 to min(rows, columns)",
        }
        .into());
    }
    Invalid::check_nonnegative("noise", noise)?;
    let too_large = || Invalid::Layout {
        what: "low_rank",
        reason: format!("a {rows} x {columns} matrix does not fit into memory"),
    };
    let mut entries: Vec<f64> = Vec::new();
    let size = rows.checked_mul(columns).ok_or_else(too_large)?;
    entries.try_reserve_exact(size).map_err(|_| too_large())?;

    let mut draws = SplitMix64::new(seed);
    // rank <= rows, so this is no larger than the matrix that has just been reserved.
    let directions = draws.normals(rank * columns);
    let scale = 1.0 / (columns as f64).sqrt();
    let weights: Vec<f64> = draws.normals(columns).iter().map(|z| scale * z).collect();
    let mut targets = Vec::with_capacity(rows);
    let mut row = vec![0.0; columns];
    for _ in 0..rows {
        let mut normals = draws.normals(rank + 1);
        let noise = noise * normals.pop().unwrap_or_default();
        row.fill(0.0);
        for (factor, direction) in normals.iter().zip(directions.chunks_exact(columns)) {
            let factor = factor / (rank as f64).sqrt();
            for (a, v) in row.iter_mut().zip(direction) {
                *a += factor * v;
            }
        }
        targets.push(row.iter().zip(&weights).map(|(a, w)| a * w).sum::<f64>() + noise);
        entries.extend_from_slice(&row);
    }
    let x = Array2::from_shape_vec((rows, columns), entries)
        .map_err(|error| Invalid::Layout { what: "low_rank", reason: error.to_string() })?;
    Ok(LowRankData { x, targets: Array1::from(targets), weights: Array1::from(weights) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: LowRank = LowRank { rows: 40, columns: 12, rank: 3, noise: 0.0, seed: 1 };

    /// The rank by Gaussian elimination with full pivoting.
    fn rank(mut x: Array2<f64>) -> usize {
        let (n, d) = x.dim();
        for step in 0..n.min(d) {
            let (mut row, mut column) = (step, step);
            for i in step..n {
                for j in step..d {
                    if x[[i, j]].abs() > x[[row, column]].abs() {
                        (row, column) = (i, j);
                    }
                }
            }
            if x[[row, column]].abs() < 1e-10 {
                return step;
            }
            for j in 0..d {
                x.swap([step, j], [row, j]);
            }
            for i in 0..n {
                x.swap([i, step], [i, column]);
            }
            for i in step + 1..n {
                let factor = x[[i, step]] / x[[step, step]];
                for j in step..d {
                    x[[i, j]] -= factor * x[[step, j]];
                }
            }
        }
        n.min(d)
    }

    #[test]
    fn the_matrix_has_its_rank_and_the_targets_their_weights() {
        let data = low_rank(&SMALL).unwrap();
        assert_eq!(rank(data.x.clone()), 3);
        let clean = data.x.dot(&data.weights);
        for (a, b) in clean.iter().zip(&data.targets) {
            assert!((a - b).abs() < 1e-12);
        }
        assert_eq!(rank(low_rank(&LowRank { rank: 12, ..SMALL }).unwrap().x), 12);
    }

    #[test]
    fn noise_has_the_size_asked_for() {
        let settings = LowRank { rows: 20_000, noise: 0.5, ..SMALL };
        let data = low_rank(&settings).unwrap();
        let noise = &data.targets - &data.x.dot(&data.weights);
        let variance = noise.iter().map(|e| e * e).sum::<f64>() / 20_000.0;
        // Five standard errors of the variance of a normal sample: 5 * 0.25 * sqrt(2/n).
        assert!((variance - 0.25).abs() < 0.0125, "{variance}");
    }

    #[test]
    fn more_samples_extend_the_same_data() {
        let noisy = LowRank { noise: 0.3, ..SMALL };
        let (short, long) =
            (low_rank(&noisy).unwrap(), low_rank(&LowRank { rows: 41, ..noisy }).unwrap());
        assert_eq!(short.x.row(39), long.x.row(39));
        assert_eq!(short.targets[39], long.targets[39]);
    }

    #[test]
    fn bad_settings_are_refused_by_name() {
        let refused = |settings: LowRank, expected: &str| {
            let error = low_rank(&settings).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        refused(LowRank { rows: 0, ..SMALL }, "rows = 0");
        refused(LowRank { columns: 0, ..SMALL }, "columns = 0");
        refused(LowRank { rank: 13, ..SMALL }, "rank = 13; expected 1 to min(rows, columns)");
        refused(LowRank { rank: 0, ..SMALL }, "rank = 0");
        refused(LowRank { noise: f64::NAN, ..SMALL }, "noise = NaN");
        refused(LowRank { noise: -1.0, ..SMALL }, "noise = -1");
        refused(LowRank { rows: usize::MAX, ..SMALL }, "low_rank: a 18446744073709551615 x 12");
    }
}
