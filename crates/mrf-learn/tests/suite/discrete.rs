//! Networks of discrete variables against brute force, and against the binary ones.

use fenchel_graphical::Influence;
use fenchel_mrf_learn::layout::pairs;
use fenchel_mrf_learn::spg::{Sampler, StateSampler};
use fenchel_mrf_learn::{
    Averaging, Backend, Coordinates, Data, Enumeration, Error, ExactMle, Layout, NetworkModel,
    Oracle, Penalty, Spg, bounds,
};
use fenchel_optim::model::Saved;
use fenchel_optim::random::stream;
use fenchel_optim::{Fit, Regulariser, StepSize};
use ndarray::{Array2, array};
use rand::RngExt;

use crate::common::{brute_states, configurations, norm, psi};

/// The indicators of a joint state.
fn statistics(x: &[usize], cards: &[usize]) -> Vec<f64> {
    psi(Coordinates::Indicators, cards, x)
}

/// `log Z`, the law, the means.
fn brute(theta: &[f64], cards: &[usize]) -> (f64, Vec<f64>, Vec<f64>) {
    brute_states(Coordinates::Indicators, cards, theta)
}

/// The layout of indicators.
fn indicators(cards: &[usize]) -> Layout {
    Layout::new(cards, Coordinates::Indicators).unwrap()
}

fn means(data: &Data) -> Vec<f64> {
    data.means(Coordinates::Indicators).unwrap()
}

fn mle(penalty: Penalty) -> ExactMle {
    ExactMle { penalty, coordinates: Coordinates::Indicators, ..ExactMle::default() }
}

fn spg(penalty: Penalty, method: Spg) -> Spg {
    Spg { penalty, coordinates: Coordinates::Indicators, ..method }
}

fn random(m: usize, scale: f64, seed: u64) -> Vec<f64> {
    let mut random = stream(seed, 3);
    (0..m).map(|_| scale * (2.0 * random.random::<f64>() - 1.0)).collect()
}

/// Draws from the model, by inverting its distribution function.
fn draws(theta: &[f64], cards: &[usize], rows: usize, seed: u64) -> Data {
    let law = brute(theta, cards).1;
    let states = configurations(cards);
    let mut random = stream(seed, 4);
    let mut x = Array2::<u8>::zeros((rows, cards.len()));
    for mut row in x.rows_mut() {
        let mut left: f64 = random.random();
        let mut at = 0;
        while at + 1 < law.len() && left >= law[at] {
            left -= law[at];
            at += 1;
        }
        row.iter_mut().zip(&states[at]).for_each(|(to, from)| *to = *from as u8);
    }
    Data::with_cards(x.view(), cards).unwrap()
}

/// A chain 0 - 1 - 2 and a variable by itself.
fn chain_data(rows: usize) -> Data {
    let cards = [3, 4, 2, 3];
    let layout = indicators(&cards);
    let mut theta = vec![0.0; layout.len()];
    for (i, j, seed) in [(0, 1, 1), (1, 2, 2)] {
        let range = layout.table(i, j).unwrap();
        let table = random(range.len(), 2.0, seed);
        theta[range].copy_from_slice(&table);
    }
    draws(&theta, &cards, rows, 5)
}

#[test]
fn both_oracles_equal_brute_force() {
    for (cards, seed) in [(&[3, 2, 4][..], 1), (&[2, 2], 2), (&[5], 3), (&[2, 3, 3, 1, 2], 4)] {
        let layout = indicators(cards);
        let theta = random(layout.len(), 1.5, seed);
        let (log_z, _, means) = brute(&theta, cards);
        let mut found = vec![0.0; layout.len()];
        let mut table = Enumeration::new(&layout, None).unwrap();
        assert!((table.means(&theta, &mut found).unwrap() - log_z).abs() < 1e-12);
        assert!((table.log_partition(&theta).unwrap() - log_z).abs() < 1e-12);
        let off: Vec<f64> = found.iter().zip(&means).map(|(a, b)| a - b).collect();
        assert!(norm(&off) < 1e-13, "{cards:?}: {}", norm(&off));
    }
    // The tree's means steer a whole fit to the same place.
    let data = chain_data(300);
    let fit = |oracle| {
        let penalty = Penalty::group(0.04);
        ExactMle { oracle, ..mle(penalty) }.fit(&data).unwrap()
    };
    let (a, b) = (fit(Oracle::Enumeration), fit(Oracle::JunctionTree));
    let (a, b) = (a.report.certificate, b.report.certificate);
    assert!((a.objective().unwrap() - b.objective().unwrap()).abs() <= 2e-8);
}

