//! The theorems of the SPG paper with their constants. Gradients are exact, errors injected, optima certified.

use fenchel_mrf_learn::{
    Coordinates, Data, ExactMle, Penalty, bounds, layout::packed_length, synthetic,
};
use fenchel_optim::Regulariser;
use fenchel_optim::random::stream;
use proptest::prelude::*;
use rand::RngExt;

use crate::common::{brute, dot, norm, random_theta, two_states};

fn data(p: usize, seed: u64) -> Data {
    let truth = synthetic::random_network(p, 0.5, (0.5, 2.0), seed).unwrap();
    synthetic::exact_draws(&truth, 60, seed).unwrap()
}

struct Objective {
    p: usize,
    target: Vec<f64>,
    h: fenchel_mrf_learn::Strengths,
}

impl Objective {
    fn new(data: &Data, lambda: f64) -> Self {
        let p = data.variables();
        let h = Penalty::l1(lambda).strengths(&two_states(p)).unwrap();
        Objective { p, target: data.means(Coordinates::Binary).unwrap(), h }
    }

    /// `g` and the gradient of `f`.
    fn at(&self, theta: &[f64]) -> (f64, Vec<f64>) {
        let model = two_states(self.p).binary(theta).unwrap().0;
        let (log_z, _, means) = brute(&model);
        let gradient = means.iter().zip(&self.target).map(|(a, b)| a - b).collect();
        (log_z - dot(theta, &self.target) + self.h.value(theta), gradient)
    }

    /// A step with the gradient off by `delta`: the next point and `G`.
    fn step(&self, theta: &[f64], delta: &[f64], alpha: f64) -> (Vec<f64>, Vec<f64>) {
        let gradient = self.at(theta).1;
        let mut next: Vec<f64> =
            (0..theta.len()).map(|c| theta[c] - alpha * (gradient[c] + delta[c])).collect();
        self.h.prox(&mut next, alpha);
        let mapping = theta.iter().zip(&next).map(|(a, b)| (a - b) / alpha).collect();
        (next, mapping)
    }
}

fn noise(m: usize, scale: f64, seed: u64) -> Vec<f64> {
    let mut random = stream(seed, 5);
    (0..m).map(|_| scale * (2.0 * random.random::<f64>() - 1.0)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Theorem 1 with L = m/4, its corollary, and the two-point inequality of lemma 3.
    #[test]
    fn steps_decrease_as_theorem_1_says(
        p in 1usize..6, lambda in 0.0..0.3, scale in 0.0..2.0, size in 0.0..1.0, seed in 0u64..100_000,
    ) {
        let m = packed_length(p);
        let objective = Objective::new(&data(p, seed % 50), lambda);
        let theta = random_theta(p, scale, seed);
        let delta = noise(m, size, seed);
        let alpha = 1.0 / bounds::lipschitz_bound(p);
        let (next, mapping) = objective.step(&theta, &delta, alpha);
        let (before, _) = objective.at(&theta);
        let (after, _) = objective.at(&next);
        let square = dot(&mapping, &mapping);
        prop_assert!(after - before <= alpha * dot(&delta, &mapping) - 0.5 * alpha * square + 1e-10);
        if norm(&delta) < 0.5 * norm(&mapping) {
            prop_assert!(after < before + 1e-12);
        }
        let other = random_theta(p, scale, seed + 1);
        let (there, _) = objective.at(&other);
        let along: Vec<f64> = theta.iter().zip(&other).map(|(a, b)| a - b).collect();
        let ahead: Vec<f64> = next.iter().zip(&other).map(|(a, b)| a - b).collect();
        let bound = there + dot(&mapping, &along) - dot(&delta, &ahead) - 0.5 * alpha * square;
        prop_assert!(after <= bound + 1e-10, "{after} {bound}");
    }
}

/// Theorem 2 where the run is monotone, theorem 7 for the average of the iterates in any case.
#[test]
fn rates_hold_with_injected_errors() {
    let p = 4;
    let m = packed_length(p);
    let l = bounds::lipschitz_bound(p);
    let mut monotone_runs = 0;
    for seed in 0..30 {
        let data = data(p, seed);
        let objective = Objective::new(&data, 0.02);
        let mut best = ExactMle { penalty: Penalty::l1(0.02), ..ExactMle::default() };
        best.stop.absolute = 1e-10;
        let best = best.fit(&data).unwrap();
        let (optimum, point) = (best.report.certificate.objective().unwrap(), best.theta);
        let size = [0.0, 1e-3, 3e-2][seed as usize % 3];
        let mut theta = random_theta(p, 1.0, seed);
        let far: Vec<f64> = theta.iter().zip(&point).map(|(a, b)| a - b).collect();
        let (mut errors, mut monotone) = (0.0, true);
        let mut value = objective.at(&theta).0;
        let mut sum = vec![0.0; m];
        for k in 1..=60 {
            let delta = noise(m, size, 1000 * seed + k);
            errors += norm(&delta);
            theta = objective.step(&theta, &delta, 1.0 / l).0;
            let next = objective.at(&theta).0;
            monotone &= next <= value + 1e-13;
            value = next;
            sum.iter_mut().zip(&theta).for_each(|(sum, t)| *sum += t);
            let bound = l / (2.0 * k as f64) * (norm(&far) + 2.0 / l * errors).powi(2);
            let average: Vec<f64> = sum.iter().map(|s| s / k as f64).collect();
            assert!(objective.at(&average).0 - optimum <= bound + 1e-9);
            if monotone {
                assert!(value - optimum <= bound + 1e-9, "{seed} {k}");
            }
        }
        monotone_runs += usize::from(monotone);
    }
    assert!(monotone_runs >= 10, "exact runs are monotone, {monotone_runs}");
}
