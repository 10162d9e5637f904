//! The terms of the sum: the loss of a row, times its weight.
//!
//! With sample weights `w_i` of sum `W` the risk is `(1/W) sum_i w_i phi(t_i; y_i)`, which is
//! `(1/n) sum_i phi_i(t_i)` with the terms
//!
//! ```text
//! phi_i = c_i phi(.; y_i),   c_i = n w_i / W,   phi_i*(u) = c_i phi*(u / c_i; y_i).
//! ```
//!
//! Every method meets the loss through this file alone, so that weights exist for all of them and a term of
//! weight 0 is the zero function for all of them.

use std::ops::Range;

use fenchel_linalg::{Design, Invalid, lanes, multiply_through};
use fenchel_optim::{Loss, Regulariser};

use crate::{Error, Problem};

impl<D: Design, L: Loss, R: Regulariser> Problem<'_, D, L, R> {
    /// The same problem with one weight a row: it minimises `(1/W) sum_i w_i phi(a_i.x + b; y_i) + R(x)`.
    ///
    /// A whole weight is as good as that many copies of the row; a row of weight 0 is legal and without any
    /// effect, as one below 1e-292 of the mean. Only the proportions matter. Methods that need it see a term's own smoothness
    /// `L_i = c_i gamma ||a_i||^2`. O(n), and `n` numbers of memory.
    ///
    /// # Errors
    /// [`Invalid::Length`] for weights that are not one a row; [`Invalid::Parameter`] for a negative or
    /// non-finite weight, or if all are 0; [`Invalid::Layout`] where some processes give weights to spread rows and others give none.
    pub fn with_weights(self, weights: &[f64]) -> Result<Self, Error> {
        if let Some(shards) = self.design().shards() {
            // A process without weights is at the settings of its fit by now, and sees that others are not.
            shards.communicator().check_alike("settings of the fit", "rows with weights")?;
        }
        let scales = scales_over(self.design(), weights)?;
        self.scaled(scales)
    }

    /// `phi_i(t)`.
    #[inline(always)]
    pub fn value(&self, i: usize, t: f64) -> f64 {
        let (loss, y) = (self.loss(), self.targets()[i]);
        match self.term_weight(i) {
            0.0 => 0.0,
            weight => weight * loss.value(t, y),
        }
    }

    /// `phi_i'(t)`.
    #[inline(always)]
    pub fn derivative(&self, i: usize, t: f64) -> f64 {
        let (loss, y) = (self.loss(), self.targets()[i]);
        match &self.scales {
            None => loss.derivative(t, y),
            Some(scales) if scales[i] > 0.0 => scales[i] * loss.derivative(t, y),
            Some(_) => 0.0,
        }
    }

    /// `phi_i''(t)`.
    #[inline(always)]
    pub fn second(&self, i: usize, t: f64) -> f64 {
        let (loss, y) = (self.loss(), self.targets()[i]);
        match &self.scales {
            None => loss.second(t, y),
            Some(scales) if scales[i] > 0.0 => scales[i] * loss.second(t, y),
            Some(_) => 0.0,
        }
    }

    /// `phi_i*(u)`; infinite outside its domain, which is `{0}` for a term of weight 0.
    #[inline(always)]
    pub fn conjugate(&self, i: usize, u: f64) -> f64 {
        let (loss, y) = (self.loss(), self.targets()[i]);
        match &self.scales {
            None => loss.conjugate(u, y),
            Some(scales) => scaled_conjugate(loss, scales[i], u, y),
        }
    }

    /// `phi_i*'(u)`, the margin `t` with `phi_i'(t) = u`: see [`Loss::conjugate_derivative`]. It is 0 for a term of weight 0.
    #[inline(always)]
    pub fn conjugate_derivative(&self, i: usize, u: f64) -> f64 {
        let (loss, y) = (self.loss(), self.targets()[i]);
        match self.term_weight(i) {
            0.0 => 0.0,
            weight => loss.conjugate_derivative(u / weight, y),
        }
    }

    /// The `u` with `u = phi_i'(m - q u)`: see [`Loss::dual_step`].
    #[inline(always)]
    pub fn dual_step(&self, i: usize, m: f64, q: f64, guess: f64) -> f64 {
        self.scaled_step(i, q, |q, y| self.loss().dual_step(m, q, y, guess))
    }

    /// The same `u` from derivatives alone: see [`Loss::interval_step`].
    #[inline(always)]
    pub fn interval_step(&self, i: usize, m: f64, q: f64, guess: f64) -> f64 {
        self.scaled_step(i, q, |q, y| self.loss().interval_step(m, q, y, guess))
    }

    #[inline(always)]
    fn scaled_step(&self, i: usize, q: f64, step: impl Fn(f64, f64) -> f64) -> f64 {
        let y = self.targets()[i];
        match &self.scales {
            None => step(q, y),
            // u = c v with v = phi'(m - q c v).
            Some(scales) if scales[i] > 0.0 => scales[i] * step(scales[i] * q, y),
            Some(_) => 0.0,
        }
    }

    /// The Lipschitz constant of `phi_i'`; infinite for a loss without one (0 for a weight of 0).
    #[inline(always)]
    pub fn term_curvature(&self, i: usize) -> f64 {
        match self.term_weight(i) {
            0.0 => 0.0,
            weight => weight * self.loss().curvature(),
        }
    }

    /// `L_i = c_i gamma (||a_i||^2 + 1)`, the 1 only with an intercept: the Lipschitz constant of the
    /// gradient of `phi_i(a_i.x + b)`, without `l2`.
    #[inline]
    pub fn term_smoothness(&self, i: usize) -> f64 {
        let ones = if self.intercept() { 1.0 } else { 0.0 };
        match self.norm_squared(i) + ones {
            0.0 => 0.0,
            size => self.term_curvature(i) * size,
        }
    }

    /// The size of what a term of the objective and of the dual value is computed from: `|phi_i(t)| + |u t|`. A loss without a curvature
    /// bound is a difference of large parts, such as `exp(t) - y t`; they are as large as `phi_i''(t) (1 + |t|)` where they cancel. It is 0 for a
    /// term of weight 0.
    pub(crate) fn size_of_term(&self, i: usize, t: f64, u: f64) -> f64 {
        if self.term_weight(i) == 0.0 {
            return 0.0;
        }
        let steep = !self.loss().curvature().is_finite();
        let parts = if steep { self.second(i, t) * (1.0 + t.abs()) } else { 0.0 };
        self.value(i, t).abs() + (u * t).abs() + parts
    }

    /// `sum_i phi_i(t_i)`.
    pub(crate) fn sum_values(&self, margins: &[f64]) -> f64 {
        self.sum(margins, |t, y| self.loss().values(t, y))
    }

    /// `sum_i phi_i'(t_i)`.
    pub(crate) fn sum_derivatives(&self, margins: &[f64]) -> f64 {
        self.sum(margins, |t, y| self.loss().derivatives(t, y))
    }

    /// `sum_i phi_i'(t_i + shift)` and `sum_i phi_i''(t_i + shift)`.
    pub(crate) fn sum_slopes(&self, margins: &[f64], shift: f64) -> (f64, f64) {
        let shifted = |t: &mut [f64]| t.iter_mut().for_each(|t| *t += shift);
        let first = self.sum(margins, |t, y| {
            shifted(t);
            self.loss().derivatives(t, y);
        });
        let second = self.sum(margins, |t, y| {
            shifted(t);
            self.loss().seconds(t, y);
        });
        (first, second)
    }

    /// `sum_i phi_i*(scale u_i)`.
    pub(crate) fn sum_conjugates(&self, dual: &[f64], scale: f64) -> f64 {
        let loss = self.loss();
        match &self.scales {
            None => self.sum(dual, |u, y| {
                u.iter_mut().for_each(|u| *u *= scale);
                loss.conjugates(u, y);
            }),
            Some(scales) => {
                let [sum] = self.design().sum_rows(|rows| {
                    let terms = dual[rows.clone()].iter().zip(&self.targets()[rows.clone()]);
                    let terms = terms.zip(&scales[rows]);
                    [terms.map(|((&u, &y), &c)| scaled_conjugate(loss, c, scale * u, y)).sum()]
                });
                sum
            }
        }
    }

    /// Replaces margins by `factor phi_i'(t_i)`.
    pub(crate) fn differentiate(&self, margins: &mut [f64], factor: f64) {
        self.loss().derivatives(margins, self.targets());
        self.weigh(margins, factor);
    }

    /// Replaces the margins of some rows by `factor phi_i'(t_i)` and returns `sum_i phi_i(t_i)` over them.
    pub(crate) fn differentiate_and_sum(
        &self,
        rows: Range<usize>,
        margins: &mut [f64],
        factor: f64,
    ) -> f64 {
        let targets = &self.targets()[rows.clone()];
        match &self.scales {
            None => {
                let sum = self.loss().derivatives_and_sum(margins, targets);
                margins.iter_mut().for_each(|t| *t *= factor);
                sum
            }
            Some(scales) => {
                let scales = &scales[rows];
                let mut values = margins.to_vec();
                self.loss().values(&mut values, targets);
                weigh(&mut values, scales, 1.0);
                self.loss().derivatives(margins, targets);
                weigh(margins, scales, factor);
                lanes::sum(&values)
            }
        }
    }

    /// At a point, in one pass: the margins, `factor phi_i'` there, and their combination of the rows in `out`.
    /// Returns `F` without the regulariser.
    pub(crate) fn value_and_products(
        &self,
        (weights, intercept): (&[f64], f64),
        margins: &mut [f64],
        derivatives: &mut [f64],
        factor: f64,
        out: &mut [f64],
    ) -> f64 {
        let differentiate = |rows: Range<usize>, t: &[f64], u: &mut [f64]| {
            u.copy_from_slice(t);
            shift(u, intercept);
            self.differentiate_and_sum(rows, u, factor)
        };
        let risk =
            multiply_through(self.design(), weights, margins, derivatives, out, differentiate);
        shift(margins, intercept);
        risk / self.terms() + self.quadratic(weights)
    }

    /// `out_i = factor phi_i''(t_i)`.
    pub(crate) fn seconds(&self, margins: &[f64], factor: f64, out: &mut [f64]) {
        out.copy_from_slice(margins);
        self.loss().seconds(out, self.targets());
        self.weigh(out, factor);
    }

    /// The sum of `batch(x_i; y_i)` over the rows, weighted, a piece at a time.
    #[inline(always)]
    fn sum(&self, x: &[f64], batch: impl Fn(&mut [f64], &[f64]) + Sync) -> f64 {
        const PIECE: usize = 256;
        let [sum] = self.design().sum_rows(|rows| {
            let mut piece = [0.0; PIECE];
            let mut total = 0.0;
            for from in rows.clone().step_by(PIECE) {
                let here = from..rows.end.min(from + PIECE);
                let piece = &mut piece[..here.len()];
                piece.copy_from_slice(&x[here.clone()]);
                batch(piece, &self.targets()[here.clone()]);
                if let Some(scales) = &self.scales {
                    weigh(piece, &scales[here], 1.0);
                }
                total += lanes::sum(piece);
            }
            [total]
        });
        sum
    }

    /// Scales one number a row by `factor c_i`.
    fn weigh(&self, x: &mut [f64], factor: f64) {
        match &self.scales {
            None if factor == 1.0 => {}
            None => x.iter_mut().for_each(|x| *x *= factor),
            Some(scales) => weigh(x, scales, factor),
        }
    }
}

