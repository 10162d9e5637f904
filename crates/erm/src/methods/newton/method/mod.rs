//! The outer loop: certificate, working set, model, line search.

mod data;
mod iterate;
mod working_set;

pub(crate) use data::GRAM_PASSES;

use std::sync::Arc;

use fenchel_linalg::{Columns, Design};
use fenchel_optim::prox::{L1, L1L2, Zero};
use fenchel_optim::random::stream;
use fenchel_optim::{
    Certificate, CertificateCost, Iterative, Loss, MAX_MEMORY, Observer, Refusal, Separable,
    Solution, Status, Stop, run,
};

use super::rows::row_bytes;
use super::screening::Candidates;
use data::ModelData;
use iterate::Iterate;
use working_set::WorkingSet;

use crate::gap::Gap;
use crate::{Error, Point, Problem};
use fenchel_optim::settings;

/// A regulariser of the form `l1 ||x||_1 + (l2/2) ||x||^2`, either weight possibly 0.
pub trait AsElasticNet: Separable {
    /// The two weights.
    fn weights(&self) -> L1L2;
}

impl AsElasticNet for Zero {
    fn weights(&self) -> L1L2 {
        L1L2 { l1: 0.0, l2: 0.0 }
    }
}

impl AsElasticNet for L1 {
    fn weights(&self) -> L1L2 {
        L1L2 { l1: self.strength, l2: 0.0 }
    }
}

impl AsElasticNet for L1L2 {
    fn weights(&self) -> L1L2 {
        *self
    }
}

settings! {
    /// Settings of [`newton`].
    pub struct NewtonSettings {
        /// Largest size of the copy by columns (l1) or the Hessian (no l1), in bytes.
        max_memory: Option<u64> = MAX_MEMORY,
        /// Seed of the order of coordinate descent.
        seed: u64 = 0,
        /// When to end; a pass is as much work as one product with the data and its transpose.
        stop: Stop = Stop::default(),
    }
}

/// Proximal Newton on one problem: what an observer of [`newton`] sees.
#[derive(Debug, Clone)]
pub struct Newton<'p, 'a, D, L, R> {
    problem: &'p Problem<'a, D, L, R>,
    /// The penalty of the weights, the l2 term of the problem included.
    penalty: L1L2,
    iterate: Iterate,
    working_set: WorkingSet,
    data: ModelData,
    seed: u64,
    /// Outer steps.
    steps: u64,
    /// Whether the next model has the largest second derivatives of the loss in place of those at the point.
    majorises: bool,
    stalled: bool,
}

/// Proximal Newton with a working set, for twice differentiable losses with l1, l2, both or neither.
///
/// An outer step costs a pass for the gradient, and the minimisation of the model. With l1 this is coordinate descent on the Gram
/// matrix of the working set, or on its columns. Without l1 it is one linear system, which takes `sum_i nnz(a_i)^2 / 4 + d^3 / 6`
/// operations. If rows far outnumber features, [`subsampled_newton`](fn@crate::methods::subsampled_newton) is cheaper. The memory is a
/// copy of the data by columns with l1, and `d^2` numbers without, or `n^2` for dense data with fewer rows than columns and `l2 > 0`.
/// It is the method for few features, small supports, and badly scaled data.
///
/// Dense and sparse storage of the same numbers lead to the same optimum in different numbers of passes, because the number of stored
/// entries decides how a model is minimised.
///
/// [An example](crate::methods#example).
///
/// # Errors
/// [`Error::Refused`] for a loss with a kink, or too little memory, before anything is allocated;
/// [`Error::Invalid`] for a start of another shape or settings out of range.
pub fn newton<'p, 'a, D: Design, L: Loss, R: AsElasticNet, O: Observer<Newton<'p, 'a, D, L, R>>>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &NewtonSettings,
    start: Option<Point>,
    observer: &mut O,
) -> Result<Solution<Point>, Error> {
    let method = "newton";
    let stop = problem.stop(&settings.stop)?;
    problem.check_twice_differentiable(method)?;
    let l1 = problem.regulariser().weights().l1;
    let d = problem.d() as u64 + 1;
    let mu = problem.strong_convexity();
    let (needed, hint) = if l1 > 0.0 {
        let hint = match (problem.loss().curvature().is_finite(), mu > 0.0) {
            (true, _) => "use catalyst or saga, which need no copy of the data",
            (false, true) => "use sdca, which needs no copy of the data",
            (false, false) => {
                "allow that, or set l2 > 0 and use sdca, which needs no copy of the data"
            }
        };
        (Columns::bytes(problem.design()), hint)
    } else {
        // The Hessian and its factor, or what takes their place.
        let hessian = d.saturating_mul(d).saturating_mul(16);
        (
            row_bytes(problem.design(), mu).unwrap_or(hessian),
            match problem.loss().curvature().is_finite() {
                true => "use catalyst or lbfgs, which need no Hessian",
                false => "use newton_cg, which needs no Hessian",
            },
        )
    };
    Refusal::check_memory(method, needed, settings.max_memory, hint)?;
    if l1 > 0.0 {
        Columns::check(problem.design())?;
    }
    let point = problem.start_point(start)?;
    let mut gap = Gap::new(problem);
    problem.margins(&point, &mut gap.margins);
    let mut method = Newton::new(problem, point, gap, settings);
    let mut report = run(&mut method, &stop, observer)?;
    let Iterate { point, gap, drift, .. } = &mut method.iterate;
    if *drift > 0 {
        // The margins followed the steps; the objective that is returned is the returned point's own. A lower bound is
        // one for every point.
        problem.margins(point, &mut gap.margins);
        report.certificate = match report.certificate {
            Certificate::Gap { lower_bound, .. } => {
                let objective = problem.objective_at(&gap.margins, &point.weights);
                gap.bounded(problem, &point.weights, (objective, lower_bound))
            }
            _ => {
                method.iterate.certificate = None;
                method.measure()
            }
        };
    }
    let state = method.iterate.point;
    Ok(Solution { report: problem.judged(report, &state), state })
}

