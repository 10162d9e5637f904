//! Inference on one chain: marginals of positions and pairs, `log Z`, the best labelling.
//!
//! Bars, one core: T = 9, K = 26 within 15 microseconds and T = 25, K = 9 within 5, pairs included.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use fenchel_graphical::chain::{Chain, ChainMarginals};

fn chain(length: usize, states: usize) -> Chain {
    let mut chain = Chain::shared(states, length).expect("a chain with positions and states");
    let score = |i: usize| (i * 7919 % 1000) as f64 / 250.0 - 2.0;
    for t in 0..length {
        chain.unary_mut(t).iter_mut().zip(t * states..).for_each(|(s, i)| *s = score(i));
    }
    for j in 0..states {
        chain.pairwise_mut(0, j).iter_mut().zip(31 * j..).for_each(|(s, i)| *s = score(i));
    }
    chain
}

fn inference(c: &mut Criterion) {
    for (length, states) in [(9, 26), (25, 9), (24, 22), (100, 26)] {
        let mut group = c.benchmark_group(format!("chain T={length} K={states}"));
        let mut chain = chain(length, states);
        let mut double = ChainMarginals::<f64>::new();
        let mut single = ChainMarginals::<f32>::new();
        group.bench_function("marginals, pairs in f64", |b| {
            b.iter(|| black_box(&mut chain).marginals(&mut double));
        });
        group.bench_function("marginals, pairs in f32", |b| {
            b.iter(|| black_box(&mut chain).marginals(&mut single));
        });
        group.bench_function("log Z", |b| b.iter(|| black_box(&mut chain).log_partition()));
        let mut path = Vec::new();
        group.bench_function("best labelling", |b| {
            b.iter(|| black_box(&mut chain).viterbi_into(&mut path));
        });
        group.finish();
    }
}

criterion_group!(benches, inference);
criterion_main!(benches);
