//! Interaction screening: the objectives RISE (Vuffray, Misra, Lokhov and Chertkov 2016) and logRISE (Lokhov et al.
//! 2018).
//!
//! ```text
//! RISE     min_{h, J}  S(h, J) + lambda sum_j |J_j|,   S = mean over the data of exp(-s_i (h + sum_j J_j s_j))
//! logRISE  min_{h, J}  log S(h, J) + lambda sum_j |J_j|
//! dual     max_u  mean(u - u log u)   with |mean(u s_i s_j)| <= lambda, mean(u s_i) = 0, u >= 0
//! ```
//!
//! Interaction screening needs a nearly optimal number of samples. This holds at low temperature too, where
//! pseudo-likelihood needs more. Variables are spins, and every variable has its own convex problem, solved by FISTA.
//! RISE is certified by a duality gap, logRISE by the residual of a proximal step.

use fenchel_linalg::Invalid;
use fenchel_optim::Refusal;
use fenchel_optim::fista::{FistaSettings, fista};
use fenchel_optim::lbfgs::Smooth;
use fenchel_optim::prox::WeightedL1;
use fenchel_optim::{Budget, Certificate, Fit, SharedWatch, Stop, Watch, settings};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::{Regression, Rule, combine, for_all, symmetrise};
use crate::coordinates::{pair_index, pairs};
use crate::penalty::Strengths;
use crate::{BinaryData, Coordinates, Error, NetworkModel, Penalty};

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
        lambda: f64 = 0.1,
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
    pub fn fit(&self, data: &BinaryData) -> Result<NetworkModel, Error> {
        self.fit_with(data, Fit::new())
    }

    /// As [`fit`](Self::fit), with weights of the rows in place of those of the data, a model to start from, and a closure that
    /// watches the problems of all variables.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Error::Invalid`] for weights that are negative, all 0 or not one a row, and for a start with other
    /// variables.
    pub fn fit_with(
        &self,
        data: &BinaryData,
        fit: Fit<'_, NetworkModel>,
    ) -> Result<NetworkModel, Error> {
        let Fit { weights, start, watch } = fit;
        let data = data.weighted(weights)?;
        Invalid::check_nonnegative("threshold", self.threshold)?;
        let regressions = self.solve(&data, start, watch)?;
        let mut theta = symmetrise(&regressions, self.rule);
        for (theta, (i, j)) in theta.iter_mut().zip(pairs(data.variables())) {
            if i != j && theta.abs() < self.threshold {
                *theta = 0.0;
            }
        }
        let penalty = Penalty::edges(self.lambda);
        NetworkModel::new(&theta, &data, Coordinates::Spins, &penalty, combine(&regressions))
    }

    /// The problem of every variable, in spins, before the two estimates of a coupling are combined.
    ///
    /// # Errors
    /// [`Error::Invalid`] for settings out of range; [`Error::Refused`] for data with cells to impute; [`Error::UnboundedMle`] where there is no
    /// minimum. Without a penalty this is so where two columns never take one of their four pairs of values, and where a sum of the
    /// others decides a variable. For logRISE it is also so for two equal columns and `lambda` below 1: raise `lambda`, or use RISE.
    pub fn regressions(&self, data: &BinaryData) -> Result<Vec<Regression>, Error> {
        self.solve(data, None, Watch::nobody())
    }

    fn solve(
        &self,
        data: &BinaryData,
        start: Option<&NetworkModel>,
        watch: Watch<'_>,
    ) -> Result<Vec<Regression>, Error> {
        Invalid::check_nonnegative("lambda", self.lambda)?;
        if !data.missing().is_empty() {
            return Err(Refusal::unsupported(
                "InteractionScreening",
                "cells to impute; Spg does that",
            )
            .into());
        }
        if self.lambda == 0.0 {
            check_pairs(data)?;
        }
        let signs = data.signs();
        let weights: Vec<f64> = (0..data.rows()).map(|row| data.weight(row)).collect();
        let p = data.variables();
        let start = start.map(|model| model.start(p, Coordinates::Spins)).transpose()?;
        let (watch, budget) = (SharedWatch::from(watch), Budget::new(self.stop));
        let screen = |i| {
            // The field stands at the place of the variable itself.
            let from = |theta: &Vec<f64>| (0..p).map(|j| theta[pair_index(i, j, p)]).collect();
            let start = start.as_ref().map_or_else(|| vec![0.0; p], from);
            self.screen(&signs, &weights, i, budget.left(), start, &mut watch.each())
        };
        for_all(p, screen).into_iter().collect()
    }

    /// The smallest `lambda` at which all couplings are zero: the largest derivative by a coupling in the fit with
    /// fields only. There the field is half the log-odds of the data.
    ///
    /// # Errors
    /// None at present.
    pub fn lambda_max(&self, data: &BinaryData) -> Result<f64, Error> {
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
        let mut strengths = vec![self.lambda; p];
        strengths[i] = 0.0;
        let objective = self.objective;
        let (lambda, unbounded) = (self.lambda, false);
        let mut function = Screening { features, weights, objective, own: i, lambda, unbounded };
        let settings = FistaSettings { stop, ..FistaSettings::default() };
        let penalty = WeightedL1 { weights: strengths };
        let solved = fista(&mut function, penalty, &settings, start, watch)?;
        if function.unbounded {
            let pair = |j: usize| (i.min(j) as u32, i.max(j) as u32);
            let along = (0..p).filter(|&j| j != i && solved.state.point[j] != 0.0);
            return Err(Error::UnboundedMle { coordinates: along.map(pair).collect() });
        }
        let mut couplings = solved.state.point;
        let bias = std::mem::take(&mut couplings[i]);
        Ok(Regression { bias, couplings, report: Some(solved.report) })
    }
}

