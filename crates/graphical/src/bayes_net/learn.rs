//! Tables of a network, and scores of graphs, from complete data.
//!
//! ```text
//! N_rk: rows of the data with parents in configuration r and child in state k;  N_r = sum_k N_rk
//! ```

use std::path::Path;

use fenchel_linalg::Invalid;
use fenchel_linalg::special::ln_gamma;
use fenchel_linalg::spread::Shards;
use ndarray::{ArrayView1, ArrayView2, Axis, Slice};
use serde::{Deserialize, Serialize};

use super::{BayesNet, Cpt};
use crate::files;
use crate::structure::Columns;
use crate::{Dag, Error, VarId};

/// Pseudo-counts of the Dirichlet prior of the rows of a table with `q` rows and `k` states.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Prior {
    /// The same pseudo-count `alpha` for every cell; 1 is the prior of K2, 0 gives maximum likelihood.
    Dirichlet(f64),
    /// `s / (q k)` for every cell, for an equivalent sample size `s`: equivalent graphs get equal scores.
    Bdeu(f64),
}

impl Prior {
    pub(super) fn check(self) -> Result<(), Invalid> {
        match self {
            Prior::Dirichlet(alpha) => Invalid::check_nonnegative("alpha", alpha),
            Prior::Bdeu(size) => Invalid::check_nonnegative("equivalent sample size", size),
        }
    }

    /// Refuses no records where no pseudo-count stands for them.
    pub(super) fn check_records(self, records: usize) -> Result<(), Invalid> {
        if records > 0 || self.cell(1.0, 1.0) > 0.0 {
            return Ok(());
        }
        let reason = "no records, and a prior without pseudo-counts; expected one of the two";
        Err(Invalid::Layout { what: "data", reason: reason.into() })
    }

    pub(super) fn cell(self, rows: f64, states: f64) -> f64 {
        match self {
            Prior::Dirichlet(alpha) => alpha,
            Prior::Bdeu(size) => size / (rows * states),
        }
    }
}

/// A score of a graph, which is a sum over the families (a family is a child and its parents). Higher is better.
///
/// | score | value of a family | source |
/// |---|---|---|
/// | `LogLikelihood` | `sum N_rk ln(N_rk / N_r)` | |
/// | `Bic` | log-likelihood `- (ln N / 2) q (k - 1)` | Schwarz, Annals of Statistics 6, 1978 |
/// | `Bayes(prior)` | `ln P(data of the child, given those of the parents)` | Heckerman, Geiger and Chickering, Machine Learning 20, 1995 |
///
/// `Bayes(Prior::Dirichlet(1.0))` is K2 (Cooper and Herskovits, 1992), `Bayes(Prior::Bdeu(s))` is BDeu.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum StructureScore {
    /// The largest log-likelihood, in nats: grows with every arc.
    LogLikelihood,
    /// The Bayesian information criterion.
    Bic,
    /// The log marginal likelihood; the pseudo-counts must be positive.
    Bayes(Prior),
}

impl StructureScore {
    /// The score of one family. O(data).
    ///
    /// `data` has one row per sample and one column per variable; states count from 0. `cards` are the numbers of states.
    ///
    /// # Errors
    /// [`Error::Cell`], [`Error::UnknownVariable`], [`Error::RepeatedVariable`], [`Error::Invalid`] for a
    /// shape or a prior that does not fit and for no records, [`Error::Refused`] if the parents have 2^64 configurations or
    /// more.
    pub fn family(
        self,
        data: ArrayView2<'_, usize>,
        cards: &[usize],
        child: VarId,
        parents: &[VarId],
    ) -> Result<f64, Error> {
        self.check()?;
        let family: Vec<VarId> = parents.iter().copied().chain([child]).collect();
        let columns = Columns::of(data, cards, &family)?;
        let parents: Vec<u32> = (0..parents.len() as u32).collect();
        self.of(&columns, parents.len() as u32, &parents)
    }

    /// Refuses pseudo-counts of 0 where they must be positive.
    pub(crate) fn check(self) -> Result<(), Error> {
        if let StructureScore::Bayes(prior) = self {
            prior.check()?;
            Invalid::check_positive("pseudo-count", prior.cell(1.0, 1.0))?;
        }
        Ok(())
    }

    /// The score of a family of columns. The parents must be distinct and not include the child.
    pub(crate) fn of(self, columns: &Columns, child: u32, parents: &[u32]) -> Result<f64, Error> {
        let counts = columns.counts(child, parents)?;
        let (q, k) = (counts.configurations as f64, counts.states as f64);
        if let StructureScore::Bayes(prior) = self {
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
        let n = columns.records().max(1) as f64;
        let penalty = if self == StructureScore::Bic { n.ln() / 2.0 * q * (k - 1.0) } else { 0.0 };
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
        self.check()?;
        let columns = Columns::new(data, cards)?;
        (0..graph.nodes() as u32).map(|v| self.of(&columns, v, graph.parents(v))).sum()
    }
}

impl BayesNet {
    /// Returns the network with the same graph and with tables fitted to a file of comma-separated names:
    /// [`read_csv_file`](Self::read_csv_file) followed by [`fit_cpts`](Self::fit_cpts).
    ///
    /// # Errors
    /// The errors of both functions, inside [`Error::File`]. A missing value is an error with row and column;
    /// [`Em`](super::Em) accepts such records.
    pub fn fit_csv_file(&self, path: impl AsRef<Path>, prior: Prior) -> Result<BayesNet, Error> {
        files::read(path.as_ref(), |text| self.fit_cpts(self.read_csv(text)?.view(), prior))
    }

