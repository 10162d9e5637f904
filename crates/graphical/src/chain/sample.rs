//! Random labellings of a chain.

use rand::{Rng, RngExt};

use super::{Chain, Filter, stride};
use crate::Error;

impl Chain {
    /// Draws a labelling from `p` by forward filtering and backward sampling.
    ///
    /// # Errors
    /// [`Error::ImpossibleEvidence`] if every labelling is forbidden, [`Error::Invalid`] for a score that is NaN or `+inf`.
    pub fn sample(&mut self, rng: &mut (impl Rng + ?Sized)) -> Result<Vec<usize>, Error> {
        let filter = self.filter()?;
        let (states, stride) = (self.states, stride(self.states));
        let mut path = vec![0; self.length];
        let mut logs = vec![0.0; states];
        for t in (0..self.length).rev() {
            for (j, log) in logs.iter_mut().enumerate() {
                *log = match filter {
                    Filter::Scaled(_) => self.scaled.filtered(t, stride)[j].ln(),
                    Filter::Log(_) => self.log.filtered(t, stride)[j],
                };
                if let Some(&after) = path.get(t + 1) {
                    *log += self.pairwise(t, j)[after];
                }
            }
            path[t] = draw(&logs, rng);
        }
        Ok(path)
    }
}

/// Draws an index with probability proportional to `exp(logs)`. An index with `-inf` is never drawn.
fn draw(logs: &[f64], rng: &mut (impl Rng + ?Sized)) -> usize {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weight = |log: f64| (log - top).exp();
    let total: f64 = logs.iter().map(|&log| weight(log)).sum();
    let mut mass = rng.random::<f64>() * total;
    let mut last = 0;
    for (k, &log) in logs.iter().enumerate() {
        let weight = weight(log);
        if weight > 0.0 {
            if mass < weight {
                return k;
            }
            last = k;
        }
        mass -= weight;
    }
    last
}
