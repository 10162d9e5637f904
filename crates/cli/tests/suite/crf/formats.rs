//! Texts of every form, from learning to labels.

use std::fs;

use super::texts::{COLUMNS, attributes, truth, universal};
use crate::common::Folder;

#[test]
fn attributes_from_learning_to_dump() {
    let folder = Folder::crf();
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
    let folder = Folder::crf();
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
    let folder = Folder::crf();
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
    let folder = Folder::crf();
    let text = universal();
    folder.write("train.conllu", text.repeat(3));
    folder.write("template", "U0:%x[0,1]\nU1:%x[-1,1]\n");
    folder.ok("learn -q -m m.json --format conllu --template template --c2 0.01 train.conllu");
    // All labels are found: the text comes back byte by byte, and so it does from a text without labels.
    assert_eq!(folder.ok("tag -m m.json --format conllu train.conllu"), text.repeat(3));
    let bare = ["VERB", "PRON", "ADP", "DET", "NOUN"];
    let bare =
        bare.iter().fold(text.repeat(3), |t, label| t.replace(&format!("\t{label}\t"), "\t_\t"));
    folder.write("bare.conllu", bare);
    assert_eq!(folder.ok("tag -m m.json --format conllu bare.conllu"), text.repeat(3));
    // What is asked for beside the labels are notes of the last column, and a comment.
    let noted = folder.ok("tag -m m.json --format conllu -r -p -i -l train.conllu");
    assert!(
        noted.starts_with("# 0.") && noted.contains("\n# text = vamonos al mar\n1-2\t"),
        "{noted}"
    );
    let line = noted.lines().find(|line| line.starts_with("2\t")).unwrap();
    let cells: Vec<&str> = line.split('\t').collect();
    assert_eq!((cells.len(), cells[1], cells[3]), (10, "nos", "PRON"), "{line}");
    let notes: Vec<&str> = cells[9].split('|').collect();
    assert_eq!((notes.len(), notes[0], notes[1]), (4, "SpaceAfter=No", "Reference=PRON"), "{line}");
    assert!(notes[2].starts_with("Probability=0.") && notes[3].contains(",PRON:0."), "{line}");
    // Notes of an earlier run are replaced.
    folder.write("noted.conllu", &noted);
    let again = folder.ok("tag -m m.json --format conllu -r -i -l noted.conllu");
    assert_eq!(again, noted);
    let error = folder.error("eval --format conllu train.conllu");
    assert!(error.starts_with("train.conllu:3:10: no Reference=LABEL"), "{error}");
    let error = folder.error("tag -m m.json --format conllu --label-column 10 train.conllu");
    assert!(error.contains("columns: 10; expected a label in column 11"), "{error}");
    folder.write("tagged.conllu", folder.ok("tag -r -m m.json --format conllu train.conllu"));
    for line in
        ["eval -m m.json --format conllu train.conllu", "eval --format conllu tagged.conllu"]
    {
        let table = folder.ok(line);
        assert!(table.starts_with("3 sequences, 15 tokens"), "{table}");
        assert!(table.contains("accuracy: 100.00% of the tokens"), "{table}");
    }
    // The missing label is in line 7 of the file, the fourth column.
    folder.write("missing.conllu", text.replace("\tADP\t", "\t\t"));
    let error = folder.error("learn -q --format conllu --template template missing.conllu");
    assert_eq!(error, "missing.conllu:7:4: expected a label, found nothing");
    let error = folder.error("learn -q --format conllu --template-preset chunking train.conllu");
    assert!(error.contains("number and word in CoNLL-U"), "{error}");
}

#[test]
fn compressed_files_and_several_of_them() {
    let folder = Folder::crf();
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, attributes().as_bytes()).unwrap();
    folder.write("train.gz", packed.finish().unwrap());
    folder.write("more.txt", attributes());
    let output = folder.run("learn -m m.json train.gz more.txt");
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("8 sequences, 32 tokens"));
    assert_eq!(folder.ok("tag -q -t -m m.json train.gz").lines().count(), 9);
}

