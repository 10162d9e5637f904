//! A learned network of discrete variables.

use std::io::Write;

use fenchel_graphical::gibbs::{Gibbs, GibbsSettings, Start};
use fenchel_graphical::{Evidence, FactorGraph, Graph, Influence, Labels};
use fenchel_linalg::Invalid;
use fenchel_linalg::special::{log_sum_exp, softmax_in_place};
use fenchel_optim::model::Saved;
use fenchel_optim::{MAX_MEMORY, Report};
use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::oracle::DiscreteOracle;
use super::{DiscreteData, DiscretePenalty, Layout};
use crate::exact::dot;
use crate::spg::{SpgRecord, Warning};
use crate::{Error, Oracle};

/// A learned network of discrete variables.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiscreteModel {
    /// Numbers of states, and the order of the parameters.
    pub layout: Layout,
    /// Fields and tables.
    pub theta: Vec<f64>,
    /// The penalty that it was learned with.
    pub penalty: DiscretePenalty,
    /// The report of the fit.
    pub report: Report,
    /// The average of the iterates, if requested.
    #[serde(default)]
    pub average: Option<Vec<f64>>,
    /// One record per iteration of [`DiscreteSpg`](super::DiscreteSpg); empty for other methods.
    #[serde(default)]
    pub trace: Vec<SpgRecord>,
    /// Warnings about the fit.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

impl DiscreteModel {
    pub(super) fn new(
        layout: Layout,
        theta: Vec<f64>,
        penalty: DiscretePenalty,
        report: Report,
    ) -> Self {
        let (trace, warnings) = (Vec::new(), Vec::new());
        DiscreteModel { layout, theta, penalty, report, average: None, trace, warnings }
    }

    /// Number of variables, `p`.
    pub fn variables(&self) -> usize {
        self.layout.variables()
    }

