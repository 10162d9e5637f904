//! The dual variables of the softmax, as whole matrices in logarithms: `V+ ~ V^(1/(1 + b)) e^(b P/(1 + b))` by rows changes every
//! entry in every step, so that no lazy form is exact. A step costs O(n k).

use serde::{Deserialize, Serialize};

use crate::games::pick;
use crate::multiclass::samples::Samples;
use crate::setup::Setup;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Whole {
    classes: usize,
    /// `ln V`, by rows.
    coordinates: Vec<f64>,
    point: Vec<f64>,
    /// The sum of the iterates.
    sum: Vec<f64>,
    gradient: Vec<f64>,
    /// `tau_j (1 - V_jy)` of every row.
    weights: Vec<f64>,
}

impl Whole {
    pub(super) fn new(samples: &Samples, setup: &dyn Setup) -> Self {
        let entries = samples.rows() * samples.classes();
        let zeros = || vec![0.0; entries];
        let mut whole = Whole {
            classes: samples.classes(),
            coordinates: zeros(),
            point: zeros(),
            sum: zeros(),
            gradient: zeros(),
            weights: vec![0.0; samples.rows()],
        };
        setup.centre(&mut whole.coordinates);
        whole.look(samples, setup);
        whole
    }

    fn look(&mut self, samples: &Samples, setup: &dyn Setup) {
        setup.point(&self.coordinates, &mut self.point);
        for (j, row) in self.point.chunks(self.classes).enumerate() {
            let label = samples.labels[j] as usize;
            // The others, because `1 - V_jy` loses digits near 1.
            let others: f64 = row[..label].iter().chain(&row[label + 1..]).sum();
            self.weights[j] = samples.row_tops[j] * others;
        }
    }

    /// `sum tau_j rho_j`, with `rho_j = 2 (1 - V_jy)`.
    pub(super) fn importance(&self) -> f64 {
        2.0 * self.weights.iter().sum::<f64>()
    }

    /// Draws a row by `tau_j rho_j` and a class by `abs(V - Y)`.
    pub(super) fn draw(&self, samples: &Samples, u: f64, coin: f64, within: f64) -> (usize, usize) {
        let row = pick(&self.weights, u);
        let label = samples.labels[row] as usize;
        if coin < 0.5 {
            return (row, label);
        }
        let mut others = self.point[row * self.classes..][..self.classes].to_vec();
        others[label] = 0.0;
        (row, pick(&others, within))
    }

    /// `tau_j abs(V - Y)_jl` by rows.
    pub(super) fn law(&self, samples: &Samples) -> Vec<f64> {
        let mut law = self.point.clone();
        for (j, row) in law.chunks_mut(self.classes).enumerate() {
            row.iter_mut().for_each(|v| *v *= samples.row_tops[j]);
            row[samples.labels[j] as usize] = self.weights[j];
        }
        law
    }

    /// Adds the current iterate to the average, and makes a step of length `eta` along `xi / n` in a class. Returns the number of
    /// entries that were read.
    pub(super) fn step(
        &mut self,
        samples: &Samples,
        setup: &dyn Setup,
        eta: f64,
        entry: Option<(usize, &[f64])>,
    ) -> u64 {
        self.sum.iter_mut().zip(&self.point).for_each(|(sum, v)| *sum += v);
        let scale = -1.0 / samples.rows() as f64;
        self.set_gradient(scale, entry);
        setup.step(&mut self.coordinates, &self.gradient, eta);
        self.set_gradient(0.0, entry);
        self.look(samples, setup);
        self.point.len() as u64
    }

    fn set_gradient(&mut self, scale: f64, entry: Option<(usize, &[f64])>) {
        if let Some((class, xi)) = entry {
            let column = self.gradient.iter_mut().skip(class).step_by(self.classes);
            column.zip(xi).for_each(|(g, xi)| *g = scale * xi);
        }
    }

    /// Resets the average. The iterate stays.
    pub(super) fn forget(&mut self) {
        self.sum.fill(0.0);
    }

    /// The average of `steps` iterates, or the current one.
    pub(super) fn average(&self, steps: u64, setup: &dyn Setup) -> Vec<f64> {
        if steps == 0 {
            return self.point.clone();
        }
        let mut average: Vec<f64> = self.sum.iter().map(|sum| sum / steps as f64).collect();
        setup.contain(&mut average);
        average
    }

    pub(super) fn fits(&self, samples: &Samples) -> bool {
        let entries = samples.rows() * samples.classes();
        self.classes == samples.classes()
            && [&self.coordinates, &self.point, &self.sum, &self.gradient]
                .iter()
                .all(|v| v.len() == entries)
            && self.weights.len() == samples.rows()
    }
}
