//! Expectations under a discrete law, by summing the series.

use crate::error::Error;
use crate::special::legendre_nodes;

/// Terms that are summed one by one on each side of the mode, and before an end of the range.
const TERMS: f64 = 16_384.0;

/// Terms whose log-probability is this far below that of the mode are negligible.
const NOTHING: f64 = -44.0;

/// `E f(x)` over the whole numbers `first..=last`. The sum goes outward from the mode until the probabilities are below
/// 1e-19 of the mode's.
///
/// If the sum is not complete after [`TERMS`] terms, the law is so smooth there that the Euler-Maclaurin formula is
/// exact to 1e-15: `sum_(x >= a) g(x) = int_(a - 1/2) g + g'(a - 1/2) / 24 - ...`. For this, `log_p` and `f` must be
/// smooth between the whole numbers as well.
///
/// # Errors
/// [`Error::Unavailable`] for a law whose mode is beyond 2^52, where whole numbers soon skip, or whose probabilities overflow.
pub(crate) fn mean_over(
    family: &'static str,
    (first, mode, last): (f64, f64, f64),
    log_p: impl Fn(f64) -> f64,
    f: impl Fn(f64) -> f64,
) -> Result<f64, Error> {
    let (what, hint) = ("the mean of the base measure", "the law is too wide for whole numbers");
    let unavailable = Error::Unavailable { family, what, hint };
    if mode > 2f64.powi(52) {
        return Err(unavailable);
    }
    let top = log_p(mode);
    let p = |x: f64| (log_p(x) - top).exp();
    let (mut total, mut mass) = (0.0, 0.0);
    let mut add = |weight: f64, x: f64| {
        total += weight * p(x) * f(x);
        mass += weight * p(x);
    };
    for (start, step, end) in [(mode, 1.0, last), (mode - 1.0, -1.0, first)] {
        // The next term, and how many are left.
        let (mut x, left) = (start, |x: f64| (end - x) * step + 1.0);
        let sum = |x: &mut f64, add: &mut dyn FnMut(f64, f64)| {
            for _ in 0..TERMS as usize {
                if !(left(*x) > 0.0) {
                    break;
                }
                add(1.0, *x);
                let over = log_p(*x) - top < NOTHING && (*x - mode).abs() > 2.0;
                *x += step;
                if over {
                    return true;
                }
            }
            !(left(*x) > 0.0)
        };
        if sum(&mut x, &mut add) {
            continue;
        }
        // g'(x - 1/2) is the difference of two terms; at the other end it counts with the other sign.
        let edge = |x: f64, weight: f64, add: &mut dyn FnMut(f64, f64)| {
            add(weight / 24.0, x);
            add(-weight / 24.0, x - step);
        };
        edge(x, 1.0, &mut add);
        // By the mass of a piece, which is as wide as it is far: where terms fall as 1 / x, all pieces weigh the same.
        while log_p(x) - top + (x - mode).abs().ln() > NOTHING && left(x) > TERMS {
            let width = ((x - mode).abs() / 16.0).floor().min(left(x) - TERMS).max(1.0);
            let from = x - 0.5 * step;
            legendre_nodes(width, |node, weight| add(weight, from + step * node));
            x += step * width;
        }
        edge(x, -1.0, &mut add);
        sum(&mut x, &mut add);
    }
    let mean = total / mass;
    if mean.is_finite() { Ok(mean) } else { Err(unavailable) }
}
