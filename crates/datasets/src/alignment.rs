//! Readers of aligned sequences: FASTA, A3M, or one sequence per line.
//!
//! | format | first character | content |
//! |---|---|---|
//! | FASTA | `>` | a header line `>name`, then the sequence over any number of lines |
//! | A3M | `>` | as FASTA; lower-case letters and `.` are insertions and are removed |
//! | plain | anything else | one sequence per line, which a name and blanks may precede |
//!
//! FASTA and A3M can be distinguished only by the lengths of the sequences. [`AlignmentFormat::Auto`] removes insertions if all
//! sequences then have equal numbers of upper-case letters and gaps. Otherwise it keeps everything.
//!
//! Empty lines, lines that begin with `;`, and lines before the first sequence that begin with `#` are skipped. Stockholm,
//! Clustal (also as MUSCLE and T-Coffee write it), PHYLIP and NEXUS files are recognised and refused by name. Lines end by
//! LF, CR LF or CR.

use std::io::BufRead;
use std::path::Path;

use fenchel_linalg::lines;
use ndarray::Array2;

use crate::{Error, open};

/// The format of aligned sequences.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AlignmentFormat {
    /// Chosen by the first character and the lower-case letters of the file.
    #[default]
    Auto,
    /// Headers and sequences. Letters of either case are columns.
    Fasta,
    /// Headers and sequences. Lower-case letters and `.` are insertions.
    A3m,
    /// One sequence per line.
    Plain,
}

/// Aligned sequences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequences {
    /// The names; empty strings if the file has none.
    pub names: Vec<String>,
    /// Letters as bytes, upper case, sequences x columns.
    pub letters: Array2<u8>,
}

/// Reads aligned sequences.
///
/// ```
/// use fenchel_datasets::{AlignmentFormat, alignment};
///
/// let read = alignment(">a\nAC-G\n>b\nACaaTG\n".as_bytes(), AlignmentFormat::Auto)?;
/// assert_eq!(read.names, ["a", "b"]);
/// assert_eq!(read.letters.row(1).to_vec(), b"ACTG");
/// # Ok::<(), fenchel_datasets::Error>(())
/// ```
///
/// # Errors
/// [`Error::Format`] for a sequence whose length differs from the first, a character that is not a letter, gap or stop, or a
/// file without sequences; [`Error::Io`].
pub fn alignment(from: impl BufRead, format: AlignmentFormat) -> Result<Sequences, Error> {
    let mut names: Vec<String> = Vec::new();
    let mut sequences: Vec<(u64, Vec<u8>)> = Vec::new();
    let (mut headed, mut begun) = (None, false);
    let mut line = 0;
    for text in lines(from) {
        let text = text.map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => {
                Error::format(line + 1, 1, "bytes that are no UTF-8")
            }
            _ => error.into(),
        })?;
        // Some old programs end their lines by CR alone.
        for text in text.split('\r') {
            line += 1;
            // Some editors begin a file with a byte order mark.
            let text = text.trim_start_matches('\u{feff}').trim();
            if text.is_empty() || text.starts_with(';') {
                continue;
            }
            if !begun && let Some(name) = other_format(text) {
                return Err(Error::format(line, 1, format!("a {name} file; convert it to FASTA")));
            }
            begun = true;
            // Programs that write A3M put their own lines before the first header.
            if sequences.is_empty() && text.starts_with('#') {
                continue;
            }
            let by_header = *headed.get_or_insert(match format {
                AlignmentFormat::Auto => text.starts_with('>'),
                AlignmentFormat::Plain => false,
                AlignmentFormat::Fasta | AlignmentFormat::A3m => true,
            });
            if by_header {
                if let Some(name) = text.strip_prefix('>') {
                    names.push(name.trim().to_owned());
                    sequences.push((line, Vec::new()));
                } else if let Some((_, sequence)) = sequences.last_mut() {
                    sequence.extend(text.bytes().filter(|b| !b.is_ascii_whitespace()));
                } else {
                    let reason = "a sequence before the first header".to_owned();
                    return Err(Error::format(line, 1, reason));
                }
            } else {
                let mut words = text.split_whitespace();
                let last = words.next_back().unwrap_or_default();
                names.push(words.next().unwrap_or_default().to_owned());
                sequences.push((line, last.as_bytes().to_vec()));
            }
        }
    }
    if sequences.is_empty() {
        return Err(Error::format(1, 1, "no sequence"));
    }
    let column = |letter: &u8| !(letter.is_ascii_lowercase() || *letter == b'.');
    let drops = match format {
        AlignmentFormat::A3m => true,
        AlignmentFormat::Fasta | AlignmentFormat::Plain => false,
        AlignmentFormat::Auto => {
            let kept = |sequence: &[u8]| sequence.iter().filter(|letter| column(letter)).count();
            let first = kept(&sequences[0].1);
            headed == Some(true) && first > 0 && sequences.iter().all(|(_, s)| kept(s) == first)
        }
    };
    let mut letters = Vec::new();
    let mut columns = None;
    for (line, sequence) in &sequences {
        let before = letters.len();
        for &letter in sequence.iter().filter(|letter| !drops || column(letter)) {
            if !(letter.is_ascii_alphabetic() || b"-.*~".contains(&letter)) {
                let shown = char::from(letter);
                let reason = format!("{shown:?} in a sequence; expected letters and gaps");
                return Err(Error::format(*line, 1, reason));
            }
            letters.push(letter.to_ascii_uppercase());
        }
        let length = letters.len() - before;
        let expected = *columns.get_or_insert(length);
        if length == 0 {
            return Err(Error::format(*line, 1, "a sequence without columns"));
        }
        if length != expected {
            let reason =
                format!("the sequence has {length} columns; expected {expected}, as the first has");
            return Err(Error::format(*line, 1, reason));
        }
    }
    let shape = (sequences.len(), columns.unwrap_or_default());
    let letters = Array2::from_shape_vec(shape, letters)
        .map_err(|error| Error::format(1, 1, error.to_string()))?;
    Ok(Sequences { names, letters })
}

