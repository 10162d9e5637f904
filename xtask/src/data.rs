//! `cargo xtask data` lists the real data sets that are present, and says where the others are published.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fenchel_experiments::Failure;
use fenchel_experiments::data::{DataSet, SETS};

use crate::workspace;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder of real data
    #[arg(long, env = "FENCHEL_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let folder = data_folder(arguments.data.as_deref())?;
    let mut text = format!("{}\n\n", describe_data(folder.as_deref()));
    text.extend(SETS.iter().map(|set| describe(set, folder.as_deref())));
    text += "None of these is part of the project; put each file under the name above. An experiment \
             whose set is absent runs its synthetic substitute and says so.\n";
    // A reader that has seen enough (`| head`) is no failure.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(ExitCode::SUCCESS)
}

fn describe(set: &DataSet, folder: Option<&Path>) -> String {
    let there = |file: &str| folder.is_some_and(|f| f.join(file).is_file());
    let missing: Vec<&str> = set.files.iter().copied().filter(|file| !there(file)).collect();
    let state = match missing.len() {
        0 => "present".into(),
        n if n == set.files.len() => "absent".into(),
        _ => format!("incomplete, without {}", missing.join(", ")),
    };
    format!(
        "{} ({state})\n    {}\n    files: {}\n    published: {}\n\n",
        set.name,
        set.about,
        set.files.join(", "),
        set.published,
    )
}

/// Finds the folder of real data. A folder given on the command line must exist. Otherwise the function takes the first folder that
/// exists: `data/` in the root, then `../shared/data` beside the checkout. It returns `None` if neither exists.
pub(crate) fn data_folder(asked: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    data_folder_from(workspace::root(), asked)
}

fn data_folder_from(root: &Path, asked: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    if let Some(folder) = asked {
        if folder.is_dir() {
            // Absolute, because it is handed on to programs that run elsewhere.
            return Ok(Some(std::path::absolute(folder)?));
        }
        return Err(Failure::new(format!(
            "--data (or FENCHEL_DATA) = {}: expected a folder that exists",
            folder.display()
        )));
    }
    let usual = [root.join("data"), root.join("../shared/data")];
    Ok(usual.into_iter().find(|folder| folder.is_dir()))
}

/// A message to the user about the folder of real data.
pub(crate) fn describe_data(folder: Option<&Path>) -> String {
    match folder {
        Some(folder) => {
            let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
            format!("real data from {}", folder.display())
        }
        None => "no real data (--data DIR, FENCHEL_DATA or a folder `data`): embedded sets and \
                 synthetic substitutes"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_is_present_absent_or_incomplete() {
        let set = DataSet { name: "s", files: &["a", "b"], about: "it", published: "there" };
        let folder = tempfile::tempdir().unwrap();
        assert!(describe(&set, None).contains("s (absent)"));
        std::fs::write(folder.path().join("a"), "").unwrap();
        assert!(describe(&set, Some(folder.path())).contains("(incomplete, without b)"));
        std::fs::write(folder.path().join("b"), "").unwrap();
        assert!(describe(&set, Some(folder.path())).contains("(present)"));
    }

    #[test]
    fn data_is_asked_for_or_in_one_of_two_usual_places() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("checkout");
        let (own, shared) = (root.join("data"), parent.path().join("shared/data"));
        std::fs::create_dir(&root).unwrap();
        assert_eq!(data_folder_from(&root, None).unwrap(), None);
        assert!(data_folder_from(&root, Some(&own)).is_err());

        std::fs::create_dir_all(&shared).unwrap();
        assert_eq!(data_folder_from(&root, None).unwrap(), Some(root.join("../shared/data")));
        std::fs::create_dir(&own).unwrap();
        assert_eq!(data_folder_from(&root, None).unwrap(), Some(own));
        assert_eq!(data_folder_from(&root, Some(&shared)).unwrap(), Some(shared));
    }
}
