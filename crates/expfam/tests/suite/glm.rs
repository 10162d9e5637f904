//! Generalised linear models against fits in numpy, and their properties.

use std::ops::ControlFlow;

use fenchel_expfam::Error;
use fenchel_expfam::glm::*;
use fenchel_linalg::{Named, Names};
use fenchel_optim::model::Saved;
use fenchel_optim::{Certificate, Fit, Progress, Status, Stop};
use ndarray::{Array2, array};

/// Estimates, standard errors, p-values (intercept first); dispersion, null deviance, deviance, AIC.
/// `tests/reference/glm.py` makes the rows by iteratively reweighted least squares.
#[rustfmt::skip]
const REFERENCE: [[&[f64]; 4]; 7] = [
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
        // negative binomial, log
        [&[1.110448159017e+00, 2.790636269395e-02, 2.440855119087e-01], &[3.813056821210e-01, 2.017401546686e-01, 4.873427529539e-01], &[3.588633766004e-03, 8.899809992864e-01, 6.164768465892e-01], &[1.000000000000e+00, 4.752919323216e+01, 4.727020329043e+01, 2.475832806370e+02]],
        // negative binomial, canonical
        [&[-2.149889527093e-01, -4.008183750853e-02, 2.061174404480e-01], &[8.401219007928e-02, 4.472579429071e-02, 1.326267528380e-01], &[1.049674217438e-02, 3.701629016525e-01, 1.201566021880e-01], &[1.000000000000e+00, 6.639956497014e+01, 6.349077614705e+01, 2.638038534936e+02]],
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
    shift: f64,
) -> GlmModel<F> {
    let Data { x, weights, offset } = data();
    let y: Vec<f64> = (0..24).map(y).collect();
    let (weights, offset) = (
        weighted.then_some(&weights[..]),
        (shift != 0.0).then(|| offset.iter().map(|o| shift * o).collect::<Vec<_>>()),
    );
    let glm = Glm::new(family);
    let targets = Targets { y: (&y).into(), offset: offset.as_deref().map(Into::into) };
    let fit = Fit { weights: weights.map(Into::into), ..Fit::new() };
    let fitted = glm.fit_with(&x, targets, fit).unwrap();
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
    assert_eq!((s.rows, s.null_degrees, s.residual_degrees), (24, 23, 21));
    // AIC and BIC count the same parameters.
    let k = 0.5 * s.aic + s.log_likelihood;
    close("BIC", s.bic, s.aic + k * (24f64.ln() - 2.0), 1e-12);
    for (c, (low, high)) in s.coefficients.iter().zip(s.intervals(0.95).unwrap()) {
        // Of R's qnorm(0.975) and qt(0.975, 21).
        let q = if s.known_dispersion { 1.959_963_984_540 } else { 2.079_613_844_728 };
        close("lower end", low, c.estimate - q * c.standard_error, 1e-8);
        close("upper end", high, c.estimate + q * c.standard_error, 1e-8);
    }
    fitted
}

