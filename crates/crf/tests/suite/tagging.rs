//! Models and taggers against enumeration of all labellings.

use fenchel_crf::{
    Corpus, CorpusBuilder, CrfModel, Dataset, Error, Instance, LabelScheme, Saved, Tagger, Token,
    Vocabulary, Weights,
};
use fenchel_optim::random::stream;
use ndarray::Array2;
use proptest::prelude::*;
use rand::RngExt;

const LABELS: [&str; 5] = ["O", "B-X", "I-X", "B-Y", "I-Y"];

/// A random model with six attributes.
fn random_model(seed: u64, density: f64) -> CrfModel {
    let mut rng = stream(seed, 0);
    let attributes: Vocabulary = (0..6).map(|a| format!("a{a}")).collect();
    let labels: Vocabulary = LABELS.into_iter().collect();
    let mut weights = Weights::zeros(6, 5);
    for w in weights.emission.iter_mut().chain(&mut weights.transition) {
        *w = if rng.random_bool(density) { rng.random_range(-2.0..2.0) } else { 0.0 };
    }
    CrfModel::new(attributes, labels, weights, None).unwrap()
}

/// A random sequence; attribute 6 is not known to the model.
fn random_instance(tokens: usize, seed: u64) -> Instance {
    let mut rng = stream(seed, 1);
    let mut instance = Instance::new();
    for _ in 0..tokens {
        instance.begin_token("");
        for _ in 0..rng.random_range(0..4) {
            instance.push(&format!("a{}", rng.random_range(0..7)), rng.random_range(-1.0..1.0));
        }
    }
    instance
}

/// All labellings with their scores, written out from the definition of the model.
fn enumerate(model: &CrfModel, instance: &Instance) -> Vec<(Vec<usize>, f64)> {
    let (tokens, weights) = (instance.len(), model.weights());
    let mut all = Vec::new();
    for code in 0..5usize.pow(tokens as u32) {
        let path: Vec<usize> = (0..tokens).map(|t| code / 5usize.pow(t as u32) % 5).collect();
        let mut score = weights.emission[[7, path[0]]] + weights.emission[[8, path[tokens - 1]]];
        for t in 0..tokens {
            score += weights.emission[[6, path[t]]];
            for (name, value) in instance.attributes(t) {
                if let Some(a) = model.attributes().get(name) {
                    score += value * weights.emission[[a as usize, path[t]]];
                }
            }
            if t > 0 {
                score += weights.transition[[path[t - 1], path[t]]];
            }
        }
        all.push((path, score));
    }
    all
}

fn names(path: &[usize]) -> Vec<&'static str> {
    path.iter().map(|&k| LABELS[k]).collect()
}

