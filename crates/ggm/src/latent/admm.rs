//! [ADMM](crate::admm) on the three matrices `R`, `-S` and `L`, whose sum is 0: the first step treats each by itself, and the
//! second projects them on that plane.

use fenchel_linalg::Invalid;
use fenchel_linalg::{Cholesky, factor};
use fenchel_optim::{Certificate, Iterative};
use ndarray::{Array1, Array2, ArrayView2};

use super::model::LatentVariableModel;
use crate::admm::{Admm, Splitting, log_det_prox, of_eigenvalues};
use crate::error::Error;
use crate::glasso::GlassoState;
use crate::penalty::{PenaltyWeights, soft};
use crate::problem::{dual_value, repaired, rounding};

/// A feasible point: both parts, their difference, its Cholesky factor and the objective.
pub(super) struct Point {
    pub(super) sparse: Vec<f64>,
    pub(super) low_rank: Vec<f64>,
    pub(super) precision: Vec<f64>,
    pub(super) factor: Cholesky,
    objective: f64,
}

/// The iteration.
pub(super) struct SparseLowRank<'a> {
    admm: Admm,
    parts: Parts<'a>,
    /// Added to objective and bound, for the units.
    pub(super) shift: f64,
}

/// The problem, and the results of its first step.
struct Parts<'a> {
    p: usize,
    c: Vec<f64>,
    weights: &'a PenaltyWeights,
    rank_penalty: f64,
    /// `S` and `L`, which are the current point.
    sparse: Vec<f64>,
    low_rank: Vec<f64>,
    rank: usize,
    /// `rho` times the part that soft-thresholding removed from `S`.
    dual: Vec<f64>,
}

impl Splitting for Parts<'_> {
    fn order(&self) -> usize {
        self.p
    }

    fn covariance(&self, _: usize) -> &[f64] {
        &self.c
    }

    fn first(&mut self, matrix: usize, v: &mut [f64], rho: f64) -> Option<Vec<f64>> {
        let p = self.p;
        match matrix {
            0 => log_det_prox(v, &self.c, p, rho),
            1 => {
                for i in 0..p {
                    for j in 0..p {
                        let at = i * p + j;
                        let z = -v[at];
                        self.sparse[at] = soft(z, self.weights.at(i, j) / rho);
                        self.dual[at] = rho * (z - self.sparse[at]);
                    }
                }
                Some(self.sparse.iter().map(|s| -s).collect())
            }
            _ => {
                (0..p).for_each(|i| v[i * p + i] -= self.rank_penalty / rho);
                let mut rank = 0;
                self.low_rank = of_eigenvalues(v, p, |l| {
                    rank += usize::from(l > 0.0);
                    l.max(0.0)
                })?;
                self.rank = rank;
                Some(self.low_rank.clone())
            }
        }
    }

    fn second(&mut self, z: &[Vec<f64>], _: f64, _: f64, y: &mut [Vec<f64>]) {
        for at in 0..z[0].len() {
            let off = (z[0][at] + z[1][at] + z[2][at]) / 3.0;
            y.iter_mut().zip(z).for_each(|(y, z)| y[at] = z[at] - off);
        }
    }
}

impl<'a> SparseLowRank<'a> {
    pub(super) fn new(
        covariance: &Array2<f64>,
        weights: &'a PenaltyWeights,
        rank_penalty: f64,
        rho: f64,
    ) -> Self {
        let p = covariance.nrows();
        let c: Vec<f64> = covariance.iter().copied().collect();
        let zero = || vec![0.0; p * p];
        let (mut sparse, mut negative) = (zero(), zero());
        for i in 0..p {
            let at = i * p + i;
            sparse[at] = 1.0 / (c[at] + weights.at(i, i));
            negative[at] = -sparse[at];
        }
        let y = vec![sparse.clone(), negative, zero()];
        let admm = Admm::new(y, vec![zero(), zero(), zero()], rho);
        let (low_rank, dual, rank) = (zero(), zero(), 0);
        let parts = Parts { p, c, weights, rank_penalty, sparse, low_rank, rank, dual };
        SparseLowRank { admm, parts, shift: 0.0 }
    }

