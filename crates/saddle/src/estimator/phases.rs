//! The sublinear method in phases: first trials of step sizes, then runs of doubling length.

use fenchel_optim::random::stream;
use fenchel_optim::{Refusal, StepSize};

use super::method::{Candidate, Method};
use super::settings::{SaddleStep, Solver};
use super::weights::objective;
use crate::Error;
use crate::multiclass::Multiclass;
use crate::multiclass::sublinear::{Sublinear, SublinearState, bytes, steps_a_pass, theory};

/// Multiples of the theory's step that `Pilot` tries.
const FACTORS: [f64; 7] = [1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0];

/// [`Solver::Sublinear`]
pub(super) struct Phases<'a> {
    problem: &'a Multiclass<'a>,
    /// The same problem with the data as they are stored.
    stored: &'a Multiclass<'a>,
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
    pub(super) fn new(
        problem: &'a Multiclass<'a>,
        stored: &'a Multiclass<'a>,
        step: SaddleStep,
        seed: u64,
        max_memory: Option<u64>,
    ) -> Result<Self, Error> {
        let s = problem.samples();
        // Trials keep a few states.
        let states = if step == SaddleStep::Pilot { 4 } else { 1 };
        let needed = states * bytes(s, f64::INFINITY);
        let hint = "set step to a StepSize, or raise max_memory";
        Refusal::check_memory("the sublinear method", needed, max_memory, hint)?;
        let steps_a_pass = steps_a_pass(s);
        // A trial costs about as much as the certificate that judges it.
        let certificate = stored.samples().stored() as f64 * s.classes() as f64;
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
            stored,
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
        let (weights, parts) = (state.weights(), state.dual_parts(self.stored));
        let lower_bound = parts.within(self.stored.radius(), self.stored.penalty());
        let gap = objective(self.stored, &weights) - lower_bound;
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
}

impl Method for Phases<'_> {
    fn solver(&self) -> Solver {
        Solver::Sublinear
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

    fn calls(&self) -> u64 {
        self.done
    }

    fn candidates(&mut self) -> Vec<Candidate> {
        if self.method.state().steps() > 0 || self.done == 0 {
            self.record();
        }
        std::mem::take(&mut self.candidates)
    }
}
