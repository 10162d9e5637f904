//! Which method for which problem: a cost model in passes, evaluated once before the start.

use fenchel_linalg::{Columns, Design};
use fenchel_optim::{Loss, Regulariser, Stop};

use crate::Problem;

/// Memory that a choice may spend on a Hessian or on a copy by columns, in bytes.
const MEMORY: u64 = 4 << 30;

/// What L-BFGS is predicted to need: a round number for badly conditioned problems, the only ones it is for.
const LBFGS_PASSES: f64 = 400.0;

/// What an estimator runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// (Accelerated) dual coordinate ascent.
    Catalyst,
    /// Proximal Newton.
    Newton,
    /// L-BFGS: no regulariser, many features.
    Lbfgs,
}

/// Chooses by the conditioning `beta = n mu / mean L_i`, the cost `K` of a Newton step in passes, and the
/// passes `P` that Catalyst is predicted to need.
///
/// The thresholds were measured on web pages, census, text and engine data (passes to 1e-6):
/// `P = 6, 10, 20` for `beta >= 2, 0.1, 0.005`, growing like `1 / sqrt(beta)` from 60 below. A pass of
/// Catalyst on short rows costs about two batch passes, for its exponentials.
pub(super) fn choose<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    l1: f64,
    quadratic: bool,
    stop: &Stop,
) -> Choice {
    let design = problem.design();
    let (n, d, stored) = (problem.n() as f64, problem.d() as f64, design.stored().max(1) as f64);
    let mean = problem.loss().curvature() * problem.mean_norm_squared();
    let beta = if mean > 0.0 { n * problem.strong_convexity() / mean } else { f64::INFINITY };
    if l1 > 0.0 {
        let affordable = Columns::bytes(design) <= MEMORY;
        return if beta < 1.0 && affordable { Choice::Newton } else { Choice::Catalyst };
    }
    let squares: f64 = (0..problem.n()).map(|i| (design.row_stored(i) as f64).powi(2)).sum();
    let step = 1.0 + squares / (4.0 * stored) + d * d * d / (6.0 * stored);
    // A quadratic loss is its own model.
    let newton = step
        * if quadratic {
            2.0
        } else if many_rows(problem) {
            3.5
        } else {
            7.0
        };
    let affordable = 16.0 * (d + 1.0) * (d + 1.0) <= MEMORY as f64;
    let decades = if stop.relative > 0.0 { -stop.relative.log10() } else { 12.0 };
    let catalyst = decades / 6.0
        * if beta >= 2.0 {
            6.0
        } else if beta >= 0.1 {
            10.0
        } else if beta >= 0.005 {
            20.0
        } else {
            60.0 * (0.005 / beta.max(1e-300)).sqrt()
        };
    let pass = if stored / n < 30.0 { 2.0 } else { 1.3 };
    let mut best = (LBFGS_PASSES, Choice::Lbfgs);
    if problem.strong_convexity() > 0.0 && pass * catalyst < best.0 {
        best = (pass * catalyst, Choice::Catalyst);
    }
    if affordable && newton <= best.0 {
        best = (newton, Choice::Newton);
    }
    best.1
}

/// Whether a tenth of the rows says nearly as much as all: the case for a head start on them.
pub(super) fn many_rows<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
) -> bool {
    problem.n() >= 200 * problem.d()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Logistic;
    use fenchel_linalg::Dense;
    use fenchel_optim::prox::Zero;
    use ndarray::Array2;

    /// Unit rows with `d` features; `beta` is given by l2.
    fn chosen(n: usize, d: usize, beta: f64, l1: f64) -> Choice {
        let x = Array2::from_elem((n, d), 1.0 / (d as f64).sqrt());
        let y = vec![1.0; n];
        let l2 = 0.25 * beta / n as f64;
        let problem = Problem::new(Dense::new(x.view()).unwrap(), &y, Logistic, Zero, l2).unwrap();
        choose(&problem, l1, false, &Stop::at_relative(1e-6))
    }

    #[test]
    fn small_or_badly_conditioned_problems_go_to_newton() {
        // The shape of ijcnn1 (22 features, 13 a row): Newton wins below n l2 = L.
        assert_eq!(chosen(5000, 13, 4.0, 0.0), Choice::Catalyst);
        assert_eq!(chosen(5000, 13, 0.4, 0.0), Choice::Newton);
        assert_eq!(chosen(5000, 13, 0.04, 0.0), Choice::Newton);
        // 300 features a row: a Hessian costs 75 passes.
        assert_eq!(chosen(500, 300, 0.4, 0.0), Choice::Catalyst);
        assert_eq!(chosen(500, 100, 1e-9, 0.0), Choice::Newton);
        // Beyond 400 passes for a few Hessians, L-BFGS may as well try.
        assert_eq!(chosen(500, 300, 1e-9, 0.0), Choice::Lbfgs);
        assert_eq!(chosen(50, 20, 0.0, 0.0), Choice::Newton);
    }

    #[test]
    fn l1_goes_to_newton_unless_the_dual_is_well_conditioned() {
        assert_eq!(chosen(500, 30, 0.0, 0.1), Choice::Newton);
        assert_eq!(chosen(500, 30, 2.0, 0.1), Choice::Catalyst);
    }

    #[test]
    fn many_features_without_regulariser_go_to_lbfgs() {
        // A Hessian of order 3000 is affordable, and still dearer than any number of passes over two rows.
        let x = Array2::from_elem((2, 3_000), 1.0);
        let problem =
            Problem::new(Dense::new(x.view()).unwrap(), &[1.0, -1.0], Logistic, Zero, 0.0).unwrap();
        assert_eq!(choose(&problem, 0.0, false, &Stop::default()), Choice::Lbfgs);
    }
}
