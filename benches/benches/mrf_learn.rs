//! Learning binary networks: iterations of SPG with 10, 20 and 100 variables, the gradient by enumeration, all pair counts of the chains.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
use fenchel_mrf_learn::{
    Backend, Coordinates, Data, Enumeration, Layout, MissingPolicy, Penalty, Schedule, Spg,
    synthetic,
};
use fenchel_optim::StepSize;

fn data(p: usize, rows: usize) -> Data {
    let truth = synthetic::random_network(p, 0.3, (0.3, 0.8), 1).expect("in range");
    let (start, scan) = (BinaryStart::Random, Order::Cyclic);
    let mut chains = BinaryGibbs::new(&truth, rows, start, scan, 1).expect("fits");
    chains.sweep(100);
    Data::binary(chains.samples().view(), MissingPolicy::Error).expect("bits")
}

fn spg(c: &mut Criterion) {
    let mut group = c.benchmark_group("SPG, 10 iterations");
    for (p, chains, sweeps) in [(10, 2000, 30), (20, 5000, 60), (100, 2000, 10)] {
        let data = data(p, 1000);
        for (name, schedule) in [("fixed", Schedule::Fixed(sweeps)), ("TAY", Schedule::default())] {
            let spg = Spg {
                penalty: Penalty::l1(0.02),
                schedule,
                chains,
                step: StepSize::Constant(if p == 100 { 0.05 } else { 0.4 }),
                noise_floor: None,
                ..Spg::default()
            };
            let spg = spg.with_iterations(10);
            group.bench_function(format!("p = {p}, {name}"), |b| {
                b.iter(|| black_box(spg.fit(&data).expect("fits")));
            });
        }
    }
    group.finish();
}

fn gradient(c: &mut Criterion) {
    let truth = synthetic::random_network(20, 0.3, (1.0, 2.0), 0).expect("in range");
    let layout = Layout::two_states(20, Coordinates::Binary).expect("fits");
    let mut table = Enumeration::new(&layout, None).expect("fits");
    let theta = layout.parameters(&truth).expect("two states");
    let mut means = vec![0.0; layout.len()];
    c.bench_function("means by enumeration, p = 20", |b| {
        b.iter(|| table.means(black_box(&theta), &mut means).expect("finite"));
    });
    let (start, scan) = (BinaryStart::Random, Order::Cyclic);
    let chains = BinaryGibbs::new(&truth, 5000, start, scan, 1).expect("fits");
    let mut counts = vec![0; layout.len()];
    c.bench_function("pair counts, p = 20, q = 5,000", |b| {
        b.iter(|| chains.pair_counts(black_box(&mut counts)));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = spg, gradient
}
criterion_main!(benches);
