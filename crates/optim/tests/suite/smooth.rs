//! L-BFGS, line searches and equations of one unknown against independent solutions.

use std::ops::ControlFlow;

use crate::common::{distance, dot, eliminate};
use fenchel_optim::lbfgs::{Lbfgs, LbfgsSettings, LbfgsState, Smooth, lbfgs};
use fenchel_optim::line_search::{Search, Wolfe};
use fenchel_optim::random::stream;
use fenchel_optim::scalar::increasing_root;
use fenchel_optim::{Cadence, Certificate, Progress, Status, Stop, Trace};
use proptest::prelude::*;
use rand::RngExt;

fn random_vector(d: usize, rng: &mut impl rand::Rng) -> Vec<f64> {
    (0..d).map(|_| rng.random_range(-1.0..1.0)).collect()
}

/// `x.Ax / 2 - b.x` with `A = BB'/d + mu I`.
#[derive(Clone)]
struct Quadratic {
    a: Vec<Vec<f64>>,
    b: Vec<f64>,
    mu: f64,
    /// Whether it certifies by its strong convexity instead of the norm of its gradient.
    strong: bool,
}

impl Quadratic {
    fn random(d: usize, mu: f64, seed: u64) -> Self {
        let mut rng = stream(seed, 0);
        let rows: Vec<Vec<f64>> = (0..d).map(|_| random_vector(d, &mut rng)).collect();
        let entry =
            |i: usize, j: usize| dot(&rows[i], &rows[j]) / d as f64 + if i == j { mu } else { 0.0 };
        let a = (0..d).map(|i| (0..d).map(|j| entry(i, j)).collect()).collect();
        Quadratic { a, b: random_vector(d, &mut rng), mu, strong: false }
    }

    fn value(&self, x: &[f64]) -> f64 {
        let quadratic: f64 = self.a.iter().zip(x).map(|(row, c)| c * dot(row, x)).sum();
        0.5 * quadratic - dot(&self.b, x)
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        self.a.iter().zip(&self.b).map(|(row, b)| dot(row, x) - b).collect()
    }
}

impl Smooth for Quadratic {
    fn dimension(&self) -> usize {
        self.b.len()
    }

    fn value_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.copy_from_slice(&self.gradient(x));
        self.value(x)
    }

    /// `f* >= f(x) - ||f'(x)||^2 / (2 mu)` for a function of strong convexity `mu`.
    fn certify(&mut self, _: &[f64], value: f64, gradient: &[f64]) -> Certificate {
        let square = dot(gradient, gradient);
        if self.strong {
            Certificate::gap(value, value - square / (2.0 * self.mu))
        } else {
            Certificate::Residual {
                objective: Some(value),
                norm: square.sqrt(),
                error: 0.0,
                scale: None,
            }
        }
    }
}

/// Mean logistic loss of random rows with signs, and `mu ||x||^2 / 2`.
struct Logistic {
    rows: Vec<Vec<f64>>,
    mu: f64,
}

impl Logistic {
    fn random(n: usize, d: usize, mu: f64, seed: u64) -> Self {
        let mut rng = stream(seed, 0);
        Logistic { rows: (0..n).map(|_| random_vector(d, &mut rng)).collect(), mu }
    }

    fn sigma(row: &[f64], x: &[f64]) -> f64 {
        1.0 / (1.0 + dot(row, x).exp())
    }

    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let mut gradient: Vec<f64> = x.iter().map(|x| self.mu * x).collect();
        for row in &self.rows {
            let s = Self::sigma(row, x) / self.rows.len() as f64;
            gradient.iter_mut().zip(row).for_each(|(g, a)| *g -= s * a);
        }
        gradient
    }

    /// Newton's method with the full Hessian. Rows in the unit cube and a start at 0 need no damping.
    fn minimiser(&self) -> Vec<f64> {
        let d = self.rows[0].len();
        let mut x = vec![0.0; d];
        for _ in 0..30 {
            let mut hessian = vec![vec![0.0; d]; d];
            for row in &self.rows {
                let s = Self::sigma(row, &x);
                for (h, a) in hessian.iter_mut().zip(row) {
                    h.iter_mut().zip(row).for_each(|(h, b)| {
                        *h += s * (1.0 - s) * a * b / self.rows.len() as f64;
                    });
                }
            }
            (0..d).for_each(|c| hessian[c][c] += self.mu);
            let step = eliminate(hessian, self.gradient(&x));
            x.iter_mut().zip(&step).for_each(|(x, s)| *x -= s);
        }
        x
    }
}

impl Smooth for Logistic {
    fn dimension(&self) -> usize {
        self.rows[0].len()
    }

