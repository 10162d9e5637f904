//! Exact queries, computed from the relevant part of the network only.
//!
//! Every row of a table counts as divided by its sum. So the parts that are left out sum to 1, and all queries agree up to
//! rounding whatever they leave out.
//!
//! An [`Inference`] holds the settings of elimination orders. The queries of a [`BayesNet`] are those of an inference with
//! default settings.

use std::collections::BTreeMap;

use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;

use super::{BayesNet, Findings};
use crate::{
    Dag, Error, Evidence, FactorGraph, Finding, JunctionTree, OrderingOptions, Table, VarId,
    variable_elimination,
};

/// A most probable explanation, from [`BayesNet::most_probable`] or [`BayesNet::marginal_map`].
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// The variables of the query.
    pub variables: Vec<VarId>,
    /// Their states, in the same order.
    pub states: Vec<usize>,
    /// `ln P(states, evidence)`, in nats; subtract [`BayesNet::log_evidence`] for the posterior.
    pub log_joint: f64,
}

/// A network together with settings for its queries, from [`BayesNet::inference`].
///
/// Its methods are those of [`BayesNet`] with the same names, and are documented there.
///
/// ```
/// use fenchel_graphical::{Heuristic, OrderingOptions, networks};
///
/// let net = networks::alarm();
/// let ordering = OrderingOptions { heuristic: Heuristic::MinFill, max_memory: Some(1 << 20), ..Default::default() };
/// let answer = net.inference(&ordering).query(&["LVFAILURE"], &[("HISTORY", "TRUE")])?;
/// assert!(answer.probability(&["TRUE"])? > 0.5);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Inference<'a> {
    pub(super) net: &'a BayesNet,
    ordering: OrderingOptions,
}

