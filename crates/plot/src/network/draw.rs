//! Draws a network as SVG.

use super::layers::layers;
use super::springs;
use super::{Edge, Kind, Network, Placement};
use crate::Colour;
use crate::heat_map::two;
use crate::letters::{shortened, width_of, wrapped};
use crate::pen::{Anchor, Font, Pen, Stroke, clipped};
use crate::title::{self, WIDTH};

const FONT: f64 = 12.0;
const SMALL: f64 = 10.5;
const LINE: f64 = 15.0;
/// A row of bars: its height, and the longest bar.
const ROW: f64 = 13.5;
const BAR: f64 = 42.0;
/// The longest line of a name at a disc.
const NAME: f64 = 150.0;

type Point = (f64, f64);

impl Network {
    /// The network as SVG. The same network always gives the same picture.
    pub fn svg(&self) -> String {
        let mut pen = Pen::default();
        let top = title::draw(&mut pen, &self.title, &self.note, &self.warnings);
        let (width, bottom) = match self.placement {
            Placement::Layers => boxes(&mut pen, self, top),
            _ => discs(&mut pen, self, top),
        };
        let bottom = key(&mut pen, self, bottom);
        pen.finish(&self.title, width, bottom)
    }
}

/// The largest weight, by which the others are measured.
fn strongest(network: &Network) -> f64 {
    let sizes = network.real().filter_map(|e| e.weight).filter(|w| w.is_finite()).map(f64::abs);
    sizes.fold(f64::MIN_POSITIVE, f64::max)
}

/// The colours of positive and of negative weights, which are not those of groups of nodes.
fn signs(network: &Network) -> (Colour, Colour) {
    let taken = |c: Colour| network.nodes.iter().any(|node| node.filled && node.colour == c);
    [(Colour::Blue, Colour::Vermilion), (Colour::Green, Colour::Pink)]
        .into_iter()
        .find(|&(plus, minus)| !taken(plus) && !taken(minus))
        .unwrap_or((Colour::Soft, Colour::Brown))
}

fn stroke(edge: &Edge, strongest: f64, (plus, minus): (Colour, Colour)) -> Stroke {
    let share = edge.weight.map_or(0.35, |w| (w.abs() / strongest).min(1.0));
    let colour = edge.colour.unwrap_or(match edge.weight {
        Some(weight) if weight < 0.0 => minus,
        Some(_) => plus,
        None => Colour::Soft,
    });
    let shade = if edge.weight.is_some() { 0.2 + 0.7 * share } else { 1.0 };
    let dashes = if edge.missing || edge.kind == Kind::Both { "5 4" } else { "" };
    let width = if edge.weight.is_some() { 0.6 + 4.4 * share } else { 1.4 };
    Stroke { dashes, ..Stroke::new(colour, width).shade(shade) }
}

/// The middle of two points, moved aside by a part of their distance.
fn bowed((a, b): (Point, Point), by: f64) -> Point {
    (0.5 * (a.0 + b.0) - by * (b.1 - a.1), 0.5 * (a.1 + b.1) + by * (b.0 - a.0))
}

/// An arc with the heads of its kind.
fn bow(pen: &mut Pen, kind: Kind, (a, b): (Point, Point), middle: Point, stroke: Stroke) {
    pen.bow((a, b), middle, stroke);
    if kind != Kind::Line {
        pen.arrow(middle, b, stroke.colour);
    }
    if kind == Kind::Both {
        pen.arrow(middle, a, stroke.colour);
    }
}

fn is_drawn(edge: &&Edge) -> bool {
    edge.from != edge.to && edge.weight.is_none_or(f64::is_finite)
}

