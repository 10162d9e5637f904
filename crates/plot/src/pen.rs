//! A pen that writes SVG. A shape with a coordinate that is not finite is left out, so that no path has a NaN.

use std::fmt::Write as _;

use fenchel_linalg::text::exact;

use crate::colour::Colour;
use crate::letters::escaped;

/// Number of marker shapes.
const MARKERS: usize = 5;

/// Which part of a text is at its point.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// How a text is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Font {
    pub(crate) size: f64,
    pub(crate) colour: Colour,
    pub(crate) anchor: Anchor,
    pub(crate) bold: bool,
    pub(crate) mono: bool,
    /// Degrees, clockwise.
    pub(crate) turned: f64,
}

impl Font {
    pub(crate) const fn new(size: f64, anchor: Anchor) -> Font {
        let colour = Colour::Ink;
        Font { size, colour, anchor, bold: false, mono: false, turned: 0.0 }
    }

    pub(crate) const fn colour(self, colour: Colour) -> Font {
        Font { colour, ..self }
    }

    pub(crate) const fn bold(self) -> Font {
        Font { bold: true, ..self }
    }
}

/// How a line is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stroke {
    pub(crate) colour: Colour,
    pub(crate) width: f64,
    pub(crate) shade: f64,
    pub(crate) dashes: &'static str,
}

impl Stroke {
    pub(crate) const fn new(colour: Colour, width: f64) -> Stroke {
        Stroke { colour, width, shade: 1.0, dashes: "" }
    }

    pub(crate) const fn shade(self, shade: f64) -> Stroke {
        Stroke { shade, ..self }
    }
}

/// A drawing, as the text of its shapes.
#[derive(Debug, Default)]
pub(crate) struct Pen {
    shapes: String,
}

type Point = (f64, f64);

fn finite(points: &[Point]) -> bool {
    points.iter().all(|p| p.0.is_finite() && p.1.is_finite())
}

/// A tenth of a pixel; `+ 0.0` takes the sign of a zero.
fn number(v: f64) -> String {
    exact((10.0 * v).round() / 10.0 + 0.0)
}

fn shade(name: &str, shade: f64) -> String {
    if shade < 1.0 { format!(" {name}=\"{shade:.2}\"") } else { String::new() }
}

impl Pen {
    // Writing to a string cannot fail.
    fn put(&mut self, shape: std::fmt::Arguments<'_>) {
        _ = self.shapes.write_fmt(shape);
        self.shapes.push('\n');
    }

    /// A polyline. A point that rounds to the same position as the point before it is left out.
    pub(crate) fn line(&mut self, points: &[Point], stroke: Stroke) {
        let mut places: Vec<_> = points.iter().map(|p| (number(p.0), number(p.1))).collect();
        places.dedup();
        if places.len() > 1 && finite(points) {
            let text: Vec<String> = places.iter().map(|(x, y)| format!("{x},{y}")).collect();
            self.path(&format!("M{}", text.join(" ")), stroke);
        }
    }

    /// A curve from point to point with a horizontal or vertical tangent at both ends.
    pub(crate) fn bend(&mut self, points: &[Point], stroke: Stroke) {
        if points.len() < 2 || !finite(points) {
            return;
        }
        let mut text = format!("M{},{}", number(points[0].0), number(points[0].1));
        for ends in points.windows(2) {
            let ((x, y), (u, v)) = (ends[0], ends[1]);
            let half = number(0.5 * (y + v));
            let (x, u, v) = (number(x), number(u), number(v));
            text += &format!(" C{x},{half} {u},{half} {u},{v}");
        }
        self.path(&text, stroke);
    }

    /// An arc from a point to another that leaves both in the direction of a third.
    pub(crate) fn bow(&mut self, (a, b): (Point, Point), middle: Point, stroke: Stroke) {
        if finite(&[a, b, middle]) {
            let [x, y, mx, my, u, v] = [a.0, a.1, middle.0, middle.1, b.0, b.1].map(number);
            self.path(&format!("M{x},{y} Q{mx},{my} {u},{v}"), stroke);
        }
    }

    fn path(&mut self, text: &str, Stroke { colour, width, shade: part, dashes }: Stroke) {
        let dashes = match dashes {
            "" => String::new(),
            dashes => format!(" stroke-dasharray=\"{dashes}\""),
        };
        let part = shade("stroke-opacity", part);
        self.put(format_args!(
            "<path class=\"fp-{colour:?}\" d=\"{text}\" fill=\"none\" stroke=\"currentColor\" \
             stroke-width=\"{}\" stroke-linejoin=\"round\"{part}{dashes}/>",
            number(width)
        ));
    }

