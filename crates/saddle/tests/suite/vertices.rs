//! Linear programs that are decided at a vertex: those that PDHG leaves undecided, and all others once it may take a single step.

use fenchel_optim::Status;
use fenchel_optim::random::{Generator, stream};
use fenchel_saddle::{LinearProgram, LpOutcome, LpSettings, LpSolution, linear_program};
use ndarray::{Array1, Array2, array};
use rand::RngExt;

use crate::programs::{
    Case, check_infeasible, check_unbounded, contradicted, receding, with_optimum,
};

fn solve(program: &LinearProgram) -> LpOutcome {
    linear_program(program, &LpSettings::default()).unwrap().outcome
}

/// One step of PDHG decides nothing: what is returned is the finish's.
fn at_a_vertex(case: &Case) -> LpOutcome {
    let settings = LpSettings { max_passes: 1.0, ..LpSettings::default() };
    linear_program(&case.program(), &settings).unwrap().outcome
}

#[test]
fn vertices_have_the_value_that_was_built_in() {
    for seed in 0..200 {
        let (case, value) = with_optimum(seed);
        let outcome = at_a_vertex(&case);
        let LpOutcome::Optimal { x, y, objective } = outcome else { panic!("{seed}: {outcome:?}") };
        assert!((objective - value).abs() <= 1e-10 * (1.0 + value.abs()), "{objective} {value}");
        assert!(case.program().error(&x, &y) <= 1e-11, "{seed}");
        if let Some(case) = contradicted(with_optimum(1000 + seed).0) {
            let outcome = at_a_vertex(&case);
            let LpOutcome::Infeasible { ray } = outcome else { panic!("{seed}: {outcome:?}") };
            check_infeasible(&case, &ray);
        }
        let case = receding(with_optimum(2000 + seed).0);
        let outcome = at_a_vertex(&case);
        let LpOutcome::Unbounded { x, ray } = outcome else { panic!("{seed}: {outcome:?}") };
        check_unbounded(&case, &x, &ray);
    }
}

/// `min x - a y` where `x - y` has an end: with `a` below 1 the optimum is at the end, above 1 the objective falls along (1, 1).
#[test]
fn costs_that_nearly_cancel() {
    for small in [1e-2, 1e-4, 1e-6, 1e-7] {
        for right in [-1.0, 0.0, 1.0] {
            let row = array![[1.0, -1.0]];
            let dear = LinearProgram::new(&[1.0, small - 1.0])
                .and_then(|p| p.at_least(row.view(), &[right]))
                .unwrap();
            // At right = -1 the best is (0, 1); else (right, 0).
            let value = if right < 0.0 { small - 1.0 } else { right };
            let outcome = solve(&dear);
            let LpOutcome::Optimal { objective, .. } = outcome else {
                panic!("{small:e} {right} {outcome:?}")
            };
            assert!((objective - value).abs() <= 1e-8, "{small:e} {right} {objective}");
            let cheap = LinearProgram::new(&[1.0, -1.0 - small])
                .and_then(|p| p.at_least(row.view(), &[right]))
                .unwrap();
            let outcome = solve(&cheap);
            let LpOutcome::Unbounded { x, ray } = outcome else {
                panic!("{small:e} {right} {outcome:?}")
            };
            assert!(x[0] - x[1] >= right - 1e-8 && ray[0] - ray[1] >= 0.0);
            assert!(ray[0] - (1.0 + small) * ray[1] < 0.0 && ray[1] >= 0.0);
            // The same with an end far away.
            let (low, high) = ([0.0, 0.0], [f64::INFINITY, 1e3]);
            let outcome = solve(&cheap.within(&low, &high).unwrap());
            let LpOutcome::Optimal { objective, .. } = outcome else {
                panic!("{small:e} {right} {outcome:?}")
            };
            let value = right.max(-1e3) - 1e3 * small;
            assert!((objective - value).abs() <= 1e-7 * 1e3, "{small:e} {objective} {value}");
        }
    }
    // Bounds that contradict each other by a little, in a direction that is nearly one of the rows.
    for small in [1e-3, 1e-6] {
        let rows = array![[1.0, -1.0], [-1.0, 1.0 - small]];
        let program = LinearProgram::new(&[1.0, 1.0])
            .and_then(|p| p.at_least(rows.view(), &[1.0, 1.0]))
            .unwrap();
        // The sum of the rows is -small y >= 2, so nearly equal multipliers are a proof.
        let outcome = solve(&program);
        let LpOutcome::Infeasible { ray } = outcome else { panic!("{small:e} {outcome:?}") };
        assert!(ray[1] >= ray[0] - 1e-12 && ray[0] - (1.0 - small) * ray[1] >= -1e-12);
    }
}

