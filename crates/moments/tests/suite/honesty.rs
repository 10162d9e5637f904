//! What a fit says about itself is so, and what is not known is an error.

use fenchel_moments::dimension::permutation_test;
use fenchel_moments::inference::{BootstrapSettings, bootstrap, sir_intervals};
use fenchel_moments::regressor::{IndexModel, Smoother};
use fenchel_moments::sade::SliceEstimator;
use fenchel_moments::score::{
    FnScore, Gaussian, ProductMixture, ScoreDiagnostics, SecondOrderScore,
};
use fenchel_moments::spectrum::Warning;
use fenchel_moments::{
    Ade, Components, DirectionalRegression, Error, GaussianMixture, IndexRegressor, Mave, Opg,
    PhdPlus, Reduction, Response, Sade, Save, ScoreFunction, Sir, SliceMoments, Slicing, Sphd,
    Stop, synthetic, trace_error,
};
use fenchel_optim::Status;
use fenchel_optim::model::Saved;
use ndarray::{Array1, array};

use crate::common::{first_columns, normal, regression};

#[track_caller]
fn told<T>(result: Result<T, Error>, expected: &str) {
    let Err(error) = result else { panic!("accepted; expected: {expected}") };
    let error = error.to_string();
    assert!(error.contains(expected), "{error}\nexpected: {expected}");
}

fn one() -> Sir {
    Sir { components: Components::Fixed(1), slicing: Slicing::EqualCount(5) }
}

/// Sums of features and sums of scores have the same shapes; taken for one another they give a wrong answer.
#[test]
fn sums_of_features_are_not_sums_of_scores() {
    let (x, y) = regression(300, 3, 1);
    let score = Gaussian::standard(3).unwrap();
    let empty = || SliceMoments::new(vec![0.5, 1.5, 2.5], 3).unwrap();
    let (mut features, mut scores) = (empty(), empty());
    features.partial_fit(&x, &y).unwrap();
    scores.partial_fit_scores(&x, &y, &score).unwrap();
    let before = (features.clone(), scores.clone());
    told(features.partial_fit_scores(&x, &y, &score), "they hold features, expected scores");
    told(scores.partial_fit(&x, &y), "they hold scores, expected features");
    told(scores.partial_fit_weighted(&x, &y, &Array1::ones(300)), "they hold scores");
    told(features.merge(&scores), "they hold features, expected scores");
    // What was refused has left no trace.
    assert_eq!((&features, &scores), (&before.0, &before.1));
    told(one().fit_moments(&scores), "they hold scores, expected features");
    told(Save::default().fit_moments(&scores), "they hold scores");
    told(DirectionalRegression::default().fit_moments(&scores), "they hold scores");
    told(Save::default().spectrum_of(&scores), "they hold scores");
    let sade = Sade { components: Components::Fixed(1), ..Sade::default() };
    told(sade.fit_moments(&features, Array1::zeros(3)), "they hold features, expected scores");
    told(sade.fit_moments(&empty(), Array1::zeros(3)), "number of samples");
    // Nothing takes what the other holds.
    let mut adopted = empty();
    adopted.merge(&scores).unwrap();
    assert!(sade.fit_moments(&adopted, Array1::zeros(3)).is_ok());
    told(adopted.partial_fit(&x, &y), "they hold scores");
}

#[test]
fn a_failed_batch_leaves_no_trace() {
    let (x, y) = regression(300, 3, 1);
    let far = &x + 1e8;
    let mut moments = SliceMoments::new(vec![0.5, 1.5, 2.5], 3).unwrap();
    let before = moments.clone();
    assert!(moments.partial_fit_scores(&x, &y, &Gaussian::standard(4).unwrap()).is_err());
    assert_eq!(moments.masses(), before.masses());
    moments.partial_fit(&far, &y).unwrap();
    assert!(one().fit_moments(&moments).is_ok());
}

