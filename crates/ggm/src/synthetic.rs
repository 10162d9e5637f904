//! Random graphs and precision matrices with a known truth.
//!
//! | generator | truth |
//! |---|---|
//! | [`chain`], [`erdos_renyi`], [`barabasi_albert`], [`power_law`] | graphs |
//! | [`diagonally_dominant`] | precision matrix of Defazio 2014, chapter 7: -0.2 on edges, 0.5 + 0.2 degree on the diagonal |
//! | [`walk_summable`] | precision matrix of Defazio 2014, chapter 8: a sum of pairwise positive semidefinite matrices |
//!
//! Edges are `(i, j)` with `i < j`, ascending. Draw data with [`sample`](crate::model::sample).

use fenchel_linalg::Invalid;
use ndarray::Array2;
use rand::{Rng, RngExt};
use rand_distr::{Distribution, StandardNormal};

use crate::error::Error;

/// A list of edges.
pub type Edges = Vec<(u32, u32)>;

/// `0 - 1 - 2 - ... - p-1`.
pub fn chain(p: usize) -> Edges {
    (1..p as u32).map(|i| (i - 1, i)).collect()
}

/// Every pair is joined with probability `q`.
///
/// # Errors
/// [`Invalid::Parameter`] unless `0 <= q <= 1`.
pub fn erdos_renyi(p: usize, q: f64, rng: &mut (impl Rng + ?Sized)) -> Result<Edges, Error> {
    if !(0.0..=1.0).contains(&q) {
        return Err(Invalid::Parameter { name: "q", value: q, expected: "between 0 and 1" }.into());
    }
    let mut edges = Vec::new();
    for i in 0..p as u32 {
        for j in i + 1..p as u32 {
            if rng.random::<f64>() < q {
                edges.push((i, j));
            }
        }
    }
    Ok(edges)
}

