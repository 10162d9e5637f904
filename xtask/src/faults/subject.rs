//! The programs that are disturbed: each works in a folder that has its input, and the result of a former run.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// After so long a program hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// A program that works for some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    Learn,
    Reproduce,
    Spread,
}

impl Subject {
    pub(super) const ALL: [Subject; 3] = [Subject::Learn, Subject::Reproduce, Subject::Spread];

    pub(super) fn name(self) -> &'static str {
        match self {
            Subject::Learn => "fenchel-crf learn",
            Subject::Reproduce => "xtask reproduce",
            Subject::Spread => "mpirun fenchel-mpi learn",
        }
    }

    pub(super) fn program(self) -> &'static str {
        match self {
            Subject::Learn => "fenchel-crf",
            Subject::Reproduce => "xtask",
            Subject::Spread => "fenchel-mpi",
        }
    }

    /// The program at work on the files of a folder, for so many passes over its text, or as many as take a while. It goes on
    /// from a checkpoint that is there.
    pub(super) fn command(self, programs: &Path, folder: &Path, passes: Option<u32>) -> Command {
        let program = programs.join(self.program());
        let at = |name: &str| folder.join(name).display().to_string();
        let mut command = match self {
            Subject::Learn | Subject::Reproduce => Command::new(program),
            Subject::Spread => {
                let mut mpirun = Command::new("mpirun");
                mpirun.args(["--oversubscribe", "--allow-run-as-root", "-n", "2"]).arg(program);
                mpirun
            }
        };
        if self == Subject::Reproduce {
            command.args(["reproduce", "--only", "ca-ex15,fs-ex6", "--out", &at("out")]);
            return command;
        }
        let passes = passes.unwrap_or(if self == Subject::Learn { 80 } else { 5 });
        command.args(["learn", "--template-preset", "chunking", "--tolerance", "1e-9"]);
        command.args(["--max-passes", &passes.to_string(), "--checkpoint", "0.01"]);
        command.args(["-m", &at("model.json"), &at("train.txt")]);
        let checkpoint = at("model.json.checkpoint");
        if Path::new(&checkpoint).exists() {
            command.args(["--resume", &checkpoint]);
        }
        command
    }

    /// The program as one process, whose outputs are its own.
    pub(super) fn alone(self, programs: &Path, folder: &Path) -> Command {
        let whole = self.command(programs, folder, None);
        if self != Subject::Spread {
            return whole;
        }
        let mut command = Command::new(programs.join(self.program()));
        command.args(whole.get_args().skip_while(|word| *word != "learn"));
        command
    }

    /// Writes the input of a run.
    pub(super) fn write_input(self, folder: &Path, sentences: usize) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        if self == Subject::Reproduce {
            return Ok(());
        }
        let mut text = io::BufWriter::new(File::create(folder.join("train.txt"))?);
        for i in 0..sentences {
            for t in 0..3 + i % 9 {
                let k = (i * 31 + t * 17) % 53;
                let label = ["B-NP", "I-NP", "O"][(k + t + i % 2) % 3];
                writeln!(text, "word{k} {} {label}", ["NN", "VB", "DT"][k % 3])?;
            }
            writeln!(text)?;
        }
        text.flush()
    }

    /// Whether a run that may have been disturbed has made its result: that of one that was not.
    pub(super) fn finished(self, folder: &Path, new: &Path) -> bool {
        files(new).into_iter().all(|path| {
            let own = folder.join(path.strip_prefix(new).unwrap_or(&path));
            let dated = path.extension().is_some_and(|ending| ending == "html");
            if dated { own.exists() } else { content(&own) == content(&path) }
        })
    }

    /// What is wrong with the files of a run that was disturbed, after `old` ones or none, compared with those of one that was not.
    /// Names of drafts are allowed where nobody could remove them.
    pub(super) fn faults(
        self,
        programs: &Path,
        folder: &Path,
        [old, new]: [&Path; 2],
        drafts: bool,
    ) -> Vec<String> {
        let mut faults = Vec::new();
        for path in files(folder) {
            let name = path.strip_prefix(folder).unwrap_or(&path);
            let shown = name.display().to_string();
            let same = |other: &Path| content(&path) == content(&other.join(name));
            let fault = match shown.rsplit('.').next() {
                Some("partial") if drafts => None,
                Some("partial") => Some("was left behind"),
                Some("html") if content(&path).trim_end().ends_with("</html>") => None,
                // It loads, or the run that goes on from it says so.
                Some("checkpoint") => None,
                _ if same(new) || same(old) => None,
                // That of an interrupted training.
                _ if shown == "model.json" && loads(programs, &path) => None,
                _ => Some("is neither the old file nor the new one"),
            };
            faults.extend(fault.map(|fault| format!("{shown} {fault}")));
        }
        for path in files(old) {
            let name = path.strip_prefix(old).unwrap_or(&path);
            if !folder.join(name).exists() {
                faults.push(format!("{} is gone", name.display()));
            }
        }
        faults
    }
}

