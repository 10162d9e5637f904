//! What the programs `fenchel` and `fenchel-crf` have in common: messages, failures, files, interrupts, the display of a fit.
#![forbid(unsafe_code)]

pub mod failure;
pub mod files;
pub mod interrupts;
pub mod output;
pub mod pages;
pub mod progress;
pub mod say;

use std::process::ExitCode;

pub use failure::Failure;

/// Ends a program: shows the failure of a command, or hands on its exit code.
///
/// A closed standard output is no failure: whoever read it has seen enough (`fenchel query net.bif | head`).
pub fn end(done: Result<ExitCode, Failure>) -> ExitCode {
    match done {
        Ok(code) => code,
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(failure) => {
            say::complain(failure);
            ExitCode::FAILURE
        }
    }
}

/// Starts the threads for all parallel work; `None` and 0 are all cores. Work that finds no threads would start them, and panic where
/// the system has no more.
///
/// # Errors
/// [`Failure::Usage`] for more than 4096 threads, or threads that cannot be started.
pub fn use_threads(threads: Option<usize>) -> Result<(), Failure> {
    /// Largest number of threads. Starting more would take minutes.
    const MOST: usize = 4096;
    let threads = threads.unwrap_or(0);
    if threads > MOST {
        let reason =
            format!("--threads {threads}: expected a number from 0 to {MOST}, 0 for all cores");
        return Err(Failure::Usage(reason));
    }
    fenchel_linalg::parallel::start(threads).map_err(Failure::Usage)
}
