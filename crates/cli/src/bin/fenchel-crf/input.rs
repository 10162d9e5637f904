//! Sequences from files: CRFsuite's text, or columns and templates; plain or compressed, or standard input.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;

use clap::ValueEnum;
use fenchel_cli::files::{Text, file_name, open_text, read_head};
use fenchel_crf::text::{Boundary, InstanceReader, Template};
use fenchel_crf::training::{Checkpoint, Start, is_checkpoint};
use fenchel_crf::{Corpus, CrfModel, Instance, Saved};
use fenchel_datasets::{ConllOptions, ConllReader, Encoding, Sentence};
use fenchel_optim::model::text_of;

use fenchel_cli::Failure;

/// The format of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A label, then attributes, separated by tabs
    Crfsuite,
    /// Columns separated by blanks; templates make the attributes
    Conll,
    /// The ten columns of CoNLL-U separated by tabs; the label is the universal part of speech; templates make the attributes
    Conllu,
}

/// Lists of templates that come with the tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    /// The 19 templates of CRFsuite's chunking example for the columns word and part of speech; no attributes beyond the ends
    Chunking,
    /// The same with a symbol beyond the ends, as in the papers
    ChunkingEnds,
    /// 20 templates for named entities for the same columns
    Ner,
}

/// The heading of the options about the text in a help.
pub(crate) const TEXT: &str = "Reading the text";

/// Options for reading columns. All columns count from 0.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = TEXT)]
pub(crate) struct Columns {
    /// The column of the label, from 0 [default: the last; 3 in CoNLL-U]
    #[arg(long, value_name = "COLUMN", allow_negative_numbers = true)]
    label_column: Option<usize>,
    /// The text is ISO 8859-1
    #[arg(long)]
    latin1: bool,
}

impl Columns {
    /// The column of the label, from the option or from the format.
    pub(crate) fn label_column(&self, format: Option<Format>) -> Option<usize> {
        self.label_column.or((format == Some(Format::Conllu)).then_some(ConllOptions::UPOS))
    }
}

/// The templates of a command line.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = TEXT)]
pub(crate) struct Templates {
    /// File of templates in the syntax of CRF++, for columns
    #[arg(long, value_name = "FILE", conflicts_with = "template_preset")]
    template: Option<String>,
    /// Templates that are part of the tool, for columns
    #[arg(long, value_name = "NAME")]
    template_preset: Option<Preset>,
}

impl Templates {
    /// The file of the templates, if there is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.template.as_deref().map(Path::new)
    }

    pub(crate) fn load(&self, format: Option<Format>) -> Result<Option<Template>, Failure> {
        if format == Some(Format::Conllu) && self.template_preset.is_some() {
            let reason = "the presets read the first two columns, which are number and word in CoNLL-U: \
                          write --template FILE";
            return Err(Failure::Usage(reason.to_owned()));
        }
        if let Some(file) = &self.template {
            let text = open_text(file)?;
            let template = Template::parse(text).map_err(|error| Failure::crf(file, error))?;
            if template.is_empty() {
                return Err(Failure::file(file, "no templates"));
            }
            return Ok(Some(template));
        }
        Ok(self.template_preset.map(|preset| match preset {
            Preset::Chunking => Template::chunking(Boundary::Omit),
            Preset::ChunkingEnds => Template::chunking(Boundary::Symbol("_".to_owned())),
            Preset::Ner => Template::named_entities(),
        }))
    }
}

/// All settings for reading sequences.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    /// The templates; if there are any, the text is in columns.
    template: Option<Template>,
    columns: Columns,
    /// The format given by the user.
    format: Option<Format>,
    /// Whether every token must have a label.
    labelled: bool,
}

impl Recipe {
    /// If no format is given, the text is in columns if there are templates.
    pub(crate) fn new(
        format: Option<Format>,
        template: Option<Template>,
        columns: &Columns,
        labelled: bool,
    ) -> Result<Self, Failure> {
        let template = match (format, template) {
            (Some(Format::Conll | Format::Conllu), None) => {
                let need = "columns need templates: --template FILE, or --template-preset with chunking, chunking-ends or ner";
                return Err(Failure::Usage(need.to_owned()));
            }
            (Some(Format::Crfsuite), _) => None,
            (_, template) => template,
        };
        Ok(Recipe { template, columns: columns.clone(), format, labelled })
    }

    /// Whether the text is CoNLL-U.
    pub(crate) fn universal(&self) -> bool {
        self.format == Some(Format::Conllu)
    }

    pub(crate) fn label_column(&self, width: usize) -> usize {
        self.columns.label_column(self.format).unwrap_or(width.saturating_sub(1))
    }

