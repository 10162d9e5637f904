//! This module repeats figure 4.6 of R. Le Priol, PhD thesis 2021: adaptation of models of two normal vectors of
//! dimension 10.

use super::methods::adapt::{NormalTask, SweepSettings, sweep};
use fenchel_causal::normal::CholeskyPair;
use fenchel_causal::prior::{NormalPrior, Target};
use fenchel_optim::random::stream;

use super::runs::{AT, Runs};
use super::thesis;
use crate::number::short;
use crate::{Axis, Context, Experiment, Failure, Figure, Ground, Outcome, Series};

const K: usize = 10;
const MODELS: [&str; 2] = ["causal", "anticausal"];

pub(super) const CAUSE_DISTANCE: Experiment = Experiment {
    id: "ca-ex10",
    file: file!(),
    title: "Figure 4.6, row 1: distances after an intervention on the cause",
    question: "For normal variables, which model is closer after an intervention on the cause?",
    learnt: "The causal one, on every pair in natural parameters and on most in others.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    run: |context| distances(context, Target::Cause),
    ..super::OF_THESIS
};
pub(super) const EFFECT_DISTANCE: Experiment = Experiment {
    id: "ca-ex11",
    file: file!(),
    title: "Figure 4.6, row 2: distances after an intervention on the effect",
    question: "And after an intervention on the effect?",
    learnt: "The anticausal model is farther on most pairs, not on all.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    run: |context| distances(context, Target::Effect),
    ..super::OF_THESIS
};
pub(super) const ADAPTATION: Experiment = Experiment {
    id: "ca-ex12",
    file: file!(),
    title: "Figure 4.6, columns 3 and 4: stochastic proximal gradient",
    question: "Does the distance decide the speed for normal variables too?",
    learnt: "Hardly: both models adapt at nearly the same speed.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    run: adaptation,
    ..super::OF_THESIS
};

fn pairs(
    seed: u64,
    target: Target,
    count: usize,
) -> Result<Vec<(CholeskyPair, CholeskyPair)>, Failure> {
    let prior = NormalPrior::new(K);
    (0..count)
        .map(|k| {
            let mut rng = stream(seed, 3_000_000 + k as u64);
            let p = prior.sample(&mut rng)?;
            let q = p.intervene(&prior.sample_intervention(target, &mut rng)?)?;
            Ok((p, q))
        })
        .collect()
}

fn distances(context: &Context, target: Target) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let count = context.pick(200, 1000);
    let (mut natural, mut cholesky) = (Vec::new(), Vec::new());
    for (p, q) in pairs(context.seed, target, count)? {
        let (pr, qr) = (p.reverse(), q.reverse());
        cholesky.push((p.distance_sq(&q)?, pr.distance_sq(&qr)?));
        let causal = p.to_natural().distance_sq(&q.to_natural())?;
        natural.push((causal, pr.to_natural().distance_sq(&qr.to_natural())?));
    }
    let above = |points: &[(f64, f64)]| {
        points.iter().filter(|(c, a)| a > c).count() as f64 / points.len() as f64
    };
    let mean = |points: &[(f64, f64)]| {
        let n = points.len() as f64;
        let (c, a) = points.iter().fold((0.0, 0.0), |(c, a), p| (c + p.0 / n, a + p.1 / n));
        format!("{} against {}", short(c), short(a))
    };
    for (name, points) in [("natural", &natural), ("Cholesky", &cholesky)] {
        let share = above(points);
        let shown =
            format!("{:.1} %; means causal against anticausal: {}", 100.0 * share, mean(points));
        let claim = match (target, name) {
            (Target::Cause, "natural") => thesis("4.6.1", "the anticausal model is farther away from its optimum in the natural parametrization")
                .claim("natural parameters: the anticausal model is farther on every pair")
                .on(Ground::Exact)
                .document("all pairs")
                .holds((shown, share == 1.0)),
            (Target::Cause, _) => thesis("4.6.1", "the causal distance tends to be smaller than the anticausal distance")
                .claim("Cholesky parameters: the anticausal model is farther on most pairs")
                .on(Ground::Exact)
                .specification("more than 90 % of the pairs")
                .holds((shown, share > 0.9)),
            _ => thesis("4.6.1", "we observe empirically that there is no such hard guarantee")
                .claim(format!("{name} parameters: the anticausal model is farther on most pairs, not on all"))
                .on(Ground::Exact)
                .specification("more than 80 %, less than all")
                .holds((shown, share > 0.8 && share < 1.0)),
        };
        outcome.claim(claim);
        let low = points.iter().map(|p| p.0.min(p.1)).fold(f64::INFINITY, f64::min);
        let high = points.iter().map(|p| p.0.max(p.1)).fold(0.0, f64::max);
        outcome.figure(
            Figure::new(
                format!("{name} parameters: squared distances"),
                Axis::log("causal"),
                Axis::log("anticausal"),
            )
            .caption("One point a pair; dashed: the diagonal.")
            .with(Series::points("pairs", points.clone()))
            .with(Series::line("equal", vec![(low, low), (high, high)]).dashed()),
        );
    }
    Ok(outcome)
}

