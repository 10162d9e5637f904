//! Hot loops of `fenchel-ggm`: a graphical lasso, one scale-free fit, SHORTCUT, an item field.

use criterion::{Criterion, criterion_group, criterion_main};
use fenchel_ggm::scale_free::ScaleFree;
use fenchel_ggm::shortcut::Shortcut;
use fenchel_ggm::synthetic::{barabasi_albert, diagonally_dominant};
use fenchel_ggm::{GraphicalLasso, Statistics, sample};
use fenchel_optim::random::stream;
use ndarray::Array1;

fn statistics(p: usize, n: usize) -> Statistics {
    let edges = barabasi_albert(p, 2, &mut stream(1, 0)).expect("a graph");
    let theta = diagonally_dominant(p, &edges, -0.2);
    let x = sample(theta.view(), &Array1::zeros(p), n, &mut stream(1, 1)).expect("samples");
    Statistics::from_data(&x).expect("statistics")
}

fn lasso(c: &mut Criterion) {
    let mut group = c.benchmark_group("ggm");
    group.sample_size(10);
    for (p, l1) in [(100, 0.1), (300, 0.1)] {
        let data = statistics(p, 2 * p);
        let lasso = GraphicalLasso { l1: l1.into(), ..GraphicalLasso::default() };
        group.bench_function(format!("graphical lasso, p = {p}"), |b| {
            b.iter(|| lasso.fit(&data).expect("a fit"));
        });
    }
    let data = statistics(100, 500);
    let free = ScaleFree::default();
    group.bench_function("scale-free, p = 100", |b| {
        b.iter(|| free.fit(&data).expect("a fit"));
    });
    let (c, _) = statistics(1000, 250).correlation();
    let lists = Shortcut::new(c.view(), None).expect("lists");
    group.bench_function("SHORTCUT, p = 1000", |b| b.iter(|| lists.weights()));
    group.finish();
}

criterion_group!(benches, lasso);
criterion_main!(benches);
