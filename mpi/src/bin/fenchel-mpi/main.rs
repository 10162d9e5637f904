//! The tool `fenchel-mpi`: fits models on files of which each process of `mpirun` reads its part.
#![forbid(unsafe_code)]

mod fit;
mod learn;
mod show;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fenchel_linalg::Invalid;
use fenchel_mpi::{Error, Mpi};
use fenchel_optim::model::ModelError;
use fenchel_optim::spread::Communicator;
use fenchel_optim::{Stop, file};

/// The largest number of threads of a process. Starting more would take minutes.
const MOST_THREADS: usize = 4096;

#[derive(Parser)]
#[command(
    name = "fenchel-mpi",
    version,
    about = "Certified fits on rows that are spread over processes",
    after_help = "Examples:\n  \
                  mpirun -n 4 fenchel-mpi fit logistic train.svm --l2 1e-6 -m model.json\n  \
                  mpirun -n 4 fenchel-mpi glm poisson claims.csv --target claims -m model.json\n  \
                  mpirun -n 4 fenchel-mpi learn --template-preset chunking train.txt -m chunks.json\n\n\
                  The model is the same file for any number of processes. Files are plain, and every process sees them."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Fit a linear model
    Fit(fit::Linear),
    /// Fit a generalised linear model, with standard errors
    Glm(fit::Generalised),
    /// Train a conditional random field
    Learn(Box<learn::Arguments>),
}

/// What all commands take.
#[derive(clap::Args)]
struct Common {
    /// Texts; each process reads its part of each
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where to save the model
    #[arg(short, long, value_name = "MODEL")]
    model: PathBuf,
    /// End when the certificate is at most this fraction of the objective [default: 1e-4]; for glm: when the gradient is at most this
    /// fraction of its terms [default: 1e-10]
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// End after this many passes over the data [default: 1000; for glm: 1e6]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_passes: Option<f64>,
    /// Number of threads of each process; 0 for all cores that it may use
    #[arg(long, value_name = "N", default_value_t = 1)]
    threads: usize,
    /// Show nothing
    #[arg(short, long)]
    quiet: bool,
}

impl Common {
    fn stop(&self) -> Stop {
        let base = Stop::default();
        let relative = self.tolerance.unwrap_or(base.relative);
        Stop { relative, max_passes: self.max_passes.unwrap_or(base.max_passes), ..base }
    }

    /// What is known before anything is read. `read` are the files beside the texts.
    fn begin(&self, ranks: &Mpi, read: &[&Path]) -> Result<(), Error> {
        Invalid::check_nonnegative("--tolerance", self.tolerance.unwrap_or(0.0))?;
        let passes = self.max_passes.unwrap_or(0.0);
        if !(passes >= 0.0) {
            let (name, expected) = ("--max-passes", "a number >= 0");
            return Err(Invalid::Parameter { name, value: passes, expected }.into());
        }
        if self.threads > MOST_THREADS {
            let reason = format!(
                "--threads {}: expected a number from 0 to {MOST_THREADS}, 0 for all cores",
                self.threads
            );
            return Err(Error::Usage(reason));
        }
        if ranks.rank() == 0 {
            let texts = self.files.iter().map(PathBuf::as_path);
            if texts.chain(read.iter().copied()).any(|text| file::same_file(text, &self.model)) {
                let model = self.model.display();
                let reason = format!("--model {model}: it is read too; name another file");
                return Err(Error::Usage(reason));
            }
            file::check_writable(&self.model).map_err(ModelError::Io)?;
        }
        let cores = std::thread::available_parallelism().map_or(self.threads, NonZero::get);
        if ranks.rank() == 0 && cores < self.threads && !self.quiet {
            show::say(format_args!(
                "--threads {}: this process is bound to {cores} of the cores; `mpirun --bind-to none` gives it all",
                self.threads
            ));
        }
        fenchel_linalg::parallel::start(self.threads).map_err(Error::Usage)
    }
}

fn main() -> ExitCode {
    let parsed = Arguments::try_parse();
    // What was asked for needs no other process.
    if let Err(shown) = &parsed
        && !shown.use_stderr()
    {
        shown.exit();
    }
    Mpi::run(|ranks| {
        let words: Vec<String> =
            std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
        ranks.check_alike("version", env!("CARGO_PKG_VERSION"))?;
        ranks.check_alike("arguments", &words.join(" "))?;
        let arguments = match &parsed {
            Ok(arguments) => arguments,
            Err(refused) => {
                // All were given the same, and one says so.
                if ranks.rank() == 0 {
                    eprint!("{}", refused.render());
                }
                ranks.barrier();
                return Ok(ExitCode::from(2));
            }
        };
        match &arguments.command {
            Command::Fit(arguments) => arguments.run(ranks),
            Command::Glm(arguments) => arguments.run(ranks),
            Command::Learn(arguments) => arguments.run(ranks),
        }
    })
}
