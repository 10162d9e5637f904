//! What a report says of its answer, on small random problems: the objective is that of the returned point by another
//! formula, no lower bound is above the objective of another answer, and `Converged` means that the certificate meets the
//! tolerance.
//!
//! `FENCHEL_PROBLEMS` sets the number of problems.

use fenchel_mrf_learn::potts::{Alignment, Alphabet, Gaps, PottsModel, PottsPseudoLikelihood};
use fenchel_mrf_learn::{
    Coordinates, Data, EdgeWeight, Error, ExactMle, InteractionScreening, MissingPolicy,
    NodewiseLogistic, Penalty, PseudoLikelihood, Regression, ScreeningObjective, Spg,
};
use fenchel_optim::random::{Generator, stream};
use fenchel_optim::{Certificate, Report, Status, Stop};
use ndarray::Array2;
use rand::RngExt;

use crate::common::{configurations, dot, log_sum, psi, two_states};

fn problems() -> impl Iterator<Item = (u64, Generator)> {
    let count = std::env::var("FENCHEL_PROBLEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(25);
    (0..count).map(|seed| (seed, stream(seed, 0)))
}

/// The answers to one problem.
#[derive(Default)]
struct Answers {
    bounds: Vec<(f64, String)>,
    values: Vec<(f64, String)>,
}

impl Answers {
    /// `found` is the objective of the answer. Its sums have few terms, of which none is far larger than the sum.
    fn add(&mut self, stop: &Stop, report: &Report, found: f64, what: String) {
        let slack = 1e-11 * (1.0 + found.abs());
        let certificate = &report.certificate;
        if report.status == Status::Converged {
            assert!(stop.met_by(certificate), "{what}: {report}");
        }
        if let Some(said) = certificate.objective() {
            assert!((said - found).abs() <= slack, "{what}: {said} is said, {found} found");
        }
        if let Certificate::Gap { objective, lower_bound, .. } = *certificate {
            assert!(lower_bound <= objective, "{what}: {report}");
            self.bounds.push((lower_bound, what.clone()));
        }
        self.values.push((found, what));
    }

    fn check(self) {
        for (bound, what) in &self.bounds {
            for (value, other) in &self.values {
                let slack = 1e-11 * (1.0 + value.abs());
                assert!(*bound <= value + slack, "{what}: bound {bound} above {value} of {other}");
            }
        }
    }
}

/// The same stopping rule with the limits of a short run, of a longer one, and its own.
fn limits(stop: &Stop) -> [Stop; 3] {
    [1.0, 9.0, stop.max_passes].map(|max_passes| Stop { max_passes, ..*stop })
}

fn weights(random: &mut Generator, rows: usize) -> Vec<f64> {
    (0..rows).map(|_| f64::from(random.random_range(0..4_u32))).collect()
}

/// 1 to 40 rows of 1 to 5 columns that may be constant or copies, with weights in one of two cases.
fn binary(random: &mut Generator) -> Data {
    let (n, p) = (random.random_range(1..=40), random.random_range(1..=5));
    let shares: Vec<f64> =
        (0..p).map(|_| [0.0, 0.1, 0.5, 0.8][random.random_range(0..4)]).collect();
    let copies = random.random_range(0..3) == 0;
    let mut x = Array2::from_elem((n, p), false);
    for row in 0..n {
        for i in 0..p {
            let copy = copies && i > 0 && random.random::<f64>() < 0.9;
            x[[row, i]] = if copy { x[[row, i - 1]] } else { random.random::<f64>() < shares[i] };
        }
    }
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let mut weights = weights(random, n);
    weights[0] = 1.0;
    if random.random_range(0..2) == 0 { data.with_weights(&weights).unwrap() } else { data }
}

fn rows(data: &Data) -> impl Iterator<Item = (f64, Vec<usize>)> + '_ {
    let states = |row| (0..data.variables()).map(|i| usize::from(data.state(row, i))).collect();
    (0..data.rows()).map(move |row| (data.weight(row), states(row)))
}

