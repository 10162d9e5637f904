//! The negative log-likelihood as a function of the coefficients.

use std::ops::Range;

use fenchel_linalg::{
    Design, Gram, lanes, multiply, multiply_squares_transposed, multiply_through,
    multiply_transposed,
};
use fenchel_optim::Certificate;
use fenchel_optim::newton::{Preconditioned, TwiceDifferentiable, WithHessian};
use fenchel_optim::random::stream;
use rand::RngExt;

use super::ScalarFamily;

/// The number of rows that are processed together.
const CHUNK: usize = 256;
/// The subset of rows that approximates the Hessian: this many rows per coefficient, and at least the following share
/// of all rows.
const ROWS_A_COEFFICIENT: usize = 40;
const LEAST: f64 = 0.05;
/// The part of its terms by which a slope is measured where it is smaller. With a tolerance of 1e-10 a coordinate of the gradient must
/// fall to 1e-13 of its terms, some hundred times their rounding.
const VISIBLE: f64 = 1e-3;

/// `(1/W) sum_i w_i loss(y_i, eta_i) + (l2/2) |beta|^2` with `eta_i = x_i.beta + b + offset_i`. The intercept, if there is one,
/// is the last variable and has no penalty.
pub(super) struct Objective<'a, D, F> {
    pub(super) family: &'a F,
    pub(super) design: D,
    pub(super) y: &'a [f64],
    /// `w_i / W`
    pub(super) shares: &'a [f64],
    pub(super) offset: Option<&'a [f64]>,
    pub(super) l2: f64,
    pub(super) intercept: bool,
    /// Share times second derivative of the loss, where [`bend`](TwiceDifferentiable::bend) was called last.
    curvature: Vec<f64>,
    /// Share times slope of the loss per row, at the last evaluated point.
    slopes: Vec<f64>,
    /// What a coordinate of the gradient is measured in, of [`units`](Self::units) once it was called.
    pub(super) units: Vec<f64>,
    /// The subset of rows, and the factors that scale the diagonal of its Hessian to that of all rows.
    sample: Option<(Vec<usize>, Vec<f64>)>,
}

impl<'a, D: Design, F: ScalarFamily> Objective<'a, D, F> {
    pub(super) fn new(
        family: &'a F,
        design: D,
        (y, shares): (&'a [f64], &'a [f64]),
        offset: Option<&'a [f64]>,
        l2: f64,
        intercept: bool,
    ) -> Self {
        let n = y.len();
        let (curvature, slopes, sample) = (vec![0.0; n], vec![0.0; n], None);
        let units = vec![1.0; design.columns() + usize::from(intercept)];
        Objective {
            family,
            design,
            y,
            shares,
            offset,
            l2,
            intercept,
            curvature,
            slopes,
            units,
            sample,
        }
    }

    pub(super) fn eta(&self, i: usize, z: &[f64]) -> f64 {
        z[i] + self.offset.map_or(0.0, |o| o[i])
    }

    /// `sum_i share_i |x_ij| (|s_i| + 1e-3 t_i)`, one number per column, with the slope `s_i` of the loss and the size `t_i` of its
    /// terms, `|y_i| + |mu_i|` for a canonical link: without the second part, a slope that is nothing but rounding would be
    /// measured against itself. It is replaced by 1 where it is 0.
    pub(super) fn units(&self, x: &[f64]) -> Vec<f64> {
        let (n, d) = (self.y.len(), self.design.columns());
        let mut z = vec![0.0; n];
        self.multiply(x, &mut z);
        let mut sums = vec![0.0; self.dimension()];
        self.design.add_rows(&mut sums, |rows, sums| {
            for i in rows.filter(|&i| self.shares[i] > 0.0) {
                let eta = self.eta(i, &z);
                // The slope of a likelihood is linear in the target. That of a family of the user's own may refuse a target of 0.
                let (without, slope) =
                    (self.family.slope(0.0, eta), self.family.slope(self.y[i], eta));
                let terms = without.abs() + (slope - without).abs();
                let terms = if terms.is_finite() { terms } else { slope.abs() };
                let part = self.shares[i] * (slope.abs() + VISIBLE * terms);
                self.design.row_entries(i, |j, v| sums[j] += part * v.abs());
                if self.intercept {
                    sums[d] += part;
                }
            }
        });
        sums.iter_mut().filter(|s| !(**s > 0.0 && s.is_finite())).for_each(|s| *s = 1.0);
        sums
    }

