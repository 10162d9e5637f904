//! Numbers over the states of a few variables, without a meaning: the layout and the loops of all tables.

use fenchel_linalg::Invalid;
use fenchel_optim::{MAX_MEMORY, Refusal};
use smallvec::SmallVec;

use super::semiring::Semiring;
use crate::stride::{Plan, cells};
use crate::{Error, VarId};

pub(crate) type Dimensions = SmallVec<[(VarId, usize); 8]>;

/// Numbers over the states of a few variables. The scope is sorted, and its last variable varies fastest.
///
/// What the numbers mean is the caller's affair: [`Table`](crate::Table) is one of logarithms of potentials.
///
/// ```
/// use fenchel_graphical::{VarId, table::Dense};
///
/// // The scope may come in any order; the last variable listed is the fastest.
/// let t = Dense::new(&[VarId(5), VarId(2)], &[2, 3], &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6])?;
/// assert_eq!((t.scope(), t.cards()), (&[VarId(2), VarId(5)][..], &[3, 2][..]));
/// assert_eq!(t.values()[t.cell(&[2, 0])?], 0.3);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    scope: SmallVec<[VarId; 4]>,
    cards: SmallVec<[usize; 4]>,
    pub(crate) values: Vec<f64>,
}

impl Dense {
    /// Numbers over a scope in any order, its last variable fastest. Variable `scope[k]` has `cards[k]` states.
    ///
    /// # Errors
    /// [`Error::RepeatedVariable`], [`Error::Refused`] for a size beyond [`MAX_MEMORY`], [`Invalid`]
    /// for lengths that disagree and a cardinality of 0.
    pub fn new(scope: &[VarId], cards: &[usize], values: &[f64]) -> Result<Dense, Error> {
        Invalid::check_length("cards", scope.len(), cards.len())?;
        Invalid::check_length("values", size_of(cards, MAX_MEMORY)?, values.len())?;
        let given: Dimensions = scope.iter().copied().zip(cards.iter().copied()).collect();
        let mut sorted = given.clone();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(Error::RepeatedVariable { variable: pair[0].0 });
        }
        let mut out = Dense::constant(0.0);
        out.reshape(&sorted, 0.0, MAX_MEMORY)?;
        if sorted == given {
            out.values.copy_from_slice(values);
        } else {
            let plan = Plan::between(&sorted, &given);
            plan.spread(&mut out.values, values, |_, value| value);
        }
        Ok(out)
    }

    /// One number, over no variables.
    pub fn constant(value: f64) -> Dense {
        Dense { scope: SmallVec::new(), cards: SmallVec::new(), values: vec![value] }
    }

    /// The variables, rising.
    pub fn scope(&self) -> &[VarId] {
        &self.scope
    }

    /// The numbers of states, in the order of the scope.
    pub fn cards(&self) -> &[usize] {
        &self.cards
    }

    /// The numbers, the last variable of the scope fastest; at least one.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The position of states that are given in the order of the scope.
    ///
    /// # Errors
    /// [`Invalid::Length`], [`Error::State`].
    pub fn cell(&self, states: &[usize]) -> Result<usize, Error> {
        Invalid::check_length("states", self.scope.len(), states.len())?;
        let mut at = 0;
        for ((&variable, &cardinality), &state) in self.scope.iter().zip(&self.cards).zip(states) {
            if state >= cardinality {
                return Err(Error::State { variable, state, cardinality });
            }
            at = at * cardinality + state;
        }
        Ok(at)
    }

    /// The states of a cell, in the order of the scope.
    pub fn states_of(&self, mut cell: usize) -> Vec<usize> {
        let mut states = vec![0; self.cards.len()];
        for (state, &card) in states.iter_mut().zip(&self.cards).rev() {
            *state = cell % card;
            cell /= card;
        }
        states
    }

    /// The states of the largest number, in the order of the scope. Of equal numbers the first is taken.
    pub fn argmax(&self) -> Vec<usize> {
        let mut best = 0;
        for (k, &value) in self.values.iter().enumerate() {
            if value > self.values[best] {
                best = k;
            }
        }
        self.states_of(best)
    }

    /// `f(self, other)` cell by cell, over the union of the scopes.
    ///
    /// # Errors
    /// [`Error::Cardinality`] where the tables disagree about a variable, [`Error::Refused`].
    pub fn combine(&self, other: &Dense, f: impl Fn(f64, f64) -> f64) -> Result<Dense, Error> {
        let mut out = Dense::constant(0.0);
        self.combine_into(other, &mut out, f)?;
        Ok(out)
    }

    /// Does the same as [`combine`](Self::combine), and writes to a table whose memory is reused.
    ///
    /// # Errors
    /// As [`combine`](Self::combine); then `out` is unchanged.
    pub fn combine_into(
        &self,
        other: &Dense,
        out: &mut Dense,
        f: impl Fn(f64, f64) -> f64,
    ) -> Result<(), Error> {
        self.combine_within(other, out, f, MAX_MEMORY)
    }

    /// [`combine_into`](Self::combine_into) with another limit than [`MAX_MEMORY`].
    pub(crate) fn combine_within(
        &self,
        other: &Dense,
        out: &mut Dense,
        f: impl Fn(f64, f64) -> f64,
        max_memory: Option<u64>,
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
        out.reshape(&union, 0.0, max_memory)?;
        let (left, right) = (self.dimensions(), other.dimensions());
        Plan::between(&union, &left).spread(&mut out.values, &self.values, |_, b| b);
        Plan::between(&union, &right).spread(&mut out.values, &other.values, f);
        Ok(())
    }

    /// Adds up over all variables that are not kept.
    ///
    /// # Errors
    /// [`Error::UnknownVariable`] for a variable that is not in the scope, [`Error::RepeatedVariable`].
    pub fn sum(&self, keep: &[VarId]) -> Result<Dense, Error> {
        self.margin::<super::semiring::Linear>(keep)
    }

    pub(crate) fn margin<S: Semiring>(&self, keep: &[VarId]) -> Result<Dense, Error> {
        let mut out = Dense::constant(0.0);
        self.margin_into::<S>(keep, &mut out)?;
        Ok(out)
    }

    pub(crate) fn margin_into<S: Semiring>(
        &self,
        keep: &[VarId],
        out: &mut Dense,
    ) -> Result<(), Error> {
        for (k, &variable) in keep.iter().enumerate() {
            if !self.scope.contains(&variable) {
                return Err(Error::UnknownVariable { variable, variables: self.scope.len() });
            }
            if keep[..k].contains(&variable) {
                return Err(Error::RepeatedVariable { variable });
            }
        }
        let dimensions = self.dimensions();
        let kept: Dimensions =
            dimensions.iter().copied().filter(|(v, _)| keep.contains(v)).collect();
        // Not larger than this table.
        out.reshape(&kept, 0.0, None)?;
        let mut scratch = vec![0.0; out.values.len()];
        let plan = Plan::between(&dimensions, &kept);
        S::project(&plan, &self.values, &mut out.values, &mut scratch);
        Ok(())
    }

    /// Fixes a variable to a state, and removes it from the scope. Nothing happens if it is not there.
    ///
    /// # Errors
    /// [`Error::State`].
    pub fn fix(&mut self, variable: VarId, state: usize) -> Result<(), Error> {
        let Ok(at) = self.scope.binary_search(&variable) else { return Ok(()) };
        let cardinality = self.cards[at];
        if state >= cardinality {
            return Err(Error::State { variable, state, cardinality });
        }
        let inner: usize = self.cards[at + 1..].iter().product();
        let rows = self.values.chunks_exact(inner * cardinality);
        let kept = rows.flat_map(|row| row[state * inner..(state + 1) * inner].iter().copied());
        self.values = kept.collect();
        self.scope.remove(at);
        self.cards.remove(at);
        Ok(())
    }

    /// (variable, cardinality), outermost first.
    pub(crate) fn dimensions(&self) -> Dimensions {
        self.scope.iter().copied().zip(self.cards.iter().copied()).collect()
    }

    /// Gives the table a sorted scope, and all cells a value.
    pub(crate) fn reshape(
        &mut self,
        dimensions: &[(VarId, usize)],
        value: f64,
        max_memory: Option<u64>,
    ) -> Result<(), Error> {
        let cards: SmallVec<[usize; 4]> = dimensions.iter().map(|d| d.1).collect();
        let size = size_of(&cards, max_memory)?;
        self.scope = dimensions.iter().map(|d| d.0).collect();
        self.cards = cards;
        self.values.clear();
        self.values.resize(size, value);
        Ok(())
    }
}

