//! Natural parameters of every size that a double has, and at the border of the domain: nothing hangs, panics or is NaN, divergences and
//! tails have their signs, and the pairs of functions that belong together agree.
//!
//! `FENCHEL_PROBLEMS=1000000 cargo test --release -p fenchel-expfam --test suite wide -- --nocapture` does a million a family and
//! prints the longest time that a member took; the suite does fewer.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::time::Instant;

use fenchel_expfam::families::*;
use fenchel_expfam::quantiles::Quantiles;
use fenchel_expfam::*;
use fenchel_optim::random::stream;
use ndarray::Array2;
use rand::{Rng, RngExt};

use super::{cases, random::moved};

const EPS: f64 = f64::EPSILON;

/// A number of either sign whose exponent is any.
fn any(rng: &mut impl Rng) -> f64 {
    let size = 2f64.powf(rng.random_range(-1074.0..1024.0));
    if rng.random() { size } else { -size }
}

/// A member far away: numbers of any exponent, those of a known member moved by as much, or a point next to the border of the domain.
fn far(family: &dyn Family, from: &[f64], rng: &mut impl Rng) -> Vec<f64> {
    match rng.random_range(0..4) {
        0 => moved(family, from, &[700.0], rng),
        1 => moved(family, from, &[1e-3, 14.0, 700.0], rng),
        2 => {
            let unit = any(rng).abs();
            let eta: Vec<f64> = from.iter().map(|e| e * unit).collect();
            if family.check_natural(&eta).is_ok() { eta } else { from.to_vec() }
        }
        _ => {
            // One coordinate goes to any number, or as far towards it as the domain allows.
            let mut eta = from.to_vec();
            let i = rng.random_range(0..eta.len());
            let end = any(rng);
            eta[i] = end;
            if family.check_natural(&eta).is_ok() {
                return eta;
            }
            let (mut inside, mut outside) = (from[i], end);
            let steps = rng.random_range(1..80);
            for _ in 0..steps {
                let middle = 0.5 * inside + 0.5 * outside;
                eta[i] = middle;
                if family.check_natural(&eta).is_ok() { inside = middle } else { outside = middle }
            }
            eta[i] = inside;
            eta
        }
    }
}

/// What does not hold: how often, and one example of each.
#[derive(Default)]
struct Faults(BTreeMap<String, (u64, String)>);

impl Faults {
    fn check(&mut self, holds: bool, what: &str, example: impl Fn() -> String) {
        if !holds {
            let found = self.0.entry(what.to_owned()).or_insert_with(|| (0, example()));
            found.0 += 1;
        }
    }

    fn close(self) {
        let lines: Vec<String> =
            self.0.iter().map(|(what, (n, one))| format!("{what}: {n} times, {one}")).collect();
        assert!(lines.is_empty(), "{}", lines.join("\n"));
    }
}

/// The member that took longest, for the eye: no time is asserted.
#[derive(Default)]
struct Slowest(f64, String);

impl Slowest {
    fn add(&mut self, since: Instant, member: &dyn std::fmt::Debug) {
        let seconds = since.elapsed().as_secs_f64();
        if seconds > self.0 {
            *self = Slowest(seconds, format!("{member:?}"));
        }
    }

    fn print(&self, family: &str, count: usize) {
        if count > 1000 {
            println!("{family}: {count} members, at most {:.2e} s, {}", self.0, self.1);
        }
    }
}

