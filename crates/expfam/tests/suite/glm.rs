//! Generalised linear models against fits in numpy, and their properties.

use fenchel_expfam::Error;
use fenchel_expfam::glm::*;
use fenchel_optim::model::Saved;
use fenchel_optim::{Status, Stop};
use ndarray::{Array2, array};

/// Estimates, standard errors, p-values (intercept first); dispersion, null deviance, deviance, AIC.
/// `tests/reference/glm.py` makes the rows by iteratively reweighted least squares.
#[rustfmt::skip]
const REFERENCE: [[&[f64]; 4]; 5] = [
        // binomial
        [&[-1.158182673079e+00, -7.172342040875e-02, 1.711826982063e+00], &[8.469051763619e-01, 4.465224599051e-01, 1.105210940170e+00], &[1.714539012164e-01, 8.723874399211e-01, 1.214132103898e-01], &[1.000000000000e+00, 6.444345769962e+01, 6.178551360505e+01, 6.778551360505e+01]],
        // poisson
        [&[8.549305749676e-01, 6.873944677628e-02, 2.000666923042e-01], &[3.032894272712e-01, 1.620418096744e-01, 3.880671963316e-01], &[4.819446416222e-03, 6.714140604769e-01, 6.061711711333e-01], &[1.000000000000e+00, 8.891569973605e+01, 8.851436118547e+01, 1.486147580177e+02]],
        // gaussian
        [&[8.800055080829e-01, -2.629136083628e-01, 5.070429152541e-01], &[6.632789216316e-01, 3.518552207575e-01, 8.565867390892e-01], &[1.988386293344e-01, 4.632153675517e-01, 5.602142032815e-01], &[2.773896767380e+00, 6.121916666667e+01, 5.825183211497e+01, 8.305629498130e+01]],
        // gamma
        [&[-5.074426158378e-01, -4.881398935825e-02, 1.569950723235e-01], &[1.248325280686e-01, 6.911096479576e-02, 1.691654821743e-01], &[5.562524498799e-04, 4.877564792285e-01, 3.639233119405e-01], &[2.279811145990e-01, 6.881456546377e+00, 6.549383585765e+00, 7.389621691895e+01]],
        // inverse gaussian
        [&[-1.083267495683e-01, -2.370633411798e-02, 5.574226712773e-02], &[5.318827102149e-02, 2.889839151375e-02, 7.021259287219e-02], &[5.448743291066e-02, 4.212401362641e-01, 4.361294254579e-01], &[1.871912897622e-01, 7.691541791542e+00, 7.416380746804e+00, 7.539024155340e+01]],
];

struct Data {
    x: Array2<f64>,
    weights: Vec<f64>,
    offset: Vec<f64>,
}

/// The data of the script.
fn data() -> Data {
    let i = || 0..24_i32;
    Data {
        x: Array2::from_shape_fn((24, 2), |(i, j)| {
            let i = i as i32;
            if j == 0 { f64::from((7 * i) % 24) / 10.0 } else { f64::from((5 * i + 3) % 11) / 11.0 }
        }),
        weights: i().map(|i| 1.0 + f64::from(i % 3)).collect(),
        offset: i().map(|i| 0.1 * f64::from((3 * i) % 5)).collect(),
    }
}

fn check<F: ScalarFamily + Clone>(
    reference: [&[f64]; 4],
    family: F,
    y: impl Fn(i32) -> f64,
    weighted: bool,
    shifted: bool,
) -> GlmModel<F> {
    let Data { x, weights, offset } = data();
    let y: Vec<f64> = (0..24).map(y).collect();
    let fitted = Glm::new(family)
        .fit_weighted(&x, &y, weighted.then_some(&weights[..]), shifted.then_some(&offset[..]))
        .unwrap();
    assert_eq!(fitted.report.status, Status::Converged, "{}", F::NAME);
    let s = fitted.summary();
    let close = |what: &str, found: f64, expected: f64, tolerance: f64| {
        let off = (found - expected).abs();
        assert!(
            off <= tolerance * expected.abs(),
            "{} {what}: {found}, expected {expected}",
            F::NAME
        );
    };
    for (j, c) in s.coefficients.iter().enumerate() {
        close("estimate", c.estimate, reference[0][j], 1e-7);
        close("standard error", c.standard_error, reference[1][j], 1e-7);
        close("p-value", c.p_value, reference[2][j], 1e-6);
    }
    let found = [s.dispersion, s.null_deviance, s.deviance, s.aic];
    for (k, found) in found.into_iter().enumerate() {
        close(["dispersion", "null deviance", "deviance", "AIC"][k], found, reference[3][k], 1e-9);
    }
    assert_eq!((s.null_degrees, s.residual_degrees), (23, 21));
    fitted
}

