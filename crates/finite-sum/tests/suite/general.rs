//! Sums of terms of any form: equal to the linear methods where the terms are linear, and at the optimum where
//! they are not.

use crate::common::{data, distance, reference};
use fenchel_finite_sum::general::{self, FiniteSum, Sum, SumSettings, SumState};
use fenchel_finite_sum::loss::Logistic;
use fenchel_finite_sum::methods::{SagaSettings, SagaTheory, saga};
use fenchel_finite_sum::prelude::Refusal;
use fenchel_finite_sum::prelude::{Certificate, Order, Status, StepSize, Stop};
use fenchel_finite_sum::prox::{GroupNorm, Groups, L1, Zero};
use fenchel_finite_sum::{Error, Point, Problem};
use fenchel_linalg::Csr;
use fenchel_optim::Loss;
use ndarray::Array2;

/// Logistic terms as a general sum, with their supports or without.
#[derive(Debug)]
pub(crate) struct Terms {
    rows: Vec<(Vec<u32>, Vec<f64>)>,
    signs: Vec<f64>,
    d: usize,
    sparse: bool,
}

impl Terms {
    pub(crate) fn new(x: &Array2<f64>, signs: &[f64], sparse: bool) -> Self {
        let row = |a: ndarray::ArrayView1<f64>| {
            let stored = a.iter().enumerate().filter(|(_, a)| !sparse || **a != 0.0);
            stored.map(|(c, a)| (c as u32, *a)).unzip()
        };
        let rows = x.rows().into_iter().map(row).collect();
        Terms { rows, signs: signs.to_vec(), d: x.ncols(), sparse }
    }
}

impl FiniteSum for Terms {
    type Scratch = ();

    fn scratch(&self) {}

    fn terms(&self) -> usize {
        self.rows.len()
    }

    fn dimension(&self) -> usize {
        self.d
    }

    fn support(&self, i: usize) -> Option<&[u32]> {
        self.sparse.then_some(&self.rows[i].0)
    }

    fn gradient(&self, i: usize, x: &[f64], (): &mut (), gradient: &mut [f64]) -> f64 {
        let (columns, values) = &self.rows[i];
        let t: f64 = columns.iter().zip(values).map(|(&c, a)| a * x[c as usize]).sum();
        let s = Logistic.derivative(t, self.signs[i]);
        gradient.iter_mut().zip(values).for_each(|(g, a)| *g = s * a);
        Logistic.value(t, self.signs[i])
    }

    fn smoothness(&self, i: usize) -> f64 {
        0.25 * self.rows[i].1.iter().map(|a| a * a).sum::<f64>()
    }
}

fn script(n: usize) -> Order {
    Order::Scripted((0..3 * n).map(|k| (k * k + 5 * k) % n).collect())
}

/// On linear terms SAGA takes the steps of its linear form, sparse and dense.
#[test]
fn trajectories_are_those_of_the_linear_method() {
    let data = data(30, 7, 0.4, 1);
    let n = 30;
    let step = StepSize::Constant(0.3);
    let stop = Stop::after_passes(4.0);
    for l1 in [0.0, 0.02] {
        let (h, l2) = (L1 { strength: l1 }, 0.01);
        let design = Csr::new(data.sparse.view()).unwrap();
        let problem = Problem::new(design, &data.signs, Logistic, h, l2).unwrap();
        let order = script(n);
        let settings = SagaSettings { step, order: order.clone(), stop, ..Default::default() };
        let linear_saga = saga(&problem, &settings, None, &mut ()).unwrap().state.point.weights;
        for sparse in [false, true] {
            let terms = Terms::new(&data.dense, &data.signs, sparse);
            let sum = Sum::new(&terms, h, l2).unwrap();
            let settings = SumSettings { step, order: order.clone(), stop, ..Default::default() };
            let s = general::saga(&sum, &settings, None, &mut ()).unwrap();
            assert!(distance(&s.state.point, &linear_saga) <= 1e-13, "saga {sparse} {l1}");
        }
    }
}

