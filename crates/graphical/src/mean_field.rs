//! Mean field: the best approximation of a model by independent variables.
//!
//! ```text
//! F(q) = sum_f E_q[log psi_f] + sum_v H(q_v)  <=  log Z,      q(x) = prod_v q_v(x_v)
//! q_v(x_v) ~ exp( sum_{f with v} E_q[log psi_f | x_v] )
//! ```
//!
//! Every update of one variable raises `F`. Every value of `F` is a lower bound of `log Z`, whether or not the run has
//! converged. There may be several local optima: start from random points with several values of `seed`, and keep the best. The
//! table in [`crate::bp`] compares it with other methods.
//!
//! Source: Wainwright and Jordan, Foundations and Trends in Machine Learning 1 (2008), section 5.

use fenchel_linalg::Invalid;
use fenchel_linalg::special::{entropy, softmax_in_place};
use fenchel_optim::random::stream;
use fenchel_optim::{
    Certificate, CertificateCost, Iterative, Observer, Solution, Stop, run, settings,
};
use rand::RngExt;
use serde::{Deserialize, Serialize};

use crate::stride::Plan;
use crate::{Error, FactorGraph, VarId};

settings! {
    /// Settings of [`mean_field`](fn@mean_field).
    pub struct MeanFieldSettings {
        /// Seed of the start, which is uniform up to a factor between `e^-0.1` and `e^0.1`.
        seed: u64 = 0,
        /// When to end; the residual is the largest change of a probability in an update.
        stop: Stop = Stop { absolute: 1e-8, relative: 0.0, max_passes: 1000.0, ..Stop::default() },
    }
}

/// Independent variables that approximate a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeanFieldState {
    marginals: Vec<Vec<f64>>,
    log_partition: f64,
}

impl MeanFieldState {
    /// The objective `F(q)`, a lower bound of `log Z`.
    pub fn log_partition(&self) -> f64 {
        self.log_partition
    }

    /// `q_v` of a variable.
    ///
    /// # Errors
    /// [`Error::UnknownVariable`].
    pub fn marginal(&self, variable: VarId) -> Result<&[f64], Error> {
        let unknown = Error::UnknownVariable { variable, variables: self.marginals.len() };
        self.marginals.get(variable.index()).map(Vec::as_slice).ok_or(unknown)
    }

    /// `q_v` of all variables.
    pub fn marginals(&self) -> &[Vec<f64>] {
        &self.marginals
    }
}

/// Coordinate ascent: what an observer of [`mean_field`](fn@mean_field) sees.
#[derive(Debug, Clone)]
pub struct MeanField<'m> {
    model: &'m FactorGraph,
    /// For every factor, the layout of its variables.
    plans: Vec<Vec<Plan>>,
    /// For every variable, its factors and its position in their scopes.
    factors: Vec<Vec<(usize, usize)>>,
    marginals: Vec<Vec<f64>>,
    change: f64,
    table: Vec<f64>,
    next: Vec<f64>,
}

/// Mean field by coordinate ascent. A pass updates every variable once. It costs `k^2` passes over the table of a factor of `k`
/// variables.
///
/// The objective of the certificate is `-F`, which never increases.
///
/// ```
/// use fenchel_graphical::{FactorGraph, VarId};
/// use fenchel_graphical::mean_field::{MeanFieldSettings, mean_field};
///
/// let mut model = FactorGraph::new(&[2, 2])?;
/// model.add(&[VarId(0), VarId(1)], &[0.0, 0.0, 0.0, 1.0])?;
/// let solution = mean_field(&model, &MeanFieldSettings::default(), None, &mut ())?;
/// let exact = (3.0 + 1.0_f64.exp()).ln();
/// assert!(solution.state.log_partition() < exact);
/// assert!(solution.state.log_partition() > exact - 0.1);
/// # Ok::<(), fenchel_graphical::Error>(())
/// ```
///
/// # Errors
/// [`Error::Potential`] for a potential of 0, under which independent variables are impossible, and for log-potentials whose
/// sum may exceed 1e300;
/// [`Error::Invalid`] for settings out of range or a start that does not fit.
pub fn mean_field<'m, O: Observer<MeanField<'m>>>(
    model: &'m FactorGraph,
    settings: &MeanFieldSettings,
    start: Option<MeanFieldState>,
    observer: &mut O,
) -> Result<Solution<MeanFieldState>, Error> {
    let mut method = MeanField::new(model, settings.seed, start)?;
    let report = run(&mut method, &settings.stop, observer)?;
    let log_partition = method.bound();
    Ok(Solution { state: MeanFieldState { marginals: method.marginals, log_partition }, report })
}