#[test]
fn sums_are_saved_and_go_on() {
    let (x, y) = regression(400, 3, 2);
    let (first, second) = x.view().split_at(ndarray::Axis(0), 150);
    let (y1, y2) = y.view().split_at(ndarray::Axis(0), 150);
    let mut whole = SliceMoments::new(vec![0.5, 1.5, 2.5], 3).unwrap();
    whole.partial_fit(&first, y1).unwrap();
    let mut file = vec![];
    whole.save(&mut file).unwrap();
    let mut loaded = SliceMoments::load(&file[..]).unwrap();
    assert_eq!(loaded, whole);
    whole.partial_fit(&second, y2).unwrap();
    loaded.partial_fit(&second, y2).unwrap();
    let (whole, loaded) = (one().fit_moments(&whole).unwrap(), one().fit_moments(&loaded).unwrap());
    assert_eq!(whole.loadings, loaded.loadings);
    // What does not fit together is refused.
    let edit = |from: &str, to: &str| {
        let text = String::from_utf8(file.clone()).unwrap();
        let model = &text[text.find("\"model\":").unwrap() + 8..text.rfind(",\"crc32\"").unwrap()];
        assert!(model.contains(from), "{model}");
        serde_json::from_str::<SliceMoments>(&model.replacen(from, to, 1)).unwrap().check()
    };
    assert!(edit("\"edges\":[0.5,", "\"edges\":[0.5,0.75,").unwrap_err().contains("fit 5 slices"));
    assert!(edit("\"edges\":[0.5,", "\"edges\":[5.5,").unwrap_err().contains("ascend"));
    assert!(edit("\"Features\"", "null").unwrap_err().contains("features or scores"));
    assert!(edit("\"Features\"", "\"Scores\"").unwrap_err().contains("around 0"));
    assert!(edit("\"counts\":[", "\"counts\":[1").unwrap_err().contains("slice 0"));
    told(SliceMoments::new(vec![0.0], 20_000), "max_memory");
    told(SliceMoments::with_limit(vec![0.0], 10, Some(1000)), "max_memory is 1000");
    assert!(SliceMoments::with_limit(vec![0.0], 10, None).is_ok());
}

#[test]
fn reports_tell_what_ran() {
    let (x, y) = regression(200, 3, 1);
    let report = |max_passes| {
        let stop = Stop { max_passes, ..Mave::default().stop };
        Mave { directions: 1, base_points: 40, stop }.fit(&x, &y).unwrap().report
    };
    let (short, long) = (report(1.0), report(300.0));
    assert_eq!((short.status, long.status), (Status::PassLimit, Status::Converged));
    assert!(short.certificate.value() > 1e-4 && long.certificate.value() < 1e-4);
    // The data are read once for the whitening, once for a copy, once for the mean, with up to 1,024 rows for a shift.
    assert!(short.passes > 3.0 && long.passes >= short.passes + 2.0, "{short} {long}");
    assert!(short.seconds > 0.0 && long.seconds > short.seconds, "{short} {long}");
    // Without a round the directions are those of the start.
    let none = report(0.0);
    assert_eq!((none.status, none.certificate.value()), (Status::PassLimit, f64::INFINITY));
    let stop = Stop { max_seconds: Some(0.0), ..Mave::default().stop };
    let late = Mave { directions: 1, base_points: 40, stop }.fit(&x, &y).unwrap().report;
    assert_eq!(late.status, Status::TimeLimit);
    let stop = Stop { max_passes: -1.0, ..Mave::default().stop };
    told(Mave { stop, ..Mave::default() }.fit(&x, &y), "stop.max_passes = -1");
    // Rules that fit again read the data again.
    let passes = |components| Sir { components, ..one() }.fit(&x, &y).unwrap().report.passes;
    assert!(
        passes(Components::Ladle { repeats: 20, seed: 1 }) > passes(Components::Fixed(1)) + 20.0
    );
    let mut moments = SliceMoments::new(vec![0.5, 1.5, 2.5], 3).unwrap();
    moments.partial_fit(&x, &y).unwrap();
    let streamed = one().fit_moments(&moments).unwrap().report;
    assert!(streamed.passes == 1.0 && streamed.seconds > 0.0, "{streamed}");
}

