//! The outer loop.

mod step;

use std::sync::Arc;

use fenchel_linalg::{Columns, Design, nonzeros_by_column};
use fenchel_optim::prox::{ElasticNet, L1, Zero};
use fenchel_optim::random::{Generator, stream};
use fenchel_optim::{
    Certificate, Iterative, Loss, Observer, Separable, Solution, Status, Stop, run,
};
use serde::{Deserialize, Serialize};

use super::cost::{DRAWN, sample_size};
use super::gram::RIDGE;
use super::model::{Hessian, Minimum, Model, violation};
use super::warm::{Candidates, Warm};
use crate::gap::Gap;
use crate::{Error, Point, Problem};

/// A regulariser of the form `l1 ||x||_1 + (l2/2) ||x||^2`, either weight possibly 0.
pub trait ElasticNetForm: Separable {
    /// The two weights.
    fn weights(&self) -> ElasticNet;
}

impl ElasticNetForm for Zero {
    fn weights(&self) -> ElasticNet {
        ElasticNet { l1: 0.0, l2: 0.0 }
    }
}

impl ElasticNetForm for L1 {
    fn weights(&self) -> ElasticNet {
        ElasticNet { l1: self.strength, l2: 0.0 }
    }
}

impl ElasticNetForm for ElasticNet {
    fn weights(&self) -> ElasticNet {
        *self
    }
}

/// The signs of a large working set count as settled where a step has left no more than this fraction of the violation.
const SETTLED: f64 = 0.2;
/// A working set is all that violates optimality where that is so much of the features: no Gram matrix is in sight.
const MOST: f64 = 0.2;
/// Rows of a dense design whose zeros are counted.
const DENSE_ROWS: usize = 4096;
/// A working set is full when more than this share of it is in the support.
const FULL: f64 = 0.8;
/// With l1 every further sample is this much larger,
const GROWTH: f64 = 1.5;
/// and four times as large once a step has taken the violation to this fraction: from then on the sample is what limits
/// the pace, and not the change of the second derivatives.
const FAST: f64 = 0.2;

/// Settings of [`newton`].
///
/// | field | default | meaning |
/// |---|---|---|
/// | `memory_limit` | 4 GiB | for the copy by columns (l1) or the Hessian (no l1) |
/// | `seed` | 0 | of the order of coordinate descent, and of the rows that stand for all in a Hessian |
/// | `stop` | see [`Stop`] | when to end; a pass is as much work as one look at the data |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewtonSettings {
    /// Largest size of what the method allocates, in bytes.
    pub memory_limit: u64,
    /// Seed of the order of coordinate descent, and of the rows that stand for all in a Hessian.
    pub seed: u64,
    /// When to end.
    pub stop: Stop,
}

impl Default for NewtonSettings {
    fn default() -> Self {
        NewtonSettings { memory_limit: 4 << 30, seed: 0, stop: Stop::default() }
    }
}

/// Proximal Newton on one problem: what an observer of [`newton`] sees.
#[derive(Debug, Clone)]
pub struct Newton<'p, 'a, D, L, R> {
    problem: &'p Problem<'a, D, L, R>,
    /// For coordinate descent; made by the first step that needs it.
    columns: Option<Arc<Columns>>,
    /// Entries of each column that are not 0.
    counts: Vec<usize>,
    hessian: Option<Hessian>,
    /// Rows to draw for the next Hessian, for each coordinate of the working set.
    drawn: f64,
    /// Whether the last step took the Hessian of an earlier one.
    reused: bool,
    /// Steps since the margins were read from the point.
    drift: u32,
    /// On a path: the features that may be in the support.
    candidates: Candidates,
    l1: f64,
    l2: f64,
    point: Point,
    gap: Gap,
    certificate: Option<Certificate>,
    objective: f64,
    /// What is known at the end of the full step, and the objective there, where all features were looked at.
    ahead: Gap,
    looked: Option<f64>,
    /// `phi''(t_i) / n`
    h: Vec<f64>,
    gradient: Vec<f64>,
    /// `A d + d_b`
    direction: Vec<f64>,
    rng: Generator,
    outer: u64,
    /// Memory of one model for the next.
    room: Vec<f64>,
    /// Size of the last working set.
    last_set: usize,
    /// Violation at the last step, and whether that one has left but little of it.
    last_violation: f64,
    settled: bool,
    stalled: bool,
}

