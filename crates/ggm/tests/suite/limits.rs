//! Units, ranks and sizes at the limits: the same answer in other units, a refusal by name where there is none.

use fenchel_ggm::bethe::propagation::gaussian_belief_propagation;
use fenchel_ggm::bethe::{AscentSettings, closed_form, diagonal_ascent, entropy, laplacian};
use fenchel_ggm::covariance::missing;
use fenchel_ggm::covariance::rank::{kendall_bridge, nearest_correlation, polychoric, tau};
use fenchel_ggm::covariance::shrinkage::ledoit_wolf;
use fenchel_ggm::glasso::Problem;
use fenchel_ggm::item_field::baselines::{FactorModel, SgdSettings, cosine, item_means};
use fenchel_ggm::joint::JointGraphicalLasso;
use fenchel_ggm::neighbourhood::neighbourhood_selection;
use fenchel_ggm::path::{Path, grid};
use fenchel_ggm::scale_free::erg::ErgSampler;
use fenchel_ggm::scale_free::{DegreePrior, NodeGroups};
use fenchel_ggm::synthetic::{chain, diagonally_dominant, power_law};
use fenchel_ggm::{
    Error, Fit, GaussianCrf, GaussianModel, GraphicalLasso, ItemField, LatentGraphicalLasso,
    Method, PenaltyWeights, Ratings, Scale, ScaleFree, Statistics, chow_liu, sample,
};
use fenchel_linalg::Invalid;
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::random::stream;
use fenchel_optim::{Report, Status, Stop};
use ndarray::{Array1, Array2, array};

fn data(n: usize, p: usize, seed: u64) -> Array2<f64> {
    let theta = diagonally_dominant(p, &chain(p), -0.4);
    sample(theta.view(), &Array1::zeros(p), n, &mut stream(seed, 0)).unwrap()
}

fn with_holes(x: &Array2<f64>, every: usize) -> Array2<f64> {
    Array2::from_shape_fn(x.raw_dim(), |(i, j)| {
        if (7 * i + 3 * j + i * j) % every == 0 { f64::NAN } else { x[[i, j]] }
    })
}

/// The objective of EM is minus twice the mean log-likelihood of what is there, plus the penalty: by the density of every row's known part.
fn observed(x: &Array2<f64>, model: &GaussianModel) -> f64 {
    let mut sum = 0.0;
    for row in x.rows() {
        let known: Vec<usize> = (0..row.len()).filter(|&j| !row[j].is_nan()).collect();
        let c = Array2::from_shape_fn((known.len(), known.len()), |(a, b)| {
            model.covariance[[known[a], known[b]]]
        });
        let (inverse, log_det) = crate::common::inverse(&c).unwrap();
        let d: Array1<f64> = known.iter().map(|&j| row[j] - model.mean[j]).collect();
        sum += inverse.dot(&d).dot(&d) + log_det;
    }
    sum / x.nrows() as f64
}

#[test]
fn expectation_maximisation_falls_on_both_scales() {
    for (seed, scale) in [(1, Scale::Correlation), (2, Scale::Correlation), (3, Scale::Covariance)]
    {
        let x = with_holes(&data(60, 6, seed), 5) * &array![1.0, 10.0, 0.1, 3.0, 1.0, 50.0];
        let l1 = if scale == Scale::Correlation { 0.1 } else { 0.01 };
        let lasso = GraphicalLasso { l1: l1.into(), scale, ..GraphicalLasso::default() };
        let found = missing::em(x.view(), &lasso, 500, 1e-7).unwrap();
        assert_eq!(found.status, Status::Converged);
        assert!(found.objective.len() > 4, "{:?}", found.objective);
        assert!(found.objective.windows(2).all(|w| w[1] <= w[0] + 1e-5), "{:?}", found.objective);
        let units = match scale {
            Scale::Covariance => Array1::ones(6),
            Scale::Correlation => {
                missing::mean_imputed(x.view()).unwrap().covariance.diag().mapv(f64::sqrt)
            }
        };
        let mut value = observed(&x, &found.model);
        for ((i, j), t) in found.model.precision.indexed_iter().filter(|((i, j), _)| i != j) {
            value += l1 * t.abs() * units[i] * units[j];
        }
        let last = found.objective.last().unwrap();
        assert!((value - last).abs() < 1e-6 * last.abs(), "{value} {last}");
        let none = missing::em(x.view(), &lasso, 0, 1e-7).unwrap();
        assert_eq!(none.status, Status::PassLimit);
    }
}

