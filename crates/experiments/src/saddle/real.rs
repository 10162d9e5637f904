//! This experiment computes the accuracy and the number of nonzero weights along a path of radii, on real data.

use fenchel_datasets::{Folder, embedded, generate};
use fenchel_linalg::CsrMatrix;
use fenchel_optim::Stop;
use fenchel_saddle::{MulticlassL1, MulticlassL1Model, MulticlassLoss};
use ndarray::{Array2, Axis as Direction};

use crate::{Axis, Context, Experiment, Failure, Figure, Ground, Outcome, Series, Source, Table};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "sa-real",
    file: file!(),
    document: super::DOCUMENT,
    title: "Accuracy against nonzeros on iris, wine, digits; images and documents",
    question: "How accurate is a sparse classifier on real data, with how many weights?",
    learnt: "More than 85 % on iris, wine and digits at the largest radius; each fit comes with its gap.",
    quick: "",
    needs: &["mnist-test"],
    run: experiment,
};

fn experiment(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let (iris, wine, digits) = (embedded::iris(), embedded::wine(), embedded::digits());
    let rows = context.pick(600, 1797);
    let first: Vec<usize> = (0..rows).collect();
    let part = digits.x.select(Direction(0), &first);
    let labels =
        |y: &ndarray::Array1<usize>, n: usize| y.iter().take(n).copied().collect::<Vec<_>>();
    let sets: [(&str, Array2<f64>, Vec<usize>); 3] = [
        ("iris", iris.x, labels(&iris.y, 150)),
        ("wine", wine.x, labels(&wine.y, 178)),
        ("digits", part, labels(&digits.y, rows)),
    ];
    let radii = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
    outcome
        .setting("test rows", "every third")
        .setting("radii", format!("{radii:?}"))
        .setting("loss", "hinge");
    let mut table = Table::new(
        "Along the radius",
        [
            ("data", ""),
            ("radius", ""),
            ("weights", ""),
            ("test accuracy", ""),
            ("objective", ""),
            ("gap", ""),
        ],
    );
    let mut figure = Figure::new(
        "Accuracy against nonzeros",
        Axis::log("weights that are not 0"),
        Axis::linear("test accuracy"),
    );
    let (mut largest, mut accuracies) = (0.0_f64, vec![]);
    for (at, (name, x, y)) in sets.iter().enumerate() {
        context.check()?;
        context.progress(at as f64 / 3.0, name);
        let (test, train): (Vec<usize>, Vec<usize>) = (0..y.len()).partition(|j| j % 3 == 0);
        let take = |rows: &[usize]| {
            (x.select(Direction(0), rows), rows.iter().map(|j| y[*j]).collect::<Vec<_>>())
        };
        let ((x, y), (test_x, test_y)) = (take(&train), take(&test));
        let stop =
            Stop { relative: 0.02, max_passes: context.pick(3000.0, 50_000.0), ..Stop::default() };
        let stop = context.stop("fit", stop);
        let estimator = MulticlassL1 {
            loss: MulticlassLoss::Hinge,
            penalty: 0.0,
            stop,
            ..MulticlassL1::default()
        };
        let mut points = vec![];
        for (model, radius) in estimator.path(&x, &y, &radii)?.iter().zip(radii) {
            let accuracy = model.score(&test_x, &test_y)?;
            let certificate = model.report.certificate;
            largest = largest.max(certificate.relative());
            table.push([
                (*name).into(),
                radius.into(),
                (model.nonzeros() as f64).into(),
                accuracy.into(),
                certificate.objective().unwrap_or(f64::NAN).into(),
                certificate.value().into(),
            ]);
            if model.nonzeros() > 0 {
                points.push((model.nonzeros() as f64, accuracy));
            }
        }
        accuracies.push(points.last().map_or(0.0, |p| p.1));
        figure = figure.with(Series::line_points(*name, points));
    }
    let least = accuracies.iter().copied().fold(1.0, f64::min);
    let claim = Source::OURS.claim(
        "the sparse classifier is right on 85 % of the test rows of each set at the largest radius",
    );
    outcome.claim(
        claim
            .on(Ground::Real)
            .rests_on(["fit"])
            .ours("at least 0.85 on all three")
            .holds((least, least >= 0.85)),
    );
    let claim = Source::OURS.claim("every fit of the path is certified");
    outcome
        .claim(claim.on(Ground::Real).rests_on(["fit"]).reported("largest relative gap", largest));
    outcome.table(table).figure(figure);
    large(context, &mut outcome)?;
    Ok(outcome)
}

