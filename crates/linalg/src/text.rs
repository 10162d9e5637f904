//! Tables as text.

/// Lines of aligned cells, the first `left` columns flush left, the others flush right, with two blanks between. A line ends
/// with its last character that is no blank. O(characters).
pub fn aligned(rows: &[Vec<String>], left: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |k: usize| {
        rows.iter().filter_map(|row| row.get(k)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        // Widths of `format!` end at 65,535, and names may be longer.
        let cells = row.iter().zip(&widths).enumerate().map(|(k, (cell, &width))| {
            let gap = " ".repeat(width - cell.chars().count());
            if k < left { format!("{cell}{gap}") } else { format!("{gap}{cell}") }
        });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}
