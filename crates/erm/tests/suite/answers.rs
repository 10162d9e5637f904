//! What a report says is true of the answer that is returned: for every method by name, on odd data.
//!
//! `FENCHEL_PROBLEMS` is the number of problems; by default there are a few.

use fenchel_datasets::generate::odd;
use fenchel_erm::loss::{Hinge, Huber, Logistic, Poisson, Squared};
use fenchel_erm::methods::{
    CatalystSettings, CoordinateSettings, FinitoSettings, FistaSettings, FistaState, LbfgsSettings,
    LbfgsState, MisoMuSettings, MisoSettings, NewtonCgSettings, NewtonSettings, ProxFinitoSettings,
    QningSettings, SagSettings, SagaSettings, SdcaSettings, SgdSettings, SubsampledNewtonSettings,
    SvrgSettings, catalyst, coordinate_descent, finito, fista, lbfgs, miso, miso_mu, newton,
    newton_cg, prox_finito, qning, sag, saga, sdca, sgd, subsampled_newton, svrg,
};
use fenchel_erm::methods::{DualState, IncrementalState, PointTableState, TableState};
use fenchel_erm::{AutoSettings, AutoState, Error, Point, Problem, auto};
use fenchel_linalg::Dense;
use fenchel_optim::Cadence;
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::random::{Order, stream};
use fenchel_optim::{Certificate, Loss, Regulariser, Report, Status, Stop};
use ndarray::Array2;
use rand::RngExt;

/// Method, its answer, and what it says of it.
type Answer = (&'static str, Point, Report);

/// The point of any state.
pub(crate) trait Pointed {
    fn pointed(self) -> Point;
}

macro_rules! pointed {
    ($($state:ty),*) => {
        $(impl Pointed for $state {
            fn pointed(self) -> Point {
                self.point
            }
        })*
    };
}
pointed!(
    DualState,
    IncrementalState,
    TableState,
    PointTableState,
    AutoState,
    FistaState<Point>,
    LbfgsState<Point>
);

impl Pointed for Point {
    fn pointed(self) -> Point {
        self
    }
}

const STOP: Stop = Stop {
    max_passes: 40.0,
    max_seconds: None,
    relative: 1e-6,
    absolute: 1e-12,
    check: Cadence::Adaptive,
};

/// Runs a method; a refusal is no answer.
macro_rules! ask {
    ($answers:ident, $problem:ident, $name:literal, $method:ident, $settings:expr) => {
        match $method($problem, &$settings, None, &mut ()) {
            Ok(solution) => $answers.push(($name, solution.state.pointed(), solution.report)),
            Err(Error::Refused(_)) => (),
            Err(error) => panic!("{}: {error}", $name),
        }
    };
}

/// The methods that take the pair of a loss and a regulariser by their types.
macro_rules! every {
    (dual: $answers:ident, $p:ident) => {
        let s = SdcaSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "sdca", sdca, s);
        let s = SdcaSettings { stop: STOP, order: Order::Gap, ..Default::default() };
        ask!($answers, $p, "sdca by gaps", sdca, s);
        let s = ProxFinitoSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "prox_finito", prox_finito, s);
        let s = CatalystSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "catalyst", catalyst, s);
        let s = QningSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "qning", qning, s);
        let s = MisoMuSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "miso_mu", miso_mu, s);
    };
    (primal: $answers:ident, $p:ident) => {
        let s = SagaSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "saga", saga, s);
        let s = SvrgSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "svrg", svrg, s);
        let s = SgdSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "sgd", sgd, s);
        let s = FistaSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "fista", fista, s);
        let s = CoordinateSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "coordinate_descent", coordinate_descent, s);
    };
    (second: $answers:ident, $p:ident) => {
        let s = NewtonSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "newton", newton, s);
        let s = AutoSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "auto", auto, s);
    };
    (smooth: $answers:ident, $p:ident) => {
        let s = SagSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "sag", sag, s);
        let s = FinitoSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "finito", finito, s);
        let s = MisoSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "miso", miso, s);
        let s = NewtonCgSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "newton_cg", newton_cg, s);
        let s = SubsampledNewtonSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "subsampled_newton", subsampled_newton, s);
        let s = LbfgsSettings { stop: STOP, ..Default::default() };
        ask!($answers, $p, "lbfgs", lbfgs, s);
    };
}

