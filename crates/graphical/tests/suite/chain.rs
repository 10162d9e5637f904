//! Chains against enumeration of all labellings, against the log domain, and at the ends of the range.

use fenchel_graphical::chain::{Chain, ChainMarginals, LogF64, Probability, stride};
use fenchel_graphical::{
    Error, Evidence, FactorGraph, FactorId, JunctionTree, OrderingOptions, VarId,
};
use proptest::prelude::*;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const FORBIDDEN: f64 = f64::NEG_INFINITY;

/// All labellings of `length` positions, in lexicographic order.
fn labellings(states: usize, length: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for _ in 0..length {
        let longer = |y: Vec<usize>| (0..states).map(move |k| [&y[..], &[k]].concat());
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

fn chain_of(states: usize, length: usize, shared: bool, mut score: impl FnMut() -> f64) -> Chain {
    let build = if shared { Chain::shared } else { Chain::per_edge };
    let mut chain = build(states, length).unwrap();
    for t in 0..length {
        chain.unary_mut(t).fill_with(&mut score);
    }
    for t in 0..if shared { 1 } else { length - 1 } {
        for j in 0..states {
            chain.pairwise_mut(t, j).fill_with(&mut score);
        }
    }
    chain
}

fn random_chain(
    (states, length, shared): (usize, usize, bool),
    scale: f64,
    masked: f64,
    rng: &mut impl Rng,
) -> Chain {
    chain_of(states, length, shared, || {
        let score = scale * rng.random_range(-1.0..1.0);
        if rng.random::<f64>() < masked { FORBIDDEN } else { score }
    })
}

type Joint = Vec<(Vec<usize>, f64)>;

/// `log Z` and all probabilities by enumeration; `None` if nothing is allowed.
fn enumerate(chain: &Chain) -> Option<(f64, Joint)> {
    let all = labellings(chain.states(), chain.length());
    let scores: Vec<f64> = all.iter().map(|y| chain.score(y).unwrap()).collect();
    let log_z = fenchel_linalg::special::log_sum_exp(&scores);
    let p = all.into_iter().zip(scores).map(|(y, s)| (y, (s - log_z).exp())).collect();
    (log_z > FORBIDDEN).then_some((log_z, p))
}

fn check_marginals<T: Probability>(m: &ChainMarginals<T>, p: &Joint, tolerance: f64) {
    let k = m.states();
    let mass = |event: &dyn Fn(&[usize]) -> bool| -> f64 {
        p.iter().filter(|(y, _)| event(y)).map(|(_, p)| p).sum()
    };
    for t in 0..m.length() {
        for s in 0..k {
            let (found, expected) = (m.node(t)[s], mass(&|y| y[t] == s));
            assert!((found - expected).abs() <= tolerance.min(1e-10), "{found} {expected}");
        }
    }
    for t in 1..m.length() {
        for (cell, value) in m.edge(t - 1).iter().enumerate() {
            let expected = mass(&|y| (y[t - 1], y[t]) == (cell / k, cell % k));
            assert!((value.linear() - expected).abs() <= tolerance);
        }
    }
    assert!(m.is_consistent(tolerance));
}

/// Scores of 1e9 in logarithms have seven digits behind the point; marginals add up to 1 all the same.
#[test]
fn marginals_of_huge_scores_add_up_to_1() {
    for scale in [1e9, 1e16] {
        let mut chain = random_chain((4, 12, true), scale, 0.0, &mut ChaCha8Rng::seed_from_u64(3));
        for t in 0..12 {
            // Close ties, which rounding breaks.
            chain.unary_mut(t).fill(scale);
            chain.unary_mut(t)[1] += 0.3;
        }
        chain.pairwise_mut(0, 0).fill(-0.7 * scale);
        let mut marginals: ChainMarginals = ChainMarginals::new();
        chain.marginals_in_logs(&mut marginals).unwrap();
        for t in 0..12 {
            let total: f64 = marginals.node(t).iter().sum();
            assert!((total - 1.0).abs() < 1e-14, "{scale}: {total}");
        }
        for t in 0..11 {
            let total: f64 = marginals.edge(t).iter().sum();
            assert!((total - 1.0).abs() < 1e-14, "{scale}: {total}");
        }
    }
    let mut beyond = random_chain((2, 3, true), 1.0, 0.0, &mut ChaCha8Rng::seed_from_u64(3));
    (0..3).for_each(|t| beyond.unary_mut(t)[0] = 1e308);
    let mut marginals: ChainMarginals = ChainMarginals::new();
    assert!(matches!(beyond.marginals(&mut marginals), Err(Error::Invalid(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn inference_agrees_with_enumeration(
        states in 1usize..5, length in 1usize..6, shared: bool, seed: u64,
        scale in prop_oneof![Just(1.0), Just(30.0), Just(700.0)],
        masked in prop_oneof![Just(0.0), Just(0.2)],
    ) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut chain = random_chain((states, length, shared), scale, masked, &mut rng);
        let mut m = ChainMarginals::<f64>::new();
        let Some((log_z, p)) = enumerate(&chain) else {
            prop_assert_eq!(chain.marginals(&mut m), Err(Error::ImpossibleEvidence));
            prop_assert_eq!(chain.log_partition(), Err(Error::ImpossibleEvidence));
            prop_assert_eq!(chain.viterbi(), Err(Error::ImpossibleEvidence));
            prop_assert_eq!(chain.k_best(2), Err(Error::ImpossibleEvidence));
            prop_assert_eq!(chain.sample(&mut rng), Err(Error::ImpossibleEvidence));
            return Ok(());
        };
        let close = |a: f64| (a - log_z).abs() <= 1e-10 * (1.0 + log_z.abs());
        prop_assert!(close(chain.marginals(&mut m).unwrap()));
        check_marginals(&m, &p, 1e-11);
        let entropy: f64 = p.iter().filter(|(_, p)| *p > 0.0).map(|(_, p)| -p * p.ln()).sum();
        prop_assert!((m.entropy() - entropy).abs() <= 1e-10);
        prop_assert!(close(chain.marginals_in_logs(&mut m).unwrap()));
        check_marginals(&m, &p, 1e-11);
        let mut single = ChainMarginals::<f32>::new();
        prop_assert!(close(chain.marginals(&mut single).unwrap()));
        check_marginals(&single, &p, 1e-6);
        prop_assert!((single.entropy() - entropy).abs() <= 1e-4);
        let mut logs = ChainMarginals::<LogF64>::new();
        prop_assert!(close(chain.marginals(&mut logs).unwrap()));
        check_marginals(&logs, &p, 1e-11);
        prop_assert!((logs.entropy() - entropy).abs() <= 1e-10);
        prop_assert!(close(chain.log_partition().unwrap()));
        for (y, p) in p.iter().filter(|(_, p)| *p > 1e-200) {
            let close = |log: f64| (log - p.ln()).abs() <= 1e-8 * (1.0 + p.ln().abs());
            prop_assert!(close(logs.log_probability(y).unwrap()));
            prop_assert!(close(chain.log_probability(y).unwrap()));
        }

        let stride = stride(states);
        let (mut nodes, mut pairs) = (vec![0.0; length * stride], vec![1.0; states * stride]);
        prop_assert!(close(chain.expectations(&mut nodes, &mut pairs).unwrap()));
        let mut sums = vec![0.0; states * states];
        logs.add_pairs(&mut sums);
        for (cell, sum) in sums.iter().enumerate() {
            let found = pairs[cell / states * stride + cell % states] - 1.0;
            prop_assert!((found - sum).abs() < 1e-10);
        }
        for (row, t) in nodes.chunks(stride).zip(0..) {
            prop_assert!(row.iter().zip(m.node(t)).all(|(a, b)| (a - b).abs() < 1e-11));
        }
    }

    #[test]
    fn best_labellings_agree_with_sorting_all(
        states in 1usize..4, length in 1usize..6, shared: bool, seed: u64, ties: bool,
        count in 1usize..30,
    ) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut chain = chain_of(states, length, shared, || {
            let score: f64 = rng.random_range(-2.0..2.0);
            if rng.random::<f64>() < 0.1 { FORBIDDEN } else if ties { score.round() } else { score }
        });
        let mut all = labellings(states, length);
        all.retain(|y| chain.score(y).unwrap() > FORBIDDEN);
        if all.is_empty() {
            return Ok(());
        }
        let mut scores: Vec<f64> = all.iter().map(|y| chain.score(y).unwrap()).collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        let best = chain.k_best(count).unwrap();
        prop_assert_eq!(best.len(), count.min(scores.len()));
        for ((path, score), expected) in best.iter().zip(&scores) {
            prop_assert!((score - expected).abs() < 1e-12);
            prop_assert!((chain.score(path).unwrap() - expected).abs() < 1e-12);
        }
        let (path, score) = chain.viterbi().unwrap();
        prop_assert!((score - scores[0]).abs() < 1e-12);
        prop_assert_eq!(&path, &best[0].0);
        let mut paths: Vec<_> = best.iter().map(|b| b.0.clone()).collect();
        paths.sort();
        paths.dedup();
        prop_assert_eq!(paths.len(), best.len());
    }

    #[test]
    fn every_width_agrees_with_the_log_domain(
        states in 1usize..45, length in 1usize..12, shared: bool, seed: u64,
    ) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut chain = random_chain((states, length, shared), 5.0, 0.05, &mut rng);
        let (mut a, mut b) = (ChainMarginals::<f64>::new(), ChainMarginals::<f64>::new());
        let Ok(log_z) = chain.marginals(&mut a) else { return Ok(()) };
        let reference = chain.marginals_in_logs(&mut b).unwrap();
        prop_assert!((log_z - reference).abs() <= 1e-12 * (1.0 + reference.abs()));
        prop_assert!((a.entropy() - b.entropy()).abs() <= 1e-10);
        prop_assert!(a.kl(&b).abs() <= 1e-10);
        prop_assert!(a.is_consistent(1e-12));
        // Adding a constant to the scores of a position adds it to log Z.
        chain.unary_mut(length / 2).iter_mut().for_each(|s| *s += 3.5);
        prop_assert!((chain.log_partition().unwrap() - log_z - 3.5).abs() <= 1e-10);
    }

    /// Mass that a scaled row cannot hold may come back: the pass must notice.
    #[test]
    fn nothing_gets_lost_between_distant_scores(length in 2usize..8, seed: u64) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let values = [0.0, -250.0, -500.0, -740.0, FORBIDDEN];
        let mut chain = chain_of(3, length, false, || values[rng.random_range(0..5)]);
        let Some((log_z, p)) = enumerate(&chain) else { return Ok(()) };
        let mut m = ChainMarginals::<f64>::new();
        let close = |a: f64| (a - log_z).abs() <= 1e-11 * (1.0 + log_z.abs());
        prop_assert!(close(chain.marginals(&mut m).unwrap()));
        prop_assert!(close(chain.log_partition().unwrap()));
        check_marginals(&m, &p, 1e-11);
    }

    #[test]
    fn divergences_mixtures_and_lines(
        states in 1usize..4, length in 1usize..5, seed: u64, step in 0.05..0.95_f64,
    ) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut infer = || {
            let mut chain = random_chain((states, length, true), 2.0, 0.0, &mut rng);
            let mut m = ChainMarginals::<f64>::new();
            chain.marginals(&mut m).unwrap();
            (m, enumerate(&chain).unwrap().1)
        };
        let ((a, p), (b, q)) = (infer(), infer());
        let pairs = || p.iter().zip(&q).map(|((_, p), (_, q))| (p, q));
        let kl: f64 = pairs().map(|(p, q)| p * (p / q).ln()).sum();
        prop_assert!((a.kl(&b) - kl).abs() <= 1e-10 * (1.0 + kl));

        // The marginals stand for the Markov completion, of at least the entropy of the mixed joints.
        let joint = pairs().map(|(p, q)| (1.0 - step) * p + step * q);
        let joint: f64 = joint.map(|m| -m * m.ln()).sum();
        let mut m = a.clone();
        m.mix(&b, step);
        prop_assert!(m.entropy() >= joint - 1e-12);
        let logs: Vec<f64> = labellings(states, length).iter()
            .map(|y| m.log_probability(y).unwrap()).collect();
        prop_assert!((logs.iter().map(|l| l.exp()).sum::<f64>() - 1.0).abs() < 1e-12);
        let completed: f64 = logs.iter().map(|l| -l.exp() * l).sum();
        prop_assert!((m.entropy() - completed).abs() < 1e-10);

        // Derivatives against differences of the entropy and of the slope.
        let entropy = |step: f64| {
            let mut m = a.clone();
            m.mix(&b, step);
            m.entropy()
        };
        let terms = a.line_terms(&b, step);
        prop_assert!((terms.entropy - m.entropy()).abs() < 1e-11);
        let h = 1e-5;
        let slope = (entropy(step + h) - entropy(step - h)) / (2.0 * h);
        prop_assert!((terms.slope + slope).abs() <= 1e-6 * (1.0 + terms.curvature));
        let (low, high) = (a.line_terms(&b, step - h), a.line_terms(&b, step + h));
        let curvature = (high.slope - low.slope) / (2.0 * h);
        prop_assert!((terms.curvature - curvature).abs() <= 1e-4 * (1.0 + curvature.abs()));

        let cells = states * states;
        let (mut sums, mut of_a, mut of_b) = (vec![0.0; cells], vec![0.0; cells], vec![0.0; cells]);
        a.add_pair_differences(&b, &mut sums);
        a.add_pairs(&mut of_a);
        b.add_pairs(&mut of_b);
        prop_assert!((0..cells).all(|c| (sums[c] - (of_b[c] - of_a[c])).abs() < 1e-12));
    }

    #[test]
    fn storages_agree_along_a_line(seed: u64, step in 0.05..0.95_f64) {
        fn line<T: Probability>(from: &mut Chain, to: &mut Chain, step: f64) -> [f64; 4] {
            let (mut a, mut b) = (ChainMarginals::<T>::new(), ChainMarginals::<T>::new());
            from.marginals(&mut a).unwrap();
            to.marginals(&mut b).unwrap();
            let (terms, kl) = (a.line_terms(&b, step), a.kl(&b));
            a.mix(&b, step);
            [terms.slope, terms.curvature, a.entropy(), kl]
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut from = random_chain((7, 9, true), 4.0, 0.0, &mut rng);
        let mut to = random_chain((7, 9, true), 4.0, 0.0, &mut rng);
        let exact = line::<LogF64>(&mut from, &mut to, step);
        let double = line::<f64>(&mut from, &mut to, step);
        let single = line::<f32>(&mut from, &mut to, step);
        for i in 0..4 {
            prop_assert!((double[i] - exact[i]).abs() <= 1e-9 * (1.0 + exact[i].abs()));
            prop_assert!((single[i] - exact[i]).abs() <= 2e-4 * (1.0 + exact[i].abs()));
        }
    }
}

#[test]
fn samples_have_the_right_frequencies() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for masked in [0.0, 0.2] {
        let mut chain = random_chain((3, 3, true), 1.0, masked, &mut rng);
        let (_, p) = enumerate(&chain).unwrap();
        let draws = 20_000;
        let mut counts = vec![0.0; p.len()];
        for _ in 0..draws {
            let y = chain.sample(&mut rng).unwrap();
            counts[y.iter().fold(0, |index, k| 3 * index + k)] += 1.0;
        }
        let mut statistic = 0.0;
        for ((_, p), count) in p.iter().zip(&counts) {
            let expected = p * f64::from(draws);
            if *p == 0.0 {
                assert_eq!(*count, 0.0);
            } else {
                statistic += (count - expected) * (count - expected) / expected;
            }
        }
        // 26 degrees of freedom at most: 54.1 is exceeded with probability 1e-3.
        assert!(statistic < 54.1, "{statistic}");
    }
}

#[test]
fn a_million_positions_need_no_recursion() {
    // Independent positions: log Z is a sum.
    let length = 1_000_000;
    let score = |t: usize| (t % 7) as f64 - 3.0;
    let mut chain = Chain::shared(2, length).unwrap();
    for t in 0..length {
        chain.unary_mut(t)[1] = score(t);
    }
    let count = |r: usize| ((length + 6 - r) / 7) as f64;
    let exact: f64 = (0..7).map(|r| count(r) * score(r).exp().ln_1p()).sum();
    let mut m = ChainMarginals::<f32>::new();
    assert!((chain.marginals(&mut m).unwrap() - exact).abs() < 1e-9 * exact);
    for t in [0, 1, length / 2, length - 1] {
        assert!((m.node(t)[1] - fenchel_linalg::special::sigmoid(score(t))).abs() < 1e-10);
    }
    let (path, _) = chain.viterbi().unwrap();
    assert!(path.iter().enumerate().all(|(t, &k)| k == usize::from(t % 7 > 3)));
}

#[test]
fn the_gradient_of_log_z_is_the_marginal() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut chain = random_chain((4, 5, false), 1.0, 0.0, &mut rng);
    let mut m = ChainMarginals::<f64>::new();
    chain.marginals(&mut m).unwrap();
    let h = 1e-5;
    let mut difference = |bump: &dyn Fn(&mut Chain, f64)| {
        bump(&mut chain, h);
        let high = chain.log_partition().unwrap();
        bump(&mut chain, -2.0 * h);
        let low = chain.log_partition().unwrap();
        bump(&mut chain, h);
        (high - low) / (2.0 * h)
    };
    assert!((difference(&|c, h| c.unary_mut(2)[1] += h) - m.node(2)[1]).abs() < 1e-8);
    assert!((difference(&|c, h| c.pairwise_mut(3, 2)[1] += h) - m.edge(3)[9]).abs() < 1e-8);
}

