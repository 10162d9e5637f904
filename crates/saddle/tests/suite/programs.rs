//! Linear programs with known answers: optima by construction, rays that are checked here again, games to many digits.

use std::ops::ControlFlow;

use fenchel_optim::random::{Generator, stream};
use fenchel_optim::{Fit, Progress, Status, Stop};
use fenchel_saddle::methods::PdhgSettings;
use fenchel_saddle::{
    LinearProgram, LpOutcome, LpSettings, MatrixGame, SaddleProblem, exact_game, linear_program,
    linear_program_with,
};
use ndarray::{Array1, Array2, array};
use rand::RngExt;

use crate::games::value_by_enumeration;

pub(crate) struct Case {
    pub(crate) a: Array2<f64>,
    pub(crate) b: Vec<f64>,
    pub(crate) g: Array2<f64>,
    pub(crate) h: Vec<f64>,
    pub(crate) c: Vec<f64>,
    pub(crate) low: Vec<f64>,
    pub(crate) high: Vec<f64>,
}

impl Case {
    pub(crate) fn program(&self) -> LinearProgram {
        LinearProgram::new(&self.c)
            .and_then(|p| p.at_least(self.g.view(), &self.h))
            .and_then(|p| p.equal(self.a.view(), &self.b))
            .and_then(|p| p.within(&self.low, &self.high))
            .unwrap()
    }
}

fn matrix(m: usize, d: usize, rng: &mut Generator) -> Array2<f64> {
    Array2::from_shape_fn((m, d), |_| {
        if rng.random_range(0.0..1.0) < 0.3 { 0.0 } else { f64::from(rng.random_range(-4..=4)) }
    })
}

/// A program and its optimal value, built from a solution and its multipliers.
pub(crate) fn with_optimum(seed: u64) -> (Case, f64) {
    let mut rng = stream(seed, 0);
    let d = rng.random_range(2..8);
    let (e, m) = (rng.random_range(0..d), rng.random_range(1..8));
    let (a, g) = (matrix(e, d, &mut rng), matrix(m, d, &mut rng));
    let (mut low, mut high) = (vec![f64::NEG_INFINITY; d], vec![f64::INFINITY; d]);
    let mut reduced = vec![0.0; d];
    let x: Vec<f64> = (0..d).map(|_| rng.random_range(-2.0..2.0)).collect();
    for j in 0..d {
        match rng.random_range(0..4) {
            // At a lower or an upper bound, within a box, or free.
            0 => (low[j], reduced[j]) = (x[j], rng.random_range(0.1..2.0)),
            1 => (high[j], reduced[j]) = (x[j], -rng.random_range(0.1..2.0)),
            2 => (low[j], high[j]) = (x[j] - 1.0, x[j] + 1.0),
            _ => {}
        }
    }
    let (at, gt) = (a.dot(&Array1::from(x.clone())), g.dot(&Array1::from(x.clone())));
    let y: Vec<f64> = (0..e).map(|_| rng.random_range(-1.0..1.0)).collect();
    let mut h = gt.to_vec();
    let mut z = vec![0.0; m];
    for i in 0..m {
        if rng.random_range(0..2) == 0 {
            z[i] = rng.random_range(0.1..1.0);
        } else {
            h[i] -= rng.random_range(0.1..1.0);
        }
    }
    let c = a.t().dot(&Array1::from(y)) + g.t().dot(&Array1::from(z)) + Array1::from(reduced);
    let value = c.dot(&Array1::from(x));
    (Case { a, b: at.to_vec(), g, h, c: c.to_vec(), low, high }, value)
}

#[test]
fn optima_are_found_to_eight_digits() {
    for seed in 0..40 {
        let (case, value) = with_optimum(seed);
        let solution = linear_program(&case.program(), &LpSettings::default()).unwrap();
        let LpOutcome::Optimal { x, y, objective } = solution.outcome else {
            panic!("seed {seed}: {:?}", solution)
        };
        assert!(
            (objective - value).abs() <= 3e-7 * (1.0 + value.abs()),
            "{seed}: {objective} {value}"
        );
        assert!(case.program().error(&x, &y) <= 1e-8);
    }
}

