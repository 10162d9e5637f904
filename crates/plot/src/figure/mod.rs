//! Figures with a pair of axes: curves with bands, points, bars, intervals, cells.

mod axis;
mod draw;
mod layout;
mod legend;

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use fenchel_linalg::text::{exact, short};

use crate::Colour;
#[cfg(feature = "serde")]
use crate::number;

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub enum Scale {
    /// Linear: equal distances on the axis are equal differences.
    #[default]
    Linear,
    /// Logarithmic: equal distances on the axis are equal ratios.
    Log,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Axis {
    /// The label, with the unit.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// The range of the axis; `None` fits it to the data. Curves are cut off at the ends of the range.
    pub limits: Option<(f64, f64)>,
    /// Names of the places 0, 1, 2, ...; empty for an axis of numbers. On the vertical axis the first is on top, and values are
    /// drawn to the right: bars lie, and bands are horizontal intervals.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub names: Vec<String>,
    /// Whether numbers fall along the axis.
    #[cfg_attr(feature = "serde", serde(default))]
    pub falling: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis { label: label.into(), ..Axis::default() }
    }

    /// An axis with a place for each name.
    pub fn of_names<S: Into<String>>(
        label: impl Into<String>,
        names: impl IntoIterator<Item = S>,
    ) -> Self {
        Axis { names: names.into_iter().map(Into::into).collect(), ..Axis::linear(label) }
    }

    /// A logarithmic axis. Values that are not positive cannot be drawn on it. They do not affect the range. A curve that
    /// reaches 0 or less goes down to the lower end of the axis and stops there. The CSV file has all values. A range fitted
    /// to the data spans at most 20 decades.
    pub fn log(label: impl Into<String>) -> Self {
        Axis { scale: Scale::Log, ..Axis::linear(label) }
    }

    /// Limits the range to `low` to `high`, for example if one method diverges.
    #[must_use]
    pub fn limits(self, low: f64, high: f64) -> Self {
        Axis { limits: Some((low, high)), ..self }
    }

    /// The same axis with the largest numbers first.
    #[must_use]
    pub fn falling(self) -> Self {
        Axis { falling: true, ..self }
    }
}

/// The style of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub enum Style {
    /// A line.
    #[default]
    Line,
    /// A line with markers at its points. If there are many points, only some of them have a marker.
    LinePoints,
    /// Markers only.
    Points,
    /// Bars from 0. Bars at the same names stand beside each other; bars at numbers are as wide as the numbers are apart.
    Bars,
    /// Squares of side 1, for matrices with few entries.
    Cells,
}

/// A curve or a cloud of points.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// The points. A point with a NaN or infinite coordinate is not drawn, and it interrupts the line.
    #[cfg_attr(feature = "serde", serde(with = "number::pairs"))]
    pub points: Vec<(f64, f64)>,
    /// The lowest and the highest value at each point; empty for a series without a band.
    #[cfg_attr(
        feature = "serde",
        serde(default, with = "number::pairs", skip_serializing_if = "Vec::is_empty")
    )]
    pub band: Vec<(f64, f64)>,
    /// Line, markers or both.
    pub style: Style,
    /// Whether the line is dashed. Dashed lines are for theoretical bounds beside measurements.
    pub dashed: bool,
    /// Its colour; `None`: that of its name.
    #[cfg_attr(feature = "serde", serde(default))]
    pub colour: Option<Colour>,
}

