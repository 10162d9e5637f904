//! What a report says is true of the weights that are returned: for every trainer by name, on small random sequences and
//! graphs whose labellings can all be written down.
//!
//! `FENCHEL_PROBLEMS` is the number of problems; by default there are a few.

use fenchel_crf::graph::{GraphProblem, graph_lbfgs, graph_sdca};
use fenchel_crf::methods::{
    CatalystSettings, CrfFiniteSum, OegSettings, SagSettings, SdcaSettings, SdcaStep, catalyst,
    lbfgs, oeg, owlqn, sag, sdca,
};
use fenchel_crf::{
    Corpus, CorpusBuilder, Crf, Error, Features, GraphCrf, Instance, Method, Order, Problem,
    Weights,
};
use fenchel_finite_sum::general::{Sum, SumSettings, saga, svrg};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::prox::Zero;
use fenchel_optim::{Certificate, Report, Status, Stop};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::common::graphs::*;
use crate::common::*;

fn problems() -> u64 {
    std::env::var("FENCHEL_PROBLEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(12)
}

const STOP: Stop =
    Stop { max_passes: 200.0, relative: 1e-7, absolute: 1e-13, max_seconds: None, check: CHECK };
const CHECK: fenchel_optim::Cadence = fenchel_optim::Cadence::Adaptive;

/// Trainer, `P` at its weights by enumeration, and what it says of them.
type Answer = (String, f64, Report);

/// The objective is that of the weights, and no lower bound exceeds the answer of anybody. `size` is the largest score: an
/// objective is a difference of numbers of that size.
fn judge(what: &str, answers: &[Answer], stop: &Stop, size: f64) {
    for (name, right, report) in answers {
        let allowance = 1e-9 * (1.0 + right.abs()) + 1e-13 * size;
        let what = format!("{what}: {name}: {report}");
        if !right.is_finite() {
            assert!(report.status != Status::Converged, "{what}");
            continue;
        }
        if let Some(said) = report.certificate.objective() {
            assert!((said - right).abs() <= allowance, "{what}: is {right:.12}");
        }
        if let Certificate::Gap { lower_bound, .. } = report.certificate
            && report.certificate.value().is_finite()
        {
            for (other, objective, _) in answers.iter().filter(|(_, f, _)| f.is_finite()) {
                assert!(lower_bound <= objective + allowance, "{what}: {other} {objective:.12}");
            }
        }
        if report.status == Status::Converged {
            assert!(stop.met_by(&report.certificate), "{what}");
        }
    }
}

/// A problem in an odd unit, with a weak or a strong penalty, with sequences that repeat.
fn odd_sequences(seed: u64) -> (Vec<Sequence>, (usize, usize), f64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let (attributes, labels) = (rng.random_range(1..6), rng.random_range(2..5));
    let shape = (rng.random_range(1..9), rng.random_range(1..5), attributes, labels);
    let mut sequences = random_sequences(shape, rng.random(), seed);
    let unit = if seed.is_multiple_of(3) { 10f64.powi(rng.random_range(-4..4)) } else { 1.0 };
    sequences.iter_mut().flatten().flat_map(|(list, _)| list).for_each(|(_, v)| *v *= unit);
    if seed.is_multiple_of(4) {
        sequences.extend_from_within(..);
    }
    (sequences, (attributes, labels), 10f64.powf(rng.random_range(-4.0..1.0)))
}

/// The sequences with names, unless all labels are the same.
fn corpus(sequences: &[Sequence]) -> Option<Corpus> {
    let mut builder = CorpusBuilder::new();
    for sequence in sequences {
        let mut instance = Instance::new();
        for (attributes, label) in sequence {
            instance.begin_token(&label.to_string());
            attributes.iter().for_each(|(a, value)| instance.push(&a.to_string(), *value));
        }
        builder.push(&instance).unwrap();
    }
    builder.finish(1).ok()
}

#[test]
fn reports_of_every_trainer_of_chains() {
    let mut ended = 0;
    let mut all = 0;
    for seed in 0..problems() {
        let (sequences, (attributes, labels), l2) = odd_sequences(seed);
        let data = dataset(attributes, labels, &sequences);
        let problem = Problem::new(&data, l2, Features::default()).unwrap();
        let written = blocks(&data);
        for l1 in [0.0, 0.05] {
            let mut answers: Vec<Answer> = Vec::new();
            let mut size = 0.0_f64;
            let mut add = |name: String, found: Result<(Weights, Report), Error>| match found {
                Ok((weights, report)) => {
                    let w = flat(&weights);
                    let scores = written.iter().flat_map(|b| b.features.iter().map(|f| f.dot(&w)));
                    size = scores.fold(size, |m, s| m.max(s.abs()));
                    answers.push((name, primal(&written, l2, &w) + l1 * weights.l1_norm(), report));
                }
                Err(Error::Refused(_)) => {}
                Err(error) => panic!("seed {seed} {name}: {error}"),
            };
            for (order, step) in [
                (Order::Gap, SdcaStep::SingleNewton),
                (Order::Cyclic, SdcaStep::SkipIfImproves),
                (Order::Permuted, SdcaStep::Brent { tolerance: 1e-4 }),
            ] {
                let name = format!("sdca {order:?} {step:?}");
                let s = SdcaSettings { order, step, l1, stop: STOP, ..Default::default() };
                let found = sdca::<f64, _>(&problem, &s, None, &mut ());
                add(name.clone(), found.map(|s| (s.state.weights, s.report)));
                let found = sdca::<f32, _>(&problem, &s, None, &mut ());
                add(format!("{name} f32"), found.map(|s| (s.state.weights, s.report)));
            }
            let s = LbfgsSettings { stop: STOP, ..Default::default() };
            let found = owlqn(&problem, l1, &s, None, &mut ());
            add("owlqn".into(), found.map(|s| (s.state, s.report)));
            if l1 == 0.0 {
                let found = lbfgs(&problem, &s, None, &mut ());
                add("lbfgs".into(), found.map(|s| (s.state, s.report)));
                let s = CatalystSettings { stop: STOP, ..Default::default() };
                let found = catalyst::<f64, _>(&problem, &s, None, &mut ());
                add("catalyst".into(), found.map(|s| (s.state.weights, s.report)));
                let s = OegSettings { stop: STOP, ..Default::default() };
                let found = oeg(&problem, &s, None, &mut ());
                add("oeg".into(), found.map(|s| (s.state.weights, s.report)));
                for (order, skip) in [(Order::Uniform, false), (Order::Lipschitz, true)] {
                    let s = SagSettings { order, skip, stop: STOP, ..Default::default() };
                    let found = sag(&problem, &s, None, &mut ());
                    add(format!("sag {skip}"), found.map(|s| (s.state, s.report)));
                }
                let terms = CrfFiniteSum::new(&problem);
                let sum = Sum::new(&terms, Zero, l2).unwrap();
                let s = SumSettings { stop: STOP, ..Default::default() };
                if let Ok(found) = saga(&sum, &s, None, &mut ()) {
                    add("saga".into(), Ok((terms.weights(&found.state.point), found.report)));
                }
                if let Ok(found) = svrg(&sum, &s, None, &mut ()) {
                    add("svrg".into(), Ok((terms.weights(&found.state.point), found.report)));
                }
            }
            judge(&format!("seed {seed} l1 {l1} l2 {l2:e}"), &answers, &STOP, size);
            all += answers.len();
            ended += answers.iter().filter(|a| a.2.status == Status::Converged).count();

            // The estimator numbers attributes and labels itself; unseen ones have no weight.
            let Some(corpus) = corpus(&sequences) else { continue };
            let own = blocks(&corpus.data);
            let mut answers: Vec<Answer> = Vec::new();
            let mut size = 0.0_f64;
            for method in [Method::Auto, Method::Sdca, Method::Lbfgs] {
                let crf = Crf { l2: Some(l2), l1, method, stop: STOP, ..Crf::default() };
                let model = crf.fit(&corpus).unwrap();
                let w = flat(model.weights());
                let scores = own.iter().flat_map(|b| b.features.iter().map(|f| f.dot(&w)));
                size = scores.fold(size, |m, s| m.max(s.abs()));
                let right = primal(&own, l2, &w) + l1 * model.weights().l1_norm();
                answers.push((format!("Crf {method:?}"), right, model.report.unwrap()));
            }
            judge(&format!("seed {seed} l1 {l1} l2 {l2:e}"), &answers, &STOP, size);
            all += answers.len();
            ended += answers.iter().filter(|a| a.2.status == Status::Converged).count();
        }
    }
    assert!(2 * ended > all, "{ended} of {all}");
    println!("{} problems, {all} answers, {ended} converged", problems());
}

#[test]
fn reports_of_every_trainer_of_graphs() {
    let (mut ended, mut all) = (0, 0);
    for seed in 0..problems() {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let (n, labels) = (rng.random_range(1..6), rng.random_range(2..4));
        let l2 = 10f64.powf(rng.random_range(-4.0..1.0));
        let graphs = random_graphs(n, labels, rng.random(), l2, seed);
        let data = graphs.data();
        let problem = GraphProblem::new(&data, l2, None).unwrap();
        let mut answers: Vec<Answer> = Vec::new();
        let mut size = 0.0_f64;
        let mut add = |name: String, w: &[f64], report: Report| {
            let dot = |f: &Vec<f64>| f.iter().zip(w).map(|(f, w)| f * w).sum::<f64>();
            let scores = graphs.graphs.iter().flat_map(|g| g.features.iter().map(dot));
            size = scores.fold(size, |m, s| m.max(s.abs()));
            answers.push((name, graphs.primal(w).0, report));
        };
        for (order, step) in [
            (Order::Gap, SdcaStep::SingleNewton),
            (Order::Cyclic, SdcaStep::SingleNewton),
            (Order::Permuted, SdcaStep::SkipIfImproves),
        ] {
            let name = format!("graph_sdca {order:?} {step:?}");
            let s = SdcaSettings { order, step, stop: STOP, ..Default::default() };
            let found = graph_sdca(&problem, &s, None, &mut ()).unwrap();
            add(name, &found.state.weights, found.report);
        }
        let s = LbfgsSettings { stop: STOP, ..Default::default() };
        let found = graph_lbfgs(&problem, &s, None, &mut ()).unwrap();
        add("graph_lbfgs".into(), &found.state, found.report);
        for method in [Method::Auto, Method::Sdca, Method::Lbfgs] {
            let crf = GraphCrf { l2: Some(l2), method, stop: STOP, ..GraphCrf::default() };
            let model = crf.fit(&data).unwrap();
            add(format!("GraphCrf {method:?}"), model.weights(), model.report.unwrap());
        }
        judge(&format!("seed {seed} l2 {l2:e}"), &answers, &STOP, size);
        all += answers.len();
        ended += answers.iter().filter(|a| a.2.status == Status::Converged).count();
    }
    assert!(2 * ended > all, "{ended} of {all}");
    println!("{} problems, {all} answers, {ended} converged", problems());
}

/// A penalty that divides the gradient by next to nothing: the training says so, and does not blame a weight.
#[test]
fn a_penalty_too_small_for_numbers_is_named() {
    let sequences = random_sequences((3, 3, 3, 2), false, 5);
    let graphs = chains(3, 2, &sequences, 1.0);
    let data = graphs.data();
    for method in [Method::Auto, Method::Sdca, Method::Lbfgs] {
        for l2 in [1e-300, 5e-324] {
            let crf = GraphCrf { l2: Some(l2), method, ..GraphCrf::default() };
            let chain = Crf { l2: Some(l2), method, ..Crf::default() };
            let errors = [
                crf.fit(&data).err().map(|e| e.to_string()),
                chain.fit(&corpus(&sequences).unwrap()).err().map(|e| e.to_string()),
            ];
            for error in errors.into_iter().flatten() {
                assert!(
                    error.contains("l2 = ") && error.contains("diverged"),
                    "{method:?}: {error}"
                );
            }
        }
    }
    let crf = GraphCrf { l2: Some(1e-300), method: Method::Sdca, ..GraphCrf::default() };
    let error = crf.fit(&data).unwrap_err().to_string();
    assert!(error.starts_with("l2 = 1e-300; expected a larger penalty"), "{error}");
}
