//! A backend of a user's own, from the public interface alone: the sum over all joint states, written out.

use std::cell::Cell;

use fenchel_mrf_learn::{
    Backend, Coordinates, Data, Error, ExactMle, Fit, Layout, MissingPolicy, Penalty, TreeOracle,
};
use fenchel_optim::{Certificate, Refusal, Status, Stop};
use ndarray::Array2;

use crate::common::brute_states;

/// Binary variables, state by state.
struct Written {
    variables: usize,
    calls: usize,
}

impl Backend for Written {
    fn means(&mut self, theta: &[f64], out: &mut [f64]) -> Result<f64, Error> {
        self.calls += 1;
        let (log_z, _, means) = brute_states(Coordinates::Binary, &vec![2; self.variables], theta);
        out.copy_from_slice(&means);
        Ok(log_z)
    }
}

#[test]
fn a_backend_of_ones_own_learns_the_same_network() {
    let x = Array2::from_shape_fn((80, 4), |(n, i)| {
        let noise = (n * 7 + i * 13 + n * n / 3) % 5 == 0;
        u8::from((n / (1 + i / 2) % 2 == 0) != noise)
    });
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let method = ExactMle { penalty: Penalty::edges(0.03), ..ExactMle::default() };
    let mut own = Written { variables: 4, calls: 0 };
    let found = method.fit_by(&data, &mut own, Fit::new()).unwrap();
    let known = method.fit(&data).unwrap();
    assert!(own.calls > 1 && !known.edges().is_empty());
    assert!(found.report.certificate.value() <= 1e-8, "{}", found.report);
    for (a, b) in found.theta.iter().zip(&known.theta) {
        assert!((a - b).abs() <= 1e-3, "{a} {b}");
    }
}

/// Answers at zero parameters alone.
struct Narrow(Written);

impl Backend for Narrow {
    fn means(&mut self, theta: &[f64], out: &mut [f64]) -> Result<f64, Error> {
        if theta.iter().any(|t| *t != 0.0) {
            self.0.calls += 1;
            return Err(Refusal::unsupported("a narrow backend", "parameters").into());
        }
        self.0.means(theta, out)
    }
}

/// The line search took the error for a step that was too long, and asked three hundred times for shorter ones.
#[test]
fn the_first_error_of_a_backend_ends_the_fit() {
    let x = Array2::from_shape_fn((30, 3), |(n, i)| u8::from((n * (i + 3)) % 7 < 3));
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let mut narrow = Narrow(Written { variables: 3, calls: 0 });
    let method = ExactMle { penalty: Penalty::l1(0.001), ..ExactMle::default() };
    let before = {
        let stop = Stop { max_passes: 0.0, ..Stop::default() };
        ExactMle { stop, ..method.clone() }.fit_by(&data, &mut narrow, Fit::new()).unwrap();
        narrow.0.calls
    };
    let error = method.fit_by(&data, &mut narrow, Fit::new()).unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
    // The certificate at the start, the gradient there, and the error.
    assert_eq!(narrow.0.calls - before, 3);
}

/// A dense graph of 40 variables: its tree is refused at the first step away from zero.
#[test]
fn a_graph_that_is_too_dense_is_refused_at_once() {
    let x = Array2::from_shape_fn((300, 40), |(i, j)| {
        u8::from((i * 7919 + j * 104_729 + i * j * 31) % 97 < 45)
    });
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let penalty = Penalty::l1(0.001);
    let method = ExactMle { penalty, max_memory: Some(1 << 20), ..ExactMle::default() };
    let error = method.fit(&data).unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
}

/// Means that would take for ever away from zero parameters; the log-partition function is quick.
struct Endless(Written);

impl Backend for Endless {
    fn means(&mut self, theta: &[f64], out: &mut [f64]) -> Result<f64, Error> {
        self.0.means(theta, out)
    }

    fn means_until(
        &mut self,
        theta: &[f64],
        out: &mut [f64],
        ends: &dyn Fn() -> bool,
    ) -> Result<Option<f64>, Error> {
        if theta.iter().all(|t| *t == 0.0) {
            return self.means(theta, out).map(Some);
        }
        while !ends() {
            std::thread::yield_now();
        }
        Ok(None)
    }
}

/// The time limit reaches into a gradient and a certificate. What is left is the objective, and the bound of the start.
#[test]
fn a_certificate_that_takes_too_long_is_left() {
    let x = Array2::from_shape_fn((30, 3), |(n, i)| u8::from((n * (i + 3)) % 7 < 3));
    let data = Data::binary(x.view(), MissingPolicy::Error).unwrap();
    let mut endless = Endless(Written { variables: 3, calls: 0 });
    let stop = Stop { absolute: 0.0, relative: 0.0, max_seconds: Some(0.01), ..Stop::default() };
    let method = ExactMle { penalty: Penalty::l1(0.01), stop, ..ExactMle::default() };
    let model = method.fit_by(&data, &mut endless, Fit::new()).unwrap();
    assert_eq!(model.report.status, Status::TimeLimit, "{}", model.report);
    let objective = model.report.certificate.objective().unwrap();
    // At zero parameters the objective is 3 ln 2.
    assert!(objective <= 3.0 * 2.0_f64.ln() + 1e-12, "{objective}");
    let best = ExactMle { stop: Stop::default(), ..method }.fit(&data).unwrap();
    let Certificate::Gap { lower_bound, .. } = model.report.certificate else {
        panic!("{}", model.report)
    };
    assert!(lower_bound <= best.report.certificate.objective().unwrap(), "{lower_bound}");
}

/// The junction tree asks before every calibration: one for the whole, and one for each variable but the last.
#[test]
fn a_junction_tree_is_left_between_calibrations() {
    let layout = Layout::two_states(4, Coordinates::Binary).unwrap();
    let theta: Vec<f64> = (0..layout.len()).map(|c| 0.1 * c as f64).collect();
    let mut tree = TreeOracle::new(&layout, None).unwrap();
    let (mut out, mut full) = (vec![0.0; layout.len()], vec![0.0; layout.len()]);
    let log_z = tree.means(&theta, &mut full).unwrap();
    for most in 0..5 {
        let asked = Cell::new(0);
        let ends = || {
            asked.set(asked.get() + 1);
            asked.get() > most
        };
        let found = Backend::means_until(&mut tree, &theta, &mut out, &ends).unwrap();
        assert_eq!(found, (most == 4).then_some(log_z), "{most}");
        assert_eq!(asked.get(), (most + 1).min(4), "{most}");
    }
    assert_eq!(out, full);
}

#[test]
fn more_draws_than_memory_are_refused() {
    let model = fenchel_mrf_learn::synthetic::ising_grid(2, 0.3).unwrap();
    let error = fenchel_mrf_learn::synthetic::exact_draws(&model, usize::MAX, 0).unwrap_err();
    assert!(error.to_string().contains("take fewer rows"), "{error}");
}
