//! Duality gaps of multinomial problems, and the optimal intercepts.

use fenchel_linalg::special::{softmax_in_place, xlogx};
use fenchel_linalg::{Cholesky, Design, Gram};
use fenchel_optim::{Certificate, Regulariser};

use super::problem::{CURVATURE, MulticlassPoint, MulticlassProblem};
use super::product::multiply_transposed_rows;
use crate::Error;
use crate::gap::{Scale, gradient_mapping, norm};

/// Scratch memory for certificates: `n r + d r` numbers.
#[derive(Debug, Clone)]
pub(super) struct Gap {
    /// The scores, later replaced by the distributions, `n x r`.
    pub(super) table: Vec<f64>,
    /// `v`, `d x r`.
    pub(super) correlation: Vec<f64>,
    /// What gradients are measured by, once there was one.
    unit: Option<Scale>,
}

impl Gap {
    pub(super) fn new<D: Design, R: Regulariser>(problem: &MulticlassProblem<'_, D, R>) -> Self {
        Gap {
            table: vec![0.0; problem.n() * problem.classes()],
            correlation: vec![0.0; problem.d() * problem.classes()],
            unit: None,
        }
    }
}

impl<D: Design, R: Regulariser> MulticlassProblem<'_, D, R> {
    /// What can be proved at any point: the duality gap with `p_i = softmax(z_i)`, repaired where it is not
    /// feasible. Two passes.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a point of another shape or with non-finite entries.
    pub fn certify(&self, point: &MulticlassPoint) -> Result<Certificate, Error> {
        self.check_point(point)?;
        Ok(self.certificate_at(&mut Gap::new(self), point))
    }

    /// Certificate with the dual distributions `p_i = softmax(z_i)`. Two half passes.
    pub(super) fn certificate_at(&self, gap: &mut Gap, point: &MulticlassPoint) -> Certificate {
        self.scores(point, &mut gap.table);
        let weights = &point.weights;
        let objective =
            self.smooth_objective_at(&gap.table, weights) + self.regulariser().value(weights);
        self.apply_softmax(gap);
        self.certificate(gap, weights, objective)
    }

    /// Moves the intercepts to their optimum. Returns the objective there, and leaves the scores in the table. Half a pass.
    pub(super) fn settle(&self, gap: &mut Gap, point: &mut MulticlassPoint) -> f64 {
        self.scores(point, &mut gap.table);
        settle_intercepts(self, &mut gap.table, &mut point.intercepts);
        let weights = &point.weights;
        self.smooth_objective_at(&gap.table, weights) + self.regulariser().value(weights)
    }

    /// Certificate of a point with optimal intercepts and the method's own dual distributions. `read(i, out)` writes
    /// the `i`-th distribution.
    pub(super) fn certificate_with(
        &self,
        gap: &mut Gap,
        point: &mut MulticlassPoint,
        read: impl Fn(usize, &mut [f64]) + Sync,
    ) -> Certificate {
        let objective = self.settle(gap, point);
        let weights = &point.weights;
        if has_gap(self) {
            self.each_row(&mut gap.table, read);
        } else {
            self.apply_softmax(gap);
        }
        self.certificate(gap, weights, objective)
    }

    /// Certificate of a point with the scores `z` and the dual distributions `p_i = softmax(z_i)`. Before that, the
    /// intercepts are set to their optimum and the scores are updated. Half a pass.
    pub(super) fn certificate_at_scores(
        &self,
        gap: &mut Gap,
        point: &mut MulticlassPoint,
        z: &mut [f64],
    ) -> Certificate {
        settle_intercepts(self, z, &mut point.intercepts);
        let weights = &point.weights;
        let objective = self.smooth_objective_at(z, weights) + self.regulariser().value(weights);
        gap.table.copy_from_slice(z);
        self.apply_softmax(gap);
        self.certificate(gap, weights, objective)
    }

    fn apply_softmax(&self, gap: &mut Gap) {
        self.each_row(&mut gap.table, |_, z| {
            softmax_in_place(z);
        });
    }

    fn certificate(&self, gap: &mut Gap, weights: &[f64], objective: f64) -> Certificate {
        if !has_gap(self) {
            return self.residual(gap, weights, objective);
        }
        if self.intercepts() {
            let sums = self.sums(gap);
            balance(&mut gap.table, &sums, self.counts());
        }
        self.correlate(gap);
        let (r, regulariser) = (self.classes(), self.regulariser());
        // The correlation is linear in p - e_y: scaling it is mixing p with e_y.
        let scale = regulariser.dual_scale(&gap.correlation, self.l2());
        if scale < 1.0 {
            gap.correlation.iter_mut().for_each(|v| *v *= scale);
        }
        let conjugates = self.sum_rows(&gap.table, |i, p| {
            let y = self.labels()[i];
            let others: f64 =
                (0..r).filter(|&k| k != y).map(|k| xlogx(scale * p[k].max(0.0))).sum();
            self.term_weight(i) * (others + xlogx((1.0 - scale + scale * p[y]).max(0.0)))
        });
        let dual =
            -conjugates / self.n() as f64 - regulariser.conjugate(&gap.correlation, self.l2());
        Certificate::gap(objective, dual)
    }

    /// `v = -(1/n) A'u`, `u_i = c_i (p_i - e_y)`
    fn correlate(&self, gap: &mut Gap) {
        let (r, n) = (self.classes(), self.n() as f64);
        let rows = || self.labels().iter().enumerate();
        if self.weighted() {
            // The distributions are needed afterwards.
            let mut dual = gap.table.clone();
            for ((i, &y), u) in rows().zip(dual.chunks_exact_mut(r)) {
                u[y] -= 1.0;
                u.iter_mut().for_each(|u| *u *= self.term_weight(i));
            }
            multiply_transposed_rows(self.design(), r, &dual, &mut gap.correlation);
        } else {
            rows().for_each(|(i, &y)| gap.table[i * r + y] -= 1.0);
            multiply_transposed_rows(self.design(), r, &gap.table, &mut gap.correlation);
            rows().for_each(|(i, &y)| gap.table[i * r + y] += 1.0);
        }
        gap.correlation.iter_mut().for_each(|v| *v /= -n);
    }

    /// `sum_i c_i p_i`
    fn sums(&self, gap: &Gap) -> Vec<f64> {
        let mut sums = vec![0.0; self.classes()];
        for (i, p) in gap.table.chunks_exact(self.classes()).enumerate() {
            let weight = self.term_weight(i);
            sums.iter_mut().zip(p).for_each(|(sum, p)| *sum += weight * p);
        }
        sums
    }

    /// The gradient with respect to the intercepts, `(1/n) sum_i c_i (p_i - e_y)`, at the scores `z`.
    pub(super) fn intercept_gradient(&self, gap: &mut Gap, z: &[f64], out: &mut [f64]) {
        gap.table.copy_from_slice(z);
        self.apply_softmax(gap);
        let counts = self.sums(gap).into_iter().zip(self.counts());
        for (g, (sum, count)) in out.iter_mut().zip(counts) {
            *g = (sum - count) / self.n() as f64;
        }
    }

    /// The norm of the gradient mapping at the step `1/L`. It is the certificate if no feasible dual point can be
    /// made.
    fn residual(&self, gap: &mut Gap, weights: &[f64], objective: f64) -> Certificate {
        self.correlate(gap);
        let correlation = gap.correlation.iter().zip(weights);
        let gradient: Vec<f64> = correlation.map(|(v, w)| self.l2() * w - v).collect();
        let step = 1.0 / self.smoothness();
        let step = if step.is_finite() { step } else { 1.0 };
        let mapping = gradient_mapping(self.regulariser(), weights, gradient, step);
        let mut slopes = Vec::new();
        if self.intercepts() {
            let sums = self.sums(gap).into_iter().zip(self.counts());
            slopes.extend(sums.map(|(sum, count)| (sum - count) / self.n() as f64));
        }
        let unit = gap.unit.get_or_insert_with(|| self.scale());
        let length = norm(mapping.iter().chain(&slopes).copied());
        Certificate::residual(objective, length, 0.0).on_scale(unit.of_one(&mapping, &slopes))
    }

    /// What gradients are measured by. A pass.
    fn scale(&self) -> Scale {
        let (r, n) = (self.classes(), self.n() as f64);
        let share =
            |k: usize| if self.intercepts() { self.counts()[k] / n } else { 1.0 / r as f64 };
        let shares: Vec<f64> = (0..r).map(share).collect();
        let weights: Vec<f64> = (0..self.n()).map(|i| self.term_weight(i)).collect();
        let mut u = shares.repeat(self.n());
        for ((u, &y), weight) in u.chunks_exact_mut(r).zip(self.labels()).zip(&weights) {
            u[y] -= 1.0;
            u.iter_mut().for_each(|u| *u *= weight);
        }
        Scale::new(self.design(), &weights, self.l2() / CURVATURE, &u, self.intercepts())
    }
}

