//! The loops that a solve spends its time in, in entries of the matrix a second.
//!
//! ```text
//! cargo bench -p fenchel-benches --bench finite_sum
//! ```
//!
//! A benchmark runs [`PASSES`] passes from the origin through the public solvers, so its number includes
//! setting up and one certificate at the end (and one at the start where a method makes it): a user
//! cannot have the loop without them. Throughput counts an entry once a pass.

use std::hint::black_box;
use std::time::Duration;

use criterion::{
    BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};
use fenchel_datasets::generate::{LowRank, Spgen, low_rank, spgen};
use fenchel_datasets::transform::{normalise_rows, signs};
use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::methods::{
    SagaSettings, SdcaSettings, SdcaStep, SvrgSettings, saga, sdca, svrg,
};
use fenchel_finite_sum::{Point, Problem};
use fenchel_linalg::{AsDesign, Design, multiply, multiply_transposed};
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::{Cadence, Stop};

/// Enough passes that the loop outweighs what comes before and after: the 2 passes for certificates
/// and the filling of a table are then a tenth.
const PASSES: f64 = 20.0;

/// No certificate before the end.
fn stop() -> Stop {
    Stop { check: Cadence::Every(PASSES), ..Stop::after_passes(PASSES) }
}

/// The loops on rows of 30 entries, spread over 5,000 columns.
fn sparse(criterion: &mut Criterion) {
    let data = spgen(&Spgen::default()).expect("settings in range").classification();
    let design = data.x.as_design().expect("finite data");
    let targets = data.y.as_slice().expect("one piece");
    let entries = data.x.nnz() as u64;
    let mut group = group(criterion, "sparse", entries * PASSES as u64);
    loops(&mut group, design, targets);
    group.finish();
    products(criterion, "sparse-products", design, targets, entries);
}

/// The loops on 5,000 dense rows of 784 columns, the shape of images.
fn dense(criterion: &mut Criterion) {
    let settings = LowRank { rows: 5_000, columns: 784, ..LowRank::default() };
    let mut data = low_rank(&settings).expect("settings in range").regression();
    normalise_rows(&mut data.x);
    let labels = signs(data.y.view(), |&y| y > 0.0);
    let design = data.x.as_design().expect("finite data");
    let targets = labels.as_slice().expect("one piece");
    let entries = data.x.len() as u64;
    let mut group = group(criterion, "dense", entries * PASSES as u64);
    loops(&mut group, design, targets);
    group.finish();
    products(criterion, "dense-products", design, targets, entries);
}

/// One benchmark a method, `l2 = 1/n`; with l1 a hundredth of the weight at which all weights are 0.
fn loops<D: Design + Copy>(group: &mut BenchmarkGroup<'_, WallTime>, design: D, targets: &[f64]) {
    let n = targets.len() as f64;
    let ridge = Problem::new(design, targets, Logistic, Zero, 1.0 / n).expect("checked data");
    let mut slope = vec![0.0; ridge.d()];
    multiply_transposed(&design, targets, &mut slope);
    let largest = slope.iter().fold(0.0f64, |m, g| m.max(g.abs())) / (2.0 * n);
    let strength = 0.01 * largest;
    let lasso =
        Problem::new(design, targets, Logistic, L1 { strength }, 0.0).expect("checked data");

    for (name, step) in [("sdca-exact", SdcaStep::Exact), ("sdca-constant", SdcaStep::Constant)] {
        let settings = SdcaSettings { step, stop: stop(), ..SdcaSettings::default() };
        group.bench_function(name, |b| b.iter(|| sdca(&ridge, &settings, None, &mut ())));
    }
    let settings = SagaSettings { stop: stop(), ..SagaSettings::default() };
    group.bench_function("saga-l2", |b| b.iter(|| saga(&ridge, &settings, None, &mut ())));
    group.bench_function("saga-l1", |b| b.iter(|| saga(&lasso, &settings, None, &mut ())));
    let settings = SvrgSettings { stop: stop(), ..SvrgSettings::default() };
    group.bench_function("svrg-l2", |b| b.iter(|| svrg(&ridge, &settings, None, &mut ())));
}

/// What batch methods and certificates are made of.
fn products<D: Design + Copy>(
    criterion: &mut Criterion,
    name: &str,
    design: D,
    targets: &[f64],
    entries: u64,
) {
    let n = targets.len();
    let problem = Problem::new(design, targets, Logistic, Zero, 1.0 / n as f64).expect("checked");
    let point = Point { weights: vec![0.5; problem.d()], intercept: 0.0 };
    let mut margins = vec![0.0; n];
    let mut slope = vec![0.0; problem.d()];
    let mut group = group(criterion, name, entries);
    group.bench_function("multiply", |b| {
        b.iter(|| multiply(&design, black_box(&point.weights), &mut margins));
    });
    group.bench_function("multiply-transposed", |b| {
        b.iter(|| multiply_transposed(&design, black_box(targets), &mut slope));
    });
    // Two products, losses and conjugates: an entry is looked at twice and counted once.
    group.bench_function("duality-gap", |b| b.iter(|| problem.certify(black_box(&point))));
    group.finish();
}

fn group<'a>(
    criterion: &'a mut Criterion,
    name: &str,
    entries: u64,
) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(entries));
    // 16 benchmarks in less than a minute and a half.
    group.sample_size(10);
    group.warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(3));
    group
}

criterion_group!(benches, sparse, dense);
criterion_main!(benches);
