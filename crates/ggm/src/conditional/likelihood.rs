//! The likelihood of the conditional model, its dual, and the penalty.

use fenchel_linalg::{Invalid, factor};
use fenchel_optim::lbfgs::Smooth;
use fenchel_optim::{Certificate, Regulariser};
use ndarray::{Array2, ArrayView2};

use crate::error::Error;
use crate::penalty::soft;
use crate::problem::rounding;
use crate::singular::check_regular;
use crate::statistics::correlations;

/// The smooth part: `L` by rows, then `T` by rows.
pub(super) struct Likelihood {
    p: usize,
    pub(super) q: usize,
    l1: f64,
    input_l1: f64,
    xx: Array2<f64>,
    xy: Array2<f64>,
    pub(super) yy: Array2<f64>,
    /// `G S_xy` with `S_xx G S_xx = S_xx`.
    regression: Array2<f64>,
    /// The largest entry of `S_xy - S_xx G S_xy`; 0 if rounding explains it.
    rest: f64,
    /// `S_xx^-1`, if the rank of `S_xx` is full.
    inverse: Option<Array2<f64>>,
    /// Added to objective and bound, for the units.
    pub(super) shift: f64,
}

/// The quantities that value and gradient both need.
struct Parts {
    value: f64,
    /// `L^-1`.
    w: Array2<f64>,
    /// `T L^-1`.
    b: Array2<f64>,
    /// `S_xx T L^-1`.
    sb: Array2<f64>,
}

impl Likelihood {
    pub(super) fn new(
        c: &Array2<f64>,
        p: usize,
        l1: f64,
        input_l1: f64,
    ) -> Result<Likelihood, Error> {
        let q = c.nrows() - p;
        let block = |rows: usize, columns: usize, at: (usize, usize)| {
            Array2::from_shape_fn((rows, columns), |(i, j)| c[[at.0 + i, at.1 + j]])
        };
        let (xx, xy, yy) = (block(p, p, (0, 0)), block(p, q, (0, p)), block(q, q, (p, p)));
        // Of correlations: which inputs are copies of others does not depend on their units.
        let units = xx.diag().mapv(f64::sqrt);
        let eigen = factor::symmetric_eigen(correlations(&xx, &units).view())?;
        let cut = 1e-12 * eigen.values[p - 1];
        let mut pseudo = eigen.map(|v| if v > cut { 1.0 / v } else { 0.0 });
        pseudo.indexed_iter_mut().for_each(|((i, j), v)| *v = *v / units[i] / units[j]);
        let regression = pseudo.dot(&xy);
        let rest = unexplained(&xx, &xy, &yy, &regression);
        let inverse = (eigen.values[0] > cut).then_some(pseudo);
        Ok(Likelihood { p, q, l1, input_l1, xx, xy, yy, regression, rest, inverse, shift: 0.0 })
    }

    /// Checks that the likelihood is bounded. Without a penalty on the input couplings, the outputs must have a
    /// positive variance given the inputs. Without any penalty, the covariance matrix must have full rank.
    pub(super) fn check_bounded(&self) -> Result<(), Error> {
        if self.input_l1 > 0.0 {
            return Ok(());
        }
        let what = "the conditional field";
        let left = &self.yy - &self.xy.t().dot(&self.regression);
        if self.l1 == 0.0 {
            return check_regular(what, left.view(), self.yy.diag());
        }
        let variances = Array2::from_diag(&left.diag());
        check_regular(what, variances.view(), self.yy.diag())
    }

    /// `log det(U - B' S_xx B)` with the best `U` that is known, less what rounding may have added to it. It is `-inf` outside the domain.
    ///
    /// `U` is on the boundary of its box where `L` is not 0. If the result is not positive definite, it is only clipped to the box.
    fn dual(&self, x: &[f64], parts: &Parts, b: &Array2<f64>) -> f64 {
        let q = self.q;
        let explained = -b.t().dot(&self.xx.dot(b));
        let sizes = b.mapv(f64::abs);
        let sizes = sizes.t().dot(&self.xx.mapv(f64::abs).dot(&sizes));
        let inner = parts.b.t().dot(&parts.sb);
        let mut best = f64::NEG_INFINITY;
        for on_boundary in [true, false] {
            let mut dual = vec![0.0; q * q];
            for i in 0..q {
                for j in 0..=i {
                    let bound = if i == j { 0.0 } else { self.l1 };
                    let mean = |m: &Array2<f64>| 0.5 * (m[[i, j]] + m[[j, i]]);
                    let z = parts.w[[i, j]] + mean(&inner) - self.yy[[i, j]];
                    let z = match x[i * q + j] {
                        l if on_boundary && l != 0.0 => bound * l.signum(),
                        _ => z.clamp(-bound, bound),
                    };
                    let value = self.yy[[i, j]] + z + mean(&explained);
                    dual[i * q + j] = value;
                    dual[j * q + i] = value;
                }
            }
            if let Ok(factor) = factor::cholesky_in_place(dual, q) {
                let inverse = factor::inverse(&factor);
                let size = |i: usize| inverse[[i, i]] * (self.yy[[i, i]] + sizes[[i, i]]);
                let terms = (self.p + q) as f64 / (q + 1) as f64;
                best = best.max(factor.log_det() - terms * rounding((0..q).map(size)));
            }
        }
        best
    }

    /// What rounding adds to the gap: of the log-determinants as in the graphical lasso, and of the sums of products.
    fn rounding(&self, x: &[f64], parts: &Parts) -> f64 {
        let (p, q) = (self.p, self.q);
        let products = |a: &Array2<f64>, b: &[f64]| -> f64 {
            a.iter().zip(b).map(|(a, b)| (a * b).abs()).sum()
        };
        let (l, t) = x.split_at(q * q);
        let terms = products(&self.yy, l) + 2.0 * products(&self.xy, t) + products(&parts.sb, t);
        let logs = rounding((0..q).map(|i| self.yy[[i, i]] * l[i * q + i]));
        logs + 4.0 * (p + q) as f64 * f64::EPSILON * terms
    }

