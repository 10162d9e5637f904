//! Joint graphs over groups of samples: several precision matrices that are sparse and alike.
//!
//! ```text
//! min  sum_k w_k (<C_k, Theta_k> - log det Theta_k) + sum_{i != j} ( l1 sum_k |t_k| + similarity r(t) ),   t_k = (Theta_k)_ij
//! ```
//!
//! with `w_k` the share of the samples that group `k` has, and
//!
//! | [`Coupling`] | `r(t)` | what the groups share |
//! |---|---|---|
//! | `Group` | `sqrt(sum_k t_k^2)` | which edges there are |
//! | `Fused` | `sum_{k < l} abs(t_k - t_l)` | edges and their values |
//!
//! **Components.** Two sets of variables fall apart in all groups if the proximal operator of the penalty maps `w_k (C_k)_ij` to
//! 0 for every pair between them. The components are solved by themselves, in parallel.
//!
//! **Certificate.** What the proximal step takes away is a subgradient of the penalty at 0, whatever the accuracy of the
//! iterate, so that `S_k = C_k + rho U_k / w_k` is a dual point and `sum_k w_k (log det S_k + p)` a lower bound.
//!
//! ADMM: an eigendecomposition a group and iteration, about `9 K p^3` operations.
//!
//! Source: Danaher, Wang and Witten, JRSS B 76, 2014, there with `n_k` in place of `w_k`.

use fenchel_graphical::Graph;
use fenchel_linalg::Invalid;
use fenchel_linalg::factor::InPlaceCholesky;
use fenchel_optim::{Certificate, Iterative, MAX_MEMORY, Report, Stop, run};
use ndarray::{Array1, Array2};
#[cfg(feature = "parallel")]
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::check_memory;
use crate::glasso::{balance, components_by, default_stop, positive_part, repaired, soft};
use crate::{Error, GaussianModel, Scale, Statistics};

/// What pulls the groups towards one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Coupling {
    /// An edge is there in all groups or in none, before `l1` takes its part.
    #[default]
    Group,
    /// Values are alike, and equal where nothing speaks against it.
    Fused,
}

/// Precision matrices of several groups of samples over the same variables.
///
/// | field | default | meaning |
/// |---|---|---|
/// | `l1` | 0.05 | weight of the l1 norm of every matrix |
/// | `similarity` | 0.05 | weight of what the groups share |
/// | `coupling` | group | which penalty that is |
/// | `scale` | correlation | what the weights refer to |
/// | `rho` | 0.5 | first penalty parameter of ADMM, then balanced |
/// | `stop` | gap 1e-6, absolute or relative | when to end; a pass is one iteration |
/// | `max_memory` | 4 GiB | bytes that may be allocated; `None` for no limit |
///
/// Losses are weighted by the shares of the groups, which add up to 1: with `similarity: 0.0` group `k` is a graphical lasso at
/// the penalty `l1 / w_k`.
///
/// ```
/// use fenchel_ggm::joint::JointGraphicalLasso;
/// use fenchel_ggm::Statistics;
/// use ndarray::array;
///
/// let a = array![[1.0, 0.5, 0.1], [0.5, 1.0, 0.0], [0.1, 0.0, 1.0]];
/// let b = array![[1.0, 0.4, 0.0], [0.4, 1.0, 0.5], [0.0, 0.5, 1.0]];
/// let groups = [Statistics::from_covariance(a.view(), 100)?, Statistics::from_covariance(b.view(), 100)?];
/// let found = JointGraphicalLasso::default().fit_statistics(&groups)?;
/// assert_eq!(found.common().edges().collect::<Vec<_>>(), [(0, 1)]);
/// assert!(found.report.certificate.value() <= 1e-5);
/// # Ok::<(), fenchel_ggm::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JointGraphicalLasso {
    /// Weight of the l1 norm.
    pub l1: f64,
    /// Weight of what the groups share.
    pub similarity: f64,
    /// What the groups share.
    pub coupling: Coupling,
    /// What the weights refer to.
    pub scale: Scale,
    /// First penalty parameter of ADMM.
    pub rho: f64,
    /// When to end.
    pub stop: Stop,
    /// Bytes that may be allocated.
    pub max_memory: Option<u64>,
}

impl Default for JointGraphicalLasso {
    fn default() -> Self {
        JointGraphicalLasso {
            l1: 0.05,
            similarity: 0.05,
            coupling: Coupling::Group,
            scale: Scale::Correlation,
            rho: 0.5,
            stop: default_stop(),
            max_memory: MAX_MEMORY,
        }
    }
}

