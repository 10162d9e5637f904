//! Averaged stochastic gradient descent on the scores of two categorical variables.
//!
//! One sample changes the marginal and one row of the conditional. The running sums of the other rows are therefore
//! updated only when their row is changed or read, by `sum_r += (t - last_r) theta_r`. So one step costs O(K) and
//! allocates nothing.

use fenchel_linalg::{Invalid, lanes};
use serde::{Deserialize, Serialize};

use super::kernels::{Divergence, Goal, Lanes, Scores, Walk, scratch_lanes};
use super::{Average, check_step};
use fenchel_causal::Error;
use fenchel_causal::categorical::{CategoricalPair, Direction, JointCategorical};

/// The momentum of the steps. Le Priol (PhD thesis 2021, section 4.4) names both kinds of momentum in the remark that
/// his comparison of models carries over to methods whose rate depends on the initial distance. This crate has no
/// convergence bound for steps with momentum.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub enum Momentum {
    /// No momentum.
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

    /// `beta`, and how many velocities ahead gradients are taken.
    fn pace(self) -> Option<(f64, f64)> {
        match self {
            Momentum::Off => None,
            Momentum::HeavyBall(beta) => Some((beta, 0.0)),
            Momentum::Nesterov(beta) => Some((beta, beta)),
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

/// Averaged stochastic gradient descent on one factorisation.
///
/// ```
/// use fenchel_experiments::causal::methods::adapt::{Average, CategoricalSgd, Momentum};
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
    marginal: Scores,
    rows: Scores,
    step: f64,
    average: Average,
    momentum: Momentum,
    now: usize,
    direction: Direction,
    scratch: Vec<Lanes>,
}

impl CategoricalSgd {
    /// A learner that starts at a pair and uses its direction.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a step that is not positive or above 1e100, a momentum outside [0, 1).
    pub fn new(
        start: &CategoricalPair,
        step: f64,
        average: Average,
        momentum: Momentum,
    ) -> Result<CategoricalSgd, Error> {
        check_step(step)?;
        momentum.check()?;
        let (a, b) = start.shape();
        let moves = momentum != Momentum::Off;
        Ok(CategoricalSgd {
            marginal: Scores::new(start.marginal().iter().copied(), a, moves),
            rows: Scores::new(start.conditional().iter().copied(), b, moves),
            step,
            average,
            momentum,
            now: 0,
            direction: start.direction(),
            scratch: vec![Lanes::default(); scratch_lanes(a, b)],
        })
    }

    /// One step on a sample `(x, y)`. The cause comes first, whatever the direction of the model. O(K) without
    /// momentum.
    ///
    /// # Errors
    /// [`Error::Category`].
    pub fn learn(&mut self, sample: (usize, usize)) -> Result<(), Error> {
        self.learn_all(&[sample])
    }

    /// One step per sample, in the order given. If any sample is not a valid pair of categories, no step is taken. O(K)
    /// per sample without momentum.
    ///
    /// # Errors
    /// [`Error::Category`].
    pub fn learn_all(&mut self, samples: &[(usize, usize)]) -> Result<(), Error> {
        let swapped = self.direction == Direction::Anticausal;
        let (rows, columns) = (self.rows.rows(), self.rows.width());
        let (xs, ys) = if swapped { (columns, rows) } else { (rows, columns) };
        check_samples(samples, xs, ys)?;
        lanes::run(Walk {
            marginal: Some(&mut self.marginal),
            rows: &mut self.rows,
            samples,
            swapped,
            step: self.step,
            momentum: self.momentum.pace(),
            average: self.average,
            now: self.now,
            scratch: &mut self.scratch,
        });
        self.now += samples.len();
        Ok(())
    }

    /// `KL(goal || average)`. O(K^2), nothing is allocated.
    pub(super) fn divergence(&mut self, goal: &Goal) -> f64 {
        lanes::run(Divergence {
            goal,
            weights: Some(&self.marginal),
            rows: &self.rows,
            average: self.average,
            now: self.now,
            scratch: &mut self.scratch,
        })
    }

    /// The average so far. O(K^2).
    pub fn model(&self) -> CategoricalPair {
        let averages = |scores: &Scores| scores.averages(self.now, self.average);
        let pair = CategoricalPair::centred(averages(&self.marginal), averages(&self.rows));
        if self.direction == Direction::Causal { pair } else { pair.with_direction(self.direction) }
    }

    /// The negative log-likelihood of a sample under the last iterate, in nats. This is the loss of an online learner,
    /// which predicts a sample before it learns from it. O(K).
    ///
    /// # Errors
    /// [`Error::Category`].
    pub fn loss(&self, sample: (usize, usize)) -> Result<f64, Error> {
        let (a, b) = match self.direction {
            Direction::Causal => sample,
            Direction::Anticausal => (sample.1, sample.0),
        };
        let (rows, columns) = (self.rows.rows(), self.rows.width());
        if a >= rows || b >= columns {
            let categories = if a >= rows { rows } else { columns };
            return Err(Error::Category { what: "the sample", value: a.max(b), categories });
        }
        let (marginal, row) = (self.marginal.row(0), self.rows.row(a));
        let lse = |s: &[f64]| fenchel_linalg::special::log_sum_exp(s);
        Ok(lse(marginal) - marginal[a] + lse(row) - row[b])
    }
}

/// Samples are categories of X and of Y.
fn check_samples(samples: &[(usize, usize)], xs: usize, ys: usize) -> Result<(), Error> {
    for &(x, y) in samples {
        for (what, value, categories) in [("X", x, xs), ("Y", y, ys)] {
            if value >= categories {
                return Err(Error::Category { what, value, categories });
            }
        }
    }
    Ok(())
}

/// Averaged stochastic gradient descent on joint scores.
#[derive(Debug, Clone)]
pub struct JointSgd {
    scores: Scores,
    /// States of X and of Y.
    shape: (usize, usize),
    step: f64,
    average: Average,
    now: usize,
    scratch: Vec<Lanes>,
}

impl JointSgd {
    /// A learner that starts at a joint distribution.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a step that is not positive or above 1e100.
    pub fn new(start: &JointCategorical, step: f64, average: Average) -> Result<JointSgd, Error> {
        check_step(step)?;
        let logits = start.logits();
        let scores = Scores::new(logits.iter().copied(), logits.len(), false);
        let scratch = vec![Lanes::default(); scratch_lanes(1, logits.len())];
        Ok(JointSgd { scores, shape: logits.dim(), step, average, now: 0, scratch })
    }

    /// One step on a sample `(x, y)`. O(K^2).
    ///
    /// # Errors
    /// [`Error::Category`].
    pub fn learn(&mut self, (x, y): (usize, usize)) -> Result<(), Error> {
        let (xs, ys) = self.shape;
        check_samples(&[(x, y)], xs, ys)?;
        lanes::run(Walk {
            marginal: None,
            rows: &mut self.scores,
            samples: &[(0, x * ys + y)],
            swapped: false,
            step: self.step,
            momentum: None,
            average: self.average,
            now: self.now,
            scratch: &mut self.scratch,
        });
        self.now += 1;
        Ok(())
    }

    /// `KL(goal || average)`. O(K^2), nothing is allocated.
    pub(super) fn divergence(&mut self, goal: &Goal) -> f64 {
        lanes::run(Divergence {
            goal,
            weights: None,
            rows: &self.scores,
            average: self.average,
            now: self.now,
            scratch: &mut self.scratch,
        })
    }

    /// The average scores so far, one row per state of X.
    pub fn scores(&self) -> Vec<f64> {
        self.scores.averages(self.now, self.average)
    }
}
