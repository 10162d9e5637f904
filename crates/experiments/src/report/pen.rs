//! Drawing functions for lines, text and markers. They use the SVG back end of the library plotters.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The factor by which the drawing is enlarged. plotters uses whole pixels. The drawing is ten times as large as shown, and the view
/// box of the SVG scales it back. So curves have a resolution of a tenth of a pixel.
const FINE: f64 = 10.0;

/// The factor of font sizes. plotters writes a font of size s as s / 1.24.
const FONT: f64 = 1.24;

/// Number of marker shapes.
pub(super) const MARKERS: usize = 7;

/// The error of the drawing back end.
pub(super) type Refused = DrawingAreaErrorKind<std::io::Error>;

/// A drawing of a given size in pixels.
pub(super) struct Pen<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

impl<'a> Pen<'a> {
    /// Starts a drawing whose SVG is written to `text`. The text is complete after [`Pen::finish`].
    pub(super) fn new(text: &'a mut String, width: f64, height: f64) -> Self {
        let size = ((width * FINE) as u32, (height * FINE) as u32);
        Pen { area: SVGBackend::with_string(text, size).into_drawing_area() }
    }

    pub(super) fn finish(self) -> Result<(), Refused> {
        self.area.present()
    }

    /// Draws a polyline. A point that rounds to the same position as the point before it is left out.
    pub(super) fn line(
        &self,
        points: &[(f64, f64)],
        colour: RGBColor,
        width: f64,
    ) -> Result<(), Refused> {
        let mut fine: Vec<(i32, i32)> = points.iter().map(|p| fine(*p)).collect();
        fine.dedup();
        if fine.len() < 2 {
            return Ok(());
        }
        self.area.draw(&PathElement::new(fine, colour.stroke_width((width * FINE) as u32)))
    }

    /// Draws text at a point. The anchor says which part of the text is at this point.
    pub(super) fn text(
        &self,
        text: &str,
        place: (f64, f64),
        size: f64,
        colour: RGBColor,
        anchor: Pos,
    ) -> Result<(), Refused> {
        let style = ("sans-serif", size * FONT * FINE).into_font().color(&colour).pos(anchor);
        self.area.draw(&Text::new(printable(text), fine(place), style))
    }

    /// Draws text that runs upwards, centred at a point.
    pub(super) fn text_upwards(
        &self,
        text: &str,
        place: (f64, f64),
        size: f64,
        colour: RGBColor,
    ) -> Result<(), Refused> {
        let font =
            ("sans-serif", size * FONT * FINE).into_font().transform(FontTransform::Rotate270);
        let style = font.color(&colour).pos(Pos::new(HPos::Center, VPos::Top));
        self.area.draw(&Text::new(printable(text), fine(place), style))
    }

    /// Draws a marker of about the given radius. `shape` is the number of the marker shape, modulo the number of shapes.
    pub(super) fn marker(
        &self,
        centre: (f64, f64),
        shape: usize,
        radius: f64,
        colour: RGBColor,
    ) -> Result<(), Refused> {
        let r = radius;
        let corners: Vec<(f64, f64)> = match shape % MARKERS {
            0 => {
                let circle = Circle::new(fine(centre), (r * FINE) as i32, colour.filled());
                return self.area.draw(&circle);
            }
            1 => vec![(-r, -r), (r, -r), (r, r), (-r, r)],
            2 => vec![(0.0, -1.3 * r), (1.2 * r, 0.9 * r), (-1.2 * r, 0.9 * r)],
            3 => vec![(0.0, -1.4 * r), (1.4 * r, 0.0), (0.0, 1.4 * r), (-1.4 * r, 0.0)],
            4 => vec![(0.0, 1.3 * r), (1.2 * r, -0.9 * r), (-1.2 * r, -0.9 * r)],
            5 => cross(r, false),
            _ => cross(r, true),
        };
        let place = |(dx, dy): (f64, f64)| fine((centre.0 + dx, centre.1 + dy));
        let corners: Vec<(i32, i32)> = corners.into_iter().map(place).collect();
        self.area.draw(&Polygon::new(corners, colour.filled()))
    }
}

/// Draws a plus, or a cross if it is turned by 45 degrees.
fn cross(r: f64, turned: bool) -> Vec<(f64, f64)> {
    let (long, arm) = (1.35 * r, 0.42 * r);
    let quarter = [(arm, -long), (arm, -arm), (long, -arm)];
    let mut corners = Vec::with_capacity(12);
    for turn in 0..4 {
        for (x, y) in quarter {
            corners.push(match turn {
                0 => (x, y),
                1 => (-y, x),
                2 => (-x, -y),
                _ => (y, -x),
            });
        }
    }
    if turned {
        let c = std::f64::consts::FRAC_1_SQRT_2;
        corners.iter_mut().for_each(|p| *p = (c * (p.0 - p.1), c * (p.0 + p.1)));
    }
    corners
}

