//! Mixtures of members of one family, fitted by expectation maximisation (EM).
//!
//! ```text
//! maximise  L = sum_i log sum_k pi_k p(x_i | eta_k)  +  sum_k n0 (<mu0, eta_k> - A(eta_k))
//! ```
//!
//! One pass consists of two steps. The E step computes the posterior shares `r_ik` of the components for each
//! observation. The M step computes the weights `pi` and the members `eta` that are optimal for these shares; this is
//! moment matching, which works for any family. The evidence bound `F = L - sum_i KL(r_i || posterior of x_i)`, with
//! the shares of the last pass, never decreases. The certificate is the mean of these divergences at the new
//! parameters, that is, the distance between the bound and the log-likelihood. It is 0 exactly at stationary points of
//! EM. It does not show that a point is the global maximum, so start from several seeds. Components that coincide stay
//! together, whatever the data: a random start has components that differ, if the statistics of the observations do. From a mixture
//! whose components all coincide, the run does not begin, and ends as [`Stalled`](fenchel_optim::Status::Stalled) without a certificate.
//!
//! Without the second term (`pseudo_count = 0`) the likelihood of many families is unbounded, because a component can
//! shrink onto one observation. One pseudo-observation per component, with the mean of the whole sample, keeps the
//! objective bounded.
//!
//! EM is mirror descent with the log-partition function as reference function and step 1 (Kunstner, Kumar and Schmidt,
//! 2021). One pass evaluates O(n K) densities.

use std::borrow::Borrow;

use fenchel_linalg::Invalid;
use fenchel_linalg::special::softmax_in_place;
use fenchel_optim::random::stream;
use fenchel_optim::{Budget, Cadence, Certificate, Fit, Iterative, Report, Stop, run, settings};
use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::error::Error;
use crate::family::Sample;
use crate::special::log_sum_exp;
use crate::summary::Summary;

settings! {
    /// Expectation maximisation for a mixture.
    ///
    /// ```
    /// use fenchel_expfam::mixture::Em;
    /// use fenchel_expfam::families::Poisson;
    ///
    /// let counts = [0.0, 1.0, 0.0, 2.0, 1.0, 9.0, 11.0, 10.0, 8.0, 12.0];
    /// let fit = Em { components: 2, ..Em::default() }.fit(Poisson, &counts)?;
    /// let mut rates: Vec<f64> = fit.components.iter().map(|c| c.rate()).collect();
    /// rates.sort_by(f64::total_cmp);
    /// assert!(rates[0] < 2.0 && rates[1] > 8.0);
    /// # Ok::<(), fenchel_expfam::Error>(())
    /// ```
    pub struct Em {
        /// The number of components.
        components: usize = 2,
        /// Pseudo-observations per component, with the mean of the whole sample.
        pseudo_count: f64 = 1.0,
        /// Random starts, from 1 to 1,000,000; the best after ten passes is continued. Their passes and their time count.
        starts: usize = 5,
        /// When the method stops.
        stop: Stop = Stop { absolute: 1e-9, relative: 0.0, max_passes: 10_000.0, ..Stop::default() },
        /// Seed of the starts.
        seed: u64 = 0,
    }
}

/// A mixture `sum_k weights_k p(x | components_k)`, with the report of its fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    try_from = "Unchecked<F>",
    bound(deserialize = "F: crate::family::Family + Deserialize<'de>")
)]
pub struct Mixture<F> {
    /// Shares of the components; they add up to 1.
    pub weights: Vec<f64>,
    /// The components.
    pub components: Vec<Distribution<F>>,
    /// `L` of the sample it was fitted to, in nats.
    pub objective: f64,
    /// How the run ended. The objective of its certificate is `-L / n`; its norm is the distance of the evidence bound
    /// from `L`, divided by `n`.
    pub report: Report,
}

/// The contents of a file.
#[derive(Deserialize)]
#[serde(bound(deserialize = "F: crate::family::Family + Deserialize<'de>"))]
struct Unchecked<F> {
    weights: Vec<f64>,
    components: Vec<Distribution<F>>,
    objective: f64,
    report: Report,
}

