//! Every estimator by name on odd data: an answer of numbers whose report is about it, or an error that says why.
//!
//! `FENCHEL_PROBLEMS` is the number of problems; by default there are a few.

use fenchel_datasets::generate::odd;
use fenchel_moments::direct::Lambda;
use fenchel_moments::ellipticity::Ellipticity;
use fenchel_moments::inference::sir_intervals;
use fenchel_moments::matching::{Basis, Centres};
use fenchel_moments::regressor::Smoother;
use fenchel_moments::score::{FnScore, Gaussian, ProductMixture};
use fenchel_moments::slicing::Slices;
use fenchel_moments::{
    Ade, Components, DirectSade, DirectionalRegression, Error, IndexRegressor, LassoSir,
    LearnedSade, Mave, Opg, Phd, PhdPlus, Reduction, Response, Sade, Save, Saved, ScoreMatching,
    Sir, Slicing, Sphd, Stop,
};
use fenchel_optim::Status;
use ndarray::{Array1, Array2, Axis};

use crate::common::covariance;

const ONE: Components = Components::Fixed(1);

/// The number of problems.
fn problems() -> u64 {
    std::env::var("FENCHEL_PROBLEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(24)
}

fn matching(basis: Basis) -> ScoreMatching {
    ScoreMatching { basis, ..ScoreMatching::default() }
}

/// All estimators with a reduction, and their answers.
fn answers(x: &Array2<f64>, y: &Array1<f64>) -> Vec<(&'static str, Result<Reduction, Error>)> {
    let landmarks = || matching(Basis::Bumps(Centres::Landmarks(20)));
    let gaussian = {
        let (mean, covariance) = covariance(x.view());
        Gaussian::new(mean, covariance.view())
    };
    let plain = FnScore::new(x.ncols(), |row, mut out| out.assign(&row));
    let mut all = vec![
        ("SIR", Sir::default().fit(x, y)),
        (
            "SIR by classes",
            Response::classes(&y.mapv(|v| v > 0.0).to_vec())
                .and_then(|classes| Sir::default().fit(x, classes)),
        ),
        ("SAVE", Save { components: ONE, ..Save::default() }.fit(x, y)),
        ("SAVE, c - 1", Save { unbiased_covariance: true, ..Save::default() }.fit(x, y)),
        ("directional regression", DirectionalRegression::default().fit(x, y)),
        ("pHd", Phd::default().fit(x, y)),
        ("pHd of responses", Phd { residual: false, ..Phd::default() }.fit(x, y)),
        (
            "pHd, tested",
            Phd { components: Components::ChiSquare(0.05), ..Phd::default() }.fit(x, y),
        ),
        (
            "SIR, tested",
            Sir { components: Components::ChiSquare(0.05), ..Sir::default() }.fit(x, y),
        ),
        (
            "SIR by ratios",
            Sir { components: Components::EigenRatio(5), ..Sir::default() }.fit(x, y),
        ),
        ("OPG", Opg { base_points: 12, ..Opg::default() }.fit(x, y)),
        (
            "MAVE",
            Mave {
                base_points: 8,
                stop: Stop { max_passes: 2.0, ..Mave::default().stop },
                ..Mave::default()
            }
            .fit(x, y),
        ),
        ("lasso-SIR", LassoSir::default().fit(x, y)),
        ("learned SADE", LearnedSade { score: landmarks(), ..LearnedSade::default() }.fit(x, y)),
        (
            "affine SADE",
            LearnedSade { score: matching(Basis::Affine), ..Default::default() }.fit(x, y),
        ),
        (
            "separable SADE",
            LearnedSade { score: matching(Basis::Separable(5)), ..Default::default() }.fit(x, y),
        ),
        ("SADE of a wrong score", Sade::default().fit(x, y, &plain)),
        ("ADE of a wrong score", Ade::default().fit(x, y, &plain)),
    ];
    if x.ncols() <= 10 {
        let direct =
            DirectSade { score: landmarks(), lambda: Lambda::Fixed(0.01), ..Default::default() };
        all.push(("direct SADE", direct.fit(x, y).map(|fit| fit.model)));
        let laddered =
            Sir { components: Components::Ladle { repeats: 5, seed: 1 }, ..Sir::default() };
        all.push(("SIR by the ladle", laddered.fit(x, y)));
        let permuted = Components::Permutation { level: 0.2, repeats: 5, seed: 1 };
        all.push(("SIR by permutations", Sir { components: permuted, ..Sir::default() }.fit(x, y)));
    }
    if let Ok(score) = gaussian {
        all.push(("SADE", Sade::default().fit(x, y, &score)));
        let whitened = Sade { standardise: true, centre_scores: true, ..Sade::default() };
        all.push(("SADE, standardised", whitened.fit(x, y, &score)));
        let shortened = Sade { winsorise: Some(3.0), ..Sade::default() };
        all.push(("SADE, shortened", shortened.fit(x, y, &score)));
        all.push(("SPHD", Sphd::default().fit(x, y, &score)));
        all.push(("ADE", Ade::default().fit(x, y, &score)));
        all.push(("PHD+", PhdPlus { residual: true, ..PhdPlus::default() }.fit(x, y, &score)));
    }
    if let Ok(score) = ProductMixture::thesis(x.ncols()) {
        all.push(("SADE of a mixture", Sade::default().fit(x, y, &score)));
    }
    all
}

fn finite<'a>(what: &str, numbers: impl IntoIterator<Item = &'a f64>) {
    assert!(numbers.into_iter().all(|v| v.is_finite()), "{what}");
}

