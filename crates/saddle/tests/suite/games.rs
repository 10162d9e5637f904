//! Matrix games: values by enumeration of supports, the bounds of the theorems, bad input.

use fenchel_datasets::generate::odd;
use fenchel_linalg::Cholesky;
use fenchel_optim::random::stream;
use fenchel_optim::{Cadence, Progress, Status, StepSize, Stop};
use fenchel_saddle::methods::{
    MirrorDescentSettings, MirrorProxSettings, PdhgSettings, Potential, mirror_descent,
};
use fenchel_saddle::{
    MatrixGame, SaddleProblem, SaddleState, exact_game, matrix_game, sampled_game,
};
use ndarray::{Array1, Array2, array};
use rand::RngExt;
use std::ops::ControlFlow;

fn random(m: usize, p: usize, seed: u64) -> Array2<f64> {
    let mut rng = stream(seed, 0);
    Array2::from_shape_fn((m, p), |_| rng.random_range(-1.0..1.0))
}

/// The value of a game by enumeration of square sub-games (Shapley and Snow): each candidate pair is checked against the
/// whole matrix, so that whatever is returned is optimal.
pub(crate) fn value_by_enumeration(matrix: &Array2<f64>) -> f64 {
    let (m, p) = matrix.dim();
    // Shifting the payments makes the value positive, so that sub-matrices of optimal supports are regular.
    let shift = 2.0 + matrix.iter().fold(0.0_f64, |t, v| t.max(v.abs()));
    let subsets = |n: usize, k: usize| {
        (0_u32..1 << n)
            .filter(move |s| s.count_ones() as usize == k)
            .map(move |s| (0..n).filter(|i| s >> i & 1 == 1).collect::<Vec<_>>())
    };
    for k in 1..=m.min(p) {
        for rows in subsets(m, k) {
            for columns in subsets(p, k) {
                let sub =
                    Array2::from_shape_fn((k, k), |(i, j)| matrix[[rows[i], columns[j]]] + shift);
                let (Some(x), Some(y)) = (solve(&sub.t().to_owned()), solve(&sub)) else {
                    continue;
                };
                let (sx, sy): (f64, f64) = (x.iter().sum(), y.iter().sum());
                let spread = |v: &[f64], s: f64, at: &[usize], n: usize| {
                    let mut full = vec![0.0; n];
                    at.iter().zip(v).for_each(|(i, v)| full[*i] = v / s);
                    full
                };
                let (x, y) = (spread(&x, sx, &rows, m), spread(&y, sy, &columns, p));
                if x.iter().chain(&y).any(|v| !(*v >= -1e-12)) {
                    continue;
                }
                let game = MatrixGame::new(matrix.view()).unwrap();
                let (high, low) = (game.objective(&x), game.lower_bound(&y));
                if high - low < 1e-10 {
                    return 0.5 * (high + low);
                }
            }
        }
    }
    panic!("every game has an optimal square sub-game")
}

/// `A v = 1`, through the normal equations.
fn solve(a: &Array2<f64>) -> Option<Vec<f64>> {
    let gram = a.t().dot(a);
    let ones = vec![1.0; a.nrows()];
    let mut v = a.t().dot(&ndarray::ArrayView1::from(&ones)).to_vec();
    let factor = Cholesky::new(gram.view()).ok()?;
    factor.solve_in_place(&mut v).ok()?;
    Some(v)
}

#[test]
fn values_agree_with_enumeration_and_lie_within_the_certificate() {
    for seed in 0..12 {
        let matrix = random(2 + seed as usize % 4, 2 + seed as usize % 3, seed);
        let value = value_by_enumeration(&matrix);
        let game = MatrixGame::new(matrix.view()).unwrap();
        let stop = Stop { absolute: 1e-4, relative: 0.0, max_passes: 1e6, ..Stop::default() };
        let settings = MirrorProxSettings { step: StepSize::Backtracking, stop };
        let solution = matrix_game(&game, &settings, None, &mut ()).unwrap();
        assert_eq!(solution.report.status, Status::Converged);
        let (high, low) = (game.objective(&solution.state.x), game.lower_bound(&solution.state.y));
        assert!(low - 1e-12 <= value && value <= high + 1e-12, "{low} {value} {high}");
        assert!(high - low <= 1e-4 + 1e-12);
    }
}

