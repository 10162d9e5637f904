//! Along a path: warm starts.

use std::sync::Arc;

use fenchel_linalg::{Columns, Design, Invalid};
use fenchel_optim::prox::L1;
use fenchel_optim::{Certificate, Loss, Refusal, Regulariser, Report, Status, run};

use super::method::{Newton, NewtonSettings};
use super::screening::{Candidates, Sphere};
use crate::gap::Gap;
use crate::{Error, Point, Problem};

/// The most certificates over all features at one penalty. If the last one misses the tolerance, the fit has stalled. By
/// judgement.
const ROUNDS: usize = 8;

/// What one problem of a path hands to the next.
#[derive(Debug, Clone)]
pub struct Warm {
    /// The solution of the last problem.
    pub point: Point,
    /// Margins, dual point and correlations of all features, at the point.
    pub gap: Gap,
    columns: Arc<Columns>,
}

impl Warm {
    /// The origin, with the best intercept. Copies the design by columns.
    ///
    /// # Errors
    /// [`Error::Refused`] for a loss with a kink, or for a copy larger than `max_memory` bytes.
    pub fn origin<D: Design, L: Loss, R: Regulariser>(
        problem: &Problem<'_, D, L, R>,
        max_memory: Option<u64>,
    ) -> Result<Self, Error> {
        let method = "path";
        problem.check_twice_differentiable(method)?;
        problem.check_smooth(method)?;
        let needed = Columns::bytes(problem.design());
        let hint = "a path works on a copy of the data by columns; fit single penalties instead";
        Refusal::check_memory(method, needed, max_memory, hint)?;
        let columns = Arc::new(Columns::new(problem.design())?);
        let mut point = Point::zero(problem.d());
        let mut gap = Gap::new(problem);
        gap.at_best_intercept(problem, &mut point);
        Ok(Warm { point, gap, columns })
    }

    /// `max |v_c|`: at this l1 weight and above the origin is optimal, if this is the start.
    pub fn largest_correlation(&self) -> f64 {
        self.gap.correlation.iter().fold(0.0, |largest: f64, v| largest.max(v.abs()))
    }

    /// Solves the problem from here. `before` is the l1 weight this is the solution for. Also returns the
    /// share of the features that were not looked at in the end.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a stopping rule that is out of range.
    pub fn solve<D: Design, L: Loss>(
        mut self,
        problem: &Problem<'_, D, L, L1>,
        settings: &NewtonSettings,
        sphere: Option<&Arc<Sphere>>,
        before: Option<f64>,
    ) -> Result<(Self, Report, f64), Error> {
        let whole = problem.stop(&settings.stop)?;
        let mut stop = whole;
        let l1 = problem.regulariser().strength;
        let guess = before.map_or(0.0, |before| 2.0 * l1 - before);
        let mut alive: Vec<usize> = (0..problem.d())
            .filter(|&c| self.point.weights[c] != 0.0 || self.gap.correlation[c].abs() >= guess)
            .collect();
        let (mut passes, mut seconds, mut steps) = (0.0, 0.0, 0);
        let mut rounds = 0;
        loop {
            let candidates = Candidates::new(alive, rounds == 0, sphere.cloned(), &self.columns);
            stop.max_passes = (whole.max_passes - passes).max(0.0);
            let columns = Arc::clone(&self.columns);
            let Warm { point, gap, .. } = self;
            let held = Arc::clone(&columns);
            let mut method = Newton::resume(problem, (point, gap), held, candidates, settings);
            let mut report = run(&mut method, &stop, &mut ())?;
            let (point, gap, candidates) = method.pause();
            self = Warm { point, gap, columns };
            passes += report.passes + 1.0;
            seconds += report.seconds;
            steps += report.oracle_calls;
            rounds += 1;
            // The certificate is the returned point's own, and looks at every feature.
            self.read_margins();
            self.gap.settle_intercept(problem, &mut self.point);
            report.certificate = self.certify_here(problem);
            let met = whole.met_by(&report.certificate);
            if met || report.status != Status::Converged || rounds == ROUNDS {
                report.status = match report.status {
                    _ if met => Status::Converged,
                    Status::Converged => Status::Stalled,
                    other => other,
                };
                let report = Report { passes, seconds, oracle_calls: steps, ..report };
                return Ok((self, report, candidates.dropped(problem.d())));
            }
            // A guess was wrong, or the dual point of the candidates was a little better than that of all.
            stop.relative *= 0.3;
            stop.absolute *= 0.3;
            alive = (0..problem.d()).collect();
        }
    }

    /// At another point. Half a pass.
    pub fn at<D: Design, L: Loss>(self, problem: &Problem<'_, D, L, L1>, point: Point) -> Self {
        let mut warm = Warm { point, ..self };
        warm.certify_here(problem);
        warm
    }

    /// Margins, dual point and correlations by the point and nothing else: what follows is the same wherever it came from.
    fn certify_here<D: Design, L: Loss>(&mut self, problem: &Problem<'_, D, L, L1>) -> Certificate {
        self.read_margins();
        self.gap.margins_certificate(problem, &self.point.weights)
    }

    /// What the sphere test needs.
    pub fn sphere<D: Design, L: Loss, R: Regulariser>(
        &self,
        problem: &Problem<'_, D, L, R>,
    ) -> Arc<Sphere> {
        Arc::new(Sphere::new(problem, &self.columns))
    }

    /// `A x + b`, by the columns of the support.
    fn read_margins(&mut self) {
        self.gap.margins.fill(self.point.intercept);
        for (c, &x) in self.point.weights.iter().enumerate().filter(|(_, x)| **x != 0.0) {
            self.columns.axpy(c, x, &mut self.gap.margins);
        }
    }
}

/// Checks the l1 weights of a path.
///
/// # Errors
/// [`Invalid`] for no weights, or for one that is not positive and finite.
pub fn check_grid(grid: &[f64]) -> Result<(), Invalid> {
    if grid.is_empty() {
        return Err(Invalid::Empty { what: "grid of penalties" });
    }
    grid.iter().try_for_each(|&penalty| Invalid::check_positive("penalty of the grid", penalty))
}
