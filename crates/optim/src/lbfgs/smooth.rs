//! The functions that L-BFGS minimises, and its states.

use serde::{Deserialize, Serialize};

use super::memory::{Memory, norm};
use crate::{Certificate, CertificateCost};

/// The state of [`lbfgs`](fn@super::lbfgs) and [`owlqn`](super::owlqn): a point, and the pairs of vectors that describe the curvature there.
///
/// As a start it saves the steps that would learn the curvature again. Pairs from other settings, or of another dimension, are
/// dropped.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LbfgsState<P = Vec<f64>> {
    /// The point.
    pub point: P,
    /// The pairs. There are none in a state made from a point.
    #[serde(default)]
    pub memory: Memory,
}

impl<P> From<P> for LbfgsState<P> {
    fn from(point: P) -> Self {
        LbfgsState { point, memory: Memory::default() }
    }
}

impl<P> LbfgsState<P> {
    /// The same state for a point of another type.
    pub fn map<Q>(self, point: impl FnOnce(P) -> Q) -> LbfgsState<Q> {
        LbfgsState { point: point(self.point), memory: self.memory }
    }
}

/// A differentiable function.
pub trait Smooth {
    /// Number of variables.
    fn dimension(&self) -> usize;

    /// Returns the value at `x` and writes the gradient to `gradient`. One oracle call, one pass.
    fn value_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> f64;

    /// A positive diagonal that is roughly proportional to the inverse Hessian, without knowledge of the point. L-BFGS begins
    /// with it in place of the identity. It is called once per run, and counted as half a pass.
    fn inverse_diagonal(&mut self) -> Option<Vec<f64>> {
        None
    }

    /// The value alone, for line searches that need no gradient. Counted as half a pass.
    fn value_only(&mut self, x: &[f64]) -> f64 {
        let mut gradient = vec![0.0; x.len()];
        self.value_gradient(x, &mut gradient)
    }

    /// The certificate at `x`, given the value and the gradient there. The default is the norm of the gradient.
    fn certify(&mut self, _x: &[f64], value: f64, gradient: &[f64]) -> Certificate {
        Certificate::residual(value, norm(gradient), 0.0)
    }

    /// What [`certify`](Smooth::certify) would cost at the point evaluated last, and what it may show, given the gradient
    /// there.
    fn certificate_cost(&self, _gradient: &[f64]) -> CertificateCost {
        CertificateCost::Passes
    }

    /// The certificate at `x` of this function plus a regulariser `h`, given the value `h(x)`. The default is `None`;
    /// [`fista`](mod@crate::fista) then uses the norm of the gradient mapping.
    fn certify_composite(&mut self, _x: &[f64], _h: f64) -> Option<Certificate> {
        None
    }
}
