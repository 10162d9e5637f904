//! Where things are: the workspace, its build folder, cargo.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::Command;

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest)
}

/// The build folder, where everything made goes.
#[cfg(feature = "experiments")]
pub(crate) fn target() -> std::path::PathBuf {
    // A relative CARGO_TARGET_DIR counts from where cargo was called; joined, an absolute one stands.
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => std::env::current_dir().unwrap_or_else(|_| root().into()).join(folder),
        None => root().join("target"),
    }
}

/// The cargo that runs this program, called from the root.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Runs a command with its output going where ours goes, and says which one failed.
pub(crate) fn stream(command: &mut Command, what: &str) -> io::Result<()> {
    let status = command.status().map_err(|e| {
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

    #[test]
    fn the_root_holds_the_workspace() {
        let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[workspace]"));
    }
}
