//! What the terms of a section mean, for those of its readers who do not know them.

use super::parts::{escape, inline};

/// Prefixes of ids, and their terms: `term: definition` on each line, or `term / other form: definition`.
const GLOSSARIES: [(&str, &str); 10] = [
    ("ca", include_str!("../../../glossary/ca.txt")),
    ("crf", include_str!("../../../glossary/crf.txt")),
    ("cs", include_str!("../../../glossary/cs.txt")),
    ("ef", include_str!("../../../glossary/ef.txt")),
    ("fs", include_str!("../../../glossary/fs.txt")),
    ("gg", include_str!("../../../glossary/gg.txt")),
    ("gr", include_str!("../../../glossary/gr.txt")),
    ("ml", include_str!("../../../glossary/ml.txt")),
    ("mo", include_str!("../../../glossary/mo.txt")),
    ("sa", include_str!("../../../glossary/sa.txt")),
];

/// The terms that occur in a section.
pub(super) fn terms(id: &str, section: &str) -> String {
    let prefix = id.split('-').next();
    let file = GLOSSARIES.iter().find(|(of, _)| Some(*of) == prefix).map_or("", |(_, text)| text);
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
    let names = found.iter().map(|(forms, _)| escape(forms)).collect::<Vec<_>>().join("; ");
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
    fn every_line_of_a_glossary_defines_a_term() {
        for (prefix, text) in GLOSSARIES {
            for line in text.lines() {
                let (term, definition) = line.split_once(": ").unwrap_or((line, ""));
                assert!(!term.is_empty() && definition.ends_with('.'), "{prefix}: {line}");
            }
        }
    }
}
