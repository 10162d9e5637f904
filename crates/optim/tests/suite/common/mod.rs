//! What several test files need.

use std::cell::Cell;

use fenchel_optim::{Certificate, CertificateCost, Clock, Iterative, Status};

/// A clock that stands still unless someone moves it.
#[derive(Debug, Default)]
pub(crate) struct Watch(pub(crate) Cell<f64>);

impl Watch {
    pub(crate) fn pass(&self, seconds: f64) {
        self.0.set(self.0.get() + seconds);
    }
}

impl Clock for Watch {
    fn seconds(&self) -> f64 {
        self.0.get()
    }
}

/// A method whose certificate after `k` steps is a given function of `k`, and which counts what is
/// asked of it.
pub(crate) struct Toy<'w, F> {
    /// The certificate after so many steps.
    pub(crate) curve: F,
    /// Steps in a pass.
    pub(crate) per_pass: f64,
    /// Whether a call of `advance` does one step only, however much is asked for.
    pub(crate) single: bool,
    /// What the next certificate costs and would show after so many steps.
    pub(crate) cost: fn(u64) -> CertificateCost,
    /// Whether the best point is returned.
    pub(crate) returns_best: bool,
    /// What the method knows about itself from a step on.
    pub(crate) verdict: Option<(u64, Status)>,
    /// How long a call of `advance` and a certificate take, by this clock.
    pub(crate) pause: Option<(&'w Watch, f64, f64)>,
    /// Steps done: the point.
    pub(crate) steps: u64,
    /// The point that was kept last.
    pub(crate) kept: Option<u64>,
    /// Calls of `certify`.
    pub(crate) certified: u64,
    /// Calls of `restore`.
    pub(crate) restored: u64,
    /// The largest number of passes asked for.
    pub(crate) largest_request: f64,
}

impl<F: FnMut(u64) -> Certificate> Toy<'_, F> {
    /// One step a pass.
    pub(crate) fn new(curve: F) -> Self {
        Toy {
            curve,
            per_pass: 1.0,
            single: false,
            cost: |_| CertificateCost::Passes,
            returns_best: false,
            verdict: None,
            pause: None,
            steps: 0,
            kept: None,
            certified: 0,
            restored: 0,
            largest_request: 0.0,
        }
    }
}

impl<F: FnMut(u64) -> Certificate> Iterative for Toy<'_, F> {
    fn advance(&mut self, passes: f64) -> f64 {
        self.largest_request = self.largest_request.max(passes);
        let steps = if self.single { 1.0 } else { (passes * self.per_pass).round().max(1.0) };
        self.steps += steps as u64;
        if let Some((watch, step, _)) = self.pause {
            watch.pass(step);
        }
        steps / self.per_pass
    }

    fn certify(&mut self) -> Certificate {
        self.certified += 1;
        if let Some((watch, _, certificate)) = self.pause {
            watch.pass(certificate);
        }
        (self.curve)(self.steps)
    }

    /// Three calls a step.
    fn oracle_calls(&self) -> u64 {
        3 * self.steps
    }

    fn certificate_cost(&self) -> CertificateCost {
        (self.cost)(self.steps)
    }

    fn returns_best(&self) -> bool {
        self.returns_best
    }

    fn keep(&mut self) {
        self.kept = Some(self.steps);
    }

    fn restore(&mut self) {
        self.restored += 1;
        self.steps = self.kept.expect("nothing was kept");
    }

    fn verdict(&self) -> Option<Status> {
        self.verdict.filter(|(from, _)| self.steps >= *from).map(|(_, status)| status)
    }
}

/// Solves `a x = b` by Gaussian elimination with row pivoting; `a` holds the rows.
pub(crate) fn eliminate(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let d = b.len();
    for k in 0..d {
        let pivot = (k..d).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        for i in k + 1..d {
            let factor = a[i][k] / a[k][k];
            let (top, bottom) = a.split_at_mut(i);
            for (x, y) in bottom[0][k..].iter_mut().zip(&top[k][k..]) {
                *x -= factor * y;
            }
            b[i] -= factor * b[k];
        }
    }
    for k in (0..d).rev() {
        let known: f64 = (k + 1..d).map(|c| a[k][c] * b[c]).sum();
        b[k] = (b[k] - known) / a[k][k];
    }
    b
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(crate) fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}
