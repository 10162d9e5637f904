//! The asymptotic normal distribution of SIR's directions.
//!
//! With `q_h = E[(x - m) 1{slice h}]`, the matrix of slice means is `M = sum_h q_h q_h' / p_h`. The influence of one
//! sample on these moments is
//!
//! ```text
//! d Sigma = (x - m)(x - m)' - Sigma
//! d q_h   = (x - m)(1{h} - p_h) - q_h - e_h (1{y <= b_h} - F_h) + e_{h-1} (1{y <= b_{h-1}} - F_{h-1})
//! d M     = sum_h (d q_h q_h' + q_h d q_h') / p_h
//! ```
//!
//! Here `b_h` are the upper edges of the slices, `F_h` is the distribution function of `y` at `b_h`, and
//! `e_h = E(x - m given y = b_h)`. The slices have fixed shares `p_h`, so their edges move with the sample. For classes
//! the edges are fixed: the `e_h` vanish, and `d M` has the additional term `-q_h q_h' (1{h} - p_h) / p_h^2`. The
//! resulting influence on a generalised eigenvector of `M v = mu Sigma v` is
//!
//! ```text
//! d v_k = sum_{j != k} v_j  v_j'(d M - mu_k d Sigma) v_k / (mu_k - mu_j)  -  v_k v_k' d Sigma v_k / 2
//! ```
//!
//! The covariance of the limit is the covariance of this influence over the samples. The result assumes only fourth
//! moments of the features, not normality. It is derived here; for normal features compare Hsing and Carroll, Annals of
//! Statistics 20 (1992).

use fenchel_linalg::special::chi_squared_tail;
use fenchel_linalg::{AsDesign, Gram, Invalid};
use ndarray::{Array1, Array2, ArrayView1, Axis};
use serde::{Deserialize, Serialize};

use super::intervals::normal_intervals;
use crate::accumulate::{Outer, SliceSums, plainly};
use crate::blocks::{Blocks, add_grams, checked, fold, rough_mean};
use crate::classic::Sir;
use crate::components::check_level;
use crate::error::Error;
use crate::fit::fit_blocks;
use crate::reducer::Reducer;
use crate::reduction::Reduction;
use crate::response::Response;

/// Loadings with their normal limit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectionIntervals {
    /// The fit.
    pub model: Reduction,
    /// Standard errors of the loadings, `d x k`.
    pub errors: Array2<f64>,
    /// Covariance of the loadings of each direction, `d x d`, of rank `d - 1`.
    pub covariances: Vec<Array2<f64>>,
}

impl DirectionIntervals {
    /// Lower and upper ends of intervals for the loadings at a level such as 0.95.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] unless the level lies between 0 and 1.
    pub fn intervals(&self, level: f64) -> Result<(Array2<f64>, Array2<f64>), Error> {
        Ok(normal_intervals(&self.model.loadings, &self.errors, level)?)
    }

    /// For every loading the probability of one as large if the feature had no part in the direction.
    pub fn p_values(&self) -> Array2<f64> {
        let mut p = &self.model.loadings / &self.errors;
        p.mapv_inplace(|z| chi_squared_tail(z * z, 1.0));
        p
    }

    /// Whether a direction lies in the joint confidence region of direction `k` (counted from 0) at a level. The
    /// statistic is chi-squared with `d - 1` degrees of freedom. Length and sign of the direction do not matter.
    ///
    /// # Errors
    /// [`Invalid::Length`] for a wrong number of features; [`Invalid::NonFinite`]; [`Invalid::Parameter`] if there is no direction
    /// `k`, for a direction of length 0, and unless the level lies between 0 and 1.
    pub fn contains(
        &self,
        k: usize,
        direction: ArrayView1<f64>,
        level: f64,
    ) -> Result<bool, Error> {
        let d = self.model.loadings.nrows();
        check_level(level)?;
        if k >= self.covariances.len().min(self.model.loadings.ncols()) {
            let expected = "less than the number of directions";
            return Err(Invalid::Parameter { name: "k", value: k as f64, expected }.into());
        }
        Invalid::check_length("direction", d, direction.len())?;
        Invalid::check_finite("direction", &direction.to_vec())?;
        // By its largest entry first: squares of entries near 1e-200 vanish.
        let largest = direction.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        Invalid::check_positive("length of the direction", largest)?;
        if d == 1 {
            return Ok(true);
        }
        let direction = &direction / largest;
        let estimate = self.model.loadings.column(k);
        let length = direction.dot(&direction).sqrt();
        let sign = estimate.dot(&direction).signum();
        let difference = &direction * (sign / length) - estimate;
        let eigen = fenchel_linalg::factor::symmetric_eigen(self.covariances[k].view())?;
        // The direction of the estimate itself has variance 0.
        let statistic: f64 = (1..d)
            .map(|j| difference.dot(&eigen.vectors.column(j)).powi(2) / eigen.values[j])
            .sum();
        Ok(chi_squared_tail(statistic, (d - 1) as f64) > 1.0 - level)
    }
}

