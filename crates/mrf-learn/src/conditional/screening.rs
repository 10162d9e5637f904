//! Interaction screening: the objectives RISE (Vuffray, Misra, Lokhov and Chertkov 2016) and logRISE (Lokhov et al.
//! 2018).
//!
//! ```text
//! RISE     min_{h, J}  S(h, J) + l1 sum_j |J_j|,   S = mean over the data of exp(-s_i (h + sum_j J_j s_j))
//! logRISE  min_{h, J}  log S(h, J) + l1 sum_j |J_j|
//! dual     max_u  mean(u - u log u)   with |mean(u s_i s_j)| <= l1, mean(u s_i) = 0, u >= 0
//! ```
//!
//! Interaction screening needs a nearly optimal number of samples. This holds at low temperature too, where
//! pseudo-likelihood needs more. Variables are spins, and every variable has its own convex problem, solved by FISTA.
//! RISE is certified by a duality gap, logRISE by the residual of a proximal step.

use fenchel_linalg::{Invalid, lanes, parallel};
use fenchel_optim::fista::{FistaSettings, fista};
use fenchel_optim::lbfgs::Smooth;
use fenchel_optim::prox::WeightedL1;
use fenchel_optim::{Budget, Certificate, Fit, SharedWatch, Stop, Watch, settings};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::regression::{Regression, Rule, combine, symmetrise};
use crate::data::Data;
use crate::error::Error;
use crate::exact::check_bounded;
use crate::layout::{Coordinates, index_of, pair_index, pairs};
use crate::model::NetworkModel;
use crate::penalty::Penalty;

/// The objective that is minimised for each variable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScreeningObjective {
    /// `S`.
    Rise,
    /// `log S`: fewer samples in practice.
    #[default]
    LogRise,
}

settings! {
    /// Interaction screening with an l1 penalty of the couplings.
    pub struct InteractionScreening {
        /// Strength of the l1 penalty of couplings; fields are unpenalised. Theory has `0.4 sqrt(log(p^2 / 0.05) / n)` for RISE, 0.8 in place of 0.4 for logRISE.
        l1: f64 = 0.1,
        /// Which function is minimised.
        objective: ScreeningObjective = ScreeningObjective::LogRise,
        /// How the two estimates of a coupling are combined.
        rule: Rule = Rule::Or,
        /// Couplings of smaller absolute value are set to 0.
        threshold: f64 = 0.0,
        /// The stopping rule of each variable's problem; the time limit is that of all problems together.
        stop: Stop = Stop { absolute: 1e-6, relative: 0.0, max_passes: 10_000.0, ..Stop::default() },
    }
}

