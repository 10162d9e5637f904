//! Loops over a big table and a small table whose variables are a subset of those of the big one.
//!
//! Both tables are row-major. A [`Plan`] visits the big table cell by cell. For every dimension it has the stride in the small
//! table, which is 0 if the small table does not have the variable. Adjacent dimensions with compatible strides are merged. So
//! a prefix becomes a loop over rows and a suffix a loop over vectors, and no cell needs a division.

use smallvec::SmallVec;

#[derive(Copy, Clone, Debug, PartialEq)]
struct Run {
    count: usize,
    stride: usize,
}

/// A loop over a big table that also gives the corresponding position in a small one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Plan {
    /// The innermost loops, which take nearly all the time. `inner.stride` is 0 or 1, or any number for a permutation.
    wide: Run,
    middle: Run,
    inner: Run,
    /// The others, outermost first.
    outer: SmallVec<[Run; 6]>,
}

impl Plan {
    /// A plan from the dimensions of the big table, outermost first. Each is a pair (cardinality, stride in the small table).
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
        let wide = runs.pop().unwrap_or(Run { count: 1, stride: 0 });
        Plan { wide, middle, inner, outer: runs }
    }

    /// The plan of `small` over `big`. Both are given by pairs (variable, cardinality), outermost first.
    pub(crate) fn between<V: PartialEq + Copy>(big: &[(V, usize)], small: &[(V, usize)]) -> Self {
        let stride = |v: V| {
            small
                .iter()
                .position(|&(w, _)| w == v)
                .map_or(0, |at| small[at + 1..].iter().map(|&(_, card)| card).product::<usize>())
        };
        Plan::new(big.iter().map(|&(v, card)| (card, stride(v))))
    }

    #[inline(always)]
    fn blocks(&self) -> Blocks<'_> {
        let counter = SmallVec::from_elem(0, self.outer.len());
        let size = self.middle.count * self.inner.count;
        Blocks { plan: self, size, counter, wide: 0, big: 0, small: 0, done: false }
    }

    /// Applies `big[i] = f(big[i], small[j(i)])` to every cell.
    #[inline(always)]
    pub(crate) fn spread(&self, big: &mut [f64], small: &[f64], f: impl Fn(f64, f64) -> f64) {
        // Short rows are unrolled.
        match self.inner.count {
            2 => self.spread_rows::<2>(big, small, f),
            3 => self.spread_rows::<3>(big, small, f),
            4 => self.spread_rows::<4>(big, small, f),
            _ => self.spread_rows::<0>(big, small, f),
        }
    }

    #[inline(always)]
    fn spread_rows<const N: usize>(
        &self,
        big: &mut [f64],
        small: &[f64],
        f: impl Fn(f64, f64) -> f64,
    ) {
        let Plan { middle, inner, .. } = *self;
        let width = if N > 0 { N } else { inner.count };
        let mut blocks = self.blocks();
        while let Some((at, from)) = blocks.step() {
            let block = &mut big[at..at + middle.count * width];
            match inner.stride {
                0 => {
                    for m in 0..middle.count {
                        let row = &mut block[m * width..][..width];
                        let value = small[from + m * middle.stride];
                        for k in 0..width {
                            row[k] = f(row[k], value);
                        }
                    }
                }
                1 => {
                    for m in 0..middle.count {
                        let row = &mut block[m * width..][..width];
                        let values = &small[from + m * middle.stride..][..width];
                        for k in 0..width {
                            row[k] = f(row[k], values[k]);
                        }
                    }
                }
                stride => {
                    for m in 0..middle.count {
                        let row = &mut block[m * width..][..width];
                        let values = &small[from + m * middle.stride..];
                        for k in 0..width {
                            row[k] = f(row[k], values[k * stride]);
                        }
                    }
                }
            }
        }
    }

    /// Applies `small[j(i)] = f(small[j(i)], big[i])` for every cell. `f` must be associative and have the given neutral
    /// element.
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

    /// Does the same as [`gather`](Self::gather) with `map(big[i], reference[j(i)])` in place of `big[i]`. `reference` has the
    /// shape of `small`, or is empty.
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
        match self.inner.count {
            2 => self.gather_rows::<2>(big, small, neutral, f, map, reference),
            3 => self.gather_rows::<3>(big, small, neutral, f, map, reference),
            4 => self.gather_rows::<4>(big, small, neutral, f, map, reference),
            _ => self.gather_rows::<0>(big, small, neutral, f, map, reference),
        }
    }

    #[inline(always)]
    fn gather_rows<const N: usize>(
        &self,
        big: &[f64],
        small: &mut [f64],
        neutral: f64,
        f: impl Fn(f64, f64) -> f64 + Copy,
        map: impl Fn(f64, f64) -> f64 + Copy,
        reference: &[f64],
    ) {
        let Plan { middle, inner, .. } = *self;
        let width = if N > 0 { N } else { inner.count };
        let with = !reference.is_empty();
        let mut blocks = self.blocks();
        while let Some((at, to)) = blocks.step() {
            let block = &big[at..at + middle.count * width];
            match inner.stride {
                0 => {
                    for m in 0..middle.count {
                        let row = &block[m * width..][..width];
                        let j = to + m * middle.stride;
                        let shift = if with { reference[j] } else { 0.0 };
                        small[j] = f(small[j], fold(row, neutral, f, map, shift));
                    }
                }
                1 if with => {
                    for m in 0..middle.count {
                        let row = &block[m * width..][..width];
                        let start = to + m * middle.stride;
                        let values = &mut small[start..][..width];
                        let shifts = &reference[start..][..width];
                        for k in 0..width {
                            values[k] = f(values[k], map(row[k], shifts[k]));
                        }
                    }
                }
                1 => {
                    for m in 0..middle.count {
                        let row = &block[m * width..][..width];
                        let values = &mut small[to + m * middle.stride..][..width];
                        for k in 0..width {
                            values[k] = f(values[k], map(row[k], 0.0));
                        }
                    }
                }
                stride => {
                    for m in 0..middle.count {
                        let row = &block[m * width..][..width];
                        let start = to + m * middle.stride;
                        for k in 0..width {
                            let j = start + k * stride;
                            let shift = if with { reference[j] } else { 0.0 };
                            small[j] = f(small[j], map(row[k], shift));
                        }
                    }
                }
            }
        }
    }
}

