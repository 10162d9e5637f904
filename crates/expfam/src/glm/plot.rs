//! Pictures of generalised linear models.

use fenchel_linalg::{AsDesign, Invalid};
use fenchel_plot::{Axis, Colour, Figure, Series};

use super::{GlmModel, GlmSummary, ScalarFamily};
use crate::error::Error;
use crate::quantiles::normal_quantile;

/// The half width of a 95 % interval, in standard errors.
const HALF: f64 = 1.959_963_984_540_054;

impl GlmSummary {
    /// A row for each coefficient but the intercept: the estimate and its 95 % interval (a forest plot).
    pub fn figure(&self) -> Figure {
        let shown: Vec<_> = self.coefficients.iter().filter(|c| c.name != "(intercept)").collect();
        let y = Axis::of_names("", shown.iter().map(|c| c.name.as_str()));
        let interval = |c: &&super::Coefficient| {
            (c.estimate - HALF * c.standard_error, c.estimate + HALF * c.standard_error)
        };
        let rows = Series::rows(
            "",
            shown.iter().map(|c| c.estimate),
            shown.iter().map(interval).collect(),
        );
        let x = Axis::linear(format!("coefficient ({} link), 95 % interval", self.link));
        Figure::new(format!("Coefficients ({} family)", self.family), x, y)
            .with(rows.colour(Colour::Blue))
            .mark(0.0, "")
            .note(format!(
                "{} rows. Points: estimates; lines: 95 % intervals. Dashed line: no effect.",
                self.rows
            ))
    }

    /// [`figure`](Self::figure) as SVG.
    pub fn svg(&self) -> String {
        self.figure().svg()
    }
}

impl<F: ScalarFamily> GlmModel<F> {
    /// Deviance residuals against normal quantiles (a Q-Q plot). They lie near the line if the family fits, except for counts and shares
    /// of few trials, whose residuals are not normal.
    ///
    /// # Errors
    /// As [`predict_natural`](Self::predict_natural); [`Invalid::Length`] for targets or offsets of another length.
    pub fn qq_figure<X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: &[f64],
        offset: Option<&[f64]>,
    ) -> Result<Figure, Error> {
        let mut eta = self.predict_natural(x)?;
        Invalid::check_length("targets", eta.len(), y.len())?;
        if let Some(offset) = offset {
            Invalid::check_length("offset", eta.len(), offset.len())?;
            eta.iter_mut().zip(offset).for_each(|(e, o)| *e += o);
        }
        let scale =
            if self.summary.dispersion > 0.0 { self.summary.dispersion.sqrt() } else { 1.0 };
        let residual = |(&y, &eta): (&f64, &f64)| {
            let size = self.family.deviance_at(y, eta).max(0.0).sqrt() / scale;
            if y < self.family.mean(eta) { -size } else { size }
        };
        let mut residuals: Vec<f64> = y.iter().zip(&eta).map(residual).collect();
        residuals.sort_by(f64::total_cmp);
        let n = residuals.len() as f64;
        let quantile = |k: usize| {
            let below = (k as f64 + 0.5) / n;
            normal_quantile((below, 1.0 - below))
        };
        let points: Vec<(f64, f64)> =
            residuals.iter().enumerate().map(|(k, r)| (quantile(k), *r)).collect();
        let mut targets = y.to_vec();
        targets.sort_by(f64::total_cmp);
        let commonest = targets.chunk_by(|a, b| a == b).map(<[f64]>::len).max().unwrap_or(0);
        let note = if 10 * commonest > targets.len() {
            "The targets take few values: the points leave the dashed line even where the family fits."
        } else {
            "Near the dashed line: the family fits."
        };
        let ends = points.first().zip(points.last()).map_or((0.0, 0.0), |(a, b)| (a.0, b.0));
        let (x, y) = (Axis::linear("normal quantile"), Axis::linear("deviance residual"));
        Ok(Figure::new(format!("Q-Q plot ({} family)", self.summary.family), x, y)
            .note(format!("{n} residuals, sorted. {note}"))
            .with(Series::points("residuals", points))
            .with(Series::line("equal", vec![(ends.0, ends.0), (ends.1, ends.1)]).dashed()))
    }
}
