//! The extension module `fenchel._core` behind the Python package `fenchel`.
//!
//! It has no mathematics: each function reads its arguments, calls a crate, and returns arrays and a report. The parameters,
//! names and docstrings that a user sees are in `python/fenchel/`.
//!
//! | module | what |
//! |---|---|
//! | `data` | matrices and vectors of Python, borrowed where their layout allows |
//! | `control` | limits of a fit; runs it without the interpreter's lock, answers Ctrl-C, shows progress |
//! | `error` | errors of the crates as exceptions |
//! | `report` | the report of a fit as a dictionary |
//! | `linear`, `bayes`, `crf`, `graph_crf`, `causal`, `covariance`, `families`, `mrf`, `reduction`, `optimize` | the modules of `fenchel` |
// Arguments and results are those of Python, which has no cheaper types than tuples.
#![allow(clippy::too_many_arguments, clippy::type_complexity)]

mod bayes;
mod causal;
mod control;
mod covariance;
mod crf;
mod data;
mod error;
mod families;
mod graph_crf;
mod linear;
mod mrf;
mod optimize;
mod reduction;
mod report;

use pyo3::prelude::*;

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    linear::register(module)?;
    bayes::register(module)?;
    crf::register(module)?;
    graph_crf::register(module)?;
    causal::register(module)?;
    covariance::register(module)?;
    reduction::register(module)?;
    families::register(module)?;
    mrf::register(module)?;
    optimize::register(module)
}
