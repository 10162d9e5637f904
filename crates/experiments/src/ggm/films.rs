//! This module repeats table 9.1 of A. Defazio, PhD thesis 2014: the item field model and other recommenders on the
//! ratings of MovieLens 100K.

use std::f64::consts::TAU;
use std::time::Instant;

use fenchel_ggm::bethe::{AscentSettings, UpdateRule};
use fenchel_ggm::item_field::Training;
use fenchel_ggm::item_field::baselines::{
    FactorModel, NeighbourhoodModel, SgdSettings, cosine, item_means,
};
use fenchel_ggm::{ItemField, Ratings};
use fenchel_linalg::text::short;
use fenchel_optim::random::stream;
use rand::RngExt;

use super::thesis;
use crate::numbers::mean_and_error;
use crate::table::row;
use crate::{
    Claim, Context, Experiment, Failure, Judged, Outcome, Reason, Sample, Size, Source, Table,
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "gg-53",
    title: "Table 9.1: ratings of films by item fields and other recommenders",
    question: "Does an item field, a normal model on a graph of similar films, predict ratings better than neighbourhood methods?",
    learnt: "With ten neighbours a film its error is smaller than that of cosines on a fixed graph and of least squares; cosines among rated films, which are not in the table of the thesis, have a smaller one. Fifty neighbours are worse than ten only when it is trained as the thesis prints it, with an update of the covariances that lacks a factor 1/2.",
    quick: "two of the five splits; no training by the Bethe or the exact likelihood or by expectation maximisation",
    needs: &["movielens-100k"],
    run: experiment,
    ..Experiment::of(super::DOCUMENT)
};

const OUTPERFORMS: Source = thesis(
    "9.8",
    "The item field model outperforms the other neighbourhood methods when sparse (10 neighbour) models are used",
);
const DEGRADES: Source = thesis(
    "9.8",
    "Increasing the neighbourhood size past roughly 10 actually starts to degrade the performance of the item field model",
);

/// The five splits as published, or five of generated tastes.
pub(super) fn folds(context: &Context) -> Result<(Vec<(Ratings, Ratings)>, bool), Failure> {
    let count = context.pick(2, 5);
    if let Some(files) = context.files("movielens-100k") {
        let read = |path: &std::path::Path| -> Result<Ratings, Failure> {
            let text = std::fs::read_to_string(path)?;
            let mut list = Vec::new();
            for line in text.lines() {
                let fields: Vec<&str> = line.split('\t').collect();
                let [user, item, rating, ..] = fields.as_slice() else {
                    return Err(Failure::new("a line of ratings has fewer than three columns"));
                };
                let (user, item): (u32, u32) = (user.parse()?, item.parse()?);
                let below =
                    |v: u32| v.checked_sub(1).ok_or_else(|| Failure::new("ids count from 1"));
                list.push((below(user)?, below(item)?, rating.parse()?));
            }
            Ok(Ratings::new(943, 1682, list)?)
        };
        let pairs = files.chunks(2).take(count).filter(|pair| pair.len() == 2);
        let folds: Result<Vec<_>, Failure> =
            pairs.map(|pair| Ok((read(&pair[0])?, read(&pair[1])?))).collect();
        return Ok((folds?, true));
    }
    let mut folds = Vec::new();
    for fold in 0..count as u64 {
        let mut rng = stream(context.seed, fold);
        let (mut train, mut test) = (Vec::new(), Vec::new());
        for user in 0..200 {
            let taste: f64 = 3.0 * rng.random::<f64>() - 1.5;
            for item in 0..100 {
                let sign = if item % 2 == 0 { 1.0 } else { -1.0 };
                let rating = (3.0 + sign * taste + 2.0 * rng.random::<f64>() - 1.0).round();
                match rng.random_range(0..10) {
                    0..2 => train.push((user, item, rating.clamp(1.0, 5.0))),
                    2 => test.push((user, item, rating.clamp(1.0, 5.0))),
                    _ => {}
                }
            }
        }
        folds.push((Ratings::new(200, 100, train)?, Ratings::new(200, 100, test)?));
    }
    Ok((folds, false))
}

