//! Clique and separator marginals as points of a convex set.
//!
//! ```text
//! H~(mu)       = sum_C H(mu_C) - sum_S H(mu_S)
//! D~(mu || nu) = sum_C KL(mu_C || nu_C) - sum_S KL(mu_S || nu_S)
//! ```
//!
//! A convex combination of the marginals of two distributions is again locally consistent. Its `H~` is the entropy of the
//! *tree-factorised* distribution with these marginals. This is the largest entropy of all distributions with these marginals,
//! and so at least that of the mixture. Source: R. Le Priol, PhD thesis 2021, equations 3.20-3.21 and appendix 3.A.3.

use fenchel_linalg::special::{log_add_exp, xlogx};
use fenchel_linalg::{Invalid, lanes};
use serde::{Deserialize, Serialize};

use crate::stride::Plan;
use crate::{Error, VarId};

use super::JunctionTree;
use crate::table::semiring::{LogSum, Semiring};

/// Logarithms of the marginals of all cliques and separators of a [`JunctionTree`].
///
/// A separator that belongs to two edges of the tree is stored, and counted, twice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CliqueMarginals {
    /// In the order of [`JunctionTree::cliques`], each in the order of its variables there.
    #[serde(with = "crate::table::logs")]
    pub(super) log_cliques: Vec<f64>,
    #[serde(with = "crate::table::logs")]
    pub(super) log_separators: Vec<f64>,
}

/// The entropy and its derivatives along a line (R. Le Priol, PhD thesis 2021, appendix 3.A.3).
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct LineDerivatives {
    /// `H~` at the point.
    pub entropy: f64,
    /// Its first derivative in `gamma`.
    pub first: f64,
    /// Its second derivative in `gamma`.
    pub second: f64,
}

impl CliqueMarginals {
    /// The entropy in nats of the distribution that factorises over the tree (R. Le Priol, PhD thesis 2021, equation 3.20).
    pub fn entropy(&self) -> f64 {
        let negative = |logs: &[f64]| -> f64 { logs.iter().map(|&l| xlogx(l.exp())).sum() };
        negative(&self.log_separators) - negative(&self.log_cliques)
    }

    /// The Kullback-Leibler divergence `D(self || other)` in nats (R. Le Priol, PhD thesis 2021, equation 3.21). It is infinite
    /// if `other` has probability 0 where `self` has not.
    ///
    /// # Errors
    /// [`Invalid::Length`] for marginals of another tree.
    pub fn kl(&self, other: &CliqueMarginals) -> Result<f64, Error> {
        self.check_alike(other)?;
        let cliques = divergence(&self.log_cliques, &other.log_cliques);
        if cliques == f64::INFINITY {
            return Ok(cliques);
        }
        Ok(cliques - divergence(&self.log_separators, &other.log_separators))
    }

    /// The convex combination `(1 - gamma) self + gamma other`.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for `gamma` outside `[0, 1]`, [`Invalid::Length`] for marginals of another tree.
    pub fn convex_combination(&self, gamma: f64, other: &CliqueMarginals) -> Result<Self, Error> {
        self.check_line(gamma, other)?;
        let (left, right) = ((-gamma).ln_1p(), gamma.ln());
        let mix = |a: &[f64], b: &[f64]| {
            a.iter().zip(b).map(|(&a, &b)| log_add_exp(left + a, right + b)).collect()
        };
        Ok(CliqueMarginals {
            log_cliques: mix(&self.log_cliques, &other.log_cliques),
            log_separators: mix(&self.log_separators, &other.log_separators),
        })
    }

    /// The entropy `H~` and its derivatives at `self + gamma (other - self)`.
    ///
    /// ```text
    /// d/dgamma   = -(sum_C - sum_S) sum delta log(mu + gamma delta)
    /// d2/dgamma2 = -(sum_C - sum_S) sum delta^2 / (mu + gamma delta),     delta = other - self
    /// ```
    ///
    /// Logarithms of mixtures are computed from stored logarithms, so that entries like `e^-700` do not give `0 * inf`. At an
    /// end of the segment where the support grows, both derivatives are infinite.
    ///
    /// # Errors
    /// As [`convex_combination`](Self::convex_combination).
    pub fn line_derivatives(
        &self,
        gamma: f64,
        other: &CliqueMarginals,
    ) -> Result<LineDerivatives, Error> {
        self.check_line(gamma, other)?;
        let cliques = line(&self.log_cliques, &other.log_cliques, gamma);
        let separators = line(&self.log_separators, &other.log_separators, gamma);
        // Where both are infinite the cliques, which contain the separators, decide.
        let less = |c: f64, s: f64| if c.is_infinite() { c } else { c - s };
        Ok(LineDerivatives {
            entropy: cliques.entropy - separators.entropy,
            first: less(cliques.first, separators.first),
            second: less(cliques.second, separators.second),
        })
    }

    /// Logarithms of the clique marginals, clique after clique.
    pub fn log_cliques(&self) -> &[f64] {
        &self.log_cliques
    }

    /// Logarithms of the separator marginals, in the order of the cliques; roots have none.
    pub fn log_separators(&self) -> &[f64] {
        &self.log_separators
    }

    fn check_alike(&self, other: &CliqueMarginals) -> Result<(), Error> {
        Invalid::check_length("cliques", self.log_cliques.len(), other.log_cliques.len())?;
        let (own, others) = (self.log_separators.len(), other.log_separators.len());
        Ok(Invalid::check_length("separators", own, others)?)
    }