#[test]
fn eval_counts_as_conlleval_does_by_hand() {
    let folder = Folder::crf();
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

/// The confusion, the worst sequences and the page say the same; a missing column is noticed.
#[test]
fn eval_shows_what_is_wrong() {
    let folder = Folder::crf();
    folder.write(
        "two.txt",
        "a B-NP B-NP\nb I-NP I-NP\nc B-VP B-NP\n\nd B-VP O\ne B-VP B-NP\n\nf O O\n",
    );
    let shown = folder.ok("eval two.txt --confusion --worst 2 --html page.html");
    let row = |name: &str| {
        let table = shown.split("true, by predicted").nth(1).unwrap();
        let line = table.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().skip(1).map(|n| n.parse::<u32>().unwrap()).collect::<Vec<_>>()
    };
    // Columns B-NP, B-VP, I-NP, O.
    assert_eq!((row("B-NP"), row("B-VP")), (vec![1, 0, 0, 0], vec![2, 0, 0, 1]));
    let worst: Vec<&str> = shown.lines().filter(|line| line.starts_with("two.txt:")).collect();
    assert_eq!(worst, ["two.txt:5: 2 of 2 labels are wrong", "two.txt:1: 1 of 3 labels are wrong"]);
    assert!(shown.contains("  d  B-VP  found O\n") && shown.contains("  a  B-NP\n"), "{shown}");
    let page = std::fs::read_to_string(folder.path("page.html")).unwrap();
    assert!(
        page.contains("<s>B-NP</s> B-VP") && page.contains("line 5: 2 of 2 are wrong"),
        "{page}"
    );
    assert!(folder.error("eval two.txt --html two.txt").contains("it is read too"));
    // The same by a model.
    folder.write("train.txt", COLUMNS);
    folder.ok("learn -q -m m.json --template-preset chunking train.txt");
    let shown = folder.ok("eval -m m.json train.txt --worst 3 --confusion");
    assert!(shown.contains("true, by predicted") && !shown.contains("are wrong"), "{shown}");
    // Parts of speech and chunks: the predicted column is not there.
    let output = folder.run("eval train.txt");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{message}");
    assert!(message.contains("no chunks among the true labels: is the predicted column missing?"));
    // Many labels: the mistakes alone.
    let many: String = (0..20).map(|k| format!("w L{k} L{}\n", k - k % 5)).collect();
    folder.write("many.txt", many);
    let shown = folder.ok("eval many.txt --confusion");
    assert!(shown.contains("\nL1    L0              1       100.00%\n"), "{shown}");
}

#[test]
fn bilou_is_read_by_eval_and_by_the_schemes() {
    let folder = Folder::crf();
    // True chunks: U, B L. Found: U, and B alone: 1 of 2.
    folder.write("two.txt", "p U-X U-X\nq B-X B-X\nr L-X O\n");
    let table = folder.ok("eval two.txt");
    assert!(table.contains("2 chunks; found 2 chunks, 1 correct"), "{table}");
    let row = table.lines().find(|line| line.starts_with("all")).unwrap();
    assert!(row.trim_end().ends_with("50.00"), "{row}");
    folder.write("unknown.txt", "p B-X B-X\nq W-X W-X\n");
    assert!(folder.error("eval unknown.txt").contains("label \"W-X\": unknown mark"));

    folder.write("train.txt", "B-X\tp\nL-X\tq\nU-X\tr\nO\ts\n\n");
    folder.ok("learn -q -m m.json train.txt");
    let tagged = folder.ok("tag --scheme iobes -m m.json train.txt");
    assert_eq!(tagged.split_whitespace().collect::<Vec<_>>(), ["B-X", "L-X", "U-X", "O"]);
    let error = folder.error("tag --scheme bio -m m.json train.txt");
    assert!(error.contains("BIO does not know the mark of \"L-X\""), "{error}");
}

#[test]
fn equal_trainings_have_equal_files() {
    let folder = Folder::crf();
    folder.write("train.txt", attributes());
    for model in ["a.json", "b.json"] {
        folder.ok(&format!("learn -q -m {model} train.txt"));
    }
    let read = |name: &str| std::fs::read(folder.path(name)).unwrap();
    assert!(read("a.json") == read("b.json"));
}

/// Widths of a format end at 65,535; a label may be longer.
#[test]
fn labels_of_any_length_are_printed() {
    let folder = Folder::crf();
    let label = format!("B-{}", "x".repeat(70_000));
    folder.write("two.txt", format!("a {label} {label}\nb {label} O\n"));
    let table = folder.ok("eval --labels two.txt");
    assert!(
        table.contains(&format!("\n{label} ")) && table.contains(&label[2..]),
        "{}",
        table.len()
    );
    folder.write("train.txt", format!("{label}\tp\nO\tq\n\n"));
    folder.ok("learn -q -m m.json train.txt");
    assert!(folder.ok("dump m.json").contains(&label));
    assert!(folder.ok("tag -q -t -m m.json train.txt").contains(&label[2..]));
}
