//! This module repeats figure 2-7 of D. Babichev, PhD thesis 2019: the score of two features is learned with basis
//! functions that are centred on a grid.

use fenchel_linalg::text::short;
use fenchel_moments::matching::{Bandwidth, Basis, Centres, Ridge};
use fenchel_moments::score::Component;
use fenchel_moments::{Components, GaussianMixture, Sade, ScoreMatching, Slicing, synthetic};
use ndarray::{Array2, array};

use super::curves::{curves, error, figure_and_table, sizes};
use super::thesis;
use crate::{Axis, Context, Experiment, Failure, Outcome, Source};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "mo-e6",
    title: "Figure 2-7: a learned score function of two features",
    question: "How does the error of SADE with a learned score function compare with the exact one?",
    learnt: "They differ by a factor of a few in the medians, and both fall as the number n of samples grows.",
    quick: "12 draws of 3 sizes in the place of 100 of 7",
    run,
    ..Experiment::of(super::DOCUMENT)
};

const FALLS: Source = thesis("2.5.2", "the square trace error tends to zero as n increases.");

fn run(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let part = |weight: f64, mean: f64, variance: f64| Component {
        weight,
        mean: array![mean, 0.5],
        covariance: Array2::eye(2) * variance,
    };
    let density = GaussianMixture::new(vec![part(0.6, -0.5, 0.3), part(0.4, 0.5, 0.4)])?;
    let matching = ScoreMatching {
        basis: Basis::Bumps(Centres::Grid { low: -2.0, high: 2.0, points: 10 }),
        bandwidth: Bandwidth::Absolute(1.0),
        ridge: Ridge::Absolute(0.01),
        offset: false,
        whiten: false,
        ..ScoreMatching::default()
    };
    let (components, slicing) = (Components::Fixed(1), Slicing::EqualCount(10));
    let sade = Sade { components, slicing, ..Sade::default() };
    let repeats = context.pick(12, 100);
    let names = ["learned score", "exact score"];
    let all = curves(context, &names, &sizes(context), repeats, |n, seed| {
        let problem = synthetic::sine(&density, n, 1.0, seed)?;
        let learned = matching.fit(&problem.x)?;
        let centred = Sade { centre_scores: true, ..sade };
        let learned = centred.fit(&problem.x, &problem.y, &learned)?;
        let exact = sade.fit(&problem.x, &problem.y, &density)?;
        Ok(vec![error(&problem, &learned)?, error(&problem, &exact)?])
    })?;
    let caption = "SADE with the learned and with the exact score function; medians over the draws. The learned one is a sum of 100 bumps of width 1 on a grid, with a ridge of 0.01.";
    let (figure, table) =
        figure_and_table("Learned score, two features", caption, Axis::log("samples"), &all);
    outcome.figure(figure).table(table).setting("draws", repeats).setting("data", "y = sin(x1 + x2) + noise N(0, 1); x is 0.6 N((-0.5, 0.5), 0.3 I) + 0.4 N((0.5, 0.5), 0.4 I)").setting("slices", 10);
    outcome.note("The document does not state the number of slices here; 10 is assumed.");
    let (slope, end) = (all[0].slope(), all[0].end());
    let [first, last] = [all[0].points()[0].1, end].map(short);
    outcome.claim(
        FALLS
            .claim("the error of SADE with a learned score function falls as n grows")
            .rests_on(["learned score"])
            .document("the square trace error (median over the draws) is least at the largest n, and the slope of its logarithm against that of n is below 0")
            .holds((
                format!("{first} at the least n, {last} at the largest; slope of log error against log n: {}", short(slope)),
                slope < 0.0 && all[0].points().iter().all(|p| p.1 >= end),
            )),
    );
    Ok(())
}
