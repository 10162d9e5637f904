//! Columns whose values lie far from 0, and a copy of a design in which they are centred.
//!
//! Where an intercept is fitted, a column and the same column minus a constant pose the same problem. A column far from 0 is
//! nearly a multiple of the column of ones, so that a method without centring needs very many passes.

use ndarray::Array2;

use super::{Csr, Dense, Design, multiply_squares_transposed, multiply_transposed};
use crate::Invalid;

/// A column is far from 0 if its mean exceeds this many standard deviations. With the column of ones it then has a condition number
/// above 400. Of a column with zeros that is far, at least 99 % is not 0.
const FAR: f64 = 10.0;
/// Pairs of rows that are looked at first. Two values of a far column nearly always differ by less than a third of their sum. (By
/// Chebyshev's inequality: 70 % of the pairs at 10 deviations, 92 % at 20. For normal values: all.)
const PAIRS: usize = 32;
/// The pairs that must be so close. A fifth of the pairs of a normal column around 0 is, and two thirds at 2 deviations.
const CLOSE: u8 = 24;

/// A column that lies far from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FarColumn {
    /// Its number.
    pub column: usize,
    /// Its mean.
    pub mean: f64,
    /// Its mean squared distance from the mean.
    pub variance: f64,
}

/// The columns whose mean, by these weights of the rows (`None`: all 1), exceeds ten standard deviations, ascending. Constant columns
/// other than 0 are among them. A look at 64 rows, and a pass over the columns that look so there. Of rows that are spread over
/// processes nobody sees 64 of all: two half passes over all columns take the place of the look.
pub fn far_columns<D: Design>(design: &D, weights: Option<&[f64]>) -> Vec<FarColumn> {
    let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
    // Distances from one row, or from a mean: the squares of the values would swallow those of the spread.
    let (columns, from) = match design.shards() {
        Some(_) => candidates_of_all(design, weights),
        None => {
            let heaviest =
                (0..design.rows()).max_by(|&i, &j| weight(i).total_cmp(&weight(j)).then(j.cmp(&i)));
            let Some(heaviest) = heaviest else { return Vec::new() };
            let columns = candidates(design, weights, heaviest);
            let mut from = vec![0.0; columns.len()];
            design.row_part(heaviest, &columns, 1.0, &mut from);
            (columns, from)
        }
    };
    let m = columns.len();
    if m == 0 {
        return Vec::new();
    }
    // Of the distances, of their squares, and of the weights.
    let mut sums = vec![0.0; 2 * m + 1];
    design.add_rows(&mut sums, |rows, sums| {
        let (sums, rest) = sums.split_at_mut(m);
        let (squares, total) = rest.split_at_mut(m);
        let mut row = vec![0.0; m];
        for i in rows.filter(|&i| weight(i) > 0.0) {
            let w = weight(i);
            total[0] += w;
            design.row_part(i, &columns, 1.0, &mut row);
            for k in 0..m {
                let x = row[k] - from[k];
                sums[k] += w * x;
                squares[k] += w * x * x;
            }
        }
    });
    let total = sums[2 * m];
    let far = |k: usize| {
        let shift = sums[k] / total;
        let variance = f64::max(sums[m + k] / total - shift * shift, 0.0);
        let mean = from[k] + shift;
        (mean.is_finite() && mean.abs() > FAR * variance.sqrt()).then_some(FarColumn {
            column: columns[k],
            mean,
            variance,
        })
    };
    (0..m).filter_map(far).collect()
}

/// The columns of spread rows that may be far from 0, with their means. The variances are rough: half of [`FAR`] will do.
fn candidates_of_all<D: Design>(design: &D, weights: Option<&[f64]>) -> (Vec<usize>, Vec<f64>) {
    let weights = weights.map_or_else(|| vec![1.0; design.rows()], <[f64]>::to_vec);
    let total = design.sum_numbers(&weights);
    let (mut means, mut squares) = (vec![0.0; design.columns()], vec![0.0; design.columns()]);
    multiply_transposed(design, &weights, &mut means);
    multiply_squares_transposed(design, &weights, &mut squares);
    means.iter_mut().for_each(|mean| *mean /= total);
    let far = |&(c, mean): &(usize, f64)| {
        let variance = f64::max(squares[c] / total - mean * mean, 0.0);
        mean.is_finite() && mean.abs() > 0.5 * FAR * variance.sqrt()
    };
    means.iter().copied().enumerate().filter(far).unzip()
}

