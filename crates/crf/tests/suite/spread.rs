//! Sequences that are spread over ranks, which are threads here: the same model for any number of ranks, and that of all sequences.

use std::ops::ControlFlow;

use fenchel_crf::{
    Corpus, CorpusBuilder, Crf, CrfModel, Error, Features, Fit, Method, Problem, Status, Stop,
    Support,
};
use fenchel_optim::Certificate;
use fenchel_optim::spread::{Communicator, Shards, share, threads};

use crate::estimator::instances;

/// Sequences of the shards: of no even size, and none at all among them.
const SHARDS: [usize; 6] = [11, 0, 20, 1, 8, 17];

fn whole(min_frequency: u32) -> Corpus {
    let mut builder = CorpusBuilder::new();
    let all = instances(SHARDS.iter().sum(), 11);
    all.iter().for_each(|instance| builder.push(instance).unwrap());
    builder.finish(min_frequency).unwrap()
}

fn on_ranks(crf: &Crf, min_frequency: u32, size: usize) -> Result<Vec<CrfModel>, (usize, Error)> {
    on_each(size, min_frequency, |_, corpus, shards| {
        crf.fit_with(corpus, Fit::new().spread(shards))
    })
}

fn on_each(
    size: usize,
    min_frequency: u32,
    fit: impl Fn(usize, &Corpus, &Shards<'_>) -> Result<CrfModel, Error> + Sync,
) -> Result<Vec<CrfModel>, (usize, Error)> {
    let all = instances(SHARDS.iter().sum(), 11);
    threads::run(size, |ranks| {
        let own = &SHARDS[share(SHARDS.len(), ranks.rank(), size)];
        let shards = Shards::new(ranks, own)?;
        let mut builder = CorpusBuilder::new();
        for instance in &all[shards.before()..shards.before() + shards.rows()] {
            builder.push(instance)?;
        }
        let corpus = builder.share(ranks)?.finish(min_frequency)?;
        fit(ranks.rank(), &corpus, &shards)
    })
}

#[test]
fn a_model_has_the_same_bits_for_any_number_of_ranks() {
    for (states, l1, min_frequency, method) in [
        (Support::All, 0.0, 1, Method::Auto),
        (Support::Observed, 0.0, 3, Method::Lbfgs),
        (Support::Observed, 0.002, 1, Method::Auto),
        (Support::All, 0.0, 1, Method::Sdca),
        (Support::Observed, 0.002, 3, Method::Sdca),
    ] {
        let features = Features { states, transitions: states, ..Features::default() };
        let stop = Stop::at_relative(1e-6);
        let crf = Crf { features, l1, stop, method, ..Crf::default() };
        let first = on_ranks(&crf, min_frequency, 1).unwrap().remove(0);
        for size in [2, 3, 4, 8] {
            for model in on_ranks(&crf, min_frequency, size).unwrap() {
                assert_eq!(model, first, "{size} ranks");
            }
        }
        let report = first.report.unwrap();
        assert_eq!(report.status, Status::Converged);
        // The numbers of the words are those of one builder, and the certificate is about all sequences.
        let corpus = whole(min_frequency);
        assert_eq!((first.attributes(), first.labels()), (&corpus.attributes, &corpus.labels));
        let n = corpus.data.sequences() as f64;
        let problem = Problem::new(&corpus.data, 1.0 / n, features).unwrap();
        let weights = first.weights();
        let expected = problem.objective(weights).unwrap() + l1 * weights.l1_norm();
        let Certificate::Gap { objective, lower_bound, .. } = report.certificate else { panic!() };
        assert!((objective - expected).abs() <= 1e-12 * expected, "{objective} {expected}");
        let best = Crf { method: Method::Sdca, stop: Stop::at_relative(1e-8), ..crf.clone() };
        let best = best.fit(&corpus).unwrap().report.unwrap().certificate.objective().unwrap();
        assert!(lower_bound <= best * (1.0 + 1e-12) && objective <= best * (1.0 + 2e-6));
    }
}

/// In single and in double precision, which all ranks choose by all sequences; from a model, which is no worse afterwards.
#[test]
fn dual_ascent_in_shards_proves_its_point() {
    let sdca = |relative| {
        let stop = Stop::at_relative(relative);
        Crf { method: Method::Sdca, stop, ..Crf::default() }
    };
    let mut before: Option<CrfModel> = None;
    for relative in [1e-2, 1e-4, 1e-8] {
        let fit = |size| {
            let before = before.as_ref();
            on_each(size, 1, |_, corpus, shards| {
                let mut fit = Fit::new();
                fit.start = before;
                sdca(relative).fit_with(corpus, fit.spread(shards))
            })
        };
        let first = fit(1).unwrap().remove(0);
        assert!(fit(3).unwrap().iter().all(|model| *model == first));
        let report = first.report.unwrap();
        assert_eq!(report.status, Status::Converged, "{report}");
        let whole = sdca(1e-9).fit(&whole(1)).unwrap().report.unwrap().certificate;
        let (
            Certificate::Gap { objective, lower_bound, .. },
            Certificate::Gap { objective: best, .. },
        ) = (report.certificate, whole)
        else {
            panic!("{report}")
        };
        assert!(lower_bound <= best && objective <= best * (1.0 + 2.0 * relative), "{report}");
        before = Some(first);
    }
}

/// One rank alone watches and asks for the end; all of them stop there. Two of the eight have no sequences.
#[test]
fn one_rank_that_stops_stops_all() {
    let crf = Crf { stop: Stop::at_relative(1e-12), ..Crf::default() };
    for last in [0, 5, 7] {
        let models = on_each(8, 1, |rank, corpus, shards| {
            let mut watch = |progress: &fenchel_optim::Progress| match progress.passes >= 4.0 {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            };
            let fit = if rank == last { Fit::new().watch(&mut watch) } else { Fit::new() };
            crf.fit_with(corpus, fit.spread(shards))
        });
        let models = models.unwrap();
        for model in &models {
            assert_eq!((model, model.report.unwrap().status), (&models[0], Status::Stopped));
        }
    }
}

#[test]
fn ranks_that_differ_are_refused() {
    let model = Crf::default().fit(&whole(1)).unwrap();
    let refused = |with: &(dyn Fn(usize) -> (f64, bool) + Sync)| {
        let ended = on_each(3, 1, |rank, corpus, shards| {
            let (l1, start) = with(rank);
            let fit = if start { Fit::new().start(&model) } else { Fit::new() };
            Crf { l1, ..Crf::default() }.fit_with(corpus, fit.spread(shards))
        });
        ended.unwrap_err().1.to_string()
    };
    let error = refused(&|rank| (if rank == 2 { 0.5 } else { 0.0 }, false));
    assert!(error.starts_with("settings of the fit: rank 2 has "), "{error}");
    let error = refused(&|rank| (0.0, rank == 0));
    assert!(error.starts_with("start: rank 1 has \"none\""), "{error}");
}

#[test]
fn what_does_not_run_on_ranks_is_refused() {
    let stop = Stop { max_seconds: Some(1.0), ..Stop::default() };
    let (_, error) = on_ranks(&Crf { stop, ..Crf::default() }, 1, 2).unwrap_err();
    assert!(error.to_string().starts_with("stop.max_seconds = 1; expected none"), "{error}");
}
