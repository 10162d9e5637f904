//! Gibbs sampling of many parallel chains of a binary pairwise model.

use fenchel_linalg::{Invalid, lanes, parallel};
use fenchel_optim::Refusal;
use fenchel_optim::random::{Generator, stream};
use ndarray::{Array2, ArrayView2};
use rand::RngExt;
use rand::seq::SliceRandom;

use super::BinaryPairwise;
use super::update::{FEW, Rule, few, light};
use super::xoshiro::Lanes;
use crate::Error;
use crate::gibbs::{Next, Scan};

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
    /// Chain `c` starts in row `c` modulo the number of rows. The array is samples x variables, as [`BinaryGibbs::samples`]
    /// returns it.
    Rows(ArrayView2<'a, bool>),
}

/// Gibbs sampling of `q` parallel chains, with one bit per variable and chain. It is algorithm 1 of Geng, Kuang, Liu, Wright
/// and Page, "Stochastic learning for sparse discrete Markov random fields" (UAI 2018).
///
/// With a fixed order of visits the chains are independent of each other. With `Order::Permuted` and `Order::Uniform` they are
/// independent given the order, which all chains of a block share. A block has up to 512 chains, and blocks run on all cores.
/// The seed determines every bit, on any number of threads and with any instruction set.
///
/// For a variable with few neighbours (at most six, or two where a block is narrow), the conditional probability is exact to
/// 2^-64. For more neighbours the logit is summed in single precision, and its probability is compared with a uniform number of
/// 24 bits (about 1e-7).
///
/// ```
/// use fenchel_graphical::BinaryPairwise;
/// use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
///
/// let model = BinaryPairwise::new(&[0.0, 0.0], &[(0, 1, 1.5)])?;
/// let mut chains = BinaryGibbs::new(&model, 10_000, BinaryStart::Random, Order::Cyclic, 0)?;
/// chains.sweep(50);
/// // P(x_0 = x_1 = 1) = e^1.5 / (3 + e^1.5)
/// let exact = 1.5_f64.exp() / (3.0 + 1.5_f64.exp());
/// assert!((chains.pair_mean(0, 1) - exact).abs() < 0.02);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct BinaryGibbs {
    rules: Vec<Rule>,
    next: Next,
    chromatic: bool,
    /// The order of a cyclic or chromatic sweep.
    order: Vec<u32>,
    blocks: Blocks,
    chains: usize,
}

/// Number of bytes of the fastest cache that a block may use.
const NEAR: usize = 24_576;

/// The blocks, by the number of words per variable, which is a constant of the loops.
#[derive(Debug, Clone)]
enum Blocks {
    One(Vec<Block<1>>),
    Two(Vec<Block<2>>),
    Four(Vec<Block<4>>),
    Eight(Vec<Block<8>>),
}

#[derive(Debug, Clone)]
struct Block<const W: usize> {
    planes: Vec<[u64; W]>,
    /// The bits as numbers, if a rule needs them.
    lit: Vec<[[f32; 64]; W]>,
    random: Lanes,
    /// Generator of the order of visits.
    visits: Generator,
}

/// Runs `$body` with `$blocks` bound to the blocks, for any width.
macro_rules! with_blocks {
    ($all:expr, $blocks:ident => $body:expr) => {
        match $all {
            Blocks::One($blocks) => $body,
            Blocks::Two($blocks) => $body,
            Blocks::Four($blocks) => $body,
            Blocks::Eight($blocks) => $body,
        }
    };
}

