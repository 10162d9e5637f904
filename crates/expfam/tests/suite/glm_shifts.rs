//! Columns far from 0, data that determine less than is asked for, and files: generalised linear models.

use fenchel_expfam::Error;
use fenchel_expfam::glm::*;
use fenchel_linalg::{CsrMatrix, Invalid};
use fenchel_optim::model::Saved;
use fenchel_optim::{Fit, Refusal, Status, Stop};
use ndarray::{Array2, array};

fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance * expected.abs(), "{what}: {found} {expected}");
}

/// The same fit for a column and its shift: estimates, standard errors, certificate. The intercept is `b - shift * beta`, and its
/// variance is `Var b - 2 shift Cov + shift^2 Var beta`, of which the last term is all but 1e-6 of the whole.
fn check_shift<F: ScalarFamily + Clone>(family: F, y: &[f64], weights: &[f64], offset: &[f64]) {
    let n = y.len();
    // Whole numbers, so that shifts are exact.
    let x = Array2::from_shape_fn((n, 2), |(i, j)| {
        if j == 0 { ((7 * i) % 11) as f64 - 5.0 } else { ((5 * i * i) % 13) as f64 - 6.0 }
    });
    let glm = Glm::new(family);
    let targets = Targets::new(y).offset(offset);
    let fit =
        |x: &Array2<f64>| glm.fit_with(x, targets.clone(), Fit::new().weights(weights)).unwrap();
    let near = fit(&x);
    let [first, second] = [&near.summary.coefficients[1], &near.summary.coefficients[2]];
    for shift in [1e6, 2e9] {
        let far = fit(&(&x + &array![[shift, 0.0]]));
        let name = format!("{} {shift}", F::NAME);
        assert_eq!((far.report.status, near.report.status), (Status::Converged, Status::Converged));
        for (found, expected) in
            [(&far.summary.coefficients[1], first), (&far.summary.coefficients[2], second)]
        {
            close(found.estimate, expected.estimate, 1e-8, &name);
            close(found.standard_error, expected.standard_error, 1e-8, &name);
            close(found.p_value, expected.p_value, 1e-6, &name);
        }
        close(far.intercept, near.intercept - shift * near.coefficients[0], 1e-8, &name);
        close(
            far.summary.coefficients[0].standard_error,
            shift * first.standard_error,
            2e-5,
            &name,
        );
        close(far.summary.deviance, near.summary.deviance, 1e-12, &name);
        close(far.summary.aic, near.summary.aic, 1e-12, &name);
        close(
            far.report.certificate.objective().unwrap(),
            near.report.certificate.objective().unwrap(),
            1e-12,
            &name,
        );
        assert_eq!(
            std::mem::discriminant(&far.report.certificate),
            std::mem::discriminant(&near.report.certificate)
        );
        // Predictions carry the rounding of x beta and b, of 2e9 beta.
        let error = 4.0 * f64::EPSILON * shift * near.coefficients[0].abs();
        let eta = far.predict_natural(&(&x + &array![[shift, 0.0]])).unwrap();
        let before = near.predict_natural(&x).unwrap();
        assert!((&eta - &before).iter().all(|d| d.abs() <= error + 1e-8), "{name}");
    }
}

#[test]
fn a_shift_of_a_column_changes_the_intercept_alone() {
    let n = 30;
    let weights: Vec<f64> = (0..n).map(|i| (i % 4) as f64).collect();
    let offset: Vec<f64> = (0..n).map(|i| 0.1 * ((3 * i) % 5) as f64).collect();
    let down: Vec<f64> = offset.iter().map(|o| -0.01 * o).collect();
    let counts: Vec<f64> = (0..n).map(|i| ((5 * i * i) % 9) as f64).collect();
    let heads: Vec<f64> = counts.iter().map(|c| f64::from(u8::from(*c > 3.0))).collect();
    let positive: Vec<f64> = (0..n).map(|i| 0.5 + ((11 * i) % 13) as f64 / 4.0).collect();
    check_shift(Logistic, &heads, &weights, &offset);
    check_shift(PoissonLog, &counts, &weights, &offset);
    check_shift(Identity, &counts, &weights, &offset);
    check_shift(Reciprocal, &positive, &weights, &down);
    check_shift(InverseSquare, &positive, &weights, &down);
    check_shift(NegativeBinomialLog { size: 1.5 }, &counts, &weights, &offset);
    check_shift(NegativeBinomialCanonical { size: 1.5 }, &counts, &weights, &down);
}

