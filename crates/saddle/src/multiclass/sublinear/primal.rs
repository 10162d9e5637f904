//! The weights in lazy form: positive and negative parts `p = alpha e^{s + g}`, `q = alpha e^{s - g}`. Only columns
//! of classes that were drawn are stored.
//!
//! Let `v = (p - q)/alpha`. A step changes `v` in a few columns. In all others `p - q` is `alpha v` with the same `v`.
//! Let `total` be the sum of all `alpha` so far. The running sum of `p - q` over the iterates is then `sum + total v`.
//! A column whose `v` stays the same needs no work. When `v` changes by `d`, the code subtracts `total d` from `sum`,
//! which leaves the running sum as it was.

use fenchel_linalg::lanes::{self, ExpPair};
use serde::{Deserialize, Serialize};

use crate::multiclass::samples::{Rows, Samples};

/// The mark of a class without a column.
pub(super) const UNTOUCHED: u32 = u32::MAX;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Column {
    pub(super) class: u32,
    g: Vec<f64>,
    sum: Vec<f64>,
    /// `sum sigma (p + q) / alpha` over pieces of the column.
    pieces: Vec<f64>,
    /// The largest weight when it was last computed exactly.
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
    /// `sum sigma (p + q) / alpha` of every column.
    weights: Vec<f64>,
    /// `sum (p + q) / alpha` of every column.
    masses: Vec<f64>,
    mass: f64,
    /// Sum of `mass` over all iterates.
    mass_sum: f64,
    pub(super) flushes: u64,
}

/// The quantities that a step needs from the problem and the step size.
pub(super) struct PrimalRates {
    /// The factor of `x_ji (sum tau rho)/tau_j` in the exponent.
    pub(super) rate: f64,
    /// `e^{-c lambda}`.
    pub(super) shrink: f64,
}

/// Computes `g -= h x` for a whole column.
struct Update<'a> {
    g: &'a mut [f64],
    sum: &'a mut [f64],
    pieces: &'a mut [f64],
    x: &'a [f64],
    sigma: &'a [f64],
    h: f64,
    unit: ExpPair,
    total: f64,
}

/// The number of entries that are processed together, so that their working memory stays in the first-level cache.
const PIECE: usize = 128;

impl lanes::Kernel for Update<'_> {
    /// The mass of the column.
    type Output = f64;

    #[inline(always)]
    fn compute(self) -> f64 {
        let Update { g, sum, pieces, x, sigma, h, unit, total } = self;
        let mut both = [0.0; PIECE];
        let mut mass = 0.0;
        for (b, weight) in pieces.iter_mut().enumerate() {
            let (start, length) = (b * PIECE, (g.len() - b * PIECE).min(PIECE));
            let (g, sum) = (&mut g[start..][..length], &mut sum[start..][..length]);
            let (x, sigma, both) =
                (&x[start..][..length], &sigma[start..][..length], &mut both[..length]);
            for i in 0..length {
                let old = g[i];
                let new = old - h * x[i];
                let ((p, q), (r, s)) = (unit.at(new), unit.at(old));
                g[i] = new;
                sum[i] -= ((p - q) - (r - s)) * total;
                both[i] = p + q;
            }
            *weight = lanes::dot(sigma, both);
            mass += lanes::sum(both);
        }
        mass
    }
}

/// The sums of the split parts, and of their products with sigma.
struct Mass<'a> {
    g: &'a [f64],
    pieces: &'a mut [f64],
    sigma: &'a [f64],
    unit: ExpPair,
}

impl lanes::Kernel for Mass<'_> {
    type Output = f64;

    #[inline(always)]
    fn compute(self) -> f64 {
        let Mass { g, pieces, sigma, unit } = self;
        let mut both = [0.0; PIECE];
        let mut mass = 0.0;
        for (b, weight) in pieces.iter_mut().enumerate() {
            let (start, length) = (b * PIECE, (g.len() - b * PIECE).min(PIECE));
            let (g, sigma, both) =
                (&g[start..][..length], &sigma[start..][..length], &mut both[..length]);
            for i in 0..length {
                let (p, q) = unit.at(g[i]);
                both[i] = p + q;
            }
            *weight = lanes::dot(sigma, both);
            mass += lanes::sum(both);
        }
        mass
    }
}

struct Difference<'a>(&'a [f64], ExpPair, f64, &'a mut [f64]);

