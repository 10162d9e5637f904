//! Blocks of chains with one bit per variable and chain: their sweeps, counts and scores.

use fenchel_linalg::lanes;
use fenchel_optim::random::{Generator, stream};
use ndarray::ArrayView2;
use rand::RngExt;
use rand::seq::SliceRandom;

use super::BinaryPairwise;
use super::update::{Rule, light};
use super::xoshiro::Lanes;
use crate::Error;
use crate::gibbs::Next;

/// Where the chains begin.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum BinaryStart<'a> {
    /// Every bit is 0 or 1 with probability 1/2.
    #[default]
    Random,
    /// All variables 0.
    Zero,
    /// All chains in one state.
    State(&'a [bool]),
    /// Chain `c` starts in row `c` modulo the number of rows. The array is samples x variables, as [`BinaryGibbs::samples`](super::BinaryGibbs::samples)
    /// returns it.
    Rows(ArrayView2<'a, bool>),
}

/// Chains, 64 to a word.
#[derive(Debug, Clone)]
pub(super) struct Block<const W: usize> {
    pub(super) planes: Vec<[u64; W]>,
    /// The bits as numbers, if a rule needs them.
    pub(super) lit: Vec<[[f32; 64]; W]>,
    pub(super) random: Lanes,
    /// Generator of the order of visits.
    pub(super) visits: Generator,
}

/// `lit`: whether sweeps need the bits as numbers.
pub(super) fn make_blocks<const W: usize>(
    p: usize,
    chains: usize,
    lit: bool,
    start: BinaryStart,
    seed: u64,
) -> Result<Vec<Block<W>>, Error> {
    let count = chains.div_ceil(64 * W);
    let numbers = if lit { size_of::<[[f32; 64]; W]>() } else { 0 };
    let each = size_of::<Block<W>>() + p * (size_of::<[u64; W]>() + numbers);
    Error::check_memory("blocks of chains", count, each)?;
    let make = |b: usize| {
        let mut seeds = stream(seed, b as u64);
        let random = Lanes::from(&mut seeds);
        let mut planes = vec![[0; W]; p];
        for (i, plane) in planes.iter_mut().enumerate() {
            for w in 0..W {
                let chain = 64 * (W * b + w);
                plane[w] = match start {
                    BinaryStart::Random => seeds.random(),
                    BinaryStart::Zero => 0,
                    BinaryStart::State(x) => {
                        if x[i] {
                            u64::MAX
                        } else {
                            0
                        }
                    }
                    BinaryStart::Rows(rows) => (0..64).fold(0, |word, c| {
                        word | u64::from(rows[[(chain + c) % rows.nrows(), i]]) << c
                    }),
                };
            }
        }
        Block { planes, lit: Vec::new(), random, visits: seeds }
    };
    Ok((0..count).map(make).collect())
}

/// Sweeps of one block.
pub(super) struct Sweep<'a, const W: usize> {
    pub(super) block: &'a mut Block<W>,
    pub(super) rules: &'a [Rule],
    pub(super) order: &'a [u32],
    pub(super) next: Next,
    pub(super) sweeps: usize,
}

impl<const W: usize> lanes::Kernel for Sweep<'_, W> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let Sweep { block, rules, order, next, sweeps } = self;
        let lit = rules.iter().any(|rule| matches!(rule, Rule::Field { .. }));
        block.lit.resize(if lit { rules.len() } else { 0 }, [[0.0; 64]; W]);
        for (plane, lit) in block.planes.iter().zip(&mut block.lit) {
            light(plane, lit);
        }
        let mut permutation = if next == Next::Shuffled { order.to_vec() } else { Vec::new() };
        for _ in 0..sweeps {
            permutation.shuffle(&mut block.visits);
            for step in 0..order.len() {
                let i = match next {
                    Next::Listed => order[step] as usize,
                    Next::Shuffled => permutation[step] as usize,
                    Next::Drawn => block.visits.random_range(0..order.len()),
                };
                block.planes[i] = rules[i].draw(&block.planes, &block.lit, &mut block.random);
                if lit {
                    light(&block.planes[i], &mut block.lit[i]);
                }
            }
        }
    }
}

/// Counts of all pairs.
pub(super) struct PairCounts<'a, const W: usize> {
    pub(super) blocks: &'a [Block<W>],
    pub(super) chains: usize,
    pub(super) out: &'a mut [u64],
}

