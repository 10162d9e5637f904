//! Random draws from a network: from the joint distribution, or weighted by evidence.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::log_sum_exp;
use ndarray::Array2;
use rand::{Rng, RngExt};

use super::BayesNet;
use crate::{Error, Evidence, Finding, VarId};

impl BayesNet {
    /// Draws a configuration by ancestral sampling: every variable given its parents, parents first. O(sum of cardinalities).
    ///
    /// If a row of a table does not sum to 1 exactly, its entries count in proportion.
    pub fn sample(&self, rng: &mut (impl Rng + ?Sized)) -> Vec<usize> {
        let mut configuration = vec![0; self.len()];
        for &v in self.dag.topological_order() {
            configuration[v as usize] = draw(self.row(VarId(v), &configuration).0, rng);
        }
        configuration
    }

    /// Draws `draws` independent configurations, one per row.
    ///
    /// # Errors
    /// [`Error::Memory`] for more draws than fit.
    pub fn sample_many(
        &self,
        draws: usize,
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<Array2<usize>, Error> {
        Error::check_memory("draws", draws, 8 * self.len())?;
        let mut rows = Array2::zeros((draws, self.len()));
        for mut row in rows.rows_mut() {
            row.iter_mut().zip(self.sample(rng)).for_each(|(to, state)| *to = state);
        }
        Ok(rows)
    }

    /// Likelihood weighting: draws the unobserved variables, and weights each draw by the probability of the evidence given its
    /// parents. The weights satisfy `E[weight] = P(e)`, and weighted means are consistent for `P(. | e)`.
    ///
    /// The method is cheap and simple. It is inaccurate when the evidence is improbable given its ancestors: check
    /// [`WeightedSample::effective_size`].
    ///
    /// Source: Fung and Chang, UAI 1989; Shachter and Peot, UAI 1989.
    ///
    /// # Errors
    /// What [`Evidence::check`] refuses; [`Invalid::Parameter`] for no draws; [`Error::Memory`] for more than fit.
    pub fn likelihood_weighting(
        &self,
        evidence: &Evidence,
        draws: usize,
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<WeightedSample, Error> {
        evidence.check(&self.cards)?;
        Invalid::check_count("draws", draws)?;
        Error::check_memory("draws", draws, 8 * (self.len() + 1))?;
        let mut configurations = Array2::zeros((draws, self.len()));
        let mut log_weights = Vec::with_capacity(draws);
        let mut configuration = vec![0; self.len()];
        for mut row in configurations.rows_mut() {
            let mut log_weight = 0.0;
            for &v in self.dag.topological_order() {
                let (probabilities, sum) = self.row(VarId(v), &configuration);
                configuration[v as usize] = match evidence.get(VarId(v)) {
                    Some(&Finding::State(state)) => {
                        log_weight += (probabilities[state] / sum).ln();
                        state
                    }
                    Some(Finding::Likelihood(values)) => {
                        let state = draw(probabilities, rng);
                        log_weight += values[state].ln();
                        state
                    }
                    None => draw(probabilities, rng),
                };
            }
            row.iter_mut().zip(&configuration).for_each(|(to, &state)| *to = state);
            log_weights.push(log_weight);
        }
        Ok(WeightedSample { configurations, log_weights })
    }
}

/// Weighted draws, from [`BayesNet::likelihood_weighting`].
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedSample {
    /// One configuration of all variables per row.
    pub configurations: Array2<usize>,
    /// One log-weight per row; `-inf` for a draw that contradicts the evidence.
    pub log_weights: Vec<f64>,
}

impl WeightedSample {
    /// The estimate of `log P(e)`, the log of the mean weight; `-inf` if all weights are 0.
    pub fn log_evidence(&self) -> f64 {
        log_sum_exp(&self.log_weights) - (self.log_weights.len() as f64).ln()
    }

    /// The effective sample size `(sum w)^2 / sum w^2`: the number of unweighted draws of about the same accuracy. It is
    /// between 1 and the number of draws, or 0 if all weights are 0.
    pub fn effective_size(&self) -> f64 {
        let total = log_sum_exp(&self.log_weights);
        if total == f64::NEG_INFINITY {
            return 0.0;
        }
        1.0 / self.log_weights.iter().map(|w| (2.0 * (w - total)).exp()).sum::<f64>()
    }

    /// The estimate of `P(variable | e)` over `states` states.
    ///
    /// # Errors
    /// [`Error::ImpossibleEvidence`] if all weights are 0; [`Error::UnknownVariable`]; [`Error::State`] for a
    /// draw beyond `states`.
    pub fn posterior(&self, variable: VarId, states: usize) -> Result<Vec<f64>, Error> {
        let variables = self.configurations.ncols();
        if variable.index() >= variables {
            return Err(Error::UnknownVariable { variable, variables });
        }
        let total = log_sum_exp(&self.log_weights);
        if total == f64::NEG_INFINITY {
            return Err(Error::ImpossibleEvidence);
        }
        let mut posterior = vec![0.0; states];
        for (&state, w) in
            self.configurations.column(variable.index()).iter().zip(&self.log_weights)
        {
            let Some(p) = posterior.get_mut(state) else {
                return Err(Error::State { variable, state, cardinality: states });
            };
            *p += (w - total).exp();
        }
        Ok(posterior)
    }
}

/// Draws by inversion of the distribution function. A state of probability 0 is never drawn.
fn draw(probabilities: &[f64], rng: &mut (impl Rng + ?Sized)) -> usize {
    let mut mass = rng.random::<f64>() * probabilities.iter().sum::<f64>();
    let mut last = 0;
    for (state, &p) in probabilities.iter().enumerate() {
        if p > 0.0 {
            if mass < p {
                return state;
            }
            mass -= p;
            last = state;
        }
    }
    // Rounding only.
    last
}
