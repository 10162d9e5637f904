//! Learning the direction from the speed of adaptation, and how that fails.
//!
//! ```text
//! R(gamma) = -log(sigma(gamma) e^{l_causal} + (1 - sigma(gamma)) e^{l_anti}),   dR/dgamma = sigma(gamma) - sigma(gamma + l_causal - l_anti)
//! ```
//!
//! Here `sigma(gamma)` is the belief in the causal direction, and `l_causal`, `l_anti` are the log-likelihoods of the
//! two models. In every episode both models start at the reference and receive k batches of a new transfer
//! distribution. Each batch is scored before the models take their step on it. The parameter gamma drifts towards the
//! model with the higher log-likelihood. **After interventions on the effect this is the anticausal model**, so the
//! learned direction is wrong in nearly all runs (experiment `ca-ex13`).
//!
//! Source: R. Le Priol, PhD thesis 2021, sections 4.1 and 4.B.4; Bengio and others, ICLR 2020.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::{log_add_exp, sigmoid, softplus};
use fenchel_optim::random::stream;
use rand::RngExt;

use super::adapt::mean_gradient_step;
use crate::numbers::mean_and_error;
use fenchel_causal::Error;
use fenchel_causal::categorical::CategoricalPair;
use fenchel_causal::prior::{CategoricalPrior, Target};

/// Adaptation steps per episode, samples per step, and the step of the two models.
const STEPS: usize = 2;
const BATCH: usize = 10;
const STEP: f64 = 0.1;

/// The result of the learning.
#[derive(Debug, Clone, PartialEq)]
pub struct Learned {
    /// The belief in the causal direction at the end.
    pub belief: f64,
    /// The mean over the episodes of `l_causal - l_anti`, in nats, and its standard error.
    pub advantage: (f64, f64),
}

/// `R(gamma)` and its derivative, stable for any log-likelihoods.
pub fn regret(gamma: f64, causal: f64, anticausal: f64) -> (f64, f64) {
    let value = -log_add_exp(causal - softplus(-gamma), anticausal - softplus(gamma));
    // A difference of sigmoids near 1 cancels; the product does not.
    let (d, to) = (causal - anticausal, gamma + (causal - anticausal));
    let slope = if d > 0.0 {
        sigmoid(to) * sigmoid(-gamma) * (-d).exp_m1()
    } else {
        -sigmoid(gamma) * sigmoid(-to) * d.exp_m1()
    };
    (value, slope)
}

/// Learns the direction of a reference by interventions drawn from the prior, of which `effect_share` are on the effect. Steps on
/// gamma are those of RMSprop. Episode k draws from stream k of the seed.
///
/// # Errors
/// [`Error::Invalid`] for no episodes and a share outside [0, 1]; the errors of the prior.
pub fn learn_direction(
    reference: &CategoricalPair,
    prior: &CategoricalPrior,
    effect_share: f64,
    episodes: usize,
    seed: u64,
) -> Result<Learned, Error> {
    Invalid::check_positive("episodes", episodes as f64)?;
    if !(0.0..=1.0).contains(&effect_share) {
        let (name, expected) = ("effect_share", "a number in [0, 1]");
        return Err(Invalid::Parameter { name, value: effect_share, expected }.into());
    }
    let (mut gamma, mut square) = (0.0, 0.0_f64);
    let mut advantage = Vec::new();
    for episode in 0..episodes {
        let mut rng = stream(seed, episode as u64);
        let effect = rng.random::<f64>() < effect_share;
        let target = if effect { Target::Effect } else { Target::Cause };
        let change = prior.sample_intervention(reference, target, &mut rng)?;
        let samples = reference.intervene(&change)?.sample(STEPS * BATCH, &mut rng);
        let total = online(reference, &samples)? - online(&reference.reverse(), &samples)?;
        let slope = regret(gamma, total, 0.0).1;
        square = 0.99 * square + 0.01 * slope * slope;
        gamma -= 0.01 * slope / (square.sqrt() + 1e-8);
        advantage.push(total);
    }
    Ok(Learned { belief: sigmoid(gamma), advantage: mean_and_error(&advantage) })
}

/// The log-likelihood of all batches, each before the step on it.
fn online(start: &CategoricalPair, samples: &[(usize, usize)]) -> Result<f64, Error> {
    let mut model = start.clone();
    let mut likelihood = 0.0;
    for batch in samples.chunks(BATCH) {
        let log = model.log_joint();
        likelihood += batch.iter().map(|&sample| log[sample]).sum::<f64>();
        model = mean_gradient_step(&model, batch, STEP)?;
    }
    Ok(likelihood)
}