/// `x = 1e8 + 1..4`: the slope of least squares is 11/10. Its standard error is `sqrt(s2 / Sxx)`, that of the intercept
/// `sqrt(s2 (1/n + mean^2 / Sxx))`, with `Sxx = 5` and `s2 = 2.7 / 2`.
#[test]
fn least_squares_far_from_zero_are_those_of_the_closed_form() {
    for shift in [0.0, 1e6, 1e8, 2e9] {
        let x = Array2::from_shape_fn((4, 1), |(i, _)| shift + 1.0 + i as f64);
        let fitted = Glm::new(Identity).fit(&x, &[1.0, 3.0, 2.0, 5.0]).unwrap();
        assert_eq!(fitted.report.status, Status::Converged);
        let [intercept, slope] = &fitted.summary.coefficients[..] else { panic!("two rows") };
        close(slope.estimate, 1.1, 1e-14, "slope");
        close(slope.standard_error, (1.35_f64 / 5.0).sqrt(), 1e-13, "its error");
        let mean = shift + 2.5;
        assert!((intercept.estimate - (2.75 - 1.1 * mean)).abs() <= 1e-14 * mean, "{intercept:?}");
        let variance = 1.35 * (0.25 + mean * mean / 5.0);
        close(intercept.standard_error, variance.sqrt(), 1e-13, "its error");
    }
    let far = Array2::from_shape_fn((4, 1), |(i, _)| 1e8 + 1.0 + i as f64);
    let near = &far - 1e8;
    let counts = [1.0, 3.0, 2.0, 5.0];
    let slope = |x| Glm::new(PoissonLog).fit(x, &counts).unwrap().coefficients[0];
    close(slope(&far), slope(&near), 1e-12, "counts");
    let slope = |x| Glm::new(Logistic).fit(x, &[0.0, 1.0, 0.0, 1.0]).unwrap().coefficients[0];
    close(slope(&far), slope(&near), 1e-12, "labels");
}

/// A nearly full sparse column far from 0, beside one with few entries: as the same numbers in a dense matrix, and around 0.
#[test]
fn sparse_columns_are_centred_too() {
    let n = 300;
    let near = Array2::from_shape_fn((n, 3), |(i, j)| match j {
        0 => f64::from(u8::from(i % 10 == 3)),
        1 => ((7 * i) % 11) as f64 - 5.0,
        _ => ((5 * i * i) % 13) as f64,
    });
    let dense = &near + &array![[0.0, 1e7, 0.0]];
    let (mut offsets, mut columns, mut values) = (vec![0], vec![], vec![]);
    for row in dense.outer_iter() {
        for (j, &v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            columns.push(j as u32);
            values.push(v);
        }
        offsets.push(columns.len());
    }
    let sparse = CsrMatrix::new((n, 3), offsets, columns, values);
    let y: Vec<f64> = (0..n).map(|i| ((i * i) % 5) as f64).collect();
    let glm = Glm::new(PoissonLog);
    let fits = [glm.fit(&sparse, &y).unwrap(), glm.fit(&dense, &y).unwrap()];
    let expected = glm.fit(&near, &y).unwrap();
    for fitted in fits {
        assert_eq!(fitted.report.status, Status::Converged);
        for (a, b) in fitted.summary.coefficients.iter().zip(&expected.summary.coefficients).skip(1)
        {
            close(a.estimate, b.estimate, 1e-8, &a.name);
            close(a.standard_error, b.standard_error, 1e-8, &a.name);
        }
    }
    // A column with rows without an entry, all others far away: its mean is no place of its own.
    let mut holes = dense.clone();
    holes[[0, 1]] = 0.0;
    let fitted = glm.fit(&holes, &y).unwrap();
    assert_eq!(fitted.report.status, Status::Converged);
    let mean = fitted.predict(&holes).unwrap();
    // The row alone decides the slope: its mean is the target 0, or nearly.
    assert!(mean[0] < 1.0, "{}", mean[0]);
}

