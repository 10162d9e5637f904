//! This module repeats figures 4.5, 4.8, 4.9 and 4.10 of R. Le Priol, PhD thesis 2021. Models of categorical variables
//! start at a reference distribution, and averaged stochastic gradient descent adapts them to a transfer distribution.

use fenchel_causal::categorical::CategoricalPair;
use fenchel_causal::prior::{CategoricalPrior, Target};
use fenchel_linalg::text::short;
use fenchel_optim::random::stream;

use super::methods::adapt::{CategoricalTask, Momentum, SweepSettings, sweep};
use super::runs::Runs;
use super::thesis;
use crate::numbers::sorted;
use crate::{Axis, Context, Experiment, Failure, Ground, Judged, Outcome, Source};

const K: usize = 20;
/// References, or pairs of a reference and an intervention, of a figure; and of pooled interventions.
const PAIRS: usize = 100;
const POOLED: usize = 20;

const MODELS: [&str; 3] = ["causal", "anticausal", "joint"];
const CAUSAL: usize = 0;
const ANTICAUSAL: usize = 1;
const JOINT: usize = 2;

const CAUSE: Source = thesis(
    "4.5.4",
    "When the intervention is on the cause, the causal model is much closer from its optimum: in Fig. 4.5a the blue cluster is on the left \
     of the scatter plots. This is well correlated with faster adaptation (Fig. 4.5b).",
);
const EFFECT: Source = thesis(
    "4.5.4",
    "when the intervention is on the effect, the anticausal model starts closer from its optimum and it converges faster",
);
const BETWEEN: &str = "mean KL at 100 samples in this order, with the joint model between, as section 4.5.4 expects; each fell";
const SMALLEST: &str = "mean KL at 100 samples: the causal model's is the smallest; each fell";
const BANDS: &str = "mean KL at 100 samples: each model's mean lies in the plotted band, 5 % to 95 % of the runs, of each other one, with most of \
                     the seeds; each fell";

const BASE: Experiment = Experiment::of(super::DOCUMENT);

pub(super) const DENSE_CAUSE: Experiment = Experiment {
    id: "ca-ex1",
    title: "Figure 4.5a, b: dense prior, intervention on the cause",
    question: "After an intervention on the cause, does the causal model adapt faster?",
    learnt: "Yes, and the distance at the start says how fast.",
    run: dense_cause,
    ..BASE
};
pub(super) const DENSE_EFFECT: Experiment = Experiment {
    id: "ca-ex2",
    title: "Figure 4.5d, e: dense prior, intervention on the effect",
    question: "And after an intervention on the effect?",
    learnt: "Then the anticausal model is faster: the quicker model is not always the causal one.",
    run: dense_effect,
    ..BASE
};
pub(super) const SPARSE_CAUSE: Experiment = Experiment {
    id: "ca-ex3",
    title: "Figure 4.5c: sparse prior, intervention on the cause",
    question: "Is it the same when distributions are sparse?",
    learnt: "After an intervention on the cause the causal model has a slight lead.",
    run: sparse_cause,
    ..BASE
};
pub(super) const SPARSE_EFFECT: Experiment = Experiment {
    id: "ca-ex4",
    title: "Figure 4.5f: sparse prior, intervention on the effect",
    question: "And for an intervention on the effect, with sparse distributions?",
    learnt: "No model has a lead: the divergence explodes for all of them.",
    run: sparse_effect,
    ..BASE
};
pub(super) const DENSE_POOLED: Experiment = Experiment {
    id: "ca-ex5",
    title: "Figure 4.8, column 3: dense prior, pooled",
    question: "Which model is faster when interventions of both kinds are mixed?",
    learnt: "The causal one, by the interventions on the cause.",
    run: dense_pooled,
    ..BASE
};
pub(super) const SPARSE_POOLED: Experiment = Experiment {
    id: "ca-ex6",
    title: "Figure 4.9, column 3: sparse prior, pooled",
    question: "And with sparse distributions?",
    learnt: "The models cannot be told apart: their bands lie on each other.",
    run: sparse_pooled,
    ..BASE
};
pub(super) const SINGLE: Experiment = Experiment {
    id: "ca-ex7",
    title: "Figure 4.10: intervention on a single mechanism",
    question: "What if one mechanism alone is redrawn?",
    learnt: "The causal model has a slight advantage and performs like the joint one.",
    run: single,
    ..BASE
};

fn dense() -> CategoricalPrior {
    CategoricalPrior::dense(K)
}

fn sparse() -> CategoricalPrior {
    CategoricalPrior::sparse(K)
}

