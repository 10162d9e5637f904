//! Rows that are spread over ranks, which are threads here: the same model for any number of ranks, and that of all rows.

use fenchel_expfam::Error;
use fenchel_expfam::glm::{Glm, GlmModel, Logistic, PoissonLog, Reciprocal, ScalarFamily, Targets};
use fenchel_optim::spread::{Communicator, Shards, share, threads};
use fenchel_optim::{Fit, Status, Stop};
use ndarray::{Array2, Axis, Slice};

/// Rows of the shards: of no even size, and none at all among them.
const SHARDS: [usize; 7] = [13, 0, 20, 1, 8, 17, 31];

struct Data {
    x: Array2<f64>,
    y: Vec<f64>,
    weights: Vec<f64>,
    offset: Option<Vec<f64>>,
}

/// The second column lies far from 0 where `far` is.
fn data(y: impl Fn(usize) -> f64, far: f64, offset: bool) -> Data {
    let n = SHARDS.iter().sum();
    Data {
        x: Array2::from_shape_fn((n, 3), |(i, j)| {
            let column = ((i * [7, 5, 3][j]) % [24, 11, 19][j]) as f64 / 10.0;
            column + if j == 1 { far } else { 0.0 }
        }),
        y: (0..n).map(y).collect(),
        weights: (0..n).map(|i| (i % 4) as f64).collect(),
        offset: offset.then(|| (0..n).map(|i| 0.1 * ((3 * i) % 5) as f64).collect()),
    }
}

fn on_ranks<F: ScalarFamily + Clone + PartialEq + std::fmt::Debug + Send>(
    glm: &Glm<F>,
    data: &Data,
    size: usize,
) -> Result<Vec<GlmModel<F>>, (usize, Error)> {
    threads::run(size, |ranks| {
        let shards = Shards::new(ranks, &SHARDS[share(SHARDS.len(), ranks.rank(), size)])?;
        let rows = shards.before()..shards.before() + shards.rows();
        let x = data.x.slice_axis(Axis(0), Slice::from(rows.clone()));
        let mut targets = Targets::new(&data.y[rows.clone()]);
        if let Some(offset) = &data.offset {
            targets = targets.offset(&offset[rows.clone()]);
        }
        glm.fit_with(&x, targets, Fit::new().weights(&data.weights[rows]).spread(&shards))
    })
}

/// The same bits for any number of ranks, with six of nine ranks that have rows, and the model of all rows.
fn check<F: ScalarFamily + Clone + PartialEq + std::fmt::Debug + Send>(family: F, data: &Data) {
    for l2 in [0.0, 0.1] {
        let glm = Glm { l2, ..Glm::new(family.clone()) };
        let mut targets = Targets::new(&data.y);
        if let Some(offset) = &data.offset {
            targets = targets.offset(offset);
        }
        let whole = glm.fit_with(&data.x, targets, Fit::new().weights(&data.weights)).unwrap();
        let first = on_ranks(&glm, data, 1).unwrap().remove(0);
        for size in [2, 3, 4, 9] {
            for model in on_ranks(&glm, data, size).unwrap() {
                assert_eq!(model, first, "{size} ranks");
            }
        }
        assert_eq!(first.report.status, Status::Converged, "{}", first.report);
        let numbers = |of: &GlmModel<F>| {
            let s = of.summary();
            let errors = s.coefficients.iter().map(|c| c.standard_error);
            let of_fit = [s.deviance, s.null_deviance, s.log_likelihood, s.dispersion];
            let counts = [s.rows, s.residual_degrees, s.at_border].map(|count| count as f64);
            let estimates = s.coefficients.iter().map(|c| c.estimate);
            estimates.chain(errors).chain(of_fit).chain(counts).collect::<Vec<f64>>()
        };
        // Both gradients are below 1e-10 of their terms.
        for (found, expected) in numbers(&first).into_iter().zip(numbers(&whole)) {
            let off = (found - expected).abs();
            assert!(off <= 1e-7 * (1.0 + expected.abs()), "{found} {expected}");
        }
    }
}

#[test]
fn a_model_has_the_same_bits_for_any_number_of_ranks() {
    for far in [0.0, 300.0] {
        let click = |i: usize| f64::from(u8::from((i * i + 3 * i) % 7 < 3));
        check(Logistic, &data(click, far, false));
        let count = |i: usize| ((i * 13) % 6) as f64;
        check(PoissonLog, &data(count, far, true));
        let size = |i: usize| 0.5 + ((i * 11) % 8) as f64;
        check(Reciprocal, &data(size, far, false));
    }
}