/// Adds a row that contradicts another one by at least 1, where that one is not empty.
pub(crate) fn contradicted(mut case: Case) -> Option<Case> {
    let row = case.g.row(0).to_owned();
    if row.iter().all(|v| *v == 0.0) {
        return None;
    }
    let against = Array2::from_shape_fn((1, row.len()), |(_, j)| -row[j]);
    case.g = ndarray::concatenate(ndarray::Axis(0), &[case.g.view(), against.view()]).unwrap();
    case.h.push(1.0 - case.h[0]);
    Some(case)
}

/// `y'(b - A x) > 0` for all `x` in the box, checked here from the data.
pub(crate) fn check_infeasible(case: &Case, ray: &[f64]) {
    let e = case.a.nrows();
    assert!(ray[e..].iter().all(|y| *y >= 0.0));
    let all = ndarray::concatenate(ndarray::Axis(0), &[case.a.view(), case.g.view()]).unwrap();
    let combined = all.t().dot(&Array1::from(ray.to_vec()));
    let right: f64 = ray.iter().zip(case.b.iter().chain(&case.h)).map(|(y, b)| y * b).sum();
    let mut most = 0.0;
    for (j, v) in combined.iter().enumerate() {
        let end = if *v > 0.0 { case.high[j] } else { case.low[j] };
        if end.is_finite() {
            most += v * end;
        } else {
            assert!(v.abs() < 1e-7, "{v}");
        }
    }
    assert!(right > most + 1e-7, "{right} {most}");
}

#[test]
fn infeasible_programs_come_with_a_ray() {
    for seed in 0..20 {
        let Some(case) = contradicted(with_optimum(100 + seed).0) else { continue };
        let outcome = linear_program(&case.program(), &LpSettings::default()).unwrap().outcome;
        let LpOutcome::Infeasible { ray } = outcome else { panic!("seed {seed}: {outcome:?}") };
        check_infeasible(&case, &ray);
    }
}

/// One more variable, free to rise, that helps every inequality and lowers the cost.
pub(crate) fn receding(case: Case) -> Case {
    let d = case.c.len();
    let widened = |m: &Array2<f64>, v: f64| {
        Array2::from_shape_fn((m.nrows(), d + 1), |(i, j)| if j < d { m[[i, j]] } else { v })
    };
    let more = |v: &[f64], last: f64| v.iter().copied().chain([last]).collect::<Vec<_>>();
    Case {
        a: widened(&case.a, 0.0),
        g: widened(&case.g, 0.5),
        c: more(&case.c, -1.0),
        low: more(&case.low, 0.0),
        high: more(&case.high, f64::INFINITY),
        ..case
    }
}

/// A feasible point and a direction of the recession cone in which the cost falls, checked here from the data.
pub(crate) fn check_unbounded(case: &Case, x: &[f64], ray: &[f64]) {
    let (x, ray) = (Array1::from(x.to_vec()), Array1::from(ray.to_vec()));
    assert!(ray.dot(&Array1::from(case.c.clone())) < -1e-6);
    assert!(case.a.dot(&ray).iter().all(|v| v.abs() < 1e-6));
    assert!(case.g.dot(&ray).iter().all(|v| *v > -1e-6));
    assert!(case.g.dot(&x).iter().zip(&case.h).all(|(v, h)| *v > h - 1e-6));
    for j in 0..ray.len() {
        assert!(ray[j] >= 0.0 || case.low[j] == f64::NEG_INFINITY);
        assert!(ray[j] <= 0.0 || case.high[j] == f64::INFINITY);
    }
}

#[test]
fn unbounded_programs_come_with_a_ray_and_a_point() {
    for seed in 0..20 {
        let case = receding(with_optimum(200 + seed).0);
        let outcome = linear_program(&case.program(), &LpSettings::default()).unwrap().outcome;
        let LpOutcome::Unbounded { x, ray } = outcome else { panic!("seed {seed}: {outcome:?}") };
        check_unbounded(&case, &x, &ray);
    }
}

