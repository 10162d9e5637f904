//! SHORTCUT: conditional covariance thresholding in expected time O(p^2.5).
//!
//! ```text
//! W_ij = max(0, |r_ij| - max(0, max_{k != i,j} sign(r_ij) r_ik r_kj))
//! ```
//!
//! The inner maximum over `k` is the largest product of the entries of two sequences whose sorted orders are known. The
//! algorithm goes down both sorted lists at once. It may stop as soon as the product of the two current values is at
//! most the best product so far, because all later values are smaller in both lists. If the two orders are independent,
//! it examines about `sqrt(p)` pairs (McAuley and Caetano, JMLR 12, 2011).
//!
//! The algorithm printed in A. Defazio, PhD thesis 2014 (algorithm 8.2) stops when an element already seen comes before
//! the current position in the other list. For this test it needs the inverse orders. The test by values used here
//! never stops later, because such an element has a product at least as large as all later ones. It also saves a third
//! of the memory. [`max_product`] implements the printed algorithm.
//!
//! Memory: three matrices of `p^2` numbers of the storage type or of 32 bits. Source: A. Defazio, PhD thesis 2014,
//! section 8.1, algorithms 8.1 and 8.2, with the corrections listed in the README.

use fenchel_linalg::{Invalid, Scalar, parallel};
use fenchel_optim::Refusal;
use ndarray::{Array2, ArrayView2};

use crate::error::Error;

/// A correlation matrix with every row sorted. It is computed once and serves both the full matrix of weights and the
/// edges above a threshold.
#[derive(Debug, Clone)]
pub struct Shortcut<T> {
    p: usize,
    correlation: Vec<T>,
    /// Row by row: positive entries falling, then negative ones by falling size, without the diagonal and zeros.
    order: Vec<u32>,
    /// The values in that order.
    sorted: Vec<T>,
    /// The start and the end of the negative entries of each row.
    ends: Vec<(u32, u32)>,
}

/// The size in bytes of the rows of a tile. They stay in the private cache of a core while other rows are read.
const TILE_BYTES: usize = 1 << 18;
/// The size of a cache line in bytes.
const LINE_BYTES: usize = 64;

impl<T: Scalar> Shortcut<T> {
    /// Sorts the rows of a correlation matrix. O(p^2 log p).
    ///
    /// # Errors
    /// [`Invalid`] for a matrix that is not square, not finite, not symmetric or of other numbers than correlations, with ones on the diagonal; [`Error::Refused`] beyond `max_memory` bytes.
    pub fn new(correlation: ArrayView2<T>, max_memory: Option<u64>) -> Result<Self, Error> {
        let what = "correlation";
        let p = Invalid::check_square(what, correlation.dim())?;
        let bytes = (p as u64).pow(2).saturating_mul(2 * size_of::<T>() as u64 + 4);
        let hint = "store the correlations as f32, or raise max_memory";
        Refusal::check_memory("SHORTCUT", bytes, max_memory, hint)?;
        for ((row, column), v) in correlation.indexed_iter() {
            let value = v.to_f64();
            if !value.is_finite() {
                return Err(Invalid::NonFinite { what, row, column, value }.into());
            }
            // Rounding in single precision may go a little beyond.
            if value.abs() > 1.001 {
                let reason = format!("entry ({row}, {column}) is {value}; expected a correlation");
                return Err(Invalid::Layout { what, reason }.into());
            }
        }
        for (i, v) in correlation.diag().iter().enumerate() {
            let value = v.to_f64();
            if (value - 1.0).abs() > 1e-3 {
                let reason =
                    format!("entry ({i}, {i}) is {value}; expected 1, as of a correlation");
                return Err(Invalid::Layout { what, reason }.into());
            }
        }
        let correlation: Vec<T> = correlation.iter().copied().collect();
        if let Some((i, j)) = asymmetric(&correlation, p) {
            let (a, b) = (correlation[i * p + j].to_f64(), correlation[j * p + i].to_f64());
            let reason = format!("entry ({i}, {j}) is {a} but ({j}, {i}) is {b}");
            return Err(Invalid::Layout { what, reason }.into());
        }
        let mut order = vec![0_u32; p * p];
        let mut sorted = correlation.clone();
        let sort = |(i, (order, sorted)): (usize, (&mut [u32], &mut [T]))| {
            let row = &correlation[i * p..][..p];
            let value = |k: u32| row[k as usize].to_f64();
            let mut kept: Vec<u32> =
                (0..p as u32).filter(|&k| k as usize != i && value(k) != 0.0).collect();
            kept.sort_unstable_by(|&a, &b| {
                let (x, y) = (value(a), value(b));
                (y > 0.0).cmp(&(x > 0.0)).then(y.abs().total_cmp(&x.abs())).then(a.cmp(&b))
            });
            for (at, &k) in kept.iter().enumerate() {
                order[at] = k;
                sorted[at] = row[k as usize];
            }
            let positive = kept.iter().take_while(|&&k| value(k) > 0.0).count();
            (positive as u32, kept.len() as u32)
        };
        let lists = order.chunks_mut(p).zip(sorted.chunks_mut(p));
        let ends = parallel::map(lists.enumerate(), sort);
        Ok(Shortcut { p, correlation, order, sorted, ends })
    }

