//! A drawing of a network as SVG, with a force-directed layout (Fruchterman and Reingold 1991).
//!
//! The layout is our own implementation in 80 lines, and the same network always gives the same picture. Of the crates
//! with such a layout (November 2026), `forceatlas2` is under the AGPL, and `fdg-sim` depends on a graph library and a
//! vector library.

use std::io::Write;

use fenchel_linalg::Invalid;

use crate::error::Error;
use crate::model::NetworkModel;

/// How a network is drawn.
///
/// | field | default | meaning |
/// |---|---|---|
/// | `names` | empty | one per variable; if empty, variables are numbered |
/// | `colours` | empty | one per variable, as CSS; if empty, all are grey |
/// | `positive_only` | false | whether negative couplings are left out |
/// | `iterations` | 300 | of the layout; `p^2` each |
/// | `size` | 900 | width and height in pixels |
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing<'a> {
    /// One name per variable; if empty, variables are numbered.
    pub names: &'a [String],
    /// One colour per variable, as CSS; if empty, all are grey.
    pub colours: &'a [String],
    /// Whether negative couplings are left out.
    pub positive_only: bool,
    /// Of the layout.
    pub iterations: usize,
    /// Width and height in pixels.
    pub size: f64,
}

impl Default for Drawing<'_> {
    fn default() -> Self {
        Drawing { names: &[], colours: &[], positive_only: false, iterations: 300, size: 900.0 }
    }
}

impl NetworkModel {
    /// Where a drawing puts the variables, in the unit square; downwards is positive.
    pub fn positions(&self, drawing: &Drawing<'_>) -> Vec<(f64, f64)> {
        let edges = self.drawn(drawing);
        let strongest = edges.iter().map(|edge| edge.2.abs()).fold(1e-300, f64::max);
        layout(self.variables(), &edges, strongest, drawing.iterations)
    }

    fn drawn(&self, drawing: &Drawing<'_>) -> Vec<(u32, u32, f64)> {
        let kept = |edge: &(u32, u32, f64)| !drawing.positive_only || edge.2 > 0.0;
        self.edges().into_iter().filter(kept).collect()
    }

