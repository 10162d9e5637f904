//! Two methods side by side until one is ahead: what no bound predicts.
//!
//! PDHG and the mirror method take turns of as many passes each, from where they stand. Once the gap of one is a quarter of the other's, it
//! goes on alone; after [`LONGEST`] passes each the one with the smaller gap does. (Half was not enough: either can be behind by that in the
//! first passes and ahead later.) Nothing is thrown away: the estimator keeps the best
//! weights and the best lower bound of both. Passes decide and not seconds, so a race ends the same on every machine.

use fenchel_optim::Iterative;

use super::Solver;
use crate::mirror_pdhg::MirrorPdhg;
use crate::pdhg::Pdhg;

/// A gap so many times smaller ends the race.
const CLEAR: f64 = 4.0;
/// Passes of a turn: as many as PDHG needs from one of its own looks to the next.
const TURN: f64 = 20.0;
/// Passes of a method after which the race ends in any case.
const LONGEST: f64 = 100.0;

pub(super) struct Race<'a> {
    pub(super) exact: Option<Box<Pdhg<'a>>>,
    pub(super) mirror: Option<Box<MirrorPdhg<'a>>>,
    /// Passes of each: PDHG's, the mirror method's.
    passes: [f64; 2],
    turns: [f64; 2],
    gaps: [f64; 2],
    /// The one that is ahead, and whether it goes on alone.
    ahead: usize,
    ended: bool,
    calls: u64,
}

impl<'a> Race<'a> {
    pub(super) fn new(exact: Pdhg<'a>, mirror: MirrorPdhg<'a>) -> Self {
        Race {
            exact: Some(Box::new(exact)),
            mirror: Some(Box::new(mirror)),
            passes: [0.0; 2],
            turns: [0.0; 2],
            gaps: [f64::INFINITY; 2],
            ahead: 0,
            ended: false,
            calls: 0,
        }
    }

    /// The method that is ahead.
    pub(super) fn solver(&self) -> Solver {
        [Solver::Pdhg, Solver::MirrorPdhg][self.ahead]
    }

    /// Products and steps of both.
    pub(super) fn calls(&self) -> u64 {
        self.calls
            + self.exact.as_ref().map_or(0, |method| method.oracle_calls())
            + self.mirror.as_ref().map_or(0, |method| method.oracle_calls())
    }

    fn method(&mut self, which: usize) -> Option<&mut dyn Iterative> {
        match which {
            0 => self.exact.as_deref_mut().map(|method| method as &mut dyn Iterative),
            _ => self.mirror.as_deref_mut().map(|method| method as &mut dyn Iterative),
        }
    }

    pub(super) fn advance(&mut self, passes: f64) -> f64 {
        // Both have had as many turns, or it is that of the second.
        let turn = if self.ended { self.ahead } else { usize::from(self.turns[0] > self.turns[1]) };
        let left = (self.turns[turn] + 1.0) * TURN - self.passes[turn];
        let most = if self.ended { passes } else { passes.min(left) };
        let Some(method) = self.method(turn) else { return 0.0 };
        let done = method.advance(most);
        self.passes[turn] += done;
        if !self.ended && self.passes[turn] >= (self.turns[turn] + 1.0) * TURN - 1e-9 {
            self.turn_ends(turn);
        }
        done
    }

    fn turn_ends(&mut self, turn: usize) {
        self.turns[turn] += 1.0;
        if let Some(method) = self.method(turn) {
            self.gaps[turn] = method.certify().value();
        }
        let [exact, mirror] = self.gaps;
        if turn == 1 {
            self.ahead = usize::from(mirror < exact);
            let clear = CLEAR * exact.min(mirror) <= exact.max(mirror);
            self.ended = clear || self.passes[0] >= LONGEST;
        }
    }

    /// Takes the one that fell behind away, once it has shown what it has.
    pub(super) fn tidy(&mut self) {
        if !self.ended {
            return;
        }
        let calls = self.calls();
        match self.ahead {
            0 => self.mirror = None,
            _ => self.exact = None,
        }
        self.calls += calls - self.calls();
    }
}
