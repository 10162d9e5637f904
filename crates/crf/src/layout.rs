//! The layout of the weights in one flat vector, and the sums over a sequence that read and write it.
//!
//! With all features a row of `W` has `stride(K)` numbers, which are zero beyond `K`. With the observed features only, it has
//! one number per label that occurs with the attribute. In text most attributes occur with one label, so that the vector is
//! many times shorter and stays in the cache. The transitions follow as `K` rows of `stride(K)`.

use fenchel_graphical::chain::{Chain, stride};
use fenchel_linalg::spread::Shards;
use fenchel_linalg::{Invalid, lanes};
use fenchel_optim::Refusal;

use crate::Error;
use crate::dataset::Dataset;
use crate::dataset::Sequence;
use crate::support::{Features, Support};
use crate::weights::Weights;

#[derive(Debug, Clone)]
pub(crate) struct Layout {
    labels: usize,
    attributes: usize,
    /// The start of the row of each attribute, then of the three rows for bias, begin and end, and the end of the last row.
    starts: Vec<u32>,
    /// The label of each number in a row; empty with all features.
    columns: Vec<u32>,
    /// 1 for a transition with a weight, 0 for one without and for the padding.
    allowed: Vec<f64>,
}

impl Layout {
    /// Of a data set, or of the data sets of all processes.
    pub(crate) fn new(
        data: &Dataset,
        features: Features,
        max_memory: Option<u64>,
        shards: Option<&Shards<'_>>,
    ) -> Result<Self, Error> {
        let (attributes, labels) = (data.attributes(), data.labels());
        let stride = stride(labels);
        let observed = features.states == Support::Observed;
        // The model has a weight for each pair; a training has a handful of vectors of those that are learnt.
        let pairs = |rows: usize| rows as u64 * stride as u64 * size_of::<f64>() as u64;
        let learnt = pairs(labels) + if observed { 0 } else { pairs(attributes + 3) };
        let hint = "leave out rare labels and attributes";
        let needed = pairs(attributes).saturating_add(learnt.saturating_mul(4));
        Refusal::check_memory("a conditional random field", needed, max_memory, hint)?;
        let mut seen: Vec<u64> = Vec::new();
        let mut allowed = vec![0.0; labels * stride];
        if observed {
            let mut note =
                |row: usize, label: u32| seen.push((row as u64) << 32 | u64::from(label));
            for sequence in data.iter() {
                let y = sequence.labels();
                for (t, &label) in y.iter().enumerate() {
                    sequence.attributes(t).for_each(|(id, _)| note(id as usize, label));
                    note(attributes, label);
                }
                note(attributes + 1, y[0]);
                note(attributes + 2, y[y.len() - 1]);
            }
            seen.sort_unstable();
            seen.dedup();
            if let Some(shards) = shards {
                seen = shards.communicator().gather_numbers(&seen).concat();
                seen.sort_unstable();
                seen.dedup();
            }
        }
        match features.transitions {
            Support::All => {
                allowed.chunks_exact_mut(stride).for_each(|row| row[..labels].fill(1.0));
            }
            Support::Observed => {
                for pair in data.iter().flat_map(|sequence| sequence.labels().windows(2)) {
                    allowed[pair[0] as usize * stride + pair[1] as usize] = 1.0;
                }
                if let Some(shards) = shards {
                    shards.largest(&mut allowed);
                }
            }
        }
        let used = |row: usize| match row.checked_sub(attributes) {
            None => true,
            Some(0) => features.bias,
            Some(_) => features.ends,
        };
        let mut starts = Vec::with_capacity(attributes + 4);
        let mut columns = Vec::new();
        let (mut end, mut next) = (0_u64, 0);
        starts.push(0);
        for row in 0..attributes + 3 {
            let first = next;
            while seen.get(next).is_some_and(|key| key >> 32 == row as u64) {
                next += 1;
            }
            if used(row) {
                columns.extend(seen[first..next].iter().map(|&key| key as u32));
                end += if observed { (next - first) as u64 } else { stride as u64 };
            }
            let Ok(end) = u32::try_from(end) else {
                let what = "more than 2^32 weights: weigh the observed features only, or drop rare attributes";
                return Err(Refusal::unsupported("a conditional random field", what).into());
            };
            starts.push(end);
        }
        Ok(Layout { labels, attributes, starts, columns, allowed })
    }

