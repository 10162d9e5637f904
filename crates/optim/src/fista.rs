//! FISTA: minimisation of `f(x) + h(x)` for a smooth `f` and an `h` with a proximal operator.
//!
//! Use this batch method for regularisers that are not separable (balls, simplex, total variation). A method that processes one
//! term at a time would need a full proximal step for each term there.
//!
//! ```text
//! x_{k+1} = prox( y_k - s grad f(y_k), s ),     y_{k+1} = x_{k+1} + ((t_k - 1) / t_{k+1}) (x_{k+1} - x_k)
//! ```
//!
//! | symbol | name |
//! |---|---|
//! | `x_k`, `y_k` | iterate, extrapolated point |
//! | `s` | step, at most `1/L` where `L` is the Lipschitz constant of the gradient |
//! | `t_k` | momentum, `t_{k+1} = (1 + sqrt(1 + 4 t_k^2)) / 2` |
//!
//! Source: Beck and Teboulle, "A fast iterative shrinkage-thresholding algorithm", SIAM Journal on Imaging Sciences 2 (2009).
//! The restart is the gradient scheme of O'Donoghue and Candes, "Adaptive restart for accelerated gradient schemes",
//! Foundations of Computational Mathematics 15 (2015).

use fenchel_linalg::Invalid;
use serde::{Deserialize, Serialize};

use crate::lbfgs::Smooth;
use crate::{Certificate, Iterative, Observer, Regulariser, Solution, Status, Stop, run};

/// The step size rule of [`fista`](fn@fista).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum FistaStep {
    /// The step is halved until the quadratic upper bound of `f` holds at the new point, and doubled once at every restart. The
    /// first step is found by doubling. Every trial costs one value of `f`, which is half a pass.
    #[default]
    Backtracking,
    /// A given step. The theory needs a step of at most `1/L`; above `2/L` the method does not converge in general.
    Constant(f64),
}

crate::settings! {
    /// Settings of [`fista`](fn@fista).
    pub struct FistaSettings {
        /// Step size rule.
        step: FistaStep = FistaStep::Backtracking,
        /// Whether the momentum restarts when it points uphill: linear convergence without knowledge of the strong convexity `mu`.
        restart: bool = true,
        /// When to end. A pass is one gradient.
        stop: Stop = Stop::default(),
    }
}

/// The state of [`fista`](fn@fista): a point, and the last accepted step, which saves the search for a first step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FistaState<P = Vec<f64>> {
    /// The point.
    pub point: P,
    /// The step. It is absent in a state made from a point, and ignored for a constant step.
    #[serde(default)]
    pub step: Option<f64>,
}

impl<P> From<P> for FistaState<P> {
    fn from(point: P) -> Self {
        FistaState { point, step: None }
    }
}

impl<P> FistaState<P> {
    /// The same state for a point of another type.
    pub fn map<Q>(self, point: impl FnOnce(P) -> Q) -> FistaState<Q> {
        FistaState { point: point(self.point), step: self.step }
    }
}

/// Minimises `f + h` from `start`, which is a point or the state of a former run.
///
/// `f` may be infinite outside an open domain, as `-ln` is, if the start lies inside. With backtracking all iterates stay
/// inside.
///
/// An iteration costs a gradient and a proximal step, and with backtracking a value of `f` as well. The certificate is that of
/// [`Smooth::certify_composite`] if it is implemented. Otherwise it is the norm of the gradient mapping `(x - prox(x - s g, s))
/// / s`, where `g` is the gradient of `f` and `s` the step. This norm vanishes exactly at the minimisers.
///
/// # Errors
/// [`Invalid`] for a start of the wrong length or with non-finite entries, a regulariser that does not fit, or
/// settings out of range.
pub fn fista<S: Smooth, R: Regulariser, O: Observer<Fista<S, R>>>(
    function: S,
    regulariser: R,
    settings: &FistaSettings,
    start: impl Into<FistaState>,
    observer: &mut O,
) -> Result<Solution<FistaState>, Invalid> {
    let start = start.into();
    settings.stop.check()?;
    Invalid::check_length("start", function.dimension(), start.point.len())?;
    Invalid::check_finite("start", &start.point)?;
    regulariser.check(start.point.len())?;
    if let FistaStep::Constant(step) = settings.step {
        Invalid::check_positive("step", step)?;
    }
    let mut method = Fista::new(function, regulariser, settings, start);
    let report = run(&mut method, &settings.stop, observer)?;
    let step = (method.searches && !method.first).then_some(method.step);
    Ok(Solution { state: FistaState { point: method.x, step }, report })
}

