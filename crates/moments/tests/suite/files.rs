//! Files of models in which one value was changed, with the checksum of the changed text: they are refused, or the
//! model works without a panic and without a NaN.

use fenchel_linalg::{Named, Names};
use fenchel_moments::matching::{Basis, Centres, LearnedScore};
use fenchel_moments::regressor::{IndexModel, Smoother};
use fenchel_moments::score::{Gaussian, Part, ProductMixture, SecondOrderScore, StudentT};
use fenchel_moments::{
    Components, Fit, IndexRegressor, LassoSir, Reduction, Sade, Save, Saved, ScoreMatching, Sir,
    SliceMoments, Slicing,
};
use ndarray::{Array1, Array2};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::common::regression;
use mutants::{load, try_all};

#[path = "../../../optim/tests/mutants/mod.rs"]
mod mutants;

fn parse<M: DeserializeOwned>(value: &Value) -> Result<M, String> {
    serde_json::from_value(value.clone()).map_err(|error| error.to_string())
}

fn finite<'a>(numbers: impl IntoIterator<Item = &'a f64>) {
    assert!(numbers.into_iter().all(|v| v.is_finite()));
}

fn sir() -> Sir {
    Sir { components: Components::Fixed(2), slicing: Slicing::EqualCount(5) }
}

fn used(model: &Reduction, x: &Array2<f64>) {
    if let Ok(indices) = model.transform(x) {
        finite(&indices);
    }
    finite(&model.explained());
    finite(&model.projector());
    let _ = model.report.to_string();
    let _ = model.save(Vec::new());
}

#[test]
fn changed_reductions_are_refused_or_work() {
    let (x, y) = regression(60, 3, 1);
    let (refused, works) = try_all(&sir().fit(&x, &y).unwrap(), load, |m| used(m, &x));
    assert!(refused > 300 && works > 50, "{refused} {works}");
}

#[test]
fn changed_index_models_are_refused_or_work() {
    let (x, y) = regression(40, 3, 1);
    for smoother in [Smoother::LocalLinear, Smoother::Neighbours] {
        let regressor = IndexRegressor { smoother, ..IndexRegressor::new(sir()) };
        let model = regressor.fit(&x, &y).unwrap();
        let (refused, works) = try_all(&model, load::<IndexModel>, |m| {
            used(&m.reduction, &x);
            if let Ok(found) = m.predict(&x) {
                finite(&found);
            }
        });
        assert!(refused > 300 && works > 50, "{refused} {works}");
    }
}

#[test]
fn changed_sums_are_refused_or_work() {
    let (x, y) = regression(60, 3, 1);
    let score = Gaussian::standard(3).unwrap();
    for weights in [None, Some(Array1::from_elem(60, 1.5))] {
        for scores in [false, true] {
            let mut sums = SliceMoments::new(vec![0.5, 1.5], 3).unwrap();
            match (&weights, scores) {
                (Some(weights), false) => sums.partial_fit_weighted(&x, &y, weights).unwrap(),
                (_, false) => sums.partial_fit(&x, &y).unwrap(),
                (_, true) => sums.partial_fit_scores(&x, &y, &score).unwrap(),
            }
            let (refused, works) = try_all(&sums, load::<SliceMoments>, |m| {
                let one = Components::Fixed(1);
                let fits = [
                    Sir { components: one, ..Sir::default() }.fit_moments(m),
                    Save { components: one, ..Save::default() }.fit_moments(m),
                    Sade { components: one, ..Sade::default() }.fit_moments(m, Array1::zeros(3)),
                ];
                for model in fits.into_iter().flatten() {
                    finite(&model.directions);
                    finite(&model.eigenvalues);
                }
                let mut more = m.clone();
                let _ = more.partial_fit(&x, &y);
                let _ = more.merge(m);
            });
            assert!(refused > 300 && works > 50, "{refused} {works}");
        }
    }
}

fn scored<S: SecondOrderScore>(score: &S, x: &Array2<f64>) {
    if let Ok(found) = score.score1(x.view()) {
        finite(&found);
    }
    let weights = Array1::ones(x.nrows());
    if let Ok(found) = score.score2_sum(x.view(), weights.view()) {
        finite(&found);
    }
}

#[test]
fn changed_scores_are_refused_or_work() {
    let (x, _) = regression(40, 3, 1);
    for (basis, whiten) in [
        (Basis::Affine, true),
        (Basis::Separable(3), true),
        (Basis::Separable(4), false),
        (Basis::Bumps(Centres::Landmarks(5)), true),
        (Basis::Bumps(Centres::Landmarks(5)), false),
    ] {
        let learned = ScoreMatching { basis, whiten, ..ScoreMatching::default() }.fit(&x).unwrap();
        let (refused, works) = try_all(&learned, load::<LearnedScore>, |m| {
            scored(m, &x);
            let _ = (m.theta().len(), m.warning(), m.bandwidth(), m.ridge());
        });
        assert!(refused > 300 && works > 50, "{basis:?}: {refused} {works}");
    }
    let covariance = ndarray::array![[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 3.0]];
    let gaussian = Gaussian::new(Array1::ones(3), covariance.view()).unwrap();
    let student = StudentT::new(Array1::ones(3), covariance.view(), 5.0).unwrap();
    let product = ProductMixture::thesis(3).unwrap();
    let counts = [
        try_all(&gaussian, parse::<Gaussian>, |m| scored(m, &x)),
        try_all(&student, parse::<StudentT>, |m| scored(m, &x)),
        try_all(&product, parse::<ProductMixture>, |m| {
            scored(m, &x);
            let _ = m.sample(2, &mut fenchel_optim::random::stream(1, 0));
        }),
    ];
    assert!(counts.iter().all(|c| c.0 > 100 && c.1 > 5), "{counts:?}");
}