/// One pair for each of `references` and `targets` in turn; the curves of `pool` consecutive pairs are averaged.
fn runs(
    context: &Context,
    prior: &CategoricalPrior,
    targets: &[Target],
    (references, pool): (usize, usize),
    momentum: Momentum,
) -> Result<Runs, Failure> {
    let data = format!("{prior:?} {targets:?} {references} {pool} {momentum:?}");
    Runs::new(context, &data, |seed| {
        let pair = |k: usize| -> Result<CategoricalTask, Failure> {
            let mut rng = stream(seed, (1_000_000 + k / pool) as u64);
            let reference: CategoricalPair = prior.sample(&mut rng)?;
            let mut rng = stream(seed, 2_000_000 + k as u64);
            let target = targets[k % targets.len()];
            let change = prior.sample_intervention(&reference, target, &mut rng)?;
            let transfer = reference.intervene(&change)?;
            Ok(CategoricalTask::new(&reference, &transfer)?.momentum(momentum))
        };
        let tasks = (0..references * pool).map(pair).collect::<Result<Vec<_>, Failure>>()?;
        Ok(sweep(&tasks, &SweepSettings { seed, pool, ..SweepSettings::default() })?)
    })
}

/// Curves of single pairs, drawn; with two targets, curves that average five interventions on each of one reference.
fn adapt(
    context: &Context,
    outcome: &mut Outcome,
    name: &str,
    prior: &CategoricalPrior,
    targets: &[Target],
) -> Result<Runs, Failure> {
    let size = if targets.len() > 1 { (POOLED, 10) } else { (PAIRS, 1) };
    let found = runs(context, prior, targets, size, Momentum::Off)?;
    found.show(outcome, name, |label| Axis::linear(label));
    Ok(found)
}

/// Interventions on the cause and on the effect in turn.
const BOTH: [Target; 2] = [Target::Cause, Target::Effect];

/// The order of the two directed models with momentum, of fewer pairs: every step moves every row.
fn with_momentum(
    context: &Context,
    outcome: &mut Outcome,
    target: Target,
    order: [usize; 2],
) -> Result<(), Failure> {
    let one = |momentum: Momentum| {
        let found = runs(context, &dense(), &[target], (10, 1), momentum)?.in_order(&order)?;
        Ok(found.named(format!("{momentum:?}")))
    };
    let judged = Judged::all([Momentum::HeavyBall(0.9), Momentum::Nesterov(0.9)].map(one))?;
    outcome.claim(
        thesis("4.4", "our theoretical analysis holds for a larger class of algorithms than ASGD")
            .claim(format!(
                "the {} model is ahead with heavy-ball momentum and with that of Nesterov too",
                MODELS[order[0]]
            ))
            .rests_on(&MODELS[..2])
            .document("the same order at 100 samples; each fell")
            .holds(judged),
    );
    Ok(())
}

fn dense_cause(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let runs = adapt(context, outcome, "Dense prior, cause", &dense(), &[Target::Cause])?;
    let mut spread = 0.0_f64;
    for model in [ANTICAUSAL, JOINT] {
        for (a, b) in runs.start(CAUSAL)?.values().iter().zip(runs.start(model)?.values()) {
            spread = spread.max((a - b).abs());
        }
    }
    outcome.claim(
        thesis("Figure 4.5", "Remark how all models start from the same initial KL")
            .claim("the three models start from the same KL")
            .on(Ground::Exact)
            .document("equal, to 1e-9")
            .holds((spread, spread <= 1e-9)),
    );
    outcome.claim(
        CAUSE
            .claim("the causal model adapts fastest, the anticausal one slowest")
            .rests_on(MODELS)
            .document(BETWEEN)
            .holds(runs.in_order(&[CAUSAL, JOINT, ANTICAUSAL])?),
    );
    outcome.claim(
        CAUSE
            .claim("the distance at the start and the KL after 100 samples are correlated")
            .rests_on(MODELS)
            .document("a positive rank correlation, models pooled; each fell")
            .holds(runs.correlated()?),
    );
    with_momentum(context, outcome, Target::Cause, [CAUSAL, ANTICAUSAL])?;
    Ok(())
}

fn dense_effect(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let runs = adapt(context, outcome, "Dense prior, effect", &dense(), &[Target::Effect])?;
    outcome.claim(
        EFFECT
            .claim("the anticausal model adapts fastest, the causal one slowest")
            .rests_on(MODELS)
            .document(BETWEEN)
            .holds(runs.in_order(&[ANTICAUSAL, JOINT, CAUSAL])?),
    );
    let pairs = runs.model(CAUSAL).zip(runs.model(ANTICAUSAL));
    let pairs: Vec<_> = pairs.flat_map(|(c, a)| c.curves.iter().zip(&a.curves)).collect();
    let closer = pairs.iter().filter(|(c, a)| a.distance_sq < c.distance_sq).count();
    outcome.claim(
        EFFECT
            .claim("the anticausal parameters are closer to their optimum")
            .on(Ground::Exact)
            .document("on most pairs")
            .holds((format!("{closer} of {}", pairs.len()), 2 * closer > pairs.len())),
    );
    with_momentum(context, outcome, Target::Effect, [ANTICAUSAL, CAUSAL])?;
    Ok(())
}

