//! Where things are: the workspace, its build folder, cargo, the real data.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use fenchel_experiments::Failure;

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest)
}

/// The build folder, where everything made goes.
pub(crate) fn target() -> PathBuf {
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
pub(crate) fn stream(command: &mut Command, what: &str) -> Result<(), Failure> {
    let status = command.status().map_err(|e| {
        Failure::new(format!("{what}: cannot run {}: {e}", command.get_program().display()))
    })?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("{what} failed ({status})"))) }
}

/// The folder of real data: the one asked for, which must exist, or else `data/` in the root, or else
/// `../shared/data` beside the checkout, or none.
pub(crate) fn data_folder(asked: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    data_folder_from(root(), asked)
}

fn data_folder_from(root: &Path, asked: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    if let Some(folder) = asked {
        if folder.is_dir() {
            // Absolute, because it is handed on to programs that run elsewhere.
            return Ok(Some(std::path::absolute(folder)?));
        }
        return Err(Failure::new(format!(
            "--data (or FENCHEL_DATA) = {}: expected a folder that exists",
            folder.display()
        )));
    }
    let usual = [root.join("data"), root.join("../shared/data")];
    Ok(usual.into_iter().find(|folder| folder.is_dir()))
}

/// What to tell the user about the folder of real data.
pub(crate) fn describe_data(folder: Option<&Path>) -> String {
    match folder {
        Some(folder) => {
            let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
            format!("real data from {}", folder.display())
        }
        None => "no real data (--data DIR, FENCHEL_DATA or a folder `data`): embedded sets and \
                 synthetic substitutes"
            .into(),
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

    #[test]
    fn data_is_asked_for_or_in_one_of_two_usual_places() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("checkout");
        let (own, shared) = (root.join("data"), parent.path().join("shared/data"));
        std::fs::create_dir(&root).unwrap();
        assert_eq!(data_folder_from(&root, None).unwrap(), None);
        assert!(data_folder_from(&root, Some(&own)).is_err());

        std::fs::create_dir_all(&shared).unwrap();
        assert_eq!(data_folder_from(&root, None).unwrap(), Some(root.join("../shared/data")));
        std::fs::create_dir(&own).unwrap();
        assert_eq!(data_folder_from(&root, None).unwrap(), Some(own));
        assert_eq!(data_folder_from(&root, Some(&shared)).unwrap(), Some(shared));
    }
}
