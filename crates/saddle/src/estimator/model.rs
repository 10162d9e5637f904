//! The fitted classifier.

use std::fmt;

use fenchel_linalg::labels::{Classes, Label};
use fenchel_linalg::special::softmax_in_place;
use fenchel_linalg::{AsDesign, CsrMatrix, Design, Invalid, NamedRows, Names};
use fenchel_optim::model::Saved;
use fenchel_optim::{Certificate, Refusal, Report, Status, Stop};
use ndarray::{Array1, Array2, ArrayView1};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::fitting::cut;
use super::posed::Posed;
use super::settings::{MulticlassL1, Radius, Solver};
use super::weights::{by_classes, by_rows, objective};
use crate::Error;

/// The bound on the norm counts as active if the norm of the weights is at least this share of it. Averages, and
/// weights whose smallest entries were removed, do not quite reach the bound.
const BINDS: f64 = 0.95;

/// A fitted sparse classifier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "L: Label + Deserialize<'de>"))]
pub struct MulticlassL1Model<L = f64> {
    /// Number of features.
    pub features: usize,
    /// The names of the features, if the design had them.
    #[serde(default, skip_serializing_if = "Names::is_empty")]
    pub names: Names,
    /// The non-zero weights as `(feature, class, weight)`, ordered by feature and then by class. They are for
    /// features in the units of the data.
    pub weights: Vec<(u32, u32, f64)>,
    /// One intercept per class, for features that are not centred.
    pub intercepts: Array1<f64>,
    /// The labels, ascending.
    pub classes: Classes<L>,
    /// The report of the fit, with its certificate.
    pub report: Report,
    /// The bound on the norm that was used.
    pub radius: f64,
    /// Whether the bound was active at the end: the norm of the weights is at least 95 % of it, so that a larger
    /// radius may reach a lower objective. A run that ends far from the optimum may not have reached the bound yet:
    /// `false` is conclusive only if the gap is small. After [`Radius::Search`] it says whether the bound is active at the chosen
    /// radius.
    #[serde(default)]
    pub binds: bool,
    /// The norm of the weights for the scaled features, including the intercepts.
    pub scaled_norm: f64,
    /// The method that fitted.
    pub solver: Solver,
    /// The settings of the fit, with the radius that was used.
    pub settings: MulticlassL1,
    /// What was subtracted from each feature in the fit. It is empty if features were not centred.
    #[serde(default)]
    pub centres: Vec<f64>,
    /// The factor of each feature in the fit. It is empty if features were not standardised.
    pub scales: Vec<f64>,
}

/// A report on other weights than those of the run: whether it converged is judged again.
pub(super) fn judged(report: Report, certificate: Certificate, stop: &Stop) -> Report {
    let status = match report.status {
        _ if stop.met_by(&certificate) => Status::Converged,
        Status::Converged => Status::Stopped,
        other => other,
    };
    Report { status, certificate, ..report }
}

/// The scores of a row without an intercept; all 0 for an empty row.
fn scores_of(row: &[f64], weights: &[(u32, u32, f64)], k: usize) -> Vec<f64> {
    let mut scores = vec![0.0; k];
    for (i, l, w) in weights {
        scores[*l as usize] += row.get(*i as usize).map_or(0.0, |v| v * w);
    }
    scores
}

impl<L: Label> MulticlassL1Model<L> {
    pub(super) fn new(
        settings: &MulticlassL1,
        posed: &Posed<L>,
        radius: f64,
        solver: Solver,
        u: &[f64],
        scaled_norm: f64,
        report: Report,
    ) -> Self {
        let k = posed.classes.len();
        let features = posed.samples.features() - usize::from(settings.intercept);
        let scale = |i: usize| posed.scales.get(i).copied().unwrap_or(1.0 / posed.unit);
        let weights: Vec<(u32, u32, f64)> = u[..features * k]
            .iter()
            .enumerate()
            .filter(|(_, w)| **w != 0.0)
            .map(|(e, w)| ((e / k) as u32, (e % k) as u32, w * scale(e / k)))
            .collect();
        let mut intercepts = match &u[features * k..] {
            [] => Array1::zeros(k),
            last => last.to_vec().into(),
        };
        for (l, at_centre) in scores_of(&posed.centres, &weights, k).into_iter().enumerate() {
            intercepts[l] -= at_centre;
        }
        let settings = MulticlassL1 { radius: Radius::At(radius), ..settings.clone() };
        let binds = scaled_norm >= BINDS * radius;
        let (classes, scales) = (posed.classes.clone(), posed.scales.clone());
        let (centres, names) = (posed.centres.clone(), posed.names.clone());
        MulticlassL1Model {
            features,
            names,
            weights,
            intercepts,
            classes,
            report,
            radius,
            binds,
            scaled_norm,
            solver,
            settings,
            centres,
            scales,
        }
    }

