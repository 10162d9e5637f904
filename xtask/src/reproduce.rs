//! `cargo xtask reproduce` runs the experiments, stores their outcomes, and writes the report.

use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fenchel_experiments::report::{self, Entry, Key, Provenance, Record, State, Store};
use fenchel_experiments::{
    Claim, Context, Experiment, Failure, Outcome, Size, Table, data, registry,
};
use fenchel_linalg::{parallel, text};
use indicatif::MultiProgress;

use crate::data::{data_folder, describe_data};
use crate::meter::Meter;
use crate::remaining::Remaining;
use crate::workspace;

/// The exit code that a shell reports for an interrupted program.
const INTERRUPTED: u8 = 130;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Run at the sizes of the documents instead of minutes in all
    #[arg(long)]
    full: bool,
    /// Run these only: ids, or beginnings such as `fs`
    #[arg(long, value_name = "ID,..", value_delimiter = ',')]
    only: Vec<String>,
    /// List the experiments and run none
    #[arg(long)]
    list: bool,
    /// Run the few experiments that take seconds and need no data
    #[arg(long, conflicts_with = "only")]
    smoke: bool,
    /// The folder of real data
    #[arg(long, env = "FENCHEL_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where the report goes [default: target/reproduce, and target/reproduce/full with --full]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The seed of every random draw
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Run again what a former run has finished
    #[arg(long)]
    fresh: bool,
    /// Put the counts and the seconds of a whole run with all real data beside the experiments
    #[arg(long, conflicts_with_all = ["smoke", "list"])]
    readme: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let folder = data_folder(arguments.data.as_deref())?;
    let all = &registry::all();
    let selected: Vec<&Experiment> = if arguments.smoke {
        registry::SMOKE.iter().filter_map(|id| registry::find(all, id)).collect()
    } else {
        registry::select(all, &arguments.only)?
    };
    let size = if arguments.full { Size::Full } else { Size::Quick };
    let out = arguments.out.clone().unwrap_or_else(|| default_out(size));
    let recorded = |id: &str| match size {
        Size::Quick => registry::recorded_seconds(id),
        Size::Full => None,
    };
    if arguments.list {
        let store = Store::new(&out);
        let seconds = |id: &str| {
            let last = store.seconds(id).map(text::seconds);
            last.or_else(|| Some(format!("about {}", text::seconds(recorded(id)?))))
        };
        for table in listing(&selected, folder.as_deref(), seconds) {
            println!("{}", table.to_text());
        }
        return Ok(ExitCode::SUCCESS);
    }

    parallel::start(0).map_err(Failure::new)?;
    let stop = stop_on_ctrl_c()?;
    let stopped = || stop.load(Ordering::Relaxed);
    let context = Context { data: folder, size, stopped: &stopped, ..Context::new(arguments.seed) };
    println!("{}", describe_data(context.data.as_deref()));

    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut session = Session {
        store: Store::new(&out),
        build: report::build_fingerprint(&std::env::current_exe()?)?,
        fresh: arguments.fresh,
        at_a_time: AT_A_TIME.min(cores),
        bars: MultiProgress::new(),
        remaining: Mutex::new(Remaining::new(vec![], 1)),
    };
    let former = |e: &Experiment| session.store.seconds(e.id).or_else(|| recorded(e.id));
    let due = selected.iter().filter(|e| session.kept(e, &context).is_none());
    let due: Vec<_> = due.map(|e| (e.id, former(e))).collect();
    let seconds = |e: &Experiment| due.iter().find(|d| d.0 == e.id).and_then(|d| d.1);
    // The longest first, so that none is left alone at the end.
    let mut order = selected.clone();
    order.sort_by(|a, b| seconds(b).unwrap_or(0.0).total_cmp(&seconds(a).unwrap_or(0.0)));
    session.remaining = Mutex::new(Remaining::new(due, session.at_a_time));
    let mut ran = session.entries(&order, &context)?;
    let failing = ran.iter().any(Entry::differs);
    let mut entries = Vec::new();
    for experiment in all {
        if let Some(at) = ran.iter().position(|entry| entry.experiment.id == experiment.id) {
            entries.push(ran.swap_remove(at));
        } else if !arguments.smoke {
            // A partial run completes the report of a former one instead of replacing it.
            entries.extend(session.former(experiment, &context));
        }
    }

    let provenance = Provenance {
        version: env!("CARGO_PKG_VERSION").into(),
        size,
        seed: context.seed,
        data: context.data.is_some(),
        facts: facts(),
    };
    let page = report::write(&out, &provenance, &entries)?;
    print_results(&entries);
    println!("report: {}", page.display());
    if arguments.readme {
        if let Some(missing) = all.iter().find(|e| entries.iter().all(|o| o.experiment.id != e.id))
        {
            return Err(Failure::new(format!("no counts are written: {} was not run", missing.id)));
        }
        let folder = workspace::root().join("crates/experiments");
        report::write_counts(&folder.join("README.md"), &provenance, &entries)?;
        if size == Size::Quick {
            report::write_seconds(&folder.join("seconds.csv"), &entries)?;
        }
    }
    Ok(match (failing, stopped()) {
        (true, _) => {
            println!("a verdict differs from the registered one, or an experiment failed");
            ExitCode::FAILURE
        }
        (false, true) => {
            println!("stopped; the next run takes up what is missing");
            ExitCode::from(INTERRUPTED)
        }
        (false, false) => ExitCode::SUCCESS,
    })
}

