//! The estimator: methods that agree, warm starts, early ends, penalties.

use std::ops::ControlFlow;

use fenchel_crf::methods::{Sdca, SdcaSettings, sdca};
use fenchel_crf::synthetic::{OcrLike, TextLike, ocr_like, text_like};
use fenchel_crf::training::{Checkpoint, Snapshot, train};
use fenchel_crf::{
    Corpus, CorpusBuilder, Crf, Dataset, Features, Fit, Instance, Method, Observer, Problem,
    Progress, Status, Stop, Support, Token, Weights,
};
use fenchel_optim::Cadence;
use fenchel_optim::random::stream;
use rand::RngExt;

/// Sequences whose label follows the first attribute, with noise.
pub(crate) fn corpus(sequences: usize) -> Corpus {
    let mut builder = CorpusBuilder::new();
    instances(sequences, 11).iter().for_each(|instance| builder.push(instance).unwrap());
    builder.finish(1).unwrap()
}

pub(crate) fn instances(sequences: usize, seed: u64) -> Vec<Instance> {
    let mut rng = stream(seed, 0);
    let mut one = || {
        let mut instance = Instance::new();
        for _ in 0..rng.random_range(1..6) {
            let kind = rng.random_range(0..3);
            let label = if rng.random_bool(0.8) { kind } else { rng.random_range(0..3) };
            instance.begin_token(["X", "Y", "Z"][label]);
            instance.push_pair("kind", &kind.to_string());
            instance.push_pair("noise", &rng.random_range(0..20).to_string());
        }
        instance
    };
    (0..sequences).map(|_| one()).collect()
}

fn accurate(method: Method) -> Crf {
    Crf { method, stop: Stop::at_relative(1e-6), ..Crf::default() }
}

#[test]
fn two_methods_find_one_model() {
    let corpus = corpus(60);
    for states in [Support::All, Support::Observed] {
        let features = Features { states, transitions: states, ..Features::default() };
        let fit = |method| Crf { features, ..accurate(method) }.fit(&corpus).unwrap();
        let (dual, batch) = (fit(Method::Sdca), fit(Method::Lbfgs));
        let problem = Problem::new(&corpus.data, 1.0 / 60.0, features).unwrap();
        for model in [&dual, &batch] {
            assert_eq!(model.report.unwrap().status, Status::Converged);
        }
        let values = [&dual, &batch].map(|model| problem.objective(model.weights()).unwrap());
        assert!((values[0] - values[1]).abs() <= 2e-6 * values[0], "{values:?}");
    }
}

/// Text whose attributes nearly determine the labels.
fn text() -> Corpus {
    let settings =
        TextLike { sequences: 80, words: 200, templates: 3, labels: 4, ..TextLike::default() };
    named(text_like(&settings).unwrap())
}

/// A corpus whose words are numbers.
fn named(data: Dataset) -> Corpus {
    let names = |count: usize| (0..count).map(|k| k.to_string()).collect();
    let (attributes, labels) = (names(data.attributes()), names(data.labels()));
    Corpus { attributes, labels, data, template: None }
}

/// Images so noisy that no weights tell the labels apart.
fn handwriting() -> Corpus {
    let settings =
        OcrLike { sequences: 100, labels: 5, pixels: 50, flips: 0.35, ..OcrLike::default() };
    named(ocr_like(&settings).unwrap())
}

/// Dense attributes under weak penalties: the marginals that dual ascent ends with have weights that are worse than none, and a
/// short memory of L-BFGS takes ten times as many passes as a long one.
#[test]
fn weak_penalties_take_hundreds_of_passes_not_thousands() {
    let corpus = handwriting();
    let n = corpus.data.sequences() as f64;
    for method in [Method::Auto, Method::Lbfgs] {
        for c2 in [1e-5, 1e-4] {
            let crf = Crf { l2: Some(2.0 * c2 / n), method, ..Crf::default() };
            let report = crf.fit(&corpus).unwrap().report.unwrap();
            assert_eq!(report.status, Status::Converged, "c2 = {c2}: {report}");
            assert!(report.passes <= 700.0, "c2 = {c2}: {report}");
        }
    }
}

