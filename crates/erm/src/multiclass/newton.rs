//! Newton's method for multinomial logistic regression without regulariser (`l2 >= 0`).
//!
//! With `z_i = W'a_i + b` and `p_i = softmax(z_i)`, the Hessian of a term with respect to its scores is `diag(p_i) -
//! p_i p_i'`. A product of a vector with the whole Hessian costs two products with the design and `O(r)` per row. The
//! explicit Hessian consists of `r (r + 1) / 2` different blocks, one per pair of classes, which are weighted Gram
//! matrices of the design:
//!
//! ```text
//! H_kl = (1/n) sum_i c_i p_ik ([k = l] - p_il) a_i a_i' + [k = l] l2 I.
//! ```

use fenchel_linalg::special::softmax_in_place;
use fenchel_linalg::{Design, Gram};
use fenchel_optim::Refusal;
use fenchel_optim::newton::{Newton, NewtonCg, NewtonCgSettings, TwiceDifferentiable, WithHessian};
use fenchel_optim::{Certificate, Observer, Regulariser, Solution};

use super::batch::{MulticlassSmooth, begin, dimension, read};
use super::problem::{MulticlassPoint, MulticlassProblem};
use super::product::multiply_rows;
use crate::Error;
use crate::methods::hessian::gram_cost;
use crate::methods::newton::NewtonSettings;

impl<D: Design, R: Regulariser> TwiceDifferentiable for MulticlassSmooth<'_, '_, D, R> {
    fn dimension(&self) -> usize {
        dimension(self.problem)
    }

    fn margins(&self) -> usize {
        self.problem.n() * self.problem.classes()
    }

    fn multiply(&self, v: &[f64], z: &mut [f64]) {
        let MulticlassPoint { weights, intercepts } = read(self.problem, v);
        multiply_rows(self.problem.design(), &weights, &intercepts, z);
    }

    fn value(&mut self, x: &[f64], z: &[f64]) -> f64 {
        let weights = &x[..self.problem.d() * self.problem.classes()];
        self.problem.smooth_objective_at(z, weights)
    }

    /// Sets the intercepts to their optimum. Returns a duality gap for `l2 > 0`, else the norm of the gradient.
    fn measure(&mut self, x: &mut [f64], z: &mut Vec<f64>, gradient: &mut [f64]) -> Certificate {
        let problem = self.problem;
        let mut point = read(problem, x);
        let certificate = problem.certificate_at_scores(&mut self.gap, &mut point, z);
        // Without regulariser no dual point was scaled: v = -(1/n) A'u.
        let weights = self.gap.correlation.iter().zip(&point.weights);
        for (g, (v, w)) in gradient.iter_mut().zip(weights) {
            *g = problem.l2() * w - v;
        }
        if problem.intercepts() {
            let weights = point.weights.len();
            x[weights..].copy_from_slice(&point.intercepts);
            problem.intercept_gradient(&mut self.gap, z, &mut gradient[weights..]);
        }
        certificate
    }

    fn bend(&mut self, z: &[f64]) {
        self.probabilities.clear();
        self.probabilities.extend_from_slice(z);
        for z in self.probabilities.chunks_exact_mut(self.problem.classes()) {
            softmax_in_place(z);
        }
    }

    fn diagonal(&mut self, out: &mut [f64]) {
        let (problem, r, n) = (self.problem, self.problem.classes(), self.problem.n() as f64);
        let (out, rest) = out.split_at_mut(problem.d() * r);
        out.fill(problem.l2());
        rest.fill(0.0);
        let mut h = vec![0.0; r];
        for (i, p) in self.probabilities.chunks_exact(r).enumerate() {
            let weight = problem.term_weight(i) / n;
            h.iter_mut().zip(p).for_each(|(h, p)| *h = weight * p * (1.0 - p));
            problem.design().row_entries(i, |c, a| {
                let out = &mut out[c * r..(c + 1) * r];
                out.iter_mut().zip(&h).for_each(|(o, h)| *o += h * a * a);
            });
            rest.iter_mut().zip(&h).for_each(|(o, h)| *o += h);
        }
    }

    fn curve(&mut self, v: &[f64], z: &[f64], out: &mut [f64]) {
        let (problem, r, n) = (self.problem, self.problem.classes(), self.problem.n() as f64);
        let rows = self.gap.table.chunks_exact_mut(r).zip(z.chunks_exact(r));
        for (i, ((s, z), p)) in rows.zip(self.probabilities.chunks_exact(r)).enumerate() {
            let weight = problem.term_weight(i) / n;
            let mean: f64 = p.iter().zip(z).map(|(p, z)| p * z).sum();
            for ((s, p), z) in s.iter_mut().zip(p).zip(z) {
                *s = weight * p * (z - mean);
            }
        }
        self.transpose(v, out);
    }
}

