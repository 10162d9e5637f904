//! Products, sums and maxima of tables.

use fenchel_linalg::special::{log_softmax_in_place, xlogx};
use smallvec::SmallVec;

use super::Table;
use super::semiring::{LogMax, LogSum, Semiring};
use crate::evidence::Finding;
use crate::{Error, Evidence, VarId};

impl Table {
    /// The product, a table over the union of the scopes.
    ///
    /// # Errors
    /// [`Error::Cardinality`] where the tables disagree about a variable, [`Error::Refused`].
    pub fn product(&self, other: &Table) -> Result<Table, Error> {
        let mut out = Table::constant(0.0)?;
        self.product_into(other, &mut out)?;
        Ok(out)
    }

    /// Does the same as [`product`](Self::product), and writes to a table whose memory is reused.
    ///
    /// # Errors
    /// As [`product`](Self::product); then `out` is unchanged.
    pub fn product_into(&self, other: &Table, out: &mut Table) -> Result<(), Error> {
        self.dense.combine_into(&other.dense, &mut out.dense, LogSum::times)
    }

    /// The quotient, a table over the union of the scopes. `0 / 0 = 0`.
    ///
    /// # Errors
    /// As [`product`](Self::product); [`Error::ImpossibleEvidence`] if a positive number is divided by zero.
    pub fn divide(&self, other: &Table) -> Result<Table, Error> {
        let mut out = Table::constant(0.0)?;
        self.divide_into(other, &mut out)?;
        Ok(out)
    }

    /// Does the same as [`divide`](Self::divide), and writes to a table whose memory is reused.
    ///
    /// # Errors
    /// As [`divide`](Self::divide).
    pub fn divide_into(&self, other: &Table, out: &mut Table) -> Result<(), Error> {
        self.dense.combine_into(&other.dense, &mut out.dense, LogSum::over)?;
        if out.log_values().contains(&f64::INFINITY) {
            return Err(Error::ImpossibleEvidence);
        }
        Ok(())
    }

    /// Sums out all variables but `keep` (log-sum-exp).
    ///
    /// # Errors
    /// [`Error::UnknownVariable`] for a variable that is not in the scope, [`Error::RepeatedVariable`].
    pub fn marginalize_sum(&self, keep: &[VarId]) -> Result<Table, Error> {
        let mut out = Table::constant(0.0)?;
        self.marginalize_sum_into(keep, &mut out)?;
        Ok(out)
    }

    /// Does the same as [`marginalize_sum`](Self::marginalize_sum), and writes to a table whose memory is reused.
    ///
    /// # Errors
    /// As [`marginalize_sum`](Self::marginalize_sum).
    pub fn marginalize_sum_into(&self, keep: &[VarId], out: &mut Table) -> Result<(), Error> {
        self.dense.margin_into::<LogSum>(keep, &mut out.dense)
    }

    /// Maximises over all variables but `keep`.
    ///
    /// # Errors
    /// As [`marginalize_sum`](Self::marginalize_sum).
    pub fn marginalize_max(&self, keep: &[VarId]) -> Result<Table, Error> {
        let mut out = Table::constant(0.0)?;
        self.marginalize_max_into(keep, &mut out)?;
        Ok(out)
    }

    /// Does the same as [`marginalize_max`](Self::marginalize_max), and writes to a table whose memory is reused.
    ///
    /// # Errors
    /// As [`marginalize_sum`](Self::marginalize_sum).
    pub fn marginalize_max_into(&self, keep: &[VarId], out: &mut Table) -> Result<(), Error> {
        self.dense.margin_into::<LogMax>(keep, &mut out.dense)
    }

    /// Conditions on evidence. Observed variables are removed from the scope, and likelihoods are multiplied in. Findings about
    /// variables outside the scope have no effect.
    ///
    /// # Errors
    /// [`Error::State`] and [`fenchel_linalg::Invalid`] for findings that do not fit.
    pub fn reduce(&self, evidence: &Evidence) -> Result<Table, Error> {
        let mut out = self.clone();
        for (variable, finding) in evidence.iter() {
            let Ok(at) = out.scope().binary_search(&variable) else { continue };
            match finding {
                &Finding::State(state) => out.dense.fix(variable, state)?,
                Finding::Likelihood(values) => {
                    let likelihood = Table::from_values(&[variable], &[out.cards()[at]], values)?;
                    out = out.product(&likelihood)?;
                }
            }
        }
        Ok(out)
    }

    /// Scales the table to sum 1, and returns the logarithm of the former sum.
    ///
    /// # Errors
    /// [`Error::ImpossibleEvidence`] where the sum is 0; the table is unchanged.
    pub fn normalize(&mut self) -> Result<f64, Error> {
        match log_softmax_in_place(&mut self.dense.values) {
            f64::NEG_INFINITY => Err(Error::ImpossibleEvidence),
            total => Ok(total),
        }
    }

    /// The sum `sum_x psi(x) f(x)`, where `x` are the states in the order of the scope. Cells of potential 0 contribute
    /// nothing.
    pub fn expect(&self, mut f: impl FnMut(&[usize]) -> f64) -> f64 {
        let mut states: SmallVec<[usize; 8]> = SmallVec::from_elem(0, self.scope().len());
        let mut sum = 0.0;
        for &value in self.log_values() {
            if value > f64::NEG_INFINITY {
                sum += value.exp() * f(&states);
            }
            for d in (0..states.len()).rev() {
                states[d] += 1;
                if states[d] < self.cards()[d] {
                    break;
                }
                states[d] = 0;
            }
        }
        sum
    }

    /// The states of the largest cell, in the order of the scope. Of equal cells the first is taken.
    pub fn argmax(&self) -> Vec<usize> {
        self.dense.argmax()
    }

    /// The entropy in nats of a normalised table.
    pub fn entropy(&self) -> f64 {
        -self.log_values().iter().map(|&v| xlogx(v.exp())).sum::<f64>()
    }
}
