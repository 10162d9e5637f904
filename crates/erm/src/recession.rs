//! Detects whether a problem without a penalty, or with an intercept and labels of one class, has no minimiser.
//!
//! Let `s_i` be the sign along which the loss of row `i` decreases for ever ([`Loss::recession`]): the label of the logistic loss,
//! -1 for a count of 0, and 0 for other counts. Let `(d, d_b)` be a direction with `s_i (a_i.d + d_b) >= 0` for all rows and `> 0`
//! for some row, which does not move the margins of rows with `s_i = 0`. It is a direction of recession: along it the objective
//! decreases for ever. For the logistic loss, a minimiser exists if and only if there is no such
//! direction (Albert and Anderson, Biometrika 71, 1984). There are two cases. In the case of *separation* the
//! inequality is strict for all rows, and the point that a method returns is itself such a direction. In the case of
//! *quasi-separation* some rows lie on the hyperplane, and only the margins of the other rows grow. Then the part of
//! the point that determines the margins of the rows with small margins is removed. This is a least squares problem,
//! solved by conjugate gradients. The remaining direction is checked on every row. A problem is reported to have no
//! minimiser only if a direction has passed this check.

use std::ops::Range;

use fenchel_linalg::{Design, multiply_squares, multiply_squares_transposed, multiply_transposed};
use fenchel_optim::{Certificate, Loss, Regulariser, Report, Status};

use crate::{Point, Problem};

/// The most products with the design in a projection: a backstop, by judgement.
const MOST: usize = 200;
/// Rows whose margin is below one of these fractions of the largest margin are projected out. The fractions are tried
/// in this order. By judgement: a wrong one costs time alone, because every direction is checked.
const SMALL: [f64; 3] = [0.5, 0.25, 0.1];
/// A margin above this is taken as a sign of separation. The loss of its row is 2% of the loss at 0.
const LARGE: f64 = 4.0;
/// A margin counts as 0 up to this fraction of the norm of its terms, along the direction or at the point of which it is left, and
/// as positive above the fraction `POSITIVE`. So the units of the features do not matter.
const ZERO: f64 = 1e-9;
const POSITIVE: f64 = 1e-6;

/// The report of a run that has ended at a point with a NaN or an infinity, as that of a proximal step of the user's: no numbers
/// computed from it prove anything.
pub(crate) fn no_point(report: Report) -> Report {
    let certificate = Certificate::Uncertified { objective: None };
    Report { status: Status::Diverged, certificate, ..report }
}

