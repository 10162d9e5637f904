//! How two categorical variables adapt: learners, priors, the theory of chapter 4.

use fenchel_causal::categorical::{Anova, CategoricalPair, Intervention, JointCategorical};
use fenchel_causal::direction::{dense_prior, from_counts};
use fenchel_causal::prior::{CategoricalPrior, Target};
use fenchel_experiments::causal::methods::adapt::{
    Average, CategoricalSgd, CategoricalTask, Momentum, Sweep, SweepSettings, Task,
    mean_gradient_step, sweep,
};
use fenchel_experiments::causal::methods::meta::{learn_direction, regret};
use fenchel_experiments::causal::methods::theory::{
    effect_ball, expected_partition_variance, radius_sq_thesis,
};
use fenchel_linalg::special::{log_sum_exp, trigamma};
use ndarray::{Array1, Array2, array};
use proptest::prelude::*;
use rand::RngExt;

use crate::common::{problems, rng};
use crate::theory::{asgd_bound, asgd_step, expected, partition_variance};

/// Scores up to the given size in either direction.
fn pair(kx: usize, ky: usize, size: f64, seed: u64) -> CategoricalPair {
    let mut rng = rng(seed);
    let mut draw = || size * (2.0 * rng.random::<f64>() - 1.0);
    let marginal = Array1::from_shape_simple_fn(kx, &mut draw);
    CategoricalPair::from_logits(
        marginal.view(),
        Array2::from_shape_simple_fn((kx, ky), &mut draw).view(),
    )
    .unwrap()
}

fn scores(k: usize, size: f64, seed: u64) -> Array1<f64> {
    let mut rng = rng(seed);
    Array1::from_shape_simple_fn(k, || size * (2.0 * rng.random::<f64>() - 1.0))
}

fn gap<'a>(a: impl IntoIterator<Item = &'a f64>, b: impl IntoIterator<Item = &'a f64>) -> f64 {
    a.into_iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