/// Nodes as discs with their names beside them. Returns the width and the lower end.
fn discs(pen: &mut Pen, network: &Network, top: f64) -> Point {
    let p = network.nodes.len();
    let mut side: f64 = match p {
        0..=12 => 360.0,
        13..=40 => 460.0,
        _ => 600.0,
    };
    let radius = if p > 40 { 4.5 } else { 8.0 };
    let (font, mut margin) = (if p > 40 { 9.5 } else { FONT }, 30.0);
    let places: Vec<Point> = match network.placement {
        Placement::Circle => {
            // Names stand outside of the circle, and within the page.
            let names = || (0..p).map(|v| network.name(v));
            let widest = names().map(|name| width_of(&name, font)).fold(0.0, f64::max);
            side = side.min(WIDTH - 2.0 * (widest.min(NAME) + radius + 10.0 - margin));
            let lines = names().map(|name| wrapped(&name, font, NAME).len()).max().unwrap_or(1);
            let more = 1.2 * font * (lines.max(1) - 1) as f64;
            (side, margin) = (side + 2.0 * more, margin + more);
            let place = |v: usize| {
                let angle = std::f64::consts::TAU * (v as f64 / p as f64 - 0.25);
                let r = 0.5 * side - margin;
                (0.5 * WIDTH + r * angle.cos(), top + 0.5 * side + r * angle.sin())
            };
            (0..p).map(place).collect()
        }
        _ => {
            let wide = WIDTH - 2.0 * margin - 60.0;
            let place = |(x, y): Point| {
                (margin + 20.0 + wide * x, top + margin + (side - 2.0 * margin) * y)
            };
            let mut places: Vec<Point> = springs::places(network).into_iter().map(place).collect();
            push_apart(&mut places, 2.0 * radius + 5.0);
            places
        }
    };
    let (strongest, signs) = (strongest(network), signs(network));
    // Strong edges on top of weak ones.
    let mut edges: Vec<&Edge> = network.real().filter(is_drawn).collect();
    edges.sort_by(|a, b| {
        let size = |e: &Edge| e.weight.map_or(0.0, f64::abs);
        size(a).total_cmp(&size(b))
    });
    for edge in edges {
        let (a, b, stroke) = (places[edge.from], places[edge.to], stroke(edge, strongest, signs));
        let short = |from: Point, to: Point| {
            let (dx, dy) = (to.0 - from.0, to.1 - from.1);
            let part = 1.0 - (radius + 2.0) / dx.hypot(dy).max(radius + 2.0);
            (from.0 + part * dx, from.1 + part * dy)
        };
        let by = if edge.kind == Kind::Both { 0.15 } else { 0.0 };
        bow(pen, edge.kind, (short(b, a), short(a, b)), bowed((a, b), by), stroke);
    }
    for (v, node) in network.nodes.iter().enumerate() {
        pen.disc(places[v], radius, node.colour, &network.name(v));
    }
    let left_out = match network.placement {
        Placement::Circle => {
            for (v, &(x, y)) in places.iter().enumerate() {
                let (dx, dy) = (x - 0.5 * WIDTH, y - top - 0.5 * side);
                let far = 1.0 + (radius + 6.0) / dx.hypot(dy).max(1.0);
                let anchor = match dx {
                    dx if dx > 12.0 => Anchor::Start,
                    dx if dx < -12.0 => Anchor::End,
                    _ => Anchor::Middle,
                };
                // The lines of a long name begin above the circle, end below it, and are in the middle at its sides.
                let lines = wrapped(&network.name(v), font, NAME);
                let slant = 0.5 * (dy / dx.hypot(dy).max(1.0) - 1.0);
                for (k, line) in lines.iter().enumerate() {
                    let down = 1.2 * font * (k as f64 + slant * (lines.len() as f64 - 1.0));
                    let place = (0.5 * WIDTH + far * dx, top + 0.5 * side + far * dy + down);
                    pen.text_on_lines(&shortened(line, font, NAME), place, Font::new(font, anchor));
                }
            }
            0
        }
        _ => names(pen, network, &places, radius, font),
    };
    let mut bottom = top + side;
    if left_out > 0 {
        let text = format!("{left_out} names are left out where they would overlap.");
        pen.text(&text, (14.0, bottom + 8.0), Font::new(11.0, Anchor::Start).colour(Colour::Soft));
        bottom += 20.0;
    }
    (WIDTH, bottom)
}

/// Moves discs that overlap apart.
fn push_apart(places: &mut [Point], least: f64) {
    let rounds = if places.len() > 600 { 0 } else { 60 };
    for _ in 0..rounds {
        for a in 0..places.len() {
            for b in 0..a {
                let (dx, dy) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
                let distance = dx.hypot(dy);
                if distance < least {
                    // Two at one place part sideways.
                    let (ux, uy) =
                        if distance > 1e-9 { (dx / distance, dy / distance) } else { (1.0, 0.0) };
                    let by = 0.5 * (least - distance);
                    places[a] = (places[a].0 + by * ux, places[a].1 + by * uy);
                    places[b] = (places[b].0 - by * ux, places[b].1 - by * uy);
                }
            }
        }
    }
}

