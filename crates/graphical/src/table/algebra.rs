//! Products, sums and maxima of tables.

use fenchel_linalg::special::{log_sum_exp, xlogx};
use smallvec::SmallVec;

use super::{Table, size_of};
use crate::evidence::Finding;
use crate::stride::{Plan, larger};
use crate::{Error, Evidence, VarId};

type Dimensions = SmallVec<[(VarId, usize); 8]>;

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
        self.combine_into(other, out, |a, b| a + b)
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
        self.combine_into(other, out, quotient)?;
        if out.log_values.contains(&f64::INFINITY) {
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
        let mut maxima = Table::constant(0.0)?;
        self.marginalize_max_into(keep, &mut maxima)?;
        let plan = Plan::between(&self.dimensions(), &maxima.dimensions());
        out.scope.clone_from(&maxima.scope);
        out.cards.clone_from(&maxima.cards);
        out.log_values.clear();
        out.log_values.resize(maxima.len(), 0.0);
        // exp(-inf - m) with m = -inf never arises: such a slice is measured from 0 and sums to 0.
        let shift = maxima.log_values.iter().map(|&m| if m == f64::NEG_INFINITY { 0.0 } else { m });
        let shift: Vec<f64> = shift.collect();
        let (add, map) = (|a: f64, b: f64| a + b, |x: f64, m: f64| (x - m).exp());
        plan.gather_map(&self.log_values, &mut out.log_values, 0.0, add, map, &shift);
        for (value, m) in out.log_values.iter_mut().zip(shift) {
            *value = m + value.ln();
        }
        Ok(())
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
        self.select(keep)?;
        let kept = self.dimensions().into_iter().filter(|(v, _)| keep.contains(v));
        let kept: Dimensions = kept.collect();
        let plan = Plan::between(&self.dimensions(), &kept);
        out.reshape(&kept, f64::NEG_INFINITY)?;
        plan.gather(&self.log_values, &mut out.log_values, f64::NEG_INFINITY, larger);
        Ok(())
    }

    /// Conditions on evidence. Observed variables are removed from the scope, and likelihoods are multiplied in. Findings about
    /// variables outside the scope have no effect.
    ///
    /// # Errors
    /// [`Error::State`] and [`fenchel_linalg::Invalid`] for findings that do not fit.
    pub fn reduce(&self, evidence: &Evidence) -> Result<Table, Error> {
        let mut out = self.clone();
        for (variable, finding) in evidence.iter() {
            let Some(at) = out.scope.iter().position(|v| *v == variable) else { continue };
            match finding {
                &Finding::State(state) => out.slice(at, state)?,
                Finding::Likelihood(values) => {
                    let likelihood = Table::from_values(&[variable], &[out.cards[at]], values)?;
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
        let total = log_sum_exp(&self.log_values);
        if total == f64::NEG_INFINITY {
            return Err(Error::ImpossibleEvidence);
        }
        self.log_values.iter_mut().for_each(|v| *v -= total);
        Ok(total)
    }

    /// The sum `sum_x psi(x) f(x)`, where `x` are the states in the order of the scope. Cells of potential 0 contribute
    /// nothing.
    pub fn expect(&self, mut f: impl FnMut(&[usize]) -> f64) -> f64 {
        let mut states: SmallVec<[usize; 8]> = SmallVec::from_elem(0, self.scope.len());
        let mut sum = 0.0;
        for &value in &self.log_values {
            if value > f64::NEG_INFINITY {
                sum += value.exp() * f(&states);
            }
            for d in (0..states.len()).rev() {
                states[d] += 1;
                if states[d] < self.cards[d] {
                    break;
                }
                states[d] = 0;
            }
        }
        sum
    }

    /// The states of the largest cell, in the order of the scope. Of equal cells the first is taken.
    pub fn argmax(&self) -> Vec<usize> {
        let mut best = 0;
        for (k, &value) in self.log_values.iter().enumerate() {
            if value > self.log_values[best] {
                best = k;
            }
        }
        self.states_of(best)
    }

    /// The entropy in nats of a normalised table.
    pub fn entropy(&self) -> f64 {
        -self.log_values.iter().map(|&v| xlogx(v.exp())).sum::<f64>()
    }

    /// The states of a cell, in the order of the scope.
    pub(crate) fn states_of(&self, mut cell: usize) -> Vec<usize> {
        let mut states = vec![0; self.cards.len()];
        for (state, &card) in states.iter_mut().zip(&self.cards).rev() {
            *state = cell % card;
            cell /= card;
        }
        states
    }

    fn combine_into(
        &self,
        other: &Table,
        out: &mut Table,
        f: impl Fn(f64, f64) -> f64,
    ) -> Result<(), Error> {
        let mut union = self.dimensions();
        for (variable, found) in other.dimensions() {
            match union.iter().find(|(v, _)| *v == variable) {
                Some(&(_, expected)) if expected != found => {
                    return Err(Error::Cardinality { variable, expected, found });
                }
                Some(_) => {}
                None => union.push((variable, found)),
            }
        }
        union.sort_unstable();
        out.reshape(&union, 0.0)?;
        let (left, right) = (self.dimensions(), other.dimensions());
        Plan::between(&union, &left).spread(&mut out.log_values, &self.log_values, |_, b| b);
        Plan::between(&union, &right).spread(&mut out.log_values, &other.log_values, f);
        Ok(())
    }

    fn reshape(&mut self, dimensions: &[(VarId, usize)], value: f64) -> Result<(), Error> {
        let cards: SmallVec<[usize; 8]> = dimensions.iter().map(|d| d.1).collect();
        let size = size_of(&cards)?;
        self.scope = dimensions.iter().map(|d| d.0).collect();
        self.cards = cards.into_iter().collect();
        self.log_values.clear();
        self.log_values.resize(size, value);
        Ok(())
    }

    fn select(&self, keep: &[VarId]) -> Result<(), Error> {
        for (k, &variable) in keep.iter().enumerate() {
            if !self.scope.contains(&variable) {
                return Err(Error::UnknownVariable { variable, variables: self.scope.len() });
            }
            if keep[..k].contains(&variable) {
                return Err(Error::RepeatedVariable { variable });
            }
        }
        Ok(())
    }

    /// Fixes the variable at a position of the scope to a state.
    fn slice(&mut self, at: usize, state: usize) -> Result<(), Error> {
        let (variable, cardinality) = (self.scope[at], self.cards[at]);
        if state >= cardinality {
            return Err(Error::State { variable, state, cardinality });
        }
        let inner: usize = self.cards[at + 1..].iter().product();
        let rows = self.log_values.chunks_exact(inner * cardinality);
        let kept = rows.flat_map(|row| row[state * inner..(state + 1) * inner].iter().copied());
        self.log_values = kept.collect();
        self.scope.remove(at);
        self.cards.remove(at);
        Ok(())
    }
}

/// Division in logs with `0 / 0 = 0`.
#[inline(always)]
pub(crate) fn quotient(a: f64, b: f64) -> f64 {
    if a == f64::NEG_INFINITY { a } else { a - b }
}
