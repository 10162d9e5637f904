//! Simplex, norm balls and boxes.

use crate::Invalid;

/// Projects on the simplex `{z : z_i >= 0, sum z_i = radius}`.
///
/// The projection is `max(v_i - threshold, 0)` with the threshold for which the sum is `radius`. The threshold is found by
/// sorting the entries that can be positive at all (Held, Wolfe and Crowder, *Validation of subgradient optimization*, 1974).
/// Radius 0 gives the zero vector.
///
/// # Errors
/// [`Invalid::Empty`]; [`Invalid::NonFinite`]; [`Invalid::Parameter`] unless `radius` is finite and `>= 0`.
pub fn simplex(v: &mut [f64], radius: f64) -> Result<(), Invalid> {
    Invalid::check_nonnegative("radius", radius)?;
    Invalid::check_finite("point", v)?;
    if v.is_empty() {
        return Err(Invalid::Empty { what: "point" });
    }
    let (top, threshold) = threshold(v.iter().copied(), radius);
    // Subtracting the largest entry first is exact where it matters: close to it.
    v.iter_mut().for_each(|v| *v = ((*v - top) - threshold).max(0.0));
    Ok(())
}

/// Projects on the ball `{z : sum |z_i| <= radius}` by soft thresholding at the level for which the norm is `radius` (Duchi et
/// al., *Efficient projections onto the l1-ball*, 2008).
///
/// A point inside the ball keeps all its bits.
///
/// # Errors
/// [`Invalid::NonFinite`]; [`Invalid::Parameter`] unless `radius` is finite and `>= 0`.
pub fn l1_ball(v: &mut [f64], radius: f64) -> Result<(), Invalid> {
    Invalid::check_nonnegative("radius", radius)?;
    Invalid::check_finite("point", v)?;
    if v.iter().map(|v| v.abs()).sum::<f64>() <= radius {
        return Ok(());
    }
    let (top, threshold) = threshold(v.iter().map(|v| v.abs()), radius);
    v.iter_mut().for_each(|v| {
        *v = ((v.abs() - top) - threshold).max(0.0).copysign(*v);
    });
    Ok(())
}

/// Returns `(top, t)`: the largest entry, and the number `t` with `sum_i max(v_i - top - t, 0) = radius`.
///
/// The values are not empty.
fn threshold(values: impl Iterator<Item = f64> + Clone, radius: f64) -> (f64, f64) {
    let top = values.clone().fold(f64::NEG_INFINITY, f64::max);
    // The largest entry gives at most `radius` to the sum, hence t >= -radius, and only entries
    // within `radius` of the top can stay positive. In practice few have to be sorted.
    let mut near: Vec<f64> = values.map(|v| v - top).filter(|&v| v >= -radius).collect();
    near.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut sum, mut t) = (0.0, -radius);
    for (k, &v) in near.iter().enumerate() {
        // v enters if it is above the threshold of those before it.
        if v <= t {
            break;
        }
        sum += v;
        t = (sum - radius) / (k + 1) as f64;
    }
    (top, t)
}

/// Projects on the ball `{z : ||z|| <= radius}` of the Euclidean norm.
///
/// A point inside the ball keeps all its bits. The norm is computed without overflow or underflow.
///
/// # Errors
/// [`Invalid::NonFinite`]; [`Invalid::Parameter`] unless `radius` is finite and `>= 0`.
pub fn l2_ball(v: &mut [f64], radius: f64) -> Result<(), Invalid> {
    Invalid::check_nonnegative("radius", radius)?;
    Invalid::check_finite("point", v)?;
    let largest = v.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    if largest == 0.0 {
        return Ok(());
    }
    // norm = largest * relative, 1 <= relative <= sqrt(d).
    let relative = v.iter().map(|v| (v / largest) * (v / largest)).sum::<f64>().sqrt();
    if relative > radius / largest {
        v.iter_mut().for_each(|v| *v = (*v / largest) * (radius / relative));
    }
    Ok(())
}

/// Projects on the box `[low, high]^d`. The bounds may be infinite.
///
/// # Errors
/// [`Invalid::NonFinite`]; [`Invalid::Parameter`] unless `low <= high`.
pub fn interval(v: &mut [f64], low: f64, high: f64) -> Result<(), Invalid> {
    check_bounds(low, high)?;
    Invalid::check_finite("point", v)?;
    v.iter_mut().for_each(|v| *v = v.clamp(low, high));
    Ok(())
}

/// Projects on the box of all `z` with `low_i <= z_i <= high_i`. The bounds may be infinite.
///
/// # Errors
/// [`Invalid::Length`]; [`Invalid::NonFinite`]; [`Invalid::Parameter`] unless `low_i <= high_i`.
pub fn intervals(v: &mut [f64], low: &[f64], high: &[f64]) -> Result<(), Invalid> {
    Invalid::check_length("lower bounds", v.len(), low.len())?;
    Invalid::check_length("upper bounds", v.len(), high.len())?;
    low.iter().zip(high).try_for_each(|(&l, &h)| check_bounds(l, h))?;
    Invalid::check_finite("point", v)?;
    for ((v, &low), &high) in v.iter_mut().zip(low).zip(high) {
        *v = v.clamp(low, high);
    }
    Ok(())
}

/// Checks that a box is not empty, and does not move a finite entry to infinity.
fn check_bounds(low: f64, high: f64) -> Result<(), Invalid> {
    if !(low < f64::INFINITY) {
        let expected = "a lower bound below +inf";
        return Err(Invalid::Parameter { name: "low", value: low, expected });
    }
    if !(high >= low && high > f64::NEG_INFINITY) {
        let expected = "an upper bound >= the lower bound, above -inf";
        return Err(Invalid::Parameter { name: "high", value: high, expected });
    }
    Ok(())
}
