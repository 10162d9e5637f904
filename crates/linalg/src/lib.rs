//! Design matrices behind one row trait, products, factorisations, special functions, projections.
//!
//! The floor that every crate of Fenchel stands on. It depends on no other crate of the workspace.
#![forbid(unsafe_code)]

mod design;
mod error;
pub mod special;

pub use design::{
    AsDesign, Csr, CsrMatrix, Dense, Design, Scalar, multiply, multiply_transposed,
};
pub use error::Invalid;
