//! Gibbs sampling of many parallel chains of any discrete model.
//!
//! ```text
//! x_v ~ P(x_v | all others) ~ prod_{f with v} psi_f(x_v, others),    variable after variable, sweep after sweep
//! ```
//!
//! | model | use |
//! |---|---|
//! | binary, pairwise | [`BinaryGibbs`](crate::binary::BinaryGibbs): one bit per variable and chain, 64 chains per word |
//! | any other | [`Gibbs`] |
//! | small treewidth | [`Calibrated::sample`](crate::junction_tree::Calibrated::sample): independent draws, without chains |
//!
//! | scan | a sweep visits | use |
//! |---|---|---|
//! | `Order::Cyclic` | all variables in order | the default; the scan that [`crate::influence`] bounds |
//! | `Order::Permuted` | all variables, in a new random order for each sweep | where a fixed order could interact with the model |
//! | `Order::Uniform` | as many independent uniform draws of a variable | reversible chains, for theory |
//! | [`Scan::Chromatic`] | one colour class after the other | equivalent to updating all variables of a colour at once |
//! | [`Scan::Blocked`] | blocks drawn jointly, then the other variables one by one | strong couplings: one exact draw updates a whole tree |
//!
//! A [`Scan`] is one of these rows. The first three are [`Order`](crate::binary::Order)s, which all methods of the workspace share. The
//! other two use the graph of the model.
//!
//! Impossible evidence is refused when the chains start, as far as it can be detected. If some potential is 0, single updates
//! may never leave a subset of the states, and a start may have probability 0 ([`Gibbs::impossible_chains`]). Blocks help in
//! this case, but without a guarantee. For the number of sweeps use
//! [`Influence::sweeps_needed`](crate::Influence::sweeps_needed) where it gives a bound, and [`crate::diagnostics`] elsewhere.
//!
//! Sources: Geng, Kuang, Liu, Wright and Page, UAI 2018, algorithm 1; Geman and Geman, IEEE Trans. PAMI 6 (1984); Hamze and de
//! Freitas, "From fields to trees", UAI 2004, for blocks; Gonzalez, Low, Gretton and Guestrin, AISTATS 2011, for colours.

mod block;
mod possible;
mod program;
mod scan;

use fenchel_linalg::{Invalid, parallel};
use fenchel_optim::random::{Generator, stream};
use fenchel_optim::settings;
use ndarray::{Array2, ArrayView2};
use rand::RngExt;
use rand::seq::SliceRandom;

use crate::{Error, Evidence, FactorGraph, VarId};

use block::{Block, Scratch};
use program::Program;
pub(crate) use scan::Next;

pub use block::tree_blocks;
pub use scan::Scan;

/// Initial states of the chains. Observed variables are in their observed states in any case.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Start<'a> {
    /// Every state uniform.
    #[default]
    Random,
    /// All variables in state 0.
    Zero,
    /// All chains in one configuration.
    State(&'a [usize]),
    /// Chain `c` starts in row `c` modulo the number of rows. The array is samples x variables, as [`Gibbs::samples`] returns
    /// it.
    Rows(ArrayView2<'a, usize>),
}

settings! {
    /// Settings of [`Gibbs`].
    pub struct GibbsSettings {
        /// Number of independent chains.
        chains: usize = 64,
        /// The order of the visits in a sweep.
        scan: Scan = Scan::default(),
        /// Determines every draw, on any number of threads.
        seed: u64 = 0,
    }
}

/// Gibbs sampling of parallel chains. The chains are independent given their start, and run on all cores.
///
/// ```
/// use fenchel_graphical::gibbs::{Gibbs, GibbsSettings, Start};
/// use fenchel_graphical::{Evidence, FactorGraph, VarId};
///
/// let mut model = FactorGraph::new(&[3, 2])?;
/// model.add_values(&[VarId(0), VarId(1)], &[1.0, 3.0, 2.0, 2.0, 3.0, 1.0])?;
/// let settings = GibbsSettings { chains: 20_000, ..GibbsSettings::default() };
/// let mut chains = Gibbs::new(&model, &Evidence::new(), Start::Random, &settings)?;
/// chains.sweep(20);
/// assert!((chains.marginal(VarId(0))?[2] - 1.0 / 3.0).abs() < 0.02);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Gibbs {
    program: Program,
    evidence: Evidence,
    next: Next,
    order: Vec<u32>,
    blocks: Vec<Block>,
    chains: Vec<Chain>,
}