    /// The certificate of a problem without a dual point: the norm of the gradient, each coordinate in its unit.
    fn residual(&self, objective: f64, gradient: &[f64]) -> Certificate {
        let square = |(g, u): (&f64, &f64)| (g / u) * (g / u);
        let norm = gradient.iter().zip(&self.units).map(square).sum::<f64>().sqrt();
        Certificate::residual(objective, norm, 0.0)
    }

    fn penalty(&self, x: &[f64]) -> f64 {
        let d = self.design.columns();
        0.5 * self.l2 * x[..d].iter().map(|x| x * x).sum::<f64>()
    }

    /// The sum of the losses at margins `z`, with slopes written to `self.slopes`.
    fn sum_losses(&mut self, z: &[f64]) -> f64 {
        let rows =
            Rows { family: self.family, y: self.y, shares: self.shares, offset: self.offset };
        self.design.sum_rows_of(&mut self.slopes, &mut [], |range, slopes, _| {
            rows.losses(range.clone(), &z[range], 0.0, slopes)
        })
    }

    /// The sum of one number a row.
    fn sum(&self, numbers: &[f64]) -> f64 {
        let [sum] = self.design.sum_rows(|rows| [lanes::sum(&numbers[rows])]);
        sum
    }

    /// `sum_i share_i y_i`
    pub(super) fn mean_target(&self) -> f64 {
        let product = |(s, y): (&f64, &f64)| s * y;
        let [mean] = self.design.sum_rows(|rows| {
            [self.shares[rows.clone()].iter().zip(&self.y[rows]).map(product).sum()]
        });
        mean
    }

    /// Computes `out = X' slopes + l2 x`, and the sum of the slopes for the intercept. This is half a pass over the
    /// data.
    fn transpose(&self, x: &[f64], out: &mut [f64]) {
        let d = self.design.columns();
        multiply_transposed(&self.design, &self.slopes, &mut out[..d]);
        out.iter_mut().zip(&x[..d]).for_each(|(o, x)| *o += self.l2 * x);
        if self.intercept {
            out[d] = self.sum(&self.slopes);
        }
    }

    /// Stores the expected second derivatives instead of those of the loss.
    pub(super) fn bend_expected(&mut self, z: &[f64]) {
        for i in 0..z.len() {
            let variance = || self.family.variance(self.eta(i, z));
            self.curvature[i] =
                if self.shares[i] > 0.0 { self.shares[i] * variance() } else { 0.0 };
        }
    }

    /// Sets all second derivatives to 1, so that the Hessian depends on the columns only.
    pub(super) fn flatten(&mut self) {
        self.curvature.copy_from_slice(self.shares);
    }

    /// Whether a subset of the rows gives a Hessian that is good enough, and much cheaper.
    pub(super) fn has_many_rows(&self) -> bool {
        self.sample_size() <= 0.4 * self.y.len() as f64
    }

    fn sample_size(&self) -> f64 {
        let least = LEAST * self.y.len() as f64;
        least.max((ROWS_A_COEFFICIENT * self.dimension()) as f64)
    }

    /// One row out of every so many, at random.
    fn draw(&self) -> Vec<usize> {
        let n = self.y.len();
        let step = (n as f64 / self.sample_size()).max(1.0);
        let mut rng = stream(0, 0);
        let count = (n as f64 / step) as usize;
        (0..count)
            .map(|k| ((k as f64 + rng.random::<f64>()) * step) as usize)
            .map(|i| i.min(n - 1))
            .collect()
    }

    /// `sum_i h_i x_i x_i'` over so many rows, of which `row` is the number of each, the intercept last, without the penalty.
    fn gram(&self, rows: usize, row: impl Fn(usize) -> usize + Sync) -> Vec<f64> {
        let (d, k) = (self.design.columns(), self.dimension());
        Gram::in_parts(k, rows, |range, gram| {
            for i in range.map(&row) {
                let h = self.curvature[i];
                if h > 0.0 {
                    let root = h.sqrt();
                    let row = gram.next_row();
                    self.design.row_axpy(i, root, &mut row[..d]);
                    if self.intercept {
                        row[d] = root;
                    }
                }
            }
        })
    }

    fn add_penalty(&self, matrix: &mut [f64]) {
        let k = self.dimension();
        (0..self.design.columns()).for_each(|j| matrix[j * k + j] += self.l2);
    }
}

