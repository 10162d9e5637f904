//! Every method, loss, regulariser and storage ends at the same optimum as an independent solver.

use crate::common::{data, distance, objective, reference};
use fenchel_erm::loss::{
    Absolute, EpsilonInsensitive, Hinge, Huber, Logistic, Poisson, Quantile, SmoothedHinge,
    Squared, SquaredHinge,
};
use fenchel_erm::methods::{
    CatalystSettings, FinitoSettings, Globalisation, MisoMuSettings, MisoSettings,
    NewtonCgSettings, NewtonSettings, Preconditioner, ProxFinitoSettings, QningSettings,
    SagSettings, SagaSettings, SdcaSettings, SdcaStep, SvrgSettings, catalyst, finito, lbfgs, miso,
    miso_mu, newton, newton_cg, prox_finito, qning, sag, saga, sdca, svrg,
};
use fenchel_erm::{Point, Problem};
use fenchel_linalg::{Csr, CsrMatrix, Dense, Design};
use fenchel_optim::lbfgs::LbfgsSettings;
use fenchel_optim::prox::{Interval, L1, L1L2, Zero};
use fenchel_optim::random::Order;
use fenchel_optim::{Loss, Report, Status, Stop};

const TIGHT: f64 = 1e-12;

fn tight() -> Stop {
    Stop { relative: TIGHT, absolute: 1e-14, max_passes: 60_000.0, ..Stop::default() }
}

/// The reported objective is within the certified gap of the reference, and that gap is closed.
#[track_caller]
fn check(name: &str, report: &Report, best: f64) {
    assert_eq!(report.status, Status::Converged, "{name}: {report}");
    let found = report.certificate.objective().unwrap();
    assert!((found - best).abs() <= 3.0 * TIGHT * best.abs().max(1e-2), "{name}: {found} {best}");
}

fn every_method<D: Design, L: Loss + Copy>(
    name: &str,
    design: D,
    y: &[f64],
    loss: L,
    intercept: bool,
    best: (&[f64], f64),
    l2: f64,
) {
    let problem = Problem::new(design, y, loss, Zero, l2).unwrap();
    let problem = if intercept { problem.with_intercept() } else { problem };
    let mut points: Vec<(String, Point)> = vec![];
    let mut done = |method: &str, point: Point, report: Report| {
        check(&format!("{name} {method}"), &report, best.1);
        points.push((method.into(), point));
    };
    let stop = tight();
    for step in [SdcaStep::Exact, SdcaStep::Constant] {
        for order in
            [Order::Uniform, Order::Permuted, Order::Residual, Order::Gap, Order::LipschitzGap]
        {
            let name = format!("sdca {order:?}");
            let settings = SdcaSettings { step, order, seed: 3, stop, batch: 1 };
            let s = sdca(&problem, &settings, None, &mut ()).unwrap();
            done(&name, s.state.point, s.report);
        }
        let settings = CatalystSettings { step, stop, ..CatalystSettings::default() };
        let s = catalyst(&problem, &settings, None, &mut ()).unwrap();
        done("catalyst", s.state.point, s.report);
        let settings = QningSettings { step, stop, ..QningSettings::default() };
        let s = qning(&problem, &settings, None, &mut ()).unwrap();
        done("qning", s.state.point, s.report);
    }
    let settings = SdcaSettings { step: SdcaStep::Interval, stop, ..SdcaSettings::default() };
    let s = sdca(&problem, &settings, None, &mut ()).unwrap();
    done("sdca, interval step", s.state.point, s.report);
    let settings = MisoMuSettings { stop, ..MisoMuSettings::default() };
    let s = miso_mu(&problem, &settings, None, &mut ()).unwrap();
    done("miso_mu", s.state.point, s.report);
    let order = Order::Lipschitz;
    let settings = ProxFinitoSettings { order, stop, ..ProxFinitoSettings::default() };
    let s = prox_finito(&problem, &settings, None, &mut ()).unwrap();
    done("prox_finito", s.state.point, s.report);
    for globalisation in [Globalisation::LineSearch, Globalisation::TrustRegion] {
        for preconditioner in [Preconditioner::None, Preconditioner::Diagonal] {
            let settings = NewtonCgSettings {
                globalisation,
                preconditioner,
                stop,
                ..NewtonCgSettings::default()
            };
            let s = newton_cg(&problem, &settings, None, &mut ()).unwrap();
            done("newton_cg", s.state, s.report);
        }
    }
    let s =
        saga(&problem, &SagaSettings { stop, ..SagaSettings::default() }, None, &mut ()).unwrap();
    done("saga", s.state.point, s.report);
    let s = sag(&problem, &SagSettings { stop, ..SagSettings::default() }, None, &mut ()).unwrap();
    done("sag", s.state.point, s.report);
    let s =
        svrg(&problem, &SvrgSettings { stop, ..SvrgSettings::default() }, None, &mut ()).unwrap();
    done("svrg", s.state.point, s.report);
    let settings = LbfgsSettings { stop, ..LbfgsSettings::default() };
    let s = lbfgs(&problem, &settings, None, &mut ()).unwrap();
    done("lbfgs", s.state.point, s.report);
    let s =
        newton(&problem, &NewtonSettings { stop, ..Default::default() }, None, &mut ()).unwrap();
    done("newton", s.state, s.report);
    if !intercept {
        let settings = FinitoSettings { stop, ..FinitoSettings::default() };
        let s = finito(&problem, &settings, None, &mut ()).unwrap();
        done("finito", s.state.point, s.report);
        let settings = MisoSettings { stop, ..MisoSettings::default() };
        let s = miso(&problem, &settings, None, &mut ()).unwrap();
        done("miso", s.state.point, s.report);
    }
    for (method, point) in points {
        // Strong convexity turns a gap into a distance: ||x - x*||^2 <= 2 gap / l2.
        let bound = (2.0 * 2.0 * TIGHT * best.1.abs().max(1e-2) / l2).sqrt();
        let off = distance(&point.weights, best.0);
        assert!(off <= bound + 1e-9, "{name} {method}: {off:e} {bound:e}");
        let value = problem.objective(&point).unwrap();
        assert!((value - best.1).abs() <= 3.0 * TIGHT * best.1.abs().max(1e-2), "{name} {method}");
    }
}

