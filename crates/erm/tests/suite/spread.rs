//! Rows that are spread over ranks, which are threads here: the same bits for any number of ranks, and the answer of all rows.

use fenchel_erm::auto::batch;
use fenchel_erm::loss::{Hinge, Logistic, Poisson, Squared};
use fenchel_erm::methods::{
    CocoaSettings, DualState, FistaSettings, LbfgsSettings, NewtonCgSettings, SagaSettings,
    SdcaSettings, cocoa, fista, lbfgs, newton_cg, saga, sdca,
};
use fenchel_erm::prox::{L1, Zero};
use fenchel_erm::{Error, Method, Point, Problem};
use fenchel_linalg::spread::{Alone, Communicator, Shards, share, threads};
use fenchel_linalg::{AsDesign, Dense, Design};
use fenchel_optim::{Certificate, Loss, Regulariser, Report, Status, Stop};
use ndarray::{Array2, Axis, Slice};

use crate::common::data;

/// Rows of the shards: of no even size, and none at all among them.
const SHARDS: [usize; 7] = [13, 0, 20, 1, 8, 17, 31];

/// What a rank sees of a data set.
type Seen<'s> = Dense<'s, f64>;

/// Runs a fit on ranks of each number; the results of all ranks are the same bits, which are returned.
fn on_ranks<T: PartialEq + Send + std::fmt::Debug>(
    x: &Array2<f64>,
    y: &[f64],
    fit: impl Fn(Seen<'_>, &[f64], std::ops::Range<usize>) -> Result<T, Error> + Sync,
) -> Result<T, Error> {
    let mut first = None;
    // With nine ranks two have nothing.
    for size in [1, 2, 3, 4, 9] {
        let found = threads::run(size, |ranks| {
            let own = share(SHARDS.len(), ranks.rank(), size);
            let shards = Shards::new(ranks, &SHARDS[own])?;
            let rows = shards.before()..shards.before() + shards.rows();
            let part = x.slice_axis(Axis(0), Slice::from(rows.clone()));
            let design = part.as_design()?.spread(&shards)?;
            fit(design, &y[rows.clone()], rows)
        });
        for found in found.map_err(|(_, error)| error)? {
            match &first {
                None => first = Some(found),
                Some(first) => assert_eq!(found, *first, "{size} ranks"),
            }
        }
    }
    Ok(first.unwrap())
}

/// The objective and the lower bound of a fit that converged.
fn bounds(report: &Report) -> (f64, f64) {
    assert_eq!(report.status, Status::Converged, "{report}");
    match report.certificate {
        Certificate::Gap { objective, lower_bound, .. } => (objective, lower_bound),
        ref other => panic!("{other}"),
    }
}

/// The objective of the report is that of all rows at the point, which a certificate of all rows proves too.
fn check<L: Loss, R: Regulariser>(
    whole: &Problem<'_, Dense<'_, f64>, L, R>,
    (point, report): &(Point, Report),
) {
    let (objective, lower_bound) = bounds(report);
    let proved = whole.certify(point).unwrap();
    let Certificate::Gap { objective: expected, lower_bound: other, .. } = proved else {
        panic!("{proved}")
    };
    assert!((objective - expected).abs() <= 1e-13 * expected, "{objective} {expected}");
    assert!(lower_bound <= expected && other <= objective, "{report} {proved}");
    assert!(proved.relative() <= 1e-6, "{proved}");
}

#[test]
fn a_fit_has_the_same_bits_for_any_number_of_ranks() {
    let rows = SHARDS.iter().sum();
    let sample = data(rows, 6, 0.7, 3);
    let (x, y) = (&sample.dense, &sample.signs[..]);
    let stop = Stop::at_relative(1e-7);
    let weights: Vec<f64> = (0..rows).map(|i| (i % 4) as f64).collect();
    for intercept in [false, true] {
        for weighted in [false, true] {
            macro_rules! problem {
                ($design:expr, $y:expr, $rows:expr, $penalty:expr, $l2:expr) => {{
                    let problem = Problem::new($design, $y, Logistic, $penalty, $l2)?;
                    let problem = match weighted {
                        true => problem.with_weights(&weights[$rows])?,
                        false => problem,
                    };
                    if intercept { problem.with_intercept() } else { problem }
                }};
            }
            let all = || x.as_design().map_err(Error::from);
            let smooth = (|| Ok::<_, Error>(problem!(all()?, y, 0..rows, Zero, 0.02)))().unwrap();
            let penalty = L1 { strength: 0.01 };
            let sparse = (|| Ok::<_, Error>(problem!(all()?, y, 0..rows, penalty, 0.0)))().unwrap();
            let found = on_ranks(x, y, |x, y, rows| {
                let problem = problem!(x, y, rows, Zero, 0.02);
                let settings = LbfgsSettings { stop, ..Default::default() };
                let found = lbfgs(&problem, &settings, None, &mut ())?;
                Ok((found.state.point, found.report.without_seconds()))
            });
            check(&smooth, &found.unwrap());
            let found = on_ranks(x, y, |x, y, rows| {
                let problem = problem!(x, y, rows, Zero, 0.02);
                let settings = NewtonCgSettings { stop, ..Default::default() };
                let found = newton_cg(&problem, &settings, None, &mut ())?;
                Ok((found.state, found.report.without_seconds()))
            });
            check(&smooth, &found.unwrap());
            let found = on_ranks(x, y, |x, y, rows| {
                let problem = problem!(x, y, rows, penalty, 0.0);
                let settings = FistaSettings { stop, ..Default::default() };
                let found = fista(&problem, &settings, None, &mut ())?;
                Ok((found.state.point, found.report.without_seconds()))
            });
            check(&sparse, &found.unwrap());
        }
    }
}

/// Counts, whose loss has no curvature bound; squares; and no penalty at all, with a column that lies far from 0.
#[test]
fn batch_methods_take_spread_rows() {
    let rows = SHARDS.iter().sum();
    let sample = data(rows, 4, 0.8, 5);
    let counts: Vec<f64> = sample.reals.iter().map(|y| y.abs().ceil()).collect();
    let mut x = sample.dense;
    x.column_mut(2).mapv_inplace(|a| a + 40.0);
    let stop = Stop::at_relative(1e-6);
    let (point, report) = on_ranks(&x, &counts, |x, y, _| {
        let problem = Problem::new(x, y, Poisson, Zero, 0.1)?.with_intercept();
        let settings = NewtonCgSettings { stop, ..Default::default() };
        let found = newton_cg(&problem, &settings, None, &mut ())?;
        Ok((found.state, found.report.without_seconds()))
    })
    .unwrap();
    assert_eq!(report.status, Status::Converged);
    let whole = Problem::new(x.as_design().unwrap(), &counts, Poisson, Zero, 0.1).unwrap();
    let whole = whole.with_intercept();
    let proved = whole.certify(&point).unwrap();
    assert!(proved.relative() <= 1e-6, "{proved}");
    let (point, method) = on_ranks(&x, &sample.reals, |x, y, _| {
        let problem = Problem::new(x, y, Squared, Zero, 0.0)?.with_intercept();
        let found = batch(&problem, &Stop::at_relative(1e-9), None, &mut ())?;
        Ok((found.state.point, found.state.choice.method))
    })
    .unwrap();
    assert_eq!(method, Method::Lbfgs);
    let whole = Problem::new(x.as_design().unwrap(), &sample.reals, Squared, Zero, 0.0).unwrap();
    let whole = whole.with_intercept();
    let settings = NewtonCgSettings { stop: Stop::at_relative(1e-10), ..Default::default() };
    let best = newton_cg(&whole, &settings, None, &mut ()).unwrap().state;
    let (found, best) = (whole.objective(&point).unwrap(), whole.objective(&best).unwrap());
    assert!(found <= best * (1.0 + 1e-6), "{found} {best}");
}

/// Classes that a hyperplane separates, and labels of one class, of which no rank sees more than its own.
#[test]
fn problems_without_a_minimiser_are_seen_by_all_ranks() {
    let rows: usize = SHARDS.iter().sum();
    let sign = |i: usize| if i.is_multiple_of(3) { 1.0 } else { -1.0 };
    let x = Array2::from_shape_fn((rows, 2), |(i, c)| match c {
        0 => sign(i) * (1.0 + (i % 5) as f64),
        _ => (i as f64).sin(),
    });
    let separated: Vec<f64> = (0..rows).map(sign).collect();
    let fit = |x: Seen<'_>, y: &[f64], l2: f64| {
        let problem = Problem::new(x, y, Logistic, Zero, l2)?.with_intercept();
        let stop = Stop { max_passes: 300.0, ..Stop::at_relative(1e-8) };
        let settings = LbfgsSettings { stop, ..Default::default() };
        Ok(lbfgs(&problem, &settings, None, &mut ())?.report.status)
    };
    let status = on_ranks(&x, &separated, |x, y, _| fit(x, y, 0.0));
    assert_eq!(status.unwrap(), Status::NoMinimiser);
    let status = on_ranks(&x, &vec![1.0; rows], |x, y, _| fit(x, y, 0.1));
    assert_eq!(status.unwrap(), Status::NoMinimiser);
}

