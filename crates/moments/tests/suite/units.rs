//! Units and origins: they move no answer; where squares leave the range of numbers, an error says so.

use fenchel_moments::ellipticity::Ellipticity;
use fenchel_moments::gmm::{Moments, gaussian_single_index, method_of_moments};
use fenchel_moments::sade::SliceEstimator;
use fenchel_moments::score::Gaussian;
use fenchel_moments::{
    Ade, Components, DirectionalRegression, Error, Fit, IndexRegressor, LassoSir, LearnedSade,
    Mave, Opg, Phd, PhdPlus, Reduction, Sade, Save, Sir, SliceMoments, Slicing, Sphd, Stop,
    trace_error,
};
use ndarray::{Array1, Array2, ArrayView1, Axis, array};

use crate::common::{close, normal, regression};

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

type FitFn = fn(&Array2<f64>, &Array1<f64>) -> Result<Reduction, Error>;

/// All methods that do not depend on the units of the features.
const INVARIANT: [(&str, FitFn); 8] = [
    ("SIR", |x, y| sir().fit(x, y)),
    ("SAVE", |x, y| Save { components: ONE, ..Save::default() }.fit(x, y)),
    ("DR", |x, y| DirectionalRegression { components: ONE, ..Default::default() }.fit(x, y)),
    ("pHd", |x, y| Phd { components: ONE, ..Phd::default() }.fit(x, y)),
    ("OPG", |x, y| Opg { components: ONE, base_points: 20 }.fit(x, y)),
    ("MAVE", |x, y| {
        Mave {
            directions: 1,
            base_points: 20,
            stop: Stop { max_passes: 4.0, ..Mave::default().stop },
        }
        .fit(x, y)
    }),
    ("SADE", |x, y| LearnedSade { components: ONE, ..LearnedSade::default() }.fit(x, y)),
    ("lasso-SIR", |x, y| LassoSir::default().fit(x, y)),
];

/// Another unit of all columns leaves the directions; where their squares are no numbers any more, the error names a column
/// and its size.
#[test]
fn extreme_units_are_answered_or_named() {
    let (x, y) = regression(100, 3, 1);
    for (name, fit) in INVARIANT {
        let plain = fit(&x, &y).unwrap();
        for power in [-300, -170, -160, -155, -150, -100, 100, 150, 153, 155, 200, 300] {
            let scaled = fit(&(&x * 10f64.powi(power)), &y);
            match scaled {
                Ok(model) => {
                    let error = trace_error(model.directions.view(), plain.directions.view());
                    assert!(error.unwrap() < 1e-12, "{name} 1e{power}");
                }
                Err(error) => {
                    let error = error.to_string();
                    let words = [" varies by ", "use a unit"];
                    assert!(words.iter().all(|w| error.contains(w)), "{name} 1e{power}: {error}");
                    assert!(power.abs() > 150 && name != "lasso-SIR", "{name} 1e{power}: {error}");
                }
            }
        }
        let one = &x * &array![1.0, 1e-200, 1.0];
        match fit(&one, &y) {
            Ok(_) => assert_eq!(name, "lasso-SIR"),
            Err(error) => {
                assert!(error.to_string().contains("column 1 varies by"), "{name}: {error}")
            }
        }
    }
    let predict = |x: &Array2<f64>| {
        let widths = vec![0.5];
        let model = IndexRegressor { widths, ..IndexRegressor::new(sir()) }.fit(x, &y).unwrap();
        model.predict(x).unwrap().insert_axis(Axis(0))
    };
    for power in [-153, 152] {
        close(predict(&(&x * 10f64.powi(power))).view(), predict(&x).view(), 1e-9);
    }
    let mut moments = SliceMoments::new(vec![0.5, 1.5], 3).unwrap();
    moments.partial_fit(&(&x * 1e-170), &y).unwrap();
    told(sir().fit_moments(&moments), "column 0 varies by");
    told(Save::default().fit_moments(&moments), "column 0 varies by");
    // Columns of bases of any size span what they span.
    let basis = normal(5, 2, 3);
    let tiny = &basis * &array![1e-200, 1e200];
    assert!(trace_error(basis.view(), tiny.view()).unwrap() < 1e-24);
}

/// Centred scores do not depend on the origin of the scores: `x + 1e6` is rounded to 1e-10, squares of 1e6 would lose 1e-4.
#[test]
fn centred_scores_have_no_origin() {
    let (x, y) = regression(300, 3, 1);
    let score = Gaussian::standard(3).unwrap();
    for standardise in [false, true] {
        for estimator in [SliceEstimator::Means, SliceEstimator::Unbiased] {
            let sade = Sade { centre_scores: true, standardise, estimator, ..Sade::default() };
            let (near, far) =
                (sade.fit(&x, &y, &score).unwrap(), sade.fit(&(&x + 1e6), &y, &score));
            let far = far.unwrap();
            close(far.loadings.view(), near.loadings.view(), 1e-7);
            close(
                far.eigenvalues.view().insert_axis(Axis(0)),
                near.eigenvalues.view().insert_axis(Axis(0)),
                1e-7,
            );
            let matrix = |x: &Array2<f64>| sade.moment_matrix(x, &y).unwrap();
            close(matrix(&(&x + 1e6)).view(), matrix(&x).view(), 1e-7);
        }
    }
}

