//! Cross-validation: against loops written out, closed forms, and itself on other numbers of threads.

use crate::common::data;
use crate::common::multiclass::codes;
use fenchel_datasets::embedded;
use fenchel_finite_sum::path::Grid;
use fenchel_finite_sum::prelude::Stop;
use fenchel_finite_sum::{
    ElasticNet, ElasticNetCv, Fit, LassoCv, LinearModel, LinearSvc, LinearSvcCv,
    LogisticRegression, LogisticRegressionCv, RidgeCv, SoftmaxRegression, SoftmaxRegressionCv,
    Standardiser, SvcLoss,
    estimators::{Choose, CrossValidated, Score, Scoring},
};
use fenchel_linalg::Cholesky;
use fenchel_metrics::{
    Split, accuracy, k_fold, log_loss, log_loss_multiclass, mean_squared_error, stratified_k_fold,
};
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

/// Small whole weights, some of them 0: the rows that count, and the copies that a list of them stands for.
struct Copies {
    weights: Vec<f64>,
    present: Vec<usize>,
}

impl Copies {
    fn new(n: usize) -> Self {
        let weights: Vec<f64> = (0..n).map(|i| ((i * 7 + 3) % 4) as f64).collect();
        let present = (0..n).filter(|&i| weights[i] > 0.0).collect();
        Copies { weights, present }
    }

    fn of<T: Copy>(&self, values: &[T]) -> Vec<T> {
        self.present.iter().map(|&i| values[i]).collect()
    }

    fn copied(&self, rows: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let copies = |i: usize| std::iter::repeat_n(i, self.weights[i] as usize);
        rows.into_iter().flat_map(copies).collect()
    }

    /// Compares the scores with those of fits on copies that stay together. `expected` fits on some rows with the penalty of
    /// a score, and judges on others.
    fn check(
        &self,
        scores: &[Score],
        splits: &[Split],
        tolerance: f64,
        expected: impl Fn(&Score, &[usize], &[usize]) -> f64,
    ) {
        for score in scores {
            assert_eq!(score.folds.len(), splits.len());
            for (found, (train, test)) in score.folds.iter().zip(splits) {
                let rows = |places: &[usize]| self.copied(places.iter().map(|&k| self.present[k]));
                let expected = expected(score, &rows(train), &rows(test));
                let off = (found - expected).abs();
                assert!(off <= tolerance * expected, "{score:?}: {found} {expected}");
            }
        }
    }
}