#[test]
fn a_constant_column_far_from_zero_is_the_intercept() {
    let y = [1.0, 3.0, 2.0, 5.0];
    for constant in [1e8, 0.1, 1e9 / 3.0] {
        let x = Array2::from_shape_fn((4, 2), |(i, j)| if j == 0 { i as f64 } else { constant });
        let refused = Glm::new(Identity).fit(&x, &y).unwrap_err();
        let expected =
            "rank 2; expected 3 independent columns; column 1 is constant, as the intercept is";
        assert!(refused.to_string().contains(expected), "{refused}");
        // Without an intercept it is one.
        let without = Glm { intercept: false, ..Glm::new(Identity) }.fit(&x, &y).unwrap();
        close(without.coefficients[0], 1.1, 1e-10, "slope");
        let ridge = Glm { l2: 0.1, ..Glm::new(Identity) }.fit(&x, &y).unwrap();
        assert_eq!((ridge.report.status, ridge.coefficients[1]), (Status::Converged, 0.0));
    }
    // 0.3 in two ways of rounding is a constant.
    let x = array![[0.1 + 0.2, 0.0], [0.3, 1.0], [0.1 + 0.2, 2.0], [0.3, 3.0]];
    assert!(Glm::new(Identity).fit(&x, &y).is_err());
}

/// With as many rows as coefficients the dispersion is free: the likelihood is unbounded in it, whatever is left of the residuals.
#[test]
fn without_residual_degrees_there_is_no_likelihood() {
    let fitted = Glm::new(Identity).fit(&array![[1.0], [2.0]], &[3.0, 5.0]).unwrap();
    let s = &fitted.summary;
    assert!(s.dispersion.is_nan() && s.log_likelihood.is_nan() && s.aic.is_nan(), "{s:?}");
    let positive = Glm::new(Reciprocal).fit(&array![[1.0], [2.0]], &[3.0, 5.0]).unwrap().summary;
    assert!(positive.log_likelihood.is_nan() && positive.aic.is_nan());
    // A perfect fit of more rows has none either.
    let x = array![[0.0], [1.0], [2.0], [3.0], [0.1]];
    let line = Glm::new(Identity).fit(&x, &[0.3, 0.4, 0.5, 0.6, 0.31]).unwrap().summary;
    assert!(line.aic.is_nan() && line.log_likelihood.is_nan(), "{line:?}");
    // Known dispersions have one: two coins, both as likely as not.
    let heads = Glm::new(Logistic).fit_with(
        &array![[0.0], [1.0]],
        &[0.5, 0.5],
        Fit::new().weights(&[2.0, 2.0]),
    );
    close(heads.unwrap().summary.log_likelihood, -2.0 * 2f64.ln(), 1e-12, "coins");
}

/// The status says more than `Converged` wherever the summary warns, and a far row alone is no reason to warn.
#[test]
fn statuses_and_warnings_agree() {
    let on = array![[0.0], [1.0], [2.0], [2.0], [3.0], [4.0]];
    let labels = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0];
    let x = Array2::from_shape_fn((6, 1), |(i, _)| i as f64);
    let mut zeros = [0.0; 6];
    for last in [1.0, 30.0, 1e6] {
        zeros[5] = last;
        let counts = Glm::new(PoissonLog).fit(&x, &zeros).unwrap();
        assert_ne!(counts.report.status, Status::Converged, "{last}");
        assert!(counts.summary.to_string().contains("warning"), "{last}");
        let counts = Glm::new(NegativeBinomialLog { size: 2.0 }).fit(&x, &zeros).unwrap();
        assert_ne!(counts.report.status, Status::Converged, "{last}");
        assert!(counts.summary.to_string().contains("warning"), "{last}");
    }
    let quasi = Glm::new(Logistic).fit(&on, &labels).unwrap();
    assert_ne!(quasi.report.status, Status::Converged, "{quasi:?}");
    assert!(quasi.summary.to_string().contains("warning"));
    // The slope is that of the ordinary rows; the last one is 100 of their spreads away.
    let far = array![[0.0], [1.0], [2.0], [3.0], [300.0]];
    let fine = Glm::new(Logistic).fit(&far, &[0.0, 1.0, 0.0, 1.0, 1.0]).unwrap();
    assert_eq!((fine.report.status, fine.summary.at_border), (Status::Converged, 1));
    assert!(!fine.summary.to_string().contains("warning"), "{}", fine.summary);
}

