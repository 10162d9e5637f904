//! Queries to a calibrated tree.

use fenchel_linalg::special::xlogx;
use fenchel_linalg::{Invalid, lanes};

use crate::elimination::{OrderingOptions, margin};
use crate::stride::Plan;
use crate::table::semiring::LogSum;
use crate::{Error, FactorId, Table, VarId};

use super::{CliqueMarginals, JunctionTree, Node, Placed, Workspace};

/// A calibrated tree: every table is a marginal given the evidence.
#[derive(Debug)]
pub struct Calibrated<'a> {
    pub(super) tree: &'a JunctionTree,
    pub(super) workspace: &'a Workspace,
}

impl Calibrated<'_> {
    /// The log-partition function of the model with evidence: `log Z(model) + log P(evidence)`.
    pub fn log_partition(&self) -> f64 {
        self.workspace.log_partition
    }

    /// Whether the tables hold logarithms, by request or after a fallback.
    pub fn is_in_logs(&self) -> bool {
        self.workspace.in_logs
    }

    /// `P(x_v | evidence)`.
    ///
    /// # Errors
    /// [`Error::UnknownVariable`].
    pub fn marginal(&self, variable: VarId) -> Result<Vec<f64>, Error> {
        let mut out = vec![0.0; self.card(variable)?];
        self.marginal_into(variable, &mut out)?;
        Ok(out)
    }

    /// Does the same as [`marginal`](Self::marginal), and writes to a slice whose length is the number of states.
    ///
    /// # Errors
    /// [`Error::UnknownVariable`], [`Invalid::Length`].
    pub fn marginal_into(&self, variable: VarId, out: &mut [f64]) -> Result<(), Error> {
        Invalid::check_length("out", self.card(variable)?, out.len())?;
        let reading = &self.tree.readings[variable.index()];
        let tables =
            if reading.of_separator { &self.workspace.separators } else { &self.workspace.tables };
        self.project(&reading.plan, &tables[reading.cells.clone()], out);
        Ok(())
    }

    /// The marginals of all variables.
    pub fn marginals(&self) -> Vec<Vec<f64>> {
        let of = |(v, &card): (usize, &usize)| {
            let mut out = vec![0.0; card];
            // Variable and length fit.
            let _ = self.marginal_into(VarId(v as u32), &mut out);
            out
        };
        self.tree.cards.iter().enumerate().map(of).collect()
    }

    /// The marginal `log P(x_C | evidence)` of a clique, given by its number in [`JunctionTree::cliques`].
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a clique that does not exist.
    pub fn clique(&self, clique: usize) -> Result<Table, Error> {
        let node = self.node(clique)?;
        self.table(&node.scope, &self.workspace.tables[node.table.clone()])
    }

    /// The marginal `log P(x_S | evidence)` of the separator between a clique and its parent. For a root it is a constant.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a clique that does not exist.
    pub fn separator(&self, clique: usize) -> Result<Table, Error> {
        let node = self.node(clique)?;
        if node.shared == 0 {
            return Table::constant(0.0);
        }
        self.table(node.parts().1, &self.workspace.separators[node.separator.clone()])
    }

    /// The marginal `log P(x_f | evidence)` over the scope of a factor.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for a factor that does not exist.
    pub fn factor_marginal(&self, factor: FactorId) -> Result<Table, Error> {
        match self.tree.scopes.get(factor.index()) {
            Some(scope) => self.joint_marginal(scope),
            None => {
                let value = f64::from(factor.0);
                let expected = "the number of a factor";
                Err(Invalid::Parameter { name: "factor", value, expected }.into())
            }
        }
    }

    /// `log P(x_scope | evidence)` for any set of variables. If one clique contains them all, the cost is a pass over it.
    /// Otherwise the part of the tree between the cliques involved is summed out.
    ///
    /// # Errors
    /// [`Error::UnknownVariable`], [`Error::RepeatedVariable`]; [`Error::Refused`] for a scope that is too wide.
    pub fn joint_marginal(&self, scope: &[VarId]) -> Result<Table, Error> {
        for (k, &variable) in scope.iter().enumerate() {
            self.card(variable)?;
            if scope[..k].contains(&variable) {
                return Err(Error::RepeatedVariable { variable });
            }
        }
        let holds = |node: &&Node| scope.iter().all(|v| node.scope.iter().any(|(w, _)| w == v));
        let nodes = self.tree.nodes.iter();
        let Some(node) = nodes.filter(holds).min_by_key(|node| node.table.len()) else {
            return self.distant(scope);
        };
        let mut own: Vec<(VarId, usize)> =
            scope.iter().map(|&v| (v, self.tree.cards[v.index()])).collect();
        own.sort_unstable();
        let mut values = vec![0.0; own.iter().map(|s| s.1).product()];
        let plan = Plan::between(&node.scope, &own);
        self.project(&plan, &self.workspace.tables[node.table.clone()], &mut values);
        let (scope, cards): (Vec<VarId>, Vec<usize>) = own.into_iter().unzip();
        Table::from_values(&scope, &cards, &values)
    }

    /// The log-probability `log P(x | evidence)` of a configuration of all variables.
    ///
    /// # Errors
    /// [`Invalid::Length`], [`Error::State`].
    pub fn log_probability(&self, configuration: &[usize]) -> Result<f64, Error> {
        self.tree.check(configuration)?;
        let mut sum = 0.0;
        for node in &self.tree.nodes {
            let at = |scope: &[(VarId, usize)]| {
                scope.iter().fold(0, |at, (v, card)| at * card + configuration[v.index()])
            };
            let clique = self.log(self.workspace.tables[node.table.start + at(&node.scope)]);
            if clique == f64::NEG_INFINITY {
                return Ok(clique);
            }
            sum += clique;
            if node.shared > 0 {
                let cell = node.separator.start + at(node.parts().1);
                sum -= self.log(self.workspace.separators[cell]);
            }
        }
        Ok(sum)
    }

    /// The entropy of the joint distribution in nats, `sum_C H(mu_C) - sum_S H(mu_S)` (R. Le Priol, PhD thesis 2021, equation
    /// 3.20).
    pub fn entropy(&self) -> f64 {
        let negative = |values: &[f64]| -> f64 {
            let terms = values.iter();
            if self.workspace.in_logs {
                terms.map(|&l| xlogx(l.exp())).sum()
            } else {
                terms.map(|&p| xlogx(p)).sum()
            }
        };
        negative(&self.workspace.separators) - negative(&self.workspace.tables)
    }

    /// The Kullback-Leibler divergence `D(self || other)` in nats from another calibration of the same tree (R. Le Priol, PhD
    /// thesis 2021, equation 3.21). It is infinite if `other` has probability 0 where `self` has not.
    ///
    /// # Errors
    /// [`Invalid::Length`] for a calibration of another tree.
    pub fn kl_to(&self, other: &Calibrated<'_>) -> Result<f64, Error> {
        self.clique_marginals().kl(&other.clique_marginals())
    }

    /// All clique and separator marginals, owned.
    pub fn clique_marginals(&self) -> CliqueMarginals {
        let logs = |values: &[f64]| values.iter().map(|&x| self.log(x)).collect();
        CliqueMarginals {
            log_cliques: logs(&self.workspace.tables),
            log_separators: logs(&self.workspace.separators),
        }
    }

    /// Writes all clique and separator marginals as probabilities, in the order of
    /// [`clique_marginals`](Self::clique_marginals). There are [`cells`](JunctionTree::cells) and
    /// [`separator_cells`](JunctionTree::separator_cells) of them.
    ///
    /// # Errors
    /// [`Invalid::Length`].
    pub fn write_marginals(
        &self,
        cliques: &mut [f64],
        separators: &mut [f64],
    ) -> Result<(), Error> {
        let Workspace { tables, separators: own, .. } = self.workspace;
        Invalid::check_length("cliques", tables.len(), cliques.len())?;
        Invalid::check_length("separators", own.len(), separators.len())?;
        for (out, values) in [(cliques, tables), (separators, own)] {
            out.copy_from_slice(values);
            if self.workspace.in_logs {
                lanes::dispatch(|| out.iter_mut().for_each(|x| *x = lanes::exp(*x)));
            }
        }
        Ok(())
    }

    pub(super) fn log(&self, value: f64) -> f64 {
        if self.workspace.in_logs { value } else { value.ln() }
    }

    pub(super) fn probability(&self, value: f64) -> f64 {
        if self.workspace.in_logs { value.exp() } else { value }
    }

    /// Probabilities of the margin that a plan describes.
    fn project(&self, plan: &Plan, table: &[f64], out: &mut [f64]) {
        lanes::run(Margin { plan, table, out, in_logs: self.workspace.in_logs });
    }

    fn table(&self, scope: &[(VarId, usize)], values: &[f64]) -> Result<Table, Error> {
        let (variables, cards): (Vec<VarId>, Vec<usize>) = scope.iter().copied().unzip();
        let logs: Vec<f64> = values.iter().map(|&x| self.log(x)).collect();
        Table::new(&variables, &cards, &logs)
    }

    /// A joint marginal over several cliques, by the conditional distributions along the tree, with all other variables summed
    /// out.
    fn distant(&self, scope: &[VarId]) -> Result<Table, Error> {
        let nodes = &self.tree.nodes;
        // How many of the asked cliques lie at or below each node; paths end where all of a tree's have met.
        let mut below = vec![0_usize; nodes.len()];
        let mut asked: Vec<usize> = scope.iter().map(|v| self.tree.homes[v.index()].node).collect();
        asked.sort_unstable();
        asked.dedup();
        asked.iter().for_each(|&k| below[k] += 1);
        let mut in_tree = vec![0_usize; nodes.len()];
        let root_of = self.tree.roots();
        asked.iter().for_each(|&k| in_tree[root_of[k]] += 1);
        let mut tables = Vec::new();
        for k in (0..nodes.len()).rev() {
            if below[k] == 0 {
                continue;
            }
            let clique = self.clique(k)?;
            if below[k] == in_tree[root_of[k]] {
                // Here all have met: above is nothing that matters.
                tables.push(clique.dense().clone());
                continue;
            }
            tables.push(clique.divide(&self.separator(k)?)?.dense().clone());
            below[nodes[k].parent] += below[k];
        }
        let mut joint = Table::from(margin::<LogSum>(tables, scope, &OrderingOptions::default())?);
        joint.normalize()?;
        Ok(joint)
    }

    fn card(&self, variable: VarId) -> Result<usize, Error> {
        let variables = self.tree.cards.len();
        let card = self.tree.cards.get(variable.index()).copied();
        card.ok_or(Error::UnknownVariable { variable, variables })
    }

    fn node(&self, clique: usize) -> Result<&Node, Error> {
        self.tree.nodes.get(clique).ok_or_else(|| {
            let value = clique as f64;
            Invalid::Parameter { name: "clique", value, expected: "the number of a clique" }.into()
        })
    }
}

