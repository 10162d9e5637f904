//! The text format of CRFsuite.
//!
//! Each line is a token: its label, then its attributes `name` or `name:value`, separated by tabs. An empty line, or one of
//! blanks and tabs only, ends a sequence. So does a line that begins with `@eos`. In names `\:` is a colon and `\\` a
//! backslash.

use std::io::{BufRead, Write};

use fenchel_linalg::read_line;

use super::fault;
use crate::Error;
use crate::instance::Instance;

/// Reads a file one instance at a time.
///
/// ```
/// use fenchel_crf::Instance;
/// use fenchel_crf::text::InstanceReader;
///
/// let text = "B-NP\tw=Confidence\tlength:10\nB-PP\tw=in\ttime\\:colon:0.5\n\n";
/// let mut reader = InstanceReader::new(text.as_bytes());
/// let mut instance = Instance::new();
/// assert!(reader.read(&mut instance)?);
/// assert_eq!(instance.attributes(1).collect::<Vec<_>>(), [("w=in", 1.0), ("time:colon", 0.5)]);
/// assert!(!reader.read(&mut instance)?);
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
#[derive(Debug)]
pub struct InstanceReader<R> {
    from: R,
    line: u64,
    first: u64,
    bytes: Vec<u8>,
    name: String,
}

impl<R: BufRead> InstanceReader<R> {
    /// A reader at the beginning of a stream.
    pub fn new(from: R) -> Self {
        InstanceReader { from, line: 0, first: 0, bytes: Vec::new(), name: String::new() }
    }

    /// The line that was read last, counted from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The number of the line with the first token of the last sequence. Token `t` is `t` lines further down.
    pub fn first_line(&self) -> u64 {
        self.first
    }

    /// Reads the next sequence into `instance`, which is cleared first. `false` at the end of the stream.
    ///
    /// # Errors
    /// [`Error::Format`] with line and column (the number of a field; both count from 1) for a value that is not a finite
    /// number, an attribute without a name, an escape that is neither `\:` nor `\\`, or bytes that are not UTF-8;
    /// [`Error::Read`].
    pub fn read(&mut self, instance: &mut Instance) -> Result<bool, Error> {
        instance.clear();
        loop {
            self.bytes.clear();
            let end = read_line(&mut self.from, &mut self.bytes).map_err(Error::read)? == 0;
            self.line += u64::from(!end);
            while matches!(self.bytes.last(), Some(b'\n' | b'\r')) {
                self.bytes.pop();
            }
            if self.bytes.iter().all(|b| matches!(b, b' ' | b'\t'))
                || self.bytes.starts_with(b"@eos")
            {
                if end || !instance.is_empty() {
                    return Ok(!instance.is_empty());
                }
                continue;
            }
            let text = std::str::from_utf8(&self.bytes).map_err(|error| {
                fault(self.line, 1, format!("not UTF-8 at byte {}", error.valid_up_to() + 1))
            })?;
            if instance.is_empty() {
                self.first = self.line;
            }
            let mut fields = text.split('\t');
            instance.begin_token(fields.next().unwrap_or_default());
            for (column, field) in fields.enumerate() {
                if field.is_empty() {
                    continue; // a tab too many at the end of a line is common
                }
                let value = parse(field, &mut self.name)
                    .map_err(|reason| fault(self.line, column as u64 + 2, reason))?;
                instance.push(&self.name, value);
            }
        }
    }
}

/// Splits `name:value`, undoing escapes.
fn parse(field: &str, name: &mut String) -> Result<f64, String> {
    name.clear();
    let mut rest = field.char_indices();
    while let Some((place, c)) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some((_, c @ (':' | '\\'))) => name.push(c),
                _ => return Err(format!("{field:?}: expected \\: or \\\\ after a backslash")),
            },
            ':' => {
                let text = &field[place + 1..];
                let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
                let value = value.ok_or_else(|| {
                    format!("{field:?}: the value {text:?} is no finite number; a colon in a name is written \\:")
                })?;
                return match name.is_empty() {
                    true => Err(format!("{field:?}: expected a name before the colon")),
                    false => Ok(value),
                };
            }
            c => name.push(c),
        }
    }
    Ok(1.0)
}

