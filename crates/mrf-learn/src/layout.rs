//! The parameters of a pairwise model: which statistics they belong to, and their order in one vector.
//!
//! ```text
//! binary      x in {0,1}^p            statistics x_i (i = j) and x_i x_j (i < j)
//! spins       s = 2x - 1              statistics s_i         and s_i s_j
//! indicators  x_i in {0, .., k_i-1}   statistics [x_i = a]   and [x_i = a, x_j = b]
//! order       (0,0) (0,1) ... (0,p-1) (1,1) ... (p-1,p-1)
//! ```
//!
//! A block of parameters belongs to each pair `i <= j`: one number in binary coordinates and spins, a field of `k_i` numbers
//! (`i = j`) or a table of `k_i x k_j` numbers with indicators. All coordinates describe the same distributions. An l1 norm
//! of the couplings is the same penalty in binary coordinates and in spins, up to a factor of 4. An l1 norm of the biases is
//! not, because the bias of a binary variable contains part of its couplings as a spin. Penalties always apply to the chosen
//! coordinates.

use std::ops::Range;

use fenchel_graphical::{BinaryPairwise, FactorGraph, VarId};
use fenchel_linalg::Invalid;
use fenchel_optim::{MAX_MEMORY, Refusal};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// In which coordinates parameters are penalised and returned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Coordinates {
    /// `P(x) ~ exp(sum_i theta_ii x_i + sum_{i<j} theta_ij x_i x_j)` with `x` in {0,1}: the model of Geng et al. (UAI
    /// 2018).
    #[default]
    Binary,
    /// `P(s) ~ exp(sum_i h_i s_i + sum_{i<j} J_ij s_i s_j)` with `s` in {-1,+1}: the Ising model.
    Spins,
    /// `P(x) ~ exp(sum_i h_i(x_i) + sum_{i<j} J_ij(x_i, x_j))`, for variables with any number of states. The parameters are not
    /// unique, because a constant can be moved from a table into a field. With unpenalised fields, the group penalty selects the
    /// zero-sum gauge: among the tables that describe the same distribution, it has the smallest norm.
    Indicators,
}

impl Coordinates {
    /// The largest minus the smallest value of a statistic: 1 or 2.
    pub fn range(self) -> f64 {
        if self == Coordinates::Spins { 2.0 } else { 1.0 }
    }

    /// The variance of a statistic with this mean: it has two values, 0 and 1 or -1 and +1.
    #[inline]
    pub fn variance(self, mean: f64) -> f64 {
        if self == Coordinates::Spins { 1.0 - mean * mean } else { mean * (1.0 - mean) }
    }
}

/// The place of `(i, j)`, `i <= j < p`, in the order of pairs.
#[inline]
pub fn pair_index(i: usize, j: usize, p: usize) -> usize {
    i * (2 * p - i - 1) / 2 + j
}

/// The place of two variables in any order.
pub(crate) fn index_of(i: usize, j: usize, p: usize) -> usize {
    pair_index(i.min(j), i.max(j), p)
}

/// `p (p + 1) / 2`, the number of pairs `i <= j`: the number of parameters in binary coordinates and spins.
#[inline]
pub fn packed_length(p: usize) -> usize {
    p * (p + 1) / 2
}

/// The pairs `(i, j)`, `i <= j`, in order.
pub fn pairs(p: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..p).flat_map(move |i| (i..p).map(move |j| (i, j)))
}

/// Means of the rows, of the columns and of all of a table.
pub(crate) fn table_means(
    table: impl Iterator<Item = f64>,
    rows: usize,
    columns: usize,
) -> (Vec<f64>, Vec<f64>, f64) {
    let (mut by_row, mut by_column) = (vec![0.0; rows], vec![0.0; columns]);
    for (at, value) in table.enumerate() {
        by_row[at / columns] += value / columns as f64;
        by_column[at % columns] += value / rows as f64;
    }
    let mean = by_row.iter().sum::<f64>() / rows as f64;
    (by_row, by_column, mean)
}

