//! Coordinate descent on the primal: one weight after the other, on a working set, with extrapolated iterates.
//!
//! A step along coordinate `c` of
//!
//! ```text
//! F(x, b) = (1/n) sum_i phi_i(a_i.x + b) + (l2/2) ||x||^2 + l1 ||x||_1,    g_c = (1/n) sum_i a_ic phi_i' + l2 x_c
//! ```
//!
//! is `x_c <- S(x_c - g_c / L_c, l1 / L_c)` with the soft threshold `S` and `L_c = (gamma/n) sum_i c_i a_ic^2 + l2`. For the squared
//! loss that is the exact minimum along the coordinate; the derivatives of all rows are kept, so that a step costs the entries of
//! its column. For other losses `L_c` is a bound, and a step evaluates the derivative in the rows of its column:
//! [`newton`](fn@crate::methods::newton), whose models the same sweeps minimise (`sweeps.rs`), evaluates it once an outer step.
//! It is the method for the squared loss with l1 on sparse data: one-hot and text.
//!
//! | part | file |
//! |---|---|
//! | working set, certificate | here |
//! | sweeps, coordinates that rest, extrapolation | `sweeps.rs` |
//! | the functions that are descended on | `functions.rs` |

mod functions;
mod sweeps;

pub(crate) use functions::{Curvature, Quadratic, Selected};
pub(crate) use sweeps::{Coordinates, Sweeps, Violations, Visiting, violation};

use fenchel_linalg::{Columns, Design, nonzeros_by_column};
use fenchel_optim::random::{Generator, Order, stream};
use fenchel_optim::{
    Certificate, CertificateCost, Iterative, Loss, MAX_MEMORY, Observer, Refusal, Solution, Status,
    Stop, run,
};

use self::functions::Terms;
use crate::gap::Gap;
use crate::methods::newton::AsElasticNet;
use crate::{Error, Point, Problem};
use fenchel_optim::settings;

/// The least share of all entries that a working set holds: a dozen sweeps over a tenth cost what the next certificate costs.
const SHARE: f64 = 0.1;
/// A working set that leaves out coordinates which violate optimality is solved until its own violation has fallen by this factor.
/// More would be lost when the others join it. By judgement.
const ROUGH: f64 = 0.1;
/// The most sweeps over one working set. Then a certificate is computed. By judgement.
const SWEEPS: usize = 100;

settings! {
    /// Settings of [`coordinate_descent`].
    pub struct CoordinateSettings {
        /// Which coordinate is next: `Cyclic`, `Permuted`, `Uniform`, or `LargestGap`, which is the rule of Gauss and Southwell: the
        /// coordinate that violates optimality most has the largest part of the gap. A step of that rule looks at all coordinates.
        order: Order = Order::Cyclic,
        /// Whether Anderson's extrapolation of the last five iterates is tried after every five sweeps, and kept where it lowers the objective.
        extrapolates: bool = true,
        /// Whether the coordinates that violate optimality most come first; else every sweep visits all.
        working_set: bool = true,
        /// Largest size of the copy by columns, in bytes.
        max_memory: Option<u64> = MAX_MEMORY,
        /// Seed of the order.
        seed: u64 = 0,
        /// When to end; a pass is as much work as one sweep over all columns.
        stop: Stop = Stop::default(),
    }
}

/// Coordinate descent on one problem: what an observer of [`coordinate_descent`] sees.
#[derive(Debug, Clone)]
pub struct CoordinateDescent<'p, 'a, D, L, R> {
    problem: &'p Problem<'a, D, L, R>,
    settings: CoordinateSettings,
    l1: f64,
    l2: f64,
    point: Point,
    /// Margins and derivatives of the rows; between two certificates they follow the steps.
    gap: Gap,
    /// Where the point has not moved since.
    certificate: Option<Certificate>,
    columns: Option<Columns>,
    /// Entries of each column that are not 0.
    counts: Vec<usize>,
    /// `phi_i'' / n` of a quadratic loss whose rows have weights.
    weighted: Option<Vec<f64>>,
    work: Option<Work>,
    rng: Generator,
    sweeps: u64,
    /// Objective and certificate where the last working set began, if it left out nothing that mattered.
    complete: Option<(f64, f64)>,
    stalled: bool,
}

