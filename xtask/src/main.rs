//! Everything a contributor runs, as `cargo xtask <command>`: ordinary Rust, one file a command.
#![forbid(unsafe_code)]

mod ci;
mod data;
mod meter;
mod peers;
mod reproduce;
mod workspace;

use std::process::ExitCode;

use clap::Parser;
use fenchel_experiments::Failure;

/// Everything a contributor runs.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
enum Command {
    /// Format, lints, tests, documentation, examples and a short reproduction: what a change must pass
    Ci(ci::Arguments),
    /// Run the experiments and write the report
    Reproduce(reproduce::Arguments),
    /// Which real data sets are there, and where the others are published
    Data(data::Arguments),
    /// Do the same work with the tools a user would pick instead, and compare
    Peers(peers::Arguments),
}

fn main() -> ExitCode {
    let result: Result<ExitCode, Failure> = match Command::parse() {
        Command::Ci(arguments) => ci::run(&arguments),
        Command::Reproduce(arguments) => reproduce::run(&arguments),
        Command::Data(arguments) => data::run(&arguments),
        Command::Peers(arguments) => peers::run(&arguments),
    };
    result.unwrap_or_else(|failure| {
        eprintln!("error: {failure}");
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Command::command().debug_assert();
    }
}