/// An error of one line, with no trace of numbers that are none in matrices of our own.
fn said(what: &str, error: &Error) {
    let text = error.to_string();
    let inner = ["matrix: ", "basis has", "did not converge", "strides"];
    assert!(!inner.iter().any(|word| text.starts_with(word)), "{what}: {text}");
}

#[test]
fn answers_are_numbers_and_reports_are_about_them() {
    let (mut asked, mut answered) = (0, 0);
    for seed in 0..problems() {
        let data = odd(seed);
        let (x, y) = (&data.x, &data.y);
        for (name, answer) in answers(x, y) {
            let what = format!("seed {seed}: {}, {name}", data.what);
            asked += 1;
            let model = match answer {
                Ok(model) => model,
                Err(error) => {
                    said(&what, &error);
                    continue;
                }
            };
            answered += 1;
            model.check().unwrap_or_else(|error| panic!("{what}: {error}"));
            let k = model.components();
            // Orthonormal up to rounding, whatever the units.
            let rest = model.directions.t().dot(&model.directions) - Array2::<f64>::eye(k);
            assert!(rest.iter().all(|v| v.abs() < 1e-12), "{what}: {rest}");
            let indices = model.transform(x).unwrap_or_else(|error| panic!("{what}: {error}"));
            finite(&what, &indices);
            let certificate = model.report.certificate;
            finite(&what, [&certificate.value(), &model.report.passes]);
            // The sum of the eigenvalues of the returned directions.
            let sum: f64 = model.eigenvalues.iter().take(k).sum();
            let objective = certificate.objective().unwrap();
            if name != "lasso-SIR" && name != "direct SADE" {
                assert_eq!(objective, sum, "{what}");
            }
            // The settings say how far an iterative method has to come.
            let tolerance = [("lasso-SIR", 1e-6), ("MAVE", 1e-4)].into_iter().find(|t| t.0 == name);
            if let (Some((_, most)), Status::Converged) = (tolerance, model.report.status) {
                assert!(certificate.value() <= most, "{what}: {}", model.report);
            }
            if name == "SIR" {
                explained(&what, &model, x, y);
            }
        }
    }
    println!("{answered} answers of {asked}");
    assert!(answered > 5 * problems(), "{answered} answers of {asked}");
}

