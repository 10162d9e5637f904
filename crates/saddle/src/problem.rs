//! What a saddle-point problem is.
//!
//! ```text
//! min_x max_y  f(x, y),   f convex in x and concave in y
//! ```
//!
//! A pair `(x, y)` is judged by its duality gap `max_y' f(x, y') - min_x' f(x', y)`: it is 0 exactly at a saddle point, and
//! bounds the suboptimality of `x` and of `y`.

use fenchel_optim::Certificate;
use serde::{Deserialize, Serialize};

use crate::setup::Setup;

/// A convex-concave problem with a geometry for either block.
///
/// The *field* is `(grad_x f, -grad_y f)`: a step against it goes down in `x` and up in `y`.
pub trait SaddleProblem {
    /// Geometry of the minimising block.
    fn x_setup(&self) -> &dyn Setup;

    /// Geometry of the maximising block.
    fn y_setup(&self) -> &dyn Setup;

    /// Writes `grad_x f(x, y)` and `-grad_y f(x, y)`.
    fn field(&self, x: &[f64], y: &[f64], gx: &mut [f64], gy: &mut [f64]);

    /// The first half of the field of a bilinear problem, where it does not depend on `x`: one product.
    fn field_x(&self, y: &[f64], gx: &mut [f64]) {
        let x = vec![0.0; self.x_setup().dimension()];
        self.field(&x, y, gx, &mut vec![0.0; y.len()]);
    }

    /// The second half, where it does not depend on `y`.
    fn field_y(&self, x: &[f64], gy: &mut [f64]) {
        let y = vec![0.0; self.y_setup().dimension()];
        self.field(x, &y, &mut vec![0.0; x.len()], gy);
    }

    /// The Lipschitz constant of `grad_x f` in `y`, in the norms of the two setups; the same as that of `grad_y f` in `x`. The
    /// methods assume that `f` is bilinear up to terms that the setups hold.
    fn coupling(&self) -> f64;

    /// `max_y f(x, y)`.
    fn objective(&self, x: &[f64]) -> f64;

    /// `min_x f(x, y)`.
    fn lower_bound(&self, y: &[f64]) -> f64;

    /// Objective and lower bound as a certificate.
    fn certificate(&self, x: &[f64], y: &[f64]) -> Certificate {
        Certificate::gap(self.objective(x), self.lower_bound(y))
    }

    /// `a = L sqrt(Omega_x Omega_y)`: the scale of every step and of every bound; 1 for a problem without coupling.
    fn scale(&self) -> f64 {
        let a = self.coupling() * (self.x_setup().radius() * self.y_setup().radius()).sqrt();
        if a > 0.0 { a } else { 1.0 }
    }
}

/// Where a mirror method ended: the averages it certifies, and what it needs to go on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SaddleState {
    /// The averaged minimising block.
    pub x: Vec<f64>,
    /// The averaged maximising block.
    pub y: Vec<f64>,
    /// Absent in a state made from a point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) trail: Option<Trail>,
}

impl SaddleState {
    /// A warm start: the method begins at this pair, with no average yet.
    pub fn at(x: Vec<f64>, y: Vec<f64>) -> Self {
        SaddleState { x, y, trail: None }
    }
}

/// The last iterate and the sums of the average.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trail {
    pub(crate) place_x: Vec<f64>,
    pub(crate) place_y: Vec<f64>,
    pub(crate) sum_x: Vec<f64>,
    pub(crate) sum_y: Vec<f64>,
    pub(crate) weight: f64,
    pub(crate) steps: u64,
    /// Step of a line search.
    pub(crate) step: Option<f64>,
}
