//! Bounds on the error of a gradient that is estimated by Gibbs sampling.
//!
//! Notation: there are `m` statistics and `q` chains, each after `t` sweeps. `B` is the influence bound of one sweep
//! ([`Influence::sweep`]), `d = B^t 1`, and `delta` is the error of the gradient. Theorems are those of Geng et al.,
//! *Stochastic Learning for Sparse Discrete Markov Random Fields with Controlled Gradient Approximation Error*, UAI
//! 2018.
//!
//! | bound of | formula | function | source |
//! |---|---|---|---|
//! | `norm(E delta)` | `2 sqrt(m) sum_i d_i` | [`bias_paper`] | Geng et al. 2018, theorem 3 |
//! | `norm(E delta)` | `sqrt(sum_i min(1, d_i)^2 + sum_{i<j} min(1, d_i + d_j)^2)` | [`bias_coupling`] | coupling, never above the first |
//! | `norm(E delta)` | `2 sqrt(m) (1 - e^(-p D))^t`, `D` the largest change of energy by one flip | [`bias_comparison`] | after Fischer and Igel 2011 |
//! | `norm(delta)`, with probability | `bias + sqrt(sum_j e_j^2)` | [`nonasymptotic`] | Geng et al. 2018, theorem 4 |
//!
//! In a coupling of the chain with a draw of the model, `d_i` bounds the probability that variable `X_i` differs
//! between the two, from any start. All bounds are in binary coordinates. In spins every statistic has twice the range,
//! so every bound doubles.

use fenchel_graphical::{BinaryPairwise, Influence};
use serde::{Deserialize, Serialize};

use crate::layout::packed_length;

/// The bound of the bias that a schedule uses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoundKind {
    /// [`bias_paper`]: the bound of Geng et al. (UAI 2018).
    #[default]
    Paper,
    /// [`bias_coupling`]: from the same quantities, 3 to 15 times smaller.
    Coupling,
}

/// The grand sums `sum_i (B^t 1)_i` for `t = 1, ..., sweeps`. By theorem 9 of Mitliagkas and Mackey (2017), the total
/// variation distance after `t` sweeps is at most the minimum of 1 and this sum. The cost is O(nonzeros) per sweep.
pub fn grand_sums(influence: &Influence, sweeps: usize) -> Vec<f64> {
    let mut d = vec![1.0; influence.variables()];
    (0..sweeps)
        .map(|_| {
            influence.sweep(&mut d);
            d.iter().sum()
        })
        .collect()
}

/// The bound `2 sqrt(m) sum_i d_i` of Geng et al. (UAI 2018), theorem 3.
pub fn bias_paper(d: &[f64]) -> f64 {
    2.0 * (packed_length(d.len()) as f64).sqrt() * d.iter().sum::<f64>()
}

/// The bounds `|E delta_ii| <= d_i` and `|E delta_ij| <= min(1, d_i + d_j)`. They follow from the coupling in the proof
/// of lemma 1 of Geng et al. (UAI 2018), without its factor of 2.
pub fn bias_coupling(d: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (i, a) in d.iter().enumerate() {
        sum += a.min(1.0).powi(2);
        sum += d[i + 1..].iter().map(|b| (a + b).min(1.0).powi(2)).sum::<f64>();
    }
    sum.sqrt()
}

/// The bound of a kind, for statistics with values `range` apart.
pub fn bias(kind: BoundKind, d: &[f64], range: f64) -> f64 {
    range
        * match kind {
            BoundKind::Paper => bias_paper(d),
            BoundKind::Coupling => bias_coupling(d),
        }
        // An empty row of influences sums to -0.
        + 0.0
}

/// The bound `2 sqrt(m) (1 - e^(-p D))^sweeps`, in the manner of Fischer and Igel's analysis of contrastive divergence
/// (2011). Figure 2 of Geng et al. (UAI 2018) compares with such a bound but does not print it; this is a
/// reconstruction, and a valid bound. It hardly decreases with the sweeps once `p D` exceeds 10.
pub fn bias_comparison(model: &BinaryPairwise, sweeps: usize) -> f64 {
    let p = model.variables();
    let change = |i: usize| {
        let positive: f64 = model.edges_of(i).map(|(_, c)| c.max(0.0)).sum();
        let negative: f64 = model.edges_of(i).map(|(_, c)| (-c).max(0.0)).sum();
        (model.bias()[i] + positive).abs().max((model.bias()[i] - negative).abs())
    };
    let largest = (0..p).map(change).fold(0.0, f64::max);
    let survive = -(-(p as f64) * largest).exp_m1();
    let left = (sweeps as f64 * survive.ln()).exp();
    2.0 * (packed_length(p) as f64).sqrt() * if sweeps == 0 { 1.0 } else { left }
}

/// The empirical Bernstein bound `e_j = 2 (sqrt(V ln(2/beta) / (2q)) + 7 ln(2/beta) / (3 (q - 1)))` for a statistic
/// with values 0 and 1, with the unbiased sample variance `V`. Sources: Maurer and Pontil (2009); Geng et al. (UAI
/// 2018), equation 14.
pub fn bernstein(variance: f64, chains: usize, beta: f64) -> f64 {
    let (q, log) = (chains as f64, (2.0 / beta).ln());
    2.0 * ((variance * log / (2.0 * q)).sqrt() + 7.0 * log / (3.0 * (q - 1.0)))
}

/// `sqrt(sum_j e_j^2)`: the bound on the sampling error, which is added to the bound on the bias. The confidence
/// `1 - doubt` is shared among the statistics. `variances` are those of the statistics over the chains. `range` is 1
/// for binary coordinates, 2 for spins.
pub fn sampling_error(variances: &[f64], chains: usize, doubt: f64, range: f64) -> f64 {
    let beta = doubt / (2.0 * variances.len() as f64);
    let square = |v: f64| (range * bernstein(v / (range * range), chains, beta)).powi(2);
    variances.iter().map(|&v| square(v)).sum::<f64>().sqrt()
}

/// `2 sqrt(m) sum_i d_i + sqrt(sum_j e_j^2)`. With probability at least `1 - doubt` over the chains, given their start,
/// this bounds the error of the gradient (Geng et al., UAI 2018, theorem 4). It is 20 to 50 times the actual error.
pub fn nonasymptotic(d: &[f64], variances: &[f64], chains: usize, doubt: f64) -> f64 {
    bias_paper(d) + sampling_error(variances, chains, doubt, 1.0)
}

/// `lambda_max(Cov psi)` for `p` fair coins in binary coordinates, in closed form. This is the Lipschitz constant of
/// the gradient at 0, hence a lower bound of the global constant `L`. It is `1.43` for 10 variables and `12.7` for 100,
/// so a step of 0.4 converges with 10 variables and diverges with 100.
pub fn lipschitz_at_zero(p: usize) -> f64 {
    if p == 1 {
        return 0.25;
    }
    let n = p as f64;
    let (a, b, c) = (0.25, 0.125 * (2.0 * (n - 1.0)).sqrt(), 3.0 / 16.0 + (n - 2.0) / 8.0);
    0.5 * (a + c) + (0.25 * (a - c) * (a - c) + b * b).sqrt()
}

/// The upper bound `L <= m / 4`, which holds for the covariance of any `m` statistics with values 0 and 1. The step
/// `1 / L` computed from it is always safe, and mostly far too small.
pub fn lipschitz_bound(p: usize) -> f64 {
    0.25 * packed_length(p) as f64
}
