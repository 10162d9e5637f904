//! Visiting orders: the meaning of each [`Order`] for terms `phi(a_i.x)`.
//!
//! | order | probability of term `i` | taken by |
//! |---|---|---|
//! | plain ones | see [`Order`] | all |
//! | `Weighted` | as given | dual methods, `miso` |
//! | `Mixed` | `1/(2n) + L_i / (2 n Lbar)` | [`saga`](crate::methods::saga()), [`svrg`](crate::methods::svrg()) |
//! | `Lipschitz` | `L_i / (n Lbar)` | [`svrg`](crate::methods::svrg()); SAGA would rarely update its table where `L_i` is small |
//! | `Lipschitz` | `mu n + L_i` up to a factor, `L_i` without l2: best fixed ones, Defazio's theorem 3.4 | dual methods |
//! | `Residual` | `d_i sqrt(c_i / gamma_i)`, `d_i = \|phi_i'(a_i.x) - s_i\|` | `sdca` |
//! | `Gap` | `g_i = phi_i(a_i.x) + phi_i*(s_i) - s_i a_i.x`, of which the duality gap is the mean | `sdca` |
//! | `LipschitzGap` | `g_i c_i` | `sdca` |
//!
//! Here `L_i` is the smoothness of a term ([`term_smoothness`](Problem::term_smoothness)), `Lbar` the mean of the
//! `L_i`, and `gamma_i` the curvature of the loss times the weight of the row. `x` is the point that belongs to the
//! dual variables `s_i`, `mu` the strong convexity, and `c_i = 1 + L_i / (n mu)`. If a few rows are much longer than
//! the others, uniform draws force step sizes of `1 / max L_i`, which weighted draws avoid. For rows of equal length
//! `Lipschitz` is worse than the permuted order, because it may draw a term twice in a pass.
//!
//! The last three orders are adaptive. All scores are computed before every pass, which counts as half a pass. When a
//! term is drawn, its score is reduced to a tenth until the end of the pass, as in the method AdaSDCA+ of Csiba, Qu
//! and Richtarik. `Gap` suits losses that are not differentiable: most dual variables end at a bound, where their gap
//! is 0, and are not drawn any more. This has the same effect as the shrinking of other solvers. With the hinge and
//! `l2` equal to 1/n and 0.1/n, a relative gap of 1e-4 took `Gap` 8 and 39 passes on census data (adult), and 18 and
//! 44 on web pages (w8a). The permuted order took 38 and 300, and 34 and 258. With smooth losses, the adaptive orders
//! took between a quarter of the passes of the permuted order (squared hinge, w8a) and one and a half times as many
//! (logistic, adult). All orders but `Gap`, the plain orders and `Weighted` need a smooth loss.

use fenchel_linalg::Design;
use fenchel_optim::random::{Order, Visits};
use fenchel_optim::{Loss, Refusal, Regulariser};

use crate::{Error, Problem};

/// The factor by which a draw reduces the score of its term, which corresponds to `m = 10` in AdaSDCA+ of Csiba, Qu
/// and Richtarik.
const FADE: f64 = 0.1;

/// Checks whether `sdca` accepts an order.
pub(crate) fn check_adaptive(order: &Order, method: &'static str) -> Result<(), Refusal> {
    let taken = !matches!(order, Order::Mixed | Order::LargestGap);
    order.check(method, taken, "a given order, Lipschitz, Residual, Gap or LipschitzGap")
}

/// Checks whether a dual method accepts an order. Without a Lipschitz constant, it accepts `Gap`, plain orders and `Weighted`.
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

/// The visiting order of an incremental method, and `1 / (n p_j)` if terms are drawn with probabilities `p_j`.
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

/// The probabilities `p_j` with which a primal method draws terms for [`Order::Mixed`] and [`Order::Lipschitz`], one
/// per term. They are uniform for other orders, and if no term has any curvature. All rows are here. O(n).
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

/// The constant that replaces `L` in a step size: the largest `L_j / (n p_j)`, or a bound of it, plus `l2`.
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

/// The visiting order of a dual method for `n` terms. Scores are set later; `weights` are those of
/// [`Order::Lipschitz`].
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

/// The score by which an adaptive order draws terms.
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

    /// Computes the score from `d_i`, `g_i`, the curvature `gamma_i` of the term in its margin and `q_i = ||a_i||^2 /
    /// (n mu)`. Then `c_i = 1 + gamma_i q_i`.
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

    /// The cost of `n` steps in passes. The computation of scores costs half a pass.
    pub(crate) fn cost(score: Option<Self>) -> f64 {
        if score.is_some() { 1.5 } else { 1.0 }
    }
}