fn is_legal(path: &[usize]) -> bool {
    let opens = |k: usize| matches!(LABELS[k], "I-X" | "I-Y");
    let continues = |j: usize, k: usize| LABELS[j] != "O" && LABELS[j][1..] == LABELS[k][1..];
    !opens(path[0]) && path.windows(2).all(|p| !opens(p[1]) || continues(p[0], p[1]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn every_answer_agrees_with_enumeration(
        seed in 0u64..10_000,
        tokens in 1usize..5,
        // The sparse and the dense way to add up scores.
        density in prop_oneof![Just(0.2), Just(1.0)],
        bio in any::<bool>(),
    ) {
        let model = random_model(seed, density);
        let instance = random_instance(tokens, seed);
        let mut all = enumerate(&model, &instance);
        all.retain(|(path, _)| !bio || is_legal(path));
        let total: f64 = all.iter().map(|(_, score)| score.exp()).sum();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        let scheme = if bio { LabelScheme::Bio } else { LabelScheme::Any };
        let mut tagger = model.tagger().with_scheme(scheme);

        let best = tagger.tag(&instance).unwrap();
        let score_of = |labels: &[&str]| all.iter().find(|(path, _)| names(path) == labels).map(|found| found.1);
        prop_assert!((score_of(&best).unwrap() - all[0].1).abs() < 1e-12);

        let listed = tagger.k_best(&instance, 7).unwrap();
        prop_assert_eq!(listed.len(), all.len().min(7));
        for ((labels, probability), (_, score)) in listed.iter().zip(&all) {
            prop_assert!((probability - score.exp() / total).abs() < 1e-12);
            prop_assert!((tagger.probability(&instance, labels).unwrap() - probability).abs() < 1e-12);
        }

        let marginals = tagger.marginals(&instance).unwrap();
        for t in 0..tokens {
            for k in 0..5 {
                let mass: f64 = all.iter().filter(|(path, _)| path[t] == k).map(|(_, s)| s.exp()).sum();
                prop_assert!((marginals[[t, k]] - mass / total).abs() < 1e-12);
            }
        }

        for start in 0..tokens {
            for end in start + 1..=tokens {
                let is_span = |path: &[usize]| {
                    path[start] == 1
                        && path[start + 1..end].iter().all(|&k| k == 2)
                        && (end == tokens || path[end] != 2)
                };
                let mass: f64 = all.iter().filter(|(path, _)| is_span(path)).map(|(_, s)| s.exp()).sum();
                let found = tagger.span_probability(&instance, start, end, "X").unwrap();
                prop_assert!((found - mass / total).abs() < 1e-12, "{start}..{end}: {found}");
            }
        }

        let drawn = tagger.sample(&instance, &mut stream(seed, 2)).unwrap();
        prop_assert!(score_of(&drawn).is_some());
    }

    #[test]
    fn saved_and_loaded(seed in 0u64..1000) {
        let model = random_model(seed, 0.5);
        let mut file = Vec::new();
        model.save(&mut file).unwrap();
        prop_assert_eq!(CrfModel::load(&file[..]).unwrap(), model);
    }
}

#[test]
fn many_sequences_are_tagged_as_one_by_one() {
    let model = random_model(3, 0.3);
    let instances: Vec<Instance> = (0..300).map(|i| random_instance(1 + i % 9, i as u64)).collect();
    let all = model.tag_all(&instances).unwrap();
    for (instance, labels) in instances.iter().zip(&all) {
        assert_eq!(&model.tag(instance).unwrap(), labels);
    }
}

#[test]
fn errors_among_many_sequences_name_the_one() {
    let model = random_model(3, 0.3);
    let mut instances: Vec<Instance> = (0..40).map(|i| random_instance(3, i)).collect();
    instances[17].push("a1", f64::NAN);
    let error = model.tag_all(&instances).unwrap_err();
    assert!(matches!(error, Error::InSequence { sequence: 17, .. }), "{error:?}");
    let message = error.to_string();
    assert!(
        message.starts_with("sequence 17: ") && message.contains("is NaN at token 2"),
        "{message}"
    );
    instances[9] = Instance::new();
    assert_eq!(model.tag_all(&instances), Err(Error::EmptySequence { sequence: 9 }));
    // The scheme forbids every label that continues a chunk, and there is no other.
    let labels: Vocabulary = ["I-X", "I-Y"].into_iter().collect();
    let model = CrfModel::new(Vocabulary::new(), labels, Weights::zeros(0, 2), None).unwrap();
    let tagger = model.tagger().with_scheme(LabelScheme::Bio);
    let error = tagger.for_all(&instances[20..], Tagger::tag).unwrap_err();
    let Error::InSequence { sequence: 0, error } = error else { panic!("{error:?}") };
    assert!(matches!(*error, Error::Invalid(_)), "{error:?}");
}

/// Attribute 6 is beyond the model's.
#[test]
fn sequences_in_numbers_have_the_labels_of_those_in_words() {
    for (seed, density) in [(21, 0.15), (22, 0.5), (23, 1.0)] {
        let model = random_model(seed, density);
        let mut other = random_model(seed + 10, density);
        // The other model has tagged before it gets the weights.
        other.tag(&random_instance(3, 1)).unwrap();
        other.set_weights(model.weights().clone()).unwrap();
        let mut pruned = model.clone();
        pruned.prune(0.0).unwrap();
        let mut tagger = model.tagger();
        let mut data = Dataset::new(7, 5);
        for i in 0..40 {
            let instance = random_instance(1 + i % 5, i as u64);
            let words = model.tag(&instance).unwrap();
            assert_eq!(other.tag(&instance).unwrap(), words);
            assert_eq!(pruned.tag(&instance).unwrap(), words);
            let number = |name: &str| name[1..].parse().unwrap();
            let attributes: Vec<Vec<(u32, f64)>> = (0..instance.len())
                .map(|t| instance.attributes(t).map(|(name, v)| (number(name), v)).collect())
                .collect();
            let tokens: Vec<Token<'_>> =
                attributes.iter().map(|attributes| Token { attributes, label: 0 }).collect();
            data.push(&tokens).unwrap();
            let path = tagger.tag_sequence(&data.sequence(i)).unwrap();
            assert_eq!(names(path), words);
        }
    }
}

/// Arrays that lie in memory by columns are the same weights.
#[test]
fn the_layout_of_the_weights_does_not_matter() {
    let model = random_model(6, 1.0);
    let by_columns =
        |matrix: &Array2<f64>| matrix.t().as_standard_layout().into_owned().reversed_axes();
    let weights = Weights {
        emission: by_columns(&model.weights().emission),
        transition: by_columns(&model.weights().transition),
    };
    assert!(weights.emission.as_slice().is_none());
    let (attributes, labels) = (model.attributes().clone(), model.labels().clone());
    let same = CrfModel::new(attributes, labels, weights.clone(), None).unwrap();
    let mut again = random_model(7, 1.0);
    again.set_weights(weights).unwrap();
    for seed in 0..10 {
        let instance = random_instance(4, seed);
        let expected = model.tagger().marginals(&instance).unwrap();
        assert_eq!(same.tagger().marginals(&instance).unwrap(), expected);
        assert_eq!(again.tagger().marginals(&instance).unwrap(), expected);
    }
}

#[test]
fn pruning_keeps_what_is_large() {
    let mut model = random_model(4, 0.5);
    let before = model.clone();
    let large = before
        .weights()
        .emission
        .outer_iter()
        .take(6)
        .filter(|row| row.iter().any(|w| w.abs() > 1.5))
        .count();
    assert_eq!(model.prune(1.5).unwrap(), 6 - large);
    assert_eq!(model.attributes().len(), large);
    for (a, name) in model.attributes().iter().enumerate() {
        let old = before.attributes().get(name).unwrap() as usize;
        for k in 0..5 {
            let w = before.weights().emission[[old, k]];
            assert_eq!(model.weights().emission[[a, k]], if w.abs() > 1.5 { w } else { 0.0 });
        }
    }
    assert!(model.nonzero_weights() < before.nonzero_weights());
    assert!(model.prune(-1.0).is_err());
    assert!(before.prune_nothing_changes());
}

trait Unchanged {
    fn prune_nothing_changes(&self) -> bool;
}

impl Unchanged for CrfModel {
    /// A threshold of 0 drops attributes without weights, and no answer changes.
    fn prune_nothing_changes(&self) -> bool {
        let mut pruned = self.clone();
        pruned.prune(0.0).unwrap();
        (0..20).all(|seed| {
            let instance = random_instance(4, seed);
            let (mut a, mut b) = (self.tagger(), pruned.tagger());
            a.marginals(&instance)
                .unwrap()
                .iter()
                .zip(&b.marginals(&instance).unwrap())
                .all(|(a, b)| (a - b).abs() < 1e-14)
        })
    }
}

#[test]
fn the_largest_weights_come_first() {
    let model = random_model(5, 1.0);
    let top = model.largest_state_weights(10);
    assert_eq!(top.len(), 10);
    let mut sizes: Vec<f64> =
        model.weights().emission.outer_iter().take(6).flatten().map(|w| w.abs()).collect();
    sizes.sort_by(|a, b| b.total_cmp(a));
    for ((_, _, w), size) in top.iter().zip(&sizes) {
        assert_eq!(w.abs(), *size);
    }
    assert_eq!(model.largest_transition_weights(1000).len(), 25);
    assert!(model.largest_state_weights(0).is_empty());
}

#[test]
fn a_corpus_counts_and_cuts() {
    let mut builder = CorpusBuilder::new();
    let mut instance = Instance::new();
    for (label, attributes) in [("A", &["x", "rare"][..]), ("B", &["x", "y"]), ("A", &["y"])] {
        instance.begin_token(label);
        attributes.iter().for_each(|name| instance.push(name, 1.0));
    }
    builder.push(&instance).unwrap();
    let Corpus { data, attributes, labels, .. } = builder.clone().finish(2).unwrap();
    assert_eq!(attributes.iter().collect::<Vec<_>>(), ["x", "y"]);
    assert_eq!(labels.iter().collect::<Vec<_>>(), ["A", "B"]);
    assert_eq!((data.sequences(), data.tokens(), data.entries()), (1, 3, 4));
    let sequence = data.sequence(0);
    assert_eq!(sequence.labels(), [0, 1, 0]);
    assert_eq!(sequence.attributes(1).collect::<Vec<_>>(), [(0, 1.0), (1, 1.0)]);
    assert_eq!(builder.finish(0).unwrap().attributes.len(), 3);
}

#[test]
fn bad_input_is_named() {
    let mut builder = CorpusBuilder::new();
    let message = |builder: &mut CorpusBuilder, instance: &Instance| {
        builder.push(instance).unwrap_err().to_string()
    };
    assert_eq!(message(&mut builder, &Instance::new()), "sequence 0 has no tokens");
    let mut instance = Instance::new();
    instance.begin_token("A");
    instance.begin_token("");
    assert!(message(&mut builder, &instance).contains("token 1 of sequence 0 has none"));
    let mut instance = Instance::new();
    instance.begin_token("A");
    instance.push("x", f64::NAN);
    assert!(message(&mut builder, &instance).contains("\"x\" is NaN at token 0 of sequence 0"));
    let mut stray = Instance::new();
    stray.push_pair("word", "the");
    let before = "attributes: \"word=the\" was pushed before any token; begin_token comes first";
    assert_eq!(message(&mut builder, &stray), before);
    stray.begin_token("A");
    stray.push("x", 1.0);
    assert_eq!(message(&mut builder, &stray), before);
    assert_eq!(random_model(0, 1.0).tag(&stray).unwrap_err().to_string(), before);
    stray.clear();
    stray.begin_token("A");
    assert!(builder.clone().push(&stray).is_ok() && builder.is_empty());
    assert!(builder.clone().finish(0).unwrap_err().to_string().contains("corpus is empty"));
    let mut instance = Instance::new();
    instance.begin_token("A");
    builder.push(&instance).unwrap();
    assert!(builder.finish(0).unwrap_err().to_string().contains("two different labels"));

    let model = random_model(0, 1.0);
    let mut tagger = model.tagger();
    assert!(tagger.tag(&Instance::new()).is_err());
    let mut instance = random_instance(2, 0);
    assert!(tagger.probability(&instance, &["O"]).is_err());
    assert_eq!(tagger.probability(&instance, &["O", "unheard of"]).unwrap(), 0.0);
    assert!(tagger.span_probability(&instance, 1, 1, "X").is_err());
    assert!(tagger.span_probability(&instance, 0, 3, "X").is_err());
    assert_eq!(tagger.span_probability(&instance, 0, 1, "Z").unwrap(), 0.0);
    assert!(tagger.k_best(&instance, 0).is_err());
    instance.push("a0", f64::INFINITY);
    assert!(tagger.tag(&instance).unwrap_err().to_string().contains("inf"));
    assert!(
        CrfModel::new(Vocabulary::new(), Vocabulary::new(), Weights::zeros(1, 2), None).is_err()
    );
    let refused = |state: &str| {
        let model = format!(
            r#"{{"labels":["A"],"attributes":[],"state":{state},
            "transition":{{"counts":[0],"columns":[],"weights":[]}},"report":null}}"#
        );
        let file = fenchel_optim::model::envelope(CrfModel::KIND, CrfModel::VERSION, &model);
        CrfModel::load(file.as_bytes()).unwrap_err().to_string()
    };
    let outside = refused(r#"{"counts":[0,1,0],"columns":[1],"weights":[2.0]}"#);
    assert!(outside.contains("state weight at [1, 1], outside the model"), "{outside}");
    let short = refused(r#"{"counts":[0,2,0],"columns":[0],"weights":[2.0]}"#);
    assert!(short.contains("2 counted, 1 columns, 1 values"), "{short}");
    assert!(refused(r#"{"counts":[0],"columns":[],"weights":[]}"#).contains("1 rows; expected 3"));
}

#[test]
fn weights_follow_their_names() {
    let model = random_model(5, 1.0);
    let attributes: Vocabulary = ["new", "a4", "a1"].into_iter().collect();
    let labels: Vocabulary = ["I-X", "B-NEW", "O"].into_iter().collect();
    let moved = model.weights_for(&attributes, &labels);
    let old = model.weights();
    assert_eq!(moved.emission[[1, 0]], old.emission[[4, 2]]);
    assert_eq!(moved.emission[[2, 2]], old.emission[[1, 0]]);
    assert_eq!(moved.emission[[moved.end(), 2]], old.emission[[old.end(), 0]]);
    assert_eq!(moved.transition[[2, 0]], old.transition[[0, 2]]);
    assert!(moved.emission.row(0).iter().chain(&moved.transition.row(1)).all(|&w| w == 0.0));
    assert_eq!(&model.weights_for(model.attributes(), model.labels()), old);

    let mut other = random_model(6, 1.0);
    assert!(
        other.set_weights(moved).unwrap_err().to_string().contains("attributes of the weights")
    );
    other.set_weights(old.clone()).unwrap();
    assert_eq!(other, model);
}

#[test]
fn the_largest_weights_of_a_label() {
    let mut weights = Weights::zeros(3, 2);
    for (a, w) in [(0, -3.0), (1, 1.0), (2, 2.0)] {
        weights.emission[[a, 1]] = w;
    }
    weights.emission[[3, 1]] = 9.0; // the bias is no attribute
    let words: Vocabulary = ["x", "y", "z"].into_iter().collect();
    let model = CrfModel::new(words, ["A", "B"].into_iter().collect(), weights, None).unwrap();
    assert_eq!(model.largest_weights_of("B", 2).unwrap(), [("x", -3.0), ("z", 2.0)]);
    assert!(model.largest_weights_of("A", 2).unwrap().is_empty());
    assert_eq!(model.largest_weights_of("C", 2), None);
}

/// A model of labels A and B and one attribute, and a sequence of two tokens with a value.
fn two_labels(transition: f64, value: f64) -> (CrfModel, Instance) {
    let mut weights = Weights::zeros(1, 2);
    weights.emission[[0, 0]] = 1.0;
    weights.emission[[0, 1]] = 0.5;
    weights.transition[[0, 0]] = transition;
    let (attributes, labels) = (["a"].into_iter().collect(), ["A", "B"].into_iter().collect());
    let mut instance = Instance::new();
    for _ in 0..2 {
        instance.begin_token("");
        instance.push("a", value);
    }
    (CrfModel::new(attributes, labels, weights, None).unwrap(), instance)
}

#[test]
fn the_largest_values_have_certain_labels() {
    let (model, instance) = two_labels(0.0, f64::MAX);
    let mut tagger = model.tagger();
    let best: Vec<f64> = tagger.k_best(&instance, 4).unwrap().into_iter().map(|b| b.1).collect();
    assert_eq!(best, [1.0, 0.0, 0.0, 0.0]);
    assert_eq!(tagger.marginals(&instance).unwrap(), ndarray::array![[1.0, 0.0], [1.0, 0.0]]);
    assert_eq!(tagger.probability(&instance, &["A", "A"]).unwrap(), 1.0);
    assert_eq!(tagger.probability(&instance, &["B", "A"]).unwrap(), 0.0);
}

#[test]
fn weights_that_hide_all_probabilities_are_an_error() {
    let (model, instance) = two_labels(1e308, 1.0);
    let mut tagger = model.tagger();
    assert_eq!(tagger.tag(&instance).unwrap(), ["A", "A"]);
    let errors = [
        tagger.k_best(&instance, 2).unwrap_err(),
        tagger.marginals(&instance).unwrap_err(),
        tagger.probability(&instance, &["A", "A"]).unwrap_err(),
        tagger.sample(&instance, &mut stream(0, 0)).unwrap_err(),
    ];
    for error in errors {
        assert!(error.to_string().contains("rounding hides probabilities"), "{error}");
    }
}

#[test]
fn the_letters_of_bilou_decode_as_a_scheme() {
    let (labels, attributes) = (["B-X", "L-X", "U-X", "O"], ["a"].into_iter().collect());
    let mut weights = Weights::zeros(1, 4);
    weights.emission[[0, 0]] = 1.0;
    let labels: Vocabulary = labels.into_iter().collect();
    let model = CrfModel::new(attributes, labels, weights, None).unwrap();
    let mut instance = Instance::new();
    instance.begin_token("");
    instance.push("a", 1.0);
    instance.begin_token("");
    // B must be followed: of the labellings with it only B L is allowed.
    let mut tagger = model.tagger().with_scheme(LabelScheme::Iobes);
    assert_eq!(tagger.tag(&instance).unwrap(), ["B-X", "L-X"]);
    // Five are allowed: B L, and any two of U and O. Their weights are e, 1, 1, 1, 1.
    let span = tagger.span_probability(&instance, 0, 2, "X").unwrap();
    assert!((span - 1f64.exp() / (1f64.exp() + 4.0)).abs() < 1e-14, "{span}");
    let error = model.tagger().with_scheme(LabelScheme::Bio).tag(&instance).unwrap_err();
    assert!(error.to_string().contains("does not know the mark of \"L-X\""), "{error}");
}

/// What a user does first, and wrongly.
#[test]
fn misuse_is_answered_in_words() {
    use fenchel_crf::text::{Boundary, Template};
    use fenchel_crf::{Crf, Method, Stop};

    let template = Template::chunking(Boundary::Omit);
    let mut builder = CorpusBuilder::with_template(template.clone());
    builder.push_columns(&[["the", "DT"], ["dog", "NN"]], &["B-NP", "I-NP"]).unwrap();
    let error = CorpusBuilder::new().push_columns(&[["the", "DT"]], &["B-NP"]).unwrap_err();
    assert!(error.to_string().contains("CorpusBuilder::with_template"), "{error}");
    let corpus = builder.finish(1).unwrap();
    let model = Crf::default().fit(&corpus).unwrap();
    assert_eq!(model.template, Some(template));
    let stop = Stop { max_passes: f64::NAN, ..Stop::default() };
    for method in [Method::Auto, Method::Sdca, Method::Lbfgs] {
        let error = Crf { method, stop, ..Crf::default() }.fit(&corpus).unwrap_err().to_string();
        assert_eq!(error, "stop.max_passes = NaN; expected a number >= 0");
    }
    let mut odd = Instance::new();
    odd.begin_token("");
    odd.push("w[0]=the", f64::NAN);
    let error = model.tag(&odd).unwrap_err().to_string();
    assert_eq!(error, "attribute values: \"w[0]=the\" is NaN at token 0; expected a finite number");
    let mut bare = Instance::new();
    bare.begin_token("");
    let error = model.score(&[bare.clone()]).unwrap_err().to_string();
    assert_eq!(error, "labels: token 0 of sequence 0 has none");
    let error = model.tagger().span_probability(&bare, 1, 0, "NP").unwrap_err().to_string();
    assert!(
        error.starts_with("span: tokens 1..0 of 1; expected a start before the end"),
        "{error}"
    );

    let mut builder = CorpusBuilder::new();
    let mut inside = Instance::new();
    ["I-X", "I-Y"].iter().for_each(|label| inside.begin_token(label));
    builder.push(&inside).unwrap();
    let model = Crf::default().fit(&builder.finish(1).unwrap()).unwrap();
    let error = model.tagger().with_scheme(LabelScheme::Bio).tag(&bare).unwrap_err().to_string();
    assert_eq!(
        error,
        "labels: the scheme BIO allows \"I-X\" only with a label \"B-X\", which the model does not have"
    );
    // The weights of dual ascent are so large that their objective overflows, which was the error.
    for method in [Method::Auto, Method::Sdca, Method::Lbfgs] {
        match (Crf { l2: Some(1e-300), method, ..Crf::default() }.fit(&corpus)) {
            Ok(model) => {
                assert!(model.weights().emission.iter().all(|w| w.is_finite()), "{method:?}");
                // The corpus is separable: the optimum is 0 to rounding.
                let fenchel_optim::Certificate::Gap { objective, lower_bound, .. } =
                    model.report.unwrap().certificate
                else {
                    panic!("{method:?}")
                };
                assert!(
                    lower_bound <= 0.0 && objective.abs() <= 1e-13,
                    "{objective} {lower_bound}"
                );
            }
            Err(error) => {
                let error = error.to_string();
                assert!(error.starts_with("l2 = 1e-300; expected a larger penalty"), "{error}");
            }
        }
    }
    let chunks = |labels: &[&str]| {
        let (attributes, labels) = (["a"].into_iter().collect(), labels.iter().copied().collect());
        CrfModel::new(attributes, labels, Weights::zeros(1, 4), None).unwrap()
    };
    // Such a scheme erased all chunks.
    let model = chunks(&["B-PER", "I-PER", "B-LOC", "O"]);
    let mut tagger = model.tagger().with_scheme(LabelScheme::Iobes);
    for error in [tagger.tag(&bare).unwrap_err(), tagger.marginals(&bare).unwrap_err()] {
        assert!(error.to_string().contains("\"B-PER\" only with a label \"E-PER\""), "{error}");
    }
    assert!(model.tagger().with_scheme(LabelScheme::Bio).tag(&bare).is_ok());
    // A type that the model does not know, and a token that cannot be a chunk: no labelling has them.
    assert_eq!(model.tagger().span_probability(&bare, 0, 1, "PERSON").unwrap(), 0.0);
    assert!(model.tagger().span_probability(&bare, 0, 1, "PER").unwrap() > 0.0);
}
