//! `cargo xtask ci`: what a change must pass, in the order in which a failure is cheapest to find.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use fenchel_experiments::{Cell, Failure, Table};

use crate::workspace;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run this step only
    #[arg(long, value_name = "STEP", value_parser = NAMES)]
    only: Option<String>,
}

/// The steps, in order.
const NAMES: [&str; 7] = ["format", "lint", "test", "doc", "examples", "benches", "smoke"];

/// The command of a step. `scratch` is a folder for what it writes and nobody keeps.
fn command(step: &str, scratch: &Path) -> Result<Command, Failure> {
    let mut cargo = workspace::cargo();
    match step {
        "format" => cargo.args(["fmt", "--all", "--check"]),
        "lint" => cargo
            .args(["clippy", "--workspace", "--all-targets", "--all-features"])
            .args(["--", "-D", "warnings"]),
        // With documentation tests; all features, so that optional modules are tested too.
        "test" => cargo.args(["test", "--workspace", "--all-features"]),
        "doc" => cargo
            .args(["doc", "--workspace", "--no-deps", "--all-features"])
            .env("RUSTDOCFLAGS", "-D warnings"),
        // The tests have built them with all features; here the default ones, as a user has them.
        "examples" => cargo.args(["check", "--examples", "--workspace"]),
        "benches" => cargo.args(["check", "--benches", "-p", "fenchel-benches"]),
        _ => {
            let mut reproduce = Command::new(std::env::current_exe()?);
            reproduce.current_dir(workspace::root());
            reproduce.args(["reproduce", "--smoke", "--fresh", "--out"]).arg(scratch);
            return Ok(reproduce);
        }
    };
    Ok(cargo)
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let scratch = tempfile::tempdir()?;
    let chosen = |name: &&&str| arguments.only.as_deref().is_none_or(|only| only == **name);
    let steps: Vec<&str> = NAMES.iter().filter(chosen).copied().collect();

    let mut times = Vec::new();
    let mut failure = None;
    for step in &steps {
        let mut command = command(step, scratch.path())?;
        println!("\n== {step}: {}", spelled(&command));
        let start = Instant::now();
        let result = workspace::stream(&mut command, &format!("step `{step}`"));
        times.push((*step, start.elapsed().as_secs_f64(), result.is_ok()));
        if let Err(why) = result {
            failure = Some(format!("{why}; to repeat it alone: cargo xtask ci --only {step}"));
            break;
        }
    }

    println!("\n{}", summary(&steps, &times).to_text());
    match failure {
        Some(why) => Err(Failure::new(why)),
        None => {
            println!("everything passed");
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// A command as one would type it.
fn spelled(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_stem().unwrap_or_default();
    let environment = command.get_envs().filter_map(|(key, value)| {
        value.map(|value| format!("{}='{}'", key.display(), value.display()))
    });
    let words = command.get_args().map(|word| word.display().to_string());
    environment.chain([name.display().to_string()]).chain(words).collect::<Vec<String>>().join(" ")
}

fn summary(steps: &[&str], times: &[(&str, f64, bool)]) -> Table {
    let mut table = Table::new("Steps", [("step", ""), ("time", "s"), ("result", "")]);
    for (k, step) in steps.iter().enumerate() {
        let (time, result): (Cell, &str) = match times.get(k) {
            Some(&(_, seconds, ok)) => {
                (((10.0 * seconds).round() / 10.0).into(), if ok { "passed" } else { "FAILED" })
            }
            None => (None::<f64>.into(), "not run"),
        };
        table.push([(*step).into(), time, result.into()]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_a_command_of_its_own() {
        let commands: Vec<String> =
            NAMES.iter().map(|n| spelled(&command(n, Path::new("out")).unwrap())).collect();
        assert_eq!(commands[0], "cargo fmt --all --check");
        assert!(commands[3].starts_with("RUSTDOCFLAGS='-D warnings' cargo doc"));
        assert!(commands[6].ends_with("reproduce --smoke --fresh --out out"));
        for (k, c) in commands.iter().enumerate() {
            assert!(!commands[..k].contains(c), "{c}");
        }
    }

    #[test]
    fn the_summary_tells_failed_from_not_run() {
        let text = summary(&["a", "b", "c"], &[("a", 1.26, true), ("b", 0.5, false)]).to_text();
        assert!(text.contains("a          1.3  passed"), "{text}");
        assert!(text.contains("b          0.5  FAILED"), "{text}");
        assert!(text.contains("not run"), "{text}");
    }
}
