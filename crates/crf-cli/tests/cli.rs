//! The program from outside: files in, files out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Columns word, part of speech, chunk.
const COLUMNS: &str = "\
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
fn attributes() -> String {
    let mut text = String::new();
    for line in COLUMNS.lines() {
        if let [word, tag, label] = line.split(' ').collect::<Vec<_>>()[..] {
            text += &format!("{label}\tw\\:{word}\tp={tag}\tlength:{}", word.len());
        }
        text.push('\n');
    }
    text
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fenchel-crf"));
        command.current_dir(self.0.path()).args(line.split_whitespace());
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).stdin(Stdio::null()).output().unwrap()
    }

    /// Standard output of a run that succeeds.
    fn ok(&self, line: &str) -> String {
        let output = self.run(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The message of a run that fails.
    fn error(&self, line: &str) -> String {
        let output = self.run(line);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}: {message}");
        message.strip_prefix("fenchel-crf: ").unwrap_or(&message).trim_end().to_owned()
    }
}

/// The labels of the training text, as `tag` writes them.
fn truth() -> String {
    let label = |line: &str| line.rsplit(' ').next().unwrap_or_default().to_owned() + "\n";
    COLUMNS.lines().map(label).collect::<String>() + "\n"
}

#[test]
fn attributes_from_learning_to_dump() {
    let folder = Folder::new();
    folder.write("train.txt", attributes());
    for algorithm in ["sdca", "lbfgs"] {
        folder.ok(&format!(
            "learn -q -m model.json -a {algorithm} -p c2=0.01 --tolerance 1e-6 train.txt"
        ));
        assert_eq!(folder.ok("tag -m model.json train.txt"), truth(), "{algorithm}");
    }
    let pairs = folder.ok("tag -m model.json -r -p -i train.txt");
    let mut lines = pairs.lines();
    let probability = lines.next().unwrap().strip_prefix("@probability\t").unwrap();
    assert!((0.5..1.0).contains(&probability.parse::<f64>().unwrap()), "{pairs}");
    let (label, found) = lines.next().unwrap().split_once('\t').unwrap();
    let (predicted, marginal) = found.split_once(':').unwrap();
    assert_eq!((label, predicted), ("B-NP", "B-NP"));
    assert!(marginal.parse::<f64>().unwrap() >= probability.parse().unwrap());

    let table = folder.ok("eval -m model.json train.txt");
    assert!(
        table.starts_with("4 sequences, 16 tokens, 11 chunks; found 11 chunks, 11 correct"),
        "{table}"
    );
    let dump = folder.ok("dump model.json --top 2");
    assert!(
        dump.starts_with("4 labels, ") && dump.contains("converged") && dump.contains(" -> "),
        "{dump}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&folder.ok("dump --json model.json")).unwrap();
    assert_eq!(json["labels"], serde_json::json!(["B-NP", "I-NP", "B-VP", "B-PP"]));
    assert!(json["report"]["certificate"]["Gap"]["objective"].is_number());
    assert_eq!(json["state"].as_array().unwrap().len(), 4);
}

#[test]
fn columns_and_templates_travel_with_the_model() {
    let folder = Folder::new();
    folder.write("train.txt", COLUMNS);
    folder.write("template", "U00:%x[0,0]\nU01:%x[0,1]\nU02:%x[-1,1]/%x[0,1]\nB\n");
    folder.ok("learn -q -m model.json --template template --c2 0.01 train.txt");
    let tagged = folder.ok("tag -m model.json train.txt");
    let expected: String = COLUMNS
        .lines()
        .map(|line| match line.rsplit_once(' ') {
            Some((_, label)) => format!("{line} {label}\n"),
            None => "\n".to_owned(),
        })
        .collect();
    assert_eq!(tagged, expected + "\n");
    // What was tagged is what `eval` reads.
    folder.write("tagged.txt", &tagged);
    let table = folder.ok("eval tagged.txt");
    assert!(table.contains("100.00% of the tokens, 100.00% of the sequences"), "{table}");
    assert!(table.contains("11 correct"), "{table}");
    // Without a column of labels, and from standard input.
    let unlabelled = "the DT\ndog NN\nsleeps VBZ\n";
    folder.write("new.txt", unlabelled);
    assert_eq!(
        folder.ok("tag -m model.json new.txt"),
        "the DT B-NP\ndog NN I-NP\nsleeps VBZ B-VP\n\n"
    );
    let input = fs::File::open(folder.path("new.txt")).unwrap();
    let output = folder.command("tag -m model.json").stdin(input).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 4);
    // The best two labellings: the first is the best, probabilities fall.
    let best = folder.ok("tag -m model.json --k-best 2 new.txt");
    let ranks: Vec<f64> = best
        .lines()
        .filter(|l| l.starts_with('#'))
        .map(|l| l.split(' ').nth(2).unwrap().parse().unwrap())
        .collect();
    assert!(ranks.len() == 2 && ranks[0] > ranks[1] && ranks[0] + ranks[1] <= 1.0, "{best}");
    // All marginals of a token sum to 1.
    let all = folder.ok("tag -m model.json -l new.txt");
    let sum: f64 = all
        .lines()
        .next()
        .unwrap()
        .split(' ')
        .filter_map(|c| c.split_once(':'))
        .map(|c| c.1.parse::<f64>().unwrap())
        .sum();
    assert!((sum - 1.0).abs() < 1e-5, "{all}");
}

