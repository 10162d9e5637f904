//! Random members of every family: each function against a second formula that does not share its terms.
//!
//! | function | second formula |
//! |---|---|
//! | `A`, means, entropies, divergences | integrals of means and of the Fisher information along the segment between two members |
//! | entropies of counts | sums over the counts |
//! | `log p`, maximum likelihood | `sum log p(x) = sum log p(x at the estimate) - n KL(estimate, member)` |
//! | tails | integrals of the density, and quantiles on both sides of the point |
//! | posterior, evidence | prior times likelihood = evidence times posterior |
//!
//! `FENCHEL_PROBLEMS=1000000 cargo test --release -p fenchel-expfam --test suite sweep -- --nocapture` does a million a family and
//! prints the counts; the suite does fewer.

use fenchel_expfam::families::*;
use fenchel_expfam::quantiles::Quantiles;
use fenchel_expfam::*;
use fenchel_linalg::quadrature::{Rule, gauss_legendre};
use fenchel_optim::random::stream;
use rand::{Rng, RngExt};

use super::{cases, counts::Counts, integrals::integrate, random::moved};

const EPS: f64 = f64::EPSILON;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn size(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a * b).abs()).sum()
}

/// `A`, `A*`, means and divergences of neighbours by integrals along the segment.
fn along(counts: &mut Counts, family: &dyn Family, rule: &Rule, p: &[f64], q: &[f64]) {
    let (k, name) = (p.len(), family.name());
    let d: Vec<f64> = q.iter().zip(p).map(|(q, p)| q - p).collect();
    if d.iter().all(|d| *d == 0.0) {
        return;
    }
    let (mut information, mut mu, mut eta) = (vec![0.0; k * k], vec![0.0; k], vec![0.0; k]);
    // A, KL, A*, and the sizes of the terms of each.
    let mut integrand = |s: f64, out: &mut [f64]| {
        for i in 0..k {
            // From the nearer end.
            eta[i] = if s < 0.5 { p[i] + s * d[i] } else { q[i] - (1.0 - s) * d[i] };
        }
        family.mean(&eta, &mut mu);
        family.fisher(&eta, &mut information);
        out.fill(0.0);
        out[0] = dot(&mu, &d);
        out[1] = size(&mu, &d);
        for (row, (eta, di)) in information.chunks(k).zip(eta.iter().zip(&d)) {
            let (along, terms) = (dot(row, &d), size(row, &d));
            out[2] += (1.0 - s) * di * along;
            out[3] += (1.0 - s) * di.abs() * terms;
            out[4] += eta * along;
            out[5] += eta.abs() * terms;
        }
    };
    let Some(found) = integrate(rule, (0.0, 1.0), 6, &mut integrand) else { return };
    let (ap, aq) = (family.log_partition(p), family.log_partition(q));
    let member = (p, q);
    // The integrals have 12 digits, and what lies between two members far apart in log-odds is too narrow for them.
    let rounding =
        |terms: f64, integral: f64| 512.0 * EPS * terms + 1e-12 * integral.abs() + 1e-300;
    let narrow = name == "categorical" && d.iter().any(|d| d.abs() > 1e4);
    let mut at_q = vec![0.0; k];
    family.mean(q, &mut at_q);
    // A is the difference of these where it is nearly 0.
    let given = size(&at_q, q);
    if !narrow && given.is_finite() && found.iter().all(|f| f.is_finite()) {
        counts.judge(
            name,
            "A",
            (aq, ap + found[0], rounding(found[1] + ap.abs() + given, found[0])),
            &member,
        );
        counts.judge(name, "kl", (family.kl(p, q), found[2], rounding(found[3], 0.0)), &member);
        let (sp, sq) = (family.conjugate_at(p), family.conjugate_at(q));
        counts.judge(
            name,
            "A*",
            (sq, sp + found[4], rounding(found[5] + sp.abs(), found[4])),
            &member,
        );
    }
}

