//! Exponential families: fits, priors, mixtures, quantiles, and generalised linear models.

use arbitrary::Unstructured;
use fenchel::expfam::families::{
    Beta, ChiSquared, ContinuousBernoulli, Exponential, Gamma, InverseGamma, InverseGaussian,
    LogNormal, Normal, Rayleigh,
};
use fenchel::expfam::glm::{
    Glm, Identity, InverseSquare, Logistic, NegativeBinomialLog, PoissonLog, Reciprocal,
    ScalarFamily,
};
use fenchel::expfam::maximum_entropy::maximum_entropy;
use fenchel::expfam::quantiles::maximum_entropy_within;
use fenchel::expfam::{Distribution, Em, Prior, Quantiles, Sample, Summary};
use fenchel::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::data::{Range, Rows, number};
use crate::{oracle, tree};

/// Draws of one variable.
pub(crate) fn one_variable(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    match u.int_in_range(0..=9).unwrap_or(0) {
        0 => with_quantiles(u, Normal),
        1 => with_quantiles(u, Gamma),
        2 => with_quantiles(u, Beta),
        3 => family(u, Exponential, answers),
        4 => with_quantiles(u, InverseGamma),
        5 => family(u, InverseGaussian, answers),
        6 => with_quantiles(u, LogNormal),
        7 => family(u, ChiSquared, answers),
        8 => family(u, Rayleigh, answers),
        _ => family(u, ContinuousBernoulli, answers),
    }
}

fn with_quantiles<F>(u: &mut Unstructured<'_>, of: F)
where
    F: Quantiles + Sample<Owned = f64> + PartialEq + Serialize + DeserializeOwned,
{
    if let Ok(found) = maximum_entropy_within(of, number(u), number(u), number(u)) {
        quantiles(&found, number(u));
    }
    family(u, of, quantiles);
}

fn family<F>(u: &mut Unstructured<'_>, family: F, asked: impl Fn(&Distribution<F>, f64))
where
    F: Copy + Sample<Point = f64, Owned = f64> + PartialEq + Serialize + DeserializeOwned,
{
    let any = u.ratio(1, 4).unwrap_or(false);
    let x: Vec<f64> = (0..u.int_in_range(0..=8).unwrap_or(4))
        .map(|_| {
            if any {
                number(u)
            } else {
                (f64::from(u.arbitrary::<u8>().unwrap_or(0)) + 0.5) / 256.0
            }
        })
        .collect();
    let p = number(u);
    let Ok(summary) = Summary::of(family, &x) else { return };
    let Ok(found) = summary.mle() else { return };
    asked(&found, p);
    let file = serde_json::to_string(&found).expect("a distribution can be written");
    let again: Distribution<F> = serde_json::from_str(&file).expect("written and not read");
    assert!(again == found);
    if let Some(altered) = tree::altered(u, &found) {
        asked(&altered, p);
        let _ = (altered.kl(&found), found.kl(&altered));
        if let Ok(prior) = Prior::around(number(u), &altered) {
            let _ = prior.posterior(&summary).map(|posterior| posterior.map().natural().to_vec());
        }
    }
    if let Some(mut altered) = tree::altered(u, &summary) {
        let _ = altered.merge(&summary);
        let _ = (altered.forget(&x[0]).is_ok(), altered.mle().is_ok(), altered.mean());
    }
    if let Some(em) = tree::like(u, &[Em::default()])
        && let Ok(mixture) = em.fit(family, &x)
    {
        let _ = (mixture.score(&x), mixture.predict(&x[0]));
        if let Some(altered) = tree::altered(u, &mixture) {
            let _ = (
                altered.score(&x),
                altered.predict(&x[0]),
                altered.sample(&mut ChaCha8Rng::seed_from_u64(0)),
            );
        }
    }
}

fn quantiles<F: Quantiles + Sample<Owned = f64>>(found: &Distribution<F>, p: f64) {
    for share in [p, 0.5] {
        if let Ok(x) = found.quantile(share) {
            assert!(!x.is_nan(), "the quantile of {share}");
            let below = found.cdf(x);
            assert!((0.0..=1.0).contains(&below), "{below} is below {x}");
        }
    }
    let _ = found.log_survival(p);
    answers(found, p);
}

fn answers<F: Sample<Point = f64, Owned = f64>>(found: &Distribution<F>, x: f64) {
    let _ = (found.mean(), found.entropy().is_ok(), found.fisher_information());
    if let Ok(density) = found.log_density(&x) {
        assert!(!density.is_nan(), "the density of {x} at {:?}", found.natural());
    }
    let _ = found.sample(&mut ChaCha8Rng::seed_from_u64(0));
}

/// Generalised linear models.
pub(crate) fn glm(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let kind = u.int_in_range(0..=5).unwrap_or(0);
    let rows = Rows::new(u);
    let positive = rows.y.mapv(|y| y.abs() + 0.1);
    match kind {
        0 => linear(u, &rows, Identity, &rows.y),
        1 => linear(u, &rows, PoissonLog, &rows.counts),
        2 => linear(u, &rows, Logistic, &rows.counts.mapv(|count| count.min(1.0))),
        3 => linear(u, &rows, Reciprocal, &positive),
        4 => linear(u, &rows, InverseSquare, &positive),
        _ => {
            let Some(family) = tree::like(u, &[NegativeBinomialLog { size: 2.0 }]) else { return };
            linear(u, &rows, family, &rows.counts)
        }
    }
}

fn linear<F>(u: &mut Unstructured<'_>, rows: &Rows, family: F, y: &Array1<f64>)
where
    F: ScalarFamily + Serialize + DeserializeOwned,
    F: Clone,
{
    let Some(glm) = tree::like(u, &[Glm::new(family.clone()), Glm { l2: 0.1, ..Glm::new(family) }])
    else {
        return;
    };
    let Ok(model) = glm.fit_with(&rows.x, y, rows.fit(None)) else { return };
    oracle::saved(&model);
    oracle::report(&model.report);
    let _ = model.summary().to_string();
    // A row of weight 0 may be outside the domain.
    if rows.weights.is_none()
        && model.report.status == Status::Converged
        && rows.range == Range::Small
    {
        oracle::finite("prediction", &model.predict(&rows.x).expect("the rows of the fit"));
    }
    let Some(altered) = tree::altered(u, &model) else { return };
    if altered.check().is_ok() {
        let _ = (altered.predict(&rows.x), altered.summary().to_string());
    }
    if let Ok(again) = glm.fit_with(&rows.x, y, rows.fit(Some(&altered))) {
        oracle::report(&again.report);
        if rows.range == Range::Small {
            oracle::bounds(&[&model.report, &again.report]);
        }
    }
}

/// Probabilities of least assumption.
pub(crate) fn entropy(bytes: &[u8]) {
    let u = &mut Unstructured::new(bytes);
    let (n, d) = (u.int_in_range(0..=5).unwrap_or(4), u.int_in_range(0..=2).unwrap_or(1));
    let base: Vec<f64> = (0..n).map(|_| number(u).abs()).collect();
    let statistics = Array2::from_shape_simple_fn((n, d), || number(u));
    let means: Vec<f64> = (0..d).map(|_| number(u)).collect();
    if let Ok(found) = maximum_entropy(&base, statistics.view(), &means) {
        let total: f64 = found.probabilities.iter().sum();
        assert!((total - 1.0).abs() < 1e-6, "probabilities sum to {total}");
    }
}
