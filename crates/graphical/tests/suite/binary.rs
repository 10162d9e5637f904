//! Binary pairwise models against enumeration.

use crate::common::p_value;
use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
use fenchel_graphical::gibbs::Scan;
use fenchel_graphical::{BinaryPairwise, Error, VarId};
use fenchel_linalg::special::sigmoid;
use fenchel_optim::random::stream;
use ndarray::Array2;
use proptest::prelude::*;
use rand::RngExt;

const CYCLIC: Scan = Scan::Single(Order::Cyclic);

/// A random model: every pair joined with probability `density`, parameters up to `size`.
fn random_model(p: usize, density: f64, size: f64, seed: u64) -> BinaryPairwise {
    let mut rng = stream(seed, 0);
    let bias: Vec<f64> = (0..p).map(|_| rng.random_range(-size..size)).collect();
    let mut edges = Vec::new();
    for i in 0..p as u32 {
        for j in i + 1..p as u32 {
            if rng.random_bool(density) {
                // Either orientation says the same.
                let (a, b) = if rng.random_bool(0.5) { (i, j) } else { (j, i) };
                edges.push((a, b, rng.random_range(-size..size)));
            }
        }
    }
    BinaryPairwise::new(&bias, &edges).unwrap()
}

fn state(p: usize, code: usize) -> Vec<bool> {
    (0..p).map(|i| code >> i & 1 == 1).collect()
}

/// Probabilities of all `2^p` states.
fn enumerate(model: &BinaryPairwise) -> Vec<f64> {
    let p = model.variables();
    let scores: Vec<f64> =
        (0..1 << p).map(|code| model.log_score(&state(p, code)).unwrap()).collect();
    let total: f64 = scores.iter().map(|s| s.exp()).sum();
    scores.iter().map(|s| s.exp() / total).collect()
}

/// The law after drawing variable `i` anew.
fn redraw(model: &BinaryPairwise, law: &[f64], i: usize) -> Vec<f64> {
    let p = model.variables();
    let mut next = vec![0.0; law.len()];
    for code in 0..law.len() {
        let one = sigmoid(model.logit(i, &state(p, code)));
        next[code | 1 << i] += law[code] * one;
        next[code & !(1 << i)] += law[code] * (1.0 - one);
    }
    next
}

fn histogram(chains: &BinaryGibbs) -> Vec<f64> {
    let mut counts = vec![0.0; 1 << chains.variables()];
    for row in chains.samples().rows() {
        counts[row.iter().enumerate().map(|(i, &x)| usize::from(x) << i).sum::<usize>()] += 1.0;
    }
    counts
}

/// The law after one sweep from a fixed state is the row of the kernel, exactly; no mixing is assumed.
#[test]
fn one_sweep_has_the_law_of_the_kernel() {
    // (variables, density): thresholds with up to 2, 4 and 6 neighbours; fields.
    let shapes = [(3, 1.0), (5, 1.0), (7, 1.0), (9, 1.0), (9, 0.4)];
    for (trial, &(p, density)) in shapes.iter().enumerate() {
        let model = random_model(p, density, 2.0, trial as u64);
        let from = 0b101;
        let mut law = vec![0.0; 1 << p];
        law[from] = 1.0;
        let colours = model.colouring();
        for scan in [CYCLIC, Scan::Chromatic] {
            let mut order: Vec<usize> = (0..p).collect();
            if scan == Scan::Chromatic {
                order.sort_by_key(|&i| colours[i]);
            }
            let exact = order.iter().fold(law.clone(), |law, &i| redraw(&model, &law, i));
            let start = state(p, from);
            let start = BinaryStart::State(&start);
            let mut chains = BinaryGibbs::new(&model, 200_000, start, scan.clone(), 17).unwrap();
            chains.sweep(1);
            let p_value = p_value(&histogram(&chains), &exact);
            assert!(p_value > 1e-6, "{p} variables, {scan:?}: {p_value}");
        }
    }
}

