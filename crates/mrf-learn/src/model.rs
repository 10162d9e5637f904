//! A learned network: parameters, certificate, record of the run, and methods for using it.

use fenchel_graphical::{
    BinaryGibbs, BinaryPairwise, BinaryStart, Graph, Influence, Labels, Order,
};
use fenchel_linalg::Invalid;
use fenchel_linalg::special::{sigmoid, softplus};
use fenchel_optim::model::Saved;
use fenchel_optim::{Refusal, Report};
use ndarray::Array2;
use serde::{Deserialize, Serialize};
use std::io::Write;

use crate::coordinates::packed_length;
use crate::spg::{SpgRecord, Warning};
use crate::{BinaryData, Coordinates, Error, Penalty};

/// A learned binary pairwise model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkModel {
    /// The model, in states 0 and 1.
    pub model: BinaryPairwise,
    /// The coordinates of the penalty and of [`edges`](Self::edges).
    pub coordinates: Coordinates,
    /// The penalty that it was learned with.
    pub penalty: Penalty,
    /// The report of the fit.
    pub report: Report,
    /// The average of the iterates, if requested; it is dense.
    #[serde(default)]
    pub average: Option<BinaryPairwise>,
    /// One record per iteration of [`Spg`](crate::Spg); empty for other methods.
    #[serde(default)]
    pub trace: Vec<SpgRecord>,
    /// Warnings about the fit.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

impl NetworkModel {
    pub(crate) fn new(
        theta: &[f64],
        data: &BinaryData,
        coordinates: Coordinates,
        penalty: &Penalty,
        report: Report,
    ) -> Result<Self, Error> {
        let mut model = Self::of(theta, data.variables(), coordinates, penalty, report)?;
        let (dropped, kept) = (data.dropped().len(), data.rows());
        if dropped > 0 {
            model.warnings.push(Warning::RowsDropped { dropped, kept });
        }
        Ok(model)
    }

    /// A model that was not learned from rows.
    pub(crate) fn of(
        theta: &[f64],
        p: usize,
        coordinates: Coordinates,
        penalty: &Penalty,
        report: Report,
    ) -> Result<Self, Error> {
        let (model, _) = coordinates.model(theta, p)?;
        let penalty = penalty.clone();
        Ok(NetworkModel {
            model,
            coordinates,
            penalty,
            report,
            average: None,
            trace: Vec::new(),
            warnings: Vec::new(),
        })
    }

    /// Number of variables, `p`.
    pub fn variables(&self) -> usize {
        self.model.variables()
    }

    /// The packed parameters in the coordinates of the penalty.
    pub fn parameters(&self) -> Vec<f64> {
        self.coordinates.parameters(&self.model)
    }

    /// The packed parameters of this model as the start of a fit of `p` variables.
    pub(crate) fn start(&self, p: usize, coordinates: Coordinates) -> Result<Vec<f64>, Error> {
        Invalid::check_length("variables of start", p, self.variables())?;
        let theta = coordinates.parameters(&self.model);
        Invalid::check_finite("parameters of start", &theta)?;
        Ok(theta)
    }

