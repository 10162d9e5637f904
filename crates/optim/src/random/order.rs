//! The order in which a method visits the terms of a sum.

use serde::{Deserialize, Serialize};

use crate::Refusal;

/// The order in which `n` terms are visited. All methods that process terms, rows, sequences or variables one by one use this
/// type, and the setting is always called `order` (A. Defazio, PhD thesis 2014, sections 2.1.3 and 5.2).
///
/// | order | when term `i` is visited | needs |
/// |---|---|---|
/// | `Uniform` | with probability `1/n` | nothing |
/// | `Permuted`, `Runs`, `Cyclic`, `Scripted` | once per pass, see each | nothing |
/// | `Weighted` | in proportion to given weights | the weights |
/// | `Mixed` | half `Uniform`, half `Lipschitz` | the terms |
/// | `Lipschitz` | with probability proportional to the Lipschitz constant `L_i` of its gradient (primal methods), or to `1 + L_i / (n mu)` (dual methods) | the terms |
/// | `Residual` | with probability proportional to `d_i sqrt((n mu + L_i) / L_i)`, where `d_i` is the distance of its dual variable from the derivative at the current point | terms and point |
/// | `Gap` | with probability proportional to its part `g_i` of the duality gap | terms and point |
/// | `LipschitzGap` | with probability proportional to `g_i (1 + L_i / (n mu))` | terms and point |
/// | `LargestGap` | if its `g_i` is the largest | terms and point |
///
/// Here `mu` is the strong convexity constant. The first six orders are *given*: [`Visits::new`](super::Visits::new) draws them
/// without knowledge of the problem. A method refuses an order that it does not support with an error that names it. Some
/// crates have another constant per term in the place of `L_i`, such as the radius of the features of a sequence, or a
/// curvature estimated during the run. The documentation of their settings says which.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Independent uniform draws.
    Uniform,
    /// A new random permutation for every pass. It is the fastest order for most methods, but SAG may diverge with it.
    #[default]
    Permuted,
    /// Blocks of this many consecutive terms. The blocks come in a new random permutation for every pass, with new boundaries.
    /// For blocks of a few rows the convergence is nearly as good as for single terms, and memory is read sequentially. Where
    /// consecutive rows are similar, long blocks need more passes.
    Runs(usize),
    /// `0, 1, ..., n-1` again and again. It can be slow, or diverge: the experiment on access orders shows both.
    Cyclic,
    /// Independent draws with probabilities proportional to the weights.
    Weighted(Vec<f64>),
    /// This list of terms in this order, repeated from its start. It replays a trajectory exactly.
    Scripted(Vec<usize>),
    /// Half uniform, half by the Lipschitz constants of the terms.
    Mixed,
    /// With probabilities from the Lipschitz constants of the terms. It helps where these are very different (Xiao and Zhang,
    /// 2014; Zhao and Zhang, 2015).
    Lipschitz,
    /// With probabilities from the dual residuals (AdaSDCA; Csiba, Qu and Richtarik, 2015).
    Residual,
    /// With probabilities proportional to the duality gaps of the terms (Le Priol, Piche and Lacoste-Julien, 2018).
    Gap,
    /// With probabilities proportional to the gaps of the terms and to a function of their Lipschitz constants.
    LipschitzGap,
    /// The term with the largest gap. Of equal ones the first is taken.
    LargestGap,
}

impl Order {
    /// The order's name in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Order::Uniform => "uniform",
            Order::Permuted => "permuted",
            Order::Runs(_) => "runs",
            Order::Cyclic => "cyclic",
            Order::Weighted(_) => "weighted",
            Order::Scripted(_) => "scripted",
            Order::Mixed => "mixed",
            Order::Lipschitz => "Lipschitz",
            Order::Residual => "residual",
            Order::Gap => "gap",
            Order::LipschitzGap => "Lipschitz gap",
            Order::LargestGap => "largest gap",
        }
    }

    /// Whether no term is preferred, as in `Uniform`, `Permuted`, `Runs`, `Cyclic`, `Scripted`.
    pub fn is_plain(&self) -> bool {
        use Order::{Cyclic, Permuted, Runs, Scripted, Uniform};
        matches!(self, Uniform | Permuted | Runs(_) | Cyclic | Scripted(_))
    }

    /// Whether the order needs no knowledge of the problem: a plain order, or `Weighted`.
    pub fn is_given(&self) -> bool {
        self.is_plain() || matches!(self, Order::Weighted(_))
    }

    /// Check of a method that supports plain orders only.
    ///
    /// # Errors
    /// [`Refusal::Unsupported`] for any other.
    pub fn check_plain(&self, method: &'static str) -> Result<(), Refusal> {
        self.check(method, self.is_plain(), "Uniform, Permuted, Runs, Cyclic or Scripted")
    }

    /// Check of a method that supports given orders only.
    ///
    /// # Errors
    /// [`Refusal::Unsupported`] for any other.
    pub fn check_given(&self, method: &'static str) -> Result<(), Refusal> {
        self.check(method, self.is_given(), "Uniform, Permuted, Runs, Cyclic, Weighted or Scripted")
    }

    /// Check of a method that supports its own list of orders: refuses the order unless it is `taken`.
    ///
    /// # Errors
    /// [`Refusal::Unsupported`], which says what is `expected`.
    pub fn check(
        &self,
        method: &'static str,
        taken: bool,
        expected: &'static str,
    ) -> Result<(), Refusal> {
        if taken {
            return Ok(());
        }
        Err(Refusal::unsupported(method, format!("the {} order; expected {expected}", self.name())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_that_is_not_taken_is_named_with_those_that_are() {
        let weighted = Order::Weighted(vec![1.0]);
        assert!(Order::Runs(3).check_plain("x").is_ok() && weighted.check_given("x").is_ok());
        assert_eq!(
            weighted.check_plain("saga").unwrap_err().to_string(),
            "saga does not support the weighted order; expected Uniform, Permuted, Runs, Cyclic or Scripted"
        );
        for order in [Order::Mixed, Order::Lipschitz, Order::Residual, Order::Gap] {
            assert!(order.check_given("x").is_err(), "{order:?}");
        }
        assert!(Order::LipschitzGap.check_given("x").is_err());
        assert!(Order::LargestGap.check_given("x").is_err());
    }
}
