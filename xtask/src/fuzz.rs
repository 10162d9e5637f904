//! `cargo xtask fuzz` runs a target of `fuzz/` with libFuzzer. What it finds is kept in the build folder, with the inputs that reach new
//! code; what it needs and does not find, it names.

use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use crate::workspace::{self, stream};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The target; see --list
    #[arg(required_unless_present = "list")]
    name: Option<String>,
    /// How long
    #[arg(long, value_name = "M", default_value_t = 1.0, value_parser = minutes)]
    minutes: f64,
    /// With AddressSanitizer, which is slower to build and to run; no crate here has unsafe code
    #[arg(long)]
    address: bool,
    /// List the targets
    #[arg(long)]
    list: bool,
}

fn minutes(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(minutes) if minutes > 0.0 && minutes <= 1e5 => Ok(minutes),
        _ => Err("expected a number above 0, and at most 100000".to_owned()),
    }
}

pub(crate) fn run(arguments: &Arguments) -> io::Result<ExitCode> {
    let names = names()?;
    let Some(name) = arguments.name.as_ref().filter(|_| !arguments.list) else {
        println!("{}", names.join("\n"));
        return Ok(ExitCode::SUCCESS);
    };
    if !names.contains(name) {
        return Err(io::Error::other(format!(
            "no target {name:?}; expected one of {}",
            names.join(", ")
        )));
    }
    if let Some(missing) = missing() {
        return Err(io::Error::other(missing));
    }
    // The versions of the workspace.
    std::fs::copy(workspace::root().join("Cargo.lock"), folder().join("Cargo.lock"))?;
    let build = workspace::target().join("fuzz");
    let (found, findings) = (build.join("corpus").join(name), build.join("findings").join(name));
    std::fs::create_dir_all(&found)?;
    std::fs::create_dir_all(&findings)?;
    let mut fuzz = nightly();
    fuzz.current_dir(workspace::root()).env("FUZZ_TARGET", name);
    fuzz.args(["fuzz", "run", "--sanitizer", if arguments.address { "address" } else { "none" }]);
    fuzz.arg("--target-dir").arg(&build).arg("fenchel").arg(&found);
    fuzz.arg(folder().join("corpus").join(name)).arg("--").args(limits(arguments.minutes));
    fuzz.arg(format!("-artifact_prefix={}/", findings.display()));
    fuzz.arg(format!("-dict={}", folder().join("tokens.dict").display()));
    stream(&mut fuzz, "the fuzzer")?;
    Ok(ExitCode::SUCCESS)
}

/// Seconds and bytes beyond which an input is a finding. The targets set `max_memory` to 16 MiB.
fn limits(minutes: f64) -> [String; 5] {
    [
        format!("-max_total_time={}", (60.0 * minutes).ceil() as u64),
        "-timeout=10".to_owned(),
        "-rss_limit_mb=2048".to_owned(),
        "-malloc_limit_mb=256".to_owned(),
        "-max_len=2048".to_owned(),
    ]
}

fn folder() -> PathBuf {
    workspace::root().join("fuzz")
}

/// A test of the targets holds that each has a folder of its name.
fn names() -> io::Result<Vec<String>> {
    let entries = std::fs::read_dir(folder().join("corpus"))?;
    let names: io::Result<Vec<String>> =
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect();
    let mut names = names?;
    names.sort();
    Ok(names)
}

fn nightly() -> Command {
    let mut rustup = Command::new("rustup");
    rustup.args(["run", "nightly", "cargo"]);
    rustup
}

/// What is not installed, and how to install it.
fn missing() -> Option<String> {
    let works =
        |words: &[&str]| nightly().args(words).output().is_ok_and(|output| output.status.success());
    if !works(&["--version"]) {
        return Some(
            "no nightly compiler; `rustup toolchain install nightly` installs it".to_owned(),
        );
    }
    (!works(&["fuzz", "--version"]))
        .then(|| "no cargo-fuzz; `cargo install cargo-fuzz` installs it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_targets_are_listed_in_their_order() {
        let names = names().unwrap();
        assert!(names.is_sorted() && names.iter().any(|name| name == "libsvm"));
    }

    #[test]
    fn a_part_of_a_minute_is_whole_seconds() {
        assert_eq!(limits(0.51)[0], "-max_total_time=31");
        assert!(minutes("0").is_err() && minutes("NaN").is_err() && minutes("2.5") == Ok(2.5));
    }
}
