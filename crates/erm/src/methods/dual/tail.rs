//! The average of the last iterates, for losses that are not differentiable.

/// Averages of the dual variables over at least the last half and at most the last three quarters of the steps.
///
/// The cost is O(1) per step. A dual variable is added to its sum when it changes, multiplied by the number of steps
/// that it was unchanged. Sums are stored at every power of two of passes, and the average begins at the last but one
/// of these.
#[derive(Debug, Clone)]
pub(super) struct Tail {
    steps: u64,
    /// `sum` of `s_i` over the steps `1..=until[i]`
    sums: Vec<f64>,
    until: Vec<u64>,
    older: Mark,
    newer: Mark,
}

/// The sums over the steps `1..=steps`.
#[derive(Debug, Clone)]
struct Mark {
    steps: u64,
    sums: Vec<f64>,
}

impl Tail {
    pub(super) fn new(n: usize) -> Self {
        let start = Mark { steps: 0, sums: vec![0.0; n] };
        Tail { steps: 0, sums: vec![0.0; n], until: vec![0; n], older: start.clone(), newer: start }
    }

    /// Counts a step in which the dual variable of term `j` changes from `old`.
    #[inline]
    pub(super) fn record(&mut self, j: usize, old: f64) {
        self.sums[j] += old * (self.steps - self.until[j]) as f64;
        self.until[j] = self.steps;
        self.steps += 1;
        // The new value holds from this step on.
    }

    /// Called after each step. When the number of passes reaches a power of two, the start of the average moves on.
    #[inline]
    pub(super) fn mark(&mut self, dual: &[f64]) {
        let n = dual.len() as u64;
        if self.steps.is_multiple_of(n) && (self.steps / n).is_power_of_two() {
            let mut mark = std::mem::replace(&mut self.older, Mark { steps: 0, sums: Vec::new() });
            mark.steps = self.steps;
            self.sums_until_now(dual, &mut mark.sums);
            self.older = std::mem::replace(&mut self.newer, mark);
        }
    }

    fn sums_until_now(&self, dual: &[f64], out: &mut [f64]) {
        for (i, (out, &s)) in out.iter_mut().zip(dual).enumerate() {
            *out = self.sums[i] + s * (self.steps - self.until[i]) as f64;
        }
    }

    /// Writes the average. Returns false before the first step.
    pub(super) fn average(&self, dual: &[f64], out: &mut [f64]) -> bool {
        if self.steps == self.older.steps {
            return false;
        }
        self.sums_until_now(dual, out);
        let count = (self.steps - self.older.steps) as f64;
        for (out, from) in out.iter_mut().zip(&self.older.sums) {
            *out = (*out - from) / count;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_the_window_exactly() {
        let n = 3;
        let (mut tail, mut dual) = (Tail::new(n), vec![0.0; n]);
        let mut history: Vec<Vec<f64>> = vec![];
        for step in 1..=40u32 {
            let j = (step as usize * 7 + step as usize / 4) % n;
            tail.record(j, dual[j]);
            dual[j] = f64::from(step * step % 11);
            history.push(dual.clone());
            tail.mark(&dual);
            // The last but one power of two of passes, in steps.
            let passes = step as usize / n;
            let power = if passes == 0 { 0 } else { 1 << passes.ilog2() };
            let from = if power <= 1 { 0 } else { power / 2 * n };
            let mut average = vec![0.0; n];
            assert!(tail.average(&dual, &mut average));
            for c in 0..n {
                let sum: f64 = history[from..].iter().map(|s| s[c]).sum();
                let expected = sum / (history.len() - from) as f64;
                assert!((average[c] - expected).abs() < 1e-12, "step {step}");
            }
            assert!(2 * from <= step as usize, "half of the steps at least");
        }
    }
}
