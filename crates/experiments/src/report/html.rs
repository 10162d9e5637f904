//! The page: one self-contained file, no scripts, every text escaped.

use super::{Attachments, Entry, Provenance, State, counts};
use crate::{Claim, Column, Expectation, Outcome, Size, Source, Table, Verdict};

const STYLE: &str = include_str!("style.css");

/// Text with the five characters that mean something to HTML and XML replaced.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// Escaped text in which a pair of backticks encloses code.
fn inline(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // An odd number of parts means that every backtick has its partner.
    if parts.len().is_multiple_of(2) {
        return escape(text);
    }
    let wrap = |(k, part): (usize, &&str)| {
        if k % 2 == 1 { format!("<code>{}</code>", escape(part)) } else { escape(part) }
    };
    parts.iter().enumerate().map(wrap).collect()
}

/// The whole page; `attachments` go with `entries` one to one.
pub(super) fn page(
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
    html += &contents(entries, attachments);
    for (entry, attached) in entries.iter().zip(attachments) {
        html += &section(entry, attached);
    }
    html += &all_claims(entries);
    html += "</main>\n</body>\n</html>\n";
    html
}

fn header(provenance: &Provenance, entries: &[Entry]) -> String {
    let size = match provenance.size {
        Size::Quick => "quick: smaller than in the documents, minutes in all",
        Size::Full => "full: the sizes of the documents",
    };
    let data = if provenance.data {
        "a folder of real data was given; each experiment says which sets it found"
    } else {
        "no real data was given; experiments ran on embedded sets and synthetic substitutes"
    };
    let fact = |(name, value): &(String, String)| {
        format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(value))
    };
    let facts: String = provenance.facts.iter().map(fact).collect();
    format!(
        "<header>\n<h1>Fenchel: the experiments</h1>\n\
         <p class=\"lead\">Every claim of the documents that this version repeats, with what was \
         expected, what was measured, and the verdict. Each quotes its document and says who fixed its \
         threshold: the document, the specification written from it, or this project; and where that was \
         done after a run had been seen. A claim that is known not to hold stays here with the reason.</p>\n\
         {}<details>\n<summary>How it was run</summary>\n<dl class=\"facts\">\n<dt>Version</dt><dd>{}</dd>\n\
         <dt>Size</dt><dd>{size}</dd>\n<dt>Seed</dt><dd>{}</dd>\n<dt>Data</dt><dd>{data}</dd>\n{facts}</dl>\n\
         </details>\n</header>\n",
        summary(entries),
        escape(&provenance.version),
        provenance.seed,
    )
}

