//! One panel of Gauss' rule.

use std::sync::LazyLock;

use fenchel_linalg::quadrature::{Rule, gauss_legendre};

static RULE: LazyLock<Rule> = LazyLock::new(|| gauss_legendre(16).expect("16 nodes"));

/// `int_from^to f` with 16 nodes, exact for polynomials of degree 31.
pub(crate) fn legendre(from: f64, to: f64, mut f: impl FnMut(f64) -> f64) -> f64 {
    let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
    half * RULE.sum(|x| f(middle + half * x))
}
