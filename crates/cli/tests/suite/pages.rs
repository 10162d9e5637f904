//! Help, manual pages, completions, and outputs that nobody reads.

use std::process::{Command, Stdio};

use crate::common::Folder;

const COMMANDS: [&str; 4] = ["query", "fit", "predict", "identify"];

#[test]
fn every_command_has_help_with_an_example() {
    let folder = Folder::new();
    for command in COMMANDS {
        let help = folder.ok(&format!("{command} --help"));
        assert!(help.contains(&format!("Examples:\n  fenchel {command} ")), "{help}");
    }
    let crf = Folder::crf();
    for command in ["learn", "tag", "eval", "dump"] {
        let help = crf.ok(&format!("{command} --help"));
        let examples = help.split("Examples:\n").nth(1).unwrap();
        let named = format!("  fenchel-crf {command} ");
        let count = examples.lines().filter(|line| line.starts_with(&named)).count();
        assert!(count >= 2 && examples.matches("fenchel-crf ").count() >= 3, "{help}");
    }
    for heading in ["The model and its penalty:", "Held-out sequences:", "Reading the text:"] {
        assert!(crf.ok("learn --help").contains(heading));
    }
    let help = folder.ok("--help");
    assert!(COMMANDS.iter().all(|command| help.contains(&format!("\n  {command} "))), "{help}");
    assert_eq!(folder.run("").status.code(), Some(2));
    assert_eq!(folder.run("fit cubic data.svm").status.code(), Some(2));
}

#[test]
fn manual_pages_are_written() {
    for (folder, name, commands) in [
        (Folder::new(), "fenchel", &COMMANDS),
        (Folder::crf(), "fenchel-crf", &["learn", "tag", "eval", "dump"]),
    ] {
        let page = folder.ok("man");
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
        std::fs::create_dir(folder.path("pages")).unwrap();
        folder.ok("man pages");
        for command in commands {
            let page = folder.path(&format!("pages/{name}-{command}.1"));
            assert!(std::fs::read_to_string(page).unwrap().contains(".SH OPTIONS"));
        }
        assert!(folder.error("man nowhere").starts_with("nowhere: "));
    }
}

#[test]
fn completions_know_the_commands() {
    for (folder, commands) in
        [(Folder::new(), &COMMANDS), (Folder::crf(), &["learn", "tag", "eval", "dump"])]
    {
        for shell in ["bash", "zsh", "fish"] {
            let script = folder.ok(&format!("completions {shell}"));
            for command in commands {
                assert!(script.contains(command), "{shell}: {command}");
            }
        }
        folder.write("script", folder.ok("completions bash"));
        if let Ok(checked) = Command::new("bash").arg("-n").arg(folder.path("script")).status() {
            assert!(checked.success());
        }
    }
}

#[test]
fn a_closed_output_is_no_failure() {
    let folder = Folder::new();
    let rows: String = (0..20_000).map(|i| format!("{} 1:{}\n", i % 2, i % 7)).collect();
    folder.write("rows.svm", rows);
    folder.ok("fit logistic rows.svm -q -m model.json");
    folder.write("net.uai", "BAYES\n1\n2\n1\n1 0\n2\n0.25 0.75\n");
    for line in [
        "query net.uai",
        "query net.uai --json",
        "identify 'x -> y; x <-> y' 'P(y | do(x))'",
        "predict model.json rows.svm",
        "fit logistic rows.svm -q",
        "man",
        "completions bash",
        "--help",
    ] {
        let mut command = folder.command(line);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(matches!(output.status.code(), Some(0 | 3)), "{line}: {message}");
        assert!(message.is_empty(), "{line}: {message}");
    }
}
