//! Predicts, by the bounds of the theory, which method reaches the tolerance at the least cost.
//!
//! | method | fields or steps to a gap `e` | cost of one, in units of about a nanosecond |
//! |---|---|---|
//! | [`mirror_pdhg`](fn@crate::methods::mirror_pdhg) | `0.03 a / e` | two products and `(n + d) k` exponentials |
//! | restarted PDHG | `0.25 b ln(P(0)/e)^2`, `b = R norm2(X) / sqrt(n)` | two products and `(n + d) k` projections |
//! | sublinear, hinge and l1 norm only | `(0.2 s / e)^2` | `n + d + k` entries with exponentials |
//!
//! Here `n`, `d` and `k` are the numbers of rows, features and classes. `a = L sqrt(Omega_U Omega_V)` and `s` are the
//! constants of the bounds `O(a/T)` and `O(s/sqrt(T))` after `T` steps. `R` is the radius, and `P(0)` the objective
//! without weights. The formula for PDHG comes from sharpness: the number of restarts and their length grow with the
//! number of digits, in units of `b`.
//!
//! The bounds are for the worst case. The factors in front of them were measured on generated problems (uniform
//! features in 5 and in 100 classes, correlated features in 10, wine and handwritten digits). The measured factors
//! were 0.01 to 0.05 for the first method, 0.15 to 0.45 for the second, and 0.05 to 0.6 for the third.
//!
//! The predictions are trusted in three cases: if costs within the time limit differ by an order of magnitude, if
//! many digits are compared with a few, and if samples are compared with products of whole matrices. Otherwise they
//! cannot rank the two methods that use whole matrices, because they ignore how much of a matrix stays 0, and how far
//! the mirror method's start is from good weights. Then the two methods run in turns until one is ahead (`race.rs`).
//! If PDHG is predicted to need less than a moment (0.3 seconds), it is chosen without a comparison. Its weights are
//! sparse, while small weights of the other two methods have to be removed afterwards.

use fenchel_optim::{Refusal, Stop};

use super::settings::Solver;
use crate::Error;
use crate::methods::steps::Bilinear;
use crate::multiclass::{HingeBilinear, Multiclass, MulticlassLoss, Primal};
use crate::problem::SaddleProblem;

/// The number of cost units that a machine is assumed to execute per second, for time limits.
const UNITS: f64 = 1e9;

/// The cost below which PDHG is chosen without a comparison.
const MOMENT: f64 = 3e8;

/// Predicted costs are trusted if their ratio is at least this. The factors in front of the bounds vary by up to five
/// for each method.
const APART: f64 = 10.0;

/// The sublinear method reads shifted sparse data from dense copies. Beyond this number of bytes it is not chosen.
const COPIES: f64 = 1e9;

/// Chooses the method for a problem. `None` stands for a race of PDHG and the mirror method.
pub(super) fn choose(
    solver: Solver,
    problem: &Multiclass,
    stop: &Stop,
) -> Result<Option<Solver>, Error> {
    let hinge = problem.loss() == MulticlassLoss::Hinge;
    let entries = problem.geometry().primal == Primal::Entries;
    let unsupported = |method, what: &str| Err(Refusal::unsupported(method, what).into());
    match solver {
        Solver::Auto => cheapest(problem, stop),
        Solver::Sublinear if !hinge => unsupported("the sublinear method", "the softmax loss"),
        Solver::Sublinear if !entries => unsupported("the sublinear method", "the norm of rows"),
        Solver::Pdhg if !hinge => unsupported("pdhg", "the softmax loss"),
        other => Ok(Some(other)),
    }
}

/// The predicted cost of a method as a function of the gap.
struct Prediction {
    solver: Solver,
    /// The cost of reaching a gap.
    cost: Box<dyn Fn(f64) -> f64>,
}

