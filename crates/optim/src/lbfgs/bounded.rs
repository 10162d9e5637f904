//! L-BFGS with bounds on the variables.
//!
//! ```text
//! min_x  f(x)    lower_c <= x_c <= upper_c
//! ```
//!
//! | symbol | name |
//! |---|---|
//! | `g` | gradient |
//! | `p` | projected gradient: `g`, with 0 for coordinates at a bound that prevents descent |
//! | free | coordinates other than those at a bound where `-g` points outwards |
//!
//! The quasi-Newton direction is computed for the free coordinates only. The L-BFGS pairs are restricted to these, so that
//! active bounds do not affect the estimated curvature of the free coordinates. A coordinate that is near a bound and moves
//! towards it is also held fixed, because it would cut the step short. The line search follows the projected path. Reference:
//! Bertsekas, "Projected Newton methods for optimization problems with simple constraints" (1982), with the two-loop recursion
//! of L-BFGS in place of the Hessian.
//!
//! The norm of `p` vanishes exactly at the points that satisfy the first-order conditions. It is the certificate unless the
//! function has a better one. Where `f` is strongly convex with constant `mu`, `f(x) - ||p||^2 / (2 mu)` is a lower bound of
//! the optimum, as without bounds.

use fenchel_linalg::Invalid;
use fenchel_linalg::vectors::dot;

use super::descent::{Descent, Downhill, advance};
use super::memory::{check_pairs, norm};
use super::{LbfgsSettings, LbfgsState, Smooth};
use crate::{Certificate, CertificateCost, Iterative, Observer, Solution, Status, run};

/// Relative difference of two values that is taken for rounding. Points with such values are compared by their projected
/// gradients.
const NOISE: f64 = 1e-13;

/// Bounds of every variable; infinite for none.
#[derive(Debug, Clone, PartialEq)]
pub struct Bounds {
    /// Least values; `-inf` for none.
    pub lower: Vec<f64>,
    /// Largest values; `inf` for none.
    pub upper: Vec<f64>,
}

impl Bounds {
    /// `x_c >= 0` for all of `d` variables.
    pub fn nonnegative(d: usize) -> Self {
        Bounds { lower: vec![0.0; d], upper: vec![f64::INFINITY; d] }
    }

    fn check(&self, d: usize) -> Result<(), Invalid> {
        Invalid::check_length("lower bounds", d, self.lower.len())?;
        Invalid::check_length("upper bounds", d, self.upper.len())?;
        for (&lower, &upper) in self.lower.iter().zip(&self.upper) {
            if !(lower <= upper) {
                let expected = "a number at most the upper bound";
                return Err(Invalid::Parameter { name: "lower bound", value: lower, expected });
            }
            if lower == f64::INFINITY || upper == f64::NEG_INFINITY {
                let expected = "bounds with a finite number between them";
                return Err(Invalid::Parameter { name: "bound", value: lower, expected });
            }
        }
        Ok(())
    }

    /// Projects a point on the bounds.
    pub fn project(&self, x: &mut [f64]) {
        for ((x, &lower), &upper) in x.iter_mut().zip(&self.lower).zip(&self.upper) {
            *x = x.max(lower).min(upper);
        }
    }

    /// Writes the projected gradient to `out`.
    fn projected_gradient(&self, x: &[f64], gradient: &[f64], out: &mut [f64]) {
        for c in 0..x.len() {
            out[c] = if x[c] <= self.lower[c] && x[c] >= self.upper[c] {
                0.0
            } else if x[c] <= self.lower[c] {
                gradient[c].min(0.0)
            } else if x[c] >= self.upper[c] {
                gradient[c].max(0.0)
            } else {
                gradient[c]
            };
        }
    }
}

