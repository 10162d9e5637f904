//! `cargo xtask python` builds the wheel of `python/`, installs it with the libraries that it is compared with into an environment
//! under `target/python`, and runs the tests, the type checker and the linter.
//!
//! `cargo xtask ci` does the same without a wheel, with few libraries and without slow tests: it builds the extension module with the
//! crates that the other tests need in any case.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::environment::{environment, interpreter, program};
use crate::mpi;
use crate::workspace::{self, stream};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Handed on to pytest
    #[arg(last = true, value_name = "ARGUMENTS")]
    rest: Vec<String>,
}

/// How a command is run, with the words that name it.
type Run<'a> = &'a dyn Fn(&mut Command, &str) -> io::Result<()>;

pub(crate) fn run(arguments: &Arguments) -> io::Result<ExitCode> {
    interpreter().map_err(io::Error::other)?;
    let venv = out().join("venv");
    environment(&package().join("tests/peers.txt"), &venv)?;
    install(&venv)?;
    judge(&venv, None, &arguments.rest, &stream)?;
    Ok(ExitCode::SUCCESS)
}

/// Builds the wheel and installs it in an environment that has maturin.
pub(crate) fn install(venv: &Path) -> io::Result<()> {
    let wheels = out().join("wheels");
    if wheels.exists() {
        std::fs::remove_dir_all(&wheels)?;
    }
    let mut build = Command::new(program(venv, "maturin"));
    build.current_dir(package()).args(["build", "--out"]).arg(&wheels);
    stream(&mut build, "building the wheel")?;
    let wheel = only_file(&wheels)?;
    let size = std::fs::metadata(&wheel)?.len() as f64 / 1e6;
    println!("{}: {size:.1} MB", wheel.display());

    let mut install = Command::new(program(venv, "python"));
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install.args(["--no-deps", "--force-reinstall"]).arg(wheel);
    stream(&mut install, "installing the wheel")
}

/// The command by which `cargo xtask ci` builds the extension module: with the profile and the features of its tests, so that
/// no crate is compiled twice.
pub(crate) fn command() -> Command {
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--lib", "--tests"]).args(mpi::all_crates());
    cargo
}

/// Why there is nothing to check with.
pub(crate) fn missing() -> Option<String> {
    interpreter().err()
}

/// Makes the environment, builds the extension module by `build`, and checks the package.
pub(crate) fn check(build: impl FnOnce() -> io::Result<()>, run: Run<'_>) -> io::Result<()> {
    let venv = out().join("venv-ci");
    environment(&package().join("tests/requirements.txt"), &venv)?;
    build()?;
    let library =
        format!("{}fenchel_python{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let built = workspace::target().join("debug").join(library);
    let path = out().join("path");
    assemble(&built, &path)?;
    let quick = ["-m", "not slow"].map(str::to_owned);
    judge(&venv, Some(&path), &quick, run)
}

/// Runs the tests, the type checker and the linter. Without a `path` the package is that of the environment.
fn judge(venv: &Path, path: Option<&Path>, tests: &[String], run: Run<'_>) -> io::Result<()> {
    let tool = |name: &str, arguments: &[&str]| {
        let mut tool = Command::new(program(venv, name));
        tool.current_dir(package()).args(arguments);
        if let Some(path) = path {
            tool.env("PYTHONPATH", path);
        }
        tool
    };
    run(&mut tool("ruff", &["check", "."]), "ruff check")?;
    run(&mut tool("ruff", &["format", "--check", "."]), "ruff format")?;
    run(&mut tool("mypy", &[]), "mypy")?;
    run(tool("pytest", &["-q"]).args(tests), "pytest")
}

/// Puts the package together from its Python files and the extension module.
fn assemble(built: &Path, path: &Path) -> io::Result<()> {
    if path.exists() {
        std::fs::remove_dir_all(path)?;
    }
    let to = path.join("fenchel");
    copy(&package().join("fenchel"), &to)?;
    let name = if cfg!(windows) { "_core.pyd" } else { "_core.abi3.so" };
    std::fs::copy(built, to.join(name))?;
    Ok(())
}

/// Copies the files of a package.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            if entry.file_name() != "__pycache__" {
                copy(&entry.path(), &target)?;
            }
        } else if is_source(&entry.path()) {
            std::fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Whether a file belongs to the package: an extension module that lies there is an old one.
fn is_source(path: &Path) -> bool {
    let kind = path.extension().and_then(|kind| kind.to_str());
    matches!(kind, Some("py" | "pyi" | "typed"))
}

fn only_file(folder: &Path) -> io::Result<PathBuf> {
    let mut files = std::fs::read_dir(folder)?;
    let none = || io::Error::other(format!("{}: no wheel", folder.display()));
    Ok(files.next().ok_or_else(none)??.path())
}

/// The folder of the package.
fn package() -> PathBuf {
    workspace::root().join("python")
}

/// The folder of what is made here.
fn out() -> PathBuf {
    workspace::target().join("python")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_has_all_its_files_and_no_old_module() {
        let folder = tempfile::tempdir().unwrap();
        let built = folder.path().join("built.so");
        std::fs::write(&built, "new").unwrap();
        let path = folder.path().join("path");
        assemble(&built, &path).unwrap();
        for file in ["__init__.py", "_core.pyi", "py.typed", "linear_model/_base.py"] {
            assert!(path.join("fenchel").join(file).is_file(), "{file}");
        }
        let name = if cfg!(windows) { "_core.pyd" } else { "_core.abi3.so" };
        assert_eq!(std::fs::read_to_string(path.join("fenchel").join(name)).unwrap(), "new");
        assert!(!is_source(Path::new("fenchel/_core.abi3.so")));
    }
}
