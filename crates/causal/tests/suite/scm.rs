//! Structural causal models: counterfactuals against enumeration of the noise, laws against simulation and formulas.

use fenchel_causal::admg::GraphError;
use fenchel_causal::scm::{DiscreteScm, LinearGaussianScm};
use fenchel_causal::{Admg, Error, LatentModel, Query};
use fenchel_graphical::BayesNet;
use ndarray::array;
use rand::RngExt;

use crate::common::{odometer, random_graph, rng};

fn random_scm(n: usize, seed: u64) -> DiscreteScm {
    let mut rng = rng(seed);
    let graph = random_graph(n, 0.5, 0.0, &mut rng);
    let cards: Vec<usize> = (0..n).map(|v| 2 + v % 2).collect();
    let noise: Vec<Vec<f64>> = (0..n)
        .map(|_| {
            let raw: Vec<f64> = (0..3).map(|_| 0.1 + rng.random::<f64>()).collect();
            let sum: f64 = raw.iter().sum();
            raw.iter().map(|p| p / sum).collect()
        })
        .collect();
    let functions = (0..n as u32)
        .map(|v| {
            let rows: usize = graph.parents(v).iter().map(|p| cards[p as usize]).product();
            (0..rows * 3).map(|_| rng.random_range(0..cards[v as usize])).collect()
        })
        .collect();
    DiscreteScm::new(graph, cards, noise.clone(), functions).unwrap()
}

/// All configurations of the noise with their probabilities, by brute force.
#[test]
fn counterfactuals_are_those_of_enumeration() {
    for seed in 0..40 {
        let n = 2 + seed as usize % 4;
        let scm = random_scm(n, seed);
        let json = serde_json::to_value(&scm).unwrap();
        let noise: Vec<Vec<f64>> = serde_json::from_value(json["noise"].clone()).unwrap();
        let mut rng = rng(seed ^ 99);
        let factual = scm.run(&scm.sample_noise(&mut rng), &[]).unwrap();
        let evidence: Vec<(u32, usize)> =
            (0..n as u32).filter(|_| rng.random()).map(|v| (v, factual[v as usize])).collect();
        let set = [(rng.random_range(0..n as u32), rng.random_range(0..2))];
        let outcome = rng.random_range(0..n as u32);
        let found = scm.counterfactual(&evidence, &set, outcome).unwrap();
        let mut expected = vec![0.0; found.len()];
        for u in odometer(&vec![3; n]) {
            let p: f64 = u.iter().zip(&noise).map(|(&k, law)| law[k]).product();
            let world = scm.run(&u, &[]).unwrap();
            if evidence.iter().all(|&(v, s)| world[v as usize] == s) {
                expected[scm.run(&u, &set).unwrap()[outcome as usize]] += p;
            }
        }
        let total: f64 = expected.iter().sum();
        for (a, b) in found.iter().zip(&expected) {
            assert!((a - b / total).abs() < 1e-12, "{seed}: {found:?} {expected:?} / {total}");
        }
    }
}

#[test]
fn without_evidence_a_counterfactual_is_the_effect_of_the_network() {
    let net = BayesNet::builder()
        .variable("z", &["a", "b"])
        .variable("x", &["a", "b"])
        .variable("y", &["a", "b", "c"])
        .cpt("z", &[], &[0.3, 0.7])
        .cpt("x", &["z"], &[0.9, 0.1, 0.4, 0.6])
        // Parents out of order: the table is turned.
        .cpt("y", &["x", "z"], &[0.2, 0.3, 0.5, 0.1, 0.1, 0.8, 0.6, 0.2, 0.2, 0.3, 0.3, 0.4])
        .build()
        .unwrap();
    let scm = DiscreteScm::monotone(&net).unwrap();
    for x in 0..2 {
        let law = scm.counterfactual(&[], &[(1, x)], 2).unwrap();
        for (y, p) in law.iter().enumerate() {
            let truth: f64 = (0..2)
                .map(|z| {
                    [0.3, 0.7][z] * net.cpt_of(net.variable("y").unwrap())[(x * 2 + z) * 3 + y]
                })
                .sum();
            assert!((p - truth).abs() < 1e-12);
        }
    }
    // Nobody is moved down by what moves others up: z = b makes a high x more likely, so who had x = b with z = a keeps it.
    let law = scm.counterfactual(&[(0, 0), (1, 1)], &[(0, 1)], 1).unwrap();
    assert!((law[1] - 1.0).abs() < 1e-12);
}