impl BayesNet {
    /// Queries with a given elimination order and memory limit.
    pub fn inference(&self, ordering: &OrderingOptions) -> Inference<'_> {
        Inference { net: self, ordering: ordering.clone() }
    }

    pub(super) fn default_inference(&self) -> Inference<'_> {
        self.inference(&OrderingOptions::default())
    }

    /// Computes `P(query | evidence)` as one table over the sorted query.
    ///
    /// Barren variables, and variables that the evidence separates from the query, are removed before any table is multiplied.
    /// The cost is exponential in the width of the remaining graph and in the size of the query.
    ///
    /// Evidence about removed variables can be impossible only if a table of these variables or their ancestors contains a 0.
    /// Only in this case the probability of that evidence is computed too, as in [`log_evidence`](Self::log_evidence).
    ///
    /// ```
    /// use fenchel_graphical::networks::asia;
    ///
    /// let net = asia();
    /// let lung = net.variable("lung")?;
    /// assert!((net.posterior(&[lung], &[("smoke", "yes")])?.values()[0] - 0.1).abs() < 1e-15);
    /// # Ok::<(), fenchel_graphical::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::UnknownVariable`], [`Error::RepeatedVariable`]; those of the names; what [`Evidence::check`] refuses;
    /// [`Error::ImpossibleEvidence`]; [`Error::Refused`] for too much memory.
    pub fn posterior<F: Findings + ?Sized>(
        &self,
        query: &[VarId],
        evidence: &F,
    ) -> Result<Table, Error> {
        self.default_inference().posterior(query, evidence)
    }

    /// Computes `P(x_v | evidence)` for every variable `v` with one junction tree.
    ///
    /// For many queries with different evidence, compile a [`JunctionTree`] of [`factor_graph`](Self::factor_graph) once and
    /// calibrate it each time.
    ///
    /// # Errors
    /// Those of the names; what [`Evidence::check`] refuses; [`Error::ImpossibleEvidence`]; [`Error::Refused`] for too much
    /// memory.
    pub fn posteriors<F: Findings + ?Sized>(&self, evidence: &F) -> Result<Vec<Vec<f64>>, Error> {
        self.default_inference().posteriors(evidence)
    }

    /// Computes `ln P(evidence)` in nats. Soft evidence counts with its likelihoods.
    ///
    /// Only the ancestors of the evidence are used.
    ///
    /// # Errors
    /// As [`posteriors`](Self::posteriors).
    pub fn log_evidence<F: Findings + ?Sized>(&self, evidence: &F) -> Result<f64, Error> {
        self.default_inference().log_evidence(evidence)
    }

    /// The configuration of all variables that is most probable given the evidence (MPE).
    ///
    /// # Errors
    /// As [`posteriors`](Self::posteriors).
    pub fn most_probable<F: Findings + ?Sized>(&self, evidence: &F) -> Result<Explanation, Error> {
        self.default_inference().most_probable(evidence)
    }

    /// The `k` most probable configurations of all variables given the evidence, most probable first. There are fewer if fewer
    /// are possible. Configurations of equal probability come in the order of
    /// [`MaxCalibrated::ranking`](crate::MaxCalibrated::ranking).
    ///
    /// ```
    /// let net = fenchel_graphical::networks::asia();
    /// let best = net.most_probable_k(3, &[("dysp", "yes")])?;
    /// assert_eq!(best[0], net.most_probable(&[("dysp", "yes")])?);
    /// assert!(best[0].log_joint >= best[1].log_joint && best[1].log_joint >= best[2].log_joint);
    /// # Ok::<(), fenchel_graphical::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`posteriors`](Self::posteriors); [`Error::Invalid`] for `k = 0`.
    pub fn most_probable_k<F: Findings + ?Sized>(
        &self,
        k: usize,
        evidence: &F,
    ) -> Result<Vec<Explanation>, Error> {
        self.default_inference().most_probable_k(k, evidence)
    }

    /// The most probable joint state of the query given the evidence, with all other variables summed out (marginal MAP).
    ///
    /// ```text
    /// argmax over x_Q of sum over the others of P(x, e)
    /// ```
    ///
    /// The result may differ from the states in [`most_probable`](Self::most_probable) and from the modes of the single
    /// posteriors. All sums come before the first maximum, so that the tables may be much larger than for either of these: in
    /// the worst case as large as the joint table of the query. The states are in the order of `query`.
    ///
    /// Source: Park and Darwiche, J. Artificial Intelligence Research 21, 2004.
    ///
    /// # Errors
    /// As [`posterior`](Self::posterior); [`Error::Refused`] before any table is multiplied.
    pub fn marginal_map<F: Findings + ?Sized>(
        &self,
        query: &[VarId],
        evidence: &F,
    ) -> Result<Explanation, Error> {
        self.default_inference().marginal_map(query, evidence)
    }

    /// Whether evidence about variables outside the kept tables could have probability 0, because a table of their ancestors
    /// contains a 0.
    fn may_be_impossible_beyond(&self, kept: &[bool], evidence: &Evidence) -> Result<bool, Error> {
        let beyond = evidence.iter().map(|(v, _)| v.0).filter(|&v| !kept[v as usize]);
        let above = self.dag.ancestors(&beyond.collect::<Vec<u32>>())?;
        let has_zero = |v: VarId| self.cpt_of(v).contains(&0.0);
        let doubtful = |finding: &Finding| match finding {
            Finding::State(_) => false,
            Finding::Likelihood(likelihood) => likelihood.contains(&0.0),
        };
        let soft = evidence.iter().any(|(v, finding)| above[v.index()] && doubtful(finding));
        Ok(soft || self.variables().any(|v| above[v.index()] && has_zero(v)))
    }

    /// The tables on which the posterior of the query depends. Soft evidence counts as an observed child.
    fn relevant(&self, query: &[VarId], evidence: &Evidence) -> Result<Vec<bool>, Error> {
        let query: Vec<u32> = query.iter().map(|v| v.0).collect();
        let mut observed = Vec::new();
        let mut children: Vec<(u32, u32)> = Vec::new();
        for (variable, finding) in evidence.iter() {
            match finding {
                Finding::State(_) => observed.push(variable.0),
                Finding::Likelihood(_) => {
                    let child = (self.len() + children.len()) as u32;
                    children.push((variable.0, child));
                    observed.push(child);
                }
            }
        }
        if children.is_empty() {
            return self.dag.requisite(&query, &observed);
        }
        let nodes = self.len() + children.len();
        let mut kept =
            Dag::new(nodes, self.dag.arcs().chain(children))?.requisite(&query, &observed)?;
        kept.truncate(self.len());
        Ok(kept)
    }

    /// The product of some tables, and the evidence about their variables. All other variables have one
    /// state.
    fn part(
        &self,
        kept: &[bool],
        query: &[VarId],
        evidence: &Evidence,
    ) -> Result<(FactorGraph, Evidence), Error> {
        let mut cards = vec![1; self.len()];
        let tables = || self.variables().filter(|v| kept[v.index()]);
        let scopes = tables().flat_map(|v| self.scope(v));
        for v in scopes.chain(query.iter().copied()) {
            cards[v.index()] = self.cards[v.index()];
        }
        let mut model = FactorGraph::new(&cards)?;
        for v in tables() {
            model.add_values(&self.scope(v), &self.probabilities(v))?;
        }
        let mut inside = Evidence::new();
        for (v, finding) in evidence.iter() {
            if cards[v.index()] == self.cards[v.index()] {
                inside.set(v, finding.clone());
            }
        }
        Ok((model, inside))
    }
}