impl InteractionScreening {
    /// Fits a model in spins. A constant column has no neighbours; its field is computed as if the data had one more
    /// row of each value.
    ///
    /// The report has the sums over the [`regressions`](Self::regressions), before they are combined.
    ///
    /// # Errors
    /// As [`regressions`](Self::regressions).
    pub fn fit(&self, data: &Data) -> Result<NetworkModel, Error> {
        self.fit_with(data, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows in place of those of the data, a model to start from, and a closure that
    /// watches the problems of all variables.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Error::Invalid`] for weights that are negative, all 0 or not one a row, and for a start with other
    /// variables.
    pub fn fit_with(&self, data: &Data, fit: Fit<'_, NetworkModel>) -> Result<NetworkModel, Error> {
        let Fit { weights, start, watch, .. } = fit;
        let data = data.weighted(weights)?;
        Invalid::check_nonnegative("threshold", self.threshold)?;
        let regressions = self.solve(&data, start, watch)?;
        let mut theta = symmetrise(&regressions, self.rule);
        for (theta, (i, j)) in theta.iter_mut().zip(pairs(data.variables())) {
            if i != j && theta.abs() < self.threshold {
                *theta = 0.0;
            }
        }
        let (layout, penalty) = (data.layout(Coordinates::Spins)?, Penalty::edges(self.l1));
        let model = NetworkModel::new(layout, theta, &penalty, combine(&regressions));
        Ok(model.learned_from(&data))
    }

    /// The problem of every variable, in spins, before the two estimates of a coupling are combined.
    ///
    /// # Errors
    /// [`Error::Invalid`] for settings out of range; [`Error::Refused`] for data with cells to impute; [`Error::UnboundedMle`] where there is no
    /// minimum. Without a penalty this is so where two columns never take one of their four pairs of values, and where a sum of the
    /// others decides a variable in some rows and is 0 in the rest. [`Error::WeakPenalty`] where logRISE has none with a penalty, such as for
    /// two equal columns and `l1` below 1: raise `l1` to 1, which suffices for all data, or use RISE.
    pub fn regressions(&self, data: &Data) -> Result<Vec<Regression>, Error> {
        self.solve(data, None, Watch::nobody())
    }

    fn solve(
        &self,
        data: &Data,
        start: Option<&NetworkModel>,
        watch: Watch<'_>,
    ) -> Result<Vec<Regression>, Error> {
        Invalid::check_nonnegative("l1", self.l1)?;
        data.check_binary("InteractionScreening", Coordinates::Spins)?;
        if self.l1 == 0.0 {
            check_pairs(data)?;
        }
        let signs = data.signs();
        let weights: Vec<f64> = (0..data.rows()).map(|row| data.weight(row)).collect();
        let p = data.variables();
        let layout = data.layout(Coordinates::Spins)?;
        let start = start.map(|model| model.start(&layout)).transpose()?;
        let (watch, budget) = (SharedWatch::from(watch), Budget::new(self.stop));
        let screen = |i| {
            // The field stands at the place of the variable itself.
            let from = |theta: &Vec<f64>| (0..p).map(|j| theta[index_of(i, j, p)]).collect();
            let start = start.as_ref().map_or_else(|| vec![0.0; p], from);
            self.screen(&signs, &weights, i, budget.left(), start, &mut watch.each())
        };
        parallel::try_map(0..p, screen)
    }

    /// The smallest `l1` at which all couplings are zero: the largest derivative by a coupling in the fit with
    /// fields only. There the field is half the log-odds of the data.
    ///
    /// # Errors
    /// [`Error::Refused`] for data with cells to impute, and for variables with more than two states.
    pub fn largest_strength(&self, data: &Data) -> Result<f64, Error> {
        data.check_binary("InteractionScreening", Coordinates::Spins)?;
        let signs = data.signs();
        let (n, p) = signs.dim();
        let mut largest: f64 = 0.0;
        for i in 0..p {
            let plus: f64 = (0..n).filter(|&r| signs[[r, i]] > 0.0).map(|r| data.weight(r)).sum();
            let minus = 1.0 - plus;
            if !(plus > 1e-15 && minus > 1e-15) {
                continue;
            }
            // exp(-s h), times the weight of the row.
            let (up, down) = ((minus / plus).sqrt(), (plus / minus).sqrt());
            let scale = match self.objective {
                ScreeningObjective::Rise => 1.0,
                ScreeningObjective::LogRise => 0.5 / (plus * minus).sqrt(),
            };
            for j in (0..p).filter(|&j| j != i) {
                let slope: f64 = (0..n)
                    .map(|r| {
                        let s = signs[[r, i]];
                        data.weight(r) * if s > 0.0 { up } else { -down } * signs[[r, j]]
                    })
                    .sum();
                largest = largest.max(scale * slope.abs());
            }
        }
        Ok(largest)
    }

    fn screen(
        &self,
        signs: &Array2<f64>,
        weights: &[f64],
        i: usize,
        stop: Stop,
        start: Vec<f64>,
        watch: &mut Watch<'_>,
    ) -> Result<Regression, Error> {
        let (n, p) = signs.dim();
        let counted = || signs.column(i).into_iter().zip(weights).filter(|(_, w)| **w > 0.0);
        let (ones, all) = (counted().filter(|(s, _)| **s > 0.0).count(), counted().count());
        if ones == 0 || ones == all {
            let bias = 0.5 * ((ones as f64 + 1.0) / ((all - ones) as f64 + 1.0)).ln();
            return Ok(Regression { bias, couplings: vec![0.0; p], report: None });
        }
        // Row x of the features: s_i (s_1, ..., 1 at place i, ..., s_p).
        let features = Array2::from_shape_fn((n, p), |(row, j)| {
            let s_i = signs[[row, i]];
            if j == i { s_i } else { s_i * signs[[row, j]] }
        });
        let mut strengths = vec![self.l1; p];
        strengths[i] = 0.0;
        let objective = self.objective;
        let (l1, unbounded) = (self.l1, None);
        let mut function = Screening { features, weights, objective, own: i, l1, unbounded };
        let settings = FistaSettings { stop, ..FistaSettings::default() };
        let penalty = WeightedL1 { weights: strengths };
        let solved = fista(&mut function, penalty, &settings, start, watch)?;
        if let Some(direction) = function.unbounded {
            let pair = |j: usize| (i.min(j) as u32, i.max(j) as u32);
            let along = (0..p).filter(|&j| j != i && direction[j] != 0.0);
            let coordinates = along.map(pair).collect();
            return Err(match self.l1 {
                0.0 => Error::UnboundedMle { coordinates },
                l1 => Error::WeakPenalty { coordinates, l1 },
            });
        }
        let mut couplings = solved.state.point;
        let bias = std::mem::take(&mut couplings[i]);
        Ok(Regression { bias, couplings, report: Some(solved.report) })
    }
}

/// Refuses pairs of columns that never take one of their four pairs of values: without a penalty, a coupling and a
/// field grow without end. A constant column takes no part.
fn check_pairs(data: &Data) -> Result<(), Error> {
    let (p, layout) = (data.variables(), data.layout(Coordinates::Binary)?);
    let means = data.means_of(&layout);
    let varies = |i: usize| (1e-12..=1.0 - 1e-12).contains(&means[pair_index(i, i, p)]);
    let fixed = |(i, j)| if varies(i) && varies(j) { 0.0 } else { 1.0 };
    let penalty = Penalty { weights: pairs(p).map(fixed).collect(), ..Penalty::l1(1.0) };
    check_bounded(&layout, &means, &penalty.strengths(&layout)?)
}

/// A margin beyond which a direction without end is looked for: its row has a share of less than 1 % in the objective.
const FAR: f64 = 5.0;

/// The part of a vector that is orthogonal to an orthonormal basis; twice is enough against rounding.
fn without(basis: &[Vec<f64>], mut x: Vec<f64>) -> Vec<f64> {
    for b in basis.iter().chain(basis) {
        let along = lanes::dot(b, &x);
        x.iter_mut().zip(b).for_each(|(x, b)| *x -= along * b);
    }
    x
}

struct Screening<'a> {
    features: Array2<f64>,
    weights: &'a [f64],
    objective: ScreeningObjective,
    /// The place of the field, which is unpenalised.
    own: usize,
    l1: f64,
    /// A direction along which the objective decreases for ever, once one was found.
    unbounded: Option<Vec<f64>>,
}

impl Screening<'_> {
    /// A direction along which the objective decreases for ever, near a point on the way there.
    ///
    /// `log S(c x) + l1 c |x|` does so in `c` if in every row `features x` exceeds the penalty of `x`. Without a penalty
    /// it suffices for both objectives that `features x` is negative in no row and positive in some: the terms of these rows
    /// then vanish, which no point attains.
    fn falls_for_ever(&self, x: &[f64]) -> Option<Vec<f64>> {
        let counts = |row: &usize| self.weights[*row] > 0.0;
        let margins = |x: &[f64]| -> Vec<f64> { self.exponents(x).iter().map(|e| -e).collect() };
        let range = |margins: &[f64]| {
            let rows = (0..margins.len()).filter(counts).map(|row| margins[row]);
            rows.fold((f64::INFINITY, 0.0_f64), |(low, high), m| (low.min(m), high.max(m)))
        };
        let found = margins(x);
        let (least, most) = range(&found);
        if self.l1 > 0.0 {
            let size: f64 = (0..x.len()).filter(|&j| j != self.own).map(|j| x[j].abs()).sum();
            let falls = least > self.l1 * size * (1.0 + 1e-9) && least > 1.0;
            return (falls && self.objective == ScreeningObjective::LogRise).then(|| x.to_vec());
        }
        if least > 1.0 {
            return Some(x.to_vec());
        }
        if most < FAR {
            return None;
        }
        // On the way margins grow in some rows and stay in the others: the part of `x` that moves only the former.
        let mut basis: Vec<Vec<f64>> = Vec::new();
        let near = |row: &usize| counts(row) && found[*row] < 0.5 * most;
        for row in (0..found.len()).filter(near) {
            let row = without(&basis, self.features.row(row).to_vec());
            let norm = lanes::dot(&row, &row).sqrt();
            if norm > 1e-6 {
                basis.push(row.iter().map(|x| x / norm).collect());
            }
            if basis.len() == x.len() {
                return None;
            }
        }
        let mut direction = without(&basis, x.to_vec());
        let size = direction.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
        direction.iter_mut().for_each(|x| *x = if x.abs() > 1e-9 * size { *x } else { 0.0 });
        let (least, gained) = range(&margins(&direction));
        (least >= -1e-9 * size && gained > 0.1 * most).then_some(direction)
    }

