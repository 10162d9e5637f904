//! One panel of Gauss quadrature.

use std::sync::LazyLock;

use fenchel_linalg::quadrature::{Rule, gauss_legendre};

static RULE: LazyLock<Rule> = LazyLock::new(|| gauss_legendre(16).expect("16 nodes"));

/// Calls `f` with the nodes and weights of the same rule on `[0, width]`.
pub(crate) fn legendre_nodes(width: f64, mut f: impl FnMut(f64, f64)) {
    let half = 0.5 * width;
    RULE.nodes.iter().zip(&RULE.weights).for_each(|(x, w)| f(half * (1.0 + x), half * w));
}

/// `int_from^to f` with 16 nodes, exact for polynomials of degree 31.
pub(crate) fn legendre(from: f64, to: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
    half * RULE.sum(|x| f(middle + half * x))
}
