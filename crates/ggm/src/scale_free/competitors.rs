//! Other methods for the same problems, for comparison.

use fenchel_linalg::{Invalid, factor};
use ndarray::{Array2, ArrayView2};

use super::prox::{ProxSettings, prox_omega};
use crate::error::Error;

fn check(z: ArrayView2<f64>, increments: &[f64], scale: f64) -> Result<usize, Error> {
    let p = Invalid::check_square("matrix", z.dim())?;
    Invalid::check_length("increments", p - 1, increments.len())?;
    Invalid::check_nonnegative("scale", scale)?;
    match z.indexed_iter().find(|(_, z)| !z.is_finite()) {
        Some(((row, column), &value)) => {
            Err(Invalid::NonFinite { what: "matrix", row, column, value }.into())
        }
        None => Ok(p),
    }
}

/// Subgradient steps `t0 / sqrt(k)` on the proximal problem. Returns the best objective after every step, and the best
/// point.
///
/// # Errors
/// [`Invalid`] for shapes that do not fit, entries or a first step that are not finite, and a negative scale.
pub fn subgradient(
    z: ArrayView2<f64>,
    increments: &[f64],
    scale: f64,
    first_step: f64,
    steps: usize,
) -> Result<(Vec<f64>, Array2<f64>), Error> {
    check(z, increments, scale)?;
    Invalid::check_finite("first step", &[first_step])?;
    let mut x = z.to_owned();
    let mut best = (f64::INFINITY, x.clone());
    let mut history = Vec::with_capacity(steps);
    for k in 1..=steps {
        let mut gradient = &x - &z;
        let objective =
            scale * super::omega(x.view(), increments)? + 0.5 * gradient.mapv(|d| d * d).sum();
        if objective < best.0 {
            best = (objective, x.clone());
        }
        history.push(best.0);
        gradient.scaled_add(scale, &subgradient_of_omega(&x, increments));
        x.scaled_add(-first_step / (k as f64).sqrt(), &gradient);
    }
    Ok((history, best.1))
}

/// A subgradient of `Omega`: 0 where an entry is 0.
fn subgradient_of_omega(x: &Array2<f64>, increments: &[f64]) -> Array2<f64> {
    let p = x.nrows();
    let mut found = Array2::<f64>::zeros((p, p));
    for i in 0..p {
        let mut order: Vec<usize> = (0..p).filter(|&j| j != i).collect();
        order.sort_unstable_by(|&a, &b| x[[i, b]].abs().total_cmp(&x[[i, a]].abs()));
        for (&j, h) in order.iter().zip(increments) {
            found[[i, j]] += 0.5 * h;
            found[[j, i]] += 0.5 * h;
        }
    }
    found.zip_mut_with(x, |g, &x| *g *= if x == 0.0 { 0.0 } else { x.signum() });
    found
}

/// Subgradient steps `t0 / sqrt(k)` on the whole problem, from the diagonal. A step that leaves the positive definite matrices is
/// halved. Returns the best objective after every step, and the last point, whose entries are hardly ever 0.
///
/// # Errors
/// [`Invalid`] for shapes that do not fit, entries or a first step that are not finite, a strength below 0, and variances that are not
/// positive.
pub fn whole_subgradient(
    covariance: ArrayView2<f64>,
    increments: &[f64],
    strength: f64,
    first_step: f64,
    steps: usize,
) -> Result<(Vec<f64>, Array2<f64>), Error> {
    let p = check(covariance, increments, strength)?;
    Invalid::check_finite("first step", &[first_step])?;
    for &variance in covariance.diag() {
        Invalid::check_positive("variance", variance)?;
    }
    let factor = |x: &Array2<f64>| factor::cholesky_in_place(x.iter().copied().collect(), p).ok();
    let mut x = Array2::from_diag(&covariance.diag().mapv(|c| 1.0 / c));
    let mut best = f64::INFINITY;
    let mut history = Vec::with_capacity(steps + 1);
    for k in 1..=steps + 1 {
        let Some(root) = factor(&x) else { break };
        let penalty = strength * super::omega(x.view(), increments)?;
        best = best.min((&covariance * &x).sum() - root.log_det() + penalty);
        history.push(best);
        if k > steps {
            break;
        }
        let mut inverse = Array2::zeros((p, p));
        factor::inverse_into(&root, inverse.as_slice_mut().expect("standard layout"));
        let mut gradient = &covariance - &inverse;
        gradient.scaled_add(strength, &subgradient_of_omega(&x, increments));
        let mut step = first_step / (k as f64).sqrt();
        let moved = |step: f64| &x - &(&gradient * step);
        while step.abs() > 1e-300 && factor(&moved(step)).is_none() {
            step *= 0.5;
        }
        x = moved(step);
    }
    Ok((history, x))
}