impl<D: Design, R: Regulariser> WithHessian for MulticlassSmooth<'_, '_, D, R> {
    fn hessian(&mut self) -> (Vec<f64>, f64) {
        let (problem, r, d) = (self.problem, self.problem.classes(), self.problem.d());
        let (n, m) = (problem.n() as f64, dimension(problem));
        let intercepts = problem.intercepts();
        let order = d + usize::from(intercepts);
        let mut hessian = vec![0.0; m * m];
        for k in 0..r {
            for l in 0..=k {
                let gram = Gram::in_parts(order, problem.n(), |rows, gram| {
                    let terms = self.probabilities[rows.start * r..rows.end * r].chunks_exact(r);
                    for (i, p) in rows.zip(terms) {
                        // 1 - p_k without cancellation.
                        let other = if k == l { p.iter().sum::<f64>() - p[k] } else { p[l] };
                        let weight = problem.term_weight(i) / n * p[k] * other.max(0.0);
                        if weight > 0.0 {
                            let root = weight.sqrt();
                            let row = gram.next_row();
                            problem.design().row_entries(i, |c, a| row[c] = root * a);
                            if intercepts {
                                row[d] = root;
                            }
                        }
                    }
                });
                let sign = if k == l { 1.0 } else { -1.0 };
                for (c, row) in gram.chunks_exact(order).enumerate() {
                    for (e, &value) in row.iter().enumerate() {
                        hessian[(c * r + k) * m + e * r + l] = sign * value;
                        hessian[(c * r + l) * m + e * r + k] = sign * value;
                    }
                }
            }
        }
        (0..d * r).for_each(|k| hessian[k * m + k] += problem.l2());
        (hessian, hessian_cost(problem))
    }
}

/// The cost of a Hessian and its factorisation, in passes.
pub(super) fn hessian_cost<D: Design, R: fenchel_optim::Regulariser>(
    problem: &MulticlassProblem<'_, D, R>,
) -> f64 {
    let (r, m) = (problem.classes() as f64, dimension(problem) as f64);
    let order = problem.d() + usize::from(problem.intercepts());
    let stored = problem.design().stored().max(1) as f64;
    let dense = (problem.n() * order) as f64;
    let gram = 0.5 * r * (r + 1.0) * gram_cost(problem.n(), order, dense);
    (gram + m * m * m / 6.0) / (stored * r)
}

/// The bytes of a Hessian and its factorisation.
pub(super) fn hessian_bytes<D: Design, R: fenchel_optim::Regulariser>(
    problem: &MulticlassProblem<'_, D, R>,
) -> u64 {
    let m = dimension(problem) as u64;
    m.saturating_mul(m).saturating_mul(16)
}

/// Newton's method with the explicit Hessian, for few features and classes. It is also suited to features of very
/// different scales.
///
/// A step costs `r (r + 1) / 2` Gram matrices of the design and a Cholesky factorisation of order `r d`. Five to ten
/// steps are usually enough, whatever the condition number. The memory is two matrices of that order.
///
/// # Errors
/// [`Error::Refused`] for a regulariser that is not zero, or if the Hessian needs too much memory, before it is allocated; [`Error::Invalid`] for a start of
/// another shape or settings out of range.
pub fn newton<'p, 'a, D, R, O>(
    problem: &'p MulticlassProblem<'a, D, R>,
    settings: &NewtonSettings,
    start: Option<MulticlassPoint>,
    observer: &mut O,
) -> Result<Solution<MulticlassPoint>, Error>
where
    D: Design,
    R: Regulariser,
    O: Observer<Newton<MulticlassSmooth<'p, 'a, D, R>>>,
{
    let (method, hint) = ("multiclass newton", "use newton_cg, which needs no Hessian");
    problem.check_unpenalised(method)?;
    Refusal::check_memory(method, hessian_bytes(problem), settings.max_memory, hint)?;
    let (function, start) = begin(problem, start)?;
    let Solution { state, report } =
        fenchel_optim::newton::newton(function, &settings.stop, start, observer)?;
    let state = read(problem, &state);
    Ok(Solution { report: problem.judged(report, &state), state })
}

/// Newton-CG: each Newton step is computed by conjugate gradients, at one pass per product with the Hessian. It is
/// for many features and small `l2`.
///
/// # Errors
/// [`Error::Refused`] for a regulariser that is not zero; [`Error::Invalid`] for a start of another shape or settings out of range.
pub fn newton_cg<'p, 'a, D, R, O>(
    problem: &'p MulticlassProblem<'a, D, R>,
    settings: &NewtonCgSettings,
    start: Option<MulticlassPoint>,
    observer: &mut O,
) -> Result<Solution<MulticlassPoint>, Error>
where
    D: Design,
    R: Regulariser,
    O: Observer<NewtonCg<MulticlassSmooth<'p, 'a, D, R>>>,
{
    problem.check_unpenalised("multiclass newton_cg")?;
    let (function, start) = begin(problem, start)?;
    let Solution { state, report } =
        fenchel_optim::newton::newton_cg(function, settings, start, observer)?;
    let state = read(problem, &state);
    Ok(Solution { report: problem.judged(report, &state), state })
}
