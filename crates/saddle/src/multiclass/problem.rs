//! The multiclass problem as a saddle point problem in four geometries.

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, Refusal};
use serde::{Deserialize, Serialize};

use super::loss::MulticlassLoss;
use super::products;
use super::samples::Samples;
use crate::Error;
use crate::problem::SaddleProblem;
use crate::setup::{EuclideanSimplexes, GroupBall, L1Ball, Setup, Simplexes};
use crate::spectral::length;

/// The norm of the weights, and its potential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Primal {
    /// The sum of absolute entries (the 1x1 norm). Its potential is the entropy of positive and negative parts.
    #[default]
    Entries,
    /// The sum of the Euclidean norms of the rows (the 1x2 norm). A row belongs to a feature, so that this norm
    /// includes or excludes a feature for all classes at once.
    Rows,
}

/// The norm of the dual variables, and its potential.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Dual {
    /// The 2x1 norm, with the entropy.
    #[default]
    Entropy,
    /// The 2x2 norm, with half the squared Euclidean norm.
    Euclidean,
}

/// The parts of a lower bound.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DualParts {
    /// `-F(V)`.
    pub(crate) gain: f64,
    /// The dual norm of `X'(V - Y)/n`.
    pub(crate) gradient: f64,
}

impl DualParts {
    /// The lower bound over a ball of this radius. It decreases by the radius times the part of the gradient's norm
    /// that exceeds the penalty.
    pub(crate) fn within(self, radius: f64, penalty: f64) -> f64 {
        self.gain - radius * (self.gradient - penalty).max(0.0)
    }
}

/// The geometry of a problem (D. Babichev, PhD thesis 2019, Table 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Geometry {
    /// The geometry of the weights. It determines the norm that is bounded and penalised.
    pub primal: Primal,
    /// The geometry of the dual variables. It affects only the steps.
    pub dual: Dual,
}

/// A checked multiclass problem.
///
/// The minimising block of its saddle point problem is `(U, mass)`, with `U` by rows (`d x k`). The maximising block
/// is `V` by rows (`n x k`).
#[derive(Debug, Clone)]
pub struct Multiclass<'a> {
    samples: &'a Samples,
    loss: MulticlassLoss,
    bound: f64,
    penalty: f64,
    geometry: Geometry,
    x: X,
    y: Y,
}

#[derive(Debug, Clone)]
enum X {
    Entries(L1Ball),
    Rows(GroupBall),
}

#[derive(Debug, Clone)]
enum Y {
    Entropy(Simplexes),
    Euclidean(EuclideanSimplexes),
}

impl<'a> Multiclass<'a> {
    /// The problem `min P(U)` over `norm(U) <= bound` with the penalty `penalty * norm(U)`, in the default geometry.
    ///
    /// # Errors
    /// [`Error::Invalid`] unless `bound` is finite and above 0, and `penalty` finite and not negative.
    pub fn new(
        samples: &'a Samples,
        loss: MulticlassLoss,
        bound: f64,
        penalty: f64,
    ) -> Result<Self, Error> {
        Multiclass::with_geometry(samples, loss, bound, penalty, Geometry::default())
    }

    /// The same problem in another geometry.
    ///
    /// # Errors
    /// The errors of [`Multiclass::new`]; [`Error::Refused`] for the softmax with a Euclidean dual, whose step has no closed form.
    pub fn with_geometry(
        samples: &'a Samples,
        loss: MulticlassLoss,
        bound: f64,
        penalty: f64,
        geometry: Geometry,
    ) -> Result<Self, Error> {
        Invalid::check_positive("radius", bound)?;
        Invalid::check_nonnegative("penalty", penalty)?;
        if geometry.dual == Dual::Euclidean && loss == MulticlassLoss::Softmax {
            let what = "the softmax loss; use Dual::Entropy".to_owned();
            return Err(Refusal::unsupported("the Euclidean dual geometry", what).into());
        }
        let (n, d, k) = (samples.rows(), samples.features(), samples.classes());
        // The theorems need a radius of at least n, which n ln 2 is not.
        let radius = n as f64 * (k as f64).ln().max(1.0);
        let y = match geometry.dual {
            Dual::Entropy => {
                let setup = Simplexes::new(n, k).with_radius(radius);
                Y::Entropy(match loss {
                    MulticlassLoss::Hinge => setup,
                    MulticlassLoss::Softmax => {
                        setup.with_entropy(samples.margins.iter().map(|w| w / n as f64).collect())
                    }
                })
            }
            Dual::Euclidean => Y::Euclidean(EuclideanSimplexes::new(n, k).with_radius(n as f64)),
        };
        let x = match geometry.primal {
            Primal::Entries => X::Entries(L1Ball::new(d * k, bound)),
            Primal::Rows => X::Rows(GroupBall::new(d, k, bound)),
        };
        Ok(Multiclass { samples, loss, bound, penalty, geometry, x, y })
    }