/// Writes names beside their discs where they overlap no disc, no other name, and edges as few and thin as possible; those with most
/// edges first. Returns how many had no room.
fn names(pen: &mut Pen, network: &Network, places: &[Point], radius: f64, size: f64) -> usize {
    let mut degree = vec![0_usize; places.len()];
    network.real().for_each(|e| [e.from, e.to].iter().for_each(|&v| degree[v] += 1));
    let mut order: Vec<usize> = (0..places.len()).collect();
    order.sort_by_key(|&v| std::cmp::Reverse(degree[v]));
    type Box4 = (f64, f64, f64, f64);
    let r = radius + 0.5;
    let mut taken: Vec<Box4> =
        places.iter().map(|p| (p.0 - r, p.1 - r, p.0 + r, p.1 + r)).collect();
    let (strongest, signs) = (strongest(network), signs(network));
    let line = |e: &Edge| ([places[e.from], places[e.to]], stroke(e, strongest, signs).width);
    let lines: Vec<([Point; 2], f64)> = network.real().filter(is_drawn).map(line).collect();
    let crossed = |&(left, top, right, bottom): &Box4| {
        let meet = |line: &[Point]| !clipped(line, (left, top), (right, bottom)).is_empty();
        lines.iter().filter(|(line, _)| meet(line)).map(|(_, width)| width).sum::<f64>()
    };
    let meets = |a: &Box4, b: &Box4| a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3;
    let mut left_out = 0;
    for v in order {
        let name = shortened(&network.name(v), size, NAME);
        let (w, h, (x, y)) = (width_of(&name, size), size + 1.0, places[v]);
        let side = radius + 3.0;
        let candidates = [
            (x + side, y, Anchor::Start),
            (x - side, y, Anchor::End),
            (x, y - side - 0.5 * h, Anchor::Middle),
            (x, y + side + 0.5 * h, Anchor::Middle),
            (x + 0.7 * side, y - 0.9 * side, Anchor::Start),
            (x + 0.7 * side, y + 0.9 * side, Anchor::Start),
            (x - 0.7 * side, y - 0.9 * side, Anchor::End),
            (x - 0.7 * side, y + 0.9 * side, Anchor::End),
            (x + 0.8 * side, y - 1.4 * side, Anchor::Start),
            (x + 0.8 * side, y + 1.4 * side, Anchor::Start),
            (x - 0.8 * side, y - 1.4 * side, Anchor::End),
            (x - 0.8 * side, y + 1.4 * side, Anchor::End),
        ];
        let free = candidates.into_iter().filter_map(|(cx, cy, anchor)| {
            let left = match anchor {
                Anchor::Start => cx,
                Anchor::Middle => cx - 0.5 * w,
                Anchor::End => cx - w,
            };
            let frame = (left, cy - 0.5 * h, left + w, cy + 0.5 * h);
            let inside = frame.0 > 2.0 && frame.2 < WIDTH - 2.0;
            (inside && !taken.iter().any(|other| meets(&frame, other))).then_some((
                frame,
                (cx, cy),
                anchor,
            ))
        });
        match free.min_by(|(a, ..), (b, ..)| crossed(a).total_cmp(&crossed(b))) {
            Some((frame, place, anchor)) => {
                taken.push(frame);
                pen.text_on_lines(&name, place, Font::new(size, anchor));
            }
            None => left_out += 1,
        }
    }
    left_out
}

/// The width and the height of the box of a node.
fn size(network: &Network, v: usize) -> Point {
    let node = &network.nodes[v];
    let name = network.name(v);
    let lines: Vec<&str> = name.lines().collect();
    let widest = lines.iter().map(|l| width_of(l, FONT)).fold(0.0, f64::max).min(190.0);
    let bars = if node.bars.is_empty() { 0.0 } else { label_width(network, v) + BAR + 44.0 };
    let rows = node.bars.len() as f64 * ROW + if node.bars.is_empty() { 0.0 } else { 4.0 };
    (widest.max(bars).max(24.0) + 14.0, lines.len().max(1) as f64 * LINE + rows + 8.0)
}

fn label_width(network: &Network, v: usize) -> f64 {
    let bars = network.nodes[v].bars.iter();
    bars.map(|bar| width_of(&bar.name, SMALL)).fold(0.0, f64::max).min(64.0)
}

