//! Regularisation paths of the group lasso.

use fenchel_erm::parts::{Gap, on_centred, sphere_radius};
use fenchel_linalg::{Csr, Dense, Design, Invalid};
use fenchel_optim::MAX_MEMORY;
use fenchel_optim::Refusal;
use fenchel_optim::fista::{FistaSettings, FistaState};
use fenchel_optim::prox::{Groups, SparseGroupLasso, Zero, soft_threshold};
use fenchel_optim::settings;
use fenchel_optim::{
    Budget, Certificate, Loss, Observer, Regulariser, Report, Solution, Status, Stop,
};

use super::centring::Centring;
use super::method::{Grid, penalties};
use super::part::Part;
use super::result::{Path, PathPoint};
use crate::methods::fista;
use crate::{Error, Point, Problem};

/// Number of FISTA passes before the first certificate over all features. It doubles after each certificate. By judgement.
const FIRST_CHUNK: f64 = 10.0;

settings! {
    /// Settings of [`group_path`].
    pub struct GroupPathSettings {
        /// Share of the l1 norm in the penalty, from 0 (group lasso) to below 1.
        l1_ratio: f64 = 0.0,
        /// The penalties. The default is 100 of them, down to 1e-3 of the largest.
        grid: Grid = Grid::default(),
        /// Whether to remove groups and features that are proved to be 0 at the optimum.
        screening: bool = true,
        /// Largest size, in bytes, of the copy of the remaining features. If it would be larger, all features are
        /// used in every pass.
        max_memory: Option<u64> = MAX_MEMORY,
        /// The stopping rule. Passes are counted for each point; `max_seconds` is the time of the whole path, which ends with
        /// the last point that was finished in time.
        stop: Stop = Stop::default(),
    }
}

/// The path of the group lasso (`l1_ratio = 0`, the default) or the sparse group lasso, for any smooth loss:
///
/// ```text
/// min_{x, b}  (1/n) sum_i phi(a_i.x + b; y_i) + (l2/2) ||x||^2 + penalty ((1 - r) sum_g w_g ||x_g|| + r ||x||_1)
/// ```
///
/// Each point is found by FISTA, with a warm start from the previous point. Features are removed by the gap-safe
/// rule. Let `u` be a feasible dual point whose gap is `gap`, and `v = -(1/n) A'u`. A group `g` is 0 at the optimum
/// if
///
/// ```text
/// ||soft(v_g, l1)|| + ||A_g||_F sqrt(2 gamma gap / n) < lambda_g
/// ```
///
/// A single feature `c` is 0 if the same holds with `|v_c|`, `||A_c||` and `l1`. Here `gamma` is the curvature of the
/// loss, `soft` is soft thresholding, and `lambda_g` the weight of the group's norm. Intercept, row weights and l2
/// term are those of the problem. Every point has a certificate, which is computed over all features.
///
/// ```
/// use fenchel_finite_sum::loss::Squared;
/// use fenchel_finite_sum::prox::{Groups, Zero};
/// use fenchel_finite_sum::path::{GroupPathSettings, group_path};
/// use fenchel_finite_sum::prelude::AsDesign;
/// use fenchel_finite_sum::Problem;
///
/// let x = ndarray::array![[1.0, 0.9, 0.3], [2.0, 2.2, -0.1], [3.0, 2.8, 0.2], [4.0, 4.1, -0.3]];
/// let y = [2.0, 4.1, 5.9, 8.0];
/// let problem = Problem::new(x.as_design()?, &y, Squared, Zero, 0.0)?.with_intercept();
/// let groups = Groups::new(3, &[vec![0, 1], vec![2]])?;
/// let path = group_path(&problem, &groups, &GroupPathSettings::default())?;
/// assert!(path.points[0].support.is_empty());
/// assert_eq!(path.points[30].support[..2], [0, 1]);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
///
/// Reference: Ndiaye, Fercoq, Gramfort and Salmon, "Gap safe screening rules for sparse-group lasso" (2016).
///
/// # Errors
/// [`Error::Refused`] if the loss is not smooth or its conjugate is not known, or if a feature has no penalty (no
/// group, or a group of weight 0, without l1); [`Error::Invalid`] for groups of another number of features or
/// settings out of range.
pub fn group_path<D: Design + Clone, L: Loss + Clone>(
    problem: &Problem<'_, D, L, Zero>,
    groups: &Groups,
    settings: &GroupPathSettings,
) -> Result<Path, Error> {
    group_path_from(problem, groups, settings, None, &mut ())
}

