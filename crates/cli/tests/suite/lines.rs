//! Command lines that nobody wrote: each ends with an answer or with a message, and never with a panic.

use std::collections::BTreeMap;

use fenchel_optim::random::{Generator, stream};
use rand::RngExt;

use crate::common::Folder;

/// Lines of each program.
const LINES: usize = 150;

/// Words that may be a value, whatever an option asks for.
const WORDS: [&str; 30] = [
    "",
    "0",
    "1",
    "-1",
    "2",
    "0.5",
    "1e308",
    "1e-308",
    "nan",
    "inf",
    "-inf",
    "18446744073709551616",
    "x",
    "--",
    "-",
    ".",
    "a,b",
    "é",
    "a=b",
    "x->y",
    "1:2",
    "word[0]",
    "data.csv",
    "train.svm",
    "train.conll",
    "model",
    "empty",
    "bytes",
    "missing",
    "net.bif",
];

/// An option, and whether it takes a value.
type Switch = (String, bool);

/// The options of a command and the values that it lists, from its help.
fn switches(folder: &Folder, command: &str) -> (Vec<Switch>, Vec<String>) {
    let help = folder.ok(&format!("{command} --help"));
    let (mut options, mut values) = (Vec::new(), Vec::new());
    for line in help.lines().map(str::trim) {
        if let Some(at) =
            line.find("--").filter(|_| line.starts_with('-') && !line.starts_with("- "))
        {
            let mut words = line[at..].split_whitespace();
            let name = words.next().unwrap_or_default().to_owned();
            options.push((name, words.next().is_some_and(|word| word.starts_with('<'))));
        } else if let Some((value, _)) =
            line.strip_prefix("- ").and_then(|rest| rest.split_once(':'))
        {
            values.push(value.to_owned());
        }
    }
    (options, values)
}

fn one_of<'a, T>(from: &'a [T], rng: &mut Generator) -> &'a T {
    &from[rng.random_range(0..from.len())]
}

/// A line that works, with up to three options and up to two faults.
fn line(
    works: &[&str],
    (options, values): &(Vec<Switch>, Vec<String>),
    rng: &mut Generator,
) -> Vec<String> {
    let word = |rng: &mut Generator| match values.as_slice() {
        [_, ..] if rng.random() => one_of(values, rng).clone(),
        _ => (*one_of(&WORDS, rng)).to_owned(),
    };
    let mut line: Vec<String> = works.iter().map(|&word| word.to_owned()).collect();
    for _ in 0..rng.random_range(0..4) {
        let (option, valued) = one_of(options, rng);
        line.push(option.clone());
        if *valued {
            line.push(word(rng));
        }
    }
    for _ in 0..rng.random_range(0..3) {
        let at = rng.random_range(0..line.len());
        match rng.random_range(0..4) {
            0 => line[at] = word(rng),
            1 => line.insert(at, line[rng.random_range(0..line.len())].clone()),
            2 if line.len() > 1 => drop(line.remove(at)),
            _ => line.push(word(rng)),
        }
    }
    line
}

/// The files that lines name; a line may have overwritten one.
fn write_files(folder: &Folder) {
    folder.write("data.csv", "a,b,y\n1,2,0\n2,3,1\n0,1,0\n3,3,1\n1,1,0\n2,2,1\n");
    folder.write("train.svm", "1 1:1 3:2\n-1 1:2\n1 2:1 3:1\n-1 2:3\n");
    folder.write("train.conll", "a D B-X\nb N I-X\n\nb N B-X\na D O\n\nc V O\n\n");
    folder.write("empty", "");
    folder.write("bytes", b"\x01\x00\xff{}[1,2");
    folder.write(
        "net.bif",
        "network n { } variable a { type discrete [ 2 ] { yes, no }; } probability ( a ) { table 0.4, 0.6; }",
    );
}