#[test]
fn expectation_maximisation_does_not_depend_on_where_zero_is() {
    let mut x = data(60, 4, 1);
    x[[3, 1]] = f64::NAN;
    x[[7, 2]] = f64::NAN;
    let lasso = GraphicalLasso { l1: 0.05.into(), scale: Scale::Covariance, ..Default::default() };
    let near = missing::em(x.view(), &lasso, 100, 1e-9).unwrap().model;
    for far in [1e6, 1e8] {
        let moved = missing::em((&x + far).view(), &lasso, 100, 1e-9).unwrap().model;
        let worst = (&moved.precision - &near.precision).iter().fold(0.0, |m, d| d.abs().max(m));
        // The data themselves are rounded to 1e-16 of the shift.
        assert!(worst < 1e-5, "{far}: {worst}");
    }
}

#[test]
fn zeros_of_both_signs_are_ties() {
    let (a, b): (&[f64], &[f64]) = (&[0.0, -0.0, 1.0], &[1.0, 2.0, 3.0]);
    // Pairs: one tied in a, two concordant. tau-b = 2 / sqrt(2 * 3).
    assert!((tau(a, b) - 2.0 / 6.0_f64.sqrt()).abs() < 1e-15);
    assert!((tau(b, a) - 2.0 / 6.0_f64.sqrt()).abs() < 1e-15);
    let x = data(80, 4, 5).mapv(|v| (v * 2.0).round());
    let plain = x.mapv(|v| if v == 0.0 { 0.0 } else { v });
    assert!(x.iter().any(|v| *v == 0.0 && v.is_sign_negative()));
    assert_eq!(kendall_bridge(x.view()).unwrap(), kendall_bridge(plain.view()).unwrap());
}

#[test]
fn all_methods_solve_problems_with_few_samples() {
    let statistics = Statistics::from_data(&data(20, 60, 1)).unwrap();
    let fit = |l1: f64, method| {
        let lasso = GraphicalLasso { l1: l1.into(), method, ..GraphicalLasso::default() };
        lasso.fit(&statistics).unwrap().report
    };
    let reports = [Method::Quic, Method::Admm, Method::BlockCoordinate].map(|m| fit(0.1, m));
    let value = |report: &Report| report.certificate.objective().unwrap();
    for report in &reports {
        assert_eq!(report.status, Status::Converged, "{report}");
        assert!((value(report) - value(&reports[0])).abs() < 1e-4);
    }
}

/// Data times u and weights times u^2 are the same problem.
#[test]
fn the_covariance_scale_does_not_care_for_units() {
    let x = data(200, 8, 1);
    let statistics = |u: f64| Statistics::from_data(&(&x * u)).unwrap();
    let same = |name: &str, fit: &dyn Fn(f64) -> Result<(Report, Array2<f64>), Error>| {
        let (plain, theta) = fit(1.0).unwrap();
        assert_eq!(plain.status, Status::Converged, "{name}: {plain}");
        for u in [0.001, 0.25, 1e4] {
            let (report, other) = fit(u).unwrap();
            assert_eq!(report.status, Status::Converged, "{name} {u}: {report}");
            assert!(report.passes <= 3.0 * plain.passes + 10.0, "{name} {u}: {report}");
            let worst = (&other * (u * u) - &theta).iter().fold(0.0, |m: f64, d| m.max(d.abs()));
            assert!(worst < 0.01, "{name} {u}: {worst}");
            // log det of the precision falls by 2 p log u.
            let (a, b) = (plain.certificate.objective(), report.certificate.objective());
            let shift = 2.0 * theta.nrows() as f64 * u.ln();
            assert!((b.unwrap() - a.unwrap() - shift).abs() < 1e-3, "{name} {u}");
        }
    };
    let scale = Scale::Covariance;
    same("scale-free", &|u| {
        let fit = ScaleFree { strength: 0.1 * u * u, scale, ..Default::default() };
        fit.fit(&statistics(u)).map(|m| (m.report, m.precision))
    });
    same("node groups", &|u| {
        let fit = NodeGroups { strength: 0.1 * u * u, scale, ..Default::default() };
        fit.fit(&statistics(u)).map(|m| (m.report, m.precision))
    });
    same("hidden variables", &|u| {
        let (l1, rank_penalty) = ((0.1 * u * u).into(), 0.5 * u * u);
        let fit = LatentGraphicalLasso { l1, rank_penalty, scale, ..Default::default() };
        fit.fit(&statistics(u)).map(|m| (m.report, m.observed.precision))
    });
    same("joint", &|u| {
        let (l1, similarity) = (0.05 * u * u, 0.05 * u * u);
        let fit = JointGraphicalLasso { l1, similarity, scale, ..Default::default() };
        fit.fit(&[statistics(u)]).map(|m| (m.report, m.models[0].precision.clone()))
    });
    same("conditional field", &|u| {
        let (l1, input_l1) = (0.1 * u * u, 0.1 * u * u);
        let fit = GaussianCrf { l1, input_l1, scale, ..Default::default() };
        fit.fit_statistics(&statistics(u), 3, Fit::new()).map(|m| (m.report, m.precision))
    });
}

