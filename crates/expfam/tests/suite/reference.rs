//! Log-partitions, maps, Fisher information and divergences against tables from 80-digit arithmetic, 1,000 members a family.
//!
//! `tests/reference/tables.py` makes `tests/reference/tables/*.f64` and says how. Parameters reach 1e4 and to within 1e-12 of
//! the border.
//!
//! The bar is a relative error of 1e-13. Where the result is worse conditioned than that, it is 8 units of rounding of the
//! parameters instead: `|<eta, mu>|` for `A`, `I |eta|` for the mean. Matrices next to a condition one are judged by their
//! condition as well.

use fenchel_expfam::families::*;
use fenchel_expfam::*;

/// A family and its table.
struct Case {
    family: Box<dyn Family>,
    table: &'static [u8],
    /// The condition of what is inverted on the way from a parameter to the maps.
    condition: fn(&[f64]) -> f64,
}

macro_rules! case {
    ($family:expr, $table:literal) => {
        case!($family, $table, |_| 1.0)
    };
    ($family:expr, $table:literal, $condition:expr) => {
        Case {
            family: Box::new($family),
            table: include_bytes!(concat!("../reference/tables/", $table, ".f64")),
            condition: $condition,
        }
    };
}

fn cases() -> Vec<Case> {
    vec![
        case!(Bernoulli, "bernoulli"),
        case!(Binomial::new(7).unwrap(), "binomial"),
        case!(Categorical::new(3).unwrap(), "categorical"),
        case!(Multinomial::new(9, 3).unwrap(), "multinomial"),
        case!(Poisson, "poisson"),
        case!(Geometric, "geometric"),
        case!(NegativeBinomial::new(2.5).unwrap(), "negative_binomial"),
        case!(Logarithmic, "logarithmic"),
        case!(ContinuousBernoulli, "continuous_bernoulli"),
        case!(Exponential, "exponential"),
        case!(Weibull::new(1.7).unwrap(), "exponential"),
        case!(Pareto::new(2.0).unwrap(), "exponential"),
        case!(GammaKnownShape::new(0.4).unwrap(), "gamma_known_shape"),
        case!(Rayleigh, "rayleigh"),
        case!(Laplace::new(0.0).unwrap(), "laplace"),
        case!(NormalKnownMean::default(), "normal_known_mean"),
        case!(NormalKnownVariance::new(2.0).unwrap(), "normal_known_variance"),
        case!(Gamma, "gamma"),
        case!(InverseGamma, "inverse_gamma"),
        case!(ChiSquared, "chi_squared"),
        case!(Beta, "beta"),
        case!(Dirichlet::new(3).unwrap(), "dirichlet"),
        case!(Normal, "normal"),
        case!(LogNormal, "normal"),
        case!(IsotropicNormal::new(2).unwrap(), "isotropic_normal"),
        case!(InverseGaussian, "inverse_gaussian"),
        case!(VonMises, "von_mises"),
        case!(VonMisesFisher::new(5).unwrap(), "von_mises_fisher"),
        case!(NormalVector::new(2).unwrap(), "normal_vector", |e| condition(&e[2..])),
        case!(NormalVectorZeroMean::new(2).unwrap(), "normal_vector_zero_mean", condition),
        case!(Wishart::new(2).unwrap(), "wishart", condition),
        case!(InverseWishart::new(2).unwrap(), "inverse_wishart", condition),
        case!(NormalGamma, "normal_gamma", |e| e[1] / (e[1] - 0.25 * e[2] * e[2] / e[3])),
        case!(NormalWishart::new(2).unwrap(), "normal_wishart", located),
    ]
}

/// One row of a table.
struct Row<'a> {
    eta: &'a [f64],
    a: f64,
    mean: &'a [f64],
    fisher: &'a [f64],
    other: &'a [f64],
    kl: f64,
}

impl Row<'_> {
    fn fisher(&self, i: usize, j: usize) -> f64 {
        let (i, j) = (i.max(j), i.min(j));
        self.fisher[i * (i + 1) / 2 + j]
    }
}

fn rows(bytes: &[u8], k: usize) -> (Vec<f64>, usize) {
    let width = 3 * k + 2 + k * (k + 1) / 2;
    let numbers: Vec<f64> =
        bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(numbers.len() % width, 0);
    (numbers, width)
}

