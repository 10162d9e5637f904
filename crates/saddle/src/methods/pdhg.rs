//! The restarted primal-dual hybrid gradient method (PDHG), for many digits of problems whose saddle function is
//! polyhedral.
//!
//! ```text
//! x+ = prox_x(x - tau grad_x f(., y)),   y+ = prox_y(y + sigma grad_y f(2 x+ - x, .)),   tau sigma K^2 < 1
//! ```
//!
//! The hinge problem, matrix games and linear programs are *sharp*, which means that the gap grows at least linearly
//! with the distance from the solutions. For sharp problems, a restart from the average whenever the gap has
//! decreased enough turns the rate `1/T` into a linear one. A restart also adapts the ratio of the two steps to the
//! distances that `x` and `y` have moved. Sources: Chambolle and Pock (2011); Applegate, Hinder, Lu and Lubin,
//! *Faster first-order primal-dual methods for linear programming using restarts and sharpness* (2023).
//!
//! Near the solution, a *polish* guesses which constraints are active and solves their equations, if the problem
//! supports this ([`Bilinear::polished`]). If the guess is right, the new pair has all digits. The certificate shows
//! whether it is.
//!
//! Choose this method for accuracies below 1e-3. Choose [`mirror_prox`](fn@crate::methods::mirror_prox) if the proximal maps
//! have no closed form, and the sublinear method if even a single product is too expensive.

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, Iterative, Observer, Solution, Stop, run, settings};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::methods::best::Best;
use crate::methods::steps::{Bilinear, Pair, Plain, Steps};
use crate::spectral::length;

settings! {
    /// Settings of [`pdhg`].
    pub struct PdhgSettings {
        /// Whether to restart from the better of iterate and average.
        restarts: bool = true,
        /// Whether to try [`Bilinear::polished`] at restarts, and whenever the number of steps has grown by an eighth.
        polish: bool = true,
        /// Number of steps between two checks of the restart criterion.
        every: u32 = 20,
        /// Initial ratio `w` of the steps, as a multiple of [`Bilinear::balance`]: `tau = 0.99/(w K)`, `sigma = 0.99 w/K`.
        balance: f64 = 1.0,
        /// A pass is one step: two products.
        stop: Stop = Stop::default(),
    }
}

/// The state of the method, with the best pair.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PdhgState {
    /// The minimising block.
    pub x: Vec<f64>,
    /// The maximising block.
    pub y: Vec<f64>,
    /// The ratio of the steps; `None` in a state made from a point.
    #[serde(default)]
    pub balance: Option<f64>,
}

impl PdhgState {
    /// A warm start. The points are projected on their domains.
    pub fn at(x: Vec<f64>, y: Vec<f64>) -> Self {
        PdhgState { x, y, balance: None }
    }
}

/// The relative gap below which a polish is tried.
const CLOSE: f64 = 0.05;
/// The largest number of successive corrections.
const ROUNDS: u32 = 3;

/// The running method, as an observer receives it.
pub struct Pdhg<'a> {
    problem: &'a dyn Bilinear,
    settings: PdhgSettings,
    norm: f64,
    omega: f64,
    x: Vec<f64>,
    y: Vec<f64>,
    sum_x: Vec<f64>,
    sum_y: Vec<f64>,
    steps_of: Box<dyn Steps + 'a>,
    anchor: (Vec<f64>, Vec<f64>),
    /// The certificate's value at the last restart.
    level: f64,
    length: u64,
    steps: u64,
    restarts: u64,
    /// The number of steps at the last check of the restart criterion.
    certified_at: u64,
    /// The number of steps at the last polish.
    polished: u64,
    /// The average at the last check.
    average: (Vec<f64>, Vec<f64>),
    best: Best,
}

impl<'a> Pdhg<'a> {
    pub(crate) fn new(
        problem: &'a dyn Bilinear,
        settings: PdhgSettings,
        start: Option<PdhgState>,
    ) -> Result<Self, Error> {
        let (dx, dy) = problem.dimensions();
        let mut omega = settings.balance * problem.balance();
        let (x, y) = match start {
            None => problem.start(),
            Some(state) => {
                Invalid::check_length("start.x", dx, state.x.len())?;
                Invalid::check_length("start.y", dy, state.y.len())?;
                Invalid::check_finite("start.x", &state.x)?;
                Invalid::check_finite("start.y", &state.y)?;
                omega = state.balance.unwrap_or(omega);
                let PdhgState { mut x, mut y, .. } = state;
                // Outside of its domain a pair would prove what is not true.
                problem.prox_x(&mut x, f64::MIN_POSITIVE);
                problem.prox_y(&mut y, f64::MIN_POSITIVE);
                (x, y)
            }
        };
        Invalid::check_positive("balance", omega)?;
        let norm = problem.norm();
        let certificate = problem.certificate(&x, &y);
        Ok(Pdhg {
            problem,
            settings,
            norm: if norm > 0.0 { norm } else { 1.0 },
            omega,
            sum_x: vec![0.0; dx],
            sum_y: vec![0.0; dy],
            steps_of: problem.steps().unwrap_or_else(|| Box::new(Plain::new(problem))),
            anchor: (x.clone(), y.clone()),
            level: certificate.value(),
            length: 0,
            steps: 0,
            restarts: 0,
            certified_at: 0,
            polished: 0,
            average: (vec![0.0; dx], vec![0.0; dy]),
            best: Best { certificate, x: x.clone(), y: y.clone(), changes: (0, 0) },
            x,
            y,
        })
    }

    /// The number of restarts.
    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    /// The best blocks so far. If certificates are gaps, they may come from two pairs.
    pub fn best(&self) -> (&[f64], &[f64]) {
        (&self.best.x, &self.best.y)
    }

