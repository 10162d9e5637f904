//! Averaged stochastic gradient descent on the scores of two categorical variables.
//!
//! A sample changes the marginal and one row. The sums of the other rows are brought up to date when a row is touched, or
//! read: `sum_r += (t - last_r) theta_r`. So a step costs O(K) and allocates nothing.

use fenchel_linalg::{Invalid, lanes};
use rand::Rng;
use serde::{Deserialize, Serialize};

use super::kernels::{Descend, Divergence, Mean};
use super::{Average, Task};
use crate::Error;
use crate::categorical::{Anova, CategoricalPair, Direction, JointCategorical};

/// Momentum of the steps. The thesis' remark that its comparison carries over to methods whose rate depends on the distance names
/// both (section 4.4); there is no bound for them here.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub enum Momentum {
    /// None.
    #[default]
    Off,
    /// `v <- beta v - step grad(theta)`, `theta <- theta + v`.
    HeavyBall(f64),
    /// The same with the gradient at `theta + beta v`.
    Nesterov(f64),
}

impl Momentum {
    fn beta(self) -> f64 {
        match self {
            Momentum::Off => 0.0,
            Momentum::HeavyBall(beta) | Momentum::Nesterov(beta) => beta,
        }
    }

    fn check(self) -> Result<(), Invalid> {
        let value = self.beta();
        if (0.0..1.0).contains(&value) {
            return Ok(());
        }
        Err(Invalid::Parameter { name: "momentum", value, expected: "a number in [0, 1)" })
    }
}

/// A block of scores with the sum of its iterates, which is behind by `now - last` terms.
#[derive(Debug, Clone)]
struct Block {
    scores: Vec<f64>,
    velocity: Vec<f64>,
    sum: Vec<f64>,
    last: usize,
}

impl Block {
    fn new(scores: Vec<f64>) -> Block {
        Block { sum: vec![0.0; scores.len()], velocity: vec![0.0; scores.len()], scores, last: 0 }
    }

    fn catch_up(&mut self, now: usize) {
        let missed = (now - self.last) as f64;
        if missed > 0.0 {
            self.sum.iter_mut().zip(&self.scores).for_each(|(s, t)| *s += missed * t);
            self.last = now;
        }
    }

    fn forget(&mut self, now: usize) {
        self.sum.fill(0.0);
        self.last = now;
    }

    /// One step on `-log softmax(scores)[seen]`; `scratch` has the same length.
    fn step(&mut self, seen: usize, step: f64, scratch: &mut [f64]) {
        lanes::run(Descend { scores: &mut self.scores, scratch, seen, step });
    }

    /// The same with momentum; `seen` of `None` moves by the velocity alone.
    fn glide(&mut self, seen: Option<usize>, step: f64, momentum: Momentum, scratch: &mut [f64]) {
        let beta = momentum.beta();
        match seen {
            Some(seen) => {
                let ahead = if let Momentum::Nesterov(_) = momentum { beta } else { 0.0 };
                let moved = self.scores.iter().zip(&self.velocity);
                scratch.iter_mut().zip(moved).for_each(|(c, (s, v))| *c = s + ahead * v);
                fenchel_linalg::special::softmax_in_place(scratch);
                scratch[seen] -= 1.0;
            }
            None => scratch.fill(0.0),
        }
        for ((s, v), g) in self.scores.iter_mut().zip(&mut self.velocity).zip(&*scratch) {
            *v = beta * *v - step * g;
            *s += *v;
        }
    }

    fn mean(&self, now: usize, average: Average) -> Mean<'_> {
        let count = match average {
            Average::Last => 0,
            Average::Uniform => now,
            Average::Tail { from } => now.saturating_sub(from),
        };
        let (missed, count) = ((now - self.last) as f64, count as f64);
        Mean { sum: &self.sum, scores: &self.scores, missed, count }
    }

    fn average(&self, now: usize, average: Average) -> Vec<f64> {
        let mut out = vec![0.0; self.scores.len()];
        self.mean(now, average).write(&mut out);
        out
    }
}

/// A distribution that averages are compared with: `log p` and `p`, a row for each state of a model's marginal variable.
#[derive(Debug, Clone)]
struct Goal {
    log: Vec<f64>,
    p: Vec<f64>,
}

impl Goal {
    fn new(log: impl Iterator<Item = f64>) -> Goal {
        let log: Vec<f64> = log.collect();
        Goal { p: log.iter().map(|l| l.exp()).collect(), log }
    }

    fn of(pair: &CategoricalPair, direction: Direction) -> Goal {
        let log = pair.log_joint();
        match direction {
            Direction::Causal => Goal::new(log.iter().copied()),
            Direction::Anticausal => Goal::new(log.t().iter().copied()),
        }
    }
}

