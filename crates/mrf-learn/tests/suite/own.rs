//! A backend of a user's own, from the public interface alone: the sum over all joint states, written out.

use fenchel_mrf_learn::{Backend, Coordinates, Data, Error, ExactMle, Fit, MissingPolicy, Penalty};
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
