//! Penalties chosen from data: cross-validation, StARS (stability approach to regularisation selection), and stability selection.
//!
//! | function | chooses | cost |
//! |---|---|---|
//! | [`GraphicalLassoCv`] | the penalty with the best held-out likelihood: for prediction | `folds` paths |
//! | [`stars()`] | the smallest penalty whose graphs are still stable over subsamples: keeps all true edges, and some false ones | `subsamples` paths |
//! | [`stability_selection()`] | edges that are selected in most half-samples, with a bound on the expected number of false ones | `2 pairs` fits |
//!
//! Source: Liu, Roeder and Wasserman, NIPS 2010 (StARS); Meinshausen and Buehlmann, JRSS B 72, 2010; Shah and Samworth,
//! JRSS B 75, 2013 (complementary pairs).

use fenchel_linalg::{AsDesign, Invalid};
use fenchel_metrics::k_fold;
use fenchel_optim::random::stream;
use fenchel_optim::{MAX_MEMORY, Stop};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use rand::seq::SliceRandom;
#[cfg(feature = "parallel")]
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::glasso::default_stop;
use crate::path::Path;
use crate::statistics::dense;
use crate::{
    Error, GaussianModel, GraphicalLasso, Method, Problem, Scale, Statistics, Weights, grid,
};

/// Applies a function to every item, on all cores. The results are in order.
pub(crate) fn each<T: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<T, Error> + Sync + Send,
) -> Result<Vec<T>, Error> {
    #[cfg(feature = "parallel")]
    return (0..count).into_par_iter().map(work).collect();
    #[cfg(not(feature = "parallel"))]
    return (0..count).map(work).collect();
}

/// The [`GraphicalLasso`] with the penalty that predicts held-out samples best.
///
/// | field | default | meaning |
/// |---|---|---|
/// | `penalties` | `None`: 20 from the largest correlation to 1/100 of it | the grid |
/// | `folds` | 5 | parts of the data, each left out once |
/// | `one_standard_error` | false | the largest penalty within one standard error of the best: sparser graphs |
/// | `scale` | correlation | what the penalty refers to |
/// | `method` | QUIC | of every fit |
/// | `stop` | gap 1e-6 | of every fit |
/// | `max_memory` | 4 GiB | of every fit; `None`: no limit |
/// | `seed` | 0 | of the folds |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GraphicalLassoCv {
    /// The grid of penalties.
    pub penalties: Option<Vec<f64>>,
    /// Number of folds.
    pub folds: usize,
    /// Whether the largest penalty within a standard error of the best is taken.
    pub one_standard_error: bool,
    /// The scale of the penalty.
    pub scale: Scale,
    /// The solver for each connected component.
    pub method: Method,
    /// The stopping rule of a fit.
    pub stop: Stop,
    /// Bytes that a fit may allocate.
    pub max_memory: Option<u64>,
    /// Seed of the folds.
    pub seed: u64,
}

impl Default for GraphicalLassoCv {
    fn default() -> Self {
        GraphicalLassoCv {
            penalties: None,
            folds: 5,
            one_standard_error: false,
            scale: Scale::Correlation,
            method: Method::Quic,
            stop: default_stop(),
            max_memory: MAX_MEMORY,
            seed: 0,
        }
    }
}

/// The result of cross-validation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CrossValidated {
    /// The model of all data at the chosen penalty.
    pub model: GaussianModel,
    /// The chosen penalty.
    pub l1: f64,
    /// Penalties, falling.
    pub penalties: Vec<f64>,
    /// `<C_test, Theta> - log det Theta`, the mean over folds, one number per penalty.
    pub loss: Vec<f64>,
    /// Standard errors of the means.
    pub standard_error: Vec<f64>,
}

/// A grid of 20 penalties for the data.
pub(crate) fn default_grid(statistics: &Statistics, scale: Scale) -> Result<Vec<f64>, Error> {
    let largest = match scale {
        Scale::Covariance => Problem::largest_weight(statistics.covariance.view()),
        Scale::Correlation => Problem::largest_weight(statistics.correlation().0.view()),
    };
    grid(if largest > 0.0 { largest } else { 1.0 }, 0.01, 20)
}

