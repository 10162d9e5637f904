//! This module loads the binary classification data sets of A. Defazio, PhD thesis 2014. If a data set is absent,
//! another one takes its place.

use std::sync::atomic::{AtomicUsize, Ordering};

use fenchel_datasets::generate::{Spgen, spgen};
use fenchel_datasets::transform::{normalise_rows, signs};
use fenchel_datasets::{Dataset, Folder, embedded};
use fenchel_linalg::{CsrMatrix, parallel};
use ndarray::{Array2, Axis};

use super::sets::Subject;
use crate::{Context, Failure, Outcome};

/// A design in the storage that suits it.
pub(super) enum Matrix {
    Dense(Array2<f64>),
    Sparse(CsrMatrix<f64>),
}

/// A data set with labels -1 and +1, rows of unit norm.
pub(super) struct Task {
    pub(super) name: &'static str,
    /// Stands in for data of the document. Its claims are shown there, not judged.
    pub(super) generated: bool,
    pub(super) x: Matrix,
    pub(super) y: Vec<f64>,
}

impl Subject for Task {
    fn named(&self) -> (&'static str, bool) {
        (self.name, !self.generated)
    }
}

/// Runs `$body` with `$design` bound to the validated view of the task's matrix, whatever its storage.
macro_rules! with_design {
    ($task:expr, |$design:ident| $body:expr) => {
        match &$task.x {
            $crate::finite_sum::tasks::Matrix::Dense(x) => {
                let $design = fenchel_linalg::AsDesign::as_design(x)?;
                $body
            }
            $crate::finite_sum::tasks::Matrix::Sparse(x) => {
                let $design = fenchel_linalg::AsDesign::as_design(x)?;
                $body
            }
        }
    };
}
pub(super) use with_design;

/// Runs every task, several at a time. The results are in the order of the tasks.
pub(super) fn each<T: Send>(
    context: &Context,
    tasks: &[Task],
    run: impl Fn(&Task) -> Result<T, Failure> + Sync,
) -> Result<Vec<T>, Failure> {
    let finished = AtomicUsize::new(0);
    parallel::try_map(tasks, |task| {
        let found = run(task)?;
        let finished = 1 + finished.fetch_add(1, Ordering::Relaxed);
        context.progress(finished as f64 / tasks.len() as f64, task.name)?;
        Ok(found)
    })
}

/// The tasks that are there, the thesis's own first; `note`s say what stands in for what.
pub(super) fn tasks(context: &Context, outcome: &mut Outcome) -> Result<Vec<Task>, Failure> {
    let mut tasks = vec![];
    if let Some(root) = &context.data {
        let folder = Folder::new(root);
        if let Some(mnist) = folder.mnist_test()? {
            // Every third image in a quick run.
            let kept: Vec<usize> = (0..mnist.y.len()).step_by(context.pick(3, 1)).collect();
            let low: Vec<bool> = kept.iter().map(|&i| mnist.y[i] <= 4).collect();
            tasks.push(dense("mnist", mnist.x.select(Axis(0), &kept).mapv(f64::from), &low));
        }
        let sparse_sets =
            [("ijcnn1", folder.ijcnn1()?), ("w8a", folder.w8a()?), ("adult", folder.adult()?)];
        for (name, found) in sparse_sets {
            tasks.extend(found.map(|data| sparse(name, data)));
        }
    }
    if tasks.len() < 4 {
        outcome.note(
            "Real sets are missing from the data folder. The embedded scans of digits (1,797 x 64, classes \
             0-4 against 5-9) stand in for MNIST, and generated sparse data for the others: the document's sentences are shown there, not judged.",
        );
        let digits = embedded::digits();
        let task = dense("digits", digits.x, &digits.y.mapv(|y| y <= 4).to_vec());
        tasks.push(Task { generated: true, ..task });
        for (name, rows, columns, nonzeros) in
            [("generated 5000 x 300", 5_000, 300, 12), ("generated 8000 x 22", 8_000, 22, 13)]
        {
            let settings = Spgen { rows, columns, nonzeros, noise: 3000, normalise: true, seed: 7 };
            let task = sparse(name, spgen(&settings)?.classification());
            tasks.push(Task { generated: true, ..task });
        }
    } else {
        outcome.note(
            "Where a figure of the thesis has Covtype, w8a and adult (LIBSVM) take its place: Covtype is not in the data folder. \
             Where MNIST is used, it is its 10,000 test images, in a quick run a third of them.",
        );
    }
    let rows = tasks.iter().map(|task| format!("{} {}", task.name, task.y.len()));
    outcome.setting("rows n of the data sets", rows.collect::<Vec<_>>().join(", "));
    Ok(tasks)
}

fn dense(name: &'static str, mut x: Array2<f64>, low: &[bool]) -> Task {
    normalise_rows(&mut x);
    let y = low.iter().map(|&low| if low { 1.0 } else { -1.0 }).collect();
    Task { name, generated: false, x: Matrix::Dense(x), y }
}

fn sparse(name: &'static str, mut data: Dataset<CsrMatrix<f64>>) -> Task {
    normalise_rows(&mut data.x);
    let y = signs(data.y.view(), |&y| y > 0.0).to_vec();
    // With two dozen features the rows are as good as dense.
    let x = if data.x.nnz() * 2 >= data.x.rows() * data.x.cols() {
        Matrix::Dense(data.x.to_dense())
    } else {
        Matrix::Sparse(data.x)
    };
    Task { name, generated: false, x, y }
}