/// The data that a loop over rows uses.
struct Rows<'a, F> {
    family: &'a F,
    y: &'a [f64],
    shares: &'a [f64],
    offset: Option<&'a [f64]>,
}

impl<F: ScalarFamily> Rows<'_, F> {
    /// The sum of the losses of some rows, given their `x_i.beta`, with share times slope written to `slopes`.
    fn losses(&self, rows: Range<usize>, t: &[f64], intercept: f64, slopes: &mut [f64]) -> f64 {
        let mut eta = [0.0; CHUNK];
        let mut sum = 0.0;
        for (k, (t, slopes)) in t.chunks(CHUNK).zip(slopes.chunks_mut(CHUNK)).enumerate() {
            let here = rows.start + k * CHUNK..rows.start + k * CHUNK + t.len();
            let eta = &mut eta[..t.len()];
            self.shift(here.clone(), t, intercept, eta);
            sum += self.family.losses(eta, &self.y[here.clone()], &self.shares[here], slopes);
        }
        sum
    }

    fn curvatures(&self, z: &[f64], out: &mut [f64]) {
        let mut eta = [0.0; CHUNK];
        for (k, (z, out)) in z.chunks(CHUNK).zip(out.chunks_mut(CHUNK)).enumerate() {
            let here = k * CHUNK..k * CHUNK + z.len();
            let eta = &mut eta[..z.len()];
            self.shift(here.clone(), z, 0.0, eta);
            self.family.curvatures(eta, &self.y[here.clone()], &self.shares[here], out);
        }
    }

    /// `eta = t + intercept + offset`.
    fn shift(&self, rows: Range<usize>, t: &[f64], intercept: f64, eta: &mut [f64]) {
        match self.offset {
            None => eta.iter_mut().zip(t).for_each(|(e, t)| *e = t + intercept),
            Some(offset) => {
                let offset = &offset[rows];
                for i in 0..eta.len() {
                    eta[i] = t[i] + intercept + offset[i];
                }
            }
        }
    }
}

impl<D: Design, F: ScalarFamily> TwiceDifferentiable for Objective<'_, D, F> {
    fn dimension(&self) -> usize {
        self.design.columns() + usize::from(self.intercept)
    }

    fn margins(&self) -> usize {
        self.y.len()
    }

    fn terms(&self) -> usize {
        self.design.all_rows()
    }

    fn multiply(&self, v: &[f64], z: &mut [f64]) {
        let d = self.design.columns();
        multiply(&self.design, &v[..d], z);
        if self.intercept {
            z.iter_mut().for_each(|z| *z += v[d]);
        }
    }

    fn value(&mut self, x: &[f64], z: &[f64]) -> f64 {
        self.sum_losses(z) + self.penalty(x)
    }

    fn measure(&mut self, x: &mut [f64], z: &mut Vec<f64>, gradient: &mut [f64]) -> Certificate {
        let objective = self.value(x, z);
        self.transpose(x, gradient);
        self.residual(objective, gradient)
    }

    fn bend(&mut self, z: &[f64]) {
        let rows =
            Rows { family: self.family, y: self.y, shares: self.shares, offset: self.offset };
        rows.curvatures(z, &mut self.curvature);
    }

    fn diagonal(&mut self, out: &mut [f64]) {
        let d = self.design.columns();
        multiply_squares_transposed(&self.design, &self.curvature, &mut out[..d]);
        out[..d].iter_mut().for_each(|o| *o += self.l2);
        if self.intercept {
            out[d] = self.sum(&self.curvature);
        }
    }

    fn curve(&mut self, v: &[f64], z: &[f64], out: &mut [f64]) {
        let d = self.design.columns();
        let bent: Vec<f64> = z.iter().zip(&self.curvature).map(|(z, h)| z * h).collect();
        multiply_transposed(&self.design, &bent, &mut out[..d]);
        out.iter_mut().zip(&v[..d]).for_each(|(o, v)| *o += self.l2 * v);
        if self.intercept {
            out[d] = self.sum(&bent);
        }
    }
}

impl<D: Design, F: ScalarFamily> WithHessian for Objective<'_, D, F> {
    fn hessian(&mut self) -> (Vec<f64>, f64) {
        let k = self.dimension();
        let mut matrix = vec![0.0; k * k];
        self.design.add_rows(&mut matrix, |rows, sum| {
            sum.copy_from_slice(&self.gram(rows.len(), |k| rows.start + k));
        });
        self.add_penalty(&mut matrix);
        (matrix, 0.25 * self.dimension() as f64)
    }
}

