//! The page: one self-contained file, no scripts, every text escaped.

mod claims;
mod contents;
mod glossary;
mod parts;
mod section;

use parts::{KINDS, claims, escape};

use super::entry::{Attachments, Entry, Provenance, State};
use crate::Size;

const STYLE: &str = include_str!("../style.css");

/// The whole page; `attachments` go with `entries` one to one.
pub(in crate::report) fn page(
    provenance: &Provenance,
    entries: &[Entry],
    attachments: &[Attachments],
) -> String {
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>Fenchel: the experiments</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
    );
    html += &header(provenance, entries);
    html += &contents::contents(entries, attachments);
    for (entry, attached) in entries.iter().zip(attachments) {
        html += &section::section(entry, attached);
    }
    html += &claims::all(entries);
    html += "</main>\n</body>\n</html>\n";
    html
}

fn header(provenance: &Provenance, entries: &[Entry]) -> String {
    let size = match provenance.size {
        Size::Quick => "quick: mostly smaller than in the documents, minutes in all",
        Size::Full => "full: the sizes of the documents",
    };
    let data = if provenance.data {
        "a folder of real data was given; an experiment that has real data names the sets"
    } else {
        "no real data was given; experiments ran on embedded sets and synthetic substitutes"
    };
    let fact = |(name, value): &(String, String)| {
        format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value))
    };
    let facts: String = provenance.facts.iter().map(fact).collect();
    let seconds: f64 = entries.iter().filter_map(|e| e.seconds).sum();
    let time = if seconds > 0.0 {
        format!(
            "<dt>Time</dt><dd>{seconds:.0} s, the sum over the experiments; two take place at a time</dd>\n"
        )
    } else {
        String::new()
    };
    format!(
        "<header>\n<h1>Fenchel: the experiments</h1>\n\
         <p class=\"lead\">Sentences of the documents whose experiments were run again, with what was \
         expected, what was measured, and the verdict. Each quotes its document. Where that gives an order or a number, this is the \
         threshold, and the column Expected says how it was made testable (\"the project's reading\" where the sentence leaves that open); only claims of this project have thresholds of its own. A claim that is \
         known not to hold stays here, registered before the run with the reason. A row marked smaller is \
         judged as if the size were the document's. A row is not judged if the run has other data or another form of a method than the sentence is about, \
         or is too small for it (a sentence on data sets in general is judged on others than the document's too): it shows what was measured, and whether this meets the threshold, but counts neither as pass nor as fail. Where numbers are written a [b, c], a is the median over the seeds, b the least and c the largest value; inf means not \
         reached, or diverged. Orders are those of the medians.</p>\n\
         {}<details>\n<summary>How it was run</summary>\n<dl class=\"facts\">\n<dt>Version</dt><dd>{}</dd>\n\
         <dt>Size</dt><dd>{size}</dd>\n<dt>First seed</dt><dd>{}</dd>\n<dt>Data</dt><dd>{data}</dd>\n{facts}{time}</dl>\n\
         </details>\n</header>\n",
        summary(entries),
        escape(&provenance.version),
        provenance.seed,
    )
}

/// The counts a reader looks for first, and whether anything needs attention.
fn summary(entries: &[Entry]) -> String {
    let count = |outcome: &str| claims(entries).filter(|c| c.outcome() == outcome).count();
    let mut tiles = String::new();
    for (outcome, class, words) in KINDS {
        let n = count(outcome);
        if n > 0 || outcome == "pass" {
            tiles += &format!("<li class=\"{class}\"><b>{n}</b> {words}</li>\n");
        }
    }
    let failed = entries.iter().filter(|e| matches!(e.state, State::Failed(_))).count();
    let stopped = entries.iter().filter(|e| e.state == State::Stopped).count();
    let differ = claims(entries).filter(|c| c.differs()).count();
    let mut sentences = vec![match differ {
        0 => "Each verdict is the one that the code had stored before this run, those that do not hold included.".to_owned(),
        1 => "One verdict differs from the registered one.".into(),
        n => format!("{n} verdicts differ from the registered ones."),
    }];
    if failed > 0 {
        let are = if failed == 1 { "experiment" } else { "experiments" };
        sentences.push(format!("{failed} {are} ended with an error."));
    }
    if stopped > 0 {
        sentences.push(format!("The run was stopped before {stopped} could finish."));
    }
    let class = if differ + failed > 0 { "attention" } else { "calm" };
    format!(
        "<ul class=\"tiles\">\n{tiles}</ul>\n<p class=\"{class}\">{}</p>\n",
        sentences.join(" ")
    )
}
