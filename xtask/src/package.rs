//! `cargo xtask package`: every crate that will be published becomes the archive that a registry would receive, in the order of
//! their dependencies, and is built from it. A warning of cargo is a failure.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use crate::workspace;

/// The options of `package`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Make the archives and do not build them
    #[arg(long)]
    no_verify: bool,
}

/// What an archive must have beside its code.
const FILES: [&str; 3] = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"];

pub(crate) fn run(arguments: &Arguments) -> io::Result<ExitCode> {
    let names = published()?;
    let mut cargo = workspace::cargo();
    cargo.arg("package");
    for name in &names {
        cargo.args(["-p", name]);
    }
    if arguments.no_verify {
        cargo.arg("--no-verify");
    }
    println!("{} crates: {}", names.len(), names.join(", "));
    let output = cargo.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    print!("{said}");
    let warned = said.lines().any(|line| line.starts_with("warning"));
    if warned || !output.status.success() {
        return Err(io::Error::other("a package is not clean"));
    }
    println!(
        "every package is clean; the archives are in {}/package",
        workspace::target().display()
    );
    Ok(ExitCode::SUCCESS)
}

/// The names of the crates that are to be published: all in `crates/` that do not say otherwise.
fn published() -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(workspace::root().join("crates"))? {
        let folder = entry?.path();
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml"))?;
        if !manifest.lines().any(|line| line.starts_with("publish")) {
            names.push(complete(&folder, &manifest)?);
        }
    }
    names.sort();
    Ok(names)
}

/// The name of a crate whose folder has all that an archive needs.
fn complete(folder: &Path, manifest: &str) -> io::Result<String> {
    let missing = |what: &str| {
        io::Error::new(io::ErrorKind::NotFound, format!("{}: no {what}", folder.display()))
    };
    if let Some(file) = FILES.iter().find(|file| !folder.join(file).is_file()) {
        return Err(missing(file));
    }
    let value = |key: &str| {
        let line = manifest.lines().find(|line| line.starts_with(&format!("{key} = ")));
        line.and_then(|line| line.split('"').nth(1)).ok_or_else(|| missing(key))
    };
    value("description")?;
    value("documentation")?;
    Ok(value("name")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_and_the_tool_can_be_published() {
        let names = published().unwrap();
        for name in ["fenchel", "fenchel-linalg", "fenchel-cli"] {
            assert!(names.iter().any(|n| n == name), "{name} is not in {names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("experiments")));
    }

    #[test]
    fn what_an_archive_lacks_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = complete(folder.path(), "").unwrap_err().to_string();
        assert!(error.contains("no README.md"), "{error}");
        FILES.iter().for_each(|file| std::fs::write(folder.path().join(file), "").unwrap());
        let error = complete(folder.path(), "name = \"x\"").unwrap_err().to_string();
        assert!(error.contains("no description"), "{error}");
    }
}
