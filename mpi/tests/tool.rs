//! The tool under `mpirun`: the same model for any number of processes, and errors that end all of them.

mod mpirun;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fenchel_erm::loss::Logistic;
use fenchel_erm::prox::Zero;
use fenchel_erm::{Point, Problem};
use fenchel_expfam::glm::{GlmModel, PoissonLog};
use fenchel_finite_sum::LogisticModel;
use fenchel_linalg::AsDesign;
use fenchel_optim::Certificate;
use fenchel_optim::model::Saved;

const TOOL: &str = env!("CARGO_BIN_EXE_fenchel-mpi");

/// The least size of a piece of several.
const LEAST: usize = 1 << 17;

fn run(processes: usize, words: &[&str]) -> Output {
    mpirun::output(mpirun::command(processes, TOOL).args(words))
}

/// The bytes of the model of each number of processes, which are the same.
fn same_model(folder: &Path, numbers: &[usize], words: &[&str]) -> Vec<u8> {
    let mut first: Option<Vec<u8>> = None;
    for &processes in numbers {
        let model = folder.join("model.json");
        let path = model.display().to_string();
        let done = run(processes, &[words, &["-m", &path]].concat());
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{said}");
        let number =
            if processes == 1 { "1 process, " } else { &format!("{processes} processes, ") };
        assert!(said.contains(number), "{said}");
        let bytes = std::fs::read(&model).unwrap();
        std::fs::remove_file(&model).unwrap();
        match &first {
            None => first = Some(bytes),
            Some(first) => assert!(bytes == *first, "{processes} processes"),
        }
    }
    first.unwrap()
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// About 300 kB: two pieces.
fn svm() -> String {
    let mut text = String::new();
    for i in 0..8000_usize {
        let label = if (i * i + i / 7) % 11 < 5 { "+1" } else { "-1" };
        write!(text, "{label}").unwrap();
        for c in 0..5 {
            let column = 1 + 40 * c + (i * (c + 3)) % 40;
            write!(text, " {column}:{}", 0.25 * ((i * 7 + c) % 9) as f64).unwrap();
        }
        text.push('\n');
    }
    assert!(text.len() > 2 * LEAST);
    text
}

#[test]
fn a_linear_model_is_the_same_file_and_that_of_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let text = svm();
    let file = write(folder.path(), "train.svm", &text);
    let file = file.display().to_string();
    let words = ["fit", "logistic", &file, "--l2", "1e-3", "--tolerance", "1e-8"];
    let bytes = same_model(folder.path(), &[1, 2, 3, 4], &words);
    let model = LogisticModel::<f64>::load(&bytes[..]).unwrap();
    assert_eq!(model.classes, [-1.0, 1.0]);
    // What the point proves on all rows.
    let data = fenchel_datasets::libsvm(text.as_bytes(), &Default::default()).unwrap();
    let (design, y) = (data.x.as_design().unwrap(), data.y.to_vec());
    let whole = Problem::new(design, &y, Logistic, Zero, 1e-3).unwrap().with_intercept();
    let point = Point { weights: model.weights.to_vec(), intercept: model.intercept };
    let proved = whole.certify(&point).unwrap();
    assert!(proved.relative() <= 2e-8, "{proved}");
    let objective = |of: &Certificate| match *of {
        Certificate::Gap { objective, .. } => objective,
        _ => panic!("{of}"),
    };
    let (found, expected) = (objective(&model.report.certificate), objective(&proved));
    assert!((found - expected).abs() <= 1e-13 * expected, "{found} {expected}");
    let sparse = ["fit", "logistic", &file, "--l1", "1e-3", "--no-intercept"];
    let model = LogisticModel::<f64>::load(&same_model(folder.path(), &[3], &sparse)[..]).unwrap();
    assert!(model.support().len() < model.weights.len());
}

