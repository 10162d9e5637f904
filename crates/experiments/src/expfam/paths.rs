//! This module repeats figures 5.2 and 5.8 of R. Le Priol, PhD thesis 2021: the distribution of estimates of the mean
//! and the variance of a normal law, and the means of these estimates in the natural and the mean parameters.

use fenchel_expfam::families::Normal;
use fenchel_expfam::risk::normal_map;
use fenchel_expfam::{Family, Prior, Summary};
use fenchel_optim::random::stream;

use super::{LE_PRIOL, le_priol};
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Series, Source};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "ef-4",
    title: "Figures 5.2 and 5.8: estimates of a normal law in mean and in natural parameters",
    question: "Where does the mean of the MAP estimate of a normal law lie, in mean parameters (the thesis: dual space) and in natural parameters (primal space)?",
    learnt: "In mean parameters it lies on the segment from prior to truth, and maximum likelihood (MLE) is unbiased. The mean of the natural parameters belongs to another normal law. Its divergence from the truth is the bias term of the risk.",
    quick: "4,000 trials in the place of 50,000",
    run: experiment,
    ..Experiment::of(LE_PRIOL)
};

const DUAL: Source = le_priol(
    "5.4.2",
    "In dual space [the mean parameters mu], MAP is a scaled version of the MLE (5.11) with expectation E[mu^_n of MAP] =: mu-bar_n (light green), and MLE is unbiased",
);
const PRIMAL: Source = le_priol(
    "5.4.2",
    "In primal space [the natural parameters theta], MAP has expectation theta~_n (red), which intervenes in the bias-variance decomposition (5.30) [E B(mu*; mu^_n) = B(mu*; mu~_n) + E B(mu~_n; mu^_n): risk = bias + variance, with the mean parameters mu~_n that belong to theta~_n]",
);

/// The prior of figure 5.8: four pseudo-observations of mean 1 and second moment 2.
const N0: f64 = 4.0;
const MU0: [f64; 2] = [1.0, 2.0];
const MU: [f64; 2] = [0.0, 1.0];

/// Sums of what is seen in the trials.
#[derive(Default)]
struct Sums {
    map_mean: [f64; 2],
    map_squares: [f64; 2],
    map_natural: [f64; 2],
    mle_mean: [f64; 2],
    mle_squares: [f64; 2],
    clouds: [Vec<(f64, f64)>; 2],
}

fn simulate(context: &Context, n: usize, trials: usize) -> Result<Sums, Failure> {
    let prior = Prior::new(Normal, N0, &MU0)?;
    let truth = Normal.with_mean_variance(0.0, 1.0)?;
    let mut rng = stream(context.seed, n as u64);
    let mut sums = Sums::default();
    for trial in 0..trials {
        let data = Summary::of(Normal, &truth.samples(n, &mut rng))?;
        let map = if context.is_frozen("MAP") { prior.clone() } else { prior.posterior(&data)? };
        let (mean, natural) = (map.mean(), map.map().natural().to_vec());
        // Without data there is the prior's mean.
        let seen = if context.is_frozen("MLE") { None } else { data.mean() };
        let seen = seen.unwrap_or(MU0.to_vec());
        for i in 0..2 {
            let share = 1.0 / trials as f64;
            sums.map_mean[i] += share * mean[i];
            sums.map_squares[i] += share * mean[i] * mean[i];
            sums.map_natural[i] += share * natural[i];
            sums.mle_mean[i] += share * seen[i];
            sums.mle_squares[i] += share * seen[i] * seen[i];
        }
        if trial < 300 {
            sums.clouds[0].push((mean[0], mean[1] - mean[0] * mean[0]));
            sums.clouds[1].push((seen[0], seen[1] - seen[0] * seen[0]));
        }
    }
    Ok(sums)
}

/// Distance of a mean from where it should be, in standard errors; the farther coordinate.
fn errors(mean: [f64; 2], squares: [f64; 2], expected: [f64; 2], trials: usize) -> f64 {
    (0..2)
        .map(|i| {
            let variance = (squares[i] - mean[i] * mean[i]).max(1e-300);
            (mean[i] - expected[i]).abs() / (variance / trials as f64).sqrt()
        })
        .fold(0.0, f64::max)
}