fn row(numbers: &[f64], k: usize) -> Row<'_> {
    let (eta, rest) = numbers.split_at(k);
    let (a, rest) = rest.split_at(1);
    let (mean, rest) = rest.split_at(k);
    let (fisher, rest) = rest.split_at(k * (k + 1) / 2);
    let (other, kl) = rest.split_at(k);
    Row { eta, a: a[0], mean, fisher, other, kl: kl[0] }
}

/// The condition of inverting a 2 x 2 matrix whose scale does not matter: `(1 + |r|) / (1 - |r|)` with its correlation `r`.
fn condition(e: &[f64]) -> f64 {
    let r = (e[1] * e[1] / (2.0 * e[0] * e[2])).sqrt();
    // 1 - r^2 from the determinant.
    let rest = libm::fma(-e[1], 0.5 * e[1], e[0] * e[2]) / (e[0] * e[2]);
    (1.0 + r) * (1.0 + r) / rest
}

/// The same of a normal-Wishart law, whose matrix is what is left of another.
fn located(e: &[f64]) -> f64 {
    let r = std::f64::consts::SQRT_2;
    let left = |i: usize, product: f64| e[i] - 0.25 * product / e[6];
    let own = [left(1, e[4] * e[4]), left(2, r * e[4] * e[5]), left(3, e[5] * e[5])];
    condition(&own) * (e[1] / own[0]).max(e[3] / own[2])
}

/// The worst error of one quantity of one family.
#[derive(Default)]
struct Worst {
    failures: usize,
    times: f64,
    what: String,
}

impl Worst {
    fn note(&mut self, what: impl FnOnce() -> String, found: f64, expected: f64, allowed: f64) {
        let times = if found == expected {
            0.0
        } else {
            // Below 1e-308 doubles lose digits, and so do the steps before.
            let error = (found - expected).abs() - 1e-318;
            if error <= 0.0 { 0.0 } else { error / allowed }
        };
        let times = if times.is_nan() { f64::INFINITY } else { times };
        self.failures += usize::from(times > 1.0);
        if times > self.times {
            self.times = times;
            self.what = format!("{}: {found:e}, expected {expected:e}", what());
        }
    }
}

const BAR: f64 = 1e-13;
const ROUNDING: f64 = 8.0 * f64::EPSILON;
/// A divergence of matrix families is of second order in the eigenvalues of `L^-1 D L^-T`, with the difference `D` of the parameters:
/// twice their relative error. That is at most the condition times half a unit for each of 24 roundings on the way: 2 of an entry
/// of `P` and of `D` each, from the coordinates; `d + 1` of Cholesky's method on both sides; `2 d` of two triangular solves on
/// both sides; 4 of the eigenvalues; with `d = 2` that is 22, and 2 of the product with the degrees. Of the normal-gamma family
/// they are those of the change of its rate.
const KL_ROUNDING: f64 = 24.0 * f64::EPSILON;

#[test]
fn every_family_agrees_with_high_precision_tables() {
    let mut list = vec![];
    for Case { family: f, table, condition } in cases() {
        let k = f.dimension();
        let (numbers, width) = rows(table, k);
        let mut worst: [Worst; 4] = Default::default();
        let mut refused = 0;
        for numbers in numbers.chunks_exact(width) {
            let row = row(numbers, k);
            let [a, mean, fisher, kl] = &mut worst;
            if f.check_natural(row.eta).is_err() {
                // The documented end of the Poisson family: its mean is no number any more.
                assert!(row.a > 8e307, "{} refuses {:?}", f.name(), row.eta);
                refused += 1;
                continue;
            }
            let condition = condition(row.eta);
            let show = |what: &str| format!("{what} at {:?}", row.eta);
            let weight: f64 = row.eta.iter().zip(row.mean).map(|(e, m)| (e * m).abs()).sum();
            let expected = row.a;
            let allowed = BAR * expected.abs() + ROUNDING * weight;
            a.note(|| show("A"), f.log_partition(row.eta), expected, allowed);
            let (mut mu, mut information) = (vec![0.0; k], vec![0.0; k * k]);
            f.mean(row.eta, &mut mu);
            f.fisher(row.eta, &mut information);
            for i in 0..k {
                let weight: f64 = (0..k).map(|j| (row.fisher(i, j) * row.eta[j]).abs()).sum();
                let allowed = BAR * row.mean[i].abs() + ROUNDING * weight;
                mean.note(|| show(&format!("mean {i}")), mu[i], row.mean[i], allowed);
                for j in 0..=i {
                    let expected = row.fisher(i, j);
                    let scale = (row.fisher(i, i) * row.fisher(j, j)).sqrt();
                    let allowed =
                        BAR * expected.abs() + (BAR + ROUNDING * (condition - 1.0)) * scale;
                    let what = || show(&format!("Fisher {i} {j}"));
                    fisher.note(what, information[i * k + j], expected, allowed);
                }
            }
            if f.check_natural(row.other).is_ok() {
                let what = || format!("KL at {:?} to {:?}", row.eta, row.other);
                let allowed = (BAR + KL_ROUNDING * (condition - 1.0)) * row.kl;
                kl.note(what, f.kl(row.eta, row.other), row.kl, allowed);
            }
        }
        assert!(refused < 500, "{} refuses {refused}", f.name());
        for worst in worst {
            if worst.failures > 0 {
                let Worst { failures, times, what } = worst;
                list.push(format!("{} {failures} failures, worst {times:.1e} x: {what}", f.name()));
            }
        }
    }
    assert!(list.is_empty(), "beyond the bar:\n{}", list.join("\n"));
}