    /// Length of the flat vector.
    pub(crate) fn dimension(&self) -> usize {
        self.transitions() + self.allowed.len()
    }

    /// Where the transitions begin.
    pub(crate) fn transitions(&self) -> usize {
        self.starts[self.starts.len() - 1] as usize
    }

    /// Features that have a weight.
    pub(crate) fn features(&self) -> usize {
        let transitions = self.allowed.iter().filter(|allowed| **allowed > 0.0).count();
        let emissions = if self.columns.is_empty() {
            self.transitions() / stride(self.labels) * self.labels
        } else {
            self.columns.len()
        };
        emissions + transitions
    }

    pub(crate) fn row(&self, row: usize) -> std::ops::Range<usize> {
        self.starts[row] as usize..self.starts[row + 1] as usize
    }

    pub(crate) fn unpack(&self, w: &[f64]) -> Weights {
        let mut weights = Weights::zeros(self.attributes, self.labels);
        for (row, mut out) in weights.emission.outer_iter_mut().enumerate() {
            let range = self.row(row);
            if self.columns.is_empty() {
                out.iter_mut().zip(&w[range]).for_each(|(out, w)| *out = *w);
            } else {
                for (&column, &w) in self.columns[range.clone()].iter().zip(&w[range]) {
                    out[column as usize] = w;
                }
            }
        }
        let rows = w[self.transitions()..].chunks_exact(stride(self.labels));
        for (mut out, row) in weights.transition.outer_iter_mut().zip(rows) {
            out.iter_mut().zip(row).for_each(|(out, w)| *out = *w);
        }
        weights
    }

    /// The flat form of `weights`. Weights without a place are left out.
    pub(crate) fn pack(&self, weights: &Weights) -> Result<Vec<f64>, Error> {
        weights.check()?;
        Invalid::check_length("weights of attributes", self.attributes, weights.attributes())?;
        Invalid::check_length("labels of the weights", self.labels, weights.labels())?;
        let mut w = vec![0.0; self.dimension()];
        for (row, from) in weights.emission.outer_iter().enumerate() {
            let range = self.row(row);
            if self.columns.is_empty() {
                w[range].iter_mut().zip(from).for_each(|(w, from)| *w = *from);
            } else {
                for (&column, w) in self.columns[range.clone()].iter().zip(&mut w[range]) {
                    *w = from[column as usize];
                }
            }
        }
        let first = self.transitions();
        let stride = stride(self.labels);
        for (from, j) in weights.transition.outer_iter().zip(0..) {
            let row = first + j * stride..first + j * stride + self.labels;
            let allowed = &self.allowed[j * stride..];
            w[row].iter_mut().zip(from).zip(allowed).for_each(|((w, from), a)| *w = a * from);
        }
        Ok(w)
    }

    /// Writes the transition scores of `w` into a chain.
    pub(crate) fn write_transitions(&self, w: &[f64], chain: &mut Chain) {
        let rows = w[self.transitions()..].chunks_exact(stride(self.labels));
        for (from, row) in rows.enumerate() {
            chain.pairwise_mut(0, from).copy_from_slice(&row[..self.labels]);
        }
    }

    /// Finds the rows of the attributes of a sequence, and the three rows after them.
    #[inline(always)]
    pub(crate) fn locate(&self, sequence: &Sequence<'_>, rows: &mut Rows) {
        rows.starts.clear();
        rows.offsets.clear();
        let mut offset = 0;
        let mut add = |row: usize| {
            let (start, end) = (self.starts[row], self.starts[row + 1]);
            rows.starts.push(start);
            rows.offsets.push(offset);
            offset += end - start;
        };
        sequence.distinct().iter().for_each(|&id| add(id as usize));
        (self.attributes..self.attributes + 3).for_each(add);
        rows.offsets.push(offset);
    }