/// A recommender of the table.
enum Method {
    Field(usize, Training),
    /// Whether the graph is the same for all users.
    Cosine(bool),
    LeastSquares(usize),
    Factors,
    Means,
}

impl Method {
    /// The mean absolute error on the test part, and the seconds of the training without the graph of similar films.
    fn run(&self, train: &Ratings, test: &Ratings, seed: u64) -> Result<(f64, f64), Failure> {
        let clock = Instant::now();
        Ok(match self {
            Method::Field(neighbours, training) => {
                let (neighbours, training) = (*neighbours, training.clone());
                let field = ItemField { neighbours, training, ..ItemField::default() };
                let graph = field.graph(train)?;
                let clock = Instant::now();
                let model = field.train(&graph, train.range())?;
                let seconds = clock.elapsed().as_secs_f64();
                (model.mean_absolute_error(train, test)?, seconds)
            }
            Method::Cosine(fixed) => (cosine(train, test, 10, *fixed)?, 0.0),
            Method::LeastSquares(neighbours) => {
                let sgd = SgdSettings { passes: 25, step: 0.005, decay: 1.0, l2: 0.002, seed };
                let model = NeighbourhoodModel::fit(train, *neighbours, &sgd)?;
                let seconds = clock.elapsed().as_secs_f64();
                (model.mean_absolute_error(train, test)?, seconds)
            }
            Method::Factors => {
                let sgd = SgdSettings { passes: 30, step: 0.01, decay: 0.95, l2: 0.08, seed };
                let model = FactorModel::fit(train, 50, &sgd)?;
                let seconds = clock.elapsed().as_secs_f64();
                (model.mean_absolute_error(train, test)?, seconds)
            }
            Method::Means => (item_means(train, test)?, 0.0),
        })
    }
}

/// The mean absolute error, and the mean log-density of the held-out ratings under the conditional normal laws, of item fields
/// without and with steps of expectation maximisation. Ratings that no known one reaches have no density and are left out.
fn expectations(train: &Ratings, test: &Ratings) -> Result<[(f64, f64); 2], Failure> {
    let one = |expectations| -> Result<_, Failure> {
        let model = ItemField { expectations, ..ItemField::default() }.fit(train)?;
        let (mut density, mut count) = (0.0, 0.0);
        for (user, means) in model.predict_all(train)?.iter().enumerate() {
            // Ten ratings of a user: a variance costs a system of equations.
            for &(item, rating) in test.of_user(user).iter().take(10) {
                let variance = model.variance(item, train.of_user(user))?;
                if variance.is_finite() {
                    let away = rating - means[item as usize];
                    density -= 0.5 * (away * away / variance + (TAU * variance).ln());
                    count += 1.0;
                }
            }
        }
        Ok((model.mean_absolute_error(train, test)?, density / count))
    };
    Ok([one(0)?, one(3)?])
}

const EM: &str = "expectation maximisation";

