//! Requests to end, from the user or the system.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::say::{complain, say};

/// Number of requests to end so far.
static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

/// Whether there was a request to end.
pub fn interrupted() -> bool {
    INTERRUPTS.load(Ordering::SeqCst) > 0
}

/// The first Ctrl-C or termination signal ends the fit within a pass, the second one ends the program.
pub fn watch() {
    let done = ctrlc::set_handler(ask).map_err(|error| error.to_string());
    #[cfg(unix)]
    let done = done.and_then(|()| watch_signals().map_err(|error| error.to_string()));
    if let Err(error) = done {
        complain(format_args!("a signal to end will not save a model: {error}"));
    }
}

fn ask() {
    if INTERRUPTS.fetch_add(1, Ordering::SeqCst) > 0 {
        std::process::exit(130);
    }
    say("\nending within a pass; once more to quit without saving");
}

/// The signals for termination and for a closed terminal. The latter is ignored under `nohup`.
#[cfg(unix)]
fn watch_signals() -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGTERM};
    use signal_hook::iterator::Signals;

    let mut signals = Signals::new([SIGTERM])?;
    if !is_ignored(SIGHUP) {
        signals.add_signal(SIGHUP)?;
    }
    std::thread::Builder::new().spawn(move || signals.forever().for_each(|_| ask()))?;
    Ok(())
}

/// Whether this process was started with a signal ignored. It is known on Linux only.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
