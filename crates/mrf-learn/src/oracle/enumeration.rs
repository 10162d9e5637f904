//! Exact means by enumeration of all `2^p` states.
//!
//! Scores are computed by doubling: variable `i` turns the list of `2^i` scores into that list, followed by the same
//! list plus the logits of `x_i = 1`. These logits are themselves built by doubling. Means are computed by folding: the
//! upper half of the weights are the states in which the last variable is 1. Repeating this within the upper half gives
//! the pair means of that variable, and adding the two halves sums the variable out.
//!
//! Cost: `2^p` exponentials, `2 2^p` additions for the scores, `3 2^p` for all pair means. Memory: 16 bytes per state.

use fenchel_graphical::BinaryPairwise;
use fenchel_linalg::{Invalid, lanes};
use fenchel_optim::Refusal;

use crate::Error;
use crate::coordinates::{packed_length, pair_index};

/// Exact means of a binary pairwise model by enumeration of its states.
///
/// ```
/// use fenchel_graphical::BinaryPairwise;
/// use fenchel_mrf_learn::Enumeration;
///
/// let model = BinaryPairwise::new(&[0.0, 0.0], &[(0, 1, 1.5)])?;
/// let mut means = [0.0; 3];
/// let log_z = Enumeration::new(2, None)?.means(&model, &mut means)?;
/// assert!((log_z - (3.0 + 1.5_f64.exp()).ln()).abs() < 1e-12);
/// assert!((means[1] - 1.5_f64.exp() / (3.0 + 1.5_f64.exp())).abs() < 1e-12);
/// # Ok::<(), fenchel_mrf_learn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Enumeration {
    variables: usize,
    /// Scores, then weights.
    weights: Vec<f64>,
    /// Logits while scores are made, halves while means are.
    scratch: Vec<f64>,
}

/// `2^28` states are 4 GB.
const MOST: usize = 28;

impl Enumeration {
    /// Allocates `16 2^p` bytes for `p` variables.
    ///
    /// # Errors
    /// [`Error::Refused`] for more than `max_memory` bytes; [`Invalid::Parameter`] for more than 28 variables.
    pub fn new(p: usize, max_memory: Option<u64>) -> Result<Self, Error> {
        if p == 0 || p > MOST {
            let expected = "1 to 28 variables to enumerate";
            return Err(Invalid::Parameter { name: "variables", value: p as f64, expected }.into());
        }
        let hint = "use a junction tree, or Gibbs sampling";
        Refusal::check_memory("the table of all states", 16 << p, max_memory, hint)?;
        Ok(Enumeration { variables: p, weights: vec![0.0; 1 << p], scratch: vec![0.0; 1 << p] })
    }

    /// Writes the score of every state; state `s` has `x_i = 1` where bit `i` of `s` is set. Returns the largest.
    fn scores(&mut self, model: &BinaryPairwise) -> Result<f64, Error> {
        Invalid::check_length("variables of the model", self.variables, model.variables())?;
        let p = self.variables;
        let Enumeration { weights, scratch, .. } = self;
        weights[0] = 0.0;
        for i in 0..p {
            let mut couplings = vec![0.0; i];
            for (j, coupling) in model.edges_of(i).filter(|&(j, _)| (j as usize) < i) {
                couplings[j as usize] = coupling;
            }
            scratch[0] = model.bias()[i];
            for (j, &coupling) in couplings.iter().enumerate() {
                let (known, next) = scratch.split_at_mut(1 << j);
                lanes::dispatch(|| {
                    for (to, from) in next[..1 << j].iter_mut().zip(known.iter()) {
                        *to = from + coupling;
                    }
                });
            }
            let (known, next) = weights.split_at_mut(1 << i);
            let logits = &scratch[..1 << i];
            lanes::dispatch(|| {
                for ((to, from), logit) in next[..1 << i].iter_mut().zip(known.iter()).zip(logits) {
                    *to = from + logit;
                }
            });
        }
        Ok(weights.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b)))
    }

    /// `log Z`.
    ///
    /// # Errors
    /// [`Invalid::Length`] for a model of the wrong size.
    pub fn log_partition(&mut self, model: &BinaryPairwise) -> Result<f64, Error> {
        let largest = self.scores(model)?;
        Ok(largest + lanes::run(Exponentials { scores: &mut self.weights, largest }).ln())
    }

    /// `log Z`, and the means of `x_i` and `x_i x_j`, packed, into `out`.
    ///
    /// # Errors
    /// [`Invalid::Length`] for a model of the wrong size, or `out` of the wrong length.
    pub fn means(&mut self, model: &BinaryPairwise, out: &mut [f64]) -> Result<f64, Error> {
        let p = self.variables;
        Invalid::check_length("out", packed_length(p), out.len())?;
        let largest = self.scores(model)?;
        let total = lanes::run(Exponentials { scores: &mut self.weights, largest });
        let Enumeration { weights, scratch, .. } = self;
        for i in (0..p).rev() {
            let (low, high) = weights[..2 << i].split_at_mut(1 << i);
            let (work, _) = scratch.split_at_mut(1 << i);
            work.copy_from_slice(high);
            for j in (0..i).rev() {
                let (zero, one) = work[..2 << j].split_at_mut(1 << j);
                out[pair_index(j, i, p)] = lanes::run(SumAndFold { to: zero, from: one }) / total;
            }
            out[pair_index(i, i, p)] = lanes::run(SumAndFold { to: low, from: high }) / total;
        }
        Ok(largest + total.ln())
    }

    /// The probability of every state; state `s` has `x_i = 1` where bit `i` of `s` is set.
    ///
    /// # Errors
    /// [`Invalid::Length`] for a model of the wrong size.
    pub fn probabilities(&mut self, model: &BinaryPairwise) -> Result<&[f64], Error> {
        let largest = self.scores(model)?;
        let total = lanes::run(Exponentials { scores: &mut self.weights, largest });
        self.weights.iter_mut().for_each(|weight| *weight /= total);
        Ok(&self.weights)
    }
}

/// `e^(score - largest)` in place, and their sum.
struct Exponentials<'a> {
    scores: &'a mut [f64],
    largest: f64,
}

impl lanes::Kernel for Exponentials<'_> {
    type Output = f64;

    #[inline(always)]
    fn compute(self) -> f64 {
        for i in 0..self.scores.len() {
            self.scores[i] = lanes::exp(self.scores[i] - self.largest);
        }
        lanes::sum(self.scores)
    }
}

/// The sum of `from`, which is added to `to`.
struct SumAndFold<'a> {
    to: &'a mut [f64],
    from: &'a [f64],
}

impl lanes::Kernel for SumAndFold<'_> {
    type Output = f64;

    #[inline(always)]
    fn compute(self) -> f64 {
        let sum = lanes::sum(self.from);
        for i in 0..self.to.len() {
            self.to[i] += self.from[i];
        }
        sum
    }
}
