//! `fenchel fit` and `fenchel predict`: answers in closed form, files of both formats, ends before the end.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::common::Folder;

fn json(folder: &Folder, line: &str) -> Value {
    serde_json::from_str(&folder.ok(line)).unwrap()
}

/// The predictions of a model for a file.
fn predictions(folder: &Folder, line: &str) -> Vec<f64> {
    folder.ok(&format!("predict {line}")).lines().map(|line| line.parse().unwrap()).collect()
}

/// One feature with the mean 2.5 and the variance 1.25, and targets whose covariance with it is 2.
const LINE: &str = "x,y\n1,3\n2,5\n3,6\n4,8\n";
const POINTS: &str = "x\n0\n10\n";

fn assert_near(found: &[f64], expected: &[f64], within: f64) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < within);
    assert!(near, "{found:?}, expected {expected:?}");
}

#[test]
fn least_squares_has_a_closed_form() {
    let folder = Folder::new();
    folder.write("line.csv", LINE);
    folder.write("points.csv", POINTS);
    let (mean_x, mean_y, variance, covariance) = (2.5, 5.5, 1.25, 2.0);
    let line = |slope: f64| [0.0, 10.0].map(|x| mean_y + slope * (x - mean_x));
    let deviation = f64::sqrt(variance);
    for (options, slope) in [
        ("--l2 0", covariance / variance),
        ("--l2 0.5", covariance / (variance + 0.5)),
        // The default is 1/n.
        ("", covariance / (variance + 0.25)),
        ("--l1 0.5", (covariance - 0.5) / variance),
        ("--l1 0.5 --l2 0.75", (covariance - 0.5) / (variance + 0.75)),
        ("--l1 3", 0.0),
        // On the scaled feature the variance is 1.
        ("--l1 0.5 --standardise", (covariance / deviation - 0.5) / deviation),
        ("--l2 1 --standardise", covariance / deviation / 2.0 / deviation),
    ] {
        folder.ok(&format!("fit linear line.csv -q -m m.json --tolerance 1e-12 {options}"));
        let found = predictions(&folder, "m.json points.csv");
        assert_near(&found, &line(slope), 1e-5);
    }
    // Without an intercept: sum x y / sum x^2.
    folder.ok("fit linear line.csv -q -m m.json --l2 0 --no-intercept --tolerance 1e-12");
    let slope = (3.0 + 10.0 + 18.0 + 32.0) / 30.0;
    assert_near(&predictions(&folder, "m.json points.csv"), &[0.0, 10.0 * slope], 1e-5);
    // The report: 1/2 of the variance that the line leaves.
    let report = json(&folder, "fit linear line.csv -q --l2 0 --tolerance 1e-12 --json");
    assert_eq!((&report["rows"], &report["features"]), (&4.into(), &1.into()));
    let r2 = covariance * covariance / variance / 3.25;
    assert_near(&[report["R2"].as_f64().unwrap()], &[r2], 1e-8);
    assert_eq!(report["report"]["status"], "Converged");
    // The score of other data: 1 - (0.2^2 + 0.4^2) / (2 * 3.2^2) for targets 1.7 and 8.1, predicted as 1.5 and 8.
    folder.ok("fit linear line.csv -q -m m.json --l2 0 --tolerance 1e-12");
    folder.write("test.csv", "0,1.3\n4,8.3\n");
    let errors = (1.5f64 - 1.3).powi(2) + (7.9f64 - 8.3).powi(2);
    let score = json(&folder, "predict m.json test.csv --score --json");
    assert_near(&[score["R2"].as_f64().unwrap()], &[1.0 - errors / (2.0 * 3.5f64.powi(2))], 1e-6);
}

