//! Gibbs sampling of any model, its diagnostics, and annealed importance sampling, against enumeration.

use crate::common::{Enumeration, configurations, p_value};
use fenchel_graphical::ais::{AisSettings, Ladder, ais, ais_binary};
use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
use fenchel_graphical::diagnostics::{
    Chains, RunSettings, autocorrelation_time, effective_sample_size, run_until, split_r_hat,
};
use fenchel_graphical::gibbs::{Gibbs, GibbsSettings, Scan, Start, tree_blocks};
use fenchel_graphical::{BinaryPairwise, Error, Evidence, FactorGraph, Graph, VarId};
use fenchel_optim::random::stream;
use ndarray::Array2;
use proptest::prelude::*;
use rand::RngExt;

fn random_model(cards: &[usize], scopes: &[&[u32]], size: f64, seed: u64) -> FactorGraph {
    let mut rng = stream(seed, 0);
    let mut model = FactorGraph::new(cards).unwrap();
    for scope in scopes {
        let cells = scope.iter().map(|&v| cards[v as usize]).product();
        let values: Vec<f64> = (0..cells).map(|_| rng.random_range(-size..size)).collect();
        let scope: Vec<VarId> = scope.iter().map(|&v| VarId(v)).collect();
        model.add(&scope, &values).unwrap();
    }
    model
}

/// Factors of one to three variables, with cycles; 144 configurations.
fn small(seed: u64) -> FactorGraph {
    let scopes: [&[u32]; 8] = [&[0], &[1, 0], &[1, 2], &[2, 3], &[3, 0], &[0, 2, 4], &[4], &[3]];
    random_model(&[2, 3, 3, 4, 2], &scopes, 1.0, seed)
}

fn index(cards: &[usize], x: &[usize]) -> usize {
    x.iter().zip(cards).fold(0, |at, (state, card)| at * card + state)
}

/// The law after drawing some variables jointly given all others, from scores alone.
fn redraw(model: &FactorGraph, law: &[f64], block: &[usize]) -> Vec<f64> {
    let all = configurations(model.cards());
    let mut next = vec![0.0; law.len()];
    for (x, &mass) in all.iter().zip(law).filter(|(_, mass)| **mass > 0.0) {
        let agrees = |y: &&Vec<usize>| (0..x.len()).all(|v| block.contains(&v) || x[v] == y[v]);
        let matching: Vec<&Vec<usize>> = all.iter().filter(agrees).collect();
        let weights: Vec<f64> =
            matching.iter().map(|y| model.log_score(y).unwrap().exp()).collect();
        let total: f64 = weights.iter().sum();
        for (y, weight) in matching.iter().zip(weights) {
            next[index(model.cards(), y)] += mass * weight / total;
        }
    }
    next
}

fn histogram(chains: &Gibbs, cards: &[usize]) -> Vec<f64> {
    let mut counts = vec![0.0; cards.iter().product()];
    for row in chains.samples().rows() {
        counts[index(cards, &row.to_vec())] += 1.0;
    }
    counts
}

fn vars(list: &[u32]) -> Vec<VarId> {
    list.iter().map(|&v| VarId(v)).collect()
}

