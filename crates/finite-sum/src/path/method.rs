//! Computing a regularisation path.

use fenchel_erm::methods::newton::{NewtonSettings, Screening};
use fenchel_erm::parts::{Warm, check_grid, on_centred};
use fenchel_linalg::labels::{Label, binary_signs};
use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::settings;
use fenchel_optim::{Budget, Loss, MAX_MEMORY, Observer, Status, Stop, Watch};
use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use super::centring::Centring;
use super::result::{Path, PathPoint};
use crate::loss::{Logistic, Squared};
use crate::{Error, Problem};

/// The penalties of a path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Grid {
    /// `count` of them, equally spaced in the logarithm, from the smallest penalty with an empty support down to
    /// `smallest` times that.
    Log {
        /// The number of penalties, from 1 to 1,000,000.
        count: usize,
        /// The ratio of the last penalty to the first, above 0 and at most 1.
        smallest: f64,
    },
    /// The given penalties, all above 0. They are visited from the largest to the smallest.
    Given(Vec<f64>),
}

impl Default for Grid {
    fn default() -> Self {
        Grid::Log { count: 100, smallest: 1e-3 }
    }
}

settings! {
    /// Settings of a path.
    pub struct PathSettings {
        /// Share of the l1 norm in the penalty, above 0 and at most 1.
        l1_ratio: f64 = 1.0,
        /// The penalties. The default is 100 of them, down to 1e-3 of the largest.
        grid: Grid = Grid::default(),
        /// Whether to fit an unpenalised intercept. The function [`path`](fn@path) ignores this, and uses the
        /// problem's setting.
        intercept: bool = true,
        /// The rule by which features are removed before a fit.
        screening: Screening = Screening::default(),
        /// Largest size of the column-wise copy of the data, in bytes.
        max_memory: Option<u64> = MAX_MEMORY,
        /// Seed of the visiting order of coordinate descent.
        seed: u64 = 0,
        /// The stopping rule. Passes are counted for each point; `max_seconds` is the time of the whole path, which ends with
        /// the last point that was finished in time.
        stop: Stop = Stop::default(),
    }
}

/// The path of least squares with an l1 penalty (`l1_ratio = 1`, the default) or an elastic net:
///
/// ```text
/// min_{x, b}  (1/2n) sum_i (a_i.x + b - y_i)^2 + penalty (r ||x||_1 + (1 - r)/2 ||x||^2)
/// ```
///
/// ```
/// use fenchel_finite_sum::path::{PathSettings, elastic_net_path};
/// use ndarray::array;
///
/// let x = array![[1.0, 0.3], [2.0, -0.1], [3.0, 0.2], [4.0, -0.3]];
/// let path = elastic_net_path(&x, &[2.0, 4.1, 5.9, 8.0], &PathSettings::default())?;
/// assert!(path.points[0].support.is_empty());
/// assert_eq!(path.points[50].support[0], 0);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] for data that is empty, not finite or of another shape, or settings out of range;
/// [`Error::Refused`].
pub fn elastic_net_path<'y, X: AsDesign + ?Sized>(
    x: &X,
    y: impl Into<ArrayView1<'y, f64>>,
    settings: &PathSettings,
) -> Result<Path, Error> {
    let targets = y.into().to_vec();
    let problem = Problem::new(x.as_design()?, &targets, Squared, Zero, 0.0)?;
    let problem = if settings.intercept { problem.with_intercept() } else { problem };
    Ok(path(&problem, settings)?.named(x.names()))
}

/// The path of binary logistic regression with an l1 penalty or an elastic net. The larger label is the positive one.
///
/// # Errors
/// The errors of [`elastic_net_path`], and [`Error::Invalid`] if the number of different labels is not two.
pub fn logistic_path<'y, X: AsDesign + ?Sized, L: Label + 'y>(
    x: &X,
    y: impl Into<ArrayView1<'y, L>>,
    settings: &PathSettings,
) -> Result<Path, Error> {
    let (_, targets) = binary_signs(&y.into().to_vec())?;
    let problem = Problem::new(x.as_design()?, &targets, Logistic, Zero, 0.0)?;
    let problem = if settings.intercept { problem.with_intercept() } else { problem };
    Ok(path(&problem, settings)?.named(x.names()))
}