#[test]
fn a_path_says_the_penalties_that_it_used() {
    let statistics = Statistics::from_data(&data(100, 6, 2)).unwrap();
    let path =
        GraphicalLasso::default().fit_path(&statistics, &grid(0.5, 0.1, 6).unwrap()).unwrap();
    for point in &path.points {
        let lasso = GraphicalLasso { l1: point.l1.into(), ..GraphicalLasso::default() };
        assert_eq!(lasso.fit(&statistics).unwrap().edges().len(), point.edges());
    }
    let mut forbidden = Array2::from_elem((6, 6), 1.0);
    forbidden[[0, 1]] = f64::INFINITY;
    forbidden[[1, 0]] = f64::INFINITY;
    let lasso = GraphicalLasso { l1: PenaltyWeights::Each(forbidden), ..GraphicalLasso::default() };
    let last = lasso.fit_path(&statistics, &[0.2, 0.0]).unwrap().points.pop().unwrap();
    assert_eq!(last.edges(), 14);
    let short = Path { mean: vec![0.0; 5], ..path.clone() };
    assert!(path.points[0].model(&short).unwrap_err().to_string().contains("mean"));
    assert!(path.ebic(f64::NAN).is_err());
    let empty = Path { points: Vec::new(), ..path };
    assert!(empty.ebic(0.5).is_err());
}

#[test]
fn bethe_likelihood_is_exact_on_trees() {
    let found = |p, edges: &[(u32, u32)], spread: &[f64]| {
        laplacian::bethe(p, edges, spread, 1e-4, &LbfgsSettings::default()).unwrap().weights
    };
    assert_eq!(found(3, &[(0, 1), (1, 2)], &[1.0, 4.0]), [1.0, 0.25]);
    // A tree beside a triangle.
    let edges = [(0, 1), (2, 3), (3, 4), (2, 4)];
    let w = found(5, &edges, &[2.0, 1.0, 1.0, 1.0]);
    assert_eq!(w[0], 0.5);
    assert!((w[1] - w[2]).abs() < 1e-3 && (w[1] - w[3]).abs() < 1e-3);
    assert!(laplacian::bethe(2, &[(0, 1)], &[1.0], 0.0, &LbfgsSettings::default()).is_err());
}

#[test]
fn covariances_are_judged_in_correlations() {
    let refused = |c: Array2<f64>| Statistics::from_covariance(c.view(), 10).unwrap_err();
    let indefinite = refused(array![[1e12, 0.0, 0.0], [0.0, 1.0, 2.0], [0.0, 2.0, 1.0]]);
    assert!(
        matches!(indefinite, Error::NotPositiveSemidefinite { value } if (value + 1.0).abs() < 1e-6)
    );
    let asymmetric = refused(array![[1e15, 0.0, 0.0], [0.0, 1.0, 0.9], [0.0, -0.9, 1.0]]);
    assert!(asymmetric.to_string().contains("entry (2, 1)"), "{asymmetric}");
    let tiny = refused(array![[1e-320, 0.0], [0.0, 1.0]]);
    assert!(tiny.to_string().contains("variance 0"), "{tiny}");
    let off = refused(array![[0.0, 0.5], [0.5, 1.0]]);
    assert!(matches!(off, Error::NotPositiveSemidefinite { .. }));
    for u in [1e-150, 1e150, 1e307] {
        let c = array![[1.0, 0.5], [0.5, 1.0]] * u;
        assert_eq!(Statistics::from_covariance(c.view(), 10).unwrap().covariance, c);
    }
}

