//! Restarted primal-dual hybrid gradient: many digits for problems whose saddle function is polyhedral.
//!
//! ```text
//! x+ = prox_x(x - tau grad_x f(., y)),   y+ = prox_y(y + sigma grad_y f(2 x+ - x, .)),   tau sigma K^2 < 1
//! ```
//!
//! The hinge problem, matrix games and linear programs are *sharp*: the gap grows at least linearly with the distance from the
//! solutions. There, starting again from the average whenever the gap has fallen enough turns the rate `1/T` into a linear one.
//! A restart also balances the two steps by how far `x` and `y` have moved. Sources: Chambolle and Pock (2011); Applegate, Hinder, Lu
//! and Lubin, *Faster first-order primal-dual methods for linear programming using restarts and sharpness* (2023).
//!
//! Near the solution a *polish* solves the equations of what a pair says is active, where the problem knows them
//! ([`Bilinear::polished`]). The last digits come at once if the guess is right, and the certificate says whether it is.
//!
//! Choose it for accuracies below 1e-3; [`mirror_prox`](fn@crate::mirror_prox) where the proximal maps have no closed form, the
//! sublinear method where a single product is too dear.

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, Iterative, Observer, Solution, Stop, run};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::Error;

/// A bilinear problem `min_x max_y y'Kx + <c, x> + <b, y> + g(x) - h(y)` with proximal maps in closed form.
pub trait Bilinear {
    /// Lengths of `x` and `y`.
    fn dimensions(&self) -> (usize, usize);

    /// `K'y + c`.
    fn grad_x(&self, y: &[f64], out: &mut [f64]);

    /// `-(K x + b)`.
    fn grad_y(&self, x: &[f64], out: &mut [f64]);

    /// `argmin g(x) + norm(x - z)^2 / (2 tau)`, in place.
    fn prox_x(&self, z: &mut [f64], tau: f64);

    /// `argmin h(y) + norm(y - z)^2 / (2 sigma)`, in place.
    fn prox_y(&self, z: &mut [f64], sigma: f64);

    /// An upper bound on the spectral norm of `K`, as sharp as can be had.
    fn norm(&self) -> f64;

    /// What is proved about a pair.
    fn certificate(&self, x: &[f64], y: &[f64]) -> Certificate;

    /// A pair near by that may be better by far: exact equations for what the pair says is active, say. It is taken only if its
    /// certificate is better.
    fn polished(&self, _x: &[f64], _y: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
        None
    }

    /// The problem's own way to take a step, which may use that rows of `x` are 0. The same iterates, up to rounding.
    fn steps(&self) -> Option<Box<dyn Steps + '_>> {
        None
    }

    /// A feasible pair to begin with.
    fn start(&self) -> (Vec<f64>, Vec<f64>) {
        let (dx, dy) = self.dimensions();
        let (mut x, mut y) = (vec![0.0; dx], vec![0.0; dy]);
        self.prox_x(&mut x, 1.0);
        self.prox_y(&mut y, 1.0);
        (x, y)
    }
}

/// How [`pdhg`](fn@crate::pdhg) takes its steps.
pub trait Steps {
    /// One step of either block.
    fn step(&mut self, pair: Pair<'_>, tau: f64, sigma: f64);

    /// The pair is another one than the last step left.
    fn jumped(&mut self) {}
}

/// What a step changes.
#[derive(Debug)]
pub struct Pair<'a> {
    /// The minimising block.
    pub x: &'a mut [f64],
    /// The maximising block.
    pub y: &'a mut [f64],
    /// The sum of `x` since the last restart, to which the new one is added.
    pub sum_x: &'a mut [f64],
    /// The same for `y`.
    pub sum_y: &'a mut [f64],
}

/// Two products and two proximal maps.
struct Plain<'a> {
    problem: &'a dyn Bilinear,
    gx: Vec<f64>,
    gy: Vec<f64>,
    extra: Vec<f64>,
}

impl Steps for Plain<'_> {
    fn step(&mut self, pair: Pair<'_>, tau: f64, sigma: f64) {
        let Pair { x, y, sum_x, sum_y } = pair;
        self.problem.grad_x(y, &mut self.gx);
        self.extra.copy_from_slice(x);
        x.iter_mut().zip(&self.gx).for_each(|(x, g)| *x -= tau * g);
        self.problem.prox_x(x, tau);
        self.extra.iter_mut().zip(&*x).for_each(|(old, new)| *old = 2.0 * new - *old);
        self.problem.grad_y(&self.extra, &mut self.gy);
        y.iter_mut().zip(&self.gy).for_each(|(y, g)| *y -= sigma * g);
        self.problem.prox_y(y, sigma);
        sum_x.iter_mut().zip(x).for_each(|(s, x)| *s += *x);
        sum_y.iter_mut().zip(y).for_each(|(s, y)| *s += *y);
    }
}

