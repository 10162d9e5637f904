//! ADE, PHD+ and SPHD: closed forms, order of matrices, and the table of failures (MO-21).

use fenchel_linalg::factor::symmetric_eigen;
use fenchel_moments::derivative::SphdEstimator;
use fenchel_moments::reducer::Reducer;
use fenchel_moments::score::{Gaussian, SecondOrderScore};
use fenchel_moments::spectrum::{EigenOrder, Warning};
use fenchel_moments::transform::ResponseTransform;
use fenchel_moments::{
    Ade, Components, GaussianMixture, PhdPlus, Reduction, Response, Sade, Slicing, Sphd, synthetic,
    trace_error,
};
use ndarray::{Array1, Array2, ArrayView1, Axis, array};

use crate::common::{first_columns, normal};

fn sphd(k: usize, estimator: SphdEstimator) -> Sphd {
    Sphd {
        components: Components::Fixed(k),
        slicing: Slicing::EqualCount(10),
        estimator,
        ..Sphd::default()
    }
}

/// What thesis and specification give for the mixture of the thesis in ten dimensions and the quadratic response:
/// mean slope (-3.6, -0.2, 0, ...) and mean Hessian [[2, 1], [1, 0]].
#[test]
fn mean_slope_and_curvature_of_the_quadratic_model() {
    let density = GaussianMixture::thesis(10).unwrap();
    let problem = synthetic::quadratic(&density, 200_000, 1.0, 1).unwrap();
    let ade = Ade::default().fit(&problem.x, &problem.y, &density).unwrap();
    let truth =
        Array2::from_shape_fn((10, 1), |(i, _)| [-3.6, -0.2].get(i).copied().unwrap_or(0.0));
    assert!(trace_error(ade.directions.view(), truth.view()).unwrap() < 1e-3);
    assert!((ade.eigenvalues[0].sqrt() / (3.6f64.powi(2) + 0.04).sqrt() - 1.0).abs() < 0.03);
    let phd = PhdPlus { components: Components::Fixed(2), ..PhdPlus::default() };
    let phd = phd.fit(&problem.x, &problem.y, &density).unwrap();
    for (found, expected) in
        phd.eigenvalues.iter().zip([1.0 + 2.0_f64.sqrt(), 1.0 - 2.0_f64.sqrt()])
    {
        assert!((found - expected).abs() < 0.15, "{} {expected}", phd.eigenvalues);
    }
    // With signed eigenvalues the second direction is lost: figure 2-6.
    let signed = PhdPlus {
        order: EigenOrder::Algebraic,
        components: Components::Fixed(2),
        ..PhdPlus::default()
    };
    let signed = signed.fit(&problem.x, &problem.y, &density).unwrap();
    let (good, bad) = (
        trace_error(phd.directions.view(), problem.directions.view()).unwrap(),
        trace_error(signed.directions.view(), problem.directions.view()).unwrap(),
    );
    assert!(good < 0.02 && bad > 0.4, "{good} {bad}");
}

/// d = 4, y = x1^2, slices of 10: plug-in (2.29, .50, .50, .49), unbiased (1.99, 0, 0, 0), truth (2, 0, 0, 0).
#[test]
fn the_unbiased_estimator_has_no_noise_floor() {
    let x = normal(20_000, 4, 1);
    let y = x.column(0).mapv(|v| v * v);
    let score = Gaussian::standard(4).unwrap();
    let fit = |estimator| {
        let method = Sphd { slicing: Slicing::EqualCount(2000), ..sphd(1, estimator) };
        method.fit(&x, &y, &score).unwrap().eigenvalues
    };
    let (means, unbiased) = (fit(SphdEstimator::Means), fit(SphdEstimator::Unbiased));
    for k in 1..4 {
        assert!((means[k] - 0.5).abs() < 0.05, "{means}");
        assert!(unbiased[k].abs() < 0.05, "{unbiased}");
    }
    assert!((unbiased[0] - 2.0).abs() < 0.12, "{unbiased}");
}

/// MO-20: `sum_h p_h M'_h^2 - (PHD+)^2` is positive semidefinite with uncentred responses.
#[test]
fn weighted_sphd_dominates_the_square_of_phd_plus() {
    let density = GaussianMixture::thesis(3).unwrap();
    for seed in 0..10 {
        let problem = synthetic::quadratic(&density, 60, 1.0, seed).unwrap();
        let spectrum = |method: &dyn Reducer| {
            let response = Response::from(problem.y.view());
            let design = fenchel_linalg::Dense::new(problem.x.view()).unwrap();
            let s = method.spectrum(&design, &response).unwrap();
            (&s.vectors * &s.values).dot(&s.vectors.t())
        };
        let weighted = Sphd { weight_by_response: true, ..sphd(1, SphdEstimator::Means) };
        let sliced = spectrum(&weighted.with(&density));
        let plain = PhdPlus { response: ResponseTransform::None, ..PhdPlus::default() };
        let mean = spectrum(&plain.with(&density));
        let difference = sliced - mean.dot(&mean);
        assert!(symmetric_eigen(difference.view()).unwrap().values[0] > -1e-9);
    }
}

