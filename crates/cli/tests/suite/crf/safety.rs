//! Nothing is lost: closed outputs, files that are no regular ones, ends without notice.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::texts::{COLUMNS, attributes};
use crate::common::Folder;

/// Passes of the training that made a model.
fn passes(folder: &Folder, model: &str) -> f64 {
    let json = folder.ok(&format!("dump --json {model}"));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    json["report"]["passes"].as_f64().unwrap()
}

#[test]
fn a_closed_standard_error_costs_no_model() {
    let folder = Folder::crf();
    folder.write("train.txt", attributes().repeat(20));
    let line = "learn -m m.json --tolerance 1e-6 --check 1 train.txt";
    let mut child = folder.command(line).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap());
    log.read_line(&mut String::new()).unwrap();
    drop(log); // as `2>&1 | head -1` does
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(folder.ok("dump m.json").contains("converged"));
}

#[cfg(unix)]
#[test]
fn links_modes_and_devices_stay_what_they_are() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    let folder = Folder::crf();
    folder.write("train.txt", attributes());
    folder.write("private.json", "old");
    fs::set_permissions(folder.path("private.json"), fs::Permissions::from_mode(0o600)).unwrap();
    symlink("private.json", folder.path("link.json")).unwrap();
    folder.ok("learn -q -m link.json train.txt");
    assert!(fs::symlink_metadata(folder.path("link.json")).unwrap().is_symlink());
    let mode = fs::metadata(folder.path("private.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    folder.ok("dump private.json");
    symlink("/dev/null", folder.path("null")).unwrap();
    folder.ok("learn -q -m null train.txt");
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    let names: Vec<_> =
        fs::read_dir(folder.path(".")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
}

/// A model goes where standard output goes, by each of its names.
#[cfg(target_os = "linux")]
#[test]
fn a_model_is_piped() {
    let folder = Folder::crf();
    folder.write("train.txt", attributes());
    folder.ok("learn -q -m m.json train.txt");
    for name in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let piped = folder.ok(&format!("learn -q -m {name} train.txt"));
        folder.write("piped.json", piped);
        assert_eq!(folder.content("piped.json"), folder.content("m.json"), "{name}");
    }
    // A file that standard output goes to has what others wrote before.
    let mut log = fs::File::create(folder.path("log.json")).unwrap();
    std::io::Write::write_all(&mut log, b"first line\n").unwrap();
    let mut command = folder.command("learn -q -m /dev/stdout train.txt");
    assert!(command.stdin(Stdio::null()).stdout(log).status().unwrap().success());
    let log = fs::read_to_string(folder.path("log.json")).unwrap();
    folder.write("piped.json", log.strip_prefix("first line\n").unwrap());
    folder.ok("dump piped.json");
    // Nothing is left anywhere, not even a file called -.
    let mut names: Vec<_> =
        fs::read_dir(folder.path(".")).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["log.json", "m.json", "piped.json", "train.txt"]);
    assert!(!Path::new("/dev/stdout.checkpoint").exists());
    let mut closed =
        folder.command("learn -q -m - train.txt").stdout(Stdio::piped()).spawn().unwrap();
    drop(closed.stdout.take());
    assert_eq!(closed.wait().unwrap().code(), Some(1), "a model that nobody reads is lost");
}

/// A log that cannot be written is refused before the training, and so is not lost line by line.
#[cfg(target_os = "linux")]
#[test]
fn a_log_on_a_full_disk_is_refused() {
    let folder = Folder::crf();
    folder.write("train.txt", attributes());
    let error = folder.error("learn -q -m m.json -l /dev/full train.txt");
    assert!(error.starts_with("/dev/full: No space left on device"), "{error}");
    assert!(!folder.path("m.json").exists());
}

/// Checkpoints hold what the model holds: nobody else may read them.
#[cfg(unix)]
#[test]
fn a_checkpoint_is_as_private_as_its_model() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::crf();
    folder.write("train.txt", attributes().repeat(30));
    folder.write("m.json", "the old model");
    fs::set_permissions(folder.path("m.json"), fs::Permissions::from_mode(0o600)).unwrap();
    let line = "learn -q -m m.json -a sdca --tolerance 0 --max-passes 100000000 --checkpoint 1e-9 train.txt";
    let mut child = folder.command(line).spawn().unwrap();
    let checkpoint = folder.path("m.json.checkpoint");
    while !checkpoint.exists() {
        std::thread::yield_now();
    }
    let mode = fs::metadata(&checkpoint).unwrap().permissions().mode();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn every_flipped_bit_of_a_model_is_refused() {
    let folder = Folder::crf();
    folder.write("train.txt", attributes());
    folder.ok("learn -q -m m.json train.txt");
    let model = fs::read(folder.path("m.json")).unwrap();
    for bit in (0..8 * model.len()).step_by(8 * model.len() / 40 + 3) {
        let mut damaged = model.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        folder.write("damaged.json", damaged);
        folder.error("dump damaged.json");
    }
}

