//! The graphical lasso against closed forms, an independent solver, and its own dual.

use std::ops::ControlFlow;

use fenchel_ggm::glasso::{GlassoSettings, GlassoState, Problem, components, graphical_lasso};
use fenchel_ggm::synthetic::{barabasi_albert, chain, diagonally_dominant};
use fenchel_ggm::{Error, Method, PenaltyWeights};
use fenchel_linalg::Invalid;
use fenchel_optim::random::stream;
use fenchel_optim::{Cadence, Progress, Refusal, Status, Stop};
use ndarray::{Array2, array};
use proptest::prelude::*;
use rand::RngExt;

use crate::common::{inverse, ista, objective, statistics, violation};

const METHODS: [Method; 3] = [Method::Quic, Method::BlockCoordinate, Method::Admm];

fn tight(method: Method, gap: f64) -> GlassoSettings {
    let stop = Stop { absolute: gap, relative: 0.0, max_passes: 5000.0, ..Stop::default() };
    GlassoSettings { method, stop, ..GlassoSettings::default() }
}

fn solve(c: &Array2<f64>, weights: &PenaltyWeights, settings: &GlassoSettings) -> Array2<f64> {
    let problem = Problem::new(c.view(), weights).unwrap();
    let solution = graphical_lasso(&problem, settings, None, &mut ()).unwrap();
    assert_eq!(solution.report.status, Status::Converged, "{}", solution.report);
    solution.state.precision()
}

/// A covariance matrix of rank `min(n, p)`, well scaled.
fn covariance(p: usize, n: usize, seed: u64) -> Array2<f64> {
    let edges = barabasi_albert(p, 2.min(p - 1), &mut stream(seed, 1)).unwrap();
    statistics(diagonally_dominant(p, &edges, -0.2).view(), n, seed).covariance
}

#[test]
fn two_variables_have_a_closed_form() {
    for (c12, l1, diagonal) in [(0.5_f64, 0.2, false), (-0.8, 0.1, true), (0.3, 0.3, false)] {
        let c = array![[1.0, c12], [c12, 2.0]];
        let weights =
            if diagonal { PenaltyWeights::WithDiagonal(l1) } else { PenaltyWeights::Uniform(l1) };
        let add = if diagonal { l1 } else { 0.0 };
        let s = c12.signum() * (c12.abs() - l1).max(0.0);
        let (expected, _) = inverse(&array![[1.0 + add, s], [s, 2.0 + add]]).unwrap();
        for method in METHODS {
            let found = solve(&c, &weights, &tight(method, 1e-13));
            let worst = (&found - &expected).mapv(f64::abs).into_iter().fold(0.0, f64::max);
            // The gap is quadratic in the error.
            assert!(worst < 1e-6, "{method:?} {c12} {l1}: {worst}");
        }
    }
}

#[test]
fn all_methods_reach_the_optimum_of_an_independent_solver() {
    let c = covariance(8, 20, 3);
    let mut each = Array2::from_shape_fn((8, 8), |(i, j)| 0.02 + 0.01 * ((i + j) % 4) as f64);
    each[[0, 3]] = 0.0;
    each[[3, 0]] = 0.0;
    for weights in [
        PenaltyWeights::Uniform(0.08),
        PenaltyWeights::WithDiagonal(0.05),
        PenaltyWeights::Each(each),
    ] {
        let expected = objective(&c, &weights, &ista(&c, &weights, 3000));
        for method in METHODS {
            let found = solve(&c, &weights, &tight(method, 1e-10));
            let value = objective(&c, &weights, &found);
            assert!((value - expected).abs() < 1e-8, "{method:?}: {value} {expected}");
            assert!(violation(&c, &weights, &found) < 1e-4, "{method:?}");
        }
    }
}

#[test]
fn at_the_optimum_the_linear_part_is_p() {
    let c = covariance(30, 20, 5);
    let weights = PenaltyWeights::Uniform(0.15);
    let found = solve(&c, &weights, &tight(Method::Quic, 1e-13));
    let problem = Problem::new(c.view(), &weights).unwrap();
    assert!((problem.linear(found.view()) - 30.0).abs() < 1e-6);
    assert!(violation(&c, &weights, &found) < 1e-6);
    assert!((problem.objective(found.view()) - objective(&c, &weights, &found)).abs() < 1e-10);
    let (w, _) = inverse(&found).unwrap();
    assert!(problem.objective(found.view()) - problem.dual(found.view(), w.view()) < 1e-10);
}

