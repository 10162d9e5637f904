//! Files that are whole or not there at all.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use fenchel_crf::{CrfModel, Saved};
use tempfile::NamedTempFile;

use crate::Failure;

/// Where a model will be saved: a new file next to it takes its place in one step.
pub(crate) struct Target {
    path: PathBuf,
}

impl Target {
    /// Refuses a place where no file can be made, before hours of training.
    pub(crate) fn new(path: &Path) -> Result<Self, Failure> {
        let target = Target { path: path.to_path_buf() };
        if path.is_dir() {
            return Err(target.failure("is a folder"));
        }
        target.draft()?;
        Ok(target)
    }

    fn draft(&self) -> Result<NamedTempFile, Failure> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(|error| self.failure(error))
    }

    /// Saves. A failure leaves the file that was there as it was.
    pub(crate) fn save(&self, model: &CrfModel) -> Result<(), Failure> {
        let mut draft = self.draft()?;
        let mut to = BufWriter::with_capacity(1 << 20, draft.as_file_mut());
        let name = || self.path.display().to_string();
        model.save(&mut to).map_err(|source| Failure::Model { file: name(), source })?;
        to.flush().map_err(|error| self.failure(error))?;
        drop(to);
        draft.as_file().sync_all().map_err(|error| self.failure(error))?;
        readable(&draft).map_err(|error| self.failure(error))?;
        draft.persist(&self.path).map_err(|error| self.failure(error.error))?;
        Ok(())
    }

    fn failure(&self, reason: impl ToString) -> Failure {
        Failure::file(self.path.display().to_string(), reason)
    }
}

/// Temporary files are for their owner alone; a model is a file like any other.
#[cfg(unix)]
fn readable(file: &NamedTempFile) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &NamedTempFile) -> std::io::Result<()> {
    Ok(())
}
