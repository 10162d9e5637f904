//! Rows that are spread over ranks, which are threads here: the same statistics for any number of ranks, and those of all rows.

use fenchel_ggm::{Error, GaussianModel, GraphicalLasso, Statistics};
use fenchel_optim::spread::{Communicator, Shards, share, threads};
use ndarray::{Array2, Axis, Slice};

/// Rows of the shards: of no even size, and none at all among them.
const SHARDS: [usize; 7] = [13, 0, 20, 1, 8, 17, 31];

/// The first column never varies, the second lies far from 0.
fn data() -> Array2<f64> {
    Array2::from_shape_fn((SHARDS.iter().sum(), 5), |(i, c)| match c {
        0 => 0.1,
        1 => 1e4 + ((i * 7) % 24) as f64 / 7.0,
        _ => ((i * [5, 3, 11][c - 2] + i / 6) % [11, 19, 16][c - 2]) as f64 / 3.0,
    })
}

fn on_ranks<T: Send>(
    x: &Array2<f64>,
    size: usize,
    of: impl Fn(&Statistics) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, (usize, Error)> {
    threads::run(size, |ranks| {
        let shards = Shards::new(ranks, &SHARDS[share(SHARDS.len(), ranks.rank(), size)])?;
        let rows = shards.before()..shards.before() + shards.rows();
        of(&Statistics::from_spread(&x.slice_axis(Axis(0), Slice::from(rows)), &shards)?)
    })
}

#[test]
fn statistics_have_the_same_bits_for_any_number_of_ranks() {
    let x = data();
    let first = on_ranks(&x, 1, |found| Ok(found.clone())).unwrap().remove(0);
    // With nine ranks two have nothing.
    for size in [2, 3, 4, 9] {
        let found = on_ranks(&x, size, |found| Ok(found.clone())).unwrap();
        assert!(found.iter().all(|found| *found == first), "{size} ranks");
    }
    let whole = Statistics::from_data(&x).unwrap();
    assert_eq!((first.samples, first.covariance[[0, 0]]), (whole.samples, 0.0));
    for (found, expected) in first.mean.iter().zip(&whole.mean) {
        assert!((found - expected).abs() <= 1e-14 * expected.abs(), "{found} {expected}");
    }
    // Products of numbers of the size of the deviations, whose sums are in another order.
    for ((place, found), expected) in first.covariance.indexed_iter().zip(&whole.covariance) {
        let (i, j) = place;
        let size = (whole.covariance[[i, i]] * whole.covariance[[j, j]]).sqrt();
        assert!((found - expected).abs() <= 1e-11 * size, "{place:?}: {found} {expected}");
    }
}

#[test]
fn a_model_of_spread_rows_has_the_same_bits() {
    let x = data().select(Axis(1), &[1, 2, 3, 4]).as_standard_layout().into_owned();
    let fit =
        |found: &Statistics| GraphicalLasso { l1: 0.1.into(), ..Default::default() }.fit(found);
    let same =
        |a: &GaussianModel, b: &GaussianModel| (&a.mean, &a.precision) == (&b.mean, &b.precision);
    let first = on_ranks(&x, 1, fit).unwrap().remove(0);
    assert!(first.report.certificate.value() <= 1e-4, "{}", first.report);
    for size in 2..=4 {
        assert!(on_ranks(&x, size, fit).unwrap().iter().all(|model| same(model, &first)));
    }
}

#[test]
fn ranks_without_enough_rows_or_with_other_columns_are_refused() {
    let x = data();
    let refused = |own: &(dyn Fn(usize) -> (usize, usize) + Sync)| {
        let found = threads::run(3, |ranks| {
            let (rows, columns) = own(ranks.rank());
            let shards = Shards::new(ranks, &[rows])?;
            let part = x.slice_axis(Axis(0), Slice::from(..rows));
            let part = part.slice_axis(Axis(1), Slice::from(..columns)).to_owned();
            Statistics::from_spread(&part, &shards)
        });
        found.unwrap_err().1.to_string()
    };
    assert_eq!(refused(&|rank| (rank / 2, 3)), "samples = 1; expected at least 2");
    let error = refused(&|rank| (2, if rank == 1 { 2 } else { 3 }));
    assert!(error.contains("columns, but others have 2 to 3"), "{error}");
    let mut odd = x.clone();
    odd[[40, 2]] = f64::NAN;
    let (rank, error) = on_ranks(&odd, 3, |_| Ok(())).unwrap_err();
    assert!(rank > 0 && error.to_string().contains("missing"), "{error}");
}