/// One sample of twenty: the estimates from its first n observations, on contours of the divergence from the truth.
fn paths(context: &Context) -> Result<Figure, Failure> {
    let prior = Prior::new(Normal, N0, &MU0)?;
    let draws = Normal.with_mean_variance(0.0, 1.0)?.samples(20, &mut stream(context.seed, 1000));
    let (mut mle, mut map) = (vec![], vec![]);
    for n in 1..=20 {
        let data = Summary::of(Normal, &draws[..n])?;
        let of_prior = prior.posterior(&data)?.mean();
        map.push((of_prior[0], of_prior[1]));
        mle.extend(data.mean().map(|mean| (mean[0], mean[1])));
    }
    let (xs, ys): (Vec<f64>, Vec<f64>) =
        (0..=60).map(|i| (-1.5 + 0.05 * f64::from(i), 0.05 * f64::from(i + 1))).unzip();
    let divergence = |x: f64, square: f64| {
        let mut natural = [0.0; 2];
        let found = Normal.natural(&[x, square], &mut natural);
        if found.is_ok() { Normal.kl(&[0.0, -0.5], &natural) } else { f64::NAN }
    };
    Ok(Figure::new("Estimates as observations come in, one sample (figure 5.8)", Axis::linear("E x"), Axis::linear("E x^2"))
        .caption("Estimates from the first 1 to 20 observations. Other lines: mean parameters with the same Kullback-Leibler divergence from the truth (0, 1), in nats.")
        .with_contours("KL", &[0.02, 0.1, 0.3, 1.0], (&xs, &ys), divergence)
        .with(Series::line_points("MLE", mle))
        .with(Series::line_points("MAP", map)))
}

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let trials = context.pick(4000, 50_000);
    outcome
        .setting("truth", "N(0, 1)")
        .setting("prior", "n0 = 4 pseudo-observations of mean 1 and second moment 2 (mu0)")
        .setting(
            "trials",
            format!("{trials} for each n, each a sample of n observations; one seed"),
        );
    let (mut dual_map, mut dual_mle, mut bias_off) = (0.0_f64, 0.0_f64, 0.0_f64);
    let (mut dual, mut primal) = (vec![], vec![]);
    let mut least_gap = f64::INFINITY;
    for n in [3, 5, 10, 20] {
        context.progress(f64::from(n) / 20.0, "simulating")?;
        let size = f64::from(n);
        let sums = simulate(context, n as usize, trials)?;
        let expected = [0, 1].map(|i| (N0 * MU0[i] + size * MU[i]) / (N0 + size));
        dual_map = dual_map.max(errors(sums.map_mean, sums.map_squares, expected, trials));
        dual_mle = dual_mle.max(errors(sums.mle_mean, sums.mle_squares, MU, trials));
        // The image of the primal mean, and the divergence of the truth to it.
        let mut image = [0.0; 2];
        Normal.mean(&sums.map_natural, &mut image);
        let bias = Normal.kl(&[0.0, -0.5], &sums.map_natural);
        let (_, exact, _) = normal_map(N0, 1.0, 1.0, size);
        bias_off = bias_off.max((bias / exact).log2().abs());
        least_gap = least_gap.min(errors(sums.map_mean, sums.map_squares, image, trials));
        dual.push((sums.map_mean[0], sums.map_mean[1]));
        primal.push((image[0], image[1]));
        if n == 3 {
            let [map, mle] = sums.clouds;
            outcome.figure(
                Figure::new(
                    "Estimates from three observations",
                    Axis::linear("mean"),
                    Axis::log("variance"),
                )
                .caption("One point a trial, the first 300 trials. The truth is at (0, 1), the prior at (1, 1).")
                .with(Series::points("MLE", mle))
                .with(Series::points("MAP", map)),
            );
        }
    }
    outcome.figure(paths(context)?);
    outcome.figure(
        Figure::new("Mean of the MAP estimate for n = 3, 5, 10, 20 (figure 5.2)", Axis::linear("E x"), Axis::linear("E x^2"))
            .caption("mu = (E x, E x^2): mean parameters, eta = (mean, -1/2) / variance: natural parameters (theta in the thesis). The mean of mu lies on the segment from prior to truth; the mu that belongs to the mean of eta does not.")
            .with(Series::line_points("mean of mu", dual))
            .with(Series::line_points("mu of the mean of eta", primal))
            .with(Series::line("segment", vec![(MU0[0], MU0[1]), (MU[0], MU[1])]).dashed()),
    );
    outcome.claim(
        DUAL.claim("the MAP estimate of the mean parameters, (n0 mu0 + n MLE) / (n0 + n), has the mean `(n0 mu0 + n mu*) / (n0 + n)`, with the true mean parameters mu*")
            .rests_on(["MAP"])
            .document("distance from it at most 4.5 standard errors of the simulation, for n = 3, 5, 10 and 20 (shown: the largest; MAP less its mean is a multiple of MLE less its mean, so that this is the number of MLE too)")
            .holds((dual_map, dual_map <= 4.5)),
    );
    outcome.claim(
        DUAL.claim("maximum likelihood is unbiased in the mean parameters")
            .rests_on(["MLE"])
            .document("distance of its mean from mu* at most 4.5 standard errors of the simulation, for n = 3, 5, 10 and 20 (shown: the largest; the number of MAP, as said there)")
            .holds((dual_mle, dual_mle <= 4.5)),
    );
    outcome.claim(
        PRIMAL
            .claim("the divergence B(mu*; mu~_n) of the truth from the mean theta~_n of the natural parameters is the bias term of the risk, and theta~_n belongs to another law than the mean of the mean parameters")
            .rests_on(["MAP"])
            .document("simulated divergence of the truth from theta~_n nearer to the exact bias term (by one-dimensional integrals for the mean of eta, no simulation) than to half or twice of it; the two laws, in mean parameters, more than 4.5 standard errors apart")
            .holds((format!("the simulated bias is off by a factor of {:.3} at most; {least_gap:.1} standard errors apart at least", bias_off.exp2()), bias_off < 0.5 && least_gap > 4.5)),
    );
    Ok(())
}
