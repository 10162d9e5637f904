//! The contents: a line an experiment, with its first figure in small and the counts of its verdicts.

use super::parts::{KINDS, badge, claims, escape, figure_id, holds, is_open};
use crate::Outcome;
use crate::report::entry::{Attachments, Entry, State};

pub(super) fn contents(entries: &[Entry], attachments: &[Attachments]) -> String {
    if entries.is_empty() {
        return "<p>No experiment was run.</p>\n".into();
    }
    let open = claims(entries).filter(|c| is_open(c)).count();
    let mut html = format!(
        "<nav>\n<h2>Contents</h2>\n<p class=\"filter\"><label><input type=\"checkbox\" id=\"only-open\"> only what \
         does not hold, judged or not: {open}</label> <a href=\"#all-claims\">all claims in one table</a></p>\n"
    );
    let pairs: Vec<(&Entry, &Attachments)> = entries.iter().zip(attachments).collect();
    for group in pairs.chunk_by(|a, b| a.0.experiment.document == b.0.experiment.document) {
        html += &format!("<h3>{}</h3>\n<ol>\n", escape(group[0].0.experiment.document));
        group.iter().for_each(|(entry, attached)| html += &line(entry, attached));
        html += "</ol>\n";
    }
    html + "</nav>\n"
}

fn line(entry: &Entry, attached: &Attachments) -> String {
    let e = &entry.experiment;
    let state = match &entry.state {
        State::Failed(_) => badge("fail", "error"),
        State::Stopped => badge("reported", "stopped"),
        State::Done(outcome) if outcome.differs() => badge("fail", "differs"),
        State::Done(_) => String::new(),
    };
    let counts = entry.outcome().map_or(String::new(), badges);
    format!(
        "<li{}><a href=\"#{id}\">{}<span><span class=\"id\">{id}</span> {}</span></a>\
         <span class=\"counts\">{counts} {state}</span></li>\n",
        holds(entry),
        thumbnail(e.id, attached),
        escape(e.title),
        id = escape(e.id),
    )
}

/// How many claims of an experiment have each verdict.
fn badges(outcome: &Outcome) -> String {
    let badge = |&(outcome_word, class, _): &(&str, &str, &str)| {
        let n = outcome.claims.iter().filter(|c| c.outcome() == outcome_word).count();
        (n > 0).then(|| badge(class, &format!("{n} {outcome_word}")))
    };
    KINDS.iter().filter_map(badge).collect::<Vec<_>>().join(" ")
}

/// Width and height of a drawing, from its view box.
fn extent(svg: &str) -> Option<(f64, f64)> {
    let numbers = svg.split_once("viewBox=\"")?.1.split_once('"')?.0;
    let mut numbers = numbers.split_whitespace().skip(2).map(str::parse::<f64>);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// The first figure in small, drawn once more from the place where it stands.
fn thumbnail(id: &str, attached: &Attachments) -> String {
    let extent = attached.figures.first().and_then(|drawing| extent(&drawing.svg));
    let Some((width, height)) = extent else {
        return "<span class=\"thumb\"></span>".to_owned();
    };
    format!(
        "<svg class=\"thumb\" viewBox=\"0 0 {width} {height}\" aria-hidden=\"true\"><use href=\"#{}\" \
         width=\"{width}\" height=\"{height}\"/></svg>",
        figure_id(id, 0)
    )
}
