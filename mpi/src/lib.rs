//! Fits on rows that are spread over the processes of an MPI program.
//!
//! | module | what |
//! |---|---|
//! | `Mpi` (feature `mpi`) | the [`Communicator`](fenchel_optim::spread::Communicator) of the processes that `mpirun` has started |
//! | [`text`] | pieces of big files, cut at lines or between sequences |
//! | [`data`] | the own rows of files of the LIBSVM format or of CSV |
//!
//! ```text
//! mpirun -n 4 fenchel-mpi fit logistic train.svm --l2 1e-6 -m model.json
//! mpirun -n 4 fenchel-mpi glm poisson claims.csv --target claims -m model.json
//! mpirun -n 4 fenchel-mpi learn --template-preset chunking train.txt -m chunks.json
//! ```
//!
//! A program of one's own:
//!
//! ```text
//! Mpi::run(|ranks| {
//!     let rows = data::libsvm(&["train.svm".into()], ranks)?;        // the own rows
//!     let shards = Shards::new(ranks, &rows.sizes)?;
//!     let design = rows.x.as_design()?.spread(&shards)?;
//!     let problem = Problem::new(design, &rows.y, Squared, Zero, 1e-6)?.with_intercept();
//!     let solution = lbfgs(&problem, &LbfgsSettings::default(), None, &mut ())?;   // the same bits on every rank
//!     ...
//! })
//! ```
//!
//! The files are cut into shards by their sizes alone, and [`spread`](fenchel_optim::spread) adds up the sums of shards in a fixed
//! tree: the model of any number of processes, and of any number of threads in each, is the same file. The certificate is about all
//! rows.
//!
//! An error of one process ends all of them, with its message and its rank.
#![forbid(unsafe_code)]

#[cfg(feature = "mpi")]
mod communicator;
pub mod data;
mod error;
pub mod text;

#[cfg(feature = "mpi")]
pub use communicator::Mpi;
pub use error::Error;
