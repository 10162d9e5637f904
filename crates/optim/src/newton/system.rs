//! Conjugate gradients for the Newton system `H w = -g`.

use fenchel_linalg::vectors::{axpy, dot};

use super::TwiceDifferentiable;

/// Largest number of products in one Newton step.
const PRODUCTS: usize = 200;

/// The vectors of the conjugate gradients.
#[derive(Debug, Clone)]
pub(super) struct System {
    /// `w`
    pub(super) step: Vec<f64>,
    /// `A w`
    pub(super) step_margins: Vec<f64>,
    /// `r = -g - H w`
    residual: Vec<f64>,
    /// `p`
    search: Vec<f64>,
    /// `H p`
    product: Vec<f64>,
    /// `A p`
    search_margins: Vec<f64>,
}

/// The quadratic model of the objective around a point, and the radius of the trust region.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quadratic<'m> {
    /// `g`
    pub(super) gradient: &'m [f64],
    /// The preconditioner `M`, diagonal.
    pub(super) diagonal: &'m [f64],
    /// Largest `||w||_M`; infinite for no limit.
    pub(super) radius: f64,
}

/// The predictions of a solved system.
#[derive(Debug, Clone, Copy)]
pub(super) struct Promise {
    /// `g.w < 0`
    pub(super) slope: f64,
    /// The decrease of the quadratic model, `-g.w - w'Hw/2`.
    pub(super) decrease: f64,
    /// `||w||_M`
    pub(super) length: f64,
    /// Whether the step ended at the boundary of the trust region.
    pub(super) bounded: bool,
    /// Whether the function is flat along the gradient, so that the model does not tell how far to go.
    pub(super) flat: bool,
    pub(super) passes: f64,
}

impl System {
    /// Vectors for the given numbers of margins and variables.
    pub(super) fn new(margins: usize, variables: usize) -> Self {
        let (of_variables, of_margins) = (vec![0.0; variables], vec![0.0; margins]);
        System {
            step: of_variables.clone(),
            step_margins: of_margins.clone(),
            residual: of_variables.clone(),
            search: of_variables.clone(),
            product: of_variables,
            search_margins: of_margins,
        }
    }

    /// Solves `H w = -g` by conjugate gradients. They end when the residual has fallen to the fraction `forcing` in the norm of
    /// `M^-1`, or when `w` reaches the boundary of the trust region (Steihaug).
    pub(super) fn solve<F: TwiceDifferentiable>(
        &mut self,
        function: &mut F,
        model: Quadratic<'_>,
        forcing: f64,
    ) -> Promise {
        let Quadratic { gradient, diagonal: m, radius } = model;
        let System { step, residual, search, product, search_margins, step_margins } = self;
        step.fill(0.0);
        step_margins.fill(0.0);
        for ((r, p), (g, m)) in
            residual.iter_mut().zip(search.iter_mut()).zip(gradient.iter().zip(m))
        {
            *r = -g;
            *p = -g / m;
        }
        let mut size: f64 = residual.iter().zip(m).map(|(r, m)| r * r / m).sum();
        let goal = forcing * forcing * size;
        let (mut passes, mut bounded, mut flat) = (0.0, false, false);
        for _ in 0..PRODUCTS {
            if size <= goal {
                break;
            }
            function.multiply(search, search_margins);
            function.curve(search, search_margins, product);
            passes += 1.0;
            let curvature = dot(search, product);
            // Flat along p up to rounding: nothing more to gain, or (in the first place) no scale to go by.
            if !(curvature > 0.0) {
                if passes == 1.0 {
                    flat = true;
                    step.copy_from_slice(search);
                    step_margins.copy_from_slice(search_margins);
                    axpy(-1.0, product, residual);
                }
                break;
            }
            let mut along = size / curvature;
            if radius.is_finite() {
                let furthest = to_the_boundary(step, search, m, radius);
                bounded = along >= furthest;
                along = along.min(furthest);
            }
            axpy(along, search, step);
            axpy(along, search_margins, step_margins);
            axpy(-along, product, residual);
            if bounded {
                break;
            }
            let next: f64 = residual.iter().zip(m).map(|(r, m)| r * r / m).sum();
            for ((p, r), m) in search.iter_mut().zip(residual.iter()).zip(m) {
                *p = r / m + next / size * *p;
            }
            size = next;
        }
        let slope = dot(gradient, step);
        Promise {
            slope,
            decrease: -0.5 * (slope - dot(step, residual)),
            length: step.iter().zip(m).map(|(w, m)| m * w * w).sum::<f64>().sqrt(),
            bounded,
            flat,
            passes,
        }
    }
}

/// The `a >= 0` with `||w + a p||_M = radius`, computed without cancellation.
fn to_the_boundary(w: &[f64], p: &[f64], m: &[f64], radius: f64) -> f64 {
    let (mut ww, mut wp, mut pp) = (0.0, 0.0, 0.0);
    for ((w, p), m) in w.iter().zip(p).zip(m) {
        ww += m * w * w;
        wp += m * w * p;
        pp += m * p * p;
    }
    let room = (radius * radius - ww).max(0.0);
    let root = (wp * wp + pp * room).sqrt();
    if wp >= 0.0 { room / (wp + root) } else { (root - wp) / pp }
}
