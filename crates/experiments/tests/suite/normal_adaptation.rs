//! How two normal vectors adapt: the proximal method, priors, the theory of appendix 4.E.

use fenchel_causal::normal::{CholeskyPair, MeanPair};
use fenchel_causal::prior::{NormalPrior, Target};
use fenchel_datasets::generate::odd;
use fenchel_experiments::causal::methods::adapt::{
    Average, NormalTask, ProximalSgd, SweepSettings, Task, sweep,
};
use fenchel_experiments::causal::methods::theory::proximal_bound;
use ndarray::{Array1, Array2, Axis, array};
use rand::RngExt;

use crate::common::{problems, rng};
use crate::theory::expected_normal;

/// The gradient step is that of the loss: finite differences of the smooth part, then the proximal map of the barrier.
#[test]
fn one_proximal_step_by_finite_differences() {
    let prior = NormalPrior::new(3);
    let mut rng = rng(4);
    let p = prior.sample(&mut rng).unwrap();
    let sample = p.sample(1, &mut rng).row(0).to_owned();
    let step = 1e-3;
    let mut sgd = ProximalSgd::new(&p, step, Average::Last).unwrap();
    sgd.learn(sample.view()).unwrap();
    let after = sgd.model().unwrap();
    let (x, y) = (
        sample.iter().take(3).copied().collect::<Array1<f64>>(),
        sample.iter().skip(3).copied().collect::<Array1<f64>>(),
    );
    let smooth =
        |z: &Array1<f64>, l: &Array2<f64>, m: &Array2<f64>, s: &Array1<f64>, g: &Array2<f64>| {
            let (a, b) = (l.t().dot(&x) - z, g.t().dot(&y) - m.dot(&x) - s);
            (a.dot(&a) + b.dot(&b)) / 2.0
        };
    let value =
        |z: &Array1<f64>, l: &Array2<f64>, m: &Array2<f64>, s: &Array1<f64>, g: &Array2<f64>| {
            smooth(z, l, m, s, g)
        };
    let h = 1e-6;
    let barrier = |d: f64| (d + (d * d + 4.0 * step).sqrt()) / 2.0;
    for i in 0..3 {
        for j in 0..=i {
            let moved = |e: f64| {
                let mut l = p.factor().clone();
                l[(i, j)] += e;
                value(p.zeta(), &l, p.slope(), p.intercept(), p.factor_given())
            };
            let gradient = (moved(h) - moved(-h)) / (2.0 * h);
            let target = p.factor()[(i, j)] - step * gradient;
            let target = if i == j { barrier(target) } else { target };
            assert!((after.factor()[(i, j)] - target).abs() < 1e-8);
            let moved = |e: f64| {
                let mut g = p.factor_given().clone();
                g[(i, j)] += e;
                value(p.zeta(), p.factor(), p.slope(), p.intercept(), &g)
            };
            let gradient = (moved(h) - moved(-h)) / (2.0 * h);
            let target = p.factor_given()[(i, j)] - step * gradient;
            let target = if i == j { barrier(target) } else { target };
            assert!((after.factor_given()[(i, j)] - target).abs() < 1e-7);
        }
        for j in 0..3 {
            let moved = |e: f64| {
                let mut m = p.slope().clone();
                m[(i, j)] += e;
                value(p.zeta(), p.factor(), &m, p.intercept(), p.factor_given())
            };
            let gradient = (moved(h) - moved(-h)) / (2.0 * h);
            assert!((after.slope()[(i, j)] - p.slope()[(i, j)] + step * gradient).abs() < 1e-8);
        }
    }
}

/// Theorem 4.D.2 as printed says that a run started at the optimum stays there. It does not; the corrected bound holds.
#[test]
fn the_proximal_rate_needs_its_noise_term() {
    let (values, weights) = ([-1.0, 1.0, 2.0], [0.3, 0.4, 0.3]);
    let mean: f64 = values.iter().zip(weights).map(|(v, w)| v * w).sum();
    let variance: f64 = values.iter().zip(weights).map(|(v, w)| w * (v - mean) * (v - mean)).sum();
    // One dimension, as the marginal of a pair whose second vector is constant noise that starts at its optimum too.
    let l = 1.0 / variance.sqrt();
    let (zeta, b) = (l * mean, 5.0);
    let loss = |z: f64, l: f64| -> f64 {
        values.iter().zip(weights).map(|(v, w)| w * (l * v - z).powi(2) / 2.0).sum::<f64>() - l.ln()
    };
    let noise: f64 = {
        let gradient = |v: f64| ((zeta - l * v), v * (l * v - zeta));
        let full = values
            .iter()
            .zip(weights)
            .fold((0.0, 0.0), |s, (v, w)| (s.0 + w * gradient(*v).0, s.1 + w * gradient(*v).1));
        values
            .iter()
            .zip(weights)
            .map(|(v, w)| {
                let g = gradient(*v);
                w * ((g.0 - full.0).powi(2) + (g.1 - full.1).powi(2))
            })
            .sum()
    };
    let start =
        CholeskyPair::new(array![zeta], array![[l]], array![[0.0]], array![0.0], array![[1.0]])
            .unwrap();
    // The printed theorem allows c up to 1 / (3 B), the corrected one up to 1 / (5 B).
    for (c, corrected) in [(1.0 / (3.0 * b), false), (1.0 / (5.0 * b), true)] {
        for steps in [1_usize, 100] {
            let runs = 4000;
            let mut total = 0.0;
            for run in 0..runs {
                let mut rng = rng(run);
                let step = c / (steps as f64).sqrt();
                // The mean of the iterates 1 to T: one more step makes T of them count.
                let mut sgd = ProximalSgd::new(&start, step, Average::Tail { from: 1 }).unwrap();
                for _ in 0..=steps {
                    let u: f64 = rng.random();
                    let v = if u < 0.3 {
                        values[0]
                    } else if u < 0.7 {
                        values[1]
                    } else {
                        values[2]
                    };
                    sgd.learn(array![v, 0.0].view()).unwrap();
                }
                let model = sgd.model().unwrap();
                total += loss(model.zeta()[0], model.factor()[(0, 0)]) - loss(zeta, l);
            }
            let gap = total / runs as f64;
            assert!(gap > 1e-4, "c = {c}, T = {steps}: {gap:e}: the printed bound is 0");
            if corrected {
                let bound = proximal_bound(0.0, noise, 0.0, c, steps);
                assert!(gap <= bound, "T = {steps}: {gap:e} above {bound:e}");
            }
        }
    }
}

