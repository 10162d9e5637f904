//! A folder to run the program in, and small texts.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Columns word, part of speech, chunk.
pub(crate) const COLUMNS: &str = "\
The DT B-NP
dog NN I-NP
barks VBZ B-VP

A DT B-NP
cat NN I-NP
sleeps VBZ B-VP
in IN B-PP
the DT B-NP
house NN I-NP

Dogs NNS B-NP
bark VBP B-VP

She PRP B-NP
sees VBZ B-VP
the DT B-NP
old JJ I-NP
house NN I-NP
";

/// The same as attributes, one of them with a colon, one with a value.
pub(crate) fn attributes() -> String {
    let mut text = String::new();
    for line in COLUMNS.lines() {
        if let [word, tag, label] = line.split(' ').collect::<Vec<_>>()[..] {
            text += &format!("{label}\tw\\:{word}\tp={tag}\tlength:{}", word.len());
        }
        text.push('\n');
    }
    text
}

/// A sentence of CoNLL-U with comments, a multiword token, empty nodes and a note; words in column 1, labels in column 3.
pub(crate) fn universal() -> String {
    let words = [("vamos", "VERB"), ("nos", "PRON"), ("a", "ADP"), ("el", "DET"), ("mar", "NOUN")];
    let line = |(t, (word, tag)): (usize, (&str, &str))| {
        format!("{}\t{word}\t_\t{tag}\t_\t_\t0\t_\t_\t_\n", t + 1)
    };
    let lines: Vec<String> = words.into_iter().enumerate().map(line).collect();
    let rest = "\t_".repeat(8);
    let (vamos, end) = (&lines[0], lines[3..].concat());
    let nos = lines[1].replace("\t_\n", "\tSpaceAfter=No\n");
    format!(
        "# text = vamonos al mar\n1-2\tvamonos{rest}\n{vamos}{nos}# inside\n2.1\tya{rest}\n{}{end}5.1\tx{rest}\n# end\n\n",
        lines[2]
    )
}

pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fenchel-crf"));
        command.current_dir(self.0.path()).args(line.split_whitespace());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Output {
        self.command(line).stdin(Stdio::null()).output().unwrap()
    }

    /// Standard output of a run that succeeds.
    pub(crate) fn ok(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// All that a model holds.
    pub(crate) fn content(&self, model: &str) -> String {
        self.ok(&format!("dump --top 0 {model}"))
    }

    /// The message of a run that fails.
    pub(crate) fn error(&self, line: &str) -> String {
        let output = self.run(line);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}: {message}");
        message.strip_prefix("fenchel-crf: ").unwrap_or(&message).trim_end().to_owned()
    }
}

/// The labels of the training text, as `tag` writes them.
pub(crate) fn truth() -> String {
    let label = |line: &str| line.rsplit(' ').next().unwrap_or_default().to_owned() + "\n";
    COLUMNS.lines().map(label).collect::<String>() + "\n"
}
