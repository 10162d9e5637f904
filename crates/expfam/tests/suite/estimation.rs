//! Estimates, streaming, priors.

use fenchel_expfam::families::*;
use fenchel_expfam::*;
use fenchel_optim::random::stream;
use fenchel_optim::{Status, Stop};

use super::cases::univariate;

fn close(found: f64, expected: f64, tolerance: f64) -> bool {
    found == expected || (found - expected).abs() <= tolerance * expected.abs().max(found.abs())
}

#[test]
fn summaries_of_parts_merge_to_the_summary_of_the_whole() {
    // Shape 2.2: mean of x and of log x determine the estimate, whatever the order.
    let mut rng = stream(21, 0);
    let law = Gamma.with_shape_rate(2.2, 1e-3).unwrap();
    let x = law.samples(500, &mut rng);
    let whole = mle(Gamma, &x).unwrap();
    let mut one_by_one = Summary::new(Gamma);
    x.iter().for_each(|x| one_by_one.observe(x).unwrap());
    let mut merged = Summary::of(Gamma, &x[300..]).unwrap();
    merged.merge(&Summary::of(Gamma, &x[..300]).unwrap()).unwrap();
    let weighted = mle_weighted(Gamma, &x, &vec![0.5; 500]).unwrap();
    for other in [one_by_one.mle().unwrap(), merged.mle().unwrap(), weighted] {
        assert!(
            close(other.shape(), whole.shape(), 1e-12) && close(other.rate(), whole.rate(), 1e-12)
        );
    }
    // Forgetting is the inverse of observing.
    merged.observe(&77.0).unwrap();
    merged.forget(&77.0).unwrap();
    assert!(close(merged.mle().unwrap().shape(), whole.shape(), 1e-11));
    assert_eq!(merged.weight(), 500.0);
}

#[test]
fn variances_survive_a_large_mean() {
    let x: Vec<f64> = (0..1000).map(|i| 1e8 + f64::from(i % 5)).collect();
    let fitted = mle(Normal, &x).unwrap();
    assert!(close(fitted.variance(), 2.0, 1e-12), "{}", fitted.variance());
    let mut streamed = Summary::new(Normal);
    x.iter().for_each(|x| streamed.observe(x).unwrap());
    assert!(close(streamed.mle().unwrap().variance(), 2.0, 1e-8));
    // Gamma variables of shape 1e10: E x and E log x agree to ten digits.
    let x = [1e6, 1e6 + 1.0, 1e6 + 2.0];
    let shape = mle(Gamma, &x).unwrap().shape();
    // log E x - E log x = v / (2 m^2) with v = 2/3; a = 1 / (2 s).
    assert!(close(shape, 1.5 * (1e6 + 1.0) * (1e6 + 1.0), 1e-5), "{shape}");
    let inverse = mle(InverseGaussian, &x).unwrap();
    // 1/l = mean of (x - m)^2 / (x m^2).
    let m: f64 = 1e6 + 1.0;
    let expected = 1.0 / (x.iter().map(|x| (x - m).powi(2) / (x * m * m)).sum::<f64>() / 3.0);
    assert!(close(inverse.shape(), expected, 1e-10));
}

#[test]
fn data_on_the_border_are_an_error_with_a_remedy() {
    assert!(matches!(mle(Bernoulli, &[1.0, 1.0]), Err(Error::BoundaryMean { .. })));
    assert!(matches!(mle(Normal, &[3.0, 3.0]), Err(Error::BoundaryMean { .. })));
    assert!(matches!(mle(Gamma, &[3.0]), Err(Error::BoundaryMean { .. })));
    assert!(matches!(mle(Poisson, &[0.0, 0.0]), Err(Error::BoundaryMean { .. })));
    let three = Categorical::new(3).unwrap();
    assert!(matches!(mle(three, &[0, 1, 1]), Err(Error::BoundaryMean { .. })));
    let rows = [1.0, 2.0, 3.0, 5.0];
    let plane = Summary::of_each(NormalVector::new(2).unwrap(), rows.chunks_exact(2)).unwrap();
    assert!(matches!(plane.mle(), Err(Error::BoundaryMean { .. })), "{:?}", plane.mle());
    let message = mle(Normal, &[3.0, 3.0]).unwrap_err().to_string();
    assert!(message.contains("conjugate prior"), "{message}");
    // A prior of any weight is the remedy.
    let prior = Prior::new(Bernoulli, 0.5, &[0.5]).unwrap();
    let coin = prior.posterior(&Summary::of(Bernoulli, &[1.0, 1.0]).unwrap()).unwrap();
    assert!(close(coin.map().p(), 2.25 / 2.5, 1e-14));
}

