//! Runs experiments without the report; `--frozen` then asks which claims a method that does nothing would survive:
//!
//! `cargo run --release -p fenchel-experiments --example run -- fs-ex6 [--data DIR] [--full] [--frozen]`

use std::process::ExitCode;

use fenchel_experiments::{Context, Failure, Size, frozen, registry};

fn main() -> Result<ExitCode, String> {
    run(std::env::args().skip(1)).map_err(|failure| failure.to_string())
}

fn run(arguments: impl Iterator<Item = String>) -> Result<ExitCode, Failure> {
    let (mut queries, mut data, mut freeze, mut size) = (vec![], None, false, Size::Quick);
    let mut arguments = arguments;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--data" => data = arguments.next().map(Into::into),
            "--full" => size = Size::Full,
            "--frozen" => freeze = true,
            _ => queries.push(argument),
        }
    }
    let context = Context { data, size, ..Context::new(1) };
    let mut surprises = 0;
    for experiment in registry::select(&registry::all(), &queries)? {
        let outcome = experiment.outcome(&context)?;
        for claim in &outcome.claims {
            surprises += usize::from(claim.differs());
            println!(
                "{}: {}: {} [{}; expected {}; {}]",
                experiment.id,
                claim.outcome(),
                claim.statement,
                claim.measured,
                claim.threshold.text,
                claim.size()
            );
        }
        for note in &outcome.notes {
            println!("{}: note: {note}", experiment.id);
        }
        if !freeze {
            continue;
        }
        for survivor in frozen::survivors(experiment, &context, &outcome)? {
            surprises += 1;
            let frozen = if survivor.method.is_empty() {
                "rests on no method".to_owned()
            } else {
                format!("passes with {} frozen", survivor.method)
            };
            println!("{}: {frozen}: {} ({})", experiment.id, survivor.statement, survivor.measured);
        }
    }
    Ok(if surprises == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
