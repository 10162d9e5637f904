//! The factor graph as belief propagation uses it: one potential per variable, factors with distinct scopes, numbered messages.

use std::collections::BTreeMap;
use std::ops::Range;

use fenchel_linalg::special::log_sum_exp;

use crate::stride::{Plan, larger};
use crate::{Error, FactorGraph, Graph, Table, VarId};

/// Log-potentials with a larger range than this are not exponentiated.
const WIDEST: f64 = 600.0;

/// A message from a factor to a variable.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) factor: usize,
    pub(super) variable: usize,
    /// The position of its cells among all messages.
    pub(super) cells: Range<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Factor {
    /// `log psi_f / w_f`.
    pub(super) table: Table,
    /// The weight `w_f`: 1, or the appearance probability of an edge.
    pub(super) weight: f64,
    /// The numbers of its messages, in the order of the scope.
    pub(super) slots: Range<usize>,
    /// The layout of each variable in the table.
    plans: Vec<Plan>,
    /// For factors of two variables `psi_f^(1/w_f)` up to a constant; empty if it could underflow.
    linear: Vec<f64>,
}

/// Where the belief of a factor of the model is stored.
#[derive(Debug, Clone, Copy)]
pub(super) enum Home {
    Constant,
    Variable(usize),
    Factor(usize),
    /// Part of the table of a larger factor.
    Inside(usize),
}

#[derive(Debug, Clone)]
pub(super) struct Network {
    /// The position of each variable among all beliefs.
    pub(super) cells: Vec<Range<usize>>,
    /// The product of its factors of one variable, in logs.
    pub(super) potentials: Vec<f64>,
    pub(super) constant: f64,
    pub(super) factors: Vec<Factor>,
    pub(super) slots: Vec<Slot>,
    /// The messages to every variable.
    pub(super) into: Vec<Vec<usize>>,
    pub(super) homes: Vec<Home>,
    /// The scopes of the factors of the model.
    pub(super) scopes: Vec<Vec<VarId>>,
    pub(super) message_cells: usize,
    /// Whether the factors have appearance probabilities.
    pub(super) reweighted: bool,
}

/// Room for one message.
#[derive(Debug, Clone, Default)]
pub(super) struct Scratch {
    table: Vec<f64>,
    incoming: Vec<f64>,
    shift: Vec<f64>,
}

impl Network {
    /// Builds the network. Factors over the same variables are merged, and sorted by scope. All weights are 1.
    pub(super) fn new(model: &FactorGraph) -> Result<Self, Error> {
        Network::build(model, false)
    }

    /// Does the same as [`new`](Self::new), and merges a factor into another one that has all its variables.
    pub(super) fn absorbed(model: &FactorGraph) -> Result<Self, Error> {
        Network::build(model, true)
    }

    fn build(model: &FactorGraph, absorb: bool) -> Result<Self, Error> {
        model.check_sums()?;
        let mut cells = Vec::with_capacity(model.len());
        let mut end = 0;
        for &card in model.cards() {
            cells.push(end..end + card);
            end += card;
        }
        let mut potentials = vec![0.0; end];
        let mut constant = 0.0;
        let mut merged: BTreeMap<&[VarId], Table> = BTreeMap::new();
        for factor in model.factors() {
            match factor.scope() {
                [] => constant += factor.log_values()[0],
                [v] => {
                    let own = &mut potentials[cells[v.index()].clone()];
                    own.iter_mut().zip(factor.log_values()).for_each(|(sum, value)| *sum += value);
                }
                scope => {
                    let product = match merged.get(scope) {
                        Some(before) => before.product(factor)?,
                        None => factor.clone(),
                    };
                    merged.insert(scope, product);
                }
            }
        }
        let mut hosts: BTreeMap<&[VarId], &[VarId]> = BTreeMap::new();
        if absorb {
            let mut scopes: Vec<&[VarId]> = merged.keys().copied().collect();
            scopes.sort_by_key(|scope| scope.len());
            for (k, &small) in scopes.iter().enumerate() {
                let holds =
                    |large: &&&[VarId]| small.iter().all(|v| large.binary_search(v).is_ok());
                // The smallest that is larger; that one may be absorbed later, with what it holds.
                if let Some(&large) =
                    scopes[k + 1..].iter().filter(|s| s.len() > small.len()).find(holds)
                    && let (Some(part), Some(whole)) = (merged.remove(small), merged.remove(large))
                {
                    merged.insert(large, whole.product(&part)?);
                    hosts.insert(small, large);
                }
            }
        }
        let numbers: BTreeMap<&[VarId], usize> = merged.keys().copied().zip(0..).collect();
        let home = |factor: &Table| match factor.scope() {
            [] => Home::Constant,
            [v] => Home::Variable(v.index()),
            mut scope => {
                let is_part = hosts.contains_key(scope);
                while let Some(host) = hosts.get(scope) {
                    scope = *host;
                }
                if is_part { Home::Inside(numbers[scope]) } else { Home::Factor(numbers[scope]) }
            }
        };
        let homes = model.factors().iter().map(home).collect();
        let mut network = Network {
            cells,
            potentials,
            constant,
            factors: Vec::with_capacity(merged.len()),
            slots: Vec::new(),
            into: vec![Vec::new(); model.len()],
            homes,
            scopes: model.factors().iter().map(|factor| factor.scope().to_vec()).collect(),
            message_cells: 0,
            reweighted: false,
        };
        for table in merged.into_values() {
            network.add(table);
        }
        Ok(network)
    }

