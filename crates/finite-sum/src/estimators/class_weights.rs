//! Weights of whole classes.

use std::collections::BTreeMap;

use fenchel_erm::parts::term_scales;
use fenchel_linalg::Invalid;
use fenchel_linalg::labels::{Classes, Label};
use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The weight of each class in a fit, as scikit-learn's `class_weight`. A row gets the weight of its class. In
/// `fit_with` this weight is multiplied by the row's own weight.
///
/// ```
/// use fenchel_finite_sum::ClassWeights;
///
/// let y = ["no", "no", "no", "yes"];
/// assert_eq!(ClassWeights::Balanced.weights(&y)?, [2.0 / 3.0, 2.0 / 3.0, 2.0 / 3.0, 2.0]);
/// assert_eq!(ClassWeights::of([("yes", 3.0)]).weights(&y)?, [1.0, 1.0, 1.0, 3.0]);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum ClassWeights {
    /// All rows have weight 1.
    #[default]
    Equal,
    /// All classes have the same total weight. With `k` classes, a row of class `c` has weight `n / (k n_c)`, where
    /// `n_c` is the number of rows of the class.
    Balanced,
    /// A weight `>= 0` for each of the given labels. All other labels have weight 1. Use [`of`](ClassWeights::of) to
    /// make it. The key is the label as `{:?}` prints it, without the quotes of a string.
    Labels(BTreeMap<String, f64>),
}

impl ClassWeights {
    /// Sets the weights of some labels. All other labels have weight 1. The labels have the type that the model is
    /// fitted to, or they are strings.
    pub fn of<L: Label>(weights: impl IntoIterator<Item = (L, f64)>) -> Self {
        ClassWeights::Labels(weights.into_iter().map(|(label, w)| (name(&label), w)).collect())
    }

    /// Returns the weight of every row, which depends on its label.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are no labels, if a label is NaN or infinite, if a weight is negative or not
    /// finite, or if a label with a weight has no rows.
    pub fn weights<L: Label>(&self, labels: &[L]) -> Result<Vec<f64>, Error> {
        Ok(self.rows(labels, None)?)
    }

    /// The product of the weights of classes and rows. It is `None` if neither classes nor rows have weights of their
    /// own.
    pub(super) fn times<L: Label>(
        &self,
        labels: ArrayView1<L>,
        rows: Option<ArrayView1<f64>>,
    ) -> Result<Option<Vec<f64>>, Invalid> {
        match self {
            ClassWeights::Equal => Ok(None),
            _ => self.rows(&labels.to_vec(), rows.map(|w| w.to_vec()).as_deref()).map(Some),
        }
    }

    fn rows<L: Label>(&self, labels: &[L], rows: Option<&[f64]>) -> Result<Vec<f64>, Invalid> {
        let (classes, codes) = Classes::from_labels(labels)?;
        let own = |row: usize| rows.map_or(1.0, |rows| rows[row]);
        if let Some(rows) = rows {
            term_scales(rows, labels.len())?;
        }
        let of_class = match self {
            ClassWeights::Equal => vec![1.0; classes.len()],
            ClassWeights::Balanced => {
                let mut totals = vec![0.0; classes.len()];
                codes.iter().enumerate().for_each(|(row, &code)| totals[code] += own(row));
                let share = totals.iter().sum::<f64>() / classes.len() as f64;
                // A class whose rows all weigh nothing stays at that.
                totals.iter().map(|&total| if total > 0.0 { share / total } else { 1.0 }).collect()
            }
            ClassWeights::Labels(weights) => named(&classes, weights)?,
        };
        Ok(codes.iter().enumerate().map(|(row, &code)| of_class[code] * own(row)).collect())
    }
}

/// One weight per class.
fn named<L: Label>(
    classes: &Classes<L>,
    weights: &BTreeMap<String, f64>,
) -> Result<Vec<f64>, Invalid> {
    let names: Vec<String> = classes.labels().iter().map(name).collect();
    let mut result = vec![1.0; classes.len()];
    for (label, &weight) in weights {
        let refused = |reason| Err(Invalid::Layout { what: "class weights", reason });
        if !(weight >= 0.0 && weight.is_finite()) {
            return refused(format!("that of {label} is {weight}; expected a finite number >= 0"));
        }
        match names.iter().position(|name| name == label) {
            Some(class) => result[class] = weight,
            None => {
                return refused(format!("no row has the label {label}; the labels are {names:?}"));
            }
        }
    }
    Ok(result)
}

/// A label as text: as `{:?}` prints it, without the quotes of a text.
fn name<L: Label>(label: &L) -> String {
    let text = format!("{label:?}");
    let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inner.unwrap_or(&text).to_owned()
}
