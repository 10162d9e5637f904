//! Averaged stochastic gradient descent on the scores of two categorical variables.
//!
//! One sample changes the marginal and one row of the conditional. The running sums of the other rows are therefore
//! updated only when their row is changed or read, by `sum_r += (t - last_r) theta_r`. So one step costs O(K) and
//! allocates nothing.

use fenchel_linalg::special::log_sum_exp;
use fenchel_linalg::{Invalid, lanes};
use serde::{Deserialize, Serialize};

use super::kernels::{Divergence, Goal, Lanes, Place, Scores, Walk, scratch_lanes};
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

/// Averaged stochastic gradient descent on one factorisation, or on joint scores.
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
    /// None for joint scores, which are one row.
    marginal: Option<Scores>,
    rows: Scores,
    /// States of X and of Y.
    shape: (usize, usize),
    step: f64,
    average: Average,
    momentum: Momentum,
    now: usize,
    place: Place,
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
            marginal: Some(Scores::new(start.marginal().iter().copied(), a, moves)),
            rows: Scores::new(start.conditional().iter().copied(), b, moves),
            shape: if start.direction() == Direction::Causal { (a, b) } else { (b, a) },
            place: match start.direction() {
                Direction::Causal => Place::Causal,
                Direction::Anticausal => Place::Anticausal,
            },
            step,
            average,
            momentum,
            now: 0,
            scratch: vec![Lanes::default(); scratch_lanes(a, b)],
        })
    }

    /// A learner of joint scores that starts at a joint distribution.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a step that is not positive or above 1e100.
    pub fn joint(
        start: &JointCategorical,
        step: f64,
        average: Average,
    ) -> Result<CategoricalSgd, Error> {
        check_step(step)?;
        let logits = start.logits();
        Ok(CategoricalSgd {
            marginal: None,
            rows: Scores::new(logits.iter().copied(), logits.len(), false),
            shape: logits.dim(),
            step,
            average,
            momentum: Momentum::Off,
            now: 0,
            place: Place::Joint(logits.ncols()),
            scratch: vec![Lanes::default(); scratch_lanes(1, logits.len())],
        })
    }

    /// One step on a sample `(x, y)`. The cause comes first, whatever the direction of the model. O(K) without
    /// momentum, O(K^2) for joint scores.
    ///
    /// # Errors
    /// [`Error::Category`].
    pub fn learn(&mut self, sample: (usize, usize)) -> Result<(), Error> {
        self.learn_all(&[sample])
    }

    /// One step per sample, in the order given. If any sample is not a valid pair of categories, no step is taken.
    ///
    /// # Errors
    /// [`Error::Category`].
    pub fn learn_all(&mut self, samples: &[(usize, usize)]) -> Result<(), Error> {
        samples.iter().try_for_each(|&sample| self.check(sample))?;
        lanes::run(Walk {
            marginal: self.marginal.as_mut(),
            rows: &mut self.rows,
            samples,
            place: self.place,
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
            weights: self.marginal.as_ref(),
            rows: &self.rows,
            average: self.average,
            now: self.now,
            scratch: &mut self.scratch,
        })
    }

    /// The average so far. O(K^2).
    pub fn model(&self) -> CategoricalPair {
        let rows = self.rows.averages(self.now, self.average);
        let marginal = match &self.marginal {
            Some(marginal) => marginal.averages(self.now, self.average),
            None => rows.chunks_exact(self.shape.1).map(log_sum_exp).collect(),
        };
        let pair = CategoricalPair::centred(marginal, rows);
        match self.place {
            Place::Anticausal => pair.with_direction(Direction::Anticausal),
            _ => pair,
        }
    }

    /// Samples are categories of X and of Y.
    fn check(&self, (x, y): (usize, usize)) -> Result<(), Error> {
        for (what, value, categories) in [("X", x, self.shape.0), ("Y", y, self.shape.1)] {
            if value >= categories {
                return Err(Error::Category { what, value, categories });
            }
        }
        Ok(())
    }
}
