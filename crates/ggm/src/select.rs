//! Penalties chosen from data: cross-validation, StARS (stability approach to regularisation selection), and stability selection.
//!
//! | function | chooses | cost |
//! |---|---|---|
//! | [`GraphicalLassoCv`](crate::cross_validation::GraphicalLassoCv) | the penalty with the best held-out likelihood: for prediction | `folds` paths |
//! | [`stars()`] | the smallest penalty whose graphs are still stable over subsamples: keeps all true edges, and some false ones | `subsamples` paths |
//! | [`stability_selection()`] | edges that are selected in most half-samples, with a bound on the expected number of false ones | `2 pairs` fits |
//!
//! Source: Liu, Roeder and Wasserman, NIPS 2010 (StARS); Meinshausen and Buehlmann, JRSS B 72, 2010; Shah and Samworth,
//! JRSS B 75, 2013 (complementary pairs).

use fenchel_linalg::{Invalid, parallel};
use fenchel_optim::random::stream;
use fenchel_optim::{MAX_MEMORY, Stop, settings};
use ndarray::{Array2, ArrayView2, Axis};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::estimator::GraphicalLasso;
use crate::glasso::{Method, default_stop};
use crate::model::GaussianModel;
use crate::path::grid;
use crate::penalty::PenaltyWeights;
use crate::problem::Problem;
use crate::statistics::{Scale, Statistics};

/// Applies a function to every item, on all cores. The results are in order.
pub(crate) fn each<T: Send>(
    count: usize,
    work: impl Fn(usize) -> Result<T, Error> + Sync + Send,
) -> Result<Vec<T>, Error> {
    parallel::try_map(0..count, work)
}

/// A grid of so many penalties for the data.
pub(crate) fn default_grid(
    statistics: &Statistics,
    scale: Scale,
    count: usize,
) -> Result<Vec<f64>, Error> {
    let largest = match scale {
        Scale::Covariance => Problem::largest_weight(statistics.covariance.view()),
        Scale::Correlation => Problem::largest_weight(statistics.correlation().0.view()),
    };
    grid(if largest > 0.0 { largest } else { 1.0 }, 0.01, count)
}

settings! {
    /// Settings of [`stars()`].
    pub struct StarsSettings {
        /// The grid of penalties.
        penalties: Option<Vec<f64>> = None,
        /// Number of subsamples.
        subsamples: usize = 20,
        /// Rows per subsample.
        size: Option<usize> = None,
        /// Largest acceptable instability, in (0, 1/2]: no instability exceeds 1/2.
        threshold: f64 = 0.1,
        /// The scale of the penalty.
        scale: Scale = Scale::Correlation,
        /// The solver for each connected component.
        method: Method = Method::Quic,
        /// The stopping rule of a fit.
        /// By default gap 1e-6.
        stop: Stop = default_stop(),
        /// Bytes that a fit may allocate.
        max_memory: Option<u64> = MAX_MEMORY,
        /// Seed of the subsamples.
        seed: u64 = 0,
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
/// As [`GraphicalLasso::fit`]; [`Invalid`] for no subsamples or more than a million, a size that is not in `2..=n`, or a threshold that is not in `(0, 1/2]`.
pub fn stars<'a>(
    x: impl Into<ArrayView2<'a, f64>>,
    settings: &StarsSettings,
) -> Result<Stars, Error> {
    let x = x.into();
    let n = x.nrows();
    let statistics = Statistics::from_data_within(&x, settings.max_memory)?;
    let penalties = match &settings.penalties {
        Some(penalties) => penalties.clone(),
        None => default_grid(&statistics, settings.scale, 20)?,
    };
    if !(settings.threshold > 0.0 && settings.threshold <= 0.5) {
        let (name, value) = ("threshold", settings.threshold);
        return Err(Invalid::Parameter { name, value, expected: "in (0, 1/2]" }.into());
    }
    let usual = if n > 144 { 10.0 * (n as f64).sqrt() } else { 0.8 * n as f64 };
    let size = settings.size.unwrap_or(usual as usize);
    check_subsamples(n, size, settings.subsamples)?;
    let lasso = GraphicalLasso {
        l1: PenaltyWeights::Uniform(1.0),
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
        model: point.model(&path)?,
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
    if !(1..=1_000_000).contains(&count) {
        let (name, expected) = ("number of subsamples or pairs", "1 to 1,000,000");
        return Err(Invalid::Parameter { name, value: count as f64, expected }.into());
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
