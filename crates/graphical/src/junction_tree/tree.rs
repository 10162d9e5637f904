//! The compiled structure and the memory of a calibration.

use serde::{Deserialize, Serialize};

use crate::stride::Plan;
use crate::{Error, Evidence, FactorGraph, FactorId, VarId};

/// The numbers in which messages are computed; see the module.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Domain {
    /// Scaled if this is proved to be accurate, otherwise logarithms.
    #[default]
    Auto,
    /// Probabilities with scales; marginals below about 1e-300 are 0. If underflow could have cost more than `1e-20` of the
    /// total, the calibration falls back to logarithms here too.
    Scaled,
    /// Logarithms.
    Log,
}

/// A compiled structure: see the module.
///
/// ```
/// use fenchel_graphical::{Evidence, FactorGraph, JunctionTree, OrderingOptions, VarId};
///
/// let mut model = FactorGraph::new(&[2, 2, 2])?;
/// model.add_values(&[VarId(0), VarId(1)], &[3.0, 1.0, 1.0, 3.0])?;
/// model.add_values(&[VarId(1), VarId(2)], &[3.0, 1.0, 1.0, 3.0])?;
/// let tree = JunctionTree::compile(&model, &OrderingOptions::default())?;
/// let mut workspace = tree.workspace();
/// let answers = tree.calibrate(&model, &Evidence::new(), &mut workspace)?;
/// assert!((answers.log_partition() - 32.0_f64.ln()).abs() < 1e-12);
/// let answers = tree.calibrate(&model, &Evidence::new().observe(VarId(0), 1), &mut workspace)?;
/// assert!((answers.marginal(VarId(2))?[1] - 0.625).abs() < 1e-12);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct JunctionTree {
    pub(super) cards: Vec<usize>,
    /// Parents before children.
    pub(super) nodes: Vec<Node>,
    /// The factors of every node, in the order of the nodes.
    pub(super) placed: Vec<Placed>,
    /// The scopes for which the tree was compiled.
    pub(super) scopes: Vec<Vec<VarId>>,
    /// Factors of no variables.
    pub(super) constants: Vec<FactorId>,
    /// The tables where the evidence about a variable is multiplied in, and where its marginal is read.
    pub(super) homes: Vec<Home>,
    pub(super) readings: Vec<Reading>,
    /// Cells of all cliques, of all separators, of the largest separator or variable, of the largest factor or variable.
    pub(super) clique_cells: usize,
    pub(super) separator_cells: usize,
    pub(super) scratch: usize,
    pub(super) largest_factor: usize,
}

/// A variable and its number of states.
pub(super) type Dimension = (VarId, usize);

#[derive(Clone, Debug)]
pub(super) struct Node {
    /// The clique, first eliminated first: the separator is a suffix.
    pub(super) scope: Vec<Dimension>,
    /// The number of variables in the separator with the parent.
    pub(super) shared: usize,
    /// Itself for a root.
    pub(super) parent: usize,
    /// Ranges of cells in the arrays of all cliques and of all separators.
    pub(super) table: std::ops::Range<usize>,
    pub(super) separator: std::ops::Range<usize>,
    /// The layout of the separator, in the order of the parent's variables, in the parent's table.
    pub(super) in_parent: Plan,
    /// The permutation between that order and the order here; `None` if they are the same.
    pub(super) turn: Option<Turn>,
    /// The node's part of `placed`.
    pub(super) factors: std::ops::Range<usize>,
}

/// The permutations between the order of a separator in its clique and in the parent.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    pub(super) up: Plan,
    pub(super) down: Plan,
}

impl Node {
    /// The variables that the parent does not have, and the separator.
    pub(super) fn parts(&self) -> (&[Dimension], &[Dimension]) {
        self.scope.split_at(self.scope.len() - self.shared)
    }

    /// The column of a configuration's separator, and the number of columns.
    pub(super) fn column(&self, states: &[usize]) -> (usize, usize) {
        let separator = self.parts().1.iter();
        separator.fold((0, 1), |(at, n), (v, card)| (at * card + states[v.index()], n * card))
    }

    /// Writes the states of a row.
    pub(super) fn set(&self, mut row: usize, states: &mut [usize]) {
        for &(v, card) in self.parts().0.iter().rev() {
            states[v.index()] = row % card;
            row /= card;
        }
    }
}

/// A factor in its clique.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) factor: FactorId,
    pub(super) plan: Plan,
}

#[derive(Clone, Debug)]
pub(super) struct Home {
    pub(super) node: usize,
    pub(super) plan: Plan,
}

