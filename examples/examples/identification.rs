//! Can the effect of X on Y be computed from data alone?
//!
//! This program decides whether a causal effect is identifiable. If it is, the program prints the formula and tests it on a random
//! model, whose effect is known. If it is not, two models prove it. The default is the napkin graph of Pearl and Mackenzie.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example identification
//! cargo run --release -p fenchel-examples --example identification -- "X -> Y; X <-> Y" ["P(Y | do(X))"]
//! ```

use std::error::Error as AnyError;
use std::process::ExitCode;

use fenchel::plot::Network;
use fenchel_causal::adjustment::{SetSearch, back_door_sets};
use fenchel_causal::{Admg, Error, LatentModel, identify};
use fenchel_examples::Show;
use fenchel_linalg::text::number;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn AnyError>> {
    let (graph, query) = match show.arguments()[..] {
        [] => ("W -> R -> X -> Y; W <-> X; W <-> Y", "P(Y | do(X))"),
        [graph] => (graph, "P(Y | do(X))"),
        [graph, query] => (graph, query),
        _ => return Err("expected a graph and a query, both in quotes".into()),
    };
    show.generated("a model of the graph with random numbers, to test the formula");
    let graph = Admg::parse(graph)?;
    let query = graph.query(query)?;
    println!("graph: {graph}");
    let (treatment, outcome) = (query.treatment, query.outcome);
    let sets = back_door_sets(&graph, treatment, outcome, &SetSearch::default())?;
    let drawn = match sets.first() {
        Some(&set) => graph.adjustment_network(treatment, outcome, set),
        None => graph.network(),
    };
    let found = identify(&graph, query);
    let title = match &found {
        Ok(_) if sets.is_empty() => {
            "the effect can be computed from data, though no set of variables is enough to adjust for"
        }
        Ok(_) => "the effect can be computed from data, by adjustment",
        Err(_) => "no data of these variables determine the effect",
    };
    let asked = format!("{}, {}", graph.show(treatment), graph.show(outcome));
    let title = format!("{}: {}", asked.replace(", ", " on "), title);
    show.picture("graph", &Network { title, ..drawn }.svg())?;

    match found {
        Ok(estimand) => {
            println!("{estimand}\n{}", estimand.latex());
            if !estimand.arbitrary.is_empty() {
                println!("for any value of {}", graph.show(estimand.arbitrary));
            }
            // A model with random numbers knows the truth.
            let mut rng = fenchel_optim::random::stream(1, 0);
            let model = LatentModel::random(&graph, &vec![2; graph.len()], &mut rng)?;
            let found = estimand.evaluate(&model.observed()?)?;
            let error = found.distance(&model.effect(query)?);
            println!("on a random model the formula is off by {}", number(error, 2));
            show.conclude("the effect can be computed from data alone, by this formula.");
        }
        Err(Error::NotIdentifiable(hedge)) => {
            println!("not identifiable: {hedge}");
            let apart = hedge.witness()?.check(hedge.failed)?;
            println!(
                "two models: their observed laws differ by {}, their effects by {}",
                number(apart.observed, 2),
                number(apart.effect, 3)
            );
            show.conclude("no data of these variables determine the effect: two models agree on all data, and not on the effect.");
        }
        Err(other) => return Err(other.into()),
    }
    Ok(())
}
