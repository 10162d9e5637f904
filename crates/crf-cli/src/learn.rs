//! `fenchel-crf learn`

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use fenchel_crf::text::Template;
use fenchel_crf::training::{Snapshot, Start, train};
use fenchel_crf::{Corpus, CorpusBuilder, Crf, Method, Observer, Progress, Status};

use crate::Failure;
use crate::input::{self, Columns, Entry, Format, Recipe, Source, Templates, shown};
use crate::interrupts::{self, interrupted};
use crate::output::{Checkpoints, Target};
use crate::progress::Display;
use crate::say::{log_to, say};

mod cross_validation;
mod ending;
mod groups;
mod judge;
mod parameters;

use ending::{check_use, ending};
use judge::Judge;
use parameters::{Limit, Parameters};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Where to save the model; - is standard output; without this option the model is not saved
    #[arg(short, long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// What trains
    #[arg(short, long, value_enum, default_value_t = Algorithm::Auto)]
    algorithm: Algorithm,
    /// Weight of the squared norm, added to the sum over the sequences, as in CRFsuite [default: 1]
    #[arg(long, value_name = "X", conflicts_with = "l2", allow_hyphen_values = true)]
    c2: Option<f64>,
    /// Weight of the squared norm, added to the mean over the sequences: c2 = n l2 / 2
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    l2: Option<f64>,
    /// Weight of the l1 norm, as in CRFsuite
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    c1: Option<f64>,
    /// Leave out attributes that occur fewer than this many times
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    min_frequency: Option<u32>,
    /// Only pairs of attribute and label, and transitions, that occur have weights: the default here and in CRFsuite
    #[arg(long, conflicts_with = "all_pairs")]
    observed: bool,
    /// Weights for all pairs
    #[arg(long)]
    all_pairs: bool,
    /// Give every token a bias, and the first and the last token weights of their own; CRFsuite has none of these
    #[arg(long)]
    bias: bool,
    /// End when the duality gap is at most this fraction of the objective [default: 1e-4]
    #[arg(long, value_name = "RELATIVE", allow_hyphen_values = true)]
    tolerance: Option<f64>,
    /// End after this many passes over the data [default: 10000]; L-BFGS takes at least one step, which is two passes, and
    /// finishes a step that it has begun
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    max_passes: Option<f64>,
    /// Passes between two checks [default: 1 with --dev or --holdout, else chosen from the decay of the gap]
    #[arg(long, value_name = "PASSES", allow_hyphen_values = true)]
    check: Option<f64>,
    /// Memory that SDCA may take for its marginals, in bytes, or with the suffix K, M or G; none for no limit [default: 4G]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    max_memory: Option<Limit>,
    /// Seed of the random order of SDCA
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    seed: u64,
    /// Number of threads [default: all]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    threads: Option<usize>,
    /// Labelled sequences that are not used for training: the saved model is the one with the best score on them
    #[arg(long, value_name = "FILE")]
    dev: Option<String>,
    /// End after this many checks without a better score on the held-out sequences
    #[arg(long, value_name = "CHECKS", allow_negative_numbers = true)]
    patience: Option<u32>,
    /// Start from the weights of a model, or from a checkpoint; they are matched by name, so that the data may differ
    #[arg(long, value_name = "MODEL")]
    resume: Option<PathBuf>,
    /// Write a checkpoint, MODEL.checkpoint, at intervals of this many seconds; 0 for none. It is removed when the model is
    /// saved
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, allow_hyphen_values = true)]
    checkpoint: f64,
    /// Divide the sequences into this many groups at random (--seed); without this option every file is a group
    #[arg(short = 'g', long, value_name = "N", allow_negative_numbers = true)]
    split: Option<usize>,
    /// Hold out this group, counted from 1, as --dev does with a file
    #[arg(short = 'e', long, value_name = "GROUP", conflicts_with_all = ["dev", "cross_validate"], allow_negative_numbers = true)]
    holdout: Option<usize>,
    /// Cross-validate: train once without each group (ten groups of a single file) and show the scores; no model is saved
    #[arg(short = 'x', long, conflicts_with_all = ["model", "dev", "resume"])]
    cross_validate: bool,
    /// Write the messages to this file as well
    #[arg(short = 'l', long, value_name = "FILE")]
    log_to_file: Option<PathBuf>,
    /// A parameter with its name in CRFsuite: c1, c2, feature.minfreq, feature.possible_states, feature.possible_transitions,
    /// max_iterations, epsilon
    #[arg(short = 'p', long = "set", value_name = "NAME=VALUE")]
    parameters: Vec<String>,
    /// The format of the text [default: crfsuite; columns if there are templates]
    #[arg(long, value_enum)]
    format: Option<Format>,
    #[command(flatten)]
    templates: Templates,
    #[command(flatten)]
    columns: Columns,
    /// Show nothing
    #[arg(short, long)]
    quiet: bool,
    /// Labelled texts, plain or compressed; - or no file is standard input
    #[arg(default_value = "-", hide_default_value = true)]
    files: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Algorithm {
    /// SDCA if it fits into memory, else L-BFGS, with --c1 OWL-QN
    Auto,
    /// Dual coordinate ascent
    Sdca,
    /// L-BFGS, with --c1 OWL-QN
    Lbfgs,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    crate::use_threads(arguments.threads)?;
    check_outputs(arguments)?;
    if let Some(file) = &arguments.log_to_file {
        log_to(file)?;
    }
    let parameters = Parameters::new(arguments)?;
    if arguments.patience == Some(0) {
        return Err(Failure::Usage("--patience 0: expected a number >= 1".to_owned()));
    }
    if arguments.patience.is_some() && arguments.dev.is_none() && arguments.holdout.is_none() {
        let reason = "--patience needs held-out sequences: --dev FILE or --holdout GROUP";
        return Err(Failure::Usage(reason.to_owned()));
    }
    let target = arguments.model.as_deref().map(Target::new).transpose()?;
    let resumed = arguments.resume.as_deref().map(input::load_start).transpose()?;
    let template = arguments.templates.load(arguments.format)?;
    let template = template.or_else(|| resumed.as_ref()?.model().template.clone());
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
    let start = resumed.map(|resumed| resumed.start(&corpus));
    display.say(&heading(&corpus, &estimator, start.as_ref()));
    let mut judge = held_out.map(|instances| Judge::new(&corpus, instances)).transpose()?;
    interrupts::watch();

    let model = arguments.model.as_deref();
    let checkpoints = model.and_then(|path| Checkpoints::new(path, arguments.checkpoint));
    if let (Some(checkpoints), None) = (&checkpoints, &arguments.resume)
        && checkpoints.path().exists()
    {
        let path = checkpoints.path().display();
        say(format_args!(
            "fenchel-crf: warning: {path} is of a training that did not end; without --resume {path} it will be written over"
        ));
    }
    display.head(judge.as_ref().map(Judge::name));
    let mut follower = Follower {
        judge: judge.as_mut(),
        display: &mut display,
        patience: arguments.patience,
        checkpoints,
        template: recipe.template(),
        failed: None,
    };
    let mut model = train(&estimator, &corpus, start, &mut follower)?;
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

/// Refuses to overwrite a text that is an input.
fn check_outputs(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { files, dev, model, log_to_file: log, resume, .. } = arguments;
    let texts = files.iter().chain(dev).filter(|file| *file != "-").map(Path::new);
    let read: Vec<&Path> = texts.chain(arguments.templates.file()).collect();
    let file = |path: &Path| std::fs::canonicalize(path).ok().filter(|path| path.is_file());
    let same = |a: &Path, b: &Path| a == b || file(a).is_some() && file(a) == file(b);
    let both = |option: &str, path: &Path, use_of_it: &str| {
        let path = path.display();
        Err(Failure::Usage(format!("{option} {path}: {use_of_it} too; name another file")))
    };
    for (option, path) in [("--model", model), ("--log-to-file", log)] {
        if let Some(path) = path.as_deref().filter(|path| read.iter().any(|text| same(text, path)))
        {
            return both(option, path, "it is read");
        }
    }
    match (log, model, resume) {
        (Some(log), Some(model), _) if log != Path::new("-") && same(log, model) => {
            both("--log-to-file", log, "the model is saved there")
        }
        (Some(log), _, Some(resume)) if same(log, resume) => {
            both("--log-to-file", log, "it is read")
        }
        _ => Ok(()),
    }
}

/// Removes the checkpoint of a completed training. After an interruption it prints how to continue from the checkpoint.
fn close(checkpoints: Option<Checkpoints>, display: &Display, saved: &str) {
    let Some(checkpoints) = checkpoints else { return };
    if interrupted() && checkpoints.path().exists() {
        let path = checkpoints.path().display();
        display.say(&format!("{saved}to go on: --resume {path}"));
    } else {
        checkpoints.remove();
    }
}

/// The first lines of the output: the data and the method.
fn heading(corpus: &Corpus, estimator: &Crf, start: Option<&Start>) -> String {
    let primal = matches!(start, Some(Start::Checkpoint(at)) if at.duals.is_none());
    let method = match estimator.resolved(corpus) {
        Method::Auto if primal => "L-BFGS",
        Method::Lbfgs if estimator.l1 > 0.0 => "OWL-QN",
        Method::Lbfgs => "L-BFGS",
        Method::Sdca | Method::Auto => "SDCA",
    };
    format!(
        "{} sequences, {} tokens, {} attributes, {} labels; training with {method}",
        corpus.data.sequences(),
        corpus.data.tokens(),
        corpus.attributes.len(),
        corpus.labels.len()
    )
}

/// Shows the progress of a training, computes the held-out score, writes checkpoints, and ends the training on request.
struct Follower<'f> {
    judge: Option<&'f mut Judge>,
    display: &'f mut Display,
    patience: Option<u32>,
    checkpoints: Option<Checkpoints>,
    template: Option<&'f Template>,
    failed: Option<fenchel_crf::Error>,
}

impl Follower<'_> {
    /// Continues unless there was a request to end; in that case it writes a checkpoint first.
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

impl Observer<Snapshot<'_>> for Follower<'_> {
    fn polls(&self) -> bool {
        true
    }

    fn observe(&mut self, progress: &Progress, at: &Snapshot<'_>) -> ControlFlow<()> {
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

    fn poll(&mut self, _: &Progress, at: &Snapshot<'_>) -> ControlFlow<()> {
        self.goes_on(at)
    }
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

/// Makes the corpus, which must have attributes.
fn finish(builder: CorpusBuilder, min_frequency: u32) -> Result<Corpus, Failure> {
    let corpus = builder.finish(min_frequency)?;
    match input::not_crfsuite(corpus.labels.iter()).filter(|_| corpus.attributes.is_empty()) {
        Some(reason) => Err(Failure::Usage(reason.to_owned())),
        None => Ok(corpus),
    }
}
