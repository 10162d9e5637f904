//! `cargo xtask data`: which real data sets are there, and where the others are published.

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
    let folder = workspace::data_folder(arguments.data.as_deref())?;
    let mut text = format!("{}\n\n", workspace::describe_data(folder.as_deref()));
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
}
