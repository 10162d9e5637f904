//! Which term a dual method looks at next.

use fenchel_linalg::Design;
use fenchel_optim::random::{Order, Visits};
use fenchel_optim::{Loss, Regulariser, Separable};
use serde::{Deserialize, Serialize};

use super::ascent::{Ascent, Move};
use super::state::DualState;
use crate::{Error, Problem};

/// What a draw leaves of the score of the term that was drawn: the `m = 10` of Csiba, Qu and Richtarik's AdaSDCA+.
const FADE: f64 = 0.1;

/// How a dual method draws terms.
///
/// The adaptive ways give every term a score and draw by it. Scores are computed before every pass, all at once, which is
/// counted as half a pass; a term that was drawn keeps a tenth of its score until then (AdaSDCA+ of Csiba, Qu and
/// Richtarik). With the point `x` that belongs to the dual variables and `c_i = 1 + L_i / (n mu)`:
///
/// | way | probability of term `i` | source |
/// |---|---|---|
/// | `Order` | as in [`Order`]; the default is permuted | |
/// | `Lipschitz` | `c_i`, see [`importance_order`] | Zhao and Zhang (2015) |
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
    /// Only an order and the gaps do without a Lipschitz constant.
    pub(super) fn check<D: Design, L: Loss, R: Regulariser>(
        &self,
        method: &'static str,
        problem: &Problem<'_, D, L, R>,
    ) -> Result<(), Error> {
        if matches!(self, Sampling::Order(_) | Sampling::Gap)
            || problem.loss().curvature().is_finite()
        {
            return Ok(());
        }
        let reason = "whose derivative has no Lipschitz constant; use Sampling::Gap";
        let what = format!("this sampling of the {} loss, {reason}", L::NAME);
        Err(Error::Unsupported { method, what })
    }

    /// Visits to `n` terms: by scores that are still to be set, or by `weights` for [`Sampling::Lipschitz`].
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
            Sampling::Order(_) | Sampling::Lipschitz => None,
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

/// Draws with probabilities proportional to `mu n + L_j`, `L_j` the smoothness of the loss of term `j`: the best fixed ones for
/// dual coordinate ascent, whose factor a step becomes `1 - mu/(mu n + mean L_j)` (thesis, theorem 3.4; Zhao and
/// Zhang, ICML 2015). For rows of equal length it is worse than the permuted order, which draws no term twice.
///
/// # Errors
/// [`Error::Unsupported`] for a loss that is not smooth.
pub fn importance_order<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
) -> Result<Order, Error> {
    Sampling::Lipschitz.check("importance sampling", problem)?;
    Ok(Order::Weighted(importance_weights(problem)))
}

/// `mu n + L_j`
pub(super) fn importance_weights<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
) -> Vec<f64> {
    let floor = problem.strong_convexity() * problem.n() as f64;
    (0..problem.n()).map(|j| floor + problem.term_smoothness(j)).collect()
}

/// The probabilities, up to a factor, by which the first term of a run of [`sdca`](fn@super::sdca) from this state is drawn;
/// `None` for an order. A pass.
///
/// # Errors
/// As [`sdca`](fn@super::sdca).
pub fn sampling_weights<D: Design, L: Loss, R: Separable>(
    problem: &Problem<'_, D, L, R>,
    sampling: &Sampling,
    state: DualState,
) -> Result<Option<Vec<f64>>, Error> {
    let mut ascent = Ascent::new("sdca", problem, 0.0, Move::Exact, sampling, 0, Some(state))?;
    Ok(match sampling {
        Sampling::Order(_) => None,
        Sampling::Lipschitz => Some(importance_weights(problem)),
        _ => Some(ascent.scores()),
    })
}
