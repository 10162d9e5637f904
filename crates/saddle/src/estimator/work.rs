//! The cost of a pass of either method, as a count of operations. A race gives both methods the same number of
//! operations.
//!
//! The unit is a multiply-add in a product with a sparse design, which reads an entry of the design and adds to
//! another number. With `n` rows, `d` features, `k` classes and `S` stored entries:
//!
//! | what | operations |
//! |---|---|
//! | a product | `S k` (sparse), `S k / 2` (dense: blocks stay in registers) |
//! | a mirror step, including refused ones | a product, and `10 d k + 4 n k` exponentials (listed below) |
//! | a step of PDHG | the entries that its products use, 8 per updated entry of `U`, and 24 per updated entry of `V` |
//! | a certificate | its products, and 36 per entry: a dozen loops of three operations each |
//!
//! The 10 exponentials per entry of `U` are two for its mass, two for its point, two for the mass of the point, and
//! four for the divergence. The 4 per entry of `V` are one for the normalisation, one for the point and two for the
//! divergence. The 24 operations of PDHG are for the step, the rounds of the projection, the change and the sum.
//!
//! The counts come from the code. The costs of an exponential and of a copied entry come from measured times on six
//! kinds of generated documents (8 to 200 topics, 600 to 30,000 words; the benchmarks of the race use none of them).
//! An operation of the mirror method took 0.17 to 0.25 nanoseconds there, and one of PDHG 0.16 to 0.41. Nothing is
//! measured at run time, so that a race ends the same way on every machine.

use crate::multiclass::{Multiclass, Primal};

/// The cost of an exponential: a polynomial of degree 13 and its scaling, in wide instructions that do not wait for
/// memory.
const EXPONENTIAL: f64 = 8.0;
/// The cost of a certificate per entry: average, copies, norm, zeros, gradient.
const THROUGH: f64 = 36.0;

/// The sizes of a problem.
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

    /// The operations of the mirror method. Its products are two per iteration and one more for each step that was
    /// refused.
    pub(super) fn mirror(&self, products: u64, iterations: u64) -> f64 {
        let steps = products.saturating_sub(iterations) as f64;
        // The norm of rows has exponentials by rows, and products of entries.
        let of_u = if self.entries { 10.0 * EXPONENTIAL } else { 10.0 };
        let step = of_u * self.weights + 4.0 * EXPONENTIAL * self.duals;
        products as f64 * self.product + steps * step
    }

    /// The operations of PDHG. If its steps do not count them, each step costs two whole products and two proximal
    /// maps.
    pub(super) fn exact(&self, operations: Option<u64>, steps: u64) -> f64 {
        let step = 2.0 * self.product + 8.0 * self.weights + 24.0 * self.duals;
        operations.map_or(steps as f64 * step, |counted| counted as f64)
    }

    /// The operations of a certificate with this number of products.
    pub(super) fn certificate(&self, products: f64) -> f64 {
        products * self.product + THROUGH * (self.weights + self.duals)
    }
}
