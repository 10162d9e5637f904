//! Penalised maximum likelihood with exact gradients and a duality gap.
//!
//! ```text
//! primal   min_theta  g(theta) = A(theta) - theta.E psi + sum_c s_c |theta_c|
//! dual     max_P      H(P)       over distributions P with |E_P psi_c - E psi_c| <= s_c for every c
//! ```
//!
//! The dual maximises the entropy over distributions whose means lie in boxes around the means of the data. A dual
//! point is a mixture of the model and the data; if a coordinate is unpenalised, it also contains independent variables
//! that correct the mean of this coordinate. The entropy is concave, so the mixture of the entropies is a lower bound
//! of the dual value. The duality gap computed from it bounds the suboptimality, and it tends to 0 as the iterates
//! converge.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::xlogx;
use fenchel_optim::fista::{FistaSettings, fista};
use fenchel_optim::lbfgs::Smooth;
use fenchel_optim::{Certificate, Fit, Regulariser, Report, Stop, Watch, settings};
use fenchel_optim::{MAX_MEMORY, Refusal};
use ndarray::ArrayView1;

use crate::coordinates::{packed_length, pair_index, pairs};
use crate::oracle::AnyOracle;
use crate::penalty::Strengths;
use crate::{BinaryData, Coordinates, Error, NetworkModel, Oracle, Penalty};

settings! {
    /// Maximum likelihood with exact gradients: FISTA with backtracking and restarts. The gradients come from
    /// [`Enumeration`](crate::Enumeration) or a junction tree.
    ///
    /// ```
    /// use fenchel_mrf_learn::{BinaryData, ExactMle, MissingPolicy, Penalty};
    /// use ndarray::array;
    ///
    /// let x = array![[1u8, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0], [1, 1, 0], [0, 1, 1]];
    /// let data = BinaryData::new(x.view(), MissingPolicy::Error)?;
    /// let model = ExactMle { penalty: Penalty::edges(0.05), ..ExactMle::default() }.fit(&data)?;
    /// assert!(model.report.certificate.value() <= 1e-8);
    /// assert_eq!((model.edges()[0].0, model.edges()[0].1), (0, 1));
    /// # Ok::<(), fenchel_mrf_learn::Error>(())
    /// ```
    pub struct ExactMle {
        /// The penalty that makes the graph sparse.
        penalty: Penalty = Penalty::default(),
        /// The coordinates in which parameters are penalised.
        coordinates: Coordinates = Coordinates::Binary,
        /// Enumeration or a junction tree; by size unless chosen.
        oracle: Oracle = Oracle::Auto,
        /// Bytes that the oracle may take; `None` for no limit.
        max_memory: Option<u64> = MAX_MEMORY,
        /// When the method stops; a pass is a gradient.
        stop: Stop = Stop { absolute: 1e-8, relative: 0.0, max_passes: 10_000.0, ..Stop::default() },
    }
}

impl ExactMle {
    /// Fits a model.
    ///
    /// # Errors
    /// [`Error::UnboundedMle`] where an unpenalised parameter grows without end because a value of a variable, or of a pair, never occurs (other
    /// directions without end show as parameters that still grow at the pass limit); [`Error::Refused`]; [`Error::Invalid`] for settings out of range;
    /// [`Error::Refused`] for data with cells to impute.
    pub fn fit(&self, data: &BinaryData) -> Result<NetworkModel, Error> {
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
        data: &BinaryData,
        fit: Fit<'_, NetworkModel>,
    ) -> Result<NetworkModel, Error> {
        let Fit { weights, start, mut watch } = fit;
        let (data, p) = (data.weighted(weights)?, data.variables());
        if !data.missing().is_empty() {
            return Err(Refusal::unsupported("ExactMle", "cells to impute; Spg does that").into());
        }
        let start = match start {
            Some(model) => model.start(p, self.coordinates)?,
            None => vec![0.0; packed_length(p)],
        };
        let target = data.means(self.coordinates);
        let likelihood = Likelihood::new(p, target, data.entropy(), self)?;
        let (theta, report) = self.minimise(likelihood, start, &mut watch)?;
        NetworkModel::new(&theta, &data, self.coordinates, &self.penalty, report)
    }

