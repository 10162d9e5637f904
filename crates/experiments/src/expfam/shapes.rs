//! This module repeats figures 5.4, 5.6, 5.7 and 5.9 of R. Le Priol, PhD thesis 2021: plots of the functions that
//! occur in the bounds.

use fenchel_expfam::Family;
use fenchel_expfam::families::{Exponential, Normal};
use fenchel_expfam::selfconcordance::{RADIUS, w};

use super::{LE_PRIOL, le_priol};
use crate::{Axis, Context, Experiment, Failure, Figure, Outcome, Series, Source};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "ef-5",
    title: "Figures 5.4, 5.6, 5.7 and 5.9: functions in the bounds of the risk",
    question: "Have the functions in the bounds of the risk the shapes and the crossing that the thesis states?",
    learnt: "They have. The divergence phi is infinite at 0, and the quadratic bound w*(t / (1 - t)) <= t^2 holds up to t = 0.2153.",
    run: experiment,
    ..Experiment::of(LE_PRIOL)
};

const UPPER: Source = le_priol(
    "5.A.2",
    "Illustration of phi(z) (orange) and its upper bound phi(z) + phi(z^(-1)) (grey). They both are barriers near 0.",
);
const MAPS: Source = le_priol(
    "5.B",
    "Visualizations of the Gaussian mirror-map. (top) Grid deformation produce by grad A(theta). (bottom) Grid deformation produced by grad A*(mu).",
);

