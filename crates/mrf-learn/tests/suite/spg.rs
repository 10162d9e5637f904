use fenchel_graphical::Influence;
use fenchel_mrf_learn::spg::spg_network;
use fenchel_mrf_learn::{
    ChainStart, Coordinates, Data, Error, ExactMle, Layout, MissingPolicy, NonAsymptotic, Penalty,
    Schedule, Spg, Tay, Uncertified, Warning, bounds, synthetic,
};
use fenchel_optim::{Progress, Status, StepSize};
use ndarray::array;

use crate::common::{brute, norm, two_states};

fn data(p: usize, rows: usize, seed: u64) -> Data {
    let truth = synthetic::random_network(p, 0.3, (1.0, 2.0), seed).unwrap();
    synthetic::exact_draws(&truth, rows, seed).unwrap()
}

fn gap(data: &Data, theta: &[f64], penalty: &Penalty, optimum: f64) -> f64 {
    use fenchel_optim::Regulariser;
    let p = data.variables();
    let model = Layout::two_states(p, Coordinates::Binary).unwrap().binary(theta).unwrap().0;
    let target = data.means(Coordinates::Binary).unwrap();
    let linear: f64 = theta.iter().zip(&target).map(|(a, b)| a * b).sum();
    brute(&model).0 - linear + penalty.strengths(&two_states(p)).unwrap().value(theta) - optimum
}

/// At zero parameters one sweep is exact: TAY starts with 1, and its grand sums are those of the influence matrix.
#[test]
fn tay_starts_with_one_sweep_and_certifies_its_steps() {
    let data = data(8, 500, 2);
    let model = Spg { penalty: Penalty::l1(0.03), ..Spg::default() }.fit(&data).unwrap();
    assert_eq!(model.trace[0].sweeps, 1);
    assert_eq!(model.trace[0].bias_bound, 0.0);
    for record in &model.trace {
        let stopped_early = record.radius.unwrap() >= 1.0 || record.sweeps == 200;
        assert!(record.certified || stopped_early, "{record:?}");
    }
    assert!(model.trace.iter().any(|record| record.sweeps > 1));
    // The criterion is met for the first time: one sweep fewer would not have done, with any mapping that is not larger.
    let influence = model.influence().unwrap();
    let sums = bounds::grand_sums(&influence, 3);
    let power = influence.to_dense();
    let mut d = [1.0; 8];
    for sum in sums {
        for i in 0..8 {
            d[i] = (0..8).map(|j| power[[i, j]] * d[j]).sum();
        }
        assert!((d.iter().sum::<f64>() - sum).abs() < 1e-12);
    }
}

/// Every sampled schedule comes near the exact optimum, but for one sweep from fresh coins, which is biased.
#[test]
fn schedules_reach_the_optimum_and_restarts_do_not() {
    let data = data(8, 1000, 3);
    let penalty = Penalty::l1(0.025);
    let exact = ExactMle { penalty: penalty.clone(), ..ExactMle::default() }.fit(&data).unwrap();
    let optimum = exact.report.certificate.objective().unwrap();
    let base = Spg {
        penalty: penalty.clone(),
        step: StepSize::Constant(0.4),
        noise_floor: None,
        ..Spg::default()
    }
    .with_iterations(150);
    let run = |spg: Spg| {
        let model = spg.fit(&data).unwrap();
        let sweeps: usize = model.trace.iter().map(|r| r.sweeps).sum();
        (gap(&data, &model.theta, &penalty, optimum), sweeps)
    };
    let (tay, tay_sweeps) = run(base.clone());
    let (fixed, fixed_sweeps) = run(Spg { schedule: Schedule::Fixed(30), ..base.clone() });
    let (pcd, _) = run(Spg { schedule: Schedule::Fixed(1), ..base.clone() });
    let restart = Spg { schedule: Schedule::Fixed(1), start: ChainStart::Restart, ..base.clone() };
    let (biased, _) = run(restart);
    assert!(tay < 0.02 && fixed < 0.02 && pcd < 0.02, "{tay} {fixed} {pcd}");
    assert!(biased > 5.0 * tay, "{biased} {tay}");
    assert!(tay_sweeps < fixed_sweeps / 2, "{tay_sweeps} {fixed_sweeps}");
    let sweeps = base.clone();
    let increasing =
        Spg { schedule: Schedule::Increasing, ..sweeps }.with_iterations(20).fit(&data).unwrap();
    assert!(increasing.trace.iter().enumerate().all(|(k, record)| record.sweeps == k + 1));
}

