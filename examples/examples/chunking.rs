//! Chunking: which words of a sentence form a noun phrase, a verb phrase. Train, read the certificate, measure, look inside,
//! tag a sentence with confidences.
//!
//! ```text
//! FENCHEL_DATA=DIR cargo run --release -p fenchel-examples --example chunking
//! ```
//!
//! With the folder of real data: CoNLL-2000. Without it: a few sentences written for this example.

use std::error::Error;

use fenchel_crf::text::{Boundary, Template};
use fenchel_crf::{Corpus, CorpusBuilder, Crf, CrfModel, Instance, LabelScheme};
use fenchel_datasets::{ConllOptions, Folder, Sentence, conll};
use fenchel_metrics::{ChunkCounts, chunks};

fn main() -> Result<(), Box<dyn Error>> {
    let (train, test) = sentences()?;
    let template = Template::chunking(Boundary::Omit);
    let corpus = corpus(&template, &train)?;
    println!(
        "{} sentences, {} tokens, {} attributes, {} labels",
        corpus.data.sequences(),
        corpus.data.tokens(),
        corpus.attributes.len(),
        corpus.labels.len()
    );

    let model = Crf::default().fit(&corpus)?;
    println!("{}", model.report.ok_or("trained here")?);

    let counts = evaluate(&model, &template, &test)?;
    println!("\nchunk             count  precision  recall      F1");
    for (kind, count) in counts.kinds() {
        let scores = counts.kind(kind);
        println!(
            "{kind:15} {count:7} {:10.2} {:7.2} {:7.2}",
            100.0 * scores.precision,
            100.0 * scores.recall,
            100.0 * scores.f1
        );
    }
    println!("all: F1 {:.2}", 100.0 * counts.overall().f1);

    println!("\nthe largest transition weights");
    for (from, to, weight) in model.largest_transition_weights(5) {
        println!("{from:>8} -> {to:8} {weight:7.3}");
    }

    println!("\na sentence, its chunks and how sure the model is of each");
    let sentence = &test[0];
    let instance = expand(&template, sentence)?;
    let mut tagger = model.tagger().with_scheme(LabelScheme::Bio);
    let labels = tagger.tag(&instance)?;
    let words: Vec<&str> = sentence.column(0).collect();
    for chunk in chunks(&labels) {
        let confidence = tagger.span_probability(&instance, chunk.start, chunk.end, chunk.kind)?;
        println!(
            "{:5.1}%  {:4} {}",
            100.0 * confidence,
            chunk.kind,
            words[chunk.start..chunk.end].join(" ")
        );
    }
    Ok(())
}

/// Columns word, part of speech, chunk.
fn sentences() -> Result<(Vec<Sentence>, Vec<Sentence>), Box<dyn Error>> {
    if let Some(folder) = std::env::var_os("FENCHEL_DATA").map(Folder::new)
        && let (Some(train), Some(test)) = (folder.conll2000_train()?, folder.conll2000_test()?)
    {
        return Ok((train, test));
    }
    println!(
        "FENCHEL_DATA does not name a folder with CoNLL-2000: a few sentences written for this example"
    );
    let read = |text: &str| conll(text.as_bytes(), &ConllOptions::default());
    Ok((read(TRAIN)?, read(TEST)?))
}

/// Attributes from the columns, the label from the last one.
fn expand(template: &Template, sentence: &Sentence) -> Result<Instance, fenchel_crf::Error> {
    let tokens: Vec<&[String]> = (0..sentence.len()).map(|t| sentence.token(t)).collect();
    let labels: Vec<&str> = sentence.column(sentence.width() - 1).collect();
    let mut instance = Instance::new();
    template.expand(&tokens, &labels, &mut instance)?;
    Ok(instance)
}

fn corpus(template: &Template, sentences: &[Sentence]) -> Result<Corpus, fenchel_crf::Error> {
    let mut builder = CorpusBuilder::new();
    for sentence in sentences {
        builder.push(&expand(template, sentence)?)?;
    }
    builder.finish(1)
}

fn evaluate(
    model: &CrfModel,
    template: &Template,
    sentences: &[Sentence],
) -> Result<ChunkCounts, Box<dyn Error>> {
    let instances: Vec<Instance> =
        sentences.iter().map(|sentence| expand(template, sentence)).collect::<Result<_, _>>()?;
    let mut counts = ChunkCounts::new();
    for (instance, labels) in instances.iter().zip(model.tag_all(&instances)?) {
        counts.add(&instance.labels().collect::<Vec<_>>(), &labels)?;
    }
    Ok(counts)
}

const TRAIN: &str = "\
The DT B-NP
old JJ I-NP
ferry NN I-NP
left VBD B-VP
the DT B-NP
harbour NN I-NP
at IN B-PP
noon NN B-NP
. . O

A DT B-NP
heavy JJ I-NP
storm NN I-NP
was VBD B-VP
coming VBG I-VP
from IN B-PP
the DT B-NP
west NN I-NP
. . O

Two CD B-NP
sailors NNS I-NP
watched VBD B-VP
the DT B-NP
grey JJ I-NP
sky NN I-NP
and CC O
said VBD B-VP
nothing NN B-NP
. . O

She PRP B-NP
has VBZ B-VP
read VBN I-VP
the DT B-NP
long JJ I-NP
letter NN I-NP
in IN B-PP
the DT B-NP
garden NN I-NP
. . O

They PRP B-NP
will MD B-VP
open VB I-VP
a DT B-NP
small JJ I-NP
shop NN I-NP
near IN B-PP
the DT B-NP
station NN I-NP
. . O
";

const TEST: &str = "\
The DT B-NP
young JJ I-NP
captain NN I-NP
has VBZ B-VP
seen VBN I-VP
the DT B-NP
storm NN I-NP
from IN B-PP
a DT B-NP
small JJ I-NP
window NN I-NP
. . O

Three CD B-NP
letters NNS I-NP
left VBD B-VP
the DT B-NP
station NN I-NP
. . O
";