/// What contradicts itself is refused, also where the answer would not depend on it.
#[test]
fn contradictions() {
    let scm = random_scm(2, 1);
    let twice = scm.counterfactual(&[(0, 1), (0, 0)], &[], 1).unwrap_err();
    assert_eq!(twice.to_string(), format!("evidence on {:?} is given twice", scm.graph().name(0)));
    assert!(matches!(
        scm.counterfactual(&[], &[(0, 1), (0, 1)], 1),
        Err(Error::Graph(GraphError::Duplicate { .. }))
    ));
    let noise = scm.sample_noise(&mut rng(1));
    assert!(matches!(
        scm.run(&noise, &[(1, 0), (1, 1)]),
        Err(Error::Graph(GraphError::Duplicate { .. }))
    ));
    let linear =
        LinearGaussianScm::new(scm.graph().clone(), &[], vec![0.0; 2], vec![1.0; 2]).unwrap();
    assert!(matches!(
        linear.law(&[(0, 1.0), (0, 2.0)]),
        Err(Error::Graph(GraphError::Duplicate { .. }))
    ));
    let never =
        DiscreteScm::new(Admg::parse("X").unwrap(), vec![2], vec![vec![1.0]], vec![vec![0]])
            .unwrap();
    let set = never.counterfactual(&[(0, 1)], &[(0, 0)], 0);
    assert_eq!(set, Err(Error::ImpossibleEvidence), "the outcome is set, the evidence impossible");
    assert_eq!(never.counterfactual(&[(0, 0)], &[(0, 1)], 0).unwrap(), [0.0, 1.0]);
}

#[test]
fn refusals() {
    let scm = random_scm(2, 1);
    let g = scm.graph().clone();
    assert!(matches!(
        scm.counterfactual(&[(9, 0)], &[], 0),
        Err(Error::Graph(GraphError::UnknownNode { .. }))
    ));
    assert!(matches!(scm.counterfactual(&[(0, 7)], &[], 0), Err(Error::Category { .. })));
    let fixed =
        DiscreteScm::new(Admg::parse("X").unwrap(), vec![2], vec![vec![1.0]], vec![vec![0]])
            .unwrap();
    assert_eq!(fixed.counterfactual(&[(0, 1)], &[], 0), Err(Error::ImpossibleEvidence));
    assert!(DiscreteScm::new(g, vec![2, 2], vec![vec![1.0]], vec![]).is_err());
    let hidden = Admg::parse("X <-> Y").unwrap();
    let error = DiscreteScm::new(hidden, vec![], vec![], vec![]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the graph: bidirected edges: expected a node for every hidden cause"
    );
    let g = Admg::parse("X -> Y").unwrap();
    assert!(LinearGaussianScm::new(g.clone(), &[(1, 0, 1.0)], vec![0.0; 2], vec![1.0; 2]).is_err());
    assert!(LinearGaussianScm::new(g, &[], vec![0.0; 2], vec![1.0, 0.0]).is_err());
}

/// The law after an intervention against draws; the fit finds the weights again; total effects are sums over paths.
#[test]
fn linear_models() {
    let g = Admg::parse("Z -> X -> M -> Y; Z -> Y; X -> Y").unwrap();
    let edges = [(0, 1, 1.5), (1, 2, -1.0), (2, 3, 2.0), (0, 3, 0.5), (1, 3, 0.25)];
    let scm = LinearGaussianScm::new(
        g.clone(),
        &edges,
        vec![1.0, 0.0, 0.5, -1.0],
        vec![1.0, 0.5, 0.3, 0.2],
    )
    .unwrap();
    assert!((scm.total_effect(1, 3).unwrap() - (0.25 - 2.0)).abs() < 1e-12);
    assert_eq!(scm.total_effect(3, 1).unwrap(), 0.0);
    let mut rng = rng(1);
    for set in [&[][..], &[(1, 2.0)]] {
        let law = scm.law(set).unwrap();
        let draws = scm.sample(40_000, set, &mut rng).unwrap();
        let mean = draws.mean_axis(ndarray::Axis(0)).unwrap();
        for i in 0..4 {
            let tolerance = 5.0 * (law.covariance[(i, i)] / 40_000.0).sqrt() + 1e-9;
            assert!((mean[i] - law.mean[i]).abs() < tolerance, "{i}");
        }
    }
    let mut data = scm.sample(20_000, &[], &mut rng).unwrap();
    let fitted = LinearGaussianScm::fit(g.clone(), data.view()).unwrap();
    data[[7, 2]] = f64::NAN;
    let refused = LinearGaussianScm::fit(g, data.view()).unwrap_err().to_string();
    assert_eq!(refused, "data: NaN at row 7, column 2; every entry must be finite");
    assert!((fitted.total_effect(1, 3).unwrap() + 1.75).abs() < 0.05);
    // Effects do not depend on where the noise came from.
    let everything: Vec<(u32, f64)> =
        [1.0, 1.2, -0.4, 0.3].into_iter().enumerate().map(|(v, x)| (v as u32, x)).collect();
    let law = scm.counterfactual(&everything, &[(1, 0.2)]).unwrap();
    assert!((law.mean[3] - (0.3 + 1.75)).abs() < 1e-10 && law.covariance[(3, 3)].abs() < 1e-10);
    let unseen = scm.counterfactual(&[], &[(1, 2.0)]).unwrap();
    assert!((&unseen.mean - &scm.law(&[(1, 2.0)]).unwrap().mean).mapv(f64::abs).sum() < 1e-12);
    assert!(scm.counterfactual(&[(0, 1.0), (0, 1.0)], &[]).is_err());
}