fn has_gap<D: Design, R: Regulariser>(problem: &MulticlassProblem<'_, D, R>) -> bool {
    problem.l2() > 0.0 || problem.regulariser().coercive()
}

/// Makes the dual point feasible for a problem with intercepts. The weighted sum of the distributions must then be
/// the vector of class counts. Every distribution is mixed with one common distribution: `p' = (1 - theta) p + (n_k -
/// (1 - theta) s_k) / n`, with the smallest `theta` for which the result is non-negative. `s_k` are the weighted
/// `sums` before.
fn balance(table: &mut [f64], sums: &[f64], counts: &[f64]) {
    let r = counts.len();
    let n: f64 = counts.iter().sum();
    // Every added mass must be >= 0.
    let theta = counts.iter().zip(sums).map(|(n_k, s_k)| 1.0 - n_k / s_k).fold(0.0, f64::max);
    let added: Vec<f64> = counts
        .iter()
        .zip(sums)
        .map(|(n_k, s_k)| ((n_k - (1.0 - theta) * s_k) / n).max(0.0))
        .collect();
    for p in table.chunks_exact_mut(r) {
        p.iter_mut().zip(&added).for_each(|(p, added)| *p = (1.0 - theta) * *p + added);
    }
}

/// `n` times the risk as a function of the intercepts, with gradient and Hessian.
struct Slopes {
    value: f64,
    gradient: Vec<f64>,
    hessian: Vec<f64>,
}

