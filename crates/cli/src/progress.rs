//! The display of a running fit.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use fenchel_linalg::text;
use fenchel_optim::{Certificate, Progress};
use indicatif::{ProgressBar, ProgressStyle};

use crate::say::{note, say};

/// The display: one line per check, and on a terminal a bar below that fills as the gap closes.
#[derive(Debug)]
pub struct Display {
    bar: Option<ProgressBar>,
    quiet: bool,
    /// Objectives are multiplied by this.
    scale: f64,
    tolerance: f64,
    begin: Instant,
    /// The first relative certificate, and its time.
    from: Option<(f64, f64)>,
    held_out: Option<&'static str>,
}

const STEPS: u64 = 1000;

impl Display {
    /// A display of objectives times `scale`, for a fit that begins now and ends at the relative tolerance.
    pub fn new(quiet: bool, scale: f64, tolerance: f64) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(STEPS);
            let style = ProgressStyle::with_template(
                "{bar:40} {percent:>3}% of the way to the tolerance, {elapsed}{msg}",
            );
            bar.set_style(style.expect("a constant"));
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Display { bar, quiet, scale, tolerance, begin: Instant::now(), from: None, held_out: None }
    }

    /// Seconds on the clock since the fit began, with checks and held-out scores.
    pub fn seconds(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// Prints a line of text above the bar.
    pub fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => {
                bar.println(line);
                note(line);
            }
            None if self.quiet => note(line),
            None => say(line),
        }
    }

    /// Prints the names of the columns; `held_out` is that of the held-out score, if there is one.
    pub fn head(&mut self, held_out: Option<&'static str>) {
        self.held_out = held_out;
        let score = held_out.map_or(String::new(), |name| format!("  {name:>14}"));
        let (primal, dual) = ("primal", "dual");
        self.say(&format!("passes {primal:>15} {dual:>15}        gap   relative{score}  seconds"));
    }

    /// Shows a check.
    pub fn check(&mut self, progress: &Progress, score: Option<f64>) {
        let certificate = &progress.certificate;
        let sum = |value: f64| value * self.scale;
        let number = |value| number(sum(value), self.scale);
        let objective = certificate.objective().map_or("-".to_owned(), number);
        let (dual, gap) = match certificate {
            &Certificate::Gap { lower_bound, .. } => {
                (number(lower_bound), text::number(sum(certificate.value()), 3))
            }
            Certificate::Residual { norm, .. } => {
                ("-".to_owned(), format!("|{}|", text::number(sum(*norm), 2)))
            }
            Certificate::Uncertified { .. } => ("-".to_owned(), "-".to_owned()),
        };
        let score = match (self.held_out, score) {
            (Some(_), Some(score)) => format!("  {:>14}", text::fixed(100.0 * score, 2)),
            (Some(_), None) => format!("  {:>14}", ""),
            _ => String::new(),
        };
        let relative = certificate.relative();
        let seconds = self.seconds();
        self.say(&format!(
            "{:6.1} {objective:>15} {dual:>15} {gap:>10} {:>10}{score} {seconds:8.2}",
            progress.passes,
            text::number(relative, 3)
        ));
        let Some(bar) = &self.bar else { return };
        if relative.is_finite() && relative > 0.0 {
            let (from, since) = *self.from.get_or_insert((relative, seconds));
            let done = ((from / relative).ln() / (from / self.tolerance).ln()).clamp(0.0, 1.0);
            bar.set_position((done * STEPS as f64) as u64);
            bar.set_message(match left(seconds - since, done) {
                Some(left) => format!(", about {} to go", text::seconds(left)),
                None => String::new(),
            });
        }
    }

    /// Removes the bar.
    pub fn finish(self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The seconds that are left if the rest of the way is as quick as the part that is done. Nothing is known of it before a
/// hundredth is done.
fn left(seconds: f64, done: f64) -> Option<f64> {
    (0.01..1.0).contains(&done).then(|| seconds * (1.0 - done) / done)
}

/// A number with three decimals if it is a sum over many, else with nine digits.
fn number(value: f64, scale: f64) -> String {
    if value.abs() < 1e10 && scale != 1.0 { text::fixed(value, 3) } else { text::number(value, 9) }
}
