//! A logistic regression on a file of the LIBSVM format that no process holds.
//!
//! ```text
//! mpirun -n 4 logistic train.svm
//! ```

use std::path::PathBuf;
use std::process::ExitCode;

use fenchel_erm::Problem;
use fenchel_erm::loss::Logistic;
use fenchel_erm::methods::{LbfgsSettings, lbfgs};
use fenchel_erm::prox::Zero;
use fenchel_linalg::{AsDesign, Design};
use fenchel_mpi::{Mpi, data};
use fenchel_optim::spread::{Communicator, Shards};

fn main() -> ExitCode {
    Mpi::run(fit)
}

fn fit(ranks: &Mpi) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let files: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    if files.is_empty() {
        return Err("name a file of the LIBSVM format, whose labels are -1 and 1".into());
    }
    let rows = data::libsvm(&files, ranks)?;
    let shards = Shards::new(ranks, &rows.sizes)?;
    let design = rows.x.as_design()?.spread(&shards)?;
    let l2 = 1.0 / shards.all_rows() as f64;
    let problem = Problem::new(design, &rows.y, Logistic, Zero, l2)?.with_intercept();
    // A method takes its sums through the design, and does not know that rows are elsewhere.
    let solution = lbfgs(&problem, &LbfgsSettings::default(), None, &mut ())?;
    if ranks.rank() == 0 {
        println!("{} rows of {} processes", shards.all_rows(), ranks.size());
        println!("{}", solution.report);
    }
    Ok(ExitCode::SUCCESS)
}
