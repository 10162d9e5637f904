//! Taggers, networks of discrete variables, effects, causal models, and saddle points.

use std::sync::OnceLock;

use arbitrary::Unstructured;
use fenchel::causal::categorical::CategoricalPair;
use fenchel::causal::effect::{EffectEstimator, EffectMethod};
use fenchel::causal::{Admg, LatentModel, NodeSet, ProbabilityTable, Query, identify};
use fenchel::crf::training::{Checkpoint, Start, train};
use fenchel::crf::{
    CliqueTemplate, Corpus, CorpusBuilder, Crf, CrfModel, GraphCrf, GraphDataset, GraphInstance,
    Instance, Method, methods as crf_methods,
};
use fenchel::mrf::potts::{Alignment, Alphabet, Gaps, PottsPseudoLikelihood};
use fenchel::mrf::{
    Coordinates, Data, ExactMle, InteractionScreening, MissingPolicy, NetworkModel,
    NodewiseLogistic, Penalty, PseudoLikelihood, Schedule, Spg,
};
use fenchel::prelude::*;
use fenchel::saddle::methods::MirrorProxSettings;
use fenchel::saddle::{
    LinearProgram, LpOutcome, LpSettings, MatrixGame, MulticlassL1, MulticlassLoss, Primal, Radius,
    Solver, linear_program, matrix_game,
};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::data::{Range, Rows, number};
use crate::{oracle, tree};

fn instance(u: &mut Unstructured<'_>) -> Instance {
    let mut instance = Instance::new();
    for _ in 0..u.int_in_range(0..=4).unwrap_or(2) {
        instance.begin_token(u.choose(&["A", "B", "C", "I-A", ""]).unwrap_or(&"A"));
        for _ in 0..u.int_in_range(0..=3).unwrap_or(1) {
            let value = if u.ratio(1, 8).unwrap_or(false) { number(u) } else { 1.0 };
            instance.push(u.choose(&["x", "y", "z", "x y", "é"]).unwrap_or(&"x"), value);
        }
    }
    instance
}

fn corpus(u: &mut Unstructured<'_>) -> Option<(Corpus, Vec<Instance>)> {
    let instances: Vec<Instance> =
        (0..u.int_in_range(1..=5).unwrap_or(3)).map(|_| instance(u)).collect();
    let mut builder = CorpusBuilder::new();
    for instance in &instances {
        let _ = builder.push(instance);
    }
    Some((builder.finish(u.int_in_range(0..=2).unwrap_or(0)).ok()?, instances))
}

/// Answers of a tagger.
fn tag(model: &CrfModel, instances: &[Instance]) {
    let mut tagger = model.tagger();
    for instance in instances {
        let _ = (
            tagger.tag(instance).is_ok(),
            tagger.k_best(instance, 3).is_ok(),
            tagger.probability(instance, &["A", "B"]),
        );
        if let Ok(marginals) = tagger.marginals(instance) {
            for row in marginals.rows() {
                assert!((row.sum() - 1.0).abs() < 1e-6, "marginals sum to {}", row.sum());
            }
        }
    }
    let _ = (
        model.largest_state_weights(3),
        model.largest_transition_weights(3),
        model.nonzero_weights(),
    );
}

/// Taggers and their models.
pub(crate) fn crf(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let Some((corpus, instances)) = corpus(u) else { return };
    let seeds = [
        Crf::default(),
        Crf { method: Method::Sdca, ..Crf::default() },
        Crf { method: Method::Lbfgs, l2: Some(0.1), ..Crf::default() },
        Crf { l1: 0.05, ..Crf::default() },
    ];
    let Some(crf) = tree::like(u, &seeds) else { return };
    let Ok(model) = crf.fit(&corpus) else { return };
    oracle::saved(&model);
    tag(&model, &instances);
    let mut pruned = model.clone();
    let _ = pruned.prune(number(u));
    tag(&pruned, &instances);
    let mut file = Vec::new();
    let checkpoint = Checkpoint { model: model.clone(), duals: None };
    checkpoint.save(&mut file).expect("memory takes all");
    Checkpoint::load(&file[..]).unwrap_or_else(|error| panic!("saved and not loaded: {error}"));
    if let Some(altered) = tree::altered(u, &model)
        && altered.check().is_ok()
    {
        tag(&altered, &instances);
        if let Ok(again) = crf.fit_with(&corpus, Fit::new().start(&altered)) {
            tag(&again, &instances);
        }
    }
}

