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
//! per cell of a factor. In [`Domain::Log`] tables hold logarithms of probabilities. This is several times slower, and holds
//! for scores of any size, up to their rounding. [`Domain::Auto`] starts with [`Domain::Scaled`]. Small products may underflow to zero, so
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
mod tree;

use fenchel_optim::MAX_MEMORY;

use crate::elimination::{along, search};
use crate::{Error, Evidence, FactorGraph, OrderingOptions, VarId};

pub use cache::TreeCache;
pub use marginals::{CliqueMarginals, LineDerivatives};
pub use maximum::MaxCalibrated;
pub use posteriors::Posteriors;
pub use queries::Calibrated;
pub use ranking::Ranking;
pub use sample::Sampler;
use tree::{Dimension, Home, Node, Placed, Reading, Scale, Turn};
pub use tree::{Domain, JunctionTree, Workspace};

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
}
