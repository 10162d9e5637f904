//! `fenchel-crf learn`

use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;

use fenchel_crf::training::{Checkpoints, Snapshot, Start, train};
use fenchel_crf::{Corpus, Crf, Method, Observer, Progress, Report, Status};

use crate::input::{self, Recipe};
use fenchel_cli::Failure;
use fenchel_cli::interrupts::{self, interrupted};
use fenchel_cli::output::{Target, check_apart, used_twice};
use fenchel_cli::progress::Display;
use fenchel_cli::say::{complain, log_to};
use fenchel_optim::file::same_file;

mod arguments;
mod corpus;
mod cross_validation;
mod ending;
mod groups;
mod judge;
mod parameters;

pub(crate) use arguments::Arguments;
use corpus::read_corpus;
use ending::{check_use, ending};
use judge::Judge;
use parameters::Parameters;

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    fenchel_cli::use_threads(arguments.threads)?;
    check_outputs(arguments)?;
    if let Some(file) = &arguments.log_to_file {
        log_to(file, "fenchel-crf learn")?;
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
    let (mut corpus, held_out) = match arguments.holdout {
        Some(group) => groups::hold_out(arguments, group, &parameters, &recipe)?,
        None => {
            let corpus = read_corpus(&arguments.files, &recipe, parameters.min_frequency)?;
            let held_out = arguments.dev.as_deref().map(|file| input::read_all(file, &recipe));
            (corpus, held_out.transpose()?)
        }
    };
    corpus.template = recipe.template().cloned();
    let n = corpus.data.sequences() as f64;
    let estimator = parameters.estimator(arguments, n);
    let mut display = Display::new(arguments.quiet, n, parameters.tolerance);
    let start = resumed.map(|resumed| resumed.start(&corpus));
    display.say(&heading(&corpus, &estimator, start.as_ref()));
    let mut judge = held_out.map(|instances| Judge::new(&corpus, instances)).transpose()?;
    interrupts::watch();

    let model = arguments.model.as_deref();
    let checkpoints = model.and_then(|path| Checkpoints::new(path, arguments.checkpoint));
    if let (Some(checkpoints), None) = (&checkpoints, &arguments.resume)
        && let Some(warning) = checkpoints.warning()
    {
        complain(warning);
    }
    display.head(judge.as_ref().map(Judge::name));
    let mut follower = Follower {
        judge: judge.as_mut(),
        display: &mut display,
        patience: arguments.patience,
        checkpoints,
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
            complain(failure);
            close(checkpoints, &display, "");
            display.finish();
            return Ok(ExitCode::from(130));
        }
        // The seconds of a report are those of the method; who waited looks at the clock.
        let report = Report { seconds: display.seconds(), ..*report };
        display.say(&ending(&report, n, arguments.patience));
    }
    if let Some(judge) = judge {
        display.say(&judge.put_best_into(&mut model)?);
    }
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
    for (option, path) in [("--model", model), ("--log-to-file", log)] {
        if let Some(path) = path.as_deref() {
            check_apart(option, path, &read)?;
        }
    }
    match (log, model, resume) {
        (Some(log), Some(model), _) if log != Path::new("-") && same_file(log, model) => {
            Err(used_twice("--log-to-file", log, "the model is saved there"))
        }
        (Some(log), _, Some(resume)) => check_apart("--log-to-file", log, &[resume]),
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
    failed: Option<fenchel_crf::Error>,
}

impl Follower<'_> {
    /// Continues unless there was a request to end; in that case it writes a checkpoint first.
    fn goes_on(&mut self, at: &Snapshot<'_>) -> ControlFlow<()> {
        if interrupted() {
            if let Some(checkpoints) = &mut self.checkpoints {
                checkpoints.write(at).unwrap_or_else(complain);
            }
            return ControlFlow::Break(());
        }
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.tick(at).unwrap_or_else(complain);
        }
        ControlFlow::Continue(())
    }
}

impl Observer<Snapshot<'_>> for Follower<'_> {
    fn polls(&self) -> bool {
        true
    }

    fn observe(&mut self, progress: &Progress, at: &Snapshot<'_>) -> ControlFlow<()> {
        let score =
            self.judge.as_mut().map(|judge| judge.evaluate(progress, at.weights())).transpose();
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