#[derive(Debug, Clone)]
struct Chain {
    /// The states. An observed variable has the state 0, the only one left.
    states: Vec<u32>,
    random: Generator,
}

impl Gibbs {
    /// Starts the chains.
    ///
    /// # Errors
    /// [`Invalid::Parameter`] for zero chains; what [`Evidence::check`] refuses; [`Invalid::Length`], [`Invalid::Empty`] and
    /// [`Error::State`] for a start that does not fit; [`Error::UnknownVariable`], [`Error::RepeatedVariable`] and
    /// [`Error::Refused`] for blocks; [`Error::Refused`] for an order that is not supported; [`Error::Memory`] for more chains
    /// than fit; [`Error::Potential`] for log-potentials whose sum may exceed 1e300. [`Error::ImpossibleEvidence`] if no configuration is possible; this is always detected if the factors with
    /// zeros have a junction tree of at most 64 MiB.
    pub fn new(
        model: &FactorGraph,
        evidence: &Evidence,
        start: Start<'_>,
        settings: &GibbsSettings,
    ) -> Result<Self, Error> {
        let GibbsSettings { chains, scan, seed } = settings;
        let next = scan.next("Gibbs")?;
        if *chains == 0 {
            let expected = "at least one chain";
            return Err(Invalid::Parameter { name: "chains", value: 0.0, expected }.into());
        }
        check_start(model, start)?;
        model.check_sums()?;
        let each = size_of::<Chain>() + size_of::<u32>() * model.len();
        Error::check_memory("chains", *chains, each)?;
        let conditioned = model.condition(evidence)?;
        possible::check(&conditioned)?;
        let n = model.len();
        let mut order: Vec<u32> =
            (0..n as u32).filter(|&v| evidence.state(VarId(v)).is_none()).collect();
        let mut blocks = Vec::new();
        match scan {
            Scan::Chromatic => {
                let colours = colouring(&conditioned);
                order.sort_by_key(|&v| colours[v as usize]);
            }
            Scan::Blocked(lists) => {
                blocks = Block::compile(&conditioned, lists, &order)?;
                order.retain(|&v| !lists.iter().flatten().any(|w| w.0 == v));
            }
            Scan::Single(_) => {}
        }
        let make = |c: usize| {
            let mut random = stream(*seed, c as u64);
            let state = |v: usize| match start {
                _ if evidence.state(VarId(v as u32)).is_some() => 0,
                Start::Random => random.random_range(0..model.cards()[v]),
                Start::Zero => 0,
                Start::State(x) => x[v],
                Start::Rows(rows) => rows[[c % rows.nrows(), v]],
            };
            let states = (0..n).map(state).map(|s| s as u32).collect();
            Chain { states, random }
        };
        let chains = (0..*chains).map(make).collect();
        let program = Program::new(&conditioned);
        let evidence = evidence.clone();
        Ok(Gibbs { program, evidence, next, order, blocks, chains })
    }

    /// Number of chains.
    pub fn chains(&self) -> usize {
        self.chains.len()
    }

    /// Number of variables.
    pub fn variables(&self) -> usize {
        self.program.cards.len()
    }

    /// Replaces the potentials, and keeps the states and the evidence.
    ///
    /// # Errors
    /// [`Invalid::Layout`] for a model with other cardinalities or scopes; [`Error::Potential`] as in [`new`](Self::new).
    pub fn set_model(&mut self, model: &FactorGraph) -> Result<(), Error> {
        model.check_sums()?;
        self.program.set(&model.condition(&self.evidence)?)
    }

    /// Does `sweeps` sweeps in every chain.
    pub fn sweep(&mut self, sweeps: usize) {
        let Gibbs { program, next, order, blocks, chains, .. } = self;
        let work = |part: &mut [Chain]| {
            let mut scratches: Vec<Scratch> = blocks.iter().map(Block::scratch).collect();
            let mut weights = Vec::new();
            let mut visits = order.clone();
            for chain in part {
                let Chain { states, random } = chain;
                for _ in 0..sweeps {
                    for (block, scratch) in blocks.iter().zip(&mut scratches) {
                        block.draw(program, scratch, states, random);
                    }
                    if *next == Next::Shuffled {
                        visits.copy_from_slice(order);
                        visits.shuffle(random);
                    }
                    for step in 0..visits.len() {
                        let v = match next {
                            Next::Drawn => order[random.random_range(0..order.len())],
                            _ => visits[step],
                        };
                        program.draw(v as usize, states, &mut weights, random);
                    }
                }
            }
        };
        parallel::map(chains.chunks_mut(16), work);
    }

