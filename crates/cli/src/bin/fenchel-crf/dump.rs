//! `fenchel-crf dump`

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use fenchel_crf::CrfModel;
use fenchel_linalg::text::fixed;
use serde_json::json;

use crate::input::load_model;
use fenchel_cli::Failure;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    fenchel-crf dump chunks.json              counts, the certificate, the largest weights\n  \
    fenchel-crf dump chunks.json --top 0      all weights\n  \
    fenchel-crf dump chunks.json --json | jq .report")]
pub(crate) struct Arguments {
    /// The model
    model: PathBuf,
    /// How many weights to show for each label, and how many transitions; 0 for all
    #[arg(long, default_value_t = 10, value_name = "N", allow_negative_numbers = true)]
    top: usize,
    /// Write one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let model = load_model(&arguments.model)?;
    let count = if arguments.top == 0 { usize::MAX } else { arguments.top };
    let mut out = BufWriter::new(std::io::stdout().lock());
    if arguments.json {
        let value = json!({
            "labels": model.labels(),
            "attributes": model.attributes().len(),
            "weights": model.nonzero_weights(),
            "report": model.report,
            "template": model.template,
            "state": states(&model, count),
            "transition": model.largest_transition_weights(count),
        });
        serde_json::to_writer_pretty(&mut out, &value).map_err(std::io::Error::from)?;
        writeln!(out)?;
    } else {
        tables(&model, count, &mut out)?;
    }
    Ok(out.flush()?)
}

/// A label with its largest weights.
type State<'a> = (&'a str, Vec<(&'a str, f64)>);

/// The largest weights of each label, in the order of the labels.
fn states(model: &CrfModel, count: usize) -> Vec<State<'_>> {
    let each = |label| (label, model.largest_weights_of(label, count).unwrap_or_default());
    model.labels().iter().map(each).collect()
}

fn tables(model: &CrfModel, count: usize, out: &mut impl Write) -> Result<(), Failure> {
    let (labels, attributes) = (model.labels().len(), model.attributes().len());
    writeln!(out, "{labels} labels, {attributes} attributes, {} weights", model.nonzero_weights())?;
    match &model.report {
        Some(report) => writeln!(out, "training, per sequence: {report}")?,
        None => writeln!(out, "training: unknown")?,
    }
    writeln!(out, "\ntransitions")?;
    for (from, to, w) in model.largest_transition_weights(count) {
        writeln!(out, "{:>10}  {from} -> {to}", fixed(w, 4))?;
    }
    for (label, weights) in states(model, count) {
        writeln!(out, "\n{label}")?;
        for (attribute, w) in weights {
            writeln!(out, "{:>10}  {attribute}", fixed(w, 4))?;
        }
    }
    Ok(())
}