/// A binary feature with an intercept and without a penalty reproduces the means of the two groups.
#[test]
fn two_groups_have_their_own_means() {
    let folder = Folder::new();
    // Of x = 0: one of four is 1. Of x = 1: three of five.
    let labels = [(0, 0), (0, 0), (0, 0), (0, 1), (1, 0), (1, 0), (1, 1), (1, 1), (1, 1)];
    let text: String = labels.iter().map(|(x, y)| format!("{y} 1:{x}\n")).collect();
    folder.write("groups.svm", text);
    folder.write("both.svm", "0\n0 1:1\n");
    for kind in ["logistic", "softmax"] {
        folder.ok(&format!("fit {kind} groups.svm -q -m m.json --l2 0 --tolerance 1e-10"));
        let text = folder.ok("predict m.json both.svm --probabilities");
        assert_eq!(text, "0\t0.750000\t0.250000\n1\t0.400000\t0.600000\n", "{kind}");
        let answer = json(&folder, "predict m.json both.svm --probabilities --json");
        assert_eq!(answer["classes"], serde_json::json!([0.0, 1.0]));
        assert_eq!(answer["predictions"], serde_json::json!([0.0, 1.0]));
        assert_near(&[answer["probabilities"][1][1].as_f64().unwrap()], &[0.6], 1e-6);
        // Three of the first group and three of the second are right.
        let score = folder.ok("predict m.json groups.svm --score");
        assert_eq!(score, format!("accuracy {:.6}\n", 6.0 / 9.0));
    }
    // Counts 2 and 4, 1 and 3 and 8.
    folder.write("counts.csv", "0,2\n0,4\n1,1\n1,3\n1,8\n");
    folder.write("both.csv", "0\n1\n");
    folder.ok("fit poisson counts.csv -q -m m.json --l2 0 --tolerance 1e-10");
    assert_near(&predictions(&folder, "m.json both.csv"), &[3.0, 4.0], 1e-4);
    folder.write("sides.svm", "-1 1:-2\n-1 1:-1\n+1 1:1\n+1 1:2\n");
    folder.ok("fit svc sides.svm -q -m m.json");
    assert_eq!(predictions(&folder, "m.json sides.svm"), [-1.0, -1.0, 1.0, 1.0]);
    let error = folder.error("predict m.json sides.svm --probabilities");
    assert_eq!(error, "--probabilities: a linear support vector machine has none");
}

#[test]
fn formats_and_targets_are_told_apart() {
    let folder = Folder::new();
    let table = [[1.0, 0.5, 3.0], [2.0, 0.0, 5.0], [3.0, 1.5, 6.0], [4.0, 1.0, 9.0]];
    let lines = |delimiter: &str, order: [usize; 3]| -> String {
        let cells = |row: &[f64; 3]| order.map(|c| row[c].to_string()).join(delimiter) + "\n";
        table.iter().map(cells).collect()
    };
    let svm: String = table.iter().map(|[a, b, y]| format!("{y} 1:{a} 2:{b}\n")).collect();
    folder.write("plain.csv", lines(",", [0, 1, 2]));
    folder.write("semicolons.csv", lines(";", [0, 1, 2]));
    folder.write("tabs.tsv", lines("\t", [0, 1, 2]));
    folder.write("named.csv", format!("y,a,b\n{}", lines(",", [2, 0, 1])));
    folder.write("noname", lines(",", [0, 1, 2]));
    folder.write("rows.svm", format!("# a, comment\n\n{svm}"));
    folder.write("zero.svm", svm.replace("1:", "0:").replace("2:", "1:"));
    let mut models = Vec::new();
    for data in [
        "plain.csv",
        "semicolons.csv",
        "tabs.tsv",
        "named.csv --target y",
        "named.csv --target 0",
        "noname --format csv",
        "rows.svm",
        "zero.svm",
        "rows.svm --format svm --first-index 1",
    ] {
        folder.ok(&format!("fit linear {data} -q -m m.json --tolerance 1e-12"));
        // With the target, without it, and from text without names.
        let found = predictions(&folder, "m.json plain.csv");
        assert_near(&predictions(&folder, "m.json rows.svm"), &found, 1e-12);
        assert_near(&predictions(&folder, "m.json named.csv --target y"), &found, 1e-12);
        folder.write("bare.csv", "1,0.5\n2,0\n3,1.5\n4,1\n");
        assert_near(&predictions(&folder, "m.json bare.csv"), &found, 1e-12);
        models.push(found);
    }
    models.iter().for_each(|found| assert_near(found, &models[0], 1e-5));
    let report = folder.ok("fit linear named.csv --target y -q");
    assert!(report.contains("\nlargest weights     weight\na  "), "{report}");
    let report = folder.ok("fit linear rows.svm -q");
    assert!(report.contains("\nlargest weights, columns from 0     weight\n0  "), "{report}");
    let input = std::fs::File::open(folder.path("rows.svm")).unwrap();
    let output = folder.command("fit linear - -q").stdin(input).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), report.lines().count());
}

