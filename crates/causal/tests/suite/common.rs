//! Random graphs, and the comparison of a formula with the truth.

use fenchel_causal::{Admg, Error, LatentModel, NodeSet, Query, identify};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub(crate) fn names(n: usize) -> Vec<String> {
    (0..n).map(|v| format!("V{v}")).collect()
}

/// Pairs `(a, b)`, `a < b`.
pub(crate) fn pairs(n: usize) -> Vec<(u32, u32)> {
    (0..n as u32).flat_map(|a| (a + 1..n as u32).map(move |b| (a, b))).collect()
}

/// The graph whose edges along the order `0..n` are the bits of two numbers. Every ADMG is one of these, up to names.
pub(crate) fn graph_of_bits(n: usize, directed: u32, bidirected: u32) -> Admg {
    let chosen = |bits: u32| -> Vec<(u32, u32)> {
        let all = pairs(n).into_iter().enumerate();
        all.filter(|(k, _)| bits >> k & 1 == 1).map(|(_, e)| e).collect()
    };
    Admg::new(&names(n), &chosen(directed), &chosen(bidirected)).unwrap()
}

pub(crate) fn random_graph(n: usize, p: f64, q: f64, rng: &mut ChaCha8Rng) -> Admg {
    let keep = |p: f64, rng: &mut ChaCha8Rng| -> Vec<(u32, u32)> {
        pairs(n).into_iter().filter(|_| rng.random::<f64>() < p).collect()
    };
    let (directed, bidirected) = (keep(p, rng), keep(q, rng));
    Admg::new(&names(n), &directed, &bidirected).unwrap()
}

/// Disjoint random sets: outcome and treatment never empty.
pub(crate) fn random_query(n: usize, rng: &mut ChaCha8Rng) -> Query {
    loop {
        let mut query = Query::default();
        for v in 0..n as u32 {
            let one = NodeSet::one(v);
            match rng.random_range(0..6) {
                0 => query.outcome |= one,
                1 => query.treatment |= one,
                2 => query.given |= one,
                _ => {}
            }
        }
        if !query.outcome.is_empty() && !query.treatment.is_empty() {
            return query;
        }
    }
}

/// Whether the effect is identifiable, with the proof checked on numbers either way.
pub(crate) fn judge(model: &LatentModel, query: Query) -> bool {
    let graph = model.graph();
    match identify(graph, query) {
        Ok(estimand) => {
            let observed = model.observed().unwrap();
            let truth = model.effect(query).unwrap();
            let found = estimand.evaluate_everywhere(&observed).unwrap();
            // Every value of the arbitrary variables must give the truth.
            let spread = |t: &fenchel_causal::ProbabilityTable| {
                let states = odometer(found.cards());
                states
                    .into_iter()
                    .map(|s| {
                        let at: Vec<(u32, usize)> = found.scope().iter().copied().zip(s).collect();
                        (found.at(&at).unwrap() - t.at(&at).unwrap()).abs()
                    })
                    .fold(0.0, f64::max)
            };
            let error = spread(&truth);
            assert!(error < 1e-12, "{graph}: {estimand} is off by {error:e}");
            true
        }
        Err(Error::NotIdentifiable(hedge)) => {
            let witness = hedge.witness().unwrap();
            let apart = witness.check(hedge.failed).unwrap();
            assert!(
                apart.observed < 1e-12,
                "{graph}: {hedge}: the laws differ by {:e}",
                apart.observed
            );
            assert!(
                apart.effect > 1e-3,
                "{graph}: {hedge}: the effects differ by {:e}",
                apart.effect
            );
            let asked = witness.check(query).unwrap();
            assert!(asked.effect > 1e-3, "{graph}: {query:?} differs by {:e}", asked.effect);
            let law = witness.first.observed().unwrap();
            assert!(law.values().iter().all(|p| *p > 0.0), "{graph}: {hedge}: a zero in the law");
            false
        }
        Err(other) => panic!("{graph}: {other}"),
    }
}

/// All configurations, the last fastest.
pub(crate) fn odometer(cards: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &card in cards {
        all = all
            .into_iter()
            .flat_map(|s: Vec<usize>| {
                (0..card).map(move |k| s.iter().copied().chain([k]).collect())
            })
            .collect();
    }
    all
}