impl lanes::Kernel for Difference<'_> {
    type Output = ();

    /// `out += factor (e^{s + g} - e^{s - g})`
    #[inline(always)]
    fn compute(self) {
        let Difference(g, unit, factor, out) = self;
        let out = &mut out[..g.len()];
        for i in 0..g.len() {
            let (p, q) = unit.at(g[i]);
            out[i] += factor * (p - q);
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
            weights: vec![],
            masses: vec![],
            mass: bound,
            mass_sum: 0.0,
            flushes: 0,
        }
    }

    fn untouched(&self) -> f64 {
        (self.classes - self.columns.len()) as f64 * 2.0 * self.scale.exp()
    }

    /// `sum sigma (p + q)` over all entries; `sigmas` is the sum of `sigma`.
    pub(super) fn importance(&self, sigmas: f64) -> f64 {
        let touched = lanes::sum(&self.weights);
        self.alpha * (touched + self.untouched() * sigmas)
    }

    /// Draws a split feature (those from `d` on are negative) and a class, by `sigma (p + q)`.
    pub(super) fn draw(&self, sigma: &[f64], sigmas: f64, u: f64, within: f64) -> (usize, usize) {
        let d = sigma.len();
        let mut left = u * self.importance(sigmas) / self.alpha;
        let free = self.classes - self.columns.len();
        let mut slot = self.weights.iter().position(|weight| {
            left -= weight;
            left < 0.0
        });
        if slot.is_none() && free == 0 {
            // Rounding at the upper end: the last column.
            slot = Some(self.columns.len() - 1);
        }
        if let Some(slot) = slot {
            let column = &self.columns[slot];
            let (feature, negative) = self.within(slot, sigma, within);
            return (feature + if negative { d } else { 0 }, column.class as usize);
        }
        let each = 2.0 * self.scale.exp() * sigmas;
        let nth = ((left / each) as usize).min(free - 1);
        let mut classes = (0..self.classes).filter(|l| self.slots[*l] == UNTOUCHED);
        let class = classes.nth(nth).unwrap_or(0);
        let target = within * 2.0 * sigmas;
        let (negative, target) =
            if target < sigmas { (false, target) } else { (true, target - sigmas) };
        let feature = crate::games::pick(sigma, target / sigmas);
        (feature + if negative { d } else { 0 }, class)
    }

    /// The feature of a column at which the partial sums of `sigma (p + q)` exceed a share of the total.
    fn within(&self, slot: usize, sigma: &[f64], share: f64) -> (usize, bool) {
        let column = &self.columns[slot];
        let unit = ExpPair::new(self.scale);
        let whole: f64 = column.pieces.iter().sum();
        let mut left = share * whole;
        let last = column.pieces.len() - 1;
        let piece = column.pieces[..last].iter().position(|weight| {
            let found = left < *weight;
            left -= if found { 0.0 } else { *weight };
            found
        });
        let start = piece.unwrap_or(last) * PIECE;
        let mut last = (start, false);
        for i in start..sigma.len() {
            if sigma[i] > 0.0 {
                let (p, q) = unit.at(column.g[i]);
                for (negative, part) in [(false, p), (true, q)] {
                    last = (i, negative);
                    left -= sigma[i] * part;
                    if left < 0.0 {
                        return last;
                    }
                }
            }
        }
        if sigma[last.0] > 0.0 { last } else { (crate::games::pick(sigma, 1.0), false) }
    }

    /// `sigma (p + q)`, separately for positive and negative parts: `2d x k` by rows.
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

    /// Adds the current iterate to the average.
    pub(super) fn count(&mut self) {
        self.total += self.alpha;
        self.since += 1.0;
        self.mass_sum += self.mass;
    }

    fn touch(&mut self, class: usize, samples: &Samples) -> usize {
        if self.slots[class] == UNTOUCHED {
            let d = samples.features();
            let unit = 2.0 * self.scale.exp();
            let sums = samples.column_norms.chunks(PIECE).map(|s| unit * s.iter().sum::<f64>());
            let pieces: Vec<f64> = sums.collect();
            let weight = pieces.iter().sum();
            self.slots[class] = self.columns.len() as u32;
            let (g, sum) = (vec![0.0; d], vec![0.0; d]);
            self.columns.push(Column { class: class as u32, g, sum, pieces, peak: weight });
            self.weights.push(weight);
            self.masses.push(unit * d as f64);
        }
        self.slots[class] as usize
    }

    /// Makes a step along `-h x_j` in one class, or a step without a gradient for `None`. Returns the number of
    /// entries that were read.
    pub(super) fn step(
        &mut self,
        samples: &Samples,
        rates: &PrimalRates,
        entry: Option<(usize, usize, f64)>,
    ) -> u64 {
        let mut looked = 1;
        if let Some((j, class, factor)) = entry {
            let slot = self.touch(class, samples);
            let (unit, total, h) = (ExpPair::new(self.scale), self.total, rates.rate * factor);
            let Column { g, sum, pieces, peak, .. } = &mut self.columns[slot];
            let (weight, mass) = (&mut self.weights[slot], &mut self.masses[slot]);
            let sigma = &samples.column_norms[..];
            match &samples.rows {
                Rows::Dense(x) => {
                    let x = x.row(j).to_slice().expect("standard layout");
                    *mass = lanes::run(Update { g, sum, pieces, x, sigma, h, unit, total });
                    *weight = pieces.iter().sum();
                    looked += x.len() as u64;
                }
                Rows::Sparse(x) => {
                    let (places, values) = x.part(j);
                    for (c, a) in places.iter().zip(values) {
                        let c = *c as usize;
                        let old = g[c];
                        let new = old - h * a;
                        let ((p, q), (r, s)) = (unit.at(new), unit.at(old));
                        g[c] = new;
                        sum[c] -= ((p - q) - (r - s)) * total;
                        let change = (p + q) - (r + s);
                        pieces[c / PIECE] += sigma[c] * change;
                        *weight += sigma[c] * change;
                        *mass += change;
                    }
                    looked += places.len() as u64;
                    *peak = peak.max(*weight);
                    // Differences of large numbers: afresh before they lose more than three digits.
                    if !(*weight > 1e-3 * *peak) {
                        *mass = lanes::run(Mass { g, pieces, sigma, unit });
                        *weight = pieces.iter().sum();
                        *peak = *weight;
                        looked += g.len() as u64;
                    }
                }
            }
        }
        let touched = lanes::sum(&self.masses);
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

    /// Multiplies `alpha` into the columns, long before `total` and `alpha` differ by more digits than a number has.
    fn flush(&mut self, samples: &Samples) -> u64 {
        let (old, total) = (ExpPair::new(self.scale), self.total);
        self.scale += self.alpha.ln();
        let (unit, sigma) = (ExpPair::new(self.scale), &samples.column_norms[..]);
        for (slot, column) in self.columns.iter_mut().enumerate() {
            let Column { g, sum, pieces, peak, .. } = column;
            lanes::run(Difference(g, old, total, sum));
            self.masses[slot] = lanes::run(Mass { g, pieces, sigma, unit });
            *peak = pieces.iter().sum();
            self.weights[slot] = *peak;
        }
        (self.alpha, self.total, self.since) = (1.0, 0.0, 0.0);
        self.flushes += 1;
        (self.columns.len() * samples.features()) as u64
    }

    /// The averaged column of a slot over `steps` iterates.
    pub(super) fn average(&self, slot: usize, steps: f64) -> Vec<f64> {
        let column = &self.columns[slot];
        let mut out = column.sum.clone();
        lanes::run(Difference(&column.g, ExpPair::new(self.scale), self.total, &mut out));
        out.iter_mut().for_each(|u| *u /= steps);
        out
    }

    /// The mean mass of the iterates.
    pub(super) fn average_mass(&self, steps: f64) -> f64 {
        self.mass_sum / steps
    }

    /// Resets the average. The iterate stays.
    pub(super) fn forget(&mut self) {
        self.columns.iter_mut().for_each(|c| c.sum.fill(0.0));
        (self.total, self.since, self.mass_sum) = (0.0, 0.0, 0.0);
    }

    pub(super) fn fits(&self, samples: &Samples, bound: f64) -> bool {
        let d = samples.features();
        self.bound == bound
            && self.classes == samples.classes()
            && self.slots.len() == self.classes
            && [self.weights.len(), self.masses.len()] == [self.columns.len(); 2]
            && self.columns.iter().all(|c| {
                [c.g.len(), c.sum.len(), c.pieces.len()] == [d, d, d.div_ceil(PIECE)]
                    && (c.class as usize) < self.classes
            })
    }
}
