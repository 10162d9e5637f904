//! `fenchel-crf learn`

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};

use clap::ValueEnum;
use fenchel_crf::{
    Corpus, CorpusBuilder, Crf, CrfModel, Features, Instance, Method, Progress, Report, Status,
    Stop, Support, Weights,
};
use fenchel_optim::{Cadence, Certificate};

use crate::Failure;
use crate::eval::Evaluation;
use crate::input::{self, Columns, Entry, Format, Recipe, Source, Templates, shown};
use crate::output::Target;
use crate::progress::Display;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Where to save the model; without it nothing is saved
    #[arg(short, long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// What trains
    #[arg(short, long, value_enum, default_value_t = Algorithm::Auto)]
    algorithm: Algorithm,
    /// Weight of the squared norm against the sum over the sequences, as in CRFsuite [default: 1]
    #[arg(long, value_name = "X", conflicts_with = "l2")]
    c2: Option<f64>,
    /// The same against the mean: c2 = n l2 / 2
    #[arg(long, value_name = "X")]
    l2: Option<f64>,
    /// Weight of the l1 norm, as in CRFsuite
    #[arg(long, value_name = "X")]
    c1: Option<f64>,
    /// Leave out attributes that occur fewer times
    #[arg(long, value_name = "N")]
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
    #[arg(long, value_name = "RELATIVE")]
    tolerance: Option<f64>,
    /// End after so many passes over the data
    #[arg(long, value_name = "N")]
    max_passes: Option<f64>,
    /// Passes between two checks [default: 1 with --dev, else by the decay of the gap]
    #[arg(long, value_name = "PASSES")]
    check: Option<f64>,
    /// Memory that SDCA may take for its marginals, in bytes; K, M and G are understood
    #[arg(long, value_name = "BYTES", default_value = "4G", value_parser = bytes)]
    max_memory: u64,
    /// Seed of the visits of SDCA
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Number of threads [default: all]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Labelled sequences that are not trained on: they choose the model that is saved
    #[arg(long, value_name = "FILE")]
    dev: Option<String>,
    /// End after so many checks without a better score on --dev
    #[arg(long, value_name = "CHECKS", requires = "dev")]
    patience: Option<u32>,
    /// Begin at the weights of a model; its names decide, so that the data may be other data
    #[arg(long, value_name = "MODEL")]
    resume: Option<PathBuf>,
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

fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err("expected a number, or one with K, M or G behind".to_owned()),
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
            max_passes: arguments.max_passes.unwrap_or(1000.0),
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
                    eprintln!("fenchel-crf: -p {parameter} has no counterpart here and is ignored");
                }
                _ => return Err(wrong("not a parameter; see --help for those that are")),
            }
        }
        Ok(found)
    }

    /// The estimator for a corpus of `n` sequences.
    fn estimator(&self, arguments: &Arguments, n: f64) -> Crf {
        let check = match arguments.check {
            Some(passes) => Cadence::Every(passes),
            None if arguments.dev.is_some() => Cadence::Every(1.0),
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
            max_memory: arguments.max_memory,
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

/// How often the user has asked to end.
static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

/// The first Ctrl-C ends the training at its next check, the second one the program.
fn watch_interrupts() {
    let done = ctrlc::set_handler(|| {
        if INTERRUPTS.fetch_add(1, Ordering::SeqCst) > 0 {
            std::process::exit(130);
        }
        eprintln!("\nending at the next check; once more to quit without saving");
    });
    if let Err(error) = done {
        eprintln!("fenchel-crf: Ctrl-C will not save a model: {error}");
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    crate::use_threads(arguments.threads)?;
    let parameters = Parameters::new(arguments)?;
    let target = arguments.model.as_deref().map(Target::new).transpose()?;
    let old = arguments.resume.as_deref().map(input::load_model).transpose()?;
    let template = arguments.templates.load(arguments.format)?;
    let template = template.or_else(|| old.as_ref().and_then(|old| old.template.clone()));
    let recipe = Recipe::new(arguments.format, template, &arguments.columns, true)?;

    let corpus = read_corpus(&arguments.files, &recipe, parameters.min_frequency)?;
    let held_out = arguments.dev.as_deref().map(|file| input::read_all(file, &recipe));
    let held_out = held_out.transpose()?;
    let n = corpus.data.sequences() as f64;
    let estimator = parameters.estimator(arguments, n);
    let mut display = Display::new(arguments.quiet, corpus.data.sequences(), parameters.tolerance);
    display.say(&heading(&corpus, &estimator)?);
    let start = old.map(|old| old.weights_for(&corpus.attributes, &corpus.labels));
    let mut judge = held_out.map(|instances| Judge::new(&corpus, instances)).transpose()?;
    watch_interrupts();

    display.head(judge.as_ref().map(Judge::name));
    let mut check = |progress: &Progress, weights: &dyn Fn() -> Weights| {
        let score = judge.as_mut().map(|judge| judge.look(progress, weights())).transpose()?;
        display.check(progress, score);
        let since_best = judge.as_ref().map_or(0, |judge| judge.since_best);
        let patient = arguments.patience.is_none_or(|patience| since_best < patience);
        Ok(patient && INTERRUPTS.load(Ordering::SeqCst) == 0)
    };
    let mut model = train(&estimator, &corpus, start.as_ref(), &mut check)?;
    if let Some(report) = &model.report {
        display.say(&summed(report, n));
    }
    if let Some(judge) = judge {
        display.say(&judge.put_best_into(&mut model)?);
    }
    model.template = recipe.template().cloned();
    if let Some(target) = &target {
        target.save(&model)?;
    }
    display.finish();
    let interrupted = INTERRUPTS.load(Ordering::SeqCst) > 0;
    Ok(if interrupted { ExitCode::from(130) } else { ExitCode::SUCCESS })
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

/// Whether a training goes on after a check, with a way to the weights there.
type Check<'c> =
    &'c mut dyn FnMut(&Progress, &dyn Fn() -> Weights) -> Result<bool, fenchel_crf::Error>;

/// Trains while `check` says so.
fn train(
    estimator: &Crf,
    corpus: &Corpus,
    start: Option<&Weights>,
    check: Check<'_>,
) -> Result<CrfModel, Failure> {
    let mut failed = None;
    let model = estimator.fit_watched(corpus, start, |progress, weights| {
        match check(progress, weights) {
            Ok(true) => ControlFlow::Continue(()),
            Ok(false) => ControlFlow::Break(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    failed.map_or(Ok(model), |error| Err(error.into()))
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
    let corpus = builder.finish(min_frequency)?;
    match input::not_crfsuite(corpus.labels.iter()).filter(|_| corpus.attributes.is_empty()) {
        Some(reason) => Err(Failure::Usage(reason.to_owned())),
        None => Ok(corpus),
    }
}

/// Follows the score on the held-out sequences and keeps the best weights.
struct Judge {
    instances: Vec<Instance>,
    model: CrfModel,
    name: &'static str,
    best: Option<(f64, Weights, Progress)>,
    /// Checks since then.
    since_best: u32,
}

impl Judge {
    fn new(corpus: &Corpus, instances: Vec<Instance>) -> Result<Self, Failure> {
        let weights = Weights::zeros(corpus.attributes.len(), corpus.labels.len());
        let model = CrfModel::new(corpus.attributes.clone(), corpus.labels.clone(), weights, None)?;
        let mut truth = Evaluation::default();
        for instance in &instances {
            let labels: Vec<&str> = instance.labels().collect();
            truth.add(&labels, &labels);
        }
        let name = truth.score().1;
        Ok(Judge { instances, model, name, best: None, since_best: 0 })
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn look(&mut self, progress: &Progress, weights: Weights) -> Result<f64, fenchel_crf::Error> {
        self.model.set_weights(weights)?;
        let mut evaluation = Evaluation::default();
        let found = self.model.tag_all(&self.instances)?;
        for (instance, labels) in self.instances.iter().zip(&found) {
            evaluation.add(&instance.labels().collect::<Vec<_>>(), labels);
        }
        let (score, _) = evaluation.score();
        if self.best.as_ref().is_none_or(|(best, _, _)| score > *best) {
            self.best = Some((score, self.model.weights().clone(), *progress));
            self.since_best = 0;
        } else {
            self.since_best += 1;
        }
        Ok(score)
    }

    /// Makes the model the best one that was seen, with what was proved about it; says which one that is.
    fn put_best_into(self, model: &mut CrfModel) -> Result<String, Failure> {
        let Some((score, weights, seen)) = self.best else { return Ok(String::new()) };
        // Only the last model is the one that the training ended with.
        let last = model.report.filter(|report| report.passes == seen.passes);
        let status = last.map_or(Status::Stopped, |report| report.status);
        model.set_weights(weights)?;
        model.report = Some(Report {
            status,
            certificate: seen.certificate,
            passes: seen.passes,
            oracle_calls: seen.oracle_calls,
            seconds: seen.seconds,
        });
        let gap = seen.certificate.relative();
        Ok(format!(
            "best {} {:.2} after {} passes: that model is kept, relative gap {gap:.2e}",
            self.name,
            100.0 * score,
            seen.passes
        ))
    }
}
