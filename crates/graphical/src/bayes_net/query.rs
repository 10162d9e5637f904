//! Exact queries, computed from the relevant part of the network only.
//!
//! Every row of a table counts as divided by its sum. So the parts that are left out sum to 1, and all queries agree up to
//! rounding whatever they leave out.

use fenchel_linalg::Invalid;

use super::{BayesNet, Findings};
use crate::elimination::{eliminate, order_of};
use crate::table::Dense;
use crate::table::semiring::{LogMax, LogSum};
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

impl BayesNet {
    /// The same network, whose queries use another elimination order or memory limit.
    ///
    /// ```
    /// use fenchel_graphical::{Heuristic, OrderingOptions, networks};
    ///
    /// let ordering = OrderingOptions { heuristic: Heuristic::MinFill, max_memory: Some(1 << 20), ..Default::default() };
    /// let net = networks::alarm().with_ordering(ordering);
    /// let answer = net.query(&["LVFAILURE"], &[("HISTORY", "TRUE")])?;
    /// assert!(answer.probability(&["TRUE"])? > 0.5);
    /// # Ok::<(), fenchel_graphical::Error>(())
    /// ```
    #[must_use]
    pub fn with_ordering(self, ordering: OrderingOptions) -> BayesNet {
        BayesNet { ordering, ..self }
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
        let evidence = self.checked(evidence)?;
        for &variable in query {
            self.check(variable)?;
        }
        let kept = self.relevant(query, &evidence)?;
        if self.may_be_impossible_beyond(&kept, &evidence)? {
            self.log_evidence(&evidence)?;
        }
        let (model, evidence) = self.part(&kept, query, &evidence)?;
        variable_elimination(&model, query, &evidence, &self.ordering)
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
        let evidence = self.checked(evidence)?;
        let model = self.factor_graph()?.condition(&evidence)?;
        let tree = JunctionTree::compile(&model, &self.ordering)?;
        let mut workspace = tree.workspace();
        let calibrated = tree.calibrate(&model, &Evidence::new(), &mut workspace)?;
        let mut marginals = calibrated.marginals();
        for (variable, finding) in evidence.iter() {
            if let &Finding::State(state) = finding {
                let certain = &mut marginals[variable.index()];
                certain.clear();
                certain.resize(self.cards[variable.index()], 0.0);
                certain[state] = 1.0;
            }
        }
        Ok(marginals)
    }

    /// Computes `ln P(evidence)` in nats. Soft evidence counts with its likelihoods.
    ///
    /// Only the ancestors of the evidence are used.
    ///
    /// # Errors
    /// As [`posteriors`](Self::posteriors).
    pub fn log_evidence<F: Findings + ?Sized>(&self, evidence: &F) -> Result<f64, Error> {
        let evidence = self.checked(evidence)?;
        let observed: Vec<u32> = evidence.iter().map(|(v, _)| v.0).collect();
        let kept = self.dag.ancestors(&observed)?;
        let (model, evidence) = self.part(&kept, &[], &evidence)?;
        let model = model.condition(&evidence)?;
        let tree = JunctionTree::compile(&model, &self.ordering)?;
        let mut workspace = tree.workspace();
        Ok(tree.calibrate(&model, &Evidence::new(), &mut workspace)?.log_partition())
    }

    /// The configuration of all variables that is most probable given the evidence (MPE).
    ///
    /// # Errors
    /// As [`posteriors`](Self::posteriors).
    pub fn most_probable<F: Findings + ?Sized>(&self, evidence: &F) -> Result<Explanation, Error> {
        self.most_probable_k(1, evidence)?.pop().ok_or(Error::ImpossibleEvidence)
    }

    /// The `k` most probable configurations of all variables given the evidence, most probable first. There are fewer if fewer
    /// are possible. Configurations of equal probability come in the order of
    /// [`MaxCalibrated::ranking`](crate::junction_tree::MaxCalibrated::ranking).
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
        let evidence = self.checked(evidence)?;
        Invalid::check_count("k", k)?;
        let model = self.factor_graph()?.condition(&evidence)?;
        let tree = JunctionTree::compile(&model, &self.ordering)?;
        let mut workspace = tree.workspace();
        let best = tree.calibrate_max(&model, &Evidence::new(), &mut workspace)?;
        let explain = |(log_joint, mut states): (f64, Vec<usize>)| {
            for (variable, finding) in evidence.iter() {
                if let &Finding::State(state) = finding {
                    states[variable.index()] = state;
                }
            }
            Explanation { variables: self.variables().collect(), states, log_joint }
        };
        let found: Vec<Explanation> = best.ranking().take(k).map(explain).collect();
        if found.is_empty() { Err(Error::ImpossibleEvidence) } else { Ok(found) }
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
        let evidence = self.checked(evidence)?;
        for (i, &variable) in query.iter().enumerate() {
            self.check(variable)?;
            if query[..i].contains(&variable) {
                return Err(Error::RepeatedVariable { variable });
            }
        }
        let observed = evidence.iter().map(|(v, _)| v);
        let named: Vec<u32> = query.iter().copied().chain(observed).map(|v| v.0).collect();
        let kept = self.dag.ancestors(&named)?;
        let (model, evidence) = self.part(&kept, query, &evidence)?;
        let free = |v: &VarId| evidence.state(*v).is_none();
        let asked: Vec<VarId> = query.iter().copied().filter(free).collect();
        let given = model.condition(&evidence)?;
        let mut tables: Vec<Dense> = given.factors().iter().map(|t| t.dense().clone()).collect();
        let mut hidden = order_of(&tables, &asked, &self.ordering)?;
        let asked: Vec<VarId> = hidden.extract_if(.., |v| asked.contains(v)).collect();
        eliminate::<LogSum>(&mut tables, &hidden, |_, _| {})?;
        let mut products = Vec::new();
        eliminate::<LogMax>(&mut tables, &asked, |v, product| products.push((v, product)))?;
        let log_joint: f64 = tables.iter().map(|table| table.values()[0]).sum();
        if log_joint == f64::NEG_INFINITY {
            return Err(Error::ImpossibleEvidence);
        }
        // The last maximum first: its table depends on nothing else.
        let mut found = evidence;
        for (v, mut product) in products.into_iter().rev() {
            for (u, state) in found.states() {
                product.fix(u, state)?;
            }
            found.set(v, Finding::State(product.argmax()[0]));
        }
        let states = query.iter().filter_map(|&v| found.state(v)).collect();
        Ok(Explanation { variables: query.to_vec(), states, log_joint })
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

    fn checked<F: Findings + ?Sized>(&self, findings: &F) -> Result<Evidence, Error> {
        let evidence = findings.evidence(self)?;
        evidence.check(&self.cards)?;
        Ok(evidence)
    }
}
