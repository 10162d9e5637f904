//! Stochastic dual coordinate ascent for the objective with a ridge penalty.
//!
//! ```text
//! dual   max_a  sum_n w_n sum_i H(a_ni) - ||S||^2 / (2 l2),    S = sum_n w_n sum_i (e_{x_ni} - a_ni) (x) (the other cells),   J = S / l2
//! step   a_ni <- argmax_a  H(a) + z.a - c/2 ||a - a_ni||^2,    z the logits under J,    c = w_n (sum over the other cells of 1 / l2)
//! ```
//!
//! `a_ni` is a distribution over the letters of cell `(n, i)`. Each step is exact: Newton's iteration in the logarithm
//! of `a` converges in a few rounds of vector instructions. The columns of a group are updated in parallel, each on its
//! own copies of its tables. A table between two columns of the group is changed by both. So each of the two columns
//! steps as if the ridge of that table were half as strong, which makes the sum of their steps an ascent
//! (`||u + v||^2 <= 2 ||u||^2 + 2 ||v||^2`).

use fenchel_linalg::{lanes, parallel};
use fenchel_optim::random::stream;
use fenchel_optim::{Certificate, CertificateCost, Iterative, Status, Watch, run};
use rand::seq::SliceRandom;

use super::engine::{Cells, GROUP, gather, lanes_for, logits, scatter, softmax};
use super::model::PottsModel;
use super::proof::prove;
use super::pseudo::{PottsPseudoLikelihood, Ridge};
use crate::error::Error;

pub(super) fn fit_ridge(
    cells: &Cells,
    model: PottsModel,
    ridge: Ridge,
    settings: &PottsPseudoLikelihood,
    watch: &mut Watch<'_>,
) -> Result<PottsModel, Error> {
    let mut method = PottsSdca::new(cells, model, ridge, settings.seed);
    let report = run(&mut method, &settings.stop, watch)?;
    let mut model = method.model;
    model.report = Some(report);
    Ok(model)
}

/// The method behind [`PottsPseudoLikelihood`] without groups.
pub(super) struct PottsSdca<'a> {
    cells: &'a Cells,
    model: PottsModel,
    ridge: Ridge,
    seed: u64,
    /// The dual variables: `sequences x lanes` for every column.
    duals: Vec<Vec<f32>>,
    passes: u64,
    /// The increase of the dual in the last pass, an estimate of the remaining gap.
    gain: f64,
    /// The smallest gain so far, and the passes in a row that were not below it though it may be rounding.
    smallest: f64,
    idle: u32,
}

/// A gain of a pass that may be rounding of single precision, in nats per cell of weight 1.
const ROUNDING: f64 = 1e-8;

/// Passes in a row after which the run has stalled.
const IDLE: u32 = 20;

/// How much steeper the ridge of a table between two columns of a group is taken.
const SHARED: f32 = 2.0;

impl<'a> PottsSdca<'a> {
    fn new(cells: &'a Cells, model: PottsModel, ridge: Ridge, seed: u64) -> Self {
        let width = lanes_for(cells.states);
        // At a = e_x every sum is 0, and so is the model.
        let duals = (0..cells.columns)
            .map(|i| {
                let mut duals = vec![0.0; cells.sequences * width];
                for n in 0..cells.sequences {
                    if let Some(letter) = cells.letter(n, i) {
                        duals[n * width + letter] = 1.0;
                    }
                }
                duals
            })
            .collect();
        PottsSdca {
            cells,
            model,
            ridge,
            seed,
            duals,
            passes: 0,
            gain: f64::INFINITY,
            smallest: f64::INFINITY,
            idle: 0,
        }
    }

    fn pass(&mut self) {
        let mut order: Vec<u32> = (0..self.cells.sequences as u32).collect();
        let mut random = stream(self.seed, self.passes);
        order.shuffle(&mut random);
        let mut columns: Vec<usize> = (0..self.cells.columns).collect();
        columns.shuffle(&mut random);
        self.gain = 0.0;
        for group in columns.chunks(GROUP) {
            self.group(group, &order);
        }
        self.passes += 1;
        let rounding = ROUNDING * self.ridge.effective * self.cells.columns as f64;
        let idle = self.gain >= self.smallest && self.gain <= rounding;
        self.idle = if idle { self.idle + 1 } else { 0 };
        self.smallest = self.gain.min(self.smallest);
    }