#[test]
fn a_label_column_in_the_middle_and_a_preset() {
    let folder = Folder::new();
    let moved: String = COLUMNS
        .lines()
        .map(|line| match line.split(' ').collect::<Vec<_>>()[..] {
            [word, tag, label] => format!("{word} {tag} {label} x\n"),
            _ => "\n".to_owned(),
        })
        .collect();
    folder.write("train.txt", moved);
    folder.ok(
        "learn -q -m model.json --template-preset chunking --label-column 2 --c2 0.01 train.txt",
    );
    let table = folder.ok("eval -m model.json --label-column 2 train.txt");
    assert!(table.contains("11 correct"), "{table}");
}

#[test]
fn universal_dependencies_from_learning_to_eval() {
    let folder = Folder::new();
    let words = [("vamos", "VERB"), ("nos", "PRON"), ("a", "ADP"), ("el", "DET"), ("mar", "NOUN")];
    let line = |(t, (word, tag)): (usize, (&str, &str))| {
        format!("{}\t{word}\t_\t{tag}\t_\t_\t0\t_\t_\t_\n", t + 1)
    };
    let body: String = words.into_iter().enumerate().map(line).collect();
    let text = format!("# text = vamonos al mar\n1-2\tvamonos{}\n{body}\n", "\t_".repeat(8));
    folder.write("train.conllu", text.repeat(3));
    folder.write("template", "U0:%x[0,1]\nU1:%x[-1,1]\n");
    folder.ok("learn -q -m m.json --format conllu --template template --c2 0.01 train.conllu");
    let tagged = folder.ok("tag -m m.json --format conllu train.conllu");
    let first: Vec<&str> = tagged.lines().next().unwrap().split('\t').collect();
    assert_eq!((first.len(), first[1], first[3], first[10]), (11, "vamos", "VERB", "VERB"));
    folder.write("tagged.conllu", tagged);
    for line in
        ["eval -m m.json --format conllu train.conllu", "eval --format conllu tagged.conllu"]
    {
        let table = folder.ok(line);
        assert!(table.starts_with("3 sequences, 15 tokens"), "{table}");
        assert!(table.contains("accuracy: 100.00% of the tokens"), "{table}");
    }
    // The missing label is in line 5 of the file, the fourth column.
    folder.write("missing.conllu", text.replace("\tADP\t", "\t\t"));
    let error = folder.error("learn -q --format conllu --template template missing.conllu");
    assert_eq!(error, "missing.conllu:5:4: expected a label, found nothing");
    let error = folder.error("learn -q --format conllu --template-preset chunking train.conllu");
    assert!(error.contains("number and word in CoNLL-U"), "{error}");
}