/// Values whose products leave the range of numbers: the weights are of no use, and the model of before stays.
#[test]
fn a_training_that_fails_touches_no_model() {
    let folder = Folder::crf();
    folder.write("train.txt", attributes());
    folder.ok("learn -q -m m.json train.txt");
    let before = fs::read(folder.path("m.json")).unwrap();
    let same = "A\tx:VALUE\nB\ty:VALUE\n\n".repeat(2);
    let other = "A\tx:VALUE\nB\ty:VALUE\n\nB\tx:VALUE\nA\ty:-VALUE\n\n";
    folder.write("overflow.txt", same.replace("VALUE", "1e200"));
    folder.write("huge.txt", other.replace("VALUE", "1e150"));
    for (line, message) in [
        ("-a sdca overflow.txt", "diverged: "),
        ("overflow.txt", "diverged: "),
        // Four tokens and two labels: 4 ln 2.
        ("-a lbfgs overflow.txt", "the objective without weights is 2.773, so nothing was saved"),
        ("-a sdca huge.txt", "diverged: "),
        ("huge.txt", "the objective without weights is 2.773, so nothing was saved"),
    ] {
        let error = folder.error(&format!("learn -q -m m.json {line}"));
        assert!(error.contains(message) && error.ends_with("nothing was saved"), "{line}: {error}");
        assert_eq!(fs::read(folder.path("m.json")).unwrap(), before, "{line}");
    }
    // An optimum without weights is an optimum.
    folder.ok("learn -q -m none.json --c1 1000 train.txt");
    assert!(folder.ok("dump none.json").contains(" 0 weights"));
}

/// A training that is killed leaves a checkpoint with the dual variables: the rest of the passes is what is left.
#[cfg(unix)]
#[test]
fn a_killed_training_goes_on_from_its_checkpoint() {
    let folder = Folder::crf();
    folder.write("train.txt", attributes().repeat(30));
    let options = "-a sdca --c2 0.01 --check 1 --seed 1";
    let tight = "--tolerance 1e-9";
    folder.ok(&format!("learn -q -m whole.json {options} {tight} train.txt"));
    let whole = passes(&folder, "whole.json");
    assert!(!folder.path("whole.json.checkpoint").exists(), "removed after the model is saved");

    let line = format!(
        "learn -m m.json {options} --max-passes 100000000 --tolerance 0 --checkpoint 1e-9 train.txt"
    );
    let mut child = folder.command(&line).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    // As far as the whole run went, at least.
    while !log.next().unwrap().unwrap().trim_start().starts_with(&format!("{whole:.1} ")) {}
    child.kill().unwrap();
    child.wait().unwrap();
    drop(log);
    assert!(!folder.path("m.json").exists());

    folder
        .ok(&format!("learn -q -m m.json {options} {tight} --resume m.json.checkpoint train.txt"));
    assert_eq!(passes(&folder, "m.json"), 0.0, "as good as the whole run: {whole} passes");
    assert_eq!(folder.ok("tag -m m.json train.txt"), folder.ok("tag -m whole.json train.txt"));
    // Names decide where the data are others.
    folder.write("other.txt", attributes());
    let line = format!(
        "learn -m m.json {options} --max-passes 100000000 --tolerance 0 --checkpoint 1e-9 train.txt"
    );
    let mut child = folder.command(&line).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    while !log.next().unwrap().unwrap().trim_start().starts_with("3.0 ") {}
    child.kill().unwrap();
    child.wait().unwrap();
    folder.ok(&format!(
        "learn -q -m other.json {options} {tight} --resume m.json.checkpoint other.txt"
    ));
    let kept = fs::read(folder.path("m.json.checkpoint")).unwrap();
    // Drafts of killed runs are gone, of the model and of its checkpoint.
    folder.write(".m.json.1-0.partial", "half");
    folder.write(".m.json.checkpoint.1-0.partial", "half");
    folder.ok(&format!("learn -q -m m.json {options} train.txt"));
    let drafts = fs::read_dir(folder.path(".")).unwrap();
    let drafts: Vec<_> = drafts
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".partial"))
        .collect();
    assert_eq!(drafts, [""; 0]);
    // A damaged checkpoint is refused.
    let mut bytes = kept;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    folder.write("damaged", bytes);
    let error = folder.error("learn -q --resume damaged train.txt");
    assert!(error.contains("checksum"), "{error}");
}