/// The columns that may be far from 0.
fn candidates<D: Design>(design: &D, weights: Option<&[f64]>, heaviest: usize) -> Vec<usize> {
    let (n, d) = (design.rows(), design.columns());
    if n <= 2 * PAIRS {
        // This row has more than a hundredth of the weight, which is what may be 0.
        let mut columns = Vec::new();
        design.row_entries(heaviest, |c, a| columns.extend((a != 0.0).then_some(c)));
        return columns;
    }
    let cumulative: Option<Vec<f64>> = weights.map(|weights| {
        let mut sum = 0.0;
        let add = |w: &f64| {
            sum += w;
            sum
        };
        weights.iter().map(add).collect()
    });
    // Multiples of the golden ratio: spread evenly, and no period of the data is theirs.
    let draw = |k: usize| {
        let u = ((k as f64 + 0.5) * 0.618_033_988_749_894_9).fract();
        let i = match &cumulative {
            None => (u * n as f64) as usize,
            Some(sums) => sums.partition_point(|&sum| sum <= u * sums[n - 1]),
        };
        i.min(n - 1)
    };
    let (mut row, mut close) = (vec![0.0; d], vec![0u8; d]);
    for k in 0..PAIRS {
        let (i, j) = (draw(2 * k), draw(2 * k + 1));
        design.row_entries(i, |c, a| row[c] = a);
        design.row_entries(j, |c, b| {
            let a = row[c];
            close[c] += u8::from(a != 0.0 && 3.0 * (a - b).abs() <= (a + b).abs());
        });
        design.row_entries(i, |c, _| row[c] = 0.0);
    }
    (0..d).filter(|&c| close[c] >= CLOSE).collect()
}

/// A copy of a design in which the columns far from 0 are centred. It takes 8 bytes an entry of a dense design, 12 of a sparse one.
///
/// The differences are exact where entry and mean are within a factor of two of each other.
#[derive(Debug, Clone)]
pub struct Centred {
    far: Vec<FarColumn>,
    entries: Entries,
}

#[derive(Debug, Clone)]
enum Entries {
    Dense(Array2<f64>),
    Sparse { offsets: Vec<usize>, columns_of: Vec<u32>, values: Vec<f64>, columns: usize },
}

