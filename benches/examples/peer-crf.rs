//! This project's side of the comparison with CRFsuite.
//!
//! ```text
//! peer-crf export --data DIR --out DIR [--quick]       attribute files of CoNLL-2000 and the Dutch CoNLL-2002
//! peer-crf FILE [--method sdca|lbfgs] [--store f32|f64] [--passes N] [--relative R] [--every N] [--full] [--newton]
//!          [--batch B] [--json] [--test FILE]           training; a curve, then how the model tags
//! peer-crf tag MODEL FILE                               tagging with a saved model
//! peer-crf score FILE                                   chunk F1 of true and predicted labels, a pair a line
//! ```
//!
//! `FILE` is an attribute file as CRFsuite reads it, or the columns of CoNLL-2000. Features as in CRFsuite's tutorial on
//! chunking: 19 templates without a boundary symbol, `__BOS__` and `__EOS__` as attributes, no cut-off, no bias, observed
//! features only (`--full` for all), `c2 = 0.5`. `RAYON_NUM_THREADS` sets the number of threads.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use fenchel_crf::methods::{DualState, NewtonStart, SdcaSettings, SdcaStep, lbfgs, sdca};
use fenchel_crf::text::{Boundary, InstanceReader, Template, write_crfsuite};
use fenchel_crf::{
    Corpus, CorpusBuilder, CrfModel, Dataset, Features, Instance, Problem, Report, Saved, Sequence,
    Support, Tagger, Token, Weights,
};
use fenchel_datasets::{ConllOptions, Encoding, Sentence, conll_file};
use fenchel_graphical::chain::Probability;
use fenchel_metrics::ChunkCounts;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::{Cadence, Progress, Stop};
use serde_json::json;

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    match arguments.next().ok_or("usage: peer-crf FILE [options]")?.as_str() {
        "export" => export(arguments),
        "tag" => {
            let mut next = || arguments.next().ok_or("usage: peer-crf tag MODEL FILE");
            let (model, test) = (std::fs::read(next()?)?, next()?);
            tag(&model, &read(Path::new(&test))?)
        }
        "score" => score(Path::new(&arguments.next().ok_or("score needs a file")?)),
        file => train(Path::new(file), arguments),
    }
}

/// The batch of [`fenchel_crf::Crf`].
const ESTIMATOR_BATCH: usize = 1;

/// What is asked of a training.
struct Settings {
    step: SdcaStep,
    batch: usize,
    stop: Stop,
    json: bool,
}

fn train(file: &Path, mut arguments: impl Iterator<Item = String>) -> Result<(), Failure> {
    let start = Instant::now();
    let (mut method, mut store) = ("sdca".to_string(), "f32".to_string());
    let (mut passes, mut relative, mut every) = (20.0, 0.0, 1.0);
    let mut features = Features::crfsuite();
    let (mut step, mut json, mut test) = (SdcaStep::default(), false, None);
    let mut batch = ESTIMATOR_BATCH;
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{flag} needs a value"));
        match flag.as_str() {
            "--method" => method = value()?,
            "--store" => store = value()?,
            "--passes" => passes = value()?.parse()?,
            "--relative" => relative = value()?.parse()?,
            "--batch" => batch = value()?.parse()?,
            "--every" => every = value()?.parse()?,
            "--full" => (features.states, features.transitions) = (Support::All, Support::All),
            "--json" => json = true,
            "--test" => test = Some(PathBuf::from(value()?)),
            "--newton" => {
                step = SdcaStep::Newton { tolerance: 1e-3, start: NewtonStart::default() }
            }
            _ => return Err(format!("{flag} is not an option").into()),
        }
    }
    let mut builder = CorpusBuilder::new();
    each(file, |instance| Ok(builder.push(instance)?))?;
    let corpus = builder.finish(0)?;
    let problem = Problem::with_c2(&corpus.data, 0.5, features)?;
    let size = json!({
        "sequences": corpus.data.sequences(), "tokens": corpus.data.tokens(),
        "attributes": corpus.data.attributes(), "labels": corpus.data.labels(), "weights": problem.weights(),
    });
    println!("{size}");
    let check = Cadence::Every(every);
    let stop = Stop { absolute: 0.0, relative, max_passes: passes, check, ..Stop::default() };
    let settings = Settings { step, batch, stop, json };
    let (weights, report) = match (method.as_str(), store.as_str()) {
        ("sdca", "f32") => ascend::<f32>(&problem, &settings)?,
        ("sdca", "f64") => ascend::<f64>(&problem, &settings)?,
        ("lbfgs", _) => {
            let with = LbfgsSettings { memory: 20, stop };
            let mut observer = |p: &Progress, _: &_| print(json, p);
            let solution = lbfgs(&problem, &with, None, &mut observer)?;
            (solution.state, solution.report)
        }
        _ => return Err("unknown method or store".into()),
    };
    if json {
        let wall = start.elapsed().as_secs_f64();
        println!("{}", json!({ "peak": peak_memory(), "cpu": cpu_seconds(), "wall": wall }));
    } else {
        println!("{report}");
    }
    match test {
        Some(test) => judge(corpus, weights, report, &read(&test)?),
        None => Ok(()),
    }
}