impl BinaryGibbs {
    /// Starts `chains` chains. The memory is 1/8 byte per variable and chain, where the number of chains is rounded up to 64
    /// times a power of two. If some variable has more than six neighbours, sweeps need 4 more bytes per variable and chain.
    ///
    /// `scan` is one of the orders `Cyclic` (algorithm 1 of Geng et al., 2018), `Permuted` and `Uniform` of
    /// [`Order`](crate::binary::Order), or [`Scan::Chromatic`] with the [colouring](BinaryPairwise::colouring) of the model. Only
    /// [`Gibbs`](crate::gibbs::Gibbs) supports blocks.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for zero chains; [`Error::Memory`] for more chains than fit; [`Invalid::Length`] for states of
    /// another length; [`Invalid::Empty`] for an array without rows; [`Error::Refused`] for a scan that is not supported.
    pub fn new(
        model: &BinaryPairwise,
        chains: usize,
        start: BinaryStart,
        scan: impl Into<Scan>,
        seed: u64,
    ) -> Result<Self, Error> {
        let (p, scan) = (model.variables(), scan.into());
        if let Scan::Blocked(_) = scan {
            return Err(Refusal::unsupported("BinaryGibbs", "blocks; use Gibbs").into());
        }
        let (next, chromatic) = (scan.next("BinaryGibbs")?, scan == Scan::Chromatic);
        if chains == 0 {
            let expected = "at least one chain";
            return Err(Invalid::Parameter { name: "chains", value: 0.0, expected }.into());
        }
        match start {
            BinaryStart::State(x) => Invalid::check_length("start state", p, x.len())?,
            BinaryStart::Rows(rows) if rows.nrows() == 0 => {
                return Err(Invalid::Empty { what: "start rows" }.into());
            }
            BinaryStart::Rows(rows) => {
                Invalid::check_length("start rows (columns)", p, rows.ncols())?
            }
            BinaryStart::Random | BinaryStart::Zero => {}
        }
        let mut order: Vec<u32> = (0..p as u32).collect();
        if chromatic {
            let colours = model.colouring();
            order.sort_by_key(|&i| colours[i as usize]);
        }
        // Numbers take 32 times the room of bits: blocks are so narrow that they stay in the nearest cache.
        let lit = model.largest_degree() > FEW;
        let most = if lit { NEAR / (p * size_of::<[f32; 64]>()).max(1) } else { 8 };
        let words = chains.div_ceil(64).next_power_of_two();
        let blocks = match words.min(most) {
            0..=1 => Blocks::One(make_blocks(p, chains, lit, start, seed)?),
            2..=3 => Blocks::Two(make_blocks(p, chains, lit, start, seed)?),
            4..=7 => Blocks::Four(make_blocks(p, chains, lit, start, seed)?),
            _ => Blocks::Eight(make_blocks(p, chains, lit, start, seed)?),
        };
        let mut gibbs = BinaryGibbs { rules: Vec::new(), next, chromatic, order, blocks, chains };
        gibbs.rules = gibbs.rules_of(model);
        Ok(gibbs)
    }

    fn rules_of(&self, model: &BinaryPairwise) -> Vec<Rule> {
        let few = few(match &self.blocks {
            Blocks::One(_) => 1,
            Blocks::Two(_) => 2,
            Blocks::Four(_) => 4,
            Blocks::Eight(_) => 8,
        });
        (0..model.variables()).map(|i| Rule::new(model, i, few)).collect()
    }

    /// Number of chains, `q`.
    pub fn chains(&self) -> usize {
        self.chains
    }

    /// Number of variables, `p`.
    pub fn variables(&self) -> usize {
        self.rules.len()
    }

    /// Replaces the model and keeps the states, as a learning method does between two steps.
    ///
    /// # Errors
    /// [`Invalid::Length`] for a model with another number of variables.
    pub fn set_model(&mut self, model: &BinaryPairwise) -> Result<(), Error> {
        Invalid::check_length("variables of the model", self.variables(), model.variables())?;
        self.rules = self.rules_of(model);
        if self.chromatic {
            let colours = model.colouring();
            self.order.sort_by_key(|&i| (colours[i as usize], i));
        }
        Ok(())
    }

    /// Does `sweeps` sweeps of `p` updates in every chain.
    pub fn sweep(&mut self, sweeps: usize) {
        let (rules, order, next) = (&self.rules[..], &self.order[..], self.next);
        with_blocks!(&mut self.blocks, blocks => {
            parallel::map(blocks, |block| lanes::run(Sweep { block, rules, order, next, sweeps }));
        });
    }

    /// The state of one chain.
    ///
    /// # Panics
    /// If there is no such chain.
    pub fn state(&self, chain: usize) -> Vec<bool> {
        assert!(chain < self.chains, "chain {chain} of {}", self.chains);
        let p = self.variables();
        with_blocks!(&self.blocks, blocks => (0..p).map(|i| bit(blocks, chain, i)).collect())
    }

    /// All states: chains x variables.
    pub fn samples(&self) -> Array2<bool> {
        let shape = (self.chains, self.variables());
        with_blocks!(&self.blocks, blocks => Array2::from_shape_fn(shape, |(chain, i)| bit(blocks, chain, i)))
    }

    /// The number of chains with `x_i = 1`. O(q / 64).
    ///
    /// # Panics
    /// If there is no such variable.
    pub fn count(&self, i: usize) -> u64 {
        self.pair_count(i, i)
    }

    /// The number of chains with `x_i = x_j = 1`. O(q / 64).
    ///
    /// # Panics
    /// If there is no such variable.
    pub fn pair_count(&self, i: usize, j: usize) -> u64 {
        with_blocks!(&self.blocks, blocks => {
            lanes::dispatch(|| count(blocks, self.chains, |block| (block.planes[i], block.planes[j])))
        })
    }

