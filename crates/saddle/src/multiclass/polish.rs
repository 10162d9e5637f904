//! Exact solution of the hinge problem near its optimum, by the linear equations of its active parts.
//!
//! With the l1 norm the problem is a linear program, so that some solutions are vertices. Suppose it is known which
//! weights are not 0, which classes of a row have the same margin, and whether the ball constraint is active. Then
//! `U` and `V` solve linear equations. One step of PDHG from a pair gives a guess of these active parts. The smallest
//! corrections that satisfy the equations give a new pair. If the guess is right, the certificate of the new pair is
//! smaller by many digits. If not, the certificate shows that.

use fenchel_linalg::project;
use ndarray::Array2;

use super::problem::Multiclass;
use crate::active::Equations;
use crate::methods::steps::Bilinear;
use crate::setup::project_rows;
use crate::spectral::length;

/// A polish may cost as many multiplications as this number of PDHG steps, and in any case up to `LEAST` of them.
const STEPS: usize = 50;
const LEAST: usize = 20_000_000;

/// The active parts of a pair.
struct Active {
    /// The positions of non-zero weights.
    weights: Vec<usize>,
    /// `(row, class, reference)`: this class of the row has the same margin as the row's reference class.
    ties: Vec<(usize, usize, usize)>,
    /// Whether the ball constraint is active.
    full: bool,
}

pub(super) fn polished(
    bilinear: &dyn Bilinear,
    problem: &Multiclass,
    x: &[f64],
    y: &[f64],
) -> Option<(Vec<f64>, Vec<f64>)> {
    let s = problem.samples();
    let (n, k) = (s.rows(), s.classes());
    let (mut u, mut v) = stepped(bilinear, x, y)?;
    let active = active(problem, &u, &v)?;
    let Active { weights, ties, full } = &active;
    let equations = Equations::new(matrix(problem, &active, &u))?;
    let signs: Vec<f64> = weights.iter().map(|at| u[*at].signum()).collect();
    let (mut margins, mut gradient) = (vec![0.0; n * k], vec![0.0; u.len()]);
    // What the ball adds to the penalty.
    let mut pressure = 0.0;
    // Twice: the second correction takes what rounding left of the first.
    for _ in 0..2 {
        s.scores(&u, k, &mut margins);
        problem.linear(&mut margins);
        let mut short: Vec<f64> =
            ties.iter().map(|(j, l, of)| margins[j * k + of] - margins[j * k + l]).collect();
        if *full {
            let norm: f64 = weights.iter().zip(&signs).map(|(at, sign)| sign * u[*at]).sum();
            short.push(problem.radius() - norm);
        }
        let step = equations.solve(&short)?;
        weights.iter().zip(&step).for_each(|(at, step)| u[*at] += step);

        bilinear.grad_x(&v, &mut gradient);
        let price = problem.penalty() + pressure;
        let short: Vec<f64> = weights
            .iter()
            .zip(&signs)
            .map(|(at, sign)| -(gradient[*at] + price * sign) * n as f64)
            .collect();
        let step = equations.solve_transposed(&short)?;
        for ((j, l, of), step) in ties.iter().zip(&step) {
            v[j * k + l] += step;
            v[j * k + of] -= step;
        }
        if *full {
            pressure += step[ties.len()] / n as f64;
        }
    }
    project::l1_ball(&mut u, problem.radius()).ok()?;
    project_rows(&mut v, k);
    Some((u, v))
}

/// A step of each block, with lengths that depend on the sizes of the blocks.
fn stepped(bilinear: &dyn Bilinear, x: &[f64], y: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
    let size = |v: &[f64]| length(v.iter().copied());
    let balance = size(y) / size(x);
    let (tau, sigma) = (1.0 / (balance * bilinear.norm()), balance / bilinear.norm());
    if !(tau > 0.0 && tau.is_finite() && sigma > 0.0 && sigma.is_finite()) {
        return None;
    }
    let (mut u, mut v) = (vec![0.0; x.len()], vec![0.0; y.len()]);
    bilinear.grad_x(y, &mut u);
    bilinear.grad_y(x, &mut v);
    u.iter_mut().zip(x).for_each(|(u, x)| *u = x - tau * *u);
    v.iter_mut().zip(y).for_each(|(v, y)| *v = y - sigma * *v);
    bilinear.prox_x(&mut u, tau);
    bilinear.prox_y(&mut v, sigma);
    Some((u, v))
}

/// Finds the active parts. Returns `None` if their equations would be too expensive.
fn active(problem: &Multiclass, u: &[f64], v: &[f64]) -> Option<Active> {
    let s = problem.samples();
    let k = s.classes();
    let weights: Vec<usize> = (0..u.len()).filter(|at| u[*at] != 0.0).collect();
    let mut ties = vec![];
    for (j, row) in v.chunks(k).enumerate() {
        let of = (1..k).fold(0, |best, l| if row[l] > row[best] { l } else { best });
        ties.extend((0..k).filter(|l| *l != of && row[*l] > 0.0).map(|l| (j, l, of)));
    }
    let (few, many) = (weights.len().min(ties.len() + 1), weights.len().max(ties.len() + 1));
    let cost = few.saturating_mul(few).saturating_mul(2 * many);
    let most = STEPS.saturating_mul(2 * s.stored() * k).max(LEAST);
    if weights.is_empty() || cost > most || few.saturating_mul(many) > most {
        return None;
    }
    let full = problem.norm(u) >= problem.radius() * (1.0 - 1e-9);
    Some(Active { weights, ties, full })
}

/// One row per tie, and one for an active ball constraint. The columns belong to the active weights.
fn matrix(problem: &Multiclass, active: &Active, u: &[f64]) -> Array2<f64> {
    let s = problem.samples();
    let k = s.classes();
    let Active { weights, ties, full } = active;
    let mut columns = vec![usize::MAX; u.len()];
    weights.iter().enumerate().for_each(|(column, at)| columns[*at] = column);
    let mut matrix = Array2::zeros((ties.len() + usize::from(*full), weights.len()));
    for ((j, l, of), mut row) in ties.iter().zip(matrix.rows_mut()) {
        s.each(*j, |i, a| {
            for (class, sign) in [(*l, 1.0), (*of, -1.0)] {
                if let Some(entry) = row.get_mut(columns[i * k + class]) {
                    *entry += sign * a;
                }
            }
        });
    }
    if *full {
        let mut last = matrix.row_mut(ties.len());
        weights.iter().zip(last.iter_mut()).for_each(|(at, entry)| *entry = u[*at].signum());
    }
    matrix
}
