//! The short reproduction: the program runs the experiments that take seconds, and writes the report.

use std::process::Command;

/// The first moments of `cargo xtask faults`, for the programs that other tests of the workspace have built.
#[cfg(target_os = "linux")]
#[test]
fn programs_keep_files_whole_under_faults() {
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let output = xtask.args(["faults", "--built", "--moments", "1"]).output().unwrap();
    let [table, faults] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(output.status.success(), "{table}\n{faults}");
    assert!(table.contains("| xtask reproduce | SIGKILL |"), "{table}");
}

#[test]
fn the_quickest_experiments_are_reproduced() {
    let folder = tempfile::tempdir().unwrap();
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    xtask.args(["reproduce", "--smoke", "--fresh", "--out"]).arg(folder.path());
    let output = xtask.output().unwrap();
    let (table, log) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
    let (table, log) = (table.unwrap(), log.unwrap());
    // Claims that do not hold as registered end it with a failure.
    assert!(output.status.success(), "{table}\n{log}");
    let report = std::fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(report.contains("Each verdict is the one that the code had stored"), "{table}\n{log}");
    assert!(report.contains("</svg>"), "{table}\n{log}");
    // Data of one's own making alone would show little: a claim of a document is judged on embedded real data.
    assert!(report.contains("document; real data"), "{table}\n{log}");
}
