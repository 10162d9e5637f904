//! All components of a problem as one method for [`run`](fenchel_optim::run()).

use fenchel_linalg::factor::InPlaceCholesky;
use fenchel_optim::{Certificate, CertificateCost, Iterative, Status};
#[cfg(feature = "parallel")]
use rayon::prelude::*;

use super::admm::Admm;
use super::bcd::{Bcd, SETTLED};
use super::block::Block;
use super::quic::Quic;
use super::start::{closed_form, warm};
use super::state::{Component, GlassoState};
use super::{GlassoSettings, Method};
use crate::error::Error;
use crate::problem::{Problem, rounding};

/// The state of a run of the graphical lasso by components, which an observer receives.
///
/// All components as one iterative method. A pass is one iteration of every component that has not converged. With QUIC
/// an iteration is one Newton step, or as many gradient steps as cost the same.
pub struct Screened {
    order: usize,
    parts: Vec<Part>,
    /// Whether the certificate is of the present point.
    looked: bool,
}

struct Part {
    block: Block,
    solver: Solver,
    /// Whether the solution is known in closed form, so that only rounding separates the point from it.
    solved: bool,
    /// Objective and lower bound of the present point.
    bounds: Option<(f64, f64)>,
    /// The best lower bound so far.
    lower: f64,
    /// The gap at which this component stops.
    share: f64,
    rests: bool,
    iterations: u32,
    shift: f64,
}

enum Solver {
    Quic(Box<Quic>),
    Bcd(Box<Bcd>),
    Admm(Box<Admm>),
}

/// Newton steps in a row with an unsolved model, after which block coordinate descent takes over.
const UNSOLVED: u32 = 3;
/// Iterations of QUIC after which it takes over in any case. Problems that suit QUIC need fewer.
const LONG: u32 = 25;

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
        // Where each node was.
        let mut place = vec![(u32::MAX, 0u32); p];
        if let Some(start) = &start {
            for (c, component) in start.components.iter().enumerate() {
                for (k, &node) in component.nodes.iter().enumerate() {
                    place[node as usize] = (c as u32, k as u32);
                }
            }
        }
        let make = |nodes: Vec<u32>| {
            let share = tolerance * nodes.len() as f64 / p as f64;
            Part::new(problem, settings, nodes, share, start.as_ref(), &place)
        };
        #[cfg(feature = "parallel")]
        let parts = parts.into_par_iter().map(make).collect();
        #[cfg(not(feature = "parallel"))]
        let parts = parts.into_iter().map(make).collect();
        Ok(Screened { order: p, parts, looked: false })
    }

    /// Sizes of the components.
    pub fn component_sizes(&self) -> Vec<usize> {
        self.parts.iter().map(|part| part.block.k).collect()
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
        #[cfg(feature = "parallel")]
        self.parts.par_iter_mut().for_each(work);
        #[cfg(not(feature = "parallel"))]
        self.parts.iter_mut().for_each(work);
    }
}

impl Iterative for Screened {
    fn advance(&mut self, _passes: f64) -> f64 {
        // The sum was not good enough although every part rests: each has to do better.
        if self.looked && self.parts.iter().all(|part| part.rests) {
            self.each(Part::tighten);
        }
        self.looked = false;
        self.each(Part::advance);
        1.0
    }

    fn certify(&mut self) -> Certificate {
        self.looked = true;
        self.each(|part| {
            part.look();
        });
        let (mut objective, mut lower, mut allowance) = (0.0, 0.0, 0.0);
        for part in &self.parts {
            objective += part.bounds.map_or(f64::INFINITY, |bounds| bounds.0) + part.shift;
            lower += part.lower + part.shift;
            let (x, k) = (part.point(), part.block.k);
            allowance += rounding((0..k).map(|i| x[i * k + i]));
        }
        Certificate::gap_within(objective, lower, allowance)
    }

    fn oracle_calls(&self) -> u64 {
        self.parts.iter().map(|part| part.solver.factorisations()).sum()
    }

    fn certificate_cost(&self) -> CertificateCost {
        let mut total = 0.0;
        for part in &self.parts {
            if !part.rests {
                return CertificateCost::Estimated(f64::INFINITY);
            }
            total += part.gap();
        }
        // Resting parts are worth a look in any case: the tolerance depends on the objective.
        CertificateCost::Estimated(if self.looked { total } else { 0.0 })
    }

    fn verdict(&self) -> Option<Status> {
        let stuck = |part: &Part| part.rests && (part.gap() <= part.share || part.stalled());
        let all = self.parts.iter().all(stuck);
        let any = self.parts.iter().any(|part| part.stalled() && part.gap() > part.share);
        (all && any).then_some(Status::Stalled)
    }
}

impl Solver {
    fn factorisations(&self) -> u64 {
        match self {
            Solver::Quic(quic) => quic.factorisations,
            Solver::Bcd(bcd) => bcd.factorisations,
            Solver::Admm(admm) => admm.factorisations,
        }
    }
}