fn claims(entries: &[Entry]) -> impl Iterator<Item = &Claim> {
    entries.iter().filter_map(Entry::outcome).flat_map(|outcome| &outcome.claims)
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
        0 => "Every verdict is the registered one.".to_owned(),
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

/// The kinds of verdicts, as tiles, counts and badges show them.
const KINDS: [(&str, &str, &str); 7] = [
    ("pass", "pass", "pass"),
    ("fail", "fail", "fail"),
    ("does not reproduce", "known", "known not to reproduce"),
    ("unexpected pass", "fail", "pass against what is registered"),
    ("reason fails", "fail", "whose registered reason fails its check"),
    ("reported", "reported", "shown where the document gives neither order nor number"),
    ("not judged", "reported", "not judged: other data than the document's"),
];

/// Whether a reader who looks for what does not hold wants to see it.
fn is_open(claim: &Claim) -> bool {
    claim.verdict == Verdict::Fail || claim.differs()
}

/// How many claims of an experiment have each verdict.
fn badges(outcome: &Outcome) -> String {
    let badge = |&(outcome_word, class, _): &(&str, &str, &str)| {
        let n = outcome.claims.iter().filter(|c| c.outcome() == outcome_word).count();
        (n > 0).then(|| badge(class, &format!("{n} {outcome_word}")))
    };
    KINDS.iter().filter_map(badge).collect::<Vec<_>>().join(" ")
}

/// The name of a figure on the page.
fn figure_id(id: &str, k: usize) -> String {
    format!("{}-figure-{}", escape(id), k + 1)
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

fn contents(entries: &[Entry], attachments: &[Attachments]) -> String {
    if entries.is_empty() {
        return "<p>No experiment was run.</p>\n".into();
    }
    let open = claims(entries).filter(|c| is_open(c)).count();
    let mut html = format!(
        "<nav>\n<h2>Contents</h2>\n<p class=\"filter\"><label><input type=\"checkbox\" id=\"only-open\"> only what \
         does not hold: {open}</label> <a href=\"#all-claims\">all claims in one table</a></p>\n<ol>\n"
    );
    for (entry, attached) in entries.iter().zip(attachments) {
        let e = &entry.experiment;
        let state = match &entry.state {
            State::Failed(_) => badge("fail", "error"),
            State::Stopped => badge("reported", "stopped"),
            State::Done(outcome) if outcome.differs() => badge("fail", "differs"),
            State::Done(_) => String::new(),
        };
        let counts = entry.outcome().map_or(String::new(), badges);
        html += &format!(
            "<li{}><a href=\"#{id}\">{}<span><span class=\"id\">{id}</span> {}</span></a><small>{}</small>\
             <span class=\"counts\">{counts} {state}</span></li>\n",
            holds(entry),
            thumbnail(e.id, attached),
            escape(e.title),
            escape(e.document),
            id = escape(e.id),
        );
    }
    html + "</ol>\n</nav>\n"
}

/// The mark of an experiment that the filter hides.
fn holds(entry: &Entry) -> &'static str {
    let open = entry.differs() || entry.outcome().is_some_and(|o| o.claims.iter().any(is_open));
    if open { "" } else { " class=\"holds\"" }
}

fn badge(class: &str, text: &str) -> String {
    format!("<span class=\"badge {class}\">{}</span>", escape(text))
}

fn verdict(claim: &Claim) -> String {
    let class = match (&claim.registered, claim.verdict) {
        (Expectation::DoesNotReproduce { why }, Verdict::Fail) if why.checked => "known",
        (Expectation::DoesNotReproduce { .. }, Verdict::Pass) | (_, Verdict::Fail) => "fail",
        (_, Verdict::Pass) => "pass",
        (_, Verdict::Reported) => "reported",
    };
    badge(class, claim.outcome())
}

fn claim_row(claim: &Claim, id: Option<&str>) -> String {
    let id = id.map_or(String::new(), |id| {
        let id = escape(id);
        format!("<td class=\"id\"><a href=\"#{id}\">{id}</a></td>")
    });
    let why = match &claim.registered {
        Expectation::DoesNotReproduce { why } => {
            let check = match (why.measured.is_empty(), why.checked) {
                (true, _) => " (not known)".to_owned(),
                (_, true) => format!(" (measured: {})", inline(&why.measured)),
                (_, false) => format!(" (measured: {}, which it is not)", inline(&why.measured)),
            };
            format!(
                "<p class=\"why\">Registered as not reproducing: {}{check}</p>",
                inline(&why.text)
            )
        }
        Expectation::NotJudged { why } => {
            format!("<p class=\"why\">Not judged: {}</p>", inline(why))
        }
        _ => String::new(),
    };
    let source = if claim.source.is_ours() {
        "<p class=\"quote\">This project&#39;s own.</p>".to_owned()
    } else {
        let Source { document, section, quote } = &claim.source;
        format!(
            "<p class=\"quote\"><q>{}</q> <cite>{}, {}</cite></p>",
            inline(quote),
            escape(document),
            escape(section)
        )
    };
    let threshold = &claim.threshold;
    let after = if threshold.before { "" } else { ", after a run" };
    let origin = match claim.verdict {
        Verdict::Reported => String::new(),
        _ => format!("<p class=\"quote\">{}{after}; {}</p>", threshold.origin, claim.ground),
    };
    format!(
        "<tr{}>{id}<td>{}{source}{why}</td><td data-label=\"Expected\">{}{origin}</td>\
         <td data-label=\"Measured\">{}</td><td>{}</td></tr>\n",
        if is_open(claim) { "" } else { " class=\"holds\"" },
        inline(&claim.statement),
        inline(&threshold.text),
        inline(&claim.measured),
        verdict(claim),
    )
}

fn claim_table(rows: &str, with_id: bool) -> String {
    let id = if with_id { "<th>Experiment</th>" } else { "" };
    format!(
        "<div class=\"scroll\"><table class=\"claims\">\n<thead><tr>{id}<th>Claim</th><th>Expected</th>\
         <th>Measured</th><th>Verdict</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

fn all_claims(entries: &[Entry]) -> String {
    let mut rows = String::new();
    for entry in entries {
        let id = entry.experiment.id;
        match &entry.state {
            State::Done(outcome) => {
                outcome.claims.iter().for_each(|c| rows += &claim_row(c, Some(id)));
            }
            State::Failed(message) => {
                rows += &format!(
                    "<tr><td class=\"id\"><a href=\"#{id}\">{id}</a></td><td colspan=\"3\">{}</td>\
                     <td>{}</td></tr>\n",
                    inline(message),
                    badge("fail", "error"),
                    id = escape(id),
                );
            }
            State::Stopped => {}
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<section id=\"all-claims\">\n<h2>All claims</h2>\n{}<details>\n<summary>The table of all {} \
         claims</summary>\n{}</details>\n</section>\n",
        table_of(&counts(entries), ""),
        claims(entries).count(),
        claim_table(&rows, true)
    )
}

fn section(entry: &Entry, attached: &Attachments) -> String {
    let e = &entry.experiment;
    let mut html = format!(
        "<section class=\"experiment{}\" id=\"{id}\">\n<h2><span class=\"id\">{id}</span> {}</h2>\n\
         <p class=\"source\">{}</p>\n{}",
        if holds(entry).is_empty() { "" } else { " holds" },
        escape(e.title),
        escape(e.document),
        data_line(entry),
        id = escape(e.id),
    );
    match &entry.state {
        State::Done(outcome) => html += &body(e.id, outcome, attached),
        State::Failed(message) => {
            html += &format!(
                "<p class=\"attention\">The experiment ended with an error: {}</p>\n",
                inline(message)
            );
        }
        State::Stopped => {
            html += "<p>The run was stopped before this experiment finished.</p>\n";
        }
    }
    html + "</section>\n"
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
    let mut html = String::new();
    if !outcome.claims.is_empty() {
        let rows: String = outcome.claims.iter().map(|c| claim_row(c, None)).collect();
        html += &claim_table(&rows, false);
    }
    for (k, (figure, drawing)) in outcome.figures.iter().zip(&attached.figures).enumerate() {
        let svg = drawing.svg.replacen("<svg ", &format!("<svg id=\"{}\" ", figure_id(id, k)), 1);
        html += &format!(
            "<figure>\n<div class=\"card\">{svg}</div>\n<figcaption><h3>{}</h3><p>{}</p>\
             <p class=\"files\"><a href=\"{}\">CSV</a> <a href=\"{}\">SVG</a></p></figcaption>\n</figure>\n",
            escape(&figure.title),
            inline(&figure.caption),
            escape(&drawing.csv_link),
            escape(&drawing.svg_link),
        );
    }
    for (table, link) in outcome.tables.iter().zip(&attached.tables) {
        html += &data_table(table, link);
    }
    for note in &outcome.notes {
        html += &format!("<p class=\"note\">{}</p>\n", inline(note));
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

fn data_table(table: &Table, link: &str) -> String {
    table_of(table, &format!(" <a class=\"files\" href=\"{}\">CSV</a>", escape(link)))
}

/// A table; `after` stands behind its title, as it is.
fn table_of(table: &Table, after: &str) -> String {
    let class = |c: usize| if table.is_numeric(c) { " class=\"number\"" } else { "" };
    let heading = |(c, column): (usize, &Column)| {
        let unit = if column.unit.is_empty() {
            String::new()
        } else {
            format!(" <small>{}</small>", escape(&column.unit))
        };
        format!("<th{}>{}{unit}</th>", class(c), escape(&column.name))
    };
    let headings: String = table.columns.iter().enumerate().map(heading).collect();
    let mut rows = String::new();
    for row in &table.rows {
        let missing = table.columns.len().saturating_sub(row.len());
        let cells: String = row
            .iter()
            .enumerate()
            .map(|(c, cell)| format!("<td{}>{}</td>", class(c), inline(&cell.short())))
            .collect();
        rows += &format!("<tr>{cells}{}</tr>\n", "<td></td>".repeat(missing));
    }
    format!(
        "<div class=\"scroll\"><table>\n<caption>{}{after}</caption>\n\
         <thead><tr>{headings}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n",
        escape(&table.title),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_text_stays_text() {
        assert_eq!(escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
        assert_eq!(inline("gap `a < b` & c"), "gap <code>a &lt; b</code> &amp; c");
        assert_eq!(inline("a lone ` stays"), "a lone ` stays");
    }
}
