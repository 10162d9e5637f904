use fenchel_mrf_learn::{
    Coordinates, Data, Error, ExactMle, MissingPolicy, Oracle, Penalty, layout::pair_index,
    synthetic,
};
use fenchel_optim::{Fit, Progress};
use ndarray::array;

use crate::common::{brute_states, norm, two_states};

fn data(p: usize, seed: u64) -> Data {
    let truth = synthetic::random_network(p, 0.3, (1.0, 2.0), seed).unwrap();
    synthetic::exact_draws(&truth, 300, seed).unwrap()
}

/// One variable: the stationary point of `A(t) - t m + lambda |t|` is `logit(m -+ lambda)`.
#[test]
fn one_variable_has_a_closed_form() {
    let x = array![[1u8], [1], [1], [0]];
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let fit = |lambda| {
        ExactMle { penalty: Penalty::l1(lambda), ..ExactMle::default() }.fit(&data).unwrap()
    };
    let logit = |m: f64| (m / (1.0 - m)).ln();
    assert!((fit(0.1).theta[0] - logit(0.65)).abs() < 1e-4);
    assert_eq!(fit(0.25).theta, [0.0]);
    assert!((fit(0.0).theta[0] - logit(0.75)).abs() < 1e-4);
}

/// The conditions of optimality, by brute force: `|m_c - mu_c| <= s_c`, with equality and the right sign on the support.
#[test]
fn the_optimum_satisfies_its_conditions() {
    for (seed, penalty) in [
        (1, Penalty::l1(0.03)),
        (2, Penalty::edges(0.05)),
        (3, Penalty { unary_weight: 0.5, ..Penalty::l1(0.02) }),
    ] {
        let data = data(6, seed);
        for coordinates in [Coordinates::Binary, Coordinates::Spins] {
            let mut method =
                ExactMle { penalty: penalty.clone(), coordinates, ..ExactMle::default() };
            method.stop.absolute = 1e-11;
            let model = method.fit(&data).unwrap();
            let value = model.report.certificate.value();
            assert!(value <= 1e-11, "{:?} {value}", penalty);
            let means = brute_states(coordinates, &[2; 6], &model.theta).2;
            let (target, theta) = (data.means(coordinates).unwrap(), model.theta);
            let strengths = penalty.strengths(&two_states(6)).unwrap().pairs().to_vec();
            for c in 0..21 {
                let slope = target[c] - means[c];
                assert!(slope.abs() <= strengths[c] + 2e-5, "{c}: {slope} {}", strengths[c]);
                if theta[c].abs() > 1e-3 {
                    assert!((slope - strengths[c] * theta[c].signum()).abs() < 2e-5);
                }
            }
        }
    }
}

/// The certified lower bound is below the objective of every point, the best one included.
#[test]
fn the_gap_is_a_bound_on_the_way() {
    for penalty in [Penalty::l1(0.02), Penalty::edges(0.02)] {
        let data = data(7, 5);
        let sharp =
            ExactMle { penalty: penalty.clone(), ..ExactMle::default() }.fit(&data).unwrap();
        let optimum = sharp.report.certificate.objective().unwrap();
        let mut seen = 0;
        let mut bounds = vec![];
        let mut watch = |progress: &Progress| {
            seen += 1;
            let objective = progress.certificate.objective().unwrap();
            bounds.push(objective - progress.certificate.value());
            std::ops::ControlFlow::Continue(())
        };
        let exact = ExactMle { penalty, ..ExactMle::default() };
        exact.fit_with(&data, Fit::new().watch(&mut watch)).unwrap();
        assert!(seen > 3 && bounds.iter().all(|&bound| bound <= optimum + 1e-12), "{bounds:?}");
    }
}

#[test]
fn both_oracles_find_the_same_point() {
    let data = data(6, 9);
    let fit = |oracle| {
        ExactMle { penalty: Penalty::l1(0.05), oracle, ..ExactMle::default() }.fit(&data).unwrap()
    };
    let (a, b) = (fit(Oracle::Enumeration).theta, fit(Oracle::JunctionTree).theta);
    let off: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
    assert!(norm(&off) < 1e-6, "{}", norm(&off));
}

/// Above the largest strength nothing is left; below something is.
#[test]
fn the_largest_strength_is_where_the_first_parameter_appears() {
    let data = data(8, 2);
    for base in [Penalty::l1(1.0), Penalty::edges(1.0)] {
        let most = base
            .largest_strength(&data.means(Coordinates::Binary).unwrap(), &two_states(8))
            .unwrap();
        let fit = |factor: f64| {
            let penalty = base.with_strength(factor * most);
            ExactMle { penalty, ..ExactMle::default() }.fit(&data).unwrap()
        };
        let nonzero = |factor| {
            let theta = fit(factor).theta;
            let free = base.unary_weight == 0.0;
            (0..8)
                .flat_map(|i| (i..8).map(move |j| (i, j)))
                .filter(|&(i, j)| !(free && i == j) && theta[pair_index(i, j, 8)].abs() > 1e-4)
                .count()
        };
        assert_eq!(nonzero(1.001), 0);
        assert!(nonzero(0.95) > 0);
    }
}

#[test]
fn forbidden_edges_stay_absent() {
    let data = data(5, 6);
    let mut weights = vec![1.0; 15];
    weights[pair_index(1, 3, 5)] = f64::INFINITY;
    let penalty = Penalty { weights, ..Penalty::l1(0.001) };
    let model = ExactMle { penalty, ..ExactMle::default() }.fit(&data).unwrap();
    assert_eq!(model.theta[pair_index(1, 3, 5)], 0.0);
    assert!(model.report.certificate.value() <= 1e-8);
    assert!(model.edges().len() > 3);
}

#[test]
fn a_maximum_at_infinity_is_an_error() {
    // Column 1 is constant; x_2 implies x_0.
    let x = array![[1u8, 1, 1], [1, 1, 0], [0, 1, 0], [1, 1, 1]];
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let fit = |penalty| ExactMle { penalty, ..ExactMle::default() }.fit(&data);
    let Err(Error::UnboundedMle { coordinates }) = fit(Penalty::edges(0.1)) else { panic!() };
    assert_eq!(coordinates, [(1, 1)]);
    let Err(Error::UnboundedMle { coordinates }) = fit(Penalty::l1(0.0)) else { panic!() };
    assert!(coordinates.contains(&(0, 2)) && coordinates.contains(&(1, 1)), "{coordinates:?}");
    assert!(fit(Penalty::l1(0.1)).is_ok());
}
