//! Draws a figure as SVG.
//!
//! The library plotters draws lines, polygons and text, and escapes special characters. This module decides where they go. The
//! charts of plotters are not used, because they lack two features. A curve that reaches 0 on a logarithmic axis must stop at
//! the lower end of the axis. The legend must never cover a curve.
//!
//! The colours are those of Okabe and Ito ("Color Universal Design", 2008), which people with any common form of colour
//! blindness can tell apart. Their yellow is left out, because it is hard to see on white. From the ninth series on, the
//! colours repeat, and the lines are dotted. There are seven marker shapes, so no two of the first 56 series look alike.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::{Place, Range};
use super::pen::{self, Pen};
use crate::{Error, Figure, Series, Style};

const WIDTH: f64 = 640.0;
const PLOT_HEIGHT: f64 = 330.0;
const TICK_FONT: f64 = 12.5;
const LABEL_FONT: f64 = 14.0;
/// The width of one character as a fraction of the font size, for a wide sans-serif font.
const CHARACTER: f64 = 0.58;
const LEGEND_ROW: f64 = 21.0;
const LEGEND_SAMPLE: f64 = 34.0;

const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const FRAME: RGBColor = RGBColor(0x77, 0x77, 0x77);
const GRID: RGBColor = RGBColor(0xE2, 0xE2, 0xE2);
const FAINT: RGBColor = RGBColor(0xF1, 0xF1, 0xF1);
const PALETTE: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0x11, 0x11, 0x11),
    RGBColor(0x8A, 0x8A, 0x8A),
];

/// The plotting rectangle in pixels.
#[derive(Debug, Clone, Copy)]
struct Frame {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

/// Draws the figure as a self-contained SVG text that scales with its container.
pub(super) fn draw(figure: &Figure) -> Result<String, Error> {
    let points = || figure.series.iter().flat_map(|s| s.points.iter());
    let x = Range::fit(&figure.x, points().map(|p| p.0));
    let bands = figure.series.iter().flat_map(|s| s.band.iter().flat_map(|b| [b.0, b.1]));
    let y = Range::fit(&figure.y, points().map(|p| p.1).chain(bands));
    let (x_ticks, y_ticks) = (x.ticks(7), y.ticks(7));

    let widest = y_ticks.iter().filter_map(|t| t.label.as_ref()).map(|l| text_width(l, TICK_FONT));
    let left = 30.0 + widest.fold(10.0, f64::max) + 10.0;
    let frame = Frame { left, top: 12.0, right: WIDTH - 26.0, bottom: 12.0 + PLOT_HEIGHT };
    let legend = Legend::new(figure, frame);
    let height = legend.top + legend.height();

    let refused = |reason: String| Error::Figure { title: figure.title.clone(), reason };
    let mut text = String::new();
    {
        let pen = Pen::new(&mut text, WIDTH, height);
        let drawing = || -> Result<(), pen::Refused> {
            for (ticks, vertical) in [(&x_ticks, true), (&y_ticks, false)] {
                // Minor lines first, so that major ones lie on top.
                for major in [false, true] {
                    for tick in ticks.iter().filter(|t| t.label.is_some() == major) {
                        let colour = if major { GRID } else { FAINT };
                        pen.line(&grid_line(frame, tick.place, vertical), colour, 1.0)?;
                    }
                }
            }
            axes(&pen, figure, frame, &x_ticks, &y_ticks)?;
            for (index, series) in figure.series.iter().enumerate() {
                curve(&pen, series, index, frame, x, y)?;
            }
            legend.draw(&pen, figure)
        };
        drawing().map_err(|e| refused(e.to_string()))?;
        pen.finish().map_err(|e| refused(e.to_string()))?;
    }
    Ok(pen::responsive(&text, &figure.title, WIDTH, height))
}

fn text_width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * CHARACTER * size
}

fn grid_line(frame: Frame, place: f64, vertical: bool) -> [(f64, f64); 2] {
    let (px, py) = to_pixels(frame, place, place);
    if vertical {
        [(px, frame.top), (px, frame.bottom)]
    } else {
        [(frame.left, py), (frame.right, py)]
    }
}

fn to_pixels(frame: Frame, fx: f64, fy: f64) -> (f64, f64) {
    // Far outside is as good as outside, and keeps the arithmetic of clipping finite.
    let (fx, fy) = (fx.clamp(-1e6, 1e6), fy.clamp(-1e6, 1e6));
    (frame.left + fx * (frame.right - frame.left), frame.bottom - fy * (frame.bottom - frame.top))
}