/// Minimises a smooth function between bounds from `start`, which is a point or the state of a former run. A start outside the
/// bounds is projected onto them.
///
/// A pass is one evaluation of the function; a step costs O(memory d) besides. The certificate is that of [`Smooth::certify`],
/// which receives the projected gradient in place of the gradient. The run ends as `Stalled` when no decrease can be found at
/// working precision. Where `f` is infinite the step is shortened, so that an open domain (positive definite matrices, say)
/// needs no bounds of its own.
///
/// # Errors
/// [`Invalid`] for a start or bounds of the wrong length, a start that is not finite, bounds that cross or leave no
/// finite number, or settings out of range.
pub fn bounded_lbfgs<S: Smooth, O: Observer<BoundedLbfgs<S>>>(
    function: S,
    bounds: Bounds,
    settings: &LbfgsSettings,
    start: impl Into<LbfgsState>,
    observer: &mut O,
) -> Result<Solution<LbfgsState>, Invalid> {
    let mut start = start.into();
    settings.stop.check()?;
    Invalid::check_length("start", function.dimension(), start.point.len())?;
    Invalid::check_finite("start", &start.point)?;
    check_pairs(settings.memory)?;
    bounds.check(start.point.len())?;
    bounds.project(&mut start.point);
    let at = Descent::new(function, settings.memory, start, 0.0);
    let (projected, ahead) = (vec![0.0; at.x.len()], vec![0.0; at.x.len()]);
    let mut method = BoundedLbfgs { projected, ahead, bounds, at, held: vec![] };
    method.bounds.projected_gradient(&method.at.x, &method.at.gradient, &mut method.projected);
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.at.into_state(), report })
}

/// The method behind [`bounded_lbfgs`].
pub struct BoundedLbfgs<S> {
    at: Descent<S>,
    bounds: Bounds,
    /// `p`
    projected: Vec<f64>,
    /// Whether each coordinate is fixed in this step.
    held: Vec<bool>,
    /// The projected gradient of a trial point.
    ahead: Vec<f64>,
}

impl<S: Smooth> BoundedLbfgs<S> {
    /// The current point.
    pub fn point(&self) -> &[f64] {
        &self.at.x
    }

    /// Fixes the coordinates at a bound that prevents descent, and those that are nearer to such a bound than the length of a
    /// gradient step.
    fn hold(&mut self) {
        let BoundedLbfgs { at, bounds, projected, held, .. } = self;
        let moved = |c: usize| {
            let target = (at.x[c] - at.gradient[c]).max(bounds.lower[c]).min(bounds.upper[c]);
            (target - at.x[c]).powi(2)
        };
        // Vanishes at a solution, so that the held coordinates are in the end those at their bounds.
        let near = (0..at.x.len()).map(moved).sum::<f64>().sqrt().min(1e-3);
        held.clear();
        held.extend((0..at.x.len()).map(|c| {
            let (x, g) = (at.x[c], at.gradient[c]);
            let outwards = g > 0.0 && x - bounds.lower[c] <= near * x.abs().max(1.0)
                || g < 0.0 && bounds.upper[c] - x <= near * x.abs().max(1.0);
            outwards || projected[c] == 0.0
        }));
    }
}

impl<S: Smooth> Downhill for BoundedLbfgs<S> {
    type Function = S;

    fn descent(&mut self) -> &mut Descent<S> {
        &mut self.at
    }

    fn try_step(&mut self) -> bool {
        self.hold();
        let BoundedLbfgs { at, bounds, projected, held, ahead } = self;
        for c in 0..at.x.len() {
            at.direction[c] = if held[c] { 0.0 } else { -projected[c] };
        }
        at.memory.apply_within(&mut at.direction, at.diagonal.as_deref(), |c| !held[c]);
        // Held coordinates go straight to their bound, or stay at it.
        for c in 0..at.x.len() {
            if held[c] {
                at.direction[c] = -projected[c];
            }
        }
        let slope = dot(projected, &at.direction);
        if !(slope < 0.0) {
            return false;
        }
        let mut step = at.first_step(slope);
        let noise = NOISE * at.value.abs();
        for _ in 0..60 {
            let mut descent = 0.0;
            for c in 0..at.x.len() {
                let moved = at.x[c] + step * at.direction[c];
                at.trial[c] = moved.max(bounds.lower[c]).min(bounds.upper[c]);
                descent += at.gradient[c] * (at.trial[c] - at.x[c]);
            }
            let before = at.value;
            let value = at.try_point().0;
            // Within the noise of the values the projected gradient decides.
            let better = if value > before - noise && value <= before + noise {
                bounds.projected_gradient(&at.trial, &at.trial_gradient, ahead);
                norm(ahead) < norm(projected)
            } else {
                value <= before + 1e-4 * descent
            };
            if better && descent < 0.0 {
                at.value = value;
                return true;
            }
            step *= 0.5;
        }
        false
    }

