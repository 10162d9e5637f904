//! `fenchel-crf learn`

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::atomic::{AtomicU32, Ordering};

use clap::ValueEnum;
use fenchel_crf::text::Template;
use fenchel_crf::{
    Corpus, CorpusBuilder, Crf, Features, Method, Progress, Report, Snapshot, Start, Status, Stop,
    Support, Watch,
};
use fenchel_optim::{Cadence, Certificate, MAX_MEMORY};

use crate::Failure;
use crate::input::{self, Columns, Entry, Format, Recipe, Source, Templates, shown};
use crate::output::{Checkpoints, Target};
use crate::progress::Display;
use crate::say::{log_to, say};

mod cross_validation;
mod groups;
mod judge;

use judge::Judge;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Where to save the model, - for standard output; without it nothing is saved
    #[arg(short, long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// What trains
    #[arg(short, long, value_enum, default_value_t = Algorithm::Auto)]
    algorithm: Algorithm,
    /// Weight of the squared norm against the sum over the sequences, as in CRFsuite [default: 1]
    #[arg(long, value_name = "X", conflicts_with = "l2", allow_hyphen_values = true)]
    c2: Option<f64>,
    /// The same against the mean: c2 = n l2 / 2
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    l2: Option<f64>,
    /// Weight of the l1 norm, as in CRFsuite
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    c1: Option<f64>,
    /// Leave out attributes that occur fewer times
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    min_frequency: Option<u32>,
    /// Weights for the pairs of attribute and label and the transitions that occur: CRFsuite's default, and ours
    #[arg(long, conflicts_with = "all_pairs")]
    observed: bool,
    /// Weights for all pairs
    #[arg(long)]
    all_pairs: bool,
    /// Give every token a bias, the first and the last one weights of their own; CRFsuite has none of these
    #[arg(long)]
    bias: bool,
    /// End at a duality gap of this fraction of the objective [default: 1e-4]
    #[arg(long, value_name = "RELATIVE", allow_hyphen_values = true)]
    tolerance: Option<f64>,
    /// End after so many passes over the data [default: 10000]; L-BFGS takes one step at least, which is two passes, and
    /// finishes a step that has begun
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    max_passes: Option<f64>,
    /// Passes between two checks [default: 1 with --dev or --holdout, else by the decay of the gap]
    #[arg(long, value_name = "PASSES", allow_hyphen_values = true)]
    check: Option<f64>,
    /// Memory that SDCA may take for its marginals, in bytes, with K, M or G behind; or none for no limit [default: 4G]
    #[arg(long, value_name = "BYTES")]
    max_memory: Option<Limit>,
    /// Seed of the visits of SDCA
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    seed: u64,
    /// Number of threads [default: all]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Labelled sequences that are not trained on: they choose the model that is saved
    #[arg(long, value_name = "FILE")]
    dev: Option<String>,
    /// End after so many checks without a better score on the held-out sequences
    #[arg(long, value_name = "CHECKS", allow_negative_numbers = true)]
    patience: Option<u32>,
    /// Begin at the weights of a model, or where a checkpoint was written; names decide, so that the data may be other data
    #[arg(long, value_name = "MODEL")]
    resume: Option<PathBuf>,
    /// Write a checkpoint, MODEL.checkpoint, every so many seconds; 0 for none. It is removed when the model is saved
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, allow_hyphen_values = true)]
    checkpoint: f64,
    /// Divide the sequences into so many groups, at random by --seed; without it every file is a group
    #[arg(short = 'g', long, value_name = "N", allow_negative_numbers = true)]
    split: Option<usize>,
    /// Hold this group out, from 1, as --dev does with a file
    #[arg(short = 'e', long, value_name = "GROUP", conflicts_with_all = ["dev", "cross_validate"], allow_negative_numbers = true)]
    holdout: Option<usize>,
    /// Train once without each of the groups (ten of one file) and show how well it is labelled; no model is saved
    #[arg(short = 'x', long, conflicts_with_all = ["model", "dev", "resume"])]
    cross_validate: bool,
    /// Write what is shown to this file as well
    #[arg(short = 'l', long, value_name = "FILE")]
    log_to_file: Option<PathBuf>,
    /// A parameter by CRFsuite's name: c1, c2, feature.minfreq, feature.possible_states, feature.possible_transitions,
    /// max_iterations, epsilon
    #[arg(short = 'p', long = "set", value_name = "NAME=VALUE")]
    parameters: Vec<String>,
    /// The form of the text [default: crfsuite, columns with templates]
    #[arg(long, value_enum)]
    format: Option<Format>,
    #[command(flatten)]
    templates: Templates,
    #[command(flatten)]
    columns: Columns,
    /// Show nothing
    #[arg(short, long)]
    quiet: bool,
    /// Labelled texts, plain or compressed; - or nothing for standard input
    #[arg(default_value = "-", hide_default_value = true)]
    files: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Algorithm {
    /// OWL-QN with --c1, else SDCA if it fits into memory, else L-BFGS
    Auto,
    /// Dual coordinate ascent
    Sdca,
    /// L-BFGS, with --c1 OWL-QN
    Lbfgs,
}