/// The printed summary has the names, the rows, intervals, ratios where the link has them, and the criteria.
#[test]
fn a_summary_is_printed_as_people_know_it() {
    let x =
        Named { x: Array2::from_shape_fn((20, 1), |(i, _)| i as f64), names: Names::new(["age"]) };
    let y: Vec<f64> = (0..20).map(|i| f64::from(i % 3 + i / 5)).collect();
    let text = Glm::new(PoissonLog).fit(&x, Targets::new(&y)).unwrap().summary().to_string();
    assert!(text.starts_with("family: poisson, link: log, 20 rows\n"), "{text}");
    for part in
        ["2.5 %", "97.5 %", "(intercept)", "age", "rate ratio", "BIC: ", "log-likelihood: -"]
    {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    let ratios = text.split("rate ratio").nth(1).unwrap().split("dispersion").next().unwrap();
    assert!(ratios.contains("age") && !ratios.contains("(intercept)"), "{text}");
    let normal = Glm::new(Identity).fit(&x, Targets::new(&y)).unwrap().summary().to_string();
    assert!(!normal.contains("ratio") && normal.contains("t value"), "{normal}");
    let summary = Glm::new(PoissonLog).fit(&x, Targets::new(&y)).unwrap().summary().clone();
    assert!(summary.intervals(1.0).is_err() && summary.intervals(f64::NAN).is_err());
}

/// The covariances of a line have a closed form; Pearson's chi-squared is a sum over rows.
#[test]
fn covariances_and_pearson_by_hand() {
    let n = 20;
    let x = Array2::from_shape_fn((n, 1), |(i, _)| 100.0 + i as f64);
    let y: Vec<f64> = (0..n).map(|i| (i % 3 + i / 5) as f64).collect();
    let model = Glm::new(Identity).fit(&x, Targets::new(&y)).unwrap();
    let s = model.summary();
    let mean = x.mean().unwrap();
    let spread: f64 = x.iter().map(|x| (x - mean).powi(2)).sum();
    let slope = s.dispersion / spread;
    let expected =
        [s.dispersion / n as f64 + slope * mean * mean, -slope * mean, -slope * mean, slope];
    for (found, expected) in s.covariance.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-8 * expected.abs(), "{found} {expected}");
    }
    assert_eq!(s.covariance.len(), 4);
    assert!((s.pearson - s.dispersion * s.residual_degrees as f64).abs() <= 1e-12 * s.pearson);
    let model = Glm::new(PoissonLog).fit(&x, Targets::new(&y)).unwrap();
    let means = model.predict(&x).unwrap();
    let pearson: f64 = means.iter().zip(&y).map(|(m, y)| (y - m).powi(2) / m).sum();
    let found = model.summary().pearson;
    assert!((found - pearson).abs() <= 1e-9 * pearson, "{found} {pearson}");
}