impl<F: crate::family::Family> TryFrom<Unchecked<F>> for Mixture<F> {
    type Error = Error;

    fn try_from(read: Unchecked<F>) -> Result<Self, Error> {
        let Unchecked { weights, components, objective, report } = read;
        let Some(first) = components.first() else {
            return Err(Invalid::Empty { what: "components" }.into());
        };
        Invalid::check_weights("weights", components.len(), weights.iter())?;
        let total: f64 = weights.iter().sum();
        if !((total - 1.0).abs() < 1e-6) {
            let (name, expected) = ("sum of the weights", "1");
            return Err(Invalid::Parameter { name, value: total, expected }.into());
        }
        let dimension = first.family().dimension();
        components
            .iter()
            .try_for_each(|c| Invalid::check_length("component", dimension, c.natural().len()))?;
        Ok(Mixture { weights, components, objective, report })
    }
}

impl<F: Sample + Clone> Mixture<F> {
    /// `log (weights_k p(x | k))` for all components.
    fn logs(&self, x: &F::Point, out: &mut Vec<f64>) {
        logs(&self.weights, &self.components, x, out);
    }

    /// `log p(x)` in nats.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`].
    pub fn log_density(&self, x: &F::Point) -> Result<f64, Error> {
        self.components[0].family().check_point(x)?;
        let mut out = vec![];
        self.logs(x, &mut out);
        Ok(log_sum_exp(&out))
    }

    /// The posterior shares of the components.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`]; [`Error::Unavailable`] for a point so far away that its log-density overflows under every
    /// component.
    pub fn shares(&self, x: &F::Point) -> Result<Vec<f64>, Error> {
        self.components[0].family().check_point(x)?;
        let mut out = vec![];
        self.logs(x, &mut out);
        softmax_in_place(&mut out);
        if out.iter().any(|share| share.is_nan()) {
            return Err(Error::Unavailable {
                family: self.components[0].family().name(),
                what: "a share of the components",
                hint: "the log-density of this point overflows under each of them",
            });
        }
        Ok(out)
    }

    /// The component that `x` most likely comes from.
    ///
    /// # Errors
    /// As [`shares`](Self::shares).
    pub fn predict(&self, x: &F::Point) -> Result<usize, Error> {
        let shares = self.shares(x)?;
        Ok((0..shares.len()).max_by(|&j, &k| shares[j].total_cmp(&shares[k])).unwrap_or(0))
    }

    /// The mean log-density of a sample, in nats per observation.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`] with the first observation outside; [`Invalid::Empty`].
    pub fn score(&self, x: &[F::Owned]) -> Result<f64, Error> {
        if x.is_empty() {
            return Err(Invalid::Empty { what: "sample" }.into());
        }
        let mut total = 0.0;
        for (i, x) in x.iter().enumerate() {
            total += self.log_density(x.borrow()).map_err(|e| e.at(i))?;
        }
        Ok(total / x.len() as f64)
    }

    /// One draw.
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> F::Owned {
        let mut left: f64 = rng.random();
        let last = self.weights.len() - 1;
        let k = self.weights[..last].iter().position(|&w| {
            left -= w;
            left < 0.0
        });
        self.components[k.unwrap_or(last)].sample(rng)
    }
}

fn logs<F: Sample>(
    weights: &[f64],
    components: &[Distribution<F>],
    x: &F::Point,
    out: &mut Vec<f64>,
) {
    let one = |(w, c): (&f64, &Distribution<F>)| w.ln() + c.family().log_density(c.natural(), x);
    out.clear();
    out.extend(weights.iter().zip(components).map(one));
}

/// The two steps as a solver.
struct Method<'a, F: Sample> {
    x: &'a [F::Owned],
    /// How often each observation counts.
    counts: Vec<f64>,
    /// What each component starts its summary with.
    prior: Option<Summary<F>>,
    family: F,
    weights: Vec<f64>,
    components: Vec<Distribution<F>>,
    /// `r_ik` of the last E step, row by row.
    shares: Vec<f64>,
    /// Whether the start is one law under several names, although the observations differ: EM cannot part its components.
    merged: bool,
    failure: Option<Error>,
}

