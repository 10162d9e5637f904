//! Output: lines of aligned cells, and JSON.

use std::io::Write;

use fenchel_cli::Failure;

/// Lines of aligned cells, the first `left` columns flush left, the others flush right.
pub(crate) fn aligned(rows: &[Vec<String>], left: usize) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |k: usize| {
        rows.iter().filter_map(|row| row.get(k)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        // Widths of `format!` end at 65,535.
        let cells = row.iter().zip(&widths).enumerate().map(|(k, (cell, &width))| {
            let gap = " ".repeat(width - cell.chars().count());
            if k < left { format!("{cell}{gap}") } else { format!("{gap}{cell}") }
        });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

/// Writes one JSON object to standard output.
pub(crate) fn write_json(value: &serde_json::Value) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Writes a text to standard output.
pub(crate) fn write_text(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
