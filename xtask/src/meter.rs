//! This module shows the progress of an experiment. On a terminal it draws a bar. Otherwise it prints one line per quarter of the
//! work.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// The number of steps of the bar.
const FINE: f64 = 1000.0;

/// The progress of one experiment among those that take place at the same time. Any thread may report progress.
pub(crate) struct Meter<'b> {
    id: &'static str,
    bars: &'b MultiProgress,
    bar: ProgressBar,
    start: Instant,
    /// The number of quarters for which a line was printed.
    quarters: Mutex<u32>,
}

impl<'b> Meter<'b> {
    /// `place` is the position of the experiment in the run, such as `7 of 76`.
    pub(crate) fn new(bars: &'b MultiProgress, id: &'static str, place: &str, title: &str) -> Self {
        let bar = bars.add(ProgressBar::new(FINE as u64));
        let template = "{prefix:<22} [{bar:28}] {percent:>3} % {elapsed:>4}  {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(format!("{id:<12} {place}"));
        bar.set_message(title.to_owned());
        if bar.is_hidden() {
            eprintln!("{id:<12} {title}");
        } else {
            bar.enable_steady_tick(Duration::from_millis(250));
        }
        Meter { id, bars, bar, start: Instant::now(), quarters: Mutex::new(0) }
    }

    /// Reports the fraction of the work that is done, and a description of the current work.
    pub(crate) fn tick(&self, fraction: f64, doing: &str) {
        let fraction = if fraction.is_nan() { 0.0 } else { fraction.clamp(0.0, 1.0) };
        if !self.bar.is_hidden() {
            self.bar.set_position((fraction * FINE) as u64);
            self.bar.set_message(doing.to_owned());
            return;
        }
        let Ok(mut printed) = self.quarters.lock() else { return };
        if let Some(quarter) = next_quarter(fraction, *printed) {
            *printed = quarter;
            let seconds = self.start.elapsed().as_secs();
            eprintln!("{:<12} {:>3} % after {seconds} s: {doing}", self.id, 25 * quarter);
        }
    }

    /// The time since the start in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Replaces the bar by a line that remains on the terminal, above the bars of the others.
    pub(crate) fn finish(&self, line: &str) {
        self.bar.finish_and_clear();
        self.bars.suspend(|| eprintln!("{:<12} {line}", self.id));
    }
}

/// The quarter that `fraction` has reached since the last printed line. The last quarter is not reported, because it is the end.
fn next_quarter(fraction: f64, printed: u32) -> Option<u32> {
    let quarter = (4.0 * fraction) as u32;
    (quarter > printed && quarter < 4).then_some(quarter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarters_are_announced_once() {
        let mut printed = 0;
        let mut announced = Vec::new();
        for fraction in [0.0, 0.1, 0.3, 0.4, 0.2, 0.8, 0.9, 1.0] {
            if let Some(quarter) = next_quarter(fraction, printed) {
                printed = quarter;
                announced.push(quarter);
            }
        }
        assert_eq!(announced, [1, 3]);
    }
}