impl GraphicalLassoCv {
    /// Chooses the penalty and fits all data with it.
    ///
    /// # Errors
    /// As [`GraphicalLasso::fit`]; [`Error::Invalid`] for fewer than two folds or more folds than rows.
    pub fn fit<X: AsDesign + ?Sized>(&self, x: &X) -> Result<CrossValidated, Error> {
        let statistics = Statistics::from_data_within(x, self.max_memory)?;
        self.choose(dense(x)?.view(), None, &statistics)
    }

    /// As [`fit`](GraphicalLassoCv::fit), with one weight `>= 0` per row. The weights are used in the fits and in the held-out
    /// likelihood; only their ratios matter.
    ///
    /// # Errors
    /// As `fit`, for weights of the wrong length, negative, or all 0, and for a fold, or all rows outside of one, whose weights are all 0.
    pub fn fit_weighted<'a, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        weights: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<CrossValidated, Error> {
        let weights = weights.into();
        let statistics = Statistics::weighted_within(x, weights, self.max_memory)?;
        self.choose(dense(x)?.view(), Some(weights), &statistics)
    }

    fn choose(
        &self,
        x: ArrayView2<f64>,
        weights: Option<ArrayView1<f64>>,
        statistics: &Statistics,
    ) -> Result<CrossValidated, Error> {
        let penalties = match &self.penalties {
            Some(penalties) => penalties.clone(),
            None => default_grid(statistics, self.scale)?,
        };
        let lasso = GraphicalLasso {
            l1: Weights::Uniform(1.0),
            scale: self.scale,
            method: self.method,
            stop: self.stop,
            max_memory: self.max_memory,
        };
        let splits = k_fold(x.nrows(), self.folds, self.seed)?;
        let losses = each(splits.len(), |k| {
            let (train, test) = &splits[k];
            let rows = x.select(Axis(0), train);
            let of = |rows: &[usize]| weights.map(|w| w.select(Axis(0), rows));
            let statistics = match of(train) {
                Some(w) => Statistics::weighted_within(&rows, w.view(), self.max_memory)?,
                None => Statistics::from_data_within(&rows, self.max_memory)?,
            };
            let path = within("the rows outside fold", k, lasso.fit_path(&statistics, &penalties))?;
            held_out(&path, x.select(Axis(0), test).view(), of(test))
        })?;
        let path = lasso.fit_path(statistics, &penalties)?;
        let count = losses.len() as f64;
        let (mut loss, mut standard_error) = (Vec::new(), Vec::new());
        for k in 0..path.points.len() {
            let mean = losses.iter().map(|l| l[k]).sum::<f64>() / count;
            let square = losses.iter().map(|l| (l[k] - mean).powi(2)).sum::<f64>();
            loss.push(mean);
            standard_error.push((square / (count - 1.0) / count).sqrt());
        }
        let best = (0..loss.len()).min_by(|&a, &b| loss[a].total_cmp(&loss[b])).unwrap_or(0);
        let chosen = if self.one_standard_error {
            let limit = loss[best] + standard_error[best];
            loss.iter().position(|&l| l <= limit).unwrap_or(best)
        } else {
            best
        };
        let point = &path.points[chosen];
        Ok(CrossValidated {
            model: point.model(&path.mean)?,
            l1: point.l1,
            penalties: path.points.iter().map(|point| point.l1).collect(),
            loss,
            standard_error,
        })
    }
}

/// `<C, Theta> - log det Theta` of every point, with the test samples centred by the training means.
fn held_out(
    path: &Path,
    test: ArrayView2<f64>,
    weights: Option<Array1<f64>>,
) -> Result<Vec<f64>, Error> {
    let weights = weights.unwrap_or_else(|| Array1::ones(test.nrows()));
    let total = weights.sum();
    Invalid::check_positive("sum of the weights of a fold", total)?;
    let centred = &test - &ArrayView1::from(&path.mean);
    let loss = |point: &crate::PathPoint| {
        let precision = &point.precision;
        let mut sum = 0.0;
        for (row, weight) in centred.rows().into_iter().zip(&weights) {
            let mut form = 0.0;
            for (x, t) in row.iter().zip(&precision.diagonal) {
                form += t * x * x;
            }
            for &(i, j, t) in &precision.edges {
                form += 2.0 * t * row[i as usize] * row[j as usize];
            }
            sum += weight * form;
        }
        sum / total - point.log_det
    };
    Ok(path.points.iter().map(loss).collect())
}

