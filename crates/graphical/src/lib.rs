//! Discrete graphical models: exact and approximate inference.
#![forbid(unsafe_code)]

mod error;

pub use error::Error;