    /// Computes `scores_t = sum_a x_ta W(a, .)`, in rows of `stride` with zeros in the padding.
    pub(crate) fn scores(
        &self,
        w: &[f64],
        sequence: &Sequence<'_>,
        rows: &Rows,
        scores: &mut Vec<f64>,
    ) {
        let stride = stride(self.labels);
        scores.clear();
        scores.resize(sequence.len() * stride, 0.0);
        lanes::run(Scores { layout: self, w, sequence, rows, scores, stride });
    }

    /// Computes `sums = sum_t x_t nodes_t'` in the layout of [`Rows`], for rows `nodes_t` of `stride`.
    pub(crate) fn sums(
        &self,
        nodes: &[f64],
        sequence: &Sequence<'_>,
        rows: &Rows,
        sums: &mut Vec<f64>,
    ) {
        sums.clear();
        sums.resize(rows.len(), 0.0);
        lanes::run(Sums { layout: self, nodes, sequence, rows, sums, stride: stride(self.labels) });
    }

    /// Adds `scale * sums` to `w`, with `sums` in the layout of [`Rows`].
    pub(crate) fn scatter(&self, scale: f64, rows: &Rows, sums: &[f64], w: &mut [f64]) {
        lanes::dispatch(|| {
            for (&start, ends) in rows.starts.iter().zip(rows.offsets.windows(2)) {
                let sums = &sums[ends[0] as usize..ends[1] as usize];
                let w = &mut w[start as usize..][..sums.len()];
                w.iter_mut().zip(sums).for_each(|(w, sum)| *w += scale * sum);
            }
        });
    }

    /// The inner product `<w, sums>`, with `sums` in the layout of [`Rows`].
    pub(crate) fn dot(&self, rows: &Rows, sums: &[f64], w: &[f64]) -> f64 {
        let mut total = 0.0;
        for (&start, ends) in rows.starts.iter().zip(rows.offsets.windows(2)) {
            let sums = &sums[ends[0] as usize..ends[1] as usize];
            let w = &w[start as usize..][..sums.len()];
            total += w.iter().zip(sums).map(|(w, sum)| w * sum).sum::<f64>();
        }
        total
    }

    /// `<w, pairs>` on the transitions; `pairs` has `K x K` entries.
    pub(crate) fn dot_pairs(&self, pairs: &[f64], w: &[f64]) -> f64 {
        let rows = w[self.transitions()..].chunks_exact(stride(self.labels));
        rows.zip(pairs.chunks_exact(self.labels)).map(|(w, pairs)| lanes::dot(w, pairs)).sum()
    }

    /// Appends the `K x K` transitions of `w` to `out`.
    pub(crate) fn extend_with_transitions(&self, w: &[f64], out: &mut Vec<f64>) {
        let rows = w[self.transitions()..].chunks_exact(stride(self.labels));
        rows.for_each(|row| out.extend_from_slice(&row[..self.labels]));
    }

    /// Sets sums over transitions without a weight to 0; `pairs` has `K x K` entries.
    pub(crate) fn mask_pairs(&self, pairs: &mut [f64]) {
        let stride = stride(self.labels);
        let rows = pairs.chunks_exact_mut(self.labels).zip(self.allowed.chunks_exact(stride));
        for (pairs, allowed) in rows {
            pairs.iter_mut().zip(allowed).for_each(|(pair, allowed)| *pair *= allowed);
        }
    }

    /// `w += scale * pairs` on the transitions; `pairs` has `K x K` entries and is masked.
    pub(crate) fn scatter_pairs(&self, scale: f64, pairs: &[f64], w: &mut [f64]) {
        let first = self.transitions();
        let rows = w[first..].chunks_exact_mut(stride(self.labels));
        for (w, pairs) in rows.zip(pairs.chunks_exact(self.labels)) {
            w.iter_mut().zip(pairs).for_each(|(w, pair)| *w += scale * pair);
        }
    }
}

/// `out += value * row` over padded rows.
#[inline(always)]
pub(crate) fn add(value: f64, row: &[f64], out: &mut [f64]) {
    for (out, row) in out.as_chunks_mut::<8>().0.iter_mut().zip(row.as_chunks::<8>().0) {
        for l in 0..8 {
            out[l] += value * row[l];
        }
    }
}

