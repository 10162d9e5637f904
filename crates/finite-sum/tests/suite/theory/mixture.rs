//! SAGA with mixed draws, `p_j = 1/(2n) + L_j/(2 n Lbar)`, on least squares in one variable: stable in mean square with
//! the step `1/(3 Lbar)`, however uneven the rows, and not beyond.

use fenchel_finite_sum::Problem;
use fenchel_finite_sum::loss::Squared;
use fenchel_finite_sum::methods::order::probabilities;
use fenchel_finite_sum::prelude::Order;
use fenchel_linalg::Dense;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::stream;
use ndarray::Array2;
use rand::RngExt;

/// The spectral radius of `Z -> sum_j p_j M_j Z M_j'`, where `M_j` is a step on term `j` from `(x - x*, errors of the
/// table)`: the rate of the second moments. By powers, from the identity, in the interior of the cone that it keeps.
fn radius(l: &[f64], p: &[f64], step: f64) -> f64 {
    let n = l.len();
    let size = n + 1;
    let mut z = Array2::<f64>::eye(size);
    let (mut log, mut counted) = (0.0, 0.0);
    for k in 0..300 {
        let mut next = Array2::<f64>::zeros((size, size));
        for j in 0..n {
            let weight = 1.0 / (n as f64 * p[j]);
            let mut m = Array2::<f64>::eye(size);
            m[[0, 0]] -= step * weight * l[j];
            m[[0, j + 1]] += step * weight;
            (1..size).for_each(|i| m[[0, i]] -= step / n as f64);
            m[[j + 1, j + 1]] = 0.0;
            m[[j + 1, 0]] = l[j];
            next.scaled_add(p[j], &m.dot(&z).dot(&m.t()));
        }
        let trace = next.diag().sum();
        if k >= 100 {
            log += trace.ln();
            counted += 1.0;
        }
        z = next / trace;
    }
    (log / counted).exp()
}

#[test]
fn mixed_draws_are_stable_in_mean_square() {
    let (mut mixed, mut longer, mut uniform) = (0.0f64, 0.0f64, 0.0f64);
    for seed in 0..150 {
        let mut rng = stream(seed, 41);
        let n = rng.random_range(3..=8);
        let x = Array2::from_shape_fn((n, 1), |_| 10f64.powf(rng.random_range(-1.5..1.5)));
        let y = vec![0.0; n];
        let design = Dense::new(x.view()).unwrap();
        let problem = Problem::new(design, &y, Squared, Zero, 0.0).unwrap();
        let l: Vec<f64> = (0..n).map(|j| problem.term_smoothness(j)).collect();
        let mean = l.iter().sum::<f64>() / n as f64;
        let p = probabilities(&problem, &Order::Mixed);
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-14);
        mixed = mixed.max(radius(&l, &p, 1.0 / (3.0 * mean)));
        longer = longer.max(radius(&l, &p, 2.0 / (3.0 * mean)));
        uniform = uniform.max(radius(&l, &vec![1.0 / n as f64; n], 1.0 / (3.0 * mean)));
    }
    // No slower than what a short row needs to be drawn: 1 - 1/(2 n) for n = 8.
    assert!(mixed <= 0.938, "{mixed}");
    assert!(longer > 1.0 && uniform > 1.0, "{longer} {uniform}");
}