/// The result of the minimum-norm point algorithm.
#[derive(Debug, Clone)]
pub struct MinimumNorm {
    /// The proximal point.
    pub point: Array2<f64>,
    /// Objective of the proximal problem after every major cycle.
    pub history: Vec<f64>,
}

/// Solves the proximal problem as a projection on the polytope of subgradients, by Wolfe's minimum-norm point
/// algorithm. A step calls a linear oracle (a greedy order of the edges) and projects on the affine hull of the current
/// vertices.
///
/// # Errors
/// [`Invalid`] for shapes that do not fit.
pub fn minimum_norm_point(
    z: ArrayView2<f64>,
    increments: &[f64],
    scale: f64,
    cycles: usize,
) -> Result<MinimumNorm, Error> {
    let p = check(z, increments, scale)?;
    let pairs: Vec<(usize, usize)> = (0..p).flat_map(|i| (i + 1..p).map(move |j| (i, j))).collect();
    let target: Vec<f64> = pairs.iter().map(|&(i, j)| z[[i, j]]).collect();
    // The vertex with the largest inner product with g.
    let oracle = |g: &[f64]| {
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        order.sort_unstable_by(|&a, &b| g[b].abs().total_cmp(&g[a].abs()).then(a.cmp(&b)));
        let mut degree = vec![0; p];
        let mut vertex = vec![0.0; pairs.len()];
        for e in order {
            let (i, j) = pairs[e];
            let price = 0.5 * scale * (increments[degree[i]] + increments[degree[j]]);
            vertex[e] = if g[e] == 0.0 { 0.0 } else { price.copysign(g[e]) };
            degree[i] += 1;
            degree[j] += 1;
        }
        vertex
    };
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let as_matrix = |s: &[f64]| {
        let mut x = z.to_owned();
        for (e, &(i, j)) in pairs.iter().enumerate() {
            x[[i, j]] = target[e] - s[e];
            x[[j, i]] = x[[i, j]];
        }
        x
    };
    let value = |x: &Array2<f64>| -> Result<f64, Error> {
        Ok(scale * super::omega(x.view(), increments)? + 0.5 * (x - &z).mapv(|d| d * d).sum())
    };
    // Vertices relative to the target: the smallest point of their hull is minus the proximal point.
    let shifted = |s: Vec<f64>| -> Vec<f64> { s.iter().zip(&target).map(|(s, t)| s - t).collect() };
    let mut vertices = vec![shifted(oracle(&target))];
    let mut shares = vec![1.0];
    let mut gram = vec![vec![dot(&vertices[0], &vertices[0])]];
    let mut point = vertices[0].clone();
    let mut history = Vec::new();
    for _ in 0..cycles {
        let s: Vec<f64> = point.iter().zip(&target).map(|(q, t)| q + t).collect();
        history.push(value(&as_matrix(&s))?);
        let negative: Vec<f64> = point.iter().map(|q| -q).collect();
        let vertex = shifted(oracle(&negative));
        if dot(&point, &point) - dot(&point, &vertex) <= 1e-14 * (1.0 + dot(&point, &point)) {
            break;
        }
        let products: Vec<f64> = vertices.iter().map(|v| dot(v, &vertex)).collect();
        for (row, product) in gram.iter_mut().zip(&products) {
            row.push(*product);
        }
        let mut last = products;
        last.push(dot(&vertex, &vertex));
        gram.push(last);
        vertices.push(vertex);
        shares.push(0.0);
        // Minor cycles: to the smallest point of the affine hull, or as far as the hull allows.
        loop {
            let affine = affine_minimiser(&gram);
            let Some(affine) = affine else { break };
            if affine.iter().all(|&a| a > 1e-12) {
                shares = affine;
                break;
            }
            let mut step = 1.0_f64;
            for (share, a) in shares.iter().zip(&affine) {
                if *a <= 1e-12 && share > a {
                    step = step.min(share / (share - a));
                }
            }
            for (share, a) in shares.iter_mut().zip(&affine) {
                *share += step * (a - *share);
            }
            let keep: Vec<bool> = shares.iter().map(|&s| s > 1e-12).collect();
            if keep.iter().all(|&k| k) || keep.iter().all(|&k| !k) {
                break;
            }
            retain(&mut vertices, &keep);
            retain(&mut shares, &keep);
            retain(&mut gram, &keep);
            gram.iter_mut().for_each(|row| retain(row, &keep));
        }
        point.fill(0.0);
        for (vertex, share) in vertices.iter().zip(&shares) {
            point.iter_mut().zip(vertex).for_each(|(q, v)| *q += share * v);
        }
    }
    let s: Vec<f64> = point.iter().zip(&target).map(|(q, t)| q + t).collect();
    Ok(MinimumNorm { point: as_matrix(&s), history })
}