    fn value_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        gradient.copy_from_slice(&self.gradient(x));
        let loss: f64 = self.rows.iter().map(|row| (-dot(row, x)).exp().ln_1p()).sum();
        loss / self.rows.len() as f64 + 0.5 * self.mu * dot(x, x)
    }
}

fn settings(absolute: f64, memory: usize) -> LbfgsSettings {
    let stop = Stop { absolute, relative: 0.0, max_passes: 5000.0, ..Stop::default() };
    LbfgsSettings { memory, stop }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn quadratics_end_at_the_solution_of_the_linear_system(
        d in 2usize..41, mu in 0.01..1.0f64, memory in 1usize..12, seed: u64
    ) {
        let f = Quadratic::random(d, mu, seed);
        let expected = eliminate(f.a.clone(), f.b.clone());
        let start = random_vector(d, &mut stream(seed, 1));
        let solution = lbfgs(f.clone(), &settings(1e-5, memory), start, &mut ()).unwrap();
        prop_assert_eq!(solution.report.status, Status::Converged, "{}", solution.report);
        // ||x - x*|| <= ||f'(x)|| / mu; elimination is far better than this tolerance.
        let residual = f.gradient(&solution.state.point);
        prop_assert!(dot(&residual, &residual).sqrt() <= 1.01e-5);
        let far = distance(&solution.state.point, &expected);
        prop_assert!(far <= 1.02e-5 / mu, "{far:e}");
        prop_assert_eq!(solution.report.certificate.objective(), Some(f.value(&solution.state.point)));
        // Without a tolerance it goes on until values differ by rounding only. A value is a sum of
        // d^2 terms no larger in total than d x.x, and of b.x.
        let start = solution.state.point;
        let floor = lbfgs(f.clone(), &settings(0.0, memory), start, &mut ()).unwrap();
        prop_assert!(
            matches!(floor.report.status, Status::Stalled | Status::Converged),
            "{}", floor.report
        );
        let size = 1.0 + dot(&expected, &expected) + dot(&f.b, &expected).abs();
        let rounding = 10.0 * d as f64 * f64::EPSILON * size;
        let above = f.value(&floor.state.point) - f.value(&expected);
        prop_assert!(above <= rounding, "{above:e} {rounding:e}");
    }

    /// Strong convexity turns the gradient into a lower bound: at every certificate it lies below the optimum.
    #[test]
    fn certified_gaps_hold_at_every_certificate(d in 2usize..20, mu in 0.01..1.0f64, seed: u64) {
        let f = Quadratic { strong: true, ..Quadratic::random(d, mu, seed) };
        let best = f.value(&eliminate(f.a.clone(), f.b.clone()));
        let mut settings = settings(1e-9, 10);
        settings.stop.check = Cadence::Every(1.0);
        let mut trace = Trace::new();
        let solution = lbfgs(f, &settings, vec![0.0; d], &mut trace).unwrap();
        prop_assert_eq!(solution.report.status, Status::Converged, "{}", solution.report);
        let rounding = 1e-13 * (1.0 + best.abs());
        for row in &trace.rows {
            let Certificate::Gap { objective, lower_bound, .. } = row.certificate else {
                panic!("no gap: {}", row.certificate)
            };
            prop_assert!(lower_bound <= best + rounding && objective >= best - rounding);
        }
        let curve = trace.suboptimality(best);
        prop_assert!(curve.last().unwrap().1 <= 1e-9 + rounding);
    }

    #[test]
    fn logistic_regression_ends_where_newton_does(
        n in 1usize..40, d in 1usize..15, mu in 0.01..1.0f64, seed: u64
    ) {
        let f = Logistic::random(n, d, mu, seed);
        let expected = f.minimiser();
        let residual = f.gradient(&expected);
        prop_assert!(dot(&residual, &residual).sqrt() <= 1e-13, "the reference did not converge");
        let start = random_vector(d, &mut stream(seed, 1));
        let solution = lbfgs(f, &settings(1e-6, 10), start, &mut ()).unwrap();
        prop_assert_eq!(solution.report.status, Status::Converged, "{}", solution.report);
        prop_assert!(distance(&solution.state.point, &expected) <= 1.01e-6 / mu);
    }

    /// From point to point the strong Wolfe conditions with the constants 1e-4 and 0.9.
    #[test]
    fn every_step_is_a_wolfe_step(d in 2usize..15, mu in 0.01..1.0f64, seed: u64) {
        let f = Quadratic::random(d, mu, seed);
        let mut points: Vec<Vec<f64>> = vec![];
        let mut keep = |_: &Progress, method: &Lbfgs<Quadratic>| {
            points.push(method.point().to_vec());
            ControlFlow::Continue(())
        };
        let mut settings = settings(1e-6, 5);
        settings.stop.check = Cadence::Every(1.0);
        let start: Vec<f64> = random_vector(d, &mut stream(seed, 1));
        let start: Vec<f64> = start.iter().map(|x| 10.0 * x).collect();
        lbfgs(f.clone(), &settings, start, &mut keep).unwrap();
        prop_assert!(points.len() >= 2);
        for pair in points.windows(2) {
            let step: Vec<f64> = pair[1].iter().zip(&pair[0]).map(|(y, x)| y - x).collect();
            let (before, after) = (dot(&f.gradient(&pair[0]), &step), dot(&f.gradient(&pair[1]), &step));
            let (high, low) = (f.value(&pair[0]), f.value(&pair[1]));
            // The step itself is rounded to the grid of the points.
            let noise = 1e-13 * (1.0 + high.abs());
            prop_assert!(before < 0.0);
            prop_assert!(low <= high + 1e-4 * before + noise, "{low} {high} {before}");
            prop_assert!(after.abs() <= 0.9 * before.abs() + noise, "{after} {before}");
        }
    }

    #[test]
    fn starting_at_the_solution_ends_there(d in 2usize..20, seed: u64) {
        let f = Quadratic::random(d, 0.5, seed);
        let solution = eliminate(f.a.clone(), f.b.clone());
        let again = lbfgs(f, &settings(1e-9, 10), solution.clone(), &mut ()).unwrap();
        prop_assert_eq!(again.report.status, Status::Converged);
        prop_assert_eq!((again.state.point, again.report.passes), (solution, 0.0));
    }
}