#[test]
fn eval_counts_as_conlleval_does_by_hand() {
    let folder = Folder::new();
    // Chunks: NP(0,2) found, VP(2,3) found as NP: 1 of 2 right; then a label that no model knows.
    folder.write("two.txt", "a B-NP B-NP\nb I-NP I-NP\nc B-VP B-NP\n\nd B-NEW O\n");
    let table = folder.ok("eval --labels two.txt");
    assert!(
        table.starts_with("2 sequences, 4 tokens, 3 chunks; found 2 chunks, 1 correct\n"),
        "{table}"
    );
    assert!(table.contains("accuracy: 50.00% of the tokens, 0.00% of the sequences"), "{table}");
    let row = |name: &str| {
        let line = table.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().rev().take(4).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(row("all"), ["40.00", "33.33", "50.00", "3"]);
    assert_eq!(row("NP"), ["66.67", "100.00", "50.00", "1"]);
    assert_eq!(row("NEW"), ["0.00", "0.00", "0.00", "1"]);
    assert_eq!(row("B-NP"), ["66.67", "100.00", "50.00", "1"]);
}

#[test]
fn faults_name_file_line_and_column() {
    let folder = Folder::new();
    folder.write("nan.txt", "A\tx\nB\ty\tz:nan\n");
    assert!(folder.error("learn -q nan.txt").starts_with("nan.txt:2:3: \"z:nan\": the value"));
    folder.write("label.txt", "A\tx\n\tx\n");
    assert_eq!(
        folder.error("learn -q label.txt"),
        "label.txt:2:1: expected a label, found nothing"
    );
    folder.write("ragged.txt", "a b A\nc B\n");
    let error = folder.error("learn -q --template-preset chunking ragged.txt");
    assert_eq!(error, "ragged.txt:2:3: 2 columns; expected 3, as in the lines before");
    folder.write("narrow.txt", "\nA\nB\n");
    let error = folder.error("learn -q --template-preset chunking narrow.txt");
    assert_eq!(error, "narrow.txt:2:2: columns: 1; the templates read 2");
    folder.write("template", "U0:%x[0,0]\nU1:%x[0;1]\n");
    let error = folder.error("learn -q --template template narrow.txt");
    assert_eq!(error, "template:2:4: expected %x[row,column], as in %x[-1,0]");
    folder.write("latin.txt", b"A\tw\nB\tcaf\xe9\n");
    assert!(folder.error("learn -q latin.txt").starts_with("latin.txt:2:1: not UTF-8"));
    folder.write("empty.txt", "\n\n");
    assert_eq!(folder.error("learn -q empty.txt"), "empty.txt: no sequences");
    assert!(folder.error("learn -q nowhere.txt").starts_with("nowhere.txt: "));
    folder.write("one.txt", "A\tx\n\n");
    assert!(folder.error("learn -q one.txt").contains("at least two different labels"));
    assert!(folder.error("learn -q --format conll one.txt").contains("columns need templates"));
    folder.write("column.txt", "a\n");
    let error = folder.error("eval column.txt");
    assert!(error.starts_with("column.txt:1:2: 1 columns; expected true labels"), "{error}");
    folder.write("two.txt", "a B\n");
    let error = folder.error("eval --label-column 1 two.txt");
    assert!(
        error.starts_with("two.txt:1:3: 2 columns; expected true labels in column 2"),
        "{error}"
    );
    // A sequence that no legal labelling fits: the second one begins in line 4.
    folder.write("inside.txt", "I-X\ta\n\nI-Y\tb\n");
    folder.ok("learn -q -m inside.json inside.txt");
    for command in ["tag", "eval"] {
        let error = folder.error(&format!("{command} -m inside.json --scheme bio inside.txt"));
        assert!(error.starts_with("inside.txt:1:1: "), "{error}");
    }
}

#[test]
fn a_text_must_have_the_form_that_the_model_was_trained_on() {
    let folder = Folder::new();
    folder.write("columns.txt", COLUMNS);
    folder.write("attributes.txt", attributes());
    folder.ok("learn -q -m columns.json --template-preset chunking columns.txt");
    folder.ok("learn -q -m attributes.json attributes.txt");
    // Too few columns for the templates of the model, or not as many as in the sentence before.
    folder.write("words.txt", "the\ndog\n");
    let error = folder.error("tag -m columns.json words.txt");
    assert_eq!(error, "words.txt:1:2: columns: 1; the templates read 2");
    folder.write("later.txt", "the DT\n\ndog\n");
    let error = folder.error("tag -m columns.json later.txt");
    assert_eq!(error, "later.txt:3:2: 1 columns; expected 2, as in the lines before");
    // Enough to tag, but none of labels to compare with or to learn from.
    folder.write("unlabelled.txt", "the DT\ndog NN\n");
    folder.ok("tag -m columns.json unlabelled.txt");
    for command in
        ["tag -t -m columns.json", "eval -m columns.json", "learn -q --template-preset chunking"]
    {
        let error = folder.error(&format!("{command} unlabelled.txt"));
        let start = "unlabelled.txt:1:2: expected a label, found a column that the templates read";
        assert!(error.starts_with(start), "{command}: {error}");
    }
    let error = folder.error("eval -m columns.json --label-column 4 columns.txt");
    assert_eq!(error, "columns.txt:1:4: columns: 3; expected a label in column 5");
    // Columns for a model without templates; the same between tabs are attributes that it does not know.
    for command in ["tag", "eval"] {
        let error = folder.error(&format!("{command} -m attributes.json columns.txt"));
        assert!(error.starts_with("columns.txt: no attributes: CRFsuite's text"), "{error}");
    }
    let warning = "the model knows none of its attributes";
    folder.write("tabs.txt", COLUMNS.replace(' ', "\t"));
    for (line, expected) in [
        ("tag -m attributes.json tabs.txt", true),
        ("tag -m columns.json --format crfsuite attributes.txt", true),
        ("tag -m attributes.json attributes.txt", false),
        ("tag -m columns.json columns.txt", false),
    ] {
        let output = folder.run(line);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{line}: {message}");
        assert_eq!(message.contains(warning), expected, "{line}: {message}");
    }
}

#[test]
fn options_and_models_are_checked() {
    let folder = Folder::new();
    folder.write("train.txt", attributes());
    for (options, message) in [
        ("-p c3=1", "-p c3=1: not a parameter"),
        ("-p c2", "expected NAME=VALUE"),
        ("-p c2=x", "expected a number"),
        ("--l2 1 -p c2=1", "--l2 is given as well"),
        ("--c2 -1", "l2"),
        ("-a sdca --c1 1", "does not support"),
        ("-a sdca --max-memory 10", "bytes, the limit is 10"),
        ("-m nowhere/model.json", "nowhere/model.json: "),
        ("-m .", "is a folder"),
    ] {
        let options = options.replace("--c2 -1", "--c2=-1");
        let error = folder.error(&format!("learn -q {options} train.txt"));
        assert!(error.contains(message), "{options}: {error}");
    }
    folder.write("other.json", r#"{"kind":"logistic regression","version":1,"model":{}}"#);
    let error = folder.error("tag -m other.json train.txt");
    assert!(
        error.contains("holds a logistic regression; expected a conditional random field"),
        "{error}"
    );
    folder.write("broken.json", "{");
    assert!(
        folder
            .error("dump broken.json")
            .starts_with("broken.json: not a conditional random field file")
    );
    folder.write("binary.model", b"lCRF\x00\x01FOMC");
    assert!(folder.error("tag -m binary.model train.txt").contains("a model of CRFsuite"));
    folder.write("columns.txt", COLUMNS);
    assert!(folder.error("learn columns.txt").contains("no attributes: CRFsuite's text has tabs"));
    assert_eq!(folder.run("tag").status.code(), Some(2));
}

#[test]
fn penalties_mean_what_they_mean_in_crfsuite() {
    let folder = Folder::new();
    folder.write("train.txt", attributes());
    let report = |options: &str| {
        folder.ok(&format!("learn -q -m m.json {options} train.txt"));
        let json: serde_json::Value =
            serde_json::from_str(&folder.ok("dump --json m.json")).unwrap();
        let objective = &json["report"]["certificate"];
        objective["Gap"]["objective"]
            .as_f64()
            .or(objective["Residual"]["objective"].as_f64())
            .unwrap()
    };
    // c2 = n l2 / 2 with n = 4.
    let (a, b) = (report("--c2 0.5 --tolerance 1e-8"), report("--l2 0.25 --tolerance 1e-8"));
    assert!((a - b).abs() < 1e-7 * a, "{a} {b}");
    let with_l1 = report("-p c1=0.5 -p c2=0.5");
    assert!(with_l1 > a, "{with_l1} {a}");
    // Weights for what does not occur: of attributes, of transitions, of both.
    let both = report("--c2 0.5 --all-pairs --tolerance 1e-8");
    for part in ["states", "transitions"] {
        let one = report(&format!("--c2 0.5 --tolerance 1e-8 -p feature.possible_{part}=1"));
        assert!(both < one - 1e-6 && one < a - 1e-6, "{part}: {both} {one} {a}");
    }
    let all = "-p feature.possible_states=1 -p feature.possible_transitions=1";
    let all = report(&format!("--c2 0.5 --tolerance 1e-8 {all}"));
    assert!((all - both).abs() < 1e-12, "{all} {both}");
    // An attribute that occurs once is left out.
    report("--min-frequency 2");
    let dump = folder.ok("dump --top 0 m.json");
    assert!(!dump.contains("w:barks") && dump.contains("w:house"), "{dump}");
}

#[test]
fn held_out_sequences_choose_the_model_and_end_the_training() {
    let folder = Folder::new();
    folder.write("train.txt", attributes());
    // A label that training never saw counts as wrong, nothing more.
    folder.write("dev.txt", attributes() + "\nB-NEW\tp=DT\n");
    let line =
        "learn -m m.json --dev dev.txt --patience 20 --tolerance 0 --max-passes 500 train.txt";
    let output = folder.run(line);
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && log.contains("held-out F1"), "{log}");
    assert!(log.contains("stopped by the observer") && log.contains("best held-out F1 9"), "{log}");
    let table = folder.ok("eval -m m.json dev.txt");
    assert!(table.contains("11 correct"), "{table}");
}

#[test]
fn resuming_begins_where_the_model_ended() {
    let folder = Folder::new();
    folder.write("train.txt", attributes());
    folder.ok("learn -q -m first.json -a lbfgs --tolerance 1e-9 train.txt");
    // Another order of the labels, one more attribute.
    let text = attributes();
    let mut shuffled: Vec<&str> = text.split("\n\n").map(str::trim_end).collect();
    shuffled.reverse();
    folder.write("again.txt", shuffled.join("\n\n") + "\n");
    let passes = |options: &str| {
        folder.ok(&format!("learn -q -m m.json -a lbfgs --tolerance 1e-6 {options} again.txt"));
        let json: serde_json::Value =
            serde_json::from_str(&folder.ok("dump --json m.json")).unwrap();
        json["report"]["passes"].as_f64().unwrap()
    };
    let (fresh, resumed) = (passes(""), passes("--resume first.json"));
    assert!(resumed < 0.5 * fresh, "{resumed} passes after resuming, {fresh} afresh");
    // A resumed run shows the objective of the model first, whatever trains.
    let json: serde_json::Value =
        serde_json::from_str(&folder.ok("dump --json first.json")).unwrap();
    let objective = 4.0 * json["report"]["certificate"]["Gap"]["objective"].as_f64().unwrap();
    for algorithm in ["lbfgs", "sdca"] {
        let line = format!("learn -a {algorithm} --tolerance 1e-6 --resume first.json again.txt");
        let log = String::from_utf8(folder.run(&line).stderr).unwrap();
        let first = log.lines().skip_while(|line| !line.starts_with("passes")).nth(1).unwrap();
        let primal: f64 = first.split_whitespace().nth(1).unwrap().parse().unwrap();
        assert!((primal - objective).abs() < 1e-3, "{algorithm}: {log}");
        assert!(log.contains("\nconverged after"), "{algorithm}: {log}");
    }
}

#[test]
fn compressed_files_and_several_of_them() {
    let folder = Folder::new();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, attributes().as_bytes()).unwrap();
    folder.write("train.gz", packed.finish().unwrap());
    folder.write("more.txt", attributes());
    let output = folder.run("learn -m m.json train.gz more.txt");
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("8 sequences, 32 tokens"));
    assert_eq!(folder.ok("tag -q -t -m m.json train.gz").lines().count(), 9);
}