impl Slopes {
    /// At the scores. O(n r^2).
    fn at<D: Design, R: Regulariser>(
        problem: &MulticlassProblem<'_, D, R>,
        scores: &[f64],
    ) -> Self {
        let (r, n) = (problem.classes(), problem.n() as f64);
        // Rows of `p_i`, 1 and the term, times the root of the weight: all sums are among their products.
        let order = r + 2;
        let products = Gram::in_parts(order, problem.n(), |rows, gram| {
            let scores = scores[rows.start * r..rows.end * r].chunks_exact(r);
            for (i, z) in rows.zip(scores) {
                let weight = problem.term_weight(i);
                if weight == 0.0 {
                    continue;
                }
                let row = &mut gram.next_row()[..order];
                row[..r].copy_from_slice(z);
                row[r + 1] = softmax_in_place(&mut row[..r]) - z[problem.labels()[i]];
                row[r] = 1.0;
                let root = weight.sqrt();
                row.iter_mut().for_each(|x| *x *= root);
            }
        });
        let sums = &products[r * order..(r + 1) * order];
        let value = sums[r + 1];
        let gradient = sums.iter().zip(problem.counts()).map(|(sum, count)| sum - count).collect();
        // The direction of equal shifts is flat: it gets a curvature of its own.
        let mut hessian = vec![n / r as f64; r * r];
        for (k, row) in hessian.chunks_exact_mut(r).enumerate() {
            // Its rows sum to 0. The diagonal as a sum of the others has no cancellation, where each `p_i` is nearly 0 or 1.
            for l in (0..r).filter(|&l| l != k) {
                row[l] -= products[k * order + l];
                row[k] += products[k * order + l];
            }
        }
        Slopes { value, gradient, hessian }
    }
}

/// Moves intercepts and scores to the minimum over the intercepts of `sum_i c_i lse(z_i + b) - sum_k n_k b_k`, where
/// `lse` is log-sum-exp. It uses Newton's method with step halving and no pass over the design. It does nothing if
/// there are no intercepts. When the expected decrease is below the rounding error of the risk, one last full step is
/// made without a check. It still squares the remaining gradient.
fn settle_intercepts<D: Design, R: Regulariser>(
    problem: &MulticlassProblem<'_, D, R>,
    scores: &mut [f64],
    intercepts: &mut [f64],
) {
    if !problem.intercepts() {
        return;
    }
    let r = problem.classes();
    let shift = |from: &[f64], by: &[f64], fraction: f64, to: &mut [f64]| {
        for (t, z) in to.chunks_exact_mut(r).zip(from.chunks_exact(r)) {
            for k in 0..r {
                t[k] = z[k] + fraction * by[k];
            }
        }
    };
    let mut trial = scores.to_vec();
    let mut here = Slopes::at(problem, scores);
    for _ in 0..50 {
        let mut step: Vec<f64> = here.gradient.iter().map(|g| -g).collect();
        let hessian = std::mem::take(&mut here.hessian);
        let solved = Cholesky::in_place(hessian, r).and_then(|h| h.solve_in_place(&mut step));
        let slope: f64 = here.gradient.iter().zip(&step).map(|(g, s)| g * s).sum();
        if solved.is_err() || !slope.is_finite() {
            return;
        }
        let last = !(-0.5 * slope > 4.0 * f64::EPSILON * here.value.abs());
        let mut fraction = 1.0;
        let next = loop {
            shift(scores, &step, fraction, &mut trial);
            if last {
                break None;
            }
            let there = Slopes::at(problem, &trial);
            if there.value < here.value {
                break Some(there);
            }
            fraction *= 0.5;
            if fraction < 1e-6 {
                return;
            }
        };
        scores.copy_from_slice(&trial);
        intercepts.iter_mut().zip(&step).for_each(|(b, step)| *b += fraction * step);
        match next {
            Some(next) => here = next,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn balanced_distributions_sum_to_the_counts() {
        let mut table = vec![0.2, 0.3, 0.5, 0.9, 0.1, 0.0, 0.6, 0.2, 0.2, 1.0, 0.0, 0.0];
        let counts = [1.0, 2.0, 1.0];
        let sum = |table: &[f64], k| table.iter().skip(k).step_by(3).sum::<f64>();
        let sums = [0, 1, 2].map(|k| sum(&table, k));
        balance(&mut table, &sums, &counts);
        for (k, count) in counts.into_iter().enumerate() {
            assert!((sum(&table, k) - count).abs() <= 1e-14);
        }
        for p in table.chunks_exact(3) {
            assert!(p.iter().all(|&p| p >= 0.0) && (p.iter().sum::<f64>() - 1.0).abs() <= 1e-15);
        }
    }
}
