//! How a small table lies inside a big one, and the loops over both.
//!
//! Both are row-major. A [`Plan`] walks the big table cell by cell and knows, for every dimension, the stride in the small
//! one (0 where the small table does not have the variable). Neighbouring dimensions that move alike are one, so a prefix
//! becomes a loop over rows, a suffix a loop of vectors, and no cell costs a division.

use smallvec::SmallVec;

#[derive(Copy, Clone, Debug, PartialEq)]
struct Run {
    count: usize,
    stride: usize,
}

/// A walk over a big table with the matching position in a small one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    /// The two innermost runs, where nearly all the time goes. `inner.stride` is 0, 1, or anything for a permutation.
    middle: Run,
    inner: Run,
    /// The others, outermost first.
    outer: SmallVec<[Run; 6]>,
}

impl Plan {
    /// From the dimensions of the big table, outermost first: (cardinality, stride in the small table).
    pub(crate) fn new(dimensions: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut runs: SmallVec<[Run; 6]> = SmallVec::new();
        for (count, stride) in dimensions {
            match runs.last_mut() {
                _ if count == 1 => {}
                Some(last) if last.stride == stride * count => {
                    *last = Run { count: last.count * count, stride };
                }
                _ => runs.push(Run { count, stride }),
            }
        }
        let inner = runs.pop().unwrap_or(Run { count: 1, stride: 1 });
        let middle = runs.pop().unwrap_or(Run { count: 1, stride: 0 });
        Plan { middle, inner, outer: runs }
    }

    /// `small` over `big`, both given by their (variable, cardinality) pairs, outermost first.
    pub(crate) fn between<V: PartialEq + Copy>(big: &[(V, usize)], small: &[(V, usize)]) -> Self {
        let stride = |v: V| {
            small
                .iter()
                .position(|&(w, _)| w == v)
                .map_or(0, |at| small[at + 1..].iter().map(|&(_, card)| card).product::<usize>())
        };
        Plan::new(big.iter().map(|&(v, card)| (card, stride(v))))
    }

    /// Calls `block(position in big, position in small)` for every block of the two inner runs.
    #[inline(always)]
    fn blocks(&self, mut block: impl FnMut(usize, usize)) {
        let size = self.middle.count * self.inner.count;
        let mut counter: SmallVec<[usize; 6]> = SmallVec::from_elem(0, self.outer.len());
        let (mut big, mut small) = (0, 0);
        loop {
            block(big, small);
            big += size;
            let mut d = self.outer.len();
            loop {
                if d == 0 {
                    return;
                }
                d -= 1;
                let run = self.outer[d];
                counter[d] += 1;
                small += run.stride;
                if counter[d] < run.count {
                    break;
                }
                small -= run.stride * run.count;
                counter[d] = 0;
            }
        }
    }

    /// `big[i] = f(big[i], small[j(i)])` for every cell.
    #[inline(always)]
    pub(crate) fn spread(&self, big: &mut [f64], small: &[f64], f: impl Fn(f64, f64) -> f64) {
        let Plan { middle, inner, .. } = *self;
        self.blocks(|at, from| {
            let rows = big[at..at + middle.count * inner.count].chunks_exact_mut(inner.count);
            match inner.stride {
                0 => {
                    for (m, row) in rows.enumerate() {
                        let value = small[from + m * middle.stride];
                        row.iter_mut().for_each(|cell| *cell = f(*cell, value));
                    }
                }
                1 => {
                    for (m, row) in rows.enumerate() {
                        let start = from + m * middle.stride;
                        let values = &small[start..start + inner.count];
                        row.iter_mut()
                            .zip(values)
                            .for_each(|(cell, &value)| *cell = f(*cell, value));
                    }
                }
                stride => {
                    for (m, row) in rows.enumerate() {
                        let values = small[from + m * middle.stride..].iter().step_by(stride);
                        row.iter_mut()
                            .zip(values)
                            .for_each(|(cell, &value)| *cell = f(*cell, value));
                    }
                }
            }
        });
    }

    /// `small[j(i)] = f(small[j(i)], big[i])` for every cell; `f` is associative, with the given neutral element.
    #[inline(always)]
    pub(crate) fn gather(
        &self,
        big: &[f64],
        small: &mut [f64],
        neutral: f64,
        f: impl Fn(f64, f64) -> f64 + Copy,
    ) {
        self.gather_map(big, small, neutral, f, |x, _| x, &[]);
    }