/// The first of `works` writes `model`.
fn check(folder: &Folder, works: &[&[&str]]) {
    let known: BTreeMap<&str, _> =
        works.iter().map(|line| (line[0], switches(folder, line[0]))).collect();
    assert!(known.values().all(|(options, _)| options.len() > 2), "{known:?}");
    assert!(known.values().any(|(_, values)| values.len() > 2), "{known:?}");
    write_files(folder);
    for line in works {
        folder.ok(&line.iter().map(|word| format!("'{word}' ")).collect::<String>());
    }
    let model = std::fs::read(folder.path("model")).unwrap();
    let (rng, mut done) = (&mut stream(47, 0), 0);
    for k in 0..LINES {
        write_files(folder);
        folder.write("model", &model);
        let works = works[k % works.len()];
        let line = line(works, &known[works[0]], rng);
        let (code, message) = folder.ended(&line);
        assert!(
            matches!(code, Some(0..=3)) && !message.contains("panicked"),
            "{line:?}: {code:?} {message}"
        );
        assert!(!matches!(code, Some(1 | 2)) || !message.trim().is_empty(), "{line:?}: no message");
        done += usize::from(code == Some(0));
    }
    assert!(done > LINES / 10, "{done} of {LINES} lines were answered");
}

#[test]
fn lines_of_fenchel() {
    check(
        &Folder::new(),
        &[
            &["fit", "logistic", "train.svm", "-m", "model"],
            &["fit", "linear", "data.csv", "--l2", "0.1"],
            &["predict", "model", "train.svm"],
            &["identify", "x -> y; x <-> z; z -> y", "P(y | do(x))"],
            &["query", "net.bif", "P(a=yes)"],
        ],
    );
}

#[test]
fn lines_of_fenchel_crf() {
    check(
        &Folder::crf(),
        &[
            &["learn", "-m", "model", "--template-preset", "chunking", "train.conll"],
            &["tag", "-m", "model", "train.conll"],
            &["eval", "-m", "model", "train.conll"],
            &["dump", "model"],
        ],
    );
}

/// A byte of value 0 behind the beginning, in a plain and in a compressed file, and from standard input.
#[test]
fn a_byte_of_value_0_is_no_text() {
    let folder = Folder::new();
    let mut text = "1 1:1\n-1 1:2\n".repeat(20).into_bytes();
    text[100] = 0;
    folder.write("plain", &text);
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut to, &text).unwrap();
    folder.write("packed", to.finish().unwrap());
    for file in ["plain", "packed"] {
        let error = folder.error(&format!("fit logistic {file}"));
        assert!(
            error.starts_with(&format!("{file}: not a text: it has a byte of value 0")),
            "{error}"
        );
    }
    let input = std::fs::File::open(folder.path("plain")).unwrap();
    let output = folder.command("fit logistic -").stdin(input).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard input: not a text"));
}

/// Files without end, in a process that may have 4 GB.
#[cfg(target_os = "linux")]
#[test]
fn files_without_end_are_refused() {
    let (folder, crf) = (Folder::new(), Folder::crf());
    folder.write("train.svm", "1 1:1\n-1 1:2\n");
    for (folder, line, expected) in [
        (&folder, "fit logistic /dev/zero", "/dev/zero: not a text: "),
        (&folder, "query /dev/zero", "/dev/zero: not a text: "),
        (&folder, "predict /dev/zero train.svm", "not a model file"),
        (&crf, "learn -m m /dev/zero", "/dev/zero: not a text: "),
        (&crf, "dump /dev/zero", "not a conditional random field file"),
        (&crf, "learn -m m --resume /dev/zero train.svm", "not a conditional random field file"),
    ] {
        let error = folder.limited(line, "/dev/null");
        assert!(error.contains(expected), "{line}: {error}");
    }
    for (input, line, expected) in [
        ("tr '\\0' 1 < /dev/zero", "fit logistic -", "a line of more than 256 MiB"),
        (
            "yes '# a comment, and no content that would ever come'",
            "fit logistic -",
            "its first 16 MiB have",
        ),
        ("tr '\\0' 'x' < /dev/zero", "query -", "a text of more than 256 MiB"),
    ] {
        let error = folder.limited(line, &format!("<({input})"));
        assert!(error.contains(expected), "{line}: {error}");
    }
}