    pub(crate) fn polygon(&mut self, points: &[Point], colour: Colour, part: f64) {
        if points.len() > 2 && finite(points) {
            let text: Vec<String> =
                points.iter().map(|p| format!("{},{}", number(p.0), number(p.1))).collect();
            let (text, part) = (text.join(" "), shade("fill-opacity", part));
            self.put(format_args!(
                "<path class=\"fp-{colour:?}\" d=\"M{text}z\" fill=\"currentColor\"{part}/>"
            ));
        }
    }

    /// Many rectangles of a colour, from corner to corner, as one shape.
    pub(crate) fn boxes(&mut self, boxes: impl Iterator<Item = (Point, Point)>, colour: Colour) {
        let box_ = |(a, b): (Point, Point)| {
            let [x, y, u, v] = [a.0, a.1, b.0, b.1].map(number);
            format!("M{x},{y}H{u}V{v}H{x}z")
        };
        let text: String = boxes.filter(|(a, b)| finite(&[*a, *b])).map(box_).collect();
        if !text.is_empty() {
            self.put(format_args!(
                "<path class=\"fp-{colour:?}\" d=\"{text}\" fill=\"currentColor\"/>"
            ));
        }
    }

    /// A rectangle from corner to corner, in any order.
    pub(crate) fn rectangle(&mut self, (a, b): (Point, Point), colour: Colour, part: f64) {
        self.outlined((a, b), 0.0, (colour, part), None);
    }

