//! The shards of a rank, and sums over those of all ranks.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Communicator;
use crate::{Invalid, parallel};

/// The shards among `count` that a rank of `size` holds, where all hold about as many. Of more ranks than shards the first hold one each.
///
/// ```
/// use fenchel_linalg::spread::share;
///
/// assert_eq!((share(8, 0, 3), share(8, 1, 3), share(8, 2, 3)), (0..2, 2..5, 5..8));
/// assert_eq!((share(2, 0, 3), share(2, 1, 3), share(2, 2, 3)), (0..1, 1..2, 2..2));
/// ```
pub fn share(count: usize, rank: usize, size: usize) -> Range<usize> {
    let holders = count.min(size).max(1);
    let end = |rank: usize| rank.min(holders) * count / holders;
    end(rank)..end(rank + 1)
}

/// What a rank has sent and received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of sums, maxima and merges. What ranks tell each other beside them is not counted here.
    pub rounds: u64,
    /// Bytes of these that this rank gave away. A broadcast counts once, to however many ranks it goes.
    pub sent: u64,
    /// Bytes of these that this rank was given.
    pub received: u64,
}

/// A node of the tree over the shards: those from `index << level` on, `1 << level` of them at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Node {
    level: u32,
    index: usize,
}

/// What [`Shards::sum`] sums: for the number of an own shard among the own ones, its rows, and a vector to add to.
type OfShard<'w> = dyn Fn(usize, Range<usize>, &mut [f64]) -> f64 + Sync + 'w;

/// The rows of a rank, in shards, and how they are added to those of all other ranks; see the [module](super).
#[derive(Debug)]
pub struct Shards<'c> {
    communicator: &'c dyn Communicator,
    /// The start of each own shard among the own rows, and the end of the last.
    offsets: Vec<usize>,
    before: usize,
    all_rows: usize,
    count: usize,
    /// The largest whole subtrees that each rank holds, in the order of the shards, with the rank.
    subtrees: Vec<(Node, usize)>,
    /// The ranks without shards.
    idle: Vec<usize>,
    rounds: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

impl<'c> Shards<'c> {
    /// Of the numbers of rows of the own shards. All ranks call this together; the shards of a rank follow those of the ranks before.
    ///
    /// # Errors
    /// [`Invalid::Empty`] if no rank has a row.
    pub fn new(communicator: &'c dyn Communicator, own: &[usize]) -> Result<Self, Invalid> {
        let rows: Vec<u64> = own.iter().map(|&rows| rows as u64).collect();
        let all = communicator.gather_numbers(&rows);
        let rows = |rows: &Vec<u64>| rows.iter().sum::<u64>() as usize;
        let mut offsets = vec![0];
        for rows in own {
            offsets.push(offsets[offsets.len() - 1] + rows);
        }
        let all_rows = all.iter().map(rows).sum();
        if all_rows == 0 {
            return Err(Invalid::Empty { what: "data (rows of all processes)" });
        }
        let numbers: Vec<usize> = all.iter().map(Vec::len).collect();
        let mut shards = Shards {
            communicator,
            offsets,
            before: all[..communicator.rank()].iter().map(rows).sum(),
            all_rows,
            count: numbers.iter().sum(),
            subtrees: Vec::new(),
            idle: (0..numbers.len()).filter(|&rank| numbers[rank] == 0).collect(),
            rounds: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
        };
        let mut first = 0;
        for (rank, number) in numbers.into_iter().enumerate() {
            let mut stack = Vec::new();
            for shard in first..first + number {
                shards.push(&mut stack, Node { level: 0, index: shard }, (), |(), ()| ());
            }
            shards.subtrees.extend(stack.into_iter().map(|(node, ())| (node, rank)));
            first += number;
        }
        Ok(shards)
    }

    /// Checks the own rows of a design, and that all ranks have as many columns.
    pub(crate) fn check(&self, rows: usize, columns: usize) -> Result<(), Invalid> {
        Invalid::check_length("rows of the shards", rows, self.rows())?;
        let own = columns as f64;
        let mut ends = [own, -own];
        self.largest(&mut ends);
        if ends != [own, -own] {
            let (rank, reason) = (self.communicator.rank(), "columns, but others have");
            let reason = format!("rank {rank} has {own} {reason} {} to {}", -ends[1], ends[0]);
            return Err(Invalid::Layout { what: "design matrix", reason });
        }
        Ok(())
    }

