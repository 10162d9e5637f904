//! Smooth problems with many more rows than features, by a sample of the rows.

use fenchel_linalg::Design;
use fenchel_optim::MAX_MEMORY;
use fenchel_optim::Refusal;
use fenchel_optim::newton::{QuasiNewton, QuasiNewtonSettings};
use fenchel_optim::random::{Generator, stream};
use fenchel_optim::{
    Budget, Certificate, CertificateCost, Iterative, Loss, Observer, Regulariser, Solution, Status,
    Stop, run,
};

use crate::gap::Gap;
use crate::methods::hessian::{Sample, Variables, Weighted};
use crate::methods::smooth::{SmoothPart, point};
use crate::{Error, Point, Problem};
use fenchel_optim::settings;

/// The default number of rows to draw for each variable. By judgement: the Hessian of 40 `d` rows is that of all within some tens
/// of percent.
pub(crate) const ROWS_PER_VARIABLE: f64 = 40.0;
/// The least share of the rows that is drawn. By judgement.
const LEAST: f64 = 0.05;
/// The largest share that is drawn: beyond it the rows save little. By judgement.
const MOST: f64 = 0.4;
/// The relative gap to which the problem on the drawn rows is solved. More would not help, because their minimiser is not that of all
/// rows.
const ROUGH: f64 = 0.1;
/// The most passes over the drawn rows: a backstop, by judgement.
const ROUGH_PASSES: f64 = 100.0;

settings! {
    /// Settings of [`subsampled_newton`].
    pub struct SubsampledNewtonSettings {
        /// Rows to draw for each feature and the intercept, 5% of all at least and 40% at most.
        rows_per_variable: f64 = ROWS_PER_VARIABLE,
        /// Largest size of a Hessian and its factor, in bytes.
        max_memory: Option<u64> = MAX_MEMORY,
        /// Seed of the rows that are drawn.
        seed: u64 = 0,
        /// When to end; a pass is as much work as one product with the data and its transpose.
        stop: Stop = Stop::default(),
    }
}

/// The number of rows that [`subsampled_newton`] draws; `None` if that would be most of the rows.
pub(crate) fn sample_rows(rows: usize, variables: usize, per_variable: f64) -> Option<f64> {
    let rows = rows as f64;
    // Of less than one row there may be none.
    let count = f64::max(per_variable * variables as f64, LEAST * rows).max(1.0);
    (count <= MOST * rows).then_some(count)
}

/// Subsampled Newton on one problem: what an observer of [`subsampled_newton`] sees.
#[derive(Debug, Clone)]
pub struct SubsampledNewton<'p, 'a, D, L, R> {
    problem: &'p Problem<'a, D, L, R>,
    rows_per_variable: f64,
    settings: QuasiNewtonSettings,
    /// The limits of the whole run.
    budget: Budget,
    rng: Generator,
    at: At<'p, 'a, D, L, R>,
    /// The error of the first step. None is known to occur, because the problem was checked, and so are its parts.
    failed: Option<Error>,
}

#[derive(Debug, Clone)]
enum At<'p, 'a, D, L, R> {
    /// Where the run begins; `None` is the origin.
    Start(Option<Point>),
    Method(Box<QuasiNewton<SmoothPart<'p, 'a, D, L, R>>>),
}

