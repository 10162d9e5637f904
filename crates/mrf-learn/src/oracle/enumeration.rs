//! Exact means by enumeration of all joint states.
//!
//! Scores are computed by expansion: variable `i` turns the list of the scores of the variables before it into that list,
//! followed by one copy per further state of `i` with the logits of this state added. The logits are themselves built by
//! expansion. Means are computed by folding: one block of the weights belongs to each state of the last variable. Repeating
//! this within a block gives the pair means of that state, and adding up the blocks sums the variable out.
//!
//! For `p` variables with two states: `2^p` exponentials, `2 2^p` additions for the scores, `3 2^p` for all pair means.
//! Memory: 16 bytes per joint state.

use fenchel_linalg::{Invalid, lanes};
use fenchel_optim::Refusal;

use super::backend::Backend;
use crate::error::Error;
use crate::layout::{Layout, pair_index};

/// Exact means of a pairwise model by enumeration of its states.
///
/// ```
/// use fenchel_mrf_learn::{Backend, Coordinates, Enumeration, Layout};
///
/// let layout = Layout::two_states(2, Coordinates::Binary)?;
/// let mut means = [0.0; 3];
/// let log_z = Enumeration::new(&layout, None)?.means(&[0.0, 1.5, 0.0], &mut means)?;
/// assert!((log_z - (3.0 + 1.5_f64.exp()).ln()).abs() < 1e-12);
/// assert!((means[1] - 1.5_f64.exp() / (3.0 + 1.5_f64.exp())).abs() < 1e-12);
/// # Ok::<(), fenchel_mrf_learn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Enumeration {
    layout: Layout,
    reference: Layout,
    /// Scores, then weights.
    weights: Vec<f64>,
    /// Logits while scores are made, blocks while means are.
    scratch: Vec<f64>,
    /// Means in the reference coordinates.
    means: Vec<f64>,
}

/// `2^28` states are 4 GB.
const MOST: u64 = 1 << 28;

/// Number of joint states; `u64::MAX` where it does not fit.
pub(super) fn states(layout: &Layout) -> u64 {
    layout.cards().iter().fold(1_u64, |n, &card| n.saturating_mul(card as u64))
}

impl Enumeration {
    /// Allocates 16 bytes per joint state.
    ///
    /// # Errors
    /// [`Error::Refused`] for more than `max_memory` bytes; [`Invalid::Parameter`] for more than `2^28` states.
    pub fn new(layout: &Layout, max_memory: Option<u64>) -> Result<Self, Error> {
        let states = states(layout);
        if states > MOST {
            let (name, value) = ("joint states", states as f64);
            return Err(Invalid::Parameter { name, value, expected: "at most 2^28" }.into());
        }
        let hint = "use a junction tree, or Gibbs sampling";
        Refusal::check_memory("the table of all states", 16 * states, max_memory, hint)?;
        let (reference, n) = (layout.reference()?, states as usize);
        let (weights, scratch, means) = (vec![0.0; n], vec![0.0; n], vec![0.0; reference.len()]);
        Ok(Enumeration { layout: layout.clone(), reference, weights, scratch, means })
    }

    /// Writes the score of every joint state, in which the state of the first variable changes fastest. Returns the largest,
    /// and what is to be added to all.
    fn scores(&mut self, theta: &[f64]) -> Result<(f64, f64), Error> {
        Invalid::check_length("parameters", self.layout.len(), theta.len())?;
        let Enumeration { layout, reference, weights, scratch, .. } = self;
        let (theta, constant) = layout.to_reference(reference, theta);
        let (cards, p) = (reference.cards(), reference.variables());
        weights[0] = 0.0;
        let mut size = 1;
        for (i, &card) in cards.iter().enumerate() {
            for a in 1..card {
                scratch[0] = theta[reference.field(i)][a - 1];
                let mut known = 1;
                for (j, &other) in cards[..i].iter().enumerate() {
                    let table = &theta[reference.block(pair_index(j, i, p))];
                    for b in 1..other {
                        let coupling = table[(b - 1) * (card - 1) + a - 1];
                        let (from, to) = scratch.split_at_mut(b * known);
                        lanes::dispatch(|| {
                            for (to, from) in to[..known].iter_mut().zip(&from[..known]) {
                                *to = from + coupling;
                            }
                        });
                    }
                    known *= other;
                }
                let (from, to) = weights.split_at_mut(a * size);
                let logits = &scratch[..size];
                lanes::dispatch(|| {
                    let known = from[..size].iter().zip(logits);
                    for (to, (from, logit)) in to[..size].iter_mut().zip(known) {
                        *to = from + logit;
                    }
                });
            }
            size *= card;
        }
        Ok((weights.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b)), constant))
    }

    /// The probability of every joint state. The state of the first variable changes fastest: with two states each, state `s`
    /// has `x_i = 1` where bit `i` of `s` is set.
    ///
    /// # Errors
    /// [`Invalid::Length`].
    pub fn probabilities(&mut self, theta: &[f64]) -> Result<&[f64], Error> {
        let (largest, _) = self.scores(theta)?;
        let total = lanes::run(Exponentials { scores: &mut self.weights, largest });
        self.weights.iter_mut().for_each(|weight| *weight /= total);
        Ok(&self.weights)
    }
}

/// Refuses what is longer or shorter than the layout.
impl Backend for Enumeration {
    fn means(&mut self, theta: &[f64], out: &mut [f64]) -> Result<f64, Error> {
        Invalid::check_length("out", self.layout.len(), out.len())?;
        let (largest, constant) = self.scores(theta)?;
        let total = lanes::run(Exponentials { scores: &mut self.weights, largest });
        let Enumeration { layout, reference, weights, scratch, means } = self;
        let (cards, p) = (reference.cards(), reference.variables());
        let mut size = weights.len();
        for i in (0..p).rev() {
            size /= cards[i];
            let (first, blocks) = weights.split_at_mut(size);
            for a in 1..cards[i] {
                let block = &blocks[(a - 1) * size..a * size];
                let work = &mut scratch[..size];
                work.copy_from_slice(block);
                let mut inner = size;
                for j in (0..i).rev() {
                    inner /= cards[j];
                    let (zero, others) = work[..cards[j] * inner].split_at_mut(inner);
                    let table = &mut means[reference.block(pair_index(j, i, p))];
                    for (b, from) in others.chunks_exact(inner).enumerate() {
                        let sum = lanes::run(SumAndFold { to: &mut *zero, from });
                        table[b * (cards[i] - 1) + a - 1] = sum / total;
                    }
                }
                let sum = lanes::run(SumAndFold { to: &mut *first, from: block });
                means[reference.field(i)][a - 1] = sum / total;
            }
        }
        layout.expand(reference, means, out);
        Ok(largest + total.ln() + constant)
    }

    fn log_partition(&mut self, theta: &[f64]) -> Result<f64, Error> {
        let (largest, constant) = self.scores(theta)?;
        let total = lanes::run(Exponentials { scores: &mut self.weights, largest });
        Ok(largest + total.ln() + constant)
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