/// Where the line from the middle of a box to a point leaves the box.
fn border(middle: Point, size: Point, to: Point) -> Point {
    let (dx, dy) = (to.0 - middle.0, to.1 - middle.1);
    let part = (0.5 * size.0 / dx.abs().max(1e-9)).min(0.5 * size.1 / dy.abs().max(1e-9)).min(1.0);
    (middle.0 + part * dx, middle.1 + part * dy)
}

/// Nodes as boxes in layers. Returns the width and the lower end.
fn boxes(pen: &mut Pen, network: &Network, top: f64) -> Point {
    let sizes: Vec<Point> = (0..network.nodes.len()).map(|v| size(network, v)).collect();
    let named = network.real().map(|e| e.name.lines().count()).max().unwrap_or(0);
    let between = 38.0 + LINE * named as f64;
    let found = layers(network, &sizes, WIDTH - 20.0, between);
    let (margin, top) = (10.0, top + 6.0);
    let at = |p: Point| (p.0 + margin, p.1 + top);
    let (strongest, signs) = (strongest(network), signs(network));
    let mut words = Vec::new();
    for (edge, passes) in network.real().zip(&found.passes) {
        if !is_drawn(&edge) {
            continue;
        }
        let stroke = stroke(edge, strongest, signs);
        let (a, b) = (at(found.places[edge.from]), at(found.places[edge.to]));
        let (sa, sb) = (sizes[edge.from], sizes[edge.to]);
        if edge.kind == Kind::Both || (a.1 - b.1).abs() < 1.0 {
            // Above boxes of one layer, and beside those of several: if they stand below each other, around what is between.
            let (across, down) = ((a.0 - b.0).abs(), (a.1 - b.1).abs());
            let (level, widest) = (down < 1.0, sa.0.max(sb.0));
            let by = if !level && across < widest { 0.5 + widest / down } else { 0.25 };
            let by = if level == (b.0 > a.0) { -by } else { by };
            let middle = bowed((a, b), by);
            let (a, b) = (border(a, sa, middle), border(b, sb, middle));
            bow(pen, edge.kind, (a, b), bowed((a, b), by), stroke);
            words.push((edge, (0.5 * (a.0 + b.0), 0.5 * (a.1 + b.1))));
            continue;
        }
        let down = if b.1 > a.1 { 1.0 } else { -1.0 };
        let head = if edge.kind == Kind::Arrow { 7.0 } else { 0.0 };
        let (start, end) =
            ((a.0, a.1 + down * 0.5 * sa.1), (b.0, b.1 - down * (0.5 * sb.1 + head)));
        let points: Vec<Point> =
            std::iter::once(start).chain(passes.iter().map(|&p| at(p))).chain([end]).collect();
        pen.bend(&points, stroke);
        if edge.kind == Kind::Arrow {
            pen.arrow(end, (b.0, end.1 + down * head), stroke.colour);
        }
        let last = points[points.len() - 2];
        words.push((edge, (0.4 * last.0 + 0.6 * end.0, 0.4 * last.1 + 0.6 * end.1)));
    }
    for (edge, (x, y)) in words {
        let lines: Vec<&str> = edge.name.lines().collect();
        for (k, line) in lines.iter().enumerate() {
            let y = y + 1.1 * SMALL * (k as f64 - 0.5 * (lines.len() as f64 - 1.0));
            pen.text_on_lines(line, (x, y), Font::new(SMALL, Anchor::Middle).colour(Colour::Blue));
        }
    }
    for (v, node) in network.nodes.iter().enumerate() {
        let ((x, y), (w, h)) = (at(found.places[v]), sizes[v]);
        let corner = (x - 0.5 * w, y - 0.5 * h);
        let frame = (corner, (x + 0.5 * w, y + 0.5 * h));
        pen.outlined(frame, 6.0, (Colour::Paper, 1.0), None);
        let fill = (node.colour, if node.filled { 0.24 } else { 0.04 });
        pen.outlined(
            frame,
            6.0,
            fill,
            Some(Stroke::new(node.colour, if node.filled { 1.8 } else { 1.0 })),
        );
        let mut line = corner.1 + 4.0 + 0.5 * LINE;
        for text in network.name(v).lines() {
            let font = Font::new(FONT, Anchor::Middle);
            let font = if node.bars.is_empty() { font } else { font.bold() };
            pen.text(&shortened(text, FONT, 190.0), (x, line), font);
            line += LINE;
        }
        line += 2.0 + 0.5 * (ROW - LINE);
        let left = corner.0 + 8.0 + label_width(network, v);
        for bar in &node.bars {
            let share = if bar.value.is_finite() { bar.value.clamp(0.0, 1.0) } else { 0.0 };
            let font = Font::new(SMALL, Anchor::End);
            pen.text(&shortened(&bar.name, SMALL, 64.0), (left, line), font);
            let (near, far) = ((left + 5.0, line - 4.5), (left + 5.0 + BAR, line + 4.5));
            pen.rectangle((near, far), Colour::Rule, 1.0);
            let hue = if node.filled { node.colour } else { Colour::Blue };
            pen.rectangle((near, (near.0 + BAR * share, far.1)), hue, 0.9);
            if let Some(before) = bar.before.filter(|b| (0.0..=1.0).contains(b)) {
                let x = near.0 + BAR * before;
                pen.line(&[(x, near.1 - 1.5), (x, far.1 + 1.5)], Stroke::new(Colour::Ink, 1.6));
            }
            let number = if bar.value.is_finite() { format!("{share:.2}") } else { String::new() };
            pen.text(&number, (far.0 + 4.0, line), Font { anchor: Anchor::Start, ..font });
            line += ROW;
        }
    }
    (found.width + 2.0 * margin, top + found.height + 8.0)
}

