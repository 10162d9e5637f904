//! Some of the rows, which say nearly as much as all: where Newton's method begins.

use fenchel_linalg::Design;
use fenchel_optim::random::Generator;
use fenchel_optim::{Loss, Regulariser, Stop};
use rand::RngExt;

use crate::Problem;

/// With at most this many features the first working set of Newton's method has all of them. By judgement.
const FEW: usize = 50;
/// The most passes over the drawn rows: a backstop, by judgement.
const MOST: f64 = 100.0;

/// How many rows to begin with, and how far to solve the problem on them.
#[derive(Debug, Clone, Copy)]
pub(super) struct HeadStart {
    /// One row of so many that follow each other.
    pub(super) one_in: usize,
    /// Relative gap to end at.
    pub(super) relative: f64,
}

impl HeadStart {
    /// For proximal Newton with l1, where the rows are many.
    pub(super) fn of<D: Design, L: Loss, R: Regulariser>(
        problem: &Problem<'_, D, L, R>,
        l1: f64,
    ) -> Option<Self> {
        match problem.n() / problem.d() {
            _ if l1 == 0.0 => None,
            // One Gram matrix of all features is the whole problem.
            _ if problem.loss().quadratic() && problem.d() <= FEW => None,
            1000.. => Some(HeadStart { one_in: 10, relative: 1e-2 }),
            100.. => Some(HeadStart { one_in: 5, relative: 0.1 }),
            _ => None,
        }
    }

    /// The rows, ascending: memory is read forward.
    pub(super) fn draw(&self, n: usize, rng: &mut Generator) -> Vec<usize> {
        let blocks = (0..n).step_by(self.one_in);
        blocks.map(|from| rng.random_range(from..n.min(from + self.one_in))).collect()
    }

    /// When to end on the rows, with this left for all.
    pub(super) fn stop(&self, left: Stop) -> Stop {
        let max_passes = MOST.min(left.max_passes / self.share());
        Stop { max_passes, max_seconds: left.max_seconds, ..Stop::at_relative(self.relative) }
    }

    /// What a pass over the rows costs, in passes over all.
    pub(super) fn share(&self) -> f64 {
        1.0 / self.one_in as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fenchel_optim::random::stream;

    #[test]
    fn what_is_left_for_all_limits_the_rows() {
        let head = HeadStart { one_in: 5, relative: 0.1 };
        let of = |max_passes, max_seconds| {
            let stop = head.stop(Stop { max_passes, max_seconds, ..Stop::default() });
            (stop.max_passes, stop.max_seconds, stop.relative)
        };
        assert_eq!(of(1e3, None), (100.0, None, 0.1));
        assert_eq!(of(4.0, Some(0.5)), (20.0, Some(0.5), 0.1));
    }

    #[test]
    fn one_row_is_drawn_of_each_block() {
        let head = HeadStart { one_in: 5, relative: 0.1 };
        let mut seen = [0; 13];
        for seed in 0..300 {
            let rows = head.draw(13, &mut stream(seed, 1));
            let blocks: Vec<usize> = rows.iter().map(|i| i / 5).collect();
            assert_eq!(blocks, [0, 1, 2]);
            rows.iter().for_each(|&i| seen[i] += 1);
        }
        // 60 expected, 100 in the short block: six standard deviations.
        let (full, short) = seen.split_at(10);
        assert!(full.iter().all(|s| (60_i32 - s).abs() < 42), "{seen:?}");
        assert!(short.iter().all(|s| (100_i32 - s).abs() < 50), "{seen:?}");
    }
}
