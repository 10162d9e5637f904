//! Minimisation of smooth functions by L-BFGS ([`lbfgs`](fn@lbfgs)), with an l1 penalty by OWL-QN ([`owlqn`]), and between
//! bounds by [`bounded_lbfgs`].
//!
//! L-BFGS is the standard batch method. Use it where a pass is cheap, or where the function is not a finite sum. Reference:
//! Nocedal and Wright, "Numerical Optimization" (2006), algorithms 7.4 and 7.5.
//!
//! | symbol | name |
//! |---|---|
//! | `s_k` | step between two points |
//! | `z_k` | difference of their gradients |
//! | `r` | search direction |

use fenchel_linalg::Invalid;
use fenchel_linalg::vectors::{dot, in_runs};

use crate::line_search::{Search, Wolfe};
use crate::{Certificate, CertificateCost, Iterative, Observer, Solution, Status, Stop, run};

mod bounded;
mod descent;
mod memory;
mod owlqn;
mod smooth;

pub use bounded::{BoundedLbfgs, Bounds, bounded_lbfgs};
pub use memory::Memory;
pub use owlqn::{Owlqn, owlqn};
pub use smooth::{LbfgsState, Smooth};

use descent::{Descent, Downhill, advance, quasi_newton};
pub(crate) use memory::check_pairs;

crate::settings! {
    /// Settings of [`lbfgs`].
    pub struct LbfgsSettings {
        /// Number of pairs of steps and gradient differences that are kept, at least 1.
        memory: usize = 10,
        /// When to end. A pass is one evaluation.
        stop: Stop = Stop::default(),
    }
}

/// Minimises a smooth function from `start`, which is a point or the state of a former run.
///
/// A step usually costs one evaluation, and O(memory d) besides. The run ends as `Stalled` when no decrease can be found at
/// working precision.
///
/// # Errors
/// [`Invalid`] for a start of the wrong length or with non-finite entries, or settings out of range.
pub fn lbfgs<S: Smooth, O: Observer<Lbfgs<S>>>(
    function: S,
    settings: &LbfgsSettings,
    start: impl Into<LbfgsState>,
    observer: &mut O,
) -> Result<Solution<LbfgsState>, Invalid> {
    let start = start.into();
    settings.stop.check()?;
    Invalid::check_length("start", function.dimension(), start.point.len())?;
    Invalid::check_finite("start", &start.point)?;
    check_pairs(settings.memory)?;
    let mut method = Lbfgs(Descent::new(function, settings.memory, start, 0.0));
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.0.into_state(), report })
}

/// The method behind [`lbfgs`].
pub struct Lbfgs<S>(Descent<S>);

impl<S: Smooth> Lbfgs<S> {
    /// The current point.
    pub fn point(&self) -> &[f64] {
        &self.0.x
    }
}

impl<S: Smooth> Downhill for Lbfgs<S> {
    type Function = S;

    fn descent(&mut self) -> &mut Descent<S> {
        &mut self.0
    }

    /// A step that satisfies the strong Wolfe conditions.
    fn try_step(&mut self) -> bool {
        let at = &mut self.0;
        quasi_newton(&at.memory, at.diagonal.as_deref(), &at.gradient, &mut at.direction);
        let slope = dot(&at.gradient, &at.direction);
        if !(slope < 0.0) {
            return false;
        }
        let mut wolfe = Wolfe::new(at.value, slope, at.first_step(slope).min(1e20));
        let direction = std::mem::take(&mut at.direction);
        let accepted = loop {
            let step = wolfe.step();
            in_runs(&mut at.trial, |range, trial| {
                let ends = at.x[range.clone()].iter().zip(&direction[range]);
                trial.iter_mut().zip(ends).for_each(|(t, (x, r))| *t = x + step * r);
            });
            let (value, gradient) = at.try_point();
            match wolfe.record(value, dot(gradient, &direction)) {
                Search::Accept => {
                    at.value = value;
                    break true;
                }
                Search::Continue => {}
                Search::Fail => break false,
            }
        };
        at.direction = direction;
        accepted
    }

    fn accept(&mut self) -> &[f64] {
        self.0.accept();
        &self.0.gradient
    }
}

impl<S: Smooth> Iterative for Lbfgs<S> {
    fn certificate_cost(&self) -> CertificateCost {
        self.0.function.certificate_cost(&self.0.gradient)
    }

    fn advance(&mut self, passes: f64) -> f64 {
        advance(self, passes)
    }

    fn certify(&mut self) -> Certificate {
        let at = &mut self.0;
        at.function.certify(&at.x, at.value, &at.gradient)
    }