#[test]
fn every_scan_and_width_reaches_the_model() {
    let model = random_model(8, 0.5, 1.0, 99);
    let law = enumerate(&model);
    for scan in [CYCLIC, Order::Permuted.into(), Order::Uniform.into(), Scan::Chromatic] {
        let start = BinaryStart::Zero;
        let mut chains = BinaryGibbs::new(&model, 100_000, start, scan.clone(), 5).unwrap();
        chains.sweep(60);
        let p_value = p_value(&histogram(&chains), &law);
        assert!(p_value > 1e-6, "{scan:?}: {p_value}");
    }
    // Few chains, many times: blocks of one, two and four words.
    for chains in [40, 100, 200] {
        let mut counts = vec![0.0; law.len()];
        for seed in 0..400 {
            let start = BinaryStart::Random;
            let mut block = BinaryGibbs::new(&model, chains, start, CYCLIC, seed).unwrap();
            block.sweep(40);
            for (total, count) in counts.iter_mut().zip(histogram(&block)) {
                *total += count;
            }
        }
        let p_value = p_value(&counts, &law);
        assert!(p_value > 1e-6, "{chains} chains: {p_value}");
    }
}

#[test]
fn strong_couplings_stay_exact() {
    // Logits of +-40: probabilities down to 4e-18.
    let model = BinaryPairwise::new(&[-40.0, 0.0, 3.0], &[(0, 1, 80.0), (1, 2, -1.0)]).unwrap();
    let start = BinaryStart::State(&[false, true, false]);
    let mut chains = BinaryGibbs::new(&model, 1_000, start, CYCLIC, 0).unwrap();
    chains.sweep(1);
    assert_eq!(chains.mean(0), 1.0, "x_0 follows x_1");
}

#[test]
fn statistics_are_counts_of_the_samples() {
    let model = random_model(6, 0.8, 1.0, 4);
    for chains in [1, 63, 64, 65, 130, 300, 1_000] {
        let mut gibbs = BinaryGibbs::new(&model, chains, BinaryStart::Random, CYCLIC, 1).unwrap();
        gibbs.sweep(3);
        let samples = gibbs.samples();
        let statistics = gibbs.statistics();
        assert_eq!(samples.dim(), (chains, 6));
        for i in 0..6 {
            for j in 0..6 {
                let both = samples.rows().into_iter().filter(|x| x[i] && x[j]).count();
                assert_eq!(gibbs.pair_count(i, j), both as u64);
                assert_eq!(statistics[[i, j]], both as f64 / chains as f64);
                assert_eq!(gibbs.pair_mean(i, j), statistics[[i, j]]);
            }
            assert_eq!(gibbs.mean(i), statistics[[i, i]]);
        }
        assert_eq!(gibbs.state(chains - 1), samples.row(chains - 1).to_vec());
    }
}

#[test]
fn a_seed_determines_every_bit_on_any_number_of_threads() {
    let model = random_model(20, 0.3, 0.5, 8);
    let run = |threads: usize, seed: u64| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let (start, scan) = (BinaryStart::Random, Order::Permuted);
            let mut chains = BinaryGibbs::new(&model, 3_000, start, scan, seed).unwrap();
            chains.sweep(5);
            chains.samples()
        })
    };
    let once = run(1, 3);
    assert_eq!(once, run(3, 3));
    assert_ne!(once, run(1, 4));
}

#[test]
fn states_go_in_and_out() {
    let model = random_model(5, 0.5, 1.0, 2);
    let rows = Array2::from_shape_fn((3, 5), |(r, i)| (r + i) % 2 == 0);
    let start = BinaryStart::Rows(rows.view());
    let mut chains = BinaryGibbs::new(&model, 7, start, CYCLIC, 0).unwrap();
    for chain in 0..7 {
        assert_eq!(chains.state(chain), rows.row(chain % 3).to_vec());
    }
    assert!(chains.set_model(&random_model(4, 0.5, 1.0, 2)).is_err());
    // A model of certainties moves every chain at once.
    let certain = BinaryPairwise::new(&[60.0, -60.0, 60.0, -60.0, 60.0], &[]).unwrap();
    chains.set_model(&certain).unwrap();
    chains.sweep(1);
    assert_eq!(chains.state(6), [true, false, true, false, true]);
}