/// Fits SIR, with the standard errors of its loadings. O(k n d^2 + H^2 d^2) beside the fit.
///
/// ```
/// use fenchel_moments::inference::sir_intervals;
/// use fenchel_moments::{Components, Sir, synthetic};
///
/// let features = synthetic::StandardFeatures(4);
/// let truth = ndarray::array![[1.0], [1.0], [0.0], [0.0]];
/// let problem = synthetic::multi_index(&features, truth, |z| (2.0 * z[0]).tanh(), 1000, 0.5, 1)?;
/// let sir = Sir { components: Components::Fixed(1), ..Sir::default() };
/// let found = sir_intervals(&sir, &problem.x, &problem.y)?;
/// let p = found.p_values();
/// assert!(p[[0, 0]] < 1e-6 && p[[1, 0]] < 1e-6 && p[[3, 0]] > 1e-3);
/// # Ok::<(), fenchel_moments::Error>(())
/// ```
///
/// # Errors
/// The errors of [`Sir::fit`].
pub fn sir_intervals<'a, X: AsDesign + ?Sized>(
    sir: &Sir,
    x: &X,
    y: impl Into<Response<'a>>,
) -> Result<DirectionIntervals, Error> {
    let (data, response) = (checked(x)?, y.into());
    response.check(data.count())?;
    intervals(sir, &data, &response)
}

fn intervals(
    sir: &Sir,
    data: &dyn Blocks,
    response: &Response,
) -> Result<DirectionIntervals, Error> {
    let spectrum = sir.spectrum(data, response)?;
    let model = fit_blocks(sir, data, response)?;
    let k = model.components();
    let (n, d) = (data.count(), data.width());
    let slices = response.slices(sir.slicing, sir.components.hint())?;
    let h = slices.len();
    let shares: Vec<f64> = slices.counts().iter().map(|&c| c as f64 / n as f64).collect();

    let shift = rough_mean(data);
    let mut sums = SliceSums::new(data, &slices, shift.view(), Outer::Plain, &plainly)?;
    let offset = sums.mean();
    sums.recentre(offset.view());
    let mean = shift + &offset;
    let covariance = &sums.plain / n as f64;
    // Generalised eigenvectors with v' Sigma v = 1, from those of length 1.
    let mut v = spectrum.vectors.clone();
    for mut column in v.columns_mut() {
        let scale = column.dot(&covariance.dot(&column)).sqrt();
        column /= scale;
    }
    // v_j' q_h
    let q = v.t().dot(&(&sums.sums / n as f64).t());
    let e = if response.is_classes() {
        Array2::zeros((d, h))
    } else {
        v.t().dot(&edge_means(data, response.values(), slices.edges(), &mean)?)
    };
    let constants = Constants::new(&shares, &q, &e, response.is_classes());
    let gaps = |k: usize, j: usize| spectrum.values[k] - spectrum.values[j];

    // Rows: coefficients of d v_k on the v_j.
    let parts = fold(
        data,
        || vec![Gram::new(d); k],
        |grams, first, rows| {
            let t = (&rows - &mean).dot(&v);
            for (i, t) in t.rows().into_iter().enumerate() {
                let own = slices.labels()[first + i] as usize;
                let Moves { slope, level } = &constants.slices[own];
                for (k, gram) in grams.iter_mut().enumerate() {
                    let mu = spectrum.values[k];
                    let moves = gram.next_row();
                    for j in 0..d {
                        moves[j] = if j == k {
                            -0.5 * (t[k] * t[k] - 1.0)
                        } else {
                            let m = t[j] * slope[k] + t[k] * slope[j] - level[[j, k]];
                            (m - mu * t[j] * t[k]) / gaps(k, j)
                        };
                    }
                }
            }
            Ok(())
        },
    )?;
    let mut by_direction: Vec<Vec<Gram>> = vec![vec![]; k];
    for part in parts {
        by_direction.iter_mut().zip(part).for_each(|(grams, gram)| grams.push(gram));
    }
    let outer: Vec<Array2<f64>> = by_direction.into_iter().map(|g| add_grams(g, d)).collect();
    let mut errors = Array2::zeros((d, k));
    let mut covariances = vec![];
    for (k, outer) in outer.into_iter().enumerate() {
        let in_x = v.dot(&(outer / (n as f64 * n as f64))).dot(&v.t());
        // To length 1: (I - u u') / ||v||.
        let u = model.loadings.column(k).insert_axis(Axis(1));
        let length = v.column(k).dot(&v.column(k)).sqrt();
        let map = (Array2::<f64>::eye(d) - u.dot(&u.t())) / length;
        let covariance = map.dot(&in_x).dot(&map.t());
        let covariance = (&covariance + &covariance.t()) * 0.5;
        for c in 0..d {
            errors[[c, k]] = covariance[[c, c]].max(0.0).sqrt();
        }
        covariances.push(covariance);
    }
    Ok(DirectionIntervals { model, errors, covariances })
}