    /// As [`fit`](Self::fit), from the sufficient statistics alone: `means` are the means of `psi` in the coordinates of
    /// this estimator, packed, as [`BinaryData::means`] returns them.
    ///
    /// The certificate is a duality gap where the means under the model lie within the penalty of those that are given.
    /// Elsewhere a gap would need the entropy of the data, and the certificate is the residual of a proximal step.
    /// Means of single variables and of pairs must fit each other. Whether means of three or more variables do is not
    /// checked: without a penalty, parameters then grow until the pass limit.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Invalid::Layout`] for a number of means that is not `p (p + 1) / 2`, and for a pair of
    /// variables that cannot have these means.
    pub fn fit_means<'a>(
        &self,
        means: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<NetworkModel, Error> {
        let target = means.into().to_vec();
        let p = (1..=target.len()).take_while(|&p| packed_length(p) <= target.len()).count();
        let layout = |reason| Invalid::Layout { what: "means", reason };
        if p == 0 || packed_length(p) != target.len() {
            let reason =
                format!("{} numbers; expected p (p + 1) / 2 for p variables", target.len());
            return Err(layout(reason).into());
        }
        Invalid::check_finite("means", &target)?;
        let mut binary = target.clone();
        self.coordinates.to_binary_means(&mut binary, p);
        for (c, (i, j)) in pairs(p).enumerate() {
            let (a, b) = (binary[pair_index(i, i, p)], binary[pair_index(j, j, p)]);
            let (low, high) = if i == j { (0.0, 1.0) } else { ((a + b - 1.0).max(0.0), a.min(b)) };
            if !(low - 1e-12..=high + 1e-12).contains(&binary[c]) {
                let reason = format!(
                    "P(x_{i} = 1, x_{j} = 1) is {}; expected a number between {low} and {high}",
                    binary[c]
                );
                return Err(layout(reason).into());
            }
        }
        let start = vec![0.0; target.len()];
        let likelihood = Likelihood::new(p, target, f64::NEG_INFINITY, self)?;
        let (theta, report) = self.minimise(likelihood, start, &mut Watch::nobody())?;
        NetworkModel::of(&theta, p, self.coordinates, &self.penalty, report)
    }

    fn minimise(
        &self,
        mut likelihood: Likelihood,
        mut start: Vec<f64>,
        watch: &mut Watch<'_>,
    ) -> Result<(Vec<f64>, Report), Error> {
        let strengths = self.penalty.strengths(likelihood.p)?;
        check_bounded(&likelihood.binary_target, likelihood.p, &strengths)?;
        for (theta, strength) in start.iter_mut().zip(&strengths.0) {
            if strength.is_infinite() {
                *theta = 0.0;
            }
        }
        likelihood.strengths = Some(strengths.clone());
        let settings = FistaSettings { stop: self.stop, ..FistaSettings::default() };
        let solved = fista(&mut likelihood, &strengths, &settings, start, watch)?;
        match likelihood.failure {
            Some(error) => Err(error),
            None => Ok((solved.state.point, solved.report)),
        }
    }
}

