//! Influence matrices against enumeration: the definition, and the exact law of the chains.

use crate::common::configurations;
use fenchel_graphical::{BinaryPairwise, FactorGraph, Influence, VarId};
use fenchel_optim::random::stream;
use proptest::prelude::*;
use rand::RngExt;

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

fn as_factors(model: &BinaryPairwise) -> FactorGraph {
    let mut factors = FactorGraph::new(&vec![2; model.variables()]).unwrap();
    for (i, &bias) in model.bias().iter().enumerate() {
        factors.add(&[VarId(i as u32)], &[0.0, bias]).unwrap();
    }
    for (i, j, coupling) in model.edges() {
        factors.add(&[VarId(i), VarId(j)], &[0.0, 0.0, 0.0, coupling]).unwrap();
    }
    factors
}

/// `P(X_i = . | x)`, from scores alone.
fn conditional(model: &FactorGraph, i: usize, x: &[usize]) -> Vec<f64> {
    let mut y = x.to_vec();
    let mut score = |state| {
        y[i] = state;
        model.log_score(&y).unwrap()
    };
    let weights: Vec<f64> = (0..model.cards()[i]).map(&mut score).map(f64::exp).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|w| w / total).collect()
}

fn total_variation(p: &[f64], q: &[f64]) -> f64 {
    0.5 * p.iter().zip(q).map(|(p, q)| (p - q).abs()).sum::<f64>()
}

/// The Dobrushin matrix by its definition.
fn dobrushin(model: &FactorGraph) -> Vec<Vec<f64>> {
    let p = model.len();
    let mut matrix = vec![vec![0.0_f64; p]; p];
    for x in configurations(model.cards()) {
        for i in 0..p {
            let before = conditional(model, i, &x);
            for j in (0..p).filter(|&j| j != i) {
                for state in 0..model.cards()[j] {
                    let mut y = x.clone();
                    y[j] = state;
                    let distance = total_variation(&before, &conditional(model, i, &y));
                    matrix[i][j] = matrix[i][j].max(distance);
                }
            }
        }
    }
    matrix
}

fn index(cards: &[usize], x: &[usize]) -> usize {
    x.iter().zip(cards).fold(0, |at, (state, card)| at * card + state)
}

/// The law after drawing variable `i` anew.
fn redraw(model: &FactorGraph, law: &[f64], i: usize) -> Vec<f64> {
    let mut next = vec![0.0; law.len()];
    for (x, &mass) in configurations(model.cards()).into_iter().zip(law) {
        let mut y = x.clone();
        for (state, p) in conditional(model, i, &x).into_iter().enumerate() {
            y[i] = state;
            next[index(model.cards(), &y)] += mass * p;
        }
    }
    next
}

fn law_of(model: &FactorGraph) -> Vec<f64> {
    crate::common::Enumeration::of(model).marginal(&model.variables().collect::<Vec<_>>())
}

