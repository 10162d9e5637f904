//! Draws from a network: of the joint, and weighted by the evidence.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::log_sum_exp;
use ndarray::Array2;
use rand::{Rng, RngExt};

use super::BayesNet;
use crate::{Error, Evidence, Finding, VarId};

impl BayesNet {
    /// Draws a configuration: every variable given its parents, parents first. O(sum of cardinalities).
    ///
    /// A row that does not sum to 1 exactly is drawn from in proportion.
    pub fn sample(&self, rng: &mut (impl Rng + ?Sized)) -> Vec<usize> {
        let mut configuration = vec![0; self.len()];
        for &v in self.dag.topological_order() {
            configuration[v as usize] = draw(self.row(VarId(v), &configuration).0, rng);
        }
        configuration
    }

    /// `draws` independent configurations, one a row.
    pub fn sample_many(&self, draws: usize, rng: &mut (impl Rng + ?Sized)) -> Array2<usize> {
        let mut rows = Array2::zeros((draws, self.len()));
        for mut row in rows.rows_mut() {
            row.iter_mut().zip(self.sample(rng)).for_each(|(to, state)| *to = state);
        }
        rows
    }

    /// Draws what the evidence leaves open and weights each draw by the probability of the evidence
    /// given its parents: `E[weight] = P(e)`, and weighted means are consistent for `P(. | e)`.
    ///
    /// Cheap and simple, and poor when the evidence is far below what it depends on: look at
    /// [`WeightedSample::effective_size`].
    ///
    /// Source: Fung and Chang, UAI 1989; Shachter and Peot, UAI 1989.
    ///
    /// # Errors
    /// What [`Evidence::check`] refuses; [`Invalid::Parameter`] for no draws.
    pub fn likelihood_weighting(
        &self,
        evidence: &Evidence,
        draws: usize,
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<WeightedSample, Error> {
        evidence.check(&self.cards)?;
        Invalid::check_positive("draws", draws as f64)?;
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

/// Draws with weights, from [`BayesNet::likelihood_weighting`].
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedSample {
    /// One configuration of all variables a row.
    pub configurations: Array2<usize>,
    /// One log-weight a row; `-inf` for a draw that the evidence rules out.
    pub log_weights: Vec<f64>,
}

impl WeightedSample {
    /// The estimate of `log P(e)`, the log of the mean weight; `-inf` if all weights are 0.
    pub fn log_evidence(&self) -> f64 {
        log_sum_exp(&self.log_weights) - (self.log_weights.len() as f64).ln()
    }

    /// `(sum w)^2 / sum w^2`: how many unweighted draws would serve as well, from 1 to the number of draws;
    /// 0 if all weights are 0.
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

/// By inversion; never a state of probability 0.
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
