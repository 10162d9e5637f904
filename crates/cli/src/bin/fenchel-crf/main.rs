//! The command-line tool `fenchel-crf`: trains, tags with, evaluates and shows linear-chain CRFs.
//!
//! The commands and files are those of CRFsuite's `crfsuite`. Columns with the templates of CRF++ are read too.
#![forbid(unsafe_code)]

mod batches;
mod dump;
mod eval;
mod evaluation;
mod input;
mod learn;
mod mistakes;
mod tag;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use fenchel_cli::{end, pages};

#[derive(Parser)]
#[command(
    name = "fenchel-crf",
    version,
    about = "Linear-chain conditional random fields with certified training",
    after_help = "Examples:\n  \
                  fenchel-crf learn -m chunks.json --template-preset chunking --dev test.txt train.txt\n  \
                  fenchel-crf eval -m chunks.json test.txt --confusion\n  \
                  fenchel-crf tag -m chunks.json new.txt\n\n\
                  Exit codes: 0 done; 1 failed; 2 wrong options; 130 interrupted.\n\
                  Files may be plain, gzip or bzip2; - is standard input."
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
    /// Write the manual pages
    Man(pages::Man),
    /// Write a script that completes commands and options in a shell
    Completions(pages::Completions),
}

fn main() -> ExitCode {
    let success = |()| ExitCode::SUCCESS;
    end(match Arguments::parse().command {
        Command::Learn(arguments) => learn::run(&arguments),
        Command::Tag(arguments) => tag::run(&arguments).map(success),
        Command::Eval(arguments) => eval::run(&arguments).map(success),
        Command::Dump(arguments) => dump::run(&arguments).map(success),
        Command::Man(arguments) => arguments.run(Arguments::command()).map(success),
        Command::Completions(arguments) => arguments.run(Arguments::command()).map(success),
    })
}
