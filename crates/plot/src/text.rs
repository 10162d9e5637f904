//! Text with coloured spans.

use crate::Colour;
use crate::letters::shortened;
use crate::pen::{Anchor, Font, Pen, Stroke};
use crate::title::{self, WIDTH};

/// The width of a character of a monospaced font, as a fraction of its size.
const MONO: f64 = 0.602;
const FONT: f64 = 13.0;
const SMALL: f64 = 9.5;

/// A piece of a text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Span {
    /// What is read.
    pub text: String,
    /// A word below it, such as a label; may be empty.
    pub label: String,
    /// The colour behind it.
    pub colour: Option<Colour>,
}

/// Lines of spans, which are broken where they are too long. Several lines have numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Text {
    /// The title.
    pub title: String,
    /// The lines.
    pub lines: Vec<Vec<Span>>,
    /// Colours and what they mean; [`Colour::Paper`] is that of spans without one.
    pub key: Vec<(Colour, String)>,
}

impl Text {
    /// The text as SVG.
    pub fn svg(&self) -> String {
        let mut pen = Pen::default();
        let mut y = title::draw(&mut pen, &self.title, "", &[]);
        let mut x = 14.0;
        for (colour, meaning) in &self.key {
            let far = x + 26.0 + 0.58 * FONT * meaning.chars().count() as f64;
            if far > WIDTH && x > 14.0 {
                (x, y) = (14.0, y + 20.0);
            }
            let outline = if *colour == Colour::Paper { Colour::Soft } else { *colour };
            let swatch = ((x, y + 1.0), (x + 14.0, y + 13.0));
            pen.outlined(swatch, 2.0, (*colour, 0.3), Some(Stroke::new(outline, 1.0)));
            pen.text(meaning, (x + 19.0, y + 7.0), Font::new(12.0, Anchor::Start));
            x = far + 10.0;
        }
        y += if self.key.is_empty() { 8.0 } else { 32.0 };
        let margin = if self.lines.len() > 1 { 38.0 } else { 14.0 };
        for (number, line) in self.lines.iter().enumerate() {
            let labelled = line.iter().any(|span| !span.label.is_empty());
            let step = if labelled { 38.0 } else { 24.0 };
            if self.lines.len() > 1 {
                let font = Font::new(12.0, Anchor::Start).colour(Colour::Soft);
                pen.text(&format!("{}.", number + 1), (14.0, y + 9.0), font);
            }
            let mut x = margin;
            for span in line {
                let text = shortened(&span.text, FONT, WIDTH - margin - 16.0);
                let wide = |text: &str, size: f64| MONO * size * text.chars().count() as f64;
                let width = wide(&text, FONT).max(wide(&span.label, SMALL)) + 6.0;
                if x + width > WIDTH - 8.0 && x > margin {
                    (x, y) = (margin, y + step);
                }
                if let Some(colour) = span.colour {
                    let far = (x + width, y + if labelled { 26.0 } else { 18.0 });
                    pen.outlined(((x, y), far), 3.0, (colour, 0.25), None);
                }
                let font = Font { mono: true, ..Font::new(FONT, Anchor::Start) };
                pen.text(&text, (x + 3.0, y + 9.0), font);
                // Grey would be pale on a colour.
                let ink = if span.colour.is_some() { Colour::Ink } else { Colour::Soft };
                let font = Font { size: SMALL, ..font };
                pen.text(&span.label, (x + 3.0, y + 20.5), font.colour(ink));
                x += width + 3.0;
            }
            // Lines that were broken are apart from the next.
            y += step + 8.0;
        }
        pen.finish(&self.title, WIDTH, y + 6.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken() {
        let span = |text: &str| Span {
            text: text.into(),
            label: "B-NP".into(),
            colour: Some(Colour::Green),
        };
        let lines = vec![vec![span("word & more"); 20], vec![], vec![span(&"w".repeat(500))]];
        let svg =
            Text { title: "T".into(), lines, key: vec![(Colour::Green, "right".into())] }.svg();
        let heights: std::collections::BTreeSet<&str> =
            svg.split(" y=\"").skip(1).filter_map(|s| s.split('"').next()).collect();
        assert!(heights.len() > 8 && svg.contains("word &amp; more") && svg.contains('\u{2026}'));
        assert!(svg.contains(">1.</text>") && svg.contains(">3.</text>"));
    }
}
