//! Counts beyond the data, sizes beyond memory, and rows far from all others: each is an error that says so, or is answered.

use fenchel_linalg::{CsrMatrix, Dense};
use fenchel_moments::dimension::{ladle, permutation_test};
use fenchel_moments::direct::Lambda;
use fenchel_moments::ellipticity::Ellipticity;
use fenchel_moments::gmm::gaussian_single_index;
use fenchel_moments::inference::{BootstrapSettings, bootstrap, sir_intervals};
use fenchel_moments::matching::{Bandwidth, Basis};
use fenchel_moments::reducer::Reducer;
use fenchel_moments::regressor::Smoother;
use fenchel_moments::score::{Component, Gaussian};
use fenchel_moments::slicing::Slices;
use fenchel_moments::spectrum::Warning;
use fenchel_moments::subspace::principal_angles;
use fenchel_moments::transform::ResponseTransform;
use fenchel_moments::{
    Ade, Components, DirectSade, DirectionalRegression, Error, Fit, GaussianMixture,
    IndexRegressor, LassoSir, LearnedSade, Mave, Opg, Phd, PhdPlus, Reduction, Response, Sade,
    Save, ScoreMatching, Sir, SliceMoments, Slicing, Sphd, Stop, trace_error,
};
use ndarray::{Array1, Array2, Axis, array};

use crate::common::{close, first_columns, normal, regression};

#[track_caller]
fn told<T>(result: Result<T, Error>, expected: &str) {
    let Err(error) = result else { panic!("accepted; expected: {expected}") };
    let error = error.to_string();
    assert!(error.contains(expected), "{error}\nexpected: {expected}");
}

const ONE: Components = Components::Fixed(1);

fn sir() -> Sir {
    Sir { components: ONE, slicing: Slicing::EqualCount(5) }
}

#[test]
fn permutation_tests_know_how_many_directions_there_are() {
    let (x, y) = regression(80, 3, 1);
    let design = Dense::new(x.view()).unwrap();
    let response = Response::from(y.view());
    let test = |method: &dyn Reducer, k| permutation_test(method, &design, &response, k, 9, 0);
    for k in 0..3 {
        let p = test(&sir(), k).unwrap().p_value;
        assert!((0.1..=1.0).contains(&p), "{k}: {p}");
    }
    // Nothing is left to permute: every statistic is 0, so all are as large.
    assert_eq!(test(&sir(), 3).unwrap().p_value, 1.0);
    for k in [4, 400] {
        told(test(&sir(), k), &format!("number of directions = {k}"));
    }
    // ADE has one direction, of however many features.
    let score = Gaussian::standard(3).unwrap();
    let ade = Ade::default();
    assert_eq!(test(&ade.with(&score), 1).unwrap().p_value, 1.0);
    told(test(&ade.with(&score), 2), "number of directions = 2");
}

#[test]
fn counts_beyond_the_data_are_refused() {
    let (x, y) = regression(40, 3, 1);
    let design = Dense::new(x.view()).unwrap();
    let response = Response::from(y.view());
    let narrow = first_columns(&x, 2);
    let other = Dense::new(narrow.view()).unwrap();
    let spectrum = sir().spectrum(&other, &response).unwrap();
    told(ladle(&sir(), &spectrum, &design, &response, 5, 0), "expected length 3, found 2");
    told(response.pick(&[0, 39, 40]), "index of a sample = 40; expected less than the number");
    let repeats = usize::MAX;
    told(permutation_test(&sir(), &design, &response, 0, repeats, 0), "repeats = ");
    told(ladle(&sir(), &spectrum, &design, &response, repeats, 0), "repeats = ");
    told(bootstrap(&sir(), &x, &y, &BootstrapSettings { repeats, seed: 0 }), "repeats = ");
    let many = Sir { components: Components::Fixed(usize::MAX), ..Sir::default() };
    told(many.fit(&x, &y), "number of directions = 1.844");
    let lasso = LassoSir { directions: usize::MAX, ..LassoSir::default() };
    told(lasso.fit(&x, &y), "at most 3 directions");
    let mave = Mave { directions: usize::MAX, ..Mave::default() };
    told(mave.fit(&x, &y), "number of directions = 1.844");
    let three = [1.0, 2.0, 3.0];
    for slicing in
        [Slicing::EqualWidth(usize::MAX), Slicing::EqualCount(4), Slicing::DrCompatible(9)]
    {
        told(Slices::new(&three, slicing, 1), "at most 2 slices");
    }
    assert_eq!(Slices::new(&three, Slicing::EqualCount(3), usize::MAX).unwrap().len(), 1 + 1);
    let separable = ScoreMatching { basis: Basis::Separable(usize::MAX), ..Default::default() };
    told(separable.fit(&x), "score matching needs 16 EiB");
    let lambda = Lambda::CrossValidated { steps: 3_000_000_000, folds: 2 };
    told(DirectSade { lambda, ..DirectSade::default() }.fit(&x, &y), "steps = 3000000000");
    let empty = Array2::<f64>::zeros((3, 0));
    told(trace_error(empty.view(), empty.view()), "basis is empty");
    told(principal_angles(empty.view(), empty.view()), "basis is empty");
}

