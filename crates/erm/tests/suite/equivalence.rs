//! One method in several formulations: as printed, with a point and a gradient kept for every term, and as implemented.

use crate::common::{Data, data, distance};
use fenchel_erm::Problem;
use fenchel_erm::loss::Logistic;
use fenchel_erm::methods::{
    DualState, FinitoSettings, MisoMuSettings, MisoSettings, ProxFinitoSettings, SdcaSettings,
    SdcaStep, finito, miso, miso_mu, prox_finito, sdca,
};
use fenchel_linalg::{Csr, Dense};
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Separable, Solution, Stop};

const N: usize = 12;
const D: usize = 5;
const STEPS: usize = 200;
const MU: f64 = 0.05;

type Vector = [f64; D];

fn script() -> Vec<usize> {
    (0..STEPS).map(|k| (7 * k + k / 5) % N).collect()
}

fn stop(steps: usize, extra: f64) -> Stop {
    let passes = extra + steps as f64 / N as f64;
    Stop { absolute: 0.0, relative: 0.0, max_passes: passes, ..Stop::default() }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn row(data: &Data, j: usize) -> Vector {
    std::array::from_fn(|c| data.dense[[j, c]])
}

fn sum(vectors: impl IntoIterator<Item = Vector>) -> Vector {
    vectors.into_iter().fold([0.0; D], |s, v| std::array::from_fn(|c| s[c] + v[c]))
}

/// `argmin_x phi(a.x; y) + (mu/2) ||x||^2 + (eta/2) ||x - z||^2`, with the derivative of `phi` there: the point is
/// `(eta z - u a)/(mu + eta)`, `u = phi'` by bisection.
fn prox_of_term(data: &Data, j: usize, z: &Vector, mu: f64, eta: f64) -> (Vector, f64) {
    let (a, y) = (row(data, j), data.signs[j]);
    let at = |u: f64| -> Vector { std::array::from_fn(|c| (eta * z[c] - u * a[c]) / (mu + eta)) };
    let (mut low, mut high) = if y > 0.0 { (-1.0, 0.0) } else { (0.0, 1.0) };
    for _ in 0..200 {
        let u = 0.5 * (low + high);
        if u < Logistic.derivative(dot(&a, &at(u)), y) { low = u } else { high = u }
    }
    let u = 0.5 * (low + high);
    (at(u), u)
}

/// Algorithm 3.2: `phi_j = prox(f_j, z, 1/(mu n))`, `z = -(1/(mu n)) sum_{i != j} f_i'`, vectors stored.
fn textbook_primal_sdca(data: &Data, steps: usize) -> Vector {
    let scale = MU * N as f64;
    let mut gradients = vec![[0.0; D]; N];
    for &j in &script()[..steps] {
        let others = sum((0..N).filter(|&i| i != j).map(|i| gradients[i]));
        let z: Vector = std::array::from_fn(|c| -others[c] / scale);
        let (point, _) = prox_of_term(data, j, &z, 0.0, scale);
        gradients[j] = std::array::from_fn(|c| scale * (z[c] - point[c]));
    }
    let total = sum(gradients);
    std::array::from_fn(|c| -total[c] / scale)
}

/// Algorithm 3.3 on folded terms: a point and a full gradient kept for each. Returns `(output, phi_j)`, which agree.
fn textbook_prox_finito(data: &Data, steps: usize) -> (Vector, Vector) {
    let n = N as f64;
    let eta = MU * (n - 1.0);
    // s = 0: f_i'(phi_i) = mu phi_i, at the origin.
    let (mut points, mut gradients) = (vec![[0.0; D]; N], vec![[0.0; D]; N]);
    let mut last = [0.0; D];
    for &j in &script()[..steps] {
        let others = || (0..N).filter(|&i| i != j);
        let (p, g) = (sum(others().map(|i| points[i])), sum(others().map(|i| gradients[i])));
        let z: Vector = std::array::from_fn(|c| p[c] / (n - 1.0) - g[c] / eta);
        (points[j], _) = prox_of_term(data, j, &z, MU, eta);
        gradients[j] = std::array::from_fn(|c| eta * (z[c] - points[j][c]));
        last = points[j];
    }
    let (p, g) = (sum(points), sum(gradients));
    (std::array::from_fn(|c| p[c] / n - g[c] / (MU * n)), last)
}

/// Section 3.4 with all points and full gradients stored: `w = mean phi_i - (1/(lambda n)) sum f_i'(phi_i)`. The table
/// starts at the origin (`full`), or with `f_i' = mu phi_i` there. Returns the point that the next step would use.
fn textbook_surrogate(data: &Data, lambda: f64, full: bool, steps: usize) -> Vector {
    let n = N as f64;
    let gradient = |i: usize, x: &Vector| -> Vector {
        let (a, y) = (row(data, i), data.signs[i]);
        let s = Logistic.derivative(dot(&a, x), y);
        std::array::from_fn(|c| s * a[c] + MU * x[c])
    };
    let mut points = vec![[0.0; D]; N];
    let mut gradients: Vec<Vector> =
        (0..N).map(|i| if full { gradient(i, &[0.0; D]) } else { [0.0; D] }).collect();
    let next = |points: &[Vector], gradients: &[Vector]| -> Vector {
        let (p, g) = (sum(points.iter().copied()), sum(gradients.iter().copied()));
        std::array::from_fn(|c| p[c] / n - g[c] / (lambda * n))
    };
    for &j in &script()[..steps] {
        let w = next(&points, &gradients);
        gradients[j] = gradient(j, &w);
        points[j] = w;
    }
    next(&points, &gradients)
}

fn run_sdca<R: Separable>(
    problem: &Problem<'_, impl fenchel_linalg::Design, Logistic, R>,
    step: SdcaStep,
    steps: usize,
) -> DualState {
    let settings = SdcaSettings {
        step,
        order: Order::Scripted(script()),
        stop: stop(steps, 0.0),
        seed: 0,
        batch: 1,
    };
    sdca(problem, &settings, None, &mut ()).unwrap().state
}

#[test]
fn primal_sdca_and_prox_finito_are_sdca() {
    let data = data(N, D, 0.6, 4);
    let problem =
        Problem::new(Csr::new(data.sparse.view()).unwrap(), &data.signs, Logistic, Zero, MU)
            .unwrap();
    for steps in [1, 2, 13, STEPS] {
        let exact = run_sdca(&problem, SdcaStep::Exact, steps).point.weights;
        let scale = exact.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        let primal = textbook_primal_sdca(&data, steps);
        let (output, last) = textbook_prox_finito(&data, steps);
        let settings = ProxFinitoSettings {
            order: Order::Scripted(script()),
            stop: stop(steps, 0.0),
            seed: 0,
        };
        let own = prox_finito(&problem, &settings, None, &mut ()).unwrap().state.point.weights;
        for (name, other) in
            [("primal", &primal[..]), ("prox-finito", &output), ("phi_j", &last), ("own", &own)]
        {
            // 200 steps, each of them with a rounding of a few units in the last place of the largest entry.
            assert!(distance(other, &exact) <= 4e-15 * scale, "{name} {steps}");
        }
    }
}

#[test]
fn the_interval_step_is_the_exact_step() {
    let data = data(N, D, 0.6, 5);
    let design = Csr::new(data.sparse.view()).unwrap();
    for l1 in [0.0, 0.02] {
        let h = L1 { strength: l1 };
        let problem = Problem::new(design, &data.signs, Logistic, h, MU).unwrap();
        let (a, b) = (
            run_sdca(&problem, SdcaStep::Exact, STEPS),
            run_sdca(&problem, SdcaStep::Interval, STEPS),
        );
        assert!(distance(&a.dual, &b.dual) < 1e-13);
    }
}

#[test]
fn miso_and_finito_follow_section_3_4() {
    let data = data(N, D, 0.6, 6);
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, MU).unwrap();
    let l = problem.smoothness();
    let order = Order::Scripted(script());
    for steps in [1, 2, 13, STEPS] {
        let settings =
            MisoSettings { order: order.clone(), stop: stop(steps, 1.0), ..Default::default() };
        let own = miso(&problem, &settings, None, &mut ()).unwrap().state.point.weights;
        assert!(distance(&own, &textbook_surrogate(&data, l, true, steps)) < 1e-13);
        // Finito's own alpha.
        let alpha = f64::max(2.0, 2.0 * l / (N as f64 * MU));
        let settings =
            FinitoSettings { order: order.clone(), stop: stop(steps, 1.0), ..Default::default() };
        let own = finito(&problem, &settings, None, &mut ()).unwrap().state.point.weights;
        assert!(distance(&own, &textbook_surrogate(&data, alpha * MU, true, steps)) < 1e-13);
    }
}