fn sparse_cause(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let runs = adapt(context, outcome, "Sparse prior, cause", &sparse(), &[Target::Cause])?;
    outcome.claim(
        thesis(
            "Figure 4.9",
            "The causal model starts closer from optimum and adapts slightly faster than others.",
        )
        .claim("the causal model adapts fastest")
        .rests_on(MODELS)
        .document(SMALLEST)
        .holds(runs.in_order(&[CAUSAL, ANTICAUSAL])?.and(runs.in_order(&[CAUSAL, JOINT])?)),
    );
    Ok(())
}

fn sparse_effect(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let runs = adapt(context, outcome, "Sparse prior, effect", &sparse(), &[Target::Effect])?;
    let sentence =
        thesis("4.5.4", "When the intervention is on the effect, no model has a set advantage");
    outcome.claim(
        sentence
            .claim("no model has an advantage")
            .rests_on(MODELS)
            .document(BANDS)
            .holds(runs.overlap()?),
    );
    let of_dense = self::runs(context, &dense(), &[Target::Effect], (PAIRS, 1), Momentum::Off)?;
    let mut judged = of_dense.fell()?;
    for (model, name) in MODELS.into_iter().enumerate() {
        judged = of_dense.kl(model)?.below(&runs.kl(model)?).named(name).and(judged);
    }
    outcome.claim(
        thesis(
            "4.5.4",
            "the sparsity induces much higher KL values, as explained in Appendix 4.C.3",
        )
        .claim("the KL is higher than under the dense prior")
        .rests_on(MODELS)
        .document("mean KL at 100 samples: dense prior against sparse one, for each model")
        .holds(judged),
    );
    let ranges = (0..3).map(|model| {
        let all = runs.model(model).flat_map(|m| &m.curves).map(|c| c.distance_sq);
        let all = sorted(all);
        [0.05, 0.5, 0.95].map(|share| all[(share * all.len() as f64) as usize])
    });
    let ranges: Vec<[f64; 3]> = ranges.collect();
    let same = ranges.iter().all(|a| ranges.iter().all(|b| (b[0]..=b[2]).contains(&a[1])));
    let shown =
        ranges.iter().map(|r| r.map(short)).map(|r| format!("{} [{}, {}]", r[1], r[0], r[2]));
    outcome.claim(
        thesis("Figure 4.9", "All models have the same initial distance and the same objective value.")
            .claim("the three models start equally far")
            .on(Ground::Exact)
            .document("squared distances: each median lies in the plotted range, 5 % to 95 % of the pairs, of each other one")
            .holds((shown.collect::<Vec<_>>().join(", "), same)),
    );
    Ok(())
}

fn dense_pooled(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let runs = adapt(context, outcome, "Dense prior, pooled", &dense(), &BOTH)?;
    outcome.claim(
        thesis("4.B.4", "on average the causal model adapts the fastest")
            .claim("over a balanced mix of interventions the causal model adapts fastest")
            .rests_on(MODELS)
            .document(SMALLEST)
            .holds(runs.in_order(&[CAUSAL, ANTICAUSAL])?.and(runs.in_order(&[CAUSAL, JOINT])?)),
    );
    Ok(())
}

fn sparse_pooled(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let runs = adapt(context, outcome, "Sparse prior, pooled", &sparse(), &BOTH)?;
    outcome.claim(
        thesis("Figure 4.9", "As a result there is no signal.")
            .claim("the models cannot be told apart")
            .rests_on(MODELS)
            .document(BANDS)
            .holds(runs.overlap()?),
    );
    Ok(())
}

fn single(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let target = &[Target::SingleMechanism];
    let runs = adapt(context, outcome, "Dense prior, one mechanism", &dense(), target)?;
    outcome.claim(
        thesis("Figure 4.10", "The only model to be slightly advantaged is the joint model.")
            .claim("dense prior: the joint model is best")
            .rests_on(MODELS)
            .document("mean KL at 100 samples: the joint model's is the smallest; each fell")
            .holds(runs.in_order(&[JOINT, CAUSAL])?.and(runs.in_order(&[JOINT, ANTICAUSAL])?)),
    );
    let left = (0..3).map(|m| Ok(short(runs.kl(m)?.median() / runs.start(m)?.median())));
    let left = left.collect::<Result<Vec<_>, Failure>>()?.join(", ");
    outcome.claim(
        thesis("Figure 4.10", "The KL barely decreases.")
            .claim("dense prior: what is left of the KL after 100 samples")
            .reported(
                "share of the start's, for the causal, the anticausal and the joint model",
                left,
            ),
    );
    let runs = adapt(context, outcome, "Sparse prior, one mechanism", &sparse(), target)?;
    outcome.claim(
        thesis(
            "Figure 4.10",
            "This time there is a slight advantage for the causal model which performs comparably to the joint model.",
        )
        .claim("sparse prior: the causal model beats the anticausal one and is like the joint one")
        .rests_on(MODELS)
        .document(format!("causal below anticausal; {BANDS}"))
        .holds(runs.in_order(&[CAUSAL, ANTICAUSAL])?.and(runs.overlap()?)),
    );
    Ok(())
}