    /// All weights `W`, symmetric, 0 on the diagonal.
    pub fn weights(&self) -> Array2<f64> {
        let mut weights = Array2::zeros((self.p, self.p));
        for (i, j, w) in self.search(0.0) {
            weights[[i as usize, j as usize]] = w;
        }
        // The other triangle in squares: a column at a time would touch a line of memory an entry.
        let square = 64;
        for top in (0..self.p).step_by(square) {
            for left in (0..=top).step_by(square) {
                for i in top..(top + square).min(self.p) {
                    for j in left..(left + square).min(i) {
                        weights[[i, j]] = weights[[j, i]];
                    }
                }
            }
        }
        weights
    }

    /// The pairs `(i, j, W_ij)`, `i < j`, with `W_ij >= threshold` and `W_ij > 0`, ascending. A higher threshold makes
    /// the search faster.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a threshold that is negative or not finite.
    pub fn edges(&self, threshold: f64) -> Result<Vec<(u32, u32, f64)>, Error> {
        Invalid::check_nonnegative("threshold", threshold)?;
        let mut edges = self.search(threshold);
        edges.sort_unstable_by_key(|&(i, j, _)| (i, j));
        Ok(edges)
    }

    fn search(&self, threshold: f64) -> Vec<(u32, u32, f64)> {
        let rows = (TILE_BYTES / (self.p.max(1) * size_of::<T>())).clamp(2, 32);
        let tiles = self.p.div_ceil(rows);
        let range = |tile: usize| tile * rows..((tile + 1) * rows).min(self.p);
        let tile = |a: usize| {
            let mut found = Vec::new();
            for b in a..tiles {
                // With a threshold few pairs of a tile are searched at all.
                if threshold == 0.0 {
                    range(b).for_each(|j| self.fetch(j));
                }
                for i in range(a) {
                    for j in range(b).skip_while(|&j| j <= i) {
                        let w = self.weight(i, j, threshold);
                        if w > 0.0 && w >= threshold {
                            found.push((i as u32, j as u32, w));
                        }
                    }
                }
            }
            found
        };
        parallel::map(0..tiles, tile).concat()
    }

    /// Loads a row and the heads of its lists into the cache, because the search will access them in random order.
    fn fetch(&self, j: usize) {
        let mut sum = 0.0;
        let step = LINE_BYTES / size_of::<T>();
        let row = &self.correlation[j * self.p..][..self.p];
        row.iter().step_by(step).for_each(|v| sum += v.to_f64());
        for positive in [true, false] {
            let (order, values) = self.list(j, positive);
            let head = 4 * step.min(values.len());
            values.iter().take(head).step_by(step).for_each(|v| sum += v.to_f64());
            order.iter().take(head).step_by(step).for_each(|&k| sum += f64::from(k));
        }
        std::hint::black_box(sum);
    }

    fn weight(&self, i: usize, j: usize, threshold: f64) -> f64 {
        let r = self.correlation[i * self.p + j].to_f64();
        let size = r.abs();
        if size < threshold || size == 0.0 {
            return 0.0;
        }
        // From here on the pair is out.
        let enough = size - threshold;
        let (pi, pj) = (self.list(i, true), self.list(j, true));
        let (ni, nj) = (self.list(i, false), self.list(j, false));
        let pairs = if r > 0.0 { [(pi, pj), (ni, nj)] } else { [(pi, nj), (ni, pj)] };
        let sign = r.signum();
        let (row_i, row_j) =
            (&self.correlation[i * self.p..][..self.p], &self.correlation[j * self.p..][..self.p]);
        let mut best = 0.0;
        for ((order_i, values_i), (order_j, values_j)) in pairs {
            let length = order_i.len().min(order_j.len());
            for s in 0..length {
                let (a, b) = (values_i[s].to_f64().abs(), values_j[s].to_f64().abs());
                if a * b <= best {
                    break;
                }
                let (k, l) = (order_i[s] as usize, order_j[s] as usize);
                // The diagonal is in no list, but k = j stands in that of i.
                if k != j {
                    best = f64::max(best, sign * values_i[s].to_f64() * row_j[k].to_f64());
                }
                if l != i {
                    best = f64::max(best, sign * values_j[s].to_f64() * row_i[l].to_f64());
                }
                if threshold > 0.0 && best > enough {
                    return 0.0;
                }
            }
        }
        (size - best).max(0.0)
    }

