//! This program decides whether a causal effect is identifiable. If it is, the program prints the formula and tests it. The default is
//! the napkin graph of Pearl and Mackenzie.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example identification
//! cargo run --release -p fenchel-examples --example identification -- "X -> Y; X <-> Y" "P(Y | do(X))"
//! ```

use fenchel_causal::{Admg, Error, LatentModel, identify};

fn main() -> Result<(), Error> {
    fenchel_examples::end_on_closed_pipe();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (graph, query) = match &arguments[..] {
        [graph, query] => (graph.as_str(), query.as_str()),
        _ => ("W -> R -> X -> Y; W <-> X; W <-> Y", "P(Y | do(X))"),
    };
    let graph = Admg::parse(graph)?;
    let query = graph.query(query)?;
    println!("graph: {graph}");

    match identify(&graph, query) {
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
            println!("on a random model the formula is off by {error:.1e}");
        }
        Err(Error::NotIdentifiable(hedge)) => {
            println!("not identifiable: {hedge}");
            let apart = hedge.witness()?.check(hedge.failed)?;
            println!(
                "two models: their observed laws differ by {:.1e}, their effects by {:.3}",
                apart.observed, apart.effect
            );
        }
        Err(other) => return Err(other),
    }
    Ok(())
}
