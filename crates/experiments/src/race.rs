//! Convergence curves of several methods: the suboptimality `F - F*` against the number of passes over the data. The functions
//! of this module record the curves, read times and slopes from them, and make tables and figures.

use std::ops::ControlFlow;

use fenchel_optim::{Observer, Progress};

use crate::numbers::mean;
use crate::{Axis, Context, Failure, Figure, Series, Table};
use fenchel_linalg::text::short;

/// The suboptimality of a method after each pass over the data.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
}

/// What an observer of a run sees.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) passes: f64,
    pub(crate) objective: f64,
    pub(crate) gap: f64,
}

/// An observer that records what it sees, and ends the run if the user asks for it.
pub(crate) struct Watch<'c, 'd> {
    context: &'c Context<'d>,
    pub(crate) rows: Vec<Seen>,
}

impl<'c, 'd> Watch<'c, 'd> {
    pub(crate) fn new(context: &'c Context<'d>) -> Self {
        Watch { context, rows: vec![] }
    }
}

impl<M: ?Sized> Observer<M> for Watch<'_, '_> {
    fn observe(&mut self, progress: &Progress, _: &M) -> ControlFlow<()> {
        let objective = progress.certificate.objective().unwrap_or(f64::INFINITY);
        let (passes, gap) = (progress.passes, progress.certificate.value());
        self.rows.push(Seen { passes, objective, gap });
        self.context.control()
    }
}

/// The geometric mean of the suboptimality of several runs, row by row. A run that has ended keeps its last objective.
pub(crate) fn geometric_mean(runs: &[Vec<Seen>], best: f64) -> Vec<(f64, f64)> {
    let longest = runs.iter().map(Vec::len).max().unwrap_or(0);
    (0..longest)
        .filter_map(|k| {
            let passes = runs.iter().find_map(|run| run.get(k))?.passes;
            let mut log = 0.0;
            for run in runs {
                let objective = run.get(k).or(run.last())?.objective;
                // What is no number any more has overflowed.
                let gap = if objective.is_nan() { f64::INFINITY } else { objective - best };
                log += gap.max(0.0).ln();
            }
            Some((passes, (log / runs.len() as f64).exp()))
        })
        .collect()
}

/// Formats a number of passes. An infinite number is shown as "never".
pub(crate) fn in_passes(count: f64) -> String {
    if count.is_finite() { short(count) } else { "never".into() }
}

impl Curve {
    /// The suboptimality after a number of passes: the value of the last row at or before this number.
    pub(crate) fn at(&self, passes: f64) -> f64 {
        let row = self.points.iter().rev().find(|(p, _)| *p <= passes + 1e-9);
        row.map_or(f64::INFINITY, |row| row.1)
    }

    /// The number of passes until the suboptimality reaches `target`, interpolated on the log scale; infinite if the target is
    /// not reached.
    pub(crate) fn passes_to(&self, target: f64) -> f64 {
        cost_to(self.points.iter().copied(), target)
    }

    /// The decrease of the suboptimality in decades per pass, between two numbers of passes. The interval ends early where the
    /// suboptimality reaches 1e-12, the level of rounding errors.
    pub(crate) fn slope(&self, from: f64, to: f64) -> f64 {
        let end = to.min(self.passes_to(1e-12).floor());
        (self.at(from) / self.at(end)).log10() / (end - from)
    }

    pub(crate) fn series(&self) -> Series {
        Series::line_points(self.name, self.points.clone())
    }
}

/// The cost at which the suboptimality first reaches `target`, interpolated on the log scale; infinite if it does not. `points`
/// are pairs of a cost and a suboptimality.
pub(crate) fn cost_to(points: impl Iterator<Item = (f64, f64)>, target: f64) -> f64 {
    let mut before: Option<(f64, f64)> = None;
    for (cost, gap) in points {
        if gap <= target {
            return match before {
                Some((from, high)) if gap > 0.0 && high.is_finite() => {
                    from + (cost - from) * (high / target).ln() / (high / gap).ln()
                }
                _ => cost,
            };
        }
        before = Some((cost, gap));
    }
    f64::INFINITY
}

/// The exponent `b` of a power law `y = a x^b`, from a least-squares line through the points `(ln x, ln y)`.
pub(crate) fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let (mx, my) = (mean(logs.iter().map(|p| p.0)), mean(logs.iter().map(|p| p.1)));
    let over: f64 = logs.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
    over / logs.iter().map(|p| (p.0 - mx).powi(2)).sum::<f64>()
}

/// A figure of suboptimalities against passes.
pub(crate) fn figure(title: String, y: Axis, curves: impl Iterator<Item = Series>) -> Figure {
    let figure = Figure::new(title, Axis::linear("passes over the data"), y);
    with_winner(curves.fold(figure, Figure::with))
}

