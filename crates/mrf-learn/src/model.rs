//! A learned network: parameters, certificate, record of the run, and methods for using it.

use std::fmt;
use std::io::Write;

use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
use fenchel_graphical::gibbs::{Gibbs, GibbsSettings, Start};
use fenchel_graphical::{BinaryPairwise, Evidence, FactorGraph, Graph, Influence};
use fenchel_linalg::special::{softmax_in_place, softmax_loss};
use fenchel_linalg::{Invalid, NamedEdges, Names, lanes};
use fenchel_optim::model::Saved;
use fenchel_optim::{MAX_MEMORY, Report};
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::data::Data;
use crate::error::Error;
use crate::layout::{Coordinates, Layout, index_of, pair_index, pairs, table_means};
use crate::oracle::Oracle;
use crate::penalty::Penalty;
use crate::spg::{SpgRecord, Warning};

/// A learned pairwise model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NetworkModel {
    /// The variables, the coordinates of the penalty, and the order of the parameters.
    pub layout: Layout,
    /// The parameters.
    pub theta: Vec<f64>,
    /// The names of the variables, if the data had them.
    #[serde(default, skip_serializing_if = "Names::is_empty")]
    pub names: Names,
    /// The penalty that it was learned with.
    pub penalty: Penalty,
    /// The report of the fit.
    pub report: Report,
    /// The average of the iterates, if requested; it is dense.
    #[serde(default)]
    pub average: Option<Vec<f64>>,
    /// One record per iteration of [`Spg`](crate::Spg); empty for other methods.
    #[serde(default)]
    pub trace: Vec<SpgRecord>,
    /// Warnings about the fit.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

impl NetworkModel {
    pub(crate) fn new(layout: Layout, theta: Vec<f64>, penalty: &Penalty, report: Report) -> Self {
        let (penalty, trace, warnings) = (penalty.clone(), Vec::new(), Vec::new());
        let (names, average) = (Names::NONE, None);
        NetworkModel { layout, theta, names, penalty, report, average, trace, warnings }
    }

    /// Adds the names and the warning about the data.
    pub(crate) fn learned_from(mut self, data: &Data) -> Self {
        self.names = data.names().clone();
        let (dropped, kept) = (data.dropped().len(), data.rows());
        if dropped > 0 {
            self.warnings.push(Warning::RowsDropped { dropped, kept });
        }
        self
    }

    /// Number of variables, `p`.
    pub fn variables(&self) -> usize {
        self.layout.variables()
    }

    /// The parameters as the start of a fit with a layout. Two states can be given in other coordinates.
    pub(crate) fn start(&self, layout: &Layout) -> Result<Vec<f64>, Error> {
        Invalid::check_length("variables of start", layout.variables(), self.variables())?;
        Invalid::check_length("parameters of start", self.layout.len(), self.theta.len())?;
        Invalid::check_finite("parameters of start", &self.theta)?;
        if self.layout == *layout {
            return Ok(self.theta.clone());
        }
        if self.layout.cards() != layout.cards() {
            self.layout.check_same(layout)?;
        }
        layout.parameters(&self.binary()?)
    }

    /// The model in binary coordinates, for variables with two states.
    ///
    /// # Errors
    /// [`Error::Refused`] for variables with more than two states.
    pub fn binary(&self) -> Result<BinaryPairwise, Error> {
        Ok(self.layout.binary(&self.theta)?.0)
    }

    /// The model as factors.
    ///
    /// # Errors
    /// [`Error::Graphical`] for parameters that are not finite.
    pub fn factor_graph(&self) -> Result<FactorGraph, Error> {
        self.layout.factor_graph(&self.theta)
    }

