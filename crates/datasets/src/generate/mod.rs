//! Synthetic data with known true parameters. The random integers are the same on every machine.
//!
//! | generator | data | known parameters |
//! |---|---|---|
//! | [`spgen`] | sparse, columns of very different frequency; labels and targets | integer weights |
//! | [`low_rank`] | dense, of low rank; targets | weights |
//! | [`topics`] | sparse rows of words by Zipf's law; labels of many classes | the indicator words of each class |
//! | [`odd`](odd()) | small, in odd units, with offsets, ties and copies; targets | none: cases for properties of solvers |
//!
//! All draws come from SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), which
//! takes a few lines in any language. The data of [`spgen`] are therefore the same bit for bit on every machine. [`low_rank`]
//! uses logarithms and cosines of the platform, so that its data agree up to rounding.

mod low_rank;
mod odd;
mod spgen;
mod topics;

pub use low_rank::{LowRank, LowRankData, low_rank};
pub use odd::{Odd, odd};
pub use spgen::{Spgen, SpgenData, spgen};
pub use topics::{Topics, TopicsData, topics};

/// SplitMix64: a counter and a mixing function.
#[derive(Debug, Clone)]
pub(crate) struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    pub(crate) fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform on (0, 1], in steps of 2^-53: never 0, whose logarithm is infinite.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 * 2f64.powi(-53)
    }

    /// A pair of independent standard normal numbers, by the transform of Box and Muller (1958).
    fn normal_pair(&mut self) -> (f64, f64) {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.unit()).sin_cos();
        (radius * cos, radius * sin)
    }

    /// Independent standard normal numbers.
    pub(crate) fn normals(&mut self, count: usize) -> Vec<f64> {
        let mut out = Vec::new();
        while out.len() < count {
            let (a, b) = self.normal_pair();
            out.extend([a, b]);
        }
        out.truncate(count);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix_gives_its_published_sequence() {
        // The first outputs for seed 1234567, as listed with the reference implementation in C.
        let mut draws = SplitMix64::new(1_234_567);
        let first: Vec<u64> = (0..5).map(|_| draws.next()).collect();
        let listed = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(first, listed);
    }

    #[test]
    fn normal_numbers_have_the_moments_of_the_normal_law() {
        let n = 200_000;
        let draws = SplitMix64::new(3).normals(n);
        let moment = |k: i32| draws.iter().map(|z| z.powi(k)).sum::<f64>() / n as f64;
        // Five standard errors: the variances of z, z^2, z^3, z^4 are 1, 2, 15, 96.
        for (k, mean, variance) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)] {
            let error = 5.0 * (f64::sqrt(variance) / f64::sqrt(n as f64));
            assert!((moment(k) - mean).abs() < error, "moment {k}: {}", moment(k));
        }
    }
}
