//! Families of models from independent variables to the target.

use fenchel_linalg::special::{log_sum_exp, softplus};

use super::settings::AisSettings;
use crate::binary::{BinaryGibbs, BinaryStart, Order};
use crate::gibbs::{Gibbs, GibbsSettings, Scan, Start};
use crate::{BinaryPairwise, Error, Evidence, FactorGraph, FactorId, Table, VarId};

/// A family of models from independence (`b = 0`) to the target (`b = 1`), with Markov chains.
pub(super) trait Path {
    /// `log Z` at 0.
    fn log_partition(&self) -> f64;
    /// For every chain, the derivative of its score with respect to `b`.
    fn slopes(&mut self, out: &mut [f64]);
    /// Changes the model to `b` and makes sweeps.
    fn advance(&mut self, b: f64, sweeps: usize);
}

/// The family in spins: fields `h` and couplings `b J`.
pub(super) struct Binary {
    /// The target minus the base, which is the derivative of the score.
    slope: BinaryPairwise,
    base: Vec<f64>,
    model: BinaryPairwise,
    chains: BinaryGibbs,
}

impl Binary {
    pub(super) fn new(model: &BinaryPairwise, settings: &AisSettings) -> Result<Self, Error> {
        let mean = |i: usize| 0.5 * model.edges_of(i).map(|(_, coupling)| coupling).sum::<f64>();
        let shift: Vec<f64> = (0..model.variables()).map(mean).collect();
        let base: Vec<f64> = model.bias().iter().zip(&shift).map(|(bias, s)| bias + s).collect();
        let edges: Vec<_> = model.edges().collect();
        let down: Vec<f64> = shift.iter().map(|s| -s).collect();
        let slope = BinaryPairwise::new(&down, &edges)?;
        let independent = BinaryPairwise::new(&base, &[])?;
        let AisSettings { chains, seed, .. } = *settings;
        let (start, scan) = (BinaryStart::Zero, Order::Cyclic);
        let mut chains = BinaryGibbs::new(&independent, chains, start, scan, seed)?;
        // Independent variables: one sweep is an exact draw.
        chains.sweep(1);
        Ok(Binary { slope, base, model: model.clone(), chains })
    }
}

impl Path for Binary {
    fn log_partition(&self) -> f64 {
        self.base.iter().map(|&logit| softplus(logit)).sum()
    }

    fn slopes(&mut self, out: &mut [f64]) {
        self.chains.log_scores(&self.slope, out).expect("a number for every chain");
    }

    fn advance(&mut self, b: f64, sweeps: usize) {
        let between = self.model.between(&self.base, b);
        self.chains.set_model(&between).expect("the same variables");
        self.chains.sweep(sweeps);
    }
}

pub(super) struct Factors {
    /// The independent variables.
    base: Vec<Table>,
    target: FactorGraph,
    /// The factors of the base and of the target, each raised to a power.
    path: FactorGraph,
    chains: Gibbs,
    values: Vec<f64>,
}

impl Factors {
    pub(super) fn new(model: &FactorGraph, settings: &AisSettings) -> Result<Self, Error> {
        model.check_sums()?;
        let mut logs: Vec<Vec<f64>> = model.cards().iter().map(|&card| vec![0.0; card]).collect();
        for factor in model.factors() {
            for &v in factor.scope() {
                add_mean(factor, v, &mut logs[v.index()]);
            }
        }
        let mut path = FactorGraph::new(model.cards())?;
        let mut base = Vec::with_capacity(logs.len());
        for ((v, &card), logs) in model.variables().zip(model.cards()).zip(&logs) {
            if log_sum_exp(logs) == f64::NEG_INFINITY {
                return Err(Error::ImpossibleEvidence);
            }
            let table = Table::new(&[v], &[card], logs)?;
            path.add_table(table.clone())?;
            base.push(table);
        }
        for factor in model.factors() {
            path.add_table(Table::ones(factor.scope(), factor.cards())?)?;
        }
        let AisSettings { chains, seed, .. } = *settings;
        let settings = GibbsSettings { chains, scan: Scan::default(), seed };
        let mut chains = Gibbs::new(&path, &Evidence::new(), Start::Random, &settings)?;
        chains.sweep(1);
        Ok(Factors { base, target: model.clone(), path, chains, values: Vec::new() })
    }
}

/// Adds the mean of `log psi` over the possible cells of the other variables; `-inf` if there is none.
fn add_mean(factor: &Table, v: VarId, sums: &mut [f64]) {
    let at = factor.scope().iter().position(|&u| u == v).unwrap_or(0);
    let stride: usize = factor.cards()[at + 1..].iter().product();
    let card = factor.cards()[at];
    let mut means = vec![(0.0, 0_u32); card];
    for (cell, &value) in factor.log_values().iter().enumerate() {
        let mean = &mut means[cell / stride % card];
        if value > f64::NEG_INFINITY {
            *mean = (mean.0 + value, mean.1 + 1);
        }
    }
    for (sum, (total, count)) in sums.iter_mut().zip(means) {
        *sum += if count > 0 { total / f64::from(count) } else { f64::NEG_INFINITY };
    }
}

impl Path for Factors {
    fn log_partition(&self) -> f64 {
        self.base.iter().map(|table| log_sum_exp(table.log_values())).sum()
    }

    fn slopes(&mut self, out: &mut [f64]) {
        for (chain, out) in out.iter_mut().enumerate() {
            let x = self.chains.state(chain);
            let target: f64 = self.target.factors().iter().map(|factor| factor.at(&x)).sum();
            // What the base forbids the model forbids: such a state is never drawn.
            *out = target - self.base.iter().map(|table| table.at(&x)).sum::<f64>();
        }
    }

    fn advance(&mut self, b: f64, sweeps: usize) {
        let Factors { base, target, path, values, .. } = self;
        let bases = base.iter().map(|table| (table, 1.0 - b));
        let targets = target.factors().iter().map(|table| (table, b));
        for (k, (table, power)) in bases.chain(targets).enumerate() {
            values.clear();
            values.extend(table.log_values().iter().map(|value| power * value));
            path.set(FactorId(k as u32), values).expect("the same cells, none NaN as 0 < b < 1");
        }
        self.chains.set_model(&self.path).expect("the same structure");
        self.chains.sweep(sweeps);
    }
}