fn smooth<L: Loss + Copy>(loss: L, classify: bool) {
    for (n, d, l2, intercept, seed) in
        [(60, 6, 0.05, false, 1), (60, 6, 0.002, true, 2), (40, 8, 0.02, true, 3)]
    {
        let data = data(n, d, 0.5, seed);
        let y = if classify { &data.signs } else { &data.reals };
        let (w, b) = reference(&data.dense, y, &loss, &Zero, l2, intercept);
        let best = objective(&data.dense, y, &loss, &Zero, l2, (&w, b));
        let name = format!("{} n {n} l2 {l2} intercept {intercept}", L::NAME);
        let dense = Dense::new(data.dense.view()).unwrap();
        every_method(&format!("{name} dense"), dense, y, loss, intercept, (&w, best), l2);
        let sparse = Csr::new(data.sparse.view()).unwrap();
        every_method(&format!("{name} sparse"), sparse, y, loss, intercept, (&w, best), l2);
    }
}

#[test]
fn logistic_optimum_is_the_same_for_all() {
    smooth(Logistic, true);
}

#[test]
fn squared_optimum_is_the_same_for_all() {
    smooth(Squared, false);
}

#[test]
fn squared_hinge_optimum_is_the_same_for_all() {
    smooth(SquaredHinge, true);
}

#[test]
fn smoothed_hinge_optimum_is_the_same_for_all() {
    smooth(SmoothedHinge { width: 0.5 }, true);
}

#[test]
fn huber_optimum_is_the_same_for_all() {
    smooth(Huber { delta: 0.4 }, false);
}

macro_rules! composite {
    ($name:literal, $regulariser:expr, $l2:expr) => {{
        let data = data(50, 7, 0.5, 11);
        for intercept in [false, true] {
            let (w, b) =
                reference(&data.dense, &data.signs, &Logistic, &$regulariser, $l2, intercept);
            let best = objective(&data.dense, &data.signs, &Logistic, &$regulariser, $l2, (&w, b));
            let design = Csr::new(data.sparse.view()).unwrap();
            let problem = Problem::new(design, &data.signs, Logistic, $regulariser, $l2).unwrap();
            let problem = if intercept { problem.with_intercept() } else { problem };
            let stop = Stop { relative: 1e-9, ..tight() };
            let near = |name: &str, report: Report, point: &Point| {
                assert_eq!(report.status, Status::Converged, "{} {name}: {report}", $name);
                let found = report.certificate.objective().unwrap();
                assert!((found - best).abs() <= 2e-9 * best, "{} {name}: {found} {best}", $name);
                for (found, best) in point.weights.iter().zip(&w) {
                    assert!((found - best).abs() < 1e-3, "{} {name}", $name);
                }
            };
            let s =
                saga(&problem, &SagaSettings { stop, ..SagaSettings::default() }, None, &mut ())
                    .unwrap();
            near("saga", s.report, &s.state.point);
            let s =
                svrg(&problem, &SvrgSettings { stop, ..SvrgSettings::default() }, None, &mut ())
                    .unwrap();
            near("svrg", s.report, &s.state.point);
            let settings = SagSettings { unproven_prox: true, stop, ..SagSettings::default() };
            let s = sag(&problem, &settings, None, &mut ()).unwrap();
            near("sag", s.report, &s.state.point);
            let settings = CatalystSettings { stop, ..CatalystSettings::default() };
            let s = catalyst(&problem, &settings, None, &mut ()).unwrap();
            near("catalyst", s.report, &s.state.point);
            let settings = QningSettings { stop, ..QningSettings::default() };
            let s = qning(&problem, &settings, None, &mut ()).unwrap();
            near("qning", s.report, &s.state.point);
            if problem.strong_convexity() > 0.0 {
                let s = sdca(
                    &problem,
                    &SdcaSettings { stop, ..SdcaSettings::default() },
                    None,
                    &mut (),
                )
                .unwrap();
                near("sdca", s.report, &s.state.point);
            }
        }
    }};
}

