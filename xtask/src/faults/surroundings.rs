//! What a program needs is taken away: room on the disk, the right to write, memory, readers, the rest of its input, the clock.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::subject::{Ran, Subject, files, run};
use super::{Bench, NEVER, Tally, moment};

/// Puts a disk of so many kilobytes in the place of a folder, in a name space of its own; runs a command; puts what is left into the
/// folder.
const ON_A_DISK: &str = r#"set -e
folder=$1 size=$2 mode=$3; shift 3
mkdir -p "$folder.disk" "$folder.out"
mount -t tmpfs -o size="$size"k disk "$folder.disk"
mount --bind "$folder" "$folder.out"
cp -a "$folder/." "$folder.disk"
mount -o remount,"$mode",size="$size"k "$folder.disk"
mount --bind "$folder.disk" "$folder"
set +e; "$@"; code=$?
find "$folder.out" -mindepth 1 -delete
cp -a "$folder/." "$folder.out"
exit $code"#;

impl Bench<'_> {
    pub(super) fn surroundings(&mut self, moments: u32) -> io::Result<()> {
        self.full_disk(moments.div_ceil(5))?;
        self.memory(moments.div_ceil(5).max(6))?;
        self.outputs()?;
        if self.subject != Subject::Reproduce {
            self.shrinking(moments.div_ceil(5))?;
        }
        self.clock()
    }

    /// A run of which nothing but the end is expected, and that old or new files are left.
    fn trial(
        &self,
        tally: &mut Tally,
        command: &mut Command,
        quiet: bool,
        ends: &[&str],
        at: &str,
    ) -> io::Result<Ran> {
        let ran = run(command, &self.trial, quiet, NEVER, |_| ())?;
        let faults = ran.faults(ends).into_iter().chain(self.left(false));
        tally.add(&ran, faults.map(|fault| format!("{at}: {fault}")));
        Ok(ran)
    }

    /// A disk with room for ever more of what a run writes, and one that is read-only.
    fn full_disk(&mut self, disks: u32) -> io::Result<()> {
        let may = Command::new("unshare").args(["--map-root-user", "--mount", "true"]).output();
        if !may.is_ok_and(|output| output.status.success()) {
            eprintln!("no disks: this user may not mount (unshare)");
            return Ok(());
        }
        let kilobytes = |folder: &Path| -> u64 {
            let sizes =
                files(folder).into_iter().map(|path| fs::metadata(path).map_or(0, |m| m.len()));
            sizes.map(|size| 4 * size.div_ceil(4096)).sum()
        };
        let (before, written) = (kilobytes(&self.old), kilobytes(&self.new));
        let room = |k: u32| before + 8 + 2 * written * u64::from(k) / u64::from(disks);
        let [mut full, mut fixed] = [Tally::default(), Tally::default()];
        for k in 0..=disks {
            self.begin()?;
            let read_only = k == disks;
            let (size, mode) = (room(k).to_string(), if read_only { "ro" } else { "rw" });
            let own = self.subject.command(self.programs, &self.trial, None);
            let mut command = Command::new("unshare");
            command.args(["--map-root-user", "--mount", "sh", "-c", ON_A_DISK, "sh"]);
            command
                .arg(&self.trial)
                .args([&size, mode])
                .arg(own.get_program())
                .args(own.get_args());
            let (tally, ends, reason) = match read_only {
                true => (&mut fixed, &["exit 1"][..], "Read-only file system"),
                false => (&mut full, &["exit 0", "exit 1"][..], "No space left on device"),
            };
            let at = format!("a disk of {size} kB");
            let ran = self.trial(tally, &mut command, false, ends, &at)?;
            if ran.end == "exit 1" && !ran.said.contains(reason) {
                tally.faults.push(format!("{at}: no word of it: {}", ran.said.trim_end()));
            }
        }
        self.show("full disk", full);
        self.show("read-only disk", fixed);
        Ok(())
    }

    /// Address spaces of 8 MB to 4 GB, of those in which the program starts. Where an allocation fails, Rust aborts.
    fn memory(&mut self, limits: u32) -> io::Result<()> {
        let mut tally = Tally::default();
        let ends = ["exit 0", "exit 1", "signal 6", "exit 134"];
        for k in 0..limits {
            let kilobytes = (8.0 * 1024.0 * 512_f64.powf(f64::from(k) / f64::from(limits))) as u64;
            let limited = |words: &mut dyn Iterator<Item = &OsStr>| {
                let mut command = Command::new("sh");
                command.args(["-c", "ulimit -v $0; exec \"$@\"", &kilobytes.to_string()]);
                command.args(words);
                command
            };
            self.begin()?;
            let program = self.programs.join(self.subject.program());
            let version = [program.as_os_str(), OsStr::new("--version")];
            let started = limited(&mut version.into_iter()).output()?;
            if !started.status.success() {
                continue;
            }
            // Without mpirun, which may hang where it has no memory itself.
            let own = self.subject.alone(self.programs, &self.trial);
            let mut words = std::iter::once(own.get_program()).chain(own.get_args());
            let at = format!("{kilobytes} kB of memory");
            self.trial(&mut tally, &mut limited(&mut words), false, &ends, &at)?;
        }
        self.show("RLIMIT_AS", tally);
        Ok(())
    }

    /// Outputs that nobody reads, and outputs on a full disk: a result in a file is made all the same, or the end is a failure.
    fn outputs(&mut self) -> io::Result<()> {
        let full = || File::options().write(true).open("/dev/full");
        let mut tally = Tally::default();
        for (closed, out) in [(true, true), (true, false), (false, true), (false, false)] {
            self.begin()?;
            let mut command = self.subject.alone(self.programs, &self.trial);
            command.stdout(Stdio::null()).stderr(Stdio::null());
            let gone = match closed {
                // A pipe whose reader has ended.
                true => Stdio::from(io::pipe()?.1),
                false => Stdio::from(full()?),
            };
            if out {
                command.stdout(gone)
            } else {
                command.stderr(gone)
            };
            let at = format!(
                "{} {}",
                if closed { "closed" } else { "full" },
                if out { "output" } else { "error output" }
            );
            let ran = run(&mut command, &self.trial, true, NEVER, |_| ())?;
            let done = self.subject.finished(&self.trial, &self.new);
            let mut faults = ran.faults(&["exit 0", "exit 1", "exit 141"]);
            faults.extend(self.left(false));
            if ran.end == "exit 0" && !done {
                faults.push("exit 0 without a result".to_owned());
            }
            tally.add(&ran, faults.into_iter().map(|fault| format!("{at}: {fault}")));
        }
        self.show("closed and full outputs", tally);
        Ok(())
    }

    /// An input that loses its second half while it is read: an error, or the model of all of it.
    fn shrinking(&mut self, moments: u32) -> io::Result<()> {
        let mut tally = Tally::default();
        let long = self.trial.with_file_name("long");
        // So long that some of the moments are in the reading.
        self.subject.write_input(&long, 3000 * moments.min(20) as usize)?;
        let short = |folder: &Path| self.subject.command(self.programs, folder, Some(1));
        let seconds = self.undisturbed(&mut short(&long), &long)?;
        let [model, text] = ["model.json", "train.txt"].map(|name| fs::read(long.join(name)));
        let (model, text) = (model?, text?);
        // Where a reader sees no damage.
        let middle = text.windows(2).take(text.len() / 2).rposition(|two| two == b"\n\n");
        let half = middle.map_or(0, |place| place as u64 + 2);
        for k in 1..=moments {
            self.begin()?;
            let (input, result) = (self.trial.join("train.txt"), self.trial.join("model.json"));
            fs::write(&input, &text)?;
            let old = fs::read(&result)?;
            let moment = moment(k, seconds);
            let ran = run(&mut short(&self.trial), &self.trial, false, moment, |_| {
                let _ =
                    File::options().write(true).open(&input).and_then(|file| file.set_len(half));
            })?;
            let mut faults = ran.faults(&["exit 0", "exit 1"]);
            let found = fs::read(&result)?;
            let expected = if ran.end == "exit 0" { &model } else { &old };
            if found != *expected {
                faults.push(format!(
                    "{}: the model is not {}",
                    ran.end,
                    if ran.end == "exit 0" { "that of the whole text" } else { "the old one" }
                ));
            }
            tally.add(&ran, faults.into_iter().map(|fault| format!("after {moment:.2?}: {fault}")));
        }
        self.show("input that shrinks", tally);
        Ok(())
    }

    /// A clock that jumps a year ahead, and two back, where there is libfaketime: the same files.
    fn clock(&mut self) -> io::Result<()> {
        let Some(library) = faketime() else { return Ok(()) };
        let mut tally = Tally::default();
        for (first, second) in [("+1y", "-1y"), ("-1y", "+1y")] {
            self.begin()?;
            let time = self.trial.with_extension("time");
            fs::write(&time, first)?;
            let mut command = self.subject.command(self.programs, &self.trial, None);
            command.env("LD_PRELOAD", &library).env("FAKETIME_TIMESTAMP_FILE", &time);
            command.env("FAKETIME_NO_CACHE", "1").env("DONT_FAKE_MONOTONIC", "1");
            // Without rustc, whose allocator hangs where libfaketime is loaded.
            command.env("PATH", "/usr/bin:/bin");
            let ran = run(&mut command, &self.trial, false, moment(1, self.seconds), |_| {
                let _ = fs::write(&time, second);
            })?;
            tally.add(&ran, ran.faults(&["exit 0"]).into_iter().chain(self.left(false)));
        }
        self.show("clock that jumps", tally);
        Ok(())
    }
}

/// The library that shows programs another time: named by `FAKETIME_LIBRARY`, or where Debian has it.
fn faketime() -> Option<PathBuf> {
    let named = std::env::var_os("FAKETIME_LIBRARY").map(PathBuf::from);
    let usual = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";
    named.or_else(|| Some(PathBuf::from(usual))).filter(|path| path.is_file())
}
