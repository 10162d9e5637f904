//! This experiment tests whether 95 % confidence intervals of loadings contain the true loading in 95 % of all
//! samples.

use fenchel_moments::inference::{BootstrapSettings, bootstrap, sir_intervals};
use fenchel_moments::score::Component;
use fenchel_moments::synthetic::{Problem, Sampler, StandardFeatures, multi_index};
use fenchel_moments::{Components, GaussianMixture, Sade, Sir, Slicing};
use ndarray::{Array1, Array2, ArrayView1, array};

use super::DOCUMENT;
use crate::number::short;
use crate::{Context, Experiment, Failure, Outcome, Source, Table};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "mo-coverage",
    file: file!(),
    document: DOCUMENT,
    title: "Coverage of intervals of directions",
    question: "Do 95 % regions of directions hold the truth in 95 % of repetitions?",
    learnt: "They do, for the normal limit of SIR and for bootstrap intervals.",
    quick: "fewer or smaller problems than the document's, as the settings say",
    needs: &[],
    run,
};

const FEATURES: usize = 5;
const SAMPLES: usize = 1000;
const LEVEL: f64 = 0.95;

/// One index among five features.
struct Case {
    name: &'static str,
    features: Box<dyn Sampler>,
    link: fn(ArrayView1<f64>) -> f64,
    noise: f64,
}

/// `0.5^|i - j|`.
fn correlated(scale: f64) -> Array2<f64> {
    Array2::from_shape_fn((FEATURES, FEATURES), |(i, j)| scale * 0.5_f64.powi(i.abs_diff(j) as i32))
}

fn part(weight: f64, mean: f64, covariance: Array2<f64>) -> Component {
    Component { weight, mean: Array1::from_elem(FEATURES, mean), covariance }
}

/// Elliptical features, for which SIR estimates the index.
fn cases() -> Result<[Case; 3], Failure> {
    Ok([
        Case {
            name: "independent normal",
            features: Box::new(StandardFeatures(FEATURES)),
            link: |z| (1.5 * z[0]).tanh() + 0.2 * z[0],
            noise: 0.3,
        },
        Case {
            name: "correlated normal",
            features: Box::new(GaussianMixture::new(vec![part(1.0, 2.0, correlated(1.0))])?),
            link: |z| (0.7 * z[0]).exp(),
            noise: 0.5,
        },
        Case {
            name: "two normal densities of one centre",
            features: Box::new(GaussianMixture::new(vec![
                part(0.7, 0.0, correlated(1.0)),
                part(0.3, 0.0, correlated(4.0)),
            ])?),
            link: |z| z[0] + 0.3 * z[0].powi(3),
            noise: 0.5,
        },
    ])
}

impl Case {
    fn draw(&self, seed: u64) -> Result<Problem, Failure> {
        let truth = array![[2.0], [1.0], [-1.0], [0.0], [0.0]];
        Ok(multi_index(&*self.features, truth, self.link, SAMPLES, self.noise, seed)?)
    }
}

fn sir() -> Sir {
    Sir { components: Components::Fixed(1), slicing: Slicing::EqualCount(10) }
}

/// How often each interval held the truth.
fn count(inside: &mut [usize], lower: &Array2<f64>, upper: &Array2<f64>, truth: &Array2<f64>) {
    for (c, inside) in inside.iter_mut().enumerate() {
        let truth = truth[[c, 0]];
        *inside += usize::from(lower[[c, 0]] <= truth && truth <= upper[[c, 0]]);
    }
}

fn shares(inside: &[usize], repeats: u64) -> Vec<f64> {
    inside.iter().map(|&k| k as f64 / repeats as f64).collect()
}

fn furthest(shares: &[f64]) -> f64 {
    shares.iter().fold(0.0, |worst, share| f64::max(worst, (share - LEVEL).abs()))
}

