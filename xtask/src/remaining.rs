//! This module estimates the time that a run of many experiments still needs.

use fenchel_linalg::text;

/// The durations of the experiments of a run, of which several may take place at a time.
pub(crate) struct Remaining {
    /// How many experiments there are in all, and how many were begun.
    all: usize,
    begun: usize,
    /// How many take place at a time.
    at_a_time: usize,
    /// The experiments that have not ended, with their seconds in an earlier run, if there was one.
    left: Vec<(&'static str, Option<f64>)>,
    /// The seconds of those that have ended, in an earlier run and in this one.
    past: Vec<(Option<f64>, f64)>,
}

impl Remaining {
    pub(crate) fn new(left: Vec<(&'static str, Option<f64>)>, at_a_time: usize) -> Self {
        Remaining { all: left.len(), begun: 0, at_a_time, left, past: Vec::new() }
    }

    /// The position of an experiment that begins, such as `7 of 76`.
    pub(crate) fn begin(&mut self) -> String {
        self.begun = (self.begun + 1).min(self.all);
        format!("{} of {}", self.begun, self.all)
    }

    /// Records the duration of a finished experiment, and says what is left, such as `12 of 76, about 6 min 10 s to go`.
    pub(crate) fn done(&mut self, id: &str, seconds: f64) -> String {
        if let Some(at) = self.left.iter().position(|(left, _)| *left == id) {
            self.past.push((self.left.remove(at).1, seconds));
        }
        let count = format!("{} of {}", self.past.len(), self.all);
        match self.seconds() {
            _ if self.left.is_empty() => count,
            Some(seconds) => format!("{count}, about {} to go", text::seconds(seconds)),
            None => count,
        }
    }

    /// The estimated time of the remaining experiments in seconds. It is the sum of their durations in an earlier run, times the ratio
    /// of the time of this run so far to the time of the earlier run for the same experiments, over the number of experiments at a time.
    /// For an experiment without an earlier run, the mean of all known durations is used. The result is `None` if no duration is known.
    fn seconds(&self) -> Option<f64> {
        let both = self.past.iter().filter_map(|(f, t)| Some(((*f)?, *t)));
        let (before, now) = both.fold((0.0, 0.0), |sum, (f, t)| (sum.0 + f, sum.1 + t));
        let pace = if before > 0.0 { now / before } else { 1.0 };
        let ahead = self.left.iter().filter_map(|(_, f)| Some(pace * (*f)?));
        let known: Vec<f64> = ahead.chain(self.past.iter().map(|(_, t)| *t)).collect();
        if known.is_empty() {
            return None;
        }
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        let left: f64 = self.left.iter().map(|(_, f)| f.map_or(mean, |f| pace * f)).sum();
        Some(left / self.at_a_time as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_estimated_by_former_runs_at_the_pace_of_this_one() {
        let former = vec![("a", Some(10.0)), ("b", None), ("c", Some(30.0)), ("d", None)];
        let mut remaining = Remaining::new(former.clone(), 1);
        assert_eq!(remaining.begin(), "1 of 4");
        // The two without a former run take the mean, 20 s.
        assert_eq!(remaining.seconds(), Some(80.0));
        // Twice as slow as before: 60 s, and twice the mean of 20 s and 60 s.
        assert_eq!(remaining.done("a", 20.0), "1 of 4, about 2 min 20 s to go");
        // In any order.
        assert_eq!(remaining.done("d", 40.0), "2 of 4, about 1 min 40 s to go");
        assert_eq!(remaining.done("b", 1.0), "3 of 4, about 60 s to go");
        assert_eq!(remaining.done("c", 1.0), "4 of 4");
        assert_eq!(remaining.seconds(), Some(0.0));
        // Two at a time.
        assert_eq!(Remaining::new(former, 2).seconds(), Some(40.0));
        let unknown = vec![("a", None), ("b", None)];
        assert_eq!(Remaining::new(unknown, 2).seconds(), None);
    }
}
