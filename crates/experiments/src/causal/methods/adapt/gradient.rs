//! Steps on the mean loss of a batch.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::softmax_in_place;
use ndarray::{Array2, Axis};

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
    check_step(step)?;
    if batch.is_empty() {
        return Err(Invalid::Empty { what: "the batch" }.into());
    }
    // The share of every cell in the batch, one row per state of the marginal variable.
    let mut shares = Array2::<f64>::zeros(pair.shape());
    for &(x, y) in batch {
        let cell = if pair.direction() == Direction::Causal { (x, y) } else { (y, x) };
        let share = shares.get_mut(cell).ok_or(Error::Category {
            what: "a sample",
            value: x.max(y),
            categories: pair.shape().0.min(pair.shape().1),
        })?;
        *share += 1.0 / batch.len() as f64;
    }
    let sums = shares.sum_axis(Axis(1));
    let marginal = &pair.marginal() - &((pair.marginal_probabilities() - &sums) * step);
    let mut rows = pair.conditional().to_owned();
    for ((mut row, seen), &w) in rows.rows_mut().into_iter().zip(shares.rows()).zip(&sums) {
        if w > 0.0 {
            let mut p = row.to_vec();
            softmax_in_place(&mut p);
            row.iter_mut().zip(&p).zip(&seen).for_each(|((s, p), c)| *s -= step * (w * p - c));
        }
    }
    let moved = CategoricalPair::from_logits(marginal.view(), rows.view())?;
    Ok(moved.with_direction(pair.direction()))
}