/// One model a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JointModel {
    /// The models, in the order of the groups; each carries the report of all.
    pub models: Vec<GaussianModel>,
    /// The account of the fit.
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
    /// Fits the means and covariance matrices of the groups.
    ///
    /// # Errors
    /// [`Invalid`] for no groups, groups of different widths, and settings out of range; [`Error::ZeroVariance`] for a variable that
    /// never varies within a group; [`Error::Refused`] beyond the memory limit.
    pub fn fit_statistics(&self, groups: &[Statistics]) -> Result<JointModel, Error> {
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
        let numbers = (p as u64).pow(2).saturating_mul(9 * groups.len() as u64);
        check_memory("joint graphs", numbers, self.max_memory, hint)?;
        let scaled = groups.iter().map(|group| group.on(self.scale));
        let scaled: Vec<(Array2<f64>, Array1<f64>)> = scaled.collect::<Result<_, _>>()?;
        let penalty = Penalty { l1: self.l1, similarity: self.similarity, coupling: self.coupling };
        let parts = components_by(p, |i, j| {
            let mut t: Vec<f64> =
                scaled.iter().zip(&shares).map(|((c, _), w)| w * c[[i, j]]).collect();
            penalty.prox(&mut t, 1.0);
            t.iter().any(|&t| t != 0.0)
        });
        let matrices: Vec<&Array2<f64>> = scaled.iter().map(|(c, _)| c).collect();
        let mut method = Joint {
            parts: parts
                .into_iter()
                .map(|nodes| Part::new(nodes, &matrices, &shares, penalty, self.rho))
                .collect(),
        };
        let report = run(&mut method, &self.stop, &mut ())?;
        let mut models: Vec<GaussianModel> = groups
            .iter()
            .map(|group| GaussianModel {
                mean: group.mean.clone(),
                precision: Array2::zeros((p, p)),
                covariance: Array2::zeros((p, p)),
                report,
            })
            .collect();
        for part in method.parts {
            let k = part.nodes.len();
            for (y, model) in part.y.into_iter().zip(&mut models) {
                let (x, factor) = repaired(y, k);
                let mut inverse = vec![0.0; k * k];
                factor.inverse(&mut inverse);
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

/// The penalty of one entry over all groups.
#[derive(Debug, Clone, Copy)]
struct Penalty {
    l1: f64,
    similarity: f64,
    coupling: Coupling,
}

impl Penalty {
    fn value(&self, t: &[f64]) -> f64 {
        let shared = match self.coupling {
            Coupling::Group => t.iter().map(|t| t * t).sum::<f64>().sqrt(),
            Coupling::Fused => (0..t.len())
                .flat_map(|k| (0..k).map(move |l| (k, l)))
                .map(|(k, l)| (t[k] - t[l]).abs())
                .sum(),
        };
        self.l1 * t.iter().map(|t| t.abs()).sum::<f64>() + self.similarity * shared
    }

    /// `argmin_x step penalty(x) + ||x - t||^2 / 2`, in place.
    ///
    /// Soft-thresholding first and then the norm, or the fusion first and then soft-thresholding: in these orders the
    /// composition is exact. The fusion of sorted values is a shift by rank and an isotonic regression.
    fn prox(&self, t: &mut [f64], step: f64) {
        let (l1, similarity) = (step * self.l1, step * self.similarity);
        match self.coupling {
            Coupling::Group => {
                t.iter_mut().for_each(|t| *t = soft(*t, l1));
                let norm = t.iter().map(|t| t * t).sum::<f64>().sqrt();
                let keep = if norm > similarity { 1.0 - similarity / norm } else { 0.0 };
                t.iter_mut().for_each(|t| *t *= keep);
            }
            Coupling::Fused => {
                let count = t.len();
                let mut order: Vec<usize> = (0..count).collect();
                order.sort_by(|&a, &b| t[a].total_cmp(&t[b]));
                // Blocks of equal values, rising: mean and size.
                let mut blocks: Vec<(f64, usize)> = Vec::with_capacity(count);
                for (rank, &k) in order.iter().enumerate() {
                    let shift = (2 * rank + 1) as f64 - count as f64;
                    let mut block = (t[k] - similarity * shift, 1);
                    while let Some(&(mean, size)) = blocks.last() {
                        if mean < block.0 {
                            break;
                        }
                        blocks.pop();
                        let sum = mean * size as f64 + block.0 * block.1 as f64;
                        block = (sum / (size + block.1) as f64, size + block.1);
                    }
                    blocks.push(block);
                }
                let values =
                    blocks.iter().flat_map(|&(mean, size)| std::iter::repeat_n(mean, size));
                for (&k, value) in order.iter().zip(values) {
                    t[k] = soft(value, l1);
                }
            }
        }
    }
}

/// All components.
struct Joint {
    parts: Vec<Part>,
}

/// The matrices of all groups on one component.
struct Part {
    nodes: Vec<u32>,
    penalty: Penalty,
    shares: Vec<f64>,
    c: Vec<Vec<f64>>,
    y: Vec<Vec<f64>>,
    u: Vec<Vec<f64>>,
    rho: f64,
    iterations: u32,
    bounds: (f64, f64),
}

impl Part {
    fn new(
        nodes: Vec<u32>,
        matrices: &[&Array2<f64>],
        shares: &[f64],
        penalty: Penalty,
        rho: f64,
    ) -> Part {
        let k = nodes.len();
        let c: Vec<Vec<f64>> = matrices
            .iter()
            .map(|c| {
                let at = |i: u32| nodes.iter().map(move |&j| c[[i as usize, j as usize]]);
                nodes.iter().flat_map(|&i| at(i)).collect()
            })
            .collect();
        let diagonal = |c: &Vec<f64>| {
            let mut y = vec![0.0; k * k];
            (0..k).for_each(|i| y[i * k + i] = 1.0 / c[i * k + i]);
            y
        };
        let y = c.iter().map(diagonal).collect();
        let u = vec![vec![0.0; k * k]; c.len()];
        let bounds = (f64::INFINITY, f64::NEG_INFINITY);
        let shares = shares.to_vec();
        Part { nodes, penalty, shares, c, y, u, rho, iterations: 0, bounds }
    }

    fn advance(&mut self) {
        let k = self.nodes.len();
        // A variable by itself is solved from the start.
        if k == 1 {
            return;
        }
        let groups = self.c.len();
        let mut x = Vec::with_capacity(groups);
        for g in 0..groups {
            let rho = self.rho / self.shares[g];
            let (y, u, c) = (&self.y[g], &self.u[g], &self.c[g]);
            let a: Vec<f64> = (0..k * k).map(|at| rho * (y[at] - u[at]) - c[at]).collect();
            let Some(found) = positive_part(&a, k, rho) else { return };
            x.push(found);
        }
        let (mut primal, mut dual) = (0.0, 0.0);
        let mut t = vec![0.0; groups];
        for i in 0..k {
            for j in 0..=i {
                let (at, mirror) = (i * k + j, j * k + i);
                for g in 0..groups {
                    t[g] = x[g][at] + self.u[g][at];
                }
                if i != j {
                    self.penalty.prox(&mut t, 1.0 / self.rho);
                }
                let twice = if i == j { 1.0 } else { 2.0 };
                for g in 0..groups {
                    let z = x[g][at] + self.u[g][at];
                    primal += twice * (x[g][at] - t[g]).powi(2);
                    dual += twice * (t[g] - self.y[g][at]).powi(2);
                    for place in [at, mirror] {
                        self.y[g][place] = t[g];
                        self.u[g][place] = z - t[g];
                    }
                }
            }
        }
        self.iterations += 1;
        let change = balance(primal.sqrt(), self.rho * dual.sqrt());
        if change != 1.0 && self.iterations.is_multiple_of(5) {
            self.rho *= change;
            self.u.iter_mut().flatten().for_each(|u| *u /= change);
        }
    }

    fn look(&mut self) {
        let k = self.nodes.len();
        let (mut objective, mut lower) = (0.0, 0.0);
        let mut points = Vec::with_capacity(self.c.len());
        for g in 0..self.c.len() {
            let (x, factor) = repaired(self.y[g].clone(), k);
            let trace: f64 = x.iter().zip(&self.c[g]).map(|(x, c)| x * c).sum();
            objective += self.shares[g] * (trace - factor.log_det());
            let by = self.rho / self.shares[g];
            let s = self.c[g].iter().zip(&self.u[g]).map(|(c, u)| c + by * u).collect();
            lower += match InPlaceCholesky::new(s, k) {
                Ok(factor) => self.shares[g] * (factor.log_det() + k as f64),
                Err(_) => f64::NEG_INFINITY,
            };
            points.push(x);
        }
        for i in 0..k {
            for j in 0..i {
                let t: Vec<f64> = points.iter().map(|x| x[i * k + j]).collect();
                objective += 2.0 * self.penalty.value(&t);
            }
        }
        self.bounds = (objective, lower);
    }
}

impl Joint {
    fn each(&mut self, work: impl Fn(&mut Part) + Sync + Send) {
        #[cfg(feature = "parallel")]
        self.parts.par_iter_mut().for_each(work);
        #[cfg(not(feature = "parallel"))]
        self.parts.iter_mut().for_each(work);
    }
}

impl Iterative for Joint {
    fn advance(&mut self, _passes: f64) -> f64 {
        self.each(Part::advance);
        1.0
    }

    fn certify(&mut self) -> Certificate {
        self.each(Part::look);
        let bounds = self.parts.iter().map(|part| part.bounds);
        let (objective, lower) = bounds.fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
        Certificate::gap(objective, lower)
    }
}
