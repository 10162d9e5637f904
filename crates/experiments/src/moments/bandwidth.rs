//! This module repeats figures 2-8 to 2-11 of D. Babichev, PhD thesis 2019: the one-step and the two-step method as
//! functions of the bandwidth. The basis functions of the score are centred at all samples.

use fenchel_moments::direct::Lambda;
use fenchel_moments::matching::{Bandwidth, Basis, Centres, Ridge};
use fenchel_moments::synthetic::{self, Problem};
use fenchel_moments::{
    Components, DirectSade, GaussianMixture, LearnedSade, Sade, ScoreMatching, Slicing,
};
use fenchel_optim::Stop;

use super::DOCUMENT;
use super::curves::{PINNED, SHORT, error, sized, unless_frozen};
use crate::number::short;
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Series, Source, Table};

pub(super) const QUADRATIC: Experiment = Experiment {
    id: "mo-e7",
    file: file!(),
    document: DOCUMENT,
    title: "One step against two steps, quadratic model",
    question: "Is a score that is learned together with the directions better than one learned before?",
    learnt: "With too wide a bandwidth, yes; at the best bandwidth a learned score is nearly as good as the exact one.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    needs: &[],
    run: quadratic,
};

pub(super) const RATIONAL: Experiment = Experiment {
    id: "mo-e8",
    file: file!(),
    document: DOCUMENT,
    title: "One step against two steps, rational model",
    question: "And on the rational model?",
    learnt: "The same, and bumps over a Gaussian score hardly depend on bandwidth and ridge.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    needs: &[],
    run: rational,
};

const ROBUST: Source = Source::quoted(
    SHORT,
    "2.5.2",
    "for large d, the one-step algorithm is more robust than the two-step algorithm.",
);
const WEAK: Source = Source::quoted(
    SHORT,
    "2.5.2",
    "even with weak score functions, correct estimation of the e.d.r. space can be performed.",
);

fn matching(h: f64) -> ScoreMatching {
    ScoreMatching {
        basis: Basis::Bumps(Centres::AllSamples),
        bandwidth: Bandwidth::Absolute(h),
        ridge: Ridge::Absolute(0.01),
        offset: false,
        whiten: false,
        ..ScoreMatching::default()
    }
}

const COMPONENTS: Components = Components::Fixed(2);
const SLICING: Slicing = Slicing::EqualCount(10);

/// As the thesis: raw coordinates, plain SADE on the learned scores.
fn two_step(problem: &Problem, h: f64) -> Result<f64, Failure> {
    let score = matching(h).fit(&problem.x)?;
    let sade = Sade { components: COMPONENTS, slicing: SLICING, ..Sade::default() };
    error(problem, &sade.fit(&problem.x, &problem.y, &score)?)
}

fn one_step(problem: &Problem, h: f64, lambda: f64) -> Result<f64, Failure> {
    let direct = DirectSade {
        components: COMPONENTS,
        slicing: SLICING,
        score: matching(h),
        lambda: Lambda::Fixed(lambda),
        centre: false,
        stop: Stop { max_passes: 300.0, ..Stop::at_relative(1e-5) },
        ..DirectSade::default()
    };
    error(problem, &direct.fit(&problem.x, &problem.y)?.model)
}

/// Rows: bandwidth, two steps, one step with lambda 0.5 and 1.
fn sweep(
    context: &Context,
    outcome: &mut Outcome,
    title: &str,
    draws: &[Problem],
    bandwidths: &[f64],
) -> Result<Vec<[f64; 4]>, Failure> {
    let mut rows = vec![];
    for (k, &h) in bandwidths.iter().enumerate() {
        let mut row = [h, 0.0, 0.0, 0.0];
        for problem in draws {
            context.check()?;
            context.progress(k as f64 / bandwidths.len() as f64, title);
            let errors = [
                ("two steps", two_step(problem, h)?),
                ("one step", one_step(problem, h, 0.5)?),
                ("one step", one_step(problem, h, 1.0)?),
            ];
            for (sum, (name, error)) in row[1..].iter_mut().zip(errors) {
                *sum += unless_frozen(context, name, error) / draws.len() as f64;
            }
        }
        rows.push(row);
    }
    let heads = ["bandwidth", "two steps", "one step, lambda 0.5", "one step, lambda 1"];
    let mut table = Table::new(format!("{title}: mean errors"), heads);
    for row in &rows {
        table.push(row.map(Into::into));
    }
    let mut figure = Figure::new(title, Axis::log("bandwidth"), Axis::log("square trace error"))
        .caption("Bumps at all samples, ridge 0.01, no whitening, as in the document.");
    for (column, name) in heads.into_iter().enumerate().skip(1) {
        figure = figure
            .with(Series::line_points(name, rows.iter().map(|r| (r[0], r[column])).collect()));
    }
    outcome.table(table).figure(figure);
    Ok(rows)
}

