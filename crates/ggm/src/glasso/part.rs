//! All components of a problem as one method for [`run`](fenchel_optim::run()).

use fenchel_linalg::parallel;
use fenchel_optim::{Certificate, CertificateCost, Iterative, Status};

use super::admm::BlockAdmm;
use super::bcd::Bcd;
use super::block::Block;
use super::quic::Quic;
use super::settings::{GlassoSettings, Method};
use super::solver::{Solution, Solver};
use super::start::{closed_form, warm};
use super::state::{Component, GlassoState};
use crate::error::Error;
use crate::problem::{Problem, rounding};

/// The state of a run of the graphical lasso by components, which an observer receives.
///
/// All components as one iterative method. A pass is one iteration of every component that has not converged. With QUIC
/// an iteration is one Newton step, or as many gradient steps as cost the same, or an iteration of the method that took over.
pub struct Screened {
    order: usize,
    parts: Vec<Part>,
    /// Whether the certificate is of the present point.
    certified: bool,
}

/// A component.
struct Part {
    block: Block,
    solver: Box<dyn Solver>,
    /// Whether the solution is known in closed form, so that only rounding separates the point from it.
    solved: bool,
    /// Objective and lower bound of the present point.
    bounds: Option<(f64, f64)>,
    /// The best lower bound so far.
    lower: f64,
    /// The gap at which this component stops.
    tolerance: f64,
    done: bool,
    shift: f64,
}

impl Method {
    /// The solver, from a positive definite start.
    fn solver(self, block: &Block, (x, w, log_det): Solution) -> Box<dyn Solver> {
        match self {
            Method::Quic => Box::new(Quic::new(block, x, w, log_det)),
            Method::BlockCoordinate => Box::new(Bcd::new(block, x, &w)),
            Method::Admm => Box::new(BlockAdmm::new(block, x, &w)),
        }
    }
}

impl Screened {
    pub(super) fn new(
        problem: &Problem<'_>,
        settings: &GlassoSettings,
        parts: Vec<Vec<u32>>,
        start: Option<GlassoState>,
    ) -> Result<Screened, Error> {
        let p = problem.order();
        // What the objective will be like, for the tolerance: that of the diagonal solution.
        let scale = |i: usize| problem.covariance[[i, i]] + problem.weights.at(i, i);
        let guess = p as f64 + (0..p).map(|i| scale(i).ln()).sum::<f64>();
        let tolerance = settings.stop.tolerance(Some(guess));
        // The component of each node in the start, and its index there.
        let mut origin = vec![(u32::MAX, 0u32); p];
        if let Some(start) = &start {
            for (c, component) in start.components.iter().enumerate() {
                for (k, &node) in component.nodes.iter().enumerate() {
                    origin[node as usize] = (c as u32, k as u32);
                }
            }
        }
        let make = |nodes: Vec<u32>| {
            let tolerance = tolerance * nodes.len() as f64 / p as f64;
            Part::new(problem, settings, nodes, tolerance, start.as_ref(), &origin)
        };
        let parts = parallel::map(parts, make);
        Ok(Screened { order: p, parts, certified: false })
    }

    /// Whether a component has no lower bound, as when the likelihood is unbounded.
    pub(super) fn degenerate(&self) -> bool {
        self.parts.iter().any(|part| part.lower == f64::NEG_INFINITY)
    }

    pub(super) fn into_state(self) -> GlassoState {
        let components = self.parts.into_iter().map(Part::into_component).collect();
        GlassoState { order: self.order, components }
    }

    fn each(&mut self, work: impl Fn(&mut Part) + Sync + Send) {
        parallel::map(&mut self.parts, work);
    }
}

impl Iterative for Screened {
    fn advance(&mut self, _passes: f64) -> f64 {
        // The sum was not good enough although every part is done: each has to do better.
        if self.certified && self.parts.iter().all(|part| part.done) {
            self.each(Part::tighten);
        }
        self.certified = false;
        self.each(Part::advance);
        1.0
    }

