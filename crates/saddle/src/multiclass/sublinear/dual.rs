//! The dual variables in lazy form: probabilities `V_jl = beta_j t_jl`. Only columns of classes that were drawn are
//! stored. The label's entry of every row is stored separately, because it changes in every step.
//!
//! The other entries of a row have one common value `u_j`. The running sum of `V_jl` is `sum_jl + t_jl total_j`.

use fenchel_linalg::lanes;
use serde::{Deserialize, Serialize};

use super::primal::UNTOUCHED;
use crate::multiclass::samples::Samples;

/// The number of rows whose weights for drawing are added up together.
const BLOCK: usize = 64;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Column {
    pub(super) class: u32,
    t: Vec<f64>,
    sum: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Dual {
    classes: usize,
    /// `V` at the label of each row.
    label: Vec<f64>,
    label_sum: Vec<f64>,
    beta: Vec<f64>,
    /// The sum of `beta_j` over the iterates since the row's last flush.
    total: Vec<f64>,
    /// The step of the row's last flush.
    since: Vec<f64>,
    /// The common value of the entries in classes that were never drawn, divided by `beta_j`, and its sum.
    rest: Vec<f64>,
    rest_sum: Vec<f64>,
    pub(super) slots: Vec<u32>,
    pub(super) columns: Vec<Column>,
    /// Sums of `tau_j (1 - V_jy)` over blocks of rows.
    blocks: Vec<f64>,
    steps: f64,
    pub(super) flushes: u64,
    pub(super) clamps: u64,
}

/// The quantities that a step needs from the problem and the step size.
pub(super) struct DualRates {
    /// `2 gamma Omega_V / n`.
    pub(super) rate: f64,
    /// `e^{-rate w_j}` of every row.
    pub(super) theta: Vec<f64>,
}

/// The update of all rows, for a step in one class (`ANY`), or for the label's entry only.
struct Update<'a, const ANY: bool> {
    labels: &'a [u32],
    class: u32,
    xi: &'a [f64],
    theta: &'a [f64],
    tau: &'a [f64],
    label: &'a mut [f64],
    label_sum: &'a mut [f64],
    beta: &'a mut [f64],
    total: &'a mut [f64],
    since: &'a [f64],
    t: &'a mut [f64],
    sum: &'a mut [f64],
    blocks: &'a mut [f64],
    rate: f64,
    steps: f64,
}

impl<const ANY: bool> lanes::Kernel for Update<'_, ANY> {
    /// Whether some row has to be flushed. If less than a tenth of a row's mass is left, the row is not divided, and
    /// its `beta` is made negative as a mark.
    type Output = bool;

    #[inline(always)]
    fn compute(self) -> bool {
        let (n, rate, steps) = (self.labels.len(), self.rate, self.steps);
        let mut gain = [0.0; BLOCK];
        let mut wanted = false;
        for b in 0..self.blocks.len() {
            let (from, length) = (b * BLOCK, (n - b * BLOCK).min(BLOCK));
            let gain = &mut gain[..length];
            let labels = &self.labels[from..][..length];
            let (theta, tau) = (&self.theta[from..][..length], &self.tau[from..][..length]);
            let (label, sums) =
                (&mut self.label[from..][..length], &mut self.label_sum[from..][..length]);
            let (beta, total) =
                (&mut self.beta[from..][..length], &mut self.total[from..][..length]);
            let since = &self.since[from..][..length];
            let extra = if ANY { from..from + length } else { 0..0 };
            let (xi, t) = (&self.xi[extra.clone()], &mut self.t[extra.clone()]);
            let sum = &mut self.sum[extra];
            let mut flags = 0_u64;
            for j in 0..length {
                let (y, old) = (label[j], beta[j]);
                let together = total[j] + old;
                total[j] = together;
                sums[j] += y;
                let (mut factor, mut change) = (theta[j], 0.0);
                if ANY {
                    let own = labels[j] == self.class;
                    let exponent = rate * xi[j];
                    let exponent = if exponent > 700.0 { 700.0 } else { exponent };
                    let exponent = if exponent < -700.0 { -700.0 } else { exponent };
                    let omega = lanes::exp(exponent);
                    let before = t[j];
                    let after = before * if own { 1.0 } else { omega };
                    t[j] = after;
                    sum[j] -= (after - before) * together;
                    change = old * (before - after);
                    factor *= if own { omega } else { 1.0 };
                }
                let chi = 1.0 - change - y * (1.0 - factor);
                let trusted = chi >= 0.1;
                let inverse = 1.0 / if trusted { chi } else { 1.0 };
                let (y, new) = (y * factor * inverse, old * inverse);
                label[j] = y;
                beta[j] = if trusted { new } else { -new };
                gain[j] = 1.0 - y;
                let late = together > 1e2 * (steps - since[j]) * new;
                flags |= u64::from(!trusted)
                    | u64::from(new < 1e-2)
                    | u64::from(new > 1e2)
                    | u64::from(late);
            }
            self.blocks[b] = lanes::dot(tau, gain);
            wanted |= flags != 0;
        }
        wanted
    }
}

