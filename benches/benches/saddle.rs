//! Steps of the saddle-point methods: the sublinear method against sizes, mirror prox on a game.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fenchel_linalg::AsDesign;
use fenchel_optim::random::stream;
use fenchel_optim::{Cadence, Stop};
use fenchel_saddle::methods::MirrorProxSettings;
use fenchel_saddle::multiclass::{Multiclass, Samples, SublinearSettings, sublinear};
use fenchel_saddle::{MatrixGame, MulticlassLoss, matrix_game};
use ndarray::Array2;
use rand::RngExt;

fn uniform(n: usize, d: usize, seed: u64) -> Array2<f64> {
    let mut rng = stream(seed, 0);
    Array2::from_shape_fn((n, d), |_| rng.random_range(-1.0..1.0))
}

/// 2,000 steps beside two certificates.
fn steps(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("sublinear, 2000 steps");
    group.sample_size(10);
    for n in [200_usize, 400, 800] {
        let x = uniform(n, n, 1);
        let y: Vec<usize> = (0..n).map(|j| (7 * j) % n).collect();
        let samples = Samples::new(&x.as_design().unwrap(), &y, n, None).unwrap();
        let problem = Multiclass::new(&samples, MulticlassLoss::Hinge, n as f64, 1e-3).unwrap();
        let stop = Stop { check: Cadence::Every(1e9), ..Stop::after_passes(4000.0 / n as f64) };
        let settings = SublinearSettings { horizon: Some(2000), stop, ..Default::default() };
        group.throughput(Throughput::Elements(2000));
        group.bench_with_input(BenchmarkId::from_parameter(n), &problem, |b, problem| {
            b.iter(|| black_box(sublinear(problem, &settings, None, &mut ()).unwrap().report));
        });
    }
    group.finish();
}

fn games(criterion: &mut Criterion) {
    let game = MatrixGame::new(uniform(200, 300, 2).view()).unwrap();
    let stop = Stop { check: Cadence::Every(1e9), ..Stop::after_passes(400.0) };
    let settings = MirrorProxSettings { stop, ..Default::default() };
    criterion.bench_function("mirror prox, 200 steps of a 200 x 300 game", |b| {
        b.iter(|| black_box(matrix_game(&game, &settings, None, &mut ()).unwrap().report));
    });
}

criterion_group!(benches, steps, games);
criterion_main!(benches);