    /// How the ranks talk.
    pub fn communicator(&self) -> &'c dyn Communicator {
        self.communicator
    }

    /// Number of shards of all ranks.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The own shards as ranges of the own rows.
    pub fn own(&self) -> impl ExactSizeIterator<Item = Range<usize>> {
        self.offsets.windows(2).map(|ends| ends[0]..ends[1])
    }

    /// The parts of one value an own row that belong to the own shards, for [`sum_of`](Self::sum_of).
    ///
    /// # Panics
    /// If there are fewer values than own rows.
    pub fn split<'n, T>(&self, values: &'n mut [T]) -> Vec<&'n mut [T]> {
        split(values, self.own())
    }

    /// Number of own rows.
    pub fn rows(&self) -> usize {
        self.offsets[self.offsets.len() - 1]
    }

    /// Number of rows of all ranks.
    pub fn all_rows(&self) -> usize {
        self.all_rows
    }

    /// Number of rows of the ranks before this one.
    pub fn before(&self) -> usize {
        self.before
    }

    /// What was sent and received so far.
    pub fn traffic(&self) -> Traffic {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (rounds, sent, received) = (&self.rounds, &self.sent, &self.received);
        Traffic { rounds: read(rounds), sent: read(sent), received: read(received) }
    }

    /// Fills `out` with the sum over all shards of what `work` adds to a vector of zeros, and returns the sum of what it returns.
    /// `work` receives the number of an own shard among the own ones, and its rows.
    pub fn sum(&self, out: &mut [f64], work: &OfShard<'_>) -> f64 {
        let length = out.len();
        let partial = |(shard, rows): (usize, Range<usize>)| {
            let mut sum = vec![0.0; length + 1];
            sum[length] = work(shard, rows, &mut sum[..length]);
            (shard, sum)
        };
        let first = self.first_own();
        let mut stack = Vec::new();
        let mut own = self.own().enumerate();
        loop {
            // No more sums at a time than threads.
            let wave: Vec<_> = own.by_ref().take(parallel::threads()).collect();
            if wave.is_empty() {
                break;
            }
            for (shard, sum) in parallel::map(wave, partial) {
                let node = Node { level: 0, index: first + shard };
                self.push(&mut stack, node, sum, |left, right| combine(left, &right, add));
            }
        }
        let all = self.reduce(stack, length + 1, add);
        out.copy_from_slice(&all[..length]);
        all[length]
    }

    /// The same for work that receives what belongs to its shard of `parts`, one for each own shard.
    ///
    /// # Panics
    /// If there is not one part for each own shard.
    pub fn sum_of<P: Send>(
        &self,
        parts: Vec<P>,
        out: &mut [f64],
        work: impl Fn(Range<usize>, P, &mut [f64]) -> f64 + Sync,
    ) -> f64 {
        assert_eq!(parts.len(), self.own().len());
        // The loop over the shards is compiled once, so it does not know the type of a part.
        let parts: Vec<_> = parts.into_iter().map(|part| Mutex::new(Some(part))).collect();
        self.sum(out, &|shard, rows, out| {
            let part = parts[shard].lock().unwrap_or_else(PoisonError::into_inner).take();
            part.map_or(0.0, |part| work(rows, part, out))
        })
    }

    /// Replaces each number by the largest of all ranks. NaN counts for nothing.
    pub fn largest(&self, numbers: &mut [f64]) {
        // A rank without shards is no leaf of the tree: it tells the root, with the first shard, before.
        let (me, root) = (self.communicator.rank(), self.subtrees[0].1);
        for &idle in &self.idle {
            if me == idle {
                self.communicator.send(root, numbers);
                self.sent.fetch_add(8 * numbers.len() as u64, Ordering::Relaxed);
            } else if me == root {
                let mut other = vec![0.0; numbers.len()];
                self.communicator.receive(idle, &mut other);
                self.received.fetch_add(8 * numbers.len() as u64, Ordering::Relaxed);
                numbers.iter_mut().zip(other).for_each(|(own, other)| *own = own.max(other));
            }
        }
        let first = self.first_own();
        let mut stack = Vec::new();
        for shard in first..first + self.own().len() {
            let node = Node { level: 0, index: shard };
            self.push(&mut stack, node, numbers.to_vec(), |left, _| left);
        }
        let all = self.reduce(stack, numbers.len(), f64::max);
        numbers.copy_from_slice(&all);
    }

    /// Merges one value of each shard, such as a summary of its rows: in the tree, so that the result is the same for any number of
    /// ranks. `bytes` and `value` write and read a value, to the last bit; every rank gets the values of all subtrees and the result.
    ///
    /// ```
    /// use fenchel_linalg::spread::{Alone, Shards};
    ///
    /// let shards = Shards::new(&Alone, &[1, 1, 1])?;
    /// let text = |text: &String| text.clone().into_bytes();
    /// let read = |bytes: &[u8]| String::from_utf8(bytes.to_vec());
    /// let own = ["a", "b", "c"].map(String::from).to_vec();
    /// let merged = shards.merge(own, text, read, |a, b| Ok(format!("({a}{b})")));
    /// assert_eq!(merged.unwrap(), "((ab)c)");
    /// # Ok::<(), fenchel_linalg::Invalid>(())
    /// ```
    ///
    /// # Errors
    /// Those of `value` and `merge`.
    ///
    /// # Panics
    /// If there is not one value for each own shard, and where `merge` has failed on another rank.
    pub fn merge<T, E>(
        &self,
        own: Vec<T>,
        bytes: impl Fn(&T) -> Vec<u8>,
        value: impl Fn(&[u8]) -> Result<T, E>,
        merge: impl Fn(T, T) -> Result<T, E>,
    ) -> Result<T, E> {
        assert_eq!(own.len(), self.own().len());
        let both = |left: Result<T, E>, right: Result<T, E>| merge(left?, right?);
        let (first, mut stack) = (self.first_own(), Vec::new());
        for (shard, value) in own.into_iter().enumerate() {
            self.push(&mut stack, Node { level: 0, index: first + shard }, Ok(value), both);
        }
        // Each value behind the number of its bytes.
        let mut sent = Vec::new();
        let mut failed = None;
        for (_, value) in stack {
            match value {
                Ok(value) => {
                    let value = bytes(&value);
                    sent.extend((value.len() as u64).to_le_bytes());
                    sent.extend(value);
                }
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        // Others wait for what this rank has, though it has failed.
        if failed.is_some() {
            sent.clear();
        }
        let all = self.communicator.gather(&sent);
        self.rounds.fetch_add(1, Ordering::Relaxed);
        self.sent.fetch_add(sent.len() as u64, Ordering::Relaxed);
        self.received.fetch_add(all.iter().map(|b| b.len() as u64).sum(), Ordering::Relaxed);
        if let Some(error) = failed {
            return Err(error);
        }
        for &(_, rank) in &self.subtrees {
            assert!(!all[rank].is_empty(), "rank {rank} could not merge its values");
        }
        let mut rest: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
        let mut stack = Vec::new();
        for &(node, rank) in &self.subtrees {
            let (length, after) = rest[rank].split_at(8.min(rest[rank].len()));
            let length = length.iter().rev().fold(0, |sum, &byte| sum << 8 | usize::from(byte));
            let (own, after) = after.split_at(length.min(after.len()));
            rest[rank] = after;
            self.push(&mut stack, node, value(own), both);
        }
        match stack.pop() {
            Some((_, merged)) => merged,
            // There is a row, and so a shard.
            None => value(&[]),
        }
    }

    fn first_own(&self) -> usize {
        let own = |&&(_, rank): &&(Node, usize)| rank == self.communicator.rank();
        self.subtrees.iter().find(own).map_or(0, |(node, _)| node.index << node.level)
    }

    /// The combination of the subtrees of all ranks.
    fn reduce(
        &self,
        own: Vec<(Node, Vec<f64>)>,
        length: usize,
        op: impl Fn(f64, f64) -> f64 + Copy,
    ) -> Vec<f64> {
        let (communicator, me) = (self.communicator, self.communicator.rank());
        self.rounds.fetch_add(1, Ordering::Relaxed);
        let bytes = 8 * length as u64;
        let mut own = own.into_iter().map(|(_, sum)| sum);
        let mut stack = Vec::new();
        // All ranks go through all nodes in the same order, and take part where they hold a half: nobody waits for ever.
        for &(node, rank) in &self.subtrees {
            let held = if rank == me { own.next() } else { None };
            self.push(&mut stack, node, (rank, held), |(owner, left), (other, right)| {
                let sum = match (left, right) {
                    (Some(left), Some(right)) => Some(combine(left, &right, op)),
                    (Some(left), None) => {
                        let mut right = vec![0.0; length];
                        communicator.receive(other, &mut right);
                        self.received.fetch_add(bytes, Ordering::Relaxed);
                        Some(combine(left, &right, op))
                    }
                    (None, Some(right)) => {
                        communicator.send(owner, &right);
                        self.sent.fetch_add(bytes, Ordering::Relaxed);
                        None
                    }
                    (None, None) => None,
                };
                (owner, sum)
            });
        }
        let (owner, sum) = stack.pop().map_or((0, None), |(_, root)| root);
        let mut sum = sum.unwrap_or_else(|| vec![0.0; length]);
        if communicator.size() > 1 {
            communicator.broadcast(owner, &mut sum);
            let counter = if owner == me { &self.sent } else { &self.received };
            counter.fetch_add(bytes, Ordering::Relaxed);
        }
        sum
    }

    /// Puts the next subtree on a stack, and merges as long as the two on top are the halves of a node.
    fn push<T>(
        &self,
        stack: &mut Vec<(Node, T)>,
        node: Node,
        value: T,
        mut merge: impl FnMut(T, T) -> T,
    ) {
        let (mut node, mut value) = (self.lifted(node), value);
        while let Some((left, before)) =
            stack.pop_if(|(left, _)| left.level == node.level && left.index ^ 1 == node.index)
        {
            value = merge(before, value);
            node = self.lifted(Node { level: left.level + 1, index: left.index / 2 });
        }
        stack.push((node, value));
    }

    /// A left half beyond which there are no shards is the whole node above.
    fn lifted(&self, mut node: Node) -> Node {
        while node.index > 0
            && node.index.is_multiple_of(2)
            && (node.index + 1) << node.level >= self.count
        {
            node = Node { level: node.level + 1, index: node.index / 2 };
        }
        node
    }
}

/// The parts of one value a row that belong to consecutive ranges of rows.
pub(crate) fn split<T>(
    mut values: &mut [T],
    ranges: impl Iterator<Item = Range<usize>>,
) -> Vec<&mut [T]> {
    let next = |range: Range<usize>| {
        let (part, rest) = std::mem::take(&mut values).split_at_mut(range.len());
        values = rest;
        part
    };
    ranges.map(next).collect()
}

fn add(a: f64, b: f64) -> f64 {
    a + b
}

fn combine(mut left: Vec<f64>, right: &[f64], op: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    left.iter_mut().zip(right).for_each(|(l, r)| *l = op(*l, *r));
    left
}

#[cfg(test)]
mod tests {
    use super::super::{Alone, threads};
    use super::*;
    use std::convert::Infallible;

    /// The tree by its definition.
    fn tree(values: &[f64], from: usize, width: usize) -> Option<f64> {
        if from >= values.len() {
            return None;
        }
        if width == 1 {
            return Some(values[from]);
        }
        let (left, right) =
            (tree(values, from, width / 2)?, tree(values, from + width / 2, width / 2));
        Some(right.map_or(left, |right| left + right))
    }

    /// Shards of any number over ranks of any number, empty shards and empty ranks among them: the bits of the tree.
    #[test]
    fn sums_have_the_bits_of_the_tree_for_any_number_of_ranks() {
        for count in [1, 2, 3, 5, 7, 8, 13, 33, 1024] {
            let sizes: Vec<usize> = (0..count).map(|s| (s * 7 + 1) % 5).collect();
            let rows: usize = sizes.iter().sum();
            let x: Vec<f64> = (0..rows).map(|i| ((i * 37 % 101) as f64).sin() * 1e3).collect();
            let mut from = 0;
            let of_shards: Vec<f64> = sizes
                .iter()
                .map(|size| {
                    from += size;
                    x[from - size..from].iter().fold(0.0, |sum, x| sum + x)
                })
                .collect();
            let expected = tree(&of_shards, 0, count.next_power_of_two()).unwrap();
            // As many ranks as a machine of this test can run.
            for size in (1..=6).chain((count > 100).then_some(100)) {
                let sums = threads::run(size, |communicator| {
                    let own = share(count, communicator.rank(), size);
                    let before: usize = sizes[..own.start].iter().sum();
                    let shards = Shards::new(communicator, &sizes[own]).unwrap();
                    assert_eq!((shards.before(), shards.all_rows()), (before, rows));
                    let x = &x[before..before + shards.rows()];
                    let mut out = [0.0; 2];
                    let total = shards.sum(&mut out, &|_, rows, out| {
                        out[1] = rows.len() as f64;
                        x[rows].iter().fold(0.0, |sum, x| sum + x)
                    });
                    let mut most = [-(communicator.rank() as f64), f64::from(!x.is_empty())];
                    shards.largest(&mut most);
                    let traffic = shards.traffic();
                    Ok::<_, Infallible>((total, out, most[1], traffic))
                })
                .unwrap();
                let sent: u64 = sums.iter().map(|(.., traffic)| traffic.sent).sum();
                assert!(size == 1 || sent > 0);
                for (total, out, some, traffic) in sums {
                    assert_eq!(total.to_bits(), expected.to_bits(), "{count} shards, {size} ranks");
                    assert_eq!((out, some), ([0.0, rows as f64], 1.0));
                    assert_eq!(traffic.rounds, 2);
                }
            }
        }
    }

    #[test]
    fn values_are_merged_in_the_tree() {
        for (count, expected) in [(1, "0"), (3, "((01)2)"), (6, "(((01)(23))(45))")] {
            for size in 1..=4 {
                let merged = threads::run(size, |ranks| {
                    let own = share(count, ranks.rank(), size);
                    let shards = Shards::new(ranks, &vec![1; own.len()]).unwrap();
                    let own = own.map(|shard| shard.to_string()).collect();
                    let text = |text: &String| text.clone().into_bytes();
                    let read = |bytes: &[u8]| String::from_utf8(bytes.to_vec());
                    shards.merge(own, text, read, |a, b| Ok(format!("({a}{b})")))
                });
                assert_eq!(merged.unwrap(), vec![expected; size]);
            }
        }
    }

    /// Ranks before, between and behind those with shards.
    #[test]
    fn the_largest_number_counts_without_shards_too() {
        for speaks in 0..4 {
            let found = threads::run(4, |ranks| {
                let own: &[usize] = if ranks.rank() % 2 == 1 { &[3] } else { &[] };
                let shards = Shards::new(ranks, own).unwrap();
                let mut numbers = [f64::from(u8::from(ranks.rank() == speaks)), -1.0];
                shards.largest(&mut numbers);
                Ok::<_, Infallible>(numbers)
            });
            assert_eq!(found, Ok(vec![[1.0, -1.0]; 4]), "{speaks}");
        }
    }

    #[test]
    fn the_first_ranks_hold_few_shards() {
        for (count, size) in [(2, 3), (7, 9), (64, 200), (0, 2), (5, 5), (9, 4)] {
            let shares: Vec<_> = (0..size).map(|rank| share(count, rank, size)).collect();
            assert_eq!(shares.iter().map(|own| own.len()).sum::<usize>(), count);
            assert!(shares.windows(2).all(|two| two[0].end == two[1].start));
            let holds = |rank: usize| !shares[rank].is_empty();
            assert!((0..size).all(|rank| holds(rank) == (rank < count)), "{count} {size}");
        }
    }

    /// A merge that fails on one rank ends the others too: nobody waits for it.
    #[test]
    fn a_merge_that_fails_fails_everywhere() {
        let ended = threads::run(2, |ranks| {
            let shards = Shards::new(ranks, &[1, 1]).unwrap();
            let merge = |_, _| if ranks.rank() == 1 { Err("no merge") } else { Ok(0) };
            let merged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                shards.merge(vec![0, 0], |_| vec![0], |_| Ok(0), merge)
            }));
            merged.unwrap_or(Err("rank 1 has failed"))
        });
        assert_eq!(ended, Err((0, "rank 1 has failed")));
    }

    #[test]
    fn nothing_at_all_is_refused() {
        let error = Shards::new(&Alone, &[0, 0]).unwrap_err();
        assert_eq!(error.to_string(), "data (rows of all processes) is empty");
    }
}