/// Averaged stochastic gradient descent on one factorisation.
///
/// ```
/// use fenchel_causal::adapt::{Average, CategoricalSgd, Momentum};
/// use fenchel_causal::categorical::CategoricalPair;
/// use ndarray::array;
///
/// let start = CategoricalPair::from_logits(array![0.0, 0.0].view(), array![[0.0, 0.0], [0.0, 0.0]].view())?;
/// let mut sgd = CategoricalSgd::new(&start, 0.5, Average::Last, Momentum::Off)?;
/// sgd.learn((1, 0))?;
/// assert_eq!(sgd.model().marginal().to_vec(), [-0.25, 0.25]);
/// # Ok::<(), fenchel_causal::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct CategoricalSgd {
    marginal: Block,
    rows: Vec<Block>,
    step: f64,
    average: Average,
    momentum: Momentum,
    now: usize,
    direction: Direction,
    /// Twice as long as the marginal and as a row.
    scratch: (Vec<f64>, Vec<f64>),
}

impl CategoricalSgd {
    /// A learner that starts at a pair, in its direction.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a step that is not positive and finite, a momentum outside [0, 1).
    pub fn new(
        start: &CategoricalPair,
        step: f64,
        average: Average,
        momentum: Momentum,
    ) -> Result<CategoricalSgd, Error> {
        Invalid::check_positive("step", step)?;
        momentum.check()?;
        let (a, b) = start.shape();
        Ok(CategoricalSgd {
            marginal: Block::new(start.marginal().to_vec()),
            rows: start.conditional().rows().into_iter().map(|r| Block::new(r.to_vec())).collect(),
            step,
            average,
            momentum,
            now: 0,
            direction: start.direction(),
            scratch: (vec![0.0; 2 * a], vec![0.0; 2 * b]),
        })
    }

    /// One step on a sample `(x, y)`, the cause first whatever the direction of the model. O(K) without momentum.
    ///
    /// # Errors
    /// [`Error::Category`].
    pub fn learn(&mut self, sample: (usize, usize)) -> Result<(), Error> {
        let (a, b) = match self.direction {
            Direction::Causal => sample,
            Direction::Anticausal => (sample.1, sample.0),
        };
        for (what, value, categories) in [
            ("the marginal variable", a, self.rows.len()),
            ("the conditional variable", b, self.columns()),
        ] {
            if value >= categories {
                return Err(Error::Category { what, value, categories });
            }
        }
        if self.average == (Average::Tail { from: self.now }) {
            self.marginal.forget(self.now);
            self.rows.iter_mut().for_each(|r| r.forget(self.now));
        }
        self.now += 1;
        let (rows, columns) = (self.rows.len(), self.columns());
        let (first, second) = (&mut self.scratch.0[..rows], &mut self.scratch.1[..columns]);
        self.marginal.catch_up(self.now);
        if self.momentum == Momentum::Off {
            self.marginal.step(a, self.step, first);
            self.rows[a].catch_up(self.now);
            self.rows[a].step(b, self.step, second);
        } else {
            self.marginal.glide(Some(a), self.step, self.momentum, first);
            for (r, row) in self.rows.iter_mut().enumerate() {
                row.catch_up(self.now);
                let seen = (r == a).then_some(b);
                row.glide(seen, self.step, self.momentum, second);
            }
        }
        Ok(())
    }

    fn columns(&self) -> usize {
        self.scratch.1.len() / 2
    }

    /// `KL(goal || average)`. O(K^2), nothing is allocated.
    fn divergence(&mut self, goal: &Goal) -> f64 {
        let (now, average) = (self.now, self.average);
        lanes::run(Divergence {
            target: (&goal.log, &goal.p),
            weights: Some(self.marginal.mean(now, average)),
            rows: self.rows.iter().map(|row| row.mean(now, average)),
            scratch: &mut self.scratch.1,
            weight_scratch: &mut self.scratch.0,
        })
    }

    /// The average so far. O(K^2).
    pub fn model(&self) -> CategoricalPair {
        let rows = self.rows.iter().flat_map(|r| r.average(self.now, self.average)).collect();
        let pair = CategoricalPair::centred(self.marginal.average(self.now, self.average), rows);
        if self.direction == Direction::Causal { pair } else { pair.relabelled(self.direction) }
    }

    /// The negative log-likelihood of a sample under the last iterate, in nats: what an online learner pays before it learns. O(K).
    ///
    /// # Errors
    /// [`Error::Category`].
    pub fn loss(&self, sample: (usize, usize)) -> Result<f64, Error> {
        let (a, b) = match self.direction {
            Direction::Causal => sample,
            Direction::Anticausal => (sample.1, sample.0),
        };
        let Some(row) = self.rows.get(a).filter(|r| b < r.scores.len()) else {
            let categories = self.rows.len();
            return Err(Error::Category { what: "the sample", value: a.max(b), categories });
        };
        let lse = |s: &[f64]| fenchel_linalg::special::log_sum_exp(s);
        let marginal = lse(&self.marginal.scores) - self.marginal.scores[a];
        Ok(marginal + lse(&row.scores) - row.scores[b])
    }
}

