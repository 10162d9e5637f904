//! Matrix games: two players with mixed strategies.
//!
//! ```text
//! min_{x in simplex} max_{y in simplex}  x' M y
//! ```
//!
//! The row player pays `M_ij` to the column player. With strategy `x` the row player pays at most `max_j (M'x)_j`.
//! With strategy `y` the column player receives at least `min_i (M y)_i`. The value of the game lies between these
//! bounds, and their difference is the certificate.
//!
//! | method | an iteration costs | gap after `T` iterations |
//! |---|---|---|
//! | [`matrix_game`] (mirror prox) | two products, O(m p) | `spread sqrt(ln m ln p) / T` |
//! | [`exact_game`] (restarted PDHG) | two products | linear convergence, for many digits |
//! | [`sampled_game`] | a row and a column, O(m + p) | `O(spread sqrt(ln(m p)) / sqrt(T))` in expectation |
//!
//! Payments may have any unit, and a constant may be added to all of them: the methods see
//! the payments less the middle one, and the objective and the lower bound of a report include it. So the relative tolerance of `stop` is a fraction of the *spread*, which is the largest payment minus the smallest, and not a fraction of the value of the
//! game. The default is a gap of 1e-4 of the spread. An absolute tolerance is in the units of the payments, with one
//! exception: tolerances up to the default of 1e-12 are multiplied by the spread if that is below 1.
//!
//! Sources: D. Babichev, PhD thesis 2019, section 4.2, with entropies for both players; Grigoriadis and Khachiyan
//! (1995) for the sampled form.

mod base;

use std::ops::ControlFlow;

use fenchel_linalg::Invalid;
use fenchel_optim::random::{Generator, stream};
use fenchel_optim::{Certificate, Clock, Observer, Progress, Report, Solution, Status, Stop, Wall};
use ndarray::{Array2, ArrayView2};
use rand::RngExt;

use self::base::Base;
use crate::Error;
use crate::methods::mirror::{At, Oracle};
use crate::methods::mirror_descent::{
    MirrorDescent, MirrorDescentSettings, stochastic_mirror_descent,
};
use crate::methods::mirror_prox::{MirrorProx, MirrorProxSettings, mirror_prox};
use crate::methods::pdhg::{Pdhg, PdhgSettings, PdhgState, pdhg};
use crate::problem::{SaddleProblem, SaddleState};
use crate::setup::Setup;

/// A checked matrix game, with an `m x p` matrix of payments by the row player.
#[derive(Debug, Clone, PartialEq)]
pub struct MatrixGame {
    payments: Array2<f64>,
    /// The largest payment minus the smallest.
    spread: f64,
    /// Half of the largest plus half of the smallest payment, or 0 if that is small beside the spread.
    middle: f64,
    base: Base,
}

/// Adds the middle payment to both numbers of a certificate. A base that contradicts itself still proves nothing.
fn paid(middle: f64, of_base: Certificate) -> Certificate {
    match of_base {
        Certificate::Gap { objective, lower_bound, rounding } if of_base.value().is_finite() => {
            let rounding = rounding + 2.0 * f64::EPSILON * middle.abs();
            Certificate::gap_within(middle + objective, middle + lower_bound, rounding)
        }
        other => Certificate::Uncertified { objective: other.objective().map(|v| middle + v) },
    }
}

fn with_middle(middle: f64, report: Report) -> Report {
    Report { certificate: paid(middle, report.certificate), ..report }
}

/// Shows an observer the certificates of the game, where the method has those of the base.
struct Paid<'o, O> {
    middle: f64,
    observer: &'o mut O,
}

impl<M, O: Observer<M>> Observer<M> for Paid<'_, O> {
    fn watches(&self) -> bool {
        self.observer.watches()
    }

    fn polls(&self) -> bool {
        self.observer.polls()
    }

    fn observe(&mut self, progress: &Progress, method: &M) -> ControlFlow<()> {
        let certificate = paid(self.middle, progress.certificate);
        self.observer.observe(&Progress { certificate, ..*progress }, method)
    }

    fn poll(&mut self, progress: &Progress, method: &M) -> ControlFlow<()> {
        let certificate = paid(self.middle, progress.certificate);
        self.observer.poll(&Progress { certificate, ..*progress }, method)
    }
}