#[test]
fn fits_agree_with_reweighted_least_squares() {
    let positive = |i: i32| 0.5 + f64::from((11 * i) % 13) / 4.0;
    check(REFERENCE[0], Logistic, |i| if (3 * i) % 7 < 3 { 1.0 } else { 0.0 }, true, false);
    check(REFERENCE[1], LogLinear, |i| f64::from((5 * i * i) % 9), false, true);
    check(REFERENCE[2], Identity, |i| 0.3 * f64::from((11 * i) % 13) - 1.0, true, true);
    check(REFERENCE[3], Reciprocal, positive, false, false);
    let model = check(REFERENCE[4], InverseSquare, positive, true, false);
    let text = model.summary().to_string();
    assert!(
        text.contains("(intercept)")
            && text.contains("residual deviance")
            && text.contains("t value"),
        "{text}"
    );
    let mut file = vec![];
    model.save(&mut file).unwrap();
    assert_eq!(GlmModel::<InverseSquare>::load(&file[..]).unwrap(), model);
    let mean = model.predict(&data().x).unwrap();
    assert!(mean.iter().all(|m| *m > 0.0));
}

#[test]
fn a_whole_weight_is_as_good_as_copies() {
    let x = array![[0.5], [1.0], [2.0], [2.5]];
    let y = [1.0, 0.0, 3.0, 2.0];
    let weighted =
        Glm::new(LogLinear).fit_weighted(&x, &y, Some(&[2.0, 1.0, 1.0, 1.0]), None).unwrap();
    let copied = array![[0.5], [0.5], [1.0], [2.0], [2.5]];
    let plain = Glm::new(LogLinear).fit(&copied, &[1.0, 1.0, 0.0, 3.0, 2.0]).unwrap();
    assert!((weighted.coefficients[0] - plain.coefficients[0]).abs() < 1e-8);
    let (a, b) = (&weighted.summary, &plain.summary);
    assert!((a.coefficients[1].standard_error - b.coefficients[1].standard_error).abs() < 1e-8);
    assert!((a.deviance - b.deviance).abs() < 1e-9);
}

#[test]
fn bad_input_and_data_without_an_optimum() {
    let x = array![[0.0], [1.0], [2.0], [3.0]];
    let glm = Glm::new(Logistic);
    assert!(matches!(glm.fit(&x, &[1.0; 4]), Err(Error::BoundaryMean { .. })));
    assert!(matches!(glm.fit(&x, &[0.0, 2.0, 0.0, 1.0]), Err(Error::Invalid(_))));
    assert!(glm.fit(&x, &[0.0, 1.0]).is_err());
    assert!(
        glm.fit_weighted(&x, &[0.0, 1.0, 0.0, 1.0], Some(&[1.0, 1.0, -1.0, 1.0]), None).is_err()
    );
    assert!(glm.fit_weighted(&x, &[0.0, 1.0, 0.0, 1.0], None, Some(&[f64::NAN; 4])).is_err());
    let twice = array![[0.0, 0.0], [1.0, 2.0], [2.0, 4.0], [3.0, 6.0]];
    let refused = glm.fit(&twice, &[0.0, 1.0, 0.0, 1.0]);
    assert!(matches!(&refused, Err(e) if e.to_string().contains("rank")), "{refused:?}");
    // Separable: the likelihood has no maximum; a penalty gives it one.
    let separable = [0.0, 0.0, 1.0, 1.0];
    let few = Glm { stop: Stop { max_passes: 30.0, ..glm.stop }, ..glm.clone() };
    if let Ok(model) = few.fit(&x, &separable) {
        assert!(model.report.status != Status::Converged || model.coefficients[0] > 15.0);
    }
    let ridge = Glm { l2: 0.1, ..glm };
    let fitted = ridge.fit(&x, &separable).unwrap();
    assert_eq!(fitted.report.status, Status::Converged);
    // The gradient of the penalised mean loss vanishes.
    let p = fitted.predict(&x).unwrap();
    let slope: f64 = (0..4).map(|i| 0.25 * (p[i] - separable[i]) * x[[i, 0]]).sum();
    assert!((slope + 0.1 * fitted.coefficients[0]).abs() < 1e-9);
    assert!(fitted.predict(&array![[1.0, 2.0]]).is_err());
}

/// Offsets of any size: the null model ends, and its deviance is a number that a file keeps.
#[test]
fn null_models_with_large_offsets_end() {
    let x = Array2::from_shape_fn((6, 1), |(i, _)| i as f64);
    for shift in [-800.0, -100.0, -40.0, -20.0, 20.0, 100.0] {
        let offset = [shift, 0.0, 0.0, 0.0, 0.0, 0.0];
        let y = [1.0, 0.0, 1.0, 0.0, 1.0, 0.0];
        let fitted = Glm::new(Logistic).fit_weighted(&x, &y, None, Some(&offset)).unwrap();
        let null = fitted.summary.null_deviance;
        assert!(null.is_finite() && null >= fitted.summary.deviance - 1e-6, "{shift}: {null}");
        let mut file = vec![];
        fitted.save(&mut file).unwrap();
        assert_eq!(GlmModel::<Logistic>::load(&file[..]).unwrap(), fitted);
    }
}