/// Refuses pairs of columns that never take one of their four pairs of values: without a penalty, a coupling and a
/// field grow without end. A constant column takes no part.
fn check_pairs(data: &BinaryData) -> Result<(), Error> {
    let p = data.variables();
    let means = data.means(Coordinates::Binary);
    let varies = |i: usize| (1e-12..=1.0 - 1e-12).contains(&means[pair_index(i, i, p)]);
    let free = |(i, j)| if varies(i) && varies(j) { 0.0 } else { 1.0 };
    crate::exact::check_bounded(&means, p, &Strengths(pairs(p).map(free).collect()))
}

struct Screening<'a> {
    features: Array2<f64>,
    weights: &'a [f64],
    objective: ScreeningObjective,
    /// The place of the field, which is unpenalised.
    own: usize,
    lambda: f64,
    /// Whether a direction was found along which the objective decreases without bound.
    unbounded: bool,
}

impl Screening<'_> {
    /// Whether `log S(c x) + lambda c |x|` decreases without bound in `c`. This holds if in every row `features x`
    /// exceeds the penalty of `x`. Without a penalty `S(c x)` then falls to 0, which no point attains.
    fn falls_for_ever(&self, x: &[f64]) -> bool {
        if self.objective == ScreeningObjective::Rise && self.lambda > 0.0 {
            return false;
        }
        let rows = self.exponents(x).into_iter().zip(self.weights).filter(|(_, w)| **w > 0.0);
        let margin = rows.map(|(e, _)| -e).fold(f64::INFINITY, f64::min);
        let size: f64 = (0..x.len()).filter(|&j| j != self.own).map(|j| x[j].abs()).sum();
        margin > self.lambda * size * (1.0 + 1e-9) && margin > 1.0
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
                if slope.abs() > self.lambda {
                    scale = scale.min(self.lambda / slope.abs());
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
        if self.unbounded {
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
        if self.falls_for_ever(x) {
            self.unbounded = true;
            return Some(Certificate::Uncertified { objective: Some(self.terms(x).0 + h) });
        }
        match self.objective {
            ScreeningObjective::Rise => Some(Certificate::gap(self.terms(x).0 + h, self.dual(x))),
            ScreeningObjective::LogRise => None,
        }
    }
}