/// The path of any problem with a smooth loss. An l2 term of the problem is kept beside the penalty.
///
/// # Errors
/// [`Error::Refused`] for a loss that is not smooth, or too little memory; [`Error::Invalid`] for settings
/// out of range.
pub fn path<D: Design + Clone, L: Loss + Clone>(
    problem: &Problem<'_, D, L, Zero>,
    settings: &PathSettings,
) -> Result<Path, Error> {
    path_from(problem, settings, None, &mut ())
}

/// Does the same as [`path`](fn@path), but continues a former path. The observer receives every point and may end the
/// path after it.
///
/// The penalties of the grid that are smaller than the last one of `start` are added to `start`. Larger ones count as
/// done. Suppose that `start` is the beginning of the path of the same problem with the same settings, because an
/// observer ended it or because its grid was shorter. Then the result is the whole path, bit for bit (up to the rounding of
/// intercepts, where columns are so far from 0 that the path centres them). So a path that
/// is saved after every point can be continued after an interruption, and a finished path can be extended to smaller
/// penalties.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use fenchel_finite_sum::loss::Squared;
/// use fenchel_finite_sum::prox::Zero;
/// use fenchel_finite_sum::path::{PathPoint, PathSettings, path_from};
/// use fenchel_finite_sum::prelude::AsDesign;
/// use fenchel_finite_sum::Problem;
/// use fenchel_finite_sum::path::path;
///
/// let x = ndarray::array![[1.0, 0.3], [2.0, -0.1], [3.0, 0.2], [4.0, -0.3]];
/// let y = [2.0, 4.1, 5.9, 8.0];
/// let problem = Problem::new(x.as_design()?, &y, Squared, Zero, 0.0)?.with_intercept();
/// let settings = PathSettings::default();
/// let mut left = 10;
/// let mut ends = |_: &_, _: &PathPoint| {
///     left -= 1;
///     if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// };
/// let begun = path_from(&problem, &settings, None, &mut ends)?;
/// assert_eq!(begun.points.len(), 10);
/// let whole = path_from(&problem, &settings, Some(begun), &mut ())?;
/// assert_eq!(whole.coefficients()?, path(&problem, &settings)?.coefficients()?);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
///
/// # Errors
/// The errors of [`path`](fn@path); [`Error::Invalid`] if the start has another number of features or another share of the l1
/// norm.
pub fn path_from<D: Design + Clone, L: Loss + Clone, O: Observer<PathPoint>>(
    problem: &Problem<'_, D, L, Zero>,
    settings: &PathSettings,
    start: Option<Path>,
    observer: &mut O,
) -> Result<Path, Error> {
    check_ratio(settings.l1_ratio)?;
    let Some(centred) = problem.centred(settings.max_memory) else {
        return on_grid(problem, settings, start, observer, &Centring::<D, L>(None));
    };
    let centring = Centring(Some((problem, &centred)));
    on_centred!(centred, design => {
        on_grid(&problem.seen_through(design, Zero)?, settings, start, observer, &centring)
    })
}

fn on_grid<D: Design + Clone, E: Design, L: Loss + Clone, O: Observer<PathPoint>>(
    problem: &Problem<'_, D, L, Zero>,
    settings: &PathSettings,
    start: Option<Path>,
    observer: &mut O,
    centring: &Centring<'_, '_, E, L>,
) -> Result<Path, Error> {
    let warm = Warm::origin(problem, settings.max_memory)?;
    let grid = penalties(&settings.grid, warm.largest_correlation() / settings.l1_ratio)?;
    walk((problem, centring), settings, warm, &grid, start, observer)
}

/// Computes the points for penalties in falling order.
pub(crate) fn sweep<D: Design + Clone, L: Loss + Clone>(
    problem: &Problem<'_, D, L, Zero>,
    settings: &PathSettings,
    grid: &[f64],
    watch: &mut Watch<'_>,
) -> Result<Vec<PathPoint>, Error> {
    let warm = Warm::origin(problem, settings.max_memory)?;
    Ok(walk((problem, &Centring::<D, L>(None)), settings, warm, grid, None, watch)?.points)
}

