//! Copied columns, repeated edges and matrices that are not what they should be: a refusal by name, never a number of the rounding.

use fenchel_ggm::bethe::{AscentSettings, DiagonalStep, closed_form, diagonal_ascent, entropy};
use fenchel_ggm::covariance::rank::{kendall_bridge, polychoric, spearman_bridge};
use fenchel_ggm::item_field::baselines::cosine;
use fenchel_ggm::item_field::{ItemField, ItemGraph};
use fenchel_ggm::scale_free::{RowOrder, row_prox};
use fenchel_ggm::shortcut::shortcut;
use fenchel_ggm::threshold::{conditional_mutual_information, mutual_information};
use fenchel_ggm::{
    Error, GraphicalLasso, Method, PartialCorrelationLasso, Ratings, Scale, Statistics, chow_liu,
};
use fenchel_optim::random::stream;
use fenchel_optim::{Status, Stop};
use ndarray::{Array1, Array2, array};
use rand::RngExt;

const METHODS: [Method; 3] = [Method::Quic, Method::BlockCoordinate, Method::Admm];

fn refused_as_unbounded(s: &Statistics, what: &str) {
    let unbounded = |e: Error| matches!(e, Error::Unbounded { .. });
    assert!(unbounded(chow_liu(s).expect_err(what)), "{what}");
    for method in METHODS {
        let lasso = GraphicalLasso { l1: 0.0.into(), method, ..Default::default() };
        assert!(unbounded(lasso.fit(s).expect_err(what)), "{what} {method:?}");
    }
    assert!(mutual_information(s).iter().any(|m| m.is_infinite()), "{what}");
}

#[test]
fn a_copied_column_is_found_whatever_its_rounding() {
    // Exactly the same column, and a tenth of it.
    for column in [vec![-2.0, 0.0, 0.0, 2.0], vec![0.8, 0.1, 0.1], vec![0.1, 0.2, 0.4]] {
        for by in [1.0, 0.1, -3.0] {
            let x = Array2::from_shape_fn((column.len(), 2), |(i, j)| {
                if j == 0 { column[i] } else { by * column[i] }
            });
            refused_as_unbounded(&Statistics::from_data(&x).unwrap(), &format!("{column:?} {by}"));
        }
    }
    for seed in 0..60 {
        let mut draw = stream(seed, 0);
        let p = draw.random_range(2..8);
        let mut x = Array2::from_shape_simple_fn((50, p), || draw.random::<f64>() - 0.5);
        let first = x.column(0).to_owned();
        x.column_mut(p - 1).assign(&first);
        refused_as_unbounded(&Statistics::from_data(&x).unwrap(), &format!("table {seed}"));
    }
    for k in 1..400 {
        let v = f64::from(k) * 0.37;
        let c = array![[v, v], [v, v]];
        assert!(matches!(closed_form(c.view(), &[(0, 1)]), Err(Error::Unbounded { .. })), "{v}");
        assert_eq!(entropy(&[v, v], &[(0, 1)], &[v]).unwrap(), f64::NEG_INFINITY, "{v}");
        let s = Statistics::from_covariance(c.view(), 9).unwrap();
        assert!(conditional_mutual_information(&s, 1, false).unwrap()[[0, 1]].is_infinite(), "{v}");
    }
}

/// The second column is the first and a little noise: whether that is a copy is decided alike.
#[test]
fn trees_and_graphs_without_penalty_accept_the_same_pairs() {
    let mut accepted = 0;
    for seed in 0..200 {
        let mut draw = stream(seed, 1);
        let noise = 10f64.powf(-4.0 - 5.0 * draw.random::<f64>());
        let mut x = Array2::from_shape_simple_fn((30, 2), || f64::from(draw.random_range(-4..5)));
        for mut row in x.rows_mut() {
            row[1] = row[0] + noise * row[1];
        }
        let s = Statistics::from_data(&x).unwrap();
        let tree = chow_liu(&s).is_ok();
        accepted += usize::from(tree);
        for method in METHODS {
            let lasso = GraphicalLasso { l1: 0.0.into(), method, ..Default::default() };
            assert_eq!(lasso.fit(&s).is_ok(), tree, "{seed} {noise} {method:?}");
        }
    }
    assert!((50..150).contains(&accepted), "{accepted}");
}

