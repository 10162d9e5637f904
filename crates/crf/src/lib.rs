//! Linear-chain conditional random fields with certified training.
#![forbid(unsafe_code)]

mod error;

pub use error::Error;