/// The divergences of three members: `KL(p, r) = KL(p, q) + KL(q, r) + <mu_p - mu_q, eta_q - eta_r>`.
fn three(counts: &mut Counts, family: &dyn Family, p: &[f64], q: &[f64], r: &[f64]) {
    let k = p.len();
    let (mut at_p, mut at_q) = (vec![0.0; k], vec![0.0; k]);
    family.mean(p, &mut at_p);
    family.mean(q, &mut at_q);
    let (pr, pq, qr) = (family.kl(p, r), family.kl(p, q), family.kl(q, r));
    let (mut cross, mut terms) = (0.0, 0.0);
    for i in 0..k {
        cross += (at_p[i] - at_q[i]) * (q[i] - r[i]);
        terms += (at_p[i].abs() + at_q[i].abs()) * (q[i].abs() + r[i].abs());
    }
    let allowed = 1e-10 * (pq + qr) + 64.0 * EPS * terms;
    if allowed.is_finite() {
        counts.judge(family.name(), "three kl", (pr, pq + qr + cross, allowed), &(p, q, r));
    }
    let same = family.kl(p, p);
    assert!(same == 0.0 && pr >= 0.0 && pq >= 0.0 && qr >= 0.0, "{} {p:?} {q:?}", family.name());
}

/// What four units of rounding of the parameters and of the points move a value by.
fn rounding(eta: &[f64], f: impl Fn(&[f64], f64) -> f64) -> f64 {
    let value = f(eta, 1.0);
    // What leaves the support moves nothing.
    let change = |moved: f64| if moved.is_finite() { (moved - value).abs() } else { 0.0 };
    let units = [1.0 + 4.0 * EPS, 1.0 - 4.0 * EPS];
    let mut moved: f64 = units.iter().map(|unit| change(f(eta, *unit))).sum();
    let mut at = eta.to_vec();
    for i in 0..eta.len() {
        for unit in units {
            at[i] = eta[i] * unit;
            moved += change(f(&at, 1.0));
        }
        at[i] = eta[i];
    }
    moved
}

type Numbers = dyn Sample<Point = f64, Owned = f64>;

/// Three draws: their likelihood, by the estimate and the divergence from it.
fn likelihood(counts: &mut Counts, family: &Numbers, eta: &[f64], rng: &mut impl Rng) {
    let x: Vec<f64> = (0..3).map(|_| family.draw(eta, rng)).collect();
    if !x.iter().all(|x| family.check_point(x).is_ok()) {
        return;
    }
    let k = eta.len();
    let (mut centred, mut best) = (vec![0.0; k], vec![0.0; k]);
    family.centred_mean(&x, &mut centred);
    let found = family.natural_from_centred(&centred, &mut best).is_ok();
    if !found || family.check_natural(&best).is_err() || family.check_resolved(&best).is_err() {
        return;
    }
    let whole = x.iter().all(|x| x.fract() == 0.0);
    let sum = |eta: &[f64], unit: f64| -> f64 {
        x.iter().map(|x| family.log_density(eta, &if whole { *x } else { x * unit })).sum()
    };
    let (here, there, apart) = (sum(eta, 1.0), sum(&best, 1.0), 3.0 * family.kl(&best, eta));
    if !(here.is_finite() && apart.is_finite()) {
        assert!(!here.is_nan() && !apart.is_nan(), "{} {eta:?} {x:?}", family.name());
        return;
    }
    // The mean of the statistics is rounded, and the estimate is the member of the rounded mean.
    let mut mean = vec![0.0; k];
    family.mean(&best, &mut mean);
    let apart_by: f64 = (0..k).map(|i| (mean[i] * (eta[i] - best[i])).abs()).sum();
    let allowed = rounding(eta, sum) + 16.0 * EPS * apart_by + 1e-13 * (there.abs() + apart);
    counts.judge(family.name(), "log p, mle", (here, there - apart, allowed), &(eta, &x));
    let mut batch = vec![0.0; 3];
    family.log_densities(eta, &x, &mut batch);
    let allowed = rounding(eta, sum) + 1e-13 * (there.abs() + apart);
    counts.judge(family.name(), "log p batch", (batch.iter().sum(), here, allowed), &(eta, &x));
}

