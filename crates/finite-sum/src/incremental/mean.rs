//! The mean of the points of a run.

use fenchel_linalg::Design;
use fenchel_optim::{Certificate, Loss};

use super::kernel::Kernel;
use crate::Point;
use crate::gap::Gap;
use crate::lag::Composite;

/// The running mean of points.
#[derive(Debug, Clone, Default)]
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
}

/// Shows the current point of a kernel, or the mean of its points where one is kept and certified better.
pub(super) fn certify<D: Design, L: Loss, R: Composite>(
    kernel: &Kernel<'_, '_, D, L, R>,
    mean: Option<&Mean>,
    gap: &mut Gap,
    shown: &mut Point,
) -> Certificate {
    kernel.show(shown);
    let last = gap.at_best_intercept(kernel.problem, shown);
    let Some(mut mean) = mean.and_then(Mean::point).cloned() else { return last };
    let average = gap.at_best_intercept(kernel.problem, &mut mean);
    if average.value() < last.value() {
        *shown = mean;
        return average;
    }
    last
}
