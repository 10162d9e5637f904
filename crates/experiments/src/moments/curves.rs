//! What the experiments share: errors of directions, and curves of errors.

use fenchel_moments::{Reduction, synthetic::Problem, trace_error};

use crate::numbers::{median, range};
use crate::race::{exponent, with_winner};
use crate::{Axis, Cell, Context, Failure, Figure, Judged, Series, Table};
use fenchel_linalg::text::short;

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

/// The errors of a method against the number of samples, one number per draw.
pub(super) struct Curve {
    pub(super) name: &'static str,
    sizes: Vec<f64>,
    errors: Vec<Vec<f64>>,
}

impl Curve {
    /// The medians over the draws.
    pub(super) fn points(&self) -> Vec<(f64, f64)> {
        let medians = self.errors.iter().map(|e| median(e.iter().copied()));
        self.sizes.iter().copied().zip(medians).collect()
    }

    /// The median at the last number of samples.
    pub(super) fn end(&self) -> f64 {
        self.points().last().map_or(f64::NAN, |p| p.1)
    }

    /// The slope of the logarithm of the median error against the logarithm of the number of samples, by least squares.
    pub(super) fn slope(&self) -> f64 {
        exponent(&self.points())
    }

    /// Tests at every size that the median error is smaller than that of the other.
    pub(super) fn below(&self, other: &Curve) -> Judged {
        self.compared(other, self.sizes.len())
    }

    /// Tests the same at more than half of the sizes.
    pub(super) fn mostly_below(&self, other: &Curve) -> Judged {
        self.compared(other, self.sizes.len() / 2 + 1)
    }

    fn compared(&self, other: &Curve, least: usize) -> Judged {
        let pairs: Vec<_> = self.points().into_iter().zip(other.points()).collect();
        let shown: Vec<String> = pairs
            .iter()
            .map(|(a, b)| format!("{} / {} at {}", short(a.1), short(b.1), a.0))
            .collect();
        let holds = pairs.iter().filter(|(a, b)| a.1 < b.1).count() >= least;
        Judged::from((format!("{} / {}: {}", self.name, other.name, shown.join(", ")), holds))
    }
}

/// Powers of two from 2^10 on: all to 2^16, or three to 2^14.
pub(super) fn sizes(context: &Context) -> Vec<usize> {
    context.pick(&[10, 12, 14][..], &[10, 11, 12, 13, 14, 15, 16]).iter().map(|p| 1 << p).collect()
}

/// Computes one curve per method. `errors` returns the errors of all methods on one data set.
pub(super) fn curves(
    context: &Context,
    names: &[&'static str],
    sizes: &[usize],
    repeats: u64,
    errors: impl Fn(usize, u64) -> Result<Vec<f64>, Failure>,
) -> Result<Vec<Curve>, Failure> {
    let all: Vec<f64> = sizes.iter().map(|&n| n as f64).collect();
    let mut curves: Vec<Curve> = names
        .iter()
        .map(|&name| Curve { name, sizes: all.clone(), errors: vec![vec![]; sizes.len()] })
        .collect();
    for (k, &n) in sizes.iter().enumerate() {
        for repeat in 0..repeats {
            context.progress(k as f64 / sizes.len() as f64, "draws")?;
            let errors = errors(n, context.seed + repeat)?;
            for (curve, error) in curves.iter_mut().zip(errors) {
                curve.errors[k].push(unless_frozen(context, curve.name, error));
            }
        }
    }
    Ok(curves)
}

/// Shows the curves as a figure, and with their deviations as a table.
pub(super) fn figure_and_table(
    title: &str,
    caption: &str,
    axis: Axis,
    curves: &[Curve],
) -> (Figure, Table) {
    let column = axis.label.clone();
    let draws = curves[0].errors.iter().map(Vec::len).max().unwrap_or(0);
    let mut figure =
        Figure::new(title, axis, Axis::log("error of the directions (1: nothing found)"))
            .note(format!("Points: medians over {draws} draws of generated data."))
            .caption(caption);
    for curve in curves {
        figure = figure.with(Series::line_points(curve.name, curve.points()));
    }
    let head = std::iter::once(column).chain(curves.iter().map(|c| c.name.to_owned()));
    let mut table = Table::new(format!("{title}: trace error, median (least to largest)"), head);
    for (row, size) in curves[0].sizes.iter().enumerate() {
        let cells = curves.iter().map(|c| {
            let [least, middle, largest] = range(c.errors[row].iter().copied()).map(short);
            Cell::from(format!("{middle} ({least} to {largest})"))
        });
        table.push(std::iter::once((*size).into()).chain(cells));
    }
    (with_winner(figure), table)
}
