//! Models with tables: exact answers against sums over all configurations, and bounds against the exact answer.

use arbitrary::Unstructured;
use fenchel::graphical::bp::{self, BeliefPropagationSettings, TreeReweightedSettings};
use fenchel::graphical::gibbs::{Gibbs, GibbsSettings, Start};
use fenchel::graphical::mean_field::{MeanFieldSettings, mean_field};
use fenchel::graphical::structure::{ExactSearch, HillClimbing, Pc};
use fenchel::graphical::{
    BinaryPairwise, Evidence, FactorGraph, Influence, JunctionTree, OrderingOptions, Prior,
    StructureScore, Table, VarId, bayes_net::Em, networks, variable_elimination,
};
use fenchel::optim::Status;
use fenchel::prelude::Array2;

use crate::data::number;
use crate::tree;

/// Models of more configurations are not enumerated.
const FEW: usize = 1 << 10;

/// Answers of a model, some of them compared.
pub(crate) fn answers(model: &FactorGraph, evidence: Option<&Evidence>) {
    let none = Evidence::new();
    let evidence = evidence.unwrap_or(&none);
    let options = OrderingOptions { max_memory: Some(1 << 22), ..OrderingOptions::default() };
    let sum = enumerated(model, evidence);
    let Ok(tree) = JunctionTree::compile(model, &options) else { return };
    let mut workspace = tree.workspace();
    if let Ok(answers) = tree.calibrate(model, evidence, &mut workspace) {
        let log_partition = answers.log_partition();
        assert!(!log_partition.is_nan());
        if let Some(sum) = sum {
            same("log Z", log_partition, sum);
        }
        for v in model.variables() {
            let Ok(marginal) = answers.marginal(v) else { continue };
            let total: f64 = marginal.iter().sum();
            assert!((total - 1.0).abs() < 1e-9, "{v} sums to {total}");
        }
    }
    if let Ok(best) = tree.calibrate_max(model, evidence, &mut workspace) {
        assert_eq!(best.map().len(), model.len());
        if let Some((sum, rounding)) = sum {
            assert!(
                model
                    .log_score(&best.map())
                    .is_ok_and(|score| score <= sum + 1e-6 * (1.0 + sum.abs()) + rounding
                        || !evidence.is_empty())
            );
        }
    }
    if !model.is_empty() {
        let _ = variable_elimination(model, &[VarId(0)], evidence, &options);
    }
}

/// The sum over all configurations that the evidence allows, if they are few, and what rounding may do to it: a configuration is
/// a sum of scores, which may cancel.
fn enumerated(model: &FactorGraph, evidence: &Evidence) -> Option<(f64, f64)> {
    let conditioned = model.condition(evidence).ok()?;
    let mut sizes = FactorGraph::new(conditioned.cards()).ok()?;
    for factor in conditioned.factors() {
        let size = |score: &f64| if score.is_finite() { score.abs() } else { 0.0 };
        let values: Vec<f64> = factor.log_values().iter().map(size).collect();
        sizes.add(factor.scope(), &values).ok()?;
    }
    let size = conditioned
        .cards()
        .iter()
        .try_fold(1usize, |size, card| size.checked_mul(*card).filter(|size| *size <= FEW))?;
    let (mut logs, mut largest_size) = (Vec::with_capacity(size), 0.0_f64);
    for mut at in 0..size {
        let state: Vec<usize> = conditioned
            .cards()
            .iter()
            .map(|card| {
                let state = at % card;
                at /= card;
                state
            })
            .collect();
        let score = conditioned.log_score(&state).ok()?;
        if score > f64::NEG_INFINITY {
            largest_size = largest_size.max(sizes.log_score(&state).ok()?);
        }
        logs.push(score);
    }
    let largest = logs.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    let sum = largest + logs.iter().map(|log| (log - largest).exp()).sum::<f64>().ln();
    largest.is_finite().then_some((sum, 1e-14 * largest_size))
}

fn same(what: &str, found: f64, (expected, rounding): (f64, f64)) {
    assert!(
        (found - expected).abs() <= 1e-8 * (1.0 + expected.abs()) + rounding,
        "{what}: {found} for {expected}"
    );
}

