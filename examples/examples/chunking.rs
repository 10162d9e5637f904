//! Where do phrases begin and end, and how sure is the model of each?
//!
//! This program finds the chunks of sentences, such as noun phrases and verb phrases. It trains a model and prints its certificate,
//! its test errors and its largest weights. Then it labels a sentence with confidences, and tests whether the confidences are right.
//!
//! ```text
//! FENCHEL_DATA=DIR cargo run --release -p fenchel-examples --example chunking
//! ```
//!
//! With the folder of real data it uses CoNLL-2000: 16 passes in a quarter of a minute give a chunk F1 score of 93.83. Without
//! this folder it uses a few sentences that were written for this example.

use std::error::Error;
use std::ops::Range;
use std::process::ExitCode;

use fenchel_crf::text::{Boundary, Template};
use fenchel_crf::{Corpus, CorpusBuilder, Crf, CrfModel, Instance, LabelScheme};
use fenchel_datasets::{ConllOptions, Sentence, conll};
use fenchel_examples::Show;
use fenchel_linalg::text::{aligned, fixed};
use fenchel_metrics::{Chunk, ChunkCounts, Confusion, chunks};

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    let (train, test) = sentences(show)?;
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

    let instances: Vec<Instance> =
        test.iter().map(|sentence| expand(&template, sentence)).collect::<Result<_, _>>()?;
    let counts = evaluate(&model, &instances)?;
    let head = ["chunk", "count", "precision", "recall", "F1"];
    let mut table = vec![head.map(String::from).to_vec()];
    for (kind, count) in counts.kinds() {
        let scores = counts.kind(kind);
        let [p, r, f1] = [scores.precision, scores.recall, scores.f1].map(|s| fixed(100.0 * s, 2));
        table.push(vec![kind.to_owned(), count.to_string(), p, r, f1]);
    }
    println!("\n{}all: F1 {:.2}", aligned(&table, 1), 100.0 * counts.overall().f1);

    println!("\nthe largest transition weights");
    let weights = model.largest_transition_weights(5).into_iter();
    let rows = weights.map(|(from, to, weight)| vec![format!("{from} -> {to}"), fixed(weight, 3)]);
    print!("{}", aligned(&rows.collect::<Vec<_>>(), 1));

    let all_words: Vec<Vec<&str>> =
        test.iter().map(|sentence| sentence.column(0).collect()).collect();
    show.picture("worst", &model.worst(&instances, &all_words, 5)?.svg())?;
    let tagged = model.tag_all(&instances)?;
    let truth = instances.iter().flat_map(Instance::labels);
    let (confusion, labels) = Confusion::of_names(truth, tagged.into_iter().flatten())?;
    show.picture("confusion", &confusion.heat_map(&labels)?.svg())?;

    println!("\na sentence, its chunks and how sure the model is of each");
    let words: Vec<&str> = test[0].column(0).collect();
    for found in &find(&model, &instances[..1])?[0] {
        let text = words[found.tokens.clone()].join(" ");
        println!("{:5.1}%  {:4} {text}", 100.0 * found.confidence, found.kind);
    }

    println!("\nchunks found in the test set, by confidence");
    let head = ["confidence", "count", "mean", "correct"];
    let mut table = vec![head.map(String::from).to_vec()];
    let all: Vec<Found> = find(&model, &instances)?.into_iter().flatten().collect();
    for (from, to) in [(0.0, 0.5), (0.5, 0.8), (0.8, 0.95), (0.95, 0.99), (0.99, 1.0)] {
        let inside =
            |found: &&Found| found.confidence >= from && (found.confidence < to || to == 1.0);
        let here: Vec<&Found> = all.iter().filter(inside).collect();
        let count = here.len();
        if count > 0 {
            let mean = |total: f64| 100.0 * total / count as f64;
            let confidence = mean(here.iter().map(|found| found.confidence).sum());
            let correct = mean(here.iter().filter(|found| found.correct).count() as f64);
            let range = format!("{:.0} to {:.0}%", 100.0 * from, 100.0 * to);
            table.push(vec![
                range,
                count.to_string(),
                fixed(confidence, 1) + "%",
                fixed(correct, 1) + "%",
            ]);
        }
    }
    print!("{}", aligned(&table, 1));
    let mean = |of: fn(&Found) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
    show.conclude(format_args!(
        "the model finds chunks with F1 {:.2}; it claims to be right about {:.1} % of those that it finds, and is about {:.1} %.",
        100.0 * counts.overall().f1,
        100.0 * mean(|found| found.confidence),
        100.0 * mean(|found| f64::from(u8::from(found.correct)))
    ));
    Ok(())
}

/// Columns word, part of speech, chunk.
fn sentences(show: &Show) -> Result<(Vec<Sentence>, Vec<Sentence>), Box<dyn Error>> {
    if let Some(folder) = show.real_data()
        && let (Some(train), Some(test)) = (folder.conll2000_train()?, folder.conll2000_test()?)
    {
        show.real("CoNLL-2000, newspaper sentences with parts of speech and chunks");
        return Ok((train, test));
    }
    show.generated("a few sentences that were written for this example; FENCHEL_DATA names no folder with CoNLL-2000");
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
    let mut builder = CorpusBuilder::with_template(template.clone());
    for sentence in sentences {
        builder.push(&expand(template, sentence)?)?;
    }
    builder.finish(1)
}

fn evaluate(model: &CrfModel, instances: &[Instance]) -> Result<ChunkCounts, Box<dyn Error>> {
    let mut counts = ChunkCounts::new();
    for (instance, labels) in instances.iter().zip(model.tag_all(instances)?) {
        counts.add(&instance.labels().collect::<Vec<_>>(), &labels)?;
    }
    Ok(counts)
}

/// A chunk that was found.
struct Found {
    tokens: Range<usize>,
    kind: String,
    /// Its probability.
    confidence: f64,
    /// Whether it is a true one.
    correct: bool,
}

/// The chunks of the best legal labelling of each sentence.
fn find(model: &CrfModel, instances: &[Instance]) -> Result<Vec<Vec<Found>>, fenchel_crf::Error> {
    let tagger = model.tagger().with_scheme(LabelScheme::Bio);
    tagger.for_all(instances, |tagger, instance| {
        let labels = tagger.tag(instance)?;
        let truth: Vec<&str> = instance.labels().collect();
        let truth = chunks(&truth);
        let found = chunks(&labels).into_iter().map(|chunk| {
            let Chunk { start, end, kind } = chunk;
            let confidence = tagger.span_probability(instance, start, end, kind)?;
            let (kind, correct) = (kind.to_owned(), truth.contains(&chunk));
            Ok(Found { tokens: start..end, kind, confidence, correct })
        });
        found.collect()
    })
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
