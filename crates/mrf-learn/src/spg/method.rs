//! The stochastic proximal gradient method: algorithm 3 of Geng et al. (UAI 2018) with its schedules.

use std::ops::Range;

use fenchel_graphical::ais::AisSettings;
use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, CertificateCost, Iterative, Regulariser, Status, StepSize};

use super::certificate::{DOUBT, certificate};
use super::missing::Missing;
use super::record::{Average, ObjectiveEstimate, SpgRecord, Tracking, Warning};
use super::sampler::Sampler;
use super::schedule::{AdaptiveChains, NonAsymptotic, Schedule, Uncertified};
use super::settings::Spg;
use crate::error::Error;

/// The method behind [`spg`](super::spg).
pub struct SpgMethod<'a, S, R> {
    pub(super) sampler: S,
    target: Vec<f64>,
    regulariser: R,
    missing: Option<Missing>,
    settings: &'a Spg,
    pub(super) theta: Vec<f64>,
    trial: Vec<f64>,
    means: Vec<f64>,
    variances: Vec<f64>,
    /// `norm(G)` cannot be larger, in any iteration.
    cap: f64,
    step: f64,
    pub(super) average: Average,
    pub(super) trace: Vec<SpgRecord>,
    pub(super) warnings: Vec<Warning>,
    at_noise: usize,
    sweeps: u64,
    pub(super) failure: Option<Error>,
}

/// Iterations between two estimates of the curvature, and of the spectral radius.
const REFRESH: usize = 10;
/// Iterations in a row at the noise floor after which a run ends.
const NOISE_ROUNDS: usize = 10;

impl<'a, S: Sampler, R: Regulariser> SpgMethod<'a, S, R> {
    pub(super) fn new(
        mut sampler: S,
        target: Vec<f64>,
        regulariser: R,
        missing: Option<Missing>,
        settings: &'a Spg,
        mut theta: Vec<f64>,
    ) -> Result<Self, Error> {
        let m = sampler.dimension();
        Invalid::check_length("target", m, target.len())?;
        Invalid::check_length("theta", m, theta.len())?;
        regulariser.check(m)?;
        // Coordinates that must stay 0 begin there.
        if regulariser.value(&theta).is_infinite() {
            regulariser.prox(&mut theta, 1.0);
        }
        sampler.set(&theta)?;
        let mut reach = vec![0.0; m];
        sampler.reach(&target, &mut reach);
        // norm(G) <= norm(Df) + the largest norm of a subgradient of h, which the prox of a far point shows.
        let mut shrunk = vec![1e6; m];
        regulariser.prox(&mut shrunk, 1.0);
        let square = |x: f64| x * x;
        let cap = reach.iter().map(|&r| square(r)).sum::<f64>().sqrt()
            + shrunk.iter().map(|s| square(1e6 - s)).sum::<f64>().sqrt();
        Ok(SpgMethod {
            trial: theta.clone(),
            average: Average::new(settings.average, m),
            means: vec![0.0; m],
            variances: vec![0.0; m],
            // Missing cells move the target.
            cap: if missing.is_some() { f64::INFINITY } else { cap },
            sampler,
            target,
            regulariser,
            missing,
            settings,
            theta,
            step: 0.0,
            trace: Vec::new(),
            warnings: Vec::new(),
            at_noise: 0,
            sweeps: 0,
            failure: None,
        })
    }

    /// The current parameters.
    pub fn parameters(&self) -> &[f64] {
        &self.theta
    }

    /// The records so far.
    pub fn trace(&self) -> &[SpgRecord] {
        &self.trace
    }

    /// The chains.
    pub fn sampler(&self) -> &S {
        &self.sampler
    }

    /// The step of this iteration.
    fn choose_step(&mut self) {
        let k = self.trace.len();
        let measured = |sampler: &S| 0.9 / sampler.curvature().max(1e-12);
        self.step = match self.settings.step {
            StepSize::Constant(step) => {
                if k.is_multiple_of(REFRESH) && k > 0 {
                    let limit = 2.0 / self.sampler.curvature().max(1e-12);
                    let known =
                        self.warnings.iter().any(|w| matches!(w, Warning::StepTooLarge { .. }));
                    if step > limit && !known {
                        self.warnings.push(Warning::StepTooLarge { step, limit });
                    }
                }
                step
            }
            StepSize::Decaying { first, power } => first / ((k + 1) as f64).powf(power),
            _ if !k.is_multiple_of(REFRESH) => self.step,
            StepSize::Scaled(factor) => factor * measured(&self.sampler),
            StepSize::Theory | StepSize::Backtracking => measured(&self.sampler),
        };
    }

    /// Takes the statistics of the chains, and the step from them into `trial`. Returns `norm(G)`.
    fn sample_step(&mut self) -> f64 {
        if self.settings.split_chains {
            self.means = self.half_means().0;
        } else {
            self.sampler.means(&mut self.means);
        }
        self.propose()
    }