impl<F: Sample + Clone> Method<'_, F> {
    /// `n0 (<mu0, eta> - A(eta))` of all components.
    fn penalty(&self) -> f64 {
        let Some(prior) = &self.prior else { return 0.0 };
        let Some(mu) = prior.mean() else { return 0.0 };
        let one =
            |c: &Distribution<F>| crate::divergence::dot(&mu, c.natural()) - c.log_partition();
        prior.weight() * self.components.iter().map(one).sum::<f64>()
    }

    /// `L` and `sum_i KL(r_i || posterior)`; the posterior becomes the new shares if `keep`.
    fn expect(&mut self, keep: bool) -> (f64, f64) {
        let (mut likelihood, mut gap, k) = (0.0, 0.0, self.weights.len());
        let mut posterior = Vec::with_capacity(k);
        let rows = self.x.iter().zip(&self.counts);
        for ((x, count), shares) in rows.zip(self.shares.chunks_exact_mut(k)) {
            logs(&self.weights, &self.components, x.borrow(), &mut posterior);
            if *count == 0.0 {
                continue;
            }
            likelihood += count * log_sum_exp(&posterior);
            softmax_in_place(&mut posterior);
            gap += count * fenchel_linalg::special::kl(shares, &posterior);
            if keep {
                shares.copy_from_slice(&posterior);
            }
        }
        (likelihood + self.penalty(), gap)
    }

    fn maximise(&mut self) -> Result<(), Error> {
        let (n, k) = (self.counts.iter().sum::<f64>(), self.weights.len());
        for j in 0..k {
            let mut summary =
                self.prior.clone().unwrap_or_else(|| Summary::new(self.family.clone()));
            let mut total = 0.0;
            let rows = self.x.iter().zip(&self.counts);
            for ((x, count), shares) in rows.zip(self.shares.chunks_exact(k)) {
                // A share that underflowed is an observation that is not there.
                let share = count * shares[j];
                if share > 0.0 {
                    summary.observe_weighted(x.borrow(), share)?;
                    total += share;
                }
            }
            self.weights[j] = total / n;
            self.components[j] = summary.mle()?;
        }
        Ok(())
    }
}

impl<F: Sample + Clone> Iterative for Method<'_, F> {
    fn advance(&mut self, _: f64) -> f64 {
        self.expect(true);
        let before = (self.weights.clone(), self.components.clone());
        if let Err(error) = self.maximise() {
            self.failure = Some(error);
            (self.weights, self.components) = before;
        }
        1.0
    }

    fn certify(&mut self) -> Certificate {
        let n: f64 = self.counts.iter().sum();
        let (objective, gap) = self.expect(false);
        if self.merged {
            return Certificate::Uncertified { objective: Some(-objective / n) };
        }
        Certificate::residual(-objective / n, gap / n, 0.0)
    }

    fn verdict(&self) -> Option<fenchel_optim::Status> {
        (self.merged || self.failure.is_some()).then_some(fenchel_optim::Status::Stalled)
    }
}

impl Em {
    /// Fits a mixture to observations.
    ///
    /// # Errors
    /// [`Error::OutsideSupport`]; [`Invalid::Layout`] for fewer observations than components; [`Invalid::Parameter`] for settings out of range; [`Error::BoundaryMean`] for a
    /// sample on the border, or without pseudo-observations for a component that runs there.
    pub fn fit<F: Sample + Clone>(&self, family: F, x: &[F::Owned]) -> Result<Mixture<F>, Error> {
        self.fit_with(family, x, Fit::new())
    }