/// No point nearby is better than the gap allows, the objective is that of brute force, and with free fields the group norm is in the zero-sum gauge.
#[test]
fn the_exact_fit_is_certified() {
    let data = chain_data(200);
    let cards = data.cards().to_vec();
    let target = means(&data);
    for penalty in [
        Penalty::group(0.05),
        Penalty::edges(0.03),
        Penalty { unary_weight: 1.0, ..Penalty::group(0.03) },
        Penalty::l1(0.03),
    ] {
        let model = mle(penalty.clone()).fit(&data).unwrap();
        let certificate = model.report.certificate;
        assert!(certificate.value() <= 1e-8, "{penalty:?}: {}", model.report);
        let h = penalty.strengths(&data.layout(Coordinates::Indicators).unwrap()).unwrap();
        let objective = |theta: &[f64]| {
            let linear: f64 = theta.iter().zip(&target).map(|(a, b)| a * b).sum();
            brute(theta, &cards).0 - linear + h.value(theta)
        };
        let value = objective(&model.theta);
        assert!((value - certificate.objective().unwrap()).abs() < 1e-11);
        for seed in 0..40 {
            let scale = [1e-4, 1e-2][seed as usize % 2];
            let step = random(model.theta.len(), scale, seed);
            let other: Vec<f64> = model.theta.iter().zip(&step).map(|(a, b)| a + b).collect();
            assert!(objective(&other) >= value - certificate.value() - 1e-12);
        }
    }
    let model = mle(Penalty::group(0.05)).fit(&data);
    let model = model.unwrap();
    for (i, j) in pairs(data.variables()).filter(|(i, j)| i != j) {
        let table = model.table(i, j).unwrap();
        let rows = table.rows().into_iter().map(|row| row.sum().abs());
        let columns = table.columns().into_iter().map(|column| column.sum().abs());
        assert!(rows.chain(columns).all(|sum| sum < 1e-5));
    }
    let edges: Vec<(u32, u32)> = model.edges().iter().map(|e| (e.0, e.1)).collect();
    assert!(edges.contains(&(0, 1)) && edges.contains(&(1, 2)));
}

/// At the largest strength no table is left; a little below, there is one.
#[test]
fn the_largest_strength_is_where_tables_vanish() {
    let data = chain_data(200);
    for unit in [Penalty::group(1.0), Penalty::edges(1.0)] {
        let layout = data.layout(Coordinates::Indicators).unwrap();
        let most = unit.largest_strength(&means(&data), &layout).unwrap();
        let edges = |factor: f64| {
            let mut method = mle(unit.with_strength(factor * most));
            method.stop.absolute = 1e-10;
            method.fit(&data).unwrap().edges()
        };
        assert!(edges(1.0001).iter().all(|edge| edge.2 < 1e-4), "{:?}", edges(1.0001));
        assert!(edges(0.9).iter().any(|edge| edge.2 > 1e-2));
    }
    // With penalised fields nothing at all is left.
    let data = draws(&random(indicators(&[3, 2]).len(), 1.0, 4), &[3, 2], 100, 6);
    let all = Penalty { unary_weight: 1.0, ..Penalty::group(1.0) };
    let layout = data.layout(Coordinates::Indicators).unwrap();
    let most = all.largest_strength(&means(&data), &layout).unwrap();
    let theta = |factor: f64| mle(all.with_strength(factor * most)).fit(&data).unwrap().theta;
    assert!(theta(1.0001).iter().all(|t| t.abs() < 1e-4));
    assert!(theta(0.9).iter().any(|t| t.abs() > 1e-2));
}

