//! The communicator, under `mpirun` with three processes. Started by `cargo test`, this program starts itself so.

use std::process::{Command, ExitCode};

use fenchel_erm::Problem;
use fenchel_erm::auto::batch;
use fenchel_erm::loss::Logistic;
use fenchel_erm::prox::{L1, Zero};
use fenchel_linalg::{AsDesign, Design};
use fenchel_mpi::{Error, Mpi, check_alike};
use fenchel_optim::Stop;
use fenchel_optim::spread::{Alone, Communicator, Shards, share};
use ndarray::{Array2, Axis, Slice};

/// Set in the processes that `mpirun` starts.
const STARTED: &str = "FENCHEL_MPI_RANKS";

fn main() -> ExitCode {
    if std::env::var_os(STARTED).is_some() {
        return Mpi::run(checks);
    }
    let mut run = Command::new("mpirun");
    run.args(["--oversubscribe", "--allow-run-as-root", "-n", "3"]);
    run.arg(std::env::current_exe().expect("this program")).env(STARTED, "1");
    match run.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(status) => {
            eprintln!("mpirun: {status}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("cannot run mpirun: {error}; cargo xtask mpi says what is missing");
            ExitCode::FAILURE
        }
    }
}

fn checks(ranks: &Mpi) -> Result<ExitCode, Error> {
    messages(ranks);
    fits(ranks)?;
    let rank = ranks.rank();
    let unlike = check_alike(ranks, "the arguments", if rank == 2 { "b" } else { "a" });
    let message = unlike.unwrap_err().to_string();
    assert_eq!(message, r#"the arguments of rank 2 are not those of rank 0: "b" and "a""#);
    if rank == 0 {
        println!("test ranks ... ok");
    }
    Ok(ExitCode::SUCCESS)
}

fn messages(ranks: &Mpi) {
    let (rank, size) = (ranks.rank(), ranks.size());
    assert_eq!(size, 3);
    // Round the circle, long enough for MPI to wait for the receiver.
    let own: Vec<f64> = (0..100_000).map(|i| (i * size + rank) as f64).collect();
    let mut got = vec![0.0; own.len()];
    if rank == 0 {
        ranks.send(1, &own);
        ranks.receive(2, &mut got);
    } else {
        ranks.receive(rank - 1, &mut got);
        ranks.send((rank + 1) % size, &own);
    }
    assert_eq!(got[7], (7 * size + (rank + 2) % 3) as f64);
    let mut numbers = [rank as f64; 5];
    ranks.broadcast(2, &mut numbers);
    assert_eq!(numbers, [2.0; 5]);
    let bytes = ranks.gather(&vec![rank as u8; 3 * rank]);
    assert_eq!(bytes, [vec![], vec![1; 3], vec![2; 6]]);
    ranks.barrier();
}

/// The bits of a fit on three processes are those on one, with shards of no even size.
fn fits(ranks: &Mpi) -> Result<(), Error> {
    const SHARDS: [usize; 5] = [40, 0, 31, 17, 52];
    let rows: usize = SHARDS.iter().sum();
    let x = Array2::from_shape_fn((rows, 8), |(i, c)| ((i * 37 + c * 11) as f64).sin());
    let y: Vec<f64> = (0..rows).map(|i| if (i * i) % 7 < 3 { 1.0 } else { -1.0 }).collect();
    let fit = |communicator: &dyn Communicator| {
        let own = share(SHARDS.len(), communicator.rank(), communicator.size());
        let shards = Shards::new(communicator, &SHARDS[own])?;
        let rows = shards.before()..shards.before() + shards.rows();
        let part = x.slice_axis(Axis(0), Slice::from(rows.clone()));
        let design = part.as_design()?.spread(&shards)?;
        let stop = Stop::at_relative(1e-8);
        let smooth = Problem::new(design, &y[rows.clone()], Logistic, Zero, 1e-3)?.with_intercept();
        let smooth = batch(&smooth, &stop, None, &mut ())?;
        let sparse = Problem::new(design, &y[rows], Logistic, L1 { strength: 0.01 }, 0.0)?;
        let sparse = batch(&sparse, &stop, None, &mut ())?;
        let seconds = |report: fenchel_optim::Report| report.without_seconds();
        Ok::<_, Error>([smooth, sparse].map(|of| (of.state, seconds(of.report))))
    };
    assert_eq!(fit(ranks)?, fit(&Alone)?);
    Ok(())
}
