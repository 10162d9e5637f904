//! Junction trees: exact inference on a tree of cliques.
//!
//! ```text
//! P(x) = prod_C mu_C(x_C) / prod_S mu_S(x_S)
//! ```
//!
//! | symbol | in the code |
//! |---|---|
//! | cliques `C` | nodes; a parent has a smaller number than its children |
//! | separators `S = C ∩ parent(C)` | one per node other than a root |
//! | messages `m_{C->S}` | upwards: the sum of the clique's table over `C \ S`; downwards: the marginal of the separator |
//!
//! A [`JunctionTree`] is compiled once for a structure (cardinalities and scopes). It is immutable and can be shared between
//! threads. A [`Workspace`] owns all numbers. [`JunctionTree::calibrate`] takes any model of that structure and any evidence,
//! allocates nothing, and returns a [`Calibrated`] tree for queries. [`JunctionTree::calibrate_max`] does the same for maxima,
//! up to the [k best configurations](MaxCalibrated::ranking). A graph of several components gives a forest.
//! [`JunctionTree::posteriors`] is for one model with changing evidence: it reuses the messages that do not change. A
//! [`TreeCache`] stores the trees of many models with few structures.
//!
//! **Numbers.** In [`Domain::Scaled`] tables hold probabilities up to a factor. Every message is divided by its maximum, and
//! the logarithms of these maxima are added up. The calibration then needs only multiplications and additions, and one `exp`
//! per cell of a factor. In [`Domain::Log`] tables hold logarithms of probabilities. This is two to three times slower, and
//! correct for scores of any size. [`Domain::Auto`] starts with [`Domain::Scaled`]. Small products may underflow to zero, so
//! the calibration also computes an upper bound of the probability that underflow has removed. If this bound exceeds `1e-20`
//! of the total, the calibration is repeated with logarithms. If the total is zero, the calibration reports that the evidence
//! is impossible, but only if no product can have underflowed. Otherwise it is repeated with logarithms, too.
//!
//! **Layout.** In all tables, variables that are eliminated early come first. So the separator is a suffix of its clique, and
//! an upward message is a sum of rows. The order within the separator, and within the other variables, is chosen so that
//! messages from the children run over contiguous memory.
//!
//! A calibration makes four passes over the table of every clique, `O(sum_C |Y_C|)` with `|Y_C|` the number of cells (R. Le
//! Priol, PhD thesis 2021, appendix 3.A.3). The memory is that of the clique tables and of twice the separator tables, at 8
//! bytes per cell.
//!
//! Sources: R. Le Priol, PhD thesis 2021, section 3.3.2 and equation 3.19; Lauritzen and Spiegelhalter (1988); Jensen,
//! Lauritzen and Olesen (1990) for the absorption of messages.

mod cache;
mod calibrate;
mod compile;
mod marginals;
mod maximum;
mod posteriors;
mod queries;
mod ranking;
mod sample;

use fenchel_optim::MAX_MEMORY;
use serde::{Deserialize, Serialize};

use crate::elimination::{along, search};
use crate::stride::Plan;
use crate::{Error, Evidence, FactorGraph, FactorId, OrderingOptions, VarId};

use calibrate::Scale;

pub use cache::TreeCache;
pub use marginals::{CliqueMarginals, LineDerivatives};
pub use maximum::MaxCalibrated;
pub use posteriors::Posteriors;
pub use queries::Calibrated;
pub use ranking::Ranking;
pub use sample::Sampler;

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
    cards: Vec<usize>,
    /// Parents before children.
    nodes: Vec<Node>,
    /// The factors of every node, in the order of the nodes.
    placed: Vec<Placed>,
    /// The scopes for which the tree was compiled.
    scopes: Vec<Vec<VarId>>,
    /// Factors of no variables.
    constants: Vec<FactorId>,
    /// The tables where the evidence about a variable is multiplied in, and where its marginal is read.
    homes: Vec<Home>,
    readings: Vec<Reading>,
    /// Cells of all cliques, of all separators, of the largest separator or variable, of the largest factor or variable.
    clique_cells: usize,
    separator_cells: usize,
    scratch: usize,
    largest_factor: usize,
}

/// A variable and its number of states.
type Dimension = (VarId, usize);

#[derive(Clone, Debug)]
struct Node {
    /// The clique, first eliminated first: the separator is a suffix.
    scope: Vec<Dimension>,
    /// The number of variables in the separator with the parent.
    shared: usize,
    /// Itself for a root.
    parent: usize,
    /// Ranges of cells in the arrays of all cliques and of all separators.
    table: std::ops::Range<usize>,
    separator: std::ops::Range<usize>,
    /// The layout of the separator, in the order of the parent's variables, in the parent's table.
    in_parent: Plan,
    /// The permutation between that order and the order here; `None` if they are the same.
    turn: Option<Turn>,
    /// The node's part of `placed`.
    factors: std::ops::Range<usize>,
}

/// The permutations between the order of a separator in its clique and in the parent.
#[derive(Clone, Debug)]
struct Turn {
    up: Plan,
    down: Plan,
}

impl Node {
    /// The variables that the parent does not have, and the separator.
    fn parts(&self) -> (&[Dimension], &[Dimension]) {
        self.scope.split_at(self.scope.len() - self.shared)
    }

    /// The column of a configuration's separator, and the number of columns.
    fn column(&self, states: &[usize]) -> (usize, usize) {
        let separator = self.parts().1.iter();
        separator.fold((0, 1), |(at, n), (v, card)| (at * card + states[v.index()], n * card))
    }

    /// Writes the states of a row.
    fn set(&self, mut row: usize, states: &mut [usize]) {
        for &(v, card) in self.parts().0.iter().rev() {
            states[v.index()] = row % card;
            row /= card;
        }
    }
}

