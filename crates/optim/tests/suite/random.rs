//! Visiting orders and discrete distributions: repeatable, and distributed as they say.

use fenchel_linalg::Invalid;
use fenchel_optim::random::{Alias, Order, SumTree, Visits, stream};
use proptest::prelude::*;
use rand::RngExt;

/// `sum (seen - expected)^2 / expected` over the outcomes that can occur.
fn chi_squared(seen: &[u32], probabilities: &[f64]) -> f64 {
    let count: u32 = seen.iter().sum();
    let mut statistic = 0.0;
    for (&seen, p) in seen.iter().zip(probabilities) {
        if *p == 0.0 {
            assert_eq!(seen, 0, "an impossible outcome");
            continue;
        }
        let expected = p * f64::from(count);
        statistic += (f64::from(seen) - expected).powi(2) / expected;
    }
    statistic
}

/// Quantiles of the chi-squared distribution at 0.999, from its tables. The seeds are fixed, so that a
/// test passes always or never.
fn quantile(degrees: usize) -> f64 {
    match degrees {
        3 => 16.27,
        4 => 18.47,
        5 => 20.52,
        23 => 49.73,
        24 => 51.18,
        _ => panic!("look up the quantile for {degrees} degrees of freedom"),
    }
}

fn draws(visits: &mut Visits, count: usize) -> Vec<usize> {
    (0..count).map(|_| visits.draw()).collect()
}

fn orders(n: usize) -> Vec<Order> {
    let weights = (0..n).map(|i| (i % 3) as f64 + 0.5).collect();
    let script = (0..2 * n + 1).map(|k| (5 * k + 2) % n).collect();
    vec![
        Order::Uniform,
        Order::Permuted,
        Order::Cyclic,
        Order::Weighted(weights),
        Order::Scripted(script),
    ]
}