/// The same vertex in other units: rows and columns times powers of 10.
fn rescaled(case: Case, random: &mut Generator, most: i32) -> Case {
    let mut factors = |n: usize| -> Vec<f64> {
        (0..n).map(|_| 10.0_f64.powi(random.random_range(-most..=most))).collect()
    };
    let columns = factors(case.c.len());
    let (of_a, of_g) = (factors(case.a.nrows()), factors(case.g.nrows()));
    let scaled = |m: &Array2<f64>, rows: &[f64]| {
        Array2::from_shape_fn(m.dim(), |(i, j)| m[[i, j]] * rows[i] * columns[j])
    };
    let times = |v: &[f64], s: &[f64]| v.iter().zip(s).map(|(v, s)| v * s).collect::<Vec<_>>();
    let over = |v: &[f64], s: &[f64]| v.iter().zip(s).map(|(v, s)| v / s).collect::<Vec<_>>();
    Case {
        a: scaled(&case.a, &of_a),
        b: times(&case.b, &of_a),
        g: scaled(&case.g, &of_g),
        h: times(&case.h, &of_g),
        c: times(&case.c, &columns),
        low: over(&case.low, &columns),
        high: over(&case.high, &columns),
    }
}

/// Programs whose rows and columns have units from 1e-4 to 1e4, and 3 x 4 programs with entries from 1e-3 to 1e3, all known by a
/// solution and its multipliers. The value is right relative to its terms; nothing is left undecided.
#[test]
fn badly_scaled_programs_are_decided() {
    for seed in 0..100 {
        let mut random = stream(seed, 3);
        let (case, value) = with_optimum(seed);
        let case = rescaled(case, &mut random, 4);
        let outcome = solve(&case.program());
        let LpOutcome::Optimal { x, objective, .. } = outcome else { panic!("{seed} {outcome:?}") };
        let terms: f64 = case.c.iter().zip(&x).map(|(c, x)| (c * x).abs()).sum();
        assert!((objective - value).abs() <= 1e-6 * (1.0 + terms), "{seed} {objective} {value}");
    }
    for seed in 0..100 {
        let mut random = stream(seed, 4);
        let mut any = || {
            let size = 10.0_f64.powf(random.random_range(-3.0..3.0));
            if random.random::<bool>() { size } else { -size }
        };
        let g = Array2::from_shape_simple_fn((3, 4), &mut any);
        let x: Array1<f64> = (0..4).map(|j| if j < 2 { any().abs() } else { 0.0 }).collect();
        let y: Array1<f64> = (0..3).map(|i| if i < 2 { any().abs() } else { 0.0 }).collect();
        // Two rows are tight, two variables at 0 with a cost of their own.
        let mut h = g.dot(&x);
        h[2] -= any().abs();
        let mut c = g.t().dot(&y);
        (2..4).for_each(|j| c[j] += any().abs());
        let program = LinearProgram::new(&c).and_then(|p| p.at_least(g.view(), &h)).unwrap();
        let outcome = solve(&program);
        let LpOutcome::Optimal { objective, .. } = outcome else { panic!("{seed} {outcome:?}") };
        let terms: f64 = c.iter().zip(&x).map(|(c, x)| (c * x).abs()).sum();
        assert!((objective - c.dot(&x)).abs() <= 1e-6 * terms, "{seed} {objective} {}", c.dot(&x));
    }
}

