//! Junction trees: compilation, calibration, calibration again with other evidence.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fenchel_graphical::junction_tree::Domain;
use fenchel_graphical::{Evidence, JunctionTree, OrderingOptions, VarId};
use fenchel_mrf_learn::synthetic::ising_grid;

fn junction_tree(c: &mut Criterion) {
    for side in [4, 10] {
        // Cliques of an Ising grid hold about `side^2 2^side` cells.
        let grid = ising_grid(side as usize, 0.3).and_then(|model| Ok(model.factor_graph()?));
        let model = grid.expect("the model is valid");
        let options = OrderingOptions::default();
        let tree = JunctionTree::compile(&model, &options).expect("small");
        let mut workspace = tree.workspace();
        let mut group = c.benchmark_group(format!("grid {side} x {side}"));
        group.throughput(Throughput::Elements(tree.cells() as u64));
        group.bench_function("compile", |b| {
            b.iter(|| JunctionTree::compile(black_box(&model), &options))
        });
        for (name, domain) in
            [("calibrate scaled", Domain::Scaled), ("calibrate in logs", Domain::Log)]
        {
            let mut k = 0;
            group.bench_function(name, |b| {
                b.iter(|| {
                    k = (k + 1) % (side * side);
                    let evidence = Evidence::new().observe(VarId(k), 1);
                    let answers = tree.calibrate_in(&model, &evidence, &mut workspace, domain);
                    answers.expect("possible").log_partition()
                });
            });
        }
        group.bench_function("calibrate max", |b| {
            b.iter(|| {
                let answers = tree.calibrate_max(&model, &Evidence::new(), &mut workspace);
                answers.expect("possible").best_score()
            });
        });
        group.finish();
    }
}

criterion_group!(benches, junction_tree);
criterion_main!(benches);
