//! SDCA by proximal steps on terms of any form.

use crate::common::{Data, data, distance, reference};
use fenchel_finite_sum::general::{self, FiniteSum, Sum, SumSettings, SumState};
use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::methods::{SdcaSettings, sdca};
use fenchel_finite_sum::prelude::Refusal;
use fenchel_finite_sum::prelude::{Order, Status, Stop};
use fenchel_finite_sum::prox::Zero;
use fenchel_finite_sum::{Error, Problem};
use fenchel_linalg::Csr;
use fenchel_optim::Loss;

/// Logistic terms, on their supports or on all coordinates.
pub(crate) struct Terms<'d> {
    rows: Vec<(Vec<u32>, Vec<f64>)>,
    data: &'d Data,
    sparse: bool,
    has_prox: bool,
}

impl<'d> Terms<'d> {
    pub(crate) fn new(data: &'d Data, sparse: bool) -> Self {
        let row = |a: ndarray::ArrayView1<f64>| {
            let stored = a.iter().enumerate().filter(|(_, a)| !sparse || **a != 0.0);
            stored.map(|(c, a)| (c as u32, *a)).unzip()
        };
        let rows = data.dense.rows().into_iter().map(row).collect();
        Terms { rows, data, sparse, has_prox: true }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl FiniteSum for Terms<'_> {
    type Scratch = ();

    fn scratch(&self) {}

    fn terms(&self) -> usize {
        self.rows.len()
    }

    fn dimension(&self) -> usize {
        self.data.dense.ncols()
    }

    fn support(&self, i: usize) -> Option<&[u32]> {
        self.sparse.then_some(&self.rows[i].0)
    }

    fn gradient(&self, i: usize, x: &[f64], (): &mut (), gradient: &mut [f64]) -> f64 {
        let (columns, values) = &self.rows[i];
        let t: f64 = columns.iter().zip(values).map(|(&c, a)| a * x[c as usize]).sum();
        let s = Logistic.derivative(t, self.data.signs[i]);
        gradient.iter_mut().zip(values).for_each(|(g, a)| *g = s * a);
        Logistic.value(t, self.data.signs[i])
    }

    fn smoothness(&self, i: usize) -> f64 {
        0.25 * dot(&self.rows[i].1, &self.rows[i].1)
    }

    /// `z - step u a`, with `u` the derivative there, by bisection.
    fn prox_term(&self, i: usize, point: &mut [f64], step: f64, (): &mut ()) -> Option<f64> {
        let (a, y) = (&self.rows[i].1, self.data.signs[i]);
        let (m, q) = (dot(a, point), step * dot(a, a));
        let (mut low, mut high) = if y > 0.0 { (-1.0, 0.0) } else { (0.0, 1.0) };
        for _ in 0..200 {
            let u = 0.5 * (low + high);
            if u < Logistic.derivative(m - q * u, y) { low = u } else { high = u }
        }
        let u = 0.5 * (low + high);
        point.iter_mut().zip(a).for_each(|(x, a)| *x -= step * u * a);
        self.has_prox.then(|| Logistic.value(m - q * u, y))
    }
}

/// Theorem 3.2, and the optimum with a closed gap.
#[test]
fn on_linear_terms_it_is_sdca() {
    const N: usize = 15;
    let data = data(N, 6, 0.6, 3);
    let l2 = 0.05;
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, l2).unwrap();
    let (best, _) = reference(&data.dense, &data.signs, &Logistic, &Zero, l2, false);
    let script = Order::Scripted((0..200).map(|k| (7 * k + k / 5) % N).collect());
    for sparse in [true, false] {
        let terms = Terms::new(&data, sparse);
        let sum = Sum::new(&terms, Zero, l2).unwrap();
        for steps in [1, 14, 200] {
            let stop = Stop::after_passes(steps as f64 / N as f64);
            let settings = SdcaSettings { order: script.clone(), stop, ..Default::default() };
            let linear = sdca(&problem, &settings, None, &mut ()).unwrap();
            let settings = SumSettings { order: script.clone(), stop, ..Default::default() };
            let general = general::sdca(&sum, &settings, None, &mut ()).unwrap();
            let off = distance(&linear.state.point.weights, &general.state.point);
            assert!(off < 1e-12, "{steps} steps: {off:e}");
        }
        let stop = Stop { absolute: 1e-13, relative: 0.0, ..Stop::default() };
        let settings = SumSettings { stop, ..SumSettings::default() };
        let s = general::sdca(&sum, &settings, None, &mut ()).unwrap();
        assert_eq!(s.report.status, Status::Converged, "{}", s.report);
        assert!(distance(&s.state.point, &best) < 1e-6);
        // A warm start stands where the run ended.
        let settings = SumSettings { stop: Stop::after_passes(0.0), ..settings };
        let again = general::sdca(&sum, &settings, Some(s.state.clone()), &mut ()).unwrap();
        assert!(distance(&again.state.point, &s.state.point) < 1e-12);
    }
}

/// What it certifies never exceeds the optimum.
#[test]
fn certificates_bound_the_suboptimality() {
    let data = data(20, 5, 0.7, 4);
    let l2 = 0.02;
    let terms = Terms::new(&data, true);
    let sum = Sum::new(&terms, Zero, l2).unwrap();
    let (best, _) = reference(&data.dense, &data.signs, &Logistic, &Zero, l2, false);
    let best = sum.certify(&best).unwrap().objective().unwrap();
    for passes in [0.0, 0.5, 1.0, 2.0, 5.0, 20.0] {
        let settings = SumSettings { stop: Stop::after_passes(passes), ..SumSettings::default() };
        let certificate = general::sdca(&sum, &settings, None, &mut ()).unwrap().report.certificate;
        let excess = certificate.objective().unwrap() - best;
        assert!(certificate.value() >= excess - 1e-13, "{passes} passes: {certificate:?}");
    }
}

#[test]
fn bad_input_is_refused() {
    let data = data(6, 3, 1.0, 5);
    let mut terms = Terms::new(&data, false);
    let settings = SumSettings::default();
    let sum = Sum::new(&terms, Zero, 0.0).unwrap();
    let error = general::sdca(&sum, &settings, None, &mut ()).unwrap_err();
    assert!(matches!(error, Error::Refused(Refusal::NeedsStrongConvexity { .. })), "{error}");
    let sum = Sum::new(&terms, Zero, 0.1).unwrap();
    let start = SumState::new(vec![0.0; 3], vec![0.0; 4]);
    let error = general::sdca(&sum, &settings, Some(start), &mut ()).unwrap_err();
    assert!(error.to_string().contains("table"), "{error}");
    let settings = SumSettings { max_memory: Some(8), ..settings };
    let error = general::sdca(&sum, &settings, None, &mut ()).unwrap_err();
    assert!(matches!(error, Error::Refused(Refusal::MemoryLimit { .. })), "{error}");
    terms.has_prox = false;
    let sum = Sum::new(&terms, Zero, 0.1).unwrap();
    let error = general::sdca(&sum, &SumSettings::default(), None, &mut ()).unwrap_err();
    assert!(error.to_string().contains("prox_term"), "{error}");
}
