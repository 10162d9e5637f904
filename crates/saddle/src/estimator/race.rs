//! A race: two methods run in turns until one is ahead. It is used if no bound can rank them.
//!
//! PDHG and the mirror method take turns, and each continues from its last state. In a turn PDHG runs until its next
//! certificate, and then the mirror method runs until it has used the same number of operations in total (`work.rs`).
//! Turns with equal numbers of passes would be unfair: a pass of one method may cost ten times as much as a pass of
//! the other. When the gap of one method is a quarter of the other's, this method continues alone. After [`LONGEST`]
//! turns, the method with the smaller gap continues alone. (A ratio of a half was not enough: a method can be behind
//! by that in the first passes and ahead later.) The estimator keeps the best weights and the best lower bound of
//! both methods, so that no result is lost.

use fenchel_optim::Iterative;

use super::engine::{Candidate, objective, of_mirror};
use super::exact::Exact;
use super::work::Work;
use super::{Solver, engine};
use crate::methods::mirror_pdhg::MirrorPdhg;
use crate::multiclass::Multiclass;

/// The race ends if one gap is this number of times smaller than the other.
const CLEAR: f64 = 4.0;
/// Passes of PDHG per turn, which is the number of passes between two of its certificates.
const TURN: f64 = 20.0;
/// The largest number of turns of a race.
const LONGEST: u32 = 5;

pub(super) struct Race<'a> {
    problem: &'a Multiclass<'a>,
    pub(super) exact: Option<Box<Exact<'a>>>,
    mirror: Option<Box<MirrorPdhg<'a>>>,
    cost: Work,
    /// The cost of the certificates so far, and the best bounds. Each has an entry for PDHG and one for the mirror
    /// method.
    certificates: [f64; 2],
    standing: [Standing; 2],
    /// Number of passes of PDHG, and number of turns that both methods have completed.
    passes: f64,
    turns: u32,
    /// The method whose turn it is, and whether it now runs alone.
    now: usize,
    ended: bool,
    moved: bool,
    candidates: Vec<Candidate>,
    calls: u64,
}

/// The best bounds of one method.
struct Standing {
    objective: f64,
    lower_bound: f64,
}

impl Standing {
    fn gap(&self) -> f64 {
        self.objective - self.lower_bound
    }
}

impl<'a> Race<'a> {
    pub(super) fn new(
        problem: &'a Multiclass<'a>,
        exact: Exact<'a>,
        mirror: MirrorPdhg<'a>,
    ) -> Self {
        let start =
            || Standing { objective: objective(problem, &vec![]), lower_bound: f64::NEG_INFINITY };
        Race {
            problem,
            exact: Some(Box::new(exact)),
            mirror: Some(Box::new(mirror)),
            cost: Work::of(problem),
            certificates: [0.0; 2],
            standing: [start(), start()],
            passes: 0.0,
            turns: 0,
            now: 0,
            ended: false,
            moved: true,
            candidates: vec![],
            calls: 0,
        }
    }

    /// The method that is ahead.
    pub(super) fn solver(&self) -> Solver {
        [Solver::Pdhg, Solver::MirrorPdhg][self.ahead()]
    }

    fn ahead(&self) -> usize {
        if self.ended {
            return self.now;
        }
        usize::from(self.standing[1].gap() < self.standing[0].gap())
    }

    /// The products and steps of both methods.
    pub(super) fn calls(&self) -> u64 {
        self.calls
            + self.exact.as_ref().map_or(0, |exact| exact.method.oracle_calls())
            + self.mirror.as_ref().map_or(0, |method| method.oracle_calls())
    }

    /// The operations that each method has used so far.
    fn work(&self) -> [f64; 2] {
        let of =
            |exact: &Exact| self.cost.exact(exact.method.operations(), exact.method.oracle_calls());
        let mirror = |m: &MirrorPdhg| self.cost.mirror(m.oracle_calls(), m.iterations());
        [
            self.certificates[0] + self.exact.as_deref().map_or(0.0, of),
            self.certificates[1] + self.mirror.as_deref().map_or(0.0, mirror),
        ]
    }

