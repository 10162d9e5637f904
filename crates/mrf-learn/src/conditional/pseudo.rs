//! Symmetric pseudo-likelihood (Hoefling and Tibshirani 2009).
//!
//! ```text
//! primal  min_theta  -sum_x w_x sum_i log P_theta(x_i | the others) + sum_c s_c |theta_c|
//! dual    max_a      sum_x w_x sum_i H(a_xi)    over a in [0,1]^(n x p) with, for every coordinate c,
//!                    |sum_x w_x d_c| <= s_c,    d_ii = a_xi - x_i,    d_ij = (a_xi - x_i) x_j + (a_xj - x_j) x_i
//! ```
//!
//! `H` is the entropy of a coin with bias `a_xi`. The method is FISTA with restarts; one pass costs two products of an
//! `n x p` with a `p x p` matrix. A feasible dual point is built from the conditional probabilities of the iterate, by
//! moving them towards the data. Its duality gap is the certificate.

use fenchel_linalg::special::{sigmoid, softplus, xlogx};
use fenchel_optim::fista::{FistaSettings, fista};
use fenchel_optim::lbfgs::Smooth;
use fenchel_optim::{Certificate, Fit, Stop, settings};
use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::data::Data;
use crate::error::Error;
use crate::exact::check_bounded;
use crate::layout::{Coordinates, Layout, packed_length, pair_index, pairs};
use crate::model::NetworkModel;
use crate::penalty::{Penalty, Strengths};

/// How strong the penalty of a coupling is beside that of the likelihood.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EdgeWeight {
    /// The same strength, as in appendix B.2 of Geng et al. (UAI 2018): in effect half the penalty.
    #[default]
    One,
    /// Twice the strength on couplings, whose gradient is doubled too.
    Two,
}

settings! {
    /// Symmetric pseudo-likelihood with an l1 penalty.
    pub struct PseudoLikelihood {
        /// The penalty that makes the graph sparse.
        penalty: Penalty = Penalty::default(),
        /// Whether couplings are penalised twice as much.
        edge_weight: EdgeWeight = EdgeWeight::One,
        /// The coordinates in which parameters are penalised.
        coordinates: Coordinates = Coordinates::Binary,
        /// When the method stops; a pass is a gradient.
        stop: Stop = Stop { absolute: 1e-6, relative: 0.0, max_passes: 10_000.0, ..Stop::default() },
    }
}