/// `-mean log P(x)` over all states, or, where `each`, `-sum_i mean log P(x_i | the others)`.
fn loss(data: &Data, coordinates: Coordinates, theta: &[f64], each: bool) -> f64 {
    let cards = data.cards();
    let score = |x: &[usize]| dot(theta, &psi(coordinates, cards, x));
    let all: Vec<f64> = configurations(cards).iter().map(|x| score(x)).collect();
    let whole = log_sum(&all);
    let of_row = |x: &[usize]| -> f64 {
        let own = score(x);
        if !each {
            return whole - own;
        }
        let other = |i: usize| {
            let mut turned = x.to_vec();
            turned[i] = 1 - turned[i];
            log_sum(&[own, score(&turned)]) - own
        };
        (0..cards.len()).map(other).sum()
    };
    rows(data).map(|(weight, x)| weight * of_row(&x)).sum()
}

/// `None` where the method says that there is no minimiser, or that an unpenalised direction has none.
fn answer<T>(result: Result<T, Error>, what: &str) -> Option<T> {
    match result {
        Ok(model) => Some(model),
        Err(Error::UnboundedMle { .. } | Error::WeakPenalty { .. }) => None,
        Err(error) => panic!("{what}: {error}"),
    }
}

#[test]
fn reports_of_binary_networks_are_about_their_answers() {
    for (seed, mut random) in problems() {
        let data = binary(&mut random);
        let p = data.variables();
        let lambda = [0.0, 0.01, 0.1, 0.6][random.random_range(0..4)];
        for coordinates in [Coordinates::Binary, Coordinates::Spins] {
            for penalty in [Penalty::l1(lambda), Penalty::edges(lambda)] {
                let strengths = penalty.strengths(&two_states(p)).unwrap().pairs().to_vec();
                let what = |name: &str, stop: &Stop| {
                    let passes = stop.max_passes;
                    format!("{name}, {passes} passes, problem {seed}, {coordinates:?}, {penalty:?}")
                };
                let size = |theta: &[f64], strengths: &[f64]| -> f64 {
                    theta.iter().zip(strengths).map(|(t, s)| s * t.abs()).sum()
                };
                let mut exact = Answers::default();
                let default = ExactMle::default();
                for stop in limits(&Stop { max_passes: 500.0, ..default.stop }) {
                    let method =
                        ExactMle { penalty: penalty.clone(), coordinates, stop, ..default.clone() };
                    let means = data.means(coordinates).unwrap();
                    for (name, model) in
                        [("rows", method.fit(&data)), ("means", method.fit_means(&means))]
                    {
                        let what = what(name, &stop);
                        let Some(model) = answer(model, &what) else { continue };
                        let theta = model.theta;
                        let found =
                            loss(&data, coordinates, &theta, false) + size(&theta, &strengths);
                        exact.add(&stop, &model.report, found, what);
                    }
                }
                exact.check();
                for edge_weight in [EdgeWeight::One, EdgeWeight::Two] {
                    let mut strengths = strengths.clone();
                    if edge_weight == EdgeWeight::Two {
                        let pairs = (0..p).flat_map(|i| (i..p).map(move |j| (i, j)));
                        for (strength, (i, j)) in strengths.iter_mut().zip(pairs) {
                            *strength *= if i == j { 1.0 } else { 2.0 };
                        }
                    }
                    let mut pseudo = Answers::default();
                    let default = PseudoLikelihood::default();
                    for stop in limits(&Stop { max_passes: 500.0, ..default.stop }) {
                        let penalty = penalty.clone();
                        let what = what("pseudo-likelihood", &stop);
                        let method = PseudoLikelihood { penalty, edge_weight, coordinates, stop };
                        let Some(model) = answer(method.fit(&data), &what) else { continue };
                        let theta = model.theta;
                        let found =
                            loss(&data, coordinates, &theta, true) + size(&theta, &strengths);
                        pseudo.add(&stop, &model.report, found, what);
                    }
                    pseudo.check();
                }
            }
        }
    }
}