#[test]
fn every_method_ends_at_the_optimum() {
    let data = data(40, 6, 0.5, 2);
    let (w, _) = reference(&data.dense, &data.signs, &Logistic, &Zero, 0.05, false);
    let h = L1 { strength: 0.02 };
    let (sparse_w, _) = reference(&data.dense, &data.signs, &Logistic, &h, 0.01, false);
    for sparse in [false, true] {
        let terms = Terms::new(&data.dense, &data.signs, sparse);
        let sum = Sum::new(&terms, Zero, 0.05).unwrap();
        let stop = Stop { absolute: 1e-15, relative: 0.0, max_passes: 1e4, ..Stop::default() };
        let settings = SumSettings { stop, ..Default::default() };
        let slower = (40.0 * 0.05 / (2.0 * sum.smoothness())).min(1.0);
        let scaled = SumSettings { step: StepSize::Scaled(slower), stop, ..Default::default() };
        let results = [
            general::saga(&sum, &settings, None, &mut ()).map(|s| (s.state.point, s.report)),
            general::svrg(&sum, &settings, None, &mut ()).map(|s| (s.state.point, s.report)),
            general::finito(&sum, &scaled, None, &mut ()).map(|s| (s.state.point, s.report)),
        ];
        for result in results {
            let (x, report) = result.unwrap();
            assert_eq!(report.status, Status::Converged, "{report}");
            assert!(matches!(report.certificate, Certificate::Gap { .. }));
            // Strong convexity: ||x - x*||^2 <= 2 gap / l2.
            assert!(distance(&x, &w) <= (2e-15f64 / 0.05).sqrt() + 1e-9);
        }
        let sum = Sum::new(&terms, h, 0.01).unwrap();
        let stop = Stop { absolute: 1e-10, relative: 0.0, max_passes: 1e5, ..Stop::default() };
        let settings = SumSettings { stop, ..Default::default() };
        for (x, report) in [
            general::saga(&sum, &settings, None, &mut ())
                .map(|s| (s.state.point, s.report))
                .unwrap(),
            general::svrg(&sum, &settings, None, &mut ())
                .map(|s| (s.state.point, s.report))
                .unwrap(),
        ] {
            assert!(matches!(report.certificate, Certificate::Residual { .. }), "{report}");
            assert!(distance(&x, &sparse_w) <= 1e-7);
            for (a, b) in x.iter().zip(&sparse_w) {
                assert_eq!(*a == 0.0, *b == 0.0);
            }
        }
    }
}

/// The gap by strong convexity bounds the suboptimality at any point.
#[test]
fn certificates_bound_the_suboptimality() {
    let data = data(40, 6, 0.5, 3);
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, Zero, 0.05).unwrap();
    let (weights, _) = reference(&data.dense, &data.signs, &Logistic, &Zero, 0.05, false);
    let best = problem.objective(&Point { weights: weights.clone(), intercept: 0.0 }).unwrap();
    let terms = Terms::new(&data.dense, &data.signs, true);
    let sum = Sum::new(&terms, Zero, 0.05).unwrap();
    for shift in [0.0, 1e-4, 0.1, 3.0] {
        let x: Vec<f64> = weights.iter().map(|w| w + shift).collect();
        let certificate = sum.certify(&x).unwrap();
        let value = problem.objective(&Point { weights: x, intercept: 0.0 }).unwrap();
        assert!((certificate.objective().unwrap() - value).abs() <= 1e-14 * (1.0 + value));
        assert!(certificate.value() >= value - best - 1e-14);
    }
}

#[test]
fn a_warm_start_goes_on() {
    let data = data(40, 6, 0.5, 4);
    let terms = Terms::new(&data.dense, &data.signs, true);
    let sum = Sum::new(&terms, Zero, 0.05).unwrap();
    let settings = SumSettings { stop: Stop::at_relative(1e-6), ..Default::default() };
    let s = general::saga(&sum, &settings, None, &mut ()).unwrap();
    let again = general::saga(&sum, &settings, Some(s.state), &mut ()).unwrap();
    assert_eq!((again.report.status, again.report.passes), (Status::Converged, 0.0));
}

#[test]
fn bad_input_is_refused() {
    let data = data(10, 4, 1.0, 5);
    let terms = Terms::new(&data.dense, &data.signs, false);
    assert!(Sum::new(&terms, Zero, -1.0).is_err());
    assert!(Sum::new(&terms, L1 { strength: f64::NAN }, 1.0).is_err());
    let mut beyond = Terms::new(&data.dense, &data.signs, true);
    beyond.rows[3].0[0] = 4;
    let error = Sum::new(&beyond, Zero, 0.1).unwrap_err().to_string();
    assert!(error.contains("term 3 depends on variable 4; there are 4"), "{error}");
    let none = Terms { rows: vec![], signs: vec![], d: 4, sparse: false };
    assert!(Sum::new(&none, Zero, 0.1).unwrap_err().to_string().contains("the sum is empty"));

    let sum = Sum::new(&terms, Zero, 0.1).unwrap();
    let small = SumSettings { max_memory: Some(319), ..Default::default() };
    for error in [
        general::saga(&sum, &small, None, &mut ()).unwrap_err(),
        general::finito(&sum, &small, None, &mut ()).unwrap_err(),
    ] {
        assert!(
            matches!(error, Error::Refused(Refusal::MemoryLimit { needed: 320, limit: 319, .. })),
            "{error}"
        );
    }
    assert!(general::svrg(&sum, &small, None, &mut ()).is_ok());
    let weighted = SumSettings { order: Order::Weighted(vec![1.0; 10]), ..Default::default() };
    assert!(matches!(
        general::saga(&sum, &weighted, None, &mut ()).unwrap_err(),
        Error::Refused(Refusal::Unsupported { .. })
    ));
    let settings = SumSettings::default();
    let state = SumState::new(vec![0.0; 4], vec![0.0; 3]);
    assert!(general::saga(&sum, &settings, Some(state), &mut ()).is_err());
    assert!(general::svrg(&sum, &settings, Some(vec![f64::NAN; 4].into()), &mut ()).is_err());
    let zero = SumSettings { inner: Some(0.0), ..Default::default() };
    assert!(general::svrg(&sum, &zero, None, &mut ()).is_err());
    // Linear terms alone have no step size; with l2, or beside one term with a curvature, they have.
    let mut linear = Terms::new(&data.dense, &data.signs, false);
    linear.rows.iter_mut().for_each(|row| row.1.fill(0.0));
    let error = Sum::new(&linear, Zero, 0.0).unwrap_err().to_string();
    assert!(error.contains("largest smoothness of a term = 0; expected a number > 0"), "{error}");
    assert!(Sum::new(&linear, Zero, 5e-324).is_err(), "the inverse is infinite");
    let strong = Sum::new(&linear, Zero, 0.1).unwrap();
    let bent = general::saga(&strong, &settings, Some(vec![1.0; 4].into()), &mut ()).unwrap();
    assert_eq!(bent.report.status, Status::Converged);
    linear.rows[0].1[0] = 1.0;
    assert!(Sum::new(&linear, Zero, 0.0).is_ok());
    let flat = Sum::new(&terms, Zero, 0.0).unwrap();
    assert!(matches!(
        general::finito(&flat, &settings, None, &mut ()).unwrap_err(),
        Error::Refused(Refusal::NeedsStrongConvexity { .. })
    ));
    // The steps and the length of a round that follow from l2.
    let strong = SumSettings { theory: SagaTheory::StronglyConvex, ..Default::default() };
    let recommended = SumSettings { inner: None, ..Default::default() };
    for error in [
        general::saga(&flat, &strong, None, &mut ()).unwrap_err(),
        general::svrg(&flat, &recommended, None, &mut ()).unwrap_err(),
    ] {
        assert!(matches!(error, Error::Refused(Refusal::NeedsStrongConvexity { .. })), "{error}");
    }
}

