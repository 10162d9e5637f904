//! Newton-CG at its corners: quadratic problems, rounding, empty and collinear columns, steps that overflow.

use crate::common::{data, distance, objective, reference};
use fenchel_erm::Problem;
use fenchel_erm::loss::{Logistic, Poisson, Squared};
use fenchel_erm::methods::{
    Globalisation, NewtonCgSettings, NewtonSettings, Preconditioner, newton, newton_cg,
};
use fenchel_linalg::Dense;
use fenchel_optim::prox::Zero;
use fenchel_optim::{Status, Stop};

const BOTH: [Globalisation; 2] = [Globalisation::LineSearch, Globalisation::TrustRegion];

/// On a quadratic the model is exact: with a tight forcing term and the line search, one step ends it.
#[test]
fn one_step_solves_least_squares() {
    let data = data(40, 6, 0.7, 2);
    let design = Dense::new(data.dense.view()).unwrap();
    let (w, _) = reference(&data.dense, &data.reals, &Squared, &Zero, 0.01, false);
    for preconditioner in [Preconditioner::None, Preconditioner::Diagonal] {
        let problem = Problem::new(design, &data.reals, Squared, Zero, 0.01).unwrap();
        let stop = Stop { relative: 1e-12, ..Stop::default() };
        let settings =
            NewtonCgSettings { preconditioner, forcing: 1e-12, stop, ..Default::default() };
        let s = newton_cg(&problem, &settings, None, &mut ()).unwrap();
        assert_eq!((s.report.status, s.report.oracle_calls), (Status::Converged, 1));
        // Conjugate gradients need at most one product a dimension, and a few more for rounding.
        assert!(s.report.passes <= 1.5 + 9.0, "{}", s.report);
        assert!(distance(&s.state.weights, &w) < 1e-9);
    }
}

/// With a tolerance of 0 a run ends when the objective shows no decrease and the gradient no longer halves.
#[test]
fn it_stalls_at_working_precision() {
    for (l2, seed) in [(1e-3, 3), (1e-6, 4), (0.0, 5)] {
        let data = data(80, 5, 0.8, seed);
        // Labels that no plane separates, so that there is a minimum without l2 too.
        let y: Vec<f64> =
            (0..80).map(|i| if i % 3 == 0 { -data.signs[i] } else { data.signs[i] }).collect();
        let design = Dense::new(data.dense.view()).unwrap();
        let problem = Problem::new(design, &y, Logistic, Zero, l2).unwrap();
        let tight = NewtonSettings { stop: Stop::at_relative(1e-11), ..Default::default() };
        let best = newton(&problem, &tight, None, &mut ()).unwrap();
        assert_eq!(best.report.status, Status::Converged, "newton, l2 {l2}: {}", best.report);
        let best = best.report.certificate.objective().unwrap();
        for globalisation in BOTH {
            let stop = Stop { absolute: 0.0, relative: 0.0, max_passes: 1e4, ..Stop::default() };
            let settings = NewtonCgSettings { globalisation, stop, ..Default::default() };
            let s = newton_cg(&problem, &settings, None, &mut ()).unwrap();
            let ended = matches!(s.report.status, Status::Stalled | Status::Converged);
            assert!(ended, "{globalisation:?} l2 {l2}: {}", s.report);
            let found = s.report.certificate.objective().unwrap();
            assert!(found <= best * (1.0 + 1e-11), "{globalisation:?} l2 {l2}: {found} {best}");
        }
    }
}

/// An empty column, two equal ones, and no l2: the system is singular and consistent.
#[test]
fn singular_systems_are_solved() {
    let mut data = data(60, 5, 1.0, 6);
    data.dense.column_mut(1).fill(0.0);
    let copy = data.dense.column(2).to_owned();
    data.dense.column_mut(3).assign(&copy);
    let design = Dense::new(data.dense.view()).unwrap();
    for globalisation in BOTH {
        let problem = Problem::new(design, &data.reals, Squared, Zero, 0.0).unwrap();
        let stop = Stop { absolute: 1e-9, relative: 0.0, ..Stop::default() };
        let settings = NewtonCgSettings { globalisation, stop, ..Default::default() };
        let s = newton_cg(&problem, &settings, None, &mut ()).unwrap();
        assert_eq!(s.report.status, Status::Converged, "{globalisation:?}: {}", s.report);
        let w = &s.state.weights;
        assert_eq!(w[1], 0.0);
        let (r, _) = reference(&data.dense, &data.reals, &Squared, &Zero, 0.0, false);
        let value = |w: &[f64]| objective(&data.dense, &data.reals, &Squared, &Zero, 0.0, (w, 0.0));
        assert!((value(w) - value(&r)).abs() < 1e-12);
    }
}

/// Counts in the thousands: the first full step overflows the exponential, and must be cut.
#[test]
fn overflowing_steps_are_cut() {
    let data = data(50, 4, 0.8, 13);
    let y: Vec<f64> = data.reals.iter().map(|r| (6.0 + 2.0 * r).exp().round()).collect();
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &y, Poisson, Zero, 0.1).unwrap();
    let stop = Stop { relative: 1e-8, ..Stop::default() };
    let best = newton(&problem, &NewtonSettings { stop, ..Default::default() }, None, &mut ());
    let best = best.unwrap().report.certificate.objective().unwrap();
    for globalisation in BOTH {
        let settings = NewtonCgSettings { globalisation, stop, ..Default::default() };
        let s = newton_cg(&problem, &settings, None, &mut ()).unwrap();
        assert_eq!(s.report.status, Status::Converged, "{globalisation:?}: {}", s.report);
        let found = s.report.certificate.objective().unwrap();
        assert!((found - best).abs() <= 3e-8 * best.abs(), "{globalisation:?}: {found} {best}");
    }
}
