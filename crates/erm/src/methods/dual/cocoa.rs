//! CoCoA: dual coordinate ascent in every shard at once, and one sum a round.

use std::ops::Range;

use fenchel_linalg::spread::Shards;
use fenchel_linalg::{Design, Invalid, multiply_transposed};
use fenchel_optim::random::stream;
use fenchel_optim::{
    Certificate, Iterative, Loss, Observer, Refusal, Regulariser, Solution, Status, Stop, run,
    settings,
};
use rand::RngExt;

use super::state::DualState;
use crate::gap::Gap;
use crate::methods::REFRESH;
use crate::{Error, Point, Problem};

/// A step that is halved so often leads nowhere.
const HALVINGS: usize = 40;

settings! {
    /// Settings of [`cocoa`](fn@cocoa).
    pub struct CocoaSettings {
        /// Seed of the visiting orders.
        seed: u64 = 0,
        /// The stopping rule; see [`Stop`].
        stop: Stop = Stop::default(),
    }
}

/// The running method, as an observer of [`cocoa`](fn@cocoa) receives it.
#[derive(Debug, Clone)]
pub struct Cocoa<'p, 'a, D, L, R> {
    problem: &'p Problem<'a, D, L, R>,
    /// The point, `grad R*(v)`.
    x: Vec<f64>,
    /// `v = -(1/n) A'u`
    v: Vec<f64>,
    dual: Vec<f64>,
    /// `-D(u)`
    value: f64,
    sigma: f64,
    rounds: u64,
    seed: u64,
    gap: Gap,
    best: Option<(Vec<f64>, Vec<f64>)>,
    stalled: bool,
}

/// Dual coordinate ascent on rows in shards (CoCoA+). In a round every shard visits each of its rows once, in a random order, and changes
/// its dual variables as if the other shards stood still; then the changes of `v` are summed, with one sum of `d` numbers for all
/// processes.
///
/// The step on row `i` of a shard with the change `dv` so far is one of [`sdca`](super::sdca()), on a model of `R*` that is `sigma` times as
/// steep as it is along the change of the shard:
///
/// ```text
/// u_i = phi_i'(m - q u_i),     m = a_i.(x + sigma dv / l2) + q u_i,     q = sigma ||a_i||^2 / (l2 n)
/// ```
///
/// With `sigma` equal to the number of shards the sum of all changes never lowers the dual objective, and raises it by at least what the
/// shards' own models say (lemma 3 of the source with `gamma = 1`). Most rows of different shards have little in common, so that
/// `sigma` starts at 1. The sum of the changes is scaled by 1, 1/2, 1/4, ... to the best of these, and
/// `sigma` doubles if that is less than 1, and else falls by a tenth. A value of the dual objective costs O(n + d).
///
/// It takes any loss whose conjugate is known, among them the hinge, and any regulariser, with `l2 > 0`. It is for rows that are spread
/// over processes whose network is slow: a round sends as much as a gradient. All processes call it together, and their observers answer
/// alike. Rows that are all here are one shard, for which
/// [`sdca`](super::sdca()) is better. The bits of a run do not depend on the number of processes or threads. The certificate is a duality
/// gap, and costs a pass.
///
/// Source: Ma, Smith, Jaggi, Jordan, Richtarik and Takac, "Adding vs. averaging in distributed primal-dual optimization", ICML 2015.
///
/// # Errors
/// [`Error::Refused`] without `l2`, with an intercept, or for a loss whose conjugate is not known; [`Error::Invalid`] for a start of another
/// shape or outside the domain, or settings out of range.
pub fn cocoa<'p, 'a, D, L, R, O>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &CocoaSettings,
    start: Option<DualState>,
    observer: &mut O,
) -> Result<Solution<DualState>, Error>
where
    D: Design,
    L: Loss,
    R: Regulariser,
    O: Observer<Cocoa<'p, 'a, D, L, R>>,
{
    let method = "cocoa";
    let stop = problem.batch_stop(&settings.stop)?;
    problem.check_dual(method)?;
    if !(problem.l2() > 0.0) {
        return Err(Refusal::NeedsStrongConvexity { method }.into());
    }
    if problem.intercept() {
        let what = "an unpenalised intercept, which ties the dual variables of all rows together; add a column of ones";
        return Err(Refusal::unsupported(method, what).into());
    }
    let dual = start.map_or_else(|| vec![0.0; problem.n()], |start| start.dual);
    Invalid::check_length("start.dual", problem.n(), dual.len())?;
    Invalid::check_finite("start.dual", &dual)?;
    let mut at = Cocoa {
        problem,
        x: vec![0.0; problem.d()],
        v: vec![0.0; problem.d()],
        value: 0.0,
        dual,
        sigma: 1.0,
        rounds: 0,
        seed: settings.seed,
        gap: Gap::new(problem),
        best: None,
        stalled: false,
    };
    at.refresh();
    if !at.value.is_finite() {
        let (what, reason) = ("start.dual", "outside the domain of the conjugates".to_owned());
        return Err(Invalid::Layout { what, reason }.into());
    }
    let report = run(&mut at, &stop, observer)?;
    let Cocoa { x, dual, .. } = at;
    let point = Point { weights: x, intercept: 0.0 };
    let report = problem.judged(report, &point);
    Ok(Solution { state: DualState::new(point, dual), report })
}

