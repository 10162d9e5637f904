//! Causal graphs, identification with checked estimands, effects from data, and pairs of cause and effect.
//!
//! ```text
//! seeing   P(y | x)         the law of y among those who happen to have x
//! doing    P(y | do(x))     the law of y when x is set from outside
//! ```
//!
//! A causal graph decides whether the second follows from the first, and by which formula.
//!
//! | question | use |
//! |---|---|
//! | write a graph down, ask for separations | [`Admg`] |
//! | a formula for an effect, or the proof that there is none | [`identify`](fn@identify), [`Estimand`], [`Hedge`] |
//! | what to adjust for | [`adjustment`] |
//! | may this be exchanged for that | [`calculus`] |
//! | a graph known up to equivalence | [`equivalence`] |
//! | how wrong is an estimated graph | [`distance`] |
//! | a model with all numbers, to check against | [`LatentModel`] |
//!
//! Source: R. Le Priol, *Optimization Tools for Non-Asymptotic Statistics in Exponential Families*, PhD thesis,
//! Université de Montréal, 2021, section 2.3.3 and chapter 4. `docs/sources/causal.md` has the sections item by item.
#![forbid(unsafe_code)]

pub mod adjustment;
pub mod admg;
pub mod calculus;
pub mod categorical;
pub mod direction;
pub mod distance;
pub mod effect;
pub mod equivalence;
mod error;
pub mod estimand;
pub mod identify;
pub mod latent;
mod node_set;
pub mod normal;
#[cfg(feature = "plot")]
mod plot;
pub mod prior;
pub mod scm;
pub mod table;

pub use admg::{Admg, Query};
pub use error::Error;
pub use estimand::{Estimand, Expr};
pub use fenchel_optim::Fit;
pub use identify::{Hedge, Witness, identify};
pub use latent::LatentModel;
pub use node_set::NodeSet;
#[cfg(feature = "plot")]
pub use plot::effects_figure;
pub use table::ProbabilityTable;

/// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