fn adaptation(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let count = context.pick(20, 100);
    for (name, target) in [("cause", Target::Cause), ("effect", Target::Effect)] {
        let runs = Runs::new(context, |seed| {
            let tasks: Vec<NormalTask> = pairs(seed, target, count)?
                .iter()
                .map(|(p, q)| NormalTask::new(p, q, false))
                .collect::<Result<_, _>>()?;
            let steps = vec![0.001, 0.003, 0.01, 0.03, 0.1];
            Ok(sweep(&tasks, &SweepSettings { steps, seed, ..SweepSettings::default() })?)
        })?;
        let (causal, anti) = (runs.kl(0)?, runs.kl(1)?);
        outcome.claim(if target == Target::Cause {
            thesis("4.6.2", "the causal model is advantaged by a slight margin")
                .claim("cause: the causal model is faster")
                .rests_on(MODELS)
                .document("mean KL after 100 samples: the causal model's is smaller; each fell to a half")
                .holds(causal.below(&anti).and(runs.moved(2.0)?))
        } else {
            thesis("4.6.2", "both models are learning at the same speed")
                .claim("effect: both models adapt at the same speed")
                .rests_on(MODELS)
                .document("mean KL after 100 samples: each mean lies in the plotted band, 5 % to 95 % of the pairs, of the other, with every seed; each fell to a half")
                .holds(runs.overlap()?.and((format!("{} and {}", short(causal.median()), short(anti.median())), true)).and(runs.moved(2.0)?))
        });
        let result = &runs.sweeps[0];
        outcome.claim(
            thesis("4.6", "Once again we observe a correlation between initial distance and optimization speed")
                .claim(format!("{name}: distance and KL after 100 samples are correlated"))
                .rests_on(MODELS)
                .specification("Spearman correlation above 0; each fell to a half")
                .holds(runs.correlated(0.0)?.and(runs.moved(2.0)?)),
        );
        let mut figure = Figure::new(
            format!("Intervention on the {name}: KL(p* || p) against samples"),
            Axis::linear("samples"),
            Axis::log("KL, nats"),
        );
        let mut scatter = Figure::new(
            format!(
                "Intervention on the {name}: KL after 100 samples against the squared distance at the start"
            ),
            Axis::log("squared distance of the parameters"),
            Axis::log("KL, nats"),
        );
        let at = result.times.iter().position(|&t| t == AT).unwrap_or(0);
        for model in &result.models {
            let line = |values: &[f64]| -> Vec<(f64, f64)> {
                result.times.iter().map(|&t| t as f64).zip(values.iter().copied()).collect()
            };
            figure = figure
                .with(Series::line(
                    format!("{}, step {}", model.model, short(model.step)),
                    line(&model.mean),
                ))
                .with(Series::line(format!("{}, 5 %", model.model), line(&model.low)).dashed())
                .with(Series::line(format!("{}, 95 %", model.model), line(&model.high)).dashed());
            let points = model.curves.iter().map(|c| (c.distance_sq, c.kl[at])).collect();
            scatter = scatter.with(Series::points(model.model.clone(), points));
        }
        outcome.figure(scatter);
        outcome.figure(figure);
    }
    Ok(outcome)
}