/// `F(x, b)` written out, and what rounding may do to it: every margin is known up to `eps d sum_j |a_ij x_j|`, and a loss
/// changes by its slope times that.
fn objective<L: Loss, R: Regulariser>(
    x: &Array2<f64>,
    y: &[f64],
    loss: &L,
    regulariser: &R,
    l2: f64,
    point: &Point,
) -> (f64, f64) {
    let n = y.len() as f64;
    let (mut sum, mut error) = (0.0, 0.0);
    for (a, &y) in x.rows().into_iter().zip(y) {
        let products = || a.iter().zip(&point.weights).map(|(a, w)| a * w);
        let t = products().sum::<f64>() + point.intercept;
        let size = products().map(f64::abs).sum::<f64>() + point.intercept.abs();
        let value = loss.value(t, y);
        let slope = loss.derivative(t, y).abs();
        sum += value;
        error += value.abs() + slope * size + (y * t).abs();
    }
    let penalty = 0.5 * l2 * point.weights.iter().map(|w| w * w).sum::<f64>()
        + regulariser.value(&point.weights);
    let ulps = 4.0 * (x.ncols() as f64 + 16.0) * f64::EPSILON;
    (sum / n + penalty, ulps * (error / n + penalty.abs()))
}

/// Each report is of its point, no lower bound is above another answer, and what is said to be converged is within the tolerance.
fn check<L: Loss, R: Regulariser>(
    what: &str,
    (x, y): (&Array2<f64>, &[f64]),
    (loss, regulariser, l2): (&L, &R, f64),
    answers: &[Answer],
) {
    let found: Vec<(f64, f64)> =
        answers.iter().map(|(_, point, _)| objective(x, y, loss, regulariser, l2, point)).collect();
    for ((name, _, report), &(value, error)) in answers.iter().zip(&found) {
        let case = || format!("{what}, {} {} l2 {l2:e}, {name}: {report}", L::NAME, R::NAME);
        if let Some(said) = report.certificate.objective() {
            assert!((said - value).abs() <= error, "{}: {value:e} +- {error:e}", case());
        }
        if report.status == Status::Converged {
            assert!(STOP.met_by(&report.certificate), "{}", case());
        }
        let Certificate::Gap { objective, lower_bound, .. } = report.certificate else { continue };
        assert!(lower_bound <= objective, "{}", case());
        for ((other, ..), &(best, slack)) in answers.iter().zip(&found) {
            let slack = slack + error + 1e-13 * best.abs();
            assert!(lower_bound <= best + slack, "{}: {other} has {best:e}", case());
        }
    }
}

/// The number of problems.
fn problems() -> u64 {
    std::env::var("FENCHEL_PROBLEMS").ok().and_then(|n| n.parse().ok()).unwrap_or(24)
}

/// Counts that hardly depend on the features: the start, weights of 0 and the best intercept, meets the tolerance, and a dual method
/// moves away from it before it comes back. What is said is said of the point that is returned.
#[test]
fn a_dual_method_reports_the_point_it_returns() {
    let rows = ndarray::array![[1.0, 0.5], [2.0, -1.0], [-3.0, 0.3]];
    let one = ndarray::array![[1.0]];
    let ten = Array2::from_shape_fn((10, 1), |(i, _)| (i * 7 % 10) as f64 / 5.0 - 1.0);
    let many: Vec<f64> = (0..10).map(|i| 995.0 + (i * 3 % 11) as f64).collect();
    for (x, y, l2) in [
        (&rows, &[2.0; 3][..], 1e-2),
        (&rows, &[9.0; 3], 1e-4),
        (&one, &[9.0], 1.0),
        (&ten, &many, 1e-3),
    ] {
        let problem = Problem::new(Dense::new(x.view()).unwrap(), y, Poisson, Zero, l2).unwrap();
        let problem = &problem.with_intercept();
        let mut answers: Vec<Answer> = Vec::new();
        every!(dual: answers, problem);
        assert!(answers.len() >= 3);
        check("counts", (x, y), (&Poisson, &Zero, l2), &answers);
    }
}

/// With counts of 0 alone the infimum lies at an intercept of minus infinity.
#[test]
fn counts_of_zero_have_no_minimiser() {
    let x = ndarray::array![[1.0, 0.5], [2.0, -1.0], [-3.0, 0.3]];
    let pose = |l2| Problem::new(Dense::new(x.view()).unwrap(), &[0.0; 3], Poisson, Zero, l2);
    let problem = &pose(1e-2).unwrap().with_intercept();
    let mut answers: Vec<Answer> = Vec::new();
    every!(dual: answers, problem);
    every!(second: answers, problem);
    for (name, _, report) in &answers {
        assert_eq!(report.status, Status::NoMinimiser, "{name}: {report}");
    }
    // Without an intercept the penalty holds the weights.
    let held = auto(&pose(1e-2).unwrap(), &AutoSettings::default(), None, &mut ()).unwrap();
    assert_eq!(held.report.status, Status::Converged);
}

