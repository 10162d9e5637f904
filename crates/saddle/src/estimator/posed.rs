//! Conversion of data and labels to a problem.

use fenchel_linalg::labels::{Classes, Label};
use fenchel_linalg::text::short;
use fenchel_linalg::{AsDesign, Design, Invalid, Names};
use fenchel_optim::Refusal;
use ndarray::ArrayView1;

use super::settings::{ClassWeights, MulticlassL1};
use crate::Error;
use crate::multiclass::Samples;
use crate::multiclass::preparation::Preparation;

/// The sizes of features that can be fitted as they are. Beyond them squares overflow or vanish.
const SIZES: std::ops::RangeInclusive<f64> = 1e-151..=1e151;

/// Data and labels in the form that the problem needs.
pub(crate) struct Posed<L> {
    pub(crate) samples: Samples,
    pub(crate) classes: Classes<L>,
    pub(crate) names: Names,
    /// What was subtracted from each column. It is empty if nothing was.
    pub(crate) centres: Vec<f64>,
    /// The factor of each column. It is empty if columns were not standardised.
    pub(crate) scales: Vec<f64>,
    /// Columns that were not standardised were all divided by this number, the size of the largest: weights of the
    /// samples are those of the data times it. It is 1 if columns were standardised.
    pub(crate) unit: f64,
    /// Whether the last feature of the samples is constant.
    pub(crate) intercept: bool,
}

impl<L: Label> Posed<L> {
    pub(crate) fn new<X: AsDesign + ?Sized>(
        estimator: &MulticlassL1,
        x: &X,
        y: ArrayView1<L>,
        weights: Option<ArrayView1<f64>>,
    ) -> Result<Self, Error> {
        let design = &x.as_design()?;
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
        // Seven lists of the columns, and the weights of all classes.
        let needed = (design.columns() as u64).saturating_mul(8 * (7 + k as u64));
        let hint = "leave out columns without entries, or raise max_memory";
        Refusal::check_memory("a list of all columns", needed, estimator.max_memory, hint)?;
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
        let Moments { centres, full, sizes } =
            Moments::of(design, weights.as_deref(), estimator.intercept);
        let inverse = |size: f64| {
            let scale = 1.0 / size;
            // Weights are multiplied by it in the end, and stay numbers.
            if scale > 0.0 && scale < 1e304 { scale } else { 1.0 }
        };
        let largest = sizes.iter().fold(0.0_f64, |m, v| m.max(*v));
        let (factors, unit) = if estimator.standardise {
            (sizes.iter().map(|size| inverse(*size)).collect(), 1.0)
        } else if largest > 0.0 {
            if let Some(c) = sizes.iter().position(|size| !(size <= SIZES.end())) {
                let reason =
                    format!("the norm of column {c} overflows; divide it by its size first");
                return Err(Invalid::Layout { what: "design matrix", reason }.into());
            }
            if !SIZES.contains(&largest) {
                let reason = format!(
                    "no column has a larger root mean square than {}, whose square vanishes; divide them by their size first",
                    short(largest)
                );
                return Err(Invalid::Layout { what: "design matrix", reason }.into());
            }
            (vec![1.0 / largest; sizes.len()], largest)
        } else {
            (vec![], 1.0)
        };
        let preparation =
            Preparation { centres, full, scales: factors, intercept: estimator.intercept };
        let samples = Samples::prepared(design, &codes, k, weights.as_deref(), &preparation)?;
        let Preparation { centres, scales, .. } = preparation;
        let scales = if estimator.standardise { scales } else { vec![] };
        let (names, intercept) = (x.names().clone(), estimator.intercept);
        Ok(Posed { samples, classes, names, centres, scales, unit, intercept })
    }
}

/// Centres and sizes of the columns.
struct Moments {
    /// Weighted means. It is empty if columns are not centred.
    centres: Vec<f64>,
    /// The sparse columns that store at least half of their entries.
    full: Vec<bool>,
    /// The root mean squares of what is left, not finite where they overflow.
    sizes: Vec<f64>,
}

impl Moments {
    fn of<D: Design>(design: &D, weights: Option<&[f64]>, centred: bool) -> Moments {
        let (n, d) = (design.rows(), design.columns());
        let total = weights.map_or(n as f64, |w| w.iter().sum());
        let share = |j: usize| weights.map_or(1.0, |w| w[j]) / total;
        let (mut centres, mut full) = (vec![], vec![]);
        if centred {
            let (mut lows, mut highs) = (vec![f64::INFINITY; d], vec![f64::NEG_INFINITY; d]);
            let mut counts = vec![0_usize; d];
            centres = vec![0.0; d];
            let rows: Vec<usize> = (0..n).filter(|j| share(*j) > 0.0).collect();
            for j in &rows {
                design.row_entries(*j, |c, a| {
                    (lows[c], highs[c]) = (lows[c].min(a), highs[c].max(a));
                    counts[c] += usize::from(D::DENSE || a != 0.0);
                    centres[c] += share(*j) * a;
                });
            }
            // The mean of a constant column is that constant to the last digit, so that nothing is left of it.
            for c in (0..d).filter(|c| counts[*c] == rows.len()) {
                centres[c] = centres[c].max(lows[c]).min(highs[c]);
            }
            if !D::DENSE {
                full = counts.iter().map(|count| 2 * count >= rows.len()).collect();
            }
        }
        let centre = |c: usize| centres.get(c).copied().unwrap_or(0.0);
        let (mut tops, mut squares) = (vec![0.0_f64; d], vec![0.0; d]);
        for j in 0..n {
            design.row_entries(j, |c, a| tops[c] = tops[c].max((a - centre(c)).abs()));
        }
        // What is not stored is 0, and then minus the centre.
        let mut absent = vec![1.0; if D::DENSE { 0 } else { d }];
        for j in 0..n {
            design.row_entries(j, |c, a| {
                if tops[c] > 0.0 {
                    squares[c] += share(j) * ((a - centre(c)) / tops[c]).powi(2);
                }
                if !D::DENSE {
                    absent[c] -= share(j);
                }
            });
        }
        for (c, absent) in absent.iter().enumerate().filter(|(c, _)| tops[*c] > 0.0) {
            squares[c] += absent.max(0.0) * (centre(c) / tops[c]).powi(2);
        }
        let sizes =
            tops.iter().zip(&squares).map(|(top, square): (&f64, &f64)| top * square.sqrt());
        let sizes = sizes.collect();
        Moments { centres, full, sizes }
    }
}
