//! The families, one file each.

mod batch;
mod bernoulli;
mod exponential;
mod gamma;
mod gamma_known_shape;
mod laplace;
mod normal;
mod normal_known_mean;
mod pareto;
mod rayleigh;
pub(crate) mod scale;
mod weibull;

pub use bernoulli::Bernoulli;
pub use exponential::Exponential;
pub use gamma::Gamma;
pub use gamma_known_shape::GammaKnownShape;
pub use laplace::Laplace;
pub use normal::Normal;
pub use normal_known_mean::NormalKnownMean;
pub use pareto::Pareto;
pub use rayleigh::Rayleigh;
pub use weibull::Weibull;