/// Does the same as [`group_path`], but continues a former path. The observer receives every point and may end the
/// path after it; see [`path_from`](crate::path::path_from).
///
/// # Errors
/// The errors of [`group_path`]; [`Error::Invalid`] if the start has another number of features or another share of the l1 norm.
pub fn group_path_from<D: Design + Clone, L: Loss + Clone, O: Observer<PathPoint>>(
    problem: &Problem<'_, D, L, Zero>,
    groups: &Groups,
    settings: &GroupPathSettings,
    start: Option<Path>,
    observer: &mut O,
) -> Result<Path, Error> {
    let Some(centred) = problem.centred(settings.max_memory) else {
        return on_grid((problem, &Centring::<D, L>(None)), groups, settings, start, observer);
    };
    let centring = Centring(Some((problem, &centred)));
    on_centred!(centred, design => {
        let problem = &problem.seen_through(design, Zero)?;
        on_grid((problem, &centring), groups, settings, start, observer)
    })
}

fn on_grid<D: Design + Clone, E: Design, L: Loss + Clone, O: Observer<PathPoint>>(
    (problem, centring): (&Problem<'_, D, L, Zero>, &Centring<'_, '_, E, L>),
    groups: &Groups,
    settings: &GroupPathSettings,
    start: Option<Path>,
    observer: &mut O,
) -> Result<Path, Error> {
    let method = "group_path";
    let GroupPathSettings { l1_ratio, ref grid, stop, .. } = *settings;
    problem.check_smooth(method)?;
    problem.check_dual(method)?;
    if !(0.0..1.0).contains(&l1_ratio) {
        let expected = "at least 0 and below 1; path() has the lasso";
        return Err(Invalid::Parameter { name: "l1_ratio", value: l1_ratio, expected }.into());
    }
    stop.check()?;
    let unit = SparseGroupLasso { groups: groups.clone(), l1: l1_ratio, group: 1.0 - l1_ratio };
    unit.check(problem.d())?;
    if !unit.coercive() {
        let what = "features without a penalty; put every feature into a group of positive weight, \
                    or set l1_ratio above 0";
        return Err(Refusal::unsupported(method, what).into());
    }
    let mut point = Point::zero(problem.d());
    let mut gap = Gap::new(problem);
    gap.at_best_intercept(problem, &mut point);
    let grid = penalties(grid, largest_penalty(&unit, &gap.correlation))?;
    let features = problem.d();
    let mut path = start.unwrap_or(Path::new(features, l1_ratio));
    path.check(features, l1_ratio)?;
    if let Some(last) = path.points.last() {
        point = centring.inward(last.dense(features));
    }
    let budget = Budget::new(stop);
    let mut walk = Walk { settings, norms: column_norms(problem), gap, point };
    for &penalty in path.left(&grid) {
        let regulariser = SparseGroupLasso {
            groups: groups.clone(),
            l1: l1_ratio * penalty,
            group: (1.0 - l1_ratio) * penalty,
        };
        let problem = problem.clone().penalised(regulariser, problem.l2())?;
        let (report, screened) = walk.solve(&problem, &budget)?;
        if report.status == Status::TimeLimit && !path.points.is_empty() {
            break;
        }
        let (point, report) = centring.outward(&problem, &stop, walk.point.clone(), report);
        let point = PathPoint::new(penalty, &point, report, screened);
        if path.push(point, observer).is_break() {
            break;
        }
    }
    Ok(path)
}

/// The smallest multiple of the penalty at which the origin is optimal, given its correlations.
fn largest_penalty(unit: &SparseGroupLasso, correlation: &[f64]) -> f64 {
    let largest = correlation.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    // The scale onto a penalty so small that every group has to shrink.
    let small = 1e-6 * largest;
    let tiny = SparseGroupLasso { l1: small * unit.l1, group: small * unit.group, ..unit.clone() };
    if largest > 0.0 { small / tiny.dual_scale(correlation, 0.0) } else { 0.0 }
}

/// `||A_c||`, or `||A_c - mean||` with an intercept.
fn column_norms<D: Design, L: Loss>(problem: &Problem<'_, D, L, Zero>) -> Vec<f64> {
    let (design, n, d) = (problem.design(), problem.n(), problem.d());
    let (mut means, mut stored) = (vec![0.0; d], vec![0u32; d]);
    if problem.intercept() {
        (0..n).for_each(|i| design.row_entries(i, |c, a| means[c] += a / n as f64));
    }
    let mut squares = vec![0.0; d];
    for i in 0..n {
        design.row_entries(i, |c, a| {
            squares[c] += (a - means[c]) * (a - means[c]);
            stored[c] += 1;
        });
    }
    let of_column = |c: usize| {
        let zeros = n as f64 - f64::from(stored[c]);
        (squares[c] + zeros * means[c] * means[c]).sqrt()
    };
    (0..d).map(of_column).collect()
}

/// The current state of the path.
struct Walk<'s> {
    settings: &'s GroupPathSettings,
    norms: Vec<f64>,
    gap: Gap,
    point: Point,
}

