//! Influence matrices of models with any factors.

use std::collections::BTreeMap;

use super::Influence;
use crate::{Error, FactorGraph, Table, VarId};

impl Influence {
    /// An upper bound of the Dobrushin matrix for any discrete model. With `osc` for the largest minus the smallest value, it
    /// is
    ///
    /// ```text
    /// U_ij = max over b, c of tanh( 1/4 sum_{f with i, j} max over the rest of osc_a[ log psi_f(a, b, .) - log psi_f(a, c, .) ] )
    /// ```
    ///
    /// Factors over the same variables are multiplied first. For factors of two variables it is the k-state bound of Geng et
    /// al. (2018), section 6.3, which is `tanh(|theta_ij| / 4)` for binary variables. A state with potential zero under `b`
    /// but not under `c` gives the bound 1.
    ///
    /// The cost is, for every factor and every ordered pair `(i, j)` of its variables, the number of cells times the number of
    /// states of `j`.
    ///
    /// # Errors
    /// [`Error::Refused`] if the product of factors over the same variables would be too large. It cannot happen for factors
    /// that fit into memory.
    pub fn of_factors(model: &FactorGraph) -> Result<Self, Error> {
        let mut merged: BTreeMap<&[VarId], Table> = BTreeMap::new();
        for factor in model.factors().iter().filter(|factor| factor.scope().len() >= 2) {
            let product = match merged.get(factor.scope()) {
                Some(before) => before.product(factor)?,
                None => factor.clone(),
            };
            merged.insert(factor.scope(), product);
        }
        // For (i, j): the oscillation for every two states b, c of j.
        let mut oscillations: Vec<BTreeMap<u32, Vec<f64>>> = vec![BTreeMap::new(); model.len()];
        for table in merged.values() {
            for (at_i, i) in table.scope().iter().enumerate() {
                for (at_j, j) in table.scope().iter().enumerate().filter(|&(at, _)| at != at_i) {
                    let states = table.cards()[at_j];
                    let sums = oscillations[i.index()].entry(j.0);
                    let sums = sums.or_insert_with(|| vec![0.0; states * states]);
                    add_oscillations(table, at_i, at_j, sums);
                }
            }
        }
        Ok(Influence::from_rows(oscillations.into_iter().map(|row| {
            let largest = |sums: Vec<f64>| (0.25 * sums.into_iter().fold(0.0, f64::max)).tanh();
            row.into_iter().map(|(j, sums)| (j, largest(sums))).collect()
        })))
    }
}

/// Adds `max over the rest of osc_a[psi(a, b, rest) - psi(a, c, rest)]` to the entry of every `b`, `c`.
fn add_oscillations(table: &Table, at_i: usize, at_j: usize, sums: &mut [f64]) {
    let cards = table.cards();
    let stride = |at: usize| cards[at + 1..].iter().product::<usize>();
    let (stride_i, stride_j, states_i, states_j) =
        (stride(at_i), stride(at_j), cards[at_i], cards[at_j]);
    let values = table.log_values();
    let mut largest = vec![0.0_f64; states_j * states_j];
    // The cells in which both variables are in state 0: one for every configuration of the rest.
    for rest in (0..values.len())
        .filter(|cell| cell / stride_i % states_i == 0 && cell / stride_j % states_j == 0)
    {
        for b in 0..states_j {
            for c in 0..b {
                let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
                for a in 0..states_i {
                    let at = |state: usize| values[rest + a * stride_i + state * stride_j];
                    let (with_b, with_c) = (at(b), at(c));
                    // What is impossible under both moves nothing.
                    if with_b > f64::NEG_INFINITY || with_c > f64::NEG_INFINITY {
                        low = low.min(with_b - with_c);
                        high = high.max(with_b - with_c);
                    }
                }
                // Two states impossible the same way: the difference of two infinities is no number.
                let width = if low.is_finite() && high.is_finite() {
                    high - low
                } else if low > high {
                    0.0
                } else {
                    f64::INFINITY
                };
                largest[b * states_j + c] = largest[b * states_j + c].max(width);
            }
        }
    }
    for (sum, width) in sums.iter_mut().zip(&largest) {
        *sum += width;
    }
}
