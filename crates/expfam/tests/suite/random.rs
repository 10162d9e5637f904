//! Random natural parameters of every family: no NaN, round trips, the inequality of Fenchel and Young and its equality at pairs.
//!
//! `FENCHEL_PROBLEMS=1000000 cargo test --release -p fenchel-expfam --test suite random -- --nocapture` does a million a
//! family; the suite does fewer.

use fenchel_optim::random::stream;
use rand::{Rng, RngExt};

use super::cases;
use fenchel_expfam::Family;

/// A point of the domain: a known one, whose coordinates are moved by random factors of up to `e^span` where that stays inside.
pub(super) fn moved(
    family: &dyn Family,
    from: &[f64],
    spans: &[f64],
    rng: &mut impl Rng,
) -> Vec<f64> {
    let mut eta = from.to_vec();
    for i in 0..eta.len() {
        let before = eta[i];
        let span = spans[rng.random_range(0..spans.len())];
        let factor = (span * (2.0 * rng.random::<f64>() - 1.0)).exp();
        eta[i] = if before == 0.0 { factor - 1.0 } else { before * factor };
        if family.check_natural(&eta).is_err() {
            eta[i] = before;
        }
    }
    eta
}

#[test]
fn random_parameters_have_no_nan_and_come_back() {
    let count = cases::problems(400);
    let spans = [1e-3, 0.5, 14.0];
    for (family, etas) in cases::all() {
        let mut rng = stream(9, 0);
        let k = family.dimension();
        let (mut mu, mut back, mut again) = (vec![0.0; k], vec![0.0; k], vec![0.0; k]);
        let mut information = vec![0.0; k * k];
        let mut outside = 0;
        for i in 0..count {
            let eta = moved(&*family, &etas[i % etas.len()], &spans, &mut rng);
            let other = moved(&*family, &eta, &spans, &mut rng);
            let name = family.name();
            let a = family.log_partition(&eta);
            assert!(!a.is_nan(), "{name} A {eta:?}");
            family.mean(&eta, &mut mu);
            assert!(!mu.iter().any(|m| m.is_nan()), "{name} mean {eta:?}: {mu:?}");
            family.fisher(&eta, &mut information);
            assert!(!information.iter().any(|m| m.is_nan()), "{name} Fisher {eta:?}");
            let kl = family.kl(&eta, &other);
            assert!(kl >= 0.0, "{name} KL {kl} {eta:?} {other:?}");
            assert!(family.kl(&eta, &eta) == 0.0, "{name} {eta:?}");
            // A + A* = <eta, mu> at the pair, and no less elsewhere.
            let dual = family.conjugate_at(&eta);
            let products = |eta: &[f64]| -> (f64, f64) {
                let terms = eta.iter().zip(&mu).map(|(e, m)| e * m);
                terms.fold((0.0, 0.0), |(sum, size), t| (sum + t, size + t.abs()))
            };
            let (inner, size) = products(&eta);
            let slack = 1e-9 * (a.abs() + dual.abs() + size) + 1e-300;
            if slack.is_finite() {
                let off = a + dual - inner;
                assert!(off.abs() <= slack, "{name} {eta:?}: A + A* - <eta, mu> = {off:e}");
            }
            let (inner, size) = products(&other);
            let there = family.log_partition(&other);
            let slack = 1e-9 * (there.abs() + dual.abs() + size) + 1e-300;
            if slack.is_finite() {
                let gap = there + dual - inner;
                assert!(gap >= -slack, "{name} {eta:?} {other:?}: {gap:e}");
            }
            // By centred coordinates, which do not cancel. What rounds to the border has no way back: a documented error.
            family.centred_from_natural(&eta, &mut mu);
            assert!(!mu.iter().any(|m| m.is_nan()), "{name} centred {eta:?}: {mu:?}");
            if family.natural_from_centred(&mu, &mut back).is_err() {
                outside += 1;
                continue;
            }
            assert!(!back.iter().any(|e| e.is_nan()), "{name} natural {mu:?}: {back:?}");
            if family.check_natural(&back).is_err() {
                outside += 1;
                continue;
            }
            family.centred_from_natural(&back, &mut again);
            let scale = mu.iter().map(|m| m.abs()).fold(0.0, f64::max);
            for (m, n) in mu.iter().zip(&again) {
                let allowed = 1e-9 * (m.abs() + 1e-6 * scale) + 1e-300;
                let close = (m - n).abs() <= allowed || m == n;
                assert!(close, "{name} {eta:?} {back:?}: {mu:?} {again:?}");
            }
        }
        if count > 1000 {
            println!("{}: {count} parameters, {outside} means on the border", family.name());
        }
    }
}

#[test]
fn parameters_at_the_ends_of_the_range_have_no_nan() {
    let mut wrong = String::new();
    for (family, etas) in cases::all() {
        let k = family.dimension();
        let (mut mu, mut information) = (vec![0.0; k], vec![0.0; k * k]);
        for (eta, size) in etas.iter().flat_map(|eta| [1e-306, 1e150, 1e306].map(|s| (eta, s))) {
            // One coordinate, or all.
            for i in 0..=k {
                let mut eta = eta.clone();
                for (_, e) in eta.iter_mut().enumerate().filter(|(j, _)| i == k || *j == i) {
                    *e = if *e == 0.0 { size } else { size.copysign(*e) };
                }
                if family.check_natural(&eta).is_err() {
                    continue;
                }
                family.mean(&eta, &mut mu);
                family.fisher(&eta, &mut information);
                let mut values = vec![family.log_partition(&eta), family.conjugate_at(&eta)];
                values.extend(mu.iter().chain(&information));
                for other in &etas {
                    values.extend([family.kl(&eta, other), family.kl(other, &eta)]);
                }
                if values.iter().any(|v| v.is_nan()) {
                    wrong += &format!("{} {eta:?}: {values:?}\n", family.name());
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
