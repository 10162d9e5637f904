//! Files of models and checkpoints in which one value was changed, with the checksum of the changed text: they are refused,
//! or what was read works without a panic and without a NaN.

use fenchel_crf::text::Template;
use fenchel_crf::training::{Checkpoint, Snapshot, train};
use fenchel_crf::{
    CorpusBuilder, Crf, CrfModel, GraphCrf, GraphInstance, GraphModel, Instance, Tagger,
};
use fenchel_optim::Progress;
use serde_json::{json, to_value};

use crate::common::graphs::random_graphs;
use mutants::{load, try_all};

#[path = "../../../optim/tests/mutants/mod.rs"]
mod mutants;

fn sentence(words: &[&str], labels: &[&str]) -> Instance {
    let mut instance = Instance::new();
    for (word, label) in words.iter().zip(labels) {
        instance.begin_token(label);
        instance.push(word, 1.5);
        instance.push("every", 1.0);
    }
    instance
}

fn used(model: &CrfModel) {
    let mut tagger: Tagger<'_> = model.tagger();
    let instance = sentence(&["a", "b", "c"], &["X", "Y", "X"]);
    let _ = tagger.tag(&instance);
    if let Ok(marginals) = tagger.marginals(&instance) {
        for row in marginals.rows() {
            assert!((row.sum() - 1.0).abs() < 1e-6, "{row}");
        }
    }
    if let Ok(best) = tagger.k_best(&instance, 3) {
        assert!(best.iter().all(|(_, p)| (0.0..=1.0 + 1e-6).contains(p)), "{best:?}");
    }
    if let Ok(p) = tagger.probability(&instance, &["X", "Y", "X"]) {
        assert!((0.0..=1.0 + 1e-6).contains(&p), "{p}");
    }
    let _ = (model.largest_state_weights(3), model.largest_transition_weights(3));
    let _ = (model.nonzero_weights(), model.score(&[instance]), model.clone().prune(0.1));
    let _ = model.weights_for(model.attributes(), model.labels());
}

fn trained() -> (fenchel_crf::Corpus, CrfModel) {
    let mut builder = CorpusBuilder::new();
    for (words, labels) in [(["a", "b", "c"], ["X", "Y", "X"]), (["b", "b", "a"], ["Y", "Y", "X"])]
    {
        builder.push(&sentence(&words, &labels)).unwrap();
    }
    let corpus = builder.finish(1).unwrap();
    let mut model = Crf::default().fit(&corpus).unwrap();
    model.template = Some(Template::parse("U0:%x[0,0]\nB\n".as_bytes()).unwrap());
    (corpus, model)
}

#[test]
fn changed_models_are_refused_or_work() {
    let (_, model) = trained();
    let (refused, works) = try_all(&model, load, used);
    assert!(refused > 200 && works > 30, "{refused} {works}");
}

/// A weight beyond all probabilities: an error, not a NaN.
#[test]
fn weights_of_1e308_have_no_probabilities() {
    let (_, model) = trained();
    for pointer in ["/transition/weights/0", "/state/weights/0"] {
        let mut changed = to_value(&model).unwrap();
        *changed.pointer_mut(pointer).unwrap() = json!(1e308);
        let read: CrfModel = load(&changed).unwrap();
        used(&read);
        let instance = sentence(&["a", "b", "c"], &["X", "Y", "X"]);
        assert!(read.tag(&instance).is_ok());
        if pointer.starts_with("/transition") {
            let error = read.tagger().marginals(&instance).unwrap_err().to_string();
            assert!(error.contains("expected at most 1e9"), "{error}");
        }
    }
}

#[test]
fn changed_models_of_graphs_are_refused_or_work() {
    let graphs = random_graphs(3, 2, true, 0.1, 11);
    let data = graphs.data();
    let model = GraphCrf::default().fit(&data).unwrap();
    let graph: GraphInstance = graphs.instance(0);
    let truth = &graphs.graphs[0].truth;
    let (refused, works) = try_all(&model, load, |model: &GraphModel| {
        let _ = (model.predict(&graph), model.score(&data), model.weights_of(0));
        if let Ok(marginals) = model.marginals(&graph) {
            for row in marginals {
                assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{row:?}");
            }
        }
        if let Ok(p) = model.log_probability(&graph, truth) {
            assert!(p <= 1e-6, "{p}");
        }
    });
    assert!(refused > 200 && works > 10, "{refused} {works}");
}

/// Every byte of a checkpoint in turn, with a checksum that fits.
#[test]
fn changed_checkpoints_are_refused_or_work() {
    let (corpus, _) = trained();
    let mut bytes = Vec::new();
    let mut save = |_: &Progress, at: &Snapshot<'_>| {
        bytes.clear();
        at.save_checkpoint(&mut bytes).unwrap();
        std::ops::ControlFlow::Continue(())
    };
    train(&Crf::default(), &corpus, None, &mut save).unwrap();
    assert!(Checkpoint::load(&bytes[..]).is_ok());
    let body = bytes.len() - 4;
    let (mut refused, mut works) = (0, 0);
    for i in 0..body {
        for value in [0, 1, 0x7F, 0xFF, bytes[i] ^ 1, bytes[i] ^ 0x80] {
            let mut changed = bytes[..body].to_vec();
            changed[i] = value;
            let sum = crc32fast::hash(&changed).to_le_bytes();
            changed.extend(sum);
            match Checkpoint::load(&changed[..]) {
                Err(_) => refused += 1,
                Ok(read) => {
                    works += 1;
                    if works % 16 == 0 {
                        used(&read.model);
                        let crf =
                            Crf { stop: fenchel_crf::Stop::after_passes(2.0), ..Crf::default() };
                        if let Ok(model) = train(&crf, &corpus, Some(read.into()), &mut ()) {
                            used(&model);
                        }
                    }
                }
            }
        }
    }
    assert!(refused > 1000, "{refused} {works}");
}