fn walk<D: Design + Clone, E: Design, L: Loss + Clone, O: Observer<PathPoint>>(
    (problem, centring): (&Problem<'_, D, L, Zero>, &Centring<'_, '_, E, L>),
    settings: &PathSettings,
    mut warm: Warm,
    grid: &[f64],
    start: Option<Path>,
    observer: &mut O,
) -> Result<Path, Error> {
    let PathSettings { l1_ratio, screening, max_memory, seed, stop, .. } = *settings;
    check_ratio(l1_ratio)?;
    stop.check()?;
    let budget = Budget::new(stop);
    let sphere = (screening != Screening::Off).then(|| warm.sphere(problem));
    let (own, features) = (problem.l2(), problem.d());
    let at = |penalty: f64| (L1 { strength: l1_ratio * penalty }, own + (1.0 - l1_ratio) * penalty);
    let mut problem = problem.clone().penalised(L1 { strength: 0.0 }, own)?;
    let mut path = start.unwrap_or(Path::new(features, l1_ratio));
    path.check(features, l1_ratio)?;
    let mut before = warm.largest_correlation();
    if let Some(last) = path.points.last() {
        let (l1, l2) = at(last.penalty);
        problem = problem.penalised(l1, l2)?;
        warm = warm.at(&problem, centring.inward(last.dense(features)));
        before = l1_ratio * last.penalty;
    }
    for &penalty in path.left(grid) {
        let (l1, l2) = at(penalty);
        problem = problem.penalised(l1, l2)?;
        let guess = (screening == Screening::Strong).then_some(before);
        let left = Stop { max_seconds: budget.left().max_seconds, ..stop };
        let newton = NewtonSettings { max_memory, seed, stop: left };
        let (next, report, screened) = warm.solve(&problem, &newton, sphere.as_ref(), guess)?;
        warm = next;
        if report.status == Status::TimeLimit && !path.points.is_empty() {
            break;
        }
        before = l1_ratio * penalty;
        let (point, report) = centring.outward(&problem, &stop, warm.point.clone(), report);
        let point = PathPoint::new(penalty, &point, report, screened);
        if path.push(point, observer).is_break() {
            break;
        }
    }
    Ok(path)
}

fn check_ratio(l1_ratio: f64) -> Result<(), Invalid> {
    if l1_ratio > 0.0 && l1_ratio <= 1.0 {
        return Ok(());
    }
    let expected = "above 0 and at most 1";
    Err(Invalid::Parameter { name: "l1_ratio", value: l1_ratio, expected })
}

/// The penalties in falling order. `largest` is the smallest penalty with an empty support.
pub(crate) fn penalties(grid: &Grid, largest: f64) -> Result<Vec<f64>, Error> {
    match grid {
        Grid::Given(given) => {
            check_grid(given)?;
            let mut falling = given.clone();
            falling.sort_by(|a, b| b.total_cmp(a));
            Ok(falling)
        }
        Grid::Log { count, smallest } => {
            if !(*smallest > 0.0 && *smallest <= 1.0) {
                let expected = "above 0 and at most 1";
                let name = "smallest of the grid";
                return Err(Invalid::Parameter { name, value: *smallest, expected }.into());
            }
            if *count == 0 {
                return Err(Invalid::Empty { what: "grid of penalties" }.into());
            }
            if *count > 1_000_000 {
                let (name, value) = ("count of the grid", *count as f64);
                return Err(
                    Invalid::Parameter { name, value, expected: "at most 1,000,000" }.into()
                );
            }
            if !largest.is_finite() {
                let (name, expected) =
                    ("largest penalty", "a finite number; scale the targets down");
                return Err(Invalid::Parameter { name, value: largest, expected }.into());
            }
            // Constant targets correlate with nothing: any penalty leaves the origin.
            let first = if largest > 0.0 { largest } else { 1.0 };
            let step = smallest.ln() / (*count - 1).max(1) as f64;
            Ok((0..*count).map(|k| first * (k as f64 * step).exp()).collect())
        }
    }
}
