//! Stochastic proximal gradient on the Cholesky parameters of two normal vectors.
//!
//! ```text
//! loss      |L' x - zeta|^2 / 2 - sum_i log L_ii          (marginal)
//!           |L' y - M x - m|^2 / 2 - sum_i log L_ii       (conditional)
//! step      a gradient step on the square, then L_ii <- (L_ii + sqrt(L_ii^2 + 4 step)) / 2
//! ```
//!
//! The second half of the step is the proximal operator of the barrier `-log L_ii`. It keeps the diagonal positive after
//! a gradient step of any size. Equation (4.57) of R. Le Priol, PhD thesis 2021, has a misprint: its right side must contain
//! the old parameters, not the new ones. `L` is lower triangular, so the gradient step changes only its lower triangle.
//!
//! The quadratic part of the conditional loss of one sample has a Hessian with largest eigenvalue `1 + |x|^2 + |y|^2`. This
//! number is the same for the causal model (`y` given `x`) and the anticausal model (`x` given `y`).

use fenchel_linalg::Invalid;
use ndarray::{Array1, Array2, ArrayView1};
use rand::Rng;

use super::{Average, Task, check_step};
use fenchel_causal::Error;
use fenchel_causal::categorical::Direction;
use fenchel_causal::normal::CholeskyPair;

/// A mechanism with its running sums.
#[derive(Debug, Clone)]
struct Mechanism {
    slope: Array2<f64>,
    shift: Array1<f64>,
    factor: Array2<f64>,
    sums: (Array2<f64>, Array1<f64>, Array2<f64>),
}

impl Mechanism {
    fn new(slope: Array2<f64>, shift: Array1<f64>, factor: Array2<f64>) -> Mechanism {
        let zero = |m: &Array2<f64>| Array2::zeros(m.dim());
        let sums = (zero(&slope), Array1::zeros(shift.len()), zero(&factor));
        Mechanism { slope, shift, factor, sums }
    }

    fn add_up(&mut self) {
        self.sums.0 += &self.slope;
        self.sums.1 += &self.shift;
        self.sums.2 += &self.factor;
    }

    fn forget(&mut self) {
        self.sums.0.fill(0.0);
        self.sums.1.fill(0.0);
        self.sums.2.fill(0.0);
    }

    /// One step on `value` given `cause`, all from the old parameters.
    fn step(&mut self, cause: ArrayView1<'_, f64>, value: ArrayView1<'_, f64>, step: f64) {
        let mut r = -&self.shift;
        for (i, &v) in value.iter().enumerate() {
            for j in 0..=i {
                r[j] += self.factor[(i, j)] * v;
            }
        }
        if !cause.is_empty() {
            r -= &self.slope.dot(&cause);
        }
        self.shift.scaled_add(step, &r);
        for (mut row, &r) in self.slope.rows_mut().into_iter().zip(&r) {
            row.scaled_add(step * r, &cause);
        }
        for (i, &v) in value.iter().enumerate() {
            for j in 0..=i {
                self.factor[(i, j)] -= step * v * r[j];
            }
            self.factor[(i, i)] = barrier(self.factor[(i, i)], step);
        }
    }

    fn average(&self, count: usize) -> (Array2<f64>, Array1<f64>, Array2<f64>) {
        if count == 0 {
            return (self.slope.clone(), self.shift.clone(), self.factor.clone());
        }
        let n = count as f64;
        (&self.sums.0 / n, &self.sums.1 / n, &self.sums.2 / n)
    }
}

/// `argmin_t -log t + (t - d)^2 / (2 step)`, without cancellation for negative d.
pub(crate) fn barrier(d: f64, step: f64) -> f64 {
    let root = (d * d + 4.0 * step).sqrt();
    if d >= 0.0 { (d + root) / 2.0 } else { 2.0 * step / (root - d) }
}

/// The proximal method on one factorisation.
#[derive(Debug, Clone)]
pub struct ProximalSgd {
    marginal: Mechanism,
    conditional: Mechanism,
    direction: Direction,
    step: f64,
    average: Average,
    now: usize,
}