/// `2 max|M| sqrt(ln m ln p) / T`, and not much less: a wrong constant of the step would show.
#[test]
fn mirror_prox_keeps_its_bound_on_games() {
    for (seed, m, p) in [(1, 5, 8), (2, 20, 20), (3, 2, 40)] {
        let matrix = random(m, p, seed);
        let game = MatrixGame::new(matrix.view()).unwrap();
        let a = game.coupling() * ((m as f64).ln() * (p as f64).ln()).sqrt();
        assert!((game.scale() - a).abs() < 1e-12 * a);
        let mut worst = 0.0_f64;
        for steps in [1.0, 10.0, 100.0, 1000.0] {
            let stop = Stop { check: Cadence::Every(1e9), ..Stop::after_passes(2.0 * steps) };
            let settings = MirrorProxSettings { step: StepSize::Theory, stop };
            let state = matrix_game(&game, &settings, None, &mut ()).unwrap().state;
            let ratio = (game.objective(&state.x) - game.lower_bound(&state.y)) * steps / (2.0 * a);
            assert!(ratio <= 1.0, "T = {steps}: {ratio}");
            worst = worst.max(ratio);
        }
        assert!(worst > 0.1, "{worst}");
    }
}

/// Theorem 1.6: `(B_x sqrt(Omega_x) + B_y sqrt(Omega_y)) sqrt(2/T)`.
#[test]
fn mirror_descent_with_bounded_fields_keeps_its_bound() {
    let (m, p) = (6, 30);
    let matrix = random(m, p, 4);
    let game = MatrixGame::new(matrix.view()).unwrap();
    let b = game.coupling();
    for steps in [10_u64, 100, 1000, 10_000] {
        let stop = Stop { check: Cadence::Every(1e9), ..Stop::after_passes(steps as f64) };
        let potential = Potential::Fields { x: b, y: b };
        let settings =
            MirrorDescentSettings { potential, horizon: Some(steps), stop, ..Default::default() };
        let state = mirror_descent(&game, &settings, None, &mut ()).unwrap().state;
        let gap = game.objective(&state.x) - game.lower_bound(&state.y);
        let radii = (m as f64).ln().sqrt() + (p as f64).ln().sqrt();
        let bound = b * radii * (2.0 / steps as f64).sqrt();
        assert!(gap <= bound && gap > 0.05 * bound, "T = {steps}: {gap} {bound}");
    }
}

/// In expectation; the mean over seeds of a quantity of this spread is far below the bound.
#[test]
fn sampled_games_keep_their_bound_on_average() {
    let game = MatrixGame::new(random(12, 9, 5).view()).unwrap();
    let steps = 4000_u64;
    let passes = steps as f64 * 21.0 / (2.0 * 12.0 * 9.0);
    let mut sum = 0.0;
    for seed in 0..10 {
        let stop = Stop { check: Cadence::Every(1e9), ..Stop::after_passes(passes) };
        let settings = MirrorDescentSettings { horizon: Some(steps), stop, ..Default::default() };
        let solution = sampled_game(&game, seed, &settings, &mut ()).unwrap();
        assert!(solution.report.oracle_calls.abs_diff(steps) <= 1);
        sum += game.objective(&solution.state.x) - game.lower_bound(&solution.state.y);
    }
    let noise = 2.0 * game.coupling() * (12.0_f64.ln() + 9.0_f64.ln()).sqrt();
    let bound = 3.0 * 10.0_f64.sqrt() * game.scale() + 7.0 / 2.0_f64.sqrt() * noise;
    let bound = bound / (steps as f64).sqrt();
    assert!(sum / 10.0 <= bound, "{} {bound}", sum / 10.0);
    // And it is no constant: the start's gap is far above.
    let start = vec![1.0 / 12.0; 12];
    let first = game.objective(&start) - game.lower_bound(&[1.0 / 9.0; 9]);
    assert!(sum / 10.0 < 0.5 * first);
}

/// By the bound `2a/T` at the latest, whatever the unit of the payments and the constant in them.
#[test]
fn a_game_at_defaults_ends_with_an_answer() {
    for seed in 0..60 {
        let payments = odd(seed).x;
        if payments.len() > 400 {
            continue;
        }
        let game = MatrixGame::new(payments.view()).unwrap();
        let report =
            matrix_game(&game, &MirrorProxSettings::default(), None, &mut ()).unwrap().report;
        // Payments whose constant has cost them their digits may stall.
        let size = payments.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let lost = game.spread() < 1e-9 * size;
        assert!(report.status == Status::Converged || lost, "{seed}: {report}");
    }
}

