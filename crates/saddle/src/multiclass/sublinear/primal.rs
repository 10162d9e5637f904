//! The primal side: split weights `p = alpha e^{s + g}`, `q = alpha e^{s - g}`, a column a class, touched columns only.
//!
//! The running sum of `p - q` over the iterates is `sum + (p - q)/alpha * total`, with `total` the sum of all `alpha` so far: a column
//! pays only when it moves. `sum` then takes back `total` times the change.

use fenchel_linalg::lanes;
use serde::{Deserialize, Serialize};

use crate::multiclass::samples::{Rows, Samples};

/// No column yet.
pub(super) const UNTOUCHED: u32 = u32::MAX;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Column {
    pub(super) class: u32,
    g: Vec<f64>,
    sum: Vec<f64>,
    /// `sum sigma (p + q) / alpha`.
    weight: f64,
    /// `sum (p + q) / alpha`.
    mass: f64,
    /// Largest weight since it was last computed in full.
    peak: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Primal {
    bound: f64,
    classes: usize,
    /// `s`.
    scale: f64,
    alpha: f64,
    /// Sum of `alpha` over the iterates since the last flush.
    total: f64,
    since: f64,
    pub(super) slots: Vec<u32>,
    pub(super) columns: Vec<Column>,
    /// Sum of the masses of all iterates.
    masses: f64,
    mass: f64,
    pub(super) flushes: u64,
}

/// What a step takes from the problem and the step size.
pub(super) struct PrimalRates {
    /// Multiplies `x_ji (sum tau rho)/tau_j` in the exponent.
    pub(super) rate: f64,
    /// `e^{-c lambda}`.
    pub(super) shrink: f64,
}

struct Sums {
    weight: f64,
    mass: f64,
}

/// `g -= h x` for a whole column.
struct Update<'a> {
    g: &'a mut [f64],
    sum: &'a mut [f64],
    x: &'a [f64],
    sigma: &'a [f64],
    h: f64,
    scale: f64,
    total: f64,
}

/// Entries that are treated together: their scratch stays in the first cache.
const PIECE: usize = 128;

impl lanes::Kernel for Update<'_> {
    type Output = Sums;

    #[inline(always)]
    fn compute(self) -> Sums {
        let Update { g, sum, x, sigma, h, scale, total } = self;
        let mut both = [0.0; PIECE];
        let mut sums = Sums { weight: 0.0, mass: 0.0 };
        let mut start = 0;
        while start < g.len() {
            let length = (g.len() - start).min(PIECE);
            let (g, sum) = (&mut g[start..][..length], &mut sum[start..][..length]);
            let (x, sigma, both) =
                (&x[start..][..length], &sigma[start..][..length], &mut both[..length]);
            for i in 0..length {
                let old = g[i];
                let new = old - h * x[i];
                let (p, q) = (lanes::exp(scale + new), lanes::exp(scale - new));
                let before = lanes::exp(scale + old) - lanes::exp(scale - old);
                g[i] = new;
                sum[i] -= ((p - q) - before) * total;
                both[i] = p + q;
            }
            sums.weight += lanes::dot(sigma, both);
            sums.mass += lanes::sum(both);
            start += length;
        }
        sums
    }
}

/// The sums of the split parts, and of their products with sigma.
struct Mass<'a> {
    g: &'a [f64],
    sigma: &'a [f64],
    scale: f64,
}

impl lanes::Kernel for Mass<'_> {
    type Output = Sums;

    #[inline(always)]
    fn compute(self) -> Sums {
        let Mass { g, sigma, scale } = self;
        let mut both = [0.0; PIECE];
        let mut sums = Sums { weight: 0.0, mass: 0.0 };
        let mut start = 0;
        while start < g.len() {
            let length = (g.len() - start).min(PIECE);
            let (g, sigma, both) =
                (&g[start..][..length], &sigma[start..][..length], &mut both[..length]);
            for i in 0..length {
                both[i] = lanes::exp(scale + g[i]) + lanes::exp(scale - g[i]);
            }
            sums.weight += lanes::dot(sigma, both);
            sums.mass += lanes::sum(both);
            start += length;
        }
        sums
    }
}

struct Difference<'a>(&'a [f64], f64, f64, &'a mut [f64]);

impl lanes::Kernel for Difference<'_> {
    type Output = ();

    /// `out += factor (e^{s + g} - e^{s - g})`
    #[inline(always)]
    fn compute(self) {
        let Difference(g, scale, factor, out) = self;
        let out = &mut out[..g.len()];
        for i in 0..g.len() {
            out[i] += factor * (lanes::exp(scale + g[i]) - lanes::exp(scale - g[i]));
        }
    }
}