#[test]
fn data_that_are_bad_in_one_rank_are_refused() {
    let mut sample = data(|i| (i % 3) as f64, 0.0, false);
    sample.y[30] = -1.0;
    let (rank, error) = on_ranks(&Glm::new(PoissonLog), &sample, 3).unwrap_err();
    // The row is that of all rows, not that of the rank.
    assert_eq!(
        (rank, error.to_string()),
        (1, "target of row 30 is -1; expected a finite number >= 0".into())
    );
    let stop = Stop { max_seconds: Some(1.0), ..Glm::new(PoissonLog).stop };
    let glm = Glm { stop, ..Glm::new(PoissonLog) };
    let (_, error) = on_ranks(&glm, &data(|i| (i % 3) as f64, 0.0, false), 2).unwrap_err();
    assert!(error.to_string().contains("expected none, for rows that are spread"), "{error}");
}

#[test]
fn ranks_that_differ_are_refused() {
    let sample = data(|i| (i % 3) as f64, 0.0, false);
    let model = on_ranks(&Glm::new(PoissonLog), &sample, 1).unwrap().remove(0);
    let refused = |with: &(dyn Fn(usize) -> (bool, bool, f64) + Sync)| {
        let ended = threads::run(3, |ranks| {
            let shards = Shards::new(ranks, &SHARDS[share(SHARDS.len(), ranks.rank(), 3)])?;
            let rows = shards.before()..shards.before() + shards.rows();
            let x = sample.x.slice_axis(Axis(0), Slice::from(rows.clone()));
            let (weights, start, l2) = with(ranks.rank());
            let mut fit = Fit::new();
            fit.weights = weights.then_some((&sample.weights[rows.clone()]).into());
            fit.start = start.then_some(&model);
            let glm = Glm { l2, ..Glm::new(PoissonLog) };
            glm.fit_with(&x, Targets::new(&sample.y[rows]), fit.spread(&shards))
        });
        ended.unwrap_err().1.to_string()
    };
    let messages = [
        refused(&|rank| (rank != 1, false, 0.0)),
        refused(&|rank| (false, rank != 1, 0.0)),
        refused(&|rank| (false, false, f64::from(u8::from(rank == 1)))),
    ];
    for message in messages {
        assert!(message.starts_with("settings of the fit: rank 1 has "), "{message}");
    }
}

/// Classes that a hyperplane separates; no rank alone knows it.
#[test]
fn a_likelihood_without_a_maximum_is_seen_by_all_ranks() {
    let mut sample = data(|i| f64::from(u8::from(i % 3 == 0)), 0.0, false);
    let y = sample.y.clone();
    sample.x.column_mut(0).iter_mut().zip(&y).for_each(|(x, y)| *x += 10.0 * y);
    for size in [1, 4] {
        for model in on_ranks(&Glm::new(Logistic), &sample, size).unwrap() {
            assert_eq!(model.report.status, Status::NoMinimiser);
        }
    }
}

/// Summaries of shards merge in the tree: the mean and the variance of all numbers, with the same bits for any number of ranks.
#[test]
fn summaries_merge_to_the_same_bits() {
    use fenchel_expfam::Summary;
    use fenchel_expfam::families::Normal;

    let n: usize = SHARDS.iter().sum();
    let x: Vec<f64> = (0..n).map(|i| 1e6 + ((i * 37) % 101) as f64 / 7.0).collect();
    let on_ranks = |size| {
        let merged = threads::run(size, |ranks| {
            let shards = Shards::new(ranks, &SHARDS[share(SHARDS.len(), ranks.rank(), size)])?;
            let own = &x[shards.before()..shards.before() + shards.rows()];
            let summaries = shards.own().map(|rows| match rows.is_empty() {
                true => Ok(Summary::new(Normal)),
                false => Summary::of(Normal, &own[rows]),
            });
            let summaries = summaries.collect::<Result<Vec<_>, Error>>()?;
            let bytes = |summary: &Summary<Normal>| serde_json::to_vec(summary).unwrap();
            let read = |bytes: &[u8]| Ok(serde_json::from_slice(bytes).unwrap());
            shards.merge(summaries, bytes, read, |mut left: Summary<Normal>, right| {
                left.merge(&right)?;
                Ok::<_, Error>(left)
            })
        });
        merged.map_err(|(_, error)| error).unwrap().remove(0)
    };
    let one = on_ranks(1);
    (2..=6).for_each(|size| assert_eq!(on_ranks(size), one, "{size} ranks"));
    let (merged, whole) = (one.mle().unwrap(), Summary::of(Normal, &x).unwrap().mle().unwrap());
    assert!((merged.location() - whole.location()).abs() <= 1e-9);
    assert!((merged.variance() - whole.variance()).abs() <= 1e-9 * whole.variance());
}
