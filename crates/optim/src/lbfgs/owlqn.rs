//! OWL-QN: L-BFGS with an l1 penalty.
//!
//! ```text
//! min_x  f(x) + sum_c l1_c |x_c|
//! ```
//!
//! Within an orthant the penalty is linear. Each step computes the subgradient of least norm and the orthant that its negative
//! points into. It takes the quasi-Newton direction of `f` for this subgradient and projects it on the orthant. A backtracking
//! search along the projected path ends when the objective has fallen enough. Weights become exactly zero.
//!
//! Reference: Andrew and Gao, "Scalable training of L1-regularized log-linear models" (2007).

use fenchel_linalg::Invalid;
use fenchel_linalg::vectors::dot;

use super::descent::{Descent, Downhill, advance, quasi_newton};
use super::memory::check_pairs;
use super::{LbfgsSettings, LbfgsState, Smooth};
use crate::{Certificate, CertificateCost, Iterative, Observer, Solution, Status, run};

/// Minimises `f(x) + sum_c l1[c] |x_c|` from `start`, which is a point or the state of a former run. A weight `l1[c] = 0`
/// leaves variable `c` unpenalised.
///
/// A pass is one evaluation of `f` and its gradient. The certificate is that of [`Smooth::certify`], which receives the
/// penalised objective `F(x)`, and the subgradient `g` of least norm in place of the gradient. Where `f` is strongly convex
/// with constant `mu`, `F(x) - ||g||^2 / (2 mu)` is a lower bound of the optimum, as without a penalty.
///
/// # Errors
/// [`Invalid`] for a start or weights of the wrong length, negative or non-finite entries, or settings out of range.
pub fn owlqn<S: Smooth, O: Observer<Owlqn<S>>>(
    function: S,
    l1: Vec<f64>,
    settings: &LbfgsSettings,
    start: impl Into<LbfgsState>,
    observer: &mut O,
) -> Result<Solution<LbfgsState>, Invalid> {
    let start = start.into();
    settings.stop.check()?;
    Invalid::check_length("start", function.dimension(), start.point.len())?;
    Invalid::check_finite("start", &start.point)?;
    Invalid::check_length("l1", start.point.len(), l1.len())?;
    for &weight in &l1 {
        Invalid::check_nonnegative("l1", weight)?;
    }
    check_pairs(settings.memory)?;
    let mut method = Owlqn::new(function, l1, settings.memory, start);
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.at.into_state(), report })
}

/// The method behind [`owlqn`].
pub struct Owlqn<S> {
    /// The descent; its value is `f(x) + sum l1 |x|`.
    at: Descent<S>,
    l1: Vec<f64>,
    /// The subgradient of least norm.
    pseudo: Vec<f64>,
}

impl<S: Smooth> Owlqn<S> {
    fn new(function: S, l1: Vec<f64>, memory: usize, start: LbfgsState) -> Self {
        let penalty = penalty(&l1, &start.point);
        let at = Descent::new(function, memory, start, penalty);
        let mut pseudo = vec![0.0; at.x.len()];
        least_subgradient(&at.x, &at.gradient, &l1, &mut pseudo);
        Owlqn { at, l1, pseudo }
    }

    /// The current point.
    pub fn point(&self) -> &[f64] {
        &self.at.x
    }
}

impl<S: Smooth> Downhill for Owlqn<S> {
    type Function = S;

    fn descent(&mut self) -> &mut Descent<S> {
        &mut self.at
    }

    /// Takes the direction `-H g`, without the coordinates along which the objective would increase. The step is halved until
    /// the objective falls enough along the projected path.
    fn try_step(&mut self) -> bool {
        let Owlqn { at, l1, pseudo } = self;
        quasi_newton(&at.memory, at.diagonal.as_deref(), pseudo, &mut at.direction);
        for (r, g) in at.direction.iter_mut().zip(&*pseudo) {
            if *r * g >= 0.0 {
                *r = 0.0;
            }
        }
        let slope = dot(pseudo, &at.direction);
        if !(slope < 0.0) {
            return false;
        }
        let mut step = at.first_step(slope);
        let noise = 4.0 * f64::EPSILON * at.value.abs();
        for _ in 0..60 {
            let mut descent = 0.0;
            for c in 0..at.x.len() {
                // The orthant: the sign of x_c, or where a zero is about to go.
                let side = if at.x[c] != 0.0 { at.x[c] } else { -pseudo[c] };
                let moved = at.x[c] + step * at.direction[c];
                let stays = l1[c] == 0.0 || moved * side > 0.0;
                at.trial[c] = if stays { moved } else { 0.0 };
                descent += pseudo[c] * (at.trial[c] - at.x[c]);
            }
            let value = at.try_point().0 + penalty(l1, &at.trial);
            if value <= at.value + 1e-4 * descent + noise && descent < 0.0 {
                at.value = value;
                return true;
            }
            step *= 0.5;
        }
        false
    }

