//! The negative log-likelihood as a function of the coefficients.

use fenchel_linalg::{Design, Gram, multiply, multiply_transposed};
use fenchel_optim::Certificate;
use fenchel_optim::newton::{TwiceDifferentiable, WithHessian};

use super::ScalarFamily;

/// `(1/W) sum_i w_i (a(eta_i) - y_i eta_i) + (l2/2) |beta|^2` with `eta_i = x_i.beta + b + offset_i`. The intercept, if there is one,
/// is the last variable and has no penalty.
pub(super) struct Objective<'a, D, F> {
    pub(super) family: &'a F,
    pub(super) design: D,
    pub(super) y: &'a [f64],
    /// `w_i / W`
    pub(super) shares: Vec<f64>,
    pub(super) offset: Option<&'a [f64]>,
    pub(super) l2: f64,
    pub(super) intercept: bool,
    pub(super) curvature: Vec<f64>,
}

impl<D: Design, F: ScalarFamily> Objective<'_, D, F> {
    pub(super) fn eta(&self, i: usize, z: &[f64]) -> f64 {
        z[i] + self.offset.map_or(0.0, |o| o[i])
    }

    /// The norm over columns of `sum_i share_i |x_ij| (|y_i| + |mu_i|)`: what cancels in the gradient. 1 where that is 0.
    pub(super) fn size(&self, x: &[f64]) -> f64 {
        let (n, d) = (self.y.len(), self.design.columns());
        let mut z = vec![0.0; n];
        self.multiply(x, &mut z);
        let mut sums = vec![0.0; self.dimension()];
        for i in (0..n).filter(|&i| self.shares[i] > 0.0) {
            let part = self.shares[i] * (self.y[i].abs() + self.family.mean(self.eta(i, &z)).abs());
            self.design.row_entries(i, |j, v| sums[j] += part * v.abs());
            if self.intercept {
                sums[d] += part;
            }
        }
        let norm = sums.iter().map(|s| s * s).sum::<f64>().sqrt();
        if norm > 0.0 && norm.is_finite() { norm } else { 1.0 }
    }

    fn penalty(&self, x: &[f64]) -> f64 {
        let d = self.design.columns();
        0.5 * self.l2 * x[..d].iter().map(|x| x * x).sum::<f64>()
    }
}

impl<D: Design, F: ScalarFamily> TwiceDifferentiable for Objective<'_, D, F> {
    fn dimension(&self) -> usize {
        self.design.columns() + usize::from(self.intercept)
    }

    fn margins(&self) -> usize {
        self.y.len()
    }

    fn multiply(&self, v: &[f64], z: &mut [f64]) {
        let d = self.design.columns();
        multiply(&self.design, &v[..d], z);
        if self.intercept {
            z.iter_mut().for_each(|z| *z += v[d]);
        }
    }

    fn value(&mut self, x: &[f64], z: &[f64]) -> f64 {
        let sum: f64 = (0..z.len())
            .map(|i| {
                let eta = self.eta(i, z);
                // A row of weight 0 counts nothing, even outside of the domain.
                if self.shares[i] == 0.0 {
                    return 0.0;
                }
                self.shares[i] * (self.family.log_partition(eta) - self.y[i] * eta)
            })
            .sum();
        sum + self.penalty(x)
    }

    fn measure(&mut self, x: &mut [f64], z: &mut Vec<f64>, gradient: &mut [f64]) -> Certificate {
        let d = self.design.columns();
        let residuals: Vec<f64> = (0..z.len())
            .map(|i| self.shares[i] * (self.family.mean(self.eta(i, z)) - self.y[i]))
            .collect();
        multiply_transposed(&self.design, &residuals, &mut gradient[..d]);
        gradient.iter_mut().zip(&x[..d]).for_each(|(g, x)| *g += self.l2 * x);
        if self.intercept {
            gradient[d] = residuals.iter().sum();
        }
        let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
        let objective = self.value(x, z);
        Certificate::Residual { objective: Some(objective), norm, error: 0.0 }
    }

    fn bend(&mut self, z: &[f64]) {
        for i in 0..z.len() {
            self.curvature[i] = self.shares[i] * self.family.variance(self.eta(i, z));
        }
    }

    fn diagonal(&mut self, out: &mut [f64]) {
        let d = self.design.columns();
        out.fill(0.0);
        for (i, &h) in self.curvature.iter().enumerate() {
            self.design.row_entries(i, |j, v| out[j] += h * v * v);
        }
        out[..d].iter_mut().for_each(|o| *o += self.l2);
        if self.intercept {
            out[d] = self.curvature.iter().sum();
        }
    }

    fn curve(&mut self, v: &[f64], z: &[f64], out: &mut [f64]) {
        let d = self.design.columns();
        let bent: Vec<f64> = z.iter().zip(&self.curvature).map(|(z, h)| z * h).collect();
        multiply_transposed(&self.design, &bent, &mut out[..d]);
        out.iter_mut().zip(&v[..d]).for_each(|(o, v)| *o += self.l2 * v);
        if self.intercept {
            out[d] = bent.iter().sum();
        }
    }
}

impl<D: Design, F: ScalarFamily> WithHessian for Objective<'_, D, F> {
    fn hessian(&mut self) -> (Vec<f64>, f64) {
        let (d, k) = (self.design.columns(), self.dimension());
        let mut gram = Gram::new(k);
        for (i, &h) in self.curvature.iter().enumerate() {
            if h > 0.0 {
                let root = h.sqrt();
                let row = gram.next_row();
                self.design.row_axpy(i, root, &mut row[..d]);
                if self.intercept {
                    row[d] = root;
                }
            }
        }
        let mut matrix = gram.finish();
        (0..d).for_each(|j| matrix[j * k + j] += self.l2);
        (matrix, 0.25 * k as f64)
    }
}
