//! Stochastic proximal gradient (SPG): proximal gradient steps with sampled gradients whose error is bounded.
//!
//! ```text
//! repeat  sweep all q chains under theta; d <- B d; t <- t + 1          until the schedule is content with t
//!         Df = mean of psi over the chains - mean of psi over the data
//!         theta+ = prox(theta - a Df),   G = (theta - theta+) / a
//! ```
//!
//! A step decreases the objective if the error of its gradient is below `norm(G) / 2` (Geng et al., UAI 2018, theorem 1). With the
//! influence bound `B`, the vector `d = B^t 1` bounds that error without a sample ([`bounds`](crate::bounds)). The schedule [`Tay`]
//! runs just as many sweeps as this bound requires.
//!
//! | you want | use |
//! |---|---|
//! | a certified number of sweeps, few at the start and more towards the end | [`Schedule::Tay`], the default |
//! | what most packages do (persistent contrastive divergence) | [`Spg::pcd`]: one sweep per iteration, chains that continue |
//! | contrastive divergence | [`Spg::contrastive_divergence`]: chains that start at the data; biased |
//! | a bound with a probability, sampling error included | [`Schedule::NonAsymptotic`]; it needs many chains |
//! | the textbook baseline | [`Schedule::Fixed`], [`Schedule::Increasing`] |
//!
//! The bounds hold from any start, so they also cover chains that continue from one iteration to the next ([`ChainStart::Persistent`]).
//! With such chains, one sweep per iteration is as good as TAY on the problems of Geng et al. (UAI 2018). In algorithm 2 of that paper
//! the chains restart in every iteration. Then one sweep is biased, and TAY is far better.

mod binary;
mod method;
mod missing;
mod record;
mod sampler;
mod schedule;

pub use binary::BinarySampler;
pub(crate) use method::Parameters;
pub use method::{ModelOf, SpgMethod, SpgProblem, SpgSolution, spg};
pub use record::{Averaging, ObjectiveEstimate, Tracking};
pub use sampler::Sampler;
pub(crate) use sampler::{Begin, Origin};
pub use schedule::{AdaptiveChains, NonAsymptotic, Schedule, Tay, Uncertified};

use fenchel_optim::Refusal;

use fenchel_linalg::Invalid;
use fenchel_optim::{Cadence, Fit, Observer, StepSize, Stop, settings};
use serde::{Deserialize, Serialize};

use crate::bounds::BoundKind;
use crate::coordinates::packed_length;
use crate::{BinaryData, Coordinates, Error, NetworkModel, Penalty};

/// Where the chains of an iteration start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChainStart {
    /// At the final states of the previous iteration: the recommended default.
    #[default]
    Persistent,
    /// At fair coins, anew in every iteration: algorithm 2 of Geng et al. (UAI 2018) to the letter.
    Restart,
    /// At the rows of the data, anew in every iteration: contrastive divergence.
    Data,
}

/// The parameters at the start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum InitialParameters {
    /// All 0: the chains are fair coins, and the first bound is exact after one sweep.
    #[default]
    Zero,
    /// Independent uniform draws up to this size in either direction.
    Random(f64),
    /// No couplings, and biases that reproduce the means of the data. For a constant column, the mean is computed as if the data had
    /// one more row of each value.
    Independent,
}

/// One iteration, as the trace of a fit keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SpgRecord {
    /// Sweeps of the chains, `t`.
    pub sweeps: usize,
    /// Number of chains, `q >= 2`.
    pub chains: usize,
    /// The step, `a`.
    pub step: f64,
    /// `norm(G)`, the proximal gradient mapping.
    pub mapping: f64,
    /// The bound on the bias of the gradient after these sweeps.
    pub bias_bound: f64,
    /// The standard error of the gradient, `sqrt(sum V / q)`.
    pub noise: f64,
    /// The spectral radius of the influence bound, if it was computed (every tenth iteration, or when a schedule needs it).
    pub radius: Option<f64>,
    /// Whether the bound is below half of the mapping.
    pub certified: bool,
    /// Couplings that are not 0 after the step.
    pub edges: usize,
    /// The objective after the step, where [`Spg::track`] asked for it.
    #[serde(default)]
    pub objective: Option<ObjectiveEstimate>,
}

