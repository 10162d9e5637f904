//! Draws a figure as SVG.
//!
//! A curve that reaches 0 on a logarithmic axis stops at the lower end of the axis. Names stand at the right ends of the curves where
//! they fit, and otherwise below the axes, so that they never cover a curve.

use super::axis::{Place, Range, Tick};
use crate::colour::{Look, looks};
use crate::network::apart;
use crate::pen::{Anchor, Font, Pen, Stroke, clipped, shortened, width_of};
use crate::title::{self, WIDTH};
use crate::{Colour, Figure, Series, Style};

const PLOT_HEIGHT: f64 = 330.0;
const ROW: f64 = 24.0;
const TICK_FONT: f64 = 12.5;
const LABEL_FONT: f64 = 13.5;
const LEGEND_ROW: f64 = 21.0;
const LEGEND_SAMPLE: f64 = 34.0;

type Point = (f64, f64);

/// The plotting rectangle in pixels.
#[derive(Debug, Clone, Copy)]
struct Frame {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Frame {
    fn width(self) -> f64 {
        self.right - self.left
    }

    fn height(self) -> f64 {
        self.bottom - self.top
    }

    fn at(self, fx: f64, fy: f64) -> Point {
        // Far outside is as good as outside, and keeps the arithmetic of clipping finite.
        let (fx, fy) = (fx.clamp(-1e6, 1e6), fy.clamp(-1e6, 1e6));
        (self.left + fx * self.width(), self.bottom - fy * self.height())
    }
}

/// A figure whose parts have places.
struct Layout<'a> {
    figure: &'a Figure,
    looks: Vec<Look>,
    x: Range<'a>,
    y: Range<'a>,
    /// Whether the vertical axis has names, so that values run to the right.
    lying: bool,
    frame: Frame,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    /// Whether the names of the horizontal axis are turned.
    turned: bool,
    /// The series whose names stand at the ends of their curves, with the ends.
    ends: Vec<(usize, Point)>,
}

impl Figure {
    /// The figure as a self-contained SVG text that scales with its container.
    pub fn svg(&self) -> String {
        let mut pen = Pen::default();
        let top = title::draw(&mut pen, &self.title, &self.warnings);
        let layout = Layout::new(self, top);
        layout.axes(&mut pen);
        let mut order: Vec<usize> = (0..self.series.len()).collect();
        // Bars and cells below, points above.
        order.sort_by_key(|&k| match self.series[k].style {
            Style::Bars | Style::Cells => 0,
            Style::Line | Style::LinePoints => 1,
            Style::Points => 2,
        });
        order.iter().for_each(|&k| layout.band(&mut pen, k));
        order.iter().for_each(|&k| layout.series(&mut pen, k));
        layout.marks(&mut pen);
        let bottom = layout.names(&mut pen);
        pen.finish(&self.title, WIDTH, bottom)
    }
}

/// The range of a bar at a number: as wide as the numbers are apart.
fn spacing(points: &[Point], at: impl Fn(&Point) -> f64) -> f64 {
    let mut places: Vec<f64> = points.iter().map(at).filter(|v| v.is_finite()).collect();
    places.sort_by(f64::total_cmp);
    let gaps = places.windows(2).map(|w| w[1] - w[0]).filter(|gap| *gap > 0.0);
    let least = gaps.fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 1.0 }
}

