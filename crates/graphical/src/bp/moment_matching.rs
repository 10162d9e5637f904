//! Models with given marginals.

use fenchel_linalg::Invalid;

use crate::{Error, FactorGraph, VarId};

/// The joint marginal of two variables.
#[derive(Debug, Clone, PartialEq)]
pub struct PairMarginal {
    /// The variable of the rows.
    pub first: VarId,
    /// The variable of the columns.
    pub second: VarId,
    /// `P(x_first, x_second)`, states of the second fastest.
    pub probabilities: Vec<f64>,
}

/// Largest allowed difference of the sum of a marginal from 1, and of marginals from each other.
const TOLERANCE: f64 = 1e-6;

/// Pseudo-moment matching: the pairwise model whose beliefs under belief propagation are the given marginals, in closed form.
///
/// ```text
/// theta_i = log b_i,   theta_ij = log b_ij - log b_i - log b_j
/// ```
///
/// For this model uniform messages are a fixed point whose beliefs are `b` and whose Bethe estimate of `log Z` is 0. On a tree
/// the model is the maximum likelihood estimate. On a graph with cycles its beliefs equal the given
/// marginals, but its exact marginals do not.
///
/// `smoothing` is an `s` in `[0, 1]` that mixes in the uniform distribution, `(1 - s) b + s / states`, which keeps marginals
/// consistent. It is needed if counts give probabilities of 0. The factors of the model are the variables in order, then the
/// pairs in order.
///
/// Sources: A. Defazio, PhD thesis 2014, section 9.3; Wainwright, Jaakkola and Willsky, AISTATS 2003.
///
/// # Errors
/// [`Invalid::Parameter`] for a probability that is not positive (after smoothing), marginals that do not sum to 1 or a smoothing
/// outside `[0, 1]`; [`Invalid::Length`]; [`Invalid::Layout`] for a pair that disagrees with a variable by more than 1e-6, or a pair
/// of equal variables; [`Error::UnknownVariable`].
pub fn moment_matching(
    variables: &[Vec<f64>],
    pairs: &[PairMarginal],
    smoothing: f64,
) -> Result<FactorGraph, Error> {
    if !(0.0..=1.0).contains(&smoothing) {
        let expected = "a number in [0, 1]";
        return Err(Invalid::Parameter { name: "smoothing", value: smoothing, expected }.into());
    }
    let cards: Vec<usize> = variables.iter().map(Vec::len).collect();
    let mut model = FactorGraph::new(&cards)?;
    let mut logs = Vec::with_capacity(variables.len());
    for (v, marginal) in (0..).zip(variables) {
        let log = logarithms("marginal of a variable", marginal, smoothing)?;
        model.add(&[VarId(v)], &log)?;
        logs.push(log);
    }
    for PairMarginal { first, second, probabilities } in pairs {
        let scope = [*first, *second];
        let sizes = model.cards_of(&scope)?;
        if first == second {
            return Err(Error::RepeatedVariable { variable: *first });
        }
        Invalid::check_length("marginal of a pair", sizes[0] * sizes[1], probabilities.len())?;
        let mut values = logarithms("marginal of a pair", probabilities, smoothing)?;
        let rows = |a: usize| probabilities[a * sizes[1]..][..sizes[1]].iter().sum::<f64>();
        let columns = |b: usize| probabilities.iter().skip(b).step_by(sizes[1]).sum::<f64>();
        let margin: [&dyn Fn(usize) -> f64; 2] = [&rows, &columns];
        for (v, sum) in scope.into_iter().zip(margin) {
            for (state, p) in variables[v.index()].iter().enumerate() {
                if !((sum(state) - p).abs() <= TOLERANCE) {
                    let reason = format!(
                        "the pair {}, {} gives state {state} of {v} the probability {}, its own marginal {p}",
                        first.0,
                        second.0,
                        sum(state),
                    );
                    return Err(Invalid::Layout { what: "marginals", reason }.into());
                }
            }
        }
        for (cell, value) in values.iter_mut().enumerate() {
            let (a, b) = (cell / sizes[1], cell % sizes[1]);
            *value -= logs[first.index()][a] + logs[second.index()][b];
        }
        model.add(&scope, &values)?;
    }
    Ok(model)
}

fn logarithms(
    name: &'static str,
    probabilities: &[f64],
    smoothing: f64,
) -> Result<Vec<f64>, Error> {
    let total: f64 = probabilities.iter().sum();
    if !((total - 1.0).abs() <= TOLERANCE) {
        return Err(Invalid::Parameter { name, value: total, expected: "a sum of 1" }.into());
    }
    let uniform = smoothing / probabilities.len() as f64;
    let mut logs = Vec::with_capacity(probabilities.len());
    for &p in probabilities {
        let mixed = (1.0 - smoothing) * p + uniform;
        if !(mixed > 0.0 && p >= 0.0) {
            let expected = "probabilities > 0, or a smoothing";
            return Err(Invalid::Parameter { name, value: p, expected }.into());
        }
        logs.push(mixed.ln());
    }
    Ok(logs)
}