/// With `alpha = 1` the stored points cancel: `n` scalars are enough, and the step is a full dual step.
#[test]
fn miso_mu_needs_no_points() {
    let data = data(N, D, 0.6, 7);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, MU).unwrap();
    let run = |damping, steps| {
        let order = Order::Scripted(script());
        let settings = MisoMuSettings { damping, order, stop: stop(steps, 0.0), seed: 0 };
        let Solution { state, .. } = miso_mu(&problem, &settings, None, &mut ()).unwrap();
        state
    };
    for steps in [1, 2, 13, STEPS] {
        let own = run(Some(1.0), steps).point.weights;
        let printed = textbook_surrogate(&data, MU, false, steps);
        let scale = printed.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        assert!(distance(&own, &printed) <= 1e-14 * scale.max(1.0), "{steps}");
    }
    // Its own damping is the constant step of SDCA, bit for bit.
    let constant = run_sdca(&problem, SdcaStep::Constant, STEPS);
    assert_eq!(run(None, STEPS).dual, constant.dual);
    // A given fraction, written out.
    let (c, mut s) = (0.3, [0.0; N]);
    for j in script() {
        let x: Vector = std::array::from_fn(|k| {
            -(0..N).map(|i| s[i] * data.dense[[i, k]]).sum::<f64>() / (MU * N as f64)
        });
        s[j] += c * (Logistic.derivative(dot(&row(&data, j), &x), data.signs[j]) - s[j]);
    }
    assert!(distance(&run(Some(c), STEPS).dual, &s) < 1e-13);
}
