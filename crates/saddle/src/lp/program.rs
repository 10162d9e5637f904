//! Linear programs, their settings and results.

use fenchel_linalg::Invalid;
use fenchel_optim::{Report, settings};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};

use crate::Error;

/// A checked linear program.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearProgram {
    pub(super) cost: Vec<f64>,
    pub(super) matrix: Array2<f64>,
    pub(super) right: Vec<f64>,
    /// The number of equations. They are the first rows.
    pub(super) equations: usize,
    pub(super) low: Vec<f64>,
    pub(super) high: Vec<f64>,
}

/// The result of solving a program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum LpOutcome {
    /// A solution, with multipliers of the constraints.
    Optimal {
        /// The point.
        x: Vec<f64>,
        /// One multiplier per row, not negative for inequalities.
        y: Vec<f64>,
        /// `c'x`.
        objective: f64,
    },
    /// No point satisfies the constraints. A ray of PDHG may leave reduced costs of up to `tolerance`, relatively, in
    /// columns without a bound. It then excludes only points whose entries there are below about the ray's value
    /// divided by what it leaves, such as 1e9. A ray of the simplex method leaves rounding errors.
    Infeasible {
        /// Multipliers of a combination of the rows that no point in the box satisfies.
        ray: Vec<f64>,
    },
    /// The objective has no lower bound.
    Unbounded {
        /// A feasible point.
        x: Vec<f64>,
        /// A direction in which the objective decreases for ever.
        ray: Vec<f64>,
    },
    /// A limit was reached before a result, or no point with a finite objective and multipliers passes the checks.
    Undecided,
}

/// An outcome and the report of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LpSolution {
    /// The outcome.
    pub outcome: LpOutcome,
    /// The report. Its certificate is the largest relative error of the optimality conditions. For `Infeasible` it is
    /// the largest relative reduced cost that the ray leaves in a column without a bound, and for `Unbounded` the
    /// largest relative amount by which the ray or the point violates a row.
    pub report: Report,
}

settings! {
    /// Settings of [`linear_program`].
    ///
    /// A ray of PDHG proves unboundedness only if the objective decreases along it by more than 100 times `tolerance`,
    /// relative to the largest cost. For the simplex method the limit is 1e-10. A point that meets all conditions within
    /// `tolerance` counts as optimal before either is tried: costs, and contradictions of constraints, below `tolerance` of
    /// the largest term may be taken for 0. Bounds beyond `1/tolerance` can multiply such a cost into a different optimum.
    /// An objective is known to `tolerance` of itself and of the product that [`LinearProgram::error`] names, which is at
    /// most 1: for an objective far below that product, state costs and right-hand sides in larger units.
    pub struct LpSettings {
        /// Largest relative error of the optimality conditions, and of rays; below 1.
        tolerance: f64 = 1e-8,
        /// Largest number of steps, for the program and for each auxiliary one.
        max_passes: f64 = 1e5,
        /// Whether to solve for the active constraints exactly, and programs of up to 300 rows and variables by the simplex
        /// method.
        polish: bool = true,
    }
}

impl LinearProgram {
    /// The program `min cost'x` over `x >= 0`, without constraints so far.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there are no variables, or if costs are not finite.
    pub fn new<'a>(cost: impl Into<ArrayView1<'a, f64>>) -> Result<Self, Error> {
        let cost = cost.into().to_vec();
        if cost.is_empty() {
            return Err(Invalid::Empty { what: "cost" }.into());
        }
        Invalid::check_finite("cost", &cost)?;
        let d = cost.len();
        let matrix = Array2::zeros((0, d));
        let (low, high) = (vec![0.0; d], vec![f64::INFINITY; d]);
        Ok(LinearProgram { cost, matrix, right: vec![], equations: 0, low, high })
    }

    fn checked<'a>(
        &self,
        what: &'static str,
        rows: ArrayView2<f64>,
        right: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<Vec<f64>, Error> {
        let right = right.into().to_vec();
        Invalid::check_length(what, self.cost.len(), rows.ncols())?;
        Invalid::check_length("right-hand sides", rows.nrows(), right.len())?;
        Invalid::check_finite("right-hand sides", &right)?;
        if let Some(((row, column), value)) = rows.indexed_iter().find(|(_, v)| !v.is_finite()) {
            return Err(Invalid::NonFinite { what, row, column, value: *value }.into());
        }
        Ok(right)
    }

    /// Adds equations `A x = b`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if shapes are inconsistent or entries not finite.
    pub fn equal<'a>(
        mut self,
        a: ArrayView2<f64>,
        b: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<Self, Error> {
        let right = self.checked("equations", a, b)?;
        let at = self.equations;
        let mut rows: Vec<Array1<f64>> = self.matrix.outer_iter().map(|r| r.to_owned()).collect();
        rows.splice(at..at, a.outer_iter().map(|r| r.to_owned()));
        self.right.splice(at..at, right);
        self.equations += a.nrows();
        self.matrix = stacked(&rows, self.cost.len());
        Ok(self)
    }

    /// Adds inequalities `G x >= h`.
    ///
    /// # Errors
    /// The errors of [`equal`](LinearProgram::equal).
    pub fn at_least<'a>(
        mut self,
        g: ArrayView2<f64>,
        h: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<Self, Error> {
        let right = self.checked("inequalities", g, h)?;
        let mut rows: Vec<Array1<f64>> = self.matrix.outer_iter().map(|r| r.to_owned()).collect();
        rows.extend(g.outer_iter().map(|r| r.to_owned()));
        self.right.extend(right);
        self.matrix = stacked(&rows, self.cost.len());
        Ok(self)
    }

    /// Sets the bounds `low <= x <= high`; they may be infinite.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless `low <= high`, `low < inf`, `high > -inf`.
    pub fn within<'a>(
        mut self,
        low: impl Into<ArrayView1<'a, f64>>,
        high: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<Self, Error> {
        let (low, high) = (low.into().to_vec(), high.into().to_vec());
        Invalid::check_length("low", self.cost.len(), low.len())?;
        Invalid::check_length("high", self.cost.len(), high.len())?;
        for (j, (l, u)) in low.iter().zip(&high).enumerate() {
            if !(l <= u) || *l == f64::INFINITY || *u == f64::NEG_INFINITY {
                let reason = format!(
                    "{l} and {u} for variable {j}; expected low <= high, with low below and high above the infinities"
                );
                return Err(Invalid::Layout { what: "bounds", reason }.into());
            }
        }
        (self.low, self.high) = (low, high);
        Ok(self)
    }
}

fn stacked(rows: &[Array1<f64>], columns: usize) -> Array2<f64> {
    let flat: Vec<f64> = rows.iter().flatten().copied().collect();
    Array2::from_shape_vec((rows.len(), columns), flat).expect("rows of one length")
}

/// The result of the simplex method.
pub(super) enum End {
    Optimal { x: Vec<f64>, y: Vec<f64> },
    Infeasible { y: Vec<f64> },
    Unbounded { x: Vec<f64>, ray: Vec<f64> },
}

impl End {
    /// Converts to the variables of the original program.
    pub(super) fn original(self, rows: &[f64], columns: &[f64]) -> End {
        let times = |v: Vec<f64>, s: &[f64]| v.iter().zip(s).map(|(v, s)| v * s).collect();
        match self {
            End::Optimal { x, y } => End::Optimal { x: times(x, columns), y: times(y, rows) },
            End::Infeasible { y } => End::Infeasible { y: times(y, rows) },
            End::Unbounded { x, ray } => {
                End::Unbounded { x: times(x, columns), ray: times(ray, columns) }
            }
        }
    }
}