/// The two sentences about expectation maximisation, over the splits.
fn of_expectation(
    context: &Context,
    folds: &[(Ratings, Ratings)],
    outcome: &mut Outcome,
) -> Result<[Claim; 2], Failure> {
    let mut columns: [Vec<f64>; 4] = Default::default();
    for (train, test) in folds {
        context.check()?;
        let [means, expected] = expectations(train, test)?;
        let expected = if context.is_frozen(EM) { means } else { expected };
        for (column, value) in columns.iter_mut().zip([means.0, expected.0, means.1, expected.1]) {
            column.push(value);
        }
    }
    let gains: Vec<f64> = columns[0].iter().zip(&columns[1]).map(|(m, e)| m - e).collect();
    let (gain, error) = mean_and_error(&gains);
    let [mean_error, em_error, mean_density, em_density] = columns;
    let samples = |a, b| Ok::<_, Failure>((Sample::over_seeds(a)?, Sample::over_seeds(b)?));
    let (errors, em_errors) = samples(mean_error, em_error)?;
    let (densities, em_densities) = samples(mean_density, em_density)?;
    let mut table = Table::new(
        "Missing ratings, k = 10: medians (least to largest) over the splits",
        ["missing ratings count as", "mean absolute error", "log-density of a held-out rating"],
    );
    table.push(["means of films".into(), errors.to_string().into(), densities.to_string().into()]);
    let steps = "expected under the model, 3 steps";
    table.push(row![steps, em_errors.to_string(), em_densities.to_string()]);
    outcome.table(table);
    let better = densities.below(&em_densities);
    Ok([
        thesis("9.10.1", "we explored an Expectation-Maximisation (EM) approach, which did not result in a significant improvement in the predictions made")
            .claim("three steps of expectation maximisation do not improve the error significantly")
            .rests_on([EM])
            .document("not significant: the mean gain over five splits is below 2.13 of its standard errors (one-sided 5 %); the steps improve the densities")
            .holds(
                Judged::from((
                    format!("{gain:.5} with standard error {error:.5}; {em_errors} against {errors}"),
                    gain < 2.13 * error,
                ))
                .and(better.clone()),
            ),
        thesis("9.10.1", "It [Expectation-Maximisation] did however give better prediction covariances.")
            .claim("held-out ratings have a larger density with expectation maximisation")
            .rests_on([EM])
            .document("larger mean log-density under the conditional variances, in the median over the splits")
            .holds(better),
    ])
}