/// Proximal Newton with a working set, for twice differentiable losses with l1, l2, both or neither.
///
/// An outer step costs a pass for the gradient, and the minimisation of the model: coordinate descent over
/// the working set, or (without l1) the Hessian, `sum_i nnz(a_i)^2 / 4 + d^3 / 6` operations. With l1, where rows far
/// outnumber the variables of the model, about eight rows a variable stand for all in it (see [the
/// module](mod@crate::newton)); without, [`subsampled_newton`](fn@crate::subsampled_newton) does more of that. Memory: with l1 a copy of the data by columns, without `d^2` numbers. The method for small `d`, small supports, and
/// badly scaled data.
///
/// ```
/// use fenchel_finite_sum::loss::Logistic;
/// use fenchel_finite_sum::prox::Zero;
/// use fenchel_finite_sum::{AsDesign, Problem, Status, NewtonSettings, newton};
///
/// let a = ndarray::array![[1.0, 0.5], [-0.3, 2.0], [0.7, -1.0], [-1.5, 0.2]];
/// let y = [1.0, -1.0, 1.0, -1.0];
/// let problem = Problem::new(a.as_design()?, &y, Logistic, Zero, 0.1)?;
/// let solution = newton(&problem, &NewtonSettings::default(), None, &mut ())?;
/// assert_eq!(solution.report.status, Status::Converged);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
///
/// # Errors
/// [`Error::MemoryLimit`] before anything is allocated; [`Error::Unsupported`] for a loss with a kink;
/// [`Error::Invalid`] for a start of another shape or settings out of range.
pub fn newton<'p, 'a, D, L, R, O>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &NewtonSettings,
    start: Option<Point>,
    observer: &mut O,
) -> Result<Solution<Point>, Error>
where
    D: Design,
    L: Loss,
    R: ElasticNetForm,
    O: Observer<Newton<'p, 'a, D, L, R>>,
{
    let method = "newton";
    settings.stop.check()?;
    problem.check_twice_differentiable(method)?;
    let l1 = problem.regulariser().weights().l1;
    let d = problem.d() as u64 + 1;
    let (needed, hint) = if l1 > 0.0 {
        (Columns::bytes(problem.design()), "use catalyst or saga, which need no copy of the data")
    } else {
        // The Hessian and its factor.
        (d.saturating_mul(d).saturating_mul(16), "use catalyst or lbfgs, which need no Hessian")
    };
    if needed > settings.memory_limit {
        let limit = settings.memory_limit;
        return Err(Error::MemoryLimit { method, needed, limit, hint });
    }
    if l1 > 0.0 {
        Columns::check(problem.design())?;
    }
    let point = start.unwrap_or_else(|| Point::zero(problem.d()));
    problem.check_point(&point)?;
    let mut gap = Gap::new(problem);
    problem.margins(&point, &mut gap.margins);
    let mut method = Newton::new(problem, point, gap, settings.seed);
    let mut report = run(&mut method, &settings.stop, observer)?;
    if method.drift > 0 {
        // The margins followed the steps; the certificate that is returned is the returned point's own.
        problem.margins(&method.point, &mut method.gap.margins);
        method.certificate = None;
        report.certificate = method.measure();
    }
    Ok(Solution { state: method.point, report })
}

impl<'p, 'a, D: Design, L: Loss, R: ElasticNetForm> Newton<'p, 'a, D, L, R> {
    /// At a point whose margins stand in `gap`.
    fn new(problem: &'p Problem<'a, D, L, R>, point: Point, gap: Gap, seed: u64) -> Self {
        let ElasticNet { l1, l2 } = problem.regulariser().weights();
        Newton {
            problem,
            columns: None,
            counts: Vec::new(),
            hessian: None,
            drawn: DRAWN,
            reused: false,
            drift: 0,
            candidates: Candidates::default(),
            l1,
            l2: problem.l2() + l2,
            point,
            gap,
            certificate: None,
            objective: f64::INFINITY,
            ahead: Gap::new(problem),
            looked: None,
            h: vec![0.0; problem.n()],
            gradient: vec![0.0; problem.d()],
            direction: vec![0.0; problem.n()],
            rng: stream(seed, 0),
            outer: 0,
            room: Vec::new(),
            last_set: 0,
            last_violation: f64::INFINITY,
            settled: false,
            stalled: false,
        }
    }

    /// Goes on from the solution of a neighbouring problem, looking at the candidates only.
    pub(super) fn resume(
        problem: &'p Problem<'a, D, L, R>,
        warm: Warm,
        candidates: Candidates,
        seed: u64,
    ) -> Self {
        let Warm { point, gap, columns } = warm;
        Newton { columns: Some(columns), candidates, ..Newton::new(problem, point, gap, seed) }
    }

