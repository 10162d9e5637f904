//! The exact solution of small programs by the simplex method, with checks of its result.

use super::program::{End, LinearProgram, LpOutcome, LpSettings};
use super::scaled::Scaled;
use super::simplex::Simplex;

/// The largest numbers of rows and variables.
const LARGEST: usize = 300;
/// Numbers count as 0 below these fractions of the sizes of their terms. The first corresponds to a few hundred
/// rounding errors. The second is tried if the first fails.
const CARES: [f64; 2] = [1e-13, 1e-10];

/// Solves a small program at a vertex. Returns `None` for larger programs, and if no result passes the checks. It
/// takes about `2 (m + d)` pivots of O(m (m + d)) each.
pub(super) fn finish(program: &LinearProgram, settings: &LpSettings) -> Option<LpOutcome> {
    let (m, d) = program.matrix.dim();
    if m > LARGEST || d > LARGEST {
        return None;
    }
    let (rows, columns) = Scaled::new(program).powers();
    let attempt = |care: &f64| {
        let end = Simplex::new(program, (&rows, &columns), *care).run()?;
        checked(program, settings, end.original(&rows, &columns), 10.0 * care)
    };
    CARES.iter().find_map(attempt)
}

/// The outcome, if it passes the checks on the original data. Rays are exact up to rounding errors, so that their
/// checks are stricter here.
fn checked(
    program: &LinearProgram,
    settings: &LpSettings,
    end: End,
    rounding: f64,
) -> Option<LpOutcome> {
    let signs = |mut y: Vec<f64>| {
        y[program.equations..].iter_mut().for_each(|y| *y = y.max(0.0));
        y
    };
    let unit = |mut v: Vec<f64>| {
        let top = v.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        v.iter_mut().for_each(|v| *v /= top);
        v.iter().all(|v| v.is_finite()).then_some(v)
    };
    let inside = |mut x: Vec<f64>| {
        (0..x.len()).for_each(|j| x[j] = x[j].max(program.low[j]).min(program.high[j]));
        x
    };
    match end {
        End::Optimal { x, y } => {
            let (x, y) = (inside(x), signs(y));
            let objective = program.cost.iter().zip(&x).map(|(c, x)| c * x).sum();
            let holds = program.error(&x, &y) <= settings.tolerance;
            holds.then_some(LpOutcome::Optimal { x, y, objective })
        }
        End::Infeasible { y } => {
            let ray = unit(signs(y))?;
            program.farkas(&ray, rounding).then_some(LpOutcome::Infeasible { ray })
        }
        End::Unbounded { x, ray } => {
            let (x, ray) = (inside(x), unit(ray)?);
            let stays = |j: usize| {
                (ray[j] >= 0.0 || program.low[j] == f64::NEG_INFINITY)
                    && (ray[j] <= 0.0 || program.high[j] == f64::INFINITY)
            };
            let holds = (0..ray.len()).all(stays)
                && program.recedes(&ray, rounding)
                && program.violation(&x) <= settings.tolerance;
            holds.then_some(LpOutcome::Unbounded { x, ray })
        }
    }
}