/// Writes an instance in the format that [`InstanceReader`] reads.
///
/// # Errors
/// [`Error::Invalid`] for a name or label that the format cannot hold (a tab or a line break inside, an empty name or
/// label) and for an attribute before the first token; [`Error::Read`] if writing fails.
pub fn write_crfsuite(instance: &Instance, mut to: impl Write) -> Result<(), Error> {
    instance.check_owned()?;
    let mut out = String::new();
    for (t, label) in instance.labels().enumerate() {
        check(label, "label")?;
        out.push_str(label);
        for (name, value) in instance.attributes(t) {
            check(name, "attribute")?;
            out.push('\t');
            for c in name.chars() {
                if matches!(c, ':' | '\\') {
                    out.push('\\');
                }
                out.push(c);
            }
            if value != 1.0 {
                out.push(':');
                out.push_str(&value.to_string());
            }
        }
        out.push('\n');
    }
    out.push('\n');
    to.write_all(out.as_bytes()).map_err(Error::read)
}

fn check(text: &str, what: &'static str) -> Result<(), Error> {
    let reason = if text.is_empty() {
        "is empty"
    } else if text.contains(['\t', '\n', '\r']) {
        "contains a tab or a line break"
    } else {
        return Ok(());
    };
    Err(fenchel_linalg::Invalid::Layout {
        what,
        reason: format!("{text:?} {reason}, which the text format cannot hold"),
    }
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(text: &str) -> Result<Vec<Instance>, String> {
        let mut reader = InstanceReader::new(text.as_bytes());
        let mut found = Vec::new();
        let mut instance = Instance::new();
        while reader.read(&mut instance).map_err(|error| error.to_string())? {
            found.push(instance.clone());
        }
        Ok(found)
    }

    #[test]
    fn blank_lines_ends_and_line_endings() {
        let found = all("\n\nA\tx\r\nB\r\n\r\n\nC\ty:2\t\n@eos\nD").unwrap();
        assert_eq!(found.iter().map(Instance::len).collect::<Vec<_>>(), [2, 1, 1]);
        assert_eq!(found[0].attributes(1).len(), 0);
        assert_eq!(found[1].attributes(0).collect::<Vec<_>>(), [("y", 2.0)]);
        assert!(all("").unwrap().is_empty());
        for blank in ["  ", " \t ", "\t\t", "\t\r"] {
            let found = all(&format!("A\tx\n{blank}\nB\ty\n")).unwrap();
            assert_eq!(found.iter().map(Instance::len).collect::<Vec<_>>(), [1, 1], "{blank:?}");
        }
    }

    #[test]
    fn faults_name_line_and_field() {
        let message = |text: &str| all(text).unwrap_err();
        assert_eq!(
            message("A\tx\nB\ty\tz:abc\n"),
            "line 2, column 3: \"z:abc\": the value \"abc\" is no finite number; a colon in a name is written \\:"
        );
        assert!(message("A\tx:nan").contains("no finite number"));
        assert!(message("A\tx:1:2").contains("no finite number"));
        assert!(message("A\t:1").contains("expected a name"));
        assert!(message("A\tx\\y").contains("after a backslash"));
        assert!(message("A\tx\\").contains("after a backslash"));
        let mut reader = InstanceReader::new(&b"A\tx\nB\t\xff\n"[..]);
        let error = reader.read(&mut Instance::new()).unwrap_err().to_string();
        assert_eq!(error, "line 2, column 1: not UTF-8 at byte 3");
    }

    #[test]
    fn what_cannot_be_held_is_refused() {
        let mut instance = Instance::new();
        instance.begin_token("A");
        instance.push("a\tb", 1.0);
        assert!(write_crfsuite(&instance, Vec::new()).unwrap_err().to_string().contains("tab"));
    }

    proptest! {
        #[test]
        fn written_and_read_again(
            tokens in proptest::collection::vec(
                ("[a-zA-Z-]{1,5}", proptest::collection::vec(("[a-z:\\\\=\\[\\]é ]{1,8}", -1e9..1e9_f64), 0..4)),
                1..6,
            ),
        ) {
            let mut instance = Instance::new();
            for (label, attributes) in &tokens {
                instance.begin_token(label);
                for (name, value) in attributes {
                    instance.push(name, *value);
                }
            }
            let mut file = Vec::new();
            write_crfsuite(&instance, &mut file).unwrap();
            let found = all(std::str::from_utf8(&file).unwrap()).unwrap();
            prop_assert_eq!(found, vec![instance]);
        }
    }
}
