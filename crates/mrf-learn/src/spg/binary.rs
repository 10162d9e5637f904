//! Chains of a binary pairwise model, stored with one bit per variable and chain.

use fenchel_graphical::ais::{AisSettings, ais_binary};
use fenchel_graphical::binary::{BinaryGibbs, BinaryStart, Order};
use fenchel_graphical::{BinaryPairwise, Influence};
use fenchel_optim::Refusal;
use ndarray::Array2;

use super::sampler::{Begin, Origin, SUBSAMPLE, Sampler, largest_eigenvalue};
use super::settings::Spg;
use crate::bounds::{self, BoundKind};
use crate::data::Data;
use crate::error::Error;
use crate::layout::{Coordinates, Layout, pair_index};

/// Chains by [`BinaryGibbs`], with the statistics of binary coordinates or spins.
#[derive(Debug, Clone)]
pub struct BinarySampler {
    layout: Layout,
    reference: Layout,
    model: BinaryPairwise,
    /// `log Z - A(theta)`: not 0 in spins.
    constant: f64,
    chains: BinaryGibbs,
    begin: Begin<bool>,
    exact_degree: usize,
}

impl BinarySampler {
    /// Chains as the settings ask for, of the model without parameters.
    ///
    /// # Errors
    /// [`Error::Graphical`] for more chains than fit into memory; [`Error::Refused`] for indicators, and for variables with more
    /// than two states.
    pub fn new(data: &Data, settings: &Spg) -> Result<Self, Error> {
        let (p, layout) = (data.variables(), data.layout(settings.coordinates)?);
        if layout.coordinates() == Coordinates::Indicators {
            return Err(Refusal::unsupported("BinarySampler", "indicators").into());
        }
        let model = BinaryPairwise::new(&vec![0.0; p], &[])?;
        let begin = Begin::new(settings, || data.to_array().mapv(|state| state == 1));
        let rows = begin.rows();
        let start = match &rows {
            Some(rows) => BinaryStart::Rows(rows.view()),
            None => BinaryStart::Random,
        };
        // Many neighbours are to come: blocks as a dense model has.
        let dense = dense_model(p)?;
        let mut chains =
            BinaryGibbs::new(&dense, settings.chains, start, Order::Cyclic, settings.seed)?;
        chains.set_model(&model)?;
        Ok(BinarySampler {
            reference: layout.reference()?,
            layout,
            model,
            constant: 0.0,
            chains,
            begin,
            exact_degree: settings.exact_degree,
        })
    }

    /// The model whose chains these are.
    pub fn model(&self) -> &BinaryPairwise {
        &self.model
    }

    /// The states of the chains: chains x variables.
    pub fn states(&self) -> Array2<bool> {
        self.chains.samples()
    }

    fn restart(&mut self, chains: usize, start: BinaryStart) -> Result<(), Error> {
        let p = self.model.variables();
        let seed = self.begin.fresh_seed();
        let mut fresh = BinaryGibbs::new(&dense_model(p)?, chains, start, Order::Cyclic, seed)?;
        fresh.set_model(&self.model)?;
        self.chains = fresh;
        Ok(())
    }
}

/// A model with every edge there may be, which decides how wide blocks of chains are.
fn dense_model(p: usize) -> Result<BinaryPairwise, Error> {
    let hub: Vec<_> = (1..p.min(9)).map(|j| (0, j as u32, 1.0)).collect();
    Ok(BinaryPairwise::new(&vec![0.0; p], &hub)?)
}

impl Sampler for BinarySampler {
    fn dimension(&self) -> usize {
        self.layout.len()
    }

    fn variables(&self) -> usize {
        self.model.variables()
    }

    fn chains(&self) -> usize {
        self.chains.chains()
    }

    fn set(&mut self, theta: &[f64]) -> Result<(), Error> {
        (self.model, self.constant) = self.layout.binary(theta)?;
        Ok(self.chains.set_model(&self.model)?)
    }

    fn begin(&mut self, _: u64) -> Result<(), Error> {
        let chains = self.chains();
        match self.begin.of_iteration() {
            Origin::There => Ok(()),
            Origin::Random => self.restart(chains, BinaryStart::Random),
            Origin::Rows(rows) => self.restart(chains, BinaryStart::Rows(rows.view())),
        }
    }

    fn double(&mut self, _: u64) -> Result<(), Error> {
        let states = self.chains.samples();
        self.restart(2 * self.chains(), BinaryStart::Rows(states.view()))
    }

    fn sweep(&mut self) {
        self.chains.sweep(1);
    }