impl<'p, 'a, D: Design, L: Loss, R: AsElasticNet> Newton<'p, 'a, D, L, R> {
    /// At a point whose margins stand in `gap`.
    fn new(
        problem: &'p Problem<'a, D, L, R>,
        point: Point,
        gap: Gap,
        settings: &NewtonSettings,
    ) -> Self {
        let L1L2 { l1, l2 } = problem.regulariser().weights();
        Newton {
            problem,
            penalty: L1L2 { l1, l2: problem.l2() + l2 },
            iterate: Iterate::new(point, gap),
            working_set: WorkingSet::default(),
            data: ModelData::default(),
            seed: settings.seed,
            steps: 0,
            majorises: false,
            stalled: false,
        }
    }

    /// Continues from the solution of a neighbouring problem, among the candidates only.
    pub(super) fn resume(
        problem: &'p Problem<'a, D, L, R>,
        (point, gap): (Point, Gap),
        columns: Arc<Columns>,
        candidates: Candidates,
        settings: &NewtonSettings,
    ) -> Self {
        let mut method = Newton::new(problem, point, gap, settings);
        method.data.columns = Some(columns);
        method.working_set.candidates = candidates;
        method
    }

    /// Where a resumed run has come to.
    pub(super) fn pause(self) -> (Point, Gap, Candidates) {
        (self.iterate.point, self.iterate.gap, self.working_set.candidates)
    }

    /// The current point.
    pub fn point(&self) -> &Point {
        &self.iterate.point
    }

    /// Certificate and gradient at the iterate, unless they are known.
    fn measure(&mut self) -> Certificate {
        let Newton { problem, penalty, iterate, working_set, data, .. } = self;
        if let Some(certificate) = iterate.certificate {
            return certificate;
        }
        iterate.correct_margins(problem);
        let (Iterate { point, gap, .. }, columns) = (&mut *iterate, data.columns.as_deref());
        let certificate = working_set.candidates.certify(problem, point, gap, columns, penalty.l1);
        iterate.remember(certificate, penalty.l2);
        certificate
    }

    /// One outer step. Returns its cost in passes.
    fn step(&mut self) -> f64 {
        self.measure();
        self.steps += 1;
        let mut rng = stream(self.seed, self.steps);
        let Newton { problem, penalty, iterate, working_set, data, .. } = self;
        let set = working_set.choose(iterate, penalty.l1);
        let h = match self.majorises {
            true => {
                (0..problem.n()).map(|i| problem.term_curvature(i) / problem.n() as f64).collect()
            }
            false => iterate.second_derivatives(problem),
        };
        let model = iterate.model(problem, penalty, &set, &h);
        let Some(step) = data.minimise(problem, iterate, &model, &mut rng) else {
            // A system that cannot be solved because the loss is flat here: the other model is not.
            self.stalled = self.majorises || !problem.loss().curvature().is_finite();
            self.majorises = true;
            return 1.0;
        };
        let (slope, curvature) = (model.slope(&step), model.curvature(&step));
        iterate.drift = if step.by_columns { iterate.drift + 1 } else { 0 };
        // Where the loss is flat its second derivatives say nothing of the way ahead. A model with the largest ones lies above the
        // objective, and falls with it.
        let falls = -(slope + 0.5 * curvature) > iterate.rounding(problem.n());
        let found =
            (falls || !self.majorises) && iterate.search(problem, &set, &step, slope, curvature);
        self.stalled = !found && (self.majorises || !problem.loss().curvature().is_finite());
        if found && self.majorises {
            iterate.go_on(problem, &set, &step);
        }
        self.majorises = !found;
        working_set.candidates.share() + step.entries / problem.design().stored().max(1) as f64
    }
}

impl<D: Design, L: Loss, R: AsElasticNet> Iterative for Newton<'_, '_, D, L, R> {
    /// One outer step, whatever it costs.
    fn advance(&mut self, _: f64) -> f64 {
        self.step()
    }

    /// The next step needs all of this anyway.
    fn certify(&mut self) -> Certificate {
        self.measure()
    }

    fn certificate_cost(&self) -> CertificateCost {
        CertificateCost::Free
    }

    /// Outer steps.
    fn oracle_calls(&self) -> u64 {
        self.steps
    }

    fn verdict(&self) -> Option<Status> {
        self.stalled.then_some(Status::Stalled)
    }
}
