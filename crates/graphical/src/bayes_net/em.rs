//! The EM algorithm: tables from records with missing values.
//!
//! ```text
//! L(theta) = sum over records of ln P(what is observed | theta) + sum over cells of alpha ln theta
//! E: N_rk = sum over records of P(parents = r, child = k | what is observed, theta)
//! M: theta_rk = (N_rk + alpha_rk) / (N_r + alpha_r)
//! ```
//!
//! `alpha` are the pseudo-counts of the [`Prior`]. No step lowers the objective `L`, and all its values are stored in
//! [`EmFit::objectives`]. If no value is missing, one step gives the same tables as [`BayesNet::fit_cpts`]. If many values are
//! missing, or a variable is never observed, `L` has many local maxima and saddle points. For example, if all tables are
//! uniform at the start, a variable that is never observed stays independent of all others. The default start is therefore
//! random tables. Run the method with several seeds and keep the best objective.
//!
//! The method assumes that values are missing at random: whether a value is missing may depend on observed values, but not on
//! the value itself.
//!
//! A step costs one calibration of a junction tree for each distinct record with missing values. Complete records are counted
//! once, before the first step.
//!
//! Source: Dempster, Laird and Rubin, J. Royal Statistical Society B 39 (1977); Lauritzen, Computational Statistics and Data
//! Analysis 19 (1995).

use std::collections::BTreeMap;

use fenchel_linalg::Invalid;
use fenchel_optim::random::stream;
use fenchel_optim::{
    Certificate, CertificateCost, Fit, Iterative, Report, Status, Stop, run, settings,
};
use ndarray::{ArrayView1, ArrayView2};
use rand::RngExt;

use super::{BayesNet, Cpt, MISSING, Prior};
use crate::{Error, Evidence, JunctionTree, OrderingOptions, Table, VarId};

settings! {
    /// The EM algorithm with its settings.
    ///
    /// ```
    /// use fenchel_graphical::bayes_net::Em;
    /// use fenchel_graphical::{BayesNet, MISSING};
    /// use ndarray::array;
    ///
    /// let graph = BayesNet::builder().variable("a", &["0", "1"]).arcs("a", &[]).build()?;
    /// let data = array![[0], [1], [0], [MISSING]];
    /// let fit = Em::default().fit(&graph, data.view())?;
    /// assert!((fit.net.cpt_of(graph.variable("a")?)[0] - 2.0 / 3.0).abs() < 1e-5);
    /// # Ok::<(), fenchel_graphical::Error>(())
    /// ```
    pub struct Em {
        /// Pseudo-counts; 0 is maximum likelihood.
        prior: Prior = Prior::Dirichlet(0.0),
        /// Seed of the tables at the start, whose rows are drawn uniformly from all distributions.
        seed: u64 = 0,
        /// Elimination order and memory limit of the junction tree.
        ordering: OrderingOptions = OrderingOptions::default(),
        /// When to end; the residual is the largest change of a probability in the next step.
        stop: Stop = Stop { absolute: 1e-6, relative: 0.0, ..Stop::default() },
    }
}

/// What [`Em`] found.
#[derive(Debug, Clone, PartialEq)]
pub struct EmFit {
    /// The network with the fitted tables.
    pub net: BayesNet,
    /// `sum ln P(what is observed)` at these tables, in nats.
    pub log_likelihood: f64,
    /// `L` before the first step and after every step. Up to rounding the values never decrease.
    pub objectives: Vec<f64>,
    /// How the run ended. Its objective is `-L`.
    pub report: Report,
}

