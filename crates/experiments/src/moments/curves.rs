//! What the experiments share: thresholds, errors of directions, and curves of errors.

use fenchel_moments::{Reduction, synthetic::Problem, trace_error};

use crate::{Axis, Context, Failure, Figure, Sentence, Series, Size, Stated, Table};

pub(super) const SHORT: &str = "Babichev (2019)";

/// Selects the threshold of a claim. A full run uses the threshold of the specification. A quick run has fewer and smaller samples. It
/// uses a wider threshold, which was fixed after the first quick runs.
pub(super) fn sized(context: &Context, sentence: Sentence, full: &str, quick: &str) -> Stated {
    match context.size {
        Size::Full => sentence.specification(full),
        Size::Quick => sentence.ours(quick).fixed_after_a_run(),
    }
}

/// The error of directions that are orthogonal to the true ones. A frozen method gets this error.
pub(super) const NOTHING: f64 = 1.0;

/// The largest error of the worse method of a comparison. With a larger error the method does not work, and the comparison says nothing.
pub(super) const PINNED: f64 = 0.7;

/// The measured error, or [`NOTHING`] if the method is frozen.
pub(super) fn unless_frozen(context: &Context, method: &str, measured: f64) -> f64 {
    if context.is_frozen(method) { NOTHING } else { measured }
}

/// The square trace error of a fit.
pub(super) fn error(problem: &Problem, model: &Reduction) -> Result<f64, Failure> {
    Ok(trace_error(model.directions.view(), problem.directions.view())?)
}

/// The error of a method against the number of samples. Each point is a geometric mean over several data sets.
pub(super) struct Curve {
    pub(super) name: &'static str,
    pub(super) points: Vec<(f64, f64)>,
}

impl Curve {
    pub(super) fn at(&self, n: usize) -> f64 {
        self.points.iter().find(|p| p.0 == n as f64).map_or(f64::NAN, |p| p.1)
    }

    /// The slope of the logarithm of the error against the logarithm of the number of samples, by least squares. Points with fewer than
    /// `from` samples are left out.
    pub(super) fn slope(&self, from: usize) -> f64 {
        let logs: Vec<(f64, f64)> = self
            .points
            .iter()
            .filter(|p| p.0 >= from as f64)
            .map(|p| (p.0.ln(), p.1.ln()))
            .collect();
        let n = logs.len() as f64;
        let (x, y) = logs.iter().fold((0.0, 0.0), |s, p| (s.0 + p.0 / n, s.1 + p.1 / n));
        let top: f64 = logs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
        top / logs.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>()
    }
}

/// Computes one curve per method. `errors` returns the errors of all methods on one data set.
pub(super) fn curves(
    context: &Context,
    names: &[&'static str],
    sizes: &[usize],
    repeats: u64,
    errors: impl Fn(usize, u64) -> Result<Vec<f64>, Failure>,
) -> Result<Vec<Curve>, Failure> {
    let mut curves: Vec<Curve> = names.iter().map(|&name| Curve { name, points: vec![] }).collect();
    for (done, &n) in sizes.iter().enumerate() {
        let mut logs = vec![0.0; names.len()];
        for repeat in 0..repeats {
            context.check()?;
            context.progress(done as f64 / sizes.len() as f64, "draws");
            let errors = errors(n, context.seed + repeat)?;
            for ((log, error), name) in logs.iter_mut().zip(errors).zip(names) {
                *log += unless_frozen(context, name, error).max(1e-300).ln() / repeats as f64;
            }
        }
        for (curve, log) in curves.iter_mut().zip(logs) {
            curve.points.push((n as f64, log.exp()));
        }
    }
    Ok(curves)
}

/// Shows the curves as a figure and as a table.
pub(super) fn figure_and_table(
    title: &str,
    caption: &str,
    axis: Axis,
    curves: &[Curve],
) -> (Figure, Table) {
    let mut figure = Figure::new(title, axis, Axis::log("square trace error")).caption(caption);
    for curve in curves {
        figure = figure.with(Series::line_points(curve.name, curve.points.clone()));
    }
    let head: Vec<&str> = std::iter::once("samples").chain(curves.iter().map(|c| c.name)).collect();
    let mut table = Table::new(format!("{title}: geometric means"), head);
    for (row, point) in curves[0].points.iter().enumerate() {
        let errors = curves.iter().map(|c| c.points[row].1.into());
        table.push(std::iter::once(point.0.into()).chain(errors));
    }
    (figure, table)
}