/// A number of bytes, or no limit.
#[derive(Debug, Clone, Copy)]
struct Limit(Option<u64>);

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" { Ok(Limit(None)) } else { bytes(text).map(|bytes| Limit(Some(bytes))) }
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err("expected a number, one with K, M or G behind, or none".to_owned()),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a whole number of bytes".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "more bytes than can be counted".to_owned())
}

/// The parameters after CRFsuite's names are translated.
#[derive(Debug, Clone)]
struct Parameters {
    c1: f64,
    c2: Option<f64>,
    l2: Option<f64>,
    min_frequency: u32,
    states: Support,
    transitions: Support,
    tolerance: f64,
    max_passes: f64,
    check_every: Option<f64>,
    checkpoint: f64,
}

impl Parameters {
    fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let possible = |number: f64| if number != 0.0 { Support::All } else { Support::Observed };
        let support = if arguments.all_pairs { Support::All } else { Support::Observed };
        let mut found = Parameters {
            c1: arguments.c1.unwrap_or(0.0),
            c2: arguments.c2,
            l2: arguments.l2,
            min_frequency: arguments.min_frequency.unwrap_or(0),
            states: support,
            transitions: support,
            tolerance: arguments.tolerance.unwrap_or(1e-4),
            max_passes: arguments.max_passes.unwrap_or(Crf::default().stop.max_passes),
            check_every: arguments.check,
            checkpoint: arguments.checkpoint,
        };
        for parameter in &arguments.parameters {
            let wrong = |reason: &str| Failure::Usage(format!("-p {parameter}: {reason}"));
            let (name, value) =
                parameter.split_once('=').ok_or_else(|| wrong("expected NAME=VALUE"))?;
            let number: f64 = value.parse().map_err(|_| wrong("expected a number"))?;
            match name {
                "c1" => found.c1 = number,
                "c2" if found.l2.is_some() => return Err(wrong("--l2 is given as well")),
                "c2" => found.c2 = Some(number),
                // CRFsuite compares a sum of values with this number, so that 2.5 lets 3 pass.
                "feature.minfreq" if (0.0..=f64::from(u32::MAX)).contains(&number) => {
                    found.min_frequency = number.ceil() as u32;
                }
                "feature.minfreq" => return Err(wrong("expected a number >= 0")),
                "feature.possible_states" => found.states = possible(number),
                "feature.possible_transitions" => found.transitions = possible(number),
                "max_iterations" => found.max_passes = number,
                "epsilon" => found.tolerance = number,
                "num_memories" | "period" | "delta" | "linesearch" | "max_linesearch"
                | "calibration.eta" => {
                    say(format_args!(
                        "fenchel-crf: -p {parameter} has no counterpart here and is ignored"
                    ));
                }
                _ => return Err(wrong("not a parameter; see --help for those that are")),
            }
        }
        found.check()?;
        Ok(found)
    }

    /// Ranges, by the names of the options, before any data are read.
    fn check(&self) -> Result<(), Failure> {
        for (name, value) in [
            ("c1", Some(self.c1)),
            ("c2", self.c2),
            ("l2", self.l2),
            ("tolerance", Some(self.tolerance)),
            ("max-passes", Some(self.max_passes)),
            ("checkpoint", Some(self.checkpoint)),
        ] {
            let value = value.unwrap_or(0.0);
            let unlimited = ["max-passes", "checkpoint"].contains(&name);
            if !(value >= 0.0) || value.is_infinite() && !unlimited {
                let reason = format!("{name} is {value}; expected a finite number >= 0");
                return Err(Failure::Usage(reason));
            }
        }
        match self.check_every {
            Some(passes) if !(passes > 0.0) => {
                let reason = format!("check is {passes}; expected a number > 0");
                Err(Failure::Usage(reason))
            }
            _ => Ok(()),
        }
    }

    /// The estimator for a corpus of `n` sequences.
    fn estimator(&self, arguments: &Arguments, n: f64) -> Crf {
        let check = match arguments.check {
            Some(passes) => Cadence::Every(passes),
            None if arguments.dev.is_some() || arguments.holdout.is_some() => Cadence::Every(1.0),
            None => Cadence::Adaptive,
        };
        Crf {
            l2: Some(self.l2.unwrap_or(2.0 * self.c2.unwrap_or(1.0) / n)),
            l1: self.c1 / n,
            features: Features {
                states: self.states,
                transitions: self.transitions,
                bias: arguments.bias,
                ends: arguments.bias,
            },
            method: match arguments.algorithm {
                Algorithm::Auto => Method::Auto,
                Algorithm::Sdca => Method::Sdca,
                Algorithm::Lbfgs => Method::Lbfgs,
            },
            max_memory: arguments.max_memory.map_or(MAX_MEMORY, |limit| limit.0),
            stop: Stop {
                relative: self.tolerance,
                max_passes: self.max_passes,
                check,
                ..Stop::default()
            },
            seed: arguments.seed,
        }
    }
}