/// The folder of the report. Quick and full runs have different folders, because a full run may take hours and a quick run must not
/// overwrite its outcomes.
fn default_out(size: Size) -> PathBuf {
    let out = workspace::target().join("reproduce");
    match size {
        Size::Quick => out,
        Size::Full => out.join("full"),
    }
}

/// A flag that the first Ctrl-C sets. The second Ctrl-C ends the program at once.
fn stop_on_ctrl_c() -> Result<Arc<AtomicBool>, Failure> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&flag);
    ctrlc::set_handler(move || {
        if raised.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(INTERRUPTED));
        }
        eprintln!("\nstopping; what is done is kept (Ctrl-C again to quit at once)");
    })?;
    Ok(flag)
}

/// How many experiments take place at a time. One of them leaves a core idle where it has an odd number of runs, or a part without
/// threads.
const AT_A_TIME: usize = 2;

/// The data that all experiments of one run share.
struct Session {
    store: Store,
    build: String,
    fresh: bool,
    at_a_time: usize,
    bars: MultiProgress,
    remaining: Mutex<Remaining>,
}

impl Session {
    /// Runs experiments, as many at a time as the session has; the next one begins where one has ended. The entries are in the
    /// order in which they ended.
    fn entries(&self, order: &[&Experiment], context: &Context) -> Result<Vec<Entry>, Failure> {
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || -> Result<(), Failure> {
            while let Some(experiment) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                let entry = self.entry(experiment, context)?;
                done.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..self.at_a_time).map(|_| scope.spawn(work)).collect();
            let mine = work();
            others.into_iter().fold(mine, |so_far, other| {
                so_far.and(other.join().unwrap_or_else(|_| Err(Failure::new("a run panicked"))))
            })
        })?;
        Ok(done.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs an experiment, unless there is a stored outcome.
    fn entry(&self, experiment: &Experiment, context: &Context) -> Result<Entry, Failure> {
        let remaining = || self.remaining.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(record) = self.kept(experiment, context) {
            let line =
                format!("{:<12} {}, from a former run", experiment.id, verdicts(&record.outcome));
            self.bars.suspend(|| println!("{line}"));
            return Ok(done(experiment, record));
        }
        let key = Key::new(experiment, context, &self.build);
        let data = key.data.clone();
        let without = |state| Entry { experiment: *experiment, data, state, seconds: None };
        if (context.stopped)() {
            return Ok(without(State::Stopped));
        }
        let place = remaining().begin();
        let meter = Meter::new(&self.bars, experiment.id, &place, experiment.title);
        let tick = |fraction: f64, doing: &str| meter.tick(fraction, doing);
        let result = guarded(experiment, &Context { tick: &tick, ..context.clone() });
        let seconds = meter.seconds();
        let left = remaining().done(experiment.id, seconds);
        let line = |words: &str| format!("{words} ({}; {left})", text::seconds(seconds));
        Ok(match result {
            Ok(outcome) => {
                meter.finish(&line(&verdicts(&outcome)));
                let record = Record { key, seconds, outcome };
                self.store.save(&record)?;
                done(experiment, record)
            }
            Err(failure) if failure.is_stopped() => {
                meter.finish("stopped");
                without(State::Stopped)
            }
            Err(failure) => {
                meter.finish(&line(&format!("failed: {failure}")));
                without(State::Failed(failure.to_string()))
            }
        })
    }

    /// The stored outcome of an earlier run with the same key. It is `None` if the user asked to run everything again.
    fn kept(&self, experiment: &Experiment, context: &Context) -> Option<Record> {
        if self.fresh { None } else { self.store.load(&Key::new(experiment, context, &self.build)) }
    }

    /// The stored outcome of an earlier run with the same key.
    fn former(&self, experiment: &Experiment, context: &Context) -> Option<Entry> {
        let record = self.store.load(&Key::new(experiment, context, &self.build))?;
        Some(done(experiment, record))
    }
}