    fn group(&mut self, group: &[usize], order: &[u32]) {
        let (cells, model, ridge) = (self.cells, &self.model, self.ridge);
        let width = lanes_for(cells.states);
        let mut work: Vec<Work> = group
            .iter()
            .map(|&i| Work {
                i,
                duals: std::mem::take(&mut self.duals[i]),
                table: vec![0.0; cells.table_rows() * width],
                gain: 0.0,
            })
            .collect();
        let visit = |work: &mut Work| {
            gather(model, work.i, width, &mut work.table);
            let shared: Vec<usize> = group.iter().copied().filter(|&j| j != work.i).collect();
            let inverse = [1.0 / ridge.couplings as f32, 1.0 / ridge.fields as f32];
            work.gain = match width {
                8 => lanes::run(Visit::<8> { cells, work, shared, order, inverse }),
                24 => lanes::run(Visit::<24> { cells, work, shared, order, inverse }),
                _ => lanes::run(Visit::<32> { cells, work, shared, order, inverse }),
            };
        };
        parallel::map(&mut work, visit);
        for done in work {
            self.merge(done.i, &done.table, group);
            self.gain += done.gain;
            self.duals[done.i] = done.duals;
        }
    }

    /// Merges the table of one column. A table that two columns of the group have changed receives both changes in
    /// full.
    fn merge(&mut self, i: usize, table: &[f32], group: &[usize]) {
        let (columns, q) = (self.cells.columns, self.cells.states);
        let width = lanes_for(q);
        for j in 0..columns {
            if j == i {
                let (fields, _) = self.model.parts();
                fields[i * q..(i + 1) * q].copy_from_slice(&table[i * q * width..][..q]);
                continue;
            }
            let at = self.model.index_of(i.min(j), i.max(j));
            let (_, couplings) = self.model.parts();
            let block = &mut couplings[at..at + q * q];
            let together = group.contains(&j);
            // Of a table that two columns have moved both hand over their moves alone.
            for b in 0..q {
                let row = &table[(j * q + b) * width..][..q];
                for (a, &value) in row.iter().enumerate() {
                    let cell = &mut block[if j < i { b * q + a } else { a * q + b }];
                    *cell = if together { *cell + value } else { value };
                }
            }
        }
    }
}

/// The state of a column while its group is updated.
struct Work {
    i: usize,
    duals: Vec<f32>,
    table: Vec<f32>,
    gain: f64,
}

/// One visit to every cell of a column.
struct Visit<'a, 'w, const W: usize> {
    cells: &'a Cells,
    work: &'w mut Work,
    /// The other columns of the group.
    shared: Vec<usize>,
    order: &'a [u32],
    /// `1 / l2` of couplings and of fields.
    inverse: [f32; 2],
}

impl<const W: usize> lanes::Kernel for Visit<'_, '_, W> {
    type Output = f64;

    #[inline(always)]
    fn compute(self) -> f64 {
        let Visit { cells, work, shared, order, inverse: [inverse, inverse_field] } = self;
        let (q, columns, i) = (cells.states, cells.columns, work.i);
        let own = i * q;
        let table = &mut work.table[..];
        // To tell the moves of shared tables from where they began.
        let before: Vec<f32> =
            shared.iter().flat_map(|&j| &table[j * q * W..(j + 1) * q * W]).copied().collect();
        let missing = columns * q;
        let mut gain = 0.0_f64;
        for &n in order {
            let n = n as usize;
            if cells.letter(n, i).is_none() {
                continue;
            }
            let rows = &cells.rows[n * columns..(n + 1) * columns];
            let weight = cells.weights[n];
            if weight == 0.0 {
                continue;
            }
            let others = cells.present[n] as f32 - 1.0 + (SHARED - 1.0) * shared.len() as f32;
            let c = weight * (others * inverse + inverse_field);
            let z = logits::<W>(table, rows, i, own);
            let duals = &mut work.duals[n * W..(n + 1) * W];
            let mut old = [0.0; W];
            old.copy_from_slice(duals);
            let fresh = step::<W>(&z, &old, c, q);
            let mut add = [0.0; W];
            let mut size = 0.0;
            for l in 0..W {
                let moved = old[l] - fresh[l];
                add[l] = weight * inverse * moved;
                size += moved * moved;
                duals[l] = fresh[l];
            }
            gain += f64::from(0.5 * weight * (c + 1.0) * size);
            scatter::<W>(table, rows, i, &add);
            for &j in &shared {
                let at = rows[j] as usize * W;
                for l in 0..W {
                    table[at + l] += (SHARED - 1.0) * add[l];
                }
            }
            let field = &mut table[own * W..own * W + W];
            for l in 0..W {
                field[l] += inverse_field / inverse * add[l];
            }
            // Missing cells have added to the row that stays 0.
            for l in 0..W {
                table[missing * W + l] = 0.0;
            }
        }
        // Of shared tables only the move is handed over, at its true size.
        for (at, &j) in shared.iter().enumerate() {
            let start = &before[at * q * W..(at + 1) * q * W];
            let table = &mut table[j * q * W..(j + 1) * q * W];
            for k in 0..start.len() {
                table[k] = (table[k] - start[k]) / SHARED;
            }
        }
        gain
    }
}

