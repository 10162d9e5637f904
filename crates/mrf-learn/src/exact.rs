//! Penalised maximum likelihood with exact gradients and a duality gap.
//!
//! ```text
//! primal   min_theta  g(theta) = A(theta) - theta.E psi + h(theta)
//! dual     max_P      H(P)       over distributions P whose E_P psi - E psi lies in the dual ball of h for every pair of variables
//! ```
//!
//! The dual maximises the entropy over distributions whose means lie in boxes or balls around the means of the data. A dual
//! point is a mixture of the model and the data; if a bias is unpenalised, it also contains independent variables that
//! correct its mean. The entropy is concave, so the mixture of the entropies is a lower bound of the dual value. The duality
//! gap computed from it bounds the suboptimality, and it tends to 0 as the iterates converge.

use fenchel_linalg::special::xlogx;
use fenchel_linalg::{Invalid, lanes};
use fenchel_optim::fista::{FistaSettings, fista};
use fenchel_optim::lbfgs::Smooth;
use fenchel_optim::{
    Certificate, Clock, Fit, MAX_MEMORY, Refusal, Report, Stop, Wall, Watch, settings,
};
use ndarray::ArrayView1;

use crate::data::Data;
use crate::error::Error;
use crate::layout::{Coordinates, Layout, packed_length};
use crate::model::NetworkModel;
use crate::oracle::{Backend, Oracle};
use crate::penalty::{Penalty, Strengths};

settings! {
    /// Maximum likelihood with exact gradients: FISTA with backtracking and restarts. The gradients come from
    /// [`Enumeration`](crate::Enumeration) or a junction tree.
    ///
    /// ```
    /// use fenchel_mrf_learn::{Data, ExactMle, MissingPolicy, Penalty};
    /// use ndarray::array;
    ///
    /// let x = array![[1u8, 1, 0], [1, 1, 1], [0, 0, 1], [0, 0, 0], [1, 1, 0], [0, 1, 1]];
    /// let data = Data::binary(x.view(), MissingPolicy::Error)?;
    /// let model = ExactMle { penalty: Penalty::edges(0.05), ..ExactMle::default() }.fit(&data)?;
    /// assert!(model.report.certificate.value() <= 1e-8);
    /// assert_eq!((model.edges()[0].0, model.edges()[0].1), (0, 1));
    /// # Ok::<(), fenchel_mrf_learn::Error>(())
    /// ```
    ///
    /// Variables with any number of states:
    ///
    /// ```
    /// use fenchel_mrf_learn::{Coordinates, Data, ExactMle, Penalty};
    /// use ndarray::Array2;
    ///
    /// // Variable 1 repeats variable 0 three times out of four; variable 2 goes its own way.
    /// let x = Array2::from_shape_fn((72, 3), |(n, i)| match i {
    ///     0 => n % 3,
    ///     1 => (n % 3 + usize::from(n / 3 % 4 == 0)) % 3,
    ///     _ => n / 12 % 3,
    /// } as u8);
    /// let data = Data::states(x.view())?;
    /// let coordinates = Coordinates::Indicators;
    /// let method = ExactMle { penalty: Penalty::group(0.05), coordinates, ..ExactMle::default() };
    /// let edges = method.fit(&data)?.edges();
    /// assert_eq!((edges.len(), edges[0].0, edges[0].1), (1, 0, 1));
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
        /// When the method stops; a pass is a gradient. A junction tree is left between two of its calibrations, of which a gradient and
        /// a certificate have one per state of every variable: once a tenth of `max_seconds`, and at least 0.05 s, have passed beyond the
        /// limit. The certificate then holds the objective, and the best bound of those before.
        stop: Stop = Stop { absolute: 1e-8, relative: 0.0, max_passes: 10_000.0, ..Stop::default() },
    }
}