    /// Checks that sentences with this many columns have those of the templates and of the label. The error has a column, from
    /// 0, and the reason.
    fn check_columns(&self, template: &Template, width: usize) -> Result<(), (usize, String)> {
        let (needed, label) = (template.columns(), self.label_column(width));
        if width < needed {
            let reason = format!("columns: {width}; the templates read {needed}");
            return Err((width, reason));
        }
        // In CoNLL-U the label that is found replaces the one of the text.
        if (self.labelled || self.universal()) && label >= width {
            let reason = format!("columns: {width}; expected a label in column {}", label + 1);
            return Err((width, reason));
        }
        if self.labelled && template.reads(label) {
            let reason = "expected a label, found a column that the templates read: \
                          is the one of the labels missing, or another one (--label-column)?";
            return Err((label, reason.to_owned()));
        }
        Ok(())
    }

    pub(crate) fn template(&self) -> Option<&Template> {
        self.template.as_ref()
    }
}

/// A sequence, the line of its first token, and its cells if the text is in columns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Entry {
    pub(crate) instance: Instance,
    pub(crate) sentence: Sentence,
    pub(crate) line: u64,
}

/// A file of sequences.
pub(crate) struct Source {
    name: String,
    recipe: Recipe,
    reader: Reader,
}

enum Reader {
    Attributes(InstanceReader<Text>),
    Columns(ConllReader<Text>),
}

impl Source {
    /// Opens a file; `-` is standard input.
    pub(crate) fn open(file: &str, recipe: &Recipe) -> Result<Self, Failure> {
        let reader = match recipe.template {
            None => {
                let text = open_form(file, recipe.format)?;
                let text = if recipe.columns.latin1 { from_latin1(text) } else { text };
                Reader::Attributes(InstanceReader::new(text))
            }
            Some(_) => Reader::Columns(open_columns(file, &recipe.columns, recipe.format)?),
        };
        Ok(Source { name: file_name(file), recipe: recipe.clone(), reader })
    }

    /// Reads the next sequence; `false` at the end.
    pub(crate) fn read(&mut self, entry: &mut Entry) -> Result<bool, Failure> {
        let found = match &mut self.reader {
            Reader::Attributes(reader) => {
                let found = reader.read(&mut entry.instance);
                let found = found.map_err(|error| Failure::crf(&self.name, error))?;
                entry.line = reader.first_line();
                found
            }
            Reader::Columns(reader) => {
                let found = reader.read(&mut entry.sentence);
                let found = found.map_err(|error| Failure::data(&self.name, error))?;
                entry.line = reader.first_line();
                if found {
                    self.expand(entry)?;
                }
                found
            }
        };
        if found
            && self.recipe.labelled
            && let Some(token) = entry.instance.labels().position(str::is_empty)
        {
            let (line, column) = self.place_of_label(entry, token);
            return Err(self.fault(line, column, "expected a label, found nothing".to_owned()));
        }
        Ok(found)
    }

    /// Line and column of the label of a token of the sequence read last.
    fn place_of_label(&self, entry: &Entry, token: usize) -> (u64, u64) {
        match &self.reader {
            Reader::Attributes(_) => (entry.line + token as u64, 1),
            Reader::Columns(reader) => {
                let column = self.recipe.label_column(entry.sentence.width());
                (reader.lines()[token], column as u64 + 1)
            }
        }
    }

    /// Makes the attributes of the sentence.
    fn expand(&self, entry: &mut Entry) -> Result<(), Failure> {
        let Entry { instance, sentence, line } = entry;
        let template = self.recipe.template.as_ref().expect("columns come with templates");
        let width = sentence.width();
        let label = self.recipe.label_column(width);
        if let Err((column, reason)) = self.recipe.check_columns(template, width) {
            return Err(self.fault(*line, column as u64 + 1, reason));
        }
        let tokens: Vec<&[String]> = (0..sentence.len()).map(|t| sentence.token(t)).collect();
        let labels: Vec<&str> = match self.recipe.labelled {
            true => sentence.column(label).collect(),
            false => Vec::new(),
        };
        instance.clear();
        let done = template.expand(&tokens, &labels, instance);
        done.map_err(|error| Failure::crf(&self.name, error))
    }

    fn fault(&self, line: u64, column: u64, reason: String) -> Failure {
        Failure::Text { file: self.name.clone(), line, column, reason }
    }
}

/// The reason why a text without any attribute is not in CRFsuite's format, if its labels show it: without tabs a whole line is
/// a label.
pub(crate) fn not_crfsuite<'l>(mut labels: impl Iterator<Item = &'l str>) -> Option<&'static str> {
    const REASON: &str = "no attributes: CRFsuite's text has tabs, and columns need a model with templates, --template FILE, or \
                          --template-preset with chunking, chunking-ends or ner";
    labels.any(|label| label.contains(' ')).then_some(REASON)
}

/// Reads all sequences of a file, which must have at least one.
pub(crate) fn read_all(file: &str, recipe: &Recipe) -> Result<Vec<Instance>, Failure> {
    let mut source = Source::open(file, recipe)?;
    let mut all = Vec::new();
    let mut entry = Entry::default();
    while source.read(&mut entry)? {
        all.push(entry.instance.clone());
    }
    if all.is_empty() {
        return Err(Failure::file(file_name(file), "no sequences"));
    }
    let bare = |i: &Instance| (0..i.len()).all(|t| i.attributes(t).len() == 0);
    if all.iter().all(bare)
        && let Some(reason) = not_crfsuite(all.iter().flat_map(Instance::labels))
    {
        return Err(Failure::file(file_name(file), reason));
    }
    Ok(all)
}