#[test]
fn the_prior_has_its_expectations() {
    let k = 5;
    let prior = NormalPrior::new(k);
    let e = expected_normal(k, prior.scale, prior.slope);
    let mut rng = rng(8);
    let mut values: Vec<Vec<f64>> = vec![Vec::new(); 4];
    for _ in 0..1500 {
        let p = prior.sample(&mut rng).unwrap();
        for (at, target) in [(0, Target::Cause), (2, Target::Effect)] {
            let q = p.intervene(&prior.sample_intervention(target, &mut rng).unwrap()).unwrap();
            values[at].push(p.to_natural().distance_sq(&q.to_natural()).unwrap());
            values[at + 1].push(q.kl(&p).unwrap());
        }
    }
    let claims = [e.cause_natural, e.cause_kl, e.effect_natural, e.effect_kl];
    for (values, claim) in values.iter().zip(claims) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let deviation =
            (values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n / n).sqrt();
        assert!((mean - claim).abs() < 5.0 * deviation, "{mean} +- {deviation}, {claim}");
    }
    let ten = expected_normal(10, 10.0, 0.95 / 10_f64.sqrt());
    assert!((ten.cause_natural - 50.4).abs() < 1e-9 && (ten.effect_natural - 12_927.7).abs() < 0.1);
    assert!((ten.cause_kl - 5.68).abs() < 0.01 && (ten.effect_kl - 182.6).abs() < 0.1);
}

#[test]
fn steps_that_are_too_long_diverge() {
    let prior = NormalPrior::new(4);
    let mut rng = rng(2);
    let p = prior.sample(&mut rng).unwrap();
    let q = p.intervene(&prior.sample_intervention(Target::Cause, &mut rng).unwrap()).unwrap();
    let task = NormalTask::new(&p, &q).unwrap();
    let samples = task.draw(400, &mut rng);
    let curve = task.run(0, 10.0, Average::Uniform, 100, &samples).unwrap();
    assert!(curve.last().unwrap().is_infinite() || *curve.last().unwrap() > 1e3);
    let settings = SweepSettings { steps: vec![0.01, 0.03], ..SweepSettings::default() };
    let swept = sweep(&[task], &settings).unwrap();
    assert_eq!(swept.models.len(), 2);
    assert!((swept.models[0].mean[0] - swept.models[1].mean[0]).abs() < 1e-9);
    assert!(ProximalSgd::new(&p, 0.0, Average::Last).is_err());
    assert!(prior.sample_intervention(Target::Noise, &mut rng).is_err());
}

#[test]
fn proximal_steps_give_a_law_or_none() {
    for seed in 0..problems() {
        let problem = odd(seed);
        let d = problem.x.ncols().min(4);
        if d < 2 {
            continue;
        }
        let first = d / 2;
        let start = MeanPair {
            mean: Array1::zeros(first),
            covariance: Array2::eye(first),
            slope: Array2::zeros((d - first, first)),
            intercept: Array1::zeros(d - first),
            covariance_given: Array2::eye(d - first),
        }
        .to_cholesky()
        .unwrap();
        for start in [start.clone(), start.reverse()] {
            let mut sgd = ProximalSgd::new(&start, 0.1, Average::Uniform).unwrap();
            for row in problem.x.rows() {
                sgd.learn(row.split_at(Axis(0), d).0).unwrap();
            }
            if let Some(model) = sgd.model() {
                assert!(model.zeta().iter().chain(model.slope()).all(|v| v.is_finite()));
                assert_eq!(model.direction(), start.direction());
            }
        }
    }
}
#[test]
fn steps_beyond_their_range_are_refused() {
    let pair = NormalPrior::new(1).sample(&mut rng(1)).unwrap();
    assert!(ProximalSgd::new(&pair, 1e308, Average::Last).is_err());
}