/// Group means are what least squares without an intercept and a penalty finds, a missing text is a group, a missing number the mean.
#[test]
fn a_table_of_texts_is_encoded_and_the_encoder_is_saved() {
    let folder = Folder::new();
    folder.write("plans.csv", "id,plan,y\n1,a,1\n2,a,3\n3,b,5\n4,b,9\n5,,4\n");
    let fit =
        "fit linear plans.csv --without id --no-intercept --l2 0 --tolerance 1e-12 -q -m m.json";
    let report = folder.ok(fit);
    assert!(report.contains("plan=b") && report.contains("plan missing"), "{report}");
    // Other columns and another order do not matter.
    folder.write("new.csv", "age,plan\n30,b\n40,\n50,a\n");
    assert_near(&predictions(&folder, "m.json new.csv"), &[7.0, 4.0, 2.0], 1e-6);
    let score = json(&folder, "predict m.json plans.csv --target y --score --json");
    // Squares within the groups, and around the mean 4.4.
    let (within, all) = (2.0 + 8.0, 35.2);
    assert_near(&[score["R2"].as_f64().unwrap()], &[1.0 - within / all], 1e-6);
    folder.write("gold.csv", "plan\na\ngold\n");
    let error = folder.error("predict m.json gold.csv");
    assert!(error.contains("column \"plan\" holds \"gold\" in row 1; expected one of"), "{error}");
    folder.ok(&format!("{fit} --unknown none"));
    assert_near(&predictions(&folder, "m.json gold.csv"), &[2.0, 0.0], 1e-6);
    let error = folder.error("predict m.json new.csv --score");
    assert_eq!(error, "new.csv: no targets to compare with");
    folder.write("rows.svm", "1 1:1\n");
    assert!(folder.error("predict m.json rows.svm").contains("expected CSV"));
    // Dates are days, and the one that is missing is their mean.
    folder.write("dates.csv", "since,y\n2024-01-01,0\n2024-01-03,2\n,1\n");
    folder.ok("fit linear dates.csv --l2 0 --tolerance 1e-12 -q -m m.json --standardise");
    folder.write("new.csv", "since\n2024-01-05\n\"\"\n");
    assert_near(&predictions(&folder, "m.json new.csv"), &[4.0, 1.0], 1e-4);
    for (line, message) in [
        (
            "linear plans.csv --without z",
            "plans.csv: there is no column \"z\"; there are id, plan, y",
        ),
        ("linear plans.csv --without y", "--without y: it is the target"),
        ("linear plans.csv --without id,plan", "plans.csv: 3 columns, none of which is left"),
        ("linear plans.csv --target plan", "plans.csv: "),
        ("linear rows.svm --without z", "--without is for CSV"),
    ] {
        let error = folder.error(&format!("fit {line} -q"));
        assert!(error.contains(message), "{line}: {error}");
    }
}

