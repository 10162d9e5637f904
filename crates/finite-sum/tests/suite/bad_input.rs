//! Whatever a caller passes comes back as the documented error.

use crate::common::data;
use fenchel_finite_sum::loss::{
    Absolute, EpsilonInsensitive, Hinge, Huber, Logistic, Poisson, Quantile, SmoothedHinge, Squared,
};
use fenchel_finite_sum::methods::{
    CatalystSettings, FinitoSettings, MisoMuSettings, MisoSettings, NewtonCgSettings,
    NewtonSettings, ProxFinitoSettings, QningSettings, SagSettings, SagaSettings, SdcaSettings,
    SdcaStep, SvrgSettings, catalyst, finito, lbfgs, miso, miso_mu, newton, newton_cg, prox_finito,
    qning, sag, saga, sdca, svrg,
};
use fenchel_finite_sum::prelude::Refusal;
use fenchel_finite_sum::{Error, Lasso, LogisticRegression, Point, Problem};
use fenchel_linalg::{CsrMatrix, Dense, Invalid};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::prox::{Interval, L1, L1L2, Zero};
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, StepSize, Stop};
use ndarray::{Array2, array};

#[track_caller]
fn refused<T>(result: Result<T, Error>, expected: &str) {
    match result {
        Ok(_) => panic!("accepted; expected: {expected}"),
        Err(error) => assert!(error.to_string().contains(expected), "{error}"),
    }
}

#[test]
fn problems_are_checked_once() {
    let x = array![[1.0, 2.0], [3.0, 4.0]];
    let design = || Dense::new(x.view()).unwrap();
    let empty = Array2::<f64>::zeros((0, 2));
    refused(
        Problem::new(Dense::new(empty.view()).unwrap(), &[], Squared, Zero, 0.1),
        "rows) is empty",
    );
    let flat = Array2::<f64>::zeros((2, 0));
    refused(
        Problem::new(Dense::new(flat.view()).unwrap(), &[1.0, 1.0], Squared, Zero, 0.1),
        "columns) is empty",
    );
    refused(
        Problem::new(design(), &[1.0], Squared, Zero, 0.1),
        "targets: expected length 2, found 1",
    );
    refused(
        Problem::new(design(), &[1.0, 0.0], Logistic, Zero, 0.1),
        "label of row 1 is 0; expected -1 or +1",
    );
    refused(Problem::new(design(), &[1.0, 2.0], Hinge, Zero, 0.1), "label of row 1 is 2");
    refused(Problem::new(design(), &[f64::NAN, 0.0], Squared, Zero, 0.1), "target of row 0 is NaN");
    refused(Problem::new(design(), &[1.0, 1.0], Squared, Zero, -0.1), "l2 = -0.1");
    refused(Problem::new(design(), &[1.0, 1.0], Squared, Zero, f64::NAN), "l2 = NaN");
    refused(Problem::new(design(), &[1.0, 1.0], Squared, L1 { strength: -1.0 }, 0.1), "l1 = -1");
    let net = L1L2 { l1: 0.0, l2: f64::INFINITY };
    refused(Problem::new(design(), &[1.0, 1.0], Squared, net, 0.1), "l2 = inf");
    let crossed = Interval { lower: 1.0, upper: 0.0 };
    refused(
        Problem::new(design(), &[1.0, 1.0], Squared, crossed, 0.1),
        "interval.upper = 0; expected bounds with lower <= upper",
    );
    let huge = array![[1e200, 1.0]];
    refused(
        Problem::new(Dense::new(huge.view()).unwrap(), &[1.0], Squared, Zero, 0.1),
        "scale the features",
    );
}

