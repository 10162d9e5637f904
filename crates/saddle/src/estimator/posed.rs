//! Conversion of data and labels to a problem.

use fenchel_linalg::labels::{Classes, Label};
use fenchel_linalg::{Design, Invalid};
use ndarray::ArrayView1;

use super::{ClassWeights, MulticlassL1};
use crate::Error;
use crate::multiclass::Samples;
use crate::multiclass::samples::Preparation;

/// Data and labels in the form that the problem needs.
pub(crate) struct Posed<L> {
    pub(crate) samples: Samples,
    pub(crate) classes: Classes<L>,
    /// The factor of each column. It is empty if columns were not scaled.
    pub(crate) scales: Vec<f64>,
}

impl<L: Label> Posed<L> {
    pub(crate) fn new<D: Design>(
        estimator: &MulticlassL1,
        design: &D,
        y: ArrayView1<L>,
        weights: Option<ArrayView1<f64>>,
    ) -> Result<Self, Error> {
        Invalid::check_length("labels", design.rows(), y.len())?;
        let labels = y.to_vec();
        let (classes, codes) = Classes::from_labels(&labels)?;
        if classes.len() < 2 {
            let (label, expected) =
                (format!("{:?}", labels[0]), "two distinct labels, but all rows have this one");
            return Err(Invalid::Class { row: 0, label, expected }.into());
        }
        if let Some(weights) = weights {
            Invalid::check_length("weights", design.rows(), weights.len())?;
        }
        let k = classes.len();
        let of_class = match &estimator.class_weights {
            ClassWeights::Uniform => None,
            ClassWeights::Balanced => {
                let mut counts = vec![0.0; k];
                codes.iter().for_each(|c| counts[*c] += 1.0);
                Some(counts.iter().map(|c| 1.0 / f64::max(*c, 1.0)).collect::<Vec<f64>>())
            }
            ClassWeights::Each(each) => {
                Invalid::check_length("class_weights", k, each.len())?;
                if let Some(at) = each.iter().position(|w| !(*w >= 0.0 && w.is_finite())) {
                    let (weight, label) = (each[at], &classes.labels()[at]);
                    let reason =
                        format!("{weight} for label {label:?}; expected a finite number >= 0");
                    return Err(Invalid::Layout { what: "class_weights", reason }.into());
                }
                // Only their ratios matter: the largest is 1, so that none overflows or vanishes.
                let top = each.iter().fold(0.0_f64, |m, w| m.max(*w));
                Some(each.iter().map(|w| if top > 0.0 { w / top } else { *w }).collect())
            }
        };
        let weights: Option<Vec<f64>> = match (weights, of_class) {
            (None, None) => None,
            (Some(w), None) => Some(w.to_vec()),
            (w, Some(each)) => {
                Some((0..codes.len()).map(|j| each[codes[j]] * w.map_or(1.0, |w| w[j])).collect())
            }
        };
        let scales = if estimator.standardise { inverse_sizes(design) } else { vec![] };
        let preparation = Preparation { scales: scales.clone(), intercept: estimator.intercept };
        let samples = Samples::prepared(design, &codes, k, weights.as_deref(), &preparation)?;
        Ok(Posed { samples, classes, scales })
    }
}

/// 1 divided by the root mean square of each column, or 1 if that is not finite. Entries are divided by the largest
/// one before they are squared, so that squares neither overflow nor vanish.
fn inverse_sizes<D: Design>(design: &D) -> Vec<f64> {
    let mut tops = vec![0.0_f64; design.columns()];
    for j in 0..design.rows() {
        design.row_entries(j, |c, a| tops[c] = tops[c].max(a.abs()));
    }
    let mut squares = vec![0.0; design.columns()];
    for j in 0..design.rows() {
        design.row_entries(j, |c, a| {
            if tops[c] > 0.0 {
                squares[c] += (a / tops[c]).powi(2);
            }
        });
    }
    let n = design.rows() as f64;
    let inverse = |(square, top): (&f64, &f64)| {
        let scale = (n / square).sqrt() / top;
        // Weights are multiplied by it in the end, and stay numbers.
        if scale > 0.0 && scale < 1e304 { scale } else { 1.0 }
    };
    squares.iter().zip(&tops).map(inverse).collect()
}