    /// The table of `i < j`; the state of `i` counts the rows.
    ///
    /// # Errors
    /// [`Invalid::Layout`] unless `i < j` and `j` is a variable.
    pub fn table(&self, i: usize, j: usize) -> Result<ArrayView2<'_, f64>, Error> {
        self.layout.table(i, j)?;
        Ok(self.table_of(i, j))
    }

    fn table_of(&self, i: usize, j: usize) -> ArrayView2<'_, f64> {
        let (rows, columns) = (self.layout.cards()[i], self.layout.cards()[j]);
        let table = &self.theta[self.layout.table_of(i, j)];
        ArrayView2::from_shape((rows, columns), table).expect("a table of the layout")
    }

    /// The pairs whose tables are not 0, with the Frobenius norm of the table in the zero-sum gauge, strongest first.
    pub fn edges(&self) -> Vec<(u32, u32, f64)> {
        let mut edges: Vec<_> = self
            .layout
            .support(&self.theta)
            .into_iter()
            .map(|(i, j)| (i as u32, j as u32, self.strength(i, j)))
            .collect();
        edges.sort_by(|a, b| b.2.total_cmp(&a.2).then((a.0, a.1).cmp(&(b.0, b.1))));
        edges
    }

    /// The strengths of all pairs `i < j`, row by row: the scores that [`edge_auc`](crate::metrics::edge_auc) ranks.
    pub fn scores(&self) -> Vec<f64> {
        self.layout.pairs().map(|(i, j)| self.strength(i, j)).collect()
    }

    fn strength(&self, i: usize, j: usize) -> f64 {
        let table = self.table_of(i, j);
        let (rows, columns) = table.dim();
        let mean = table.sum() / (rows * columns) as f64;
        let by_row: Vec<f64> = table.rows().into_iter().map(|r| r.sum() / columns as f64).collect();
        let by_column: Vec<f64> =
            table.columns().into_iter().map(|c| c.sum() / rows as f64).collect();
        let off = |((a, b), value): ((usize, usize), &f64)| {
            (value - by_row[a] - by_column[b] + mean).powi(2)
        };
        table.indexed_iter().map(off).sum::<f64>().sqrt()
    }

    /// The model as factors.
    ///
    /// # Errors
    /// [`Error::Graphical`] for parameters that are not finite.
    pub fn factor_graph(&self) -> Result<FactorGraph, Error> {
        self.layout.factor_graph(&self.theta)
    }

    /// The graph of the edges.
    ///
    /// # Errors
    /// None of those of [`Graph::new`] can arise.
    pub fn graph(&self) -> Result<Graph, Error> {
        let edges = self.layout.support(&self.theta);
        let edges = edges.into_iter().map(|(i, j)| (i as u32, j as u32));
        Ok(Graph::new(self.variables(), edges)?)
    }

    /// The influence bound of Gibbs sampling from this model: `max_bc tanh(osc_a(J(a, b) - J(a, c)) / 4)`.
    ///
    /// # Errors
    /// [`Error::Graphical`] for parameters that are not finite.
    pub fn influence(&self) -> Result<Influence, Error> {
        Ok(Influence::of_factors(&self.factor_graph()?)?)
    }

    /// `P(x_i = a | the other variables)` for every state `a` of variable `i`.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::Parameter`] for a variable or a state that does not exist.
    pub fn conditional(&self, x: &[u8], i: usize) -> Result<Vec<f64>, Error> {
        let mut logits = self.logits(x, i)?;
        softmax_in_place(&mut logits);
        Ok(logits)
    }

    fn logits(&self, x: &[u8], i: usize) -> Result<Vec<f64>, Error> {
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
        let mut logits = self.theta[self.layout.field(i)].to_vec();
        for j in (0..p).filter(|&j| j != i) {
            let table = self.table_of(i.min(j), i.max(j));
            let other = usize::from(x[j]);
            for (a, logit) in logits.iter_mut().enumerate() {
                *logit += if i < j { table[[a, other]] } else { table[[other, a]] };
            }
        }
        Ok(logits)
    }

    /// The most probable state of every cell given the others: samples x variables.
    ///
    /// # Errors
    /// [`Invalid::Layout`] for data with other variables.
    pub fn predict(&self, data: &DiscreteData) -> Result<Array2<u8>, Error> {
        self.check_layout(data.layout())?;
        let mut out = data.states().clone();
        for (mut row, x) in out.rows_mut().into_iter().zip(data.states().rows()) {
            let x = x.to_vec();
            for i in 0..self.variables() {
                let logits = self.logits(&x, i)?;
                let best =
                    (1..logits.len()).fold(0, |b, a| if logits[a] > logits[b] { a } else { b });
                row[i] = best as u8;
            }
        }
        Ok(out)
    }

    /// The mean log pseudo-likelihood per row, `sum_i log P(x_i | the others)`, in nats.
    ///
    /// # Errors
    /// [`Invalid::Layout`] for data with other variables.
    pub fn score(&self, data: &DiscreteData) -> Result<f64, Error> {
        self.check_layout(data.layout())?;
        let mut total = 0.0;
        for (n, x) in data.states().rows().into_iter().enumerate() {
            let x = x.to_vec();
            for i in 0..self.variables() {
                let logits = self.logits(&x, i)?;
                total += data.weight(n) * (logits[usize::from(x[i])] - log_sum_exp(&logits));
            }
        }
        Ok(total)
    }

    /// The exact mean log-likelihood per row, by enumeration or a junction tree.
    ///
    /// # Errors
    /// [`Invalid::Layout`] for data with other variables; [`Error::Refused`] or [`Error::Graphical`] for graphs that are too dense.
    pub fn log_likelihood(&self, data: &DiscreteData) -> Result<f64, Error> {
        self.check_layout(data.layout())?;
        let mut oracle = DiscreteOracle::new(Oracle::Auto, &self.layout, MAX_MEMORY)?;
        Ok(dot(&self.theta, &data.means()) - oracle.log_partition(&self.theta)?)
    }

    /// Draws by Gibbs sampling, `sweeps` sweeps from random states: samples x variables.
    ///
    /// # Errors
    /// [`Error::Graphical`] for no sample, or more than fit into memory.
    pub fn sample(&self, samples: usize, sweeps: usize, seed: u64) -> Result<Array2<u8>, Error> {
        let settings = GibbsSettings { chains: samples, seed, ..GibbsSettings::default() };
        let graph = self.factor_graph()?;
        let mut chains = Gibbs::new(&graph, &Evidence::new(), Start::Random, &settings)?;
        chains.sweep(sweeps);
        Ok(chains.samples().mapv(|state| state as u8))
    }

    /// The graph in the DOT language of Graphviz, strengths as weights; no names for numbers.
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

    /// Strengths in the order of [`Graph::edges`].
    fn weights(&self) -> Vec<f64> {
        self.layout.support(&self.theta).into_iter().map(|(i, j)| self.strength(i, j)).collect()
    }

    /// The parameters of this model as the start of a fit with a layout.
    pub(super) fn start(&self, layout: &Layout) -> Result<Vec<f64>, Error> {
        self.check_layout(layout)?;
        Invalid::check_finite("parameters of start", &self.theta)?;
        Ok(self.theta.clone())
    }

    pub(super) fn check_layout(&self, layout: &Layout) -> Result<(), Error> {
        if self.layout == *layout {
            return Ok(());
        }
        let (here, there) = (self.layout.cards(), layout.cards());
        let reason = format!("numbers of states {there:?}; those of the model are {here:?}");
        Err(Invalid::Layout { what: "variables", reason }.into())
    }
}

impl Saved for DiscreteModel {
    const KIND: &'static str = "network of discrete variables";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        if self.theta.len() != self.layout.len() || self.theta.iter().any(|v| !v.is_finite()) {
            return Err("theta: not one finite parameter a statistic".to_owned());
        }
        let mut average = self.average.iter();
        if average.any(|a| a.len() != self.theta.len() || a.iter().any(|v| !v.is_finite())) {
            return Err("average: not one finite parameter a statistic".to_owned());
        }
        Ok(())
    }
}
