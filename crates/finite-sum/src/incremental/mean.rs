//! The mean of the points of a run.

use serde::{Deserialize, Serialize};

use crate::Point;

/// The running mean of points.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Mean {
    point: Point,
    count: u64,
}

impl Mean {
    /// O(d).
    pub(super) fn add(&mut self, point: &Point) {
        self.count += 1;
        if self.count == 1 {
            self.point.clone_from(point);
            return;
        }
        let share = 1.0 / self.count as f64;
        for (mean, x) in self.point.weights.iter_mut().zip(&point.weights) {
            *mean += share * (x - *mean);
        }
        self.point.intercept += share * (point.intercept - self.point.intercept);
    }

    /// Nothing before the first point.
    pub(super) fn point(&self) -> Option<&Point> {
        (self.count > 0).then_some(&self.point)
    }

    pub(super) fn clear(&mut self) {
        self.count = 0;
    }

    /// Whether a mean that was read from somewhere belongs to points of this length.
    pub(super) fn fits(&self, d: usize) -> bool {
        self.count == 0 || self.point.weights.len() == d
    }
}
