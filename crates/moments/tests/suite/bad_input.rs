//! What users get wrong, and what they are told.

use fenchel_moments::direct::Lambda;
use fenchel_moments::matching::{Bandwidth, Basis, Centres};
use fenchel_moments::sade::SliceEstimator;
use fenchel_moments::score::{Component, Gaussian, StudentT};
use fenchel_moments::{
    Ade, Components, DirectSade, Error, Fit, GaussianMixture, IndexRegressor, LassoSir, Opg, Phd,
    PhdPlus, Response, Sade, Save, ScoreMatching, Sir, SliceMoments, Slicing, Sphd,
};
use ndarray::{Array1, Array2, array};

use crate::common::regression;

#[track_caller]
fn told(result: Result<fenchel_moments::Reduction, Error>, expected: &str) {
    tells(result, expected);
}

#[track_caller]
fn tells<T>(result: Result<T, Error>, expected: &str) {
    let Err(error) = result else { panic!("accepted; expected: {expected}") };
    let error = error.to_string();
    assert!(error.contains(expected), "{error}\nexpected: {expected}");
}

#[test]
fn data_are_checked() {
    let (x, y) = regression(50, 3, 1);
    let sir = Sir::default();
    let mut bad = x.clone();
    bad[[7, 2]] = f64::NAN;
    told(sir.fit(&bad, &y), "NaN at row 7, column 2");
    let mut infinite = y.clone();
    infinite[4] = f64::INFINITY;
    told(sir.fit(&x, &infinite), "row 4");
    told(sir.fit(&x, &y.to_vec()[..49]), "expected length 50, found 49");
    told(sir.fit(&Array2::<f64>::zeros((0, 3)), &Array1::zeros(0)), "at least 2");
    told(sir.fit(&Array2::<f64>::zeros((5, 0)), &Array1::zeros(5)), "empty");
    told(sir.fit(&x, &Array1::from_elem(50, 3.5)), "one unique response value (3.5)");
}

#[test]
fn numbers_of_directions_and_slices_are_checked() {
    let (x, y) = regression(50, 3, 1);
    let sir = |k, h| Sir { components: Components::Fixed(k), slicing: Slicing::EqualCount(h) };
    told(sir(0, 5).fit(&x, &y), "number of directions = 0");
    told(sir(4, 8).fit(&x, &y), "number of directions = 4");
    told(sir(2, 2).fit(&x, &y), "SIR finds at most 1 directions here, 2 were asked for");
    told(sir(1, 1).fit(&x, &y), "number of slices = 1");
    told(sir(1, 26).fit(&x, &y), "at most 25 slices");
    let gap = Sir { components: Components::EigenGap(0), ..Sir::default() };
    told(gap.fit(&x, &y), "at least 1");
    let chi = Save { components: Components::ChiSquare(0.05), ..Save::default() };
    told(chi.fit(&x, &y), "SAVE does not support the chi-squared test");
}

#[test]
fn dependent_columns_are_named() {
    let (x, y) = regression(60, 4, 2);
    let mut dependent = x.clone();
    let sum = &x.column(0) - &x.column(3);
    dependent.column_mut(1).assign(&sum);
    let error = Sir::default().fit(&dependent, &y).unwrap_err();
    match error {
        Error::Singular { columns, smallest, .. } => {
            assert_eq!(columns, [0, 1, 3]);
            assert!(smallest < 1e-12);
        }
        other => panic!("{other}"),
    }
    let mut constant = x.clone();
    constant.column_mut(2).fill(7.25);
    told(Phd::default().fit(&constant, &y), "columns [2] are constant");
    told(LassoSir::default().fit(&constant, &y), "columns [2] are constant");
    // Not more samples than features.
    let (x, y) = regression(9, 9, 3);
    for result in
        [Sir::default().fit(&x, &y), Save::default().fit(&x, &y), Phd::default().fit(&x, &y)]
    {
        told(result, "9 samples of 9 features: covariance of the features is singular");
    }
    // Of many columns the first twenty are named.
    let wide = Array2::from_shape_fn((40, 30), |(i, c)| if c < 29 { 1.0 } else { i as f64 });
    let y = Array1::from_iter((0..40).map(f64::from));
    told(Sir::default().fit(&wide, &y), "18, 19] and 9 more are constant");
}

