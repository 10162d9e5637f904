//! Penalised maximum likelihood with exact gradients and a duality gap.
//!
//! ```text
//! dual   max_P H(P)   over distributions P with || E_P psi_g - mean psi_g ||_dual <= lambda for every table g, and the means of free fields exact
//! ```
//!
//! As for two states, a dual point is a mixture of the model and the data. If fields are unpenalised, it also contains
//! independent variables that correct their means. By concavity of the entropy, the mixture of the entropies is a lower
//! bound of the dual value.

use fenchel_linalg::special::xlogx;
use fenchel_optim::fista::{FistaSettings, fista};
use fenchel_optim::lbfgs::Smooth;
use fenchel_optim::{Certificate, Fit, MAX_MEMORY, Regulariser, Stop, settings};

use super::oracle::DiscreteOracle;
use super::{DiscreteData, DiscreteModel, DiscretePenalty, Layout, TableStrengths};
use crate::exact::dot;
use crate::{Error, Oracle};

settings! {
    /// Maximum likelihood of a network of discrete variables: FISTA on enumeration or a junction tree.
    ///
    /// ```
    /// use fenchel_mrf_learn::{DiscreteData, DiscreteMle, DiscretePenalty};
    /// use ndarray::Array2;
    ///
    /// // Variable 1 repeats variable 0 three times out of four; variable 2 goes its own way.
    /// let x = Array2::from_shape_fn((72, 3), |(n, i)| match i {
    ///     0 => n % 3,
    ///     1 => (n % 3 + usize::from(n / 3 % 4 == 0)) % 3,
    ///     _ => n / 12 % 3,
    /// } as u8);
    /// let data = DiscreteData::new(x.view())?;
    /// let model = DiscreteMle { penalty: DiscretePenalty::group(0.05), ..DiscreteMle::default() }.fit(&data)?;
    /// assert!(model.report.certificate.value() <= 1e-8);
    /// let edges = model.edges();
    /// assert_eq!((edges.len(), edges[0].0, edges[0].1), (1, 0, 1));
    /// # Ok::<(), fenchel_mrf_learn::Error>(())
    /// ```
    pub struct DiscreteMle {
        /// The penalty that makes the graph sparse.
        penalty: DiscretePenalty = DiscretePenalty::default(),
        /// By size, enumeration up to `2^20` joint states, a junction tree beyond.
        oracle: Oracle = Oracle::Auto,
        /// Bytes that the oracle may take; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
        /// When the method stops; a pass is a gradient.
        stop: Stop = Stop { absolute: 1e-8, relative: 0.0, max_passes: 10_000.0, ..Stop::default() },
    }
}