/// Averaged stochastic gradient descent on joint scores.
#[derive(Debug, Clone)]
pub struct JointSgd {
    block: Block,
    columns: usize,
    step: f64,
    average: Average,
    now: usize,
    scratch: Vec<f64>,
}

impl JointSgd {
    /// A learner that starts at a joint distribution.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a step that is not positive and finite.
    pub fn new(start: &JointCategorical, step: f64, average: Average) -> Result<JointSgd, Error> {
        Invalid::check_positive("step", step)?;
        let logits: Vec<f64> = start.logits().iter().copied().collect();
        let (columns, scratch) = (start.logits().ncols(), vec![0.0; 2 * logits.len()]);
        Ok(JointSgd { block: Block::new(logits), columns, step, average, now: 0, scratch })
    }

    /// One step on a sample `(x, y)`. O(K^2).
    ///
    /// # Errors
    /// [`Error::Category`].
    pub fn learn(&mut self, (x, y): (usize, usize)) -> Result<(), Error> {
        let cells = self.scratch.len() / 2;
        let rows = cells / self.columns;
        for (what, value, categories) in [("X", x, rows), ("Y", y, self.columns)] {
            if value >= categories {
                return Err(Error::Category { what, value, categories });
            }
        }
        if self.average == (Average::Tail { from: self.now }) {
            self.block.forget(self.now);
        }
        self.now += 1;
        self.block.catch_up(self.now);
        self.block.step(x * self.columns + y, self.step, &mut self.scratch[..cells]);
        Ok(())
    }

    /// `KL(goal || average)`. O(K^2), nothing is allocated.
    fn divergence(&mut self, goal: &Goal) -> f64 {
        lanes::run(Divergence {
            target: (&goal.log, &goal.p),
            weights: None,
            rows: std::iter::once(self.block.mean(self.now, self.average)),
            scratch: &mut self.scratch,
            weight_scratch: &mut [],
        })
    }

    /// The average scores so far, a row for each state of X.
    pub fn scores(&self) -> Vec<f64> {
        self.block.average(self.now, self.average)
    }
}

/// A reference and a transfer distribution, and the three models that go from one to the other: causal, anticausal, joint.
#[derive(Debug, Clone)]
pub struct CategoricalTask {
    reference: CategoricalPair,
    transfer: CategoricalPair,
    goals: [Goal; 2],
    momentum: Momentum,
}

impl CategoricalTask {
    /// From two pairs in the causal direction.
    ///
    /// # Errors
    /// [`Error::Invalid`] for other numbers of states or another direction.
    pub fn new(
        reference: &CategoricalPair,
        transfer: &CategoricalPair,
    ) -> Result<CategoricalTask, Error> {
        reference.distance_sq(transfer)?;
        if reference.direction() != Direction::Causal {
            let reason = "expected causal pairs: reverse them first".into();
            return Err(Invalid::Layout { what: "the direction", reason }.into());
        }
        let goals = [Direction::Causal, Direction::Anticausal].map(|d| Goal::of(transfer, d));
        let (reference, transfer) = (reference.clone(), transfer.clone());
        Ok(CategoricalTask { reference, transfer, goals, momentum: Momentum::Off })
    }

    /// The same with momentum in the two directed models.
    #[must_use]
    pub fn momentum(self, momentum: Momentum) -> CategoricalTask {
        CategoricalTask { momentum, ..self }
    }
}

impl Task for CategoricalTask {
    type Sample = (usize, usize);
    const MODELS: &'static [&'static str] = &["causal", "anticausal", "joint"];

    fn draw(&self, samples: usize, rng: &mut impl Rng) -> Vec<(usize, usize)> {
        self.transfer.sample(samples, rng)
    }

    fn distance_sq(&self, model: usize) -> Result<f64, Error> {
        let all = Anova::of(&self.reference).distances(&Anova::of(&self.transfer))?;
        Ok([all.causal, all.anticausal, all.joint][model])
    }

    fn run(
        &self,
        model: usize,
        step: f64,
        average: Average,
        every: usize,
        samples: &[(usize, usize)],
    ) -> Result<Vec<f64>, Error> {
        let mut curve = vec![self.transfer.kl(&self.reference)?];
        if model == 2 {
            let mut sgd = JointSgd::new(&JointCategorical::of(&self.reference), step, average)?;
            for (t, &sample) in samples.iter().enumerate() {
                sgd.learn(sample)?;
                if (t + 1) % every == 0 {
                    curve.push(sgd.divergence(&self.goals[0]));
                }
            }
            return Ok(curve);
        }
        let start = if model == 0 { self.reference.clone() } else { self.reference.reverse() };
        let mut sgd = CategoricalSgd::new(&start, step, average, self.momentum)?;
        for (t, &sample) in samples.iter().enumerate() {
            sgd.learn(sample)?;
            if (t + 1) % every == 0 {
                curve.push(sgd.divergence(&self.goals[model]));
            }
        }
        Ok(curve)
    }
}