const ENTROPY: &str = "maximum entropy, k = 10";
const PRINTED: &str = "maximum entropy as printed, k = 10";
const ENTROPY_50: &str = "maximum entropy, k = 50";
const PRINTED_50: &str = "maximum entropy as printed, k = 50";
const SQUARES: &str = "least-squares neighbours, k = 10";
const COSINE: &str = "cosine on a fixed graph, k = 10";
const FACTORS: &str = "latent factors, 50";

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let (folds, real) = folds(context)?;
    outcome.note("Of table 9.1 the block of MovieLens 100K is repeated; the ratings of the other block, MovieLens 1M, are not at hand.");
    outcome.setting("splits", folds.len()).setting("iterations", 30).setting("ridge", 1e-3);
    let entropy =
        |rule| Training::MaximumEntropy(AscentSettings { rule, ..AscentSettings::default() });
    let corrected = |k| Method::Field(k, entropy(UpdateRule::Corrected));
    let printed = |k| Method::Field(k, entropy(UpdateRule::AsPrinted));
    let mut methods = vec![
        (ENTROPY, corrected(10), "0.7384", "0.12"),
        (PRINTED, printed(10), "0.7384", "0.12"),
        (ENTROPY_50, corrected(50), "0.7439", "1.7"),
        (PRINTED_50, printed(50), "0.7439", "1.7"),
        (SQUARES, Method::LeastSquares(10), "0.7510", "90"),
        (COSINE, Method::Cosine(true), "0.8107", "0"),
        ("cosine among rated films, k = 10", Method::Cosine(false), "", ""),
        (FACTORS, Method::Factors, "0.7321", "215"),
        ("film means", Method::Means, "", ""),
    ];
    if context.size == Size::Full {
        let bethe = |k| Method::Field(k, Training::BetheLikelihood);
        let exact = Method::Field(10, Training::ExactLikelihood);
        methods.extend([
            ("least-squares neighbours, k = 50", Method::LeastSquares(50), "0.7340", "288"),
            ("Bethe likelihood, k = 10", bethe(10), "0.7390", "28"),
            ("Bethe likelihood, k = 50", bethe(50), "", ""),
            ("exact likelihood, k = 10", exact, "0.7398", "99"),
        ]);
    }
    let mut table = Table::new(
        "Mean absolute error in stars and seconds of training, means over the splits. As printed: without the factor 1/2 in the update of the covariances",
        ["method", "error", "in table 9.1", "seconds", "in table 9.1"],
    );
    let mut found = Vec::new();
    for (m, (name, method, error, seconds)) in methods.iter().enumerate() {
        context.progress(m as f64 / methods.len() as f64, name)?;
        let mut sums = [0.0; 2];
        for (train, test) in &folds {
            context.check()?;
            let frozen = context.is_frozen(name);
            let (e, s) =
                if frozen { &Method::Means } else { method }.run(train, test, context.seed)?;
            sums[0] += e / folds.len() as f64;
            sums[1] += s / folds.len() as f64;
        }
        table.push(row![*name, sums[0], *error, sums[1], *seconds]);
        found.push((*name, sums));
    }
    outcome.table(table);
    let of = |name: &str| found.iter().find(|f| f.0 == name).map_or([f64::NAN; 2], |f| f.1);
    let [ten, cosine, squares] = [ENTROPY, COSINE, SQUARES].map(|name| of(name)[0]);
    let [printed, wide, corrected] = [PRINTED, PRINTED_50, ENTROPY_50].map(|name| of(name)[0]);
    let mut claims = vec![
        OUTPERFORMS
            .claim("item fields (maximum entropy) have a smaller error than cosines on a fixed graph and than least squares, all with k = 10 neighbours")
            .rests_on([ENTROPY])
            .document("smaller mean absolute error, in stars, in the mean over the splits")
            .holds((
                format!("item fields (with the factor 1/2) {ten:.4}, cosines {cosine:.4}, least squares {squares:.4}"),
                ten < cosine && ten < squares,
            )),
        DEGRADES
            .claim("with the training as it is printed, fifty neighbours are worse than ten")
            .rests_on([PRINTED])
            .document("larger mean absolute error, in stars")
            .holds((format!("fifty {wide:.4}, ten {printed:.4}"), wide > printed)),
        DEGRADES
            .claim("the same with the factor 1/2 in the training, which the thesis does not print: fifty neighbours are worse than ten")
            .rests_on([ENTROPY])
            .document("larger mean absolute error, in stars")
            .known_failure(
                (format!("fifty {corrected:.4}, ten {ten:.4}"), corrected > ten),
                Reason::checked(
                    "the update of the covariances that the thesis prints lacks a factor 1/2, and the training by the printed update gets worse with more neighbours. What the printed update adds to the error, in stars, \
                     with fifty neighbours, and with ten",
                    format!("{:+.4} and {:+.4}", wide - corrected, printed - ten),
                    wide - corrected > printed - ten,
                ),
            ),
        thesis("9.8", "[The maximum entropy method is] roughly two thousand times faster to train [than latent factors and least-squares neighbours]").claim("an item field is trained faster than the methods that go through the ratings one by one").reported(
            "seconds of least squares (k = 10) and of latent factors, over those of maximum entropy (k = 10); no verdict, since seconds depend on the machine and the implementation",
            format!(
                "least squares {:.0}, latent factors {:.0}",
                of(SQUARES)[1] / of(ENTROPY)[1],
                of(FACTORS)[1] / of(ENTROPY)[1]
            ),
        ),
    ];
    if context.size == Size::Full {
        let bethe = [10, 50].map(|k| of(&format!("Bethe likelihood, k = {k}"))[0]);
        let apart = [bethe[1], wide].map(|error| (error - corrected).abs());
        claims.push(
            thesis("9.8", "We found this [that 50 neighbours are worse than 10] occurred with the other training methods as well.")
                .claim("trained by the Bethe likelihood, fifty neighbours are worse than ten")
                .rests_on(["Bethe likelihood, k = 50"])
                .document("larger mean absolute error, in stars")
                .known_failure(
                    (format!("fifty {:.4}, ten {:.4}", bethe[1], bethe[0]), bethe[1] > bethe[0]),
                    Reason::checked(
                        "two trainings that maximise different criteria, the Bethe likelihood and entropy with the factor 1/2, have nearly the same error with fifty neighbours. Only the printed update has a larger one. \
                         Distances in stars from the error with the factor 1/2: that of the Bethe likelihood, and that of the printed update",
                        apart.map(short).join(" and "),
                        apart[0] < 0.1 * apart[1],
                    ),
                ),
        );
        claims.extend(of_expectation(context, &folds, outcome)?);
    }
    for claim in claims {
        outcome.claim(claim.on_real_data(real, "generated tastes"));
    }
    Ok(())
}