struct Margin<'a> {
    plan: &'a Plan,
    table: &'a [f64],
    out: &'a mut [f64],
    in_logs: bool,
}

impl lanes::Kernel for Margin<'_> {
    type Output = ();

    #[inline(always)]
    fn compute(self) {
        let Margin { plan, table, out, in_logs } = self;
        out.fill(0.0);
        if in_logs {
            // A table's largest logarithm is at most 0: no scale is needed.
            plan.gather_map(table, out, 0.0, |a, b| a + b, |x, _| lanes::exp(x), &[]);
        } else {
            plan.gather(table, out, 0.0, |a, b| a + b);
        }
    }
}

impl JunctionTree {
    /// Sums tables over all cliques, in the layout of [`Calibrated::write_marginals`], to the scope of every factor in its
    /// sorted order. `scratch` is working memory.
    ///
    /// # Errors
    /// [`Invalid::Length`].
    pub fn factor_margins(
        &self,
        cliques: &[f64],
        scratch: &mut Vec<f64>,
        mut visit: impl FnMut(FactorId, &[f64]),
    ) -> Result<(), Error> {
        Invalid::check_length("cliques", self.clique_cells, cliques.len())?;
        scratch.resize(self.largest_factor, 0.0);
        for node in &self.nodes {
            let table = &cliques[node.table.clone()];
            for Placed { factor, plan } in &self.placed[node.factors.clone()] {
                let scope = &self.scopes[factor.index()];
                let size = scope.iter().map(|v| self.cards[v.index()]).product();
                let out = &mut scratch[..size];
                lanes::run(Margin { plan, table, out, in_logs: false });
                visit(*factor, out);
            }
        }
        Ok(())
    }

    /// The root of every node.
    pub(super) fn roots(&self) -> Vec<usize> {
        let mut roots: Vec<usize> = Vec::with_capacity(self.nodes.len());
        for (k, node) in self.nodes.iter().enumerate() {
            roots.push(if node.parent == k { k } else { roots[node.parent] });
        }
        roots
    }

    pub(super) fn check(&self, configuration: &[usize]) -> Result<(), Error> {
        Invalid::check_length("configuration", self.cards.len(), configuration.len())?;
        for (v, (&cardinality, &state)) in self.cards.iter().zip(configuration).enumerate() {
            if state >= cardinality {
                return Err(Error::State { variable: VarId(v as u32), state, cardinality });
            }
        }
        Ok(())
    }
}
