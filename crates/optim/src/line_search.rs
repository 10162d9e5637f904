//! Step lengths along a descent direction.

/// What to do after an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Search {
    /// The step is good.
    Accept,
    /// Evaluate at the next [`Wolfe::step`].
    Continue,
    /// No acceptable step was found; the function is flat or rough at working precision.
    Fail,
}

/// Sufficient decrease of the value, as a fraction of the predicted decrease.
const DECREASE: f64 = 1e-4;
/// Largest remaining slope, as a fraction of the initial one.
const CURVATURE: f64 = 0.9;

/// Backtracking line search for sufficient decrease (Armijo, 1966). It needs function values only, and serves where the slope
/// at a trial point costs extra or does not exist. The caller evaluates the function at each trial step, as for [`Wolfe`].
///
/// ```
/// use fenchel_optim::line_search::{Armijo, Search};
///
/// let f = |t: f64| (t - 0.1) * (t - 0.1); // slope -0.2 at 0
/// let mut search = Armijo::new(f(0.0), -0.2, 1.0);
/// while search.record(f(search.step())) == Search::Continue {}
/// assert_eq!(search.step(), 0.125);
/// ```
#[derive(Debug, Clone)]
pub struct Armijo {
    value: f64,
    slope: f64,
    step: f64,
    /// The value must fall by at least this fraction of the predicted decrease; `1e-4`.
    pub decrease: f64,
    /// Factor between trials; `0.5`.
    pub shrink: f64,
    left: u32,
}

impl Armijo {
    /// Starts a search from a point with this value and (negative) slope along the direction. For a composite function, `slope`
    /// is minus the decrease that its model predicts for a step of 1.
    pub fn new(value: f64, slope: f64, first: f64) -> Self {
        Armijo { value, slope, step: first, decrease: DECREASE, shrink: 0.5, left: 60 }
    }

    /// The next step to evaluate; after [`Search::Accept`], the accepted step.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// Receives the value at [`step`](Armijo::step). An infinite value or NaN counts as too high. The search fails after 60
    /// trials.
    pub fn record(&mut self, value: f64) -> Search {
        let noise = 4.0 * f64::EPSILON * self.value.abs();
        if value <= self.value + self.decrease * self.step * self.slope + noise {
            return Search::Accept;
        }
        self.left -= 1;
        if self.left == 0 || !(self.slope < 0.0) {
            return Search::Fail;
        }
        self.step *= self.shrink;
        Search::Continue
    }
}

/// A line search for the strong Wolfe conditions. The caller evaluates the function: ask for a [`step`](Wolfe::step), evaluate
/// value and slope there, [`record`](Wolfe::record) them, and repeat.
///
/// Reference: Nocedal and Wright, "Numerical Optimization" (2006), algorithms 3.5 and 3.6. The step grows by a factor of two to
/// ten, chosen by the secant of the slopes, until a minimum is bracketed. Cubic interpolation then shrinks the bracket, or
/// bisection where interpolation does not help.
#[derive(Debug, Clone)]
pub struct Wolfe {
    origin: Trial,
    low: Trial,
    high: Option<Trial>,
    step: f64,
    evaluations: u32,
}

#[derive(Debug, Clone, Copy)]
struct Trial {
    step: f64,
    value: f64,
    slope: f64,
}

impl Wolfe {
    /// Starts a search from a point with this value and (negative) slope along the direction.
    pub fn new(value: f64, slope: f64, first: f64) -> Self {
        let origin = Trial { step: 0.0, value, slope };
        Wolfe { origin, low: origin, high: None, step: first, evaluations: 0 }
    }

    /// Where to evaluate next.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// Receives the value and the slope along the direction at [`step`](Wolfe::step).
    pub fn record(&mut self, value: f64, slope: f64) -> Search {
        self.evaluations += 1;
        let here = Trial { step: self.step, value, slope };
        // Near a minimum the values differ by rounding only, and the slopes know better.
        let noise = 4.0 * f64::EPSILON * self.origin.value.abs();
        let bound = self.origin.value + DECREASE * self.step * self.origin.slope + noise;
        let too_high = !(value <= bound) || (self.low.step > 0.0 && value > self.low.value + noise);
        if !too_high && slope.abs() <= CURVATURE * self.origin.slope.abs() {
            return Search::Accept;
        }
        if self.evaluations >= 40 {
            return Search::Fail;
        }
        let before = self.low;
        if too_high {
            self.high = Some(here);
        } else {
            // The end with the lower value; the minimum lies between it and the other.
            let towards_high = self.high.map_or(1.0, |high| high.step - self.low.step);
            if slope * towards_high >= 0.0 {
                self.high = Some(self.low);
            }
            self.low = here;
        }
        self.step = match self.high {
            None => extrapolate(before, here),
            Some(high) => interpolate(self.low, high),
        };
        let width = self.high.map_or(f64::INFINITY, |high| (high.step - self.low.step).abs());
        if width <= 1e-14 * self.step.abs() || !self.step.is_finite() || self.step == 0.0 {
            return Search::Fail;
        }
        Search::Continue
    }
}

/// The step at which the slope would vanish by linear extrapolation from two trials with negative slope, limited to two to ten
/// times the last step.
fn extrapolate(before: Trial, here: Trial) -> f64 {
    let rise = (here.slope - before.slope) / (here.step - before.step);
    let (nearest, farthest) = (2.0 * here.step, 10.0 * here.step);
    if rise > 0.0 { (here.step - here.slope / rise).clamp(nearest, farthest) } else { farthest }
}

