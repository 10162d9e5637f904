//! The names of the series: at the right ends of the curves where they fit, and otherwise below the axes, so that they never cover a
//! curve.

use super::layout::{Layout, TICK_FONT};
use crate::Style;
use crate::letters::{shortened, width_of};
use crate::network::apart;
use crate::pen::{Anchor, Font, Pen, Stroke};
use crate::title::WIDTH;

const ROW: f64 = 21.0;
const SAMPLE: f64 = 34.0;

impl Layout<'_> {
    /// Where the names below the axes begin.
    pub(super) fn below_axes(&self) -> f64 {
        let label = if self.figure.x.label.is_empty() { 28.0 } else { 50.0 };
        let names = self.x_ticks.iter().filter_map(|t| t.label.as_ref());
        let turned =
            names.map(|l| 0.64 * width_of(l, TICK_FONT).min(130.0) + 6.0).fold(0.0, f64::max);
        self.frame.bottom + label + if self.turned { turned } else { 0.0 }
    }

    /// The names of the series: at the ends of the curves, or below the axes in the order of their ends. Returns the lower end of the
    /// drawing.
    pub(super) fn names(&self, pen: &mut Pen) -> f64 {
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
        if series.iter().all(|s| s.style.is_curve()) {
            // Many curves are found by their colour first: those of one colour stand together.
            let many = order.len() > 8;
            let first = |k: usize| {
                let kin = order.iter().filter(|&&j| self.looks[j].colour == self.looks[k].colour);
                if many { kin.map(|&j| height(j)).fold(f64::INFINITY, f64::min) } else { 0.0 }
            };
            let keys: Vec<(f64, f64)> = (0..series.len()).map(|k| (first(k), height(k))).collect();
            order.sort_by(|&a, &b| {
                keys[a].0.total_cmp(&keys[b].0).then(keys[a].1.total_cmp(&keys[b].1))
            });
        }
        let (left, room) = (self.frame.left.min(60.0), WIDTH - self.frame.left.min(60.0) - 12.0);
        let widest =
            order.iter().map(|&k| width_of(&series[k].name, TICK_FONT)).fold(0.0, f64::max);
        let entry = SAMPLE + 8.0 + widest + 14.0;
        let columns = ((room / entry) as usize).clamp(1, order.len().clamp(1, 4));
        // Down the columns, so that the order of the series stays the order of reading.
        let rows = order.len().div_ceil(columns).max(1);
        for (index, &k) in order.iter().enumerate() {
            let (look, style) = (self.looks[k], series[k].style);
            let px = left + (index / rows) as f64 * room / columns as f64;
            let py = top + ((index % rows) as f64 + 0.5) * ROW;
            let (end, middle) = (px + SAMPLE, px + 0.5 * SAMPLE);
            if style.is_curve() {
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
            let name = shortened(&series[k].name, TICK_FONT, room / columns as f64 - SAMPLE - 10.0);
            pen.text(&name, (end + 8.0, py), Font::new(TICK_FONT, Anchor::Start));
        }
        top + order.len().div_ceil(columns) as f64 * ROW + 6.0
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
                // Dots, so that nobody reads it as a part of the curve.
                let dots = Stroke { dashes: "1 3", ..Stroke::new(look.colour, 0.8) };
                pen.line(&leader, dots.shade(0.6));
            }
            let font = Font::new(TICK_FONT, Anchor::Start).colour(look.colour);
            pen.text(&self.figure.series[k].name, (at, place), font);
        }
    }
}
