//! Steps on the mean loss of a batch, and on the expected loss.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::softmax_in_place;
use ndarray::{Array2, ArrayView2, Axis};

use super::check_step;
use fenchel_causal::Error;
use fenchel_causal::categorical::{CategoricalPair, Direction};

/// One step on the mean loss of a batch of samples (x, y). O(K^2).
///
/// # Errors
/// [`Error::Invalid`] for an empty batch or a step that is not positive or above 1e100; [`Error::Category`].
pub fn mean_gradient_step(
    pair: &CategoricalPair,
    batch: &[(usize, usize)],
    step: f64,
) -> Result<CategoricalPair, Error> {
    if batch.is_empty() {
        return Err(Invalid::Empty { what: "the batch" }.into());
    }
    let (a, b) = pair.shape();
    let mut weights = Array2::<f64>::zeros((a, b));
    for &(x, y) in batch {
        let (i, j) = match pair.direction() {
            Direction::Causal => (x, y),
            Direction::Anticausal => (y, x),
        };
        for (what, value, categories) in
            [("the marginal variable", i, a), ("the conditional variable", j, b)]
        {
            if value >= categories {
                return Err(Error::Category { what, value, categories });
            }
        }
        weights[(i, j)] += 1.0 / batch.len() as f64;
    }
    step_towards(pair, weights.view(), step)
}

/// One gradient step on the expected loss under a target `p*`, so there is no sampling noise. The update is
/// `s <- s - step (p - p*)` for the marginal and `s_{b|a} <- s_{b|a} - step p*(a) (p(b|a) - p*(b|a))` for the rows.
/// O(K^2).
///
/// ```
/// use fenchel_causal::categorical::CategoricalPair;
/// use fenchel_experiments::causal::methods::adapt::expected_gradient_step;
/// use ndarray::array;
///
/// let rows = array![[0.0, 0.0], [0.0, 0.0]];
/// let target = CategoricalPair::from_logits(array![1.0, -1.0].view(), array![[2.0, 0.0], [0.0, 1.0]].view())?;
/// let mut model = CategoricalPair::from_logits(array![0.0, 0.0].view(), rows.view())?;
/// for _ in 0..500 {
///     model = expected_gradient_step(&model, &target, 1.0)?;
/// }
/// assert!(target.kl(&model)? < 1e-9);
/// # Ok::<(), fenchel_causal::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] for a step that is not positive or above 1e100 or different numbers of states.
pub fn expected_gradient_step(
    pair: &CategoricalPair,
    target: &CategoricalPair,
    step: f64,
) -> Result<CategoricalPair, Error> {
    let p = target.log_joint().mapv(f64::exp);
    let weights = match pair.direction() {
        Direction::Causal => p,
        Direction::Anticausal => p.reversed_axes(),
    };
    Invalid::check_length("states of the marginal variable", pair.shape().0, weights.nrows())?;
    Invalid::check_length("states of the other variable", pair.shape().1, weights.ncols())?;
    step_towards(pair, weights.view(), step)
}

/// One step on the loss of a distribution over the cells, one row per state of the marginal variable.
fn step_towards(
    pair: &CategoricalPair,
    weights: ArrayView2<'_, f64>,
    step: f64,
) -> Result<CategoricalPair, Error> {
    check_step(step)?;
    let sums = weights.sum_axis(Axis(1));
    let marginal = &pair.marginal() - &((pair.marginal_probabilities() - &sums) * step);
    let mut rows = pair.conditional().to_owned();
    for ((mut row, seen), &w) in rows.rows_mut().into_iter().zip(weights.rows()).zip(&sums) {
        if w > 0.0 {
            let mut p = row.to_vec();
            softmax_in_place(&mut p);
            row.iter_mut().zip(&p).zip(&seen).for_each(|((s, p), c)| *s -= step * (w * p - c));
        }
    }
    let moved = CategoricalPair::from_logits(marginal.view(), rows.view())?;
    Ok(moved.with_direction(pair.direction()))
}
