//! Sweeps of coordinate descent, and the extrapolation of their iterates: the engine of [`coordinate_descent`](super::coordinate_descent())
//! and of the models of proximal Newton.

use fenchel_linalg::Cholesky;
use fenchel_optim::prox::soft_threshold;
use fenchel_optim::random::Generator;
use rand::RngExt;
use rand::seq::SliceRandom;

/// An extrapolation combines this many differences of iterates, after as many sweeps (Bertrand and Massias, 2021).
pub(crate) const ITERATES: usize = 5;

/// A smooth function of some coordinates, at a place that it keeps.
pub(crate) trait Coordinates {
    /// The derivative along coordinate `k`, which stands at `x`.
    fn slope(&self, k: usize, x: f64) -> f64;

    /// A positive bound of the second derivative along coordinate `k`.
    fn curvature(&self, k: usize) -> f64;

    /// Moves coordinate `k`.
    fn shift(&mut self, k: usize, by: f64);

    /// What a visit of coordinate `k` costs in entries of the design.
    fn entries(&self, k: usize) -> f64;

    /// Moves all coordinates, which stand at `x`. Returns the change of the function.
    fn jump(&mut self, x: &[f64], moves: &[f64]) -> f64;
}

/// Which coordinate is next.
pub(crate) enum Visiting<'g> {
    Cyclic,
    Permuted(&'g mut Generator),
    Uniform(&'g mut Generator),
    /// The one that violates optimality most, found anew for every step (Gauss-Southwell).
    Largest,
}

/// How much the coordinates that were visited violated optimality: the distances of 0 from the subdifferentials.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Violations {
    pub(crate) sum: f64,
    pub(crate) squares: f64,
    pub(crate) largest: f64,
}

impl Violations {
    pub(crate) fn add(&mut self, violation: f64) {
        self.sum += violation;
        self.squares += violation * violation;
        self.largest = self.largest.max(violation);
    }
}

/// Coordinate descent on a function of [`Coordinates`] plus `l1 ||x||_1`.
#[derive(Debug, Clone)]
pub(crate) struct Sweeps {
    l1: f64,
    /// Coordinates from here on have no l1: the intercept.
    penalised: usize,
    /// All coordinates, as they are visited in cyclic order.
    order: Vec<usize>,
    /// Those that are visited. A coordinate at 0, farther inside its subdifferential than any violation of the last sweep, is skipped until
    /// the others are done.
    active: Vec<usize>,
    skip: f64,
    /// Whether coordinates are skipped at all.
    pub(crate) skips: bool,
    /// The last iterates; `None` without extrapolation.
    history: Option<Vec<Vec<f64>>>,
    /// Entries of the design that were visited.
    pub(crate) entries: f64,
}

impl Sweeps {
    pub(crate) fn new(order: Vec<usize>, penalised: usize, l1: f64, extrapolates: bool) -> Self {
        let (active, skip) = (order.clone(), f64::INFINITY);
        let history = extrapolates.then(Vec::new);
        Sweeps { l1, penalised, order, active, skip, skips: true, history, entries: 0.0 }
    }

    /// A sweep, and an extrapolation where one is due. Returns whether `met` says so of the violations of all coordinates.
    pub(crate) fn advance<C: Coordinates>(
        &mut self,
        f: &mut C,
        x: &mut [f64],
        visiting: &mut Visiting<'_>,
        met: impl Fn(&Violations, &[f64]) -> bool,
    ) -> bool {
        let seen = self.sweep(f, x, visiting);
        self.skip = if self.skips { seen.largest } else { f64::INFINITY };
        // Draws with replacement leave coordinates out: what they say of all is looked at once more.
        let drawn = matches!(visiting, Visiting::Uniform(_));
        if met(&seen, x) && (!drawn || met(&self.worst(f, x).1, x)) {
            // What rested may have come to matter.
            let all = self.active.len() == self.order.len();
            self.active.clone_from(&self.order);
            self.skip = f64::INFINITY;
            return all;
        }
        self.extrapolate(f, x);
        false
    }