    /// As [`gather`](Self::gather), of `map(big[i], reference[j(i)])`; `reference` is a table like `small`, or empty.
    #[inline(always)]
    pub(crate) fn gather_map(
        &self,
        big: &[f64],
        small: &mut [f64],
        neutral: f64,
        f: impl Fn(f64, f64) -> f64 + Copy,
        map: impl Fn(f64, f64) -> f64 + Copy,
        reference: &[f64],
    ) {
        let Plan { middle, inner, .. } = *self;
        let with = !reference.is_empty();
        self.blocks(|at, to| {
            let rows = big[at..at + middle.count * inner.count].chunks_exact(inner.count);
            match inner.stride {
                0 => {
                    for (m, row) in rows.enumerate() {
                        let j = to + m * middle.stride;
                        let shift = if with { reference[j] } else { 0.0 };
                        small[j] = f(small[j], fold(row, neutral, f, |x| map(x, shift)));
                    }
                }
                1 if with => {
                    for (m, row) in rows.enumerate() {
                        let start = to + m * middle.stride;
                        let values = &mut small[start..start + inner.count];
                        let shifts = &reference[start..start + inner.count];
                        for ((value, &cell), &shift) in values.iter_mut().zip(row).zip(shifts) {
                            *value = f(*value, map(cell, shift));
                        }
                    }
                }
                1 => {
                    for (m, row) in rows.enumerate() {
                        let start = to + m * middle.stride;
                        let values = &mut small[start..start + inner.count];
                        for (value, &cell) in values.iter_mut().zip(row) {
                            *value = f(*value, map(cell, 0.0));
                        }
                    }
                }
                stride => {
                    for (m, row) in rows.enumerate() {
                        for (k, &cell) in row.iter().enumerate() {
                            let j = to + m * middle.stride + k * stride;
                            let shift = if with { reference[j] } else { 0.0 };
                            small[j] = f(small[j], map(cell, shift));
                        }
                    }
                }
            }
        });
    }
}

/// `f` over a row in eight lanes joined in a fixed order, so that it vectorises.
#[inline(always)]
fn fold(
    row: &[f64],
    neutral: f64,
    f: impl Fn(f64, f64) -> f64 + Copy,
    map: impl Fn(f64) -> f64 + Copy,
) -> f64 {
    if row.len() < 16 {
        return row.iter().fold(neutral, |sum, &x| f(sum, map(x)));
    }
    let (blocks, rest) = row.as_chunks::<8>();
    let mut lanes = [neutral; 8];
    for block in blocks {
        for l in 0..8 {
            lanes[l] = f(lanes[l], map(block[l]));
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = f(*lane, map(x));
    }
    let [a, b, c, d, e, g, h, i] = lanes;
    f(f(f(a, e), f(c, h)), f(f(b, g), f(d, i)))
}

/// The larger of two numbers that are not NaN; vectorises, unlike `f64::max`.
#[inline(always)]
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// The product of cardinalities, or `None` where it overflows.
pub(crate) fn cells(cards: impl IntoIterator<Item = usize>) -> Option<usize> {
    cards.into_iter().try_fold(1_usize, |product, card| product.checked_mul(card))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every subset of the dimensions 3, 1, 2, 4 in every rotation, against div and mod.
    #[test]
    fn walks_agree_with_division() {
        let big = [(0, 3), (1, 1), (2, 2), (3, 4)];
        let values: Vec<f64> = (0..24).map(f64::from).collect();
        for subset in 0..16_u32 {
            for rotation in 0..4 {
                let mut small: Vec<(u32, usize)> =
                    big.iter().copied().filter(|&(v, _)| subset >> v & 1 == 1).collect();
                let length = small.len().max(1);
                small.rotate_left(rotation % length);
                let size = small.iter().map(|s| s.1).product();
                let position = |cell: usize| {
                    let state = [cell / 8, 0, cell / 4 % 2, cell % 4];
                    small.iter().fold(0, |at, &(v, card)| at * card + state[v as usize])
                };
                let (mut sums, mut maxima) = (vec![0.0; size], vec![f64::NEG_INFINITY; size]);
                for cell in 0..24 {
                    sums[position(cell)] += values[cell];
                    maxima[position(cell)] = f64::max(maxima[position(cell)], values[cell]);
                }
                let plan = Plan::between(&big, &small);
                let mut found = vec![0.0; size];
                plan.gather(&values, &mut found, 0.0, |a, b| a + b);
                assert_eq!(found, sums);
                let mut found = vec![f64::NEG_INFINITY; size];
                plan.gather(&values, &mut found, f64::NEG_INFINITY, larger);
                assert_eq!(found, maxima);
                let mut copy = vec![0.0; 24];
                plan.spread(&mut copy, &sums, |_, s| s);
                assert!((0..24).all(|cell| copy[cell] == sums[position(cell)]));
            }
        }
    }

    #[test]
    fn long_rows_fold_completely() {
        let row: Vec<f64> = (0..37).map(f64::from).collect();
        assert_eq!(fold(&row, 0.0, |a, b| a + b, |x| x), 666.0);
        assert_eq!(fold(&row, f64::NEG_INFINITY, larger, |x| x), 36.0);
    }

    #[test]
    fn sizes_that_overflow_are_none() {
        assert_eq!(cells([1 << 40, 1 << 40]), None);
        assert_eq!(cells([]), Some(1));
    }
}