fn square(v: impl Iterator<Item = f64>) -> f64 {
    v.map(|e| e * e).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Lazy sums are the sums; momentum 0 is none.
    #[test]
    fn averages_are_those_of_the_plain_loop(
        kx in 2_usize..5, ky in 2_usize..5, step in 0.01_f64..30.0, tail in 0_usize..20, seed in any::<u64>(),
    ) {
        let p = pair(kx, ky, 2.0, seed);
        let mut rng = rng(seed ^ 4);
        let samples: Vec<(usize, usize)> =
            (0..30).map(|_| (rng.random_range(0..kx), rng.random_range(0..ky))).collect();
        for average in [Average::Uniform, Average::Tail { from: tail }, Average::Last] {
            let mut lazy = CategoricalSgd::new(&p, step, average, Momentum::Off).unwrap();
            let mut dense = CategoricalSgd::new(&p, step, average, Momentum::HeavyBall(0.0)).unwrap();
            let (mut s, mut rows) = (p.marginal().to_owned(), p.conditional().to_owned());
            let mut iterates = Vec::new();
            for &(x, y) in &samples {
                iterates.push((s.clone(), rows.clone()));
                let softmax = |v: ndarray::ArrayView1<f64>| v.mapv(|e| (e - log_sum_exp(&v.to_vec())).exp());
                let (gs, gr) = (softmax(s.view()), softmax(rows.row(x)));
                s.scaled_add(-step, &gs);
                s[x] += step;
                rows.row_mut(x).scaled_add(-step, &gr);
                rows[(x, y)] += step;
                lazy.learn((x, y)).unwrap();
                dense.learn((x, y)).unwrap();
            }
            let used = match average {
                Average::Uniform => &iterates[..],
                Average::Tail { from } => &iterates[from..],
                Average::Last => &[(s.clone(), rows.clone())][..],
            };
            let n = used.len() as f64;
            let mean_s = used.iter().fold(Array1::zeros(kx), |a, (s, _)| a + s) / n;
            let mean_r = used.iter().fold(Array2::zeros((kx, ky)), |a, (_, r)| a + r) / n;
            let expected = CategoricalPair::from_logits(mean_s.view(), mean_r.view()).unwrap();
            for model in [lazy.model(), dense.model()] {
                prop_assert!(gap(model.marginal(), expected.marginal()) < 1e-11);
                prop_assert!(gap(model.conditional(), expected.conditional()) < 1e-11);
            }
        }
    }

    /// The ball of proposition 4.5.2 tells which direction is nearer, and its radius is at least (4.43).
    #[test]
    fn the_ball_tells_the_nearer_direction(k in 2_usize..7, size in 0.01_f64..600.0, seed in any::<u64>()) {
        let p = pair(k, k, size, seed);
        let star = scores(k, size, seed ^ 3);
        let q = p.intervene(&Intervention::Effect(star.clone())).unwrap();
        let causal = p.distance_sq(&q).unwrap();
        let anti = p.reverse().distance_sq(&q.reverse()).unwrap();
        let a = Anova::of(&p);
        let n = square((&a.row - &p.marginal()).into_iter());
        let ball = effect_ball(&p, star.view()).unwrap();
        prop_assert!((ball.delta - (causal - anti)).abs() <= 1e-12 * (causal + anti).max(1.0));
        prop_assert!(ball.radius_sq >= n * (1.0 - 1e-12));
        prop_assert!(square((&a.column - &ball.centre).into_iter()).is_finite());
    }

    #[test]
    fn the_regret_and_its_slope(gamma in -20.0_f64..20.0, a in -50.0_f64..50.0, b in -50.0_f64..50.0) {
        let (_, slope) = regret(gamma, a, b);
        let h = 1e-5;
        let numeric = (regret(gamma + h, a, b).0 - regret(gamma - h, a, b).0) / (2.0 * h);
        prop_assert!((slope - numeric).abs() < 1e-6, "{slope} {numeric}");
        let (value, slope) = regret(gamma, 1e6 * a, 1e6 * b);
        prop_assert!(value.is_finite() && slope.abs() <= 1.0);
    }
}

/// Moments of the priors against their closed forms, within five standard errors.
#[test]
fn priors_have_their_moments() {
    let (k, draws) = (5, 3000);
    for (prior, sparse) in
        [(CategoricalPrior::dense(k), false), (CategoricalPrior::sparse(k), true)]
    {
        let mut rng = rng(u64::from(sparse));
        let mut values: Vec<Vec<f64>> = vec![Vec::new(); 7];
        for _ in 0..draws {
            let p = prior.sample(&mut rng).unwrap();
            let a = Anova::of(&p);
            values[0].push(square((&a.row - &a.marginal_x).into_iter()));
            values[1].push(square(a.marginal_y.iter().copied()));
            for (at, target) in [(2, Target::Cause), (4, Target::Effect)] {
                let i = prior.sample_intervention(&p, target, &mut rng).unwrap();
                let q = p.intervene(&i).unwrap();
                values[at].push(p.distance_sq(&q).unwrap());
                values[at + 1].push(q.kl(&p).unwrap());
            }
            values[6].push(square(a.marginal_x.iter().copied()));
        }
        let e = expected(k, prior.rows);
        let simplex = (k - 1) as f64 * trigamma(1.0);
        let mut claims = vec![
            (0, expected_partition_variance(k, prior.rows)),
            (2, e.cause_causal),
            (3, e.cause_kl),
            (4, e.effect_causal),
            (5, e.effect_kl),
            (6, simplex),
        ];
        // Theorem 4.C.1: under the sparse prior the effect's marginal is uniform on the simplex too.
        claims.extend(sparse.then_some((1, simplex)));
        for (which, claim) in claims {
            let n = draws as f64;
            let mean = values[which].iter().sum::<f64>() / n;
            let deviation = (square(values[which].iter().map(|v| v - mean)) / n / n).sqrt();
            assert!(
                (mean - claim).abs() < 5.0 * deviation,
                "sparse {sparse}, {which}: {mean} +- {deviation}, {claim}"
            );
        }
    }
    // The numbers of the text for K = 20.
    assert!((expected(20, 1.0).cause_causal - 62.507).abs() < 1e-3);
    assert!((expected(20, 0.05).effect_kl - 17.323).abs() < 1e-3);
    assert!((expected_partition_variance(20, 1.0) - 0.5885).abs() < 1e-4);
    assert!((expected_partition_variance(20, 0.05) - 350.20).abs() < 1e-2);
    assert!(
        (radius_sq_thesis(20, 1.0) - 2.67).abs() < 1e-2
            && (radius_sq_thesis(20, 0.05) - 434.5).abs() < 0.1
    );
}

