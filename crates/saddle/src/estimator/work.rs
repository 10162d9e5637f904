//! What a pass of either method costs, by a count of operations: turns of a race are as much work for both.
//!
//! The unit is a multiply-add of a product with a sparse design, which reads an entry and adds to another one. With `n` rows, `d`
//! features, `k` classes and `S` stored entries:
//!
//! | what | operations |
//! |---|---|
//! | a product | `S k` (sparse), `S k / 2` (dense: blocks stay in registers) |
//! | a mirror step, refused ones included | a product, `10 d k + 4 n k` exponentials: two of each entry of `U` for its mass and two for its point, two more for the mass of the point, four for the divergence; one, one and two of `V` |
//! | a step of PDHG | what its products have touched, 8 for an entry of `U` awake and 24 for one of `V` (the step, the rounds of the projection, the change, the sum) |
//! | a look | products, and a dozen times through the entries, three operations each |
//!
//! The counts come from the code, the weights of an exponential and of an entry moved from times on six kinds of generated documents (8 to
//! 200 topics, 600 to 30,000 words; none of those that the race is judged by): an operation of the mirror method took 0.17 to 0.25
//! nanoseconds there, one of PDHG 0.16 to 0.41. Nothing is measured by a clock at run time, so that a race ends the same everywhere.

use crate::multiclass::{Multiclass, Primal};

/// Operations of an exponential: a polynomial of degree 13 and its scaling, in wide instructions that wait for no memory.
const EXPONENTIAL: f64 = 8.0;
/// Operations of a look for an entry: average, copies, norm, zeros, gradient.
const THROUGH: f64 = 36.0;

/// Sizes of a problem.
pub(super) struct Work {
    product: f64,
    weights: f64,
    duals: f64,
    entries: bool,
}

impl Work {
    pub(super) fn of(problem: &Multiclass) -> Self {
        let s = problem.samples();
        let (n, d, k) = (s.rows() as f64, s.features() as f64, s.classes() as f64);
        Work {
            product: s.stored() as f64 * k * if s.is_sparse() { 1.0 } else { 0.5 },
            weights: d * k,
            duals: n * k,
            entries: problem.geometry().primal == Primal::Entries,
        }
    }

    /// Of the mirror method: its products, two for an iteration and one more for each step that was refused.
    pub(super) fn mirror(&self, products: u64, iterations: u64) -> f64 {
        let steps = products.saturating_sub(iterations) as f64;
        // The norm of rows has exponentials by rows, and products of entries.
        let of_u = if self.entries { 10.0 * EXPONENTIAL } else { 10.0 };
        let step = of_u * self.weights + 4.0 * EXPONENTIAL * self.duals;
        products as f64 * self.product + steps * step
    }

    /// Of PDHG: counted by its steps, or two whole products and two proximal maps each.
    pub(super) fn exact(&self, operations: Option<u64>, steps: u64) -> f64 {
        let step = 2.0 * self.product + 8.0 * self.weights + 24.0 * self.duals;
        operations.map_or(steps as f64 * step, |counted| counted as f64)
    }

    /// Of a look that takes so many products.
    pub(super) fn look(&self, products: f64) -> f64 {
        products * self.product + THROUGH * (self.weights + self.duals)
    }
}