#[test]
fn a_stream_may_come_row_by_row() {
    let (x, y) = regression(30, 2, 1);
    let score = Gaussian::standard(2).unwrap();
    let new = || SliceMoments::new(vec![0.5, 1.5], 2).unwrap();
    let (mut whole, mut rows) = (new(), new());
    whole.partial_fit_scores(&x, &y, &score).unwrap();
    for i in 0..30 {
        let row = x.slice_axis(Axis(0), (i..i + 1).into());
        rows.partial_fit_scores(&row, &[y[i]], &score).unwrap();
    }
    assert_eq!(rows.counts(), whole.counts());
    let sade = Sade { components: ONE, ..Sade::default() };
    let fit = |moments: &SliceMoments| sade.fit_moments(moments, Array1::zeros(2)).unwrap();
    close(fit(&rows).loadings.view(), fit(&whole).loadings.view(), 1e-12);
    // An empty batch adds nothing.
    rows.partial_fit_scores(&Array2::<f64>::zeros((0, 2)), &[], &score).unwrap();
    assert_eq!(rows.counts(), whole.counts());
}

/// Four rows of 4,294,967,294 columns, in 39 bytes of a sparse text.
#[test]
fn wide_data_are_refused_before_they_fill_the_memory() {
    let columns = vec![0, 1, 4_294_967_293, 1, 0];
    let values = vec![1.0, 1.0, 1.0, 1.0, 2.0];
    let x = CsrMatrix::new((4, 4_294_967_294), vec![0, 1, 3, 4, 5], columns, values);
    let y = array![1.0, -1.0, 2.0, -2.0];
    let limit = "max_memory is 4 GiB";
    told(Sir::default().fit(&x, &y), limit);
    told(sir_intervals(&Sir::default(), &x, &y), limit);
    told(bootstrap(&Sir::default(), &x, &y, &BootstrapSettings::default()), limit);
    told(Sir::default().fit_with(&x, &y, Fit::new().weights(&[1.0; 4])), limit);
    told(Save::default().fit(&x, &y), limit);
    told(DirectionalRegression::default().fit(&x, &y), limit);
    told(Phd::default().fit(&x, &y), limit);
    told(Phd { residual: false, ..Phd::default() }.fit(&x, &y), limit);
    told(Opg::default().fit(&x, &y), limit);
    told(Mave::default().fit(&x, &y), limit);
    told(LassoSir::default().fit(&x, &y), limit);
    told(LearnedSade::default().fit(&x, &y), limit);
    told(DirectSade::default().fit(&x, &y), limit);
    told(IndexRegressor { folds: 2, ..IndexRegressor::new(Sir::default()) }.fit(&x, &y), limit);
    told(gaussian_single_index(&x, &y), limit);
    told(Ellipticity::new(&x), limit);
    for basis in [ScoreMatching::default().basis, Basis::Separable(5), Basis::Affine] {
        told(ScoreMatching { basis, ..ScoreMatching::default() }.fit(&x), limit);
    }
    told(Sade::default().fit_scores(&x, &y), limit);
    let score = fenchel_moments::score::FnScore::new(4_294_967_294, |x, mut out| out.assign(&x));
    told(Sade::default().fit(&x, &y, &score), limit);
    told(Ade::default().fit(&x, &y, &score), limit);
    let score = Gaussian::standard(2).unwrap();
    told(Sphd::default().fit(&x, &y, &score), "expected length");
    told(PhdPlus::default().fit(&x, &y, &score), "expected length");
    let mut moments = SliceMoments::new(vec![0.0], 2).unwrap();
    told(moments.partial_fit(&x, &y), "expected length 2");
    told(moments.partial_fit_scores(&x, &y, &score), "expected length 2");
    // Normal equations of many directions.
    let (x, y) = regression(210, 200, 1);
    told(Mave { directions: 150, ..Mave::default() }.fit(&x, &y), "MAVE needs");
}

/// One response of 1e12: whatever averages responses is about this row.
#[test]
fn a_dominating_response_is_told() {
    let x = normal(300, 5, 1);
    let mut y: Array1<f64> = x.rows().into_iter().map(|r| (r[0] + r[1]).powi(3)).collect();
    let score = Gaussian::standard(5).unwrap();
    let all = |y: &Array1<f64>| {
        let opg = Opg { components: ONE, base_points: 40 };
        vec![
            opg.fit(&x, y).unwrap(),
            Mave {
                base_points: 20,
                stop: Stop { max_passes: 2.0, ..Mave::default().stop },
                ..Mave::default()
            }
            .fit(&x, y)
            .unwrap(),
            Phd::default().fit(&x, y).unwrap(),
            Ade::default().fit(&x, y, &score).unwrap(),
            PhdPlus::default().fit(&x, y, &score).unwrap(),
            Sphd { weight_by_response: true, ..Sphd::default() }.fit(&x, y, &score).unwrap(),
            Sade { weight_by_response: true, ..Sade::default() }.fit(&x, y, &score).unwrap(),
        ]
    };
    let told = |model: &Reduction| {
        let found = model.warnings.iter().find(|w| matches!(w, Warning::Dominated { .. }));
        found.map(ToString::to_string)
    };
    for model in all(&y) {
        assert_eq!(told(&model), None, "{}", model.method);
    }
    for huge in [1e12, -1e12] {
        y[17] = huge;
        for model in all(&y) {
            let said = told(&model).unwrap_or_else(|| panic!("{}", model.method));
            assert!(said.contains("row 17 makes up 100 %"), "{said}");
        }
    }
    y[17] = 1e300;
    assert!(told(&Opg::default().fit(&x, &y).unwrap()).is_some());
    // Ranks have no outlier, and slices do not see how far it is.
    let ranks = Ade { response: ResponseTransform::Ranks };
    assert_eq!(told(&ranks.fit(&x, &y, &score).unwrap()), None);
    assert_eq!(told(&sir().fit(&x, &y).unwrap()), None);
}

