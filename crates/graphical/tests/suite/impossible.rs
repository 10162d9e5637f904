//! Evidence of probability zero, in every call of inference: tables with many zeros against the sum over all configurations.

use fenchel_graphical::bp::{BeliefPropagationSettings, TreeReweightedSettings};
use fenchel_graphical::bp::{belief_propagation, max_product, tree_reweighted};
use fenchel_graphical::gibbs::Start;
use fenchel_graphical::gibbs::{Gibbs, GibbsSettings};
use fenchel_graphical::{
    BayesNet, Error, Evidence, FactorGraph, Finding, JunctionTree, OrderingOptions, VarId,
    variable_elimination,
};
use fenchel_optim::random::{Generator, stream};
use rand::RngExt;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const STATES: [&str; 3] = ["0", "1", "2"];

/// Six variables of two or three states, up to two parents each, two rows of three with a zero or more.
fn network(rng: &mut Generator) -> BayesNet {
    let cards: Vec<usize> = (0..6).map(|_| rng.random_range(2..4)).collect();
    let mut builder = BayesNet::builder();
    for v in 0..6 {
        builder = builder.variable(NAMES[v], &STATES[..cards[v]]);
    }
    for v in 0..6 {
        let parents: Vec<usize> = (0..v).filter(|_| rng.random_bool(0.4)).take(2).collect();
        let rows: usize = parents.iter().map(|&p| cards[p]).product();
        let mut table = Vec::new();
        for _ in 0..rows {
            let mut row: Vec<f64> = (0..cards[v]).map(|_| rng.random_range(0.1..1.0)).collect();
            if rng.random_bool(0.7) {
                let certain = rng.random_range(0..cards[v]);
                let zeros = rng.random_range(1..cards[v]);
                (1..=zeros).for_each(|k| row[(certain + k) % cards[v]] = 0.0);
            }
            let sum: f64 = row.iter().sum();
            table.extend(row.iter().map(|p| p / sum));
        }
        let parents: Vec<&str> = parents.iter().map(|&p| NAMES[p]).collect();
        builder = builder.cpt(NAMES[v], &parents, &table);
    }
    builder.build().unwrap()
}

fn evidence(net: &BayesNet, rng: &mut Generator) -> Evidence {
    let mut evidence = Evidence::new();
    for (v, &card) in net.variables().zip(net.cards()) {
        if rng.random_bool(0.4) {
            evidence.set(v, Finding::State(rng.random_range(0..card)));
        } else if rng.random_bool(0.2) {
            let value = |_| if rng.random_bool(0.5) { 0.0 } else { 0.5 };
            evidence.set(v, Finding::Likelihood((0..card).map(value).collect()));
        }
    }
    evidence
}

/// `P(x, e)` of every configuration.
fn joint(net: &BayesNet, evidence: &Evidence) -> Vec<(Vec<usize>, f64)> {
    let size: usize = net.cards().iter().product();
    let configuration = |mut number: usize| -> Vec<usize> {
        let digit = |&card: &usize| {
            let state = number % card;
            number /= card;
            state
        };
        net.cards().iter().map(digit).collect()
    };
    (0..size)
        .map(configuration)
        .map(|x| {
            let mut p = net.log_probability(&x).unwrap().exp();
            for (v, finding) in evidence.iter() {
                p *= match finding {
                    &Finding::State(state) => f64::from(u8::from(x[v.index()] == state)),
                    Finding::Likelihood(values) => values[x[v.index()]],
                };
            }
            (x, p)
        })
        .collect()
}

