//! Graphs of labels with attributes on their cliques.

use std::ops::Range;

use fenchel_graphical::elimination::EliminationReport;
use fenchel_graphical::elimination::elimination_order;
use fenchel_graphical::{FactorGraph, OrderingOptions, Table, VarId};
use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;
use serde::{Deserialize, Serialize};

use crate::Error;

/// A kind of clique. Cliques of the same kind share a matrix of weights, with one row per attribute and one column per joint
/// labelling of the clique.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CliqueTemplate {
    /// Number of labels of each variable of the clique, in order.
    pub labels: Vec<usize>,
    /// Number of attributes, at least 1. Cliques without attributes use a single one that is always 1.
    pub attributes: usize,
}

impl CliqueTemplate {
    /// A kind of clique with `labels.len()` variables: one for nodes, two for edges.
    pub fn new(labels: &[usize], attributes: usize) -> Self {
        CliqueTemplate { labels: labels.to_vec(), attributes }
    }

    /// Number of joint labellings of a clique, with the last variable fastest. This is the length of a row of weights.
    pub fn cells(&self) -> usize {
        self.labels.iter().product()
    }
}

/// A graph over output variables: their numbers of labels, and cliques with sparse attributes. The graph may have any shape and
/// need not be connected. The cost of training and prediction is that of its junction tree.
///
/// ```
/// use fenchel_crf::GraphInstance;
///
/// // Three variables of two labels in a row: nodes are of template 0, edges of template 1.
/// let mut row = GraphInstance::new(&[2, 2, 2]);
/// row.clique(0, &[0], &[(7, 1.0)]).clique(0, &[1], &[(3, 1.0), (4, 0.5)]).clique(0, &[2], &[(7, 1.0)]);
/// row.clique(1, &[0, 1], &[(0, 1.0)]).clique(1, &[1, 2], &[(0, 1.0)]);
/// assert_eq!(row.elimination()?.induced_width, 1);
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GraphInstance {
    pub(super) labels: Vec<usize>,
    pub(super) cliques: Vec<Clique>,
    variables: Vec<usize>,
    attributes: Vec<(u32, f64)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Clique {
    pub(super) template: usize,
    variables: Range<usize>,
    attributes: Range<usize>,
}

impl GraphInstance {
    /// A graph without cliques, in which variable `v` has `labels[v]` labels.
    pub fn new(labels: &[usize]) -> Self {
        GraphInstance { labels: labels.to_vec(), ..GraphInstance::default() }
    }

    /// Adds a clique of a template, given by its number in [`GraphDataset::new`]. Variables are in the order of the template.
    /// Attributes are pairs of number and value, and may repeat. The arguments are checked later, by the function that receives
    /// the graph.
    pub fn clique(
        &mut self,
        template: usize,
        variables: &[usize],
        attributes: &[(u32, f64)],
    ) -> &mut Self {
        let (v, a) = (self.variables.len(), self.attributes.len());
        self.variables.extend_from_slice(variables);
        self.attributes.extend_from_slice(attributes);
        let (variables, attributes) = (v..self.variables.len(), a..self.attributes.len());
        self.cliques.push(Clique { template, variables, attributes });
        self
    }

    /// Number of variables.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no variables.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The cost of exact inference on this graph: its treewidth and the bytes of its tables.
    ///
    /// # Errors
    /// [`Error::Chain`] if a clique has a variable that the graph does not have, or the same variable twice.
    pub fn elimination(&self) -> Result<EliminationReport, Error> {
        let mut edges = FactorGraph::new(&self.labels)?;
        for clique in &self.cliques {
            let variables = self.variables(clique);
            for (k, &v) in variables.iter().enumerate() {
                for &u in &variables[..k] {
                    let count = |v: usize| self.labels.get(v).copied().unwrap_or(1);
                    edges.add_table(Table::ones(&[var(u), var(v)], &[count(u), count(v)])?)?;
                }
            }
        }
        Ok(elimination_order(&edges, &OrderingOptions::default())?)
    }

    pub(super) fn variables(&self, clique: &Clique) -> &[usize] {
        &self.variables[clique.variables.clone()]
    }

    pub(super) fn attributes(&self, clique: &Clique) -> &[(u32, f64)] {
        &self.attributes[clique.attributes.clone()]
    }

    /// Whether every clique fits its template.
    pub(super) fn check(&self, templates: &[CliqueTemplate]) -> Result<(), Error> {
        if self.is_empty() {
            return Err(Invalid::Empty { what: "graph" }.into());
        }
        if self.labels.contains(&0) {
            let (name, expected) = ("number of labels", "at least 1");
            return Err(Invalid::Parameter { name, value: 0.0, expected }.into());
        }
        for (number, clique) in self.cliques.iter().enumerate() {
            self.check_clique(clique, templates)
                .map_err(|reason| Error::Clique { clique: number, reason })?;
        }
        Ok(())
    }

    fn check_clique(&self, clique: &Clique, templates: &[CliqueTemplate]) -> Result<(), String> {
        let Some(template) = templates.get(clique.template) else {
            let (found, count) = (clique.template, templates.len());
            return Err(format!("template {found} is unknown; expected one of {count}"));
        };
        let variables = self.variables(clique);
        let (found, expected) = (variables.len(), template.labels.len());
        if found != expected {
            return Err(format!("has {found} variables; its template has {expected}"));
        }
        for (k, (&v, &expected)) in variables.iter().zip(&template.labels).enumerate() {
            let Some(&found) = self.labels.get(v) else {
                let count = self.len();
                return Err(format!("variable {v} is unknown; expected one of {count}"));
            };
            if found != expected {
                return Err(format!(
                    "variable {v} has {found} labels; its template expects {expected}"
                ));
            }
            if variables[..k].contains(&v) {
                return Err(format!("variable {v} occurs twice"));
            }
        }
        for &(attribute, value) in self.attributes(clique) {
            if attribute as usize >= template.attributes {
                let count = template.attributes;
                return Err(format!("attribute {attribute} is unknown; expected one of {count}"));
            }
            if !value.is_finite() {
                return Err(format!("attribute {attribute} is {value}; expected a finite number"));
            }
        }
        Ok(())
    }

    /// Checks that the labels fit this graph.
    pub(super) fn check_labels(&self, labels: &[usize]) -> Result<(), Error> {
        Invalid::check_length("labels of the variables", self.len(), labels.len())?;
        match labels.iter().zip(&self.labels).position(|(y, count)| y >= count) {
            Some(row) => {
                let (value, expected) = (labels[row] as f64, "less than its number of labels");
                Err(Invalid::Label { row, value, expected }.into())
            }
            None => Ok(()),
        }
    }
}

pub(super) fn var(v: usize) -> VarId {
    VarId(u32::try_from(v).unwrap_or(u32::MAX))
}

/// Graphs with their true labels, checked; see [`GraphCrf`](crate::GraphCrf).
#[derive(Debug, Clone, PartialEq)]
pub struct GraphDataset {
    templates: Vec<CliqueTemplate>,
    pub(super) graphs: Vec<GraphInstance>,
    pub(super) truths: Vec<Vec<usize>>,
}

impl GraphDataset {
    /// An empty data set.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a template without variables, labels or attributes; [`Error::Refused`] beyond 2^32 weights.
    pub fn new(templates: Vec<CliqueTemplate>) -> Result<Self, Error> {
        check_templates(&templates)?;
        Ok(GraphDataset { templates, graphs: Vec::new(), truths: Vec::new() })
    }

    /// Adds a graph with the true label of each of its variables.
    ///
    /// # Errors
    /// [`Error::InGraph`] with the number of the graph: for an empty graph, a clique that does not fit its template or has an
    /// unknown variable, an attribute out of range or not finite, a label out of range. The data set is then unchanged.
    pub fn push(&mut self, graph: GraphInstance, truth: &[usize]) -> Result<(), Error> {
        let number = self.graphs.len();
        let checked = graph.check(&self.templates).and_then(|()| graph.check_labels(truth));
        checked.map_err(|error| error.in_graph(number))?;
        self.graphs.push(graph);
        self.truths.push(truth.to_vec());
        Ok(())
    }

    /// The templates.
    pub fn templates(&self) -> &[CliqueTemplate] {
        &self.templates
    }

    /// Number of graphs.
    pub fn len(&self) -> usize {
        self.graphs.len()
    }

    /// Whether there are no graphs.
    pub fn is_empty(&self) -> bool {
        self.graphs.is_empty()
    }

    /// The graphs with their true labels.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&GraphInstance, &[usize])> {
        self.graphs.iter().zip(self.truths.iter().map(Vec::as_slice))
    }
}

/// What can be wrong with templates.
pub(super) fn check_templates(templates: &[CliqueTemplate]) -> Result<(), Error> {
    if templates.is_empty() {
        return Err(Invalid::Empty { what: "templates" }.into());
    }
    let mut total = 0_usize;
    for template in templates {
        let row = template.labels.iter().try_fold(1_usize, |n, &labels| n.checked_mul(labels));
        let weights = row.and_then(|row| row.checked_mul(template.attributes));
        if template.labels.is_empty() || weights == Some(0) {
            return Err(
                Invalid::Empty { what: "variables, labels or attributes of a template" }.into()
            );
        }
        // Positions of weights are stored in 32 bits.
        total = weights
            .and_then(|weights| total.checked_add(weights))
            .filter(|&total| u32::try_from(total).is_ok())
            .ok_or_else(|| Refusal::unsupported("GraphCrf", "2^32 weights and more"))?;
    }
    Ok(())
}
