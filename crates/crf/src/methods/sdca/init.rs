//! Marginals of a cold start.

use fenchel_graphical::chain::{Chain, ChainMarginals, Probability};
use fenchel_linalg::Invalid;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::problem::Problem;
use crate::weights::Weights;

/// Marginals of a cold start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Init {
    /// The true labels, mixed with the uniform distribution in every clique. Values of 1e-3 to 1e-5 are equally good.
    Smoothed {
        /// Fraction of the uniform distribution, in (0, 1].
        smoothing: f64,
    },
    /// The marginals of a chain whose scores favour true labels and true transitions, as in the program of Le Priol et al.
    Tilted {
        /// The score, e.g. 10.
        score: f64,
    },
    /// The uniform distribution. It is a very bad start, and serves for comparisons.
    Uniform,
    /// The true labels alone. The entropy has an infinite slope there, so that only fixed steps and Brent's method can be used.
    Empirical,
    /// The marginals of a model with given weights. The run starts at the weights of these marginals, which differ from the
    /// given ones.
    Weights(Weights),
}

impl Default for Init {
    fn default() -> Self {
        Init::Smoothed { smoothing: 1e-3 }
    }
}

impl Init {
    /// The fraction of the uniform distribution, for starts that are the true labels mixed with it.
    pub(crate) fn smoothing(&self) -> Result<Option<f64>, Invalid> {
        match *self {
            Init::Smoothed { smoothing } if !(smoothing > 0.0 && smoothing <= 1.0) => {
                let (name, expected) = ("init.smoothing", "a number in (0, 1]");
                Err(Invalid::Parameter { name, value: smoothing, expected })
            }
            Init::Smoothed { smoothing } => Ok(Some(smoothing)),
            Init::Uniform => Ok(Some(1.0)),
            Init::Empirical => Ok(Some(0.0)),
            Init::Tilted { .. } | Init::Weights(_) => Ok(None),
        }
    }

    pub(crate) fn marginals<T: Probability>(
        &self,
        problem: &Problem<'_>,
    ) -> Result<Vec<ChainMarginals<T>>, Error> {
        let labels = problem.data().labels();
        let mut path = Vec::new();
        let smoothing = self.smoothing()?;
        if let Init::Tilted { score } = self {
            Invalid::check_nonnegative("init.score", *score)?;
        }
        let mut model = match self {
            Init::Weights(weights) => {
                weights.check()?;
                Invalid::check_length(
                    "weights",
                    problem.data().attributes(),
                    weights.attributes(),
                )?;
                let mut chain = Chain::shared(labels, 1)?;
                weights.write_transitions(&mut chain)?;
                Some((weights, chain))
            }
            _ => None,
        };
        let one = |sequence: crate::Sequence<'_>| {
            path.clear();
            path.extend(sequence.labels().iter().map(|&label| label as usize));
            if let Some(smoothing) = smoothing {
                return Ok(ChainMarginals::smoothed(labels, &path, smoothing)?);
            }
            match self {
                Init::Tilted { score } => {
                    let mut chain = Chain::per_edge(labels, path.len())?;
                    for (t, &label) in path.iter().enumerate() {
                        chain.unary_mut(t)[label] = *score;
                    }
                    for (t, pair) in path.windows(2).enumerate() {
                        chain.pairwise_mut(t, pair[0])[pair[1]] = *score;
                    }
                    let mut marginals = ChainMarginals::new();
                    chain.marginals(&mut marginals)?;
                    Ok(marginals)
                }
                _ => {
                    let mut marginals = ChainMarginals::new();
                    if let Some((weights, chain)) = &mut model {
                        let tokens = (0..sequence.len()).map(|t| sequence.attributes(t));
                        weights.write_scores(tokens, chain)?;
                        chain.marginals(&mut marginals)?;
                    }
                    Ok(marginals)
                }
            }
        };
        problem.data().iter().map(one).collect()
    }
}
