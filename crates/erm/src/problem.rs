//! The problem: data, loss, regulariser, checked once.

use fenchel_linalg::spread::Shards;
use fenchel_linalg::{Design, Invalid, Subset, multiply, row_norms_squared};
use fenchel_optim::{Loss, Regulariser};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::shared::{check_parts, check_shape, check_weights, rows_and_penalties};

/// Regularised empirical risk of a linear model,
///
/// ```text
/// F(x, b) = (1/n) sum_i c_i phi(a_i.x + b; y_i) + (l2/2) ||x||^2 + h(x)
/// ```
///
/// | symbol | what |
/// |---|---|
/// | `a_i`, `n`, `d` | rows of the design, their number and length |
/// | `phi` | loss, a [`Loss`] |
/// | `h` | regulariser, a [`Regulariser`] |
/// | `l2` | weight of the quadratic term, on the scale of the mean loss |
/// | `c_i` | weights of mean 1, all 1 unless [`with_weights`](Problem::with_weights) |
/// | `b` | unpenalised intercept, 0 unless [`with_intercept`](Problem::with_intercept) |
///
/// The rows of a design that is [spread](Design::spread) are some of all: the problem is that of the rows of all processes.
/// [`batch`](crate::auto::batch()) solves it there, or a batch method ([`lbfgs`](fn@crate::methods::lbfgs),
/// [`fista`](fn@crate::methods::fista), [`newton_cg`](fn@crate::methods::newton_cg)), or [`cocoa`](fn@crate::methods::cocoa) for losses
/// with a kink. Targets, weights and margins are those of the own rows. All processes make the same calls together: to make a problem,
/// to give it weights, to evaluate or to certify a point, and to solve it. Observers of all answer alike.
///
/// The data is borrowed. A problem itself holds the squared norms of the rows, and the weights if there are any.
#[derive(Debug, Clone)]
pub struct Problem<'a, D, L, R> {
    design: D,
    targets: &'a [f64],
    loss: L,
    regulariser: R,
    l2: f64,
    intercept: bool,
    norms_squared: Vec<f64>,
    /// `c_i`, where the rows have weights.
    pub(crate) scales: Option<Vec<f64>>,
    /// `max c_i ||a_i||^2` and `max c_i (||a_i||^2 + 1)`
    largest_norms_squared: [f64; 2],
}

/// A point: weights `x` and intercept `b`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// One weight a column.
    pub weights: Vec<f64>,
    /// The intercept; 0 in a problem without.
    pub intercept: f64,
}

impl Point {
    /// The origin.
    pub fn zero(columns: usize) -> Self {
        Point { weights: vec![0.0; columns], intercept: 0.0 }
    }

    /// Weights and intercept.
    fn parts(&self) -> [&[f64]; 2] {
        [&self.weights, std::slice::from_ref(&self.intercept)]
    }

    /// Number of non-zero weights.
    pub fn support(&self) -> usize {
        self.weights.iter().filter(|&&w| w != 0.0).count()
    }
}

impl<'a, D: Design, L: Loss, R: Regulariser> Problem<'a, D, L, R> {
    rows_and_penalties!();

    /// Checks the data against the loss and the regulariser. O(nnz) for the norms of the rows.
    ///
    /// # Errors
    /// [`Invalid::Empty`] for no rows or no columns, [`Invalid::Length`] for targets that are not one a
    /// row, [`Invalid::Target`] or [`Invalid::Label`] for one that the loss refuses, [`Invalid::Parameter`] for a parameter of
    /// the loss out of range or a negative or non-finite weight, rows whose squares overflow or all underflow (1e200, 1e-200), or targets of
    /// the squared loss whose squares all underflow;
    /// [`Error::Refused`] for so many columns that one vector of weights takes more than 4 GiB.
    pub fn new(
        design: D,
        targets: &'a [f64],
        loss: L,
        regulariser: R,
        l2: f64,
    ) -> Result<Self, Error> {
        let norms_squared = row_norms_squared(&design);
        Problem::with_norms((design, norms_squared), targets, loss, regulariser, l2)
    }

