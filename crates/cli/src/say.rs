//! Messages for users, on standard error.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Mutex;

use crate::failure::Failure;

/// The file of [`log_to`], which receives all lines too.
static LOG: Mutex<Option<File>> = Mutex::new(None);

/// Writes a line. If the reader has gone away (`2>&1 | head`), the line is lost and the program continues.
pub fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
    note(line);
}

/// Writes a line that begins with the name of the program.
pub fn complain(line: impl Display) {
    let program = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&program).file_stem().unwrap_or_default();
    say(format_args!("{}: {line}", name.to_string_lossy()));
}

/// Writes a line to the log only.
pub fn note(line: impl Display) {
    if let Ok(mut log) = LOG.lock()
        && let Some(file) = log.as_mut()
        && let Err(error) = writeln!(file, "{line}")
    {
        *log = None;
        let _ = writeln!(io::stderr(), "the log ends here: {error}");
    }
}

/// Writes all further lines to this file too. The log begins with `head`; the arguments follow. A file that does not begin as a
/// log is not overwritten: CRFsuite's `-l` takes no name, so that the training text could be given here by mistake.
///
/// # Errors
/// [`Failure::File`] for a file that cannot be written, or that is there and is no log.
pub fn log_to(path: &Path, head: &str) -> Result<(), Failure> {
    let name = || path.display().to_string();
    let failed = |error| Failure::file(name(), error);
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    if is_file {
        let mut start = Vec::new();
        let old = File::open(path).map_err(failed)?;
        old.take(head.len() as u64).read_to_end(&mut start).map_err(failed)?;
        if !start.is_empty() && start != head.as_bytes() {
            let reason = "is there already and is no log of learn; name another file";
            return Err(Failure::file(name(), reason));
        }
    }
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(is_file).open(path).map_err(failed)?;
    let arguments: Vec<String> =
        std::env::args_os().skip(2).map(|word| word.to_string_lossy().into_owned()).collect();
    writeln!(file, "{head} {}", arguments.join(" ")).map_err(failed)?;
    if let Ok(mut log) = LOG.lock() {
        *log = Some(file);
    }
    Ok(())
}
