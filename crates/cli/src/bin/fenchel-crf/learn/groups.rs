//! The labelled sequences in groups: one group per file, or a given number of random groups.

use fenchel_crf::{Corpus, CorpusBuilder, Instance};
use fenchel_optim::random::stream;
use rand::seq::SliceRandom;

use super::arguments::Arguments;
use super::corpus::finish;
use super::parameters::Parameters;
use crate::input::{self, Recipe};
use fenchel_cli::Failure;

/// Sequences, each with the number of its group.
pub(super) struct Groups {
    sequences: Vec<(usize, Instance)>,
    pub(super) count: usize,
}

impl Groups {
    /// Reads the groups of `--split`; without it every file is a group. A single file is divided into `of_one_file` groups.
    pub(super) fn read(
        arguments: &Arguments,
        recipe: &Recipe,
        of_one_file: usize,
    ) -> Result<Self, Failure> {
        let mut sequences = Vec::new();
        for (group, file) in arguments.files.iter().enumerate() {
            sequences.extend(input::read_all(file, recipe)?.into_iter().map(|i| (group, i)));
        }
        let files = arguments.files.len();
        let one = (files == 1).then_some(of_one_file);
        let Some(count) = arguments.split.or(one) else {
            return Ok(Groups { sequences, count: files });
        };
        if count < 2 || count > sequences.len() {
            let all = sequences.len();
            let reason = match arguments.split {
                None if all < 2 => format!("{all} sequence in one group; expected two groups"),
                None => format!(
                    "--cross-validate divides one file into {count} groups; expected --split N from 2 to {all}"
                ),
                Some(_) => {
                    format!("--split {count}: expected a number from 2 to {all}, of the sequences")
                }
            };
            return Err(Failure::Usage(reason));
        }
        sequences.shuffle(&mut stream(arguments.seed, 0));
        let numbered = sequences.into_iter().enumerate();
        Ok(Groups { sequences: numbered.map(|(i, (_, s))| (i % count, s)).collect(), count })
    }

    /// The training data without a group, and the group.
    pub(super) fn without(
        &self,
        group: usize,
        min_frequency: u32,
    ) -> Result<(Corpus, Vec<Instance>), Failure> {
        let mut builder = CorpusBuilder::new();
        let mut held_out = Vec::new();
        for (of, instance) in &self.sequences {
            if *of == group {
                held_out.push(instance.clone());
            } else {
                builder.push(instance)?;
            }
        }
        let name = || format!("the sequences without group {}", group + 1);
        let corpus = finish(builder, min_frequency);
        Ok((corpus.map_err(|error| Failure::file(name(), error))?, held_out))
    }
}

/// The corpus of `--holdout`, and the group, counted from 1, that is not in it.
pub(super) fn hold_out(
    arguments: &Arguments,
    group: usize,
    parameters: &Parameters,
    recipe: &Recipe,
) -> Result<(Corpus, Option<Vec<Instance>>), Failure> {
    let files = arguments.files.len();
    if arguments.split.is_none() && files < 2 {
        let reason = format!(
            "--holdout {group}: expected --split N, or several files, which are the groups then"
        );
        return Err(Failure::Usage(reason));
    }
    let count = arguments.split.unwrap_or(files);
    if group == 0 || group > count {
        let reason = format!("--holdout {group}: expected a group from 1 to {count}");
        return Err(Failure::Usage(reason));
    }
    let groups = Groups::read(arguments, recipe, count)?;
    let (corpus, held_out) = groups.without(group - 1, parameters.min_frequency)?;
    Ok((corpus, Some(held_out)))
}