impl<'a> Layout<'a> {
    fn new(figure: &'a Figure, top: f64) -> Self {
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
        let x = Range::fit(&figure.x, wide);
        let mut y = Range::fit(&figure.y, all(|p| p.1, !lying));
        // The first name is on top.
        y.falling ^= lying;

        let mut frame = Frame { left: 0.0, top, right: WIDTH - 22.0, bottom: 0.0 };
        if !figure.y.label.is_empty() {
            frame.top += 22.0;
        }
        frame.bottom = frame.top
            + if lying && !figure.square {
                (ROW * figure.y.names.len() as f64).clamp(40.0, 2400.0)
            } else {
                PLOT_HEIGHT
            };
        let mut y_ticks = y.ticks_within(frame.height(), |_| TICK_FONT);
        for label in y_ticks.iter_mut().filter_map(|t| t.label.as_mut()) {
            *label = shortened(label, TICK_FONT, 0.36 * WIDTH);
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
        layout
    }

    /// A point in pixels, if it has a place.
    fn point(&self, (a, b): Point) -> Option<Point> {
        match (self.x.place(a), self.y.place(b)) {
            (Place::At(a), Place::At(b)) => Some(self.frame.at(a, b)),
            _ => None,
        }
    }

    fn axes(&self, pen: &mut Pen) {
        let Frame { left, top, right, bottom } = self.frame;
        let (rule, axis) = (Stroke::new(Colour::Rule, 1.0), Stroke::new(Colour::Soft, 1.2));
        for (ticks, names, vertical) in [
            (&self.x_ticks, &self.figure.x.names, true),
            (&self.y_ticks, &self.figure.y.names, false),
        ] {
            for tick in ticks.iter().filter(|_| names.is_empty() || !self.figure.square) {
                let (px, py) = self.frame.at(tick.place, tick.place);
                let line =
                    if vertical { [(px, top), (px, bottom)] } else { [(left, py), (right, py)] };
                pen.line(&line, if tick.label.is_some() { rule } else { rule.shade(0.5) });
            }
        }
        pen.line(&[(left, top), (left, bottom), (right, bottom)], axis);
        let font = Font::new(TICK_FONT, Anchor::Middle);
        let mut below = bottom + 16.0;
        for tick in &self.x_ticks {
            let ((px, _), Some(label)) = (self.frame.at(tick.place, 0.0), &tick.label) else {
                continue;
            };
            pen.line(&[(px, bottom), (px, bottom + 5.0)], axis);
            if self.turned {
                let label = shortened(label, TICK_FONT, 130.0);
                below = below.max(bottom + 20.0 + 0.64 * width_of(&label, TICK_FONT));
                let font = Font { anchor: Anchor::End, turned: -40.0, ..font };
                pen.text(&label, (px + 4.0, bottom + 12.0), font);
            } else {
                pen.text(label, (px, bottom + 15.0), font);
            }
        }
        for tick in &self.y_ticks {
            let ((_, py), Some(label)) = (self.frame.at(0.0, tick.place), &tick.label) else {
                continue;
            };
            pen.line(&[(left - 5.0, py), (left, py)], axis);
            pen.text(label, (left - 9.0, py), Font { anchor: Anchor::End, ..font });
        }
        let font = Font::new(LABEL_FONT, Anchor::Middle);
        pen.text(&self.figure.x.label, (0.5 * (left + right), below + 20.0), font);
        let font = Font::new(LABEL_FONT, Anchor::Start);
        pen.text(&self.figure.y.label, (14.0, top - 14.0), font);
    }

    /// Where the names below the axes begin.
    fn below_axes(&self) -> f64 {
        let label = if self.figure.x.label.is_empty() { 28.0 } else { 50.0 };
        let names = self.x_ticks.iter().filter_map(|t| t.label.as_ref());
        let turned =
            names.map(|l| 0.64 * width_of(l, TICK_FONT).min(130.0) + 6.0).fold(0.0, f64::max);
        self.frame.bottom + label + if self.turned { turned } else { 0.0 }
    }

    /// The range of values around the points: an area along a curve, intervals at single points.
    fn band(&self, pen: &mut Pen, k: usize) {
        let (series, look) = (&self.figure.series[k], self.looks[k]);
        let along = matches!(series.style, Style::Line | Style::LinePoints)
            && !self.lying
            && series.points.len() > 12;
        let (mut above, mut below) = (Vec::new(), Vec::new());
        for (&(a, b), &(low, high)) in series.points.iter().zip(&series.band) {
            let ends = if self.lying { [(low, b), (high, b)] } else { [(a, low), (a, high)] };
            let floor = |end: Point| match (self.x.place(end.0), self.y.place(end.1)) {
                (Place::At(a), Place::Floor) => Some(self.frame.at(a, 0.0)),
                _ => self.point(end),
            };
            let Some((low, high)) = floor(ends[0]).zip(floor(ends[1])) else { continue };
            let shift = self.shift(k);
            let (low, high) =
                ((low.0 + shift.0, low.1 + shift.1), (high.0 + shift.0, high.1 + shift.1));
            if along {
                let inside = |p: Point| (p.0, p.1.clamp(self.frame.top, self.frame.bottom));
                below.push(inside(low));
                above.push(inside(high));
            } else {
                for piece in self.clipped(&[low, high]) {
                    pen.line(&piece, Stroke::new(look.colour, if self.lying { 2.4 } else { 1.4 }));
                }
            }
        }
        above.extend(below.into_iter().rev());
        pen.polygon(&above, look.colour, 0.16);
    }

    /// The series that stand beside series `k` at the same names: bars, or marks with intervals. Marks alone may stand on each other.
    fn beside(&self, k: usize) -> Vec<usize> {
        let (series, lying) = (&self.figure.series, self.lying);
        let names = if lying { &self.figure.y.names } else { &self.figure.x.names };
        let place = move |p: &Point| if lying { p.1 } else { p.0 };
        let stands = |s: &Series| match s.style {
            Style::Bars => true,
            Style::Cells => false,
            _ => !s.band.is_empty(),
        };
        let meets = |s: &Series, t: &Series| {
            s.points.iter().any(|p| t.points.iter().any(|q| place(p) == place(q)))
        };
        let kin: Vec<usize> = (0..series.len())
            .filter(|&j| series[j].style == series[k].style && stands(&series[j]))
            .collect();
        let crowded =
            kin.iter().any(|&i| kin.iter().any(|&j| i < j && meets(&series[i], &series[j])));
        if names.is_empty() || !crowded || !kin.contains(&k) { vec![k] } else { kin }
    }

    /// How far a row or an interval is moved, so that those of several series at the same name stand beside each other.
    fn shift(&self, k: usize) -> Point {
        let alike = self.beside(k);
        let rank = alike.iter().position(|&j| j == k).unwrap_or(0);
        let names = if self.lying { &self.figure.y.names } else { &self.figure.x.names };
        if alike.len() < 2 {
            return (0.0, 0.0);
        }
        let room = if self.lying { self.frame.height() } else { self.frame.width() };
        let step = (0.8 * room / (names.len() * alike.len()) as f64).min(92.0);
        let by = step * (rank as f64 + 0.5 - 0.5 * alike.len() as f64);
        if self.lying { (0.0, by) } else { (by, 0.0) }
    }

    fn clipped(&self, run: &[Point]) -> Vec<Vec<Point>> {
        let Frame { left, top, right, bottom } = self.frame;
        clipped(run, (left, top), (right, bottom))
    }

    fn series(&self, pen: &mut Pen, k: usize) {
        let (series, look) = (&self.figure.series[k], self.looks[k]);
        match series.style {
            Style::Bars => return self.bars(pen, k),
            Style::Cells => return self.cells(pen, k),
            Style::Line | Style::LinePoints => {
                for run in self.runs(series) {
                    for piece in self.clipped(&run) {
                        let stroke =
                            Stroke { dashes: look.dashes, ..Stroke::new(look.colour, 2.0) };
                        pen.line(&piece, stroke.shade(look.shade));
                    }
                }
            }
            Style::Points => {}
        }
        if series.style == Style::Line {
            return;
        }
        let Frame { left, top, right, bottom } = self.frame;
        let inside = |p: &Point| {
            (left - 0.1..=right + 0.1).contains(&p.0) && (top - 0.1..=bottom + 0.1).contains(&p.1)
        };
        let shown: Vec<Point> = series
            .points
            .iter()
            .filter_map(|&p| {
                let (shift, p) = (self.shift(k), self.point(p)?);
                Some((p.0 + shift.0, p.1 + shift.1)).filter(inside)
            })
            .collect();
        // On a line a few markers identify it; shifted by the index, those of two curves that
        // coincide do not hide each other. A cloud shows all of its points.
        let thin = series.style == Style::LinePoints && shown.len() > 30;
        let every = if thin { shown.len().div_ceil(14) } else { 1 };
        let cloud = series.style == Style::Points && shown.len() > 150;
        let (size, part) = if cloud { (2.4, 0.6) } else { (3.8, look.shade) };
        for point in shown.iter().skip((k * every / 5) % every).step_by(every) {
            pen.marker(*point, look.marker, size, (look.colour, part));
        }
    }

    fn bars(&self, pen: &mut Pen, k: usize) {
        let (series, look, f) = (&self.figure.series[k], self.looks[k], self.frame);
        let names = if self.lying { &self.figure.y.names } else { &self.figure.x.names };
        let all = self.figure.series.iter().filter(|s| s.style == Style::Bars).count();
        let many = if names.is_empty() { all } else { self.beside(k).len() };
        let rows = if self.lying { f.height() } else { f.width() } / names.len().max(1) as f64;
        let half = 0.5 * (0.8 * rows / many as f64).min(44.0);
        let apart = 0.5 * spacing(&series.points, |p| p.0);
        let (part, few) =
            (if names.is_empty() && many > 1 { 0.5 } else { 0.9 }, series.points.len() <= 40);
        for &(a, b) in &series.points {
            let (shift, value) = (self.shift(k), if self.lying { a } else { b });
            let zero = if self.lying { (0.0, b) } else { (a, 0.0) };
            // A logarithmic axis has no zero: bars begin at its end.
            let low = self.point(zero).or_else(|| {
                self.point((a, b)).map(|p| if self.lying { (f.left, p.1) } else { (p.0, f.bottom) })
            });
            let (Some(p), Some(o)) = (self.point((a, b)), low) else { continue };
            let (p, o) = ((p.0 + shift.0, p.1 + shift.1), (o.0 + shift.0, o.1 + shift.1));
            let inside = |(x, y): Point| (x.clamp(f.left, f.right), y.clamp(f.top, f.bottom));
            let corners = if self.lying {
                ((o.0, p.1 - half), (p.0, p.1 + half))
            } else if names.is_empty() {
                let side = |by: f64| self.point((a + by, 0.0_f64.max(b))).map_or(p.0, |q| q.0);
                ((side(-0.98 * apart), o.1), (side(0.98 * apart), p.1))
            } else {
                ((p.0 - half, o.1), (p.0 + half, p.1))
            };
            pen.rectangle((inside(corners.0), inside(corners.1)), look.colour, part);
            if !names.is_empty() && few && series.band.is_empty() {
                let font = Font::new(11.5, Anchor::Middle);
                let label = fenchel_linalg::text::short(value);
                if self.lying && half > 5.0 {
                    let room = width_of(&label, 11.5) + 8.0;
                    let (side, anchor, inner) = match value < 0.0 {
                        true => (-5.0, Anchor::End, Anchor::Start),
                        false => (5.0, Anchor::Start, Anchor::End),
                    };
                    if p.0 + room < f.right + 20.0 && p.0 - room > f.left {
                        pen.text(&label, (p.0 + side, p.1), Font { anchor, ..font });
                    } else if (p.0 - o.0).abs() > room {
                        let font = Font { anchor: inner, ..font }.colour(Colour::Paper);
                        pen.text(&label, (p.0 - side, p.1), font);
                    }
                } else if !self.lying && width_of(&label, 11.5) < 2.0 * half + 8.0 {
                    pen.text(&label, (p.0, p.1 + if value < 0.0 { 9.0 } else { -9.0 }), font);
                }
            }
        }
    }

    fn cells(&self, pen: &mut Pen, k: usize) {
        let (series, look) = (&self.figure.series[k], self.looks[k]);
        for &(a, b) in &series.points {
            let corner = |by: f64| self.point((a + by, b + by));
            if let Some(corners) = corner(-0.5).zip(corner(0.5)) {
                pen.rectangle(corners, look.colour, 1.0);
            }
        }
    }

    fn marks(&self, pen: &mut Pen) {
        let Frame { left, top, right, bottom } = self.frame;
        for (k, (at, word)) in self.figure.marks.iter().enumerate() {
            let Place::At(at @ 0.0..=1.0) = self.x.place(*at) else { continue };
            let (px, _) = self.frame.at(at, 0.0);
            let stroke = Stroke { dashes: "4 3", ..Stroke::new(Colour::Soft, 1.3) };
            pen.line(&[(px, top), (px, bottom)], stroke);
            let start = px + width_of(word, 12.0) + 8.0 < right || px - left < right - px;
            let (x, anchor) =
                if start { (px + 5.0, Anchor::Start) } else { (px - 5.0, Anchor::End) };
            let font = Font::new(12.0, anchor).colour(Colour::Soft);
            pen.text_on_lines(word, (x, top + 10.0 + 16.0 * (k % 4) as f64), font);
        }
    }

    /// The uninterrupted parts of a curve in pixels. A point with a NaN or infinite coordinate interrupts the curve. At a value that
    /// is not positive on a vertical logarithmic axis, the curve goes straight down to the lower end of the axis and stops there.
    fn runs(&self, series: &Series) -> Vec<Vec<Point>> {
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

    /// The right ends of the visible curves, if all of them have one and names fit beside them.
    fn ends_of_curves(&self) -> Vec<(usize, Point)> {
        let series = &self.figure.series;
        let curves = series.iter().all(|s| matches!(s.style, Style::Line | Style::LinePoints));
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

    /// The names of the series: at the ends of the curves, or below the axes in the order of their ends. Returns the lower end of the
    /// drawing.
    fn names(&self, pen: &mut Pen) -> f64 {
        let (series, top) = (&self.figure.series, self.below_axes());
        if !self.ends.is_empty() {
            self.names_at_ends(pen);
            return top;
        }
        let height = |k: usize| {
            let seen = series[k].points.iter().rev().find_map(|p| self.point(*p));
            seen.map_or(f64::INFINITY, |p| p.1)
        };
        let mut order: Vec<usize> =
            (0..series.len()).filter(|&k| !series[k].name.is_empty()).collect();
        if series.iter().all(|s| matches!(s.style, Style::Line | Style::LinePoints)) {
            order.sort_by(|&a, &b| height(a).total_cmp(&height(b)));
        }
        let (left, room) = (self.frame.left.min(60.0), WIDTH - self.frame.left.min(60.0) - 12.0);
        let widest =
            order.iter().map(|&k| width_of(&series[k].name, TICK_FONT)).fold(0.0, f64::max);
        let entry = LEGEND_SAMPLE + 8.0 + widest + 14.0;
        let columns = ((room / entry) as usize).clamp(1, order.len().clamp(1, 4));
        // Down the columns, so that the order of the series stays the order of reading.
        let rows = order.len().div_ceil(columns).max(1);
        for (index, &k) in order.iter().enumerate() {
            let (look, style) = (self.looks[k], series[k].style);
            let px = left + (index / rows) as f64 * room / columns as f64;
            let py = top + ((index % rows) as f64 + 0.5) * LEGEND_ROW;
            let (end, middle) = (px + LEGEND_SAMPLE, px + 0.5 * LEGEND_SAMPLE);
            if matches!(style, Style::Line | Style::LinePoints) {
                let stroke = Stroke { dashes: look.dashes, ..Stroke::new(look.colour, 2.2) };
                pen.line(&[(px, py), (end, py)], stroke.shade(look.shade));
            }
            match style {
                Style::Line => {}
                Style::LinePoints | Style::Points => {
                    pen.marker((middle, py), look.marker, 3.8, (look.colour, look.shade));
                }
                Style::Bars | Style::Cells => {
                    pen.rectangle(
                        ((middle - 7.0, py - 6.0), (middle + 7.0, py + 6.0)),
                        look.colour,
                        0.9,
                    );
                }
            }
            let name =
                shortened(&series[k].name, TICK_FONT, room / columns as f64 - LEGEND_SAMPLE - 10.0);
            pen.text(&name, (end + 8.0, py), Font::new(TICK_FONT, Anchor::Start));
        }
        top + order.len().div_ceil(columns) as f64 * LEGEND_ROW + 6.0
    }

    fn names_at_ends(&self, pen: &mut Pen) {
        let mut ends = self.ends.clone();
        ends.sort_by(|a, b| a.1.1.total_cmp(&b.1.1));
        let wanted: Vec<f64> = ends.iter().map(|e| e.1.1).collect();
        let places = apart(&wanted, &vec![15.5; wanted.len()]);
        // The lowest name stays above the labels of the axis.
        let over = places.last().map_or(0.0, |p| (p - self.frame.bottom).max(0.0));
        for ((k, (x, y)), place) in ends.into_iter().zip(places) {
            let (look, at) = (self.looks[k], self.frame.right + 9.0);
            let place = place - over;
            if (place - y).abs() > 2.0 || at - x > 14.0 {
                let leader = [(x + 2.0, y), (at - 2.0, place)];
                pen.line(&leader, Stroke::new(look.colour, 0.8).shade(0.6));
            }
            let font = Font::new(TICK_FONT, Anchor::Start).colour(look.colour);
            pen.text(&self.figure.series[k].name, (at, place), font);
        }
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

    /// Every style on every kind of axes, with data that are empty, constant, huge, or no numbers.
    #[test]
    fn odd_series_are_drawn_without_panic_and_without_nan() {
        let styles = [Style::Line, Style::LinePoints, Style::Points, Style::Bars, Style::Cells];
        let clouds: [&[Point]; 7] = [
            &[],
            &[(0.0, 0.0)],
            &[(3.0, 3.0), (3.0, 3.0)],
            &[(0.0, 1.0), (1.0, 0.0), (2.0, -1.0)],
            &[(f64::NAN, 1.0), (f64::INFINITY, 2.0), (1.0, f64::NEG_INFINITY)],
            &[(0.0, 1e308), (1.0, 1e-308), (2.0, 5e-324)],
            &[(-1e308, 1.0), (1e308, 1.0)],
        ];
        let axes =
            [Axis::linear("x"), Axis::log("x").falling(), Axis::of_names("x", ["a", "b & c"])];
        for points in clouds {
            for style in styles {
                for (x, y) in axes.iter().flat_map(|x| axes.iter().map(move |y| (x, y))) {
                    for square in [false, true] {
                        let band = points.iter().map(|p| (p.1 - 1.0, p.1 + f64::NAN)).collect();
                        let series =
                            Series { style, ..Series::line("s", points.to_vec()).band(band) };
                        let figure = Figure { square, ..Figure::new("T", x.clone(), y.clone()) };
                        let svg = figure.with(series.clone()).with(series).mark(1.0, "one").svg();
                        assert!(svg.ends_with("</svg>\n"));
                        let numbers = svg.split("<title>").last().unwrap_or_default();
                        assert!(
                            !numbers.contains("NaN") && !numbers.contains("inf"),
                            "{points:?}: {svg}"
                        );
                    }
                }
            }
        }
        assert!(gap([]).svg().contains("viewBox"));
        assert!(
            Figure::histogram("H", Axis::linear("x"), [("a", vec![]), ("b", vec![2.0; 3])])
                .svg()
                .contains("<rect")
        );
    }
}
