//! A census of identification: random graphs with three to eight nodes, random sets of treatments, outcomes and conditions. Every
//! formula is compared with the truth of a random model, for every refusal two models are built and compared.
//!
//! ```text
//! cargo run --release -p fenchel-causal --example census -- 100000
//! ```

use fenchel_causal::{Admg, Error, LatentModel, NodeSet, Query, identify};
use fenchel_optim::random::{Generator, stream};
use rand::RngExt;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let graphs: u64 = std::env::args().nth(1).map_or(Ok(2000), |n| n.parse())?;
    let (mut yes, mut no, mut largest) = (0, 0, 0);
    let (mut error, mut law, mut effect) = (0.0_f64, 0.0_f64, f64::INFINITY);
    for k in 0..graphs {
        let mut rng = stream(2026, k);
        let (graph, query) = draw(&mut rng)?;
        match identify(&graph, query) {
            Ok(estimand) => {
                yes += 1;
                largest = largest.max(estimand.expr.size());
                let model = LatentModel::random(&graph, &vec![2; graph.len()], &mut rng)?;
                let found = estimand.evaluate(&model.observed()?)?;
                error = error.max(found.distance(&model.effect(query)?));
            }
            Err(Error::NotIdentifiable(hedge)) => {
                no += 1;
                let apart = hedge.witness()?.check(hedge.failed)?;
                law = law.max(apart.observed);
                effect = effect.min(apart.effect);
            }
            Err(other) => return Err(other.into()),
        }
    }
    println!("{yes} formulas, the longest of {largest} nodes; largest error {error:.1e}");
    println!(
        "{no} refusals; the two observed laws differ by at most {law:.1e}, the effects by at least {effect:.3}"
    );
    Ok(())
}

fn draw(rng: &mut Generator) -> Result<(Admg, Query), Error> {
    let n = rng.random_range(3..9_u32);
    let names: Vec<String> = (0..n).map(|v| format!("V{v}")).collect();
    let (p, q) = (rng.random_range(0.2..0.7), rng.random_range(0.05..0.6));
    let pairs: Vec<(u32, u32)> = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect();
    let directed: Vec<_> = pairs.iter().copied().filter(|_| rng.random::<f64>() < p).collect();
    let bidirected: Vec<_> = pairs.iter().copied().filter(|_| rng.random::<f64>() < q).collect();
    let graph = Admg::new(&names, &directed, &bidirected)?;
    loop {
        let mut query = Query::default();
        for v in 0..n {
            match rng.random_range(0..8) {
                0 => query.outcome |= NodeSet::one(v),
                1 => query.treatment |= NodeSet::one(v),
                2 => query.given |= NodeSet::one(v),
                _ => {}
            }
        }
        if !query.outcome.is_empty() && !query.treatment.is_empty() {
            return Ok((graph, query));
        }
    }
}
