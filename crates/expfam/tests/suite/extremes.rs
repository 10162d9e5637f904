//! The far ends: tails, units, borders, numbers that overflow, files that do not fit.
#![allow(clippy::excessive_precision, reason = "references are quoted as they were computed")]

use fenchel_expfam::families::*;
use fenchel_expfam::glm::{Glm, Identity, NegativeBinomialLog, PoissonLog};
use fenchel_expfam::maximum_entropy::maximum_entropy;
use fenchel_expfam::quantiles::maximum_entropy_within;
use fenchel_expfam::*;
use fenchel_linalg::special::ln_gamma;
use fenchel_optim::Status;
use fenchel_optim::random::stream;
use ndarray::{Array2, array};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn assert_near(found: f64, expected: f64, relative: f64) {
    assert!((found / expected - 1.0).abs() <= relative, "{found:e} in place of {expected:e}");
}

fn message<T>(found: Result<T, Error>) -> String {
    found.err().map_or_else(|| "no error".to_owned(), |error| error.to_string())
}

/// Regularised incomplete gamma and beta functions by mpmath with 40 digits.
#[test]
fn tails_keep_their_digits() {
    for (shape, rate, x, expected) in [
        (2.0, 3.0, 1e-10, 4.499_999_999_100_000_33e-20),
        (20.0, 1.0, 0.1, 3.736_960_368_008_905_1e-39),
        (20.0, 1.0, 1e-10, 4.110_317_622_920_709_03e-219),
        (2000.0, 1.0, 1500.0, 6.601_488_115_620_482_37e-35),
    ] {
        let p = Gamma.with_shape_rate(shape, rate).unwrap();
        assert_near(p.cdf(x), expected, 2e-12);
    }
    for (a, b, x, expected) in [
        // Both (a + 1) / (a + b + 2) < x and the same of the other side, by rounding.
        (
            1.070_447_919_302_691_7,
            1.512_305_450_266_132,
            0.451_791_260_042_757_5,
            0.572_958_266_518_817_734,
        ),
        (3.0, 1e12, 4e-12, 0.761_896_694_448_213_946),
        (2.5, 1e9, 1e-9, 0.150_854_964_261_313_296),
        (1e10, 2.0, 1.0 - 0.5f64.powi(33), 0.675_620_293_610_042_843),
        (3.0, 2e8, 1e-8, 0.323_323_589_230_347_906),
    ] {
        assert_near(Beta.with_shapes(a, b).unwrap().cdf(x), expected, 1e-11);
    }
}

#[test]
fn quantiles_follow_the_unit() {
    let one = Gamma.between(1.0, 10.0, 0.9).unwrap();
    for unit in [1e-300, 1e-12, 1e11, 1e299] {
        let p = Gamma.between(unit, 10.0 * unit, 0.9).unwrap();
        assert_near(p.shape(), one.shape(), 1e-9);
        assert_near(p.rate() * unit, one.rate(), 1e-9);
        // 1 / X of an inverse gamma variable: the same law.
        let q = InverseGamma.between(0.1 / unit, 1.0 / unit, 0.9).unwrap();
        assert_near(q.cdf(1.0 / unit) - q.cdf(0.1 / unit), 0.9, 1e-10);
    }
    // A tail of 1e-20 is met, not taken for 0.
    let p = Gamma.with_quantiles((1.0, 1e-20), (2.0, 0.5)).unwrap();
    assert_near(p.cdf(1.0), 1e-20, 1e-8);
    assert_near(p.cdf(2.0), 0.5, 1e-10);
    let p = InverseGamma.with_quantiles((1.0, 1e-20), (2.0, 0.5)).unwrap();
    assert_near(p.cdf(1.0), 1e-20, 1e-8);
    // Rare events: the beta law of a small probability is a gamma law.
    for low in [1e-7, 1e-12, 1e-200] {
        let (a, b) = Prior::<Bernoulli>::between(low, 10.0 * low, 0.9).unwrap().as_beta();
        assert_near(a, one.shape(), 1e-4);
        assert_near(b * low, one.rate(), 1e-4);
    }
}

