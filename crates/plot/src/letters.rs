//! Text: how wide it is, where it is cut and broken, and what XML allows.

/// The width of a character as a fraction of the font size, for a wide sans-serif font.
fn character(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.33,
        'f' | 'r' | 't' | '-' | '(' | ')' | '[' | ']' => 0.41,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
        c if c.is_uppercase() => 0.71,
        _ => 0.62,
    }
}

/// The width of a text.
pub(crate) fn width_of(text: &str, size: f64) -> f64 {
    text.chars().map(character).sum::<f64>() * size
}

/// A text that is at most so wide; what is cut off is shown by an ellipsis.
pub(crate) fn shortened(text: &str, size: f64, width: f64) -> String {
    if width_of(text, size) <= width {
        return text.to_owned();
    }
    let mut used = size;
    let fits = |c: &char| {
        used += character(*c) * size;
        used <= width
    };
    text.chars().take_while(fits).chain(['\u{2026}']).collect()
}

/// The lines of a text that is broken between words.
pub(crate) fn wrapped(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width_of(line, size) + width_of(word, size) + 0.6 * size <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The lines of a text that is broken between words into as few lines as fit, of about the same width.
pub(crate) fn balanced(text: &str, size: f64, width: f64) -> Vec<String> {
    let lines = wrapped(text, size, width);
    let (mut low, mut high) = (0.0, width);
    while lines.len() > 1 && high - low > size {
        let middle = 0.5 * (low + high);
        if wrapped(text, size, middle).len() > lines.len() { low = middle } else { high = middle }
    }
    wrapped(text, size, high)
}

/// Text with the characters that mean something to XML replaced. Those that XML 1.0 does not allow become U+FFFD.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
