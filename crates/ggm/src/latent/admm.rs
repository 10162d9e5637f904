//! ADMM on the three matrices `R`, `S` and `L`.

use fenchel_linalg::Invalid;
use fenchel_linalg::factor::{self, InPlaceCholesky};
use fenchel_optim::{Certificate, Iterative};
use ndarray::{Array1, Array2, ArrayView2};

use super::LatentModel;
use crate::glasso::{Balance, Residuals, positive_part, relaxed, repaired, soft};
use crate::problem::rounding;
use crate::{Error, GlassoState, Weights};

/// A feasible point: both parts, their difference, its Cholesky factor and the objective.
pub(super) struct Point {
    pub(super) sparse: Vec<f64>,
    pub(super) low_rank: Vec<f64>,
    pub(super) precision: Vec<f64>,
    pub(super) factor: InPlaceCholesky,
    objective: f64,
}

/// The iteration.
pub(super) struct SparseLowRank<'a> {
    p: usize,
    c: Vec<f64>,
    weights: &'a Weights,
    price: f64,
    rho: f64,
    /// Results of the three proximal steps. The second and the third are the current point.
    sparse: Vec<f64>,
    low_rank: Vec<f64>,
    /// Their projections on the plane `R = S - L`.
    plane: [Vec<f64>; 3],
    /// The scaled multiplier of the plane.
    t: Vec<f64>,
    /// `rho` times the part that soft-thresholding removed.
    dual: Vec<f64>,
    pub(super) rank: usize,
    balance: Balance,
    /// Added to objective and bound, for the units.
    pub(super) shift: f64,
}

impl<'a> SparseLowRank<'a> {
    pub(super) fn new(
        covariance: &Array2<f64>,
        weights: &'a Weights,
        price: f64,
        rho: f64,
    ) -> Self {
        let p = covariance.nrows();
        let c: Vec<f64> = covariance.iter().copied().collect();
        let mut start = vec![0.0; p * p];
        (0..p).for_each(|i| start[i * p + i] = 1.0 / (c[i * p + i] + weights.at(i, i)));
        let zero = || vec![0.0; p * p];
        SparseLowRank {
            p,
            c,
            weights,
            price,
            rho,
            sparse: start.clone(),
            low_rank: zero(),
            plane: [start.clone(), start, zero()],
            t: zero(),
            dual: zero(),
            rank: 0,
            balance: Balance::default(),
            shift: 0.0,
        }
    }

    /// A start from an earlier model. At the optimum, `rho t` is the difference between its covariance and `C`.
    pub(super) fn begin(&mut self, start: &LatentModel, units: &Array1<f64>) -> Result<(), Error> {
        let p = self.p;
        let low_rank = start.low_rank();
        let order = Invalid::check_square("sparse part of the start", start.sparse.dim())?;
        Invalid::check_length("variables of the start", p, order)?;
        Invalid::check_length("loadings of the start", p, low_rank.nrows())?;
        let state = GlassoState::in_units((&start.sparse - &low_rank).view(), units)?;
        let covariance = state.covariance();
        for i in 0..p {
            for j in 0..p {
                let (at, unit) = (i * p + j, units[i] * units[j]);
                let bound = self.weights.at(i, j);
                let (s, l) = (start.sparse[[i, j]] * unit, low_rank[[i, j]] * unit);
                self.sparse[at] = if bound == f64::INFINITY { 0.0 } else { s };
                self.low_rank[at] = l;
                self.dual[at] = covariance[[i, j]] - self.c[at];
                self.t[at] = self.dual[at] / self.rho;
                for (plane, value) in self.plane.iter_mut().zip([s - l, s, l]) {
                    plane[at] = value;
                }
            }
        }
        self.rank = start.hidden();
        Ok(())
    }

    /// The current iterate, moved into the domain if it is outside.
    pub(super) fn point(&self) -> Point {
        let p = self.p;
        let (sparse, mut factor) = repaired(self.sparse.clone(), p);
        let mut low_rank = vec![0.0; p * p];
        let mut precision = sparse.clone();
        for keep in [1.0, 0.99, 0.9, 0.5] {
            if self.rank == 0 {
                break;
            }
            let less: Vec<f64> = self.low_rank.iter().map(|l| keep * l).collect();
            let r: Vec<f64> = sparse.iter().zip(&less).map(|(s, l)| s - l).collect();
            if let Ok(found) = InPlaceCholesky::new(r.clone(), p) {
                (low_rank, precision, factor) = (less, r, found);
                break;
            }
        }
        let mut objective = self.shift - factor.log_det();
        for i in 0..p {
            for j in 0..p {
                let at = i * p + j;
                objective += self.c[at] * precision[at];
                if sparse[at] != 0.0 {
                    objective += self.weights.at(i, j) * sparse[at].abs();
                }
            }
            objective += self.price * low_rank[i * p + i];
        }
        Point { sparse, low_rank, precision, factor, objective }
    }

