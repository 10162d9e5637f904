//! Autocorrelation times, effective sample sizes and R-hat, and runs that end by them.

use crate::common::Enumeration;
use crate::gibbs::small;
use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
use fenchel_graphical::diagnostics::{
    Chains, RunSettings, autocorrelation_time, effective_sample_size, run_until, split_r_hat,
};
use fenchel_graphical::gibbs::{Gibbs, GibbsSettings, Start};
use fenchel_graphical::{BinaryPairwise, Evidence, VarId};
use fenchel_optim::random::stream;
use ndarray::Array2;
use rand::RngExt;

/// Chains of `x' = phi x + noise`: the autocorrelation time is `(1 + phi) / (1 - phi)`.
fn autoregressive(chains: usize, length: usize, phi: f64, seed: u64) -> Array2<f64> {
    let mut draws = Array2::zeros((chains, length));
    for (c, mut row) in draws.rows_mut().into_iter().enumerate() {
        let mut rng = stream(seed, c as u64);
        let mut normal = || (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        let mut x = normal() / (1.0 - phi * phi).sqrt();
        for value in &mut row {
            x = phi * x + normal();
            *value = x;
        }
    }
    draws
}

#[test]
fn autocorrelation_times_are_those_of_theory() {
    for phi in [0.0, 0.5, 0.9, -0.5] {
        let draws = autoregressive(8, 10_000, phi, 1);
        let exact = (1.0 + phi) / (1.0 - phi);
        let time = autocorrelation_time(draws.view()).unwrap();
        assert!((time / exact - 1.0).abs() < 0.12, "{phi}: {time} {exact}");
        let ess = effective_sample_size(draws.view()).unwrap();
        assert!((ess * time / 80_000.0 - 1.0).abs() < 1e-12);
        let r_hat = split_r_hat(draws.view()).unwrap();
        assert!((r_hat - 1.0).abs() < 0.01, "{phi}: {r_hat}");
        // Ranks know no scale.
        let scaled = draws.mapv(|x| -4.0 * x);
        assert!((split_r_hat(scaled.view()).unwrap() - r_hat).abs() < 1e-12);
        let warped = draws.mapv(|x| (3.0 * x).sinh());
        assert_eq!(autocorrelation_time(warped.view()).unwrap(), time);
    }
}

#[test]
fn chains_that_disagree_are_seen() {
    let mut draws = autoregressive(4, 1000, 0.3, 2);
    draws.row_mut(2).mapv_inplace(|x| x + 2.0);
    assert!(split_r_hat(draws.view()).unwrap() > 1.1);
    // A trend within a chain shows in its halves.
    let trend = Array2::from_shape_fn((1, 400), |(_, t)| t as f64);
    assert!(split_r_hat(trend.view()).unwrap() > 1.5);
    assert!(effective_sample_size(trend.view()).unwrap() < 10.0);
    // Different constants never mixed; equal ones are all there is to see.
    let apart = Array2::from_shape_fn((4, 10), |(c, _)| c as f64);
    assert_eq!(split_r_hat(apart.view()).unwrap(), f64::INFINITY);
    let same = Array2::from_elem((4, 10), 3.0);
    assert!(split_r_hat(same.view()).unwrap().is_nan());
    assert!(effective_sample_size(same.view()).unwrap().is_nan());
    assert!(autocorrelation_time(same.view()).unwrap().is_nan());
    // Chains with one mean but different widths show when folded: one is 20 times wider, or frozen at the median.
    for factor in [20.0, 0.0] {
        let mut wide = autoregressive(4, 1000, 0.0, 3);
        wide.row_mut(1).mapv_inplace(|x| factor * x);
        assert!(split_r_hat(wide.view()).unwrap() > 1.3, "{factor}");
    }
    assert!(split_r_hat(Array2::zeros((2, 3)).view()).is_err());
    assert!(split_r_hat(Array2::from_elem((2, 8), f64::NAN).view()).is_err());
}

#[test]
fn runs_go_on_until_the_mean_is_known() {
    let model = BinaryPairwise::new(&[-1.0, 0.5, 0.0], &[(0, 1, 1.0), (1, 2, -2.0)]).unwrap();
    let scan = Order::Cyclic;
    let mut chains = BinaryGibbs::new(&model, 64, BinaryStart::Zero, scan, 9).unwrap();
    let settings =
        RunSettings { effective_samples: 20_000.0, burn_in: 20, ..RunSettings::default() };
    let score = |chains: &BinaryGibbs, out: &mut [f64]| chains.log_scores(&model, out).unwrap();
    let run = run_until(&mut chains, score, &settings).unwrap();
    assert!(run.reached && run.effective_samples >= 20_000.0 && run.r_hat <= 1.01);
    let states: Vec<Vec<bool>> =
        (0..8).map(|c| (0..3).map(|i| c >> i & 1 == 1).collect()).collect();
    let scores: Vec<f64> = states.iter().map(|x| model.log_score(x).unwrap()).collect();
    let total: f64 = scores.iter().map(|s| s.exp()).sum();
    let exact: f64 = scores.iter().map(|s| s * s.exp() / total).sum();
    assert!((run.mean - exact).abs() < 5.0 * run.standard_error, "{} {exact}", run.mean);
    let few = RunSettings { most_draws: 8, ..settings };
    let run = run_until(&mut chains, score, &few).unwrap();
    assert!(!run.reached && run.draws.dim() == (64, 8));
    let bad = RunSettings { thin: 0, ..settings };
    assert!(run_until(&mut chains, score, &bad).unwrap_err().to_string().contains("thin"));
    let model = small(1);
    let settings = GibbsSettings::default();
    let mut chains = Gibbs::new(&model, &Evidence::new(), Start::Random, &settings).unwrap();
    let first = |chains: &Gibbs, out: &mut [f64]| {
        out.iter_mut().enumerate().for_each(|(c, out)| *out = chains.state(c)[1] as f64);
    };
    let run = run_until(&mut chains, first, &RunSettings::default()).unwrap();
    let law = Enumeration::of(&model).marginal(&[VarId(1)]);
    assert!((run.mean - (law[1] + 2.0 * law[2])).abs() < 5.0 * run.standard_error);
}

#[test]
fn a_rare_event_that_was_not_seen_is_no_proof_of_its_absence() {
    let p: f64 = 1e-4;
    let model = BinaryPairwise::new(&[(p / (1.0 - p)).ln()], &[]).unwrap();
    let settings = RunSettings { most_draws: 100, ..RunSettings::default() };
    let first = |chains: &BinaryGibbs, out: &mut [f64]| {
        let samples = chains.samples();
        out.iter_mut().enumerate().for_each(|(c, out)| *out = f64::from(u8::from(samples[[c, 0]])));
    };
    let mut unseen = 0;
    for seed in 0..20 {
        let (start, scan) = (BinaryStart::Zero, Order::Cyclic);
        let mut chains = BinaryGibbs::new(&model, 64, start, scan, seed).unwrap();
        let run = run_until(&mut chains, first, &settings).unwrap();
        if run.mean == 0.0 {
            unseen += 1;
            assert!(!run.reached && run.standard_error.is_nan() && run.effective_samples.is_nan());
            assert_eq!(run.draws.dim(), (64, 100));
        }
        assert!(!run.reached || run.standard_error > 0.0);
    }
    // 6,400 draws miss the event with probability 0.53.
    assert!(unseen > 3, "{unseen}");
}

/// Chains that keep their state with probability `stay`, and otherwise draw 1 with probability `p`; all begin at 0.
struct Sticky {
    states: Vec<f64>,
    stay: f64,
    p: f64,
    rng: fenchel_optim::random::Generator,
}

impl Chains for Sticky {
    fn chains(&self) -> usize {
        self.states.len()
    }

    fn sweep(&mut self, sweeps: usize) {
        for _ in 0..sweeps {
            for state in &mut self.states {
                if self.rng.random_range(0.0..1.0) >= self.stay {
                    *state = f64::from(u8::from(self.rng.random_range(0.0..1.0) < self.p));
                }
            }
        }
    }
}

#[test]
fn a_few_visits_of_a_rare_state_do_not_tell_how_often_it_is_visited() {
    for (p, stay, chains) in [(1e-3, 0.9, 64), (1e-3, 0.99, 64), (1e-2, 0.99, 16), (0.02, 0.95, 8)]
    {
        let settings = RunSettings { most_draws: 2000, ..RunSettings::default() };
        let wrong = (0..20).filter(|&seed| {
            let rng = stream(seed, 5);
            let mut chains = Sticky { states: vec![0.0; chains], stay, p, rng };
            let state = |chains: &Sticky, out: &mut [f64]| out.copy_from_slice(&chains.states);
            let run = run_until(&mut chains, state, &settings).unwrap();
            // A Poisson number of at least ten visits: four deviations are rare.
            run.reached && (run.mean - p).abs() > 4.0 * run.standard_error
        });
        assert_eq!(wrong.count(), 0, "{p} {stay}");
    }
}
