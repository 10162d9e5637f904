//! Random numbers, and how many problems.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub(crate) fn problems() -> u64 {
    std::env::var("FENCHEL_PROBLEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(40)
}