/// Refuses problems without a minimiser. These have an unpenalised direction along which the likelihood increases
/// without bound, because a state of one variable, or a pair of states of two variables, never occurs in the data.
/// `means` are those of the binary statistics.
pub(crate) fn check_bounded(means: &[f64], p: usize, strengths: &Strengths) -> Result<(), Error> {
    let free = |i: usize, j: usize| strengths.0[pair_index(i, j, p)] == 0.0;
    let mut coordinates = Vec::new();
    for (c, (i, j)) in pairs(p).enumerate() {
        let both = means[c];
        if !free(i, j) {
            continue;
        }
        let unbounded = if i == j {
            both <= 0.0 || both >= 1.0
        } else {
            let (a, b) = (means[pair_index(i, i, p)], means[pair_index(j, j, p)]);
            let tiny = 1e-12;
            both <= tiny
                || (free(i, i) && a - both <= tiny)
                || (free(j, j) && b - both <= tiny)
                || (free(i, i) && free(j, j) && 1.0 - a - b + both <= tiny)
        };
        if unbounded {
            coordinates.push((i as u32, j as u32));
        }
    }
    if coordinates.is_empty() { Ok(()) } else { Err(Error::UnboundedMle { coordinates }) }
}

/// `f(theta) = A(theta) - theta.E psi`.
pub(crate) struct Likelihood {
    p: usize,
    coordinates: Coordinates,
    /// Means of the data.
    target: Vec<f64>,
    binary_target: Vec<f64>,
    /// The entropy of the data; `-inf` where it is unknown.
    entropy: f64,
    oracle: AnyOracle,
    strengths: Option<Strengths>,
    /// The first error of the oracle; the value is infinite from then on.
    failure: Option<Error>,
}

impl Likelihood {
    fn new(p: usize, target: Vec<f64>, entropy: f64, settings: &ExactMle) -> Result<Self, Error> {
        let mut binary_target = target.clone();
        settings.coordinates.to_binary_means(&mut binary_target, p);
        Ok(Likelihood {
            p,
            coordinates: settings.coordinates,
            target,
            binary_target,
            entropy,
            oracle: AnyOracle::new(settings.oracle, p, settings.max_memory)?,
            strengths: None,
            failure: None,
        })
    }

    /// `f`, and the means under the model into `means`.
    pub(crate) fn evaluate(&mut self, theta: &[f64], means: &mut [f64]) -> Result<f64, Error> {
        let (model, constant) = self.coordinates.model(theta, self.p)?;
        let log_partition = self.oracle.means(&model, means)? - constant;
        self.coordinates.from_binary_means(means, self.p);
        Ok(log_partition - dot(theta, &self.target))
    }

