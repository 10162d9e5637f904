//! The oracle: marginals of a graph at the current weights, by a calibration of its junction tree.

use fenchel_graphical::chain::{LineTerms, Probability};
use fenchel_graphical::{Evidence, FactorGraph, FactorId, JunctionTree, Workspace};
use fenchel_linalg::lanes;

use super::problem::{GraphProblem, Item, Place, Structure};
use crate::Error;
use crate::methods::sdca::line_search::Segment;

/// Marginals of the cliques and separators of a graph's junction tree, which are the dual variables of the graph. They
/// represent the distribution `prod_C m_C / prod_S m_S`, which has the largest entropy of all distributions with these
/// marginals.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TreeMarginals {
    pub(super) cliques: Vec<f64>,
    pub(super) separators: Vec<f64>,
}

impl TreeMarginals {
    /// Mixes the true labelling with the uniform distribution in every clique.
    pub(super) fn smoothed(
        tree: &JunctionTree,
        truth: &[usize],
        smoothing: f64,
    ) -> Result<Self, Error> {
        let logs = tree.interior_marginals(truth, smoothing)?;
        let exp = |logs: &[f64]| logs.iter().map(|log| log.exp()).collect();
        Ok(TreeMarginals {
            cliques: exp(logs.log_cliques()),
            separators: exp(logs.log_separators()),
        })
    }

    /// The probabilities of the cliques, in the order of [`JunctionTree::cliques`].
    pub fn cliques(&self) -> &[f64] {
        &self.cliques
    }

    /// The probabilities of the separators, in the order of their cliques; roots have none.
    pub fn separators(&self) -> &[f64] {
        &self.separators
    }

    /// `sum_C H(m_C) - sum_S H(m_S)` in nats.
    pub fn entropy(&self) -> f64 {
        f64::entropy(&self.cliques) - f64::entropy(&self.separators)
    }

    /// Replaces `m` by `(1 - step) m + step target` in every clique.
    pub(super) fn mix(&mut self, target: &Self, step: f64) {
        f64::mix(&mut self.cliques, &target.cliques, step);
        f64::mix(&mut self.separators, &target.separators, step);
    }
}

impl Segment for TreeMarginals {
    fn line_terms(&self, target: &Self, step: f64) -> LineTerms {
        let cliques = f64::line_terms(&self.cliques, &target.cliques, step);
        cliques.minus(f64::line_terms(&self.separators, &target.separators, step))
    }
}

/// The working memory of inference, and the results for the last graph.
pub(super) struct Oracle {
    models: Vec<FactorGraph>,
    workspace: Workspace,
    evidence: Evidence,
    scratch: Vec<f64>,
    /// The weights in the rows of the graph.
    pub(super) local: Vec<f64>,
    /// The scores of its cells.
    pub(super) scores: Vec<f64>,
    /// The marginals `p` of the model.
    pub(super) target: TreeMarginals,
    /// `p` on the cells.
    pub(super) expected: Vec<f64>,
}

impl Oracle {
    pub(super) fn new(structures: &[Structure]) -> Self {
        Oracle {
            models: structures.iter().map(|structure| structure.model.clone()).collect(),
            workspace: Workspace::default(),
            evidence: Evidence::new(),
            scratch: Vec::new(),
            local: Vec::new(),
            scores: Vec::new(),
            target: TreeMarginals::default(),
            expected: Vec::new(),
        }
    }

    /// The factor graph of a graph at `w`; `None` if a score overflows.
    pub(super) fn model(&mut self, item: &Item, w: &[f64]) -> Option<&FactorGraph> {
        item.gather(w, &mut self.local);
        item.scores(&self.local, &mut self.scores);
        let model = &mut self.models[item.structure];
        for (f, place) in item.places.iter().enumerate() {
            let scores = &self.scores[place.cells.clone()];
            let scores = match &place.order {
                None => scores,
                Some(order) => {
                    self.scratch.clear();
                    self.scratch.extend(order.iter().map(|&cell| scores[cell]));
                    &self.scratch
                }
            };
            model.set(FactorId(f as u32), scores).ok()?;
        }
        Some(model)
    }

    /// `log Z` alone.
    pub(super) fn log_partition(
        &mut self,
        problem: &GraphProblem<'_>,
        item: &Item,
        w: &[f64],
    ) -> Option<f64> {
        self.model(item, w)?;
        let (model, tree) = (&self.models[item.structure], problem.tree(item));
        let answers = tree.calibrate(model, &self.evidence, &mut self.workspace).ok()?;
        Some(answers.log_partition()).filter(|log_z| log_z.is_finite())
    }

    /// Computes the marginals of the model for a graph. Returns `log Z`. One oracle call.
    pub(super) fn infer(
        &mut self,
        problem: &GraphProblem<'_>,
        item: &Item,
        w: &[f64],
    ) -> Option<f64> {
        self.model(item, w)?;
        let (model, tree) = (&self.models[item.structure], problem.tree(item));
        let answers = tree.calibrate(model, &self.evidence, &mut self.workspace).ok()?;
        let TreeMarginals { cliques, separators } = &mut self.target;
        cliques.resize(tree.cells(), 0.0);
        separators.resize(tree.separator_cells(), 0.0);
        answers.write_marginals(cliques, separators).ok()?;
        let log_z = answers.log_partition();
        margins(tree, item, cliques, &mut self.scratch, &mut self.expected)?;
        Some(log_z).filter(|log_z| log_z.is_finite())
    }

    /// Writes the marginals of a graph to its cells.
    pub(super) fn cells(
        &mut self,
        problem: &GraphProblem<'_>,
        item: &Item,
        marginals: &TreeMarginals,
        out: &mut Vec<f64>,
    ) {
        // Marginals are checked where they enter: their length is that of the tree.
        let _ = margins(problem.tree(item), item, &marginals.cliques, &mut self.scratch, out);
    }

    /// The expected score `<s, m>`, for numbers `m` on the cells of the last graph.
    pub(super) fn expected_score(&self, cells: &[f64]) -> f64 {
        lanes::dot(&self.scores, cells)
    }
}

fn margins(
    tree: &JunctionTree,
    item: &Item,
    cliques: &[f64],
    scratch: &mut Vec<f64>,
    out: &mut Vec<f64>,
) -> Option<()> {
    out.resize(item.cells, 0.0);
    let write = |factor: FactorId, margin: &[f64]| {
        let Place { cells, order, .. } = &item.places[factor.index()];
        let out = &mut out[cells.clone()];
        match order {
            None => out.copy_from_slice(margin),
            Some(order) => order.iter().zip(margin).for_each(|(&cell, p)| out[cell] = *p),
        }
    };
    tree.factor_margins(cliques, scratch, write).ok()
}