    /// As [`new`](Problem::new), for a design whose squared row norms `||a_i||^2` are known. They are not checked.
    ///
    /// # Errors
    /// As [`new`](Problem::new).
    pub fn with_norms(
        (design, norms_squared): (D, Vec<f64>),
        targets: &'a [f64],
        loss: L,
        regulariser: R,
        l2: f64,
    ) -> Result<Self, Error> {
        check_shape(&design)?;
        check_weights(&design, 1)?;
        Invalid::check_length("targets", design.rows(), targets.len())?;
        loss.check()?;
        // A row is named by its place among all.
        let first = design.shards().map_or(0, Shards::before);
        for (row, &y) in targets.iter().enumerate() {
            loss.check_target(first + row, y)?;
        }
        if loss.quadratic() {
            let value = design.largest(targets.iter().fold(0.0, |m: f64, y| m.max(y.abs())));
            if value > 0.0 && value * value < f64::MIN_POSITIVE {
                let expected = "a larger number, but the squares underflow; scale the targets up";
                return Err(Invalid::Parameter { name: "largest target", value, expected }.into());
            }
        }
        Invalid::check_nonnegative("l2", l2)?;
        regulariser.check(design.columns())?;
        let mut problem = Problem {
            design,
            targets,
            loss,
            regulariser,
            l2,
            intercept: false,
            norms_squared,
            scales: None,
            largest_norms_squared: [0.0; 2],
        };
        problem.measure()?;
        Ok(problem)
    }

    /// Replaces `c_i`.
    pub(crate) fn scaled(self, scales: Vec<f64>) -> Result<Self, Error> {
        let mut problem = Problem { scales: Some(scales), ..self };
        problem.measure()?;
        Ok(problem)
    }

    /// Checks that the largest row can be worked with, and keeps its size.
    fn measure(&mut self) -> Result<(), Error> {
        self.largest_norms_squared = [0.0, 1.0].map(|ones| self.largest_row(ones));
        Ok(self.check_rows()?)
    }

    /// The number of terms: of the rows of all processes.
    pub(crate) fn terms(&self) -> f64 {
        self.design.all_rows() as f64
    }

    /// The same problem with an unpenalised intercept.
    ///
    /// Incremental methods, and for a smooth loss dual ones, begin at the best intercept for weights of 0 if they are given no start.
    pub fn with_intercept(self) -> Self {
        Problem { intercept: true, ..self }
    }