/// [`Layout::scores`] as a kernel.
struct Scores<'a> {
    layout: &'a Layout,
    w: &'a [f64],
    sequence: &'a Sequence<'a>,
    rows: &'a Rows,
    scores: &'a mut [f64],
    stride: usize,
}

impl lanes::Kernel for Scores<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let columns = &self.layout.columns;
        for (t, scores) in self.scores.chunks_exact_mut(self.stride).enumerate() {
            self.rows.each(self.sequence, t, &mut ToScores { w: self.w, columns, scores });
        }
    }
}

/// [`Layout::sums`] as a kernel.
struct Sums<'a> {
    layout: &'a Layout,
    nodes: &'a [f64],
    sequence: &'a Sequence<'a>,
    rows: &'a Rows,
    sums: &'a mut [f64],
    stride: usize,
}

impl lanes::Kernel for Sums<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let columns = &self.layout.columns;
        for (t, node) in self.nodes.chunks_exact(self.stride).enumerate() {
            self.rows.each(self.sequence, t, &mut ToSums { node, columns, sums: self.sums });
        }
    }
}

/// The operation on each row that a token has. It is a trait and not a closure, to make sure that it is inlined.
trait Visit {
    /// The row from `start` in the flat vector has the entries `from..to` in the vector of the sequence's rows.
    fn visit(&mut self, start: usize, from: usize, to: usize, value: f64);
}

struct ToScores<'a> {
    w: &'a [f64],
    columns: &'a [u32],
    scores: &'a mut [f64],
}

impl Visit for ToScores<'_> {
    #[inline(always)]
    fn visit(&mut self, start: usize, from: usize, to: usize, value: f64) {
        let w = &self.w[start..start + (to - from)];
        if self.columns.is_empty() {
            add(value, w, self.scores);
        } else {
            let columns = &self.columns[start..start + w.len()];
            for c in 0..w.len() {
                self.scores[columns[c] as usize] += value * w[c];
            }
        }
    }
}

struct ToSums<'a> {
    node: &'a [f64],
    columns: &'a [u32],
    sums: &'a mut [f64],
}

impl Visit for ToSums<'_> {
    #[inline(always)]
    fn visit(&mut self, start: usize, from: usize, to: usize, value: f64) {
        let sums = &mut self.sums[from..to];
        if self.columns.is_empty() {
            add(value, self.node, sums);
        } else {
            let columns = &self.columns[start..start + sums.len()];
            for c in 0..sums.len() {
                sums[c] += value * self.node[columns[c] as usize];
            }
        }
    }
}

/// The rows that a sequence uses: those of its distinct attributes, then bias, begin and end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rows {
    /// The start of each row in the flat vector.
    starts: Vec<u32>,
    /// The start of each row in a vector of these rows only, and the end of the last.
    offsets: Vec<u32>,
}

impl Rows {
    /// The range of each row in the flat vector.
    pub(crate) fn ranges(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        self.starts.iter().zip(self.offsets.windows(2)).map(|(&start, ends)| {
            let start = start as usize;
            start..start + (ends[1] - ends[0]) as usize
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.last().map_or(0, |&end| end as usize)
    }

    /// Visits each row that token `t` has.
    #[inline(always)]
    fn each(&self, sequence: &Sequence<'_>, t: usize, visitor: &mut impl Visit) {
        let bias = self.starts.len() - 3;
        self.visit(bias, 1.0, visitor);
        if t == 0 {
            self.visit(bias + 1, 1.0, visitor);
        }
        if t + 1 == sequence.len() {
            self.visit(bias + 2, 1.0, visitor);
        }
        let (places, values) = sequence.entries(t);
        for e in 0..places.len() {
            let value = if values.is_empty() { 1.0 } else { values[e] };
            self.visit(places[e] as usize, value, visitor);
        }
    }

    #[inline(always)]
    fn visit(&self, place: usize, value: f64, visitor: &mut impl Visit) {
        let (from, to) = (self.offsets[place] as usize, self.offsets[place + 1] as usize);
        visitor.visit(self.starts[place] as usize, from, to, value);
    }
}
