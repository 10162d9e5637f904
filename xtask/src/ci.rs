//! `cargo xtask ci` runs the checks that a change must pass. The steps are divided into lanes, which run at the same time, because
//! no single step keeps all processors busy.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::{docs, mpi, python, workspace};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run this step only
    #[arg(long, value_name = "STEP", value_parser = NAMES)]
    only: Option<String>,
}

const NAMES: [&str; 6] = ["format", "lint", "doc", "python", "test", "doctest"];

/// The steps of a lane run one after the other. A failure ends its lane, and the other lanes continue, so that one run reports
/// the failures of all lanes. The Python package is built in the folder of the tests, of whose crates it is made.
const LANES: [&[&str]; 3] = [&["format", "lint", "doc"], &["python"], &["test", "doctest"]];

/// The command of a step.
fn command(step: &str) -> Command {
    let mut cargo = workspace::cargo();
    match step {
        "format" => cargo.args(["fmt", "--all", "--check"]),
        // Examples and benchmarks too: what the compiler checks, clippy checks.
        "lint" => cargo
            .args(["clippy", "--all-targets"])
            .args(mpi::all_crates())
            .args(["--", "-D", "warnings"]),
        "doc" => {
            cargo = docs::command();
            &mut cargo
        }
        "python" => {
            cargo = python::command();
            &mut cargo
        }
        // With a short reproduction (tests/smoke.rs). All features, so that optional modules are tested too. `--tests`
        // leaves out the programs that have no tests: the examples, and this project's side of the peers.
        "test" => cargo.args(["test", "--tests"]).args(mpi::all_crates()),
        _ => cargo.args(["test", "--doc"]).args(mpi::all_crates()),
    };
    if LANES[0].contains(&step) {
        // Cargo lets one command at a time into a folder.
        cargo.env("CARGO_TARGET_DIR", checks());
    }
    cargo
}

/// The build folder of the first lane.
fn checks() -> PathBuf {
    workspace::target().join("checks")
}

/// The result of a step.
struct Ran {
    step: &'static str,
    seconds: f64,
    ended: Ended,
}

/// How a step ended.
enum Ended {
    Passed,
    Failed(String),
    /// There is nothing to run it with, and what is missing.
    Skipped(String),
}

