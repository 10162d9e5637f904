//! A step on one block: its direction, the line search, and the update.
//!
//! The blocks of a batch compute their directions in parallel, at the same weights. Then they take their steps one after the
//! other, each at the weights that the earlier blocks have left. Along the direction `d` only the linear term `c = <w, F d>`
//! has changed, and `nu` with an l1 penalty, so that no further oracle call is needed.

use super::line_search::{Line, Move, SdcaStep};
use super::point::{Bend, Point};
use crate::terms::{Marginals, Oracle};

/// The numbers of a block before its step, except for its marginals.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// The entropy `H(m_i)`, if it is stored.
    pub(super) entropy: Option<f64>,
    /// The block's last step.
    pub(super) previous: f64,
    /// The step size of the theory.
    pub(super) safe: f64,
}

/// The memory of one step.
pub(super) struct Block<W, M> {
    pub(super) index: usize,
    pub(super) known: Known,
    /// The marginals `m_i`, moved out of the state during the step.
    pub(super) marginals: M,
    work: W,
    /// `p`
    target: M,
    /// The gap of the block, if it is stored.
    gap: f64,
    /// `c`
    linear: f64,
    /// `q`
    quadratic: f64,
    /// The terms in place of `c` and `q`, if there is an l1 penalty.
    bend: Option<Bend>,
    /// The proposed step; `None` if a score overflows.
    found: Option<Move>,
}

impl<W, M: Marginals> Block<W, M> {
    pub(super) fn new(work: W, point: &Point) -> Self {
        Block {
            index: 0,
            known: Known { entropy: None, previous: 0.5, safe: 0.0 },
            marginals: M::default(),
            work,
            target: M::default(),
            gap: 0.0,
            linear: 0.0,
            quadratic: 0.0,
            bend: (point.threshold > 0.0).then(Bend::default),
            found: None,
        }
    }

    /// The exact gap of block `i` with the marginals `m`; `None` if a score overflows. One oracle call.
    pub(super) fn gap<P: Oracle<M, Work = W>>(
        &mut self,
        problem: &P,
        w: &[f64],
        i: usize,
        m: &M,
        entropy: f64,
    ) -> Option<f64> {
        let log_z = problem.infer(w, &mut self.work, i, &mut self.target)?;
        Some(gap(problem, &mut self.work, i, m, entropy, log_z))
    }

    fn line(&self) -> Line<'_, M> {
        Line {
            from: &self.marginals,
            target: &self.target,
            linear: self.linear,
            quadratic: self.quadratic,
            bend: self.bend.as_ref(),
            tracked: self.known.entropy.map(|entropy| (entropy, self.gap)),
            previous: self.known.previous,
            safe: self.known.safe,
        }
    }

    /// Computes the directions `d` and `F d` at the current weights, and the best step along them.
    pub(super) fn propose<P: Oracle<M, Work = W>>(
        &mut self,
        problem: &P,
        point: &Point,
        rule: SdcaStep,
    ) {
        self.found = None;
        let Block { index, marginals, work, target, .. } = self;
        let i = *index;
        let Some(log_z) = problem.infer(point.weights(), work, i, target) else { return };
        if let Some(entropy) = self.known.entropy {
            self.gap = gap(problem, work, i, marginals, entropy, log_z);
        }
        let (linear, square) = problem.direction(work, i, marginals, target);
        self.linear = linear;
        self.quadratic = square / (point.curvature * problem.common().n as f64);
        self.read_bend(problem, point);
        self.found = Some(self.line().search(rule));
    }

    fn read_bend<P: Oracle<M, Work = W>>(&mut self, problem: &P, point: &Point) {
        if let Some(bend) = &mut self.bend {
            point.bend(problem, &self.work, self.index, bend);
        }
    }

    /// Takes the step at weights that other blocks may have changed. Returns the step, and `n` times the gain of the dual.
    pub(super) fn take<P: Oracle<M, Work = W>>(
        &mut self,
        problem: &P,
        point: &mut Point,
        moved: bool,
        rule: SdcaStep,
    ) -> Option<(Move, f64)> {
        let mut found = self.found?;
        if moved {
            let before = self.linear;
            self.linear = problem.dot(&self.work, self.index, point.weights());
            self.read_bend(problem, point);
            found = self.line().again(rule, found, before);
            self.found = Some(found);
        }
        let scale = -found.step / (point.curvature * problem.common().n as f64);
        point.step(problem, &self.work, self.index, scale);
        let gain = found.entropy.map_or(f64::NAN, |entropy| self.line().gain(found.step, entropy));
        Some((found, gain))
    }

    /// `m_i + s d`
    pub(super) fn mix(&mut self) {
        if let Some(found) = self.found {
            self.marginals.mix(&self.target, found.step);
        }
    }
}

/// The gap `g_i = log Z - H(m_i) - E_m s`. Cancellation limits its accuracy to about 1e-13 of `log Z`.
fn gap<M, P: Oracle<M>>(
    problem: &P,
    work: &mut P::Work,
    i: usize,
    m: &M,
    entropy: f64,
    log_z: f64,
) -> f64 {
    (log_z - entropy - problem.expected_score(work, i, m)).max(0.0)
}