impl Em {
    /// Returns the network with the same graph and with tables fitted to records in which some values are [`MISSING`].
    ///
    /// # Errors
    /// [`Error::Cell`] for a value that is neither a state nor missing, and for a record that is impossible under the tables of
    /// the start; [`Error::Refused`] for a junction tree that takes too much memory; [`Error::Invalid`] for no records under a
    /// prior without pseudo-counts, and for settings out of range.
    pub fn fit(&self, net: &BayesNet, data: ArrayView2<'_, usize>) -> Result<EmFit, Error> {
        self.fit_with(net, data, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the records, tables to start from, and a closure that watches. A probability of 0
    /// in the tables of the start stays 0 if the prior is 0.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Error::Invalid`] for weights that are negative or not one a record, and for a start with another
    /// graph or other numbers of states.
    pub fn fit_with(
        &self,
        net: &BayesNet,
        data: ArrayView2<'_, usize>,
        fit: Fit<'_, BayesNet>,
    ) -> Result<EmFit, Error> {
        let Fit { weights, start, mut watch, .. } = fit;
        self.prior.check()?;
        net.check_data(data, 0, true)?;
        self.prior.check_records(data.nrows())?;
        if let Some(weights) = weights {
            Invalid::check_weights("weights", data.nrows(), weights.iter())?;
        }
        let tables = match start {
            None => net.random_tables(self.seed),
            Some(start) => {
                let same = start.cards == net.cards
                    && net.variables().all(|v| start.parents_of(v) == net.parents_of(v));
                if !same {
                    let reason = "another graph or other numbers of states".to_string();
                    return Err(Invalid::Layout { what: "start", reason }.into());
                }
                BayesNet { cpts: start.cpts.clone(), ..net.clone() }
            }
        };
        let mut method = EmMethod::new(tables, data, weights, self)?;
        let report = run(&mut method, &self.stop, &mut watch)?;
        let EmMethod { net, log_likelihood, objectives, .. } = method;
        Ok(EmFit { net, log_likelihood, objectives, report })
    }
}

impl BayesNet {
    /// All tables drawn uniformly.
    fn random_tables(&self, seed: u64) -> BayesNet {
        let mut net = self.clone();
        let mut random = stream(seed, 0);
        for v in self.variables() {
            let states = self.cards[v.index()];
            let mut values: Vec<f64> =
                self.cpt_of(v).iter().map(|_| -(1.0 - random.random::<f64>()).ln()).collect();
            super::renormalise(&mut values, states);
            net.cpts[v.index()] = Cpt::new(self.parents_of(v).to_vec(), values, states);
        }
        net
    }
}

/// A record with missing values, and how often it occurs.
struct Record {
    evidence: Evidence,
    weight: f64,
    /// The families with a missing value.
    open: Vec<VarId>,
}

struct EmMethod {
    net: BayesNet,
    prior: Prior,
    tree: JunctionTree,
    records: Vec<Record>,
    /// Counts per table from complete records, and from the complete families of incomplete records.
    complete: Vec<Vec<f64>>,
    known: Vec<Vec<f64>>,
    /// Expected counts under the current tables.
    expected: Vec<Vec<f64>>,
    log_likelihood: f64,
    objectives: Vec<f64>,
    calibrations: u64,
    stalled: bool,
}

impl EmMethod {
    fn new(
        net: BayesNet,
        data: ArrayView2<'_, usize>,
        weights: Option<ArrayView1<'_, f64>>,
        settings: &Em,
    ) -> Result<EmMethod, Error> {
        let zeros = || net.variables().map(|v| vec![0.0; net.cpt_of(v).len()]).collect::<Vec<_>>();
        let (mut complete, mut known) = (zeros(), zeros());
        // In an order of their own: the sums do not depend on the order of the records.
        let mut different: BTreeMap<Vec<usize>, (f64, usize)> = BTreeMap::new();
        for (row, record) in data.rows().into_iter().enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[row]);
            if weight > 0.0 {
                different.entry(record.to_vec()).or_insert((0.0, row)).0 += weight;
            }
        }
        let (mut records, mut rows) = (Vec::new(), Vec::new());
        for (record, (weight, row)) in different {
            let misses = |v: &VarId| record[v.index()] == MISSING;
            let whole = !record.contains(&MISSING);
            let counts = if whole { &mut complete } else { &mut known };
            let mut open = Vec::new();
            for v in net.variables() {
                if net.scope(v).iter().any(misses) {
                    open.push(v);
                } else {
                    let add = |at, u: &VarId| at * net.cards[u.index()] + record[u.index()];
                    counts[v.index()][net.scope(v).iter().fold(0, add)] += weight;
                }
            }
            if !whole {
                let seen = record.iter().enumerate().filter(|cell| *cell.1 != MISSING);
                let evidence = seen.map(|(v, &state)| (VarId(v as u32), state)).collect();
                records.push(Record { evidence, weight, open });
                rows.push(row);
            }
        }
        let tree = JunctionTree::compile(&net.factor_graph()?, &settings.ordering)?;
        let mut em = EmMethod {
            expected: zeros(),
            net,
            prior: settings.prior,
            tree,
            records,
            complete,
            known,
            log_likelihood: 0.0,
            objectives: Vec::new(),
            calibrations: 0,
            stalled: false,
        };
        em.expect().map_err(|(record, error)| match record {
            Some(record) => Error::cell(rows[record], "(all that are observed)", error),
            None => error,
        })?;
        Ok(em)
    }

