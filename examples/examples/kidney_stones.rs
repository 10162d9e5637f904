//! This program shows Simpson's paradox: the treatment with the lower rate of success is the better one. The data are those of a study
//! of kidney stones with 700 patients (Charig and others, BMJ 292, 1986).
//!
//! ```text
//! cargo run --release -p fenchel-examples --example kidney_stones
//! ```

use fenchel_causal::adjustment::{SetSearch, back_door_sets};
use fenchel_causal::{Admg, Error, ProbabilityTable, identify};

fn main() -> Result<(), Error> {
    fenchel_examples::end_on_closed_pipe();
    // Patients by stone (small, large), treatment (A, B), outcome (failure, success).
    let counts = [[[6, 81], [36, 234]], [[71, 192], [25, 55]]];
    let total: i32 = counts.iter().flatten().flatten().sum();
    let cells: Vec<f64> =
        counts.iter().flatten().flatten().map(|&n| f64::from(n) / f64::from(total)).collect();
    let joint = ProbabilityTable::joint(&[2, 2, 2], &cells)?;
    let (treatment, success) = (1, 2);

    for (story, text) in [
        (
            "Doctors chose the treatment by the size of the stone",
            "stone -> treatment -> success; stone -> success",
        ),
        (
            "The same numbers, had the treatment changed the stone",
            "stone; treatment -> stone -> success; treatment -> success",
        ),
    ] {
        let graph = Admg::parse(text)?;
        let query = graph.query("P(success | do(treatment))")?;
        let effect = identify(&graph, query)?;
        let values = effect.evaluate(&joint)?;
        println!("{story}:\n  {effect}");
        let sets = back_door_sets(&graph, query.treatment, query.outcome, &SetSearch::default())?;
        let sets: Vec<String> = sets.iter().map(|&z| format!("{{{}}}", graph.show(z))).collect();
        println!("  minimal sets to adjust for: {}", sets.join(" or "));
        let seen = graph.query("P(success | treatment)")?;
        let seen = identify(&graph, seen)?.evaluate(&joint)?;
        for (name, state) in [("A", 0), ("B", 1)] {
            let at = [(treatment, state), (success, 1)];
            let (see, act) = (seen.at(&at)?, values.at(&at)?);
            println!("  treatment {name}: seen {see:.4}, if everybody had it {act:.4}");
        }
        println!();
    }
    Ok(())
}
