//! Bayesian updates of counts, as a baseline for stochastic gradient steps, and the posterior of which mechanism was
//! changed.
//!
//! ```text
//! p(y | x) = (n_c p_ref(y | x) + count_xy) / (n_c + count_x)        a mechanism, centred on the reference    BayesianPair
//! p(x, y)  = (n_0 p_ref(x, y) + count_xy) / (n_0 + count)           the joint table                          BayesianJoint
//! ```
//!
//! Neither update has a step size to tune; its only parameter is the weight of the reference, `n_c` or `n_0`. A pair
//! keeps the mechanisms for which no sample was seen exactly as in the reference. A joint table loses the reference at
//! the same rate in all cells.
//!
//! Source: R. Le Priol's published code has the joint version; his PhD thesis (2021) has neither.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::{ln_gamma, log_sum_exp};
use ndarray::Array2;

use fenchel_causal::Error;
use fenchel_causal::categorical::{CategoricalPair, JointCategorical};
use fenchel_causal::direction::ln_rising;

/// Posterior means of the mechanisms of a causal pair, with the reference as prior.
#[derive(Debug, Clone, PartialEq)]
pub struct BayesianPair {
    reference: CategoricalPair,
    strength: f64,
    counts: Array2<f64>,
}

/// Which mechanism of a causal pair was changed.
#[derive(Debug, Clone, PartialEq)]
pub struct TargetPosterior {
    /// The probability that nothing was changed.
    pub none: f64,
    /// The marginal.
    pub cause: f64,
    /// All rows, which became one.
    pub effect: f64,
    /// A single row, by the state of the cause.
    pub row: Vec<f64>,
}

impl BayesianPair {
    /// A prior centred on a causal pair, with the weight of `strength` samples per mechanism.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a strength that is not positive.
    pub fn new(reference: &CategoricalPair, strength: f64) -> Result<BayesianPair, Error> {
        Invalid::check_positive("strength", strength)?;
        Ok(BayesianPair {
            reference: reference.clone(),
            strength,
            counts: Array2::zeros(reference.shape()),
        })
    }

    /// Counts a sample: states of the marginal and of the conditional variable. O(1).
    ///
    /// # Errors
    /// [`Error::Category`].
    pub fn learn(&mut self, (a, b): (usize, usize)) -> Result<(), Error> {
        let (rows, columns) = self.counts.dim();
        for (what, value, categories) in
            [("the marginal variable", a, rows), ("the conditional variable", b, columns)]
        {
            if value >= categories {
                return Err(Error::Category { what, value, categories });
            }
        }
        self.counts[(a, b)] += 1.0;
        Ok(())
    }

    /// The posterior mean, in the direction of the reference. Rows without a sample keep the reference exactly. O(K^2).
    ///
    /// # Errors
    /// As [`CategoricalPair::from_logits`].
    pub fn model(&self) -> Result<CategoricalPair, Error> {
        let mix = |log_p: f64, n: f64| {
            let prior = self.strength.ln() + log_p;
            if n > 0.0 { fenchel_linalg::special::log_add_exp(prior, n.ln()) } else { prior }
        };
        let total = log_sum_exp(&self.reference.marginal().to_vec());
        let sums = self.counts.sum_axis(ndarray::Axis(1));
        let marginal =
            self.reference.marginal().iter().zip(&sums).map(|(s, n)| mix(s - total, *n)).collect();
        let partitions = self.reference.partitions();
        let rows = self
            .counts
            .indexed_iter()
            .map(|((i, j), &n)| mix(self.reference.conditional()[(i, j)] - partitions[i], n));
        let pair = CategoricalPair::centred(marginal, rows.collect());
        Ok(pair.with_direction(self.reference.direction()))
    }

