//! Small published networks that are part of the crate, for examples and tests.
//!
//! | function | content | variables, arcs |
//! |---|---|---|
//! | [`asia`] | a fictitious medical diagnosis | 8, 8 |
//! | [`alarm`] | monitoring of patients in intensive care | 37, 46 |
//!
//! The numbers are those of the publications named below, in the form of the public collections. We know of no licence by their
//! authors. `networks/README.md` of this crate says more.

use crate::{BayesNet, bif};

/// Shortness of breath after a visit to Asia: tuberculosis, lung cancer or bronchitis.
///
/// Source: Lauritzen and Spiegelhalter, J. Royal Statistical Society B 50, 1988.
///
/// ```
/// let net = fenchel_graphical::networks::asia();
/// assert_eq!((net.len(), net.dag().arc_count()), (8, 8));
/// ```
pub fn asia() -> BayesNet {
    embedded(include_bytes!("../networks/asia.bif"))
}

/// ALARM: a network for monitoring anaesthesia, with diagnoses, findings and intermediate variables.
///
/// Source: Beinlich, Suermondt, Chavez and Cooper, 1989.
pub fn alarm() -> BayesNet {
    embedded(include_bytes!("../networks/alarm.bif"))
}

fn embedded(text: &[u8]) -> BayesNet {
    bif::read(text).expect("the embedded networks are read by the tests")
}