impl<D: Design, L: Loss, R: Regulariser> Problem<'_, D, L, R> {
    /// Returns the report of a run that has ended at a point, with [`Status::Diverged`] if the point is not finite, and with
    /// [`Status::NoMinimiser`] if there is a direction of
    /// recession. For losses that attain their infimum the check is free, and for problems with a penalty it is O(n): there the
    /// intercept alone may recede, if all labels are the same. Otherwise it costs two passes, or up to a few hundred if margins are large.
    pub(crate) fn judged(&self, report: Report, point: &Point) -> Report {
        if !(point.intercept.is_finite() && point.weights.iter().all(|w| w.is_finite())) {
            return no_point(report);
        }
        let ended = matches!(report.status, Status::Converged | Status::Stalled | Status::Diverged);
        let unpenalised = self.regulariser().is_zero() && self.l2() == 0.0;
        if ended && (self.one_class() || unpenalised && self.some_recede() && self.recedes(point)) {
            return Report { status: Status::NoMinimiser, ..report };
        }
        report
    }

    /// The sign along which each row that counts recedes.
    fn signs(&self) -> impl Iterator<Item = f64> {
        let counting = (0..self.n()).filter(|&i| self.term_weight(i) > 0.0);
        counting.map(|i| self.loss().recession(self.targets()[i]))
    }

    fn some_recede(&self) -> bool {
        self.design().any(self.signs().any(|sign| sign != 0.0))
    }

    /// Whether all rows that count recede along one sign, and an intercept that no penalty holds grows along it.
    fn one_class(&self) -> bool {
        let some = |is: fn(f64) -> bool| self.design().any(self.signs().any(is));
        self.intercept()
            && !some(|sign| sign == 0.0)
            && some(|sign| sign > 0.0) != some(|sign| sign < 0.0)
    }

    /// Whether a direction of recession is found from a point.
    fn recedes(&self, point: &Point) -> bool {
        let scales = self.scales(point);
        if self.is_recession(point, &scales) {
            return true;
        }
        let margins = self.signed_margins(point);
        let largest = (0..self.n())
            .filter(|&i| self.term_weight(i) > 0.0)
            .fold(0.0, |largest: f64, i| largest.max(margins[i]));
        let largest = self.design().largest(largest);
        if !(largest >= LARGE && largest.is_finite()) {
            return false;
        }
        let mut before = 0.0;
        SMALL.iter().any(|share| {
            let small: Vec<bool> = (0..self.n())
                .map(|i| self.term_weight(i) > 0.0 && margins[i] < share * largest)
                .collect();
            let counts = |rows: Range<usize>| small[rows].iter().filter(|small| **small).count();
            let [count] = self.design().sum_rows(|rows| [counts(rows) as f64]);
            let fresh = std::mem::replace(&mut before, count) != count;
            fresh && count > 0.0 && self.is_recession(&self.unseen_by(&small, point), &scales)
        })
    }

    /// `s_i (a_i.x + b)`, and `-|a_i.x + b|` for rows that do not recede.
    fn signed_margins(&self, point: &Point) -> Vec<f64> {
        let mut margins = vec![0.0; self.n()];
        self.margins(point, &mut margins);
        for (t, &y) in margins.iter_mut().zip(self.targets()) {
            let sign = self.loss().recession(y);
            *t = if sign == 0.0 { -t.abs() } else { sign * *t };
        }
        margins
    }

    /// The norms of the terms of the margins, `sqrt(sum_c (a_ic d_c)^2 + d_b^2)`.
    fn scales(&self, direction: &Point) -> Vec<f64> {
        let squares: Vec<f64> = direction.weights.iter().map(|w| w * w).collect();
        let mut scales = vec![0.0; self.n()];
        multiply_squares(self.design(), &squares, &mut scales);
        scales.iter_mut().for_each(|s| *s = (*s + direction.intercept.powi(2)).sqrt());
        scales
    }

    /// Whether all rows have non-negative margins along a direction, and some row a positive one, up to rounding. The direction is
    /// what is left of a point whose margins have terms of such norms.
    fn is_recession(&self, direction: &Point, before: &[f64]) -> bool {
        let scales = self.scales(direction);
        let margins = self.signed_margins(direction);
        let mut ahead = false;
        let behind = (0..self.n()).filter(|&i| self.term_weight(i) > 0.0).any(|i| {
            let scale = scales[i].max(before[i]);
            ahead |= margins[i] > POSITIVE * scale;
            !(margins[i] >= -ZERO * scale)
        });
        // Both are asked of all: no process may go ahead of the others.
        let (ahead, behind) = (self.design().any(ahead), self.design().any(behind));
        ahead && !behind
    }

    /// Removes the part of the point that determines the margins of the given rows. Returns `x - u` with `a_i.u =
    /// a_i.x` for these rows. `u` is found by conjugate gradients on the normal equations, with each feature scaled
    /// by its norm. A product costs one pass.
    fn unseen_by(&self, rows: &[bool], point: &Point) -> Point {
        let (n, d) = (self.n(), self.d());
        let only = |margins: &mut Vec<f64>| {
            margins.iter_mut().zip(rows).filter(|(_, row)| !**row).for_each(|(t, _)| *t = 0.0);
        };
        let mut unit = vec![0.0; d];
        multiply_squares_transposed(self.design(), &vec![1.0; n], &mut unit);
        unit.iter_mut().for_each(|u| *u = if *u > 0.0 { u.recip() } else { 0.0 });
        let bias = if self.intercept() { 1.0 / self.terms() } else { 0.0 };
        let transposed = |r: &[f64], out: &mut Point| {
            multiply_transposed(self.design(), r, &mut out.weights);
            out.intercept = self.design().sum_numbers(r);
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
            let square = |rows: Range<usize>| q[rows].iter().map(|q| q * q).sum();
            let [bend]: [f64; 1] = self.design().sum_rows(|rows| [square(rows)]);
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
mod tests {
    use super::*;
    use crate::loss::Logistic;
    use crate::prox::Zero;
    use fenchel_linalg::Dense;
    use fenchel_optim::random::stream;
    use ndarray::Array2;
    use rand::RngExt;

    /// What the rows of a subset see is gone, and the rest is what exact orthogonalisation leaves.
    #[test]
    fn what_is_left_is_unseen() {
        let mut rng = stream(3, 0);
        let x = Array2::from_shape_fn((12, 6), |_| rng.random_range(-1.0..1.0));
        let y = [1.0; 12];
        let problem = Problem::new(Dense::new(x.view()).unwrap(), &y, Logistic, Zero, 0.0);
        let problem = problem.unwrap().with_intercept();
        let rows: Vec<bool> = (0..12).map(|i| i < 4).collect();
        let weights: Vec<f64> = (0..6).map(|_| rng.random_range(-1.0..1.0)).collect();
        let left = problem.unseen_by(&rows, &Point { weights, intercept: 0.4 });
        let margins = problem.signed_margins(&left);
        assert!(margins[..4].iter().all(|t| t.abs() < 1e-12), "{margins:?}");
        assert!(margins[4..].iter().any(|t| t.abs() > 1e-2), "{margins:?}");
    }

    #[test]
    fn directions_are_checked_on_every_row() {
        let x = ndarray::array![[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]];
        let y = [1.0, 1.0, -1.0];
        let design = Dense::new(x.view()).unwrap();
        let problem = Problem::new(design, &y, Logistic, Zero, 0.0).unwrap();
        let along = |a, b| Point { weights: vec![a, b], intercept: 0.0 };
        let is_recession = |a, b| {
            let direction = along(a, b);
            problem.is_recession(&direction, &problem.scales(&direction))
        };
        assert!(is_recession(1.0, 0.0));
        assert!(!is_recession(-1.0, 0.0));
        assert!(!is_recession(1.0, 0.1));
        assert!(!is_recession(0.0, 0.0));
        // Quasi-separated: the second and third row lie on the hyperplane.
        assert!(problem.recedes(&along(6.0, 0.1)));
        assert!(!problem.recedes(&along(1.0, 0.1)), "no sign of separation");
        let weights = [0.0, 1.0, 1.0];
        assert!(!problem.with_weights(&weights).unwrap().recedes(&along(6.0, 0.1)));
    }
}
