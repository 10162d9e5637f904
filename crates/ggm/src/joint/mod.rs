//! The joint graphical lasso: several groups of samples, with one sparse precision matrix per group and similar
//! matrices across groups.
//!
//! ```text
//! min  sum_k w_k (<C_k, Theta_k> - log det Theta_k) + sum_{i != j} ( l1 sum_k |t_k| + similarity r(t) ),   t_k = (Theta_k)_ij
//! ```
//!
//! Here `w_k` is the share of the samples that belong to group `k`, and `r` is one of
//!
//! | [`Coupling`] | `r(t)` | what the groups share |
//! |---|---|---|
//! | `Group` | `sqrt(sum_k t_k^2)` | which edges there are |
//! | `Fused` | `sum_{k < l} abs(t_k - t_l)` | edges and their values |
//!
//! **Components.** Two sets of variables are disconnected in all groups if, for every pair between the sets, the
//! proximal operator of the penalty maps the vector of the `w_k (C_k)_ij` to 0. Components are solved separately, in
//! parallel.
//!
//! **Certificate.** The difference between argument and result of the proximal step is a subgradient of the penalty at
//! 0, whatever the accuracy of the iterate. So `S_k = C_k + rho U_k / w_k` is a dual point, and
//! `sum_k w_k (log det S_k + p)` is a lower bound.
//!
//! The method is ADMM. An iteration costs one eigendecomposition per group, in total about `9 K p^3` operations for `K`
//! groups.
//!
//! Source: Danaher, Wang and Witten, JRSS B 76, 2014, who use the numbers of samples `n_k` in place of the shares
//! `w_k`.

mod admm;
mod penalty;

use fenchel_graphical::Graph;
use fenchel_linalg::{Invalid, factor};
use fenchel_optim::{Fit, MAX_MEMORY, Report, Stop, Watch, run, settings};
use ndarray::{Array1, Array2, Axis};
use serde::{Deserialize, Serialize};

use self::admm::{Joint, Part};
pub use self::penalty::Coupling;
use self::penalty::Penalty;
use crate::anderson::KEPT;
use crate::data::AsStatistics;
use crate::error::{Error, check_bounded, check_memory};
use crate::glasso::{GlassoState, components_by, default_stop};
use crate::model::GaussianModel;
use crate::problem::repaired;
use crate::singular::check_regular;
use crate::statistics::{Scale, Statistics, unit_of};

settings! {
    /// Precision matrices of several groups of samples over the same variables.
    ///
    /// The losses are weighted by the shares of the groups, which sum to 1. So with `similarity: 0.0`, group `k` is a
    /// graphical lasso with the penalty `l1 / w_k`.
    ///
    /// ```
    /// use fenchel_ggm::joint::JointGraphicalLasso;
    /// use fenchel_ggm::Statistics;
    /// use ndarray::array;
    ///
    /// let a = array![[1.0, 0.5, 0.1], [0.5, 1.0, 0.0], [0.1, 0.0, 1.0]];
    /// let b = array![[1.0, 0.4, 0.0], [0.4, 1.0, 0.5], [0.0, 0.5, 1.0]];
    /// let groups = [Statistics::from_covariance(a.view(), 100)?, Statistics::from_covariance(b.view(), 100)?];
    /// let found = JointGraphicalLasso::default().fit(&groups)?;
    /// assert_eq!(found.common().edges().collect::<Vec<_>>(), [(0, 1)]);
    /// assert!(found.report.certificate.value() <= 1e-5);
    /// # Ok::<(), fenchel_ggm::Error>(())
    /// ```
    pub struct JointGraphicalLasso {
        /// Weight of the l1 norm of every matrix.
        l1: f64 = 0.05,
        /// Weight of the coupling penalty `r`.
        similarity: f64 = 0.05,
        /// The coupling penalty.
        coupling: Coupling = Coupling::Group,
        /// The scale of the weights.
        scale: Scale = Scale::Correlation,
        /// First penalty parameter of ADMM, then balanced.
        rho: f64 = 0.5,
        /// When the method stops; a pass is one iteration.
        /// By default gap 1e-6, absolute or relative.
        stop: Stop = default_stop(),
        /// Bytes that may be allocated; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
    }
}

/// One model per group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JointModel {
    /// The models, in the order of the groups. Each has the report of the joint fit.
    pub models: Vec<GaussianModel>,
    /// The report of the fit.
    pub report: Report,
}

impl JointModel {
    /// The edges that all groups have.
    pub fn common(&self) -> Graph {
        let edges = self.models[0].graph();
        let edges = edges.edges().filter(|&(i, j)| {
            self.models.iter().all(|m| m.precision[[i as usize, j as usize]] != 0.0)
        });
        Graph::new(self.models[0].variables(), edges.collect::<Vec<_>>()).expect("nodes that exist")
    }
}

