//! The iteration of belief propagation.

use fenchel_linalg::Invalid;
use fenchel_optim::random::MaxTree;
use fenchel_optim::{Certificate, CertificateCost, Iterative};

use super::network::{Network, Scratch};
use super::{BeliefPropagationSettings, Schedule};
use crate::Error;

/// The messages of a run in progress, as an observer sees them.
#[derive(Debug, Clone)]
pub struct Propagation {
    pub(super) network: Network,
    pub(super) messages: Vec<f64>,
    pub(super) beliefs: Vec<f64>,
    maximise: bool,
    schedule: Schedule,
    damping: f64,
    /// The messages that the factors would send next. With [`Schedule::Residual`] they are always up to date.
    fresh: Vec<f64>,
    /// How much each message would change when sent.
    queue: Option<MaxTree>,
    /// The largest change in the last pass, or the largest pending change.
    change: f64,
    /// Whether the next sequential pass goes from the last factor to the first.
    backward: bool,
    computed: u64,
    scratch: Scratch,
    exact: Vec<f64>,
}

impl Propagation {
    pub(super) fn new(
        network: Network,
        maximise: bool,
        settings: &BeliefPropagationSettings,
        start: Option<Vec<f64>>,
    ) -> Result<Self, Error> {
        let damping = settings.damping.unwrap_or(match settings.schedule {
            Schedule::Parallel => 0.5,
            Schedule::Sequential | Schedule::Residual => 0.0,
        });
        if !(0.0..1.0).contains(&damping) {
            let expected = "a number in [0, 1)";
            return Err(Invalid::Parameter { name: "damping", value: damping, expected }.into());
        }
        // A warm start is worth a certificate at once, a cold one is not.
        let change = if start.is_some() { 0.0 } else { f64::INFINITY };
        let messages = match start {
            Some(messages) => {
                let expected = network.message_cells;
                Invalid::check_length("messages of the start", expected, messages.len())?;
                if let Some(&value) = messages.iter().find(|m| !(**m <= 1e-9)) {
                    let (name, expected) = ("messages of the start", "logarithms of probabilities");
                    return Err(Invalid::Parameter { name, value, expected }.into());
                }
                // A state without probability may have some now, and the bound must count it.
                let possible = |m: f64| if m == f64::NEG_INFINITY { -800.0 } else { m };
                match network.reweighted {
                    true => messages.into_iter().map(possible).collect(),
                    false => messages,
                }
            }
            None => {
                let mut uniform = vec![0.0; network.message_cells];
                for slot in network.slots.iter().filter(|_| !maximise) {
                    uniform[slot.cells.clone()].fill(-(slot.cells.len() as f64).ln());
                }
                uniform
            }
        };
        let mut beliefs = vec![0.0; network.potentials.len()];
        network.gather_beliefs(&messages, &mut beliefs);
        let exact = beliefs.clone();
        Ok(Propagation {
            fresh: messages.clone(),
            network,
            messages,
            beliefs,
            maximise,
            schedule: settings.schedule,
            damping,
            queue: None,
            change,
            backward: false,
            computed: 0,
            scratch: Scratch::default(),
            exact,
        })
    }

    /// The current belief of a variable, in logarithms up to a constant.
    ///
    /// # Panics
    /// If there is no such variable.
    pub fn log_belief(&self, variable: crate::VarId) -> &[f64] {
        &self.beliefs[self.network.cells[variable.index()].clone()]
    }

    /// Computes the message of a slot and writes it to `fresh`. Returns its distance from the current message.
    fn compute(&mut self, s: usize) -> f64 {
        let cells = self.network.slots[s].cells.clone();
        let Propagation { network, messages, beliefs, maximise, fresh, scratch, .. } = self;
        network.message(s, messages, beliefs, *maximise, scratch, &mut fresh[cells.clone()]);
        self.computed += 1;
        self.network.difference(&self.messages[cells.clone()], &self.fresh[cells])
    }

    /// Replaces a message by the damped new one, and updates the belief of its variable.
    fn send(&mut self, s: usize) {
        let slot = &self.network.slots[s];
        let weight = self.network.factors[slot.factor].weight;
        let variable = slot.variable;
        let belief = &mut self.beliefs[self.network.cells[variable].clone()];
        let mut finite = true;
        for ((old, new), belief) in self.messages[slot.cells.clone()]
            .iter_mut()
            .zip(&self.fresh[slot.cells.clone()])
            .zip(belief)
        {
            let mixed = mix(self.damping, *old, *new);
            if mixed.is_finite() && old.is_finite() {
                *belief += weight * (mixed - *old);
            } else {
                finite &= mixed == *old;
            }
            *old = mixed;
        }
        if !finite {
            self.network.gather_belief(variable, &self.messages, &mut self.beliefs, None);
        }
    }