    fn add(&mut self, table: Table) {
        let first = self.slots.len();
        let dimensions = table.dimensions();
        for &(v, card) in &dimensions {
            let cells = self.message_cells..self.message_cells + card;
            self.message_cells = cells.end;
            self.into[v.index()].push(self.slots.len());
            self.slots.push(Slot { factor: self.factors.len(), variable: v.index(), cells });
        }
        let plans = dimensions.iter().map(|&own| Plan::between(&dimensions, &[own])).collect();
        let slots = first..self.slots.len();
        let mut factor = Factor { table, weight: 1.0, slots, plans, linear: Vec::new() };
        factor.prepare();
        self.factors.push(factor);
    }

    /// Gives every factor a weight in `(0, 1]`.
    pub(super) fn set_weights(&mut self, weights: &[f64]) -> Result<(), Error> {
        for (k, (factor, &weight)) in self.factors.iter_mut().zip(weights).enumerate() {
            let scaled: Vec<f64> = factor.table.log_values().iter().map(|v| v / weight).collect();
            factor.table.replace(k, &scaled)?;
            factor.weight = weight;
            factor.prepare();
        }
        self.reweighted = true;
        Ok(())
    }

    /// Whether the graph of variables and factors has no cycle.
    pub(super) fn is_forest(&self) -> Result<bool, Error> {
        let n = self.cells.len();
        let edge = |slot: &Slot| (slot.variable as u32, (n + slot.factor) as u32);
        Ok(Graph::new(n + self.factors.len(), self.slots.iter().map(edge))?.is_forest())
    }

    /// Beliefs of all variables, in logs up to constants: `theta_v + sum_f w_f m_{f->v}`.
    pub(super) fn gather_beliefs(&self, messages: &[f64], beliefs: &mut [f64]) {
        for v in 0..self.cells.len() {
            self.gather_belief(v, messages, beliefs, None);
        }
    }

    /// The belief of one variable, optionally without one of its messages.
    pub(super) fn gather_belief(
        &self,
        v: usize,
        messages: &[f64],
        beliefs: &mut [f64],
        without: Option<usize>,
    ) {
        let own = &mut beliefs[self.cells[v].clone()];
        own.copy_from_slice(&self.potentials[self.cells[v].clone()]);
        for &s in self.into[v].iter().filter(|&&s| Some(s) != without) {
            let weight = self.factors[self.slots[s].factor].weight;
            for (sum, m) in own.iter_mut().zip(&messages[self.slots[s].cells.clone()]) {
                *sum += weight * m;
            }
        }
    }

    /// The message from the variable of a slot to its factor: `belief - m_{f->v}`.
    fn incoming(&self, s: usize, messages: &[f64], beliefs: &[f64], out: &mut Vec<f64>) {
        let slot = &self.slots[s];
        let belief = &beliefs[self.cells[slot.variable].clone()];
        let message = &messages[slot.cells.clone()];
        out.clear();
        out.extend(
            belief.iter().zip(message).map(
                |(b, m)| {
                    if *b == f64::NEG_INFINITY { *b } else { b - m }
                },
            ),
        );
        // Where this message forbids a state, what the others say is added up anew. With weights below 1 the state is
        // forbidden all the same: the factor has no cell for it.
        if self.factors[slot.factor].weight == 1.0 && message.contains(&f64::NEG_INFINITY) {
            for (state, value) in out.iter_mut().enumerate() {
                if message[state] == f64::NEG_INFINITY {
                    let others = self.into[slot.variable].iter().filter(|&&other| other != s);
                    let said = others.map(|&other| {
                        let from = &self.slots[other];
                        self.factors[from.factor].weight * messages[from.cells.start + state]
                    });
                    let own = self.potentials[self.cells[slot.variable].start + state];
                    *value = own + said.sum::<f64>();
                }
            }
        }
    }