/// A working set, while it is worked on.
#[derive(Debug, Clone)]
struct Work {
    set: Vec<usize>,
    /// The weights of the set, and the intercept.
    x: Vec<f64>,
    curvatures: Vec<f64>,
    sweeps: Sweeps,
    limits: Limits,
}

/// When a working set is done.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Sum of the violations, where coordinates outside of the set violate optimality too.
    rough: Option<f64>,
    /// Value of the certificate.
    tolerance: f64,
    objective: f64,
    /// What is left of [`SWEEPS`].
    sweeps: usize,
}

impl Limits {
    /// Whether the violations before each step of a sweep are small enough. With `l2` the gap of the dual point `phi'` is at most their squares over `2 l2`;
    /// without, it is their product with the weights, and what the dual point loses by being scaled to feasibility: about the largest
    /// violation over l1, of the objective.
    fn met_by(&self, seen: &Violations, x: &[f64], l1: f64, l2: f64) -> bool {
        if self.rough.is_some_and(|rough| seen.sum <= rough) {
            return true;
        }
        let largest = x.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
        let scaled = if l1 > 0.0 { seen.largest / l1 * self.objective } else { f64::INFINITY };
        let scaled = scaled + seen.sum * largest;
        let gap = if l2 > 0.0 { scaled.min(seen.squares / (2.0 * l2)) } else { scaled };
        gap <= self.tolerance || seen.sum == 0.0
    }
}

/// Coordinate descent for losses with bounded curvature, with l1, l2, both or neither.
///
/// A sweep costs a pass over the columns of the working set: the support and the coordinates that violate optimality most, a tenth
/// of the entries at least. When the set is solved, a certificate over all coordinates is computed (a pass), and the set grows to
/// twice the support. After every five sweeps the iterates are extrapolated (Anderson), which is kept only if the objective is lower
/// there. Memory: a copy of the data by columns, `4 n` numbers, and six iterates. Certifies a duality gap, or without any penalty the
/// norm of the gradient.
///
/// References: Friedman, Hastie and Tibshirani, "Regularization paths for generalized linear models via coordinate descent", JSS 33
/// (2010); Massias, Gramfort and Salmon, "Celer", ICML 2018 (the working set); Bertrand and Massias, "Anderson acceleration of
/// coordinate descent", AISTATS 2021; Nutini et al., "Coordinate descent converges faster with the Gauss-Southwell rule than random
/// selection", ICML 2015; the orders are those of A. Defazio's thesis (2014), section 5.2.
///
/// ```
/// use fenchel_erm::loss::Squared;
/// use fenchel_erm::methods::{CoordinateSettings, coordinate_descent};
/// use fenchel_erm::prelude::{AsDesign, Status};
/// use fenchel_erm::prox::L1;
/// use fenchel_erm::Problem;
///
/// let a = ndarray::array![[1.0, 0.5], [-0.3, 2.0], [0.7, -1.0], [-1.5, 0.2]];
/// let y = [1.0, -0.5, 1.0, -2.0];
/// let problem = Problem::new(a.as_design()?, &y, Squared, L1 { strength: 0.1 }, 0.0)?;
/// let solution = coordinate_descent(&problem, &CoordinateSettings::default(), None, &mut ())?;
/// assert_eq!(solution.report.status, Status::Converged);
/// # Ok::<(), fenchel_erm::Error>(())
/// ```
///
/// # Errors
/// [`Error::Refused`] for a loss without a curvature bound, another order, or too little memory, before anything is allocated;
/// [`Error::Invalid`] for a start of another shape or settings out of range.
pub fn coordinate_descent<'p, 'a, D, L, R, O>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &CoordinateSettings,
    start: Option<Point>,
    observer: &mut O,
) -> Result<Solution<Point>, Error>
where
    D: Design,
    L: Loss,
    R: AsElasticNet,
    O: Observer<CoordinateDescent<'p, 'a, D, L, R>>,
{
    let method = "coordinate_descent";
    let stop = problem.stop(&settings.stop)?;
    let settings = &CoordinateSettings { stop, ..settings.clone() };
    problem.check_smooth(method)?;
    let taken = matches!(
        settings.order,
        Order::Cyclic | Order::Permuted | Order::Uniform | Order::LargestGap
    );
    settings.order.check(method, taken, "Cyclic, Permuted, Uniform or LargestGap")?;
    let hint = "use catalyst or saga, which need no copy of the data";
    let needed = Columns::bytes(problem.design());
    Refusal::check_memory(method, needed, settings.max_memory, hint)?;
    Columns::check(problem.design())?;
    let point = problem.start_point(start)?;
    let mut method = CoordinateDescent::new(problem, settings, point);
    let report = run(&mut method, &stop, observer)?;
    Ok(Solution { report: problem.judged(report, &method.point), state: method.point })
}