impl ExactMle {
    /// Fits a model.
    ///
    /// # Errors
    /// [`Error::UnboundedMle`] where an unpenalised parameter grows without end because a state of a variable, or of a pair, never occurs (other
    /// directions without end show as parameters that still grow at the pass limit); [`Error::Refused`]; [`Error::Invalid`] for settings out of
    /// range, and for binary coordinates or spins of variables with more than two states; [`Error::Refused`] for data with cells to impute.
    pub fn fit(&self, data: &Data) -> Result<NetworkModel, Error> {
        self.fit_with(data, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows in place of those of the data, a model to start from, and a closure that
    /// watches.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Error::Invalid`] for weights that are negative, all 0 or not one a row, and for a start with other
    /// variables.
    pub fn fit_with(&self, data: &Data, fit: Fit<'_, NetworkModel>) -> Result<NetworkModel, Error> {
        let layout = data.layout(self.coordinates)?;
        data.check_complete("ExactMle")?;
        self.fit_by(data, &mut *self.oracle.backend(&layout, self.max_memory)?, fit)
    }

    /// As [`fit_with`](Self::fit_with), with a [`Backend`] of your own for a model that has its own way to its means. The fields
    /// `oracle` and `max_memory` do not count.
    ///
    /// # Errors
    /// As [`fit_with`](Self::fit_with), and those of the backend.
    pub fn fit_by(
        &self,
        data: &Data,
        backend: &mut dyn Backend,
        fit: Fit<'_, NetworkModel>,
    ) -> Result<NetworkModel, Error> {
        let Fit { weights, start, mut watch, .. } = fit;
        let (data, layout) = (data.weighted(weights)?, data.layout(self.coordinates)?);
        data.check_complete("ExactMle")?;
        let start = match start {
            Some(model) => model.start(&layout)?,
            None => vec![0.0; layout.len()],
        };
        let (target, entropy) = (data.means_of(&layout), data.entropy());
        let (theta, report) =
            self.minimise(&layout, target, entropy, (start, backend), &mut watch)?;
        Ok(NetworkModel::new(layout, theta, &self.penalty, report).learned_from(&data))
    }

    /// As [`fit`](Self::fit), from the sufficient statistics of binary variables alone: `means` are the means of `psi` in the
    /// coordinates of this estimator, as [`Data::means`] returns them.
    ///
    /// The certificate is a duality gap where the means under the model lie within the penalty of those that are given.
    /// Elsewhere a gap would need the entropy of the data, and the certificate is the residual of a proximal step.
    /// Means of single variables and of pairs must fit each other. Whether means of three or more variables do is not
    /// checked: without a penalty, parameters then grow until the pass limit.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Invalid::Layout`] for a number of means that is not `p (p + 1) / 2`, and for a pair of
    /// variables that cannot have these means; [`Error::Refused`] for indicators.
    pub fn fit_means<'a>(
        &self,
        means: impl Into<ArrayView1<'a, f64>>,
    ) -> Result<NetworkModel, Error> {
        if self.coordinates == Coordinates::Indicators {
            return Err(Refusal::unsupported("ExactMle::fit_means", "indicators").into());
        }
        let target = means.into().to_vec();
        let p = (1..=target.len()).take_while(|&p| packed_length(p) <= target.len()).count();
        let wrong = |reason| Error::from(Invalid::Layout { what: "means", reason });
        if p == 0 || packed_length(p) != target.len() {
            let count = target.len();
            return Err(wrong(format!("{count} numbers; expected p (p + 1) / 2 for p variables")));
        }
        Invalid::check_finite("means", &target)?;
        let layout = Layout::two_states(p, self.coordinates)?;
        for ((i, j), _) in layout.blocks() {
            let (a, b) = (layout.shares(&target, i)[1], layout.shares(&target, j)[1]);
            let (found, low, high) = if i == j {
                (a, 0.0, 1.0)
            } else {
                (layout.pair_shares(&target, i, j)[3], (a + b - 1.0).max(0.0), a.min(b))
            };
            if !(low - 1e-12..=high + 1e-12).contains(&found) {
                return Err(wrong(format!(
                    "P(x_{i} = 1, x_{j} = 1) is {found}; expected a number between {low} and {high}"
                )));
            }
        }
        let (start, entropy) = (vec![0.0; target.len()], f64::NEG_INFINITY);
        let oracle = &mut *self.oracle.backend(&layout, self.max_memory)?;
        let (theta, report) =
            self.minimise(&layout, target, entropy, (start, oracle), &mut Watch::nobody())?;
        Ok(NetworkModel::new(layout, theta, &self.penalty, report))
    }

    fn minimise(
        &self,
        layout: &Layout,
        target: Vec<f64>,
        entropy: f64,
        (mut start, oracle): (Vec<f64>, &mut dyn Backend),
        watch: &mut Watch<'_>,
    ) -> Result<(Vec<f64>, Report), Error> {
        let strengths = self.penalty.strengths(layout)?;
        check_bounded(layout, &target, &strengths)?;
        strengths.confine(&mut start);
        let wall = Wall::start();
        let limit = self.stop.max_seconds.map(|limit| limit + (0.1 * limit).max(0.05));
        let ends = || limit.is_some_and(|limit| wall.seconds() >= limit);
        let (strengths, ends, failure) = (&strengths, &ends, None);
        let mut likelihood =
            Likelihood { layout, target, entropy, oracle, strengths, ends, failure };
        let settings = FistaSettings { stop: self.stop, ..FistaSettings::default() };
        let solved = fista(&mut likelihood, strengths, &settings, start, watch)?;
        match likelihood.failure {
            Some(error) => Err(error),
            None => Ok((solved.state.point, solved.report)),
        }
    }
}

/// Refuses problems without a minimiser. These have an unpenalised direction along which the likelihood increases
/// without bound, because a state of one variable, or a pair of states of two variables, never occurs in the data.
pub(crate) fn check_bounded(
    layout: &Layout,
    means: &[f64],
    strengths: &Strengths,
) -> Result<(), Error> {
    let absent = |share: f64| share <= 1e-12;
    let free: Vec<bool> = strengths.pairs.iter().map(|&strength| strength == 0.0).collect();
    let field = |i: usize| free[crate::layout::pair_index(i, i, layout.variables())];
    let mut coordinates = Vec::new();
    for (((i, j), _), _) in layout.blocks().zip(&free).filter(|(_, free)| **free) {
        let unbounded = if i == j {
            layout.shares(means, i).into_iter().any(absent)
        } else {
            // A pair of states counts if its indicator is a sum of free statistics.
            let counts = |cell: usize| match layout.coordinates() {
                Coordinates::Indicators => true,
                Coordinates::Binary => (cell % 2 == 1 || field(i)) && (cell >= 2 || field(j)),
                Coordinates::Spins => field(i) && field(j),
            };
            let cells = layout.pair_shares(means, i, j);
            let never = (0..cells.len()).any(|cell| counts(cell) && absent(cells[cell]));
            let spins = layout.coordinates() == Coordinates::Spins;
            never
                || spins
                    && (absent(cells[0]) && absent(cells[3])
                        || absent(cells[1]) && absent(cells[2]))
        };
        if unbounded {
            coordinates.push((i as u32, j as u32));
        }
    }
    if coordinates.is_empty() { Ok(()) } else { Err(Error::UnboundedMle { coordinates }) }
}

/// `f(theta) = A(theta) - theta.E psi`.
struct Likelihood<'a> {
    layout: &'a Layout,
    /// Means of the data.
    target: Vec<f64>,
    /// The entropy of the data; `-inf` where it is unknown.
    entropy: f64,
    oracle: &'a mut dyn Backend,
    strengths: &'a Strengths,
    /// Whether the time is over, beyond what a last certificate may take.
    ends: &'a dyn Fn() -> bool,
    /// The first error of the oracle; the value is infinite from then on.
    failure: Option<Error>,
}