    /// Draws the network. Positive couplings are blue lines, negative ones orange; stronger couplings have thicker
    /// lines. The same network always gives the same picture.
    ///
    /// # Errors
    /// [`Invalid::Length`] if the number of names or colours is wrong; [`Error::Io`].
    pub fn write_svg(&self, drawing: &Drawing<'_>, mut to: impl Write) -> Result<(), Error> {
        let p = self.variables();
        for (what, list) in [("names", drawing.names), ("colours", drawing.colours)] {
            if !list.is_empty() {
                Invalid::check_length(what, p, list.len())?;
            }
        }
        Invalid::check_positive("size", drawing.size)?;
        let edges = self.drawn(drawing);
        let strongest = edges.iter().map(|edge| edge.2.abs()).fold(1e-300, f64::max);
        let places = self.positions(drawing);
        let size = drawing.size;
        let at = |v: u32| {
            let (x, y) = places[v as usize];
            (size * (0.06 + 0.88 * x), size * (0.06 + 0.88 * y))
        };
        let xmlns = "http://www.w3.org/2000/svg";
        writeln!(
            to,
            "<svg xmlns=\"{xmlns}\" width=\"{size}\" height=\"{size}\" viewBox=\"0 0 {size} {size}\">"
        )?;
        writeln!(to, "<rect width=\"{size}\" height=\"{size}\" fill=\"white\"/>")?;
        // Strong edges on top of weak ones.
        for &(i, j, coupling) in edges.iter().rev() {
            let ((x1, y1), (x2, y2)) = (at(i), at(j));
            let share = coupling.abs() / strongest;
            let (width, opacity) = (0.4 + 2.6 * share, 0.12 + 0.7 * share);
            let colour = if coupling > 0.0 { "#2b6cb0" } else { "#dd6b20" };
            writeln!(
                to,
                "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"{width:.2}\" stroke-opacity=\"{opacity:.2}\"/>"
            )?;
        }
        let (radius, font) = (if p > 40 { 5.0 } else { 9.0 }, if p > 40 { 8 } else { 11 });
        for v in 0..p as u32 {
            let (x, y) = at(v);
            let colour = drawing.colours.get(v as usize).map_or("#a0aec0", String::as_str);
            let name = drawing.names.get(v as usize).map_or_else(|| v.to_string(), |n| escaped(n));
            let (colour, above) = (escaped(colour), y - radius - 2.0);
            writeln!(
                to,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" fill=\"{colour}\" stroke=\"#2d3748\" stroke-width=\"0.6\"/>"
            )?;
            writeln!(
                to,
                "<text x=\"{x:.1}\" y=\"{above:.1}\" font-family=\"sans-serif\" font-size=\"{font}\" text-anchor=\"middle\">{name}</text>"
            )?;
        }
        writeln!(to, "</svg>")?;
        Ok(to.flush()?)
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Positions in the unit square. Nodes repel each other with force `k^2 / d`. An edge attracts with force `d^2 / k`
/// times its strength relative to the strongest edge. The length of a move is limited by a temperature that decreases
/// linearly. Nodes without edges are placed in a row below.
fn layout(
    p: usize,
    edges: &[(u32, u32, f64)],
    strongest: f64,
    iterations: usize,
) -> Vec<(f64, f64)> {
    let mut joined = vec![false; p];
    for &(i, j, _) in edges {
        joined[i as usize] = true;
        joined[j as usize] = true;
    }
    let inside: Vec<usize> = (0..p).filter(|&v| joined[v]).collect();
    // A sunflower: no two places alike, and no direction preferred.
    let mut places: Vec<(f64, f64)> = (0..p)
        .map(|v| {
            let (radius, angle) = (((v as f64 + 0.5) / p as f64).sqrt(), 2.399_963 * v as f64);
            (radius * angle.cos(), radius * angle.sin())
        })
        .collect();
    let k = 2.0 / (inside.len().max(1) as f64).sqrt();
    for round in 0..iterations {
        let heat = 0.2 * (1.0 - round as f64 / iterations as f64) + 1e-3;
        let mut moves = vec![(0.0, 0.0); p];
        for (at, &a) in inside.iter().enumerate() {
            for &b in &inside[at + 1..] {
                let (x, y) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
                let push = k * k / (x * x + y * y).max(1e-9);
                moves[a].0 += x * push;
                moves[a].1 += y * push;
                moves[b].0 -= x * push;
                moves[b].1 -= y * push;
            }
            // Keeps components together.
            moves[a].0 -= 0.3 * places[a].0;
            moves[a].1 -= 0.3 * places[a].1;
        }
        for &(i, j, coupling) in edges {
            let (a, b) = (i as usize, j as usize);
            let (x, y) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
            let pull = (x * x + y * y).sqrt() / k * coupling.abs() / strongest;
            moves[a].0 -= x * pull;
            moves[a].1 -= y * pull;
            moves[b].0 += x * pull;
            moves[b].1 += y * pull;
        }
        for &v in &inside {
            let (x, y) = moves[v];
            let length = (x * x + y * y).sqrt().max(1e-12);
            let scale = length.min(heat) / length;
            places[v].0 += x * scale;
            places[v].1 += y * scale;
        }
    }
    let bounds = inside.iter().fold((f64::MAX, f64::MIN, f64::MAX, f64::MIN), |b, &v| {
        let (x, y) = places[v];
        (b.0.min(x), b.1.max(x), b.2.min(y), b.3.max(y))
    });
    let (width, height) = ((bounds.1 - bounds.0).max(1e-9), (bounds.3 - bounds.2).max(1e-9));
    let alone = p - inside.len();
    let floor = if alone > 0 { 0.93 } else { 1.0 };
    let mut next = 0;
    (0..p)
        .map(|v| {
            if joined[v] {
                let (x, y) = places[v];
                ((x - bounds.0) / width, floor * (y - bounds.2) / height)
            } else {
                next += 1;
                (next as f64 / (alone + 1) as f64, 1.0)
            }
        })
        .collect()
}
