//! The bounds of the theory on the four tiny models, with radii by brute force (CRF-16, 17, 19, 20, 27, 30, 31, 33, 34, 35).

use std::ops::ControlFlow;

use crate::common::*;
use fenchel_crf::{
    NewtonStart, Order, Problem, Progress, Sdca, SdcaSettings, SdcaStep, Stop, lbfgs, sdca,
};
use fenchel_optim::Cadence;
use fenchel_optim::lbfgs::LbfgsSettings;
use ndarray::Array1;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A dual point and what the theorems talk about.
struct State {
    blocks: Vec<Block>,
    l2: f64,
    joints: Vec<Vec<f64>>,
    /// The model's own distributions at `w(a)`.
    own: Vec<Vec<f64>>,
    gaps: Vec<f64>,
    /// `c_i = 1 + R_i / (n l2)`
    condition: Vec<f64>,
    /// `D* = P*`
    best: f64,
}

impl State {
    fn n(&self) -> f64 {
        self.blocks.len() as f64
    }

    fn dual(&self) -> f64 {
        dual(&self.blocks, self.l2, &self.joints)
    }

    fn mean_gap(&self) -> f64 {
        self.gaps.iter().sum::<f64>() / self.n()
    }

    /// The rise of the dual from a step on block `i`.
    fn rise(&self, i: usize, step: f64) -> f64 {
        let mut joints = self.joints.clone();
        for (a, p) in joints[i].iter_mut().zip(&self.own[i]) {
            *a = (1.0 - step) * *a + step * p;
        }
        dual(&self.blocks, self.l2, &joints) - self.dual()
    }

    /// The expected rise when block `i` is drawn with probability proportional to `weight(i)`.
    fn expected_rise(&self, weight: impl Fn(usize) -> f64, step: impl Fn(usize) -> f64) -> f64 {
        let total: f64 = (0..self.blocks.len()).map(&weight).sum();
        (0..self.blocks.len()).map(|i| weight(i) / total * self.rise(i, step(i))).sum()
    }

    fn mean(&self, f: impl Fn(usize) -> f64) -> f64 {
        (0..self.blocks.len()).map(f).sum::<f64>() / self.n()
    }
}

/// `P*`, from L-BFGS, certified.
fn optimum(problem: &Problem<'_>) -> f64 {
    let stop = Stop { absolute: 1e-12, relative: 0.0, ..Stop::default() };
    let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
    let report = lbfgs(problem, &settings, None, &mut ()).unwrap().report;
    assert!(report.certificate.value() <= 1e-12, "{report}");
    report.certificate.objective().unwrap()
}

/// Random distributions over labellings, from near-uniform to near-deterministic, on every tiny model.
fn states() -> Vec<State> {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let mut states = Vec::new();
    for (data, l2) in tiny() {
        let best = optimum(&problem(&data, l2));
        for scale in [0.3, 1.0, 3.0, 8.0] {
            let blocks = blocks(&data);
            let joints: Vec<Vec<f64>> = blocks
                .iter()
                .map(|b| {
                    let mut draw = || (scale * rng.random_range(-1.0..1.0_f64)).exp();
                    let p: Vec<f64> = b.labellings.iter().map(|_| draw()).collect();
                    let total: f64 = p.iter().sum();
                    p.iter().map(|p| p / total).collect()
                })
                .collect();
            let w: Array1<f64> = weights_of(&blocks, l2, &joints);
            let own: Vec<Vec<f64>> = blocks.iter().map(|b| b.model(&w).0).collect();
            let gaps = joints.iter().zip(&own).map(|(a, p)| kl(a, p)).collect();
            let n = blocks.len() as f64;
            let condition = blocks.iter().map(|b| 1.0 + b.radius() / (n * l2)).collect();
            states.push(State { blocks, l2, joints, own, gaps, condition, best });
        }
    }
    states
}

/// CRF-16, CRF-35: `n (D+ - D) >= s g_i + s (1 - s c_i) d_i^2 / 2`.
#[test]
fn a_step_on_a_block_gains_what_the_ascent_lemma_says() {
    for state in states() {
        let uniform = state.condition.iter().fold(1.0, |s: f64, c| s.min(1.0 / c));
        for i in 0..state.blocks.len() {
            let c = state.condition[i];
            let pairs = state.joints[i].iter().zip(&state.own[i]);
            let distance: f64 = pairs.map(|(a, p)| (a - p).abs()).sum();
            for step in [1.0 / c, uniform, 0.5, 1.0] {
                let bound =
                    step * state.gaps[i] + 0.5 * step * (1.0 - step * c) * distance * distance;
                let gain = state.n() * state.rise(i, step);
                assert!(gain >= bound - 1e-9 * (1.0 + bound.abs()), "{gain} {bound}");
            }
        }
    }
}