impl PseudoLikelihood {
    /// Fits a model.
    ///
    /// # Errors
    /// [`Error::UnboundedMle`] for a free parameter of a constant column or of a pair with an empty cell; [`Error::Invalid`] for settings
    /// out of range; [`Error::Refused`] for data with cells to impute.
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
        let Fit { weights, start, mut watch, .. } = fit;
        let data = data.weighted(weights)?;
        data.check_binary("PseudoLikelihood", self.coordinates)?;
        let layout = data.layout(self.coordinates)?;
        let mut start = match start {
            Some(model) => model.start(&layout)?,
            None => vec![0.0; layout.len()],
        };
        let strengths = self.strengths(&layout)?;
        check_bounded(&layout, &data.means_of(&layout), &strengths)?;
        strengths.confine(&mut start);
        let mut conditionals = Conditionals::new(&data, self.coordinates, strengths.clone());
        let settings = FistaSettings { stop: self.stop, ..FistaSettings::default() };
        let solved = fista(&mut conditionals, &strengths, &settings, start, &mut watch)?;
        let model = NetworkModel::new(layout, solved.state.point, &self.penalty, solved.report);
        Ok(model.learned_from(&data))
    }

    /// The smallest strength at which all couplings are zero. It follows from the gradient of the pseudo-likelihood in
    /// the fit without couplings. A coupling enters two conditionals. So with unpenalised biases this strength is twice
    /// that of the likelihood, unless [`EdgeWeight::Two`] doubles the penalty too.
    ///
    /// # Errors
    /// As [`Penalty::strengths`].
    pub fn largest_strength(&self, data: &Data) -> Result<f64, Error> {
        data.check_binary("PseudoLikelihood", self.coordinates)?;
        let (p, layout) = (data.variables(), data.layout(self.coordinates)?);
        let penalty = self.penalty.with_strength(1.0);
        let strengths = PseudoLikelihood { penalty, ..self.clone() }.strengths(&layout)?.pairs;
        let means = data.means_of(&layout);
        let single = |i: usize| means[pair_index(i, i, p)];
        let free = self.penalty.unary_weight == 0.0;
        // What a conditional says of its variable: the mean of the data where biases are free, a fair coin where all is 0.
        let said = |i: usize| match (free, self.coordinates) {
            (true, _) => single(i),
            (false, Coordinates::Spins) => 0.0,
            (false, _) => 0.5,
        };
        let mut largest: f64 = 0.0;
        for (c, (i, j)) in pairs(p).enumerate() {
            let slope = if i == j {
                if free {
                    continue;
                }
                said(i) - single(i)
            } else {
                said(i) * single(j) + said(j) * single(i) - 2.0 * means[c]
            };
            if strengths[c] > 0.0 {
                largest = largest.max(slope.abs() / strengths[c]);
            }
        }
        Ok(largest)
    }

    /// The strength of every coordinate.
    fn strengths(&self, layout: &Layout) -> Result<Strengths, Error> {
        let mut strengths = self.penalty.strengths(layout)?;
        if self.edge_weight == EdgeWeight::Two {
            for ((i, j), strength) in pairs(layout.variables()).zip(&mut strengths.pairs) {
                if i != j {
                    *strength *= 2.0;
                }
            }
        }
        Ok(strengths)
    }
}

/// The negative mean log pseudo-likelihood of the data.
pub struct Conditionals {
    p: usize,
    /// Values of a variable at 0 and at 1: 0 and 1, or -1 and +1.
    values: Array2<f64>,
    /// Half the distance of the logit in these coordinates: 1, or 2 for spins.
    scale: f64,
    weights: Vec<f64>,
    strengths: Strengths,
    matrix: Array2<f64>,
}

impl Conditionals {
    fn new(data: &Data, coordinates: Coordinates, strengths: Strengths) -> Self {
        let p = data.variables();
        let signs = data.signs();
        let (values, scale) = match coordinates {
            Coordinates::Spins => (signs, 2.0),
            _ => (signs.mapv(|s| 0.5 * (s + 1.0)), 1.0),
        };
        let weights = (0..data.rows()).map(|row| data.weight(row)).collect();
        Conditionals { p, values, scale, weights, strengths, matrix: Array2::zeros((p, p)) }
    }

    /// Logits of `x_i = 1` given the others.
    fn logits(&mut self, theta: &[f64]) -> Array2<f64> {
        let p = self.p;
        for (c, (i, j)) in pairs(p).enumerate() {
            let value = if i == j { 0.0 } else { self.scale * theta[c] };
            self.matrix[[i, j]] = value;
            self.matrix[[j, i]] = value;
        }
        let mut logits = self.values.dot(&self.matrix);
        for mut row in logits.rows_mut() {
            for i in 0..p {
                row[i] += self.scale * theta[pair_index(i, i, p)];
            }
        }
        logits
    }

    fn is_one(&self, row: usize, i: usize) -> bool {
        self.values[[row, i]] > 0.0
    }

    fn value(&self, logits: &Array2<f64>) -> f64 {
        let mut total = 0.0;
        for (row, logits) in logits.rows().into_iter().enumerate() {
            let cell = |(i, &logit): (usize, &f64)| {
                softplus(if self.is_one(row, i) { -logit } else { logit })
            };
            total += self.weights[row] * logits.iter().enumerate().map(cell).sum::<f64>();
        }
        total
    }

