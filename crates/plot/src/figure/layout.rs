//! Where the parts of a figure are.

use super::axis::{Place, Range, Tick};
use crate::colour::{Look, looks};
use crate::letters::{shortened, width_of};
use crate::pen::clipped;
use crate::title::WIDTH;
use crate::{Figure, Series, Style};

pub(super) const TICK_FONT: f64 = 12.5;
const PLOT_HEIGHT: f64 = 330.0;
const ROW: f64 = 24.0;

pub(super) type Point = (f64, f64);

/// The plotting rectangle in pixels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Frame {
    pub(super) fn width(self) -> f64 {
        self.right - self.left
    }

    pub(super) fn height(self) -> f64 {
        self.bottom - self.top
    }

    pub(super) fn at(self, fx: f64, fy: f64) -> Point {
        // Far outside is as good as outside, and keeps the arithmetic of clipping finite.
        let (fx, fy) = (fx.clamp(-1e6, 1e6), fy.clamp(-1e6, 1e6));
        (self.left + fx * self.width(), self.bottom - fy * self.height())
    }
}

/// A figure whose parts have places.
pub(super) struct Layout<'a> {
    pub(super) figure: &'a Figure,
    pub(super) looks: Vec<Look>,
    pub(super) x: Range<'a>,
    pub(super) y: Range<'a>,
    /// Whether the vertical axis has names, so that values run to the right.
    pub(super) lying: bool,
    pub(super) frame: Frame,
    pub(super) x_ticks: Vec<Tick>,
    pub(super) y_ticks: Vec<Tick>,
    /// Whether the names of the horizontal axis are turned.
    pub(super) turned: bool,
    /// The series whose names stand at the ends of their curves, with the ends.
    pub(super) ends: Vec<(usize, Point)>,
}

/// The range of a bar at a number: as wide as the numbers are apart.
pub(super) fn spacing(points: &[Point], at: impl Fn(&Point) -> f64) -> f64 {
    let mut places: Vec<f64> = points.iter().map(at).filter(|v| v.is_finite()).collect();
    places.sort_by(f64::total_cmp);
    let gaps = places.windows(2).map(|w| w[1] - w[0]).filter(|gap| *gap > 0.0);
    let least = gaps.fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 1.0 }
}