    /// The parameters of `i < j`: the table whose rows are the states of `i`, or the one coupling of binary coordinates and spins.
    ///
    /// # Errors
    /// [`Invalid::Layout`] unless `i < j` and `j` is a variable.
    pub fn table(&self, i: usize, j: usize) -> Result<ArrayView2<'_, f64>, Error> {
        let table = &self.theta[self.layout.table(i, j)?];
        let shape = (self.layout.field(i).len(), self.layout.field(j).len());
        Ok(ArrayView2::from_shape(shape, table).expect("a table of the layout"))
    }

    /// The pairs whose parameters are not 0, strongest first: with their coupling in binary coordinates and spins, and with the
    /// Frobenius norm of their table in the zero-sum gauge for indicators.
    pub fn edges(&self) -> Vec<(u32, u32, f64)> {
        let pairs = self.layout.support(&self.theta).into_iter();
        let mut edges: Vec<_> =
            pairs.map(|(i, j)| (i as u32, j as u32, self.coupling(i, j))).collect();
        edges.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()).then((a.0, a.1).cmp(&(b.0, b.1))));
        edges
    }

    /// The edges with a positive coupling, strongest first.
    pub fn positive_edges(&self) -> Vec<(u32, u32, f64)> {
        self.edges().into_iter().filter(|edge| edge.2 > 0.0).collect()
    }

    /// The size of the coupling of every pair `i < j`, row by row: the scores that [`edge_auc`](crate::metrics::edge_auc) ranks.
    pub fn scores(&self) -> Vec<f64> {
        let pairs = pairs(self.variables()).filter(|(i, j)| i != j);
        pairs.map(|(i, j)| self.coupling(i, j).abs()).collect()
    }

    fn coupling(&self, i: usize, j: usize) -> f64 {
        let table = &self.theta[self.layout.block(pair_index(i, j, self.variables()))];
        if self.layout.coordinates() != Coordinates::Indicators {
            return table[0];
        }
        let (rows, columns) = (self.layout.cards()[i], self.layout.cards()[j]);
        let (by_row, by_column, mean) = table_means(table.iter().copied(), rows, columns);
        let off = |(at, value): (usize, &f64)| {
            (value - by_row[at / columns] - by_column[at % columns] + mean).powi(2)
        };
        table.iter().enumerate().map(off).sum::<f64>().sqrt()
    }

    /// The graph of the edges.
    ///
    /// # Errors
    /// None of those of [`Graph::new`] can arise.
    pub fn graph(&self) -> Result<Graph, Error> {
        let edges = self.layout.support(&self.theta).into_iter();
        Ok(Graph::new(self.variables(), edges.map(|(i, j)| (i as u32, j as u32)))?)
    }

    /// The influence bound of Gibbs sampling from this model: [`Influence::bound`] in binary coordinates and spins, and
    /// `max_bc tanh(osc_a(J(a, b) - J(a, c)) / 4)` for indicators.
    ///
    /// # Errors
    /// [`Error::Graphical`] for parameters that are not finite.
    pub fn influence(&self) -> Result<Influence, Error> {
        if self.layout.coordinates() == Coordinates::Indicators {
            return Ok(Influence::of_factors(&self.factor_graph()?)?);
        }
        Ok(Influence::bound(&self.binary()?))
    }

    /// `P(x_i = a | the other variables)` for every state `a` of variable `i`.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::Parameter`] for a variable or a state that does not exist.
    pub fn conditional(&self, x: &[u8], i: usize) -> Result<Vec<f64>, Error> {
        let p = self.variables();
        Invalid::check_length("states", p, x.len())?;
        if i >= p {
            let expected = "a variable of the model";
            return Err(Invalid::Parameter { name: "variable", value: i as f64, expected }.into());
        }
        for (&state, &card) in x.iter().zip(self.layout.cards()) {
            if usize::from(state) >= card {
                let (name, value) = ("state", f64::from(state));
                let expected = "a state of its variable";
                return Err(Invalid::Parameter { name, value, expected }.into());
            }
        }
        let mut logits = Vec::new();
        Conditionals::new(self).logits(|j| x[j].into(), i, &mut logits);
        softmax_in_place(&mut logits);
        Ok(logits)
    }

    /// The most probable state of every cell given the others: samples x variables.
    ///
    /// # Errors
    /// [`Invalid::Layout`] for data with other variables; [`Error::Refused`] for data with cells to impute.
    pub fn predict(&self, data: &Data) -> Result<Array2<u8>, Error> {
        let mut out = data.to_array();
        self.each_cell(data, "NetworkModel::predict", |row, i, logits| {
            let better = |b, a| if logits[a] > logits[b] { a } else { b };
            out[[row, i]] = (1..logits.len()).fold(0, better) as u8;
        })?;
        Ok(out)
    }

    /// `P(x_i = state | the other variables)` of every cell: samples x variables. It is 0 for variables without this state.
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    pub fn probabilities(&self, data: &Data, state: u8) -> Result<Array2<f64>, Error> {
        let mut out = Array2::zeros((data.rows(), data.variables()));
        self.each_cell(data, "NetworkModel::probabilities", |row, i, logits| {
            softmax_in_place(logits);
            out[[row, i]] = logits.get(usize::from(state)).copied().unwrap_or(0.0);
        })?;
        Ok(out)
    }

    /// The mean log pseudo-likelihood per row, `sum_i log P(x_i | the others)`, in nats.
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    pub fn score(&self, data: &Data) -> Result<f64, Error> {
        let mut total = 0.0;
        self.each_cell(data, "NetworkModel::score", |row, i, logits| {
            total -= data.weight(row) * softmax_loss(logits, usize::from(data.state(row, i)));
        })?;
        Ok(total)
    }

    /// Calls a function with the logits of every cell given the others.
    fn each_cell(
        &self,
        data: &Data,
        method: &'static str,
        mut visit: impl FnMut(usize, usize, &mut [f64]),
    ) -> Result<(), Error> {
        self.check_data(data, method)?;
        let (conditionals, mut logits) = (Conditionals::new(self), Vec::new());
        for row in 0..data.rows() {
            for i in 0..self.variables() {
                conditionals.logits(|j| data.state(row, j).into(), i, &mut logits);
                visit(row, i, &mut logits);
            }
        }
        Ok(())
    }

    fn check_data(&self, data: &Data, method: &'static str) -> Result<(), Error> {
        Invalid::check_length("variables of the data", self.variables(), data.variables())?;
        self.layout.check_same(&data.layout(self.layout.coordinates())?)?;
        data.check_complete(method)
    }

    /// The exact mean log-likelihood per row, by enumeration or a junction tree.
    ///
    /// # Errors
    /// As [`predict`](Self::predict); [`Error::Refused`] or [`Error::Graphical`] for graphs that are too dense.
    pub fn log_likelihood(&self, data: &Data) -> Result<f64, Error> {
        self.check_data(data, "NetworkModel::log_likelihood")?;
        let mut oracle = Oracle::Auto.backend(&self.layout, MAX_MEMORY)?;
        let log_partition = oracle.log_partition(&self.theta)?;
        Ok(lanes::dot(&self.theta, &data.means_of(&self.layout)) - log_partition)
    }

    /// Draws by Gibbs sampling: `sweeps` sweeps per draw, each started from a random state. The result has the shape
    /// samples x variables. [`influence`](Self::influence) gives a number of sweeps that is proved to suffice.
    ///
    /// # Errors
    /// [`Error::Graphical`] for more samples than fit into memory; [`Invalid::Parameter`] for no samples.
    pub fn sample(&self, samples: usize, sweeps: usize, seed: u64) -> Result<Array2<u8>, Error> {
        Invalid::check_count("samples", samples)?;
        if let Ok(model) = self.binary() {
            let (start, scan) = (BinaryStart::Random, Order::Cyclic);
            let mut chains = BinaryGibbs::new(&model, samples, start, scan, seed)?;
            chains.sweep(sweeps);
            return Ok(chains.samples().mapv(u8::from));
        }
        let settings = GibbsSettings { chains: samples, seed, ..GibbsSettings::default() };
        let graph = self.factor_graph()?;
        let mut chains = Gibbs::new(&graph, &Evidence::new(), Start::Random, &settings)?;
        chains.sweep(sweeps);
        Ok(chains.samples().mapv(|state| state as u8))
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
}