impl Walk<'_> {
    /// Solves for another penalty. Also returns the share of the features that were removed at the end.
    fn solve<D: Design + Clone, L: Loss + Clone>(
        &mut self,
        problem: &Problem<'_, D, L, SparseGroupLasso>,
        budget: &Budget,
    ) -> Result<(Report, f64), Error> {
        let (stop, d) = (problem.stop(&self.settings.stop)?, problem.d());
        let mut report = Report {
            status: Status::Converged,
            certificate: Certificate::Uncertified { objective: None },
            passes: 0.0,
            oracle_calls: 0,
            seconds: 0.0,
        };
        // FISTA adapts the absolute tolerance to the problem too.
        let (mut inner, mut chunk) = (self.settings.stop, FIRST_CHUNK);
        (inner.relative, inner.absolute) = (0.5 * inner.relative, 0.5 * inner.absolute);
        let mut alive: Vec<usize> = (0..d).collect();
        let mut part = None;
        let mut state: Option<FistaState<Point>> = None;
        loop {
            // FISTA goes on from its own intercept; the certificate has the best one.
            let mut certified = self.point.clone();
            report.certificate = self.gap.at_best_intercept(problem, &mut certified);
            report.passes += 1.0;
            let ended = match report.status {
                _ if stop.met_by(&report.certificate) => Some(Status::Converged),
                _ if report.passes >= stop.max_passes => Some(Status::PassLimit),
                _ if budget.left().max_seconds == Some(0.0) => Some(Status::TimeLimit),
                Status::Stalled | Status::Diverged => Some(report.status),
                _ => None,
            };
            let left = self.left(problem, &report.certificate);
            if let Some(status) = ended {
                self.point = certified;
                report.status = status;
                return Ok((report, 1.0 - left.len() as f64 / d as f64));
            }
            if left != alive {
                for (c, x) in self.point.weights.iter_mut().enumerate() {
                    *x = if left.binary_search(&c).is_ok() { *x } else { 0.0 };
                }
                (alive, part, state) = (left, None, None);
            }
            if alive.is_empty() {
                // Nothing is left to do but to look at the origin.
                report.status = Status::Stalled;
                continue;
            }
            inner.max_passes = chunk.min(stop.max_passes - report.passes);
            inner.max_seconds = budget.left().max_seconds;
            chunk *= 2.0;
            let settings = FistaSettings { stop: inner, ..FistaSettings::default() };
            let (solution, share) =
                self.descend(problem, &settings, &alive, &mut part, state.take())?;
            let Solution { state: reached, report: account } = solution;
            state = self.adopt(reached, &alive);
            report.passes += share * account.passes;
            report.oracle_calls += account.oracle_calls;
            report.seconds += account.seconds;
            report.status = account.status;
            if account.status == Status::Converged {
                // The dual point of the features that are left was a little better than that of all.
                (inner.relative, inner.absolute) = (0.3 * inner.relative, 0.3 * inner.absolute);
            }
        }
    }

    /// Runs FISTA on the remaining features, from their state if there is one, else from the point. Also returns the
    /// cost of its pass as a fraction of a pass over all features.
    fn descend<D: Design + Clone, L: Loss + Clone>(
        &self,
        problem: &Problem<'_, D, L, SparseGroupLasso>,
        settings: &FistaSettings,
        alive: &[usize],
        part: &mut Option<Option<Part>>,
        state: Option<FistaState<Point>>,
    ) -> Result<(Solution<FistaState<Point>>, f64), Error> {
        let start = state.unwrap_or_else(|| self.start(alive).into());
        if alive.len() == problem.d() {
            return Ok((fista(problem, settings, Some(start), &mut ())?, 1.0));
        }
        match part
            .get_or_insert_with(|| Part::of(problem.design(), alive, self.settings.max_memory))
        {
            Some(Part::Dense(x)) => {
                descend_on(problem, Dense::new(x.view())?, alive, settings, start)
            }
            Some(Part::Sparse(x)) => {
                descend_on(problem, Csr::new(x.view())?, alive, settings, start)
            }
            // No room for a copy: all features are looked at.
            None => {
                let whole = Some(self.point.clone().into());
                Ok((fista(problem, settings, whole, &mut ())?, 1.0))
            }
        }
    }

    /// Updates the point from the result of FISTA. Returns the state if it belongs to the remaining features.
    fn adopt(&mut self, reached: FistaState<Point>, alive: &[usize]) -> Option<FistaState<Point>> {
        let weights = &reached.point.weights;
        if weights.len() == self.point.weights.len() {
            self.point = reached.point.clone();
        } else {
            self.point.intercept = reached.point.intercept;
            alive.iter().zip(weights).for_each(|(&c, &x)| self.point.weights[c] = x);
        }
        (weights.len() == alive.len()).then_some(reached)
    }

    fn start(&self, alive: &[usize]) -> Point {
        let weights = alive.iter().map(|&c| self.point.weights[c]).collect();
        Point { weights, intercept: self.point.intercept }
    }

    /// The features that the last certificate does not prove to be 0.
    fn left<D: Design, L: Loss>(
        &self,
        problem: &Problem<'_, D, L, SparseGroupLasso>,
        certificate: &Certificate,
    ) -> Vec<usize> {
        let h = problem.regulariser();
        let heaviest = (0..problem.n()).map(|i| problem.term_curvature(i)).fold(0.0, f64::max);
        let radius = sphere_radius(heaviest, problem.n(), certificate);
        if !(self.settings.screening && radius.is_finite()) {
            return (0..problem.d()).collect();
        }
        let v = |c: usize| self.gap.scale * self.gap.correlation[c];
        let mut lost: Vec<bool> =
            (0..problem.d()).map(|c| v(c).abs() + self.norms[c] * radius < h.l1).collect();
        for (group, weight) in h.groups.iter() {
            let excess: f64 = group.iter().map(|&c| soft_threshold(v(c), h.l1).powi(2)).sum();
            let frobenius: f64 = group.iter().map(|&c| self.norms[c].powi(2)).sum();
            if excess.sqrt() + frobenius.sqrt() * radius < h.group * weight {
                group.iter().for_each(|&c| lost[c] = true);
            }
        }
        (0..problem.d()).filter(|&c| !lost[c]).collect()
    }
}