impl Primal {
    pub(super) fn new(samples: &Samples, bound: f64) -> Self {
        let (d, k) = (samples.features(), samples.classes());
        Primal {
            bound,
            classes: k,
            scale: (bound / (2 * d * k) as f64).ln(),
            alpha: 1.0,
            total: 0.0,
            since: 0.0,
            slots: vec![UNTOUCHED; k],
            columns: vec![],
            masses: 0.0,
            mass: bound,
            flushes: 0,
        }
    }

    fn untouched(&self) -> f64 {
        (self.classes - self.columns.len()) as f64 * 2.0 * self.scale.exp()
    }

    /// `sum sigma (p + q)` over all entries; `sigmas` is the sum of `sigma`.
    pub(super) fn importance(&self, sigmas: f64) -> f64 {
        let touched: f64 = self.columns.iter().map(|c| c.weight).sum();
        self.alpha * (touched + self.untouched() * sigmas)
    }

    /// Draws a split feature (those from `d` on are negative) and a class, by `sigma (p + q)`.
    pub(super) fn draw(&self, sigma: &[f64], sigmas: f64, u: f64, within: f64) -> (usize, usize) {
        let d = sigma.len();
        let mut left = u * self.importance(sigmas) / self.alpha;
        for column in &self.columns {
            if left < column.weight {
                let (feature, negative) =
                    within_column(column, sigma, self.scale, within * column.weight);
                return (feature + if negative { d } else { 0 }, column.class as usize);
            }
            left -= column.weight;
        }
        let each = 2.0 * self.scale.exp() * sigmas;
        let free = self.classes - self.columns.len();
        if free == 0 {
            // Rounding at the upper end: the last column.
            let column = &self.columns[self.columns.len() - 1];
            let (feature, negative) =
                within_column(column, sigma, self.scale, within * column.weight);
            return (feature + if negative { d } else { 0 }, column.class as usize);
        }
        let nth = ((left / each) as usize).min(free - 1);
        let mut classes = (0..self.classes).filter(|l| self.slots[*l] == UNTOUCHED);
        let class = classes.nth(nth).unwrap_or(0);
        let target = within * 2.0 * sigmas;
        let (negative, target) =
            if target < sigmas { (false, target) } else { (true, target - sigmas) };
        let feature = crate::games::pick(sigma, target / sigmas);
        (feature + if negative { d } else { 0 }, class)
    }

    /// `sigma (p + q)` apart for positive and negative parts: `2d x k` by rows.
    pub(super) fn law(&self, sigma: &[f64]) -> Vec<f64> {
        let (d, k) = (sigma.len(), self.classes);
        let mut law = vec![0.0; 2 * d * k];
        for class in 0..k {
            for i in 0..d {
                let g = self.columns.get(self.slots[class] as usize).map_or(0.0, |c| c.g[i]);
                law[i * k + class] = self.alpha * sigma[i] * (self.scale + g).exp();
                law[(i + d) * k + class] = self.alpha * sigma[i] * (self.scale - g).exp();
            }
        }
        law
    }

    /// Counts the current iterate.
    pub(super) fn count(&mut self) {
        self.total += self.alpha;
        self.since += 1.0;
        self.masses += self.mass;
    }

    fn touch(&mut self, class: usize, samples: &Samples) -> usize {
        if self.slots[class] == UNTOUCHED {
            let d = samples.features();
            let unit = 2.0 * self.scale.exp();
            let weight = unit * samples.column_norms.iter().sum::<f64>();
            let mass = unit * d as f64;
            self.slots[class] = self.columns.len() as u32;
            let (g, sum) = (vec![0.0; d], vec![0.0; d]);
            self.columns.push(Column { class: class as u32, g, sum, weight, mass, peak: weight });
        }
        self.slots[class] as usize
    }