impl DiscreteMle {
    /// Fits a model.
    ///
    /// # Errors
    /// [`Error::UnboundedMle`] for a state, or without a penalty a pair of states, that does not occur and is free; [`Error::Refused`];
    /// [`Error::Invalid`] for settings out of range.
    pub fn fit(&self, data: &DiscreteData) -> Result<DiscreteModel, Error> {
        self.fit_with(data, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows in place of those of the data, a model to start from, and a closure that
    /// watches.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Error::Invalid`] for weights that are negative, all 0 or not one a row, and for a start with other
    /// variables.
    pub fn fit_with(
        &self,
        data: &DiscreteData,
        fit: Fit<'_, DiscreteModel>,
    ) -> Result<DiscreteModel, Error> {
        let Fit { weights, start, mut watch } = fit;
        let data = data.weighted(weights)?;
        let layout = data.layout();
        let start = match start {
            Some(model) => model.start(layout)?,
            None => vec![0.0; layout.len()],
        };
        let strengths = self.penalty.strengths(layout)?;
        let target = data.means();
        check_bounded(layout, &target, &strengths)?;
        let mut likelihood = Likelihood {
            oracle: DiscreteOracle::new(self.oracle, layout, self.max_memory)?,
            layout: layout.clone(),
            target,
            entropy: data.entropy(),
            strengths: strengths.clone(),
            failure: None,
        };
        let settings = FistaSettings { stop: self.stop, ..FistaSettings::default() };
        let solved = fista(&mut likelihood, &strengths, &settings, start, &mut watch)?;
        if let Some(error) = likelihood.failure {
            return Err(error);
        }
        Ok(DiscreteModel::new(layout.clone(), solved.state.point, self.penalty, solved.report))
    }
}

/// Refuses unpenalised parameters of states that never occur in the data: they would tend to minus infinity.
fn check_bounded(layout: &Layout, target: &[f64], strengths: &TableStrengths) -> Result<(), Error> {
    let absent = |range: std::ops::Range<usize>| target[range].iter().any(|&mean| mean <= 0.0);
    let mut coordinates = Vec::new();
    if strengths.free_fields() {
        let fields = (0..layout.variables()).filter(|&i| absent(layout.field(i)));
        coordinates.extend(fields.map(|i| (i as u32, i as u32)));
    }
    if strengths.free_tables() {
        let tables = layout.pairs().filter(|&(i, j)| absent(layout.table_of(i, j)));
        coordinates.extend(tables.map(|(i, j)| (i as u32, j as u32)));
    }
    if coordinates.is_empty() { Ok(()) } else { Err(Error::UnboundedMle { coordinates }) }
}

/// `f(theta) = log Z(theta) - theta.mean psi`.
pub(super) struct Likelihood {
    oracle: DiscreteOracle,
    layout: Layout,
    target: Vec<f64>,
    entropy: f64,
    strengths: TableStrengths,
    /// The first error of the oracle; the value is infinite from then on.
    failure: Option<Error>,
}

impl Likelihood {
    fn remember<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        result.map_err(|error| self.failure.get_or_insert(error)).ok()
    }

    /// A lower bound of the optimum from the means under the model, whose entropy is given.
    fn lower_bound(&self, entropy: f64, means: &[f64]) -> f64 {
        if self.strengths.free_tables() {
            return f64::NEG_INFINITY;
        }
        if !self.strengths.free_fields() {
            let off: Vec<f64> = means.iter().zip(&self.target).map(|(a, b)| a - b).collect();
            let share = self.strengths.share(&off);
            return share * entropy + (1.0 - share) * self.entropy;
        }
        let mut best = self.entropy;
        for exponent in 0..46 {
            let s = 0.5_f64.powi(exponent);
            let (mut low, mut high) = (0.0, 1.0 - s);
            if self.mixture(high, s, means).is_some() {
                low = high;
            }
            for _ in 0..50 {
                if high - low <= 1e-15 {
                    break;
                }
                let middle = 0.5 * (low + high);
                if self.mixture(middle, s, means).is_some() { low = middle } else { high = middle }
            }
            if let Some(independent) = self.mixture(low, s, means) {
                let rest = (1.0 - low - s).max(0.0);
                best = best.max(low * entropy + s * independent + rest * self.entropy);
            }
        }
        best
    }

    /// The entropy of the independent part in `c model + s independent + (1 - c - s) data`, or `None` if this mixture
    /// is not feasible.
    fn mixture(&self, c: f64, s: f64, means: &[f64]) -> Option<f64> {
        let split = self.layout.table_start();
        let mut singles = vec![0.0; split];
        for ((single, mean), target) in singles.iter_mut().zip(means).zip(&self.target) {
            *single = target - c / s * (mean - target);
            if !(0.0..=1.0).contains(single) {
                return None;
            }
        }
        let mut off = vec![0.0; means.len()];
        for (i, j) in self.layout.pairs() {
            let (a, b) = (&singles[self.layout.field(i)], &singles[self.layout.field(j)]);
            let products = a.iter().flat_map(|a| b.iter().map(move |b| a * b));
            for (at, product) in self.layout.table_of(i, j).zip(products) {
                off[at] = c * (means[at] - self.target[at]) + s * (product - self.target[at]);
            }
        }
        (self.strengths.share(&off) >= 1.0)
            .then(|| -singles.iter().map(|&share| xlogx(share)).sum::<f64>())
    }
}

impl Smooth for &mut Likelihood {
    fn dimension(&self) -> usize {
        self.target.len()
    }

    fn value_gradient(&mut self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let result = self.oracle.means(theta, gradient);
        let Some(log_partition) = self.remember(result) else {
            gradient.fill(0.0);
            return f64::INFINITY;
        };
        gradient.iter_mut().zip(&self.target).for_each(|(g, target)| *g -= target);
        log_partition - dot(theta, &self.target)
    }

    fn value_only(&mut self, theta: &[f64]) -> f64 {
        let result = self.oracle.log_partition(theta);
        self.remember(result).map_or(f64::INFINITY, |a| a - dot(theta, &self.target))
    }

    fn certify_composite(&mut self, theta: &[f64], h: f64) -> Option<Certificate> {
        let mut means = vec![0.0; theta.len()];
        let result = self.oracle.means(theta, &mut means);
        let log_partition = self.remember(result)?;
        let value = log_partition - dot(theta, &self.target);
        let bound = self.lower_bound(log_partition - dot(theta, &means), &means);
        if bound > f64::NEG_INFINITY {
            return Some(Certificate::gap(value + h, bound));
        }
        let mut moved: Vec<f64> =
            means.iter().zip(&self.target).zip(theta).map(|((m, t), x)| x - (m - t)).collect();
        self.strengths.prox(&mut moved, 1.0);
        let residual = moved.iter().zip(theta).fold(0.0, |r: f64, (a, b)| r.max((a - b).abs()));
        Some(Certificate::residual(value + h, residual, 0.0))
    }
}