/// Problems of single variables, in values -1 and 1 or 0 and 1, with the loss of a margin.
fn check_regressions(
    data: &Data,
    lambda: f64,
    fits: Vec<(Stop, Vec<Regression>)>,
    spins: bool,
    objective: impl Fn(&[(f64, f64)]) -> f64,
    what: &str,
) {
    for i in 0..data.variables() {
        let mut answers = Answers::default();
        for (stop, regressions) in &fits {
            let Regression { bias, couplings, report } = &regressions[i];
            assert_eq!(couplings[i], 0.0);
            let Some(report) = report else { continue };
            let value = |x: usize| if spins && x == 0 { -1.0 } else { x as f64 };
            let margin = |(weight, x): (f64, Vec<usize>)| {
                let sum: f64 = couplings.iter().zip(&x).map(|(j, &x)| j * value(x)).sum();
                (weight, if x[i] == 1 { bias + sum } else { -bias - sum })
            };
            let margins: Vec<(f64, f64)> = rows(data).map(margin).collect();
            let size: f64 = couplings.iter().map(|j| j.abs()).sum();
            let found = objective(&margins) + lambda * size;
            answers.add(stop, report, found, format!("variable {i}, {stop:?}, {what}"));
        }
        answers.check();
    }
}

#[test]
fn reports_of_regressions_are_about_their_answers() {
    for (seed, mut random) in problems() {
        let data = binary(&mut random);
        let lambda = [0.01, 0.1, 0.6][random.random_range(0..3)];
        let mean = |f: &dyn Fn(f64) -> f64, m: &[(f64, f64)]| -> f64 {
            m.iter().map(|(weight, margin)| weight * f(*margin)).sum()
        };
        let what = format!("problem {seed}, lambda {lambda}");
        let default = NodewiseLogistic { l1: lambda, ..NodewiseLogistic::default() };
        let fit = |stop: Stop| {
            let regressions = NodewiseLogistic { stop, ..default.clone() }.regressions(&data);
            (stop, regressions.unwrap())
        };
        let logistic = |m: &[(f64, f64)]| mean(&|z: f64| log_sum(&[0.0, -z]), m);
        let fits = limits(&default.stop).map(fit).to_vec();
        check_regressions(&data, lambda, fits, false, logistic, &what);
        for objective in [ScreeningObjective::Rise, ScreeningObjective::LogRise] {
            let default =
                InteractionScreening { l1: lambda, objective, ..InteractionScreening::default() };
            let fit = |stop: Stop| {
                let method = InteractionScreening { stop, ..default.clone() };
                Some((stop, answer(method.regressions(&data), &what)?))
            };
            let stops = limits(&Stop { max_passes: 500.0, ..default.stop });
            let fits = stops.into_iter().filter_map(fit).collect();
            let log = objective == ScreeningObjective::LogRise;
            let value = |m: &[(f64, f64)]| {
                let rise = mean(&|z: f64| (-z).exp(), m);
                if log { rise.ln() } else { rise }
            };
            check_regressions(&data, lambda, fits, true, value, &format!("{objective:?}, {what}"));
        }
    }
}

