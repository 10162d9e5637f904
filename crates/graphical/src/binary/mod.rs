//! Binary pairwise models, and Gibbs sampling of many parallel chains.
//!
//! ```text
//! P(x) = exp( sum_i theta_ii x_i + sum_{i<j} theta_ij x_i x_j ) / Z,    x in {0,1}^p
//! ```
//!
//! [`BinaryPairwise`] is the model. [`BinaryGibbs`] samples from it with one bit per variable and chain, and updates 64 to 512
//! chains at a time. [`crate::influence`] bounds the distance of the samples' distribution from the model.

mod blocks;
mod gibbs;
mod update;
mod xoshiro;

pub use blocks::BinaryStart;
pub use fenchel_optim::random::Order;
pub use gibbs::BinaryGibbs;

use fenchel_linalg::Invalid;
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::{Error, FactorGraph, VarId};

/// A binary pairwise Markov random field over `{0,1}^p`: an Ising model with states 0 and 1 instead of -1 and +1.
///
/// | symbol | meaning |
/// |---|---|
/// | `theta_ii` | bias of a variable, the logit of `x_i = 1` when all neighbours are 0 |
/// | `theta_ij`, `i < j` | coupling of two variables; 0 means no edge |
///
/// Couplings are stored in sorted lists of neighbours, in both directions. O(p + edges) memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Lists")]
pub struct BinaryPairwise {
    bias: Vec<f64>,
    /// The neighbours of `i` are entries `starts[i]..starts[i + 1]`.
    starts: Vec<usize>,
    neighbours: Vec<u32>,
    couplings: Vec<f64>,
}

/// A [`BinaryPairwise`] as a file holds it, before it is checked.
#[derive(Deserialize)]
struct Lists {
    bias: Vec<f64>,
    starts: Vec<usize>,
    neighbours: Vec<u32>,
    couplings: Vec<f64>,
}

impl TryFrom<Lists> for BinaryPairwise {
    type Error = Error;

    /// Builds the model again from one direction of its edges. The lists must be those of the result.
    fn try_from(lists: Lists) -> Result<Self, Error> {
        let Lists { bias, starts, neighbours, couplings } = lists;
        let layout =
            |reason: &str| Error::from(Invalid::Layout { what: "edges", reason: reason.into() });
        let ends = (starts.first().copied(), starts.last().copied());
        if starts.len() != bias.len() + 1
            || couplings.len() != neighbours.len()
            || ends != (Some(0), Some(neighbours.len()))
            || !starts.is_sorted()
        {
            return Err(layout("the lists have lengths that do not fit each other"));
        }
        let mut edges = Vec::new();
        for (i, range) in starts.windows(2).enumerate() {
            for k in range[0]..range[1] {
                if i < neighbours[k] as usize {
                    edges.push((i as u32, neighbours[k], couplings[k]));
                }
            }
        }
        let model = BinaryPairwise::new(&bias, &edges)?;
        if model.starts != starts || model.neighbours != neighbours || model.couplings != couplings
        {
            return Err(layout(
                "expected sorted neighbours, and every edge in both directions with one coupling that is not 0",
            ));
        }
        Ok(model)
    }
}