/// The neighbours of every variable, for conditional distributions.
struct Conditionals<'a> {
    model: &'a NetworkModel,
    neighbours: Vec<Vec<usize>>,
}

impl<'a> Conditionals<'a> {
    fn new(model: &'a NetworkModel) -> Self {
        let mut neighbours = vec![Vec::new(); model.variables()];
        for (i, j) in model.layout.support(&model.theta) {
            neighbours[i].push(j);
            neighbours[j].push(i);
        }
        Conditionals { model, neighbours }
    }

    /// The logits of the states of `i` given those of the others.
    fn logits(&self, state: impl Fn(usize) -> usize, i: usize, logits: &mut Vec<f64>) {
        let NetworkModel { layout, theta, .. } = self.model;
        let states = 0..layout.cards()[i];
        logits.clear();
        logits.extend(states.map(|a| layout.unary(&theta[layout.field(i)], a)));
        for &j in &self.neighbours[i] {
            let table = &theta[layout.block(index_of(i, j, self.neighbours.len()))];
            let b = state(j);
            for (a, logit) in logits.iter_mut().enumerate() {
                *logit +=
                    if i < j { layout.pair(table, a, b, j) } else { layout.pair(table, b, a, i) };
            }
        }
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

/// The couplings of the edges by the names of their variables, the strongest first: at most a hundred lines.
impl fmt::Display for NetworkModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (edges, p) = (self.edges(), self.variables());
        writeln!(f, "{p} variables, {} edges with couplings", edges.len())?;
        let edges = edges.iter().map(|&(i, j, value)| (i as usize, j as usize, value)).collect();
        NamedEdges { names: &self.names, edges }.fmt(f)
    }
}

impl Saved for NetworkModel {
    const KIND: &'static str = "pairwise network";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        self.names.check(self.variables()).map_err(|error| error.to_string())?;
        let average = self.average.iter().map(|average| ("average", average));
        for (name, list) in average.chain([("theta", &self.theta)]) {
            if list.len() != self.layout.len() || list.iter().any(|v| !v.is_finite()) {
                return Err(format!("{name}: not one finite number a parameter"));
            }
        }
        Ok(())
    }
}
