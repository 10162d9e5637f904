//! Rows that are spread over processes: who has which, and how sums over all of them are taken.
//!
//! ```text
//! sum over all rows  =  sum over shards, in a fixed binary tree, of the sum over the rows of a shard
//! ```
//!
//! The data are cut into *shards*, whose number and ends depend on the data alone. A process (its number is its *rank*) holds whole
//! consecutive shards, or none. Each sum over rows is first taken in every shard. Then the sums of shards are added in a binary tree
//! whose leaves are all shards: a node is the sum of its left and of its right half. The tree is the same for any number of processes
//! and threads, so that the result has the same bits.
//!
//! A rank adds up the largest whole subtrees that it holds, at most two of each height. A node whose halves lie with two ranks is
//! computed by the rank of the left one, which receives the right one. The rank of the root sends the result to all. So a
//! sum of `d` numbers over `K` processes takes about `2 log K` rounds of `8 d` bytes.
//!
//! | item | what |
//! |---|---|
//! | [`Communicator`] | how ranks talk to each other: [`Alone`], [`threads`], or MPI in `fenchel-mpi` |
//! | [`Shards`] | the shards of a rank, and the sums over all |
//! | [`Design::spread`](crate::Design::spread) | a design whose rows are some of all: every product with it that is a sum over rows is one over all rows |
//!
//! A method runs on spread rows if it takes its sums over rows through the [products](crate::multiply_through) of a design and through
//! [`Design::sum_rows`](crate::Design::sum_rows), and does the rest of its work on vectors that every rank has in full. It does
//! not know how many ranks there are.

mod shards;
pub mod threads;

pub(crate) use shards::split;
pub use shards::{Shards, Traffic, share};

use crate::Invalid;

/// How the ranks of a computation talk to each other.
///
/// All ranks make the same calls in the same order, and every call waits for what it needs of others. A failure of a rank ends all of
/// them, and no call returns an error: a solver could do nothing about it.
pub trait Communicator: Sync + std::fmt::Debug {
    /// The number of this process, below [`size`](Self::size).
    fn rank(&self) -> usize;

    /// The number of processes.
    fn size(&self) -> usize;

    /// Sends numbers to another rank, which [receives](Self::receive) as many.
    fn send(&self, to: usize, numbers: &[f64]);

    /// Waits for numbers from another rank.
    fn receive(&self, from: usize, numbers: &mut [f64]);

    /// Gives all ranks the numbers that the rank `from` has.
    fn broadcast(&self, from: usize, numbers: &mut [f64]);

    /// Gives all ranks the bytes of each, in the order of their ranks.
    fn gather(&self, own: &[u8]) -> Vec<Vec<u8>>;

    /// Waits until all ranks are here.
    fn barrier(&self) {
        self.gather(&[]);
    }

    /// Gives all ranks the numbers of each, of which ranks may have more or fewer.
    fn gather_numbers(&self, own: &[u64]) -> Vec<Vec<u64>> {
        let bytes: Vec<u8> = own.iter().flat_map(|number| number.to_le_bytes()).collect();
        let numbers = |bytes: Vec<u8>| {
            bytes.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number)).collect()
        };
        self.gather(&bytes).into_iter().map(numbers).collect()
    }

    /// Refuses ranks that are not alike in what all must have alike. All ranks call it together. Of long texts give a [`checksum`].
    ///
    /// # Errors
    /// [`Invalid::Layout`] on all ranks, with the first rank that differs from rank 0.
    fn check_alike(&self, what: &'static str, own: &str) -> Result<(), Invalid> {
        let all = self.gather(own.as_bytes());
        let Some(rank) = all.iter().position(|other| *other != all[0]) else { return Ok(()) };
        let said = |rank: usize| String::from_utf8_lossy(&all[rank]);
        let reason = format!("rank {rank} has {:?}, rank 0 has {:?}", said(rank), said(0));
        Err(Invalid::Layout { what, reason })
    }
}

/// 64 bits by which ranks compare long texts (FNV-1a), in hexadecimal digits.
pub fn checksum(bytes: impl IntoIterator<Item = u8>) -> String {
    let step = |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// The [`checksum`] of the bits of numbers.
pub fn checksum_of<'n>(numbers: impl IntoIterator<Item = &'n f64>) -> String {
    checksum(numbers.into_iter().flat_map(|number| number.to_bits().to_le_bytes()))
}

/// One process that has all rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Alone;

impl Communicator for Alone {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    /// There is nobody to send to.
    fn send(&self, _: usize, _: &[f64]) {}

    /// There is nobody to receive from.
    fn receive(&self, _: usize, _: &mut [f64]) {}

    fn broadcast(&self, _: usize, _: &mut [f64]) {}

    fn gather(&self, own: &[u8]) -> Vec<Vec<u8>> {
        vec![own.to_vec()]
    }
}