/// What contradicts itself is named.
#[test]
fn contradictions_in_a_file_are_named() {
    let (x, y) = regression(60, 3, 1);
    let edit = |whole: &Value, pointer: &str, value: Value| {
        let mut changed = whole.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        changed
    };
    let model = serde_json::to_value(sir().fit(&x, &y).unwrap()).unwrap();
    for (pointer, word) in [("/directions/data/0", "orthonormal"), ("/loadings/data/0", "length")] {
        let error = load::<Reduction>(&edit(&model, pointer, json!(0.123))).unwrap_err();
        assert!(error.contains(word), "{error}");
    }
    let learned = |basis| ScoreMatching { basis, ..ScoreMatching::default() }.fit(&x).unwrap();
    let separable = serde_json::to_value(learned(Basis::Separable(3))).unwrap();
    let bumps = learned(Basis::Bumps(Centres::Landmarks(5)));
    let bumps = serde_json::to_value(bumps).unwrap();
    let matrix = |rows: usize, value: f64| json!({"v": 1, "dim": [rows, rows], "data": vec![value; rows * rows]});
    for (whole, pointer, value, word) in [
        (&separable, "/form/Separable/0/theta", json!([1.0]), "expected length 3, found 1"),
        (&separable, "/form/Separable/0/bandwidth", json!(0.0), "bandwidth = 0"),
        (&separable, "/whitening/mean/data", json!([1.0, 2.0]), ""),
        (
            &separable,
            "/whitening/mean",
            json!({"v": 1, "dim": [1], "data": [0.0]}),
            "length 1, found 3",
        ),
        (
            &separable,
            "/whitening/mean",
            json!({"v": 1, "dim": [2], "data": [0.0, 0.0]}),
            "length 2, found 3",
        ),
        (&separable, "/whitening/covariance", matrix(2, 1.0), "covariance: expected length 3"),
        (&separable, "/whitening/map", matrix(3, 0.0), "map of the whitening: column 0 is 0"),
        (&bumps, "/form/Bumps/bandwidth", json!(1e-320), "bandwidth = "),
        (&bumps, "/form/Bumps/bandwidth", json!(0.0), "bandwidth = 0"),
    ] {
        let error = load::<LearnedScore>(&edit(whole, pointer, value)).unwrap_err();
        assert!(error.contains(word), "{pointer}: {error}");
    }
    let empty = json!({"features": [[]]});
    assert!(parse::<ProductMixture>(&empty).unwrap_err().contains("empty"));
    let part = Part { weight: 1.0, mean: 0.0, deviation: 0.0 };
    let flat = json!({"features": [[part]]});
    assert!(parse::<ProductMixture>(&flat).unwrap_err().contains("deviation"));
    let mut sums = SliceMoments::new(vec![0.5], 3).unwrap();
    sums.partial_fit(&x, &y).unwrap();
    let sums = serde_json::to_value(&sums).unwrap();
    let large = edit(&sums, "/counts/0", json!(u64::MAX));
    let large = edit(&large, "/masses/0", json!(u64::MAX as f64));
    assert!(load::<SliceMoments>(&large).unwrap_err().contains("expected at most 2^53"));
}

/// The clock leaves no trace in a file.
#[test]
fn equal_runs_have_equal_files() {
    let (x, y) = regression(200, 3, 1);
    let bytes = || {
        let mut files: Vec<Vec<u8>> = vec![vec![]; 4];
        let mut sums = SliceMoments::new(vec![0.5, 1.5], 3).unwrap();
        sums.partial_fit(&x, &y).unwrap();
        sums.save(&mut files[0]).unwrap();
        sir().fit_moments(&sums).unwrap().save(&mut files[1]).unwrap();
        IndexRegressor::new(sir()).fit(&x, &y).unwrap().save(&mut files[2]).unwrap();
        ScoreMatching::default().fit(&x).unwrap().save(&mut files[3]).unwrap();
        (files, sums)
    };
    let ((first, one), (second, other)) = (bytes(), bytes());
    assert_eq!(first, second);
    assert_eq!(one, other);
    assert_eq!(SliceMoments::load(&first[0][..]).unwrap(), one);
}

/// Directions have the names of their features, also where weights, resamples or a copy take another way to them.
#[test]
fn a_reduction_has_the_names_of_its_features() {
    let x = ndarray::Array2::from_shape_fn((120, 3), |(i, c)| {
        ((i * (7 + 4 * c) + c * i * i) % 31) as f64 / 10.0 - 1.5
    });
    let y = x.column(0).mapv(|a| a + 0.1 * a * a);
    let names = Names::new(["height", "weight", "age"]);
    let x = Named { x, names: names.clone() };
    let sir = Sir { components: Components::Fixed(1), ..Sir::default() };
    let model = sir.fit(&x, &y).unwrap();
    let ones = ndarray::Array1::ones(120);
    let weighted = sir.fit_with(&x, &y, Fit::new().weights(&ones)).unwrap();
    let sparse = LassoSir::default().fit(&x, &y).unwrap();
    for model in [&model, &weighted, &sparse] {
        assert_eq!(model.names, names, "{}", model.method);
    }
    let text = model.to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with(": 1 directions of 3 features"), "{text}");
    assert!(lines[2].starts_with("height  "), "{text}");
    assert!(lines[2].ends_with(&format!("{:.6}", model.loadings[[0, 0]])), "{text}");
    let mut file = vec![];
    model.save(&mut file).unwrap();
    assert_eq!(Reduction::load(&file[..]).unwrap(), model);
    let other = Named { names: Names::new(["weight", "height", "age"]), ..x };
    assert!(model.transform(&other).unwrap_err().to_string().contains("column 0 is \"weight\""));
}
