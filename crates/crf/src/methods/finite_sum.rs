//! The likelihood as a finite sum, for the methods of `fenchel-finite-sum`.

use fenchel_finite_sum::general::FiniteSum;
use fenchel_graphical::chain::{Chain, stride};

use crate::layout::Rows;
use crate::methods::radius::radius_upper;
use crate::problem::Problem;
use crate::weights::Weights;

/// The terms `f_i(w) = log Z_i(w) - s_w(x_i, y_i)` of a [`Problem`], one per sequence, as functions of the flat weights.
///
/// With this type `sgd`, `svrg` and `saga` of [`fenchel_finite_sum::general`] can train conditional random fields. They are
/// baselines, since the worst sequence determines their step size. A term depends on the weights of the attributes of its
/// sequence, of bias, begin and end, and of the transitions. The lists of these weights take 4 bytes per entry, and the table
/// of SAGA 8 more.
///
/// ```
/// use fenchel_crf::methods::CrfFiniteSum;
/// use fenchel_crf::{Dataset, Features, Problem, Token};
/// use fenchel_finite_sum::general::{Sum, SumSettings, svrg};
/// use fenchel_optim::Stop;
/// use fenchel_optim::prox::Zero;
///
/// let mut data = Dataset::new(2, 2);
/// for label in [0, 1] {
///     data.push(&[Token { attributes: &[(label, 1.0)], label }; 3])?;
/// }
/// let problem = Problem::new(&data, 0.5, Features::default())?;
/// let terms = CrfFiniteSum::new(&problem);
/// let sum = Sum::new(&terms, Zero, problem.l2())?;
/// let settings = SumSettings { stop: Stop::at_relative(1e-3), ..SumSettings::default() };
/// let solution = svrg(&sum, &settings, None, &mut ())?;
/// let weights = terms.weights(&solution.state.point);
/// assert!(weights.emission[[0, 0]] > 0.1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CrfFiniteSum<'p, 'a> {
    problem: &'p Problem<'a>,
    /// Coordinates of the terms, one term after another.
    supports: Vec<u32>,
    ends: Vec<usize>,
    smoothness: Vec<f64>,
}

/// The memory of one evaluation.
#[derive(Debug)]
pub struct Scratch {
    chain: Option<Chain>,
    rows: Rows,
    scores: Vec<f64>,
    nodes: Vec<f64>,
    pairs: Vec<f64>,
    dense_pairs: Vec<f64>,
    sums: Vec<f64>,
}

impl<'p, 'a> CrfFiniteSum<'p, 'a> {
    /// Lists the weights that each term depends on. O(total length of the lists).
    pub fn new(problem: &'p Problem<'a>) -> Self {
        let data = problem.data();
        let (labels, layout) = (data.labels(), &problem.layout);
        let (first, stride) = (layout.transitions(), stride(labels));
        // A problem has fewer than 2^32 weights.
        let transitions =
            (0..labels * labels).map(|p| (first + p / labels * stride + p % labels) as u32);
        let (mut supports, mut ends, mut rows) = (Vec::new(), vec![0], Rows::default());
        for sequence in data.iter() {
            layout.locate(&sequence, &mut rows);
            supports.extend(rows.ranges().flat_map(|range| range.start as u32..range.end as u32));
            supports.extend(transitions.clone());
            ends.push(supports.len());
        }
        let smoothness = (0..problem.n()).map(|i| radius_upper(data, i)).collect();
        CrfFiniteSum { problem, supports, ends, smoothness }
    }

    /// Converts flat weights to [`Weights`].
    ///
    /// # Panics
    /// If `x` has another length than [`dimension`](FiniteSum::dimension).
    pub fn weights(&self, x: &[f64]) -> Weights {
        assert_eq!(x.len(), self.dimension());
        self.problem.unpack(x)
    }
}

impl FiniteSum for CrfFiniteSum<'_, '_> {
    type Scratch = Scratch;

    fn scratch(&self) -> Scratch {
        let labels = self.problem.data().labels();
        Scratch {
            chain: Chain::shared(labels, 1).ok(),
            rows: Rows::default(),
            scores: Vec::new(),
            nodes: Vec::new(),
            pairs: vec![0.0; labels * stride(labels)],
            dense_pairs: Vec::new(),
            sums: Vec::new(),
        }
    }

    fn terms(&self) -> usize {
        self.problem.n()
    }

    fn dimension(&self) -> usize {
        self.problem.layout.dimension()
    }

    fn support(&self, i: usize) -> Option<&[u32]> {
        Some(&self.supports[self.ends[i]..self.ends[i + 1]])
    }

    /// NaN where a score overflows.
    fn gradient(&self, i: usize, x: &[f64], scratch: &mut Scratch, gradient: &mut [f64]) -> f64 {
        let data = self.problem.data();
        let (layout, labels, sequence) = (&self.problem.layout, data.labels(), data.sequence(i));
        let Scratch { chain, rows, scores, nodes, pairs, dense_pairs, sums } = scratch;
        gradient.fill(f64::NAN);
        let Some(chain) = chain else { return f64::NAN };
        layout.locate(&sequence, rows);
        layout.scores(x, &sequence, rows, scores);
        layout.write_transitions(x, chain);
        if chain.resize(sequence.len()).is_err() {
            return f64::NAN;
        }
        chain.padded_unary_mut().copy_from_slice(scores);
        chain.seal();
        nodes.resize(scores.len(), 0.0);
        pairs.fill(0.0);
        let Ok(log_z) = chain.expectations(nodes, pairs) else { return f64::NAN };
        let (y, stride) = (sequence.labels(), stride(labels));
        let mut truth = 0.0;
        for (t, &label) in y.iter().enumerate() {
            nodes[t * stride + label as usize] -= 1.0;
            truth += scores[t * stride + label as usize];
        }
        for pair in y.windows(2) {
            pairs[pair[0] as usize * stride + pair[1] as usize] -= 1.0;
            truth += chain.pairwise(0, pair[0] as usize)[pair[1] as usize];
        }
        layout.sums(nodes, &sequence, rows, sums);
        dense_pairs.clear();
        for row in pairs.chunks_exact(stride) {
            dense_pairs.extend_from_slice(&row[..labels]);
        }
        layout.mask_pairs(dense_pairs);
        let (emissions, transitions) = gradient.split_at_mut(sums.len());
        emissions.copy_from_slice(sums);
        transitions.copy_from_slice(dense_pairs);
        log_z - truth
    }

    /// An upper bound of the smoothness constant: the norm of the covariance of the features is at most their largest squared
    /// distance from the true features.
    fn smoothness(&self, i: usize) -> f64 {
        self.smoothness[i]
    }
}