/// Positions of the blocks of the two inner runs.
struct Blocks<'a> {
    plan: &'a Plan,
    size: usize,
    /// A table with more loops than these does not fit into any memory, so that the counter never allocates.
    counter: SmallVec<[usize; 32]>,
    wide: usize,
    big: usize,
    small: usize,
    done: bool,
}

impl Blocks<'_> {
    /// The next position in the big and in the small table. It is not an `Iterator`, because it must be inlined.
    #[inline(always)]
    fn step(&mut self) -> Option<(usize, usize)> {
        if self.done {
            return None;
        }
        let found = (self.big, self.small + self.wide * self.plan.wide.stride);
        self.big += self.size;
        self.wide += 1;
        if self.wide == self.plan.wide.count {
            self.wide = 0;
            self.carry();
        }
        Some(found)
    }

    #[inline(always)]
    fn carry(&mut self) {
        for (run, count) in self.plan.outer.iter().zip(self.counter.iter_mut()).rev() {
            *count += 1;
            self.small += run.stride;
            if *count < run.count {
                return;
            }
            self.small -= run.stride * run.count;
            *count = 0;
        }
        self.done = true;
    }
}

/// Combines `map(x, shift)` over a row by `f`, in eight lanes that are joined in a fixed order, so that it vectorises.
#[inline(always)]
fn fold(
    row: &[f64],
    neutral: f64,
    f: impl Fn(f64, f64) -> f64 + Copy,
    map: impl Fn(f64, f64) -> f64 + Copy,
    shift: f64,
) -> f64 {
    if row.len() < 16 {
        let mut sum = neutral;
        for &x in row {
            sum = f(sum, map(x, shift));
        }
        return sum;
    }
    let (blocks, rest) = row.as_chunks::<8>();
    let mut lanes = [neutral; 8];
    for block in blocks {
        for l in 0..8 {
            lanes[l] = f(lanes[l], map(block[l], shift));
        }
    }
    for (l, &x) in rest.iter().enumerate() {
        lanes[l] = f(lanes[l], map(x, shift));
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
        assert_eq!(fold(&row, 0.0, |a, b| a + b, |x, _| x, 0.0), 666.0);
        assert_eq!(fold(&row, f64::NEG_INFINITY, larger, |x, _| x, 0.0), 36.0);
    }

    #[test]
    fn sizes_that_overflow_are_none() {
        assert_eq!(cells([1 << 40, 1 << 40]), None);
        assert_eq!(cells([]), Some(1));
    }
}
