//! `fenchel fit`

mod plan;
mod report;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use fenchel_cli::Failure;
use fenchel_cli::interrupts::{self, interrupted};
use fenchel_cli::output::{Target, check_apart};
use fenchel_cli::progress::Display;
use fenchel_cli::say::complain;
use fenchel_finite_sum::Standardiser;
use fenchel_finite_sum::estimators::Choose;
use fenchel_finite_sum::prelude::{Certificate, Invalid, MAX_MEMORY, Progress, Refusal, Status};
use fenchel_linalg::Named;

use crate::data::{Data, Encode, Rows, Source, with_rows};
use crate::model::Fitted;
use plan::{Outcome, Plan};

/// The kind of model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// Two classes, with probabilities
    Logistic,
    /// Several classes, with probabilities
    Softmax,
    /// Two classes, by a margin (squared hinge)
    Svc,
    /// A number, by least squares
    Linear,
    /// A count or a rate
    Poisson,
}

/// How cross-validation chooses a penalty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Rule {
    /// The best mean score
    Best,
    /// The largest penalty within one standard error of the best
    OneStandardError,
}

impl From<Rule> for Choose {
    fn from(rule: Rule) -> Self {
        match rule {
            Rule::Best => Choose::Best,
            Rule::OneStandardError => Choose::OneStandardError,
        }
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    fenchel fit logistic train.svm --l1 1e-3 -m model.json\n  \
    fenchel fit linear houses.csv --target price --standardise --cv -m model.json\n  \
    fenchel fit logistic customers.csv --target left --without id -m model.json\n  \
    fenchel fit poisson counts.csv --l2 0.1 --max-seconds 60 --json\n\n\
    A column of texts in CSV becomes one feature for each text; a missing number becomes the mean of its column.\n\
    The objective is the mean loss + l1 |w|_1 + l2/2 |w|^2; the intercept is not penalised.\n\
    Ctrl-C ends the fit within a pass and saves the model so far; the exit code is then 130.")]
pub(crate) struct Arguments {
    /// What is fitted
    #[arg(value_enum)]
    kind: Kind,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    encode: Encode,
    /// Where to save the model; - is standard output, and the report goes to standard error
    #[arg(short, long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// Weight of the l1 norm [default: 0]
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    l1: Option<f64>,
    /// Weight of half the squared norm [default: 0 where --l1 is given, else 1/rows, for poisson 1]
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    l2: Option<f64>,
    /// Choose the penalty by cross-validation
    #[arg(long, conflicts_with_all = ["l1", "l2", "start"])]
    cv: bool,
    /// The number of groups of --cv
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
        requires = "cv",
        allow_negative_numbers = true
    )]
    folds: usize,
    /// Shares of the l1 norm that --cv tries, from 0 (l2 alone) to 1 (l1 alone)
    #[arg(
        long,
        value_name = "R,...",
        value_delimiter = ',',
        default_value = "0",
        requires = "cv",
        allow_hyphen_values = true
    )]
    l1_ratio: Vec<f64>,
    /// How --cv chooses
    #[arg(long, value_enum, default_value_t = Rule::Best, requires = "cv")]
    choose: Rule,
    /// Fit on features of mean 0 and deviation 1, in a dense copy; the model takes the features as they are
    #[arg(long)]
    standardise: bool,
    /// The hinge of svc instead of its square
    #[arg(long)]
    hinge: bool,
    /// Fit no intercept
    #[arg(long)]
    no_intercept: bool,
    /// Start from a model of the same kind and the same features
    #[arg(long, value_name = "MODEL", conflicts_with = "standardise")]
    start: Option<PathBuf>,
    /// End when the certificate is at most this fraction of the objective
    #[arg(long, value_name = "RELATIVE", default_value_t = 1e-4, allow_hyphen_values = true)]
    tolerance: f64,
    /// End after this many passes over the data; inf for no limit
    #[arg(long, value_name = "N", default_value_t = 1000.0, allow_hyphen_values = true)]
    max_passes: f64,
    /// End after this many seconds; of --cv, all fits together
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    max_seconds: Option<f64>,
    /// Seed of the visiting order and of the groups
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    seed: u64,
    /// Number of threads [default: all]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Write the report as one JSON object
    #[arg(long)]
    json: bool,
    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let plan = Plan::new(arguments)?;
    let target = outputs(arguments)?;
    fenchel_cli::use_threads(arguments.threads)?;
    let start = arguments.start.as_deref().map(Fitted::load).transpose()?;
    let start = start.map(|fitted| fitted.model);
    let (Data { rows, encoder, .. }, y) = arguments.source.read(&arguments.encode)?;
    let (n, d) = rows.shape();
    let mut display = Display::new(arguments.quiet, 1.0, arguments.tolerance);
    display.say(&format!("{n} rows, {d} features"));
    let scale = match arguments.standardise {
        true => Some(scale(&rows).map_err(|error| Failure::file(arguments.source.name(), error))?),
        false => None,
    };
    interrupts::watch();
    if !arguments.cv {
        display.head(None);
    }
    let mut last: Option<Certificate> = None;
    let mut watch = |progress: &Progress| {
        // A line for each certificate. The fits of a cross-validation run side by side, and have none.
        if !arguments.cv && last != Some(progress.certificate) {
            last = Some(progress.certificate);
            display.check(progress, None);
        }
        if interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let fitted = match &scale {
        None => with_rows!(&rows, x => plan.fit(x, &y, start.as_ref(), &mut watch)),
        Some(scale) => scaled(&rows, scale).and_then(|x| {
            let Outcome { model, scores } = plan.fit(&x, &y, None, &mut watch)?;
            Ok(Outcome { model: model.for_raw_features(scale)?, scores })
        }),
    };
    let seconds = display.seconds();
    display.finish();
    let Outcome { model, scores } = fitted.map_err(|error| plan.named(arguments, error))?;
    let fitted = Fitted { encoder, model };
    let report = fitted.model.report();
    if report.status == Status::Diverged {
        return Err(Failure::Diverged { report: report.to_string() });
    }
    // The model is where it began: a file of before is better.
    let unmoved = report.passes == 0.0
        && matches!(report.status, Status::Stopped | Status::TimeLimit | Status::PassLimit);
    match &target {
        Some(_) if unmoved => complain("the fit ended before its first pass; nothing was saved"),
        Some(target) => fitted.save(target)?,
        None => {}
    }
    let score = with_rows!(&rows, x => fitted.model.score(x, &y)).ok();
    report::write(arguments, &fitted.model, scores.as_ref(), (n, d), score, seconds)?;
    Ok(match target {
        _ if interrupted() => ExitCode::from(130),
        Some(_) if unmoved => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    })
}

