//! Conjugate gradients on the coordinates of a model that are not 0.
//!
//! Coordinate descent finds the signs of a minimiser in a few sweeps. For the values it needs a dozen sweeps a digit
//! where columns are correlated; with the signs fixed the model is quadratic, and conjugate gradients need a handful of
//! products, which read the data in the order it lies in.

use fenchel_linalg::{Design, multiply_through};

use super::conjugate::{System, conjugate_gradients};
use super::model::Model;
use super::scaled::Scaled;

/// Products in one run, at most.
const PRODUCTS: usize = 30;

/// The coordinates of a working set that are not 0, with their signs as they are. The intercept stays where it is.
pub(super) struct Face<'f, 'm> {
    model: &'f Model<'m>,
    scaled: &'f Scaled<'m>,
    /// `H_cc` of every coordinate of the set.
    curvature: &'f [f64],
    /// Places in the set.
    free: Vec<usize>,
}

impl<'f, 'm> Face<'f, 'm> {
    pub(super) fn new(
        model: &'f Model<'m>,
        scaled: &'f Scaled<'m>,
        curvature: &'f [f64],
        d: &[f64],
    ) -> Self {
        let free = (0..d.len()).filter(|&k| model.x[model.set[k]] + d[k] != 0.0).collect();
        Face { model, scaled, curvature, free }
    }

    /// Moves `d`, and `r = H^(1/2) (A d + d_b)` with it, until the residual has fallen to the fraction `goal` in the norm
    /// of the inverse diagonal. A coordinate that would change its sign ends at 0. Returns the entries looked at.
    pub(super) fn minimise<D: Design>(
        &self,
        design: &D,
        goal: f64,
        d: &mut [f64],
        r: &mut [f64],
    ) -> f64 {
        let mut products = Products {
            face: self,
            design,
            margins: vec![0.0; r.len()],
            direction: vec![0.0; r.len()],
            rows: vec![0.0; r.len()],
            weights: vec![0.0; design.columns()],
            image: vec![0.0; design.columns()],
        };
        let residual = self.free.iter().map(|&k| -self.slope(k, d[k], r)).collect();
        let (step, count) = conjugate_gradients(&mut products, residual, goal, PRODUCTS);
        for ((r, root), t) in r.iter_mut().zip(&self.scaled.roots).zip(&products.direction) {
            *r += root * t;
        }
        for (&k, w) in self.free.iter().zip(step) {
            let from = self.model.x[self.model.set[k]] + d[k];
            if (from + w) * from > 0.0 {
                d[k] += w;
            } else {
                self.scaled.axpy(k, -from - w, r);
                d[k] -= from;
            }
        }
        count as f64 * design.stored() as f64
    }

    /// The derivative of the model along coordinate `k` of the set, l1 included.
    fn slope(&self, k: usize, d: f64, r: &[f64]) -> f64 {
        let (model, c) = (self.model, self.model.set[k]);
        let smooth = model.gradient[c] + self.scaled.dot(k, r) + model.l2 * d;
        smooth + model.l1.copysign(model.x[c] + d)
    }

    /// One weight a column of the design, 0 off the face.
    fn spread(&self, values: &[f64], weights: &mut [f64]) {
        weights.fill(0.0);
        for (&k, v) in self.free.iter().zip(values) {
            weights[self.model.set[k]] = *v;
        }
    }
}

/// Products with the Hessian of a face, and room for them.
struct Products<'p, 'f, 'm, D> {
    face: &'p Face<'f, 'm>,
    design: &'p D,
    /// `A p`
    margins: Vec<f64>,
    /// `A w`
    direction: Vec<f64>,
    rows: Vec<f64>,
    weights: Vec<f64>,
    image: Vec<f64>,
}

impl<D: Design> System for Products<'_, '_, '_, D> {
    /// Division by the diagonal of the Hessian.
    fn precondition(&self, residual: &[f64]) -> Vec<f64> {
        let Face { free, curvature, .. } = self.face;
        free.iter().zip(residual).map(|(&k, s)| s / curvature[k]).collect()
    }

    fn product(&mut self, p: &[f64]) -> Vec<f64> {
        let Face { model, free, .. } = self.face;
        self.face.spread(p, &mut self.weights);
        let Products { design, margins, rows, weights, image, .. } = self;
        multiply_through(*design, weights, margins, rows, image, |range, t, s| {
            s.iter_mut().zip(t).zip(&model.h[range]).for_each(|((s, t), h)| *s = h * t);
            0.0
        });
        free.iter().zip(p).map(|(&k, p)| image[model.set[k]] + model.l2 * p).collect()
    }

    fn moved(&mut self, along: f64) {
        self.direction.iter_mut().zip(&self.margins).for_each(|(t, p)| *t += along * p);
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fenchel_linalg::{Columns, Dense};
    use fenchel_optim::random::stream;
    use ndarray::Array2;
    use rand::RngExt;

    /// With all signs right from the start, the face's minimiser has no slope left; a coordinate that would change its sign
    /// ends at exactly 0; and `r` is that of the new point.
    #[test]
    fn slopes_vanish_and_no_sign_changes() {
        let mut rng = stream(3, 0);
        let (n, dimension) = (60, 12);
        let x = Array2::from_shape_fn((n, dimension), |_| rng.random_range(-1.0..1.5));
        let design = Dense::new(x.view()).unwrap();
        let columns = Columns::new(&design).unwrap();
        let h: Vec<f64> = (0..n).map(|_| rng.random_range(0.1..0.3) / n as f64).collect();
        let set: Vec<usize> = (0..dimension).collect();
        let scaled = Scaled::new(&columns, &set, &h, Vec::new());
        let curvature: Vec<f64> = (0..dimension).map(|k| scaled.norm_squared(k) + 0.01).collect();
        let start: Vec<f64> = (0..dimension).map(|k| if k % 3 == 0 { 0.0 } else { 0.4 }).collect();
        for pull in [-0.5, 0.5] {
            let gradient = vec![pull; dimension];
            let model = Model {
                h: &h,
                x: &start,
                gradient: &gradient,
                intercept: None,
                l1: 0.05,
                l2: 0.01,
                set: &set,
                settled: false,
            };
            let mut d = vec![0.0; dimension];
            let mut r = vec![0.0; n];
            let face = Face::new(&model, &scaled, &curvature, &d);
            assert_eq!(face.free, (0..dimension).filter(|k| k % 3 != 0).collect::<Vec<_>>());
            face.minimise(&design, 1e-10, &mut d, &mut r);
            for i in 0..n {
                let margin: f64 = (0..dimension).map(|k| x[[i, k]] * d[k]).sum();
                assert!((r[i] - h[i].sqrt() * margin).abs() <= 1e-12);
            }
            let ends: Vec<f64> = start.iter().zip(&d).map(|(x, d)| x + d).collect();
            assert!(ends.iter().all(|&end| end >= 0.0), "{ends:?}");
            for k in (0..dimension).filter(|k| k % 3 == 0) {
                assert_eq!(ends[k], 0.0);
            }
            if ends.iter().enumerate().all(|(k, end)| k % 3 == 0 || *end > 0.0) {
                for &k in &face.free {
                    assert!(face.slope(k, d[k], &r).abs() <= 1e-9, "{k}");
                }
            }
        }
    }
}
