//! This project's side of `cargo xtask peers expfam`, and those of statrs and rv.
//!
//! `peer-expfam entropies TABLES` judges entropies of the members in the reference tables, `peer-expfam divergences TABLES` their
//! divergences; `peer-expfam members` answers requests of `peers/expfam/sweep.py` from its input; `peer-expfam glm FAMILY FILE N D` fits a
//! regression to a file of doubles, the design row by row and then the targets.

use std::collections::BTreeMap;
use std::time::Instant;

use fenchel_expfam::families::*;
use fenchel_expfam::glm::{Glm, Logistic, PoissonLog, ScalarFamily};
use fenchel_expfam::quantiles::Quantiles;
use fenchel_expfam::*;
use fenchel_optim::Stop;
use ndarray::ArrayView2;
use rv::dist as third;
use rv::traits::{Entropy as _, KlDivergence as _};
use serde::Serialize;
use statrs::distribution as other;
use statrs::statistics::Distribution as _;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["entropies", tables] => entropies(tables),
        ["divergences", tables] => divergences(tables),
        ["members"] => members(),
        ["glm", "logistic", file, n, d] => glm(Logistic, file, n.parse()?, d.parse()?),
        ["glm", "poisson", file, n, d] => glm(PoissonLog, file, n.parse()?, d.parse()?),
        _ => Err("entropies TABLES, divergences TABLES, members, or glm FAMILY FILE N D".into()),
    }
}