#[test]
fn levels_and_directions_are_checked() {
    let (x, y) = regression(300, 3, 1);
    let found = sir_intervals(&one(), &x, &y).unwrap();
    let truth = found.model.loadings.column(0).to_owned();
    let settings = BootstrapSettings { repeats: 10, seed: 1 };
    let resampled = bootstrap(&one(), &x, &y, &settings).unwrap();
    for level in [0.0, 1.0, 95.0, -0.5, f64::NAN] {
        let expected = format!("level = {level}");
        told(found.intervals(level), &expected);
        told(resampled.intervals(level), &expected);
        told(resampled.radius(level), &expected);
        told(found.contains(0, truth.view(), level), &expected);
    }
    told(found.contains(1, truth.view(), 0.95), "k = 1");
    told(found.contains(0, array![0.0, 0.0, 0.0].view(), 0.95), "length of the direction = 0");
    told(found.contains(0, array![1.0, f64::NAN, 0.0].view(), 0.95), "NaN");
    for scale in [1.0, -3.0, 1e-200, 1e200] {
        assert!(found.contains(0, (&truth * scale).view(), 0.95).unwrap(), "{scale}");
    }
    // One feature: there is one direction.
    let single = first_columns(&x, 1);
    let found = sir_intervals(&one(), &single, &y).unwrap();
    assert!(found.contains(0, array![-2.0].view(), 0.95).unwrap());
}

#[test]
fn damaged_index_models_are_refused() {
    let (x, y) = regression(200, 3, 1);
    let model = IndexRegressor::new(one()).fit(&x, &y).unwrap();
    assert!(model.check().is_ok());
    let text = serde_json::to_string(&model).unwrap();
    let edit = |field: &str, to: &str| {
        let start = text.find(&format!("\"{field}\":")).unwrap() + field.len() + 3;
        let inside = |c: char| c == '.' || c == '-' || c == 'e' || c.is_ascii_digit();
        let start = start + text[start..].find(inside).unwrap();
        let end = start + text[start..].find(|c| !inside(c)).unwrap();
        let edited = format!("{}{to}{}", &text[..start], &text[end..]);
        serde_json::from_str::<IndexModel>(&edited).unwrap().check()
    };
    assert!(edit("width", "0").unwrap_err().contains("width = 0"));
    assert!(edit("width", "-1").unwrap_err().contains("width = -1"));
    let inside = |name: &str, value: f64| {
        let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let place = if name == "spread" { &mut json[name]["data"][0] } else { &mut json[name][0] };
        *place = value.into();
        serde_json::from_value::<IndexModel>(json).unwrap().check()
    };
    assert!(inside("spread", 0.0).unwrap_err().contains("spread"));
    assert!(inside("spread", -1.0).unwrap_err().contains("spread"));
    assert!(inside("responses", 1.0).is_ok());
    let with = |change: fn(&mut IndexModel)| {
        let mut model = model.clone();
        change(&mut model);
        model.check().unwrap_err()
    };
    assert!(with(|m| m.width = f64::INFINITY).contains("width = inf"));
    assert!(with(|m| m.cross_validated_r2 = f64::NEG_INFINITY).contains("finite"));
    let neighbours = with(|m| {
        m.smoother = Smoother::Neighbours;
        m.width = 0.4;
    });
    assert!(neighbours.contains("whole number"));
}

#[test]
fn each_smoother_has_its_own_widths() {
    let (x, y) = regression(400, 3, 1);
    let neighbours =
        IndexRegressor { smoother: Smoother::Neighbours, ..IndexRegressor::new(one()) };
    let model = neighbours.fit(&x, &y).unwrap();
    assert!(model.width >= 5.0, "{}", model.width);
    for width in [0.4, 2.5, f64::INFINITY] {
        let settings = IndexRegressor { widths: vec![width], ..neighbours.clone() };
        told(settings.fit(&x, &y), "width = ");
    }
    // The unit of the response does not matter.
    let plain = IndexRegressor::new(one()).fit(&x, &y).unwrap();
    for scale in [1e200, 1e-200] {
        let scaled = IndexRegressor::new(one()).fit(&x, &(&y * scale)).unwrap();
        assert_eq!(scaled.width, plain.width);
        assert!((scaled.cross_validated_r2 - plain.cross_validated_r2).abs() < 1e-6);
    }
}

