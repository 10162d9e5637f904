//! The checkpoints of a training, in a file beside that of the model.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fenchel_optim::file;

use crate::watch::Snapshot;

/// The file `MODEL.checkpoint`, from which an interrupted training can continue.
#[derive(Debug)]
pub struct Checkpoints {
    path: PathBuf,
    /// The model file, whose mode the checkpoint gets.
    model: PathBuf,
    every: Duration,
    last: Instant,
    failed: bool,
}

impl Checkpoints {
    /// The checkpoints beside the file of a model, at intervals of so many seconds. There are none if the model goes to a device, a pipe
    /// or standard output (`-`).
    pub fn new(model: &Path, seconds: f64) -> Option<Self> {
        if !(seconds > 0.0) || model == Path::new("-") || !file::is_replaced(model) {
            return None;
        }
        let mut name = model.file_name()?.to_owned();
        name.push(".checkpoint");
        let path = model.with_file_name(name);
        let every = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        let model = model.to_path_buf();
        Some(Checkpoints { path, model, every, last: Instant::now(), failed: false })
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What to say before a training that starts anew, and would write over the checkpoint of another.
    pub fn warning(&self) -> Option<String> {
        let path = self.path.display();
        let warning = || {
            format!(
                "warning: {path} is of a training that did not end; without --resume {path} it will be written over"
            )
        };
        self.path.exists().then(warning)
    }

    /// Writes a checkpoint if it is time. A failure need not end the training.
    ///
    /// # Errors
    /// The first failure to write, in words; those after it are passed over.
    pub fn tick(&mut self, at: &Snapshot<'_>) -> io::Result<()> {
        if self.last.elapsed() < self.every {
            return Ok(());
        }
        let done = self.write(at);
        self.last = Instant::now();
        done
    }

    /// Writes a checkpoint.
    ///
    /// # Errors
    /// As [`tick`](Self::tick).
    pub fn write(&mut self, at: &Snapshot<'_>) -> io::Result<()> {
        let write = |to: &mut dyn Write| at.save_checkpoint(to);
        match file::replace_as_private(&self.path, &self.model, write) {
            Err(error) if !std::mem::replace(&mut self.failed, true) => {
                Err(io::Error::new(error.kind(), format!("warning: no checkpoints: {error}")))
            }
            _ => Ok(()),
        }
    }

    /// Removes the checkpoint after the model is saved, and what a killed training has left of another.
    pub fn remove(&self) {
        let _ = file::check_writable(&self.path);
        let _ = std::fs::remove_file(&self.path);
    }
}