/// The law after one sweep from a fixed state is the row of the kernel, exactly; no mixing is assumed.
#[test]
fn one_sweep_has_the_law_of_the_kernel() {
    let model = small(1);
    let from = [1, 2, 0, 3, 1];
    let size = 144;
    let mut start = vec![0.0; size];
    start[index(model.cards(), &from)] = 1.0;
    let blocks = Scan::Blocked(vec![vars(&[3, 1]), vars(&[0, 4])]);
    let cases: [(Scan, Vec<Vec<usize>>); 2] = [
        (Order::Cyclic.into(), (0..5).map(|v| vec![v]).collect()),
        (blocks, vec![vec![3, 1], vec![0, 4], vec![2]]),
    ];
    for (scan, updates) in cases {
        let exact = updates.iter().fold(start.clone(), |law, block| redraw(&model, &law, block));
        let settings = GibbsSettings { chains: 40_000, scan: scan.clone(), seed: 3 };
        let mut chains =
            Gibbs::new(&model, &Evidence::new(), Start::State(&from), &settings).unwrap();
        chains.sweep(1);
        let p_value = p_value(&histogram(&chains, model.cards()), &exact);
        assert!(p_value > 1e-6, "{scan:?}: {p_value}");
    }
    // Uniform draws and permutations, as mixtures: two variables, every order.
    let pair = random_model(&[2, 3], &[&[0, 1], &[1]], 1.5, 8);
    let mut start = vec![0.0; 6];
    start[index(&[2, 3], &[1, 2])] = 1.0;
    let one = |law: &[f64], v: usize| redraw(&pair, law, &[v]);
    let mix = |laws: &[Vec<f64>]| -> Vec<f64> {
        (0..6).map(|c| laws.iter().map(|law| law[c]).sum::<f64>() / laws.len() as f64).collect()
    };
    let orders = |pairs: &[(usize, usize)]| {
        mix(&pairs.iter().map(|&(a, b)| one(&one(&start, a), b)).collect::<Vec<_>>())
    };
    let uniform = orders(&[(0, 0), (0, 1), (1, 0), (1, 1)]);
    let permuted = orders(&[(0, 1), (1, 0)]);
    for (scan, exact) in [(Scan::from(Order::Uniform), uniform), (Order::Permuted.into(), permuted)]
    {
        let settings = GibbsSettings { chains: 40_000, scan: scan.clone(), seed: 5 };
        let mut chains =
            Gibbs::new(&pair, &Evidence::new(), Start::State(&[1, 2]), &settings).unwrap();
        chains.sweep(1);
        let p_value = p_value(&histogram(&chains, &[2, 3]), &exact);
        assert!(p_value > 1e-6, "{scan:?}: {p_value}");
    }
}

#[test]
fn every_scan_reaches_the_model_given_evidence() {
    let model = small(2);
    let evidence = Evidence::new().observe(VarId(3), 2).likelihood(VarId(1), [0.2, 0.5, 0.9]);
    let conditioned = model.condition(&evidence).unwrap();
    let exact = Enumeration::of(&conditioned);
    let blocks = tree_blocks(&conditioned);
    let scans = [
        Scan::default(),
        Order::Permuted.into(),
        Order::Uniform.into(),
        Scan::Chromatic,
        Scan::Blocked(blocks),
    ];
    for scan in scans {
        let settings = GibbsSettings { chains: 20_000, scan: scan.clone(), seed: 11 };
        let mut chains = Gibbs::new(&model, &evidence, Start::Random, &settings).unwrap();
        chains.sweep(20);
        let samples = chains.samples();
        assert!(samples.column(3).iter().all(|&state| state == 2));
        let mut counts = vec![0.0; exact.scores.len()];
        for row in samples.rows() {
            let mut x = row.to_vec();
            x[3] = 0;
            counts[index(conditioned.cards(), &x)] += 1.0;
        }
        let law: Vec<f64> = (0..exact.scores.len()).map(|k| exact.probability(k)).collect();
        let p_value = p_value(&counts, &law);
        assert!(p_value > 1e-6, "{scan:?}: {p_value}");
        assert_eq!(chains.marginal(VarId(3)).unwrap()[2], 1.0);
        let share = chains.mean(|x| f64::from(u8::from(x[1] == 2)));
        assert!((chains.marginal(VarId(1)).unwrap()[2] - share).abs() < 1e-12);
    }
}

/// One block of everything is an independent draw: no chain is needed.
#[test]
fn a_block_of_everything_is_exact_at_once() {
    let model = small(3);
    let exact = Enumeration::of(&model);
    let settings = GibbsSettings {
        chains: 20_000,
        scan: Scan::Blocked(vec![vars(&[4, 0, 1, 3, 2])]),
        seed: 1,
    };
    let mut chains = Gibbs::new(&model, &Evidence::new(), Start::Zero, &settings).unwrap();
    chains.sweep(1);
    let law: Vec<f64> = (0..144).map(|k| exact.probability(k)).collect();
    assert!(p_value(&histogram(&chains, model.cards()), &law) > 1e-6);
}

#[test]
fn zeros_are_never_entered() {
    let minus = f64::NEG_INFINITY;
    let mut model = FactorGraph::new(&[3, 3]).unwrap();
    model
        .add(&[VarId(0), VarId(1)], &[0.0, 0.0, minus, minus, 0.0, 0.0, minus, minus, 0.0])
        .unwrap();
    let settings = GibbsSettings { chains: 500, ..GibbsSettings::default() };
    let mut chains = Gibbs::new(&model, &Evidence::new(), Start::Zero, &settings).unwrap();
    for _ in 0..20 {
        chains.sweep(1);
        assert!(
            chains
                .samples()
                .rows()
                .into_iter()
                .all(|x| model.log_score(&x.to_vec()).unwrap() == 0.0)
        );
    }
}