/// Without a penalty the solution is the inverse: nothing is left to iterate, and what is not proved is rounding.
#[test]
fn without_penalty_the_inverse_is_returned_at_once() {
    let c = array![[1.0, 0.5, 0.2], [0.5, 1.0, -0.3], [0.2, -0.3, 1.0]];
    let s = Statistics::from_covariance(c.view(), 50).unwrap();
    for method in METHODS {
        let lasso = GraphicalLasso { l1: 0.0.into(), method, ..Default::default() };
        let found = lasso.fit(&s).unwrap();
        assert_eq!((found.report.status, found.report.passes), (Status::Converged, 0.0));
        let error = (found.precision.dot(&c) - Array2::<f64>::eye(3)).mapv(f64::abs).sum();
        assert!(error < 1e-14, "{error}");
    }
}

#[test]
fn an_edge_twice_is_refused() {
    let c = array![[1.0, 0.5], [0.5, 1.0]];
    let twice = [(0, 1), (1, 0)];
    assert!(closed_form(c.view(), &twice).unwrap_err().to_string().contains("twice"));
    let settings = AscentSettings::default();
    assert!(diagonal_ascent(&[1.0, 1.0], &twice, &[0.5, 0.5], &settings).is_err());
    assert!(entropy(&[1.0, 1.0], &twice, &[0.5, 0.5]).is_err());
    let graph = ItemGraph {
        means: vec![3.0, 3.0],
        variances: vec![1.0, 1.0],
        edges: twice.to_vec(),
        covariances: vec![0.5, 0.5],
        raters: vec![2, 2],
        deviation: 1.0,
    };
    assert!(ItemField::default().train(&graph, (1.0, 5.0)).is_err());
    let right = closed_form(c.view(), &[(0, 1)]).unwrap();
    assert!((right[[0, 0]] - 4.0 / 3.0).abs() < 1e-15 && (right[[0, 1]] + 2.0 / 3.0).abs() < 1e-15);
    // Small variances: the square of a covariance of 1e-200 is no number.
    let h = entropy(&[1e-200, 1e-200], &[(0, 1)], &[0.5e-200]).unwrap();
    assert!((h - (2.0 * 1e-200_f64.ln() + 0.75_f64.ln())).abs() < 1e-10);
}

#[test]
fn rank_correlations_of_a_constant_column_are_refused() {
    let x = array![[1.0, 2.0, 3.0], [1.0, 3.0, 1.0], [1.0, 1.0, 2.0], [1.0, 4.0, 2.0]];
    for found in [spearman_bridge(x.view()), kendall_bridge(x.view()), polychoric(x.view())] {
        assert_eq!(found, Err(Error::ZeroVariance { columns: vec![0] }));
    }
}

#[test]
fn asymmetric_matrices_are_refused_on_every_scale() {
    let covariance = array![[1.0, 0.5], [0.3, 1.0]];
    let s = Statistics {
        covariance,
        mean: Array1::zeros(2),
        names: fenchel_linalg::Names::NONE,
        samples: 9,
    };
    for scale in [Scale::Correlation, Scale::Covariance] {
        let lasso = GraphicalLasso { scale, ..Default::default() };
        assert!(lasso.fit(&s).unwrap_err().to_string().contains("(1, 0)"));
    }
    assert!(chow_liu(&s).is_err());
    let off = array![[0.3, 0.5], [0.5, 0.3]];
    assert!(shortcut(off.view()).unwrap_err().to_string().contains("expected 1"));
}

#[test]
fn large_rows_and_steps_give_numbers_or_errors() {
    let mut out = [0.0; 3];
    row_prox(&[1e308; 3], &[1.0; 3], 1e307, &mut out, &mut RowOrder::default()).unwrap();
    assert!(out.iter().all(|x| (x / 0.9e308 - 1.0).abs() < 1e-14), "{out:?}");
    let settings =
        AscentSettings { step: 1e300, kind: DiagonalStep::Additive, ..Default::default() };
    let edges = [(0, 1), (1, 2), (0, 2)];
    match diagonal_ascent(&[1.0; 3], &edges, &[0.4; 3], &settings) {
        Ok(found) => assert!(found.weights.iter().all(|w| w.is_finite())),
        Err(error) => assert!(error.to_string().contains("step"), "{error}"),
    }
}

/// Three users, three items. Centred by item: (1, -1, .), (1, 0, -1), (., 1, -1) times halves.
#[test]
fn cosines_are_over_all_users() {
    let ratings =
        [(0, 0, 4.0), (1, 0, 2.0), (0, 1, 5.0), (1, 1, 3.0), (2, 1, 4.0), (3, 2, 1.0), (0, 2, 3.0)];
    let train = Ratings::new(4, 3, ratings).unwrap();
    let test = Ratings::new(4, 3, [(2, 0, 3.0), (3, 1, 2.0)]).unwrap();
    // Item 0 is (1, -1, ., .), item 1 (1, -1, 0, .), item 2 (1, ., ., -1): cos(0, 1) = 1, cos(0, 2) = cos(1, 2) = 1/2.
    // User 2 rated item 1 at its mean: 3. User 3 rated item 2 one below its mean of 2: item 1 is 4 - 1 = 3.
    for fixed in [true, false] {
        assert_eq!(cosine(&train, &test, 2, fixed).unwrap(), (0.0 + 1.0) / 2.0);
    }
}