proptest! {
    #[test]
    fn a_seed_determines_the_visits(n in 1usize..60, seed: u64, before in 0usize..150) {
        for order in orders(n) {
            let mut visits = Visits::new(&order, n, seed).unwrap();
            let start = draws(&mut visits, before);
            prop_assert!(start.iter().all(|&term| term < n));
            // A copy goes on like the original, and neither disturbs the other.
            let mut copy = visits.clone();
            let rest = draws(&mut visits, 200);
            prop_assert_eq!(&draws(&mut copy, 200), &rest, "{}", order.name());
            let again = draws(&mut Visits::new(&order, n, seed).unwrap(), before + 200);
            prop_assert_eq!(&again[..before], &start[..]);
            prop_assert_eq!(&again[before..], &rest[..]);
        }
    }

    /// Two random sequences of 200 draws from 20 terms agree by chance with probability below 10^-50.
    #[test]
    fn another_seed_gives_other_visits(seed: u64, other: u64) {
        prop_assume!(seed != other);
        for order in orders(20) {
            let a = draws(&mut Visits::new(&order, 20, seed).unwrap(), 200);
            let b = draws(&mut Visits::new(&order, 20, other).unwrap(), 200);
            let random = !matches!(order, Order::Cyclic | Order::Scripted(_));
            prop_assert_eq!(a != b, random, "{}", order.name());
        }
    }

    /// What one run visited, another one visits when it is given as a script.
    #[test]
    fn a_script_replays_a_run(n in 1usize..40, seed: u64, count in 1usize..120) {
        for order in orders(n) {
            let seen = draws(&mut Visits::new(&order, n, seed).unwrap(), count);
            let mut replay = Visits::new(&Order::Scripted(seen.clone()), n, seed ^ 1).unwrap();
            prop_assert_eq!(&draws(&mut replay, count), &seen);
            prop_assert_eq!(&draws(&mut replay, count), &seen);
        }
    }

    #[test]
    fn a_permuted_pass_sees_every_term_once(n in 1usize..100, seed: u64) {
        let mut visits = Visits::new(&Order::Permuted, n, seed).unwrap();
        for _ in 0..3 {
            let mut pass = draws(&mut visits, n);
            pass.sort_unstable();
            prop_assert!(pass.into_iter().eq(0..n));
        }
    }

    #[test]
    fn weights_of_zero_are_never_drawn(
        weights in proptest::collection::vec(prop_oneof![Just(0.0), 1e-12..1.0f64, 1.0..1e12f64], 1..30),
        seed: u64,
    ) {
        prop_assume!(weights.iter().any(|&w| w > 0.0));
        let (alias, tree) = (Alias::new(&weights).unwrap(), SumTree::new(&weights).unwrap());
        let mut rng = stream(seed, 0);
        for _ in 0..300 {
            prop_assert!(weights[alias.draw(&mut rng)] > 0.0);
            prop_assert!(weights[tree.draw(&mut rng)] > 0.0);
        }
        // Also at the very ends of the line.
        prop_assert!(weights[tree.find(0.0)] > 0.0);
        prop_assert!(weights[tree.find(tree.total())] > 0.0);
    }

    #[test]
    fn drawing_leaves_tables_alone(
        weights in proptest::collection::vec(0.1..9.0f64, 1..30), seed: u64
    ) {
        let (alias, tree) = (Alias::new(&weights).unwrap(), SumTree::new(&weights).unwrap());
        let run = |alias: &Alias, tree: &SumTree| -> Vec<usize> {
            let mut rng = stream(seed, 3);
            (0..50).flat_map(|_| [alias.draw(&mut rng), tree.draw(&mut rng)]).collect()
        };
        let first = run(&alias, &tree);
        prop_assert_eq!(&run(&alias.clone(), &tree.clone()), &first);
        prop_assert_eq!(&run(&alias, &tree), &first);
    }

    /// A tree that was changed many times is bit for bit the tree of the final weights.
    #[test]
    fn changes_leave_no_rounding_behind(
        weights in proptest::collection::vec(0.0..1.0f64, 1..40),
        changes in proptest::collection::vec((0usize..40, prop_oneof![0.0..1.0f64, 0.0..1e9f64]), 0..60),
        seed: u64,
    ) {
        let mut weights = weights;
        let mut tree = SumTree::new(&weights).unwrap();
        for (i, w) in changes {
            let i = i % weights.len();
            weights[i] = w;
            tree.set(i, w).unwrap();
        }
        let fresh = SumTree::new(&weights).unwrap();
        prop_assert_eq!(tree.total().to_bits(), fresh.total().to_bits());
        let sum: f64 = weights.iter().sum();
        prop_assert!((tree.total() - sum).abs() <= 40.0 * f64::EPSILON * sum);
        prop_assert!((0..weights.len()).all(|i| tree.get(i) == weights[i]));
        let (mut a, mut b) = (stream(seed, 0), stream(seed, 0));
        for _ in 0..50 {
            prop_assert_eq!(tree.draw(&mut a), fresh.draw(&mut b));
        }
    }
}

const WEIGHTS: [f64; 6] = [0.5, 3.0, 0.0, 1.0, 0.25, 7.25];

fn probabilities(weights: &[f64]) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

#[test]
fn weighted_draws_have_their_frequencies() {
    for seed in 0..5 {
        let order = Order::Weighted(WEIGHTS.to_vec());
        let mut visits = Visits::new(&order, 6, seed).unwrap();
        let alias = Alias::new(&WEIGHTS).unwrap();
        let tree = SumTree::new(&WEIGHTS).unwrap();
        let (mut a, mut b) = (stream(seed, 1), stream(seed, 2));
        let mut seen = [[0u32; 6]; 3];
        for _ in 0..40_000 {
            seen[0][visits.draw()] += 1;
            seen[1][alias.draw(&mut a)] += 1;
            seen[2][tree.draw(&mut b)] += 1;
        }
        // Five outcomes are possible.
        for seen in seen {
            let statistic = chi_squared(&seen, &probabilities(&WEIGHTS));
            assert!(statistic < quantile(4), "{statistic} for {seen:?}");
        }
    }
}

#[test]
fn changed_weights_have_their_new_frequencies() {
    let mut tree = SumTree::new(&[1.0; 6]).unwrap();
    let mut rng = stream(11, 0);
    let mut count = |tree: &SumTree| {
        let mut seen = [0u32; 6];
        (0..40_000).for_each(|_| seen[tree.draw(&mut rng)] += 1);
        seen
    };
    assert!(chi_squared(&count(&tree), &[1.0 / 6.0; 6]) < quantile(5));
    for (i, w) in WEIGHTS.into_iter().enumerate() {
        tree.set(i, w).unwrap();
    }
    assert!(chi_squared(&count(&tree), &probabilities(&WEIGHTS)) < quantile(4));
    // Uniform where nothing has a weight.
    for i in 0..6 {
        tree.set(i, 0.0).unwrap();
    }
    assert!(chi_squared(&count(&tree), &[1.0 / 6.0; 6]) < quantile(5));
}