/// The system's request to end is Ctrl-C's.
#[cfg(unix)]
#[test]
fn a_terminated_training_saves_its_model_and_a_checkpoint() {
    use std::os::unix::fs::MetadataExt;
    let folder = Folder::crf();
    folder.write("train.txt", attributes().repeat(50));
    let line = "learn -m m.json -a sdca --tolerance 0 --max-passes 100000000 --check 1000000 --checkpoint 1e-9 --seed 3 \
                train.txt";
    let mut child = folder.command(line).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    // The head and the first check: no other one comes in the time of this test.
    for _ in 0..3 {
        log.next().unwrap().unwrap();
    }
    // Every pass makes a checkpoint, a new file: after some of them the weights are better than none.
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < 10 {
        let found = fs::metadata(folder.path("m.json.checkpoint"));
        seen.extend(found.map(|file| (file.ino(), file.mtime(), file.mtime_nsec())));
        std::thread::yield_now();
    }
    let kill = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let rest: Vec<String> = log.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    assert!(rest.iter().any(|line| line.starts_with("interrupted: ")), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("--resume m.json.checkpoint")), "{rest:?}");
    folder.ok("dump m.json");
    folder.ok("learn -q -m again.json --resume m.json.checkpoint train.txt");
    let anew = folder.run("learn -q -m m.json train.txt");
    let told = "without --resume m.json.checkpoint it will be written over";
    assert!(String::from_utf8_lossy(&anew.stderr).contains(told), "{anew:?}");
    assert!(!folder.run("learn -m m.json train.txt").stderr.starts_with(b"fenchel-crf: warning"));
}

/// Sequences whose values are so large that thousands of passes of SDCA neither end nor find weights that are better than none.
fn far() -> String {
    let token = |k: usize| {
        let label = ["A", "B"][(7 * k * k + k / 3) % 2];
        let sign = if (13 * k + k / 4) % 5 < 3 { "" } else { "-" };
        let (x, y) = ((k * k + 3 * (k / 4)) % 7, (5 * k + (k / 4).pow(2)) % 5);
        let end = if k % 4 == 3 { "\n" } else { "" };
        format!("{label}\tx{x}:{sign}1e12\ty{y}:1e12\n{end}")
    };
    (0..80).map(token).collect()
}

/// A terminal that closes ends a training like Ctrl-C, unless it was started by `nohup`, which has the signal ignored.
#[cfg(target_os = "linux")]
#[test]
fn a_training_started_by_nohup_survives_its_terminal() {
    let folder = Folder::crf();
    folder.write("far.txt", far());
    let options = "learn -a sdca --tolerance 0 --max-passes 100000000 --check 1 far.txt";
    for ignored in [true, false] {
        if !ignored && ignores_hangups() {
            eprintln!(
                "skipped: these tests run under nohup, and what they start ignores SIGHUP too"
            );
            continue;
        }
        let program = env!("CARGO_BIN_EXE_fenchel-crf");
        let trap = if ignored { "trap '' HUP; " } else { "" };
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{trap}exec {program} {options}")]);
        let mut child = shell.current_dir(folder.path("")).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let send = |signal: &str| {
            let kill = Command::new("kill").args([signal, &child.id().to_string()]).status();
            assert!(kill.unwrap().success());
        };
        assert_eq!(log.by_ref().take(5).count(), 5);
        send("-HUP");
        if ignored {
            let more: Vec<String> = log.by_ref().take(1000).collect();
            assert_eq!(more.len(), 1000, "ended: {:?}", more.last());
            assert!(!more.iter().any(|line| line.contains("ending")), "{more:?}");
            send("-TERM");
        }
        let rest: Vec<String> = log.collect();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
        assert!(rest.iter().any(|line| line.contains("interrupted: ")), "{rest:?}");
    }
}

/// Whether this process was started with SIGHUP ignored, which the programs that it starts inherit. It reads bit 0 of
/// the mask that Linux shows; elsewhere the answer is no.
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map(str::trim);
    mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// A model or a log in the place of the text would be the end of the text.
