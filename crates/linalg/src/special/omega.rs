//! Wright's omega function.

/// Wright's omega function: the `w > 0` with `w + log w = c`. It equals Lambert's `W(e^c)`, computed without overflow of `e^c`.
///
/// The relative error is below 1e-15 for every `c`. The result is 0 where `e^c` underflows, and `+inf` at `+inf`. The cost is
/// two to five exponentials or logarithms.
///
/// Newton's method is applied to one of two forms of the equation, so that neither a tiny nor a huge `w` loses digits. Both
/// forms are concave and increasing functions, so that the iterates rise to the root from the first step on.
pub fn wright_omega(c: f64) -> f64 {
    if c > 1.0 { by_logarithm(c) } else { by_exponential(c.exp()) }
}

/// `w + log w = c` for `c > 1`.
fn by_logarithm(c: f64) -> f64 {
    if c == f64::INFINITY {
        return c;
    }
    // Below the root, since log(c - log c) < log c.
    let mut w = c - c.ln();
    for _ in 0..MOST_STEPS {
        let move_by = (c - w - w.ln()) * (w / (1.0 + w));
        w += move_by;
        if !(move_by.abs() > CLOSE * w) {
            break;
        }
    }
    w
}

/// Solves `w = z e^-w` for `z = e^c`. Since `z` is at most `e`, no logarithm of a tiny number is rounded.
fn by_exponential(z: f64) -> f64 {
    let mut w = z;
    for _ in 0..MOST_STEPS {
        let target = z * (-w).exp();
        let move_by = (target - w) / (1.0 + target);
        w += move_by;
        if !(move_by.abs() > CLOSE * w) {
            break;
        }
    }
    w
}

/// A limit that is never reached, because convergence is quadratic from starts that are accurate to a factor of 3.
const MOST_STEPS: usize = 20;
/// The iteration ends after a step of this relative length. The remaining relative error is at most half its square.
const CLOSE: f64 = 1e-8;

#[cfg(test)]
// Reference values are quoted with more digits than a f64 holds.
#[allow(clippy::excessive_precision)]
mod tests {
    use super::super::assert_close;
    use super::*;
    use proptest::prelude::*;

    /// From arbitrary-precision evaluation with 50 digits.
    #[test]
    fn agrees_with_reference_values() {
        for (c, expected) in [
            (-700.0, 9.8596765437597708567e-305),
            (-100.0, 3.720075976020835963e-44),
            (-37.5, 5.175555005801868267e-17),
            (-20.0, 2.0611536181902035858e-9),
            (-5.0, 0.0066930004977309932744),
            (-1.0, 0.27846454276107379511),
            (-0.25, 0.48128846639758644397),
            (0.0, 0.567143290409783873),
            (0.5, 0.76624860816175025888),
            (1.0, 1.0),
            (1.5, 1.264959720125500542),
            (2.0, 1.5571455989976114169),
            (10.0, 7.9294200950196973486),
            (100.0, 95.44148664557583184),
            (12345.678, 12336.257702014173874),
            (1e6, 999986.1845032576279),
            (1e15, 999999999999965.46122),
        ] {
            assert_close(wright_omega(c), expected, 1e-15, c);
        }
    }

    #[test]
    fn ends_and_nan() {
        assert_eq!(wright_omega(f64::NEG_INFINITY), 0.0);
        assert_eq!(wright_omega(-800.0), 0.0);
        assert_eq!(wright_omega(f64::INFINITY), f64::INFINITY);
        assert_eq!(wright_omega(f64::MAX), f64::MAX);
        assert!(wright_omega(f64::NAN).is_nan());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        /// The error of the residual has two parts: a relative error of `w` is an absolute error of `log w`, and `c` has its
        /// own rounding error.
        #[test]
        fn solves_its_equation(
            c in prop_oneof![-700.0..1e6f64, -700.0..0.0f64, -5.0..5.0f64, 0.0..100.0f64],
        ) {
            let w = wright_omega(c);
            let residual = (w + w.ln() - c).abs();
            prop_assert!(residual <= 4.0 * f64::EPSILON * (1.0 + c.abs()), "{c}: {residual:e}");
        }

        #[test]
        fn rises(c in -700.0..1e3f64, by in 1e-9..1.0f64) {
            prop_assert!(wright_omega(c + by) > wright_omega(c));
        }
    }
}
