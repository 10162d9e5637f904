//! This module repeats figure 2-2 of D. Babichev, PhD thesis 2019: the density of the features in two dimensions.

use fenchel_moments::GaussianMixture;
use ndarray::Array2;

use super::thesis;
use crate::{Axis, Context, Experiment, Failure, Figure, Ground, Outcome, Source};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "mo-e1",
    title: "Figure 2-2: the density of the features",
    question: "Which distribution do the features of the experiments mo-e2 to mo-e5, mo-e7 and mo-e8 have?",
    learnt: "That of a mixture of normal laws; nearly all of it is on the square that is shown.",
    run,
    ..Experiment::of(super::DOCUMENT)
};

const CAPTION: Source = thesis(
    "2.5.1",
    "theta = (6/10, 4/10), mu_1 = (-1, ..., -1), mu_2 = (1, ..., 1), Sigma_1 = I_d, Sigma_2 = 2 I_d. Contour lines of this distribution, when d=2 are shown in Figure 2-2.",
);

fn run(_: &Context, outcome: &mut Outcome) -> Result<(), Failure> {
    let density = GaussianMixture::thesis(2)?;
    let (points, side) = (161, 8.0);
    let step = side / (points - 1) as f64;
    let axis: Vec<f64> = (0..points).map(|k| -4.0 + step * k as f64).collect();
    let grid = Array2::from_shape_fn((points * points, 2), |(i, c)| {
        axis[if c == 0 { i % points } else { i / points }]
    });
    let log = density.log_density(grid.view())?;
    let value = |x: f64, y: f64| {
        let at = |v: f64| ((v + 4.0) / step).round() as usize;
        log[at(y) * points + at(x)].exp()
    };
    let figure = Figure::new("Density of two features", Axis::linear("x1"), Axis::linear("x2"))
        .caption("A line joins points of the same density p; the legend has the levels.")
        .with_contours("p", &[0.002, 0.01, 0.03, 0.06, 0.09], (&axis, &axis), value);
    // The trapezoid rule: half weights on the border.
    let half = |k: usize| if k.is_multiple_of(points - 1) { 0.5 * step } else { step };
    let cell = |(i, l): (usize, &f64)| l.exp() * half(i % points) * half(i / points);
    let mass: f64 = log.iter().enumerate().map(cell).sum();
    outcome.figure(figure).claim(
        CAPTION
            .claim("the density of two features is the mixture of normal laws 0.6 N(-1, I) + 0.4 N(1, 2 I)")
            .on(Ground::Exact)
            .reported("share of the probability on the square that is drawn, from -4 to 4; not judged: the sentence defines the distribution", mass),
    );
    Ok(())
}
