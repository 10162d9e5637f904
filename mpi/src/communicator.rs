//! The processes that `mpirun` has started.

use std::fmt::Display;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

use fenchel_optim::spread::Communicator;
use mpi::Threading;
use mpi::environment::Universe;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{
    Communicator as _, CommunicatorCollectives as _, Destination as _, Equivalence as _, Root as _,
    Source as _,
};

/// Numbers or bytes of one message: MPI counts in 31 bits.
const MOST: usize = 1 << 28;

/// The processes of an MPI program. There is one value of this type in a process, made by [`run`](Self::run).
pub struct Mpi {
    rank: usize,
    size: usize,
    /// MPI ends when it is dropped.
    _universe: Universe,
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mpi(rank {} of {})", self.rank, self.size)
    }
}

fn world() -> SimpleCommunicator {
    SimpleCommunicator::world()
}

/// Writes a line, unless nobody can read it.
fn say(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn process(rank: usize) -> i32 {
    i32::try_from(rank).unwrap_or(i32::MAX)
}

impl Mpi {
    /// Starts MPI, does the work of this process, and ends MPI. An error, or a panic, ends all processes; the error is shown with the
    /// rank, and of several at once the one of the lowest rank.
    pub fn run<E: Display>(work: impl FnOnce(&Mpi) -> Result<ExitCode, E>) -> ExitCode {
        // The threads of a process compute; the one that is here sends.
        let Some((universe, level)) = mpi::initialize_with_threading(Threading::Funneled) else {
            say("MPI was started before");
            return ExitCode::FAILURE;
        };
        if level == Threading::Single {
            say("this MPI allows no threads beside the one that sends");
            world().abort(1);
        }
        let number = |count: i32| usize::try_from(count).unwrap_or(0);
        let (rank, size) = (number(world().rank()), number(world().size()));
        let ranks = Mpi { rank, size, _universe: universe };
        // Where several fail, the first ends the others before they say the same.
        let wait = || std::thread::sleep(Duration::from_millis(100 * rank.min(20) as u64));
        match catch_unwind(AssertUnwindSafe(|| work(&ranks))) {
            Ok(Ok(code)) => code,
            Ok(Err(error)) => {
                wait();
                say(format_args!("rank {rank}: {error}"));
                world().abort(1)
            }
            // Its message was shown when it began.
            Err(_) => {
                wait();
                world().abort(101)
            }
        }
    }
}

impl Mpi {
    fn out_of_step(&self, other: usize) -> String {
        let rank = self.rank;
        format!(
            "rank {other} sent not as much as rank {rank} expects: they do not make the same calls"
        )
    }
}

impl Communicator for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&self, to: usize, numbers: &[f64]) {
        let world = world();
        let to = world.process_at_rank(process(to));
        numbers.chunks(MOST).for_each(|part| to.send(part));
    }

    fn receive(&self, from: usize, numbers: &mut [f64]) {
        let world = world();
        let source = world.process_at_rank(process(from));
        for part in numbers.chunks_mut(MOST) {
            let status = source.receive_into(part);
            let sent = usize::try_from(status.count(f64::equivalent_datatype()));
            assert!(sent == Ok(part.len()), "{}", self.out_of_step(from));
        }
    }

    fn broadcast(&self, from: usize, numbers: &mut [f64]) {
        let world = world();
        let root = world.process_at_rank(process(from));
        // MPI does not tell the length of a broadcast: it is the last number.
        let length = numbers.len() as f64;
        let mut message = vec![f64::NAN; numbers.len() + 1];
        if from == self.rank {
            message[..numbers.len()].copy_from_slice(numbers);
            message[numbers.len()] = length;
        }
        message.chunks_mut(MOST).for_each(|part| root.broadcast_into(part));
        assert!(message[numbers.len()] == length, "{}", self.out_of_step(from));
        numbers.copy_from_slice(&message[..numbers.len()]);
    }

    fn gather(&self, own: &[u8]) -> Vec<Vec<u8>> {
        let world = world();
        let mut lengths = vec![0_u64; self.size];
        world.all_gather_into(&(own.len() as u64), &mut lengths[..]);
        let from = |(rank, length): (usize, u64)| {
            let mut bytes = vec![0; length as usize];
            if rank == self.rank {
                bytes.copy_from_slice(own);
            }
            let from = world.process_at_rank(process(rank));
            bytes.chunks_mut(MOST).for_each(|part| from.broadcast_into(part));
            bytes
        };
        lengths.into_iter().enumerate().map(from).collect()
    }

    fn barrier(&self) {
        world().barrier();
    }
}
