//! What the terms of a section mean, for those of its readers who do not know them.

use super::parts::{escape, inline};

/// By prefixes of ids, in brackets: `term: definition` on each line, or `term / other form: definition`.
const GLOSSARY: &str = include_str!("../glossary.txt");

/// The terms that occur in a section.
pub(super) fn terms(id: &str, section: &str) -> String {
    let prefix = format!("{}]\n", id.split('-').next().unwrap_or(id));
    let file = GLOSSARY.split("\n[").find_map(|part| part.strip_prefix(&prefix)).unwrap_or("");
    // Between the tags; then what the definitions use.
    let text: Vec<&str> = section.split('<').filter_map(|part| part.split('>').nth(1)).collect();
    let (mut text, mut found) = (text.join(" "), vec![]);
    for _ in 0..2 {
        let occurs =
            |(forms, _): &(&str, &str)| forms.split(" / ").any(|form| has_word(&text, form));
        found = file.lines().filter_map(|line| line.split_once(": ")).filter(occurs).collect();
        text.extend(found.iter().map(|(_, definition)| escape(definition)));
    }
    if found.is_empty() {
        return String::new();
    }
    let names = found.iter().filter_map(|(forms, _)| forms.split(" / ").next());
    let names = escape(&names.collect::<Vec<_>>().join("; "));
    let entry = |(forms, definition): &(&str, &str)| {
        format!("<dt>{}</dt><dd>{}</dd>\n", escape(forms), inline(definition))
    };
    let list: String = found.iter().map(entry).collect();
    format!(
        "<details>\n<summary>Terms: {names}</summary>\n<dl class=\"facts\">\n{list}</dl>\n</details>\n"
    )
}

/// Whether `word` stands in the text, escaped as that is, and not as a part of a longer word.
fn has_word(text: &str, word: &str) -> bool {
    let word = &escape(word);
    text.match_indices(word.as_str()).any(|(at, _)| {
        let around = [text[..at].chars().next_back(), text[at + word.len()..].chars().next()];
        !around.into_iter().flatten().any(|c| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_found_as_a_word_between_tags() {
        assert!(has_word("SDCA by gaps, 0.8", "SDCA by gaps"));
        assert!(has_word("a p b", "p") && !has_word("a pass", "p") && !has_word("sharp", "p"));
        assert_eq!(terms("crf-41", "<p class=\"SDCA\">nothing</p>"), "");
        assert_eq!(terms("none", "<p>SDCA</p>"), "");
    }

    #[test]
    fn every_line_of_the_glossary_defines_a_term() {
        let lines = GLOSSARY.split("\n[").skip(1).flat_map(|part| part.lines().skip(1));
        for line in lines.filter(|line| !line.is_empty()) {
            assert!(line.contains(": ") && line.ends_with('.'), "{line}");
        }
        for experiment in crate::registry::all() {
            let prefix = experiment.id.split('-').next().unwrap_or_default();
            assert!(GLOSSARY.contains(&format!("\n[{prefix}]\n")), "{prefix}");
        }
    }
}
