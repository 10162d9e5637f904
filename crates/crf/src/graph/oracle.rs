//! The oracle: marginals of a graph at the current weights, by a calibration of its junction tree.

use std::ops::Range;

use fenchel_graphical::chain::{LineTerms, Probability};
use fenchel_graphical::junction_tree::Workspace;
use fenchel_graphical::{Evidence, FactorGraph, FactorId, JunctionTree};
use fenchel_linalg::{Invalid, lanes};

use super::problem::{GraphProblem, Item, Place, Structure};
use crate::Error;
use crate::likelihood::Likelihood;
use crate::terms::{Common, Marginals, Oracle, Terms};

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
}

impl Marginals for TreeMarginals {
    const ROUNDED: bool = false;

    fn entropy(&self, _: bool) -> f64 {
        TreeMarginals::entropy(self)
    }

    fn line_terms(&self, target: &Self, step: f64) -> LineTerms {
        let cliques = f64::line_terms(&self.cliques, &target.cliques, step);
        cliques.minus(f64::line_terms(&self.separators, &target.separators, step))
    }

    fn mix(&mut self, target: &Self, step: f64) {
        f64::mix(&mut self.cliques, &target.cliques, step);
        f64::mix(&mut self.separators, &target.separators, step);
    }
}

/// The memory of one thread.
pub struct Work {
    models: Vec<FactorGraph>,
    workspace: Workspace,
    evidence: Evidence,
    scratch: Vec<f64>,
    /// The weights in the rows of the graph.
    local: Vec<f64>,
    /// The scores of its cells.
    scores: Vec<f64>,
    /// Numbers on the cells.
    cells: Vec<f64>,
    /// Marginals of the cells.
    expected: Vec<f64>,
    /// The features of `cells`, on the rows of the graph.
    sums: Vec<f64>,
    marginals: TreeMarginals,
}

impl Work {
    pub(super) fn new(structures: &[Structure]) -> Self {
        Work {
            models: structures.iter().map(|structure| structure.model.clone()).collect(),
            workspace: Workspace::default(),
            evidence: Evidence::new(),
            scratch: Vec::new(),
            local: Vec::new(),
            scores: Vec::new(),
            cells: Vec::new(),
            expected: Vec::new(),
            sums: Vec::new(),
            marginals: TreeMarginals::default(),
        }
    }

    /// The factor graph of a graph at `w`; `None` if a score overflows.
    pub(super) fn model(&mut self, item: &Item, w: &[f64]) -> Option<&FactorGraph> {
        self.local.clear();
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

    /// Writes marginals to `cells`.
    fn read(&mut self, problem: &GraphProblem<'_>, item: &Item, m: &TreeMarginals) {
        // Marginals are checked where they enter: their length is that of the tree.
        let tree = problem.tree(item);
        let _ = margins(tree, item, &m.cliques, &mut self.scratch, &mut self.cells);
    }
}

impl GraphProblem<'_> {
    /// Number of bytes of the marginals that [`graph_sdca`](crate::graph::graph_sdca) stores: all cells of all junction trees.
    pub fn memory(&self) -> u64 {
        let cells = |item: &Item| {
            let tree = self.tree(item);
            (tree.cells() as u64).saturating_add(tree.separator_cells() as u64)
        };
        let total = self.items.iter().map(cells).fold(0, u64::saturating_add);
        let buffers = self.n() as u64 * size_of::<TreeMarginals>() as u64;
        total.saturating_mul(8).saturating_add(buffers)
    }

    /// The objective `P(w)`. One pass, which takes n oracle calls.
    ///
    /// # Errors
    /// [`Error::Invalid`] for weights of another length or not finite, or for an objective that overflows.
    pub fn objective(&self, w: &[f64]) -> Result<f64, Error> {
        Invalid::check_length("weights", self.weights(), w.len())?;
        Invalid::check_finite("weights", w)?;
        let value = Likelihood::new(self).value(w);
        Invalid::check_finite("objective", &[value])?;
        Ok(value)
    }
}