#[test]
fn beliefs_that_make_no_law_are_named() {
    assert!(message(Beta.between(0.2, 1.5, 0.9)).contains("second quantile = 1.5"));
    assert!(message(Gamma.between(2.0, f64::INFINITY, 0.9)).contains("second quantile = inf"));
    assert!(message(Normal.between(1.0, 2.0, 1.5)).contains("mass = 1.5"));
    assert!(message(maximum_entropy_within(Gamma, 1.0, 2.0, f64::NAN)).contains("mass"));
    let (near, far) = ("the second quantile is too near", "the second quantile is too far above");
    let expected =
        "quantiles: no member of the gamma family that doubles can hold has P(X <= 1e-300) = 0.05";
    assert!(message(Gamma.between(1e-300, 1e300, 0.9)).starts_with(expected));
    assert!(message(maximum_entropy_within(Gamma, 1e-300, 1e300, 0.9)).contains(far));
    assert!(message(Normal.between(1e-300, 1e300, 0.9)).contains(far));
    assert!(message(Normal.between(1.0, 1.0 + 1e-15, 0.9)).contains("quantile"));
    assert!(message(Normal.between(0.0, 1e-300, 0.9)).contains(near));
    for close in [1.0 + 1e-9, 1.0 + 1e-12] {
        assert!(message(Gamma.between(1.0, close, 0.9)).contains(near));
        assert!(message(InverseGamma.between(1.0, close, 0.9)).contains(near));
    }
    assert!(message(InverseGamma.between(1e-300, 1e300, 0.9)).contains(far));
    assert!(message(Beta.between(0.5, 0.5 + 1e-12, 0.9)).contains(near));
    assert!(message(Beta.between(1e-9, 1.0 - 1e-9, 1e-6)).contains(far));
    let nan = NormalVectorKnownCovariance::new(array![[f64::NAN]].view());
    assert!(message(nan).contains("covariance"));
    let family = NormalWishart::new(1).unwrap();
    let one = Array2::eye(1);
    let law = |m: f64, degrees: f64| {
        family.with_location_scale_degrees(array![m].view(), 1.0, one.view(), degrees)
    };
    assert!(message(law(f64::NAN, 3.0)).contains("location"));
    assert!(message(law(0.0, f64::NAN)).contains("degrees"));
    let line: Vec<Vec<f64>> = (0..6).map(|i| vec![f64::from(i), 2.0 * f64::from(i)]).collect();
    let fit = Em::default().fit(NormalVector::new(2).unwrap(), &line);
    assert!(message(fit).contains(NormalVector::new(2).unwrap().name()));
}

/// The rate is `E [t (m - m0)^2]`'s unit: a location too far from 0 for it is refused, any other keeps six digits.
#[test]
fn conjugate_laws_keep_their_scale_or_refuse() {
    let law = |location: f64, weight: f64, shape: f64, rate: f64| {
        NormalGamma.with_parameters(NormalGammaParameters { location, weight, shape, rate })
    };
    for (location, weight, rate) in [(1e6, 3.0, 1e-3), (1e4, 1.0, 1e-6)] {
        assert!(message(law(location, weight, 2.0, rate)).contains("too far from 0"));
    }
    for (location, weight, rate) in [(1e6, 3.0, 1e3), (10.0, 1.0, 1e-6), (1e3, 1.0, 1e-4)] {
        assert_near(law(location, weight, 2.0, rate).unwrap().parameters().rate, rate, 1e-6);
    }
    assert!(law(0.0, 1e300, 1e300, 1e-300).is_err());
    let readings: Vec<f64> = (0..50).map(|i| 1e6 + 0.01 * f64::from(i % 7 - 3)).collect();
    let summary = Summary::of(Normal, &readings).unwrap();
    let posterior = Prior::<Normal>::normal_gamma(1e6, 1.0, 1e-4).unwrap().posterior(&summary);
    assert!(message(NormalGamma::of_prior(&posterior.unwrap())).contains("subtract"));
    let wishart = NormalWishart::new(2).unwrap();
    let scale = array![[1e3, 0.0], [0.0, 1e3]];
    let at = |m: f64| {
        let location = array![m, m];
        wishart.with_location_scale_degrees(location.view(), 1.0, scale.view(), 5.0)
    };
    assert!(message(at(1e5)).contains("too far from 0"));
    let found = at(1e2).unwrap().precision().scale();
    assert_near(found[[0, 0]], 1e3, 1e-6);
}