struct Case {
    what: &'static str,
    y: fn(ArrayView1<f64>) -> f64,
    directions: usize,
    /// ADE, SADE, PHD+, SPHD
    works: [bool; 4],
}

/// Table 2.1: which method recovers which dependence, for normal features.
#[test]
fn the_table_of_failures() {
    let cases = [
        Case { what: "linear", y: |x| x[0], directions: 1, works: [true, true, false, true] },
        Case { what: "even", y: |x| x[0] * x[0], directions: 1, works: [false, false, true, true] },
        Case {
            what: "odd, flat on average",
            y: |x| x[0].powi(3) - 3.0 * x[0],
            directions: 1,
            works: [false, true, false, true],
        },
        Case {
            what: "two trends",
            y: |x| (2.0 * x[0]).tanh() + (1.5 * x[1]).exp().min(5.0),
            directions: 2,
            works: [false, true, false, true],
        },
        Case {
            what: "product",
            y: |x| x[0] * x[1],
            directions: 2,
            works: [false, false, true, true],
        },
    ];
    let (n, d) = (20_000, 4);
    let z = normal(n, d + 1, 3);
    let x = first_columns(&z, d);
    let score = Gaussian::standard(d).unwrap();
    for Case { what, y, directions: k, works } in cases {
        let y: Array1<f64> =
            x.rows().into_iter().zip(z.column(d)).map(|(r, e)| y(r) + 0.1 * e).collect();
        let components = Components::Fixed(k);
        let sade = Sade { components, ..Sade::default() };
        let phd = PhdPlus { components, ..PhdPlus::default() };
        let truth = Array2::from_shape_fn((d, k), |(i, j)| f64::from(i == j));
        let error = |fit: Result<Reduction, _>| {
            let model: Reduction = fit.unwrap();
            if model.components() < k {
                1.0
            } else {
                trace_error(model.directions.view(), truth.view()).unwrap()
            }
        };
        let errors = [
            error(Ade::default().fit(&x, &y, &score)),
            error(sade.fit(&x, &y, &score)),
            error(phd.fit(&x, &y, &score)),
            error(sphd(k, SphdEstimator::Means).fit(&x, &y, &score)),
        ];
        for (method, (error, works)) in errors.into_iter().zip(works).enumerate() {
            assert_eq!(error < 0.1, works, "{what}, method {method}: {errors:?}");
        }
    }
}

#[test]
fn a_mean_slope_of_about_zero_is_pointed_out() {
    let x = normal(5000, 3, 1);
    let y = x.column(0).mapv(|v| v * v);
    let score = Gaussian::standard(3).unwrap();
    let weak =
        |m: Reduction| m.warnings.iter().any(|w| matches!(w, Warning::WeakDerivative { .. }));
    assert!(weak(Ade::default().fit(&x, &y, &score).unwrap()));
    assert!(!weak(Ade::default().fit(&x, x.column(1).to_vec().as_slice(), &score).unwrap()));
    // A column with three values has no density.
    let mut discrete = x.clone();
    discrete.column_mut(2).mapv_inplace(|v| v.signum() * f64::from(v.abs() > 0.5));
    let model = Ade::default().fit(&discrete, x.column(1).to_vec().as_slice(), &score).unwrap();
    assert!(model.warnings.contains(&Warning::Discrete { column: 2, values: 3 }));
}

/// Sums over slices of single second scores, by the definition.
#[test]
fn sphd_is_the_mean_square_of_slice_means() {
    let density = GaussianMixture::thesis(3).unwrap();
    let problem = synthetic::classification(&density, 80, 0.25, 2).unwrap();
    let slices =
        fenchel_moments::slicing::Slices::new(&problem.y.to_vec(), Slicing::EqualCount(10), 2)
            .unwrap();
    let (mut means, mut unbiased) = (Array2::<f64>::zeros((3, 3)), Array2::<f64>::zeros((3, 3)));
    for members in slices.members() {
        let one = |i: usize| {
            density.score2_sum(problem.x.row(i).insert_axis(Axis(0)), array![1.0].view()).unwrap()
        };
        let c = members.len() as f64;
        let total = members.iter().fold(Array2::<f64>::zeros((3, 3)), |s, &i| s + one(i));
        let squares =
            members.iter().fold(Array2::<f64>::zeros((3, 3)), |s, &i| s + one(i).dot(&one(i)));
        means = means + total.dot(&total) / (c * 80.0);
        unbiased = unbiased + (total.dot(&total) - squares) / ((c - 1.0) * 80.0);
    }
    for (estimator, matrix) in [(SphdEstimator::Means, means), (SphdEstimator::Unbiased, unbiased)]
    {
        let model = sphd(2, estimator).fit(&problem.x, &problem.y, &density).unwrap();
        let expected = symmetric_eigen(matrix.view()).unwrap().values;
        for k in 0..3 {
            assert!((model.eigenvalues[k] - expected[2 - k]).abs() < 1e-10, "{estimator:?}");
        }
    }
}
