//! `cargo xtask gallery`: runs all examples, and makes a page of what they ask, read, print, draw and conclude.
//!
//! An example says what it shows in a form that this file reads: its documentation begins with a question, a line of its output begins
//! with `Data (real): ` or `Data (generated): `, the last one with `Conclusion: `, and a line `Picture: ` names each picture in the
//! folder of `--out`. The first picture is the thumbnail.

mod page;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use crate::workspace;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folder of real data [default: that of the variable FENCHEL_DATA; without one, examples generate data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Run some examples, by name
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    only: Vec<String>,
    /// The profile of cargo that the examples are built with; dev is built sooner and runs slower
    #[arg(long, value_name = "PROFILE", default_value = "release")]
    profile: String,
    /// Where the page goes [default: target/gallery]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// What an example is, before it runs.
struct Example {
    name: String,
    /// The first paragraph of its documentation.
    question: String,
    /// The other paragraphs, without the command lines.
    about: Vec<String>,
    /// The program without its documentation.
    code: String,
}

/// What a run of an example showed.
struct Shown {
    example: Example,
    /// Each set of data, and whether it is real.
    data: Vec<(bool, String)>,
    output: String,
    conclusion: String,
    /// The pictures in their order, as file names in the folder of the example.
    pictures: Vec<String>,
    seconds: f64,
    /// Why it failed.
    failure: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> io::Result<ExitCode> {
    let examples = examples()?;
    if let Some(unknown) =
        arguments.only.iter().find(|name| examples.iter().all(|e| e.name != **name))
    {
        let names: Vec<&str> = examples.iter().map(|e| e.name.as_str()).collect();
        let reason = format!("there is no example {unknown}; there are {}", names.join(", "));
        return Err(io::Error::other(reason));
    }
    let asked = |e: &Example| arguments.only.is_empty() || arguments.only.contains(&e.name);
    let mut build = workspace::cargo();
    build.args(["build", "--profile", &arguments.profile, "-p", "fenchel-examples", "--examples"]);
    workspace::stream(&mut build, "the build of the examples")?;
    let folder = if arguments.profile == "dev" { "debug" } else { &arguments.profile };
    let programs = workspace::target().join(folder).join("examples");
    let out = arguments.out.clone().unwrap_or_else(|| workspace::target().join("gallery"));
    let mut all = Vec::new();
    for example in examples.into_iter().filter(asked) {
        let shown = show(example, &programs, &out, arguments.data.as_deref())?;
        println!("{:24} {:6.2} s  {}", shown.example.name, shown.seconds, shown.verdict());
        all.push(shown);
    }
    fs::create_dir_all(&out)?;
    let index = out.join("index.html");
    fs::write(&index, page::page(&all))?;
    println!("the page is {}", index.display());
    let failed = all.iter().filter(|shown| shown.failure.is_some()).count();
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Shown {
    fn verdict(&self) -> &str {
        self.failure.as_deref().unwrap_or(match self.conclusion.is_empty() {
            true => "no conclusion: it needs real data",
            false => &self.conclusion,
        })
    }
}

/// Runs an example that was built.
fn show(example: Example, programs: &Path, out: &Path, data: Option<&Path>) -> io::Result<Shown> {
    let folder = out.join(&example.name);
    if folder.is_dir() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let mut command = std::process::Command::new(programs.join(&example.name));
    command.arg("--out").arg(&folder);
    if let Some(data) = data {
        command.env("FENCHEL_DATA", data);
    }
    let start = Instant::now();
    let run = command.output()?;
    let seconds = start.elapsed().as_secs_f64();
    let failure =
        (!run.status.success()).then(|| String::from_utf8_lossy(&run.stderr).trim().to_owned());
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    Ok(Shown { seconds, failure, ..read(example, &text) })
}

/// The data, the output, the pictures and the conclusion in the text of an example.
fn read(example: Example, text: &str) -> Shown {
    let (mut data, mut pictures) = (Vec::new(), Vec::new());
    let (mut output, mut conclusion) = (String::new(), String::new());
    for line in text.lines() {
        if let Some(real) = line.strip_prefix("Data (real): ") {
            data.push((true, real.to_owned()));
        } else if let Some(generated) = line.strip_prefix("Data (generated): ") {
            data.push((false, generated.to_owned()));
        } else if let Some(sentence) = line.strip_prefix("Conclusion: ") {
            sentence.clone_into(&mut conclusion);
        } else if let Some(path) = line.strip_prefix("Picture: ") {
            let name = Path::new(path).file_name().unwrap_or_default();
            pictures.push(name.to_string_lossy().into_owned());
        } else {
            output += line;
            output.push('\n');
        }
    }
    let output = output.trim_matches('\n').to_owned();
    Shown { example, data, output, conclusion, pictures, seconds: 0.0, failure: None }
}

/// All examples, by name.
fn examples() -> io::Result<Vec<Example>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(workspace::root().join("examples/examples"))? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        all.push(example(name, &fs::read_to_string(&path)?));
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

fn example(name: String, source: &str) -> Example {
    let lines = source.lines().take_while(|line| line.starts_with("//!"));
    let documentation: Vec<&str> =
        lines.map(|line| line.trim_start_matches("//!").trim_start_matches(' ')).collect();
    let code = source.lines().skip(documentation.len()).collect::<Vec<_>>().join("\n");
    let (mut paragraphs, mut in_code) = (vec![String::new()], false);
    for line in documentation {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if line.is_empty() {
            paragraphs.push(String::new());
        } else if !in_code && let Some(last) = paragraphs.last_mut() {
            if !last.is_empty() {
                last.push(' ');
            }
            *last += line;
        }
    }
    let mut paragraphs = paragraphs.into_iter().filter(|paragraph| !paragraph.is_empty());
    let question = paragraphs.next().unwrap_or_default();
    Example { name, question, about: paragraphs.collect(), code: code.trim().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the page is made of.
    #[test]
    fn every_example_asks_says_its_data_and_concludes() {
        let all = examples().unwrap();
        assert!(all.len() >= 30);
        for Example { name, question, about, code } in all {
            assert!(question.ends_with('?') && question.len() <= 120, "{name}: {question:?}");
            assert!(!about.is_empty(), "{name}: nothing is said after the question");
            for needed in ["Show::run(example)", "show.conclude("] {
                assert!(code.contains(needed), "{name}: no {needed}");
            }
            let data = ["show.real(", "show.generated("].iter().any(|call| code.contains(call));
            assert!(data, "{name}: it does not say whether its data are real");
        }
    }

    #[test]
    fn an_output_is_taken_apart() {
        let text = "Data (real): wines\n\na  b\nPicture: x/y.svg\n\nConclusion: a is b.\n";
        let example = |source| super::example("x".to_owned(), source);
        let Shown { data, output, conclusion, pictures, .. } = read(example(""), text);
        assert_eq!(data, [(true, "wines".to_owned())]);
        assert_eq!((output.as_str(), conclusion.as_str()), ("a  b", "a is b."));
        assert_eq!(pictures, ["y.svg"]);
        let source =
            "//! Why?\n//!\n//! So.\n//! And so.\n//!\n//! ```text\n//! run\n//! ```\n\nuse x;\n";
        let Example { question, about, code, .. } = example(source);
        assert_eq!((question.as_str(), code.as_str()), ("Why?", "use x;"));
        assert_eq!(about, ["So. And so."]);
    }
}