/// What to know about a fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Warning {
    /// The step exceeds `2 / lambda_max(Cov psi)` over the chains, so iterates oscillate. Use [`StepSize::Theory`].
    StepTooLarge {
        /// The step.
        step: f64,
        /// `2 / lambda_max`.
        limit: f64,
    },
    /// From this iteration on the spectral radius of the influence bound was 1 or more, so there is no bound on the error.
    Uncertified {
        /// The iteration, counted from 0.
        iteration: usize,
    },
    /// Rows with a missing value were left out of the data.
    RowsDropped {
        /// How many.
        dropped: usize,
        /// How many were kept.
        kept: usize,
    },
    /// A parameter was held at `max_parameter`.
    Clamped {
        /// The iteration, counted from 0.
        iteration: usize,
    },
}

settings! {
    /// Settings of the stochastic proximal gradient method, and the estimator.
    ///
    /// ```
    /// use fenchel_mrf_learn::{BinaryData, MissingPolicy, Penalty, Spg};
    /// use ndarray::array;
    ///
    /// let x = array![[1u8, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0], [1, 1, 0], [0, 1, 1]];
    /// let data = BinaryData::new(x.view(), MissingPolicy::Error)?;
    /// let model = Spg { penalty: Penalty::l1(0.08), ..Spg::default() }.fit(&data)?;
    /// let last = model.trace.last().expect("one record an iteration");
    /// println!("{} edges; {} sweeps; bias of the gradient below {:.3}", last.edges, last.sweeps, last.bias_bound);
    /// # Ok::<(), fenchel_mrf_learn::Error>(())
    /// ```
    pub struct Spg {
        /// The penalty that makes the graph sparse.
        penalty: Penalty = Penalty::default(),
        /// The coordinates in which parameters are penalised.
        coordinates: Coordinates = Coordinates::Binary,
        /// Number of chains, `q >= 2`.
        chains: usize = 2000,
        /// Where the chains of an iteration start.
        start: ChainStart = ChainStart::Persistent,
        /// The number of sweeps per iteration.
        schedule: Schedule = Schedule::default(),
        /// Which bound of the bias counts.
        bound: BoundKind = BoundKind::Paper,
        /// Influences of variables with at most this many neighbours are exact instead of bounded.
        exact_degree: usize = 0,
        /// Whether chains are doubled when the noise is too large.
        adaptive: AdaptiveChains = AdaptiveChains::Off,
        /// The first half of the chains decides the number of sweeps, the second half takes the step.
        split_chains: bool = false,
        /// The step. `Theory`: `0.9 / lambda_max` of the sample covariance, renewed every 10 iterations; or `Constant`, `Scaled`, `Decaying`.
        step: StepSize = StepSize::Theory,
        /// Parameters at the start.
        initial: InitialParameters = InitialParameters::Zero,
        /// Whether to return an average of the iterates too: of all, or of the last half.
        average: Averaging = Averaging::Off,
        /// The objective every so many iterations, by annealed importance sampling.
        track: Option<Tracking> = None,
        /// Ends the run after 10 iterations in a row with `norm(G)` below so many standard errors; `None` for never.
        noise_floor: Option<f64> = Some(1.2),
        /// Ends the run when the mean `norm(G)` of 10 iterations is within this share of that of the 10 before.
        plateau: Option<f64> = None,
        /// With a step, sets couplings to 0 that are smaller than the step times two standard errors of their derivative.
        noise_threshold: bool = false,
        /// Bound on the absolute value of parameters, so that none diverges.
        max_parameter: f64 = 20.0,
        /// When the method stops: a pass is an iteration; tolerances are of `norm(G)` plus its error bound.
        stop: Stop = Stop {
            absolute: 0.0,
            relative: 0.0,
            max_passes: 150.0,
            max_seconds: None,
            check: Cadence::Every(10.0),
        },
        /// Seed of all draws.
        seed: u64 = 0,
    }
}

impl Spg {
    /// Persistent contrastive divergence: one sweep per iteration, with chains that continue from one iteration to the next.
    pub fn pcd(penalty: Penalty) -> Self {
        Spg { penalty, schedule: Schedule::Fixed(1), ..Spg::default() }
    }

    /// Contrastive divergence with `sweeps` sweeps from the data. Biased, whatever the number of chains.
    pub fn contrastive_divergence(penalty: Penalty, sweeps: usize) -> Self {
        let schedule = Schedule::Fixed(sweeps);
        Spg { penalty, schedule, start: ChainStart::Data, ..Spg::default() }
    }

    /// Ends after so many iterations.
    pub fn with_iterations(self, iterations: usize) -> Self {
        let stop = Stop { max_passes: iterations as f64, ..self.stop };
        Spg { stop, ..self }
    }

