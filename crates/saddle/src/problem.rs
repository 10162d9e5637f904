//! The interface of saddle point problems.
//!
//! ```text
//! min_x max_y  f(x, y),   f convex in x and concave in y
//! ```
//!
//! The error of a pair `(x, y)` is its duality gap `max_y' f(x, y') - min_x' f(x', y)`. It is 0 exactly at a saddle
//! point, and bounds the suboptimality of `x` and of `y`.

use fenchel_optim::Certificate;
use serde::{Deserialize, Serialize};

use crate::setup::Setup;

/// A convex-concave problem with a geometry for each block.
///
/// The *field* is `(grad_x f, -grad_y f)`. A step against the field goes down in `x` and up in `y`.
pub trait SaddleProblem {
    /// Geometry of the minimising block.
    fn x_setup(&self) -> &dyn Setup;

    /// Geometry of the maximising block.
    fn y_setup(&self) -> &dyn Setup;

    /// Writes `grad_x f(x, y)` and `-grad_y f(x, y)`.
    fn field(&self, x: &[f64], y: &[f64], gx: &mut [f64], gy: &mut [f64]);

    /// The first half of the field of a bilinear problem, which does not depend on `x`. One product.
    fn field_x(&self, y: &[f64], gx: &mut [f64]) {
        let x = vec![0.0; self.x_setup().dimension()];
        self.field(&x, y, gx, &mut vec![0.0; y.len()]);
    }

    /// The second half of the field of a bilinear problem, which does not depend on `y`. One product.
    fn field_y(&self, x: &[f64], gy: &mut [f64]) {
        let y = vec![0.0; self.y_setup().dimension()];
        self.field(x, &y, &mut vec![0.0; x.len()], gy);
    }

    /// The Lipschitz constant of `grad_x f` as a function of `y`, in the norms of the two setups. It is also that of
    /// `grad_y f` as a function of `x`. The methods assume that `f` is bilinear except for terms of the setups.
    fn coupling(&self) -> f64;

    /// `max_y f(x, y)`.
    fn objective(&self, x: &[f64]) -> f64;

    /// `min_x f(x, y)`.
    fn lower_bound(&self, y: &[f64]) -> f64;

    /// Objective and lower bound as a certificate.
    fn certificate(&self, x: &[f64], y: &[f64]) -> Certificate {
        Certificate::gap(self.objective(x), self.lower_bound(y))
    }

    /// `a = L sqrt(Omega_x Omega_y)`, to which all steps and bounds are proportional. It is 1 for a problem without
    /// coupling.
    fn scale(&self) -> f64 {
        let a = self.coupling() * self.x_setup().radius().sqrt() * self.y_setup().radius().sqrt();
        if a > 0.0 { a } else { 1.0 }
    }
}

/// The final state of a mirror method: the averages, and the data that are needed to continue.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SaddleState {
    /// The averaged minimising block.
    pub x: Vec<f64>,
    /// The averaged maximising block: of all certified ones, the average with the best lower bound.
    pub y: Vec<f64>,
    /// The data that are needed to continue. They are absent in a state that was made from a point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) resume: Option<Resume>,
}

impl SaddleState {
    /// A warm start. The method begins at this pair, with no average so far.
    pub fn at(x: Vec<f64>, y: Vec<f64>) -> Self {
        SaddleState { x, y, resume: None }
    }

    /// The averages of both blocks. The average of `y` differs from the field `y` if an earlier one had a better lower
    /// bound.
    pub fn averages(&self) -> (Vec<f64>, Vec<f64>) {
        match self.resume.as_ref().map(|resume| &resume.sums) {
            Some(sums) if sums.weight > 0.0 => {
                let mean = |sum: &[f64]| sum.iter().map(|s| s / sums.weight).collect();
                (mean(&sums.x), mean(&sums.y))
            }
            _ => (self.x.clone(), self.y.clone()),
        }
    }
}

/// What a continued run needs: the last iterate, in the coordinates of the setups, and the sums of the average.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Resume {
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) sums: Sums,
    /// The step that a line search has reached.
    pub(crate) step: Option<f64>,
}

/// The weighted sums of the points so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sums {
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    pub(crate) weight: f64,
    pub(crate) steps: u64,
}
