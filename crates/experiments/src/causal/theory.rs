//! These experiments test formulas of R. Le Priol, PhD thesis 2021: the ball of proposition 4.5.2, table 4.1, the
//! direction learned from adaptation, a counter-example to theorem 4.D.2, and the data on kidney stones.

use super::methods::adapt::{Average, ProximalSgd, ProximalStep};
use super::methods::meta::MetaLearner;
use super::methods::theory::{
    effect_ball, expected_partition_variance, proximal_bound, radius_sq_thesis,
};
use fenchel_causal::categorical::{Anova, Intervention};
use fenchel_causal::direction::bayes_error;
use fenchel_causal::normal::CholeskyPair;
use fenchel_causal::prior::{CategoricalPrior, Target};
use fenchel_causal::{Admg, ProbabilityTable, identify};
use fenchel_optim::random::stream;
use ndarray::{Array1, Array2, array};
use rand::RngExt;

use super::thesis;
use crate::number::short;
use crate::{
    Axis, Cell, Context, Experiment, Failure, Figure, Ground, Outcome, Reason, Series, Source,
    Table,
};

pub(super) const RADIUS: Experiment = Experiment {
    id: "ca-ex8",
    file: file!(),
    title: "Figure 4.7b: radius and deviation",
    question: "How large is the ball in which an intervention leaves the causal model ahead?",
    learnt: "Tiny for dense distributions and as large as the deviation for sparse ones; the printed estimate of its radius has a wrong sign.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    run: radius,
    ..super::OF_THESIS
};
pub(super) const BAYES_ERROR: Experiment = Experiment {
    id: "ca-ex9",
    file: file!(),
    title: "Table 4.1: the Bayes error of the direction",
    question: "How often is the direction wrong that the prior itself makes most probable?",
    learnt: "As often as the table says, up to twelve states.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    run: table,
    ..super::OF_THESIS
};
pub(super) const META: Experiment = Experiment {
    id: "ca-ex13",
    file: file!(),
    title: "The direction learned from the speed of adaptation",
    question: "Can the direction be learned from the speed of adaptation?",
    learnt: "From interventions on the cause, yes; those on the effect teach the wrong direction.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    run: meta,
    ..super::OF_THESIS
};
pub(super) const COUNTER_EXAMPLE: Experiment = Experiment {
    id: "ca-ex14",
    file: file!(),
    title: "Theorem 4.D.2: a run that starts at the optimum",
    question: "Does the printed bound of stochastic gradients hold when a run starts at the optimum?",
    learnt: "No: the noise of single samples moves it away. With the missing term the bound holds.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    run: counter_example,
    ..super::OF_THESIS
};
pub(super) const KIDNEY_STONES: Experiment = Experiment {
    id: "ca-ex15",
    file: file!(),
    title: "Section 2.3.3: kidney stones",
    question: "Which treatment of kidney stones is better?",
    learnt: "B among those who were treated, A once the size of the stones is adjusted for.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    run: kidney_stones,
    ..super::OF_THESIS
};