#[test]
fn quic_converges_quadratically() {
    let c = covariance(60, 120, 7);
    let weights = PenaltyWeights::Uniform(0.05);
    let problem = Problem::new(c.view(), &weights).unwrap();
    let mut gaps = Vec::new();
    let mut watch = |progress: &Progress, _: &_| {
        gaps.push(progress.certificate.value());
        ControlFlow::Continue(())
    };
    let mut settings = tight(Method::Quic, 1e-11);
    settings.stop.check = Cadence::Every(1.0);
    graphical_lasso(&problem, &settings, None, &mut watch).unwrap();
    let drops: Vec<f64> = gaps.windows(2).map(|g| (g[0] / g[1].max(1e-15)).log10()).collect();
    let last = drops.len();
    assert!((3..=15).contains(&last), "{gaps:?}");
    // From one step to the next the number of correct digits grows faster and faster.
    assert!(drops[last - 1] > drops[last - 3], "{gaps:?}");
    assert!(gaps[last] <= 1e-11);
}

/// Large and dense enough for gradient steps before the Newton steps.
#[test]
fn dense_solutions_are_those_of_the_other_methods() {
    let c = covariance(120, 60, 9);
    for weights in
        [PenaltyWeights::Uniform(0.12), PenaltyWeights::Each(Array2::from_elem((120, 120), 0.15))]
    {
        let problem = Problem::new(c.view(), &weights).unwrap();
        let run =
            |method, gap| graphical_lasso(&problem, &tight(method, gap), None, &mut ()).unwrap();
        let (quic, other) = (run(Method::Quic, 1e-9), run(Method::BlockCoordinate, 1e-6));
        assert_eq!(quic.report.status, Status::Converged, "{}", quic.report);
        assert!(quic.state.sparse().edges.len() > 900, "{}", quic.state.sparse().edges.len());
        let values = [&quic, &other].map(|s| s.report.certificate.objective().unwrap());
        assert!(values[0] <= values[1] + 1e-9 && values[1] <= values[0] + 1e-6, "{values:?}");
        assert!(violation(&c, &weights, &quic.state.precision()) < 1e-3);
        // Many factorisations a pass: these were gradient steps.
        assert!(quic.report.oracle_calls as f64 > 4.0 * quic.report.passes, "{}", quic.report);
    }
}

#[test]
fn screening_changes_nothing_but_the_work() {
    let c = covariance(25, 30, 11);
    let weights = PenaltyWeights::Uniform(0.32);
    let problem = Problem::new(c.view(), &weights).unwrap();
    let parts = components(&problem);
    assert!(parts.len() > 2 && parts.iter().any(|part| part.len() > 2), "{parts:?}");
    let screened = solve(&c, &weights, &tight(Method::Quic, 1e-12));
    let whole =
        solve(&c, &weights, &GlassoSettings { screening: false, ..tight(Method::Quic, 1e-12) });
    assert!((&screened - &whole).iter().all(|d| d.abs() < 1e-5));
    // The components of the solution are those of the thresholded covariances.
    let found = fenchel_ggm::model::graph_of(whole.view()).unwrap().components();
    assert_eq!(found, parts);
}

#[test]
fn above_the_largest_weight_there_is_no_edge() {
    let c = covariance(12, 40, 13);
    let largest = Problem::largest_weight(c.view());
    let found = solve(&c, &PenaltyWeights::Uniform(largest), &tight(Method::Quic, 1e-12));
    for ((i, j), &x) in found.indexed_iter() {
        assert!((x - if i == j { 1.0 / c[[i, i]] } else { 0.0 }).abs() < 1e-10);
    }
    let found = solve(&c, &PenaltyWeights::Uniform(0.95 * largest), &tight(Method::Quic, 1e-12));
    assert_eq!(fenchel_ggm::model::graph_of(found.view()).unwrap().edge_count(), 1);
}

