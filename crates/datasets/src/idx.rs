//! IDX: the binary format of MNIST and similar sets, which holds arrays of bytes with any number of dimensions.
//!
//! | bytes | content |
//! |---|---|
//! | 0, 1 | zero |
//! | 2 | type of the entries; only `08`, unsigned bytes, is supported |
//! | 3 | number of dimensions, `k` |
//! | 4 .. 4 + 4k | the dimensions, 32-bit, big endian |
//! | the rest | the entries, last dimension fastest |
//!
//! A header can announce far more data than the file contains, so memory is allocated as the data are read.

use std::io::Read;
use std::path::Path;

use ndarray::{Array1, Array2, ArrayD, IxDyn};

use crate::{Dataset, Error, open};

/// Reads an IDX array of bytes with the dimensions of the file.
///
/// # Errors
/// [`Error::Binary`] with the position of the first wrong byte: a wrong magic number, entries of another type, dimensions that
/// exceed any memory, a file that is shorter or longer than its header says; [`Error::Io`].
pub fn idx(mut from: impl Read) -> Result<ArrayD<u8>, Error> {
    let magic = read_word(&mut from, 0, "magic number")?;
    let [zero, zero_too, kind, dimensions] = magic;
    if (zero, zero_too) != (0, 0) {
        return Err(Error::binary(
            0,
            format!("magic number {magic:02x?}; expected an IDX file, which begins with 00 00"),
        ));
    }
    if kind != 0x08 {
        return Err(Error::binary(
            2,
            format!("entries of {}; expected unsigned bytes (08)", kind_name(kind)),
        ));
    }
    let mut shape = Vec::with_capacity(usize::from(dimensions));
    for k in 0..u64::from(dimensions) {
        let word = read_word(&mut from, 4 + 4 * k, "dimensions")?;
        shape.push(u32::from_be_bytes(word) as usize);
    }
    let begin = 4 + 4 * u64::from(dimensions);
    let size = size_of(&shape).ok_or_else(|| {
        Error::binary(4, format!("dimensions {shape:?} are more than memory can address"))
    })?;
    let mut entries = Vec::new();
    // One byte more than expected, to see whether there is one.
    from.take(size as u64 + 1).read_to_end(&mut entries)?;
    if entries.len() < size {
        return Err(Error::binary(
            begin + entries.len() as u64,
            format!("truncated: dimensions {shape:?} need {size} bytes, found {}", entries.len()),
        ));
    }
    if entries.len() > size {
        return Err(Error::binary(
            begin + size as u64,
            format!("bytes after the {size} that dimensions {shape:?} need"),
        ));
    }
    ArrayD::from_shape_vec(IxDyn(&shape), entries)
        .map_err(|error| Error::binary(4, format!("dimensions {shape:?}: {error}")))
}

/// Reads an IDX file of images, or of other data with two or more dimensions, as one row per sample: `n x (rows * columns)`,
/// pixels row by row.
///
/// # Errors
/// As [`idx`], and [`Error::Binary`] if there are fewer than two dimensions.
pub fn idx_rows(from: impl Read) -> Result<Array2<u8>, Error> {
    let array = idx(from)?;
    let shape = array.shape().to_vec();
    let Some((&rows, rest)) = shape.split_first().filter(|(_, rest)| !rest.is_empty()) else {
        return Err(Error::binary(3, format!("dimensions {shape:?}; expected at least two")));
    };
    let columns: usize = rest.iter().product();
    array
        .into_shape_with_order((rows, columns))
        .map_err(|error| Error::binary(4, format!("dimensions {shape:?}: {error}")))
}

/// Reads an IDX file of labels.
///
/// # Errors
/// As [`idx`], and [`Error::Binary`] if there is not exactly one dimension.
pub fn idx_labels(from: impl Read) -> Result<Array1<u8>, Error> {
    let array = idx(from)?;
    let shape = array.shape().to_vec();
    array.into_dimensionality().map_err(|_| {
        Error::binary(3, format!("dimensions {shape:?}; expected one, as labels have"))
    })
}

/// Images, one per row, with their labels.
pub type Images = Dataset<Array2<u8>, Array1<u8>>;

/// Reads a pair of IDX files, images and their labels, plain or compressed.
///
/// # Errors
/// As [`idx_rows`] and [`idx_labels`], with the path; [`Error::Binary`], with the path of the labels, if the numbers of labels
/// and images differ.
pub fn idx_dataset(images: impl AsRef<Path>, labels: impl AsRef<Path>) -> Result<Images, Error> {
    let (images, labels) = (images.as_ref(), labels.as_ref());
    let x = idx_rows(open(images)?).map_err(|error| error.in_file(images))?;
    let y = idx_labels(open(labels)?).map_err(|error| error.in_file(labels))?;
    if x.nrows() != y.len() {
        let reason = format!("{} labels; expected {}, one an image", y.len(), x.nrows());
        return Err(Error::binary(4, reason).in_file(labels));
    }
    Ok(Dataset { x, y })
}