#[test]
fn no_text_that_is_read_is_written_over() {
    let folder = Folder::crf();
    let text = attributes();
    folder.write("train.txt", &text);
    folder.write("columns.txt", COLUMNS);
    folder.write("template", "U0:%x[0,0]\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink("train.txt", folder.path("link.txt")).unwrap();
    for (options, message) in [
        ("-m train.txt train.txt", "--model train.txt: it is read too; name another file"),
        ("-m ./train.txt train.txt", "--model ./train.txt: it is read too"),
        ("-m train.txt --dev train.txt columns.txt", "--model train.txt: it is read too"),
        ("-l link.txt train.txt", "--log-to-file link.txt: it is read too"),
        ("-m template --template template columns.txt", "--model template: it is read too"),
        ("-m m.json -l m.json train.txt", "--log-to-file m.json: the model is saved there too"),
        // As CRFsuite has it, without the name of a log: the text comes from standard input then.
        ("-m m.json -l train.txt", "train.txt: is there already and is no log of learn"),
    ] {
        let error = folder.error(&format!("learn {options}"));
        assert!(error.starts_with(message), "{options}: {error}");
        assert_eq!(fs::read_to_string(folder.path("train.txt")).unwrap(), text, "{options}");
    }
    assert!(!folder.path("m.json").exists());
    // A log of before is written anew, and has what is shown on standard output too.
    folder.ok("learn -q -x -g 2 -l log.txt train.txt");
    folder.ok("learn -q -x -g 3 -l log.txt train.txt");
    let log = fs::read_to_string(folder.path("log.txt")).unwrap();
    assert!(
        log.starts_with("fenchel-crf learn -q -x -g 3 -l log.txt train.txt\ngroup 1 of 3"),
        "{log}"
    );
    assert!(log.contains("4 sequences, 16 tokens"), "{log}");
}

/// Weights that are no better than none do not take the place of a model, whoever ends the training.
#[cfg(unix)]
#[test]
fn a_training_interrupted_in_vain_touches_no_model() {
    let folder = Folder::crf();
    folder.write("train.txt", attributes());
    folder.ok("learn -q -m m.json train.txt");
    let before = fs::read(folder.path("m.json")).unwrap();
    folder.write("far.txt", far());
    let line = "learn -m m.json -a sdca --tolerance 0 --max-passes 100000000 --check 1 far.txt";
    let mut child = folder.command(line).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    for _ in 0..5 {
        log.next().unwrap().unwrap();
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let rest: Vec<String> = log.map(Result::unwrap).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:?}");
    // 80 tokens and two labels: 80 ln 2.
    let told = "the objective without weights is 55.452, so nothing was saved";
    assert!(rest.iter().any(|l| l.contains("interrupted: ") && l.ends_with(told)), "{rest:?}");
    assert!(rest.iter().any(|l| l.starts_with("to go on: --resume m.json.checkpoint")), "{rest:?}");
    assert_eq!(fs::read(folder.path("m.json")).unwrap(), before);
}

#[test]
fn texts_of_other_editors_are_read() {
    let folder = Folder::crf();
    let text = attributes();
    folder.write("plain.txt", &text);
    folder.write("marked.txt", [b"\xEF\xBB\xBF", text.as_bytes()].concat());
    folder.write("blanks.txt", text.replace("\n\n", "\n   \n"));
    folder.write("tabs.txt", text.replace("\n\n", "\n \t \n"));
    folder.ok("learn -q -m plain.json plain.txt");
    for other in ["marked.txt", "blanks.txt", "tabs.txt"] {
        folder.ok(&format!("learn -q -m other.json {other}"));
        assert_eq!(folder.content("other.json"), folder.content("plain.json"), "{other}");
    }
    folder.write("latin.txt", b"A\tw=caf\xe9\nB\tw=th\xe9\n\nA\tw=caf\xe9\n");
    folder.ok("learn -q -m latin.json --latin1 latin.txt");
    assert!(folder.ok("dump --top 0 latin.json").contains("w=thé"));
    folder.write("empty.txt", "");
    assert_eq!(folder.ok("tag -m plain.json empty.txt"), "");
    assert_eq!(folder.error("eval -m plain.json empty.txt"), "empty.txt: no sequences");
}

#[test]
fn cross_validation_labels_every_sequence_once() {
    let folder = Folder::crf();
    folder.write("train.txt", (attributes() + "\n").repeat(3));
    let shown = folder.ok("learn -q -x -g 4 --seed 2 train.txt");
    assert!(shown.contains("group 4 of 4: held-out F1"), "{shown}");
    assert!(shown.contains("12 sequences, 48 tokens"), "{shown}");
    // Without a number of groups every file is one.
    folder.write("more.txt", attributes());
    let shown = folder.ok("learn -q -x train.txt more.txt");
    assert!(
        shown.contains("group 2 of 2: ") && shown.contains("16 sequences, 64 tokens"),
        "{shown}"
    );
    folder.ok("learn -m m.json -l log.txt train.txt");
    let log = fs::read_to_string(folder.path("log.txt")).unwrap();
    assert!(log.contains("converged: objective") && log.contains("passes"), "{log}");
}