impl Inference<'_> {
    /// As [`BayesNet::posterior`].
    ///
    /// # Errors
    /// As there; [`Error::Invalid`] for no restarts.
    pub fn posterior<F: Findings + ?Sized>(
        &self,
        query: &[VarId],
        evidence: &F,
    ) -> Result<Table, Error> {
        let (net, evidence) = (self.net, self.evidence(evidence)?);
        for &variable in query {
            net.check(variable)?;
        }
        let kept = net.relevant(query, &evidence)?;
        if net.may_be_impossible_beyond(&kept, &evidence)? {
            self.log_evidence(&evidence)?;
        }
        let (model, evidence) = net.part(&kept, query, &evidence)?;
        variable_elimination(&model, query, &evidence, &self.ordering)
    }

    /// As [`BayesNet::posteriors`].
    ///
    /// # Errors
    /// As there; [`Error::Invalid`] for no restarts.
    pub fn posteriors<F: Findings + ?Sized>(&self, evidence: &F) -> Result<Vec<Vec<f64>>, Error> {
        let (net, evidence) = (self.net, self.evidence(evidence)?);
        let model = net.factor_graph()?.condition(&evidence)?;
        let tree = JunctionTree::compile(&model, &self.ordering)?;
        let mut workspace = tree.workspace();
        let calibrated = tree.calibrate(&model, &Evidence::new(), &mut workspace)?;
        let mut marginals = calibrated.marginals();
        for (variable, finding) in evidence.iter() {
            if let &Finding::State(state) = finding {
                let certain = &mut marginals[variable.index()];
                certain.clear();
                certain.resize(net.cards[variable.index()], 0.0);
                certain[state] = 1.0;
            }
        }
        Ok(marginals)
    }

    /// As [`BayesNet::log_evidence`].
    ///
    /// # Errors
    /// As there; [`Error::Invalid`] for no restarts.
    pub fn log_evidence<F: Findings + ?Sized>(&self, evidence: &F) -> Result<f64, Error> {
        let (net, evidence) = (self.net, self.evidence(evidence)?);
        let observed: Vec<u32> = evidence.iter().map(|(v, _)| v.0).collect();
        let kept = net.dag.ancestors(&observed)?;
        let (model, evidence) = net.part(&kept, &[], &evidence)?;
        let model = model.condition(&evidence)?;
        let tree = JunctionTree::compile(&model, &self.ordering)?;
        let mut workspace = tree.workspace();
        Ok(tree.calibrate(&model, &Evidence::new(), &mut workspace)?.log_partition())
    }

    /// As [`BayesNet::most_probable`].
    ///
    /// # Errors
    /// As there; [`Error::Invalid`] for no restarts.
    pub fn most_probable<F: Findings + ?Sized>(&self, evidence: &F) -> Result<Explanation, Error> {
        self.most_probable_k(1, evidence)?.pop().ok_or(Error::ImpossibleEvidence)
    }

    /// As [`BayesNet::most_probable_k`].
    ///
    /// # Errors
    /// As there; [`Error::Invalid`] for no restarts.
    pub fn most_probable_k<F: Findings + ?Sized>(
        &self,
        k: usize,
        evidence: &F,
    ) -> Result<Vec<Explanation>, Error> {
        let (net, evidence) = (self.net, self.evidence(evidence)?);
        Invalid::check_positive("k", k as f64)?;
        let model = net.factor_graph()?.condition(&evidence)?;
        let tree = JunctionTree::compile(&model, &self.ordering)?;
        let mut workspace = tree.workspace();
        let best = tree.calibrate_max(&model, &Evidence::new(), &mut workspace)?;
        let explain = |(log_joint, mut states): (f64, Vec<usize>)| {
            for (variable, finding) in evidence.iter() {
                if let &Finding::State(state) = finding {
                    states[variable.index()] = state;
                }
            }
            Explanation { variables: net.variables().collect(), states, log_joint }
        };
        let found: Vec<Explanation> = best.ranking().take(k).map(explain).collect();
        if found.is_empty() { Err(Error::ImpossibleEvidence) } else { Ok(found) }
    }

    /// As [`BayesNet::marginal_map`].
    ///
    /// # Errors
    /// As there.
    pub fn marginal_map<F: Findings + ?Sized>(
        &self,
        query: &[VarId],
        evidence: &F,
    ) -> Result<Explanation, Error> {
        let (net, evidence) = (self.net, self.evidence(evidence)?);
        for (i, &variable) in query.iter().enumerate() {
            net.check(variable)?;
            if query[..i].contains(&variable) {
                return Err(Error::RepeatedVariable { variable });
            }
        }
        let observed = evidence.iter().map(|(v, _)| v);
        let named: Vec<u32> = query.iter().copied().chain(observed).map(|v| v.0).collect();
        let kept = net.dag.ancestors(&named)?;
        let (model, evidence) = net.part(&kept, query, &evidence)?;
        let mut tables = model.condition(&evidence)?.factors().to_vec();
        let free = |v: &VarId| evidence.state(*v).is_none();
        let hidden = net.variables().filter(|v| kept[v.index()] && !query.contains(v) && free(v));
        let asked = query.iter().copied().filter(free).collect();
        let [hidden, asked] = plan(&tables, [hidden.collect(), asked], self.ordering.max_memory)?;
        eliminate(&mut tables, hidden, |product, keep, _| product.marginalize_sum(keep))?;
        let mut trace = Vec::new();
        eliminate(&mut tables, asked, |product, keep, v| {
            let rest = product.marginalize_max(keep);
            trace.push((v, product));
            rest
        })?;
        let log_joint: f64 = tables.iter().map(|table| table.log_values()[0]).sum();
        if log_joint == f64::NEG_INFINITY {
            return Err(Error::ImpossibleEvidence);
        }
        // The last maximum first: its table depends on nothing else.
        let mut found = evidence.clone();
        for (v, product) in trace.into_iter().rev() {
            let state = product.reduce(&hard(&found))?.argmax()[0];
            found.set(v, Finding::State(state));
        }
        let states = query.iter().filter_map(|&v| found.state(v)).collect();
        Ok(Explanation { variables: query.to_vec(), states, log_joint })
    }

    fn evidence<F: Findings + ?Sized>(&self, findings: &F) -> Result<Evidence, Error> {
        let evidence = findings.evidence(self.net)?;
        evidence.check(&self.net.cards)?;
        Ok(evidence)
    }
}

