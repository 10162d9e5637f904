use fenchel_mrf_learn::{
    Coordinates, Data, EdgeWeight, Error, InteractionScreening, Layout, MissingPolicy,
    NodewiseLogistic, Penalty, PseudoLikelihood, Rule, ScreeningObjective, metrics, synthetic,
};
use fenchel_optim::Refusal;
use fenchel_optim::Regulariser;
use ndarray::array;

use crate::common::{norm, two_states};

fn data(p: usize, rows: usize, seed: u64) -> Data {
    let truth = synthetic::random_network(p, 0.3, (1.0, 2.0), seed).unwrap();
    synthetic::exact_draws(&truth, rows, seed).unwrap()
}

/// The objective, written out cell by cell.
fn objective(data: &Data, theta: &[f64], coordinates: Coordinates, strengths: &[f64]) -> f64 {
    let p = data.variables();
    let model = Layout::two_states(p, coordinates).unwrap().binary(theta).unwrap().0;
    let mut total = 0.0;
    for row in 0..data.rows() {
        let x: Vec<bool> = (0..p).map(|i| data.get(row, i)).collect();
        for i in 0..p {
            let sign = if x[i] { 1.0 } else { -1.0 };
            total += data.weight(row) * (1.0 + (-sign * model.logit(i, &x)).exp()).ln();
        }
    }
    total + theta.iter().zip(strengths).map(|(t, s)| s * t.abs()).sum::<f64>()
}

/// The certificate is computed from the returned point, and no nearby point is better by more than the gap.
#[test]
fn pseudo_likelihood_is_certified() {
    for (penalty, edge_weight) in
        [(Penalty::l1(0.03), EdgeWeight::One), (Penalty::edges(0.03), EdgeWeight::Two)]
    {
        for coordinates in [Coordinates::Binary, Coordinates::Spins] {
            let data = data(6, 200, 2);
            let method = PseudoLikelihood {
                penalty: penalty.clone(),
                edge_weight,
                coordinates,
                stop: fenchel_optim::Stop { absolute: 1e-8, ..PseudoLikelihood::default().stop },
            };
            let model = method.fit(&data).unwrap();
            let certificate = model.report.certificate;
            assert!(certificate.value() <= 1e-8, "{}", model.report);
            let mut strengths = penalty.strengths(&two_states(6)).unwrap().pairs().to_vec();
            if edge_weight == EdgeWeight::Two {
                let mut c = 0;
                for i in 0..6 {
                    for j in i..6 {
                        strengths[c] *= if i == j { 1.0 } else { 2.0 };
                        c += 1;
                    }
                }
            }
            let theta = model.theta;
            let value = objective(&data, &theta, coordinates, &strengths);
            assert!((value - certificate.objective().unwrap()).abs() < 1e-10);
            for c in 0..theta.len() {
                for off in [-1e-2, 1e-2] {
                    let mut other = theta.clone();
                    other[c] += off;
                    let there = objective(&data, &other, coordinates, &strengths);
                    assert!(there >= value - certificate.value() - 1e-12);
                }
            }
        }
    }
}

/// Node by node with free biases is a separate problem: its rows minimise the same conditionals.
#[test]
fn nodewise_recovers_a_chain() {
    let model = fenchel_graphical::BinaryPairwise::from_spins(
        &[0.0; 5],
        &[(0, 1, 0.8), (1, 2, 0.8), (2, 3, -0.8), (3, 4, 0.8)],
    )
    .unwrap()
    .0;
    let data = synthetic::exact_draws(&model, 3000, 1).unwrap();
    for rule in [Rule::And, Rule::Or] {
        let found =
            NodewiseLogistic { l1: 0.02, rule, ..NodewiseLogistic::default() }.fit(&data).unwrap();
        assert_eq!(metrics::edge_auc(&model, &found.scores()).unwrap(), Some(1.0));
        assert!(found.report.certificate.relative() <= 1e-4);
    }
    let and = NodewiseLogistic { l1: 0.005, ..NodewiseLogistic::default() }.fit(&data).unwrap();
    let or = NodewiseLogistic { l1: 0.005, rule: Rule::Or, ..NodewiseLogistic::default() }
        .fit(&data)
        .unwrap();
    assert!(and.edges().len() <= or.edges().len());
    let weighted = data.clone().with_weights(&vec![2.0; 3000]).unwrap();
    let same = NodewiseLogistic { l1: 0.02, ..NodewiseLogistic::default() };
    let (a, b) = (same.fit(&data).unwrap().theta, same.fit(&weighted).unwrap().theta);
    assert!(norm(&a.iter().zip(&b).map(|(a, b)| a - b).collect::<Vec<_>>()) < 0.05);
}

