//! Newton's method where the loss is flat or overflows at the point: second derivatives there say nothing of the way ahead.

use fenchel_erm::loss::{Huber, Logistic, Poisson, SmoothedHinge};
use fenchel_erm::methods::{
    NewtonCgSettings, NewtonSettings, SdcaSettings, newton, newton_cg, sdca,
};
use fenchel_erm::prelude::{AsDesign, Certificate, Status, Stop};
use fenchel_erm::prox::{L1, Zero};
use fenchel_erm::{Point, Problem};
use fenchel_linalg::Dense;
use fenchel_optim::newton::Globalisation;
use fenchel_optim::random::stream;
use fenchel_optim::{Loss, Report};
use ndarray::{Array2, array};
use rand::RngExt;

const BOTH: [Globalisation; 2] = [Globalisation::LineSearch, Globalisation::TrustRegion];

/// Newton-CG in both forms and proximal Newton.
fn all<L: Loss + Copy>(
    problem: &Problem<'_, Dense<'_, f64>, L, Zero>,
    stop: Stop,
    start: Option<&Point>,
) -> Vec<(String, Point, Report)> {
    let mut found = Vec::new();
    for globalisation in BOTH {
        let settings = NewtonCgSettings { globalisation, stop, ..Default::default() };
        let s = newton_cg(problem, &settings, start.cloned(), &mut ()).unwrap();
        found.push((format!("newton_cg {globalisation:?}"), s.state, s.report));
    }
    let settings = NewtonSettings { stop, ..Default::default() };
    let s = newton(problem, &settings, start.cloned(), &mut ()).unwrap();
    found.push(("newton".to_owned(), s.state, s.report));
    found
}

/// From so far off every second derivative is 0 in floating point.
#[test]
fn far_starts_come_back() {
    let x = array![[1.0], [-0.5]];
    let design = x.as_design().unwrap();
    // The minimum over one weight, by a fine grid: all three are below it up to the grid's own error.
    let lowest = |f: &dyn Fn(f64) -> f64| {
        (-4000..=4000).map(|k| f(f64::from(k) * 1e-3)).fold(f64::INFINITY, f64::min)
    };
    macro_rules! case {
        ($loss:expr, $y:expr) => {
            for l2 in [0.0, 1e-3] {
                let problem = Problem::new(design, &$y, $loss, Zero, l2).unwrap();
                let point = |w| Point { weights: vec![w], intercept: 0.0 };
                let best = lowest(&|w| problem.objective(&point(w)).unwrap());
                for far in [50.0, 500.0, 1e4, 1e6] {
                    for (name, state, report) in all(&problem, Stop::default(), Some(&point(far))) {
                        let value = problem.objective(&state).unwrap();
                        let case = format!("{name}, {} from {far:e}, l2 {l2:e}", stringify!($loss));
                        assert!(value <= best * (1.0 + 2e-4), "{case}: {report}, best {best:e}");
                        assert_eq!(report.status, Status::Converged, "{case}: {report}");
                    }
                }
            }
        };
    }
    case!(Logistic, [1.0, 1.0]);
    case!(SmoothedHinge { width: 0.1 }, [1.0, 1.0]);
    case!(Huber { delta: 0.01 }, [1.0, 1.0]);
    case!(Poisson, [1.0, 2.0]);
}

/// Dual ascent on counts raises its lower bound with every step, wherever its points are. They overflow on the way where l2 is
/// small, which was called a divergence.
#[test]
fn dual_ascent_on_counts_does_not_diverge() {
    let mut rng = stream(2, 0);
    for case in 0..400 {
        let (n, d) = (rng.random_range(1..8), rng.random_range(1..4));
        let scale = 10f64.powf(4.0 * rng.random::<f64>() - 2.0);
        let x = Array2::from_shape_fn((n, d), |_| scale * (2.0 * rng.random::<f64>() - 1.0));
        let y: Vec<f64> = (0..n).map(|_| f64::from(rng.random_range(0..6))).collect();
        let l2 = scale * scale * 10f64.powf(-12.0 * rng.random::<f64>());
        let problem = Problem::new(x.as_design().unwrap(), &y, Poisson, Zero, l2).unwrap();
        let settings = SdcaSettings { seed: case, ..Default::default() };
        let s = sdca(&problem, &settings, None, &mut ()).unwrap();
        let (report, value) = (s.report, problem.objective(&s.state.point).unwrap());
        assert!(report.status != Status::Diverged, "case {case}, l2 {l2:e}: {report}");
        assert!(value <= 1.0 && matches!(report.certificate, Certificate::Gap { .. }), "{report}");
        let exact = NewtonSettings { stop: Stop::at_relative(1e-10), ..Default::default() };
        let best = newton(&problem, &exact, None, &mut ()).unwrap().report.certificate;
        let (low, high) = (best.objective().unwrap() - best.value(), value);
        assert!(low <= high + 1e-9 * high.abs(), "case {case}: {report}, {best}");
    }
}

/// What a refusal names can be used.
#[test]
fn hints_name_methods_that_take_the_problem() {
    let x = array![[1.0, 0.2], [-0.5, 1.0], [0.3, 0.3]];
    let y = [1.0, 0.0, 3.0];
    let settings = NewtonSettings { max_memory: Some(1), ..Default::default() };
    let hint = |l1: f64, l2: f64| {
        let design = x.as_design().unwrap();
        let problem = Problem::new(design, &y, Poisson, L1 { strength: l1 }, l2).unwrap();
        newton(&problem, &settings, None, &mut ()).unwrap_err().to_string()
    };
    assert!(hint(0.1, 0.1).contains("use sdca") && !hint(0.1, 0.1).contains("saga"));
    assert!(hint(0.1, 0.0).contains("set l2 > 0 and use sdca"), "{}", hint(0.1, 0.0));
    assert!(hint(0.0, 0.1).contains("newton_cg"), "{}", hint(0.0, 0.1));
}