impl ProximalSgd {
    /// A learner that starts at a pair and uses its direction.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a step that is not positive or above 1e100.
    pub fn new(start: &CholeskyPair, step: f64, average: Average) -> Result<ProximalSgd, Error> {
        check_step(step)?;
        let (a, _) = start.shape();
        Ok(ProximalSgd {
            marginal: Mechanism::new(
                Array2::zeros((a, 0)),
                start.zeta().clone(),
                start.factor().clone(),
            ),
            conditional: Mechanism::new(
                start.slope().clone(),
                start.intercept().clone(),
                start.factor_given().clone(),
            ),
            direction: start.direction(),
            step,
            average,
            now: 0,
        })
    }

    /// One step on a sample `(x, y)`. `x` comes first, whatever the direction of the model. O(K^2).
    ///
    /// # Errors
    /// [`Error::Invalid`] for a wrong length.
    pub fn learn(&mut self, sample: ArrayView1<'_, f64>) -> Result<(), Error> {
        let (a, b) = (self.marginal.shift.len(), self.conditional.shift.len());
        Invalid::check_length("the sample", a + b, sample.len())?;
        let (first, second) = match self.direction {
            Direction::Causal => sample.split_at(ndarray::Axis(0), a),
            Direction::Anticausal => {
                let (x, y) = sample.split_at(ndarray::Axis(0), b);
                (y, x)
            }
        };
        if self.average == (Average::Tail { from: self.now }) {
            self.marginal.forget();
            self.conditional.forget();
        }
        self.marginal.add_up();
        self.conditional.add_up();
        self.now += 1;
        self.marginal.step(ArrayView1::from(&[]), first, self.step);
        self.conditional.step(first, second, self.step);
        Ok(())
    }

    /// The average so far, or `None` once the parameters are no longer finite: the step was too long.
    pub fn model(&self) -> Option<CholeskyPair> {
        let count = self.average.count(self.now);
        let (_, zeta, factor) = self.marginal.average(count);
        let (slope, shift, given) = self.conditional.average(count);
        let pair = CholeskyPair::new(zeta, factor, slope, shift, given).ok()?;
        Some(pair.with_direction(self.direction))
    }
}

/// A reference and a transfer law, and the two models that go from one to the other.
#[derive(Debug, Clone)]
pub struct NormalTask {
    reference: CholeskyPair,
    transfer: CholeskyPair,
    backward: CholeskyPair,
}

impl NormalTask {
    /// The task for two pairs in the causal direction: reference and transfer.
    ///
    /// # Errors
    /// [`Error::Invalid`] for different dimensions or different directions.
    pub fn new(reference: &CholeskyPair, transfer: &CholeskyPair) -> Result<NormalTask, Error> {
        reference.distance_sq(transfer)?;
        if reference.direction() != Direction::Causal {
            let reason = "expected causal pairs: reverse them first".into();
            return Err(Invalid::Layout { what: "the direction", reason }.into());
        }
        let (reference, transfer) = (reference.clone(), transfer.clone());
        Ok(NormalTask { backward: transfer.reverse(), reference, transfer })
    }
}

impl Task for NormalTask {
    type Sample = Array1<f64>;
    const MODELS: &'static [&'static str] = &["causal", "anticausal"];

    fn draw(&self, samples: usize, rng: &mut impl Rng) -> Vec<Array1<f64>> {
        self.transfer.sample(samples, rng).rows().into_iter().map(|r| r.to_owned()).collect()
    }

    fn distance_sq(&self, model: usize) -> Result<f64, Error> {
        if model == 0 {
            self.reference.distance_sq(&self.transfer)
        } else {
            self.reference.reverse().distance_sq(&self.backward)
        }
    }

    fn run(
        &self,
        model: usize,
        step: f64,
        average: Average,
        every: usize,
        samples: &[Array1<f64>],
    ) -> Result<Vec<f64>, Error> {
        let (start, target) = if model == 0 {
            (self.reference.clone(), &self.transfer)
        } else {
            (self.reference.reverse(), &self.backward)
        };
        let mut curve = vec![target.kl(&start)?];
        let mut sgd = ProximalSgd::new(&start, step, average)?;
        for (t, sample) in samples.iter().enumerate() {
            sgd.learn(sample.view())?;
            if (t + 1) % every == 0 {
                let Some(model) = sgd.model() else {
                    curve.resize(1 + samples.len() / every, f64::INFINITY);
                    return Ok(curve);
                };
                // The models have one shape: the only error is a divergence beyond all numbers.
                curve.push(target.kl(&model).unwrap_or(f64::INFINITY));
            }
        }
        Ok(curve)
    }
}