/// Vertices with more tight constraints than variables, over and over: a rule without protection would go in circles. The first is
/// Beale's (1955), whose optimum is -1/20; the others are assignments.
#[test]
fn degenerate_programs_end() {
    let settings = LpSettings { max_passes: 1.0, ..LpSettings::default() };
    let rows = array![[-0.25, 60.0, 0.04, -9.0], [-0.5, 90.0, 0.02, -3.0], [0.0, 0.0, -1.0, 0.0]];
    let beale = LinearProgram::new(&[-0.75, 150.0, -0.02, 6.0])
        .and_then(|p| p.at_least(rows.view(), &[0.0, 0.0, -1.0]))
        .unwrap();
    let outcome = linear_program(&beale, &settings).unwrap().outcome;
    assert!(
        matches!(&outcome, LpOutcome::Optimal { objective, .. } if (objective + 0.05).abs() < 1e-12),
        "{outcome:?}"
    );
    for seed in 0..5 {
        let (mut random, n) = (stream(seed, 5), 7);
        let cost: Vec<f64> = (0..n * n).map(|_| f64::from(random.random_range(0..4))).collect();
        // Every row and every column once; one of these equations follows from the others.
        let sums = Array2::from_shape_fn((2 * n, n * n), |(i, j)| {
            if i == j / n || i == n + j % n { 1.0 } else { 0.0 }
        });
        let program = LinearProgram::new(&cost)
            .and_then(|p| p.equal(sums.view(), &vec![1.0; 2 * n]))
            .unwrap();
        let outcome = linear_program(&program, &settings).unwrap().outcome;
        let LpOutcome::Optimal { objective, .. } = outcome else { panic!("{outcome:?}") };
        assert!((objective - f64::from(assignment(&cost, n, 0, 0))).abs() < 1e-9, "{objective}");
    }
}

/// The least cost of the rows from `row` on, by trying all columns that are not taken.
fn assignment(cost: &[f64], n: usize, row: usize, taken: u32) -> u16 {
    (0..n)
        .filter(|j| taken >> j & 1 == 0)
        .map(|j| cost[row * n + j] as u16 + assignment(cost, n, row + 1, taken | 1 << j))
        .min()
        .unwrap_or(0)
}

/// A few hundred variables: the value of a random packing problem, proved by its dual.
#[test]
fn larger_programs_are_finished_too() {
    let mut random = stream(9, 6);
    let (m, d) = (120, 200);
    let g = Array2::from_shape_fn((m, d), |_| {
        if random.random::<f64>() < 0.1 { -random.random_range(0.1..1.0) } else { 0.0 }
    });
    let cost: Vec<f64> = (0..d).map(|_| -random.random_range(0.5..1.0)).collect();
    let program = LinearProgram::new(&cost)
        .and_then(|p| p.at_least(g.view(), &vec![-1.0; m]))
        .and_then(|p| p.within(&vec![0.0; d], &vec![1.0; d]))
        .unwrap();
    let settings = LpSettings { max_passes: 1.0, ..LpSettings::default() };
    let solution = linear_program(&program, &settings).unwrap();
    let LpOutcome::Optimal { x, y, .. } = solution.outcome else {
        panic!("{:?}", solution.outcome)
    };
    assert!(program.error(&x, &y) <= 1e-11);
    assert!(solution.report.certificate.value() <= 1e-11);
}

/// A program of 2 to 12 variables, likely optimal, infeasible or unbounded in turn; every second six with entries from 1e-3 to 4e3.
fn any_program(seed: u64) -> Case {
    let mut random = stream(seed, 77);
    let d = random.random_range(2..13);
    let m = random.random_range(2..13);
    let e = random.random_range(0..3_usize).min(d - 1);
    let wild = seed % 12 >= 6;
    let mut entries = |rows: usize| {
        Array2::from_shape_simple_fn((rows, d), || {
            if random.random_range(0.0..1.0) < 0.3 {
                return 0.0;
            }
            let entry = f64::from(random.random_range(-4..=4));
            if wild { entry * 10.0_f64.powf(random.random_range(-3.0..3.0)) } else { entry }
        })
    };
    let (a, mut g) = (entries(e), entries(m));
    let mut uniform = |n: usize, low: f64| -> Array1<f64> {
        (0..n).map(|_| random.random_range(low..1.0)).collect()
    };
    let x = 2.0 * uniform(d, -1.0);
    let (below, above) = (&x - &uniform(d, 0.0), &x + &uniform(d, 0.0));
    let kinds = uniform(d, 0.0);
    let bounded = |j: usize, share: f64| kinds[j] < share;
    let mut h = (g.dot(&x) - uniform(m, 0.0)).to_vec();
    let mut c = uniform(d, -1.0);
    match seed % 3 {
        0 => c = g.t().dot(&uniform(m, 0.0)) + a.t().dot(&uniform(e, -1.0)),
        1 => {
            let against = Array2::from_shape_fn((1, d), |(_, j)| -g[[0, j]]);
            g = ndarray::concatenate(ndarray::Axis(0), &[g.view(), against.view()]).unwrap();
            h.push(1.0 - h[0]);
        }
        _ => {}
    }
    Case {
        b: a.dot(&x).to_vec(),
        a,
        g,
        h,
        c: c.to_vec(),
        low: (0..d).map(|j| if bounded(j, 0.7) { below[j] } else { f64::NEG_INFINITY }).collect(),
        high: (0..d).map(|j| if bounded(j, 0.3) { above[j] } else { f64::INFINITY }).collect(),
    }
}