    fn certify(&mut self) -> Certificate {
        self.certified = true;
        self.each(Part::certify);
        let (mut objective, mut lower, mut allowance) = (0.0, 0.0, 0.0);
        for part in &self.parts {
            objective += part.bounds.map_or(f64::INFINITY, |bounds| bounds.0) + part.shift;
            lower += part.lower + part.shift;
            allowance += part.allowance();
        }
        Certificate::gap_within(objective, lower, allowance)
    }

    fn oracle_calls(&self) -> u64 {
        self.parts.iter().map(|part| part.solver.factorisations()).sum()
    }

    fn certificate_cost(&self) -> CertificateCost {
        let mut total = 0.0;
        for part in &self.parts {
            if !part.done {
                return CertificateCost::Estimated(f64::INFINITY);
            }
            total += part.gap();
        }
        // If all parts are done, a certificate is due in any case: the tolerance depends on the objective.
        CertificateCost::Estimated(if self.certified { total } else { 0.0 })
    }

    fn verdict(&self) -> Option<Status> {
        let ended = |part: &Part| part.done && (part.gap() <= part.tolerance || part.stalled());
        let stalled = |part: &Part| part.stalled() && part.gap() > part.tolerance;
        let all = self.parts.iter().all(ended);
        (all && self.parts.iter().any(stalled)).then_some(Status::Stalled)
    }
}

impl Part {
    fn new(
        problem: &Problem<'_>,
        settings: &GlassoSettings,
        nodes: Vec<u32>,
        tolerance: f64,
        start: Option<&GlassoState>,
        origin: &[(u32, u32)],
    ) -> Part {
        let block = Block::new(problem, nodes);
        let k = block.k;
        let exact = closed_form(&block);
        let solved = exact.is_some();
        let first = exact
            .or_else(|| start.and_then(|start| warm(&block, start, origin)))
            .unwrap_or_else(|| {
                let mut identity = vec![0.0; k * k];
                (0..k).for_each(|i| identity[i * k + i] = 1.0);
                (identity.clone(), identity, 0.0)
            });
        let solver = settings.method.solver(&block, first);
        let (shift, lower) = (block.shift(), f64::NEG_INFINITY);
        let (bounds, done) = (None, false);
        let mut part = Part { block, solver, solved, bounds, lower, tolerance, done, shift };
        if solved || start.is_some() {
            part.certify();
            part.done = solved || part.gap() <= tolerance;
        }
        part
    }

    /// Whether nothing but rounding is left, or a failure prevents progress.
    fn stalled(&self) -> bool {
        self.solved || self.solver.stalled()
    }

    fn gap(&self) -> f64 {
        self.bounds.map_or(f64::INFINITY, |(objective, _)| (objective - self.lower).max(0.0))
    }

    /// What rounding may add to the gap. The scaled covariances have ones on the diagonal.
    fn allowance(&self) -> f64 {
        let (x, k) = (self.solver.point(), self.block.k);
        rounding((0..k).map(|i| x[i * k + i]))
    }

    fn tighten(&mut self) {
        self.tolerance *= 0.1;
        self.done = self.stalled() || self.gap() <= self.tolerance;
    }

    fn advance(&mut self) {
        if self.done {
            return;
        }
        self.bounds = None;
        if self.solver.step(&self.block, self.tolerance) {
            self.certify();
            self.done = self.gap() <= self.tolerance || self.stalled();
            self.solver.learn(self.gap());
        }
        if !self.done
            && let Some(solver) = self.solver.successor(&self.block)
        {
            self.solver = solver;
        }
    }

    fn certify(&mut self) {
        if self.bounds.is_none() {
            let bounds = self.solver.bounds(&self.block);
            self.lower = self.lower.max(bounds.1);
            self.bounds = Some(bounds);
        }
    }

    fn into_component(self) -> Component {
        let Part { block, solver, .. } = self;
        let k = block.k;
        let (mut x, mut w, log_det) = solver.finish(k);
        for i in 0..k {
            for j in 0..k {
                let scale = block.scale[i] * block.scale[j];
                x[i * k + j] *= scale;
                w[i * k + j] /= scale;
            }
        }
        let shift: f64 = block.scale.iter().map(|d| 2.0 * d.ln()).sum();
        Component { nodes: block.nodes, precision: x, covariance: w, log_det: log_det + shift }
    }
}
