//! The update of one variable in up to 512 chains at once.
//!
//! A block holds `W` words per variable; bit `c` of word `w` belongs to chain `64 w + c`. There are two methods to draw `x_i`
//! given its neighbours:
//!
//! - **Threshold bits**, for few neighbours. A configuration `k` of the neighbours has the conditional probability `T_k /
//!   2^64`. A uniform 64-bit number `r` is compared with `T_k` bit by bit from the top, for all chains of a word at once. The
//!   comparison ends when it is decided for every chain, after about `log2(64 W) + 1` bits. Bit `b` of the thresholds of all
//!   chains is the union of the sets of chains whose configuration has a threshold with bit `b` set.
//! - **Fields**, for many neighbours. The logit of every chain is summed in single precision, and the test `u (1 + e^-logit) <
//!   1` with a uniform `u` decides.
//!
//! Both methods use operations on whole words or lanes only, and so give the same bits with every instruction set.

use fenchel_linalg::{lanes, special::sigmoid};

use super::BinaryPairwise;
use super::xoshiro::Lanes;

/// Largest number of neighbours for threshold bits: 2^6 configurations fit into a word.
pub(super) const FEW: usize = 6;

/// Largest number of neighbours for which threshold bits are faster than fields, in blocks of `words` words. A random number of
/// 512 bits, and the work for a configuration, serve all words at once.
pub(super) fn few(words: usize) -> usize {
    match words {
        1 => 2,
        2 => 4,
        4 => 5,
        _ => FEW,
    }
}

/// How one variable is drawn.
#[derive(Debug, Clone)]
pub(super) enum Rule {
    /// `patterns[b]` has bit `k` set where bit `63 - b` of `T_k` is.
    Thresholds { neighbours: [u32; FEW], count: usize, patterns: Box<[u64; 64]> },
    /// Bias and neighbours with couplings.
    Field { bias: f32, neighbours: Box<[(u32, f32)]> },
}

impl Rule {
    /// The rule for variable `i`: threshold bits for up to `few` neighbours, which is at most [`FEW`].
    pub(super) fn new(model: &BinaryPairwise, i: usize, few: usize) -> Self {
        if model.degree(i) > few.min(FEW) {
            let neighbours = model.edges_of(i).map(|(j, coupling)| (j, coupling as f32)).collect();
            return Rule::Field { bias: model.bias()[i] as f32, neighbours };
        }
        let mut neighbours = [0; FEW];
        let mut thresholds = [0; 64];
        for (slot, (j, _)) in neighbours.iter_mut().zip(model.edges_of(i)) {
            *slot = j;
        }
        for k in 0..1usize << model.degree(i) {
            let on = model.edges_of(i).enumerate().filter(|(bit, _)| k >> bit & 1 == 1);
            let logit = model.bias()[i] + on.map(|(_, (_, coupling))| coupling).sum::<f64>();
            // Conversion saturates: probability 1 becomes 1 - 2^-64.
            thresholds[k] = (sigmoid(logit) * 2.0_f64.powi(64)) as u64;
        }
        let patterns = Box::new(bits_of(thresholds));
        Rule::Thresholds { neighbours, count: model.degree(i), patterns }
    }

    /// Draws a variable in all chains of a block, from the bits of its neighbours, or from these bits as numbers.
    #[inline(always)]
    pub(super) fn draw<const W: usize>(
        &self,
        planes: &[[u64; W]],
        lit: &[[[f32; 64]; W]],
        random: &mut Lanes,
    ) -> [u64; W] {
        match self {
            Rule::Thresholds { neighbours, count, patterns } => match count {
                0..=2 => {
                    draw_by_thresholds::<W, 4>(&neighbours[..*count], patterns, planes, random)
                }
                3..=4 => {
                    draw_by_thresholds::<W, 16>(&neighbours[..*count], patterns, planes, random)
                }
                _ => draw_by_thresholds::<W, 64>(&neighbours[..*count], patterns, planes, random),
            },
            Rule::Field { bias, neighbours } => draw_by_field(*bias, neighbours, lit, random),
        }
    }
}