/// Settings of [`stars()`].
///
/// | field | default | meaning |
/// |---|---|---|
/// | `penalties` | `None`: 20 as for cross-validation | the grid |
/// | `subsamples` | 20 | how many |
/// | `size` | `None`: `10 sqrt(n)` above 144 rows, else `0.8 n` | rows per subsample |
/// | `threshold` | 0.1 | largest acceptable instability |
/// | `scale` | correlation | what the penalty refers to |
/// | `method` | QUIC | of every fit |
/// | `stop` | gap 1e-6 | of every fit |
/// | `max_memory` | 4 GiB | of every fit; `None`: no limit |
/// | `seed` | 0 | of the subsamples |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StarsSettings {
    /// The grid of penalties.
    pub penalties: Option<Vec<f64>>,
    /// Number of subsamples.
    pub subsamples: usize,
    /// Rows per subsample.
    pub size: Option<usize>,
    /// Largest acceptable instability.
    pub threshold: f64,
    /// The scale of the penalty.
    pub scale: Scale,
    /// The solver for each connected component.
    pub method: Method,
    /// The stopping rule of a fit.
    pub stop: Stop,
    /// Bytes that a fit may allocate.
    pub max_memory: Option<u64>,
    /// Seed of the subsamples.
    pub seed: u64,
}

impl Default for StarsSettings {
    fn default() -> Self {
        StarsSettings {
            penalties: None,
            subsamples: 20,
            size: None,
            threshold: 0.1,
            scale: Scale::Correlation,
            method: Method::Quic,
            stop: default_stop(),
            max_memory: MAX_MEMORY,
            seed: 0,
        }
    }
}

/// The result of [`stars()`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stars {
    /// The chosen penalty.
    pub l1: f64,
    /// Penalties, falling.
    pub penalties: Vec<f64>,
    /// `mean_ij 2 theta_ij (1 - theta_ij)`, with `theta` the share of subsamples with the edge. It is made monotone
    /// along the path.
    pub instability: Vec<f64>,
    /// The model of all data at the chosen penalty.
    pub model: GaussianModel,
}

/// Stability approach to regularisation selection (StARS): the smallest penalty such that the graphs of subsamples agree at this and
/// all larger penalties.
///
/// # Errors
/// As [`GraphicalLasso::fit`]; [`Invalid`] for no subsamples, a size that is not in `2..=n`, or a threshold that is negative.
pub fn stars<'a>(
    x: impl Into<ArrayView2<'a, f64>>,
    settings: &StarsSettings,
) -> Result<Stars, Error> {
    let x = x.into();
    let n = x.nrows();
    let statistics = Statistics::from_data_within(&x, settings.max_memory)?;
    let penalties = match &settings.penalties {
        Some(penalties) => penalties.clone(),
        None => default_grid(&statistics, settings.scale)?,
    };
    Invalid::check_nonnegative("threshold", settings.threshold)?;
    let usual = if n > 144 { 10.0 * (n as f64).sqrt() } else { 0.8 * n as f64 };
    let size = settings.size.unwrap_or(usual as usize);
    check_subsamples(n, size, settings.subsamples)?;
    let lasso = GraphicalLasso {
        l1: Weights::Uniform(1.0),
        scale: settings.scale,
        method: settings.method,
        stop: settings.stop,
        max_memory: settings.max_memory,
    };
    let p = statistics.variables();
    let paths = each(settings.subsamples, |k| {
        let rows = subsample(n, size, settings.seed, k as u64);
        let part = Statistics::from_data_within(&x.select(Axis(0), &rows), settings.max_memory)?;
        within("subsample", k, lasso.fit_path(&part, &penalties))
    })?;
    let path = lasso.fit_path(&statistics, &penalties)?;
    let pairs = (p * (p - 1) / 2).max(1) as f64;
    let mut instability: Vec<f64> = Vec::new();
    for k in 0..path.points.len() {
        let mut shares: Array2<f64> = Array2::zeros((p, p));
        for path in &paths {
            for &(i, j, _) in &path.points[k].precision.edges {
                shares[[i as usize, j as usize]] += 1.0 / paths.len() as f64;
            }
        }
        let mean = shares.iter().map(|t| 2.0 * t * (1.0 - t)).sum::<f64>() / pairs;
        instability.push(instability.last().map_or(mean, |last| mean.max(*last)));
    }
    let chosen = instability.iter().rposition(|&d| d <= settings.threshold).unwrap_or(0);
    let point = &path.points[chosen];
    Ok(Stars {
        l1: point.l1,
        penalties: path.points.iter().map(|point| point.l1).collect(),
        instability,
        model: point.model(&path.mean)?,
    })
}