/// Every program is decided, and never otherwise than PDHG without its finish decides it, where that does within its steps.
#[test]
fn random_programs_are_decided_and_as_pdhg_does() {
    let name = |outcome: &LpOutcome| match outcome {
        LpOutcome::Optimal { .. } => "optimal",
        LpOutcome::Infeasible { .. } => "infeasible",
        LpOutcome::Unbounded { .. } => "unbounded",
        LpOutcome::Undecided => "undecided",
    };
    let mut seen = [0; 3];
    for seed in 0..600 {
        let case = any_program(seed);
        let vertex = at_a_vertex(&case);
        assert_ne!(vertex, LpOutcome::Undecided, "{seed}");
        let names = ["optimal", "infeasible", "unbounded"];
        seen[names.iter().position(|n| *n == name(&vertex)).unwrap()] += 1;
        if seed >= 120 {
            continue;
        }
        let settings = LpSettings { polish: false, max_passes: 4e3, ..LpSettings::default() };
        let plain = linear_program(&case.program(), &settings).unwrap().outcome;
        if plain != LpOutcome::Undecided {
            assert_eq!(name(&vertex), name(&plain), "{seed}");
        }
        if let (LpOutcome::Optimal { objective: exact, .. }, LpOutcome::Optimal { objective, .. }) =
            (&vertex, &plain)
        {
            assert!((exact - objective).abs() <= 1e-5 * (1.0 + exact.abs()), "{seed}");
        }
    }
    assert!(seen.iter().all(|count| *count >= 30), "{seen:?}");
}

/// `1e-300 x >= 1` asks for `x = 1e300`, whose cost `1e300 x` is beyond the largest number: there is no certificate of it.
#[test]
fn an_objective_that_overflows_is_undecided() {
    for (sign, low, high) in [(1.0, 0.0, f64::INFINITY), (-1.0, f64::NEG_INFINITY, 0.0)] {
        let program = LinearProgram::new(&[sign * 1e300])
            .and_then(|p| p.at_least(array![[sign * 1e-300]].view(), &[1.0]))
            .and_then(|p| p.within(&[low], &[high]))
            .unwrap();
        for polish in [true, false] {
            let settings = LpSettings { polish, ..LpSettings::default() };
            let LpSolution { outcome, report } = linear_program(&program, &settings).unwrap();
            assert!(matches!(outcome, LpOutcome::Undecided), "{outcome:?}");
            assert_ne!(report.status, Status::Converged, "{report}");
        }
    }
    let program = LinearProgram::new(&[1.0]).unwrap();
    assert_eq!(program.error(&[f64::NAN], &[]), f64::INFINITY);
}

/// `min 1e-9 a + 1e9 b` with `1e9 a + 1e-9 b >= 1e-5` has the solution `a = 1e-14, b = 0` and the multiplier 1e-18. The
/// value 1e-23 is far below the size of the data, beside which the gap of `y = 0` is a rounding error.
#[test]
fn a_tiny_objective_has_its_digits() {
    let program = LinearProgram::new(&[1e-9, 1e9])
        .and_then(|p| p.at_least(array![[1e9, 1e-9]].view(), &[1e-5]))
        .unwrap();
    let LpOutcome::Optimal { x, y, objective } =
        linear_program(&program, &LpSettings::default()).unwrap().outcome
    else {
        panic!("it has a solution")
    };
    assert!((objective / 1e-23 - 1.0).abs() <= 1e-12, "{objective:e}");
    assert!((x[0] / 1e-14 - 1.0).abs() <= 1e-12 && x[1] == 0.0, "{x:?}");
    assert!((y[0] / 1e-18 - 1.0).abs() <= 1e-12, "{y:?}");
}