    fn half_means(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut first, mut second) = (vec![0.0; self.means.len()], vec![0.0; self.means.len()]);
        self.sampler.half_means(&mut first, &mut second);
        (first, second)
    }

    /// The step from the means at hand into `trial`. Returns `norm(G)`.
    fn propose(&mut self) -> f64 {
        let step = self.step;
        for c in 0..self.theta.len() {
            self.trial[c] = self.theta[c] - step * (self.means[c] - self.target[c]);
        }
        self.regulariser.prox(&mut self.trial, step);
        let square: f64 = self.theta.iter().zip(&self.trial).map(|(a, b)| (a - b).powi(2)).sum();
        square.sqrt() / step
    }

    /// The number of sweeps after which the schedule may stop. It follows from the influence bound alone, without samples.
    fn plan(&mut self, radius: Option<f64>) -> Result<Plan, Error> {
        let k = self.trace.len();
        let uncertified = radius.is_some_and(|radius| radius >= 1.0);
        Ok(match self.settings.schedule {
            Schedule::Fixed(sweeps) => Plan::Exactly(sweeps),
            Schedule::Increasing => Plan::Exactly(k + 1),
            Schedule::NonAsymptotic(NonAsymptotic { doubt, most, .. }) => {
                Plan::Until { most, doubt: Some(doubt) }
            }
            Schedule::Tay(tay) if uncertified => {
                let known = self.warnings.iter().any(|w| matches!(w, Warning::Uncertified { .. }));
                if !known {
                    self.warnings.push(Warning::Uncertified { iteration: k });
                }
                match tay.uncertified {
                    Uncertified::Fixed(sweeps) => Plan::Exactly(sweeps),
                    Uncertified::Grow => Plan::Exactly((k + 1).min(tay.most)),
                    Uncertified::Most => Plan::Until { most: tay.most, doubt: None },
                    Uncertified::Error => {
                        let radius = radius.unwrap_or(f64::NAN);
                        return Err(Error::Uncertified { iteration: k, radius });
                    }
                }
            }
            Schedule::Tay(tay) => Plan::Until { most: tay.most, doubt: None },
        })
    }

    /// One iteration.
    fn iterate(&mut self) -> Result<(), Error> {
        let k = self.trace.len();
        let settings = self.settings;
        self.sampler.begin(k as u64)?;
        if let (Some(missing), Some(model)) = (&mut self.missing, self.sampler.binary()) {
            missing.draw(model, &mut self.target);
        }
        self.choose_step();
        let influence = self.sampler.influence();
        let certifying = matches!(settings.schedule, Schedule::Tay(_));
        let small = self.sampler.variables() <= 40;
        let radius = if k.is_multiple_of(REFRESH) || (certifying && small) {
            Some(influence.spectral_radius()?)
        } else {
            None
        };
        // Between two looks at a large matrix the radius is taken as it was.
        let recent = radius.or_else(|| self.trace.iter().rev().find_map(|record| record.radius));
        let plan = self.plan(recent)?;
        let mut d = vec![1.0; self.sampler.variables()];
        let mut sweeps = 0;
        let (mut mapping, mut bias);
        loop {
            self.sampler.sweep();
            influence.sweep(&mut d);
            sweeps += 1;
            bias = self.sampler.bias(settings.bound, &d);
            match plan {
                Plan::Exactly(wanted) => {
                    if sweeps < wanted {
                        continue;
                    }
                    mapping = self.sample_step();
                    break;
                }
                Plan::Until { most, doubt } => {
                    // No mapping can be large enough for this bound.
                    if bias >= 0.5 * self.cap && sweeps < most {
                        continue;
                    }
                    mapping = self.sample_step();
                    let mut error = bias;
                    if let Some(doubt) = doubt {
                        self.sampler.variances(&self.means, &mut self.variances);
                        // A half of the chains has at most twice the error.
                        let halves = if settings.split_chains { 2.0 } else { 1.0 };
                        let sampling = halves * self.sampler.sampling_error(&self.variances, doubt);
                        error += sampling;
                        let may_double = match settings.schedule {
                            Schedule::NonAsymptotic(rule) => {
                                2 * self.sampler.chains() <= rule.most_chains
                            }
                            _ => false,
                        };
                        if sampling >= 0.5 * mapping && may_double && sweeps < most {
                            self.sampler.double(k as u64)?;
                            // The copies share their past: independent they are given where they stand now.
                            d.fill(1.0);
                            continue;
                        }
                        if sampling >= 0.5 * mapping && !may_double {
                            break;
                        }
                    }
                    if error < 0.5 * mapping || sweeps >= most {
                        break;
                    }
                }
            }
        }
        if settings.split_chains {
            self.means = self.half_means().1;
            mapping = self.propose();
        }
        self.finish(sweeps, mapping, bias, radius)
    }

    /// `g` at the current parameters.
    fn objective(&self, track: Tracking, k: usize) -> Result<ObjectiveEstimate, Error> {
        let seed = track.ais.seed.wrapping_add(k as u64);
        let (log_partition, standard_error) =
            self.sampler.log_partition(&AisSettings { seed, ..track.ais })?;
        let linear: f64 = self.theta.iter().zip(&self.target).map(|(a, b)| a * b).sum();
        let value = log_partition - linear + self.regulariser.value(&self.theta);
        Ok(ObjectiveEstimate { value, standard_error })
    }

    /// Whether the mean mapping of the last window is within a share of that of the window before.
    fn is_level(&self, share: f64) -> bool {
        let n = self.trace.len();
        if n < 2 * NOISE_ROUNDS {
            return false;
        }
        let mean = |range: Range<usize>| -> f64 {
            self.trace[range].iter().map(|record| record.mapping).sum::<f64>() / NOISE_ROUNDS as f64
        };
        let (before, now) =
            (mean(n - 2 * NOISE_ROUNDS..n - NOISE_ROUNDS), mean(n - NOISE_ROUNDS..n));
        (before - now).abs() < share * before
    }

    /// Accepts the step, and writes the record.
    fn finish(
        &mut self,
        sweeps: usize,
        mapping: f64,
        bias: f64,
        radius: Option<f64>,
    ) -> Result<(), Error> {
        let settings = self.settings;
        let k = self.trace.len();
        self.sampler.variances(&self.means, &mut self.variances);
        let q = self.sampler.chains();
        // With split chains the gradient is the mean over a half.
        let used = if settings.split_chains { q - q / 2 } else { q };
        let noise = (self.variances.iter().sum::<f64>() / used as f64).sqrt();
        if settings.noise_threshold {
            for c in 0..self.trial.len() {
                let least = 2.0 * self.step * (self.variances[c] / used as f64).sqrt();
                if self.theta[c] == 0.0 && self.trial[c].abs() < least {
                    self.trial[c] = 0.0;
                }
            }
        }
        let limit = settings.max_parameter;
        if self.trial.iter().any(|v| v.abs() > limit) {
            self.trial.iter_mut().for_each(|v| *v = v.clamp(-limit, limit));
            if !self.warnings.iter().any(|w| matches!(w, Warning::Clamped { .. })) {
                self.warnings.push(Warning::Clamped { iteration: k });
            }
        }
        std::mem::swap(&mut self.theta, &mut self.trial);
        self.sampler.set(&self.theta)?;
        self.average.add(&self.theta);
        let objective = match settings.track {
            Some(track) if k.is_multiple_of(track.every) => Some(self.objective(track, k)?),
            _ => None,
        };
        let certified = bias < 0.5 * mapping;
        let (step, edges) = (self.step, self.sampler.edges(&self.theta));
        let bias_bound = bias;
        let record = SpgRecord {
            sweeps,
            chains: q,
            step,
            mapping,
            bias_bound,
            noise,
            radius,
            certified,
            edges,
            objective,
        };
        self.trace.push(record);
        self.sweeps += sweeps as u64;
        let floor = settings.noise_floor.is_some_and(|floor| mapping < floor * noise);
        self.at_noise = if floor { self.at_noise + 1 } else { 0 };
        if settings.plateau.is_some_and(|least| self.is_level(least)) {
            self.at_noise = NOISE_ROUNDS;
        }
        let grow = match settings.adaptive {
            AdaptiveChains::Off => false,
            AdaptiveChains::Noise { ratio, most } => noise > 0.5 * ratio * mapping && 2 * q <= most,
            AdaptiveChains::Bernstein { most } => {
                let error = self.sampler.sampling_error(&self.variances, DOUBT);
                error > 0.5 * mapping && 2 * q <= most
            }
        };
        if grow {
            self.sampler.double(k as u64)?;
            self.at_noise = 0;
        }
        Ok(())
    }
}