/// Eight samples of three classes: a resample misses a class, has one sample of it, or too few distinct rows.
#[test]
fn degenerate_resamples_are_counted() {
    let (x, _) = regression(8, 3, 4);
    let y: Array1<f64> = (0..8).map(|i| f64::from(i >= 4)).collect();
    let sir = Sir { components: Components::Fixed(1), ..Sir::default() };
    let found = bootstrap(&sir, &x, &y, &BootstrapSettings { repeats: 400, seed: 1 }).unwrap();
    assert!(found.left_out > 0, "{}", found.left_out);
    assert_eq!(found.left_out + found.distances.len(), 400);
    assert!(found.errors.iter().all(|e| e.is_finite()));
    // Five samples of four features: nearly every resample has dependent features.
    let (x, _) = regression(5, 4, 4);
    let y: Array1<f64> = (0..5).map(|i| f64::from(i >= 2)).collect();
    let few = bootstrap(&sir, &x, &y, &BootstrapSettings { repeats: 40, seed: 1 });
    told(few.clone(), "at least 20 are needed");
    assert!(matches!(few, Err(Error::TooFewResamples { repeats: 40, least: 20, .. })));
    let ladle = Sir { components: Components::Ladle { repeats: 40, seed: 1 }, ..sir };
    told(ladle.fit(&x, &y), "at least 20 are needed");
    // One feature leaves nothing to choose.
    let single = normal(30, 1, 1);
    let y = single.column(0).to_owned();
    assert_eq!(ladle.fit(&single, &y).unwrap().components(), 1);
}

/// Two features, both matter: the sequential tests say so.
#[test]
fn all_directions_can_be_kept() {
    let z = normal(4000, 3, 1);
    let x = first_columns(&z, 2);
    let y = z.column(0).mapv(|v| (2.0 * v).tanh() * 3.0)
        + z.column(1).mapv(f64::exp)
        + &z.column(2) * 0.2;
    for components in
        [Components::ChiSquare(0.01), Components::Permutation { level: 0.05, repeats: 39, seed: 1 }]
    {
        let model = Sir { components, ..Sir::default() }.fit(&x, &y).unwrap();
        assert_eq!(model.components(), 2, "{components:?}");
    }
    // One direction of two: the tests stop there.
    let y = z.column(0).mapv(f64::exp) + &z.column(2) * 0.2;
    let sir = Sir { components: Components::ChiSquare(0.001), ..Sir::default() };
    assert_eq!(sir.fit(&x, &y).unwrap().components(), 1);
    // At least one is kept; whether there is any is the test of none.
    let design = fenchel_linalg::Dense::new(x.view()).unwrap();
    let none = |y: &Array1<f64>| {
        let response = Response::from(y.view());
        permutation_test(&sir, &design, &response, 0, 39, 1).unwrap().p_value
    };
    let unrelated = z.column(2).to_owned();
    assert_eq!(sir.fit(&x, &unrelated).unwrap().components(), 1);
    assert!(none(&y) < 0.03 && none(&unrelated) > 0.05);
}

#[test]
fn no_direction_is_an_error() {
    let (x, y) = regression(100, 3, 1);
    let nothing = FnScore::new(3, |_, mut out: ndarray::ArrayViewMut1<f64>| out.fill(0.0));
    let sade = Sade { components: Components::Fixed(1), ..Sade::default() };
    told(sade.fit(&x, &y, &nothing), "all eigenvalues of SADE are 0");
    let means = Sade { estimator: SliceEstimator::Means, ..sade };
    told(means.fit(&x, &y, &nothing), "all eigenvalues of SADE are 0");
}

#[test]
fn planes_do_not_depend_on_the_unit_of_the_response() {
    let problem = synthetic::multi_index(
        &synthetic::StandardFeatures(3),
        array![[1.0], [2.0], [0.0]],
        |z| z[0] + 0.2 * z[0].powi(2),
        200,
        0.2,
        1,
    )
    .unwrap();
    let opg = Opg { components: Components::Fixed(1), base_points: 50 };
    let mave = Mave {
        directions: 1,
        base_points: 50,
        stop: Stop { max_passes: 5.0, ..Mave::default().stop },
    };
    for scale in [1e200, 1e-200] {
        let y = &problem.y * scale;
        for model in [opg.fit(&problem.x, &y).unwrap(), mave.fit(&problem.x, &y).unwrap()] {
            let error = trace_error(model.directions.view(), problem.directions.view()).unwrap();
            assert!(error < 0.05, "{}: {error}", model.method);
        }
    }
    told(opg.fit(&problem.x, &Array1::from_elem(200, 1e-200)), "one unique response value");
}