fn fine((x, y): (f64, f64)) -> (i32, i32) {
    ((x * FINE).round() as i32, (y * FINE).round() as i32)
}

/// Removes control characters from a text, because XML cannot contain them.
fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// Makes three changes to the SVG element. It removes the fixed size, so that the drawing is as wide as its container. It adds a
/// title for screen readers. It adds a white background, so that the dark text is readable on a dark page.
pub(super) fn responsive(svg: &str, title: &str, width: f64, height: f64) -> String {
    let Some(end) = svg.find('>') else { return svg.to_owned() };
    let title = super::html::escape(&printable(title));
    let (w, h) = ((width * FINE) as u32, (height * FINE) as u32);
    format!(
        "<svg viewBox=\"0 0 {w} {h}\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" \
         aria-label=\"{title}\">\n<title>{title}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>{}",
        &svg[end + 1..]
    )
}

/// The parts of a polyline within a rectangle. Every segment is clipped by the Liang-Barsky algorithm.
pub(super) fn clipped(
    line: &[(f64, f64)],
    low: (f64, f64),
    high: (f64, f64),
) -> Vec<Vec<(f64, f64)>> {
    let mut pieces: Vec<Vec<(f64, f64)>> = Vec::new();
    for ends in line.windows(2) {
        let (a, b) = (ends[0], ends[1]);
        let d = (b.0 - a.0, b.1 - a.1);
        let (mut from, mut to) = (0.0_f64, 1.0_f64);
        let edges =
            [(-d.0, a.0 - low.0), (d.0, high.0 - a.0), (-d.1, a.1 - low.1), (d.1, high.1 - a.1)];
        let mut outside = false;
        for (slope, room) in edges {
            if slope == 0.0 {
                // A rounding error of the mapping must not hide a curve along the edge.
                outside |= room < -1e-6;
            } else if slope < 0.0 {
                from = from.max(room / slope);
            } else {
                to = to.min(room / slope);
            }
        }
        if outside || from > to + 1e-12 {
            continue;
        }
        let at = |t: f64| (a.0 + t * d.0, a.1 + t * d.1);
        let (start, end) = (at(from), at(to));
        match pieces.last_mut() {
            Some(piece) if from == 0.0 && piece.last() == Some(&start) => piece.push(end),
            _ => pieces.push(vec![start, end]),
        }
    }
    pieces
}

/// Cuts a polyline into dashes. `lengths` alternates between the length of a dash and the length of a gap. Without lengths the
/// polyline stays whole.
pub(super) fn dashed(line: &[(f64, f64)], lengths: &[f64]) -> Vec<Vec<(f64, f64)>> {
    if lengths.is_empty() || line.is_empty() {
        return vec![line.to_vec()];
    }
    let mut dashes = Vec::new();
    let mut dash = vec![line[0]];
    let (mut phase, mut left) = (0, lengths[0]);
    for ends in line.windows(2) {
        let (mut a, b) = (ends[0], ends[1]);
        let mut rest = (b.0 - a.0).hypot(b.1 - a.1);
        while rest > left {
            let share = left / rest;
            a = (a.0 + share * (b.0 - a.0), a.1 + share * (b.1 - a.1));
            rest -= left;
            if phase % 2 == 0 {
                dash.push(a);
                dashes.push(std::mem::take(&mut dash));
            } else {
                dash = vec![a];
            }
            phase = (phase + 1) % lengths.len();
            left = lengths[phase];
        }
        left -= rest;
        if phase % 2 == 0 {
            dash.push(b);
        }
    }
    if dash.len() > 1 {
        dashes.push(dash);
    }
    dashes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_go_around_corners() {
        let line = [(0.0, 0.0), (3.0, 0.0), (3.0, 3.0)];
        let found = dashed(&line, &[2.0, 0.5]);
        assert_eq!(
            found,
            [
                vec![(0.0, 0.0), (2.0, 0.0)],
                vec![(2.5, 0.0), (3.0, 0.0), (3.0, 1.5)],
                vec![(3.0, 2.0), (3.0, 3.0)]
            ]
        );
    }

    #[test]
    fn clipping_keeps_what_is_inside() {
        let line = [(-1.0, 0.5), (0.5, 0.5), (0.5, 2.0), (0.7, 2.0), (0.7, 0.5)];
        let found = clipped(&line, (0.0, 0.0), (1.0, 1.0));
        assert_eq!(found, [vec![(0.0, 0.5), (0.5, 0.5), (0.5, 1.0)], vec![(0.7, 1.0), (0.7, 0.5)]]);
        assert!(clipped(&[(2.0, 2.0), (3.0, 3.0)], (0.0, 0.0), (1.0, 1.0)).is_empty());
    }

    #[test]
    fn a_cross_has_twelve_corners_at_two_distances() {
        for turned in [false, true] {
            let corners = cross(1.0, turned);
            assert_eq!(corners.len(), 12);
            let inner = corners.iter().filter(|(x, y)| x.hypot(*y) < 0.7).count();
            assert_eq!(inner, 4);
        }
    }
}
