use super::*;
use crate::auto::auto;
use crate::loss::Logistic;
use fenchel_linalg::Dense;
use fenchel_optim::prox::L1;
use fenchel_optim::{Progress, Status};
use ndarray::Array2;
use std::cell::Cell;
use std::ops::ControlFlow;

fn data(n: usize, d: usize) -> (Array2<f64>, Vec<f64>) {
    let x = Array2::from_shape_fn((n, d), |(i, j)| ((i * 37 + j * 11 + i * j) as f64).sin());
    let y = (0..n).map(|i| if (i as f64).cos() + x[[i, 0]] > 0.0 { 1.0 } else { -1.0 });
    let y = y.collect();
    (x, y)
}

/// Dense data that is mostly zeros has the optimum of the same data stored sparse.
#[test]
fn zeros_of_dense_data_are_left_out() {
    let (mut x, y) = data(90, 40);
    x.indexed_iter_mut().filter(|((i, j), _)| (i + j) % 6 != 0).for_each(|(_, a)| *a = 0.0);
    let settings = AutoSettings { stop: Stop::at_relative(1e-9), ..Default::default() };
    let dense = Problem::new(Dense::new(x.view()).unwrap(), &y, Logistic, Zero, 0.02).unwrap();
    let found = auto(&dense, &settings, None, &mut ()).unwrap();
    assert_ne!(found.state.choice.method, Method::Newton);
    let exact = newton(
        &dense,
        &NewtonSettings { stop: settings.stop, ..Default::default() },
        None,
        &mut (),
    );
    let exact = exact.unwrap();
    assert_eq!(found.report.status, Status::Converged, "{}", found.report);
    // The certificate is that of the point on the data as it was given.
    let certificate = dense.certify(&found.state.point).unwrap();
    let objective = found.report.certificate.objective().unwrap();
    assert!((certificate.objective().unwrap() - objective).abs() <= 1e-14);
    let best = exact.report.certificate.objective().unwrap();
    assert!((objective - best).abs() <= 2e-9 * best);
}

/// The second method starts where the first gave up and proves the same optimum.
#[test]
fn every_method_takes_over_from_every_other() {
    let (x, y) = data(120, 8);
    let design = Dense::new(x.view()).unwrap();
    let smooth = Problem::new(design, &y, Logistic, Zero, 1e-3).unwrap().with_intercept();
    let stop = Stop::at_relative(1e-9);
    let optimum = auto(&smooth, &AutoSettings { stop, ..Default::default() }, None, &mut ());
    let optimum = optimum.unwrap().report.certificate.objective().unwrap();
    let early = Stop { max_passes: 2.0, ..stop };
    let methods = [
        Method::Catalyst,
        Method::Qning,
        Method::Saga,
        Method::Fista,
        Method::Newton,
        Method::SubsampledNewton,
        Method::NewtonCg,
        Method::Lbfgs,
    ];
    for first in methods {
        for second in methods {
            let run = Run { problem: &smooth, l1: 0.0, seed: 0, max_memory: None };
            let mut nobody = ();
            let mut by = |method, start, stop| {
                let watch = &mut Guarded::new(method, &mut nobody);
                run.by(method, start, stop, watch).unwrap()
            };
            let (point, _) = by(first, None, early);
            let (_, report) = by(second, Some(point), stop);
            assert_eq!(report.status, Status::Converged, "{first:?} {second:?}: {report}");
            let found = report.certificate.objective().unwrap();
            assert!((found - optimum).abs() <= 2e-9 * optimum, "{first:?} {second:?}");
        }
    }
}

/// An observer sees the passes go on and the method at work; without the memory for Newton's method another one finds
/// the same optimum.
#[test]
fn the_passes_of_both_methods_add_up() {
    let (x, y) = data(60, 5);
    let design = Dense::new(x.view()).unwrap();
    let problem = Problem::new(design, &y, Logistic, L1 { strength: 1e-3 }, 0.0).unwrap();
    let settings = AutoSettings { stop: Stop::at_relative(1e-8), ..Default::default() };
    let mut seen: Vec<(Method, f64)> = Vec::new();
    let mut watch = |progress: &Progress, method: &Method| {
        seen.push((*method, progress.passes));
        ControlFlow::Continue(())
    };
    let solution = auto(&problem, &settings, None, &mut watch).unwrap();
    assert_eq!(solution.report.status, Status::Converged, "{}", solution.report);
    assert!(seen.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    assert_eq!(seen[0].0, solution.state.choice.method);
    let last = solution.state.choice.switched.unwrap_or(solution.state.choice.method);
    assert_eq!(seen.last().unwrap().0, last);
    let starved = AutoSettings { max_memory: Some(100), ..settings };
    let other = auto(&problem, &starved, None, &mut ()).unwrap();
    assert_eq!(other.state.choice.method, Method::Qning);
    let (a, b) = (solution.report.certificate, other.report.certificate);
    assert!((a.objective().unwrap() - b.objective().unwrap()).abs() <= 2e-8);
}

/// The head start takes its passes and its seconds from those of the call.
#[test]
fn a_head_start_counts_against_the_limits() {
    struct Watch(Cell<f64>);
    impl Clock for &Watch {
        /// Every reading takes a second.
        fn seconds(&self) -> f64 {
            self.0.set(self.0.get() + 1.0);
            self.0.get()
        }
    }
    let (x, y) = data(1200, 12);
    let design = Dense::new(x.view()).unwrap();
    let problem = Problem::new(design, &y, Logistic, L1 { strength: 1e-3 }, 0.0).unwrap();
    let run = Run { problem: &problem, l1: 1e-3, seed: 0, max_memory: None };
    let watch = Watch(Cell::new(0.0));
    let stop = Stop { max_passes: 60.0, max_seconds: Some(1e3), ..Stop::at_relative(1e-9) };
    let mut budget = Budget::by(&watch, stop);
    assert!(run.head_start(&mut budget).unwrap().is_some());
    let spent = *budget.spent().unwrap();
    assert!(spent.passes > 0.0);
    let left = budget.left();
    assert_eq!(left.max_passes, 60.0 - spent.passes);
    // Two readings before this one.
    assert_eq!(left.max_seconds, Some(1e3 - 2.0));
    // The whole call keeps to its limits, and no time is no step.
    for (max_passes, max_seconds) in [(1.5, None), (2.5, None), (60.0, Some(0.0))] {
        let settings =
            AutoSettings { stop: Stop { max_passes, max_seconds, ..stop }, ..Default::default() };
        let (_, report) = run
            .by(Method::Newton, None, settings.stop, &mut Guarded::new(Method::Newton, &mut ()))
            .unwrap();
        let most = if max_seconds.is_some() { 0.0 } else { max_passes + 6.0 };
        assert!(report.passes <= most, "{max_passes}: {report}");
    }
}

#[test]
fn bad_starts_and_settings_are_refused() {
    let (x, y) = data(10, 2);
    let design = Dense::new(x.view()).unwrap();
    let problem = Problem::new(design, &y, Logistic, Zero, 0.1).unwrap();
    let short = Some(Point::zero(1));
    assert!(auto(&problem, &AutoSettings::default(), short, &mut ()).is_err());
    let stop = Stop { relative: -1.0, ..Stop::default() };
    let settings = AutoSettings { stop, ..AutoSettings::default() };
    assert!(auto(&problem, &settings, None, &mut ()).is_err());
}
