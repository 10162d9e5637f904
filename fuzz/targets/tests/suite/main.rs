//! The corpora of the targets, as plain tests.

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use fenchel_fuzz_targets::TARGETS;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")
}

#[test]
fn no_input_of_a_corpus_is_a_finding() {
    let mut findings = Vec::new();
    for target in TARGETS {
        for entry in fs::read_dir(corpus().join(target.name)).unwrap() {
            let path = entry.unwrap().path();
            let bytes = fs::read(&path).unwrap();
            if catch_unwind(AssertUnwindSafe(|| (target.run)(&bytes))).is_err() {
                findings.push(format!("{}: {}", target.name, path.display()));
            }
        }
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let names: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    let folders = fs::read_dir(corpus()).unwrap();
    let folders: BTreeSet<String> =
        folders.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(names, folders);
    assert_eq!(names.len(), TARGETS.len());
}
