//! A loss and regularisers of a user's own, from the public interface alone: the methods find the optimum of an independent solver.

use crate::common::{data, distance, reference};
use fenchel_erm::loss::{Logistic, Squared};
use fenchel_erm::methods::lag::Lagged;
use fenchel_erm::methods::{
    FistaSettings, SagaSettings, SdcaSettings, SvrgSettings, fista, saga, sdca, svrg,
};
use fenchel_erm::prelude::{
    Certificate, Csr, Invalid, Loss, Regulariser, Report, Separable, Status, Stop,
};
use fenchel_erm::prox::{GroupNorm, Groups, SortedL1};
use fenchel_erm::{AutoSettings, Composite, Method, Point, Problem, auto};

const D: usize = 6;

/// `log cosh(t - y)`
#[derive(Debug, Clone, Copy)]
struct LogCosh;

impl Loss for LogCosh {
    const NAME: &'static str = "log cosh";

    fn value(&self, t: f64, y: f64) -> f64 {
        let size = (t - y).abs();
        size + (-2.0 * size).exp().ln_1p() - std::f64::consts::LN_2
    }

    fn derivative(&self, t: f64, y: f64) -> f64 {
        (t - y).tanh()
    }

    fn second(&self, t: f64, y: f64) -> f64 {
        (t - y).cosh().powi(-2)
    }

    fn curvature(&self) -> f64 {
        1.0
    }

    fn conjugate(&self, u: f64, y: f64) -> f64 {
        if u.abs() > 1.0 + 1e-12 {
            return f64::INFINITY;
        }
        let entropy = |p: f64| if p > 0.0 { p * p.ln() } else { 0.0 };
        u * y + 0.5 * (entropy(1.0 + u) + entropy(1.0 - u))
    }

    fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid> {
        let expected = "a finite number";
        if y.is_finite() { Ok(()) } else { Err(Invalid::Target { row, value: y, expected }) }
    }
}

/// `strength` times the sum of the norms of pairs of neighbours.
#[derive(Debug, Clone)]
struct Pairs {
    strength: f64,
}

impl Regulariser for Pairs {
    const NAME: &'static str = "pairs";

    fn check(&self, _: usize) -> Result<(), Invalid> {
        Invalid::check_nonnegative("strength", self.strength)
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.strength * x.chunks(2).map(|pair| pair[0].hypot(pair[1])).sum::<f64>()
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        for pair in x.chunks_mut(2) {
            let norm = pair[0].hypot(pair[1]);
            let kept = (norm - step * self.strength).max(0.0);
            pair.iter_mut().for_each(|x| *x *= if norm > 0.0 { kept / norm } else { 0.0 });
        }
    }
}

impl Composite for Pairs {}

/// `strength` times the sum of the positive parts.
#[derive(Debug, Clone)]
struct Positive {
    strength: f64,
}

impl Regulariser for Positive {
    const NAME: &'static str = "positive part";

    fn check(&self, _: usize) -> Result<(), Invalid> {
        Invalid::check_nonnegative("strength", self.strength)
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.strength * x.iter().map(|x| x.max(0.0)).sum::<f64>()
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        x.iter_mut().enumerate().for_each(|(c, x)| *x = self.prox_coordinate(c, *x, step));
    }
}

impl Separable for Positive {
    fn prox_coordinate(&self, _: usize, v: f64, step: f64) -> f64 {
        if v > 0.0 { (v - step * self.strength).max(0.0) } else { v }
    }
}

impl Lagged for Positive {}

impl Composite for Positive {
    fn coordinates(&self) -> Option<&impl Lagged> {
        Some(self)
    }
}

/// A gap `g` bounds the distance to the optimum by `sqrt(2 g / l2)`, here 2e-6.
fn stop() -> Stop {
    Stop { absolute: 1e-13, relative: 0.0, max_passes: 1e5, ..Stop::default() }
}

const L2: f64 = 0.05;

fn near(point: &Point, report: &Report, expected: &[f64]) {
    assert!(matches!(report.certificate, Certificate::Gap { .. }), "{report}");
    assert!(matches!(report.status, Status::Converged), "{report}");
    let off = distance(&point.weights, expected);
    assert!(off <= 2e-6, "{off:e}: {report}");
}

/// `auto` and methods that take every [`Composite`] end at the expected weights. Returns what `auto` chose.
fn fits<R: Composite>(problem: &Problem<'_, Csr<'_, f64>, LogCosh, R>, expected: &[f64]) -> Method {
    let settings = FistaSettings { stop: stop(), ..Default::default() };
    let s = fista(problem, &settings, None, &mut ()).unwrap();
    near(&s.state.point, &s.report, expected);
    let settings = SagaSettings { stop: stop(), ..Default::default() };
    let s = saga(problem, &settings, None, &mut ()).unwrap();
    near(&s.state.point, &s.report, expected);
    let settings = AutoSettings { stop: stop(), ..Default::default() };
    let s = auto(problem, &settings, None, &mut ()).unwrap();
    near(&s.state.point, &s.report, expected);
    s.state.choice.method
}