    fn parallel_pass(&mut self) {
        self.change = 0.0;
        for s in 0..self.network.slots.len() {
            self.change = self.compute(s).max(self.change);
        }
        for (old, new) in self.messages.iter_mut().zip(&self.fresh) {
            *old = mix(self.damping, *old, *new);
        }
        self.network.gather_beliefs(&self.messages, &mut self.beliefs);
    }

    fn sequential_pass(&mut self) {
        self.change = 0.0;
        let slots = self.network.slots.len();
        for k in 0..slots {
            let s = if self.backward { slots - 1 - k } else { k };
            self.change = self.compute(s).max(self.change);
            self.send(s);
        }
        self.backward = !self.backward;
        self.network.gather_beliefs(&self.messages, &mut self.beliefs);
    }

    /// Sends the message that would change most, repeatedly, until as many messages as there are have been computed or sent.
    fn residual_pass(&mut self) {
        let slots = self.network.slots.len();
        let mut queue = match self.queue.take() {
            Some(queue) => queue,
            None => {
                let changes: Vec<f64> = (0..slots).map(|s| self.compute(s)).collect();
                MaxTree::new(&changes).expect("messages exist, and their differences are finite")
            }
        };
        let until = self.computed + slots as u64;
        // A damped message to a variable without other factors is sent and nothing is computed: rounding may keep it from its limit.
        for _ in 0..slots {
            let s = queue.largest();
            if self.computed >= until || !(queue.get(s) > 0.0) {
                break;
            }
            self.send(s);
            let own = self.network.slots[s].cells.clone();
            let left = self.network.difference(&self.messages[own.clone()], &self.fresh[own]);
            let (variable, factor) = (self.network.slots[s].variable, self.network.slots[s].factor);
            queue.set(s, left).expect("a finite difference");
            for at in 0..self.network.into[variable].len() {
                let k = self.network.slots[self.network.into[variable][at]].factor;
                // With weight 1 what a variable tells a factor does not depend on what it heard from it.
                if k == factor && self.network.factors[k].weight == 1.0 {
                    continue;
                }
                for t in self.network.factors[k].slots.clone() {
                    if self.network.slots[t].variable != variable {
                        let change = self.compute(t);
                        queue.set(t, change).expect("a finite difference");
                    }
                }
            }
        }
        self.change = queue.get(queue.largest());
        self.queue = Some(queue);
        self.network.gather_beliefs(&self.messages, &mut self.beliefs);
    }
}

impl Iterative for Propagation {
    /// A pass computes as many messages as there are; in the order of residuals it may send as many and compute fewer.
    fn advance(&mut self, passes: f64) -> f64 {
        if self.network.slots.is_empty() {
            self.change = 0.0;
            return passes.max(1.0);
        }
        let passes = passes.round().max(1.0);
        for _ in 0..passes as u64 {
            match self.schedule {
                Schedule::Parallel => self.parallel_pass(),
                Schedule::Sequential => self.sequential_pass(),
                Schedule::Residual => self.residual_pass(),
            }
        }
        passes
    }

    /// The residual: the largest change of a probability in a message if all messages were computed once more. With
    /// appearance probabilities it is a change of a logarithm, or the disagreement of the beliefs if that is larger.
    fn certify(&mut self) -> Certificate {
        self.network.gather_beliefs(&self.messages, &mut self.exact);
        let mut new = Vec::new();
        let mut norm = 0.0_f64;
        for (s, slot) in self.network.slots.iter().enumerate() {
            new.clear();
            new.resize(slot.cells.len(), 0.0);
            let (messages, beliefs) = (&self.messages, &self.exact);
            self.network.message(s, messages, beliefs, self.maximise, &mut self.scratch, &mut new);
            norm = norm.max(self.network.difference(&self.messages[slot.cells.clone()], &new));
        }
        if self.network.reweighted {
            norm = norm.max(self.network.disagreement(&self.messages, &self.exact, false));
        }
        Certificate::residual(None, norm, 0.0)
    }

    fn oracle_calls(&self) -> u64 {
        self.computed
    }

    fn certificate_cost(&self) -> CertificateCost {
        CertificateCost::Estimated(self.change)
    }
}

impl Network {
    /// The largest difference of two messages: of probabilities, or of logarithms in a bound, where what is improbable counts.
    fn difference(&self, a: &[f64], b: &[f64]) -> f64 {
        let off = |(a, b): (&f64, &f64)| match self.reweighted {
            true if a == b => 0.0,
            true => (a - b).abs().min(f64::MAX),
            false => (a.exp() - b.exp()).abs(),
        };
        a.iter().zip(b).map(off).fold(0.0, f64::max)
    }
}

/// The logarithm of `old^damping new^(1 - damping)` for two probabilities given by logarithms.
fn mix(damping: f64, old: f64, new: f64) -> f64 {
    if damping == 0.0 || old == new || old == f64::NEG_INFINITY {
        return new;
    }
    damping * old + (1.0 - damping) * new
}
