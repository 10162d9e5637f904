//! A race: two methods run in turns until one is ahead. It is used if no bound can rank them.
//!
//! PDHG and the mirror method take turns, and each continues from its last state. In a turn PDHG runs until its next
//! certificate, and then the mirror method runs until it has used the same number of operations in total.
//! Turns with equal numbers of passes would be unfair: a pass of one method may cost ten times as much as a pass of
//! the other. When the gap of one method is a quarter of the other's, this method continues alone. After [`LONGEST`]
//! turns, the method with the smaller gap continues alone. (A ratio of a half was not enough: a method can be behind
//! by that in the first passes and ahead later.) The estimator keeps the best weights and the best lower bound of
//! both methods, so that no result is lost.
//!
//! Operations are counted and not measured, so that a race ends the same way on every machine. The unit is a
//! multiply-add in a product with a sparse design. With `n` rows, `d` features, `k` classes and `S` stored entries:
//!
//! | what | operations |
//! |---|---|
//! | a product | `S k` (sparse), `S k / 2` (dense: blocks stay in registers) |
//! | a mirror step, including refused ones | a product, and `10 d k + 4 n k` exponentials |
//! | a step of PDHG | the entries that its products use, 8 per updated entry of `U`, and 24 per updated entry of `V` |
//! | a certificate | its products, and 36 per entry: a dozen loops of three operations each |
//!
//! The 10 exponentials per entry of `U` are two for its mass, two for its point, two for the mass of the point, and
//! four for the divergence. The 4 per entry of `V` are one for the normalisation, one for the point and two for the
//! divergence. The 24 operations of PDHG are for the step, the rounds of the projection, the change and the sum. The
//! costs of an exponential and of a copied entry come from measured times on six kinds of generated documents (8 to
//! 200 topics, 600 to 30,000 words; the benchmarks of the race use none of them). An operation of the mirror method
//! took 0.17 to 0.25 nanoseconds there, and one of PDHG 0.16 to 0.41.

use super::method::{Candidate, Exact, Method, Mirror};
use super::settings::Solver;
use super::weights::{objective, within};
use crate::methods::pdhg::PdhgState;
use crate::multiclass::{Multiclass, Primal};

/// The race ends if one gap is this number of times smaller than the other.
const CLEAR: f64 = 4.0;
/// Passes of PDHG per turn, which is the number of passes between two of its certificates.
const TURN: f64 = 20.0;
/// The largest number of turns of a race.
const LONGEST: u32 = 5;
/// The cost of an exponential: a polynomial of degree 13 and its scaling, in wide instructions that do not wait for
/// memory.
const EXPONENTIAL: f64 = 8.0;
/// The cost of a certificate per entry: average, copies, norm, zeros, gradient.
const THROUGH: f64 = 36.0;

/// The operations that the parts of both methods cost.
struct Cost {
    product: f64,
    /// A step of each method without its products.
    exact: f64,
    mirror: f64,
    /// What a certificate costs beside its products.
    certificate: f64,
}

impl Cost {
    fn of(problem: &Multiclass) -> Self {
        let s = problem.samples();
        let (n, d, k) = (s.rows() as f64, s.features() as f64, s.classes() as f64);
        let (weights, duals) = (d * k, n * k);
        // The norm of rows has exponentials by rows, and products of entries.
        let of_weight = match problem.geometry().primal {
            Primal::Entries => 10.0 * EXPONENTIAL,
            Primal::Rows => 10.0,
        };
        Cost {
            product: s.stored() as f64 * k * if s.is_sparse() { 1.0 } else { 0.5 },
            exact: 8.0 * weights + 24.0 * duals,
            mirror: of_weight * weights + 4.0 * EXPONENTIAL * duals,
            certificate: THROUGH * (weights + duals),
        }
    }
}

pub(super) struct Race<'a> {
    problem: &'a Multiclass<'a>,
    exact: Exact<'a>,
    mirror: Mirror<'a>,
    cost: Cost,
    /// The operations of the certificates so far, and the best objective and lower bound, of PDHG and of the mirror
    /// method.
    certificates: [f64; 2],
    best: [(f64, f64); 2],
    /// Number of passes of PDHG, and number of turns that both methods have completed.
    passes: f64,
    turns: u32,
    /// The method whose turn it is, and whether it now runs alone.
    now: usize,
    ended: bool,
    moved: bool,
    candidates: Vec<Candidate>,
}

impl<'a> Race<'a> {
    pub(super) fn new(problem: &'a Multiclass<'a>, exact: Exact<'a>, mirror: Mirror<'a>) -> Self {
        let none = (objective(problem, &vec![]), f64::NEG_INFINITY);
        Race {
            problem,
            exact,
            mirror,
            cost: Cost::of(problem),
            certificates: [0.0; 2],
            best: [none; 2],
            passes: 0.0,
            turns: 0,
            now: 0,
            ended: false,
            moved: true,
            candidates: vec![],
        }
    }

    fn gaps(&self) -> [f64; 2] {
        self.best.map(|(objective, lower_bound)| objective - lower_bound)
    }

    /// The operations that each method has used so far.
    fn work(&self) -> [f64; 2] {
        let Cost { product, exact, mirror, .. } = self.cost;
        let (steps, products) = (self.exact.calls() as f64, self.mirror.calls() as f64);
        // Without a count every step has two whole products.
        let whole = || steps * (2.0 * product + exact);
        let exact = self.exact.method.operations().map_or_else(whole, |counted| counted as f64);
        let mirror =
            products * product + (products - self.mirror.method.iterations() as f64) * mirror;
        [self.certificates[0] + exact, self.certificates[1] + mirror]
    }

