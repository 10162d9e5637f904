//! `cargo xtask peers <crate>` compares a crate with other libraries that do the same work.
//!
//! A comparison consists of three files under `benches/`. The file `peers/<crate>/requirements.txt` lists the other libraries with
//! fixed versions. The script `peers/<crate>/run.py` measures the other libraries and this project in turn. The program
//! `peer-<crate>` does the work of this project. It is an example of the package `fenchel-benches`. The script is called as
//! `run.py --runner PROGRAM --out DIR [--data DIR] [what follows -- on the command line]`.
//!
//! `cargo xtask peers python` compares the Python package: it is installed in the environment, in place of a program.
//! `cargo xtask peers trust` compares what solvers say of their answers with optima in 500 bits.
//! `cargo xtask peers mpi` compares a fit on two processes with one on one process, and has a model of larger clusters.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use fenchel_experiments::Failure;

use crate::data::{data_folder, describe_data};
use crate::environment::environment;
use crate::workspace::{self, stream};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The crate that is compared, without its prefix: `finite-sum`
    #[arg(value_name = "CRATE")]
    name: String,
    /// The folder of real data
    #[arg(long, env = "FENCHEL_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// Handed on to the script
    #[arg(last = true, value_name = "ARGUMENTS")]
    rest: Vec<String>,
}

/// The comparison of the Python package.
const PACKAGE: &str = "python";

/// The comparison of numbers of processes.
const PROCESSES: &str = "mpi";

/// The files of one comparison.
struct Peer {
    requirements: PathBuf,
    script: PathBuf,
    environment: PathBuf,
    runner: String,
    out: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.name == PROCESSES {
        return Ok(crate::mpi::scale()?);
    }
    let root = workspace::root();
    let peer = find(&root.join("benches/peers"), &workspace::target(), &arguments.name)?;
    let data = data_folder(arguments.data.as_deref())?;
    println!("{}", describe_data(data.as_deref()));

    let python = environment(&peer.requirements, &peer.environment)?;
    let runner = if arguments.name == PACKAGE {
        crate::python::install(&peer.environment)?;
        None
    } else {
        Some(build_runner(&peer.runner)?)
    };

    std::fs::create_dir_all(&peer.out)?;
    let mut script = Command::new(python);
    script.current_dir(root).arg(&peer.script);
    if let Some(runner) = runner {
        script.arg("--runner").arg(runner);
    }
    script.arg("--out").arg(&peer.out);
    if let Some(folder) = data {
        script.arg("--data").arg(folder);
    }
    script.args(&arguments.rest);
    stream(&mut script, &format!("{}", peer.script.display()))?;
    println!("results: {}", peer.out.display());
    Ok(ExitCode::SUCCESS)
}

/// Builds the program of this project and returns its path.
fn build_runner(name: &str) -> Result<PathBuf, Failure> {
    let mut build = workspace::cargo();
    build.args(["build", "--release", "-p", "fenchel-benches", "--example", name]);
    stream(&mut build, &format!("building the runner `{name}`"))?;
    let program = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    Ok(workspace::target().join("release/examples").join(program))
}

fn find(peers: &Path, target: &Path, name: &str) -> Result<Peer, Failure> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let folder = peers.join(name);
    if !name.chars().all(plain) || !folder.is_dir() {
        return Err(Failure::new(format!(
            "no comparison is called `{name}`; there {}",
            match available(peers).as_slice() {
                [] => "is none yet".to_owned(),
                some => format!("is {}", some.join(", ")),
            }
        )));
    }
    let peer = Peer {
        requirements: folder.join("requirements.txt"),
        script: folder.join("run.py"),
        environment: target.join("peers").join(format!("venv-{name}")),
        runner: format!("peer-{name}"),
        out: target.join("peers").join(name),
    };
    for file in [&peer.requirements, &peer.script] {
        if !file.is_file() {
            return Err(Failure::new(format!("{} is missing", file.display())));
        }
    }
    Ok(peer)
}

fn available(peers: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(peers).into_iter().flatten().flatten();
    let folders = entries.filter(|e| e.path().is_dir());
    let mut names: Vec<String> =
        folders.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_parts_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let peers = folder.path().join("peers");
        let error = |name: &str| find(&peers, folder.path(), name).err().unwrap().to_string();
        assert_eq!(error("finite-sum"), "no comparison is called `finite-sum`; there is none yet");
        std::fs::create_dir_all(peers.join("finite-sum")).unwrap();
        assert_eq!(error("crf"), "no comparison is called `crf`; there is finite-sum");
        assert!(error("../peers").contains("no comparison"));
        assert!(error("finite-sum").ends_with("requirements.txt is missing"));
        std::fs::write(peers.join("finite-sum/requirements.txt"), "").unwrap();
        assert!(error("finite-sum").ends_with("run.py is missing"));
        std::fs::write(peers.join("finite-sum/run.py"), "").unwrap();
        let peer = find(&peers, folder.path(), "finite-sum").ok().unwrap();
        assert_eq!(peer.runner, "peer-finite-sum");
        assert!(peer.environment.ends_with("peers/venv-finite-sum"));
    }
}
