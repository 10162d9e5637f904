//! Data sets as raw arrays: the three of a CSR matrix and the labels, little-endian, and their shape.
//!
//! | file | content |
//! |---|---|
//! | `NAME.json` | [`Shape`] |
//! | `NAME.indptr` | `rows + 1` offsets, i64 |
//! | `NAME.indices` | columns, i32 |
//! | `NAME.data` | values, f64 |
//! | `NAME.labels` | -1 or +1, f64 |

use std::error::Error;
use std::fs;
use std::path::Path;

use fenchel_datasets::generate::{Spgen, spgen};
use fenchel_datasets::transform::normalise_rows;
use fenchel_datasets::{Dataset, Folder};
use fenchel_linalg::CsrMatrix;
use serde::{Deserialize, Serialize};

/// The shape of a matrix.
#[derive(Serialize, Deserialize)]
pub(crate) struct Shape {
    rows: usize,
    columns: usize,
    nonzeros: usize,
}

/// Writes every data set that there is, rows scaled to unit norm, and prints a name a line.
pub(crate) fn export(out: &Path, data: Option<&Path>) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(out)?;
    if let Some(folder) = data.map(Folder::new) {
        let real =
            [("w8a", folder.w8a()?), ("ijcnn1", folder.ijcnn1()?), ("reuters", folder.reuters()?)];
        for (name, found) in real {
            match found {
                Some(mut dataset) => {
                    normalise_rows(&mut dataset.x);
                    write(out, name, &dataset)?;
                }
                None => eprintln!("{name} is not in {}", folder.root().display()),
            }
        }
    }
    write(out, "spgen", &spgen(&Spgen::default())?.classification())
}

fn write(out: &Path, name: &str, dataset: &Dataset<CsrMatrix<f64>>) -> Result<(), Box<dyn Error>> {
    let x = dataset.x.view();
    let shape = Shape { rows: x.rows(), columns: x.cols(), nonzeros: x.nnz() };
    let (offsets, columns, values) = x.into_raw_storage();
    let raw = |array: &str, bytes: Vec<u8>| fs::write(out.join(format!("{name}.{array}")), bytes);
    raw("indptr", offsets.iter().flat_map(|&o| (o as i64).to_le_bytes()).collect())?;
    raw("indices", columns.iter().flat_map(|&c| (c as i32).to_le_bytes()).collect())?;
    raw("data", values.iter().flat_map(|v| v.to_le_bytes()).collect())?;
    raw("labels", dataset.y.iter().flat_map(|v| v.to_le_bytes()).collect())?;
    fs::write(out.join(format!("{name}.json")), serde_json::to_string(&shape)?)?;
    println!("{name}");
    Ok(())
}

/// Reads what [`export`] wrote; `file` is the path without an ending.
pub(crate) fn load(file: &Path) -> Result<Dataset<CsrMatrix<f64>>, Box<dyn Error>> {
    let raw = |array: &str| {
        let path = file.with_extension(array);
        fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let Shape { rows, columns, .. } = serde_json::from_slice(&raw("json")?)?;
    let offsets = numbers(&raw("indptr")?, |b| i64::from_le_bytes(b) as usize);
    let indices = numbers(&raw("indices")?, |b| i32::from_le_bytes(b) as u32);
    let values = numbers(&raw("data")?, f64::from_le_bytes);
    let labels = numbers(&raw("labels")?, f64::from_le_bytes);
    let x = CsrMatrix::try_new((rows, columns), offsets, indices, values)
        .map_err(|(_, _, _, error)| error)?;
    Ok(Dataset { x, y: labels.into() })
}

fn numbers<const BYTES: usize, T>(raw: &[u8], number: impl Fn([u8; BYTES]) -> T) -> Vec<T> {
    raw.as_chunks::<BYTES>().0.iter().map(|bytes| number(*bytes)).collect()
}