const SIZES: Source = thesis(
    "4.B.3",
    "For dense prior radii are much smaller than deviations, whereas for the sparse prior they have similar magnitude.",
);
const ESTIMATE: Source =
    thesis("4.B.3", "Finally we get the following approximation for the squared radius");

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn radius(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let (k, draws) = (20, context.pick(300, 1000));
    for (name, prior) in
        [("dense", CategoricalPrior::dense(k)), ("sparse", CategoricalPrior::sparse(k))]
    {
        let (mut radius, mut deviation, mut inside) = (Vec::new(), Vec::new(), 0);
        for draw in 0..draws {
            let mut rng = stream(context.seed, 4_000_000 + draw as u64);
            let pair = prior.sample(&mut rng)?;
            let change = prior.sample_intervention(&pair, Target::Effect, &mut rng)?;
            let Intervention::Effect(scores) = change else { continue };
            let ball = effect_ball(&pair, scores.view())?;
            radius.push(ball.radius_sq);
            deviation.push(ball.deviation_sq);
            inside += usize::from(ball.delta < 0.0);
        }
        let mean = radius.iter().sum::<f64>() / radius.len() as f64;
        let quantiles = |values: &[f64]| -> Vec<(f64, f64)> {
            let mut v = values.to_vec();
            v.sort_by(f64::total_cmp);
            let n = v.len();
            v.into_iter().enumerate().map(|(i, x)| ((i as f64 + 0.5) / n as f64, x)).collect()
        };
        outcome.figure(
            Figure::new(
                format!("{name} prior: quantiles"),
                Axis::linear("quantile"),
                Axis::log("squared length"),
            )
            .with(Series::line("squared radius", quantiles(&radius)))
            .with(Series::line("squared deviation", quantiles(&deviation))),
        );
        let box_of = |values: &[f64]| {
            let v = quantiles(values);
            [0.05, 0.25, 0.75, 0.95].map(|q| v[(q * v.len() as f64) as usize].1)
        };
        let ([r_low, q1, q3, r_high], [d_low, .., d_high]) = (box_of(&radius), box_of(&deviation));
        let (r, d) = (median(radius), median(deviation));
        let shown = format!(
            "medians {} and {}, 5 to 95 %: {} to {} and {} to {}; {inside} of {draws} inside",
            short(r),
            short(d),
            short(r_low),
            short(r_high),
            short(d_low),
            short(d_high)
        );
        outcome.claim(if name == "dense" {
            SIZES.claim("dense prior: the radius is much smaller than the deviation, and the anticausal model is always favoured")
                .on(Ground::Exact)
                .document("the bands from 5 % to 95 % do not meet, no draw inside the ball")
                .holds((shown, r_high < d_low && inside == 0))
        } else {
            SIZES.claim("sparse prior: radius and deviation have a similar magnitude")
                .on(Ground::Exact)
                .document("the bands from 5 % to 95 % meet, and each holds the median of the other")
                .holds((shown, (d_low..d_high).contains(&r) && (r_low..r_high).contains(&d)))
        });
        let estimate = radius_sq_thesis(k, prior.rows);
        let exact = expected_partition_variance(k, prior.rows);
        let judged = ESTIMATE
            .claim(format!("{name} prior: the estimate, the line of figure 4.7b, lies in the box of the squared radii"))
            .on(Ground::Exact)
            .document("between the quartiles of the draws");
        let measured = format!(
            "{} against {} to {}, mean {}",
            short(estimate),
            short(q1),
            short(q3),
            short(mean)
        );
        outcome.claim(if name == "dense" {
            judged.known_failure(
                (measured, (q1..=q3).contains(&estimate)),
                Reason::checked(
                    "the log-partition and the mean score are not independent: their covariance turns the sign of one term. Exactly the \
                     leading part of the mean is (K - 1) (psi'(l)/K - psi'(K l)), below the mean of the draws",
                    exact,
                    exact < mean && mean < estimate,
                ),
            )
        } else {
            judged.holds((measured, (q1..=q3).contains(&estimate)))
        });
    }
    plane(context, &mut outcome)?;
    outcome.note("Section 4.B.3 says that the radius grows linearly for the dense prior; its own formulas, and the exact means, say so of the sparse one.");
    Ok(outcome)
}