/// A file of columns.
pub(crate) fn open_columns(
    file: &str,
    columns: &Columns,
    format: Option<Format>,
) -> Result<ConllReader<Text>, Failure> {
    let encoding = if columns.latin1 { Encoding::Latin1 } else { Encoding::Utf8 };
    let form = match format {
        Some(Format::Conllu) => ConllOptions::universal(),
        _ => ConllOptions::default(),
    };
    Ok(ConllReader::new(open_form(file, format)?, ConllOptions { encoding, ..form }))
}

/// Opens a text of the given format. If none is given, the text must not begin like CoNLL-U.
fn open_form(file: &str, format: Option<Format>) -> Result<Text, Failure> {
    let mut text = open_text(file)?;
    if format.is_some() {
        return Ok(text);
    }
    let mut head = Vec::new();
    let is_content = |line: &[u8]| {
        !(line.trim_ascii().is_empty() || line.starts_with(b"#") && !line.contains(&b'\t'))
    };
    let comments = read_head(&mut text, &mut head, is_content)
        .map_err(|error| Failure::file(file_name(file), error))?;
    if begins_universal(&head[..comments], &head[comments..]) {
        let reason = "the text looks like CoNLL-U (ten columns between tabs, the first a number): give --format \
                      conllu, or the form that it has instead";
        return Err(Failure::file(file_name(file), reason));
    }
    Ok(Box::new(Cursor::new(head).chain(text)))
}

/// Whether a text is CoNLL-U, by its comments and its first token. Ten columns that begin with a number may belong to an older
/// task, and are read as columns. Comments, ranges (`1-2`) and decimal numbers (`1.1`) occur in CoNLL-U only.
fn begins_universal(comments: &[u8], token: &[u8]) -> bool {
    let cells: Vec<&[u8]> = token.split(|&b| b == b'\t').collect();
    let plain = cells[0].iter().all(u8::is_ascii_digit);
    let number = cells[0].iter().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'.'));
    cells.len() == 10
        && cells[0].first().is_some_and(u8::is_ascii_digit)
        && if plain { comments.contains(&b'#') } else { number }
}

/// A text of ISO 8859-1 in UTF-8.
fn from_latin1(text: Text) -> Text {
    Box::new(std::io::BufReader::new(Latin1 { text, second: None }))
}

struct Latin1 {
    text: Text,
    /// The second byte of a character whose first byte filled the buffer.
    second: Option<u8>,
}

impl Read for Latin1 {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let from = self.text.fill_buf()?;
        let (mut read, mut written) = (0, 0);
        while written < to.len() {
            if let Some(byte) = self.second.take() {
                to[written] = byte;
            } else {
                let Some(&byte) = from.get(read) else { break };
                read += 1;
                to[written] = if byte < 0x80 { byte } else { 0xC0 | (byte >> 6) };
                self.second = (byte >= 0x80).then_some(0x80 | (byte & 0x3F));
            }
            written += 1;
        }
        self.text.consume(read);
        Ok(written)
    }
}

/// Where a training begins.
pub(crate) enum Resumed {
    Model(CrfModel),
    Checkpoint(Checkpoint),
}

impl Resumed {
    pub(crate) fn model(&self) -> &CrfModel {
        match self {
            Resumed::Model(model) => model,
            Resumed::Checkpoint(at) => &at.model,
        }
    }

    pub(crate) fn start(self, corpus: &Corpus) -> Start {
        match self {
            Resumed::Model(model) => model.weights_for(&corpus.attributes, &corpus.labels).into(),
            Resumed::Checkpoint(at) => at.into(),
        }
    }
}

pub(crate) fn load_start(path: &Path) -> Result<Resumed, Failure> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| Failure::file(&name, error))?;
    let mut head = Vec::new();
    let read = (&file).take(64).read_to_end(&mut head);
    read.map_err(|error| Failure::file(&name, error))?;
    if is_checkpoint(&head) {
        return Checkpoint::load(Cursor::new(head).chain(file))
            .map(Resumed::Checkpoint)
            .map_err(|error| Failure::crf(&name, error));
    }
    load_model(path).map(Resumed::Model)
}

pub(crate) fn load_model(path: &Path) -> Result<CrfModel, Failure> {
    let name = path.display().to_string();
    let bytes = File::open(path).and_then(text_of);
    let bytes = bytes.map_err(|error| Failure::file(&name, error))?;
    if bytes.starts_with(b"lCRF") {
        let reason = "a model of CRFsuite, which this program cannot read: train it again";
        return Err(Failure::file(name, reason));
    }
    CrfModel::load(&bytes[..]).map_err(|source| Failure::Model { file: name, source })
}
