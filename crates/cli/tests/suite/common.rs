//! A folder to run a program in.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A folder, and the program that runs in it.
pub(crate) struct Folder {
    folder: TempDir,
    program: &'static str,
    name: &'static str,
}

impl Folder {
    /// A folder for `fenchel`.
    pub(crate) fn new() -> Self {
        Folder::of(env!("CARGO_BIN_EXE_fenchel"), "fenchel: ")
    }

    /// A folder for `fenchel-crf`.
    pub(crate) fn crf() -> Self {
        Folder::of(env!("CARGO_BIN_EXE_fenchel-crf"), "fenchel-crf: ")
    }

    fn of(program: &'static str, name: &'static str) -> Self {
        Folder { folder: tempfile::tempdir().unwrap(), program, name }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    /// A run with the arguments of a line, which has no quotes; what stands in `'...'` is one argument.
    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(self.program);
        command.current_dir(self.folder.path());
        for (k, part) in line.split('\'').enumerate() {
            match k % 2 {
                0 => command.args(part.split_whitespace()),
                _ => command.arg(part),
            };
        }
        command
    }

    pub(crate) fn run(&self, line: &str) -> Output {
        self.command(line).stdin(Stdio::null()).output().unwrap()
    }

    /// A run with these arguments, and how long it took.
    pub(crate) fn timed(&self, line: &[String]) -> (Output, Duration) {
        let since = Instant::now();
        let mut command = self.command("");
        (command.args(line).stdin(Stdio::null()).output().unwrap(), since.elapsed())
    }

    /// Standard output of a run that succeeds.
    pub(crate) fn ok(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// All that a model of `fenchel-crf` holds.
    pub(crate) fn content(&self, model: &str) -> String {
        self.ok(&format!("dump --top 0 {model}"))
    }

    /// The message of a run that fails.
    pub(crate) fn error(&self, line: &str) -> String {
        let output = self.run(line);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}: {message}");
        message.strip_prefix(self.name).unwrap_or(&message).trim_end().to_owned()
    }
}
