//! A layout in layers (Sugiyama, Tagawa and Toda 1981): layers of limited width, an order with few crossings, and places that are near
//! those of the neighbours.

use super::{Kind, Network, apart};

/// The room between the boxes of a layer.
const GAP: f64 = 18.0;
/// The room that an edge takes where it passes a layer.
const PASS: f64 = 12.0;
const SWEEPS: usize = 12;

/// Where the boxes and the edges are.
pub(super) struct Layers {
    /// The middle of each box.
    pub(super) places: Vec<(f64, f64)>,
    /// For each real edge, the points that it passes between its ends, from the first end to the second.
    pub(super) passes: Vec<Vec<(f64, f64)>>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The layout of boxes of these sizes in layers that are at most `width` wide where that is possible, `between` apart.
pub(super) fn layers(network: &Network, sizes: &[(f64, f64)], width: f64, between: f64) -> Layers {
    let n = network.nodes.len();
    let edges: Vec<(usize, usize, Kind)> = network.real().map(|e| (e.from, e.to, e.kind)).collect();
    let mut level = levels(n, &edges, sizes, width);
    // Layers without a box are left out.
    let mut used: Vec<usize> = level.clone();
    used.sort_unstable();
    used.dedup();
    level.iter_mut().for_each(|l| *l = used.partition_point(|u| u < l));

    // Boxes first, then the points where edges pass a layer.
    let mut widths: Vec<f64> = sizes.iter().map(|s| s.0 + GAP).collect();
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); used.len()];
    (0..n).for_each(|v| rows[level[v]].push(v));
    let (mut above, mut below) = (vec![Vec::new(); n], vec![Vec::new(); n]);
    let mut chains: Vec<Vec<usize>> = Vec::new();
    for &(a, b, kind) in &edges {
        let (top, bottom) = if level[a] <= level[b] { (a, b) } else { (b, a) };
        let mut chain = vec![top];
        for row in &mut rows[level[top]..level[bottom]].iter_mut().skip(1) {
            if kind == Kind::Both {
                break;
            }
            chain.push(widths.len());
            row.push(widths.len());
            widths.push(PASS);
            above.push(Vec::new());
            below.push(Vec::new());
        }
        chain.push(bottom);
        if level[top] < level[bottom] && kind != Kind::Both {
            for pair in chain.windows(2) {
                below[pair[0]].push(pair[1]);
                above[pair[1]].push(pair[0]);
            }
        }
        if top != a {
            chain.reverse();
        }
        chains.push(chain);
    }
    order(&mut rows, &above, &below);

    // Places across: near the mean of the neighbours, by turns from above and from below.
    let mut x = vec![0.0; widths.len()];
    let set = |row: &[usize], wanted: &[f64], x: &mut [f64]| {
        let sizes: Vec<f64> = row.iter().map(|&v| widths[v]).collect();
        // Within the width, if the row is not wider: the larger of two sequences whose steps are wide enough is one too.
        let all: f64 = sizes.iter().sum();
        let (mut left, spare) = (-0.5 * all.max(width), (width - all).max(0.0));
        for ((&v, place), size) in row.iter().zip(apart(wanted, &sizes)).zip(&sizes) {
            let least = left + 0.5 * size;
            x[v] = place.clamp(least, least + spare);
            left += size;
        }
    };
    for row in &rows {
        let all: f64 = row.iter().map(|&v| widths[v]).sum();
        let mut left = -0.5 * all;
        for &v in row {
            x[v] = left + 0.5 * widths[v];
            left += widths[v];
        }
    }
    for sweep in 0..2 * SWEEPS {
        for step in 0..rows.len() {
            let row = if sweep % 2 == 0 { &rows[step] } else { &rows[rows.len() - 1 - step] };
            // What passes a layer is drawn to what it passes before and behind: long edges become straight.
            let weight = |v: usize, u: usize| match (v >= n, u >= n) {
                (true, true) => 8.0,
                (true, false) | (false, true) => 2.0,
                (false, false) => 1.0,
            };
            let mean = |&v: &usize| {
                let near = above[v].iter().chain(&below[v]);
                let sums = near.map(|&u| (weight(v, u) * x[u], weight(v, u)));
                let (sum, all) = sums.fold((0.0, 0.0), |s, w| (s.0 + w.0, s.1 + w.1));
                if all > 0.0 { sum / all } else { x[v] }
            };
            let wanted: Vec<f64> = row.iter().map(mean).collect();
            set(row, &wanted, &mut x);
        }
    }
    let left = (0..x.len()).map(|v| x[v] - 0.5 * widths[v]).fold(f64::INFINITY, f64::min);
    let right = (0..x.len()).map(|v| x[v] + 0.5 * widths[v]).fold(f64::NEG_INFINITY, f64::max);
    let wide = if n > 0 { right - left } else { 0.0 };
    let shift = if n > 0 { 0.5 * (wide.max(width) - wide) - left } else { 0.0 };

    let mut y = vec![0.0; x.len()];
    let mut top = 0.0;
    for row in &rows {
        let height = row.iter().filter(|&&v| v < n).map(|&v| sizes[v].1).fold(0.0, f64::max);
        row.iter().for_each(|&v| y[v] = top + 0.5 * height);
        top += height + between;
    }
    let at = |v: usize| (x[v] + shift, y[v]);
    let inner = |chain: &Vec<usize>| chain[1..chain.len() - 1].iter().map(|&v| at(v)).collect();
    Layers {
        places: (0..n).map(at).collect(),
        passes: chains.iter().map(inner).collect(),
        width: wide.max(width),
        height: (top - between).max(0.0),
    }
}