/// With every state equally weighted by a model, RISE is minimised exactly by the model's couplings (Vuffray et al.,
/// theorem: the gradient vanishes at the truth), as is logRISE.
#[test]
fn screening_is_unbiased_on_the_exact_distribution() {
    let (fields, couplings) = ([0.2, -0.3, 0.1, 0.0], [(0, 1, 0.7), (1, 2, -0.5), (2, 3, 0.4)]);
    let truth = fenchel_graphical::BinaryPairwise::from_spins(&fields, &couplings).unwrap().0;
    let layout = two_states(4);
    let mut table = fenchel_mrf_learn::Enumeration::new(&layout, None).unwrap();
    let law = table.probabilities(&layout.parameters(&truth).unwrap()).unwrap();
    let weights = law.to_vec();
    let states = ndarray::Array2::from_shape_fn((16, 4), |(s, i)| s >> i & 1 == 1);
    let data =
        Data::binary(states.view(), MissingPolicy::Error).unwrap().with_weights(&weights).unwrap();
    // A gap of `e` leaves a node at most `sqrt(2 e / mu)` from its minimiser, where `mu` is the smallest curvature; a pair takes the mean of two
    // nodes, so that all together are within twice that. Another factor of 2 for the change of the curvature on the way.
    let (epsilon, mu) =
        (1e-10, (0..4).map(|i| least_curvature(&truth, &weights, i)).fold(1.0, f64::min));
    for objective in [ScreeningObjective::Rise, ScreeningObjective::LogRise] {
        let mut method =
            InteractionScreening { l1: 0.0, objective, ..InteractionScreening::default() };
        method.stop.absolute = epsilon;
        let found = method.fit(&data).unwrap().theta;
        let spins = Layout::two_states(4, Coordinates::Spins).unwrap();
        let expected = spins.parameters(&truth).unwrap();
        let off: Vec<f64> = found.iter().zip(&expected).map(|(a, b)| a - b).collect();
        let bound = 4.0 * (2.0 * epsilon / mu).sqrt();
        assert!(norm(&off) < bound && bound < 1e-3, "{objective:?} {found:?} {bound}");
    }
}

/// The smallest eigenvalue of the Hessian of RISE of node `i` at the truth: `E[w s s']` with `w = exp(-s_i (h_i + sum_j J_ij s_j))`, by power iteration
/// on the trace less the matrix.
fn least_curvature(truth: &fenchel_graphical::BinaryPairwise, law: &[f64], i: usize) -> f64 {
    let p = truth.variables();
    let mut hessian = vec![vec![0.0; p]; p];
    for (s, weight) in law.iter().enumerate() {
        let x: Vec<bool> = (0..p).map(|j| s >> j & 1 == 1).collect();
        let spin = |j: usize| if x[j] { 1.0 } else { -1.0 };
        // In spins the local field is half of the logit.
        let weight = weight * (-0.5 * spin(i) * truth.logit(i, &x)).exp();
        let v = |j: usize| if j == i { 1.0 } else { spin(j) };
        for (a, row) in hessian.iter_mut().enumerate() {
            row.iter_mut().enumerate().for_each(|(b, h)| *h += weight * v(a) * v(b));
        }
    }
    let trace: f64 = (0..p).map(|j| hessian[j][j]).sum();
    let mut v: Vec<f64> = (0..p).map(|j| 1.0 + 0.3 * j as f64).collect();
    let mut largest = 0.0;
    for _ in 0..2000 {
        let next: Vec<f64> = (0..p)
            .map(|a| trace * v[a] - (0..p).map(|b| hessian[a][b] * v[b]).sum::<f64>())
            .collect();
        largest = norm(&next) / norm(&v);
        v = next.iter().map(|x| x / norm(&next)).collect();
    }
    trace - largest
}

#[test]
fn screening_recovers_edges_with_a_gap() {
    let truth = fenchel_graphical::BinaryPairwise::from_spins(
        &[0.0; 6],
        &[(0, 1, 0.6), (1, 2, 0.6), (3, 4, -0.6), (4, 5, 0.6)],
    )
    .unwrap()
    .0;
    let data = synthetic::exact_draws(&truth, 2000, 4).unwrap();
    for objective in [ScreeningObjective::Rise, ScreeningObjective::LogRise] {
        let method =
            InteractionScreening { l1: 0.05, objective, ..InteractionScreening::default() };
        let found = method.fit(&data).unwrap();
        // The certificates of six variables, each within 1e-6, add up.
        assert!(found.report.certificate.value() <= 6e-6, "{}", found.report);
        assert_eq!(metrics::edge_auc(&truth, &found.scores()).unwrap(), Some(1.0));
        let thresholded = InteractionScreening { threshold: 0.3, ..method }.fit(&data).unwrap();
        assert_eq!(metrics::hamming(&truth, &thresholded.scores()).unwrap(), 0);
    }
}

