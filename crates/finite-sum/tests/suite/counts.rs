//! Poisson regression on many sparse columns: the optimum of a dense Newton method that is written out here, from hard starts too.

use crate::common::{data, distance};
use fenchel_finite_sum::prelude::{Status, Stop};
use fenchel_finite_sum::{Fit, Method, PoissonModel, PoissonRegressor};
use fenchel_linalg::CsrMatrix;
use ndarray::{Array1, Array2};

/// `mean_i w_i (exp(t_i) - y_i t_i) / mean w + (l2/2) ||x||^2`, the intercept last and not penalised.
fn objective(a: &Array2<f64>, y: &[f64], w: &[f64], l2: f64, x: &[f64]) -> f64 {
    let (d, total) = (a.ncols(), w.iter().sum::<f64>());
    let margin = |row: usize| a.row(row).iter().zip(x).map(|(a, x)| a * x).sum::<f64>() + x[d];
    let risk: f64 = (0..y.len()).map(|i| w[i] * (margin(i).exp() - y[i] * margin(i))).sum();
    risk / total + 0.5 * l2 * x[..d].iter().map(|x| x * x).sum::<f64>()
}

/// Newton's method with Gaussian elimination and halved steps, until a step lowers the objective no more.
fn reference(a: &Array2<f64>, y: &[f64], w: &[f64], l2: f64) -> (Vec<f64>, f64) {
    let (n, d) = a.dim();
    let total: f64 = w.iter().sum();
    let mut x = vec![0.0; d + 1];
    x[d] = (y.iter().zip(w).map(|(y, w)| y * w).sum::<f64>() / total).ln();
    let mut value = objective(a, y, w, l2, &x);
    for _ in 0..200 {
        let mut h = Array2::<f64>::zeros((d + 1, d + 2));
        for i in 0..n {
            let row: Vec<f64> = a.row(i).iter().copied().chain([1.0]).collect();
            let mean = row.iter().zip(&x).map(|(a, x)| a * x).sum::<f64>().exp();
            for j in (0..=d).filter(|&j| row[j] != 0.0) {
                for k in 0..=d {
                    h[[j, k]] += w[i] / total * mean * row[j] * row[k];
                }
                h[[j, d + 1]] -= w[i] / total * (mean - y[i]) * row[j];
            }
        }
        for j in 0..d {
            h[[j, j]] += l2;
            h[[j, d + 1]] -= l2 * x[j];
        }
        for j in 0..=d {
            for i in (0..=d).filter(|&i| i != j) {
                let factor = h[[i, j]] / h[[j, j]];
                if factor != 0.0 {
                    for k in j..d + 2 {
                        h[[i, k]] -= factor * h[[j, k]];
                    }
                }
            }
        }
        let at = |scale: f64| -> Vec<f64> {
            (0..=d).map(|j| x[j] + scale * h[[j, d + 1]] / h[[j, j]]).collect()
        };
        let lower = |k: i32| {
            let there = at(0.5f64.powi(k));
            let below = objective(a, y, w, l2, &there);
            (below < value).then_some((there, below))
        };
        let Some(step) = (0..40).find_map(lower) else { break };
        (x, value) = step;
    }
    (x, value)
}

/// A design, and its counts: four entries a row, no column empty.
fn counts(
    (n, d): (usize, usize),
    scale: f64,
    mean: f64,
) -> (CsrMatrix<f64>, Array2<f64>, Vec<f64>) {
    let data = data(n, d, 4.0 / d as f64, 31);
    let (mut dense, mut sparse) = (data.dense, data.sparse);
    let size = |c: usize| if c.is_multiple_of(2) { scale } else { 1.0 };
    dense.indexed_iter_mut().for_each(|((_, c), a)| *a *= 3.0 * size(c));
    for mut row in sparse.outer_iterator_mut() {
        row.iter_mut().for_each(|(c, a)| *a *= 3.0 * size(c));
    }
    let y = data.reals.iter().enumerate();
    let y = y.map(|(i, t)| (mean * (4.0 * t).exp() * (1.0 + 0.5 * (i as f64).sin())).round());
    (sparse, dense, y.collect())
}

fn fit() -> PoissonRegressor {
    PoissonRegressor { l2: 0.01, stop: Stop::at_relative(1e-10), ..Default::default() }
}

