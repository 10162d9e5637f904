//! The problem: data, class codes, regulariser, checked once.

use fenchel_linalg::special::softmax_loss;
use fenchel_linalg::{Design, Invalid, parallel, row_norms_squared};
use fenchel_optim::prox::Groups;
use fenchel_optim::{Regulariser, Report, Status};
use serde::{Deserialize, Serialize};

use super::product::{multiply_rows, multiply_transposed_rows};
use crate::Error;
use crate::recession::no_point;
use crate::shared::{check_parts, check_shape, check_weights, check_whole, rows_and_penalties};
use crate::terms::term_scales;

/// The curvature of `log sum exp`: no eigenvalue of its Hessian exceeds 1/2.
pub const CURVATURE: f64 = 0.5;
/// Numbers of a table that a thread takes at a time: their exponentials take some ten times as long as it takes to share them.
const NUMBERS_PER_PART: usize = 1 << 13;

/// Regularised multinomial logistic regression; see the [module](super).
#[derive(Debug, Clone)]
pub struct MulticlassProblem<'a, D, R> {
    design: D,
    labels: &'a [usize],
    classes: usize,
    regulariser: R,
    l2: f64,
    intercepts: bool,
    norms_squared: Vec<f64>,
    /// `c_i`, where the rows have weights.
    scales: Option<Vec<f64>>,
    /// `n_k = sum_i c_i [y_i = k]`: the rows of each class.
    counts: Vec<f64>,
}

/// A point: weights `W`, `d x r` row-major, and `r` intercepts (zeros in a problem without).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MulticlassPoint {
    /// The weight of feature `c` for class `k` is entry `c r + k`.
    pub weights: Vec<f64>,
    /// One intercept a class.
    pub intercepts: Vec<f64>,
}

impl MulticlassPoint {
    /// The origin.
    pub fn zero(columns: usize, classes: usize) -> Self {
        MulticlassPoint { weights: vec![0.0; columns * classes], intercepts: vec![0.0; classes] }
    }

    fn parts(&self) -> [&[f64]; 2] {
        [&self.weights, &self.intercepts]
    }
}

/// One group a feature, its weights for the `classes` classes: with [`GroupNorm`](crate::prox::GroupNorm) a
/// feature counts for all classes or for none. The weights of the groups are `sqrt(classes)`.
///
/// # Errors
/// [`Invalid::Empty`] for no classes.
pub fn feature_groups(columns: usize, classes: usize) -> Result<Groups, Invalid> {
    Groups::consecutive(&vec![classes; columns])
}

impl<'a, D: Design, R: Regulariser> MulticlassProblem<'a, D, R> {
    rows_and_penalties!();

    /// Checks the data. `labels` are codes `0..classes`, one a row. O(nnz) for the norms of the rows.
    ///
    /// # Errors
    /// [`Invalid::Empty`] for no rows or columns; [`Invalid::Length`] for labels that are not one a row;
    /// [`Invalid::Label`] for a code out of range; [`Invalid::Parameter`] for fewer than two classes, more weights
    /// than can be counted, or a parameter of the regulariser out of range; [`Error::Refused`] for so many columns that one vector of
    /// weights takes more than 4 GiB.
    pub fn new(
        design: D,
        labels: &'a [usize],
        classes: usize,
        regulariser: R,
        l2: f64,
    ) -> Result<Self, Error> {
        check_whole(&design)?;
        check_shape(&design)?;
        Invalid::check_length("labels", design.rows(), labels.len())?;
        let parameter = |expected| Invalid::Parameter {
            name: "number of classes",
            value: classes as f64,
            expected,
        };
        if classes < 2 {
            return Err(parameter("at least 2").into());
        }
        let largest = design.columns().max(design.rows());
        if largest.checked_mul(classes).is_none_or(|size| size > isize::MAX as usize / 8) {
            return Err(parameter("few enough for the weights and scores to be counted").into());
        }
        check_weights(&design, classes)?;
        if let Some(row) = labels.iter().position(|&label| label >= classes) {
            let expected = "a class code below the number of classes";
            return Err(Invalid::Label { row, value: labels[row] as f64, expected }.into());
        }
        Invalid::check_nonnegative("l2", l2)?;
        regulariser.check(design.columns() * classes)?;
        let norms_squared = row_norms_squared(&design);
        let mut problem = MulticlassProblem {
            design,
            labels,
            classes,
            regulariser,
            l2,
            intercepts: false,
            norms_squared,
            scales: None,
            counts: Vec::new(),
        };
        problem.check_rows()?;
        problem.count();
        Ok(problem)
    }

    /// The rows of each class, weighted.
    fn count(&mut self) {
        self.counts = vec![0.0; self.classes];
        for (i, &label) in self.labels.iter().enumerate() {
            self.counts[label] += self.term_weight(i);
        }
    }