/// The method behind [`fista`](fn@fista).
pub struct Fista<S, R> {
    function: S,
    regulariser: R,
    restart: bool,
    searches: bool,
    /// Whether no step has been accepted yet. The first one is found by doubling.
    first: bool,
    step: f64,
    momentum: f64,
    x: Vec<f64>,
    /// `y`
    ahead: Vec<f64>,
    gradient: Vec<f64>,
    trial: Vec<f64>,
    best: Option<Vec<f64>>,
    /// The shortest move so far relative to the step size, and the number of iterations since it decreased or the objective
    /// showed a decrease.
    smallest: f64,
    idle: u32,
    stalled: bool,
    gradients: u64,
}

/// Iterations without a smaller gradient mapping, while the objective changes by rounding only, after which the method stalls.
const IDLE: u32 = 2000;

impl<S: Smooth, R: Regulariser> Fista<S, R> {
    fn new(function: S, regulariser: R, settings: &FistaSettings, start: FistaState) -> Self {
        let FistaState { point: mut x, step: known } = start;
        let known = known.filter(|step| *step > 0.0 && step.is_finite());
        // A start outside the domain is moved into it.
        if regulariser.value(&x).is_infinite() {
            regulariser.prox(&mut x, 1.0);
        }
        let (searches, step) = match settings.step {
            FistaStep::Backtracking => (true, known.unwrap_or(1.0)),
            FistaStep::Constant(step) => (false, step),
        };
        let d = x.len();
        Fista {
            function,
            regulariser,
            restart: settings.restart,
            searches,
            first: searches && known.is_none(),
            step,
            momentum: 1.0,
            ahead: x.clone(),
            x,
            gradient: vec![0.0; d],
            trial: vec![0.0; d],
            best: None,
            smallest: f64::INFINITY,
            idle: 0,
            stalled: false,
            gradients: 0,
        }
    }

    /// The current point.
    pub fn point(&self) -> &[f64] {
        &self.x
    }

    /// The step in force.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// Writes `prox(y - s g, s)` to `trial`. Returns `(g.(trial - y), ||trial - y||^2)`.
    fn try_step(&mut self) -> (f64, f64) {
        let step = self.step;
        for ((t, y), g) in self.trial.iter_mut().zip(&self.ahead).zip(&self.gradient) {
            *t = y - step * g;
        }
        self.regulariser.prox(&mut self.trial, step);
        let (mut slope, mut square) = (0.0, 0.0);
        for ((t, y), g) in self.trial.iter().zip(&self.ahead).zip(&self.gradient) {
            let moved = t - y;
            slope += g * moved;
            square += moved * moved;
        }
        (slope, square)
    }

    /// One iteration. Returns its passes.
    fn iterate(&mut self) -> f64 {
        let mut here = self.function.value_gradient(&self.ahead, &mut self.gradient);
        self.gradients += 1;
        let mut passes = 1.0;
        // The extrapolated point may lie where the function is infinite (a logarithm): nothing can be judged from there.
        if !here.is_finite() && self.ahead != self.x {
            self.ahead.clone_from(&self.x);
            self.momentum = 1.0;
            here = self.function.value_gradient(&self.ahead, &mut self.gradient);
            self.gradients += 1;
            passes += 1.0;
        }
        if !here.is_finite() {
            self.stalled = true;
            return passes;
        }
        let noise = 8.0 * f64::EPSILON * here.abs();
        let mut square;
        loop {
            let slope;
            (slope, square) = self.try_step();
            if !self.searches || square == 0.0 {
                break;
            }
            let value = self.function.value_only(&self.trial);
            passes += 0.5;
            // The quadratic upper bound; what is below the noise of the values cannot be judged.
            if value <= here + slope + square / (2.0 * self.step) + noise {
                let judged = square / (2.0 * self.step) > 1e3 * noise;
                if self.first && judged && self.step < 1e100 {
                    self.step *= 2.0;
                    continue;
                }
                self.first = false;
                break;
            }
            self.first = false;
            self.step *= 0.5;
            if !(self.step > 1e-100) {
                self.stalled = true;
                return passes;
            }
        }
        self.follow(square, noise);
        passes
    }