/// Classes may have names, and the library reads the file.
#[test]
fn classes_have_names() {
    use fenchel_datasets::FittedEncoder;
    use fenchel_finite_sum::LogisticModel;
    use fenchel_finite_sum::prelude::Saved;

    let folder = Folder::new();
    folder
        .write("left.csv", "plan,left\na,no\na,no\na,no\na,yes\nb,yes\nb,yes\nb,no\nb,yes\nb,no\n");
    folder.write("new.csv", "plan\na\nb\n");
    for kind in ["logistic", "softmax"] {
        folder.ok(&format!("fit {kind} left.csv -q -m m.json --l2 1e-9 --tolerance 1e-10"));
        let text = folder.ok("predict m.json new.csv --probabilities");
        assert_eq!(text, "no\t0.750000\t0.250000\nyes\t0.400000\t0.600000\n", "{kind}");
        let answer = json(&folder, "predict m.json new.csv --json");
        assert_eq!(answer["classes"], serde_json::json!(["no", "yes"]));
        assert_eq!(answer["predictions"], serde_json::json!(["no", "yes"]));
        let score = folder.ok("predict m.json left.csv --score");
        assert_eq!(score, format!("accuracy {:.6}\n", 6.0 / 9.0));
    }
    folder.ok("fit logistic left.csv -q -m m.json");
    let loaded = <(FittedEncoder, LogisticModel<String>)>::load_file(folder.path("m.json"));
    assert_eq!(loaded.unwrap().1.classes, ["no", "yes"]);
    let error = folder.error("fit linear left.csv -q");
    assert!(error.contains("row 0 has \"no\"; expected a number"), "{error}");
    // Columns of numbers are found by name too.
    folder.write("numbers.csv", "a,b,y\n1,0,2\n2,1,1\n3,5,0\n");
    folder.ok("fit linear numbers.csv -q -m m.json");
    folder.write("turned.csv", "b,a\n0,1\n1,2\n5,3\n");
    let found = predictions(&folder, "m.json numbers.csv");
    assert_near(&predictions(&folder, "m.json turned.csv"), &found, 1e-12);
}

/// Three features, of which the first decides with errors.
fn noisy(rows: u64) -> String {
    let mut state = 1u64;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1u64 << 31) as f64 - 0.5
    };
    let mut text = String::new();
    for _ in 0..rows {
        let [a, b, c, e] = [next(), next(), next(), next()];
        let label = if a + 0.7 * e > 0.0 { 1 } else { -1 };
        text += &format!("{label} 1:{a} 2:{b} 3:{c}\n");
    }
    text
}

#[test]
fn cross_validation_chooses_the_best_of_its_table() {
    let folder = Folder::new();
    folder.write("rows.svm", noisy(120));
    for (kind, options) in [
        ("logistic", "--l1-ratio 0,1"),
        ("softmax", ""),
        ("svc", ""),
        ("linear", "--l1-ratio 0.5 --choose one-standard-error"),
    ] {
        let line = format!("fit {kind} rows.svm -q --cv --folds 3 {options} --json -m m.json");
        let report = json(&folder, &line);
        let table = report["cross_validation"].as_array().unwrap();
        let mean = |score: &Value| score["mean"].as_f64().unwrap_or(f64::INFINITY);
        let best = table.iter().min_by(|a, b| mean(a).total_cmp(&mean(b))).unwrap();
        assert_eq!(best["folds"].as_array().unwrap().len(), 3);
        if kind == "linear" {
            let bound = mean(best) + best["standard_error"].as_f64().unwrap();
            assert!(mean(&report["chosen"]) <= bound, "{kind}");
            assert!(report["chosen"]["penalty"].as_f64() >= best["penalty"].as_f64(), "{kind}");
        } else {
            assert_eq!(&report["chosen"], best, "{kind}");
            let score = folder.ok("predict m.json rows.svm --score");
            let accuracy: f64 = score.split_whitespace().nth(1).unwrap().parse().unwrap();
            assert!(accuracy > 0.7, "{kind}: {score}");
        }
    }
    let text = folder.ok("fit logistic rows.svm -q --cv");
    assert!(text.starts_with("  l1 ratio     penalty        mean"), "{text}");
    assert!(text.contains("\nlogistic regression: converged: objective "), "{text}");
}