#[test]
fn the_spectrum_is_within_its_bounds() {
    let (p, l1) = (20, 0.1);
    let c = covariance(p, 10, 17);
    let found = solve(&c, &PenaltyWeights::WithDiagonal(l1), &tight(Method::Quic, 1e-12));
    let values = fenchel_linalg::factor::symmetric_eigen(found.view()).unwrap().values;
    let top = fenchel_linalg::factor::symmetric_eigen(c.view()).unwrap().values[p - 1];
    assert!(values[0] >= 1.0 / (top + p as f64 * l1) - 1e-9);
    assert!(values[p - 1] <= p as f64 / l1 + 1e-9);
}

#[test]
fn infinite_weights_forbid_edges_and_zero_weights_leave_them_free() {
    let p = 10;
    let c = covariance(p, 200, 19);
    let edges = chain(p);
    let mut each = Array2::from_elem((p, p), f64::INFINITY);
    each.diag_mut().fill(0.0);
    for &(i, j) in &edges {
        each[[i as usize, j as usize]] = 0.0;
        each[[j as usize, i as usize]] = 0.0;
    }
    let weights = PenaltyWeights::Each(each);
    let found = solve(&c, &weights, &tight(Method::Quic, 1e-12));
    // On a tree the maximum likelihood is the sum of the inverses over edges minus those over shared nodes.
    let mut expected = Array2::<f64>::zeros((p, p));
    for i in 0..p {
        let degree = edges.iter().filter(|e| e.0 as usize == i || e.1 as usize == i).count();
        expected[[i, i]] = (1.0 - degree as f64) / c[[i, i]];
    }
    for &(i, j) in &edges {
        let (i, j) = (i as usize, j as usize);
        let det = c[[i, i]] * c[[j, j]] - c[[i, j]] * c[[i, j]];
        expected[[i, i]] += c[[j, j]] / det;
        expected[[j, j]] += c[[i, i]] / det;
        expected[[i, j]] = -c[[i, j]] / det;
        expected[[j, i]] = -c[[i, j]] / det;
    }
    assert!((&found - &expected).iter().all(|d| d.abs() < 1e-5));
}

#[test]
fn ill_conditioned_inputs_end_certified_or_refused() {
    // Duplicate columns, rank two, five samples, any scale: a finite certificate on every return.
    let duplicate = array![[1.0, 1.0, 0.3], [1.0, 1.0, 0.3], [0.3, 0.3, 1.0]];
    let rank_one = Array2::from_elem((6, 6), 2.0);
    let few = covariance(25, 5, 23);
    for (name, c) in [("duplicate", duplicate), ("rank one", rank_one), ("few", few)] {
        for scale in [1e-16, 1.0, 1e12] {
            for l1 in [1e-4, 1e-2, 0.5] {
                if name == "few" && l1 < 1e-2 {
                    continue; // 300 steps and more: below, for its certificate
                }
                let c = &c * scale;
                let weights = PenaltyWeights::Uniform(l1 * c[[0, 0]]);
                let problem = Problem::new(c.view(), &weights).unwrap();
                let mut settings = tight(Method::Quic, 1e-6);
                settings.stop.max_passes = 300.0;
                let solution = graphical_lasso(&problem, &settings, None, &mut ()).unwrap();
                let gap = solution.report.certificate.value();
                assert!(gap <= 1e-6, "{name} {scale} {l1}: {}", solution.report);
            }
        }
    }
    // The first iterate already has one.
    let c = covariance(20, 5, 29);
    let weights = PenaltyWeights::Uniform(1e-4);
    let problem = Problem::new(c.view(), &weights).unwrap();
    for method in METHODS {
        let mut settings = tight(method, 1e-12);
        settings.stop.max_passes = 1.0;
        let solution = graphical_lasso(&problem, &settings, None, &mut ()).unwrap();
        assert_eq!(solution.report.status, Status::PassLimit);
        assert!(solution.report.certificate.value().is_finite(), "{method:?}");
        assert!(inverse(&solution.state.precision()).is_some(), "{method:?}");
    }
    // No optimum: rank one and no penalty.
    let free = PenaltyWeights::Uniform(0.0);
    let c = Array2::from_elem((3, 3), 1.0);
    let problem = Problem::new(c.view(), &free).unwrap();
    let error = graphical_lasso(&problem, &GlassoSettings::default(), None, &mut ()).unwrap_err();
    assert!(matches!(error, Error::Unbounded { .. }), "{error}");
}

