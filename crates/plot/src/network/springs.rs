//! A layout by forces.

use super::Network;

/// Positions in the unit square; downwards is positive. Nodes repel each other with force `k^2 / d`. An edge attracts with force
/// `d^2 / k` times its strength relative to the strongest edge. The length of a move is limited by a temperature that decreases
/// linearly. Nodes without edges are placed in a row below. There are 300 rounds, or fewer for more than 400 nodes.
pub(super) fn places(network: &Network) -> Vec<(f64, f64)> {
    let p = network.nodes.len();
    let rounds = (50_000_000 / (p * p).max(1)).clamp(5, 300);
    let size = |weight: Option<f64>| weight.map_or(1.0, f64::abs);
    let strongest =
        network.real().map(|e| size(e.weight)).filter(|w| w.is_finite()).fold(1e-300, f64::max);
    let mut joined = vec![false; p];
    let mut edges = Vec::new();
    for e in network.real().filter(|e| e.from != e.to) {
        joined[e.from] = true;
        joined[e.to] = true;
        let strength = size(e.weight) / strongest;
        edges.push((e.from, e.to, if strength.is_finite() { strength } else { 1.0 }));
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
    for round in 0..rounds {
        let heat = 0.2 * (1.0 - round as f64 / rounds as f64) + 1e-3;
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
        for &(a, b, strength) in &edges {
            let (x, y) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
            let pull = (x * x + y * y).sqrt() / k * strength;
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