/// How often the user, or the system, has asked to end.
static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

fn interrupted() -> bool {
    INTERRUPTS.load(Ordering::SeqCst) > 0
}

/// The first Ctrl-C, or signal to end, ends the training within a pass, the second one the program.
fn watch_interrupts() {
    let done = ctrlc::set_handler(|| {
        if INTERRUPTS.fetch_add(1, Ordering::SeqCst) > 0 {
            std::process::exit(130);
        }
        say("\nending within a pass; once more to quit without saving");
    });
    if let Err(error) = done {
        say(format_args!("fenchel-crf: Ctrl-C will not save a model: {error}"));
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    crate::use_threads(arguments.threads)?;
    if let Some(file) = &arguments.log_to_file {
        log_to(file)?;
    }
    let parameters = Parameters::new(arguments)?;
    if arguments.patience.is_some() && arguments.dev.is_none() && arguments.holdout.is_none() {
        let reason = "--patience needs held-out sequences: --dev FILE or --holdout GROUP";
        return Err(Failure::Usage(reason.to_owned()));
    }
    let target = arguments.model.as_deref().map(Target::new).transpose()?;
    let resumed = arguments.resume.as_deref().map(input::load_start).transpose()?;
    let template = arguments.templates.load(arguments.format)?;
    let template = template.or_else(|| resumed.as_ref()?.model.template.clone());
    let recipe = Recipe::new(arguments.format, template, &arguments.columns, true)?;

    if arguments.cross_validate {
        return cross_validation::run(arguments, &parameters, &recipe);
    }
    let (corpus, held_out) = match arguments.holdout {
        Some(group) => groups::hold_out(arguments, group, &parameters, &recipe)?,
        None => {
            let corpus = read_corpus(&arguments.files, &recipe, parameters.min_frequency)?;
            let held_out = arguments.dev.as_deref().map(|file| input::read_all(file, &recipe));
            (corpus, held_out.transpose()?)
        }
    };
    let n = corpus.data.sequences() as f64;
    let estimator = parameters.estimator(arguments, n);
    let mut display = Display::new(arguments.quiet, corpus.data.sequences(), parameters.tolerance);
    display.say(&heading(&corpus, &estimator)?);
    let mut judge = held_out.map(|instances| Judge::new(&corpus, instances)).transpose()?;
    watch_interrupts();

    display.head(judge.as_ref().map(Judge::name));
    let model = arguments.model.as_deref();
    let checkpoints = model.and_then(|path| Checkpoints::new(path, arguments.checkpoint));
    let mut follower = Follower {
        judge: judge.as_mut(),
        display: &mut display,
        patience: arguments.patience,
        checkpoints,
        template: recipe.template(),
        failed: None,
    };
    let start = resumed.map(Start::from);
    let mut model = estimator.fit_watched(&corpus, start, &mut follower)?;
    let Follower { checkpoints, failed, .. } = follower;
    if let Some(error) = failed {
        return Err(error.into());
    }
    if let Some(report) = &model.report {
        let trained = match &judge {
            Some(judge) => arguments.resume.is_some() || judge.best_after() > 0.0,
            None => false,
        };
        if let Err(failure) = check_use(report, trained, &corpus) {
            // Who interrupts a training knows that it was not at its end: no failure, but no model either.
            if report.status != Status::Stopped {
                return Err(failure);
            }
            say(format_args!("fenchel-crf: {failure}"));
            close(checkpoints, &display, "");
            display.finish();
            return Ok(ExitCode::from(130));
        }
        display.say(&ending(report, n, arguments.patience));
    }
    if let Some(judge) = judge {
        display.say(&judge.put_best_into(&mut model)?);
    }
    model.template = recipe.template().cloned();
    if let Some(target) = &target {
        target.save(&model)?;
    }
    close(checkpoints, &display, "the model is saved; ");
    display.finish();
    Ok(if interrupted() { ExitCode::from(130) } else { ExitCode::SUCCESS })
}

/// Removes the checkpoint of a training that came to its end; after an interruption says how to go on from it.
fn close(checkpoints: Option<Checkpoints>, display: &Display, saved: &str) {
    let Some(checkpoints) = checkpoints else { return };
    if interrupted() && checkpoints.path().exists() {
        let path = checkpoints.path().display();
        display.say(&format!("{saved}to go on: --resume {path}"));
    } else {
        checkpoints.remove();
    }
}

/// What is trained on, and how.
fn heading(corpus: &Corpus, estimator: &Crf) -> Result<String, Failure> {
    let method = match estimator.resolved(corpus)? {
        Method::Lbfgs if estimator.l1 > 0.0 => "OWL-QN",
        Method::Lbfgs => "L-BFGS",
        Method::Sdca | Method::Auto => "SDCA",
    };
    Ok(format!(
        "{} sequences, {} tokens, {} attributes, {} labels; training with {method}",
        corpus.data.sequences(),
        corpus.data.tokens(),
        corpus.attributes.len(),
        corpus.labels.len()
    ))
}

/// Shows a training, judges it on the held-out sequences, writes checkpoints, and ends it when asked.
struct Follower<'f> {
    judge: Option<&'f mut Judge>,
    display: &'f mut Display,
    patience: Option<u32>,
    checkpoints: Option<Checkpoints>,
    template: Option<&'f Template>,
    failed: Option<fenchel_crf::Error>,
}