    fn remember<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        result.map_err(|error| self.failure.get_or_insert(error)).ok()
    }

    /// A lower bound of the optimum from the means under the model.
    fn lower_bound(&self, theta: &[f64], value: f64, means: &[f64], strengths: &[f64]) -> f64 {
        // H(P_theta) = A(theta) - theta.mu
        let entropy = value + dot(theta, &self.target) - dot(theta, means);
        let p = self.p;
        let free_bias = (0..p).any(|i| strengths[pair_index(i, i, p)] == 0.0);
        let free_pair = pairs(p).zip(strengths).any(|((i, j), &s)| i != j && s == 0.0);
        if free_pair {
            // A free coupling would have to be met exactly, for which a mixture of these three does not suffice.
            return f64::NEG_INFINITY;
        }
        if !free_bias {
            let excess = means.iter().zip(&self.target).zip(strengths);
            let share = excess
                .map(
                    |((mean, target), &s)| {
                        if s.is_infinite() { 1.0 } else { s / (mean - target).abs() }
                    },
                )
                .fold(1.0, f64::min);
            return if share < 1.0 {
                share * entropy + (1.0 - share) * self.entropy
            } else {
                entropy
            };
        }
        self.mixture(entropy, means, strengths)
    }

    /// A mixture of three parts: the model with share `c`, independent variables with share `s` that correct the means
    /// of unpenalised biases, and the data with the remaining share. For each of several `s`, bisection finds the
    /// largest feasible `c`.
    fn mixture(&self, entropy: f64, means: &[f64], strengths: &[f64]) -> f64 {
        let p = self.p;
        let spins = self.coordinates == Coordinates::Spins;
        let probability = |mean: f64| if spins { 0.5 * (1.0 + mean) } else { mean };
        let off = |i: usize| {
            let c = pair_index(i, i, p);
            probability(means[c]) - probability(self.target[c])
        };
        // The entropy of the independent part, or nothing where it cannot be.
        let try_mix = |c: f64, s: f64| -> Option<f64> {
            let mut singles = vec![0.0; p];
            for (i, single) in singles.iter_mut().enumerate() {
                let target = self.binary_target[pair_index(i, i, p)];
                *single = if strengths[pair_index(i, i, p)] == 0.0 {
                    target - c / s * off(i)
                } else {
                    target
                };
                if !(0.0..=1.0).contains(single) {
                    return None;
                }
            }
            for (at, (i, j)) in pairs(p).enumerate() {
                if i == j && strengths[at] == 0.0 {
                    continue;
                }
                let independent = match (i == j, spins) {
                    (true, true) => 2.0 * singles[i] - 1.0,
                    (true, false) => singles[i],
                    (false, true) => (2.0 * singles[i] - 1.0) * (2.0 * singles[j] - 1.0),
                    (false, false) => singles[i] * singles[j],
                };
                let shift = c * (means[at] - self.target[at]) + s * (independent - self.target[at]);
                if shift.abs() > strengths[at] {
                    return None;
                }
            }
            let entropy = |b: f64| -xlogx(b) - xlogx(1.0 - b);
            Some(singles.iter().map(|&b| entropy(b)).sum())
        };
        let mut best = self.entropy;
        for exponent in 0..46 {
            let s = 0.5_f64.powi(exponent);
            let (mut low, mut high) = (0.0, 1.0 - s);
            if try_mix(high, s).is_some() {
                low = high;
            }
            for _ in 0..50 {
                if high - low <= 1e-15 {
                    break;
                }
                let middle = 0.5 * (low + high);
                if try_mix(middle, s).is_some() { low = middle } else { high = middle }
            }
            if let Some(independent) = try_mix(low, s) {
                let rest = (1.0 - low - s).max(0.0);
                let of_data = if rest > 0.0 { rest * self.entropy } else { 0.0 };
                best = best.max(low * entropy + s * independent + of_data);
            }
        }
        best
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Smooth for &mut Likelihood {
    fn dimension(&self) -> usize {
        self.target.len()
    }

    fn value_gradient(&mut self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let result = self.evaluate(theta, gradient);
        let Some(value) = self.remember(result) else {
            gradient.fill(0.0);
            return f64::INFINITY;
        };
        for (g, target) in gradient.iter_mut().zip(&self.target) {
            *g -= target;
        }
        value
    }

    fn value_only(&mut self, theta: &[f64]) -> f64 {
        let result = self.coordinates.model(theta, self.p).and_then(|(model, constant)| {
            Ok(self.oracle.log_partition(&model)? - constant - dot(theta, &self.target))
        });
        self.remember(result).unwrap_or(f64::INFINITY)
    }

    fn certify_composite(&mut self, theta: &[f64], h: f64) -> Option<Certificate> {
        let mut means = vec![0.0; theta.len()];
        let result = self.evaluate(theta, &mut means);
        let value = self.remember(result)?;
        let strengths = self.strengths.as_ref()?;
        let bound = self.lower_bound(theta, value, &means, &strengths.0);
        if bound > f64::NEG_INFINITY {
            return Some(Certificate::gap(value + h, bound));
        }
        // The residual of the proximal step of length 1.
        let moved = means.iter().zip(&self.target).zip(theta).map(|((m, t), x)| x - (m - t));
        let mut moved: Vec<f64> = moved.collect();
        strengths.prox(&mut moved, 1.0);
        let residual = moved.iter().zip(theta).fold(0.0, |r: f64, (a, b)| r.max((a - b).abs()));
        Some(Certificate::residual(value + h, residual, 0.0))
    }
}
