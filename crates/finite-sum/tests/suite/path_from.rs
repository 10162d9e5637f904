//! Paths go on bit for bit after the last penalty that was done.

use std::ops::ControlFlow;

use crate::common::data;
use fenchel_finite_sum::Problem;
use fenchel_finite_sum::loss::{Logistic, Squared};
use fenchel_finite_sum::path::path;
use fenchel_finite_sum::path::{
    Grid, GroupPathSettings, Path, PathPoint, PathSettings, Screening, group_path, group_path_from,
    path_from,
};
use fenchel_finite_sum::prox::{Groups, Zero};
use fenchel_linalg::{Csr, Design};
use fenchel_optim::{Loss, Observer, Progress, Stop};

const N: usize = 60;
const D: usize = 24;

/// Ends a path after so many points.
struct Ends(usize);

impl Observer<PathPoint> for Ends {
    fn observe(&mut self, progress: &Progress, at: &PathPoint) -> ControlFlow<()> {
        assert!(
            progress.passes >= at.report.passes && progress.certificate == at.report.certificate
        );
        self.0 -= 1;
        if self.0 == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn saved(path: &Path) -> Option<Path> {
    let text = serde_json::to_string(path).expect("finite numbers");
    Some(serde_json::from_str(&text).expect("what was written"))
}

/// A path of which all is determined.
fn timeless(mut path: Path) -> Path {
    path.points.iter_mut().for_each(|at| at.report = at.report.without_seconds());
    path
}

fn stop() -> Stop {
    Stop { absolute: 0.0, relative: 1e-7, max_passes: 1e4, ..Stop::default() }
}

fn check<D: Design + Clone, L: Loss + Clone>(problem: &Problem<'_, D, L, Zero>, ratio: f64) {
    for screening in [Screening::Off, Screening::Sphere, Screening::Strong] {
        let grid = Grid::Log { count: 9, smallest: 0.02 };
        let settings =
            PathSettings { l1_ratio: ratio, grid, screening, stop: stop(), ..Default::default() };
        let whole = timeless(path(problem, &settings).unwrap());
        assert_eq!(whole.points.len(), 9);
        assert!(whole.points[8].support.len() > 4);
        let mut begun = None;
        for points in [1, 3, 1] {
            let part = path_from(problem, &settings, begun, &mut Ends(points)).unwrap();
            begun = saved(&timeless(part));
        }
        let part = begun.as_ref().expect("a path");
        assert_eq!(part.points, whole.points[..5]);
        let rest = |start| timeless(path_from(problem, &settings, start, &mut ()).unwrap());
        assert_eq!(rest(begun), whole, "{screening:?}");
        // A shorter grid is a beginning too, and a finished path has nothing left.
        let penalties: Vec<f64> = whole.points.iter().map(|at| at.penalty).collect();
        let short = PathSettings { grid: Grid::Given(penalties[..4].to_vec()), ..settings.clone() };
        let part = timeless(path(problem, &short).unwrap());
        assert_eq!(rest(saved(&part)), whole);
        assert_eq!(rest(saved(&whole)), whole);
    }
}

#[test]
fn paths_go_on_where_they_ended() {
    let data = data(N, D, 0.5, 1);
    let weights: Vec<f64> = (0..N).map(|i| ((i * 5) % 4) as f64).collect();
    let design = Csr::new(data.sparse.view()).unwrap();
    let squared = Problem::new(design, &data.reals, Squared, Zero, 0.0).unwrap();
    check(&squared, 1.0);
    check(&squared.clone().with_intercept(), 0.7);
    let logistic = Problem::new(design, &data.signs, Logistic, Zero, 1e-3).unwrap();
    check(&logistic, 0.5);
    check(&logistic.with_intercept().with_weights(&weights).unwrap(), 1.0);
}

#[test]
fn paths_of_groups_go_on_where_they_ended() {
    let data = data(N, D, 0.5, 2);
    let groups = Groups::consecutive(&[3; 8]).unwrap();
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 0.0).unwrap();
    for problem in [problem.clone(), problem.with_intercept()] {
        for screening in [true, false] {
            let grid = Grid::Log { count: 6, smallest: 0.1 };
            let l1_ratio = 0.3;
            let settings =
                GroupPathSettings { l1_ratio, grid, screening, stop: stop(), ..Default::default() };
            let whole = timeless(group_path(&problem, &groups, &settings).unwrap());
            let part = group_path_from(&problem, &groups, &settings, None, &mut Ends(3));
            let part = timeless(part.unwrap());
            assert_eq!(part.points, whole.points[..3]);
            let rest = group_path_from(&problem, &groups, &settings, saved(&part), &mut ());
            assert_eq!(timeless(rest.unwrap()), whole);
        }
    }
}

#[test]
fn a_path_that_does_not_fit_is_refused() {
    let data = data(N, D, 0.5, 3);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.reals, Squared, Zero, 0.0).unwrap();
    let grid = Grid::Log { count: 4, smallest: 0.1 };
    let settings = PathSettings { grid, ..Default::default() };
    let good = path(&problem, &settings).unwrap();
    let refused = |change: &dyn Fn(&mut Path)| {
        let mut path = good.clone();
        change(&mut path);
        path_from(&problem, &settings, Some(path), &mut ()).unwrap_err().to_string()
    };
    assert!(refused(&|path| path.features = 3).contains("features of the path"));
    assert!(refused(&|path| path.l1_ratio = 0.5).contains("l1_ratio of the path"));
    assert!(refused(&|path| path.points[3].penalty = f64::NAN).contains("penalty of the path"));
    assert!(refused(&|path| path.points[3].weights.truncate(1)).contains("weights of the path"));
    assert!(refused(&|path| path.points[3].support[0] = D).contains("feature 24 has a weight"));
    assert!(refused(&|path| path.points[3].intercept = f64::INFINITY).contains("intercept"));
}
