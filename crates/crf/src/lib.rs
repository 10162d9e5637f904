//! Linear-chain conditional random fields with certified training.
#![forbid(unsafe_code)]

mod dataset;
mod error;
mod instance;
pub mod text;
mod vocabulary;
mod weights;

pub use dataset::{Dataset, Sequence, Token};
pub use error::Error;
pub use instance::Instance;
pub use vocabulary::Vocabulary;
pub use weights::Weights;