fn ascend<T: Probability>(
    problem: &Problem<'_>,
    settings: &Settings,
) -> Result<(Weights, Report), Failure> {
    let Settings { step, batch, stop, .. } = *settings;
    let with = SdcaSettings { step, batch, stop, ..SdcaSettings::default() };
    let mut observer = |p: &Progress, _: &_| print(settings.json, p);
    let solution = sdca(problem, &with, None::<DualState<T>>, &mut observer)?;
    Ok((solution.state.weights, solution.report))
}

fn print(json: bool, progress: &Progress) -> ControlFlow<()> {
    let Progress { passes, seconds, certificate, .. } = progress;
    if json {
        let (objective, gap) = (certificate.objective(), certificate.value());
        println!(
            "{}",
            json!({ "passes": passes, "seconds": seconds, "objective": objective, "gap": gap })
        );
    } else {
        println!("{passes:5.0} passes {seconds:8.3} s  {certificate}");
    }
    ControlFlow::Continue(())
}

/// The model of a training: how it tags, and how long it takes to load.
fn judge(
    corpus: Corpus,
    weights: Weights,
    report: Report,
    test: &[Instance],
) -> Result<(), Failure> {
    let model = CrfModel::new(corpus.attributes, corpus.labels, weights, Some(report))?;
    let mut file = Vec::new();
    model.save(&mut file)?;
    tag(&file, test)
}

/// Loads a model and tags on the threads there are, many times: from words, and from numbers.
fn tag(file: &[u8], test: &[Instance]) -> Result<(), Failure> {
    let start = clock();
    let model = CrfModel::load(file)?;
    let load = elapsed(start);
    let start = clock();
    let tagger = model.tagger();
    let tables = elapsed(start);
    let tokens: usize = test.iter().map(Instance::len).sum();
    let mut counts = ChunkCounts::new();
    for (instance, labels) in test.iter().zip(model.tag_all(test)?) {
        counts.add(&instance.labels().collect::<Vec<_>>(), &labels)?;
    }
    let words = least(|| tagger.for_all(test, Tagger::tag).map(drop).map_err(Failure::from))?;
    let numbered = numbered(&model, test)?;
    let all: Vec<Sequence<'_>> = numbered.iter().collect();
    let count = |tagger: &mut Tagger<'_>, sequence: &Sequence<'_>| {
        Ok(tagger.tag_sequence(sequence)?.iter().sum::<usize>())
    };
    let numbers = least(|| tagger.for_all(&all, count).map(drop).map_err(Failure::from))?;
    println!(
        "{}",
        json!({
            "tag_seconds": words.0, "tag_cpu": words.1, "tag_numbers_seconds": numbers.0, "tag_numbers_cpu": numbers.1,
            "tag_tokens": tokens, "f1": counts.overall().f1,
            "load_seconds": load.1.unwrap_or(load.0), "tables_seconds": tables.1.unwrap_or(tables.0),
            "file_bytes": file.len(),
        })
    );
    Ok(())
}

/// Instances in the numbers of a model; what it does not know is left out.
fn numbered(model: &CrfModel, instances: &[Instance]) -> Result<Dataset, Failure> {
    let mut data = Dataset::new(model.attributes().len(), model.labels().len());
    for instance in instances {
        let attributes: Vec<Vec<(u32, f64)>> = (0..instance.len())
            .map(|t| {
                let known = |(name, value)| Some((model.attributes().get(name)?, value));
                instance.attributes(t).filter_map(known).collect()
            })
            .collect();
        let tokens: Vec<Token<'_>> =
            attributes.iter().map(|attributes| Token { attributes, label: 0 }).collect();
        data.push(&tokens)?;
    }
    Ok(data)
}

/// Wall-clock and processor seconds of the quickest of several rounds of ten.
fn least(work: impl Fn() -> Result<(), Failure>) -> Result<(f64, Option<f64>), Failure> {
    let mut least = (f64::INFINITY, None);
    for _ in 0..5 {
        let start = clock();
        for _ in 0..10 {
            work()?;
        }
        let (wall, cpu) = elapsed(start);
        if cpu.unwrap_or(wall) < 10.0 * least.1.unwrap_or(least.0) {
            least = (wall / 10.0, cpu.map(|cpu| cpu / 10.0));
        }
    }
    Ok(least)
}