#[test]
fn l1_optimum_is_the_same_for_all() {
    composite!("l1", L1 { strength: 0.02 }, 0.0);
    composite!("l1 + explicit l2", L1 { strength: 0.02 }, 0.01);
}

#[test]
fn elastic_net_and_explicit_l2_agree() {
    composite!("elastic net", L1L2 { l1: 0.02, l2: 0.01 }, 0.0);
}

#[test]
fn bounded_optimum_is_the_same_for_all() {
    composite!("box", Interval { lower: -0.3, upper: 0.4 }, 0.01);
    composite!("non-negative", Interval::NONNEGATIVE, 0.01);
}

/// A loss with a kink has no smooth reference: check the certificate against brute force in one
/// dimension, and that the gap closes, with several features and with an intercept too.
fn certified<L: Loss + Copy>(loss: L, classify: bool) {
    let line = data(40, 1, 1.0, 5);
    let y = if classify { &line.signs } else { &line.reals };
    let stop = Stop { relative: 1e-6, max_passes: 20_000.0, ..Stop::default() };
    let solve = |problem: &Problem<'_, _, L, Zero>, relative: f64| {
        let stop = Stop { relative, ..stop };
        let [first, second] = [Order::Gap, Order::default()].map(|order| {
            let settings = SdcaSettings { order, stop, ..SdcaSettings::default() };
            let s = sdca(problem, &settings, None, &mut ()).unwrap();
            assert_eq!(s.report.status, Status::Converged, "{}: {}", L::NAME, s.report);
            (s.state.point, s.report.certificate.objective().unwrap())
        });
        assert!((first.1 - second.1).abs() <= 2.0 * relative * second.1, "{}", L::NAME);
        first.0
    };
    let problem = Problem::new(Dense::new(line.dense.view()).unwrap(), y, loss, Zero, 0.1).unwrap();
    let at = |w: f64, b: f64| objective(&line.dense, y, &loss, &Zero, 0.1, (&[w], b));
    let found = at(solve(&problem, 1e-6).weights[0], 0.0);
    for k in -4000..4000 {
        assert!(at(f64::from(k) * 1e-3, 0.0) >= found * (1.0 - 1e-6), "{}", L::NAME);
    }
    let point = solve(&problem.with_intercept(), 1e-3);
    let found = at(point.weights[0], point.intercept);
    for k in -150..150 {
        for j in -100..100 {
            let other = at(f64::from(k) * 0.02, f64::from(j) * 0.02);
            assert!(other >= found * (1.0 - 1e-3), "{}", L::NAME);
        }
    }
    let data = data(40, 5, 0.6, 6);
    let y = if classify { &data.signs } else { &data.reals };
    let problem = Problem::new(Csr::new(data.sparse.view()).unwrap(), y, loss, Zero, 0.1).unwrap();
    let settings =
        SdcaSettings { stop: Stop { relative: 1e-5, ..stop }, ..SdcaSettings::default() };
    let s = sdca(&problem, &settings, None, &mut ()).unwrap();
    assert_eq!(s.report.status, Status::Converged, "{}: {}", L::NAME, s.report);
}

#[test]
fn solutions_of_kinked_losses_are_certified() {
    certified(Hinge, true);
    certified(Absolute, false);
    certified(Quantile { tau: 0.2 }, false);
    certified(EpsilonInsensitive { epsilon: 0.3 }, false);
}