/// The hard part of the evidence.
fn hard(evidence: &Evidence) -> Evidence {
    evidence.iter().filter_map(|(v, _)| evidence.state(v).map(|state| (v, state))).collect()
}

/// The order in which two groups of variables are eliminated, the first one whole before the second: next the one whose table
/// is smallest.
///
/// # Errors
/// [`Error::Refused`] if a table on the way takes more than tables may.
fn plan(
    tables: &[Table],
    groups: [Vec<VarId>; 2],
    max_memory: Option<u64>,
) -> Result<[Vec<VarId>; 2], Error> {
    type Scope = BTreeMap<VarId, usize>;
    let mut scopes: Vec<Scope> = tables
        .iter()
        .map(|t| t.scope().iter().copied().zip(t.cards().iter().copied()).collect())
        .collect();
    let joined = |scopes: &[Scope], v: VarId| -> Scope {
        scopes
            .iter()
            .filter(|scope| scope.contains_key(&v))
            .flatten()
            .map(|(&u, &k)| (u, k))
            .collect()
    };
    let mut ordered = [Vec::new(), Vec::new()];
    for (mut variables, order) in groups.into_iter().zip(&mut ordered) {
        while !variables.is_empty() {
            let size = |scope: &Scope| scope.values().map(|&card| card as f64).product::<f64>();
            let costs: Vec<f64> = variables.iter().map(|&v| size(&joined(&scopes, v))).collect();
            let next = (0..costs.len()).min_by(|&i, &j| costs[i].total_cmp(&costs[j])).unwrap_or(0);
            let v = variables.swap_remove(next);
            let hint = "ask for fewer variables, or for the states of most_probable";
            // A cast saturates, which is what is wanted.
            let needed = (8.0 * costs[next]) as u64;
            Refusal::check_memory("a table of marginal_map", needed, max_memory, hint)?;
            let mut scope = joined(&scopes, v);
            scope.remove(&v);
            scopes.retain(|scope| !scope.contains_key(&v));
            scopes.push(scope);
            order.push(v);
        }
    }
    Ok(ordered)
}

/// Eliminates variables in this order: multiplies the tables that contain one and replaces them by what `rest` makes of the
/// product.
fn eliminate(
    tables: &mut Vec<Table>,
    variables: Vec<VarId>,
    mut rest: impl FnMut(Table, &[VarId], VarId) -> Result<Table, Error>,
) -> Result<(), Error> {
    for v in variables {
        let (inside, outside) = tables.drain(..).partition(|t: &Table| t.scope().contains(&v));
        *tables = outside;
        let mut product = Table::constant(0.0)?;
        for table in inside {
            product = product.product(&table)?;
        }
        let keep: Vec<VarId> = product.scope().iter().copied().filter(|&u| u != v).collect();
        tables.push(rest(product, &keep, v)?);
    }
    Ok(())
}
