//! Posteriors of one model under changing evidence.

use fenchel_linalg::lanes;

use crate::{Error, Evidence, FactorGraph, VarId};

use super::calibrate::{Outcome, deliver, enter, hear, multiply_factors, send, sums};
use super::{Calibrated, Domain, JunctionTree, Scale, Workspace};
use crate::columns;
use crate::table::semiring::{Linear, Semiring};

/// The posteriors of one model under changing evidence, from [`JunctionTree::posteriors`].
///
/// The factors are multiplied once. New evidence changes the cliques where a finding is new, different or removed, and their
/// messages towards the roots; all other upward messages are reused. Marginals are then sent down in the components that
/// changed. The results agree with [`JunctionTree::calibrate`] up to rounding.
///
/// The cost is that of the cliques from the changed ones up to the roots, and two passes over the cliques of their components.
/// The memory is three times that of a [`Workspace`].
///
/// ```
/// use fenchel_graphical::{Evidence, FactorGraph, JunctionTree, OrderingOptions, VarId};
///
/// let mut model = FactorGraph::new(&[2, 2, 2])?;
/// model.add_values(&[VarId(0), VarId(1)], &[3.0, 1.0, 1.0, 3.0])?;
/// model.add_values(&[VarId(1), VarId(2)], &[3.0, 1.0, 1.0, 3.0])?;
/// let tree = JunctionTree::compile(&model, &OrderingOptions::default())?;
/// let mut posteriors = tree.posteriors(&model)?;
/// for state in 0..2 {
///     let answers = posteriors.given(&Evidence::new().observe(VarId(0), state))?;
///     assert!((answers.marginal(VarId(2))?[state] - 0.625).abs() < 1e-12);
/// }
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Posteriors<'a> {
    tree: &'a JunctionTree,
    model: &'a FactorGraph,
    /// The marginals, and scratch.
    workspace: Workspace,
    /// For every clique the product of its factors.
    products: Remembered,
    /// The product of these, the evidence and the messages of the children.
    collected: Remembered,
    /// The upward messages, and for every node the divisor of its message (for a root the sum of its table).
    messages: Remembered,
    tops: Vec<f64>,
    /// The evidence of the last call.
    evidence: Evidence,
    /// Nodes whose upward message is outdated; then so are those of all nodes above. Nodes whose marginal is outdated.
    outdated: Vec<bool>,
    moved: Vec<bool>,
}

/// Tables and their scales.
#[derive(Clone, Debug)]
struct Remembered {
    values: Vec<f64>,
    scales: Vec<Scale>,
}

impl Remembered {
    fn new(cells: usize, nodes: usize) -> Self {
        Remembered { values: vec![0.0; cells], scales: vec![Scale::default(); nodes] }
    }
}

impl JunctionTree {
    /// Multiplies the factors of a model, in preparation of changing evidence.
    ///
    /// # Errors
    /// [`Invalid`](fenchel_linalg::Invalid) for a model of another structure.
    pub fn posteriors<'a>(&'a self, model: &'a FactorGraph) -> Result<Posteriors<'a>, Error> {
        self.check_model(model)?;
        let nodes = self.nodes.len();
        let mut posteriors = Posteriors {
            tree: self,
            model,
            workspace: self.workspace(),
            products: Remembered::new(self.clique_cells, nodes),
            collected: Remembered::new(self.clique_cells, nodes),
            messages: Remembered::new(self.separator_cells, nodes),
            tops: vec![0.0; nodes],
            evidence: Evidence::new(),
            outdated: vec![true; nodes],
            moved: vec![true; nodes],
        };
        lanes::run(Multiply(&mut posteriors));
        Ok(posteriors)
    }
}

