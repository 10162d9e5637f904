//! Which method reaches the tolerance at the least cost, by the bounds of the theory, as far as they go.
//!
//! | method | fields or steps to a gap `e` | cost of one, in units of about a nanosecond |
//! |---|---|---|
//! | [`mirror_pdhg`](fn@crate::mirror_pdhg) | `0.03 a / e` | two products and `(n + d) k` exponentials |
//! | restarted PDHG | `0.25 b ln(P(0)/e)^2`, `b = R norm2(X) / sqrt(n)` | two products and `(n + d) k` projections |
//! | sublinear, hinge and l1 norm only | `(0.2 s / e)^2` | `n + d + k` entries with exponentials |
//!
//! `a = L sqrt(Omega_U Omega_V)` and `s` are the constants of the bounds `O(a/T)` and `O(s/sqrt(T))`. Restarts, whose number and length
//! grow with the digits, in units of `b`, are what sharpness promises. The bounds are for the worst case; the factors in front are what
//! generated problems took (uniform features in 5 and in 100 classes, correlated features in 10, wine and handwritten digits): 0.01 to
//! 0.05 for the first method, 0.15 to 0.45 for the second, 0.05 to 0.6 for the third.
//!
//! The bounds tell methods apart whose costs differ by an order of magnitude within the time limit, many digits from a few, and steps of
//! samples from steps of whole matrices. Closer than that, or beyond the limit, they do not tell the two methods on whole matrices from each other: how
//! much of a matrix stays 0, and how far the mirror method's start is from good weights, is not in them. Between these two a race decides
//! (`race.rs`). PDHG goes alone where it takes a moment only: its weights are sparse, those of the other two are thinned afterwards.

use fenchel_optim::Stop;

use super::Solver;
use crate::Error;
use crate::multiclass::{HingeBilinear, Multiclass, MulticlassLoss, Primal};
use crate::pdhg::Bilinear;
use crate::problem::SaddleProblem;

/// Units that a machine is assumed to do in a second, for time limits.
const UNITS: f64 = 1e9;

/// What a moment is: below it PDHG is not compared.
const MOMENT: f64 = 3e8;

/// Predicted costs with such a ratio tell methods apart: the factors in front of the bounds vary by up to five for each.
const APART: f64 = 10.0;

/// Fields or steps as a function of the gap, and their cost.
struct Prediction {
    solver: Solver,
    /// Cost of a gap.
    cost: Box<dyn Fn(f64) -> f64>,
}

/// The cheapest method to the tolerance. Where a time limit ends all of them before it, the one with the least gap by then, if that is less than
/// no weights have. `None` where a race has to tell.
pub(super) fn cheapest(problem: &Multiclass, stop: &Stop) -> Result<Option<Solver>, Error> {
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
        if problem.geometry().primal == Primal::Entries {
            let row = s.stored() as f64 / n;
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

    /// With a budget in which no bound promises anything, a few products decide: where they fit there is a race, else samples. With all the
    /// time there is, bounds that are far apart are trusted.
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