/// Rounding of pairs in single precision is divided by `n l2`: weak penalties need double precision.
#[test]
fn training_converges_for_every_penalty_of_a_grid() {
    for corpus in [text(), corpus(60), handwriting()] {
        let n = corpus.data.sequences() as f64;
        for c2 in [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0] {
            let l2 = 2.0 * c2 / n;
            let crf = Crf { l2: Some(l2), ..Crf::default() };
            let report = crf.fit(&corpus).unwrap().report.unwrap();
            assert_eq!(report.status, Status::Converged, "c2 = {c2}: {report}");
            assert!(report.certificate.relative() <= 1e-4, "c2 = {c2}: {report}");
        }
    }
}

/// The primal objective of dual ascent rises and falls; what is returned is the lowest that was certified.
#[test]
fn what_is_returned_is_the_best_that_was_seen() {
    let data = text().data;
    let problem = Problem::new(&data, 1e-3 / data.sequences() as f64, Features::default()).unwrap();
    let mut rose = false;
    for max_passes in 1..25 {
        let stop = Stop {
            max_passes: f64::from(max_passes),
            relative: 0.0,
            check: Cadence::Every(1.0),
            ..Stop::default()
        };
        let settings = SdcaSettings { stop, ..SdcaSettings::default() };
        let mut seen = Vec::new();
        let mut record = |progress: &Progress, _: &Sdca<'_, '_, f32>| {
            seen.push(progress.certificate.objective().unwrap());
            ControlFlow::Continue(())
        };
        let found = sdca(&problem, &settings, None, &mut record).unwrap();
        let lowest = seen.iter().copied().fold(f64::INFINITY, f64::min);
        rose |= *seen.last().unwrap() > lowest;
        let objective = found.report.certificate.objective().unwrap();
        assert!(objective <= lowest * (1.0 + 1e-12), "{max_passes}: {objective} {lowest}");
        let recomputed = problem.objective(&found.state.weights).unwrap();
        assert!((recomputed - objective).abs() <= 1e-9 * objective, "{recomputed} {objective}");
    }
    assert!(rose, "no run ended above its best point: the test shows nothing");
}

#[test]
fn an_l1_penalty_leaves_weights_out() {
    let corpus = corpus(80);
    let fit = |l1: f64, method| Crf { l1, ..accurate(method) }.fit(&corpus).unwrap();
    let (dense, sparse) = (fit(0.0, Method::Auto), fit(0.02, Method::Sdca));
    for method in [Method::Auto, Method::Lbfgs] {
        // Both are within their gap of the optimum, and the objective is strongly convex with constant l2.
        let (a, b) = (fit(0.02, method), &sparse);
        let radius = |model: &fenchel_crf::CrfModel| {
            (160.0_f64 * model.report.unwrap().certificate.value()).sqrt()
        };
        let apart = a.weights().emission.clone() - &b.weights().emission;
        assert!(apart.mapv(|d| d * d).sum().sqrt() <= radius(&a) + radius(b), "{method:?}");
    }
    assert!(sparse.nonzero_weights() * 2 < dense.nonzero_weights());
    // Optimality written out: |gradient| <= l1 where a weight is 0, = l1 with the opposite sign elsewhere.
    let problem = Problem::new(&corpus.data, 1.0 / 80.0, Features::default()).unwrap();
    let base = sparse.weights().clone();
    let step = 1e-5;
    for (place, &w) in sparse.weights().emission.indexed_iter() {
        let value = |shift: f64| {
            let mut moved = base.clone();
            moved.emission[place] += shift;
            problem.objective(&moved).unwrap()
        };
        let slope = (value(step) - value(-step)) / (2.0 * step);
        if w == 0.0 {
            assert!(slope.abs() <= 0.02 + 1e-4, "{place:?}: {slope}");
        } else {
            assert!((slope + 0.02 * w.signum()).abs() < 1e-3, "{place:?}: {slope} at {w}");
        }
    }
    // A warm start counts until the method is better, by the objective with the l1 norm.
    let none = Crf { stop: Stop::after_passes(0.0), l1: 0.02, ..accurate(Method::Sdca) };
    let kept = none.fit_with(&corpus, Fit::new().start(&sparse)).unwrap();
    assert_eq!(kept.weights(), sparse.weights());
    let objective = problem.objective(&base).unwrap() + 0.02 * base.l1_norm();
    let found = kept.report.unwrap().certificate.objective().unwrap();
    assert!((found - objective).abs() < 1e-12, "{found} {objective}");
}

