//! Gibbs sampling of any model, against enumeration.

use crate::ais::random_binary;
use crate::common::{Enumeration, configurations, p_value};
use fenchel_graphical::ais::{AisSettings, ais, ais_binary};
use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
use fenchel_graphical::gibbs::{Gibbs, GibbsSettings, Scan, Start, tree_blocks};
use fenchel_graphical::{Error, Evidence, FactorGraph, Graph, VarId};
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
pub(crate) fn small(seed: u64) -> FactorGraph {
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