    /// Where a resumed run has come to.
    pub(super) fn pause(self) -> (Point, Gap, Candidates) {
        (self.point, self.gap, self.candidates)
    }

    /// The current point.
    pub fn point(&self) -> &Point {
        &self.point
    }

    /// Gradient and certificate at the current point, unless they are known.
    fn measure(&mut self) -> Certificate {
        if let Some(certificate) = self.certificate {
            return certificate;
        }
        let columns = self.columns.as_deref();
        let certificate =
            self.candidates.certify(self.problem, &mut self.point, &mut self.gap, columns, self.l1);
        self.remember(certificate)
    }

    /// The certificate here, and the gradient that belongs to it.
    fn remember(&mut self, certificate: Certificate) -> Certificate {
        // The dual point is phi' at the margins, balanced: with the intercept at its optimum, phi' itself.
        for ((g, v), x) in
            self.gradient.iter_mut().zip(&self.gap.correlation).zip(&self.point.weights)
        {
            *g = self.l2 * x - v;
        }
        self.objective = certificate.objective().unwrap_or(f64::INFINITY);
        self.certificate = Some(certificate);
        certificate
    }

    /// One step of the outer loop. Returns its cost in passes.
    fn outer_step(&mut self) -> f64 {
        self.measure();
        self.outer += 1;
        let problem = self.problem;
        problem.seconds(&self.gap.margins, 1.0 / problem.n() as f64, &mut self.h);
        if self.counts.is_empty() && self.l1 > 0.0 {
            self.counts = match &self.columns {
                Some(columns) => (0..problem.d()).map(|c| columns.stored(c)).collect(),
                None => count_nonzeros(problem.design()),
            };
        }
        let mut set = self.working_set();
        let slope = problem.intercept().then(|| self.intercept_slope());
        let (mut hessian, mut entries) = self.choose_hessian(&set, slope);
        if let Some(hessian) = &hessian {
            set.clone_from(&hessian.set);
        }
        let Some(mut minimum) = self.minimise(&set, slope, hessian.as_mut()) else {
            self.stalled = true;
            return 1.0;
        };
        self.hessian = hessian;
        entries += minimum.entries + self.find_direction(&set, &mut minimum);
        self.search(&set, &minimum);
        self.candidates.share() + entries / problem.design().stored().max(1) as f64
    }

    /// The last Hessian while it serves, else a new one; none where coordinate descent is to try the columns first. Also
    /// what it costs, in entries of a pass.
    fn choose_hessian(&mut self, set: &[usize], slope: Option<f64>) -> (Option<Hessian>, f64) {
        let problem = self.problem;
        let violation = self.model(set, slope).total_violation();
        self.settled = violation <= SETTLED * self.last_violation && self.outer > 1;
        self.last_violation = violation;
        let kept = self.hessian.take();
        self.reused = kept.as_ref().is_some_and(|kept| kept.serves(set, &self.h, violation));
        if self.reused {
            return (kept, 0.0);
        }
        if let Some(kept) = kept.filter(|kept| kept.sampled) {
            self.drawn *= if violation <= FAST * kept.violation { 4.0 } else { GROWTH };
        }
        let stored = if self.l1 > 0.0 {
            set.iter().map(|&c| self.counts[c]).sum()
        } else {
            problem.design().stored()
        };
        let order = set.len() + usize::from(slope.is_some());
        let drawn = (self.l1 > 0.0).then_some(self.drawn);
        let (sampled, cost) = sample_size(problem.design(), drawn, order, stored);
        if self.l1 > 0.0 && !self.gram_at_once(order, stored, cost) {
            return (None, 0.0);
        }
        let mut rng = self.rng.clone();
        let hessian = self.model(set, slope).hessian(problem.design(), stored, sampled, &mut rng);
        self.rng = rng;
        (Some(hessian), cost)
    }

