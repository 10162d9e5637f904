//! Properties that every family has.

use fenchel_expfam::Family;
use fenchel_optim::random::stream;

use super::cases::{all, univariate};

fn mean_of(family: &dyn Family, eta: &[f64]) -> Vec<f64> {
    let mut mu = vec![0.0; family.dimension()];
    family.mean(eta, &mut mu);
    mu
}

/// Whether some step length inside of the domain gives a difference of fourth order that agrees to 1e-5 of `scale`. (Which
/// length is best depends on the scale of the family; none makes a wrong derivative right.)
fn is_derivative(
    family: &dyn Family,
    eta: &[f64],
    j: usize,
    (expected, scale): (f64, f64),
    f: impl Fn(&[f64]) -> f64,
) -> bool {
    (-14..8).any(|power| {
        let h = 10f64.powi(power);
        let at = |h: f64| {
            let mut x = eta.to_vec();
            x[j] += h;
            x
        };
        let points = [at(h), at(-h), at(2.0 * h), at(-2.0 * h)];
        if points.iter().any(|x| family.check_natural(x).is_err()) {
            return false;
        }
        let [a, b, c, d] = points.map(|x| f(&x));
        let found = (8.0 * (a - b) - (c - d)) / (12.0 * h);
        (found - expected).abs() <= 1e-5 * scale
    })
}

#[test]
fn derivatives_of_the_log_partition_are_mean_and_fisher_information() {
    for (family, etas) in all() {
        let k = family.dimension();
        for eta in &etas {
            let mu = mean_of(&*family, eta);
            let mut fisher = vec![0.0; k * k];
            family.fisher(eta, &mut fisher);
            for j in 0..k {
                let expected = (mu[j], mu[j].abs());
                assert!(
                    is_derivative(&*family, eta, j, expected, |x| family.log_partition(x)),
                    "{} {eta:?}: mean {j}",
                    family.name()
                );
                for i in 0..k {
                    let scale = fisher[i * k + i].sqrt() * fisher[j * k + j].sqrt();
                    // Where the mean is constant to its last bit, differences see nothing.
                    if scale < 1e-12 * mu[i].abs() {
                        continue;
                    }
                    let expected = (fisher[i * k + j], scale);
                    assert!(
                        is_derivative(&*family, eta, j, expected, |x| mean_of(&*family, x)[i]),
                        "{} {eta:?}: Fisher {i} {j}",
                        family.name()
                    );
                }
            }
        }
    }
}

/// `natural(mean(eta))` may be off by what the last bits of the mean say: `I^-1` times their size.
#[test]
fn maps_are_inverse_and_fenchel_young_holds_with_equality() {
    for (family, etas) in all() {
        let k = family.dimension();
        for eta in &etas {
            let mu = mean_of(&*family, eta);
            if family.check_mean(&mu).is_err() {
                // The mean rounds to the border: the other direction is not defined.
                continue;
            }
            let mut back = vec![0.0; k];
            family.natural(&mu, &mut back).unwrap();
            let again = mean_of(&*family, &back);
            for i in 0..k {
                let scale = mu.iter().fold(mu[i].abs(), |a, b| a.max(1e-3 * b.abs()));
                assert!(
                    (again[i] - mu[i]).abs() <= 1e-10 * scale,
                    "{} {eta:?}: {} {}",
                    family.name(),
                    again[i],
                    mu[i]
                );
            }
            // A + A* - <eta, mu> = 0 at the pair, >= 0 elsewhere.
            let a = family.log_partition(eta);
            let inner: f64 = eta.iter().zip(&mu).map(|(a, b)| a * b).sum();
            let dual = family.conjugate(&mu).unwrap();
            let slack = 1e-9 * (a.abs() + dual.abs() + inner.abs() + 1e-3);
            assert!((a + dual - inner).abs() <= slack, "{} {eta:?}: Fenchel-Young", family.name());
            assert!((family.conjugate_at(eta) - (inner - a)).abs() <= slack, "{}", family.name());
            for other in &etas {
                let there = family.log_partition(other) + dual;
                let inner: f64 = other.iter().zip(&mu).map(|(a, b)| a * b).sum();
                assert!(
                    there - inner >= -1e-9 * (there.abs() + inner.abs() + 1.0),
                    "{}",
                    family.name()
                );
                let kl = family.kl(eta, other);
                assert!(kl >= 0.0, "{} {eta:?} {other:?}: {kl}", family.name());
                assert_eq!(kl == 0.0, eta == other, "{} {eta:?} {other:?}: {kl}", family.name());
            }
        }
    }
}