/// The layer of each node: below its parents, where there is room.
fn levels(
    n: usize,
    edges: &[(usize, usize, Kind)],
    sizes: &[(f64, f64)],
    width: f64,
) -> Vec<usize> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); n];
    edges.iter().filter(|e| e.2 != Kind::Both && e.0 != e.1).for_each(|e| children[e.0].push(e.1));
    // Depth first; an edge back to an open node would close a circle and does not count.
    let (mut state, mut finished) = (vec![0_u8; n], Vec::new());
    let mut forward: Vec<Vec<usize>> = vec![Vec::new(); n];
    for root in 0..n {
        let mut stack = vec![(root, 0)];
        if state[root] != 0 {
            continue;
        }
        state[root] = 1;
        while let Some((v, next)) = stack.pop() {
            match children[v].get(next) {
                Some(&child) => {
                    stack.push((v, next + 1));
                    if state[child] != 1 {
                        forward[v].push(child);
                    }
                    if state[child] == 0 {
                        state[child] = 1;
                        stack.push((child, 0));
                    }
                }
                None => {
                    state[v] = 2;
                    finished.push(v);
                }
            }
        }
    }
    // The longest way down: nodes with much below them come first.
    let mut depth = vec![0_usize; n];
    for &v in &finished {
        depth[v] = forward[v].iter().map(|&c| depth[c] + 1).max().unwrap_or(0);
    }
    let mut order: Vec<usize> = finished.iter().rev().copied().collect();
    let mut least = vec![0_usize; n];
    for &v in &order {
        for &c in &forward[v] {
            least[c] = least[c].max(least[v] + 1);
        }
    }
    order.sort_by_key(|&v| (least[v], usize::MAX - depth[v]));
    let (mut level, mut room) = (vec![0_usize; n], Vec::<f64>::new());
    for &v in &order {
        while room
            .get(level[v])
            .is_some_and(|used| used + sizes[v].0 + GAP > 0.94 * width && *used > 0.0)
        {
            level[v] += 1;
        }
        if room.len() <= level[v] {
            room.resize(level[v] + 1, 0.0);
        }
        room[level[v]] += sizes[v].0 + GAP;
        for &c in &forward[v] {
            level[c] = level[c].max(level[v] + 1);
        }
    }
    // A root whose children are far below goes down to them.
    for v in 0..n {
        let is_root = forward.iter().all(|list| !list.contains(&v));
        let Some(child) = forward[v].iter().map(|&c| level[c]).min().filter(|_| is_root) else {
            continue;
        };
        let own = sizes[v].0 + GAP;
        if let Some(new) = (level[v] + 1..child).rev().find(|&l| room[l] + own <= 0.94 * width) {
            room[level[v]] -= own;
            room[new] += own;
            level[v] = new;
        }
    }
    level
}