#[test]
fn a_warm_start_is_quicker_and_a_watcher_can_end() {
    let corpus = corpus(60);
    for method in [Method::Sdca, Method::Lbfgs] {
        let model = accurate(method).fit(&corpus).unwrap();
        let warm = accurate(method).fit_with(&corpus, Fit::new().start(&model)).unwrap();
        assert!(warm.report.unwrap().passes < model.report.unwrap().passes);
        let mut seen = Vec::new();
        let mut watch = |progress: &Progress, at: &Snapshot<'_>| {
            seen.push((progress.certificate.objective().unwrap(), at.weights()));
            if seen.len() < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        let ended = train(&accurate(method), &corpus, None, &mut watch).unwrap();
        assert_eq!(ended.report.unwrap().status, Status::Stopped);
        assert_eq!(seen.len(), 3);
        let best = seen.iter().min_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
        assert_eq!(ended.weights(), &best.1, "the model is the best that was seen");
    }
}

/// Whenever it is cut short: at its first look SDCA is far from the weights that it was given.
#[test]
fn a_training_from_given_weights_never_makes_them_worse() {
    let corpus = corpus(60);
    let l2 = 1.0 / 60.0;
    let problem = Problem::new(&corpus.data, l2, Features::default()).unwrap();
    let rough = Crf { stop: Stop::at_relative(1e-2), ..Crf::default() };
    let start = rough.fit(&corpus).unwrap().weights().clone();
    let before = problem.objective(&start).unwrap();
    let mut least = f64::INFINITY;
    for method in [Method::Sdca, Method::Lbfgs] {
        for looks in 1..6 {
            let mut seen = 0;
            let mut watch = |_: &Progress, _: &Snapshot<'_>| {
                seen += 1;
                if seen < looks { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            let given = Some(start.clone().into());
            let model = train(&accurate(method), &corpus, given, &mut watch).unwrap();
            let (after, report) =
                (problem.objective(model.weights()).unwrap(), model.report.unwrap());
            assert!(after <= before + 1e-12, "{method:?} {looks}: {after} {before}");
            assert!((report.certificate.objective().unwrap() - after).abs() < 1e-12);
            // What is proved is true.
            least = least.min(after);
            assert!(after - report.certificate.value() <= least + 1e-12);
        }
    }
}

/// What is shown of a start is the start, however far the weights of its marginals are; one that is good enough is kept.
#[test]
fn a_start_counts_until_the_training_is_better() {
    let corpus = corpus(60);
    let problem = Problem::new(&corpus.data, 1.0 / 60.0, Features::default()).unwrap();
    let start = accurate(Method::Sdca).fit(&corpus).unwrap().weights().clone();
    let before = problem.objective(&start).unwrap();
    let mut first = None;
    let rough = Crf { method: Method::Sdca, stop: Stop::at_relative(1e-2), ..Crf::default() };
    let mut watch = |progress: &Progress, at: &Snapshot<'_>| {
        first.get_or_insert((progress.certificate.objective().unwrap(), at.weights()));
        ControlFlow::Continue(())
    };
    let kept = train(&rough, &corpus, Some(start.clone().into()), &mut watch).unwrap();
    let (shown, weights) = first.unwrap();
    assert!((shown - before).abs() < 1e-12, "{shown} {before}");
    let report = kept.report.unwrap();
    assert_eq!((report.status, report.passes), (Status::Converged, 0.0), "{report}");
    assert_eq!((&weights, kept.weights()), (&start, &start));
    // Its certificate is the norm of its gradient: norm(grad P)^2 / (2 l2), by differences of values.
    let mut square = 0.0;
    for place in 0..start.emission.len() + start.transition.len() {
        let value = |step: f64| {
            let mut moved = start.clone();
            *moved.emission.iter_mut().chain(&mut moved.transition).nth(place).unwrap() += step;
            problem.objective(&moved).unwrap()
        };
        square += ((value(1e-4) - value(-1e-4)) / 2e-4).powi(2);
    }
    let expected = 30.0 * square;
    let found = report.certificate.value();
    // Single precision steps back by 2.4e-7 (1 + log K) a token.
    assert!(found >= expected - 1e-7 && found <= expected + 1e-5, "{found} {expected}");
}