/// The status is about the certificate in the report.
#[test]
fn a_converged_report_meets_its_stopping_rule() {
    let x = Array2::from_shape_fn((40, 2), |(i, j)| (((3 + 4 * j) * i * i + i) % 17) as f64);
    for unit in [1.0, 1e-6, 1e6] {
        let y: Vec<f64> = (0..40).map(|i| unit * ((5 * i * i) % 9) as f64).collect();
        for passes in 0..12 {
            for absolute in [0.0, 1e-10, 1e-3, 1.0] {
                let default = Glm::new(PoissonLog);
                let stop = Stop { max_passes: f64::from(passes), absolute, ..default.stop };
                let report = Glm { stop, ..default }.fit(&x, &y).unwrap().report;
                let met = stop.met_by(&report.certificate);
                assert_eq!(met, report.status == Status::Converged, "{report}");
            }
        }
    }
}

#[test]
fn what_cannot_be_fitted_is_named() {
    let none = Array2::<f64>::zeros((3, 0));
    let refused = Glm { intercept: false, ..Glm::new(Identity) }.fit(&none, &[1.0, 2.0, 4.0]);
    assert!(
        refused.unwrap_err().to_string().contains("no columns, and the model has no intercept")
    );
    let only = Glm::new(Identity).fit(&none, &[1.0, 2.0, 4.0]).unwrap();
    close(only.intercept, 7.0 / 3.0, 1e-14, "mean");
    // An index of 2^32 - 2 in a file of a few bytes asks for the Hessian of as many columns.
    let wide = CsrMatrix::new(
        (4, u32::MAX as usize),
        vec![0, 1, 3, 4, 5],
        vec![0, 1, u32::MAX - 1, 1, 0],
        vec![1.0, 1.0, 1.0, 1.0, 2.0],
    );
    let refused = Glm::new(Logistic).fit(&wide, &[1.0, 0.0, 1.0, 0.0]).unwrap_err();
    assert!(matches!(refused, Error::Refused(Refusal::MemoryLimit { .. })), "{refused}");
    // The copy with centred columns counts as well.
    let x = Array2::from_shape_fn((200, 1), |(i, _)| 1e6 + i as f64);
    let y: Vec<f64> = (0..200).map(f64::from).collect();
    let small = |max_memory| Glm { max_memory: Some(max_memory), ..Glm::new(Identity) };
    assert!(small(1600).fit(&x, &y).is_ok());
    assert!(matches!(small(1599).fit(&x, &y), Err(Error::Refused(_))));
    let infinite =
        Glm::new(Identity).fit_with(&x, &y, Fit::new().weights(&[1e308; 200])).unwrap_err();
    assert!(matches!(infinite, Error::Invalid(Invalid::Parameter { .. })), "{infinite}");
}