impl Follower<'_> {
    /// Goes on unless somebody asked to end; then leaves a checkpoint.
    fn goes_on(&mut self, at: &Snapshot<'_>) -> ControlFlow<()> {
        let at = at.with_template(self.template);
        if interrupted() {
            if let Some(checkpoints) = &mut self.checkpoints {
                checkpoints.write(&at);
            }
            return ControlFlow::Break(());
        }
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.tick(&at);
        }
        ControlFlow::Continue(())
    }
}

impl Watch for &mut Follower<'_> {
    fn check(&mut self, progress: &Progress, at: &Snapshot<'_>) -> ControlFlow<()> {
        let score = self.judge.as_mut().map(|judge| judge.look(progress, at.weights())).transpose();
        let score = match score {
            Ok(score) => score,
            Err(error) => {
                self.failed = Some(error);
                return ControlFlow::Break(());
            }
        };
        self.display.check(progress, score);
        let since_best = self.judge.as_ref().map_or(0, |judge| judge.since_best);
        if self.patience.is_some_and(|patience| since_best >= patience) {
            return ControlFlow::Break(());
        }
        self.goes_on(at)
    }

    fn pass(&mut self, at: &Snapshot<'_>) -> ControlFlow<()> {
        self.goes_on(at)
    }
}

/// Refuses weights that must not take the place of a good model: of a training that diverged, and of one that ended before it
/// converged where they are no better than none. `trained`: held-out sequences have chosen weights after the start.
fn check_use(report: &Report, trained: bool, corpus: &Corpus) -> Result<(), Failure> {
    let n = corpus.data.sequences() as f64;
    let without = corpus.data.tokens() as f64 * (corpus.labels.len() as f64).ln();
    // The sums are not rounded alike.
    let below = |objective: f64| n * objective < without * (1.0 - 1e-9);
    let better = report.certificate.objective().is_some_and(below);
    match report.status {
        Status::Diverged => Err(Failure::Diverged { report: summed(report, n) }),
        Status::Converged => Ok(()),
        Status::Stopped if better || trained => Ok(()),
        Status::Stopped => Err(Failure::Useless { report: ending(report, n, None), without }),
        _ if better || report.passes == 0.0 => Ok(()),
        _ => Err(Failure::Useless { report: summed(report, n), without }),
    }
}