    /// The message from a factor, in logarithms, normalised to sum 1 or maximum 1.
    pub(super) fn message(
        &self,
        s: usize,
        messages: &[f64],
        beliefs: &[f64],
        maximise: bool,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) {
        let factor = &self.factors[self.slots[s].factor];
        let own = s - factor.slots.start;
        if !(factor.slots.len() == 2
            && self.pair_message(s, messages, beliefs, maximise, scratch, out))
        {
            scratch.table.clear();
            scratch.table.extend_from_slice(factor.table.log_values());
            for other in factor.slots.clone().filter(|&other| other != s) {
                self.incoming(other, messages, beliefs, &mut scratch.incoming);
                let plan = &factor.plans[other - factor.slots.start];
                plan.spread(&mut scratch.table, &scratch.incoming, |a, b| a + b);
            }
            out.fill(f64::NEG_INFINITY);
            let plan = &factor.plans[own];
            plan.gather(&scratch.table, out, f64::NEG_INFINITY, larger);
            if !maximise {
                scratch.shift.clear();
                let finite = |&m: &f64| if m == f64::NEG_INFINITY { 0.0 } else { m };
                scratch.shift.extend(out.iter().map(finite));
                out.fill(0.0);
                let (add, map) = (|a: f64, b: f64| a + b, |x: f64, m: f64| (x - m).exp());
                plan.gather_map(&scratch.table, out, 0.0, add, map, &scratch.shift);
                out.iter_mut().zip(&scratch.shift).for_each(|(sum, m)| *sum = m + sum.ln());
            }
        }
        let total = if maximise {
            out.iter().copied().fold(f64::NEG_INFINITY, larger)
        } else {
            log_sum_exp(out)
        };
        if total > f64::NEG_INFINITY {
            out.iter_mut().for_each(|value| *value -= total);
        }
    }

    /// The message of a factor of two variables, as a product with its matrix, without an `exp` per cell. Returns `false` if
    /// underflow is possible.
    fn pair_message(
        &self,
        s: usize,
        messages: &[f64],
        beliefs: &[f64],
        maximise: bool,
        scratch: &mut Scratch,
        out: &mut [f64],
    ) -> bool {
        let factor = &self.factors[self.slots[s].factor];
        if !maximise && factor.linear.is_empty() {
            return false;
        }
        let to_rows = s == factor.slots.start;
        let other = if to_rows { s + 1 } else { s - 1 };
        let incoming = &mut scratch.incoming;
        self.incoming(other, messages, beliefs, incoming);
        let columns = factor.table.cards()[1];
        if maximise {
            let rows = factor.table.log_values().chunks_exact(columns);
            if to_rows {
                for (out, row) in out.iter_mut().zip(rows) {
                    let sums = row.iter().zip(&*incoming).map(|(theta, n)| theta + n);
                    *out = sums.fold(f64::NEG_INFINITY, larger);
                }
            } else {
                out.fill(f64::NEG_INFINITY);
                for (n, row) in incoming.iter().zip(rows) {
                    out.iter_mut().zip(row).for_each(|(out, theta)| *out = larger(*out, theta + n));
                }
            }
            return true;
        }
        let top = incoming.iter().copied().fold(f64::NEG_INFINITY, larger);
        if top == f64::NEG_INFINITY {
            return false;
        }
        incoming.iter_mut().for_each(|n| *n = (*n - top).exp());
        let rows = factor.linear.chunks_exact(columns);
        if to_rows {
            for (out, row) in out.iter_mut().zip(rows) {
                *out = row.iter().zip(&*incoming).map(|(psi, n)| psi * n).sum();
            }
        } else {
            out.fill(0.0);
            for (n, row) in incoming.iter().zip(rows) {
                out.iter_mut().zip(row).for_each(|(out, psi)| *out += psi * n);
            }
        }
        // A zero may be one of rounding: logarithms decide.
        if out.contains(&0.0) {
            return false;
        }
        out.iter_mut().for_each(|value| *value = value.ln());
        true
    }