impl BinaryPairwise {
    /// A model from its biases and a list of edges `(i, j, theta_ij)` in any order and direction. Couplings that are exactly 0
    /// are left out.
    ///
    /// # Errors
    /// [`Invalid::Empty`] without variables, [`Invalid::NonFinite`], [`Invalid::Layout`] for an edge from a variable to itself,
    /// to one that does not exist, or given twice.
    pub fn new(bias: &[f64], edges: &[(u32, u32, f64)]) -> Result<Self, Error> {
        let p = bias.len();
        if p == 0 {
            return Err(Invalid::Empty { what: "bias" }.into());
        }
        if u32::try_from(p).is_err() {
            let expected = "fewer than 2^32 variables";
            return Err(Invalid::Parameter { name: "bias", value: p as f64, expected }.into());
        }
        Invalid::check_finite("bias", bias)?;
        let layout = |reason: String| Error::from(Invalid::Layout { what: "edges", reason });
        let mut both = Vec::with_capacity(2 * edges.len());
        for (row, &(i, j, coupling)) in edges.iter().enumerate() {
            if i == j || i as usize >= p || j as usize >= p {
                return Err(layout(format!(
                    "edge {row} joins {i} and {j}; expected two different variables below {p}"
                )));
            }
            if !coupling.is_finite() {
                return Err(
                    Invalid::NonFinite { what: "edges", row, column: 2, value: coupling }.into()
                );
            }
            both.push((i, j, coupling));
            both.push((j, i, coupling));
        }
        both.sort_unstable_by_key(|&(i, j, _)| (i, j));
        if let Some(pair) =
            both.windows(2).find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1))
        {
            return Err(layout(format!(
                "the edge between {} and {} is given twice",
                pair[0].0, pair[0].1
            )));
        }
        both.retain(|&(_, _, coupling)| coupling != 0.0);
        let mut starts = vec![0; p + 1];
        for &(i, _, _) in &both {
            starts[i as usize + 1] += 1;
        }
        for i in 0..p {
            starts[i + 1] += starts[i];
        }
        Ok(BinaryPairwise {
            bias: bias.to_vec(),
            starts,
            neighbours: both.iter().map(|edge| edge.1).collect(),
            couplings: both.iter().map(|edge| edge.2).collect(),
        })
    }

    /// A model from its parameter matrix, with biases on the diagonal and couplings above it. Entries below the diagonal are
    /// ignored.
    ///
    /// # Errors
    /// [`Invalid::Layout`] unless the matrix is square; as [`new`](Self::new).
    pub fn from_matrix(theta: ArrayView2<f64>) -> Result<Self, Error> {
        let p = theta.nrows();
        if p != theta.ncols() {
            let reason = format!("{p} x {}; expected a square matrix", theta.ncols());
            return Err(Invalid::Layout { what: "theta", reason }.into());
        }
        let bias: Vec<f64> = (0..p).map(|i| theta[[i, i]]).collect();
        let mut edges = Vec::new();
        for i in 0..p {
            for j in i + 1..p {
                if theta[[i, j]] != 0.0 {
                    edges.push((i as u32, j as u32, theta[[i, j]]));
                }
            }
        }
        BinaryPairwise::new(&bias, &edges)
    }

    /// Converts a model of spins `s = 2x - 1` in `{-1,+1}^p` with `P(s) ~ exp(sum h_i s_i + sum J_ij s_i s_j)`. Returns the
    /// model, and the constant `c` in `log Z_spins = log Z - c`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn from_spins(fields: &[f64], couplings: &[(u32, u32, f64)]) -> Result<(Self, f64), Error> {
        let edges: Vec<_> =
            couplings.iter().map(|&(i, j, coupling)| (i, j, 4.0 * coupling)).collect();
        let mut model = BinaryPairwise::new(fields, &edges)?;
        for i in 0..fields.len() {
            let total: f64 = model.edges_of(i).map(|(_, coupling)| coupling).sum();
            model.bias[i] = 2.0 * fields[i] - 0.5 * total;
        }
        let constant =
            fields.iter().sum::<f64>() - couplings.iter().map(|edge| edge.2).sum::<f64>();
        Ok((model, constant))
    }

    /// Converts to spins `s = 2x - 1`. Returns the fields `h`, the couplings `(i, j, J_ij)` with `i < j`, and the constant `c`
    /// in `log Z_spins = log Z - c`.
    pub fn to_spins(&self) -> (Vec<f64>, Vec<(u32, u32, f64)>, f64) {
        let field =
            |i: usize| 0.5 * self.bias[i] + 0.25 * self.edges_of(i).map(|(_, c)| c).sum::<f64>();
        let fields: Vec<f64> = (0..self.variables()).map(field).collect();
        let couplings: Vec<_> =
            self.edges().map(|(i, j, coupling)| (i, j, 0.25 * coupling)).collect();
        let constant =
            0.5 * self.bias.iter().sum::<f64>() + couplings.iter().map(|edge| edge.2).sum::<f64>();
        (fields, couplings, constant)
    }

    /// Number of variables, `p`.
    pub fn variables(&self) -> usize {
        self.bias.len()
    }

    /// The biases `theta_ii`.
    pub fn bias(&self) -> &[f64] {
        &self.bias
    }

    /// The edges `(i, j, theta_ij)` with `i < j`, sorted.
    pub fn edges(&self) -> impl Iterator<Item = (u32, u32, f64)> {
        (0..self.variables()).flat_map(move |i| {
            self.edges_of(i)
                .filter(move |&(j, _)| i < j as usize)
                .map(move |(j, c)| (i as u32, j, c))
        })
    }

    /// Number of edges.
    pub fn edge_count(&self) -> usize {
        self.neighbours.len() / 2
    }

    /// The neighbours of a variable with their couplings, sorted.
    ///
    /// # Panics
    /// If there is no such variable.
    pub fn edges_of(&self, i: usize) -> impl ExactSizeIterator<Item = (u32, f64)> {
        let range = self.starts[i]..self.starts[i + 1];
        self.neighbours[range.clone()].iter().copied().zip(self.couplings[range].iter().copied())
    }

    /// Number of neighbours of a variable.
    ///
    /// # Panics
    /// If there is no such variable.
    pub fn degree(&self, i: usize) -> usize {
        self.starts[i + 1] - self.starts[i]
    }

    /// The largest number of neighbours.
    pub fn largest_degree(&self) -> usize {
        (0..self.variables()).map(|i| self.degree(i)).max().unwrap_or(0)
    }

    /// The logit of `x_i = 1` given the other variables, `theta_ii + sum_j theta_ij x_j`.
    ///
    /// # Panics
    /// If `x` is shorter than the model.
    pub fn logit(&self, i: usize, x: &[bool]) -> f64 {
        self.bias[i] + self.edges_of(i).filter(|&(j, _)| x[j as usize]).map(|(_, c)| c).sum::<f64>()
    }

    /// The log-score `log P(x) + log Z`.
    ///
    /// # Errors
    /// [`Invalid::Length`].
    pub fn log_score(&self, x: &[bool]) -> Result<f64, Error> {
        Invalid::check_length("x", self.variables(), x.len())?;
        let unary: f64 = self.bias.iter().zip(x).filter(|(_, x)| **x).map(|(bias, _)| bias).sum();
        let pairs = self.edges().filter(|&(i, j, _)| x[i as usize] && x[j as usize]);
        Ok(unary + pairs.map(|edge| edge.2).sum::<f64>())
    }

    /// The model as a factor graph: one factor per variable in order, then one per edge, sorted.
    ///
    /// # Errors
    /// None of the errors of [`FactorGraph`] can occur.
    pub fn factor_graph(&self) -> Result<FactorGraph, Error> {
        let mut factors = FactorGraph::new(&vec![2; self.variables()])?;
        for (i, &bias) in (0..).zip(&self.bias) {
            factors.add(&[VarId(i)], &[0.0, bias])?;
        }
        for (i, j, coupling) in self.edges() {
            factors.add(&[VarId(i), VarId(j)], &[0.0, 0.0, 0.0, coupling])?;
        }
        Ok(factors)
    }

    /// The model between independent variables with logits `base` (`b = 0`) and this model (`b = 1`), by linear interpolation
    /// of all parameters.
    pub(crate) fn between(&self, base: &[f64], b: f64) -> BinaryPairwise {
        let bias = self.bias.iter().zip(base).map(|(bias, base)| base + b * (bias - base));
        BinaryPairwise {
            bias: bias.collect(),
            couplings: self.couplings.iter().map(|coupling| b * coupling).collect(),
            ..self.clone()
        }
    }

    /// Colours the variables so that neighbours have different colours, greedily in the order of decreasing degree. O(p +
    /// edges).
    pub fn colouring(&self) -> Vec<u32> {
        let p = self.variables();
        let mut order: Vec<usize> = (0..p).collect();
        order.sort_by_key(|&i| (std::cmp::Reverse(self.degree(i)), i));
        let mut colours = vec![u32::MAX; p];
        let mut taken = Vec::new();
        for i in order {
            taken.clear();
            taken.resize(self.degree(i) + 1, false);
            for (j, _) in self.edges_of(i) {
                if let Some(slot) = taken.get_mut(colours[j as usize] as usize) {
                    *slot = true;
                }
            }
            let free =
                taken.iter().position(|taken| !taken).expect("one colour more than neighbours");
            colours[i] = free as u32;
        }
        colours
    }
}