impl Likelihood<'_> {
    /// What the oracle answers. After an error it is not asked again: a line search would take the error for a step that is too
    /// long, and ask for every shorter one.
    fn ask<T>(&mut self, ask: impl FnOnce(&mut dyn Backend) -> Result<T, Error>) -> Option<T> {
        if self.failure.is_some() {
            return None;
        }
        ask(&mut *self.oracle).map_err(|error| self.failure = Some(error)).ok()
    }

    /// `A(theta)`, and the means under the model; `None` after an error or the end of the time.
    fn means(&mut self, theta: &[f64], out: &mut [f64]) -> Option<f64> {
        let ends = self.ends;
        self.ask(|oracle| oracle.means_until(theta, out, ends)).flatten()
    }

    /// A lower bound of the optimum from the means under the model, whose entropy is given.
    fn lower_bound(&self, entropy: f64, means: &[f64]) -> f64 {
        let (free_bias, free_pair) = self.strengths.free();
        if free_pair {
            // A free coupling would have to be met exactly, for which a mixture of these three does not suffice.
            return f64::NEG_INFINITY;
        }
        // An unknown entropy counts only where the data have a share.
        let of_data = |share: f64| if share > 0.0 { share * self.entropy } else { 0.0 };
        if !free_bias {
            let off: Vec<f64> = means.iter().zip(&self.target).map(|(a, b)| a - b).collect();
            let share = self.strengths.share(&off);
            return share * entropy + of_data(1.0 - share);
        }
        // For each of several shares `s` of the independent part, bisection finds the largest feasible share of the model.
        let (mut best, mut single) = (self.entropy, vec![0.0; means.len()]);
        for exponent in 0..46 {
            let s = 0.5_f64.powi(exponent);
            let (mut low, mut high) = (0.0, 1.0 - s);
            if self.mixture(high, s, means, &mut single).is_some() {
                low = high;
            }
            for _ in 0..50 {
                if high - low <= 1e-15 {
                    break;
                }
                let middle = 0.5 * (low + high);
                if self.mixture(middle, s, means, &mut single).is_some() {
                    low = middle
                } else {
                    high = middle
                }
            }
            if let Some(independent) = self.mixture(low, s, means, &mut single) {
                best = best.max(low * entropy + s * independent + of_data(1.0 - low - s));
            }
        }
        best
    }

    /// The entropy of the independent part in `c model + s independent + (1 - c - s) data`, or `None` if this mixture
    /// is not feasible. `single` is scratch for the means of the independent variables.
    fn mixture(&self, c: f64, s: f64, means: &[f64], single: &mut [f64]) -> Option<f64> {
        let (layout, target) = (self.layout, &self.target);
        let spins = layout.coordinates() == Coordinates::Spins;
        let least = if spins { -1.0 } else { 0.0 };
        let mut entropy = 0.0;
        for i in 0..layout.variables() {
            let free = self.strengths.of(i, i) == 0.0;
            for at in layout.field(i) {
                let moved = if free { c / s * (means[at] - target[at]) } else { 0.0 };
                single[at] = target[at] - moved;
                if !(least..=1.0).contains(&single[at]) {
                    return None;
                }
                let share = if spins { 0.5 * (1.0 + single[at]) } else { single[at] };
                entropy -= xlogx(share);
                if layout.coordinates() != Coordinates::Indicators {
                    entropy -= xlogx(1.0 - share);
                }
            }
        }
        for ((i, j), block) in layout.blocks() {
            let limit = self.strengths.of(i, j);
            if i == j && limit == 0.0 {
                continue;
            }
            let (one, two) = (&single[layout.field(i)], &single[layout.field(j)]);
            let off = block.enumerate().map(|(k, at)| {
                let other = if i == j { one[k] } else { one[k / two.len()] * two[k % two.len()] };
                c * (means[at] - target[at]) + s * (other - target[at])
            });
            if self.strengths.dual_norm(off, i == j) > limit {
                return None;
            }
        }
        Some(entropy)
    }
}