/// The order of the parameters of a model.
///
/// ```
/// use fenchel_mrf_learn::{Coordinates, Layout};
///
/// let layout = Layout::new(&[2, 3], Coordinates::Indicators)?;
/// assert_eq!((layout.field(1), layout.table(0, 1)?, layout.len()), (8..11, 2..8, 11));
/// # Ok::<(), fenchel_mrf_learn::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Shape", into = "Shape")]
pub struct Layout {
    cards: Vec<usize>,
    coordinates: Coordinates,
    /// Where the block of every pair begins, and the end; empty where every block is one number.
    starts: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
struct Shape {
    cards: Vec<usize>,
    coordinates: Coordinates,
}

impl TryFrom<Shape> for Layout {
    type Error = Error;

    fn try_from(shape: Shape) -> Result<Self, Error> {
        Layout::new(&shape.cards, shape.coordinates)
    }
}

impl From<Layout> for Shape {
    fn from(Layout { cards, coordinates, .. }: Layout) -> Self {
        Shape { cards, coordinates }
    }
}

impl Layout {
    /// The layout for variables with these numbers of states.
    ///
    /// # Errors
    /// [`Invalid::Empty`] for no variable; [`Invalid::Parameter`] for a number of states outside 1 to 255, and for more or fewer
    /// than 2 in binary coordinates or spins; [`Error::Refused`] for more than 4 GiB of parameters.
    pub fn new(cards: &[usize], coordinates: Coordinates) -> Result<Self, Error> {
        if cards.is_empty() {
            return Err(Invalid::Empty { what: "variables" }.into());
        }
        let (range, expected) = match coordinates {
            Coordinates::Indicators => (1..=255, "1 to 255"),
            _ => (2..=2, "2; Coordinates::Indicators has variables with more"),
        };
        if let Some(&card) = cards.iter().find(|card| !range.contains(*card)) {
            return Err(Invalid::Parameter { name: "states", value: card as f64, expected }.into());
        }
        Layout::of(cards, coordinates)
    }

    /// The layout of `p` variables with the states 0 and 1.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn two_states(p: usize, coordinates: Coordinates) -> Result<Self, Error> {
        Layout::new(&vec![2; p], coordinates)
    }

    /// The same variables in binary coordinates. Of more than two states each but the first has its own indicator.
    pub(crate) fn reference(&self) -> Result<Self, Error> {
        Layout::of(&self.cards, Coordinates::Binary)
    }

    fn of(cards: &[usize], coordinates: Coordinates) -> Result<Self, Error> {
        let width = |card: usize| card - usize::from(coordinates != Coordinates::Indicators);
        let total: f64 = cards.iter().map(|&card| width(card) as f64).sum();
        let most = 8.0 * (total + 0.5 * total * total);
        Refusal::check_memory(
            "the list of parameters",
            most as u64,
            MAX_MEMORY,
            "take fewer variables",
        )?;
        let (cards, mut starts) = (cards.to_vec(), Vec::new());
        if cards.iter().any(|&card| width(card) != 1) {
            let mut end = 0;
            starts.push(0);
            for (i, j) in pairs(cards.len()) {
                end += width(cards[i]) * if i == j { 1 } else { width(cards[j]) };
                starts.push(end);
            }
        }
        Ok(Layout { cards, coordinates, starts })
    }

    /// The numbers of states.
    pub fn cards(&self) -> &[usize] {
        &self.cards
    }

    /// The coordinates.
    pub fn coordinates(&self) -> Coordinates {
        self.coordinates
    }

    /// Number of variables, `p`.
    pub fn variables(&self) -> usize {
        self.cards.len()
    }

    /// Number of parameters, `m`.
    pub fn len(&self) -> usize {
        self.starts.last().copied().unwrap_or_else(|| packed_length(self.variables()))
    }