/// Theorem 4.A.1 with its constants: the mean KL over 100 runs is below the bound for all three models, steps over two decades, and
/// eight pairs of either prior.
#[test]
fn the_bound_of_averaged_descent_holds() {
    let (k, steps) = (8, 100);
    for seed in 0..8 {
        let target = [Target::Cause, Target::Effect][seed as usize % 2];
        let prior = if seed < 4 { CategoricalPrior::dense(k) } else { CategoricalPrior::sparse(k) };
        let p = prior.sample(&mut rng(seed)).unwrap();
        let change = prior.sample_intervention(&p, target, &mut rng(seed + 50)).unwrap();
        let q = p.intervene(&change).unwrap();
        let task = CategoricalTask::new(&p, &q).unwrap();
        for (model, b2) in [(0, 4.0), (1, 4.0), (2, 2.0)] {
            for c in [0.3, 3.0, 30.0] {
                let step = c / f64::from(steps).sqrt();
                let mean = (0..100)
                    .map(|run| {
                        let samples = task.draw(steps as usize, &mut rng(100 + run));
                        *task
                            .run(model, step, Average::Uniform, 100, &samples)
                            .unwrap()
                            .last()
                            .unwrap()
                    })
                    .sum::<f64>()
                    / 100.0;
                let bound = asgd_bound(task.distance_sq(model).unwrap(), b2, c, 100);
                assert!(mean <= bound, "{target:?} {model} {c}: {mean} above {bound}");
            }
        }
    }
}

/// The same curves on one thread and on many.
#[test]
fn a_sweep_is_deterministic_and_finds_the_order_of_figure_4_5() {
    let k = 10;
    let prior = CategoricalPrior::dense(k);
    let tasks = |target| -> Vec<CategoricalTask> {
        (0..20)
            .map(|r| {
                let mut rng = rng(r);
                let p = prior.sample(&mut rng).unwrap();
                let i = prior.sample_intervention(&p, target, &mut rng).unwrap();
                CategoricalTask::new(&p, &p.intervene(&i).unwrap()).unwrap()
            })
            .collect()
    };
    let settings = SweepSettings {
        samples: 50,
        tune_at: 20,
        steps: vec![0.3, 1.0, 3.0],
        ..SweepSettings::default()
    };
    let on_threads = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| sweep(&tasks(Target::Cause), &settings).unwrap())
    };
    let cause = on_threads(1);
    for threads in [2, 5] {
        assert_eq!(cause, on_threads(threads), "{threads} threads");
    }
    let start: Vec<f64> = cause.models.iter().map(|model| model.mean[0]).collect();
    assert!((start[0] - start[1]).abs() < 1e-12 && (start[0] - start[2]).abs() < 1e-12);
    let at = |sweep: &Sweep, model: usize| {
        let place = sweep.times.iter().position(|&time| time == 20).unwrap();
        sweep.models[model].mean[place]
    };
    assert!(at(&cause, 0) < at(&cause, 1));
    let effect = sweep(&tasks(Target::Effect), &settings).unwrap();
    assert!(at(&effect, 1) < at(&effect, 0), "the anticausal model is faster here");
}

