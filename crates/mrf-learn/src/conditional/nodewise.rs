//! Node-wise regression: one l1 logistic regression per variable (Ravikumar, Wainwright and Lafferty 2010).

use fenchel_finite_sum::{Fit, LogisticRegression};
use fenchel_linalg::Invalid;
use fenchel_optim::Stop;
use fenchel_optim::{Refusal, settings};
use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use super::{Regression, combine, for_all, symmetrise};
use crate::{BinaryData, Coordinates, Error, NetworkModel, Penalty};

/// How the two estimates of a coupling, one from each regression, are combined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rule {
    /// An edge needs both regressions; its coupling is their mean.
    #[default]
    And,
    /// An edge needs one of the two regressions; if both have it, the coupling is their mean.
    Or,
}

settings! {
    /// `p` independent logistic regressions, each of one variable on all others. They run on all cores with
    /// [`fenchel_finite_sum`], and each has a certified duality gap:
    ///
    /// ```text
    /// min_{b, theta}  mean_x log(1 + exp(-s_i (b + sum_j theta_j x_j))) + lambda sum_j |theta_j|,   s_i = 2 x_i - 1
    /// ```
    pub struct NodewiseLogistic {
        /// Strength of the l1 penalty of couplings; biases are unpenalised. An edge is penalised twice, once in each regression.
        lambda: f64 = 0.1,
        /// How the two estimates of a coupling are combined.
        rule: Rule = Rule::And,
        /// The stopping rule of a regression.
        stop: Stop = Stop::default(),
        /// Seed of the solvers.
        seed: u64 = 0,
    }
}

impl NodewiseLogistic {
    /// Fits a model. A constant column has no neighbours; its bias is computed as if the data had one more row of each value.
    ///
    /// The report has the sums over the [`regressions`](Self::regressions), before they are combined.
    ///
    /// # Errors
    /// As [`regressions`](Self::regressions).
    pub fn fit(&self, data: &BinaryData) -> Result<NetworkModel, Error> {
        let regressions = self.regressions(data)?;
        let penalty = Penalty::edges(self.lambda);
        let theta = symmetrise(&regressions, self.rule);
        NetworkModel::new(&theta, data, Coordinates::Binary, &penalty, combine(&regressions))
    }

    /// The regression of every variable on the others, before the two estimates of a coupling are combined.
    ///
    /// # Errors
    /// [`Error::Invalid`] for settings out of range; [`Error::FiniteSum`]; [`Error::Refused`] for data with cells to impute.
    pub fn regressions(&self, data: &BinaryData) -> Result<Vec<Regression>, Error> {
        Invalid::check_nonnegative("lambda", self.lambda)?;
        if !data.missing().is_empty() {
            return Err(
                Refusal::unsupported("NodewiseLogistic", "cells to impute; Spg does that").into()
            );
        }
        for_all(data.variables(), |i| self.regress(data, i)).into_iter().collect()
    }

    fn regress(&self, data: &BinaryData, i: usize) -> Result<Regression, Error> {
        let (n, p) = (data.rows(), data.variables());
        let mut couplings = vec![0.0; p];
        let counted = || (0..n).filter(|&r| data.weight(r) > 0.0);
        let ones = counted().filter(|&r| data.get(r, i)).count() as f64;
        let all = counted().count() as f64;
        if p == 1 || ones == 0.0 || ones == all {
            let mean = (ones + 1.0) / (all + 2.0);
            let bias = (mean / (1.0 - mean)).ln();
            return Ok(Regression { bias, couplings, report: None });
        }
        let other = |at: usize| at + usize::from(at >= i);
        let x = Array2::from_shape_fn((n, p - 1), |(r, at)| {
            f64::from(u8::from(data.get(r, other(at))))
        });
        let y = Array1::from_shape_fn(n, |r| f64::from(u8::from(data.get(r, i))));
        let (l1, stop, seed) = (self.lambda, self.stop, self.seed ^ i as u64);
        let method =
            LogisticRegression { l2: Some(0.0), l1, stop, seed, ..LogisticRegression::default() };
        let model = if data.is_weighted() {
            let weights = Array1::from_shape_fn(n, |r| data.weight(r) * n as f64);
            method.fit_with(&x, &y, Fit::new().weights(&weights))?
        } else {
            method.fit(&x, &y)?
        };
        for (at, &weight) in model.weights.iter().enumerate() {
            couplings[other(at)] = weight;
        }
        Ok(Regression { bias: model.intercept, couplings, report: Some(model.report) })
    }
}