/// The same bits on one thread and on many, and again.
#[test]
fn a_seed_determines_every_bit() {
    let data = data(7, 200, 4);
    let spg = Spg { penalty: Penalty::l1(0.03), chains: 700, seed: 11, ..Spg::default() }
        .with_iterations(20);
    let fit = || {
        let mut model = spg.fit(&data).unwrap();
        model.report = model.report.without_seconds();
        model
    };
    let a = fit();
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(a, pool.install(fit));
    }
    let c = Spg { seed: 12, ..spg.clone() }.fit(&data).unwrap();
    assert_ne!(a.theta, c.theta);
}

/// Theorem 4: over many repetitions the error of the gradient stays below the bound.
#[test]
fn the_nonasymptotic_bound_holds() {
    use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
    let model = synthetic::random_network(5, 0.6, (0.3, 1.0), 8).unwrap();
    let means = brute(&model).2;
    let influence = Influence::bound(&model);
    let d = influence.scan_bound(3);
    let (q, doubt) = (200, 0.05);
    let mut violated = 0;
    let mut ratio: f64 = 0.0;
    for seed in 0..1000 {
        let start = BinaryStart::State(&[true; 5]);
        let mut chains = BinaryGibbs::new(&model, q, start, Order::Cyclic, seed).unwrap();
        chains.sweep(3);
        let mut found = vec![];
        for i in 0..5 {
            for j in i..5 {
                found.push(chains.pair_mean(i, j));
            }
        }
        let scale = q as f64 / (q - 1) as f64;
        let variances: Vec<f64> = found.iter().map(|s| scale * s * (1.0 - s)).collect();
        let off: Vec<f64> = found.iter().zip(&means).map(|(a, b)| a - b).collect();
        let bound = bounds::nonasymptotic(&d, &variances, q, doubt);
        violated += usize::from(norm(&off) > bound);
        ratio = ratio.max(norm(&off) / bound);
    }
    // 1000 doubt + 3 standard deviations.
    assert!(violated as f64 <= 50.0 + 3.0 * 47.5_f64.sqrt(), "{violated}");
    assert!(ratio > 0.0);
}

/// Theorems 5 and 6: with many chains, nearly every step that satisfies the criterion decreases the objective.
#[test]
fn certified_steps_decrease_the_objective() {
    let data = data(5, 300, 6);
    let penalty = Penalty::l1(0.02);
    let mut values = vec![];
    let step = StepSize::Constant(1.0 / bounds::lipschitz_bound(5));
    let spg =
        Spg { penalty: penalty.clone(), chains: 20_000, step, noise_floor: None, ..Spg::default() };
    let mut spg = spg.with_iterations(60);
    spg.stop.check = fenchel_optim::Cadence::Every(1.0);
    let mut observer = |_: &Progress, theta: &[f64]| {
        values.push(gap(&data, theta, &penalty, 0.0));
        std::ops::ControlFlow::Continue(())
    };
    let model = spg_network(&data, &spg, None, &mut observer).unwrap();
    let certified: Vec<usize> = (0..model.trace.len())
        .filter(|&k| {
            model.trace[k].certified && model.trace[k].mapping > 4.0 * model.trace[k].noise
        })
        .collect();
    let fell = certified.iter().filter(|&&k| values[k + 1] < values[k]).count();
    assert!(certified.len() >= 20, "{}", certified.len());
    assert!(fell as f64 >= 0.99 * certified.len() as f64, "{fell} of {}", certified.len());
}

#[test]
fn steps_that_are_too_long_are_reported() {
    let data = data(12, 100, 7);
    let spg =
        Spg { step: StepSize::Constant(5.0), chains: 300, ..Spg::default() }.with_iterations(25);
    let model = spg.fit(&data).unwrap();
    assert!(model.warnings.iter().any(|w| matches!(w, Warning::StepTooLarge { .. })));
    let model = Spg { chains: 300, ..Spg::default() }.with_iterations(25).fit(&data).unwrap();
    assert!(model.warnings.is_empty(), "{:?}", model.warnings);
}

/// Strong couplings cannot be certified: the policy decides, and the record says so.
#[test]
fn what_cannot_be_certified_is_said() {
    let x = ndarray::Array2::from_shape_fn((40, 4), |(row, i)| row % 2 == 0 && (row + i) % 9 != 0);
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let with = |uncertified| Spg {
        penalty: Penalty::l1(0.001),
        schedule: Schedule::Tay(Tay { most: 50, uncertified }),
        chains: 500,
        noise_floor: None,
        ..Spg::default()
    };
    let model = with(Uncertified::Fixed(7)).fit(&data).unwrap();
    assert!(model.warnings.iter().any(|w| matches!(w, Warning::Uncertified { .. })));
    let last = model.trace.last().unwrap();
    assert!(last.sweeps == 7 && !last.certified && last.radius.unwrap() >= 1.0);
    assert!(matches!(with(Uncertified::Error).fit(&data), Err(Error::Uncertified { .. })));
}

