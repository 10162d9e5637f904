//! Concave penalties by reweighted graphical lassos.
//!
//! | function | penalty | weights of the next round |
//! |---|---|---|
//! | [`log_penalty`] | `l1 sum log(abs Theta_ij + eps)` off the diagonal | `l1 / (abs Theta_ij + eps)` |
//! | [`liu_ihler`] | `l1 sum_i log(s_i + eps) + diagonal sum_i abs Theta_ii`, `s_i` the off-diagonal l1 norm of row `i`: favours hubs | `(l1 / 2) (1 / (s_i + eps) + 1 / (s_j + eps))` |
//!
//! Each round minimises a majorant, so the objective never increases by more than the gap of that round. Sources:
//! Candes, Wakin and Boyd 2008; Liu and Ihler, AISTATS 2011; A. Defazio, PhD thesis 2014, equations 6.7 and 6.8.

use fenchel_linalg::Invalid;
use ndarray::Array2;

use crate::error::Error;
use crate::glasso::{GlassoSettings, GlassoState, graphical_lasso};
use crate::model::GaussianModel;
use crate::penalty::PenaltyWeights;
use crate::problem::Problem;
use crate::statistics::{Scale, Statistics};

/// A model, and the objective after every round.
#[derive(Debug, Clone)]
pub struct Reweighted {
    /// The model of the last round; its certificate is that of the weighted problem.
    pub model: GaussianModel,
    /// The concave objective after every round, on the scale of the penalty.
    pub objective: Vec<f64>,
    /// Iterations of all rounds together.
    pub passes: f64,
}

/// The logarithmic penalty; `rounds` weighted problems, the first with the weights `l1 / eps`.
///
/// # Errors
/// As [`graphical_lasso`]; [`Invalid`] for `l1 < 0`, `eps <= 0` or no rounds.
pub fn log_penalty(
    statistics: &Statistics,
    scale: Scale,
    l1: f64,
    eps: f64,
    rounds: usize,
    settings: &GlassoSettings,
) -> Result<Reweighted, Error> {
    let weight = |x: &Array2<f64>, i: usize, j: usize| {
        if i == j { 0.0 } else { l1 / (x[[i, j]].abs() + eps) }
    };
    let penalty = |x: &Array2<f64>| {
        x.indexed_iter()
            .filter(|((i, j), _)| i != j)
            .map(|(_, x)| l1 * (x.abs() + eps).ln())
            .sum::<f64>()
    };
    reweighted(
        statistics,
        scale,
        [l1, eps],
        rounds,
        settings,
        |x| Array2::from_shape_fn(x.raw_dim(), |(i, j)| weight(x, i, j)),
        penalty,
    )
}

/// The penalty of Liu and Ihler. The result depends strongly on `eps`; it should be near 1 for correlations. `diagonal` is the
/// price of the diagonal, which is not reweighted; 0 leaves it free.
///
/// # Errors
/// As [`log_penalty`]; [`Invalid`] for `diagonal < 0`.
pub fn liu_ihler(
    statistics: &Statistics,
    scale: Scale,
    l1: f64,
    diagonal: f64,
    eps: f64,
    rounds: usize,
    settings: &GlassoSettings,
) -> Result<Reweighted, Error> {
    Invalid::check_nonnegative("diagonal", diagonal)?;
    let sums = |x: &Array2<f64>| -> Vec<f64> {
        (0..x.nrows()).map(|i| x.row(i).mapv(f64::abs).sum() - x[[i, i]].abs() + eps).collect()
    };
    reweighted(
        statistics,
        scale,
        [l1, eps],
        rounds,
        settings,
        |x| {
            let s = sums(x);
            Array2::from_shape_fn(x.raw_dim(), |(i, j)| {
                if i == j { diagonal } else { 0.5 * l1 * (1.0 / s[i] + 1.0 / s[j]) }
            })
        },
        |x| l1 * sums(x).iter().map(|s| s.ln()).sum::<f64>() + diagonal * x.diag().sum(),
    )
}

fn reweighted(
    statistics: &Statistics,
    scale: Scale,
    [l1, eps]: [f64; 2],
    rounds: usize,
    settings: &GlassoSettings,
    weights: impl Fn(&Array2<f64>) -> Array2<f64>,
    penalty: impl Fn(&Array2<f64>) -> f64,
) -> Result<Reweighted, Error> {
    Invalid::check_nonnegative("l1", l1)?;
    Invalid::check_positive("eps", eps)?;
    if rounds == 0 {
        return Err(Invalid::Empty { what: "rounds" }.into());
    }
    let p = statistics.variables();
    let (c, units) = statistics.on(scale)?;
    let mut x = Array2::<f64>::zeros((p, p));
    let mut state: Option<GlassoState> = None;
    let mut objective = Vec::new();
    let mut last = None;
    let mut passes = 0.0;
    for _ in 0..rounds {
        let weights = PenaltyWeights::Each(weights(&x));
        let problem = Problem::new(c.view(), &weights)?;
        let solution = graphical_lasso(&problem, settings, state.take(), &mut ())?;
        x = solution.state.precision();
        let loss = (&c * &x).sum() - solution.state.log_det();
        objective.push(loss + penalty(&x));
        passes += solution.report.passes;
        last = Some(solution.report);
        state = Some(solution.state);
    }
    let (Some(state), Some(report)) = (state, last) else {
        return Err(Invalid::Empty { what: "rounds" }.into());
    };
    let (mean, covariance) = (statistics.mean.clone(), state.covariance());
    let names = statistics.names.clone();
    let model = GaussianModel { mean, names, precision: x, covariance, report }.in_units(&units);
    Ok(Reweighted { model, objective, passes })
}