#[test]
fn too_many_slices_are_refused() {
    let (x, y) = regression(50, 3, 1);
    for slicing in [
        Slicing::EqualCount(usize::MAX),
        Slicing::EqualWidth(usize::MAX),
        Slicing::DrCompatible(usize::MAX / 2 + 1),
    ] {
        told(Sir { slicing, ..one() }.fit(&x, &y), "at most 25 slices");
    }
}

/// The commonest mistake with a given density: it is not that of the features.
#[test]
fn a_wrong_density_is_flagged() {
    let x = normal(500, 4, 3);
    let noise = normal(500, 1, 4);
    let truth = array![1.0, 2.0, 3.0, 4.0];
    let y: Array1<f64> = x.dot(&truth).mapv(|v| v + 0.02 * v.powi(3)) + &noise.column(0) * 0.1;
    let one = Components::Fixed(1);
    let fits = |mean: f64, variance: f64| -> Vec<(Reduction, Option<Warning>)> {
        let covariance = ndarray::Array2::eye(4) * variance;
        let score = Gaussian::new(Array1::from_elem(4, mean), covariance.view()).unwrap();
        let said = ScoreDiagnostics::new(&x, &score).unwrap().warning();
        let sade = Sade { components: one, ..Sade::default() };
        let sphd = Sphd { components: one, ..Sphd::default() };
        let phd = PhdPlus { components: one, ..PhdPlus::default() };
        [
            sade.fit(&x, &y, &score).unwrap(),
            Ade::default().fit(&x, &y, &score).unwrap(),
            sphd.fit(&x, &y, &score).unwrap(),
            phd.fit(&x, &y, &score).unwrap(),
        ]
        .into_iter()
        .map(|model| (model, said.clone()))
        .collect()
    };
    let about_score =
        |w: &Warning| matches!(w, Warning::ScoreOffset { .. } | Warning::PoorScore { .. });
    for (model, said) in fits(0.0, 1.0) {
        assert_eq!(said, None);
        assert!(!model.warnings.iter().any(about_score), "{}: {:?}", model.method, model.warnings);
    }
    for (mean, variance) in [(5.0, 0.01), (0.5, 1.0), (0.0, 0.5), (0.0, 2.0)] {
        for (model, said) in fits(mean, variance) {
            let said = said.unwrap();
            assert!(model.warnings.contains(&said), "{}: {:?}", model.method, model.warnings);
            let offset = matches!(said, Warning::ScoreOffset { offset } if offset > 0.4);
            assert_eq!(offset, mean > 0.0, "{said}");
        }
    }
    // Far from all parts there is no density left to differentiate.
    let mixture = GaussianMixture::thesis(4).unwrap();
    told(mixture.score1((&x * 1e200).view()), "density of the mixture");
    let product = ProductMixture::thesis(4).unwrap();
    told(product.score1((&x * 1e200).view()), "score of the product mixture: NaN at row 0");
    assert!(product.score2_sum((&x * 1e200).view(), Array1::ones(500).view()).is_err());
}

/// Without a tolerance and without a limit in sight, a run ends where the rounds only repeat their rounding. In some problems they come
/// to repeat a span to the last bit, which has converged.
#[test]
fn mave_ends_where_nothing_moves() {
    let mut stalled = 0;
    for (features, directions) in [(3, 1), (4, 2), (6, 1), (6, 2)] {
        let (x, y) = regression(150, features, 1);
        let stop = Stop { absolute: 0.0, max_passes: 3000.0, ..Mave::default().stop };
        let report = Mave { directions, base_points: 30, stop }.fit(&x, &y).unwrap().report;
        let ended = matches!(report.status, Status::Stalled | Status::Converged);
        assert!(ended, "{features} {directions}: {report}");
        stalled += u32::from(report.status == Status::Stalled);
    }
    assert!(stalled > 0);
}

#[test]
fn more_samples_than_memory_are_refused() {
    use fenchel_moments::synthetic::{StandardFeatures, sine};
    told(sine(&StandardFeatures(3), usize::MAX, 0.1, 0), "take fewer samples");
}
