//! The hinge problem in the form that PDHG needs: Euclidean steps, projections on simplexes and balls.

use fenchel_linalg::project;
use fenchel_optim::{Certificate, Refusal};

use super::loss::MulticlassLoss;
use super::polish;
use super::problem::{Multiclass, Primal};
use super::steps::HingeSteps;
use crate::Error;
use crate::methods::steps::{Bilinear, Steps};
use crate::setup::project_rows;
use crate::spectral::{length, spectral_norm};

/// The hinge problem as a polyhedral saddle point problem. `x` contains `U` by rows, and `y` contains `V` by rows.
pub struct HingeBilinear<'a> {
    problem: &'a Multiclass<'a>,
    norm: f64,
}

impl<'a> HingeBilinear<'a> {
    /// Prepares a problem. It computes the norm of `X` by power iteration, which costs about 20 passes.
    ///
    /// # Errors
    /// [`Error::Refused`] for the softmax, whose Euclidean proximal map has no closed form.
    pub fn new(problem: &'a Multiclass<'a>) -> Result<Self, Error> {
        if problem.loss() == MulticlassLoss::Softmax {
            let what = "the softmax loss; use mirror_prox".to_owned();
            return Err(Refusal::unsupported("pdhg", what).into());
        }
        let s = problem.samples();
        let norm = spectral_norm(
            (s.features(), s.rows()),
            s.largest_column(),
            |x, out| s.scores(x, 1, out),
            |y, out| s.transposed(y, 1, out),
        );
        Ok(HingeBilinear { problem, norm: norm / s.rows() as f64 })
    }

    /// The dual variables that are best against weights: all of a row on the class with its largest loss, and equal shares
    /// where losses are equal.
    pub(crate) fn best_response(&self, x: &[f64]) -> Vec<f64> {
        let mut y = vec![0.0; self.dimensions().1];
        self.grad_y(x, &mut y);
        // Projections of long vectors on a simplex are its corners.
        let long = 1e6 * self.problem.samples().rows() as f64;
        y.iter_mut().for_each(|v| *v *= -long);
        project_rows(&mut y, self.problem.samples().classes());
        y
    }
}

impl Bilinear for HingeBilinear<'_> {
    fn dimensions(&self) -> (usize, usize) {
        let s = self.problem.samples();
        (s.features() * s.classes(), s.rows() * s.classes())
    }

    fn grad_x(&self, y: &[f64], out: &mut [f64]) {
        let s = self.problem.samples();
        let mut z = y.to_vec();
        self.problem.shift(&mut z);
        s.transposed(&z, s.classes(), out);
        let scale = 1.0 / s.rows() as f64;
        out.iter_mut().for_each(|g| *g *= scale);
    }

    fn grad_y(&self, x: &[f64], out: &mut [f64]) {
        let s = self.problem.samples();
        s.scores(x, s.classes(), out);
        self.problem.linear(out);
        let scale = -1.0 / s.rows() as f64;
        out.iter_mut().for_each(|g| *g *= scale);
    }

    /// Soft thresholding, then projection on the ball. Together they are soft thresholding with a larger threshold.
    fn prox_x(&self, z: &mut [f64], tau: f64) {
        let (threshold, bound) = (tau * self.problem.penalty(), self.problem.radius());
        let failed = match self.problem.geometry().primal {
            Primal::Entries => {
                z.iter_mut().for_each(|u| *u -= u.clamp(-threshold, threshold));
                project::l1_ball(z, bound).is_err()
            }
            Primal::Rows => {
                let k = self.problem.samples().classes();
                let norms: Vec<f64> = z.chunks(k).map(|row| length(row.iter().copied())).collect();
                let mut shrunk: Vec<f64> = norms.iter().map(|r| (r - threshold).max(0.0)).collect();
                let failed = project::l1_ball(&mut shrunk, bound).is_err();
                for ((row, old), new) in z.chunks_mut(k).zip(&norms).zip(&shrunk) {
                    let scale = if *old > 0.0 { new / old } else { 0.0 };
                    row.iter_mut().for_each(|u| *u *= scale);
                }
                failed
            }
        };
        if failed {
            z.fill(f64::NAN);
        }
    }

    fn prox_y(&self, z: &mut [f64], _: f64) {
        project_rows(z, self.problem.samples().classes());
    }

    fn norm(&self) -> f64 {
        self.norm
    }

    fn certificate(&self, x: &[f64], y: &[f64]) -> Certificate {
        self.problem.gap(self.problem.primal(x), self.problem.dual(y))
    }

    /// Solves the equations of the active parts. Returns `None` for norms of rows, whose ball has no corners.
    fn polished(&self, x: &[f64], y: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
        match self.problem.geometry().primal {
            Primal::Entries => polish::polished(self, self.problem, x, y),
            Primal::Rows => None,
        }
    }

    /// Steps that skip rows of `U` that stay 0, if the norm has zeros.
    fn steps(&self) -> Option<Box<dyn Steps + '_>> {
        match self.problem.geometry().primal {
            Primal::Entries => Some(Box::new(HingeSteps::new(self.problem))),
            Primal::Rows => None,
        }
    }

    /// The largest root mean square of a feature, unless it is near 1: weights have the inverse unit of the features, and
    /// dual variables none.
    fn balance(&self) -> f64 {
        let s = self.problem.samples();
        let size = s.largest_column() / (s.rows() as f64).sqrt();
        let usual = (1e-2..=1e2).contains(&size);
        if usual || !(size > 0.0) { 1.0 } else { size }
    }

    fn start(&self) -> (Vec<f64>, Vec<f64>) {
        let (dx, dy) = self.dimensions();
        (vec![0.0; dx], vec![1.0 / self.problem.samples().classes() as f64; dy])
    }
}