#[test]
fn what_needs_all_rows_refuses_some_by_name() {
    let x = Array2::from_shape_fn((2, 1), |(i, _)| 1.0 + i as f64);
    let shards = Shards::new(&Alone, &[1, 1]).unwrap();
    let design = x.as_design().unwrap().spread(&shards).unwrap();
    let problem = Problem::new(design, &[1.0, -1.0], Logistic, Zero, 0.1).unwrap();
    let error = saga(&problem, &SagaSettings::default(), None, &mut ()).unwrap_err();
    let needs =
        "design matrix: its rows are spread over 1 processes, and this method needs all of them";
    assert!(error.to_string().starts_with(needs), "{error}");
    let stop = Stop { max_seconds: Some(1.0), ..Stop::default() };
    let error = lbfgs(&problem, &LbfgsSettings { stop, ..Default::default() }, None, &mut ());
    let expected = "stop.max_seconds = 1; expected none, for rows that are spread over processes";
    assert_eq!(error.unwrap_err().to_string(), expected);
}

/// A bad row of one rank ends all, and its rank and its place among all rows are known.
#[test]
fn an_error_of_one_rank_ends_all() {
    let x = Array2::from_shape_fn((6, 2), |(i, c)| (i + c) as f64);
    let found = threads::run(3, |ranks| {
        let rows = share(6, ranks.rank(), 3);
        let shards = Shards::new(ranks, &[rows.len()])?;
        let part = x.slice_axis(Axis(0), Slice::from(rows.clone()));
        let design = part.as_design()?.spread(&shards)?;
        let mut y = vec![1.0, -1.0];
        if ranks.rank() == 1 {
            y[1] = 0.3;
        }
        let problem = Problem::new(design, &y, Logistic, Zero, 0.1)?;
        Ok(lbfgs(&problem, &LbfgsSettings::default(), None, &mut ())?.state.point)
    });
    let (rank, error): (usize, Error) = found.unwrap_err();
    assert_eq!((rank, error.to_string().contains("label of row 3 is 0.3")), (1, true), "{error}");
}