#[test]
fn a_generalised_linear_model_is_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = "age,claims,region\n".to_owned();
    for i in 0..28_000_usize {
        let (age, region) = (20 + (i * 7) % 50, (i * 11) % 6);
        writeln!(text, "{age},{},{region}.25", (i * 5 + i / 13) % 4 + region / 3).unwrap();
    }
    assert!(text.len() > 2 * LEAST);
    let file = write(folder.path(), "claims.csv", &text).display().to_string();
    let bytes =
        same_model(folder.path(), &[1, 3], &["glm", "poisson", &file, "--target", "claims"]);
    let model = GlmModel::<PoissonLog>::load(&bytes[..]).unwrap();
    assert_eq!(model.names.iter().collect::<Vec<_>>(), ["age", "region"]);
    let table = fenchel_datasets::table(text.as_bytes(), &Default::default()).unwrap();
    let y = table.numbers("claims").unwrap();
    let x = table.without(&["claims"]).unwrap().design().unwrap().x;
    // At the maximum of the likelihood the errors are orthogonal to the features and to the ones.
    let mut scores = [0.0; 3];
    for (row, y) in x.rows().into_iter().zip(&y) {
        let products = row.iter().zip(&model.coefficients).map(|(x, w)| x * w);
        let mean = (model.intercept + products.sum::<f64>()).exp();
        for (score, x) in scores.iter_mut().zip([row[0], row[1], 1.0]) {
            *score += x * (y - mean);
        }
    }
    let total: f64 = y.iter().sum();
    assert!(scores.iter().all(|score| score.abs() <= 1e-6 * total), "{scores:?} {total}");
}

/// About 270 kB: two pieces, so that the third of three processes has nothing.
fn conll() -> String {
    let mut text = String::new();
    for i in 0..2800_usize {
        for t in 0..3 + i % 9 {
            let k = (i * 31 + t * 17) % 53;
            let label = ["B-NP", "I-NP", "O"][(k + t) % 3];
            writeln!(text, "word{k} {} {label}", ["NN", "VB", "DT"][k % 3]).unwrap();
        }
        text.push('\n');
    }
    assert!(text.len() > 2 * LEAST);
    text
}

#[test]
fn a_conditional_random_field_is_the_same_file_and_goes_on_from_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "train.txt", &conll()).display().to_string();
    let words = ["learn", "--template-preset", "chunking", &file, "--tolerance", "1e-2"];
    let bytes = same_model(folder.path(), &[1, 3], &words);
    let model = fenchel_crf::CrfModel::load(&bytes[..]).unwrap();
    assert_eq!(model.labels().iter().collect::<Vec<_>>(), ["B-NP", "I-NP", "O"]);
    same_model(folder.path(), &[1, 3], &[&words[..], &["--algorithm", "sdca"]].concat());
    // From a model of a few passes, with another number of processes.
    let early = folder.path().join("early.json").display().to_string();
    let done = run(3, &[&words[..], &["--max-passes", "4", "-m", &early]].concat());
    assert!(done.status.success());
    let late = folder.path().join("late.json").display().to_string();
    let done = run(2, &[&words[..], &["--resume", &early, "-m", &late]].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let report = fenchel_crf::CrfModel::load(&std::fs::read(late).unwrap()[..]).unwrap().report;
    assert!(report.unwrap().certificate.relative() <= 1e-2);
}

#[test]
fn an_error_of_one_process_ends_all_with_its_rank_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = svm();
    let lines = text.lines().count();
    text.push_str("+1 3:four\n");
    let file = write(folder.path(), "bad.svm", &text).display().to_string();
    let model = folder.path().join("model.json");
    let path = model.display().to_string();
    let done = run(3, &["fit", "logistic", &file, "-m", &path]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success() && !model.exists());
    assert!(said.contains("rank 1: ") && said.contains(&format!("line {}", lines + 1)), "{said}");
}