fn model(u: &mut Unstructured<'_>) -> Option<FactorGraph> {
    let variables: usize = u.int_in_range(0..=5).unwrap_or(3);
    let cards: Vec<usize> = (0..variables).map(|_| u.int_in_range(1..=3).unwrap_or(2)).collect();
    let wild = u.ratio(1, 8).unwrap_or(false);
    let mut model = FactorGraph::new(&cards).ok()?;
    for _ in 0..u.int_in_range(0..=6).unwrap_or(3) {
        let mut scope: Vec<VarId> = Vec::new();
        let mut cells = 1;
        for _ in 0..u.int_in_range(0..=3).unwrap_or(2) {
            let v = u.int_in_range(0..=variables.saturating_sub(1)).unwrap_or(0);
            if v < variables && !scope.contains(&VarId(v as u32)) {
                scope.push(VarId(v as u32));
                cells *= cards[v];
            }
        }
        let values: Vec<f64> =
            (0..cells)
                .map(|_| {
                    if wild {
                        number(u)
                    } else {
                        f64::from(u.arbitrary::<i8>().unwrap_or(0)) / 16.0
                    }
                })
                .collect();
        let logs = u.arbitrary().unwrap_or(true);
        let positive: Vec<f64> = values.iter().map(|value| value.abs()).collect();
        let _ = if logs { model.add(&scope, &values) } else { model.add_values(&scope, &positive) };
    }
    Some(model)
}

fn evidence(u: &mut Unstructured<'_>, cards: &[usize]) -> Evidence {
    let mut evidence = Evidence::new();
    for _ in 0..u.int_in_range(0..=2).unwrap_or(0) {
        let v = u.int_in_range(0..=cards.len()).unwrap_or(0);
        let card = cards.get(v).copied().unwrap_or(2);
        let v = VarId(v as u32);
        evidence = match u.arbitrary().unwrap_or(true) {
            true => evidence.observe(v, u.int_in_range(0..=card).unwrap_or(0)),
            false => evidence.likelihood(v, (0..card).map(|_| number(u)).collect::<Vec<_>>()),
        };
    }
    evidence
}

/// Inference on small models.
pub(crate) fn inference(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let Some(model) = model(u) else { return };
    let evidence = evidence(u, model.cards());
    answers(&model, Some(&evidence));
    let file = serde_json::to_string(&model).expect("a model can be written");
    assert_eq!(serde_json::from_str::<FactorGraph>(&file).expect("written and not read"), model);
    if let Some(altered) = tree::altered(u, &model) {
        answers(&altered, tree::altered(u, &evidence).as_ref());
    }
    let exact = enumerated(&model, &Evidence::new()).map(|(sum, _)| sum);
    // What is normalised on the way has the digits of the largest score, be it impossible.
    let largest = |factor: &Table| {
        factor.log_values().iter().filter(|v| v.is_finite()).fold(0.0, |m: f64, v| m.max(v.abs()))
    };
    let rounding = 1e-14 * model.factors().iter().map(largest).sum::<f64>();
    if let Some(settings) = tree::like(u, &[MeanFieldSettings::default()])
        && let Ok(found) = mean_field(&model, &settings, None, &mut ())
    {
        if let Some(exact) = exact {
            assert!(
                found.state.log_partition() <= exact + 1e-8 * (1.0 + exact.abs()) + rounding,
                "{found:?} above {exact}"
            );
        }
        if let Some(state) = tree::altered(u, &found.state) {
            let _ = mean_field(&model, &settings, Some(state), &mut ());
        }
    }
    if let Some(settings) = tree::like(u, &[TreeReweightedSettings::default()])
        && let Ok(found) = bp::tree_reweighted(&model, &settings, None, &mut ())
    {
        if let (Some(exact), Status::Converged) = (exact, found.report.status) {
            assert!(
                found.state.log_partition() >= exact - 1e-4 * (1.0 + exact.abs()) - rounding,
                "{} below {exact}",
                found.state.log_partition()
            );
        }
        if let Some(state) = tree::altered(u, &found.state) {
            let _ = bp::tree_reweighted(&model, &settings, Some(state), &mut ());
        }
    }
    if let Some(settings) = tree::like(u, &[BeliefPropagationSettings::default()]) {
        if let Ok(found) = bp::belief_propagation(&model, &settings, None, &mut ())
            && let Some(state) = tree::altered(u, &found.state)
        {
            let _ = bp::belief_propagation(&model, &settings, Some(state), &mut ());
        }
        if let Ok(found) = bp::max_product(&model, &settings, None, &mut ())
            && let Some(state) = tree::altered(u, &found.state)
        {
            let _ = bp::max_product(&model, &settings, Some(state), &mut ());
        }
    }
    let few = GibbsSettings { chains: 3, ..GibbsSettings::default() };
    if let Some(settings) = tree::like(u, &[few])
        && let Ok(mut gibbs) = Gibbs::new(&model, &evidence, Start::Random, &settings)
    {
        gibbs.sweep(3);
        let _ = (gibbs.samples(), gibbs.impossible_chains());
    }
}