/// Conditioning by hand: X -> Y, Y seen, X not.
#[test]
fn abduction_by_hand() {
    let g = Admg::parse("X -> Y").unwrap();
    let scm = LinearGaussianScm::new(g, &[(0, 1, 1.0)], vec![0.0, 0.0], vec![1.0, 1.0]).unwrap();
    // X | Y = 2 ~ N(1, 1/2), and the noise of Y is 2 - X.
    let law = scm.counterfactual(&[(1, 2.0)], &[(0, 0.0)]).unwrap();
    assert!((law.mean[1] - 1.0).abs() < 1e-12 && (law.covariance[(1, 1)] - 0.5).abs() < 1e-12);
    assert_eq!(law.covariance[(0, 0)], 0.0);
    assert_eq!(array![law.mean[0]], array![0.0]);
}

/// A discrete model with functions has the effects of the model with tables that it induces.
#[test]
fn interventions_agree_with_the_truncated_factorisation() {
    let mut rng = rng(12);
    let g = random_graph(4, 0.6, 0.0, &mut rng);
    let model = LatentModel::random(&g, &[2; 4], &mut rng).unwrap();
    let mut net = BayesNet::builder();
    let joint = model.observed().unwrap();
    let names: Vec<String> = g.names().to_vec();
    for name in &names {
        net = net.variable(name, &["0", "1"]);
    }
    for v in 0..4_u32 {
        let parents: Vec<u32> = g.parents(v).iter().collect();
        let table: Vec<f64> = odometer(&vec![2; parents.len()])
            .into_iter()
            .flat_map(|states| {
                let mut row: Vec<(u32, usize)> = parents.iter().copied().zip(states).collect();
                let scope: fenchel_causal::NodeSet = parents.iter().copied().chain([v]).collect();
                let both = joint.marginal(scope);
                row.push((v, 0));
                let zero = both.at(&row).unwrap();
                *row.last_mut().unwrap() = (v, 1);
                let one = both.at(&row).unwrap();
                [zero / (zero + one), one / (zero + one)]
            })
            .collect();
        let parents: Vec<&str> = parents.iter().map(|&p| names[p as usize].as_str()).collect();
        net = net.cpt(&names[v as usize], &parents, &table);
    }
    let scm = DiscreteScm::monotone(&net.renormalise().build().unwrap()).unwrap();
    for x in 0..4_u32 {
        for y in (0..4_u32).filter(|&y| y != x) {
            let query =
                Query::new(fenchel_causal::NodeSet::one(y), fenchel_causal::NodeSet::one(x));
            let truth = model.effect(query).unwrap();
            for state in 0..2 {
                let law = scm.counterfactual(&[], &[(x, state)], y).unwrap();
                assert!((law[1] - truth.at(&[(x, state), (y, 1)]).unwrap()).abs() < 1e-12);
            }
        }
    }
}

/// A variance is in the square of the unit: that of data near 1e200 or 1e-200 is no number, though the data depend on nothing.
#[test]
fn units_without_variances_are_named() {
    let g = Admg::parse("x -> y").unwrap();
    let data = array![[0.0, 1.0], [1.0, 2.5], [2.0, 2.0], [3.0, 5.0], [4.0, 4.5]];
    let known = LinearGaussianScm::fit(g.clone(), data.view()).unwrap().law(&[]).unwrap();
    for unit in [1e200, 1e-200, 1e160, 1e-160] {
        let error = LinearGaussianScm::fit(g.clone(), (&data * unit).view()).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("x are as large as 4e") && error.contains("unit"), "{error}");
        assert!(!error.contains("constant"), "{error}");
    }
    for unit in [1e140, 1e-140] {
        let law = LinearGaussianScm::fit(g.clone(), (&data * unit).view()).unwrap();
        let law = law.law(&[]).unwrap();
        for (found, expected) in law.covariance.iter().zip(&known.covariance) {
            assert!((found / unit / unit / expected - 1.0).abs() <= 1e-12, "{found:e} {unit:e}");
        }
    }
    let constant = array![[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]];
    let error = LinearGaussianScm::fit(g, constant.view()).unwrap_err().to_string();
    assert!(error.contains("constant"), "{error}");
}
