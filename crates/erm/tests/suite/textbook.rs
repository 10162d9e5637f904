//! Incremental methods written out: what the trajectories of the real ones are compared with.

use fenchel_erm::Problem;
use fenchel_erm::loss::Logistic;
use fenchel_erm::methods::lag::Lagged;
use fenchel_linalg::{Csr, Dense};
use fenchel_optim::prox::Separable;
use fenchel_optim::{Loss, Stop};

use crate::common::{Data, distance};

pub(crate) const N: usize = 12;
pub(crate) const D: usize = 5;
pub(crate) const STEPS: usize = 60;
pub(crate) const L2: f64 = 0.05;
pub(crate) const STEP: f64 = 0.4;

pub(crate) fn script() -> Vec<usize> {
    (0..STEPS).map(|k| (7 * k + k / 5) % N).collect()
}

pub(crate) fn weights() -> Vec<f64> {
    (0..N).map(|i| ((i * 5) % 4) as f64).collect()
}

/// Runs for so many steps beyond `extra` passes of preparation.
pub(crate) fn stop(steps: usize, extra: f64) -> Stop {
    let passes = extra + steps as f64 / N as f64;
    Stop { absolute: 0.0, relative: 0.0, max_passes: passes, ..Stop::default() }
}

/// A problem written out, for textbooks: terms with weights of mean 1, no sparsity, no memory.
pub(crate) struct Sum<'a, R> {
    pub(crate) data: &'a Data,
    pub(crate) scales: Vec<f64>,
    pub(crate) regulariser: R,
}

impl<'a, R: Separable> Sum<'a, R> {
    pub(crate) fn new(data: &'a Data, regulariser: R) -> Self {
        let weights = weights();
        let total: f64 = weights.iter().sum();
        let scales = weights.iter().map(|w| N as f64 * w / total).collect();
        Sum { data, scales, regulariser }
    }

    pub(crate) fn row(&self, j: usize) -> Vec<f64> {
        self.data.dense.row(j).to_vec()
    }

    pub(crate) fn margin(&self, j: usize, x: &[f64]) -> f64 {
        self.row(j).iter().zip(x).map(|(a, x)| a * x).sum()
    }

    pub(crate) fn value(&self, j: usize, t: f64) -> f64 {
        self.scales[j] * Logistic.value(t, self.data.signs[j])
    }

    pub(crate) fn slope(&self, j: usize, x: &[f64]) -> f64 {
        self.scales[j] * Logistic.derivative(self.margin(j, x), self.data.signs[j])
    }

    pub(crate) fn table(&self, x: &[f64]) -> Vec<f64> {
        (0..N).map(|i| self.slope(i, x)).collect()
    }

    /// `(1/count) sum_i s_i a_i`
    pub(crate) fn average(&self, table: &[f64], count: f64) -> Vec<f64> {
        (0..D)
            .map(|c| (0..N).map(|i| table[i] * self.data.dense[[i, c]]).sum::<f64>() / count)
            .collect()
    }

    /// `prox((1 - step l2) x - step g)`
    pub(crate) fn step(&self, x: &[f64], g: &[f64], step: f64) -> Vec<f64> {
        let mut x: Vec<f64> =
            x.iter().zip(g).map(|(x, g)| (1.0 - step * L2) * x - step * g).collect();
        self.regulariser.prox(&mut x, step);
        x
    }

    pub(crate) fn smoothness(&self, j: usize) -> f64 {
        self.scales[j] * 0.25 * self.row(j).iter().map(|a| a * a).sum::<f64>()
    }
}

pub(crate) fn plus(delta: f64, a: &[f64], g: &[f64]) -> Vec<f64> {
    a.iter().zip(g).map(|(a, g)| delta * a + g).collect()
}

/// Runs on dense and on sparse rows, and compares both with the textbook.
pub(crate) fn check<R: Lagged + Copy>(
    name: &str,
    data: &Data,
    regulariser: R,
    expected: &[f64],
    dense: impl Fn(&Problem<'_, Dense<'_, f64>, Logistic, R>) -> Vec<f64>,
    sparse: impl Fn(&Problem<'_, Csr<'_, f64>, Logistic, R>) -> Vec<f64>,
) {
    let design = Dense::new(data.dense.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, regulariser, L2).unwrap();
    let found = dense(&problem.with_weights(&weights()).unwrap());
    assert!(distance(&found, expected) < 1e-11, "{name} dense: {found:?} {expected:?}");
    let design = Csr::new(data.sparse.view()).unwrap();
    let problem = Problem::new(design, &data.signs, Logistic, regulariser, L2).unwrap();
    let found = sparse(&problem.with_weights(&weights()).unwrap());
    assert!(distance(&found, expected) < 1e-11, "{name} sparse: {found:?} {expected:?}");
}

/// The line search as section 7.3 of the specification and Schmidt, Le Roux and Bach print it.
pub(crate) struct TextbookSearch(f64);

impl TextbookSearch {
    pub(crate) fn new<R: Separable>(sum: &Sum<'_, R>) -> Self {
        TextbookSearch((0..N).map(|j| sum.smoothness(j)).sum::<f64>() / N as f64)
    }

    pub(crate) fn step<R: Separable>(
        &mut self,
        sum: &Sum<'_, R>,
        j: usize,
        x: &[f64],
        multiple: f64,
    ) -> f64 {
        let (t, g) = (sum.margin(j, x), sum.slope(j, x));
        let q: f64 = sum.row(j).iter().map(|a| a * a).sum();
        let told = g * g * q > 1e-8;
        while told
            && self.0 < sum.smoothness(j)
            && sum.value(j, t - g * q / self.0) > sum.value(j, t) - g * g * q / (2.0 * self.0)
        {
            self.0 *= 2.0;
        }
        let step = 1.0 / (multiple * (self.0 + L2));
        if told {
            self.0 *= 2f64.powf(-1.0 / N as f64);
        }
        step
    }
}