fn point_mass(size: usize, at: usize) -> Vec<f64> {
    let mut law = vec![0.0; size];
    law[at] = 1.0;
    law
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn exact_is_the_definition_and_never_above_the_bounds(
        p in 1usize..6, density in 0.2..1.0_f64, size in 0.1..4.0_f64, seed in 0u64..10_000,
    ) {
        let model = random_binary(p, density, size, seed);
        let factors = as_factors(&model);
        let definition = dobrushin(&factors);
        let exact = Influence::exact(&model, 12).to_dense();
        let none = Influence::exact(&model, 0);
        let bound = Influence::bound(&model).to_dense();
        let general = Influence::of_factors(&factors).unwrap().to_dense();
        for i in 0..p {
            if model.degree(i) > 0 {
                prop_assert_eq!(none.row(i).collect::<Vec<_>>(), Influence::bound(&model).row(i).collect::<Vec<_>>());
            }
            for j in 0..p {
                prop_assert!((exact[[i, j]] - definition[i][j]).abs() < 1e-12);
                prop_assert!(exact[[i, j]] <= bound[[i, j]] + 1e-15);
                prop_assert!(bound[[i, j]] <= general[[i, j]] + 1e-12);
            }
        }
    }

    /// Any factors, zeros among them excluded where a conditional would not exist.
    #[test]
    fn oscillations_bound_any_model(model in crate::common::models_with(4, 0.0)) {
        let bound = Influence::of_factors(&model).unwrap().to_dense();
        for (i, row) in dobrushin(&model).into_iter().enumerate() {
            for (j, exact) in row.into_iter().enumerate() {
                prop_assert!(exact <= bound[[i, j]] + 1e-12, "{} {}: {} {}", i, j, exact, bound[[i, j]]);
            }
        }
    }

    /// The formula for spins (SPG specification 4.5) in its own coordinates.
    #[test]
    fn spins_have_the_same_bound(
        h in proptest::collection::vec(-1.0..1.0_f64, 5),
        couplings in proptest::collection::vec(-1.0..1.0_f64, 10),
    ) {
        let pairs = (0..5u32).flat_map(|i| (i + 1..5).map(move |j| (i, j)));
        let edges: Vec<_> = pairs.zip(&couplings).map(|((i, j), &c)| (i, j, c)).collect();
        let (model, _) = BinaryPairwise::from_spins(&h, &edges).unwrap();
        let bound = Influence::bound(&model).to_dense();
        let coupling = |i: u32, j: u32| {
            edges.iter().find(|e| (e.0, e.1) == (i.min(j), i.max(j))).map_or(0.0, |e| e.2)
        };
        for i in 0..5u32 {
            for j in (0..5).filter(|&j| j != i) {
                let rest: f64 = (0..5).filter(|&k| k != i && k != j).map(|k| coupling(i, k).abs()).sum();
                let field = 2.0 * h[i as usize];
                let eta = 0.0_f64.clamp(field - 2.0 * rest, field + 2.0 * rest);
                let sigma = |t: f64| 1.0 / (1.0 + (-t).exp());
                let c = coupling(i, j);
                let expected = (sigma(eta + 2.0 * c) - sigma(eta - 2.0 * c)).abs();
                prop_assert!((bound[[i as usize, j as usize]] - expected).abs() < 1e-12);
            }
        }
    }
}

/// The theorem: from every state, after every number of sweeps, the exact distance is below the bound.
#[test]
fn bounds_hold_for_the_exact_law_of_a_sweep() {
    for (seed, &(p, size)) in [(2, 3.0), (4, 0.8), (5, 0.5), (6, 1.5), (7, 0.4)].iter().enumerate()
    {
        let model = random_binary(p, 0.7, size, seed as u64);
        let factors = as_factors(&model);
        let target = law_of(&factors);
        for influence in [Influence::exact(&model, 12), Influence::bound(&model)] {
            for from in 0..1 << p {
                let mut law = point_mass(1 << p, from);
                for sweeps in 1..=5 {
                    for i in 0..p {
                        law = redraw(&factors, &law, i);
                    }
                    let bound: f64 = influence.scan_bound(sweeps).iter().sum();
                    let distance = total_variation(&law, &target);
                    assert!(distance <= bound + 1e-12, "{p} {from} {sweeps}: {distance} {bound}");
                    // And for one variable alone.
                    for v in 0..p {
                        let first = |law: &[f64]| {
                            (0..1 << p)
                                .filter(|code| code >> (p - 1 - v) & 1 == 1)
                                .map(|c: usize| law[c])
                                .sum::<f64>()
                        };
                        let single = (first(&law) - first(&target)).abs();
                        let bound = influence.subset_bound(&[VarId(v as u32)], sweeps).unwrap();
                        assert!(single <= bound + 1e-12);
                    }
                }
            }
            // Permuted and uniform updates.
            let mut law = point_mass(1 << p, 0);
            let mut bounds = vec![1.0; p];
            for i in (0..p).rev() {
                law = redraw(&factors, &law, i);
            }
            influence.sweep_along((0..p).rev(), &mut bounds);
            assert!(total_variation(&law, &target) <= bounds.iter().sum::<f64>() + 1e-12);
            let mut law = point_mass(1 << p, 0);
            for updates in 1..=4 * p {
                let mut mixed = vec![0.0; 1 << p];
                for i in 0..p {
                    for (mixed, p_i) in mixed.iter_mut().zip(redraw(&factors, &law, i)) {
                        *mixed += p_i / p as f64;
                    }
                }
                law = mixed;
                let bound: f64 = influence.random_scan_bound(updates).iter().sum();
                assert!(total_variation(&law, &target) <= bound + 1e-12);
            }
        }
    }
}

