//! L-BFGS with an l1 penalty: OWL-QN.
//!
//! ```text
//! min_x  f(x) + sum_c l1_c |x_c|
//! ```
//!
//! Within an orthant the penalty is linear. Each step takes the quasi-Newton direction of `f` at the subgradient of least
//! norm, keeps it inside the orthant that this subgradient points into, and walks back along the projected path until
//! the objective has fallen enough. Weights become exactly zero.
//!
//! Reference: Andrew and Gao, "Scalable training of L1-regularized log-linear models" (2007).

use fenchel_linalg::Invalid;

use super::memory::{Memory, dot, norm};
use super::{IDLE, LbfgsSettings, Smooth};
use crate::{Certificate, Iterative, Observer, Solution, Status, run};

/// Minimises `f(x) + sum_c l1[c] |x_c|` from `start`; the state is the final point. A weight 0 leaves its variable
/// unpenalised.
///
/// A pass is one evaluation of `f` and its gradient. Certifies through [`Smooth::certify`], given the objective with
/// the penalty and, in the place of the gradient, the subgradient of least norm: where `f` is strongly convex with constant
/// `mu`, `F(x) - ||g||^2 / (2 mu)` is a lower bound as without penalty.
///
/// # Errors
/// [`Invalid`] for a start or weights of the wrong length, negative or non-finite entries, or settings out of range.
pub fn owlqn<S: Smooth, O: Observer<Owlqn<S>>>(
    function: S,
    l1: Vec<f64>,
    settings: &LbfgsSettings,
    start: Vec<f64>,
    observer: &mut O,
) -> Result<Solution<Vec<f64>>, Invalid> {
    settings.stop.check()?;
    Invalid::check_length("start", function.dimension(), start.len())?;
    Invalid::check_finite("start", &start)?;
    Invalid::check_length("l1", start.len(), l1.len())?;
    for &weight in &l1 {
        Invalid::check_nonnegative("l1", weight)?;
    }
    Invalid::check_positive("memory", settings.memory as f64)?;
    let mut method = Owlqn::new(function, l1, settings.memory, start);
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: method.x, report })
}

/// The method behind [`owlqn`].
pub struct Owlqn<S> {
    function: S,
    l1: Vec<f64>,
    memory: Memory,
    x: Vec<f64>,
    /// `f(x) + sum l1 |x|`
    value: f64,
    gradient: Vec<f64>,
    /// The subgradient of least norm.
    pseudo: Vec<f64>,
    trial: Vec<f64>,
    trial_gradient: Vec<f64>,
    direction: Vec<f64>,
    evaluations: u64,
    reported: u64,
    lowest: f64,
    smallest: f64,
    idle: u32,
    stalled: bool,
}

impl<S: Smooth> Owlqn<S> {
    fn new(mut function: S, l1: Vec<f64>, memory: usize, x: Vec<f64>) -> Self {
        let d = x.len();
        let mut gradient = vec![0.0; d];
        let value = function.value_gradient(&x, &mut gradient) + penalty(&l1, &x);
        let mut pseudo = vec![0.0; d];
        least_subgradient(&x, &gradient, &l1, &mut pseudo);
        Owlqn {
            function,
            l1,
            memory: Memory::new(memory),
            x,
            value,
            gradient,
            pseudo,
            trial: vec![0.0; d],
            trial_gradient: vec![0.0; d],
            direction: vec![0.0; d],
            evaluations: 1,
            reported: 0,
            lowest: value,
            smallest: f64::INFINITY,
            idle: 0,
            stalled: false,
        }
    }

    /// The current point.
    pub fn point(&self) -> &[f64] {
        &self.x
    }

    /// `-H g`, without the coordinates that would climb.
    fn find_direction(&mut self) {
        for (r, g) in self.direction.iter_mut().zip(&self.pseudo) {
            *r = -g;
        }
        self.memory.apply(&mut self.direction, None);
        for (r, g) in self.direction.iter_mut().zip(&self.pseudo) {
            if *r * g >= 0.0 {
                *r = 0.0;
            }
        }
    }

    /// Halves the step until the objective falls by enough along the projected path.
    fn search(&mut self) -> bool {
        let slope = dot(&self.pseudo, &self.direction);
        if !(slope < 0.0) {
            return false;
        }
        let mut step =
            if self.memory.is_empty() { 1.0 / norm(&self.pseudo).max(1e-300) } else { 1.0 };
        let noise = 4.0 * f64::EPSILON * self.value.abs();
        for _ in 0..60 {
            let mut descent = 0.0;
            for c in 0..self.x.len() {
                // The orthant: the sign of x_c, or where a zero is about to go.
                let side = if self.x[c] != 0.0 { self.x[c] } else { -self.pseudo[c] };
                let moved = self.x[c] + step * self.direction[c];
                let stays = self.l1[c] == 0.0 || moved * side > 0.0;
                self.trial[c] = if stays { moved } else { 0.0 };
                descent += self.pseudo[c] * (self.trial[c] - self.x[c]);
            }
            let value = self.function.value_gradient(&self.trial, &mut self.trial_gradient)
                + penalty(&self.l1, &self.trial);
            self.evaluations += 1;
            if value <= self.value + 1e-4 * descent + noise && descent < 0.0 {
                self.value = value;
                return true;
            }
            step *= 0.5;
        }
        false
    }

    fn accept(&mut self) {
        self.memory.push(&self.x, &self.trial, &self.gradient, &self.trial_gradient);
        std::mem::swap(&mut self.x, &mut self.trial);
        std::mem::swap(&mut self.gradient, &mut self.trial_gradient);
        least_subgradient(&self.x, &self.gradient, &self.l1, &mut self.pseudo);
        let size = norm(&self.pseudo);
        let improved = self.value < self.lowest || size < self.smallest;
        self.lowest = self.lowest.min(self.value);
        self.smallest = self.smallest.min(size);
        self.idle = if improved { 0 } else { self.idle + 1 };
        self.stalled = self.idle >= IDLE;
    }
}

impl<S: Smooth> Iterative for Owlqn<S> {
    fn advance(&mut self, passes: f64) -> f64 {
        while !self.stalled {
            self.find_direction();
            if self.search() {
                self.accept();
            } else if self.memory.is_empty() {
                self.stalled = true;
            } else {
                self.memory.clear();
                continue;
            }
            if (self.evaluations - self.reported) as f64 >= passes {
                break;
            }
        }
        let done = self.evaluations - self.reported;
        self.reported = self.evaluations;
        done as f64
    }

    fn certify(&mut self) -> Certificate {
        self.function.certify(&self.x, self.value, &self.pseudo)
    }

    fn oracle_calls(&self) -> u64 {
        self.evaluations
    }

    fn verdict(&self) -> Option<Status> {
        self.stalled.then_some(Status::Stalled)
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
                prop_assert!((solution.state[c] - expected).abs() < 1e-6, "{}", solution.report);
                prop_assert!(expected != 0.0 || solution.state[c] == 0.0 || (a[c].abs() - l1[c] / h[c]).abs() < 1e-6);
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