#[test]
fn more_chains_where_the_noise_asks_for_them() {
    let data = data(6, 300, 9);
    let schedule =
        Schedule::NonAsymptotic(NonAsymptotic { most_chains: 4000, ..NonAsymptotic::default() });
    let base = Spg { penalty: Penalty::l1(0.03), chains: 500, noise_floor: None, ..Spg::default() };
    let model = Spg { schedule, ..base.clone() }.with_iterations(30).fit(&data).unwrap();
    assert_eq!(model.trace.last().unwrap().chains, 4000);
    let adaptive = fenchel_mrf_learn::AdaptiveChains::Noise { ratio: 1.0, most: 4000 };
    let model = Spg { adaptive, ..base }.with_iterations(60).fit(&data).unwrap();
    let chains: Vec<usize> = model.trace.iter().map(|record| record.chains).collect();
    assert!(
        chains[0] == 500 && chains.windows(2).all(|pair| pair[1] >= pair[0]) && chains[59] > 500
    );
}

/// The fixed point of imputation is the penalised likelihood of what is observed. Its gradient by brute force, over all completions of every
/// row, nearly vanishes there; at the fit that counts missing cells as 0 it does not.
#[test]
fn imputation_maximises_the_likelihood_of_what_is_observed() {
    let (p, rows, lambda) = (4, 500, 0.02);
    let full = data(p, rows, 21);
    let mut x = full.to_array().mapv(|state| state as i8);
    for row in 0..rows {
        for i in 0..p {
            if (row * 31 + i * 17) % 10 < 3 {
                x[[row, i]] = -1;
            }
        }
    }
    let residual = |theta: &[f64]| {
        let model = Layout::two_states(p, Coordinates::Binary).unwrap().binary(theta).unwrap().0;
        let (_, law, mut gradient) = brute(&model);
        for row in x.rows() {
            let fits = |s: &usize| (0..p).all(|i| row[i] < 0 || row[i] == (s >> i & 1) as i8);
            let states: Vec<usize> = (0..1 << p).filter(fits).collect();
            let mass: f64 = states.iter().map(|&s| law[s]).sum();
            for s in states {
                let psi = crate::common::statistics(&crate::common::bits(s, p));
                let weight = law[s] / mass / rows as f64;
                gradient.iter_mut().zip(psi).for_each(|(g, psi)| *g -= weight * psi);
            }
        }
        let moved = theta.iter().zip(&gradient).map(|(t, g)| {
            let z = t - g;
            t - z.signum() * (z.abs() - lambda).max(0.0)
        });
        norm(&moved.collect::<Vec<_>>())
    };
    let spg = Spg {
        penalty: Penalty::l1(lambda),
        chains: 20_000,
        noise_floor: None,
        average: fenchel_mrf_learn::Averaging::Tail,
        ..Spg::default()
    };
    let spg = spg.with_iterations(300);
    let fit = |policy| {
        let model = spg.fit(&Data::binary(x.view(), policy).unwrap()).unwrap();
        model.average.unwrap()
    };
    // Noise of one gradient: sqrt(10 * 0.25 / 20,000) = 0.011 from the chains; from 600 imputed cells sqrt(10 * 0.3 * 0.25 / 500) = 0.04,
    // averaged over some 40 independent rounds at the end: 0.006.
    let (imputed, zero) =
        (residual(&fit(MissingPolicy::Impute)), residual(&fit(MissingPolicy::AsZero)));
    assert!(imputed < 0.03, "{imputed}");
    assert!(zero > 0.1, "{zero}");
}

/// The tracked objective is the exact one up to its standard error, and takes no part in the run.
#[test]
fn the_objective_is_tracked_by_annealing() {
    let data = data(8, 500, 12);
    for coordinates in [Coordinates::Binary, Coordinates::Spins] {
        let penalty = Penalty::l1(0.03);
        let plain = Spg { penalty: penalty.clone(), coordinates, chains: 500, ..Spg::default() }
            .with_iterations(40);
        let track = Some(fenchel_mrf_learn::Tracking { every: 13, ..Default::default() });
        let tracked = Spg { track, ..plain.clone() };
        let mut thetas = vec![];
        let stop =
            fenchel_optim::Stop { check: fenchel_optim::Cadence::Every(1.0), ..tracked.stop };
        let mut observer = |_: &Progress, theta: &[f64]| {
            thetas.push(theta.to_vec());
            std::ops::ControlFlow::Continue(())
        };
        let tracked = Spg { stop, ..tracked };
        let model = spg_network(&data, &tracked, None, &mut observer).unwrap();
        assert_eq!(model.theta, plain.fit(&data).unwrap().theta);
        let layout = Layout::two_states(8, coordinates).unwrap();
        let strengths = penalty.strengths(&layout).unwrap();
        let target = data.means(coordinates).unwrap();
        for (k, record) in model.trace.iter().enumerate() {
            assert_eq!(record.objective.is_some(), k % 13 == 0);
            let Some(estimate) = record.objective else { continue };
            // The observer sees the start first.
            let theta = &thetas[k + 1];
            let (binary, constant) = layout.binary(theta).unwrap();
            let linear: f64 = theta.iter().zip(&target).map(|(a, b)| a * b).sum();
            use fenchel_optim::Regulariser;
            let exact = brute(&binary).0 - constant - linear + strengths.value(theta);
            let off = (estimate.value - exact).abs();
            assert!(off <= 4.0 * estimate.standard_error + 1e-9, "{k}: {off} {estimate:?}");
        }
    }
}