impl<'a> Layout<'a> {
    pub(super) fn new(figure: &'a Figure, top: f64) -> Self {
        let lying = !figure.y.names.is_empty();
        let looks = looks(figure.series.iter().map(|s| (s.name.as_str(), s.dashed, s.colour)));
        let bands = |s: &'a Series| s.band.iter().flat_map(|b| [b.0, b.1]);
        let zero = |s: &Series| (s.style == Style::Bars).then_some(0.0);
        let all = |value: fn(&Point) -> f64, with: bool| {
            figure.series.iter().flat_map(move |s| {
                let (bands, zero) = (bands(s).filter(move |_| with), zero(s).filter(|_| with));
                s.points.iter().map(value).chain(bands).chain(zero)
            })
        };
        let half = |s: &Series| {
            let bars = s.style == Style::Bars && figure.x.names.is_empty() && !lying;
            let half = if bars { 0.5 * spacing(&s.points, |p| p.0) } else { 0.0 };
            s.points.iter().flat_map(move |p| [p.0 - half, p.0 + half]).collect::<Vec<f64>>()
        };
        let marks = figure.marks.iter().map(|m| m.0);
        let wide = figure.series.iter().flat_map(half).chain(all(|p| p.0, lying)).chain(marks);
        let mut wide: Vec<f64> = wide.filter(|v| v.is_finite()).collect();
        let low = wide.iter().copied().fold(f64::INFINITY, f64::min);
        let high = wide.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if lying {
            // A line at an end of the range would hide behind the axis or stand at the edge.
            let air = 0.03 * high - 0.03 * low;
            let at = |end: f64| figure.marks.iter().any(|mark| mark.0 == end);
            wide.extend(at(low).then_some(low - air));
            wide.extend(at(high).then_some(high + air));
        }
        let x = Range::fit(&figure.x, wide.into_iter());
        let mut y = Range::fit(&figure.y, all(|p| p.1, !lying));
        // The first name is on top.
        y.falling ^= lying;

        let mut frame = Frame { left: 0.0, top, right: WIDTH - 22.0, bottom: 0.0 };
        if !figure.y.label.is_empty() {
            frame.top += 25.0;
        }
        frame.bottom = frame.top
            + if lying && !figure.square {
                (ROW * figure.y.names.len() as f64).clamp(40.0, 2400.0)
            } else {
                PLOT_HEIGHT
            };
        let mut y_ticks = y.ticks_within(frame.height(), |_| TICK_FONT);
        for label in y_ticks.iter_mut().filter_map(|t| t.label.as_mut()) {
            *label = shortened(label, TICK_FONT, 0.42 * WIDTH);
        }
        let widest =
            y_ticks.iter().filter_map(|t| t.label.as_ref()).map(|l| width_of(l, TICK_FONT));
        frame.left = 22.0 + widest.fold(10.0, f64::max);

        let mut layout = Layout {
            figure,
            looks,
            x,
            y,
            lying,
            frame,
            x_ticks: Vec::new(),
            y_ticks,
            turned: false,
            ends: Vec::new(),
        };
        layout.ends = layout.ends_of_curves();
        let room = layout.ends.iter().map(|(k, _)| width_of(&figure.series[*k].name, TICK_FONT));
        if let Some(room) = room.reduce(f64::max) {
            layout.frame.right = WIDTH - room - 20.0;
            layout.ends = layout.ends_of_curves();
        }
        if figure.square {
            let side = layout.frame.width().min(520.0);
            let (across, down) = (x.half_length(), y.half_length());
            layout.frame.right = layout.frame.left + side * (across / across.max(down));
            layout.frame.bottom = layout.frame.top + side * (down / across.max(down));
            layout.y_ticks = y.ticks_within(layout.frame.height(), |_| TICK_FONT);
        }
        let widest =
            figure.x.names.iter().map(|name| width_of(name, TICK_FONT)).fold(0.0, f64::max);
        let slot = layout.frame.width() / figure.x.names.len().max(1) as f64;
        layout.turned = !figure.square && widest + 8.0 > slot;
        let turned = layout.turned;
        let extent = |label: &str| if turned { TICK_FONT } else { width_of(label, TICK_FONT) };
        layout.x_ticks = x.ticks_within(layout.frame.width(), extent);
        // A long label at the right end needs room beside the axis.
        let over = |tick: &Tick| {
            let half = 0.5 * width_of(tick.label.as_ref()?, TICK_FONT);
            Some(layout.frame.at(tick.place, 0.0).0 + half - (WIDTH - 4.0))
        };
        let over = layout.x_ticks.iter().filter_map(over).fold(0.0, f64::max);
        if over > 0.0 && !turned {
            layout.frame.right -= over;
            layout.x_ticks = x.ticks_within(layout.frame.width(), extent);
            if !layout.ends.is_empty() {
                layout.ends = layout.ends_of_curves();
            }
        }
        layout
    }

    /// A point in pixels, if it has a place.
    pub(super) fn point(&self, (a, b): Point) -> Option<Point> {
        match (self.x.place(a), self.y.place(b)) {
            (Place::At(a), Place::At(b)) => Some(self.frame.at(a, b)),
            _ => None,
        }
    }

    /// The uninterrupted parts of a curve in pixels. A point with a NaN or infinite coordinate interrupts the curve. At a value that
    /// is not positive on a vertical logarithmic axis, the curve goes straight down to the lower end of the axis and stops there.
    pub(super) fn runs(&self, series: &Series) -> Vec<Vec<Point>> {
        let mut runs = Vec::new();
        let mut run: Vec<Point> = Vec::new();
        for &(a, b) in &series.points {
            match (self.x.place(a), self.y.place(b)) {
                (Place::At(a), Place::At(b)) => {
                    run.push(self.frame.at(a, b));
                    continue;
                }
                (Place::At(a), Place::Floor) if !run.is_empty() => run.push(self.frame.at(a, 0.0)),
                _ => {}
            }
            runs.push(std::mem::take(&mut run));
        }
        runs.push(run);
        runs.retain(|run| run.len() > 1);
        runs
    }

