//! How can the treatment with the lower rate of success be the better one?
//!
//! This program shows Simpson's paradox. The data are those of a study of kidney stones with 700 patients (Charig and others, BMJ 292,
//! 1986). The same numbers mean the opposite if another story is told of them.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example kidney_stones
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel::plot::{Axis, Figure, Series};
use fenchel_causal::adjustment::{SetSearch, back_door_sets};
use fenchel_causal::{Admg, ProbabilityTable, identify};
use fenchel_examples::Show;

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    show.real("700 patients with kidney stones (Charig and others, 1986)");
    // Patients by stone (small, large), treatment (A, B), outcome (failure, success).
    let counts = [[[6, 81], [36, 234]], [[71, 192], [25, 55]]];
    let total: i32 = counts.iter().flatten().flatten().sum();
    let cells: Vec<f64> =
        counts.iter().flatten().flatten().map(|&n| f64::from(n) / f64::from(total)).collect();
    let joint = ProbabilityTable::joint(&[2, 2, 2], &cells)?;
    let (treatment, success) = (1, 2);

    let (mut acted, mut seen_shares) = (Vec::new(), Vec::new());
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
            acted.push(100.0 * act);
            seen_shares.push(see);
        }
        println!();
    }
    let x = Axis::of_names("", ["treatment A", "treatment B"]);
    let y = Axis::linear("share of successes").limits(0.0, 1.0);
    let figure =
        Figure::new("Treatment B looks better than A; if everybody had the same, A would be", x, y)
            .note(format!(
                "{total} patients with kidney stones, whose doctors chose by the size of the stone."
            ))
            .with(Series::bars("seen", seen_shares[..2].iter().copied()))
            .with(Series::bars(
                "if everybody had it (adjusted for the size of the stones)",
                acted[..2].iter().map(|share| share / 100.0),
            ));
    show.picture("successes", &figure.svg())?;
    let doctors = Admg::parse("stone -> treatment -> success; stone -> success")?;
    let set = |name: &str| doctors.set(&[name]);
    let network = doctors.adjustment_network(set("treatment")?, set("success")?, set("stone")?);
    show.picture("graph", &network.svg())?;
    show.conclude(format_args!(
        "if doctors chose by the stone, A heals {:.0} % and B {:.0} %; had the treatment changed the stone, A would heal {:.0} % and B {:.0} %: the story decides, not the numbers.",
        acted[0], acted[1], acted[2], acted[3]
    ));
    Ok(())
}