    /// Always false: a variable has a state.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The parameters of variable `i` alone.
    ///
    /// # Panics
    /// If there is no such variable.
    pub fn field(&self, i: usize) -> Range<usize> {
        self.block(pair_index(i, i, self.variables()))
    }

    /// The parameters of `i < j`; the state of `i` is the row of a table.
    ///
    /// # Errors
    /// [`Invalid::Layout`] unless `i < j` and `j` is a variable.
    pub fn table(&self, i: usize, j: usize) -> Result<Range<usize>, Error> {
        let p = self.variables();
        if i < j && j < p {
            return Ok(self.block(pair_index(i, j, p)));
        }
        let reason = format!("variables {i} and {j}: expected i < j < {p}");
        Err(Invalid::Layout { what: "table of a pair", reason }.into())
    }

    /// The parameters of a pair by its place in the order.
    #[inline]
    pub(crate) fn block(&self, pair: usize) -> Range<usize> {
        if self.starts.is_empty() {
            pair..pair + 1
        } else {
            self.starts[pair]..self.starts[pair + 1]
        }
    }

    /// The pairs `i <= j` with their blocks, in order.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = ((usize, usize), Range<usize>)> + '_ {
        pairs(self.variables()).enumerate().map(|(pair, ij)| (ij, self.block(pair)))
    }

    /// What the parameters of a variable add to the log-score in state `a`.
    #[inline]
    pub(crate) fn unary(&self, field: &[f64], a: usize) -> f64 {
        match self.coordinates {
            Coordinates::Binary if a == 0 => 0.0,
            Coordinates::Binary => field[a - 1],
            Coordinates::Spins if a == 0 => -field[0],
            Coordinates::Spins => field[0],
            Coordinates::Indicators => field[a],
        }
    }

    /// What the parameters of a pair add to the log-score in states `a` and `b`, of which the second variable is `j`.
    #[inline]
    pub(crate) fn pair(&self, table: &[f64], a: usize, b: usize, j: usize) -> f64 {
        match self.coordinates {
            Coordinates::Binary if a == 0 || b == 0 => 0.0,
            Coordinates::Binary => table[(a - 1) * (self.cards[j] - 1) + b - 1],
            Coordinates::Spins if a == b => table[0],
            Coordinates::Spins => -table[0],
            Coordinates::Indicators => table[a * self.cards[j] + b],
        }
    }

    /// The whole table of a pair, row by row.
    pub(crate) fn whole_table(&self, table: &[f64], i: usize, j: usize) -> Vec<f64> {
        let rows = 0..self.cards[i];
        let row = |a| (0..self.cards[j]).map(move |b| self.pair(table, a, b, j));
        rows.flat_map(row).collect()
    }

    /// The parameters in [`reference`](Self::reference) coordinates, and what is to be added to their log-scores.
    pub(crate) fn to_reference(&self, reference: &Layout, theta: &[f64]) -> (Vec<f64>, f64) {
        if self.coordinates == Coordinates::Binary {
            return (theta.to_vec(), 0.0);
        }
        let (mut out, mut constant) = (vec![0.0; reference.len()], 0.0);
        for ((i, j), block) in self.blocks() {
            let block = &theta[block];
            if i == j {
                let first = self.unary(block, 0);
                constant += first;
                for (a, to) in reference.field(i).enumerate() {
                    out[to] += self.unary(block, a + 1) - first;
                }
                continue;
            }
            let at = |a, b| self.pair(block, a, b, j);
            let first = at(0, 0);
            constant += first;
            reference.field(i).enumerate().for_each(|(a, to)| out[to] += at(a + 1, 0) - first);
            reference.field(j).enumerate().for_each(|(b, to)| out[to] += at(0, b + 1) - first);
            let columns = self.cards[j].max(2) - 1;
            for (k, to) in reference.block(pair_index(i, j, self.variables())).enumerate() {
                let (a, b) = (k / columns + 1, k % columns + 1);
                out[to] = at(a, b) - at(a, 0) - at(0, b) + first;
            }
        }
        (out, constant)
    }

    /// The means of the statistics from those of the [`reference`](Self::reference) coordinates.
    pub(crate) fn expand(&self, reference: &Layout, means: &[f64], out: &mut [f64]) {
        if self.coordinates == Coordinates::Binary {
            out.copy_from_slice(means);
            return;
        }
        for (((i, j), from), to) in reference.blocks().zip(self.blocks().map(|(_, block)| block)) {
            let (from, out) = (&means[from], &mut out[to]);
            let (one, two) = (&means[reference.field(i)], &means[reference.field(j)]);
            match (self.coordinates == Coordinates::Spins, i == j) {
                (true, true) => out[0] = 2.0 * from[0] - 1.0,
                (true, false) => out[0] = 4.0 * from[0] - 2.0 * one[0] - 2.0 * two[0] + 1.0,
                (false, true) => {
                    out[0] = (1.0 - from.iter().sum::<f64>()).max(0.0);
                    out[1..].copy_from_slice(from);
                }
                (false, false) => {
                    let width = two.len() + 1;
                    out[0] = 1.0 - one.iter().sum::<f64>();
                    out[1..width].copy_from_slice(two);
                    for (a, share) in one.iter().enumerate() {
                        let row = &from[a * two.len()..(a + 1) * two.len()];
                        out[(a + 1) * width] = share - row.iter().sum::<f64>();
                        out[(a + 1) * width + 1..][..two.len()].copy_from_slice(row);
                        row.iter().zip(&mut out[1..width]).for_each(|(both, to)| *to -= both);
                    }
                    out[0] -= out[1..width].iter().sum::<f64>();
                    // Of a state that hardly occurs rounding may leave less than nothing.
                    out.iter_mut().for_each(|x| *x = x.max(0.0));
                }
            }
        }
    }

    /// The probabilities of the states of `i`, from the means of the statistics.
    pub(crate) fn shares(&self, means: &[f64], i: usize) -> Vec<f64> {
        let field = &means[self.field(i)];
        match self.coordinates {
            Coordinates::Binary => vec![1.0 - field[0], field[0]],
            Coordinates::Spins => vec![0.5 * (1.0 - field[0]), 0.5 * (1.0 + field[0])],
            Coordinates::Indicators => field.to_vec(),
        }
    }

    /// The probabilities of the pairs of states of `i < j`, row by row.
    pub(crate) fn pair_shares(&self, means: &[f64], i: usize, j: usize) -> Vec<f64> {
        let table = &means[self.block(pair_index(i, j, self.variables()))];
        if self.coordinates == Coordinates::Indicators {
            return table.to_vec();
        }
        let (a, b) = (self.shares(means, i)[1], self.shares(means, j)[1]);
        let spins = self.coordinates == Coordinates::Spins;
        let both = if spins { 0.25 * (table[0] - 1.0) + 0.5 * (a + b) } else { table[0] };
        vec![1.0 - a - b + both, b - both, a - both, both]
    }

    /// The model as factors: one per variable, and one per pair whose parameters are not all 0.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Error::Graphical`] for parameters that are not finite.
    pub fn factor_graph(&self, theta: &[f64]) -> Result<FactorGraph, Error> {
        Invalid::check_length("parameters", self.len(), theta.len())?;
        let mut graph = FactorGraph::new(&self.cards)?;
        for i in 0..self.variables() {
            let field = &theta[self.field(i)];
            let values: Vec<f64> = (0..self.cards[i]).map(|a| self.unary(field, a)).collect();
            graph.add(&[VarId(i as u32)], &values)?;
        }
        for (i, j) in self.support(theta) {
            let table = &theta[self.table(i, j)?];
            graph.add(&[VarId(i as u32), VarId(j as u32)], &self.whole_table(table, i, j))?;
        }
        Ok(graph)
    }

    /// The model in binary coordinates, and the constant `c` in `A(theta) = log Z - c`.
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Error::Refused`] for variables with more than two states; [`Error::Graphical`] for parameters that
    /// are not finite.
    pub fn binary(&self, theta: &[f64]) -> Result<(BinaryPairwise, f64), Error> {
        Invalid::check_length("parameters", self.len(), theta.len())?;
        if self.cards.iter().any(|&card| card != 2) {
            let what = "variables with more or fewer than two states";
            return Err(Refusal::unsupported("a binary model", what).into());
        }
        let (theta, constant) = self.to_reference(&self.reference()?, theta);
        let p = self.variables();
        let bias: Vec<f64> = (0..p).map(|i| theta[pair_index(i, i, p)]).collect();
        let couplings = pairs(p).zip(&theta).filter(|((i, j), theta)| i != j && **theta != 0.0);
        let edges: Vec<_> = couplings.map(|((i, j), &t)| (i as u32, j as u32, t)).collect();
        Ok((BinaryPairwise::new(&bias, &edges)?, -constant))
    }

    /// The parameters of a binary model in these coordinates.
    ///
    /// # Errors
    /// [`Invalid::Length`] for another number of variables; [`Error::Refused`] for variables with more than two states.
    pub fn parameters(&self, model: &BinaryPairwise) -> Result<Vec<f64>, Error> {
        let p = self.variables();
        Invalid::check_length("variables of the model", p, model.variables())?;
        let spins = self.coordinates == Coordinates::Spins;
        let (bias, edges) = if spins {
            let (fields, couplings, _) = model.to_spins();
            (fields, couplings)
        } else {
            (model.bias().to_vec(), model.edges().collect())
        };
        if self.cards.iter().any(|&card| card != 2) {
            let what = "variables with more or fewer than two states";
            return Err(Refusal::unsupported("a binary model", what).into());
        }
        let mut theta = vec![0.0; self.len()];
        // The last number of a block is that of states 1 and 1.
        let mut set = |i, j, value| theta[self.block(pair_index(i, j, p)).end - 1] = value;
        bias.into_iter().enumerate().for_each(|(i, bias)| set(i, i, bias));
        edges.into_iter().for_each(|(i, j, value)| set(i as usize, j as usize, value));
        Ok(theta)
    }

    /// The pairs `i < j` whose parameters are not all 0.
    pub(crate) fn support(&self, theta: &[f64]) -> Vec<(usize, usize)> {
        self.blocks()
            .filter(|((i, j), block)| i != j && theta[block.clone()].iter().any(|&x| x != 0.0))
            .map(|(pair, _)| pair)
            .collect()
    }

    /// Refuses another layout.
    pub(crate) fn check_same(&self, other: &Layout) -> Result<(), Error> {
        if self == other {
            return Ok(());
        }
        let reason = format!(
            "{:?} of variables with {:?} states; the model has {:?} of {:?}",
            other.coordinates, other.cards, self.coordinates, self.cards
        );
        Err(Invalid::Layout { what: "variables", reason }.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_places_count_up() {
        for p in 1..8 {
            for (place, (i, j)) in pairs(p).enumerate() {
                assert_eq!(pair_index(i, j, p), place);
            }
            assert_eq!(pairs(p).count(), packed_length(p));
        }
    }

    #[test]
    fn parameters_come_back_in_all_coordinates() {
        let theta: Vec<f64> = (0..10).map(|k| (f64::from(k) * 0.7).sin()).collect();
        for coordinates in [Coordinates::Binary, Coordinates::Spins] {
            let layout = Layout::two_states(4, coordinates).unwrap();
            let (model, _) = layout.binary(&theta).unwrap();
            for (a, b) in layout.parameters(&model).unwrap().iter().zip(&theta) {
                assert!((a - b).abs() < 1e-14);
            }
            let indicators = Layout::two_states(4, Coordinates::Indicators).unwrap();
            let tables = indicators.parameters(&model).unwrap();
            assert_eq!(indicators.binary(&tables).unwrap(), (model, 0.0));
        }
    }
}