/// The result of [`stability_selection()`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stability {
    /// The share of half-samples that select an edge, `p x p`, symmetric.
    pub frequency: Array2<f64>,
    /// Edges `(i, j)` with a frequency of at least the threshold.
    pub edges: Vec<(u32, u32)>,
    /// The mean number of edges of a half-sample, `q`.
    pub selected: f64,
    /// `q^2 / ((2 threshold - 1) p (p - 1) / 2)`, with the mean number `q` of edges per half-sample. It bounds the expected number of
    /// false edges if these are exchangeable.
    pub false_edges: f64,
}

/// Stability selection over `pairs` complementary pairs of half-samples at one penalty.
///
/// # Errors
/// As [`GraphicalLasso::fit`]; [`Invalid`] for a threshold that is not in `(1/2, 1]`, no pairs, or fewer than four rows.
pub fn stability_selection<'a>(
    x: impl Into<ArrayView2<'a, f64>>,
    lasso: &GraphicalLasso,
    pairs: usize,
    threshold: f64,
    seed: u64,
) -> Result<Stability, Error> {
    if !(threshold > 0.5 && threshold <= 1.0) {
        let expected = "in (1/2, 1]";
        return Err(Invalid::Parameter { name: "threshold", value: threshold, expected }.into());
    }
    let x = x.into();
    let (n, p) = x.dim();
    if pairs > 1_000_000 {
        let (name, value) = ("pairs", pairs as f64);
        return Err(Invalid::Parameter { name, value, expected: "at most 1,000,000" }.into());
    }
    check_subsamples(n, n / 2, pairs)?;
    let graphs = each(2 * pairs, |k| {
        let order = subsample(n, n, seed, k as u64 / 2);
        let half = n / 2;
        let rows = if k % 2 == 0 { &order[..half] } else { &order[half..2 * half] };
        let model = within("half-sample", k, lasso.fit(&x.select(Axis(0), rows)))?;
        Ok(model.graph().edges().collect::<Vec<_>>())
    })?;
    let mut frequency: Array2<f64> = Array2::zeros((p, p));
    let mut selected = 0.0;
    for graph in &graphs {
        selected += graph.len() as f64 / graphs.len() as f64;
        for &(i, j) in graph {
            frequency[[i as usize, j as usize]] += 1.0;
            frequency[[j as usize, i as usize]] += 1.0;
        }
    }
    frequency /= graphs.len() as f64;
    let mut edges = Vec::new();
    for i in 0..p {
        for j in i + 1..p {
            if frequency[[i, j]] >= threshold {
                edges.push((i as u32, j as u32));
            }
        }
    }
    let candidates = (p * (p - 1) / 2).max(1) as f64;
    let false_edges = selected * selected / ((2.0 * threshold - 1.0) * candidates);
    Ok(Stability { frequency, edges, selected, false_edges })
}

/// Converts the error of constant columns: they are constant within a part of the rows, but not in all rows.
pub(crate) fn within<T>(part: &str, k: usize, result: Result<T, Error>) -> Result<T, Error> {
    result.map_err(|error| match error {
        Error::ZeroVariance { columns } => {
            let reason = format!(
                "columns {columns:?} do not vary within {part} {k}; leave them out, or take more rows"
            );
            Invalid::Layout { what: "data", reason }.into()
        }
        other => other,
    })
}

fn check_subsamples(n: usize, size: usize, count: usize) -> Result<(), Error> {
    if size < 2 || size > n {
        let (name, value) = ("rows of a subsample", size as f64);
        return Err(Invalid::Parameter { name, value, expected: "at least 2, at most all" }.into());
    }
    if count == 0 {
        let (name, expected) = ("number of subsamples or pairs", "at least 1");
        return Err(Invalid::Parameter { name, value: 0.0, expected }.into());
    }
    Ok(())
}

/// `size` different rows of `0..n`, in random order.
fn subsample(n: usize, size: usize, seed: u64, index: u64) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..n).collect();
    rows.shuffle(&mut stream(seed, index));
    rows.truncate(size);
    rows
}
