//! Messages for users, on standard error.

use std::fmt::Display;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Mutex;

use crate::Failure;

/// The file of `learn --log-to-file`, which receives all lines too.
static LOG: Mutex<Option<File>> = Mutex::new(None);

/// Writes a line. If the reader has gone away (`2>&1 | head`), the line is lost and the program continues.
pub(crate) fn say(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
    note(line);
}

/// Writes a line to the log only.
pub(crate) fn note(line: impl Display) {
    if let Ok(mut log) = LOG.lock()
        && let Some(file) = log.as_mut()
    {
        let _ = writeln!(file, "{line}");
    }
}

/// The beginning of a log; the arguments follow.
const HEAD: &str = "fenchel-crf learn";

/// Writes all further lines to this file too. A file that does not begin as a log is not overwritten: CRFsuite's `-l` takes no
/// name, so that the training text could be given here by mistake.
pub(crate) fn log_to(path: &Path) -> Result<(), Failure> {
    let name = || path.display().to_string();
    let failed = |error| Failure::file(name(), error);
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    if is_file {
        let mut head = Vec::new();
        let old = File::open(path).map_err(failed)?;
        old.take(HEAD.len() as u64).read_to_end(&mut head).map_err(failed)?;
        if !head.is_empty() && head != HEAD.as_bytes() {
            let reason = "is there already and is no log of learn; name another file";
            return Err(Failure::file(name(), reason));
        }
    }
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(is_file).open(path).map_err(failed)?;
    let arguments: Vec<String> =
        std::env::args_os().skip(2).map(|word| word.to_string_lossy().into_owned()).collect();
    let _ = writeln!(file, "{HEAD} {}", arguments.join(" "));
    if let Ok(mut log) = LOG.lock() {
        *log = Some(file);
    }
    Ok(())
}