#[test]
fn wide_parameters_have_numbers() {
    let count = cases::problems(40);
    let mut faults = Faults::default();
    for (family, etas) in cases::all() {
        let (k, name) = (family.dimension(), family.name());
        let mut rng = stream(31, 0);
        let (mut mu, mut information) = (vec![0.0; k], vec![0.0; k * k]);
        let mut slowest = Slowest::default();
        let mut check = |holds, what: &str, example: &dyn Fn() -> String| {
            faults.check(holds, &format!("{name}, {what}"), example);
        };
        for i in 0..count {
            let p = far(&*family, &etas[i % etas.len()], &mut rng);
            let q = far(&*family, &p, &mut rng);
            let since = Instant::now();
            let (a, dual) = (family.log_partition(&p), family.conjugate_at(&p));
            family.mean(&p, &mut mu);
            family.fisher(&p, &mut information);
            check(!a.is_nan(), "A", &|| format!("{p:?}: {a}"));
            check(!dual.is_nan(), "A*", &|| format!("{p:?}: {dual}"));
            check(!mu.iter().any(|m| m.is_nan()), "mean", &|| format!("{p:?}: {mu:?}"));
            let numbers = !information.iter().any(|v| v.is_nan());
            check(numbers, "Fisher", &|| format!("{p:?}: {information:?}"));
            for (from, to) in [(&p, &q), (&q, &p)] {
                let kl = family.kl(from, to);
                check(kl >= 0.0, "kl", &|| format!("{from:?} {to:?}: {kl}"));
            }
            let same = family.kl(&p, &p);
            check(same == 0.0, "kl of itself", &|| format!("{p:?}: {same}"));
            // A + A* = <eta, mu>.
            let inner: f64 = p.iter().zip(&mu).map(|(e, m)| e * m).sum();
            let size: f64 = p.iter().zip(&mu).map(|(e, m)| (e * m).abs()).sum();
            let off = (a + dual - inner).abs();
            let slack = 1e-9 * (a.abs() + dual.abs() + size) + 1e-300;
            let equal = off.is_nan() || off <= slack || slack.is_infinite();
            check(equal, "Fenchel-Young", &|| format!("{p:?}: {a:e} {dual:e} {inner:e}"));
            slowest.add(since, &(&p, &q));
        }
        slowest.print(name, count);
    }
    faults.close();
}

/// A point of any size that the family takes.
fn point(family: &dyn Sample<Point = f64, Owned = f64>, rng: &mut impl Rng) -> Option<f64> {
    let x = any(rng);
    [x, x.abs(), x.abs().ceil(), x.abs() % 1.0, 1.0 + x.abs(), 1.0 - x.abs() % 1.0]
        .into_iter()
        .filter(|x| family.check_point(x).is_ok())
        .nth(rng.random_range(0..2))
}

#[test]
fn wide_densities_and_entropies_are_numbers() {
    let count = cases::problems(30);
    let mut faults = Faults::default();
    for (family, etas) in cases::univariate() {
        let name = family.name();
        let mut rng = stream(32, 0);
        let mut slowest = Slowest::default();
        let mut check = |holds, what: &str, example: &dyn Fn() -> String| {
            faults.check(holds, &format!("{name}, {what}"), example);
        };
        for i in 0..count {
            let eta = far(&*family, &etas[i % etas.len()], &mut rng);
            let since = Instant::now();
            let drawn = family.draw(&eta, &mut rng);
            check(!drawn.is_nan(), "draw", &|| format!("{eta:?}"));
            for x in [Some(drawn), point(&*family, &mut rng)].into_iter().flatten() {
                if family.check_point(&x).is_ok() {
                    let log = family.log_density(&eta, &x);
                    check(!log.is_nan(), "log density", &|| format!("{eta:?} at {x:e}"));
                }
            }
            // H = -A* - E log h.
            if let (Ok(entropy), Ok(base)) = (family.entropy(&eta), family.mean_log_base(&eta)) {
                let dual = family.conjugate_at(&eta);
                check(!entropy.is_nan(), "entropy", &|| format!("{eta:?}: {entropy}"));
                let off = (entropy + dual + base).abs();
                let slack = 1e-9 * (dual.abs() + base.abs()) + 1e-300;
                let equal = off.is_nan() || off <= slack || slack.is_infinite();
                check(equal, "H + A* + E log h", &|| {
                    format!("{eta:?}: {entropy:e} {dual:e} {base:e}")
                });
            }
            slowest.add(since, &eta);
        }
        slowest.print(name, count);
    }
    faults.close();
}

/// Draws and their densities, of families of vectors and matrices.
fn draws<F: Sample + 'static>(
    faults: &mut Faults,
    family: F,
    etas: &[&[f64]],
    numbers: impl Fn(&F::Point) -> Vec<f64>,
) {
    let (count, name) = (cases::problems(40), family.name());
    let mut rng = stream(37, 0);
    let mut slowest = Slowest::default();
    let mut check = |holds, what: &str, example: &dyn Fn() -> String| {
        faults.check(holds, &format!("{name}, {what}"), example);
    };
    for i in 0..count {
        let eta = far(&family, etas[i % etas.len()], &mut rng);
        let other = far(&family, &eta, &mut rng);
        let since = Instant::now();
        let drawn = family.draw(&eta, &mut rng);
        let x = numbers(drawn.borrow());
        check(!x.iter().any(|x| x.is_nan()), "draw", &|| format!("{eta:?}: {x:?}"));
        if family.check_point(drawn.borrow()).is_ok() {
            for eta in [&eta, &other] {
                let log = family.log_density(eta, drawn.borrow());
                check(!log.is_nan(), "log density", &|| format!("{eta:?} at {x:?}"));
            }
        }
        slowest.add(since, &eta);
    }
    slowest.print(name, count);
}