#[test]
fn the_learned_direction_is_wrong_after_interventions_on_the_effect() {
    let prior = CategoricalPrior::dense(10);
    let p = prior.sample(&mut rng(3)).unwrap();
    let learn = |share| learn_direction(&p, &prior, share, 400, 1);
    let (cause, effect) = (learn(0.0).unwrap(), learn(1.0).unwrap());
    assert!(cause.belief > 0.7 && cause.advantage.0 > 3.0 * cause.advantage.1, "{cause:?}");
    assert!(effect.belief < 0.3 && effect.advantage.0 < -3.0 * effect.advantage.1, "{effect:?}");
    assert!(learn(1.5).is_err());
}

/// The step that the theorem recommends minimises its bound, which is then `distance B / sqrt(T)`.
#[test]
fn the_best_step_of_the_bound() {
    let (distance_sq, b2, steps) = (7.0, 4.0, 50);
    let root = f64::from(steps).sqrt();
    let best = asgd_step(distance_sq, b2, steps as usize) * root;
    let bound = |c: f64| asgd_bound(distance_sq, b2, c, steps as usize);
    assert!((bound(best) - (distance_sq * b2).sqrt() / root).abs() < 1e-14);
    assert!(bound(0.99 * best) > bound(best) && bound(1.01 * best) > bound(best));
}

/// The step on a batch is the mean of the steps of a learner on its samples, in both directions.
#[test]
fn the_step_on_a_batch_is_the_mean_of_the_steps_on_samples() {
    let start = pair(3, 4, 2.0, 1);
    let batch = [(0, 1), (2, 3), (2, 0), (0, 1), (1, 2)];
    for start in [start.clone(), start.reverse()] {
        let (mut marginal, mut rows) =
            (Array1::zeros(start.shape().0), Array2::zeros(start.shape()));
        for &sample in &batch {
            let mut one = CategoricalSgd::new(&start, 0.3, Average::Last, Momentum::Off).unwrap();
            one.learn(sample).unwrap();
            marginal.scaled_add(0.2, &one.model().marginal());
            rows.scaled_add(0.2, &one.model().conditional());
        }
        let found = mean_gradient_step(&start, &batch, 0.3).unwrap();
        assert!(
            gap(&marginal, found.marginal()) < 1e-14 && gap(&rows, found.conditional()) < 1e-14
        );
        assert_eq!(found.direction(), start.direction());
    }
    assert!(mean_gradient_step(&start, &[(3, 0)], 0.1).is_err());
    assert!(mean_gradient_step(&start, &[], 0.1).is_err());
    assert!(mean_gradient_step(&start, &batch, 0.0).is_err());
}

/// The curves of a task are the divergences of the learners' models, for scores of any size and numbers of states that no vector divides.
#[test]
fn curves_are_the_divergences_of_the_models() {
    for (kx, ky, size) in [(3, 5, 1.0), (7, 4, 20.0), (9, 11, 300.0), (1, 3, 2.0)] {
        let (p, q) = (pair(kx, ky, size, 1), pair(kx, ky, size, 2));
        let task = CategoricalTask::new(&p, &q).unwrap();
        let samples = task.draw(30, &mut rng(3));
        for average in [Average::Last, Average::Uniform, Average::Tail { from: 7 }] {
            let curves = [0, 1, 2].map(|m| task.run(m, 0.7, average, 1, &samples).unwrap());
            let mut directed = [p.clone(), p.reverse()]
                .map(|start| CategoricalSgd::new(&start, 0.7, average, Momentum::Off).unwrap());
            let mut joint = CategoricalSgd::joint(&JointCategorical::of(&p), 0.7, average).unwrap();
            for (t, &sample) in samples.iter().enumerate() {
                let mut expected = Vec::new();
                for sgd in &mut directed {
                    sgd.learn(sample).unwrap();
                    expected.push(q.kl(&sgd.model()).unwrap());
                }
                joint.learn(sample).unwrap();
                expected.push(q.kl(&joint.model()).unwrap());
                for (curve, kl) in curves.iter().zip(expected) {
                    let found = curve[t + 1];
                    assert!(
                        (found - kl).abs() <= 1e-12 * (1.0 + kl),
                        "{kx} {ky} {size} {t}: {found} {kl}"
                    );
                }
            }
        }
    }
}

