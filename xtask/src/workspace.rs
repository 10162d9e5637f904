//! The paths of the workspace, of its build folder and of cargo.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus, Output};

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest)
}

/// The build folder. All generated files go there.
pub(crate) fn target() -> std::path::PathBuf {
    // A relative CARGO_TARGET_DIR counts from where cargo was called; joined, an absolute one stands.
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => std::env::current_dir().unwrap_or_else(|_| root().into()).join(folder),
        None => root().join("target"),
    }
}

/// A call of the cargo that runs this program, from the root of the workspace.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Runs a command. Its output goes to the output of this program. The error names the command that failed.
pub(crate) fn stream(command: &mut Command, what: &str) -> io::Result<()> {
    judge(command.status(), command, what)
}

/// Runs a command and collects its output. The output is printed only if the command fails.
pub(crate) fn stream_failure(command: &mut Command, what: &str) -> io::Result<()> {
    let output = command.output();
    if let Ok(Output { status, stdout, stderr }) = &output
        && !status.success()
    {
        let said = [stderr, stdout].map(|text| String::from_utf8_lossy(text));
        println!("\n== {what} failed, and said:\n{}", said.concat());
    }
    judge(output.map(|output| output.status), command, what)
}

fn judge(status: io::Result<ExitStatus>, command: &Command, what: &str) -> io::Result<()> {
    let status = status.map_err(|e| {
        io::Error::new(
            e.kind(),
            format!("{what}: cannot run {}: {e}", command.get_program().display()),
        )
    })?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("{what} failed ({status})")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `test = false` spares the compiler a copy of a library without unit tests; it would hide those that come later.
    #[test]
    fn no_test_is_in_a_target_that_is_not_tested() {
        let crates = std::fs::read_dir(root().join("crates")).unwrap();
        let folders = crates.map(|entry| entry.unwrap().path());
        for folder in folders.chain(["examples", "benches"].map(|name| root().join(name))) {
            let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
            let tested = !manifest.lines().any(|line| line == "test = false");
            assert!(tested || !has_tests(&folder.join("src")), "{}", folder.display());
        }
        assert!(has_tests(&root().join("xtask/src")));
    }

    fn has_tests(path: &Path) -> bool {
        if path.is_dir() {
            let mut entries = std::fs::read_dir(path).unwrap();
            return entries.any(|entry| has_tests(&entry.unwrap().path()));
        }
        std::fs::read_to_string(path).unwrap().contains("#[cfg(test)]")
    }

    #[test]
    fn the_root_holds_the_workspace() {
        let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[workspace]"));
    }
}
