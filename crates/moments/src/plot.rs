//! Pictures of directions and of index regressions.

use fenchel_plot::{Axis, Colour, Figure, Series};
use ndarray::Array1;

use crate::reduction::Reduction;
use crate::regressor::IndexModel;

impl Reduction {
    /// The share of every eigenvalue in their sum, in absolute value and by size (a scree plot). The directions that are kept are
    /// blue, and the note says which rule kept them.
    pub fn scree(&self) -> Figure {
        let (shares, kept) = (self.explained(), self.components());
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]));
        let ranked = || order.iter().enumerate().map(|(rank, &k)| (k, (rank as f64, shares[k])));
        let of =
            |wanted: bool| ranked().filter(move |r| (r.0 < kept) == wanted).map(|r| r.1).collect();
        let bars = |name: &str, points| Series { points, ..Series::bars(name, []) };
        let whole: f64 = 100.0 * shares.iter().take(kept).sum::<f64>();
        let (x, y) = (
            Axis::of_names("eigenvalues by size", (1..=order.len()).map(|k| k.to_string())),
            Axis::linear("share of the sum of sizes"),
        );
        let title = format!(
            "{}: {kept} of {} directions hold {whole:.0} % of the sum of the eigenvalues' sizes",
            self.method,
            order.len()
        );
        Figure::new(title, x, y)
            .note(format!("{} rows. How many directions are kept: {}.", self.samples, self.rule))
            .with(bars("kept", of(true)).colour(Colour::Blue))
            .with(bars("left out", of(false)).colour(Colour::Soft))
    }

    /// The loadings: a row for each feature, a bar for each direction.
    pub fn figure(&self) -> Figure {
        let names = (0..self.features()).map(|c| self.names.of(c).into_owned());
        let title = format!("{}: directions", self.method);
        let mut figure = Figure::new(title, Axis::linear("loading"), Axis::of_names("", names));
        for (k, (column, share)) in
            self.loadings.columns().into_iter().zip(self.explained()).enumerate()
        {
            let name = format!("direction {}: {:.0} %", k + 1, 100.0 * share);
            figure = figure.with(Series::row_bars(name, column.iter().copied()));
        }
        figure
    }

    /// [`figure`](Self::figure) as SVG.
    pub fn svg(&self) -> String {
        self.figure().svg()
    }
}

impl IndexModel {
    /// The responses against the first index, and with one index the predictions as a curve; with more, the predictions at the rows.
    pub fn figure(&self) -> Figure {
        let (indices, responses) = self.rows();
        let first: Vec<f64> = indices.column(0).to_vec();
        let rows = |y: &[f64]| first.iter().copied().zip(y.iter().copied()).collect::<Vec<_>>();
        let title =
            format!("Response and index: R2 = {:.3} of held-out rows", self.cross_validated_r2);
        let (x, y) =
            (Axis::linear("first index, in standard deviations"), Axis::linear("response"));
        let figure = Figure::new(title, x, y).with(Series::points("responses", rows(responses)));
        let (low, high) = first
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
        if indices.ncols() == 1 && low < high {
            let at = |k: u32| low + (high - low) * f64::from(k) / 120.0;
            let curve = (0..=120)
                .filter_map(|k| Some((at(k), self.at(Array1::from(vec![at(k)]).view()).ok()?)));
            figure.with(Series::line("fitted", curve.collect()))
        } else {
            let fitted: Vec<f64> =
                indices.outer_iter().map(|row| self.at(row).unwrap_or(f64::NAN)).collect();
            figure.with(Series::points("fitted", rows(&fitted)))
        }
    }

    /// [`figure`](Self::figure) as SVG.
    pub fn svg(&self) -> String {
        self.figure().svg()
    }
}