/// Element `b` of the result has bit `k` set where element `k` has bit `63 - b`: a transpose by halves (Hacker's Delight, 7-3).
fn bits_of(mut rows: [u64; 64]) -> [u64; 64] {
    let (mut half, mut mask) = (32, 0x0000_0000_ffff_ffff_u64);
    while half > 0 {
        let mut k = 0;
        while k < 64 {
            let swap = (rows[k] >> half ^ rows[k | half]) & mask;
            rows[k] ^= swap << half;
            rows[k | half] ^= swap;
            k = ((k | half) + 1) & !half;
        }
        half >>= 1;
        mask ^= mask << half;
    }
    rows.reverse();
    rows
}

/// The constant `K` is at least the number of configurations.
#[inline(always)]
fn draw_by_thresholds<const W: usize, const K: usize>(
    neighbours: &[u32],
    patterns: &[u64; 64],
    planes: &[[u64; W]],
    random: &mut Lanes,
) -> [u64; W] {
    // which[k]: the chains whose neighbours are in configuration k.
    let mut which = [[0; W]; K];
    which[0] = [u64::MAX; W];
    let mut configurations = 1;
    for &j in neighbours {
        let plane = planes[j as usize];
        for k in 0..configurations {
            for w in 0..W {
                which[configurations + k][w] = which[k][w] & plane[w];
                which[k][w] &= !plane[w];
            }
        }
        configurations *= 2;
    }
    let mut below = [0; W];
    let mut undecided = [u64::MAX; W];
    for &pattern in patterns {
        let mut bit = [0; W];
        let mut rest = pattern;
        while rest != 0 {
            let chains = &which[rest.trailing_zeros() as usize % K];
            for w in 0..W {
                bit[w] |= chains[w];
            }
            rest &= rest - 1;
        }
        let r = random.next();
        let mut open = 0;
        for w in 0..W {
            below[w] |= undecided[w] & bit[w] & !r[w];
            undecided[w] &= !(bit[w] ^ r[w]);
            open |= undecided[w];
        }
        if open == 0 {
            break;
        }
    }
    below
}

#[inline(always)]
fn draw_by_field<const W: usize>(
    bias: f32,
    neighbours: &[(u32, f32)],
    lit: &[[[f32; 64]; W]],
    random: &mut Lanes,
) -> [u64; W] {
    let mut out = [0; W];
    for w in 0..W {
        let mut logit = [bias; 64];
        for &(j, coupling) in neighbours {
            let x = &lit[j as usize][w];
            for l in 0..64 {
                logit[l] += coupling * x[l];
            }
        }
        let mut drawn = [0u32; 64];
        for part in drawn.chunks_exact_mut(16) {
            let r = random.next();
            for l in 0..8 {
                part[l] = r[l] as u32;
                part[l + 8] = (r[l] >> 32) as u32;
            }
        }
        for l in 0..64 {
            // The middles of 2^24 equal parts of (0, 1).
            let u = ((drawn[l] >> 8) as i32 as f32 + 0.5) * (1.0 / 16_777_216.0);
            let one = u * (1.0 + lanes::exp_f32(-logit[l])) < 1.0;
            drawn[l] = if one { 1 << (l % 32) } else { 0 };
        }
        let (low, high) = drawn.split_at(32);
        let join = |half: &[u32]| half.iter().fold(0, |all, bit| all | bit);
        out[w] = u64::from(join(low)) | u64::from(join(high)) << 32;
    }
    out
}

/// Bits as numbers 0 and 1, for the sums of [`Rule::Field`].
#[inline(always)]
pub(super) fn light<const W: usize>(plane: &[u64; W], lit: &mut [[f32; 64]; W]) {
    for w in 0..W {
        for half in 0..2 {
            let word = (plane[w] >> (32 * half)) as u32;
            for l in 0..32 {
                lit[w][32 * half + l] = if word & (1 << l) != 0 { 1.0 } else { 0.0 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_the_numbers() {
        let rows: [u64; 64] = std::array::from_fn(|k| {
            (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(k as u32)
        });
        for (b, pattern) in bits_of(rows).into_iter().enumerate() {
            for (k, row) in rows.iter().enumerate() {
                assert_eq!(pattern >> k & 1, row >> (63 - b) & 1, "{b} {k}");
            }
        }
    }
}
