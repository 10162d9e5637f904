//! The outer loop.

mod minimise;
mod step;
mod working_set;

use std::sync::Arc;

use fenchel_linalg::{Columns, Design};
use fenchel_optim::prox::{ElasticNet, L1, Zero};
use fenchel_optim::random::{Generator, stream};
use fenchel_optim::{
    Certificate, Iterative, Look, Loss, Observer, Separable, Solution, Status, Stop, run,
};
use serde::{Deserialize, Serialize};

use super::cost::{DRAWN, sample_size};
use super::forcing::{Forcing, Known};
use super::gram::RIDGE;
use super::model::{Hessian, Model};
use super::orthants::Part;
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

/// A Gram matrix is written down at once where it costs no more passes than this: minimising a model by its columns takes
/// about as many, of dearer entries.
const GRAM_PASSES: f64 = 12.0;
/// With l1 every further sample is this much larger,
const GROWTH: f64 = 1.5;
/// and four times as large once a step has taken the violation to this fraction: from then on the sample is what limits
/// the pace, and not the change of the second derivatives.
const FAST: f64 = 0.2;

/// Settings of [`newton`].
///
/// | field | default | meaning |
/// |---|---|---|
/// | `memory_limit` | 4 GiB | for the copies (l1) or the Hessian (no l1) |
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
    /// Whether it is of a look at all features at the end of a step.
    by_look: bool,
    objective: f64,
    /// What the dual point of the last model proves, where it proves enough (see [`tangent`](Self::tangent)); whether
    /// to try at all; and whether this step's model may be the last.
    proof: Option<Certificate>,
    by_tangent: bool,
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
    /// How far models are minimised.
    forcing: Forcing,
    /// The working set row by row, where it is large; and whether the signs in it have to be found by columns.
    part: Option<Part>,
    by_columns: bool,
    settings: NewtonSettings,
    stalled: bool,
}

/// Proximal Newton with a working set, for twice differentiable losses with l1, l2, both or neither.
///
/// An outer step costs a pass for the gradient, and the minimisation of the model: coordinate descent on the Gram matrix of
/// the working set or on its columns, conjugate gradients over a large set, or (without l1) the Hessian,
/// `sum_i nnz(a_i)^2 / 4 + d^3 / 6` operations. With l1, where rows far
/// outnumber the variables of the model, about eight rows a variable stand for all in it (see [the
/// module](mod@crate::newton)); without, [`subsampled_newton`](fn@crate::subsampled_newton) does more of that. Memory: with
/// l1 up to two copies of the data, by columns and of some columns by rows; without, `d^2` numbers. The method for small
/// `d`, small supports, and badly scaled data.
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
    let mut method = Newton { by_tangent: l1 > 0.0, ..Newton::new(problem, point, gap, settings) };
    let mut report = run(&mut method, &settings.stop, observer)?;
    if method.drift > 0 {
        // The margins followed the steps; the objective that is returned is the returned point's own. A lower bound is
        // one for every point.
        problem.margins(&method.point, &mut method.gap.margins);
        report.certificate = match report.certificate {
            Certificate::Gap { lower_bound, .. } => {
                let weights = &method.point.weights;
                Certificate::gap(problem.objective_at(&method.gap.margins, weights), lower_bound)
            }
            _ => {
                method.certificate = None;
                method.measure()
            }
        };
    }
    Ok(Solution { state: method.point, report })
}