#[test]
fn sweep_of_parameters_by_integrals_and_divergences() {
    let count = cases::problems(60);
    let rule = gauss_legendre(16).unwrap();
    let mut counts = Counts::default();
    for (family, etas) in cases::all() {
        let mut rng = stream(21, 0);
        for i in 0..count {
            let p = moved(&*family, &etas[i % etas.len()], &[1e-3, 0.5, 14.0], &mut rng);
            let q = moved(&*family, &p, &[1e-6, 0.1, 0.7], &mut rng);
            let r = moved(&*family, &q, &[0.5, 14.0], &mut rng);
            along(&mut counts, &*family, &rule, &p, &q);
            three(&mut counts, &*family, &p, &q, &r);
        }
    }
    counts.close(count > 1000);
}

#[test]
fn sweep_of_likelihoods_by_estimates() {
    let count = cases::problems(200);
    let mut counts = Counts::default();
    for (family, etas) in cases::univariate() {
        let mut rng = stream(22, 0);
        for i in 0..count {
            let eta = moved(&*family, &etas[i % etas.len()], &[1e-3, 0.5, 14.0], &mut rng);
            likelihood(&mut counts, &*family, &eta, &mut rng);
        }
    }
    counts.close(count > 1000);
}

#[test]
fn sweep_of_entropies_of_counts_by_sums() {
    let count = cases::problems(100);
    let mut counts = Counts::default();
    for (family, etas) in cases::univariate() {
        let first = match family.name() {
            "binomial" | "Poisson" | "geometric" | "negative binomial" => 0.0,
            "logarithmic" => 1.0,
            _ => continue,
        };
        let mut rng = stream(25, 0);
        for i in 0..count {
            let eta = moved(&*family, &etas[i % etas.len()], &[1e-3, 0.5, 14.0], &mut rng);
            let mut mean = [0.0];
            family.mean(&eta, &mut mean);
            if !(mean[0] < 100.0) {
                continue;
            }
            let (mut sum, mut x) = (0.0, first);
            while family.check_point(&x).is_ok() {
                let log = family.log_density(&eta, &x);
                sum -= if log > -745.0 { log * log.exp() } else { 0.0 };
                if x > mean[0] && log < -80.0 {
                    break;
                }
                x += 1.0;
            }
            let found = family.entropy(&eta).unwrap();
            let member = (&eta, mean[0]);
            counts.judge(family.name(), "entropy", (found, sum, 1e-13 * sum), &member);
        }
    }
    counts.close(count > 1000);
}

/// A coordinate of the support in which densities are smooth, with the logarithm of its derivative.
type Chart = (fn(f64) -> f64, fn(f64) -> f64, fn(f64) -> f64);