/// What colours, signs and ticks mean. Returns the lower end of the picture.
fn key(pen: &mut Pen, network: &Network, top: f64) -> f64 {
    let weights: Vec<f64> = network
        .real()
        .filter(is_drawn)
        .filter(|e| e.colour.is_none())
        .filter_map(|e| e.weight)
        .collect();
    let (mut x, mut y) = (14.0, top + 14.0);
    let mut entry = |pen: &mut Pen, text: &str, sample: &dyn Fn(&mut Pen, Point)| {
        let wide = 30.0 + width_of(text, FONT);
        if x + wide > WIDTH && x > 14.0 {
            (x, y) = (14.0, y + 20.0);
        }
        sample(pen, (x, y));
        pen.text(text, (x + 24.0, y), Font::new(FONT, Anchor::Start));
        x += wide + 12.0;
    };
    let no_edge_has_a_colour = network.edges.iter().all(|edge| edge.colour.is_none());
    for (colour, meaning) in &network.key {
        let edges = || network.real().filter(|edge| edge.colour == Some(*colour));
        let dashes = if edges().any(|edge| edge.missing) { "5 4" } else { "" };
        let stroke = Stroke { dashes, ..Stroke::new(*colour, 2.5) };
        let of_nodes = network.nodes.iter().any(|node| node.colour == *colour && node.filled);
        entry(pen, meaning, &|pen, (x, y)| match of_nodes || no_edge_has_a_colour {
            true => pen.disc((x + 10.0, y), 6.0, *colour, ""),
            false => pen.line(&[(x, y), (x + 20.0, y)], stroke),
        });
    }
    let end = |sign: f64| {
        weights.iter().copied().filter(|w| w * sign > 0.0).map(f64::abs).fold(0.0, f64::max)
    };
    let (plus, minus) = signs(network);
    for (sign, word, colour) in [(1.0, "positive", plus), (-1.0, "negative", minus)] {
        if end(sign) > 0.0 {
            let text = format!("{word} {}, up to {}", network.unit, two(sign * end(sign)));
            let text = text.replace(" ,", ",");
            entry(pen, &text, &|pen, (x, y)| {
                pen.line(&[(x, y), (x + 20.0, y)], Stroke::new(colour, 4.0));
            });
        }
    }
    let layers = network.placement == Placement::Layers;
    let compared = network.nodes.iter().flat_map(|n| &n.bars).any(|b| b.before.is_some());
    if layers && network.nodes.iter().any(|node| !node.filled && !node.bars.is_empty()) {
        let text = if compared { "probability given the evidence" } else { "probability" };
        entry(pen, text, &|pen, (x, y)| {
            pen.rectangle(((x, y - 5.0), (x + 20.0, y + 5.0)), Colour::Blue, 0.9);
        });
    }
    if layers && compared {
        entry(pen, "before the evidence", &|pen, (x, y)| {
            pen.line(&[(x + 10.0, y - 6.0), (x + 10.0, y + 6.0)], Stroke::new(Colour::Ink, 1.6));
        });
    }
    if x > 14.0 { y + 18.0 } else { top + 8.0 }
}
