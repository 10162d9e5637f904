//! Log-partitions, maps, Fisher information and divergences against 80-digit arithmetic.
//!
//! `tests/reference/families.csv` is made by `tests/reference/tables.py`, which says how.

use fenchel_expfam::*;

fn family(name: &str) -> Box<dyn Family> {
    match name {
        "bernoulli" => Box::new(Bernoulli),
        "binomial" => Box::new(Binomial::new(7).unwrap()),
        "categorical" => Box::new(Categorical::new(3).unwrap()),
        "poisson" => Box::new(Poisson),
        "geometric" => Box::new(Geometric),
        "negative_binomial" => Box::new(NegativeBinomial::new(2.5).unwrap()),
        "logarithmic" => Box::new(Logarithmic),
        "continuous_bernoulli" => Box::new(ContinuousBernoulli),
        "exponential" => Box::new(Exponential),
        "gamma_known_shape" => Box::new(GammaKnownShape::new(0.4).unwrap()),
        "rayleigh" => Box::new(Rayleigh),
        "laplace" => Box::new(Laplace::new(0.0).unwrap()),
        "normal_known_mean" => Box::new(NormalKnownMean::default()),
        "gamma" => Box::new(Gamma),
        "inverse_gamma" => Box::new(InverseGamma),
        "chi_squared" => Box::new(ChiSquared),
        "beta" => Box::new(Beta),
        "dirichlet" => Box::new(Dirichlet::new(3).unwrap()),
        "normal" => Box::new(Normal),
        "inverse_gaussian" => Box::new(InverseGaussian),
        "von_mises" => Box::new(VonMises),
        "von_mises_fisher" => Box::new(VonMisesFisher::new(5).unwrap()),
        "normal_vector" => Box::new(NormalVector::new(2).unwrap()),
        "wishart" => Box::new(Wishart::new(2).unwrap()),
        other => panic!("{other}"),
    }
}

/// One error of one quantity, as a multiple of what is allowed.
struct Worst {
    what: String,
    times: f64,
}

#[test]
fn every_family_agrees_with_high_precision_tables() {
    let table = include_str!("../reference/families.csv");
    let mut worst: Vec<Worst> = vec![];
    for line in table.lines() {
        let fields: Vec<&str> = line.split(';').collect();
        let numbers =
            |i: usize| -> Vec<f64> { fields[i].split(' ').map(|x| x.parse().unwrap()).collect() };
        let name = fields[0];
        let (f, eta, other) = (family(name), numbers(1), numbers(5));
        let (a, mean, fisher, kl) = (numbers(2)[0], numbers(3), numbers(4), numbers(6)[0]);
        let k = f.dimension();
        f.check_natural(&eta).unwrap();
        let mut note = |what: &str, found: f64, expected: f64, allowed: f64| {
            let times = if found == expected { 0.0 } else { (found - expected).abs() / allowed };
            let what =
                format!("{name} {what} {eta:?}: {found:e}, expected {expected:e}, {times:.1} x");
            worst.push(Worst { what, times: if times.is_nan() { f64::INFINITY } else { times } });
        };
        // The condition of A is <eta, mu>, that of mu is I |eta|: an error of one part in 1e13 of those is the last bits of the input.
        let weight: f64 = eta.iter().zip(&mean).map(|(e, m)| (e * m).abs()).sum();
        note("A", f.log_partition(&eta), a, 1e-13 * (a.abs() + weight));
        let (mut mu, mut information) = (vec![0.0; k], vec![0.0; k * k]);
        f.mean(&eta, &mut mu);
        f.fisher(&eta, &mut information);
        for i in 0..k {
            let weight: f64 = (0..k).map(|j| (fisher[i * k + j] * eta[j]).abs()).sum();
            note("mean", mu[i], mean[i], 1e-13 * (mean[i].abs() + weight));
            for j in 0..k {
                let scale = (fisher[i * k + i] * fisher[j * k + j]).sqrt();
                // Between the series in k and that in 1 / k, the variance along the direction is a difference that cancels.
                let bar = if name.starts_with("von_mises") { 2e-12 } else { 1e-13 };
                note("Fisher", information[i * k + j], fisher[i * k + j], bar * scale);
            }
        }
        // The difference of two parameters carries their last bits: 1e-16 / 1e-7 twice.
        note("KL", f.kl(&eta, &other), kl, 1e-11 * kl);
    }
    worst.retain(|w| w.times > 1.0);
    worst.sort_by(|a, b| b.times.total_cmp(&a.times));
    let list: Vec<&str> = worst.iter().take(60).map(|w| w.what.as_str()).collect();
    assert!(worst.is_empty(), "{} beyond the bar:\n{}", worst.len(), list.join("\n"));
}