    fn step(&mut self) {
        let (tau, sigma) = (0.99 / (self.omega * self.norm), 0.99 * self.omega / self.norm);
        let (x, y) = (&mut self.x[..], &mut self.y[..]);
        let pair = Pair { x, y, sum_x: &mut self.sum_x, sum_y: &mut self.sum_y };
        self.steps_of.step(pair, tau, sigma);
        self.length += 1;
        self.steps += 1;
    }

    /// The numbers of improvements of the best blocks.
    pub(crate) fn changes(&self) -> (u64, u64) {
        self.best.changes
    }

    /// The number of multiply-adds of the steps so far, if the steps count them.
    pub(crate) fn operations(&self) -> Option<u64> {
        self.steps_of.operations()
    }

    /// The certificates of iterate and average.
    fn seen(&mut self) -> (Certificate, Option<Certificate>) {
        self.certified_at = self.steps;
        let here = self.problem.certificate(&self.x, &self.y);
        self.best.consider(here, &self.x, &self.y);
        if self.length == 0 {
            return (here, None);
        }
        let (scale, (ax, ay)) = (1.0 / self.length as f64, &mut self.average);
        ax.iter_mut().zip(&self.sum_x).for_each(|(a, s)| *a = s * scale);
        ay.iter_mut().zip(&self.sum_y).for_each(|(a, s)| *a = s * scale);
        // Rounding puts averages outside of the domain.
        self.problem.prox_x(ax, f64::MIN_POSITIVE);
        self.problem.prox_y(ay, f64::MIN_POSITIVE);
        let there = self.problem.certificate(ax, ay);
        self.best.consider(there, ax, ay);
        (here, Some(there))
    }

    /// Solves the equations of the active parts, determines the active parts of the result, and repeats this while it
    /// helps.
    fn polish(&mut self, average: bool, certificate: Certificate) {
        if matches!(certificate, Certificate::Gap { .. }) && certificate.relative() > CLOSE {
            return;
        }
        let (mut least, mut failures) = (certificate.value(), 0);
        let (ax, ay) = &self.average;
        let (x, y) = if average { (ax, ay) } else { (&self.x, &self.y) };
        let mut pair = self.problem.polished(x, y);
        for _ in 0..ROUNDS {
            let Some((x, y)) = pair else { return };
            let certificate = self.problem.certificate(&x, &y);
            self.best.consider(certificate, &x, &y);
            failures = if certificate.value() < least { 0 } else { failures + 1 };
            least = least.min(certificate.value());
            if failures > 1 || certificate.relative() < 1e-14 {
                return;
            }
            pair = self.problem.polished(&x, &y);
        }
    }

    /// Computes the certificates of iterate and average, and restarts from the better one if the criterion is met.
    fn check_restart(&mut self) {
        let (here, there) = self.seen();
        let Some(there) = there.filter(|_| self.settings.restarts) else { return };
        let value = here.value().min(there.value());
        let average = there.value() < here.value();
        let long = self.length as f64 > 0.36 * self.steps as f64;
        let restart = value < 0.2 * self.level || long;
        let since = self.steps - self.polished;
        if self.settings.polish && (restart || since >= (self.steps / 8).max(100)) {
            self.polished = self.steps;
            self.polish(average, if average { there } else { here });
        }
        if !restart {
            return;
        }
        if average {
            self.x.copy_from_slice(&self.average.0);
            self.y.copy_from_slice(&self.average.1);
            self.steps_of.jumped();
        }
        let distance = |a: &[f64], b: &[f64]| length(a.iter().zip(b).map(|(a, b)| a - b));
        let moves =
            |v: &[f64], d: f64| d > 1e-10 * length(v.iter().copied()).min(1.0) && d < f64::INFINITY;
        let (dx, dy) = (distance(&self.x, &self.anchor.0), distance(&self.y, &self.anchor.1));
        if moves(&self.x, dx) && moves(&self.y, dy) {
            self.omega = (0.5 * (dy.ln() - dx.ln()) + 0.5 * self.omega.ln()).exp();
        }
        self.anchor.0.copy_from_slice(&self.x);
        self.anchor.1.copy_from_slice(&self.y);
        self.sum_x.fill(0.0);
        self.sum_y.fill(0.0);
        self.length = 0;
        self.level = value;
        self.restarts += 1;
    }
}

impl Iterative for Pdhg<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        let mut done = 0.0;
        loop {
            self.step();
            done += 1.0;
            if self.steps.is_multiple_of(u64::from(self.settings.every.max(1))) {
                self.check_restart();
            }
            if done >= passes - 1e-9 {
                return done;
            }
        }
    }

    /// The certificate of the best blocks so far.
    fn certify(&mut self) -> Certificate {
        if self.certified_at != self.steps {
            self.seen();
        }
        self.best.certificate
    }

    fn oracle_calls(&self) -> u64 {
        self.steps
    }
}

/// Runs restarted PDHG. Returns the best blocks of all checks.
///
/// # Errors
/// [`Error::Invalid`] for a limit or ratio out of range, or a start of another shape.
pub fn pdhg<'a, O>(
    problem: &'a dyn Bilinear,
    settings: &PdhgSettings,
    start: Option<PdhgState>,
    observer: &mut O,
) -> Result<Solution<PdhgState>, Error>
where
    O: Observer<Pdhg<'a>>,
{
    let mut method = Pdhg::new(problem, settings.clone(), start)?;
    let report = run(&mut method, &settings.stop, observer)?;
    let state = PdhgState { x: method.best.x, y: method.best.y, balance: Some(method.omega) };
    Ok(Solution { state, report })
}
