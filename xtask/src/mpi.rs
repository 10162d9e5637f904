//! `cargo xtask mpi` tests `mpi/`, the crate that runs fits on the processes of an MPI program; the tests start themselves under
//! `mpirun`. It installs Open MPI and libclang where it may, and otherwise says what is missing.
//!
//! The crate is a member of the workspace whose feature `mpi` needs MPI. Commands about all crates with all features leave it out
//! where there is none ([`all_crates`]).

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::workspace::{self, stream};

const PACKAGE: &str = "fenchel-mpi";

/// What Debian and its kin call it.
const SYSTEM: [&str; 3] = ["libopenmpi-dev", "openmpi-bin", "libclang-dev"];

pub(crate) fn run() -> io::Result<ExitCode> {
    provide()?;
    let tests = ["test", "--package", PACKAGE, "--all-features"];
    stream(workspace::cargo().args(tests), "cargo test")?;
    Ok(ExitCode::SUCCESS)
}

/// Measures a fit on one and on two processes, and puts the numbers into a model of larger clusters.
#[cfg(feature = "experiments")]
pub(crate) fn scale() -> io::Result<ExitCode> {
    provide()?;
    let example =
        ["build", "--release", "--package", PACKAGE, "--all-features", "--example", "scale"];
    stream(workspace::cargo().args(example), "cargo build")?;
    let program = workspace::target().join("release/examples/scale");
    for processes in ["1", "2"] {
        let mut run = Command::new("mpirun");
        run.args(["--oversubscribe", "--allow-run-as-root", "-n", processes]).arg(&program);
        stream(&mut run, "mpirun")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What cargo is told about all crates with all features, without that for MPI where there is no MPI.
pub(crate) fn all_crates() -> &'static [&'static str] {
    let all = &["--workspace", "--all-features", "--exclude", PACKAGE];
    if missing().is_some() { all } else { &all[..2] }
}

/// Why the crate cannot be built and run.
pub(crate) fn missing() -> Option<String> {
    for program in ["mpicc", "mpirun"] {
        if !Command::new(program).arg("--version").output().is_ok_and(|said| said.status.success())
        {
            return Some(format!("no {program}: Debian's packages are {}", SYSTEM.join(", ")));
        }
    }
    let here = std::env::var_os("LIBCLANG_PATH").is_some() || !cfg!(target_os = "linux");
    (!here && !has_libclang()).then(|| {
        format!("no libclang, which reads the headers of MPI: Debian's package is {}", SYSTEM[2])
    })
}

/// Whether the library lies where the packages of Linux put it.
fn has_libclang() -> bool {
    let inside = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let llvm = inside(Path::new("/usr/lib")).map(|entry| entry.path().join("lib"));
    let multiarch = inside(Path::new("/usr/lib")).map(|entry| entry.path());
    let plain = ["/usr/lib", "/usr/lib64", "/usr/local/lib"].map(PathBuf::from);
    let mut folders = llvm.chain(multiarch).chain(plain);
    // `libclang-cpp` and the like are other libraries.
    let is_it = |name: &str| {
        let named = name.starts_with("libclang.so") || name.starts_with("libclang-");
        named && name.contains(".so") && !name.starts_with("libclang-cpp")
    };
    folders.any(|folder| inside(&folder).any(|file| is_it(&file.file_name().to_string_lossy())))
}

/// Installs what is missing.
///
/// # Errors
/// What is missing, where it cannot be installed.
pub(crate) fn provide() -> io::Result<()> {
    let Some(reason) = missing() else { return Ok(()) };
    let apt = |words: &[&str]| {
        let mut apt = Command::new("apt-get");
        apt.env("DEBIAN_FRONTEND", "noninteractive").args(words);
        stream(&mut apt, "apt-get")
    };
    let install = ["install", "-y", "--no-install-recommends"];
    let done = apt(&["update"]).and_then(|()| apt(&[&install[..], &SYSTEM].concat()));
    match missing() {
        None => Ok(()),
        Some(_) => {
            let why = done.err().map_or_else(String::new, |error| format!("; {error}"));
            Err(io::Error::other(format!("{reason}{why}")))
        }
    }
}
