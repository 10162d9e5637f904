//! The file of a model.

use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use fenchel_optim::file::{self, same_file};
use fenchel_optim::model::{ModelError, Saved};

use crate::failure::Failure;

/// Where a model will be saved.
#[derive(Debug)]
pub enum Target {
    /// A file, or a device.
    File(PathBuf),
    /// Standard output.
    StandardOutput,
}

impl Target {
    /// The output at `path`; `-` is standard output. A path that cannot be written is refused here, before hours of training.
    ///
    /// # Errors
    /// [`Failure::Write`].
    pub fn new(path: &Path) -> Result<Self, Failure> {
        if path == Path::new("-") {
            return Ok(Target::StandardOutput);
        }
        file::check_writable(path).map_err(Failure::Write)?;
        Ok(Target::File(path.to_path_buf()))
    }

    /// Saves the model. If that fails, the old file is unchanged.
    ///
    /// # Errors
    /// [`Failure::Write`] for a file, [`Failure::File`] for standard output.
    pub fn save(&self, model: &impl Saved) -> Result<(), Failure> {
        let (done, name) = match self {
            Target::File(path) => (model.save_file(path), path.display().to_string()),
            Target::StandardOutput => {
                let out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
                (model.save(out), "standard output".to_owned())
            }
        };
        done.map_err(|source| match source {
            // That of a file names it.
            ModelError::Io(error) if matches!(self, Target::File(_)) => Failure::Write(error),
            // Not `Output`: who reads a model wants all of it.
            ModelError::Io(error) => Failure::file(name, error),
            source => Failure::Model { file: name, source },
        })
    }
}

/// Refuses to write to a file that is read.
///
/// # Errors
/// [`Failure::Usage`] that names the option.
pub fn check_apart(option: &str, path: &Path, read: &[&Path]) -> Result<(), Failure> {
    if read.iter().any(|text| same_file(text, path)) {
        return Err(used_twice(option, path, "it is read"));
    }
    Ok(())
}

/// The failure of an option whose file has another use.
pub fn used_twice(option: &str, path: &Path, use_of_it: &str) -> Failure {
    Failure::Usage(format!("{option} {}: {use_of_it} too; name another file", path.display()))
}
