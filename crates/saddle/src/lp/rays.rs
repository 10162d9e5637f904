//! Proofs that a program has no solution, by two auxiliary programs that always have one.

use fenchel_optim::{Report, Watch};
use ndarray::Array2;

use super::program::{LinearProgram, LpSettings};
use super::scaled::solve;
use crate::Error;

/// The result of the first auxiliary program, which minimises the violation: `min sum (s+ + s-)` with `A x + s+ - s-
/// = b`, `G x + s+ >= h`. If the minimum is positive, its multipliers are a ray. If it is 0, its point is feasible.
pub(super) type Phase = (Option<Vec<f64>>, Option<Vec<f64>>, Option<Report>);

pub(super) fn infeasible(
    program: &LinearProgram,
    settings: &LpSettings,
    watch: &mut Watch,
) -> Result<Phase, Error> {
    let (m, d) = program.matrix.dim();
    let e = program.equations;
    // A row without entries that asks for something is a proof by itself.
    let asks = |i: &usize| program.right[*i] > 0.0 || (*i < e && program.right[*i] < 0.0);
    let empty = |i: &usize| program.matrix.row(*i).iter().all(|a| *a == 0.0);
    if let Some(i) = (0..m).find(|i| asks(i) && empty(i)) {
        let mut ray = vec![0.0; m];
        ray[i] = program.right[i].signum();
        return Ok((Some(ray), None, None));
    }
    let mut matrix = Array2::zeros((m, d + m + e));
    program.matrix.indexed_iter().for_each(|((i, j), a)| matrix[[i, j]] = *a);
    (0..m).for_each(|i| matrix[[i, d + i]] = 1.0);
    (0..e).for_each(|i| matrix[[i, d + m + i]] = -1.0);
    let mut cost = vec![0.0; d];
    cost.extend(vec![1.0; m + e]);
    let (mut low, mut high) = (program.low.clone(), program.high.clone());
    low.extend(vec![0.0; m + e]);
    high.extend(vec![f64::INFINITY; m + e]);
    let phase =
        LinearProgram { cost, matrix, right: program.right.clone(), equations: e, low, high };
    let (x, mut y, report) = solve(&phase, settings, settings.max_passes, watch)?;
    let x = x[..d].to_vec();
    if program.violation(&x) <= settings.tolerance {
        return Ok((None, Some(x), Some(report)));
    }
    y[e..].iter_mut().for_each(|y| *y = y.max(0.0));
    let size = y.iter().fold(0.0_f64, |m, y| m.max(y.abs()));
    if size > 0.0 {
        y.iter_mut().for_each(|y| *y /= size);
    }
    Ok((program.farkas(&y, settings.tolerance).then_some(y), None, Some(report)))
}

/// The second auxiliary program, which finds the steepest direction of recession: `min c'r` with `A r = 0`, `G r >=
/// 0`, `-1 <= r <= 1` and the signs that the bounds allow.
pub(super) fn unbounded(
    program: &LinearProgram,
    settings: &LpSettings,
    watch: &mut Watch,
) -> Result<(Option<Vec<f64>>, Report), Error> {
    let end = |bound: f64, to: f64| if bound.is_finite() { 0.0 } else { to };
    let cone = LinearProgram {
        right: vec![0.0; program.right.len()],
        low: program.low.iter().map(|l| end(*l, -1.0)).collect(),
        high: program.high.iter().map(|u| end(*u, 1.0)).collect(),
        ..program.clone()
    };
    let (ray, _, report) = solve(&cone, settings, settings.max_passes, watch)?;
    Ok((program.recedes(&ray, settings.tolerance).then_some(ray), report))
}
