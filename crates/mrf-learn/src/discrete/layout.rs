//! The positions of fields and coupling tables in one parameter vector.

use std::ops::Range;

use fenchel_graphical::{FactorGraph, VarId};
use fenchel_linalg::Invalid;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The order of the parameters. First come the fields, variable by variable. Then come the tables of the pairs `i < j`,
/// ordered by `i` and then by `j`. Within a table, the state of `i` is the row.
///
/// ```
/// use fenchel_mrf_learn::discrete::Layout;
///
/// let layout = Layout::new(&[2, 3])?;
/// assert_eq!((layout.field(1), layout.table(0, 1)?, layout.len()), (2..5, 5..11, 11));
/// # Ok::<(), fenchel_mrf_learn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<usize>", into = "Vec<usize>")]
pub struct Layout {
    cards: Vec<usize>,
    fields: Vec<usize>,
    tables: Vec<usize>,
}

impl Layout {
    /// The layout for variables with these numbers of states.
    ///
    /// # Errors
    /// [`Invalid::Empty`] for no variable; [`Invalid::Parameter`] for a number of states outside 1 to 255, or more than 65,535 variables.
    pub fn new(cards: &[usize]) -> Result<Self, Error> {
        if cards.is_empty() {
            return Err(Invalid::Empty { what: "variables" }.into());
        }
        if cards.len() > usize::from(u16::MAX) {
            let (name, value) = ("variables", cards.len() as f64);
            return Err(Invalid::Parameter { name, value, expected: "at most 65,535" }.into());
        }
        if let Some(&card) = cards.iter().find(|&&card| card == 0 || card > 255) {
            let (name, value) = ("states", card as f64);
            return Err(Invalid::Parameter { name, value, expected: "1 to 255" }.into());
        }
        let mut end = 0;
        let mut next = |size: usize| {
            end += size;
            end
        };
        let mut fields = vec![0];
        fields.extend(cards.iter().map(|&card| next(card)));
        let mut tables = vec![fields[cards.len()]];
        for (i, &card) in cards.iter().enumerate() {
            tables.extend(cards[i + 1..].iter().map(|&other| next(card * other)));
        }
        Ok(Layout { cards: cards.to_vec(), fields, tables })
    }

    /// The numbers of states.
    pub fn cards(&self) -> &[usize] {
        &self.cards
    }

    /// Number of variables, `p`.
    pub fn variables(&self) -> usize {
        self.cards.len()
    }

    /// Number of parameters, `m`.
    pub fn len(&self) -> usize {
        self.tables[self.tables.len() - 1]
    }

    /// Always false: a variable has a state.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The fields of variable `i`.
    ///
    /// # Panics
    /// If there is no such variable.
    pub fn field(&self, i: usize) -> Range<usize> {
        self.fields[i]..self.fields[i + 1]
    }

    /// The table of `i < j`.
    ///
    /// # Errors
    /// [`Invalid::Layout`] unless `i < j` and `j` is a variable.
    pub fn table(&self, i: usize, j: usize) -> Result<Range<usize>, Error> {
        let p = self.cards.len();
        if i < j && j < p {
            return Ok(self.table_of(i, j));
        }
        let reason = format!("variables {i} and {j}: expected i < j < {p}");
        Err(Invalid::Layout { what: "table of a pair", reason }.into())
    }

    /// The same of a pair that is known to be one.
    #[inline]
    pub(super) fn table_of(&self, i: usize, j: usize) -> Range<usize> {
        let p = self.cards.len();
        let at = i * (2 * p - i - 1) / 2 + j - i - 1;
        self.tables[at]..self.tables[at + 1]
    }

    /// Where the tables begin.
    pub(super) fn table_start(&self) -> usize {
        self.fields[self.cards.len()]
    }

    /// The pairs `i < j`, in the order of the tables.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let p = self.cards.len();
        (0..p).flat_map(move |i| (i + 1..p).map(move |j| (i, j)))
    }

    /// The model with these parameters: one factor per variable, and one per table that is not entirely 0.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Error::Graphical`] for parameters that are not finite.
    pub fn factor_graph(&self, theta: &[f64]) -> Result<FactorGraph, Error> {
        Invalid::check_length("parameters", self.len(), theta.len())?;
        let mut graph = FactorGraph::new(&self.cards)?;
        for i in 0..self.variables() {
            graph.add(&[VarId(i as u32)], &theta[self.field(i)])?;
        }
        for (i, j) in self.support(theta) {
            graph.add(&[VarId(i as u32), VarId(j as u32)], &theta[self.table_of(i, j)])?;
        }
        Ok(graph)
    }

    /// The pairs whose tables are not 0 throughout.
    pub(super) fn support(&self, theta: &[f64]) -> Vec<(usize, usize)> {
        self.pairs()
            .filter(|&(i, j)| theta[self.table_of(i, j)].iter().any(|&value| value != 0.0))
            .collect()
    }
}

impl TryFrom<Vec<usize>> for Layout {
    type Error = Error;

    fn try_from(cards: Vec<usize>) -> Result<Self, Error> {
        Layout::new(&cards)
    }
}

impl From<Layout> for Vec<usize> {
    fn from(layout: Layout) -> Self {
        layout.cards
    }
}
