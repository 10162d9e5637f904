//! `learn -x`: cross-validation, which tags each group with a model of the other groups.

use std::io::Write;
use std::process::ExitCode;

use fenchel_linalg::text::fixed;

use super::arguments::Arguments;
use super::groups::Groups;
use super::parameters::Parameters;
use crate::evaluation::Evaluation;
use crate::input::Recipe;
use fenchel_cli::Failure;
use fenchel_cli::say::note;

/// Number of groups of a single file without `--split`.
const GROUPS: usize = 10;

pub(super) fn run(
    arguments: &Arguments,
    parameters: &Parameters,
    recipe: &Recipe,
) -> Result<ExitCode, Failure> {
    let groups = Groups::read(arguments, recipe, GROUPS)?;
    let show = |lines: &str| {
        note(lines);
        writeln!(std::io::stdout(), "{lines}")
    };
    let mut whole = Evaluation::default();
    for group in 0..groups.count {
        let (corpus, held_out) = groups.without(group, parameters.min_frequency)?;
        let estimator = parameters.estimator(arguments, corpus.data.sequences() as f64);
        let model = estimator.fit(&corpus)?;
        let mut part = Evaluation::default();
        for (instance, found) in held_out.iter().zip(model.tag_all(&held_out)?) {
            let truth: Vec<&str> = instance.labels().collect();
            part.add(&truth, &found)?;
            whole.add(&truth, &found)?;
        }
        let (score, name) = part.score();
        let (number, count) = (group + 1, groups.count);
        show(&format!("group {number} of {count}: {name} {}", fixed(100.0 * score, 2)))?;
    }
    let mut tables = Vec::new();
    whole.write(false, &mut tables)?;
    show(&format!("\n{}", String::from_utf8_lossy(&tables).trim_end()))?;
    Ok(ExitCode::SUCCESS)
}