/// What every call says of the evidence: the error, or nothing.
fn refusals(net: &BayesNet, model: &FactorGraph, e: &Evidence) -> Vec<(String, Option<Error>)> {
    let options = OrderingOptions::default();
    let mut found = Vec::new();
    let mut note = |call: String, error: Option<Error>| found.push((call, error));
    let all: Vec<VarId> = net.variables().collect();
    note("posteriors".into(), net.posteriors(e).err());
    note("log_evidence".into(), net.log_evidence(e).err());
    note("most_probable".into(), net.most_probable(e).err());
    note("most_probable_k".into(), net.most_probable_k(3, e).err());
    for i in 0..=all.len() {
        // None, one, and a pair.
        let query: &[VarId] = if i == all.len() { &[] } else { &all[i..(i + 1 + i % 2).min(6)] };
        note(format!("posterior of {query:?}"), net.posterior(query, e).err());
        note(format!("marginal_map of {query:?}"), net.marginal_map(query, e).err());
        let alone = variable_elimination(model, query, e, &options);
        note(format!("variable_elimination of {query:?}"), alone.err());
        let names: Vec<&str> = query.iter().map(|&v| net.name_of(v)).collect();
        // A query by names has at least one, which it says first.
        if names.is_empty() {
            let error = net.query(&names, e).unwrap_err();
            assert!(error.to_string().contains("expected at least one"), "{error}");
        } else {
            note(format!("query of {query:?}"), net.query(&names, e).err());
        }
    }
    let tree = JunctionTree::compile(model, &options).unwrap();
    let mut workspace = tree.workspace();
    note("calibrate".into(), tree.calibrate(model, e, &mut workspace).err());
    note("calibrate_max".into(), tree.calibrate_max(model, e, &mut workspace).err());
    note("given".into(), tree.posteriors(model).unwrap().given(e).err());
    let settings = GibbsSettings { chains: 1, ..GibbsSettings::default() };
    note("Gibbs".into(), Gibbs::new(model, e, Start::Random, &settings).err());
    found
}

#[test]
fn every_call_agrees_about_what_is_possible() {
    let mut rng = stream(16, 0);
    let (mut possible, mut impossible) = (0, 0);
    for _ in 0..400 {
        let net = network(&mut rng);
        let e = evidence(&net, &mut rng);
        let model = net.factor_graph().unwrap();
        let joint = joint(&net, &e);
        let total: f64 = joint.iter().map(|(_, p)| p).sum();
        let expected = if total > 0.0 { None } else { Some(Error::ImpossibleEvidence) };
        for (call, error) in refusals(&net, &model, &e) {
            assert_eq!(error, expected, "{call}: P(e) = {total}, {e:?}");
        }
        let conditioned = model.condition(&e).unwrap();
        let settings = BeliefPropagationSettings::default();
        let bounds = TreeReweightedSettings::default();
        if total == 0.0 {
            impossible += 1;
            // Exact on trees; on others contradictions may be out of their sight, but nothing is made up.
            for log_z in [
                belief_propagation(&conditioned, &settings, None, &mut ())
                    .map(|found| found.state.log_partition()),
                tree_reweighted(&conditioned, &bounds, None, &mut ())
                    .map(|found| found.state.log_partition()),
            ] {
                assert!(!log_z.is_ok_and(f64::is_nan), "{e:?}");
            }
            continue;
        }
        possible += 1;
        assert!(max_product(&conditioned, &settings, None, &mut ()).is_ok());
        assert!((net.log_evidence(&e).unwrap() - total.ln()).abs() < 1e-9, "{e:?}");
        for (v, posterior) in net.variables().zip(net.posteriors(&e).unwrap()) {
            let alone = net.posterior(&[v], &e).unwrap().values();
            for (state, p) in posterior.iter().enumerate() {
                let of = joint.iter().filter(|(x, _)| x[v.index()] == state);
                let exact = of.map(|(_, p)| p).sum::<f64>() / total;
                assert!((p - exact).abs() < 1e-12 && (alone[state] - exact).abs() < 1e-12);
            }
        }
        let best = joint.iter().map(|(_, p)| *p).fold(0.0, f64::max);
        assert!((net.most_probable(&e).unwrap().log_joint - best.ln()).abs() < 1e-9);
    }
    assert!(possible > 100 && impossible > 100, "{possible} {impossible}");
}