    /// Computes the expected counts and the objective under the current tables. The error names a record of probability 0.
    fn expect(&mut self) -> Result<(), (Option<usize>, Error)> {
        let EmMethod { net, prior, tree, records, complete, known, expected, .. } = self;
        let model = net.factor_graph().map_err(|error| (None, error))?;
        let mut workspace = tree.workspace();
        let (mut likelihood, mut penalty) = (0.0, 0.0);
        for v in net.variables() {
            let (table, states) = (net.probabilities(v), net.cards[v.index()]);
            let alpha = prior.cell((table.len() / states) as f64, states as f64);
            // 0 ln 0 is 0.
            let sum = |counts: &[f64]| -> f64 {
                let terms = counts.iter().zip(table.iter()).filter(|(n, _)| **n > 0.0);
                terms.map(|(n, p)| n * p.ln()).sum()
            };
            likelihood += sum(&complete[v.index()]);
            if alpha > 0.0 {
                penalty += alpha * table.iter().map(|p| p.ln()).sum::<f64>();
            }
            let fixed = complete[v.index()].iter().zip(&known[v.index()]);
            expected[v.index()].iter_mut().zip(fixed).for_each(|(out, (a, b))| *out = a + b);
        }
        for (number, record) in records.iter().enumerate() {
            let failed = |error| (Some(number), error);
            let seen = tree.calibrate(&model, &record.evidence, &mut workspace).map_err(failed)?;
            likelihood += record.weight * seen.log_partition();
            for &v in &record.open {
                let joint = seen.joint_marginal(&net.scope(v)).map_err(failed)?;
                add(net, v, &joint, record.weight, &mut expected[v.index()]);
            }
        }
        self.calibrations += records.len() as u64;
        self.log_likelihood = likelihood;
        self.objectives.push(likelihood + penalty);
        Ok(())
    }

    /// The next tables. A row without counts becomes uniform.
    fn maximise(&self) -> Vec<Vec<f64>> {
        let next = |v: VarId| {
            let (counts, states) = (&self.expected[v.index()], self.net.cards[v.index()]);
            let alpha = self.prior.cell((counts.len() / states) as f64, states as f64);
            let row = |counts: &[f64]| -> Vec<f64> {
                let total = counts.iter().sum::<f64>() + alpha * states as f64;
                if total > 0.0 {
                    counts.iter().map(|n| (n + alpha) / total).collect()
                } else {
                    vec![1.0 / states as f64; states]
                }
            };
            counts.chunks_exact(states).flat_map(row).collect()
        };
        self.net.variables().map(next).collect()
    }
}

/// Adds `weight` times a joint table over the sorted family to counts in the order of the family's table.
fn add(net: &BayesNet, v: VarId, joint: &Table, weight: f64, counts: &mut [f64]) {
    let scope = net.scope(v);
    let stride = |u: &VarId| {
        let at = scope.iter().position(|w| w == u).unwrap_or(0);
        scope[at + 1..].iter().map(|w| net.cards[w.index()]).product::<usize>()
    };
    let strides: Vec<usize> = joint.scope().iter().map(stride).collect();
    for (cell, log) in joint.log_values().iter().enumerate() {
        if *log > f64::NEG_INFINITY {
            let states = joint.dense().states_of(cell);
            let at: usize = states.iter().zip(&strides).map(|(state, stride)| state * stride).sum();
            counts[at] += weight * log.exp();
        }
    }
}

impl Iterative for EmMethod {
    fn advance(&mut self, passes: f64) -> f64 {
        let passes = passes.round().max(1.0);
        for _ in 0..passes as u64 {
            let before = self.net.cpts.clone();
            for (v, values) in self.maximise().into_iter().enumerate() {
                let parents = self.net.cpts[v].parents.clone();
                self.net.cpts[v] = Cpt::new(parents, values, self.net.cards[v]);
            }
            // No step makes a record impossible; rounding to 0 could. Then the tables before it are the answer.
            if self.expect().is_err() {
                self.net.cpts = before;
                if self.expect().is_ok() {
                    self.objectives.pop();
                }
                self.stalled = true;
                return passes;
            }
        }
        passes
    }

    fn certify(&mut self) -> Certificate {
        let change = |(v, next): (VarId, Vec<f64>)| {
            let now = self.net.probabilities(v);
            now.iter().zip(&next).fold(0.0_f64, |most, (a, b)| most.max((a - b).abs()))
        };
        let norm = self.net.variables().zip(self.maximise()).map(change).fold(0.0, f64::max);
        let objective = self.objectives.last().copied().unwrap_or(f64::NEG_INFINITY);
        Certificate::residual(-objective, norm, 0.0)
    }

    fn certificate_cost(&self) -> CertificateCost {
        CertificateCost::Free
    }

    fn oracle_calls(&self) -> u64 {
        self.calibrations
    }

    fn verdict(&self) -> Option<Status> {
        self.stalled.then_some(Status::Stalled)
    }
}
