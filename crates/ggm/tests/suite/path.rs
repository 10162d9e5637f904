//! Paths and the choice of a penalty.

use std::ops::ControlFlow;

use fenchel_ggm::path::grid;
use fenchel_ggm::select::{Stars, StarsSettings, stability_selection, stars};
use fenchel_ggm::synthetic::{barabasi_albert, chain, diagonally_dominant};
use fenchel_ggm::{
    Error, Fit, GraphicalLasso, GraphicalLassoCv, PenaltyWeights, Scale, Statistics, Status, Stop,
};
use fenchel_metrics::k_fold;
use fenchel_optim::Progress;
use fenchel_optim::random::stream;
use ndarray::{Array2, Axis};

use crate::common::{data, inverse};

fn unit(scale: Scale) -> GraphicalLasso {
    GraphicalLasso { l1: PenaltyWeights::Uniform(1.0), scale, ..GraphicalLasso::default() }
}

#[test]
fn every_point_of_a_path_is_the_fit_at_its_penalty() {
    let edges = barabasi_albert(15, 1, &mut stream(2, 0)).unwrap();
    let x = data(diagonally_dominant(15, &edges, -0.2).view(), 60, 3) * 7.0;
    let statistics = Statistics::from_data(&x).unwrap();
    for scale in [Scale::Correlation, Scale::Covariance] {
        let top = if scale == Scale::Covariance { 30.0 } else { 0.6 };
        let penalties = grid(top, 0.05, 6).unwrap();
        let path = unit(scale).fit_path(&statistics, &penalties).unwrap();
        for point in &path.points {
            let lasso = GraphicalLasso { l1: point.l1.into(), ..unit(scale) };
            let model = lasso.fit(&statistics).unwrap();
            let dense = point.precision.dense();
            let size = model.precision.diag().iter().fold(0.0_f64, |m, v| m.max(*v));
            assert!((&dense - &model.precision).iter().all(|d| d.abs() < 0.01 * size));
            let (_, log_det) = inverse(&dense).unwrap();
            assert!((log_det - point.log_det).abs() < 1e-8 * log_det.abs().max(1.0));
            let loss = (&statistics.covariance * &dense).sum() - log_det;
            assert!((loss - point.loss).abs() < 1e-7 * loss.abs().max(1.0));
            assert!(point.report.certificate.value() <= 1e-6 * loss.abs().max(1.0) * 2.0);
        }
        assert!(path.points.is_sorted_by(|a, b| a.l1 > b.l1));
    }
}

#[test]
fn the_criteria_find_a_chain() {
    let p = 12;
    let truth = chain(p);
    let x = data(diagonally_dominant(p, &truth, -0.4).view(), 800, 9);
    let statistics = Statistics::from_data(&x).unwrap();
    let path =
        unit(Scale::Correlation).fit_path(&statistics, &grid(0.6, 0.02, 15).unwrap()).unwrap();
    let count =
        |edges: &[(u32, u32)]| (edges.iter().filter(|e| truth.contains(e)).count(), edges.len());
    let found: Vec<_> = path.ebic_model(0.5).unwrap().graph().edges().collect();
    let (hits, all) = count(&found);
    assert!(hits == p - 1 && all <= p + 6, "EBIC: {hits} of {all}");
    let by_hand = path
        .points
        .iter()
        .map(|point| {
            let edges = point.edges() as f64;
            800.0 * point.loss + edges * (800f64.ln() + 2.0 * (p as f64).ln())
        })
        .fold(f64::INFINITY, f64::min);
    assert!((path.ebic(0.5).unwrap().ebic(800, 0.5) - by_hand).abs() < 1e-9);

    let settings = StarsSettings { subsamples: 10, ..StarsSettings::default() };
    let chosen = stars(&x, &settings).unwrap();
    assert!(chosen.instability.is_sorted());
    let (hits, _) = count(&chosen.model.graph().edges().collect::<Vec<_>>());
    assert_eq!(hits, p - 1, "StARS keeps every true edge");

    let lasso = GraphicalLasso { l1: 0.2.into(), ..GraphicalLasso::default() };
    let stability = stability_selection(&x, &lasso, 10, 0.9, 1).unwrap();
    let (hits, all) = count(&stability.edges);
    assert!(hits >= p - 2 && all <= hits + 2, "stability: {hits} of {all}");
    let q = stability.selected;
    let bound = q * q / (0.8 * (p * (p - 1) / 2) as f64);
    assert!((stability.false_edges - bound).abs() < 1e-12);

    let cv = GraphicalLassoCv::default().fit(&x).unwrap();
    let wide = GraphicalLassoCv { one_standard_error: true, ..GraphicalLassoCv::default() };
    let sparse = wide.fit(&x).unwrap();
    assert!(sparse.l1 >= cv.l1);
    assert_eq!(cv.loss, sparse.loss);
    assert!(cv.l1 < cv.penalties[0] && cv.loss.len() == 20);
    // The same seed, the same choice.
    let timeless = |mut stars: Stars| {
        stars.model.report = stars.model.report.without_seconds();
        stars
    };
    assert_eq!(timeless(stars(&x, &settings).unwrap()), timeless(chosen));
}

