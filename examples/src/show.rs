//! What an example is called with, and what it shows.

use std::error::Error;
use std::fmt::Display;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fenchel_datasets::{Folder, sets};
use fenchel_optim::Progress;

use crate::end_on_lost_output;

/// The command line and the screen of an example.
///
/// Every example takes `--out DIR` for its pictures and files, and reads real data from the folder that `FENCHEL_DATA` names. It says
/// whether its data are real, and ends with its conclusion. `cargo xtask gallery` runs all examples, and makes a page of what they
/// show.
pub struct Show {
    out: Option<PathBuf>,
    arguments: Vec<String>,
    folder: tempfile::TempDir,
}

impl Show {
    /// Runs an example: hands it the command line, and shows its error in words.
    pub fn run(example: fn(&Show) -> Result<(), Box<dyn Error>>) -> ExitCode {
        end_on_lost_output();
        match Show::new(std::env::args().skip(1)).and_then(|show| example(&show)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        }
    }

    fn new(words: impl Iterator<Item = String>) -> Result<Show, Box<dyn Error>> {
        let (mut out, mut arguments) = (None, Vec::new());
        let mut words = words;
        while let Some(word) = words.next() {
            if word == "--out" {
                let folder = words.next().ok_or("--out: expected a folder behind it")?;
                std::fs::create_dir_all(&folder).map_err(|error| format!("{folder}: {error}"))?;
                out = Some(folder.into());
            } else {
                arguments.push(word);
            }
        }
        Ok(Show { out, arguments, folder: tempfile::tempdir()? })
    }

    /// The arguments other than `--out DIR`.
    pub fn arguments(&self) -> Vec<&str> {
        self.arguments.iter().map(String::as_str).collect()
    }

    /// The place of a file that the example writes: in the folder of `--out`, or in one that is removed at the end.
    pub fn path(&self, name: &str) -> PathBuf {
        self.out.as_deref().unwrap_or_else(|| self.folder.path()).join(name)
    }

    /// The folder of real data, which `FENCHEL_DATA` names.
    pub fn real_data(&self) -> Option<Folder> {
        std::env::var_os("FENCHEL_DATA").map(Folder::new)
    }

    /// The files of a real data set: the first argument, if there is one, or those in the folder of real data.
    pub fn files_of(&self, set: &str) -> Option<Vec<PathBuf>> {
        if let Some(file) = self.arguments.first() {
            return Some(vec![file.into()]);
        }
        sets::find(set)?.locate(self.real_data()?.root())
    }

    /// As [`files_of`](Show::files_of) for the single file of a set, and says that it is used.
    pub fn real_file_of(&self, set: &str) -> Option<PathBuf> {
        let file = self.files_of(set)?.into_iter().next()?;
        match (self.arguments.first(), sets::find(set)) {
            (None, Some(set)) => self.real(format_args!("{}, {}", set.name, set.about)),
            _ => self.real(file.display()),
        }
        Some(file)
    }

    /// Says which real data are used.
    pub fn real(&self, data: impl Display) {
        println!("Data (real): {data}\n");
    }

    /// Says which data are generated.
    pub fn generated(&self, data: impl Display) {
        println!("Data (generated): {data}\n");
    }

    /// Writes a picture in SVG to the folder of `--out`, if there is one.
    pub fn picture(&self, name: &str, svg: &str) -> Result<(), Box<dyn Error>> {
        let Some(out) = &self.out else { return Ok(()) };
        let path = out.join(name).with_extension("svg");
        std::fs::write(&path, svg).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("Picture: {}", path.display());
        Ok(())
    }

    /// Says in a sentence what the numbers show. It comes last.
    pub fn conclude(&self, conclusion: impl Display) {
        println!("\nConclusion: {conclusion}");
    }
}

/// Watches a fit, and hands on every new certificate: a fit calls its watcher at every pass, and few passes have one of their own.
pub fn certificates(mut each: impl FnMut(&Progress)) -> impl FnMut(&Progress) -> ControlFlow<()> {
    let mut last = None;
    move |progress| {
        if last.replace(progress.certificate) != Some(progress.certificate) {
            each(progress);
        }
        ControlFlow::Continue(())
    }
}

/// The error of a file, with its name.
pub fn of_file(path: &Path) -> impl Fn(std::io::Error) -> String + '_ {
    move |error| format!("{}: {error}", path.display())
}
