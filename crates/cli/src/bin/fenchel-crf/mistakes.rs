//! The sequences with the most wrong labels, as text and on a page.

use std::fmt::Write as _;

use fenchel_linalg::text::aligned;

use crate::evaluation::{Evaluation, Table};

/// The sequences with the most wrong labels so far; of equal ones, those that came first.
pub(crate) struct Mistakes {
    kept: usize,
    /// The most wrong labels first.
    worst: Vec<Labelled>,
}

struct Labelled {
    wrong: usize,
    line: u64,
    tokens: Vec<Token>,
}

struct Token {
    word: String,
    truth: String,
    found: String,
}

impl Mistakes {
    /// Keeps this many sequences.
    pub(crate) fn new(kept: usize) -> Self {
        Mistakes { kept, worst: Vec::new() }
    }

    /// Adds a sequence that begins at a line.
    pub(crate) fn add(
        &mut self,
        line: u64,
        truth: &[&str],
        found: &[&str],
        word: impl Fn(usize) -> String,
    ) {
        let wrong = truth.iter().zip(found).filter(|(truth, found)| truth != found).count();
        let place = self.worst.partition_point(|other| other.wrong >= wrong);
        if wrong == 0 || place >= self.kept {
            return;
        }
        let tokens = truth.iter().zip(found).enumerate().map(|(t, (truth, found))| Token {
            word: word(t),
            truth: (*truth).to_owned(),
            found: (*found).to_owned(),
        });
        self.worst.insert(place, Labelled { wrong, line, tokens: tokens.collect() });
        self.worst.truncate(self.kept);
    }

    /// Each sequence after its place in the file: a line for each token, with the predicted label where it is wrong.
    pub(crate) fn text(&self, file: &str) -> String {
        let mut text = String::new();
        for Labelled { wrong, line, tokens } in &self.worst {
            let _ = writeln!(text, "\n{file}:{line}: {wrong} of {} labels are wrong", tokens.len());
            let rows: Table = tokens
                .iter()
                .map(|Token { word, truth, found }| {
                    let found =
                        if truth == found { String::new() } else { format!("found {found}") };
                    vec![format!("  {word}"), truth.clone(), found]
                })
                .collect();
            text += &aligned(&rows, 3);
        }
        text
    }
}

const STYLE: &str = "\
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark;\
background:light-dark(#fff,#16181d);color:light-dark(#1d2433,#e3e6ec)}\
table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}\
td,th{padding:.15rem .6rem;text-align:right;border-bottom:1px solid light-dark(#d9dee7,#343a46)}\
td:first-child,th:first-child{text-align:left}\
h3{margin-bottom:.2rem;font-size:1rem;font-weight:600}\
.t{display:inline-block;margin:.1rem .15rem;padding:0 .25rem;border-radius:.25rem;text-align:center;vertical-align:top}\
.t small{display:block;font-size:.7rem;opacity:.7}\
.w{background:light-dark(#fde3df,#5a2620)}.w s{opacity:.7}";

/// A page of its own: the scores, the confusion, and the worst sequences with the wrong labels in colour.
pub(crate) fn page(file: &str, counts: &Evaluation, mistakes: &Mistakes) -> String {
    let name = escaped(file);
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>Labels of {name}</title>\n<style>{STYLE}</style>\n<h1>Labels of {name}</h1>\n"
    );
    for line in counts.head().lines() {
        let _ = writeln!(html, "<p>{}</p>", escaped(line));
    }
    for table in counts.scores(true) {
        write_table(&mut html, &table);
    }
    html += "<h2>Confusion</h2>\n";
    write_table(&mut html, &counts.confusion());
    html += "<h2>The sequences with the most wrong labels</h2>\n\
             <p>Below each word is its true label; where the predicted one is another, it stands struck out before.</p>\n";
    for Labelled { wrong, line, tokens } in &mistakes.worst {
        let _ = writeln!(html, "<h3>line {line}: {wrong} of {} are wrong</h3>\n<p>", tokens.len());
        for Token { word, truth, found } in tokens {
            let (word, truth, found) = (escaped(word), escaped(truth), escaped(found));
            let _ = match truth == found {
                true => writeln!(html, "<span class=\"t\">{word}<small>{truth}</small></span>"),
                false => writeln!(
                    html,
                    "<span class=\"t w\">{word}<small><s>{found}</s> {truth}</small></span>"
                ),
            };
        }
        html += "</p>\n";
    }
    html + "</html>\n"
}

fn write_table(html: &mut String, table: &Table) {
    *html += "<table>\n";
    for (k, row) in table.iter().enumerate() {
        let cell = if k == 0 { "th" } else { "td" };
        let cells: String =
            row.iter().map(|text| format!("<{cell}>{}</{cell}>", escaped(text))).collect();
        let _ = writeln!(html, "<tr>{cells}</tr>");
    }
    *html += "</table>\n";
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
