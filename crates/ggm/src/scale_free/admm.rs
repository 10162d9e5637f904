//! ADMM for the scale-free problem, with a certificate.

use fenchel_linalg::Invalid;
use fenchel_linalg::factor::InPlaceCholesky;
use fenchel_optim::{Certificate, Fit, Iterative, MAX_MEMORY, Report, Stop, Watch, run, settings};
use ndarray::{Array2, ArrayView2};

use super::penalty::DegreePrior;
use super::prox::{DualDecomposition, ProxSettings};
use super::row::RowNorm;
use crate::error::check_bounded;
use crate::glasso::{Balance, Residuals, default_stop, positive_part, relaxed};
use crate::problem::rounding;
use crate::singular::check_regular;
use crate::statistics::AsStatistics;
use crate::statistics::unit_of;
use crate::{Error, GaussianModel, GlassoState, Scale, Statistics};

settings! {
    /// A sparse precision matrix whose graph has hubs:
    ///
    /// ```text
    /// min_X  <C, X> - log det X + strength Omega(X)
    /// ```
    ///
    /// ```
    /// use fenchel_ggm::scale_free::ScaleFree;
    /// use fenchel_ggm::Statistics;
    /// use ndarray::array;
    ///
    /// let c = array![[1.0, 0.6, 0.5], [0.6, 1.0, 0.3], [0.5, 0.3, 1.0]];
    /// let statistics = Statistics::from_covariance(c.view(), 100)?;
    /// let model = ScaleFree::default().fit(&statistics)?;
    /// assert!(model.report.certificate.value() <= 1e-5);
    /// # Ok::<(), fenchel_ggm::Error>(())
    /// ```
    ///
    /// Source: A. Defazio, PhD thesis 2014, section 7.3.1.
    pub struct ScaleFree {
        /// The cost of a further edge at a node of degree k.
        prior: DegreePrior = DegreePrior::default(),
        /// Weight of the penalty; with `Linear` it is the `l1` of the graphical lasso.
        strength: f64 = 0.1,
        /// The scale of the weight.
        scale: Scale = Scale::Correlation,
        /// First penalty parameter of ADMM, then balanced.
        rho: f64 = 0.5,
        /// When the method stops; a pass is one eigendecomposition.
        /// By default gap 1e-6.
        stop: Stop = default_stop(),
    }
}

