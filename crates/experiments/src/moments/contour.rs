//! This module repeats figure 2-2 of D. Babichev, PhD thesis 2019: the density of the features in two dimensions.

use fenchel_moments::GaussianMixture;
use ndarray::Array2;

use super::DOCUMENT;
use super::curves::SHORT;
use crate::{Axis, Context, Experiment, Failure, Figure, Ground, Outcome, Series, Source};

pub(super) const EXPERIMENT: Experiment = Experiment {
    id: "mo-e1",
    file: file!(),
    document: DOCUMENT,
    title: "Figure 2-2: contour lines of the mixture",
    question: "What do the features of the experiments look like?",
    learnt: "A mixture whose mass is on the square that is shown.",
    quick: "",
    needs: &[],
    run,
};

const CAPTION: Source =
    Source::quoted(SHORT, "Figure 2-2", "Contour lines of Gaussian mixture pdf in 2D case.");

fn run(_: &Context) -> Result<Outcome, Failure> {
    let density = GaussianMixture::thesis(2)?;
    let (points, side) = (161, 8.0);
    let step = side / (points - 1) as f64;
    let at = |k: usize| -4.0 + step * k as f64;
    let grid = Array2::from_shape_fn((points * points, 2), |(i, c)| {
        at(if c == 0 { i % points } else { i / points })
    });
    let log = density.log_density(grid.view())?;
    let value = |i: usize, j: usize| log[j * points + i].exp();
    let mut figure = Figure::new("Density of the features", Axis::linear("x1"), Axis::linear("x2"))
        .caption("Points at which the density crosses a level, on a grid of 161 x 161.");
    for level in [0.002, 0.01, 0.03, 0.06, 0.09] {
        let mut crossings = vec![];
        for j in 0..points {
            for i in 0..points - 1 {
                let (a, b) = (value(i, j) - level, value(i + 1, j) - level);
                if a * b < 0.0 {
                    crossings.push((at(i) + step * a / (a - b), at(j)));
                }
                let (a, b) = (value(j, i) - level, value(j, i + 1) - level);
                if a * b < 0.0 {
                    crossings.push((at(j), at(i) + step * a / (a - b)));
                }
            }
        }
        figure = figure.with(Series::points(format!("p = {level}"), crossings));
    }
    let mass: f64 = log.iter().map(|l| l.exp() * step * step).sum();
    let mut outcome = Outcome::default();
    outcome.figure(figure).claim(
        CAPTION
            .claim("the density of the features")
            .on(Ground::Exact)
            .reported("share of the mass on the square shown", mass),
    );
    Ok(outcome)
}