/// What a checkpoint would hold, between the checks too: a training that is killed twice loses nothing that it had.
#[test]
fn between_checks_a_start_counts_as_well() {
    struct Between<'p> {
        problem: &'p Problem<'p>,
        behind: bool,
        before: f64,
        seen: usize,
    }
    impl Observer<Snapshot<'_>> for Between<'_> {
        fn polls(&self) -> bool {
            true
        }

        fn observe(&mut self, progress: &Progress, _: &Snapshot<'_>) -> ControlFlow<()> {
            self.behind &= progress.certificate.objective().unwrap() >= self.before;
            ControlFlow::Continue(())
        }

        fn poll(&mut self, _: &Progress, at: &Snapshot<'_>) -> ControlFlow<()> {
            let now = self.problem.objective(&at.weights()).unwrap();
            if self.behind {
                assert!(now <= self.before, "{now} {}", self.before);
                self.seen += 1;
            }
            ControlFlow::Continue(())
        }
    }
    let corpus = handwriting();
    let l2 = 2e-5 / corpus.data.sequences() as f64;
    let problem = Problem::new(&corpus.data, l2, Features::default()).unwrap();
    let batch = Crf { l2: Some(l2), method: Method::Lbfgs, ..Crf::default() };
    let start: Weights = batch.fit(&corpus).unwrap().weights().clone();
    let before = problem.objective(&start).unwrap();
    let stop = Stop { max_passes: 8.0, check: Cadence::Every(4.0), ..Stop::at_relative(1e-9) };
    let dual = Crf { method: Method::Sdca, stop, ..batch };
    let mut watch = Between { problem: &problem, behind: true, before, seen: 0 };
    train(&dual, &corpus, Some(start.into()), &mut watch).unwrap();
    assert!(watch.seen >= 3, "{} looks between the checks", watch.seen);
}

/// The closure of `fit_with` is called after every pass too, and weights of sequences are refused with what to do instead.
#[test]
fn a_fit_is_watched_at_every_pass() {
    let corpus = corpus(60);
    let stop = Stop { max_passes: 6.0, check: Cadence::Every(3.0), ..Stop::at_relative(1e-12) };
    for method in [Method::Sdca, Method::Lbfgs] {
        let mut passes = vec![];
        let mut watch = |progress: &Progress| {
            passes.push(progress.passes);
            ControlFlow::Continue(())
        };
        let crf = Crf { method, stop, ..Crf::default() };
        crf.fit_with(&corpus, Fit::new().watch(&mut watch)).unwrap();
        assert!(passes.len() >= 5 && passes.windows(2).all(|w| w[0] <= w[1]), "{passes:?}");
    }
    let weights = [1.0; 60];
    let error = Crf::default().fit_with(&corpus, Fit::new().weights(&weights)).unwrap_err();
    assert!(error.to_string().contains("counts as often as it is in the corpus"), "{error}");
}

/// A checkpoint of L-BFGS has no dual variables: the method that chooses goes on with L-BFGS.
#[test]
fn a_checkpoint_without_dual_variables_goes_on_with_lbfgs() {
    let corpus = handwriting();
    let l2 = Some(2e-5 / corpus.data.sequences() as f64);
    let batch = Crf { l2, method: Method::Lbfgs, ..Crf::default() };
    let mut file = Vec::new();
    let mut keep = |progress: &Progress, at: &Snapshot<'_>| {
        file.clear();
        at.save_checkpoint(&mut file).unwrap();
        if progress.passes < 20.0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    train(&batch, &corpus, None, &mut keep).unwrap();
    let at = Checkpoint::load(&file[..]).unwrap();
    assert_eq!(at.duals, None);
    let expected = train(&batch, &corpus, Some(at.clone().into()), &mut ()).unwrap();
    let found =
        train(&Crf { method: Method::Auto, ..batch }, &corpus, Some(at.into()), &mut ()).unwrap();
    assert_eq!(found.weights(), expected.weights());
    assert_eq!(found.report.unwrap().passes, expected.report.unwrap().passes);
}