    /// The number of non-zero weights, without intercepts.
    pub fn nonzeros(&self) -> usize {
        self.weights.len()
    }

    /// The weights as a sparse matrix, with one row per feature and one column per class.
    ///
    /// # Errors
    /// [`Error::Refused`] if a number per feature takes more than `settings.max_memory`.
    pub fn matrix(&self) -> Result<CsrMatrix<f64>, Error> {
        let needed = (self.features as u64).saturating_add(1).saturating_mul(8);
        let hint = "use the list `weights`, or raise settings.max_memory";
        Refusal::check_memory("a number per feature", needed, self.settings.max_memory, hint)?;
        let mut offsets = vec![0; self.features + 1];
        self.weights.iter().for_each(|(i, ..)| offsets[*i as usize + 1] += 1);
        (0..self.features).for_each(|i| offsets[i + 1] += offsets[i]);
        let places = self.weights.iter().map(|(_, l, _)| *l).collect();
        let values = self.weights.iter().map(|(.., w)| *w).collect();
        Ok(CsrMatrix::new((self.features, self.classes.len()), offsets, places, values))
    }

    /// The scores `U'x + b`, with one row per row of `x` and one column per class. The cost per row is the number of
    /// its non-zero entries, times the non-zero weights per feature.
    ///
    /// # Errors
    /// [`Error::Invalid`] if rows are not finite, do not have the length of the weights, or are so large that a score
    /// overflows.
    pub fn decision_function<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array2<f64>, Error> {
        let design = x.as_design()?;
        Invalid::check_length("columns of the design matrix", self.features, design.columns())?;
        self.names.check_design(x.names())?;
        let matrix = self.matrix()?;
        let (starts, classes, values) = (matrix.indptr(), matrix.indices(), matrix.data());
        let starts = starts.raw_storage();
        let mut scores = Array2::zeros((design.rows(), self.classes.len()));
        for j in 0..design.rows() {
            let mut row = scores.row_mut(j);
            row.assign(&self.intercepts);
            design.row_entries(j, |c, a| {
                for e in starts[c]..starts[c + 1] {
                    row[classes[e] as usize] += a * values[e];
                }
            });
            if let Some(score) = row.iter().find(|score| !score.is_finite()) {
                let reason = format!("{score} at row {j}; the features times the weights overflow");
                return Err(Invalid::Layout { what: "scores", reason }.into());
            }
        }
        Ok(scores)
    }

    /// Predicts one label per row: the label with the largest score, and the first of them if several scores are
    /// equal.
    ///
    /// # Errors
    /// The errors of [`decision_function`](MulticlassL1Model::decision_function).
    pub fn predict<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array1<L>, Error> {
        let best = |row: ArrayView1<f64>| {
            let largest = |best: usize, l: usize| if row[l] > row[best] { l } else { best };
            self.classes.labels()[(1..row.len()).fold(0, largest)].clone()
        };
        Ok(self.decision_function(x)?.rows().into_iter().map(best).collect())
    }

    /// The softmax of the scores. These are probabilities if the loss is the softmax.
    ///
    /// # Errors
    /// The errors of [`decision_function`](MulticlassL1Model::decision_function); [`Error::Refused`] for the hinge, whose scores
    /// are not logarithms of probabilities.
    pub fn predict_proba<X: AsDesign + ?Sized>(&self, x: &X) -> Result<Array2<f64>, Error> {
        if self.settings.loss == crate::multiclass::MulticlassLoss::Hinge {
            let what = "the hinge loss; fit with MulticlassLoss::Softmax".to_owned();
            return Err(Refusal::unsupported("predict_proba", what).into());
        }
        let mut scores = self.decision_function(x)?;
        for mut row in scores.rows_mut() {
            softmax_in_place(row.as_slice_mut().expect("rows are contiguous"));
        }
        Ok(scores)
    }