#[derive(Clone, Debug)]
pub(super) struct Reading {
    pub(super) of_separator: bool,
    pub(super) cells: std::ops::Range<usize>,
    pub(super) plan: Plan,
}

/// The memory of one calibration. It is reused, by one thread at a time.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    pub(super) tables: Vec<f64>,
    /// Upward messages, later the marginals of the separators.
    pub(super) up: Vec<f64>,
    pub(super) separators: Vec<f64>,
    /// Working memory of the size of the largest separator or variable (twice) and of the largest factor or variable.
    pub(super) ratio: Vec<f64>,
    pub(super) turned: Vec<f64>,
    pub(super) factor: Vec<f64>,
    /// For every node, the divisor of its upward message and the scale of its table.
    pub(super) tops: Vec<f64>,
    pub(super) scales: Vec<Scale>,
    pub(super) log_partition: f64,
    pub(super) in_logs: bool,
}

/// Bookkeeping of a scaled table or message.
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Scale {
    /// The logarithm of its divisor.
    pub(super) log: f64,
    /// A lower bound of the logarithm of its least nonzero entry, relative to its largest.
    pub(super) low: f64,
    /// A bound of what underflow may have lost in an entry.
    pub(super) lost: f64,
}

impl Scale {
    /// After multiplying with something.
    #[inline(always)]
    pub(super) fn times(&mut self, other: Scale) {
        self.log += other.log;
        self.low += other.low;
    }

    /// Updates the scale after a multiplication by a message. The `log` of the message is counted where it was sent.
    #[inline(always)]
    pub(super) fn receive(&mut self, message: Scale) {
        self.low += message.low;
        self.lost += message.lost;
    }
}

impl JunctionTree {
    /// Memory for calibrations. All of it is allocated here.
    pub fn workspace(&self) -> Workspace {
        let mut workspace = Workspace::default();
        self.shape(&mut workspace);
        workspace
    }

    /// Gives a workspace the shape of this tree. Memory is allocated only to grow.
    pub(super) fn shape(&self, workspace: &mut Workspace) {
        workspace.tables.resize(self.clique_cells, 0.0);
        workspace.up.resize(self.separator_cells, 0.0);
        workspace.separators.resize(self.separator_cells, 0.0);
        workspace.ratio.resize(self.scratch, 0.0);
        workspace.turned.resize(self.scratch, 0.0);
        workspace.factor.resize(self.largest_factor, 0.0);
        workspace.tops.resize(self.nodes.len(), 0.0);
        workspace.scales.resize(self.nodes.len(), Scale::default());
    }

    /// The variables of each clique in the order of its table. Parents come before children.
    pub fn cliques(&self) -> impl ExactSizeIterator<Item = Vec<VarId>> {
        self.nodes.iter().map(|node| node.scope.iter().map(|s| s.0).collect())
    }

    /// For every clique, its separator with the parent (empty for a root) and the number of the parent (its own for a root).
    pub fn separators(&self) -> impl ExactSizeIterator<Item = (Vec<VarId>, usize)> {
        self.nodes.iter().map(|node| (node.parts().1.iter().map(|s| s.0).collect(), node.parent))
    }

    /// The number of cells of all cliques.
    pub fn cells(&self) -> usize {
        self.clique_cells
    }

    /// The number of cells of all separators.
    pub fn separator_cells(&self) -> usize {
        self.separator_cells
    }

    /// The size of the largest clique minus 1.
    pub fn width(&self) -> usize {
        self.nodes
            .iter()
            .map(|node| node.scope.len())
            .max()
            .map_or(0, |size| size.saturating_sub(1))
    }

    /// Whether the tree was compiled for these cardinalities and scopes.
    pub fn fits(&self, model: &FactorGraph) -> bool {
        model.cards() == self.cards
            && model.factors().len() == self.scopes.len()
            && model.factors().iter().zip(&self.scopes).all(|(f, scope)| f.scope() == scope)
    }

    pub(super) fn check_model(&self, model: &FactorGraph) -> Result<(), Error> {
        if self.fits(model) {
            return Ok(());
        }
        let reason = "its cardinalities or scopes are not those that the tree was compiled for";
        Err(fenchel_linalg::Invalid::Layout { what: "model", reason: reason.into() }.into())
    }

    /// The sum of the factors of no variables.
    pub(super) fn constant(&self, model: &FactorGraph) -> f64 {
        self.constants.iter().map(|f| model.factors()[f.index()].log_values()[0]).sum()
    }

    pub(super) fn prepare(
        &self,
        model: &FactorGraph,
        evidence: &Evidence,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        self.check_model(model)?;
        evidence.check(&self.cards)?;
        self.shape(workspace);
        Ok(())
    }
}
