//! Tables and scores from complete data.
//!
//! ```text
//! N_rk: rows of the data with parents in configuration r and child in state k;  N_r = sum_k N_rk
//! ```

use fenchel_linalg::Invalid;
use fenchel_linalg::special::ln_gamma;
use fenchel_optim::Refusal;
use ndarray::{ArrayView1, ArrayView2};
use rustc_hash::FxHashMap;

use super::cpt::cells;
use super::records::unusable;
use super::{BayesNet, Cpt};
use crate::{Dag, Error, VarId};

/// Pseudo-counts of the Dirichlet prior of every row of a table of `q` rows and `k` states.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Prior {
    /// The same pseudo-count `alpha` for every cell; 1 is the prior of K2, 0 gives maximum likelihood.
    Dirichlet(f64),
    /// `s / (q k)` for every cell, for an equivalent sample size `s`: equivalent graphs get equal scores.
    Bdeu(f64),
}

impl Prior {
    fn check(self) -> Result<(), Invalid> {
        match self {
            Prior::Dirichlet(alpha) => Invalid::check_nonnegative("alpha", alpha),
            Prior::Bdeu(size) => Invalid::check_nonnegative("equivalent sample size", size),
        }
    }

    fn cell(self, rows: f64, states: f64) -> f64 {
        match self {
            Prior::Dirichlet(alpha) => alpha,
            Prior::Bdeu(size) => size / (rows * states),
        }
    }
}

/// What a structure is worth, as a sum over the families (a child and its parents); higher is better.
///
/// | score | value of a family | source |
/// |---|---|---|
/// | `LogLikelihood` | `sum N_rk ln(N_rk / N_r)` | |
/// | `Bic` | the same `- (ln N / 2) q (k - 1)` | Schwarz, Annals of Statistics 6, 1978 |
/// | `Bayes(prior)` | `ln P(data of the child, given those of the parents)` | Heckerman, Geiger and Chickering, Machine Learning 20, 1995 |
///
/// `Bayes(Prior::Dirichlet(1.0))` is K2 (Cooper and Herskovits, 1992), `Bayes(Prior::Bdeu(s))` is BDeu.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Score {
    /// The largest log-likelihood, in nats: grows with every arc.
    LogLikelihood,
    /// The Bayesian information criterion.
    Bic,
    /// The log marginal likelihood; the pseudo-counts must be positive.
    Bayes(Prior),
}

impl Score {
    /// The score of one family. O(data).
    ///
    /// `data` has a sample a row and a variable a column, states counted from 0; `cards` are the numbers
    /// of states.
    ///
    /// # Errors
    /// [`Error::Cell`], [`Error::UnknownVariable`], [`Error::RepeatedVariable`], [`Error::Invalid`] for a
    /// shape or a prior that does not fit, [`Error::Refused`] if the parents have 2^64 configurations or
    /// more.
    pub fn family(
        self,
        data: ArrayView2<'_, usize>,
        cards: &[usize],
        child: VarId,
        parents: &[VarId],
    ) -> Result<f64, Error> {
        if let Score::Bayes(prior) = self {
            prior.check()?;
            Invalid::check_positive("pseudo-count", prior.cell(1.0, 1.0))?;
        }
        let counts = Counts::new(data, cards, child, parents)?;
        let (q, k) = (counts.rows as f64, cards[child.index()] as f64);
        if let Score::Bayes(prior) = self {
            let alpha = prior.cell(q, k);
            let term = |alpha: f64, n: f64| ln_gamma(alpha + n) - ln_gamma(alpha);
            let row = |counts: &[f64]| {
                let inside: f64 =
                    counts.iter().filter(|n| **n > 0.0).map(|&n| term(alpha, n)).sum();
                inside - term(alpha * k, counts.iter().sum())
            };
            return Ok(counts.seen().map(row).sum());
        }
        let row = |counts: &[f64]| {
            let total: f64 = counts.iter().sum();
            counts.iter().filter(|n| **n > 0.0).map(|n| n * (n / total).ln()).sum::<f64>()
        };
        let likelihood: f64 = counts.seen().map(row).sum();
        let n = data.nrows().max(1) as f64;
        let penalty = if self == Score::Bic { n.ln() / 2.0 * q * (k - 1.0) } else { 0.0 };
        Ok(likelihood - penalty)
    }

