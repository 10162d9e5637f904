//! The display of a running fit.

use std::io::IsTerminal;
use std::time::Duration;

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
    /// The first relative certificate.
    from: Option<f64>,
    held_out: Option<&'static str>,
}

const STEPS: u64 = 1000;

impl Display {
    /// A display of objectives times `scale`, for a fit that ends at the relative tolerance.
    pub fn new(quiet: bool, scale: f64, tolerance: f64) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(STEPS);
            let style = ProgressStyle::with_template(
                "{bar:40} {percent:>3}% of the way to the tolerance, {elapsed}",
            );
            bar.set_style(style.expect("a constant"));
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Display { bar, quiet, scale, tolerance, from: None, held_out: None }
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
        let number = |value| number(value, self.scale);
        let objective = certificate.objective().map_or("-".to_owned(), |p| number(sum(p)));
        let (dual, gap) = match certificate {
            &Certificate::Gap { lower_bound, .. } => {
                (number(sum(lower_bound)), format!("{:.2e}", sum(certificate.value())))
            }
            Certificate::Residual { norm, .. } => ("-".to_owned(), format!("|{:.1e}|", sum(*norm))),
            Certificate::Uncertified { .. } => ("-".to_owned(), "-".to_owned()),
        };
        let score = match (self.held_out, score) {
            (Some(_), Some(score)) => format!("  {:>14.2}", 100.0 * score),
            (Some(_), None) => format!("  {:>14}", ""),
            _ => String::new(),
        };
        let relative = certificate.relative();
        self.say(&format!(
            "{:6.1} {objective:>15} {dual:>15} {gap:>10} {relative:>10.2e}{score} {:8.2}",
            progress.passes, progress.seconds
        ));
        if relative.is_finite() && relative > 0.0 {
            let from = *self.from.get_or_insert(relative);
            let done = (from / relative).ln() / (from / self.tolerance).ln();
            if let Some(bar) = &self.bar {
                bar.set_position((done.clamp(0.0, 1.0) * STEPS as f64) as u64);
            }
        }
    }

    /// Removes the bar.
    pub fn finish(self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A number with three decimals if it is a sum over many, with eight if it is a mean; in scientific notation if that would not
/// fit into its column.
fn number(value: f64, scale: f64) -> String {
    match value.abs() {
        size if size < 1e10 && scale != 1.0 => format!("{value:.3}"),
        size if (1e-4..1e5).contains(&size) || size == 0.0 => format!("{value:.8}"),
        _ => format!("{value:.6e}"),
    }
}
