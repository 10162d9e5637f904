//! Node-wise regression: one l1 logistic regression per variable (Ravikumar, Wainwright and Lafferty 2010).

use fenchel_finite_sum::{LogisticModel, LogisticRegression};
use fenchel_linalg::{Invalid, Names, parallel};
use fenchel_optim::{Budget, Fit, Report, SharedWatch, Stop, Watch, settings};
use ndarray::{Array1, Array2};

use super::regression::{Regression, Rule, combine, symmetrise};
use crate::data::Data;
use crate::error::Error;
use crate::layout::{Coordinates, index_of, pair_index};
use crate::model::NetworkModel;
use crate::penalty::Penalty;

settings! {
    /// `p` independent logistic regressions, each of one variable on all others. They run on all cores with
    /// [`fenchel_finite_sum`], and each has a certified duality gap:
    ///
    /// ```text
    /// min_{b, theta}  mean_x log(1 + exp(-s_i (b + sum_j theta_j x_j))) + l1 sum_j |theta_j|,   s_i = 2 x_i - 1
    /// ```
    pub struct NodewiseLogistic {
        /// Strength of the l1 penalty of couplings; biases are unpenalised. An edge is penalised twice, once in each regression.
        l1: f64 = 0.1,
        /// How the two estimates of a coupling are combined.
        rule: Rule = Rule::And,
        /// The stopping rule of a regression; the time limit is that of all regressions together.
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
        let regressions = self.solve(&data, start, watch)?;
        let (layout, penalty) = (data.layout(Coordinates::Binary)?, Penalty::edges(self.l1));
        let theta = symmetrise(&regressions, self.rule);
        let model = NetworkModel::new(layout, theta, &penalty, combine(&regressions));
        Ok(model.learned_from(&data))
    }

    /// The regression of every variable on the others, before the two estimates of a coupling are combined.
    ///
    /// # Errors
    /// [`Error::Invalid`] for settings out of range; [`Error::FiniteSum`]; [`Error::Refused`] for data with cells to impute.
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
        data.check_binary("NodewiseLogistic", Coordinates::Binary)?;
        let p = data.variables();
        let start = match start {
            Some(model) => Some((model.start(&data.layout(Coordinates::Binary)?)?, model.report)),
            None => None,
        };
        let (watch, budget) = (SharedWatch::from(watch), Budget::new(self.stop));
        let regress = |i| self.regress(data, i, budget.left(), start.as_ref(), watch.each());
        parallel::try_map(0..p, regress)
    }

    fn regress(
        &self,
        data: &Data,
        i: usize,
        stop: Stop,
        start: Option<&(Vec<f64>, Report)>,
        mut watch: Watch<'_>,
    ) -> Result<Regression, Error> {
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
        let (l1, seed) = (self.l1, self.seed ^ i as u64);
        let method =
            LogisticRegression { l2: Some(0.0), l1, stop, seed, ..LogisticRegression::default() };
        let start = start.map(|(theta, report)| LogisticModel {
            weights: (0..p - 1).map(other).map(|j| theta[index_of(i, j, p)]).collect(),
            intercept: theta[pair_index(i, i, p)],
            classes: [0.0, 1.0],
            names: Names::NONE,
            report: *report,
            choice: None,
        });
        let weights = Array1::from_shape_fn(n, |r| data.weight(r) * n as f64);
        let weights = data.is_weighted().then_some(weights.view());
        let model = method.fit_with(
            &x,
            &y,
            Fit { weights, start: start.as_ref(), watch: watch.again(), ..Fit::new() },
        )?;
        for (at, &weight) in model.weights.iter().enumerate() {
            couplings[other(at)] = weight;
        }
        Ok(Regression { bias: model.intercept, couplings, report: Some(model.report) })
    }
}