    /// `sum_x w_x d_c` for residuals `a - x`, packed; they are given the weights and the scale here.
    fn slopes(&self, mut residuals: Array2<f64>, out: &mut [f64]) {
        let p = self.p;
        for (row, mut residuals) in residuals.rows_mut().into_iter().enumerate() {
            let weight = self.scale * self.weights[row];
            residuals.mapv_inplace(|r| weight * r);
        }
        let product = residuals.t().dot(&self.values);
        let sums = residuals.sum_axis(ndarray::Axis(0));
        for (c, (i, j)) in pairs(p).enumerate() {
            out[c] = if i == j { sums[i] } else { product[[i, j]] + product[[j, i]] };
        }
    }

    /// The dual value of the probabilities `a`, pulled to feasibility; `-inf` where that cannot be.
    fn dual(&self, mut a: Array2<f64>) -> f64 {
        let p = self.p;
        let strengths = &self.strengths.pairs;
        if pairs(p).zip(strengths).any(|((i, j), &s)| i != j && s == 0.0) {
            return f64::NEG_INFINITY;
        }
        // A free bias needs the mean of the data: the heavier side shrinks.
        for i in 0..p {
            if strengths[pair_index(i, i, p)] != 0.0 {
                continue;
            }
            let mean = |f: &dyn Fn(usize) -> f64| -> f64 {
                (0..self.weights.len()).map(|row| self.weights[row] * f(row)).sum()
            };
            let of_data = mean(&|row| f64::from(u8::from(self.is_one(row, i))));
            let found = mean(&|row| a[[row, i]]);
            let (down, up) = (of_data / found, (1.0 - of_data) / (1.0 - found));
            for row in 0..self.weights.len() {
                let cell = &mut a[[row, i]];
                *cell = if found > of_data { down * *cell } else { 1.0 - up * (1.0 - *cell) };
            }
        }
        let one = |row: usize, i: usize| f64::from(u8::from(self.is_one(row, i)));
        let residuals = Array2::from_shape_fn(a.dim(), |(row, i)| a[[row, i]] - one(row, i));
        let mut slopes = vec![0.0; packed_length(p)];
        self.slopes(residuals, &mut slopes);
        let mut share: f64 = 1.0;
        for (c, (i, j)) in pairs(p).enumerate() {
            let free = i == j && strengths[c] == 0.0;
            if !free && slopes[c].abs() > strengths[c] {
                share = share.min(strengths[c] / slopes[c].abs());
            }
        }
        let mut total = 0.0;
        for row in 0..self.weights.len() {
            let cell = |i: usize| {
                let b = share * a[[row, i]] + (1.0 - share) * one(row, i);
                -xlogx(b.clamp(0.0, 1.0)) - xlogx((1.0 - b).clamp(0.0, 1.0))
            };
            total += self.weights[row] * (0..p).map(cell).sum::<f64>();
        }
        total
    }
}

impl Smooth for &mut Conditionals {
    fn dimension(&self) -> usize {
        packed_length(self.p)
    }

    fn value_gradient(&mut self, theta: &[f64], gradient: &mut [f64]) -> f64 {
        let mut logits = self.logits(theta);
        let value = self.value(&logits);
        for row in 0..self.weights.len() {
            for i in 0..self.p {
                let one = f64::from(u8::from(self.is_one(row, i)));
                logits[[row, i]] = sigmoid(logits[[row, i]]) - one;
            }
        }
        self.slopes(logits, gradient);
        value
    }

    fn value_only(&mut self, theta: &[f64]) -> f64 {
        let logits = self.logits(theta);
        self.value(&logits)
    }

    fn certify_composite(&mut self, theta: &[f64], h: f64) -> Option<Certificate> {
        let logits = self.logits(theta);
        let objective = self.value(&logits) + h;
        let bound = self.dual(logits.mapv_into(sigmoid));
        if bound > f64::NEG_INFINITY {
            return Some(Certificate::gap(objective, bound));
        }
        let mut gradient = vec![0.0; theta.len()];
        self.value_gradient(theta, &mut gradient);
        let residual = self.strengths.residual(theta, &gradient);
        Some(Certificate::residual(objective, residual, 0.0))
    }
}
