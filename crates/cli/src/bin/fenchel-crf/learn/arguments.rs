//! The options of `fenchel-crf learn`.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;

use crate::input::{Columns, Format, TEXT, Templates};

const MODEL: &str = "The model and its penalty";
const END: &str = "When the training ends";
const HELD_OUT: &str = "Held-out sequences";
const RESUME: &str = "Interruptions";

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    fenchel-crf learn -m chunks.json --template-preset chunking --dev test.txt train.txt\n  \
    fenchel-crf learn -m model.json --c1 0.1 --min-frequency 2 train.crfsuite\n  \
    fenchel-crf learn -x -g 5 --template templates.txt train.txt.gz\n\n\
    A line for each check: passes, both objectives, their gap, the relative gap, the held-out score, seconds on the clock.\n\
    Ctrl-C ends the training within a pass and saves the model so far; the exit code is then 130.")]
pub(crate) struct Arguments {
    /// Where to save the model; - is standard output; without this option the model is not saved
    #[arg(short, long, value_name = "MODEL")]
    pub(super) model: Option<PathBuf>,
    /// What trains
    #[arg(short, long, value_enum, default_value_t = Algorithm::Auto, help_heading = MODEL)]
    pub(super) algorithm: Algorithm,
    /// Weight of the squared norm, added to the sum over the sequences, as in CRFsuite [default: 1]
    #[arg(long, value_name = "X", conflicts_with = "l2", allow_hyphen_values = true, help_heading = MODEL)]
    pub(super) c2: Option<f64>,
    /// Weight of the squared norm, added to the mean over the sequences: c2 = n l2 / 2
    #[arg(long, value_name = "X", allow_hyphen_values = true, help_heading = MODEL)]
    pub(super) l2: Option<f64>,
    /// Weight of the l1 norm, as in CRFsuite
    #[arg(long, value_name = "X", allow_hyphen_values = true, help_heading = MODEL)]
    pub(super) c1: Option<f64>,
    /// Leave out attributes that occur fewer than this many times
    #[arg(long, value_name = "N", allow_negative_numbers = true, help_heading = MODEL)]
    pub(super) min_frequency: Option<u32>,
    /// Only pairs of attribute and label, and transitions, that occur have weights: the default here and in CRFsuite
    #[arg(long, conflicts_with = "all_pairs", help_heading = MODEL)]
    pub(super) observed: bool,
    /// Weights for all pairs
    #[arg(long, help_heading = MODEL)]
    pub(super) all_pairs: bool,
    /// Give every token a bias, and the first and the last token weights of their own; CRFsuite has none of these
    #[arg(long, help_heading = MODEL)]
    pub(super) bias: bool,
    /// End when the duality gap is at most this fraction of the objective [default: 1e-4]
    #[arg(long, value_name = "RELATIVE", allow_hyphen_values = true, help_heading = END)]
    pub(super) tolerance: Option<f64>,
    /// End after this many passes over the data [default: 10000]; L-BFGS takes at least one step, which is two passes, and
    /// finishes a step that it has begun
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = END)]
    pub(super) max_passes: Option<f64>,
    /// Passes between two checks [default: 1 with --dev or --holdout, else chosen from the decay of the gap]
    #[arg(long, value_name = "PASSES", allow_hyphen_values = true, help_heading = END)]
    pub(super) check: Option<f64>,
    /// Memory for weights and marginals, in bytes, or with the suffix K, M or G; none for no limit [default: 4G]
    #[arg(long, value_name = "BYTES", allow_hyphen_values = true)]
    pub(super) max_memory: Option<Limit>,
    /// Seed of the random order of SDCA
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    pub(super) seed: u64,
    /// Number of threads [default: all]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) threads: Option<usize>,
    /// Labelled sequences that are not used for training: the saved model is the one with the best score on them
    #[arg(long, value_name = "FILE", help_heading = HELD_OUT)]
    pub(super) dev: Option<String>,
    /// End after this many checks without a better score on the held-out sequences
    #[arg(long, value_name = "CHECKS", allow_negative_numbers = true, help_heading = HELD_OUT)]
    pub(super) patience: Option<u32>,
    /// Start from the weights of a model, or from a checkpoint; they are matched by name, so that the data may differ
    #[arg(long, value_name = "MODEL", help_heading = RESUME)]
    pub(super) resume: Option<PathBuf>,
    /// Write a checkpoint, MODEL.checkpoint, at intervals of this many seconds; 0 for none. It is removed when the model is
    /// saved
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, allow_hyphen_values = true, help_heading = RESUME)]
    pub(super) checkpoint: f64,
    /// Divide the sequences into this many groups at random (--seed); without this option every file is a group
    #[arg(short = 'g', long, value_name = "N", allow_negative_numbers = true, help_heading = HELD_OUT)]
    pub(super) split: Option<usize>,
    /// Hold out this group, counted from 1, as --dev does with a file
    #[arg(short = 'e', long, value_name = "GROUP", conflicts_with_all = ["dev", "cross_validate"], allow_negative_numbers = true, help_heading = HELD_OUT)]
    pub(super) holdout: Option<usize>,
    /// Cross-validate: train once without each group (ten groups of a single file) and show the scores; no model is saved
    #[arg(short = 'x', long, conflicts_with_all = ["model", "dev", "resume"], help_heading = HELD_OUT)]
    pub(super) cross_validate: bool,
    /// Write the messages to this file as well
    #[arg(short = 'l', long, value_name = "FILE")]
    pub(super) log_to_file: Option<PathBuf>,
    /// A parameter with its name in CRFsuite: c1, c2, feature.minfreq, feature.possible_states, feature.possible_transitions,
    /// max_iterations, epsilon
    #[arg(short = 'p', long = "set", value_name = "NAME=VALUE", help_heading = MODEL)]
    pub(super) parameters: Vec<String>,
    /// The format of the text [default: crfsuite; columns if there are templates]
    #[arg(long, value_enum, help_heading = TEXT)]
    pub(super) format: Option<Format>,
    #[command(flatten)]
    pub(super) templates: Templates,
    #[command(flatten)]
    pub(super) columns: Columns,
    /// Show nothing
    #[arg(short, long)]
    pub(super) quiet: bool,
    /// Labelled texts, plain or compressed; - or no file is standard input
    #[arg(default_value = "-", hide_default_value = true)]
    pub(super) files: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Algorithm {
    /// SDCA if it fits into memory, else L-BFGS, with --c1 OWL-QN
    Auto,
    /// Dual coordinate ascent
    Sdca,
    /// L-BFGS, with --c1 OWL-QN
    Lbfgs,
}

/// A number of bytes, or no limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit(pub(super) Option<u64>);

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" { Ok(Limit(None)) } else { bytes(text).map(|bytes| Limit(Some(bytes))) }
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err("expected a number, one with K, M or G behind, or none".to_owned()),
    };
    let number: u64 = digits.parse().map_err(|_| "expected a whole number of bytes".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "more bytes than can be counted".to_owned())
}