/// Sweeps of an iteration.
enum Plan {
    Exactly(usize),
    Until { most: usize, doubt: Option<f64> },
}

impl<S: Sampler, R: Regulariser> Iterative for SpgMethod<'_, S, R> {
    fn advance(&mut self, passes: f64) -> f64 {
        let mut done = 0.0;
        while done < passes && self.verdict().is_none() {
            if let Err(error) = self.iterate() {
                self.failure = Some(error);
            }
            done += 1.0;
        }
        done.max(1.0)
    }

    fn certify(&mut self) -> Certificate {
        let Some(last) = self.trace.last().copied() else {
            return Certificate::Uncertified { objective: None };
        };
        let (theta, target) = (&self.theta, &self.target);
        certificate(&self.sampler, theta, target, &self.regulariser, self.settings.bound, &last)
    }

    /// Sweeps of all chains.
    fn oracle_calls(&self) -> u64 {
        self.sweeps
    }

    fn certificate_cost(&self) -> CertificateCost {
        CertificateCost::Estimated(self.trace.last().map_or(f64::INFINITY, |last| last.mapping))
    }

    fn verdict(&self) -> Option<Status> {
        (self.at_noise >= NOISE_ROUNDS || self.failure.is_some()).then_some(Status::NoiseFloor)
    }
}