/// With the pairs of a former run, through a file, the steps that learn the curvature are spared; those of another dimension
/// are forgotten.
#[test]
fn a_state_takes_its_pairs_along() {
    let f = Quadratic::random(20, 1e-1, 7);
    let start = random_vector(20, &mut stream(7, 1));
    let until = |absolute, max_passes| {
        let stop = Stop { max_passes, ..settings(absolute, 20).stop };
        LbfgsSettings { stop, ..settings(absolute, 20) }
    };
    let begun = lbfgs(f.clone(), &until(0.0, 15.0), start.clone(), &mut ()).unwrap().state;
    let text = serde_json::to_string(&begun).unwrap();
    let kept: LbfgsState = serde_json::from_str(&text).unwrap();
    assert_eq!(kept, begun);
    let passes = |start: LbfgsState| {
        let s = lbfgs(f.clone(), &until(1e-9, 1e3), start, &mut ()).unwrap();
        assert_eq!(s.report.status, Status::Converged);
        s.report.passes
    };
    let (with, without) = (passes(kept.clone()), passes(kept.point.clone().into()));
    eprintln!("{with} {without}");
    assert!(with < 0.7 * without, "{with} {without}");
    let other = Quadratic::random(6, 1e-1, 8);
    let elsewhere = |memory| {
        let start = LbfgsState { point: vec![1.0; 6], memory };
        lbfgs(other.clone(), &until(0.0, 9.0), start, &mut ()).unwrap().state
    };
    assert_eq!(elsewhere(kept.memory), elsewhere(Default::default()));
}

/// `0 * x` and `NaN`: nothing to gain, and nothing to go by.
#[test]
fn flat_and_broken_functions_end() {
    struct Constant(f64);
    impl Smooth for Constant {
        fn dimension(&self) -> usize {
            2
        }
        fn value_gradient(&mut self, _: &[f64], gradient: &mut [f64]) -> f64 {
            gradient.fill(0.0 * self.0);
            self.0
        }
    }
    let flat = lbfgs(Constant(3.0), &settings(0.0, 10), vec![1.0, 2.0], &mut ()).unwrap();
    assert_eq!((flat.report.status, flat.state.point), (Status::Converged, vec![1.0, 2.0]));
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let broken = lbfgs(Constant(bad), &settings(1e300, 10), vec![1.0, 2.0], &mut ()).unwrap();
        assert_eq!(broken.report.status, Status::Stalled);
        assert_eq!(broken.report.certificate, Certificate::Uncertified { objective: None });
        assert_eq!(broken.state.point, [1.0, 2.0]);
    }
}

