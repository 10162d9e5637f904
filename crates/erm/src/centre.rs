//! Problems with an intercept whose columns lie far from 0.
//!
//! With an unpenalised intercept, a column `a` and `a - m` pose the same problem:
//!
//! ```text
//! a.w + b = (a - m).w + (b + m.w)
//! ```
//!
//! [`auto`](mod@crate::auto), paths and cross-validation solve it on a copy in which such columns are centred, and say of the answer
//! what is true on the columns as they were given. Methods called by name work on the columns as they are.

use fenchel_linalg::{Centred, Design, far_columns};
use fenchel_optim::{Certificate, Loss, Regulariser, Report, Status, Stop};

use crate::multiclass::{MulticlassPoint, MulticlassProblem};
use crate::{Point, Problem};

/// Runs an expression on the view of a centred copy, which is dense or sparse.
#[macro_export]
#[doc(hidden)]
macro_rules! on_centred {
    ($centred:expr, $view:ident => $body:expr) => {
        match $centred.view()? {
            $crate::parts::CentredView::Dense($view) => $body,
            $crate::parts::CentredView::Sparse($view) => $body,
        }
    };
}

/// `m.w` of a weight vector whose entries lie `stride` apart.
fn shift(centred: &Centred, weights: &[f64], stride: usize) -> f64 {
    centred.far().iter().map(|far| far.mean * weights[far.column * stride]).sum()
}

/// The certificate and the status of a centred problem, for the columns as they were given: with the objective there, and
/// what rounding does to it.
fn restated(report: Report, objective: f64, rounding: f64, stop: &Stop) -> Report {
    let certificate = match report.certificate {
        Certificate::Gap { lower_bound, rounding: own, .. } => {
            Certificate::gap_within(objective, lower_bound, own + rounding)
        }
        Certificate::Residual { norm, error, scale, .. } => {
            let residual = Certificate::residual(objective, norm, error);
            scale.map_or(residual, |scale| residual.on_scale(scale))
        }
        Certificate::Uncertified { .. } => {
            Certificate::Uncertified { objective: Some(objective).filter(|f| f.is_finite()) }
        }
    };
    // The margins have the rounding of the offset: it may be more than the tolerance.
    let lost = report.status == Status::Converged && !stop.met_by(&certificate);
    let status = if lost { Status::Stalled } else { report.status };
    Report { certificate, status, ..report }
}

impl<D: Design, L: Loss, R: Regulariser> Problem<'_, D, L, R> {
    /// A copy in which the columns that lie far from 0 are centred; `None` where there is no intercept or no such column, or where
    /// the copy would take more than `max_memory` bytes. Then read the entries of 64 rows.
    pub fn centred(&self, max_memory: Option<u64>) -> Option<Centred> {
        if !self.intercept() {
            return None;
        }
        let far = far_columns(self.design(), self.scales.as_deref());
        Centred::new(self.design(), far, max_memory)
    }

    /// The point of the problem on the centred copy that has the same margins.
    pub fn into_centred(&self, centred: &Centred, mut point: Point) -> Point {
        point.intercept += shift(centred, &point.weights, 1);
        point
    }

    /// The point with the same margins as one of the problem `on` the centred copy, which may have another penalty, and what its
    /// report says of it here. Half a pass.
    pub fn out_of_centred<E: Design, S: Regulariser>(
        &self,
        centred: &Centred,
        on: &Problem<'_, E, L, S>,
        stop: &Stop,
        (mut point, report): (Point, Report),
    ) -> (Point, Report) {
        point.intercept -= shift(centred, &point.weights, 1);
        let mut margins = vec![0.0; self.n()];
        self.margins(&point, &mut margins);
        let penalty = on.quadratic(&point.weights) + on.regulariser().value(&point.weights);
        let objective = self.sum_values(&margins) / self.n() as f64 + penalty;
        let far = centred.far().iter().map(|far| (far.mean * point.weights[far.column]).abs());
        // Each margin is a sum of these terms, known up to a unit in the last place each.
        let size = point.intercept.abs() + far.sum::<f64>();
        let error = 4.0 * f64::EPSILON * size;
        // A convex loss is steepest at an end; a kink may lie between the ends.
        let slope = |i: usize, t: f64| self.derivative(i, t).abs();
        let slopes = margins.iter().enumerate();
        let slopes = slopes.map(|(i, t)| slope(i, t - error).max(slope(i, t + error)));
        let rounding = error * slopes.sum::<f64>() / self.n() as f64;
        (point, restated(report, objective, rounding, stop))
    }
}

impl<D: Design, R: Regulariser> MulticlassProblem<'_, D, R> {
    /// As [`Problem::centred`].
    pub fn centred(&self, max_memory: Option<u64>) -> Option<Centred> {
        if !self.intercepts() {
            return None;
        }
        let far = far_columns(self.design(), self.scales());
        Centred::new(self.design(), far, max_memory)
    }

    /// As [`Problem::into_centred`].
    pub fn into_centred(&self, centred: &Centred, mut point: MulticlassPoint) -> MulticlassPoint {
        for (k, b) in point.intercepts.iter_mut().enumerate() {
            *b += shift(centred, &point.weights[k..], self.classes());
        }
        point
    }

    /// As [`Problem::out_of_centred`], of the problem with the same penalty.
    pub fn out_of_centred(
        &self,
        centred: &Centred,
        stop: &Stop,
        (mut point, report): (MulticlassPoint, Report),
    ) -> (MulticlassPoint, Report) {
        let r = self.classes();
        for (k, b) in point.intercepts.iter_mut().enumerate() {
            *b -= shift(centred, &point.weights[k..], r);
        }
        let mut scores = vec![0.0; self.n() * r];
        self.scores(&point, &mut scores);
        let objective = self.smooth_objective_at(&scores, &point.weights)
            + self.regulariser().value(&point.weights);
        let far = centred.far().iter().flat_map(|far| {
            point.weights[far.column * r..][..r].iter().map(|w| (far.mean * w).abs())
        });
        // Each score is a sum of such terms, and no slope of a term exceeds 1.
        let size = point.intercepts.iter().map(|b| b.abs()).chain(far).sum::<f64>();
        (point, restated(report, objective, 4.0 * f64::EPSILON * size, stop))
    }
}
