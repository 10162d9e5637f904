//! Eight parallel xoshiro256++ generators (Blackman and Vigna, 2021). Their states are stored in vector lanes, so that a draw
//! vectorises.

use rand::Rng;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Lanes {
    s: [[u64; 8]; 4],
}

impl Lanes {
    /// Lanes with independent states.
    pub(super) fn from(seeds: &mut impl Rng) -> Self {
        let mut s = [[0; 8]; 4];
        for word in s.iter_mut().flatten() {
            *word = seeds.next_u64();
        }
        // The state of all zeros is a fixed point.
        for lane in 0..8 {
            s[0][lane] |= u64::from((1..4).all(|k| s[k][lane] == 0));
        }
        Lanes { s }
    }

    /// 512 random bits.
    #[inline(always)]
    pub(super) fn next(&mut self) -> [u64; 8] {
        let [s0, s1, s2, s3] = &mut self.s;
        let mut out = [0; 8];
        for l in 0..8 {
            out[l] = s0[l].wrapping_add(s3[l]).rotate_left(23).wrapping_add(s0[l]);
            let t = s1[l] << 17;
            s2[l] ^= s0[l];
            s3[l] ^= s1[l];
            s1[l] ^= s2[l];
            s0[l] ^= s3[l];
            s2[l] ^= t;
            s3[l] = s3[l].rotate_left(45);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The recurrence as published, one lane.
    fn published(s: &mut [u64; 4]) -> u64 {
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    #[test]
    fn every_lane_is_the_published_generator() {
        let mut lanes = Lanes::from(&mut fenchel_optim::random::stream(7, 0));
        let mut single: Vec<[u64; 4]> =
            (0..8).map(|l| [0, 1, 2, 3].map(|k| lanes.s[k][l])).collect();
        for _ in 0..100 {
            let expected: Vec<u64> = single.iter_mut().map(published).collect();
            assert_eq!(lanes.next().to_vec(), expected);
        }
    }
}