    /// The accuracy: the share of rows whose label is predicted correctly. A label that was not in the fit, or a NaN,
    /// counts as an error.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is not one label per row, if there are no rows, or if rows are invalid.
    pub fn score<'y, X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, L>>,
    ) -> Result<f64, Error>
    where
        L: 'y,
    {
        let (predicted, truth) = (self.predict(x)?, y.into());
        Invalid::check_length("labels", predicted.len(), truth.len())?;
        if truth.is_empty() {
            return Err(Invalid::Empty { what: "labels" }.into());
        }
        let right =
            predicted.iter().zip(truth).filter(|(p, t)| t.is_label() && p.order(t).is_eq()).count();
        Ok(right as f64 / predicted.len() as f64)
    }

    /// Returns the model without the weights below `threshold`, which is in units of the scaled features. The new
    /// model has its own certificate. The objective is recomputed on the data of the fit, and the lower bound stays
    /// valid. If the certificate no longer meets `stop`, the status is `Stopped`.
    ///
    /// # Errors
    /// The errors of [`MulticlassL1::fit`]; [`Error::Invalid`] for a negative threshold, or if the objective of this model on
    /// the data differs from the one in its report. Then the data are not those of the fit. (After a fit with row
    /// weights, use [`pruned_weighted`](MulticlassL1Model::pruned_weighted).)
    pub fn pruned<'y, X: AsDesign + ?Sized>(
        &self,
        threshold: f64,
        x: &X,
        y: impl Into<ArrayView1<'y, L>>,
    ) -> Result<Self, Error>
    where
        L: 'y,
    {
        self.prune(threshold, x, y.into(), None)
    }

    /// Does the same as [`pruned`](MulticlassL1Model::pruned), after a fit with row weights.
    ///
    /// # Errors
    /// The errors of [`pruned`](MulticlassL1Model::pruned).
    pub fn pruned_weighted<'y, 'w, X: AsDesign + ?Sized>(
        &self,
        threshold: f64,
        x: &X,
        y: impl Into<ArrayView1<'y, L>>,
        weights: impl Into<ArrayView1<'w, f64>>,
    ) -> Result<Self, Error>
    where
        L: 'y,
    {
        self.prune(threshold, x, y.into(), Some(weights.into()))
    }

    /// The weights for the scaled features of data, and a bound on the rounding error of their intercepts.
    pub(super) fn scaled_weights(
        &self,
        posed: &Posed<L>,
        what: &'static str,
    ) -> Result<(Vec<f64>, f64), Error> {
        let features = posed.samples.features() - usize::from(posed.intercept);
        Invalid::check_length("columns of the design matrix", self.features, features)?;
        let (found, known) = (posed.classes.labels(), self.classes.labels());
        let same = found.len() == known.len()
            && found.iter().zip(known).all(|(found, known)| found.order(known).is_eq());
        if !same {
            let reason = "their labels are not those of the fit".to_owned();
            return Err(Invalid::Layout { what, reason }.into());
        }
        let k = self.classes.len();
        let mut u = vec![0.0; posed.samples.features() * k];
        for (i, l, w) in &self.weights {
            let scale = posed.scales.get(*i as usize).copied().unwrap_or(1.0 / posed.unit);
            u[*i as usize * k + *l as usize] = w / scale;
        }
        // The intercept at the centres is what may be left of large terms.
        let mut lost = 0.0;
        if posed.intercept {
            let at_centres = scores_of(&posed.centres, &self.weights, k);
            for (l, at_centre) in at_centres.into_iter().enumerate() {
                u[self.features * k + l] = self.intercepts[l] + at_centre;
                lost += 64.0 * f64::EPSILON * at_centre.abs();
            }
        }
        Ok((u, lost))
    }

    fn prune<X: AsDesign + ?Sized>(
        &self,
        threshold: f64,
        x: &X,
        y: ArrayView1<L>,
        weights: Option<ArrayView1<f64>>,
    ) -> Result<Self, Error> {
        Invalid::check_nonnegative("threshold", threshold)?;
        let posed = Posed::new(&self.settings, x, y, weights)?;
        let k = self.classes.len();
        let (u, lost) = self.scaled_weights(&posed, "data")?;
        let problem = self.settings.problem(&posed.samples, posed.unit, self.radius)?;
        let mut columns = by_classes(&u, k);
        let known = self.report.certificate.objective().unwrap_or(f64::NAN);
        let found = objective(&problem, &columns);
        if !((found - known).abs() <= 1e-9 * (1.0 + known.abs()) + lost) {
            let reason = format!(
                "the model's objective on them is {found}, and {known} on the data of the fit"
            );
            return Err(Invalid::Layout { what: "data", reason }.into());
        }
        cut(&mut columns, threshold);
        let lower_bound = match self.report.certificate {
            Certificate::Gap { lower_bound, .. } => lower_bound,
            _ => f64::NEG_INFINITY,
        };
        let certificate = problem.gap(objective(&problem, &columns), lower_bound);
        let report = judged(self.report, certificate, &self.settings.stop);
        let u = by_rows(&columns, posed.samples.features(), k);
        let norm = problem.norm(&u) / posed.unit;
        Ok(MulticlassL1Model::new(
            &self.settings,
            &posed,
            self.radius,
            self.solver,
            &u,
            norm,
            report,
        ))
    }
}