#[test]
fn problems_without_an_optimum_are_refused() {
    let few = Statistics::from_data(&data(3, 5, 1)).unwrap();
    let unbounded = |result: Result<Report, Error>| match result {
        Err(Error::Unbounded { .. }) => {}
        other => panic!("{other:?}"),
    };
    unbounded(ScaleFree { strength: 0.0, ..Default::default() }.fit(&few).map(|m| m.report));
    let prior = DegreePrior::Custom(vec![0.0; 4]);
    unbounded(ScaleFree { prior, ..Default::default() }.fit(&few).map(|m| m.report));
    unbounded(NodeGroups { strength: 0.0, ..Default::default() }.fit(&few).map(|m| m.report));
    let joint = JointGraphicalLasso { l1: 0.0, similarity: 0.0, ..Default::default() };
    unbounded(joint.fit(std::slice::from_ref(&few)).map(|m| m.report));
    let latent = LatentGraphicalLasso { l1: 0.0.into(), ..Default::default() };
    unbounded(latent.fit(&few).map(|m| m.report));
    let field = GaussianCrf { l1: 0.0, input_l1: 0.0, ..Default::default() };
    unbounded(field.fit_statistics(&few, 3, Fit::new()).map(|m| m.report));
    // Enough samples: the optimum is the inverse.
    let many = Statistics::from_data(&data(50, 5, 1)).unwrap();
    let stop = Stop { absolute: 1e-9, relative: 0.0, ..Stop::default() };
    let free = ScaleFree { strength: 0.0, stop, ..Default::default() }.fit(&many).unwrap();
    let (inverse, _) = crate::common::inverse(&many.covariance).unwrap();
    assert!((&free.precision - &inverse).iter().all(|d| d.abs() < 1e-3 * inverse[[0, 0]]));
}

#[test]
fn statistics_that_overflow_or_do_not_fit_are_refused() {
    let error = Statistics::from_data(&(data(30, 5, 1) * 1e300)).unwrap_err().to_string();
    assert!(error.contains("overflows"), "{error}");
    assert!(missing::mean_imputed((data(30, 5, 1) * 1e300).view()).is_err());
    let fine = Statistics::from_data(&data(30, 5, 1)).unwrap();
    let mut hole = fine.clone();
    hole.covariance[[1, 3]] = f64::NAN;
    let short = Statistics { mean: Array1::zeros(4), ..fine };
    for bad in [hole, short] {
        assert!(GraphicalLasso::default().fit(&bad).is_err());
        assert!(ScaleFree::default().fit(&bad).is_err());
        assert!(JointGraphicalLasso::default().fit(std::slice::from_ref(&bad)).is_err());
        assert!(LatentGraphicalLasso::default().fit(&bad).is_err());
        assert!(neighbourhood_selection(&bad, 0.1).is_err());
        assert!(chow_liu(&bad).is_err());
    }
}

#[test]
fn ordinal_columns_at_the_limits() {
    let many = Array2::from_shape_fn((60, 2), |(i, j)| (i * (j + 1)) as f64);
    let error = polychoric(many.view()).unwrap_err().to_string();
    assert!(error.contains("column 0 has 60"), "{error}");
}

#[test]
fn degrees_of_an_odd_number_of_nodes() {
    for p in [5, 7, 21] {
        let edges = power_law(p, 50.0, &mut stream(1, 0)).unwrap();
        // All degrees are 1 but one, which is 2.
        assert_eq!(edges.len(), p / 2 + 1);
    }
}

#[test]
fn sums_of_squares_stay_in_range() {
    let x = data(30, 5, 1);
    let expected = ledoit_wolf(&x).unwrap().shrinkage;
    for u in [1e-100, 1e-80, 1e80] {
        let found = ledoit_wolf(&(&x * u)).unwrap().shrinkage;
        assert!((found - expected).abs() < 1e-12, "{u}: {found} {expected}");
    }
    for u in [1e-200, 1e200] {
        let c = array![[1.0, 0.5], [0.5, 1.0]] * u;
        let tree = chow_liu(&Statistics::from_covariance(c.view(), 9).unwrap()).unwrap();
        assert!((tree.precision[[0, 1]] * u + 0.5 / 0.75).abs() < 1e-12);
        let theta = closed_form(c.view(), &[(0, 1)]).unwrap();
        assert!((theta[[0, 0]] * u - 1.0 / 0.75).abs() < 1e-12);
        let edges = [(0, 1), (1, 2), (0, 2)];
        let settings = AscentSettings::default();
        let plain = diagonal_ascent(&[1.0; 3], &edges, &[0.4; 3], &settings).unwrap();
        let other = diagonal_ascent(&[u; 3], &edges, &[0.4 * u; 3], &settings).unwrap();
        for (a, b) in plain.weights.iter().zip(&other.weights) {
            assert!((a - b * u).abs() < 1e-9 * a, "{a} {b}");
        }
    }
}

