//! The file of a model and the checkpoints beside it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fenchel_crf::{CrfModel, Saved, Snapshot};
use fenchel_optim::file;

use crate::Failure;
use crate::say::say;

/// Where a model will be saved.
pub(crate) struct Target {
    path: PathBuf,
}

impl Target {
    /// Refuses a place where no file can be made, before hours of training.
    pub(crate) fn new(path: &Path) -> Result<Self, Failure> {
        file::check_writable(path).map_err(Failure::Write)?;
        Ok(Target { path: path.to_path_buf() })
    }

    /// Saves. A failure leaves the file that was there as it was.
    pub(crate) fn save(&self, model: &CrfModel) -> Result<(), Failure> {
        let name = self.path.display().to_string();
        model.save_file(&self.path).map_err(|source| match source {
            fenchel_optim::model::ModelError::Io(error) => Failure::Write(error),
            source => Failure::Model { file: name, source },
        })
    }
}

/// A file beside the model from which a training goes on that was ended without notice.
pub(crate) struct Checkpoints {
    path: PathBuf,
    every: Duration,
    last: Instant,
    failed: bool,
}

impl Checkpoints {
    /// Beside the model, unless that is no regular file: a device or a pipe keeps nothing.
    pub(crate) fn new(model: &Path, seconds: f64) -> Option<Self> {
        if !(seconds > 0.0) || model.exists() && !model.is_file() {
            return None;
        }
        let mut name = model.file_name()?.to_owned();
        name.push(".checkpoint");
        let path = model.with_file_name(name);
        let every = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        Some(Checkpoints { path, every, last: Instant::now(), failed: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes one if it is time. One that cannot be written is no reason to end a training.
    pub(crate) fn tick(&mut self, at: &Snapshot<'_>) {
        if self.last.elapsed() >= self.every {
            self.write(at);
            self.last = Instant::now();
        }
    }

    pub(crate) fn write(&mut self, at: &Snapshot<'_>) {
        let done: io::Result<()> = file::replace(&self.path, |to| at.save_checkpoint(to));
        if let Err(error) = done
            && !std::mem::replace(&mut self.failed, true)
        {
            say(format_args!("fenchel-crf: warning: no checkpoints: {error}"));
        }
    }

    /// After the model is saved.
    pub(crate) fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