#[test]
fn parameters_of_losses_are_checked() {
    fn check<L: Loss>(loss: L, expected: &str) {
        let x = array![[1.0, 2.0]];
        // A target that every loss here takes: the parameter is what is wrong.
        refused(
            Problem::new(Dense::new(x.view()).unwrap(), &[1.0], loss, Zero, 0.1),
            &format!("{expected}; expected"),
        );
    }
    for (value, shown) in [(0.0, "0"), (-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        check(Huber { delta: value }, &format!("huber.delta = {shown}"));
        check(SmoothedHinge { width: value }, &format!("smoothed_hinge.width = {shown}"));
        check(Quantile { tau: value }, &format!("quantile.tau = {shown}"));
    }
    check(Quantile { tau: 1.0 }, "quantile.tau = 1");
    for (value, shown) in [(-0.5, "-0.5"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        check(
            EpsilonInsensitive { epsilon: value },
            &format!("epsilon_insensitive.epsilon = {shown}"),
        );
    }
}

#[test]
fn targets_of_the_parametrised_losses_are_checked() {
    fn check<L: Loss>(loss: L, y: f64, expected: &str) {
        let x = array![[1.0, 2.0], [3.0, 4.0]];
        let targets = [1.0, y];
        let what = if expected == "-1 or +1" { "label" } else { "target" };
        refused(
            Problem::new(Dense::new(x.view()).unwrap(), &targets, loss, Zero, 0.1),
            &format!("{what} of row 1 is {y}; expected {expected}"),
        );
    }
    check(Poisson, -1.0, "a finite number >= 0");
    check(Poisson, f64::NAN, "a finite number >= 0");
    check(Poisson, f64::INFINITY, "a finite number >= 0");
    check(Huber { delta: 1.0 }, f64::INFINITY, "a finite number");
    check(Absolute, f64::NAN, "a finite number");
    check(Quantile { tau: 0.5 }, f64::NAN, "a finite number");
    check(EpsilonInsensitive { epsilon: 0.0 }, f64::NEG_INFINITY, "a finite number");
    check(SmoothedHinge { width: 1.0 }, 0.5, "-1 or +1");
}

#[test]
fn methods_refuse_what_they_cannot_treat() {
    let data = data(10, 3, 1.0, 0);
    let design = Dense::new(data.dense.view()).unwrap();
    let y = &data.signs;
    let plain = Problem::new(design, y, Logistic, Zero, 0.0).unwrap();
    let strong = Problem::new(design, y, Logistic, Zero, 0.1).unwrap();
    let sparse = Problem::new(design, y, Logistic, L1 { strength: 0.1 }, 0.1).unwrap();
    let kinked = Problem::new(design, y, Hinge, Zero, 0.1).unwrap();
    let (o, none) = (&mut (), "sdca needs a strongly convex regulariser");

    assert!(matches!(
        sdca(&plain, &SdcaSettings::default(), None, o),
        Err(Error::Refused(Refusal::NeedsStrongConvexity { method: "sdca" }))
    ));
    refused(sdca(&plain, &SdcaSettings::default(), None, o), none);
    refused(finito(&plain, &FinitoSettings::default(), None, o), "finito needs a strongly convex");
    refused(
        saga(&kinked, &SagaSettings::default(), None, o),
        "saga does not support the hinge loss, whose derivative has no Lipschitz constant; use sdca",
    );
    refused(
        newton(&kinked, &NewtonSettings::default(), None, o),
        "newton does not support the hinge loss, which has a kink; use sdca",
    );
    let constant = SdcaSettings { step: SdcaStep::Constant, ..SdcaSettings::default() };
    refused(
        sdca(&kinked, &constant, None, o),
        "the hinge loss, whose derivative has no Lipschitz constant; use the step Exact or Interval",
    );
    let ones = [1.0; 10];
    let counts = Problem::new(design, &ones, Poisson, Zero, 0.1).unwrap();
    refused(
        saga(&counts, &SagaSettings::default(), None, o),
        "saga does not support the Poisson loss, whose derivative has no Lipschitz constant; use sdca or newton",
    );
    refused(
        lbfgs(&counts, &LbfgsSettings::default(), None, o),
        "lbfgs does not support the Poisson loss",
    );
    refused(sag(&kinked, &SagSettings::default(), None, o), "sag does not support the hinge loss");
    refused(
        svrg(&kinked, &SvrgSettings::default(), None, o),
        "svrg does not support the hinge loss",
    );
    refused(
        lbfgs(&kinked, &LbfgsSettings::default(), None, o),
        "lbfgs does not support the hinge loss",
    );
    refused(
        finito(&kinked, &FinitoSettings::default(), None, o),
        "finito does not support the hinge loss",
    );
    refused(
        catalyst(&kinked, &CatalystSettings::default(), None, o),
        "catalyst does not support the hinge",
    );
    let constant = SdcaSettings { step: SdcaStep::Constant, ..SdcaSettings::default() };
    refused(sdca(&kinked, &constant, None, o), "sdca does not support the hinge loss");
    refused(sag(&sparse, &SagSettings::default(), None, o), "unproven_prox");
    let weighted = Order::Weighted(vec![1.0; 10]);
    let settings = SagaSettings { order: weighted.clone(), ..SagaSettings::default() };
    refused(saga(&strong, &settings, None, o), "saga does not support the weighted order");
    let settings = FinitoSettings { order: weighted, ..FinitoSettings::default() };
    refused(finito(&strong, &settings, None, o), "finito does not support the weighted order");
    let with_intercept = strong.clone().with_intercept();
    refused(finito(&with_intercept, &FinitoSettings::default(), None, o), "an intercept");
    let point = fenchel_finite_sum::Point {
        intercept: f64::NAN,
        ..fenchel_finite_sum::Point::zero(with_intercept.d())
    };
    refused(
        with_intercept.objective(&point),
        "intercept: NaN at row 0, column 0; every entry must be finite",
    );
    let settings = FinitoSettings { max_memory: Some(239), ..FinitoSettings::default() };
    match finito(&strong, &settings, None, o) {
        Err(Error::Refused(Refusal::MemoryLimit { needed: 240, limit: 239, .. })) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn methods_built_on_the_kernels_refuse_as_they_do() {
    let data = data(10, 3, 1.0, 0);
    let design = Dense::new(data.dense.view()).unwrap();
    let y = &data.signs;
    let plain = Problem::new(design, y, Logistic, Zero, 0.0).unwrap();
    let strong = Problem::new(design, y, Logistic, Zero, 0.1).unwrap();
    let kinked = Problem::new(design, y, Hinge, Zero, 0.1).unwrap();
    let o = &mut ();
    refused(miso_mu(&plain, &MisoMuSettings::default(), None, o), "miso_mu needs a strongly");
    refused(miso_mu(&kinked, &MisoMuSettings::default(), None, o), "miso_mu does not support");
    for c in [0.0, -0.5, 1.5, f64::NAN] {
        let settings = MisoMuSettings { damping: Some(c), ..Default::default() };
        refused(miso_mu(&strong, &settings, None, o), "damping");
    }
    refused(prox_finito(&plain, &ProxFinitoSettings::default(), None, o), "prox_finito needs a");
    let settings = ProxFinitoSettings { order: Order::Lipschitz, ..Default::default() };
    refused(
        prox_finito(&kinked, &settings, None, o),
        "prox_finito does not support the Lipschitz order with the hinge loss",
    );
    refused(qning(&kinked, &QningSettings::default(), None, o), "qning does not support the hinge");
    let settings = QningSettings { memory: 0, ..Default::default() };
    refused(qning(&strong, &settings, None, o), "memory = 0");
    let settings = QningSettings { kappa: Some(f64::NAN), ..Default::default() };
    refused(qning(&strong, &settings, None, o), "kappa");
    refused(newton_cg(&kinked, &NewtonCgSettings::default(), None, o), "which has a kink");
    for forcing in [0.0, 1.0, f64::NAN] {
        let settings = NewtonCgSettings { forcing, ..Default::default() };
        refused(newton_cg(&strong, &settings, None, o), "forcing");
    }
    let start = Some(Point::zero(4));
    refused(newton_cg(&strong, &NewtonCgSettings::default(), start, o), "weights");
    refused(miso(&kinked, &MisoSettings::default(), None, o), "miso does not support the hinge");
    let with_intercept = strong.clone().with_intercept();
    refused(miso(&with_intercept, &MisoSettings::default(), None, o), "an intercept");
    let settings = MisoSettings { smoothness: Some(0.0), ..Default::default() };
    refused(miso(&strong, &settings, None, o), "smoothness = 0");
    let settings = MisoSettings { max_memory: Some(239), ..Default::default() };
    refused(miso(&strong, &settings, None, o), "needs 240 bytes, max_memory is 239 bytes");
}

#[test]
fn settings_are_checked_before_any_work() {
    let data = data(10, 3, 1.0, 0);
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 0.1).unwrap();
    let o = &mut ();
    for step in [StepSize::Constant(0.0), StepSize::Constant(f64::NAN), StepSize::Scaled(-1.0)] {
        refused(saga(&problem, &SagaSettings { step, ..Default::default() }, None, o), "step");
        refused(sag(&problem, &SagSettings { step, ..Default::default() }, None, o), "step");
        refused(svrg(&problem, &SvrgSettings { step, ..Default::default() }, None, o), "step");
    }
    refused(
        svrg(&problem, &SvrgSettings { inner: Some(0.0), ..Default::default() }, None, o),
        "inner = 0",
    );
    refused(
        finito(&problem, &FinitoSettings { alpha: Some(0.5), ..Default::default() }, None, o),
        "alpha = 0.5",
    );
    let kappa = CatalystSettings { kappa: Some(-1.0), ..Default::default() };
    refused(catalyst(&problem, &kappa, None, o), "kappa = -1");
    let stop = Stop { relative: -1.0, ..Stop::default() };
    refused(
        sdca(&problem, &SdcaSettings { stop, ..Default::default() }, None, o),
        "stop.relative = -1",
    );
    for (order, expected) in [
        (Order::Scripted(vec![]), "scripted order is empty"),
        (Order::Scripted(vec![10]), "scripted term = 10"),
        (Order::Weighted(vec![1.0]), "expected length 10, found 1"),
        (Order::Weighted(vec![-1.0; 10]), "weights: entry 0 is -1"),
    ] {
        refused(sdca(&problem, &SdcaSettings { order, ..Default::default() }, None, o), expected);
    }
}

#[test]
fn starts_are_checked() {
    let data = data(10, 3, 1.0, 0);
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 0.1).unwrap();
    let o = &mut ();
    let good = sdca(&problem, &SdcaSettings::default(), None, o).unwrap().state;
    let mut start = good.clone();
    start.dual.pop();
    refused(
        sdca(&problem, &SdcaSettings::default(), Some(start), o),
        "dual: expected length 10, found 9",
    );
    let mut start = good.clone();
    start.dual[4] = 2.0;
    refused(
        sdca(&problem, &SdcaSettings::default(), Some(start), o),
        "dual: 2.0 of row 4 is outside",
    );
    let mut start = good;
    start.point.weights[1] = f64::NAN;
    refused(
        sdca(&problem, &SdcaSettings::default(), Some(start), o),
        "start (weights): NaN at row 1",
    );
    refused(
        svrg(&problem, &SvrgSettings::default(), Some(Point::zero(2).into()), o),
        "start (weights): expected length 3",
    );
    refused(
        lbfgs(&problem, &LbfgsSettings::default(), Some(Point::zero(2).into()), o),
        "start (weights): expected length 3",
    );
    refused(
        finito(&problem, &FinitoSettings::default(), Some(Point::zero(2).into()), o),
        "start (weights): expected length 3",
    );
    refused(problem.certify(&Point::zero(4)), "weights: expected length 3, found 4");
}

#[test]
fn estimators_name_what_is_wrong() {
    let x = array![[1.0, 2.0], [3.0, f64::INFINITY]];
    let y = array![0.0, 1.0];
    let fit = LogisticRegression::default();
    refused(fit.fit(&x, y.view()), "design matrix: inf at row 1, column 1");
    let x = array![[1.0, 2.0], [3.0, 4.0]];
    refused(fit.fit(&x, array![0.0].view()), "labels: expected length 2, found 1");
    refused(fit.fit(&x, array![1.0, 1.0].view()), "two distinct");
    refused(fit.fit(&x.t(), y.view()), "as_standard_layout");
    let three = array![[1.0], [2.0], [3.0]];
    refused(fit.fit(&three, array![0.0, 1.0, 2.0].view()), "2");
    refused(LogisticRegression { l2: Some(-1.0), ..fit.clone() }.fit(&x, y.view()), "l2 = -1");
    refused(Lasso { l1: -1.0, ..Lasso::default() }.fit(&x, y.view()), "l1 = -1");
    refused(LogisticRegression { l1: f64::NAN, ..fit.clone() }.fit(&x, y.view()), "l1 = NaN");
    let model = fit.fit(&x, y.view()).unwrap();
    refused(model.predict(&array![[1.0]]), "expected length 2, found 1");
    let columns_first = CsrMatrix::<f64>::zero((2, 2)).into_csc();
    assert!(matches!(
        fit.fit(&columns_first, y.view()),
        Err(Error::Invalid(Invalid::Layout { .. }))
    ));
}

/// Steps far beyond theory blow up; that is a status with the best point, not an error or a NaN.
#[test]
fn divergence_is_a_status_with_the_best_point() {
    use fenchel_optim::Status;
    let data = data(30, 4, 1.0, 1);
    let problem =
        Problem::new(Dense::new(data.dense.view()).unwrap(), &data.reals, Squared, Zero, 0.01);
    let problem = problem.unwrap();
    let step = StepSize::Constant(1e6);
    let reports = [
        saga(&problem, &SagaSettings { step, ..Default::default() }, None, &mut ())
            .map(|s| (s.report, s.state.point)),
        sag(&problem, &SagSettings { step, ..Default::default() }, None, &mut ())
            .map(|s| (s.report, s.state.point)),
        svrg(&problem, &SvrgSettings { step, ..Default::default() }, None, &mut ())
            .map(|s| (s.report, s.state.point)),
    ];
    for result in reports {
        let (report, point) = result.unwrap();
        assert_eq!(report.status, Status::Diverged, "{report}");
        assert!(point.weights.iter().all(|w| w.is_finite()));
        // Up to the order of additions.
        let start = problem.objective(&Point::zero(4)).unwrap() * (1.0 + 1e-15);
        assert!(report.certificate.objective().unwrap() <= start, "{report}");
    }
}

/// The same on sparse data with l1, where NaN meets the lagged steps of coordinates not touched for long.
#[test]
fn divergence_on_sparse_data_with_l1_is_a_status() {
    use fenchel_linalg::Csr;
    use fenchel_optim::Status;
    let data = data(3000, 200, 0.01, 1);
    let design = Csr::new(data.sparse.view()).unwrap();
    for l2 in [0.0, 0.01] {
        let problem =
            Problem::new(design, &data.reals, Squared, L1 { strength: 1e-7 }, l2).unwrap();
        for step in [1e6, 1e150] {
            let step = StepSize::Constant(step);
            let s = saga(&problem, &SagaSettings { step, ..Default::default() }, None, &mut ())
                .unwrap();
            assert_eq!(s.report.status, Status::Diverged, "{}", s.report);
            assert!(s.state.point.weights.iter().all(|w| w.is_finite()));
        }
    }
}

/// A solution is a start that stays a solution, for every method.
#[test]
fn warm_starts_stay_where_they_are() {
    let data = data(60, 4, 1.0, 3);
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.reals, Squared, Zero, 0.05).unwrap();
    let stop = Stop { max_passes: 20_000.0, ..Stop::at_relative(1e-9) };
    let best = sdca(&problem, &SdcaSettings { stop, ..Default::default() }, None, &mut ()).unwrap();
    let point = best.state.point.clone();
    let after = Stop::after_passes(3.0);
    let excess = |point: &Point| {
        problem.objective(point).unwrap() - best.report.certificate.objective().unwrap()
    };
    let s = finito(
        &problem,
        &FinitoSettings { stop: after, ..Default::default() },
        Some(point.clone().into()),
        &mut (),
    );
    assert!(excess(&s.unwrap().state.point) < 1e-8);
    let s = svrg(
        &problem,
        &SvrgSettings { stop: after, ..Default::default() },
        Some(point.clone().into()),
        &mut (),
    );
    assert!(excess(&s.unwrap().state.point) < 1e-8);
    let s = lbfgs(
        &problem,
        &LbfgsSettings { stop: after, ..Default::default() },
        Some(point.into()),
        &mut (),
    );
    assert!(excess(&s.unwrap().state.point) < 1e-8);
    let s = catalyst(
        &problem,
        &CatalystSettings { stop: after, ..Default::default() },
        Some(best.state.clone()),
        &mut (),
    );
    assert!(excess(&s.unwrap().state.point) < 1e-8);
}
