//! Katyusha: the algorithm as printed, its gap, and a saved run.

use crate::common::{data, distance};
use fenchel_finite_sum::Problem;
use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::methods::{KatyushaSettings, katyusha};
use fenchel_linalg::{Csr, Dense};
use fenchel_optim::prox::L1;
use fenchel_optim::{Loss, Status, Stop};

const D: usize = 5;

/// One term is its own snapshot: every step sees the full gradient, and the method is written out in a few lines.
#[test]
fn katyusha_on_one_term_is_as_printed() {
    let data = data(1, D, 1.0, 12);
    let (l1, l2) = (0.02, 0.01);
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, L1 { strength: l1 }, l2).unwrap();
    let a = data.dense.row(0).to_vec();
    let smooth = 0.25 * a.iter().map(|a| a * a).sum::<f64>();
    let theta = (2.0 * l2 / (3.0 * smooth)).sqrt().min(0.5);
    let s = 0.5 / (1.5 * theta) / smooth;
    let (mut y, mut z, mut w) = (vec![0.0; D], vec![0.0; D], vec![0.0; D]);
    for steps in 1..30 {
        let x: Vec<f64> =
            (0..D).map(|c| theta * z[c] + 0.5 * w[c] + (0.5 - theta) * y[c]).collect();
        let t: f64 = a.iter().zip(&x).map(|(a, x)| a * x).sum();
        let slope = Logistic.derivative(t, data.signs[0]);
        w.clone_from(&y);
        for c in 0..D {
            // argmin l1 |v| + (l2/2) v^2 + (v - (z - s g))^2 / (2 s)
            let v = z[c] - s * slope * a[c];
            let next = v.signum() * (v.abs() - s * l1).max(0.0) / (1.0 + s * l2);
            y[c] = x[c] + theta * (next - z[c]);
            z[c] = next;
        }
        // A snapshot before every step: two passes each, and one for the end of the run.
        let passes = 2.0 * steps as f64 + 1.0;
        let settings = KatyushaSettings {
            stop: Stop { absolute: 0.0, relative: 0.0, ..Stop::after_passes(passes) },
            ..KatyushaSettings::default()
        };
        let found = katyusha(&problem, &settings, None, &mut ()).unwrap().state.point.weights;
        // The run ends by a proximal gradient step.
        let t: f64 = a.iter().zip(&y).map(|(a, y)| a * y).sum();
        let (slope, s) = (Logistic.derivative(t, data.signs[0]), 1.0 / (smooth + l2));
        let end = (0..D).map(|c| y[c] - s * (slope * a[c] + l2 * y[c]));
        let end: Vec<f64> = end.map(|v| v.signum() * (v.abs() - s * l1).max(0.0)).collect();
        assert!(distance(&found, &end) < 1e-12, "{steps}: {found:?} {end:?}");
    }
}

#[test]
fn katyusha_reaches_a_closed_gap() {
    let data = data(60, D, 0.5, 13);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, L1 { strength: 0.01 }, 1e-3).unwrap();
    let problem = problem.with_intercept();
    let stop = Stop { absolute: 1e-11, relative: 0.0, max_passes: 5_000.0, ..Stop::default() };
    let settings = KatyushaSettings { stop, ..Default::default() };
    let report = katyusha(&problem, &settings, None, &mut ()).unwrap().report;
    assert_eq!(report.status, Status::Converged, "{report}");
}