impl Smooth for &mut Likelihood<'_> {
    fn dimension(&self) -> usize {
        self.target.len()
    }

    fn value_gradient(&mut self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let Some(log_partition) = self.means(theta, gradient) else {
            gradient.fill(0.0);
            return f64::INFINITY;
        };
        gradient.iter_mut().zip(&self.target).for_each(|(g, target)| *g -= target);
        log_partition - lanes::dot(theta, &self.target)
    }

    fn value_only(&mut self, theta: &[f64]) -> f64 {
        let log_partition = self.ask(|oracle| oracle.log_partition(theta));
        log_partition.map_or(f64::INFINITY, |a| a - lanes::dot(theta, &self.target))
    }

    fn certify_composite(&mut self, theta: &[f64], h: f64) -> Option<Certificate> {
        let mut means = vec![0.0; theta.len()];
        let Some(log_partition) = self.means(theta, &mut means) else {
            if self.failure.is_some() {
                return None;
            }
            let objective = Some(self.value_only(theta) + h);
            return Some(Certificate::Uncertified { objective });
        };
        let value = log_partition - lanes::dot(theta, &self.target);
        let bound = self.lower_bound(log_partition - lanes::dot(theta, &means), &means);
        if bound > f64::NEG_INFINITY {
            // Both are differences of the log-partition function and scores.
            let both = self.target.iter().zip(&means);
            let scores: f64 =
                theta.iter().zip(both).map(|(t, (a, b))| (t * a).abs() + (t * b).abs()).sum();
            let rounding = 256.0 * f64::EPSILON * (log_partition.abs() + h + scores);
            return Some(Certificate::gap_within(value + h, bound, rounding));
        }
        let gradient: Vec<f64> = means.iter().zip(&self.target).map(|(m, t)| m - t).collect();
        let residual = self.strengths.residual(theta, &gradient);
        Some(Certificate::residual(value + h, residual, 0.0))
    }
}