#[test]
fn wide_draws_have_numbers() {
    let faults = &mut Faults::default();
    let entries = |x: &Array2<f64>| x.iter().copied().collect();
    let matrix = [-1.0, 0.4, -2.0, 0.3];
    let vector: [&[f64]; 2] = [&[0.3, -2.0, -1.0, 0.4, -2.0], &[1e3, 10.0, -50.0, 3.0, -0.3]];
    draws(faults, NormalVector::new(2).unwrap(), &vector, <[f64]>::to_vec);
    draws(faults, NormalVectorZeroMean::new(2).unwrap(), &[&matrix[..3]], <[f64]>::to_vec);
    draws(faults, NormalGamma, &[&[1.5, -2.0, 0.4, -0.3]], <[f64]>::to_vec);
    draws(faults, Wishart::new(2).unwrap(), &[&matrix, &[-50.0, 3.0, -0.3, 90.0]], entries);
    draws(faults, InverseWishart::new(2).unwrap(), &[&[-1.0, 0.4, -2.0, -3.3]], entries);
    let family = NormalWishart::new(2).unwrap();
    draws(faults, family, &[&[0.8, -3.0, 0.4, -2.0, 0.3, -0.2, -0.6]], |(m, p)| {
        m.iter().chain(p).copied().collect()
    });
    std::mem::take(faults).close();
}

fn tails<F: Quantiles + 'static>(faults: &mut Faults, family: F, etas: &[&[f64]]) {
    let (count, name) = (cases::problems(40), family.name());
    let mut rng = stream(33, 0);
    let mut slowest = Slowest::default();
    let mut check = |holds, what: &str, example: &dyn Fn() -> String| {
        faults.check(holds, &format!("{name}, {what}"), example);
    };
    for i in 0..count {
        let eta = far(&family, etas[i % etas.len()], &mut rng);
        let (one, two) = (any(&mut rng), any(&mut rng) * rng.random::<f64>());
        let since = Instant::now();
        let mut at = |x: f64| {
            let (below, above) = family.tails(&eta, x);
            let (log_below, log_above) = family.log_tails(&eta, x);
            let example =
                || format!("{eta:?} at {x:e}: {below:e} {above:e} {log_below:e} {log_above:e}");
            let inside = (0.0..=1.0).contains(&below) && (0.0..=1.0).contains(&above);
            check(inside && (below + above - 1.0).abs() <= 1e-9, "cdf", &example);
            check(log_below <= 0.0 && log_above <= 0.0, "log cdf", &example);
            (below, above)
        };
        let ((below, above), (later_below, later_above)) = (at(one.min(two)), at(one.max(two)));
        let rises = !(below > later_below * (1.0 + 1e-9)) && !(later_above > above * (1.0 + 1e-9));
        check(rises, "monotone", &|| format!("{eta:?} {:e} {:e}", one.min(two), one.max(two)));
        // The share below the quantile is the share that was asked, unless the law jumps from one double to the next.
        let share = if rng.random() { rng.random::<f64>() } else { any(&mut rng).abs().min(0.5) };
        let (below, above) = if rng.random() { (share, 1.0 - share) } else { (1.0 - share, share) };
        let x = family.quantile(&eta, below, above);
        check(!x.is_nan(), "quantile", &|| format!("{eta:?}: {below:e} {above:e}"));
        if x.is_finite() {
            let near = |by: f64| family.tails(&eta, x + by * (x.abs() + 1e-300));
            let (low, high) = (near(-1e-9), near(1e-9));
            let fits = if below < above {
                low.0 <= below * (1.0 + 1e-8) + 1e-300 && high.0 >= below * (1.0 - 1e-8) - 1e-300
            } else {
                high.1 <= above * (1.0 + 1e-8) + 1e-300 && low.1 >= above * (1.0 - 1e-8) - 1e-300
            };
            let example = || format!("{eta:?}: {below:e} {above:e} at {x:e}: {low:?} {high:?}");
            check(fits || x == f64::MAX, "quantile of cdf", &example);
        }
        slowest.add(since, &eta);
    }
    slowest.print(name, count);
}

