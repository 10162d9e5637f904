//! The checkpoints beside the file of a model.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fenchel_cli::say::complain;
use fenchel_crf::training::Snapshot;
use fenchel_optim::file;

/// The checkpoint file beside the model, from which an interrupted training can continue.
pub(crate) struct Checkpoints {
    path: PathBuf,
    /// The model file, whose mode the checkpoint gets.
    model: PathBuf,
    every: Duration,
    last: Instant,
    failed: bool,
}

impl Checkpoints {
    /// The checkpoints beside the model. There are none if the model goes to a device, a pipe or standard output.
    pub(crate) fn new(model: &Path, seconds: f64) -> Option<Self> {
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

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a checkpoint if it is time. A failure to write does not end the training.
    pub(crate) fn tick(&mut self, at: &Snapshot<'_>) {
        if self.last.elapsed() >= self.every {
            self.write(at);
            self.last = Instant::now();
        }
    }

    pub(crate) fn write(&mut self, at: &Snapshot<'_>) {
        let write = |to: &mut dyn Write| at.save_checkpoint(to);
        let done = file::replace_as_private(&self.path, &self.model, write);
        if let Err(error) = done
            && !std::mem::replace(&mut self.failed, true)
        {
            complain(format_args!("warning: no checkpoints: {error}"));
        }
    }

    /// Removes the checkpoint after the model is saved.
    pub(crate) fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