/// Where the model goes. What is read is not written to.
fn outputs(arguments: &Arguments) -> Result<Option<Target>, Failure> {
    let Some(path) = arguments.model.as_deref() else { return Ok(None) };
    if path == Path::new("-") && arguments.json {
        let reason = "--json and --model -: both would go to standard output";
        return Err(Failure::Usage(reason.to_owned()));
    }
    check_apart("--model", path, &arguments.source.path().into_iter().collect::<Vec<_>>())?;
    Target::new(path).map(Some)
}

/// Means and deviations, if there is memory for the dense copy.
fn scale(rows: &Rows) -> Result<Standardiser, fenchel_finite_sum::Error> {
    let (n, d) = rows.shape();
    let needed = (n as u64).saturating_mul(d as u64).saturating_mul(8);
    let hint = "leave out --standardise, or scale the sparse columns yourself";
    Refusal::check_memory("the dense copy of --standardise", needed, MAX_MEMORY, hint)?;
    with_rows!(rows, x => Ok(Standardiser::fit(x)?))
}

fn scaled(
    rows: &Rows,
    scale: &Standardiser,
) -> Result<Named<ndarray::Array2<f64>>, fenchel_finite_sum::Error> {
    let x = with_rows!(rows, x => scale.transform(x)?);
    Ok(Named { x, names: rows.names().clone() })
}

impl Arguments {
    /// Checks numbers before any data are read, with the names of the options.
    fn check(&self) -> Result<(), Failure> {
        for (name, value) in [
            ("l1", self.l1),
            ("l2", self.l2),
            ("tolerance", Some(self.tolerance)),
            ("max-seconds", self.max_seconds),
        ] {
            Invalid::check_nonnegative(name, value.unwrap_or(0.0))?;
        }
        if !(self.max_passes >= 0.0) {
            let reason = format!("max-passes = {}; expected a number >= 0", self.max_passes);
            return Err(Failure::Usage(reason));
        }
        if let Some(ratio) = self.l1_ratio.iter().find(|ratio| !(0.0..=1.0).contains(*ratio)) {
            let reason = format!("l1-ratio = {ratio}; expected a number from 0 to 1");
            return Err(Failure::Usage(reason));
        }
        if self.cv && self.folds < 2 {
            let reason = format!("folds = {}; expected a number >= 2", self.folds);
            return Err(Failure::Usage(reason));
        }
        Ok(())
    }
}
