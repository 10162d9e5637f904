//! A step on one block: its direction, the line search, and the update.
//!
//! The blocks of a batch compute their directions in parallel, at the same weights. Then they take their steps one after the
//! other, each at the weights that the earlier blocks have left. Along the direction `d` only the linear term `c = <w, F d>`
//! has changed, and `nu` with an l1 penalty, so that no further oracle call is needed.

use fenchel_graphical::chain::{Chain, ChainMarginals, Probability};
use fenchel_linalg::lanes;

use super::line_search::{Line, Move, SdcaStep};
use super::point::{Bend, Point};
use crate::Error;
use crate::layout::Rows;
use crate::problem::Problem;

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
pub(super) struct Block<T> {
    pub(super) index: usize,
    pub(super) known: Known,
    /// The marginals `m_i`, moved out of the state during the step.
    pub(super) marginals: ChainMarginals<T>,
    chain: Chain,
    rows: Rows,
    scores: Vec<f64>,
    /// `p`
    target: ChainMarginals<T>,
    /// `d` on positions, rows of `stride`.
    nodes: Vec<f64>,
    /// `sum_t d_t` on pairs, `K x K`.
    pairs: Vec<f64>,
    /// The features `F d` on the rows that the sequence uses.
    sums: Vec<f64>,
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

impl<T: Probability> Block<T> {
    pub(super) fn new(labels: usize, point: &Point) -> Result<Self, Error> {
        Ok(Block {
            index: 0,
            known: Known { entropy: None, previous: 0.5, safe: 0.0 },
            marginals: ChainMarginals::new(),
            chain: Chain::shared(labels, 1)?,
            rows: Rows::default(),
            scores: Vec::new(),
            target: ChainMarginals::new(),
            nodes: Vec::new(),
            pairs: vec![0.0; labels * labels],
            sums: Vec::new(),
            gap: 0.0,
            linear: 0.0,
            quadratic: 0.0,
            bend: (point.threshold > 0.0).then(Bend::default),
            found: None,
        })
    }

    /// Writes the marginals of the model for sequence `i` to the target. Returns `log Z`. One oracle call.
    pub(super) fn infer(&mut self, problem: &Problem<'_>, w: &[f64], i: usize) -> Option<f64> {
        let sequence = problem.data().sequence(i);
        let layout = &problem.layout;
        layout.locate(&sequence, &mut self.rows);
        layout.scores(w, &sequence, &self.rows, &mut self.scores);
        layout.write_transitions(w, &mut self.chain);
        self.chain.resize(sequence.len()).ok()?;
        self.chain.padded_unary_mut().copy_from_slice(&self.scores);
        self.chain.seal();
        self.chain.marginals(&mut self.target).ok().filter(|log_z| log_z.is_finite())
    }

    /// The score of expected features under `w`: `<u, nodes> + <M, pairs>`, where `pairs` is `K x K`.
    fn expected_score(&self, nodes: &[f64], pairs: &[f64]) -> f64 {
        let labels = self.chain.states();
        let transitions: f64 = pairs
            .chunks_exact(labels)
            .enumerate()
            .map(|(j, row)| lanes::dot(self.chain.pairwise(0, j), row))
            .sum();
        lanes::dot(&self.scores, nodes) + transitions
    }

    /// The gap `g_i = log Z - H(m_i) - E_m s`. Cancellation limits its accuracy to about 1e-13 of `log Z`.
    pub(super) fn gap_of(
        &mut self,
        marginals: &ChainMarginals<T>,
        entropy: f64,
        log_z: f64,
    ) -> f64 {
        self.pairs.fill(0.0);
        marginals.add_pairs(&mut self.pairs);
        let score = self.expected_score(marginals.padded_nodes(), &self.pairs);
        (log_z - entropy - score).max(0.0)
    }

    fn line(&self) -> Line<'_, ChainMarginals<T>> {
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
    pub(super) fn propose(&mut self, problem: &Problem<'_>, point: &Point, rule: SdcaStep) {
        self.found = None;
        let Some(log_z) = self.infer(problem, point.weights(), self.index) else { return };
        if let Some(entropy) = self.known.entropy {
            let marginals = std::mem::take(&mut self.marginals);
            self.gap = self.gap_of(&marginals, entropy, log_z);
            self.marginals = marginals;
        }
        let (layout, sequence) = (&problem.layout, problem.data().sequence(self.index));
        self.nodes.clear();
        let pairs = self.target.padded_nodes().iter().zip(self.marginals.padded_nodes());
        self.nodes.extend(pairs.map(|(p, m)| p - m));
        self.pairs.fill(0.0);
        self.marginals.add_pair_differences(&self.target, &mut self.pairs);
        self.linear = self.expected_score(&self.nodes, &self.pairs);
        layout.sums(&self.nodes, &sequence, &self.rows, &mut self.sums);
        layout.mask_pairs(&mut self.pairs);
        let square = lanes::dispatch(|| {
            lanes::dot(&self.sums, &self.sums) + lanes::dot(&self.pairs, &self.pairs)
        });
        self.quadratic = square / (point.curvature * problem.n() as f64);
        self.read_bend(problem, point);
        self.found = Some(self.line().search(rule));
    }

    fn read_bend(&mut self, problem: &Problem<'_>, point: &Point) {
        if let Some(bend) = &mut self.bend {
            point.bend(problem, &self.rows, (&self.sums, &self.pairs), bend);
        }
    }

    /// Takes the step at weights that other blocks may have changed. Returns the step, and `n` times the gain of the dual.
    pub(super) fn land(
        &mut self,
        problem: &Problem<'_>,
        point: &mut Point,
        moved: bool,
        rule: SdcaStep,
    ) -> Option<(Move, f64)> {
        let mut found = self.found?;
        let layout = &problem.layout;
        if moved {
            let before = self.linear;
            let w = point.weights();
            self.linear = layout.dot(&self.rows, &self.sums, w) + layout.dot_pairs(&self.pairs, w);
            self.read_bend(problem, point);
            found = self.line().again(rule, found, before);
            self.found = Some(found);
        }
        let scale = -found.step / (point.curvature * problem.n() as f64);
        point.step(problem, scale, &self.rows, (&self.sums, &self.pairs));
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
