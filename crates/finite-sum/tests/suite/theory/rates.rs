//! Rates that the thesis quotes for other methods: SGD (section 2.2) and accelerated SDCA (section 2.3.3).

use fenchel_finite_sum::loss::Squared;
use fenchel_finite_sum::methods::{
    CatalystSettings, SdcaSettings, SgdSettings, catalyst, sdca, sgd,
};
use fenchel_finite_sum::{Point, Problem};
use fenchel_linalg::Dense;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::{Order, stream};
use fenchel_optim::{Cadence, Status, StepSize, Stop};
use ndarray::Array2;
use rand::RngExt;

use super::terms::{Terms, Vector, expect, minus, norm_squared};
use super::{D, one_step};

/// What the proof adds up: `E||x+ - x*||^2 <= (1 - 2 mu gamma) ||x - x*||^2 + gamma^2 E||f_j'(x)||^2`, an equality along a direction
/// in which every term has the curvature `mu`.
#[test]
fn one_step_of_sgd() {
    let check = |terms: &Terms, x: Vector, gamma: f64| {
        let problem = terms.problem();
        let next = |j: usize| -> Vector {
            let (order, stop) = one_step(j);
            let step = StepSize::Constant(gamma);
            let settings = SgdSettings { step, order, stop, ..SgdSettings::default() };
            let start = Point { weights: x.to_vec(), intercept: 0.0 };
            let end = sgd(&problem, &settings, Some(start.into()), &mut ()).unwrap().state;
            end.point.weights.try_into().expect("D entries")
        };
        let distance = |x: &Vector| norm_squared(&minus(x, &terms.star));
        let noise = expect(|j| norm_squared(&terms.gradient(j, &x)));
        let bound = (1.0 - 2.0 * terms.mu * gamma) * distance(&x) + gamma * gamma * noise;
        (expect(|j| distance(&next(j))), bound)
    };
    for seed in 0..40 {
        let mut rng = stream(seed, 71);
        let mu = 10f64.powf(rng.random_range(-2.5..0.5));
        let gamma = 10f64.powf(rng.random_range(-2.0..0.5));
        let terms = Terms::new(seed, |_| mu);
        let (after, bound) = check(&terms, terms.random_point(&mut rng), gamma);
        assert!(after <= bound * (1.0 + 1e-12), "seed {seed}: {after:e} {bound:e}");
        let terms = Terms::flat(seed, |_| mu);
        let mut x = terms.star;
        x[D - 1] += 1.1;
        let (after, bound) = check(&terms, x, gamma);
        assert!((after - bound).abs() <= 1e-12 * (1.0 + bound), "seed {seed}: {after:e} {bound:e}");
    }
}

/// `E f(x^k) - f*` over all draws of SGD with steps `theta/k` on `(x - 1)^2/2` and `(x + 1)^2/2`: `mu = L = 1`, `x* = 0`.
fn mean_excess(start: f64, theta: f64, k: usize) -> f64 {
    let (x, y) = (Array2::from_elem((2, 1), 1.0), [1.0, -1.0]);
    let problem = Problem::new(Dense::new(x.view()).unwrap(), &y, Squared, Zero, 0.0).unwrap();
    let excess = |code: usize| {
        let settings = SgdSettings {
            step: StepSize::Decaying { first: theta, power: 1.0 },
            order: Order::Scripted((0..k).map(|at| code >> at & 1).collect()),
            // Where a run meets the minimum by chance it goes on if nobody looks.
            stop: Stop { check: Cadence::Every(1e9), ..Stop::after_passes(k as f64 / 2.0) },
            ..SgdSettings::default()
        };
        let begin = Point { weights: vec![start], intercept: 0.0 };
        let end = sgd(&problem, &settings, Some(begin.into()), &mut ()).unwrap().state.point;
        0.5 * end.weights[0].powi(2)
    };
    (0..1 << k).map(excess).sum::<f64>() / f64::from(1 << k)
}