#[test]
fn deviances_at_the_border_are_numbers() {
    assert_eq!(Logistic.deviance(0.0, 0.0), 0.0);
    assert_eq!(Logistic.deviance(1.0, 1.0), 0.0);
    assert_eq!(Logistic.deviance_at(1.0, -800.0), 1600.0);
    assert_eq!(LogLinear.deviance_at(1.0, -800.0), 2.0 * 799.0);
    assert!(
        (Logistic.deviance_at(0.3, 0.7) - Logistic.deviance(0.3, Logistic.mean(0.7))).abs() < 1e-14
    );
}

#[test]
fn as_many_coefficients_as_rows_leave_no_dispersion() {
    let x = array![[0.0], [1.0]];
    let fitted = Glm::new(Identity).fit(&x, &[1.0, 3.0]).unwrap();
    assert_eq!(fitted.summary.residual_degrees, 0);
    assert!(fitted.summary.dispersion.is_nan());
    assert!(fitted.summary.coefficients.iter().all(|c| c.p_value.is_nan()));
    let mut file = vec![];
    fitted.save(&mut file).unwrap();
    let loaded = GlmModel::<Identity>::load(&file[..]).unwrap();
    assert_eq!(format!("{loaded:?}"), format!("{fitted:?}"));
    assert!(fitted.summary.to_string().contains("t value"));
}

#[test]
fn a_model_is_not_loaded_as_one_of_another_family() {
    let x = Array2::from_shape_fn((6, 1), |(i, _)| i as f64);
    let fitted = Glm::new(LogLinear).fit(&x, &[1.0, 0.0, 2.0, 3.0, 5.0, 9.0]).unwrap();
    let mut file = vec![];
    fitted.save(&mut file).unwrap();
    let refused = GlmModel::<Logistic>::load(&file[..]).unwrap_err().to_string();
    assert!(refused.contains("poisson"), "{refused}");
}

#[test]
fn separated_data_say_so() {
    let x = Array2::from_shape_fn((6, 1), |(i, _)| i as f64);
    let far = x.mapv(|x| 1000.0 * x);
    for x in [&x, &far] {
        let fitted = Glm::new(Logistic).fit(x, &[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]).unwrap();
        assert_eq!(fitted.report.status, Status::NoMinimiser);
        assert!(fitted.summary.to_string().contains("warning: the likelihood has no maximum"));
    }
    let ones = Glm { intercept: false, ..Glm::new(Logistic) }.fit(&x, &[1.0; 6]).unwrap();
    assert_eq!(ones.report.status, Status::NoMinimiser);
    // The hyperplane goes through two rows.
    let on = array![[0.0], [1.0], [2.0], [2.0], [3.0], [4.0]];
    let quasi = Glm::new(Logistic).fit(&on, &[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]).unwrap();
    assert!(quasi.summary.to_string().contains("warning"), "{}", quasi.summary);
    let counts = Glm::new(LogLinear).fit(&x, &[0.0, 0.0, 0.0, 0.0, 0.0, 1e6]).unwrap();
    assert!(counts.summary.to_string().contains("warning"), "{}", counts.summary);
    let fine = Glm::new(Logistic).fit(&x, &[0.0, 1.0, 0.0, 1.0, 0.0, 1.0]).unwrap();
    assert_eq!(fine.report.status, Status::Converged);
    assert!(!fine.summary.to_string().contains("warning"));
}

#[test]
fn units_of_the_targets_do_not_change_the_fit() {
    let x = Array2::from_shape_fn((6, 1), |(i, _)| i as f64);
    let y = [1.0, 0.0, 2.0, 3.0, 5.0, 9.0];
    let (line, log) =
        (Glm::new(Identity).fit(&x, &y).unwrap(), Glm::new(LogLinear).fit(&x, &y).unwrap());
    for unit in [1e-12, 1e-6, 1e8, 1e10] {
        let y: Vec<f64> = y.iter().map(|y| unit * y).collect();
        let scaled = Glm::new(Identity).fit(&x, &y).unwrap();
        assert_eq!(scaled.report.status, Status::Converged, "{unit}");
        assert!((scaled.coefficients[0] / unit - line.coefficients[0]).abs() < 1e-8, "{unit}");
        let scaled = Glm::new(LogLinear).fit(&x, &y).unwrap();
        assert_eq!(scaled.report.status, Status::Converged, "{unit}");
        assert!((scaled.coefficients[0] - log.coefficients[0]).abs() < 1e-8, "{unit}");
    }
}

#[test]
fn a_repeated_column_leaves_the_rank_of_the_others() {
    let x = Array2::from_shape_fn((6, 2), |(i, _)| i as f64);
    let refused = Glm::new(Identity).fit(&x, &[1.0, 0.0, 2.0, 3.0, 5.0, 9.0]).unwrap_err();
    assert!(refused.to_string().contains("rank 2; expected 3"), "{refused}");
}