#[test]
fn spins_and_bits_are_one_model() {
    for seed in 0..20 {
        let model = random_model(6, 0.6, 2.0, seed);
        let (fields, couplings, constant) = model.to_spins();
        let (back, same) = BinaryPairwise::from_spins(&fields, &couplings).unwrap();
        assert!((constant - same).abs() < 1e-12);
        let spin_score = |x: &[bool]| {
            let s = |i: usize| if x[i] { 1.0 } else { -1.0 };
            let unary: f64 = (0..6).map(|i| fields[i] * s(i)).sum();
            let pair = |&(i, j, c): &(u32, u32, f64)| c * s(i as usize) * s(j as usize);
            unary + couplings.iter().map(pair).sum::<f64>()
        };
        for code in 0..64 {
            let x = state(6, code);
            let score = model.log_score(&x).unwrap();
            assert!((back.log_score(&x).unwrap() - score).abs() < 1e-12);
            assert!((spin_score(&x) + constant - score).abs() < 1e-12);
        }
    }
}

#[test]
fn bad_models_are_refused_by_name() {
    let message = |bias: &[f64], edges: &[(u32, u32, f64)]| {
        BinaryPairwise::new(bias, edges).unwrap_err().to_string()
    };
    assert_eq!(message(&[], &[]), "bias is empty");
    assert!(message(&[0.0, f64::NAN], &[]).starts_with("bias: NaN at row 1"));
    assert!(message(&[0.0; 2], &[(0, 1, 1.0), (1, 1, 1.0)]).contains("edge 1 joins 1 and 1"));
    assert!(message(&[0.0; 2], &[(0, 2, 1.0)]).contains("variables below 2"));
    let twice = message(&[0.0; 2], &[(0, 1, 1.0), (1, 0, 1.0)]);
    assert!(twice.contains("between 0 and 1 is given twice"));
    assert!(message(&[0.0; 2], &[(0, 1, f64::INFINITY)]).contains("inf"));
    assert!(BinaryPairwise::from_matrix(Array2::zeros((2, 3)).view()).is_err());
    let model = BinaryPairwise::new(&[0.0; 2], &[(0, 1, 0.0)]).unwrap();
    assert_eq!(model.edge_count(), 0, "a coupling of 0 is no edge");
    let start = |start: BinaryStart, chains| BinaryGibbs::new(&model, chains, start, CYCLIC, 0);
    assert!(start(BinaryStart::Zero, 0).is_err());
    assert!(start(BinaryStart::State(&[true]), 1).is_err());
    let none = Array2::from_elem((0, 2), false);
    assert!(start(BinaryStart::Rows(none.view()), 1).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]
    #[test]
    fn colourings_keep_neighbours_apart(
        p in 1usize..30,
        density in 0.0..1.0_f64,
        seed in 0u64..1000,
    ) {
        let model = random_model(p, density, 1.0, seed);
        let colours = model.colouring();
        for (i, j, _) in model.edges() {
            prop_assert_ne!(colours[i as usize], colours[j as usize]);
        }
        prop_assert!(colours.iter().all(|&c| (c as usize) <= model.largest_degree()));
        let mut theta = Array2::zeros((p, p));
        for (i, j, coupling) in model.edges() {
            theta[[i as usize, j as usize]] = coupling;
        }
        for (i, bias) in model.bias().iter().enumerate() {
            theta[[i, i]] = *bias;
        }
        prop_assert_eq!(BinaryPairwise::from_matrix(theta.view()).unwrap(), model);
    }
}

#[test]
fn orders_that_a_sweep_does_not_know_are_refused() {
    let model = random_model(3, 1.0, 1.0, 1);
    let error = |scan: Scan| {
        let found = BinaryGibbs::new(&model, 1, BinaryStart::Zero, scan, 0);
        let error = found.unwrap_err();
        assert!(matches!(error, Error::Refused(_)), "{error}");
        error.to_string()
    };
    assert_eq!(
        error(Order::Gap.into()),
        "BinaryGibbs does not support the gap order; expected Cyclic, Permuted or Uniform"
    );
    let blocks = error(Scan::Blocked(vec![vec![VarId(0)]]));
    assert_eq!(blocks, "BinaryGibbs does not support blocks; use Gibbs");
}