impl Part {
    fn new(
        problem: &Problem<'_>,
        settings: &GlassoSettings,
        nodes: Vec<u32>,
        share: f64,
        start: Option<&GlassoState>,
        place: &[(u32, u32)],
    ) -> Part {
        let block = Block::new(problem, nodes);
        let k = block.k;
        let exact = closed_form(&block);
        let solved = exact.is_some();
        let (x, w, log_det) = exact
            .or_else(|| start.and_then(|start| warm(&block, start, place)))
            .unwrap_or_else(|| {
                let mut identity = vec![0.0; k * k];
                (0..k).for_each(|i| identity[i * k + i] = 1.0);
                (identity.clone(), identity, 0.0)
            });
        let solver = match settings.method {
            Method::Quic => Solver::Quic(Box::new(Quic::new(&block, x, w, log_det))),
            Method::BlockCoordinate => Solver::Bcd(Box::new(Bcd::new(&block, x, &w))),
            Method::Admm => Solver::Admm(Box::new(Admm::new(&block, x, &w, 0.5))),
        };
        let shift = block.shift();
        let lower = f64::NEG_INFINITY;
        let mut part = Part {
            block,
            solver,
            solved,
            bounds: None,
            lower,
            share,
            rests: false,
            iterations: 0,
            shift,
        };
        if solved || start.is_some() {
            part.look();
            part.rests = solved || part.gap() <= share;
        }
        part
    }

    fn point(&self) -> &[f64] {
        match &self.solver {
            Solver::Quic(quic) => &quic.x,
            Solver::Bcd(bcd) => &bcd.x,
            Solver::Admm(admm) => &admm.y,
        }
    }

    fn gap(&self) -> f64 {
        self.bounds.map_or(f64::INFINITY, |(objective, _)| (objective - self.lower).max(0.0))
    }

    fn stalled(&self) -> bool {
        if self.solved {
            return true;
        }
        match &self.solver {
            Solver::Quic(quic) => quic.stalled,
            Solver::Bcd(bcd) => !(bcd.change > SETTLED),
            Solver::Admm(admm) => admm.residual.is_nan() || admm.residual == 0.0,
        }
    }

    fn tighten(&mut self) {
        self.share *= 0.1;
        self.rests = self.stalled() || self.gap() <= self.share;
    }

    fn advance(&mut self) {
        if self.rests {
            return;
        }
        self.bounds = None;
        self.iterations += 1;
        let promising = match &mut self.solver {
            Solver::Quic(quic) => {
                quic.step(&self.block, self.share);
                quic.stalled || quic.estimate <= self.share
            }
            Solver::Bcd(bcd) => {
                bcd.step(&self.block);
                true
            }
            Solver::Admm(admm) => {
                admm.step(&self.block);
                self.iterations.is_multiple_of(10)
            }
        };
        if promising {
            self.look();
            self.rests = self.gap() <= self.share || self.stalled();
            let gap = self.gap();
            if let Solver::Quic(quic) = &mut self.solver {
                quic.correct(gap);
            }
        }
        self.hand_over();
    }

    /// Changes from QUIC to block coordinate descent if Newton steps no longer pay. With few samples and a small penalty, the inverse is
    /// nearly singular, and the sweeps do not minimise the model of a step.
    fn hand_over(&mut self) {
        if self.rests {
            return;
        }
        if let Solver::Quic(quic) = &mut self.solver
            && (quic.unsolved >= UNSOLVED || self.iterations >= LONG)
        {
            let mut bcd = Bcd::new(&self.block, std::mem::take(&mut quic.x), &quic.w);
            bcd.factorisations = quic.factorisations;
            self.solver = Solver::Bcd(Box::new(bcd));
        }
    }

    fn look(&mut self) {
        if self.bounds.is_some() {
            return;
        }
        let bounds = match &mut self.solver {
            Solver::Quic(quic) => quic.bounds(&self.block),
            Solver::Bcd(bcd) => bcd.bounds(&self.block),
            Solver::Admm(admm) => admm.bounds(&self.block),
        };
        self.lower = self.lower.max(bounds.1);
        self.bounds = Some(bounds);
    }

    fn into_component(self) -> Component {
        let Part { block, solver, .. } = self;
        let k = block.k;
        let (mut x, mut w, log_det) = match solver {
            Solver::Quic(quic) => (quic.x, quic.w, quic.log_det),
            Solver::Bcd(bcd) => inverted(bcd.x, k),
            Solver::Admm(admm) => inverted(admm.y, k),
        };
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

/// A point with its inverse and log-determinant. If it is not positive definite, it is first repaired.
fn inverted(x: Vec<f64>, k: usize) -> (Vec<f64>, Vec<f64>, f64) {
    let (x, factor) = repaired(x, k);
    let mut w = vec![0.0; k * k];
    factor.inverse(&mut w);
    let log_det = factor.log_det();
    (x, w, log_det)
}

/// Moves a point towards its diagonal until it is positive definite.
pub(crate) fn repaired(mut x: Vec<f64>, k: usize) -> (Vec<f64>, InPlaceCholesky) {
    for keep in [1.0, 0.99, 0.9, 0.5, 0.0] {
        for i in 0..k {
            for j in 0..k {
                if i != j && keep < 1.0 {
                    x[i * k + j] *= keep;
                } else if i == j && !(x[i * k + i] > f64::MIN_POSITIVE && x[i * k + i] < f64::MAX) {
                    x[i * k + i] = 1.0;
                }
            }
        }
        if keep == 0.0 {
            (0..k * k).filter(|at| at % (k + 1) != 0).for_each(|at| x[at] = 0.0);
        }
        if let Ok(factor) = InPlaceCholesky::new(x.clone(), k) {
            return (x, factor);
        }
    }
    unreachable!("a positive diagonal matrix is positive definite")
}
