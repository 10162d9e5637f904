//! A folder to run a program in.

use std::fs;
use std::io::{Read, Seek};
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

    /// The exit code and the message of a run with these arguments. It fails the test if the run does not end.
    pub(crate) fn ended(&self, line: &[String]) -> (Option<i32>, String) {
        let (mut said, out) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let mut command = self.command("");
        command.args(line).stdin(Stdio::null()).stdout(out).stderr(said.try_clone().unwrap());
        let mut run = command.spawn().unwrap();
        let since = Instant::now();
        let status = loop {
            if let Some(status) = run.try_wait().unwrap() {
                break status;
            }
            if since.elapsed() > Duration::from_secs(300) {
                run.kill().unwrap();
                panic!("{line:?} does not end");
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let mut message = Vec::new();
        said.rewind().unwrap();
        said.read_to_end(&mut message).unwrap();
        (status.code(), String::from_utf8_lossy(&message).into_owned())
    }

    /// The message of a run that may have 4 GB, and whose standard input is a file or `<(a command)`.
    #[cfg(target_os = "linux")]
    pub(crate) fn limited(&self, line: &str, input: &str) -> String {
        let shell = format!("ulimit -v 4000000; exec '{}' {line} < {input}", self.program);
        let mut command = Command::new("bash");
        command.args(["-c", &shell]).current_dir(self.folder.path()).env("RAYON_NUM_THREADS", "1");
        let output = command.output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{line}: {message}");
        message
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