impl Dual {
    pub(super) fn new(samples: &Samples) -> Self {
        let (n, k) = (samples.rows(), samples.classes());
        let uniform = 1.0 / k as f64;
        let mut dual = Dual {
            classes: k,
            label: vec![uniform; n],
            label_sum: vec![0.0; n],
            beta: vec![1.0; n],
            total: vec![0.0; n],
            since: vec![0.0; n],
            rest: vec![uniform; n],
            rest_sum: vec![0.0; n],
            slots: vec![UNTOUCHED; k],
            columns: vec![],
            blocks: vec![0.0; n.div_ceil(BLOCK)],
            steps: 0.0,
            flushes: 0,
            clamps: 0,
        };
        (0..dual.blocks.len()).for_each(|b| dual.sum_block(b, samples));
        dual
    }

    fn sum_block(&mut self, b: usize, samples: &Samples) {
        let range = b * BLOCK..((b + 1) * BLOCK).min(self.label.len());
        let tau = &samples.row_tops;
        self.blocks[b] = range.map(|j| tau[j] * (1.0 - self.label[j])).sum();
    }

    /// `sum tau_j rho_j`, with `rho_j = 2 (1 - V_jy)`.
    pub(super) fn importance(&self) -> f64 {
        2.0 * self.blocks.iter().sum::<f64>()
    }

    /// Draws a row by `tau_j rho_j` and a class by `abs(V - Y)`.
    pub(super) fn draw(&self, samples: &Samples, u: f64, coin: f64, within: f64) -> (usize, usize) {
        let b = crate::games::pick(&self.blocks, u);
        let before: f64 = self.blocks[..b].iter().sum();
        let mut left = u * self.blocks.iter().sum::<f64>() - before;
        let range = b * BLOCK..((b + 1) * BLOCK).min(self.label.len());
        let mut row = range.start;
        for j in range {
            let weight = samples.row_tops[j] * (1.0 - self.label[j]);
            if weight > 0.0 {
                row = j;
                left -= weight;
                if left < 0.0 {
                    break;
                }
            }
        }
        let label = samples.labels[row] as usize;
        if coin < 0.5 {
            return (row, label);
        }
        let free = self.classes - self.columns.len() - usize::from(self.slots[label] == UNTOUCHED);
        // What the row's other classes hold together is what the label leaves.
        let mut left = within * (1.0 - self.label[row]) / self.beta[row];
        let mut last = None;
        for column in self.columns.iter().filter(|c| c.class as usize != label) {
            if column.t[row] > 0.0 {
                last = Some(column.class as usize);
                left -= column.t[row];
                if left < 0.0 {
                    return (row, column.class as usize);
                }
            }
        }
        let untouched = |l: &usize| self.slots[*l] == UNTOUCHED && *l != label;
        if free > 0 && self.rest[row] > 0.0 {
            let nth = ((left / self.rest[row]) as usize).min(free - 1);
            last = (0..self.classes).filter(untouched).nth(nth).or(last);
        }
        (row, last.unwrap_or(label))
    }

    /// `tau_j abs(V - Y)_jl` by rows.
    pub(super) fn law(&self, samples: &Samples) -> Vec<f64> {
        let k = self.classes;
        let mut law = vec![0.0; self.label.len() * k];
        for (j, row) in law.chunks_mut(k).enumerate() {
            for (class, v) in row.iter_mut().enumerate() {
                let column = self.columns.get(self.slots[class] as usize);
                *v = self.beta[j] * column.map_or(self.rest[j], |c| c.t[j]);
            }
            row[samples.labels[j] as usize] = 1.0 - self.label[j];
            row.iter_mut().for_each(|v| *v *= samples.row_tops[j]);
        }
        law
    }

    fn touch(&mut self, class: usize) -> usize {
        if self.slots[class] == UNTOUCHED {
            self.slots[class] = self.columns.len() as u32;
            let (t, sum) = (self.rest.clone(), self.rest_sum.clone());
            self.columns.push(Column { class: class as u32, t, sum });
        }
        self.slots[class] as usize
    }

