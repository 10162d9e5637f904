//! This program trains a sparse multiclass support vector machine on handwritten digits in ten seconds, with a certificate. It uses the
//! 10,000 test images of MNIST if the folder of real data (`FENCHEL_DATA`) has them. Otherwise it uses the small digits that are part of
//! the crate.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example sparse_svm
//! ```

use std::error::Error;

use fenchel_datasets::{Folder, embedded};
use fenchel_metrics::{Confusion, train_test_split};
use fenchel_saddle::{Fit, MulticlassL1, Progress, Stop};
use ndarray::{Array2, Axis};

fn main() -> Result<(), Box<dyn Error>> {
    fenchel_examples::end_on_closed_pipe();
    let mnist = match std::env::var_os("FENCHEL_DATA") {
        Some(root) => Folder::new(root).mnist_test()?,
        None => None,
    };
    let (x, y): (Array2<f64>, Vec<usize>) = match mnist {
        Some(images) => (
            images.x.mapv(|v| f64::from(v) / 255.0),
            images.y.iter().map(|v| usize::from(*v)).collect(),
        ),
        None => {
            let digits = embedded::digits();
            (digits.x / 16.0, digits.y.to_vec())
        }
    };
    let (train, test) = train_test_split(x.nrows(), 0.2, 1)?;
    let part =
        |rows: &[usize]| (x.select(Axis(0), rows), rows.iter().map(|j| y[*j]).collect::<Vec<_>>());
    let ((train, train_y), (test, test_y)) = (part(&train), part(&test));

    let stop = Stop {
        relative: 0.05,
        max_seconds: Some(10.0),
        max_passes: f64::INFINITY,
        ..Stop::default()
    };
    let estimator = MulticlassL1 {
        penalty: 0.001,
        // Border pixels are nearly always 0: standardised, they would weigh as much as the others.
        standardise: false,
        stop,
        ..MulticlassL1::default()
    };
    let mut print = |progress: &Progress| {
        println!("{:7.2} s  {}", progress.seconds, progress.certificate);
        std::ops::ControlFlow::Continue(())
    };
    let model = estimator.fit_with(&train, &train_y, Fit::new().watch(&mut print))?;
    println!("\n{:?}: {}", model.solver, model.report);
    println!("{} of {} weights", model.nonzeros(), train.ncols() * 10);
    let predicted = model.predict(&test)?.to_vec();
    let confusion = Confusion::new(&test_y, &predicted, 10)?;
    println!(
        "accuracy on {} images that were left out: {:.4}\n",
        test_y.len(),
        confusion.accuracy()
    );
    println!("rows are digits, columns what was predicted");
    for truth in 0..10 {
        let counts: Vec<String> =
            (0..10).map(|l| format!("{:4}", confusion.count(truth, l))).collect();
        println!("{truth}: {}", counts.join(" "));
    }
    let pruned = model.pruned(0.05, &train, &train_y)?;
    println!(
        "\nwithout the smallest: {} weights, {}",
        pruned.nonzeros(),
        pruned.report.certificate
    );
    Ok(())
}
