//! A start that `auto` is given serves the dual method too.

use crate::common::data;
use fenchel_datasets::embedded::breast_cancer;
use fenchel_finite_sum::loss::{Hinge, Poisson};
use fenchel_finite_sum::prelude::{AsDesign, Report, Status};
use fenchel_finite_sum::{AutoSettings, Composite, Method, Point, Problem, Standardiser, auto};
use fenchel_linalg::{Csr, Design};
use fenchel_optim::prox::{Interval, Zero};
use fenchel_optim::{Loss, Stop};

/// Bounds that no weight meets, under which dual ascent is the only method.
const WIDE: Interval = Interval { lower: -1e3, upper: 1e3 };

/// The account of `auto` from a start, by dual ascent.
fn from<D: Design + Copy, L: Loss + Copy, R: Composite>(
    problem: &Problem<'_, D, L, R>,
    relative: f64,
    start: Option<&Point>,
) -> (Point, Report) {
    // Newton's method would need more.
    let stop = Stop { max_passes: 1e4, ..Stop::at_relative(relative) };
    let settings = AutoSettings { max_memory: Some(100), stop, ..Default::default() };
    let solution = auto(problem, &settings, start.cloned(), &mut ()).unwrap();
    assert_eq!(solution.state.choice.method, Method::Sdca);
    assert_eq!(solution.report.status, Status::Converged, "{}", solution.report);
    (solution.state.point, solution.report)
}

/// Passes without a start, from the end of that run, from the optimum, from that of a neighbouring problem, and from a point
/// that is far off, with an intercept that the problem may not have.
fn passes<'d, D: Design + Copy, L: Loss + Copy, R: Composite>(
    pose: impl Fn(f64) -> Problem<'d, D, L, R>,
    l2: f64,
    relative: f64,
) -> [f64; 5] {
    let problem = pose(l2);
    let (own, cold) = from(&problem, relative, None);
    let (best, _) = from(&problem, 1e-9, None);
    let (near, _) = from(&pose(1.5 * l2), 1e-9, None);
    let far = Point { weights: best.weights.iter().map(|w| -10.0 * w).collect(), intercept: 3.0 };
    let of = |point| from(&problem, relative, Some(point)).1.passes;
    [cold.passes, of(&own), of(&best), of(&near), of(&far)]
}

#[test]
fn starts_near_the_optimum_save_passes() {
    let data = data(200, 8, 0.6, 1);
    let counts: Vec<f64> = data.reals.iter().map(|t| (3.0 * t.abs()).floor()).collect();
    for intercept in [false, true] {
        let pose = |l2| {
            let design = Csr::new(data.sparse.view()).unwrap();
            let problem = Problem::new(design, &counts, Poisson, WIDE, l2).unwrap();
            if intercept { problem.with_intercept() } else { problem }
        };
        for relative in [1e-3, 1e-6] {
            let all = passes(pose, 0.05, relative);
            let [cold, own, best, near, far] = all;
            assert!(own.max(best) <= 0.5 * cold && near <= 0.7 * cold, "Poisson {all:?}");
            assert!(far <= 2.0 * cold, "Poisson {all:?}");
        }
    }
}

/// What lies on the kink has any dual variable: less is known.
#[test]
fn starts_near_the_optimum_save_passes_with_a_kink() {
    let cancer = breast_cancer();
    let x = Standardiser::fit(&cancer.x).unwrap().transform(&cancer.x).unwrap();
    let y = cancer.y.to_vec();
    for intercept in [false, true] {
        let pose = |l2| {
            let problem = Problem::new(x.as_design().unwrap(), &y, Hinge, Zero, l2).unwrap();
            if intercept { problem.with_intercept() } else { problem }
        };
        for relative in [1e-2, 1e-3] {
            let all = passes(pose, 3.0 / y.len() as f64, relative);
            let [cold, own, best, near, far] = all;
            assert!(own.max(near) <= 0.9 * cold, "hinge {all:?}");
            assert!(best.max(far) <= 2.0 * cold, "hinge {all:?}");
        }
    }
}