#[test]
fn masks_constrain_and_bad_arguments_are_refused() {
    let mut chain = Chain::shared(3, 4).unwrap();
    chain.allow(1, &[false, true, true]).unwrap();
    chain.fix(2, 0).unwrap();
    chain.forbid(0, 2, 0).unwrap();
    let mut m = ChainMarginals::<f64>::new();
    // 3 x {1} x {0} x 3 labellings: state 2 at position 1 leads nowhere.
    assert!((chain.marginals(&mut m).unwrap() - 9f64.ln()).abs() < 1e-12);
    assert_eq!(m.node(1), [0.0, 1.0, 0.0]);
    assert!(chain.allow(4, &[true; 3]).is_err());
    assert!(chain.allow(0, &[true; 2]).is_err());
    assert!(chain.fix(0, 3).is_err());
    assert!(chain.forbid(3, 0, 0).is_err());
    assert!(chain.score(&[0, 0]).is_err());
    assert!(chain.score(&[0, 0, 0, 3]).is_err());
    assert!(chain.k_best(0).is_err());
    assert!(chain.resize(0).is_err());
    assert!(Chain::shared(0, 1).is_err() && Chain::shared(1, 0).is_err());
    chain.unary_mut(3)[1] = f64::NAN;
    let message = chain.marginals(&mut m).unwrap_err().to_string();
    assert!(message.contains("unary") && message.contains("row 3, column 1"), "{message}");
    assert!(chain.viterbi().is_err() && chain.log_partition().is_err());
    chain.unary_mut(3)[1] = f64::INFINITY;
    assert!(chain.marginals(&mut m).is_err());
    assert!(ChainMarginals::<f64>::smoothed(2, &[0, 2], 0.1).is_err());
    assert!(ChainMarginals::<f64>::smoothed(2, &[], 0.1).is_err());
    assert!(ChainMarginals::<f64>::smoothed(2, &[0], 1.1).is_err());
    assert!(ChainMarginals::<f32>::uniform(3, 4).unwrap().is_consistent(1e-6));
}