/// Log-densities integrate to 1, the mean of `T` under them is `mu`, and the entropy is the mean of the log-density.
#[test]
fn densities_are_normalised() {
    for (family, etas) in univariate() {
        let k = family.dimension();
        for eta in &etas {
            let mut rng = stream(11, 0);
            let draws: Vec<f64> = (0..400).map(|_| family.draw(eta, &mut rng)).collect();
            let mut sorted = draws.clone();
            sorted.sort_by(f64::total_cmp);
            let (low, high) = (sorted[0], sorted[399]);
            let discrete =
                draws.iter().all(|x| family.check_point(&(x + 0.5)).is_err() && x.trunc() == *x);
            let mut sums = vec![0.0; k + 2];
            let mut t = vec![0.0; k];
            let mut add = |x: f64, weight: f64| {
                if family.check_point(&x).is_err() {
                    return;
                }
                let log = family.log_density(eta, &x);
                let p = weight * log.exp();
                family.statistics(&x, &mut t);
                sums[0] += p;
                sums[1] -= if p > 0.0 { p * log } else { 0.0 };
                (0..k).for_each(|i| sums[2 + i] += if p > 0.0 { p * t[i] } else { 0.0 });
            };
            if discrete {
                // Far beyond what was drawn; laws that are too wide are left to their samples.
                let end = high + 40.0 + 60.0 * (high - low);
                if end > 3e5 {
                    continue;
                }
                (0..=end as u64).for_each(|x| add(x as f64, 1.0));
            } else {
                // Gauss' rule on panels around the draws: on the line for laws with both signs, in log x for positive ones. Laws that
                // a sample of 400 does not cover within its range are left to their samples.
                let spread = sorted[300] - sorted[100];
                let positive = family.check_point(&-1e-3).is_err();
                let bounded = family.check_point(&1.5).is_err() && positive;
                if bounded
                    || family.name() == "von Mises"
                    || family.name() == "Laplace"
                    || family.name() == "Pareto"
                {
                    continue;
                }
                let panels = 4000;
                if positive {
                    let (a, b) = (
                        low.ln() - 12.0 * (sorted[200] / low).ln() - 1e-3,
                        high.ln() + 6.0 * (high / sorted[200]).ln(),
                    );
                    let h = (b - a) / f64::from(panels);
                    for i in 0..panels {
                        let x = (a + (f64::from(i) + 0.5) * h).exp();
                        add(x, h * x);
                    }
                } else {
                    let (a, b) = (sorted[200] - 12.0 * spread, sorted[200] + 12.0 * spread);
                    let h = (b - a) / f64::from(panels);
                    (0..panels).for_each(|i| add(a + (f64::from(i) + 0.5) * h, h));
                }
            }
            let mass = sums[0];
            assert!((mass - 1.0).abs() < 1e-6, "{} {eta:?}: mass {mass}", family.name());
            let mu = mean_of(&*family, eta);
            let mut fisher = vec![0.0; k * k];
            family.fisher(eta, &mut fisher);
            for i in 0..k {
                let scale = mu.iter().fold(fisher[i * k + i].sqrt(), |a: f64, b| a.max(b.abs()));
                assert!(
                    (sums[2 + i] - mu[i]).abs() < 1e-5 * scale,
                    "{} {eta:?}: mean {} {}",
                    family.name(),
                    sums[2 + i],
                    mu[i]
                );
            }
            let entropy = family.entropy(eta).unwrap();
            assert!(
                (sums[1] - entropy).abs() < 1e-5 * (1.0 + entropy.abs()),
                "{} {eta:?}: entropy {} {entropy}",
                family.name(),
                sums[1]
            );
        }
    }
}

