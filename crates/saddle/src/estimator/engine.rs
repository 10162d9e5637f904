//! A common interface to the methods of the estimator: advance, then return weights and a lower bound.

use fenchel_linalg::Invalid;
use fenchel_optim::random::stream;
use fenchel_optim::{Iterative, Refusal, StepSize, Stop};

use super::choice::cheapest;
use super::exact::Exact;
use super::race::Race;
use super::{SaddleStep, Solver};
use crate::Error;
use crate::methods::mirror_pdhg::{MirrorPdhg, MirrorPdhgSettings};
use crate::methods::mirror_prox::{MirrorProx, MirrorProxSettings};
use crate::methods::pdhg::PdhgState;
use crate::multiclass::problem::DualParts;
use crate::multiclass::sublinear::{
    Sublinear, SublinearState, bytes, certificate::sparse_loss, theory,
};
use crate::multiclass::{HingeBilinear, Multiclass, MulticlassLoss, Primal};

/// Weights by classes. Classes that are absent have weights 0.
pub(super) type Columns = Vec<(usize, Vec<f64>)>;

/// The weights, unless they are the same as the last time, and the parts of a lower bound.
pub(super) type Candidate = (Option<Columns>, DualParts);

/// Multiples of the theory's step that `Pilot` tries.
const FACTORS: [f64; 7] = [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0];