#[test]
fn bad_input_has_its_error() {
    let nan = mle(Normal, &[1.0, f64::NAN]).unwrap_err();
    assert!(matches!(nan, Error::OutsideSupport { index: 1, .. }), "{nan}");
    assert!(matches!(mle(Poisson, &[0.5]), Err(Error::OutsideSupport { index: 0, .. })));
    assert!(mle(Normal, &[]).is_err());
    assert!(mle_weighted(Normal, &[1.0, 2.0], &[1.0]).is_err());
    let weighted =
        |weights: &[f64]| mle_weighted(Normal, &[1.0, 2.0], weights).unwrap_err().to_string();
    assert_eq!(weighted(&[1.0, -1.0]), "weights: entry 1 is -1; expected a finite number >= 0");
    assert_eq!(weighted(&[0.0, 0.0]), "sum of the weights = 0; expected a finite number > 0");
    assert!(Distribution::from_natural(Gamma, &[0.0]).is_err());
    assert!(Distribution::from_natural(Gamma, &[-1.0, -1.0]).is_err());
    assert!(Distribution::from_natural(Gamma, &[0.0, f64::NAN]).is_err());
    assert!(Distribution::from_mean(Gamma, &[1.0, 1.0]).is_err());
    assert!(Distribution::from_mean(Beta, &[-0.1, -0.1]).is_err());
    assert!(Distribution::from_mean(VonMises, &[1.0, 0.5]).is_err());
    assert!(Normal.with_mean_variance(0.0, 0.0).is_err());
    assert!(
        Prior::new(Bernoulli, 0.0, &[0.5]).is_err() && Prior::new(Bernoulli, 1.0, &[1.0]).is_err()
    );
    assert!(Summary::new(Normal).forget(&1.0).is_err());
    assert!(Binomial::new(0).is_err() && Categorical::new(1).is_err());
    for (family, etas) in univariate() {
        let k = family.dimension();
        assert!(family.check_natural(&vec![f64::NAN; k]).is_err(), "{}", family.name());
        assert!(family.check_natural(&vec![f64::INFINITY; k]).is_err(), "{}", family.name());
        assert!(family.check_natural(&[]).is_err() && family.check_mean(&[0.5; 7]).is_err());
        assert!(family.check_point(&f64::NAN).is_err(), "{}", family.name());
        let _ = etas;
    }
}

