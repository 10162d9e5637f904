//! What is refused, and how it is said.

use super::texts::{COLUMNS, attributes, universal};
use crate::common::Folder;

#[test]
fn faults_name_file_line_and_column() {
    let folder = Folder::crf();
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
    let error = folder.error("learn -q --format conll one.txt");
    assert!(
        error.contains(
            "columns need templates: --template FILE, or --template-preset with chunking"
        ),
        "{error}"
    );
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
    let folder = Folder::crf();
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
fn conllu_without_its_format_is_told_which_option_to_give() {
    let folder = Folder::crf();
    let (text, template) = (universal(), "U0:%x[0,1]\n");
    folder.write("train.conllu", &text);
    folder.write("template", template);
    folder.write("attributes.txt", attributes());
    folder.ok("learn -q -m attributes.json attributes.txt");
    folder.ok("learn -q -m words.json --format conllu --template template train.conllu");
    let form =
        "looks like CoNLL-U (ten columns between tabs, the first a number): give --format conllu";
    for command in [
        "tag -m words.json",
        "tag -m attributes.json",
        "eval -m words.json",
        "eval",
        "learn -q --template template",
        "learn -q",
    ] {
        let error = folder.error(&format!("{command} train.conllu"));
        assert!(error.starts_with(&format!("train.conllu: the text {form}")), "{command}: {error}");
    }
    let input = std::fs::File::open(folder.path("train.conllu")).unwrap();
    let output = folder.command("tag -m words.json").stdin(input).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(error.contains(&format!("standard input: the text {form}")), "{error}");
    // Without the comment, the multiword token tells; without either, ten columns are ten columns.
    let lines: Vec<&str> = text.lines().collect();
    folder.write("range.conllu", lines[1..].join("\n"));
    assert!(folder.error("tag -m words.json range.conllu").contains(form));
    let plain = |line: &&&str| line.split('\t').next().unwrap().parse::<u32>().is_ok();
    let words: Vec<&str> = lines.iter().filter(plain).copied().collect();
    folder.write("older.txt", words.join("\n"));
    assert_eq!(folder.ok("tag -m words.json older.txt").lines().count(), 6);
    // Words of columns may begin with #, and a form that is named is taken at its word.
    folder.write("pound.txt", "# # B-NP\n3 CD I-NP\n");
    folder.ok("learn -q -m pound.json --template-preset chunking pound.txt");
    let error = folder.error("tag -m words.json --format conll train.conllu");
    assert!(error.contains("as in the lines before"), "{error}");
}

#[test]
fn options_and_models_are_checked() {
    let folder = Folder::crf();
    folder.write("train.txt", attributes());
    folder.write("columns.txt", COLUMNS);
    for (options, message) in [
        ("-p c3=1", "-p c3=1: not a parameter"),
        ("-p c2", "expected NAME=VALUE"),
        ("-p c2=x", "expected a number"),
        ("--l2 1 -p c2=1", "--l2 is given as well"),
        ("--c2 -1", "c2 is -1; expected a finite number > 0"),
        ("-p c2=0 nowhere.txt", "c2 is 0; expected a finite number > 0"),
        ("--c1 1 --c2 0 nowhere.txt", "c2 is 0; expected a finite number > 0"),
        ("-p c2=-1 nowhere.txt", "c2 is -1"),
        ("--l2 -1", "l2 is -1; expected a finite number > 0"),
        ("--c1 -1e-3", "c1 is -0.001; expected a finite number >= 0"),
        ("--tolerance -1", "tolerance is -1; expected"),
        ("--max-passes -1", "max-passes is -1; expected"),
        ("--check -1 nowhere.txt", "check is -1; expected a number > 0"),
        ("--check 0 nowhere.txt", "check is 0; expected a number > 0"),
        ("--checkpoint -1 nowhere.txt", "checkpoint is -1; expected a finite number >= 0"),
        ("--tolerance nan", "tolerance is NaN"),
        ("-x -g 9", "--split 9: expected a number from 2 to 4"),
        ("-x", "--cross-validate divides one file into 10 groups; expected --split N from 2 to 4"),
        ("--patience 0 --dev train.txt", "--patience 0: expected a number >= 1"),
        ("--dev columns.txt", "columns.txt: no attributes: CRFsuite's text has tabs"),
        ("--threads 100000", "--threads 100000: expected a number from 0 to 4096"),
        ("-p feature.minfreq=1e10", "expected a number from 0 to 4294967295"),
        ("-a sdca --max-memory 10", "max_memory is 10 bytes"),
        ("-a sdca --max-memory 1K -p c2=-1", "c2 is -1"),
        ("-m nowhere/model.json", "nowhere/model.json: "),
        ("-m .", "is a folder"),
    ] {
        let error = folder.error(&format!("learn -q {options} train.txt"));
        assert!(error.contains(message), "{options}: {error}");
    }
    folder.write("lonely.txt", "A\tx\n\nB\ty\n\n");
    let error = folder.error("learn -x -g 2 lonely.txt");
    assert!(error.starts_with("the sequences without group 1: labels = 1; expected"), "{error}");
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
            .starts_with("broken.json: the conditional random field file ends early")
    );
    folder.write("binary.model", b"lCRF\x00\x01FOMC");
    assert!(folder.error("tag -m binary.model train.txt").contains("a model of CRFsuite"));
    assert!(folder.error("learn columns.txt").contains("no attributes: CRFsuite's text has tabs"));
    assert_eq!(folder.run("tag").status.code(), Some(2));
    assert_eq!(folder.run("learn --max-memory 4T train.txt").status.code(), Some(2));
    for (option, name) in [
        ("--threads -1", "--threads <N>"),
        ("--patience -1", "--patience <CHECKS>"),
        ("--seed -1", "--seed <N>"),
        ("--min-frequency -1", "--min-frequency <N>"),
        ("-g -1", "--split <N>"),
        ("--label-column -1", "--label-column <COLUMN>"),
        ("--max-memory -1", "--max-memory <BYTES>"),
    ] {
        let output = folder.run(&format!("learn {option} train.txt"));
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains(&format!("invalid value '-1' for '{name}'")), "{message}");
    }
    folder.ok("learn -q -a sdca --max-memory none train.txt");
}