#[test]
fn uniform_draws_do_not_depend_on_the_one_before() {
    for seed in 0..5 {
        let mut visits = Visits::new(&Order::Uniform, 5, seed).unwrap();
        let mut seen = [0u32; 25];
        for _ in 0..40_000 {
            seen[5 * visits.draw() + visits.draw()] += 1;
        }
        let statistic = chi_squared(&seen, &[0.04; 25]);
        assert!(statistic < quantile(24), "{statistic}");
    }
}

#[test]
fn all_permutations_are_equally_likely() {
    for seed in 0..5 {
        let mut visits = Visits::new(&Order::Permuted, 4, seed).unwrap();
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..24_000 {
            *seen.entry(draws(&mut visits, 4)).or_insert(0u32) += 1;
        }
        assert_eq!(seen.len(), 24);
        let seen: Vec<u32> = seen.into_values().collect();
        let statistic = chi_squared(&seen, &[1.0 / 24.0; 24]);
        assert!(statistic < quantile(23), "{statistic}");
    }
}

#[test]
fn streams_are_independent() {
    // The joint distribution of two coins from two streams of one seed.
    let mut seen = [0u32; 4];
    for seed in 0..10 {
        let (mut a, mut b) = (stream(seed, 0), stream(seed, 1));
        for _ in 0..1000 {
            seen[2 * a.random_range(0..2usize) + b.random_range(0..2usize)] += 1;
        }
    }
    assert!(chi_squared(&seen, &[0.25; 4]) < quantile(3), "{seen:?}");
}

#[test]
fn one_term_is_visited_always() {
    for order in orders(1) {
        assert_eq!(draws(&mut Visits::new(&order, 1, 9).unwrap(), 5), [0; 5]);
    }
    let mut rng = stream(0, 0);
    assert_eq!(Alias::new(&[1e-300]).unwrap().draw(&mut rng), 0);
    assert_eq!(SumTree::new(&[0.0]).unwrap().draw(&mut rng), 0);
}

#[test]
fn what_is_no_distribution_is_refused() {
    #[track_caller]
    fn refused<T>(result: Result<T, Invalid>, text: &str) {
        let Err(error) = result else { panic!("accepted; expected: {text}") };
        assert!(error.to_string().contains(text), "{error}");
    }
    let visits = |order: Order, n| Visits::new(&order, n, 0);
    refused(visits(Order::Uniform, 0), "the sum is empty");
    refused(visits(Order::Scripted(vec![]), 3), "the scripted order is empty");
    refused(visits(Order::Scripted(vec![0, 7, 9]), 3), "scripted term = 7");
    refused(visits(Order::Weighted(vec![1.0; 2]), 3), "expected length 3, found 2");
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        let named = format!("weights: entry 1 is {bad}");
        refused(visits(Order::Weighted(vec![1.0, bad]), 2), &named);
        refused(Alias::new(&[1.0, bad]), &named);
        refused(SumTree::new(&[1.0, bad]), &named);
    }
    refused(Alias::new(&[0.0, 0.0]), "sum of the weights = 0");
    // Finite weights with an infinite sum have no probabilities.
    refused(Alias::new(&[f64::MAX, f64::MAX]), "sum of the weights = inf");
    refused(SumTree::new(&[f64::MAX, f64::MAX]), "sum of the weights = inf");
    // A refused change changes nothing.
    let mut tree = SumTree::new(&[f64::MAX, 1.0, 2.0]).unwrap();
    refused(tree.set(1, f64::MAX), "sum of the weights = inf");
    refused(tree.set(1, -1.0), "weight = -1");
    assert_eq!((tree.get(1), tree.total()), (1.0, f64::MAX));
    tree.set(0, 4.0).unwrap();
    assert_eq!((tree.total(), tree.len()), (7.0, 3));
}

/// Three weights sit on four leaves; the fourth is no weight.
#[test]
#[should_panic(expected = "index 3 of 3 weights")]
fn there_is_no_weight_beyond_the_last() {
    let _ = SumTree::new(&[1.0; 3]).unwrap().set(3, 1.0);
}