#[test]
fn inputs_that_failed_elsewhere_end_certified_or_refused() {
    // scikit-learn 17621: the rows of the identity as data. All covariances are -1/9, the solution's -1/9 + 0.01.
    let c = Array2::from_shape_fn((3, 3), |(i, j)| if i == j { 2.0 / 9.0 } else { -1.0 / 9.0 });
    let found = solve(&c, &PenaltyWeights::Uniform(0.01), &tight(Method::Quic, 1e-12));
    let w = Array2::from_shape_fn((3, 3), |(i, j)| c[[i, j]] + if i == j { 0.0 } else { 0.01 });
    let (expected, _) = inverse(&w).unwrap();
    assert!((&found - &expected).iter().all(|d| d.abs() < 1e-4), "{found}");
    // 12228: not a covariance matrix.
    let indefinite = array![[96.0, 12.0], [12.0, -61.0]];
    let error = Problem::new(indefinite.view(), &PenaltyWeights::Uniform(0.1)).unwrap_err();
    assert_eq!(error, Error::ZeroVariance { columns: vec![1] });
    let error = fenchel_ggm::Statistics::from_covariance(indefinite.view(), 10).unwrap_err();
    assert!(error.to_string().contains("variance 1 is -61"), "{error}");
    // 11417: positive definite, but only just; least angle regression overflowed.
    let hilbert = Array2::from_shape_fn((10, 10), |(i, j)| 1e3 / (i + j + 1) as f64);
    let solution = certified(&hilbert, 0.01);
    assert!(inverse(&solution).is_some());
    // GGLasso 41: counts with many zeros, 31 samples of more variables, units that differ by a thousand.
    let mut rng = stream(41, 0);
    let mut x = Array2::zeros((31, 50));
    for ((_, j), v) in x.indexed_iter_mut() {
        let count = if rng.random::<f64>() < 0.7 { 0 } else { rng.random_range(1..20) };
        *v = f64::from(count) * 10f64.powi(j as i32 % 4 - 2);
    }
    let c = fenchel_ggm::Statistics::from_data(&x).unwrap().covariance;
    let solution = certified(&c, 0.1);
    let smallest = fenchel_linalg::factor::symmetric_eigen(solution.view()).unwrap().values[0];
    assert!(smallest > 0.0, "{smallest}");
}

/// The solution at a gap of 1e-6, absolute or relative to the objective.
fn certified(c: &Array2<f64>, l1: f64) -> Array2<f64> {
    let weights = PenaltyWeights::Uniform(l1);
    let problem = Problem::new(c.view(), &weights).unwrap();
    let solution = graphical_lasso(&problem, &GlassoSettings::default(), None, &mut ()).unwrap();
    assert_eq!(solution.report.status, Status::Converged, "{}", solution.report);
    solution.state.precision()
}

#[test]
fn a_warm_start_is_a_start() {
    let c = covariance(40, 60, 31);
    let settings = tight(Method::Quic, 1e-9);
    let run = |l1: f64, start: Option<GlassoState>| {
        let weights = PenaltyWeights::Uniform(l1);
        let problem = Problem::new(c.view(), &weights).unwrap();
        let solution = graphical_lasso(&problem, &settings, start, &mut ()).unwrap();
        (solution.state, solution.report)
    };
    let (high, _) = run(0.3, None);
    let (low, cold) = run(0.1, None);
    let (warm, report) = run(0.1, Some(high.clone()));
    assert!((warm.precision() - low.precision()).iter().all(|d| d.abs() < 1e-4));
    let (_, again) = run(0.1, Some(low.clone()));
    assert_eq!(again.passes, 0.0, "{again}");
    let (_, dense) = run(0.1, Some(GlassoState::from_precision(low.precision().view()).unwrap()));
    assert_eq!(dense.passes, 0.0, "{dense}");
    // Upwards: components fall apart.
    let (back, _) = run(0.3, Some(low));
    assert!((back.precision() - high.precision()).iter().all(|d| d.abs() < 1e-4));
    assert!(report.passes <= cold.passes + 2.0);
}