#[test]
fn files_with_parts_that_contradict_each_other_are_refused() {
    let x = Array2::from_shape_fn((6, 2), |(i, j)| ((i + 1) * (i + 2 * j) % 7) as f64);
    let family = NegativeBinomialCanonical { size: 1.5 };
    let model = Glm::new(family).fit(&x, &[1.0, 0.0, 4.0, 2.0, 3.0, 1.0]).unwrap();
    let text = serde_json::to_value(&model).unwrap();
    let read = |text: &serde_json::Value| {
        serde_json::from_value::<GlmModel<NegativeBinomialCanonical>>(text.clone())
    };
    assert_eq!(read(&text).unwrap(), model);
    let mut file = vec![];
    model.save(&mut file).unwrap();
    assert_eq!(GlmModel::<NegativeBinomialCanonical>::load(&file[..]).unwrap(), model);
    for (path, value) in [
        ("/family/size", serde_json::json!(-1.0)),
        ("/family/size", serde_json::json!(0.0)),
        ("/coefficients", serde_json::json!([0.2])),
        ("/coefficients/0", serde_json::json!(7.0)),
        ("/intercept", serde_json::json!(7.0)),
        ("/summary/coefficients", serde_json::json!([])),
        ("/summary/link", serde_json::json!("log")),
    ] {
        let mut bad = text.clone();
        *bad.pointer_mut(path).unwrap() = value;
        assert!(read(&bad).is_err(), "{path}");
    }
    let log = serde_json::from_str::<NegativeBinomialLog>(r#"{"size":-1.0}"#);
    assert!(log.unwrap_err().to_string().contains("size"));
}

/// Numbers without a pattern, about normal, of size 1.
fn noise(n: usize, seed: f64) -> Vec<f64> {
    let uniform = |i: usize, k: f64| ((i as f64 + 1.0) * (12.9898 + k) + seed).sin() * 43_758.545_3;
    (0..n)
        .map(|i| (0..12).map(|k| uniform(i, f64::from(k)).rem_euclid(1.0)).sum::<f64>() - 6.0)
        .collect()
}

/// Slopes of least squares with two columns and an intercept, from the normal equations of centred numbers.
fn slopes(x: &Array2<f64>, y: &[f64]) -> [f64; 2] {
    let n = y.len() as f64;
    let column = |j: usize| {
        let column = x.column(j);
        let mean = column.sum() / n;
        column.iter().map(|v| v - mean).collect::<Vec<f64>>()
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let (a, b) = (column(0), column(1));
    let (aa, ab, bb, ay, by) = (dot(&a, &a), dot(&a, &b), dot(&b, &b), dot(&a, y), dot(&b, y));
    let determinant = aa * bb - ab * ab;
    [(bb * ay - ab * by) / determinant, (aa * by - ab * ay) / determinant]
}

/// What is added to all targets, to their offsets or to both goes into the intercept: slopes, errors and status stay, with few rows
/// (Newton's method) and with many, from no start and from a fit of other targets.
#[test]
fn a_shift_of_the_targets_changes_the_intercept_alone() {
    for n in [30, 600] {
        let (first, second) = (noise(n, 0.3), noise(n, 0.7));
        let x = Array2::from_shape_fn((n, 2), |(i, j)| [first[i], second[i]][j]);
        // Multiples of 1/512: sums with shifts are exact up to 2^43.
        let grid = |v: f64| (v * 512.0).round() / 512.0;
        let y: Vec<f64> =
            noise(n, 1.9).iter().zip(&first).map(|(e, x)| grid(e + 0.3 * x)).collect();
        let glm = Glm::new(Identity);
        let near = glm.fit(&x, &y).unwrap();
        let exact = slopes(&x, &y);
        for shift in [0.0, 1e3, 1e6, 1.7e9, -1e12] {
            let far: Vec<f64> = y.iter().map(|y| y + shift).collect();
            let offset = vec![shift; n];
            let half: Vec<f64> = y.iter().map(|y| y - 0.5 * shift).collect();
            let both = vec![-0.5 * shift; n];
            let fits = [
                (glm.fit(&x, &far), shift),
                (glm.fit_with(&x, &far, Fit::new().start(&near)), shift),
                (glm.fit(&x, Targets::new(&y).offset(&offset)), -shift),
                (glm.fit(&x, Targets::new(&half).offset(&both)), 0.0),
            ];
            for (at, (fitted, intercept)) in fits.into_iter().enumerate() {
                let (fitted, what) = (fitted.unwrap(), format!("{n} rows, {shift}, {at}"));
                assert_eq!(fitted.report.status, Status::Converged, "{what}: {}", fitted.report);
                assert!(glm.stop.met_by(&fitted.report.certificate), "{what}: {}", fitted.report);
                for j in 0..2 {
                    assert!((fitted.coefficients[j] - exact[j]).abs() <= 1e-9, "{what}");
                    let [own, other] = [&fitted, &near].map(|m| &m.summary.coefficients[1 + j]);
                    close(own.standard_error, other.standard_error, 1e-9, &what);
                }
                let rounding = 4.0 * f64::EPSILON * shift.abs() + 1e-9;
                assert!(
                    (fitted.intercept - near.intercept - intercept).abs() <= rounding,
                    "{what}"
                );
                close(fitted.summary.null_deviance, near.summary.null_deviance, 1e-9, &what);
                close(fitted.summary.aic, near.summary.aic, 1e-9, &what);
            }
            // The objective is that of the targets as they were given.
            let mean = |of: &dyn Fn(f64) -> f64| y.iter().map(|y| of(*y)).sum::<f64>() / n as f64;
            let residuals = near.summary.deviance / n as f64;
            let objective = 0.5 * (residuals - mean(&|y| (y + shift) * (y + shift)));
            let found = glm.fit(&x, &far).unwrap().report.certificate.objective().unwrap();
            close(found, objective, 1e-12, "objective");
        }
    }
}

/// Targets that differ by a billionth of themselves, under the other links: the model without columns is no end, since Newton's step
/// from there moves the slope by all of it.
#[test]
fn small_differences_of_large_targets_are_fitted() {
    fn check<F: ScalarFamily + Clone>(family: F, y: &[f64], truth: f64) {
        let n = y.len();
        let x = Array2::from_shape_fn((n, 1), |(i, _)| (i % 5) as f64 - 2.0);
        let fitted = Glm::new(family).fit(&x, y).unwrap();
        let what = format!("{} {}: {}", F::NAME, F::LINK, fitted.report);
        assert_eq!(fitted.report.status, Status::Converged, "{what}");
        close(fitted.coefficients[0], truth, 1e-3, &what);
    }
    let n = 30;
    // To first order the slope is that of y on x, over the derivative of the mean by eta.
    let steps: Vec<f64> = (0..n).map(|i| (i % 5) as f64 - 2.0 + [0.25, -0.25][i % 2]).collect();
    let x: Vec<f64> = (0..n).map(|i| (i % 5) as f64 - 2.0).collect();
    let slope = steps.iter().zip(&x).map(|(a, b)| a * b).sum::<f64>()
        / x.iter().map(|x| x * x).sum::<f64>();
    let counts: Vec<f64> = steps.iter().map(|s| 1e11 + s).collect();
    check(PoissonLog, &counts, slope / 1e11);
    check(Reciprocal, &counts, slope / 1e22);
    check(InverseSquare, &counts, slope / 1e33);
    check(NegativeBinomialCanonical { size: 1.0 }, &counts, slope / 1e22);
    // The slope of this loss does not grow with the counts: those of other laws do.
    let spread: Vec<f64> = (0..n).map(|i| 1e12 * (1.0 + 0.1 * steps[i])).collect();
    let line = |y: &[f64]| {
        Glm::new(NegativeBinomialLog { size: 1.0 })
            .fit(&Array2::from_shape_fn((n, 1), |(i, _)| x[i]), y)
            .unwrap()
    };
    let units: Vec<f64> = spread.iter().map(|y| y / 1e6).collect();
    let (large, small) = (line(&spread), line(&units));
    assert_eq!((large.report.status, small.report.status), (Status::Converged, Status::Converged));
    assert!(large.coefficients[0].abs() > 0.05);
    close(large.coefficients[0], small.coefficients[0], 1e-5, "negative binomial");
}

/// Beside squares of Unix times every gap is small: a relative tolerance is one of the centred targets.
#[test]
fn a_relative_tolerance_does_not_count_the_shift() {
    let x = Array2::from_shape_fn((30, 1), |(i, _)| ((7 * i) % 11) as f64 - 5.0);
    let wobble = |i: usize| ((5 * i * i) % 13) as f64;
    let y: Vec<f64> = (0..30).map(|i| 1.7e9 + 3.0 * x[[i, 0]] + wobble(i)).collect();
    let stop = Stop { absolute: 0.0, relative: 1e-6, max_passes: 0.0, ..Stop::default() };
    let none = Glm { stop, ..Glm::new(Identity) }.fit(&x, &y[..]).unwrap();
    assert_eq!(none.report.status, Status::PassLimit, "{}", none.report);
    let stop = Stop { max_passes: 100.0, ..stop };
    let model = Glm { stop, ..Glm::new(Identity) }.fit(&x, &y[..]).unwrap();
    assert_eq!(model.report.status, Status::Converged, "{}", model.report);
    assert!((model.coefficients[0] - 3.0).abs() < 1.0, "{}", model.report);
}