#[test]
fn programs_of_hand() {
    // Degenerate, and without constraints.
    let solve = |p: &LinearProgram| linear_program(p, &LpSettings::default()).unwrap().outcome;
    let free = LinearProgram::new(&array![0.0, 1.0]).unwrap();
    assert!(matches!(solve(&free), LpOutcome::Optimal { objective, .. } if objective.abs() < 1e-9));
    let falling = LinearProgram::new(&array![-1.0]).unwrap();
    assert!(matches!(solve(&falling), LpOutcome::Unbounded { .. }));
    let never = LinearProgram::new(&array![1.0])
        .unwrap()
        .equal(array![[0.0]].view(), &array![1.0])
        .unwrap();
    assert!(matches!(solve(&never), LpOutcome::Infeasible { .. }));
    // Both without a point and with a direction: it is infeasible.
    let both = LinearProgram::new(&array![-1.0, 0.0])
        .and_then(|p| p.equal(array![[0.0, 1.0]].view(), &array![-1.0]))
        .unwrap();
    assert!(matches!(solve(&both), LpOutcome::Infeasible { .. }));
    let message = |r: Result<LinearProgram, fenchel_saddle::Error>| r.unwrap_err().to_string();
    assert!(message(LinearProgram::new(&Array1::<f64>::zeros(0))).contains("cost is empty"));
    let p = LinearProgram::new(&array![1.0]).unwrap();
    assert!(message(p.clone().within(&array![2.0], &array![1.0])).contains("low <= high"));
    assert!(
        message(p.equal(array![[1.0, 2.0]].view(), &array![1.0])).contains("expected length 1")
    );
}

#[test]
fn games_are_solved_to_many_digits() {
    for seed in 0..10 {
        let mut rng = stream(seed, 1);
        let (m, p) = (rng.random_range(2..6), rng.random_range(2..6));
        let matrix = Array2::from_shape_fn((m, p), |_| rng.random_range(-1.0..1.0));
        let game = MatrixGame::new(matrix.view()).unwrap();
        let stop = Stop { absolute: 1e-10, relative: 0.0, max_passes: 2e5, ..Stop::default() };
        let settings = PdhgSettings { stop, ..Default::default() };
        let solution = exact_game(&game, &settings, None, &mut ()).unwrap();
        assert!(solution.report.certificate.value() <= 1e-10, "{seed}: {}", solution.report);
        let (high, low) = (game.objective(&solution.state.x), game.lower_bound(&solution.state.y));
        let value = value_by_enumeration(&matrix);
        assert!((high - value).abs() < 1e-9 && (low - value).abs() < 1e-9, "{high} {low} {value}");
    }
}

/// The report beside a ray is about the ray: what it leaves in columns without a bound, or by how much it leaves the rows.
#[test]
fn the_report_beside_a_ray_is_about_the_ray() {
    for polish in [true, false] {
        let settings = LpSettings { polish, ..LpSettings::default() };
        // x1 + x2 = 1 and x1 + x2 = 2, of free variables.
        let free = [f64::NEG_INFINITY; 2];
        let program = LinearProgram::new(&[1.0, 1.0])
            .and_then(|p| p.equal(array![[1.0, 1.0], [1.0, 1.0]].view(), &[1.0, 2.0]))
            .and_then(|p| p.within(&free, &free.map(|v| -v)))
            .unwrap();
        let solution = linear_program(&program, &settings).unwrap();
        let LpOutcome::Infeasible { ray } = &solution.outcome else { panic!("{solution:?}") };
        let (leak, value) = ((ray[0] + ray[1]).abs(), ray[0] + 2.0 * ray[1]);
        let size = ray[0].abs().max(ray[1].abs());
        let certificate = solution.report.certificate;
        assert!(value > 0.0 && leak <= 1e-8, "{solution:?}");
        assert!((certificate.value() - leak / size).abs() <= 1e-15, "{certificate}");
        assert_eq!(certificate.objective(), None);
        // min -x1 with x1 >= 1.
        let program = LinearProgram::new(&[-1.0])
            .and_then(|p| p.at_least(array![[1.0]].view(), &[1.0]))
            .unwrap();
        let solution = linear_program(&program, &settings).unwrap();
        assert!(matches!(solution.outcome, LpOutcome::Unbounded { .. }), "{solution:?}");
        assert!(solution.report.certificate.value() <= 1e-8, "{}", solution.report);
    }
}

