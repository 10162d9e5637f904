//! The settings of the method.

use fenchel_linalg::Invalid;
use fenchel_optim::{Cadence, Refusal, StepSize, Stop, settings};
use serde::{Deserialize, Serialize};

use super::record::{Averaging, Tracking};
use super::schedule::{AdaptiveChains, Schedule};
use crate::bounds::BoundKind;
use crate::error::Error;
use crate::layout::Coordinates;
use crate::penalty::Penalty;

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

settings! {
    /// Settings of the stochastic proximal gradient method, and the estimator.
    ///
    /// ```
    /// use fenchel_mrf_learn::{Data, MissingPolicy, Penalty, Spg};
    /// use ndarray::array;
    ///
    /// let x = array![[1u8, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0], [1, 1, 0], [0, 1, 1]];
    /// let data = Data::binary(x.view(), MissingPolicy::Error)?;
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
        /// Influences of binary variables with at most this many neighbours are exact instead of bounded.
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
}
