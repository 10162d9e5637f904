//! Markov chains of a network of discrete variables: Gibbs sampling for k states.

use fenchel_graphical::ais::{AisSettings, ais};
use fenchel_graphical::gibbs::{Gibbs, GibbsSettings, Start};
use fenchel_graphical::{Evidence, FactorGraph, Influence};
use ndarray::{Array2, Axis};

use super::sampler::{Begin, Origin, SUBSAMPLE, Sampler, largest_eigenvalue};
use super::settings::Spg;
use crate::bounds::{self, BoundKind};
use crate::data::{Data, means_of_states};
use crate::error::Error;
use crate::layout::{Coordinates, Layout};

/// Chains by [`Gibbs`], with the indicators of states and pairs of states as statistics.
///
/// Chains are compiled anew when tables appear or vanish; their states stay.
#[derive(Debug, Clone)]
pub struct StateSampler {
    layout: Layout,
    support: Vec<(usize, usize)>,
    graph: FactorGraph,
    chains: Gibbs,
    begin: Begin<usize>,
}

impl StateSampler {
    /// Chains as the settings ask for, of the model without parameters.
    ///
    /// # Errors
    /// [`Error::Graphical`] for more chains than fit into memory.
    pub fn new(data: &Data, settings: &Spg) -> Result<Self, Error> {
        let layout = data.layout(Coordinates::Indicators)?;
        let graph = layout.factor_graph(&vec![0.0; layout.len()])?;
        let begin = Begin::new(settings, || data.to_array().mapv(usize::from));
        let rows = begin.rows();
        let start = rows.as_ref().map_or(Start::Random, |rows| Start::Rows(rows.view()));
        let (chains, seed) = (settings.chains, settings.seed);
        let options = GibbsSettings { chains, seed, ..GibbsSettings::default() };
        let chains = Gibbs::new(&graph, &Evidence::new(), start, &options)?;
        Ok(StateSampler { layout, support: Vec::new(), graph, chains, begin })
    }

    fn compile(&mut self, chains: usize, start: Start<'_>) -> Result<(), Error> {
        let seed = self.begin.fresh_seed();
        let options = GibbsSettings { chains, seed, ..GibbsSettings::default() };
        self.chains = Gibbs::new(&self.graph, &Evidence::new(), start, &options)?;
        Ok(())
    }

    fn states(&self) -> Array2<u8> {
        self.chains.samples().mapv(|state| state as u8)
    }
}

impl Sampler for StateSampler {
    fn dimension(&self) -> usize {
        self.layout.len()
    }

    fn variables(&self) -> usize {
        self.layout.variables()
    }

    fn chains(&self) -> usize {
        self.chains.chains()
    }

    fn set(&mut self, theta: &[f64]) -> Result<(), Error> {
        let support = self.layout.support(theta);
        self.graph = self.layout.factor_graph(theta)?;
        if support == self.support {
            return Ok(self.chains.set_model(&self.graph)?);
        }
        self.support = support;
        let states = self.chains.samples();
        self.compile(self.chains(), Start::Rows(states.view()))
    }

    fn begin(&mut self, _: u64) -> Result<(), Error> {
        let chains = self.chains();
        match self.begin.of_iteration() {
            Origin::There => Ok(()),
            Origin::Random => self.compile(chains, Start::Random),
            Origin::Rows(rows) => self.compile(chains, Start::Rows(rows.view())),
        }
    }

    fn double(&mut self, _: u64) -> Result<(), Error> {
        let states = self.chains.samples();
        self.compile(2 * self.chains(), Start::Rows(states.view()))
    }

    fn sweep(&mut self) {
        self.chains.sweep(1);
    }

    fn means(&self, out: &mut [f64]) {
        let states = self.states();
        let share = 1.0 / states.nrows() as f64;
        out.copy_from_slice(&means_of_states(&self.layout, states.view(), |_| share));
    }

    fn half_means(&self, first: &mut [f64], second: &mut [f64]) {
        let states = self.states();
        let (a, b) = states.view().split_at(Axis(0), states.nrows() / 2);
        for (out, part) in [(first, a), (second, b)] {
            let share = 1.0 / part.nrows() as f64;
            out.copy_from_slice(&means_of_states(&self.layout, part, |_| share));
        }
    }

    fn influence(&self) -> Influence {
        Influence::of_factors(&self.graph).expect("products of pairwise tables fit")
    }

    /// The bound of [`BoundKind::Coupling`]. The indicators of a variable, or of a pair, select one state out of many.
    /// Let `e` bound the probability that the coupled variables differ. Then the means of the indicators change by at
    /// most `e` upwards and `e` downwards in total, hence by at most `sqrt(2) e` in norm.
    fn bias(&self, kind: BoundKind, d: &[f64]) -> f64 {
        match kind {
            BoundKind::Paper => {
                2.0 * (self.dimension() as f64).sqrt() * d.iter().sum::<f64>() + 0.0
            }
            BoundKind::Coupling => std::f64::consts::SQRT_2 * bounds::bias_coupling(d),
        }
    }

    /// The largest eigenvalue by power iterations without forming the matrix, as for two states.
    fn curvature(&self) -> f64 {
        let states = self.states();
        let used = states.nrows().min(SUBSAMPLE);
        // The places of the indicators that are 1, a row of places a chain.
        let places: Vec<Vec<usize>> = (0..used)
            .map(|c| {
                let state = |i: usize| usize::from(states[[c, i]]);
                let place = |((i, j), block): ((usize, usize), std::ops::Range<usize>)| {
                    let own = state(i);
                    block.start + if i == j { own } else { own * self.layout.cards()[j] + state(j) }
                };
                self.layout.blocks().map(place).collect()
            })
            .collect();
        let mut mean = vec![0.0; self.dimension()];
        for &place in places.iter().flatten() {
            mean[place] += 1.0 / used as f64;
        }
        // A start that no symmetry makes orthogonal to the leading vector.
        let start = (0..mean.len())
            .map(|c| ((c * 7919 % 101) as f64 / 101.0 - 0.4) + 0.01 * (c % 7) as f64)
            .collect();
        largest_eigenvalue(start, &mean, |v, next| {
            for row in &places {
                let along = row.iter().map(|&place| v[place]).sum::<f64>() / used as f64;
                row.iter().for_each(|&place| next[place] += along);
            }
        })
    }

    fn log_partition(&self, settings: &AisSettings) -> Result<(f64, f64), Error> {
        let found = ais(&self.graph, settings)?;
        Ok((found.log_partition, found.standard_error))
    }

    fn edges(&self, theta: &[f64]) -> usize {
        self.layout.support(theta).len()
    }
}
