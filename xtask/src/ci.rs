//! `cargo xtask ci`: what a change must pass, in the order in which a failure is cheapest to find.

use std::io;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::workspace;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run this step only
    #[arg(long, value_name = "STEP", value_parser = NAMES)]
    only: Option<String>,
}

/// The steps, in order.
const NAMES: [&str; 6] = ["format", "lint", "test", "doc", "examples", "benches"];

/// The command of a step.
fn command(step: &str) -> Command {
    let mut cargo = workspace::cargo();
    match step {
        "format" => cargo.args(["fmt", "--all", "--check"]),
        "lint" => cargo
            .args(["clippy", "--workspace", "--all-targets", "--all-features"])
            .args(["--", "-D", "warnings"]),
        // With documentation tests and a short reproduction (tests/smoke.rs); all features, so that optional modules are
        // tested too.
        "test" => cargo.args(["test", "--workspace", "--all-features"]),
        "doc" => cargo
            .args(["doc", "--workspace", "--no-deps", "--all-features"])
            .env("RUSTDOCFLAGS", "-D warnings"),
        // The tests have built them with all features; here the default ones, as a user has them.
        "examples" => cargo.args(["check", "--examples", "--workspace"]),
        _ => cargo.args(["check", "--benches", "-p", "fenchel-benches"]),
    };
    cargo
}

pub(crate) fn run(arguments: &Arguments) -> io::Result<ExitCode> {
    let chosen = |name: &&&str| arguments.only.as_deref().is_none_or(|only| only == **name);
    let steps: Vec<&str> = NAMES.iter().filter(chosen).copied().collect();

    let mut times = Vec::new();
    let mut failure = None;
    for step in &steps {
        let mut command = command(step);
        println!("\n== {step}: {}", spelled(&command));
        let start = Instant::now();
        let result = workspace::stream(&mut command, &format!("step `{step}`"));
        times.push((*step, start.elapsed().as_secs_f64(), result.is_ok()));
        if let Err(why) = result {
            failure = Some(format!("{why}; to repeat it alone: cargo xtask ci --only {step}"));
            break;
        }
    }

    println!("\n{}", summary(&steps, &times));
    match failure {
        Some(why) => Err(io::Error::other(why)),
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

/// A line a step, with its seconds.
fn summary(steps: &[&str], times: &[(&str, f64, bool)]) -> String {
    let line = |(k, step): (usize, &&str)| match times.get(k) {
        Some((_, seconds, true)) => format!("{step:<10} {seconds:>7.1} s  passed\n"),
        Some((_, seconds, false)) => format!("{step:<10} {seconds:>7.1} s  FAILED\n"),
        None => format!("{step:<10} {:>9}  not run\n", ""),
    };
    steps.iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_a_command_of_its_own() {
        let commands: Vec<String> = NAMES.iter().map(|n| spelled(&command(n))).collect();
        assert_eq!(commands[0], "cargo fmt --all --check");
        assert!(commands[3].starts_with("RUSTDOCFLAGS='-D warnings' cargo doc"));
        for (k, c) in commands.iter().enumerate() {
            assert!(!commands[..k].contains(c), "{c}");
        }
    }

    #[test]
    fn the_summary_tells_failed_from_not_run() {
        let text = summary(&["a", "b", "c"], &[("a", 1.26, true), ("b", 0.5, false)]);
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["a", "1.3", "s", "passed"]);
        assert_eq!(lines[1], ["b", "0.5", "s", "FAILED"]);
        assert_eq!(lines[2], ["c", "not", "run"]);
    }
}
