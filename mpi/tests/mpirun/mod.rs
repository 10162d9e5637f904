//! Runs of `mpirun` that end.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Child, Command, ExitStatus, Output};
use std::time::{Duration, Instant};

/// Nothing here takes as long.
const DEADLINE: Duration = Duration::from_secs(600);
/// How long `mpirun` may stay after its processes.
const TAIL: Duration = Duration::from_secs(10);

/// A program on a number of processes.
pub(crate) fn command(processes: usize, program: impl AsRef<OsStr>) -> Command {
    let mut mpirun = Command::new("mpirun");
    mpirun.args(["--oversubscribe", "--allow-run-as-root", "-n", &processes.to_string()]);
    mpirun.arg(program);
    mpirun
}

/// Runs it. That of Open MPI 4.1 may stay for ever when a process has ended the others, with a lock that two of its own threads want;
/// on a busy machine it does in one run of eight. It is started again then.
pub(crate) fn output(mpirun: &mut Command) -> Output {
    for _ in 0..6 {
        let [mut out, mut err] = [(); 2].map(|()| tempfile::tempfile().unwrap());
        mpirun.stdout(out.try_clone().unwrap()).stderr(err.try_clone().unwrap());
        let running = mpirun.spawn().expect("mpirun; cargo xtask mpi says what is missing");
        if let Some(status) = end(running) {
            return Output { status, stdout: content(&mut out), stderr: content(&mut err) };
        }
    }
    panic!("mpirun stayed after its processes six times")
}

fn content(file: &mut File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().and_then(|()| file.read_to_end(&mut bytes)).unwrap();
    bytes
}

/// How `mpirun` ended, or nothing where it stayed after its processes and was ended here.
pub(crate) fn end(mut running: Child) -> Option<ExitStatus> {
    let begun = Instant::now();
    let mut lonely = None;
    loop {
        if let Some(status) = running.try_wait().unwrap() {
            return Some(status);
        }
        if children(running.id()).is_empty() {
            if lonely.get_or_insert_with(Instant::now).elapsed() > TAIL {
                running.kill().and_then(|()| running.wait()).unwrap();
                return None;
            }
        } else {
            lonely = None;
            assert!(begun.elapsed() < DEADLINE, "the processes of mpirun do not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The processes that `mpirun` has started and that have not ended. Where there is no `/proc`, itself stands for them.
pub(crate) fn children(mpirun: u32) -> Vec<u32> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return vec![mpirun] };
    let is_child = |&id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // Behind the name, which may have any letters: the state, and the parent.
        let mut after = stat.rsplit_once(')').map_or("", |(_, after)| after).split_whitespace();
        after.next() != Some("Z") && after.next() == Some(&mpirun.to_string())
    };
    let ids = processes.flatten().filter_map(|one| one.file_name().to_str()?.parse().ok());
    ids.filter(is_child).collect()
}
