//! `fenchel predict`

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use fenchel_cli::Failure;
use serde_json::{Map, Value, json};

use crate::aligned::{write_json, write_text};
use crate::data::{Data, Source, with_rows};
use crate::model::Fitted;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    fenchel predict model.json new.svm                    a label or a number per line\n  \
    fenchel predict model.json new.svm --probabilities    and the probability of each class\n  \
    fenchel predict model.json test.csv --score           how good it is")]
pub(crate) struct Arguments {
    /// A model of `fenchel fit`
    model: PathBuf,
    #[command(flatten)]
    source: Source,
    /// After each label, the probability of each class in ascending order of the labels, with tabs between
    #[arg(long)]
    probabilities: bool,
    /// Only compare with the targets of the data: accuracy of labels, R2 of numbers, D2 of counts
    #[arg(long, conflicts_with = "probabilities")]
    score: bool,
    /// Write one JSON object
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    fenchel_cli::use_threads(None)?;
    let fitted = Fitted::load(&arguments.model)?;
    let Data { rows, y, .. } = arguments.source.read_for(&fitted)?;
    let model = fitted.model;
    let name = arguments.source.name();
    let failed = |error: fenchel_finite_sum::Error| Failure::file(&name, error);
    let mut answer = Map::new();
    answer.insert("kind".into(), model.kind().into());
    if arguments.score {
        let y = y.ok_or_else(|| Failure::file(&name, "no targets to compare with"))?;
        let score = with_rows!(&rows, x => model.score(x, &y)).map_err(failed)?;
        if arguments.json {
            answer.insert(model.score_name().into(), score.into());
            return write_json(&answer.into());
        }
        return write_text(&format!("{} {score:.6}\n", model.score_name()));
    }
    let predictions = with_rows!(&rows, x => model.predict(x)).map_err(failed)?;
    let probabilities = match arguments.probabilities {
        false => None,
        true => match with_rows!(&rows, x => model.probabilities(x)).map_err(failed)? {
            None => {
                let reason = format!("--probabilities: a {} has none", model.kind());
                return Err(Failure::Usage(reason));
            }
            found => found,
        },
    };
    if arguments.json {
        if !model.classes().is_empty() {
            answer.insert("classes".into(), json!(model.classes()));
        }
        answer.insert("predictions".into(), json!(predictions));
        if let Some(probabilities) = probabilities {
            let rows = probabilities.rows().into_iter().map(|row| Value::from(row.to_vec()));
            answer.insert("probabilities".into(), rows.collect());
        }
        return write_json(&answer.into());
    }
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    for (i, prediction) in predictions.iter().enumerate() {
        write!(out, "{prediction}")?;
        if let Some(probabilities) = &probabilities {
            for p in probabilities.row(i) {
                write!(out, "\t{p:.6}")?;
            }
        }
        writeln!(out)?;
    }
    Ok(out.flush()?)
}