    /// `None` outside the domain.
    fn parts(&self, point: &[f64]) -> Option<Parts> {
        let (p, q) = (self.p, self.q);
        let factor = factor::cholesky_in_place(point[..q * q].to_vec(), q).ok()?;
        let mut w = Array2::zeros((q, q));
        factor::inverse_into(&factor, w.as_slice_mut()?);
        let l = ArrayView2::from_shape((q, q), &point[..q * q]).ok()?;
        let t = ArrayView2::from_shape((p, q), &point[q * q..]).ok()?;
        let b = t.dot(&w);
        let sb = self.xx.dot(&b);
        let value = (&self.yy * &l).sum() + 2.0 * (&self.xy * &t).sum() + (&sb * &t).sum()
            - factor.log_det();
        Some(Parts { value, w, b, sb })
    }
}

/// The largest entry of `S_xy - S_xx R`, 0 if none is above its rounding.
fn unexplained(
    xx: &Array2<f64>,
    xy: &Array2<f64>,
    yy: &Array2<f64>,
    regression: &Array2<f64>,
) -> f64 {
    let p = xx.nrows();
    let input = |i: usize| xx[[i, i]].sqrt();
    let rest = xy - &xx.dot(regression);
    let sizes: Vec<f64> = (0..yy.nrows())
        .map(|j| {
            yy[[j, j]].sqrt() + (0..p).map(|i| input(i) * regression[[i, j]].abs()).sum::<f64>()
        })
        .collect();
    let rounding = |i: usize, j: usize| 8.0 * p as f64 * f64::EPSILON * input(i) * sizes[j];
    let above = rest.indexed_iter().filter(|((i, j), v)| v.abs() > rounding(*i, *j));
    above.fold(0.0, |most: f64, (_, v)| most.max(v.abs()))
}

impl Smooth for Likelihood {
    fn dimension(&self) -> usize {
        self.q * (self.q + self.p)
    }

    fn value_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let Some(parts) = self.parts(x) else {
            gradient.fill(0.0);
            return f64::INFINITY;
        };
        let q = self.q;
        let inner = parts.b.t().dot(&parts.sb);
        for i in 0..q {
            for j in 0..=i {
                let mean = 0.5 * (inner[[i, j]] + inner[[j, i]]);
                let value = self.yy[[i, j]] - parts.w[[i, j]] - mean;
                gradient[i * q + j] = value;
                gradient[j * q + i] = value;
            }
        }
        let rows = gradient[q * q..].iter_mut().zip(self.xy.iter().zip(&parts.sb));
        rows.for_each(|(g, (s, sb))| *g = 2.0 * (s + sb));
        parts.value
    }

    fn value_only(&mut self, x: &[f64]) -> f64 {
        self.parts(x).map_or(f64::INFINITY, |parts| parts.value)
    }

    fn certify_composite(&mut self, x: &[f64], h: f64) -> Option<Certificate> {
        let parts = self.parts(x)?;
        let q = self.q;
        let away = -&parts.sb - &self.xy;
        let bound = 0.5 * self.input_l1;
        // From the regression of least squares to the gradient as far as the box allows.
        let largest = away.iter().fold(0.0_f64, |a, v| a.max(v.abs()));
        let mut lower = f64::NEG_INFINITY;
        if largest.min(self.rest) <= bound {
            let over = largest > bound;
            let by = if over { (bound - self.rest) / (largest - self.rest) } else { 1.0 };
            let b = &parts.b * by - &self.regression * (1.0 - by);
            lower = self.dual(x, &parts, &b);
        }
        // With an `S_xx` of full rank every point of the box is allowed: that on its boundary where T is not 0. Its error is of second
        // order in that of the point, as in the graphical lasso.
        if let Some(inverse) = &self.inverse {
            let t = &x[q * q..];
            let mut v = self.xy.clone();
            for ((v, away), t) in v.iter_mut().zip(&away).zip(t) {
                *v += if *t == 0.0 { away.clamp(-bound, bound) } else { bound * t.signum() };
            }
            let b = inverse.dot(&v);
            // With inputs that are nearly copies the product with an inverse loses digits: its `V` may lie outside of the box.
            if unexplained(&self.xx, &v, &self.yy, &b) == 0.0 {
                lower = lower.max(self.dual(x, &parts, &b));
            }
        }
        let objective = parts.value + h + self.shift;
        let bound = lower + q as f64 + self.shift;
        Some(Certificate::gap_within(objective, bound, self.rounding(x, &parts)))
    }
}

/// The l1 norms of the two matrices, that of the first without its diagonal.
pub(super) struct Blocks {
    pub(super) outputs: usize,
    pub(super) l1: f64,
    pub(super) input_l1: f64,
}

impl Blocks {
    fn weight(&self, at: usize) -> f64 {
        let q = self.outputs;
        if at >= q * q {
            self.input_l1
        } else if at.is_multiple_of(q + 1) {
            0.0
        } else {
            self.l1
        }
    }
}

impl Regulariser for Blocks {
    const NAME: &'static str = "l1 norms of couplings";

    fn check(&self, _columns: usize) -> Result<(), Invalid> {
        Ok(())
    }

    fn value(&self, x: &[f64]) -> f64 {
        x.iter().enumerate().map(|(at, x)| self.weight(at) * x.abs()).sum()
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        for (at, x) in x.iter_mut().enumerate() {
            *x = soft(*x, step * self.weight(at));
        }
    }
}
