//! The title of a picture, and the note and the warnings below it.

use crate::Colour;
use crate::letters::balanced;
use crate::pen::{Anchor, Font, Pen};

/// The width of a picture in pixels.
pub(crate) const WIDTH: f64 = 640.0;

/// Draws them, and returns where the picture begins.
pub(crate) fn draw(pen: &mut Pen, title: &str, note: &str, warnings: &[String]) -> f64 {
    let mut y = 8.0;
    let mut write = |text: &str, size: f64, font: Font| {
        // Bold letters are wider by a tenth.
        let room = (WIDTH - 24.0) / if font.bold { 1.1 } else { 1.0 };
        for line in balanced(text, size, room) {
            y += 1.35 * size;
            pen.text(&line, (14.0, y - 0.5 * size), font);
        }
    };
    write(title, 15.0, Font::new(15.0, Anchor::Start).bold());
    write(note, 12.5, Font::new(12.5, Anchor::Start).colour(Colour::Soft));
    for warning in warnings {
        let font = Font::new(12.5, Anchor::Start).colour(Colour::Vermilion);
        write(&format!("Warning: {warning}"), 12.5, font);
    }
    y + 12.0
}