/// `0.1` has no mean that is exactly itself: rounding is no feature.
#[test]
fn a_constant_column_is_constant_up_to_rounding() {
    let (mut x, y) = regression(77, 3, 1);
    x.column_mut(1).fill(0.1);
    told(LassoSir::default().fit(&x, &y), "columns [1] are constant");
    told(sir().fit(&x, &y), "columns [1] are constant");
}

#[test]
fn means_of_responses_do_not_depend_on_their_unit() {
    let (x, y) = regression(200, 3, 1);
    let score = Gaussian::standard(3).unwrap();
    let fits = |y: &Array1<f64>| {
        [
            Phd { components: ONE, ..Phd::default() }.fit(&x, y),
            PhdPlus { components: ONE, ..PhdPlus::default() }.fit(&x, y, &score),
            Ade::default().fit(&x, y, &score),
            Sade { weight_by_response: true, ..Sade::default() }.fit(&x, y, &score),
            Sphd { weight_by_response: true, ..Sphd::default() }.fit(&x, y, &score),
        ]
    };
    for unit in [2f64.powi(-500), 2f64.powi(500), 2f64.powi(1000)] {
        for (scaled, plain) in fits(&(&y * unit)).into_iter().zip(fits(&y)) {
            let plain = plain.unwrap();
            match scaled {
                Ok(scaled) => {
                    assert_eq!(scaled.loadings, plain.loadings, "{}", plain.method);
                    let linear = plain.method == "pHd" || plain.method == "PHD+";
                    let factor = if linear { unit } else { unit * unit };
                    assert_eq!(scaled.eigenvalues, &plain.eigenvalues * factor);
                }
                // The eigenvalues of the others are squares.
                Err(error) => {
                    assert!(unit > 1e300 && !["pHd", "PHD+"].contains(&plain.method.as_str()));
                    assert!(error.to_string().contains("eigenvalues: inf"), "{error}");
                }
            }
        }
    }
}

/// Mean and second moment of a normal distribution.
struct Normal;

impl Moments for Normal {
    fn parameters(&self) -> usize {
        2
    }

    fn moments(&self) -> usize {
        2
    }

    fn value(&self, t: ArrayView1<f64>) -> Array1<f64> {
        array![t[0], t[0] * t[0] + t[1]]
    }

    fn jacobian(&self, t: ArrayView1<f64>) -> Array2<f64> {
        array![[1.0, 0.0], [2.0 * t[0], 1.0]]
    }
}

/// Small units are no solution by themselves, and a small variance beside a large mean has the digits that the moments have.
#[test]
fn moments_are_solved_in_their_units() {
    for (mean, variance, start) in [
        (3.0, 4.0, [0.0, 1.0]),
        (3e-12, 4e-24, [0.0, 0.0]),
        (3e-12, 4e-24, [1.0, 1.0]),
        (3e100, 4e200, [0.0, 1.0]),
        (1e6, 0.1, [0.0, 1.0]),
        (0.0, 1e-20, [1.0, 1.0]),
    ] {
        let second = mean * mean + variance;
        let found = method_of_moments(
            &Normal,
            array![mean, second].view(),
            array![start[0], start[1]].view(),
        );
        let found = found.unwrap();
        let rounding = 4.0 * f64::EPSILON * second;
        assert!((found[0] - mean).abs() <= 4.0 * f64::EPSILON * mean.abs(), "{mean}: {found}");
        assert!((found[1] - variance).abs() <= rounding, "{mean} {variance}: {found}");
    }
    told(method_of_moments(&Normal, array![f64::NAN, 1.0].view(), array![0.0, 1.0].view()), "NaN");
    // A regression whose responses are near the largest number.
    let (x, y) = regression(100, 2, 1);
    let plain = gaussian_single_index(&x, &y).unwrap();
    for unit in [2f64.powi(1018), 2f64.powi(-900)] {
        assert_eq!(gaussian_single_index(&x, &(&y * unit)).unwrap(), &plain * unit);
    }
}

#[test]
fn levels_and_weights_are_in_range() {
    let (x, y) = regression(60, 2, 1);
    let found = Ellipticity::new(&x).unwrap();
    for level in [0.0, 1.0, 95.0, -1.0, f64::NAN] {
        told(found.advice(level), &format!("level = {level}"));
    }
    let fit = |w: f64| sir().fit_with(&x, &y, Fit::new().weights(&Array1::from_elem(60, w)));
    for w in [1e308, 1e-300] {
        told(fit(w), "multiply all so that the largest is near 1");
    }
    for w in [1e250, 1e-250] {
        close(fit(w).unwrap().loadings.view(), fit(1.0).unwrap().loadings.view(), 1e-9);
    }
}