#[test]
fn wide_tails_and_quantiles_belong_together() {
    let faults = &mut Faults::default();
    tails(faults, Normal, &[&[0.0, -0.5], &[3.0, -0.02], &[1e6, -5e5]]);
    tails(faults, LogNormal, &[&[0.3, -0.5], &[-4.0, -10.0]]);
    tails(faults, Gamma, &[&[-0.9, -1e-3], &[0.0, -1.0], &[50.0, -1e-6]]);
    tails(faults, InverseGamma, &[&[-1.1, -1e-3], &[-2.0, -1.0], &[-50.0, -1e-6]]);
    tails(faults, Beta, &[&[-0.5, -0.7], &[0.0, 0.0], &[4.0, -0.5], &[1e5, 3e5]]);
    std::mem::take(faults).close();
}

/// The posterior after all data at once is that after one after the other, wherever both exist.
fn posterior<F: Evidence + Sample<Point = f64, Owned = f64> + Clone + PartialEq>(
    faults: &mut Faults,
    family: F,
    etas: &[&[f64]],
) {
    let (count, name) = (cases::problems(40), family.name());
    let mut rng = stream(34, 0);
    let mut slowest = Slowest::default();
    let mut check = |holds, what: &str, example: &dyn Fn() -> String| {
        faults.check(holds, &format!("{name}, {what}"), example);
    };
    for i in 0..count {
        let eta = far(&family, etas[i % etas.len()], &mut rng);
        let Ok(centre) = Distribution::from_natural(family.clone(), &eta) else { continue };
        let weight =
            if rng.random() { any(&mut rng).abs() } else { 1.0 + 9.0 * rng.random::<f64>() };
        let since = Instant::now();
        let Ok(prior) = Prior::around(weight, &centre) else { continue };
        let density = prior.log_density(&eta);
        check(!density.is_ok_and(f64::is_nan), "density", &|| format!("{eta:?} weight {weight:e}"));
        let x: Vec<f64> = (0..2)
            .map(|_| match point(&family, &mut rng) {
                Some(x) if i % 2 == 0 => x,
                _ => centre.sample(&mut rng),
            })
            .collect();
        let example = || format!("{eta:?} weight {weight:e} {x:?}");
        let of = |x: &[f64]| Summary::of(family.clone(), x).ok();
        let (Some(both), Some(first), Some(second)) = (of(&x), of(&x[..1]), of(&x[1..])) else {
            continue;
        };
        let once = prior.posterior(&both);
        let twice = prior.posterior(&first).and_then(|prior| prior.posterior(&second));
        if let (Ok(once), Ok(twice)) = (once, twice) {
            let (a, b) = (once.weight(), twice.weight());
            check((a - b).abs() <= 4.0 * EPS * a, "weight", &|| {
                format!("{}: {a:e} {b:e}", example())
            });
            // Sizes of what the means are averages of.
            let mut sizes: Vec<f64> = prior.mean().iter().map(|m| m.abs()).collect();
            let mut t = vec![0.0; sizes.len()];
            for x in &x {
                family.statistics(x, &mut t);
                sizes.iter_mut().zip(&t).for_each(|(size, t)| *size = size.max(t.abs()));
            }
            for ((a, b), size) in once.mean().iter().zip(&twice.mean()).zip(&sizes) {
                let slack = 1e-9 * (a.abs() + b.abs()) + 64.0 * EPS * size + 1e-300;
                let equal = (a - b).abs() <= slack || a == b;
                check(equal, "posterior", &|| format!("{}: {a:e} {b:e}", example()));
            }
            let evidence = prior.log_marginal_likelihood(&x);
            check(!evidence.is_ok_and(f64::is_nan), "evidence", &example);
        }
        slowest.add(since, &(&eta, weight, &x));
    }
    slowest.print(name, count);
}

#[test]
fn wide_posteriors_take_data_in_any_portions() {
    let scale: [&[f64]; 3] = [&[-1e-3], &[-1.0], &[-1e4]];
    let faults = &mut Faults::default();
    posterior(faults, Bernoulli, &[&[-3.0], &[0.2], &[4.0]]);
    posterior(faults, Poisson, &[&[-2.0], &[1.0], &[3.0]]);
    posterior(faults, NegativeBinomial::new(2.5).unwrap(), &[&[-0.02], &[-2.0]]);
    posterior(faults, Normal, &[&[0.3, -0.5], &[3.0, -0.02], &[-40.0, -100.0]]);
    posterior(faults, NormalKnownVariance::new(2.0).unwrap(), &[&[-30.0], &[0.7]]);
    posterior(faults, Exponential, &scale);
    posterior(faults, Pareto::new(2.0).unwrap(), &[&[-0.5], &[-3.0], &[-1e3]]);
    posterior(faults, NormalKnownMean::default(), &scale);
    std::mem::take(faults).close();
}
