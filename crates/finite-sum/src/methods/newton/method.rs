//! The outer loop.

mod minimise;
mod step;
mod working_set;

pub(crate) use minimise::GRAM_PASSES;

use fenchel_optim::MAX_MEMORY;
use fenchel_optim::Refusal;
use std::sync::Arc;

use fenchel_linalg::{Columns, Design};
use fenchel_optim::prox::{ElasticNet, L1, Zero};
use fenchel_optim::{
    Certificate, CertificateCost, Iterative, Loss, Observer, Separable, Solution, Status, Stop, run,
};

use super::model::Model;
use super::rows::row_bytes;
use super::screening::Candidates;
use crate::gap::Gap;
use crate::settings::settings;
use crate::{Error, Point, Problem};

/// A regulariser of the form `l1 ||x||_1 + (l2/2) ||x||^2`, either weight possibly 0.
pub trait AsElasticNet: Separable {
    /// The two weights.
    fn weights(&self) -> ElasticNet;
}

impl AsElasticNet for Zero {
    fn weights(&self) -> ElasticNet {
        ElasticNet { l1: 0.0, l2: 0.0 }
    }
}

impl AsElasticNet for L1 {
    fn weights(&self) -> ElasticNet {
        ElasticNet { l1: self.strength, l2: 0.0 }
    }
}

impl AsElasticNet for ElasticNet {
    fn weights(&self) -> ElasticNet {
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
    /// For coordinate descent; made by the first step that needs it.
    columns: Option<Arc<Columns>>,
    /// Entries of each column that are not 0.
    counts: Vec<usize>,
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
    /// `A A'`, where steps go through the rows.
    kernel: Option<Vec<f64>>,
    /// `phi''(t_i) / n`
    h: Vec<f64>,
    gradient: Vec<f64>,
    /// `A d + d_b`
    direction: Vec<f64>,
    seed: u64,
    outer: u64,
    /// Size of the last working set.
    last_set: usize,
    stalled: bool,
}

/// Proximal Newton with a working set, for twice differentiable losses with l1, l2, both or neither.
///
/// An outer step costs a pass for the gradient, and the minimisation of the model: coordinate descent on the Gram matrix of
/// the working set or on its columns, or (without l1) the Hessian, `sum_i nnz(a_i)^2 / 4 + d^3 / 6` operations. Where rows far
/// outnumber features, [`subsampled_newton`](fn@crate::methods::subsampled_newton) writes down less. Memory: with l1 a copy of the data by
/// columns; without, `d^2` numbers, or `n^2` and a copy for dense data with fewer rows than columns (`l2 > 0`). The method for small
/// `d`, small supports, and badly scaled data.
///
/// Dense and sparse storage of the same numbers take different paths to the same optimum: which model is minimised how is decided
/// by the entries that are stored, and rounding differs, so that the passes differ too.
///
/// ```
/// use fenchel_finite_sum::loss::Logistic;
/// use fenchel_finite_sum::prox::Zero;
/// use fenchel_finite_sum::methods::{NewtonSettings, newton};
/// use fenchel_finite_sum::prelude::{AsDesign, Status};
/// use fenchel_finite_sum::Problem;
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
/// [`Error::Refused`] for a loss with a kink, or too little memory, before anything is allocated;
/// [`Error::Invalid`] for a start of another shape or settings out of range.
pub fn newton<'p, 'a, D: Design, L: Loss, R: AsElasticNet, O: Observer<Newton<'p, 'a, D, L, R>>>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &NewtonSettings,
    start: Option<Point>,
    observer: &mut O,
) -> Result<Solution<Point>, Error> {
    let method = "newton";
    settings.stop.check()?;
    problem.check_twice_differentiable(method)?;
    let l1 = problem.regulariser().weights().l1;
    let d = problem.d() as u64 + 1;
    let mu = problem.strong_convexity();
    let (needed, hint) = if l1 > 0.0 {
        (Columns::bytes(problem.design()), "use catalyst or saga, which need no copy of the data")
    } else {
        // The Hessian and its factor, or what takes their place.
        let hessian = d.saturating_mul(d).saturating_mul(16);
        (
            row_bytes(problem.design(), mu).unwrap_or(hessian),
            "use catalyst or lbfgs, which need no Hessian",
        )
    };
    Refusal::check_memory(method, needed, settings.max_memory, hint)?;
    if l1 > 0.0 {
        Columns::check(problem.design())?;
    }
    let point = start.unwrap_or_else(|| Point::zero(problem.d()));
    problem.check_point(&point)?;
    let mut gap = Gap::new(problem);
    problem.margins(&point, &mut gap.margins);
    let mut method = Newton::new(problem, point, gap, settings);
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
    Ok(Solution { report: problem.judged(report, &method.point), state: method.point })
}

impl<'p, 'a, D: Design, L: Loss, R: AsElasticNet> Newton<'p, 'a, D, L, R> {
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
            drift: 0,
            candidates: Candidates::default(),
            l1,
            l2: problem.l2() + l2,
            point,
            gap,
            certificate: None,
            objective: f64::INFINITY,
            kernel: None,
            h: vec![0.0; problem.n()],
            gradient: vec![0.0; problem.d()],
            direction: vec![0.0; problem.n()],
            seed: settings.seed,
            outer: 0,
            last_set: 0,
            stalled: false,
        }
    }

    /// Goes on from the solution of a neighbouring problem, looking at the candidates only.
    pub(super) fn resume(
        problem: &'p Problem<'a, D, L, R>,
        (point, gap): (Point, Gap),
        columns: Arc<Columns>,
        candidates: Candidates,
        settings: &NewtonSettings,
    ) -> Self {
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
        self.count();
        let set = self.working_set();
        let slope = problem.intercept().then(|| self.intercept_slope());
        let Some((minimum, by_columns)) = self.minimise(&set, slope) else {
            self.stalled = true;
            return 1.0;
        };
        let entries = minimum.entries + self.find_direction(&set, &minimum, by_columns);
        self.search(&set, &minimum);
        self.candidates.share() + entries / problem.design().stored().max(1) as f64
    }

    fn model<'m>(&'m self, set: &'m [usize], intercept: Option<f64>) -> Model<'m> {
        Model {
            h: &self.h,
            x: &self.point.weights,
            gradient: &self.gradient,
            intercept,
            l1: self.l1,
            l2: self.l2,
            set,
        }
    }

    /// `(1/n) sum_i phi'(t_i)`
    fn intercept_slope(&self) -> f64 {
        self.problem.sum_derivatives(&self.gap.margins) / self.problem.n() as f64
    }
}

impl<D: Design, L: Loss, R: AsElasticNet> Iterative for Newton<'_, '_, D, L, R> {
    /// One outer step, whatever it costs.
    fn advance(&mut self, _: f64) -> f64 {
        self.outer_step()
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
        self.outer
    }

    fn verdict(&self) -> Option<Status> {
        self.stalled.then_some(Status::Stalled)
    }
}