/// Preferential attachment (Barabasi and Albert 1999), starting from `m` isolated nodes. Every further node is joined
/// to `m` different nodes, chosen with probability proportional to their degrees. The graph has `m (p - m)` edges.
///
/// # Errors
/// [`Invalid::Parameter`] unless `1 <= m < p`.
pub fn barabasi_albert(p: usize, m: usize, rng: &mut (impl Rng + ?Sized)) -> Result<Edges, Error> {
    if !(1..p).contains(&m) {
        let (name, value) = ("m", m as f64);
        return Err(Invalid::Parameter { name, value, expected: "between 1 and p - 1" }.into());
    }
    let mut edges = Vec::new();
    // Every node once for every edge that it has.
    let mut ends: Vec<u32> = Vec::new();
    let mut targets: Vec<u32> = (0..m as u32).collect();
    for node in m as u32..p as u32 {
        for &target in &targets {
            edges.push((target, node));
            ends.extend([target, node]);
        }
        targets.clear();
        while targets.len() < m {
            let target = ends[rng.random_range(0..ends.len())];
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
    }
    edges.sort_unstable();
    Ok(edges)
}

/// A simple graph whose degrees are drawn from `P(d) ~ d^-exponent`, `1 <= d <= p/2`. The algorithm of Havel and Hakimi
/// builds a graph with these degrees; random swaps of the ends of two edges then mix it without changing the degrees.
/// If the sum of the degrees is odd, one degree is increased by one.
///
/// # Errors
/// [`Invalid::Parameter`] for an exponent that is not positive or fewer than 4 nodes.
pub fn power_law(p: usize, exponent: f64, rng: &mut (impl Rng + ?Sized)) -> Result<Edges, Error> {
    Invalid::check_positive("exponent", exponent)?;
    if p < 4 {
        let value = p as f64;
        return Err(Invalid::Parameter { name: "p", value, expected: "at least 4" }.into());
    }
    let weights: Vec<f64> = (1..=p / 2).map(|d| (d as f64).powf(-exponent)).collect();
    let total: f64 = weights.iter().sum();
    loop {
        let mut degrees: Vec<(usize, u32)> = (0..p as u32)
            .map(|node| {
                let mut mass = rng.random::<f64>() * total;
                let at = weights.iter().position(|w| {
                    mass -= w;
                    mass < 0.0
                });
                (at.unwrap_or(0) + 1, node)
            })
            .collect();
        // An odd sum has no graph: one node, any, has one edge more.
        if degrees.iter().map(|d| d.0).sum::<usize>() % 2 == 1 {
            degrees[rng.random_range(0..p)].0 += 1;
        }
        if let Some(mut edges) = havel_hakimi(&mut degrees) {
            swap_ends(&mut edges, p, rng);
            edges.sort_unstable();
            return Ok(edges);
        }
    }
}

/// A graph with these degrees, if there is one.
fn havel_hakimi(degrees: &mut [(usize, u32)]) -> Option<Edges> {
    let mut edges = Vec::new();
    loop {
        degrees.sort_unstable_by(|a, b| b.cmp(a));
        let (degree, node) = degrees[0];
        if degree == 0 {
            return Some(edges);
        }
        if degree >= degrees.len() || degrees[degree].0 == 0 {
            return None;
        }
        degrees[0].0 = 0;
        for other in &mut degrees[1..=degree] {
            other.0 -= 1;
            edges.push((node.min(other.1), node.max(other.1)));
        }
    }
}

fn swap_ends(edges: &mut Edges, p: usize, rng: &mut (impl Rng + ?Sized)) {
    let mut joined = vec![false; p * p];
    for &(a, b) in edges.iter() {
        joined[a as usize * p + b as usize] = true;
    }
    let key = |a: u32, b: u32| a.min(b) as usize * p + a.max(b) as usize;
    for _ in 0..20 * edges.len() {
        let (e, f) = (rng.random_range(0..edges.len()), rng.random_range(0..edges.len()));
        let ((a, b), (mut c, mut d)) = (edges[e], edges[f]);
        if rng.random::<bool>() {
            (c, d) = (d, c);
        }
        // a-b and c-d become a-d and c-b.
        if a == c || a == d || b == c || b == d || joined[key(a, d)] || joined[key(c, b)] {
            continue;
        }
        joined[key(a, b)] = false;
        joined[key(c, d)] = false;
        joined[key(a, d)] = true;
        joined[key(c, b)] = true;
        edges[e] = (a.min(d), a.max(d));
        edges[f] = (c.min(b), c.max(b));
    }
}

/// The precision matrix of A. Defazio, PhD thesis 2014, chapter 7: `weight` on the edges, `0.5 + |weight| degree` on
/// the diagonal. The thesis uses `weight = -0.2`.
///
/// # Panics
/// For an edge with a node beyond `p`.
pub fn diagonally_dominant(p: usize, edges: &[(u32, u32)], weight: f64) -> Array2<f64> {
    let mut precision = Array2::eye(p) * 0.5;
    for &(i, j) in edges {
        let (i, j) = (i as usize, j as usize);
        precision[[i, j]] = weight;
        precision[[j, i]] = weight;
        precision[[i, i]] += weight.abs();
        precision[[j, j]] += weight.abs();
    }
    precision
}

/// The precision matrix of A. Defazio, PhD thesis 2014, section 8.3.1. It is the sum over the edges of the blocks
/// `[[b |a|, a], [a, |a| / b]]` with `a ~ N(-0.2, 1)` and `log b` uniform on `(-log 2, log 2)`, plus 1 % of the mean
/// diagonal.
///
/// The blocks are singular, so their sum need not be positive definite; this is why 1 % of the mean diagonal is added.
/// Defazio's thesis does not mention this, nor the distribution of `b`.
///
/// # Panics
/// For an edge with a node beyond `p`.
pub fn walk_summable(p: usize, edges: &[(u32, u32)], rng: &mut (impl Rng + ?Sized)) -> Array2<f64> {
    let mut precision: Array2<f64> = Array2::zeros((p, p));
    let log2 = std::f64::consts::LN_2;
    for &(i, j) in edges {
        let (i, j) = (i as usize, j as usize);
        let z: f64 = StandardNormal.sample(rng);
        let a = z - 0.2;
        let b = ((2.0 * rng.random::<f64>() - 1.0) * log2).exp();
        precision[[i, j]] = a;
        precision[[j, i]] = a;
        precision[[i, i]] += b * a.abs();
        precision[[j, j]] += a.abs() / b;
    }
    let mean = precision.diag().sum() / p as f64;
    let ridge = if mean > 0.0 { 0.01 * mean } else { 1.0 };
    precision.diag_mut().mapv_inplace(|d| d + ridge);
    precision
}