/// Log-odds under a heavy prior, from 50 digits of rising factorials.
#[test]
fn the_odds_of_a_direction_keep_their_digits_under_a_heavy_prior() {
    let counts = array![[3.0, 1.0], [0.0, 2.0]];
    let odds = from_counts(counts.view(), 1e9, 1.0).unwrap().log_odds;
    assert!((odds - 4.99999998875e-10).abs() < 1e-13, "{odds:e}");
}

#[test]
fn bad_arguments_of_learners_are_refused() {
    let p = pair(2, 2, 1.0, 1);
    let mut sgd = CategoricalSgd::new(&p, 1.0, Average::Uniform, Momentum::Off).unwrap();
    assert_eq!(
        sgd.learn((0, 2)).unwrap_err().to_string(),
        "category 2 of Y: there are 2, counted from 0"
    );
    for step in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(CategoricalSgd::new(&p, step, Average::Uniform, Momentum::Off).is_err());
        assert!(CategoricalSgd::joint(&JointCategorical::of(&p), step, Average::Uniform).is_err());
    }
    assert!(CategoricalSgd::new(&p, 1.0, Average::Uniform, Momentum::Nesterov(1.0)).is_err());
    assert!(effect_ball(&p, array![0.0, f64::NAN].view()).is_err());
}

#[test]
fn learners_of_pairs_stay_numbers() {
    for seed in 0..problems() {
        let mut rng = rng(seed);
        let (a, b) = (rng.random_range(1..5), rng.random_range(1..5));
        let size = 10f64.powf(rng.random_range(-3.0..3.0));
        let mut draw = || {
            let marginal = Array1::from_shape_simple_fn(a, || size * (rng.random::<f64>() - 0.5));
            let rows = Array2::from_shape_simple_fn((a, b), || size * (rng.random::<f64>() - 0.5));
            CategoricalPair::from_logits(marginal.view(), rows.view()).unwrap()
        };
        let (reference, transfer) = (draw(), draw());
        let samples = transfer.sample(20, &mut rng);
        let fine = |what: &str, model: &CategoricalPair| {
            for other in [&reference, &transfer] {
                for kl in [model.kl(other).unwrap(), other.kl(model).unwrap()] {
                    assert!((0.0..f64::INFINITY).contains(&kl), "seed {seed} {what}: {kl}");
                }
            }
            let all = Anova::of(model).distances(&Anova::of(&reference)).unwrap();
            assert!(all.causal + all.anticausal + all.joint < f64::INFINITY, "seed {seed} {what}");
            assert!(dense_prior(model).probability >= 0.0, "seed {seed} {what}");
        };
        for start in [reference.clone(), reference.reverse()] {
            let step = 10f64.powf(rng.random_range(-9.0..9.0));
            for momentum in [Momentum::Off, Momentum::HeavyBall(0.9), Momentum::Nesterov(0.9)] {
                for average in [Average::Last, Average::Uniform, Average::Tail { from: 5 }] {
                    let mut sgd = CategoricalSgd::new(&start, step, average, momentum).unwrap();
                    sgd.learn_all(&samples).unwrap();
                    fine("CategoricalSgd", &sgd.model());
                    assert_eq!(sgd.model().direction(), start.direction());
                }
            }
            fine("mean step", &mean_gradient_step(&start, &samples, step).unwrap());
        }
        let joint = JointCategorical::of(&reference);
        let mut sgd = CategoricalSgd::joint(&joint, 0.1, Average::Uniform).unwrap();
        let mut counts = Array2::zeros((a, b));
        for &(x, y) in &samples {
            sgd.learn((x, y)).unwrap();
            counts[(x, y)] += 1.0;
        }
        fine("joint", &sgd.model());
        fine("from_counts", &CategoricalPair::from_counts(counts.view(), 0.5).unwrap());
        assert!(from_counts(counts.view(), 1.0, 0.5).unwrap().log_odds.is_finite());
        if a == b && a > 1 {
            let prior = CategoricalPrior::dense(a);
            let learned = learn_direction(&reference, &prior, 0.5, 3, seed).unwrap();
            assert!(learned.belief >= 0.0 && learned.advantage.0.is_finite(), "seed {seed}");
        }
    }
}

