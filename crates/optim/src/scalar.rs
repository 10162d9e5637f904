//! Solvers for equations of one unknown.

/// Finds the root of an increasing function in `[low, high]` by Newton steps inside a shrinking bracket.
///
/// `f` returns the value and the derivative. If the root is not in the bracket, the nearer end is returned. Bisection replaces
/// a Newton step that would leave the bracket or has no usable derivative. The iteration ends when a step is shorter than
/// `tolerance * (1 + |x|)`, or after 200 evaluations. The result is NaN if an end of the bracket is NaN, or if `low > high`.
///
/// Reference: the safeguarded Newton method of textbooks ("rtsafe").
pub fn increasing_root(
    mut f: impl FnMut(f64) -> (f64, f64),
    mut low: f64,
    mut high: f64,
    start: f64,
    tolerance: f64,
) -> f64 {
    if !(low <= high) {
        return f64::NAN;
    }
    let mut x = start.max(low).min(high);
    let mut last_move = high - low;
    for _ in 0..200 {
        let (value, slope) = f(x);
        if value == 0.0 {
            return x;
        }
        if value > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let newton = x - value / slope;
        // Newton steps must stay inside and halve from one to the next; NaN fails both.
        let trusted = newton > low && newton < high && 2.0 * (newton - x).abs() <= last_move;
        let next = if trusted { newton } else { 0.5 * (low + high) };
        last_move = (next - x).abs();
        if last_move <= tolerance * (1.0 + x.abs()) {
            return next;
        }
        x = next;
    }
    x
}

/// Finds the maximiser of a concave (or unimodal) function in `[low, high]`, to within `tolerance`.
///
/// Each step takes the maximum of the parabola through the best three points, or a golden section where the parabola does not
/// help. At most 100 evaluations.
///
/// Reference: R. P. Brent, "Algorithms for minimization without derivatives" (1973), chapter 5.
pub fn brent_maximum(
    mut f: impl FnMut(f64) -> f64,
    mut low: f64,
    mut high: f64,
    tolerance: f64,
) -> f64 {
    const GOLDEN: f64 = 0.381_966_011_250_105_1;
    let mut best = low + GOLDEN * (high - low);
    let (mut second, mut third) = (best, best);
    let mut f_best = f(best);
    let (mut f_second, mut f_third) = (f_best, f_best);
    let (mut step, mut before): (f64, f64) = (0.0, 0.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        let least = 0.5 * tolerance + f64::EPSILON * best.abs();
        if (best - middle).abs() <= 2.0 * least - 0.5 * (high - low) {
            break;
        }
        // The vertex of the parabola is at best + p / q.
        let r = (best - second) * (f_best - f_third);
        let q = (best - third) * (f_best - f_second);
        let p = (best - third) * q - (best - second) * r;
        let q = 2.0 * (q - r);
        let parabola = -p / q;
        let inside = parabola > low - best && parabola < high - best;
        if before.abs() > least && inside && parabola.abs() < 0.5 * before.abs() {
            (before, step) = (step, parabola);
            let next = best + step;
            if next - low < 2.0 * least || high - next < 2.0 * least {
                step = if best < middle { least } else { -least };
            }
        } else {
            before = if best < middle { high - best } else { low - best };
            step = GOLDEN * before;
        }
        let next = best + if step.abs() >= least { step } else { least.copysign(step) };
        let f_next = f(next);
        if f_next >= f_best {
            if next >= best {
                low = best
            } else {
                high = best
            }
            (third, f_third, second, f_second) = (second, f_second, best, f_best);
            (best, f_best) = (next, f_next);
        } else {
            if next < best {
                low = next
            } else {
                high = next
            }
            if f_next >= f_second || second == best {
                (third, f_third, second, f_second) = (second, f_second, next, f_next);
            } else if f_next >= f_third || third == best || third == second {
                (third, f_third) = (next, f_next);
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_maxima_of_smooth_and_kinked_functions() {
        let count = std::cell::Cell::new(0);
        let counted = |f: fn(f64) -> f64| {
            let count = &count;
            move |x: f64| {
                count.set(count.get() + 1);
                f(x)
            }
        };
        let at = brent_maximum(counted(|x| -(x - 0.3) * (x - 0.3)), 0.0, 1.0, 1e-6);
        assert!((at - 0.3).abs() < 1e-6 && count.get() < 12, "{at} {}", count.get());
        let at = brent_maximum(|x| x.ln() - 3.0 * x, 0.0, 1.0, 1e-7);
        assert!((at - 1.0 / 3.0).abs() < 1e-6);
        let at = brent_maximum(|x: f64| -(x - 0.7).abs(), 0.0, 1.0, 1e-8);
        assert!((at - 0.7).abs() < 1e-7);
        assert!(brent_maximum(|x| x, 0.0, 1.0, 1e-6) > 1.0 - 1e-5);
        assert!(brent_maximum(|x| -x, 0.0, 1.0, 1e-6) < 1e-5);
    }

    #[test]
    fn finds_roots_of_smooth_and_nasty_functions() {
        let root = increasing_root(|x| (x * x * x - 2.0, 3.0 * x * x), 0.0, 4.0, 0.0, 1e-15);
        assert!((root - 2f64.cbrt()).abs() < 1e-15);
        // Newton alone diverges on arctan from 10.
        let root = increasing_root(|x| (x.atan(), 1.0 / (1.0 + x * x)), -20.0, 30.0, 10.0, 1e-15);
        assert!(root.abs() < 1e-12);
        // A step function has a root nowhere, a sign change at 1, and no usable derivative.
        let step = |x: f64| (if x < 1.0 { -1.0 } else { 1.0 }, 0.0);
        assert!((increasing_root(step, -3.0, 9.0, 0.0, 1e-12) - 1.0).abs() < 1e-9);
        // Steep on one side, flat on the other.
        let root = increasing_root(|x| (x.exp() - 1e-8, x.exp()), -50.0, 50.0, 50.0, 1e-14);
        assert!((root - 1e-8f64.ln()).abs() < 1e-11);
    }

    #[test]
    fn an_end_answers_when_there_is_no_sign_change() {
        let f = |x: f64| (x + 10.0, 1.0);
        assert!((increasing_root(f, 0.0, 1.0, 0.5, 1e-12)).abs() < 1e-9);
    }

    #[test]
    fn no_bracket_is_no_number() {
        let f = |x: f64| (x, 1.0);
        assert!(increasing_root(f, f64::NAN, f64::NAN, 0.5, 1e-12).is_nan());
        assert!(increasing_root(f, 1.0, f64::NAN, 0.5, 1e-12).is_nan());
        assert!(increasing_root(f, -1.0, 1.0, f64::NAN, 1e-12).abs() < 1e-9);
    }
}