/// The steps of SAGA's theory, and the length of a round of SVRG with `(1 - step l2)^m = 1/2`, are those of the linear methods.
#[test]
fn settings_of_the_theory_are_as_printed() {
    let (n, l2) = (30, 0.02);
    let data = data(n, 5, 0.6, 8);
    let terms = Terms::new(&data.dense, &data.signs, false);
    let sum = Sum::new(&terms, Zero, l2).unwrap();
    let (l, strong) = (sum.smoothness(), n as f64 * l2);
    let stop = Stop::after_passes(5.0);
    for (theory, step) in [
        (SagaTheory::Adaptive, 1.0 / (3.0 * l)),
        (SagaTheory::StronglyConvex, 1.0 / (2.0 * (strong + l))),
        (SagaTheory::StronglyConvexOnAverage, 1.0 / (3.0 * (strong + l))),
    ] {
        let a = SumSettings { theory, stop, ..SumSettings::default() };
        let b = SumSettings { step: StepSize::Constant(step), stop, ..SumSettings::default() };
        let [a, b] = [a, b].map(|s| general::saga(&sum, &s, None, &mut ()).unwrap().state);
        assert_eq!(a, b, "{theory:?}");
    }
    let steps = (0.5f64.ln() / (1.0 - l2 / (4.0 * l)).ln()).round();
    assert!(steps > n as f64);
    // Long enough for a second round.
    let stop = Stop::after_passes(3.0 + 4.0 * steps / n as f64);
    let a = SumSettings { inner: None, stop, ..SumSettings::default() };
    let b = SumSettings { inner: Some(steps / n as f64), stop, ..SumSettings::default() };
    let other =
        SumSettings { inner: Some((steps + 1.0) / n as f64), stop, ..SumSettings::default() };
    let [a, b, other] =
        [a, b, other].map(|s| general::svrg(&sum, &s, None, &mut ()).unwrap().state.point);
    assert_eq!(a, b);
    assert_ne!(a, other);
}

/// Steps on whole vectors where a regulariser ties coordinates together.
#[test]
fn groups_of_a_general_sum_are_zero_together() {
    let data = data(40, 6, 0.5, 7);
    let groups = Groups::new(6, &[vec![0, 3], vec![1, 2, 5], vec![4]]).unwrap();
    let h = GroupNorm { groups, strength: 0.05 };
    let (w, _) = reference(&data.dense, &data.signs, &Logistic, &h, 0.02, false);
    let stop = Stop { absolute: 1e-10, relative: 0.0, max_passes: 1e5, ..Stop::default() };
    for sparse in [false, true] {
        let terms = Terms::new(&data.dense, &data.signs, sparse);
        let sum = Sum::new(&terms, h.clone(), 0.02).unwrap();
        let settings = SumSettings { stop, ..Default::default() };
        let saga = general::saga(&sum, &settings, None, &mut ()).unwrap().state.point;
        let svrg = general::svrg(&sum, &settings, None, &mut ()).unwrap().state.point;
        let auto = general::auto(&sum, &settings, None, &mut ()).unwrap().state.point.point;
        for (name, x) in [("saga", saga), ("svrg", svrg), ("auto", auto)] {
            assert!(distance(&x, &w) <= 1e-7, "{name}, sparse {sparse}: {x:?} {w:?}");
        }
    }
}
