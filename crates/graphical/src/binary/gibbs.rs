//! Gibbs sampling of many parallel chains of a binary pairwise model.

use fenchel_linalg::{Invalid, lanes, parallel};
use fenchel_optim::Refusal;
use ndarray::Array2;

use super::BinaryPairwise;
use super::blocks::{BinaryStart, Block, PairCounts, Sweep, bit, count, make_blocks, score_blocks};
use super::update::{FEW, Rule, few};
use crate::Error;
use crate::gibbs::{Next, Scan};

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::Order;

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