#[test]
fn reports_of_discrete_networks_are_about_their_answers() {
    for (seed, mut random) in problems() {
        let (n, p) = (random.random_range(1..=30), random.random_range(1..=4));
        let cards: Vec<u8> = (0..p).map(|_| random.random_range(2..=3)).collect();
        let x = Array2::from_shape_fn((n, p), |(_, i)| random.random_range(0..cards[i]));
        let data = Data::states(x.view()).unwrap();
        let strength = [0.01, 0.1, 0.6][random.random_range(0..3)];
        for penalty in [Penalty::group(strength), Penalty::edges(strength)] {
            for unary_weight in [0.0, 1.0] {
                let penalty = Penalty { unary_weight, ..penalty.clone() };
                let what = format!("problem {seed}, {penalty:?}");
                let mut answers = Answers::default();
                let coordinates = Coordinates::Indicators;
                let default = ExactMle { penalty, coordinates, ..ExactMle::default() };
                for stop in limits(&Stop { max_passes: 300.0, ..default.stop }) {
                    let fit = ExactMle { stop, ..default.clone() }.fit(&data);
                    let Some(model) = answer(fit, &what) else { continue };
                    let mut size = 0.0;
                    for i in 0..p {
                        let field = &model.theta[model.layout.field(i)];
                        size += unary_weight * field.iter().map(|t| t.abs()).sum::<f64>();
                        for j in i + 1..p {
                            let table = model.table(i, j).unwrap();
                            size += if model.penalty.group > 0.0 {
                                table.iter().map(|t| t * t).sum::<f64>().sqrt()
                            } else {
                                table.iter().map(|t| t.abs()).sum()
                            };
                        }
                    }
                    let found = loss(&data, coordinates, &model.theta, false) + strength * size;
                    answers.add(&stop, &model.report, found, format!("{what}, {stop:?}"));
                }
                answers.check();
            }
        }
    }
}

/// Sampled gradients prove a residual, and no objective.
#[test]
fn sampled_methods_say_how_they_ended() {
    for (seed, mut random) in problems().take(8) {
        let data = binary(&mut random);
        let spg = Spg { chains: 64, seed, ..Spg::default() }.with_iterations(12);
        let model = spg.fit(&data).unwrap();
        assert_ne!(model.report.status, Status::Converged, "{}", model.report);
        assert!(model.theta.iter().all(|t| t.abs() <= 20.0));
        let (penalty, coordinates) = (Penalty::group(0.1), Coordinates::Indicators);
        let model = Spg { penalty, coordinates, ..spg }.fit(&data).unwrap();
        assert_ne!(model.report.status, Status::Converged, "{}", model.report);
    }
}

/// The objective of a Potts model, cell by cell from its own logits in double precision.
fn potts_objective(model: &PottsModel, data: &Alignment, ridges: [f64; 2], group: f64) -> f64 {
    let (q, columns) = (model.states(), model.columns());
    let mut loss = 0.0;
    for (codes, &weight) in data.codes().rows().into_iter().zip(data.weights()) {
        let codes = codes.to_vec();
        for i in (0..columns).filter(|&i| usize::from(codes[i]) < q) {
            let logits = model.logits(&codes, i).unwrap();
            loss += weight * (log_sum(&logits) - logits[usize::from(codes[i])]);
        }
    }
    let square = |x: &[f32]| x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
    let mut value = loss / data.effective() + 0.5 * ridges[1] * square(model.fields());
    for i in 0..columns {
        for j in i + 1..columns {
            let s = square(model.coupling(i, j));
            value += 0.5 * ridges[0] * s + group * s.sqrt();
        }
    }
    value
}

/// Parameters are in single precision. Certificates are in double precision all the same: none is false at a tolerance that
/// single precision cannot meet, and such a run does not say that it converged.
#[test]
fn reports_of_potts_models_are_about_their_answers() {
    for (seed, mut random) in problems() {
        let (n, columns) = (random.random_range(1..=30), random.random_range(2..=10));
        let many = random.random_range(0..3) == 0;
        let letters: &[u8] = if many { b"ARNDCQEGHILKMFPSTWYV-" } else { b"ACGT-" };
        let mut x = Array2::from_elem((n, columns), b'-');
        for cell in &mut x {
            *cell = letters[random.random_range(0..letters.len())];
        }
        let alphabet = if many { Alphabet::protein() } else { Alphabet::nucleotides() };
        let gaps = if random.random_range(0..2) == 0 { Gaps::State } else { Gaps::Missing };
        let mut data = Alignment::new(x.view(), alphabet, gaps).unwrap();
        if random.random_range(0..2) == 0 {
            data = data.identity_weights(0.6).unwrap();
        }
        let ridges = [[0.02, 0.01], [0.4, 1.0]][random.random_range(0..2)];
        for group in [0.0, 0.05] {
            let mut answers = Answers::default();
            for (relative, max_passes) in [(1e-4, 200.0), (1e-12, 30.0), (1e-15, 30.0)] {
                let stop = Stop { relative, absolute: 0.0, max_passes, ..Stop::default() };
                let method = PottsPseudoLikelihood {
                    l2: Some(ridges[0]),
                    l2_fields: Some(ridges[1]),
                    group,
                    stop,
                    seed,
                    ..PottsPseudoLikelihood::default()
                };
                let model = method.fit(&data).unwrap();
                let report = model.report.unwrap();
                let what =
                    format!("problem {seed}, group {group}, relative {relative:e}: {report}");
                let found = potts_objective(&model, &data, ridges, group);
                answers.add(&stop, &report, found, what);
                // The score is the same loss, without penalties.
                let norm = |x: &[f32]| x.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>();
                let whole = found + model.score(&data).unwrap();
                assert!(whole >= 0.5 * ridges[1] * norm(model.fields()) - 1e-12);
            }
            answers.check();
        }
    }
}