/// The name of another format of alignments, which its first line shows.
fn other_format(first: &str) -> Option<&'static str> {
    let first = first.to_ascii_lowercase();
    let words: Vec<&str> = first.split_whitespace().take(3).collect();
    let numbers = words.iter().take(2).filter(|word| word.bytes().all(|b| b.is_ascii_digit()));
    // Programs that write Clustal's format put their own name in its place.
    let program = |name: &str| {
        name.starts_with("clustal") || ["muscle", "t-coffee", "t-coffee,"].contains(&name)
    };
    match words[..] {
        _ if first.starts_with('>') => None,
        _ if first.starts_with("# stockholm") => Some("Stockholm"),
        _ if first.starts_with("#nexus") => Some("NEXUS"),
        _ if first.contains("multiple sequence alignment") => Some("Clustal"),
        ["clustal" | "muscle" | "t-coffee"] => Some("Clustal"),
        [name, _, ..] if program(name) => Some("Clustal"),
        // Numbers of sequences and columns.
        [_, _, ..] if numbers.count() == 2 => Some("PHYLIP"),
        _ => None,
    }
}

/// Reads aligned sequences from a file, compressed or not.
///
/// # Errors
/// As [`alignment`], with the path.
pub fn alignment_file(path: impl AsRef<Path>, format: AlignmentFormat) -> Result<Sequences, Error> {
    let path = path.as_ref();
    alignment(open(path)?, format).map_err(|error| error.in_file(path))
}

/// Distances in a protein structure between the columns of an alignment.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDistances {
    /// The residue number of every column; -1 if there is none.
    pub residues: Vec<i64>,
    /// Distances in Angstrom; NaN if a column has no residue.
    pub distances: Array2<f64>,
}