    fn means(&self, out: &mut [f64]) {
        let mut counts = vec![0; out.len()];
        self.chains.pair_counts(&mut counts);
        let chains = self.chains() as f64;
        let both: Vec<f64> = counts.into_iter().map(|count| count as f64 / chains).collect();
        self.layout.expand(&self.reference, &both, out);
    }

    fn half_means(&self, first: &mut [f64], second: &mut [f64]) {
        let p = self.variables();
        let states = self.chains.samples();
        let half = states.nrows() / 2;
        for (out, rows) in [(&mut *first, 0..half), (&mut *second, half..states.nrows())] {
            let mut both = vec![0.0; out.len()];
            let count = rows.len() as f64;
            for row in rows {
                let ones: Vec<usize> = (0..p).filter(|&i| states[[row, i]]).collect();
                for (at, &i) in ones.iter().enumerate() {
                    for &j in &ones[at..] {
                        both[pair_index(i, j, p)] += 1.0 / count;
                    }
                }
            }
            self.layout.expand(&self.reference, &both, out);
        }
    }

    fn variances(&self, means: &[f64], out: &mut [f64]) {
        let q = self.chains() as f64;
        for (v, &mean) in out.iter_mut().zip(means) {
            *v = q / (q - 1.0) * self.layout.coordinates().variance(mean).max(0.0);
        }
    }

    fn influence(&self) -> Influence {
        if self.exact_degree > 0 {
            Influence::exact(&self.model, self.exact_degree)
        } else {
            Influence::bound(&self.model)
        }
    }

    fn bias(&self, kind: BoundKind, d: &[f64]) -> f64 {
        bounds::bias(kind, d, self.layout.coordinates().range())
    }

    fn sampling_error(&self, variances: &[f64], doubt: f64) -> f64 {
        bounds::sampling_error(variances, self.chains(), doubt, self.layout.coordinates().range())
    }

    /// The largest eigenvalue by power iterations without forming the matrix:
    /// `Cov v = mean_c psi_c (psi_c.v) - s (s.v)`, with `psi_c.v = x_c' V x_c`.
    fn curvature(&self) -> f64 {
        let p = self.variables();
        let m = self.dimension();
        let used = self.chains().min(SUBSAMPLE);
        let spins = self.layout.coordinates() == Coordinates::Spins;
        // One row of statistics a chain, as lists of the ones (binary) or signs (spins).
        let signs: Vec<Vec<f64>> = (0..used)
            .map(|c| {
                let state = self.chains.state(c);
                let zero = if spins { -1.0 } else { 0.0 };
                state.iter().map(|&one| if one { 1.0 } else { zero }).collect()
            })
            .collect();
        let statistic = |x: &[f64], i: usize, j: usize| if i == j { x[i] } else { x[i] * x[j] };
        let mut mean = vec![0.0; m];
        for x in &signs {
            for i in 0..p {
                if x[i] == 0.0 {
                    continue;
                }
                let row = pair_index(i, i, p);
                for j in i..p {
                    mean[row + j - i] += statistic(x, i, j) / used as f64;
                }
            }
        }
        // A start that no symmetry makes orthogonal to the leading vector.
        let start = (0..m).map(|c| 1.0 + 0.1 * ((c * 7919 % 101) as f64 / 101.0)).collect();
        largest_eigenvalue(start, &mean, |v, next| {
            for x in &signs {
                let mut along = 0.0;
                for i in 0..p {
                    if x[i] == 0.0 {
                        continue;
                    }
                    let row = &v[pair_index(i, i, p)..][..p - i];
                    let rest: f64 = row[1..].iter().zip(&x[i + 1..]).map(|(v, x)| v * x).sum();
                    along += x[i] * (row[0] + rest);
                }
                along /= used as f64;
                for i in 0..p {
                    if x[i] == 0.0 {
                        continue;
                    }
                    let row = &mut next[pair_index(i, i, p)..][..p - i];
                    row[0] += along * x[i];
                    for (to, x_j) in row[1..].iter_mut().zip(&x[i + 1..]) {
                        *to += along * x[i] * x_j;
                    }
                }
            }
        })
    }

    fn reach(&self, target: &[f64], out: &mut [f64]) {
        let low = 1.0 - self.layout.coordinates().range();
        let reach = |target: &f64| (target - low).max(1.0 - target);
        out.iter_mut().zip(target).for_each(|(out, target)| *out = reach(target));
    }

    fn log_partition(&self, settings: &AisSettings) -> Result<(f64, f64), Error> {
        let found = ais_binary(&self.model, settings)?;
        Ok((found.log_partition - self.constant, found.standard_error))
    }

    fn edges(&self, theta: &[f64]) -> usize {
        self.layout.support(theta).len()
    }

    fn binary(&self) -> Option<&BinaryPairwise> {
        Some(&self.model)
    }
}
