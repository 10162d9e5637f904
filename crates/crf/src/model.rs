//! A trained model: the weights, and the names of attributes and labels.

use std::sync::{Arc, OnceLock};

use fenchel_linalg::Invalid;
use fenchel_optim::Report;
use fenchel_optim::model::Saved;
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::records::Records;
use crate::text::Template;
use crate::vocabulary::Vocabulary;
use crate::weights::Weights;

/// A trained linear-chain conditional random field with names. It tags sequences, can be saved and loaded, and shows its
/// weights.
///
/// ```
/// use fenchel_crf::{CrfModel, Instance, Saved, Vocabulary, Weights};
///
/// let attributes: Vocabulary = ["run"].into_iter().collect();
/// let labels: Vocabulary = ["N", "V"].into_iter().collect();
/// let mut weights = Weights::zeros(1, 2);
/// weights.emission[[0, 1]] = 1.5;
/// let model = CrfModel::new(attributes, labels, weights, None)?;
///
/// let mut sentence = Instance::new();
/// sentence.begin_token("");
/// sentence.push("run", 1.0);
/// assert_eq!(model.tag(&sentence)?, ["V"]);
/// assert_eq!(model.largest_state_weights(1), [("run", "V", 1.5)]);
/// # Ok::<(), fenchel_crf::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "File", try_from = "File")]
pub struct CrfModel {
    attributes: Vocabulary,
    labels: Vocabulary,
    weights: Weights,
    /// How the training ended and what it proved. `None` if the model was not trained in this process.
    pub report: Option<Report>,
    /// The templates, if attributes are made from columns. They are stored with the model, so that new text gets the same
    /// attributes.
    pub template: Option<Template>,
    tables: Tables,
}

/// The tables for tagging. They are made on first use.
#[derive(Debug, Clone, Default)]
struct Tables(OnceLock<Arc<Records>>);

impl PartialEq for Tables {
    /// Equal models have equal tables.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl CrfModel {
    /// Makes a model from its parts.
    ///
    /// # Errors
    /// [`Error::Invalid`] for weights of another shape or that are not finite.
    pub fn new(
        attributes: Vocabulary,
        labels: Vocabulary,
        weights: Weights,
        report: Option<Report>,
    ) -> Result<Self, Error> {
        let weights = fitting(weights, attributes.len(), labels.len())?;
        let (template, tables) = (None, Tables::default());
        Ok(CrfModel { attributes, labels, weights, report, template, tables })
    }

    /// Replaces the weights, for instance by those of a training in progress, to measure how well they tag. The report is
    /// removed, because it belongs to the old weights.
    ///
    /// # Errors
    /// [`Error::Invalid`] for weights of another shape or that are not finite; the model is then unchanged.
    pub fn set_weights(&mut self, weights: Weights) -> Result<(), Error> {
        self.weights = fitting(weights, self.attributes.len(), self.labels.len())?;
        self.report = None;
        self.tables = Tables::default();
        Ok(())
    }

    /// The weights for other vocabularies, matched by name. Attributes and labels that this model does not have get weight
    /// zero. The result is a start for [`train`](fn@crate::training::train) on another corpus.
    pub fn weights_for(&self, attributes: &Vocabulary, labels: &Vocabulary) -> Weights {
        let mut weights = Weights::zeros(attributes.len(), labels.len());
        let known: Vec<(usize, usize)> = labels
            .iter()
            .enumerate()
            .filter_map(|(k, label)| Some((k, self.labels.get(label)? as usize)))
            .collect();
        let rows = attributes
            .iter()
            .enumerate()
            .filter_map(|(a, name)| Some((a, self.attributes.get(name)? as usize)));
        let ends = (0..3).map(|end| (attributes.len() + end, self.attributes.len() + end));
        for (to, from) in rows.chain(ends) {
            for &(k, old) in &known {
                weights.emission[[to, k]] = self.weights.emission[[from, old]];
            }
        }
        for &(j, old_j) in &known {
            for &(k, old_k) in &known {
                weights.transition[[j, k]] = self.weights.transition[[old_j, old_k]];
            }
        }
        weights
    }

