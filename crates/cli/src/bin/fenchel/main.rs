//! The command-line tool `fenchel`: asks networks, fits linear models, decides which causal effects data determine.
#![forbid(unsafe_code)]

mod aligned;
mod data;
mod fit;
mod identify;
mod model;
mod predict;
mod query;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use fenchel_cli::{end, pages};

#[derive(Parser)]
#[command(
    name = "fenchel",
    version,
    about = "Ask networks, fit linear models with a proof of how good they are, decide which causal effects data determine",
    after_help = "Exit codes: 0 done; 1 failed; 2 wrong options; 3 the effect is not identifiable; 130 interrupted.\n\
                  Files may be plain, gzip or bzip2; - is standard input."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Posteriors and most probable states of a network in a BIF or UAI file
    Query(query::Arguments),
    /// Fit a linear model to a LIBSVM or CSV file, with a certificate
    Fit(Box<fit::Arguments>),
    /// Predict with a model of `fit`
    Predict(predict::Arguments),
    /// The formula of a causal effect, or the proof that there is none
    Identify(identify::Arguments),
    /// Write the manual pages
    Man(pages::Man),
    /// Write a script that completes commands and options in a shell
    Completions(pages::Completions),
}

fn main() -> ExitCode {
    let success = |()| ExitCode::SUCCESS;
    end(match Arguments::parse().command {
        Command::Query(arguments) => query::run(&arguments).map(success),
        Command::Fit(arguments) => fit::run(&arguments),
        Command::Predict(arguments) => predict::run(&arguments).map(success),
        Command::Identify(arguments) => identify::run(&arguments),
        Command::Man(arguments) => arguments.run(Arguments::command()).map(success),
        Command::Completions(arguments) => arguments.run(Arguments::command()).map(success),
    })
}
