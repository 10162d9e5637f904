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
use crate::{Axis, Context, Experiment, Failure, Judged, Outcome, Sample, Source};

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
    "When the intervention is on the cause, the causal model is much closer from its optimum: in Fig. 4.5a the blue cluster [of the causal model] is on the left \
     of the scatter plots. This is well correlated with faster adaptation (Fig. 4.5b).",
);
const EFFECT: Source = thesis(
    "4.5.4",
    "when the intervention is on the effect, the anticausal model starts closer from its optimum and it converges faster",
);
const BETWEEN: &str = "mean KL after 100 samples in this order, with the joint model between, as section 4.5.4 expects; the KL of each has fallen";
const SMALLEST: &str =
    "smallest mean KL after 100 samples; the KL of each model is below its start";
const BANDS: &str = "mean KL after 100 samples: that of each model lies within the 5 % and 95 % quantiles of each other model, with most of the \
                     seeds; the KL of each has fallen";

const BASE: Experiment = Experiment::of(super::DOCUMENT);

pub(super) const DENSE_CAUSE: Experiment = Experiment {
    id: "ca-ex1",
    title: "Figure 4.5a, b: dense prior, intervention on the cause",
    question: "After an intervention on the cause X, does the causal model P(X) P(Y | X) learn the new distribution faster than the anticausal model P(Y) P(X | Y) and the joint model?",
    learnt: "It does. The nearer the parameters of a model are to the new ones at the start, the faster it adapts.",
    run: dense_cause,
    ..BASE
};
pub(super) const DENSE_EFFECT: Experiment = Experiment {
    id: "ca-ex2",
    title: "Figure 4.5d, e: dense prior, intervention on the effect",
    question: "After an intervention on the effect Y, which of the causal model, the anticausal model and the joint model learns the new distribution fastest?",
    learnt: "The anticausal model P(Y) P(X | Y) does. The fastest model is not always the causal one.",
    run: dense_effect,
    ..BASE
};
pub(super) const SPARSE_CAUSE: Experiment = Experiment {
    id: "ca-ex3",
    title: "Figures 4.5c and 4.9: sparse prior, intervention on the cause",
    question: "After an intervention on the cause, does the causal model P(X) P(Y | X) also adapt faster than the anticausal model P(Y) P(X | Y) and the joint model (one parameter for each pair of states) when the distributions are sparse?",
    learnt: "It does: its KL after 100 samples is the smallest of the three.",
    run: sparse_cause,
    ..BASE
};
pub(super) const SPARSE_EFFECT: Experiment = Experiment {
    id: "ca-ex4",
    title: "Figures 4.5f and 4.9: sparse prior, intervention on the effect",
    question: "After an intervention on the effect, which of the causal model, the anticausal model and the joint model adapts fastest when the distributions are sparse?",
    learnt: "None does. The Kullback-Leibler divergence of all three is many times that under the dense prior.",
    run: sparse_effect,
    ..BASE
};
pub(super) const DENSE_POOLED: Experiment = Experiment {
    id: "ca-ex5",
    title: "Figure 4.8, column 3: dense prior, mean over both kinds of interventions",
    question: "Which of the causal model, the anticausal model and the joint model adapts fastest on average over interventions on the cause and on the effect (dense prior)?",
    learnt: "The causal model does. Its lead after interventions on the cause (ca-ex1) outweighs its lag after those on the effect (ca-ex2).",
    run: dense_pooled,
    ..BASE
};
pub(super) const SPARSE_POOLED: Experiment = Experiment {
    id: "ca-ex6",
    title: "Figure 4.9, column 3: sparse prior, mean over both kinds of interventions",
    question: "Which of the causal model, the anticausal model and the joint model adapts fastest on average over interventions on the cause and on the effect when the distributions are sparse?",
    learnt: "None can be told apart from the others: the bands of their curves overlap.",
    run: sparse_pooled,
    ..BASE
};
pub(super) const SINGLE: Experiment = Experiment {
    id: "ca-ex7",
    title: "Figure 4.10: intervention on a single mechanism",
    question: "Which of the causal model, the anticausal model and the joint model adapts fastest when one mechanism P(Y | X = x), for one x alone, is drawn anew?",
    learnt: "With the dense prior the joint model does. With the sparse prior the causal model adapts faster than the anticausal one, and the joint model is ahead of both after 100 samples, and behind the causal one in the end.",
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
    outcome
        .setting("states", format!("{K} of X, the cause, and {K} of Y, the effect"))
        .setting(if prior.rows < 1.0 { "sparse prior" } else { "dense prior" }, format!("P(X) is uniform on the simplex; each P(Y | X = x) is drawn from a Dirichlet law with concentrations {}", prior.rows))
        .setting("steps to choose from", "0.03, 0.1, 0.3, 1, 3, 9 and 30")
        .setting("interventions", "a new P(X) (on the cause), a new P(Y) that no longer depends on X (on the effect), or a new P(Y | X = x) for the most probable x alone (on one mechanism), each drawn uniformly from the simplex")
        .setting("a run", if targets.len() > 1 { "one reference; its KL is the mean over 5 interventions on the cause and 5 on the effect" } else { "one reference and one intervention on it" });
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
    let one = |(name, momentum): (&str, Momentum)| {
        let found = runs(context, &dense(), &[target], (10, 1), momentum)?.in_order(&order)?;
        Ok(found.named(name))
    };
    let methods = [("heavy ball", Momentum::HeavyBall(0.9)), ("Nesterov", Momentum::Nesterov(0.9))];
    let judged = Judged::all(methods.map(one))?;
    outcome.claim(
        thesis("4.4", "our theoretical analysis [by which the distance at the start decides which model adapts faster] holds for a larger class of algorithms than ASGD")
            .claim(format!(
                "the {} model also adapts faster than the {} model with heavy-ball momentum, and with that of Nesterov (momentum 0.9, steps chosen from the same list)",
                MODELS[order[0]], MODELS[order[1]]
            ))
            .rests_on(&MODELS[..2])
            .at_size("10 runs with each seed, of the dense prior; the thesis has none with momentum")
            .document("smaller mean KL after 100 samples; the KL of each has fallen")
            .holds(judged),
    );
    Ok(())
}