fn exact(density: &GaussianMixture, draws: &[Problem]) -> Result<f64, Failure> {
    let sade = Sade { components: COMPONENTS, slicing: SLICING, ..Sade::default() };
    let mut sum = 0.0;
    for problem in draws {
        sum += error(problem, &sade.fit(&problem.x, &problem.y, density)?)?;
    }
    Ok(sum / draws.len() as f64)
}

fn assumed(outcome: &mut Outcome) {
    outcome.note("The document gives neither lambda nor the number of slices: 0.5 and 1, and 10, are assumed.");
}

fn quadratic(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    assumed(&mut outcome);
    let density = GaussianMixture::thesis(10)?;
    let draws = (0..context.pick(2, 10))
        .map(|k| synthetic::quadratic(&density, 1000, 1.0, context.seed + k))
        .collect::<Result<Vec<_>, _>>()?;
    let bandwidths: &[f64] =
        context.pick(&[2.0, 4.0, 8.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0]);
    let rows =
        sweep(context, &mut outcome, "Quadratic model, d = 10, n = 1000", &draws, bandwidths)?;
    let best = rows.iter().map(|r| r[1]).fold(f64::INFINITY, f64::min);
    let exact = exact(&density, &draws)?;
    outcome.claim(
        WEAK.claim("at the best bandwidth the learned score is nearly as good as the exact one")
            .rests_on(["two steps"])
            .specification("at most 1.5 times its error")
            .holds((format!("{} against {}", short(best), short(exact)), best < 1.5 * exact)),
    );
    Ok(outcome)
}

fn rational(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    assumed(&mut outcome);
    let settings: &[(usize, usize, &[f64], f64, f64)] = context.pick(
        &[(10, 1000, &[4.0, 8.0], 8.0, 0.9), (20, 1500, &[4.0, 8.0], 8.0, 0.8)],
        &[
            (10, 1000, &[1.5, 2.0, 4.0, 6.0, 8.0, 12.0], 8.0, 0.8),
            (20, 2000, &[2.0, 4.0, 6.0, 8.0, 12.0], 8.0, 0.65),
            (50, 5000, &[4.0, 6.0, 10.0, 15.0], 10.0, 0.65),
        ],
    );
    for &(d, n, bandwidths, smooth, threshold) in settings {
        let density = GaussianMixture::thesis(d)?;
        let count = if d == 50 { 2 } else { context.pick(2, 10) };
        let draws = (0..count)
            .map(|k| synthetic::rational(&density, n, 0.25, context.seed + k))
            .collect::<Result<Vec<_>, _>>()?;
        let title = format!("Rational model, d = {d}, n = {n}");
        let rows = sweep(context, &mut outcome, &title, &draws, bandwidths)?;
        if let Some(row) = rows.iter().find(|r| r[0] == smooth) {
            let ratio = row[2].min(row[3]) / row[1];
            outcome.claim(
                sized(
                    context,
                    ROBUST
                        .claim(format!(
                            "d = {d}: with too wide a bandwidth ({smooth}) one step is better than two"
                        ))
                        .rests_on(["two steps", "one step"]),
                    &format!("at most {threshold} of the error, which is below 0.7"),
                    &format!("at most {threshold} of the error, which is below 0.7, with 2 draws"),
                )
                .holds((ratio, ratio <= threshold && row[1] < PINNED)),
            );
        }
        let exact = exact(&density, &draws)?;
        let mut worst: f64 = 0.0;
        for factor in [1.0, 2.0] {
            for ridge in [0.01, 1.0] {
                let score = ScoreMatching {
                    basis: Basis::Bumps(Centres::Landmarks(context.pick(300, 1000))),
                    bandwidth: Bandwidth::Relative(factor),
                    ridge: Ridge::Relative(ridge),
                    ..ScoreMatching::default()
                };
                let method = LearnedSade {
                    components: COMPONENTS,
                    slicing: SLICING,
                    score,
                    ..LearnedSade::default()
                };
                let mut mean = 0.0;
                for problem in &draws {
                    context.check()?;
                    let found = error(problem, &method.fit(&problem.x, &problem.y)?)?;
                    mean += unless_frozen(context, "offset", found) / count as f64;
                }
                worst = worst.max(mean);
            }
        }
        outcome.claim(
            Source::OURS
                .claim(format!("d = {d}: whitened bumps over a Gaussian score are not sensitive to bandwidth and ridge"))
                .rests_on(["offset"])
                .specification("bandwidths 1 and 2 sqrt(d), ridges 0.01 and 1: at most 2.5 times the error of the exact score")
                .holds((format!("{} against {}", short(worst), short(exact)), worst < 2.5 * exact)),
        );
    }
    Ok(outcome)
}