#[test]
fn reports_are_about_the_answers() {
    let mut asked = 0;
    for seed in 0..problems() {
        let data = odd(seed);
        let (x, targets) = (&data.x, data.y.to_vec());
        let signs: Vec<f64> = targets.iter().map(|y| if *y > 0.0 { 1.0 } else { -1.0 }).collect();
        let counts: Vec<f64> = targets.iter().map(|y| y.abs().round()).collect();
        let design = || Dense::new(x.view()).unwrap();
        let square = x.iter().map(|v| v * v).sum::<f64>() / x.nrows() as f64;
        let l2 = square * 10f64.powi(-(seed as i32 / 4 % 5));
        let l1 = square.sqrt() * 10f64.powi(-1 - (seed as i32 / 4 % 3));
        let what = format!("seed {seed}: {}", data.what);
        /// Poses a problem, unless its rows are too large or too small to work with, and asks the methods.
        macro_rules! pose {
            ($y:expr, $loss:expr, $regulariser:expr, $l2:expr, $($kind:ident),*) => {{
                let posed = Problem::new(design(), $y, $loss, $regulariser, $l2);
                let Ok(posed) = posed else { continue };
                let posed = if seed % 3 > 0 { posed.with_intercept() } else { posed };
                let problem = &posed;
                let mut answers: Vec<Answer> = Vec::new();
                $(every!($kind: answers, problem);)*
                check(&what, (x, $y), (&$loss, &$regulariser, $l2), &answers);
                asked += answers.len() as u64;
            }};
        }
        match seed % 4 {
            0 => pose!(&signs, Logistic, Zero, l2, dual, primal, second, smooth),
            1 => {
                let l1 = L1 { strength: l1 };
                pose!(
                    &targets,
                    Squared,
                    l1,
                    if seed % 8 < 4 { 0.0 } else { l2 },
                    dual,
                    primal,
                    second
                )
            }
            2 => pose!(&counts, Poisson, Zero, l2, dual, second),
            _ => pose!(&signs, Hinge, Zero, l2, dual, second),
        }
    }
    assert!(asked > 3 * problems(), "{asked} answers");
}

/// Dense data that are large enough for a trial of L-BFGS: whatever becomes of it, the run ends at the optimum of Newton's method.
#[test]
fn a_trial_of_l_bfgs_ends_at_the_optimum() {
    fn ends<L: Loss + Copy>(loss: L, x: &Array2<f64>, y: &[f64]) -> bool {
        let mut on_trial = false;
        for (l2, relative) in [(0.1, 1e-6), (1e-5, 1e-6), (1e-5, 1e-12), (0.1, 1e-9)] {
            let design = Dense::new(x.view()).unwrap();
            let problem = Problem::new(design, y, loss, Zero, l2).unwrap().with_intercept();
            let stop = Stop::at_relative(relative);
            let s =
                auto(&problem, &AutoSettings { stop, ..AutoSettings::default() }, None, &mut ())
                    .unwrap();
            let name = format!("{}, l2 {l2}, {relative:e}: {}", L::NAME, s.state.choice);
            assert_eq!(s.report.status, Status::Converged, "{name}: {}", s.report);
            let stop = Stop::at_relative(1e-12);
            let exact =
                newton(&problem, &NewtonSettings { stop, ..Default::default() }, None, &mut ());
            let (found, best) = (s.report.certificate, exact.unwrap().report.certificate);
            let (found, best) = (found.objective().unwrap(), best.objective().unwrap());
            assert!((found - best).abs() <= 2.0 * relative * best, "{name}: {found} {best}");
            on_trial |= s.state.choice.reason.as_deref() == Some("it went well on trial");
        }
        on_trial
    }
    let mut rng = stream(3, 0);
    let x = Array2::from_shape_simple_fn((700, 200), || rng.random_range(-1.0..1.0));
    let scores: Vec<f64> =
        x.rows().into_iter().map(|row| row[0] + rng.random_range(-1.0..1.0)).collect();
    let signs: Vec<f64> = scores.iter().map(|t| t.signum()).collect();
    assert!(ends(Logistic, &x, &signs));
    ends(Huber { delta: 1.0 }, &x, &scores);
}