    fn list(&self, i: usize, positive: bool) -> (&[u32], &[T]) {
        let (split, end) = (self.ends[i].0 as usize, self.ends[i].1 as usize);
        let range = if positive { 0..split } else { split..end };
        let from = i * self.p;
        (&self.order[from..][range.clone()], &self.sorted[from..][range])
    }
}

/// The first entry below the diagonal that differs from its mirror image by more than the rounding of correlations. The
/// matrix is compared in square tiles, because a whole column would load one cache line per entry.
fn asymmetric<T: Scalar>(matrix: &[T], p: usize) -> Option<(usize, usize)> {
    const SQUARE: usize = 64;
    let apart =
        |i: usize, j: usize| (matrix[i * p + j].to_f64() - matrix[j * p + i].to_f64()).abs();
    let mut corners =
        (0..p).step_by(SQUARE).flat_map(|t| (0..=t).step_by(SQUARE).map(move |l| (t, l)));
    corners.find_map(|(top, left)| {
        let mut pairs = (top..(top + SQUARE).min(p))
            .flat_map(|i| (left..(left + SQUARE).min(i)).map(move |j| (i, j)));
        pairs.find(|&(i, j)| apart(i, j) > 1e-3)
    })
}

/// The SHORTCUT weights of a correlation matrix. `W_ij` is at most the score of
/// [`conditional_covariance`](crate::threshold::conditional_covariance) with `eta = 1`.
///
/// # Errors
/// As [`Shortcut::new`].
pub fn shortcut(correlation: ArrayView2<f64>) -> Result<Array2<f64>, Error> {
    Ok(Shortcut::new(correlation, None)?.weights())
}

/// The result of [`max_product`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MaxProduct {
    /// `max_k a_k b_k`, 0 for empty lists.
    pub value: f64,
    /// How many products were computed.
    pub products: usize,
}

/// `max_k a_k b_k` for non-negative values whose decreasing orders are known, as printed in A. Defazio, PhD thesis
/// 2014, algorithm 8.2. The expected cost is O(sqrt m) for independent orders, and O(m) in the worst case.
///
/// `order_a` lists all positions of `a` by decreasing value, and `order_b` those of `b`.
///
/// # Errors
/// [`Invalid::Length`] unless all four have the same length; [`Invalid::Layout`] for orders that are no permutations, or along which the values
/// rise or are negative.
pub fn max_product(
    a: &[f64],
    order_a: &[usize],
    b: &[f64],
    order_b: &[usize],
) -> Result<MaxProduct, Error> {
    let m = a.len();
    Invalid::check_length("b", m, b.len())?;
    let inverse = |order: &[usize]| {
        Invalid::check_length("order", m, order.len())?;
        let mut position = vec![usize::MAX; m];
        for (at, &k) in order.iter().enumerate() {
            if k >= m || position[k] != usize::MAX {
                let reason = format!("{k} at {at}; expected each of 0..{m} once");
                return Err(Invalid::Layout { what: "order", reason });
            }
            position[k] = at;
        }
        Ok(position)
    };
    let (position_a, position_b) = (inverse(order_a)?, inverse(order_b)?);
    for (values, order) in [(a, order_a), (b, order_b)] {
        let mut before = f64::INFINITY;
        for &k in order {
            if !(values[k] <= before && values[k] >= 0.0) {
                let reason = format!(
                    "value {k} is {}, after {before}; expected none above it or below 0",
                    values[k]
                );
                return Err(Invalid::Layout { what: "order", reason }.into());
            }
            before = values[k];
        }
    }
    let (mut end_a, mut end_b) = (m, m);
    let mut found = MaxProduct { value: 0.0, products: 0 };
    let mut s = 0;
    while s < end_a && s < end_b {
        for k in [order_a[s], order_b[s]] {
            found.value = found.value.max(a[k] * b[k]);
            found.products += 1;
        }
        end_b = end_b.min(position_b[order_a[s]]);
        end_a = end_a.min(position_a[order_b[s]]);
        s += 1;
    }
    Ok(found)
}