fn retain<T>(items: &mut Vec<T>, keep: &[bool]) {
    let mut at = 0;
    items.retain(|_| {
        at += 1;
        keep[at - 1]
    });
}

/// Barycentric coordinates of the smallest point of the affine hull.
fn affine_minimiser(gram: &[Vec<f64>]) -> Option<Vec<f64>> {
    let m = gram.len();
    let mut entries = vec![0.0; m * m];
    for i in 0..m {
        for j in 0..m {
            // The sum of all coordinates is 1, so that a constant changes nothing but the condition.
            entries[i * m + j] = gram[i][j] + 1.0 + if i == j { 1e-13 * gram[i][i] } else { 0.0 };
        }
    }
    let factor = factor::cholesky_in_place(entries, m).ok()?;
    let mut shares = vec![1.0; m];
    factor.solve_in_place(&mut shares).ok()?;
    let total: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|s| *s /= total);
    Some(shares)
}

/// Proximal gradient steps on the whole problem (G-ISTA with the penalty `Omega`), from the diagonal. Returns the
/// objective after every step, and the last point.
///
/// # Errors
/// [`Invalid`] for shapes that do not fit.
pub fn ista(
    covariance: ArrayView2<f64>,
    increments: &[f64],
    strength: f64,
    steps: usize,
) -> Result<(Vec<f64>, Array2<f64>), Error> {
    let p = Invalid::check_square("covariance", covariance.dim())?;
    Invalid::check_length("increments", p - 1, increments.len())?;
    let mut x = Array2::from_diag(&covariance.diag().mapv(|c| 1.0 / c));
    let value = |x: &Array2<f64>| {
        let factor = factor::cholesky_in_place(x.iter().copied().collect(), p).ok()?;
        let penalty = super::omega(x.view(), increments).ok()?;
        let smooth = (&covariance * x).sum() - factor.log_det();
        Some((smooth, smooth + strength * penalty, factor))
    };
    let singular = || Error::Unbounded { what: "proximal gradients", reason: "a singular start" };
    let (mut smooth, mut objective, mut factor) = value(&x).ok_or_else(singular)?;
    let mut history = vec![objective];
    let mut step = 1.0;
    for _ in 0..steps {
        let mut inverse = Array2::zeros((p, p));
        factor::inverse_into(&factor, inverse.as_slice_mut().expect("standard layout"));
        let gradient = &covariance - &inverse;
        loop {
            let mut z = &x - &(&gradient * step);
            for i in 0..p {
                for j in 0..i {
                    z[[i, j]] = z[[j, i]];
                }
            }
            let found = prox_omega(
                z.view(),
                increments,
                step * strength,
                &ProxSettings::default(),
                None,
                &mut (),
            )?;
            let moved = found.state.point;
            let change = &moved - &x;
            let model =
                smooth + (&gradient * &change).sum() + change.mapv(|d| d * d).sum() / (2.0 * step);
            match value(&moved) {
                Some(next) if next.0 <= model + 1e-12 * model.abs() => {
                    x = moved;
                    (smooth, objective, factor) = next;
                    break;
                }
                _ if step < 1e-12 => return Ok((history, x)),
                _ => step *= 0.5,
            }
        }
        history.push(objective);
        step *= 1.5;
    }
    Ok((history, x))
}