/// Methods for taggers, begun from states with faults.
pub(crate) fn crf_solvers(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let Some((corpus, _)) = corpus(u) else { return };
    let l2 = number(u).abs();
    let Some(features) = tree::like(u, &[fenchel::crf::Features::default()]) else { return };
    let Ok(problem) = fenchel::crf::Problem::within(&corpus.data, l2, features, Some(1 << 24))
    else {
        return;
    };
    let Some(settings) = tree::like(u, &[crf_methods::SdcaSettings::default()]) else { return };
    let Ok(found) = crf_methods::sdca::<f64, _>(&problem, &settings, None, &mut ()) else { return };
    oracle::report(&found.report);
    if let Some(state) = tree::altered(u, &found.state)
        && let Ok(again) = crf_methods::sdca(&problem, &settings, Some(state), &mut ())
    {
        oracle::report(&again.report);
        if (1e-6..1e6).contains(&l2) {
            oracle::bounds(&[&found.report, &again.report]);
        }
    }
}

/// Checkpoints: a right model, then bytes for the dual variables, with their checksum. A training goes on from what is accepted.
pub(crate) fn checkpoint(bytes: &[u8]) {
    static BEGUN: OnceLock<(Corpus, Vec<u8>)> = OnceLock::new();
    let (corpus, begun) = BEGUN.get_or_init(|| {
        let mut builder = CorpusBuilder::new();
        let mut instance = Instance::new();
        for label in ["A", "B"] {
            instance.begin_token(label);
            instance.push(label, 1.0);
        }
        builder.push(&instance).expect("a sequence");
        let corpus = builder.finish(0).expect("a corpus");
        let model = Crf::default().fit(&corpus).expect("a model");
        let mut file = Vec::new();
        Checkpoint { model, duals: None }.save(&mut file).expect("memory takes all");
        // Without the mark of no dual variables, and without the checksum.
        file.truncate(file.len() - 5);
        (corpus, file)
    });
    let mut file = [begun, bytes].concat();
    file.extend(crc32fast::hash(&file).to_le_bytes());
    let Ok(checkpoint) = Checkpoint::load(&file[..]) else { return };
    let mut again = Vec::new();
    checkpoint.save(&mut again).expect("memory takes all");
    assert!(Checkpoint::load(&again[..]).is_ok());
    let crf = Crf { method: Method::Sdca, ..Crf::default() };
    let _ = train(&crf, corpus, Some(Start::Checkpoint(Box::new(checkpoint))), &mut ());
}

/// Fields over graphs.
pub(crate) fn graph_crf(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let templates = vec![
        CliqueTemplate::new(&[2], 2),
        CliqueTemplate::new(&[2, 2], 1),
        CliqueTemplate::new(&[3], 1),
    ];
    let Some(templates) = tree::altered(u, &templates) else { return };
    let Ok(mut data) = GraphDataset::new(templates) else { return };
    for _ in 0..u.int_in_range(1..=3).unwrap_or(2) {
        let labels: Vec<usize> = (0..u.int_in_range(0..=4).unwrap_or(3))
            .map(|_| u.int_in_range(0..=3).unwrap_or(2))
            .collect();
        let mut graph = GraphInstance::new(&labels);
        for _ in 0..u.int_in_range(0..=5).unwrap_or(3) {
            let variables: Vec<usize> = (0..u.int_in_range(1..=2).unwrap_or(1))
                .map(|_| u.int_in_range(0..=4).unwrap_or(0))
                .collect();
            graph.clique(
                u.int_in_range(0..=3).unwrap_or(0),
                &variables,
                &[(u.int_in_range(0..=2).unwrap_or(0), number(u))],
            );
        }
        let truth: Vec<usize> = labels.iter().map(|_| u.int_in_range(0..=2).unwrap_or(0)).collect();
        let _ = (graph.elimination().is_ok(), data.push(graph, &truth));
    }
    let Some(crf) = tree::like(
        u,
        &[GraphCrf::default(), GraphCrf { method: Method::Sdca, ..GraphCrf::default() }],
    ) else {
        return;
    };
    let Ok(model) = crf.fit(&data) else { return };
    oracle::saved(&model);
    let Some(altered) = tree::altered(u, &model) else { return };
    if altered.check().is_ok() {
        for (graph, truth) in data.iter() {
            let _ = (
                altered.predict(graph),
                altered.marginals(graph),
                altered.log_probability(graph, truth),
            );
        }
        let _ = crf.fit_with(&data, Fit::new().start(&altered));
    }
}

