//! This module repeats figure 2-12 of D. Babichev, PhD thesis 2019: the estimation of ten directions as the number of
//! features grows.

use fenchel_linalg::text::short;
use fenchel_moments::matching::Basis;
use fenchel_moments::score::ProductMixture;
use fenchel_moments::{
    Components, LearnedSade, Mave, Opg, Sade, ScoreMatching, Slicing, Stop, synthetic,
};

use super::curves::{NOTHING, curves, error, figure_and_table};
use super::thesis;
use crate::{Axis, Context, Experiment, Failure, Outcome, Reason, Source};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "mo-e9",
    title: "Figure 2-12: SADE and MAVE against the number of features",
    question: "Does SADE overtake MAVE (minimum average variance) as the number of features grows?",
    learnt: "On four directions, in a quick run, it does in the median of five draws, though the ranges of the draws overlap. In a full run, on the ten directions of the thesis, it does not: the error of MAVE is 0.21 times that of SADE with 20 features, the fewest, and 0.58 times with 150, the most.",
    quick: "4 directions, 3,000 samples and 40 features at most in the place of 10, 10,000 and 150",
    run,
    ..Experiment::of(super::DOCUMENT)
};

const WORSE: Source = thesis(
    "2.5.1",
    "we provide examples where MAVE suffers from the curse of dimensionality and performs worse than moment-matching methods",
);
const LOSE: Source = thesis(
    "2.5.2",
    "[Against MAVE] SADE with known and unknown scores lose in case of low dimension of data, but more resistant to the curse of dimensionality",
);

fn run(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let (n, k) = (context.pick(3000, 10_000), context.pick(4, 10));
    let dimensions: &[usize] = context.pick(&[8, 20, 40], &[20, 50, 100, 150]);
    let names = ["SADE, exact", "SADE, learned", "MAVE", "OPG"];
    let components = Components::Fixed(k);
    let slicing = Slicing::EqualCount(50);
    let base_points = context.pick(60, 200);
    let all = curves(context, &names, dimensions, 5, |d, seed| {
        let density = ProductMixture::thesis(d)?;
        let problem = synthetic::tanh_staircase(&density, k, n, 0.25, seed)?;
        let (x, y) = (&problem.x, &problem.y);
        let learned = LearnedSade {
            components,
            slicing,
            score: ScoreMatching { basis: Basis::Separable(30), ..ScoreMatching::default() },
            ..LearnedSade::default()
        };
        let stop = Stop { max_passes: context.pick(6.0, 20.0), ..Mave::default().stop };
        Ok(vec![
            error(&problem, &Sade { components, slicing, ..Sade::default() }.fit(x, y, &density)?)?,
            error(&problem, &learned.fit(x, y)?)?,
            error(&problem, &Mave { directions: k, base_points, stop }.fit(x, y)?)?,
            error(&problem, &Opg { components, base_points }.fit(x, y)?)?,
        ])
    })?;
    let caption = format!(
        "Staircase of {k} directions, {n} samples, independent features; medians over 5 draws, 50 slices. `exact`, `learned`: the score function of SADE; the learned one has 30 basis functions in each feature. OPG: outer products of gradients. MAVE and OPG have {base_points} base points."
    );
    let (figure, table) = figure_and_table(
        "Error against number of features",
        &caption,
        Axis::linear("features"),
        &all,
    );
    outcome.figure(figure).table(table);
    // The quick problem has other numbers of directions and features than the document's.
    let judged = |claim| context.at_full(claim, "4 directions in the place of 10. With these");
    let [sade, mave] = [&all[0], &all[2]].map(|c| c.points());
    let ratios: Vec<f64> = mave.iter().zip(&sade).map(|(m, s)| m.1 / s.1).collect();
    let (first, last) = (ratios[0], ratios[ratios.len() - 1]);
    let shown = format!("{} at the fewest features, {} at the most", short(first), short(last));
    outcome.claim(judged(
        LOSE.claim("with few features MAVE has a smaller error than SADE with the exact score function (the learned one is in the table)")
            .rests_on(["MAVE"])
            .document("square trace error of MAVE over that of SADE (exact), medians over 5 draws, below 1 at the smallest number of features")
            .holds((first, first < 1.0)),
    ));
    outcome.claim(judged(
        LOSE.claim("with more features MAVE gets worse faster than SADE with the exact score function")
            .rests_on(["MAVE"])
            .document("square trace error of MAVE over that of SADE (exact), medians over 5 draws, at the largest number of features above that at the smallest")
            .holds((shown.clone(), last > first)),
    ));
    outcome.claim(judged(
        WORSE
            .claim("with many features MAVE has a larger error than SADE with the exact score function")
            .rests_on(["MAVE", names[0]])
            .document("square trace error of MAVE over that of SADE (exact), medians over 5 draws, above 1 at the largest number of features (shown: at the smallest and at the largest)")
            .known_failure(
                (shown, last > 1.0 && all[2].end() < NOTHING),
                Reason::checked(
                    "here MAVE, which refines its directions in rounds, has the smaller error up to the largest number of features. Its error there over that of SADE",
                    last,
                    last <= 1.0,
                ),
            ),
    ));
    Ok(())
}
