//! Which term a method looks at next: what an [`Order`] means for terms `phi(a_i.x)`.
//!
//! | order | probability of term `i` | taken by |
//! |---|---|---|
//! | plain ones | see [`Order`] | all |
//! | `Weighted` | as given | dual methods, `miso` |
//! | `Mixed` | `1/(2n) + L_i / (2 n Lbar)` | [`saga`](crate::methods::saga()), [`svrg`](crate::methods::svrg()) |
//! | `Lipschitz` | `L_i / (n Lbar)` | [`svrg`](crate::methods::svrg()): the table of SAGA would go stale where `L_i` is small |
//! | `Lipschitz` | `mu n + L_i`, `L_i` of the loss alone: the best fixed ones, theorem 3.4 | dual methods |
//! | `Residual` | `d_i sqrt(c_i / gamma_i)`, `d_i = \|phi_i'(a_i.x) - s_i\|` | `sdca` |
//! | `Gap` | `g_i = phi_i(a_i.x) + phi_i*(s_i) - s_i a_i.x`, of which the duality gap is the mean | `sdca` |
//! | `LipschitzGap` | `g_i c_i` | `sdca` |
//!
//! `L_i` is the smoothness of a term ([`term_smoothness`](Problem::term_smoothness)), `Lbar` the mean, `gamma_i` the curvature of
//! the loss times the weight of the row, `x` the point that belongs to the dual variables, `c_i = 1 + L_i / (n mu)`. Where a few
//! rows are much longer than the others, draws that do not know it force steps of `1 / max L_i` on all; for rows of equal length
//! `Lipschitz` is worse than the permuted order, which draws no term twice.
//!
//! The last three are adaptive. All scores are computed before every pass, which is counted as half a pass; a term that was drawn
//! keeps a tenth of its score until then (AdaSDCA+ of Csiba, Qu and Richtarik). `Gap` suits losses with a kink: most dual variables
//! end at a bound, with no gap, and are not looked at, as by the shrinking of other solvers. With the hinge and `l2` = 1/n, 0.1/n
//! it took 8 and 39 passes to a relative gap of 1e-4 on the census data (adult), 18 and 44 on web pages (w8a), where the permuted
//! order took 38 and 300, 34 and 258. With smooth losses the adaptive orders took from a quarter of the passes of the permuted
//! order (squared hinge, w8a) to half as many again (logistic, adult). All but the given orders and `Gap` need a smooth loss.

use fenchel_linalg::Design;
use fenchel_optim::random::{Order, Visits};
use fenchel_optim::{Loss, Refusal, Regulariser};

use crate::{Error, Problem};

/// What a draw leaves of the score of the term that was drawn: the `m = 10` of Csiba, Qu and Richtarik's AdaSDCA+.
const FADE: f64 = 0.1;

/// What `sdca` takes.
pub(crate) fn check_adaptive(order: &Order, method: &'static str) -> Result<(), Refusal> {
    let taken = !matches!(order, Order::Mixed | Order::LargestGap);
    order.check(method, taken, "a given order, Lipschitz, Residual, Gap or LipschitzGap")
}

/// What a dual method takes: only given orders and the gaps do without a Lipschitz constant.
pub(crate) fn check_dual<D: Design, L: Loss, R: Regulariser>(
    order: &Order,
    method: &'static str,
    problem: &Problem<'_, D, L, R>,
) -> Result<(), Error> {
    check_adaptive(order, method)?;
    if order.is_given() || *order == Order::Gap || problem.loss().curvature().is_finite() {
        return Ok(());
    }
    let reason = "whose derivative has no Lipschitz constant; use Order::Gap";
    let what = format!("the {} order with the {} loss, {reason}", order.name(), L::NAME);
    Err(Refusal::unsupported(method, what).into())
}

/// The visits of an incremental method, and `1 / (n p_j)` where terms are drawn with probabilities `p_j`.
pub(crate) fn incremental_visits<D: Design, L: Loss, R: Regulariser>(
    order: &Order,
    method: &'static str,
    problem: &Problem<'_, D, L, R>,
    seed: u64,
) -> Result<(Visits, Option<Vec<f64>>), Error> {
    let n = problem.n();
    if matches!(order, Order::Mixed | Order::Lipschitz) {
        let probabilities = probabilities(problem, order);
        let weights = probabilities.iter().map(|p| 1.0 / (n as f64 * p)).collect();
        return Ok((Visits::new(&Order::Weighted(probabilities), n, seed)?, Some(weights)));
    }
    order.check(method, order.is_plain(), "a plain order or Mixed")?;
    Ok((Visits::new(order, n, seed)?, None))
}

/// `p_j` of [`Order::Mixed`] and [`Order::Lipschitz`] draws of a primal method, one a term; uniform for other orders, and where no
/// term has any curvature. O(n).
pub fn probabilities<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    order: &Order,
) -> Vec<f64> {
    let n = problem.n() as f64;
    let smoothness: Vec<f64> = (0..problem.n()).map(|j| problem.term_smoothness(j)).collect();
    let total: f64 = smoothness.iter().sum();
    let share = match order {
        Order::Mixed => 0.5,
        Order::Lipschitz => 1.0,
        _ => 0.0,
    };
    let share = if total > 0.0 && total.is_finite() { share } else { 0.0 };
    let mean = if share > 0.0 { total } else { 1.0 };
    smoothness.iter().map(|l| (1.0 - share) / n + share * (l / mean)).collect()
}

/// What stands for `L` in a step: the largest `L_j / (n p_j)`, or a bound on it, with `l2`.
pub(crate) fn smoothness<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    order: &Order,
) -> f64 {
    match order {
        Order::Mixed => 2.0 * problem.mean_smoothness() - problem.l2(),
        Order::Lipschitz => problem.mean_smoothness(),
        _ => problem.smoothness(),
    }
}

/// The visits of a dual method to `n` terms: by scores that are still to be set, or by `weights` for [`Order::Lipschitz`].
pub(crate) fn dual_visits(
    order: &Order,
    n: usize,
    seed: u64,
    weights: impl FnOnce() -> Vec<f64>,
) -> Result<Visits, Error> {
    Ok(match order {
        Order::Lipschitz => Visits::new(&Order::Weighted(weights()), n, seed)?,
        order if order.is_given() => Visits::new(order, n, seed)?,
        _ => Visits::scored(&vec![0.0; n], FADE, seed)?,
    })
}

/// What the adaptive orders draw by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Score {
    Residual,
    Gap,
    LipschitzGap,
}

impl Score {
    pub(crate) fn of(order: &Order) -> Option<Self> {
        match order {
            Order::Residual => Some(Score::Residual),
            Order::Gap => Some(Score::Gap),
            Order::LipschitzGap => Some(Score::LipschitzGap),
            _ => None,
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
