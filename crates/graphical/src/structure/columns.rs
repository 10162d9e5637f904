//! Records stored by columns, and counts of families.

use fenchel_linalg::Invalid;
use fenchel_optim::{MAX_MEMORY, Refusal};
use ndarray::ArrayView2;
use rustc_hash::FxHashMap;

use crate::bayes_net::{cells, unusable};
use crate::{Error, VarId};

/// Tables with at most this many cells per record are counted without hashing.
const DENSE: usize = 4;

/// Complete, checked records, stored by columns.
#[derive(Debug, Clone)]
pub(crate) struct Columns {
    columns: Vec<Vec<u32>>,
    cards: Vec<usize>,
    records: usize,
}

/// The counts `N_rk` of records with the parents in configuration `r` and the child in state `k`, for the configurations that
/// occur.
#[derive(Debug, Clone)]
pub(crate) struct Counts {
    /// The number of configurations of the parents.
    pub(crate) configurations: u64,
    pub(crate) states: usize,
    /// The configurations that occur, ascending, and their rows of counts.
    pub(crate) rows: Vec<u64>,
    pub(crate) cells: Vec<f64>,
}

impl Counts {
    /// The rows that occur.
    pub(crate) fn seen(&self) -> std::slice::ChunksExact<'_, f64> {
        self.cells.chunks_exact(self.states.max(1))
    }
}

impl Columns {
    /// All columns.
    pub(crate) fn new(data: ArrayView2<'_, usize>, cards: &[usize]) -> Result<Columns, Error> {
        let all: Vec<VarId> = (0..cards.len() as u32).map(VarId).collect();
        Columns::of(data, cards, &all)
    }

    /// Some columns, distinct, in this order.
    pub(crate) fn of(
        data: ArrayView2<'_, usize>,
        cards: &[usize],
        variables: &[VarId],
    ) -> Result<Columns, Error> {
        Invalid::check_length("columns of data", cards.len(), data.ncols())?;
        if data.nrows() == 0 {
            return Err(Invalid::Empty { what: "data (rows)" }.into());
        }
        for (i, &variable) in variables.iter().enumerate() {
            if variable.index() >= cards.len() {
                return Err(Error::UnknownVariable { variable, variables: cards.len() });
            }
            if variables[..i].contains(&variable) {
                return Err(Error::RepeatedVariable { variable });
            }
        }
        let mut columns = Vec::with_capacity(variables.len());
        for &variable in variables {
            let cardinality = cards[variable.index()];
            let state = |(row, &state): (usize, &usize)| match u32::try_from(state) {
                Ok(small) if state < cardinality => Ok(small),
                _ => Err(Error::cell(row, variable, unusable(variable, state, cardinality))),
            };
            let column = data.column(variable.index());
            columns.push(column.iter().enumerate().map(state).collect::<Result<_, _>>()?);
        }
        let cards = variables.iter().map(|v| cards[v.index()]).collect();
        Ok(Columns { columns, cards, records: data.nrows() })
    }

    pub(crate) fn len(&self) -> usize {
        self.columns.len()
    }

    pub(crate) fn records(&self) -> usize {
        self.records
    }

    pub(crate) fn cards(&self) -> &[usize] {
        &self.cards
    }

    /// The counts of a family; the last parent runs fastest. O(records x parents).
    pub(crate) fn counts(&self, child: u32, parents: &[u32]) -> Result<Counts, Error> {
        let Some(configurations) = cells(parents.iter().map(|&p| self.cards[p as usize])) else {
            let (what, hint) = ("the configurations of the parents", "give it fewer parents");
            let (needed, limit) = (u64::MAX, usize::MAX as u64);
            return Err(Refusal::MemoryLimit { what, needed, limit, hint }.into());
        };
        let states = self.cards[child as usize];
        // A row for every configuration that may occur.
        let rows = configurations.min(self.records).max(1) as u64;
        let bytes = rows.saturating_mul(states as u64).saturating_mul(8);
        let hint = "leave out states that do not occur";
        Refusal::check_memory("counts of a family", bytes, MAX_MEMORY, hint)?;
        let mut at = vec![0_u64; self.records];
        for &p in parents {
            let card = self.cards[p as usize] as u64;
            for (at, &state) in at.iter_mut().zip(&self.columns[p as usize]) {
                *at = *at * card + u64::from(state);
            }
        }
        let child = &self.columns[child as usize];
        let dense =
            configurations.checked_mul(states).filter(|&all| all / DENSE <= self.records + 64);
        let (mut rows, mut cells) = (Vec::new(), Vec::new());
        if let Some(all) = dense {
            let mut table = vec![0_u32; all];
            for (&row, &state) in at.iter().zip(child) {
                table[row as usize * states + state as usize] += 1;
            }
            for (row, counts) in table.chunks_exact(states.max(1)).enumerate() {
                if counts.iter().any(|&n| n > 0) {
                    rows.push(row as u64);
                    cells.extend(counts.iter().map(|&n| f64::from(n)));
                }
            }
        } else {
            let mut slots: FxHashMap<u64, usize> = FxHashMap::default();
            let mut found: Vec<(u64, Vec<f64>)> = Vec::new();
            for (&row, &state) in at.iter().zip(child) {
                let slot = *slots.entry(row).or_insert(found.len());
                if slot == found.len() {
                    found.push((row, vec![0.0; states]));
                }
                found[slot].1[state as usize] += 1.0;
            }
            // The same sums whatever the order of the records.
            found.sort_unstable_by_key(|row| row.0);
            for (row, counts) in found {
                rows.push(row);
                cells.extend(counts);
            }
        }
        Ok(Counts { configurations: configurations as u64, states, rows, cells })
    }
}
