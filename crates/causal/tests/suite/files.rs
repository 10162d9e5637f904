//! Files in which one value was changed: they are refused, or what was read works without a panic.

use fenchel_causal::categorical::{CategoricalPair, JointCategorical};
use fenchel_causal::effect::{EffectEstimator, EffectModel};
use fenchel_causal::normal::{CholeskyPair, MeanPair};
use fenchel_causal::scm::{DiscreteScm, LinearGaussianScm};
use fenchel_causal::{
    Admg, Error, Estimand, Hedge, LatentModel, NodeSet, ProbabilityTable, identify,
};
use ndarray::{Array2, array};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json, to_value};

use crate::common::rng;
use mutants::load;

#[path = "../../../optim/tests/mutants/mod.rs"]
mod mutants;

/// Reads every mutant, and uses what is read.
fn try_all<T: Serialize + DeserializeOwned>(model: &T, used: impl Fn(&T)) -> (usize, usize) {
    let read = |value: &Value| from_value::<T>(value.clone());
    let (refused, works) = mutants::try_all(model, read, used);
    assert!(refused > 30, "{refused} {works}");
    (refused, works)
}

#[test]
fn changed_models_are_refused_or_work() {
    let mut rng = rng(1);
    let pair = CategoricalPair::from_logits(
        array![0.0, 1.0].view(),
        array![[0.5, 0.0, 2.0], [1.0, 0.0, -1.0]].view(),
    )
    .unwrap();
    let use_pair = |p: &CategoricalPair| {
        let numbers = p.reverse().marginal().iter().chain(&p.log_joint()).all(|s| s.is_finite());
        assert!(numbers && p.kl(&p.reverse()).unwrap() >= 0.0);
        let _ = (p.kl(&pair), p.sample(2, &mut crate::common::rng(2)));
    };
    try_all(&pair, use_pair);
    let mut turned = to_value(&pair).unwrap();
    *turned.pointer_mut("/direction").unwrap() = json!("Anticausal");
    if let Ok(turned) = from_value(turned) {
        use_pair(&turned);
    }
    try_all(&JointCategorical::of(&pair), |joint| {
        use_pair(&joint.factorise().unwrap());
        let _ = joint.kl(&JointCategorical::of(&pair));
    });
    let normal = MeanPair {
        mean: array![1.0, 0.0],
        covariance: array![[2.0, 0.5], [0.5, 1.0]],
        slope: array![[0.5, 1.0]],
        intercept: array![0.3],
        covariance_given: array![[1.0]],
    };
    let normal = normal.to_cholesky().unwrap();
    try_all(&normal, |pair: &CholeskyPair| {
        let _ = (pair.reverse(), pair.to_mean(), pair.to_natural(), pair.kl(&normal));
        let _ = (pair.distance_sq(&normal), pair.sample(1, &mut crate::common::rng(2)));
    });
    let g = Admg::parse("Z -> X -> Y; Z <-> Y").unwrap();
    try_all(&g, |g| {
        let _ = (g.to_string(), g.districts(), g.query("P(Y | do(X))").map(|q| identify(g, q)));
    });
    let hidden = LatentModel::random(&g, &[2, 3, 2], &mut rng).unwrap();
    try_all(&hidden, |model| {
        let _ = (model.observed(), model.intervened(NodeSet::one(1)));
    });
    let law = hidden.observed().unwrap();
    try_all(&law, |table: &ProbabilityTable| {
        let _ = (table.marginal(NodeSet::one(1)), table.at(&[(0, 0), (1, 1), (2, 0)]));
    });
    let effect = identify(&g, g.query("P(Y | do(X))").unwrap()).unwrap();
    try_all(&effect, |effect: &Estimand| {
        let _ = (effect.to_string(), effect.evaluate(&law), effect.evaluate_everywhere(&law));
    });
    let bow = Admg::parse("X -> Y; X <-> Y").unwrap();
    let Err(Error::NotIdentifiable(hedge)) = identify(&bow, bow.query("P(Y | do(X))").unwrap())
    else {
        panic!("a bow is not identified");
    };
    try_all(&*hedge, |hedge: &Hedge| {
        let _ = (hedge.to_string(), hedge.witness());
    });
    let dag = Admg::parse("X -> Y").unwrap();
    let functions = vec![vec![0, 1], vec![0, 1, 1, 0]];
    let scm =
        DiscreteScm::new(dag.clone(), vec![2, 2], vec![vec![0.5, 0.5]; 2], functions).unwrap();
    try_all(&scm, |scm| {
        let _ = (scm.counterfactual(&[(1, 1)], &[(0, 0)], 1), scm.run(&[0, 1], &[(0, 1)]));
        let _ = scm.sample_noise(&mut crate::common::rng(2));
    });
    let linear = LinearGaussianScm::new(dag, &[(0, 1, 2.0)], vec![0.0; 2], vec![1.0; 2]).unwrap();
    try_all(&linear, |scm| {
        let _ = (scm.law(&[(0, 1.0)]), scm.counterfactual(&[(1, 1.0)], &[(0, 0.0)]));
        let _ = scm.sample(1, &[], &mut crate::common::rng(2));
    });
}

#[test]
fn changed_effects_are_refused_or_make_sense() {
    let x = Array2::from_shape_fn((12, 1), |(i, _)| (i % 3) as f64);
    let treated: Vec<bool> = (0..12).map(|i| i % 4 < 2).collect();
    let y: Vec<f64> = (0..12).map(|i| (i * i % 7) as f64).collect();
    let estimator = EffectEstimator { bootstrap: 20, ..EffectEstimator::default() };
    let model = estimator.fit(x.view(), &treated, &y).unwrap();
    let whole = to_value(&model).unwrap();
    assert_eq!(load::<EffectModel>(&whole).unwrap(), model);
    let (refused, works) = mutants::try_all(&model, load, |read: &EffectModel| {
        assert_eq!(read.effect, read.mean_treated - read.mean_control);
        assert!(read.interval.is_none_or(|(low, high)| low <= high));
    });
    assert!(refused > 300 && works > 30, "{refused} {works}");
    for (pointer, value, word) in [
        ("/effect", json!(7.5), "effect"),
        ("/mean_treated", json!(1e300), "effect"),
        ("/standard_error", json!(-1), "standard_error"),
        ("/interval", json!([255, 3.9]), "interval"),
        ("/interval", json!(null), "interval"),
        ("/overlap/effective_treated", json!(-1), "effective_treated"),
        ("/overlap/effective_control", json!(13), "effective_control"),
        ("/overlap/treated", json!([0.7, 0.2]), "treated"),
        ("/propensity/data/3", json!(1.5), "propensity"),
    ] {
        let mut mutant = whole.clone();
        *mutant.pointer_mut(pointer).unwrap() = value;
        let error = load::<EffectModel>(&mutant).unwrap_err();
        assert!(error.contains(word), "{pointer}: {error}");
    }
}
