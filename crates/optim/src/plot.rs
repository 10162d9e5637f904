//! The picture of a run.

use fenchel_linalg::text::{number, short};
use fenchel_plot::{Axis, Figure, Series};

use crate::{Certificate, Trace};

impl Trace {
    /// What is proved after each pass: the gap or the residual, and with gaps the distance to the best lower bound of the whole run,
    /// which bounds how far the objective was from the optimum.
    pub fn figure(&self) -> Figure {
        let bound = |certificate: &Certificate| match *certificate {
            Certificate::Gap { lower_bound, .. } => Some(lower_bound),
            _ => None,
        };
        let best = self.rows.iter().filter_map(|row| bound(&row.certificate));
        let best = best.fold(f64::NEG_INFINITY, f64::max);
        let of = |wanted: fn(&Certificate) -> bool| {
            let rows = self.rows.iter().filter(move |row| wanted(&row.certificate));
            rows.map(|row| (row.passes, row.certificate.value())).collect::<Vec<_>>()
        };
        let curves = [
            ("gap", of(|c| matches!(c, Certificate::Gap { .. }))),
            ("residual", of(|c| matches!(c, Certificate::Residual { .. }))),
            ("objective, above best bound", self.suboptimality(best)),
        ];
        let kept = curves.into_iter().filter(|(_, points)| points.iter().any(|p| p.1.is_finite()));
        let x = Axis::linear("passes over the data");
        let title = match self.rows.last() {
            Some(row) if row.certificate.value().is_finite() => format!(
                "What is proved of the run: {} after {} passes",
                number(row.certificate.value(), 2),
                short(row.passes)
            ),
            _ => "What is proved of the run".into(),
        };
        let mut figure = Figure::new(title, x, Axis::log("units of the objective"))
            .note("Gap: how far the objective is from the optimum at most.");
        figure.series.extend(kept.map(|(name, points)| Series::line(name, points)));
        figure
    }

    /// [`figure`](Self::figure) as SVG.
    pub fn svg(&self) -> String {
        self.figure().svg()
    }
}
