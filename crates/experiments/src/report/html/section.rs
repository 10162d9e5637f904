//! The section of an experiment: its question and answer, claims, figures, tables, settings.

use fenchel_linalg::text;

use super::parts::{escape, figure_id, holds, inline, table_of};
use super::{claims, glossary};
use crate::report::entry::{Attachments, Drawing, Entry, State};
use crate::{Outcome, Table};

/// A section that folds. One in which something does not hold is open.
pub(super) fn section(entry: &Entry, attached: &Attachments) -> String {
    let e = &entry.experiment;
    let (class, open) = if holds(entry).is_empty() { ("", " open") } else { (" holds", "") };
    let body = match &entry.state {
        State::Done(outcome) => body(e.id, outcome, attached),
        State::Failed(message) => format!(
            "<p class=\"attention\">The experiment ended with an error: {}</p>\n",
            inline(message)
        ),
        State::Stopped => "<p>The run was stopped before this experiment finished.</p>\n".into(),
    };
    let question = question(e.question, e.learnt);
    let terms = glossary::terms(e.id, &format!("<p>{}</p>{question}{body}", escape(e.title)));
    format!(
        "<section class=\"experiment{class}\">\n<details{open}>\n<summary><h2><span class=\"id\">{id}</span> {}</h2>\n{question}</summary>\n\
         <div class=\"body\" id=\"{id}\">\n<p class=\"source\">{}</p>\n{}{}{terms}{body}</div>\n</details>\n</section>\n",
        escape(e.title),
        escape(e.document),
        data_line(entry),
        origin_line(entry),
        id = escape(e.id),
    )
}

/// What is asked, and what was learnt.
fn question(question: &str, learnt: &str) -> String {
    format!(
        "<p class=\"question\">{} <span class=\"learnt\">{}</span></p>\n",
        inline(question),
        inline(learnt)
    )
}

/// Where the code is, how to run it alone, how long it took.
fn origin_line(entry: &Entry) -> String {
    let id = escape(entry.experiment.id);
    let file = escape(entry.experiment.file);
    let took =
        entry.seconds.map_or(String::new(), |seconds| format!("; took {}", text::seconds(seconds)));
    format!(
        "<p class=\"source\"><code>{file}</code>; <code>cargo xtask reproduce --only {id}</code>{took}</p>\n"
    )
}

fn data_line(entry: &Entry) -> String {
    if entry.experiment.needs.is_empty() {
        return String::new();
    }
    let sets: Vec<String> = entry
        .experiment
        .needs
        .iter()
        .map(|name| {
            let real = entry.data.iter().any(|d| d == name);
            let words = if real { "real" } else { "absent, substituted" };
            format!("<b>{}</b> {words}", escape(name))
        })
        .collect();
    format!("<p class=\"source\">Data: {}</p>\n", sets.join("; "))
}

fn body(id: &str, outcome: &Outcome, attached: &Attachments) -> String {
    let note = |note: &String| format!("<p class=\"note\">{}</p>\n", inline(note));
    let mut html: String = outcome.notes.iter().map(note).collect();
    html += &figures(id, attached);
    if !outcome.claims.is_empty() {
        html += &claims::of_experiment(&outcome.claims);
    }
    for (table, link) in outcome.tables.iter().zip(&attached.tables) {
        html += &data_table(table, link);
    }
    if !outcome.settings.is_empty() {
        html += "<details>\n<summary>Settings</summary>\n<dl class=\"facts\">\n";
        for (name, value) in &outcome.settings {
            html += &format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value));
        }
        html += "</dl>\n</details>\n";
    }
    html
}

/// One figure beside its caption; several in a grid, captions below.
fn figures(id: &str, attached: &Attachments) -> String {
    let drawn = |(k, drawing): (usize, &Drawing)| {
        let svg = drawing.svg.replacen("<svg ", &format!("<svg id=\"{}\" ", figure_id(id, k)), 1);
        let link =
            |(name, to): &(String, String)| format!("<a href=\"{}\">{name}</a> ", escape(to));
        format!(
            "<figure>\n<div class=\"card\">{svg}</div>\n<figcaption><p>{}</p>\
             <p class=\"files\">{}</p></figcaption>\n</figure>\n",
            inline(&drawing.caption),
            drawing.links.iter().map(link).collect::<String>(),
        )
    };
    let html: String = attached.figures.iter().enumerate().map(drawn).collect();
    if attached.figures.len() > 1 { format!("<div class=\"grid\">\n{html}</div>\n") } else { html }
}

fn data_table(table: &Table, link: &str) -> String {
    table_of(table, &format!(" <a class=\"files\" href=\"{}\">CSV</a>", escape(link)))
}