fn clock() -> (Instant, Option<f64>) {
    (Instant::now(), cpu_seconds())
}

/// Wall-clock and processor seconds since then.
fn elapsed((start, cpu): (Instant, Option<f64>)) -> (f64, Option<f64>) {
    (start.elapsed().as_secs_f64(), cpu_seconds().zip(cpu).map(|(now, then)| now - then))
}

fn score(file: &Path) -> Result<(), Failure> {
    let mut counts = ChunkCounts::new();
    for sentence in conll_file(file, &ConllOptions::default())? {
        let column = |c: usize| sentence.column(c).collect::<Vec<_>>();
        counts.add(&column(0), &column(1))?;
    }
    println!("{}", json!({ "f1": counts.overall().f1 }));
    Ok(())
}

fn export(mut arguments: impl Iterator<Item = String>) -> Result<(), Failure> {
    let (mut data, mut out, mut limit) = (PathBuf::new(), PathBuf::new(), usize::MAX);
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{flag} needs a value"));
        match flag.as_str() {
            "--data" => data = value()?.into(),
            "--out" => out = value()?.into(),
            "--quick" => limit = 1000,
            _ => return Err(format!("{flag} is not an option").into()),
        }
    }
    std::fs::create_dir_all(&out)?;
    let sets = [
        ("conll2000", "conll2000/train.txt", "conll2000/test.txt", Encoding::Utf8),
        ("ner-dutch", "conll2002-nl/ned.train", "conll2002-nl/ned.testb", Encoding::Latin1),
    ];
    for (name, train, test, encoding) in sets {
        if !data.join(train).is_file() {
            continue;
        }
        for (part, file) in [("train", train), ("test", test)] {
            let options = ConllOptions { encoding, ..ConllOptions::default() };
            let sentences = conll_file(data.join(file), &options)?;
            let mut to = BufWriter::new(File::create(out.join(format!("{name}.{part}.crfsuite")))?);
            for instance in expand(&sentences)?.iter().take(limit) {
                write_crfsuite(instance, &mut to)?;
            }
        }
        println!("{name}");
    }
    Ok(())
}

fn read(file: &Path) -> Result<Vec<Instance>, Failure> {
    let mut instances = Vec::new();
    each(file, |instance| {
        instances.push(instance.clone());
        Ok(())
    })?;
    Ok(instances)
}

/// Hands on one instance after the other: attribute files by their ending, else columns.
fn each(file: &Path, mut to: impl FnMut(&Instance) -> Result<(), Failure>) -> Result<(), Failure> {
    if file.extension().is_none_or(|ending| ending != "crfsuite") {
        return expand(&conll_file(file, &ConllOptions::default())?)?.iter().try_for_each(to);
    }
    let mut reader = InstanceReader::new(BufReader::new(File::open(file)?));
    let mut instance = Instance::new();
    while reader.read(&mut instance)? {
        to(&instance)?;
    }
    Ok(())
}

/// The templates of the tutorial, with attributes for the ends.
fn expand(sentences: &[Sentence]) -> Result<Vec<Instance>, Failure> {
    let template = Template::chunking(Boundary::Omit);
    let mut instances = Vec::new();
    for sentence in sentences {
        let tokens: Vec<&[String]> = (0..sentence.len()).map(|t| sentence.token(t)).collect();
        let labels: Vec<&str> = sentence.column(sentence.width() - 1).collect();
        let mut plain = Instance::new();
        template.expand(&tokens, &labels, &mut plain)?;
        let mut instance = Instance::new();
        for (t, label) in labels.iter().enumerate() {
            instance.begin_token(label);
            plain.attributes(t).for_each(|(name, value)| instance.push(name, value));
            for (on, name) in [(t == 0, "__BOS__"), (t + 1 == sentence.len(), "__EOS__")] {
                if on {
                    instance.push(name, 1.0);
                }
            }
        }
        instances.push(instance);
    }
    Ok(instances)
}

/// Processor seconds of this process so far, on Linux.
fn cpu_seconds() -> Option<f64> {
    let line = std::fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = line.rsplit(')').next()?.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / 100.0)
}

/// The largest resident memory so far in bytes, on Linux.
fn peak_memory() -> Option<u64> {
    let status = BufReader::new(File::open("/proc/self/status").ok()?);
    let line = status.lines().map_while(Result::ok).find(|line| line.starts_with("VmHWM"))?;
    Some(1024 * line.split_whitespace().nth(1)?.parse::<u64>().ok()?)
}