    /// Returns the network with the same graph whose tables are posterior means given complete data:
    /// `(N_rk + alpha_rk) / (N_r + alpha_r)`.
    ///
    /// A row with neither data nor pseudo-counts becomes uniform. Without any record the tables are the means of the prior.
    ///
    /// # Errors
    /// [`Error::Cell`], which names row and column, for a value that is missing or no state; [`Error::Invalid`] for no records
    /// under a prior without pseudo-counts, and for a shape or a prior that does not fit.
    pub fn fit_cpts(&self, data: ArrayView2<'_, usize>, prior: Prior) -> Result<BayesNet, Error> {
        prior.check()?;
        self.check_data(data, 0, false)?;
        prior.check_records(data.nrows())?;
        let mut counts = self.no_counts();
        self.count(data, &mut counts);
        Ok(self.counted(&counts, prior))
    }

    /// As [`fit_cpts`](Self::fit_cpts), from records of which this process has those of its shards, and maybe none. All processes call it
    /// together and get the network of all records, the same for any number of processes. It takes one sum, of a number a cell.
    ///
    /// # Errors
    /// As [`fit_cpts`](Self::fit_cpts), which names the row by its place among all; [`Error::Invalid`] for another number of records than
    /// that of the shards, and for processes with other graphs or priors.
    pub fn fit_cpts_spread(
        &self,
        own: ArrayView2<'_, usize>,
        prior: Prior,
        shards: &Shards<'_>,
    ) -> Result<BayesNet, Error> {
        prior.check()?;
        Invalid::check_length("records of the shards", own.nrows(), shards.rows())?;
        self.check_data(own, shards.before(), false)?;
        let families: Vec<_> = self.variables().map(|v| self.parents_of(v)).collect();
        let settings = format!("{prior:?}, states: {:?}, parents: {families:?}", self.cards);
        shards.communicator().check_alike("prior and graph", &settings)?;
        let mut counts = self.no_counts();
        shards.sum(&mut counts, &|_, rows, counts| {
            self.count(own.slice_axis(Axis(0), Slice::from(rows)), counts);
            0.0
        });
        Ok(self.counted(&counts, prior))
    }

    /// A zero for every cell of every table.
    fn no_counts(&self) -> Vec<f64> {
        vec![0.0; self.variables().map(|v| self.cpt_of(v).len()).sum()]
    }

    /// Adds the counts `N_rk` of all tables, one table after the other.
    fn count(&self, records: ArrayView2<'_, usize>, counts: &mut [f64]) {
        let mut start = 0;
        for v in self.variables() {
            let (parents, k) = (self.parents_of(v), self.cards[v.index()]);
            for record in records.rows() {
                let state = |r: usize, p: &VarId| r * self.cards[p.index()] + record[p.index()];
                let row = parents.iter().fold(0, state);
                counts[start + row * k + record[v.index()]] += 1.0;
            }
            start += self.cpt_of(v).len();
        }
    }

    /// The network whose tables are the posterior means given all counts.
    fn counted(&self, mut counts: &[f64], prior: Prior) -> BayesNet {
        let mut fitted = self.clone();
        for v in self.variables() {
            let k = self.cards[v.index()];
            let (table, others) = counts.split_at(self.cpt_of(v).len());
            counts = others;
            let alpha = prior.cell((table.len() / k) as f64, k as f64);
            let mut values = vec![1.0 / k as f64; table.len()];
            for (out, seen) in values.chunks_mut(k).zip(table.chunks(k)) {
                let records: f64 = seen.iter().sum();
                if records > 0.0 {
                    let total = records + alpha * k as f64;
                    out.iter_mut().zip(seen).for_each(|(p, n)| *p = (n + alpha) / total);
                }
            }
            fitted.cpts[v.index()] = Cpt::new(self.parents_of(v).to_vec(), values, k);
        }
        fitted
    }

    /// The log-likelihood `sum_rows log P(row)` in nats; `-inf` if a row is impossible.
    ///
    /// # Errors
    /// [`Error::Cell`], which names row and column, for a value that is missing or no state; [`Error::Invalid`] for another number
    /// of columns.
    pub fn log_likelihood(&self, data: ArrayView2<'_, usize>) -> Result<f64, Error> {
        self.check_data(data, 0, false)?;
        let one = |row: ArrayView1<'_, usize>| self.log_probability(&row.to_vec());
        data.rows().into_iter().map(one).sum()
    }
}