#[test]
fn constant_columns_have_no_neighbours() {
    let x = array![[1u8, 1, 0], [1, 0, 0], [1, 1, 1], [1, 0, 1], [1, 1, 1]];
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let node = NodewiseLogistic { l1: 0.01, ..NodewiseLogistic::default() }.fit(&data).unwrap();
    let screen =
        InteractionScreening { l1: 0.05, ..InteractionScreening::default() }.fit(&data).unwrap();
    for model in [&node, &screen] {
        assert!(model.edges().iter().all(|edge| edge.0 != 0));
        assert!(model.theta.iter().all(|t| t.is_finite()));
    }
    let pseudo = PseudoLikelihood { penalty: Penalty::edges(0.1), ..PseudoLikelihood::default() };
    assert!(matches!(pseudo.fit(&data), Err(Error::UnboundedMle { .. })));
    let x = array![[1i8, -1], [0, 1]];
    let missing = Data::binary(x.view(), MissingPolicy::Impute).unwrap();
    assert!(matches!(
        PseudoLikelihood::default().fit(&missing),
        Err(Error::Refused(Refusal::Unsupported { .. }))
    ));
    assert!(matches!(
        NodewiseLogistic::default().fit(&missing),
        Err(Error::Refused(Refusal::Unsupported { .. }))
    ));
    assert!(NodewiseLogistic { l1: -1.0, ..NodewiseLogistic::default() }.fit(&data).is_err());
    assert!(Penalty::l1(0.1).strengths(&two_states(2)).unwrap().value(&[1.0, 0.0, -1.0]) == 0.2);
}

/// Two equal columns: `log S` falls along their coupling for ever unless `l1` is 1 or more. RISE has a minimum in any case.
#[test]
fn log_rise_without_a_minimum_is_refused() {
    let x = array![[1u8, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]];
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let with = |lambda, objective| {
        InteractionScreening { l1: lambda, objective, ..InteractionScreening::default() }.fit(&data)
    };
    let refused = with(0.5, ScreeningObjective::LogRise);
    assert!(
        matches!(&refused, Err(Error::WeakPenalty { coordinates, l1 }) if coordinates.contains(&(0, 1)) && *l1 == 0.5),
        "{refused:?}"
    );
    // The coupling is penalised; the reason is the strength.
    let text = with(0.99, ScreeningObjective::LogRise).unwrap_err().to_string();
    assert!(text.contains("l1 = 0.99") && text.contains("at least 1"), "{text}");
    assert!(!text.contains("unpenalised"), "{text}");
    assert!(with(1.01, ScreeningObjective::LogRise).is_ok());
    assert!(with(0.1, ScreeningObjective::Rise).unwrap().report.certificate.value() <= 3e-6);
}

/// Rows of weight 0 do not make a constant column vary.
#[test]
fn rows_without_weight_do_not_count() {
    let x = array![[1u8, 1, 0], [0, 0, 1], [0, 1, 1], [0, 0, 0]];
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let data = data.with_weights(&[0.0, 1.0, 1.0, 1.0]).unwrap();
    let node = NodewiseLogistic { l1: 0.1, ..Default::default() }.fit(&data).unwrap();
    // One more row of each kind: odds 1 to 4.
    assert!((node.theta[0] - 0.25_f64.ln()).abs() < 1e-12);
    let screen = InteractionScreening { l1: 0.5, ..Default::default() }.fit(&data).unwrap();
    assert!((screen.theta[0] - 0.5 * 0.25_f64.ln()).abs() < 1e-12);
}

/// Without a penalty there is no minimiser where a pair of values never occurs, or where the others decide a variable: RISE
/// and logRISE refuse, as the pseudo-likelihood does. A constant column takes no part.
#[test]
fn screening_without_a_minimiser_is_refused() {
    let three_cells = array![[0u8, 0, 1], [1, 0, 1], [1, 1, 1]];
    let whole = array![[0u8, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1]];
    // The last is the majority of the others: every pair of columns has its four cells.
    let states = ndarray::Array2::from_shape_fn((8, 4), |(s, i)| {
        if i < 3 { (s >> i & 1) as u8 } else { u8::from((s as u8).count_ones() >= 2) }
    });
    for objective in [ScreeningObjective::Rise, ScreeningObjective::LogRise] {
        let method = InteractionScreening { l1: 0.0, objective, ..InteractionScreening::default() };
        let fit = |x: &ndarray::Array2<u8>| {
            method.fit(&Data::binary(x.view(), MissingPolicy::Error).unwrap())
        };
        let Err(Error::UnboundedMle { coordinates }) = fit(&three_cells) else {
            panic!("{objective:?}");
        };
        assert_eq!(coordinates, [(0, 1)], "{objective:?}");
        let model = fit(&whole).unwrap();
        assert_eq!(model.report.status, fenchel_optim::Status::Converged);
        // Fair and independent columns: nothing couples them.
        assert!(model.edges().iter().all(|edge| edge.2.abs() < 1e-3), "{:?}", model.edges());
        let Err(Error::UnboundedMle { coordinates }) = fit(&states) else {
            panic!("{objective:?}");
        };
        assert!(coordinates.iter().any(|pair| pair.1 == 3), "{coordinates:?}");
        // With a penalty RISE has a minimiser in all cases.
        let penalised = InteractionScreening { l1: 0.1, ..method.clone() };
        let data = Data::binary(three_cells.view(), MissingPolicy::Error).unwrap();
        assert!(penalised.fit(&data).is_ok());
    }
}

