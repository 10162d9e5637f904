//! This project's side of the comparison with CRFsuite: trains on the chunks of CoNLL-2000 and prints a curve.
//!
//! ```text
//! peer-crf DIR/conll2000/train.txt [--method sdca|lbfgs] [--store f32|f64] [--passes N] [--relative R] [--full] [--newton]
//! ```
//!
//! Features as in CRFsuite's tutorial on chunking: 19 templates without a boundary symbol, `__BOS__` and `__EOS__` as
//! attributes, no cut-off, no bias, observed features only (`--full` for all), `c2 = 0.5`.

use std::error::Error;
use std::ops::ControlFlow;

use fenchel_crf::{
    Dataset, DualState, Features, NewtonStart, Problem, SdcaSettings, SdcaStep, Support, Token,
    Vocabulary, lbfgs, sdca,
};
use fenchel_graphical::chain::Probability;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::{Cadence, Progress, Stop};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: peer-crf FILE [options]")?;
    let (mut method, mut store) = ("sdca".to_string(), "f32".to_string());
    let (mut passes, mut relative, mut every) = (20.0, 0.0, 1.0);
    let mut features = Features { support: Support::Observed, bias: false, ends: false };
    let mut step = SdcaStep::default();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{flag} needs a value"));
        match flag.as_str() {
            "--method" => method = value()?,
            "--store" => store = value()?,
            "--passes" => passes = value()?.parse()?,
            "--relative" => relative = value()?.parse()?,
            "--every" => every = value()?.parse()?,
            "--full" => features.support = Support::All,
            "--newton" => {
                step = SdcaStep::Newton { tolerance: 1e-3, start: NewtonStart::default() }
            }
            _ => return Err(format!("{flag} is not an option").into()),
        }
    }
    let data = read(&std::fs::read_to_string(file)?)?;
    let problem = Problem::with_c2(&data, 0.5, features)?;
    println!(
        "{} sequences, {} tokens, {} attributes, {} labels, {} features",
        data.sequences(),
        data.tokens(),
        data.attributes(),
        data.labels(),
        problem.weights()
    );
    let check = Cadence::Every(every);
    let stop = Stop { absolute: 0.0, relative, max_passes: passes, check, ..Stop::default() };
    match (method.as_str(), store.as_str()) {
        ("sdca", "f32") => train::<f32>(&problem, step, stop),
        ("sdca", "f64") => train::<f64>(&problem, step, stop),
        ("lbfgs", _) => {
            let settings = LbfgsSettings { memory: 20, stop };
            let solution = lbfgs(&problem, &settings, None, &mut |p: &Progress, _: &_| print(p))?;
            println!("{}", solution.report);
            Ok(())
        }
        _ => Err("unknown method or store".into()),
    }
}

fn train<T: Probability>(
    problem: &Problem<'_>,
    step: SdcaStep,
    stop: Stop,
) -> Result<(), Box<dyn Error>> {
    let settings = SdcaSettings { step, stop, ..SdcaSettings::default() };
    let solution =
        sdca(problem, &settings, None::<DualState<T>>, &mut |p: &Progress, _: &_| print(p))?;
    println!("{}", solution.report);
    Ok(())
}

fn print(progress: &Progress) -> ControlFlow<()> {
    println!("{:5.0} passes {:8.3} s  {}", progress.passes, progress.seconds, progress.certificate);
    ControlFlow::Continue(())
}

/// Columns `word tag label`, sentences between blank lines.
fn read(text: &str) -> Result<Dataset, Box<dyn Error>> {
    let (mut attributes, mut labels) = (Vocabulary::new(), Vocabulary::new());
    type Sentence = Vec<(Vec<(u32, f64)>, u32)>;
    let mut sentences: Vec<Sentence> = Vec::new();
    for block in text.split("\n\n") {
        let rows: Vec<Vec<&str>> = block.lines().map(|line| line.split(' ').collect()).collect();
        let rows: Vec<_> = rows.into_iter().filter(|row| row.len() == 3).collect();
        if rows.is_empty() {
            continue;
        }
        let length = rows.len() as isize;
        let sentence = (0..length).map(|t| {
            let mut ids: Vec<(u32, f64)> = Vec::new();
            for template in TEMPLATES {
                if template.1.iter().any(|offset| !(0..length).contains(&(t + offset))) {
                    continue;
                }
                let cells = template.1.iter().map(|&o| rows[(t + o) as usize][template.0]);
                let value = cells.collect::<Vec<_>>().join("|");
                let name = format!("{}{:?}={value}", template.0, template.1);
                ids.push((attributes.intern(&name), 1.0));
            }
            if t == 0 {
                ids.push((attributes.intern("__BOS__"), 1.0));
            }
            if t == length - 1 {
                ids.push((attributes.intern("__EOS__"), 1.0));
            }
            (ids, labels.intern(rows[t as usize][2]))
        });
        sentences.push(sentence.collect());
    }
    let mut data = Dataset::new(attributes.len(), labels.len());
    for sentence in &sentences {
        let tokens: Vec<Token<'_>> =
            sentence.iter().map(|(a, label)| Token { attributes: a, label: *label }).collect();
        data.push(&tokens)?;
    }
    Ok(data)
}

/// Column and offsets.
const TEMPLATES: [(usize, &[isize]); 19] = [
    (0, &[-2]),
    (0, &[-1]),
    (0, &[0]),
    (0, &[1]),
    (0, &[2]),
    (0, &[-1, 0]),
    (0, &[0, 1]),
    (1, &[-2]),
    (1, &[-1]),
    (1, &[0]),
    (1, &[1]),
    (1, &[2]),
    (1, &[-2, -1]),
    (1, &[-1, 0]),
    (1, &[0, 1]),
    (1, &[1, 2]),
    (1, &[-2, -1, 0]),
    (1, &[-1, 0, 1]),
    (1, &[0, 1, 2]),
];