/// Eigenvalue `j` of SIR is the part of the variance of index `j` that lies between slices: from the data and the loadings
/// alone. A covariance with eigenvalues `1e-12` apart has lost `1e12` units in the last place.
fn explained(what: &str, model: &Reduction, x: &Array2<f64>, y: &Array1<f64>) {
    let slices = Slices::new(&y.to_vec(), Slicing::Auto, 1).unwrap();
    let mean = x.row(0).to_owned();
    for (loading, &eigenvalue) in model.loadings.columns().into_iter().zip(&model.eigenvalues) {
        let index = (x - &mean).dot(&loading);
        let index = &index - index.mean().unwrap();
        let total = index.dot(&index);
        let mut between = 0.0;
        for members in slices.members() {
            let sum: f64 = members.iter().map(|&i| index[i]).sum();
            between += sum * sum / members.len() as f64;
        }
        assert!(
            (between / total - eigenvalue).abs() < 1e-3,
            "{what}: {} {eigenvalue}",
            between / total
        );
    }
}

#[test]
fn predictions_and_errors_are_numbers() {
    let mut answered = 0;
    for seed in 0..problems() {
        let data = odd(seed);
        let (x, y, what) = (&data.x, &data.y, format!("seed {seed}: {}", data.what));
        let sir = Sir { components: ONE, ..Sir::default() };
        for smoother in [Smoother::LocalLinear, Smoother::Neighbours] {
            match (IndexRegressor { smoother, ..IndexRegressor::new(sir) }).fit(x, y) {
                Ok(model) => {
                    finite(&what, &model.predict(x).unwrap());
                    model.check().unwrap_or_else(|error| panic!("{what}: {error}"));
                    answered += 1;
                }
                Err(error) => said(&what, &error),
            }
        }
        match sir_intervals(&sir, x, y) {
            Ok(found) => finite(&what, &found.errors),
            Err(error) => said(&what, &error),
        }
        match Ellipticity::new(x) {
            Ok(found) => finite(&what, [&found.skewness, &found.kurtosis, &found.kurtosis_z]),
            Err(error) => said(&what, &error),
        }
    }
    assert!(answered > problems() / 4, "{answered}");
}

/// Another origin and other units of the features move no direction of a method that is invariant to them.
#[test]
fn origins_and_units_leave_the_answers() {
    for seed in 0..3 {
        let (x, y) = crate::common::regression(120, 3, seed);
        // Powers of two, so that the units add no rounding.
        let units = ndarray::array![2f64.powi(30), 2f64.powi(-30), 1.0];
        let shifted = &x + 1e6;
        let scaled = &x * &units;
        let sure = |name: &str| !name.contains("wrong") && !name.contains("mixture");
        let (plain, other, rescaled) =
            (answers(&x, &y), answers(&shifted, &y), answers(&scaled, &y));
        for (((name, a), (_, b)), (_, c)) in plain.into_iter().zip(other).zip(rescaled) {
            if !sure(name) {
                continue;
            }
            let (a, b, c) = (a.unwrap(), b.unwrap(), c.unwrap());
            let what = format!("seed {seed}: {name}");
            // `x + 1e6` is rounded to 1e-10 of the size of `x`.
            let worst = |p: &Array2<f64>, q: &Array2<f64>| {
                p.iter().zip(q).fold(0.0, |m: f64, (p, q)| m.max((p - q).abs()))
            };
            assert_eq!(a.components(), b.components(), "{what}");
            let moved = worst(&a.loadings, &b.loadings);
            assert!(moved < 1e-6, "{what}: an origin moves loadings by {moved:e}");
            // Loadings are per unit of a feature. SADE and its like without whitening are not invariant to units.
            let in_units = ["SADE", "SADE, shortened", "SPHD", "ADE", "PHD+"];
            if !in_units.contains(&name) {
                let mut back = &c.loadings * &units.view().insert_axis(Axis(1));
                for mut column in back.columns_mut() {
                    let norm = column.dot(&column).sqrt();
                    column /= norm;
                }
                for (p, q) in back.columns().into_iter().zip(a.loadings.columns()) {
                    let cosine = p.dot(&q).abs();
                    assert!(1.0 - cosine < 1e-9, "{what}: units turn a loading: {cosine}");
                }
            }
        }
    }
}