/// The value of an optimum computed independently in double precision (L-BFGS in another language, gradient below 1e-9).
#[test]
fn the_bound_of_a_potts_model_is_below_the_optimum_at_any_tolerance() {
    let x = Array2::from_shape_fn((9, 4), |(r, i)| b"ACGT-"[(r * 7 + i * i + r / (i + 1)) % 5]);
    let data = Alignment::new(x.view(), Alphabet::nucleotides(), Gaps::State).unwrap();
    for relative in [1e-5, 1e-12, 1e-15] {
        let stop = Stop { relative, absolute: 0.0, ..Stop::default() };
        let method = PottsPseudoLikelihood { stop, ..PottsPseudoLikelihood::default() };
        let report = method.fit(&data).unwrap().report.unwrap();
        let Certificate::Gap { objective, lower_bound, .. } = report.certificate else {
            panic!("{report}");
        };
        let optimum = 3.498_094_957_711_134;
        assert!(lower_bound <= optimum + 1e-12 && optimum <= objective + 1e-12, "{report}");
        assert!(objective - lower_bound < 1e-5 * objective, "{report}");
        let tight = relative < 1e-8;
        assert_eq!(report.status == Status::Converged, !tight, "{report}");
        assert!(!tight || report.status == Status::Stalled, "{report}");
        assert!(report.passes < 300.0, "{report}");
    }
}

/// From means alone, the same model as from rows; means that no variables have are refused by name.
#[test]
fn means_give_the_model_of_their_rows() {
    let (_, mut random) = problems().nth(3).unwrap();
    let x = Array2::from_shape_fn((50, 4), |_| random.random::<bool>());
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    for coordinates in [Coordinates::Binary, Coordinates::Spins] {
        for penalty in [Penalty::l1(0.05), Penalty::edges(0.05), Penalty::l1(0.0)] {
            let method = ExactMle { penalty, coordinates, ..ExactMle::default() };
            let rows = method.fit(&data).unwrap();
            let means = method.fit_means(&data.means(coordinates).unwrap()).unwrap();
            assert_eq!(means.report.status, Status::Converged, "{}", means.report);
            for (a, b) in rows.theta.iter().zip(means.theta) {
                assert!((a - b).abs() < 1e-3, "{a} {b}");
            }
        }
    }
    let refused = |means: &[f64]| ExactMle::default().fit_means(means).unwrap_err().to_string();
    assert!(refused(&[]).contains("means"));
    assert!(refused(&[0.5, 0.5]).contains("2 numbers"));
    assert!(refused(&[0.5, f64::NAN, 0.5]).contains("means"));
    assert!(refused(&[1.5, 0.5, 0.5]).contains("P(x_0 = 1, x_0 = 1) is 1.5"));
    // P(both) is at most 0.3, and at least 0.5 + 0.8 - 1.
    assert!(refused(&[0.3, 0.31, 0.5]).contains("between 0 and 0.3"));
    assert!(refused(&[0.5, 0.29, 0.8]).contains("expected a number between 0.3"));
}
