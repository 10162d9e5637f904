//! The manual pages and the completions of a program, made from its options.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Command;
use clap_complete::Shell;

use crate::failure::Failure;

/// The options of `completions`.
#[derive(Debug, clap::Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    /// Writes the script to standard output.
    ///
    /// # Errors
    /// [`Failure::Output`].
    pub fn run(&self, mut program: Command) -> Result<(), Failure> {
        let name = program.get_name().to_owned();
        // Into memory first: the generator panics where it cannot write.
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut program, name, &mut script);
        Ok(io::stdout().lock().write_all(&script)?)
    }
}

/// The options of `man`.
#[derive(Debug, clap::Args)]
pub struct Man {
    /// Write a page for every command into this folder, which must exist; without it, the page of the program is written to
    /// standard output
    folder: Option<PathBuf>,
}

impl Man {
    /// Writes the pages.
    ///
    /// # Errors
    /// [`Failure::Output`], and [`Failure::File`] for a folder that cannot be written to.
    pub fn run(&self, program: Command) -> Result<(), Failure> {
        match &self.folder {
            None => Ok(clap_mangen::Man::new(program).render(&mut io::stdout().lock())?),
            Some(folder) => clap_mangen::generate_to(program, folder)
                .map_err(|error| Failure::file(folder.display().to_string(), error)),
        }
    }
}
