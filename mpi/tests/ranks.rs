//! The communicator, under `mpirun` with three processes. Started by `cargo test`, this program starts itself so.

use std::process::{Command, ExitCode};

use fenchel_mpi::{Error, Mpi};
use fenchel_optim::spread::Communicator;

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
    let rank = ranks.rank();
    let unlike = ranks.check_alike("arguments", if rank == 2 { "b" } else { "a" });
    let message = unlike.unwrap_err().to_string();
    assert_eq!(message, r#"arguments: rank 2 has "b", rank 0 has "a""#);
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
