//! Gibbs sampling of binary pairwise models: spin updates a second, against a plain loop over one chain after the other.
//!
//! Two models: all pairs of 100 variables, and a grid of 32 x 32. Both sides do the same number of updates on one core; the
//! plain loop adds up the logit in double precision from a dense list of neighbours, one exponential an update, with the same
//! kind of generator.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fenchel_graphical::BinaryPairwise;
use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
use fenchel_optim::random::stream;
use rand::{Rng, RngExt};

/// One block, hence one core.
const CHAINS: usize = 512;

fn dense() -> BinaryPairwise {
    let mut rng = stream(1, 0);
    let bias: Vec<f64> = (0..100).map(|_| rng.random_range(-0.5..0.5)).collect();
    let mut edges = Vec::new();
    for i in 0..100 {
        for j in i + 1..100 {
            edges.push((i, j, rng.random_range(-0.1..0.1)));
        }
    }
    BinaryPairwise::new(&bias, &edges).unwrap()
}

fn grid() -> BinaryPairwise {
    let mut rng = stream(2, 0);
    let bias: Vec<f64> = (0..1024).map(|_| rng.random_range(-0.5..0.5)).collect();
    let mut edges = Vec::new();
    for r in 0..32 {
        for c in 0..32 {
            let i = 32 * r + c;
            if c < 31 {
                edges.push((i, i + 1, rng.random_range(-1.0..1.0)));
            }
            if r < 31 {
                edges.push((i, i + 32, rng.random_range(-1.0..1.0)));
            }
        }
    }
    BinaryPairwise::new(&bias, &edges).unwrap()
}

/// xoshiro256++, one lane.
struct Xoshiro([u64; 4]);

impl Xoshiro {
    fn uniform(&mut self) -> f64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        (result >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }
}

/// The plain loop: chains x variables of 0.0 and 1.0.
struct Plain {
    bias: Vec<f64>,
    neighbours: Vec<Vec<(u32, f64)>>,
    states: Vec<Vec<f64>>,
    random: Xoshiro,
}

impl Plain {
    fn new(model: &BinaryPairwise) -> Self {
        let mut seeds = stream(3, 0);
        let p = model.variables();
        Plain {
            bias: model.bias().to_vec(),
            neighbours: (0..p).map(|i| model.edges_of(i).collect()).collect(),
            states: vec![vec![0.0; p]; CHAINS],
            random: Xoshiro(std::array::from_fn(|_| seeds.next_u64())),
        }
    }

    fn sweep(&mut self) {
        for x in &mut self.states {
            for i in 0..x.len() {
                let mut logit = self.bias[i];
                for &(j, coupling) in &self.neighbours[i] {
                    logit += coupling * x[j as usize];
                }
                let one = self.random.uniform() * (1.0 + (-logit).exp()) < 1.0;
                x[i] = if one { 1.0 } else { 0.0 };
            }
        }
    }
}

fn gibbs(criterion: &mut Criterion) {
    for (name, model) in [("dense-100", dense()), ("grid-32x32", grid())] {
        let mut group = criterion.benchmark_group(format!("gibbs/{name}"));
        group.throughput(Throughput::Elements((CHAINS * model.variables()) as u64));
        let mut plain = Plain::new(&model);
        group.bench_function("plain loop", |b| b.iter(|| plain.sweep()));
        let (start, scan) = (BinaryStart::Random, Order::Cyclic);
        let mut chains = BinaryGibbs::new(&model, CHAINS, start, scan, 4).unwrap();
        group.bench_function("BinaryGibbs", |b| b.iter(|| chains.sweep(1)));
        group.bench_function("statistics", |b| b.iter(|| black_box(chains.statistics())));
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = gibbs
}
criterion_main!(benches);