fn tails<F: Quantiles + Sample<Owned = f64>>(
    counts: &mut Counts,
    family: F,
    (to, from, slope): Chart,
    eta: &[f64],
    rule: &Rule,
    rng: &mut impl Rng,
) {
    let name = family.name();
    let x = family.draw(eta, rng);
    let (below, above) = family.tails(eta, x);
    assert!(below >= 0.0 && above >= 0.0, "{name} {eta:?} {x}: {below} {above}");
    counts.judge(name, "cdf", (below + above, 1.0, 8.0 * EPS), &(eta, x));
    let (log_below, log_above) = family.log_tails(eta, x);
    counts.judge(name, "log cdf", (log_below.exp(), below, 1e-12 * below), &(eta, x));
    counts.judge(name, "log survival", (log_above.exp(), above, 1e-12 * above), &(eta, x));
    let is_below = below < above;
    let small = |(below, above): (f64, f64)| if is_below { below } else { above };
    let tail = small((below, above));
    if !(tail > 1e-290) {
        return;
    }
    // The quantile is the point to ten digits.
    let back = family.quantile(eta, below, above);
    let around =
        [back - 1e-10 * back.abs(), back + 1e-10 * back.abs()].map(|x| small(family.tails(eta, x)));
    let (low, high) = (around[0].min(around[1]), around[0].max(around[1]));
    let expected = tail.clamp(low, high);
    counts.judge(name, "quantile", (tail, expected, 1e-10 * tail), &(eta, x, back));
    // Half of the tail, by the density.
    let half =
        if is_below { (0.5 * tail, 1.0 - 0.5 * tail) } else { (1.0 - 0.5 * tail, 0.5 * tail) };
    let end = family.quantile(eta, half.0, half.1);
    let left = tail - small(family.tails(eta, end));
    let (a, b) = (to(end.min(x)), to(end.max(x)));
    if !(a.is_finite() && b > a) || left < 1e-3 * tail {
        return;
    }
    let mut density = |u: f64, out: &mut [f64]| {
        out[0] = (family.log_density(eta, &from(u)) + slope(u)).exp();
        out[1] = out[0];
    };
    let Some(area) = integrate(rule, (a, b), 2, &mut density) else { return };
    let area = area[0];
    let end_moves =
        (small(family.tails(eta, end * (1.0 + 4.0 * EPS))) - small(family.tails(eta, end))).abs();
    let allowed = rounding(eta, |eta, unit| small(family.tails(eta, x * unit)))
        + end_moves
        + rounding(eta, |eta, unit| family.log_density(eta, &(x * unit))) * left
        + 64.0 * EPS * (a.abs() + b.abs()) / (b - a) * left;
    counts.judge(name, "tail", (left, area, allowed), &(eta, x, end));
}

#[test]
fn sweep_of_tails_by_densities() {
    let count = cases::problems(60);
    let rule = gauss_legendre(16).unwrap();
    let mut counts = Counts::default();
    let line: Chart = (|x| x, |u| u, |_| 0.0);
    let half: Chart = (f64::ln, f64::exp, |u| u);
    fn logit(x: f64) -> f64 {
        x.ln() - (-x).ln_1p()
    }
    fn sigmoid(u: f64) -> f64 {
        if u < 0.0 { u.exp() / (1.0 + u.exp()) } else { 1.0 / (1.0 + (-u).exp()) }
    }
    let unit: Chart = (logit, sigmoid, |u| -u.abs() - 2.0 * (-u.abs()).exp().ln_1p());
    for (family, etas) in cases::univariate() {
        let mut rng = stream(23, 0);
        for i in 0..count {
            let eta = &moved(&*family, &etas[i % etas.len()], &[1e-3, 0.5, 14.0], &mut rng);
            match family.name() {
                "normal" => tails(&mut counts, Normal, line, eta, &rule, &mut rng),
                "log-normal" => tails(&mut counts, LogNormal, half, eta, &rule, &mut rng),
                "gamma" => tails(&mut counts, Gamma, half, eta, &rule, &mut rng),
                "inverse gamma" => tails(&mut counts, InverseGamma, half, eta, &rule, &mut rng),
                "beta" => tails(&mut counts, Beta, unit, eta, &rule, &mut rng),
                _ => break,
            }
        }
    }
    counts.close(count > 1000);
}

