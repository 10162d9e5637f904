//! How few pixels tell ten digits apart?
//!
//! This program trains a sparse multiclass support vector machine on handwritten digits in at most half a minute, with a
//! certificate. It uses the 10,000 test images of MNIST if the folder of real data (`FENCHEL_DATA`) has them. Otherwise it uses
//! the small digits that are part of the crate.
//!
//! ```text
//! cargo run --release -p fenchel-examples --example sparse_svm
//! ```

use std::error::Error;
use std::process::ExitCode;

use fenchel_datasets::embedded;
use fenchel_examples::{Show, certificates};
use fenchel_linalg::text::{aligned, fixed};
use fenchel_metrics::{Confusion, train_test_split};
use fenchel_saddle::{Fit, MulticlassL1, Stop};
use ndarray::{Array2, Axis};

fn main() -> ExitCode {
    Show::run(example)
}

fn example(show: &Show) -> Result<(), Box<dyn Error>> {
    let mnist = show.real_data().map(|folder| folder.mnist_test()).transpose()?.flatten();
    show.real(match mnist {
        Some(_) => "MNIST, its 10,000 test images of 28 x 28 pixels; a fifth is left out",
        None => "1,797 images of 8 x 8 pixels (UCI, optical digits); a fifth is left out",
    });
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
        max_seconds: Some(30.0),
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
    let mut print = certificates(|progress| {
        println!("{:>7} s  {}", fixed(progress.seconds, 2), progress.certificate);
    });
    let model = estimator.fit_with(&train, &train_y, Fit::new().watch(&mut print))?;
    println!(
        "\n{}\n{} of {} weights are not 0",
        model.report,
        model.nonzeros(),
        train.ncols() * 10
    );
    let predicted = model.predict(&test)?.to_vec();
    let confusion = Confusion::new(&test_y, &predicted, 10)?;
    let head =
        std::iter::once("digit, by predicted".to_owned()).chain((0..10).map(|l| l.to_string()));
    let mut table: Vec<Vec<String>> = vec![head.collect()];
    for truth in 0..10 {
        let counts = (0..10).map(|found| confusion.count(truth, found).to_string());
        table.push(std::iter::once(truth.to_string()).chain(counts).collect());
    }
    let digits: Vec<String> = (0..10).map(|digit| digit.to_string()).collect();
    show.picture("confusion", &confusion.heat_map(&digits)?.svg())?;
    println!(
        "accuracy on {} images that were left out: {:.4}\n",
        test_y.len(),
        confusion.accuracy()
    );
    print!("{}", aligned(&table, 1));
    let pruned = model.pruned(0.05, &train, &train_y)?;
    println!(
        "\nwithout the smallest: {} weights, {}",
        pruned.nonzeros(),
        pruned.report.certificate
    );
    let used: std::collections::BTreeSet<u32> = pruned.weights.iter().map(|(i, ..)| *i).collect();
    let accuracy = Confusion::new(&test_y, &pruned.predict(&test)?.to_vec(), 10)?.accuracy();
    show.conclude(format_args!(
        "{} of {} pixels are enough to be right about {:.1} % of the digits that were left out.",
        used.len(),
        train.ncols(),
        100.0 * accuracy
    ));
    Ok(())
}
