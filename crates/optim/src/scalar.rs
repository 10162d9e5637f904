//! Equations of one unknown.

/// The root of an increasing function in `[low, high]` by Newton steps inside a shrinking bracket.
///
/// `f` returns the value and the derivative; the sign change must lie in the bracket, else the nearer
/// end is returned. A Newton step that would leave the bracket, or a derivative that is no help, is
/// replaced by a bisection. Ends when a step moves
/// by less than `tolerance * (1 + |x|)`, or after 200 evaluations.
///
/// Reference: the safeguarded Newton method of textbooks ("rtsafe").
pub fn increasing_root(
    mut f: impl FnMut(f64) -> (f64, f64),
    mut low: f64,
    mut high: f64,
    start: f64,
    tolerance: f64,
) -> f64 {
    let mut x = start.clamp(low, high);
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
