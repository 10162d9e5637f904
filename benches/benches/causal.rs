//! Hot loops of `fenchel-causal`: identification, stochastic steps, changing the direction.

use criterion::{Criterion, criterion_group, criterion_main};
use fenchel_causal::categorical::JointCategorical;
use fenchel_causal::prior::{CategoricalPrior, NormalPrior};
use fenchel_causal::{Admg, LatentModel, identify};
use fenchel_experiments::causal::methods::adapt::{Average, CategoricalSgd, Momentum, ProximalSgd};
use fenchel_optim::random::stream;

fn identification(c: &mut Criterion) {
    let mut group = c.benchmark_group("identify");
    for (name, text) in
        [("front door", "X -> M -> Y; X <-> Y"), ("napkin", "W -> R -> X -> Y; W <-> X; W <-> Y")]
    {
        let graph = Admg::parse(text).expect("a graph");
        let query = graph.query("P(Y | do(X))").expect("a query");
        group.bench_function(name, |b| b.iter(|| identify(&graph, query).expect("a formula")));
        let model = LatentModel::random(&graph, &vec![2; graph.len()], &mut stream(1, 0));
        let joint = model.and_then(|m| m.observed()).expect("a joint table");
        let formula = identify(&graph, query).expect("a formula");
        group.bench_function(format!("{name}, its value"), |b| {
            b.iter(|| formula.evaluate(&joint).expect("a table"));
        });
    }
    group.finish();
}

fn steps(c: &mut Criterion) {
    let mut group = c.benchmark_group("step");
    for k in [10, 100, 1000] {
        let mut rng = stream(2, k as u64);
        let pair = CategoricalPrior::dense(k).sample(&mut rng).expect("a pair");
        let samples = pair.sample(64, &mut rng);
        let mut at = 0;
        let mut next = move || {
            at = (at + 1) % 64;
            samples[at]
        };
        let mut sgd =
            CategoricalSgd::new(&pair, 0.1, Average::Uniform, Momentum::Off).expect("a learner");
        group.bench_function(format!("directed, K = {k}"), |b| {
            b.iter(|| sgd.learn(next()).expect("a step"));
        });
        if k < 1000 {
            let joint = JointCategorical::of(&pair);
            let mut sgd = CategoricalSgd::joint(&joint, 0.1, Average::Uniform).expect("a learner");
            group.bench_function(format!("joint, K = {k}"), |b| {
                b.iter(|| sgd.learn(next()).expect("a step"));
            });
        }
        group.bench_function(format!("reverse, K = {k}"), |b| b.iter(|| pair.reverse()));
    }
    for k in [10, 100] {
        let pair = NormalPrior::new(k).sample(&mut stream(3, 0)).expect("a pair");
        let samples = pair.sample(64, &mut stream(3, 1));
        let mut sgd = ProximalSgd::new(&pair, 1e-4, Average::Uniform).expect("a learner");
        let mut at = 0;
        group.bench_function(format!("proximal, K = {k}"), |b| {
            b.iter(|| {
                at = (at + 1) % 64;
                sgd.learn(samples.row(at)).expect("a step");
            });
        });
    }
    group.finish();
}

criterion_group!(benches, identification, steps);
criterion_main!(benches);