/// Slopes from 200 digits of `s(a) - s(b)`.
#[test]
fn the_slope_of_a_regret_keeps_its_digits() {
    for (gamma, right) in [
        (0.0, -0.14565630622579537),
        (20.0, -9.299_685_276_981_487e-10),
        (36.0, -1.0465417108201485e-16),
        (-36.0, -1.9069233266782387e-16),
        (100.0, -1.678454993226758e-44),
    ] {
        let found = regret(gamma, -12.3, -12.9).1;
        assert!((found / right - 1.0).abs() < 1e-13, "{gamma}: {found} for {right}");
    }
}

/// Numbers whose sums, products or squares are no numbers any more.
#[test]
fn steps_beyond_their_range_are_refused() {
    let zeros = array![[0.0, 0.0], [0.0, 0.0]];
    let pair = CategoricalPair::from_logits(array![0.0, 1.0].view(), zeros.view()).unwrap();
    let error = CategoricalSgd::new(&pair, 1e308, Average::Uniform, Momentum::Off).unwrap_err();
    assert_eq!(error.to_string(), "step = 1e308; expected a positive number of at most 1e100");
    assert!(mean_gradient_step(&pair, &[(0, 0)], 1e308).is_err());
    let mut sgd = CategoricalSgd::new(&pair, 1e100, Average::Uniform, Momentum::HeavyBall(0.999));
    for _ in 0..50 {
        sgd.as_mut().unwrap().learn((1, 0)).unwrap();
        let model = sgd.as_ref().unwrap().model();
        assert!(model.marginal().iter().chain(model.conditional()).all(|s| s.is_finite()));
    }
}

/// Proposition 4.B.6, and the means of the radius and of the difference of distances under the sparse prior: 388.0 and 361 pi^2 / 3 = 1187.64 at K = 20,
/// and over draws at K = 4.
#[test]
fn the_ball_of_proposition_4_5_2_has_its_means_under_the_sparse_prior() {
    let at = |k| expected(k, 1.0 / k as f64);
    assert!((at(20).radius_sq.unwrap() - 388.0).abs() < 0.1);
    assert!((at(20).effect_delta.unwrap() - 1187.642).abs() < 1e-3);
    assert_eq!(expected(20, 1.0).radius_sq, None);
    let (prior, mut rng, draws) = (CategoricalPrior::sparse(4), rng(9), 20_000);
    let mut sums = [[0.0; 2]; 2];
    for _ in 0..draws {
        let p = prior.sample(&mut rng).unwrap();
        let change = prior.sample_intervention(&p, Target::Effect, &mut rng).unwrap();
        let Intervention::Effect(scores) = change else { panic!("an effect was asked for") };
        let ball = effect_ball(&p, scores.view()).unwrap();
        for (sum, value) in sums.iter_mut().zip([ball.radius_sq, ball.delta]) {
            sum[0] += value;
            sum[1] += value * value;
        }
        let anova = Anova::of(&p);
        let direct = square((&anova.row - &anova.marginal_x).into_iter());
        assert!((partition_variance(&p) - direct).abs() <= 1e-9 * (1.0 + direct));
    }
    let n = f64::from(draws);
    for (sum, exact) in sums.iter().zip([at(4).radius_sq.unwrap(), at(4).effect_delta.unwrap()]) {
        let (mean, error) = (sum[0] / n, ((sum[1] / n - (sum[0] / n).powi(2)) / n).sqrt());
        assert!((mean - exact).abs() < 4.0 * error, "{mean} +- {error}, {exact}");
    }
}
