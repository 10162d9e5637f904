//! How far an experiment is: a bar on a terminal, a line a quarter elsewhere.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Steps of the bar.
const FINE: f64 = 1000.0;

/// The progress of one experiment; may be told of it from any thread.
pub(crate) struct Meter {
    id: &'static str,
    bar: ProgressBar,
    start: Instant,
    /// Quarters that a plain line was printed for.
    quarters: Mutex<u32>,
}

impl Meter {
    /// `place` is where in the run the experiment stands: `7 of 76`.
    pub(crate) fn new(id: &'static str, place: &str, title: &str) -> Self {
        let bar = ProgressBar::new(FINE as u64);
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
        Meter { id, bar, start: Instant::now(), quarters: Mutex::new(0) }
    }

    /// Takes the fraction done and what is being done.
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

    /// The seconds that went by.
    pub(crate) fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Replaces the bar by a line that stays.
    pub(crate) fn finish(&self, line: &str) {
        self.bar.finish_and_clear();
        eprintln!("{:<12} {line}", self.id);
    }
}

/// The quarter that `fraction` has newly reached; the last one is the finish and not announced.
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