/// A finished experiment of the report.
fn done(experiment: &Experiment, record: Record) -> Entry {
    Entry {
        experiment: *experiment,
        data: record.key.data,
        state: State::Done(Box::new(record.outcome)),
        seconds: Some(record.seconds),
    }
}

/// Runs an experiment. A panic makes this experiment fail, and the others still run.
fn guarded(experiment: &Experiment, context: &Context) -> Result<Outcome, Failure> {
    // What a panic may have left half-changed is the experiment's own and is dropped with it.
    std::panic::catch_unwind(AssertUnwindSafe(|| experiment.outcome(context))).unwrap_or_else(
        |payload| {
            let text = payload
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| payload.downcast_ref::<String>().cloned());
            Err(Failure::new(format!("panicked: {}", text.unwrap_or_else(|| "no message".into()))))
        },
    )
}

/// Counts of the verdicts of an outcome, in words.
fn verdicts(outcome: &Outcome) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for word in outcome.claims.iter().map(Claim::outcome) {
        match counts.iter_mut().find(|(w, _)| *w == word) {
            Some((_, n)) => *n += 1,
            None => counts.push((word, 1)),
        }
    }
    if counts.is_empty() {
        return "no claims".into();
    }
    counts.iter().map(|(word, n)| format!("{n} {word}")).collect::<Vec<_>>().join(", ")
}

/// The largest number of claims for which all claims are printed. A run with more claims prints those whose verdict differs from
/// the expected one.
const SHOWN: usize = 60;

/// The summary of a run: claims, errors, counts, and the experiments that were not reached.
fn print_results(entries: &[Entry]) {
    let claims = entries.iter().filter_map(Entry::outcome).map(|o| o.claims.len()).sum::<usize>();
    for entry in entries {
        for claim in entry.outcome().iter().flat_map(|o| &o.claims) {
            if claims <= SHOWN || claim.differs() {
                print!("\n{}", told(entry.experiment.id, claim));
            }
        }
    }
    for entry in entries {
        if let State::Failed(message) = &entry.state {
            println!("{} ended with an error: {message}", entry.experiment.id);
        }
    }
    if claims > 0 {
        println!("\n{}", report::counts(entries).to_text());
    }
    let seconds: f64 = entries.iter().filter_map(|e| e.seconds).sum();
    let finished = entries.iter().filter(|e| e.outcome().is_some()).count();
    let (all, time) = (entries.len(), text::seconds(seconds));
    println!("{finished} of {all} experiments finished, {claims} claims, {time} of work");
}

