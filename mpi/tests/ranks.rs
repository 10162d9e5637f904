//! The communicator, under `mpirun` with three processes. Started by `cargo test`, this program starts itself so.

mod mpirun;

use std::process::{ExitCode, Output};

use fenchel_ggm::Statistics;
use fenchel_mpi::{Error, Mpi};
use fenchel_optim::spread::{Alone, Communicator, Shards, share};
use ndarray::{Array2, Axis, Slice};

/// Set in the processes that `mpirun` starts.
const STARTED: &str = "FENCHEL_MPI_RANKS";

fn main() -> ExitCode {
    if let Some(what) = std::env::var_os(STARTED) {
        return match what.to_str() {
            Some("send") => Mpi::run(|ranks| Ok::<_, Error>(send_less(ranks))),
            Some("broadcast") => Mpi::run(|ranks| Ok::<_, Error>(broadcast_less(ranks))),
            _ => Mpi::run(checks),
        };
    }
    let run = |what: &str| {
        let program = std::env::current_exe().expect("this program");
        mpirun::output(mpirun::command(3, program).env(STARTED, what))
    };
    let done = run("checks");
    let said = |done: &Output| String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{}", said(&done));
    // Ranks that are out of step are found, whatever they would compute.
    for what in ["send", "broadcast"] {
        let done = run(what);
        let said = said(&done);
        assert!(
            !done.status.success() && said.contains("rank 0 sent not as much"),
            "{what}: {said}"
        );
    }
    println!("test ranks ... ok");
    ExitCode::SUCCESS
}

fn send_less(ranks: &Mpi) -> ExitCode {
    match ranks.rank() {
        0 => ranks.send(1, &[1.0; 3]),
        1 => ranks.receive(0, &mut [0.0; 5]),
        _ => {}
    }
    ranks.barrier();
    ExitCode::SUCCESS
}

fn broadcast_less(ranks: &Mpi) -> ExitCode {
    ranks.broadcast(0, &mut vec![1.0; if ranks.rank() == 0 { 3 } else { 5 }]);
    ExitCode::SUCCESS
}

fn checks(ranks: &Mpi) -> Result<ExitCode, Error> {
    messages(ranks);
    statistics(ranks)?;
    let rank = ranks.rank();
    let unlike = ranks.check_alike("arguments", if rank == 2 { "b" } else { "a" });
    let message = unlike.unwrap_err().to_string();
    assert_eq!(message, r#"arguments: rank 2 has "b", rank 0 has "a""#);
    Ok(ExitCode::SUCCESS)
}

/// Covariances of the rows of all processes have the bits that one process computes of all shards.
fn statistics(ranks: &Mpi) -> Result<(), Error> {
    const SHARDS: [usize; 5] = [4, 0, 7, 5, 3];
    let x = Array2::from_shape_fn((19, 3), |(i, c)| ((i * (c + 3)) % 11) as f64 / 7.0);
    let shards = Shards::new(ranks, &SHARDS[share(5, ranks.rank(), ranks.size())])?;
    let rows = Slice::from(shards.before()..shards.before() + shards.rows());
    let found = Statistics::from_spread(&x.slice_axis(Axis(0), rows), &shards);
    let alone = Statistics::from_spread(&x, &Shards::new(&Alone, &SHARDS)?);
    assert_eq!(found.expect("statistics"), alone.expect("statistics"));
    Ok(())
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