impl<const W: usize> lanes::Kernel for PairCounts<'_, W> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        for (b, block) in self.blocks.iter().enumerate() {
            let mut used = [0; W];
            for (w, used) in used.iter_mut().enumerate() {
                let rest = self.chains.saturating_sub(64 * (W * b + w)).min(64);
                *used = if rest == 64 { u64::MAX } else { (1 << rest) - 1 };
            }
            let mut at = 0;
            for (i, x) in block.planes.iter().enumerate() {
                let mut x = *x;
                for w in 0..W {
                    x[w] &= used[w];
                }
                let others = &block.planes[i..];
                for (out, y) in self.out[at..][..others.len()].iter_mut().zip(others) {
                    let mut count = 0;
                    for w in 0..W {
                        count += (x[w] & y[w]).count_ones();
                    }
                    *out += u64::from(count);
                }
                at += others.len();
            }
        }
    }
}

pub(super) fn score_blocks<const W: usize>(
    blocks: &[Block<W>],
    model: &BinaryPairwise,
    out: &mut [f64],
) {
    for (block, out) in blocks.iter().zip(out.chunks_mut(64 * W)) {
        for (w, out) in out.chunks_mut(64).enumerate() {
            lanes::run(Scores { planes: &block.planes, w, model, out });
        }
    }
}

/// Scores of the chains of one word.
pub(super) struct Scores<'a, const W: usize> {
    pub(super) planes: &'a [[u64; W]],
    pub(super) w: usize,
    pub(super) model: &'a BinaryPairwise,
    pub(super) out: &'a mut [f64],
}

impl<const W: usize> lanes::Kernel for Scores<'_, W> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let Scores { planes, w, model, out } = self;
        // The value where the chain's bit is set, else 0.
        let masked = |value: f64, word: u64, chain: usize| {
            f64::from_bits(value.to_bits() & 0_u64.wrapping_sub(word >> chain & 1))
        };
        let mut scores = [0.0; 64];
        for (i, plane) in planes.iter().enumerate() {
            let mut logits = [model.bias[i]; 64];
            for (j, coupling) in model.edges_of(i).filter(|&(j, _)| i < j as usize) {
                let word = planes[j as usize][w];
                for l in 0..64 {
                    logits[l] += masked(coupling, word, l);
                }
            }
            for l in 0..64 {
                scores[l] += masked(logits[l], plane[w], l);
            }
        }
        out.copy_from_slice(&scores[..out.len()]);
    }
}

pub(super) fn bit<const W: usize>(blocks: &[Block<W>], chain: usize, i: usize) -> bool {
    let word = blocks[chain / (64 * W)].planes[i][chain / 64 % W];
    word >> (chain % 64) & 1 == 1
}

/// The number of chains in which both bits are set.
#[inline(always)]
pub(super) fn count<const W: usize>(
    blocks: &[Block<W>],
    chains: usize,
    planes: impl Fn(&Block<W>) -> ([u64; W], [u64; W]),
) -> u64 {
    let mut total = 0;
    for (b, block) in blocks.iter().enumerate() {
        let (x, y) = planes(block);
        for w in 0..W {
            let rest = chains.saturating_sub(64 * (W * b + w)).min(64);
            let used = if rest == 64 { u64::MAX } else { (1 << rest) - 1 };
            total += u64::from((x[w] & y[w] & used).count_ones());
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::update::FEW;

    #[test]
    fn bits_do_not_depend_on_the_instruction_set() {
        // Degrees 0 to 9: both rules, all table sizes.
        let edges: Vec<(u32, u32, f64)> = (0..10u32)
            .flat_map(|i| {
                (0..i.min(9)).map(move |j| (i, j, 0.3 * f64::from(i) - 0.4 * f64::from(j)))
            })
            .filter(|&(i, j, _)| i == 9 || i + j < 8)
            .collect();
        let model = BinaryPairwise::new(&[-0.2; 10], &edges).unwrap();
        let rules: Vec<Rule> = (0..10).map(|i| Rule::new(&model, i, FEW)).collect();
        let order: Vec<u32> = (0..10).collect();
        let mut plain = make_blocks::<4>(10, 256, false, BinaryStart::Random, 3).unwrap().remove(0);
        let mut wide = plain.clone();
        let sweep =
            |block| Sweep { block, rules: &rules, order: &order, next: Next::Shuffled, sweeps: 7 };
        lanes::Kernel::compute(sweep(&mut plain));
        lanes::run(sweep(&mut wide));
        assert_eq!(plain.planes, wide.planes);
    }
}