pub(super) enum Engine<'a> {
    Sublinear(Box<Phases<'a>>),
    Prox(Box<MirrorProx<'a>>),
    Mirror(Box<MirrorPdhg<'a>>),
    Pdhg(Box<Exact<'a>>),
    Race(Box<Race<'a>>),
}

/// The sublinear method in phases: first trials of step sizes, then runs of doubling length.
pub(super) struct Phases<'a> {
    problem: &'a Multiclass<'a>,
    method: Sublinear<'a>,
    seed: u64,
    unit: u64,
    trials: Vec<Trial>,
    /// The position in `trials` and the round, during the trials of step sizes.
    trying: Option<(usize, u32)>,
    step: StepSize,
    factor: f64,
    horizon: u64,
    left: u64,
    candidates: Vec<Candidate>,
    steps_a_pass: f64,
    done: u64,
}

struct Trial {
    factor: f64,
    gap: f64,
    state: Option<SublinearState>,
}

impl<'a> Phases<'a> {
    fn new(problem: &'a Multiclass<'a>, step: SaddleStep, seed: u64) -> Result<Self, Error> {
        let s = problem.samples();
        let steps_a_pass = crate::multiclass::sublinear::steps_a_pass(s);
        // A trial costs about as much as the certificate that judges it.
        let certificate = s.stored() as f64 * s.classes() as f64;
        let each = (s.rows() + s.features() + s.classes()) as f64;
        let unit = (certificate / each).clamp(2000.0, 1e7) as u64;
        let (trying, step) = match step {
            SaddleStep::Pilot => (Some((0, 0)), StepSize::Theory),
            SaddleStep::Size(step) => {
                step.resolve(1.0)?;
                (None, step)
            }
        };
        let state = SublinearState::new(problem, stream(seed, 0));
        let factor = if let StepSize::Scaled(factor) = step { factor } else { 1.0 };
        let trials = FACTORS.map(|factor| Trial { factor, gap: f64::INFINITY, state: None }).into();
        let mut phases = Phases {
            problem,
            method: Sublinear::new(problem, state, 1.0),
            seed,
            unit,
            trials,
            trying,
            step,
            factor: if trying.is_some() { FACTORS[0] } else { factor },
            horizon: unit,
            left: unit,
            candidates: vec![],
            steps_a_pass,
            done: 0,
        };
        let (state, gamma) = (SublinearState::new(problem, stream(seed, 0)), phases.gamma());
        phases.method.exchange(state, gamma);
        Ok(phases)
    }

    fn gamma(&self) -> f64 {
        match self.step {
            StepSize::Constant(gamma) => gamma,
            _ => self.factor * theory(self.problem, self.horizon as f64),
        }
    }

    /// Continues from a state, and returns the previous one.
    fn begin(&mut self, state: SublinearState, horizon: u64) -> SublinearState {
        (self.horizon, self.left) = (horizon, horizon);
        let gamma = self.gamma();
        self.method.exchange(state, gamma)
    }

    fn record(&mut self) -> f64 {
        let state = self.method.state();
        let (weights, parts) = (state.weights(), state.dual_parts(self.problem));
        let lower_bound = parts.within(self.problem.radius(), self.problem.penalty());
        let gap = objective(self.problem, &weights) - lower_bound;
        self.candidates.push((Some(weights), parts));
        gap
    }

    /// Ends a phase.
    fn turn(&mut self) {
        let gap = self.record();
        let Some((place, round)) = self.trying else {
            let state = self.method.state().clone();
            // A step that is the same for ever needs no new average.
            let constant = matches!(self.step, StepSize::Constant(_));
            let state = if constant { state } else { state.restarted() };
            self.begin(state, 2 * self.horizon);
            return;
        };
        let state = self.method.state().clone();
        let trial = &mut self.trials[place];
        (trial.gap, trial.state) = (gap, Some(state));
        let mut next = place + 1;
        let mut round = round;
        if next == self.trials.len() {
            self.trials.sort_by(|a, b| a.gap.total_cmp(&b.gap));
            self.trials.truncate(if round == 0 { 3 } else { 1 });
            (next, round) = (0, round + 1);
        }
        if self.trials.len() == 1 {
            self.trying = None;
        } else {
            self.trying = Some((next, round));
        }
        self.factor = self.trials[next].factor;
        let fresh = || SublinearState::new(self.problem, stream(self.seed, 0));
        let state = match self.trials[next].state.take() {
            Some(state) => state.restarted(),
            None => fresh(),
        };
        self.begin(state, self.unit << round);
    }

    fn advance(&mut self, passes: f64) -> f64 {
        let steps = ((passes * self.steps_a_pass).ceil() as u64).clamp(1, self.left);
        self.method.steps(steps);
        self.left -= steps;
        self.done += steps;
        if self.left == 0 {
            self.turn();
        }
        steps as f64 / self.steps_a_pass
    }
}

impl<'a> Engine<'a> {
    pub(super) fn sublinear(
        problem: &'a Multiclass<'a>,
        step: SaddleStep,
        seed: u64,
        max_memory: Option<u64>,
    ) -> Result<Self, Error> {
        let needed = bytes(problem.samples(), f64::INFINITY);
        // Trials keep a few states.
        let needed = if step == SaddleStep::Pilot { 4 * needed } else { needed };
        let hint = "set step to a StepSize, or raise max_memory";
        Refusal::check_memory("the sublinear method", needed, max_memory, hint)?;
        Ok(Engine::Sublinear(Box::new(Phases::new(problem, step, seed)?)))
    }

    pub(super) fn prox(problem: &'a Multiclass<'a>) -> Result<Self, Error> {
        let settings = MirrorProxSettings { step: StepSize::Backtracking, ..Default::default() };
        let method = MirrorProx::new(problem, &settings, None)?;
        Ok(Engine::Prox(Box::new(method)))
    }

    pub(super) fn mirror(problem: &'a Multiclass<'a>) -> Result<Self, Error> {
        let method = MirrorPdhg::new(problem, &MirrorPdhgSettings::default(), None)?;
        Ok(Engine::Mirror(Box::new(method)))
    }

    pub(super) fn pdhg(
        problem: &'a HingeBilinear<'a>,
        start: Option<PdhgState>,
    ) -> Result<Self, Error> {
        Ok(Engine::Pdhg(Box::new(Exact::new(problem, start)?)))
    }

    /// A race of PDHG and the mirror method, after which the better one continues.
    pub(super) fn race(
        problem: &'a Multiclass<'a>,
        bilinear: &'a HingeBilinear<'a>,
        start: Option<PdhgState>,
    ) -> Result<Self, Error> {
        let exact = Exact::new(bilinear, start)?;
        let mirror = MirrorPdhg::new(problem, &MirrorPdhgSettings::default(), None)?;
        Ok(Engine::Race(Box::new(Race::new(problem, exact, mirror))))
    }

    /// The method at work. In a race, it is the one that is ahead.
    pub(super) fn solver(&self) -> Solver {
        match self {
            Engine::Sublinear(..) => Solver::Sublinear,
            Engine::Prox(..) => Solver::MirrorProx,
            Engine::Mirror(..) => Solver::MirrorPdhg,
            Engine::Pdhg(..) => Solver::Pdhg,
            Engine::Race(race) => race.solver(),
        }
    }

    pub(super) fn advance(&mut self, passes: f64) -> f64 {
        match self {
            Engine::Race(race) => race.advance(passes),
            Engine::Sublinear(phases) => phases.advance(passes),
            Engine::Prox(method) => method.advance(passes),
            Engine::Mirror(method) => method.advance(passes),
            Engine::Pdhg(exact) => exact.method.advance(passes),
        }
    }

    pub(super) fn calls(&self) -> u64 {
        match self {
            Engine::Race(race) => race.calls(),
            Engine::Sublinear(phases) => phases.done,
            Engine::Prox(method) => method.oracle_calls(),
            Engine::Mirror(method) => method.oracle_calls(),
            Engine::Pdhg(exact) => exact.method.oracle_calls(),
        }
    }

    /// Weights and lower bounds that are new since the last call.
    pub(super) fn candidates(&mut self, problem: &Multiclass) -> Vec<Candidate> {
        match self {
            Engine::Sublinear(phases) => {
                if phases.method.state().steps() > 0 || phases.done == 0 {
                    phases.record();
                }
                std::mem::take(&mut phases.candidates)
            }
            Engine::Prox(method) => vec![of_averages(method.averages(), problem)],
            Engine::Mirror(method) => vec![of_mirror(method, problem)],
            Engine::Pdhg(exact) => vec![exact.candidate(problem)],
            Engine::Race(race) => race.candidates(),
        }
    }

    /// The current state of PDHG.
    pub(super) fn state(&self) -> Option<PdhgState> {
        match self {
            Engine::Pdhg(exact) => Some(exact.state()),
            Engine::Race(race) if race.solver() == Solver::Pdhg => {
                race.exact.as_ref().map(|exact| exact.state())
            }
            _ => None,
        }
    }
}

/// A radius that contains all weights with at most this objective. The penalty alone of larger weights exceeds it.
pub(super) fn within(radius: f64, penalty: f64, objective: f64) -> f64 {
    if penalty > 0.0 { radius.min(objective / penalty) } else { radius }
}

fn of_averages((x, y): (&[f64], &[f64]), problem: &Multiclass) -> Candidate {
    let columns = by_classes(&x[..x.len() - 1], problem.samples().classes());
    (Some(columns), problem.dual_parts(y))
}

pub(super) fn of_mirror(method: &mut MirrorPdhg, problem: &Multiclass) -> Candidate {
    of_averages(method.averages(), problem)
}

/// Converts a matrix by rows to its columns that are not all 0.
pub(super) fn by_classes(u: &[f64], k: usize) -> Columns {
    let d = u.len() / k;
    let mut columns: Vec<Vec<f64>> = vec![vec![]; k];
    for (i, row) in u.chunks_exact(k).enumerate() {
        for (column, v) in columns.iter_mut().zip(row).filter(|(_, v)| **v != 0.0) {
            if column.is_empty() {
                column.resize(d, 0.0);
            }
            column[i] = *v;
        }
    }
    columns.into_iter().enumerate().filter(|(_, column)| !column.is_empty()).collect()
}

/// Converts columns to a `d x k` matrix by rows.
pub(super) fn by_rows(columns: &Columns, d: usize, k: usize) -> Vec<f64> {
    let mut u = vec![0.0; d * k];
    for (class, column) in columns {
        column.iter().enumerate().for_each(|(i, v)| u[i * k + class] = *v);
    }
    u
}

/// The objective `P` of weights by classes.
pub(super) fn objective(problem: &Multiclass, columns: &Columns) -> f64 {
    let s = problem.samples();
    if problem.loss() == MulticlassLoss::Hinge && problem.geometry().primal == Primal::Entries {
        let norm: f64 = columns.iter().flat_map(|(_, c)| c).map(|u| u.abs()).sum();
        return sparse_loss(problem, columns) + problem.penalty() * norm;
    }
    problem.primal(&by_rows(columns, s.features(), s.classes()))
}

/// Chooses the method for a problem. `None` stands for a race of PDHG and the mirror method.
pub(super) fn choose(
    solver: Solver,
    problem: &Multiclass,
    stop: &Stop,
) -> Result<Option<Solver>, Error> {
    let hinge = problem.loss() == MulticlassLoss::Hinge;
    let entries = problem.geometry().primal == Primal::Entries;
    let unsupported = |method, what: &str| Err(Refusal::unsupported(method, what).into());
    match solver {
        Solver::Auto => cheapest(problem, stop),
        Solver::Sublinear if !hinge => unsupported("the sublinear method", "the softmax loss"),
        Solver::Sublinear if !entries => unsupported("the sublinear method", "the norm of rows"),
        Solver::Pdhg if !hinge => unsupported("pdhg", "the softmax loss"),
        other => Ok(Some(other)),
    }
}

pub(super) fn check_radius(radius: f64) -> Result<f64, Error> {
    Invalid::check_positive("radius", radius)?;
    Ok(radius)
}