/// Figures 4.4 and 4.7a: which model is favoured by new scores of an effect with three states. Scores that add up to 0 form a plane.
fn plane(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let pair = CategoricalPrior::dense(3).sample(&mut stream(context.seed, 4_900_000))?;
    let (s, t) = (2f64.sqrt().recip(), 6f64.sqrt().recip());
    let along = |v: &Array1<f64>| (s * (v[0] - v[1]), t * (v[0] + v[1] - 2.0 * v[2]));
    let scores = |x: f64, y: f64| array![s * x + t * y, -s * x + t * y, -2.0 * t * y];
    let anova = Anova::of(&pair);
    let ball = effect_ball(&pair, array![0.0, 0.0, 0.0].view())?;
    let (centre, radius) = (along(&ball.centre), ball.radius_sq.sqrt());
    let mut sides = [vec![], vec![]];
    let mut wrong = 0;
    for i in -15..=15 {
        for j in -15..=15 {
            let (dx, dy) = (radius * f64::from(i) / 6.0, radius * f64::from(j) / 6.0);
            let (x, y) = (centre.0 + dx, centre.1 + dy);
            let transfer = pair.intervene(&Intervention::Effect(scores(x, y)))?;
            let causal = pair.distance_sq(&transfer)?;
            let anticausal = pair.reverse().distance_sq(&transfer.reverse())?;
            let outside = dx.hypot(dy) > radius;
            wrong += usize::from(
                outside != (causal > anticausal) && (dx.hypot(dy) / radius - 1.0).abs() > 1e-9,
            );
            sides[usize::from(causal > anticausal)].push((x, y));
        }
    }
    let circle = (0..=72).map(|k| (f64::from(k) * 5.0).to_radians());
    let circle =
        circle.map(|w| (centre.0 + radius * w.cos(), centre.1 + radius * w.sin())).collect();
    let [closer, farther] = sides;
    outcome.figure(
        Figure::new("The ball in the plane of scores, K = 3", Axis::linear(""), Axis::linear(""))
            .caption("New scores of the effect, by the model whose parameters are closer; the mean score m lies between the centre c and s_Y.")
            .with(Series::points("causal closer", closer))
            .with(Series::points("anticausal closer", farther))
            .with(Series::line("ball", circle))
            .with(Series::line_points("c, m, s_Y", vec![centre, along(&anova.column), along(&anova.marginal_y)])),
    );
    outcome.claim(
        thesis("Figure 4.4", "When $s_Y^*$ is within the blue ball of radius $R$ centered at $c$ ,  $\\Delta \\leq 0$  and the causal model is advantaged, otherwise the anticausal model is advantaged")
            .claim("measured distances of 961 interventions lie on the side that the ball says")
            .on(Ground::Exact)
            .document("all of them")
            .holds((format!("{wrong} on the other side"), wrong == 0)),
    );
    Ok(())
}

fn table(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let printed = [
        (2, 0.4),
        (3, 0.2),
        (4, 0.1),
        (5, 0.07),
        (6, 0.03),
        (7, 0.01),
        (8, 0.005),
        (9, 0.002),
        (10, 0.0007),
        (11, 0.0003),
        (12, 7e-5),
        (13, 3e-5),
        (14, 4e-6),
    ];
    let mut rows = Table::new(
        "Bayes error under the dense prior",
        ["K", "table 4.1", "here", "standard error"],
    );
    let draws = context.pick(200_000, 1_000_000);
    let mut worst: f64 = 1.0;
    for (k, error) in printed {
        context.check()?;
        let found = bayes_error(k, draws, &mut stream(context.seed, 5_000_000 + k as u64))?;
        rows.push([Cell::from(k), error.into(), found.error.into(), found.standard_error.into()]);
        if k <= 12 {
            worst = worst.max((found.error / error).max(error / found.error));
        }
    }
    outcome.table(rows);
    outcome.claim(
        thesis("Table 4.1", "Estimation of the Bayes error under the dense prior assumption")
            .claim("each entry for K up to 12 is near the error here")
            .on(Ground::Exact)
            .specification("ratio to the printed digit at most 1.5")
            .holds((worst, worst <= 1.5)),
    );
    outcome.note("The error is the mean of P(wrong | joint) over draws. The thesis drew a million laws for each K: its last two entries rest on few of them, and are shown only.");
    Ok(outcome)
}

