//! Covariances, implicit steps, and data without an answer.

use fenchel_linalg::CsrMatrix;
use fenchel_optim::Status;
use ndarray::{Array2, Axis, array};

use super::tests::synthetic;
use super::*;

/// The covariance is that of all iterates, the start included, as the mean is.
#[test]
fn covariances_are_of_the_iterates_of_the_mean() {
    let (x, y) = synthetic(60, 9, |a, b| a - b);
    let settings = AveragedSettings { step: Some(2.0), ..AveragedSettings::default() };
    for rows in [3, 9, 60] {
        let mut method = AveragedSgd::new(Bernoulli, settings.clone());
        let mut iterates = vec![vec![0.0; 2]];
        for i in 0..rows {
            method.partial_fit(&x.select(Axis(0), &[i]), &y[i..=i]).unwrap();
            iterates.push(method.last().to_vec());
        }
        let (n, mean) = (iterates.len() as f64, method.averaged());
        let covariance = method.covariance().unwrap();
        for a in 0..2 {
            for b in 0..2 {
                let each = iterates.iter().map(|t| (t[a] - mean[a]) * (t[b] - mean[b]));
                let expected = each.sum::<f64>() / n;
                assert!((covariance[[a, b]] - expected).abs() < 1e-13, "{rows}");
            }
        }
        assert!(covariance[[0, 0]] > 0.0);
        // Taylor's formula has that covariance.
        let found = method.predict(&x, Predictor::Taylor).unwrap().means;
        for (i, row) in x.outer_iter().enumerate() {
            let (m, v) = (row[0] * mean[0] + row[1] * mean[1], row.dot(&covariance.dot(&row)));
            let expected = Bernoulli.mean(m) + 0.5 * Bernoulli.third(m) * v;
            assert!((found[i] - expected.clamp(0.0, 1.0)).abs() < 1e-13);
        }
    }
    // Beyond the first steps each sampled iterate stands for ten.
    let (x, y) = synthetic(20_000, 10, |a, b| a - b);
    let every = |covariance_every| {
        let settings = AveragedSettings { covariance_every, ..AveragedSettings::default() };
        averaged_sgd(Bernoulli, &x, &y, &settings).unwrap().covariance()
    };
    let (all, some) = (every(1).unwrap(), every(10).unwrap());
    assert!((&all - &some).iter().all(|d| d.abs() < 0.1 * all[[0, 0]]), "{all} {some}");
    assert!(every(0).is_none());
}

/// The implicit step minimises `|theta - theta_{n-1}|^2 / 2 + g f_n(theta)`: the change of `theta` is `-g` times the gradient
/// where the step ends. This holds for every step size, and no mean of iterates overflows.
#[test]
fn implicit_steps_solve_their_equation() {
    fn check<M: MeanFunction + std::fmt::Debug>(family: M, y: &[f64], step: f64, l2: f64) {
        let (x, _) = synthetic(y.len(), 4, |a, _| a);
        let update = Update::Implicit;
        let settings =
            AveragedSettings { step: Some(step), l2, update, ..AveragedSettings::default() };
        let mut method = AveragedSgd::new(family.clone(), settings);
        let mut before = vec![0.0_f64; 2];
        for (i, &y) in y.iter().enumerate() {
            method.partial_fit(&x.select(Axis(0), &[i]), &[y]).unwrap();
            let after = method.last().to_vec();
            let row = x.row(i);
            let eta = row[0] * after[0] + row[1] * after[1];
            // The sizes of the terms that cancel, with what a rounding of eta makes of the mean.
            let terms = (row[0] * after[0]).abs() + (row[1] * after[1]).abs() + 1.0;
            let slope = family.variance(eta) * terms + family.mean(eta).abs() + y;
            for j in 0..2 {
                let right = -step * ((family.mean(eta) - y) * row[j] + l2 * after[j]);
                let size = before[j].abs()
                    + after[j].abs() * (1.0 + step * l2)
                    + step * slope * row[j].abs();
                let off = after[j] - before[j] - right;
                let what = format!("{family:?} {step} {l2} row {i}");
                assert!(off.abs() <= 1e-13 * size, "{what}: {off:e} {size:e}");
            }
            before = after;
        }
        assert_ne!(method.status(), Status::Diverged, "{family:?} {step}");
        assert!(method.averaged().iter().all(|m| m.is_finite()));
    }
    let counts: Vec<f64> = (0..40).map(|i| f64::from((5 * i * i) % 9)).collect();
    let labels: Vec<f64> = counts.iter().map(|c| f64::from(u8::from(*c > 3.0))).collect();
    for step in [1e-6, 0.3, 5.0, 1e4, 1e8] {
        for l2 in [0.0, 0.5] {
            check(Poisson, &counts, step, l2);
            check(Bernoulli, &labels, step, l2);
            check(Gaussian, &counts, step, l2);
        }
    }
}

