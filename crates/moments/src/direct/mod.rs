//! Direct SADE: the score and the directions are learned in one problem.
//!
//! The objective is a sum of two terms. The first is the score-matching risk of a linear model with coefficients
//! `theta`; the second favours slice means that span few directions:
//!
//! ```text
//! min_theta  (1/2) theta'(C + a I) theta - b' theta + lambda ||A(theta)||_*
//! ```
//!
//! `A(theta)` is the `d x H` matrix with columns `sqrt(p_h) m_h(theta)`, where `m_h` is the mean of the learned score
//! over slice `h`. The nuclear norm `||.||_*` is the sum of the singular values and favours low rank. D. Babichev, PhD
//! thesis 2019, section 2.4.3, writes the second term with the square root of an indefinite matrix; the positive part
//! of that matrix is the matrix of slice means used here.
//!
//! `A` is affine in `theta`: `vec A = a0 + T theta`. Let `theta0` be the two-step solution (score matching without the
//! nuclear norm), `t0 = a0 + T theta0`, and `M = T (C + a I)^{-1} T'`. Then the problem reduces to one with `H d`
//! unknowns `a = vec A`:
//!
//! ```text
//! primal  min_a (1/2)(a - t0)' M^{-1} (a - t0) + lambda ||A||_*
//! dual    max_{||U||_2 <= lambda}  u' t0 - (1/2) u' M u,      a = t0 - M u
//! ```
//!
//! So after one factorisation of `C + a I`, every `lambda` costs only a few linear systems of order `H d`. The duality
//! gap between the primal and the dual value bounds the error of the solution.
//!
//! | solver | step | when |
//! |---|---|---|
//! | [`DirectSolver::Irls`] | a system of order `H d`, weights `D = (A A' + eps I)^{1/2}` | 2 to 50 iterations while all singular values stay; stalls at a relative gap of about 1e-5 where some vanish |
//! | [`DirectSolver::DualFista`] | a product with `M`, singular values clipped at `lambda` | a guaranteed rate; cheap steps for large `H d` |
//!
//! With [`DirectSade::support`] `k` above 1, the nuclear norm is replaced by the spectral k-support norm, which suits a
//! known rank `k`. Its unit ball is the convex hull of the matrices of rank `k` and Frobenius norm 1. The dual
//! constraint becomes `||U||_(k) <= lambda`, where `||U||_(k)` is the Euclidean norm of the `k` largest singular
//! values. Only the solver FISTA supports it.

mod fit;
mod norm;
mod path;
mod reduced;
mod setting;
mod settings;

pub use fit::DirectFit;
pub use settings::{DirectSade, DirectSolver, Lambda};