    fn oracle_calls(&self) -> u64 {
        self.0.evaluations
    }

    fn verdict(&self) -> Option<Status> {
        self.0.stalled.then_some(Status::Stalled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Rosenbrock;

    impl Smooth for Rosenbrock {
        fn dimension(&self) -> usize {
            2
        }

        fn value_gradient(&mut self, x: &[f64], g: &mut [f64]) -> f64 {
            let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
            g[0] = -2.0 * a - 400.0 * x[0] * b;
            g[1] = 200.0 * b;
            a * a + 100.0 * b * b
        }
    }

    fn settings(absolute: f64) -> LbfgsSettings {
        let stop = Stop { absolute, relative: 0.0, ..Stop::default() };
        LbfgsSettings { stop, ..LbfgsSettings::default() }
    }

    #[test]
    fn finds_the_minimum_of_the_banana_valley() {
        let solution = lbfgs(Rosenbrock, &settings(1e-10), vec![-1.2, 1.0], &mut ()).unwrap();
        assert_eq!(solution.report.status, Status::Converged, "{}", solution.report);
        assert!(solution.state.point.iter().all(|x| (x - 1.0).abs() < 1e-9));
        assert!(solution.report.oracle_calls < 60, "{}", solution.report.oracle_calls);
    }

    /// `0.5 sum_c scale_c (x_c - 1)^2`
    struct Bowl(Vec<f64>);

    impl Smooth for Bowl {
        fn dimension(&self) -> usize {
            self.0.len()
        }

        fn value_gradient(&mut self, x: &[f64], g: &mut [f64]) -> f64 {
            let mut value = 0.0;
            for ((g, x), scale) in g.iter_mut().zip(x).zip(&self.0) {
                *g = scale * (x - 1.0);
                value += 0.5 * scale * (x - 1.0) * (x - 1.0);
            }
            value
        }
    }

    /// A bowl whose inverse Hessian is known, up to a multiple.
    struct Scaled(Bowl);

    impl Smooth for Scaled {
        fn dimension(&self) -> usize {
            self.0.dimension()
        }

        fn value_gradient(&mut self, x: &[f64], g: &mut [f64]) -> f64 {
            self.0.value_gradient(x, g)
        }

        fn inverse_diagonal(&mut self) -> Option<Vec<f64>> {
            Some(self.0.0.iter().map(|scale| 7.0 / scale).collect())
        }
    }

    /// With the exact inverse Hessian up to a multiple, only a search along a line remains: the first pair gives the multiple.
    #[test]
    fn begins_with_the_diagonal_it_is_given() {
        let scales: Vec<f64> = (0..30).map(|c| 1.3f64.powi(c)).collect();
        let plain = lbfgs(Bowl(scales.clone()), &settings(1e-9), vec![0.0; 30], &mut ()).unwrap();
        let scaled = lbfgs(Scaled(Bowl(scales)), &settings(1e-9), vec![0.0; 30], &mut ()).unwrap();
        assert_eq!(scaled.report.status, Status::Converged);
        assert!(scaled.state.point.iter().all(|x| (x - 1.0).abs() < 1e-9));
        let (few, many) = (scaled.report.oracle_calls, plain.report.oracle_calls);
        assert!(few <= 5 && 5 * few < many, "{few} {many}");
        // The diagonal counts half a pass.
        assert_eq!(scaled.report.passes, few as f64 + 0.5);
    }

    #[test]
    fn stalls_at_working_precision_instead_of_running_on() {
        let scales = (0..30).map(|c| 1.3f64.powi(c)).collect();
        let solution = lbfgs(Bowl(scales), &settings(0.0), vec![0.0; 30], &mut ()).unwrap();
        assert!(matches!(solution.report.status, Status::Stalled | Status::Converged));
        assert!(solution.state.point.iter().all(|x| (x - 1.0).abs() < 1e-6));
    }

    #[test]
    fn a_start_that_does_not_fit_is_refused() {
        assert!(lbfgs(Rosenbrock, &settings(0.0), vec![0.0], &mut ()).is_err());
        assert!(lbfgs(Rosenbrock, &settings(0.0), vec![0.0, f64::NAN], &mut ()).is_err());
        let none = LbfgsSettings { memory: 0, ..LbfgsSettings::default() };
        let error = lbfgs(Rosenbrock, &none, vec![0.0, 0.0], &mut ()).unwrap_err().to_string();
        assert_eq!(error, "memory = 0; expected a number of correction pairs >= 1");
    }
}