#[test]
fn ranks_that_differ_are_refused() {
    let x = Array2::from_shape_fn((6, 2), |(i, c)| (i + c) as f64);
    let refused = |with: &(dyn Fn(usize) -> (f64, bool, bool) + Sync)| {
        let found = threads::run(3, |ranks| {
            let rows = share(6, ranks.rank(), 3);
            let shards = Shards::new(ranks, &[rows.len()])?;
            let part = x.slice_axis(Axis(0), Slice::from(rows));
            let design = part.as_design()?.spread(&shards)?;
            let (l2, start, weighted) = with(ranks.rank());
            let start = start.then(|| Point { weights: vec![0.1, 0.0], intercept: 0.0 });
            let problem = Problem::new(design, &[1.0, -1.0], Logistic, Zero, l2)?;
            let problem = match weighted {
                true => problem.with_weights(&[1.0, 2.0])?,
                false => problem,
            };
            Ok::<_, Error>(batch(&problem, &Stop::default(), start, &mut ())?.state.point)
        });
        found.unwrap_err().1.to_string()
    };
    let error = refused(&|rank| (if rank == 1 { 0.2 } else { 0.1 }, false, false));
    assert!(error.starts_with("settings of the fit: rank 1 has "), "{error}");
    let error = refused(&|rank| (0.1, rank != 2, false));
    assert!(error.starts_with("start: rank 2 has \"none\", rank 0 has "), "{error}");
    let penalty = threads::run(3, |ranks| {
        let shards = Shards::new(ranks, &[2])?;
        let part = x.slice_axis(Axis(0), Slice::from(2 * ranks.rank()..2 * ranks.rank() + 2));
        let design = part.as_design()?.spread(&shards)?;
        let penalty = L1 { strength: if ranks.rank() == 2 { 0.2 } else { 0.1 } };
        let problem = Problem::new(design, &[1.0, -1.0], Logistic, penalty, 0.0)?;
        Ok::<_, Error>(batch(&problem, &Stop::default(), None, &mut ())?.state.point)
    });
    let error = penalty.unwrap_err().1.to_string();
    assert!(error.starts_with("settings of the fit: rank 2 has "), "{error}");
    for other in 0..3 {
        for weighted in [true, false] {
            let error = refused(&|rank| (0.1, false, (rank == other) == weighted));
            let of = format!("settings of the fit: rank {} has ", other.max(1));
            assert!(error.starts_with(&of) && error.contains("rows with weights"), "{error}");
        }
    }
}