impl<D: Design, L: Loss, R: Regulariser> Cocoa<'_, '_, D, L, R> {
    /// The weights.
    pub fn weights(&self) -> &[f64] {
        &self.x
    }

    /// The dual variables of the own rows.
    pub fn dual(&self) -> &[f64] {
        &self.dual
    }

    /// Computes `v`, the point and the dual value from the dual variables. Half a pass.
    fn refresh(&mut self) {
        let n = self.problem.terms();
        multiply_transposed(self.problem.design(), &self.dual, &mut self.v);
        self.v.iter_mut().for_each(|v| *v /= -n);
        self.value = self.minus_dual(&self.dual, &self.v);
        self.read_point();
    }

    /// `x = argmax v.x - R(x)`
    fn read_point(&mut self) {
        let l2 = self.problem.l2();
        self.x.iter_mut().zip(&self.v).for_each(|(x, v)| *x = v / l2);
        self.problem.regulariser().prox(&mut self.x, 1.0 / l2);
    }

    /// `-D(u)`
    fn minus_dual(&self, dual: &[f64], v: &[f64]) -> f64 {
        let problem = self.problem;
        problem.sum_conjugates(dual, 1.0) / problem.terms()
            + problem.regulariser().conjugate(v, problem.l2())
    }

    /// One visit of the rows of a shard. Adds the change of `v`.
    fn visit(&self, rows: Range<usize>, dual: &mut [f64], out: &mut [f64]) {
        let (problem, design) = (self.problem, self.problem.design());
        let scale = self.sigma / (problem.l2() * problem.terms());
        let first = design.shards().map_or(0, Shards::before) + rows.start;
        let mut rng = stream(self.seed.wrapping_add(self.rounds << 32), first as u64);
        let mut order: Vec<usize> = (0..rows.len()).collect();
        for k in (1..order.len()).rev() {
            order.swap(k, rng.random_range(0..=k));
        }
        let mut x = self.x.clone();
        for k in order {
            let i = rows.start + k;
            let (t, q, u) = (design.row_dot(i, &x), scale * problem.norm_squared(i), dual[k]);
            let next = problem.dual_step(i, t + q * u, q, t);
            if next != u && next.is_finite() {
                design.row_axpy(i, scale * (u - next), &mut x);
                dual[k] = next;
            }
        }
        let back = problem.l2() / self.sigma;
        for ((out, x), from) in out.iter_mut().zip(x).zip(&self.x) {
            *out += back * (x - from);
        }
    }

    /// A round: a pass, and a sum.
    fn round(&mut self) {
        if self.rounds > 0 && self.rounds.is_multiple_of(REFRESH as u64) {
            self.refresh();
        }
        let mut goal = self.dual.clone();
        let mut change = vec![0.0; self.v.len()];
        self.problem.design().sum_rows_of(&mut goal, &mut change, |rows, dual, out| {
            self.visit(rows, dual, out);
            0.0
        });
        self.rounds += 1;
        let at = |share: f64| {
            let between = |(from, to): (&f64, &f64)| (1.0 - share) * from + share * to;
            let dual: Vec<f64> = match share {
                1.0 => goal.clone(),
                _ => self.dual.iter().zip(&goal).map(between).collect(),
            };
            let v: Vec<f64> = self.v.iter().zip(&change).map(|(v, c)| v + share * c).collect();
            let value = self.minus_dual(&dual, &v);
            (dual, v, value)
        };
        // The dual objective is concave along the change: once a half is worse than the whole, all shorter ones are.
        let (mut share, mut found) = (1.0, at(1.0));
        for _ in 0..HALVINGS {
            let half = at(0.5 * share);
            if found.2 <= half.2 && found.2 <= self.value {
                break;
            }
            (share, found) = (0.5 * share, half);
        }
        let shards = self.problem.design().shards().map_or(1, Shards::count) as f64;
        self.sigma = match share < 1.0 {
            true => (2.0 * self.sigma).min(shards),
            false => (0.9 * self.sigma).max(1.0),
        };
        // At the maximum nothing changes, or what changes is rounding.
        self.stalled = !(found.2 <= self.value);
        if !self.stalled {
            (self.dual, self.v, self.value) = found;
            self.read_point();
        }
    }
}

impl<D: Design, L: Loss, R: Regulariser> Iterative for Cocoa<'_, '_, D, L, R> {
    fn advance(&mut self, passes: f64) -> f64 {
        let rounds = passes.min(1e6).round().max(1.0);
        let mut done = 0.0;
        while done < rounds && !self.stalled {
            self.round();
            done += 1.0;
        }
        done.max(1.0)
    }