#[test]
fn bad_arguments_are_named() {
    let c = array![[1.0, 0.2], [0.2, 1.0]];
    let weights = PenaltyWeights::Uniform(0.1);
    let text = |c: &Array2<f64>, w: &PenaltyWeights| match Problem::new(c.view(), w) {
        Ok(_) => panic!("accepted"),
        Err(error) => error.to_string(),
    };
    assert!(
        text(&array![[1.0, f64::NAN], [0.2, 1.0]], &weights).contains("NaN at row 0, column 1")
    );
    assert!(text(&array![[1.0, 0.3], [0.2, 1.0]], &weights).contains("(1, 0) is 0.2"));
    assert!(text(&array![[1.0, 0.3]], &weights).contains("1 x 2"));
    assert!(text(&array![[0.0, 0.0], [0.0, 1.0]], &weights).contains("columns [0]"));
    assert!(text(&c, &PenaltyWeights::Uniform(-1.0)).contains("l1 = -1"));
    assert!(
        text(&c, &PenaltyWeights::Each(array![[0.0, 0.1], [0.2, 0.0]])).contains("weight (0, 1)")
    );
    assert!(text(&c, &PenaltyWeights::Each(array![[0.0]])).contains("expected length 2"));
    let problem = Problem::new(c.view(), &weights).unwrap();
    let limited = GlassoSettings { max_memory: Some(10), ..GlassoSettings::default() };
    let error = graphical_lasso(&problem, &limited, None, &mut ()).unwrap_err();
    assert!(matches!(error, Error::Refused(Refusal::MemoryLimit { limit: 10, .. })));
    let start = GlassoState::from_precision(array![[1.0]].view()).unwrap();
    let error = graphical_lasso(&problem, &GlassoSettings::default(), Some(start), &mut ());
    assert!(matches!(error, Err(Error::Invalid(Invalid::Length { .. }))));
    assert!(GlassoState::from_precision(array![[1.0, 2.0], [2.0, 1.0]].view()).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Optimality conditions, and units of the columns that change nothing.
    #[test]
    fn solutions_satisfy_their_conditions(
        p in 2usize..12, n in 2usize..30, seed in 0u64..1000, l1 in 0.01f64..0.6, power in -8i32..8
    ) {
        let c = covariance(p.max(3), n, seed);
        let p = c.nrows();
        let weights = PenaltyWeights::Uniform(l1);
        let found = solve(&c, &weights, &tight(Method::Quic, 1e-11));
        prop_assert!(violation(&c, &weights, &found) < 1e-4);
        let unit = |i: usize| if i.is_multiple_of(2) { 10f64.powi(power) } else { 1.0 };
        let scaled = Array2::from_shape_fn((p, p), |(i, j)| c[[i, j]] * unit(i) * unit(j));
        let each = Array2::from_shape_fn((p, p), |(i, j)| if i == j { 0.0 } else { l1 * unit(i) * unit(j) });
        let again = solve(&scaled, &PenaltyWeights::Each(each), &tight(Method::Quic, 1e-11));
        for ((i, j), &x) in found.indexed_iter() {
            prop_assert!((again[[i, j]] * unit(i) * unit(j) - x).abs() < 1e-3 * (1.0 + x.abs()));
        }
    }
}

/// More rows than one part has, from a few samples, so that many entries are free.
#[cfg(feature = "parallel")]
#[test]
fn threads_do_not_change_a_bit() {
    let (c, weights) = (covariance(150, 60, 5), PenaltyWeights::Uniform(0.05));
    let settings = GlassoSettings { stop: Stop::after_passes(3.0), ..GlassoSettings::default() };
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let problem = Problem::new(c.view(), &weights).unwrap();
            graphical_lasso(&problem, &settings, None, &mut ()).unwrap().state.precision()
        })
    };
    let one = on(1);
    assert_eq!(one, on(2));
    assert_eq!(one, on(3));
}
