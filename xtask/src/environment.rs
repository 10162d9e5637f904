//! Python: which one there is, and environments with given packages.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::stream;

/// The oldest Python that is of use.
const OLDEST: (u32, u32) = (3, 10);

/// Prints the version of a Python that can make environments. (Debian has `venv` without `ensurepip`, which it needs.)
const ASK: &str = "import sys, venv, ensurepip; print(*sys.version_info[:2])";

/// The command of a Python that is new enough and can make environments, or what is missing.
pub(crate) fn interpreter() -> Result<&'static str, String> {
    let name = if cfg!(windows) { "python" } else { "python3" };
    let missing = format!("no Python {}.{} or later with venv", OLDEST.0, OLDEST.1);
    let output = Command::new(name).args(["-c", ASK]).output();
    let output = output.map_err(|error| format!("{missing}: {name}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    match version(&said) {
        Some(found) if found >= OLDEST => Ok(name),
        Some((major, minor)) => Err(format!("{missing}: {name} is {major}.{minor}")),
        None => {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or("it says nothing");
            Err(format!("{missing}: {name}: {last}"))
        }
    }
}

fn version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// A program of an environment.
pub(crate) fn program(folder: &Path, name: &str) -> PathBuf {
    let folder = folder.join(if cfg!(windows) { "Scripts" } else { "bin" });
    folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// The Python of an environment with exactly these requirements. The environment is created again if they change.
pub(crate) fn environment(requirements: &Path, folder: &Path) -> io::Result<PathBuf> {
    let python = program(folder, "python");
    let wanted = std::fs::read_to_string(requirements)?;
    if python.is_file() && is_current(folder, &wanted) {
        return Ok(python);
    }
    let interpreter = interpreter().map_err(io::Error::other)?;
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    println!("making {} from {}", folder.display(), requirements.display());
    let mut make = Command::new(interpreter);
    make.args(["-m", "venv"]).arg(folder);
    stream(&mut make, "making a Python environment")?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install.arg("--requirement").arg(requirements);
    stream(&mut install, "installing the requirements")?;
    // Last, so that an environment whose installation broke off counts as out of date.
    std::fs::write(folder.join(INSTALLED), wanted)?;
    Ok(python)
}

/// The copy of the requirements that an environment was made from.
const INSTALLED: &str = "installed-requirements.txt";

fn is_current(folder: &Path, wanted: &str) -> bool {
    std::fs::read_to_string(folder.join(INSTALLED)).is_ok_and(|installed| installed == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_is_current_only_with_the_same_requirements() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_current(folder.path(), "numpy==2.0"));
        std::fs::write(folder.path().join(INSTALLED), "numpy==2.0").unwrap();
        assert!(is_current(folder.path(), "numpy==2.0"));
        assert!(!is_current(folder.path(), "numpy==2.1"));
    }

    #[test]
    fn a_version_is_two_numbers() {
        assert_eq!(version("3 12\n"), Some((3, 12)));
        assert_eq!(version("3 9\n").filter(|found| *found >= OLDEST), None);
        assert_eq!(version(""), None);
        assert_eq!(version("Python was not found"), None);
    }
}