#[test]
fn a_penalty_of_ones_own_that_ties_weights_together_is_fitted_as_the_group_lasso_is() {
    let data = data(40, D, 0.7, 1);
    let design = Csr::new(data.sparse.view()).unwrap();
    let mut zeros = Vec::new();
    // At the largest strength all weights are 0.
    for strength in [0.02, 0.1, 1.0] {
        let groups = Groups::consecutive(&[2, 2, 2]).unwrap().with_weights(&[1.0; 3]).unwrap();
        let known = GroupNorm { groups, strength };
        let (expected, _) = reference(&data.dense, &data.reals, &LogCosh, &known, L2, false);
        zeros.push(expected.iter().filter(|&&x| x == 0.0).count());
        let problem = Problem::new(design, &data.reals, LogCosh, Pairs { strength }, L2).unwrap();
        assert_eq!(fits(&problem, &expected), Method::Fista);
    }
    assert_eq!((zeros[0], zeros[2]), (0, D));
}

#[test]
fn a_separable_penalty_of_ones_own_is_open_to_dual_methods() {
    let data = data(40, D, 0.7, 2);
    let design = Csr::new(data.sparse.view()).unwrap();
    let own = Positive { strength: 0.1 };
    let (expected, _) = reference(&data.dense, &data.reals, &LogCosh, &own, L2, false);
    let problem = Problem::new(design, &data.reals, LogCosh, own, L2).unwrap();
    assert_ne!(fits(&problem, &expected), Method::Fista);
    let settings = SdcaSettings { stop: stop(), ..Default::default() };
    let s = sdca(&problem, &settings, None, &mut ()).unwrap();
    near(&s.state.point, &s.report, &expected);
}

#[test]
fn the_sorted_l1_norm_is_fitted() {
    let data = data(40, D, 0.7, 3);
    let design = Csr::new(data.sparse.view()).unwrap();
    let slope = SortedL1 { weights: vec![0.1, 0.08, 0.06, 0.04, 0.02, 0.01] };
    let (expected, _) = reference(&data.dense, &data.reals, &LogCosh, &slope, L2, false);
    let problem = Problem::new(design, &data.reals, LogCosh, slope, L2).unwrap();
    assert_eq!(fits(&problem, &expected), Method::Fista);
}

/// A regulariser of 0 whose proximal step is NaN beyond a limit.
#[derive(Debug, Clone)]
struct Broken {
    limit: f64,
}

impl Regulariser for Broken {
    const NAME: &'static str = "broken";

    fn check(&self, _: usize) -> Result<(), Invalid> {
        Ok(())
    }

    fn value(&self, _: &[f64]) -> f64 {
        0.0
    }

    fn prox(&self, x: &mut [f64], _: f64) {
        x.iter_mut().filter(|x| !(x.abs() < self.limit)).for_each(|x| *x = f64::NAN);
    }
}

impl Composite for Broken {}

/// What a proximal step of NaN leaves is no optimum: the run has no certificate, and the point is finite unless the run diverged.
#[test]
fn a_proximal_step_of_nan_never_converges() {
    let data = data(40, D, 1.0, 3);
    let stop = Stop { max_passes: 30.0, ..Stop::default() };
    for limit in [0.0, 1e-3, 0.1] {
        for l2 in [0.0, 0.1] {
            let design = || Csr::new(data.sparse.view()).unwrap();
            let least =
                || Problem::new(design(), &data.reals, Squared, Broken { limit }, l2).unwrap();
            let signs =
                || Problem::new(design(), &data.signs, Logistic, Broken { limit }, l2).unwrap();
            let judge = |report: &Report, point: &Point| {
                assert_ne!(report.status, Status::Converged, "{limit} {l2}: {report}");
                assert!(report.certificate.value() > 0.0, "{limit} {l2}: {report}");
                let finite = point.weights.iter().all(|w| w.is_finite());
                assert!(finite || report.status == Status::Diverged, "{limit} {l2}: {report}");
            };
            for problem in [least(), least().with_intercept()] {
                let settings = SagaSettings { stop, ..SagaSettings::default() };
                let found = saga(&problem, &settings, None, &mut ()).unwrap();
                judge(&found.report, &found.state.point);
                let settings = SvrgSettings { stop, ..SvrgSettings::default() };
                let found = svrg(&problem, &settings, None, &mut ()).unwrap();
                judge(&found.report, &found.state.point);
                let settings = FistaSettings { stop, ..FistaSettings::default() };
                let found = fista(&problem, &settings, None, &mut ()).unwrap();
                judge(&found.report, &found.state.point);
            }
            for problem in [signs(), signs().with_intercept()] {
                let settings = SagaSettings { stop, ..SagaSettings::default() };
                let found = saga(&problem, &settings, None, &mut ()).unwrap();
                judge(&found.report, &found.state.point);
                let settings = AutoSettings { stop, ..AutoSettings::default() };
                let found = auto(&problem, &settings, None, &mut ()).unwrap();
                judge(&found.report, &found.state.point);
            }
        }
    }
}