/// Means and covariances of the statistics of draws, within five and a half standard errors.
#[test]
fn draws_have_the_moments_of_their_law() {
    for (family, etas) in univariate() {
        let k = family.dimension();
        for eta in &etas {
            let mu = mean_of(&*family, eta);
            let mut fisher = vec![0.0; k * k];
            family.fisher(eta, &mut fisher);
            let mut rng = stream(12, 0);
            let n = 4000;
            let mut t = vec![0.0; k];
            let mut means = vec![0.0; k];
            for _ in 0..n {
                let x = family.draw(eta, &mut rng);
                family.check_point(&x).unwrap();
                family.statistics(&x, &mut t);
                (0..k).for_each(|i| means[i] += t[i] / f64::from(n));
            }
            for i in 0..k {
                let error = (fisher[i * k + i] / f64::from(n)).sqrt();
                // Rare events may not occur at all.
                let slack = 5.5 * error
                    + 1e-9 * mu[i].abs()
                    + 40.0 * if mu[i].abs() * f64::from(n) < 1.0 { mu[i].abs() } else { 0.0 };
                assert!(
                    (means[i] - mu[i]).abs() <= slack,
                    "{} {eta:?}: {} {} +- {error}",
                    family.name(),
                    means[i],
                    mu[i]
                );
            }
        }
    }
}

/// Many observations at once agree with one after the other: densities, and summaries with the merger of single ones.
#[test]
fn many_observations_are_as_good_as_one_after_the_other() {
    for (family, etas) in univariate() {
        for eta in &etas {
            let mut rng = stream(14, 0);
            let mut x: Vec<f64> = (0..2100).map(|_| family.draw(eta, &mut rng)).collect();
            for extreme in [1e-320, 1e-308, 1.0 - 1e-16, 1.0, 1e300] {
                if family.check_point(&extreme).is_ok() {
                    x.push(extreme);
                }
            }
            let mut out = vec![0.0; x.len()];
            family.log_densities(eta, &x, &mut out);
            for (x, found) in x.iter().zip(&out) {
                let expected = family.log_density(eta, x);
                let close = (found - expected).abs() <= 1e-13 * (1.0 + expected.abs())
                    || *found == expected;
                // What cancels: parameters of 10^8 against their normaliser.
                let terms = 1e-15 * eta.iter().fold(0.0, |a: f64, e| a.max(e.abs()));
                let close = close || (found - expected).abs() <= terms * (1.0 + expected.abs());
                assert!(close, "{} {eta:?} at {x:e}: {found} {expected}", family.name());
            }
            // Without the extremes, whose squares overflow.
            let x = &x[..2100];
            let k = family.dimension();
            let (mut all, mut one, mut point) = (vec![0.0; k], vec![0.0; k], vec![0.0; k]);
            family.centred_mean(x, &mut all);
            family.centred(&x[0], &mut one);
            for (i, x) in x.iter().enumerate().skip(1) {
                family.centred(x, &mut point);
                family.blend(&mut one, 1.0 / (i + 1) as f64, &point);
            }
            if family.name() == "von Mises" {
                // Directions are the same up to whole turns.
                let turn = std::f64::consts::TAU;
                all[0] += turn * ((one[0] - all[0]) / turn).round();
            }
            let scale = one.iter().fold(0.0, |a: f64, c| a.max(c.abs()));
            for (a, b) in all.iter().zip(&one) {
                let close = (a - b).abs() <= 1e-11 * (b.abs() + 1e-3 * scale) || a == b;
                assert!(close, "{} {eta:?}: {all:?} {one:?}", family.name());
            }
        }
    }
}