#[test]
fn fits_agree_with_reweighted_least_squares() {
    let positive = |i: i32| 0.5 + f64::from((11 * i) % 13) / 4.0;
    check(REFERENCE[0], Logistic, |i| if (3 * i) % 7 < 3 { 1.0 } else { 0.0 }, true, 0.0);
    check(REFERENCE[1], PoissonLog, |i| f64::from((5 * i * i) % 9), false, 1.0);
    check(REFERENCE[2], Identity, |i| 0.3 * f64::from((11 * i) % 13) - 1.0, true, 1.0);
    check(REFERENCE[3], Reciprocal, positive, false, 0.0);
    let (log, canonical) =
        (NegativeBinomialLog { size: 1.5 }, NegativeBinomialCanonical { size: 1.5 });
    check(REFERENCE[5], log, |i| f64::from((5 * i * i) % 9), true, 1.0);
    check(REFERENCE[6], canonical, |i| f64::from((5 * i * i) % 9), true, -1.0);
    let model = check(REFERENCE[4], InverseSquare, positive, true, 0.0);
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
        Glm::new(PoissonLog).fit_with(&x, &y, Fit::new().weights(&[2.0, 1.0, 1.0, 1.0])).unwrap();
    let copied = array![[0.5], [0.5], [1.0], [2.0], [2.5]];
    let plain = Glm::new(PoissonLog).fit(&copied, &[1.0, 1.0, 0.0, 3.0, 2.0]).unwrap();
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
    let y = [0.0, 1.0, 0.0, 1.0];
    assert!(glm.fit_with(&x, &y, Fit::new().weights(&[1.0, 1.0, -1.0, 1.0])).is_err());
    assert!(glm.fit(&x, Targets::new(&y).offset(&[f64::NAN; 4])).is_err());
    let wide = array![[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [3.0, 1.0]];
    let other = Glm { l2: 0.1, ..glm.clone() }.fit(&wide, &y).unwrap();
    assert!(glm.fit_with(&x, &y, Fit::new().start(&other)).is_err());
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
        let fitted = Glm::new(Logistic).fit(&x, Targets::new(&y).offset(&offset)).unwrap();
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
    assert_eq!(PoissonLog.deviance_at(1.0, -800.0), 2.0 * 799.0);
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
    // All but the seconds, which a file does not hold; as text, in which NaN equals NaN.
    let stored = GlmModel { report: fitted.report.without_seconds(), ..fitted.clone() };
    assert_eq!(format!("{loaded:?}"), format!("{stored:?}"));
    assert!(fitted.summary.to_string().contains("t value"));
}

#[test]
fn a_model_is_not_loaded_as_one_of_another_family() {
    let x = Array2::from_shape_fn((6, 1), |(i, _)| i as f64);
    let fitted = Glm::new(PoissonLog).fit(&x, &[1.0, 0.0, 2.0, 3.0, 5.0, 9.0]).unwrap();
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
    let counts = Glm::new(PoissonLog).fit(&x, &[0.0, 0.0, 0.0, 0.0, 0.0, 1e6]).unwrap();
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
        (Glm::new(Identity).fit(&x, &y).unwrap(), Glm::new(PoissonLog).fit(&x, &y).unwrap());
    for unit in [1e-12, 1e-6, 1e8, 1e10] {
        let y: Vec<f64> = y.iter().map(|y| unit * y).collect();
        let scaled = Glm::new(Identity).fit(&x, &y).unwrap();
        assert_eq!(scaled.report.status, Status::Converged, "{unit}");
        assert!((scaled.coefficients[0] / unit - line.coefficients[0]).abs() < 1e-8, "{unit}");
        let scaled = Glm::new(PoissonLog).fit(&x, &y).unwrap();
        assert_eq!(scaled.report.status, Status::Converged, "{unit}");
        assert!((scaled.coefficients[0] - log.coefficients[0]).abs() < 1e-8, "{unit}");
    }
}

#[test]
fn a_repeated_column_leaves_the_rank_of_the_others() {
    // Zeros, a constant, a step and its opposite, numbers.
    let column = |c: usize, i: usize| match c {
        0 | 1 => 3.0 * c as f64,
        2 => f64::from(i > 2),
        3 => f64::from(i <= 2),
        _ => i as f64,
    };
    let told = |intercept: bool, columns: &[usize]| {
        let x = Array2::from_shape_fn((6, columns.len()), |(i, j)| column(columns[j], i));
        let glm = Glm { intercept, ..Glm::new(Identity) };
        let refused = glm.fit(&x, &[1.0, 0.0, 2.0, 3.0, 5.0, 9.0]).map(drop);
        refused.map_or_else(|refused| refused.to_string(), |_| "none".into())
    };
    let expected = |rank: usize, of: usize, column: usize, how: &str| {
        format!("design has rank {rank}; expected {of} independent columns; column {column} {how}")
    };
    let beside = "depends on the intercept and the columns before it";
    let constant = "is constant, as the intercept is";
    assert_eq!(told(true, &[4, 4]), expected(2, 3, 1, beside));
    assert_eq!(told(true, &[2, 4, 3]), expected(3, 4, 2, beside));
    assert_eq!(told(true, &[4, 1, 2]), expected(3, 4, 1, constant));
    assert_eq!(told(true, &[0, 4]), expected(2, 3, 0, constant));
    assert_eq!(told(false, &[4, 0]), expected(1, 2, 1, "is 0 in every row that counts"));
    assert_eq!(told(false, &[2, 3, 1]), expected(2, 3, 2, "depends on the columns before it"));
    assert_eq!(told(false, &[4, 1, 2]), "none");
}

/// The rows of the small problems, 200 times: more rows than Newton's method is used for, and the same coefficients. Standard errors
/// are smaller by the root of 200.
#[test]
fn many_rows_give_the_fit_of_their_distinct_ones() {
    fn check<F: ScalarFamily + Clone>(family: F, y: impl Fn(i32) -> f64, shift: f64) {
        let Data { x, weights, offset } = data();
        let offset: Vec<f64> = offset.iter().map(|o| shift * o).collect();
        let y: Vec<f64> = (0..24).map(y).collect();
        let glm = Glm::new(family);
        let targets = Targets::new(&y).offset(&offset);
        let few = glm.fit_with(&x, targets, Fit::new().weights(&weights)).unwrap();
        let many = |v: &[f64]| -> Vec<f64> { (0..4800).map(|i| v[(7 * i) % 24]).collect() };
        let wide = Array2::from_shape_fn((4800, 2), |(i, j)| x[[(7 * i) % 24, j]]);
        let (many_y, many_weights, many_offset) = (many(&y), many(&weights), many(&offset));
        let targets = Targets::new(&many_y).offset(&many_offset);
        let fitted =
            glm.fit_with(&wide, targets.clone(), Fit::new().weights(&many_weights)).unwrap();
        // From its own answer a fit is there at once, and a watched one ends when it is told to.
        let mut shown = 0;
        let mut watch = |_: &Progress| {
            shown += 1;
            ControlFlow::Break(())
        };
        let fit = Fit::new().weights(&many_weights).start(&fitted).watch(&mut watch);
        let again = glm.fit_with(&wide, targets, fit).unwrap();
        assert!(shown > 0 && again.report.passes <= 2.0, "{}", again.report);
        assert!((again.intercept - fitted.intercept).abs() < 1e-8);
        assert_eq!(fitted.report.status, Status::Converged, "{} {}", F::NAME, F::LINK);
        for (a, b) in fitted.summary.coefficients.iter().zip(&few.summary.coefficients) {
            assert!((a.estimate - b.estimate).abs() < 1e-8, "{} {a:?} {b:?}", F::NAME);
            if F::KNOWN_DISPERSION {
                let ratio = b.standard_error / a.standard_error;
                assert!((ratio - 200.0_f64.sqrt()).abs() < 1e-6, "{} {ratio}", F::NAME);
            }
        }
        let ratio = fitted.summary.deviance / few.summary.deviance;
        assert!((ratio - 200.0).abs() < 1e-7, "{} {ratio}", F::NAME);
    }
    let counts = |i: i32| f64::from((5 * i * i) % 9);
    let positive = |i: i32| 0.5 + f64::from((11 * i) % 13) / 4.0;
    check(Logistic, |i| if (3 * i) % 7 < 3 { 1.0 } else { 0.0 }, 1.0);
    check(PoissonLog, counts, 1.0);
    check(Identity, |i| 0.3 * f64::from((11 * i) % 13) - 1.0, 1.0);
    check(Reciprocal, positive, -0.1);
    check(InverseSquare, positive, -0.01);
    check(NegativeBinomialLog::GEOMETRIC, counts, 1.0);
    check(NegativeBinomialCanonical::GEOMETRIC, counts, -1.0);
}

/// Columns that few rows have: most samples of the rows miss them.
#[test]
fn rare_columns_are_fitted_from_many_rows() {
    let n = 5000;
    let x = Array2::from_shape_fn((n, 3), |(i, j)| match j {
        0 => ((i * 37) % 101) as f64 / 50.0 - 1.0,
        1 => f64::from(u8::from(i % 2500 == 17)),
        _ => f64::from(u8::from(i < 3)),
    });
    let y: Vec<f64> = (0..n).map(|i| ((i * i) % 5) as f64).collect();
    let fitted = Glm::new(PoissonLog).fit(&x, &y).unwrap();
    assert_eq!(fitted.report.status, Status::Converged);
    // The normal equations hold: of an indicator, the rows' means add up to their targets.
    let mean = fitted.predict(&x).unwrap();
    for j in 0..3 {
        let slope: f64 = (0..n).map(|i| (mean[i] - y[i]) * x[[i, j]]).sum();
        assert!(slope.abs() < 1e-5, "{j}: {slope}");
    }
    // Separated data end with a warning here as well.
    let y: Vec<f64> = x.column(0).iter().map(|&x| f64::from(u8::from(x > 0.0))).collect();
    let apart = Glm::new(Logistic).fit(&x.select(ndarray::Axis(1), &[0]), &y).unwrap();
    assert_eq!(apart.report.status, Status::NoMinimiser);
}

#[test]
fn predictions_take_offsets_and_stay_inside_of_the_domain() {
    let Data { x, offset, .. } = data();
    let y: Vec<f64> = (0..24).map(|i| f64::from((5 * i * i) % 9)).collect();
    let fitted = Glm::new(PoissonLog).fit(&x, Targets::new(&y).offset(&offset)).unwrap();
    let mean = fitted.predict_with_offset(&x, &offset).unwrap();
    // With an intercept the fitted means add up to the targets.
    assert!((mean.sum() - y.iter().sum::<f64>()).abs() < 1e-6);
    let without = fitted.predict(&x).unwrap();
    assert!((mean[1] / without[1] - offset[1].exp()).abs() < 1e-12);
    assert!(fitted.predict_with_offset(&x, &offset[1..]).is_err());
    assert!(fitted.predict_with_offset(&x, &[f64::NAN; 24]).is_err());

    let positive: Vec<f64> = (0..24).map(|i| 0.5 + f64::from((11 * i) % 13) / 4.0).collect();
    let fitted = Glm::new(Reciprocal).fit(&x, &positive).unwrap();
    let far = array![[0.0, 0.0], [0.0, 100.0]];
    assert!(fitted.predict_natural(&far).unwrap()[1] > 0.0);
    let refused = fitted.predict(&far).unwrap_err();
    assert!(matches!(refused, Error::OutsideNaturalDomain { index: 1, .. }), "{refused}");
    assert!(refused.to_string().contains("a number < 0"), "{refused}");
}

/// A run without passes ends where it began, with an honest status.
#[test]
fn no_passes_are_a_status() {
    let Data { x, .. } = data();
    let y: Vec<f64> = (0..24).map(|i| f64::from((5 * i * i) % 9)).collect();
    let mut glm = Glm::new(PoissonLog);
    glm.stop.max_passes = 0.0;
    let fitted = glm.fit(&x, &y).unwrap();
    assert_eq!(fitted.report.status, Status::PassLimit);
    // The null model.
    let mean = y.iter().sum::<f64>() / 24.0;
    assert_eq!(fitted.coefficients, [0.0, 0.0]);
    assert!((fitted.intercept - mean.ln()).abs() < 1e-12);
    assert!((fitted.summary.deviance - fitted.summary.null_deviance).abs() < 1e-9);
}

#[test]
fn sizes_of_negative_binomials_are_checked() {
    let x = array![[0.0], [1.0], [2.0]];
    for size in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = Glm::new(NegativeBinomialLog { size }).fit(&x, &[1.0, 0.0, 4.0]).unwrap_err();
        assert!(refused.to_string().contains("size"), "{refused}");
        let glm = Glm::new(NegativeBinomialCanonical { size });
        assert!(glm.fit(&x, &[1.0, 0.0, 4.0]).is_err());
    }
    // A large size is a Poisson model.
    let y = [1.0, 0.0, 4.0];
    let a = Glm::new(NegativeBinomialLog { size: 1e9 }).fit(&x, &y).unwrap();
    let b = Glm::new(PoissonLog).fit(&x, &y).unwrap();
    assert!((a.coefficients[0] - b.coefficients[0]).abs() < 1e-6);
    assert!((a.summary.deviance - b.summary.deviance).abs() < 1e-6);
}