pub(crate) fn run(arguments: &Arguments) -> io::Result<ExitCode> {
    // What can be run is run: MPI is installed where it may be. The crate that needs it is left out elsewhere, but not in CI.
    if let Some(reason) = mpi::missing() {
        if std::env::var_os("CI").is_some() {
            mpi::provide()?;
        } else {
            println!("the crate for MPI is left out: {reason}");
        }
    }
    let chosen = |step: &&&str| arguments.only.as_deref().is_none_or(|only| only == **step);
    let [checks, package, tests] =
        LANES.map(|lane| lane.iter().filter(chosen).copied().collect::<Vec<_>>());

    // What the tests say goes on as they run. The other lanes speak when a step fails, or where they are alone.
    let quiet = !tests.is_empty();
    let ran: Vec<Ran> = std::thread::scope(|scope| {
        let beside = [&checks, &package].map(|lane| scope.spawn(move || run_lane(lane, quiet)));
        let tests = run_lane(&tests, false);
        let joined =
            beside.map(|lane| lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        joined.into_iter().flatten().chain(tests).collect()
    });

    let steps: Vec<&str> = [checks, package, tests].concat();
    println!("\n{}", summary(&steps, &ran));
    let failures: Vec<&str> = ran
        .iter()
        .filter_map(|ran| match &ran.ended {
            Ended::Failed(failure) => Some(failure.as_str()),
            _ => None,
        })
        .collect();
    if failures.is_empty() {
        println!("everything passed");
        return Ok(ExitCode::SUCCESS);
    }
    Err(io::Error::other(failures.join("\n")))
}

/// Runs steps until one fails.
fn run_lane(steps: &[&'static str], quiet: bool) -> Vec<Ran> {
    let mut lane = Vec::new();
    for step in steps {
        if *step == "python"
            && let Some(reason) = python::missing()
            && std::env::var_os("CI").is_none()
        {
            println!("\n== {step}: skipped, there is {reason}");
            lane.push(Ran { step, seconds: 0.0, ended: Ended::Skipped(reason) });
            continue;
        }
        let mut command = command(step);
        println!("\n== {step}: {}", spelled(&command));
        let start = Instant::now();
        let what = format!("step `{step}`");
        let run = if quiet { workspace::stream_failure } else { workspace::stream };
        let result = match *step {
            "doc" => docs::make(&checks(), || run(&mut command, &what)),
            "python" => python::check(|| run(&mut command, &what), &run),
            _ => run(&mut command, &what),
        };
        let seconds = start.elapsed().as_secs_f64();
        let again = |why| format!("{why}; to repeat it alone: cargo xtask ci --only {step}");
        let ended = result.map_or_else(|why| Ended::Failed(again(why)), |()| Ended::Passed);
        let failed = matches!(ended, Ended::Failed(_));
        lane.push(Ran { step, seconds, ended });
        if failed {
            break;
        }
    }
    lane
}

/// Formats a command as a user would type it.
fn spelled(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_stem().unwrap_or_default();
    let environment = command.get_envs().filter_map(|(key, value)| {
        value.map(|value| format!("{}='{}'", key.display(), value.display()))
    });
    let words = command.get_args().map(|word| word.display().to_string());
    environment.chain([name.display().to_string()]).chain(words).collect::<Vec<String>>().join(" ")
}

/// Formats one line per step, with its duration in seconds.
fn summary(steps: &[&str], ran: &[Ran]) -> String {
    let line = |step: &&str| match ran.iter().find(|ran| ran.step == *step) {
        Some(Ran { seconds, ended, .. }) => match ended {
            Ended::Passed => format!("{step:<10} {seconds:>7.1} s  passed\n"),
            Ended::Failed(_) => format!("{step:<10} {seconds:>7.1} s  FAILED\n"),
            Ended::Skipped(why) => format!("{step:<10} {:>9}  skipped: {why}\n", ""),
        },
        None => format!("{step:<10} {:>9}  not run\n", ""),
    };
    steps.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn every_step_has_a_command_of_its_own() {
        let commands: Vec<String> = NAMES.iter().map(|n| spelled(&command(n))).collect();
        assert!(commands[0].ends_with("cargo fmt --all --check"));
        // Without MPI a crate is left out behind it.
        assert!(
            commands[2].contains(
                "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps --workspace --all-features"
            )
        );
        for (k, c) in commands.iter().enumerate() {
            assert!(!commands[..k].contains(c), "{c}");
        }
    }

    #[test]
    fn every_step_is_in_one_lane_and_the_lanes_have_folders_of_their_own() {
        assert_eq!(LANES.concat(), NAMES);
        let folder = |step: &&str| {
            let command = command(step);
            let mut set = command.get_envs();
            set.find(|(key, _)| *key == "CARGO_TARGET_DIR")
                .map(|(_, value)| value.map(OsStr::to_owned))
        };
        let [checks, _, tests] = LANES.map(|lane| lane.iter().map(folder).collect::<Vec<_>>());
        assert!(checks.iter().all(|folder| folder.is_some() && !tests.contains(folder)));
    }

    #[test]
    fn a_program_that_is_not_there_is_a_failure() {
        let mut nothing = Command::new("fenchel-no-such-program");
        assert!(workspace::stream_failure(&mut nothing, "step").is_err());
    }

    #[test]
    fn the_summary_tells_failed_from_not_run() {
        let ran = [
            Ran { step: "a", seconds: 1.26, ended: Ended::Passed },
            Ran { step: "b", seconds: 0.5, ended: Ended::Failed("why".to_owned()) },
            Ran { step: "d", seconds: 0.0, ended: Ended::Skipped("no tool".to_owned()) },
        ];
        let text = summary(&["a", "b", "c", "d"], &ran);
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["a", "1.3", "s", "passed"]);
        assert_eq!(lines[1], ["b", "0.5", "s", "FAILED"]);
        assert_eq!(lines[2], ["c", "not", "run"]);
        assert_eq!(lines[3], ["d", "skipped:", "no", "tool"]);
    }
}