fn meta(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let (k, runs) = (10, context.pick(7, 40));
    let mut rows = Table::new(
        "Belief in the causal direction after training",
        ["prior", "interventions", "median", "smallest", "largest"],
    );
    for (name, prior) in
        [("dense", CategoricalPrior::dense(k)), ("sparse", CategoricalPrior::sparse(k))]
    {
        for (target, share) in [("cause", 0.0), ("effect", 1.0), ("mixed", 0.5)] {
            let mut beliefs = Vec::new();
            for run in 0..runs {
                context.check()?;
                let reference = prior.sample(&mut stream(context.seed, 6_000_000 + run as u64))?;
                let learner = MetaLearner {
                    episodes: 600,
                    effect_share: share,
                    seed: context.seed + run as u64,
                    ..MetaLearner::default()
                };
                // A learner that does nothing stays at its prior belief.
                let frozen = context.is_frozen("meta-learner");
                let belief = if frozen { 0.5 } else { learner.learn(&reference, &prior)?.belief() };
                beliefs.push(belief);
            }
            let (low, high) =
                beliefs.iter().fold((1.0_f64, 0.0_f64), |(l, h), b| (l.min(*b), h.max(*b)));
            let middle = median(beliefs);
            rows.push([Cell::from(name), target.into(), middle.into(), low.into(), high.into()]);
            // The thesis asks the question and leaves the answer to adaptation: the belief should then be on the causal side.
            let says = Source::OURS.claim(match target {
                "cause" => format!(
                    "{name} prior, interventions on the cause: the right direction is learned"
                ),
                "effect" => format!(
                    "{name} prior, interventions on the effect: the wrong direction is learned"
                ),
                _ => format!("{name} prior, mixed interventions"),
            });
            outcome.claim(match target {
                "mixed" => says.reported("median belief in the causal direction", middle),
                _ => says
                    .rests_on(["meta-learner"])
                    .ours("median belief on that side of 1/2")
                    .holds((middle, if target == "cause" { middle > 0.5 } else { middle < 0.5 })),
            });
        }
    }
    outcome.table(rows);
    Ok(outcome)
}

fn counter_example(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let (values, weights) = ([-1.0, 1.0, 2.0_f64], [0.3, 0.4, 0.3]);
    let mean: f64 = values.iter().zip(weights).map(|(v, w)| v * w).sum();
    let variance: f64 = values.iter().zip(weights).map(|(v, w)| w * (v - mean) * (v - mean)).sum();
    let l = variance.sqrt().recip();
    let zeta = l * mean;
    let loss = |z: f64, l: f64| -> f64 {
        values.iter().zip(weights).map(|(v, w)| w * (l * v - z).powi(2) / 2.0).sum::<f64>() - l.ln()
    };
    // At the optimum the gradient of the smooth part is (0, 1 / l), the negative of the barrier's.
    let noise: f64 = values
        .iter()
        .zip(weights)
        .map(|(v, w)| w * ((zeta - l * v).powi(2) + (v * (l * v - zeta) - 1.0 / l).powi(2)))
        .sum();
    let start = CholeskyPair::new(
        array![zeta],
        array![[l]],
        Array2::zeros((1, 1)),
        array![0.0],
        array![[1.0]],
    )?;
    let (b, runs) = (5.0, context.pick(4000, 40_000_u64));
    let gap = |c: f64, steps: usize| -> Result<f64, Failure> {
        if context.is_frozen("proximal") {
            return Ok(0.0);
        }
        let mut total = 0.0;
        for run in 0..runs {
            let mut rng = stream(context.seed, 7_000_000 + run);
            let step = ProximalStep::Constant(c / (steps as f64).sqrt());
            let mut sgd = ProximalSgd::new(&start, step, Average::Tail { from: 1 })?;
            for _ in 0..=steps {
                let u: f64 = rng.random();
                let v = if u < 0.3 {
                    values[0]
                } else if u < 0.7 {
                    values[1]
                } else {
                    values[2]
                };
                sgd.learn(array![v, 0.0].view())?;
            }
            let model = sgd.model().ok_or_else(|| Failure::new("the run diverged"))?;
            total += loss(model.zeta()[0], model.factor()[(0, 0)]) - loss(zeta, l);
        }
        Ok(total / runs as f64)
    };
    for steps in [1, 100] {
        let found = gap(1.0 / (3.0 * b), steps)?;
        outcome.claim(
            thesis("Theorem 4.D.2", "iterations of the stochastic mirror prox algorithm with")
                .claim(format!("started at the optimum, the mean gap after T = {steps} is at most the bound, 0"))
                .document("at most 0")
                .known_failure(
                    (found, found <= 0.0),
                    Reason::checked("the noise of single samples moves the iterates away: E |grad f_i - grad f|^2 at the optimum is positive", noise, noise > 0.0),
                ),
        );
        let (c, corrected) = (1.0 / (5.0 * b), gap(1.0 / (5.0 * b), steps)?);
        let bound = proximal_bound(0.0, noise, 0.0, c, steps);
        outcome.claim(
            Source::OURS
                .claim(format!("with the noise term the bound holds at T = {steps}"))
                .rests_on(["proximal"])
                .specification(format!("above 0 and at most {}", short(bound)))
                .holds((corrected, corrected > 0.0 && corrected <= bound)),
        );
    }
    Ok(outcome)
}