    /// `-(features x)`, the exponents.
    fn exponents(&self, x: &[f64]) -> Vec<f64> {
        let x = ndarray::ArrayView1::from(x);
        self.features.dot(&x).iter().map(|e| -e).collect()
    }

    /// The value, and `w_x exp(e_x)`, divided by their sum for the logarithm.
    fn terms(&self, x: &[f64]) -> (f64, Vec<f64>) {
        let mut terms = self.exponents(x);
        let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for (term, weight) in terms.iter_mut().zip(self.weights) {
            *term = weight * (*term - largest).exp();
        }
        let sum: f64 = terms.iter().sum();
        let (value, scale) = match self.objective {
            ScreeningObjective::Rise => (sum * largest.exp(), largest.exp()),
            ScreeningObjective::LogRise => (largest + sum.ln(), 1.0 / sum),
        };
        terms.iter_mut().for_each(|term| *term *= scale);
        (value, terms)
    }

    /// The dual value of `u = exp(e)`, balanced and scaled until it is feasible.
    fn dual(&self, x: &[f64]) -> f64 {
        let mut u: Vec<f64> = self.exponents(x).iter().map(|e| e.exp()).collect();
        let side = |u: &[f64], sign: f64| -> f64 {
            let rows = (0..u.len()).filter(|&row| self.features[[row, self.own]] == sign);
            rows.map(|row| self.weights[row] * u[row]).sum()
        };
        let (plus, minus) = (side(&u, 1.0), side(&u, -1.0));
        let heavier = if plus > minus { 1.0 } else { -1.0 };
        let factor = plus.min(minus) / plus.max(minus);
        for (row, u) in u.iter_mut().enumerate() {
            if self.features[[row, self.own]] == heavier {
                *u *= factor;
            }
        }
        let mut scale: f64 = 1.0;
        for (j, column) in self.features.columns().into_iter().enumerate() {
            if j != self.own {
                let slope: f64 =
                    column.iter().zip(&u).zip(self.weights).map(|((z, u), w)| w * u * z).sum();
                if slope.abs() > self.l1 {
                    scale = scale.min(self.l1 / slope.abs());
                }
            }
        }
        let term = |(u, w): (&f64, &f64)| {
            let u = scale * u;
            w * (u - fenchel_linalg::special::xlogx(u))
        };
        u.iter().zip(self.weights).map(term).sum()
    }
}

impl Smooth for &mut Screening<'_> {
    fn dimension(&self) -> usize {
        self.features.ncols()
    }

    fn value_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        if self.unbounded.is_some() {
            // Ends the run; the caller looks at the mark.
            return f64::INFINITY;
        }
        let (value, terms) = self.terms(x);
        let slopes = self.features.t().dot(&ndarray::ArrayView1::from(&terms));
        gradient.iter_mut().zip(&slopes).for_each(|(g, slope)| *g = -slope);
        value
    }

    fn value_only(&mut self, x: &[f64]) -> f64 {
        self.terms(x).0
    }

    fn certify_composite(&mut self, x: &[f64], h: f64) -> Option<Certificate> {
        if let Some(direction) = self.falls_for_ever(x) {
            self.unbounded = Some(direction);
            return Some(Certificate::Uncertified { objective: Some(self.terms(x).0 + h) });
        }
        match self.objective {
            ScreeningObjective::Rise => Some(Certificate::gap(self.terms(x).0 + h, self.dual(x))),
            ScreeningObjective::LogRise => None,
        }
    }
}