fn shift(x: &mut [f64], by: f64) {
    if by != 0.0 {
        x.iter_mut().for_each(|x| *x += by);
    }
}

/// `c_i = n w_i / W`, the weights of the rows on a scale of mean 1.
///
/// # Errors
/// [`Invalid`] for another number of weights than rows, a negative weight, or none above 0.
pub fn term_scales(weights: &[f64], n: usize) -> Result<Vec<f64>, Invalid> {
    let mean = |share: &Share<'_>| share(0..n) / n as f64;
    scales_by(weights, n, |largest| largest, mean)
}

/// The same for the rows of a design, of which others may lie with other processes.
fn scales_over<D: Design>(design: &D, weights: &[f64]) -> Result<Vec<f64>, Invalid> {
    let mean = |share: &Share<'_>| {
        let [sum] = design.sum_rows(|rows| [share(rows)]);
        sum / design.all_rows() as f64
    };
    scales_by(weights, design.rows(), |largest| design.largest(largest), mean)
}

/// The sum of the weights of some rows, each divided by the largest of all.
type Share<'w> = dyn Fn(Range<usize>) -> f64 + Sync + 'w;

/// Weights over their mean. `of_all` makes the largest own weight the largest of all, and `mean` is the mean over all rows.
fn scales_by(
    weights: &[f64],
    n: usize,
    of_all: impl FnOnce(f64) -> f64,
    mean: impl FnOnce(&Share<'_>) -> f64,
) -> Result<Vec<f64>, Invalid> {
    Invalid::check_weights("sample weights", n, weights.iter())?;
    let largest = of_all(weights.iter().copied().fold(0.0, f64::max));
    Invalid::check_positive("largest sample weight", largest)?;
    // Dividing by the largest keeps the sum finite.
    let mean = mean(&|rows| weights[rows].iter().map(|w| w / largest).sum());
    // A product with a smaller one would lose its digits.
    let least = f64::MIN_POSITIVE / f64::EPSILON;
    let scales = weights.iter().map(|w| w / largest / mean);
    Ok(scales.map(|scale| if scale < least { 0.0 } else { scale }).collect())
}

/// `x_i <- factor c_i x_i`; 0 for a term of weight 0, whatever `x_i` is.
fn weigh(x: &mut [f64], scales: &[f64], factor: f64) {
    for (x, &c) in x.iter_mut().zip(scales) {
        *x = if c > 0.0 { factor * c * *x } else { 0.0 };
    }
}

/// `(c phi)*(u)`
#[inline(always)]
fn scaled_conjugate<L: Loss>(loss: &L, c: f64, u: f64, y: f64) -> f64 {
    if c > 0.0 {
        c * loss.conjugate(u / c, y)
    } else if u == 0.0 {
        0.0
    } else {
        f64::INFINITY
    }
}