/// Few samples and a small penalty: Newton's model is nearly singular. Optima by block coordinate descent and by a proximal Newton method
/// written apart.
#[test]
fn quic_hands_over_where_its_model_cannot_be_solved() {
    let wide = array![[-3.0, 2.0, 4.0], [4.0, -1.0, 3.0]];
    let four = array![[0.0, 1.0, -3.0, 0.0], [1.0, 1.0, -4.0, -3.0], [-1.0, 4.0, 4.0, 2.0]];
    for (x, scale, optimum) in
        [(wide, Scale::Covariance, -9.717), (four, Scale::Correlation, -9.444)]
    {
        let lasso = GraphicalLasso { l1: 1e-3.into(), scale, ..Default::default() };
        let report = lasso.fit(&x).unwrap().report;
        assert_eq!(report.status, Status::Converged, "{report}");
        let shift = if scale == Scale::Covariance {
            0.0
        } else {
            let s = Statistics::from_data(&x).unwrap();
            s.covariance.diag().iter().map(|v| v.ln()).sum::<f64>()
        };
        let found = report.certificate.objective().unwrap();
        assert!(
            (found - optimum).abs() < 1e-3 || (found + shift - optimum).abs() < 1e-3,
            "{report} {shift}"
        );
        assert!(report.passes < 200.0, "{report}");
    }
}

/// With two variables the optimum of the penalty on partial correlations is known: minimise `2 log`-likelihood over `r`.
#[test]
fn partial_correlations_near_one_converge() {
    for r in [0.5, 0.999, 0.9999, 0.99999] {
        let c = array![[1.0, r], [r, 1.0]];
        let s = Statistics::from_covariance(c.view(), 100).unwrap();
        let report = PartialCorrelationLasso::default().fit(&s).unwrap().report;
        assert_eq!(report.status, Status::Converged, "{r}: {report}");
        let stop =
            Stop { absolute: 0.0, relative: 1e-18, ..PartialCorrelationLasso::default().stop };
        let tight = PartialCorrelationLasso { stop, ..Default::default() };
        let report = tight.fit(&s).unwrap().report;
        assert_eq!(report.status, Status::Stalled, "{r}: {report}");
        // By golden section on t = -R_01 in (-1, 1), with the best d for it: d^2 = 1 / (1 - r t).
        let f = |t: f64| 2.0 - (1.0 - t * t).ln() + 2.0 * (1.0 - r * t).ln() + 0.2 * t.abs();
        let best = (0..2_000_001)
            .map(|k| f(f64::from(k) * 1e-6 - 1.0 + 1e-12))
            .fold(f64::INFINITY, f64::min);
        let found = report.certificate.objective().unwrap();
        assert!((found - best).abs() < 1e-3 * best.abs().max(1.0), "{r}: {found} {best}");
    }
}

/// The covariances are of centred columns. Squares that leave the range of the numbers are an error that says so.
#[test]
fn offsets_change_nothing_and_sizes_beyond_the_range_are_refused() {
    let x = array![[1.0, 2.0, 0.0], [3.0, 1.0, 1.0], [0.0, 4.0, 4.0], [2.0, 2.0, 1.0]];
    let near = GraphicalLasso::default().fit(&x).unwrap();
    let far = GraphicalLasso::default().fit(&(&x + 1e6)).unwrap();
    let worst = (&near.precision - &far.precision).iter().fold(0.0_f64, |m, d| m.max(d.abs()));
    // Sums of whole numbers are exact, and the mean is known to 1e-10.
    assert!(worst < 1e-8, "{worst}");
    let small = GraphicalLasso::default().fit(&(&x * 1e-200)).unwrap_err();
    assert_eq!(small, Error::ZeroVariance { columns: vec![0, 1, 2] });
    // Variances of 1e-320 have four digits.
    let subnormal = GraphicalLasso::default().fit(&(&x * 1e-160)).unwrap_err();
    assert_eq!(subnormal, Error::ZeroVariance { columns: vec![0, 1, 2] });
    let large = GraphicalLasso::default().fit(&(&x * 1e200)).unwrap_err();
    assert!(large.to_string().contains("overflows"), "{large}");
}
