//! Figures, stored as data. The module [`crate::report`] draws them.

use serde::{Deserialize, Serialize};

use crate::number::short;
use crate::table::csv_text;
use crate::{Error, number};

/// The scale of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scale {
    /// Linear: equal distances on the axis are equal differences.
    Linear,
    /// Logarithmic: equal distances on the axis are equal ratios.
    Log,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Axis {
    /// The label, with the unit.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// The range of the axis; `None` fits it to the data. Curves are cut off at the ends of the range.
    pub limits: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Linear, limits: None }
    }

    /// A logarithmic axis. Values that are not positive cannot be drawn on it. They do not affect the range. A curve that
    /// reaches 0 or less goes down to the lower end of the axis and stops there. The CSV file has all values. A range fitted
    /// to the data spans at most 20 decades.
    pub fn log(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Log, limits: None }
    }

    /// Limits the range to `low` to `high`, for example if one method diverges.
    #[must_use]
    pub fn limits(self, low: f64, high: f64) -> Self {
        Axis { limits: Some((low, high)), ..self }
    }
}

/// The style of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Style {
    /// A line.
    Line,
    /// A line with markers at its points. If there are many points, only some of them have a marker.
    LinePoints,
    /// Markers only.
    Points,
}

/// A curve or a cloud of points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// The points. A point with a NaN or infinite coordinate is not drawn, and it interrupts the line.
    #[serde(with = "number::pairs")]
    pub points: Vec<(f64, f64)>,
    /// The lowest and the highest value at each point; empty for a series without a band.
    #[serde(default, with = "number::pairs", skip_serializing_if = "Vec::is_empty")]
    pub band: Vec<(f64, f64)>,
    /// Line, markers or both.
    pub style: Style,
    /// Whether the line is dashed. Dashed lines are for theoretical bounds beside measurements.
    pub dashed: bool,
}

impl Series {
    /// A line.
    pub fn line(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series { name: name.into(), points, band: Vec::new(), style: Style::Line, dashed: false }
    }

    /// A line with markers.
    pub fn line_points(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series { style: Style::LinePoints, ..Series::line(name, points) }
    }

    /// Markers.
    pub fn points(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Series { style: Style::Points, ..Series::line(name, points) }
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

/// A figure with one pair of axes. It stays readable with up to twelve series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// The title. The names of the SVG and CSV files are derived from it.
    pub title: String,
    /// The caption. Text between backticks is shown as code.
    pub caption: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Curves in the order of the legend.
    pub series: Vec<Series>,
}

impl Figure {
    /// A figure without curves.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Figure { title: title.into(), caption: String::new(), x, y, series: Vec::new() }
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

    /// The data of the figure as CSV with the columns `series,x,y`, and `low,high` in rows with a band, in full precision. Points that are not drawn are
    /// included.
    ///
    /// # Errors
    /// [`Error::Encode`].
    pub fn to_csv(&self) -> Result<String, Error> {
        let rows = self.series.iter().flat_map(|series| {
            series.points.iter().enumerate().map(|(k, &(x, y))| {
                let band = series.band.get(k).map_or(vec![], |&(low, high)| vec![low, high]);
                let numbers = [x, y].into_iter().chain(band).map(number::exact);
                std::iter::once(series.name.clone()).chain(numbers).collect()
            })
        });
        csv_text(&self.title, vec!["series".into(), "x".into(), "y".into()], rows)
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
    fn csv_is_long_and_complete() {
        let figure = Figure::new("Gap", Axis::linear("passes"), Axis::log("gap"))
            .with(Series::line("SAGA", vec![(0.0, 1.0), (0.5, 0.1 + 0.2), (1.0, 0.0)]))
            .with(Series::points("SAG", vec![(2.0, f64::NAN)]).dashed())
            .with(Series::line("SVRG", vec![(1.0, 2.0)]).band(vec![(1.5, 3.0)]));
        assert_eq!(
            figure.to_csv().unwrap(),
            "series,x,y\nSAGA,0,1\nSAGA,0.5,0.30000000000000004\nSAGA,1,0\nSAG,2,NaN\nSVRG,1,2,1.5,3\n"
        );
    }
}