    pub(super) fn clipped(&self, run: &[Point]) -> Vec<Vec<Point>> {
        let Frame { left, top, right, bottom } = self.frame;
        clipped(run, (left, top), (right, bottom))
    }

    /// The right ends of the visible curves, if all of them have one and names fit beside them.
    pub(super) fn ends_of_curves(&self) -> Vec<(usize, Point)> {
        let series = &self.figure.series;
        let curves = series.iter().all(|s| s.style.is_curve());
        let named: Vec<usize> = (0..series.len()).filter(|&k| !series[k].name.is_empty()).collect();
        let short = named.iter().all(|&k| series[k].name.chars().count() <= 24);
        if !curves || !short || !(2..=8).contains(&named.len()) || self.figure.square {
            return Vec::new();
        }
        let end = |k: usize| {
            let runs = self.runs(&series[k]);
            let pieces = runs.iter().flat_map(|run| self.clipped(run)).flatten();
            pieces.max_by(|a, b| a.0.total_cmp(&b.0)).map(|p| (k, p))
        };
        let ends: Option<Vec<(usize, Point)>> = named.into_iter().map(end).collect();
        // A name far from its curve does not say which it is.
        let near = |e: &(usize, Point)| e.1.0 > self.frame.left + 0.75 * self.frame.width();
        ends.filter(|ends| ends.iter().all(near)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Axis;

    #[test]
    fn a_line_at_the_end_of_the_rows_is_not_on_the_axis() {
        for value in [2.0, -2.0] {
            let figure = Figure::new("T", Axis::linear("kg"), Axis::of_names("", ["a"]));
            let figure = figure.with(Series::rows("", [value], vec![])).mark(0.0, "");
            let zero = Layout::new(&figure, 0.0).x.place(0.0);
            let inside = |at: Place| matches!(at, Place::At(at) if (0.01..0.99).contains(&at));
            assert!(inside(zero), "{value}: {zero:?}");
        }
    }

    #[test]
    fn labels_at_the_right_end_are_whole() {
        let figure = Figure::new("T", Axis::log("n").limits(100.0, 1e5), Axis::linear("y"));
        let layout = Layout::new(&figure, 0.0);
        let ends = layout.x_ticks.iter().filter_map(|t| {
            let half = 0.5 * width_of(t.label.as_ref()?, TICK_FONT);
            Some(layout.frame.at(t.place, 0.0).0 + half)
        });
        let right = ends.fold(0.0, f64::max);
        assert!(right > WIDTH - 60.0 && right < WIDTH - 3.0, "{right}");
    }

    fn gap(series: impl IntoIterator<Item = Series>) -> Figure {
        let mut figure = Figure::new("Gap", Axis::linear("passes"), Axis::log("gap"));
        figure.series.extend(series);
        figure
    }

    fn in_pixels(points: &[Point]) -> Vec<Vec<Point>> {
        let mut figure = gap([Series::line("s", points.to_vec())]);
        figure.x.limits = Some((0.0, 10.0));
        figure.y.limits = Some((1e-4, 1.0));
        let mut layout = Layout::new(&figure, 0.0);
        layout.frame = Frame { left: 0.0, top: 0.0, right: 100.0, bottom: 100.0 };
        layout.runs(&figure.series[0])
    }

    #[test]
    fn a_curve_that_reaches_zero_ends_at_the_floor() {
        let found = in_pixels(&[(0.0, 1.0), (1.0, 1e-2), (2.0, 0.0), (3.0, 0.0)]);
        assert_eq!(found, [[(0.0, 0.0), (10.0, 50.0), (20.0, 100.0)]]);
    }

    #[test]
    fn a_point_that_is_no_number_interrupts_the_curve() {
        let nan = f64::NAN;
        let found = in_pixels(&[(0.0, 1.0), (1.0, 1.0), (2.0, nan), (3.0, 1.0), (nan, 1.0)]);
        assert_eq!(found, [[(0.0, 0.0), (10.0, 0.0)]]);
    }
}