/// A [`Centred`] copy as a design.
#[derive(Debug, Clone, Copy)]
pub enum CentredView<'a> {
    /// Of a dense design.
    Dense(Dense<'a, f64>),
    /// Of a sparse one.
    Sparse(Csr<'a, f64>),
}

impl Centred {
    /// Copies the design. `None` where no column is far from 0, and where the copy would take more than `max_memory` bytes.
    pub fn new<D: Design>(
        design: &D,
        far: Vec<FarColumn>,
        max_memory: Option<u64>,
    ) -> Option<Self> {
        let (n, d) = (design.rows(), design.columns());
        let limit = max_memory.unwrap_or(u64::MAX);
        if far.is_empty() {
            return None;
        }
        if D::DENSE {
            if 8 * design.stored() as u64 > limit {
                return None;
            }
            let mut copy = Array2::zeros((n, d));
            for (i, mut row) in copy.rows_mut().into_iter().enumerate() {
                design.row_entries(i, |c, a| row[c] = a);
                far.iter().for_each(|far| row[far.column] -= far.mean);
            }
            return Some(Centred { far, entries: Entries::Dense(copy) });
        }
        u32::try_from(d).ok()?;
        let (mut offsets, mut columns_of, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..n {
            let mut left = far.iter().peekable();
            let mut push = |c: usize, a: f64| {
                columns_of.push(c as u32);
                values.push(a);
            };
            design.row_entries(i, |c, a| {
                while let Some(absent) = left.next_if(|far| far.column < c) {
                    push(absent.column, -absent.mean);
                }
                let mean = left.next_if(|far| far.column == c).map_or(0.0, |far| far.mean);
                push(c, a - mean);
            });
            left.for_each(|absent| push(absent.column, -absent.mean));
            if 12 * values.len() as u64 > limit {
                return None;
            }
            offsets.push(values.len());
        }
        Some(Centred { far, entries: Entries::Sparse { offsets, columns_of, values, columns: d } })
    }

    /// The copy as a design.
    ///
    /// # Errors
    /// [`Invalid::NonFinite`] if the distance of an entry from the mean is beyond the range of numbers.
    pub fn view(&self) -> Result<CentredView<'_>, Invalid> {
        match &self.entries {
            Entries::Dense(copy) => Dense::new(copy.view()).map(CentredView::Dense),
            Entries::Sparse { offsets, columns_of, values, columns } => {
                Csr::from_parts(offsets, columns_of, values, *columns).map(CentredView::Sparse)
            }
        }
    }

    /// The columns that were centred.
    pub fn far(&self) -> &[FarColumn] {
        &self.far
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AsDesign;
    use ndarray::array;

    /// Whole numbers of mean 0 and variance 2, and an offset.
    fn column(n: usize, offset: f64) -> Array2<f64> {
        Array2::from_shape_fn((n, 1), |(i, _)| offset + (i % 5) as f64 - 2.0)
    }

    #[test]
    fn a_column_is_far_beyond_ten_deviations() {
        for n in [5, 60, 65, 1000] {
            // sqrt(2) is the deviation.
            for (offset, far) in [(0.0, false), (13.0, false), (15.0, true), (-1e9, true)] {
                let x = column(n, offset);
                let found = far_columns(&x.as_design().unwrap(), None);
                assert_eq!(found.len(), usize::from(far), "{n}, {offset}: {found:?}");
                for found in found {
                    assert_eq!((found.column, found.mean), (0, offset), "{n}");
                    assert!((found.variance - 2.0).abs() < 1e-9, "{n}: {found:?}");
                }
            }
        }
    }

    /// The unit of a column far from 0 is that of its spread, which a difference of squares would lose.
    #[test]
    fn columns_of_spread_rows_are_those_of_all_rows() {
        use crate::spread::{Communicator, Shards, threads};

        let x =
            Array2::from_shape_fn((90, 3), |(i, c)| [0.0, 1e6, 5.0][c] + (i % 5) as f64 / 1024.0);
        let weights: Vec<f64> = (0..90).map(|i| 0.5 + (i % 3) as f64).collect();
        let expected = far_columns(&x.as_design().unwrap(), Some(&weights));
        assert_eq!(expected.iter().map(|far| far.column).collect::<Vec<_>>(), [1, 2]);
        let found = threads::run(3, |ranks| {
            let rows = [0..0, 0..60, 60..90][ranks.rank()].clone();
            let shards = Shards::new(ranks, &[rows.len()])?;
            let own = x.slice_axis(ndarray::Axis(0), rows.clone().into());
            let design = own.as_design()?.spread(&shards)?;
            Ok::<_, Invalid>(far_columns(&design, Some(&weights[rows])))
        });
        for found in found.unwrap() {
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found.column, expected.column);
                assert!((found.mean - expected.mean).abs() <= 1e-9);
                let off = (found.variance - expected.variance).abs();
                assert!(off <= 1e-6 * expected.variance, "{found:?} {expected:?}");
            }
            assert_eq!(found.len(), 2);
        }
    }

    /// By weights 0 and 1 a column is what its rows of weight 1 are.
    #[test]
    fn rows_without_weight_do_not_count() {
        for n in [50, 500] {
            let mut x = column(n, 100.0);
            let mut weights = vec![1.0; n];
            for i in (0..n).filter(|i| i % 10 >= 5) {
                (x[[i, 0]], weights[i]) = (1e6 * i as f64, 0.0);
            }
            let design = x.as_design().unwrap();
            assert!(far_columns(&design, None).is_empty());
            let found = far_columns(&design, Some(&weights));
            assert_eq!((found.len(), found[0].mean), (1, 100.0), "{found:?}");
        }
    }

    #[test]
    fn both_storages_are_centred_and_absent_entries_too() {
        // Constant, around 0, and 0 in one of 201 rows: the mean of the last is 200 * 7 / 201, its deviation half.
        let x = Array2::from_shape_fn((201, 3), |(i, c)| match c {
            0 => 4.0,
            1 => (i % 3) as f64 - 1.0,
            _ => {
                if i == 0 {
                    0.0
                } else {
                    7.0
                }
            }
        });
        let dense = x.as_design().unwrap();
        let (mut offsets, mut columns_of, mut values) = (vec![0], vec![], vec![]);
        for i in 0..201 {
            dense.row_entries(i, |c, a| {
                if a != 0.0 {
                    columns_of.push(c as u32);
                    values.push(a);
                }
            });
            offsets.push(values.len());
        }
        let sparse = Csr::from_parts(&offsets, &columns_of, &values, 3).unwrap();
        let mean = 1400.0 / 201.0;
        let check = |centred: Centred| {
            let columns: Vec<usize> = centred.far().iter().map(|far| far.column).collect();
            assert_eq!(columns, [0, 2]);
            let v = [1.0, 10.0, 100.0];
            for i in [0, 1, 200] {
                let exact = 10.0 * x[[i, 1]] + 100.0 * (x[[i, 2]] - mean);
                let found = match centred.view().unwrap() {
                    CentredView::Dense(x) => x.row_dot(i, &v),
                    CentredView::Sparse(x) => x.row_dot(i, &v),
                };
                assert!((found - exact).abs() < 1e-10, "{i}: {found} for {exact}");
            }
        };
        check(Centred::new(&dense, far_columns(&dense, None), None).unwrap());
        check(Centred::new(&sparse, far_columns(&sparse, None), None).unwrap());
        assert!(Centred::new(&dense, far_columns(&dense, None), Some(8 * 603 - 1)).is_none());
        assert!(Centred::new(&sparse, far_columns(&sparse, None), Some(1000)).is_none());
        let near = array![[1.0], [-1.0]];
        let near = near.as_design().unwrap();
        assert!(Centred::new(&near, far_columns(&near, None), None).is_none());
    }
}