#[test]
fn progress_goes_to_standard_error_and_the_report_to_standard_output() {
    let folder = Folder::new();
    folder.write("rows.svm", noisy(60));
    let output = folder.run("fit logistic rows.svm -m m.json");
    let (text, log) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(log.starts_with("60 rows, 3 features\npasses          primal"), "{log}");
    assert!(log.lines().count() > 2 && !text.contains("primal"), "{log}");
    assert!(text.starts_with("logistic regression: converged: objective "), "{text}");
    // The objective of the report is that of the weights in the file.
    let model: Value =
        serde_json::from_slice(&std::fs::read(folder.path("m.json")).unwrap()).unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    let w: Vec<f64> =
        model["model"]["weights"]["data"].as_array().unwrap().iter().map(number).collect();
    let b = number(&model["model"]["intercept"]);
    let rows = noisy(60);
    let losses = rows.lines().map(|line| {
        let mut words = line.split(' ');
        let y: f64 = words.next().unwrap().parse().unwrap();
        let x = words.map(|word| word[2..].parse::<f64>().unwrap());
        let margin = y * (x.zip(&w).map(|(x, w)| x * w).sum::<f64>() + b);
        (-margin).exp().ln_1p() / 60.0
    });
    let objective = losses.sum::<f64>() + w.iter().map(|w| w * w).sum::<f64>() / 120.0;
    let certificate = &model["model"]["report"]["certificate"]["Gap"];
    assert_near(&[number(&certificate["objective"])], &[objective], 1e-12);
    assert!(number(&certificate["lower_bound"]) >= objective * (1.0 - 1e-4));
    // A model that goes to standard output has it for itself.
    let output = folder.run("fit logistic rows.svm -q -m -");
    assert_eq!(output.stdout, std::fs::read(folder.path("m.json")).unwrap());
    assert!(output.stderr.starts_with(b"logistic regression: converged"));
}

#[test]
fn a_fit_goes_on_from_a_model() {
    let folder = Folder::new();
    folder.write("rows.svm", noisy(200));
    folder.ok("fit logistic rows.svm -q -m m.json --tolerance 1e-8");
    let passes = |line: &str| json(&folder, line)["report"]["passes"].as_f64().unwrap();
    let cold = passes("fit logistic rows.svm -q --json --tolerance 1e-6");
    let warm = passes("fit logistic rows.svm -q --json --tolerance 1e-6 --start m.json");
    assert!(warm < cold, "{warm}, {cold}");
    let error = folder.error("fit svc rows.svm -q --start m.json");
    assert!(
        error.starts_with("m.json: ") && error.contains("it is a logistic regression"),
        "{error}"
    );
    folder.write("wide.svm", "1 1:1 5:2\n-1 2:1\n");
    let error = folder.error("fit logistic wide.svm -q --start m.json");
    assert!(error.starts_with("wide.svm: "), "{error}");
}

#[test]
fn a_limit_of_time_or_passes_ends_a_fit() {
    let folder = Folder::new();
    folder.write("rows.svm", noisy(200));
    let status = |options: &str| {
        json(&folder, &format!("fit logistic rows.svm -q --json --tolerance 0 {options}"))["report"]
            ["status"]
            .clone()
    };
    assert_eq!(status("--max-seconds 0"), "TimeLimit");
    assert_eq!(status("--max-passes 1"), "PassLimit");
    // A model that has not left its start replaces no other one.
    folder.ok("fit logistic rows.svm -q -m m.json");
    let before = std::fs::read(folder.path("m.json")).unwrap();
    for options in ["", "--cv"] {
        let error =
            folder.error(&format!("fit logistic rows.svm -q -m m.json --max-seconds 0 {options}"));
        assert_eq!(error, "the fit ended before its first pass; nothing was saved");
    }
    assert_eq!(std::fs::read(folder.path("m.json")).unwrap(), before);
}

#[cfg(unix)]
#[test]
fn an_interrupted_fit_saves_its_model() {
    let folder = Folder::new();
    folder.write("rows.svm", noisy(5000));
    // Dual ascent on the hinge has no last bit to stall at for hours.
    let line = "fit svc rows.svm -m m.json --hinge --l2 1e-9 --tolerance 0 --max-passes inf";
    let mut child =
        folder.command(line).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
    for _ in 0..4 {
        log.next().unwrap().unwrap();
    }
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let rest: Vec<String> = log.map(Result::unwrap).collect();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{rest:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("stopped by the observer"), "{text}");
    assert!(folder.ok("predict m.json rows.svm --score").starts_with("accuracy "));
}