impl<'p, 'a, D: Design, L: Loss, R: AsElasticNet> CoordinateDescent<'p, 'a, D, L, R> {
    fn new(problem: &'p Problem<'a, D, L, R>, settings: &CoordinateSettings, point: Point) -> Self {
        let weights = problem.regulariser().weights();
        CoordinateDescent {
            problem,
            settings: settings.clone(),
            l1: weights.l1,
            l2: problem.l2() + weights.l2,
            point,
            gap: Gap::new(problem),
            certificate: None,
            columns: None,
            counts: Vec::new(),
            weighted: None,
            work: None,
            rng: stream(settings.seed, 0),
            sweeps: 0,
            complete: None,
            stalled: false,
        }
    }

    /// The current point.
    pub fn point(&self) -> &Point {
        &self.point
    }

    /// Margins, derivatives and certificate of the point, unless they are known. A pass.
    fn measure(&mut self) -> Certificate {
        if let Some(certificate) = self.certificate {
            return certificate;
        }
        let (problem, point) = (self.problem, &mut self.point);
        let certificate = match problem.intercept() {
            true => self.gap.at_best_intercept(problem, point),
            false => self.gap.at(problem, point),
        };
        self.certificate = Some(certificate);
        certificate
    }

    /// The next working set; none where nothing violates optimality.
    fn begin(&mut self) -> Option<Work> {
        let certificate = self.measure();
        let (problem, n) = (self.problem, self.problem.n());
        if self.columns.is_none() {
            self.counts = nonzeros_by_column(problem.design());
            // Checked by the public function.
            self.columns = Columns::counted(problem.design(), &self.counts).ok();
            if problem.loss().quadratic() && problem.weighted() {
                self.weighted =
                    Some((0..n).map(|i| problem.term_curvature(i) / n as f64).collect());
            }
        }
        let columns = self.columns.as_ref()?;
        let (set, complete, sum) = self.select();
        let mut x: Vec<f64> = set.iter().map(|&c| self.point.weights[c]).collect();
        x.extend(problem.intercept().then_some(self.point.intercept));
        if x.is_empty() {
            return None;
        }
        let selected = Selected { columns, set: &set, l2: self.l2 };
        let share = 1.0 / n as f64;
        let curvatures =
            selected.curvatures(problem.intercept(), n, |i| share * problem.term_curvature(i));
        self.gap.dual.iter_mut().for_each(|u| *u *= share);
        let mut sweeps =
            Sweeps::new((0..x.len()).collect(), set.len(), self.l1, self.settings.extrapolates);
        sweeps.skips = self.settings.working_set;
        let objective = certificate.objective().unwrap_or(f64::INFINITY);
        // No better than after all of a complete set: what is left is rounding.
        let value = (objective, certificate.value());
        self.stalled = self.complete.is_some_and(|last| value.0 >= last.0 && value.1 >= last.1);
        self.complete = complete.then_some(value);
        let tolerance = self.settings.stop.tolerance(Some(objective));
        let rough = (!complete).then_some(ROUGH * sum);
        let limits = Limits { rough, tolerance, objective, sweeps: SWEEPS };
        Some(Work { set, x, curvatures, sweeps, limits })
    }