    fn accept(&mut self) -> &[f64] {
        let BoundedLbfgs { at, bounds, projected, .. } = self;
        at.accept();
        bounds.projected_gradient(&at.x, &at.gradient, projected);
        projected
    }
}

impl<S: Smooth> Iterative for BoundedLbfgs<S> {
    fn certificate_cost(&self) -> CertificateCost {
        self.at.function.certificate_cost(&self.projected)
    }

    fn advance(&mut self, passes: f64) -> f64 {
        // At a solution nothing moves.
        if norm(&self.projected) == 0.0 {
            self.at.stalled = true;
        }
        advance(self, passes)
    }

    fn certify(&mut self) -> Certificate {
        let BoundedLbfgs { at, projected, .. } = self;
        at.function.certify(&at.x, at.value, projected)
    }

    fn oracle_calls(&self) -> u64 {
        self.at.evaluations
    }

    fn verdict(&self) -> Option<Status> {
        self.at.stalled.then_some(Status::Stalled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stop;
    use proptest::prelude::*;

    /// `0.5 x'Ax - b'x`, `A` dense and positive definite: bounds change which coordinates are free.
    #[derive(Clone)]
    struct Quadratic {
        a: Vec<Vec<f64>>,
        b: Vec<f64>,
        /// The certificate uses this strong convexity constant, unless it is 0.
        mu: f64,
    }

    impl Smooth for Quadratic {
        fn dimension(&self) -> usize {
            self.b.len()
        }

        fn value_gradient(&mut self, x: &[f64], g: &mut [f64]) -> f64 {
            let mut value = 0.0;
            for c in 0..x.len() {
                let row = dot(&self.a[c], x);
                g[c] = row - self.b[c];
                value += x[c] * (0.5 * row - self.b[c]);
            }
            value
        }

        fn certify(&mut self, _: &[f64], value: f64, gradient: &[f64]) -> Certificate {
            if self.mu > 0.0 {
                return Certificate::gap(value, value - dot(gradient, gradient) / (2.0 * self.mu));
            }
            Certificate::residual(value, norm(gradient), 0.0)
        }
    }

    fn random(d: usize, numbers: &[f64], ridge: f64) -> Quadratic {
        let factor = |i: usize, k: usize| numbers[(7 * i + 13 * k + i * k) % numbers.len()];
        let entry = |i: usize, j: usize| {
            (0..d).map(|k| factor(i, k) * factor(j, k)).sum::<f64>()
                + if i == j { ridge } else { 0.0 }
        };
        let a = (0..d).map(|i| (0..d).map(|j| entry(i, j)).collect()).collect();
        Quadratic { a, b: (0..d).map(|c| 3.0 * numbers[c % numbers.len()]).collect(), mu: 0.0 }
    }

    /// Coordinate descent with exact clipped steps: slow, and correct.
    fn by_coordinates(f: &Quadratic, bounds: &Bounds) -> Vec<f64> {
        let d = f.b.len();
        let mut x = vec![0.0; d];
        bounds.project(&mut x);
        for _ in 0..200_000 {
            let mut largest = 0.0f64;
            for c in 0..d {
                let old = x[c];
                let slope = dot(&f.a[c], &x) - f.b[c];
                x[c] = (old - slope / f.a[c][c]).max(bounds.lower[c]).min(bounds.upper[c]);
                largest = largest.max((x[c] - old).abs());
            }
            if largest <= 1e-15 {
                break;
            }
        }
        x
    }

    fn settings(absolute: f64) -> LbfgsSettings {
        let stop = Stop { absolute, relative: 0.0, max_passes: 3000.0, ..Stop::default() };
        LbfgsSettings { stop, ..LbfgsSettings::default() }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]

        #[test]
        fn agrees_with_coordinate_descent(
            d in 1usize..15,
            numbers in proptest::collection::vec(-1.0..1.0f64, 40),
            ends in proptest::collection::vec((-1.0..1.0f64, 0.0..1.0f64, 0u8..4), 15),
            far in -3.0..3.0f64,
        ) {
            let f = random(d, &numbers, 0.1);
            let (mut lower, mut upper) = (vec![f64::NEG_INFINITY; d], vec![f64::INFINITY; d]);
            for (c, &(low, width, kind)) in ends[..d].iter().enumerate() {
                if kind & 1 == 1 { lower[c] = low }
                if kind & 2 == 2 { upper[c] = low + width }
            }
            let bounds = Bounds { lower, upper };
            let expected = by_coordinates(&f, &bounds);
            let found = bounded_lbfgs(f, bounds.clone(), &settings(1e-9), vec![far; d], &mut ()).unwrap();
            prop_assert_eq!(found.report.status, Status::Converged, "{}", found.report);
            for c in 0..d {
                let x = found.state.point[c];
                // ||p|| <= 1e-9 and mu >= 0.1.
                prop_assert!((x - expected[c]).abs() <= 2e-8, "{} {}", x, expected[c]);
                prop_assert!(bounds.lower[c] <= x && x <= bounds.upper[c]);
                let active = expected[c] == bounds.lower[c] || expected[c] == bounds.upper[c];
                prop_assert!(!active || (x - expected[c]).abs() <= 2e-8);
            }
        }
    }

    #[test]
    fn without_bounds_it_is_l_bfgs_and_with_strong_convexity_a_gap() {
        let numbers: Vec<f64> = (0..40).map(|k| (f64::from(k) * 1.7).sin()).collect();
        let f = Quadratic { mu: 0.1, ..random(12, &numbers, 0.1) };
        let none = Bounds { lower: vec![f64::NEG_INFINITY; 12], upper: vec![f64::INFINITY; 12] };
        let free =
            super::super::lbfgs(f.clone(), &settings(1e-12), vec![0.0; 12], &mut ()).unwrap();
        let same =
            bounded_lbfgs(f.clone(), none, &settings(1e-12), vec![0.0; 12], &mut ()).unwrap();
        let (a, b) = (free.report.certificate, same.report.certificate);
        assert!((a.objective().unwrap() - b.objective().unwrap()).abs() <= 1e-11);
        let bounds = Bounds::nonnegative(12);
        let best = by_coordinates(&f, &bounds);
        let loose =
            bounded_lbfgs(f.clone(), bounds, &settings(1e-2), vec![0.0; 12], &mut ()).unwrap();
        let optimum = f.clone().value_gradient(&best, &mut [0.0; 12]);
        let gap = loose.report.certificate;
        let above = gap.objective().unwrap() - optimum;
        assert!((-1e-12..=gap.value() + 1e-12).contains(&above), "{above} {gap}");
    }

    /// Minus the logarithm is infinite outside its domain; the line search returns to the domain.
    #[test]
    fn an_infinite_value_shortens_the_step() {
        struct Barrier;
        impl Smooth for Barrier {
            fn dimension(&self) -> usize {
                2
            }
            fn value_gradient(&mut self, x: &[f64], g: &mut [f64]) -> f64 {
                let s = 1.0 - x[0] - x[1];
                if s <= 0.0 {
                    g.fill(f64::NAN);
                    return f64::INFINITY;
                }
                g[0] = 1.0 / s - 8.0;
                g[1] = 1.0 / s - 2.0;
                -s.ln() - 8.0 * x[0] - 2.0 * x[1]
            }
        }
        let found = bounded_lbfgs(
            Barrier,
            Bounds::nonnegative(2),
            &settings(1e-10),
            vec![0.1, 0.1],
            &mut (),
        )
        .unwrap();
        assert_eq!(found.report.status, Status::Converged, "{}", found.report);
        assert!((found.state.point[0] - 0.875).abs() <= 1e-10, "{:?}", found.state.point);
        assert_eq!(found.state.point[1], 0.0);
    }

    #[test]
    fn arguments_that_do_not_fit_are_refused() {
        let f = || random(2, &[0.5, -0.5, 1.0], 1.0);
        let refused = |lower: Vec<f64>, upper: Vec<f64>| {
            bounded_lbfgs(f(), Bounds { lower, upper }, &settings(0.0), vec![0.0; 2], &mut ())
                .is_err()
        };
        let inf = f64::INFINITY;
        assert!(refused(vec![0.0], vec![1.0; 2]) && refused(vec![0.0; 2], vec![1.0]));
        assert!(
            refused(vec![0.0, 2.0], vec![1.0; 2]) && refused(vec![0.0, f64::NAN], vec![1.0; 2])
        );
        assert!(refused(vec![0.0, inf], vec![1.0, inf]));
        assert!(!refused(vec![0.0, 1.0], vec![1.0; 2]));
        let start = bounded_lbfgs(f(), Bounds::nonnegative(2), &settings(0.0), vec![0.0], &mut ());
        assert!(start.is_err());
    }
}