impl Series {
    /// A line.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series { name: name.into(), points, ..Series::default() }
    }

    /// A line with markers.
    pub fn line_points(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series { style: Style::LinePoints, ..Series::line(name, points) }
    }

    /// Markers.
    pub fn points(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series { style: Style::Points, ..Series::line(name, points) }
    }

    /// Bars of these heights at the places 0, 1, 2, ...
    pub fn bars(name: impl Into<String>, heights: impl IntoIterator<Item = f64>) -> Self {
        let points =
            heights.into_iter().enumerate().map(|(k, height)| (k as f64, height)).collect();
        Series { style: Style::Bars, ..Series::line(name, points) }
    }

    /// The mean of several runs at each place, with one standard error of the mean on either side. A run has a number for each place.
    pub fn means(name: impl Into<String>, places: &[f64], runs: &[Vec<f64>]) -> Self {
        let (mut points, mut band) = (Vec::new(), Vec::new());
        for (k, &place) in places.iter().enumerate() {
            let values: Vec<f64> = runs.iter().filter_map(|run| run.get(k).copied()).collect();
            let n = values.len() as f64;
            let mean = values.iter().sum::<f64>() / n;
            let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
            let error = (squares / (n - 1.0) / n).sqrt();
            points.push((place, mean));
            band.push((mean - error, mean + error));
        }
        Series::line_points(name, points).band(band)
    }

    /// Rows of a vertical axis of names: a mark at each value, and intervals `(low, high)` around it; no intervals for marks alone.
    pub fn rows(
        name: impl Into<String>,
        values: impl IntoIterator<Item = f64>,
        intervals: Vec<(f64, f64)>,
    ) -> Self {
        let points = values.into_iter().enumerate().map(|(k, value)| (value, k as f64)).collect();
        Series::points(name, points).band(intervals)
    }

    /// Bars in the rows of a vertical axis of names.
    pub fn row_bars(name: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        Series { style: Style::Bars, ..Series::rows(name, values, Vec::new()) }
    }

    /// The same series in a colour.
    #[must_use]
    pub fn colour(self, colour: Colour) -> Self {
        Series { colour: Some(colour), ..self }
    }

    /// The same series with the lowest and the highest value at each point, such as the range over seeds.
    #[must_use]
    pub fn band(self, band: Vec<(f64, f64)>) -> Self {
        Series { band, ..self }
    }

    /// The same series with a dashed line.
    #[must_use]
    pub fn dashed(self) -> Self {
        Series { dashed: true, ..self }
    }
}

impl Style {
    fn is_curve(self) -> bool {
        matches!(self, Style::Line | Style::LinePoints)
    }
}

/// A figure with one pair of axes. It stays readable with up to twelve series.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
pub struct Figure {
    /// The title. The names of the SVG and CSV files are derived from it.
    pub title: String,
    /// What lines, bands and intervals are. It stands below the title.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "String::is_empty"))]
    pub note: String,
    /// The caption, which stands beside the picture. Text between backticks is shown as code.
    pub caption: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Curves in the order in which they are drawn. The legend has the order of their right ends.
    pub series: Vec<Series>,
    /// Vertical lines with a word beside them.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub marks: Vec<(f64, String)>,
    /// Warnings, which stand below the title.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub warnings: Vec<String>,
    /// Whether a step is as long on the vertical axis as on the horizontal one.
    #[cfg_attr(feature = "serde", serde(default))]
    pub square: bool,
}