#[test]
fn scores_are_checked() {
    let (x, y) = regression(50, 3, 1);
    let score = Gaussian::standard(4).unwrap();
    told(Sade::default().fit(&x, &y, &score), "expected length 4, found 3");
    let classes: Vec<u8> = (0..50).map(|i| u8::from(i == 0)).collect();
    let one_alone = || Response::classes(&classes).unwrap();
    let score = Gaussian::standard(3).unwrap();
    told(Sade::default().fit(&x, one_alone(), &score), "slice 1 with 1 sample");
    let means = Sade { estimator: SliceEstimator::Means, ..Sade::default() };
    assert!(means.fit(&x, one_alone(), &score).is_ok());
    let clipped = Sade { winsorise: Some(-1.0), ..Sade::default() };
    told(clipped.fit(&x, &y, &score), "winsorise = -1");
    let skew = array![[1.0, 2.0], [2.0, 1.0]];
    tells(Gaussian::new(Array1::zeros(2), skew.view()), "covariance is not positive definite");
    tells(StudentT::new(Array1::zeros(2), skew.view(), 3.0), "scale matrix is not positive");
    let part = |weight: f64, covariance: &Array2<f64>| Component {
        weight,
        mean: Array1::zeros(2),
        covariance: covariance.clone(),
    };
    let (one, fine) = (Array2::eye(2), Array2::eye(3));
    let mixture = |parts: Vec<Component>| GaussianMixture::new(parts);
    tells(mixture(vec![]), "mixture is empty");
    tells(mixture(vec![part(0.5, &one)]), "sum of the weights of the mixture = 0.5");
    tells(mixture(vec![part(0.5, &one), part(0.5, &skew)]), "mixture: part 1: covariance is not");
    tells(mixture(vec![part(0.5, &one), part(0.5, &fine)]), "mixture: part 1: covariance");
    tells(mixture(vec![part(1.5, &one), part(-0.5, &one)]), "mixture: part 1: weight = -0.5");
}

/// A constant response is called that by every method, and a single class by its label.
#[test]
fn one_response_is_named() {
    let (x, _) = regression(50, 3, 1);
    let y = Array1::from_elem(50, 2.5);
    let score = Gaussian::standard(3).unwrap();
    for result in [
        Sir::default().fit(&x, &y),
        Phd::default().fit(&x, &y),
        Opg::default().fit(&x, &y),
        Ade::default().fit(&x, &y, &score),
        PhdPlus::default().fit(&x, &y, &score),
        Sphd::default().fit(&x, &y, &score),
        LassoSir::default().fit(&x, &y),
    ] {
        told(result, "response: one unique response value (2.5) in all rows");
    }
    let error = Response::classes(&["b"; 50]).unwrap_err().to_string();
    assert!(error.contains("label of row 0 is \"b\"; expected at least two"), "{error}");
    // Without the fold of row 3 all responses are equal.
    let lone = Array1::from_shape_fn(50, |i| f64::from(i == 3));
    tells(LassoSir::default().fit(&x, &lone), "of 5: response: one unique response value (0)");
    tells(IndexRegressor::new(Sir::default()).fit(&x, &lone), "of 5: response: one unique");
    told(
        Sir::default().fit_with(&x, &lone, Fit::new().weights(&Array1::zeros(50))),
        "with a weight above 0 = 0",
    );
}

#[test]
fn settings_are_named() {
    let (x, y) = regression(50, 3, 1);
    let matching =
        |basis, bandwidth| ScoreMatching { basis, bandwidth, ..ScoreMatching::default() };
    let (bumps, one) = (Basis::Bumps(Centres::AllSamples), Bandwidth::Relative(1.0));
    // Bumps that see nothing but their own centre.
    tells(matching(bumps, Bandwidth::Absolute(1e-9)).fit(&x), "bandwidth 0.000000001 is too small");
    let grid = |low, high, points| Basis::Bumps(Centres::Grid { low, high, points });
    tells(matching(grid(2.0, 1.0, 4), one).fit(&x), "high end of the grid = 1; expected more");
    tells(matching(grid(0.0, 1.0, 1), one).fit(&x), "points of the grid = 1");
    for rank in [0, 4] {
        let direct = DirectSade { lambda: Lambda::Rank(rank), ..DirectSade::default() };
        tells(direct.fit(&x, &y), &format!("rank = {rank}; expected at least 1, at most"));
    }
    let lasso = LassoSir { directions: 0, ..LassoSir::default() };
    told(lasso.fit(&x, &y), "number of directions = 0");
    tells(SliceMoments::new(vec![], 3), "list of edges of the slices is empty");
    tells(SliceMoments::new(vec![0.0], 0), "number of features = 0");
    let mut moments = SliceMoments::new(vec![1e9], 3).unwrap();
    moments.partial_fit(&x, &y).unwrap();
    told(Sir::default().fit_moments(&moments), "number of slices with samples = 1");
    told(Save::default().fit_moments(&moments), "number of slices with samples = 1");
}
