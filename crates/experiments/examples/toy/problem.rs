//! The problem, checked once.

use fenchel_linalg::{Design, Invalid, multiply, multiply_transposed, row_norms_squared};

use crate::error::Result;

/// `F(w) = 1/(2n) ||X w - y||^2 + l2/2 ||w||^2` over `w >= 0`.
pub struct Problem<'a, D> {
    pub design: D,
    targets: &'a [f64],
    pub l2: f64,
}

impl<'a, D: Design> Problem<'a, D> {
    pub fn new(design: D, targets: &'a [f64], l2: f64) -> Result<Self> {
        Invalid::check_length("targets", design.rows(), targets.len())?;
        Invalid::check_finite("targets", targets)?;
        Invalid::check_nonnegative("l2", l2)?;
        Ok(Problem { design, targets, l2 })
    }

    /// `F(w)`, and its gradient.
    pub fn value_gradient(&self, w: &[f64]) -> (f64, Vec<f64>) {
        let n = self.targets.len() as f64;
        let (mut residual, mut gradient) = (vec![0.0; self.targets.len()], vec![0.0; w.len()]);
        multiply(&self.design, w, &mut residual);
        residual.iter_mut().zip(self.targets).for_each(|(r, y)| *r = (*r - y) / n);
        multiply_transposed(&self.design, &residual, &mut gradient);
        gradient.iter_mut().zip(w).for_each(|(g, w)| *g += self.l2 * w);
        let square = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>();
        (0.5 * n * square(&residual) + 0.5 * self.l2 * square(w), gradient)
    }

    /// A bound of the smoothness: the trace of the Hessian's data part, and `l2`.
    pub fn smoothness(&self) -> f64 {
        row_norms_squared(&self.design).iter().sum::<f64>() / self.targets.len() as f64 + self.l2
    }
}
