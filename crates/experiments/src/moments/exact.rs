//! This module repeats figures 2-3 to 2-6 of D. Babichev, PhD thesis 2019: methods that know the exact score of the
//! mixture, with ten features.

use fenchel_linalg::text::short;
use fenchel_moments::spectrum::EigenOrder;
use fenchel_moments::synthetic::{self, Problem};
use fenchel_moments::transform::ResponseTransform;
use fenchel_moments::{Components, GaussianMixture, Mave, PhdPlus, Sade, Sir, Slicing, Sphd, Stop};

use super::curves::{Curve, PINNED, curves, error, figure_and_table, sizes};
use super::thesis;
use crate::{Axis, Context, Experiment, Failure, Outcome, Source};

pub(super) const RATIONAL: Experiment = Experiment {
    id: "mo-e2",
    title: "Figure 2-3: SADE and SIR on the rational model",
    question: "With more and more samples, does SADE (sliced average derivatives) become exact where SIR (sliced inverse regression) keeps an error?",
    learnt: "It does. The error of SADE falls like 1/n. That of SIR stops falling, because the features are not elliptically distributed.",
    quick: "10 draws in the place of 100",
    run: rational,
    ..Experiment::of(super::DOCUMENT)
};

pub(super) const STAIRCASE: Experiment = Experiment {
    id: "mo-e3",
    title: "Figure 2-4: SADE, SPHD and PHD+ on a staircase",
    question: "Which of SADE (of first order), SPHD and PHD+ (of second order) has the smallest error on a staircase of two directions?",
    learnt: "Of these three SADE has, then comes SPHD, then PHD+. MAVE, which is no moment-matching method, is shown beside them.",
    quick: "3 sizes up to 2^14 in the place of 7 up to 2^16, and MAVE with a tenth of its base points",
    run: staircase,
    ..Experiment::of(super::DOCUMENT)
};

pub(super) const CLASSIFICATION: Experiment = Experiment {
    id: "mo-e4",
    title: "Figure 2-5: SADE, SPHD and PHD+ on two classes",
    question: "Which methods find both directions from a response with two classes?",
    learnt: "SADE, of first order, finds one of two, and two classes cannot give it more. SPHD and PHD+, of second order (principal Hessian directions, with and without slices), find both with many samples. Only then is SPHD ahead of PHD+.",
    quick: "3 sizes up to 2^14 in the place of 7 up to 2^16, and MAVE with a tenth of its base points",
    run: classification,
    ..Experiment::of(super::DOCUMENT)
};

pub(super) const QUADRATIC: Experiment = Experiment {
    id: "mo-e5",
    title: "Figure 2-6: SADE, SPHD and PHD+ on the quadratic model",
    question: "Which of SADE, SPHD and PHD+ find both directions of a quadratic model?",
    learnt: "SADE and SPHD do. PHD+ does if it takes the eigenvalues with the largest absolute values, and loses a direction if it takes the largest signed ones.",
    quick: "3 sizes up to 2^14 in the place of 7 up to 2^16, and MAVE with a tenth of its base points",
    run: quadratic,
    ..Experiment::of(super::DOCUMENT)
};

const SLOPE: Source = thesis(
    "2.5.1",
    "SADE shows good performance with slope -1 (corresponding to a \\sqrt{n} -consistent estimator).",
);
const CONSTANT: Source = thesis(
    "2.5.1",
    "When $n \\to \\infty$, the squared trace error [of SIR] tends to some nonzero constant depending on the properties of the density function",
);
const ORDER: Source = thesis(
    "2.5.1",
    "[On the staircase] first-order method SADE works better, than second-order SPHD + and SPHD works better, than PHD+",
);
const HALF: Source = thesis("2.5.1", "the error of SADE is close to 0.5 (Figure 2-5)");
const BETTER: Source = thesis("2.5.1", "Moreover, SPHD gave better results than PHD+.");
const BOTH: Source = thesis("2.5.1", "Both SADE and SPHD show a good performance (Figure 2-6)");
const MAVE: Source = thesis(
    "2.5.1",
    "MAVE works better [than SADE, SPHD and PHD+], but the goal of this chapter is to compare moment-matching techniques.",
);
const LINEARITY: Source =
    thesis("2.5.1", "PHD+ can not recover the desired projection due to linearity of the function");

const SADE: &str = "SADE";
const SPHD: &str = "SPHD";
const PHD: &str = "PHD+";
const COMPONENTS: Components = Components::Fixed(2);
const SLICING: Slicing = Slicing::EqualCount(10);

fn sade() -> Sade {
    Sade { components: COMPONENTS, slicing: SLICING, ..Sade::default() }
}