    /// The attributes.
    pub fn attributes(&self) -> &Vocabulary {
        &self.attributes
    }

    /// The labels.
    pub fn labels(&self) -> &Vocabulary {
        &self.labels
    }

    /// The weights.
    pub fn weights(&self) -> &Weights {
        &self.weights
    }

    /// The table of the weights by name, which is made once.
    pub(crate) fn records(&self) -> Arc<Records> {
        let make = || Arc::new(Records::new(&self.attributes, &self.weights));
        self.tables.0.get_or_init(make).clone()
    }

    /// The `count` weights of attributes with the largest absolute values, with attribute and label. O(A K).
    pub fn largest_state_weights(&self, count: usize) -> Vec<(&str, &str, f64)> {
        let attributes = self.weights.attributes();
        let all =
            self.weights.emission.indexed_iter().filter(|&((a, _), w)| a < attributes && *w != 0.0);
        let name = |((a, k), &w): ((usize, usize), &f64)| {
            (self.attributes.name(a as u32), self.labels.name(k as u32), w)
        };
        largest(all.map(name).collect(), count)
    }

    /// The `count` weights of attributes for one label with the largest absolute values. `None` for a label that the model does
    /// not have.
    pub fn largest_weights_of(&self, label: &str, count: usize) -> Option<Vec<(&str, f64)>> {
        let k = self.labels.get(label)? as usize;
        let column = self.weights.emission.column(k);
        let nonzero =
            column.iter().take(self.attributes.len()).enumerate().filter(|(_, w)| **w != 0.0);
        let named = nonzero.map(|(a, &w)| (self.attributes.name(a as u32), "", w)).collect();
        Some(largest(named, count).into_iter().map(|(name, _, w)| (name, w)).collect())
    }

    /// The `count` transition weights with the largest absolute values, with both labels.
    pub fn largest_transition_weights(&self, count: usize) -> Vec<(&str, &str, f64)> {
        let name = |((j, k), &w): ((usize, usize), &f64)| {
            (self.labels.name(j as u32), self.labels.name(k as u32), w)
        };
        largest(
            self.weights.transition.indexed_iter().filter(|(_, w)| **w != 0.0).map(name).collect(),
            count,
        )
    }

    /// Sets weights of absolute value at most `threshold` to zero, and removes attributes that have no other weights. Returns
    /// the number of attributes removed. The certificate in `report` still belongs to the model before the change.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a negative threshold.
    pub fn prune(&mut self, threshold: f64) -> Result<usize, Error> {
        Invalid::check_nonnegative("threshold", threshold)?;
        let before = self.attributes.len();
        for w in self.weights.emission.iter_mut().chain(&mut self.weights.transition) {
            if w.abs() <= threshold {
                *w = 0.0;
            }
        }
        let used = |a: &u32| self.weights.emission.row(*a as usize).iter().any(|&w| w != 0.0);
        let kept: Vec<u32> = (0..before as u32).filter(used).collect();
        let rows = kept.iter().map(|&a| a as usize).chain(before..before + 3);
        let mut emission = Array2::zeros((kept.len() + 3, self.labels.len()));
        for (mut to, from) in emission.outer_iter_mut().zip(rows) {
            to.assign(&self.weights.emission.row(from));
        }
        self.attributes = kept.iter().map(|&a| self.attributes.name(a)).collect();
        self.weights.emission = emission;
        self.tables = Tables::default();
        Ok(before - kept.len())
    }

    /// Number of weights that are not zero.
    pub fn nonzero_weights(&self) -> usize {
        let all = self.weights.emission.iter().chain(&self.weights.transition);
        all.filter(|&&w| w != 0.0).count()
    }
}

fn largest<'a>(
    mut all: Vec<(&'a str, &'a str, f64)>,
    count: usize,
) -> Vec<(&'a str, &'a str, f64)> {
    let by_size = |a: &(&str, &str, f64), b: &(&str, &str, f64)| {
        b.2.abs().total_cmp(&a.2.abs()).then_with(|| (a.0, a.1).cmp(&(b.0, b.1)))
    };
    if count < all.len() && count > 0 {
        all.select_nth_unstable_by(count - 1, by_size);
    }
    all.truncate(count);
    all.sort_by(by_size);
    all
}