/// A loss with a kink, and a smooth one under an l1 penalty: the gap is proved, and the bits do not depend on the number of ranks.
#[test]
fn dual_ascent_in_shards_proves_its_point() {
    let rows = SHARDS.iter().sum();
    let sample = data(rows, 6, 0.7, 3);
    let (x, y) = (&sample.dense, &sample.signs[..]);
    macro_rules! check {
        ($loss:expr, $penalty:expr, $l2:expr, $tolerance:expr) => {{
            let stop = Stop::at_relative($tolerance);
            let (point, dual, report) = on_ranks(x, y, |x, y, _| {
                let problem = Problem::new(x, y, $loss, $penalty, $l2)?;
                let settings = CocoaSettings { stop, ..Default::default() };
                let found = cocoa(&problem, &settings, None, &mut ())?;
                let dual: f64 = found.state.dual.iter().map(|u| u.abs()).fold(0.0, f64::max);
                let dual = fenchel_linalg::Design::largest(&x, dual);
                Ok((found.state.point, dual, found.report.without_seconds()))
            })
            .unwrap();
            assert!(dual > 0.0);
            let whole = Problem::new(x.as_design().unwrap(), y, $loss, $penalty, $l2).unwrap();
            let settings = SdcaSettings { stop: Stop::at_relative(1e-9), ..Default::default() };
            let best = sdca(&whole, &settings, None, &mut ()).unwrap().state.point;
            let best = whole.objective(&best).unwrap();
            let (objective, lower_bound) = bounds(&report);
            let expected = whole.objective(&point).unwrap();
            assert!((objective - expected).abs() <= 1e-13 * expected, "{objective} {expected}");
            assert!(lower_bound <= best * (1.0 + 1e-12), "{lower_bound} {best}");
            assert!(objective <= best * (1.0 + 2.0 * $tolerance), "{objective} {best}");
        }};
    }
    check!(Hinge, Zero, 0.1, 1e-6);
    check!(Logistic, L1 { strength: 0.01 }, 0.02, 1e-7);
}

#[test]
fn dual_ascent_in_shards_refuses_what_it_cannot_do() {
    let sample = data(91, 3, 1.0, 1);
    let fit = |l2: f64, intercept: bool, start: Option<Vec<f64>>| {
        on_ranks(&sample.dense, &sample.signs, |x, y, _| {
            let problem = Problem::new(x, y, Logistic, L1 { strength: 0.01 }, l2)?;
            let problem = if intercept { problem.with_intercept() } else { problem };
            let start = start.clone().map(|dual| DualState::new(Point::zero(3), dual));
            Ok(cocoa(&problem, &CocoaSettings::default(), start, &mut ())?.state.point)
        })
    };
    let message = |found: Result<Point, Error>| found.unwrap_err().to_string();
    assert!(
        message(fit(0.0, false, None)).starts_with("cocoa needs a strongly convex regulariser")
    );
    assert!(message(fit(0.1, true, None)).starts_with("cocoa does not support an unpenalised"));
    assert!(message(fit(0.1, false, Some(vec![5.0]))).contains("start.dual: expected length"));
}
