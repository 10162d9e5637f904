//! What dual coordinate ascent asks of a problem and of its start.

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::{Loss, Separable};

use crate::Problem;

/// Checks that the strong convexity is not negligible beside the rows: `||a_j||^2 / (mu n)` must be finite.
pub(crate) fn check_strength(
    mu: f64,
    mut curvatures: impl Iterator<Item = f64>,
) -> Result<(), Invalid> {
    if curvatures.all(f64::is_finite) {
        return Ok(());
    }
    let (name, expected) =
        ("strong convexity", "more for rows of this size; raise l2 or scale the features down");
    Err(Invalid::Parameter { name, value: mu, expected })
}

/// Checks that the dual variables are of the right number, finite, and in the domain of the conjugate.
pub(super) fn check_dual<D: Design, L: Loss, R: Separable>(
    problem: &Problem<'_, D, L, R>,
    dual: &[f64],
) -> Result<(), Invalid> {
    Invalid::check_length("dual", problem.n(), dual.len())?;
    Invalid::check_finite("dual", dual)?;
    for (row, &value) in dual.iter().enumerate() {
        if problem.conjugate(row, value) == f64::INFINITY {
            let reason = format!("{value:?} of row {row} is outside the domain of its conjugate");
            return Err(Invalid::Layout { what: "dual", reason });
        }
    }
    Ok(())
}

/// Weight of the proximal term of the intercept. It is small enough that the centre needs only a pass or two, and
/// large enough that it does not dominate the step sizes `q_j`, to which it adds a term beside the norm of the row.
pub(crate) fn bias_weight(mu: f64, mean_norm_squared: f64, curvature: f64, n: usize) -> f64 {
    let by_rows = 4.0 * mu / mean_norm_squared.max(f64::MIN_POSITIVE);
    let by_terms = 4.0 * curvature / n as f64;
    by_rows.min(by_terms).max(1e-12)
}
