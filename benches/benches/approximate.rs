//! Approximate inference on a 32 x 32 grid of unary and pair factors with 2 and 8 states: passes of belief propagation, Gibbs
//! sweeps of any factors beside those of binary pairs, annealed importance sampling.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fenchel_graphical::ais::{AisSettings, ais, ais_binary};
use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
use fenchel_graphical::bp::Schedule;
use fenchel_graphical::bp::{BeliefPropagationSettings, belief_propagation};
use fenchel_graphical::gibbs::Start;
use fenchel_graphical::gibbs::{Gibbs, GibbsSettings};
use fenchel_graphical::{BinaryPairwise, Evidence, FactorGraph, VarId};
use fenchel_optim::random::stream;
use rand::RngExt;

const SIDE: u32 = 32;
const SITES: u32 = SIDE * SIDE;
const CHAINS: usize = 512;
const PASSES: u32 = 10;

fn edges() -> Vec<(u32, u32)> {
    let right = (0..SITES).filter(|v| v % SIDE + 1 < SIDE).map(|v| (v, v + 1));
    right.chain((0..SITES - SIDE).map(|v| (v, v + SIDE))).collect()
}

/// Random fields and weak random couplings, so that nothing converges at once.
fn grid(states: usize) -> FactorGraph {
    let mut rng = stream(5, 0);
    let mut draw = |n: usize, size: f64| -> Vec<f64> {
        (0..n).map(|_| rng.random_range(-size..size)).collect()
    };
    let mut model = FactorGraph::new(&vec![states; SITES as usize]).expect("small");
    for v in 0..SITES {
        model.add(&[VarId(v)], &draw(states, 0.5)).expect("finite");
    }
    for (v, w) in edges() {
        model.add(&[VarId(v), VarId(w)], &draw(states * states, 0.5)).expect("finite");
    }
    model
}

fn pairs() -> BinaryPairwise {
    let mut rng = stream(6, 0);
    let bias: Vec<f64> = (0..SITES).map(|_| rng.random_range(-0.5..0.5)).collect();
    let edges: Vec<(u32, u32, f64)> =
        edges().into_iter().map(|(v, w)| (v, w, rng.random_range(-1.0..1.0))).collect();
    BinaryPairwise::new(&bias, &edges).expect("finite")
}

fn approximate(c: &mut Criterion) {
    for states in [2, 8] {
        let model = grid(states);
        let mut group = c.benchmark_group(format!("grid 32 x 32, {states} states"));
        // A message each way along every edge.
        group.throughput(Throughput::Elements(2 * edges().len() as u64 * u64::from(PASSES)));
        for schedule in [Schedule::Parallel, Schedule::Sequential, Schedule::Residual] {
            let mut settings = BeliefPropagationSettings { schedule, ..Default::default() };
            settings.stop.max_passes = f64::from(PASSES);
            settings.stop.absolute = 0.0;
            group.bench_function(format!("belief propagation, {schedule:?}, 10 passes"), |b| {
                b.iter(|| belief_propagation(&model, &settings, None, &mut ()));
            });
        }
        group.throughput(Throughput::Elements(u64::from(SITES) * CHAINS as u64));
        let settings = GibbsSettings { chains: CHAINS, scan: Order::Cyclic.into(), seed: 0 };
        let mut chains =
            Gibbs::new(&model, &Evidence::new(), Start::Random, &settings).expect("possible");
        group.bench_function("Gibbs, a sweep", |b| b.iter(|| chains.sweep(1)));
        group.finish();
    }
    let model = pairs();
    let factors = model.factor_graph().expect("small");
    let mut group = c.benchmark_group("grid 32 x 32, binary pairs");
    group.throughput(Throughput::Elements(u64::from(SITES) * CHAINS as u64));
    let scan = Order::Cyclic;
    let mut chains = BinaryGibbs::new(&model, CHAINS, BinaryStart::Random, scan, 0).expect("fits");
    group.bench_function("BinaryGibbs, a sweep", |b| b.iter(|| chains.sweep(1)));
    let settings = AisSettings::default();
    group.sample_size(10);
    group.throughput(Throughput::Elements(u64::from(SITES) * CHAINS as u64 * 500));
    group.bench_function("ais_binary, 500 steps", |b| b.iter(|| ais_binary(&model, &settings)));
    group.bench_function("ais, 500 steps", |b| b.iter(|| ais(&factors, &settings)));
    group.finish();
}

criterion_group!(benches, approximate);
criterion_main!(benches);