    /// Moves to the trial point, and extrapolates from it.
    fn follow(&mut self, square: f64, noise: f64) {
        let moves = self.ahead.iter().zip(&self.trial).zip(&self.x);
        let uphill: f64 = moves.map(|((y, t), x)| (y - t) * (t - x)).sum();
        std::mem::swap(&mut self.x, &mut self.trial);
        let old = self.momentum;
        if self.restart && uphill > 0.0 {
            self.momentum = 1.0;
            self.ahead.copy_from_slice(&self.x);
            if self.searches && square / (2.0 * self.step) > 1e3 * noise {
                self.step *= 2.0;
            }
        } else {
            self.momentum = 0.5 * (1.0 + (1.0 + 4.0 * old * old).sqrt());
            let push = (old - 1.0) / self.momentum;
            for ((y, x), last) in self.ahead.iter_mut().zip(&self.x).zip(&self.trial) {
                *y = x + push * (x - last);
            }
        }
        let mapping = square.sqrt() / self.step;
        // As long as the values show the decrease, the mapping may wait for its own.
        let visible = square / (2.0 * self.step) > 1e3 * noise;
        self.idle = if visible || mapping < self.smallest { 0 } else { self.idle + 1 };
        self.smallest = self.smallest.min(mapping);
        // A fixed point without momentum is one for ever.
        let fixed = square == 0.0 && self.ahead == self.x;
        self.stalled = fixed || self.idle >= IDLE;
    }
}

impl<S: Smooth, R: Regulariser> Iterative for Fista<S, R> {
    fn advance(&mut self, passes: f64) -> f64 {
        let mut done = 0.0;
        while done < passes && !self.stalled {
            done += self.iterate();
        }
        done
    }

    fn certify(&mut self) -> Certificate {
        let h = self.regulariser.value(&self.x);
        if let Some(certificate) = self.function.certify_composite(&self.x, h) {
            return certificate;
        }
        let mut gradient = vec![0.0; self.x.len()];
        let objective = self.function.value_gradient(&self.x, &mut gradient) + h;
        let norm = gradient_mapping(&self.regulariser, &self.x, &gradient, self.step);
        Certificate::residual(objective, norm, 0.0)
    }

    fn oracle_calls(&self) -> u64 {
        self.gradients
    }

    fn verdict(&self) -> Option<Status> {
        self.stalled.then_some(Status::Stalled)
    }

    fn keep(&mut self) {
        self.best.get_or_insert_default().clone_from(&self.x);
    }

    fn restore(&mut self) {
        if let Some(best) = self.best.take() {
            self.ahead.clone_from(&best);
            self.momentum = 1.0;
            self.x = best;
        }
    }
}