/// Prior times likelihood is evidence times posterior, at the member itself.
fn posterior<F: Evidence + Sample<Point = f64, Owned = f64> + Clone + PartialEq>(
    counts: &mut Counts,
    family: F,
    etas: &[&[f64]],
) {
    let mut rng = stream(24, 0);
    for i in 0..cases::problems(100) {
        let spans = [1e-3, 0.5, 5.0];
        let eta = moved(&family, etas[i % etas.len()], &spans, &mut rng);
        let centre = moved(&family, &eta, &[1e-3, 0.5], &mut rng);
        let weight = (14.0 * rng.random::<f64>() - 5.0).exp();
        let centre = Distribution::from_natural(family.clone(), &centre).unwrap();
        let Ok(prior) = Prior::around(weight, &centre) else { continue };
        let x: Vec<f64> = (0..3).map(|_| family.draw(&eta, &mut rng)).collect();
        let Ok(summary) = Summary::of(family.clone(), &x) else { continue };
        let Ok(after) = prior.posterior(&summary) else { continue };
        let member = Distribution::from_natural(family.clone(), &eta).unwrap();
        let data: f64 = member.log_densities(&x).unwrap().iter().sum();
        let before = prior.log_density(&eta).unwrap();
        let (evidence, behind) =
            (prior.log_marginal_likelihood(&x).unwrap(), after.log_density(&eta).unwrap());
        let constants = prior.log_normaliser().abs() + after.log_normaliser().abs();
        let heights =
            weight * centre.conjugate().abs() + after.weight() * after.map().conjugate().abs();
        let terms = before.abs() + behind.abs() + data.abs() + constants + heights;
        let whole = x.iter().all(|x| x.fract() == 0.0);
        let sum = |eta: &[f64], unit: f64| -> f64 {
            let at = |x: &f64| if whole { *x } else { x * unit };
            let likelihood = x.iter().map(|x| family.log_density(eta, &at(x))).sum::<f64>();
            likelihood + prior.log_density(eta).unwrap_or(f64::NAN)
        };
        // The mean of the prior is a rounded number.
        let mean: f64 = centre.mean().iter().zip(&eta).map(|(m, e)| (m * e).abs()).sum();
        let allowed = 1e-13 * terms + rounding(&eta, sum) + 4.0 * EPS * (weight + 3.0) * mean;
        if allowed.is_finite() {
            let sides = (before + data, evidence + behind, allowed);
            counts.judge(family.name(), "posterior", sides, &(&eta, weight, centre.natural(), &x));
        } else {
            assert!(!(before + data).is_nan() && !(evidence + behind).is_nan(), "{eta:?} {x:?}");
        }
    }
}

#[test]
fn sweep_of_posteriors_by_densities() {
    let counts = &mut Counts::default();
    let scale: [&[f64]; 3] = [&[-1e-3], &[-1.0], &[-1e4]];
    let failures: [&[f64]; 2] = [&[-0.02], &[-2.0]];
    posterior(counts, Bernoulli, &[&[-3.0], &[0.2], &[4.0]]);
    posterior(counts, Binomial::new(12).unwrap(), &[&[-3.0], &[0.2]]);
    posterior(counts, Poisson, &[&[-2.0], &[1.0], &[3.0]]);
    posterior(counts, Geometric, &failures);
    posterior(counts, NegativeBinomial::new(2.5).unwrap(), &failures);
    posterior(counts, Normal, &[&[0.3, -0.5], &[3.0, -0.02], &[-40.0, -100.0]]);
    posterior(counts, LogNormal, &[&[0.3, -0.5], &[-4.0, -10.0]]);
    posterior(counts, NormalKnownVariance::new(2.0).unwrap(), &[&[-30.0], &[0.7]]);
    posterior(counts, Exponential, &scale);
    posterior(counts, GammaKnownShape::new(0.4).unwrap(), &scale);
    posterior(counts, Rayleigh, &scale);
    posterior(counts, Weibull::new(1.7).unwrap(), &scale);
    posterior(counts, Pareto::new(2.0).unwrap(), &[&[-0.5], &[-3.0], &[-1e3]]);
    posterior(counts, Laplace::new(1.5).unwrap(), &scale);
    posterior(counts, NormalKnownMean::default(), &scale);
    std::mem::take(counts).close(cases::problems(100) > 1000);
}