    fn certify(&mut self) -> Certificate {
        let mut point = Point { weights: self.x.clone(), intercept: 0.0 };
        self.gap.with_dual(self.problem, &mut point, &self.dual, f64::INFINITY)
    }

    /// Rounds.
    fn oracle_calls(&self) -> u64 {
        self.rounds
    }

    fn keep(&mut self) {
        self.best = Some((self.x.clone(), self.dual.clone()));
    }

    fn restore(&mut self) {
        if let Some((x, dual)) = self.best.take() {
            (self.x, self.dual) = (x, dual);
        }
    }

    fn returns_best(&self) -> bool {
        true
    }

    fn verdict(&self) -> Option<Status> {
        self.stalled.then_some(Status::Stalled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fenchel_linalg::AsDesign;
    use fenchel_linalg::spread::Alone;
    use fenchel_optim::loss::{Hinge, Logistic, Squared};
    use fenchel_optim::prox::{L1, Zero};
    use ndarray::Array2;

    /// What the changes of the shards promise and keep, with the sum of all changes and `sigma`: the value `-D` before, the bound
    /// `-D(u) + sum_k [G_k(du_k) - G_k(0)]` and the value after, where
    ///
    /// ```text
    /// G_k(du_k) = 1/n sum_(i in k) phi_i*(u_i + du_i) + x.dv_k + sigma / (2 l2) ||dv_k||^2,   dv_k = -1/n A_k'du_k
    /// ```
    fn round<L: Loss, R: Regulariser>(
        problem: &Problem<'_, impl Design, L, R>,
        shards: &Shards<'_>,
        start: f64,
        sigma: f64,
    ) -> [f64; 3] {
        let n = problem.n();
        let mut at = Cocoa {
            problem,
            x: vec![0.0; problem.d()],
            v: vec![0.0; problem.d()],
            dual: vec![0.0; n],
            value: 0.0,
            sigma,
            rounds: 0,
            seed: 1,
            gap: Gap::new(problem),
            best: None,
            stalled: false,
        };
        // Halfway to the slopes at the origin, which lie in the domain of the conjugates.
        at.dual = (0..n).map(|i| start * problem.derivative(i, 0.0)).collect();
        at.refresh();
        let (mut dual, mut v) = (at.dual.clone(), at.v.clone());
        let mut bound = problem.regulariser().conjugate(&at.v, problem.l2());
        for rows in shards.own() {
            let mut change = vec![0.0; problem.d()];
            at.visit(rows.clone(), &mut dual[rows], &mut change);
            for ((v, x), change) in v.iter_mut().zip(&at.x).zip(&change) {
                *v += change;
                bound += x * change + sigma / (2.0 * problem.l2()) * change * change;
            }
        }
        bound += problem.sum_conjugates(&dual, 1.0) / problem.terms();
        [at.value, bound, at.minus_dual(&dual, &v)]
    }

    /// The changes of all shards, added up with `sigma` equal to the number of shards, are at least as good as their models say, which
    /// are no worse than no change (Ma et al. 2015, lemma 3 with `gamma = 1`). The rows of all shards are alike, which is the worst case:
    /// with `sigma = 1` the sum overshoots.
    #[test]
    fn the_safe_sum_of_changes_keeps_its_bound() {
        const COUNT: usize = 8;
        let one_row = |i: usize, c: usize| 1.0 + 0.1 * ((i * (c + 3)) % 5) as f64;
        let x = Array2::from_shape_fn((64, 3), |(i, c)| one_row(i % 8, c));
        let y: Vec<f64> = (0..64).map(|i| if i % 8 < 6 { 1.0 } else { -1.0 }).collect();
        let shards = Shards::new(&Alone, &[8; COUNT]).unwrap();
        let mut overshot = 0;
        macro_rules! check {
            ($loss:expr, $penalty:expr) => {
                for l2 in [1e-3, 1e-1, 10.0] {
                    for start in [0.0, 0.5] {
                        let design = x.as_design().unwrap().spread(&shards).unwrap();
                        let problem = Problem::new(design, &y, $loss, $penalty, l2).unwrap();
                        let [before, bound, after] = round(&problem, &shards, start, COUNT as f64);
                        let rounding = 1e-13 * (1.0 + before.abs());
                        assert!(bound <= before + rounding, "{l2} {start}: {bound} {before}");
                        assert!(after <= bound + rounding, "{l2} {start}: {after} {bound}");
                        let [before, _, after] = round(&problem, &shards, start, 1.0);
                        overshot += usize::from(after > before);
                    }
                }
            };
        }
        check!(Hinge, Zero);
        check!(Logistic, L1 { strength: 0.01 });
        check!(Squared, Zero);
        assert!(overshot > 0);
    }
}