    /// The data.
    pub fn samples(&self) -> &'a Samples {
        self.samples
    }

    /// The loss.
    pub fn loss(&self) -> MulticlassLoss {
        self.loss
    }

    /// `R`.
    pub fn radius(&self) -> f64 {
        self.bound
    }

    /// `lambda`.
    pub fn penalty(&self) -> f64 {
        self.penalty
    }

    /// The geometry.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The norm that is bounded and penalised.
    pub fn norm(&self, u: &[f64]) -> f64 {
        match self.geometry.primal {
            Primal::Entries => u.iter().map(|u| u.abs()).sum(),
            Primal::Rows => {
                u.chunks(self.samples.classes()).map(|row| length(row.iter().copied())).sum()
            }
        }
    }

    /// The mean loss, without penalty, from scores of the weighted rows.
    pub(crate) fn mean_loss(&self, scores: &[f64]) -> f64 {
        let s = self.samples;
        let rows = scores.chunks(s.classes()).enumerate();
        let sum: f64 =
            rows.map(|(j, row)| self.loss.weighted(row, s.labels[j] as usize, s.margins[j])).sum();
        sum / s.rows() as f64
    }

    /// `P(U)`: mean loss and penalty of `d x k` weights.
    pub fn primal(&self, u: &[f64]) -> f64 {
        let (n, k) = (self.samples.rows(), self.samples.classes());
        let mut scores = vec![0.0; n * k];
        self.samples.scores(u, k, &mut scores);
        self.mean_loss(&scores) + self.penalty * self.norm(u)
    }

    /// `D(V)` of `n x k` dual variables.
    pub fn dual(&self, v: &[f64]) -> f64 {
        self.dual_parts(v).within(self.bound, self.penalty)
    }

    /// The certificate of an objective and a lower bound. Rounding of `objective - lower_bound` is 16 units in the last
    /// place of its terms: `P(0)`, scores of at most `R` times the largest entry of a row, and gradients of at most
    /// `sqrt(2/n) A` times `R`.
    pub(crate) fn gap(&self, objective: f64, lower_bound: f64) -> Certificate {
        let s = self.samples;
        let n = s.rows() as f64;
        let radius =
            if self.penalty > 0.0 { self.bound.min(objective / self.penalty) } else { self.bound };
        let terms = self.loss.at_zero(s.classes())
            + radius * (s.sum_of_tops() / n + s.largest_column() * (2.0 / n).sqrt());
        Certificate::gap_within(objective, lower_bound, 16.0 * f64::EPSILON * terms)
    }

    /// The parts of `D(V)`.
    pub(crate) fn dual_parts(&self, v: &[f64]) -> DualParts {
        let s = self.samples;
        let mut shifted = v.to_vec();
        self.shift(&mut shifted);
        let size = |row: &[f64]| match self.geometry.primal {
            Primal::Entries => products::top(row),
            Primal::Rows => length(row.iter().copied()),
        };
        let top = s.largest_transposed(&shifted, s.classes(), size);
        DualParts { gain: self.gain(v), gradient: top / s.rows() as f64 }
    }

    /// `-F(V)`.
    fn gain(&self, v: &[f64]) -> f64 {
        let s = self.samples;
        let rows = v.chunks(s.classes()).enumerate();
        let sum: f64 =
            rows.map(|(j, row)| s.margins[j] * self.loss.gain(row, s.labels[j] as usize)).sum();
        sum / s.rows() as f64
    }

    /// Replaces `V` by `V - Y`.
    pub(crate) fn shift(&self, v: &mut [f64]) {
        let k = self.samples.classes();
        for (row, y) in v.chunks_mut(k).zip(&self.samples.labels) {
            row[*y as usize] -= 1.0;
        }
    }

    /// The gap of the problem in which the mass takes the place of the norm. The theorems are about this gap.
    pub fn split_gap(&self, x: &[f64], v: &[f64]) -> f64 {
        let (u, mass) = x.split_at(x.len() - 1);
        self.primal(u) + self.penalty * (mass[0] - self.norm(u)) - self.dual(v)
    }

    /// `(sigma_U^2, sigma_V^2)`: bounds of the variances of sampled gradients (D. Babichev, PhD thesis 2019,
    /// Propositions 4.2, 4.3 and 4.5).
    pub fn variance_bounds(&self) -> (f64, f64) {
        let s = self.samples;
        let n = s.rows() as f64;
        let (a, b) = (s.largest_column(), s.sum_of_tops());
        let of_u = 4.0 * (self.bound * a / n).powi(2);
        let of_v = 8.0 * a * a / n + 8.0 * (b / n).powi(2);
        (of_u, of_v)
    }

    /// `s`, with `s^2 = Omega_U sigma_V^2 + Omega_V sigma_U^2`: the noise of sampled gradients.
    pub fn noise(&self) -> f64 {
        let (of_u, of_v) = self.variance_bounds();
        (self.x_setup().radius() * of_v + self.y_setup().radius() * of_u).sqrt()
    }
}