/// Errors of SADE, SPHD, PHD+ with the largest absolute and with the largest signed eigenvalues, and MAVE.
fn errors(
    context: &Context,
    problem: &Problem,
    density: &GaussianMixture,
) -> Result<Vec<f64>, Failure> {
    let (x, y) = (&problem.x, &problem.y);
    // As the thesis writes it: responses are not centred.
    let phd =
        PhdPlus { components: COMPONENTS, response: ResponseTransform::None, ..PhdPlus::default() };
    let signed = PhdPlus { order: EigenOrder::Algebraic, ..phd };
    let sphd = Sphd { components: COMPONENTS, slicing: SLICING, ..Sphd::default() };
    // The fifth round has the smallest bandwidth.
    let stop = Stop { max_passes: 5.0, ..Mave::default().stop };
    let mave = Mave { directions: 2, base_points: context.pick(20, 200), stop };
    Ok(vec![
        error(problem, &sade().fit(x, y, density)?)?,
        error(problem, &sphd.fit(x, y, density)?)?,
        error(problem, &phd.fit(x, y, density)?)?,
        error(problem, &signed.fit(x, y, density)?)?,
        error(problem, &mave.fit(x, y)?)?,
    ])
}

/// Curves with the sizes and the draws of the document, or fewer and smaller ones.
fn measured(
    context: &Context,
    outcome: &mut Outcome,
    title: &str,
    draw: impl Fn(&GaussianMixture, usize, u64) -> Result<Problem, fenchel_moments::Error>,
) -> Result<[Curve; 5], Failure> {
    let density = GaussianMixture::thesis(10)?;
    let names = [SADE, SPHD, PHD, "PHD+ signed", "MAVE"];
    let repeats = 10;
    let all = curves(context, &names, &sizes(context), repeats, |n, seed| {
        errors(context, &draw(&density, n, seed)?, &density)
    })?;
    let caption = "Ten features, a mixture of two normal laws with exact score functions; 10 slices of equal counts. `PHD+` takes the eigenvalues with the largest absolute values, `PHD+ signed` the largest signed ones.";
    let (figure, table) = figure_and_table(title, caption, Axis::log("samples"), &all);
    outcome.figure(figure).table(table).setting("draws", repeats).setting("slices", 10);
    let all: [Curve; 5] = all.try_into().map_err(|_| Failure::new("five curves"))?;
    let points = context.pick(20, 200);
    let ends = all.each_ref().map(Curve::end);
    let [sade, sphd, phd, _, mave] = ends.map(short);
    outcome.claim(
        MAVE.claim(format!("MAVE (minimum average variance, {points} base points, 5 rounds) works better than SADE, SPHD and PHD+"))
            .rests_on(names)
            .document("smallest square trace error at the largest number of samples, in the median over 10 draws of the data")
            .holds((
                format!("MAVE {mave}; SADE {sade}; SPHD {sphd}; PHD+ {phd}"),
                ends[..3].iter().all(|&end| ends[4] < end),
            ))
            .not_judged("the document's MAVE is another program, with settings that it does not state. With the MAVE of this run"),
    );
    Ok(all)
}

fn rational(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let density = GaussianMixture::thesis(10)?;
    let sizes: Vec<usize> = (10..=16).map(|p| 1 << p).collect();
    let repeats = context.pick(10, 100);
    let all = curves(context, &[SADE, "SIR"], &sizes, repeats, |n, seed| {
        let problem = synthetic::rational(&density, n, 0.25, seed)?;
        let sir = Sir { components: COMPONENTS, slicing: SLICING };
        Ok(vec![
            error(&problem, &sade().fit(&problem.x, &problem.y, &density)?)?,
            error(&problem, &sir.fit(&problem.x, &problem.y)?)?,
        ])
    })?;
    let caption = "Ten features, a mixture of two normal laws; 10 slices of equal counts; SADE has the exact score function.";
    let (figure, table) = figure_and_table("Rational model", caption, Axis::log("samples"), &all);
    outcome.figure(figure).table(table).setting("draws", repeats).setting("noise", 0.25);
    outcome.note(
        "The document does not state the noise of this model; 1/4 is assumed, as for the staircase.",
    );
    let (sade, sir) = (&all[0], &all[1]);
    let slope = sade.slope();
    outcome.claim(
        SLOPE
            .claim("the error of SADE falls like 1/n")
            .rests_on([SADE])
            .document("slope of the logarithm of the square trace error (median over the draws) against that of the number n of samples, 2^10 to 2^16, nearer to -1 than to -1/2 or -3/2")
            .holds((slope, (slope + 1.0).abs() < 0.25)),
    );
    let flat = sir.end() / sir.points()[4].1;
    outcome.claim(
        CONSTANT
            .claim("the error of SIR stops falling")
            .rests_on(["SIR"])
            .document("square trace error (median over the draws) at n = 2^16 over that at 2^14 above 1/2: nearer to 1, no fall, than to 1/4, the rate 1/n; the error below 0.7")
            .holds((flat, flat > 0.5 && sir.end() < PINNED)),
    );
    outcome.claim(
        CONSTANT
            .claim("with many samples SADE has a smaller error than SIR")
            .rests_on([SADE, "SIR"])
            .document("smaller square trace error at n = 2^16, in the median over the draws; that of SIR below 0.7, so that it works")
            .holds((
                format!("SADE {}, SIR {}", short(sade.end()), short(sir.end())),
                sade.end() < sir.end() && sir.end() < PINNED,
            )),
    );
    Ok(())
}