/// The norm `||x - prox(x - s g, s)|| / s` of the gradient mapping, for a proximal gradient step of size `s`. It vanishes
/// exactly at the minimisers of `f + h`, for every `s > 0`.
pub fn gradient_mapping<R: Regulariser>(h: &R, x: &[f64], gradient: &[f64], step: f64) -> f64 {
    if h.is_zero() {
        return gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    }
    let mut moved: Vec<f64> = x.iter().zip(gradient).map(|(x, g)| x - step * g).collect();
    h.prox(&mut moved, step);
    moved.iter().zip(x).map(|(m, x)| (m - x).powi(2)).sum::<f64>().sqrt() / step
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prox::{L1, Simplex, TotalVariation, Zero};

    /// `0.5 sum_c scale_c (x_c - centre_c)^2`
    struct Bowl {
        scales: Vec<f64>,
        centre: Vec<f64>,
    }

    impl Smooth for Bowl {
        fn dimension(&self) -> usize {
            self.scales.len()
        }

        fn value_gradient(&mut self, x: &[f64], g: &mut [f64]) -> f64 {
            let mut value = 0.0;
            for c in 0..x.len() {
                let off = x[c] - self.centre[c];
                g[c] = self.scales[c] * off;
                value += 0.5 * self.scales[c] * off * off;
            }
            value
        }
    }

    fn bowl() -> Bowl {
        let scales = (0..20).map(|c| 1.7f64.powi(c)).collect();
        Bowl { scales, centre: (0..20).map(|c| (f64::from(c) * 0.7).sin()).collect() }
    }

    fn solve<R: Regulariser>(h: &R, step: FistaStep) -> Solution<FistaState> {
        let stop = Stop { absolute: 1e-9, relative: 0.0, max_passes: 1e5, ..Stop::default() };
        let settings = FistaSettings { step, stop, ..FistaSettings::default() };
        let solution = fista(bowl(), h, &settings, vec![0.0; 20], &mut ()).unwrap();
        assert_eq!(solution.report.status, Status::Converged, "{}: {}", R::NAME, solution.report);
        solution
    }

    #[test]
    fn separable_problems_have_closed_forms() {
        let Bowl { scales, centre } = bowl();
        for step in [FistaStep::Backtracking, FistaStep::Constant(1.0 / 1.7f64.powi(19))] {
            let x = solve(&Zero, step).state.point;
            assert!(x.iter().zip(&centre).all(|(x, c)| (x - c).abs() <= 1e-8));
            let x = solve(&L1 { strength: 0.3 }, step).state.point;
            for c in 0..20 {
                let expected = crate::prox::soft_threshold(centre[c], 0.3 / scales[c]);
                assert!((x[c] - expected).abs() <= 1e-8, "{} {expected}", x[c]);
                assert!(expected != 0.0 || x[c] == 0.0);
            }
        }
    }

    /// On the simplex the solution is `x_c = max(centre_c - nu / scale_c, 0)` with the same `nu` for all coordinates.
    #[test]
    fn a_simplex_has_one_multiplier() {
        let x = solve(&Simplex { radius: 1.0 }, FistaStep::Backtracking).state.point;
        let Bowl { scales, centre } = bowl();
        let sum = |nu: f64| -> f64 { (0..20).map(|c| (centre[c] - nu / scales[c]).max(0.0)).sum() };
        let (mut low, mut high) = (-10.0, 1e6);
        for _ in 0..200 {
            let nu = 0.5 * (low + high);
            if sum(nu) > 1.0 { low = nu } else { high = nu }
        }
        for c in 0..20 {
            assert!((x[c] - (centre[c] - low / scales[c]).max(0.0)).abs() <= 1e-8);
        }
    }

    #[test]
    fn the_gradient_mapping_vanishes_at_the_solution_alone() {
        let h = TotalVariation { strength: 0.2 };
        let x = solve(&h, FistaStep::Backtracking).state.point;
        let mut gradient = vec![0.0; 20];
        bowl().value_gradient(&x, &mut gradient);
        for step in [1e-6, 1e-3, 1.0] {
            assert!(gradient_mapping(&h, &x, &gradient, step) <= 1e-6);
        }
        let elsewhere = vec![0.3; 20];
        bowl().value_gradient(&elsewhere, &mut gradient);
        assert!(gradient_mapping(&h, &elsewhere, &gradient, 1e-6) > 1.0);
    }

    /// `sum_c scale_c x_c - ln x_c`, infinite outside the positive orthant; at its minimum `x_c = 1 / scale_c`.
    struct Barrier(Vec<f64>);

    impl Smooth for Barrier {
        fn dimension(&self) -> usize {
            self.0.len()
        }

        fn value_gradient(&mut self, x: &[f64], g: &mut [f64]) -> f64 {
            let inside = x.iter().all(|x| *x > 0.0);
            let mut value = if inside { 0.0 } else { f64::INFINITY };
            for ((g, x), scale) in g.iter_mut().zip(x).zip(&self.0) {
                *g = scale - 1.0 / x;
                value += if inside { scale * x - x.ln() } else { 0.0 };
            }
            value
        }
    }

    /// An extrapolated point may leave the domain, where no trial can be judged. No iterate follows it.
    #[test]
    fn iterates_stay_where_the_function_is_finite() {
        let mut most = 0;
        for (seed, far) in [(1, 1.0), (2, 30.0), (3, 1e-3), (4, 1e3)] {
            let scales: Vec<f64> =
                (0..8).map(|c| 1.0 + 40.0 * f64::from((seed * 7 + c * 5) % 8)).collect();
            let stop = Stop { absolute: 1e-9, relative: 0.0, max_passes: 1e5, ..Stop::default() };
            let mut left = 0;
            let mut watch = |progress: &crate::Progress, fista: &Fista<_, &Zero>| {
                assert!(progress.certificate.objective().is_some_and(f64::is_finite));
                left += u32::from(fista.ahead.iter().any(|y| *y <= 0.0));
                std::ops::ControlFlow::Continue(())
            };
            let check = crate::Cadence::Every(1e-6);
            let settings =
                FistaSettings { stop: Stop { check, ..stop }, ..FistaSettings::default() };
            let barrier = Barrier(scales.clone());
            let s = fista(barrier, &Zero, &settings, vec![far; 8], &mut watch).unwrap();
            assert_eq!(s.report.status, Status::Converged, "{}", s.report);
            for (x, scale) in s.state.point.iter().zip(&scales) {
                assert!((x * scale - 1.0).abs() <= 1e-6, "{x} {scale}");
            }
            most = most.max(left);
        }
        assert!(most > 0);
    }

    #[test]
    fn arguments_that_do_not_fit_are_refused() {
        let refused = |settings: FistaSettings, start: Vec<f64>, strength| {
            fista(bowl(), L1 { strength }, &settings, start, &mut ()).is_err()
        };
        let with = |step| FistaSettings { step, ..FistaSettings::default() };
        assert!(refused(FistaSettings::default(), vec![0.0; 19], 1.0));
        assert!(refused(FistaSettings::default(), vec![f64::NAN; 20], 1.0));
        assert!(refused(FistaSettings::default(), vec![0.0; 20], -1.0));
        assert!(refused(with(FistaStep::Constant(0.0)), vec![0.0; 20], 1.0));
        assert!(!refused(with(FistaStep::Constant(1e-6)), vec![0.0; 20], 1.0));
    }
}
