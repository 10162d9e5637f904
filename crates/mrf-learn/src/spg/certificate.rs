//! The certificate of an iterate, from chains that took no part in the step.

use fenchel_optim::{Certificate, Regulariser};

use super::record::SpgRecord;
use super::sampler::Sampler;
use crate::bounds::BoundKind;

/// The probability with which the error bound of a certificate may fail.
pub(super) const DOUBT: f64 = 0.05;

/// `norm(G)` at a point, from fresh sweeps of a copy of the chains. Its uncertainty is the bound on the bias plus a bound
/// on the sampling error that holds with probability 0.95.
pub(super) fn certificate<S: Sampler, R: Regulariser>(
    sampler: &S,
    theta: &[f64],
    target: &[f64],
    regulariser: &R,
    bound: BoundKind,
    last: &SpgRecord,
) -> Certificate {
    let mut chains = sampler.clone();
    let influence = chains.influence();
    let mut d = vec![1.0; chains.variables()];
    for _ in 0..last.sweeps {
        chains.sweep();
        influence.sweep(&mut d);
    }
    let mut means = vec![0.0; theta.len()];
    chains.means(&mut means);
    let mut variances = vec![0.0; means.len()];
    chains.variances(&means, &mut variances);
    let mut moved = theta.to_vec();
    for c in 0..moved.len() {
        moved[c] -= last.step * (means[c] - target[c]);
    }
    regulariser.prox(&mut moved, last.step);
    let square: f64 = moved.iter().zip(theta).map(|(a, b)| (a - b).powi(2)).sum();
    let error = chains.bias(bound, &d) + chains.sampling_error(&variances, DOUBT);
    Certificate::residual(None, square.sqrt() / last.step, error)
}