    /// The score of a graph: the sum over all its families.
    ///
    /// # Errors
    /// As [`family`](Self::family).
    pub fn graph(
        self,
        data: ArrayView2<'_, usize>,
        cards: &[usize],
        graph: &Dag,
    ) -> Result<f64, Error> {
        Invalid::check_length("cards", graph.nodes(), cards.len())?;
        let family = |v: u32| {
            let parents: Vec<VarId> = graph.parents(v).iter().map(|&p| VarId(p)).collect();
            self.family(data, cards, VarId(v), &parents)
        };
        (0..graph.nodes() as u32).map(family).sum()
    }
}

impl BayesNet {
    /// The network with the same graph whose tables are posterior means given complete data:
    /// `(N_rk + alpha_rk) / (N_r + alpha_r)`.
    ///
    /// A row with neither data nor pseudo-counts becomes uniform.
    ///
    /// # Errors
    /// [`Error::Cell`], which names row and column, for a value that is missing or no state; [`Error::Invalid`] for a shape or a
    /// prior that does not fit.
    pub fn fit_cpts(&self, data: ArrayView2<'_, usize>, prior: Prior) -> Result<BayesNet, Error> {
        prior.check()?;
        self.check_data(data, false)?;
        let mut fitted = self.clone();
        for v in self.variables() {
            let counts = Counts::new(data, &self.cards, v, self.parents_of(v))?;
            let k = self.cards[v.index()];
            let alpha = prior.cell(counts.rows as f64, k as f64);
            let prior_row = vec![1.0 / k as f64; k];
            let mut values = prior_row.repeat(self.cpt_of(v).len() / k);
            for (&row, &slot) in &counts.slots {
                let seen = &counts.cells[slot * k..(slot + 1) * k];
                let total = seen.iter().sum::<f64>() + alpha * k as f64;
                let out = &mut values[row as usize * k..][..k];
                out.iter_mut().zip(seen).for_each(|(p, n)| *p = (n + alpha) / total);
            }
            fitted.cpts[v.index()] = Cpt::new(self.parents_of(v).to_vec(), values, k);
        }
        Ok(fitted)
    }

    /// `sum_rows log P(row)`, in nats; `-inf` if one of them is impossible.
    ///
    /// # Errors
    /// [`Error::Cell`], which names row and column, for a value that is missing or no state; [`Error::Invalid`] for another number
    /// of columns.
    pub fn log_likelihood(&self, data: ArrayView2<'_, usize>) -> Result<f64, Error> {
        self.check_data(data, false)?;
        let one = |row: ArrayView1<'_, usize>| self.log_probability(&row.to_vec());
        data.rows().into_iter().map(one).sum()
    }
}

/// The counts of the configurations of the parents that occur, in the order of their appearance.
struct Counts {
    rows: u64,
    states: usize,
    slots: FxHashMap<u64, usize>,
    cells: Vec<f64>,
}

impl Counts {
    fn new(
        data: ArrayView2<'_, usize>,
        cards: &[usize],
        child: VarId,
        parents: &[VarId],
    ) -> Result<Counts, Error> {
        Invalid::check_length("columns of data", cards.len(), data.ncols())?;
        for (i, &variable) in parents.iter().chain([&child]).enumerate() {
            if variable.index() >= cards.len() {
                return Err(Error::UnknownVariable { variable, variables: cards.len() });
            }
            if parents[..i].contains(&variable) {
                return Err(Error::RepeatedVariable { variable });
            }
        }
        let Some(rows) = cells(parents.iter().map(|p| cards[p.index()])) else {
            let (what, hint) = ("the configurations of the parents", "give it fewer parents");
            let (needed, limit) = (u64::MAX, usize::MAX as u64);
            return Err(Refusal::MemoryLimit { what, needed, limit, hint }.into());
        };
        let states = cards[child.index()];
        let mut counts =
            Counts { rows: rows as u64, states, slots: FxHashMap::default(), cells: Vec::new() };
        for (record, sample) in data.rows().into_iter().enumerate() {
            let state = |variable: VarId| {
                let (state, cardinality) = (sample[variable.index()], cards[variable.index()]);
                if state < cardinality {
                    return Ok(state);
                }
                Err(Error::cell(record, variable, unusable(variable, state, cardinality)))
            };
            let mut row = 0;
            for &p in parents {
                row = row * cards[p.index()] as u64 + state(p)? as u64;
            }
            let next = counts.slots.len();
            let slot = *counts.slots.entry(row).or_insert(next);
            if slot == next {
                counts.cells.resize(counts.cells.len() + states, 0.0);
            }
            counts.cells[slot * states + state(child)?] += 1.0;
        }
        Ok(counts)
    }

    /// The rows that occur.
    fn seen(&self) -> std::slice::ChunksExact<'_, f64> {
        self.cells.chunks_exact(self.states.max(1))
    }
}
