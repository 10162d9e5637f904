//! A conditional probability table, row by row.

use fenchel_optim::Refusal;

use crate::bayes_net::{Parts, Row, cells, parents_in};
use crate::table::table_bytes;
use crate::text::Position;
use crate::{Error, VarId};

use super::BifOptions;

/// A table that is being filled.
pub(super) struct Rows {
    pub(super) child: VarId,
    pub(super) parents: Vec<VarId>,
    pub(super) states: usize,
    pub(super) values: Vec<f64>,
    pub(super) given: Vec<bool>,
}

impl Rows {
    /// A table of zeros. The system provides it without touching the memory.
    pub(super) fn new(
        parts: &Parts,
        child: VarId,
        parents: Vec<VarId>,
        bytes: &mut u64,
        options: &BifOptions,
        position: Position,
    ) -> Result<Rows, Error> {
        let states = parts.states[child.index()].len();
        let rows = cells(parents.iter().map(|p| parts.states[p.index()].len()));
        let size = rows.and_then(|rows| rows.checked_mul(states));
        *bytes = bytes.saturating_add(table_bytes(size));
        let hint = "raise max_memory if the table is meant to be that large";
        Refusal::check_memory("the network up to this table", *bytes, options.max_memory, hint)
            .map_err(|refusal| position.fault(refusal.to_string()))?;
        let Some((rows, size)) = rows.zip(size) else {
            return Err(position.fault("a table of more cells than can be counted"));
        };
        let values = vec![0.0; size];
        Ok(Rows { child, parents, states, values, given: vec![false; rows] })
    }

    pub(super) fn set(
        &mut self,
        row: usize,
        values: &[f64],
        parts: &Parts,
        options: &BifOptions,
        position: Position,
    ) -> Result<(), Error> {
        if std::mem::replace(&mut self.given[row], true) {
            return Err(position.fault("a row that was given before"));
        }
        let name = parts.names.get(self.child.index());
        let states = parts.states[self.child.index()].list();
        Row { variable: name, states, given: &|| self.describe(row, parts) }
            .check(values, options.tolerance)
            .map_err(|error| position.fault(error.to_string()))?;
        self.values[row * self.states..][..self.states].copy_from_slice(values);
        Ok(())
    }

    /// The parents and their states of a row.
    pub(super) fn describe<'a>(&self, row: usize, parts: &'a Parts) -> Vec<(&'a str, &'a str)> {
        parents_in(row, &self.parents, &parts.names, &parts.states)
    }
}
