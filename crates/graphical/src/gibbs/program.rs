//! The update of a single variable, and the layout of the numbers that it reads.

use std::ops::Range;

use fenchel_linalg::Invalid;
use rand::{Rng, RngExt};

use crate::{Error, FactorGraph, VarId};

/// A factor from the point of view of one of its variables.
#[derive(Debug, Clone)]
struct View {
    /// Of the first cell.
    start: usize,
    /// Stride between the states of the variable.
    stride: usize,
    /// The range of the other variables, with their strides, in the list of the program.
    others: Range<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Program {
    pub(super) cards: Vec<usize>,
    /// All log-potentials, factor by factor.
    pub(super) values: Vec<f64>,
    pub(super) starts: Vec<usize>,
    scopes: Vec<Vec<VarId>>,
    /// The views of variable `v` are `of[v]..of[v + 1]`.
    of: Vec<usize>,
    views: Vec<View>,
    others: Vec<(u32, usize)>,
}

impl Program {
    pub(super) fn new(model: &FactorGraph) -> Self {
        let mut program = Program {
            cards: model.cards().to_vec(),
            values: Vec::new(),
            starts: Vec::new(),
            scopes: model.factors().iter().map(|f| f.scope().to_vec()).collect(),
            of: vec![0],
            views: Vec::new(),
            others: Vec::new(),
        };
        for factor in model.factors() {
            program.starts.push(program.values.len());
            program.values.extend_from_slice(factor.log_values());
        }
        for (v, factors) in model.variables().zip(model.factors_of_variables()) {
            for f in factors {
                let table = &model.factors()[f.index()];
                let first = program.others.len();
                let mut own = 0;
                for (at, &u) in table.scope().iter().enumerate() {
                    let stride = table.cards()[at + 1..].iter().product();
                    if u == v { own = stride } else { program.others.push((u.0, stride)) }
                }
                let others = first..program.others.len();
                program.views.push(View { start: program.starts[f.index()], stride: own, others });
            }
            program.of.push(program.views.len());
        }
        program
    }

    /// Replaces the numbers for the same structure.
    pub(super) fn set(&mut self, model: &FactorGraph) -> Result<(), Error> {
        let same = model.cards() == self.cards
            && model.factors().len() == self.scopes.len()
            && model.factors().iter().zip(&self.scopes).all(|(f, scope)| f.scope() == scope);
        if !same {
            let reason = "its cardinalities or scopes are not those of the chains".into();
            return Err(Invalid::Layout { what: "model", reason }.into());
        }
        for (factor, &start) in model.factors().iter().zip(&self.starts) {
            self.values[start..start + factor.len()].copy_from_slice(factor.log_values());
        }
        Ok(())
    }

    /// Whether no factor gives these states probability 0.
    pub(super) fn is_possible(&self, states: &[u32]) -> bool {
        self.scopes.iter().zip(&self.starts).all(|(scope, start)| {
            let add = |at, v: &VarId| at * self.cards[v.index()] + states[v.index()] as usize;
            self.values[start + scope.iter().fold(0, add)] > f64::NEG_INFINITY
        })
    }

    /// Draws a variable given all others. If no state is possible, it does not change.
    #[inline]
    pub(super) fn draw(
        &self,
        v: usize,
        states: &mut [u32],
        weights: &mut Vec<f64>,
        random: &mut impl Rng,
    ) {
        weights.clear();
        weights.resize(self.cards[v], 0.0);
        for view in &self.views[self.of[v]..self.of[v + 1]] {
            let others = &self.others[view.others.clone()];
            let cell = others
                .iter()
                .fold(view.start, |at, &(u, stride)| at + states[u as usize] as usize * stride);
            for (state, weight) in weights.iter_mut().enumerate() {
                *weight += self.values[cell + state * view.stride];
            }
        }
        let top = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mark = random.random::<f64>();
        if top == f64::NEG_INFINITY {
            return;
        }
        let mut total = 0.0;
        for weight in weights.iter_mut() {
            total += (*weight - top).exp();
            *weight = total;
        }
        // The first running sum beyond the mark: a state of weight 0 adds nothing and is never the first.
        let drawn = weights.partition_point(|&sum| sum <= mark * total);
        let last = || weights.partition_point(|&sum| sum < total);
        states[v] = if drawn < weights.len() { drawn } else { last() } as u32;
    }
}
