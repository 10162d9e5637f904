//! Draws a figure as SVG. A curve that reaches 0 on a logarithmic axis stops at the lower end of the axis.

use fenchel_linalg::text::{fixed, short};

use super::axis::Place;
use super::layout::{Frame, Layout, Point, TICK_FONT, spacing};
use crate::letters::{shortened, width_of};
use crate::pen::{Anchor, Font, Pen, Stroke};
use crate::title::{self, WIDTH};
use crate::{Colour, Figure, Scale, Series, Style};

const LABEL_FONT: f64 = 13.5;

impl Figure {
    /// The figure as a self-contained SVG text that scales with its container.
    pub fn svg(&self) -> String {
        let mut pen = Pen::default();
        let top = title::draw(&mut pen, &self.title, &self.note, &self.warnings);
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

impl Layout<'_> {
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
        pen.text(&self.figure.y.label, (14.0, top - 17.0), font);
    }

    /// The range of values around the points: an area along a curve, intervals at single points.
    fn band(&self, pen: &mut Pen, k: usize) {
        let (series, look) = (&self.figure.series[k], self.looks[k]);
        let along = series.style.is_curve() && !self.lying && series.points.len() > 12;
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
        // Many areas on each other would hide what is below: they are pale, and have edges.
        let many = self.figure.series.iter().filter(|s| !s.band.is_empty()).count() > 3;
        if many {
            let edge = Stroke::new(look.colour, 0.8).shade(0.45);
            pen.line(&above, edge);
            pen.line(&below, edge);
        }
        above.extend(below.into_iter().rev());
        pen.polygon(&above, look.colour, if many { 0.05 } else { 0.16 });
    }

    /// The names of the axis along which bars stand; none if it has numbers.
    fn places(&self) -> &[String] {
        if self.lying { &self.figure.y.names } else { &self.figure.x.names }
    }

    /// The series that stand beside series `k` at the same names: bars, or marks with intervals. Marks alone may stand on each other.
    fn beside(&self, k: usize) -> Vec<usize> {
        let (series, lying, names) = (&self.figure.series, self.lying, self.places());
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
        if alike.len() < 2 {
            return (0.0, 0.0);
        }
        let room = if self.lying { self.frame.height() } else { self.frame.width() };
        let step = (0.8 * room / (self.places().len() * alike.len()) as f64).min(48.0);
        let by = step * (rank as f64 + 0.5 - 0.5 * alike.len() as f64);
        if self.lying { (0.0, by) } else { (by, 0.0) }
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
        let names = self.places();
        let all = self.figure.series.iter().filter(|s| s.style == Style::Bars).count();
        let many = if names.is_empty() { all } else { self.beside(k).len() };
        let rows = if self.lying { f.height() } else { f.width() } / names.len().max(1) as f64;
        let half = 0.5 * (0.8 * rows / many as f64).min(44.0);
        let apart = 0.5 * spacing(&series.points, |p| p.0);
        let (part, few) =
            (if names.is_empty() && many > 1 { 0.5 } else { 0.9 }, series.points.len() <= 40);
        let decimals = self.decimals();
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
                ((side(-apart), o.1), (side(apart), p.1))
            } else {
                ((p.0 - half, o.1), (p.0 + half, p.1))
            };
            pen.rectangle((inside(corners.0), inside(corners.1)), look.colour, part);
            if !names.is_empty() && few && series.band.is_empty() {
                let font = Font::new(11.5, Anchor::Middle);
                let label = decimals.map_or_else(|| short(value), |places| fixed(value, places));
                if self.lying && half > 5.0 {
                    let room = width_of(&label, 11.5) + 8.0;
                    let (side, anchor, inner, fits) = match value < 0.0 {
                        true => (-5.0, Anchor::End, Anchor::Start, p.0 - room > f.left),
                        false => (5.0, Anchor::Start, Anchor::End, p.0 + room < f.right + 20.0),
                    };
                    if fits {
                        pen.text_on_lines(&label, (p.0 + side, p.1), Font { anchor, ..font });
                    } else if (p.0 - o.0).abs() > room {
                        let font = Font { anchor: inner, ..font }.colour(Colour::Paper);
                        pen.text(&label, (p.0 - side, p.1), font);
                    }
                } else if !self.lying && width_of(&label, 11.5) < 2.0 * half + 8.0 {
                    let by = if value < 0.0 { 9.0 } else { -9.0 };
                    pen.text_on_lines(&label, (p.0, p.1 + by), font);
                }
            }
        }
    }

    /// How many decimals the numbers of all bars have: as many as show three digits of the largest. `None` for integers, for very
    /// small and very large numbers, and on a logarithmic axis.
    fn decimals(&self) -> Option<usize> {
        let bars = self.figure.series.iter().filter(|s| s.style == Style::Bars);
        let value = |p: &Point| if self.lying { p.0 } else { p.1 };
        let values = || bars.clone().flat_map(|s| s.points.iter().map(value));
        let largest = values().filter(|v| v.is_finite()).fold(0.0_f64, |m, v| m.max(v.abs()));
        let axis = if self.lying { &self.figure.x } else { &self.figure.y };
        let plain = axis.scale == Scale::Log || values().all(|v| v.fract() == 0.0);
        let shown = !plain && (1e-3..1e6).contains(&largest);
        shown.then(|| (2.0 - largest.log10().floor()).max(0.0) as usize)
    }

    fn cells(&self, pen: &mut Pen, k: usize) {
        let (series, look) = (&self.figure.series[k], self.looks[k]);
        let box_ = |&(a, b): &Point| {
            let corner = |by: f64| self.point((a + by, b + by));
            corner(-0.5).zip(corner(0.5))
        };
        pen.boxes(series.points.iter().filter_map(box_), look.colour);
    }

    fn marks(&self, pen: &mut Pen) {
        let Frame { left, top, right, bottom } = self.frame;
        let place = |at: f64| match self.x.place(at) {
            Place::At(at @ 0.0..=1.0) => Some(self.frame.at(at, 0.0).0),
            _ => None,
        };
        let all: Vec<f64> = self.figure.marks.iter().filter_map(|mark| place(mark.0)).collect();
        for (k, (at, word)) in self.figure.marks.iter().enumerate() {
            let Some(px) = place(*at) else { continue };
            let stroke = Stroke { dashes: "4 3", ..Stroke::new(Colour::Soft, 1.3) };
            pen.line(&[(px, top), (px, bottom)], stroke);
            // To the right, unless the word would leave the frame or cross another mark, and to the left would not.
            let room = width_of(word, 12.0) + 8.0;
            let free = |low: f64, high: f64| {
                low > left && high < right && all.iter().all(|x| *x <= low || *x >= high)
            };
            let start = free(px, px + room) || !free(px - room, px) && px - left < right - px;
            let (x, anchor) =
                if start { (px + 5.0, Anchor::Start) } else { (px - 5.0, Anchor::End) };
            let font = Font::new(12.0, anchor).colour(Colour::Soft);
            pen.text_on_lines(word, (x, top + 10.0 + 16.0 * (k % 4) as f64), font);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Axis;

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
        let empty = Figure::new("Gap", Axis::linear("passes"), Axis::log("gap"));
        assert!(empty.svg().contains("viewBox"));
        assert!(
            Figure::histogram("H", Axis::linear("x"), [("a", vec![]), ("b", vec![2.0; 3])])
                .svg()
                .contains("<rect")
        );
    }
}