/// The proved gap covers the distance from an optimum that was found to the last digit, wherever a fit is ended; it is there at the end of every
/// converged one, small, and no more than twice what is true near by. Columns of another unit change nothing.
#[test]
fn gaps_cover_the_truth() {
    fn check_family<F: ScalarFamily + Clone>(
        family: &F,
        y: &[f64],
        (x, weights, offset): (&Array2<f64>, &[f64], &[f64]),
        l2: f64,
    ) -> usize {
        let fit = |x: &Array2<f64>, passes: f64, absolute: f64| {
            let default = Glm::new(family.clone());
            let stop = Stop { max_passes: passes, absolute, ..default.stop };
            let model = Glm { l2, stop, ..default };
            let targets = Targets::new(y).offset(offset);
            model.fit_with(x, targets, Fit::new().weights(weights)).unwrap().report
        };
        let exact = fit(x, 1e4, 1e-15);
        let best = exact.certificate.objective().unwrap();
        assert!(exact.certificate.value() < 1e-14, "{exact}");
        let mut proved = 0;
        for passes in 0..60 {
            let report = fit(x, f64::from(passes), 0.0);
            let truth = report.certificate.objective().unwrap() - best;
            if let Certificate::Gap { .. } = report.certificate {
                let gap = report.certificate.value();
                assert!(truth <= gap + 1e-15, "{passes}: {truth:e} {gap:e}");
                // Half of the squared decrement, as the truth is near by.
                assert!(gap <= 2.0 * truth.max(0.0) + 1e-14 || gap > 1e-6, "{truth:e} {gap:e}");
                proved += usize::from(truth > 1e-12);
            }
        }
        if l2 == 0.0 {
            let scaled = fit(&(x * 1e5), 1e4, 1e-10).certificate;
            let small = scaled.value() < 1e-14;
            assert!(matches!(scaled, Certificate::Gap { .. }) && small, "{scaled}");
        }
        proved
    }
    let Data { x, weights, offset } = data();
    let heads: Vec<f64> = (0..24).map(|i| f64::from(u8::from((7 * i * i + i) % 5 < 2))).collect();
    let counts: Vec<f64> = (0..24).map(|i| f64::from((5 * i * i) % 9)).collect();
    let all = (&x, &weights[..], &offset[..]);
    let mut unfinished = 0;
    for l2 in [0.0, 0.1] {
        unfinished += check_family(&Logistic, &heads, all, l2);
        unfinished += check_family(&PoissonLog, &counts, all, l2);
        check_family(&Identity, &counts, all, l2);
    }
    assert!(unfinished > 0, "no unfinished fit was proved anything");
    // Where nothing bounds the third derivative the certificate is the gradient, and so it is without a minimiser.
    let positive: Vec<f64> = (0..24).map(|i| 0.5 + f64::from((11 * i) % 13) / 4.0).collect();
    let residual = |c: Certificate| matches!(c, Certificate::Residual { .. });
    assert!(residual(Glm::new(Reciprocal).fit(&x, &positive).unwrap().report.certificate));
    let apart: Vec<f64> = x.column(0).iter().map(|&x| f64::from(u8::from(x > 1.0))).collect();
    let apart = Glm::new(Logistic).fit(&x, &apart).unwrap().report;
    assert_eq!(apart.status, Status::NoMinimiser);
    assert!(residual(apart.certificate), "{apart}");
}