impl SaddleProblem for Multiclass<'_> {
    fn x_setup(&self) -> &dyn Setup {
        match &self.x {
            X::Entries(setup) => setup,
            X::Rows(setup) => setup,
        }
    }

    fn y_setup(&self) -> &dyn Setup {
        match &self.y {
            Y::Entropy(setup) => setup,
            Y::Euclidean(setup) => setup,
        }
    }

    /// Computes the field by two products, O(n d k).
    fn field(&self, x: &[f64], y: &[f64], gx: &mut [f64], gy: &mut [f64]) {
        self.field_x(y, gx);
        self.field_y(x, gy);
    }

    fn field_x(&self, y: &[f64], gx: &mut [f64]) {
        let s = self.samples;
        let (k, scale) = (s.classes(), 1.0 / s.rows() as f64);
        let entries = s.features() * k;
        let mut shifted = y.to_vec();
        self.shift(&mut shifted);
        s.transposed(&shifted, k, &mut gx[..entries]);
        gx[..entries].iter_mut().for_each(|g| *g *= scale);
        gx[entries] = self.penalty;
    }

    fn field_y(&self, x: &[f64], gy: &mut [f64]) {
        let s = self.samples;
        let (k, scale) = (s.classes(), 1.0 / s.rows() as f64);
        s.scores(&x[..s.features() * k], k, gy);
        self.linear(gy);
        gy.iter_mut().for_each(|g| *g *= -scale);
    }

    /// `A/n` in all four geometries (Propositions 4.1 and 4.4 of the thesis).
    fn coupling(&self) -> f64 {
        self.samples.largest_column() / self.samples.rows() as f64
    }

    fn objective(&self, x: &[f64]) -> f64 {
        self.primal(&x[..x.len() - 1])
    }

    fn lower_bound(&self, y: &[f64]) -> f64 {
        self.dual(y)
    }

    fn certificate(&self, x: &[f64], y: &[f64]) -> Certificate {
        self.gap(self.objective(x), self.lower_bound(y))
    }
}

impl Multiclass<'_> {
    /// Subtracts the margin of the label from the scores. This is the linear `F` of the hinge.
    pub(crate) fn linear(&self, scores: &mut [f64]) {
        if self.loss == MulticlassLoss::Hinge {
            let s = self.samples;
            for (j, row) in scores.chunks_mut(s.classes()).enumerate() {
                row[s.labels[j] as usize] -= s.margins[j];
            }
        }
    }
}