/// The bytes of a table; `u64::MAX` where its number of cells overflows.
pub(crate) fn table_bytes(cells: Option<usize>) -> u64 {
    cells.map_or(u64::MAX, |cells| (cells as u64).saturating_mul(8))
}

/// The number of cells, if they fit into `max_memory` bytes.
pub(crate) fn size_of(cards: &[usize], max_memory: Option<u64>) -> Result<usize, Error> {
    if cards.contains(&0) {
        return Err(Invalid::Parameter { name: "cardinality", value: 0.0, expected: ">= 1" }.into());
    }
    let size = cells(cards.iter().copied());
    Refusal::check_memory("a table", table_bytes(size), max_memory, "use smaller scopes")?;
    Ok(size.unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_memory_is_the_one_that_is_asked_for() {
        let [a, b] = [0, 1].map(|v| Dense::new(&[VarId(v)], &[3], &[1.0, 2.0, 3.0]).unwrap());
        let within = |limit| {
            let mut out = Dense::constant(0.0);
            a.combine_within(&b, &mut out, |a, b| a * b, limit).map(|()| out)
        };
        assert_eq!(within(None).unwrap().values(), [1.0, 2.0, 3.0, 2.0, 4.0, 6.0, 3.0, 6.0, 9.0]);
        assert!(within(Some(72)).is_ok());
        let error = within(Some(71)).unwrap_err().to_string();
        assert!(error.contains("needs 72 bytes, max_memory is 71 bytes"), "{error}");
        // What cannot be counted is no table, whatever the limit: beyond 4 GiB, none, beyond a vector.
        assert_eq!(size_of(&[1 << 30], None).unwrap(), 1 << 30);
        assert!(size_of(&[1 << 30], MAX_MEMORY).is_err());
        assert!(size_of(&[1 << 40, 1 << 40], None).is_err() && size_of(&[1 << 60], None).is_err());
    }
}
