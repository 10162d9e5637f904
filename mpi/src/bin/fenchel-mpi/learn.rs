//! `fenchel-mpi learn`

use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::ValueEnum;
use fenchel_crf::text::{Boundary, InstanceReader, Template};
use fenchel_crf::training::{
    Checkpoint, Checkpoints, Snapshot, Start, is_checkpoint, train_spread,
};
use fenchel_crf::{
    CorpusBuilder, Crf, CrfModel, Features, Instance, Method, Observer, Progress, Support,
};
use fenchel_datasets::{ConllOptions, ConllReader, Sentence};
use fenchel_linalg::Invalid;
use fenchel_mpi::text::{Cut, Piece, pieces};
use fenchel_mpi::{Error, Mpi};
use fenchel_optim::model::{Saved, text_of};
use fenchel_optim::spread::{Communicator, Shards, checksum};

use crate::Common;
use crate::show::{Show, say};

/// Lists of templates that come with the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Preset {
    /// The 19 templates of CRFsuite's chunking example for the columns word and part of speech; no attributes beyond the ends
    Chunking,
    /// The same with a symbol beyond the ends, as in the papers
    ChunkingEnds,
    /// 20 templates for named entities for the same columns
    Ner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Algorithm {
    /// Dual coordinate ascent in the shards (CoCoA): few passes on sparse text, and memory for all pairs of labels at all tokens
    Sdca,
    /// L-BFGS, with --c1 OWL-QN
    Lbfgs,
}

#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,
    /// File of templates in the syntax of CRF++, for columns; without templates the text is CRFsuite's
    #[arg(long, value_name = "TEMPLATES", conflicts_with = "template_preset")]
    template: Option<PathBuf>,
    /// Templates that are part of the tool, for columns, of which the last is the label
    #[arg(long, value_name = "NAME")]
    template_preset: Option<Preset>,
    /// What trains
    #[arg(short, long, value_enum, default_value_t = Algorithm::Lbfgs)]
    algorithm: Algorithm,
    /// Weight of the squared norm, as in CRFsuite: added to the sum over the sequences
    #[arg(long, value_name = "X", default_value_t = 1.0, allow_negative_numbers = true)]
    c2: f64,
    /// Weight of the l1 norm, as in CRFsuite
    #[arg(long, value_name = "X", default_value_t = 0.0, allow_negative_numbers = true)]
    c1: f64,
    /// Leave out attributes that occur fewer than this many times
    #[arg(long, value_name = "N", default_value_t = 0)]
    min_frequency: u32,
    /// Weights for all pairs of attribute and label, and for all transitions; by default those that occur
    #[arg(long)]
    all_pairs: bool,
    /// Give every token a bias, and the first and the last token weights of their own
    #[arg(long)]
    bias: bool,
    /// Start from a model, or from a checkpoint, of any number of processes
    #[arg(long, value_name = "MODEL")]
    resume: Option<PathBuf>,
    /// Write a checkpoint, MODEL.checkpoint, at intervals of this many seconds; 0 for none. It is removed when the model is saved
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, allow_negative_numbers = true)]
    checkpoint: f64,
}

