//! The properties of a problem on which the choice of a method depends.

use fenchel_linalg::{Columns, Design};
use fenchel_optim::prox::L1;
use fenchel_optim::random::stream;
use fenchel_optim::{Loss, Refusal, Regulariser};
use rand::RngExt;

use super::choice::{Choice, Method, WELL_CONDITIONED};
use crate::methods::newton::{ROWS_PER_VARIABLE, row_bytes, row_costs, sample_rows};
use crate::{Error, Problem};

/// Below this `beta` accelerated dual ascent is not considered, because Newton-CG took fewer passes.
pub(super) const BADLY_CONDITIONED: f64 = 0.005;

/// At least so many rows a feature, of at most so many entries, are taken for the indicators of a few categorical features, whose columns
/// are nearly orthogonal. Proximal Newton took 0.6 to 0.75 times as long as coordinate descent with a tenth of the largest penalty on three
/// such sets, and 1.0 to 2.9 times with a hundredth on four.
const INDICATORS: (f64, f64) = (20.0, 5.0);

const FEW_ROWS: &str = "more features than rows";
const NO_CONJUGATE: &str = "the conjugate of the loss is not known";
const NOT_STRONGLY_CONVEX: &str = "no strong convexity";
const NO_BOUND: &str = "the loss has no curvature bound";
const TINY_L2: &str = "tiny strong convexity";

/// A problem with l1, l2, both or neither, and a loss with second derivatives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) l1: f64,
    pub(super) mu: f64,
    /// See the [module](super).
    pub(super) beta: f64,
    pub(super) n: f64,
    pub(super) d: f64,
    /// Entries that are stored, at least 1.
    pub(super) stored: f64,
    /// The digits that the tolerance asks for, over six.
    pub(super) digits: f64,
    /// Whether the derivative of the loss has no Lipschitz constant.
    pub(super) unbounded: bool,
    pub(super) quadratic: bool,
    pub(super) has_dual: bool,
    pub(super) dense: bool,
    /// Whether the matrix of Newton's method fits into the allowed memory.
    pub(super) affordable: bool,
    /// Where Newton's method solves `n x n` systems: the cost of its matrix, and of each step, in entries.
    pub(super) by_rows: Option<(f64, f64)>,
    /// See [`overlap`]; 0 where `by_rows` is `None`.
    pub(super) overlap: f64,
    /// The share of the rows that subsampled Newton draws; `None` where there are too few.
    pub(super) drawn: Option<f64>,
}

impl Case {
    pub(super) fn of<D: Design, L: Loss>(
        problem: &Problem<'_, D, L, L1>,
        relative: f64,
        max_memory: Option<u64>,
    ) -> Self {
        let (design, loss, n) = (problem.design(), problem.loss(), problem.n() as f64);
        let (l1, mu) = (problem.regulariser().strength, problem.strong_convexity());
        let by_rows = row_bytes(design, mu).filter(|_| l1 == 0.0);
        let order = problem.d() as u64 + 1;
        let hessian = order.saturating_mul(order).saturating_mul(16);
        let bytes = if l1 > 0.0 { Columns::bytes(design) } else { by_rows.unwrap_or(hessian) };
        Case {
            l1,
            mu,
            beta: conditioning(problem),
            n,
            d: problem.d() as f64,
            stored: design.stored().max(1) as f64,
            digits: if relative > 0.0 { -relative.log10() } else { 12.0 } / 6.0,
            unbounded: !loss.curvature().is_finite(),
            quadratic: loss.quadratic(),
            has_dual: L::HAS_DUAL,
            dense: D::DENSE,
            affordable: max_memory.is_none_or(|limit| bytes <= limit),
            by_rows: by_rows.map(|_| row_costs(design)),
            overlap: if by_rows.is_some() && !loss.quadratic() { overlap(problem) } else { 0.0 },
            drawn: sample_rows(problem.n(), problem.d() + 1, ROWS_PER_VARIABLE).map(|k| k / n),
        }
    }

    /// With l1: whether proximal Newton comes before dual ascent. One Gram matrix serves a quadratic loss to the end.
    pub(super) fn by_working_sets(&self) -> bool {
        let steep = self.beta < 1.0 || self.quadratic || self.unbounded;
        // Without a curvature bound or l2 it is the only method: its refusal says how much memory it asks for.
        let only = self.unbounded && !(self.mu > 0.0);
        self.l1 > 0.0 && steep && (self.affordable || only)
    }

