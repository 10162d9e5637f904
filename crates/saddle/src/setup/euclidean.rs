//! Euclidean geometry, in which mirror steps are projected gradient steps.

use fenchel_linalg::project;

use super::{Setup, contain_ball};
use crate::spectral::length;

/// The domain of a Euclidean block.
#[derive(Debug, Clone, PartialEq)]
pub enum Domain {
    /// The whole space. `radius` bounds the distance of a solution from the origin.
    Free {
        /// Bound on the distance of a solution from the origin.
        radius: f64,
    },
    /// The ball around the origin.
    Ball {
        /// Radius of the ball.
        radius: f64,
    },
    /// `low <= x_i <= high`.
    Box {
        /// Least value of an entry.
        low: f64,
        /// Largest value of an entry.
        high: f64,
    },
}

/// Half the squared Euclidean norm on a [`Domain`]. A step costs O(1) per entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Euclidean {
    dimension: usize,
    domain: Domain,
}

impl Euclidean {
    /// The geometry of vectors with `dimension` entries in a domain.
    pub fn new(dimension: usize, domain: Domain) -> Self {
        Euclidean { dimension, domain }
    }

    fn middle(&self) -> f64 {
        match self.domain {
            Domain::Box { low, high } => 0.0_f64.clamp(low, high),
            _ => 0.0,
        }
    }
}

impl Setup for Euclidean {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn coordinates(&self) -> usize {
        self.dimension
    }

    fn centre(&self, place: &mut [f64]) {
        place.fill(self.middle());
    }

    fn point(&self, place: &[f64], point: &mut [f64]) {
        point.copy_from_slice(place);
    }

    fn contain(&self, point: &mut [f64]) {
        match self.domain {
            Domain::Free { .. } => {}
            Domain::Ball { radius } => {
                contain_ball(point, radius, |x| length(x.iter().copied()));
            }
            Domain::Box { low, high } => {
                point.iter_mut().for_each(|x| *x = x.clamp(low, high));
            }
        }
    }

    fn place(&self, point: &[f64], place: &mut [f64]) {
        place.copy_from_slice(point);
        self.contain(place);
    }

    fn step(&self, place: &mut [f64], gradient: &[f64], eta: f64) {
        place.iter_mut().zip(gradient).for_each(|(x, g)| *x -= eta * g);
        let projected = match self.domain {
            Domain::Free { .. } => Ok(()),
            Domain::Ball { radius } => project::l2_ball(place, radius),
            Domain::Box { low, high } => project::interval(place, low, high),
        };
        if projected.is_err() {
            place.fill(f64::NAN);
        }
    }

    fn divergence(&self, z: &[f64], w: &[f64]) -> f64 {
        0.5 * z.iter().zip(w).map(|(z, w)| (z - w).powi(2)).sum::<f64>()
    }

    fn radius(&self) -> f64 {
        match self.domain {
            Domain::Free { radius } | Domain::Ball { radius } => 0.5 * radius * radius,
            Domain::Box { low, high } => {
                let middle = self.middle();
                let far = (high - middle).max(middle - low);
                0.5 * self.dimension as f64 * far * far
            }
        }
    }

    fn dual_norm(&self, gradient: &[f64]) -> f64 {
        length(gradient.iter().copied())
    }
}