    pub(super) fn advance(&mut self, passes: f64) -> f64 {
        self.moved = true;
        let mut done = 0.0;
        while done < passes - 1e-9 {
            done += self.turn(passes - done);
        }
        done
    }

    /// Continues the turn, for at most this number of passes.
    fn turn(&mut self, most: f64) -> f64 {
        let due = f64::from(self.turns + 1) * TURN;
        if self.now == 0 {
            let Some(exact) = self.exact.as_deref_mut() else { return most };
            let alone = self.ended;
            let done = exact.method.advance(if alone { most } else { most.min(due - self.passes) });
            self.passes += done;
            if !alone && self.passes >= due - 1e-9 {
                // Its own certificate was four products.
                self.certificates[0] += self.cost.certificate(4.0);
                self.record(0);
                self.now = 1;
            }
            return done;
        }
        let [exact, mirror] = self.work();
        let done = match self.mirror.as_deref_mut() {
            None => most,
            Some(method) if self.ended => method.advance(most),
            // It may have overtaken PDHG in the turn before.
            Some(_) if mirror >= exact => 0.0,
            Some(method) => method.advance(1.0),
        };
        if !self.ended && self.work()[1] >= exact {
            self.record(1);
            self.turns += 1;
            let gaps = [self.standing[0].gap(), self.standing[1].gap()];
            self.ended =
                self.turns >= LONGEST || CLEAR * gaps[0].min(gaps[1]) <= gaps[0].max(gaps[1]);
            self.now = if self.ended { usize::from(gaps[1] < gaps[0]) } else { 0 };
        }
        done
    }

    /// Stores the weights and bounds of one of the two methods.
    fn record(&mut self, which: usize) {
        let candidate = match which {
            0 => self.exact.as_deref_mut().map(|exact| exact.candidate(self.problem)),
            _ => self.mirror.as_deref_mut().map(|method| of_mirror(method, self.problem)),
        };
        let Some((columns, parts)) = candidate else { return };
        self.certificates[which] += self.cost.certificate(2.0);
        let (radius, penalty) = (self.problem.radius(), self.problem.penalty());
        let standing = &mut self.standing[which];
        if let Some(columns) = &columns {
            standing.objective = standing.objective.min(objective(self.problem, columns));
        }
        let within = engine::within(radius, penalty, standing.objective);
        standing.lower_bound = standing.lower_bound.max(parts.within(within, penalty));
        self.candidates.push((columns, parts));
        self.moved = false;
    }

    /// Returns the weights and bounds that are new since the last call. A method that has lost the race is dropped.
    pub(super) fn candidates(&mut self) -> Vec<Candidate> {
        if self.moved {
            self.record(self.now);
        }
        if self.ended {
            let calls = self.calls();
            match self.now {
                0 => self.mirror = None,
                _ => self.exact = None,
            }
            self.calls += calls - self.calls();
        }
        std::mem::take(&mut self.candidates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::mirror_pdhg::MirrorPdhgSettings;
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
            let exact = Exact::new(&bilinear, None).unwrap();
            let mirror = MirrorPdhg::new(&problem, &MirrorPdhgSettings::default(), None).unwrap();
            Race::new(&problem, exact, mirror)
        };
        let mut whole = race();
        let mut turns = 0;
        while !whole.ended {
            whole.advance(0.5);
            if whole.turns > turns && !whole.ended {
                turns = whole.turns;
                let [exact, mirror] = whole.work();
                let pass = whole.cost.mirror(4, 1) + whole.cost.certificate(2.0);
                // The next turn of PDHG may have begun: at most a step.
                let step = whole.cost.exact(None, 1);
                assert!(mirror >= exact - step && mirror <= exact + pass, "{exact:e} {mirror:e}");
            }
        }
        let passes = |race: &Race| {
            let of = |m: &MirrorPdhg| m.oracle_calls();
            (race.passes, race.turns, race.now, race.mirror.as_deref().map_or(0, of))
        };
        let (of_exact, .., products) = passes(&whole);
        assert!(of_exact > 2.0 * products as f64, "{of_exact} passes and {products} products");
        let mut other = race();
        while !other.ended {
            other.advance(7.0);
        }
        assert_eq!((whole.turns, whole.now), (other.turns, other.now));
    }
}