fn run(context: &Context) -> Result<Outcome, Failure> {
    let mut outcome = Outcome::default();
    let repeats = context.pick(200, 1000);
    outcome
        .setting("samples", SAMPLES as u64)
        .setting("repetitions", repeats)
        .setting("slices", 10);
    let mut table = Table::new(
        "Share of repetitions in which a 95 % region held the truth",
        ["intervals", "features", "w1", "w2", "w3", "w4", "w5", "all at once"],
    );
    let mut worst = 0.0_f64;
    for case in cases()? {
        let (mut inside, mut joint) = ([0; FEATURES], 0);
        for repeat in 0..repeats {
            context.check()?;
            let problem = case.draw(context.seed + repeat)?;
            let found = sir_intervals(&sir(), &problem.x, &problem.y)?;
            if context.is_frozen("SIR, limit") {
                continue;
            }
            let (lower, upper) = found.intervals(LEVEL)?;
            count(&mut inside, &lower, &upper, &problem.directions);
            joint += usize::from(found.contains(0, problem.directions.column(0), LEVEL)?);
        }
        let mut all = shares(&inside, repeats);
        all.push(joint as f64 / repeats as f64);
        worst = worst.max(furthest(&all));
        let row = ["SIR, limit".into(), case.name.into()].into_iter();
        table.push(row.chain(all.into_iter().map(Into::into)));
    }
    let what = context.pick(
        "every loading and the joint region: 89 % to 99 % of 200 repetitions (four standard errors)",
        "every loading and the joint region: 93 % to 97 % of 1,000 repetitions",
    );
    let allowed = context.pick(0.0617, 0.02);
    outcome.claim(
        Source::OURS
            .claim("the normal limit of SIR covers, for elliptical features")
            .rests_on(["SIR, limit"])
            .ours(what)
            .holds((format!("at most {} from 0.95", short(worst)), worst <= allowed)),
    );

    let (draws, resamples) = context.pick((60, 60), (1000, 200));
    let settings = |seed| BootstrapSettings { repeats: resamples, seed };
    let sade = Sade {
        components: Components::Fixed(1),
        slicing: Slicing::EqualCount(10),
        ..Sade::default()
    };
    let density = GaussianMixture::thesis(FEATURES)?;
    let skewed = Case {
        name: "the thesis' mixture",
        features: Box::new(density.clone()),
        link: |z| (0.7 * z[0]).tanh(),
        noise: 0.25,
    };
    let [normal, ..] = cases()?;
    let mut apart = 0.0_f64;
    for (name, case, exact) in
        [("SIR, bootstrap", normal, false), ("SADE, bootstrap", skewed, true)]
    {
        let mut inside = [0; FEATURES];
        for repeat in 0..draws {
            context.check()?;
            context.progress(repeat as f64 / draws as f64, name);
            let problem = case.draw(context.seed + repeat)?;
            let (x, y) = (&problem.x, &problem.y);
            let found = if exact {
                bootstrap(&sade.with(&density), x, y, &settings(repeat))?
            } else {
                bootstrap(&sir(), x, y, &settings(repeat))?
            };
            if context.is_frozen(name) {
                continue;
            }
            let (lower, upper) = found.intervals(LEVEL)?;
            count(&mut inside, &lower, &upper, &problem.directions);
        }
        let all = shares(&inside, draws);
        apart = apart.max(furthest(&all));
        let row = [name.into(), case.name.into()].into_iter();
        table.push(row.chain(all.into_iter().map(Into::into)).chain(["".into()]));
    }
    outcome.claim(
        Source::OURS
            .claim("bootstrap intervals cover: SIR on normal features, SADE with the exact score on a mixture")
            .rests_on(["SIR, bootstrap", "SADE, bootstrap"])
            .ours(context.pick(
                "every loading: 84 % or more of 60 repetitions (four standard errors)",
                "every loading: 93 % to 97 % of 1,000 repetitions",
            ))
            .holds((
                format!("at most {} from 0.95", short(apart)),
                apart <= context.pick(0.1126, 0.02),
            )),
    );
    outcome.table(table);
    outcome.note("No document makes these claims: the intervals are beyond the thesis.");
    Ok(outcome)
}