/// Two states: the group penalty of a zero-sum table `c (1, -1; -1, 1)` is `2 |c| = |coupling| / 2`, so that twice the strength is the l1
/// penalty of a binary network with free biases.
#[test]
fn two_states_are_the_binary_model() {
    let truth = fenchel_mrf_learn::synthetic::random_network(5, 0.5, (0.5, 1.5), 3).unwrap();
    let binary = fenchel_mrf_learn::synthetic::exact_draws(&truth, 400, 3).unwrap();
    let states = binary.to_array().mapv(u8::from);
    let data = Data::with_cards(states.view(), &[2; 5]).unwrap();
    let exact = ExactMle { penalty: Penalty::edges(0.02), ..ExactMle::default() };
    let a = exact.fit(&binary).unwrap();
    let penalty = Penalty::group(0.04);
    let b = mle(penalty.clone()).fit(&data).unwrap();
    let of = |report: fenchel_optim::Report| report.certificate.objective().unwrap();
    assert!((of(a.report) - of(b.report)).abs() <= 2e-8, "{} {}", a.report, b.report);
    for (x, y) in a.scores().iter().zip(b.scores()) {
        assert!((0.5 * x - y).abs() < 1e-3, "{x} {y}");
    }
    // The same chain of conditionals: influence and bounds of the bias agree.
    let influence = b.influence().unwrap().to_dense();
    let coupling = |i: usize, j: usize| {
        let t = b.table(i.min(j), i.max(j)).unwrap();
        t[[0, 0]] + t[[1, 1]] - t[[0, 1]] - t[[1, 0]]
    };
    for i in 0..5 {
        for j in (0..5).filter(|&j| j != i) {
            assert!((influence[[i, j]] - (0.25 * coupling(i, j).abs()).tanh()).abs() < 1e-12);
        }
    }
}

/// Lemma 1 and theorem 3 for any number of states: the exact bias of the gradient after `t` sweeps, from every start, is below both bounds.
#[test]
fn the_bias_is_below_both_bounds() {
    let cards = [3, 2, 3];
    let layout = indicators(&cards);
    let states = configurations(&cards);
    let data = Data::with_cards(array![[0u8, 0, 0]].view(), &cards).unwrap();
    let sampler = StateSampler::new(&data, &Spg { chains: 10, ..Spg::default() }).unwrap();
    for seed in 0..12 {
        let theta = random(layout.len(), [0.2, 0.6, 1.5][seed as usize % 3], seed);
        let (_, law, means) = brute(&theta, &cards);
        let influence = Influence::of_factors(&layout.factor_graph(&theta).unwrap()).unwrap();
        for start in 0..states.len() {
            let mut now = vec![0.0; states.len()];
            now[start] = 1.0;
            let mut d = vec![1.0; 3];
            for _ in 0..4 {
                // One variable after the other, by conditioning the joint law.
                for v in 0..3 {
                    let same = |x: &[usize], y: &[usize]| (0..3).all(|u| u == v || x[u] == y[u]);
                    now = (0..states.len())
                        .map(|to| {
                            let group: Vec<usize> = (0..states.len())
                                .filter(|&s| same(&states[s], &states[to]))
                                .collect();
                            let mass: f64 = group.iter().map(|&s| now[s]).sum();
                            mass * law[to] / group.iter().map(|&s| law[s]).sum::<f64>()
                        })
                        .collect();
                }
                influence.sweep(&mut d);
                let mut off: Vec<f64> = means.iter().map(|m| -m).collect();
                for (x, weight) in states.iter().zip(&now) {
                    let psi = statistics(x, &cards);
                    off.iter_mut().zip(psi).for_each(|(o, s)| *o += weight * s);
                }
                let paper = sampler.bias(bounds::BoundKind::Paper, &d);
                let coupling = sampler.bias(bounds::BoundKind::Coupling, &d);
                assert!(norm(&off) <= coupling + 1e-12 && coupling <= paper + 1e-12);
            }
        }
    }
}