/// Converged, by products with the Hessian, at the optimum.
fn check(model: &PoissonModel, expected: (&[f64], f64), value: impl Fn(&[f64]) -> f64, l2: f64) {
    let choice = model.choice.as_ref().unwrap();
    assert_eq!((choice.method, choice.switched), (Method::NewtonCg, None), "{choice}");
    assert_eq!(model.report.status, Status::Converged, "{}", model.report);
    let x: Vec<f64> = model.weights.iter().copied().chain([model.intercept]).collect();
    let (found, best) = (value(&x), expected.1);
    // A gap of 1e-10 of the objective, and the rounding of the reference.
    let gap = 1e-10 * best.abs().max(1.0);
    assert!((found - best).abs() <= 2.0 * gap, "{found} {best}");
    if l2 > 0.0 {
        // (l2/2) ||x - x*||^2 is at most the gap.
        let d = model.weights.len();
        assert!(distance(&x[..d], &expected.0[..d]) <= (4.0 * gap / l2).sqrt());
    }
}

#[test]
fn many_sparse_columns_end_at_the_optimum() {
    let (sparse, dense, y) = counts((400, 120), 1.0, 3.0);
    let exposures: Vec<f64> = (0..400).map(|i| 0.5 + f64::from(i % 4)).collect();
    let rates: Vec<f64> = y.iter().zip(&exposures).map(|(y, e)| y / e).collect();
    for l2 in [0.01, 1e-4] {
        let fit = PoissonRegressor { l2, ..fit() };
        let (x, best) = reference(&dense, &y, &[1.0; 400], l2);
        let value = |x: &[f64]| objective(&dense, &y, &[1.0; 400], l2, x);
        let model = fit.fit(&sparse, &y).unwrap();
        check(&model, (&x, best), value, l2);
        // From where it ended there is nothing to do.
        assert_eq!(fit.fit_with(&sparse, &y, Fit::new().start(&model)).unwrap().report.passes, 0.0);
        let (x, best) = reference(&dense, &rates, &exposures, l2);
        let value = |x: &[f64]| objective(&dense, &rates, &exposures, l2, x);
        check(
            &fit.fit_with(&sparse, &rates, Fit::new().weights(&exposures)).unwrap(),
            (&x, best),
            value,
            l2,
        );
    }
}

/// Every count above 0, so that there is a minimum without l2.
#[test]
fn no_penalty_is_needed() {
    let (sparse, dense, mut y) = counts((400, 120), 1.0, 3.0);
    y.iter_mut().for_each(|y| *y += 1.0);
    let stop = Stop { absolute: 1e-9, relative: 0.0, ..Stop::default() };
    let model = PoissonRegressor { l2: 0.0, stop, ..fit() }.fit(&sparse, &y).unwrap();
    let expected = reference(&dense, &y, &[1.0; 400], 0.0);
    let value = |x: &[f64]| objective(&dense, &y, &[1.0; 400], 0.0, x);
    check(&model, (&expected.0, expected.1), value, 0.0);
}

/// Counts in the ten thousands, every second feature a thousand times as large, and starts whose means are far off on either side.
#[test]
fn hard_starts_end_at_the_same_optimum() {
    let (sparse, dense, y) = counts((400, 120), 1e3, 800.0);
    assert!(y.iter().any(|y| *y >= 1e4), "{:?}", y.iter().copied().fold(0.0, f64::max));
    let (x, best) = reference(&dense, &y, &[1.0; 400], 0.01);
    let value = |x: &[f64]| objective(&dense, &y, &[1.0; 400], 0.01, x);
    let model = fit().fit(&sparse, &y).unwrap();
    check(&model, (&x, best), value, 0.01);
    for push in [-3.0, 3.0] {
        let weights = Array1::from_iter(
            (0..120usize)
                .map(|c| push * (c as f64).sin() / if c.is_multiple_of(2) { 1e3 } else { 1.0 }),
        );
        let start = PoissonModel { weights, intercept: 5.0 * push, ..model.clone() };
        check(
            &fit().fit_with(&sparse, &y, Fit::new().start(&start)).unwrap(),
            (&x, best),
            value,
            0.01,
        );
    }
}
