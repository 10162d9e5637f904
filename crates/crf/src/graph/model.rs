//! A trained model of graphs.

use fenchel_graphical::{Evidence, VarId};
use fenchel_linalg::Invalid;
use fenchel_optim::model::Saved;
use fenchel_optim::{MAX_MEMORY, Report};
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::data::{CliqueTemplate, GraphDataset, GraphInstance, check_templates};
use super::oracle::Work;
use super::problem::{Compiler, Structure};
use crate::Error;

/// A trained conditional random field on graphs. It predicts labels and their probabilities, and can be saved and loaded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts")]
pub struct GraphModel {
    templates: Vec<CliqueTemplate>,
    /// The matrices of the templates one after the other. Each has one row per attribute, and in a row the last variable varies
    /// fastest.
    weights: Vec<f64>,
    /// How the training ended and what it proved. `None` if the model was not trained in this process.
    pub report: Option<Report>,
}

#[derive(Deserialize)]
struct Parts {
    templates: Vec<CliqueTemplate>,
    weights: Vec<f64>,
    report: Option<Report>,
}

impl TryFrom<Parts> for GraphModel {
    type Error = Error;
    fn try_from(p: Parts) -> Result<GraphModel, Error> {
        GraphModel::new(p.templates, p.weights, p.report)
    }
}

impl GraphModel {
    /// A model from its parts, the weights in the order of [`GraphProblem`](crate::graph::GraphProblem).
    ///
    /// # Errors
    /// [`Error::Invalid`] for templates without variables or attributes, or weights of another length or not finite.
    pub fn new(
        templates: Vec<CliqueTemplate>,
        weights: Vec<f64>,
        report: Option<Report>,
    ) -> Result<Self, Error> {
        let model = GraphModel { templates, weights, report };
        model.checked()?;
        Ok(model)
    }

    fn checked(&self) -> Result<(), Error> {
        check_templates(&self.templates)?;
        let count = self.templates.iter().map(|t| t.attributes * t.cells()).sum();
        Invalid::check_length("weights", count, self.weights.len())?;
        Ok(Invalid::check_finite("weights", &self.weights)?)
    }

    /// The templates.
    pub fn templates(&self) -> &[CliqueTemplate] {
        &self.templates
    }

    /// All weights, flat.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The weights of a template, with one row per attribute and one column per joint labelling. `None` for a template that
    /// does not exist.
    pub fn weights_of(&self, template: usize) -> Option<ArrayView2<'_, f64>> {
        let size = |t: &CliqueTemplate| t.attributes * t.cells();
        let own = self.templates.get(template)?;
        let start = self.templates[..template].iter().map(size).sum::<usize>();
        let block = &self.weights[start..start + size(own)];
        ArrayView2::from_shape((own.attributes, own.cells()), block).ok()
    }

    /// The most probable joint labelling. If single labels matter more, take for each variable the label with the largest
    /// [marginal](Self::marginals). With strong couplings the joint labelling becomes constant sooner than the marginal labels
    /// do.
    ///
    /// # Errors
    /// The errors of [`GraphDataset::push`] for a graph, without its number. [`Error::Chain`] for a graph whose junction tree
    /// needs more than [`MAX_MEMORY`], or for a score that overflows.
    pub fn predict(&self, graph: &GraphInstance) -> Result<Vec<usize>, Error> {
        Predictor::new(self, 1).predict(graph)
    }

    /// The marginal probabilities `P(y_v = k)` of every variable.
    ///
    /// # Errors
    /// As [`predict`](Self::predict).
    pub fn marginals(&self, graph: &GraphInstance) -> Result<Vec<Vec<f64>>, Error> {
        let mut predictor = Predictor::new(self, 1);
        let structure = predictor.ready(graph)?;
        let mut workspace = structure.tree.workspace();
        let answers =
            structure.tree.calibrate(&structure.model, &Evidence::new(), &mut workspace)?;
        Ok((0..graph.len()).map(|v| answers.marginal(VarId(v as u32))).collect::<Result<_, _>>()?)
    }

    /// The log-probability `log p(y | x)` of a labelling.
    ///
    /// # Errors
    /// As [`predict`](Self::predict), and [`Error::Invalid`] for labels that do not fit.
    pub fn log_probability(&self, graph: &GraphInstance, labels: &[usize]) -> Result<f64, Error> {
        graph.check_labels(labels)?;
        let mut predictor = Predictor::new(self, 1);
        let structure = predictor.ready(graph)?;
        let mut workspace = structure.tree.workspace();
        let answers =
            structure.tree.calibrate(&structure.model, &Evidence::new(), &mut workspace)?;
        Ok(structure.model.log_score(labels)? - answers.log_partition())
    }

    /// The fraction of all variables whose most probable label is the true one.
    ///
    /// # Errors
    /// [`Error::InGraph`] with what [`predict`](Self::predict) says; [`Error::Invalid`] for a data set without graphs.
    pub fn score(&self, data: &GraphDataset) -> Result<f64, Error> {
        if data.is_empty() {
            return Err(Invalid::Empty { what: "data set" }.into());
        }
        let mut predictor = Predictor::new(self, data.len());
        let (mut right, mut all) = (0_usize, 0_usize);
        for (i, (graph, truth)) in data.iter().enumerate() {
            let labels = predictor.predict(graph).map_err(|error| error.in_graph(i))?;
            right += labels.iter().zip(truth).filter(|(y, truth)| y == truth).count();
            all += truth.len();
        }
        Ok(right as f64 / all as f64)
    }
}

impl Saved for GraphModel {
    const KIND: &'static str = "conditional random field of graphs";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        self.checked().map_err(|error| error.to_string())
    }
}

/// A model with a cache of the junction trees of earlier graphs.
struct Predictor<'m> {
    model: &'m GraphModel,
    compiler: Compiler<'m>,
}

impl<'m> Predictor<'m> {
    fn new(model: &'m GraphModel, graphs: usize) -> Self {
        let compiler = Compiler::new(&model.templates, graphs, MAX_MEMORY);
        Predictor { model, compiler }
    }

    /// The junction tree of a graph, and its factors with the scores under the weights.
    fn ready(&mut self, graph: &GraphInstance) -> Result<Structure, Error> {
        graph.check(&self.model.templates)?;
        let mut item = self.compiler.item(graph)?;
        let Structure { tree, model } = self.compiler.structures[item.structure].clone();
        item.structure = 0;
        let mut work = Work::new(&[Structure { tree: tree.clone(), model }]);
        let model = work.model(&item, &self.model.weights);
        let overflow =
            Invalid::NonFinite { what: "score", row: 0, column: 0, value: f64::INFINITY };
        Ok(Structure { tree, model: model.ok_or(overflow)?.clone() })
    }

    fn predict(&mut self, graph: &GraphInstance) -> Result<Vec<usize>, Error> {
        let Structure { tree, model } = self.ready(graph)?;
        let mut workspace = tree.workspace();
        Ok(tree.calibrate_max(&model, &Evidence::new(), &mut workspace)?.map())
    }
}