/// Newton's method on a sample of the rows, then L-BFGS on all rows that begins with the Hessian of the sample. It is for twice
/// differentiable losses without regulariser (`l2 >= 0`) and many more rows than features.
///
/// Each row is drawn with a probability that grows with its leverage, and divided by this probability. The problem on the sample is
/// solved roughly. Then every step on all rows takes one pass. The Hessian of the sample is close enough to that of all rows that the
/// gradient falls to about a quarter in each step, for any conditioning. Every eight steps a new sample is drawn at the current point.
/// To a relative gap of 1e-6, for `l2` from `1/n` to `0.01/n`, the method took 7 to 10 passes on engine data, 9 to 14 on census data and
/// 23 to 49 on web pages, most of them for Hessians. From a given start the problem on the sample is not solved. The memory is two
/// Hessians and `6 n + 25 d` numbers. The certificate is a duality gap if `l2 > 0`, and the norm of the gradient otherwise.
///
/// References: Roosta-Khorasani and Mahoney, "Sub-sampled Newton methods", Mathematical Programming 174 (2019); Nocedal
/// and Wright, "Numerical Optimization" (2006), algorithm 7.4. The combination of the two is this library's.
///
/// [An example](crate::methods#example).
///
/// # Errors
/// [`Error::Refused`] for a loss with a kink, a regulariser that is not zero, or too little memory, before anything is allocated;
/// [`Error::Invalid`] for a start of another shape or settings out of range.
pub fn subsampled_newton<'p, 'a, D, L, R, O>(
    problem: &'p Problem<'a, D, L, R>,
    settings: &SubsampledNewtonSettings,
    start: Option<Point>,
    observer: &mut O,
) -> Result<Solution<Point>, Error>
where
    D: Design + Copy,
    L: Loss + Copy,
    R: Regulariser + Clone,
    O: Observer<SubsampledNewton<'p, 'a, D, L, R>>,
{
    let name = "subsampled_newton";
    let SubsampledNewtonSettings { rows_per_variable, max_memory, seed, stop } = *settings;
    let stop = problem.stop(&stop)?;
    fenchel_linalg::Invalid::check_positive("rows_per_variable", rows_per_variable)?;
    problem.check_twice_differentiable(name)?;
    problem.check_unpenalised(name)?;
    let needed = (problem.d() as u64 + 1).saturating_pow(2).saturating_mul(16);
    let hint = "use catalyst or lbfgs, which need no Hessian";
    Refusal::check_memory(name, needed, max_memory, hint)?;
    if let Some(start) = &start {
        problem.check_start(start)?;
    }
    let settings = QuasiNewtonSettings { stop, ..QuasiNewtonSettings::default() };
    let mut method = SubsampledNewton {
        problem,
        rows_per_variable,
        settings,
        rng: stream(seed, 0),
        budget: Budget::new(stop),
        at: At::Start(start),
        failed: None,
    };
    let report = run(&mut method, &stop, observer)?;
    match method.failed {
        Some(error) => Err(error),
        None => {
            let state = method.point();
            Ok(Solution { report: problem.judged(report, &state), state })
        }
    }
}

impl<D: Design + Copy, L: Loss + Copy, R: Regulariser + Clone> SubsampledNewton<'_, '_, D, L, R> {
    /// The current point.
    pub fn point(&self) -> Point {
        let d = self.problem.d();
        match &self.at {
            At::Start(start) => start.clone().unwrap_or_else(|| Point::zero(d)),
            At::Method(method) => point(d, method.point()),
        }
    }

    fn variables(&self) -> usize {
        self.problem.d() + usize::from(self.problem.intercept())
    }

    /// Draws rows, solves the problem on them if there is no start, and prepares L-BFGS. Returns its cost in passes.
    fn begin(&mut self) -> Result<f64, Error> {
        let At::Start(start) = &mut self.at else { return Ok(0.0) };
        let mut start = start.take();
        let problem = self.problem;
        let mut passes = 0.0;
        let mut sample = None;
        if let Some(count) = sample_rows(problem.n(), self.variables(), self.rows_per_variable) {
            let drawn = draw(problem, start.as_ref(), count, self.rng.clone());
            passes += if start.is_some() { 1.5 } else { 1.0 };
            // Without l2 the sample may be separable, and its solution at infinity.
            if start.is_none() && problem.l2() > 0.0 {
                let (point, cost) = solve_roughly(problem, &drawn.rows, self.budget.left())?;
                start = Some(point);
                passes += cost;
            }
            sample = Some(drawn);
        }
        let (mut function, x) = SmoothPart::new(problem, start)?;
        if let Some(sample) = sample {
            function = function.sampled(sample);
        }
        self.at = At::Method(Box::new(QuasiNewton::new(function, &self.settings, x)?));
        Ok(passes)
    }
}