    /// Adds the current iterate to the average, and makes a step along `xi` in a class. The label's entries are
    /// always updated. Returns the number of entries that were read.
    pub(super) fn step(
        &mut self,
        samples: &Samples,
        rates: &DualRates,
        entry: Option<(usize, &[f64], f64)>,
    ) -> u64 {
        self.steps += 1.0;
        let (labels, theta, tau) = (&samples.labels[..], &rates.theta[..], &samples.row_tops[..]);
        let wanted = match entry {
            Some((class, xi, top)) => {
                self.clamps += u64::from(rates.rate * top > 700.0);
                let slot = self.touch(class);
                let Column { t, sum, .. } = &mut self.columns[slot];
                lanes::run(Update::<true> {
                    labels,
                    class: class as u32,
                    xi,
                    theta,
                    tau,
                    label: &mut self.label,
                    label_sum: &mut self.label_sum,
                    beta: &mut self.beta,
                    total: &mut self.total,
                    since: &self.since,
                    t,
                    sum,
                    blocks: &mut self.blocks,
                    rate: rates.rate,
                    steps: self.steps,
                })
            }
            None => lanes::run(Update::<false> {
                labels,
                class: 0,
                xi: &[],
                theta,
                tau,
                label: &mut self.label,
                label_sum: &mut self.label_sum,
                beta: &mut self.beta,
                total: &mut self.total,
                since: &self.since,
                t: &mut [],
                sum: &mut [],
                blocks: &mut self.blocks,
                rate: rates.rate,
                steps: self.steps,
            }),
        };
        let mut looked = self.label.len() as u64 + 1;
        if wanted {
            for j in 0..self.label.len() {
                let beta = self.beta[j];
                self.beta[j] = beta.abs();
                let late = self.total[j] > 1e2 * (self.steps - self.since[j]) * beta;
                if late || !(1e-2..=1e2).contains(&beta) {
                    looked += self.flush_row(j, samples);
                }
            }
        }
        looked
    }

    /// Divides a row by its exact sum, and multiplies `beta_j` into it.
    fn flush_row(&mut self, j: usize, samples: &Samples) -> u64 {
        let label = samples.labels[j];
        let own = usize::from(self.slots[label as usize] == UNTOUCHED);
        let free = (self.classes - self.columns.len() - own) as f64;
        let touched: f64 = self.columns.iter().filter(|c| c.class != label).map(|c| c.t[j]).sum();
        let sum = self.label[j] + self.beta[j] * (touched + free * self.rest[j]);
        // Steps as long as that can leave nothing of a row: it begins anew.
        let lost = !(sum > 0.0 && sum.is_finite());
        let uniform = 1.0 / self.classes as f64;
        let (beta, total) = (self.beta[j] / sum, self.total[j]);
        self.label[j] = if lost { uniform } else { self.label[j] / sum };
        for column in &mut self.columns {
            column.sum[j] += column.t[j] * total;
            column.t[j] = if lost { uniform } else { column.t[j] * beta };
        }
        self.rest_sum[j] += self.rest[j] * total;
        self.rest[j] = if lost { uniform } else { self.rest[j] * beta };
        (self.beta[j], self.total[j], self.since[j]) = (1.0, 0.0, self.steps);
        self.sum_block(j / BLOCK, samples);
        self.flushes += 1;
        (self.columns.len() + BLOCK) as u64
    }

    /// Resets the average. The iterate stays.
    pub(super) fn forget(&mut self) {
        self.label_sum.fill(0.0);
        self.total.fill(0.0);
        self.rest_sum.fill(0.0);
        self.since.fill(0.0);
        self.columns.iter_mut().for_each(|c| c.sum.fill(0.0));
        self.steps = 0.0;
    }

    /// The sums of the rows of the averaged `V` over `steps` iterates, which are 1 up to rounding errors.
    pub(super) fn row_sums(&self, samples: &Samples) -> Vec<f64> {
        let mut sums = self.label_sum.clone();
        for column in &self.columns {
            for j in 0..sums.len() {
                if samples.labels[j] != column.class {
                    sums[j] += column.sum[j] + column.t[j] * self.total[j];
                }
            }
        }
        for j in 0..sums.len() {
            let own = usize::from(self.slots[samples.labels[j] as usize] == UNTOUCHED);
            let free = (self.classes - self.columns.len() - own) as f64;
            sums[j] += free * (self.rest_sum[j] + self.rest[j] * self.total[j]);
        }
        sums
    }

    /// The sum of `V` at the label.
    pub(super) fn label_sums(&self) -> &[f64] {
        &self.label_sum
    }

    /// The running sum of an entry in a class that was drawn, other than the label's.
    #[inline]
    pub(super) fn entry_sum(&self, slot: usize, j: usize) -> f64 {
        let column = &self.columns[slot];
        column.sum[j] + column.t[j] * self.total[j]
    }

    /// The running sum of an entry in a class that was never drawn.
    #[inline]
    pub(super) fn rest_total(&self, j: usize) -> f64 {
        self.rest_sum[j] + self.rest[j] * self.total[j]
    }

    pub(super) fn fits(&self, samples: &Samples) -> bool {
        let n = samples.rows();
        self.classes == samples.classes()
            && self.slots.len() == self.classes
            && [
                &self.label,
                &self.label_sum,
                &self.beta,
                &self.total,
                &self.since,
                &self.rest,
                &self.rest_sum,
            ]
            .iter()
            .all(|v| v.len() == n)
            && self.blocks.len() == n.div_ceil(BLOCK)
            && self
                .columns
                .iter()
                .all(|c| c.t.len() == n && c.sum.len() == n && (c.class as usize) < self.classes)
    }
}
