//! Enumeration of all states of a network of discrete variables. As for two states, scores are computed by expansion
//! and means by folding.

use fenchel_linalg::{Invalid, lanes};
use fenchel_optim::Refusal;

use super::Layout;
use crate::Error;

/// Exact means by enumeration. With `N` joint states it costs `N` exponentials and a small multiple of `N` additions.
/// Memory: 16 bytes per state.
///
/// ```
/// use fenchel_mrf_learn::discrete::{DiscreteEnumeration, Layout};
///
/// let layout = Layout::new(&[3, 2])?;
/// let mut means = vec![0.0; layout.len()];
/// let log_z = DiscreteEnumeration::new(&layout, None)?.means(&vec![0.0; layout.len()], &mut means)?;
/// assert!((log_z - 6.0_f64.ln()).abs() < 1e-12 && (means[0] - 1.0 / 3.0).abs() < 1e-12);
/// # Ok::<(), fenchel_mrf_learn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct DiscreteEnumeration {
    layout: Layout,
    weights: Vec<f64>,
    scratch: Vec<f64>,
}

/// `2^28` states are 4 GB.
const MOST: u64 = 1 << 28;

/// Number of states in all; `u64::MAX` where it does not fit.
pub(super) fn states(layout: &Layout) -> u64 {
    layout.cards().iter().fold(1_u64, |n, &card| n.saturating_mul(card as u64))
}

impl DiscreteEnumeration {
    /// Allocates memory for all states.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for more than `2^28` states; [`Error::Refused`] for more than `max_memory` bytes.
    pub fn new(layout: &Layout, max_memory: Option<u64>) -> Result<Self, Error> {
        let states = states(layout);
        if states > MOST {
            let (name, value) = ("states in all", states as f64);
            return Err(Invalid::Parameter { name, value, expected: "at most 2^28" }.into());
        }
        let hint = "use a junction tree, or Gibbs sampling";
        Refusal::check_memory("the table of all states", 16 * states, max_memory, hint)?;
        let n = states as usize;
        let (weights, scratch) = (vec![0.0; n], vec![0.0; n]);
        Ok(DiscreteEnumeration { layout: layout.clone(), weights, scratch })
    }

    /// Writes the scores; the state of the first variable changes fastest. Returns the largest.
    fn scores(&mut self, theta: &[f64]) -> Result<f64, Error> {
        Invalid::check_length("parameters", self.layout.len(), theta.len())?;
        let DiscreteEnumeration { layout, weights, scratch } = self;
        let cards = layout.cards();
        weights[0] = 0.0;
        let mut size = 1;
        for (i, &card) in cards.iter().enumerate() {
            // From the last state down, so that the first can take the place of what all of them need.
            for a in (0..card).rev() {
                scratch[0] = theta[layout.field(i)][a];
                let mut known = 1;
                for (j, &other) in cards[..i].iter().enumerate() {
                    let table = &theta[layout.table_of(j, i)];
                    for b in (1..other).rev() {
                        let value = table[b * card + a];
                        let (from, to) = scratch.split_at_mut(b * known);
                        let pairs = to[..known].iter_mut().zip(&from[..known]);
                        pairs.for_each(|(to, from)| *to = from + value);
                    }
                    scratch[..known].iter_mut().for_each(|x| *x += table[a]);
                    known *= other;
                }
                let (from, to) = weights.split_at_mut(a.max(1) * size);
                if a == 0 {
                    from[..size].iter_mut().zip(&scratch[..size]).for_each(|(w, s)| *w += s);
                } else {
                    let logits = from[..size].iter().zip(&scratch[..size]);
                    to[..size].iter_mut().zip(logits).for_each(|(to, (w, s))| *to = w + s);
                }
            }
            size *= card;
        }
        Ok(weights.iter().fold(f64::NEG_INFINITY, |a, &b| a.max(b)))
    }

    fn exponentials(&mut self, largest: f64) -> f64 {
        self.weights.iter_mut().for_each(|w| *w = lanes::exp(*w - largest));
        lanes::sum(&self.weights)
    }

    /// `log Z`.
    ///
    /// # Errors
    /// [`Invalid::Length`].
    pub fn log_partition(&mut self, theta: &[f64]) -> Result<f64, Error> {
        let largest = self.scores(theta)?;
        Ok(largest + self.exponentials(largest).ln())
    }

    /// `log Z`, and the means of the statistics into `out`.
    ///
    /// # Errors
    /// [`Invalid::Length`].
    pub fn means(&mut self, theta: &[f64], out: &mut [f64]) -> Result<f64, Error> {
        Invalid::check_length("out", self.layout.len(), out.len())?;
        let largest = self.scores(theta)?;
        let total = self.exponentials(largest);
        let DiscreteEnumeration { layout, weights, scratch } = self;
        let cards = layout.cards();
        let mut size = weights.len();
        for i in (0..cards.len()).rev() {
            size /= cards[i];
            for a in 0..cards[i] {
                let work = &mut scratch[..size];
                work.copy_from_slice(&weights[a * size..(a + 1) * size]);
                out[layout.field(i)][a] = lanes::sum(work) / total;
                let mut inner = size;
                for j in (0..i).rev() {
                    inner /= cards[j];
                    let table = &mut out[layout.table_of(j, i)];
                    for b in 0..cards[j] {
                        let block = &work[b * inner..(b + 1) * inner];
                        table[b * cards[i] + a] = lanes::sum(block) / total;
                    }
                    fold(&mut work[..cards[j] * inner], inner);
                }
            }
            fold(&mut weights[..cards[i] * size], size);
        }
        Ok(largest + total.ln())
    }
}

/// Adds all later blocks of a size to the first.
fn fold(blocks: &mut [f64], size: usize) {
    let (first, rest) = blocks.split_at_mut(size);
    for block in rest.chunks_exact(size) {
        first.iter_mut().zip(block).for_each(|(to, from)| *to += from);
    }
}