    /// The belief of a factor up to a constant: `log psi_f / w_f + sum of all incoming messages`.
    pub(super) fn factor_belief(&self, k: usize, messages: &[f64], beliefs: &[f64]) -> Vec<f64> {
        let factor = &self.factors[k];
        let mut table = factor.table.log_values().to_vec();
        let mut incoming = Vec::new();
        for (s, plan) in factor.slots.clone().zip(&factor.plans) {
            self.incoming(s, messages, beliefs, &mut incoming);
            plan.spread(&mut table, &incoming, |a, b| a + b);
        }
        table
    }

    /// What makes [`log_partition`](Self::log_partition) an upper bound at any messages, not only where beliefs agree:
    /// `sum_f w_f max_{v in f, x} log(b_f(x_v) / b_v(x_v))`.
    ///
    /// The potentials are `prod_v b_v prod_f (b_f / prod_{v in f} b_v)^w_f`, so log Z is at most the mean over the forests of
    /// `log sum_x prod_v b_v prod_{f in forest} b_f / prod_{v in f} b_v`. Summed out from the leaves, a factor leaves
    /// `b_f(x_v) / b_v(x_v)` to its parent `v`.
    ///
    /// With `maximise` the same holds of maxima instead of sums.
    pub(super) fn disagreement(&self, messages: &[f64], beliefs: &[f64], maximise: bool) -> f64 {
        let totals: Vec<f64> =
            self.cells.iter().map(|cells| total_of(&beliefs[cells.clone()], maximise)).collect();
        let mut sum = 0.0;
        let (mut tops, mut marginal) = (Vec::new(), Vec::new());
        for (k, factor) in self.factors.iter().enumerate() {
            let table = self.factor_belief(k, messages, beliefs);
            let total = total_of(&table, maximise);
            let mut most = 0.0_f64;
            for (s, plan) in factor.slots.clone().zip(&factor.plans) {
                let v = self.slots[s].variable;
                let own = &beliefs[self.cells[v].clone()];
                tops.clear();
                tops.resize(own.len(), f64::NEG_INFINITY);
                plan.gather(&table, &mut tops, f64::NEG_INFINITY, larger);
                marginal.clear();
                marginal.resize(own.len(), f64::from(u8::from(maximise)));
                let term = |x: f64, top: f64| if x == top { 1.0 } else { (x - top).exp() };
                if !maximise {
                    plan.gather_map(&table, &mut marginal, 0.0, |a, b| a + b, term, &tops);
                }
                for ((top, part), own) in tops.iter().zip(&marginal).zip(own) {
                    if *own > f64::NEG_INFINITY {
                        most = most.max((top + part.ln() - total) - (own - totals[v]));
                    }
                }
            }
            sum += factor.weight * most;
        }
        sum
    }

    /// The Bethe estimate of `log Z` in terms of messages, `sum_v (1 - sum_f w_f) log Z_v + sum_f w_f log Z_f`. With other
    /// weights than 1 it is the tree-reweighted free energy. At a fixed point it is stationary in the messages, and equals the
    /// energy plus the entropy of the beliefs.
    ///
    /// With `maximise`, an estimate of the best score by maxima.
    pub(super) fn log_partition(&self, messages: &[f64], beliefs: &[f64], maximise: bool) -> f64 {
        let mut sum = self.constant;
        for (cells, into) in self.cells.iter().zip(&self.into) {
            let weights: f64 =
                into.iter().map(|&s| self.factors[self.slots[s].factor].weight).sum();
            let total = total_of(&beliefs[cells.clone()], maximise);
            if total == f64::NEG_INFINITY {
                return total;
            }
            sum += (1.0 - weights) * total;
        }
        for (k, factor) in self.factors.iter().enumerate() {
            sum += factor.weight * total_of(&self.factor_belief(k, messages, beliefs), maximise);
        }
        sum
    }
}

fn total_of(logs: &[f64], maximise: bool) -> f64 {
    match maximise {
        true => logs.iter().copied().fold(f64::NEG_INFINITY, larger),
        false => log_sum_exp(logs),
    }
}

impl Factor {
    fn prepare(&mut self) {
        let values = self.table.log_values();
        let top = values.iter().copied().fold(f64::NEG_INFINITY, larger);
        let finite = values.iter().copied().filter(|v| *v > f64::NEG_INFINITY);
        let safe = self.slots.len() == 2
            && top > f64::NEG_INFINITY
            && top - finite.fold(f64::INFINITY, f64::min) <= WIDEST;
        self.linear =
            if safe { values.iter().map(|v| (v - top).exp()).collect() } else { Vec::new() };
    }
}
