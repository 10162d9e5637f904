//! Which term a method looks at next.

use fenchel_linalg::Design;
use fenchel_optim::random::{Order, Visits};
use fenchel_optim::{Loss, Refusal, Regulariser};
use serde::{Deserialize, Serialize};

use crate::{Error, Problem};

/// What a draw leaves of the score of the term that was drawn: the `m = 10` of Csiba, Qu and Richtarik's AdaSDCA+.
const FADE: f64 = 0.1;

/// Which term of the sum a method looks at next: in an [`Order`] that knows nothing of the terms, or drawn by what they are.
///
/// | way | probability of term `i` | for | source |
/// |---|---|---|---|
/// | `Order` | as in [`Order`] | all | |
/// | `Mixed` | `1/(2n) + L_i / (2 n Lbar)` | [`saga`](crate::saga()), [`svrg`](crate::svrg()) | |
/// | `Lipschitz` | `L_i / (n Lbar)` | [`svrg`](crate::svrg()): the table of SAGA would go stale where `L_i` is small | Xiao and Zhang (2014) |
/// | `Lipschitz` | `c_i`, see [`importance_order`](crate::importance_order) | dual methods | Zhao and Zhang (2015) |
/// | `Residual`, `Gap`, `LipschitzGap` | adaptive, below | dual methods | |
///
/// `L_i` is the smoothness of a term ([`term_smoothness`](Problem::term_smoothness)), `Lbar` the mean. Where a few rows are much
/// longer than the others, draws that do not know it force steps of `1 / max L_i` on all.
///
/// The adaptive ways give every term a score and draw by it. Scores are computed before every pass, all at once, which is
/// counted as half a pass; a term that was drawn keeps a tenth of its score until then (AdaSDCA+ of Csiba, Qu and
/// Richtarik). With the point `x` that belongs to the dual variables and `c_i = 1 + L_i / (n mu)`:
///
/// | way | probability of term `i` | source |
/// |---|---|---|
/// | `Residual` | `d_i sqrt(c_i / gamma_i)`, `d_i = \|phi_i'(a_i.x) - s_i\|` and `gamma_i` the curvature of the loss, times its weight | Csiba, Qu and Richtarik (2015) |
/// | `Gap` | `g_i = phi_i(a_i.x) + phi_i*(s_i) - s_i a_i.x`, of which the duality gap is the mean | Le Priol, Piche and Lacoste-Julien (2018), theorem 4 |
/// | `LipschitzGap` | `g_i c_i` | the same, theorem 5 |
///
/// `Gap` suits losses with a kink: most dual variables end at a bound, with no gap, and are not looked at, as by the shrinking of
/// other solvers. With the hinge and `l2` = 1/n, 0.1/n it took 8 and 39 passes to a relative gap of 1e-4 on the census data
/// (adult), 18 and 44 on web pages (w8a), where the permuted order took 38 and 300, 34 and 258. With smooth losses the adaptive ways
/// took from a quarter of the passes of the permuted order (squared hinge, w8a) to half as many again (logistic, adult). All but `Order` and `Gap` need a
/// smooth loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Sampling {
    /// In a given order.
    Order(Order),
    /// Half uniform, half by the Lipschitz constants of the terms.
    Mixed,
    /// By the Lipschitz constants of the terms: where rows are of very different length.
    Lipschitz,
    /// By the dual residues: AdaSDCA.
    Residual,
    /// By the gaps of the terms.
    Gap,
    /// By the gaps of the terms and their Lipschitz constants.
    LipschitzGap,
}

impl Default for Sampling {
    fn default() -> Self {
        Sampling::Order(Order::Permuted)
    }
}

impl From<Order> for Sampling {
    fn from(order: Order) -> Self {
        Sampling::Order(order)
    }
}

impl Sampling {
    /// What a dual method takes: only an order and the gaps do without a Lipschitz constant.
    pub(crate) fn check_dual<D: Design, L: Loss, R: Regulariser>(
        &self,
        method: &'static str,
        problem: &Problem<'_, D, L, R>,
    ) -> Result<(), Error> {
        if *self == Sampling::Mixed {
            let what = "mixed sampling; use Sampling::Lipschitz";
            return Err(Refusal::unsupported(method, what).into());
        }
        if matches!(self, Sampling::Order(_) | Sampling::Gap)
            || problem.loss().curvature().is_finite()
        {
            return Ok(());
        }
        let reason = "whose derivative has no Lipschitz constant; use Sampling::Gap";
        let what = format!("this sampling of the {} loss, {reason}", L::NAME);
        Err(Refusal::unsupported(method, what).into())
    }