    /// The pair counts of all pairs `i <= j` at once, as the rows of the upper triangle. Each block is read once. O(p^2 q /
    /// 128).
    ///
    /// # Panics
    /// Unless `out` has `p (p + 1) / 2` numbers.
    pub fn pair_counts(&self, out: &mut [u64]) {
        let p = self.variables();
        assert_eq!(out.len(), p * (p + 1) / 2, "a number a pair");
        out.fill(0);
        with_blocks!(&self.blocks, blocks => {
            lanes::run(PairCounts { blocks, chains: self.chains, out });
        });
    }

    /// Writes `log P(x) + log Z` for the state of every chain, under this model or another. O(q (p + edges)).
    ///
    /// # Errors
    /// [`Invalid::Length`] for a model with another number of variables, or if `out` does not have one number per chain.
    pub fn log_scores(&self, model: &BinaryPairwise, out: &mut [f64]) -> Result<(), Error> {
        Invalid::check_length("variables of the model", self.variables(), model.variables())?;
        Invalid::check_length("out", self.chains, out.len())?;
        with_blocks!(&self.blocks, blocks => score_blocks(blocks, model, out));
        Ok(())
    }

    /// The fraction of chains with `x_i = 1`, which estimates `E x_i`.
    ///
    /// # Panics
    /// If there is no such variable.
    pub fn mean(&self, i: usize) -> f64 {
        self.count(i) as f64 / self.chains as f64
    }

    /// The fraction of chains with `x_i = x_j = 1`, which estimates `E x_i x_j`.
    ///
    /// # Panics
    /// If there is no such variable.
    pub fn pair_mean(&self, i: usize, j: usize) -> f64 {
        self.pair_count(i, j) as f64 / self.chains as f64
    }

    /// All means and pair means as a symmetric `p x p` matrix with the means on the diagonal: the empirical sufficient
    /// statistics (Geng et al., 2018, equation 6). O(p^2 q / 64).
    pub fn statistics(&self) -> Array2<f64> {
        let p = self.variables();
        let mut out = Array2::zeros((p, p));
        for i in 0..p {
            for j in i..p {
                out[[i, j]] = self.pair_mean(i, j);
                out[[j, i]] = out[[i, j]];
            }
        }
        out
    }
}

/// `lit`: whether sweeps need the bits as numbers.
fn make_blocks<const W: usize>(
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
struct Sweep<'a, const W: usize> {
    block: &'a mut Block<W>,
    rules: &'a [Rule],
    order: &'a [u32],
    next: Next,
    sweeps: usize,
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
struct PairCounts<'a, const W: usize> {
    blocks: &'a [Block<W>],
    chains: usize,
    out: &'a mut [u64],
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

fn score_blocks<const W: usize>(blocks: &[Block<W>], model: &BinaryPairwise, out: &mut [f64]) {
    for (block, out) in blocks.iter().zip(out.chunks_mut(64 * W)) {
        for (w, out) in out.chunks_mut(64).enumerate() {
            lanes::run(Scores { planes: &block.planes, w, model, out });
        }
    }
}

/// Scores of the chains of one word.
struct Scores<'a, const W: usize> {
    planes: &'a [[u64; W]],
    w: usize,
    model: &'a BinaryPairwise,
    out: &'a mut [f64],
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

fn bit<const W: usize>(blocks: &[Block<W>], chain: usize, i: usize) -> bool {
    let word = blocks[chain / (64 * W)].planes[i][chain / 64 % W];
    word >> (chain % 64) & 1 == 1
}

/// The number of chains in which both bits are set.
#[inline(always)]
fn count<const W: usize>(
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
    use crate::binary::Order;

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

    /// The counts of all pairs agree with the single counts, for all widths of blocks and for numbers of chains that do not
    /// fill a word.
    #[test]
    fn counts_of_all_pairs_are_those_of_each() {
        for (p, chains) in [(5, 70), (11, 1000), (20, 300), (40, 130), (120, 65)] {
            let edges: Vec<(u32, u32, f64)> = (1..p as u32).map(|j| (0, j, 0.2)).collect();
            let model = BinaryPairwise::new(&vec![-0.3; p], &edges).unwrap();
            let mut gibbs =
                BinaryGibbs::new(&model, chains, BinaryStart::Random, Order::Cyclic, 1).unwrap();
            gibbs.sweep(2);
            let mut counts = vec![0; p * (p + 1) / 2];
            gibbs.pair_counts(&mut counts);
            let single = (0..p).flat_map(|i| (i..p).map(move |j| (i, j)));
            assert!(single.zip(&counts).all(|((i, j), count)| gibbs.pair_count(i, j) == *count));
        }
    }
}
