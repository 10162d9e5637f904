//! Steps and runs of the methods that keep a point a term, as the theorems about them need them.

use std::ops::ControlFlow;

use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::methods::{
    FinitoSettings, MisoSettings, PointTable, PointTableState, finito, miso,
};
use fenchel_finite_sum::{Point, Problem};
use fenchel_linalg::Dense;
use fenchel_optim::prox::Zero;
use fenchel_optim::random::{Order, Visits};
use fenchel_optim::{Cadence, Observer, Progress, Solution, Stop};

use super::terms::{Terms, Vector, mean};
use super::{N, one_step};
use crate::common::distance;

pub(crate) type Toy<'a> = Problem<'a, Dense<'a, f64>, Logistic, Zero>;

/// Finito with `alpha`, or MISO with bounds of a curvature.
#[derive(Clone, Copy)]
pub(crate) enum Method {
    Finito(f64),
    Miso(f64),
}

impl Method {
    fn solve<'p, 'a>(
        self,
        problem: &'p Toy<'a>,
        (order, seed, stop): (Order, u64, Stop),
        start: PointTableState,
        observer: &mut impl Observer<PointTable<'p, 'a, Dense<'a, f64>, Logistic>>,
    ) -> Solution<PointTableState> {
        let solution = match self {
            Method::Finito(alpha) => {
                let alpha = Some(alpha);
                let settings = FinitoSettings { alpha, order, seed, stop, ..Default::default() };
                finito(problem, &settings, Some(start), observer)
            }
            Method::Miso(l) => {
                let smoothness = Some(l);
                let settings = MisoSettings { smoothness, order, seed, stop, ..Default::default() };
                miso(problem, &settings, Some(start), observer)
            }
        };
        solution.unwrap()
    }

    /// The curvature of the parabolas.
    fn inverse_step(self, mu: f64) -> f64 {
        match self {
            Method::Finito(alpha) => alpha * mu,
            Method::Miso(l) => l,
        }
    }
}

fn vector(point: &Point) -> Vector {
    point.weights.clone().try_into().expect("D entries")
}

fn state(start: &Vector) -> PointTableState {
    Point { weights: start.to_vec(), intercept: 0.0 }.into()
}

/// A state of the method that its own steps have led to.
pub(crate) struct State<'t> {
    pub(crate) terms: &'t Terms,
    problem: &'t Toy<'t>,
    method: Method,
    state: PointTableState,
    pub(crate) points: Vec<Vector>,
    pub(crate) w: Vector,
    /// The mean of the points.
    pub(crate) centre: Vector,
}

impl<'t> State<'t> {
    /// All terms at one point.
    pub(crate) fn start(
        terms: &'t Terms,
        problem: &'t Toy<'t>,
        method: Method,
        start: Vector,
    ) -> Self {
        let filled = (Order::Cyclic, 0, Stop::after_passes(1.0));
        let found = method.solve(problem, filled, state(&start), &mut ()).state;
        State::of(terms, problem, method, found, vec![start; N])
    }

    fn of(
        terms: &'t Terms,
        problem: &'t Toy<'t>,
        method: Method,
        state: PointTableState,
        points: Vec<Vector>,
    ) -> Self {
        let (w, centre) = (vector(&state.point), mean(points.iter().copied()));
        // The equation of w, with all sums from scratch.
        let printed = terms.next_point(&points, method.inverse_step(terms.mu));
        let size = 1.0 + printed.iter().map(|w| w.abs()).fold(0.0, f64::max);
        assert!(distance(&w, &printed) <= 1e-12 * size, "{w:?} {printed:?}");
        State { terms, problem, method, state, points, w, centre }
    }

    /// The state after a step of the library on term `j`.
    pub(crate) fn step(&self, j: usize) -> Self {
        let (order, stop) = one_step(j);
        let start = self.state.clone();
        let found = self.method.solve(self.problem, (order, 0, stop), start, &mut ()).state;
        let mut points = self.points.clone();
        points[j] = self.w;
        State::of(self.terms, self.problem, self.method, found, points)
    }

    /// After steps on all these terms.
    pub(crate) fn walk(self, script: impl IntoIterator<Item = usize>) -> Self {
        script.into_iter().fold(self, |state, j| state.step(j))
    }
}

/// A run of the library: `phi^0, w^0, w^1, ...`, and the terms visited.
pub(crate) struct Run {
    pub(crate) path: Vec<Vector>,
    pub(crate) visited: Vec<usize>,
}

pub(crate) fn run(
    problem: &Toy<'_>,
    method: Method,
    start: &Vector,
    (order, seed): (&Order, u64),
    steps: usize,
) -> Run {
    let stop = Stop {
        check: Cadence::Every(1.0 / N as f64),
        ..Stop::after_passes(1.0 + steps as f64 / N as f64)
    };
    let mut path = vec![];
    let mut watch = |progress: &Progress, method: &PointTable<'_, '_, _, _>| {
        // The pass that fills the table ends at w^0.
        if progress.passes == 0.0 || progress.passes > 1.0 - 1e-9 {
            path.push(vector(method.point()));
        }
        ControlFlow::Continue(())
    };
    let end = method.solve(problem, (order.clone(), seed, stop), state(start), &mut watch);
    // A gap that is 0 to the last digit ends a run.
    let last = *path.last().expect("the start");
    assert!(path.len() == steps + 2 || end.report.certificate.value() == 0.0, "{}", end.report);
    path.resize(steps + 2, last);
    let mut visits = Visits::new(order, N, seed).unwrap();
    Run { path, visited: (0..steps).map(|_| visits.draw()).collect() }
}

impl Run {
    /// For every step: the positions on the path of all `phi_i` before it, that of `w` being `k + 1`.
    pub(crate) fn positions(&self) -> Vec<[usize; N]> {
        let mut places = [0; N];
        let mut all = vec![places];
        for (k, &j) in self.visited.iter().enumerate() {
            places[j] = k + 1;
            all.push(places);
        }
        all
    }
}
