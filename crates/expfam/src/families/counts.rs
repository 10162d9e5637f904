//! Means over a discrete law by summing its series.

use crate::Error;

/// Terms after which a sum is given up.
const TERMS: u64 = 20_000_000;

/// `E f(x)` over the whole numbers `first..=last`, outward from the mode until the probabilities are below 1e-19 of the mode's.
///
/// # Errors
/// [`Error::Unavailable`] for a law so wide that the sum would take too long.
pub(crate) fn mean_over(
    family: &'static str,
    (first, mode, last): (f64, f64, f64),
    log_p: impl Fn(f64) -> f64,
    f: impl Fn(f64) -> f64,
) -> Result<f64, Error> {
    let (mut total, mut mass) = (0.0, 0.0);
    let top = log_p(mode);
    let mut terms = 0;
    for (start, step) in [(mode, 1.0), (mode - 1.0, -1.0)] {
        let mut x: f64 = start;
        while x >= first && x <= last {
            let p = (log_p(x) - top).exp();
            total += p * f(x);
            mass += p;
            if p < 1e-19 && (x - mode).abs() > 2.0 {
                break;
            }
            x += step;
            terms += 1;
            if terms > TERMS {
                let what = "the mean of the base measure";
                return Err(Error::Unavailable {
                    family,
                    what,
                    hint: "the law is too wide to sum",
                });
            }
        }
    }
    Ok(total / mass)
}