fn staircase(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let title = "Staircase of two hyperbolic tangents";
    let [sade, sphd, phd, ..] = measured(context, outcome, title, |density, n, seed| {
        synthetic::tanh_staircase(density, 2, n, 0.25, seed)
    })?;
    outcome.claim(
        ORDER
            .claim("SADE has a smaller error than SPHD, and SPHD a smaller one than PHD+")
            .rests_on([SADE, SPHD, PHD])
            .document("smaller square trace errors, in the median over 10 draws, at every number of samples; that of PHD+ below 0.7 at the largest (shown last), so that it works")
            .holds(sade.below(&sphd).and(sphd.below(&phd)).and((phd.end(), phd.end() < PINNED))),
    );
    Ok(())
}

fn classification(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let title = "Classification by an ellipse";
    let [sade, sphd, _, signed, _] = measured(context, outcome, title, |density, n, seed| {
        synthetic::classification(density, n, 0.25, seed)
    })?;
    outcome.note(
        "The response is 1 where x_1^2 + 2 x_2^2 > 4 and 0 elsewhere, plus normal noise of deviation 1/4. The noise makes ten slices possible. The thesis does not say \
         which eigenvalues its PHD+ takes. In its figure 2-6, on the quadratic model, PHD+ loses a direction. On that model our PHD+ does so with the largest signed eigenvalues, not with the largest absolute ones: the signed ones are judged.",
    );
    outcome.claim(
        HALF.claim("SADE finds one of the two directions")
            .rests_on([SADE])
            .document("square trace error at the largest number of samples, in the median over 10 draws, nearer to 1/2, one direction of two lost, than to 0 or 1")
            .holds((sade.end(), (0.25..0.75).contains(&sade.end()))),
    );
    outcome.claim(context.at_full(
        BETTER
            .claim("SPHD has a smaller error than PHD+, whose responses are not centred")
            .rests_on([SPHD, "PHD+ signed"])
            .document("smaller square trace errors, in the median over 10 draws, at most numbers of samples (\"most\" is the project's reading); that of PHD+ below 0.7 at the largest, so that it works")
            .holds(sphd.mostly_below(&signed).provided(signed.end() < PINNED, "PHD+ does not work")),
        "this run has at most 2^14 samples, the document 2^16. With few samples SPHD is behind, because it has the noise of the mean of each slice, a tenth of the samples. At the sizes of this run",
    ));
    Ok(())
}

fn quadratic(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let [sade, sphd, _, signed, _] =
        measured(context, outcome, "Quadratic model", |density, n, seed| {
            synthetic::quadratic(density, n, 1.0, seed)
        })?;
    outcome
        .note("Text and caption of the figure disagree on the noise; 1 is taken, from the text.");
    let slopes = [sade.slope(), sphd.slope()];
    outcome.claim(
        BOTH.claim("the errors of SADE and of SPHD go to 0")
            .rests_on([SADE, SPHD])
            .document("slopes of the logarithm of the square trace error (median over 10 draws) against that of the number n of samples nearer to -1, the rate 1/n, than to 0")
            .holds((
                format!("SADE {}, SPHD {}", short(slopes[0]), short(slopes[1])),
                slopes.iter().all(|s| *s < -0.5),
            )),
    );
    outcome.claim(
        LINEARITY
            .claim("PHD+ with the largest signed eigenvalues finds only one of the two directions")
            .rests_on(["PHD+ signed"])
            .document("square trace error at the largest number of samples, in the median over 10 draws, nearer to 1/2, one direction of two lost, than to 0 or 1")
            .holds((signed.end(), (0.25..0.75).contains(&signed.end()))),
    );
    Ok(())
}
