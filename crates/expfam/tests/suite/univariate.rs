//! Properties that every family has.

use fenchel_expfam::Family;

use super::cases::univariate;

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
    for (family, etas) in univariate() {
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