/// A scale of the columns beyond the range of numbers is no number, and bounds divided by it have no order.
#[test]
fn numbers_of_any_size_are_no_panic() {
    for (cost, row) in [
        ([1e300, 1.0], [1e300, 1e-300]),
        ([1e308, 1.0], [1e308, 1e-308]),
        ([1.0, 1e-320], [1e-320, 1e300]),
    ] {
        for bound in [f64::INFINITY, 1e200] {
            let above = Array2::from_shape_fn((1, 2), |(_, j)| -row[j]);
            let program = LinearProgram::new(&cost)
                .and_then(|p| p.at_least(above.view(), &[-1.0]))
                .and_then(|p| p.within(&[0.0, -bound], &[bound, bound]))
                .unwrap();
            let settings = LpSettings { max_passes: 500.0, ..LpSettings::default() };
            linear_program(&program, &settings).unwrap();
        }
    }
}

#[test]
fn a_watched_program_ends_undecided() {
    let program = LinearProgram::new(&[-1.0, -2.0])
        .and_then(|p| p.at_least(array![[-1.0, -1.0]].view(), &[-4.0]))
        .unwrap();
    let mut calls = 0;
    let mut stop = |_: &Progress| {
        calls += 1;
        ControlFlow::Break(())
    };
    let watch = Fit::<()>::new().watch(&mut stop).watch;
    let solution = linear_program_with(&program, &LpSettings::default(), watch).unwrap();
    assert_eq!(solution.outcome, LpOutcome::Undecided);
    assert_eq!((solution.report.status, calls), (Status::Stopped, 1));
}

/// The searches for rays, and the second look at the program, are watched too; the passes that are seen never fall.
#[test]
fn a_search_for_rays_can_be_stopped() {
    // x1 + x2 = 1 and x1 + x2 = 2; then the lowest x2 on x1 = x2, which has no bound.
    let (free, settings) =
        ([f64::NEG_INFINITY; 2], LpSettings { polish: false, ..LpSettings::default() });
    let of = |cost: [f64; 2], rows: [[f64; 2]; 2], right: [f64; 2]| {
        LinearProgram::new(&cost)
            .and_then(|p| p.equal(Array2::from(rows.to_vec()).view(), &right))
            .and_then(|p| p.within(&free, &free.map(|v| -v)))
            .unwrap()
    };
    let contradiction = of([1.0, 1.0], [[1.0, 1.0], [1.0, 1.0]], [1.0, 2.0]);
    let falling = of([0.0, 1.0], [[1.0, -1.0], [0.0, 0.0]], [0.0, 0.0]);
    for program in [contradiction, falling] {
        let decided = linear_program(&program, &settings).unwrap();
        assert_ne!(decided.outcome, LpOutcome::Undecided);
        assert!(decided.report.passes > 4000.0, "{}", decided.report);
        let (mut last, mut after) = (0.0, 0);
        let mut stop = |progress: &Progress| {
            assert!(progress.passes >= last, "{} {last}", progress.passes);
            last = progress.passes;
            after += usize::from(last > 4000.0);
            if last > 4000.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let watch = Fit::<()>::new().watch(&mut stop).watch;
        let solution = linear_program_with(&program, &settings, watch).unwrap();
        assert_eq!(solution.outcome, LpOutcome::Undecided);
        assert_eq!((solution.report.status, after), (Status::Stopped, 1));
        assert!(solution.report.passes < decided.report.passes, "{}", solution.report);
    }
}
