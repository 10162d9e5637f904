//! Score functions of a density `p` of the features.
//!
//! ```text
//! S1(x) = -grad log p(x),     S2(x) = Hess p(x) / p(x) = Hess log p(x) + S1(x) S1(x)'
//! ```
//!
//! By Stein's lemma `E[g(x) S1(x)] = E[grad g(x)]` and `E[g(x) S2(x)] = E[Hess g(x)]`. So averages of scores, weighted
//! by a function of the response, lie in the span of the wanted directions, whatever the density of the features.
//!
//! | the features are | score |
//! |---|---|
//! | normal | [`Gaussian`] |
//! | a mixture of normal parts | [`GaussianMixture`] |
//! | independent, each a mixture | [`ProductMixture`] |
//! | heavy-tailed and elliptical | [`StudentT`] |
//! | something you can differentiate | [`FnScore`] |
//! | of unknown density | [`ScoreMatching`](crate::ScoreMatching) learns one |
//!
//! Every score has `E S1 = 0`, `E[(x - mu) S1'] = I` and `E S2 = 0`. [`ScoreDiagnostics`] measures the sample versions
//! of these identities. Source: D. Babichev, PhD thesis 2019, sections 1.1.1 and 2.5, assumptions (A2) and (A3).

mod diagnostics;
mod function;
mod gaussian;
mod mixture;
mod product;
mod student;
mod traits;

pub use diagnostics::ScoreDiagnostics;
pub use function::FnScore;
pub use gaussian::Gaussian;
pub use mixture::{Component, GaussianMixture};
pub use product::{Part, ProductMixture};
pub use student::StudentT;
pub(crate) use traits::check_columns;
pub use traits::{ScoreFunction, SecondOrderScore};
