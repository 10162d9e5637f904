//! `cargo xtask faults` interrupts and kills the long-running programs at many moments, takes disk, memory and readers away from
//! them, and checks what they say and what they leave behind: no panic, no process, no half of a file.
//!
//! The moments are spread evenly over a run, in an order in which any number of them is. The faults need Linux; those of disks need
//! a user who may mount (`unshare`).

mod subject;
mod surroundings;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode};
use std::time::Duration;

use crate::{mpi, workspace};
use subject::{Ran, Subject, processes, run as run_in, signal};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Interrupt, and kill, each program at this many moments
    #[arg(long, default_value_t = 100, value_name = "N")]
    moments: u32,
    /// Disturb this program only
    #[arg(long, value_name = "PROGRAM", value_parser = Subject::ALL.map(Subject::program))]
    only: Option<String>,
    /// Take the programs that are beside this one, and leave out those that are not
    #[arg(long)]
    built: bool,
}

/// The runs of a subject under a fault.
#[derive(Default)]
struct Tally {
    ends: BTreeMap<String, u32>,
    faults: Vec<String>,
}

impl Tally {
    fn add(&mut self, ran: &Ran, faults: impl IntoIterator<Item = String>) {
        *self.ends.entry(ran.end.clone()).or_default() += 1;
        self.faults.extend(faults);
    }
}

/// What the faults of a subject need.
struct Bench<'a> {
    subject: Subject,
    programs: &'a Path,
    /// Where a run begins: its input, and the result of a former run.
    old: PathBuf,
    /// What an undisturbed run leaves.
    new: PathBuf,
    trial: PathBuf,
    seconds: f64,
    failed: usize,
}

pub(crate) fn run(arguments: &Arguments) -> io::Result<ExitCode> {
    let own = std::env::current_exe()?;
    let programs = own.parent().unwrap_or(Path::new("."));
    if !arguments.built {
        build()?;
    }
    let root = workspace::target().join(format!("faults-{}", std::process::id()));
    let mut failed = 0;
    println!("| program | fault | runs | ends | faults |\n|---|---|---|---|---|");
    let chosen =
        |subject: &Subject| arguments.only.as_deref().is_none_or(|only| only == subject.program());
    for subject in Subject::ALL.into_iter().filter(chosen) {
        if !programs.join(subject.program()).is_file() {
            println!("| {} | not built | | | |", subject.name());
            continue;
        }
        let mut bench = Bench::new(subject, programs, &root.join(subject.program()))?;
        bench.signals(arguments.moments)?;
        bench.surroundings(arguments.moments)?;
        failed += bench.failed;
    }
    if failed > 0 {
        return Err(io::Error::other(format!(
            "{failed} faults; the last files are in {}",
            root.display()
        )));
    }
    fs::remove_dir_all(&root)?;
    Ok(ExitCode::SUCCESS)
}

/// Builds the programs in the profile of this one.
fn build() -> io::Result<()> {
    let mut cargo = workspace::cargo();
    cargo.args(["build", "--package", "fenchel-cli", "--package", "xtask"]);
    if mpi::missing().is_none() {
        cargo.args(["--package", "fenchel-mpi", "--features", "fenchel-mpi/mpi"]);
    }
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    workspace::stream(&mut cargo, "cargo build")
}

impl<'a> Bench<'a> {
    fn new(subject: Subject, programs: &'a Path, root: &Path) -> io::Result<Self> {
        let [old, new, trial] = ["old", "new", "trial"].map(|name| root.join(name));
        // Two pieces for two processes.
        subject.write_input(&old, if subject == Subject::Spread { 3200 } else { 300 })?;
        let mut bench = Bench { subject, programs, old, new, trial, seconds: 0.0, failed: 0 };
        // The result of a former run: of fewer passes, or none, so that there is something to go on with.
        if subject != Subject::Reproduce {
            bench.undisturbed(&mut subject.command(programs, &bench.old, Some(2)), &bench.old)?;
        }
        bench.begin()?;
        let trial = bench.trial.clone();
        bench.seconds = bench.undisturbed(&mut subject.command(programs, &trial, None), &trial)?;
        eprintln!("{}: {:.2} s undisturbed", subject.name(), bench.seconds);
        fs::rename(&bench.trial, &bench.new)?;
        Ok(bench)
    }