/// Settings of [`pdhg`].
///
/// | field | default | meaning |
/// |---|---|---|
/// | `restarts` | true | begin again from the better of iterate and average |
/// | `polish` | true | try [`Bilinear::polished`], at restarts and after each eighth of the steps so far |
/// | `every` | 20 | steps between looks at the gap for restarts |
/// | `balance` | 1 | first ratio of the steps, `tau = 0.99/(balance K)`, `sigma = 0.99 balance/K` |
/// | `stop` | [`Stop::default`] | a pass is one step: two products |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PdhgSettings {
    /// Whether to restart.
    pub restarts: bool,
    /// Whether to polish.
    pub polish: bool,
    /// Steps between looks for restarts.
    pub every: u32,
    /// The first ratio of the steps.
    pub balance: f64,
    /// When to end.
    pub stop: Stop,
}

impl Default for PdhgSettings {
    fn default() -> Self {
        PdhgSettings {
            restarts: true,
            polish: true,
            every: 20,
            balance: 1.0,
            stop: Stop::default(),
        }
    }
}

/// The best pair, and where the method stands.
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
    /// A warm start. It is projected on the domain.
    pub fn at(x: Vec<f64>, y: Vec<f64>) -> Self {
        PdhgState { x, y, balance: None }
    }
}

/// The relative gap from which on a polish is worth its cost.
const CLOSE: f64 = 0.05;
/// Corrections in a row.
const ROUNDS: u32 = 3;

/// The running method, as an observer sees it.
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
    /// Steps at the last look at iterate and average.
    looked: u64,
    /// Steps at the last attempt to polish.
    polished: u64,
    best: Candidate,
}