/// Fits the default method once to each data set: MNIST, if the folder of data has it and the run is a full one, and generated documents.
fn large(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let mut table = Table::new(
        "One fit with the default method, every fifth row left out",
        [
            ("data", ""),
            ("method", ""),
            ("weights", ""),
            ("test accuracy", ""),
            ("relative gap", ""),
        ],
    );
    let estimator = |penalty: f64| {
        let stop =
            Stop { relative: 0.2, max_passes: context.pick(400.0, 2000.0), ..Stop::default() };
        let stop = context.stop("fit", stop);
        MulticlassL1 { penalty, standardise: false, stop, ..MulticlassL1::default() }
    };
    let topics = context.pick(10, 100);
    let documents = generate::topics(&generate::Topics {
        rows: context.pick(600, 5000),
        words: context.pick(800, 20_000),
        topics,
        ..generate::Topics::default()
    });
    let part = |test: bool| {
        let (mut offsets, mut places, mut values, mut y) = (vec![0], vec![], vec![], vec![]);
        for j in (0..documents.labels.len()).filter(|j| (j % 5 == 0) == test) {
            let row = documents.offsets[j]..documents.offsets[j + 1];
            places.extend_from_slice(&documents.places[row.clone()]);
            values.extend_from_slice(&documents.values[row]);
            offsets.push(places.len());
            y.push(documents.labels[j]);
        }
        (CsrMatrix::new((y.len(), documents.columns), offsets, places, values), y)
    };
    context.progress(0.9, "documents");
    let ((x, y), (test_x, test_y)) = (part(false), part(true));
    let model = estimator(context.pick(1e-3, 1e-4)).fit(&x, &y)?;
    let accuracy = model.score(&test_x, &test_y)?;
    let mut row = |name: &str, model: &MulticlassL1Model<usize>, accuracy: f64| {
        table.push([
            name.into(),
            format!("{:?}", model.solver).into(),
            (model.nonzeros() as f64).into(),
            accuracy.into(),
            model.report.certificate.relative().into(),
        ]);
    };
    row(&format!("documents of {topics} topics"), &model, accuracy);
    let (accuracy, chance) = (accuracy, 1.0 / topics as f64);
    let claim = Source::OURS.claim("documents are told apart by a few telling words");
    outcome.claim(
        claim
            .rests_on(["fit"])
            .ours("test accuracy at least 5 times chance; a tenth of the labels is noise")
            .holds((accuracy, accuracy >= 5.0 * chance)),
    );
    let images = match &context.data {
        Some(root) if context.pick(false, true) => Folder::new(root).mnist_test()?,
        _ => None,
    };
    if let Some(images) = images {
        context.progress(0.95, "images");
        let x = images.x.mapv(|v| f64::from(v) / 255.0);
        let y: Vec<usize> = images.y.iter().map(|v| usize::from(*v)).collect();
        let (test, train): (Vec<usize>, Vec<usize>) = (0..y.len()).partition(|j| j % 5 == 0);
        let take = |rows: &[usize]| {
            (x.select(Direction(0), rows), rows.iter().map(|j| y[*j]).collect::<Vec<_>>())
        };
        let ((x, y), (test_x, test_y)) = (take(&train), take(&test));
        let model = estimator(1e-3).fit(&x, &y)?;
        let accuracy = model.score(&test_x, &test_y)?;
        row("MNIST, 8,000 images", &model, accuracy);
        let claim = Source::OURS.claim("images of digits are classified");
        outcome.claim(
            claim
                .on(Ground::Real)
                .rests_on(["fit"])
                .ours("test accuracy at least 0.85")
                .holds((accuracy, accuracy >= 0.85)),
        );
    } else {
        outcome.note("MNIST is used at full size only, and where the folder of data has it.");
    }
    outcome.table(table);
    Ok(())
}