#[test]
fn bounds_of_k_states_hold_for_the_exact_law() {
    let mut rng = stream(1, 0);
    let mut model = FactorGraph::new(&[3, 2, 4]).unwrap();
    for scope in [&[0, 1, 2][..], &[0, 2], &[2, 0], &[1]] {
        let scope: Vec<VarId> = scope.iter().map(|&v| VarId(v)).collect();
        let size = scope.iter().map(|v| model.cards()[v.index()]).product();
        let values: Vec<f64> = (0..size).map(|_| rng.random_range(-0.3..0.3)).collect();
        model.add(&scope, &values).unwrap();
    }
    let influence = Influence::of_factors(&model).unwrap();
    assert!(influence.spectral_radius().unwrap() < 1.0);
    let target = law_of(&model);
    for from in 0..24 {
        let mut law = point_mass(24, from);
        for sweeps in 1..=5 {
            for i in 0..3 {
                law = redraw(&model, &law, i);
            }
            let bound = influence.total_variation_bound(sweeps);
            assert!(total_variation(&law, &target) <= bound + 1e-12);
        }
    }
}

/// `sum d = G(B^t)` with the matrices of the paper multiplied out.
#[test]
fn sweeps_are_powers_of_the_scan_matrix() {
    let model = random_binary(6, 0.8, 1.0, 7);
    let influence = Influence::bound(&model);
    let u = influence.to_dense();
    let mut b = ndarray::Array2::<f64>::eye(6);
    for i in 0..6 {
        let mut b_i = ndarray::Array2::<f64>::eye(6);
        b_i.row_mut(i).assign(&u.row(i));
        b = b_i.dot(&b);
    }
    let mut power = ndarray::Array2::<f64>::eye(6);
    for sweeps in 0..6 {
        let grand: f64 = power.sum();
        let found: f64 = influence.scan_bound(sweeps).iter().sum();
        assert!((grand - found).abs() < 1e-12 * grand.max(1.0));
        power = b.dot(&power);
    }
}

#[test]
fn sweeps_needed_is_the_first_that_suffices() {
    let weak = Influence::bound(&random_binary(7, 0.5, 0.6, 3));
    assert!(weak.spectral_radius().unwrap() < 1.0);
    let sweeps = weak.sweeps_needed(1e-3, 10_000).unwrap();
    assert!(weak.total_variation_bound(sweeps) <= 1e-3);
    assert!(weak.total_variation_bound(sweeps - 1) > 1e-3);
    assert_eq!(weak.sweeps_needed(1e-3, sweeps - 1), None);
    let strong = Influence::bound(&random_binary(7, 1.0, 6.0, 3));
    assert!(strong.spectral_radius().unwrap() >= 1.0);
    assert_eq!(strong.sweeps_needed(0.5, 10_000), None);
    // Variables without edges are exact after one sweep.
    let free = Influence::bound(&BinaryPairwise::new(&[1.0, -2.0], &[]).unwrap());
    assert_eq!(free.sweeps_needed(0.0, 5), Some(1));
    assert!(free.subset_bound(&[VarId(2)], 1).is_err());
}

#[test]
fn saturated_differences_keep_their_digits() {
    // sigma(-40 + 1) - sigma(-40) = e^-40 (e - 1) up to e^-80.
    let model = BinaryPairwise::new(&[-40.0, 0.0], &[(0, 1, 1.0)]).unwrap();
    let (_, value) = Influence::bound(&model).row(0).next().unwrap();
    let exact = (-40.0_f64).exp() * (std::f64::consts::E - 1.0);
    assert!((value / exact - 1.0).abs() < 1e-14);
}

#[test]
fn zeros_are_handled() {
    let minus = f64::NEG_INFINITY;
    let mut model = FactorGraph::new(&[2, 2, 2]).unwrap();
    // x_0 = x_1 always; state 0 of x_2 is impossible whatever x_1.
    model.add(&[VarId(0), VarId(1)], &[0.0, minus, minus, 0.0]).unwrap();
    model.add(&[VarId(1), VarId(2)], &[minus, 0.3, minus, -0.4]).unwrap();
    let dense = Influence::of_factors(&model).unwrap().to_dense();
    assert_eq!(dense[[0, 1]], 1.0);
    assert_eq!(dense[[2, 1]], 0.0);
    assert_eq!(dense[[1, 2]], 1.0);
}
