//! The curvature estimates of the sequences, and draws in proportion to them.

use fenchel_optim::random::{Generator, MaxTree, SumTree, stream};
use rand::RngExt;

use crate::Error;

/// The curvatures `L_i`.
pub(super) enum Curvature {
    One { value: f64, relax: f64, n: usize },
    Each { sum: SumTree, max: MaxTree, first: f64 },
}

impl Curvature {
    /// One curvature for all of `n` sequences, or one for each.
    pub(super) fn new(first: f64, common: bool, n: usize) -> Result<Self, Error> {
        Ok(if common {
            Curvature::One { value: first, relax: (-1.0 / n as f64).exp2(), n }
        } else {
            let none = vec![0.0; n];
            Curvature::Each { sum: SumTree::new(&none)?, max: MaxTree::new(&none)?, first }
        })
    }

    pub(super) fn get(&self, i: usize) -> f64 {
        match self {
            Curvature::One { value, .. } => *value,
            Curvature::Each { sum, .. } => sum.get(i),
        }
    }

    /// Sets a curvature. Returns false if it is not a valid number.
    pub(super) fn set(&mut self, i: usize, curvature: f64) -> bool {
        match self {
            Curvature::One { value, .. } => {
                *value = curvature;
                curvature.is_finite()
            }
            Curvature::Each { sum, max, .. } => {
                sum.set(i, curvature).is_ok() && max.set(i, curvature).is_ok()
            }
        }
    }

    /// Gives a new sequence the mean curvature of the sequences before.
    pub(super) fn introduce(&mut self, i: usize, before: usize) {
        if let Curvature::Each { first, .. } = *self {
            let mean = if before == 0 { first } else { self.mean(before) };
            self.set(i, mean);
        }
    }

    pub(super) fn mean(&self, met: usize) -> f64 {
        match self {
            Curvature::One { value, .. } => *value,
            Curvature::Each { sum, .. } => sum.total() / met.max(1) as f64,
        }
    }

    pub(super) fn largest(&self) -> f64 {
        match self {
            Curvature::One { value, .. } => *value,
            Curvature::Each { max, .. } => max.get(max.largest()),
        }
    }

    pub(super) fn step(&self, l2: f64, met: usize) -> f64 {
        0.5 * (1.0 / (self.largest() + l2) + 1.0 / (self.mean(met) + l2))
    }

    /// Lets a common curvature decrease, by a factor of 1/2 per pass.
    pub(super) fn relax(&mut self) {
        if let Curvature::One { value, relax, .. } = self {
            *value *= *relax;
        }
    }
}

pub(super) struct Draws {
    generator: Generator,
    /// Fraction of the draws in proportion to curvature.
    share: f64,
}

impl Draws {
    pub(super) fn new(share: f64, seed: u64) -> Self {
        Draws { generator: stream(seed, 0), share }
    }

    pub(super) fn next(&mut self, curvature: &Curvature) -> usize {
        let n = match curvature {
            Curvature::Each { sum, .. } => {
                let toss: f64 = self.generator.random();
                if toss < self.share {
                    return sum.draw(&mut self.generator);
                }
                sum.len()
            }
            Curvature::One { n, .. } => *n,
        };
        self.generator.random_range(0..n)
    }
}
