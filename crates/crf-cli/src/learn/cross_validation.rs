//! `learn -x`: how well the sequences of a group are labelled by a model of the others.

use std::io::Write;
use std::process::ExitCode;

use fenchel_crf::{CorpusBuilder, Instance};
use fenchel_optim::random::stream;
use rand::seq::SliceRandom;

use super::{Arguments, Parameters};
use crate::Failure;
use crate::evaluation::Evaluation;
use crate::input::{self, Recipe};

pub(super) fn run(
    arguments: &Arguments,
    parameters: &Parameters,
    recipe: &Recipe,
) -> Result<ExitCode, Failure> {
    let mut all: Vec<Instance> = Vec::new();
    for file in &arguments.files {
        all.extend(input::read_all(file, recipe)?);
    }
    let groups = arguments.split;
    if groups < 2 || groups > all.len() {
        let reason = format!(
            "--split {groups}: expected a number from 2 to {}, of the sequences",
            all.len()
        );
        return Err(Failure::Usage(reason));
    }
    all.shuffle(&mut stream(arguments.seed, 0));
    let mut out = std::io::stdout().lock();
    let mut whole = Evaluation::default();
    for group in 0..groups {
        let mut builder = CorpusBuilder::new();
        for (_, instance) in all.iter().enumerate().filter(|(i, _)| i % groups != group) {
            builder.push(instance)?;
        }
        let corpus = builder.finish(parameters.min_frequency)?;
        let estimator = parameters.estimator(arguments, corpus.data.sequences() as f64);
        let mut model = estimator.fit(&corpus)?;
        model.template = recipe.template().cloned();
        let held_out: Vec<Instance> = all.iter().skip(group).step_by(groups).cloned().collect();
        let mut part = Evaluation::default();
        for (instance, found) in held_out.iter().zip(model.tag_all(&held_out)?) {
            let truth: Vec<&str> = instance.labels().collect();
            part.add(&truth, &found);
            whole.add(&truth, &found);
        }
        let (score, name) = part.score();
        writeln!(out, "group {} of {groups}: {name} {:.2}", group + 1, 100.0 * score)?;
    }
    writeln!(out)?;
    whole.write(false, &mut out)?;
    Ok(ExitCode::SUCCESS)
}