    fn accept(&mut self) -> &[f64] {
        let Owlqn { at, l1, pseudo } = self;
        at.accept();
        least_subgradient(&at.x, &at.gradient, l1, pseudo);
        pseudo
    }
}

impl<S: Smooth> Iterative for Owlqn<S> {
    fn advance(&mut self, passes: f64) -> f64 {
        advance(self, passes)
    }

    fn certify(&mut self) -> Certificate {
        let Owlqn { at, pseudo, .. } = self;
        at.function.certify(&at.x, at.value, pseudo)
    }

    fn certificate_cost(&self) -> CertificateCost {
        self.at.function.certificate_cost(&self.pseudo)
    }

    fn oracle_calls(&self) -> u64 {
        self.at.evaluations
    }

    fn verdict(&self) -> Option<Status> {
        self.at.stalled.then_some(Status::Stalled)
    }
}

fn penalty(l1: &[f64], x: &[f64]) -> f64 {
    l1.iter().zip(x).map(|(l1, x)| l1 * x.abs()).sum()
}

fn least_subgradient(x: &[f64], gradient: &[f64], l1: &[f64], out: &mut [f64]) {
    for c in 0..x.len() {
        out[c] = if x[c] != 0.0 {
            gradient[c] + l1[c] * x[c].signum()
        } else {
            // soft-threshold: what the penalty cannot hold back
            (gradient[c].abs() - l1[c]).max(0.0) * gradient[c].signum()
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stop;
    use proptest::prelude::*;

    /// `0.5 sum_c h_c (x_c - a_c)^2`, whose minimiser with l1 is a soft threshold, written down.
    struct Bowl {
        h: Vec<f64>,
        a: Vec<f64>,
    }

    impl Smooth for Bowl {
        fn dimension(&self) -> usize {
            self.h.len()
        }

        fn value_gradient(&mut self, x: &[f64], g: &mut [f64]) -> f64 {
            let mut value = 0.0;
            for c in 0..x.len() {
                g[c] = self.h[c] * (x[c] - self.a[c]);
                value += 0.5 * self.h[c] * (x[c] - self.a[c]).powi(2);
            }
            value
        }
    }

    fn settings() -> LbfgsSettings {
        LbfgsSettings {
            stop: Stop { absolute: 1e-9, relative: 0.0, ..Stop::default() },
            ..LbfgsSettings::default()
        }
    }

    proptest! {
        #[test]
        fn finds_the_soft_threshold(
            terms in proptest::collection::vec((0.01..10.0_f64, -3.0..3.0_f64, 0.0..2.0_f64, -1.0..1.0_f64), 1..30),
        ) {
            let h: Vec<f64> = terms.iter().map(|t| t.0).collect();
            let a: Vec<f64> = terms.iter().map(|t| t.1).collect();
            let l1: Vec<f64> = terms.iter().map(|t| t.2).collect();
            let start: Vec<f64> = terms.iter().map(|t| t.3).collect();
            let solution = owlqn(Bowl { h: h.clone(), a: a.clone() }, l1.clone(), &settings(), start, &mut ()).unwrap();
            for c in 0..h.len() {
                let expected = (a[c].abs() - l1[c] / h[c]).max(0.0) * a[c].signum();
                prop_assert!((solution.state.point[c] - expected).abs() < 1e-6, "{}", solution.report);
                prop_assert!(expected != 0.0 || solution.state.point[c] == 0.0 || (a[c].abs() - l1[c] / h[c]).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn arguments_that_do_not_fit_are_refused() {
        let bowl = || Bowl { h: vec![1.0; 2], a: vec![1.0; 2] };
        let zeros = || vec![0.0; 2];
        assert!(owlqn(bowl(), vec![0.0], &settings(), zeros(), &mut ()).is_err());
        assert!(owlqn(bowl(), vec![0.0, -1.0], &settings(), zeros(), &mut ()).is_err());
        assert!(owlqn(bowl(), vec![0.0, f64::NAN], &settings(), zeros(), &mut ()).is_err());
        assert!(owlqn(bowl(), zeros(), &settings(), vec![0.0; 3], &mut ()).is_err());
    }
}