#[test]
fn maximum_entropy_in_any_unit_and_on_the_border() {
    let faces = |unit: f64| Array2::from_shape_fn((6, 1), |(i, _)| unit * (i as f64 + 1.0));
    // Jaynes' die of mean 4.5: multiplier and last probability by mpmath.
    for unit in [1e-300, 1e-20, 1.0, 1e200, 1e300] {
        let die = maximum_entropy(&[1.0; 6], faces(unit).view(), &[4.5 * unit]).unwrap();
        assert_eq!(die.report.status, Status::Converged, "{unit:e}");
        assert_near(die.multipliers[0] * unit, 0.371_048_938_081_033_138, 1e-12);
        assert_near(die.probabilities[5], 0.347_494_065_774_061_086, 1e-12);
    }
    // On the border and beyond there is none, and the multiplier shows it.
    for mean in [6.0, 1.0, 7.0, -3.0] {
        let die = maximum_entropy(&[1.0; 6], faces(1.0).view(), &[mean]).unwrap();
        assert_eq!(die.report.status, Status::NoMinimiser, "{mean}");
        assert!((die.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        // No law on six faces is further from the fair die than log 6.
        assert!((0.0..=6f64.ln() + 1e-12).contains(&die.divergence));
    }
    // An edge of a square: its mean is on the border, its middle not at a corner.
    let square = array![[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]];
    let edge = maximum_entropy(&[1.0; 4], square.view(), &[0.3, 1.0]).unwrap();
    assert!(!matches!(edge.report.status, Status::Converged), "{:?}", edge.report);
    let inside = maximum_entropy(&[1.0; 4], square.view(), &[0.3, 1.0 - 1e-6]).unwrap();
    assert_eq!(inside.report.status, Status::Converged);
    assert_near(inside.probabilities[3], 0.3 * (1.0 - 1e-6), 1e-9);
    let constant = array![[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]];
    let none = maximum_entropy(&[1.0; 3], constant.view(), &[1.1, 1.5]).unwrap();
    assert_ne!(none.report.status, Status::Converged);
    assert!((none.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    // Base weights of any size.
    let three = array![[1.0], [2.0], [3.0]];
    let even = maximum_entropy(&[1e308; 3], three.view(), &[2.0]).unwrap();
    assert_near(even.probabilities[1], 1.0 / 3.0, 1e-13);
    let steep = maximum_entropy(&[1e-300, 1.0, 1e300], three.view(), &[1.5]).unwrap();
    assert_eq!(steep.report.status, Status::Converged);
    for (p, expected) in
        steep.probabilities.iter().zip([0.616_204_060_378, 0.267_591_879_244, 0.116_204_060_378])
    {
        // The multiplier is -691.6: its rounding is relative to that.
        assert_near(*p, expected, 1e-11);
    }
}

#[test]
fn wide_counts_have_an_entropy() {
    // Direct sums of 6e7 and 8e6 terms in numpy, good to 1e-10.
    for (r, p, expected) in [(0.5, 1e-6, 13.906_687_360), (3.0, 1e-5, 13.360_498_975)] {
        let law = NegativeBinomial::new(r).unwrap().with_p(p).unwrap();
        assert_near(law.entropy().unwrap(), expected, 1e-9);
    }
    // log Gamma(r) with r = 0.5, log(1/p) and a constant: entropy of the gamma law of X p, as p falls.
    let gamma = Gamma.with_shape_rate(0.5, 1e-12).unwrap().entropy().unwrap();
    let law = NegativeBinomial::new(0.5).unwrap().with_p(1e-12).unwrap();
    // They differ by what lies at 0, p^r log(p^-r) = 1.4e-5, and less.
    assert!((law.entropy().unwrap() - gamma).abs() < 1e-4);
    // Large laws are nearly normal: log(2 pi e v) / 2 - 1 / (12 v) - .... The terms of the entropy are of the size v log v.
    let normal = |v: f64| 0.5 * (std::f64::consts::TAU * std::f64::consts::E * v).ln();
    let poisson = Poisson.with_rate(1e8).unwrap().entropy().unwrap();
    assert!((poisson - normal(1e8)).abs() < 1e-5);
    let binomial = Binomial::new(400_000_000).unwrap().with_p(0.5).unwrap().entropy().unwrap();
    assert!((binomial - normal(1e8)).abs() < 1e-5);
}

/// Counts up to `1 / e` at `eta = -e`, each power of ten as likely as the other: with `l = log(1 / e)` the series of
/// `sum_x e^(-e x) log(x) / x` is `l^2/2 - g l + g^2/2 + pi^2/12 + g1`, up to terms of the size `e l`, with Euler's and Stieltjes' constants.
#[test]
fn logarithmic_counts_of_any_width_have_an_entropy() {
    let (g, g1) = (0.577_215_664_901_532_9, -0.072_815_845_483_676_72);
    for e in [1e-12_f64, 1e-20, 1e-100, 1e-300] {
        let law = Distribution::from_natural(Logarithmic, &[-e]).unwrap();
        let l = -e.ln();
        let pi = std::f64::consts::PI;
        let series = 0.5 * l * l - g * l + 0.5 * g * g + pi * pi / 12.0 + g1;
        assert_near(law.entropy().unwrap(), l.ln() + (series + 1.0) / l, 1e-9);
    }
    assert!(message(Distribution::from_natural(Logarithmic, &[-1e-310])).contains("-1e-305"));
}

/// A mean that rounds to the border is none of a prior, and infinite numbers have no difference.
#[test]
fn priors_that_no_number_holds_are_refused() {
    let sure = Distribution::from_natural(Bernoulli, &[50.0]).unwrap();
    assert!(message(Prior::around(5.0, &sure)).contains("mean"));
    let wide = Distribution::from_natural(Pareto::new(2.0).unwrap(), &[-1e-180]).unwrap();
    let prior = Prior::around(6e230, &wide).unwrap();
    assert!(message(prior.log_marginal_likelihood(&[f64::MAX])).contains("overflow"));
    // As of the categorical family: differences of two parameters are numbers.
    let dice = Distribution::from_natural(Multinomial::new(9, 3).unwrap(), &[1e307, -1.7e308]);
    assert!(message(dice).contains("at most 8e307"));
    let sphere = VonMisesFisher::new(12).unwrap();
    assert!(message(Distribution::from_natural(sphere, &[7e307; 12])).contains("at most 8e307"));
}

#[test]
fn mixtures_and_estimates_say_what_they_cannot() {
    let sample = [1.0, 2.0, 5.0, 7.0, 1.5, 6.0];
    let fit = Em { pseudo_count: 100.0, ..Em::default() }.fit(Normal, &sample).unwrap();
    // So many pseudo-observations of the whole: each component is nearly it.
    assert!(fit.components.iter().all(|c| (c.location() - 3.75).abs() < 0.2));
    assert!(fit.shares(&1e160).is_err() && fit.predict(&1e160).is_err());
    let (p, q) = (Normal.with_mean_variance(0.0, 1.0), Normal.with_mean_variance(5.0, 1.0));
    let (p, q) = (p.unwrap(), q.unwrap());
    for draws in [0, 1] {
        assert!(message(p.monte_carlo_kl(&q, draws, &mut stream(0, 0))).contains("draws"));
    }
    assert!(p.monte_carlo_kl(&q, 2, &mut stream(0, 0)).is_ok());
}

fn refused<T: DeserializeOwned>(text: Value) {
    assert!(serde_json::from_value::<T>(text.clone()).is_err(), "{text}");
}

#[test]
fn files_go_through_the_constructors() {
    let fit = Em::default().fit(Poisson, &[1.0, 2.0, 9.0, 11.0]).unwrap();
    let text = serde_json::to_value(&fit).unwrap();
    assert_eq!(serde_json::from_value::<Mixture<Poisson>>(text.clone()).unwrap(), fit);
    for (weights, components) in [
        (json!([]), json!([])),
        (json!([-1.0, 2.0]), text["components"].clone()),
        (json!([1.0]), text["components"].clone()),
    ] {
        let mut bad = text.clone();
        bad["weights"] = weights;
        bad["components"] = components;
        refused::<Mixture<Poisson>>(bad);
    }
    let prior = Prior::gamma(3.0, 2.0).unwrap();
    let text = serde_json::to_value(&prior).unwrap();
    assert_eq!(serde_json::from_value::<Prior<Poisson>>(text.clone()).unwrap(), prior);
    let mut weightless = text.clone();
    weightless["summary"]["weight"] = json!(0.0);
    refused::<Prior<Poisson>>(weightless);
    let mut other = text;
    other["map"]["natural"] = json!([5.0]);
    refused::<Prior<Poisson>>(other);
    let member = |family: Value, natural: Value| json!({"family": family, "natural": natural});
    refused::<Distribution<NormalKnownVariance>>(member(json!({"variance": -1.0}), json!([0.0])));
    refused::<Distribution<NegativeBinomial>>(member(json!({"successes": -3.0}), json!([-1.0])));
    refused::<Distribution<Binomial>>(member(json!({"trials": 2.5}), json!([0.0])));
    // JSON has one kind of numbers: 5 and 5.0 are one count.
    for trials in [json!(5), json!(5.0)] {
        let text = member(json!({ "trials": trials }), json!([0.0]));
        let read = serde_json::from_value::<Distribution<Binomial>>(text).unwrap();
        assert_eq!(read.family().trials(), 5.0);
    }
    for d in [json!(2), json!(2.0)] {
        let read = serde_json::from_value::<IsotropicNormal>(json!({ "d": d })).unwrap();
        assert_eq!(read, IsotropicNormal::new(2).unwrap());
    }
    refused::<IsotropicNormal>(json!({"d": 2.5}));
    refused::<Distribution<Weibull>>(member(json!({"shape": 0.0}), json!([-1.0])));
    for d in [0_u64, 1 << 32, u64::MAX] {
        refused::<Distribution<NormalWishart>>(member(json!({"d": d}), json!([])));
        refused::<Distribution<Wishart>>(member(json!({"d": d}), json!([])));
    }
    refused::<Independent<Normal>>(json!({"family": null, "count": u64::MAX}));
    assert!(NormalWishart::new(usize::MAX).is_err());
}

fn counts() -> (Array2<f64>, Vec<f64>) {
    let x = Array2::from_shape_fn((40, 2), |(i, j)| ((7 * i + 3 * j * i * i) % 11) as f64 / 11.0);
    (x, (0..40).map(|i| f64::from((i * i + 3) % 8)).collect())
}

/// With a growing size the law is Poisson's: `log p` differs by `((y - mu)^2 - y) / (2 r)` and less.
#[test]
fn negative_binomial_counts_of_large_size_are_poisson() {
    let (x, y) = counts();
    let poisson = Glm::new(PoissonLog).fit(&x, &y[..]).unwrap();
    for size in [1e10, 1e16, 1e300] {
        let fit = Glm::new(NegativeBinomialLog { size }).fit(&x, &y[..]).unwrap();
        let (found, limit) = (fit.summary.log_likelihood, poisson.summary.log_likelihood);
        assert!((found - limit).abs() < 1e-9 + 1e4 / size, "{size:e}: {found} {limit}");
    }
    // The closed form at a size where nothing cancels.
    let fit = Glm::new(NegativeBinomialLog { size: 2.5 }).fit(&x, &y[..]).unwrap();
    let means = fit.predict(&x).unwrap();
    let sum: f64 = means
        .iter()
        .zip(&y)
        .map(|(mu, y)| {
            ln_gamma(y + 2.5) - ln_gamma(2.5) - ln_gamma(y + 1.0)
                + 2.5 * (2.5 / (2.5 + mu)).ln()
                + y * (mu / (2.5 + mu)).ln()
        })
        .sum();
    assert_near(fit.summary.log_likelihood, sum, 1e-12);
}

#[test]
fn columns_of_any_unit_are_fitted_alike_or_refused() {
    let (x, y) = counts();
    let one = Glm::new(PoissonLog).fit(&x, &y[..]).unwrap();
    assert!(one.coefficients[0].abs() > 1e-3);
    for unit in [1e-140, 1e-20, 1e-11, 1e10, 1e140] {
        let fit = Glm::new(PoissonLog).fit(&(&x * unit), &y[..]).unwrap();
        assert_eq!(fit.report.status, Status::Converged, "{unit:e}");
        for (found, expected) in fit.coefficients.iter().zip(&one.coefficients) {
            assert_near(found * unit, *expected, 1e-7);
        }
        assert_near(fit.summary.aic, one.summary.aic, 1e-10);
    }
    for unit in [1e-300, 1e-160, 1e200] {
        assert!(message(Glm::new(PoissonLog).fit(&(&x * unit), &y[..])).contains("column 0"));
        let targets: Vec<f64> = y.iter().map(|y| y * unit).collect();
        assert!(message(Glm::new(Identity).fit(&x, &targets[..])).contains("target"));
    }
}

/// At the smallest and the largest numbers a member is refused, or none of its quantities is NaN.
#[test]
fn no_quantity_is_nan_at_the_ends_of_the_numbers() {
    const ENDS: [f64; 7] = [5e-324, 1e-310, 1e-160, 1.0, 1e160, 1e308, f64::MAX];

    fn law<F: Density + Clone + PartialEq>(
        found: Result<Distribution<F>, Error>,
        one: &Distribution<F>,
    ) {
        let Ok(p) = found else { return };
        let what = format!("{} {:?}", p.family().name(), p.natural());
        assert!(p.mean().iter().all(|m| !m.is_nan()), "{what}: mean {:?}", p.mean());
        assert!(!p.log_partition().is_nan() && !p.conjugate().is_nan(), "{what}: A or A*");
        assert!(p.fisher_information().iter().all(|v| !v.is_nan()), "{what}: variance");
        assert!(!p.entropy().is_ok_and(f64::is_nan), "{what}: entropy {:?}", p.entropy());
        assert_eq!(p.kl(&p), 0.0, "{what}");
        for kl in [p.kl(one), one.kl(&p)] {
            assert!(kl >= 0.0, "{what}: kl {kl}");
        }
    }

    fn tails<F: Quantiles>(found: Result<Distribution<F>, Error>, points: &[f64]) {
        let Ok(p) = found else { return };
        let what = format!("{} {:?}", p.family().name(), p.natural());
        for &x in points {
            let shares = [p.cdf(x), p.survival(x)];
            assert!(shares.iter().all(|s| (0.0..=1.0).contains(s)), "{what}: {shares:?} at {x:e}");
            let logs = [p.log_cdf(x), p.log_survival(x)];
            assert!(logs.iter().all(|s| *s <= 0.0), "{what}: {logs:?} at {x:e}");
        }
        for q in [5e-324, 1e-300, 0.5, 1.0 - 1e-16] {
            let both = [p.quantile(q).unwrap(), p.upper_quantile(q).unwrap()];
            assert!(both.iter().all(|x| !x.is_nan()), "{what}: {both:?} at {q:e}");
        }
    }

    let positive = [0.0, 5e-324, 1e-300, 1.0, 1e300, f64::MAX, f64::INFINITY];
    let angle = |k: f64| VonMises.with_direction_concentration(1.0, k);
    let spread = |m: f64, v: f64| Normal.with_mean_variance(m, v);
    let gamma = |a: f64, b: f64| Gamma.with_shape_rate(a, b);
    let inverse = |a: f64, b: f64| Distribution::from_natural(InverseGamma, &[-1.0 - a, -b]);
    let beta = |a: f64, b: f64| Beta.with_shapes(a, b);
    let wald = |a: f64, b: f64| Distribution::from_natural(InverseGaussian, &[-a, -b]);
    let dice = |a: f64, b: f64| Distribution::from_natural(Categorical::new(3).unwrap(), &[a, b]);
    let count = |eta: f64| Distribution::from_natural(Poisson, &[eta]);
    for a in ENDS {
        law(angle(a), &angle(1.0).unwrap());
        law(count(-a), &count(0.0).unwrap());
        law(count(a), &count(0.0).unwrap());
        for b in ENDS {
            law(spread(a, b), &spread(0.0, 1.0).unwrap());
            tails(spread(a, b), &[f64::NEG_INFINITY, -1e308, 0.0, 1.0, 1e308, f64::INFINITY]);
            law(gamma(a, b), &gamma(1.0, 1.0).unwrap());
            tails(gamma(a, b), &positive);
            law(inverse(a, b), &inverse(1.0, 1.0).unwrap());
            tails(inverse(a, b), &positive);
            law(beta(a, b), &beta(1.0, 1.0).unwrap());
            tails(beta(a, b), &[0.0, 5e-324, 0.5, 1.0 - 1e-16, 1.0]);
            law(wald(a, b), &wald(1.0, 1.0).unwrap());
            law(dice(a, -b), &dice(0.0, 0.0).unwrap());
        }
    }
    let error = message(gamma(1e308, 1.0));
    assert!(
        error.contains("natural parameter 0 of the gamma family is 1e308; expected at most 1e305"),
        "{error}"
    );
    // The uniform law, whose entropy is that of a circle.
    let entropy = angle(5e-324).unwrap().entropy().unwrap();
    assert_near(entropy, std::f64::consts::TAU.ln(), 1e-15);
}
