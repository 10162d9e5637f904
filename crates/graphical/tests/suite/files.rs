//! Values of this crate as JSON in which one value was changed: they are refused, or what was read works without a panic.

use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
use fenchel_graphical::bp::{
    BeliefPropagationSettings, Beliefs, MaxBeliefs, belief_propagation, max_product,
};
use fenchel_graphical::chain::ChainMarginals;
use fenchel_graphical::junction_tree::CliqueMarginals;
use fenchel_graphical::mean_field::{MeanFieldSettings, MeanFieldState, mean_field};
use fenchel_graphical::{
    BinaryPairwise, Evidence, FactorGraph, Influence, JunctionTree, OrderingOptions, Table, VarId,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Every pointer to a value, from the root on.
fn pointers(value: &Value, at: &str, all: &mut Vec<String>) {
    all.push(at.to_owned());
    match value {
        Value::Array(list) => {
            let inside = list.iter().enumerate();
            inside.for_each(|(i, value)| pointers(value, &format!("{at}/{i}"), all));
        }
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| pointers(value, &format!("{at}/{key}"), all));
        }
        _ => {}
    }
}

/// Changes every value in every way. Returns how many texts were refused, and how many values worked.
fn mutate<T>(value: &T, used: impl Fn(T)) -> (usize, usize)
where
    T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), value);
    let whole: Value = serde_json::from_str(&text).unwrap();
    let mut all = vec![];
    pointers(&whole, "", &mut all);
    let (mut refused, mut works) = (0, 0);
    for pointer in &all {
        let old = whole.pointer(pointer).unwrap().clone();
        let mut values = vec![
            json!(0),
            json!(1),
            json!(-1),
            json!(2),
            json!(3),
            json!(0.5),
            json!(1e308),
            json!(-1e308),
            json!(4_294_967_295_u64),
            json!(1_u64 << 61),
            json!(u64::MAX),
            json!(null),
            json!([]),
            json!({}),
            json!([old.clone()]),
        ];
        if let Value::Array(list) = &old {
            let mut longer = list.clone();
            longer.extend(list.last().cloned());
            values.push(json!(longer));
            values.push(json!(list[..list.len().saturating_sub(1)]));
            values.push(json!(list.iter().rev().collect::<Vec<_>>()));
        }
        for value in values {
            let mut changed = whole.clone();
            *changed.pointer_mut(pointer).unwrap() = value;
            match serde_json::from_value::<T>(changed) {
                Err(_) => refused += 1,
                Ok(value) => {
                    works += 1;
                    used(value);
                }
            }
        }
    }
    (refused, works)
}

fn model() -> FactorGraph {
    let mut model = FactorGraph::new(&[2, 3, 2]).unwrap();
    model.add(&[], &[0.5]).unwrap();
    model.add(&[VarId(2)], &[0.1, -0.4]).unwrap();
    model.add(&[VarId(1), VarId(0)], &[0.3, 0.0, -1.0, f64::NEG_INFINITY, 2.0, 0.7]).unwrap();
    model.add(&[VarId(1), VarId(2)], &[0.2, 0.1, -0.3, 0.4, 0.9, -0.6]).unwrap();
    model
}

fn infer(model: &FactorGraph, evidence: &Evidence) {
    if let Ok(tree) = JunctionTree::compile(model, &OrderingOptions::default()) {
        let _ = tree.calibrate(model, evidence, &mut tree.workspace()).map(|c| c.marginals());
    }
    let _ = model.condition(evidence);
    let _ = model.log_score(&[1, 1, 1]);
    let _ = (model.neighbours(), model.components());
}

#[test]
fn changed_models_and_tables_are_refused_or_work() {
    let (refused, works) = mutate(&model(), |model| {
        infer(&model, &Evidence::new());
        let _ = belief_propagation(&model, &BeliefPropagationSettings::default(), None, &mut ());
        let _ = max_product(&model, &BeliefPropagationSettings::default(), None, &mut ());
        let _ = mean_field(&model, &MeanFieldSettings::default(), None, &mut ());
    });
    assert!(refused > 400 && works > 100, "{refused} {works}");
    let table = model().factors()[2].clone();
    let (refused, works) = mutate(&table, |table: Table| {
        let _ = (table.values(), table.log_value(&[0, 0]), table.marginalize_sum(&[VarId(1)]));
        let _ = table.product(&table);
    });
    assert!(refused > 100 && works > 20, "{refused} {works}");
}