impl MatrixGame {
    /// Checks and copies a matrix.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is empty or has an entry that is not finite.
    pub fn new(matrix: ArrayView2<f64>) -> Result<Self, Error> {
        let (m, p) = matrix.dim();
        if m * p == 0 {
            return Err(Invalid::Empty { what: "matrix of the game" }.into());
        }
        if let Some(((row, column), value)) = matrix.indexed_iter().find(|(_, v)| !v.is_finite()) {
            let (what, value) = ("matrix of the game", *value);
            return Err(Invalid::NonFinite { what, row, column, value }.into());
        }
        let payments = matrix.as_standard_layout().into_owned();
        let top = payments.iter().fold(f64::NEG_INFINITY, |top, v| top.max(*v));
        let low = payments.iter().fold(f64::INFINITY, |low, v| low.min(*v));
        // Halves: the difference and the sum of two numbers may overflow.
        let spread = (2.0 * (0.5 * top - 0.5 * low)).min(f64::MAX);
        let middle = 0.5 * top + 0.5 * low;
        // A smaller middle costs no digits, and is not worth a rounding error.
        let middle = if middle.abs() > spread { middle } else { 0.0 };
        let base = Base::new(payments.mapv(|v| v - middle), spread);
        Ok(MatrixGame { payments, spread, middle, base })
    }

    /// The largest payment minus the smallest, which is the unit of relative tolerances.
    pub fn spread(&self) -> f64 {
        self.spread
    }

    /// Converts tolerances to the unit of the payments.
    fn stop(&self, stop: &Stop) -> Result<Stop, Error> {
        stop.check()?;
        let small = stop.absolute <= Stop::default().absolute;
        let unit = if small { self.spread.min(1.0) } else { 1.0 };
        let absolute = (stop.absolute * unit).max(stop.relative * self.spread).min(f64::MAX);
        Ok(Stop { absolute, relative: 0.0, ..*stop })
    }

    /// The payments.
    pub fn matrix(&self) -> ArrayView2<'_, f64> {
        self.payments.view()
    }

    /// Solves the cases in which a player has only one strategy, or all payments are equal. Mirror steps would divide
    /// by `ln 1` there.
    fn trivial(&self) -> Option<Solution<SaddleState>> {
        let (m, p) = self.payments.dim();
        if m > 1 && p > 1 && self.spread > 0.0 {
            return None;
        }
        let wall = Wall::start();
        let pure = |length: usize, at: usize| {
            let mut x = vec![0.0; length];
            x[at] = 1.0;
            x
        };
        let cells = || self.payments.iter().copied().enumerate();
        let state = if m > 1 && p > 1 {
            SaddleState::at(vec![1.0 / m as f64; m], vec![1.0 / p as f64; p])
        } else if m == 1 {
            let best = cells().fold((0, f64::NEG_INFINITY), |b, c| if c.1 > b.1 { c } else { b });
            SaddleState::at(vec![1.0], pure(p, best.0))
        } else {
            let best = cells().fold((0, f64::INFINITY), |b, c| if c.1 < b.1 { c } else { b });
            SaddleState::at(pure(m, best.0), vec![1.0])
        };
        let certificate = SaddleProblem::certificate(self, &state.x, &state.y);
        let status = Status::Converged;
        let seconds = wall.seconds();
        let report = Report { status, certificate, passes: 0.0, oracle_calls: 0, seconds };
        Some(Solution { state, report })
    }
}

/// The field leaves out the constant part of the payments, which does not affect steps on a simplex.
impl SaddleProblem for MatrixGame {
    fn x_setup(&self) -> &dyn Setup {
        &self.base.x
    }

    fn y_setup(&self) -> &dyn Setup {
        &self.base.y
    }

    fn field(&self, x: &[f64], y: &[f64], gx: &mut [f64], gy: &mut [f64]) {
        self.base.field(x, y, gx, gy);
    }

    fn field_x(&self, y: &[f64], gx: &mut [f64]) {
        self.base.field_x(y, gx);
    }

    fn field_y(&self, x: &[f64], gy: &mut [f64]) {
        self.base.field_y(x, gy);
    }

    fn coupling(&self) -> f64 {
        0.5 * self.spread
    }

    fn objective(&self, x: &[f64]) -> f64 {
        self.middle + self.base.objective(x)
    }

    fn lower_bound(&self, y: &[f64]) -> f64 {
        self.middle + self.base.lower_bound(y)
    }
}

