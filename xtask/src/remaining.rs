//! This module estimates the time that a run of many experiments still needs.

use fenchel_linalg::text;

/// The durations of the experiments of a run, in the order of the run.
pub(crate) struct Remaining {
    /// The duration of each experiment in an earlier run, in seconds, if there was one.
    former: Vec<Option<f64>>,
    /// The durations of the experiments that this run has finished, in seconds.
    taken: Vec<f64>,
}

impl Remaining {
    pub(crate) fn new(former: Vec<Option<f64>>) -> Self {
        Remaining { former, taken: Vec::new() }
    }

    /// Records the duration of a finished experiment.
    pub(crate) fn done(&mut self, seconds: f64) {
        self.taken.push(seconds);
    }

    /// The position of the next experiment, such as `7 of 76`.
    pub(crate) fn place(&self) -> String {
        format!("{} of {}", (self.taken.len() + 1).min(self.former.len()), self.former.len())
    }

    /// The estimated time of the remaining experiments in seconds. It is the sum of their durations in an earlier run, times the ratio
    /// of the time of this run so far to the time of the earlier run for the same experiments. For an experiment without an earlier
    /// run, the mean of all known durations is used. The result is `None` if no duration is known.
    pub(crate) fn seconds(&self) -> Option<f64> {
        let (past, future) = self.former.split_at(self.taken.len().min(self.former.len()));
        let both = || past.iter().zip(&self.taken).filter_map(|(f, t)| Some(((*f)?, *t)));
        let (before, now) = both().fold((0.0, 0.0), |sum, (f, t)| (sum.0 + f, sum.1 + t));
        let pace = if before > 0.0 { now / before } else { 1.0 };
        let known = self.former.iter().flatten().map(|f| pace * f);
        let new = past.iter().zip(&self.taken).filter(|(f, _)| f.is_none()).map(|(_, t)| *t);
        let all: Vec<f64> = known.chain(new).collect();
        if all.is_empty() {
            return None;
        }
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        Some(future.iter().map(|f| f.map_or(mean, |f| pace * f)).sum())
    }

    /// The text after an experiment, such as `12 of 76, about 6 min 10 s to go`.
    pub(crate) fn line(&self) -> String {
        let count = format!("{} of {}", self.taken.len(), self.former.len());
        match self.seconds() {
            _ if self.taken.len() >= self.former.len() => count,
            Some(seconds) => format!("{count}, about {} to go", text::seconds(seconds)),
            None => count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_estimated_by_former_runs_at_the_pace_of_this_one() {
        let mut remaining = Remaining::new(vec![Some(10.0), None, Some(30.0), None]);
        assert_eq!(remaining.place(), "1 of 4");
        // The two without a former run take the mean, 20 s.
        assert_eq!(remaining.seconds(), Some(80.0));
        remaining.done(20.0);
        // Twice as slow as before: 60 s, and twice the mean of 20 s and 60 s.
        assert_eq!(remaining.seconds(), Some(60.0 + 2.0 * 40.0));
        remaining.done(40.0);
        assert_eq!(remaining.seconds(), Some(60.0 + 40.0));
        assert_eq!(remaining.line(), "2 of 4, about 1 min 40 s to go");
        remaining.done(1.0);
        remaining.done(1.0);
        assert_eq!((remaining.line().as_str(), remaining.seconds()), ("4 of 4", Some(0.0)));
        assert_eq!(Remaining::new(vec![None; 3]).line(), "0 of 3");
    }
}
