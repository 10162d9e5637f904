//! Log-densities and sufficient statistics of 10^6 observations, beside statrs.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fenchel_expfam::{Beta, Distribution, Gamma, Normal, Poisson, Sample, Summary};
use fenchel_optim::random::stream;
use statrs::distribution::{self as other, Continuous, Discrete};

const N: usize = 1_000_000;

fn compare<F: Sample<Point = f64, Owned = f64> + Copy>(
    c: &mut Criterion,
    name: &str,
    p: &Distribution<F>,
    theirs: impl Fn(f64) -> f64,
) {
    let x = p.samples(N, &mut stream(3, 0));
    let mut out = vec![0.0; N];
    let mut group = c.benchmark_group(format!("expfam/{name}"));
    group.throughput(Throughput::Elements(N as u64)).sample_size(10);
    group.bench_function("log-density", |b| {
        b.iter(|| p.family().log_densities(p.natural(), black_box(&x), &mut out));
    });
    group.bench_function("log-density, statrs", |b| {
        b.iter(|| out.iter_mut().zip(black_box(&x)).for_each(|(out, x)| *out = theirs(*x)));
    });
    group.bench_function("sufficient statistics", |b| {
        b.iter(|| Summary::of(*p.family(), black_box(&x)).expect("draws of the family"));
    });
    group.finish();
}

fn densities(c: &mut Criterion) {
    let p = Normal.with_mean_variance(1.0, 4.0).expect("a variance");
    let q = other::Normal::new(1.0, 2.0).expect("a deviation");
    compare(c, "normal", &p, |x| q.ln_pdf(x));
    let p = Gamma.with_shape_rate(2.5, 3.0).expect("a shape");
    let q = other::Gamma::new(2.5, 3.0).expect("a shape");
    compare(c, "gamma", &p, |x| q.ln_pdf(x));
    let p = Beta.with_shapes(2.5, 3.0).expect("shapes");
    let q = other::Beta::new(2.5, 3.0).expect("shapes");
    compare(c, "beta", &p, |x| q.ln_pdf(x));
    let p = Poisson.with_rate(7.0).expect("a rate");
    let q = other::Poisson::new(7.0).expect("a rate");
    compare(c, "poisson", &p, |x| q.ln_pmf(x as u64));
}

criterion_group!(benches, densities);
criterion_main!(benches);