/// A factor in its clique.
#[derive(Clone, Debug)]
struct Placed {
    factor: FactorId,
    plan: Plan,
}

#[derive(Clone, Debug)]
struct Home {
    node: usize,
    plan: Plan,
}

#[derive(Clone, Debug)]
struct Reading {
    of_separator: bool,
    cells: std::ops::Range<usize>,
    plan: Plan,
}

/// The memory of one calibration. It is reused, by one thread at a time.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    tables: Vec<f64>,
    /// Upward messages, later the marginals of the separators.
    up: Vec<f64>,
    separators: Vec<f64>,
    /// Working memory of the size of the largest separator or variable (twice) and of the largest factor or variable.
    ratio: Vec<f64>,
    turned: Vec<f64>,
    factor: Vec<f64>,
    /// For every node, the divisor of its upward message and the scale of its table.
    tops: Vec<f64>,
    scales: Vec<Scale>,
    log_partition: f64,
    in_logs: bool,
}

impl JunctionTree {
    /// Searches for an elimination order and compiles the tree.
    ///
    /// # Errors
    /// [`Error::Refused`] if the tables need more than `options.max_memory`; nothing has been allocated then.
    /// [`Invalid`](fenchel_linalg::Invalid) for zero restarts.
    pub fn compile(model: &FactorGraph, options: &OrderingOptions) -> Result<Self, Error> {
        compile::compile(model, &search(model, options)?, options.max_memory)
    }

    /// Compiles the tree of a given elimination order.
    ///
    /// # Errors
    /// [`Error::Refused`] beyond `max_memory` bytes (`None` for no limit), and what [`evaluate_order`](crate::elimination::evaluate_order) refuses.
    pub fn with_order(
        model: &FactorGraph,
        order: &[VarId],
        max_memory: Option<u64>,
    ) -> Result<Self, Error> {
        compile::compile(model, &along(model, order)?, max_memory)
    }

    /// Compiles a forest in O(n). No factor may have more than two variables, and the edges may form no cycle. Inference takes
    /// two passes over the edges.
    ///
    /// # Errors
    /// [`Error::NotATree`]; [`Error::Refused`] beyond [`MAX_MEMORY`].
    pub fn of_tree(model: &FactorGraph) -> Result<Self, Error> {
        JunctionTree::with_order(model, &compile::leaves_first(model)?, MAX_MEMORY)
    }

    /// Memory for calibrations. All of it is allocated here.
    pub fn workspace(&self) -> Workspace {
        let mut workspace = Workspace::default();
        self.shape(&mut workspace);
        workspace
    }

    /// Gives a workspace the shape of this tree. Memory is allocated only to grow.
    fn shape(&self, workspace: &mut Workspace) {
        workspace.tables.resize(self.clique_cells, 0.0);
        workspace.up.resize(self.separator_cells, 0.0);
        workspace.separators.resize(self.separator_cells, 0.0);
        workspace.ratio.resize(self.scratch, 0.0);
        workspace.turned.resize(self.scratch, 0.0);
        workspace.factor.resize(self.largest_factor, 0.0);
        workspace.tops.resize(self.nodes.len(), 0.0);
        workspace.scales.resize(self.nodes.len(), Scale::default());
    }

    /// Calibrates for sums: log Z and all marginals given evidence.
    ///
    /// # Errors
    /// [`Error::ImpossibleEvidence`]; what [`Evidence::check`] refuses; [`Invalid`](fenchel_linalg::Invalid) for a model of
    /// another structure; [`Error::Potential`] where a sum of log-potentials may exceed 1e300 and overflows. A workspace of
    /// another tree is reshaped for this one.
    pub fn calibrate<'a>(
        &'a self,
        model: &FactorGraph,
        evidence: &Evidence,
        workspace: &'a mut Workspace,
    ) -> Result<Calibrated<'a>, Error> {
        self.calibrate_in(model, evidence, workspace, Domain::Auto)
    }

    /// As [`calibrate`](Self::calibrate), in the given domain.
    ///
    /// # Errors
    /// As [`calibrate`](Self::calibrate).
    pub fn calibrate_in<'a>(
        &'a self,
        model: &FactorGraph,
        evidence: &Evidence,
        workspace: &'a mut Workspace,
        domain: Domain,
    ) -> Result<Calibrated<'a>, Error> {
        self.prepare(model, evidence, workspace)?;
        calibrate::sums(self, model, evidence, workspace, domain)?;
        Ok(Calibrated { tree: self, workspace })
    }

    /// Calibrates for maxima: the most probable configuration and max-marginals given evidence. It always works in logarithms,
    /// where a maximum needs no `exp`.
    ///
    /// # Errors
    /// As [`calibrate`](Self::calibrate).
    pub fn calibrate_max<'a>(
        &'a self,
        model: &FactorGraph,
        evidence: &Evidence,
        workspace: &'a mut Workspace,
    ) -> Result<MaxCalibrated<'a>, Error> {
        self.prepare(model, evidence, workspace)?;
        calibrate::maxima(self, model, evidence, workspace)?;
        Ok(MaxCalibrated { tree: self, workspace })
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

    fn check_model(&self, model: &FactorGraph) -> Result<(), Error> {
        if self.fits(model) {
            return Ok(());
        }
        let reason = "its cardinalities or scopes are not those that the tree was compiled for";
        Err(fenchel_linalg::Invalid::Layout { what: "model", reason: reason.into() }.into())
    }

    /// The sum of the factors of no variables.
    fn constant(&self, model: &FactorGraph) -> f64 {
        self.constants.iter().map(|f| model.factors()[f.index()].log_values()[0]).sum()
    }

    fn prepare(
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