/// Reads a square table of distances. The header has one word and then the residue numbers. One line per column follows, which
/// begins with the residue number of the column. An empty cell means an unknown distance. O(bytes).
///
/// # Errors
/// [`Error::Format`] for a table that is not square or not symmetric, for cells that are not finite numbers of at least 0, for
/// the distance of a column to itself that is not 0, or residue numbers that differ from those of the header; [`Error::Io`].
pub fn column_distances(from: impl BufRead) -> Result<ColumnDistances, Error> {
    let mut lines = lines(from);
    let header = lines.next().transpose()?.unwrap_or_default();
    let number = |line: u64, text: &str| -> Result<i64, Error> {
        let reason = || format!("{text:?} is no residue number");
        text.trim().parse().map_err(|_| Error::format(line, 1, reason()))
    };
    let residues: Vec<i64> =
        header.split(',').skip(1).map(|text| number(1, text)).collect::<Result<_, _>>()?;
    let columns = residues.len();
    let mut distances: Vec<f64> = Vec::new();
    let mut row = 0;
    for (line, text) in lines.enumerate() {
        let (line, text) = (line as u64 + 2, text?);
        if text.trim().is_empty() {
            continue;
        }
        let mut cells = text.split(',');
        let own = number(line, cells.next().unwrap_or_default())?;
        if row >= columns || own != residues[row] {
            let reason = format!("row {row} is of residue {own}; expected the order of the header");
            return Err(Error::format(line, 1, reason));
        }
        let mut found = 0;
        for (column, cell) in cells.enumerate() {
            found += 1;
            let cell = cell.trim();
            if column >= columns {
                continue;
            }
            let fault = |reason: String| Error::format(line, column + 2, reason);
            let distance = match cell.parse::<f64>() {
                _ if cell.is_empty() => f64::NAN,
                Ok(distance) if distance.is_finite() && distance >= 0.0 => distance,
                _ => return Err(fault(format!("{cell:?} is no distance"))),
            };
            if column == row && distance > 0.0 {
                return Err(fault(format!("distance {cell} of a column to itself; expected 0")));
            }
            if column < row {
                let mirrored = distances[column * columns + row];
                if distance != mirrored && !(distance.is_nan() && mirrored.is_nan()) {
                    let reason =
                        format!("distance {distance}; expected {mirrored}, as in row {column}");
                    return Err(fault(reason));
                }
            }
            distances.push(distance);
        }
        if found != columns {
            let reason = format!("{found} distances; expected {columns}");
            return Err(Error::format(line, 1, reason));
        }
        row += 1;
    }
    if row != columns || columns == 0 {
        let reason = format!("{row} rows of {columns} columns; expected a square table");
        return Err(Error::format(1, 1, reason));
    }
    let distances = Array2::from_shape_vec((columns, columns), distances)
        .map_err(|error| Error::format(1, 1, error.to_string()))?;
    Ok(ColumnDistances { residues, distances })
}

