//! What `learn` does: penalties, held-out sequences, resumption, interruption, the model file.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::texts::attributes;
use crate::common::Folder;

#[test]
fn penalties_mean_what_they_mean_in_crfsuite() {
    let folder = Folder::crf();
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
    let folder = Folder::crf();
    folder.write("train.txt", attributes());
    // A label that training never saw counts as wrong, nothing more.
    folder.write("dev.txt", attributes() + "\nB-NEW\tp=DT\n");
    let line =
        "learn -m m.json --dev dev.txt --patience 20 --tolerance 0 --max-passes 500 train.txt";
    let output = folder.run(line);
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && log.contains("held-out F1"), "{log}");
    assert!(
        log.contains("no better score in 20 checks, ended: objective")
            && log.contains("best held-out F1 9"),
        "{log}"
    );
    let table = folder.ok("eval -m m.json dev.txt");
    assert!(table.contains("11 correct"), "{table}");
}

/// As CRFsuite's `learn -e 2 train.txt test.txt` and `-g N -e M`: a group that is not trained on.
#[test]
fn a_group_is_held_out() {
    let folder = Folder::crf();
    folder.write("train.txt", (attributes() + "\n").repeat(2));
    folder.write("dev.txt", attributes());
    folder.ok("learn -q -m one.json train.txt");
    let output = folder.run("learn -m two.json -e2 train.txt dev.txt");
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("8 sequences") && log.contains("best held-out F1"), "{log}");
    let output = folder.run("learn -m dev.json --dev dev.txt train.txt");
    assert!(output.status.success());
    assert_eq!(folder.content("two.json"), folder.content("dev.json"));
    let output = folder.run("learn -g 4 -e 3 --patience 2 train.txt");
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("6 sequences") && log.contains("held-out F1"), "{log}");
    for (line, message) in [
        ("-e 3 train.txt dev.txt", "--holdout 3: expected a group from 1 to 2"),
        ("-e 0 -g 4 train.txt", "--holdout 0: expected a group from 1 to 4"),
        (
            "-e 1 train.txt",
            "--holdout 1: expected --split N, or several files, which are the groups then",
        ),
        ("-e 1 -g 9 train.txt", "--split 9: expected a number from 2 to 8, of the sequences"),
        (
            "--patience 2 train.txt",
            "--patience needs held-out sequences: --dev FILE or --holdout GROUP",
        ),
    ] {
        assert_eq!(folder.error(&format!("learn -q {line}")), message);
    }
}

/// A pass of L-BFGS is an evaluation: the start is one, a step at least another, and a step that has begun is finished.
#[test]
fn a_limit_of_passes_is_what_is_documented() {
    let folder = Folder::crf();
    folder.write("train.txt", attributes().repeat(3));
    let passes = |options: &str| {
        folder.ok(&format!("learn -q -m m.json --tolerance 0 {options} train.txt"));
        let json: serde_json::Value =
            serde_json::from_str(&folder.ok("dump --json m.json")).unwrap();
        json["report"]["passes"].as_f64().unwrap()
    };
    assert_eq!(passes("-a lbfgs -p max_iterations=1"), 2.0);
    for limit in [2.0, 3.0, 7.0] {
        assert_eq!(passes(&format!("-a sdca --max-passes {limit}")), limit);
        let found = passes(&format!("-a lbfgs --max-passes {limit}"));
        assert!(found >= limit && found <= limit + 3.0, "{found} passes, limit {limit}");
    }
}

#[test]
fn resuming_begins_where_the_model_ended() {
    let folder = Folder::crf();
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
        assert!(log.contains("\nconverged: objective"), "{algorithm}: {log}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_training_saves_its_model() {
    use std::io::{BufRead, BufReader};
    let folder = Folder::crf();
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
    assert!(rest.iter().any(|line| line.contains("ending within a pass")), "{rest:?}");
    assert!(folder.ok("dump m.json").contains("stopped by the observer"));
}

#[cfg(unix)]
#[test]
fn a_target_that_cannot_be_written_keeps_its_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::crf();
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
    let drafts = fs::read_dir(folder.path("."))
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with(".tmp"));
    assert_eq!(drafts.count(), 0);
}