/// The summary prints the names of the columns, the file keeps them, and columns in another order are refused.
#[test]
fn a_model_has_the_names_of_its_columns() {
    let names = Names::new(["age", "a name longer than fourteen"]);
    // Years are so far from 0 that the fit centres them.
    let years = array![[2001.0, 1.0], [2002.0, 0.0], [2003.0, 1.0], [2004.0, 1.0], [2005.0, 0.0]];
    let y = [1.0, 2.0, 2.0, 4.0, 3.0];
    for x in [years.clone(), years.mapv(|v| v % 2000.0)] {
        let x = Named { x, names: names.clone() };
        let model = Glm::new(PoissonLog).fit(&x, &y).unwrap();
        assert_eq!(model.names, names);
        let rows: Vec<&str> = model.summary.coefficients.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(rows, ["(intercept)", "age", "a name longer than fourteen"]);
        let text = model.summary().to_string();
        let lengths: Vec<usize> = text.lines().skip(3).take(3).map(str::len).collect();
        assert!(lengths.iter().all(|length| *length >= 27 + 1 + 12), "{text}");
        let mut file = vec![];
        model.save(&mut file).unwrap();
        assert_eq!(GlmModel::<PoissonLog>::load(&file[..]).unwrap(), model);
        let other = Named { names: names.iter().rev().cloned().collect(), ..x };
        let error = model.predict(&other).unwrap_err().to_string();
        assert!(
            error.contains("column 0 is \"a name longer than fourteen\"; expected \"age\""),
            "{error}"
        );
        assert!(model.predict(&other.x).is_ok());
    }
    let one = Glm { intercept: false, ..Glm::new(PoissonLog) };
    let model =
        one.fit(&Named { x: array![[1.0], [2.0]], names: Names::new(["age"]) }, &[1.0, 2.0]);
    assert_eq!(model.unwrap().summary.coefficients[0].name, "age");
}