/// A constant alone: the intercept of the quantile loss is the quantile, however far away it lies.
#[test]
fn the_quantile_of_a_constant_model() {
    let x = ndarray::Array2::<f64>::zeros((99, 1));
    for (scale, offset) in [(1.0, 0.0), (1e-3, 5.0), (1e5, -3e7)] {
        let y: Vec<f64> = (0..99).map(|k| offset + scale * f64::from((k * 37) % 99)).collect();
        let design = Dense::new(x.view()).unwrap();
        let problem =
            Problem::new(design, &y, Quantile { tau: 0.25 }, Zero, 1.0).unwrap().with_intercept();
        // One certificate puts the intercept where it belongs.
        let settings = SdcaSettings { stop: Stop::after_passes(1.0), ..SdcaSettings::default() };
        let b = sdca(&problem, &settings, None, &mut ()).unwrap().state.point.intercept;
        // 24 of the 99 targets lie below this one.
        let quantile = offset + scale * 24.0;
        assert!((b - quantile).abs() <= 1e-12 * (1.0 + quantile.abs()), "{b} {quantile}");
    }
}

/// No Lipschitz constant, so no reference with a step size: SDCA and Newton against each other, and
/// against brute force in one dimension.
#[test]
fn poisson_solutions_agree_and_are_certified() {
    let settings = || SdcaSettings { stop: tight(), ..SdcaSettings::default() };
    let newton_settings = || NewtonSettings { stop: tight(), ..NewtonSettings::default() };
    for (n, d, l2, intercept, spread) in
        [(60, 6, 0.05, false, 1.0), (60, 6, 0.01, true, 1.0), (40, 8, 0.02, true, 2.5)]
    {
        let data = data(n, d, 0.5, 21);
        let y: Vec<f64> = data.reals.iter().map(|r| (spread * r).exp().round()).collect();
        assert!(y.contains(&0.0) && y.iter().any(|y| *y > 2.0));
        let design = Csr::new(data.sparse.view()).unwrap();
        let problem = Problem::new(design, &y, Poisson, Zero, l2).unwrap();
        let problem = if intercept { problem.with_intercept() } else { problem };
        let a = newton(&problem, &newton_settings(), None, &mut ()).unwrap();
        let best = a.report.certificate.objective().unwrap();
        check("newton", &a.report, best);
        assert!(a.report.oracle_calls <= 30, "{}", a.report);
        for globalisation in [Globalisation::LineSearch, Globalisation::TrustRegion] {
            let settings = NewtonCgSettings { globalisation, stop: tight(), ..Default::default() };
            let c = newton_cg(&problem, &settings, None, &mut ()).unwrap();
            check("newton_cg", &c.report, best);
        }
        let b = sdca(&problem, &settings(), None, &mut ()).unwrap();
        check("sdca", &b.report, best);
        // By strong convexity a gap bounds the distance from the optimum.
        let radius = |gap: f64| (2.0 * gap / l2).sqrt();
        let apart = radius(a.report.certificate.value()) + radius(b.report.certificate.value());
        assert!(distance(&a.state.weights, &b.state.point.weights) <= apart);
        // The report's objective is that of the definition.
        let value =
            objective(&data.dense, &y, &Poisson, &Zero, l2, (&a.state.weights, a.state.intercept));
        assert!((value - best).abs() <= 1e-13 * best.abs().max(1.0));
        let lasso = Problem::new(design, &y, Poisson, L1 { strength: 0.05 }, l2).unwrap();
        let a = newton(&lasso, &newton_settings(), None, &mut ()).unwrap();
        let b = sdca(&lasso, &settings(), None, &mut ()).unwrap();
        check("newton l1", &a.report, b.report.certificate.objective().unwrap());
        check("sdca l1", &b.report, a.report.certificate.objective().unwrap());
    }
    let line = data(40, 1, 1.0, 5);
    let y: Vec<f64> = line.reals.iter().map(|r| r.exp().round()).collect();
    let problem = Problem::new(Dense::new(line.dense.view()).unwrap(), &y, Poisson, Zero, 0.01);
    let problem = problem.unwrap();
    let at = |w: f64| objective(&line.dense, &y, &Poisson, &Zero, 0.01, (&[w], 0.0));
    let a = newton(&problem, &newton_settings(), None, &mut ()).unwrap();
    let b = sdca(&problem, &settings(), None, &mut ()).unwrap();
    check("newton line", &a.report, a.report.certificate.objective().unwrap());
    check("sdca line", &b.report, a.report.certificate.objective().unwrap());
    for w in [a.state.weights[0], b.state.point.weights[0]] {
        let found = at(w);
        for k in -8000..8000 {
            assert!(at(f64::from(k) * 1e-3) >= found - 1e-11 * found.abs());
        }
    }
}