    /// The same problem with one weight a row: it minimises `(1/W) sum_i w_i phi_i(W, b) + R(W)`.
    ///
    /// A whole weight is as good as that many copies of the row; a row of weight 0 is legal and without any effect. Only
    /// the proportions matter. O(n), and `n` numbers of memory.
    ///
    /// # Errors
    /// [`Invalid::Length`] for weights that are not one a row; [`Invalid::Layout`] for a negative or non-finite
    /// weight, and if all of a class are 0 in a problem with intercepts; [`Invalid::Parameter`] if all are 0.
    pub fn with_weights(self, weights: &[f64]) -> Result<Self, Error> {
        let scales = term_scales(weights, self.n())?;
        let mut problem = MulticlassProblem { scales: Some(scales), ..self };
        problem.count();
        problem.check_rows()?;
        if problem.intercepts { problem.with_intercepts() } else { Ok(problem) }
    }

    /// The same problem with an unpenalised intercept for every class.
    ///
    /// # Errors
    /// [`Invalid::Layout`] with the first class that has no row, or none of positive weight: its intercept would be
    /// minus infinity.
    pub fn with_intercepts(self) -> Result<Self, Error> {
        if let Some(class) = self.counts.iter().position(|&count| count == 0.0) {
            let (what, found, remedy) = if self.labels.contains(&class) {
                (
                    "sample weights",
                    "all rows of class {} have weight 0",
                    "give one of them a positive weight",
                )
            } else {
                ("labels", "no row has class {}", "number the classes that have rows from 0")
            };
            let found = found.replace("{}", &class.to_string());
            let reason = format!(
                "{found}, so that its intercept would be minus infinity; {remedy}, or fit without intercepts"
            );
            return Err(Invalid::Layout { what, reason }.into());
        }
        Ok(MulticlassProblem { intercepts: true, ..self })
    }

