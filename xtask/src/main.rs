//! The program `cargo xtask <command>` has the commands that contributors need. Each command has its own file.
#![forbid(unsafe_code)]

#[cfg(test)]
mod api;
mod ci;
#[cfg(feature = "experiments")]
mod data;
#[cfg(test)]
mod dependencies;
#[cfg(test)]
mod doc_tables;
mod docs;
mod environment;
#[cfg(all(feature = "experiments", target_os = "linux"))]
mod faults;
mod fuzz;
mod gallery;
#[cfg(feature = "experiments")]
mod meter;
mod mpi;
mod package;
#[cfg(feature = "experiments")]
mod peers;
// The examples export it, a program cannot.
#[allow(unreachable_pub)]
#[path = "../../examples/src/pipe.rs"]
mod pipe;
mod python;
#[cfg(feature = "experiments")]
mod remaining;
#[cfg(feature = "experiments")]
mod reproduce;
#[cfg(test)]
mod structure;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

/// Everything a contributor runs.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
enum Command {
    /// Format, lints, documentation, tests and a short reproduction: what a change must pass
    Ci(ci::Arguments),
    /// The pages of all crates, with formulas rendered and links checked
    Docs,
    /// Interrupt, kill and starve the long-running programs, and check what they leave behind
    #[cfg(all(feature = "experiments", target_os = "linux"))]
    Faults(faults::Arguments),
    /// Feed a reader or an estimator with inputs that a fuzzer makes
    Fuzz(fuzz::Arguments),
    /// Run all examples, and make a page of what they show
    Gallery(gallery::Arguments),
    /// Check the crate for MPI, under mpirun
    Mpi,
    /// Make the archives that a registry would receive, and build them
    Package(package::Arguments),
    /// Build the wheel of the Python package, install it in an environment with its peers, and check it
    Python(python::Arguments),
    /// Run the experiments and write the report
    #[cfg(feature = "experiments")]
    Reproduce(reproduce::Arguments),
    /// Which real data sets are there, and where the others are published
    #[cfg(feature = "experiments")]
    Data(data::Arguments),
    /// Do the same work with the tools a user would pick instead, and compare
    #[cfg(feature = "experiments")]
    Peers(peers::Arguments),
}

fn main() -> ExitCode {
    pipe::end_on_lost_output();
    let result: Result<ExitCode, String> = match Command::parse() {
        Command::Ci(arguments) => ci::run(&arguments).map_err(|error| error.to_string()),
        Command::Docs => docs::run().map_err(|error| error.to_string()),
        #[cfg(all(feature = "experiments", target_os = "linux"))]
        Command::Faults(arguments) => faults::run(&arguments).map_err(|error| error.to_string()),
        Command::Fuzz(arguments) => fuzz::run(&arguments).map_err(|error| error.to_string()),
        Command::Gallery(arguments) => gallery::run(&arguments).map_err(|error| error.to_string()),
        Command::Mpi => mpi::run().map_err(|error| error.to_string()),
        Command::Package(arguments) => package::run(&arguments).map_err(|e| e.to_string()),
        Command::Python(arguments) => python::run(&arguments).map_err(|e| e.to_string()),
        #[cfg(feature = "experiments")]
        Command::Reproduce(arguments) => reproduce::run(&arguments).map_err(|f| f.to_string()),
        #[cfg(feature = "experiments")]
        Command::Data(arguments) => data::run(&arguments).map_err(|f| f.to_string()),
        #[cfg(feature = "experiments")]
        Command::Peers(arguments) => peers::run(&arguments).map_err(|f| f.to_string()),
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