#[test]
fn a_player_without_a_choice_is_answered_exactly() {
    let game = MatrixGame::new(array![[3.0, -1.0, 5.0]].view()).unwrap();
    let solution = matrix_game(&game, &MirrorProxSettings::default(), None, &mut ()).unwrap();
    assert_eq!((solution.state.y, solution.report.certificate.value()), (vec![0.0, 0.0, 1.0], 0.0));
    let game = MatrixGame::new(array![[3.0], [-1.0]].view()).unwrap();
    let solution = sampled_game(&game, 0, &MirrorDescentSettings::default(), &mut ()).unwrap();
    assert_eq!(solution.state.x, [0.0, 1.0]);
    assert_eq!(solution.report.certificate.objective(), Some(-1.0));
    // A game without payments is solved by anything, at once.
    let game = MatrixGame::new(Array2::zeros((3, 2)).view()).unwrap();
    let solution = matrix_game(&game, &MirrorProxSettings::default(), None, &mut ()).unwrap();
    assert_eq!((solution.report.status, solution.report.passes), (Status::Converged, 0.0));
}

/// The unit of the payments does not matter to the default stop: with a power of 2 all numbers are the same but for their exponents. Nor does
/// a constant that is added to all payments make a game that is solved at the start.
#[test]
fn tiny_payments_and_large_constants_are_played_as_well() {
    let matrix = array![[2.0, -1.0, 0.5], [-1.0, 1.0, 0.25], [0.0, 0.5, -0.75]];
    let value = value_by_enumeration(&matrix);
    let stop = Stop { max_passes: 1e5, ..Stop::default() };
    let by_search = MirrorProxSettings { step: StepSize::Backtracking, stop };
    let play = |matrix: &Array2<f64>| {
        let game = MatrixGame::new(matrix.view()).unwrap();
        let prox = matrix_game(&game, &by_search, None, &mut ()).unwrap();
        let exact = exact_game(&game, &PdhgSettings::default(), None, &mut ()).unwrap();
        for (report, x, y) in [
            (&prox.report, &prox.state.x, &prox.state.y),
            (&exact.report, &exact.state.x, &exact.state.y),
        ] {
            assert!(report.passes > 0.0, "{report}");
            assert_eq!(report.status, Status::Converged, "{report}");
            // The report has the best lower bound of the run, which need not be that of the last strategies.
            assert!(report.certificate.value() <= 1e-4 * game.spread(), "{report}");
            assert!(game.objective(x) - game.lower_bound(y) <= 3e-4 * game.spread());
        }
        let mean = 0.5 * (game.objective(&exact.state.x) + game.lower_bound(&exact.state.y));
        (prox.state.x, exact.state.x, mean)
    };
    let (prox, exact, mean) = play(&matrix);
    assert!((mean - value).abs() <= 3e-4, "{mean} {value}");
    for exponent in [-30, -40, -300, 300] {
        let unit = 2.0_f64.powi(exponent);
        let (small_prox, small_exact, mean) = play(&(&matrix * unit));
        if exponent > -300 && exponent < 300 {
            assert_eq!((&small_prox, &small_exact), (&prox, &exact), "2^{exponent}");
        }
        // Where squares leave the range, norms are computed another way: the last digit may differ.
        let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-9);
        assert!(near(&small_prox, &prox) && near(&small_exact, &exact), "2^{exponent}");
        assert!((mean - unit * value).abs() <= 3e-4 * unit);
    }
    for constant in [-1e3, 1e6] {
        let game = MatrixGame::new((&matrix + constant).view()).unwrap();
        let solution = exact_game(&game, &PdhgSettings::default(), None, &mut ()).unwrap();
        assert!(solution.report.passes > 0.0 && solution.report.status == Status::Converged);
        let (high, low) = (game.objective(&solution.state.x), game.lower_bound(&solution.state.y));
        assert!((0.5 * (high + low) - constant - value).abs() <= 3e-4, "{high} {low}");
    }
    // All payments the same: anything is optimal, at once.
    let game = MatrixGame::new(Array2::from_elem((3, 2), 0.1).view()).unwrap();
    let solution = exact_game(&game, &PdhgSettings::default(), None, &mut ()).unwrap();
    assert_eq!((solution.report.status, solution.report.passes), (Status::Converged, 0.0));
    // An absolute tolerance of the caller's is kept; a tolerance that is none is refused.
    let game = MatrixGame::new((&matrix * 1e-9).view()).unwrap();
    let stop = |absolute| Stop { absolute, relative: 0.0, ..Stop::default() };
    let settings = |absolute| PdhgSettings { stop: stop(absolute), ..PdhgSettings::default() };
    let rough = exact_game(&game, &settings(1e-8), None, &mut ()).unwrap();
    assert_eq!((rough.report.status, rough.report.passes), (Status::Converged, 0.0));
    assert!(exact_game(&game, &settings(f64::NAN), None, &mut ()).is_err());
}