/// Markov random fields from rows.
pub(crate) fn mrf(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let (n, p) = (u.int_in_range(0..=12).unwrap_or(8), u.int_in_range(0..=4).unwrap_or(3));
    let states = u.int_in_range(1..=3).unwrap_or(1);
    let x =
        Array2::from_shape_simple_fn((n, p), || u.arbitrary::<u8>().unwrap_or(0) % (states + 1));
    let data = if states == 1 {
        Data::binary(x.view(), MissingPolicy::Error)
    } else {
        Data::states(x.view())
    };
    let Ok(data) = data else { return };
    let weights: Option<Array1<f64>> =
        u.ratio(1, 4).unwrap_or(false).then(|| Array1::from_shape_simple_fn(n, || number(u)));
    let penalties = [Penalty::l1(0.1), Penalty::edges(0.05), Penalty::group(0.1), Penalty::l1(0.0)];
    let penalty = u.choose(&penalties).unwrap_or(&penalties[0]).clone();
    macro_rules! fit {
        ($seeds:expr) => {{
            let Some(estimator) = tree::like(u, &$seeds) else { return };
            let start = None;
            let fit = |start| {
                let fit = match &weights {
                    Some(weights) => Fit::new().weights(weights),
                    None => Fit::new(),
                };
                match start {
                    Some(start) => estimator.fit_with(&data, fit.start(start)),
                    None => estimator.fit_with(&data, fit),
                }
            };
            let Ok(model) = fit(start) else { return };
            answers(&model);
            oracle::model(&model);
            oracle::report(&model.report);
            let Some(altered) = tree::altered(u, &model) else { return };
            if altered.check().is_ok() {
                answers(&altered);
            }
            if let Ok(again) = fit(Some(&altered)) {
                oracle::report(&again.report);
            }
        }};
    }
    match u.int_in_range(0..=4).unwrap_or(0) {
        0 => {
            let coordinates = *u
                .choose(&[Coordinates::Binary, Coordinates::Spins, Coordinates::Indicators])
                .unwrap_or(&Coordinates::Binary);
            fit!([ExactMle { penalty, coordinates, ..ExactMle::default() }])
        }
        1 => fit!([NodewiseLogistic::default()]),
        2 => fit!([InteractionScreening::default()]),
        3 => fit!([PseudoLikelihood { penalty, ..PseudoLikelihood::default() }]),
        _ => {
            let spg = Spg { penalty, chains: 8, ..Spg::default() };
            fit!([
                spg.clone(),
                Spg { schedule: Schedule::Fixed(1), ..spg.clone() },
                Spg { coordinates: Coordinates::Indicators, ..spg }
            ])
        }
    }
}

fn answers(model: &NetworkModel) {
    let _ = (model.graph(), model.to_string());
}