fn read_word(from: &mut impl Read, offset: u64, what: &str) -> Result<[u8; 4], Error> {
    let mut word = Vec::with_capacity(4);
    from.take(4).read_to_end(&mut word)?;
    word.as_slice().try_into().map_err(|_| {
        Error::binary(offset + word.len() as u64, format!("truncated: the file ends in its {what}"))
    })
}

/// The number of entries, if an array of this shape can exist. `ndarray` requires that the product of the dimensions other than
/// 0 fits `isize`, even if one dimension is 0.
fn size_of(shape: &[usize]) -> Option<usize> {
    let mut size = 1usize;
    for &dimension in shape.iter().filter(|&&dimension| dimension > 0) {
        size = size.checked_mul(dimension)?;
    }
    isize::try_from(size).ok()?;
    Some(if shape.contains(&0) { 0 } else { size })
}

fn kind_name(kind: u8) -> String {
    let name = match kind {
        0x09 => "signed bytes",
        0x0b => "16-bit integers",
        0x0c => "32-bit integers",
        0x0d => "32-bit floats",
        0x0e => "64-bit floats",
        _ => "an unknown type",
    };
    format!("{name} ({kind:02x})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    fn file(kind: u8, shape: &[u32], entries: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0, 0, kind, shape.len() as u8];
        bytes.extend(shape.iter().flat_map(|d| d.to_be_bytes()));
        bytes.extend(entries);
        bytes
    }

    fn refused(bytes: &[u8], expected: &str) {
        let error = idx(bytes).unwrap_err().to_string();
        assert!(error.starts_with(expected), "found    {error}\nexpected {expected}");
    }

    #[test]
    fn images_become_rows_and_labels_a_vector() {
        let images = file(8, &[2, 2, 3], &[0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 255]);
        assert_eq!(
            idx_rows(&images[..]).unwrap(),
            array![[0, 1, 2, 3, 4, 5], [10, 11, 12, 13, 14, 255]]
        );
        assert_eq!(idx(&images[..]).unwrap()[[1, 1, 2]], 255);
        let labels = file(8, &[3], &[7, 0, 9]);
        assert_eq!(idx_labels(&labels[..]).unwrap(), array![7, 0, 9]);
        assert_eq!(idx_rows(&file(8, &[0, 28, 28], &[])[..]).unwrap().dim(), (0, 784));
    }

    #[test]
    fn what_is_not_idx_is_refused_with_its_byte() {
        refused(b"", "byte 0: truncated: the file ends in its magic number");
        refused(&[0, 0, 8], "byte 3: truncated");
        refused(b"PK\x03\x04", "byte 0: magic number [50, 4b, 03, 04]; expected an IDX file");
        refused(&file(0x0d, &[1], &[0; 4]), "byte 2: entries of 32-bit floats (0d); expected");
        refused(&file(0x77, &[1], &[0]), "byte 2: entries of an unknown type (77)");
        refused(&[0, 0, 8, 2, 0, 0, 0, 1, 0], "byte 9: truncated: the file ends in its dimensions");
        refused(
            &file(8, &[2, 3], &[0; 5]),
            "byte 17: truncated: dimensions [2, 3] need 6 bytes, found 5",
        );
        refused(&file(8, &[2, 3], &[0; 7]), "byte 18: bytes after the 6");
    }

    #[test]
    fn absurd_dimensions_cost_no_memory() {
        let most = u32::MAX;
        refused(&file(8, &[most, most, most], &[1]), "byte 4: dimensions");
        refused(&file(8, &[0, most, most, most], &[]), "byte 4: dimensions");
        refused(&file(8, &[most, 1000], &[1, 2]), "byte 14: truncated");
    }

    #[test]
    fn the_wrong_number_of_dimensions_is_refused() {
        let labels = file(8, &[1], &[0]);
        let images = file(8, &[1, 1], &[0]);
        assert!(idx_rows(&labels[..]).unwrap_err().to_string().contains("at least two"));
        assert!(idx_labels(&images[..]).unwrap_err().to_string().contains("expected one"));
        assert!(idx_rows(&[0, 0, 8, 0, 5][..]).is_err());
    }

    #[test]
    fn files_that_do_not_belong_together_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("images"), file(8, &[2, 1, 1], &[5, 6])).unwrap();
        std::fs::write(path("labels"), file(8, &[2], &[0, 1])).unwrap();
        std::fs::write(path("three"), file(8, &[3], &[0, 1, 2])).unwrap();
        let data = idx_dataset(path("images"), path("labels")).unwrap();
        assert_eq!((data.x, data.y), (array![[5], [6]], array![0, 1]));
        let error = idx_dataset(path("images"), path("three")).unwrap_err().to_string();
        assert!(error.ends_with("three: byte 4: 3 labels; expected 2, one an image"), "{error}");
    }
}