impl<'m> MeanField<'m> {
    fn new(
        model: &'m FactorGraph,
        seed: u64,
        start: Option<MeanFieldState>,
    ) -> Result<Self, Error> {
        for (factor, table) in model.factors().iter().enumerate() {
            if let Some(index) = table.log_values().iter().position(|v| !v.is_finite()) {
                let (value, expected) =
                    (table.log_values()[index], "finite: mean field needs a positive model");
                return Err(Error::Potential { factor, index, value, expected });
            }
        }
        model.check_sums()?;
        // A warm start is worth a certificate at once, a cold one is not.
        let change = if start.is_some() { 0.0 } else { f64::INFINITY };
        let marginals = match start {
            Some(start) => {
                Invalid::check_length(
                    "marginals of the start",
                    model.len(),
                    start.marginals.len(),
                )?;
                for (marginal, &card) in start.marginals.iter().zip(model.cards()) {
                    Invalid::check_length("a marginal of the start", card, marginal.len())?;
                    // Else the objective would be no bound.
                    let sum: f64 = marginal.iter().sum();
                    let least = marginal.iter().fold(0.0, |a: f64, q| a.min(*q));
                    if !(least >= 0.0 && (sum - 1.0).abs() <= 1e-12 * card as f64) {
                        let name = "a marginal of the start (sum)";
                        let expected = "probabilities whose sum is 1";
                        return Err(Invalid::Parameter { name, value: sum, expected }.into());
                    }
                }
                start.marginals
            }
            None => {
                let mut rng = stream(seed, 0);
                let draw = |&card: &usize| {
                    let mut q: Vec<f64> = (0..card).map(|_| rng.random_range(-0.1..0.1)).collect();
                    softmax_in_place(&mut q);
                    q
                };
                model.cards().iter().map(draw).collect()
            }
        };
        let mut factors = vec![Vec::new(); model.len()];
        let mut plans = Vec::with_capacity(model.factors().len());
        for (f, table) in model.factors().iter().enumerate() {
            let dimensions = table.dimensions();
            plans.push(dimensions.iter().map(|&own| Plan::between(&dimensions, &[own])).collect());
            for (place, v) in table.scope().iter().enumerate() {
                factors[v.index()].push((f, place));
            }
        }
        Ok(MeanField {
            model,
            plans,
            factors,
            marginals,
            change,
            table: Vec::new(),
            next: Vec::new(),
        })
    }

    /// `F(q)` now.
    pub fn bound(&self) -> f64 {
        let mut table = Vec::new();
        let energy: f64 = (0..self.plans.len())
            .map(|f| {
                self.weigh(f, None, &mut table);
                table.iter().sum::<f64>()
            })
            .sum();
        energy + self.marginals.iter().map(|q| entropy(q)).sum::<f64>()
    }

    /// Computes `log psi_f` times the probabilities of all its variables except one.
    fn weigh(&self, f: usize, without: Option<usize>, table: &mut Vec<f64>) {
        let factor = &self.model.factors()[f];
        table.clear();
        table.extend_from_slice(factor.log_values());
        for (place, v) in factor.scope().iter().enumerate().filter(|&(p, _)| Some(p) != without) {
            self.plans[f][place].spread(table, &self.marginals[v.index()], |value, q| value * q);
        }
    }

    /// Writes the best `q_v` given all other variables to `next`. Returns its distance from the current one.
    fn optimum(&mut self, v: usize) -> f64 {
        let (mut table, mut next) =
            (std::mem::take(&mut self.table), std::mem::take(&mut self.next));
        next.clear();
        next.resize(self.marginals[v].len(), 0.0);
        for &(f, place) in &self.factors[v] {
            self.weigh(f, Some(place), &mut table);
            self.plans[f][place].gather(&table, &mut next, 0.0, |a, b| a + b);
        }
        softmax_in_place(&mut next);
        let change =
            self.marginals[v].iter().zip(&next).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        (self.table, self.next) = (table, next);
        change
    }
}

impl Iterative for MeanField<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        let passes = passes.round().max(1.0);
        for _ in 0..passes as u64 {
            self.change = 0.0;
            for v in 0..self.marginals.len() {
                self.change = self.optimum(v).max(self.change);
                self.marginals[v].copy_from_slice(&self.next);
            }
        }
        passes
    }

    fn certify(&mut self) -> Certificate {
        let norm = (0..self.marginals.len()).map(|v| self.optimum(v)).fold(0.0, f64::max);
        Certificate::residual(-self.bound(), norm, 0.0)
    }

    fn certificate_cost(&self) -> CertificateCost {
        CertificateCost::Estimated(self.change)
    }
}
