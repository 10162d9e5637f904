//! The command-line tool `fenchel-crf`: trains, tags with, evaluates and shows linear-chain CRFs.
//!
//! The commands and files are those of CRFsuite's `crfsuite`. Columns with the templates of CRF++ are read too.
#![forbid(unsafe_code)]

mod batches;
mod dump;
mod eval;
mod evaluation;
mod failure;
mod input;
mod interrupts;
mod learn;
mod output;
mod progress;
mod say;
mod tag;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::Failure;

#[derive(Parser)]
#[command(
    name = "fenchel-crf",
    version,
    about = "Linear-chain conditional random fields with certified training"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Train a model on labelled sequences
    Learn(Box<learn::Arguments>),
    /// Label sequences with a model
    Tag(Box<tag::Arguments>),
    /// Compare predicted labels with true ones: accuracy, chunk precision, recall and F1
    Eval(eval::Arguments),
    /// Show the content of a model: counts, its certificate, its largest weights
    Dump(dump::Arguments),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Learn(arguments) => learn::run(&arguments),
        Command::Tag(arguments) => tag::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Eval(arguments) => eval::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Dump(arguments) => dump::run(&arguments).map(|()| ExitCode::SUCCESS),
    };
    match done {
        Ok(code) => code,
        // Whoever read our output has seen enough: `fenchel-crf dump m.json | head`.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            say::say(format_args!("fenchel-crf: {failure}"));
            ExitCode::FAILURE
        }
    }
}

/// Sets the number of threads for all parallel work.
fn use_threads(threads: Option<usize>) -> Result<(), Failure> {
    /// Largest number of threads. Starting more would take minutes.
    const MOST: usize = 4096;
    let Some(threads) = threads else { return Ok(()) };
    if threads > MOST {
        let reason =
            format!("--threads {threads}: expected a number from 0 to {MOST}, 0 for all cores");
        return Err(Failure::Usage(reason));
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    pool.map_err(|error| Failure::Usage(format!("--threads {threads}: {error}")))
}