    /// Fits a model.
    ///
    /// # Errors
    /// [`Error::Invalid`] for settings out of range; [`Error::Uncertified`] where the schedule refuses to go on; [`Error::Graphical`] for more
    /// chains than fit into memory.
    pub fn fit(&self, data: &BinaryData) -> Result<NetworkModel, Error> {
        self.fit_with(data, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows in place of those of the data, a model to start from, and a closure that
    /// watches.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Error::Invalid`] for weights that are negative, all 0 or not one a row, and for a start with other
    /// variables.
    pub fn fit_with(
        &self,
        data: &BinaryData,
        fit: Fit<'_, NetworkModel>,
    ) -> Result<NetworkModel, Error> {
        let Fit { weights, start, mut watch } = fit;
        spg_binary(&*data.weighted(weights)?, self, start, &mut watch)
    }

    /// Checks what does not depend on the data.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.chains < 2 {
            let (name, value) = ("chains", self.chains as f64);
            return Err(Invalid::Parameter { name, value, expected: "at least 2" }.into());
        }
        self.stop.check()?;
        self.schedule.check()?;
        self.adaptive.check()?;
        match self.step {
            StepSize::Theory => {}
            StepSize::Scaled(step) | StepSize::Constant(step) => {
                Invalid::check_positive("step", step)?;
            }
            StepSize::Decaying { first, power } => {
                Invalid::check_positive("step (first)", first)?;
                Invalid::check_nonnegative("step (power)", power)?;
            }
            StepSize::Backtracking => {
                return Err(Refusal::unsupported(
                    "Spg",
                    "backtracking, which needs exact values; ExactMle has it",
                )
                .into());
            }
        }
        if let Some(floor) = self.noise_floor {
            Invalid::check_nonnegative("noise_floor", floor)?;
        }
        if let Some(share) = self.plateau {
            Invalid::check_positive("plateau", share)?;
        }
        if let Some(track) = self.track {
            track.check()?;
        }
        Ok(Invalid::check_positive("max_parameter", self.max_parameter)?)
    }

    fn initial(&self, data: &BinaryData) -> Result<Vec<f64>, Error> {
        let p = data.variables();
        let length = packed_length(p);
        Ok(match &self.initial {
            InitialParameters::Zero => vec![0.0; length],
            InitialParameters::Random(scale) => {
                Invalid::check_nonnegative("initial (scale)", *scale)?;
                use rand::RngExt;
                let mut random = fenchel_optim::random::stream(self.seed, u64::MAX);
                (0..length).map(|_| scale * (2.0 * random.random::<f64>() - 1.0)).collect()
            }
            InitialParameters::Independent => {
                let means = data.means(Coordinates::Binary);
                let mut theta = vec![0.0; length];
                let half = if self.coordinates == Coordinates::Spins { 0.5 } else { 1.0 };
                let rows = data.rows() as f64;
                for i in 0..p {
                    let c = crate::pair_index(i, i, p);
                    let mean = if means[c] <= 0.0 || means[c] >= 1.0 {
                        (means[c] * rows + 1.0) / (rows + 2.0)
                    } else {
                        means[c]
                    };
                    theta[c] = half * (mean / (1.0 - mean)).ln();
                }
                theta
            }
        })
    }
}

/// Learns a network as [`Spg::fit_with`] does, and shows an observer the packed parameters.
///
/// # Errors
/// As [`Spg::fit_with`].
pub fn spg_binary<O: Observer<[f64]>>(
    data: &BinaryData,
    settings: &Spg,
    start: Option<&NetworkModel>,
    observer: &mut O,
) -> Result<NetworkModel, Error> {
    settings.check()?;
    let (p, coordinates, penalty) = (data.variables(), settings.coordinates, &settings.penalty);
    let strengths = penalty.strengths(p)?;
    let theta = match start {
        Some(model) => model.start(p, coordinates)?,
        None => settings.initial(data)?,
    };
    let sampler = BinarySampler::new(data, settings)?;
    let target = data.means(coordinates);
    let missing = missing::Missing::new(data, coordinates, settings.seed);
    let problem = SpgProblem { sampler, target, regulariser: strengths, missing, settings };
    let done = spg(problem, theta, &mut Parameters(observer))?;
    let mut model = NetworkModel::new(&done.theta, data, coordinates, penalty, done.report)?;
    model.trace = done.trace;
    model.warnings.extend(done.warnings);
    if let Some(average) = done.average {
        model.average = Some(coordinates.model(&average, p)?.0);
    }
    Ok(model)
}