/// Sampled gradients come to the exact optimum; TAY begins with one sweep; the tracked objective is the exact one up to its error.
#[test]
fn sampled_fits_reach_the_exact_optimum() {
    let data = chain_data(500);
    let penalty = Penalty::group(0.05);
    let exact = mle(penalty.clone()).fit(&data).unwrap();
    let optimum = exact.report.certificate.objective().unwrap();
    let h = penalty.strengths(&data.layout(Coordinates::Indicators).unwrap()).unwrap();
    let target = means(&data);
    let gap = |theta: &[f64]| {
        let linear: f64 = theta.iter().zip(&target).map(|(a, b)| a * b).sum();
        brute(theta, data.cards()).0 - linear + h.value(theta) - optimum
    };
    let track = Some(fenchel_mrf_learn::Tracking { every: 40, ..Default::default() });
    let method =
        Spg { chains: 2000, noise_floor: None, track, average: Averaging::Tail, ..Spg::default() };
    let fit = spg(penalty.clone(), method.with_iterations(81));
    let model = fit.fit(&data).unwrap();
    assert_eq!(model.trace[0].sweeps, 1);
    let reached = gap(&model.theta);
    assert!((0.0..0.02).contains(&reached), "{reached}");
    let averaged = gap(model.average.as_ref().unwrap());
    assert!((0.0..0.02).contains(&averaged), "{averaged}");
    let estimate = model.trace[80].objective.unwrap();
    let off = estimate.value - optimum - reached;
    assert!(off.abs() <= 4.0 * estimate.standard_error, "{off} {estimate:?}");
    assert!(model.trace[1].objective.is_none() && model.trace[40].objective.is_some());
    // The same bits without the estimates.
    let plain = Spg { track: None, ..fit.clone() };
    assert_eq!(plain.fit(&data).unwrap().theta, model.theta);
    let mut bytes = vec![];
    model.save(&mut bytes).unwrap();
    assert_eq!(NetworkModel::load(&bytes[..]).unwrap(), model);
    let short = NetworkModel { average: Some(vec![]), ..model.clone() };
    let mut bytes = vec![];
    let saved = short.save(&mut bytes);
    assert!(saved.is_err() || NetworkModel::load(&bytes[..]).is_err());
    for start in [fenchel_mrf_learn::ChainStart::Restart, fenchel_mrf_learn::ChainStart::Data] {
        let method = Spg { start, chains: 200, split_chains: true, ..Spg::default() };
        let short = spg(penalty.clone(), method.with_iterations(5));
        assert!(short.fit(&data).unwrap().theta.iter().all(|t| t.is_finite()));
    }
}

#[test]
fn conditionals_scores_and_draws() {
    let data = chain_data(300);
    let penalty = Penalty::group(0.02);
    let model = mle(penalty.clone()).fit(&data).unwrap();
    let cards = data.cards();
    let (log_z, law, expected) = brute(&model.theta, cards);
    let states = configurations(cards);
    let x = [2, 1, 0, 1];
    let p = |i: usize| {
        let weights: Vec<f64> = (0..cards[i])
            .map(|a| {
                let mut y = x;
                y[i] = a;
                law[states.iter().position(|s| s[..] == y).unwrap()]
            })
            .collect();
        let sum: f64 = weights.iter().sum();
        weights.into_iter().map(|w| w / sum).collect::<Vec<f64>>()
    };
    for i in 0..4 {
        let found = model.conditional(&[2, 1, 0, 1], i).unwrap();
        assert!(found.iter().zip(p(i)).all(|(a, b)| (a - b).abs() < 1e-12));
    }
    let one = Data::with_cards(array![[2u8, 1, 0, 1]].view(), cards).unwrap();
    let score: f64 = (0..4).map(|i| p(i)[x[i]].ln()).sum();
    assert!((model.score(&one).unwrap() - score).abs() < 1e-12);
    let score: f64 = statistics(&x, cards).iter().zip(&model.theta).map(|(a, b)| a * b).sum();
    assert!((model.log_likelihood(&one).unwrap() - (score - log_z)).abs() < 1e-12);
    let best: Vec<u8> = (0..4)
        .map(|i| (0..cards[i]).max_by(|&a, &b| p(i)[a].total_cmp(&p(i)[b])).unwrap() as u8)
        .collect();
    assert_eq!(model.predict(&one).unwrap().row(0).to_vec(), best);
    // Shares over independent draws within five standard errors, of which there are 46.
    let drawn = model.sample(20_000, 60, 9).unwrap();
    let shares = means(&Data::with_cards(drawn.view(), cards).unwrap());
    for (share, mean) in shares.iter().zip(&expected) {
        assert!((share - mean).abs() <= 5.0 * (mean * (1.0 - mean) / 20_000.0).sqrt() + 1e-9);
    }
    #[cfg(feature = "plot")]
    assert!(model.network().dot().contains("--"));
}

