//! The writer.

use std::io::{BufWriter, Write};

use fenchel_linalg::{CsrMatrix, Invalid};

use crate::{Dataset, Error};

/// Writes a data set as LIBSVM text with indices counted from 1. Each number is written with the fewest digits that are read
/// back as the same number.
///
/// [`libsvm`](crate::libsvm()) reads the text back bit for bit, except that empty last columns are lost unless it is given
/// [`LibsvmOptions::columns`](crate::LibsvmOptions).
///
/// # Errors
/// [`Error::Invalid`] if `x` and `y` disagree in length, a number is not finite, or the matrix is
/// stored by columns; [`Error::Io`].
pub fn write_libsvm(to: impl Write, data: &Dataset<CsrMatrix<f64>>) -> Result<(), Error> {
    let Dataset { x, y } = data;
    if !x.is_csr() {
        return Err(Invalid::Layout {
            what: "x",
            reason: "stored by columns (CSC); call `.to_csr()` first".into(),
        }
        .into());
    }
    Invalid::check_length("y", x.rows(), y.len())?;
    if let Some((row, &value)) = y.iter().enumerate().find(|(_, label)| !label.is_finite()) {
        return Err(Invalid::NonFinite { what: "y", row, column: 0, value }.into());
    }
    let mut to = BufWriter::new(to);
    for (row, (entries, &label)) in x.outer_iterator().zip(y).enumerate() {
        write_number(&mut to, label)?;
        for (column, &value) in entries.iter() {
            if !value.is_finite() {
                return Err(Invalid::NonFinite { what: "x", row, column, value }.into());
            }
            write!(to, " {}:", column + 1)?;
            write_number(&mut to, value)?;
        }
        to.write_all(b"\n")?;
    }
    to.flush()?;
    Ok(())
}

/// Writes plain digits for numbers of moderate size, and an exponent where plain digits would be mostly zeros.
fn write_number(to: &mut impl Write, value: f64) -> std::io::Result<()> {
    let size = value.abs();
    if size == 0.0 || (1e-5..1e16).contains(&size) {
        write!(to, "{value}")
    } else {
        write!(to, "{value:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn small() -> Dataset<CsrMatrix<f64>> {
        let x = CsrMatrix::try_new((3, 4), vec![0, 2, 2, 3], vec![0, 3, 1], vec![0.1, -1e300, 2.0])
            .unwrap();
        Dataset { x, y: array![1.0, -1.0, 2.5e-7] }
    }

    #[test]
    fn the_text_is_what_it_should_be() {
        let mut text = Vec::new();
        write_libsvm(&mut text, &small()).unwrap();
        assert_eq!(String::from_utf8(text).unwrap(), "1 1:0.1 4:-1e300\n-1\n2.5e-7 2:2\n");
    }

    #[test]
    fn what_cannot_be_read_back_is_refused() {
        let message = |data: &Dataset<CsrMatrix<f64>>| {
            write_libsvm(std::io::sink(), data).unwrap_err().to_string()
        };
        let mut data = small();
        data.x.data_mut()[2] = f64::NAN;
        assert_eq!(message(&data), "x: NaN at row 2, column 1; every entry must be finite");
        let mut data = small();
        data.y[1] = f64::INFINITY;
        assert!(message(&data).starts_with("y: inf at row 1"));
        let short = Dataset { y: array![1.0], ..small() };
        assert_eq!(message(&short), "y: expected length 3, found 1");
        let by_columns = Dataset { x: small().x.to_csc(), ..small() };
        assert!(message(&by_columns).contains("CSC"));
    }
}