/// Far away the nearest sample is the one with the extreme index, and its response the prediction.
#[test]
fn far_rows_are_predicted_by_the_nearest_sample() {
    let x = normal(200, 2, 5);
    let y: Array1<f64> = x.rows().into_iter().map(|r| (2.0 * r[0]).tanh() + 0.1 * r[1]).collect();
    for smoother in [Smoother::LocalLinear, Smoother::Neighbours] {
        let widths = vec![if smoother == Smoother::Neighbours { 1.0 } else { 0.4 }];
        let model = IndexRegressor { smoother, widths, ..IndexRegressor::new(sir()) };
        let model = model.fit(&x, &y).unwrap();
        let index = model.reduction.transform(&x).unwrap();
        let direction = model.reduction.directions.column(0).to_owned();
        let extreme = |sign: f64| {
            let better = |i: usize, j: usize| {
                if sign * index[[j, 0]] > sign * index[[i, 0]] { j } else { i }
            };
            y[(0..200).reduce(better).unwrap()]
        };
        for far in [1e6, 1e12, 1e17, 1e150, 1e300] {
            for sign in [1.0, -1.0] {
                let row = (&direction * (sign * far)).insert_axis(Axis(0));
                let found = model.predict(&row).unwrap()[0];
                assert!((found - extreme(sign)).abs() < 1e-6, "{smoother:?} {far:e}: {found}");
            }
        }
        let mut rows = x.slice_axis(Axis(0), (..3).into()).to_owned();
        rows.row_mut(2).assign(&direction.mapv(|v| v.signum() * 1.7e308));
        told(model.predict(&rows), "row 2");
    }
}

/// A local plane by its definition: weighted least squares with a ridge on the slopes.
#[test]
fn local_planes_are_least_squares() {
    let (x, y) = regression(60, 2, 2);
    let settings = IndexRegressor { widths: vec![0.6], ..IndexRegressor::new(sir()) };
    let model = settings.fit(&x, &y).unwrap();
    let index = model.reduction.transform(&x).unwrap().column(0).to_owned();
    let index = &index / (index.dot(&index) / 60.0).sqrt();
    let found = model.predict(&x).unwrap();
    for (point, found) in index.iter().zip(&found) {
        let mut s = [0.0; 5];
        for (a, y) in index.iter().zip(&y) {
            let u = a - point;
            let w = (-0.5 * u * u / 0.36_f64).exp();
            [w, w * u, w * u * u, w * y, w * u * y].iter().zip(&mut s).for_each(|(v, s)| *s += v);
        }
        let ridge = 1e-3 * s[0];
        let (a, b, c) = (s[0], s[1], s[2] + ridge);
        let level = (c * s[3] - b * s[4]) / (a * c - b * b);
        assert!((found - level).abs() < 1e-6 * level.abs().max(1.0), "{found} {level}");
    }
}

#[test]
fn scores_of_far_rows_are_numbers_or_errors() {
    let eye = Array2::<f64>::eye(2);
    let part = Component { weight: 1.0, mean: Array1::zeros(2), covariance: eye.clone() };
    let mixture = GaussianMixture::new(vec![part]).unwrap();
    let student = fenchel_moments::score::StudentT::new(Array1::zeros(2), eye.view(), 3.0).unwrap();
    let gaussian = Gaussian::standard(2).unwrap();
    let learned = ScoreMatching { bandwidth: Bandwidth::Relative(1.0), ..Default::default() };
    let learned = learned.fit(&normal(50, 2, 1)).unwrap();
    let scores: [&dyn fenchel_moments::score::SecondOrderScore; 4] =
        [&mixture, &student, &gaussian, &learned];
    for far in [1e10, 1e160, 1e300, 1.7e308] {
        let x = array![[far, -far]];
        for score in scores {
            if let Ok(found) = score.score1(x.view()) {
                assert!(found.iter().all(|v| v.is_finite()), "{far:e}");
            }
            if let Ok(found) = score.score2_sum(x.view(), array![1.0].view()) {
                assert!(found.iter().all(|v| v.is_finite()), "{far:e}");
            }
        }
    }
}
