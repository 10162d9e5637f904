//! Random draws by textbook parameters, for the inner loops of simulations. They need no family or distribution object.
//!
//! | to draw | use |
//! |---|---|
//! | a probability vector, in logs, for concentrations down to 1e-300 | [`Dirichlet`] |
//! | a category, once or often | [`categorical`], [`categorical_from_logs`], [`Alias`](fenchel_optim::random::Alias) |
//! | a normal vector from mean, natural or Cholesky parameters | [`NormalVector`] |
//! | a precision or covariance matrix, with its Cholesky factor | [`Wishart`], [`InverseWishart`] |
//! | mean and covariance together | [`NormalInverseWishart`] |
//! | `log` of a gamma variable, for shapes below 1 | [`log_gamma_variable`] |
//!
//! The random generator is the last argument; equal seeds give equal draws.

mod dirichlet;
mod normal;
mod scalar;
mod wishart;

pub use dirichlet::{Dirichlet, categorical, categorical_from_logs};
pub use normal::{NormalInverseWishart, NormalVector, NormalWishart};
pub use scalar::log_gamma_variable;
pub(crate) use scalar::{gamma_variable, open_uniform, standard_normal};
pub use wishart::{InverseWishart, Wishart};