/// The minimiser of the cubic through two trials, kept away from their ends.
fn interpolate(low: Trial, high: Trial) -> f64 {
    let width = high.step - low.step;
    let middle = low.step + 0.5 * width;
    if !high.value.is_finite() || !high.slope.is_finite() {
        return middle;
    }
    // A first step in another unit than the minimum lies in, far beyond it: bisection would take too long.
    let secant = low.slope / (low.slope - high.slope);
    if low.step == 0.0 && secant > 0.0 && secant < 1e-3 {
        return secant * high.step;
    }
    let d1 = low.slope + high.slope - 3.0 * (high.value - low.value) / width;
    let square = d1 * d1 - low.slope * high.slope;
    if !(square >= 0.0) {
        return middle;
    }
    let d2 = square.sqrt() * width.signum();
    let fraction = 1.0 - (high.slope + d2 - d1) / (high.slope - low.slope + 2.0 * d2);
    if fraction > 0.05 && fraction < 0.95 { low.step + fraction * width } else { middle }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The minimum of a parabola at 1e-30 or 1e30, from a step of 1.
    #[test]
    fn a_step_in_another_unit_is_corrected_at_once() {
        for at in [1e-100, 1e-30, 1e-9, 1.0, 1e9] {
            let mut search = Wolfe::new(at * at, -2.0 * at, 1.0);
            let mut trials = 0;
            loop {
                let (t, found) = (search.step(), Search::Continue);
                trials += 1;
                let next = search.record((t - at) * (t - at), 2.0 * (t - at));
                assert_ne!(next, Search::Fail, "{at:e}");
                if next != found {
                    break;
                }
            }
            let left = (search.step() / at - 1.0).abs();
            // The slope that may remain, up to rounding.
            assert!(trials <= 12 && left <= CURVATURE + 1e-9, "{at:e}: {trials} {left}");
        }
    }

    #[test]
    fn armijo_shrinks_to_sufficient_decrease_or_fails() {
        let run = |f: &dyn Fn(f64) -> f64, slope: f64| {
            let mut search = Armijo::new(f(0.0), slope, 4.0);
            loop {
                match search.record(f(search.step())) {
                    Search::Accept => return Some(search.step()),
                    Search::Continue => {}
                    Search::Fail => return None,
                }
            }
        };
        // (t - 1)^2 at 4 and 2 is not below its value at 0; at 1 it is.
        assert_eq!(run(&|t| (t - 1.0) * (t - 1.0), -2.0), Some(1.0));
        assert_eq!(run(&|t| if t > 0.3 { f64::INFINITY } else { -t }, -1.0), Some(0.25));
        assert_eq!(run(&|t| if t > 0.0 { f64::NAN } else { 0.0 }, -1.0), None);
        assert_eq!(run(&|t| t, 1.0), None, "no descent direction");
    }

    fn search(f: impl Fn(f64) -> (f64, f64), first: f64) -> (f64, u32) {
        let (value, slope) = f(0.0);
        let mut wolfe = Wolfe::new(value, slope, first);
        loop {
            let (value, slope) = f(wolfe.step());
            match wolfe.record(value, slope) {
                Search::Accept => return (wolfe.step, wolfe.evaluations),
                Search::Continue => {}
                Search::Fail => panic!("failed after {} evaluations", wolfe.evaluations),
            }
        }
    }

    /// Strong Wolfe conditions, checked against their definition.
    fn check(f: impl Fn(f64) -> (f64, f64) + Copy, first: f64) {
        let (step, evaluations) = search(f, first);
        let ((v0, s0), (v, s)) = (f(0.0), f(step));
        assert!(v <= v0 + 1e-4 * step * s0 && s.abs() <= 0.9 * s0.abs(), "{step}");
        assert!(evaluations <= 25, "{evaluations}");
    }

    #[test]
    fn accepts_only_wolfe_steps_from_any_first_step() {
        for first in [1e-6, 1e-2, 1.0, 30.0, 1e6] {
            check(|t| ((t - 1.0) * (t - 1.0), 2.0 * (t - 1.0)), first);
            check(|t: f64| ((t - 2.0).cosh(), (t - 2.0).sinh()), first.min(600.0));
            check(|t: f64| (-t / (t * t + 2.0), (t * t - 2.0) / (t * t + 2.0).powi(2)), first);
        }
    }

    /// The first extrapolation is to ten times the step. For a quadratic function the secant then gives the exact minimum.
    #[test]
    fn a_short_first_step_grows_fast() {
        let f = |t: f64| ((t - 50.0) * (t - 50.0), 2.0 * (t - 50.0));
        assert_eq!(search(f, 1.0), (10.0, 2));
        let far = |t: f64| ((t - 500.0) * (t - 500.0), 2.0 * (t - 500.0));
        assert_eq!(search(far, 10.0), (100.0, 2));
        // Not accepted at 1 and 10: the slope there is more than nine tenths of the first.
        let (step, evaluations) = search(far, 1.0);
        assert_eq!((step, evaluations), (100.0, 3));
        // The slope falls at first.
        check(|t| (1e-8 * t.powi(4) - t * t - t, 4e-8 * t.powi(3) - 2.0 * t - 1.0), 1.0);
    }

    #[test]
    fn a_wall_is_stepped_back_from() {
        let f = |t: f64| {
            if t >= 0.5 {
                (f64::INFINITY, f64::NAN)
            } else {
                (-(0.5 - t).ln() - 4.0 * t, 1.0 / (0.5 - t) - 4.0)
            }
        };
        check(f, 10.0);
    }
}
