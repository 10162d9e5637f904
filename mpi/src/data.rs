//! The rows of a process, from its pieces of files.

use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use fenchel_datasets::table::{Column, Kind};
use fenchel_datasets::{Header, IndexBase, LibsvmOptions, Table, TableOptions};
use fenchel_linalg::{CsrMatrix, Invalid, Named, Names, read_line};
use fenchel_optim::spread::{Communicator, Shards};
use ndarray::Array2;

use crate::Error;
use crate::text::{Cut, Piece, pieces};

/// The own rows.
#[derive(Debug, Clone)]
pub struct Rows<X> {
    /// One row a sample, with the names of the columns, where there are any.
    pub x: Named<X>,
    /// The targets.
    pub y: Vec<f64>,
    /// The numbers of rows of the own shards, for [`Shards::new`].
    pub sizes: Vec<usize>,
}

/// Reads the own rows of files of the LIBSVM format. All processes call it together. The number of columns is that of all rows, and
/// indices count from 0 if one of any process is 0, else from 1.
///
/// # Errors
/// [`Error::File`] with the line for a text that is not of this format; those of [`pieces`].
pub fn libsvm(
    files: &[PathBuf],
    communicator: &dyn Communicator,
) -> Result<Rows<CsrMatrix<f64>>, Error> {
    let (mut offsets, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    let (mut y, mut sizes) = (Vec::new(), Vec::new());
    let options = LibsvmOptions { base: IndexBase::Zero, ..LibsvmOptions::default() };
    for piece in pieces(files, Cut::Lines, communicator)? {
        // A line longer than a piece leaves nothing to the next, or a blank line.
        let sample = |line: &[u8]| !matches!(line.trim_ascii().first(), None | Some(b'#'));
        if piece.open()?.split(b'\n').all(|line| line.is_ok_and(|line| !sample(&line))) {
            sizes.push(0);
            continue;
        }
        let part = fenchel_datasets::libsvm(piece.open()?, &options);
        let part = part.map_err(|error| fault(&piece, error, 0))?;
        sizes.push(part.y.len());
        y.extend(part.y);
        let before = values.len();
        offsets.extend(part.x.indptr().raw_storage().iter().skip(1).map(|end| before + end));
        columns.extend_from_slice(part.x.indices());
        values.extend_from_slice(part.x.data());
    }
    let some_zero = f64::from(u8::from(columns.contains(&0)));
    let largest = columns.iter().max().map_or(-1.0, |&column| f64::from(column));
    let shards = Shards::new(communicator, &sizes)?;
    let mut seen = [some_zero, largest];
    shards.largest(&mut seen);
    let mut width = (seen[1] + 1.0) as usize;
    if seen[0] == 0.0 && width > 0 {
        columns.iter_mut().for_each(|column| *column -= 1);
        width -= 1;
    }
    let x = CsrMatrix::try_new((y.len(), width), offsets, columns, values);
    let x = x.map_err(|(.., error)| Invalid::Layout { what: "rows", reason: error.to_string() })?;
    Ok(Rows { x: Named { x, names: Names::NONE }, y, sizes })
}

/// Reads the own rows of files of comma separated numbers, whose first lines hold the names of the columns; `target` is the column of
/// the targets. All processes call it together.
///
/// # Errors
/// [`Error::File`] with the line for a cell that is no number or is missing, for a missing column, and for files with other names; those of
/// [`pieces`].
pub fn csv(
    files: &[PathBuf],
    target: &str,
    communicator: &dyn Communicator,
) -> Result<Rows<Array2<f64>>, Error> {
    let heads = files.iter().map(|file| head(file)).collect::<Result<Vec<_>, Error>>()?;
    // Every process knows the names, with or without rows.
    let mut all: Vec<String> = Vec::new();
    for (file, head) in files.iter().zip(&heads) {
        let found = names_in(head).map_err(|error| Error::file(file, error))?;
        if !all.is_empty() && found != all {
            let reason = format!("its columns are {found:?}, those of the first file {all:?}");
            return Err(Error::file(file, reason));
        }
        all = found;
    }
    communicator.check_alike("names of the columns", &format!("{all:?}"))?;
    let inputs: Vec<&String> = all.iter().filter(|name| *name != target).collect();
    let wrong = match (inputs.len(), all.len()) {
        (inputs, names) if inputs == names => {
            Some(format!("there is no column {target:?}; the columns are {all:?}"))
        }
        (0, _) => Some(format!("there is no column beside {target:?}")),
        _ => None,
    };
    if let Some(wrong) = wrong {
        return Err(Error::file(files.first().map_or(Path::new(""), |file| file), wrong));
    }
    let (mut x, mut y, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    for piece in pieces(files, Cut::LinesAfterNames, communicator)? {
        let place = files.iter().position(|file| *file == piece.file).unwrap_or(0);
        let mut body = Vec::new();
        let read_all = piece.open()?.read_to_end(&mut body);
        read_all.map_err(|error| Error::file(&piece.file, error))?;
        if body.trim_ascii().is_empty() {
            sizes.push(0);
            continue;
        }
        // A piece alone would not know what the cells of the others are.
        let kinds = all.iter().map(|name| (name.clone(), Kind::Number)).collect();
        let table = read(&heads[place], &body, kinds).map_err(|error| fault(&piece, error, 1))?;
        for (name, column) in table.columns() {
            let Column::Numbers(values) = column else { continue };
            if let Some(row) = values.iter().position(|value| value.is_nan()) {
                let lines = (1..).zip(body.split(|byte| *byte == b'\n'));
                let line = lines.filter(|(_, line)| !line.trim_ascii().is_empty()).nth(row);
                let line = line.map_or(1, |(line, _)| line);
                let reason = format_args!("column {name:?} has no value; expected a number");
                return Err(piece.fault(line, reason));
            }
        }
        let refused = |error: fenchel_datasets::Error| Error::file(&piece.file, error);
        let targets = table.numbers(target).map_err(refused)?;
        let rows = table.without(&[target]).and_then(|table| table.design()).map_err(refused)?;
        sizes.push(targets.len());
        y.extend(targets);
        x.extend(rows.x);
    }
    let x = Array2::from_shape_vec((y.len(), inputs.len()), x);
    let x = x.map_err(|error| Invalid::Layout { what: "rows", reason: error.to_string() })?;
    Ok(Rows { x: Named { x, names: Names::new(inputs) }, y, sizes })
}

/// The first line of a file.
fn head(file: &Path) -> Result<Vec<u8>, Error> {
    let read = || {
        let mut line = Vec::new();
        read_line(&mut BufReader::new(std::fs::File::open(file)?), &mut line)?;
        Ok(line)
    };
    read().map_err(|error: std::io::Error| Error::file(file, error))
}

/// The names in a first line.
fn names_in(head: &[u8]) -> Result<Vec<String>, fenchel_datasets::Error> {
    // A table has rows: one of zeros will do.
    let plain = TableOptions { header: Header::Absent, ..TableOptions::default() };
    let width = fenchel_datasets::table(Cursor::new(head), &plain)?.names().len();
    let zeros = vec!["0"; width].join(",");
    Ok(read(head, zeros.as_bytes(), Vec::new())?.names().to_vec())
}

/// A table of a first line with names, and of other lines.
fn read(
    names: &[u8],
    body: &[u8],
    kinds: Vec<(String, Kind)>,
) -> Result<Table, fenchel_datasets::Error> {
    let options = TableOptions { header: Header::Present, kinds, ..TableOptions::default() };
    fenchel_datasets::table(Cursor::new(names).chain(Cursor::new(body)), &options)
}

/// The error of a reader, which saw so many lines more than the piece has, in a line of the file.
fn fault(piece: &Piece, error: fenchel_datasets::Error, more: u64) -> Error {
    match error {
        fenchel_datasets::Error::Format { line, column, reason, .. } => {
            piece.fault(line - more.min(line), format_args!("column {column}: {reason}"))
        }
        other => Error::file(&piece.file, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fenchel_optim::spread::{Alone, threads};
    use std::fmt::Write;

    fn file(text: &str) -> (tempfile::TempDir, [PathBuf; 1]) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        std::fs::write(&path, text).unwrap();
        (folder, [path])
    }

    /// Some 360 kB: two pieces.
    fn table(line: usize, odd: &str) -> String {
        let mut text = "a,b\n".to_owned();
        for i in 2..60_000_usize {
            match i == line {
                true => text.push_str(odd),
                false => writeln!(text, "{}.5,{}", i % 7, i % 11).unwrap(),
            }
            if i == 50_000 {
                text.push_str("\n\n");
            }
        }
        text
    }

    fn refused(text: &str, target: &str) -> String {
        let (_folder, files) = file(text);
        threads::run(3, |ranks| csv(&files, target, ranks)).unwrap_err().1.to_string()
    }

    #[test]
    fn cells_of_all_pieces_are_numbers_and_errors_name_the_line() {
        let (_folder, files) = file(&table(0, ""));
        let rows = csv(&files, "b", &Alone).unwrap();
        assert_eq!((rows.x.x.dim(), rows.sizes.len()), ((59_998, 1), 2));
        for (line, shown) in [(20, 20), (59_000, 59_002)] {
            for odd in ["2024-03-01,1\n", ",1\n", "1,text\n"] {
                let error = refused(&table(line, odd), "b");
                assert!(error.contains(&format!(": line {shown}: ")), "{error}");
            }
        }
        let error = refused("a\n1\n2\n", "a");
        assert!(error.ends_with("there is no column beside \"a\""), "{error}");
        let error = refused("a,b\n1,2\n", "c");
        assert!(error.contains("there is no column \"c\"; the columns are"), "{error}");
    }

    /// The last piece is a blank line, or a comment, behind rows that are longer than a piece.
    #[test]
    fn pieces_may_hold_no_sample() {
        let mut row = String::from("1");
        (1..30_000).for_each(|c| write!(row, " {c}:1").unwrap());
        for end in ["\n", "  \n# nothing\n"] {
            let (_folder, files) = file(&format!("{row}\n{row}\n{row}\n{end}"));
            let rows = libsvm(&files, &Alone).unwrap();
            assert_eq!(rows.sizes, [1, 1, 1, 0]);
        }
    }
}