    /// The step along `-h x_j` in one class; `None` without a gradient. Returns the entries that were looked at.
    pub(super) fn step(
        &mut self,
        samples: &Samples,
        rates: &PrimalRates,
        entry: Option<(usize, usize, f64)>,
    ) -> u64 {
        let mut looked = 1;
        if let Some((j, class, factor)) = entry {
            let slot = self.touch(class, samples);
            let (scale, total, h) = (self.scale, self.total, rates.rate * factor);
            let column = &mut self.columns[slot];
            let sigma = &samples.column_norms[..];
            match &samples.rows {
                Rows::Dense(x) => {
                    let x = x.row(j).to_slice().expect("standard layout");
                    let (g, sum) = (&mut column.g[..], &mut column.sum[..]);
                    let sums = lanes::run(Update { g, sum, x, sigma, h, scale, total });
                    (column.weight, column.mass) = (sums.weight, sums.mass);
                    looked += x.len() as u64;
                }
                Rows::Sparse(x) => {
                    let (places, values) = x.part(j);
                    for (c, a) in places.iter().zip(values) {
                        let c = *c as usize;
                        let old = column.g[c];
                        let new = old - h * a;
                        let (p, q) = (lanes::exp(scale + new), lanes::exp(scale - new));
                        let (r, s) = (lanes::exp(scale + old), lanes::exp(scale - old));
                        column.g[c] = new;
                        column.sum[c] -= ((p - q) - (r - s)) * total;
                        let change = (p + q) - (r + s);
                        column.weight += sigma[c] * change;
                        column.mass += change;
                    }
                    looked += places.len() as u64;
                    column.peak = column.peak.max(column.weight);
                    // Differences of large numbers: afresh before they lose more than three digits.
                    if !(column.weight > 1e-3 * column.peak) {
                        let sums = lanes::run(Mass { g: &column.g, sigma, scale });
                        (column.weight, column.mass) = (sums.weight, sums.mass);
                        column.peak = sums.weight;
                        looked += column.g.len() as u64;
                    }
                }
            }
        }
        let touched: f64 = self.columns.iter().map(|c| c.mass).sum();
        let mass = self.alpha * (touched + self.untouched() * samples.features() as f64);
        let nu = rates.shrink.min(self.bound / mass);
        self.alpha *= nu;
        self.mass = nu * mass;
        looked += self.columns.len() as u64;
        if self.alpha < 1e-2 || self.alpha > 1e2 || self.total > 1e2 * self.since * self.alpha {
            looked += self.flush(samples);
        }
        looked
    }

    /// Folds `alpha` into the columns, long before `total` and it differ by more digits than a number has.
    fn flush(&mut self, samples: &Samples) -> u64 {
        let (scale, total) = (self.scale, self.total);
        self.scale += self.alpha.ln();
        for column in &mut self.columns {
            lanes::run(Difference(&column.g, scale, total, &mut column.sum));
            let sums =
                lanes::run(Mass { g: &column.g, sigma: &samples.column_norms, scale: self.scale });
            (column.weight, column.mass) = (sums.weight, sums.mass);
            column.peak = sums.weight;
        }
        (self.alpha, self.total, self.since) = (1.0, 0.0, 0.0);
        self.flushes += 1;
        (self.columns.len() * samples.features()) as u64
    }

    /// The averaged column of a slot over `steps` iterates.
    pub(super) fn average(&self, slot: usize, steps: f64) -> Vec<f64> {
        let column = &self.columns[slot];
        let mut out = column.sum.clone();
        lanes::run(Difference(&column.g, self.scale, self.total, &mut out));
        out.iter_mut().for_each(|u| *u /= steps);
        out
    }

    /// The mean mass of the iterates.
    pub(super) fn average_mass(&self, steps: f64) -> f64 {
        self.masses / steps
    }

    /// Forgets the average; the iterate stays.
    pub(super) fn forget(&mut self) {
        self.columns.iter_mut().for_each(|c| c.sum.fill(0.0));
        (self.total, self.since, self.masses) = (0.0, 0.0, 0.0);
    }

    pub(super) fn fits(&self, samples: &Samples, bound: f64) -> bool {
        let d = samples.features();
        self.bound == bound
            && self.classes == samples.classes()
            && self.slots.len() == self.classes
            && self
                .columns
                .iter()
                .all(|c| c.g.len() == d && c.sum.len() == d && (c.class as usize) < self.classes)
    }
}

/// The feature of a column at which the partial sums of `sigma (p + q)` exceed the target.
fn within_column(column: &Column, sigma: &[f64], scale: f64, target: f64) -> (usize, bool) {
    let (d, mut left, mut start) = (sigma.len(), target, 0);
    // Whole pieces first: their sums vectorise.
    while start + PIECE < d {
        let piece =
            Mass { g: &column.g[start..start + PIECE], sigma: &sigma[start..start + PIECE], scale };
        let weight = lanes::run(piece).weight;
        if left < weight {
            break;
        }
        left -= weight;
        start += PIECE;
    }
    let mut last = (0, false);
    for i in start..d {
        if sigma[i] > 0.0 {
            for (negative, exponent) in [(false, column.g[i]), (true, -column.g[i])] {
                last = (i, negative);
                left -= sigma[i] * lanes::exp(scale + exponent);
                if left < 0.0 {
                    return last;
                }
            }
        }
    }
    if sigma[last.0] > 0.0 { last } else { (crate::games::pick(sigma, 1.0), false) }
}