impl<'p, 'a, D: Design, L: Loss, R: ElasticNetForm> Newton<'p, 'a, D, L, R> {
    /// At a point whose margins stand in `gap`.
    fn new(
        problem: &'p Problem<'a, D, L, R>,
        point: Point,
        gap: Gap,
        settings: &NewtonSettings,
    ) -> Self {
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
            by_look: false,
            objective: f64::INFINITY,
            proof: None,
            by_tangent: false,
            ahead: Gap::new(problem),
            looked: None,
            h: vec![0.0; problem.n()],
            gradient: vec![0.0; problem.d()],
            direction: vec![0.0; problem.n()],
            rng: stream(settings.seed, 0),
            outer: 0,
            room: Vec::new(),
            last_set: 0,
            forcing: Forcing::default(),
            part: None,
            by_columns: false,
            settings: settings.clone(),
            stalled: false,
        }
    }

    /// Goes on from the solution of a neighbouring problem, looking at the candidates only.
    pub(super) fn resume(
        problem: &'p Problem<'a, D, L, R>,
        warm: Warm,
        candidates: Candidates,
        settings: &NewtonSettings,
    ) -> Self {
        let Warm { point, gap, columns } = warm;
        Newton { columns: Some(columns), candidates, ..Newton::new(problem, point, gap, settings) }
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
        // Margins drift by rounding: read them anew after ten steps.
        if self.drift >= 10 {
            self.problem.margins(&self.point, &mut self.gap.margins);
            self.drift = 0;
        }
        let columns = self.columns.as_deref();
        self.by_look = false;
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
        self.proof = None;
        self.measure();
        self.outer += 1;
        let problem = self.problem;
        problem.seconds(&self.gap.margins, 1.0 / problem.n() as f64, &mut self.h);
        self.count();
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
        self.forcing.left = minimum.left;
        self.hessian = hessian;
        entries += minimum.entries + self.find_direction(&set, &mut minimum);
        if let Some(objective) = self.search(&set, &minimum) {
            entries += self.tangent(objective);
        }
        self.candidates.share() + entries / problem.design().stored().max(1) as f64
    }

    /// The last Hessian while it serves, else a new one; none where coordinate descent is to try the columns first. Also
    /// what it costs, in entries of a pass.
    fn choose_hessian(&mut self, set: &[usize], slope: Option<f64>) -> (Option<Hessian>, f64) {
        let problem = self.problem;
        let violation = self.model(set, slope).total_violation();
        let kept = self.hessian.take();
        self.reused = kept.as_ref().is_some_and(|kept| kept.serves(set, &self.h, violation));
        let stored = self.stored(set);
        let objective = self.objective;
        self.forcing.step(&Known {
            violation,
            objective,
            gap: self.certificate.map_or(f64::INFINITY, |certificate| certificate.value()),
            tolerance: self.settings.stop.tolerance(Some(objective)),
            small: self.model(set, slope).is_small(stored),
            old: self.reused,
            quadratic: problem.loss().quadratic(),
        });
        if self.reused {
            return (kept, 0.0);
        }
        if let Some(kept) = kept.filter(|kept| kept.sampled) {
            self.drawn *= if violation <= FAST * kept.violation { 4.0 } else { GROWTH };
        }
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

    fn model<'m>(&'m self, set: &'m [usize], intercept: Option<f64>) -> Model<'m> {
        Model {
            h: &self.h,
            x: &self.point.weights,
            gradient: &self.gradient,
            intercept,
            l1: self.l1,
            l2: self.l2 + RIDGE,
            set,
            tolerances: self.forcing.tolerances,
        }
    }

    /// Whether to build the Gram matrix of a working set without trying its columns first.
    fn gram_at_once(&self, order: usize, stored: usize, cost: f64) -> bool {
        let small = order <= 512 || order * order <= 2 * stored;
        small && cost <= GRAM_PASSES * self.problem.design().stored() as f64
    }

    /// `(1/n) sum_i phi'(t_i)`
    fn intercept_slope(&self) -> f64 {
        self.problem.sum_derivatives(&self.gap.margins) / self.problem.n() as f64
    }
}

impl<D: Design, L: Loss, R: ElasticNetForm> Iterative for Newton<'_, '_, D, L, R> {
    /// One outer step, whatever it costs.
    fn advance(&mut self, _: f64) -> f64 {
        self.outer_step()
    }

    /// The next step needs all of this anyway.
    fn certify(&mut self) -> Certificate {
        if let Some(proof) = self.proof {
            return proof;
        }
        self.measure()
    }

    fn look(&self) -> Look {
        Look::Free
    }

    /// Outer steps.
    fn oracle_calls(&self) -> u64 {
        self.outer
    }

    fn verdict(&self) -> Option<Status> {
        self.stalled.then_some(Status::Stalled)
    }
}
