//! Whether a problem without a penalty has a minimiser at all.
//!
//! A direction `(d, d_b)` with `y_i (a_i.d + d_b) >= 0` for every row, and more for some, is one of recession: along it the
//! logistic loss falls for ever, and no point is a minimum. There is one if and only if there is no minimiser (Albert and
//! Anderson, Biometrika 71, 1984). Where all rows are strictly on their side (*separation*) the returned point is itself such a
//! direction. Where some lie on the hyperplane (*quasi-separation*) its margins grow for the other rows alone: what the rows with
//! small margins see of the point is projected out, by conjugate gradients on their least squares problem, and what is left is
//! checked on every row. Nothing is said without such a direction in hand.

use fenchel_linalg::{Design, multiply_squares_transposed, multiply_transposed};
use fenchel_optim::{Loss, Regulariser, Report, Status};

use crate::{Point, Problem};

/// Products with the design that a projection may take, at most.
const MOST: usize = 200;
/// Rows whose margin is below these fractions of the largest are projected out, in turn.
const SMALL: [f64; 3] = [0.5, 0.25, 0.1];
/// So large a margin is a sign of separation: the loss of its row is 2% of that at 0.
const LARGE: f64 = 4.0;
/// Margins are 0 within this fraction of `||a_i|| ||d|| + |d_b|`, and above 0 beyond the second.
const ZERO: f64 = 1e-9;
const POSITIVE: f64 = 1e-6;

impl<D: Design, L: Loss, R: Regulariser> Problem<'_, D, L, R> {
    /// The report of a run that has ended at a point, with [`Status::NoMinimiser`] where there is a direction of recession.
    /// Problems with a penalty, and losses that attain their infimum, cost nothing; others a pass, or up to a few hundred where
    /// margins are large.
    pub(crate) fn judged(&self, report: Report, point: &Point) -> Report {
        let ended = matches!(report.status, Status::Converged | Status::Stalled | Status::Diverged);
        if ended && L::RECEDES && R::IDENTITY && self.l2() == 0.0 && self.recedes(point) {
            return Report { status: Status::NoMinimiser, ..report };
        }
        report
    }

    /// Whether a direction of recession is found from a point.
    fn recedes(&self, point: &Point) -> bool {
        if self.is_recession(point) {
            return true;
        }
        let margins = self.signed_margins(point);
        let largest = (0..self.n())
            .filter(|&i| self.term_weight(i) > 0.0)
            .fold(0.0, |largest: f64, i| largest.max(margins[i]));
        if !(largest >= LARGE && largest.is_finite()) {
            return false;
        }
        let mut before = 0;
        SMALL.iter().any(|share| {
            let small: Vec<bool> = (0..self.n())
                .map(|i| self.term_weight(i) > 0.0 && margins[i] < share * largest)
                .collect();
            let count = small.iter().filter(|small| **small).count();
            let fresh = std::mem::replace(&mut before, count) != count;
            fresh && count > 0 && self.is_recession(&self.unseen_by(&small, point))
        })
    }

    /// `y_i (a_i.x + b)`
    fn signed_margins(&self, point: &Point) -> Vec<f64> {
        let mut margins = vec![0.0; self.n()];
        self.margins(point, &mut margins);
        margins.iter_mut().zip(self.targets()).for_each(|(t, y)| *t *= y);
        margins
    }

    /// Whether no row is on the wrong side of a direction, and some row on the right one, beyond rounding.
    fn is_recession(&self, direction: &Point) -> bool {
        let norm = direction.weights.iter().map(|w| w * w).sum::<f64>().sqrt();
        let margins = self.signed_margins(direction);
        let mut ahead = false;
        let behind = (0..self.n()).filter(|&i| self.term_weight(i) > 0.0).any(|i| {
            let scale = self.norm_squared(i).sqrt() * norm + direction.intercept.abs();
            ahead |= margins[i] > POSITIVE * scale;
            !(margins[i] >= -ZERO * scale)
        });
        ahead && !behind
    }

    /// The point without what some rows see of it: `x - u` with `a_i.u = a_i.x` for these rows, by conjugate gradients on the
    /// normal equations, each feature in units of its size. A pass a product.
    fn unseen_by(&self, rows: &[bool], point: &Point) -> Point {
        let (n, d) = (self.n(), self.d());
        let only = |margins: &mut Vec<f64>| {
            margins.iter_mut().zip(rows).filter(|(_, row)| !**row).for_each(|(t, _)| *t = 0.0);
        };
        let mut unit = vec![0.0; d];
        multiply_squares_transposed(self.design(), &vec![1.0; n], &mut unit);
        unit.iter_mut().for_each(|u| *u = if *u > 0.0 { u.recip() } else { 0.0 });
        let bias = if self.intercept() { 1.0 / n as f64 } else { 0.0 };
        let transposed = |r: &[f64], out: &mut Point| {
            multiply_transposed(self.design(), r, &mut out.weights);
            out.intercept = r.iter().sum();
        };
        // `s` and its product with the squared units.
        let scaled = |s: &Point| Point {
            weights: s.weights.iter().zip(&unit).map(|(s, u)| s * u).collect(),
            intercept: s.intercept * bias,
        };
        let dot = |a: &Point, b: &Point| {
            let sum: f64 = a.weights.iter().zip(&b.weights).map(|(a, b)| a * b).sum();
            sum + a.intercept * b.intercept
        };
        let mut left = point.clone();
        let (mut r, mut q) = (vec![0.0; n], vec![0.0; n]);
        self.margins(point, &mut r);
        only(&mut r);
        let mut s = Point::zero(d);
        transposed(&r, &mut s);
        let mut p = scaled(&s);
        let mut rho = dot(&s, &p);
        let first = rho;
        for _ in 0..MOST.min(4 * (d + 1)) {
            if !(rho > 1e-30 * first) {
                break;
            }
            self.margins(&p, &mut q);
            only(&mut q);
            let bend: f64 = q.iter().map(|q| q * q).sum();
            if !(bend > 0.0) {
                break;
            }
            let step = rho / bend;
            left.weights.iter_mut().zip(&p.weights).for_each(|(x, p)| *x -= step * p);
            left.intercept -= step * p.intercept;
            r.iter_mut().zip(&q).for_each(|(r, q)| *r -= step * q);
            transposed(&r, &mut s);
            let z = scaled(&s);
            let next = dot(&s, &z);
            let turn = next / rho;
            rho = next;
            p.weights.iter_mut().zip(&z.weights).for_each(|(p, z)| *p = z + turn * *p);
            p.intercept = z.intercept + turn * p.intercept;
        }
        left
    }
}

#[cfg(test)]
mod tests;