    /// The support and the worst violators, which of them are left out, and the sum of the violations.
    fn select(&self) -> (Vec<usize>, bool, f64) {
        let (d, x) = (self.problem.d(), &self.point.weights);
        let slope = |c: usize| self.l2 * x[c] - self.gap.correlation[c];
        let sum = (0..d).map(|c| violation(x[c], slope(c), self.l1)).sum();
        if !self.settings.working_set || self.l1 == 0.0 {
            return ((0..d).collect(), true, sum);
        }
        let mut set: Vec<usize> = (0..d).filter(|&c| x[c] != 0.0).collect();
        let mut others: Vec<(f64, usize)> = (0..d)
            .filter(|&c| x[c] == 0.0)
            .map(|c| (violation(0.0, slope(c), self.l1), c))
            .filter(|(violation, _)| *violation > 0.0)
            .collect();
        let stored: usize = set.iter().map(|&c| self.counts[c]).sum();
        let all: usize = self.counts.iter().sum();
        let room = (2.0 * stored as f64).max(SHARE * all as f64) - stored as f64;
        others.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut taken = 0.0;
        let fits = |(_, c): &&(f64, usize)| {
            taken += self.counts[*c] as f64;
            taken <= room || taken == self.counts[*c] as f64
        };
        let most = others.iter().take_while(fits).count();
        set.extend(others[..most].iter().map(|(_, c)| *c));
        set.sort_unstable();
        (set, most == others.len(), sum)
    }

    /// One sweep over the working set. Returns its cost in passes.
    fn sweep(&mut self) -> f64 {
        let work = self.work.take();
        let mut passes = if work.is_none() { 1.0 } else { 0.0 };
        let Some(mut work) = work.or_else(|| self.begin()) else {
            self.stalled = true;
            return passes;
        };
        let Some(columns) = &self.columns else { return passes };
        let (problem, l1, l2) = (self.problem, self.l1, self.l2);
        let mut visiting = match self.settings.order {
            Order::Permuted => Visiting::Permuted(&mut self.rng),
            Order::Uniform => Visiting::Uniform(&mut self.rng),
            Order::LargestGap => Visiting::Largest,
            _ => Visiting::Cyclic,
        };
        let Work { set, x, curvatures, sweeps, limits } = &mut work;
        let selected = Selected { columns, set, l2 };
        let (slopes, before) = (&mut self.gap.dual[..], sweeps.entries);
        limits.sweeps -= 1;
        let met = |seen: &Violations, x: &[f64]| limits.met_by(seen, x, l1, l2);
        let done = if problem.loss().quadratic() {
            let alike = Curvature::Alike(problem.loss().curvature() / problem.n() as f64);
            let h = self.weighted.as_deref().map_or(alike, Curvature::Each);
            let mut f = Quadratic { selected, h, slopes, curvatures };
            sweeps.advance(&mut f, x, &mut visiting, met)
        } else {
            let margins = &mut self.gap.margins[..];
            let mut f = Terms { problem, selected, margins, slopes, curvatures };
            sweeps.advance(&mut f, x, &mut visiting, met)
        };
        self.certificate = None;
        self.sweeps += 1;
        passes += (sweeps.entries - before) / problem.design().stored().max(1) as f64;
        for (&c, x) in set.iter().zip(&*x) {
            self.point.weights[c] = *x;
        }
        if problem.intercept() {
            self.point.intercept = x[set.len()];
        }
        self.work = (!done && work.limits.sweeps > 0).then_some(work);
        passes
    }
}

impl<D: Design, L: Loss, R: AsElasticNet> Iterative for CoordinateDescent<'_, '_, D, L, R> {
    /// Sweeps over one working set; one at least.
    fn advance(&mut self, passes: f64) -> f64 {
        let mut done = self.sweep();
        while done < passes && self.work.is_some() {
            done += self.sweep();
        }
        done
    }

    /// Between two working sets the next of them needs all of this anyway. While one is worked on, the rows that follow its steps are
    /// left alone: a certificate has no influence on where the method goes.
    fn certify(&mut self) -> Certificate {
        match self.work {
            Some(_) => Gap::new(self.problem).at(self.problem, &self.point),
            None => self.measure(),
        }
    }

    fn certificate_cost(&self) -> CertificateCost {
        match self.work {
            Some(_) => CertificateCost::Estimated(f64::INFINITY),
            None => CertificateCost::Free,
        }
    }

    /// Sweeps.
    fn oracle_calls(&self) -> u64 {
        self.sweeps
    }

    fn verdict(&self) -> Option<Status> {
        self.stalled.then_some(Status::Stalled)
    }
}
