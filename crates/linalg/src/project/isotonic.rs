//! Isotonic regression: the closest non-decreasing sequence.

use crate::Invalid;

/// Projects on the non-decreasing sequences, `z_1 <= ... <= z_d`. O(d).
///
/// For non-increasing sequences, reverse the vector before and after.
///
/// # Errors
/// [`Invalid::NonFinite`].
pub fn isotonic(v: &mut [f64]) -> Result<(), Invalid> {
    Invalid::check_finite("point", v)?;
    pool(v, |_| 1.0);
    Ok(())
}

/// Replaces `v` by the non-decreasing sequence `z` with the least `sum_i w_i (z_i - v_i)^2`. O(d).
///
/// # Errors
/// [`Invalid::NonFinite`]; [`Invalid::Length`]; [`Invalid::Parameter`] unless every weight is
/// finite and `> 0`.
pub fn isotonic_weighted(v: &mut [f64], weights: &[f64]) -> Result<(), Invalid> {
    Invalid::check_finite("point", v)?;
    Invalid::check_length("weights", v.len(), weights.len())?;
    weights.iter().try_for_each(|&w| Invalid::check_positive("weight", w))?;
    pool(v, |i| weights[i]);
    Ok(())
}

/// A block of merged neighbours: their common value, their total weight and the end of the block.
struct Block {
    mean: f64,
    weight: f64,
    end: usize,
}

/// Pools adjacent violators (Ayer et al., *An empirical distribution function for sampling with incomplete information*, 1955).
/// A new entry that is below the block before it is merged with that block. The merged block is merged with earlier blocks as
/// long as these are above it. Each entry is pushed and merged at most once.
fn pool(v: &mut [f64], weight: impl Fn(usize) -> f64) {
    let mut blocks: Vec<Block> = Vec::new();
    for (i, &value) in v.iter().enumerate() {
        let mut block = Block { mean: value, weight: weight(i), end: i + 1 };
        while let Some(before) = blocks.pop_if(|before| before.mean > block.mean) {
            let total = before.weight + block.weight;
            // A convex combination stays between the two means in floating point as well.
            let share = block.weight / total;
            let mean = (1.0 - share) * before.mean + share * block.mean;
            block = Block { mean, weight: total, end: block.end };
        }
        blocks.push(block);
    }
    let mut start = 0;
    for block in blocks {
        v[start..block.end].fill(block.mean);
        start = block.end;
    }
}
