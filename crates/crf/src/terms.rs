//! What training asks of the models of a data set. Chains and junction trees answer it.
//!
//! The objective is `P(w) = l2/2 norm(w)^2 + 1/n sum_i [log Z_i(w) - <w, F(x_i, y_i)>]`, over flat weights `w`.
//!
//! | trait | of | for |
//! |---|---|---|
//! | [`Terms`] | the terms of `P` | batch methods: log-partition functions and expected features |
//! | [`Oracle`] | the blocks of the dual, one distribution `m_i` per term | dual ascent: marginals and directions |
//! | [`Marginals`] | one `m_i` | the line search: its entropy along a segment |
//!
//! The memory of one thread is `Terms::Work`. It also has what the last call computed: [`Oracle::direction`] leaves the
//! features `F d` there, and the functions after it read them. All functions are generic and are compiled once per model.

use std::ops::Range;

use fenchel_graphical::chain::LineTerms;
use fenchel_linalg::spread::Shards;
use fenchel_linalg::vectors::dot;
use fenchel_optim::Certificate;

use crate::Error;

/// The part of a problem that does not depend on the shape of its models.
#[derive(Debug, Clone)]
pub struct Common {
    /// Number of terms, of all processes.
    pub n: usize,
    /// Weight of the squared norm.
    pub l2: f64,
    /// `sum_i F(x_i, y_i)`
    pub counts: Vec<f64>,
}

impl Common {
    /// `l2/2 norm(w)^2`
    pub(crate) fn penalty(&self, w: &[f64]) -> f64 {
        0.5 * self.l2 * dot(w, w)
    }

    /// `P(w)`, from the sum of the log-partition functions.
    pub(crate) fn objective(&self, w: &[f64], log_partitions: f64) -> f64 {
        let scores = dot(w, &self.counts);
        (log_partitions - scores) / self.n as f64 + self.penalty(w)
    }

    /// The gap between an objective at `w` and a lower bound, with an allowance for the rounding of the objective: it is a difference
    /// of log-partition functions and scores. The scores are those of the features of all terms together, which is what they are
    /// made of unless features of both signs cancel. O(d).
    pub(crate) fn gap(&self, w: &[f64], objective: f64, lower_bound: f64) -> Certificate {
        // Scaled before they are multiplied, so that none overflows where the objective does not.
        let unit = 256.0 * f64::EPSILON;
        let share = 2.0 * unit / self.n as f64;
        let score = |(w, count): (&f64, &f64)| (share * w * count).abs();
        let scores: f64 = w.iter().zip(&self.counts).map(score).sum();
        Certificate::gap_within(objective, lower_bound, unit * objective.abs() + scores)
    }

    /// `1 + R / (curvature n)` of a block of the squared radius `R`; `curvature` is `l2`, or `l2 + kappa` with a proximal term.
    pub(crate) fn condition(&self, curvature: f64, radius: f64) -> f64 {
        1.0 + 1.0 / (curvature * self.n as f64) * radius
    }
}

/// The terms `log Z_i(w) - <w, F(x_i, y_i)>` of a likelihood.
pub trait Terms: Sync {
    /// The memory of one thread.
    type Work: Send;

    /// What does not depend on the models.
    fn common(&self) -> &Common;

    /// Memory for a thread.
    fn work(&self) -> Result<Self::Work, Error>;

    /// The shards of terms of which others lie with other processes; `None` where all terms are here.
    fn shards(&self) -> Option<&Shards<'_>> {
        None
    }

    /// The objective `P(0)`, at which all labellings are equally likely.
    fn uniform_objective(&self) -> f64;

    /// An estimate of the squared radius `R_i = max_y norm(F(x_i, y_i) - F(x_i, y))^2`, for sampling.
    fn radius(&self, i: usize) -> f64;

    /// An upper bound of `R_i`.
    fn radius_bound(&self, i: usize) -> f64;

    /// Begins a sum over terms, at the weights `w` if they are needed.
    fn begin(&self, w: Option<&[f64]>, work: &mut Self::Work);

    /// `log Z_i(w)` at the weights of [`begin`](Self::begin); `None` if a score overflows.
    fn log_partition(&self, w: &[f64], work: &mut Self::Work, i: usize) -> Option<f64>;

    /// Adds the expected features `E_p F(x_i, .)` to `counts`, or leaves a part of them to [`finish`](Self::finish). Returns
    /// `log Z_i(w)`.
    fn add_model(
        &self,
        w: &[f64],
        work: &mut Self::Work,
        i: usize,
        counts: &mut [f64],
    ) -> Option<f64>;

    /// Adds what the terms left.
    fn finish(&self, work: &mut Self::Work, counts: &mut [f64]);

    /// `F d` on the coordinates that block `i` uses, in two pieces.
    fn features<'w>(&self, work: &'w Self::Work) -> (&'w [f64], &'w [f64]);

    /// Appends the numbers of `w` on these coordinates.
    fn gather(&self, work: &Self::Work, i: usize, w: &[f64], out: &mut Vec<f64>);

    /// `w += scale F d`
    fn scatter(&self, work: &Self::Work, i: usize, scale: f64, w: &mut [f64]);

    /// `<w, F d>`
    fn dot(&self, work: &Self::Work, i: usize, w: &[f64]) -> f64;

    /// Ranges of `w` that contain these coordinates.
    fn ranges(&self, work: &Self::Work, i: usize) -> impl Iterator<Item = Range<usize>>;
}

/// The blocks of the dual. The variables of block `i` are marginals `m_i` of the type `M`.
pub trait Oracle<M>: Terms {
    /// Writes the marginals `p` of the model at `w`. Returns `log Z_i(w)`; `None` if a score overflows. One oracle call.
    fn infer(&self, w: &[f64], work: &mut Self::Work, i: usize, p: &mut M) -> Option<f64>;

    /// `<w, E_m F(x_i, .)>` at the weights of the last [`infer`](Self::infer).
    fn expected_score(&self, work: &mut Self::Work, i: usize, m: &M) -> f64;

    /// Computes `F d` for `d = p - m`. Returns `<w, F d>` at the weights of the last [`infer`](Self::infer), and `norm(F d)^2`.
    fn direction(&self, work: &mut Self::Work, i: usize, m: &M, p: &M) -> (f64, f64);

    /// Adds `E_m F(x_i, .)` to `counts`, as [`Terms::add_model`] does. `agree`: of marginals that agree with each other
    /// exactly; `None` if there are none.
    fn add_marginals(
        &self,
        work: &mut Self::Work,
        i: usize,
        m: &M,
        agree: bool,
        counts: &mut [f64],
    ) -> Option<()>;
}

/// The marginals of a distribution over labellings.
pub trait Marginals: Default + Send + Sync {
    /// Whether they are stored with less accuracy than `f64`, so that they contradict each other.
    const ROUNDED: bool;

    /// The entropy in nats. `agree`: that of marginals that agree with each other exactly.
    fn entropy(&self, agree: bool) -> f64;

    /// The entropy and its derivatives at `(1 - step) self + step target`.
    fn line_terms(&self, target: &Self, step: f64) -> LineTerms;

    /// Replaces `self` by `(1 - step) self + step target`.
    fn mix(&mut self, target: &Self, step: f64);
}