fn axes(
    pen: &Pen,
    figure: &Figure,
    frame: Frame,
    x_ticks: &[super::axis::Tick],
    y_ticks: &[super::axis::Tick],
) -> Result<(), pen::Refused> {
    let Frame { left, top, right, bottom } = frame;
    pen.line(&[(left, top), (left, bottom), (right, bottom)], FRAME, 1.2)?;
    for tick in x_ticks {
        let (px, _) = to_pixels(frame, tick.place, 0.0);
        if let Some(label) = &tick.label {
            pen.line(&[(px, bottom), (px, bottom + 5.0)], FRAME, 1.2)?;
            let anchor = Pos::new(HPos::Center, VPos::Top);
            pen.text(label, (px, bottom + 8.0), TICK_FONT, INK, anchor)?;
        }
    }
    for tick in y_ticks {
        let (_, py) = to_pixels(frame, 0.0, tick.place);
        if let Some(label) = &tick.label {
            pen.line(&[(left - 5.0, py), (left, py)], FRAME, 1.2)?;
            let anchor = Pos::new(HPos::Right, VPos::Center);
            pen.text(label, (left - 9.0, py), TICK_FONT, INK, anchor)?;
        }
    }
    let middle = (0.5 * (left + right), bottom + 28.0);
    pen.text(&figure.x.label, middle, LABEL_FONT, INK, Pos::new(HPos::Center, VPos::Top))?;
    pen.text_upwards(&figure.y.label, (10.0, 0.5 * (top + bottom)), LABEL_FONT, INK)
}

/// The style of the line of a series (solid, dashed or dotted), its colour and its marker.
struct Look {
    colour: RGBColor,
    dashes: &'static [f64],
    marker: usize,
}

impl Look {
    fn new(series: &Series, index: usize) -> Look {
        let repeats = index >= PALETTE.len();
        let dashes: &[f64] = match (series.dashed, repeats) {
            (false, false) => &[],
            (true, false) => &[7.0, 4.0],
            (false, true) => &[2.5, 3.0],
            (true, true) => &[9.0, 3.0, 2.5, 3.0],
        };
        Look { colour: PALETTE[index % PALETTE.len()], dashes, marker: index }
    }
}

fn curve(
    pen: &Pen,
    series: &Series,
    index: usize,
    frame: Frame,
    x: Range,
    y: Range,
) -> Result<(), pen::Refused> {
    let look = Look::new(series, index);
    // The range over the seeds: a thin line at each point.
    for (&(at, _), &(low, high)) in series.points.iter().zip(&series.band) {
        if let (Place::At(at), Place::At(low), Place::At(high)) =
            (x.place(at), y.place(low), y.place(high))
        {
            let run = [to_pixels(frame, at, low), to_pixels(frame, at, high)];
            for piece in pen::clipped(&run, (frame.left, frame.top), (frame.right, frame.bottom)) {
                pen.line(&piece, look.colour, 0.5)?;
            }
        }
    }
    if series.style != Style::Points {
        for run in runs(series, frame, x, y) {
            for piece in pen::clipped(&run, (frame.left, frame.top), (frame.right, frame.bottom)) {
                for dash in pen::dashed(&piece, look.dashes) {
                    pen.line(&dash, look.colour, 2.0)?;
                }
            }
        }
    }
    if series.style != Style::Line {
        let inside = 0.0..=1.0;
        let shown: Vec<(f64, f64)> = series
            .points
            .iter()
            .filter_map(|&(a, b)| match (x.place(a), y.place(b)) {
                (Place::At(a), Place::At(b)) if inside.contains(&a) && inside.contains(&b) => {
                    Some(to_pixels(frame, a, b))
                }
                _ => None,
            })
            .collect();
        // On a line a few markers identify it; shifted by the index, those of two curves that
        // coincide do not hide each other. A cloud shows all of its points.
        let thin = series.style == Style::LinePoints && shown.len() > 30;
        let every = if thin { shown.len().div_ceil(14) } else { 1 };
        let size = if series.style == Style::Points && shown.len() > 150 { 2.2 } else { 3.8 };
        for point in shown.iter().skip((index * every / 5) % every).step_by(every) {
            pen.marker(*point, look.marker, size, look.colour)?;
        }
    }
    Ok(())
}

/// The uninterrupted parts of a curve in pixels. A point with a NaN or infinite coordinate interrupts the curve. At a value that
/// is not positive on a vertical logarithmic axis, the curve goes straight down to the lower end of the axis and stops there.
fn runs(series: &Series, frame: Frame, x: Range, y: Range) -> Vec<Vec<(f64, f64)>> {
    let mut runs = Vec::new();
    let mut run: Vec<(f64, f64)> = Vec::new();
    for &(a, b) in &series.points {
        match (x.place(a), y.place(b)) {
            (Place::At(a), Place::At(b)) => {
                run.push(to_pixels(frame, a, b));
                continue;
            }
            (Place::At(a), Place::Floor) if !run.is_empty() => run.push(to_pixels(frame, a, 0.0)),
            _ => {}
        }
        runs.push(std::mem::take(&mut run));
    }
    runs.push(run);
    runs.retain(|run| run.len() > 1);
    runs
}