/// Counts in the thousands from a cold start, where a full first step of Newton's method overflows; and
/// no counts at all, where the intercept runs off to where the mean is 0.
#[test]
fn poisson_with_large_counts_and_with_none() {
    let data = data(50, 4, 0.8, 13);
    let y: Vec<f64> = data.reals.iter().map(|r| (6.0 + 2.0 * r).exp().round()).collect();
    assert!(y.iter().any(|y| *y > 5e3));
    let none = vec![0.0; 50];
    for intercept in [false, true] {
        // Far out, SDCA follows the intercept one proximal step a pass.
        for (y, absolute) in [(&y, 1e-9), (&none, 1e-6)] {
            let design = Dense::new(data.dense.view()).unwrap();
            let problem = Problem::new(design, y, Poisson, Zero, 0.1).unwrap();
            let problem = if intercept { problem.with_intercept() } else { problem };
            // The infimum over the intercept is 0, and no point attains it.
            let recedes = intercept && y.iter().all(|y| *y == 0.0);
            let status = if recedes { Status::NoMinimiser } else { Status::Converged };
            let stop = Stop { relative: 1e-6, absolute, ..tight() };
            let settings = SdcaSettings { stop, ..SdcaSettings::default() };
            let a = sdca(&problem, &settings, None, &mut ()).unwrap();
            assert_eq!(a.report.status, status, "{}", a.report);
            let settings = NewtonSettings { stop, ..NewtonSettings::default() };
            let b = newton(&problem, &settings, None, &mut ()).unwrap();
            assert_eq!(b.report.status, status, "{}", b.report);
            let (a, b) = (a.report.certificate.objective(), b.report.certificate.objective());
            let (a, b) = (a.unwrap(), b.unwrap());
            assert!((a - b).abs() <= 3e-6 * a.abs() + 3.0 * absolute, "{a} {b}");
        }
    }
}

/// Numbers that f32 holds exactly give the same weights in both storages.
#[test]
fn storage_in_f32_changes_nothing_where_it_is_exact() {
    let data = data(50, 6, 0.5, 9);
    let narrow = data.dense.mapv(|v| v as f32);
    let wide = narrow.mapv(f64::from);
    let problem =
        Problem::new(Dense::new(narrow.view()).unwrap(), &data.signs, Logistic, Zero, 0.02);
    let settings = SagaSettings { stop: Stop::after_passes(20.0), ..SagaSettings::default() };
    let a = saga(&problem.unwrap(), &settings, None, &mut ()).unwrap();
    let problem = Problem::new(Dense::new(wide.view()).unwrap(), &data.signs, Logistic, Zero, 0.02);
    let b = saga(&problem.unwrap(), &settings, None, &mut ()).unwrap();
    assert_eq!(a.state.point, b.state.point);
}

/// Rows that touch nothing, constant labels and a single row are legal.
#[test]
fn degenerate_data_is_solved() {
    let empty_row =
        CsrMatrix::try_new((3, 2), vec![0, 1, 1, 3], vec![0, 0, 1], vec![1.0, 2.0, 1.0]);
    let empty_row = empty_row.unwrap();
    for labels in [[1.0, -1.0, -1.0], [1.0, 1.0, 1.0]] {
        let problem =
            Problem::new(Csr::new(empty_row.view()).unwrap(), &labels, Logistic, Zero, 0.1)
                .unwrap();
        for report in [
            sdca(&problem, &SdcaSettings { stop: tight(), ..Default::default() }, None, &mut ())
                .unwrap()
                .report,
            saga(&problem, &SagaSettings { stop: tight(), ..Default::default() }, None, &mut ())
                .unwrap()
                .report,
            sag(&problem, &SagSettings { stop: tight(), ..Default::default() }, None, &mut ())
                .unwrap()
                .report,
            svrg(&problem, &SvrgSettings { stop: tight(), ..Default::default() }, None, &mut ())
                .unwrap()
                .report,
        ] {
            assert_eq!(report.status, Status::Converged, "{report}");
        }
    }
    let one = ndarray::array![[2.0]];
    let problem =
        Problem::new(Dense::new(one.view()).unwrap(), &[3.0], Squared, Zero, 1.0).unwrap();
    let s = sdca(&problem, &SdcaSettings { stop: tight(), ..Default::default() }, None, &mut ())
        .unwrap();
    // min (2x - 3)^2 / 2 + x^2 / 2 is at 6/5.
    assert!((s.state.point.weights[0] - 1.2).abs() < 1e-9);
}