/// Puts each row into an order with few crossings: by the mean place of the neighbours, down and up by turns. The best order is kept.
fn order(rows: &mut [Vec<usize>], above: &[Vec<usize>], below: &[Vec<usize>]) {
    let mut place = vec![0.0; above.len()];
    let number = |rows: &[Vec<usize>], place: &mut Vec<f64>| {
        for row in rows {
            row.iter().enumerate().for_each(|(k, &v)| place[v] = k as f64);
        }
    };
    let crossings = |rows: &[Vec<usize>], place: &[f64]| -> usize {
        let count = |row: &Vec<usize>| {
            let edges: Vec<(f64, f64)> = row
                .iter()
                .flat_map(|&v| below[v].iter().map(move |&u| (v, u)))
                .map(|(v, u)| (place[v], place[u]))
                .collect();
            let cross = |(k, a): (usize, &(f64, f64))| {
                edges[..k].iter().filter(|b| (a.0 - b.0) * (a.1 - b.1) < 0.0).count()
            };
            edges.iter().enumerate().map(cross).sum::<usize>()
        };
        rows.iter().map(count).sum()
    };
    number(rows, &mut place);
    let mut best = (crossings(rows, &place), rows.to_vec());
    for sweep in 0..2 * SWEEPS {
        for step in 0..rows.len() {
            let down = sweep % 2 == 0;
            let at = if down { step } else { rows.len() - 1 - step };
            let near = if down { above } else { below };
            let mean = |v: usize| match near[v].len() {
                0 => place[v],
                count => near[v].iter().map(|&u| place[u]).sum::<f64>() / count as f64,
            };
            rows[at].sort_by(|&a, &b| mean(a).total_cmp(&mean(b)));
            number(&rows[at..=at], &mut place);
        }
        let found = crossings(rows, &place);
        if found < best.0 {
            best = (found, rows.to_vec());
        }
    }
    rows.clone_from_slice(&best.1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_run_downwards_in_layers_of_limited_width() {
        // Twelve roots of one child, which has a child.
        let arcs = (0..12).map(|v| (v, 12)).chain([(12, 13)]);
        let network = Network::new("T", vec![""; 14]).edges(Kind::Arrow, arcs.clone());
        let sizes = vec![(100.0, 20.0); 14];
        let Layers { places, width, .. } = layers(&network, &sizes, 600.0, 40.0);
        assert!(arcs.into_iter().all(|(a, b)| places[a].1 < places[b].1), "{places:?}");
        assert!(width <= 720.0, "{width}");
        for (v, a) in places.iter().enumerate() {
            for b in &places[..v] {
                assert!(a.1 != b.1 || (a.0 - b.0).abs() >= 100.0, "{places:?}");
            }
        }
    }

    #[test]
    fn crossings_are_undone() {
        let network = Network::new("T", vec![""; 6]).edges(Kind::Arrow, [(0, 5), (1, 4), (2, 3)]);
        let Layers { places, .. } = layers(&network, &[(50.0, 20.0); 6], 600.0, 40.0);
        let rising = |a: usize, b: usize| places[a].0 < places[b].0;
        assert!(rising(0, 1) == rising(5, 4) && rising(1, 2) == rising(4, 3), "{places:?}");
    }
}