#[test]
fn splits_that_are_given_take_the_place_of_folds() {
    let data = data(60, 8, 1.0, 5);
    let grid = Some(Grid::Given(vec![0.3, 0.1, 0.03]));
    let drawn = LassoCv { folds: 4, seed: 9, grid: grid.clone(), ..Default::default() };
    let given = LassoCv { splits: Some(k_fold(60, 4, 9).unwrap()), ..drawn.clone() };
    let [drawn, given] = [drawn, given].map(|cv| cv.fit(&data.dense, &data.reals).unwrap());
    assert_eq!(drawn.scores, given.scores);
    let splits = stratified_k_fold(&data.signs, 4, 9).unwrap();
    let drawn =
        LogisticRegressionCv { folds: 4, seed: 9, grid: grid.clone(), ..Default::default() };
    let given = LogisticRegressionCv { splits: Some(splits), ..drawn.clone() };
    let [drawn, given] = [drawn, given].map(|cv| cv.fit(&data.sparse, &data.signs).unwrap());
    assert_eq!(drawn.scores, given.scores);

    // Rows in order, each fold after those it is predicted from; the first row has the weight 0.
    let splits: Vec<Split> =
        [20, 40].map(|at| ((0..at).collect(), (at..at + 20).collect())).to_vec();
    let weights = Array1::from_iter((0..60).map(|row| f64::from(row > 0)));
    let cv = LassoCv { splits: Some(splits.clone()), grid, stop: tight(), ..Default::default() };
    let fit = Fit::new().weights(&weights);
    let fitted = cv.fit_with(&data.dense, &data.reals, fit).unwrap();
    let (train, test) = &splits[0];
    let ((x, y), (new, truth)) =
        (rows(&data.dense, &data.reals, &train[1..]), rows(&data.dense, &data.reals, test));
    let lasso = fenchel_finite_sum::Lasso { l1: 0.1, stop: tight(), ..Default::default() };
    let predicted = lasso.fit(&x, &y).unwrap().predict(&new).unwrap().to_vec();
    let expected = mean_squared_error(&truth, &predicted).unwrap();
    assert!((fitted.scores[1].folds[0] - expected).abs() < 1e-5 * expected);

    for (splits, said) in [
        (vec![], "0 of them"),
        (vec![(vec![1], vec![2]); 1], "1 of them"),
        (
            vec![(vec![1], vec![2]), (vec![60], vec![2])],
            "split 1 has row 60; expected less than 60",
        ),
        (vec![(vec![1], vec![]), (vec![1], vec![2])], "split 0 has no test row"),
        (vec![(vec![0], vec![1]), (vec![1], vec![2])], "split 0 has no training row"),
        (vec![(vec![1], vec![2]), (vec![3, 5, 7], vec![4, 7])], "split 1 has row 7 on both sides"),
    ] {
        let cv = LassoCv { splits: Some(splits), ..Default::default() };
        let fit = Fit::new().weights(&weights);
        let error = cv.fit_with(&data.dense, &data.reals, fit).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

fn pick<T: Copy>(values: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().map(|&i| values[i]).collect()
}

#[test]
fn weighted_rows_are_copies_that_stay_in_their_fold() {
    let (data, folds, seed, stop) = (data(60, 6, 1.0, 6), 4, 3, tight());
    let copies = Copies::new(60);
    let (x, weights, whole) =
        (&data.dense, &copies.weights, copies.copied(copies.present.iter().copied()));
    let grid = Some(Grid::Given(vec![0.2, 0.02]));
    let all = rows(x, &data.reals, &whole);

    let l1_ratios = vec![1.0, 0.3, 0.0];
    let cv =
        ElasticNetCv { l1_ratios, folds, seed, stop, grid: grid.clone(), ..Default::default() };
    let fitted = cv.fit_with(x, &data.reals, Fit::new().weights(weights)).unwrap();
    let net =
        |score: &Score| ElasticNet { l1: score.l1(), l2: score.l2(), stop, ..Default::default() };
    let splits = k_fold(copies.present.len(), folds, seed).unwrap();
    copies.check(&fitted.scores, &splits, 1e-5, |score, train, test| {
        let ((x, y), (new, truth)) = (rows(x, &data.reals, train), rows(x, &data.reals, test));
        let predicted = net(score).fit(&x, &y).unwrap().predict(&new).unwrap().to_vec();
        mean_squared_error(&truth, &predicted).unwrap()
    });
    let model = net(&fitted.scores[fitted.chosen]).fit(&all.0, &all.1).unwrap();
    assert!((&model.weights - &fitted.model.weights).iter().all(|e| e.abs() < 1e-4));

    let cv = LogisticRegressionCv { folds, seed, stop, grid: grid.clone(), ..Default::default() };
    let fitted = cv.fit_with(x, &data.signs, Fit::new().weights(weights)).unwrap();
    let splits = stratified_k_fold(&copies.of(&data.signs), folds, seed).unwrap();
    copies.check(&fitted.scores, &splits, 1e-4, |score, train, test| {
        let ((x, y), (new, truth)) = (rows(x, &data.signs, train), rows(x, &data.signs, test));
        let fit = LogisticRegression { l2: Some(score.l2()), stop, ..Default::default() };
        let model = fit.fit(&x, &y).unwrap();
        log_loss(&truth, &model.predict_proba(&new).unwrap().to_vec()).unwrap()
    });

    for loss in [SvcLoss::Hinge, SvcLoss::SquaredHinge] {
        let cv = LinearSvcCv { loss, folds, seed, stop, grid: grid.clone(), ..Default::default() };
        let fitted = cv.fit_with(x, &data.signs, Fit::new().weights(weights)).unwrap();
        copies.check(&fitted.scores, &splits, 1e-12, |score, train, test| {
            let ((x, y), (new, truth)) = (rows(x, &data.signs, train), rows(x, &data.signs, test));
            let model = LinearSvc { loss, l2: Some(score.penalty), stop, ..Default::default() };
            let predicted = model.fit(&x, &y).unwrap().predict(&new).unwrap().to_vec();
            1.0 - accuracy(&truth, &predicted).unwrap()
        });
    }

    // Three classes, with and without l1.
    let y = codes(&data.reals, 6);
    let splits = stratified_k_fold(&copies.of(&y), folds, seed).unwrap();
    for scoring in [Scoring::LogLoss, Scoring::Errors] {
        let l1_ratios = vec![0.5, 0.0];
        let grid = grid.clone();
        let cv = SoftmaxRegressionCv {
            l1_ratios,
            scoring,
            folds,
            seed,
            stop,
            grid,
            ..Default::default()
        };
        let fitted = cv.fit_with(x, &y, Fit::new().weights(weights)).unwrap();
        let tolerance = if scoring == Scoring::LogLoss { 1e-4 } else { 1e-12 };
        copies.check(&fitted.scores, &splits, tolerance, |score, train, test| {
            let (l1, l2) = (score.l1(), Some(score.l2()));
            let fit = SoftmaxRegression { l1, l2, stop, ..Default::default() };
            let model = fit.fit(&x.select(Axis(0), train), &pick(&y, train)).unwrap();
            let (new, truth) = (x.select(Axis(0), test), pick(&y, test));
            if scoring == Scoring::Errors {
                return 1.0 - accuracy(&truth, &model.predict(&new).unwrap().to_vec()).unwrap();
            }
            let probabilities: Vec<f64> =
                model.predict_proba(&new).unwrap().iter().copied().collect();
            log_loss_multiclass(&truth, &probabilities, 3).unwrap()
        });
    }
}

/// The default grid of several classes begins where the first feature enters.
#[test]
fn the_grid_of_a_softmax_path_starts_at_the_smallest_penalty_that_leaves_nothing() {
    let data = data(60, 6, 1.0, 8);
    let (y, stop) = (codes(&data.reals, 8), tight());
    let weights: Vec<f64> = (0..60).map(|i| 0.5 + (i % 3) as f64).collect();
    for intercept in [true, false] {
        let cv =
            SoftmaxRegressionCv { l1_ratios: vec![1.0], intercept, stop, ..Default::default() };
        let grid = Some(Grid::Log { count: 2, smallest: 0.5 });
        let cv = SoftmaxRegressionCv { grid, ..cv };
        let first =
            cv.fit_with(&data.dense, &y, Fit::new().weights(&weights)).unwrap().scores[0].penalty;
        let empty = |l1: f64| {
            let fit = SoftmaxRegression { l1, intercept, stop, ..Default::default() };
            let model = fit.fit_with(&data.dense, &y, Fit::new().weights(&weights)).unwrap();
            model.weights.iter().all(|w| *w == 0.0)
        };
        assert!(empty(1.001 * first) && !empty(0.999 * first), "intercept {intercept}");
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
        let mut found = pool.install(fit);
        found.model.report = found.model.report.without_seconds();
        found
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
    assert!(
        text(ElasticNetCv { folds: 1, ..base() })
            .contains("folds: 1 of 10 rows; expected at least 2")
    );
    assert!(text(ElasticNetCv { folds: 11, ..base() }).contains("folds: 11 of 10 rows"));
    assert!(text(ElasticNetCv { l1_ratios: vec![], ..base() }).contains("l1_ratios is empty"));
    assert!(text(ElasticNetCv { l1_ratios: vec![1.5], ..base() }).contains("l1_ratio = 1.5"));
    let grid = Some(Grid::Given(vec![f64::INFINITY]));
    assert!(text(ElasticNetCv { grid, ..base() }).contains("penalty of the grid = inf"));
    let weighted = |weights: &[f64]| {
        let fitted = base().fit_with(&data.dense, &data.reals, Fit::new().weights(weights));
        fitted.map(|_| ()).unwrap_err().to_string()
    };
    assert!(weighted(&[1.0; 9]).contains("sample weights: expected length 10, found 9"));
    assert!(weighted(&[-1.0; 10]).contains("sample weights: entry 0 is -1"));
    assert!(weighted(&[0.0; 10]).contains("largest sample weight = 0"));
    // Four rows that count do not make five folds.
    let few: Vec<f64> = (0..10).map(|i| if i < 4 { 1.0 } else { 0.0 }).collect();
    assert!(weighted(&few).contains(
        "folds: 5 of 4 rows of positive weight; expected at least 2, and no more than rows"
    ));
    let short = ElasticNetCv::default().fit(&data.dense, &data.reals[1..]).unwrap_err().to_string();
    assert!(short.contains("targets: expected length 10, found 9"), "{short}");
}

/// A class of one row is missing from the rows of the fold that tests it: its intercept would have no minimiser there.
#[test]
fn a_class_of_one_row_is_refused_by_name() {
    let data = data(10, 3, 1.0, 1);
    let y: Vec<&str> = (0..10).map(|i| if i == 4 { "rare" } else { ["a", "b"][i % 2] }).collect();
    let error = SoftmaxRegressionCv::default().fit(&data.dense, &y).unwrap_err().to_string();
    assert!(error.starts_with("labels: class \"rare\" has one row of positive weight"), "{error}");
    let two: Vec<&str> = y.iter().map(|&y| if y == "rare" { y } else { "a" }).collect();
    let error = LogisticRegressionCv::default().fit(&data.dense, &two).unwrap_err().to_string();
    assert!(error.starts_with("labels: class \"rare\" has one row of positive weight"), "{error}");
    let weights: Vec<f64> = (0..10).map(|i| if i < 4 { 1.0 } else { 0.0 }).collect();
    let fit = Fit::new().weights(&weights);
    let error = SoftmaxRegressionCv::default().fit_with(&data.dense, &y, fit).unwrap_err();
    let expected = "sample weights: all rows of class \"rare\" have weight 0";
    assert!(error.to_string().starts_with(expected), "{error}");
}

/// Without time no penalty is reached, and the printed table says so.
#[test]
fn a_table_without_time_says_so() {
    let data = data(40, 3, 1.0, 1);
    let stop = Stop { max_seconds: Some(0.0), ..Stop::default() };
    let found = RidgeCv { stop, ..RidgeCv::default() }.fit(&data.dense, &data.reals).unwrap();
    assert!(found.scores.iter().all(|score| score.mean.is_nan()));
    assert!(found.to_string().contains("25 of 25 penalties have no score"), "{found}");
}