/// Checked weights, with contiguous rows as a tagger needs them.
fn fitting(mut weights: Weights, attributes: usize, labels: usize) -> Result<Weights, Error> {
    weights.check()?;
    Invalid::check_length("attributes of the weights", attributes, weights.attributes())?;
    Invalid::check_length("labels of the weights", labels, weights.labels())?;
    for matrix in [&mut weights.emission, &mut weights.transition] {
        if !matrix.is_standard_layout() {
            *matrix = matrix.as_standard_layout().into_owned();
        }
    }
    Ok(weights)
}

impl Saved for CrfModel {
    const KIND: &'static str = "conditional random field";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        self.weights.check().map_err(|error| error.to_string())
    }
}

/// The content of a file: the weights that are not zero.
#[derive(Serialize, Deserialize)]
struct File {
    labels: Vocabulary,
    attributes: Vocabulary,
    /// The nonzero entries of `W`. The rows after the attributes are bias, begin and end.
    state: Sparse,
    /// `M`
    transition: Sparse,
    report: Option<Report>,
    #[serde(default)]
    template: Option<Template>,
}

/// A matrix by rows: the number of entries in each row, and the columns and values of all entries. JSON stores long lists of
/// numbers compactly and reads them fast.
#[derive(Serialize, Deserialize)]
struct Sparse {
    counts: Vec<u32>,
    columns: Vec<u32>,
    weights: Vec<f64>,
}

impl From<&Array2<f64>> for Sparse {
    fn from(matrix: &Array2<f64>) -> Sparse {
        let mut sparse = Sparse { counts: Vec::new(), columns: Vec::new(), weights: Vec::new() };
        for row in matrix.outer_iter() {
            let before = sparse.columns.len();
            for (k, &w) in row.iter().enumerate().filter(|(_, w)| **w != 0.0) {
                sparse.columns.push(k as u32);
                sparse.weights.push(w);
            }
            sparse.counts.push((sparse.columns.len() - before) as u32);
        }
        sparse
    }
}

impl Sparse {
    /// Writes the entries into a matrix of zeros.
    fn write(&self, what: &str, matrix: &mut Array2<f64>) -> Result<(), String> {
        let rows = matrix.nrows();
        if self.counts.len() != rows {
            return Err(format!("{what} weights of {} rows; expected {rows}", self.counts.len()));
        }
        let total = self.counts.iter().map(|&count| u64::from(count)).sum::<u64>();
        if self.columns.len() as u64 != total || self.weights.len() as u64 != total {
            let (columns, weights) = (self.columns.len(), self.weights.len());
            return Err(format!(
                "{what} weights: {total} counted, {columns} columns, {weights} values"
            ));
        }
        let mut entries = self.columns.iter().zip(&self.weights);
        for (r, &count) in self.counts.iter().enumerate() {
            for (&column, &w) in entries.by_ref().take(count as usize) {
                let place = matrix.get_mut([r, column as usize]);
                *place.ok_or_else(|| {
                    format!("{what} weight at [{r}, {column}], outside the model")
                })? = w;
            }
        }
        Ok(())
    }
}

impl From<CrfModel> for File {
    fn from(model: CrfModel) -> File {
        File {
            state: Sparse::from(&model.weights.emission),
            transition: Sparse::from(&model.weights.transition),
            labels: model.labels,
            attributes: model.attributes,
            report: model.report,
            template: model.template,
        }
    }
}

impl TryFrom<File> for CrfModel {
    type Error = String;

    fn try_from(file: File) -> Result<CrfModel, String> {
        let mut weights = Weights::zeros(file.attributes.len(), file.labels.len());
        file.state.write("state", &mut weights.emission)?;
        file.transition.write("transition", &mut weights.transition)?;
        let model = CrfModel::new(file.attributes, file.labels, weights, file.report);
        let model = model.map_err(|error| error.to_string())?;
        Ok(CrfModel { template: file.template, ..model })
    }
}