/// The coefficients of `v_j' d M v_k` for a sample of a given slice: `t_j slope_k + t_k slope_j - level_jk`, with
/// `t = v' (x - m)`.
struct Moves {
    slope: Array1<f64>,
    level: Array2<f64>,
}

/// The constants of one slice. `d M` depends on a sample only through its slice and, linearly, through `t`.
struct Constants {
    slices: Vec<Moves>,
}

impl Constants {
    /// Columns of `q` and `e` are `v' q_h` and `v' e_h`. O(H^2 d + H^2 d^2) in all.
    fn new(shares: &[f64], q: &Array2<f64>, e: &Array2<f64>, classes: bool) -> Self {
        let (d, h) = q.dim();
        let ends: Vec<f64> = shares
            .iter()
            .scan(0.0, |sum, p| {
                *sum += p;
                Some(*sum)
            })
            .collect();
        let total = q.sum_axis(Axis(1));
        let weighted = Array2::from_shape_fn((d, h), |(j, s)| q[[j, s]] / shares[s]);
        let between = q.dot(&weighted.t());
        let of = |own: usize| {
            let fixed = Array2::from_shape_fn((d, h), |(j, s)| {
                // 1{y <= b_s} - F_s, for the upper and the lower edge.
                let upper = if s + 1 < h { f64::from(own <= s) - ends[s] } else { 0.0 };
                let lower =
                    if s > 0 { e[[j, s - 1]] * (f64::from(own < s) - ends[s - 1]) } else { 0.0 };
                q[[j, s]] + e[[j, s]] * upper - lower
            });
            let half = fixed.dot(&weighted.t());
            let mut level = &half + &half.t();
            if classes {
                // The share of the class moves as well.
                let column = weighted.column(own).insert_axis(Axis(1));
                level = level + column.dot(&column.t()) - &between;
            }
            Moves { slope: &weighted.column(own) - &total, level }
        };
        Constants { slices: (0..h).map(of).collect() }
    }
}

/// `E(x - m given y = b_h)` for every edge, as columns (the last slice has no upper edge). Each is estimated by the
/// mean over the `n^{3/5}` samples whose responses are nearest in rank.
fn edge_means(
    data: &dyn Blocks,
    y: &[f64],
    edges: &[f64],
    mean: &Array1<f64>,
) -> Result<Array2<f64>, Error> {
    let n = y.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_unstable_by(|&i, &j| y[i].total_cmp(&y[j]).then(i.cmp(&j)));
    let half = ((n as f64).powf(0.6) / 2.0).ceil() as usize;
    let mut means = Array2::zeros((mean.len(), edges.len() + 1));
    let mut row = Array2::zeros((1, mean.len()));
    for (h, &edge) in edges.iter().enumerate() {
        let rank = order.partition_point(|&i| y[i] <= edge);
        let near = &order[rank.saturating_sub(half)..(rank + half).min(n)];
        for &i in near {
            data.read(i, row.view_mut());
            means.column_mut(h).scaled_add(1.0 / near.len() as f64, &(&row.row(0) - mean));
        }
    }
    Ok(means)
}
