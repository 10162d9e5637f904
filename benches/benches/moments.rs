//! Moments of slices: the looks at the data that all sliced methods are made of, and score matching.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fenchel_moments::direct::Lambda;
use fenchel_moments::matching::{Basis, Centres};
use fenchel_moments::{
    Components, DirectSade, GaussianMixture, Sade, Save, ScoreMatching, Sir, Slicing, Sphd,
    synthetic,
};

const COMPONENTS: Components = Components::Fixed(2);

/// One look at 100,000 x 50.
fn sliced(criterion: &mut Criterion) {
    let density = GaussianMixture::thesis(50).unwrap();
    let problem = synthetic::rational(&density, 100_000, 0.25, 1).unwrap();
    let (x, y) = (&problem.x, &problem.y);
    let mut group = criterion.benchmark_group("100,000 x 50");
    group.sample_size(10).throughput(Throughput::Elements(100_000));
    let sir = Sir { components: COMPONENTS, ..Sir::default() };
    group.bench_function("SIR", |b| b.iter(|| black_box(sir.fit(x, y).unwrap())));
    let save = Save { components: COMPONENTS, ..Save::default() };
    group.bench_function("SAVE", |b| b.iter(|| black_box(save.fit(x, y).unwrap())));
    let sade = Sade { components: COMPONENTS, ..Sade::default() };
    group.bench_function("SADE", |b| b.iter(|| black_box(sade.fit(x, y, &density).unwrap())));
    let sphd = Sphd { components: COMPONENTS, ..Sphd::default() };
    group.bench_function("SPHD", |b| b.iter(|| black_box(sphd.fit(x, y, &density).unwrap())));
    group.finish();
}

/// A score from `m` bumps at as many samples, d = 10.
fn matching(criterion: &mut Criterion) {
    let density = GaussianMixture::thesis(10).unwrap();
    let mut group = criterion.benchmark_group("score matching, n = m");
    group.sample_size(10);
    for m in [500_usize, 2000] {
        let x = synthetic::rational(&density, m, 0.25, 1).unwrap().x;
        let basis = Basis::Bumps(Centres::AllSamples);
        let settings = ScoreMatching { basis, ..ScoreMatching::default() };
        group.bench_with_input(BenchmarkId::from_parameter(m), &x, |b, x| {
            b.iter(|| black_box(settings.fit(x).unwrap()));
        });
    }
    group.finish();
}

/// Score and directions at once, n = m = 1000, d = 10, H = 10.
fn direct(criterion: &mut Criterion) {
    let density = GaussianMixture::thesis(10).unwrap();
    let problem = synthetic::rational(&density, 1000, 0.25, 1).unwrap();
    let method = DirectSade {
        components: COMPONENTS,
        slicing: Slicing::EqualCount(10),
        lambda: Lambda::Fixed(0.1),
        ..DirectSade::default()
    };
    let mut group = criterion.benchmark_group("direct method");
    group.sample_size(10).bench_function("one lambda", |b| {
        b.iter(|| black_box(method.fit(&problem.x, &problem.y).unwrap().lambda));
    });
    group.finish();
}

criterion_group!(benches, sliced, matching, direct);
criterion_main!(benches);
