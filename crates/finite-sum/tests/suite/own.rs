//! A loss and a regulariser of a user's own reach the estimators: the same answers as the built-in ones.

use fenchel_finite_sum::methods::lag::Lagged;
use fenchel_finite_sum::prelude::{Invalid, Loss, Regulariser, Separable, Status, Stop};
use fenchel_finite_sum::{
    Composite, ElasticNet, Fit, GroupLasso, LogisticRegression, Penalised, loss::Logistic,
};
use ndarray::{Array1, Array2};

/// `(t - y)^2 / 2`
#[derive(Debug, Clone, Copy)]
struct Half;

impl Loss for Half {
    const NAME: &'static str = "half of the square";

    fn value(&self, t: f64, y: f64) -> f64 {
        0.5 * (t - y).powi(2)
    }

    fn derivative(&self, t: f64, y: f64) -> f64 {
        t - y
    }

    fn second(&self, _: f64, _: f64) -> f64 {
        1.0
    }

    fn curvature(&self) -> f64 {
        1.0
    }

    fn conjugate(&self, u: f64, y: f64) -> f64 {
        u * (y + 0.5 * u)
    }

    fn check_target(&self, row: usize, y: f64) -> Result<(), Invalid> {
        let expected = "a finite number";
        if y.is_finite() { Ok(()) } else { Err(Invalid::Target { row, value: y, expected }) }
    }
}

/// `strength` times the sum of the norms of pairs of neighbours.
#[derive(Debug, Clone)]
struct Pairs(f64);

impl Regulariser for Pairs {
    const NAME: &'static str = "pairs";

    fn check(&self, _: usize) -> Result<(), Invalid> {
        Invalid::check_nonnegative("strength", self.0)
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.0 * x.chunks(2).map(|pair| pair[0].hypot(pair[1])).sum::<f64>()
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        for pair in x.chunks_mut(2) {
            let norm = pair[0].hypot(pair[1]);
            let kept = (norm - step * self.0).max(0.0);
            pair.iter_mut().for_each(|x| *x *= if norm > 0.0 { kept / norm } else { 0.0 });
        }
    }
}

impl Composite for Pairs {}

/// `strength` times the sum of the sizes.
#[derive(Debug, Clone)]
struct Sizes(f64);

impl Regulariser for Sizes {
    const NAME: &'static str = "sizes";

    fn check(&self, _: usize) -> Result<(), Invalid> {
        Invalid::check_nonnegative("strength", self.0)
    }

    fn value(&self, x: &[f64]) -> f64 {
        self.0 * x.iter().map(|x| x.abs()).sum::<f64>()
    }

    fn prox(&self, x: &mut [f64], step: f64) {
        x.iter_mut().for_each(|x| *x = self.prox_coordinate(0, *x, step));
    }
}

impl Separable for Sizes {
    fn prox_coordinate(&self, _: usize, v: f64, step: f64) -> f64 {
        v.signum() * (v.abs() - step * self.0).max(0.0)
    }
}

impl Lagged for Sizes {}

impl Composite for Sizes {
    fn coordinates(&self) -> Option<&impl Lagged> {
        Some(self)
    }
}

fn data() -> (Array2<f64>, Array1<f64>) {
    let x = Array2::from_shape_fn((60, 6), |(i, c)| ((3 * i + 7 * c + i * c) as f64).sin());
    let noise = Array1::from_shape_fn(60, |i| 0.2 * ((11 * i) as f64).cos());
    let y = x.dot(&ndarray::array![1.0, -0.5, 0.0, 0.0, 0.3, 0.0]) + noise + 2.0;
    (x, y)
}

/// A gap `g` bounds the distance to the optimum by `sqrt(2 g / l2)`, here 2e-6, and without l2 nearly so on these data.
fn stop() -> Stop {
    Stop { absolute: 1e-13, relative: 0.0, max_passes: 1e5, ..Stop::default() }
}

fn near(found: &Array1<f64>, expected: &Array1<f64>) {
    let off = (found - expected).iter().fold(0.0, |most: f64, e| most.max(e.abs()));
    assert!(off <= 1e-5, "{off:e}: {found} {expected}");
}

#[test]
fn a_loss_and_a_penalty_of_ones_own_that_ties_weights_together_are_fitted() {
    let (x, y) = data();
    let own = Penalised { stop: stop(), ..Penalised::new(Half, Pairs(0.1)) };
    let model = own.fit(&x, &y).unwrap();
    // The group lasso weighs a group by the root of its size.
    let groups = vec![vec![0, 1], vec![2, 3], vec![4, 5]];
    let known = GroupLasso { groups, group: 0.1 / 2f64.sqrt(), stop: stop(), ..Default::default() };
    let known = known.fit(&x, &y).unwrap();
    near(&model.weights, &known.weights);
    assert!((model.intercept - known.intercept).abs() <= 1e-5);
    let again = own.fit_with(&x, &y, Fit::new().start(&model)).unwrap();
    assert!(again.report.passes <= 0.5 * model.report.passes, "{}", again.report);
}

#[test]
fn a_separable_penalty_of_ones_own_is_fitted_to_numbers_and_to_labels() {
    let (x, y) = data();
    let own = Penalised { l2: 0.05, stop: stop(), ..Penalised::new(Half, Sizes(0.1)) };
    let known = ElasticNet { l1: 0.1, l2: 0.05, stop: stop(), ..Default::default() };
    let model = own.fit(&x, &y).unwrap();
    assert_eq!(model.report.status, Status::Converged, "{}", model.report);
    near(&model.weights, &known.fit(&x, &y).unwrap().weights);

    let labels: Vec<&str> = y.iter().map(|y| if *y > 2.0 { "yes" } else { "no" }).collect();
    let own = Penalised { l2: 0.05, stop: stop(), ..Penalised::new(Logistic, Sizes(0.02)) };
    let known = LogisticRegression { l1: 0.02, l2: Some(0.05), stop: stop(), ..Default::default() };
    let model = own.fit_labels(&x, &labels, Fit::new()).unwrap();
    let known = known.fit(&x, &labels).unwrap();
    assert_eq!(model.classes, ["no", "yes"]);
    near(&model.weights, &known.weights);
    near(&model.predict_proba(&x).unwrap(), &known.predict_proba(&x).unwrap());
}