    /// The posterior of which mechanism was changed. The prior is uniform over nothing, the cause, the effect and each
    /// single row. Unchanged mechanisms keep the reference; changed ones are drawn uniformly from the simplex.
    pub fn target(&self) -> TargetPosterior {
        let log = self.reference.log_joint_rows();
        let sums: Vec<f64> = self.counts.sum_axis(ndarray::Axis(1)).to_vec();
        let marginal: Vec<f64> = log.rows().into_iter().map(|r| log_sum_exp(&r.to_vec())).collect();
        let kept = |logs: &[f64], n: &[f64]| -> f64 {
            logs.iter().zip(n).filter(|(_, n)| **n > 0.0).map(|(l, n)| l * n).sum()
        };
        let cause = kept(&marginal, &sums);
        let rows: Vec<f64> = (0..sums.len())
            .map(|i| {
                let given: Vec<f64> = log.row(i).iter().map(|l| l - marginal[i]).collect();
                kept(&given, &self.counts.row(i).to_vec())
            })
            .collect();
        let all: f64 = rows.iter().sum();
        let effect = evidence(&self.counts.sum_axis(ndarray::Axis(0)).to_vec(), 1.0);
        let mut scores = vec![cause + all, evidence(&sums, 1.0) + all, cause + effect];
        scores.extend(
            (0..rows.len())
                .map(|i| cause + all - rows[i] + evidence(&self.counts.row(i).to_vec(), 1.0)),
        );
        // One share for the single rows together.
        let share = (rows.len() as f64).ln();
        scores[3..].iter_mut().for_each(|s| *s -= share);
        fenchel_linalg::special::softmax_in_place(&mut scores);
        TargetPosterior {
            none: scores[0],
            cause: scores[1],
            effect: scores[2],
            row: scores[3..].to_vec(),
        }
    }

    /// The log-likelihood of the samples under the conditional mechanism, in their order. Each sample is predicted by
    /// the posterior mean given the samples before it.
    pub fn log_evidence(&self) -> f64 {
        let log = self.reference.log_joint_rows();
        let mut sum = 0.0;
        for (counts, logs) in self.counts.rows().into_iter().zip(log.rows()) {
            let total = log_sum_exp(&logs.to_vec());
            let n: f64 = counts.sum();
            sum -= ln_rising(self.strength, n);
            for (&c, l) in counts.iter().zip(logs) {
                if c > 0.0 {
                    // Where the weight of the prior underflows, Gamma of it is its inverse.
                    let log_prior = self.strength.ln() + (l - total);
                    sum += match log_prior < -600.0 {
                        true => ln_gamma(c) + log_prior,
                        false => ln_rising(log_prior.exp(), c),
                    };
                }
            }
        }
        sum
    }
}

/// The posterior mean of the joint table, with a reference as prior.
#[derive(Debug, Clone, PartialEq)]
pub struct BayesianJoint {
    log_prior: Array2<f64>,
    counts: Array2<f64>,
}

impl BayesianJoint {
    /// A prior centred on the joint distribution of a pair, with the weight of `strength` samples.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a strength that is not positive.
    pub fn new(reference: &CategoricalPair, strength: f64) -> Result<BayesianJoint, Error> {
        Invalid::check_positive("strength", strength)?;
        let log_prior = reference.log_joint() + strength.ln();
        Ok(BayesianJoint { counts: Array2::zeros(log_prior.dim()), log_prior })
    }

    /// A prior of one sample in every cell (the rule of succession), without a reference.
    ///
    /// # Errors
    /// [`Error::Invalid`] for no cells.
    pub fn uniform(kx: usize, ky: usize) -> Result<BayesianJoint, Error> {
        if kx * ky == 0 {
            return Err(Invalid::Empty { what: "the joint table" }.into());
        }
        Ok(BayesianJoint { log_prior: Array2::zeros((kx, ky)), counts: Array2::zeros((kx, ky)) })
    }

    /// Counts a sample (x, y). O(1).
    ///
    /// # Errors
    /// [`Error::Category`].
    pub fn learn(&mut self, (x, y): (usize, usize)) -> Result<(), Error> {
        let (rows, columns) = self.counts.dim();
        for (what, value, categories) in [("X", x, rows), ("Y", y, columns)] {
            if value >= categories {
                return Err(Error::Category { what, value, categories });
            }
        }
        self.counts[(x, y)] += 1.0;
        Ok(())
    }

    /// The posterior mean. O(K^2).
    ///
    /// # Errors
    /// As [`JointCategorical::from_logits`].
    pub fn model(&self) -> Result<JointCategorical, Error> {
        let mut logits = self.log_prior.clone();
        logits.zip_mut_with(&self.counts, |l, &n| {
            if n > 0.0 {
                *l = fenchel_linalg::special::log_add_exp(*l, n.ln());
            }
        });
        JointCategorical::from_logits(logits.view())
    }
}

/// `log P(counts in order)` with probabilities from a symmetric Dirichlet distribution.
fn evidence(counts: &[f64], concentration: f64) -> f64 {
    let k = counts.len() as f64;
    let total: f64 = counts.iter().sum();
    let cells: f64 =
        counts.iter().filter(|n| **n > 0.0).map(|n| ln_rising(concentration, *n)).sum();
    cells - ln_rising(k * concentration, total)
}
