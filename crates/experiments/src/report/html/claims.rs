//! Claims as rows: what is said, expected and measured, and the verdict. Claims that differ only by their data set are one row.

use super::parts::{badge, claims, escape, inline, is_open, table_of};
use crate::report::{Entry, State, counts};
use crate::{Case, Claim, Expectation, Source, Threshold, Verdict};

fn verdict(claim: &Claim) -> String {
    let class = match (&claim.registered, claim.verdict) {
        (Expectation::DoesNotReproduce { why }, Verdict::Fail) if why.checked => "known",
        (Expectation::DoesNotReproduce { .. }, Verdict::Pass) | (_, Verdict::Fail) => "fail",
        (_, Verdict::Pass) => "pass",
        (_, Verdict::Reported) => "reported",
    };
    badge(class, claim.outcome())
}

/// Who says it, in which words.
fn source(claim: &Claim) -> String {
    if claim.source.is_ours() {
        return "<p class=\"quote\">This project's own.</p>".to_owned();
    }
    let Source { document, section, quote } = &claim.source;
    format!(
        "<p class=\"quote\"><q>{}</q> <cite>{}, {}</cite></p>",
        inline(quote),
        escape(document),
        escape(section)
    )
}

/// Why a claim fails or is not judged.
fn why(claim: &Claim) -> String {
    match &claim.registered {
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
    }
}

/// The threshold, who fixed it, on what the claim was measured, and whether at the document's size.
fn expected(claim: &Claim) -> String {
    let threshold = &claim.threshold;
    let origin = match claim.verdict {
        Verdict::Reported => "shown, not judged; ".into(),
        _ => format!("threshold of the {}; {}; ", threshold.origin, claim.ground),
    };
    let origin = escape(format!("{origin}{}", claim.size()).trim_end_matches("; "));
    format!("{}<p class=\"quote\">{origin}</p>", inline(&threshold.text))
}

/// The mark of what the filter hides.
fn holds(open: bool) -> &'static str {
    if open { "" } else { " class=\"holds\"" }
}

fn single(claim: &Claim, id: Option<&str>) -> String {
    let id = id.map_or(String::new(), |id| {
        let id = escape(id);
        format!("<td class=\"id\"><a href=\"#{id}\">{id}</a></td>")
    });
    let said = format!("{}{}{}", inline(&claim.statement), source(claim), why(claim));
    let rest = if claim.cases.is_empty() {
        let (expected, measured) = (expected(claim), inline(&claim.measured));
        format!(
            "<td data-label=\"Expected\">{expected}</td><td data-label=\"Measured\">{measured}</td><td>{}</td>",
            verdict(claim)
        )
    } else {
        // Numbers of a sentence that states none, or that is about other data, have no verdict, and no count of verdicts.
        let shown =
            matches!(claim.registered, Expectation::Reported | Expectation::NotJudged { .. });
        let count = claim.measured.split(": ").next().filter(|_| !shown);
        let cell = |case: &Case| {
            // A sentence about most sets, or about one, holds although a row does not.
            let word = match (case.holds, is_open(claim)) {
                (true, _) => "holds",
                (false, true) => "does not hold",
                (false, false) => "not here",
            };
            let verdict = if shown { String::new() } else { badge("reported", word) };
            ("", cells(&case.name, &case.measured, &claim.unit, "", verdict))
        };
        let above = format!(
            "<div class=\"all\">Expected: {}</div><p class=\"all\">{}{}</p>",
            expected(claim),
            verdict(claim),
            count.map_or(String::new(), |count| format!(": {}", inline(count)))
        );
        sets(&above, &claim.cases.iter().map(cell).collect::<Vec<_>>())
    };
    format!("<tr{}>{id}<td>{said}</td>{rest}</tr>\n", holds(is_open(claim)))
}

/// A row of [`sets`]: what was measured of the one and of the other, in two columns where the claim makes one comparison.
fn cells(name: &str, measured: &str, unit: &str, below: &str, verdict: String) -> [String; 5] {
    let parts: Vec<&str> = measured.split(" against ").collect();
    let (measured, against) =
        if let [one, other] = parts[..] { (one, other) } else { (measured, "") };
    [escape(name), inline(measured) + below, inline(against), inline(unit), verdict]
}

