//! SPGEN: sparse data generated with integer arithmetic.

use fenchel_linalg::{CsrMatrix, Invalid};
use fenchel_optim::settings;
use ndarray::Array1;

use super::SplitMix64;
use crate::transform::normalise_rows;
use crate::{Dataset, Error};

settings! {
    /// Settings of [`spgen`].
    #[derive(Copy)]
    pub struct Spgen {
        /// Number of samples `n >= 1`.
        rows: usize = 20_000,
        /// Number of features `d`, 1 to 2^32 - 1.
        columns: usize = 5_000,
        /// Number of stored entries `k` of every row, 1 to `max(d - 1, 1)`.
        nonzeros: usize = 30,
        /// Half width of the uniform integer noise on the score. Without noise a score has a standard deviation of about
        /// `5600 sqrt(k)`.
        noise: u32 = 3_000,
        /// Whether every row is divided by its Euclidean norm.
        normalise: bool = true,
        /// Seed of the random numbers.
        seed: u64 = 7,
    }
}

/// The result of [`spgen`]: one matrix, two tasks, and the true weights.
///
/// Before normalisation `targets_i = a_i . weights + e_i`, where `e_i` is uniform on the multiples of 1/16,000 within
/// `noise`/16,000 of 0, and `labels_i` is the sign of `targets_i`. Normalisation divides `a_i` and does not change labels and
/// targets. So without noise labels are still linearly separable, while targets are no longer linear in the row.
#[derive(Debug, Clone, PartialEq)]
pub struct SpgenData {
    /// Samples, `n x d`; before normalisation every stored value is a multiple of 1/16 in (0, 1].
    pub x: CsrMatrix<f64>,
    /// Labels in {-1, +1}.
    pub labels: Array1<f64>,
    /// Regression targets.
    pub targets: Array1<f64>,
    /// The true weights, `d` multiples of 1/1,000 in [-1, 1].
    pub weights: Array1<f64>,
}

impl SpgenData {
    /// The classification task, labels in {-1, +1}.
    pub fn classification(self) -> Dataset<CsrMatrix<f64>> {
        Dataset { x: self.x, y: self.labels }
    }

    /// The regression task.
    pub fn regression(self) -> Dataset<CsrMatrix<f64>> {
        Dataset { x: self.x, y: self.targets }
    }
}

/// Sparse samples with very uneven frequencies of the columns, as for words, and with labels and targets from known weights.
///
/// With `next()` for a draw of SplitMix64, the generator makes:
/// 1. a weight `next() % 2001 - 1000` per column;
/// 2. in each row, `k` distinct columns `u v / d` (rounded down), where `u` and `v` are `next() % d`, so that low columns are
///    frequent and high ones rare;
/// 3. for the columns in ascending order, a value `m / 16` with `m = 1 + next() % 16`;
/// 4. a score `sum m * weight + next() % (2 noise + 1) - noise`. The label is +1 if the score is not negative, and the target
///    is the score divided by 16,000.
///
/// All arithmetic up to the division by the norm is with integers, so that the result is the same everywhere. The cost is O(n k
/// log k) if `k` is small compared with `d`. The last columns are very rare (column `d - 2` has probability `1/d^2`), so that
/// `k` near `d` takes about `d^2` draws per row.
///
/// ```
/// use fenchel_datasets::generate::{Spgen, spgen};
///
/// let data = spgen(&Spgen { rows: 100, columns: 50, nonzeros: 5, ..Spgen::default() })?;
/// assert_eq!((data.x.shape(), data.x.nnz()), ((100, 50), 500));
/// let task = data.classification();
/// assert!(task.y.iter().all(|&y| y == 1.0 || y == -1.0));
/// # Ok::<(), fenchel_datasets::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] for settings out of the ranges of [`Spgen`], or if memory does not suffice.
/// Column `d - 1` is never drawn for `d >= 2`, because `(d-1)^2 / d < d - 1`. So `k = d` is out of range.
pub fn spgen(settings: &Spgen) -> Result<SpgenData, Error> {
    let Spgen { rows, columns, nonzeros, noise, normalise, seed } = *settings;
    let refuse = |name, value: usize, expected| {
        Err(Invalid::Parameter { name, value: value as f64, expected }.into())
    };
    if rows == 0 {
        return refuse("rows", rows, "at least 1");
    }
    if columns == 0 || columns > u32::MAX as usize {
        return refuse("columns", columns, "1 to 4294967295");
    }
    if nonzeros == 0 || nonzeros > (columns - 1).max(1) {
        return refuse("nonzeros", nonzeros, "1 to columns - 1, or 1 for a single column");
    }

    let mut draws = SplitMix64::new(seed);
    let mut weights = reserved::<i64>(Some(columns))?;
    weights.extend((0..columns).map(|_| (draws.next() % 2001) as i64 - 1000));

    let entries = rows.checked_mul(nonzeros);
    let mut offsets = reserved::<usize>(rows.checked_add(1))?;
    let mut indices = reserved::<u32>(entries)?;
    let mut values = reserved::<f64>(entries)?;
    let mut scores = reserved::<i64>(Some(rows))?;
    let mut chosen: Vec<u32> = reserved(Some(nonzeros))?;
    let d = columns as u64;
    let half_width = i64::from(noise);
    offsets.push(0);
    for _ in 0..rows {
        chosen.clear();
        while chosen.len() < nonzeros {
            let (u, v) = (draws.next() % d, draws.next() % d);
            // d < 2^32, so the product fits 64 bits and the quotient 32.
            let column = (u * v / d) as u32;
            if let Err(place) = chosen.binary_search(&column) {
                chosen.insert(place, column);
            }
        }
        let mut score = 0;
        for &column in &chosen {
            let m = 1 + draws.next() % 16;
            indices.push(column);
            values.push(m as f64 / 16.0);
            score += m as i64 * weights[column as usize];
        }
        let width = 2 * u64::from(noise) + 1;
        scores.push(score + (draws.next() % width) as i64 - half_width);
        offsets.push(indices.len());
    }

    let mut x = CsrMatrix::try_new((rows, columns), offsets, indices, values)
        .map_err(|(_, _, _, error)| Invalid::Layout { what: "x", reason: error.to_string() })?;
    if normalise {
        normalise_rows(&mut x);
    }
    Ok(SpgenData {
        x,
        labels: scores.iter().map(|&score| if score >= 0 { 1.0 } else { -1.0 }).collect(),
        targets: scores.iter().map(|&score| score as f64 / 16_000.0).collect(),
        weights: weights.iter().map(|&weight| weight as f64 / 1_000.0).collect(),
    })
}