#[test]
fn options_and_files_are_checked() {
    let folder = Folder::new();
    folder.write("rows.svm", noisy(20));
    folder.write("line.csv", LINE);
    folder.write("words.csv", "x,y\n1,2\n3,four\n");
    folder.write("one.csv", "1\n2\n");
    folder.write("broken.svm", "1 1:2\n1 1:x\n");
    folder.write("negative.csv", "1,2\n2,-1\n");
    folder.write("other.json", r#"{"kind":"conditional random field","version":1,"model":{}}"#);
    folder.write("text.json", "{");
    folder.ok("fit linear line.csv -q -m m.json");
    let before = std::fs::read(folder.path("m.json")).unwrap();
    for (line, message) in [
        ("logistic rows.svm --l1 -1", "l1 = -1; expected"),
        ("logistic nowhere.svm --l2 nan", "l2 = NaN; expected"),
        ("logistic nowhere.svm --tolerance -1", "tolerance = -1; expected"),
        ("logistic nowhere.svm --max-passes -1", "max-passes = -1; expected a number >= 0"),
        ("logistic nowhere.svm --max-seconds -1", "max-seconds = -1; expected"),
        ("logistic nowhere.svm --cv --folds 1", "folds = 1; expected a number >= 2"),
        ("logistic rows.svm --cv --l1-ratio 0,2", "l1-ratio = 2; expected a number from 0 to 1"),
        ("logistic rows.svm --threads 5000", "--threads 5000: expected a number from 0 to 4096"),
        ("svc rows.svm --l1 1", "--l1: a support vector machine takes --l2 only"),
        ("linear rows.svm --hinge", "--hinge is a loss of svc"),
        ("poisson rows.svm --cv", "--cv is not there for poisson"),
        ("linear line.csv -m line.csv", "--model line.csv: it is read too; name another file"),
        ("linear line.csv -m nowhere/m.json", "nowhere/m.json: "),
        ("linear line.csv -m - --json", "--json and --model -: both would go to standard output"),
        ("linear nowhere.csv", "nowhere.csv: "),
        ("linear words.csv", "words.csv:3:2: column \"y\" holds \"four\"; expected a number"),
        ("linear one.csv", "one.csv: one column; expected a target"),
        ("linear line.csv --target z", "line.csv: there is no column \"z\"; there are x, y"),
        ("linear line.csv --target 2", "line.csv: there is no column \"2\"; there are x, y"),
        ("linear rows.svm --target y", "--target is for CSV"),
        ("linear broken.svm", "broken.svm:2:5: index 1: expected a number, found \"x\""),
        ("logistic line.csv -m m.json", "line.csv: "),
        ("poisson negative.csv -m m.json", "negative.csv: "),
        ("linear line.csv --start text.json", "text.json: not a model file: "),
        ("linear line.csv --start other.json", "other.json: holds a conditional random field"),
    ] {
        let error = folder.error(&format!("fit {line} -q"));
        assert!(error.contains(message), "{line}: {error}");
    }
    assert_eq!(std::fs::read(folder.path("m.json")).unwrap(), before);
    folder.write("wide.csv", "1,2,3\n");
    for (line, message) in [
        (
            "m.json wide.csv",
            "wide.csv: 3 columns; the model has 1 features: expected 1 columns, or 2",
        ),
        ("m.json rows.svm", "rows.svm:1:"),
        ("m.json one.csv --score", "one.csv: no targets to compare with"),
        ("m.json line.csv --probabilities", "--probabilities: a linear regression has none"),
        ("nowhere.json line.csv", "nowhere.json: "),
    ] {
        let error = folder.error(&format!("predict {line}"));
        assert!(error.contains(message), "{line}: {error}");
    }
    for line in [
        "fit logistic rows.svm --cv --l1 1",
        "fit logistic rows.svm --folds 3",
        "fit logistic rows.svm --first-index 2",
        "fit logistic rows.svm --standardise --start m.json",
        "predict m.json rows.svm --score --probabilities",
    ] {
        assert_eq!(folder.run(line).status.code(), Some(2), "{line}");
    }
}