fn dense_cause(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let runs = adapt(context, outcome, "Dense prior, cause changed", &dense(), &[Target::Cause])?;
    let mut spread = 0.0_f64;
    for model in [ANTICAUSAL, JOINT] {
        for (a, b) in runs.start(CAUSAL)?.values().iter().zip(runs.start(model)?.values()) {
            spread = spread.max((a - b).abs());
        }
    }
    outcome.claim(
        thesis("Figure 4.5", "Remark how all models start from the same initial KL")
            .claim("the three models start from the same Kullback-Leibler divergence (KL)")
            .document("equal, to 1e-9")
            .exact((format!("largest difference {}", short(spread)), spread <= 1e-9)),
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
            .claim("the squared distance of the parameters at the start and the KL after 100 samples are correlated")
            .rests_on(MODELS)
            .document("positive rank correlation over 300 points with each seed, one for each run and model; the KL of each has fallen")
            .holds(runs.correlated()?),
    );
    with_momentum(context, outcome, Target::Cause, [CAUSAL, ANTICAUSAL])
}

fn dense_effect(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let runs = adapt(context, outcome, "Dense prior, effect changed", &dense(), &[Target::Effect])?;
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
            .claim("the parameters of the anticausal model are closer to the new ones than those of the causal model")
            .document("in most runs of all seeds (the project's reading of \"closer\")")
            .exact((format!("in {closer} of {} runs", pairs.len()), 2 * closer > pairs.len())),
    );
    with_momentum(context, outcome, Target::Effect, [ANTICAUSAL, CAUSAL])
}