/// The number of penalties can be chosen, and the losses are the means over the folds.
#[test]
fn a_grid_of_so_many_penalties_and_the_losses_of_the_folds() {
    let x = data(diagonally_dominant(6, &chain(6), 0.3).view(), 60, 3);
    let found = GraphicalLassoCv { count: 7, folds: 3, ..Default::default() }.fit(&x).unwrap();
    assert_eq!((found.penalties.len(), found.folds.len()), (7, 7));
    let largest = found.penalties[0];
    assert!((found.penalties[6] - 0.01 * largest).abs() <= 1e-12 * largest);
    for (loss, folds) in found.loss.iter().zip(&found.folds) {
        assert!(folds.len() == 3 && (loss - folds.iter().sum::<f64>() / 3.0).abs() <= 1e-12);
    }
}

/// Integer weights are repeated rows: in the fits, and in the held-out likelihood by hand.
#[test]
fn weighted_cross_validation_counts_rows() {
    let x = data(diagonally_dominant(6, &chain(6), 0.3).view(), 60, 3);
    let cv = GraphicalLassoCv { penalties: Some(vec![0.3, 0.1]), ..GraphicalLassoCv::default() };
    let plain = cv.fit(&x).unwrap();
    let ones = cv.fit_with(&x, Fit::new().weights(&vec![2.5; 60])).unwrap();
    for (a, b) in plain.loss.iter().zip(&ones.loss) {
        assert!((a - b).abs() <= 1e-6, "{a} {b}");
    }
    let weights: Vec<f64> = (0..60).map(|i| (i % 3) as f64).collect();
    let found = cv.fit_with(&x, Fit::new().weights(&weights)).unwrap();
    let mut by_hand = [0.0; 2];
    for (train, test) in k_fold(60, 5, 0).unwrap() {
        let repeated = |rows: &[usize]| -> Vec<usize> {
            rows.iter().flat_map(|&i| std::iter::repeat_n(i, i % 3)).collect()
        };
        let train = Statistics::from_data(&x.select(Axis(0), &repeated(&train))).unwrap();
        let test = &x.select(Axis(0), &repeated(&test)) - &train.mean;
        for (total, l1) in by_hand.iter_mut().zip([0.3, 0.1]) {
            let lasso = GraphicalLasso { l1: l1.into(), ..GraphicalLasso::default() };
            let model = lasso.fit(&train).unwrap();
            let covariance = test.t().dot(&test) / test.nrows() as f64;
            let (_, log_det) = inverse(&model.precision).unwrap();
            *total += ((covariance * &model.precision).sum() - log_det) / 5.0;
        }
    }
    // Two fits to a gap of 1e-6 are at most 1e-3 apart, and the loss of these data changes by less than 10 times that.
    for (a, b) in found.loss.iter().zip(by_hand) {
        assert!((a - b).abs() <= 1e-2, "{a} {b}");
    }
    assert!((found.loss[0] - plain.loss[0]).abs() > 1e-2, "weights of 0, 1, 2 are other data");
    let mut first = vec![0.0; 60];
    first[0] = 1.0;
    first[1] = 1.0;
    assert!(
        cv.fit_with(&x, Fit::new().weights(&first)).unwrap_err().to_string().contains("weights")
    );
    assert!(cv.fit_with(&x, Fit::new().weights(&first[..59])).is_err());
    let small = GraphicalLassoCv { max_memory: Some(100), ..cv.clone() };
    assert!(matches!(small.fit(&x), Err(Error::Refused(_))));
    // Enough for the covariance matrices, not for a dense copy of the 60 x 6 numbers.
    let copies = GraphicalLassoCv { max_memory: Some(2000), ..cv };
    assert!(copies.fit(&x).unwrap_err().to_string().contains("dense copy"));
}