/// Says in the title which curve reaches the lower end of the vertical axis first. If none does, it says which is lower than the
/// next by more than a twentieth, where the first of them ends. Dashed curves do not count. A figure without such a curve keeps
/// its title.
pub(crate) fn with_winner(figure: Figure) -> Figure {
    let floor = figure.y.limits.map_or(f64::NEG_INFINITY, |limits| limits.0);
    let reached = |s: &Series| s.points.iter().find(|p| p.1 <= floor).map(|p| p.0);
    let own = || figure.series.iter().filter(|s| !s.dashed);
    let arrivals = own().filter_map(|s| Some((reached(s)?, s.name.as_str())));
    let mut arrivals: Vec<(f64, &str)> = arrivals.collect();
    arrivals.sort_by(|a, b| a.0.total_cmp(&b.0));
    let lasts = || own().filter_map(|s| Some(s.points.last()?.0));
    let (end, last) = (lasts().fold(f64::INFINITY, f64::min), lasts().fold(0.0, f64::max));
    let at = |s: &Series| s.points.iter().rev().find(|p| p.0 <= end).map(|p| p.1);
    let mut ends: Vec<(f64, &str)> =
        own().filter_map(|s| Some((at(s)?, s.name.as_str()))).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let place = if end == last { "in the end".into() } else { format!("at {}", short(end)) };
    let words = match (&arrivals[..], &ends[..]) {
        ([(_, name)], _) => format!("{name} reaches {} first", short(floor)),
        ([(a, name), (b, _), ..], _) if a < b => format!("{name} reaches {} first", short(floor)),
        ([], [(a, name), (b, _), ..]) if *a < 0.95 * b => format!("{name} is lowest {place}"),
        _ => return figure,
    };
    let joint = if figure.title.contains(": ") { ";" } else { ":" };
    Figure { title: format!("{}{joint} {words}", figure.title), ..figure }
}

/// A table with the suboptimality of every curve after each of the given numbers of passes.
pub(crate) fn table(title: String, curves: &[Curve], passes: &[f64]) -> Table {
    let columns = std::iter::once("method".to_owned())
        .chain(passes.iter().map(|p| format!("{p} passes")))
        .chain(["passes to 1e-6".into(), "passes to 1e-8".into()]);
    let mut table = Table::new(title, columns);
    for curve in curves {
        let finite = |passes: f64| if passes.is_finite() { passes.into() } else { "–".into() };
        let mut row = vec![curve.name.into()];
        row.extend(passes.iter().map(|&p| curve.at(p).into()));
        row.extend([finite(curve.passes_to(1e-6)), finite(curve.passes_to(1e-8))]);
        table.push(row);
    }
    table
}

/// The curve with the given name.
pub(crate) fn curve<'c>(curves: &'c [Curve], name: &str) -> Result<&'c Curve, Failure> {
    let found = curves.iter().find(|c| c.name == name);
    found.ok_or_else(|| Failure::new(format!("no curve is called {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_interpolate_on_the_log_scale_and_say_when_they_do_not_arrive() {
        let curve = Curve { name: "c", points: vec![(0.0, 1.0), (2.0, 1e-2), (4.0, 1e-6)] };
        assert!((curve.passes_to(1e-4) - 3.0).abs() < 1e-12);
        assert_eq!(curve.passes_to(1e-8), f64::INFINITY);
        assert_eq!(curve.at(3.9), 1e-2);
        assert!((curve.slope(0.0, 2.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_title_names_the_winner_if_there_is_one() {
        let title = |low: f64, ends: [(f64, f64); 3]| {
            let line = |(name, end)| Series::line(name, vec![(0.0, 1.0), end]);
            let lines = ["a", "b", "c"].into_iter().zip(ends).map(line);
            let figure = Figure::new("T", Axis::linear("x"), Axis::log("y").limits(low, 1.0));
            let mut figure = lines.fold(figure, Figure::with);
            figure.series[2].dashed = true;
            with_winner(figure).title
        };
        let bound = (9.0, 1e-9);
        assert_eq!(title(1e-6, [(5.0, 1e-7), (3.0, 1e-8), bound]), "T: b reaches 1e-6 first");
        assert_eq!(title(1e-6, [(5.0, 1e-7), (5.0, 1e-8), bound]), "T");
        assert_eq!(title(1e-6, [(5.0, 1e-3), (5.0, 1e-4), bound]), "T: b is lowest in the end");
        // The other has not come so far.
        assert_eq!(title(1e-6, [(5.0, 1e-3), (9.0, 1e-4), bound]), "T: a is lowest at 5");
        assert_eq!(title(1e-6, [(5.0, 1e-3), (5.0, 0.99e-3), bound]), "T");
    }

    #[test]
    fn a_power_law_has_its_exponent() {
        let points: Vec<(f64, f64)> =
            [1.0, 2.0, 8.0].iter().map(|&x: &f64| (x, 3.0 * x.powf(-0.5))).collect();
        assert!((exponent(&points) + 0.5).abs() < 1e-12);
    }
}