fn kidney_stones(_: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let counts = [6.0, 81.0, 36.0, 234.0, 71.0, 192.0, 25.0, 55.0];
    let joint = ProbabilityTable::joint(&[2, 2, 2], &counts.map(|n| n / 700.0))?;
    let value = |graph: &str, query: &str, treatment: usize| -> Result<f64, Failure> {
        let g = Admg::parse(graph)?;
        let law = identify(&g, g.query(query)?)?.evaluate(&joint)?;
        Ok(law.at(&[(1, treatment), (2, 1)])?)
    };
    let chosen = "Z -> X -> Y; Z -> Y";
    let changed = "Z; X -> Z -> Y; X -> Y";
    let seen = [value(chosen, "P(Y | X)", 0)?, value(chosen, "P(Y | X)", 1)?];
    let done = [value(chosen, "P(Y | do(X))", 0)?, value(chosen, "P(Y | do(X))", 1)?];
    let other = [value(changed, "P(Y | do(X))", 0)?, value(changed, "P(Y | do(X))", 1)?];
    let mut rows = Table::new("Success of the two treatments", ["", "A", "B"]);
    for (name, row) in [
        ("seen", seen),
        ("adjusted for the size of the stone", done),
        ("had the treatment changed the stone", other),
    ] {
        rows.push([Cell::from(name), row[0].into(), row[1].into()]);
    }
    outcome.table(rows);
    let near = |found: [f64; 2], a: f64, b: f64| {
        (found[0] - a).abs() < 5e-5 && (found[1] - b).abs() < 5e-5
    };
    let shown = |v: [f64; 2]| format!("A {:.4}, B {:.4}", v[0], v[1]);
    outcome.claim(
        thesis("2.3.3", "This classic story is an instance of Simpson's paradox")
            .claim("seen, B is better; adjusted, A is")
            .on(Ground::Real)
            .specification("0.7800 and 0.8257 seen, 0.8325 and 0.7789 adjusted, to four digits")
            .holds((
                format!("{}; {}", shown(seen), shown(done)),
                near(seen, 0.78, 0.8257) && near(done, 0.8325, 0.7789),
            )),
    );
    outcome.claim(
        thesis("2.3.3", "then causal effect and conditional would be equal")
            .claim("the same numbers under the other graph give the conditional")
            .on(Ground::Real)
            .document("equal")
            .holds((shown(other), near(other, seen[0], seen[1]))),
    );
    Ok(outcome)
}