fn doubles(path: &str) -> Result<Vec<f64>, Failure> {
    let bytes = std::fs::read(path)?;
    Ok(bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes"))).collect())
}

#[derive(Default, Serialize)]
struct Count {
    members: usize,
    failures: usize,
    not_finite: usize,
    worst: f64,
}

type Entropy = Box<dyn Fn(&[f64]) -> Option<f64>>;

/// The entropy of a member of a family.
fn ours(family: impl Density + 'static) -> Entropy {
    Box::new(move |eta| family.entropy(eta).ok())
}

/// One family: its table, its dimension, what the base measure adds to the entropy, and who computes it.
struct Case {
    name: &'static str,
    k: usize,
    base: f64,
    sides: Vec<(&'static str, Entropy)>,
}

fn case(name: &'static str, k: usize, base: f64, family: impl Density + 'static) -> Case {
    Case { name, k, base, sides: vec![("fenchel", ours(family))] }
}

impl Case {
    fn statrs(mut self, f: impl Fn(&[f64]) -> Option<f64> + 'static) -> Self {
        self.sides.push(("statrs", Box::new(f)));
        self
    }

    fn rv(mut self, f: impl Fn(&[f64]) -> Option<f64> + 'static) -> Self {
        self.sides.push(("rv", Box::new(f)));
        self
    }
}

fn cases() -> Result<Vec<Case>, Failure> {
    let half_log_tau = 0.5 * std::f64::consts::TAU.ln();
    let share = |e: f64| 1.0 / (1.0 + (-e).exp());
    Ok(vec![
        case("bernoulli", 1, 0.0, Bernoulli)
            .statrs(move |e| other::Bernoulli::new(share(e[0])).ok()?.entropy())
            .rv(move |e| Some(third::Bernoulli::new(share(e[0])).ok()?.entropy())),
        case("geometric", 1, 0.0, Geometric)
            .statrs(|e| other::Geometric::new(-e[0].exp_m1()).ok()?.entropy())
            // In bits there.
            .rv(|e| {
                let bits = third::Geometric::new(-e[0].exp_m1()).ok()?.entropy();
                Some(std::f64::consts::LN_2 * bits)
            }),
        case("exponential", 1, 0.0, Exponential)
            .statrs(|e| other::Exp::new(-e[0]).ok()?.entropy())
            .rv(|e| Some(third::Exponential::new(-e[0]).ok()?.entropy())),
        case("laplace", 1, 0.0, Laplace::new(0.0)?)
            .statrs(|e| other::Laplace::new(0.0, -1.0 / e[0]).ok()?.entropy())
            .rv(|e| Some(third::Laplace::new(0.0, -1.0 / e[0]).ok()?.entropy())),
        case("gamma", 2, 0.0, Gamma)
            .statrs(|e| other::Gamma::new(e[0] + 1.0, -e[1]).ok()?.entropy())
            .rv(|e| Some(third::Gamma::new(e[0] + 1.0, -e[1]).ok()?.entropy())),
        case("inverse_gamma", 2, 0.0, InverseGamma)
            .statrs(|e| other::InverseGamma::new(-e[0] - 1.0, -e[1]).ok()?.entropy())
            .rv(|e| Some(third::InvGamma::new(-e[0] - 1.0, -e[1]).ok()?.entropy())),
        case("beta", 2, 0.0, Beta)
            .statrs(|e| other::Beta::new(e[0] + 1.0, e[1] + 1.0).ok()?.entropy())
            .rv(|e| Some(third::Beta::new(e[0] + 1.0, e[1] + 1.0).ok()?.entropy())),
        case("dirichlet", 3, 0.0, Dirichlet::new(3)?),
        case("normal", 2, half_log_tau, Normal)
            .statrs(|e| {
                let v = -0.5 / e[1];
                other::Normal::new(e[0] * v, v.sqrt()).ok()?.entropy()
            })
            .rv(|e| {
                let v = -0.5 / e[1];
                Some(third::Gaussian::new(e[0] * v, v.sqrt()).ok()?.entropy())
            }),
        case("von_mises", 2, 2.0 * half_log_tau, VonMises).rv(|e| {
            let (k, m) = (e[0].hypot(e[1]), e[1].atan2(e[0]));
            Some(third::VonMises::new(m, k).ok()?.entropy())
        }),
    ])
}

type Counts = BTreeMap<&'static str, BTreeMap<&'static str, Count>>;

fn entropies(tables: &str) -> Result<(), Failure> {
    let mut result = Counts::new();
    for Case { name, k, base, sides } in cases()? {
        let numbers = doubles(&format!("{tables}/{name}.f64"))?;
        for (who, entropy) in sides {
            let mut count = Count::default();
            for row in numbers.chunks_exact(width(k)) {
                let (eta, a, mu) = (&row[..k], row[k], &row[k + 1..2 * k + 1]);
                let products: Vec<f64> = eta.iter().zip(mu).map(|(e, m)| -e * m).collect();
                let expected = a + base + products.iter().sum::<f64>();
                let terms = a.abs() + base + products.iter().map(|t| t.abs()).sum::<f64>();
                let allowed = 1e-13 * expected.abs() + 16.0 * f64::EPSILON * terms + 1e-300;
                count.judge(entropy(eta), expected, allowed);
            }
            result.entry(who).or_default().insert(name, count);
        }
    }
    println!("{}", serde_json::to_string(&result)?);
    Ok(())
}

/// The divergence of two members, by natural parameters.
type Divergence = Box<dyn Fn(&[f64], &[f64]) -> Option<f64>>;

/// `KL(p || q)` of the pairs in the tables, to 1e-13 of the value, where rv has it. statrs has none. In rv 0.20 the ratio of the
/// rates of exponential laws stands upside down: all pairs fail.
fn divergences(tables: &str) -> Result<(), Failure> {
    let share = |e: f64| third::Bernoulli::new(1.0 / (1.0 + (-e).exp()));
    let normal = |e: &[f64]| {
        let v = -0.5 / e[1];
        third::Gaussian::new(e[0] * v, v.sqrt())
    };
    let cases: Vec<(&str, usize, Divergence, Divergence)> = vec![
        (
            "bernoulli",
            1,
            Box::new(|p, q| Some(Bernoulli.kl(p, q))),
            Box::new(move |p, q| Some(share(p[0]).ok()?.kl(&share(q[0]).ok()?))),
        ),
        (
            "poisson",
            1,
            Box::new(|p, q| Some(Poisson.kl(p, q))),
            Box::new(|p, q| {
                let q = third::Poisson::new(q[0].exp()).ok()?;
                Some(third::Poisson::new(p[0].exp()).ok()?.kl(&q))
            }),
        ),
        (
            "exponential",
            1,
            Box::new(|p, q| Some(Exponential.kl(p, q))),
            Box::new(|p, q| {
                let q = third::Exponential::new(-q[0]).ok()?;
                Some(third::Exponential::new(-p[0]).ok()?.kl(&q))
            }),
        ),
        (
            "normal",
            2,
            Box::new(|p, q| Some(Normal.kl(p, q))),
            Box::new(move |p, q| Some(normal(p).ok()?.kl(&normal(q).ok()?))),
        ),
    ];
    let mut result = Counts::new();
    for (name, k, ours, theirs) in cases {
        let numbers = doubles(&format!("{tables}/{name}.f64"))?;
        for (who, kl) in [("fenchel", ours), ("rv", theirs)] {
            let mut count = Count::default();
            for row in numbers.chunks_exact(width(k)) {
                let (p, q) = (&row[..k], &row[width(k) - k - 1..width(k) - 1]);
                let expected = row[width(k) - 1];
                // Beyond 709 the mean of a Poisson law is no number.
                if expected.is_finite() && p[0].exp() < f64::MAX && q[0].exp() < f64::MAX {
                    count.judge(kl(p, q), expected, 1e-13 * expected + 1e-300);
                }
            }
            result.entry(who).or_default().insert(name, count);
        }
    }
    println!("{}", serde_json::to_string(&result)?);
    Ok(())
}

/// Numbers in a row of a table of a family of dimension `k`.
fn width(k: usize) -> usize {
    3 * k + 2 + k * (k + 1) / 2
}

impl Count {
    fn judge(&mut self, found: Option<f64>, expected: f64, allowed: f64) {
        self.members += 1;
        let Some(found) = found.filter(|h| h.is_finite()) else {
            self.not_finite += 1;
            return;
        };
        let error = (found - expected).abs();
        self.failures += usize::from(error > allowed);
        self.worst = self.worst.max(error / expected.abs().max(1e-300));
    }
}

/// One line for each line `family | eta | other eta | points | weight`: A, the mean, the entropy, the divergence, and of numbers the
/// log-densities, the probabilities below and above, their logarithms and the quantile of the one that
/// is smaller, the maximum likelihood and the posterior; a dash for an error.
fn members() -> Result<(), Failure> {
    for line in std::io::stdin().lines() {
        let line = line?;
        let (name, rest) = line.split_once('|').ok_or("a line without a bar")?;
        let parts: Vec<Vec<f64>> = rest
            .split('|')
            .map(|part| part.split_whitespace().map(str::parse).collect())
            .collect::<Result<_, _>>()?;
        let [eta, other, points, weight] = &parts[..] else { return Err("not five parts".into()) };
        let asked = Request { eta, other, points, weight: weight[0] };
        println!("{}", asked.of(name.trim())?);
    }
    Ok(())
}

struct Request<'a> {
    eta: &'a [f64],
    other: &'a [f64],
    points: &'a [f64],
    weight: f64,
}

impl Request<'_> {
    fn of(&self, name: &str) -> Result<String, Failure> {
        Ok(match name {
            "bernoulli" => self.numbers(Bernoulli),
            "binomial" => self.numbers(Binomial::new(7)?),
            "binomial_large" => self.numbers(Binomial::new(4_000_000_000)?),
            "poisson" => self.numbers(Poisson),
            "geometric" => self.numbers(Geometric),
            "negative_binomial" => self.numbers(NegativeBinomial::new(2.5)?),
            "logarithmic" => self.numbers(Logarithmic),
            "continuous_bernoulli" => self.numbers(ContinuousBernoulli),
            "exponential" => self.numbers(Exponential),
            "gamma_known_shape" => self.numbers(GammaKnownShape::new(0.4)?),
            "rayleigh" => self.numbers(Rayleigh),
            "laplace" => self.numbers(Laplace::new(0.0)?),
            "normal_known_mean" => self.numbers(NormalKnownMean::default()),
            "normal_known_variance" => self.numbers(NormalKnownVariance::new(2.0)?),
            "chi_squared" => self.numbers(ChiSquared),
            "inverse_gaussian" => self.numbers(InverseGaussian),
            "von_mises" => self.numbers(VonMises),
            "gamma" => self.quantiles(Gamma),
            "inverse_gamma" => self.quantiles(InverseGamma),
            "beta" => self.quantiles(Beta),
            "normal" => self.quantiles(Normal),
            "log_normal" => self.quantiles(LogNormal),
            "categorical" => self.vectors(Categorical::new(3)?),
            "multinomial" => self.vectors(Multinomial::new(9, 3)?),
            "dirichlet" => self.vectors(Dirichlet::new(3)?),
            "isotropic_normal" => self.vectors(IsotropicNormal::new(2)?),
            "von_mises_fisher" => self.vectors(VonMisesFisher::new(5)?),
            "normal_vector" => self.vectors(NormalVector::new(2)?),
            "normal_vector_zero_mean" => self.vectors(NormalVectorZeroMean::new(2)?),
            "wishart" => self.vectors(Wishart::new(2)?),
            "inverse_wishart" => self.vectors(InverseWishart::new(2)?),
            "normal_gamma" => self.vectors(NormalGamma),
            "normal_wishart" => self.vectors(NormalWishart::new(2)?),
            _ => return Err(format!("no family `{name}`").into()),
        })
    }

    /// What every family has.
    fn vectors<F: Density>(&self, family: F) -> String {
        let mut mean = vec![0.0; family.dimension()];
        family.mean(self.eta, &mut mean);
        let entropy = family.entropy(self.eta).ok();
        let kl = family.kl(self.eta, self.other);
        let groups = [
            said([Some(family.log_partition(self.eta))]),
            said(mean.into_iter().map(Some)),
            said([entropy]),
            said([Some(kl)]),
        ];
        groups.join("|") + "||||"
    }

    fn numbers<F: Density<Point = f64> + Clone + PartialEq>(&self, family: F) -> String {
        self.of_numbers(family, |_, _| Vec::new())
    }

    fn quantiles<F: Quantiles + PartialEq>(&self, family: F) -> String {
        self.of_numbers(family, |p, x| {
            let (below, above) = (p.cdf(x), p.survival(x));
            let back = if below <= 0.5 { p.quantile(below) } else { p.upper_quantile(above) };
            vec![below, above, p.log_cdf(x), p.log_survival(x), back.unwrap_or(f64::INFINITY)]
        })
    }

    fn of_numbers<F: Density<Point = f64> + Clone + PartialEq>(
        &self,
        family: F,
        probabilities: impl Fn(&Distribution<F>, f64) -> Vec<f64>,
    ) -> String {
        let general = self.vectors(family.clone());
        let Ok(p) = Distribution::from_natural(family.clone(), self.eta) else {
            return general.replace("||||", "|-|-|-|-");
        };
        let densities = said(self.points.iter().map(|x| p.log_density(x).ok()));
        let below = said(self.points.iter().flat_map(|&x| probabilities(&p, x)).map(Some));
        let parameter = |p: Result<Distribution<F>, Error>| match p {
            Ok(p) => said(p.natural().iter().map(|&e| Some(e))),
            Err(_) => "-".to_owned(),
        };
        let fitted = parameter(mle(family.clone(), self.points));
        let posterior = Summary::of(family, self.points)
            .and_then(|data| Prior::around(self.weight, &p)?.posterior(&data))
            .map(|posterior| posterior.map().clone());
        let groups = [densities, below, fitted, parameter(posterior)];
        general.replace("||||", "|") + &groups.join("|")
    }
}