/// Textbook posteriors, with the Jacobians that implementations get wrong.
#[test]
fn evidence_agrees_with_closed_forms() {
    use fenchel_expfam::special::{ln_beta, ln_gamma};
    // Normal of known variance 1, prior N(0, 1/n0): x_1 is N(0, 1 + 1/n0).
    let prior = Prior::new(NormalKnownVariance::new(1.0).unwrap(), 0.25, &[0.0]).unwrap();
    let expected = -0.5 * (2.0 * std::f64::consts::PI * 5.0f64).ln() - 0.5 * 9.0 / 5.0;
    assert!(close(prior.log_predictive(&3.0).unwrap(), expected, 1e-13));
    // Exponential, rate ~ Gamma(n0 + 1, n0 mu0): a Lomax law.
    let prior = Prior::new(Exponential, 2.0, &[1.5]).unwrap();
    let (a, b): (f64, f64) = (3.0, 3.0);
    let expected = a.ln() + a * b.ln() - (a + 1.0) * (b + 0.7f64).ln();
    assert!(close(prior.log_predictive(&0.7).unwrap(), expected, 1e-13));
    // Poisson, rate ~ Gamma(3, 2): a negative binomial law with p = 2/3.
    let prior = Prior::gamma(3.0, 2.0).unwrap();
    let expected = ln_gamma(7.0) - ln_gamma(3.0) - ln_gamma(5.0)
        + 3.0 * (2.0f64 / 3.0).ln()
        + 4.0 * (1.0f64 / 3.0).ln();
    assert!(close(prior.log_predictive(&4.0).unwrap(), expected, 1e-13));
    // Binomial: beta-binomial.
    let prior = Prior::new(Binomial::new(5).unwrap(), 2.0, &[1.5]).unwrap();
    let expected = 10f64.ln() + ln_beta(3.0 + 2.0, 7.0 + 3.0) - ln_beta(3.0, 7.0);
    assert!(close(prior.log_predictive(&2.0).unwrap(), expected, 1e-13));
    // Geometric, p ~ Beta(n0 + 1, n0 mu0).
    let prior = Prior::new(Geometric, 2.0, &[1.5]).unwrap();
    let expected = ln_beta(4.0, 3.0 + 6.0) - ln_beta(3.0, 3.0);
    assert!(close(prior.log_predictive(&6.0).unwrap(), expected, 1e-13));
    // Categorical: Dirichlet(1, 2, 3).
    let prior = Prior::dirichlet(&[1.0, 2.0, 3.0]).unwrap();
    assert!(close(prior.log_predictive(&2).unwrap(), 0.5f64.ln(), 1e-13));
    let joint = prior.log_marginal_likelihood(&[0, 0, 1]).unwrap();
    assert!(close(joint, (1.0f64 / 6.0 * 2.0 / 7.0 * 2.0 / 8.0).ln(), 1e-13));
    // Normal: Student's t with n0 + 3 degrees, location m0, squared scale (n0 v0 / (n0 + 3)) (1 + 1/n0).
    let prior = Prior::normal_gamma(0.5, 2.0, 3.0).unwrap();
    let (_, _, shape, rate) = prior.as_normal_gamma();
    assert!(close(shape, 2.5, 1e-15) && close(rate, 3.0, 1e-14));
    let (nu, scale) = (2.0 * shape, rate / shape * 1.5);
    let student = |x: f64| {
        ln_gamma(0.5 * (nu + 1.0))
            - ln_gamma(0.5 * nu)
            - 0.5 * (nu * std::f64::consts::PI * scale).ln()
            - 0.5 * (nu + 1.0) * (x * x / (nu * scale)).ln_1p()
    };
    assert!(close(prior.log_predictive(&2.5).unwrap(), student(2.0), 1e-12));
    // The multivariate family in one dimension is the same.
    let plane = NormalVector::new(1).unwrap();
    let prior = Prior::new(plane, 2.0, &[0.5, 0.25 + 3.0]).unwrap();
    assert!(close(prior.log_predictive(&[2.5]).unwrap(), student(2.0), 1e-12));
    // In two dimensions: the predictive integrates to 1 (a grid; tails of a t with 4 degrees).
    let prior = Prior::new(NormalVector::new(2).unwrap(), 3.0, &[0.0, 0.0, 1.0, 0.3, 2.0]).unwrap();
    let (h, mut mass) = (0.25, 0.0);
    for i in -160..=160 {
        for j in -160..=160 {
            let x = [f64::from(i) * h, f64::from(j) * h];
            mass += h * h * prior.log_predictive(&x).unwrap().exp();
        }
    }
    assert!((mass - 1.0).abs() < 2e-4, "{mass}");
}

/// The prior density integrates to 1 over eta, and its mean parameter is the posterior mean of mu.
#[test]
fn priors_are_normalised() {
    fn check<F: Evidence + Clone>(family: F, weight: f64, mu: f64, low: f64, high: f64) {
        let prior = Prior::new(family, weight, &[mu]).unwrap();
        let (n, mut mass, mut mean) = (20_000, 0.0, 0.0);
        let h = (high - low) / f64::from(n);
        for i in 0..n {
            let eta = [low + (f64::from(i) + 0.5) * h];
            let p = prior.log_density(&eta).unwrap().exp() * h;
            let mut at = [0.0];
            prior.family().mean(&eta, &mut at);
            mass += p;
            mean += p * at[0];
        }
        let name = prior.family().name();
        assert!(
            (mass - 1.0).abs() < 1e-5 && (mean - mu).abs() < 1e-4 * mu.abs().max(1.0),
            "{name}: {mass} {mean}"
        );
    }
    check(Bernoulli, 3.0, 0.3, -40.0, 40.0);
    check(Binomial::new(4).unwrap(), 2.0, 1.3, -30.0, 30.0);
    check(Poisson, 2.0, 1.5, -20.0, 4.0);
    check(Geometric, 4.0, 2.0, -8.0, -1e-9);
    check(NegativeBinomial::new(2.5).unwrap(), 3.0, 2.0, -12.0, -1e-9);
    check(Exponential, 3.0, 2.0, -15.0, -1e-9);
    check(GammaKnownShape::new(2.0).unwrap(), 3.0, 2.0, -15.0, -1e-9);
    check(Rayleigh, 3.0, 2.0, -15.0, -1e-9);
    check(Laplace::new(0.0).unwrap(), 3.0, 2.0, -15.0, -1e-9);
    check(NormalKnownMean::default(), 4.0, 2.0, -8.0, -1e-9);
    check(NormalKnownVariance::new(2.0).unwrap(), 4.0, 2.0, -6.0, 8.0);
}