/// With split chains the noise is that of a half: larger by the square root of 2.
#[test]
fn split_chains_tell_their_noise() {
    let data = data(6, 300, 9);
    let noise = |split_chains| {
        let spg = Spg { split_chains, ..Spg::default() }.with_iterations(1);
        spg.fit(&data).unwrap().trace[0].noise
    };
    // At zero parameters the variances are 1/4 and 3/16, up to the draws.
    assert!((noise(true) / noise(false) - 2.0_f64.sqrt()).abs() < 0.02);
}

#[test]
fn a_plateau_ends_a_run() {
    let data = data(6, 300, 9);
    let spg = Spg { penalty: Penalty::l1(0.05), noise_floor: None, ..Spg::default() };
    let spg = Spg { plateau: Some(0.05), ..spg }.with_iterations(400);
    let model = spg.fit(&data).unwrap();
    let n = model.trace.len();
    assert!((20..400).contains(&n) && model.report.status == Status::NoiseFloor);
    let mean = |range: std::ops::Range<usize>| -> f64 {
        model.trace[range].iter().map(|record| record.mapping).sum::<f64>() / 10.0
    };
    assert!((mean(n - 20..n - 10) - mean(n - 10..n)).abs() < 0.05 * mean(n - 20..n - 10));
    assert!(Spg { plateau: Some(0.0), ..spg.clone() }.fit(&data).is_err());
    let track = Some(fenchel_mrf_learn::Tracking { every: 0, ..Default::default() });
    assert!(Spg { track, ..spg }.fit(&data).is_err());
}

#[test]
fn a_run_that_reaches_the_noise_ends() {
    let data = data(6, 300, 9);
    let model = Spg { penalty: Penalty::l1(0.05), chains: 200, ..Spg::default() }
        .with_iterations(500)
        .fit(&data)
        .unwrap();
    assert_eq!(model.report.status, Status::NoiseFloor);
    assert!(model.trace.len() < 500);
}

#[test]
fn bad_settings_are_named() {
    let data = Data::binary(array![[0u8, 1], [1, 0]].view(), MissingPolicy::Error).unwrap();
    let message = |spg: Spg| spg.fit(&data).unwrap_err().to_string();
    assert!(message(Spg { chains: 1, ..Spg::default() }).contains("chains = 1"));
    assert!(message(Spg { step: StepSize::Constant(0.0), ..Spg::default() }).contains("step = 0"));
    assert!(
        message(Spg { step: StepSize::Backtracking, ..Spg::default() }).contains("backtracking")
    );
    assert!(message(Spg { schedule: Schedule::Fixed(0), ..Spg::default() }).contains("sweeps = 0"));
    assert!(message(Spg { penalty: Penalty::l1(f64::NAN), ..Spg::default() }).contains("l1"));
    assert!(message(Spg { max_parameter: 0.0, ..Spg::default() }).contains("max_parameter"));
}

/// One row, constant columns, one variable: nothing panics, parameters stay finite.
#[test]
fn degenerate_data_is_survived() {
    for x in [array![[1u8]], array![[0], [0]], array![[1], [0], [1]]] {
        let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
        let model = Spg { penalty: Penalty::l1(0.0), chains: 65, ..Spg::default() }
            .with_iterations(30)
            .fit(&data)
            .unwrap();
        assert!(model.theta.iter().all(|theta| theta.is_finite()));
    }
    let x = array![[1u8, 1, 0], [1, 1, 0], [1, 0, 0]];
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    for start in [ChainStart::Persistent, ChainStart::Restart, ChainStart::Data] {
        let spg = Spg {
            start,
            average: fenchel_mrf_learn::Averaging::Tail,
            split_chains: true,
            chains: 100,
            exact_degree: 12,
            ..Spg::default()
        };
        let model = spg.with_iterations(10).fit(&data).unwrap();
        assert!(model.average.is_some());
    }
}
