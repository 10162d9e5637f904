//! Cross-validation: against loops written out, closed forms, and itself on other numbers of threads.

mod common;

use common::data;
use fenchel_datasets::embedded;
use fenchel_finite_sum::{
    Choose, CrossValidated, ElasticNet, ElasticNetCv, Grid, LassoCv, LinearModel,
    LogisticRegression, LogisticRegressionCv, RidgeCv, Scoring, Standardiser, Stop,
};
use fenchel_linalg::Cholesky;
use fenchel_metrics::{accuracy, k_fold, log_loss, mean_squared_error, stratified_k_fold};
use ndarray::{Array1, Array2, Axis};

fn tight() -> Stop {
    Stop { absolute: 0.0, relative: 1e-11, ..Stop::default() }
}

fn rows(x: &Array2<f64>, y: &[f64], index: &[usize]) -> (Array2<f64>, Vec<f64>) {
    (x.select(Axis(0), index), index.iter().map(|&i| y[i]).collect())
}

#[test]
fn scores_equal_a_loop_over_folds_written_out() {
    let data = data(60, 8, 1.0, 5);
    let grid = Grid::Given(vec![0.3, 0.1, 0.03]);
    let (folds, seed, stop) = (4, 9, tight());
    let net = ElasticNetCv {
        l1_ratios: vec![1.0, 0.4, 0.0],
        folds,
        seed,
        stop,
        grid: Some(grid.clone()),
        ..ElasticNetCv::default()
    };
    let fitted = net.fit(&data.dense, &data.reals).unwrap();
    assert_eq!(fitted.scores.len(), 9);
    for score in &fitted.scores {
        for (fold, (train, test)) in k_fold(60, folds, seed).unwrap().iter().enumerate() {
            let ((x, y), (new, truth)) =
                (rows(&data.dense, &data.reals, train), rows(&data.dense, &data.reals, test));
            let net = ElasticNet { l1: score.l1(), l2: score.l2(), stop, ..ElasticNet::default() };
            let predicted = net.fit(&x, &y).unwrap().predict(&new).unwrap().to_vec();
            let expected = mean_squared_error(&truth, &predicted).unwrap();
            assert!((score.folds[fold] - expected).abs() < 1e-5 * expected, "{score:?}");
        }
    }
    let means: Vec<f64> = fitted.scores.iter().map(|score| score.mean).collect();
    assert_eq!(fitted.chosen, fitted.best);
    assert!(means.iter().all(|mean| *mean >= means[fitted.best]));

    let cv = LogisticRegressionCv { folds, seed, stop, grid: Some(grid), ..Default::default() };
    let fitted = cv.fit(&data.sparse, &data.signs).unwrap();
    let by_errors = LogisticRegressionCv { scoring: Scoring::Errors, ..cv };
    let by_errors = by_errors.fit(&data.sparse, &data.signs).unwrap();
    for (k, score) in fitted.scores.iter().enumerate() {
        let splits = stratified_k_fold(&data.signs, folds, seed).unwrap();
        for (fold, (train, test)) in splits.iter().enumerate() {
            let ((x, y), (new, truth)) =
                (rows(&data.dense, &data.signs, train), rows(&data.dense, &data.signs, test));
            let fit = LogisticRegression { l2: Some(score.penalty), stop, ..Default::default() };
            let model = fit.fit(&x, &y).unwrap();
            let expected = log_loss(&truth, &model.predict_proba(&new).unwrap().to_vec()).unwrap();
            assert!((score.folds[fold] - expected).abs() < 1e-4 * expected, "{score:?}");
            let right = accuracy(&truth, &model.predict(&new).unwrap().to_vec()).unwrap();
            assert!((by_errors.scores[k].folds[fold] - (1.0 - right)).abs() < 1e-12);
        }
    }
}