#[test]
fn bad_arguments_are_named() {
    let x = array![[0u8, 2], [1, 0]];
    let entry = Data::with_cards(x.view(), &[2, 2]);
    assert!(matches!(entry, Err(Error::Entry { row: 0, column: 1, .. })));
    assert!(matches!(Data::states(array![[255u8]].view()), Err(Error::Entry { .. })));
    assert!(Data::with_cards(x.view(), &[2]).is_err());
    assert!(Data::states(Array2::<u8>::zeros((0, 2)).view()).is_err());
    let data = Data::with_cards(x.view(), &[2, 3]).unwrap();
    assert!(data.clone().with_weights(&[1.0, f64::NAN]).is_err());
    assert!(data.clone().with_weights(&[0.0, 0.0]).is_err());
    // State 1 of the second variable never occurs, and its field is free.
    let unseen = mle(Penalty::group(0.1)).fit(&data);
    assert!(matches!(unseen, Err(Error::UnboundedMle { coordinates }) if coordinates == [(1, 1)]));
    for bad in [Penalty::group(-1.0), Penalty { l1: 0.1, ..Penalty::group(0.1) }] {
        assert!(mle(bad.clone()).fit(&data).unwrap_err().to_string().contains("group"));
        assert!(spg(bad, Spg::default()).fit(&data).is_err());
    }
    for coordinates in [Coordinates::Binary, Coordinates::Spins] {
        let error = Spg { coordinates, ..Spg::default() }.fit(&data).unwrap_err().to_string();
        assert!(error.contains("Coordinates::Indicators"), "{error}");
    }
    let one = Penalty { unary_weight: 1.0, ..Penalty::group(0.1) };
    let free = mle(one);
    assert!(matches!(
        ExactMle { max_memory: Some(10), ..free.clone() }.fit(&data),
        Err(Error::Refused(fenchel_optim::Refusal::MemoryLimit { .. }))
    ));
    let model = free.fit(&data).unwrap();
    assert!(model.conditional(&[0, 3], 0).is_err() && model.conditional(&[0, 0], 2).is_err());
    let other = Data::with_cards(array![[0u8, 1]].view(), &[2, 2]).unwrap();
    assert!(
        model.score(&other).is_err() && free.fit_with(&other, Fit::new().start(&model)).is_err()
    );
    // One row, constant variables: nothing panics.
    let flat = Data::states(array![[0u8, 0, 1]].view()).unwrap();
    assert!(free.fit(&flat).unwrap().theta.iter().all(|t| t.is_finite()));
    let method = Spg { chains: 50, step: StepSize::Theory, ..Spg::default() }.with_iterations(20);
    let sampled = spg(Penalty::group(0.0), method).fit(&flat).unwrap();
    assert!(sampled.theta.iter().all(|t| t.is_finite()));
}

/// Pairs that there are not are an error.
#[test]
fn tables_of_no_pair_are_refused() {
    let layout = indicators(&[2, 3, 2]);
    for (i, j) in [(1, 1), (2, 1), (0, 3), (7, 9)] {
        let error = layout.table(i, j).unwrap_err().to_string();
        assert!(error.contains(&format!("variables {i} and {j}")), "{error}");
    }
    assert_eq!(layout.table(1, 2).unwrap(), 15..21);
}