/// Numbers with a blank between, a dash for none.
fn said(numbers: impl IntoIterator<Item = Option<f64>>) -> String {
    let words = numbers.into_iter().map(|x| x.map_or("-".to_owned(), |x| format!("{x:e}")));
    words.collect::<Vec<_>>().join(" ")
}

#[derive(Serialize)]
struct Fit {
    seconds: f64,
    coefficients: Vec<f64>,
    report: String,
}

fn glm<F: ScalarFamily + Clone>(family: F, file: &str, n: usize, d: usize) -> Result<(), Failure> {
    let numbers = doubles(file)?;
    let (x, y) = numbers.split_at(n * d);
    let x = ArrayView2::from_shape((n, d), x)?;
    let start = Instant::now();
    // The norm of the gradient in units of its terms, about 5 here: of a mean loss with curvature of about 0.1, 1e-6 is a gap of 1e-10.
    let stop = Stop { absolute: 1e-6, relative: 0.0, ..Stop::default() };
    let model = Glm { stop, ..Glm::new(family) }.fit(&x, y)?;
    let seconds = start.elapsed().as_secs_f64();
    let mut coefficients = model.coefficients.clone();
    coefficients.push(model.intercept);
    let fit = Fit { seconds, coefficients, report: model.report.to_string() };
    println!("{}", serde_json::to_string(&fit)?);
    Ok(())
}