/// The chain as a factor graph: its positions first, then its pairs.
fn factor_graph(chain: &Chain) -> FactorGraph {
    let mut model = FactorGraph::new(&vec![chain.states(); chain.length()]).unwrap();
    for t in 0..chain.length() {
        model.add(&[VarId(t as u32)], chain.unary(t)).unwrap();
    }
    for t in 1..chain.length() {
        let scores: Vec<f64> =
            (0..chain.states()).flat_map(|j| chain.pairwise(t - 1, j).to_vec()).collect();
        model.add(&[VarId(t as u32 - 1), VarId(t as u32)], &scores).unwrap();
    }
    model
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Longer than can be enumerated: an independent algorithm is the reference.
    #[test]
    fn inference_agrees_with_the_junction_tree(
        states in 1usize..9, length in 1usize..30, shared: bool, seed: u64,
        scale in prop_oneof![Just(1.0), Just(10.0)],
        step in 0.05..0.95_f64,
    ) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut chains = [0, 1].map(|_| random_chain((states, length, shared), scale, 0.0, &mut rng));
        let models = chains.each_ref().map(factor_graph);
        let tree = JunctionTree::compile(&models[0], &OrderingOptions::default()).unwrap();
        let mut workspaces = [tree.workspace(), tree.workspace()];
        let mut marginals = [ChainMarginals::<f64>::new(), ChainMarginals::new()];
        let mut answers = Vec::new();
        let sides = chains.iter_mut().zip(&models).zip(&mut workspaces).zip(&mut marginals);
        for (((chain, model), workspace), m) in sides {
            let answer = tree.calibrate(model, &Evidence::new(), workspace).unwrap();
            let log_z = chain.marginals(m).unwrap();
            prop_assert!((answer.log_partition() - log_z).abs() < 1e-10 * (1.0 + log_z.abs()));
            for (t, marginal) in answer.marginals().iter().enumerate() {
                prop_assert!(marginal.iter().zip(m.node(t)).all(|(a, b)| (a - b).abs() < 1e-11));
            }
            for t in 1..length {
                let pair = answer.factor_marginal(FactorId((length + t - 1) as u32)).unwrap();
                prop_assert!(pair.values().iter().zip(m.edge(t - 1)).all(|(a, b)| (a - b).abs() < 1e-11));
            }
            prop_assert!((answer.entropy() - m.entropy()).abs() < 1e-9);
            answers.push(answer);
        }
        let divergence = answers[0].kl_to(&answers[1]).unwrap();
        prop_assert!((marginals[0].kl(&marginals[1]) - divergence).abs() < 1e-8 * (1.0 + divergence));
        // Along the line between the two: derivatives of the entropy.
        let cliques = answers.iter().map(|answer| answer.clique_marginals()).collect::<Vec<_>>();
        let expected = cliques[0].line_derivatives(step, &cliques[1]).unwrap();
        let terms = marginals[0].line_terms(&marginals[1], step);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-8 * (1.0 + a.abs());
        prop_assert!(close(expected.entropy, terms.entropy), "{expected:?} {terms:?}");
        prop_assert!(close(expected.first, -terms.slope), "{expected:?} {terms:?}");
        prop_assert!(close(expected.second, -terms.curvature), "{expected:?} {terms:?}");
    }
}