/// The legend: a grid of names below the axes, where it cannot cover a curve.
struct Legend {
    left: f64,
    top: f64,
    columns: usize,
    column_width: f64,
    entries: usize,
}

impl Legend {
    fn new(figure: &Figure, frame: Frame) -> Legend {
        let room = frame.right - frame.left;
        let names = figure.series.iter().map(|s| text_width(&s.name, TICK_FONT));
        let entry = LEGEND_SAMPLE + 8.0 + names.fold(0.0, f64::max) + 14.0;
        let entries =
            if figure.series.iter().all(|s| s.name.is_empty()) { 0 } else { figure.series.len() };
        let columns = ((room / entry) as usize).clamp(1, entries.clamp(1, 4));
        Legend {
            left: frame.left,
            top: frame.bottom + 54.0,
            columns,
            column_width: room / columns as f64,
            entries,
        }
    }

    fn height(&self) -> f64 {
        self.entries.div_ceil(self.columns) as f64 * LEGEND_ROW + 6.0
    }

    fn draw(&self, pen: &Pen, figure: &Figure) -> Result<(), pen::Refused> {
        // Down the columns, so that the order of the series stays the order of reading.
        let rows = self.entries.div_ceil(self.columns).max(1);
        for (index, series) in figure.series.iter().enumerate().take(self.entries) {
            let look = Look::new(series, index);
            let px = self.left + (index / rows) as f64 * self.column_width;
            let py = self.top + ((index % rows) as f64 + 0.5) * LEGEND_ROW;
            if series.style != Style::Points {
                let sample = [(px, py), (px + LEGEND_SAMPLE, py)];
                for dash in pen::dashed(&sample, look.dashes) {
                    pen.line(&dash, look.colour, 2.2)?;
                }
            }
            if series.style != Style::Line {
                pen.marker((px + 0.5 * LEGEND_SAMPLE, py), look.marker, 3.8, look.colour)?;
            }
            let place = (px + LEGEND_SAMPLE + 8.0, py);
            pen.text(&series.name, place, TICK_FONT, INK, Pos::new(HPos::Left, VPos::Center))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Axis;

    fn gap(series: impl IntoIterator<Item = Series>) -> Figure {
        let mut figure = Figure::new("Gap", Axis::linear("passes"), Axis::log("gap"));
        figure.series.extend(series);
        figure
    }

    fn in_pixels(points: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
        let series = Series::line("s", points.to_vec());
        let frame = Frame { left: 0.0, top: 0.0, right: 100.0, bottom: 100.0 };
        let x = Range::fit(&Axis::linear("x").limits(0.0, 10.0), std::iter::empty());
        let y = Range::fit(&Axis::log("y").limits(1e-4, 1.0), std::iter::empty());
        runs(&series, frame, x, y)
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

    #[test]
    fn odd_series_are_drawn_without_panic() {
        let styles = [Style::Line, Style::LinePoints, Style::Points];
        let clouds: [&[(f64, f64)]; 6] = [
            &[],
            &[(0.0, 0.0)],
            &[(0.0, 1.0), (1.0, 0.0), (2.0, -1.0)],
            &[(f64::NAN, 1.0), (f64::INFINITY, 2.0), (1.0, f64::NEG_INFINITY)],
            &[(0.0, 1e308), (1.0, 1e-308), (2.0, 5e-324)],
            &[(-1e308, 1.0), (1e308, 1.0)],
        ];
        for points in clouds {
            for style in styles {
                for dashed in [false, true] {
                    let series = Series { style, dashed, ..Series::line("s", points.to_vec()) };
                    let svg = draw(&gap([series])).unwrap();
                    assert!(svg.trim_end().ends_with("</svg>"), "{points:?}");
                }
            }
        }
        assert!(draw(&gap([])).is_ok());
    }

    #[test]
    fn text_is_escaped() {
        let svg = draw(&gap([Series::line("a < b & \u{1}", vec![(0.0, 1.0)])])).unwrap();
        assert!(svg.contains("a &lt; b &amp; "), "{svg}");
        assert!(!svg.contains('\u{1}'));
    }

    #[test]
    fn twelve_series_have_twelve_looks() {
        let series = Series::line_points("s", vec![]);
        let looks: Vec<_> = (0..12)
            .map(|k| Look::new(&series, k))
            .map(|l| (l.colour, l.dashes.len(), l.marker % pen::MARKERS))
            .collect();
        for (k, look) in looks.iter().enumerate() {
            assert!(!looks[..k].contains(look), "{k}");
        }
    }
}