/// Binary pairwise models as they are in files.
pub(crate) fn binary(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let p = u.int_in_range(1..=5).unwrap_or(3);
    let bias: Vec<f64> = (0..p).map(|_| number(u)).collect();
    let edges: Vec<(u32, u32, f64)> = (0..u.int_in_range(0..=6).unwrap_or(3))
        .map(|_| {
            (u.int_in_range(0..=5).unwrap_or(0), u.int_in_range(0..=5).unwrap_or(1), number(u))
        })
        .collect();
    let Ok(model) = BinaryPairwise::new(&bias, &edges) else { return };
    for model in [Some(model.clone()), tree::altered(u, &model)].into_iter().flatten() {
        let _ = (model.to_spins(), model.colouring(), model.largest_degree());
        if let Ok(graph) = model.factor_graph() {
            answers(&graph, None);
        }
        let influence = Influence::bound(&model);
        for influence in
            [Some(influence.clone()), tree::altered(u, &influence)].into_iter().flatten()
        {
            let _ = (
                influence.spectral_radius(),
                influence.sweeps_needed(0.1, 20),
                influence.subset_bound(&[VarId(0)], 3),
            );
        }
    }
}

/// Networks that are learned from records.
pub(crate) fn learning(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let (n, p) = (u.int_in_range(0..=16).unwrap_or(8), u.int_in_range(0..=4).unwrap_or(3));
    let cards: Vec<usize> = (0..p).map(|_| u.int_in_range(1..=3).unwrap_or(2)).collect();
    let missing = u.ratio(1, 4).unwrap_or(false);
    let data = Array2::from_shape_fn((n, p), |(_, c)| {
        let value = usize::from(u.arbitrary::<u8>().unwrap_or(0));
        if missing && value > 230 {
            usize::MAX
        } else {
            value % (cards[c] + usize::from(value == 255))
        }
    });
    match u.int_in_range(0..=3).unwrap_or(0) {
        0 => {
            let seeds = [
                HillClimbing::default(),
                HillClimbing { score: StructureScore::Bic, ..HillClimbing::default() },
            ];
            if let Some(Ok(found)) =
                tree::like(u, &seeds).map(|search| search.fit(data.view(), &cards))
            {
                let _ = found.to_string();
            }
        }
        1 => {
            if let Some(Ok(found)) = tree::like(u, &[ExactSearch::default()])
                .map(|search| search.fit(data.view(), &cards))
            {
                let _ = found.to_string();
            }
        }
        2 => {
            let _ = tree::like(u, &[Pc::default()]).map(|search| search.fit(data.view(), &cards));
        }
        _ => {
            let net = networks::asia();
            let n = data.nrows();
            let data =
                Array2::from_shape_fn(
                    (n, net.len()),
                    |(r, c)| if p == 0 { 0 } else { data[[r, c % p]] },
                );
            if let Some(prior) = tree::like(u, &[Prior::Bdeu(1.0), Prior::Dirichlet(0.0)])
                && let Ok(fitted) = net.fit_cpts(data.view(), prior)
            {
                let _ = fitted.posteriors(&Evidence::new());
            }
            if let Some(em) = tree::like(u, &[Em::default()])
                && let Ok(fit) = em.fit(&net, data.view())
            {
                crate::oracle::report(&fit.report);
            }
        }
    }
}
