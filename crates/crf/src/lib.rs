//! Linear-chain conditional random fields with certified training.
#![forbid(unsafe_code)]

mod error;
mod instance;
pub mod text;
mod vocabulary;

pub use error::Error;
pub use instance::Instance;
pub use vocabulary::Vocabulary;