    fn check_line(&self, gamma: f64, other: &CliqueMarginals) -> Result<(), Error> {
        if !(0.0..=1.0).contains(&gamma) {
            let expected = "a number in [0, 1]";
            return Err(Invalid::Parameter { name: "gamma", value: gamma, expected }.into());
        }
        self.check_alike(other)
    }
}

impl JunctionTree {
    /// The marginals of `(1 - epsilon) 1{x = centre} + epsilon uniform` (R. Le Priol, PhD thesis 2021, equations 3.23 and
    /// 3.28). They are marginals of a joint distribution, and so consistent. For `epsilon > 0` they are in the interior of the
    /// marginal polytope.
    ///
    /// # Errors
    /// [`Invalid::Length`], [`Error::State`] for `centre`; [`Invalid::Parameter`] for `epsilon` outside `[0, 1]`.
    pub fn interior_marginals(
        &self,
        centre: &[usize],
        epsilon: f64,
    ) -> Result<CliqueMarginals, Error> {
        self.check(centre)?;
        if !(0.0..=1.0).contains(&epsilon) {
            let expected = "a number in [0, 1]";
            return Err(Invalid::Parameter { name: "epsilon", value: epsilon, expected }.into());
        }
        let mut log_cliques = Vec::with_capacity(self.clique_cells);
        let mut log_separators = Vec::with_capacity(self.separator_cells);
        let extend = |out: &mut Vec<f64>, scope: &[(VarId, usize)]| {
            let size: usize = scope.iter().map(|s| s.1).product();
            let at = scope.iter().fold(0, |at, (v, card)| at * card + centre[v.index()]);
            let uniform = epsilon / size as f64;
            let start = out.len();
            out.resize(start + size, uniform.ln());
            out[start + at] = (1.0 - epsilon + uniform).ln();
        };
        for node in &self.nodes {
            extend(&mut log_cliques, &node.scope);
            if node.shared > 0 {
                extend(&mut log_separators, node.parts().1);
            }
        }
        Ok(CliqueMarginals { log_cliques, log_separators })
    }

    /// Builds marginals from probabilities in the layout of
    /// [`Calibrated::write_marginals`](super::Calibrated::write_marginals).
    ///
    /// # Errors
    /// [`Invalid::Length`]; [`Invalid::Layout`] for tables that do not sum to 1 or contradict each other by more than 1e-9.
    pub fn marginals_of(
        &self,
        cliques: &[f64],
        separators: &[f64],
    ) -> Result<CliqueMarginals, Error> {
        let logs = |values: &[f64]| values.iter().map(|x| x.ln()).collect();
        let marginals =
            CliqueMarginals { log_cliques: logs(cliques), log_separators: logs(separators) };
        if self.is_consistent(&marginals, 1e-9)? {
            return Ok(marginals);
        }
        let reason = "do not sum to 1 or contradict each other".to_owned();
        Err(Invalid::Layout { what: "marginals", reason }.into())
    }

    /// Whether all tables sum to 1 and agree on the separators, with differences of at most `tolerance`.
    ///
    /// # Errors
    /// [`Invalid::Length`] for marginals of another tree.
    pub fn is_consistent(
        &self,
        marginals: &CliqueMarginals,
        tolerance: f64,
    ) -> Result<bool, Error> {
        Invalid::check_length("cliques", self.clique_cells, marginals.log_cliques.len())?;
        Invalid::check_length("separators", self.separator_cells, marginals.log_separators.len())?;
        let mut scratch = vec![0.0; self.scratch];
        let mut margin = vec![0.0; self.scratch];
        let mut agrees = |plan: &Plan, table: &[f64], separator: &[f64]| {
            let margin = &mut margin[..separator.len()];
            lanes::dispatch(|| LogSum::project(plan, table, margin, &mut scratch));
            let close = |(a, b): (&f64, &f64)| (a.exp() - b.exp()).abs() <= tolerance;
            margin.iter().zip(separator).all(close)
        };
        for (k, node) in self.nodes.iter().enumerate() {
            let table = &marginals.log_cliques[node.table.clone()];
            if node.parent == k {
                if !((LogSum::total(table).exp() - 1.0).abs() <= tolerance) {
                    return Ok(false);
                }
                continue;
            }
            let separator = &marginals.log_separators[node.separator.clone()];
            let parent = &marginals.log_cliques[self.nodes[node.parent].table.clone()];
            let within = |scope: &[(VarId, usize)]| Plan::between(scope, node.parts().1);
            if !agrees(&within(&node.scope), table, separator)
                || !agrees(&within(&self.nodes[node.parent].scope), parent, separator)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// `sum p (ln p - ln q)` with `0 ln 0 = 0`.
fn divergence(log_p: &[f64], log_q: &[f64]) -> f64 {
    let term = |(&p, &q): (&f64, &f64)| if p > f64::NEG_INFINITY { p.exp() * (p - q) } else { 0.0 };
    log_p.iter().zip(log_q).map(term).sum()
}

fn line(from: &[f64], to: &[f64], gamma: f64) -> LineDerivatives {
    let (left, right) = ((-gamma).ln_1p(), gamma.ln());
    let mut sums = LineDerivatives { entropy: 0.0, first: 0.0, second: 0.0 };
    for (&a, &b) in from.iter().zip(to) {
        if a == b {
            sums.entropy -= xlogx(a.exp());
            continue;
        }
        let log_mix = log_add_exp(left + a, right + b);
        let delta = b.exp() - a.exp();
        sums.entropy -= xlogx(log_mix.exp());
        // delta / mix from logarithms: neither overflows nor divides zero by zero.
        let relative = (b - log_mix).exp() - (a - log_mix).exp();
        if delta != 0.0 {
            sums.first -= delta * log_mix;
            sums.second -= delta * relative;
        }
    }
    sums
}