/// An empty vector with capacity for `capacity` entries. It is an error if the memory does not suffice, where a plain `Vec`
/// would abort.
fn reserved<T>(capacity: Option<usize>) -> Result<Vec<T>, Invalid> {
    let mut vector = Vec::new();
    match capacity.map(|capacity| vector.try_reserve_exact(capacity)) {
        Some(Ok(())) => Ok(vector),
        _ => Err(Invalid::Layout {
            what: "spgen",
            reason: "a matrix of this size does not fit into memory".into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check values of the specification: n = 5, d = 20, k = 3, seed 42, noise 500.
    const CHECK: Spgen =
        Spgen { rows: 5, columns: 20, nonzeros: 3, noise: 500, normalise: true, seed: 42 };

    #[test]
    fn the_check_values_come_out() {
        let data = spgen(&CHECK).unwrap();
        assert_eq!(data.x.indices(), [0, 2, 3, 0, 8, 11, 1, 4, 13, 1, 6, 8, 0, 1, 2]);
        assert_eq!(data.labels.to_vec(), [-1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(data.targets.to_vec(), [-0.924875, 0.0705, 0.342375, 0.92225, 0.73375]);
        assert_eq!(data.x.data()[0], 0.31799936400190804);
    }

    #[test]
    fn targets_are_the_weights_and_bounded_noise() {
        let data = spgen(&Spgen { rows: 200, normalise: false, ..CHECK }).unwrap();
        let mut largest = 0.0f64;
        for (row, &target) in data.x.outer_iterator().zip(&data.targets) {
            let clean: f64 = row.iter().map(|(c, a)| a * data.weights[c]).sum();
            largest = largest.max((target - clean).abs());
        }
        // 500/16000 and rounding; of 200 uniform draws one comes near the end.
        assert!((0.9 * 0.03125..=0.03125 + 1e-12).contains(&largest), "{largest}");
    }

    #[test]
    fn every_column_that_can_be_drawn_is_reached() {
        let data = spgen(&Spgen { rows: 3, columns: 7, nonzeros: 6, ..CHECK }).unwrap();
        for row in data.x.outer_iterator() {
            assert_eq!(row.indices(), [0, 1, 2, 3, 4, 5]);
        }
        assert_eq!(spgen(&Spgen { columns: 1, nonzeros: 1, ..CHECK }).unwrap().x.nnz(), 5);
        assert_eq!(spgen(&Spgen { columns: 2, nonzeros: 1, ..CHECK }).unwrap().x.nnz(), 5);
    }

    #[test]
    fn settings_that_would_never_end_are_refused() {
        let refused = |settings: Spgen, expected: &str| {
            let error = spgen(&settings).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        refused(Spgen { nonzeros: 21, ..CHECK }, "nonzeros = 21; expected 1 to columns - 1");
        refused(Spgen { nonzeros: 20, ..CHECK }, "nonzeros = 20");
        refused(Spgen { nonzeros: 0, ..CHECK }, "nonzeros = 0");
        refused(Spgen { columns: 0, ..CHECK }, "columns = 0");
        refused(Spgen { columns: 1 << 32, ..CHECK }, "columns = 4294967296");
        refused(Spgen { rows: 0, ..CHECK }, "rows = 0");
        refused(Spgen { rows: usize::MAX, ..CHECK }, "spgen: a matrix of this size");
        refused(Spgen { rows: usize::MAX / 16, ..CHECK }, "spgen: a matrix of this size");
    }
}