    /// A rectangle with round corners, filled and with an outline.
    pub(crate) fn outlined(
        &mut self,
        (a, b): (Point, Point),
        round: f64,
        (colour, part): (Colour, f64),
        outline: Option<Stroke>,
    ) {
        if finite(&[a, b]) {
            let (x, y) = (number(a.0.min(b.0)), number(a.1.min(b.1)));
            let (w, h) = (number((a.0 - b.0).abs()), number((a.1 - b.1).abs()));
            let round = if round > 0.0 { format!(" rx=\"{round}\"") } else { String::new() };
            let box_ = format!("x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"{round}");
            let part = shade("fill-opacity", part);
            self.put(format_args!(
                "<rect class=\"fp-{colour:?}\" {box_} fill=\"currentColor\"{part}/>"
            ));
            if let Some(Stroke { colour, width, .. }) = outline {
                self.put(format_args!(
                    "<rect class=\"fp-{colour:?}\" {box_} fill=\"none\" stroke=\"currentColor\" stroke-width=\"{width}\"/>"
                ));
            }
        }
    }

    /// A disc with a thin outline in the colour of the page, and a text that appears under the mouse.
    pub(crate) fn disc(&mut self, centre: Point, radius: f64, colour: Colour, about: &str) {
        let about = match about {
            "" => String::new(),
            about => format!("<title>{}</title>", escaped(about)),
        };
        self.circle(centre, radius + 1.2, (Colour::Paper, 1.0), "");
        self.circle(centre, radius, (colour, 1.0), &about);
    }

    fn circle(&mut self, centre: Point, r: f64, (colour, part): (Colour, f64), inside: &str) {
        if finite(&[centre]) {
            let [x, y, r] = [centre.0, centre.1, r].map(number);
            let part = shade("fill-opacity", part);
            self.put(format_args!(
                "<circle class=\"fp-{colour:?}\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"currentColor\"{part}>{inside}</circle>"
            ));
        }
    }

    /// A marker of about the given radius. `shape` is the number of its shape, modulo the number of shapes.
    pub(crate) fn marker(
        &mut self,
        centre: Point,
        shape: usize,
        r: f64,
        (colour, part): (Colour, f64),
    ) {
        let corners: Vec<Point> = match shape % MARKERS {
            0 => return self.circle(centre, r, (colour, part), ""),
            1 => vec![(-r, -r), (r, -r), (r, r), (-r, r)],
            2 => vec![(0.0, -1.3 * r), (1.2 * r, 0.9 * r), (-1.2 * r, 0.9 * r)],
            3 => vec![(0.0, -1.4 * r), (1.4 * r, 0.0), (0.0, 1.4 * r), (-1.4 * r, 0.0)],
            _ => vec![(0.0, 1.3 * r), (1.2 * r, -0.9 * r), (-1.2 * r, -0.9 * r)],
        };
        let corners: Vec<Point> =
            corners.into_iter().map(|(dx, dy)| (centre.0 + dx, centre.1 + dy)).collect();
        self.polygon(&corners, colour, part);
    }

    /// The head of an arrow that arrives at a point from the direction of another.
    pub(crate) fn arrow(&mut self, from: Point, to: Point, colour: Colour) {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        let length = dx.hypot(dy).max(1e-9);
        let (ux, uy) = (7.5 * dx / length, 7.5 * dy / length);
        let foot = (to.0 - ux, to.1 - uy);
        let corners = [
            to,
            (foot.0 - 0.45 * uy, foot.1 + 0.45 * ux),
            (foot.0 + 0.45 * uy, foot.1 - 0.45 * ux),
        ];
        self.polygon(&corners, colour, 1.0);
    }

    /// A text in one line, whose middle is at the height of the point.
    pub(crate) fn text(&mut self, text: &str, place: Point, font: Font) {
        self.write(text, place, font, false);
    }

    /// The same with an outline in the colour of the page, so that it is readable on lines.
    pub(crate) fn text_on_lines(&mut self, text: &str, place: Point, font: Font) {
        self.write(text, place, font, true);
    }

    fn write(&mut self, text: &str, place: Point, font: Font, halo: bool) {
        if text.is_empty() || !finite(&[place]) {
            return;
        }
        let Font { size, colour, anchor, bold, mono, turned } = font;
        let (x, y) = (number(place.0), number(place.1 + 0.35 * size));
        let mut look = String::new();
        match anchor {
            Anchor::Start => {}
            Anchor::Middle => look += " text-anchor=\"middle\"",
            Anchor::End => look += " text-anchor=\"end\"",
        }
        if bold {
            look += " font-weight=\"600\"";
        }
        if mono {
            look += " font-family=\"monospace\"";
        }
        if turned != 0.0 {
            look += &format!(" transform=\"rotate({turned} {x} {y})\"");
        }
        let text = escaped(&text.replace(['\n', '\t', '\r'], " "));
        if halo {
            self.put(format_args!(
                "<text class=\"fp-Paper\" x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"currentColor\" \
                 stroke=\"currentColor\" stroke-width=\"3\" stroke-linejoin=\"round\" aria-hidden=\"true\"{look}>{text}</text>"
            ));
        }
        self.put(format_args!(
            "<text class=\"fp-{colour:?}\" x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"currentColor\"{look}>{text}</text>"
        ));
    }

    /// The drawing as a self-contained SVG text that scales with its container. It names its colours by classes, which have other
    /// values on a dark page.
    pub(crate) fn finish(self, title: &str, width: f64, height: f64) -> String {
        let (title, w, h) = (escaped(title), number(width.ceil()), number(height.ceil()));
        let used =
            |c: &&Colour| **c == Colour::Paper || self.shapes.contains(&format!("\"fp-{c:?}\""));
        let rules = |dark: bool| -> String {
            let rule = |c: &Colour| {
                format!(".fp-{c:?}{{color:{}}}", if dark { c.hex().1 } else { c.hex().0 })
            };
            Colour::ALL.iter().filter(used).map(rule).collect()
        };
        format!(
            "<svg viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" style=\"max-width:100%;height:auto\" \
             xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" aria-label=\"{title}\" font-family=\"sans-serif\">\n\
             <title>{title}</title>\n<style>rect:not([rx]){{shape-rendering:crispEdges}}{}@media screen and (prefers-color-scheme:dark){{{}}}</style>\n\
             <rect class=\"fp-Paper\" width=\"100%\" height=\"100%\" fill=\"currentColor\"/>\n{}</svg>\n",
            rules(false),
            rules(true),
            self.shapes
        )
    }
}

/// The parts of a polyline within a rectangle. Every segment is clipped by the Liang-Barsky algorithm.
pub(crate) fn clipped(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finite_is_not_drawn() {
        let mut pen = Pen::default();
        let bad = (f64::NAN, 1.0);
        pen.line(&[(0.0, 0.0), bad], Stroke::new(Colour::Ink, 1.0));
        pen.polygon(&[(0.0, 0.0), (1.0, 1.0), bad], Colour::Ink, 1.0);
        pen.rectangle((bad, (1.0, 1.0)), Colour::Ink, 1.0);
        (0..MARKERS).for_each(|shape| pen.marker(bad, shape, 2.0, (Colour::Ink, 1.0)));
        assert_eq!(pen.shapes, "");
    }

    #[test]
    fn text_is_escaped() {
        let mut pen = Pen::default();
        pen.text("a < b & \u{1}", (0.0, 0.0), Font::new(12.0, Anchor::Start));
        let svg = pen.finish("\"t\"", 10.0, 10.0);
        assert!(svg.contains("a &lt; b &amp; \u{fffd}") && svg.contains("&quot;t&quot;"), "{svg}");
    }

    #[test]
    fn clipping_keeps_what_is_inside() {
        let line = [(-1.0, 0.5), (0.5, 0.5), (0.5, 2.0), (0.7, 2.0), (0.7, 0.5)];
        let found = clipped(&line, (0.0, 0.0), (1.0, 1.0));
        assert_eq!(found, [vec![(0.0, 0.5), (0.5, 0.5), (0.5, 1.0)], vec![(0.7, 1.0), (0.7, 0.5)]]);
        assert!(clipped(&[(2.0, 2.0), (3.0, 3.0)], (0.0, 0.0), (1.0, 1.0)).is_empty());
    }
}