impl ScaleFree {
    /// Fits a data matrix with one sample per row, or the [`Statistics`](crate::Statistics) of one.
    ///
    /// # Errors
    /// As [`GraphicalLasso::fit`](crate::GraphicalLasso::fit), and for a prior or settings out of range.
    pub fn fit(&self, data: &(impl AsStatistics + ?Sized)) -> Result<GaussianModel, Error> {
        self.fit_with(data, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows, of which only the ratios matter, a former model to start from, in the
    /// units of the data, and a closure that watches.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and for weights of the wrong length, negative, or all 0, and a start of another order or not positive
    /// definite.
    pub fn fit_with(
        &self,
        data: &(impl AsStatistics + ?Sized),
        fit: Fit<'_, GaussianModel>,
    ) -> Result<GaussianModel, Error> {
        let Fit { weights, start, mut watch } = fit;
        let statistics = data.statistics(weights, MAX_MEMORY)?;
        self.solve(&statistics, start, &mut watch)
    }

    fn solve(
        &self,
        statistics: &Statistics,
        start: Option<&GaussianModel>,
        watch: &mut Watch<'_>,
    ) -> Result<GaussianModel, Error> {
        let increments = self.prior.increments(statistics.variables())?;
        Invalid::check_nonnegative("strength", self.strength)?;
        let norm = RowNorm::Sorted(increments);
        let (what, strength) = ("the scale-free penalty", self.strength);
        let rows = ByRows { what, norm, strength, scale: self.scale, rho: self.rho };
        rows.solve(statistics, start, &self.stop, watch)
    }
}

/// `min_X <C, X> - log det X + strength sum_i norm(X_i)`.
struct ByRows {
    what: &'static str,
    norm: RowNorm,
    strength: f64,
    scale: Scale,
    rho: f64,
}

impl ByRows {
    fn solve(
        self,
        statistics: &Statistics,
        start: Option<&GaussianModel>,
        stop: &Stop,
        watch: &mut Watch<'_>,
    ) -> Result<GaussianModel, Error> {
        let p = statistics.variables();
        Invalid::check_positive("rho", self.rho)?;
        let unit = unit_of(self.scale, statistics.covariance.diag().iter());
        let (covariance, units) = statistics.within(self.scale, unit)?;
        let strength = self.strength / unit;
        let nothing = match &self.norm {
            RowNorm::Sorted(increments) => increments.first().is_none_or(|h| !(h * strength > 0.0)),
            RowNorm::Euclidean { .. } => strength == 0.0,
        };
        if nothing && p > 1 {
            check_regular(self.what, covariance.view(), covariance.diag())?;
        }
        let start = start.map(|start| GlassoState::in_units(start.precision.view(), &units));
        let start = start.transpose()?;
        let (norm, covariance) = (self.norm, covariance.view());
        let mut method =
            ScaleFreeAdmm::with_norm(covariance, norm, strength, self.rho, start.as_ref());
        method.shift = p as f64 * unit.ln();
        let report: Report = run(&mut method, stop, watch)?;
        check_bounded(self.what, &report)?;
        let (x, _) = crate::glasso::repaired(method.y, p);
        let state =
            GlassoState::from_precision(Array2::from_shape_vec((p, p), x).expect("p x p").view())?;
        let (precision, covariance) = (state.precision(), state.covariance());
        Ok(GaussianModel { mean: statistics.mean.clone(), precision, covariance, report }
            .in_units(&units))
    }
}

settings! {
    /// A sparse precision matrix in which whole nodes become independent. The penalty has one group per node, which
    /// contains all edges of that node.
    ///
    /// ```text
    /// min_X  <C, X> - log det X + strength sum_i ||X_i||_2
    /// ```
    ///
    /// An edge is in the groups of both its nodes. The groups `X_i` are rows without the diagonal entry. A. Defazio, PhD
    /// thesis 2014, section 6.4, uses whole rows. Since a diagonal entry is never 0, whole rows never vanish, the penalty
    /// is then smooth at every model, and its solutions have no zeros.
    ///
    /// ```
    /// use fenchel_ggm::{Statistics, scale_free::NodeGroups};
    /// use ndarray::array;
    ///
    /// let c = array![[1.0, 0.6, 0.05], [0.6, 1.0, 0.05], [0.05, 0.05, 1.0]];
    /// let statistics = Statistics::from_covariance(c.view(), 100)?;
    /// let model = NodeGroups { strength: 0.2, ..NodeGroups::default() }.fit(&statistics)?;
    /// assert_eq!(model.graph().edges().collect::<Vec<_>>(), [(0, 1)]);
    /// assert!(model.report.certificate.value() <= 1e-5);
    /// # Ok::<(), fenchel_ggm::Error>(())
    /// ```
    ///
    /// Source: A. Defazio, PhD thesis 2014, section 6.4.
    pub struct NodeGroups {
        /// Weight of the penalty.
        strength: f64 = 0.1,
        /// Whether the entry on the diagonal is part of a row, as printed.
        diagonal: bool = false,
        /// The scale of the weight.
        scale: Scale = Scale::Correlation,
        /// First penalty parameter of ADMM, then balanced.
        rho: f64 = 0.5,
        /// When the method stops; a pass is one eigendecomposition.
        stop: Stop = default_stop(),
    }
}

impl NodeGroups {
    /// Fits a data matrix with one sample per row, or the [`Statistics`](crate::Statistics) of one.
    ///
    /// # Errors
    /// As [`ScaleFree::fit`].
    pub fn fit(&self, data: &(impl AsStatistics + ?Sized)) -> Result<GaussianModel, Error> {
        self.fit_with(data, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows, of which only the ratios matter, a former model to start from, in the
    /// units of the data, and a closure that watches.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), and for weights of the wrong length, negative, or all 0, and a start of another order or not positive
    /// definite.
    pub fn fit_with(
        &self,
        data: &(impl AsStatistics + ?Sized),
        fit: Fit<'_, GaussianModel>,
    ) -> Result<GaussianModel, Error> {
        let Fit { weights, start, mut watch } = fit;
        let statistics = data.statistics(weights, MAX_MEMORY)?;
        self.solve(&statistics, start, &mut watch)
    }

    fn solve(
        &self,
        statistics: &Statistics,
        start: Option<&GaussianModel>,
        watch: &mut Watch<'_>,
    ) -> Result<GaussianModel, Error> {
        Invalid::check_nonnegative("strength", self.strength)?;
        let norm = RowNorm::Euclidean { diagonal: self.diagonal };
        let (what, strength) = ("the penalty on node groups", self.strength);
        let rows = ByRows { what, norm, strength, scale: self.scale, rho: self.rho };
        rows.solve(statistics, start, &self.stop, watch)
    }
}

/// The state of the iteration, which an observer of [`run`](fenchel_optim::run()) receives.
#[derive(Debug, Clone)]
pub struct ScaleFreeAdmm {
    p: usize,
    c: Vec<f64>,
    strength: f64,
    rho: f64,
    y: Vec<f64>,
    u: Vec<f64>,
    inner: DualDecomposition,
    residual: f64,
    /// Iterations of the inner method so far.
    pub inner_iterations: u64,
    /// Added to objective and bound, for the units.
    shift: f64,
    balance: Balance,
}

impl ScaleFreeAdmm {
    /// Starts from the identity, as in A. Defazio, PhD thesis 2014.
    ///
    /// The arguments are trusted: [`ScaleFree`] checks them.
    ///
    /// # Panics
    /// Unless the matrix is square, with one increment fewer than it has rows.
    pub fn new(
        covariance: ArrayView2<f64>,
        increments: &[f64],
        strength: f64,
        rho: f64,
    ) -> ScaleFreeAdmm {
        Self::with_norm(covariance, RowNorm::Sorted(increments.to_vec()), strength, rho, None)
    }

    fn with_norm(
        covariance: ArrayView2<f64>,
        norm: RowNorm,
        strength: f64,
        rho: f64,
        start: Option<&GlassoState>,
    ) -> ScaleFreeAdmm {
        let p = covariance.nrows();
        let c: Vec<f64> = covariance.iter().copied().collect();
        let (mut y, mut u) = (vec![0.0; p * p], vec![0.0; p * p]);
        (0..p).for_each(|i| y[i * p + i] = 1.0 / c[i * p + i]);
        if let Some(start) = start {
            // At the optimum `rho U` is what the covariance of the model has more than `C`.
            y = start.precision().into_iter().collect();
            let more = &start.covariance() - &covariance;
            u = more.into_iter().map(|m| m / rho).collect();
        }
        let settings = ProxSettings::default();
        let z = y.iter().zip(&u).map(|(y, u)| y + u).collect();
        let inner = DualDecomposition::new(z, p, norm, strength / rho, &settings);
        ScaleFreeAdmm {
            p,
            c,
            strength,
            rho,
            y,
            u,
            inner,
            residual: f64::INFINITY,
            inner_iterations: 0,
            shift: 0.0,
            balance: Balance::default(),
        }
    }

    /// The sparse iterate.
    pub fn point(&self) -> &[f64] {
        &self.y
    }

    /// The proximal problem of the last iteration: `Z` and the scale.
    pub fn last_prox(&self) -> (&[f64], f64) {
        (&self.inner.z, self.inner.scale)
    }
}

impl Iterative for ScaleFreeAdmm {
    fn advance(&mut self, _passes: f64) -> f64 {
        let (p, rho) = (self.p, self.rho);
        let a: Vec<f64> =
            (0..p * p).map(|at| rho * (self.y[at] - self.u[at]) - self.c[at]).collect();
        let Some(x) = positive_part(&a, p, rho) else {
            self.residual = f64::NAN;
            return 1.0;
        };
        for at in 0..p * p {
            self.inner.z[at] = relaxed(x[at], self.y[at]) + self.u[at];
        }
        self.inner.restart(self.strength / rho);
        let tolerance = (0.1 * self.residual / rho.max(1.0)).clamp(1e-13, 1e-3);
        let mut count = 0;
        while self.inner.residual > tolerance && count < 200 {
            self.inner.iterate();
            count += 1;
        }
        self.inner_iterations += count + 1;
        let before = self.y.clone();
        self.inner.symmetric(&mut self.y);
        let mut residuals = Residuals::default();
        for at in 0..p * p {
            self.u[at] = self.inner.z[at] - self.y[at];
            let inverse = self.c[at] + rho * self.u[at];
            residuals.add(1.0, x[at], self.y[at], before[at], inverse, rho);
        }
        self.residual = residuals.largest();
        let change = self.balance.factor(&residuals);
        if change != 1.0 {
            self.rho *= change;
            self.u.iter_mut().for_each(|u| *u /= change);
            self.inner.v.iter_mut().for_each(|v| *v /= change);
        }
        1.0
    }

    /// The gap between the symmetric iterate and a dual point. The dual point is built from the subgradients that the
    /// row solutions of the last proximal step give.
    fn certify(&mut self) -> Certificate {
        let p = self.p;
        let (point, factor) = crate::glasso::repaired(self.y.clone(), p);
        let trace: f64 = point.iter().zip(&self.c).map(|(x, c)| x * c).sum();
        let objective =
            trace - factor.log_det() + self.strength * self.inner.omega(&point) + self.shift;
        // Subgradients of the rows, scaled into the dual ball where rounding put them outside.
        let scale = self.inner.scale;
        let mut g = vec![0.0; p * p];
        let mut worst = 1.0_f64;
        if scale > 0.0 {
            let v = self.inner.multipliers();
            let norm = &self.inner.norm;
            let mut row = Vec::with_capacity(p);
            for i in 0..p {
                row.clear();
                for j in (0..p).filter(|&j| j != i || norm.has_diagonal()) {
                    let at = i * p + j;
                    g[at] = (self.inner.z[at] - v[at] - self.inner.rows[at]) / scale;
                    row.push(g[at]);
                }
                worst = worst.max(norm.dual(&mut row));
            }
        }
        let mut s = self.c.clone();
        if worst.is_finite() {
            for i in 0..p {
                for j in 0..p {
                    let half = 0.5 * (g[i * p + j] + g[j * p + i]);
                    s[i * p + j] += self.strength * half / worst;
                }
            }
        }
        match InPlaceCholesky::new(s, p) {
            Ok(factor) => {
                let lower = factor.log_det() + p as f64 + self.shift;
                let allowance = rounding((0..p).map(|i| self.c[i * p + i] * point[i * p + i]));
                Certificate::gap_within(objective, lower, allowance)
            }
            Err(_) => Certificate::Uncertified { objective: Some(objective) },
        }
    }
}