/// Returns the cheapest method for the tolerance. If all methods would reach the time limit before, it is the method
/// with the least gap at that time, provided that this gap is less than that of zero weights. `None` stands for a
/// race.
fn cheapest(problem: &Multiclass, stop: &Stop) -> Result<Option<Solver>, Error> {
    let at_zero = problem.loss().at_zero(problem.samples().classes());
    let wanted = stop.tolerance(Some(at_zero)).clamp(1e-9 * at_zero, at_zero);
    let predictions = predictions(problem, at_zero)?;
    let exact = predictions.iter().find(|p| p.solver == Solver::Pdhg);
    let budget = stop.max_seconds.map_or(f64::INFINITY, |s| s * UNITS);
    if exact.is_some_and(|p| (p.cost)(wanted) <= MOMENT.min(budget)) {
        return Ok(Some(Solver::Pdhg));
    }
    let least = |gap: f64| {
        let costs = predictions.iter().map(|p| ((p.cost)(gap), p.solver));
        costs.min_by(|a, b| a.0.total_cmp(&b.0)).expect("there is one for every problem")
    };
    let mut gap = wanted;
    while least(gap).0 > budget && gap < 1e3 * at_zero {
        gap *= 1.25;
    }
    let (cost, cheapest) = least(wanted);
    let others = predictions.iter().filter(|p| p.solver != cheapest);
    let second = others.map(|p| (p.cost)(wanted)).fold(f64::INFINITY, f64::min);
    // Bounds that are so far apart, and within the budget, may be trusted.
    if cost <= budget && APART * cost <= second {
        return Ok(Some(cheapest));
    }
    let cheapest = least(gap).1;
    // A gap of `P(0)` and more is no promise: no weights at all have as much. Samples are then right only where products are too dear.
    let fits = predictions
        .iter()
        .any(|p| p.solver != Solver::Sublinear && (p.cost)(f64::INFINITY) <= budget);
    let samples = cheapest == Solver::Sublinear && (gap < at_zero || !fits);
    Ok(Some(cheapest).filter(|_| samples || exact.is_none()))
}

fn predictions(problem: &Multiclass, at_zero: f64) -> Result<Vec<Prediction>, Error> {
    let s = problem.samples();
    let (n, d, k) = (s.rows() as f64, s.features() as f64, s.classes() as f64);
    let entries = (n + d) * k;
    let products = 2.0 * s.stored() as f64 * k * if s.is_sparse() { 0.4 } else { 0.2 };
    let (scale, field) = (0.03 * problem.scale(), products + 10.0 * entries);
    let fields = move |gap: f64| (scale / gap).max(10.0) * field;
    let mut all = vec![Prediction { solver: Solver::MirrorPdhg, cost: Box::new(fields) }];
    if problem.loss() == MulticlassLoss::Hinge {
        let norm = HingeBilinear::new(problem)?.norm() * n.sqrt();
        let (length, field) = (0.25 * problem.radius() * norm, products + 10.0 * entries);
        let restarts = move |gap: f64| (at_zero / gap).ln().max(1.0).powi(2);
        let fields = move |gap: f64| (length * restarts(gap)).max(10.0) * field;
        all.push(Prediction { solver: Solver::Pdhg, cost: Box::new(fields) });
        let copies = 16.0 * n * d;
        if problem.geometry().primal == Primal::Entries && !(s.is_shifted() && copies > COPIES) {
            let row = if s.is_shifted() { d } else { s.stored() as f64 / n };
            let (noise, step) = (0.2 * problem.noise(), 4.0 * (n + row) + 2.0 * k);
            let steps = move |gap: f64| (noise / gap).powi(2).max(100.0) * step;
            all.push(Prediction { solver: Solver::Sublinear, cost: Box::new(steps) });
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::multiclass::Samples;
    use fenchel_linalg::{AsDesign, CsrMatrix};

    /// If no bound promises anything within the time limit, the methods with whole matrices race if the limit is
    /// enough for a few products, and else samples are used. Without a limit, bounds that are far apart are trusted.
    #[test]
    fn bounds_that_promise_nothing_are_not_believed() {
        let (rows, words, topics) = (3000, 50_000, 300);
        let (mut offsets, mut places) = (vec![0], vec![]);
        for j in 0..rows {
            let place = |i: usize| {
                let u = ((j * 7919 + i * 104_729) % 10_007) as f64 / 10_007.0;
                (words as f64 * u.powi(4)) as u32
            };
            let mut row: Vec<u32> = (0..80).map(place).collect();
            row.sort_unstable();
            row.dedup();
            places.extend(row);
            offsets.push(places.len());
        }
        let x = CsrMatrix::new((rows, words), offsets, places.clone(), vec![0.11; places.len()]);
        let y: Vec<usize> = (0..rows).map(|j| (j * j + 3) % topics).collect();
        let samples = Samples::new(&x.as_design().unwrap(), &y, topics, None).unwrap();
        let problem = Multiclass::new(&samples, MulticlassLoss::Hinge, 1e4, 1e-4).unwrap();
        let choice = |problem: &Multiclass, max_seconds, relative| {
            cheapest(problem, &Stop { max_seconds, relative, ..Stop::default() }).unwrap()
        };
        assert_eq!(choice(&problem, Some(10.0), 0.01), None);
        assert_eq!(choice(&problem, Some(0.5), 0.01), Some(Solver::Sublinear));
        assert_eq!(choice(&problem, None, 1e-7), Some(Solver::Pdhg));
        let softmax = Multiclass::new(&samples, MulticlassLoss::Softmax, 1e4, 1e-4).unwrap();
        assert_eq!(choice(&softmax, Some(10.0), 0.01), Some(Solver::MirrorPdhg));
    }
}