/// Quasi-separation: `x_3` is 1 where at least two of the first three are, and goes its own way where exactly one is, so that no sum
/// decides it in all rows; every pair of columns has its four cells. The direction `s_0 + s_1 + s_2 + 1` of `s_3` is 0 where one of
/// three is 1, and has the sign of `s_3` elsewhere.
#[test]
fn a_sum_that_decides_some_rows_and_is_silent_in_the_rest_is_refused() {
    let rows: Vec<[u8; 4]> = (0..16)
        .map(|s| [0, 1, 2, 3].map(|i| (s >> i & 1) as u8))
        .filter(|x| match x[0] + x[1] + x[2] {
            0 => x[3] == 0,
            1 => true,
            _ => x[3] == 1,
        })
        .collect();
    let x = ndarray::Array2::from_shape_fn((rows.len(), 4), |(row, i)| rows[row][i]);
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    for objective in [ScreeningObjective::Rise, ScreeningObjective::LogRise] {
        let method = InteractionScreening { l1: 0.0, objective, ..Default::default() };
        let Err(Error::UnboundedMle { coordinates }) = method.fit(&data) else {
            panic!("{objective:?}");
        };
        assert!(coordinates.iter().any(|pair| pair.1 == 3), "{coordinates:?}");
    }
    // One row against it, and there is a minimiser.
    let more = ndarray::concatenate![
        ndarray::Axis(0),
        x,
        array![[0u8, 0, 0, 1], [1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 1, 0], [0, 1, 1, 0]]
    ];
    let data = Data::binary(more.view(), MissingPolicy::Error).unwrap();
    for objective in [ScreeningObjective::Rise, ScreeningObjective::LogRise] {
        let method = InteractionScreening { l1: 0.0, objective, ..Default::default() };
        let model = method.fit(&data).unwrap();
        assert_eq!(model.report.status, fenchel_optim::Status::Converged, "{objective:?}");
    }
}

/// The two estimates of a coupling before they are combined: their mean is the coupling of the network.
#[test]
fn single_regressions_are_those_of_the_network() {
    let data = data(5, 300, 4);
    let check = |rows: Vec<fenchel_mrf_learn::Regression>, theta: Vec<f64>| {
        let mut c = 0;
        for i in 0..5 {
            for j in i..5 {
                let (a, b) = (rows[i].couplings[j], rows[j].couplings[i]);
                let expected = if i == j { rows[i].bias } else { 0.5 * (a + b) };
                let both = i == j || (a != 0.0 && b != 0.0);
                assert!(!both || (theta[c] - expected).abs() < 1e-14, "{i} {j}");
                c += 1;
            }
        }
        assert!(rows.iter().all(|row| row.report.is_some()));
    };
    let method = NodewiseLogistic { l1: 0.02, ..NodewiseLogistic::default() };
    check(method.regressions(&data).unwrap(), method.fit(&data).unwrap().theta);
    let method = InteractionScreening { l1: 0.02, ..InteractionScreening::default() };
    check(method.regressions(&data).unwrap(), method.fit(&data).unwrap().theta);
}

#[test]
fn synthetic_networks_name_their_argument() {
    let error = synthetic::random_network(0, 0.3, (1.0, 2.0), 1).unwrap_err().to_string();
    assert!(error.starts_with("p = 0"), "{error}");
    let error = synthetic::ising_grid(0, 0.5).unwrap_err().to_string();
    assert!(error.starts_with("side = 0"), "{error}");
    for side in [1 << 20, 1 << 40, usize::MAX] {
        assert!(matches!(synthetic::ising_grid(side, 0.5), Err(Error::Refused(_))));
        assert!(matches!(
            synthetic::random_network(side, 0.5, (1.0, 2.0), 1),
            Err(Error::Refused(_))
        ));
    }
}