    /// The configuration of one chain.
    ///
    /// # Panics
    /// If there is no such chain.
    pub fn state(&self, chain: usize) -> Vec<usize> {
        let states = &self.chains[chain].states;
        let full = |(v, &s): (usize, &u32)| self.observed(v).unwrap_or(s as usize);
        states.iter().enumerate().map(full).collect()
    }

    /// All configurations: chains x variables.
    pub fn samples(&self) -> Array2<usize> {
        let observed: Vec<Option<usize>> =
            (0..self.variables()).map(|v| self.observed(v)).collect();
        Array2::from_shape_fn((self.chains(), self.variables()), |(c, v)| {
            observed[v].unwrap_or(self.chains[c].states[v] as usize)
        })
    }

    /// The fraction of chains in every state of a variable.
    ///
    /// # Errors
    /// [`Error::UnknownVariable`].
    pub fn marginal(&self, variable: VarId) -> Result<Vec<f64>, Error> {
        let v = variable.index();
        let Some(&card) = self.program.cards.get(v) else {
            return Err(Error::UnknownVariable { variable, variables: self.variables() });
        };
        let observed = self.observed(v);
        let mut shares = vec![0.0; card.max(observed.map_or(0, |state| state + 1))];
        for chain in &self.chains {
            shares[observed.unwrap_or(chain.states[v] as usize)] += 1.0;
        }
        shares.iter_mut().for_each(|share| *share /= self.chains() as f64);
        Ok(shares)
    }

    /// The mean over the chains of a function of the configuration.
    pub fn mean(&self, mut f: impl FnMut(&[usize]) -> f64) -> f64 {
        (0..self.chains()).map(|c| f(&self.state(c))).sum::<f64>() / self.chains() as f64
    }

    /// The number of chains whose configuration has probability 0. If some potential is 0, a start may be impossible, and
    /// single updates may not lead out of it. Statistics that include such chains say nothing about the model.
    pub fn impossible_chains(&self) -> usize {
        self.chains.iter().filter(|chain| !self.program.is_possible(&chain.states)).count()
    }

    fn observed(&self, v: usize) -> Option<usize> {
        self.evidence.state(VarId(v as u32))
    }
}

fn check_start(model: &FactorGraph, start: Start<'_>) -> Result<(), Error> {
    let check = |variable: usize, state: usize| {
        let cardinality = model.cards()[variable];
        let variable = VarId(variable as u32);
        if state < cardinality {
            Ok(())
        } else {
            Err(Error::State { variable, state, cardinality })
        }
    };
    match start {
        Start::Random | Start::Zero => Ok(()),
        Start::State(x) => {
            Invalid::check_length("start state", model.len(), x.len())?;
            x.iter().enumerate().try_for_each(|(v, &state)| check(v, state))
        }
        Start::Rows(rows) if rows.nrows() == 0 => Err(Invalid::Empty { what: "start rows" }.into()),
        Start::Rows(rows) => {
            Invalid::check_length("start rows (columns)", model.len(), rows.ncols())?;
            rows.indexed_iter().try_for_each(|((_, v), &state)| check(v, state))
        }
    }
}

/// Colours the variables so that no factor has two variables of the same colour, greedily in the order of decreasing degree.
fn colouring(model: &FactorGraph) -> Vec<usize> {
    let neighbours = model.neighbours();
    let mut order: Vec<usize> = (0..model.len()).collect();
    order.sort_by_key(|&v| (std::cmp::Reverse(neighbours[v].len()), v));
    let mut colours = vec![usize::MAX; model.len()];
    for v in order {
        let taken: Vec<usize> = neighbours[v].iter().map(|w| colours[w.index()]).collect();
        colours[v] = (0..=taken.len()).find(|c| !taken.contains(c)).unwrap_or(0);
    }
    colours
}