    /// The minimiser of the model, on a Hessian or by columns; none if there can be no copy by columns.
    fn minimise(
        &mut self,
        set: &[usize],
        slope: Option<f64>,
        hessian: Option<&mut Hessian>,
    ) -> Option<Minimum> {
        let design = self.problem.design();
        if hessian.is_none() && self.columns.is_none() {
            // Checked by the public function.
            let columns = match D::DENSE {
                true => Columns::new(design),
                false => Columns::counted(design, &self.counts),
            };
            self.columns = Some(Arc::new(columns.ok()?));
        }
        let (mut rng, mut room) = (self.rng.clone(), std::mem::take(&mut self.room));
        let model = self.model(set, slope);
        let minimum = match (hessian, &self.columns) {
            (Some(hessian), _) if self.l1 > 0.0 => model.descend_on(hessian, &mut rng),
            (Some(hessian), _) => model.solve(hessian),
            (None, columns) => model.descend(design, columns.as_deref()?, &mut rng, &mut room),
        };
        (self.rng, self.room) = (rng, room);
        Some(minimum)
    }

    fn model<'m>(&'m self, set: &'m [usize], intercept: Option<f64>) -> Model<'m> {
        Model {
            h: &self.h,
            x: &self.point.weights,
            gradient: &self.gradient,
            intercept,
            l1: self.l1,
            l2: self.l2 + RIDGE,
            set,
            settled: self.settled,
        }
    }

    /// Whether to build the Gram matrix of a working set without trying its columns first: where it costs no more
    /// than a few sweeps, or than the copy by columns that it saves.
    fn gram_at_once(&self, order: usize, stored: usize, cost: f64) -> bool {
        let passes = if self.columns.is_some() { 2.0 } else { 8.0 };
        let small = order <= 512 || order * order <= 2 * stored;
        small && cost <= passes * self.problem.design().stored() as f64
    }

    /// `(1/n) sum_i phi'(t_i)`
    fn intercept_slope(&self) -> f64 {
        self.problem.sum_derivatives(&self.gap.margins) / self.problem.n() as f64
    }

    /// Every coordinate without l1; else the support and the worst violators, at most 50 or four times the support (16
    /// times where the support has filled the last set).
    fn working_set(&mut self) -> Vec<usize> {
        let d = self.problem.d();
        if self.l1 == 0.0 {
            return (0..d).collect();
        }
        let x = &self.point.weights;
        let mut set: Vec<usize> = (0..d).filter(|&c| x[c] != 0.0).collect();
        let mut others: Vec<(f64, usize)> = (0..d)
            .filter(|&c| x[c] == 0.0)
            .map(|c| (violation(0.0, self.gradient[c], self.l1), c))
            .filter(|(violation, _)| *violation > 0.0)
            .collect();
        // A set that the support has filled was too small by far.
        let filled = set.len() as f64 > FULL * self.last_set as f64 && self.last_set > 0;
        let factor = if filled { 16 } else { 4 };
        let room = (factor * set.len()).max(50).saturating_sub(set.len());
        let most = set.len() + others.len();
        let room = if most > 512 && most as f64 >= MOST * d as f64 { others.len() } else { room };
        if others.len() > room {
            others.select_nth_unstable_by(room, |a, b| b.0.total_cmp(&a.0));
            others.truncate(room);
        }
        set.extend(others.into_iter().map(|(_, c)| c));
        set.sort_unstable();
        self.last_set = set.len();
        set
    }
}

/// Entries of each column that are not 0; of a dense design about so many, by some of its rows.
fn count_nonzeros<D: Design>(design: &D) -> Vec<usize> {
    let every = design.rows().div_ceil(DENSE_ROWS);
    if !D::DENSE || every == 1 {
        return nonzeros_by_column(design);
    }
    let index: Vec<usize> = (0..design.rows()).step_by(every).collect();
    let mut counts = vec![0; design.columns()];
    for &i in &index {
        design.row_entries(i, |c, a| counts[c] += usize::from(a != 0.0));
    }
    counts.iter().map(|count| count * design.rows() / index.len()).collect()
}

impl<D: Design, L: Loss, R: ElasticNetForm> Iterative for Newton<'_, '_, D, L, R> {
    const FREE_CERTIFICATE: bool = true;

    /// One outer step, whatever it costs.
    fn advance(&mut self, _: f64) -> f64 {
        self.outer_step()
    }

    /// The next step needs all of this anyway.
    fn certify(&mut self) -> Certificate {
        // Margins drift by rounding: read them anew after ten steps.
        if self.drift >= 10 && self.certificate.is_none() {
            self.problem.margins(&self.point, &mut self.gap.margins);
            self.drift = 0;
        }
        self.measure()
    }

    /// Outer steps.
    fn oracle_calls(&self) -> u64 {
        self.outer
    }

    fn verdict(&self) -> Option<Status> {
        self.stalled.then_some(Status::Stalled)
    }
}
