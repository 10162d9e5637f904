//! Tests of conditional independence.

use fenchel_linalg::special::chi_squared_tail;
use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::Columns;
use crate::{Error, VarId};

/// A test of the independence of `x` and `y` given `z`, from one contingency table per configuration of `z`.
///
/// | test | statistic, with `E_xy = N_x N_y / N` in every table |
/// |---|---|
/// | `G2` | `2 sum N_xy ln (N_xy / E_xy)`: the likelihood ratio |
/// | `ChiSquared` | `sum (N_xy - E_xy)^2 / E_xy`: Pearson's |
///
/// For many records both statistics have a chi-squared distribution under independence. Its degrees of freedom are the sum over
/// the tables of `(rows - 1) (columns - 1)`, where only rows and columns that occur are counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum IndependenceTest {
    /// The likelihood ratio.
    #[default]
    G2,
    /// Pearson's statistic.
    ChiSquared,
}

/// The result of a test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// The statistic.
    pub statistic: f64,
    /// Degrees of freedom. It is 0 if no dependence could be detected in these records.
    pub degrees: f64,
    /// The probability under independence of a statistic this large or larger; 1 for zero degrees of freedom.
    pub p_value: f64,
}

impl IndependenceTest {
    /// Tests the independence of `x` and `y` given `z`.
    ///
    /// # Errors
    /// [`Error::Cell`] for a value that is missing or no state; [`Error::UnknownVariable`], [`Error::RepeatedVariable`];
    /// [`Error::Invalid`] for another number of columns; [`Error::Refused`] if the given variables have 2^64 configurations or more.
    pub fn test(
        self,
        data: ArrayView2<'_, usize>,
        cards: &[usize],
        x: VarId,
        y: VarId,
        given: &[VarId],
    ) -> Result<Tested, Error> {
        let variables: Vec<VarId> = given.iter().copied().chain([x, y]).collect();
        let columns = Columns::of(data, cards, &variables)?;
        let z: Vec<u32> = (0..given.len() as u32).collect();
        self.run(&columns, z.len() as u32, z.len() as u32 + 1, &z)
    }

    pub(super) fn run(
        self,
        columns: &Columns,
        x: u32,
        y: u32,
        given: &[u32],
    ) -> Result<Tested, Error> {
        let parents: Vec<u32> = given.iter().copied().chain([x]).collect();
        let counts = columns.counts(y, &parents)?;
        let of_x = columns.cards()[x as usize] as u64;
        let (mut statistic, mut degrees) = (0.0, 0.0);
        let rows: Vec<(u64, &[f64])> = counts.rows.iter().copied().zip(counts.seen()).collect();
        for table in rows.chunk_by(|a, b| a.0 / of_x == b.0 / of_x) {
            let mut below = vec![0.0; counts.states];
            for (_, row) in table {
                below.iter_mut().zip(*row).for_each(|(sum, n)| *sum += n);
            }
            let total: f64 = below.iter().sum();
            let occurring = below.iter().filter(|n| **n > 0.0).count();
            degrees += (table.len() - 1) as f64 * (occurring - 1) as f64;
            for (_, row) in table {
                let beside: f64 = row.iter().sum();
                for (&n, below) in row.iter().zip(&below).filter(|(_, below)| **below > 0.0) {
                    let expected = beside * below / total;
                    statistic += match self {
                        IndependenceTest::G2 if n > 0.0 => 2.0 * n * (n / expected).ln(),
                        IndependenceTest::G2 => 0.0,
                        IndependenceTest::ChiSquared => (n - expected).powi(2) / expected,
                    };
                }
            }
        }
        let statistic = statistic.max(0.0);
        let p_value = if degrees > 0.0 { chi_squared_tail(statistic, degrees) } else { 1.0 };
        Ok(Tested { statistic, degrees, p_value })
    }
}