    /// The same problem under another penalty. It keeps the norms of the rows.
    ///
    /// # Errors
    /// [`Error::Invalid`] for parameters of the penalty that are out of range.
    pub fn penalised<S: Regulariser>(
        self,
        regulariser: S,
        l2: f64,
    ) -> Result<Problem<'a, D, L, S>, Error> {
        let Problem {
            design,
            targets,
            loss,
            intercept,
            norms_squared,
            scales,
            largest_norms_squared,
            ..
        } = self;
        Invalid::check_nonnegative("l2", l2)?;
        regulariser.check(design.columns())?;
        Ok(Problem {
            design,
            targets,
            loss,
            regulariser,
            l2,
            intercept,
            norms_squared,
            scales,
            largest_norms_squared,
        })
    }

    /// The same problem on another storage of the same numbers.
    pub(crate) fn stored_as<E: Design>(&self, design: E) -> Problem<'a, E, L, R>
    where
        L: Clone,
        R: Clone,
    {
        Problem {
            design,
            targets: self.targets,
            loss: self.loss.clone(),
            regulariser: self.regulariser.clone(),
            l2: self.l2,
            intercept: self.intercept,
            norms_squared: self.norms_squared.clone(),
            scales: self.scales.clone(),
            largest_norms_squared: self.largest_norms_squared,
        }
    }

    /// The same problem on some of the rows, whose targets are given, without weights.
    pub(crate) fn on_rows<'b, S: Regulariser>(
        &self,
        (index, rows): (&[usize], &'b Subset),
        targets: &'b [f64],
        regulariser: S,
    ) -> Result<Problem<'b, D::Part<'b>, L, S>, Error>
    where
        D: 'b,
        L: Clone,
    {
        let norms_squared = index.iter().map(|&i| self.norms_squared[i]).collect();
        let design = (self.design.part(rows), norms_squared);
        let loss = self.loss.clone();
        let part = Problem::with_norms(design, targets, loss, regulariser, self.l2)?;
        Ok(if self.intercept { part.with_intercept() } else { part })
    }

    /// The same rows, targets and loss with another design, such as some of the columns, and a penalty for its columns.
    ///
    /// # Errors
    /// [`Error::Invalid`] for parameters of the penalty that are out of range, or rows too large to work with.
    pub fn seen_through<E: Design, S: Regulariser>(
        &self,
        design: E,
        regulariser: S,
    ) -> Result<Problem<'a, E, L, S>, Error>
    where
        L: Clone,
    {
        regulariser.check(design.columns())?;
        let mut problem = Problem {
            norms_squared: row_norms_squared(&design),
            design,
            targets: self.targets,
            loss: self.loss.clone(),
            regulariser,
            l2: self.l2,
            intercept: self.intercept,
            scales: self.scales.clone(),
            largest_norms_squared: [0.0; 2],
        };
        problem.measure()?;
        Ok(problem)
    }

    /// The targets.
    pub fn targets(&self) -> &'a [f64] {
        self.targets
    }

    /// The loss.
    pub fn loss(&self) -> &L {
        &self.loss
    }

    /// Whether the problem has an intercept.
    pub fn intercept(&self) -> bool {
        self.intercept
    }

    /// Largest `c_i ||a_i||^2`.
    pub fn largest_norm_squared(&self) -> f64 {
        self.largest_norms_squared[0]
    }

    /// `L`: the largest Lipschitz constant of the gradient of `phi_i(a_i.x + b) + (l2/2) ||x||^2`.
    pub fn smoothness(&self) -> f64 {
        let largest = self.largest_norms_squared[usize::from(self.intercept)];
        self.loss.curvature() * largest + self.l2
    }

    /// `Lbar`: the mean of those constants.
    pub fn mean_smoothness(&self) -> f64 {
        let ones = if self.intercept { 1.0 } else { 0.0 };
        self.loss.curvature() * (self.mean_norm_squared() + ones) + self.l2
    }

    /// `beta = n mu / L`. Incremental methods converge in a few passes where it exceeds 1 (the
    /// big-data condition, Defazio's definition 2.1).
    pub fn big_data_beta(&self) -> f64 {
        self.terms() * self.strong_convexity() / self.smoothness()
    }

    /// The factor by which the thesis conjectures that no method lowers the suboptimality faster in a step on one term, on
    /// the worst problem of these constants: `1 - sqrt(mu / (n (mu n + L)))` (Defazio's section 5.1.4). For `mu n >> L` it is
    /// the `1 - 1/n` of theorem 5.1, which is proved; for `mu n << L` that of accelerated methods.
    pub fn conjectured_rate(&self) -> f64 {
        let (n, mu) = (self.terms(), self.strong_convexity());
        let smoothness = self.smoothness();
        if mu > 0.0 { 1.0 - (mu / (n * (mu * n + smoothness))).sqrt() } else { 1.0 }
    }

    /// Writes the margins `a_i.x + b`. O(nnz).
    ///
    /// # Panics
    /// If the point or `out` has another shape than the problem.
    pub fn margins(&self, point: &Point, out: &mut [f64]) {
        multiply(&self.design, &point.weights, out);
        if point.intercept != 0.0 {
            out.iter_mut().for_each(|t| *t += point.intercept);
        }
    }

    /// `F(x, b)`. One pass.
    ///
    /// # Errors
    /// [`Invalid`] for a point of the wrong length or with non-finite entries.
    pub fn objective(&self, point: &Point) -> Result<f64, Error> {
        self.check_point(point)?;
        let mut margins = vec![0.0; self.n()];
        self.margins(point, &mut margins);
        Ok(self.objective_at(&margins, &point.weights))
    }

    /// `F` from its margins.
    pub(crate) fn objective_at(&self, margins: &[f64], weights: &[f64]) -> f64 {
        self.smooth_objective_at(margins, weights) + self.regulariser.value(weights)
    }

    /// `F` without the regulariser.
    pub(crate) fn smooth_objective_at(&self, margins: &[f64], weights: &[f64]) -> f64 {
        self.sum_values(margins) / self.terms() + self.quadratic(weights)
    }

    /// `F` without the regulariser from its margins, which become `factor phi_i'`.
    pub(crate) fn smooth_objective_through(
        &self,
        margins: &mut [f64],
        weights: &[f64],
        factor: f64,
    ) -> f64 {
        let risk = self.design.sum_rows_of(margins, &mut [], |rows, margins, _| {
            self.differentiate_and_sum(rows, margins, factor)
        });
        risk / self.terms() + self.quadratic(weights)
    }

    pub(crate) fn check_point(&self, point: &Point) -> Result<(), Invalid> {
        check_parts(["weights", "intercept"], [self.d(), 1], point.parts())
    }

    pub(crate) fn check_start(&self, point: &Point) -> Result<(), Invalid> {
        check_parts(["start (weights)", "start (intercept)"], [self.d(), 1], point.parts())
    }
}