impl Terms for GraphProblem<'_> {
    type Work = Work;

    fn common(&self) -> &Common {
        &self.common
    }

    fn work(&self) -> Result<Work, Error> {
        Ok(Work::new(&self.structures))
    }

    fn uniform_objective(&self) -> f64 {
        let logs = |labels: &[usize]| labels.iter().map(|&k| (k as f64).ln()).sum::<f64>();
        self.data.iter().map(|(graph, _)| logs(&graph.labels)).sum::<f64>() / self.n() as f64
    }

    /// The upper bound.
    fn radius(&self, i: usize) -> f64 {
        self.radius_bound(i)
    }

    fn radius_bound(&self, i: usize) -> f64 {
        self.items[i].radius(&self.truth(i))
    }

    fn begin(&self, _: Option<&[f64]>, _: &mut Work) {}

    fn log_partition(&self, w: &[f64], work: &mut Work, i: usize) -> Option<f64> {
        let item = &self.items[i];
        work.model(item, w)?;
        let (model, tree) = (&work.models[item.structure], self.tree(item));
        let answers = tree.calibrate(model, &work.evidence, &mut work.workspace).ok()?;
        Some(answers.log_partition()).filter(|log_z| log_z.is_finite())
    }

    fn add_model(&self, w: &[f64], work: &mut Work, i: usize, counts: &mut [f64]) -> Option<f64> {
        let mut p = std::mem::take(&mut work.marginals);
        let log_z = self.infer(w, work, i, &mut p);
        work.marginals = p;
        self.items[i].sums(&work.expected, &mut work.sums);
        self.items[i].scatter(1.0, &work.sums, counts);
        log_z
    }

    fn finish(&self, _: &mut Work, _: &mut [f64]) {}

    fn features<'w>(&self, work: &'w Work) -> (&'w [f64], &'w [f64]) {
        (&work.sums, &[])
    }

    fn gather(&self, _: &Work, i: usize, w: &[f64], out: &mut Vec<f64>) {
        self.items[i].gather(w, out);
    }

    fn scatter(&self, work: &Work, i: usize, scale: f64, w: &mut [f64]) {
        self.items[i].scatter(scale, &work.sums, w);
    }

    fn dot(&self, work: &Work, i: usize, w: &[f64]) -> f64 {
        let mut sums = &work.sums[..];
        let mut total = 0.0;
        for range in self.items[i].ranges() {
            let (row, rest) = sums.split_at(range.len());
            total += lanes::dot(row, &w[range]);
            sums = rest;
        }
        total
    }

    fn ranges(&self, _: &Work, i: usize) -> impl Iterator<Item = Range<usize>> {
        self.items[i].ranges()
    }
}

impl Oracle<TreeMarginals> for GraphProblem<'_> {
    fn infer(&self, w: &[f64], work: &mut Work, i: usize, p: &mut TreeMarginals) -> Option<f64> {
        let item = &self.items[i];
        work.model(item, w)?;
        let (model, tree) = (&work.models[item.structure], self.tree(item));
        let answers = tree.calibrate(model, &work.evidence, &mut work.workspace).ok()?;
        let TreeMarginals { cliques, separators } = p;
        cliques.resize(tree.cells(), 0.0);
        separators.resize(tree.separator_cells(), 0.0);
        answers.write_marginals(cliques, separators).ok()?;
        let log_z = answers.log_partition();
        margins(tree, item, cliques, &mut work.scratch, &mut work.expected)?;
        Some(log_z).filter(|log_z| log_z.is_finite())
    }

    fn expected_score(&self, work: &mut Work, i: usize, m: &TreeMarginals) -> f64 {
        work.read(self, &self.items[i], m);
        lanes::dot(&work.scores, &work.cells)
    }

    fn direction(
        &self,
        work: &mut Work,
        i: usize,
        m: &TreeMarginals,
        _: &TreeMarginals,
    ) -> (f64, f64) {
        let item = &self.items[i];
        work.read(self, item, m);
        work.cells.iter_mut().zip(&work.expected).for_each(|(d, p)| *d = p - *d);
        item.sums(&work.cells, &mut work.sums);
        (lanes::dot(&work.scores, &work.cells), lanes::dot(&work.sums, &work.sums))
    }

    fn add_marginals(
        &self,
        work: &mut Work,
        i: usize,
        m: &TreeMarginals,
        _: bool,
        counts: &mut [f64],
    ) -> Option<()> {
        let item = &self.items[i];
        work.read(self, item, m);
        item.sums(&work.cells, &mut work.sums);
        item.scatter(1.0, &work.sums, counts);
        Some(())
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