    /// The same data with another regulariser.
    ///
    /// # Errors
    /// [`Invalid`] for penalties out of range.
    pub fn penalised<S: Regulariser>(
        self,
        regulariser: S,
        l2: f64,
    ) -> Result<MulticlassProblem<'a, D, S>, Error> {
        let MulticlassProblem {
            design,
            labels,
            classes,
            intercepts,
            norms_squared,
            scales,
            counts,
            ..
        } = self;
        Invalid::check_nonnegative("l2", l2)?;
        regulariser.check(design.columns() * classes)?;
        Ok(MulticlassProblem {
            design,
            labels,
            classes,
            regulariser,
            l2,
            intercepts,
            norms_squared,
            scales,
            counts,
        })
    }

    /// The same problem on another storage of the same numbers.
    pub(super) fn stored_as<E: Design>(&self, design: E) -> MulticlassProblem<'a, E, R>
    where
        R: Clone,
    {
        self.with_rows(design, self.norms_squared.clone())
    }

    /// The same labels, classes and penalties with another design.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for rows too large to work with.
    pub fn seen_through<E: Design>(&self, design: E) -> Result<MulticlassProblem<'a, E, R>, Error>
    where
        R: Clone,
    {
        let norms_squared = row_norms_squared(&design);
        let problem = self.with_rows(design, norms_squared);
        problem.check_rows()?;
        Ok(problem)
    }

    fn with_rows<E: Design>(
        &self,
        design: E,
        norms_squared: Vec<f64>,
    ) -> MulticlassProblem<'a, E, R>
    where
        R: Clone,
    {
        MulticlassProblem {
            design,
            labels: self.labels,
            classes: self.classes,
            regulariser: self.regulariser.clone(),
            l2: self.l2,
            intercepts: self.intercepts,
            norms_squared,
            scales: self.scales.clone(),
            counts: self.counts.clone(),
        }
    }

    /// `c_i`, where the rows have weights.
    pub(crate) fn scales(&self) -> Option<&[f64]> {
        self.scales.as_deref()
    }

    /// The class codes.
    pub fn labels(&self) -> &'a [usize] {
        self.labels
    }

    /// `r`, the number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// Whether the problem has intercepts.
    pub fn intercepts(&self) -> bool {
        self.intercepts
    }

    /// Largest `c_i ||a_i||^2`.
    pub fn largest_norm_squared(&self) -> f64 {
        self.largest_row(0.0)
    }

    /// `L`: the largest Lipschitz constant of the gradient of a term, with its l2 part.
    pub fn smoothness(&self) -> f64 {
        CURVATURE * self.largest_row(if self.intercepts { 1.0 } else { 0.0 }) + self.l2
    }

    /// The smallest weight of an l1 norm that leaves nothing: `max |A'(P - Y)| / n`, where `P` are the shares of the classes
    /// (with intercepts) or `1/r`, and `Y` the labels. One pass.
    pub fn largest_correlation(&self) -> f64 {
        let (n, r) = (self.n() as f64, self.classes);
        let uniform = vec![n / r as f64; r];
        let counts = if self.intercepts { &self.counts } else { &uniform };
        let mut residuals = vec![0.0; self.n() * r];
        for (i, row) in residuals.chunks_exact_mut(r).enumerate() {
            let weight = self.term_weight(i);
            row.iter_mut().zip(counts).for_each(|(s, count)| *s = weight * count / n);
            row[self.labels[i]] -= weight;
        }
        let mut correlation = vec![0.0; self.d() * r];
        multiply_transposed_rows(&self.design, r, &residuals, &mut correlation);
        correlation.iter().fold(0.0, |m: f64, v| m.max(v.abs())) / n
    }

    /// `n_k`: the rows of each class, weighted.
    pub(super) fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// Writes the scores `z_i = W'a_i + b`, `n x r` row-major. O(nnz r).
    ///
    /// # Panics
    /// If the point or `out` has another shape than the problem.
    pub fn scores(&self, point: &MulticlassPoint, out: &mut [f64]) {
        multiply_rows(&self.design, &point.weights, &point.intercepts, out);
    }

    /// The report of a run that has ended at a point, with [`Status::NoMinimiser`] where the point proves that there is none:
    /// nothing is penalised, and the label of every row has the largest score. One pass then.
    pub(super) fn judged(&self, report: Report, point: &MulticlassPoint) -> Report {
        if !point.weights.iter().chain(&point.intercepts).all(|w| w.is_finite()) {
            return no_point(report);
        }
        let ended = matches!(report.status, Status::Converged | Status::Stalled | Status::Diverged);
        if ended && self.regulariser.is_zero() && self.l2 == 0.0 && self.recedes_along(point) {
            return Report { status: Status::NoMinimiser, ..report };
        }
        report
    }

    /// Whether the label of every row has the largest score, beyond rounding.
    fn recedes_along(&self, point: &MulticlassPoint) -> bool {
        let r = self.classes;
        let mut scores = vec![0.0; self.n() * r];
        self.scores(point, &mut scores);
        scores.chunks(r).enumerate().filter(|(i, _)| self.term_weight(*i) > 0.0).all(|(i, row)| {
            let label = self.labels[i];
            let largest = row.iter().fold(0.0, |m: f64, s| m.max(s.abs()));
            let others = row.iter().enumerate().filter(|(k, _)| *k != label);
            others.fold(true, |all, (_, s)| all & (row[label] - s > 1e-12 * largest))
        })
    }

    /// `F(W, b)`. One pass.
    ///
    /// # Errors
    /// [`Invalid`] for a point of another shape or with non-finite entries.
    pub fn objective(&self, point: &MulticlassPoint) -> Result<f64, Error> {
        self.check_point(point)?;
        let mut scores = vec![0.0; self.n() * self.classes];
        self.scores(point, &mut scores);
        Ok(self.smooth_objective_at(&scores, &point.weights)
            + self.regulariser.value(&point.weights))
    }

    /// The risk and the l2 term, from the scores.
    pub(crate) fn smooth_objective_at(&self, scores: &[f64], weights: &[f64]) -> f64 {
        let risk = self.sum_rows(scores, |i, z| match self.term_weight(i) {
            0.0 => 0.0,
            weight => weight * softmax_loss(z, self.labels[i]),
        });
        risk / self.n() as f64 + self.quadratic(weights)
    }

    /// The sum of what `of` computes for the rows of an `n x r` table, on all cores. The number of classes alone decides which rows are
    /// added first.
    pub(super) fn sum_rows(&self, table: &[f64], of: impl Fn(usize, &[f64]) -> f64 + Sync) -> f64 {
        let (r, rows) = (self.classes, self.rows_together());
        let parts = table.chunks(rows * r).enumerate();
        let sums = parallel::map(parts, |(part, table)| -> f64 {
            table.chunks_exact(r).enumerate().map(|(k, row)| of(part * rows + k, row)).sum()
        });
        sums.into_iter().sum()
    }

    /// Calls `of` for every row of an `n x r` table, on all cores.
    pub(super) fn each_row(&self, table: &mut [f64], of: impl Fn(usize, &mut [f64]) + Sync) {
        let (r, rows) = (self.classes, self.rows_together());
        parallel::map(table.chunks_mut(rows * r).enumerate(), |(part, table)| {
            table.chunks_exact_mut(r).enumerate().for_each(|(k, row)| of(part * rows + k, row));
        });
    }

    /// Rows of a table whose exponentials are worth a thread.
    fn rows_together(&self) -> usize {
        (NUMBERS_PER_PART / self.classes).max(1)
    }

    pub(super) fn check_point(&self, point: &MulticlassPoint) -> Result<(), Invalid> {
        check_parts(["weights", "intercepts"], self.lengths(), point.parts())
    }

    pub(super) fn check_start(&self, point: &MulticlassPoint) -> Result<(), Invalid> {
        let names = ["start (weights)", "start (intercepts)"];
        check_parts(names, self.lengths(), point.parts())
    }

    /// The lengths of weights and intercepts.
    fn lengths(&self) -> [usize; 2] {
        [self.d() * self.classes, self.classes]
    }
}
