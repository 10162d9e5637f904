//! The mean of all points of a run.

use fenchel_linalg::Design;
use fenchel_optim::{Certificate, Loss, RunningMean};

use super::kernel::Kernel;
use crate::Point;
use crate::gap::Gap;
use crate::methods::lag::Composite;

/// The running mean of weights and intercept.
#[derive(Debug, Clone, Default)]
pub(super) struct PointMean {
    weights: RunningMean,
    intercept: RunningMean,
}

impl PointMean {
    /// Adds a point to the mean. O(d).
    pub(super) fn add(&mut self, point: &Point) {
        self.weights.add(&point.weights);
        self.intercept.add(&[point.intercept]);
    }

    /// The mean; `None` before the first point.
    pub(super) fn point(&self) -> Option<Point> {
        let (weights, intercept) = (self.weights.mean()?.to_vec(), self.intercept.mean()?[0]);
        Some(Point { weights, intercept })
    }

    pub(super) fn clear(&mut self) {
        self.weights.clear();
        self.intercept.clear();
    }
}

/// Certifies the current point. If the mean of all points is kept and has a better certificate, returns that one.
pub(super) fn certify<D: Design, L: Loss, R: Composite>(
    kernel: &Kernel<'_, '_, D, L, R>,
    mean: Option<&PointMean>,
    gap: &mut Gap,
    certified: &mut Point,
) -> Certificate {
    kernel.write_point(certified);
    let last = gap.at_best_intercept(kernel.problem, certified);
    let Some(mut mean) = mean.and_then(PointMean::point) else { return last };
    let average = gap.at_best_intercept(kernel.problem, &mut mean);
    if average.value() < last.value() {
        *certified = mean;
        return average;
    }
    last
}