impl JointGraphicalLasso {
    /// Fits one data matrix per group, all over the same variables, with one sample per row, or the [`Statistics`] of each group.
    ///
    /// # Errors
    /// [`Invalid`] for no groups, groups of different widths, data that are empty, not finite or a single row, and settings out of range;
    /// [`Error::ZeroVariance`] for a variable that never varies within a group; [`Error::Refused`] beyond the memory limit.
    pub fn fit<X: AsStatistics>(&self, groups: &[X]) -> Result<JointModel, Error> {
        self.fit_with(groups, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows of all groups, one group after the other, of which only the ratios within a group
    /// matter, a former model with the same groups to start from, in the units of the data, and a closure that watches.
    ///
    /// # Errors
    /// As [`fit`](Self::fit), for weights of the wrong length, negative, or all 0 in a group, and for a start with other groups or variables
    /// or that is not positive definite.
    pub fn fit_with<X: AsStatistics>(
        &self,
        groups: &[X],
        fit: Fit<'_, JointModel>,
    ) -> Result<JointModel, Error> {
        let Fit { weights, start, mut watch, .. } = fit;
        if let Some(weights) = weights {
            let rows = groups.iter().map(AsStatistics::rows).sum();
            Invalid::check_length("weights", rows, weights.len())?;
        }
        let mut from = 0;
        let mut statistics = Vec::with_capacity(groups.len());
        for group in groups {
            let own = weights
                .map(|weights| weights.split_at(Axis(0), from).1.split_at(Axis(0), group.rows()).0);
            statistics.push(group.statistics(own, self.max_memory)?.into_owned());
            from += group.rows();
        }
        self.solve(&statistics, start, &mut watch)
    }

    fn solve(
        &self,
        groups: &[Statistics],
        start: Option<&JointModel>,
        watch: &mut Watch<'_>,
    ) -> Result<JointModel, Error> {
        let Some(first) = groups.first() else {
            return Err(Invalid::Empty { what: "groups" }.into());
        };
        let p = first.variables();
        Invalid::check_nonnegative("l1", self.l1)?;
        Invalid::check_nonnegative("similarity", self.similarity)?;
        Invalid::check_positive("rho", self.rho)?;
        for group in groups {
            Invalid::check_length("variables of a group", p, group.variables())?;
        }
        let total: usize = groups.iter().map(|group| group.samples).sum();
        let shares: Vec<f64> =
            groups.iter().map(|group| group.samples as f64 / total as f64).collect();
        let hint = "fit fewer groups or variables, or raise max_memory";
        let numbers = (p as u64).pow(2).saturating_mul((9 + KEPT) * groups.len() as u64);
        check_memory("joint graphs", numbers, self.max_memory, hint)?;
        let variances = groups.iter().flat_map(|group| group.covariance.diag().into_iter());
        let unit = unit_of(self.scale, variances);
        let scaled = groups.iter().map(|group| group.within(self.scale, unit));
        let scaled: Vec<(Array2<f64>, Array1<f64>)> = scaled.collect::<Result<_, _>>()?;
        let (l1, similarity) = (self.l1 / unit, self.similarity / unit);
        if l1 == 0.0 && (similarity == 0.0 || self.coupling == Coupling::Fused) && p > 1 {
            let what = "joint graphs";
            if similarity == 0.0 {
                scaled.iter().try_for_each(|(c, _)| check_regular(what, c.view(), c.diag()))?;
            } else {
                // What all groups share is not penalised.
                let mut pooled = Array2::zeros((p, p));
                scaled.iter().zip(&shares).for_each(|((c, _), w)| pooled.scaled_add(*w, c));
                check_regular(what, pooled.view(), pooled.diag())?;
            }
        }
        let penalty = Penalty { l1, similarity, coupling: self.coupling };
        let parts = components_by(p, |i, j| {
            let mut t: Vec<f64> =
                scaled.iter().zip(&shares).map(|((c, _), w)| w * c[[i, j]]).collect();
            penalty.prox(&mut t, 1.0);
            t.iter().any(|&t| t != 0.0)
        });
        let matrices: Vec<&Array2<f64>> = scaled.iter().map(|(c, _)| c).collect();
        let start = start.map(|start| precisions(start, &scaled)).transpose()?;
        let part =
            |nodes| Part::new(nodes, &matrices, &shares, penalty, self.rho, start.as_deref());
        let shift = p as f64 * unit.ln();
        let mut method = Joint { parts: parts.into_iter().map(part).collect(), shift };
        let report = run(&mut method, &self.stop, watch)?;
        check_bounded("joint graphs", &report)?;
        let mut models: Vec<GaussianModel> = groups
            .iter()
            .map(|group| GaussianModel {
                mean: group.mean.clone(),
                names: group.names.clone(),
                precision: Array2::zeros((p, p)),
                covariance: Array2::zeros((p, p)),
                report,
            })
            .collect();
        for part in method.parts {
            let k = part.nodes.len();
            for (y, model) in part.admm.y.into_iter().zip(&mut models) {
                let (x, factor) = repaired(y, k);
                let mut inverse = vec![0.0; k * k];
                factor::inverse_into(&factor, &mut inverse);
                for (a, &i) in part.nodes.iter().enumerate() {
                    for (b, &j) in part.nodes.iter().enumerate() {
                        let at = [i as usize, j as usize];
                        model.precision[at] = x[a * k + b];
                        model.covariance[at] = inverse[a * k + b];
                    }
                }
            }
        }
        let units = scaled.iter().map(|(_, units)| units);
        let models = models.into_iter().zip(units).map(|(m, units)| m.in_units(units)).collect();
        Ok(JointModel { models, report })
    }
}

/// The precision matrices of a former model on the scale of the fit.
fn precisions(
    start: &JointModel,
    scaled: &[(Array2<f64>, Array1<f64>)],
) -> Result<Vec<Array2<f64>>, Error> {
    Invalid::check_length("groups of the start", scaled.len(), start.models.len())?;
    let each = start.models.iter().zip(scaled);
    each.map(|(model, (_, units))| {
        Ok(GlassoState::in_units(model.precision.view(), units)?.precision())
    })
    .collect()
}