    /// The positive semidefinite part of `plane - t` minus the rank penalty.
    fn shrink_spectrum(&mut self) -> Option<()> {
        let p = self.p;
        let mut z: Vec<f64> = self.plane[2].iter().zip(&self.t).map(|(l, t)| l - t).collect();
        (0..p).for_each(|i| z[i * p + i] -= self.price / self.rho);
        let eigen = factor::symmetric_eigen(ArrayView2::from_shape((p, p), &z).ok()?).ok()?;
        self.rank = eigen.values.iter().filter(|&&v| v > 0.0).count();
        if self.rank == 0 {
            self.low_rank.fill(0.0);
            return Some(());
        }
        let found = eigen.map(|v| v.max(0.0));
        for i in 0..p {
            for j in 0..=i {
                let value = 0.5 * (found[[i, j]] + found[[j, i]]);
                self.low_rank[i * p + j] = value;
                self.low_rank[j * p + i] = value;
            }
        }
        Some(())
    }
}

impl Iterative for SparseLowRank<'_> {
    fn advance(&mut self, _passes: f64) -> f64 {
        let (p, rho) = (self.p, self.rho);
        let a: Vec<f64> =
            (0..p * p).map(|at| rho * (self.plane[0][at] - self.t[at]) - self.c[at]).collect();
        let Some(r) = positive_part(&a, p, rho) else { return 1.0 };
        if self.shrink_spectrum().is_none() {
            return 1.0;
        }
        let mut residuals = Residuals::default();
        for i in 0..p {
            for j in 0..p {
                let at = i * p + j;
                let z = self.plane[1][at] + self.t[at];
                let s = soft(z, self.weights.at(i, j) / rho);
                self.sparse[at] = s;
                self.dual[at] = rho * (z - s);
                // Over-relaxed; the last projections lie on the plane.
                let found = [r[at], s, self.low_rank[at]];
                let [a, b, c] = [0, 1, 2].map(|m| relaxed(found[m], self.plane[m][at]));
                let off = (a - b + c) / 3.0;
                self.t[at] += off;
                let inverse = self.c[at] + rho * self.t[at];
                for (m, value) in [a - off, b + off, c - off].into_iter().enumerate() {
                    residuals.add(1.0, found[m], value, self.plane[m][at], inverse, rho);
                    self.plane[m][at] = value;
                }
            }
        }
        let change = self.balance.factor(&residuals);
        if change != 1.0 {
            self.rho *= change;
            self.t.iter_mut().for_each(|t| *t /= change);
        }
        1.0
    }

    fn certify(&mut self) -> Certificate {
        let p = self.p;
        let objective = self.point().objective;
        let mut u = self.dual.clone();
        for i in 0..p {
            for j in 0..p {
                let bound = self.weights.at(i, j);
                u[i * p + j] = u[i * p + j].clamp(-bound, bound);
            }
        }
        let nothing = Certificate::Uncertified { objective: Some(objective) };
        let view = ArrayView2::from_shape((p, p), &u).expect("p x p");
        let Ok(eigen) = factor::symmetric_eigen(view) else { return nothing };
        // A hair inside, for the rounding of the eigenvalue.
        let lowest = -eigen.values[0] * (1.0 + 1e-13);
        let by = if lowest > self.price { self.price / lowest } else { 1.0 };
        let s = u.iter().zip(&self.c).map(|(u, c)| c + by * u).collect();
        match InPlaceCholesky::new(s, p) {
            Ok(factor) => {
                let lower = factor.log_det() + p as f64 + self.shift;
                let allowance =
                    rounding((0..p).map(|i| self.c[i * p + i] * self.sparse[i * p + i]));
                Certificate::gap_within(objective, lower, allowance)
            }
            Err(_) => nothing,
        }
    }
}