/// Targets so small or so large that the variances of the coefficients, like `1 / y^4`, are beyond the range of numbers: they are left
/// out, and the file is loaded as it was saved. The standard errors, like `1 / y^2`, are within it.
#[test]
fn covariances_beyond_the_range_of_numbers_are_left_out() {
    let x = Array2::from_shape_fn((6, 1), |(i, _)| f64::from(u8::try_from(i).unwrap()) - 2.0);
    let fit = |unit: f64| {
        let y = [1.0, 2.0, 1.0, 3.0, 2.0, 4.0].map(|y| unit * y);
        let model = Glm::new(InverseSquare).fit(&x, &y).unwrap();
        let mut file = vec![];
        model.save(&mut file).unwrap();
        assert_eq!(
            GlmModel::<InverseSquare>::load(&file[..]).unwrap().summary.covariance,
            model.summary.covariance
        );
        assert_eq!(model.report.status, Status::Converged, "{}", model.report);
        model.summary
    };
    let plain = fit(1.0);
    assert_eq!(plain.covariance.len(), 4);
    // With 2e-78 one of them is 2.8e308, the others are 9.3e307 and 4.0e307; with 1e78 one is 2.8e-312, with few digits.
    for unit in [2e-78, 1e78, 1e100] {
        let beyond = fit(unit);
        assert!(beyond.covariance.is_empty(), "{unit}: {:?}", beyond.covariance);
        for (own, other) in beyond.coefficients.iter().zip(&plain.coefficients) {
            let ratio = own.standard_error * unit * unit / other.standard_error;
            assert!((ratio - 1.0).abs() < 1e-8, "{unit}: {own:?} {other:?}");
            assert!((own.p_value / other.p_value - 1.0).abs() < 1e-7, "{unit}: {own:?} {other:?}");
        }
    }
}

