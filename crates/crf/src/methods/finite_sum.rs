//! The likelihood as a finite sum, for the methods of `fenchel-finite-sum`.

use fenchel_finite_sum::general::FiniteSum;
use fenchel_graphical::chain::stride;

use crate::layout::Rows;
use crate::methods::radius::radius_upper;
use crate::problem::Problem;
use crate::sequences::Work;
use crate::terms::Terms;
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
    type Scratch = Option<Work>;

    fn scratch(&self) -> Option<Work> {
        self.problem.work().ok()
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
    fn gradient(
        &self,
        i: usize,
        x: &[f64],
        scratch: &mut Option<Work>,
        gradient: &mut [f64],
    ) -> f64 {
        gradient.fill(f64::NAN);
        let mut term = || {
            let work = scratch.as_mut()?;
            work.read(self.problem, x, i);
            self.problem.layout.write_transitions(x, &mut work.chain);
            work.write(self.problem.data().sequence(i).len())?;
            let value = work.loss(self.problem, i)?;
            work.features_of(self.problem, i);
            let (emissions, transitions) = gradient.split_at_mut(work.sums.len());
            emissions.copy_from_slice(&work.sums);
            transitions.copy_from_slice(&work.pairs);
            Some(value)
        };
        term().unwrap_or(f64::NAN)
    }

    /// An upper bound of the smoothness constant: the norm of the covariance of the features is at most their largest squared
    /// distance from the true features.
    fn smoothness(&self, i: usize) -> f64 {
        self.smoothness[i]
    }
}