/// How the training ended, in the words of who ended it.
fn ending(report: &Report, n: f64, patience: Option<u32>) -> String {
    let text = summed(report, n);
    let reason = match (report.status, patience) {
        (Status::Stopped, _) if interrupted() => "interrupted".to_owned(),
        (Status::Stopped, Some(checks)) => format!("no better score in {checks} checks, ended"),
        _ => return text,
    };
    text.replacen(&Status::Stopped.to_string(), &reason, 1)
}

/// A report in the sums that the lines before it show.
fn summed(report: &Report, n: f64) -> String {
    let certificate = match report.certificate {
        Certificate::Gap { objective, lower_bound } => {
            Certificate::Gap { objective: n * objective, lower_bound: n * lower_bound }
        }
        Certificate::Residual { objective, norm, error } => Certificate::Residual {
            objective: objective.map(|objective| n * objective),
            norm: n * norm,
            error: n * error,
        },
        Certificate::Uncertified { objective } => {
            Certificate::Uncertified { objective: objective.map(|objective| n * objective) }
        }
    };
    Report { certificate, ..*report }.to_string()
}

fn read_corpus(files: &[String], recipe: &Recipe, min_frequency: u32) -> Result<Corpus, Failure> {
    let mut builder = CorpusBuilder::new();
    let mut entry = Entry::default();
    for file in files {
        let before = builder.len();
        let mut source = Source::open(file, recipe)?;
        while source.read(&mut entry)? {
            builder.push(&entry.instance).map_err(|error| Failure::crf(&shown(file), error))?;
        }
        if builder.len() == before {
            return Err(Failure::file(shown(file), "no sequences"));
        }
    }
    finish(builder, min_frequency)
}

/// The corpus, if it is one of attributes.
fn finish(builder: CorpusBuilder, min_frequency: u32) -> Result<Corpus, Failure> {
    let corpus = builder.finish(min_frequency)?;
    match input::not_crfsuite(corpus.labels.iter()).filter(|_| corpus.attributes.is_empty()) {
        Some(reason) => Err(Failure::Usage(reason.to_owned())),
        None => Ok(corpus),
    }
}