    /// The visits of an incremental method, and `1 / (n p_j)` where terms are drawn with probabilities `p_j`.
    pub(crate) fn weighted_visits<D: Design, L: Loss, R: Regulariser>(
        &self,
        method: &'static str,
        problem: &Problem<'_, D, L, R>,
        seed: u64,
    ) -> Result<(Visits, Option<Vec<f64>>), Error> {
        let n = problem.n();
        match self {
            Sampling::Order(Order::Weighted(_)) => {
                let what = "weighted draws; use Sampling::Mixed";
                Err(Refusal::unsupported(method, what).into())
            }
            Sampling::Order(order) => Ok((Visits::new(order, n, seed)?, None)),
            Sampling::Mixed | Sampling::Lipschitz => {
                let probabilities = self.probabilities(problem);
                let weights = probabilities.iter().map(|p| 1.0 / (n as f64 * p)).collect();
                Ok((Visits::new(&Order::Weighted(probabilities), n, seed)?, Some(weights)))
            }
            Sampling::Residual | Sampling::Gap | Sampling::LipschitzGap => {
                let what = format!("{self:?} sampling, which goes by dual variables; use sdca");
                Err(Refusal::unsupported(method, what).into())
            }
        }
    }

    /// `p_j` of [`Mixed`](Sampling::Mixed) and [`Lipschitz`](Sampling::Lipschitz) draws of an incremental method, one a term;
    /// uniform for the others, and where no term has any curvature. O(n).
    pub fn probabilities<D: Design, L: Loss, R: Regulariser>(
        &self,
        problem: &Problem<'_, D, L, R>,
    ) -> Vec<f64> {
        let n = problem.n() as f64;
        let smoothness: Vec<f64> = (0..problem.n()).map(|j| problem.term_smoothness(j)).collect();
        let total: f64 = smoothness.iter().sum();
        let share = match self {
            Sampling::Mixed => 0.5,
            Sampling::Lipschitz => 1.0,
            _ => 0.0,
        };
        let share = if total > 0.0 && total.is_finite() { share } else { 0.0 };
        let mean = if share > 0.0 { total } else { 1.0 };
        smoothness.iter().map(|l| (1.0 - share) / n + share * (l / mean)).collect()
    }

    /// What stands for `L` in a step: the largest `L_j / (n p_j)`, or a bound on it, with `l2`.
    pub(crate) fn smoothness<D: Design, L: Loss, R: Regulariser>(
        &self,
        problem: &Problem<'_, D, L, R>,
    ) -> f64 {
        match self {
            Sampling::Mixed => 2.0 * problem.mean_smoothness() - problem.l2(),
            Sampling::Lipschitz => problem.mean_smoothness(),
            _ => problem.smoothness(),
        }
    }

    /// The visits of a dual method to `n` terms: by scores that are still to be set, or by `weights` for [`Sampling::Lipschitz`].
    pub(crate) fn visits(
        &self,
        n: usize,
        seed: u64,
        weights: impl FnOnce() -> Vec<f64>,
    ) -> Result<Visits, Error> {
        Ok(match self {
            Sampling::Order(order) => Visits::new(order, n, seed)?,
            Sampling::Lipschitz => Visits::new(&Order::Weighted(weights()), n, seed)?,
            _ => Visits::scored(&vec![0.0; n], FADE, seed)?,
        })
    }
}

/// What the adaptive ways draw by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Score {
    Residual,
    Gap,
    LipschitzGap,
}

impl Score {
    pub(crate) fn of(sampling: &Sampling) -> Option<Self> {
        match sampling {
            Sampling::Order(_) | Sampling::Mixed | Sampling::Lipschitz => None,
            Sampling::Residual => Some(Score::Residual),
            Sampling::Gap => Some(Score::Gap),
            Sampling::LipschitzGap => Some(Score::LipschitzGap),
        }
    }

    /// From `d_i`, `g_i`, the curvature `gamma_i` of the term in its margin and `q_i = ||a_i||^2 / (n mu)`, so that
    /// `c_i = 1 + gamma_i q_i`.
    #[inline]
    pub(crate) fn from(
        self,
        residue: impl FnOnce() -> f64,
        gap: impl FnOnce() -> f64,
        curvature: f64,
        q: f64,
    ) -> f64 {
        let score = match self {
            Score::Residual => residue() * (1.0 / curvature + q).sqrt(),
            Score::Gap => gap(),
            Score::LipschitzGap => gap() * (1.0 + curvature * q),
        };
        // A gap may be negative by rounding; a term of weight 0 has no score.
        score.clamp(0.0, 1e100).max(0.0)
    }

    /// The passes that a pass of steps costs: the scores are worth half a pass.
    pub(crate) fn cost(score: Option<Self>) -> f64 {
        if score.is_some() { 1.5 } else { 1.0 }
    }
}