#[test]
fn a_run_goes_on_bit_for_bit_and_can_be_watched() {
    let game = MatrixGame::new(random(7, 5, 6).view()).unwrap();
    for step in [StepSize::Theory, StepSize::Backtracking] {
        let run = |passes: f64, start: Option<SaddleState>| {
            let settings = MirrorProxSettings { step, stop: Stop::after_passes(passes) };
            matrix_game(&game, &settings, start, &mut ()).unwrap()
        };
        let whole = run(60.0, None);
        let part = run(30.0, None);
        let file = serde_json::to_string(&part.state).unwrap();
        let both = run(60.0 - part.report.passes, Some(serde_json::from_str(&file).unwrap()));
        if part.report.passes + both.report.passes == whole.report.passes {
            assert_eq!(both.state, whole.state);
        } else {
            assert_eq!(step, StepSize::Backtracking, "two fields an iteration");
        }
    }
    let mut looks = 0;
    let mut watch = |progress: &Progress, _: &fenchel_saddle::methods::MirrorProx<'_>| {
        looks += 1;
        if progress.passes >= 10.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let settings = MirrorProxSettings { stop: Stop::after_passes(100.0), ..Default::default() };
    let solution = matrix_game(&game, &settings, None, &mut watch).unwrap();
    assert_eq!(solution.report.status, Status::Stopped);
    assert!(looks >= 3);
}

/// The reported gap is that of the returned pair, also where the best lower bound belongs to an earlier average.
#[test]
fn the_reported_gap_is_that_of_the_returned_pair() {
    for rows in [vec![1, 1, -1], vec![1, 1, -1, -1, -1]] {
        let payments =
            Array2::from_shape_fn((rows.len(), 2), |(i, j)| f64::from(rows[i] * [1, -1][j]));
        let game = MatrixGame::new(payments.view()).unwrap();
        let exact = matrix_game(&game, &MirrorProxSettings::default(), None, &mut ()).unwrap();
        let stop = Stop { max_passes: 3000.0, ..Stop::default() };
        let settings = MirrorDescentSettings { stop, ..Default::default() };
        let sampled = sampled_game(&game, 3, &settings, &mut ()).unwrap();
        for solution in [exact, sampled] {
            let (x, y) = (Array1::from(solution.state.x), Array1::from(solution.state.y));
            let dearest = payments.t().dot(&x).fold(f64::NEG_INFINITY, |m, v| m.max(*v));
            let least = payments.dot(&y).fold(f64::INFINITY, |m, v| m.min(*v));
            let (gap, reported) = (dearest - least, solution.report.certificate.value());
            assert!((gap - reported).abs() <= 1e-9, "{gap} {reported}");
        }
    }
}

#[test]
fn bad_games_and_settings_are_named() {
    let message = |matrix: Array2<f64>| MatrixGame::new(matrix.view()).unwrap_err().to_string();
    assert_eq!(message(Array2::zeros((0, 3))), "matrix of the game is empty");
    assert!(message(array![[1.0, 2.0], [f64::NAN, 0.0]]).contains("row 1, column 0"));
    let game = MatrixGame::new(random(3, 3, 7).view()).unwrap();
    let refused = |settings: MirrorProxSettings, start: Option<SaddleState>| {
        matrix_game(&game, &settings, start, &mut ()).unwrap_err().to_string()
    };
    let step = |step| MirrorProxSettings { step, ..Default::default() };
    assert!(refused(step(StepSize::Constant(-1.0)), None).contains("step = -1"));
    assert!(refused(step(StepSize::Scaled(f64::NAN)), None).contains("NaN"));
    let decaying = StepSize::Decaying { first: 1.0, power: 0.5 };
    assert!(refused(step(decaying), None).contains("cannot take"));
    let short = SaddleState::at(vec![1.0], vec![1.0; 3]);
    assert!(refused(MirrorProxSettings::default(), Some(short)).contains("start.x"));
}
