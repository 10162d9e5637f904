//! Averages of the iterates of a run.

use serde::{Deserialize, Serialize};

/// Which average of its iterates a stochastic method returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum Average {
    /// The last one.
    #[default]
    Last,
    /// The mean of all of them.
    Uniform,
    /// The mean of the iterates after this fraction of the run, in `[0, 1)`. The early iterates, which still depend on the
    /// start, are left out.
    Tail {
        /// Fraction of the run that is left out.
        from: f64,
    },
}

impl Average {
    /// Whether the iterate after `step` of `steps` steps is part of the mean. The start is the iterate after 0 steps.
    pub fn takes(&self, step: u64, steps: u64) -> bool {
        match *self {
            Average::Last => step == steps,
            Average::Uniform => true,
            Average::Tail { from } => step as f64 >= from * steps as f64,
        }
    }

    /// Refuses a fraction outside `[0, 1)`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`](fenchel_linalg::Invalid::Parameter).
    pub fn check(&self) -> Result<(), fenchel_linalg::Invalid> {
        match *self {
            Average::Tail { from } if !(0.0..1.0).contains(&from) => {
                let (name, expected) = ("average.from", "a number in [0, 1)");
                Err(fenchel_linalg::Invalid::Parameter { name, value: from, expected })
            }
            _ => Ok(()),
        }
    }
}

/// A running mean of points, by the update `m <- m + (w / W) (x - m)`, which neither overflows nor cancels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunningMean {
    mean: Vec<f64>,
    weight: f64,
}

impl RunningMean {
    /// Of nothing yet.
    pub fn new() -> Self {
        RunningMean::default()
    }

    /// Adds a point. O(d).
    ///
    /// # Panics
    /// If its length is not that of the points before.
    pub fn add(&mut self, point: &[f64]) {
        self.add_weighted(point, 1.0);
    }

    /// Adds a point with a weight. A point of weight 0 changes nothing.
    ///
    /// # Panics
    /// If its length is not that of the points before.
    pub fn add_weighted(&mut self, point: &[f64], weight: f64) {
        if self.weight == 0.0 {
            self.mean.clear();
            self.mean.extend_from_slice(point);
            self.weight = weight.max(0.0);
            return;
        }
        assert_eq!(point.len(), self.mean.len(), "points of one length");
        if weight > 0.0 {
            self.weight += weight;
            let share = weight / self.weight;
            self.mean.iter_mut().zip(point).for_each(|(m, x)| *m += share * (x - *m));
        }
    }

    /// The mean; `None` before the first point with a positive weight.
    pub fn mean(&self) -> Option<&[f64]> {
        (self.weight > 0.0).then_some(self.mean.as_slice())
    }

    /// The total weight of the points that were added. Without weights it is their number.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Forgets all points.
    pub fn clear(&mut self) {
        self.weight = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_tail_leaves_the_beginning_out() {
        let taken = |average: Average| (0..=4).filter(|k| average.takes(*k, 4)).collect::<Vec<_>>();
        assert_eq!(taken(Average::Last), [4]);
        assert_eq!(taken(Average::Uniform), [0, 1, 2, 3, 4]);
        assert_eq!(taken(Average::Tail { from: 0.5 }), [2, 3, 4]);
        assert_eq!(taken(Average::Tail { from: 0.6 }), [3, 4]);
        for from in [-0.1, 1.0, f64::NAN] {
            assert!(Average::Tail { from }.check().is_err(), "{from}");
        }
        assert!(Average::Tail { from: 0.0 }.check().is_ok());
    }

    proptest! {
        #[test]
        fn the_mean_is_the_mean(
            points in proptest::collection::vec((-1e3..1e3f64, -1.0..1.0f64, 0.0..5.0f64), 1..40),
        ) {
            let mut mean = RunningMean::new();
            prop_assert_eq!(mean.mean(), None);
            for (a, b, weight) in &points {
                mean.add_weighted(&[*a, *b], *weight);
            }
            let total: f64 = points.iter().map(|p| p.2).sum();
            if total > 0.0 {
                let a = points.iter().map(|p| p.0 * p.2).sum::<f64>() / total;
                let b = points.iter().map(|p| p.1 * p.2).sum::<f64>() / total;
                let found = mean.mean().unwrap();
                prop_assert!((found[0] - a).abs() <= 1e-10 && (found[1] - b).abs() <= 1e-13);
                prop_assert!((mean.weight() - total).abs() <= 1e-12 * total);
            }
            mean.clear();
            mean.add(&[2.0]);
            prop_assert_eq!(mean.mean(), Some(&[2.0][..]));
        }

        /// The mean of equal numbers is that number, to the last bit.
        #[test]
        fn equal_points_are_their_mean(x in -1e300..1e300f64, n in 1..50) {
            let mut mean = RunningMean::new();
            (0..n).for_each(|_| mean.add(&[x]));
            prop_assert_eq!(mean.mean(), Some(&[x][..]));
        }
    }
}