    fn sweep<C: Coordinates>(
        &mut self,
        f: &mut C,
        x: &mut [f64],
        visiting: &mut Visiting<'_>,
    ) -> Violations {
        let mut seen = Violations::default();
        match visiting {
            Visiting::Uniform(rng) => {
                for _ in 0..x.len() {
                    self.visit(f, x, rng.random_range(0..x.len()), &mut seen);
                }
                return seen;
            }
            Visiting::Largest => {
                let (worst, seen) = self.worst(f, x);
                self.visit(f, x, worst, &mut Violations::default());
                return seen;
            }
            Visiting::Permuted(rng) => self.active.shuffle(rng),
            Visiting::Cyclic => {}
        }
        let mut active = std::mem::take(&mut self.active);
        active.retain(|&k| self.visit(f, x, k, &mut seen));
        self.active = active;
        seen
    }

    /// The coordinate that violates optimality most, and the violations of all.
    fn worst<C: Coordinates>(&mut self, f: &C, x: &[f64]) -> (usize, Violations) {
        let (mut worst, mut seen) = ((0, 0.0), Violations::default());
        for (k, &at) in x.iter().enumerate() {
            self.entries += 0.5 * f.entries(k);
            let violation = violation(at, f.slope(k, at), self.l1_of(k));
            seen.add(violation);
            if violation > worst.1 {
                worst = (k, violation);
            }
        }
        (worst.0, seen)
    }

    fn l1_of(&self, k: usize) -> f64 {
        if k < self.penalised { self.l1 } else { 0.0 }
    }

    /// One step; false where the coordinate may rest.
    #[inline(always)]
    fn visit<C: Coordinates>(
        &mut self,
        f: &mut C,
        x: &mut [f64],
        k: usize,
        seen: &mut Violations,
    ) -> bool {
        let l1 = self.l1_of(k);
        let g = f.slope(k, x[k]);
        self.entries += f.entries(k);
        if x[k] == 0.0 && g.abs() <= l1 - self.skip {
            return false;
        }
        seen.add(violation(x[k], g, l1));
        let by = coordinate_step(x[k], g, f.curvature(k), l1);
        if by != 0.0 {
            x[k] += by;
            f.shift(k, by);
        }
        true
    }

    /// Anderson's extrapolation: the affine combination of the last iterates whose combined difference is the least, if the
    /// objective is smaller there.
    fn extrapolate<C: Coordinates>(&mut self, f: &mut C, x: &mut [f64]) {
        let Some(history) = &mut self.history else { return };
        history.push(x.to_vec());
        if history.len() <= ITERATES {
            return;
        }
        let differences: Vec<Vec<f64>> = history
            .windows(2)
            .map(|pair| pair[1].iter().zip(&pair[0]).map(|(b, a)| b - a).collect())
            .collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let gram: Vec<f64> =
            differences.iter().flat_map(|a| differences.iter().map(move |b| dot(a, b))).collect();
        let mut c = [1.0; ITERATES];
        let solved = Cholesky::with_ridge(&gram, ITERATES)
            .is_ok_and(|factor| factor.solve_in_place(&mut c).is_ok());
        let total: f64 = c.iter().sum();
        let mut moves: Vec<f64> = x.iter().map(|x| -x).collect();
        for (iterate, c) in history[1..].iter().zip(c) {
            moves.iter_mut().zip(iterate).for_each(|(to, x)| *to += c / total * x);
        }
        history.clear();
        if solved && moves.iter().all(|by| by.is_finite()) {
            let mut change = f.jump(x, &moves);
            for (x, by) in x.iter().zip(&moves).take(self.penalised) {
                change += self.l1 * ((x + by).abs() - x.abs());
            }
            self.entries += 0.5 * (0..x.len()).map(|k| f.entries(k)).sum::<f64>();
            let there: Vec<f64> = x.iter().zip(&moves).map(|(x, by)| x + by).collect();
            if change < 0.0 {
                x.copy_from_slice(&there);
            } else {
                moves.iter_mut().for_each(|by| *by = -*by);
                f.jump(&there, &moves);
            }
        }
        history.push(x.to_vec());
    }
}

/// How much coordinate `x` with derivative `g` violates optimality under `l1`.
pub(crate) fn violation(x: f64, g: f64, l1: f64) -> f64 {
    if x == 0.0 { (g.abs() - l1).max(0.0) } else { (g + l1.copysign(x)).abs() }
}

/// The exact minimiser along a coordinate of a quadratic, minus where it stands.
fn coordinate_step(x: f64, g: f64, curvature: f64, l1: f64) -> f64 {
    soft_threshold(x - g / curvature, l1 / curvature) - x
}
