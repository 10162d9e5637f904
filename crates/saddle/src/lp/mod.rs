//! Linear programs of small and medium size by restarted PDHG. Small ones are solved exactly, up to rounding.
//!
//! ```text
//! min c'x   subject to   A x = b (the first rows),  G x >= h (the rest),  l <= x <= u
//! ```
//!
//! The saddle point problem is `min_{l <= x <= u} max_y c'x + y'(b - A x)`, with `y >= 0` for inequalities. The
//! matrix is scaled by the method of Ruiz, and then by that of Pock and Chambolle. The result is an [`LpOutcome`]. It
//! is checked on the original data before it is returned:
//!
//! | outcome | what is checked |
//! |---|---|
//! | `Optimal` | feasibility of `x`, of the reduced costs, and the gap between `c'x` and the dual value, all relative to the data |
//! | `Infeasible` | a combination `y` of the constraints that no point in the box satisfies: its least violation is positive |
//! | `Unbounded` | a direction `r` of the recession cone with `c'r < 0`, and a feasible point |
//! | `Undecided` | nothing: a limit was reached first |
//!
//! A program of up to 300 rows and variables is solved at a vertex by the simplex method in two cases: PDHG has no
//! result after 4,000 steps, or its result has fewer digits than are possible. For larger programs, rays come from
//! two auxiliary programs that always have a solution. One minimises the violation of the constraints in the box, and
//! the other finds the steepest direction of recession in a bounded set. For large or degenerate programs, a
//! specialised solver such as HiGHS is the better tool.

mod checks;
mod finish;
mod program;
mod rays;
mod scaled;
mod simplex;

use fenchel_linalg::Invalid;
use fenchel_optim::{Certificate, Report, Status, Watch};

use self::finish::finish;
pub use self::program::{LinearProgram, LpOutcome, LpSettings, LpSolution};
use self::rays::{infeasible, unbounded};
use self::scaled::solve;
use crate::Error;

/// Errors of the optimality conditions below this are attributed to rounding.
const ROUNDING: f64 = 1e-12;

/// Solves a linear program, or proves that it has no solution.
///
/// ```
/// use fenchel_saddle::{LinearProgram, LpOutcome, LpSettings, linear_program};
/// use ndarray::array;
///
/// // min -x - 2y  with  x + y <= 4,  x <= 3,  x, y >= 0
/// let program = LinearProgram::new(&array![-1.0, -2.0])?
///     .at_least(array![[-1.0, -1.0]].view(), &array![-4.0])?
///     .within(&array![0.0, 0.0], &array![3.0, f64::INFINITY])?;
/// match linear_program(&program, &LpSettings::default())?.outcome {
///     LpOutcome::Optimal { objective, .. } => assert!((objective + 8.0).abs() < 1e-6),
///     other => panic!("{other:?}"),
/// }
/// # Ok::<(), fenchel_saddle::Error>(())
/// ```
///
/// # Errors
/// [`Error::Invalid`] for settings out of range.
pub fn linear_program(program: &LinearProgram, settings: &LpSettings) -> Result<LpSolution, Error> {
    linear_program_with(program, settings, Watch::nobody())
}

/// As [`linear_program`], with a closure that is called after every pass. After `Break` what is not yet decided stays undecided.
///
/// # Errors
/// As [`linear_program`].
pub fn linear_program_with(
    program: &LinearProgram,
    settings: &LpSettings,
    mut watch: Watch,
) -> Result<LpSolution, Error> {
    let watch = &mut watch;
    Invalid::check_positive("tolerance", settings.tolerance)?;
    if settings.tolerance >= 1.0 {
        // It is relative: with 1 and more anything would be optimal.
        let (value, expected) = (settings.tolerance, "a number below 1, since it is relative");
        return Err(Invalid::Parameter { name: "tolerance", value, expected }.into());
    }
    Invalid::check_positive("max_passes", settings.max_passes)?;
    // Most programs with a solution are solved in a few thousand steps. Then rays are looked for, then the rest is spent.
    let first = settings.max_passes.min(4000.0);
    let (x, y, mut report) = solve(program, settings, first, watch)?;
    let optimal = |x: Vec<f64>, y: Vec<f64>, report: Report| {
        let objective = program.cost.iter().zip(&x).map(|(c, x)| c * x).sum();
        let certificate = Certificate::residual(objective, program.error(&x, &y), 0.0);
        let report = Report { status: Status::Converged, certificate, ..report };
        LpSolution { outcome: LpOutcome::Optimal { x, y, objective }, report }
    };
    // What a proof leaves open, in place of the error of a point that is none.
    let proved = |outcome: LpOutcome, report: Report| {
        let norm = match &outcome {
            LpOutcome::Infeasible { ray } => program.leak(ray),
            LpOutcome::Unbounded { x, ray } => program.departure(ray).max(program.violation(x)),
            _ => f64::NAN,
        };
        let certificate = Certificate::residual(None, norm, 0.0);
        let report = Report { status: Status::Converged, certificate, ..report };
        LpSolution { outcome, report }
    };
    if report.status == Status::Stopped {
        return Ok(LpSolution { outcome: LpOutcome::Undecided, report });
    }
    // Small programs are finished at a vertex: what PDHG has not decided, and the last digits of what it has.
    let exact = report.status == Status::Converged
        && report.certificate.value() <= ROUNDING
        && program.closed(&x, &y, ROUNDING);
    let finished = if settings.polish && !exact { finish(program, settings) } else { None };
    if report.status == Status::Converged {
        return Ok(match finished {
            Some(LpOutcome::Optimal { x: at, y: by, .. })
                if program.error(&at, &by) < report.certificate.value() =>
            {
                optimal(at, by, report)
            }
            _ => optimal(x, y, report),
        });
    }
    match finished {
        Some(LpOutcome::Optimal { x, y, .. }) => return Ok(optimal(x, y, report)),
        Some(outcome) => return Ok(proved(outcome, report)),
        None => {}
    }
    let (ray, feasible, used) = infeasible(program, settings, watch)?;
    report = report.with_spent(used.as_ref());
    if let Some(ray) = ray {
        return Ok(proved(LpOutcome::Infeasible { ray }, report));
    }
    if let Some(x) = feasible.filter(|_| !watch.stopped()) {
        let (ray, used) = unbounded(program, settings, watch)?;
        report = report.with_spent(Some(&used));
        if let Some(ray) = ray {
            return Ok(proved(LpOutcome::Unbounded { x, ray }, report));
        }
    }
    if watch.stopped() {
        report.status = Status::Stopped;
    } else if settings.max_passes > first {
        let (x, y, last) = solve(program, settings, settings.max_passes, watch)?;
        let last = last.with_spent(Some(&report));
        if last.status == Status::Converged {
            return Ok(optimal(x, y, last));
        }
        report = last;
    }
    Ok(LpSolution { outcome: LpOutcome::Undecided, report })
}
