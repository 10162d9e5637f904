//! `cargo xtask mpi` checks `mpi/`, the crate that runs fits on the processes of an MPI program: format, lints, and its tests, which
//! start themselves under `mpirun`. It installs Open MPI and libclang where it may, and otherwise says what is missing.
//!
//! The crate is a workspace of its own, with a lock file of its own: no command about the other crates needs MPI.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::workspace::{self, stream};

/// How a command is run, with the words that name it.
type Run<'a> = &'a dyn Fn(&mut Command, &str) -> io::Result<()>;

/// What Debian and its kin call it.
const PACKAGES: [&str; 3] = ["libopenmpi-dev", "openmpi-bin", "libclang-dev"];

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Measure a fit on one and on two processes, and put the numbers into a model of larger clusters
    #[arg(long)]
    scale: bool,
}

pub(crate) fn run(arguments: &Arguments) -> io::Result<ExitCode> {
    provide(&stream)?;
    if arguments.scale {
        return scale();
    }
    check(|| stream(&mut command(), "cargo test"), &stream)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs the example that measures.
fn scale() -> io::Result<ExitCode> {
    stream(&mut cargo(&["build", "--release", "--example", "scale"]), "cargo build")?;
    let program = workspace::target().join("mpi/release/examples/scale");
    for processes in ["1", "2"] {
        let mut run = Command::new("mpirun");
        run.args(["--oversubscribe", "--allow-run-as-root", "-n", processes]).arg(&program);
        stream(&mut run, "mpirun")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The tests, which build the crate.
pub(crate) fn command() -> Command {
    cargo(&["test"])
}

/// A call of cargo on the crate. Its build folder is its own: cargo lets one command at a time into a folder.
fn cargo(words: &[&str]) -> Command {
    let mut cargo = workspace::cargo();
    cargo.args(words).arg("--manifest-path").arg(folder().join("Cargo.toml"));
    cargo.env("CARGO_TARGET_DIR", workspace::target().join("mpi"));
    cargo
}

fn folder() -> PathBuf {
    workspace::root().join("mpi")
}

/// Format and lints, and the tests by `test`.
pub(crate) fn check(test: impl FnOnce() -> io::Result<()>, run: Run<'_>) -> io::Result<()> {
    run(&mut cargo(&["fmt", "--check"]), "cargo fmt of mpi/")?;
    run(cargo(&["clippy", "--all-targets"]).args(["--", "-D", "warnings"]), "clippy of mpi/")?;
    test()
}

/// Why the crate cannot be built and run.
pub(crate) fn missing() -> Option<String> {
    for program in ["mpicc", "mpirun"] {
        if !Command::new(program).arg("--version").output().is_ok_and(|said| said.status.success())
        {
            return Some(format!("no {program}: Debian's packages are {}", PACKAGES.join(", ")));
        }
    }
    let here = std::env::var_os("LIBCLANG_PATH").is_some() || !cfg!(target_os = "linux");
    (!here && !has_libclang()).then(|| {
        format!("no libclang, which reads the headers of MPI: Debian's package is {}", PACKAGES[2])
    })
}

/// Whether the library lies where the packages of Linux put it.
fn has_libclang() -> bool {
    let inside = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let llvm = inside(Path::new("/usr/lib")).map(|entry| entry.path().join("lib"));
    let multiarch = inside(Path::new("/usr/lib")).map(|entry| entry.path());
    let plain = ["/usr/lib", "/usr/lib64", "/usr/local/lib"].map(PathBuf::from);
    let mut folders = llvm.chain(multiarch).chain(plain);
    folders.any(|folder| {
        inside(&folder).any(|file| file.file_name().to_string_lossy().starts_with("libclang"))
    })
}

/// Installs what is missing.
///
/// # Errors
/// What is missing, where it cannot be installed.
pub(crate) fn provide(run: Run<'_>) -> io::Result<()> {
    let Some(reason) = missing() else { return Ok(()) };
    let apt = |words: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive").args(words);
        run(&mut apt, "apt-get")
    };
    let install = ["install", "-y", "--no-install-recommends"];
    let done = apt(&["update"]).and_then(|()| apt(&[&install[..], &PACKAGES].concat()));
    match missing() {
        None => Ok(()),
        Some(_) => {
            let why = done.err().map_or_else(String::new, |error| format!("; {error}"));
            Err(io::Error::other(format!("{reason}{why}")))
        }
    }
}