#[test]
fn iterations_say_how_they_ended() {
    let statistics = Statistics::from_data(&data(10, 30, 1)).unwrap();
    assert!(neighbourhood_selection(&statistics, 0.3).unwrap().converged);
    assert!(!neighbourhood_selection(&statistics, 1e-8).unwrap().converged);
    let beliefs = |tolerance, rounds| {
        gaussian_belief_propagation(&[2.0, 2.0], &[(0, 1, -1.0)], &[1.0, 0.0], tolerance, rounds)
    };
    assert!(beliefs(f64::NAN, 10).is_err());
    assert_eq!(beliefs(1e-9, 0).unwrap().change, f64::INFINITY);
    assert!(nearest_correlation(array![[4.0, 1.0], [1.0, 9.0]].view(), 0.0).is_err());
    assert!(nearest_correlation(array![[1.0, 0.5], [0.5, 1.0]].view(), 0.0).unwrap().converged);
    // Beyond 1 by sampling pairs: the nearest is 1. Beyond all correlations: refused.
    let near = nearest_correlation(array![[1.0, 1e5], [1e5, 1.0]].view(), 0.0).unwrap();
    assert!((near.correlation[[0, 1]] - 1.0).abs() <= 1e-9, "{near:?}");
    assert!(nearest_correlation(array![[1.0, 1e150], [1e150, 1.0]].view(), 0.0).is_err());
}

#[test]
fn arguments_that_do_not_fit_are_refused_by_name() {
    let ratings = |users, items| {
        Ratings::new(users, items, [(0, 0, 5.0), (0, 1, 4.0), (1, 0, 1.0), (1, 1, 2.0)]).unwrap()
    };
    let (train, wide) = (ratings(2, 2), ratings(2, 3));
    let field = ItemField::default();
    let graph = field.graph(&train).unwrap();
    for range in [(f64::NAN, 5.0), (5.0, 1.0), (f64::INFINITY, 5.0)] {
        assert!(field.train(&graph, range).unwrap_err().to_string().contains("range"));
    }
    let mut other = graph.clone();
    other.means.push(0.0);
    assert!(field.train(&other, (1.0, 5.0)).is_err());
    let test = |error: Error| assert!(error.to_string().contains("items of the test"), "{error}");
    test(item_means(&train, &wide).unwrap_err());
    test(cosine(&train, &wide, 3, true).unwrap_err());
    let settings = SgdSettings { passes: 20, step: 0.01, decay: 1.0, l2: 0.01, seed: 1 };
    let factors = FactorModel::fit(&train, 2, &settings).unwrap();
    test(factors.mean_absolute_error(&train, &wide).unwrap_err());
    for step in [f64::NAN, -1.0, 1e6] {
        let error = FactorModel::fit(&train, 2, &SgdSettings { step, ..settings }).unwrap_err();
        assert!(error.to_string().contains("step"), "{error}");
    }
    assert!(entropy(&[1.0], &[(0, 5)], &[0.1]).is_err());
    assert!(entropy(&[1.0, 1.0], &[(0, 1)], &[]).is_err());
    assert!(ErgSampler::new(4, &DegreePrior::default(), f64::NAN).is_err());
    assert!(grid(1.0, 0.5, usize::MAX).is_err());
    let many = sample(Array2::eye(2).view(), &Array1::zeros(2), usize::MAX, &mut stream(1, 0));
    assert!(matches!(many, Err(Error::Refused(_))), "{many:?}");
    let p = [0.0, f64::NAN];
    assert!(matches!(
        sample(Array2::eye(2).view(), &Array1::from(p.to_vec()), 3, &mut stream(1, 0)),
        Err(Error::Invalid(Invalid::NonFinite { .. }))
    ));
    let c = Array2::<f64>::eye(2);
    assert!(Problem::new(c.view(), &PenaltyWeights::Uniform(f64::NAN)).is_err());
}

/// EM without time, or with a lasso that may do nothing, has not converged: that its objective stays tells nothing.
#[test]
fn em_without_time_has_not_converged() {
    let mut x = Array2::from_shape_fn((30, 3), |(i, j)| ((7 * i + 3 * j * i * i) % 11) as f64);
    x[[3, 1]] = f64::NAN;
    x[[7, 2]] = f64::NAN;
    let lasso = |stop| GraphicalLasso { stop, ..GraphicalLasso::default() };
    let usual = GraphicalLasso::default().stop;
    let late = lasso(Stop { max_seconds: Some(0.0), ..usual });
    assert_eq!(missing::em(x.view(), &late, 100, 1e-6).unwrap().status, Status::TimeLimit);
    let none = lasso(Stop { max_passes: 0.0, ..usual });
    assert_eq!(missing::em(x.view(), &none, 100, 1e-6).unwrap().status, Status::PassLimit);
    assert_eq!(missing::em(x.view(), &lasso(usual), 100, 1e-6).unwrap().status, Status::Converged);
}