impl Arguments {
    pub(crate) fn run(&self, ranks: &Mpi) -> Result<ExitCode, Error> {
        self.common
            .begin(ranks, &self.template.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
        Invalid::check_positive("--c2", self.c2)?;
        Invalid::check_nonnegative("--c1", self.c1)?;
        Invalid::check_nonnegative("--checkpoint", self.checkpoint)?;
        let template = self.templates()?;
        let resumed = self.resume.as_deref().map(|path| load(path, ranks)).transpose()?;
        let (builder, sizes) = self.read(template, ranks)?;
        let shards = Shards::new(ranks, &sizes)?;
        let corpus = builder.share(ranks)?.finish(self.min_frequency)?;
        // Without tabs a whole line is a label.
        if corpus.attributes.is_empty() && corpus.labels.iter().any(|label| label.contains(' ')) {
            let reason = "no attributes: CRFsuite's text has tabs, and columns need --template FILE, or --template-preset";
            return Err(Error::file(&self.common.files[0], reason));
        }
        let mut show = Show::new(ranks, self.common.quiet);
        let n = shards.all_rows() as f64;
        let (attributes, labels) = (corpus.attributes.len(), corpus.labels.len());
        let read = format_args!("{n} sequences, {attributes} attributes, {labels} labels");
        show.begin(read, &shards);
        let support = if self.all_pairs { Support::All } else { Support::Observed };
        let crf = Crf {
            l2: Some(2.0 * self.c2 / n),
            l1: self.c1 / n,
            features: Features {
                states: support,
                transitions: support,
                bias: self.bias,
                ends: self.bias,
            },
            method: match self.algorithm {
                Algorithm::Sdca => Method::Sdca,
                Algorithm::Lbfgs => Method::Lbfgs,
            },
            stop: self.common.stop(),
            ..Crf::default()
        };
        let start = resumed.map(|resumed| match resumed {
            Resumed::Checkpoint(at) => Start::from(at),
            Resumed::Model(model) => {
                Start::Weights(model.weights_for(&corpus.attributes, &corpus.labels))
            }
        });
        // Rank 0 has all weights, as every rank has.
        let checkpoints = match ranks.rank() {
            0 => Checkpoints::new(&self.common.model, self.checkpoint),
            _ => None,
        };
        if let (Some(checkpoints), None) = (&checkpoints, &self.resume)
            && let Some(warning) = checkpoints.warning()
        {
            show.say(warning);
        }
        let mut follower = Follower { show: &mut show, checkpoints };
        let model = train_spread(&crf, &corpus, &shards, start, &mut follower)?;
        let Follower { checkpoints, .. } = follower;
        if ranks.rank() == 0 {
            model.save_file(&self.common.model)?;
        }
        ranks.barrier();
        if let Some(checkpoints) = checkpoints {
            checkpoints.remove();
        }
        if let Some(report) = &model.report {
            show.end(report, &shards);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn templates(&self) -> Result<Option<Template>, Error> {
        if let Some(path) = &self.template {
            let text = File::open(path).map_err(|error| Error::file(path, error))?;
            let template = Template::parse(BufReader::new(text));
            return template.map(Some).map_err(|error| Error::file(path, error));
        }
        Ok(self.template_preset.map(|preset| match preset {
            Preset::Chunking => Template::chunking(Boundary::Omit),
            Preset::ChunkingEnds => Template::chunking(Boundary::Symbol("_".to_owned())),
            Preset::Ner => Template::named_entities(),
        }))
    }

    /// The own sequences, and how many there are in each own shard.
    fn read(
        &self,
        template: Option<Template>,
        ranks: &Mpi,
    ) -> Result<(CorpusBuilder, Vec<usize>), Error> {
        let mut builder = match template.clone() {
            None => CorpusBuilder::new(),
            Some(template) => CorpusBuilder::with_template(template),
        };
        let mut sizes = Vec::new();
        let cut = if template.is_some() { Cut::BlankLines } else { Cut::Sequences };
        for piece in pieces(&self.common.files, cut, ranks)? {
            let before = builder.len();
            match &template {
                None => attributes(&piece, &mut builder)?,
                Some(template) => columns(&piece, template, &mut builder)?,
            }
            sizes.push(builder.len() - before);
        }
        Ok((builder, sizes))
    }
}

/// Reads CRFsuite's text.
fn attributes(piece: &Piece, builder: &mut CorpusBuilder) -> Result<(), Error> {
    let (mut reader, mut instance) = (InstanceReader::new(piece.open()?), Instance::new());
    let fault = |error: fenchel_crf::Error, line: u64| match error {
        fenchel_crf::Error::Format { line, column, reason } => {
            piece.fault(line, format_args!("column {column}: {reason}"))
        }
        other => piece.fault(line, other),
    };
    loop {
        match reader.read(&mut instance) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => return Err(fault(error, reader.line())),
        }
        builder.push(&instance).map_err(|error| fault(error, reader.first_line()))?;
    }
}

/// Reads columns, of which the last is the label.
fn columns(piece: &Piece, template: &Template, builder: &mut CorpusBuilder) -> Result<(), Error> {
    let mut reader = ConllReader::new(piece.open()?, ConllOptions::default());
    let mut sentence = Sentence::default();
    let unreadable = |error| match error {
        fenchel_datasets::Error::Format { line, column, reason, .. } => {
            piece.fault(line, format_args!("column {column}: {reason}"))
        }
        other => Error::file(&piece.file, other),
    };
    while reader.read(&mut sentence).map_err(unreadable)? {
        let width = sentence.width();
        if width <= template.columns() {
            let needed = template.columns();
            let reason =
                format!("{width} columns; the templates read {needed}, and a label follows");
            return Err(piece.fault(reader.first_line(), reason));
        }
        let tokens: Vec<&[String]> = (0..sentence.len()).map(|t| sentence.token(t)).collect();
        let labels: Vec<&str> = sentence.column(width - 1).collect();
        let pushed = builder.push_columns(&tokens, &labels);
        pushed.map_err(|error| piece.fault(reader.first_line(), error))?;
    }
    Ok(())
}

/// What a training starts from.
enum Resumed {
    Model(CrfModel),
    Checkpoint(Checkpoint),
}

/// Reads a model or a checkpoint, which must be the same for all processes.
fn load(path: &Path, ranks: &Mpi) -> Result<Resumed, Error> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let mut head = Vec::new();
        file.by_ref().take(64).read_to_end(&mut head)?;
        if is_checkpoint(&head) {
            file.read_to_end(&mut head)?;
            return Ok(head);
        }
        text_of(Cursor::new(head).chain(file))
    };
    let bytes = read().map_err(|error| Error::file(path, error))?;
    ranks.check_alike("content of --resume (checksums)", &checksum(bytes.iter().copied()))?;
    if is_checkpoint(&bytes) {
        let checkpoint = Checkpoint::load(&bytes[..]);
        return checkpoint.map(Resumed::Checkpoint).map_err(|error| Error::file(path, error));
    }
    CrfModel::load(&bytes[..]).map(Resumed::Model).map_err(|error| Error::file(path, error))
}

struct Follower<'f> {
    show: &'f mut Show,
    checkpoints: Option<Checkpoints>,
}

impl Observer<Snapshot<'_>> for Follower<'_> {
    fn polls(&self) -> bool {
        true
    }

    fn observe(&mut self, progress: &Progress, _: &Snapshot<'_>) -> ControlFlow<()> {
        self.show.check(progress);
        ControlFlow::Continue(())
    }

    fn poll(&mut self, _: &Progress, at: &Snapshot<'_>) -> ControlFlow<()> {
        // Who relies on checkpoints wants to know, --quiet or not.
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.tick(at).unwrap_or_else(say);
        }
        ControlFlow::Continue(())
    }
}
