//! The properties of a problem on which the choice of a method depends.

use fenchel_linalg::{Columns, Design};
use fenchel_optim::random::stream;
use fenchel_optim::{Loss, Regulariser};
use rand::RngExt;

use super::choice::{Method, Reason};
use crate::Problem;
use crate::methods::newton::{ROWS_PER_VARIABLE, row_bytes, row_costs, sample_rows};

/// Rows for each feature from which data counts as tall. On four tall data sets, at three levels of `beta`,
/// L-BFGS took 22 to 81, 53 to 178 and 98 to 405 passes, and Newton-CG 20 to 85, 30 to 149 and 34 to 144.
const TALL: f64 = 20.0;
/// Below this `beta` accelerated dual ascent is not considered, because Newton-CG took fewer passes.
pub(super) const BADLY_CONDITIONED: f64 = 0.005;

/// Rows with at most this many entries are taken for the indicators of a few categorical features, whose columns are nearly
/// orthogonal. Proximal Newton took 0.75 to 3.7 times as long as coordinate descent on eight such sets, 1.6 in the median, and 0.3 to
/// 1.2 times on text with 12 and 22 entries a row.
const INDICATORS: f64 = 5.0;

/// What a regulariser is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    /// With this l1, l2, both or neither.
    ElasticNet { l1: f64 },
    /// A sum over coordinates: bounds, weights of their own.
    Separable,
    /// One that ties the weights together.
    Joint,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) kind: Kind,
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
    /// Whether the derivative of the loss has a Lipschitz constant.
    pub(super) smooth: bool,
    /// Whether it has a second derivative, but no bound of it.
    pub(super) unbounded: bool,
    pub(super) quadratic: bool,
    pub(super) has_dual: bool,
    /// Whether Newton's methods take loss and regulariser.
    pub(super) newton: bool,
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
    pub(super) fn of<D: Design, L: Loss, R: Regulariser>(
        problem: &Problem<'_, D, L, R>,
        kind: Kind,
        relative: f64,
        max_memory: Option<u64>,
    ) -> Self {
        let (design, loss, n) = (problem.design(), problem.loss(), problem.n() as f64);
        let (elastic, l1) = match kind {
            Kind::ElasticNet { l1 } => (true, l1),
            _ => (false, 0.0),
        };
        let mu = problem.strong_convexity();
        let by_rows = row_bytes(design, mu).filter(|_| l1 == 0.0);
        let order = problem.d() as u64 + 1;
        let hessian = order.saturating_mul(order).saturating_mul(16);
        let bytes = if l1 > 0.0 { Columns::bytes(design) } else { by_rows.unwrap_or(hessian) };
        let (smooth, twice) = (loss.curvature().is_finite(), loss.twice_differentiable());
        let unbounded = twice && !smooth && L::HAS_DUAL;
        let mean = if unbounded {
            let at_rest = |i| problem.second(i, problem.conjugate_derivative(i, 0.0));
            (0..problem.n()).map(|i| at_rest(i) * problem.norm_squared(i)).sum::<f64>() / n
        } else {
            loss.curvature() * problem.mean_norm_squared()
        };
        Case {
            kind,
            l1,
            mu,
            beta: if mean > 0.0 { n * mu / mean } else { f64::INFINITY },
            n,
            d: problem.d() as f64,
            stored: design.stored().max(1) as f64,
            digits: if relative > 0.0 { -relative.log10() } else { 12.0 } / 6.0,
            smooth,
            unbounded,
            quadratic: loss.quadratic(),
            has_dual: L::HAS_DUAL,
            newton: twice && elastic,
            affordable: max_memory.is_none_or(|limit| bytes <= limit),
            by_rows: by_rows.map(|_| row_costs(design)),
            overlap: if by_rows.is_some() && !loss.quadratic() { overlap(problem) } else { 0.0 },
            drawn: sample_rows(problem.n(), problem.d() + 1, ROWS_PER_VARIABLE).map(|k| k / n),
        }
    }

    pub(super) fn joint(&self) -> bool {
        matches!(self.kind, Kind::Joint)
    }

    /// Neither l1 nor bounds, and second derivatives.
    pub(super) fn plain(&self) -> bool {
        self.newton && self.l1 == 0.0
    }

    /// With l1: whether proximal Newton comes before dual ascent. One Gram matrix serves a quadratic loss to the end.
    pub(super) fn by_working_sets(&self) -> bool {
        let steep = self.beta < 1.0 || self.quadratic || self.unbounded;
        self.newton && self.l1 > 0.0 && steep && (self.affordable || self.nothing_else())
    }

    /// Without a curvature bound or l2 proximal Newton is the only method: its refusal says how much memory it asks for.
    fn nothing_else(&self) -> bool {
        self.unbounded && !(self.mu > 0.0)
    }

    /// A quadratic loss with l1 on many indicator rows, where a Gram matrix of all features would be larger than the data: sweeps over
    /// the columns take the place of proximal Newton. Where they are too slow, Newton's model of the same columns is too, so that a dual
    /// method takes over.
    pub(super) fn by_columns(&self) -> bool {
        let indicators = self.tall() && self.stored <= INDICATORS * self.n;
        let gram = self.d * self.d;
        self.quadratic
            && self.by_working_sets()
            && self.affordable
            && indicators
            && gram > self.stored
    }

    /// Far more features than rows, with bounds or weights of their own.
    pub(super) fn few_rows(&self) -> bool {
        matches!(self.kind, Kind::Separable) && self.smooth && 10.0 * self.n < self.d
    }

    /// Far more rows than features.
    pub(super) fn tall(&self) -> bool {
        self.n >= TALL * self.d
    }

    /// A smooth loss on dense data with fewer rows than columns. Where such rows overlap little, a step along one dual variable leaves
    /// the others nearly where they are best, whatever `beta` says.
    pub(super) fn wide(&self) -> bool {
        self.plain() && self.smooth && !self.quadratic && self.by_rows.is_some()
    }

    /// Whether dual ascent can be accelerated.
    pub(super) fn accelerates(&self) -> bool {
        self.smooth && self.has_dual && !self.joint() && !self.few_rows() && !self.wide()
    }

    pub(super) fn badly_conditioned(&self) -> bool {
        self.mu > 0.0 && self.beta < BADLY_CONDITIONED
    }

    /// Why this method.
    pub(super) fn reason(&self, method: Method) -> Reason {
        match method {
            _ if self.joint() => Reason::JointRegulariser,
            Method::Fista => Reason::FewRows,
            Method::Saga => Reason::NoConjugate,
            _ if self.unbounded => Reason::UnboundedCurvature,
            Method::CoordinateDescent => Reason::Cost,
            Method::Sdca if self.smooth => Reason::FewRows,
            Method::Sdca => Reason::Kink,
            Method::Qning if self.mu == 0.0 => Reason::NotStronglyConvex,
            Method::Newton if self.l1 > 0.0 => Reason::SparseAndSteep,
            Method::Catalyst if !self.plain() => Reason::Dual,
            _ if self.badly_conditioned() => Reason::BadlyConditioned,
            _ => Reason::Cost,
        }
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