/// The cell with the table of several data sets or methods, without columns that are empty in all rows.
fn sets(above: &str, rows: &[(&str, [String; 5])]) -> String {
    let used: Vec<usize> =
        (0..5).filter(|&k| rows.iter().any(|(_, cells)| !cells[k].is_empty())).collect();
    let head = ["data", "measured", "against", "unit", "verdict"];
    let head: String = used.iter().map(|&k| format!("<th>{}</th>", head[k])).collect();
    let row = |(class, cells): &(&str, [String; 5])| {
        let id = |k: usize| if k == 0 { " class=\"id\"" } else { "" };
        let cells: String =
            used.iter().map(|&k| format!("<td{}>{}</td>", id(k), cells[k])).collect();
        format!("<tr{class}>{cells}</tr>\n")
    };
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<td colspan=\"3\">{above}<table class=\"sets\"><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></td>"
    )
}

/// A statement as data set and sentence: `w8a: permutation makes Finito faster`. The name in front may have a few words.
fn split(claim: &Claim) -> Option<(&str, &str)> {
    let (name, sentence) = claim.statement.split_once(": ")?;
    (name.chars().count() <= 30 && !sentence.is_empty()).then_some((name, sentence))
}

/// Claims in the order of their first members, those together that say the same of several data sets.
fn grouped(claims: &[Claim]) -> Vec<Vec<&Claim>> {
    let mut groups: Vec<Vec<&Claim>> = Vec::new();
    for claim in claims {
        let same = |group: &&mut Vec<&Claim>| {
            let (a, b) = (split(group[0]), split(claim));
            a.is_some() && a.map(|a| a.1) == b.map(|b| b.1) && group[0].source == claim.source
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.push(claim),
            None => groups.push(vec![claim]),
        }
    }
    groups
}

/// One row for a claim on several data sets, with a table of them.
fn group_row(group: &[&Claim]) -> String {
    let key = |claim: &Claim| {
        let Threshold { text, origin } = claim.threshold.clone();
        (text, origin, claim.smaller.clone())
    };
    let alike = group.iter().all(|claim| key(claim) == key(group[0]));
    // A claim that is not judged does not say who fixed the threshold.
    let judged = group.iter().find(|claim| claim.verdict != Verdict::Reported).unwrap_or(&group[0]);
    let first = expected(judged);
    let cell = |claim: &&Claim| {
        let own = if alike {
            String::new()
        } else {
            format!("<div class=\"own\">Expected: {}</div>", expected(claim))
        };
        let below = format!("{own}{}", why(claim));
        let name = split(claim).map_or("", |s| s.0);
        let row = cells(name, &claim.measured, &claim.unit, &below, verdict(claim));
        (holds(is_open(claim)), row)
    };
    let rows: Vec<_> = group.iter().map(cell).collect();
    let expected =
        if alike { format!("<div class=\"all\">Expected: {first}</div>") } else { String::new() };
    format!(
        "<tr{}><td>{}{}</td>{}</tr>\n",
        holds(group.iter().any(|claim| is_open(claim))),
        inline(split(group[0]).map_or("", |s| s.1)),
        source(group[0]),
        sets(&expected, &rows)
    )
}

/// The claims of one experiment.
pub(super) fn of_experiment(claims: &[Claim]) -> String {
    let row = |group: &Vec<&Claim>| match group[..] {
        [claim] => single(claim, None),
        _ => group_row(group),
    };
    table(&grouped(claims).iter().map(row).collect::<String>(), false)
}

fn table(rows: &str, with_id: bool) -> String {
    let id = if with_id { "<th>Experiment</th>" } else { "" };
    format!(
        "<div class=\"scroll\"><table class=\"claims\">\n<thead><tr>{id}<th>Claim</th><th>Expected</th>\
         <th>Measured</th><th>Verdict</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n"
    )
}

/// The counts and, collapsed, a table of every claim of every experiment.
pub(super) fn all(entries: &[Entry]) -> String {
    let mut rows = String::new();
    for entry in entries {
        let id = entry.experiment.id;
        match &entry.state {
            State::Done(outcome) => {
                outcome.claims.iter().for_each(|c| rows += &single(c, Some(id)));
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
        table(&rows, true)
    )
}