/// Leaving out one row at a time has a closed form for ridge regression: the residual over `1 - h_ii`, with `h` the
/// hat matrix of all rows at the same `n l2`, here that of `n - 1` rows.
#[test]
fn leaving_one_out_of_ridge_regression_is_the_hat_matrix() {
    let data = data(25, 4, 1.0, 2);
    let (n, d) = data.dense.dim();
    let ridge = RidgeCv {
        folds: n,
        grid: Some(Grid::Given(vec![0.2, 0.01])),
        stop: tight(),
        ..RidgeCv::default()
    };
    let fitted = ridge.fit(&data.dense, &data.reals).unwrap();
    let ones =
        Array2::from_shape_fn((n, d + 1), |(i, c)| if c < d { data.dense[[i, c]] } else { 1.0 });
    let y = Array1::from(data.reals.clone());
    for score in &fitted.scores {
        let mut gram = ones.t().dot(&ones);
        (0..d).for_each(|c| gram[[c, c]] += (n - 1) as f64 * score.penalty);
        let factor = Cholesky::in_place(gram.iter().copied().collect(), d + 1).unwrap();
        let solve = |right: Array1<f64>| {
            let mut right = right.to_vec();
            factor.solve_in_place(&mut right).unwrap();
            Array1::from(right)
        };
        let weights = solve(ones.t().dot(&y));
        let expected = (0..n).map(|i| {
            let row = ones.row(i);
            let leverage = row.dot(&solve(row.to_owned()));
            ((y[i] - row.dot(&weights)) / (1.0 - leverage)).powi(2)
        });
        let expected = expected.sum::<f64>() / n as f64;
        assert!((score.mean - expected).abs() < 1e-5 * expected, "{} {expected}", score.mean);
    }
}

#[test]
fn no_bit_depends_on_the_number_of_threads() {
    let data = embedded::breast_cancer();
    let x = Standardiser::fit(&data.x).unwrap().transform(&data.x).unwrap();
    let fit = || {
        let grid = Some(Grid::Log { count: 10, smallest: 0.05 });
        let cv = LogisticRegressionCv { l1_ratios: vec![1.0], grid, ..Default::default() };
        cv.fit(&x, &data.y).unwrap()
    };
    let of = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(fit)
    };
    assert_eq!(of(1), of(3));
}

#[test]
fn the_penalty_that_is_chosen_predicts() {
    let data = embedded::wine_alcohol();
    let x = Standardiser::fit(&data.x).unwrap().transform(&data.x).unwrap();
    let check = |fitted: &CrossValidated<LinearModel>| {
        let (best, chosen) = (&fitted.scores[fitted.best], &fitted.scores[fitted.chosen]);
        assert!(chosen.penalty >= best.penalty && chosen.mean <= best.mean + best.standard_error);
        // The variance of the targets is 0.657; scikit-learn's LassoCV explains about 57% of it.
        assert!(chosen.mean < 0.35, "{fitted}");
    };
    let best = LassoCv::default().fit(&x, &data.y).unwrap();
    let choose = Choose::OneStandardError;
    let small = LassoCv { choose, ..LassoCv::default() }.fit(&x, &data.y).unwrap();
    check(&best);
    check(&small);
    assert_eq!(best.scores, small.scores);
    assert!(small.model.support().len() < best.model.support().len());
    check(&RidgeCv::default().fit(&x, &data.y).unwrap());
    assert!(best.to_string().lines().filter(|line| line.starts_with('*')).count() == 1);
}

#[test]
fn settings_out_of_range_are_named() {
    let data = data(10, 3, 1.0, 1);
    let text = |cv: ElasticNetCv| cv.fit(&data.dense, &data.reals).unwrap_err().to_string();
    let base = ElasticNetCv::default;
    assert!(text(ElasticNetCv { folds: 1, ..base() }).contains("folds = 1; expected at least 2"));
    assert!(text(ElasticNetCv { folds: 11, ..base() }).contains("folds = 11"));
    assert!(text(ElasticNetCv { l1_ratios: vec![], ..base() }).contains("l1_ratios is empty"));
    assert!(text(ElasticNetCv { l1_ratios: vec![1.5], ..base() }).contains("l1_ratio = 1.5"));
    let grid = Some(Grid::Given(vec![f64::INFINITY]));
    assert!(text(ElasticNetCv { grid, ..base() }).contains("penalty of the grid = inf"));
    let short = ElasticNetCv::default().fit(&data.dense, &data.reals[1..]).unwrap_err().to_string();
    assert!(short.contains("targets: expected length 10, found 9"), "{short}");
}