/// Reads a table of distances from a file, compressed or not.
///
/// # Errors
/// As [`column_distances`], with the path.
pub fn column_distances_file(path: impl AsRef<Path>) -> Result<ColumnDistances, Error> {
    let path = path.as_ref();
    column_distances(open(path)?).map_err(|error| error.in_file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str, format: AlignmentFormat) -> String {
        alignment(text.as_bytes(), format).unwrap_err().to_string()
    }

    #[test]
    fn formats_are_told_apart() {
        let plain = alignment("AC-G\n\nACTG\n".as_bytes(), AlignmentFormat::Auto).unwrap();
        assert_eq!((plain.letters.dim(), plain.names[0].as_str()), ((2, 4), ""));
        let named = alignment("x1  AC-G\ny ACTG\n".as_bytes(), AlignmentFormat::Auto).unwrap();
        assert_eq!(named.names, ["x1", "y"]);
        let fasta =
            alignment(">a\nac\n-g\n>b\nac\ntg\n".as_bytes(), AlignmentFormat::Auto).unwrap();
        assert_eq!(fasta.letters.row(0).to_vec(), b"AC-G");
        let a3m = alignment(">a\nAC-G\n>b\nAC.aaTG\n".as_bytes(), AlignmentFormat::A3m).unwrap();
        assert_eq!(a3m.letters.row(1).to_vec(), b"ACTG");
    }

    #[test]
    fn mistakes_are_placed() {
        assert!(message(">a\nACG\n>b\nAC\n", AlignmentFormat::Fasta).contains("line 3"));
        assert!(message("ACG\nA1G\n", AlignmentFormat::Auto).contains("line 2"));
        assert!(
            message("ACG\n>b\nACG", AlignmentFormat::Fasta).contains("before the first header")
        );
        assert!(message("", AlignmentFormat::Auto).contains("no sequence"));
        assert!(message(">a\n>b\nACG", AlignmentFormat::A3m).contains("line 1"));
    }

    #[test]
    fn distances_have_holes() {
        let text = "residue,5,-1,9\n5,0,,7.5\n-1,,,\n9,7.5,,0\n";
        let read = column_distances(text.as_bytes()).unwrap();
        assert_eq!(read.residues, [5, -1, 9]);
        assert_eq!(read.distances[[0, 2]], 7.5);
        assert!(read.distances[[0, 1]].is_nan());
        for bad in ["r,1\n2,0\n", "r,1\n1,x\n", "r,1,2\n1,0,1\n", "r,1\n1,0,3\n", ""] {
            assert!(column_distances(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_table_of_distances_is_checked() {
        let message = |text: &str| column_distances(text.as_bytes()).unwrap_err().to_string();
        for cell in ["inf", "-1", "nan", "1e999"] {
            let text = format!("r,1,2\n1,0,{cell}\n2,{cell},0\n");
            assert!(message(&text).contains("line 2, column 3"), "{cell}");
        }
        assert!(message("r,1\n1,3\n").contains("to itself; expected 0"));
        assert!(message("r,1,2\n1,0,7\n2,6,0\n").contains("distance 6; expected 7, as in row 0"));
        assert!(message("x,-1,7\n-1,,\n7,7,").contains("distance 7; expected NaN"));
        // Memory is asked for as rows arrive: the square of this header's columns would be 51 GB.
        let header = format!("r{}", (0..80_000).map(|k| format!(",{k}")).collect::<String>());
        assert!(message(&header).contains("0 rows of 80000 columns"));
    }

    #[test]
    fn other_formats_are_refused_by_name() {
        let clustal = "CLUSTAL W\n\na  ACGT\nb  AC-T\n";
        let with_bracket = "CLUSTAL O(1.2.4) multiple sequence alignment\n\na  ACGT\n";
        let muscle = "MUSCLE (3.8) multiple sequence alignment\n\na  ACGT\n";
        let named = [
            "Clustal Omega 1.2.4\n\na  ACGT\n",
            "clustal w (1.83)\n\na  ACGT\n",
            "MUSCLE 3.8\n\na  ACGT\n",
            "MUSCLE\n\na  ACGT\n",
            "T-COFFEE, Version_11.00 CPU=0.1\n\na  ACGT\n",
            "muscle (5.1) Multiple Sequence Alignment\n\na  ACGT\n",
        ];
        for text in [clustal, with_bracket, muscle].into_iter().chain(named) {
            assert!(
                message(text, AlignmentFormat::Auto).contains("line 1, column 1: a Clustal file")
            );
        }
        assert!(message("\n 2 4\na  ACGT\n", AlignmentFormat::Auto).contains("a PHYLIP file"));
        assert!(message("#NEXUS\n", AlignmentFormat::Auto).contains("a NEXUS file"));
        let header = ">Multiple sequence alignment\nACGT\n";
        assert_eq!(alignment(header.as_bytes(), AlignmentFormat::Auto).unwrap().letters.len(), 4);
        // A sequence may begin with these letters.
        assert_eq!(
            alignment("CLUSTALA\n".as_bytes(), AlignmentFormat::Auto).unwrap().letters.len(),
            8
        );
    }

    #[test]
    fn lines_end_by_any_of_the_three_marks() {
        let read = |text: &str| alignment(text.as_bytes(), AlignmentFormat::Auto).unwrap();
        let right = read(">a\nAC\nGT\n>b\nACGA\n");
        assert_eq!(right.letters.dim(), (2, 4));
        assert_eq!(read(">a\rAC\rGT\r>b\rACGA\r"), right);
        assert_eq!(read(">a\r\nAC\r\nGT\r\n>b\r\nACGA\r\n"), right);
        assert!(message(">a\rAC\r>b\rA\r", AlignmentFormat::Auto).contains("line 3"));
        assert!(message(">a\r\nAC\r\n>b\r\nA\r\n", AlignmentFormat::Auto).contains("line 3"));
    }

    #[test]
    fn lines_of_programs_before_the_first_header_are_skipped() {
        for format in [AlignmentFormat::Auto, AlignmentFormat::A3m] {
            let read = alignment("#4\t1\n>a\nAC-G\n>b\nACaaTG\n".as_bytes(), format).unwrap();
            assert_eq!(read.letters.row(1).to_vec(), b"ACTG");
        }
    }

    #[test]
    fn files_that_are_no_alignments_say_why() {
        let message = |bytes: &[u8]| {
            super::alignment(bytes, AlignmentFormat::Auto).map(|_| ()).unwrap_err().to_string()
        };
        assert!(message(b">a\nAC\n>b\n>c\nAC\n").contains("without columns"));
        assert!(
            message(b">a\nA\xffC\n").contains("line 2") && message(b">\xff\n").contains("UTF-8")
        );
        assert!(message(b"# STOCKHOLM 1.0\na AC\n//\n").contains("Stockholm"));
        let marked = super::alignment("\u{feff}>a\nAC\n".as_bytes(), AlignmentFormat::Auto);
        assert_eq!(marked.unwrap().names, ["a"]);
    }
}
