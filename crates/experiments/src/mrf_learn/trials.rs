//! This module runs several methods on random networks, with one network per trial. It compares their results with the
//! exact maximum likelihood and with the pseudo-likelihood.

use std::ops::ControlFlow;

use fenchel_mrf_learn::layout::{packed_length, pair_index};
use fenchel_mrf_learn::spg::spg_network;
use fenchel_mrf_learn::{
    ChainStart, Coordinates, EdgeWeight, ExactMle, Layout, Penalty, PseudoLikelihood, Schedule,
    Spg, metrics, synthetic,
};
use fenchel_optim::{Progress, Regulariser, StepSize};

use super::paper;
use crate::{Claim, Context, Failure, Sample, Source};

pub(super) const LESS_TIME: Source =
    paper("7.1", "Using much less time, TAY achieves a similar AUC to SPG with τ=30 and τ=60.");
pub(super) const LOWEST: Source = paper(
    "7.1",
    "SPG with τ=1 reaches the lowest AUC, since the quality of the gradient approximation cannot be guaranteed with \
     such a small τ.",
);
pub(super) const PSEUDO: Source =
    paper("B.2", "Note that the two methods achieve a comparable performance");

pub(super) const EXACT: &str = "exact likelihood";
pub(super) const PSEUDO_LIKELIHOOD: &str = "pseudo-likelihood";

/// The step size of every method.
pub(super) const STEP: f64 = 0.4;

/// A method: its name, its schedule of sweeps, and the start of its chains.
pub(super) type Method = (&'static str, Schedule, ChainStart);

/// The networks, the penalty and the methods.
pub(super) struct Trials<'a> {
    pub(super) nodes: usize,
    /// The number of rows. They are exact samples of the network.
    pub(super) rows: usize,
    /// The range of the absolute values of the nonzero parameters.
    pub(super) range: (f64, f64),
    pub(super) lambda: f64,
    pub(super) count: u64,
    /// Chains, noise floor and stopping rule of all methods.
    pub(super) settings: Spg,
    pub(super) methods: &'a [Method],
}

/// The results of one method in one trial.
pub(super) struct Reached {
    pub(super) auc: f64,
    /// `g - g*`
    pub(super) gap: f64,
    /// The number of sweeps in each iteration.
    pub(super) sweeps: Vec<usize>,
    /// The AUC at each observation.
    pub(super) curve: Vec<(f64, f64)>,
}

impl Reached {
    pub(super) fn total(&self) -> f64 {
        self.sweeps.iter().sum::<usize>() as f64
    }
}

/// The results of all methods in all trials.
pub(super) struct Panel {
    pub(super) methods: Vec<Vec<Reached>>,
    /// AUC of the exact estimate, and of the pseudo-likelihood with the same penalty and with twice that on edges.
    pub(super) exact: Vec<f64>,
    pub(super) same: Vec<f64>,
    pub(super) doubled: Vec<f64>,
}

impl Panel {
    pub(super) fn of(&self, method: usize, value: impl Fn(&Reached) -> f64) -> Vec<f64> {
        self.methods[method].iter().map(value).collect()
    }

    pub(super) fn mean(&self, method: usize, value: impl Fn(&Reached) -> f64) -> f64 {
        mean(&self.of(method, value))
    }

    pub(super) fn auc(&self, method: usize) -> f64 {
        self.mean(method, |r| r.auc)
    }

    pub(super) fn gap(&self, method: usize) -> f64 {
        self.mean(method, |r| r.gap)
    }

    pub(super) fn sweeps(&self, method: usize) -> f64 {
        self.mean(method, Reached::total)
    }

    /// One sweep from fresh coins, by its place among the methods, against TAY, the first of them.
    pub(super) fn biased(&self, title: &str, fresh: usize) -> Result<Claim, Failure> {
        let of_tay = Sample::over_seeds(self.of(0, |r| r.gap))?;
        let of_fresh = Sample::over_seeds(self.of(fresh, |r| r.gap))?;
        Ok(LOWEST
            .claim(format!("{title}: one sweep from fresh coins is biased"))
            .rests_on(["TAY"])
            .specification("in every trial a gap of at least 5 times TAY's")
            .holds(of_tay.ahead_by(5.0, &of_fresh)))
    }
}

pub(super) fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

impl Trials<'_> {
    /// Runs every method in every trial; `tick` takes the fraction done.
    pub(super) fn run(
        &self,
        context: &Context,
        tick: &dyn Fn(f64, &str),
    ) -> Result<Panel, Failure> {
        let p = self.nodes;
        let penalty = Penalty::l1(self.lambda);
        let strengths = penalty.strengths(&Layout::two_states(p, Coordinates::Binary)?)?;
        let mut panel = Panel {
            methods: self.methods.iter().map(|_| Vec::new()).collect(),
            exact: vec![],
            same: vec![],
            doubled: vec![],
        };
        for trial in 0..self.count {
            let seed = context.seed + trial;
            let truth = synthetic::random_network(p, 0.3, self.range, seed)?;
            let data = synthetic::exact_draws(&truth, self.rows, seed)?;
            let auc = |scores: &[f64]| -> Result<f64, Failure> {
                Ok(metrics::edge_auc(&truth, scores)?.unwrap_or(0.5))
            };
            let default = ExactMle::default();
            let stop = context.stop(EXACT, default.stop);
            let exact = ExactMle { penalty: penalty.clone(), stop, ..default }.fit(&data)?;
            let optimum = exact.report.certificate.objective().unwrap_or(f64::NAN);
            panel.exact.push(auc(&exact.scores())?);
            let weights = [EdgeWeight::One, EdgeWeight::Two];
            for (edge_weight, out) in weights.into_iter().zip([&mut panel.same, &mut panel.doubled])
            {
                let default = PseudoLikelihood::default();
                let stop = context.stop(PSEUDO_LIKELIHOOD, default.stop);
                let penalty = penalty.clone();
                let method = PseudoLikelihood { penalty, edge_weight, stop, ..default };
                out.push(auc(&method.fit(&data)?.scores())?);
            }
            for (k, &(name, schedule, start)) in self.methods.iter().enumerate() {
                context.check()?;
                let share = k as f64 / self.methods.len() as f64;
                tick((trial as f64 + share) / self.count as f64, &format!("trial {trial}: {name}"));
                let spg = Spg {
                    penalty: penalty.clone(),
                    schedule,
                    start,
                    step: StepSize::Constant(STEP),
                    stop: context.stop(name, self.settings.stop),
                    seed,
                    ..self.settings.clone()
                };
                let mut curve = vec![];
                let mut observer = |progress: &Progress, theta: &[f64]| {
                    debug_assert_eq!(theta.len(), packed_length(p));
                    let pairs = (0..p).flat_map(|i| (i + 1..p).map(move |j| (i, j)));
                    let scores: Vec<f64> =
                        pairs.map(|(i, j)| theta[pair_index(i, j, p)].abs()).collect();
                    if let Ok(Some(auc)) = metrics::edge_auc(&truth, &scores) {
                        curve.push((progress.passes, auc));
                    }
                    ControlFlow::Continue(())
                };
                let model = spg_network(&data, &spg, None, &mut observer)?;
                let h = strengths.value(&model.theta);
                panel.methods[k].push(Reached {
                    auc: auc(&model.scores())?,
                    gap: h - model.log_likelihood(&data)? - optimum,
                    sweeps: model.trace.iter().map(|record| record.sweeps).collect(),
                    curve,
                });
            }
        }
        Ok(panel)
    }
}