/// The density of a perfect fit is unbounded in the dispersion, so that the summary has no likelihood to print, and says why.
#[test]
fn a_perfect_fit_prints_no_likelihood() {
    fn text<F: ScalarFamily + Clone>(family: F, y: &[f64]) -> String {
        let x = Array2::from_shape_fn((y.len(), 1), |(i, _)| i as f64);
        let model = Glm::new(family).fit(&x, y).unwrap();
        assert_eq!(model.report.status, Status::Converged, "{}", model.report);
        model.summary.to_string()
    }
    let constant = [0.3; 6];
    let line: Vec<f64> = (0..6).map(|i| 2.5 - 0.7 * f64::from(i)).collect();
    let far: Vec<f64> = line.iter().map(|y| y + 1e9).collect();
    for text in [
        text(Identity, &constant),
        text(Identity, &line),
        text(Identity, &far),
        text(Reciprocal, &constant),
        text(InverseSquare, &constant),
    ] {
        let last = text.lines().last().unwrap();
        assert!(last.starts_with("no log-likelihood, AIC and BIC: the fit is perfect"), "{text}");
    }
    let two = text(Identity, &[1.0, 4.0]);
    assert!(
        two.ends_with("AIC and BIC: no degrees of freedom are left for the dispersion"),
        "{two}"
    );
    // Noise of a millionth of the mean, or of all that the mean leaves of the digits but two, is noise.
    for (mean, noise) in [(1e6, 1.0), (1e12, 0.03)] {
        let y: Vec<f64> = (0..6).map(|i| mean + noise * f64::from((7 * i * i) % 5)).collect();
        assert!(text(Identity, &y).contains("\nlog-likelihood: "), "{mean}");
    }
    assert!(text(PoissonLog, &[2.0; 6]).contains("\nlog-likelihood: "));
}
