//! A census of identification. The first part takes every graph with two to four nodes and every pair of one treatment
//! and one outcome. The second part takes random graphs with three to eight nodes and random sets of treatments,
//! outcomes and conditions. The program compares every formula with the true effect in a random model, for every value
//! of the variables that the formula leaves open. For every refusal it builds the two models of the proof and compares
//! their effects.
//!
//! ```text
//! cargo run --release -p fenchel-causal --example census -- 100000
//! ```

use std::time::Instant;

use fenchel_causal::{Admg, Error, LatentModel, NodeSet, Query, identify};
use fenchel_linalg::text::{number, seconds};
use fenchel_optim::random::{Generator, stream};
use rand::RngExt;

fn main() -> Result<(), Error> {
    let graphs: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(2000);
    for n in 2..=4 {
        let (mut tally, start) = (Tally::default(), Instant::now());
        every_graph(n, &mut tally)?;
        tally.show(&format!("every graph with {n} nodes"), start);
    }
    let (mut tally, start) = (Tally::default(), Instant::now());
    for k in 0..graphs {
        let mut rng = stream(2026, k);
        let (graph, query) = draw(&mut rng)?;
        let model = LatentModel::random(&graph, &vec![2; graph.len()], &mut rng)?;
        tally.judge(&model, query)?;
    }
    tally.show(&format!("{graphs} random graphs"), start);
    Ok(())
}

#[derive(Default)]
struct Tally {
    formulas: usize,
    longest: usize,
    error: f64,
    refusals: usize,
    law: f64,
    effect: Option<f64>,
    conditional: (usize, usize),
}

impl Tally {
    fn judge(&mut self, model: &LatentModel, query: Query) -> Result<(), Error> {
        match identify(model.graph(), query) {
            Ok(estimand) => {
                self.formulas += 1;
                self.longest = self.longest.max(estimand.expr.size());
                let (observed, truth) = (model.observed()?, model.effect(query)?);
                let open: Vec<u32> = estimand.arbitrary.iter().collect();
                for bits in 0..1_usize << open.len() {
                    let at: Vec<(u32, usize)> =
                        open.iter().enumerate().map(|(k, &v)| (v, bits >> k & 1)).collect();
                    let found = estimand.evaluate_at(&observed, &at)?;
                    self.error = self.error.max(found.distance(&truth));
                }
            }
            Err(Error::NotIdentifiable(hedge)) => {
                self.refusals += 1;
                let witness = hedge.witness()?;
                let apart = witness.check(hedge.failed)?;
                self.law = self.law.max(apart.observed);
                self.effect = Some(self.effect.unwrap_or(f64::INFINITY).min(apart.effect));
                if !query.given.is_empty() {
                    self.conditional.0 += 1;
                    let apart = witness.check(query)?;
                    self.conditional.1 += usize::from(apart.effect > 1e-3);
                }
            }
            Err(other) => return Err(other),
        }
        Ok(())
    }

    fn show(&self, name: &str, start: Instant) {
        let Tally { formulas, longest, error, refusals, law, conditional, .. } = self;
        println!("{name}, {}", seconds(start.elapsed().as_secs_f64()));
        println!(
            "  {formulas} formulas, the longest of {longest} terms; largest error {}",
            number(*error, 2)
        );
        let effect = self.effect.unwrap_or(f64::NAN);
        println!(
            "  {refusals} refusals; observed laws differ by at most {}, effects by at least {effect:.3}",
            number(*law, 2)
        );
        if conditional.0 > 0 {
            println!(
                "  {} refusals with conditions; {} pairs of models differ on the conditional itself",
                conditional.0, conditional.1
            );
        }
    }
}

/// All graphs with n nodes up to names, all ordered pairs of nodes.
fn every_graph(n: u32, tally: &mut Tally) -> Result<(), Error> {
    let names: Vec<String> = (0..n).map(|v| format!("V{v}")).collect();
    let pairs: Vec<(u32, u32)> = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b))).collect();
    let chosen = |bits: u32| -> Vec<(u32, u32)> {
        let bit = |(k, e): (usize, &(u32, u32))| (bits >> k & 1 == 1).then_some(*e);
        pairs.iter().enumerate().filter_map(bit).collect()
    };
    let mut rng = stream(2025, u64::from(n));
    for directed in 0..1 << pairs.len() {
        for bidirected in 0..1 << pairs.len() {
            let graph = Admg::new(&names, &chosen(directed), &chosen(bidirected))?;
            let model = LatentModel::random(&graph, &vec![2; n as usize], &mut rng)?;
            for x in 0..n {
                for y in (0..n).filter(|&y| y != x) {
                    tally.judge(&model, Query::new(NodeSet::one(y), NodeSet::one(x)))?;
                }
            }
        }
    }
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
