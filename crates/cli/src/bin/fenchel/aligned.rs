//! Output: texts and JSON.

use std::io::Write;

use fenchel_cli::Failure;
pub(crate) use fenchel_linalg::text::aligned;

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