fn sparse_cause(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let runs = adapt(context, outcome, "Sparse prior, cause changed", &sparse(), &[Target::Cause])?;
    outcome.claim(
        thesis(
            "Figure 4.9",
            "[After an intervention on the cause] The causal model starts closer from optimum and adapts slightly faster than others.",
        )
        .claim("the causal model adapts fastest (that it starts closer is shown in the second figure, and not judged)")
        .rests_on(MODELS)
        .document(SMALLEST)
        .holds(runs.in_order(&[CAUSAL, ANTICAUSAL])?.and(runs.in_order(&[CAUSAL, JOINT])?)),
    );
    Ok(())
}

fn sparse_effect(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let runs =
        adapt(context, outcome, "Sparse prior, effect changed", &sparse(), &[Target::Effect])?;
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
        .document("mean KL after 100 samples: of each model smaller under the dense prior than under the sparse one (shown: dense against sparse)")
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
        thesis("Figure 4.9", "[After an intervention on the effect] All models have the same initial distance and the same objective value.")
            .claim("the parameters of the three models are equally far from the new ones at the start")
            .document("squared distance: the median of each model lies within the 5 % and 95 % quantiles of each other model (shown for causal, anticausal, joint: median [5 %, 95 %] of the runs of all seeds)")
            .exact((shown.collect::<Vec<_>>().join(", "), same)),
    );
    Ok(())
}

fn dense_pooled(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let runs = adapt(context, outcome, "Dense prior, both interventions", &dense(), &BOTH)?;
    outcome.claim(
        thesis("4.B.4", "on average the causal model adapts the fastest")
            .claim("over as many interventions on the cause as on the effect the causal model adapts fastest")
            .rests_on(MODELS)
            .document(SMALLEST)
            .holds(runs.in_order(&[CAUSAL, ANTICAUSAL])?.and(runs.in_order(&[CAUSAL, JOINT])?)),
    );
    Ok(())
}

fn sparse_pooled(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let runs = adapt(context, outcome, "Sparse prior, both interventions", &sparse(), &BOTH)?;
    outcome.claim(
        thesis("Figure 4.9", "The effect dominates this average [of 5 effect and 5 cause interventions] because it [its KL] is much larger. As a result there is no signal.")
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
        thesis(
            "Figure 4.10",
            "[Dense prior.] The only model to be slightly advantaged is the joint model.",
        )
        .claim("dense prior: the joint model adapts fastest")
        .rests_on(MODELS)
        .document("smallest mean KL after 100 samples; the KL of each model is below its start")
        .holds(runs.in_order(&[JOINT, CAUSAL])?.and(runs.in_order(&[JOINT, ANTICAUSAL])?)),
    );
    let left = (0..3).map(|m| Ok(short(runs.kl(m)?.median() / runs.start(m)?.median())));
    let left = left.collect::<Result<Vec<_>, Failure>>()?.join(", ");
    outcome.claim(
        thesis("Figure 4.10", "The KL barely decreases.")
            .claim("dense prior: the KL barely decreases in 100 samples")
            .reported(
                "mean KL after 100 samples over that at the start, of the causal, the anticausal and the joint model; \"barely\" has no number",
                left,
            ),
    );
    let runs = adapt(context, outcome, "Sparse prior, one mechanism", &sparse(), target)?;
    let slight = thesis(
        "Figure 4.10",
        "[Sparse prior.] This time there is a slight advantage for the causal model which performs comparably to the joint model.",
    );
    outcome.claim(
        slight
            .claim("sparse prior: the causal model adapts faster than the anticausal one")
            .rests_on(&MODELS[..2])
            .document("smaller mean KL after 100 samples; the KL of each model is below its start")
            .holds(runs.in_order(&[CAUSAL, ANTICAUSAL])?),
    );
    let (causal, joint) = (runs.kl(CAUSAL)?, runs.kl(JOINT)?);
    let pairs = causal.values().iter().zip(joint.values());
    let less = Sample::over_seeds(pairs.map(|(causal, joint)| causal - joint).collect())?;
    outcome.claim(
        slight.claim("sparse prior: the causal model performs comparably to the joint one").reported(
            "mean KL after 100 samples, and the difference with each seed; \"comparably\" has no number",
            format!("causal {causal}, joint {joint}; causal less joint {less}"),
        ),
    );
    Ok(())
}