/// Solves a game by mirror prox. The strategies are `state.x` and `state.y`. The tolerance `stop.relative` is a
/// fraction of the [spread](MatrixGame::spread) of the payments.
///
/// ```
/// use fenchel_saddle::{MatrixGame, matrix_game};
/// use fenchel_saddle::methods::MirrorProxSettings;
/// use ndarray::array;
///
/// // Rock, paper, scissors.
/// let game = MatrixGame::new(array![[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, 0.0]].view())?;
/// let solution = matrix_game(&game, &MirrorProxSettings::default(), None, &mut ())?;
/// assert!(solution.state.x.iter().all(|p| (p - 1.0 / 3.0).abs() < 1e-6));
/// # Ok::<(), fenchel_saddle::Error>(())
/// ```
///
/// # Errors
/// The errors of [`mirror_prox`].
pub fn matrix_game<'a, O>(
    game: &'a MatrixGame,
    settings: &MirrorProxSettings,
    start: Option<SaddleState>,
    observer: &mut O,
) -> Result<Solution<SaddleState>, Error>
where
    O: Observer<MirrorProx<'a>>,
{
    match game.trivial() {
        Some(solution) => Ok(solution),
        None => {
            let settings =
                MirrorProxSettings { stop: game.stop(&settings.stop)?, ..settings.clone() };
            let mut paid = Paid { middle: game.middle, observer };
            let Solution { state, report } = mirror_prox(&game.base, &settings, start, &mut paid)?;
            Ok(Solution { state, report: with_middle(game.middle, report) })
        }
    }
}

/// Estimates gradients by one pure strategy of each player, drawn from the mixed strategies.
struct Pure<'a> {
    game: &'a Base,
    random: Generator,
}

impl Oracle for Pure<'_> {
    fn draw(&mut self, at: &At, gx: &mut [f64], gy: &mut [f64]) {
        let i = pick(at.x, self.random.random());
        let j = pick(at.y, self.random.random());
        let matrix = &self.game.matrix;
        gx.iter_mut().zip(matrix.column(j)).for_each(|(g, v)| *g = *v);
        gy.iter_mut().zip(matrix.row(i)).for_each(|(g, v)| *g = -v);
    }

    /// A bound that holds because estimate and mean lie between the smallest and the largest payment.
    fn noise(&self) -> f64 {
        self.game.spread * (self.game.x.radius() + self.game.y.radius()).sqrt()
    }

    fn passes(&self) -> f64 {
        let (m, p) = self.game.matrix.dim();
        (m + p) as f64 / (2 * m * p) as f64
    }
}

/// The first index at which the partial sums of the weights exceed the share `u` of their total.
pub(crate) fn pick(weights: &[f64], u: f64) -> usize {
    let target = u * weights.iter().sum::<f64>();
    let mut sum = 0.0;
    let mut last = 0;
    for (k, w) in weights.iter().enumerate() {
        if *w > 0.0 {
            last = k;
            sum += w;
            if sum > target {
                break;
            }
        }
    }
    last
}

/// Solves a game by stochastic mirror descent with drawn rows and columns. A step costs O(m + p).
///
/// # Errors
/// The errors of [`stochastic_mirror_descent`].
pub fn sampled_game<O>(
    game: &MatrixGame,
    seed: u64,
    settings: &MirrorDescentSettings,
    observer: &mut O,
) -> Result<Solution<SaddleState>, Error>
where
    O: for<'b> Observer<MirrorDescent<'b>>,
{
    if let Some(solution) = game.trivial() {
        return Ok(solution);
    }
    let mut oracle = Pure { game: &game.base, random: stream(seed, 0) };
    let settings = MirrorDescentSettings { stop: game.stop(&settings.stop)?, ..settings.clone() };
    let mut paid = Paid { middle: game.middle, observer };
    let Solution { state, report } =
        stochastic_mirror_descent(&game.base, &mut oracle, &settings, None, &mut paid)?;
    Ok(Solution { state, report: with_middle(game.middle, report) })
}

/// Bounds on the value of the game, computed from a pair of strategies.
pub fn value_bounds(game: &MatrixGame, state: &SaddleState) -> Certificate {
    SaddleProblem::certificate(game, &state.x, &state.y)
}

/// Solves a game to many digits by restarted PDHG.
///
/// # Errors
/// The errors of [`pdhg`](fn@crate::methods::pdhg).
pub fn exact_game<'a, O>(
    game: &'a MatrixGame,
    settings: &PdhgSettings,
    start: Option<PdhgState>,
    observer: &mut O,
) -> Result<Solution<PdhgState>, Error>
where
    O: Observer<Pdhg<'a>>,
{
    if let Some(Solution { state, report }) = game.trivial() {
        return Ok(Solution { state: PdhgState::at(state.x, state.y), report });
    }
    let settings = PdhgSettings { stop: game.stop(&settings.stop)?, ..settings.clone() };
    let mut paid = Paid { middle: game.middle, observer };
    let Solution { state, report } = pdhg(&game.base, &settings, start, &mut paid)?;
    Ok(Solution { state, report: with_middle(game.middle, report) })
}
