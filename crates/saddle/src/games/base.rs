//! The game that the methods see: the payments less the middle one.

use fenchel_optim::Certificate;
use ndarray::{Array2, ArrayView1};

use crate::methods::steps::Bilinear;
use crate::problem::SaddleProblem;
use crate::setup::{Setup, Simplexes, project_rows};
use crate::spectral::{longest, spectral_norm};

/// The game that the methods see. A constant in all payments would cancel the digits of a step, and multiply the
/// rounding error of a strategy that does not quite sum to 1.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Base {
    pub(super) matrix: Array2<f64>,
    pub(super) spread: f64,
    pub(super) x: Simplexes,
    pub(super) y: Simplexes,
}

impl Base {
    pub(super) fn new(matrix: Array2<f64>, spread: f64) -> Self {
        let (m, p) = matrix.dim();
        Base { matrix, spread, x: Simplexes::new(1, m), y: Simplexes::new(1, p) }
    }
}

impl SaddleProblem for Base {
    fn x_setup(&self) -> &dyn Setup {
        &self.x
    }

    fn y_setup(&self) -> &dyn Setup {
        &self.y
    }

    fn field(&self, x: &[f64], y: &[f64], gx: &mut [f64], gy: &mut [f64]) {
        self.grad_x(y, gx);
        self.grad_y(x, gy);
    }

    fn field_x(&self, y: &[f64], gx: &mut [f64]) {
        self.grad_x(y, gx);
    }

    fn field_y(&self, x: &[f64], gy: &mut [f64]) {
        self.grad_y(x, gy);
    }

    /// Half of the spread. If a constant is added to all payments, all entries of a gradient change by the same
    /// number, which does not affect steps on a simplex.
    fn coupling(&self) -> f64 {
        0.5 * self.spread
    }

    fn objective(&self, x: &[f64]) -> f64 {
        let earns = self.matrix.t().dot(&ArrayView1::from(x));
        earns.iter().fold(f64::NEG_INFINITY, |m, v| m.max(*v))
    }

    fn lower_bound(&self, y: &[f64]) -> f64 {
        let pays = self.matrix.dot(&ArrayView1::from(y));
        pays.iter().fold(f64::INFINITY, |m, v| m.min(*v))
    }
}

impl Bilinear for Base {
    fn dimensions(&self) -> (usize, usize) {
        self.matrix.dim()
    }

    fn grad_x(&self, y: &[f64], out: &mut [f64]) {
        let pays = self.matrix.dot(&ArrayView1::from(y));
        out.iter_mut().zip(&pays).for_each(|(g, v)| *g = *v);
    }

    fn grad_y(&self, x: &[f64], out: &mut [f64]) {
        let earns = self.matrix.t().dot(&ArrayView1::from(x));
        out.iter_mut().zip(&earns).for_each(|(g, v)| *g = -v);
    }

    fn prox_x(&self, z: &mut [f64], _: f64) {
        let length = z.len();
        project_rows(z, length);
        self.x.contain(z);
    }

    fn prox_y(&self, z: &mut [f64], _: f64) {
        let length = z.len();
        project_rows(z, length);
        self.y.contain(z);
    }

    /// The norm of the matrix after the means of rows and columns are subtracted. This is allowed because the entries
    /// of a difference of strategies sum to 0.
    fn norm(&self) -> f64 {
        let (m, p) = self.matrix.dim();
        let mean = |v: ArrayView1<f64>| v.iter().map(|e| e / v.len() as f64).sum::<f64>();
        let mut centred = self.matrix.clone();
        centred.rows_mut().into_iter().for_each(|mut row| {
            let mean = mean(row.view());
            row -= mean;
        });
        centred.columns_mut().into_iter().for_each(|mut column| {
            let mean = mean(column.view());
            column -= mean;
        });
        let set = |to: &mut [f64], from: ndarray::Array1<f64>| {
            to.iter_mut().zip(from).for_each(|(t, f)| *t = f)
        };
        spectral_norm(
            (p, m),
            longest(&centred),
            |y, out| set(out, centred.dot(&ArrayView1::from(y))),
            |x, out| set(out, centred.t().dot(&ArrayView1::from(x))),
        )
    }

    fn certificate(&self, x: &[f64], y: &[f64]) -> Certificate {
        SaddleProblem::certificate(self, x, y)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The norm of a diagonal matrix is its largest entry, even if that belongs to one strategy of 300.
    #[test]
    fn an_isolated_strategy_is_not_missed_by_the_norm() {
        let entry = |(i, j): (usize, usize)| match i == j {
            true => 1.0 + 0.5 * f64::from(i == 7),
            false => 0.0,
        };
        let base = Base::new(Array2::from_shape_fn((300, 300), entry), 1.5);
        assert!((1.5..1.55).contains(&base.norm()));
    }
}