    /// A start from an earlier model. At the optimum, `rho U` is the difference between its covariance and `C`.
    pub(super) fn begin(
        &mut self,
        start: &LatentVariableModel,
        units: &Array1<f64>,
    ) -> Result<(), Error> {
        let Parts { p, c, weights, sparse, low_rank, dual, rank, .. } = &mut self.parts;
        let p = *p;
        let low = start.low_rank();
        let order = Invalid::check_square("sparse part of the start", start.sparse.dim())?;
        Invalid::check_length("variables of the start", p, order)?;
        Invalid::check_length("loadings of the start", p, low.nrows())?;
        let state = GlassoState::in_units((&start.sparse - &low).view(), units)?;
        let covariance = state.covariance();
        for i in 0..p {
            for j in 0..p {
                let (at, unit) = (i * p + j, units[i] * units[j]);
                let (s, l) = (start.sparse[[i, j]] * unit, low[[i, j]] * unit);
                sparse[at] = if weights.at(i, j) == f64::INFINITY { 0.0 } else { s };
                low_rank[at] = l;
                dual[at] = covariance[[i, j]] - c[at];
                for (m, value) in [s - l, -s, l].into_iter().enumerate() {
                    self.admm.y[m][at] = value;
                    self.admm.u[m][at] = dual[at] / self.admm.rho;
                }
            }
        }
        *rank = start.hidden();
        Ok(())
    }

    /// The rank of `L`.
    pub(super) fn rank(&self) -> usize {
        self.parts.rank
    }

    /// The current iterate, moved into the domain if it is outside.
    pub(super) fn point(&self) -> Point {
        let Parts { p, c, weights, rank_penalty, .. } = &self.parts;
        let p = *p;
        let (sparse, mut factor) = repaired(self.parts.sparse.clone(), p);
        let mut low_rank = vec![0.0; p * p];
        let mut precision = sparse.clone();
        for keep in [1.0, 0.99, 0.9, 0.5] {
            if self.parts.rank == 0 {
                break;
            }
            let less: Vec<f64> = self.parts.low_rank.iter().map(|l| keep * l).collect();
            let r: Vec<f64> = sparse.iter().zip(&less).map(|(s, l)| s - l).collect();
            // The model returns a factor of `L`, which rounds: the difference stays positive definite for all of that.
            let mut worst = r.clone();
            for i in 0..p {
                worst[i * p + i] -=
                    8.0 * p as f64 * f64::EPSILON * (sparse[i * p + i] + less[i * p + i]);
            }
            if factor::cholesky_in_place(worst, p).is_err() {
                continue;
            }
            if let Ok(found) = factor::cholesky_in_place(r.clone(), p) {
                (low_rank, precision, factor) = (less, r, found);
                break;
            }
        }
        let mut objective = self.shift - factor.log_det();
        for i in 0..p {
            for j in 0..p {
                let at = i * p + j;
                objective += c[at] * precision[at];
                if sparse[at] != 0.0 {
                    objective += weights.at(i, j) * sparse[at].abs();
                }
            }
            objective += rank_penalty * low_rank[i * p + i];
        }
        Point { sparse, low_rank, precision, factor, objective }
    }
}

impl Iterative for SparseLowRank<'_> {
    fn advance(&mut self, _passes: f64) -> f64 {
        self.admm.step(&mut self.parts);
        1.0
    }

    fn certify(&mut self) -> Certificate {
        let objective = self.point().objective;
        let Parts { p, c, weights, rank_penalty, sparse, dual, .. } = &self.parts;
        let p = *p;
        let mut u = dual.clone();
        for i in 0..p {
            for j in 0..p {
                let bound = weights.at(i, j);
                u[i * p + j] = u[i * p + j].clamp(-bound, bound);
            }
        }
        let view = ArrayView2::from_shape((p, p), &u).expect("p x p");
        let Ok(eigen) = factor::symmetric_eigen(view) else {
            return Certificate::Uncertified { objective: Some(objective) };
        };
        // A hair inside, for the rounding of the eigenvalue.
        let lowest = -eigen.values[0] * (1.0 + 1e-13);
        let by = if lowest > *rank_penalty { rank_penalty / lowest } else { 1.0 };
        let s = u.iter().zip(c).map(|(u, c)| c + by * u).collect();
        let lower = dual_value(s, p) + self.shift;
        let allowance = rounding((0..p).map(|i| c[i * p + i] * sparse[i * p + i]));
        Certificate::gap_within(objective, lower, allowance)
    }
}