    /// Fits with weights of the observations, a mixture to start from in place of the random starts, or a closure that watches.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); [`Invalid::Length`] for another number of weights or of components to start from;
    /// [`Invalid::Layout`] for a negative weight.
    pub fn fit_with<F: Sample + Clone>(
        &self,
        family: F,
        x: &[F::Owned],
        mut fit: Fit<'_, Mixture<F>>,
    ) -> Result<Mixture<F>, Error> {
        Invalid::check_nonnegative("pseudo_count", self.pseudo_count)?;
        for (name, value) in [("components", self.components), ("starts", self.starts)] {
            Invalid::check_count(name, value)?;
        }
        if self.starts > 1_000_000 {
            let (name, value, expected) = ("starts", self.starts as f64, "1 to 1,000,000");
            return Err(Invalid::Parameter { name, value, expected }.into());
        }
        let counts = fit.weights.map_or_else(|| vec![1.0; x.len()], |weights| weights.to_vec());
        let whole = Summary::of_weighted(family.clone(), x.iter().map(Borrow::borrow), &counts)?;
        let rows: Vec<usize> = (0..x.len()).filter(|&i| counts[i] > 0.0).collect();
        if rows.len() < self.components {
            let (found, of) =
                (rows.len(), if fit.weights.is_some() { " of positive weight" } else { "" });
            let reason = format!(
                "{found} observations{of} for {} components; expected at least one a component",
                self.components
            );
            return Err(Invalid::Layout { what: "sample", reason }.into());
        }
        let middle = whole.mle()?;
        let prior =
            |weight: f64| Summary::from_parts(family.clone(), weight, whole.centred().to_vec());
        let k = self.components;
        let make = |weights: Vec<f64>, components: Vec<Distribution<F>>| Method {
            x,
            counts: counts.clone(),
            prior: (self.pseudo_count > 0.0).then(|| prior(self.pseudo_count)),
            family: family.clone(),
            weights,
            components,
            shares: vec![1.0 / k as f64; x.len() * k],
            merged: false,
            failure: None,
        };
        // The sample as one observation, and another one.
        let around = |row: usize| -> Result<Summary<F>, Error> {
            let mut around = prior(1.0);
            around.observe(x[row].borrow())?;
            Ok(around)
        };
        let mut rng = stream(self.seed, 0);
        let mut budget = Budget::new(self.stop);
        let mut best: Option<(f64, Method<'_, F>)> = None;
        if let Some(Mixture { weights, components, .. }) = fit.start {
            Invalid::check_length("components to start from", k, components.len())?;
            components.iter().try_for_each(|c| family.check_natural(c.natural()))?;
            let mut method = make(weights.clone(), components.clone());
            if k > 1 && components.iter().all(|c| c.natural() == components[0].natural()) {
                let first = around(rows[0])?;
                for &row in &rows {
                    method.merged |= around(row)?.centred() != first.centred();
                }
            }
            best = Some((0.0, method));
        }
        let starts = if best.is_some() { 0 } else { self.starts };
        for _ in 0..starts {
            if best.is_some() && budget.left().max_seconds == Some(0.0) {
                break;
            }
            let mut method = make(vec![1.0 / k as f64; k], vec![middle.clone(); k]);
            // A component around each of some observations, as wide as the sample and one more make it. Where an observation has
            // the statistics of an earlier one, the next that has not takes its place.
            let mut seen: Vec<Summary<F>> = Vec::with_capacity(k);
            for component in &mut method.components {
                let place = rng.random_range(0..rows.len());
                let mut own = around(rows[place])?;
                for step in 1..rows.len() {
                    if seen.iter().all(|earlier| earlier.centred() != own.centred()) {
                        break;
                    }
                    own = around(rows[(place + step) % rows.len()])?;
                }
                *component = own.mle()?;
                seen.push(own);
            }
            if self.starts > 1 {
                let left = budget.left();
                let max_passes = left.max_passes.min(10.0);
                let (absolute, relative, check) = (0.0, 0.0, Cadence::Every(10.0));
                let ten = Stop { absolute, relative, max_passes, check, ..left };
                budget.spend(run(&mut method, &ten, &mut ())?);
            }
            let value = method.expect(false).0;
            if best.as_ref().is_none_or(|(before, _)| value > *before) && value.is_finite() {
                best = Some((value, method));
            }
        }
        let Some((_, mut method)) = best else {
            return Err(Error::Solver("no start has a finite likelihood".into()));
        };
        let report = run(&mut method, &budget.left(), &mut fit.watch)?;
        let report = budget.spend(report);
        if let Some(failure) = method.failure.take() {
            return Err(failure);
        }
        let objective = method.expect(false).0;
        let Method { weights, components, .. } = method;
        Ok(Mixture { weights, components, objective, report })
    }
}
