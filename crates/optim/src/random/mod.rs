//! Seeded random numbers: a seed gives the same result bit for bit, with any number of threads.

mod alias;
mod max_tree;
mod order;
mod sum_tree;
mod tree;
mod visits;

pub use alias::Alias;
pub use max_tree::MaxTree;
pub use order::Order;
pub use sum_tree::SumTree;
pub use visits::{Place, Visits};

use rand::SeedableRng;

/// The generator of every method: ChaCha with 8 rounds.
pub type Generator = rand_chacha::ChaCha8Rng;

/// An independent generator for each index of one seed. Item `index` of parallel work draws from `stream(seed, index)`, so that
/// the result does not depend on which thread processes the item.
pub fn stream(seed: u64, index: u64) -> Generator {
    let mut generator = Generator::seed_from_u64(seed);
    generator.set_stream(index);
    generator
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |seed, index| stream(seed, index).next_u64();
        assert_eq!(draw(1, 0), draw(1, 0));
        assert_ne!(draw(1, 0), draw(1, 1));
        assert_ne!(draw(1, 0), draw(2, 0));
    }
}