/// Whether a file is a whole model.
fn loads(programs: &Path, model: &Path) -> bool {
    let mut dump = Command::new(programs.join(Subject::Learn.program()));
    dump.arg("dump").arg(model).output().is_ok_and(|output| output.status.success())
}

/// The files below a folder.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// The content of a file, without the seconds that a run took.
fn content(path: &Path) -> String {
    let text = String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let dated = path.extension().is_some_and(|ending| ending == "json") && text.starts_with("{\n");
    if !dated {
        return text;
    }
    text.lines().filter(|line| !line.starts_with("  \"seconds\"")).collect()
}

/// How a program ended.
pub(super) struct Ran {
    pub(super) disturbed: bool,
    pub(super) end: String,
    pub(super) said: String,
    pub(super) seconds: f64,
}

impl Ran {
    /// A message of a panic, or an end that nobody expects.
    pub(super) fn faults(&self, ends: &[&str]) -> Vec<String> {
        let panicked = self.said.contains("panicked at") || self.end == "exit 101";
        let unexpected = !ends.contains(&self.end.as_str());
        let tail = self.said.trim_end().rsplit('\n').take(3).collect::<Vec<_>>();
        let tail = tail.into_iter().rev().collect::<Vec<_>>().join(" | ");
        let fault = panicked || unexpected;
        fault.then(|| format!("{}: {tail}", self.end)).into_iter().collect()
    }
}

/// Runs a command, which `disturb` disturbs at a moment unless it has ended, and waits for it and all that it started. What it says goes to `FOLDER.log`,
/// unless the command has other outputs.
pub(super) fn run(
    command: &mut Command,
    folder: &Path,
    quiet: bool,
    moment: Duration,
    disturb: impl FnOnce(&Child),
) -> io::Result<Ran> {
    let log = folder.with_extension("log");
    if !quiet {
        let file = File::create(&log)?;
        command.stdout(file.try_clone()?).stderr(file);
    } else {
        fs::write(&log, "")?;
    }
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).spawn()?;
    let mut disturb = Some(disturb);
    let mut living = Vec::new();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if start.elapsed() >= moment
            && let Some(disturb) = disturb.take()
        {
            disturb(&child);
        }
        if start.elapsed() > LIMIT {
            let name = |id| fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
            living = processes(folder).into_iter().map(name).collect();
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    let seconds = start.elapsed().as_secs_f64();
    let mut end = match status {
        None => format!("hangs: {}", living.concat().trim_end().replace('\n', ", ")),
        Some(status) => match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit {code}"),
            (_, signal) => format!("signal {}", signal.unwrap_or(0)),
        },
    };
    let ended = Instant::now();
    while !processes(folder).is_empty() && ended.elapsed() < LIMIT / 4 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let left = processes(folder);
    if !left.is_empty() {
        end = format!("{end}, {} processes live on", left.len());
        left.into_iter().for_each(|process| signal("KILL", process));
    }
    let disturbed = disturb.is_none();
    Ok(Ran { end, disturbed, said: String::from_utf8_lossy(&fs::read(log)?).into_owned(), seconds })
}

/// The processes that have the name of a folder among their arguments.
pub(super) fn processes(folder: &Path) -> Vec<u32> {
    let name = format!("{}/", folder.display());
    let own = std::process::id();
    let ids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_string_lossy().parse::<u32>().ok());
    let is_of_it = |id: &u32| {
        let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        *id != own && String::from_utf8_lossy(&words).contains(&name)
    };
    ids.filter(is_of_it).collect()
}

/// Sends a signal; a process that has ended already needs none.
pub(super) fn signal(name: &str, process: u32) {
    let mut kill = Command::new("kill");
    let _ = kill.args(["-s", name, &process.to_string()]).stderr(Stdio::null()).status();
}