/// The intercepts and the features with a weight, a line each and a column for each class.
impl<L: Label> fmt::Display for MulticlassL1Model<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut support: Vec<u32> = self.weights.iter().map(|(i, ..)| *i).collect();
        support.dedup();
        let names: Names =
            support.iter().map(|i| self.names.of(*i as usize).into_owned()).collect();
        let mut values = Array2::zeros((support.len(), self.classes.len()));
        for (i, l, w) in &self.weights {
            if let Ok(row) = support.binary_search(i) {
                values[[row, *l as usize]] = *w;
            }
        }
        let headings = self.classes.labels().iter().map(|label| format!("{label:?}")).collect();
        let first = Some(("(intercept)", self.intercepts.to_vec()));
        writeln!(f, "{} of {} features have a weight other than 0", support.len(), self.features)?;
        NamedRows { headings, first, names: &names, values: values.view() }.fmt(f)
    }
}

impl<L: Label + Serialize + DeserializeOwned> Saved for MulticlassL1Model<L> {
    const KIND: &'static str = "sparse multiclass classifier";
    const VERSION: u32 = 1;

    fn check(&self) -> Result<(), String> {
        let (d, k) = (self.features, self.classes.len());
        if k < 2 {
            return Err(format!("{k} classes; expected at least 2"));
        }
        if d == 0 || d >= u32::MAX as usize {
            return Err(format!("{d} features; expected a number of 1 to 2^32 - 2"));
        }
        self.names.check(d).map_err(|error| error.to_string())?;
        if self.intercepts.len() != k {
            return Err(format!("{} intercepts; expected one a class, {k}", self.intercepts.len()));
        }
        for (what, list, asked) in [
            ("scales", &self.scales, self.settings.standardise),
            ("centres", &self.centres, self.settings.intercept),
        ] {
            if !(list.is_empty() || (list.len() == d && asked)) {
                return Err(format!(
                    "{} {what}; expected one a feature, {d}, or none where the settings ask for none",
                    list.len()
                ));
            }
        }
        let numbers = self.intercepts.iter().chain(&self.scales).chain(&self.centres);
        if let Some(place) = numbers.clone().position(|v| !v.is_finite()) {
            return Err(format!("intercept, scale or centre {place} is not finite"));
        }
        if !self.settings.intercept && self.intercepts.iter().any(|b| *b != 0.0) {
            return Err("an intercept, where the settings ask for none".into());
        }
        if let Some(place) = self.scales.iter().position(|s| !(*s > 0.0)) {
            return Err(format!("scale {place} is {}; expected a number > 0", self.scales[place]));
        }
        if !(self.radius > 0.0 && self.radius.is_finite()) {
            return Err(format!("the radius is {}; expected a finite number > 0", self.radius));
        }
        if self.settings.radius != Radius::At(self.radius) {
            return Err(format!(
                "the radius is {} and {:?} in the settings",
                self.radius, self.settings.radius
            ));
        }
        if !(self.scaled_norm >= 0.0 && self.scaled_norm.is_finite()) {
            return Err(format!("the norm is {}; expected a number >= 0", self.scaled_norm));
        }
        if self.binds != (self.scaled_norm >= BINDS * self.radius) {
            return Err(format!(
                "binds is {} at a norm of {} and a radius of {}",
                self.binds, self.scaled_norm, self.radius
            ));
        }
        for (at, (i, l, w)) in self.weights.iter().enumerate() {
            if !(w.is_finite() && (*i as usize) < d && (*l as usize) < k) {
                return Err(format!(
                    "weight {at} is ({i}, {l}, {w}); expected a finite one of {d} x {k}"
                ));
            }
        }
        let ascends = self.weights.windows(2).all(|w| (w[0].0, w[0].1) < (w[1].0, w[1].1));
        if ascends {
            Ok(())
        } else {
            Err("weights are not in order of features and classes".into())
        }
    }
}