/// `argmax_a H(a) + z.a - c/2 ||a - old||^2` over distributions on `q` letters. With `y = ln a`, Newton's iteration
/// solves the equations `y + c e^y = z + c old - nu` and `sum e^y = 1`.
#[inline(always)]
fn step<const W: usize>(z: &[f32; W], old: &[f32; W], c: f32, q: usize) -> [f32; W] {
    let mut a = *z;
    let log_sum = softmax::<W>(&mut a, q);
    let mut y = [0.0; W];
    for l in 0..W {
        y[l] = z[l] - log_sum;
    }
    // With u = z + c old the equations are y + c e^y - u + nu = 0; log_sum is nu for c = 0.
    let mut nu = log_sum;
    for _ in 0..8 {
        let (mut sum, mut lead, mut slope, mut worst) = (0.0_f32, 0.0_f32, 0.0_f32, 0.0_f32);
        let mut off = [0.0; W];
        let mut share = [0.0; W];
        for l in 0..W {
            off[l] = y[l] + c * (a[l] - old[l]) - z[l] + nu;
            let d = 1.0 / (1.0 + c * a[l]);
            share[l] = d;
            let heavy = a[l] * d;
            off[l] = if l < q { off[l] } else { 0.0 };
            sum += a[l];
            lead += heavy * off[l];
            slope += heavy;
            let size = a[l] * off[l].abs();
            worst = if size > worst { size } else { worst };
        }
        if worst < 1e-5 && (sum - 1.0).abs() < 1e-5 {
            break;
        }
        // sum a (1 + dy) = 1 with dy = -(off + dnu) / (1 + c a)
        let change = (sum - 1.0 - lead) / slope;
        nu += change;
        for l in 0..W {
            // A step of more than a few units is beyond where the linear model means anything.
            let dy = -(off[l] + change) * share[l];
            let dy = if dy > 3.0 { 3.0 } else { dy };
            let dy = if dy < -12.0 { -12.0 } else { dy };
            y[l] += dy;
            let e = lanes::exp_f32(y[l]);
            a[l] = if l < q { e } else { 0.0 };
        }
    }
    let mut sum = 0.0;
    for l in 0..W {
        sum += a[l];
    }
    let scale = 1.0 / sum;
    for l in 0..W {
        a[l] *= scale;
    }
    a
}

impl Iterative for PottsSdca<'_> {
    fn advance(&mut self, passes: f64) -> f64 {
        let mut done = 0.0;
        while done < passes && self.idle < IDLE {
            self.pass();
            done += 1.0;
        }
        done
    }

    /// The primal objective of the model, and the dual value of the duals: the model itself is `S / l2` up to single
    /// precision only.
    fn certify(&mut self) -> Certificate {
        let whole = prove(self.cells, &self.model, Some(&self.duals));
        let (fields, couplings) = (self.ridge.fields, self.ridge.couplings);
        let split = self.cells.columns * self.cells.states;
        let square = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        let (of_fields, of_couplings) = whole.sums.split_at(split);
        let dual = whole.entropy
            - 0.5 * square(of_fields) / fields
            - 0.5 * square(of_couplings) / couplings;
        let (h, j) = self.model.parts();
        let norm = |x: &[f32]| x.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>();
        let primal = whole.loss + 0.5 * fields * norm(h) + 0.5 * couplings * norm(j);
        let effective = self.ridge.effective;
        Certificate::gap(primal / effective, dual / effective)
    }

    fn verdict(&self) -> Option<Status> {
        (self.idle >= IDLE).then_some(Status::Stalled)
    }

    fn oracle_calls(&self) -> u64 {
        self.passes * (self.cells.columns * self.cells.sequences) as u64
    }

    fn certificate_cost(&self) -> CertificateCost {
        if self.passes == 0 {
            CertificateCost::Uninformative
        } else {
            CertificateCost::Estimated(self.gain / self.ridge.effective)
        }
    }
}