#[test]
fn the_score_is_the_share_of_right_labels() {
    let model = Crf::default().fit(&corpus(60)).unwrap();
    let mut instances = vec![Instance::new(), Instance::new()];
    for (instance, labels) in instances.iter_mut().zip([&["X", "Y", "?"][..], &["Z"]]) {
        for (kind, label) in labels.iter().enumerate() {
            instance.begin_token(label);
            instance.push_pair("kind", &kind.to_string());
        }
    }
    // By hand: what the model says, against the labels; no model says "?".
    let found = model.tag_all(&instances).unwrap();
    let pairs = instances.iter().zip(&found).flat_map(|(i, f)| i.labels().zip(f));
    let right = pairs.filter(|(truth, label)| truth == *label).count();
    assert_eq!(found[0][..2], ["X", "Y"]);
    assert_eq!(model.score(&instances).unwrap(), right as f64 / 4.0);
    assert!(model.score(&[]).unwrap_err().to_string().contains("instances"));
    assert!(model.score(&[Instance::new()]).is_err());
}

#[test]
fn memory_decides_and_parameters_are_checked() {
    let corpus = corpus(10);
    let tight = Crf { max_memory: Some(100), ..Crf::default() };
    assert_eq!(tight.resolved(&corpus), Method::Lbfgs);
    assert_eq!(Crf::default().resolved(&corpus), Method::Auto);
    assert_eq!(Crf { max_memory: None, ..Crf::default() }.resolved(&corpus), Method::Auto);
    for method in [Method::Sdca, Method::Lbfgs, Method::Auto] {
        let error = Crf { method, ..tight.clone() }.fit(&corpus).unwrap_err().to_string();
        assert!(error.starts_with("a conditional random field needs"), "{error}");
        assert!(error.contains("max_memory is 100 bytes"), "{error}");
    }
    assert!(Crf { l2: Some(0.0), ..Crf::default() }.fit(&corpus).is_err());
    assert!(Crf { l1: -1.0, ..Crf::default() }.fit(&corpus).is_err());
    assert!(Crf { l1: f64::NAN, ..Crf::default() }.fit(&corpus).is_err());
}

/// A table of 600,000 x 1,000 weights takes 4.47 GiB; of one sequence a handful of them is learnt.
#[test]
fn a_vocabulary_is_limited_as_it_is_asked() {
    let mut data = Dataset::new(600_000, 1_000);
    data.push(&[Token { attributes: &[(599_999, 1.0)], label: 999 }]).unwrap();
    let features = Features { states: Support::Observed, ..Features::default() };
    let within = |limit| Problem::within(&data, 1.0, features, limit);
    assert_eq!(within(None).unwrap().n(), 1);
    for refused in [within(Some(1 << 20)), Problem::new(&data, 1.0, features)] {
        let error = refused.unwrap_err().to_string();
        assert!(error.starts_with("a conditional random field needs 4.5"), "{error}");
    }
}

#[test]
fn a_penalty_that_overflows_is_named() {
    let mut builder = CorpusBuilder::new();
    for labels in ["ab", "bba"] {
        let mut instance = Instance::new();
        for label in labels.chars() {
            instance.begin_token(&label.to_string());
            instance.push(&label.to_string(), 1.0);
        }
        builder.push(&instance).unwrap();
    }
    let corpus = builder.finish(1).unwrap();
    match (Crf { l2: Some(1e-300), ..Crf::default() }).fit(&corpus) {
        Err(error) => assert!(error.to_string().contains("the training diverged"), "{error}"),
        Ok(model) => model.weights().check().unwrap(),
    }
}

/// Before anything of the size of all pairs of labels is allocated.
#[test]
fn pairs_of_many_labels_are_refused_with_their_bytes() {
    let mut builder = CorpusBuilder::new();
    let mut instance = Instance::new();
    for label in 0..30_000 {
        instance.begin_token(&label.to_string());
        instance.push("a", 1.0);
    }
    builder.push(&instance).unwrap();
    let told = Crf::default().fit(&builder.finish(0).unwrap()).unwrap_err().to_string();
    assert!(told.contains("GiB") && told.contains("labels"), "{told}");
}
