//! Where runs begin, and what the loss there says of the unit of the targets.

use fenchel_linalg::spread::checksum_of;
use fenchel_linalg::{Design, Invalid};
use fenchel_optim::scalar::increasing_root;
use fenchel_optim::{Loss, Regulariser, Stop};

use crate::shared::check_whole;
use crate::{Point, Problem};

impl<D: Design, L: Loss, R: Regulariser> Problem<'_, D, L, R> {
    /// Where a method begins: at 0, or at a start of the right shape, whose intercept counts only if the problem has one. From a far
    /// start a loss without a curvature bound overflows, or has slopes that no step can use: the origin is taken, if it is lower.
    pub(crate) fn start_point(&self, start: Option<Point>) -> Result<Point, Invalid> {
        if let Some(shards) = self.design().shards() {
            let numbers = |at: &Point| checksum_of(at.weights.iter().chain([&at.intercept]));
            let own = start.as_ref().map(numbers).unwrap_or_else(|| "none".to_owned());
            shards.communicator().check_alike("start", &own)?;
        }
        let mut point = start.unwrap_or_else(|| Point::zero(self.d()));
        self.check_start(&point)?;
        if !self.intercept() {
            point.intercept = 0.0;
        }
        let unbounded = self.loss().twice_differentiable() && !self.loss().curvature().is_finite();
        if unbounded && point.support() > 0 {
            let (mut margins, zero) = (vec![0.0; self.n()], origin(self));
            self.margins(&point, &mut margins);
            let here = self.objective_at(&margins, &point.weights);
            margins.fill(zero.intercept);
            if !(here <= self.objective_at(&margins, &zero.weights)) {
                return Ok(zero);
            }
        }
        Ok(point)
    }

    /// The stopping rule of a run on this problem, which no unit of the targets influences: of a gap, at most that multiple of the mean
    /// loss at the origin counts as [`Stop::absolute`]. A gap of 1e-12 is nothing beside a loss of 1, and all of a loss of 1e-18, as
    /// that of targets near 1e-9. O(n).
    ///
    /// # Errors
    /// Those of [`Stop::check`], and [`Invalid::Layout`] for rows that are spread over processes.
    pub fn stop(&self, stop: &Stop) -> Result<Stop, Invalid> {
        check_whole(self.design())?;
        self.batch_stop(stop)
    }

    /// What tells losses and penalties with other parameters apart: some of their values.
    fn checksum(&self) -> String {
        let losses = [-1e3, -1.0, -1e-3, 1e-3, 1.0, 1e3].map(|t| self.loss().value(t, 1.0));
        let proximal = [1e-3, 1.0, 1e3].map(|step| {
            let mut x: Vec<f64> = (0..self.d()).map(|c| [1.0, -1.0][c % 2]).collect();
            self.regulariser().prox(&mut x, step);
            x
        });
        checksum_of(losses.iter().chain(proximal.iter().flatten()))
    }

    /// The same for a method that takes rows which are spread over processes.
    pub(crate) fn batch_stop(&self, stop: &Stop) -> Result<Stop, Invalid> {
        if let Some(shards) = self.design().shards() {
            let (l2, intercept, weights) = (self.l2(), self.intercept(), self.weighted());
            let (loss, penalty, sum) = (L::NAME, R::NAME, self.checksum());
            stop.check_spread(
                Some(shards),
                format_args!("l2: {l2:?}, intercept: {intercept}, weights: {weights}, loss: {loss}, penalty: {penalty} (checksum {sum})"),
            )?;
        }
        stop.check()?;
        // Counts have no unit, and the losses of some cancel those of others.
        let counts = self.loss().twice_differentiable() && !self.loss().curvature().is_finite();
        if counts || !L::HAS_DUAL || !has_gap(self) {
            return Ok(*stop);
        }
        let loss = |t: f64| self.sum_values(&vec![t; self.n()]).abs() / self.terms();
        // The loss of targets that are all alike is a rounding error, the square of one at least.
        let unit = loss(origin(self).intercept).max(1e-16 * loss(0.0));
        let share = if unit > 0.0 { unit.min(1.0) } else { 1.0 };
        Ok(Stop { absolute: share * stop.absolute, ..*stop })
    }
}

/// Whether every dual point is feasible after scaling: without an l2 term that is up to the regulariser.
pub(crate) fn has_gap<D: Design, L: Loss, R: Regulariser>(problem: &Problem<'_, D, L, R>) -> bool {
    problem.l2() > 0.0 || problem.regulariser().coercive()
}

/// Where a run begins that is given no start: the origin, with the best intercept if there is one. From far off, weights would
/// do the work of the intercept first. O(n).
pub(crate) fn origin<D: Design, L: Loss, R: Regulariser>(problem: &Problem<'_, D, L, R>) -> Point {
    let mut point = Point::zero(problem.d());
    if problem.intercept() {
        point.intercept = best_shift(problem, &vec![0.0; problem.n()]);
    }
    point
}

/// The walk of [`best_shift`] ends here for a slope that is never 0 in floating point.
const FARTHEST: f64 = 1e100;

/// The `s` that minimises `sum_i phi_i(t_i + s)`. No pass over the design. It is 0 where the slopes promise a minimum at
/// infinity and the losses are higher there: such slopes are not those of the losses.
pub(crate) fn best_shift<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    margins: &[f64],
) -> f64 {
    let slope = |shift: f64| problem.sum_slopes(margins, shift);
    let (here, curvature) = slope(0.0);
    if here == 0.0 || !here.is_finite() {
        return 0.0;
    }
    // Walk against the slope until it changes its sign or vanishes: the losses are bounded below. With one
    // class the infimum lies at infinity; beyond 2^10 the slope of the logistic loss is 0 in floating point,
    // and any shift is as good. Piecewise linear losses may have to walk as far as their targets lie.
    let mut reach = (here / curvature).abs();
    if !(1e-8..1024.0).contains(&reach) {
        reach = 1.0;
    }
    let direction = -here.signum();
    while slope(direction * reach).0 * direction < 0.0 && reach < FARTHEST {
        reach *= 2.0;
    }
    if reach >= FARTHEST {
        let far: Vec<f64> = margins.iter().map(|t| t + direction * reach).collect();
        if !(problem.sum_values(&far) <= problem.sum_values(margins)) {
            return 0.0;
        }
    }
    let (low, high) = if direction > 0.0 { (0.0, reach) } else { (-reach, 0.0) };
    increasing_root(slope, low, high, direction * reach.min((here / curvature).abs()), 1e-15)
}