impl Posteriors<'_> {
    /// Calibrates the tree for this evidence, which replaces the previous one.
    ///
    /// # Errors
    /// [`Error::ImpossibleEvidence`]; what [`Evidence::check`] refuses. After an error the next call may use any evidence.
    pub fn given(&mut self, evidence: &Evidence) -> Result<Calibrated<'_>, Error> {
        evidence.check(&self.tree.cards)?;
        self.compare(evidence);
        self.evidence.clone_from(evidence);
        match lanes::run(Propagate(self)) {
            Outcome::Done if self.workspace.log_partition < f64::INFINITY => {}
            Outcome::Impossible => {
                return Err(self.model.check_sums().err().unwrap_or(Error::ImpossibleEvidence));
            }
            _ => {
                let Posteriors { tree, model, workspace, moved, .. } = self;
                moved.fill(true);
                sums(tree, model, evidence, workspace, Domain::Log)?;
            }
        }
        Ok(Calibrated { tree: self.tree, workspace: &self.workspace })
    }

    /// Marks the cliques where a finding changed, and all cliques above them.
    fn compare(&mut self, evidence: &Evidence) {
        let Posteriors { tree, evidence: last, outdated, moved, .. } = self;
        let mut mark = |v: VarId| {
            let mut k = tree.homes[v.index()].node;
            while !outdated[k] {
                outdated[k] = true;
                moved[k] = true;
                k = tree.nodes[k].parent;
            }
        };
        let gone = last.iter().filter(|&(v, finding)| evidence.get(v) != Some(finding));
        gone.for_each(|(v, _)| mark(v));
        let new = evidence.iter().filter(|&(v, finding)| last.get(v) != Some(finding));
        new.for_each(|(v, _)| mark(v));
    }

    /// The pass from the leaves to the roots, restricted to the changed cliques.
    #[inline(always)]
    fn collect<A: Semiring>(&mut self) -> Outcome {
        let Posteriors {
            tree,
            model,
            workspace,
            products,
            collected,
            messages,
            tops,
            evidence,
            outdated,
            ..
        } = self;
        let Remembered { values: tables, scales } = collected;
        for (k, node) in tree.nodes.iter().enumerate().filter(|(k, _)| outdated[*k]) {
            tables[node.table.clone()].copy_from_slice(&products.values[node.table.clone()]);
            scales[k] = products.scales[k];
        }
        for (v, finding) in evidence.iter() {
            let home = &tree.homes[v.index()];
            if outdated[home.node] {
                let table = &mut tables[tree.nodes[home.node].table.clone()];
                let values = &mut workspace.factor[..tree.cards[v.index()]];
                let scale = enter::<A>(finding, &home.plan, table, values, &mut workspace.ratio);
                scales[home.node].times(scale);
            }
        }
        let mut log_partition = tree.constant(model);
        for (k, node) in tree.nodes.iter().enumerate().rev() {
            let (before, rest) = tables.split_at_mut(node.table.start);
            let message = &mut messages.values[node.separator.clone()];
            if outdated[k] {
                let table = &rest[..node.table.len()];
                let (scale, top) = (scales[k], &mut tops[k]);
                match send::<A>(node, table, message, scale, top, &mut workspace.ratio, k) {
                    Ok(sent) => messages.scales[k] = sent,
                    Err(outcome) => return outcome,
                }
                outdated[k] = false;
            }
            log_partition += scales[k].log + messages.scales[k].log;
            if outdated[node.parent] {
                let parent = &mut before[tree.nodes[node.parent].table.clone()];
                deliver::<A>(node, message, parent, &mut workspace.turned);
                scales[node.parent].receive(messages.scales[k]);
            }
        }
        workspace.in_logs = false;
        workspace.log_partition = log_partition;
        if log_partition > f64::NEG_INFINITY { Outcome::Done } else { Outcome::Impossible }
    }

    /// The pass from the roots to the leaves, in the components where something changed.
    #[inline(always)]
    fn distribute<A: Semiring>(&mut self) {
        let Posteriors { tree, workspace, collected, messages, tops, moved, .. } = self;
        let Workspace { tables, separators, ratio, turned, .. } = workspace;
        for (k, node) in tree.nodes.iter().enumerate() {
            // A root moves with any of its nodes.
            moved[k] = moved[node.parent];
            if !moved[k] {
                continue;
            }
            let (before, rest) = tables.split_at_mut(node.table.start);
            let table = &mut rest[..node.table.len()];
            let product = &collected.values[node.table.clone()];
            if node.parent == k {
                table.iter_mut().zip(product).for_each(|(p, &x)| *p = A::over(x, tops[k]));
                continue;
            }
            let parent = &before[tree.nodes[node.parent].table.clone()];
            let separator = &mut separators[node.separator.clone()];
            let ratio = &mut ratio[..separator.len()];
            let sent = &messages.values[node.separator.clone()];
            hear::<A>(node, parent, sent, tops[k], separator, ratio, turned);
            columns::scale_into(product, ratio, table, A::times);
        }
        moved.fill(false);
    }
}

struct Multiply<'a, 'p>(&'p mut Posteriors<'a>);

impl lanes::Kernel for Multiply<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let Posteriors { tree, model, workspace, products, .. } = self.0;
        for (node, scale) in tree.nodes.iter().zip(&mut products.scales) {
            let table = &mut products.values[node.table.clone()];
            *scale = multiply_factors::<Linear>(tree, model, node, table, &mut workspace.factor);
        }
    }
}

struct Propagate<'a, 'p>(&'p mut Posteriors<'a>);

impl lanes::Kernel for Propagate<'_, '_> {
    type Output = Outcome;

    #[inline(always)]
    fn compute(self) -> Outcome {
        let outcome = self.0.collect::<Linear>();
        if let Outcome::Done = outcome {
            self.0.distribute::<Linear>();
        }
        outcome
    }
}
