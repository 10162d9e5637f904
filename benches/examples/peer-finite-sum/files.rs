//! Data sets as raw arrays: the three of a CSR matrix or the rows of a dense one, the targets, and the shape.
//! Little-endian.
//!
//! | file | content |
//! |---|---|
//! | `NAME.json` | [`Shape`] |
//! | `NAME.indptr` | `rows + 1` offsets, i64; absent for dense data |
//! | `NAME.indices` | columns, i32; absent for dense data |
//! | `NAME.data` | values, f64; all of them, row by row, for dense data |
//! | `NAME.targets` | -1 or +1, real, or counts; f64 |

use std::error::Error;
use std::fs;
use std::path::Path;

use fenchel_datasets::generate::{LowRank, Spgen, low_rank, spgen};
use fenchel_datasets::transform::normalise_rows;
use fenchel_datasets::{Folder, idx::Images};
use fenchel_linalg::CsrMatrix;
use ndarray::{Array1, Array2, Axis};
use serde::{Deserialize, Serialize};

use crate::new_ground;

/// What is to be fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Task {
    /// Labels -1 and +1.
    Logistic,
    /// Real targets.
    Squared,
    /// Counts.
    Counts,
}

/// The shape of a matrix, and what it is for.
#[derive(Serialize, Deserialize)]
struct Shape {
    rows: usize,
    columns: usize,
    nonzeros: usize,
    dense: bool,
    task: Task,
}

/// A matrix of either storage.
pub(crate) enum Matrix {
    Sparse(CsrMatrix<f64>),
    Dense(Array2<f64>),
}

/// A data set as the methods see it.
pub(crate) struct Data {
    pub(crate) x: Matrix,
    pub(crate) y: Array1<f64>,
    pub(crate) task: Task,
}

/// Writes every data set that there is and prints a name a line. Rows are scaled to unit norm for classification.
pub(crate) fn export(out: &Path, data: Option<&Path>, quick: bool) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(out)?;
    if let Some(folder) = data.filter(|_| !quick).map(Folder::new) {
        let absent = |name: &str| eprintln!("{name} is not in {}", folder.root().display());
        let sparse = [
            ("w8a", folder.w8a()?),
            ("ijcnn1", folder.ijcnn1()?),
            ("adult", folder.adult()?),
            ("reuters", folder.reuters()?),
        ];
        for (name, found) in sparse {
            match found {
                Some(mut set) => {
                    normalise_rows(&mut set.x);
                    write(out, name, &Matrix::Sparse(set.x), &set.y, Task::Logistic)?;
                }
                None => absent(name),
            }
        }
        match folder.mnist_test()? {
            Some(images) => {
                let (x, y) = small_digits(&images);
                write(out, "mnist", &Matrix::Dense(x), &y, Task::Logistic)?;
            }
            None => absent("mnist"),
        }
        match folder.abalone()? {
            Some(set) => {
                write(out, "abalone", &Matrix::Sparse(set.x), &set.y, Task::Squared)?;
            }
            None => absent("abalone"),
        }
    }
    let sparse = spgen(&Spgen::default())?.classification();
    write(out, "spgen", &Matrix::Sparse(sparse.x), &sparse.y, Task::Logistic)?;
    let rows = if quick { 2_000 } else { 50_000 };
    let dense = low_rank(&LowRank { rows, columns: 384, rank: 40, noise: 0.5, seed: 1 })?;
    write(out, "low-rank", &Matrix::Dense(dense.x), &dense.targets, Task::Squared)
}

/// Writes the sets of shapes that nothing was set by.
pub(crate) fn export_new(out: &Path, half: &str) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(out)?;
    new_ground::sets(half).try_for_each(|set| write(out, set.name, &set.x, &set.y, set.task))
}

/// Digits 0 to 4 (-1) against 5 to 9 (+1), images of unit norm.
fn small_digits(images: &Images) -> (Array2<f64>, Array1<f64>) {
    let mut x = images.x.mapv(f64::from);
    for mut row in x.axis_iter_mut(Axis(0)) {
        let norm = row.dot(&row).sqrt();
        if norm > 0.0 {
            row /= norm;
        }
    }
    (x, images.y.mapv(|digit| if digit < 5 { -1.0 } else { 1.0 }))
}

fn write(
    out: &Path,
    name: &str,
    x: &Matrix,
    targets: &Array1<f64>,
    task: Task,
) -> Result<(), Box<dyn Error>> {
    let raw = |array: &str, bytes: Vec<u8>| fs::write(out.join(format!("{name}.{array}")), bytes);
    let shape = match x {
        Matrix::Sparse(x) => {
            let x = x.view();
            let shape = (x.rows(), x.cols(), x.nnz(), false);
            let (offsets, columns, values) = x.into_raw_storage();
            raw("indptr", offsets.iter().flat_map(|&o| (o as i64).to_le_bytes()).collect())?;
            raw("indices", columns.iter().flat_map(|&c| (c as i32).to_le_bytes()).collect())?;
            raw("data", values.iter().flat_map(|v| v.to_le_bytes()).collect())?;
            shape
        }
        Matrix::Dense(x) => {
            raw("data", x.iter().flat_map(|v| v.to_le_bytes()).collect())?;
            (x.nrows(), x.ncols(), x.len(), true)
        }
    };
    raw("targets", targets.iter().flat_map(|v| v.to_le_bytes()).collect())?;
    let (rows, columns, nonzeros, dense) = shape;
    let shape = Shape { rows, columns, nonzeros, dense, task };
    fs::write(out.join(format!("{name}.json")), serde_json::to_string(&shape)?)?;
    println!("{name}");
    Ok(())
}

/// Reads what [`export`] wrote; `file` is the path without an ending.
pub(crate) fn load(file: &Path) -> Result<Data, Box<dyn Error>> {
    let raw = |array: &str| {
        let path = file.with_extension(array);
        fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let Shape { rows, columns, dense, task, .. } = serde_json::from_slice(&raw("json")?)?;
    let values = numbers(&raw("data")?, f64::from_le_bytes);
    let y = numbers(&raw("targets")?, f64::from_le_bytes).into();
    let x = if dense {
        Matrix::Dense(Array2::from_shape_vec((rows, columns), values)?)
    } else {
        let offsets = numbers(&raw("indptr")?, |b| i64::from_le_bytes(b) as usize);
        let indices = numbers(&raw("indices")?, |b| i32::from_le_bytes(b) as u32);
        let matrix = CsrMatrix::try_new((rows, columns), offsets, indices, values);
        Matrix::Sparse(matrix.map_err(|(_, _, _, error)| error)?)
    };
    Ok(Data { x, y, task })
}

fn numbers<const BYTES: usize, T>(raw: &[u8], number: impl Fn([u8; BYTES]) -> T) -> Vec<T> {
    raw.as_chunks::<BYTES>().0.iter().map(|bytes| number(*bytes)).collect()
}
