//! The parts that several sections of the page use.

pub(super) use fenchel_plot::escaped as escape;

use crate::report::entry::Entry;
use crate::{Claim, Column, Table, Verdict};

/// Escaped text in which a pair of backticks encloses code.
pub(super) fn inline(text: &str) -> String {
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

pub(super) fn claims(entries: &[Entry]) -> impl Iterator<Item = &Claim> {
    entries.iter().filter_map(Entry::outcome).flat_map(|outcome| &outcome.claims)
}

/// The kinds of verdicts, as tiles, counts and badges show them.
pub(super) const KINDS: [(&str, &str, &str); 7] = [
    ("pass", "pass", "pass"),
    ("fail", "fail", "fail"),
    ("does not reproduce", "known", "known not to reproduce"),
    ("unexpected pass", "fail", "pass against what is registered"),
    ("reason fails", "fail", "whose registered reason fails its check"),
    ("reported", "reported", "reported: no order or number of the document can judge it"),
    ("not judged", "reported", "not judged: not on the data, size or method of the sentence"),
];

/// Whether a reader who looks for what does not hold wants to see it.
pub(super) fn is_open(claim: &Claim) -> bool {
    claim.verdict == Verdict::Fail || claim.differs() || claim.would_fail()
}

/// The mark of an experiment that the filter hides.
pub(super) fn holds(entry: &Entry) -> &'static str {
    let open = entry.differs() || entry.outcome().is_some_and(|o| o.claims.iter().any(is_open));
    if open { "" } else { " class=\"holds\"" }
}

pub(super) fn badge(class: &str, text: &str) -> String {
    format!("<span class=\"badge {class}\">{}</span>", escape(text))
}

/// The name of a figure on the page.
pub(super) fn figure_id(id: &str, k: usize) -> String {
    format!("{}-figure-{}", escape(id), k + 1)
}

/// A table; `after` stands behind its title, as it is.
pub(super) fn table_of(table: &Table, after: &str) -> String {
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
        assert_eq!(inline("gap `a < b` & c"), "gap <code>a &lt; b</code> &amp; c");
        assert_eq!(inline("a lone ` stays"), "a lone ` stays");
    }
}