#[cfg(unix)]
#[test]
fn an_interrupted_training_saves_its_model() {
    use std::io::{BufRead, BufReader};
    let folder = Folder::new();
    folder.write("train.txt", attributes().repeat(50));
    let line =
        "learn -m m.json -a sdca --tolerance 0 --max-passes 100000000 --check 1 --seed 3 train.txt";
    let mut child = folder.command(line).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    // The head and a few checks: the training is under way.
    for _ in 0..6 {
        log.next().unwrap().unwrap();
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let rest: Vec<String> = log.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("ending at the next check")), "{rest:?}");
    assert!(folder.ok("dump m.json").contains("stopped by the observer"));
}

#[cfg(unix)]
#[test]
fn a_target_that_cannot_be_written_keeps_its_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.write("train.txt", attributes());
    fs::create_dir(folder.path("closed")).unwrap();
    folder.write("closed/m.json", "the old model");
    let set =
        |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let closed = folder.path("closed");
    set(&closed, 0o555);
    let output = folder.run("learn -q -m closed/m.json train.txt");
    // The superuser writes where nobody may.
    let superuser = fs::write(closed.join("probe"), "").is_ok();
    set(&closed, 0o755);
    if !superuser {
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(fs::read_to_string(closed.join("m.json")).unwrap(), "the old model");
    }
    // A training that fails leaves the model of before, and no drafts.
    folder.ok("learn -q -m m.json train.txt");
    let before = fs::read(folder.path("m.json")).unwrap();
    folder.error("learn -q -m m.json -a sdca --max-memory 1 train.txt");
    assert_eq!(fs::read(folder.path("m.json")).unwrap(), before);
    let drafts = fs::read_dir(folder.0.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".tmp"));
    assert_eq!(drafts.count(), 0);
}