/// Models of alignments.
pub(crate) fn potts(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let (n, p) = (u.int_in_range(0..=6).unwrap_or(4), u.int_in_range(0..=4).unwrap_or(3));
    let letters = Array2::from_shape_simple_fn((n, p), || *u.choose(b"ACGT-NRx").unwrap_or(&b'A'));
    let gaps = *u.choose(&[Gaps::State, Gaps::Missing]).unwrap_or(&Gaps::State);
    let Ok(alignment) = Alignment::new(letters.view(), Alphabet::nucleotides(), gaps) else {
        return;
    };
    let Ok(alignment) = alignment.identity_weights(number(u)) else { return };
    let Some(estimator) = tree::like(u, &[PottsPseudoLikelihood::default()]) else { return };
    let Ok(model) = estimator.fit(&alignment) else { return };
    oracle::saved(&model);
    let Some(altered) = tree::altered(u, &model) else { return };
    if altered.check().is_ok() {
        let codes = alignment.codes().row(0).to_vec();
        let _ = (
            altered.log_score(&codes),
            altered.logits(&codes, 0),
            altered.mutation_effects(&codes),
            altered.sample(2, 2, 0),
        );
        let _ = (altered.zero_sum(), altered.contact_scores());
        let _ = estimator.fit_with(&alignment, Fit::new().start(&altered));
    }
}

/// Effects of a treatment.
pub(crate) fn effect(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let rows = Rows::new(u);
    let treated: Vec<bool> = rows.labels.iter().map(|label| label % 2 == 1).collect();
    let few = EffectEstimator { bootstrap: 4, ..EffectEstimator::default() };
    let seeds = [
        few.clone(),
        EffectEstimator { method: EffectMethod::Standardisation, ..few.clone() },
        EffectEstimator { method: EffectMethod::Weighting, interactions: vec![0], ..few },
    ];
    let Some(estimator) = tree::like(u, &seeds) else { return };
    let Ok(model) = estimator.fit_with(rows.x.view(), &treated, &rows.y, rows.fit(None)) else {
        return;
    };
    oracle::saved(&model);
    let Some(altered) = tree::altered(u, &model) else { return };
    if altered.check().is_ok() {
        let _ = estimator.fit_with(rows.x.view(), &treated, &rows.y, rows.fit(Some(&altered)));
    }
}

/// Causal models as they are in files, and identification: what the formula says is what an intervention does.
pub(crate) fn causal(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let p = u.int_in_range(1..=5).unwrap_or(3);
    let mut text: String = (0..p).map(|v| format!("v{v};")).collect();
    for a in 0..p {
        for b in 0..a {
            match u.int_in_range(0..=5).unwrap_or(0) {
                0 | 1 => text += &format!("v{b} -> v{a};"),
                2 => text += &format!("v{b} <-> v{a};"),
                3 => text += &format!("v{b} -> v{a}; v{b} <-> v{a};"),
                _ => {}
            }
        }
    }
    let Ok(graph) = Admg::parse(&text) else { return };
    let set = |u: &mut Unstructured<'_>| {
        (0..p)
            .filter(|_| u.ratio(1, 3).unwrap_or(false))
            .fold(NodeSet::EMPTY, |all, v| all | NodeSet::one(v))
    };
    let query = Query::new(set(u), set(u)).given(set(u));
    let cards = vec![2; p as usize];
    let seed = u.arbitrary().unwrap_or(0);
    let Ok(model) = LatentModel::random(&graph, &cards, &mut ChaCha8Rng::seed_from_u64(seed))
    else {
        return;
    };
    if let (Ok(estimand), Ok(table)) = (identify(&graph, query), model.observed()) {
        let _ = estimand.to_string();
        if let (Ok(found), Ok(truth)) = (estimand.evaluate(&table), model.effect(query)) {
            assert!(
                found.distance(&truth) < 1e-6,
                "{text} {query:?}: {estimand} is {} off",
                found.distance(&truth)
            );
        }
        if let Some(altered) = tree::altered(u, &estimand) {
            let _ = (altered.to_string(), altered.evaluate(&table));
        }
        if let Some(altered) = tree::altered(u, &table) {
            let _ = estimand.evaluate(&altered);
            let _: ProbabilityTable = altered.marginal(query.outcome);
        }
    }
    if let Some(altered) = tree::altered(u, &model) {
        let _ = (altered.observed(), altered.effect(query));
    }
    if let Some(altered) = tree::altered(u, &graph) {
        let _ = (altered.to_string(), identify(&altered, query).is_ok());
    }
    let counts =
        Array2::from_shape_simple_fn((u.int_in_range(1..=3).unwrap_or(2), 2), || number(u));
    if let Ok(pair) = CategoricalPair::from_counts(counts.view(), 1.0)
        && let Some(altered) = tree::altered(u, &pair)
    {
        let _ =
            (altered.reverse(), altered.log_joint(), altered.kl(&pair), altered.distance_sq(&pair));
    }
}