#[test]
fn models_survive_json() {
    let p = Gamma.with_shape_rate(2.5, 1.0 / 3.0).unwrap();
    let text = serde_json::to_string(&p).unwrap();
    assert_eq!(serde_json::from_str::<Distribution<Gamma>>(&text).unwrap(), p);
    assert!(serde_json::from_str::<Distribution<Gamma>>(&text.replace("1.5", "-1.5")).is_err());
    let prior = Prior::around(2.0, &p).unwrap();
    let back: Prior<Gamma> = serde_json::from_str(&serde_json::to_string(&prior).unwrap()).unwrap();
    let data = Summary::of(Gamma, &[1.0, 2.0]).unwrap();
    assert_eq!(back.posterior(&data).unwrap().map(), prior.posterior(&data).unwrap().map());
}

/// A gamma law of small shape gives numbers of which one is 10^40 times the other: the mean of the logarithm keeps its digits.
#[test]
fn gamma_summaries_keep_tiny_observations() {
    let x = [1e-300, 1e-40, 1e-12, 1e-8, 0.3, 2.0];
    let mean = x.iter().sum::<f64>() / 6.0;
    let expected = mean.ln() - x.iter().map(|x: &f64| x.ln()).sum::<f64>() / 6.0;
    let whole = Summary::of(Gamma, &x).unwrap();
    let mut parts = Summary::new(Gamma);
    x.iter().for_each(|x| parts.observe(x).unwrap());
    for summary in [&whole, &parts] {
        let mu = summary.mean().unwrap();
        assert!(close(mu[1].ln() - mu[0], expected, 1e-14), "{mu:?} {expected}");
        assert!(summary.mle().unwrap().shape() < 0.01);
    }
}

/// Discounting every observation is exponential forgetting; a category that was discounted to nothing is as if never seen.
#[test]
fn discounts_forget() {
    let mut summary = Summary::new(Categorical::new(2).unwrap());
    for i in 0..400_usize {
        summary.discount(0.9).unwrap();
        summary.observe(&usize::from(i >= 200)).unwrap();
    }
    // 200 times 0.9 of the others.
    let expected = 1.0 - 0.9_f64.powi(200);
    assert!(close(summary.weight(), (1.0 - 0.9_f64.powi(400)) / 0.1, 1e-12));
    assert!((1.0 - summary.mean().unwrap()[0] - expected).abs() < 1e-12);
    assert!(summary.mle().is_ok(), "the other category is still there");
    summary.discount(0.0).unwrap();
    assert_eq!(summary.weight(), 0.0);
    assert!(summary.mean().is_none() && summary.mle().is_err());
    summary.observe(&1).unwrap();
    assert!(matches!(summary.mle(), Err(Error::BoundaryMean { .. })));
    for factor in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert!(summary.discount(factor).is_err(), "{factor}");
    }
}

/// Many observations are checked and summed by blocks: the same estimates as from a sum over all of them, the place of an observation
/// that is outside, and nothing counted then.
#[test]
fn many_observations_are_summed_by_blocks() {
    let n = 50_001;
    let x: Vec<f64> = (0..n).map(|i| 0.25 + f64::from((i * 7919) % 1009) / 512.0).collect();
    // Dyadic numbers: these sums are exact.
    let mean = x.iter().sum::<f64>() / f64::from(n);
    let square = x.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
    let normal = mle(Normal, &x).unwrap();
    assert!(close(normal.location(), mean, 1e-14), "{}", normal.location());
    assert!(close(normal.variance(), square - mean * mean, 1e-13));
    let logs = pairs(&x.iter().map(|x| (x / mean).ln()).collect::<Vec<_>>()) / f64::from(n);
    let gamma = Summary::of(Gamma, &x).unwrap();
    let spread = gamma.mean().unwrap();
    let by_hand = mean.ln() + logs;
    assert!(spread.iter().any(|m| close(*m, by_hand, 1e-13)), "{spread:?} {by_hand}");
    let counts: Vec<f64> = (0..n).map(|i| f64::from((i * 31) % 17)).collect();
    let exact = counts.iter().sum::<f64>() / f64::from(n);
    assert!(close(mle(Poisson, &counts).unwrap().rate(), exact, 1e-14));
    assert_eq!(Summary::of(Exponential, &vec![0.1; 40_000]).unwrap().mean(), Some(vec![0.1]));

    let mut summary = Summary::of(Poisson, &counts[..10]).unwrap();
    let before = summary.clone();
    for (place, bad) in [(3, -1.0), (20_000, 0.5), (50_000, f64::NAN)] {
        let mut counts = counts.clone();
        counts[place] = bad;
        let error = summary.observe_all(&counts).unwrap_err();
        assert!(matches!(error, Error::OutsideSupport { index, .. } if index == place), "{error}");
        assert_eq!(summary, before);
    }
}