/// A claim in three lines, whole: a terminal wraps them.
fn told(id: &str, claim: &Claim) -> String {
    let text = format!(
        "{id}: {}: {}\n    expected: {}\n    measured: {}",
        claim.outcome(),
        claim.statement,
        claim.threshold.text,
        claim.measured
    );
    text.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The list of experiments, with one table per document. `seconds` is how long an experiment took.
fn listing(
    selected: &[&Experiment],
    folder: Option<&Path>,
    seconds: impl Fn(&str) -> Option<String>,
) -> Vec<Table> {
    let of_document = |experiments: &[&Experiment]| {
        let mut table = Table::new(experiments[0].document, ["id", "title", "time", "real data"]);
        for e in experiments {
            let (there, absent): (Vec<&str>, Vec<&str>) = e.needs.iter().partition(|name| {
                folder.zip(data::find(name)).and_then(|(f, set)| set.locate(f)).is_some()
            });
            let mut sets = vec![there.join(", "), format!("absent: {}", absent.join(", "))];
            sets.retain(|part| !part.is_empty() && part != "absent: ");
            let time = seconds(e.id).unwrap_or("–".into());
            table.push([e.id.into(), e.title.into(), time.into(), sets.join("; ").into()]);
        }
        table
    };
    selected.chunk_by(|a, b| a.document == b.document).map(of_document).collect()
}

/// The facts about this run that the page shows. A fact that the machine does not provide is left out.
fn facts() -> Vec<(String, String)> {
    let told = |program: &str, arguments: &[&str]| {
        let output = std::process::Command::new(program)
            .args(arguments)
            .current_dir(workspace::root())
            .output()
            .ok()
            .filter(|output| output.status.success())?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (!text.is_empty()).then_some(text)
    };
    let processor = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let command: Vec<String> = std::env::args().skip(1).collect();
    [
        ("Revision", told("git", &["describe", "--always", "--dirty"])),
        ("Date", told("date", &["-u", "+%F"])),
        ("Processor", processor.map(|name| format!("{name}, {cores} threads"))),
        ("Toolchain", told("rustc", &["--version"])),
        ("Command", Some(format!("cargo xtask {}", command.join(" ")))),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
    .collect()
}

#[cfg(test)]
mod tests {
    use fenchel_experiments::Source;

    use super::*;

    fn session(folder: &Path) -> Session {
        Session {
            store: Store::new(folder),
            build: "b".into(),
            fresh: false,
            at_a_time: 2,
            bars: MultiProgress::new(),
            remaining: Mutex::new(Remaining::new(vec![("xx-1", None); 3], 2)),
        }
    }

    const fn experiment(run: fn(&Context, &mut Outcome) -> Result<(), Failure>) -> Experiment {
        Experiment { id: "xx-1", title: "a title", run, ..Experiment::of("") }
    }

    fn context(stopped: &(dyn Fn() -> bool + Sync)) -> Context<'_> {
        Context { stopped, ..Context::new(1) }
    }

    fn passes(_: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
        outcome.claim(Source::OURS.claim("s").ours("e").holds(("m", true)));
        Ok(())
    }

    /// Every experiment once, under its document, in lines that a terminal holds.
    #[test]
    fn the_list_is_one_table_a_document() {
        let all = registry::all();
        let all: Vec<&Experiment> = all.iter().collect();
        let text: String =
            listing(&all, None, |_| Some("about 12 s".into())).iter().map(Table::to_text).collect();
        for e in &all {
            assert_eq!(
                text.lines().filter(|line| line.starts_with(&format!("{} ", e.id))).count(),
                1
            );
            assert_eq!(text.matches(e.document).count(), 1, "{}", e.document);
        }
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= 140, "{widest}");
    }

    #[test]
    fn what_is_done_is_not_done_again() {
        let folder = tempfile::tempdir().unwrap();
        let session = session(folder.path());
        let first = session.entry(&experiment(passes), &context(&|| false)).unwrap();
        // Under the same key a second experiment is not even called.
        let broken = experiment(|_, _| panic!("called"));
        let second = session.entry(&broken, &context(&|| false)).unwrap();
        assert_eq!(first.state, second.state);
        assert!(session.former(&broken, &context(&|| false)).is_some());
        let fresh = Session { fresh: true, ..session };
        let third = fresh.entry(&broken, &context(&|| false)).unwrap();
        assert_eq!(third.state, State::Failed("panicked: called".into()));
    }

    #[test]
    fn failures_and_stops_are_not_stored() {
        let folder = tempfile::tempdir().unwrap();
        let session = session(folder.path());
        let stops = experiment(|context, _| context.check());
        let entry = |experiment: &Experiment, stop: &(dyn Fn() -> bool + Sync)| {
            session.entry(experiment, &context(stop)).unwrap()
        };
        assert_eq!(entry(&stops, &|| true).state, State::Stopped);
        let stops_later = experiment(|_, _| Err(Failure::stopped()));
        let stopped = entry(&stops_later, &|| false);
        assert_eq!(stopped.state, State::Stopped);
        assert!(!stopped.differs());
        let fails = experiment(|_, _| Err(Failure::new("no")));
        assert!(entry(&fails, &|| false).differs());
        assert!(session.former(&fails, &context(&|| false)).is_none());
    }

    /// Every experiment runs once, and an error of one ends none of the others.
    #[test]
    fn experiments_run_side_by_side() {
        let folder = tempfile::tempdir().unwrap();
        let session = session(folder.path());
        let ids = ["aa-1", "bb-1", "cc-1", "dd-1", "ee-1"];
        let all: Vec<Experiment> = ids
            .map(|id| match id {
                "bb-1" => Experiment { id, ..experiment(|_, _| panic!("broken")) },
                _ => Experiment { id, ..experiment(passes) },
            })
            .to_vec();
        let all: Vec<&Experiment> = all.iter().collect();
        let entries = session.entries(&all, &context(&|| false)).unwrap();
        let failed = |entry: &&Entry| matches!(entry.state, State::Failed(_));
        assert_eq!(entries.iter().filter(failed).count(), 1);
        let mut found: Vec<&str> = entries.iter().map(|entry| entry.experiment.id).collect();
        found.sort_unstable();
        assert_eq!(found, ids);
    }

    #[test]
    fn verdicts_are_counted() {
        let mut outcome = Outcome::default();
        passes(&context(&|| false), &mut outcome).unwrap();
        assert_eq!(verdicts(&Outcome::default()), "no claims");
        outcome
            .claim(Source::OURS.claim("s").ours("e").holds(("m", true)))
            .claim(Source::OURS.claim("s").reported("e", "m"));
        assert_eq!(verdicts(&outcome), "2 pass, 1 reported");
    }

    #[test]
    fn a_claim_is_told_whole() {
        let long = "word ".repeat(60);
        let claim = Source::OURS.claim(long.trim_end()).ours("e").holds(("m", true));
        let text = told("xx-1", &claim);
        assert!(
            text.contains(long.trim_end()) && text.ends_with("    expected: e\n    measured: m\n")
        );
    }
}
