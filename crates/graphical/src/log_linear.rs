//! Exponential families on factor graphs.
//!
//! ```text
//! P(x; theta) = exp(<theta, T(x)> - A(theta)),   T(x) = (T_1(x_C1), T_2(x_C2), ...)
//! grad A(theta) = E_theta T
//! ```
//!
//! This is the family of R. Le Priol, PhD thesis 2021, equations 2.34 and 2.35. (There the exponent is printed with `E[T(x)]`
//! in place of `T(x)`.) A block is a clique with a few statistics, each a table over the clique. Blocks may share parameters,
//! as the positions of a chain do.

use fenchel_linalg::{Invalid, lanes};
use fenchel_optim::MAX_MEMORY;

use crate::junction_tree::Calibrated;
use crate::table::size_of;
use crate::{Error, FactorGraph, FactorId, VarId};

/// Statistics of one clique.
#[derive(Clone, Debug, PartialEq)]
struct Block {
    /// The parameter of every statistic.
    parameters: Vec<usize>,
    /// The statistics one after the other, each as a table in the order of the sorted scope.
    statistics: Vec<f64>,
    cells: usize,
}

/// A log-linear model; see the module.
///
/// ```
/// use fenchel_graphical::{Evidence, JunctionTree, LogLinear, OrderingOptions, VarId};
///
/// // Two binary variables that like to agree, with one parameter.
/// let mut family = LogLinear::new(&[2, 2], 1)?;
/// family.add(&[VarId(0), VarId(1)], &[0], &[1.0, 0.0, 0.0, 1.0])?;
/// let model = family.model(&[2.0])?;
/// let tree = JunctionTree::compile(&model, &OrderingOptions::default())?;
/// let mut workspace = tree.workspace();
/// let mean = family.expectation(&tree.calibrate(&model, &Evidence::new(), &mut workspace)?)?;
/// assert!((mean[0] - 1.0 / (1.0 + (-2.0_f64).exp())).abs() < 1e-12);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LogLinear {
    /// The factor graph with all parameters 0.
    structure: FactorGraph,
    blocks: Vec<Block>,
    dimension: usize,
}

impl LogLinear {
    /// A model with `dimension` parameters and no statistics.
    ///
    /// # Errors
    /// As [`FactorGraph::new`].
    pub fn new(cards: &[usize], dimension: usize) -> Result<Self, Error> {
        Ok(LogLinear { structure: FactorGraph::new(cards)?, blocks: Vec::new(), dimension })
    }

    /// Adds statistics of a clique. `statistics` holds one table over the *sorted* scope per entry of `parameters`, one after
    /// the other.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a parameter that does not exist, [`Invalid::Length`], [`Invalid::NonFinite`], and what
    /// [`FactorGraph::add`] refuses.
    pub fn add(
        &mut self,
        scope: &[VarId],
        parameters: &[usize],
        statistics: &[f64],
    ) -> Result<FactorId, Error> {
        let cells = size_of(&self.structure.cards_of(scope)?, MAX_MEMORY)?;
        Invalid::check_length(
            "statistics",
            cells.saturating_mul(parameters.len()),
            statistics.len(),
        )?;
        Invalid::check_finite("statistics", statistics)?;
        if let Some(&outside) = parameters.iter().find(|&&p| p >= self.dimension) {
            let value = outside as f64;
            let expected = "a number below the dimension";
            return Err(Invalid::Parameter { name: "parameter", value, expected }.into());
        }
        let id = self.structure.add(scope, &vec![0.0; cells])?;
        let (parameters, statistics) = (parameters.to_vec(), statistics.to_vec());
        self.blocks.push(Block { parameters, statistics, cells });
        Ok(id)
    }

    /// The number of parameters.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The factor graph for given parameters.
    ///
    /// # Errors
    /// As [`potentials`](Self::potentials).
    pub fn model(&self, theta: &[f64]) -> Result<FactorGraph, Error> {
        let mut model = self.structure.clone();
        self.potentials(theta, &mut model)?;
        Ok(model)
    }

    /// Writes the log-potentials `<theta, T_C(x_C)>` to the factors of a model that [`model`](Self::model) made.
    ///
    /// # Errors
    /// [`Invalid::Length`], [`Invalid::NonFinite`] for `theta`; [`Invalid::Length`] for another model;
    /// [`Error::Potential`] for a score that overflows.
    pub fn potentials(&self, theta: &[f64], model: &mut FactorGraph) -> Result<(), Error> {
        self.check(theta)?;
        Invalid::check_length("factors", self.blocks.len(), model.factors().len())?;
        let mut scores = Vec::new();
        for (f, block) in self.blocks.iter().enumerate() {
            scores.clear();
            scores.resize(block.cells, 0.0);
            for (&p, table) in block.parameters.iter().zip(block.statistics.chunks(block.cells)) {
                scores.iter_mut().zip(table).for_each(|(s, t)| *s += theta[p] * t);
            }
            model.set(FactorId(f as u32), &scores)?;
        }
        Ok(())
    }

    /// The expected statistics `E_theta T = grad A(theta)`, from a calibration of the model.
    ///
    /// # Errors
    /// [`Invalid::Length`], [`Invalid::Parameter`] for a calibration of another model.
    pub fn expectation(&self, answers: &Calibrated<'_>) -> Result<Vec<f64>, Error> {
        let mut mean = vec![0.0; self.dimension];
        for (f, block) in self.blocks.iter().enumerate() {
            let marginal = answers.factor_marginal(FactorId(f as u32))?.values();
            Invalid::check_length("marginal", block.cells, marginal.len())?;
            for (&p, table) in block.parameters.iter().zip(block.statistics.chunks(block.cells)) {
                mean[p] += lanes::dot(&marginal, table);
            }
        }
        Ok(mean)
    }

    /// `T(x)`.
    ///
    /// # Errors
    /// [`Invalid::Length`], [`Error::State`].
    pub fn statistics(&self, configuration: &[usize]) -> Result<Vec<f64>, Error> {
        self.structure.log_score(configuration)?;
        let mut sum = vec![0.0; self.dimension];
        for (block, factor) in self.blocks.iter().zip(self.structure.factors()) {
            let dimensions = factor.dimensions();
            let cell = dimensions.iter().fold(0, |at, (v, c)| at * c + configuration[v.index()]);
            for (&p, table) in block.parameters.iter().zip(block.statistics.chunks(block.cells)) {
                sum[p] += table[cell];
            }
        }
        Ok(sum)
    }

    fn check(&self, theta: &[f64]) -> Result<(), Error> {
        Invalid::check_length("theta", self.dimension, theta.len())?;
        Ok(Invalid::check_finite("theta", theta)?)
    }
}