/// CRF-30, 31, 33, 34: the expected rise of one step for four ways of drawing the block.
#[test]
fn expected_rises_meet_the_theorems() {
    for state in states() {
        let (n, gap) = (state.n(), state.mean_gap());
        let (g, c) = (|i: usize| state.gaps[i], |i: usize| state.condition[i]);
        let s = state.condition.iter().fold(1.0, |s: f64, c| s.min(1.0 / c));
        let holds = |rise: f64, bound: f64, which: &str| {
            assert!(rise >= bound - 1e-10 * (1.0 + bound), "{which}: {rise} {bound}");
        };
        holds(state.expected_rise(|_| 1.0, |_| s), s / n * gap, "uniform");
        let total: f64 = state.condition.iter().sum();
        holds(state.expected_rise(c, |i| 1.0 / c(i)), gap / total, "importance");
        let square = state.mean(|i| g(i) * g(i)) / (gap * gap);
        assert!((1.0 - 1e-12..=n + 1e-9).contains(&square));
        holds(state.expected_rise(g, |_| s), s / n * square * gap, "gap");
        let quadratic_mean = state.mean(|i| c(i) * c(i)).sqrt();
        let bound = square.sqrt() * gap / (n * quadratic_mean);
        holds(state.expected_rise(|i| g(i) * c(i), |i| 1.0 / c(i)), bound, "gap and importance");
    }
}

/// CRF-27b: `D* - D >= (s/n) gap`, with `D* = P*` from L-BFGS; the gap is `P - D`, the mean of the blocks'.
#[test]
fn the_gap_is_not_far_above_the_dual_suboptimality() {
    let mut most: f64 = 0.0;
    for state in states() {
        let s = state.condition.iter().fold(1.0, |s: f64, c| s.min(1.0 / c));
        let w = weights_of(&state.blocks, state.l2, &state.joints);
        let gap = primal(&state.blocks, state.l2, &w) - state.dual();
        assert!((gap - state.mean_gap()).abs() < 1e-9 * (1.0 + gap));
        let below = state.best - state.dual();
        assert!(below <= gap + 1e-11, "{below} {gap}");
        assert!(below >= s / state.n() * gap - 1e-11, "{below} {gap}");
        most = most.max(s / state.n() * gap / below);
    }
    // The bound is not empty.
    assert!(most > 1e-3, "{most}");
}

/// `g_i = KL(a_i, p_i) >= d_i^2 / 2`: the negative entropy is strongly convex (Pinsker).
#[test]
fn gaps_bound_distances() {
    for state in states() {
        for ((a, p), gap) in state.joints.iter().zip(&state.own).zip(&state.gaps) {
            let distance: f64 = a.iter().zip(p).map(|(a, p)| (a - p).abs()).sum();
            assert!(*gap >= 0.5 * distance * distance - 1e-12, "{gap} {distance}");
        }
    }
}

/// CRF-30: `E h_t <= (1 - s/n)^t h_0` for uniform draws, the mean of 50 runs up to three standard errors.
#[test]
fn the_mean_trajectory_meets_the_rate() {
    for (data, l2) in tiny() {
        let (problem, blocks) = (problem(&data, l2), blocks(&data));
        let n = blocks.len() as f64;
        let s = blocks.iter().fold(1.0, |s: f64, b| s.min(1.0 / (1.0 + b.radius() / (n * l2))));
        let best = optimum(&problem);
        let passes = 12;
        let runs: Vec<Vec<f64>> = (0..50)
            .map(|seed| {
                let stop =
                    Stop { check: Cadence::Every(1.0), ..Stop::after_passes(f64::from(passes)) };
                let step = SdcaStep::Newton { tolerance: 1e-6, start: NewtonStart::Half };
                let order = Order::Uniform;
                let settings = SdcaSettings { order, step, seed, stop, ..Default::default() };
                let mut below = Vec::new();
                let mut watch = |_: &Progress, method: &Sdca<'_, '_, f64>| {
                    below.push(best - method.dual().unwrap());
                    ControlFlow::Continue(())
                };
                sdca(&problem, &settings, None, &mut watch).unwrap();
                below
            })
            .collect();
        assert!(runs.iter().all(|run| run.len() == passes as usize + 1));
        let start = runs[0][0];
        for t in 1..=passes as usize {
            let mean = runs.iter().map(|run| run[t]).sum::<f64>() / 50.0;
            let variance = runs.iter().map(|run| (run[t] - mean).powi(2)).sum::<f64>() / 49.0;
            let bound = (1.0 - s / n).powf(t as f64 * n) * start;
            assert!(mean <= bound + 3.0 * (variance / 50.0).sqrt() + 1e-11, "{t} {mean} {bound}");
        }
    }
}

/// The non-uniformity of gaps: 1 for equal ones, n for a single one, n/k for k equal ones.
#[test]
fn facts_about_non_uniformity() {
    let square = |g: &[f64]| {
        let mean = g.iter().sum::<f64>() / g.len() as f64;
        g.iter().map(|g| g * g).sum::<f64>() / g.len() as f64 / (mean * mean)
    };
    assert!((square(&[3.0; 7]) - 1.0).abs() < 1e-15);
    assert!((square(&[0.0, 0.0, 5.0, 0.0]) - 4.0).abs() < 1e-15);
    assert!((square(&[2.0, 2.0, 0.0, 0.0, 0.0, 0.0]) - 3.0).abs() < 1e-15);
    let n = 1000;
    let linear: Vec<f64> = (1..=n).map(f64::from).collect();
    let n = f64::from(n);
    assert!((square(&linear) - 2.0 / 3.0 * (2.0 * n + 1.0) / (n + 1.0)).abs() < 1e-12);
}