    /// A quadratic loss with l1 on many indicator rows, where a Gram matrix of all features would be larger than the data: sweeps over
    /// the columns take the place of proximal Newton. Where they are too slow, Newton's model of the same columns is too, so that a dual
    /// method takes over.
    pub(super) fn by_columns(&self) -> bool {
        let (rows, entries) = INDICATORS;
        let indicators = self.n >= rows * self.d && self.stored <= entries * self.n;
        let large = self.d * self.d > self.stored;
        self.quadratic && self.by_working_sets() && self.affordable && indicators && large
    }

    /// A smooth loss on dense data with fewer rows than columns. Where such rows overlap little, a step along one dual variable leaves
    /// the others nearly where they are best, whatever `beta` says.
    pub(super) fn wide(&self) -> bool {
        self.by_rows.is_some() && !self.unbounded && !self.quadratic
    }

    /// Why this method, where it is not for the predictions alone.
    pub(super) fn reason(&self, method: Method) -> Option<&'static str> {
        Some(match method {
            _ if self.unbounded => NO_BOUND,
            Method::Sdca => FEW_ROWS,
            Method::Saga => NO_CONJUGATE,
            Method::Qning => NOT_STRONGLY_CONVEX,
            Method::Newton if self.l1 > 0.0 => {
                "l1, and a dual that is badly conditioned or a quadratic loss"
            }
            Method::Catalyst if self.l1 > 0.0 => WELL_CONDITIONED,
            _ if self.l1 == 0.0 && self.mu > 0.0 && self.beta < BADLY_CONDITIONED => TINY_L2,
            _ => return None,
        })
    }
}

/// See the [module](super).
pub(super) fn conditioning<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
) -> f64 {
    let (n, loss) = (problem.n(), problem.loss());
    let mean = if loss.twice_differentiable() && !loss.curvature().is_finite() && L::HAS_DUAL {
        let at_rest = |i| problem.second(i, problem.conjugate_derivative(i, 0.0));
        (0..n).map(|i| at_rest(i) * problem.norm_squared(i)).sum::<f64>() / n as f64
    } else {
        loss.curvature() * problem.mean_norm_squared()
    };
    if mean > 0.0 { n as f64 * problem.strong_convexity() / mean } else { f64::INFINITY }
}

impl Choice {
    /// For the methods that look at one term at a time, and FISTA: a regulariser that is a sum over coordinates, or a loss without second
    /// derivatives.
    ///
    /// # Errors
    /// [`Error::Refused`] without l2, for a loss with a kink or without a curvature bound.
    pub(super) fn by_terms<D: Design, L: Loss, R: Regulariser>(
        problem: &Problem<'_, D, L, R>,
    ) -> Result<Self, Error> {
        let (loss, mu, beta) = (problem.loss(), problem.strong_convexity(), conditioning(problem));
        let smooth = loss.curvature().is_finite();
        let (method, reason) = match () {
            () if smooth && 10 * problem.n() < problem.d() => (Method::Fista, FEW_ROWS),
            () if smooth && !L::HAS_DUAL => (Method::Saga, NO_CONJUGATE),
            () if smooth && mu == 0.0 => (Method::Qning, NOT_STRONGLY_CONVEX),
            () if smooth && beta < BADLY_CONDITIONED => (Method::Qning, TINY_L2),
            () if smooth => (Method::Catalyst, WELL_CONDITIONED),
            () if !(L::HAS_DUAL && mu > 0.0) => {
                return Err(Refusal::NeedsStrongConvexity { method: "auto" }.into());
            }
            () if loss.twice_differentiable() => (Method::Sdca, NO_BOUND),
            () => (Method::Sdca, "the loss has a kink"),
        };
        Ok(Choice { beta, ..Choice::only(method, reason) })
    }
}

/// Random pairs of rows from which the overlap is estimated. By judgement: they cost `64 d` entries, less than a pass of 64 rows.
const PAIRS: u64 = 32;

/// `n` times the mean squared cosine of two rows, estimated: how much of a row the others contain, 0 if all are orthogonal. At most `n`.
fn overlap<D: Design, L: Loss, R: Regulariser>(problem: &Problem<'_, D, L, R>) -> f64 {
    let (design, n) = (problem.design(), problem.n());
    let mut rng = stream(0, 0);
    let mut row = vec![0.0; problem.d()];
    let mut squared_cosine = || {
        let i = rng.random_range(0..n);
        let j = (i + rng.random_range(1..n.max(2))) % n;
        let norms = problem.norm_squared(i).sqrt() * problem.norm_squared(j).sqrt();
        row.fill(0.0);
        design.row_entries(i, |c, a| row[c] = a);
        let cosine = design.row_dot(j, &row) / norms;
        // Rows of zeros, and products out of range, count as parallel.
        (cosine * cosine).min(1.0)
    };
    let sum: f64 = (0..PAIRS).map(|_| squared_cosine()).sum();
    n as f64 * sum / PAIRS as f64
}