/// A function without a minimum ends too: the search gives up growing.
#[test]
fn an_unbounded_function_ends() {
    struct Slope;
    impl Smooth for Slope {
        fn dimension(&self) -> usize {
            1
        }
        fn value_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
            gradient[0] = -1.0;
            -x[0]
        }
    }
    let solution = lbfgs(Slope, &settings(1e-3, 10), vec![0.0], &mut ()).unwrap();
    assert_eq!(solution.report.status, Status::Stalled, "{}", solution.report);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A parabola with waves on it: smooth and bounded below, so that Wolfe steps exist.
    #[test]
    fn searches_end_with_the_strong_wolfe_conditions(
        bend in 0.01..10.0f64,
        minimum in 0.1..100.0f64,
        waves in 0.0..5.0f64,
        frequency in 0.1..5.0f64,
        offset in -1e6..1e6f64,
        first in prop_oneof![1e-6..1.0f64, 1.0..1e4f64],
    ) {
        let f = |t: f64| {
            let wave = waves * (frequency * t).sin();
            let value = offset + 0.5 * bend * (t - minimum) * (t - minimum) + wave;
            (value, bend * (t - minimum) + waves * frequency * (frequency * t).cos())
        };
        let (value, slope) = f(0.0);
        prop_assume!(slope < -1e-3);
        let mut wolfe = Wolfe::new(value, slope, first);
        let mut evaluations = 0;
        let accepted = loop {
            let t = wolfe.step();
            prop_assert!(t > 0.0 && t.is_finite());
            evaluations += 1;
            match wolfe.record(f(t).0, f(t).1) {
                Search::Accept => break t,
                Search::Continue => prop_assert!(evaluations < 40),
                Search::Fail => panic!("failed after {evaluations} evaluations"),
            }
        };
        let (low, flat) = f(accepted);
        // The documented slack for the rounding of values.
        let noise = 4.0 * f64::EPSILON * value.abs();
        let bound = value + 1e-4 * accepted * slope + noise;
        prop_assert!(low <= bound, "{low} {bound}");
        prop_assert!(flat.abs() <= 0.9 * slope.abs(), "{flat} {slope}");
    }
}

/// `slope t + sum_k a_k tanh(b_k (t - c_k)) - level`: increasing, with slopes between two bounds.
#[derive(Debug, Clone)]
struct Increasing {
    slope: f64,
    level: f64,
    bends: Vec<(f64, f64, f64)>,
}

impl Increasing {
    fn at(&self, t: f64) -> (f64, f64) {
        let (mut value, mut slope) = (self.slope * t - self.level, self.slope);
        for (a, b, c) in &self.bends {
            let h = (b * (t - c)).tanh();
            value += a * h;
            slope += a * b * (1.0 - h * h);
        }
        (value, slope)
    }

    fn steepest(&self) -> f64 {
        self.slope + self.bends.iter().map(|(a, b, _)| a * b).sum::<f64>()
    }

    /// Plain bisection to the last bit.
    fn root(&self, mut low: f64, mut high: f64) -> f64 {
        for _ in 0..2000 {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if self.at(middle).0 > 0.0 { high = middle } else { low = middle }
        }
        0.5 * (low + high)
    }
}

fn increasing() -> impl Strategy<Value = Increasing> {
    let bend = (0.0..5.0f64, 0.1..10.0f64, -20.0..20.0f64);
    (0.1..3.0f64, -15.0..15.0f64, proptest::collection::vec(bend, 0..5))
        .prop_map(|(slope, level, bends)| Increasing { slope, level, bends })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn roots_of_increasing_functions_are_found(
        f in increasing(), start in -500.0..500.0f64, digits in 2i32..14
    ) {
        // |f| at the ends is at least 0.1 * 400 - 15 - 20.
        let (low, high) = (-400.0, 400.0);
        let expected = f.root(low, high);
        let tolerance = 10f64.powi(-digits);
        let mut evaluations = 0;
        let found = increasing_root(
            |t| {
                evaluations += 1;
                assert!((low..=high).contains(&t));
                f.at(t)
            },
            low,
            high,
            start,
            tolerance,
        );
        // Ends when a step is below tolerance (1 + |x|). A Newton step is |f| / f', the distance to the
        // root at most |f| / (smallest slope); evaluating f has a rounding error of its own.
        let ratio = f.steepest() / f.slope;
        let rounding = 1e-13 * (100.0 + f.steepest() * found.abs()) / f.slope;
        let bound = 2.0 * ratio * tolerance * (1.0 + found.abs()) + rounding;
        prop_assert!((found - expected).abs() <= bound, "{found} {expected} {bound:e}");
        // Bisection alone halves 800 down to 1e-13 in 53 steps; between two bisections the Newton
        // steps halve as well.
        prop_assert!(evaluations <= 120, "{evaluations}");
    }

    #[test]
    fn the_nearer_end_answers_without_a_sign_change(
        f in increasing(), width in 0.1..10.0f64, gap in 0.01..10.0f64, start in -50.0..50.0f64
    ) {
        let root = f.root(-400.0, 400.0);
        for (low, high, end) in [
            (root + gap, root + gap + width, root + gap),
            (root - gap - width, root - gap, root - gap),
        ] {
            let found = increasing_root(|t| f.at(t), low, high, start, 1e-12);
            prop_assert!((low..=high).contains(&found));
            prop_assert!((found - end).abs() <= 1e-10 * (1.0 + end.abs()), "{found} {end}");
        }
    }
}
