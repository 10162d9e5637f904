//! Requests to end, of a user or of the system.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::say::say;

/// How often the user, or the system, has asked to end.
static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

pub(crate) fn interrupted() -> bool {
    INTERRUPTS.load(Ordering::SeqCst) > 0
}

/// The first Ctrl-C, or signal to end, ends the training within a pass, the second one the program.
pub(crate) fn watch() {
    let done = ctrlc::set_handler(ask).map_err(|error| error.to_string());
    #[cfg(unix)]
    let done = done.and_then(|()| watch_signals().map_err(|error| error.to_string()));
    if let Err(error) = done {
        say(format_args!("fenchel-crf: a signal to end will not save a model: {error}"));
    }
}

fn ask() {
    if INTERRUPTS.fetch_add(1, Ordering::SeqCst) > 0 {
        std::process::exit(130);
    }
    say("\nending within a pass; once more to quit without saving");
}

/// The system's request to end, and that of a terminal that closes, which `nohup` has asked to be left alone by.
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

/// Whether this process was started with a signal ignored, as far as the system tells: Linux does.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
