//! Pictures of paths and cross-validations.

use fenchel_linalg::text::short;
use fenchel_plot::{Axis, Colour, Figure, Series};

use crate::estimators::CrossValidated;
use crate::path::Path;

/// Features whose curves have names and colours.
const NAMED: usize = 8;

impl Path {
    /// The weight of every feature against the penalty, from the largest penalty on the left. The eight largest weights of the last
    /// point have names; the others are grey.
    pub fn figure(&self) -> Figure {
        let last: Vec<f64> = self.points.last().map_or(vec![], |p| p.dense(self.features).weights);
        let mut used: Vec<usize> =
            self.points.iter().flat_map(|p| p.support.iter().copied()).collect();
        used.sort_unstable();
        used.dedup();
        let size = |c: usize| last.get(c).map_or(0.0, |w| w.abs());
        used.sort_by(|&a, &b| size(b).total_cmp(&size(a)));
        let curve = |c: usize| {
            let weight = |at: Result<usize, usize>, weights: &[f64]| at.map_or(0.0, |k| weights[k]);
            let points = self.points.iter();
            points.map(|p| (p.penalty, weight(p.support.binary_search(&c), &p.weights))).collect()
        };
        let enters = |c: &usize| self.points.iter().position(|p| p.support.contains(c));
        let title = match used.iter().copied().min_by_key(enters) {
            Some(first) => format!("Weights along the path: {} enters first", self.names.of(first)),
            None => "Weights along the path: all are 0".into(),
        };
        let x = Axis::log("penalty").falling();
        let mut figure = Figure::new(title, x, Axis::linear("weight")).note(format!(
            "A line for each of {} features; {} are not 0 at the smallest penalty.",
            self.features,
            self.points.last().map_or(0, |p| p.support.len())
        ));
        for (rank, &c) in used.iter().enumerate().rev() {
            let series = if rank < NAMED {
                Series::line(self.names.of(c), curve(c))
            } else {
                // One of them is in the legend for all.
                let name = if rank == NAMED { "others" } else { "" };
                Series::line(name, curve(c)).colour(Colour::Rule)
            };
            figure = figure.with(series);
        }
        figure
    }

    /// [`figure`](Self::figure) as SVG.
    pub fn svg(&self) -> String {
        self.figure().svg()
    }
}

impl<M> CrossValidated<M> {
    /// The mean score of every penalty with one standard error on either side, a curve for each share of the l1 norm. The best penalty
    /// and that of the rule of one standard error are marked. A warning says if the best is at the end of the grid.
    pub fn figure(&self) -> Figure {
        let x = Axis::log("penalty").falling();
        let y = Axis::linear("score of held-out rows, smaller is better");
        let title = match self.scores.get(self.best) {
            Some(best) => format!("Cross-validation: the best penalty is {}", short(best.penalty)),
            None => "Cross-validation".into(),
        };
        let mut figure = Figure::new(title, x, y)
            .note("Points: means over the folds. Around them: one standard error of the mean.");
        let parts = self.scores.chunk_by(|a, b| a.l1_ratio == b.l1_ratio);
        for part in parts {
            let name = format!("l1 ratio = {}", part[0].l1_ratio);
            let name = if part.len() == self.scores.len() { String::new() } else { name };
            let points = part.iter().map(|s| (s.penalty, s.mean)).collect();
            let band = part.iter().map(|s| (s.mean - s.standard_error, s.mean + s.standard_error));
            let series = Series::line_points(name, points);
            let own = self.scores.get(self.best).is_some_and(|s| s.l1_ratio == part[0].l1_ratio);
            figure = figure.with(if own { series.band(band.collect()) } else { series });
        }
        let marks = [(self.best, "best"), (self.one_standard_error, "one standard error")];
        for (k, word) in marks {
            if let Some(score) = self.scores.get(k) {
                figure = figure.mark(score.penalty, word);
            }
        }
        figure.warning(self.end_of_grid().map(str::to_owned))
    }

    /// [`figure`](Self::figure) as SVG.
    pub fn svg(&self) -> String {
        self.figure().svg()
    }
}