    /// Runs a command whose success is not in question.
    fn undisturbed(&self, command: &mut Command, folder: &Path) -> io::Result<f64> {
        let ran = run_in(command, folder, false, NEVER, |_| ())?;
        if ran.end == "exit 0" { Ok(ran.seconds) } else { Err(io::Error::other(ran.said)) }
    }

    /// Makes the folder of the next run.
    fn begin(&self) -> io::Result<()> {
        if self.trial.exists() {
            fs::remove_dir_all(&self.trial)?;
        }
        copy(&self.old, &self.trial)
    }

    /// The faults of the files that a run has left, after it ended so.
    fn left(&self, drafts: bool) -> Vec<String> {
        self.subject.faults(self.programs, &self.trial, [&self.old, &self.new], drafts)
    }

    /// Shows a row of the table, and its faults.
    fn show(&mut self, fault: &str, tally: Tally) {
        let runs: u32 = tally.ends.values().sum();
        let ends = tally.ends.iter().map(|(end, count)| format!("{count} {end}"));
        let ends = ends.collect::<Vec<String>>().join(", ");
        let faults = tally.faults.len();
        println!("| {} | {fault} | {runs} | {ends} | {faults} |", self.subject.name());
        tally.faults.iter().for_each(|fault| eprintln!("  {fault}"));
        self.failed += faults;
    }

    /// Interrupts and kills, and goes on from what is left.
    fn signals(&mut self, moments: u32) -> io::Result<()> {
        let spread = self.subject == Subject::Spread;
        for name in ["INT", "KILL"] {
            let ends = match (spread, name) {
                // mpirun ends with 1 or with the signal of a process, which is 130 or 137.
                (true, "INT") => &["exit 0", "exit 1", "exit 130", "signal 2"][..],
                (true, _) => &["exit 0", "exit 1", "exit 137", "signal 9"],
                // Before it listens, a program is ended by the signal.
                (false, "INT") => &["exit 0", "exit 130", "signal 2"],
                (false, _) => &["exit 0", "signal 9"],
            };
            let mut tally = Tally::default();
            let mut k = 1;
            while k <= moments {
                self.begin()?;
                let moment = moment(k, self.seconds);
                // Of a program that starts others, in turns one of these and itself.
                let other = spread && k % 2 == 0;
                let disturb = |child: &Child| {
                    let mut started =
                        processes(&self.trial).into_iter().filter(|id| *id != child.id());
                    let process = if other { started.next_back() } else { Some(child.id()) };
                    process.into_iter().for_each(|process| signal(name, process));
                };
                let run = |passes| self.subject.command(self.programs, &self.trial, passes);
                let ran = run_in(&mut run(None), &self.trial, false, moment, disturb)?;
                if !ran.disturbed {
                    // It was quicker than it has been.
                    self.seconds = ran.seconds;
                    continue;
                }
                k += 1;
                // Nobody removes the draft of a process that is killed; mpirun kills those that it has started.
                let drafts = spread || name == "KILL";
                let mut faults = ran.faults(ends);
                faults.extend(self.left(drafts));
                let again = run_in(&mut run(Some(2)), &self.trial, false, NEVER, |_| ())?;
                let went_on = again.faults(&["exit 0"]).into_iter().chain(self.left(false));
                faults.extend(went_on.map(|fault| format!("the run that goes on: {fault}")));
                let whom = if other { " to a process of mpirun" } else { "" };
                let at = |fault| format!("SIG{name}{whom} after {moment:.2?}: {fault}");
                tally.add(&ran, faults.into_iter().map(at));
            }
            self.show(&format!("SIG{name}"), tally);
        }
        Ok(())
    }
}

/// The moment of a fault that does not come.
const NEVER: Duration = Duration::MAX;

/// A moment of a run of so many seconds. Those of any number of runs are spread evenly, by the golden ratio.
fn moment(k: u32, seconds: f64) -> Duration {
    Duration::from_secs_f64((f64::from(k) * 0.618_033_988_749_895).fract() * seconds)
}

/// Copies a folder.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for path in subject::files(from) {
        let target = to.join(path.strip_prefix(from).unwrap_or(&path));
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(&path, target)?;
    }
    Ok(())
}