struct Candidate {
    certificate: Certificate,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl<'a> Pdhg<'a> {
    pub(crate) fn new(
        problem: &'a dyn Bilinear,
        settings: PdhgSettings,
        start: Option<PdhgState>,
    ) -> Result<Self, Error> {
        let (dx, dy) = problem.dimensions();
        let mut omega = settings.balance;
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
            steps_of: problem.steps().unwrap_or_else(|| {
                let (gx, gy, extra) = (vec![0.0; dx], vec![0.0; dy], vec![0.0; dx]);
                Box::new(Plain { problem, gx, gy, extra })
            }),
            anchor: (x.clone(), y.clone()),
            level: certificate.value(),
            length: 0,
            steps: 0,
            restarts: 0,
            looked: 0,
            polished: 0,
            best: Candidate { certificate, x: x.clone(), y: y.clone() },
            x,
            y,
        })
    }

    /// How often the method began again.
    pub fn restarts(&self) -> u64 {
        self.restarts
    }

    /// The best pair so far.
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

    fn average(&self) -> (Vec<f64>, Vec<f64>) {
        let scale = 1.0 / self.length.max(1) as f64;
        let mean = |sum: &[f64]| sum.iter().map(|s| s * scale).collect();
        (mean(&self.sum_x), mean(&self.sum_y))
    }

    /// Remembers a pair if nothing better has been seen.
    fn consider(&mut self, certificate: Certificate, x: &[f64], y: &[f64]) {
        if certificate.value() < self.best.certificate.value() {
            self.best = Candidate { certificate, x: x.to_vec(), y: y.to_vec() };
        }
    }

    /// Corrects what is active, looks what is active then, and so on as long as that helps.
    fn polish(&mut self, (x, y): (&[f64], &[f64]), certificate: Certificate) {
        if matches!(certificate, Certificate::Gap { .. }) && certificate.relative() > CLOSE {
            return;
        }
        let (mut least, mut failures) = (certificate.value(), 0);
        let mut pair = self.problem.polished(x, y);
        for _ in 0..ROUNDS {
            let Some((x, y)) = pair else { return };
            let certificate = self.problem.certificate(&x, &y);
            self.consider(certificate, &x, &y);
            failures = if certificate.value() < least { 0 } else { failures + 1 };
            least = least.min(certificate.value());
            if failures > 1 || certificate.relative() < 1e-14 {
                return;
            }
            pair = self.problem.polished(&x, &y);
        }
    }

    /// Looks at iterate and average, and begins again from the better one where that is due.
    fn look(&mut self) {
        self.looked = self.steps;
        let here = self.problem.certificate(&self.x, &self.y);
        let (ax, ay) = self.average();
        let there = self.problem.certificate(&ax, &ay);
        let (x, y) = (self.x.clone(), self.y.clone());
        self.consider(here, &x, &y);
        self.consider(there, &ax, &ay);
        if !self.settings.restarts {
            return;
        }
        let value = here.value().min(there.value());
        let average = there.value() < here.value();
        let long = self.length as f64 > 0.36 * self.steps as f64;
        let restart = value < 0.2 * self.level || long;
        let since = self.steps - self.polished;
        if self.settings.polish && (restart || since >= (self.steps / 8).max(100)) {
            self.polished = self.steps;
            let pair = if average { (&ax[..], &ay[..]) } else { (&x[..], &y[..]) };
            self.polish(pair, if average { there } else { here });
        }
        if !restart {
            return;
        }
        if average {
            (self.x, self.y) = (ax, ay);
            self.steps_of.jumped();
        }
        let distance =
            |a: &[f64], b: &[f64]| length(&a.iter().zip(b).map(|(a, b)| a - b).collect::<Vec<_>>());
        let moves = |v: &[f64], d: f64| d > 1e-10 * length(v).min(1.0) && d < f64::INFINITY;
        let (dx, dy) = (distance(&self.x, &self.anchor.0), distance(&self.y, &self.anchor.1));
        if moves(&self.x, dx) && moves(&self.y, dy) {
            self.omega = (0.5 * (dy.ln() - dx.ln()) + 0.5 * self.omega.ln()).exp();
        }
        self.anchor = (self.x.clone(), self.y.clone());
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
                self.look();
            }
            if done >= passes - 1e-9 {
                return done;
            }
        }
    }

    /// That of the best pair seen.
    fn certify(&mut self) -> Certificate {
        if self.looked == self.steps {
            return self.best.certificate;
        }
        self.looked = self.steps;
        let here = self.problem.certificate(&self.x, &self.y);
        let (x, y) = (self.x.clone(), self.y.clone());
        self.consider(here, &x, &y);
        if self.length > 0 {
            let (ax, ay) = self.average();
            let there = self.problem.certificate(&ax, &ay);
            self.consider(there, &ax, &ay);
        }
        self.best.certificate
    }

    fn oracle_calls(&self) -> u64 {
        self.steps
    }
}

/// Runs restarted PDHG and returns the best pair that a look has seen.
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

/// The spectral norm of a linear map by power iteration, a little above the truth. `least` is a bound from below: a start that is nearly
/// orthogonal to the largest direction would miss it.
pub(crate) fn spectral_norm(
    (dx, dy): (usize, usize),
    least: f64,
    mut forward: impl FnMut(&[f64], &mut [f64]),
    mut backward: impl FnMut(&[f64], &mut [f64]),
) -> f64 {
    // A fixed start without a pattern.
    let mut x: Vec<f64> = (0..dx).map(|i| 1.0 + 0.5 * (1.7 * i as f64 + 0.3).sin()).collect();
    let (mut y, mut norm) = (vec![0.0; dy], 0.0);
    for _ in 0..200 {
        let size = length(&x);
        if !(size > 0.0) {
            break;
        }
        x.iter_mut().for_each(|v| *v /= size);
        forward(&x, &mut y);
        let last = std::mem::replace(&mut norm, length(&y));
        if (norm - last).abs() <= 1e-4 * norm {
            break;
        }
        backward(&y, &mut x);
    }
    // The iteration ends below: the steps keep a margin of 1 % beside this one.
    norm.max(least) * 1.01
}

/// The largest Euclidean norm of a row or column: at most the spectral norm.
pub(crate) fn longest(matrix: &Array2<f64>) -> f64 {
    let all = matrix.rows().into_iter().chain(matrix.columns());
    all.map(length).fold(0.0, f64::max)
}

/// The Euclidean norm, without overflow or underflow.
fn length<'a>(v: impl IntoIterator<Item = &'a f64> + Clone) -> f64 {
    let top = v.clone().into_iter().fold(0.0_f64, |m, a| m.max(a.abs()));
    if !(top > 0.0 && top < f64::INFINITY) {
        return top;
    }
    top * v.into_iter().map(|a| (a / top).powi(2)).sum::<f64>().sqrt()
}