    /// The couplings that are not 0, in the coordinates of the penalty, strongest first.
    pub fn edges(&self) -> Vec<(u32, u32, f64)> {
        let mut edges: Vec<_> = match self.coordinates {
            Coordinates::Binary => self.model.edges().collect(),
            Coordinates::Spins => self.model.to_spins().1,
        };
        edges.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()).then((a.0, a.1).cmp(&(b.0, b.1))));
        edges
    }

    /// The edges with a positive coupling, strongest first.
    pub fn positive_edges(&self) -> Vec<(u32, u32, f64)> {
        self.edges().into_iter().filter(|edge| edge.2 > 0.0).collect()
    }

    /// `|coupling|` of every pair `i < j`, row by row: the scores that [`edge_auc`](crate::metrics::edge_auc) ranks.
    pub fn scores(&self) -> Vec<f64> {
        let theta = self.parameters();
        let pairs = crate::coordinates::pairs(self.variables()).zip(&theta);
        pairs.filter(|((i, j), _)| i != j).map(|(_, theta)| theta.abs()).collect()
    }

    /// The graph of the edges.
    ///
    /// # Errors
    /// None of those of [`Graph::new`] can arise.
    pub fn graph(&self) -> Result<Graph, Error> {
        Ok(Graph::new(self.variables(), self.model.edges().map(|(i, j, _)| (i, j)))?)
    }

    /// The influence bound of Gibbs sampling from this model.
    pub fn influence(&self) -> Influence {
        Influence::bound(&self.model)
    }

    /// `P(x_i = 1 | the other variables)` of every cell: samples x variables.
    ///
    /// # Errors
    /// [`Invalid::Length`] for data with another number of variables. [`Error::Refused`] for data with cells to impute.
    pub fn predict(&self, data: &BinaryData) -> Result<Array2<f64>, Error> {
        Self::check_complete(data, "NetworkModel::predict")?;
        Ok(self.logits(data)?.mapv_into(sigmoid))
    }

    /// The mean log pseudo-likelihood per row, `sum_i log P(x_i | the others)`, in nats.
    ///
    /// # Errors
    /// As [`predict`](Self::predict). [`Error::Refused`] for data with cells to impute.
    pub fn score(&self, data: &BinaryData) -> Result<f64, Error> {
        Self::check_complete(data, "NetworkModel::score")?;
        let logits = self.logits(data)?;
        let row = |row: usize| -> f64 {
            let cell = |i: usize| {
                let logit = logits[[row, i]];
                -softplus(if data.get(row, i) { -logit } else { logit })
            };
            (0..data.variables()).map(cell).sum()
        };
        Ok((0..data.rows()).map(|k| data.weight(k) * row(k)).sum())
    }

    /// Data with cells to impute are refused: these cells have no value.
    fn check_complete(data: &BinaryData, what: &'static str) -> Result<(), Error> {
        if data.missing().is_empty() {
            return Ok(());
        }
        let hint = "cells to impute: they have no value; drop their rows, or read them as 0";
        Err(Refusal::unsupported(what, hint).into())
    }

    fn logits(&self, data: &BinaryData) -> Result<Array2<f64>, Error> {
        Invalid::check_length("variables of the data", self.variables(), data.variables())?;
        Ok(Array2::from_shape_fn((data.rows(), data.variables()), |(row, i)| {
            let neighbours = self.model.edges_of(i).filter(|&(j, _)| data.get(row, j as usize));
            self.model.bias()[i] + neighbours.map(|edge| edge.1).sum::<f64>()
        }))
    }

    /// The exact mean log-likelihood per row: by enumeration up to 20 variables, by a junction tree beyond.
    ///
    /// # Errors
    /// [`Error::Refused`] or [`Error::Graphical`] for graphs that are too dense. [`Error::Refused`] for data with cells to impute.
    pub fn log_likelihood(&self, data: &BinaryData) -> Result<f64, Error> {
        Invalid::check_length("variables of the data", self.variables(), data.variables())?;
        Self::check_complete(data, "NetworkModel::log_likelihood")?;
        let p = self.variables();
        let mut oracle =
            crate::oracle::AnyOracle::new(crate::Oracle::Auto, p, fenchel_optim::MAX_MEMORY)?;
        let log_partition = oracle.log_partition(&self.model)?;
        let theta = Coordinates::Binary.parameters(&self.model);
        Ok(crate::exact::dot(&theta, &data.means(Coordinates::Binary)) - log_partition)
    }

    /// Draws by Gibbs sampling: `sweeps` sweeps per draw, each started from fair coins. The result has the shape
    /// samples x variables. [`influence`](Self::influence) gives a number of sweeps that is proved to suffice.
    ///
    /// # Errors
    /// The errors of [`BinaryGibbs::new`]; [`Invalid::Parameter`] for no samples.
    pub fn sample(&self, samples: usize, sweeps: usize, seed: u64) -> Result<Array2<bool>, Error> {
        Invalid::check_positive("samples", samples as f64)?;
        let (start, scan) = (BinaryStart::Random, Order::Cyclic);
        let mut chains = BinaryGibbs::new(&self.model, samples, start, scan, seed)?;
        chains.sweep(sweeps);
        Ok(chains.samples())
    }

    /// The graph in the DOT language of Graphviz; no names for numbers.
    ///
    /// # Errors
    /// [`Error::Graphical`] if the number of names is wrong, or if writing fails.
    pub fn write_dot(&self, names: &[String], to: impl Write) -> Result<(), Error> {
        let weights = self.weights();
        Ok(self.graph()?.write_dot(Labels { nodes: names, weights: &weights }, to)?)
    }

    /// The graph as GraphML.
    ///
    /// # Errors
    /// As [`write_dot`](Self::write_dot).
    pub fn write_graphml(&self, names: &[String], to: impl Write) -> Result<(), Error> {
        let weights = self.weights();
        Ok(self.graph()?.write_graphml(Labels { nodes: names, weights: &weights }, to)?)
    }

    /// Writes one line `name,name,coupling` per edge, strongest first.
    ///
    /// # Errors
    /// [`Invalid::Length`] if the number of names is wrong; [`Error::Io`].
    pub fn write_edges(&self, names: &[String], mut to: impl Write) -> Result<(), Error> {
        if !names.is_empty() {
            Invalid::check_length("names", self.variables(), names.len())?;
        }
        let name =
            |v: u32| names.get(v as usize).map_or_else(|| v.to_string(), |name| quoted(name));
        writeln!(to, "a,b,coupling")?;
        for (i, j, coupling) in self.edges() {
            writeln!(to, "{},{},{coupling}", name(i), name(j))?;
        }
        Ok(to.flush()?)
    }

    /// Couplings in the order of [`Graph::edges`].
    fn weights(&self) -> Vec<f64> {
        let scale = if self.coordinates == Coordinates::Spins { 0.25 } else { 1.0 };
        self.model.edges().map(|(_, _, coupling)| scale * coupling).collect()
    }
}

/// A field of a CSV file.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

impl Saved for NetworkModel {
    const KIND: &'static str = "binary pairwise network";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        let theta = self.parameters();
        if theta.len() != packed_length(self.variables()) || theta.iter().any(|v| !v.is_finite()) {
            return Err("model: a parameter is not finite".to_owned());
        }
        let (p, average) = (self.variables(), self.average.as_ref());
        if let Some(average) = average.filter(|average| average.variables() != p) {
            return Err(format!("average: {} variables; expected {p}", average.variables()));
        }
        Ok(())
    }
}