impl<D: Design, F: ScalarFamily> Preconditioned for Objective<'_, D, F> {
    /// The Hessian of a subset of the rows. It is scaled so that its diagonal equals the diagonal of the full Hessian
    /// at the point where it was first computed. So a column without entries in the subset keeps its diagonal entry.
    fn preconditioner(&mut self, z: &[f64]) -> (Vec<f64>, f64) {
        let k = self.dimension();
        self.bend(z);
        let mut passes = LEAST * 0.25 * k as f64;
        let (rows, growth) = self.sample.take().unwrap_or_else(|| {
            passes += 0.5;
            (self.draw(), vec![])
        });
        let mut matrix = self.gram(rows.len(), |k| rows[k]);
        let first = growth.is_empty();
        let mut growth = growth;
        if first {
            growth = vec![0.0; k];
            self.diagonal(&mut growth);
            growth[..self.design.columns()].iter_mut().for_each(|g| *g -= self.l2);
            for j in 0..k {
                let part = matrix[j * k + j];
                growth[j] =
                    if part > 0.0 { (growth[j].max(0.0) / part).sqrt() } else { -growth[j] };
            }
        }
        for i in 0..k {
            for j in 0..k {
                matrix[i * k + j] *= growth[i].max(0.0) * growth[j].max(0.0);
            }
            if growth[i] < 0.0 {
                matrix[i * k + i] = -growth[i];
            }
        }
        self.sample = Some((rows, growth));
        self.add_penalty(&mut matrix);
        (matrix, passes)
    }

    fn value_and_gradient(&mut self, x: &[f64], z: &mut [f64], gradient: &mut [f64]) -> f64 {
        let d = self.design.columns();
        let intercept = x.get(d).copied().unwrap_or(0.0);
        let rows =
            Rows { family: self.family, y: self.y, shares: self.shares, offset: self.offset };
        let value = multiply_through(
            &self.design,
            &x[..d],
            z,
            &mut self.slopes,
            &mut gradient[..d],
            |range, t, slopes| rows.losses(range, t, intercept, slopes),
        );
        if self.intercept {
            z.iter_mut().for_each(|z| *z += intercept);
            gradient[d] = lanes::sum(&self.slopes);
        }
        gradient.iter_mut().zip(&x[..d]).for_each(|(g, x)| *g += self.l2 * x);
        value + self.penalty(x)
    }

    fn evaluate(&mut self, x: &[f64], z: &[f64]) -> f64 {
        self.value(x, z)
    }

    fn slope(&self, x: &[f64], w: &[f64], a: &[f64]) -> f64 {
        let d = self.design.columns();
        lanes::dot(&self.slopes, a) + self.l2 * lanes::dot(&x[..d], &w[..d])
    }

    fn gradient(&mut self, x: &[f64], out: &mut [f64]) {
        self.transpose(x, out);
    }

    fn certificate(&mut self, _: &[f64], value: f64, gradient: &[f64]) -> Option<Certificate> {
        Some(self.residual(value, gradient))
    }

    fn estimate(&self, gradient: &[f64]) -> f64 {
        self.residual(0.0, gradient).value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glm::Identity;
    use fenchel_linalg::spread::{Communicator, Shards, threads};
    use fenchel_linalg::{Dense, Invalid};

    /// The rounding of the objective is that of all rows.
    #[test]
    fn terms_are_those_of_all_rows() {
        let x = ndarray::array![[0.0], [1.0], [2.0], [3.0]];
        let terms = threads::run(2, |ranks| {
            let rows = [0..1, 1..4][ranks.rank()].clone();
            let shards = Shards::new(ranks, &[rows.len()])?;
            let design =
                Dense::new(x.slice_axis(ndarray::Axis(0), rows.clone().into()))?.spread(&shards)?;
            let (y, shares) = (&[1.0, 2.0, 2.0, 3.0][rows.clone()], &[0.25; 4][rows]);
            let objective = Objective::new(&Identity, design, (y, shares), None, 0.0, true);
            Ok::<_, Invalid>((objective.margins(), objective.terms()))
        });
        assert_eq!(terms.unwrap(), [(1, 4), (3, 4)]);
    }
}
