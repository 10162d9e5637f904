//! Which term of a sum a method looks at next.

use serde::{Deserialize, Serialize};

use crate::Refusal;

/// Which of `n` terms is next: the one vocabulary of every method that looks at terms, rows, sequences or variables one by one
/// (thesis of Defazio, sections 2.1.3 and 5.2). A setting of this type is called `order`, whatever it is set to.
///
/// | order | term `i` is next | knows |
/// |---|---|---|
/// | `Uniform` | with probability `1/n` | nothing |
/// | `Permuted`, `Runs`, `Cyclic`, `Scripted` | once a pass, see below | nothing |
/// | `Weighted` | in proportion to given weights | the weights |
/// | `Mixed` | half `Uniform`, half `Lipschitz` | the terms |
/// | `Lipschitz` | in proportion to the Lipschitz constant `L_i` of its gradient (primal methods), to `1 + L_i / (n mu)` (dual methods) | the terms |
/// | `Residual` | in proportion to `d_i sqrt((n mu + L_i) / L_i)`, `d_i` the distance of its dual variable from the derivative at the current point | terms and point |
/// | `Gap` | in proportion to its part `g_i` of the duality gap | terms and point |
/// | `LipschitzGap` | in proportion to `g_i (1 + L_i / (n mu))` | terms and point |
/// | `LargestGap` | if its `g_i` is the largest | terms and point |
///
/// The first six are *given*: they are drawn without a look at the problem, by [`Visits::new`](super::Visits::new). What a method
/// does not take it refuses, by name. In a crate whose terms have constants of another kind (the radius of the features of a
/// sequence, a curvature that is estimated on the way) these stand for `L_i`; the documentation of the settings says so.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Independent uniform draws.
    Uniform,
    /// A new random permutation for every pass. The fastest for most methods, and unsafe for SAG.
    #[default]
    Permuted,
    /// Runs of so many consecutive terms, the runs in a new random permutation for every pass, cut at another place: nearly as
    /// good as single terms for a few rows, and memory is read forward. Where rows that follow each other are alike,
    /// long runs cost passes.
    Runs(usize),
    /// `0, 1, ..., n-1` again and again. Can be slow, or diverge: see the access-order experiment.
    Cyclic,
    /// Independent draws with probabilities proportional to the weights.
    Weighted(Vec<f64>),
    /// These terms in this order, again from the start after the last: replays a trajectory exactly.
    Scripted(Vec<usize>),
    /// Half uniform, half by the Lipschitz constants of the terms.
    Mixed,
    /// By the Lipschitz constants of the terms: where they are very different (Xiao and Zhang, 2014; Zhao and Zhang, 2015).
    Lipschitz,
    /// By the dual residues: AdaSDCA (Csiba, Qu and Richtarik, 2015).
    Residual,
    /// By the gaps of the terms (Le Priol, Piche and Lacoste-Julien, 2018).
    Gap,
    /// By the gaps of the terms and their Lipschitz constants.
    LipschitzGap,
    /// The term with the largest gap, the first of equal ones.
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

    /// Whether no term is preferred: `Uniform`, `Permuted`, `Runs`, `Cyclic`, `Scripted`.
    pub fn is_plain(&self) -> bool {
        use Order::{Cyclic, Permuted, Runs, Scripted, Uniform};
        matches!(self, Uniform | Permuted | Runs(_) | Cyclic | Scripted(_))
    }

    /// Whether the order needs no look at the problem: a plain one, or `Weighted`.
    pub fn is_given(&self) -> bool {
        self.is_plain() || matches!(self, Order::Weighted(_))
    }

    /// For a method that takes plain orders only.
    ///
    /// # Errors
    /// [`Refusal::Unsupported`] for any other.
    pub fn check_plain(&self, method: &'static str) -> Result<(), Refusal> {
        self.check(method, self.is_plain(), "Uniform, Permuted, Runs, Cyclic or Scripted")
    }

    /// For a method that takes given orders only.
    ///
    /// # Errors
    /// [`Refusal::Unsupported`] for any other.
    pub fn check_given(&self, method: &'static str) -> Result<(), Refusal> {
        self.check(method, self.is_given(), "Uniform, Permuted, Runs, Cyclic, Weighted or Scripted")
    }

    /// For a method that takes a list of its own: refuses the order unless it is `taken`.
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