/// Classifiers with an l1 norm, matrix games and linear programs.
pub(crate) fn saddle(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let kind = u.int_in_range(0..=4).unwrap_or(0);
    let rows = Rows::of(u, 0..=10, 0..=4);
    match kind {
        0 => {
            let settings = LpSettings { max_passes: 200.0, ..LpSettings::default() };
            let Some(settings) = tree::like(u, &[settings]) else { return };
            let cost: Vec<f64> = (0..rows.x.ncols()).map(|_| number(u)).collect();
            let Ok(program) = LinearProgram::new(&cost) else { return };
            let Ok(program) = program.at_least(rows.x.view(), &rows.y) else { return };
            let low: Vec<f64> = cost.iter().map(|_| -number(u).abs()).collect();
            let high: Vec<f64> = cost.iter().map(|_| number(u).abs()).collect();
            let bounded = program.clone().within(&low, &high);
            for program in [Some(program), bounded.ok()].into_iter().flatten() {
                let Ok(solution) = linear_program(&program, &settings) else { continue };
                if let (LpOutcome::Optimal { x, .. }, Range::Small) =
                    (&solution.outcome, rows.range)
                {
                    oracle::finite("x", x);
                }
            }
        }
        1 => {
            let Some(settings) = tree::like(u, &[MirrorProxSettings::default()]) else { return };
            let Ok(game) = MatrixGame::new(rows.x.view()) else { return };
            let Ok(found) = matrix_game(&game, &settings, None, &mut ()) else { return };
            oracle::report(&found.report);
            let Some(state) = tree::altered(u, &found.state) else { return };
            if let Ok(again) = matrix_game(&game, &settings, Some(state), &mut ()) {
                oracle::report(&again.report);
                if rows.range == Range::Small {
                    oracle::bounds(&[&found.report, &again.report]);
                }
            }
        }
        _ => {
            let seeds = [
                MulticlassL1::default(),
                MulticlassL1 { solver: Solver::Sublinear, ..MulticlassL1::default() },
                MulticlassL1 {
                    solver: Solver::MirrorProx,
                    loss: MulticlassLoss::Softmax,
                    ..MulticlassL1::default()
                },
                MulticlassL1 {
                    solver: Solver::MirrorPdhg,
                    norm: Primal::Rows,
                    ..MulticlassL1::default()
                },
                MulticlassL1 {
                    solver: Solver::Pdhg,
                    radius: Radius::At(1.0),
                    penalty: 0.0,
                    ..MulticlassL1::default()
                },
                MulticlassL1 { radius: Radius::Search, ..MulticlassL1::default() },
            ];
            let Some(estimator) = tree::like(u, &seeds) else { return };
            let Ok(model) = estimator.fit_with(&rows.x, &rows.labels, rows.fit(None)) else {
                return;
            };
            oracle::model(&model);
            oracle::report(&model.report);
            if rows.range == Range::Small {
                oracle::finite(
                    "scores",
                    model.decision_function(&rows.x).expect("fitted to these features").iter(),
                );
            }
            let Some(altered) = tree::altered(u, &model) else { return };
            if altered.check().is_ok() {
                let _ =
                    (altered.predict(&rows.x), altered.predict_proba(&rows.x), altered.to_string());
                if let Ok(again) =
                    estimator.fit_with(&rows.x, &rows.labels, rows.fit(Some(&altered)))
                {
                    oracle::report(&again.report);
                }
            }
        }
    }
}