/// Runs FISTA on a copy of some features. Also returns the cost of its pass as a fraction of a pass over all
/// features.
fn descend_on<D: Design, E: Design, L: Loss + Clone>(
    problem: &Problem<'_, D, L, SparseGroupLasso>,
    copy: E,
    alive: &[usize],
    settings: &FistaSettings,
    start: FistaState<Point>,
) -> Result<(Solution<FistaState<Point>>, f64), Error> {
    let share = copy.stored() as f64 / problem.design().stored().max(1) as f64;
    let part = problem.seen_through(copy, restricted(problem.regulariser(), alive)?)?;
    Ok((fista(&part, settings, Some(start), &mut ())?, share))
}

/// The penalty of some features if all others are 0.
fn restricted(h: &SparseGroupLasso, alive: &[usize]) -> Result<SparseGroupLasso, Error> {
    let here = |&c: &usize| alive.binary_search(&c).ok();
    let of_group = |(group, weight): (&[usize], f64)| {
        let members: Vec<usize> = group.iter().filter_map(here).collect();
        (!members.is_empty()).then_some((members, weight))
    };
    let (members, weights): (Vec<Vec<usize>>, Vec<f64>) =
        h.groups.iter().filter_map(of_group).unzip();
    let groups = Groups::new(alive.len(), &members)?.with_weights(&weights)?;
    Ok(SparseGroupLasso { groups, l1: h.l1, group: h.group })
}