/// Parameters from their means, where that is solved numerically: to 1e-10, or to what 16 units of rounding of the mean say about the
/// parameter, `I^-1` times them. Where `eta = a - 1`, rounding is that of `a`. A mean that does not tell its member from the border is refused, or has a singular information.
#[test]
fn numeric_inverses_give_the_parameters_of_the_tables() {
    let mut list = vec![];
    let names = [
        "logarithmic",
        "continuous Bernoulli",
        "gamma",
        "inverse gamma",
        "chi-squared",
        "beta",
        "Dirichlet",
        "von Mises",
        "von Mises-Fisher",
        "Wishart",
        "inverse Wishart",
    ];
    let mut seen = 0;
    for Case { family: f, table, condition } in cases() {
        if !names.contains(&f.name()) {
            continue;
        }
        seen += 1;
        let k = f.dimension();
        let (numbers, width) = rows(table, k);
        let (mut worst, mut judged) = (Worst::default(), 0);
        let mut eta = vec![0.0; k];
        for numbers in numbers.chunks_exact(width) {
            let row = row(numbers, k);
            if f.check_natural(row.eta).is_err() || f.check_mean(row.mean).is_err() {
                continue;
            }
            // I scaled to a diagonal of 1: its inverse by elimination.
            let root = |i: usize| row.fisher(i, i).sqrt();
            let scaled = ndarray::Array2::from_shape_fn((k, k), |(i, j)| {
                row.fisher(i, j) / root(i) / root(j)
            });
            let Ok(factor) = fenchel_linalg::Cholesky::new(scaled.view()) else { continue };
            let inverse = factor.solve_matrix(ndarray::Array2::eye(k).view()).unwrap();
            if !inverse.iter().all(|v| v.is_finite() && v.abs() < 1e12) {
                continue;
            }
            if let Err(e) = f.natural(row.mean, &mut eta) {
                list.push(format!("{}: {e} at {:?}", f.name(), row.eta));
                continue;
            }
            judged += 1;
            let condition = condition(row.eta);
            for i in 0..k {
                let sensitivity: f64 = (0..k)
                    .map(|j| inverse[[i, j]].abs() / root(i) / root(j) * row.mean[j].abs())
                    .sum();
                let allowed = 1e-10 * row.eta[i].abs()
                    + 16.0 * f64::EPSILON * (sensitivity + condition * (1.0 + row.eta[i].abs()));
                let what = || format!("natural {i} at {:?}", row.eta);
                worst.note(what, eta[i], row.eta[i], allowed);
            }
        }
        assert!(judged > 300, "{}: {judged} judged", f.name());
        if worst.failures > 0 {
            let Worst { failures, times, what } = worst;
            list.push(format!("{} {failures} of {judged}, worst {times:.1e} x: {what}", f.name()));
        }
    }
    assert_eq!(seen, names.len());
    assert!(list.is_empty(), "beyond the bar:\n{}", list.join("\n"));
}