#[test]
fn bad_settings_are_refused() {
    let x = data(Array2::eye(3).view(), 20, 1);
    let statistics = Statistics::from_data(&x).unwrap();
    assert!(grid(0.0, 0.1, 5).is_err() && grid(1.0, 0.0, 5).is_err() && grid(1.0, 0.1, 0).is_err());
    assert_eq!(grid(2.0, 0.1, 1).unwrap(), [2.0]);
    assert!(unit(Scale::Covariance).fit_path(&statistics, &[]).is_err());
    assert!(unit(Scale::Covariance).fit_path(&statistics, &[-1.0]).is_err());
    let folds =
        |folds| GraphicalLassoCv { folds, ..Default::default() }.fit(&x).unwrap_err().to_string();
    let expected = "folds = 21; expected at least 2 and at most 20, the number of samples";
    assert_eq!(folds(21), expected);
    assert_eq!(folds(1), expected.replace("21", "1"));
    for subsamples in [0, usize::MAX] {
        assert!(stars(&x, &StarsSettings { subsamples, ..Default::default() }).is_err());
    }
    assert!(stars(&x, &StarsSettings { size: Some(21), ..Default::default() }).is_err());
    let lasso = GraphicalLasso::default();
    assert!(stability_selection(&x, &lasso, 5, 0.5, 0).is_err());
    assert!(stability_selection(&x, &lasso, 0, 0.9, 0).is_err());
}

#[test]
fn a_cross_validation_and_a_path_are_watched_and_limited_as_a_whole() {
    let x = Array2::from_shape_fn((60, 5), |(i, j)| {
        ((i * (j + 3) + 7 * j) % 13) as f64 + 0.1 * i as f64
    });
    let cv = GraphicalLassoCv::default();
    let free = cv.fit(&x).unwrap();
    let mut calls = 0;
    let mut on = |_: &Progress| {
        calls += 1;
        ControlFlow::Continue(())
    };
    assert_eq!(cv.fit_with(&x, Fit::new().watch(&mut on)).unwrap(), free);
    assert!(calls >= 6 * free.penalties.len());
    // The closure ends all fits: no penalty has a loss of every fold.
    let mut end = |_: &Progress| ControlFlow::Break(());
    let ended = cv.fit_with(&x, Fit::new().watch(&mut end)).unwrap();
    assert_eq!((ended.model.report.status, ended.penalties.len()), (Status::Stopped, 1));
    // No time: the first penalty alone, which needs none.
    let stop = Stop { max_seconds: Some(0.0), ..Stop::default() };
    let lasso = GraphicalLasso { stop, ..GraphicalLasso::default() };
    assert!(lasso.fit_path(&x, &free.penalties).unwrap().points.len() <= 1);
    // A start at the answer.
    let one = GraphicalLasso::default().fit_path(&x, &free.penalties[10..11]).unwrap();
    let start =
        GraphicalLasso { l1: free.penalties[10].into(), ..Default::default() }.fit(&x).unwrap();
    let warm = GraphicalLasso::default();
    let warm = warm.fit_path_with(&x, &free.penalties[10..11], Fit::new().start(&start)).unwrap();
    assert!(warm.points[0].report.passes <= one.points[0].report.passes);
    assert!((warm.points[0].loss - one.points[0].loss).abs() < 1e-4);
}

#[test]
fn splits_that_are_given_take_the_place_of_folds() {
    let truth = diagonally_dominant(5, &chain(5), -0.3);
    let x = data(truth.view(), 120, 3);
    let penalties = Some(vec![0.3, 0.1]);
    let drawn = GraphicalLassoCv { penalties, seed: 4, ..GraphicalLassoCv::default() };
    let given = GraphicalLassoCv { splits: Some(k_fold(120, 5, 4).unwrap()), ..drawn.clone() };
    assert_eq!(drawn.fit(&x).unwrap().loss, given.fit(&x).unwrap().loss);
    for (splits, said) in [
        (vec![(vec![1, 2], vec![3])], "1 of them"),
        (
            vec![(vec![1], vec![120]), (vec![1], vec![2])],
            "split 0 has row 120; expected less than 120",
        ),
        (vec![(vec![1], vec![2]), (vec![], vec![2])], "split 1 has no training rows"),
    ] {
        let error = GraphicalLassoCv { splits: Some(splits), ..drawn.clone() }.fit(&x).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}