/// Section 2.2, as proved (Nemirovski, Juditsky, Lan and Shapiro 2009): with steps `theta/k`, `theta > 1/(2 mu)`, and `R^2 >=
/// E||f_j'||^2`, `E f(x^k) - f* <= L Q/(2(k + 1))`, `Q = max(theta^2 R^2/(2 mu theta - 1), ||x^0 - x*||^2)`. Here `|x^k| <= 1`,
/// `R^2 = 2`; the points are means of what was drawn, and the first of them attains the bound.
#[test]
fn sgd_falls_as_one_over_k() {
    let q = 2.0;
    for k in 1..=8 {
        let (excess, bound) = (mean_excess(0.1, 1.0, k), 0.5 * q / (k + 1) as f64);
        assert!(excess <= bound * (1.0 + 1e-12), "step {k}: {excess} {bound}");
        assert!((excess - 0.5 / k as f64).abs() <= 1e-14, "step {k}: {excess}");
        assert!(k > 1 || excess >= bound * (1.0 - 1e-12), "{excess} {bound}");
    }
}

/// As printed, `E f(x^k) - f* <= L ||x^0 - x*||^2/(2k)` for a suited `theta`, it is false: from a start nearer than the noise of
/// the gradients no `theta` will do. The first step holds for `theta <= 2 r/(r + 1)`, `r = ||x^0 - x*||^2`, alone, and leaves far
/// more than an eighth after eight.
#[test]
fn the_rate_of_sgd_as_printed_fails_near_the_minimum() {
    let start = 0.1;
    let most = 2.0 * 0.01 / 1.01;
    for theta in [1e-3, 1e-2, 0.99 * most, 1.01 * most, 0.1, 0.5, 1.0, 1.9] {
        let holds = |k: usize| mean_excess(start, theta, k) <= 0.5 * start * start / k as f64;
        assert_eq!(holds(1), theta <= most, "{theta}");
        assert!(!holds(1) || !holds(8), "{theta}");
    }
}

/// Section 2.3.3: passes grow as `L/(mu n)` for SDCA, and as its root for accelerated SDCA. The rows are nearly equal, so that the
/// duals of SDCA approach no faster than its bound; and directions of all curvatures from `L/100` down to `L/10^6` matter for the
/// targets, so that acceleration has something to do. From 64 to 1024 the factors are 16 and 4 in
/// theory; 2 and 8 are half way, in the exponent, to constant passes and between the two. Where `n >= L/mu`, acceleration is switched
/// off.
#[test]
fn acceleration_takes_the_root_of_the_conditioning() {
    let (n, directions) = (50, 9);
    let mut rng = stream(1, 72);
    let curvature = |k: usize| 10f64.powf(-2.0 - 0.5 * (k - 1) as f64);
    let x = Array2::from_shape_fn((n, 1 + directions), |(_, k)| {
        let sign = if rng.random::<bool>() { 1.0 } else { -1.0 };
        if k == 0 { 1.0 } else { sign * curvature(k).sqrt() }
    });
    let row = |i: usize| (1..=directions).map(|k| x[[i, k]] / curvature(k).sqrt()).sum::<f64>();
    let y: Vec<f64> = (0..n).map(row).collect();
    let passes = |ratio: f64| {
        let design = Dense::new(x.view()).unwrap();
        let l = x.rows().into_iter().map(|a| a.dot(&a)).fold(0.0, f64::max);
        let problem = Problem::new(design, &y, Squared, Zero, l / (ratio * n as f64)).unwrap();
        let stop = Stop { max_passes: 1e6, ..Stop::at_relative(1e-6) };
        let settings = SdcaSettings { stop, ..SdcaSettings::default() };
        let plain = sdca(&problem, &settings, None, &mut ()).unwrap().report;
        let settings = CatalystSettings { stop, ..CatalystSettings::default() };
        let fast = catalyst(&problem, &settings, None, &mut ()).unwrap().report;
        assert_eq!((plain.status, fast.status), (Status::Converged, Status::Converged));
        (plain.passes, fast.passes)
    };
    let (few, many) = (passes(64.0), passes(1024.0));
    let (plain, fast) = (many.0 / few.0, many.1 / few.1);
    assert!(plain > 8.0 && (2.0..8.0).contains(&fast), "{few:?} {many:?}");
    let easy = passes(0.5);
    assert_eq!(easy.0, easy.1);
}