#[test]
fn a_seed_determines_every_draw_on_any_number_of_threads() {
    let model = small(4);
    let blocks = tree_blocks(&model);
    for scan in [Order::Permuted.into(), Scan::Blocked(blocks)] {
        let run = |threads: usize, seed: u64, parts: &[usize]| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let settings = GibbsSettings { chains: 100, scan: scan.clone(), seed };
                let mut chains =
                    Gibbs::new(&model, &Evidence::new(), Start::Random, &settings).unwrap();
                parts.iter().for_each(|&sweeps| chains.sweep(sweeps));
                chains.samples()
            })
        };
        let once = run(1, 3, &[4]);
        assert_eq!(once, run(3, 3, &[4]));
        assert_eq!(once, run(2, 3, &[1, 3]), "sweeps may be asked for in parts");
        assert_ne!(once, run(1, 4, &[4]));
    }
}

#[test]
fn states_go_in_and_out_and_bad_input_is_refused() {
    let model = small(5);
    let rows = ndarray::array![[0, 1, 2, 3, 1], [1, 0, 0, 1, 0]];
    let settings = GibbsSettings { chains: 5, ..GibbsSettings::default() };
    let none = Evidence::new();
    let mut chains = Gibbs::new(&model, &none, Start::Rows(rows.view()), &settings).unwrap();
    for c in 0..5 {
        assert_eq!(chains.state(c), rows.row(c % 2).to_vec());
    }
    assert!(chains.set_model(&random_model(&[2, 3], &[&[0, 1]], 1.0, 0)).is_err());
    // A model of certainties moves every chain at once.
    let mut certain = model.clone();
    for (f, factor) in model.factors().iter().enumerate() {
        let values: Vec<f64> =
            (0..factor.len()).map(|c| if c == 0 { 900.0 } else { 0.0 }).collect();
        certain.set(fenchel_graphical::FactorId(f as u32), &values).unwrap();
    }
    chains.set_model(&certain).unwrap();
    chains.sweep(1);
    let error = |start: Start<'_>, settings: &GibbsSettings| {
        Gibbs::new(&model, &none, start, settings).unwrap_err()
    };
    assert!(matches!(
        error(Start::State(&[2, 0, 0, 0, 0]), &settings),
        Error::State { state: 2, .. }
    ));
    assert!(error(Start::State(&[0]), &settings).to_string().contains("start state"));
    assert!(
        error(Start::Rows(Array2::zeros((0, 5)).view()), &settings).to_string().contains("empty")
    );
    assert!(
        error(Start::Zero, &GibbsSettings { chains: 0, ..settings.clone() })
            .to_string()
            .contains("chains")
    );
    let blocked =
        |lists: Vec<Vec<VarId>>| GibbsSettings { scan: Scan::Blocked(lists), ..settings.clone() };
    let runs = GibbsSettings { scan: Order::Runs(2).into(), ..settings.clone() };
    assert_eq!(
        error(Start::Zero, &runs).to_string(),
        "Gibbs does not support the runs order; expected Cyclic, Permuted or Uniform"
    );
    let twice = error(Start::Zero, &blocked(vec![vars(&[0, 1]), vars(&[1])]));
    assert!(matches!(twice, Error::RepeatedVariable { .. }));
    assert!(matches!(
        error(Start::Zero, &blocked(vec![vars(&[9])])),
        Error::UnknownVariable { .. }
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn blocks_of_trees_are_a_partition_into_forests(model in crate::common::models(8)) {
        let blocks = tree_blocks(&model);
        let mut all: Vec<VarId> = blocks.iter().flatten().copied().collect();
        all.sort_unstable();
        prop_assert_eq!(all, model.variables().collect::<Vec<_>>());
        let neighbours = model.neighbours();
        for block in blocks {
            let inside = |v: VarId| block.binary_search(&v).ok().map(|at| at as u32);
            let edges = block.iter().flat_map(|&v| {
                neighbours[v.index()].iter().filter(move |&&w| v < w).map(move |&w| (v, w))
            });
            let edges: Vec<(u32, u32)> =
                edges.filter_map(|(v, w)| Some((inside(v)?, inside(w)?))).collect();
            prop_assert!(Graph::new(block.len(), edges).unwrap().is_forest());
        }
    }
}

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

fn random_binary(p: usize, density: f64, size: f64, seed: u64) -> BinaryPairwise {
    let mut rng = stream(seed, 0);
    let bias: Vec<f64> = (0..p).map(|_| rng.random_range(-size..size)).collect();
    let mut edges = Vec::new();
    for i in 0..p as u32 {
        for j in i + 1..p as u32 {
            if rng.random_bool(density) {
                edges.push((i, j, rng.random_range(-size..size)));
            }
        }
    }
    BinaryPairwise::new(&bias, &edges).unwrap()
}

#[test]
fn binary_models_are_factor_graphs() {
    let model = random_binary(5, 0.7, 2.0, 3);
    let factors = model.factor_graph().unwrap();
    for x in configurations(&[2; 5]) {
        let bits: Vec<bool> = x.iter().map(|&state| state == 1).collect();
        let (a, b) = (model.log_score(&bits).unwrap(), factors.log_score(&x).unwrap());
        assert!((a - b).abs() < 1e-12);
    }
}

fn exact_log_partition(model: &BinaryPairwise) -> f64 {
    let p = model.variables();
    crate::common::log_sum((0..1_usize << p).map(|code| {
        let x: Vec<bool> = (0..p).map(|i| code >> i & 1 == 1).collect();
        model.log_score(&x).unwrap()
    }))
}

#[test]
fn scores_of_all_chains_are_scores() {
    for (p, density) in [(1, 0.0), (6, 0.7), (12, 1.0)] {
        let model = random_binary(p, density, 2.0, 5);
        for chains in [1, 64, 100, 700] {
            let mut gibbs =
                BinaryGibbs::new(&model, chains, BinaryStart::Random, Order::Cyclic, 2).unwrap();
            gibbs.sweep(1);
            let mut scores = vec![0.0; chains];
            gibbs.log_scores(&model, &mut scores).unwrap();
            for (c, score) in scores.iter().enumerate() {
                assert!((score - model.log_score(&gibbs.state(c)).unwrap()).abs() < 1e-12);
            }
            assert!(gibbs.log_scores(&model, &mut scores[1..]).is_err());
        }
    }
}

#[test]
fn estimates_are_within_their_error() {
    let (mut good, mut good_factors, mut good_adaptive) = (0, 0, 0);
    for seed in 0..50 {
        let model = random_binary(3 + seed as usize % 7, 0.6, 1.0 + 0.02 * seed as f64, seed);
        let exact = exact_log_partition(&model);
        let settings = AisSettings { ladder: Ladder::Uniform(60), chains: 256, sweeps: 1, seed };
        let near = |estimate: &fenchel_graphical::ais::AisEstimate, exact: f64| {
            i32::from((estimate.log_partition - exact).abs() <= 4.0 * estimate.standard_error)
        };
        let estimate = ais_binary(&model, &settings).unwrap();
        good += near(&estimate, exact);
        assert_eq!((estimate.log_weights.len(), estimate.ladder.len()), (256, 61));
        assert!(estimate.effective_samples <= 256.0 + 1e-9);
        let adaptive = AisSettings { ladder: Ladder::Adaptive(0.99), ..settings };
        good_adaptive += near(&ais_binary(&model, &adaptive).unwrap(), exact);
        let factors = small(seed);
        let settings = AisSettings { ladder: Ladder::Uniform(30), ..settings };
        let estimate = ais(&factors, &settings).unwrap();
        good_factors += near(&estimate, Enumeration::of(&factors).log_partition);
    }
    assert!(good >= 48, "{good} of 50");
    assert!(good_factors >= 48, "{good_factors} of 50");
    assert!(good_adaptive >= 48, "{good_adaptive} of 50");
}

/// Errors over their standard errors: mean square and the number beyond 4, by ladder.
fn calibration(ladder: Ladder, seeds: std::ops::Range<u64>) -> (f64, usize) {
    let mut scores = Vec::new();
    for seed in seeds {
        let size = [0.5, 1.0, 1.5][seed as usize % 3];
        let model = random_binary(8, 0.6, size, seed % 30);
        let settings = AisSettings { ladder, chains: 256, sweeps: 1, seed: 1000 + seed };
        let found = ais_binary(&model, &settings).unwrap();
        scores.push((found.log_partition - exact_log_partition(&model)) / found.standard_error);
    }
    let mean = scores.iter().map(|z| z * z).sum::<f64>() / scores.len() as f64;
    (mean.sqrt(), scores.iter().filter(|z| z.abs() > 4.0).count())
}

#[test]
fn standard_errors_are_right_over_many_seeds() {
    // 600 scores: their mean square has a standard deviation of 0.058 if they are normal. Chains that choose their own steps
    // had a root mean square of 1.04 to 1.35.
    for ladder in [Ladder::Adaptive(0.9), Ladder::Adaptive(0.99), Ladder::Uniform(40)] {
        let (root, beyond) = calibration(ladder, 0..600);
        assert!((0.9..1.1).contains(&root), "{ladder:?}: {root}");
        assert!(beyond <= 1, "{ladder:?}: {beyond}");
    }
}

/// The mean weight is unbiased for Z even where chains do not mix, and its logarithm a lower bound in expectation.
#[test]
fn weights_are_unbiased_with_the_crudest_ladder() {
    let model = random_binary(6, 0.8, 1.0, 77);
    let exact = exact_log_partition(&model);
    let settings = AisSettings { ladder: Ladder::Uniform(2), chains: 60_000, sweeps: 1, seed: 3 };
    let estimate = ais_binary(&model, &settings).unwrap();
    assert!(estimate.standard_error < 0.05);
    assert!((estimate.log_partition - exact).abs() < 5.0 * estimate.standard_error);
    let mean: f64 = estimate.log_weights.iter().sum::<f64>() / 60_000.0;
    assert!(mean < exact);
}

#[test]
fn independent_models_are_exact_and_impossible_ones_are_seen() {
    let free = BinaryPairwise::new(&[0.3, -2.0], &[]).unwrap();
    let estimate = ais_binary(&free, &AisSettings::default()).unwrap();
    assert!((estimate.log_partition - exact_log_partition(&free)).abs() < 1e-12);
    assert!(estimate.standard_error < 1e-7);
    let minus = f64::NEG_INFINITY;
    let mut zeros = FactorGraph::new(&[2, 2]).unwrap();
    zeros.add(&[VarId(0), VarId(1)], &[0.5, minus, 0.0, 1.0]).unwrap();
    let settings =
        AisSettings { ladder: Ladder::Uniform(20), chains: 5000, ..AisSettings::default() };
    let estimate = ais(&zeros, &settings).unwrap();
    let exact = Enumeration::of(&zeros).log_partition;
    assert!((estimate.log_partition - exact).abs() < 5.0 * estimate.standard_error);
    let mut impossible = FactorGraph::new(&[2, 2]).unwrap();
    impossible.add(&[VarId(0), VarId(1)], &[minus, 0.0, minus, 0.0]).unwrap();
    impossible.add(&[VarId(1)], &[0.0, minus]).unwrap();
    assert_eq!(ais(&impossible, &settings).unwrap_err(), Error::ImpossibleEvidence);
    for ladder in [Ladder::Uniform(0), Ladder::Adaptive(1.0), Ladder::Adaptive(f64::NAN)] {
        let refused = ais_binary(&free, &AisSettings { ladder, ..settings }).unwrap_err();
        assert!(refused.to_string().contains("ladder"));
    }
    let refused = ais_binary(&free, &AisSettings { chains: 0, ..settings }).unwrap_err();
    assert!(refused.to_string().contains("chains"));
}

#[test]
fn impossible_evidence_is_refused_before_a_chain_starts() {
    let net = fenchel_graphical::networks::asia();
    let model = net.factor_graph().unwrap();
    let start = |model: &FactorGraph, evidence: &Evidence| {
        Gibbs::new(model, evidence, Start::Random, &GibbsSettings::default()).map(drop)
    };
    let or = net.evidence(&[("either", "yes"), ("tub", "no"), ("lung", "no")]).unwrap();
    assert_eq!(start(&model, &or), Err(Error::ImpossibleEvidence));
    let fine = net.evidence(&[("either", "yes"), ("tub", "no")]).unwrap();
    assert_eq!(start(&model, &fine), Ok(()));
    let none = net.soft_evidence("smoke", &[("yes", 0.0), ("no", 0.0)]).unwrap();
    assert_eq!(start(&model, &none), Err(Error::ImpossibleEvidence));
    // Three variables, each unlike the next: every pair can be had, all three cannot.
    let minus = f64::NEG_INFINITY;
    let mut triangle = FactorGraph::new(&[2; 3]).unwrap();
    for (a, b) in [(0, 1), (1, 2), (0, 2)] {
        triangle.add(&[VarId(a), VarId(b)], &[minus, 0.0, 0.0, minus]).unwrap();
    }
    assert_eq!(start(&triangle, &Evidence::new()), Err(Error::ImpossibleEvidence));
    let mut three = FactorGraph::new(&[3; 3]).unwrap();
    for (a, b) in [(0, 1), (1, 2), (0, 2)] {
        let values: Vec<f64> = (0..9).map(|k| if k % 4 == 0 { minus } else { 0.0 }).collect();
        three.add(&[VarId(a), VarId(b)], &values).unwrap();
    }
    assert_eq!(start(&three, &Evidence::new()), Ok(()));
    assert_eq!(start(&FactorGraph::new(&[2]).unwrap(), &Evidence::new()), Ok(()));
    let mut constant = FactorGraph::new(&[2]).unwrap();
    constant.add(&[], &[minus]).unwrap();
    assert_eq!(start(&constant, &Evidence::new()), Err(Error::ImpossibleEvidence));
    // A start may be impossible all the same; that can be seen.
    let settings = GibbsSettings::default();
    let zero = Gibbs::new(&three, &Evidence::new(), Start::Zero, &settings).unwrap();
    assert_eq!(zero.impossible_chains(), settings.chains);
    let mut random = Gibbs::new(&model, &fine, Start::Zero, &settings).unwrap();
    random.sweep(5);
    assert_eq!(random.impossible_chains(), 0);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

    #[test]
    fn chains_start_exactly_where_something_is_possible(model in crate::common::models_with(5, 0.5)) {
        let exact = Enumeration::of(&model).log_partition;
        let started = Gibbs::new(&model, &Evidence::new(), Start::Random, &GibbsSettings { chains: 1, ..GibbsSettings::default() });
        proptest::prop_assert_eq!(started.is_ok(), exact > f64::NEG_INFINITY);
    }
}

#[test]
fn more_chains_than_memory_are_refused() {
    let refused = |result: Result<(), Error>| match result {
        Err(Error::Memory { count, needed, .. }) => (count, needed),
        other => panic!("{other:?}"),
    };
    let model = random_model(&[2, 3], &[&[0, 1]], 1.0, 1);
    let binary = random_binary(9, 1.0, 1.0, 1);
    // 2^60 chains overflow the number of bytes or nearly so; 2^50 only pass the 2^47 bytes that a process can address.
    for chains in [1 << 50, 1 << 60, usize::MAX] {
        let settings = GibbsSettings { chains, ..GibbsSettings::default() };
        let general = Gibbs::new(&model, &Evidence::new(), Start::Random, &settings);
        let (count, needed) = refused(general.map(|_| ()));
        // Two states of 4 bytes at the least.
        assert!(count == chains && needed as f64 >= (8.0 * chains as f64).min(u64::MAX as f64));
        let bits = BinaryGibbs::new(&binary, chains, BinaryStart::Zero, Order::Cyclic, 0);
        let (count, needed) = refused(bits.map(|_| ()));
        // Degree 8: a bit and 4 bytes a variable. Nine variables leave room for blocks of 512 chains.
        let bytes = 9.0 * (1.0 / 8.0 + 4.0) * chains as f64;
        assert!(count == chains.div_ceil(512) && needed as f64 >= bytes.min(u64::MAX as f64));
        let settings = AisSettings { chains, ..AisSettings::default() };
        refused(ais_binary(&binary, &settings).map(|_| ()));
        refused(ais(&model, &settings).map(|_| ()));
    }
    let settings = GibbsSettings { chains: 1 << 60, ..GibbsSettings::default() };
    let error = Gibbs::new(&model, &Evidence::new(), Start::Random, &settings).unwrap_err();
    let expected = format!(
        "1152921504606846976 chains need {} bytes, which cannot be allocated: ask for fewer",
        u64::MAX
    );
    assert_eq!(error.to_string(), expected);
}