impl Figure {
    /// A figure without curves.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Figure { title: title.into(), x, y, ..Figure::default() }
    }

    /// Adds a vertical line with a word beside it.
    #[must_use]
    pub fn mark(mut self, at: f64, word: impl Into<String>) -> Self {
        self.marks.push((at, word.into()));
        self
    }

    /// Adds a warning, if there is one.
    #[must_use]
    pub fn warning(mut self, warning: Option<String>) -> Self {
        self.warnings.extend(warning);
        self
    }

    /// A histogram of groups of numbers over the same bins: the square root of the largest group many, from 5 to 40. Numbers that are
    /// not finite are left out.
    pub fn histogram<S: Into<String>>(
        title: impl Into<String>,
        x: Axis,
        groups: impl IntoIterator<Item = (S, Vec<f64>)>,
    ) -> Self {
        let finite = |values: Vec<f64>| values.into_iter().filter(|v| v.is_finite()).collect();
        let groups: Vec<(String, Vec<f64>)> =
            groups.into_iter().map(|(name, values)| (name.into(), finite(values))).collect();
        let most = groups.iter().map(|g| g.1.len()).max().unwrap_or(0);
        let bins = ((most as f64).sqrt() as usize).clamp(5, 40);
        let all = || groups.iter().flat_map(|g| &g.1);
        let (low, high) = x.limits.unwrap_or_else(|| {
            (
                all().copied().fold(f64::INFINITY, f64::min),
                all().copied().fold(f64::NEG_INFINITY, f64::max),
            )
        });
        // Halves first: the difference of two huge numbers may overflow.
        let width = (high / bins as f64 - low / bins as f64).max(f64::MIN_POSITIVE);
        let mut figure = Figure::new(title, x, Axis::linear("share of the group"));
        for (name, values) in groups.iter().filter(|_| low <= high) {
            let mut counts = vec![0.0; bins];
            for v in values.iter().filter(|v| (low..=high).contains(*v)) {
                counts[((v / width - low / width) as usize).min(bins - 1)] +=
                    1.0 / values.len() as f64;
            }
            let middle = |k: usize| low + (k as f64 + 0.5) * width;
            let points = counts.iter().enumerate().map(|(k, c)| (middle(k), *c)).collect();
            figure.series.push(Series { style: Style::Bars, ..Series::line(name, points) });
        }
        figure
    }

    /// Says below the title what lines, bands and intervals are.
    #[must_use]
    pub fn note(self, note: impl Into<String>) -> Self {
        Figure { note: note.into(), ..self }
    }

    /// Sets the caption.
    #[must_use]
    pub fn caption(self, caption: impl Into<String>) -> Self {
        Figure { caption: caption.into(), ..self }
    }

    /// Adds a curve.
    #[must_use]
    pub fn with(mut self, series: Series) -> Self {
        self.series.push(series);
        self
    }

    /// Adds contours of a function on a grid, one series a level: where its linear interpolation along the edges of the cells is
    /// the level. Cells with a corner that is not finite have none.
    #[must_use]
    pub fn with_contours(
        mut self,
        name: &str,
        levels: &[f64],
        (xs, ys): (&[f64], &[f64]),
        value: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let values: Vec<Vec<f64>> =
            ys.iter().map(|&y| xs.iter().map(|&x| value(x, y)).collect()).collect();
        for &level in levels {
            let mut points = Vec::new();
            for j in 1..ys.len() {
                for i in 1..xs.len() {
                    let corners = [(i - 1, j - 1), (i, j - 1), (i, j), (i - 1, j)]
                        .map(|(i, j)| (xs[i], ys[j], values[j][i] - level));
                    if corners.iter().any(|c| !c.2.is_finite()) {
                        continue;
                    }
                    // Two crossings, or four around a saddle.
                    let mut count = 0;
                    for (k, a) in corners.iter().enumerate() {
                        let b = corners[(k + 1) % 4];
                        if (a.2 > 0.0) != (b.2 > 0.0) {
                            let share = a.2 / (a.2 - b.2);
                            points.push((a.0 + share * (b.0 - a.0), a.1 + share * (b.1 - a.1)));
                            count += 1;
                            if count % 2 == 0 {
                                points.push((f64::NAN, f64::NAN));
                            }
                        }
                    }
                }
            }
            self.series.push(Series::line(format!("{name} = {}", short(level)), points));
        }
        self
    }

    /// The data of the figure as rows `series, x, y`, and `low, high` where there is a band, in full precision. Points that are not drawn
    /// are included.
    pub fn rows(&self) -> impl Iterator<Item = Vec<String>> + '_ {
        self.series.iter().flat_map(|series| {
            series.points.iter().enumerate().map(|(k, &(x, y))| {
                let band = series.band.get(k).map_or(vec![], |&(low, high)| vec![low, high]);
                let numbers = [x, y].into_iter().chain(band).map(exact);
                std::iter::once(series.name.clone()).chain(numbers).collect()
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contours_of_a_circle_are_on_it() {
        let grid: Vec<f64> = (-20..=20).map(|i| 0.1 * f64::from(i)).collect();
        let inside = |x: f64, y: f64| if x < 1.8 { x * x + y * y } else { f64::NAN };
        let figure = Figure::new("Circle", Axis::linear(""), Axis::linear("")).with_contours(
            "r^2",
            &[1.0, 9.0],
            (&grid, &grid),
            inside,
        );
        let radii: Vec<f64> = figure.series[0]
            .points
            .iter()
            .filter(|p| p.0.is_finite())
            .map(|p| p.0.hypot(p.1))
            .collect();
        // Along an edge of length h the square is off by h^2 / 4 at most.
        assert!(radii.len() > 100 && radii.iter().all(|r| (r * r - 1.0).abs() <= 0.0026));
        assert_eq!((figure.series[0].name.as_str(), figure.series.len()), ("r^2 = 1", 2));
        assert!(figure.series[1].points.is_empty());
    }

    #[test]
    fn rows_are_long_and_complete() {
        let figure = Figure::new("Gap", Axis::linear("passes"), Axis::log("gap"))
            .with(Series::line("SAGA", vec![(0.0, 1.0), (0.5, 0.1 + 0.2), (1.0, 0.0)]))
            .with(Series::points("SAG", vec![(2.0, f64::NAN)]).dashed())
            .with(Series::line("SVRG", vec![(1.0, 2.0)]).band(vec![(1.5, 3.0)]));
        assert_eq!(
            figure.rows().map(|row| row.join(",") + "\n").collect::<String>(),
            "SAGA,0,1\nSAGA,0.5,0.30000000000000004\nSAGA,1,0\nSAG,2,NaN\nSVRG,1,2,1.5,3\n"
        );
    }
}