    /// Continues the turn, for at most this number of passes.
    fn turn(&mut self, most: f64) -> f64 {
        if self.ended {
            return self.method().advance(most);
        }
        if self.now == 0 {
            let due = f64::from(self.turns + 1) * TURN;
            let done = self.exact.advance(most.min(due - self.passes));
            self.passes += done;
            if self.passes >= due - 1e-9 {
                // Its own certificate was four products.
                self.certificates[0] += 4.0 * self.cost.product + self.cost.certificate;
                self.record();
                self.now = 1;
            }
            return done;
        }
        let [exact, mirror] = self.work();
        // It may have overtaken PDHG in the turn before.
        let done = if mirror >= exact { 0.0 } else { self.mirror.advance(1.0) };
        if self.work()[1] >= exact {
            self.record();
            self.turns += 1;
            let [exact, mirror] = self.gaps();
            self.ended = self.turns >= LONGEST || CLEAR * exact.min(mirror) <= exact.max(mirror);
            self.now = usize::from(self.ended && mirror < exact);
        }
        done
    }

    fn method(&mut self) -> &mut dyn Method {
        if self.now == 0 { &mut self.exact } else { &mut self.mirror }
    }

    /// Stores the weights and bounds of the method whose turn it is.
    fn record(&mut self) {
        let (now, problem) = (self.now, self.problem);
        let found = self.method().candidates();
        self.certificates[now] += 2.0 * self.cost.product + self.cost.certificate;
        let (value, lower_bound) = &mut self.best[now];
        for (columns, parts) in &found {
            if let Some(columns) = columns {
                *value = value.min(objective(problem, columns));
            }
            let within = within(problem.radius(), problem.penalty(), *value);
            *lower_bound = lower_bound.max(parts.within(within, problem.penalty()));
        }
        self.candidates.extend(found);
        self.moved = false;
    }
}

impl Method for Race<'_> {
    fn solver(&self) -> Solver {
        let [exact, mirror] = self.gaps();
        let ahead = if self.ended { self.now } else { usize::from(mirror < exact) };
        [Solver::Pdhg, Solver::MirrorPdhg][ahead]
    }

    fn advance(&mut self, passes: f64) -> f64 {
        self.moved = true;
        let mut done = 0.0;
        while done < passes - 1e-9 {
            done += self.turn(passes - done);
        }
        done
    }

    fn calls(&self) -> u64 {
        self.exact.calls() + self.mirror.calls()
    }

    fn candidates(&mut self) -> Vec<Candidate> {
        if self.moved {
            self.record();
        }
        std::mem::take(&mut self.candidates)
    }

    fn state(&self) -> Option<PdhgState> {
        self.exact.state().filter(|_| self.solver() == Solver::Pdhg)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multiclass::{HingeBilinear, MulticlassLoss, Samples};
    use fenchel_linalg::{AsDesign, CsrMatrix};

    /// Documents of ten words out of a thousand, two thirds of them rare, and a word of its own for each of 30 topics.
    fn documents() -> Samples {
        let (rows, words, topics) = (300, 1000, 30);
        let (mut offsets, mut places) = (vec![0], vec![]);
        for j in 0..rows {
            let place =
                |i: usize| ((j * 7919 + i * 104_729) % 10_007 * (words - topics) / 10_007) as u32;
            let mut row: Vec<u32> = (0..10).map(place).collect();
            row.push((words - topics + j % topics) as u32);
            row.sort_unstable();
            row.dedup();
            places.extend(row);
            offsets.push(places.len());
        }
        let x = CsrMatrix::new((rows, words), offsets, places.clone(), vec![0.3; places.len()]);
        let y: Vec<usize> = (0..rows).map(|j| j % topics).collect();
        Samples::new(&x.as_design().unwrap(), &y, topics, None).unwrap()
    }

    /// At the end of a turn both methods have used the same number of operations, up to a pass and a certificate of
    /// the more expensive one. On these documents that is many more passes for PDHG. The turns do not depend on how a
    /// caller divides the passes.
    #[test]
    fn turns_are_as_much_work_for_both() {
        let samples = documents();
        let problem = Multiclass::new(&samples, MulticlassLoss::Hinge, 1e3, 1e-3).unwrap();
        let bilinear = HingeBilinear::new(&problem).unwrap();
        let race = || {
            let exact = Exact::new(&problem, &bilinear, None).unwrap();
            let mirror = Mirror::new(&problem).unwrap();
            Race::new(&problem, exact, mirror)
        };
        let mut whole = race();
        let mut turns = 0;
        while !whole.ended {
            whole.advance(0.5);
            if whole.turns > turns && !whole.ended {
                turns = whole.turns;
                let [exact, mirror] = whole.work();
                let Cost { product, exact: of_exact, mirror: of_mirror, certificate } = whole.cost;
                let pass = 4.0 * product + 3.0 * of_mirror + 2.0 * product + certificate;
                // The next turn of PDHG may have begun: at most a step.
                let step = 2.0 * product + of_exact;
                assert!(mirror >= exact - step && mirror <= exact + pass, "{exact:e} {mirror:e}");
            }
        }
        let (of_exact, products) = (whole.passes, whole.mirror.calls());
        assert!(of_exact > 2.0 * products as f64, "{of_exact} passes and {products} products");
        let mut other = race();
        while !other.ended {
            other.advance(7.0);
        }
        assert_eq!((whole.turns, whole.now), (other.turns, other.now));
    }
}
