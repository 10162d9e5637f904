//! Two figures for a first analysis, as SVG text.
//!
//! [`scree_svg`] shows how fast the eigenvalues fall. [`summary_svg`] shows the response against an index; if the model
//! has one index, this figure contains the whole dependence. Nothing is written to disk.

use std::fmt::Write;

use fenchel_linalg::Invalid;
use ndarray::ArrayView1;

use crate::{Error, Reduction};

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 64.0;
const BOTTOM: f64 = 48.0;
const TOP: f64 = 28.0;
const RIGHT: f64 = 16.0;

/// A frame with linear axes.
struct Frame {
    x: (f64, f64),
    y: (f64, f64),
    svg: String,
}

impl Frame {
    fn new(x: (f64, f64), y: (f64, f64), title: &str, labels: (&str, &str)) -> Self {
        let pad = |(low, high): (f64, f64)| {
            // Halves: the difference of two finite numbers may overflow.
            let room = if high > low { 0.08 * (0.5 * high - 0.5 * low) } else { 0.5 };
            ((low - room).max(f64::MIN), (high + room).min(f64::MAX))
        };
        let mut frame = Frame { x: pad(x), y: pad(y), svg: String::new() };
        let svg = &mut frame.svg;
        let (across, down) = (0.5 * (LEFT + WIDTH - RIGHT), 0.5 * (TOP + HEIGHT - BOTTOM));
        let _ = write!(
            svg,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
             <rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#888\"/>\n\
             <text x=\"{across}\" y=\"18\" text-anchor=\"middle\" font-size=\"13\">{}</text>\n\
             <text x=\"{across}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n\
             <text x=\"14\" y=\"{down}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {down})\">{}</text>\n",
            WIDTH - LEFT - RIGHT,
            HEIGHT - TOP - BOTTOM,
            escaped(title),
            HEIGHT - 10.0,
            escaped(labels.0),
            escaped(labels.1),
        );
        frame
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let share = |v: f64, (low, high): (f64, f64)| {
            let length = 0.5 * high - 0.5 * low;
            if length > 0.0 { (0.5 * v - 0.5 * low) / length } else { 0.5 }
        };
        let (u, v) = (share(x, self.x), share(y, self.y));
        (LEFT + u * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - v * (HEIGHT - TOP - BOTTOM))
    }

    fn tick_x(&mut self, x: f64) {
        let (at, _) = self.at(x, self.y.0);
        let y = HEIGHT - BOTTOM;
        let _ = writeln!(
            self.svg,
            "<path d=\"M{at:.1} {y}v4\" stroke=\"#888\"/><text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            y + 17.0,
            number(x)
        );
    }

    fn tick_y(&mut self, y: f64) {
        let (_, at) = self.at(self.x.0, y);
        let _ = writeln!(
            self.svg,
            "<path d=\"M{LEFT} {at:.1}h-4\" stroke=\"#888\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 7.0,
            at + 4.0,
            number(y)
        );
    }

    fn point(&mut self, x: f64, y: f64, radius: f64, paint: &str) {
        let (x, y) = self.at(x, y);
        let _ = writeln!(self.svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" {paint}/>");
    }

    fn finish(mut self) -> String {
        self.svg.push_str("</svg>\n");
        self.svg
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn number(v: f64) -> String {
    let v = if v.abs() < 1e-12 { 0.0 } else { v };
    if v != 0.0 && !(1e-3..1e5).contains(&v.abs()) {
        format!("{v:.1e}")
    } else {
        format!("{}", (v * 1e6).round() / 1e6)
    }
}

/// About five round numbers in a range.
fn ticks((low, high): (f64, f64)) -> Vec<f64> {
    let raw = high / 5.0 - low / 5.0;
    if !(raw > 0.0 && raw.is_finite()) {
        return vec![low];
    }
    let power = 10f64.powf(raw.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|s| s * power).find(|s| *s >= raw).unwrap_or(raw);
    let first = (low / step).ceil() as i64;
    let last = (high / step).floor() as i64;
    (first..=last).map(|k| k as f64 * step).collect()
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

/// The eigenvalues of a fit, at most 20; those that were kept are filled dark.
pub fn scree_svg(model: &Reduction) -> String {
    let shown: Vec<f64> = model.eigenvalues.iter().copied().take(20).collect();
    let (low, high) = range(shown.iter().copied());
    let title = format!("{}: eigenvalues", model.method);
    let mut frame = Frame::new(
        (1.0, shown.len().max(2) as f64),
        (low.min(0.0), high),
        &title,
        ("direction", "eigenvalue"),
    );
    for y in ticks((low.min(0.0), high)) {
        frame.tick_y(y);
    }
    let every = shown.len().div_ceil(15).max(1);
    for k in (0..shown.len()).step_by(every) {
        frame.tick_x((k + 1) as f64);
    }
    let path: Vec<String> = shown
        .iter()
        .enumerate()
        .map(|(k, &v)| frame.at((k + 1) as f64, v))
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let _ = writeln!(
        frame.svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#bbb\"/>",
        path.join(" ")
    );
    for (k, &v) in shown.iter().enumerate() {
        let paint = if k < model.components() { "fill=\"#1f4e9c\"" } else { "fill=\"#b9c4d6\"" };
        frame.point((k + 1) as f64, v, 4.5, paint);
    }
    frame.finish()
}

/// The response against one index: the sufficient summary plot.
///
/// # Errors
/// [`Invalid::Length`]; [`Invalid::NonFinite`]; [`Invalid::Empty`].
pub fn summary_svg(
    index: ArrayView1<f64>,
    y: ArrayView1<f64>,
    title: &str,
) -> Result<String, Error> {
    Invalid::check_length("response", index.len(), y.len())?;
    if index.is_empty() {
        return Err(Invalid::Empty { what: "index" }.into());
    }
    Invalid::check_finite("index", &index.to_vec())?;
    Invalid::check_finite("response", &y.to_vec())?;
    let (x_range, y_range) = (range(index.iter().copied()), range(y.iter().copied()));
    let mut frame = Frame::new(x_range, y_range, title, ("index", "response"));
    for x in ticks(x_range) {
        frame.tick_x(x);
    }
    for v in ticks(y_range) {
        frame.tick_y(v);
    }
    // Dots overlap less when there are many.
    let radius = (40.0 / (index.len() as f64).sqrt()).clamp(0.8, 2.5);
    for (&x, &v) in index.iter().zip(y) {
        frame.point(x, v, radius, "fill=\"#1f4e9c\" fill-opacity=\"0.5\"");
    }
    Ok(frame.finish())
}
