//! The rate of projected gradient.

use fenchel_datasets::embedded;
use fenchel_experiments::{Context, Experiment, Failure, Ground, Outcome, Source};
use fenchel_linalg::AsDesign;
use fenchel_optim::Stop;

use crate::method::{ProjectedGradientSettings, projected_gradient};
use crate::problem::Problem;

pub const RATE: Experiment = Experiment {
    id: "toy-rate",
    title: "The linear rate of projected gradient",
    question: "Does projected gradient converge at the rate of the theorem?",
    learnt: "It does.",
    run,
    ..Experiment::of("Nesterov, Introductory lectures on convex optimization (2004)")
};

const THEOREM: Source =
    Source::quoted("Nesterov", "theorem 2.2.8", "||x_k - x*||^2 <= (1 - mu/L)^k ||x_0 - x*||^2");

fn run(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let data = embedded::wine_alcohol();
    let y = data.y.to_vec();
    let scaled = &data.x / &data.x.mean_axis(ndarray::Axis(0)).ok_or(Failure::new("no rows"))?;
    let problem = Problem::new(scaled.as_design()?, &y, 1.0)?;
    let solve =
        |stop| projected_gradient(&problem, &ProjectedGradientSettings { stop }, None, &mut ());
    let best = solve(Stop { max_passes: 1e5, ..Stop::at_relative(1e-15) })?.state;
    let found = solve(context.stop("projected gradient", Stop::after_passes(50.0)))?.state;
    let distance = |w: &[f64]| w.iter().zip(&best).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let ratio = distance(&found) / distance(&vec![0.0; best.len()]);
    let bound = (1.0 - problem.l2 / problem.smoothness()).powi(50);
    outcome.claim(
        THEOREM
            .claim("projected gradient nears the solution at its rate")
            .rests_on(["projected gradient"])
            .on(Ground::Real)
            .document(format!(
                "squared distance at most {bound:.3e} of the start's after 50 passes"
            ))
            .holds((ratio, ratio <= bound)),
    );
    Ok(())
}