fn experiment(context: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    context.check()?;
    // phi(z) is the divergence of exponential laws whose rates have the ratio z.
    let phi = |z: f64| Exponential.kl(&[-1.0], &[-z]);
    let grid: Vec<f64> = (-60..=60).map(|i| 10f64.powf(f64::from(i) / 20.0)).collect();
    let upper = |z: f64| (z - 1.0) * (z - 1.0) / z;
    let identity = grid
        .iter()
        .filter(|z| **z != 1.0)
        .map(|&z| ((phi(z) + phi(1.0 / z)) / upper(z) - 1.0).abs())
        .fold(0.0, f64::max);
    let below = grid.iter().all(|&z| phi(z) <= upper(z) * (1.0 + 1e-14));
    let curve = |f: &dyn Fn(f64) -> f64| grid.iter().map(|&z| (z, f(z))).collect::<Vec<_>>();
    outcome.figure(
        Figure::new(
            "The divergence phi and its bound (figure 5.4)",
            Axis::log("ratio z of two rates"),
            Axis::log("nats").limits(1e-3, 1e3),
        )
        .caption("phi(z) is the Kullback-Leibler divergence of two exponential laws.")
        .with(Series::line("phi(z) = z - 1 - log z", curve(&phi)))
        .with(Series::line("phi(z) + phi(1/z)", curve(&upper)).dashed()),
    );
    outcome.claim(
        UPPER
            .claim("the divergence phi is at most its bound: `phi(z) <= phi(z) + phi(1/z) = (z - 1)^2 / z`")
            .document("inequality and identity for z from 1e-3 to 1e3 (shown: largest relative deviation from the identity, 1e-12 allowed)")
            .exact((identity, below && identity <= 1e-12)),
    );
    let barrier = phi(1e-300);
    outcome.claim(
        UPPER
            .claim("phi and its bound grow without limit near z = 0")
            .document("phi(1e-300) above 600 (shown), the bound above 1e299")
            .exact((barrier, barrier > 600.0 && upper(1e-300) > 1e299)),
    );

    let ts: Vec<f64> = (1..=90).map(|i| f64::from(i) / 200.0).collect();
    let composed = |t: f64| w(t / (1.0 - t));
    let sides = |t: f64| composed(t) - t * t;
    outcome.figure(
        Figure::new("w*(t / (1 - t)) and its bound t^2", Axis::linear("t"), Axis::linear("value"))
            .caption("The bound holds left of the crossing.")
            .with(Series::line("w*(t / (1 - t))", ts.iter().map(|&t| (t, composed(t))).collect()))
            .with(Series::line("t^2", ts.iter().map(|&t| (t, t * t)).collect()).dashed()),
    );
    let to_one: Vec<f64> = (1..=95).map(|i| f64::from(i) / 100.0).collect();
    outcome.figure(
        Figure::new("w and its convex conjugate w*", Axis::linear("t"), Axis::linear("value"))
            .with(Series::line(
                "w(t) = t - ln(1 + t)",
                to_one.iter().map(|&t| (t, t - t.ln_1p())).collect(),
            ))
            .with(Series::line(
                "w*(t) = -t - ln(1 - t)",
                to_one.iter().map(|&t| (t, w(t))).collect(),
            )),
    );
    let crossing = ts.iter().all(|&t| (sides(t) < 0.0) == (t < RADIUS));
    let off = sides(RADIUS).abs();
    outcome.claim(
        le_priol("5.D", "The two curves [w*(t / (1 - t)) and t^2] cross each other at t ~ 0.21.")
            .claim("w*(t / (1 - t)) and t^2 cross once, at t = 0.2153")
            .document("0.21 when cut to two digits; there the two are equal to 1e-9, below it the first is smaller, above it larger")
            .exact((RADIUS, crossing && off <= 1e-9 && (0.21..0.22).contains(&RADIUS))),
    );

    // The mirror map of a normal law, on a grid of natural parameters, and back.
    let mut figure =
        Figure::new("Mean parameters of a normal law on a grid of its natural parameters", Axis::linear("E x"), Axis::linear("E x^2"))
            .caption("Solid lines: constant eta_1 = mean / variance. Dashed: constant eta_2 = -1 / (2 variance).");
    let mut worst = 0.0_f64;
    let image = |e1: f64, e2: f64| {
        let mut mu = [0.0; 2];
        Normal.mean(&[e1, e2], &mut mu);
        (mu[0], mu[1])
    };
    for i in -4..=4 {
        let e1 = 0.5 * f64::from(i);
        let along = (0..=40).map(|j| image(e1, -0.3 - 1.7 * (f64::from(j) / 40.0))).collect();
        figure = figure.with(Series::line(format!("eta_1 = {e1}"), along));
    }
    for i in 1..=4 {
        let e2 = -0.3 * f64::from(i);
        let along = (-20..=20).map(|j| image(0.1 * f64::from(j), e2)).collect();
        figure = figure.with(Series::line(format!("eta_2 = {e2:.1}"), along).dashed());
        for j in -20..=20 {
            let eta = [0.1 * f64::from(j), e2];
            let mut back = [0.0; 2];
            let (mean, square) = image(eta[0], eta[1]);
            Normal.natural(&[mean, square], &mut back)?;
            worst = worst.max((back[0] - eta[0]).abs().max((back[1] - eta[1]).abs()));
        }
    }
    outcome.figure(figure);
    let mut back = Figure::new(
        "Natural parameters of a normal law on a grid of its mean parameters",
        Axis::linear("eta_1").limits(-4.0, 4.0),
        Axis::linear("eta_2"),
    )
    .caption("Solid lines: constant E x. Dashed: constant E x^2.");
    let natural = |mean: f64, square: f64| {
        let mut eta = [f64::NAN; 2];
        // Outside of the means of normal laws there is no image.
        let _ = Normal.natural(&[mean, square], &mut eta);
        (eta[0], eta[1])
    };
    for i in -2..=2 {
        let mean = 0.5 * f64::from(i);
        let along = (1..=60).map(|j| natural(mean, mean * mean + 0.05 * f64::from(j))).collect();
        back = back.with(Series::line(format!("E x = {mean}"), along));
    }
    for i in 1..=4 {
        let square = 0.5 * f64::from(i);
        let ends = square.sqrt() * 0.95;
        let along = (-40..=40).map(|j| natural(ends * f64::from(j) / 40.0, square)).collect();
        back = back.with(Series::line(format!("E x^2 = {square}"), along).dashed());
    }
    outcome.figure(back);
    let (xs, ys): (Vec<f64>, Vec<f64>) =
        (0..=80).map(|i| (-2.0 + 0.05 * f64::from(i), -2.0 + 0.024 * f64::from(i))).unzip();
    outcome.figure(
        Figure::new("The log-partition function A of a normal law", Axis::linear("eta_1"), Axis::linear("eta_2"))
            .caption("A line joins natural parameters with the same A(eta) = eta_1^2 / (-4 eta_2) - log(-eta_2) / 2; the legend has the levels.")
            .with_contours("A", &[-0.25, 0.0, 0.5, 1.0, 2.0, 4.0], (&xs, &ys), |e1, e2| {
                e1 * e1 / (-4.0 * e2) - 0.5 * (-e2).ln()
            }),
    );
    let squares: Vec<f64> = (1..=80).map(|i| 0.05 * f64::from(i)).collect();
    outcome.figure(
        Figure::new("The conjugate A* of the log-partition function of a normal law", Axis::linear("E x"), Axis::linear("E x^2"))
            .caption("A line joins mean parameters with the same A*(mu) = -log(E x^2 - (E x)^2) / 2, the negative entropy up to a constant; the legend has the levels.")
            .with_contours("A*", &[-0.5, -0.25, 0.0, 0.5, 1.0], (&xs, &squares), |m, s| {
                -0.5 * (s - m * m).ln()
            }),
    );
    outcome.claim(
        MAPS.claim("the two drawn maps of a normal law, from natural to mean parameters (grad A) and back (grad A*), undo each other")
            .document("largest deviation on the grid at most 1e-12, the rounding")
            .exact((worst, worst <= 1e-12)),
    );
    Ok(())
}