/// A step of 5 on counts: the explicit one diverges, the implicit one does not. A smaller one predicts better than the mean of
/// the targets.
#[test]
fn implicit_steps_fit_counts_where_explicit_ones_diverge() {
    let (x, _) = synthetic(4000, 6, |a, _| a);
    let target = |r: ndarray::ArrayView1<f64>| (0.5 * r[0] - 0.3 * r[1] + 0.2).exp().round();
    let y: Vec<f64> = x.outer_iter().map(target).collect();
    let wide = Array2::from_shape_fn((4000, 3), |(i, j)| if j == 2 { 1.0 } else { x[[i, j]] });
    let fit = |step, update| {
        let settings = AveragedSettings { step: Some(step), update, ..AveragedSettings::default() };
        averaged_sgd(Poisson, &wide, &y, &settings).unwrap()
    };
    assert_eq!(fit(5.0, Update::Explicit).status(), Status::Diverged);
    assert_ne!(fit(5.0, Update::Implicit).status(), Status::Diverged);
    let means = fit(0.05, Update::Implicit).predict(&wide, Predictor::Parameters).unwrap().means;
    let mean = y.iter().sum::<f64>() / 4000.0;
    let loss = |p: &dyn Fn(usize) -> f64| -> f64 {
        (0..4000).map(|i| p(i) - y[i] * p(i).ln()).sum::<f64>() / 4000.0
    };
    let (fitted, constant) = (loss(&|i| means[i]), loss(&|_| mean));
    assert!(fitted < constant - 0.1, "{fitted} {constant}");
}

#[test]
fn separated_means_have_no_expansion() {
    let x = array![[1.0], [2.0], [-1.0]];
    let expand =
        |means: &[f64]| stationary_expansion(&Bernoulli, x.view(), &[1.0; 3], means, &[0.0; 3]);
    assert!(expand(&[1.0, 1.0, 0.0]).is_err());
    assert!(expand(&[1.0, 1.0, 0.3]).is_ok());
    // Some points on the hyperplane itself: the parameters beside it still run away.
    let on = array![[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, -1.0]];
    let means = [0.0, 1.0, 1.0, 0.0];
    assert!(stationary_expansion(&Bernoulli, on.view(), &[1.0; 4], &means, &[0.0; 4]).is_err());
    // A rate of 0 is at minus infinity.
    let one = array![[1.0]];
    assert!(stationary_expansion(&Poisson, one.view(), &[1.0], &[0.0], &[0.0]).is_err());
}

#[test]
fn dimensions_beyond_memory_are_refused() {
    let last = u32::MAX - 1;
    let wide = CsrMatrix::new((1, last as usize + 1), vec![0, 1], vec![last], vec![1.0]);
    let refused = averaged_sgd(Bernoulli, &wide, &[1.0], &AveragedSettings::default()).unwrap_err();
    assert!(matches!(refused, crate::Error::Refused(_)), "{refused}");
}

/// The sum of the coefficients times the kernel is the last iterate at the queries.
#[test]
fn coefficients_of_kernels_give_the_last_iterate() {
    let (x, y) = synthetic(50, 11, |a, b| a * b);
    let kernel = laplacian_kernel(2.0).unwrap();
    let queries = vec![vec![0.3, -1.0], vec![1.0, 2.0]];
    // So strong a penalty that the scale of the coefficients is renewed on the way.
    let mut method = KernelSgd::new(Bernoulli, &kernel, 1.0, 0.999, queries.clone()).unwrap();
    x.outer_iter().zip(&y).for_each(|(r, &y)| method.observe(&r.to_vec(), y).unwrap());
    let alpha = method.coefficients();
    assert_eq!((alpha.len(), method.points().len()), (50, 50));
    for (q, found) in queries.iter().zip(method.natural()) {
        let eta: f64 = method.points().iter().zip(&alpha).map(|(p, a)| a * kernel(p, q)).sum();
        assert!((eta - found).abs() < 1e-15, "{eta} {found}");
    }
}