/// The sum by halves, whose rounding grows with the logarithm of the length.
fn pairs(x: &[f64]) -> f64 {
    match x {
        [] => 0.0,
        [one] => *one,
        _ => pairs(&x[..x.len() / 2]) + pairs(&x[x.len() / 2..]),
    }
}

/// A limit holds for the random starts as well, and a mixture that was stopped by it has not converged.
#[test]
fn a_mixture_without_time_has_not_converged() {
    let x = [0.0, 1.0, 0.0, 2.0, 1.0, 9.0, 11.0, 10.0, 8.0, 12.0];
    let em = Em::default();
    let fitted = |stop| Em { stop, ..em.clone() }.fit(Poisson, &x).unwrap().report;
    let late = fitted(Stop { max_seconds: Some(0.0), ..em.stop });
    assert_eq!((late.status, late.passes), (Status::TimeLimit, 0.0), "{late}");
    let none = fitted(Stop { max_passes: 0.0, ..em.stop });
    assert_eq!((none.status, none.passes), (Status::PassLimit, 0.0), "{none}");
    let few = fitted(Stop { max_passes: 23.0, ..em.stop });
    assert!(few.passes <= 23.0, "{few}");
    let whole = fitted(em.stop);
    assert!(whole.status == Status::Converged && whole.passes >= 50.0, "{whole}");
    let few = Em { components: 3, ..em.clone() }.fit(Poisson, &x[..2]).unwrap_err().to_string();
    assert_eq!(few, "sample: 2 observations for 3 components; expected at least one a component");
    let fit = Fit::new().weights(&[0.0; 10]);
    let none = em.fit_with(Poisson, &x, fit).unwrap_err().to_string();
    assert!(
        none.starts_with("sample: 0 observations of positive weight for 2 components"),
        "{none}"
    );
}

/// Two components around one observation are one law, a saddle at which the evidence bound is exact: no random start is one, with or
/// without time, and from such a mixture no fit has converged.
#[test]
fn components_that_coincide_are_no_end() {
    let x = [1.0, 3.0, 2.0, 9.0];
    let mut merged = None;
    for seed in 0..40 {
        let em = Em { seed, starts: 1, ..Em::default() };
        let none = Em { stop: Stop { max_seconds: Some(0.0), ..em.stop }, ..em };
        let start = none.fit(Normal, &x).unwrap();
        assert_eq!((start.report.status, start.report.passes), (Status::TimeLimit, 0.0), "{seed}");
        assert_ne!(start.components[0], start.components[1], "{seed}");
        // Equal numbers of other rows are the same start.
        let start = none.fit(Poisson, &[2.0, 2.0, 2.0, 2.0, 7.0]).unwrap();
        assert_ne!(start.components[0], start.components[1], "{seed}");
        merged = Some(start);
    }
    let em = Em::default();
    let mut merged = merged.unwrap();
    merged.components[1] = merged.components[0].clone();
    let stuck = em.fit_with(Poisson, &x, Fit::new().start(&merged)).unwrap().report;
    assert_eq!((stuck.status, stuck.passes), (Status::Stalled, 0.0), "{stuck}");
    assert_eq!(stuck.certificate.value(), f64::INFINITY);
    // Equal observations have one law, the optimum.
    let same = em.fit(Poisson, &[3.0; 4]).unwrap();
    assert_eq!(same.report.status, Status::Converged);
    let same = em.fit_with(Poisson, &[3.0; 4], Fit::new().start(&same)).unwrap();
    assert_eq!(same.report.status, Status::Converged);
}

#[test]
fn a_count_of_starts_without_end_is_refused() {
    for starts in [0, 1_000_001, usize::MAX] {
        let refused = Em { starts, ..Em::default() }.fit(Normal, &[1.0, 3.0, 2.0]).unwrap_err();
        assert!(refused.to_string().starts_with("starts = "), "{refused}");
    }
}
