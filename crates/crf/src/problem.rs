//! The regularised likelihood of a data set of sequences.

use std::ops::Range;

use fenchel_linalg::Invalid;
use fenchel_linalg::spread::Shards;
use fenchel_optim::MAX_MEMORY;

use crate::Error;
use crate::dataset::Dataset;
use crate::layout::Layout;
use crate::support::Features;
use crate::terms::Common;
use crate::weights::Weights;

/// The training problem `P(w) = l2/2 norm(w)^2 + 1/n sum_i [log Z_i(w) - s_w(x_i, y_i)]`, a mean over *sequences*. Here
/// `s_w(x, y) = <w, F(x, y)>` is the score of a labelling with the features `F`, and `Z_i` is the partition function of
/// sequence `i`.
///
/// The variables of the dual are marginals `m`, with the weights `w(m) = 1/(l2 n) sum_i [F(x_i, y_i) - E_m F(x_i, .)]`. The
/// dual objective is `D(m) = -l2/2 norm(w(m))^2 + 1/n sum_i H(m_i)`, and `P(w) >= D(m)` for all `w` and `m`. All weights are
/// regularised, biases and transitions included.
///
/// CRFsuite adds its penalty to the *sum* of the terms instead of the mean: its parameter is `c2 = n l2 / 2`.
///
/// Source: R. Le Priol, A. Piche, S. Lacoste-Julien, "Adaptive stochastic dual coordinate ascent for conditional random
/// fields" (2018), equations (1) to (4).
#[derive(Debug, Clone)]
pub struct Problem<'a> {
    data: &'a Dataset,
    features: Features,
    pub(crate) layout: Layout,
    pub(crate) common: Common,
    /// Of sequences that are some of all.
    pub(crate) shards: Option<&'a Shards<'a>>,
}

impl<'a> Problem<'a> {
    /// A problem with `l2 > 0`; Le Priol et al. use `1 / n`. O(entries log entries).
    ///
    /// # Errors
    /// [`Error::Invalid`] for no sequences, fewer than 2 labels or `l2` out of range; [`Error::Refused`] beyond 2^32 weights,
    /// and for weights of more than [`MAX_MEMORY`].
    pub fn new(data: &'a Dataset, l2: f64, features: Features) -> Result<Self, Error> {
        Problem::within(data, l2, features, MAX_MEMORY)
    }

    /// As [`new`](Problem::new), for weights of at most `max_memory` bytes: a table of all attributes and labels, and a handful
    /// of vectors of those that are learnt. `None` is no limit.
    ///
    /// # Errors
    /// As [`new`](Problem::new), with this limit.
    pub fn within(
        data: &'a Dataset,
        l2: f64,
        features: Features,
        max_memory: Option<u64>,
    ) -> Result<Self, Error> {
        Problem::of(data, (l2, features, max_memory), None)
    }

    /// The same for sequences that are these shards of those of all processes.
    pub(crate) fn of(
        data: &'a Dataset,
        (l2, features, max_memory): (f64, Features, Option<u64>),
        shards: Option<&'a Shards<'a>>,
    ) -> Result<Self, Error> {
        Invalid::check_positive("l2", l2)?;
        if shards.is_none() && data.sequences() == 0 {
            return Err(Invalid::Empty { what: "data set" }.into());
        }
        if data.labels() < 2 {
            let (value, expected) = (data.labels() as f64, "at least 2");
            return Err(Invalid::Parameter { name: "number of labels", value, expected }.into());
        }
        let layout = Layout::new(data, features, max_memory, shards)?;
        let n = shards.map_or(data.sequences(), Shards::all_rows);
        let common = Common { n, l2, counts: Vec::new() };
        let mut problem = Problem { data, features, layout, common, shards };
        problem.common.counts = problem.observed_counts();
        Ok(problem)
    }

    /// A problem with the regularisation of CRFsuite's `c2`: `l2 = 2 c2 / n`.
    ///
    /// # Errors
    /// Those of [`new`](Problem::new).
    pub fn with_c2(data: &'a Dataset, c2: f64, features: Features) -> Result<Self, Error> {
        Invalid::check_positive("c2", c2)?;
        Problem::new(data, 2.0 * c2 / data.sequences().max(1) as f64, features)
    }

    /// The data.
    pub fn data(&self) -> &'a Dataset {
        self.data
    }

    /// Weight of the squared norm.
    pub fn l2(&self) -> f64 {
        self.common.l2
    }

    /// Which features have a weight.
    pub fn features(&self) -> Features {
        self.features
    }

    /// Number of sequences.
    pub fn n(&self) -> usize {
        self.common.n
    }

    /// Number of weights.
    pub fn weights(&self) -> usize {
        self.layout.features()
    }

    /// Flat weights with names.
    pub(crate) fn unpack(&self, w: &[f64]) -> Weights {
        self.layout.unpack(w)
    }

    fn observed_counts(&self) -> Vec<f64> {
        let Some(shards) = self.shards else { return self.observed_in(0..self.data.sequences()) };
        let mut counts = vec![0.0; self.layout.dimension()];
        shards.sum(&mut counts, &|_, range, sum| {
            sum.copy_from_slice(&self.observed_in(range));
            0.0
        });
        counts
    }

    /// `sum_i F(x_i, y_i)` over some sequences.
    fn observed_in(&self, range: Range<usize>) -> Vec<f64> {
        let stride = fenchel_graphical::chain::stride(self.data.labels());
        let labels = self.data.labels();
        let mut counts = vec![0.0; self.layout.dimension()];
        let mut rows = Default::default();
        let (mut nodes, mut sums) = (Vec::new(), Vec::new());
        let mut pairs = vec![0.0; labels * labels];
        for sequence in range.map(|i| self.data.sequence(i)) {
            nodes.clear();
            nodes.resize(sequence.len() * stride, 0.0);
            let y = sequence.labels();
            for (t, &label) in y.iter().enumerate() {
                nodes[t * stride + label as usize] = 1.0;
            }
            for pair in y.windows(2) {
                pairs[pair[0] as usize * labels + pair[1] as usize] += 1.0;
            }
            self.layout.locate(&sequence, &mut rows);
            self.layout.sums(&nodes, &sequence, &rows, &mut sums);
            self.layout.scatter(1.0, &rows, &sums, &mut counts);
        }
        self.layout.mask_pairs(&mut pairs);
        self.layout.scatter_pairs(1.0, &pairs, &mut counts);
        counts
    }
}