#[test]
fn changed_evidence_is_refused_or_works() {
    let evidence = Evidence::new().observe(VarId(0), 1).likelihood(VarId(2), vec![0.5, 0.25]);
    let model = model();
    let (refused, works) = mutate(&evidence, |evidence: Evidence| {
        infer(&model, &evidence);
        let found: Vec<VarId> = evidence.iter().map(|(v, _)| v).collect();
        assert!(found.is_sorted_by(|a, b| a < b), "{found:?}");
        assert!(found.iter().all(|&v| evidence.get(v).is_some()));
    });
    assert!(refused > 100 && works > 20, "{refused} {works}");
    // A variable twice has no meaning; another order has.
    let twice = r#"{"findings":[[1,{"State":0}],[1,{"State":1}]]}"#;
    let error = serde_json::from_str::<Evidence>(twice).unwrap_err().to_string();
    assert!(error.contains("variable 1"), "{error}");
    let back = r#"{"findings":[[2,{"State":0}],[0,{"State":1}]]}"#;
    let expected = Evidence::new().observe(VarId(0), 1).observe(VarId(2), 0);
    assert_eq!(serde_json::from_str::<Evidence>(back).unwrap(), expected);
}

#[test]
fn changed_binary_models_are_refused_or_work() {
    let edges = [(0, 1, 0.5), (1, 2, -0.4)];
    let binary = BinaryPairwise::new(&[0.1, -0.2, 0.3], &edges).unwrap();
    let (refused, works) = mutate(&binary, |model: BinaryPairwise| {
        let _ = Influence::bound(&model).spectral_radius();
        let _ = (model.factor_graph(), model.to_spins(), model.log_score(&[true, false, true]));
        let start = BinaryStart::Random;
        let _ = BinaryGibbs::new(&model, 70, start, Order::Cyclic, 0).map(|mut c| c.sweep(2));
    });
    assert!(refused > 200 && works > 20, "{refused} {works}");
    let (refused, works) = mutate(&Influence::bound(&binary), |influence: Influence| {
        let _ = (influence.to_dense(), influence.spectral_radius(), influence.nonzeros());
        influence.sweep(&mut vec![1.0; influence.variables()]);
        let _ = influence.sweeps_needed(0.1, 10);
    });
    assert!(refused > 150 && works > 10, "{refused} {works}");
}

#[test]
fn changed_marginals_are_refused_or_work() {
    let chain: ChainMarginals = ChainMarginals::smoothed(2, &[0, 1, 1], 0.5).unwrap();
    let (refused, works) = mutate(&chain, |marginals: ChainMarginals| {
        assert!(!marginals.entropy().is_nan());
        let _ = marginals.padded_nodes();
        for t in 0..marginals.length() {
            let _ = marginals.node(t);
        }
        assert!(marginals.kl(&marginals).abs() < 1e-12);
    });
    assert!(refused > 200 && works > 1, "{refused} {works}");
    let model = model();
    let tree = JunctionTree::compile(&model, &OrderingOptions::default()).unwrap();
    let mut workspace = tree.workspace();
    let calibrated = tree.calibrate(&model, &Evidence::new(), &mut workspace).unwrap();
    let whole = calibrated.clique_marginals();
    let (refused, works) = mutate(&whole, |marginals: CliqueMarginals| {
        let _ = (marginals.entropy(), marginals.kl(&whole), whole.kl(&marginals));
        let _ = marginals.convex_combination(0.5, &whole);
        let _ = marginals.line_derivatives(0.5, &whole);
    });
    assert!(refused > 50 && works > 100, "{refused} {works}");
}

/// Starts from a file: what is no law is refused, so that a bound stays a bound.
#[test]
fn changed_starts_are_refused_or_work() {
    let mut model = model();
    model.set(fenchel_graphical::FactorId(2), &[0.3, 0.0, -1.0, 1.0, 2.0, 0.7]).unwrap();
    let tree = JunctionTree::compile(&model, &OrderingOptions::default()).unwrap();
    let mut workspace = tree.workspace();
    let exact = tree.calibrate(&model, &Evidence::new(), &mut workspace).unwrap().log_partition();
    let settings = BeliefPropagationSettings::default();
    let beliefs = belief_propagation(&model, &settings, None, &mut ()).unwrap().state;
    let (refused, works) = mutate(&beliefs, |start: Beliefs| {
        let _ = (start.marginal(VarId(0)).is_ok(), start.log_partition());
        if let Ok(again) = belief_propagation(&model, &settings, Some(start), &mut ()) {
            assert!((again.state.log_partition() - exact).abs() < 1e-9);
        }
    });
    assert!(refused > 400 && works > 200, "{refused} {works}");
    let best = max_product(&model, &settings, None, &mut ()).unwrap().state;
    let (refused, works) = mutate(&best, |start: MaxBeliefs| {
        let again = max_product(&model, &settings, Some(start), &mut ());
        assert!(again.is_err() || again.unwrap().state.configuration() == best.configuration());
    });
    assert!(refused > 100 && works > 100, "{refused} {works}");
    let mut settings = MeanFieldSettings::default();
    let state = mean_field(&model, &settings, None, &mut ()).unwrap().state;
    settings.stop.max_passes = 0.0;
    let (refused, works) = mutate(&state, |start: MeanFieldState| {
        if let Ok(again) = mean_field(&model, &settings, Some(start), &mut ()) {
            assert!(again.state.log_partition() <= exact + 1e-12);
        }
    });
    assert!(refused > 100 && works > 20, "{refused} {works}");
}