/// What is known before the data are read ends a run before they are: there is no such file.
#[test]
fn mistakes_are_told_before_anything_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let good = write(folder.path(), "good.svm", "+1 1:1\n-1 1:2\n").display().to_string();
    let model = folder.path().join("m.json").display().to_string();
    let none = "/no/such/file";
    let cases: [(&[&str], &str); 12] = [
        (&["fit", "logistic", &good, "-m", &good], "it is read too"),
        (&["fit", "logistic", &good, "-m", "/no/such/folder/m.json"], "/no/such/folder/m.json"),
        (&["fit", "logistic", none, "-m", &model, "--l1=-1"], "--l1 = -1"),
        (&["fit", "svc", none, "-m", &model], "--no-intercept"),
        (&["fit", "poisson", none, "-m", &model, "--l1", "1"], "poisson takes no --l1"),
        (&["learn", none, "-m", &model, "--c2", "0"], "--c2 = 0"),
        (&["learn", none, "-m", &model, "--checkpoint", "-1"], "--checkpoint = -1"),
        (&["fit", "linear", none, "-m", &model, "--tolerance", "-1"], "--tolerance = -1"),
        (&["fit", "linear", none, "-m", &model, "--max-passes", "NaN"], "--max-passes = NaN"),
        (&["glm", "normal", none, "-m", &model, "--l2", "-1"], "--l2 = -1"),
        (
            &["fit", "linear", none, "-m", &model, "--threads", "5000"],
            "expected a number from 0 to",
        ),
        (&["learn", none, "-m", &model, "--resume", "/no/such/start"], "/no/such/start"),
    ];
    for (words, expected) in cases {
        let done = run(1, words);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && said.contains(expected), "{words:?}: {said}");
    }
    assert_eq!(std::fs::read_to_string(&good).unwrap(), "+1 1:1\n-1 1:2\n");
}

/// All processes are given the same words: one of them says what is wrong with these.
#[test]
fn a_wrong_usage_is_told_once() {
    let done = run(3, &["fit", "logistic"]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(
        (done.status.code(), said.matches("required arguments").count()),
        (Some(2), 1),
        "{said}"
    );
}

#[test]
fn columns_without_templates_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file =
        write(folder.path(), "train.txt", "a DT B\nb NN I\n\na DT O\n").display().to_string();
    let model = folder.path().join("m.json").display().to_string();
    let done = run(2, &["learn", &file, "-m", &model]);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success() && said.contains("columns need --template"), "{said}");
}

/// The limits of a generalised linear model are its own, unless they are given; more processes than pieces are said to be idle.
#[test]
fn limits_of_a_generalised_linear_model() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for i in 0..300_usize {
        writeln!(text, "{} 1:{} 2:1", (i * 5 + i / 13) % 4, (i * 7) % 50).unwrap();
    }
    let file = write(folder.path(), "counts.svm", &text).display().to_string();
    let model = folder.path().join("m.json").display().to_string();
    let words = ["glm", "poisson", &file, "-m", &model, "--l2", "1e-3"];
    let passes = |more: &[&str]| {
        let done = run(2, &[&words[..], more].concat());
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.success(), "{said}");
        assert!(
            said.contains("warning: 1 of 2 processes is idle: the files have 1 piece\n"),
            "{said}"
        );
        GlmModel::<PoissonLog>::load(&std::fs::read(&model).unwrap()[..]).unwrap().report.passes
    };
    let all = passes(&[]);
    assert!(passes(&["--tolerance", "1e-1"]) < all);
    assert!(passes(&["--max-passes", "1"]) < all);
}

/// `kill -9` of a process ends all of them, and loses what came after the last checkpoint; any number of processes goes on from there.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_training_goes_on_from_its_checkpoint() {
    use std::process::Stdio;
    use std::time::Duration;

    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "train.txt", &conll()).display().to_string();
    let model = folder.path().join("model.json").display().to_string();
    let checkpoint = folder.path().join("model.json.checkpoint");
    let words = ["learn", "--template-preset", "chunking", &file, "-m", &model];
    let mut run_on = mpirun::command(2, TOOL);
    run_on.args(words).args(["--checkpoint", "0.001", "--tolerance", "0", "--max-passes", "1e9"]);
    let mut running = run_on.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !checkpoint.exists() {
        assert!(running.try_wait().unwrap().is_none(), "it ended without a checkpoint");
        std::thread::sleep(Duration::from_millis(5));
    }
    let id = mpirun::children(running.id())[0].to_string();
    assert!(Command::new("kill").args(["-9", &id]).status().unwrap().success());
    assert!(mpirun::end(running).is_none_or(|status| !status.success()));
    assert!(!Path::new(&model).exists());
    let at = checkpoint.display().to_string();
    let done = run(3, &[&words[..], &["--resume", &at, "--tolerance", "1e-2"]].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let trained = fenchel_crf::CrfModel::load(&std::fs::read(&model).unwrap()[..]).unwrap();
    assert!(trained.report.unwrap().certificate.relative() <= 1e-2);
}
