//! Log-densities and sufficient statistics of 10^6 observations, beside statrs and rv. Every side is given its parameters before
//! the clock starts, and computes what can be computed from them alone when and where it likes.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fenchel_expfam::families::{
    Bernoulli, Beta, Exponential, Gamma, InverseGaussian, LogNormal, Normal, Poisson, VonMises,
};
use fenchel_expfam::{Distribution, Sample, Summary};
use fenchel_optim::random::stream;
use rv::data::{
    BernoulliSuffStat, BetaSuffStat, GaussianSuffStat, InvGaussianSuffStat, PoissonSuffStat,
    VonMisesSuffStat,
};
use rv::dist as third;
use rv::traits::{HasDensity, SuffStat};
use statrs::distribution::{self as other, Continuous, Discrete};

const N: usize = 1_000_000;

/// The sufficient statistics of rv: how many observations they have seen.
type Seen<'a, X> = &'a dyn Fn(&[X]) -> usize;

/// One family on all sides; a side that has no such thing is left out. `cast` makes the observations of rv.
fn compare<F: Sample<Point = f64, Owned = f64> + Copy, X>(
    c: &mut Criterion,
    (name, p): (&str, &Distribution<F>),
    cast: impl Fn(f64) -> X,
    statrs: Option<&dyn Fn(f64) -> f64>,
    rv: &impl HasDensity<X>,
    statistics: Option<Seen<'_, X>>,
) {
    let x = p.samples(N, &mut stream(3, 0));
    let theirs: Vec<X> = x.iter().map(|&x| cast(x)).collect();
    let mut out = vec![0.0; N];
    let mut group = c.benchmark_group(format!("expfam/{name}"));
    group.throughput(Throughput::Elements(N as u64)).sample_size(10);
    group.bench_function("log-density", |b| {
        b.iter(|| p.family().log_densities(p.natural(), black_box(&x), &mut out));
    });
    group.bench_function("log-density, checked", |b| {
        b.iter(|| p.log_densities(black_box(&x)).expect("draws of the family"));
    });
    if let Some(statrs) = statrs {
        group.bench_function("log-density, statrs", |b| {
            b.iter(|| out.iter_mut().zip(black_box(&x)).for_each(|(out, x)| *out = statrs(*x)));
        });
    }
    group.bench_function("log-density, rv", |b| {
        b.iter(|| out.iter_mut().zip(black_box(&theirs)).for_each(|(out, x)| *out = rv.ln_f(x)));
    });
    group.bench_function("sufficient statistics", |b| {
        b.iter(|| Summary::of(*p.family(), black_box(&x)).expect("draws of the family"));
    });
    if let Some(statistics) = statistics {
        group.bench_function("sufficient statistics, rv", |b| {
            b.iter(|| statistics(black_box(&theirs)));
        });
    }
    group.finish();
}

fn densities(c: &mut Criterion) {
    let same = |x: f64| x;
    let count = |x: f64| x as u32;

    let p = Normal.with_mean_variance(1.0, 4.0).expect("a variance");
    let q = other::Normal::new(1.0, 2.0).expect("a deviation");
    let r = third::Gaussian::new(1.0, 2.0).expect("a deviation");
    let seen = |x: &[f64]| {
        let mut s = GaussianSuffStat::new();
        s.observe_many(x);
        black_box(&s);
        SuffStat::<f64>::n(&s)
    };
    compare(c, ("normal", &p), same, Some(&|x| q.ln_pdf(x)), &r, Some(&seen));

    let p = Gamma.with_shape_rate(2.5, 3.0).expect("a shape");
    let q = other::Gamma::new(2.5, 3.0).expect("a shape");
    let r = third::Gamma::new(2.5, 3.0).expect("a shape");
    compare(c, ("gamma", &p), same, Some(&|x| q.ln_pdf(x)), &r, None);

    let p = Beta.with_shapes(2.5, 3.0).expect("shapes");
    let q = other::Beta::new(2.5, 3.0).expect("shapes");
    let r = third::Beta::new(2.5, 3.0).expect("shapes");
    let seen = |x: &[f64]| {
        let mut s = BetaSuffStat::new();
        s.observe_many(x);
        black_box(&s);
        SuffStat::<f64>::n(&s)
    };
    compare(c, ("beta", &p), same, Some(&|x| q.ln_pdf(x)), &r, Some(&seen));

    let p = Exponential.with_rate(0.7).expect("a rate");
    let q = other::Exp::new(0.7).expect("a rate");
    let r = third::Exponential::new(0.7).expect("a rate");
    compare(c, ("exponential", &p), same, Some(&|x| q.ln_pdf(x)), &r, None);

    let p = LogNormal.with_mean_variance_of_log(0.5, 0.25).expect("a variance");
    let q = other::LogNormal::new(0.5, 0.5).expect("a deviation");
    let r = third::LogNormal::new(0.5, 0.5).expect("a deviation");
    compare(c, ("log-normal", &p), same, Some(&|x| q.ln_pdf(x)), &r, None);

    let p = InverseGaussian.with_mean_shape(1.5, 2.0).expect("a mean");
    let r = third::InvGaussian::new(1.5, 2.0).expect("a mean");
    let seen = |x: &[f64]| {
        let mut s = InvGaussianSuffStat::new();
        s.observe_many(x);
        black_box(&s);
        SuffStat::<f64>::n(&s)
    };
    compare(c, ("inverse gaussian", &p), same, None, &r, Some(&seen));

    let p = VonMises.with_direction_concentration(1.0, 2.0).expect("a concentration");
    let r = third::VonMises::new(1.0, 2.0).expect("a concentration");
    let seen = |x: &[f64]| {
        let mut s = VonMisesSuffStat::new();
        s.observe_many(x);
        black_box(&s);
        SuffStat::<f64>::n(&s)
    };
    compare(c, ("von mises", &p), same, None, &r, Some(&seen));

    let p = Poisson.with_rate(7.0).expect("a rate");
    let q = other::Poisson::new(7.0).expect("a rate");
    let r = third::Poisson::new(7.0).expect("a rate");
    let seen = |x: &[u32]| {
        let mut s = PoissonSuffStat::new();
        s.observe_many(x);
        black_box(&s);
        SuffStat::<u32>::n(&s)
    };
    compare(c, ("poisson", &p), count, Some(&|x| q.ln_pmf(x as u64)), &r, Some(&seen));

    let p = Bernoulli.with_p(0.3).expect("a probability");
    let q = other::Bernoulli::new(0.3).expect("a probability");
    let r = third::Bernoulli::new(0.3).expect("a probability");
    let seen = |x: &[bool]| {
        let mut s = BernoulliSuffStat::new();
        s.observe_many(x);
        black_box(&s);
        SuffStat::<bool>::n(&s)
    };
    let coin = |x: f64| x == 1.0;
    compare(c, ("bernoulli", &p), coin, Some(&|x| q.ln_pmf(x as u64)), &r, Some(&seen));
}

criterion_group!(benches, densities);
criterion_main!(benches);
