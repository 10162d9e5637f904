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
mod certificate;
mod fit;
mod method;
mod missing;
mod problem;
mod record;
mod sampler;
mod schedule;
mod settings;
mod states;

pub use binary::BinarySampler;
pub use fit::spg_network;
pub use method::SpgMethod;
pub use problem::{SpgProblem, SpgSolution, spg};
pub use record::{Averaging, ObjectiveEstimate, SpgRecord, Tracking, Warning};
pub use sampler::Sampler;
pub use schedule::{AdaptiveChains, NonAsymptotic, Schedule, Tay, Uncertified};
pub use settings::{ChainStart, InitialParameters, Spg};
pub use states::StateSampler;