/// About `count` rows, by their leverage at `start`.
fn draw<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    start: Option<&Point>,
    count: f64,
    rng: Generator,
) -> Sample {
    let mut margins = vec![0.0; problem.n()];
    if let Some(start) = start {
        problem.margins(start, &mut margins);
    }
    let mut h = vec![0.0; problem.n()];
    problem.seconds(&margins, 1.0 / problem.n() as f64, &mut h);
    let set: Vec<usize> = (0..problem.d()).collect();
    let l2 = problem.l2();
    let variables = Variables { set: &set, intercept: problem.intercept(), l2 };
    Sample::draw(problem.design(), &h, variables, count, rng)
}

/// The stopping rule for rows that are this share of the data, with these limits left for all.
fn rough_stop(share: f64, left: Stop) -> Stop {
    let max_passes = ROUGH_PASSES.min(left.max_passes / share.max(f64::MIN_POSITIVE));
    Stop { max_passes, max_seconds: left.max_seconds, ..Stop::at_relative(ROUGH) }
}

/// The problem on these rows alone, solved to [`ROUGH`], and its cost in passes over all rows.
fn solve_roughly<D: Design + Copy, L: Loss + Copy, R: Regulariser + Clone>(
    problem: &Problem<'_, D, L, R>,
    rows: &Weighted,
    left: Stop,
) -> Result<(Point, f64), Error> {
    let index: Vec<usize> = rows.iter().map(|&(i, _)| i).collect();
    let targets: Vec<f64> = index.iter().map(|&i| problem.targets()[i]).collect();
    let weights: Vec<f64> = rows.iter().map(|&(i, w)| w * problem.term_weight(i)).collect();
    let rows = &problem.design().subset(&index);
    let part = problem.on_rows((&index, rows), &targets, problem.regulariser().clone())?;
    let part = part.with_weights(&weights)?;
    let share = part.design().stored() as f64 / problem.design().stored().max(1) as f64;
    let stop = rough_stop(share, left);
    let (function, x) = SmoothPart::new(&part, None)?;
    let settings = QuasiNewtonSettings { stop, ..QuasiNewtonSettings::default() };
    let solution = fenchel_optim::newton::quasi_newton(function, &settings, x, &mut ())?;
    Ok((point(problem.d(), &solution.state), share * solution.report.passes))
}

impl<D: Design + Copy, L: Loss + Copy, R: Regulariser + Clone> Iterative
    for SubsampledNewton<'_, '_, D, L, R>
{
    /// One step, whatever it costs. The first one works on the sample.
    fn advance(&mut self, passes: f64) -> f64 {
        match &mut self.at {
            At::Method(method) => method.advance(passes),
            At::Start(_) => match self.begin() {
                Ok(passes) => passes,
                Err(error) => {
                    self.failed = Some(error);
                    1.0
                }
            },
        }
    }

    fn certify(&mut self) -> Certificate {
        match &mut self.at {
            At::Method(method) => method.certify(),
            At::Start(_) => Gap::new(self.problem).at(self.problem, &self.point()),
        }
    }

    /// No certificate is computed for the origin.
    fn certificate_cost(&self) -> CertificateCost {
        match &self.at {
            At::Start(None) => CertificateCost::Estimated(f64::INFINITY),
            At::Start(Some(_)) => CertificateCost::Free,
            At::Method(method) => method.certificate_cost(),
        }
    }

    /// Accepted steps.
    fn oracle_calls(&self) -> u64 {
        match &self.at {
            At::Start(_) => 0,
            At::Method(method) => method.oracle_calls(),
        }
    }

    fn verdict(&self) -> Option<Status> {
        match &self.at {
            At::Start(_) => self.failed.as_ref().map(|_| Status::Stalled),
            At::Method(method) => method.verdict(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_for_all_rows_limits_the_beginning() {
        let left = Stop { max_passes: 6.0, max_seconds: Some(2.5), ..Stop::default() };
        let stop = rough_stop(0.25, left);
        assert_eq!((stop.max_passes, stop.max_seconds, stop.relative), (24.0, Some(2.5), ROUGH));
        assert_eq!(rough_stop(1e-3, left).max_passes, ROUGH_PASSES);
    }
}
