//! Ranks that are threads of this process.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use super::Communicator;

/// A rank among the threads of one process. It sends to and receives from each other one through a channel of their own.
#[derive(Debug)]
pub struct Threads {
    rank: usize,
    to: Vec<Sender<Message>>,
    from: Vec<Mutex<Receiver<Message>>>,
}

#[derive(Debug)]
enum Message {
    Numbers(Vec<f64>),
    Bytes(Vec<u8>),
}

/// What a rank unwinds with that waits for one which has ended.
struct Abandoned;

/// Runs a function as `size` ranks, each on a thread of its own. Returns the results in the order of the ranks.
///
/// ```
/// use fenchel_linalg::spread::{Communicator, threads};
///
/// let bytes = threads::run(3, |ranks| Ok::<_, ()>(ranks.gather(&[ranks.rank() as u8]))).unwrap();
/// assert_eq!(bytes[1], [[0], [1], [2]]);
/// let error = threads::run(3, |ranks| if ranks.rank() == 2 { Err("no data") } else { Ok(ranks.barrier()) });
/// assert_eq!(error, Err((2, "no data")));
/// ```
///
/// # Errors
/// The first error of a rank, with the number of the rank. It ends the others: where they wait for that rank, they are abandoned.
///
/// # Panics
/// If a rank panics, or waits for one that has ended without an error.
pub fn run<T: Send, E: Send>(
    size: usize,
    work: impl Fn(&Threads) -> Result<T, E> + Sync,
) -> Result<Vec<T>, (usize, E)> {
    let mut ranks: Vec<Threads> =
        (0..size).map(|rank| Threads { rank, to: Vec::new(), from: Vec::new() }).collect();
    for from in 0..size {
        for to in 0..size {
            let (sender, receiver) = channel();
            ranks[from].to.push(sender);
            ranks[to].from.push(Mutex::new(receiver));
        }
    }
    let ended = std::thread::scope(|scope| {
        let work = &work;
        let each = ranks.into_iter().map(|rank| {
            // The channels go with the rank when it ends: nobody waits for it any longer.
            scope.spawn(move || catch_unwind(AssertUnwindSafe(|| work(&rank))))
        });
        let each: Vec<_> = each.collect();
        let joined = each.into_iter().map(|rank| rank.join().and_then(|ended| ended));
        joined.collect::<Vec<_>>()
    });
    let (mut results, mut failed) = (Vec::new(), None);
    for (rank, ended) in ended.into_iter().enumerate() {
        match ended {
            Ok(Ok(result)) => results.push(result),
            Ok(Err(error)) => failed = failed.or(Some((rank, error))),
            Err(reason) if reason.is::<Abandoned>() => {}
            Err(reason) => resume_unwind(reason),
        }
    }
    if let Some(failed) = failed {
        return Err(failed);
    }
    assert_eq!(results.len(), size, "a rank waited for one that had ended");
    Ok(results)
}

impl Threads {
    fn put(&self, to: usize, message: Message) {
        // One that has ended needs nothing more: who sends will find out when it has to wait.
        let _ = self.to[to].send(message);
    }

    fn take(&self, from: usize) -> Message {
        let receiver = self.from[from].lock().unwrap_or_else(PoisonError::into_inner);
        // Not a panic, of which somebody would be told.
        receiver.recv().unwrap_or_else(|_| resume_unwind(Box::new(Abandoned)))
    }
}

impl Communicator for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.to.len()
    }

    fn send(&self, to: usize, numbers: &[f64]) {
        self.put(to, Message::Numbers(numbers.to_vec()));
    }

    fn receive(&self, from: usize, numbers: &mut [f64]) {
        match self.take(from) {
            Message::Numbers(sent) if sent.len() == numbers.len() => numbers.copy_from_slice(&sent),
            _ => panic!("rank {} does not expect what rank {from} sends", self.rank),
        }
    }

    fn broadcast(&self, from: usize, numbers: &mut [f64]) {
        if from != self.rank {
            return self.receive(from, numbers);
        }
        (0..self.size()).filter(|&to| to != from).for_each(|to| self.send(to, numbers));
    }

    fn gather(&self, own: &[u8]) -> Vec<Vec<u8>> {
        (0..self.size()).for_each(|to| self.put(to, Message::Bytes(own.to_vec())));
        let bytes = |from| match self.take(from) {
            Message::Bytes(bytes) => bytes,
            Message::Numbers(_) => {
                panic!("rank {} does not expect what rank {from} sends", self.rank)
            }
        };
        (0..self.size()).map(bytes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_ends_ends_all() {
        let ended = run(4, |ranks| {
            ranks.barrier();
            if ranks.rank() == 1 {
                return Err("a bad row");
            }
            let mut numbers = [0.0];
            ranks.broadcast(1, &mut numbers);
            Ok(numbers)
        });
        assert_eq!(ended, Err((1, "a bad row")));
    }

    #[test]
    #[should_panic(expected = "a rank waited for one that had ended")]
    fn a_rank_that_leaves_the_others_waiting_is_a_panic() {
        let _ = run(2, |ranks| {
            if ranks.rank() == 1 {
                ranks.barrier();
            }
            Ok::<(), ()>(())
        });
    }

    #[test]
    fn ranks_that_differ_are_named() {
        let own = |rank| if rank == 2 { "b" } else { "a" };
        let alike = run(3, |ranks| ranks.check_alike("arguments", own(ranks.rank())));
        let (_, error) = alike.unwrap_err();
        assert_eq!(error.to_string(), r#"arguments: rank 2 has "b", rank 0 has "a""#);
        let numbers = run(2, |ranks| Ok::<_, ()>(ranks.gather_numbers(&vec![7; ranks.rank()])));
        assert_eq!(numbers.unwrap(), vec![vec![vec![], vec![7]]; 2]);
    }

    #[test]
    #[should_panic(expected = "of its own")]
    fn a_panic_of_a_rank_is_one_of_the_caller() {
        let _ = run(2, |ranks| match ranks.rank() {
            0 => {
                ranks.barrier();
                Ok::<(), ()>(())
            }
            _ => panic!("of its own"),
        });
    }
}
