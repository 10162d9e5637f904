//! Lines for people, on standard error.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Mutex;

use crate::Failure;

/// Where lines are written as well: the file of `learn --log-to-file`.
static LOG: Mutex<Option<File>> = Mutex::new(None);

/// Writes a line. Where nobody reads any more (`2>&1 | head`) it is lost, and nothing else.
pub(crate) fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
    note(line);
}

/// Writes a line to the log alone.
pub(crate) fn note(line: impl Display) {
    if let Ok(mut log) = LOG.lock()
        && let Some(file) = log.as_mut()
    {
        let _ = writeln!(file, "{line}");
    }
}

/// From here on lines go to this file too.
pub(crate) fn log_to(path: &Path) -> Result<(), Failure> {
    let file =
        File::create(path).map_err(|error| Failure::file(path.display().to_string(), error))?;
    if let Ok(mut log) = LOG.lock() {
        *log = Some(file);
    }
    Ok(())
}
